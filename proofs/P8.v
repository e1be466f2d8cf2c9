(** * P8: two full layers, three hops, any linear layers *)

From Coq Require Import Arith Lia.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts Count Prompts Greedy Spread Rich.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma sum_bits a b c d f M p1 p2 p3 p4 p5 :
  a + p4 * M + c + d + (b + p1 * M + p2 * M + p3 * M + M + p5 * M + f) = a + b + c + d + f + M * (p1 + p2 + p3 + 1 + p4 + p5).
Proof. rewrite -?plusE -?multE; nia. Qed.

(** m = g + h: z_1 varies at its first g tokens, with x1 values at one of them.  k q values of w_1, pairs (c, tau);
    nu q values of w_2, pairs (tau, s).  x functions z_2 with S different (address, value). *)
Theorem P8 g h n1 n2 M A0 A1 A2 k q nu x1 x S (m := g + h) (J := x1 * A1) :
  k * q <= n1 -> q * nu <= n2 ->
  x1.-1 ^ g * 2 ^ A0 < m ^ g ->
  spread (A0 + k * q * nu * M + J.+1) (k * q * x1) q x S ->
  2 ^ (A0 + A1 + J.+1 + x * J.+2 + x * x1 * A2 + M * (x * (m * n1) + x1 * g + h + 1 + k * q * nu + k * q * nu * x1))
    < (m * n1 * n2) ^ (nu * S) ->
  impossible m [:: n2; n1] M [:: A0; A1; A2].
Proof.
move=> kq_n1 qn_n2 x1small up big.
apply: impossible_blocks => net /= [l0] [f1] [ls1] [netE l0A f1M [l1] [f2] [ls2] [ls1E l1A f2M [l2 ls2E l2A]]] sol.
rewrite {}ls1E {}ls2E in netE; have out := three_hops sol.
set N1 := size_N m [:: n1] in out; set N2 := size_N m [:: n2; n1] in out.
have N1E : N1 = m * n1 := two_N m n1; have N2E : N2 = m * n1 * n2 := three_N m n1 n2.
have N10 : 0 < N1.
  rewrite lt0n; apply: contraTneq big; rewrite -N1E => ->; rewrite mul0n -leqNgt.
  by case: (nu * S) => [|i]; [rewrite expn0 expn_gt0 | rewrite exp0n].
pose o : 'I_N1 := Ordinal N10.
have m0 : 0 < m by have := N10; rewrite N1E muln_gt0 => /andP[].
have [W1 W1_inj] : exists W1 : 'I_k * 'I_q -> 'I_n1, injective W1 by apply: inj_of_card; rewrite card_prod !card_ord.
have [W2 W2_inj] : exists W2 : 'I_q * 'I_nu -> 'I_n2, injective W2 by apply: inj_of_card; rewrite card_prod !card_ord.
have [P P_inj] : exists P : 'I_k * 'I_m * 'I_q -> 'I_N1, injective P.
  by apply: inj_of_card; rewrite !card_prod !card_ord N1E -mulnA mulnCA leq_mul2l kq_n1 orbT.
(* the functions z_2 considered *)
pose I := [finType of 'I_k * 'I_q * 'I_m].
pose Z := [finType of {ffun I -> 'I_q}].
pose ad (a : I) : 'I_N1 := addr (W1 a.1, a.2).
have ad_inj : injective ad by move=> [ct i] [ct' i'] /addr_inj[] /W1_inj -> ->.
pose lift (z : Z) : {ffun 'I_N1 -> 'I_N1} :=
  [ffun j => if [pick a | ad a == j] is Some a then P (a.1.1, a.2, z a) else o].
have liftA z a : lift z (ad a) = P (a.1.1, a.2, z a).
  by rewrite ffunE; case: pickP => [a' /eqP/ad_inj -> // | /(_ a)]; rewrite eqxx.
(* the functions z_1 considered *)
pose om : 'I_m := Ordinal m0.
pose lift1 (y : {ffun 'I_g -> 'I_m}) : {ffun 'I_m -> 'I_m} := [ffun j => if split j is inl i then y i else om].
have lift1l y i : lift1 y (lshift h i) = y i by rewrite ffunE (unsplitK (inl _ i)).
pose emb := @embed net.
pose T1 (y : {ffun 'I_g -> 'I_m}) := [seq emb (Entry 1 (val i) (val (y i))) | i <- enum 'I_g].
pose T2 := [seq emb (Entry 1 (g + val i) 0) | i <- enum 'I_h].
have tok1 y : map emb (tokens_of 1 (table (lift1 y))) = T1 y ++ T2.
  rewrite tokens_table /T1 /T2 -map_comp /m enum_split map_cat -!map_comp; congr cat; apply: eq_map => i /=.
    by rewrite lift1l.
  by rewrite ffunE (unsplitK (inr _ i)).
(* block 0 *)
pose e3 (z : {ffun 'I_N2 -> 'I_N2}) := map emb (tokens_of 3 (table z)).
pose e2 (z : Z) := map emb (tokens_of 2 (table (lift z))).
pose e0 (j : 'I_m) := [:: emb (Start j)].
pose tw (c : 'I_k * 'I_q * 'I_nu) := Query [:: val (W2 (c.1.2, c.2)); val (W1 c.1)].
pose left3 z := (scan (start l0) (e3 z)).1.
have [s3 pop3] := popular [set: {ffun 'I_N2 -> 'I_N2}] left3 (start l0).
set R3 := [set z in _ | _] in pop3.
pose left2 z := (scan s3 (e2 z)).1.
have [s2 pop2] := popular [set: Z] left2 (start l0).
set C2 := [set z in _ | _] in pop2.
pose leftG y := (scan s2 (T1 y)).1.
have [sG popG] := popular [set: {ffun 'I_g -> 'I_m}] leftG (start l0).
set CG := [set z in _ | _] in popG.
have [j1 x1j] : exists j, x1 <= #|proj CG j|.
  apply/existsP; apply: contraLR x1small; rewrite negb_exists -leqNgt => /forallP small.
  move: popG; rewrite cardsT card_ffun !card_ord => /leq_trans; apply.
  rewrite mulnC leq_mul // (leq_trans (projections CG)) // -[X in _ ^ X]card_ord -prod_nat_const.
  by apply: leq_prod => j _; have := small j; rewrite -ltnNge; case: (x1).
pose u (i : 'I_x1) : 'I_m := enum_val (widen_ord x1j i).
have u_inj : injective u by move=> i i' /enum_val_inj/(congr1 val) e; apply: val_inj.
have [y yP] : exists y : 'I_x1 -> {ffun 'I_g -> 'I_m}, forall i, leftG (y i) = sG /\ y i j1 = u i.
  apply: (@fin_all_exists _ (fun=> {ffun 'I_g -> 'I_m}) (fun i z => leftG z = sG /\ z j1 = u i)) => i; have /imsetP[z] := enum_valP (widen_ord x1j i).
  by rewrite !inE /= => /eqP zs zj; exists z.
pose s1 := (scan sG T2).1.
pose z0 := lshift h j1.
pose c3 z := (scan (start l0) (e3 z)).2.
pose c2 z := (scan s3 (e2 z)).2.
pose c1a i := (scan s2 (T1 (y i))).2.
pose c1b := (scan sG T2).2.
pose c1 i := c1a i ++ c1b.
pose s0 := (scan s1 (e0 z0)).1.
pose x0 := (step s1 (emb (Start z0))).2.
pose c0 := [:: x0].
pose xw c := (step s0 (emb (tw c))).2.
have block0 z v i c : z \in R3 -> v \in C2 ->
    chain (start l0) (map (map emb) (prompt [:: table z; table (lift v); table (lift1 (y i))] z0 [:: val (W2 (c.1.2, c.2)); val (W1 c.1)]))
    = [:: c3 z; c2 v; c1 i; c0; [:: xw c]].
  rewrite !inE /= => /eqP zs /eqP vs; have [ys _] := yP i.
  rewrite -/(e3 z) -/(e2 v) tok1 -[(scan (start l0) (e3 z)).1]/(left3 z) zs -[(scan s3 (e2 v)).1]/(left2 v) vs.
  by rewrite scan_cat -[(scan s2 (T1 _)).1]/(leftG (y i)) ys.
(* epoch 1 and block 1 *)
pose v3 z := (scan (start l1) (attend f1 [::] (c3 z))).2.
pose t3 z := (scan (start l1) (attend f1 [::] (c3 z))).1.
pose b2 z v := scan (t3 z) (attend f1 [:: c3 z] (c2 v)).
pose b1 z v i := scan (b2 z v).1 (attend f1 [:: c3 z; c2 v] (c1 i)).
pose b0 z v i := scan (b1 z v i).1 (attend f1 [:: c3 z; c2 v; c1 i] c0).
pose vw z v i c := (scan (b0 z v i).1 (attend f1 [:: c3 z; c2 v; c1 i; c0] [:: xw c])).2.
pose t0 z v i := (scan (scan (scan (scan (start l2) (attend f2 [::] (v3 z))).1 (attend f2 [:: v3 z] (b2 z v).2)).1
   (attend f2 [:: v3 z; (b2 z v).2] (b1 z v i).2)).1 (attend f2 [:: v3 z; (b2 z v).2; (b1 z v i).2] (b0 z v i).2)).1.
have outE z v i c : z \in R3 -> v \in C2 ->
   output net (prompt [:: table z; table (lift v); table (lift1 (y i))] z0 [:: val (W2 (c.1.2, c.2)); val (W1 c.1)]) =
    map (@read net) (scan (t0 z v i) (attend f2 [:: v3 z; (b2 z v).2; (b1 z v i).2; (b0 z v i).2] (vw z v i c))).2.
  move=> zR vC.
  have runE ps : run (layers net) ps =
    chain (start l2) (epoch f2 [::] (chain (start l1) (epoch f1 [::] (chain (start l0) ps)))) by rewrite netE.
  by rewrite /output runE block0.
(* what player 3 says to the last token in epoch 1 *)
pose rep z := [ffun c => reply (f := f1) [::] (c3 z) (xw c)].
have [r3 popr] := popular R3 rep [ffun=> reply (f := f1) [::] [::] x0].
set Ra := [set z in R3 | _] in popr.
(* labels *)
pose r2 v := [ffun c => reply (f := f1) [:: r3 c] (c2 v) (xw c)].
have [rr popC] := popular C2 r2 [ffun=> reply (f := f1) [::] [::] x0].
set C := [set v in C2 | _] in popC.
pose lam (v : Z) z := [ffun i : 'I_x1 => (b0 z v i).1].
have R30 : 0 < #|R3|.
  move: pop3; rewrite cardsT card_ffun card_ord lt0n; apply: contraTneq => ->; rewrite muln0 -ltnNge expn_gt0.
  by rewrite N2E; case: (m * n1 * n2).
have Ra0 : 0 < #|Ra| by rewrite lt0n; apply: contraTneq popr => ->; rewrite muln0 -ltnNge.
have Clarge : #|'I_q| ^ #|I| <= 2 ^ (A0 + k * q * nu * M) * #|C|.
  move: pop2; rewrite cardsT card_ffun => /leq_trans; apply; rewrite expnD -mulnA; apply: leq_mul => //.
  apply: leq_trans popC _; rewrite leq_mul2r; apply/orP; right.
  by have := @card_msgs [finType of 'I_k * 'I_q * 'I_nu] _ _ f1M; rewrite !card_prod !card_ord.
have C0 : 0 < #|C|.
  rewrite lt0n; apply: contraTneq Clarge => ->; rewrite muln0 -ltnNge expn_gt0 card_ord !card_prod !card_ord.
  by case: (q) => //; rewrite muln0 mul0n.
have lamJ : #|{ffun 'I_x1 -> state l1}| <= 2 ^ J by have := @card_msgs [finType of 'I_x1] _ _ l1A; rewrite card_ord.
have [v1 [lm [Rb [v1C RbR Rbc v1l degC]]]] := rich lam lamJ C0 Ra0.
(* the draws *)
pose T := [set a : I | [exists i, a.2 == u i]].
have TC : #|T| = k * q * x1.
  have -> : T = setX [set: 'I_k * 'I_q] [set u i | i in 'I_x1].
    apply/setP => -[ct i]; rewrite !inE /=; apply/existsP/imsetP => [[j /eqP ->]|[j _ ->]]; first by exists j.
    by exists j.
  by rewrite cardsX cardsT card_prod !card_ord card_imset // card_ord.
have [|z zR|z zR|d [R [[sz dC Sd RRb all_] Rc]]] := up I [finType of 'I_q] T TC (card_ord q) _ (fun v z => lam v z == lm) C J.+1 Rb.
- by rewrite lt0n; apply: contraTneq Rbc => ->; rewrite muln0 -ltnNge.
- by rewrite expnD -mulnA; apply: leq_trans Clarge _; rewrite leq_mul2l degC ?orbT.
- exact: degC.
set dd := d in Sd; set cov := cover _ _ in Sd.
have RRa z : z \in R -> z \in Ra by move=> zR; apply: (subsetP RbR); apply: (subsetP RRb).
have RR3 z : z \in R -> z \in R3 by move/RRa; rewrite inE => /andP[].
pose vv (t : 'I_(size dd)) := tnth (in_tuple dd) t.
have vvC t : vv t \in C := dC _ (mem_tnth t (in_tuple dd)).
have vvC2 t : vv t \in C2 by have := vvC t; rewrite inE => /andP[].
have vvl t z : z \in R -> lam (vv t) z = lm.
  by move=> zR; apply/eqP/(all_ _ _ (mem_tnth t (in_tuple dd)) zR).
(* the last question does not depend on z_2 *)
pose ask c i := let rs2 := [:: r3 c; rr c] in let rs := rcons rs2 (reply rs2 (c1 i) (xw c)) in
  (step (lm i) (mix [:: xw c] 0 (rcons rs (reply rs c0 (xw c))))).2.
have vwE z t i c : z \in R -> vw z (vv t) i c = [:: ask c i].
  move=> zR; have lmE : (b0 z (vv t) i).1 = lm i by rewrite -(vvl t z zR) ffunE.
  have e3' : reply (f := f1) [::] (c3 z) (xw c) = r3 c.
    by have := RRa z zR; rewrite inE => /andP[_ /eqP <-]; rewrite ffunE.
  have e2' : reply (f := f1) [:: r3 c] (c2 (vv t)) (xw c) = rr c.
    by have := vvC t; rewrite inE => /andP[_ /eqP <-]; rewrite ffunE.
  by rewrite /vw lmE /attend /replies /= e3' e2'.
(* the code *)
pose code z := (t3 z, [ffun tj : 'I_(size dd) * 'I_N1 => reply (f := f1) [::] (c3 z) (nth x0 (c2 (vv tj.1)) tj.2)],
  [ffun ij : 'I_x1 * 'I_g => reply (f := f1) [::] (c3 z) (nth x0 (c1a ij.1) ij.2)],
  [ffun j : 'I_h => reply (f := f1) [::] (c3 z) (nth x0 c1b j)], reply (f := f1) [::] (c3 z) x0,
  [ffun ci : 'I_k * 'I_q * 'I_nu * 'I_x1 => reply (f := f2) [::] (v3 z) (ask ci.1 ci.2)],
  [ffun ti : 'I_(size dd) * 'I_x1 => t0 z (vv ti.1) ti.2]).
have fixed z z' t i : z \in R -> z' \in R -> code z = code z' -> [/\ b2 z (vv t) = b2 z' (vv t), b1 z (vv t) i = b1 z' (vv t) i &
    b0 z (vv t) i = b0 z' (vv t) i].
  move=> zR z'R [h3 /ffunP hE /ffunP hP /ffunP hP' h0 _ _].
  have E2 : b2 z (vv t) = b2 z' (vv t).
    rewrite /b2 h3 (@attend_head _ x0 f1 (c3 z) (c3 z') [::]) // => j.
    rewrite size_scan size_map tokens_table size_map size_enum_ord => jN.
    by have := hE (t, Ordinal jN); rewrite !ffunE.
  have E1 : b1 z (vv t) i = b1 z' (vv t) i.
    rewrite /b1 E2 (@attend_head _ x0 f1 (c3 z) (c3 z')) // => j.
    have sa : size (c1a i) = g by rewrite size_scan size_map size_enum_ord.
    have sb : size c1b = h by rewrite size_scan size_map size_enum_ord.
    rewrite /c1 nth_cat size_cat sa sb => jm; case: ltnP => [jg | gj].
      by have := hP (i, Ordinal jg); rewrite !ffunE.
    have jh : j - g < h by rewrite ltn_subLR.
    by have := hP' (Ordinal jh); rewrite !ffunE.
  split=> //; rewrite /b0 E1 (@attend_head _ x0 f1 (c3 z) (c3 z')) // => -[|j] //.
(* the entries *)
pose iv (c : 'I_S) := enum_val (widen_ord Sd c).
have iv_inj : injective iv by move=> c c' /enum_val_inj/(congr1 val) e; apply: val_inj.
have [ix ixP] : exists ix : 'I_S -> 'I_(size dd) * 'I_x1, forall c, vv (ix c).1 (iv c).1 = (iv c).2 /\ (iv c).1.2 = u (ix c).2.
  apply: (@fin_all_exists _ (fun=> [finType of 'I_(size dd) * 'I_x1]) (fun c i => vv i.1 (iv c).1 = (iv c).2 /\ (iv c).1.2 = u i.2)) => c.
  have := enum_valP (widen_ord Sd c); rewrite -/(iv c) inE => /andP[+ /hasP[z /(tnthP (in_tuple dd))[t ->] /eqP zE]].
  by rewrite inE => /existsP[i /eqP ui]; exists (t, i).
pose place_of (x : 'I_nu * 'I_S) := let p := iv x.2 in addr3 (W2 (p.1.1.2, x.1), P (p.1.1.1, p.1.2, p.2)).
have place_inj : injective place_of.
  move=> [s c] [s' c'] /addr3_inj[/W2_inj[e1 <-] /P_inj[e2' e3' e4]]; congr (_, _); apply: iv_inj.
  by case: (iv c) (iv c') e1 e2' e3' e4 => [[[a1 a2] a3] a4] [[[a1' a2'] a3'] a4'] /= -> -> -> ->.
have det : {in R &, forall z z', code z = code z' -> forall x, z (place_of x) = z' (place_of x)}.
  move=> z z' zR z'R zz' [s c]; have [E2 E1 E0] := fixed z z' (ix c).1 (ix c).2 zR z'R zz'.
  have [vE uE] := ixP c; pose q3 := ((iv c).1.1, s).
  have -> : place_of (s, c) = addr3 (W2 (q3.1.2, q3.2), lift (vv (ix c).1) (addr (W1 q3.1, lift1 (y (ix c).2) z0))).
    rewrite lift1l; have [_ ->] := yP (ix c).2; rewrite -uE.
    have -> : addr (W1 q3.1, (iv c).1.2) = ad (iv c).1 by rewrite /ad /q3.
    by rewrite liftA vE.
  set adr := addr3 _; apply: val_inj; suff : [:: val (z adr)] = [:: val (z' adr)] by case.
  rewrite -!out !outE // ?RR3 // !vwE // E2 E1 E0.
  case: zz' => _ _ _ _ _ /ffunP hr /ffunP ht.
  have := ht (ix c); have := hr (q3, (ix c).2); rewrite !ffunE /= => hr' ->.
  by rewrite /attend /replies /= hr'.
have := learn place_inj det.
have chain_ : N2 ^ N2 <= 2 ^ (A0 + k * q * nu * M + J.+1 + x * J.+2) * #|R|.
  move: pop3; rewrite cardsT card_ffun card_ord => /leq_trans; apply.
  have h1 : #|R3| <= 2 ^ (k * q * nu * M) * #|Ra|.
    apply: leq_trans popr _; rewrite leq_mul2r; apply/orP; right.
    by have := @card_msgs [finType of 'I_k * 'I_q * 'I_nu] _ _ f1M; rewrite !card_prod !card_ord.
  apply: leq_trans (leq_mul l0A (leq_trans h1 (leq_mul (leqnn _) (leq_trans Rbc (leq_mul (leqnn _) Rc))))) _.
  by rewrite !expnD !mulnA.
rewrite !card_prod !card_ord => /(count chain_) cnt.
move: big; rewrite ltnNge => /negP; apply; rewrite -N2E; apply: leq_trans cnt _.
have szd : size dd = x by exact: sz.
have msgs (K S' : finType) n bits : #|S'| <= 2 ^ bits -> #|K| = n -> #|{ffun K -> S'}| <= 2 ^ (n * bits).
  by move=> Sb <-; apply: card_msgs.
apply: leq_trans (leq_mul (leqnn _) (leq_mul (leq_mul (leq_mul (leq_mul (leq_mul (leq_mul l1A (msgs _ _ (x * N1) M f1M _)) (msgs _ _ (x1 * g) M f1M _))
  (msgs _ _ h M f1M _)) f1M) (msgs _ _ (k * q * nu * x1) M f2M _)) (msgs _ _ (x * x1) A2 l2A _))) _;
  rewrite ?card_prod ?card_ord ?szd //.
by rewrite -!expnD leq_exp2l // -N1E; apply: eq_leq; rewrite -sum_bits.
Qed.
