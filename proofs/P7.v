(** * P7: two full layers, two hops, no linear layer before the first *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Count Prompts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** t parts of q values, s starts for each, e groups of g queries; Y values are told apart by no label. *)
Theorem P7 m n M A1 A2 t s q g e Y :
  t * s <= m -> t * q <= m -> e * g <= n ->
  Y.-1 ^ (t * s) * 2 ^ (g * M + t * s * A1) < (t * q) ^ (t * s) ->
  2 ^ (M * (t * s * q + m + e * g + e * g * t) + A1 + e * Y * A2) < (m * n) ^ (e * g * Y) ->
  impossible m [:: n] M [:: 0; A1; A2].
Proof.
move=> ts_m tq_m eg_n Ybig big.
apply: impossible_blocks => net /= [l0] [f1] [ls1] [netE l0s f1M [l1] [f2] [ls2] [ls1E l1A f2M [l2 ls2E l2A]]] sol.
rewrite {}ls1E {}ls2E in netE; have out := two_hops sol.
set N := size_N m [:: n] in out.
have o : 'I_m.
  suff m0 : 0 < m by exact: Ordinal m0.
  rewrite lt0n; apply: contraTneq big => ->; rewrite mul0n -leqNgt.
  by case: (e * g * Y) => [|k]; [rewrite expn0 expn_gt0 | rewrite exp0n].
have [B B_inj] : exists B : 'I_t * 'I_s -> 'I_m, injective B by apply: inj_of_card; rewrite card_prod !card_ord.
have [P P_inj] : exists P : 'I_t * 'I_q -> 'I_m, injective P by apply: inj_of_card; rewrite card_prod !card_ord.
have [W W_inj] : exists W : 'I_e * 'I_g -> 'I_n, injective W by apply: inj_of_card; rewrite card_prod !card_ord.
(* the functions z_1 considered *)
pose lift (x : {ffun 'I_t * 'I_s -> {ffun unit -> 'I_q}}) : {ffun 'I_m -> 'I_m} :=
  [ffun j => if [pick a | B a == j] is Some a then P (a.1, x a tt) else o].
have liftB x a : lift x (B a) = P (a.1, x a tt).
  by rewrite ffunE; case: pickP => [a' /eqP/B_inj -> // | /(_ a)]; rewrite eqxx.
have liftn x j : j \notin codom B -> lift x j = o.
  by move=> nj; rewrite ffunE; case: pickP => // a /eqP Ej; rewrite -Ej codom_f in nj.
(* what the tokens know, layer by layer *)
pose b x := (step (start l0) (embed net x)).2.
pose e2 (z : {ffun 'I_N -> 'I_N}) := map b (tokens_of 2 (table z)).
pose e1 x := map b (tokens_of 1 (table (lift x))).
pose e0 a := [:: b (Start (B a))].
pose ew c := [:: b (Query [:: val (W c)])].
pose s2 z := (scan (start l1) (attend f1 [::] (e2 z))).1.
pose v2 z := (scan (start l1) (attend f1 [::] (e2 z))).2.
pose s1 z x := (scan (s2 z) (attend f1 [:: e2 z] (e1 x))).1.
pose v1 z x := (scan (s2 z) (attend f1 [:: e2 z] (e1 x))).2.
pose s0 z x a := (scan (s1 z x) (attend f1 [:: e2 z; e1 x] (e0 a))).1.
pose v0 z x a := (scan (s1 z x) (attend f1 [:: e2 z; e1 x] (e0 a))).2.
pose vw z x a c := (scan (s0 z x a) (attend f1 [:: e2 z; e1 x; e0 a] (ew c))).2.
pose t0 z y1 y0 := (scan (scan (scan (start l2) (attend f2 [::] (v2 z))).1
                               (attend f2 [:: v2 z] y1)).1 (attend f2 [:: v2 z; y1] y0)).1.
have outE z x a c : output net (prompt [:: table z; table (lift x)] (B a) [:: val (W c)]) =
    map (@read net) (scan (t0 z (v1 z x) (v0 z x a)) (attend f2 [:: v2 z; v1 z x; v0 z x a] (vw z x a c))).2.
  have runE ps : run (layers net) ps =
    chain (start l2) (epoch f2 [::] (chain (start l1) (epoch f1 [::] (chain (start l0) ps)))) by rewrite netE.
  by rewrite /output runE (stateless l0s) -map_comp (eq_map (fun p => esym (map_comp _ _ p))).
(* (i) what player 2 says in epoch 1 *)
pose rep z x := reply (f := f1) [::] (e2 z) (b x).
pose code1 z := ([ffun x : 'I_t * 'I_s * 'I_q => rep z (Entry 1 (B x.1) (P (x.1.1, x.2)))],
                 [ffun j : 'I_m => rep z (if j \in codom B then Start j else Entry 1 j o)],
                 [ffun c : 'I_e * 'I_g => rep z (Query [:: val (W c)])], s2 z).
have [c1 popR] := popular [set: {ffun 'I_N -> 'I_N}] code1 (code1 [ffun i => i]).
set R := [set z in _ | _] in popR.
have [z1 z1R] : exists z, z \in R.
  apply/card_gt0P; move: popR; rewrite cardsT card_ffun card_ord lt0n.
  apply: contraTneq => ->; rewrite muln0 -ltnNge expn_gt0.
  by case: (N).
(* (ii) on R players 1, 0 and w know after block 1 what they know for z1 *)
have repE z : z \in R -> [/\ forall x (j : 'I_m), rep z (Entry 1 j (lift x j)) = rep z1 (Entry 1 j (lift x j)),
    forall a, rep z (Start (B a)) = rep z1 (Start (B a)),
    forall c, rep z (Query [:: val (W c)]) = rep z1 (Query [:: val (W c)]) & s2 z = s2 z1].
  move: z1R; rewrite !inE /= => /eqP <- /eqP[/ffunP k1 /ffunP k2 /ffunP k3 ->]; split=> //.
  - move=> x j; case: (boolP (j \in codom B)) => [/codomP[a ->] | nj].
      by rewrite liftB; have := k1 (a, x a tt); rewrite !ffunE.
    by rewrite liftn //; have := k2 j; rewrite !ffunE (negbTE nj).
  - by move=> a; have := k2 (B a); rewrite !ffunE codom_f.
  - by move=> c; have := k3 c; rewrite !ffunE.
have e1E x : e1 x = [seq b (Entry 1 (val j) (val (lift x j))) | j <- enum 'I_m].
  by rewrite /e1 tokens_table -map_comp.
have u1E z x : z \in R -> attend f1 [:: e2 z] (e1 x) = attend f1 [:: e2 z1] (e1 x).
  by case/repE=> E _ _ _; rewrite e1E; apply: attend_eq => j; rewrite /replies /= -!/(rep _ _) E.
have u0E z x a : z \in R -> attend f1 [:: e2 z; e1 x] (e0 a) = attend f1 [:: e2 z1; e1 x] (e0 a).
  by case/repE=> _ E _ _; rewrite /attend /replies /= -!/(rep _ _) E.
have uwE z x a c : z \in R -> attend f1 [:: e2 z; e1 x; e0 a] (ew c) = attend f1 [:: e2 z1; e1 x; e0 a] (ew c).
  by case/repE=> _ _ E _; rewrite /attend /replies /= -!/(rep _ _) E.
have s2E z : z \in R -> s2 z = s2 z1 by case/repE.
have v1E z x : z \in R -> v1 z x = v1 z1 x by move=> zR; rewrite /v1 s2E ?u1E.
have s1E z x : z \in R -> s1 z x = s1 z1 x by move=> zR; rewrite /s1 s2E ?u1E.
have v0E z x a : z \in R -> v0 z x a = v0 z1 x a by move=> zR; rewrite /v0 s1E ?u0E.
have s0E z x a : z \in R -> s0 z x a = s0 z1 x a by move=> zR; rewrite /s0 s1E ?u0E.
have vwE z x a c : z \in R -> vw z x a c = vw z1 x a c by move=> zR; rewrite /vw s0E ?uwE.
(* (iii) labels *)
pose r i x := [ffun c : 'I_g => let w := Query [:: val (W (i, c))] in reply [:: rep z1 w] (e1 x) (b w)].
pose lam a x := s0 z1 x a.
have [lab _] : exists lab : forall i : 'I_e, labelled Y (r i) lam, True.
  suff [lab _] : exists lab : forall i : 'I_e, labelled Y (r i) lam, forall i : 'I_e, True by exists lab.
  apply: (@fin_all_exists _ (fun i => labelled Y (r i) lam) (fun _ _ => True)) => i.
  apply: labels; [exact: [ffun=> reply (f := f1) [::] [::] (b (Start 0))] | exact: start l1 |].
  rewrite card_unit !card_ord !mul1n; apply: leq_ltn_trans Ybig; rewrite leq_mul2l expnD; apply/orP; right; apply: leq_mul.
    by rewrite -[g in 2 ^ (g * _)]card_ord card_msgs.
  exact: exp_bits.
pose ask c i := let w := Query [:: val (W c)] in let a := (i, place (lab c.1) (tt, i)) in
  let rs := [:: rep z1 w; r1 (lab c.1) c.2] in
  (step (lam1 (lab c.1) a) (mix (ew c) 0 (rcons rs (reply rs (e0 a) (b w))))).2.
have askE i c k : vw z1 (tab (lab i) k) (spot (lab i) k) (i, c) = [:: ask (i, c) (pick (lab i) k).1.2].
  rewrite /vw -/(lam _ _) tab_lam /attend /replies /= /ask /= -(tab_r (lab i) k) ffunE.
  by rewrite /spot; case: (pick (lab i) k).1 => [[] ?].
(* (iv) what w and player 0 learn of z_2 afterwards *)
pose code2 z := ([ffun x : 'I_e * 'I_g * 'I_t => reply (f := f2) [::] (v2 z) (ask x.1 x.2)],
  [ffun x : 'I_e * 'I_Y => t0 z (v1 z1 (tab (lab x.1) x.2)) (v0 z1 (tab (lab x.1) x.2) (spot (lab x.1) x.2))]).
pose place_of (x : 'I_e * 'I_g * 'I_Y) := addr (W x.1, P ((pick (lab x.1.1) x.2).1.2, (pick (lab x.1.1) x.2).2)).
have addr_of i c k : addr (W (i, c), lift (tab (lab i) k) (B (spot (lab i) k))) = place_of (i, c, k).
  rewrite liftB; have -> : tt = (pick (lab i) k).1.1 by case: ((pick _ _).1.1).
  by rewrite tab_val.
have place_inj : injective place_of.
  move=> [[i c] k] [[i' c'] k'] /addr_inj[/W_inj[<- <-] /P_inj[ei ev]]; congr (_, _); apply: (pick_inj (l := lab i)).
  by move: ei ev => /=; case: (pick _ k) => [[[] x] y]; case: (pick _ k') => [[[] x'] y'] /= -> ->.
have det : {in R &, forall z z', code2 z = code2 z' -> forall x, z (place_of x) = z' (place_of x)}.
  move=> z z' zR z'R [/ffunP d1 /ffunP d2] [[i c] k]; rewrite -addr_of; apply: val_inj.
  suff : [:: val (z (addr (W (i, c), lift (tab (lab i) k) (B (spot (lab i) k)))))] =
         [:: val (z' (addr (W (i, c), lift (tab (lab i) k) (B (spot (lab i) k)))))] by case.
  rewrite -!out !outE !v1E // !v0E // !vwE // askE.
  have := d2 (i, k); have := d1 (i, c, (pick (lab i) k).1.2); rewrite !ffunE /= => h1 ->.
  by rewrite /attend /replies /= h1.
have := learn place_inj det; move: popR.
rewrite cardsT card_ffun !card_prod !card_ord => /count cnt /cnt {}cnt.
move: big; rewrite ltnNge => /negP; apply; rewrite -two_N; apply: leq_trans cnt _.
have msgs (K S : finType) k bits : #|S| <= 2 ^ bits -> #|K| = k -> #|{ffun K -> S}| <= 2 ^ (k * bits).
  by move=> Sb <-; apply: card_msgs.
apply: leq_trans (leq_mul (leq_mul (leq_mul (leq_mul (msgs _ _ (t * s * q) M _ _) (msgs _ _ m M _ _)) (msgs _ _ (e * g) M _ _)) l1A)
  (leq_mul (msgs _ _ (e * g * t) M _ _) (msgs _ _ (e * Y) A2 _ _))) _; rewrite ?card_prod ?card_ord //.
rewrite -!expnD leq_exp2l // !(mulnC M) !mulnDl -!addnA leq_add2l leq_add2l leq_add2l.
by rewrite addnCA.
Qed.
