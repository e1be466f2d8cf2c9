(** * A first draw with a label that many share (Lemma 4 of the theory, by counting) *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Count.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma rich (Z U L : finType) (C : {set Z}) (R : {set U}) (lam : Z -> U -> L) J :
  #|L| <= 2 ^ J -> 0 < #|C| -> 0 < #|R| ->
  exists z l (R' : {set U}), [/\ z \in C, R' \subset R, #|R| <= 2 ^ J.+1 * #|R'|, {in R', forall u, lam z u = l} &
    {in R', forall u, #|C| <= 2 ^ J.+1 * #|[set x in C | lam x u == l]|}].
Proof.
move=> LJ C0 R0.
pose cls u l := [set x in C | lam x u == l].
pose ok u l := #|C| <= 2 ^ J.+1 * #|cls u l|.
have most u : #|C| <= 2 * #|[set x in C | ok u (lam x u)]|.
  have poor : 2 * #|[set x in C | ~~ ok u (lam x u)]| <= #|C|.
    rewrite -(leq_pmul2l (_ : 0 < 2 ^ J)) ?expn_gt0 // mulnA -expnSr.
    rewrite -sum1_card (partition_big (fun x => lam x u) (fun l => ~~ ok u l)) /= => [|x]; last by rewrite inE => /andP[].
    rewrite big_distrr /=; apply: (@leq_trans (\sum_(l : L | ~~ ok u l) #|C|)).
      apply: leq_sum => l nl; apply: leq_trans (ltnW (_ : 2 ^ J.+1 * #|cls u l| < #|C|)); last by rewrite ltnNge.
      rewrite leq_mul2l sum1dep_card; apply/orP; right; apply/subset_leq_card/subsetP => x; rewrite !inE.
      by move=> /andP[/andP[-> _] ->].
    by rewrite sum_nat_cond_const leq_mul2r (leq_trans (max_card _)) ?orbT.
  have : #|C| <= #|[set x in C | ok u (lam x u)]| + #|[set x in C | ~~ ok u (lam x u)]|.
    apply: leq_trans (leq_card_setU _ _); apply/subset_leq_card/subsetP => x xC; rewrite !inE xC /=.
    by case: (ok u _).
  move=> h; have : 2 * #|C| <= 2 * #|[set x in C | ok u (lam x u)]| + #|C|.
    by apply: leq_trans (leq_mul (leqnn 2) h) _; rewrite mulnDr leq_add2l.
  by rewrite mul2n -addnn leq_add2r.
have [z zC zR] : exists2 z, z \in C & #|R| <= 2 * #|[set u in R | ok u (lam z u)]|.
  apply/exists_inP; apply: contraT; rewrite negb_exists_in => /forall_inP none.
  suff : #|C| * #|R| < #|C| * #|R| by rewrite ltnn.
  apply: (@leq_ltn_trans (\sum_(z in C) 2 * #|[set u in R | ok u (lam z u)]|)).
    rewrite -big_distrr /=.
    rewrite (eq_bigr (fun z => \sum_(u in R | ok u (lam z u)) 1)) => [|z _]; last first.
      by rewrite sum1dep_card; apply: eq_card => u; rewrite !inE.
    rewrite (exchange_big_dep (mem R)) /= => [|z u _ /andP[] //].
    rewrite big_distrr /= mulnC -sum_nat_const; apply: leq_sum => u uR; apply: leq_trans (most u) _.
    rewrite leq_mul2l sum1dep_card; apply/orP; right; apply/subset_leq_card/subsetP => x.
    by rewrite !inE uR.
  apply: (@leq_ltn_trans (\sum_(z in C) #|R|.-1)).
    by apply: leq_sum => z /none; rewrite -ltnNge -{1}(prednK R0) ltnS.
  by rewrite sum_nat_const ltn_pmul2l // prednK.
set R1 := [set u in R | _] in zR.
have [u0 _] : exists u, u \in R by apply/card_gt0P.
have [l pop] := popular R1 (lam z) (lam z u0).
set R' := [set u in R1 | _] in pop.
exists z, l, R'; split=> //.
- by apply/subsetP => u; rewrite !inE => /andP[/andP[]].
- by apply: leq_trans zR _; rewrite expnS -mulnA leq_mul2l (leq_trans pop) // leq_mul2r LJ orbT.
- by move=> u; rewrite !inE => /andP[_ /eqP].
- by move=> u; rewrite !inE => /andP[/andP[_ +] /eqP <-].
Qed.

(** What is heard from the first player enters by its reply only. *)
Lemma replies_head (D : Type) (f : full D) p p' ps x :
  reply (f := f) [::] p x = reply [::] p' x -> replies f (p :: ps) x = replies f (p' :: ps) x.
Proof. by rewrite /replies /= => ->. Qed.

Lemma attend_head (D : Type) (x0 : D) (f : full D) p p' ps s :
  (forall j, j < size s -> reply (f := f) [::] p (nth x0 s j) = reply [::] p' (nth x0 s j)) ->
  attend f (p :: ps) s = attend f (p' :: ps) s.
Proof.
rewrite /attend => same.
suff H c i : [seq mix (f := f) c jx.1 (replies f (p :: ps) jx.2) | jx <- zip (iota i (size s)) s] =
             [seq mix (f := f) c jx.1 (replies f (p' :: ps) jx.2) | jx <- zip (iota i (size s)) s] by exact: H.
elim: s i same => //= y s IH i same; rewrite (replies_head ps (same 0 isT)); congr (_ :: _); apply: IH => j js.
exact: (same j.+1).
Qed.

Lemma scan_cat (D : Type) (l : linear D) (s : state l) p p' :
  scan s (p ++ p') = ((scan (scan s p).1 p').1, (scan s p).2 ++ (scan (scan s p).1 p').2).
Proof. by elim: p s => [|x p IH] s /=; [case: (scan s p') | rewrite IH]. Qed.

Lemma size_scan (D : Type) (l : linear D) (s : state l) p : size (scan s p).2 = size p.
Proof. by elim: p s => //= x p IH s; rewrite IH. Qed.

Lemma enum_split g h : enum 'I_(g + h) = map (@lshift g h) (enum 'I_g) ++ map (@rshift g h) (enum 'I_h).
Proof.
have L : map val (map (@lshift g h) (enum 'I_g)) = iota 0 g by rewrite -(val_enum_ord g) -map_comp; apply: eq_map.
have R : map val (map (@rshift g h) (enum 'I_h)) = iota g h.
  by rewrite -[g in iota g]addn0 iotaDl -(val_enum_ord h) -!map_comp; apply: eq_map.
by apply: (inj_map (@val_inj _ _ (ordinal_subType (g + h)))); rewrite map_cat L R val_enum_ord iotaD.
Qed.
