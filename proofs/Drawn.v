(** * Labels and draws: for P9 (b) *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Count Greedy Spread.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Drawn.
Variables (U I J Q S S' : finType) (x Y : nat).
Notation tables := {ffun I * J -> {ffun U -> Q}}.
Variables (r : tables -> S) (lam : I * J -> tables -> S').

Record drawn := Drawn {
  dplace : I -> J;
  dr1    : S;
  dlam1  : I * J -> S';
  dtab   : I -> 'I_x -> tables;
  dpick  : 'I_Y -> U * I * Q;
  dix    : 'I_Y -> 'I_x;
  dpick_inj : injective dpick;
  dtab_r   i k : r (dtab i k) = dr1;
  dtab_lam i k : lam (i, dplace i) (dtab i k) = dlam1 (i, dplace i);
  dtab_val c : dtab (dpick c).1.2 (dix c) ((dpick c).1.2, dplace (dpick c).1.2) (dpick c).1.1 = (dpick c).2 }.

Lemma drawn_ok A (r0 : S) (l0 : S') (j0 : J) :
  spread A (#|U| * #|I|) #|Q| x Y ->
  #|S| * #|S'| ^ (#|I| * #|J|) <= 2 ^ (A * #|J|) ->
  0 < #|Q| -> exists _ : drawn, True.
Proof.
move=> up AJ Q0.
have [r1 pop] := popular [set: tables] r r0.
set C := [set z in _ | _] in pop.
have [l1 l1P] : exists l1 : I * J -> S', forall a, #|proj C a| <= #|S'| * #|proj [set z in C | lam a z == l1 a] a|.
  apply: (@fin_all_exists _ (fun=> S') (fun a l => #|proj C a| <= #|S'| * #|proj [set z in C | lam a z == l] a|)) => a.
  exact: (popular_image C (lam a) (fun z : tables => z a) l0).
pose D a : {set {ffun U -> Q}} := proj [set z in C | lam a z == l1 a] a.
have [j jmax] : exists j : I -> J, forall i j', #|D (i, j')| <= #|D (i, j i)|.
  apply: (@fin_all_exists _ (fun=> J) (fun i j => forall j', #|D (i, j')| <= #|D (i, j)|)) => i.
  by have [j _ jmax] := @arg_maxnP _ j0 xpredT (fun j => #|D (i, j)|) isT; exists j => j'; apply: jmax.
pose cur (f : {ffun U * I -> Q}) i : {ffun U -> Q} := [ffun w => f (w, i)].
pose F := [set f : {ffun U * I -> Q} | [forall i, cur f i \in D (i, j i)]].
have FC : #|F| = \prod_i #|D (i, j i)|.
  have -> : \prod_i #|D (i, j i)| = #|family (fun i => mem (D (i, j i)))| by rewrite card_family foldrE big_map -big_enum.
  pose c (f : {ffun U * I -> Q}) : {ffun I -> {ffun U -> Q}} := [ffun i => cur f i].
  have c_inj : injective c.
    by move=> f f' /ffunP e; apply/ffunP => -[w i]; have := e i; rewrite !ffunE => /ffunP/(_ w); rewrite !ffunE.
  rewrite -(card_imset (mem F) c_inj); apply: eq_card => h; apply/imsetP/familyP => [[f + ->] i|hD].
    by rewrite inE => /forallP/(_ i); rewrite ffunE.
  exists [ffun p => h p.2 p.1]; last by apply/ffunP => i; rewrite ffunE; apply/ffunP => w; rewrite !ffunE.
  rewrite inE; apply/forallP => i; have -> : cur [ffun p => h p.2 p.1] i = h i by apply/ffunP => w; rewrite !ffunE.
  exact: hD.
have J0 : 0 < #|J| by apply/card_gt0P; exists j0.
have Flarge : #|Q| ^ #|[finType of U * I]| <= 2 ^ A * #|F|.
  rewrite -(leq_exp2r _ _ J0) expnMn -(expnM 2) FC card_prod.
  move: pop; rewrite cardsT !card_ffun card_prod => pop.
  have -> : (#|Q| ^ (#|U| * #|I|)) ^ #|J| = (#|Q| ^ #|U|) ^ (#|I| * #|J|) by rewrite -!expnM mulnA.
  apply: leq_trans pop _; apply: leq_trans (leq_mul (leqnn _) (projections C)) _.
  apply: (@leq_trans (#|S| * (#|S'| ^ (#|I| * #|J|) * (\prod_i #|D (i, j i)|) ^ #|J|))); last first.
    by rewrite mulnA leq_mul2r AJ orbT.
  rewrite leq_mul2l; apply/orP; right.
  apply: (@leq_trans (\prod_(a : I * J) (#|S'| * #|D (a.1, j a.1)|))).
    apply: leq_prod => -[i j'] _; apply: leq_trans (l1P _) _; rewrite leq_mul2l; apply/orP; right; exact: jmax.
  rewrite big_split /= prod_nat_const card_prod leq_mul2l; apply/orP; right.
  rewrite -(pair_bigA _ (fun i (_ : J) => #|D (i, j i)|)) /=.
  rewrite (eq_bigr (fun i => #|D (i, j i)| ^ #|J|)) => [|i _]; last by rewrite prod_nat_const.
  by elim/big_rec2: _ => [|i a b _ IH]; rewrite ?exp1n // expnMn leq_mul.
have withE u : with_ (U := [finType of unit]) (fun _ _ => true) F u = F by apply/setP => z; rewrite !inE andbT.
have TE : #|[set: U * I]| = #|U| * #|I| by rewrite cardsT card_prod.
have [|u _|u _|d [R' [[sz dF Yd _ _] _]]] := up [finType of U * I] Q [set: U * I] TE erefl [finType of unit] (fun _ _ => true) F 0 [set: unit].
- by rewrite cardsT card_unit.
- by rewrite withE.
- by rewrite withE mul1n.
set cov := cover _ _ in Yd.
pose fk (k : 'I_x) := tnth (in_tuple d) (cast_ord (esym sz) k).
have fkF k i : cur (fk k) i \in D (i, j i).
  by have := dF _ (mem_tnth (cast_ord (esym sz) k) (in_tuple d)); rewrite inE => /forallP/(_ i).
have [tb tbP] : exists tb : I * 'I_x -> tables, forall ik, [/\ r (tb ik) = r1, lam (ik.1, j ik.1) (tb ik) = l1 (ik.1, j ik.1) &
    tb ik (ik.1, j ik.1) = cur (fk ik.2) ik.1].
  apply: (@fin_all_exists _ (fun=> tables) (fun ik z => [/\ r z = r1, lam (ik.1, j ik.1) z = l1 (ik.1, j ik.1) & z (ik.1, j ik.1) = cur (fk ik.2) ik.1])) => -[i k] /=.
  have /imsetP[z + ->] := fkF k i; rewrite !inE /= => /andP[/eqP rz /eqP lz]; by exists z.
pose iv (c : 'I_Y) := enum_val (widen_ord Yd c).
have iv_inj : injective iv by move=> c c' /enum_val_inj/(congr1 val) e; apply: val_inj.
have [ix ixP] : exists ix : 'I_Y -> 'I_x, forall c, fk (ix c) (iv c).1 = (iv c).2.
  apply: (@fin_all_exists _ (fun=> 'I_x) (fun c i => fk i (iv c).1 = (iv c).2)) => c.
  have := enum_valP (widen_ord Yd c); rewrite -/(iv c) inE => /andP[_ /hasP[z /(tnthP (in_tuple d))[t ->] /eqP zE]].
  by exists (cast_ord sz t); rewrite /fk cast_ordK.
have vals c : tb ((iv c).1.2, ix c) ((iv c).1.2, j (iv c).1.2) (iv c).1.1 = (iv c).2.
  by have [_ _ ->] := tbP ((iv c).1.2, ix c); rewrite ffunE /= -surjective_pairing ixP.
by exists (@Drawn j r1 l1 (fun i k => tb (i, k)) iv ix iv_inj (fun i k => let: And3 h _ _ := tbP (i, k) in h)
  (fun i k => let: And3 _ h _ := tbP (i, k) in h) vals).
Qed.
End Drawn.
