(** * P9 (b): two full layers, three hops, by draws, no linear layer before the first *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts Count Prompts Greedy Spread Drawn.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** u values of w_1; t groups of s starts; q values for each (w_1, group); x functions z_2 for each w_2 and group. *)
Theorem P9b m n1 n2 M A1 A2 u t s q nx A Y :
  0 < s -> 0 < q -> u <= n1 -> t * s <= m -> u * t * q <= m * n1 ->
  spread A (u * t) q nx Y -> u * M + minn (t * s * A1) (A1 + t * s * M) <= A * s ->
  2 ^ (M * (u * (t * s) * q + (m * n1 - u * (t * s)) + m + t * s + u * n2 + u * n2 * t) + A1 + n2 * (t * nx) * A2)
    < (m * n1 * n2) ^ (n2 * Y) ->
  impossible m [:: n2; n1] M [:: 0; A1; A2].
Proof.
move=> s_gt0 q_gt0 u_n1 ts_m utq_N up Abits big.
apply: impossible_blocks => net /= [l0] [f1] [ls1] [netE l0s f1M [l1] [f2] [ls2] [ls1E l1A f2M [l2 ls2E l2A]]] sol.
rewrite {}ls1E {}ls2E in netE; have out := three_hops sol.
set N1 := size_N m [:: n1] in out; set N2 := size_N m [:: n2; n1] in out.
have N1E : N1 = m * n1 := two_N m n1; have N2E : N2 = m * n1 * n2 := three_N m n1 n2.
have o : 'I_N1.
  suff N0 : 0 < N1 by exact: Ordinal N0.
  rewrite lt0n; apply: contraTneq big; rewrite -N1E => ->; rewrite mul0n -leqNgt.
  by case: (n2 * Y) => [|k]; [rewrite expn0 expn_gt0 | rewrite exp0n].
have [B B_inj] : exists B : 'I_t * 'I_s -> 'I_m, injective B by apply: inj_of_card; rewrite card_prod !card_ord.
have [P P_inj] : exists P : 'I_u * 'I_t * 'I_q -> 'I_N1, injective P.
  by apply: inj_of_card; rewrite !card_prod !card_ord N1E.
pose U (i : 'I_u) : 'I_n1 := widen_ord u_n1 i.
have U_inj : injective U by move=> i i' /(congr1 val) h; apply: val_inj.
(* the functions z_2 considered; z_1 is the identity *)
pose A_ (wa : 'I_u * ('I_t * 'I_s)) : 'I_N1 := addr (U wa.1, B wa.2).
have A_inj : injective A_ by move=> [w a] [w' a'] /addr_inj[] h /B_inj ->; congr (_, _); apply: val_inj.
pose lift (x : {ffun 'I_t * 'I_s -> {ffun 'I_u -> 'I_q}}) : {ffun 'I_N1 -> 'I_N1} :=
  [ffun j => if [pick wa | A_ wa == j] is Some wa then P (wa.1, wa.2.1, x wa.2 wa.1) else o].
have liftA x wa : lift x (A_ wa) = P (wa.1, wa.2.1, x wa.2 wa.1).
  by rewrite ffunE; case: pickP => [a' /eqP/A_inj -> // | /(_ wa)]; rewrite eqxx.
have liftn x j : j \notin codom A_ -> lift x j = o.
  by move=> nj; rewrite ffunE; case: pickP => // a /eqP Ej; rewrite -Ej codom_f in nj.
pose idt : {ffun 'I_m -> 'I_m} := [ffun j => j].
(* what the tokens know, layer by layer *)
pose b x := (step (start l0) (embed net x)).2.
pose tw (c : 'I_u * 'I_n2) := Query [:: val c.2; val (U c.1)].
pose e3 (z : {ffun 'I_N2 -> 'I_N2}) := map b (tokens_of 3 (table z)).
pose e2 x := map b (tokens_of 2 (table (lift x))).
pose e1 := map b (tokens_of 1 (table idt)).
pose e0 a := [:: b (Start (B a))].
pose ew c := [:: b (tw c)].
pose s3 z := (scan (start l1) (attend f1 [::] (e3 z))).1.
pose v3 z := (scan (start l1) (attend f1 [::] (e3 z))).2.
pose s2 z x := (scan (s3 z) (attend f1 [:: e3 z] (e2 x))).1.
pose v2 z x := (scan (s3 z) (attend f1 [:: e3 z] (e2 x))).2.
pose s1 z x := (scan (s2 z x) (attend f1 [:: e3 z; e2 x] e1)).1.
pose v1 z x := (scan (s2 z x) (attend f1 [:: e3 z; e2 x] e1)).2.
pose s0 z x a := (scan (s1 z x) (attend f1 [:: e3 z; e2 x; e1] (e0 a))).1.
pose v0 z x a := (scan (s1 z x) (attend f1 [:: e3 z; e2 x; e1] (e0 a))).2.
pose vw z x a c := (scan (s0 z x a) (attend f1 [:: e3 z; e2 x; e1; e0 a] (ew c))).2.
pose t0 z y2 y1 y0 := (scan (scan (scan (scan (start l2) (attend f2 [::] (v3 z))).1
   (attend f2 [:: v3 z] y2)).1 (attend f2 [:: v3 z; y2] y1)).1 (attend f2 [:: v3 z; y2; y1] y0)).1.
have outE z x a c : output net (prompt [:: table z; table (lift x); table idt] (B a) [:: val c.2; val (U c.1)]) =
    map (@read net) (scan (t0 z (v2 z x) (v1 z x) (v0 z x a)) (attend f2 [:: v3 z; v2 z x; v1 z x; v0 z x a] (vw z x a c))).2.
  have runE ps : run (layers net) ps =
    chain (start l2) (epoch f2 [::] (chain (start l1) (epoch f1 [::] (chain (start l0) ps)))) by rewrite netE.
  by rewrite /output runE (stateless l0s) -map_comp (eq_map (fun p => esym (map_comp _ _ p))).
(* (i) what player 3 says in epoch 1 *)
pose rep z x := reply (f := f1) [::] (e3 z) (b x).
pose rest := {j : 'I_N1 | j \notin codom A_}.
pose code1 z := ([ffun x : 'I_u * ('I_t * 'I_s) * 'I_q => rep z (Entry 2 (A_ x.1) (P (x.1.1, x.1.2.1, x.2)))],
                 [ffun j : rest => rep z (Entry 2 (val (val j)) o)],
                 [ffun j : 'I_m => rep z (Entry 1 j j)],
                 [ffun a : 'I_t * 'I_s => rep z (Start (B a))],
                 [ffun c : 'I_u * 'I_n2 => rep z (tw c)], s3 z).
have [c1 popR] := popular [set: {ffun 'I_N2 -> 'I_N2}] code1 (code1 [ffun i => i]).
set R := [set z in _ | _] in popR.
have [z1 z1R] : exists z, z \in R.
  apply/card_gt0P; move: popR; rewrite cardsT card_ffun card_ord lt0n.
  by apply: contraTneq => ->; rewrite muln0 -ltnNge expn_gt0; case: (N2).
(* (ii) on R players 2, 1, 0 and w know after block 1 what they know for z1 *)
have repE z : z \in R -> [/\ forall x (j : 'I_N1), rep z (Entry 2 j (lift x j)) = rep z1 (Entry 2 j (lift x j)),
    forall j : 'I_m, rep z (Entry 1 j j) = rep z1 (Entry 1 j j),
    forall a, rep z (Start (B a)) = rep z1 (Start (B a)),
    forall c, rep z (tw c) = rep z1 (tw c) & s3 z = s3 z1].
  move: z1R; rewrite !inE /= => /eqP <- /eqP[/ffunP k1 /ffunP k2 /ffunP k3 /ffunP k4 /ffunP k5 ->]; split=> //.
  - move=> x j; case: (boolP (j \in codom A_)) => [/codomP[wa ->] | nj].
      by rewrite liftA; have := k1 (wa, x wa.2 wa.1); rewrite !ffunE.
    by rewrite liftn //; have := k2 (exist _ j nj); rewrite !ffunE.
  - by move=> j; have := k3 j; rewrite !ffunE.
  - by move=> a; have := k4 a; rewrite !ffunE.
  - by move=> c; have := k5 c; rewrite !ffunE.
have e2E x : e2 x = [seq b (Entry 2 (val j) (val (lift x j))) | j <- enum 'I_N1] by rewrite /e2 tokens_table -map_comp.
have e1E : e1 = [seq b (Entry 1 (val j) (val j)) | j <- enum 'I_m].
  by rewrite /e1 tokens_table -map_comp; apply: eq_map => j /=; rewrite ffunE.
have u2E z x : z \in R -> attend f1 [:: e3 z] (e2 x) = attend f1 [:: e3 z1] (e2 x).
  by case/repE=> E _ _ _ _; rewrite e2E; apply: attend_eq => j; rewrite /replies /= -!/(rep _ _) E.
have u1E z x : z \in R -> attend f1 [:: e3 z; e2 x] e1 = attend f1 [:: e3 z1; e2 x] e1.
  by case/repE=> _ E _ _ _; rewrite e1E; apply: attend_eq => j; rewrite /replies /= -!/(rep _ _) E.
have u0E z x a : z \in R -> attend f1 [:: e3 z; e2 x; e1] (e0 a) = attend f1 [:: e3 z1; e2 x; e1] (e0 a).
  by case/repE=> _ _ E _ _; rewrite /attend /replies /= -!/(rep _ _) E.
have uwE z x a c : z \in R -> attend f1 [:: e3 z; e2 x; e1; e0 a] (ew c) = attend f1 [:: e3 z1; e2 x; e1; e0 a] (ew c).
  by case/repE=> _ _ _ E _; rewrite /attend /replies /= -!/(rep _ _) E.
have s3E z : z \in R -> s3 z = s3 z1 by case/repE.
have v2E z x : z \in R -> v2 z x = v2 z1 x by move=> zR; rewrite /v2 s3E ?u2E.
have s2E z x : z \in R -> s2 z x = s2 z1 x by move=> zR; rewrite /s2 s3E ?u2E.
have v1E z x : z \in R -> v1 z x = v1 z1 x by move=> zR; rewrite /v1 s2E ?u1E.
have s1E z x : z \in R -> s1 z x = s1 z1 x by move=> zR; rewrite /s1 s2E ?u1E.
have v0E z x a : z \in R -> v0 z x a = v0 z1 x a by move=> zR; rewrite /v0 s1E ?u0E.
have s0E z x a : z \in R -> s0 z x a = s0 z1 x a by move=> zR; rewrite /s0 s1E ?u0E.
have vwE z x a c : z \in R -> vw z x a c = vw z1 x a c by move=> zR; rewrite /vw s0E ?uwE.
(* (iii) labels; the state that leaves player 0 costs A1 for every start, or A1 once and a reply for every start *)
pose r w2 x := [ffun w1 : 'I_u => let w := tw (w1, w2) in reply [:: rep z1 w] (e2 x) (b w)].
pose lam a x := s0 z1 x a.
pose m0 := reply (f := f1) [::] [::] (b (Start 0)).
have rbits : #|{ffun 'I_u -> msg f1}| <= 2 ^ (u * M) by have := @card_msgs [finType of 'I_u] _ _ f1M; rewrite card_ord.
have up' : spread A (#|'I_u| * #|'I_t|) #|'I_q| nx Y by rewrite !card_ord.
have [lab _] : exists lab : forall i : 'I_n2, drawn nx Y (r i) lam, True.
  suff [lab _] : exists lab : forall i : 'I_n2, drawn nx Y (r i) lam, forall i : 'I_n2, True by exists lab.
  apply: (@fin_all_exists _ (fun i => drawn nx Y (r i) lam) (fun _ _ => True)) => i.
  case: (leqP (t * s * A1) (A1 + t * s * M)) Abits => _ Abits.
    apply: (@drawn_ok _ _ _ _ _ _ nx Y (r i) lam A [ffun=> m0] (start l1) (Ordinal s_gt0) up'); rewrite !card_ord //.
    by apply: leq_trans (leq_pexp2l _ Abits); rewrite // expnD leq_mul // exp_bits.
  have [] := @drawn_ok _ _ _ _ _ _ nx Y (fun x => (r i x, s1 z1 x)) (fun a x => reply [:: rep z1 (Start (B a))] (e2 x) (b (Start (B a)))) A ([ffun=> m0], start l1) m0 (Ordinal s_gt0) up'.
  - rewrite !card_ord card_prod; apply: leq_trans (leq_pexp2l _ Abits); rewrite // addnA !expnD.
    by rewrite !leq_mul // exp_bits.
  - by rewrite card_ord.
  case=> pl [q1 q2] lam1 tb pk ix pk_inj tb_r tb_lam tb_val _.
  pose from a := let rs := [:: rep z1 (Start (B a)); lam1 a] in
    (scan q2 [:: mix (e0 a) 0 (rcons rs (reply rs e1 (b (Start (B a)))))]).1.
  have tb_s j k : s1 z1 (tb j k) = q2 by case: (tb_r j k).
  have tb_l j k : lam (j, pl j) (tb j k) = from (j, pl j).
    by rewrite /lam /s0 tb_s /attend /replies /= tb_lam.
  have tb_r1 j k : r i (tb j k) = q1 by case: (tb_r j k).
  by exists (@Drawn _ _ _ _ _ _ nx Y (r i) lam pl q1 from tb pk ix pk_inj tb_r1 tb_l tb_val).
pose at_ w2 i := (i, dplace (lab w2) i).
pose ask (c : 'I_u * 'I_n2) i := let a := at_ c.2 i in
  let rs := [:: rep z1 (tw c); dr1 (lab c.2) c.1] in let rs' := rcons rs (reply rs e1 (b (tw c))) in
  (step (dlam1 (lab c.2) a) (mix (ew c) 0 (rcons rs' (reply rs' (e0 a) (b (tw c)))))).2.
have askE w2 i k w1 : vw z1 (dtab (lab w2) i k) (at_ w2 i) (w1, w2) = [:: ask (w1, w2) i].
  by rewrite /vw -/(lam _ _) dtab_lam /attend /replies /= /ask /= -(dtab_r (lab w2) i k) ffunE.
(* (iv) what w and player 0 learn of z_3 afterwards *)
pose code2 z := ([ffun x : 'I_u * 'I_n2 * 'I_t => reply (f := f2) [::] (v3 z) (ask x.1 x.2)],
  [ffun y : 'I_n2 * ('I_t * 'I_nx) => let z' := dtab (lab y.1) y.2.1 y.2.2 in t0 z (v2 z1 z') (v1 z1 z') (v0 z1 z' (at_ y.1 y.2.1))]).
pose place_of (y : 'I_n2 * 'I_Y) := addr3 (y.1, P (dpick (lab y.1) y.2)).
have addr_of w2 c (p := dpick (lab w2) c) (z' := dtab (lab w2) p.1.2 (dix (lab w2) c)) :
    addr3 (w2, lift z' (addr (U p.1.1, idt (B (at_ w2 p.1.2))))) = place_of (w2, c).
  rewrite (ffunE _ (B _)) -[addr _]/(A_ (p.1.1, at_ w2 p.1.2)) liftA /= /z' dtab_val /place_of /= -/p.
  by rewrite -surjective_pairing -surjective_pairing.
have place_inj : injective place_of by move=> [w c] [w' c'] /addr3_inj[<- /P_inj/dpick_inj ->].
have det : {in R &, forall z z', code2 z = code2 z' -> forall x, z (place_of x) = z' (place_of x)}.
  move=> z z' zR z'R [/ffunP d1 /ffunP d2] [w2 c]; rewrite -addr_of; apply: val_inj.
  set p := dpick (lab w2) c; set ad := addr3 _.
  suff : [:: val (z ad)] = [:: val (z' ad)] by case.
  rewrite -!out !(outE _ _ _ (p.1.1, w2)) !v2E // !v1E // !v0E // !vwE // askE -/p.
  have := d2 (w2, (p.1.2, dix (lab w2) c)); have := d1 (p.1.1, w2, p.1.2); rewrite !ffunE /= => h1 ->.
  by rewrite /attend /replies /= h1.
have := learn place_inj det; move: popR.
rewrite cardsT card_ffun !card_prod !card_ord => /count cnt /cnt {}cnt.
move: big; rewrite ltnNge => /negP; apply; rewrite -N2E; apply: leq_trans cnt _.
have msgs (K S : finType) k bits : #|S| <= 2 ^ bits -> #|K| = k -> #|{ffun K -> S}| <= 2 ^ (k * bits).
  by move=> Sb <-; apply: card_msgs.
have rest_card : #|[finType of rest]| = m * n1 - u * (t * s).
  have c := cardC (mem (codom A_)); rewrite (card_codom A_inj) !card_prod !card_ord in c.
  by rewrite -(etrans c N1E) addKn card_sig; apply: eq_card => j; rewrite !inE.
apply: leq_trans (leq_mul (leq_mul (leq_mul (leq_mul (leq_mul (leq_mul (msgs _ _ (u * (t * s) * q) M f1M _)
  (msgs _ _ _ M f1M rest_card)) (msgs _ _ m M f1M _)) (msgs _ _ (t * s) M f1M _)) (msgs _ _ (u * n2) M f1M _)) l1A)
  (leq_mul (msgs _ _ (u * n2 * t) M f2M _) (msgs _ _ (n2 * (t * nx)) A2 l2A _))) _; rewrite ?card_prod ?card_ord //.
rewrite -!expnD leq_exp2l // !(mulnC M) !mulnDl -!addnA !leq_add2l.
by rewrite addnCA.
Qed.
