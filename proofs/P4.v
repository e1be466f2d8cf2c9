(** * P4: one full layer, two hops *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Count Prompts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Theorem P4 m n M A B V :
  V.-1 ^ m * 2 ^ A < m ^ m ->
  2 ^ (n * M + V * B + A) < (m * n) ^ (n * V) ->
  impossible m [:: n] M [:: A; B].
Proof.
move=> Vsmall big; apply: impossible_blocks => net /= [l] [f] [ls] [netE lA fM [k kE kB]] sol.
rewrite {}kE in netE; have out := two_hops sol.
set N := size_N m [:: n] in out.
pose e2 (z : {ffun 'I_N -> 'I_N}) := map (@embed net) (tokens_of 2 (table z)).
pose e1 (z : {ffun 'I_m -> 'I_m}) := map (@embed net) (tokens_of 1 (table z)).
pose e0 (j : 'I_m) := [:: embed net (Start j)].
pose ew (w : 'I_n) := [:: embed net (Query [:: val w])].
(* (i), (ii): the most frequent states of block 0 that leave player 2, then player 1 *)
pose left2 z := (scan (start l) (e2 z)).1.
have [s2 popR] := popular [set: {ffun 'I_N -> 'I_N}] left2 (start l).
set R := [set z in _ | _] in popR.
pose left1 z := (scan s2 (e1 z)).1.
have [s1 popC] := popular [set: {ffun 'I_m -> 'I_m}] left1 (start l).
set C := [set z in _ | _] in popC.
(* some start leads to V values *)
have [j Vj] : exists j, V <= #|proj C j|.
  apply/existsP; apply: contraLR Vsmall; rewrite negb_exists -leqNgt => /forallP small.
  move: popC; rewrite cardsT card_ffun card_ord => /leq_trans; apply.
  rewrite mulnC leq_mul // (leq_trans (projections C)) // -[X in _ ^ X]card_ord -prod_nat_const.
  by apply: leq_prod => j _; have := small j; rewrite -ltnNge; case: (V).
pose u (i : 'I_V) : 'I_m := enum_val (widen_ord Vj i).
have u_inj : injective u by move=> i i' /enum_val_inj/(congr1 val) e; apply: val_inj.
have [y yP] : exists y : 'I_V -> {ffun 'I_m -> 'I_m}, forall i, left1 (y i) = s1 /\ y i j = u i.
  apply: (@fin_all_exists _ (fun=> {ffun 'I_m -> 'I_m}) (fun i z => left1 z = s1 /\ z j = u i)) => i; have /imsetP[z] := enum_valP (widen_ord Vj i).
  by rewrite !inE /= => /eqP zs zj; exists z.
(* (iii), (iv): what the last token hears of z_2 *)
pose q2 z := (scan (start l) (e2 z)).2.
pose q1 i := (scan s2 (e1 (y i))).2.
pose q0 := (scan s1 (e0 j)).2.
pose qw w := (scan (scan s1 (e0 j)).1 (ew w)).2.
pose left0 z i := (scan (scan (scan (start k) (attend f [::] (q2 z))).1 (attend f [:: q2 z] (q1 i))).1
                        (attend f [:: q2 z; q1 i] q0)).1.
have outE z i (w : 'I_n) : z \in R -> output net (prompt [:: table z; table (y i)] j [:: val w]) =
    map (@read net) (scan (left0 z i) (attend f [:: q2 z; q1 i; q0] (qw w))).2.
  rewrite !inE /= => /eqP zs; have [ys _] := yP i.
  rewrite /output netE /= -/(e1 _) -/(e2 _) -/(e0 _) -/(ew _).
  by rewrite -[(scan (start l) (e2 z)).1]/(left2 z) zs -[(scan s2 (e1 (y i))).1]/(left1 (y i)) ys.
(* the code *)
pose x (w : 'I_n) := (step (scan s1 (e0 j)).1 (embed net (Query [:: val w]))).2.
pose code z := ([ffun w => reply (f := f) [::] (q2 z) (x w)], [ffun i => left0 z i]) : {ffun 'I_n -> msg f} * {ffun 'I_V -> state k}.
have cnt : #|R| * #|'I_N| ^ #|[finType of 'I_n * 'I_V]| <= #|[finType of {ffun 'I_n -> msg f} * {ffun 'I_V -> state k}]| * #|'I_N| ^ #|'I_N|.
  apply: (@learn _ _ _ _ R (fun wi => addr (wi.1, u wi.2)) code).
    by move=> [w i] [w' i'] /addr_inj /= [-> /u_inj ->].
  move=> z z' zR z'R [/ffunP cw /ffunP ci] [w i] /=; have [_ <-] := yP i.
  apply: val_inj; suff : [:: val (z (addr (w, y i j)))] = [:: val (z' (addr (w, y i j)))] by case.
  rewrite -!out !outE // /attend /replies /=.
  have := ci i; have := cw w; rewrite !ffunE /x => -> ->; done.
(* the count *)
move: popR cnt; rewrite cardsT card_ffun !card_ord card_prod !card_ord => popR cnt.
have := count popR cnt; rewrite /N two_N => /leq_trans cnt'; move: big; rewrite ltnNge => /negP; apply; apply: cnt'.
rewrite addnC !expnD card_prod; apply: leq_mul => //; apply: leq_mul.
  by rewrite -[n in n * _]card_ord; apply: card_msgs.
by rewrite -[V in V * _]card_ord; apply: card_msgs.
Qed.
