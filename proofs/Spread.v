(** * Draws: what P4', P8 and P9 (b) use, and two ways to have it

    [spread] says that few members of a large class of functions take many values.  [climb_spread] has it one draw
    after the other, [levels_spread] from averages and lines below 1 - (1-p)^x (Lemma 3 of docs/BOUNDS.md). *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Greedy Average.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** One by one. *)
Lemma climb_spread A t q sched Y : climb A t q 0 sched Y -> spread A t q (size sched) Y.
Proof.
move=> up I Q T Tt Qq U E C K R R0 large share; rewrite -Tt -Qq in up.
have D0 : set0 \subset cover T ([::] : seq {ffun I -> Q}) by rewrite sub0set.
exact: (draws up R0 D0 (cards0 _) large share).
Qed.

(** All at once, by averages. *)
Lemma one_of (X U : finType) (A : {set X}) (R : {set U}) (good : pred X) (F : X -> U -> bool) M :
  0 < #|A| -> 0 < #|R| -> {in R, forall u, #|A| <= M * #|[set d in A | good d && F d u]|} ->
  exists d, [/\ d \in A, good d & #|R| <= M * #|[set u in R | F d u]|].
Proof.
move=> A0 R0 each; pose G := [set d in A | good d].
have count : #|R| * #|A| <= M * \sum_(z in G) #|[set u in R | F z u]|.
  apply: (@leq_trans (M * \sum_(u in R) #|[set d in A | good d && F d u]|)).
    by rewrite big_distrr -sum_nat_const; apply: leq_sum => u /each.
  rewrite leq_mul2l; apply/orP; right.
  rewrite (eq_bigr (fun u => \sum_(z in G | F z u) 1)) => [|u _]; last first.
    by rewrite sum1dep_card; apply: eq_card => z; rewrite !inE andbA.
  rewrite (exchange_big_dep (mem G)) /= => [|u z _ /andP[] //].
  apply: leq_sum => z zg; rewrite sum1dep_card; apply/subset_leq_card/subsetP => u.
  by rewrite !inE => /andP[-> /andP[_ ->]].
suff /exists_inP[z] : [exists z in G, #|R| <= M * #|[set u in R | F z u]|].
  by rewrite inE => /andP[zC zG] zR; exists z.
apply: contraLR count; rewrite negb_exists_in -ltnNge => /forall_inP none.
rewrite big_distrr /=; apply: (@leq_ltn_trans (\sum_(z in G) #|R|.-1)).
  by apply: leq_sum => z /none; rewrite -ltnNge -{1}(prednK R0) ltnS.
rewrite sum_nat_const; apply: (@leq_ltn_trans (#|A| * #|R|.-1)).
  by rewrite leq_mul2r subset_leq_card ?orbT //; apply/subsetP => z; rewrite inE => /andP[].
by rewrite mulnC ltn_pmul2r // prednK.
Qed.

Section Sums.
Variables (I Q : finType) (T : {set I}) (C : {set {ffun I -> Q}}) (x : nat).
Notation Z := {ffun I -> Q}.
Definition tuples : {set {ffun 'I_x -> Z}} := [set d in ffun_on (mem C)].
Definition list (d : {ffun 'I_x -> Z}) : seq Z := [seq d k | k <- enum 'I_x].

Lemma card_tuples : #|tuples| = #|C| ^ x.
Proof. by rewrite cardsE card_ffun_on card_ord. Qed.

Lemma tuplesP (d : {ffun 'I_x -> Z}) : reflect (forall k, d k \in C) (d \in tuples).
Proof. by rewrite inE; apply: ffun_onP. Qed.

Lemma cover_small d : #|cover T (list d)| <= x * #|T|.
Proof.
apply: (@leq_trans #|\bigcup_(k < x) [set (j, d k j) | j in T]|).
  apply/subset_leq_card/subsetP => -[j v]; rewrite inE /= => /andP[jT /hasP[_ /mapP[k _ ->] /eqP <-]].
  by apply/bigcupP; exists k => //; apply: imset_f.
apply: (@leq_trans (\sum_(k < x) #|T|)); last by rewrite sum_nat_const card_ord.
elim/big_rec2: _ => [|k n B _ IH]; first by rewrite cards0.
by apply: leq_trans (leq_card_setU _ _) _; rewrite leq_add // leq_imset_card.
Qed.

Lemma sum_cover : \sum_(d in tuples) #|cover T (list d)| =
  \sum_(j in T) \sum_v (#|C| ^ x - (#|C| - cnt C (j, v)) ^ x).
Proof.
rewrite (eq_bigr (fun d => \sum_(p : I * Q | (p.1 \in T) && has (fun z : Z => z p.1 == p.2) (list d)) 1)) => [|d _]; last first.
  by rewrite sum1dep_card; apply: eq_card => p; rewrite !inE.
rewrite (exchange_big_dep (fun p : I * Q => p.1 \in T)) /= => [|d p _ /andP[] //].
rewrite (eq_bigr (fun p : I * Q => #|C| ^ x - (#|C| - cnt C (p.1, p.2)) ^ x)) => [|[j v] /= jT]; last first.
  rewrite sum1dep_card jT /=.
  pose no := [set d in ffun_on (mem [set z in C | z j != v])] : {set {ffun 'I_x -> Z}}.
  have noC : #|no| = (#|C| - cnt C (j, v)) ^ x.
    rewrite cardsE card_ffun_on card_ord; congr (_ ^ _); rewrite /cnt /=.
    rewrite -(cardsID [set z : Z | z j == v] C) (_ : C :&: _ = [set z in C | z j == v]) ?addKn; last by apply/setP => z; rewrite !inE.
    by apply: eq_card => z; rewrite !inE andbC.
  have noT : no \subset tuples.
    apply/subsetP => d; rewrite inE => /ffun_onP dn; apply/tuplesP => k; have := dn k.
    by rewrite inE => /andP[].
  rewrite -card_tuples -noC -(setIidPr noT) -cardsD; apply: eq_card => d.
  rewrite [LHS]inE in_setD andbC; case: (boolP (d \in tuples)) => [/tuplesP dC|]; rewrite ?andbF // !andbT.
  apply/idP/idP => [/hasP[z /mapP[k _ ->] /eqP dk]|].
    by rewrite inE; apply/negP => /ffun_onP/(_ k); rewrite inE dk eqxx andbF.
  apply: contraR => /hasPn nh; rewrite inE; apply/ffun_onP => k; rewrite inE dC /=; apply: nh.
  by apply: map_f; rewrite mem_enum.
by rewrite pair_big_dep /=; apply: eq_bigl => p; rewrite andbT.
Qed.
End Sums.

(** The lines: (a, u, w) is used for p up to a/M. *)
Section Levels.
Variables (s x kap E D t M : nat).
Fixpoint levels a1 (lv : seq (nat * nat * nat)) : Prop :=
  if lv is (a, u, w) :: lv' then
    [/\ a1 <= a, a <= M, line_ok s x u w a1 M, line_ok s x u w a M & kap * E ^ (t * w) <= (u + D) * E.+1 ^ (t * w)] /\ levels a lv'
  else M <= a1.

Fixpoint find N c (lv : seq (nat * nat * nat)) :=
  if lv is (a, u, w) :: lv' then if (c * M <= a * N) || nilp lv' then (u, w) else find N c lv' else (0, 0).

Lemma find_ok N c a1 lv : 0 < M -> 0 < N -> c <= N -> a1 * N <= c * M -> lv != [::] -> levels a1 lv ->
  let: (u, w) := find N c lv in line_ok s x u w c N /\ kap * E ^ (t * w) <= (u + D) * E.+1 ^ (t * w).
Proof.
move=> M0 N0 cN; elim: lv a1 => // [[[a u] w] lv IH] a1 ca _ /= [[a1a aM l1 l2 k1] lvs].
case: leqP => /= [ca' | ca']; first by split=> //; apply: (line_between M0 N0 a1a aM cN ca ca' l1 l2).
case: lv IH lvs => [|b lv] IH lvs /=; last exact: (IH a (ltnW ca')).
split=> //; apply: (line_between M0 N0 a1a aM cN ca _ l1 l2).
by rewrite mulnC leq_mul // (leq_trans lvs).
Qed.
End Levels.

(** E = t q D + a: a is the total height of the lines at the optimum. *)
Lemma levels_spread A t q x Y s kap E D M (lv : seq (nat * nat * nat)) (e := s * Y - (E - t * q * D)) :
  0 < kap -> 0 < t -> 0 < E -> 0 < M -> 0 < Y -> lv != [::] -> t * q * D <= E -> E - t * q * D <= s * Y -> x * t <= 2 ^ x ->
  levels s x kap E D t M 0 lv ->
  2 ^ A * (E ^ t * E.+1 ^ (t * e)) < (q * kap * t) ^ t * E ^ (t * e) ->
  spread A t q x Y.
Proof.
move=> kap0 t0 E0 M0 Y0 lv0 KE KY xt lvs check I Q T Tt Qq U Ed C K R R0 large share.
have with0 u : u \in R -> 0 < #|with_ Ed C u|.
  move=> uR; rewrite lt0n; apply: contraTneq (large u uR) => ->; rewrite muln0 -ltnNge expn_gt0 Qq.
  case: (posnP q) => // q0; exfalso; move: check; rewrite q0 !mul0n; case: (t) t0 => // t' _.
  by rewrite exp0n ?mul0n.
have each u : u \in R -> #|tuples C x| <= 2 ^ (x * K.+1) * #|[set d' in tuples C x | (Y <= #|cover T (list d')|) && [forall k, Ed (d' k) u]]|.
  move=> uR; set Cu := with_ Ed C u.
  have Cu0 : 0 < #|Cu| := with0 u uR.
  pose uw (p : I * Q) := find M #|Cu| (cnt Cu p) lv.
  have ok j v : line_ok s x (uw (j, v)).1 (uw (j, v)).2 (cnt Cu (j, v)) #|Cu| /\
      kap * E ^ (t * (uw (j, v)).2) <= ((uw (j, v)).1 + D) * E.+1 ^ (t * (uw (j, v)).2).
    have cN : cnt Cu (j, v) <= #|Cu| by apply/subset_leq_card/subsetP => z; rewrite inE => /andP[].
    have := find_ok (a1 := 0) M0 Cu0 cN _ lv0 lvs; rewrite mul0n => /(_ isT); rewrite -/(uw (j, v)).
    by case: (uw (j, v)).
  have := @average I Q T Cu A s x Y E D kap (fun p => (uw p).1) (fun p => (uw p).2).
  rewrite Tt Qq => /(_ kap0 t0 Cu0 E0 KE KY (fun j v _ => proj2 (ok j v)) (fun j v _ => proj1 (ok j v))).
  rewrite -Qq => /(_ (large u uR)); rewrite Qq => /(_ check); rewrite -sum_cover => avg.
  pose good := [set d' in tuples Cu x | Y <= #|cover T (list d')|].
  have many : #|Cu| ^ x <= 2 ^ x * #|good|.
    apply: leq_trans (leq_mul xt (leqnn _)); rewrite -Tt.
    have : Y * #|Cu| ^ x <= Y.-1 * #|Cu| ^ x + x * #|T| * #|good|.
      apply: leq_trans avg _; rewrite (bigID (fun d' => Y <= #|cover T (list d')|)) /= addnC leq_add //.
        rewrite -card_tuples mulnC -sum_nat_const [X in _ <= X](bigID (fun d' => Y <= #|cover T (list d')|)) /=.
        apply: leq_trans (leq_addl _ _); apply: leq_sum => d' /andP[_]; rewrite -ltnNge.
        by case: (Y) Y0.
      rewrite mulnC -sum_nat_const; apply: (@leq_trans (\sum_(d' in good) #|cover T (list d')|)).
        by apply/eq_leq/eq_bigl => d'; rewrite [RHS]inE.
      by apply: leq_sum => d' _; apply: cover_small.
    by rewrite -{1}(prednK Y0) mulSn addnC leq_add2l.
  rewrite card_tuples mulnS expnD -mulnA.
  apply: (@leq_trans (2 ^ (x * K) * #|Cu| ^ x)).
    by rewrite (mulnC x K) expnM -expnMn; apply: exp_mono; apply: share.
  rewrite mulnCA leq_mul2l; apply/orP; right; apply: leq_trans many _; rewrite leq_mul2l; apply/orP; right.
  apply/subset_leq_card/subsetP => d'; rewrite /good in_set => /andP[/tuplesP dC Yd]; rewrite in_set Yd /=; apply/andP; split.
    by apply/tuplesP => k; have := dC k; rewrite inE => /andP[].
  by apply/forallP => k; have := dC k; rewrite inE => /andP[].
have A0 : 0 < #|tuples C x|.
  case/card_gt0P: (R0) => u /with0/card_gt0P[z]; rewrite inE => /andP[zC _].
  by rewrite card_tuples expn_gt0; apply/orP; left; apply/card_gt0P; exists z.
have [d' [/tuplesP dC Yd Rd]] := one_of A0 R0 each.
exists (list d'), [set u in R | [forall k, Ed (d' k) u]]; split; [split|exact: Rd].
- by rewrite size_map size_enum_ord.
- by move=> _ /mapP[k _ ->]; apply: dC.
- exact: Yd.
- by apply/subsetP => u; rewrite inE => /andP[].
- by move=> _ u /mapP[k _ ->]; rewrite inE => /andP[_ /forallP].
Qed.
