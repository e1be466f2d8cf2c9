(** * P4': one full layer, two hops, by draws *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts Count Prompts Greedy Spread.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** t parts of q values, s starts for each; S different (start, value) by nx functions z_1. *)
Theorem P4' m n M A B t s q nx S Y :
  t * s <= m -> t * q <= m ->
  spread A (t * s) q nx S -> Y.-1 * s < S ->
  2 ^ (M * (n * t + t) + nx * B + A) < (m * n) ^ (n * Y) ->
  impossible m [:: n] M [:: A; B].
Proof.
move=> ts_m tq_m up YS big; apply: impossible_blocks => net /= [l] [f] [ls] [netE lA fM [k kE kB]] sol.
rewrite {}kE in netE; have out := two_hops sol.
set N := size_N m [:: n] in out.
have o : 'I_m.
  suff m0 : 0 < m by exact: Ordinal m0.
  rewrite lt0n; apply: contraTneq big => ->; rewrite mul0n -leqNgt.
  by case: (n * Y) => [|i]; [rewrite expn0 expn_gt0 | rewrite exp0n].
have [St St_inj] : exists St : 'I_t * 'I_s -> 'I_m, injective St by apply: inj_of_card; rewrite card_prod !card_ord.
have [P P_inj] : exists P : 'I_t * 'I_q -> 'I_m, injective P by apply: inj_of_card; rewrite card_prod !card_ord.
(* the functions z_1 considered *)
pose I := [finType of 'I_t * 'I_s].
pose lift (x : {ffun I -> 'I_q}) : {ffun 'I_m -> 'I_m} :=
  [ffun j => if [pick a | St a == j] is Some a then P (a.1, x a) else o].
have liftS x a : lift x (St a) = P (a.1, x a).
  by rewrite ffunE; case: pickP => [a' /eqP/St_inj -> // | /(_ a)]; rewrite eqxx.
pose e2 (z : {ffun 'I_N -> 'I_N}) := map (@embed net) (tokens_of 2 (table z)).
pose e1 x := map (@embed net) (tokens_of 1 (table (lift x))).
pose e0 (a : I) := [:: embed net (Start (St a))].
pose ew (w : 'I_n) := [:: embed net (Query [:: val w])].
(* the most frequent states of block 0 that leave player 2, then player 1 *)
pose left2 z := (scan (start l) (e2 z)).1.
have [s2 popR] := popular [set: {ffun 'I_N -> 'I_N}] left2 (start l).
set R := [set z in _ | _] in popR.
pose left1 x := (scan s2 (e1 x)).1.
have [s1 popC] := popular [set: {ffun I -> 'I_q}] left1 (start l).
set C := [set z in _ | _] in popC.
(* the draws *)
have Clarge : #|'I_q| ^ #|I| <= 2 ^ A * #|C|.
  by move: popC; rewrite cardsT card_ffun => /leq_trans; apply; rewrite leq_mul2r lA orbT.
have tI : #|[set: I]| = t * s by rewrite cardsT card_prod !card_ord.
have withE u : with_ (U := [finType of unit]) (fun _ _ => true) C u = C by apply/setP => z; rewrite !inE andbT.
have [|u _|u _|d [R' [[sz dC Sd _ _] _]]] := up I [finType of 'I_q] [set: I] tI (card_ord q) [finType of unit] (fun _ _ => true) C 0 [set: unit].
- by rewrite cardsT card_unit.
- by rewrite withE.
- by rewrite withE mul1n.
set cov := cover _ _ in Sd.
pose y (i : 'I_(size d)) := tnth (in_tuple d) i.
have yC i : left1 (y i) = s1 by have := dC _ (mem_tnth i (in_tuple d)); rewrite !inE /= => /eqP.
(* the best start of every group *)
have s0 : 0 < s.
  rewrite lt0n; apply: contraTneq YS => s0; rewrite s0 muln0 -leqNgt (leq_trans Sd) // leqn0 cards_eq0.
  by apply/eqP/setP => -[[i [j js]] v]; exfalso; move: js; rewrite s0.
pose D (a : I) := [set v | (a, v) \in cov].
have [j jmax] : exists j : 'I_t -> 'I_s, forall i j', #|D (i, j')| <= #|D (i, j i)|.
  apply: (@fin_all_exists _ (fun=> 'I_s) (fun i j => forall j', #|D (i, j')| <= #|D (i, j)|)) => i.
  by have [j _ jmax] := @arg_maxnP _ (Ordinal s0) xpredT (fun j => #|D (i, j)|) isT; exists j => j'; apply: jmax.
pose K := [set x : 'I_t * 'I_q | ((x.1, j x.1), x.2) \in cov].
have YK : Y <= #|K|.
  have -> : #|K| = \sum_i #|D (i, j i)|.
    rewrite -sum1_card (eq_bigl (fun x : 'I_t * 'I_q => x.2 \in D (x.1, j x.1))) => [|x]; last by rewrite !inE.
    rewrite -(pair_big_dep xpredT (fun i v => v \in D (i, j i)) (fun _ _ => 1)) /=.
    by apply: eq_bigr => i _; rewrite sum1_card.
  have covE : #|cov| = \sum_a #|D a|.
    rewrite -sum1_card (eq_bigl (fun x : I * 'I_q => x.2 \in D x.1)) => [|[a v]]; last by rewrite !inE.
    rewrite -(pair_big_dep xpredT (fun a v => v \in D a) (fun _ _ => 1)) /=.
    by apply: eq_bigr => i _; rewrite sum1_card.
  suff : Y.-1 * s < (\sum_i #|D (i, j i)|) * s by rewrite ltn_pmul2r //; case: (Y).
  apply: leq_trans YS _; apply: leq_trans Sd _; rewrite covE (eq_bigr (fun a => #|D (a.1, a.2)|)) => [|[] //].
  rewrite -(pair_bigA _ (fun i j => #|D (i, j)|)) /= big_distrl; apply: leq_sum => i _ /=.
  by rewrite mulnC -[X in X * _](card_ord s) -sum_nat_const; apply: leq_sum => j' _.
pose iv (c : 'I_Y) := enum_val (widen_ord YK c).
have iv_inj : injective iv by move=> c c' /enum_val_inj/(congr1 val) e; apply: val_inj.
have [ix ixP] : exists ix : 'I_Y -> 'I_(size d), forall c, y (ix c) ((iv c).1, j (iv c).1) = (iv c).2.
  apply: (@fin_all_exists _ (fun=> 'I_(size d)) (fun c i => y i ((iv c).1, j (iv c).1) = (iv c).2)) => c.
  have := enum_valP (widen_ord YK c); rewrite -/(iv c) inE /cov inE /= => /andP[_ /hasP[z /(tnthP (in_tuple d))[i ->] /eqP zE]].
  by exists i.
(* what the last token hears of z_2 *)
pose q2 z := (scan (start l) (e2 z)).2.
pose q1 i := (scan s2 (e1 (y i))).2.
pose a0 i : I := (i, j i).
pose q0 i := (scan s1 (e0 (a0 i))).2.
pose qw i w := (scan (scan s1 (e0 (a0 i))).1 (ew w)).2.
pose left z i := (scan (scan (start k) (attend f [::] (q2 z))).1 (attend f [:: q2 z] (q1 i))).1.
have outE z c i (w : 'I_n) : z \in R -> output net (prompt [:: table z; table (lift (y c))] (St (a0 i)) [:: val w]) =
    map (@read net) (scan (scan (left z c) (attend f [:: q2 z; q1 c] (q0 i))).1 (attend f [:: q2 z; q1 c; q0 i] (qw i w))).2.
  rewrite !inE /= => /eqP zs; have ys := yC c.
  rewrite /output netE /= -/(e1 _) -/(e2 _) -/(e0 _) -/(ew _).
  by rewrite -[(scan (start l) (e2 z)).1]/(left2 z) zs -[(scan s2 (e1 (y c))).1]/(left1 (y c)) ys.
(* the code *)
pose xw (wi : 'I_n * 'I_t) := (step (scan s1 (e0 (a0 wi.2))).1 (embed net (Query [:: val wi.1]))).2.
pose x0 i := (step s1 (embed net (Start (St (a0 i))))).2.
pose code z := ([ffun wi => reply (f := f) [::] (q2 z) (xw wi)], [ffun i => reply (f := f) [::] (q2 z) (x0 i)], [ffun i => left z i])
  : {ffun 'I_n * 'I_t -> msg f} * {ffun 'I_t -> msg f} * {ffun 'I_(size d) -> state k}.
have cnt : #|R| * #|'I_N| ^ #|[finType of 'I_n * 'I_Y]| <=
    #|[finType of {ffun 'I_n * 'I_t -> msg f} * {ffun 'I_t -> msg f} * {ffun 'I_(size d) -> state k}]| * #|'I_N| ^ #|'I_N|.
  apply: (@learn _ _ _ _ R (fun wc => addr (wc.1, P (iv wc.2))) code).
    by move=> [w i] [w' i'] /addr_inj /= [-> /P_inj/iv_inj ->].
  move=> z z' zR z'R [/ffunP cw /ffunP c0 /ffunP ci] [w c] /=.
  have -> : P (iv c) = lift (y (ix c)) (St (a0 (iv c).1)) by rewrite liftS ixP /= -surjective_pairing.
  set ad := addr _; apply: val_inj; suff : [:: val (z ad)] = [:: val (z' ad)] by case.
  rewrite -!out !outE // /attend /replies /=.
  have := ci (ix c); have := c0 (iv c).1; have := cw (w, (iv c).1); rewrite !ffunE /xw /x0 /= => -> -> ->; done.
(* the count *)
move: popR cnt; rewrite cardsT card_ffun !card_ord !card_prod !card_ord => popR cnt.
have := count popR cnt; rewrite /N two_N => /leq_trans cnt'; move: big; rewrite ltnNge => /negP; apply; apply: cnt'.
rewrite addnC !expnD mulnDr expnD -sz; apply: leq_mul => //; apply: leq_mul; last first.
  by have := @card_msgs [finType of 'I_(size d)] _ _ kB; rewrite card_ord.
apply: leq_mul; rewrite mulnC; last by have := @card_msgs [finType of 'I_t] _ _ fM; rewrite card_ord.
by have := @card_msgs [finType of 'I_n * 'I_t] _ _ fM; rewrite card_prod !card_ord.
Qed.
