(** * Three hops, two full layers, no linear layer before the first: what both cases of P9 say

    Before the first full layer tokens know themselves only.  Which tables z_2 are asked of players 1, 0 and w is left
    open: [draws]. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Count Prompts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** Tables z, one for each x of X, that agree on a label r and on another of the place where z is asked; Y different
    (w, part, value) are taken by them, the k-th by the table of ix k, at the place that w and its part have. *)
Section Draws.
Variables (U I J Q S S' X : finType) (Y : nat).
Notation tables := {ffun I * J -> {ffun U -> Q}}.
Variables (r : tables -> S) (lam : I * J -> tables -> S').

Record draws := Draws {
  place : U * I -> J;
  r1    : S;
  lam1  : I * J -> S';
  spot  : X -> I * J;
  tab   : X -> tables;
  pick  : 'I_Y -> U * I * Q;
  ix    : 'I_Y -> X;
  pick_inj  : injective pick;
  spot_ix k : spot (ix k) = ((pick k).1.2, place (pick k).1);
  tab_r   x : r (tab x) = r1;
  tab_lam x : lam (spot x) (tab x) = lam1 (spot x);
  tab_val k : tab (ix k) (spot (ix k)) (pick k).1.1 = (pick k).2 }.
End Draws.

(** Whatever is said of few enough bits can be the labels. *)
Definition can_draw u t s q (X : finType) Y bits := forall (S S' : finType) r lam, S -> S' ->
  #|S| * #|S'| ^ (t * s) <= 2 ^ bits -> exists _ : @draws [finType of 'I_u] [finType of 'I_t] [finType of 'I_s] [finType of 'I_q] S S' X Y r lam, True.

(** u values of w_1; t groups of s starts; q values for each (w_1, group); e groups of g values of w_2. *)
Lemma nothing_first m n1 n2 M A1 A2 u t s q g e (X : finType) Y :
  u <= n1 -> t * s <= m -> u * t * q <= m * n1 -> e * g <= n2 ->
  can_draw u t s q X Y (u * g * M + minn (t * s * A1) (A1 + t * s * M)) ->
  2 ^ (M * (u * (t * s) * q + (m * n1 - u * (t * s)) + m + t * s + u * (e * g) + u * (e * g) * t) + A1 + e * #|X| * A2)
    < (m * n1 * n2) ^ (e * g * Y) ->
  impossible m [:: n2; n1] M [:: 0; A1; A2].
Proof.
move=> u_n1 ts_m utq_N eg_n2 draw big.
apply: impossible_blocks => net /= [l0] [f1] [ls1] [netE l0s f1M [l1] [f2] [ls2] [ls1E l1A f2M [l2 ls2E l2A]]] sol.
rewrite {}ls1E {}ls2E in netE; have out := three_hops sol.
set N1 := size_N m [:: n1] in out; set N2 := size_N m [:: n2; n1] in out.
have N1E : N1 = m * n1 := two_N m n1; have N2E : N2 = m * n1 * n2 := three_N m n1 n2.
have o : 'I_N1.
  suff N0 : 0 < N1 by exact: Ordinal N0.
  rewrite lt0n; apply: contraTneq big; rewrite -N1E => ->; rewrite mul0n -leqNgt.
  by case: (e * g * Y) => [|k]; [rewrite expn0 expn_gt0 | rewrite exp0n].
have [B B_inj] : exists B : 'I_t * 'I_s -> 'I_m, injective B by apply: inj_of_card; rewrite card_prod !card_ord.
have [P P_inj] : exists P : 'I_u * 'I_t * 'I_q -> 'I_N1, injective P.
  by apply: inj_of_card; rewrite !card_prod !card_ord N1E.
have [W W_inj] : exists W : 'I_e * 'I_g -> 'I_n2, injective W by apply: inj_of_card; rewrite card_prod !card_ord.
pose U (i : 'I_u) : 'I_n1 := widen_ord u_n1 i.
have U_inj : injective U by move=> i i' /(congr1 val) h; apply: val_inj.
(* the functions z_2 considered; z_1 is the identity *)
pose A (wa : 'I_u * ('I_t * 'I_s)) : 'I_N1 := addr (U wa.1, B wa.2).
have A_inj : injective A by move=> [w a] [w' a'] /addr_inj[] h /B_inj ->; congr (_, _); apply: val_inj.
pose lift (x : {ffun 'I_t * 'I_s -> {ffun 'I_u -> 'I_q}}) : {ffun 'I_N1 -> 'I_N1} :=
  [ffun j => if [pick wa | A wa == j] is Some wa then P (wa.1, wa.2.1, x wa.2 wa.1) else o].
have liftA x wa : lift x (A wa) = P (wa.1, wa.2.1, x wa.2 wa.1).
  by rewrite ffunE; case: pickP => [a' /eqP/A_inj -> // | /(_ wa)]; rewrite eqxx.
have liftn x j : j \notin codom A -> lift x j = o.
  by move=> nj; rewrite ffunE; case: pickP => // a /eqP Ej; rewrite -Ej codom_f in nj.
pose idt : {ffun 'I_m -> 'I_m} := [ffun j => j].
(* what the tokens know, layer by layer *)
pose b x := (step (start l0) (embed net x)).2.
pose tw (c : 'I_u * ('I_e * 'I_g)) := Query [:: val (W c.2); val (U c.1)].
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
have outE z x a c : output net (prompt [:: table z; table (lift x); table idt] (B a) [:: val (W c.2); val (U c.1)]) =
    map (@read net) (scan (t0 z (v2 z x) (v1 z x) (v0 z x a)) (attend f2 [:: v3 z; v2 z x; v1 z x; v0 z x a] (vw z x a c))).2.
  have runE ps : run (layers net) ps =
    chain (start l2) (epoch f2 [::] (chain (start l1) (epoch f1 [::] (chain (start l0) ps)))) by rewrite netE.
  by rewrite /output runE (stateless l0s) -map_comp (eq_map (fun p => esym (map_comp _ _ p))).
(* (i) what player 3 says in epoch 1 *)
pose rep z x := reply (f := f1) [::] (e3 z) (b x).
pose rest := {j : 'I_N1 | j \notin codom A}.
pose code1 z := ([ffun x : 'I_u * ('I_t * 'I_s) * 'I_q => rep z (Entry 2 (A x.1) (P (x.1.1, x.1.2.1, x.2)))],
                 [ffun j : rest => rep z (Entry 2 (val (val j)) o)],
                 [ffun j : 'I_m => rep z (Entry 1 j j)],
                 [ffun a : 'I_t * 'I_s => rep z (Start (B a))],
                 [ffun c : 'I_u * ('I_e * 'I_g) => rep z (tw c)], s3 z).
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
  - move=> x j; case: (boolP (j \in codom A)) => [/codomP[wa ->] | nj].
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
pose r i x := [ffun c : 'I_u * 'I_g => let w := tw (c.1, (i, c.2)) in reply [:: rep z1 w] (e2 x) (b w)].
pose lam a x := s0 z1 x a.
pose m0 := reply (f := f1) [::] [::] (b (Start 0)).
have rbits : #|{ffun 'I_u * 'I_g -> msg f1}| <= 2 ^ (u * g * M).
  by have := @card_msgs [finType of 'I_u * 'I_g] _ _ f1M; rewrite card_prod !card_ord.
have [lab _] : exists lab : forall i : 'I_e, draws X Y (r i) lam, True.
  suff [lab _] : exists lab : forall i : 'I_e, draws X Y (r i) lam, forall i : 'I_e, True by exists lab.
  apply: (@fin_all_exists _ (fun i => draws X Y (r i) lam) (fun _ _ => True)) => i.
  case: (leqP (t * s * A1) (A1 + t * s * M)) draw => _ draw.
    apply: draw; [exact: [ffun=> m0] | exact: start l1 |].
    by rewrite expnD leq_mul // exp_bits.
  have [] := draw _ _ (fun x => (r i x, s1 z1 x)) (fun a x => reply [:: rep z1 (Start (B a))] (e2 x) (b (Start (B a)))) ([ffun=> m0], start l1) m0.
    by rewrite card_prod addnA !expnD !leq_mul // exp_bits.
  case=> pl [q1 q2] lam1 sp tb pk ix pk_inj sp_ix tb_r tb_lam tb_val _.
  pose from a := let rs := [:: rep z1 (Start (B a)); lam1 a] in
    (scan q2 [:: mix (e0 a) 0 (rcons rs (reply rs e1 (b (Start (B a)))))]).1.
  have tb_s k : s1 z1 (tb k) = q2 by case: (tb_r k).
  have tb_l k : lam (sp k) (tb k) = from (sp k).
    by rewrite /lam /s0 tb_s /attend /replies /= tb_lam.
  have tb_r1 k : r i (tb k) = q1 by case: (tb_r k).
  by exists (@Draws _ _ _ _ _ _ X Y (r i) lam pl q1 from sp tb pk ix pk_inj sp_ix tb_r1 tb_l tb_val).
pose ask (c : 'I_u * ('I_e * 'I_g)) i := let a := (i, place (lab c.2.1) (c.1, i)) in
  let rs := [:: rep z1 (tw c); r1 (lab c.2.1) (c.1, c.2.2)] in let rs' := rcons rs (reply rs e1 (b (tw c))) in
  (step (lam1 (lab c.2.1) a) (mix (ew c) 0 (rcons rs' (reply rs' (e0 a) (b (tw c)))))).2.
have askE i c k (p := (pick (lab i) k).1) : vw z1 (tab (lab i) (ix (lab i) k)) (spot (lab i) (ix (lab i) k)) (p.1, (i, c)) = [:: ask (p.1, (i, c)) p.2].
  rewrite /vw -/(lam _ _) tab_lam /attend /replies /= /ask /= -(tab_r (lab i) (ix (lab i) k)) ffunE /=.
  by rewrite spot_ix -/p -surjective_pairing.
(* (iv) what w and player 0 learn of z_3 afterwards *)
pose code2 z := ([ffun x : 'I_u * ('I_e * 'I_g) * 'I_t => reply (f := f2) [::] (v3 z) (ask x.1 x.2)],
  [ffun x : 'I_e * X => let y := tab (lab x.1) x.2 in t0 z (v2 z1 y) (v1 z1 y) (v0 z1 y (spot (lab x.1) x.2))]).
pose place_of (x : 'I_e * 'I_g * 'I_Y) := addr3 (W x.1, P (pick (lab x.1.1) x.2)).
have addr_of i c k (p := (pick (lab i) k).1) :
    addr3 (W (i, c), lift (tab (lab i) (ix (lab i) k)) (addr (U p.1, idt (B (spot (lab i) (ix (lab i) k)))))) = place_of (i, c, k).
  rewrite (ffunE _ (B _)) -[addr _]/(A (p.1, spot (lab i) (ix (lab i) k))) liftA /= tab_val spot_ix /place_of /= -/p.
  by rewrite -surjective_pairing -surjective_pairing.
have place_inj : injective place_of.
  by move=> [[i c] k] [[i' c'] k'] /addr3_inj[/W_inj[<- <-] /P_inj/pick_inj ->].
have det : {in R &, forall z z', code2 z = code2 z' -> forall x, z (place_of x) = z' (place_of x)}.
  move=> z z' zR z'R [/ffunP d1 /ffunP d2] [[i c] k]; rewrite -addr_of; apply: val_inj.
  set p := (pick (lab i) k).1; set ad := addr3 _.
  suff : [:: val (z ad)] = [:: val (z' ad)] by case.
  rewrite -!out !(outE _ _ _ (p.1, (i, c))) !v2E // !v1E // !v0E // !vwE // askE -/p.
  have := d2 (i, ix (lab i) k); have := d1 (p.1, (i, c), p.2); rewrite !ffunE /= => h1 ->.
  by rewrite /attend /replies /= h1.
have := learn place_inj det; move: popR.
rewrite cardsT card_ffun !card_prod !card_ord => /count cnt /cnt {}cnt.
move: big; rewrite ltnNge => /negP; apply; rewrite -N2E; apply: leq_trans cnt _.
have msgs (K S : finType) k bits : #|S| <= 2 ^ bits -> #|K| = k -> #|{ffun K -> S}| <= 2 ^ (k * bits).
  by move=> Sb <-; apply: card_msgs.
have rest_card : #|[finType of rest]| = m * n1 - u * (t * s).
  have c := cardC (mem (codom A)); rewrite (card_codom A_inj) !card_prod !card_ord in c.
  by rewrite -(etrans c N1E) addKn card_sig; apply: eq_card => j; rewrite !inE.
apply: leq_trans (leq_mul (leq_mul (leq_mul (leq_mul (leq_mul (leq_mul (msgs _ _ (u * (t * s) * q) M f1M _)
  (msgs _ _ _ M f1M rest_card)) (msgs _ _ m M f1M _)) (msgs _ _ (t * s) M f1M _)) (msgs _ _ (u * (e * g)) M f1M _)) l1A)
  (leq_mul (msgs _ _ (u * (e * g) * t) M f2M _) (msgs _ _ (e * #|X|) A2 l2A _))) _; rewrite ?card_prod ?card_ord //.
rewrite -!expnD leq_exp2l // !(mulnC M) !mulnDl -!addnA !leq_add2l.
by rewrite addnCA.
Qed.
