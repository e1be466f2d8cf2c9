(** * Draws, by counting

    Lemma 3 of the theory (how many different values x draws from a large class of functions take) as a choice
    one by one: as long as the class is larger than the set of all functions with few new values, some member,
    and even half of the members, bring many new ones. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint.
From Hopbound Require Import Conditions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma exp_mono a b k : a <= b -> a ^ k <= b ^ k. Proof. by case: k => // k; rewrite leq_exp2r. Qed.

Lemma means_in (I : finType) (A : {set I}) (f : I -> nat) : #|A| ^ #|A| * \prod_(i in A) f i <= (\sum_(i in A) f i) ^ #|A|.
Proof.
have := @Num.Theory.leif_AGM_scaled [numDomainType of int] _ (mem A) (fun z => (f z)%:R%R).
case=> [z _|]; first by rewrite -GRing.mulrnA Num.Theory.ler0n.
rewrite (eq_bigr (fun z => (#|A| * f z)%:R%R)) => [|z _]; last by rewrite -GRing.mulrnA mulnC.
rewrite -GRing.natr_sum -GRing.natr_prod -GRing.natrX Num.Theory.ler_nat => + _.
by rewrite big_split /= prod_nat_const.
Qed.

Section Greedy.
Variables (I Q : finType) (T : {set I}).
Notation Z := {ffun I -> Q}.
Implicit Types (z : Z) (D : {set I * Q}) (d : seq Z).

(** The places of T where z has a value that D has not. *)
Definition fresh D z := [set j in T | (j, z j) \notin D].

Local Notation cover := (@Conditions.cover I Q T).

Lemma few D G a b : a <= b -> G <= #|T| ->
  #|T| ^ #|T| * (#|[set z | #|fresh D z| <= G]| * (a ^ G * b ^ (#|T| - G)))
    <= #|Q| ^ (#|I| - #|T|) * (a * (#|T| * #|Q|) + (b - a) * #|D|) ^ #|T|.
Proof.
move=> ab Gt; set t := #|T|; set B := [set z | _].
pose om j v := if j \in T then if (j, v) \in D then b else a else 1.
have omB z : z \in B -> a ^ G * b ^ (t - G) <= \prod_j om j (z j).
  rewrite inE => zG; rewrite (bigID (mem T)) /= [X in _ <= _ * X]big1 ?muln1 => [|j /negbTE nj]; last by rewrite /om nj.
  rewrite (eq_bigr (fun j => if j \in fresh D z then a else b)) => [|j jT]; last first.
    by rewrite /om jT inE jT /=; case: (_ \in D).
  have fT : fresh D z \subset T by apply/subsetP => j; rewrite inE => /andP[].
  rewrite (bigID (mem (fresh D z))) /=.
  rewrite (eq_bigr (fun=> a)) => [|j /andP[_ ->] //].
  rewrite [X in _ <= _ * X](eq_bigr (fun=> b)) => [|j /andP[_ /negbTE ->] //].
  rewrite (eq_bigl (mem (fresh D z))) => [|j]; last by rewrite andb_idl //; apply: (subsetP fT).
  rewrite [X in _ <= _ * X](eq_bigl (mem (T :\: fresh D z))) => [|j]; last by rewrite !inE andbC.
  rewrite !prod_nat_const cardsD (setIidPr fT) -/t.
  move: (subset_leq_card fT) Gt zG; rewrite -/t; move: #|fresh D z| => c ct Gt cG.
  rewrite -{1}(subnKC cG) expnD -mulnA leq_mul2l; apply/orP; right.
  have -> : t - c = (G - c) + (t - G) by rewrite addnC addnBA // subnK.
  by rewrite expnD leq_mul2r exp_mono ?orbT.
have total : #|B| * (a ^ G * b ^ (t - G)) <= \prod_j \sum_v om j v.
  rewrite bigA_distr_bigA /= [X in _ <= X](bigID (mem B)) /=; apply: leq_trans (leq_addr _ _).
  by rewrite -sum_nat_const; apply: leq_sum => z /omB.
apply: leq_trans (leq_mul (leqnn _) total) _.
rewrite (bigID (mem T)) /= mulnA mulnC; apply: leq_mul.
  rewrite (eq_bigr (fun=> #|Q|)) => [|j /negbTE nj]; last by rewrite /om nj sum_nat_const muln1.
  rewrite (eq_bigl (mem (~: T))) => [|j]; last by rewrite !inE.
  by rewrite prod_nat_const cardsCs setCK.
apply: leq_trans (means_in T _) _; apply: exp_mono.
have omE j v : j \in T -> om j v = a + (b - a) * ((j, v) \in D).
  by move=> jT; rewrite /om jT; case: (_ \in D); rewrite ?muln1 ?muln0 ?addn0 ?subnKC.
rewrite (eq_bigr (fun j => a * #|Q| + (b - a) * \sum_v ((j, v) \in D))) => [|j jT]; last first.
  by rewrite (eq_bigr _ (fun v _ => omE j v jT)) big_split /= sum_nat_const -big_distrr /= mulnC.
rewrite big_split /= sum_nat_const -big_distrr /= mulnCA leq_add2l leq_mul2l; apply/orP; right.
apply: (@leq_trans (\sum_j \sum_v ((j, v) \in D))).
  by rewrite [X in _ <= X](bigID (mem T)) leq_addr.
rewrite pair_bigA /= -sum1_card [X in _ <= X]big_mkcond /=; apply: leq_sum => -[j v] _ /=.
by case: (_ \in D).
Qed.

(** Half of a class bring more than G new values. *)
Lemma half (C : {set Z}) D A G a b : a <= b -> G <= #|T| -> #|Q| ^ #|I| <= 2 ^ A * #|C| ->
  2 ^ A.+1 * (a * (#|T| * #|Q|) + (b - a) * #|D|) ^ #|T| < (#|T| * #|Q|) ^ #|T| * (a ^ G * b ^ (#|T| - G)) ->
  #|C| <= 2 * #|[set z in C | G < #|fresh D z|]|.
Proof.
move=> ab Gt Clarge; set X := _ + _; set w := a ^ G * _ => small.
have /= := few D ab Gt; rewrite -/X -/w; set B := [set z | _] => fewB.
have BC : 2 * #|B| <= #|C|.
  have w0 : 0 < w.
    by rewrite lt0n; apply: contraTneq small => ->; rewrite muln0.
  have tq0 : 0 < (#|T| * #|Q|) ^ #|T|.
    by rewrite lt0n; apply: contraTneq small => ->; rewrite mul0n.
  have TI : #|T| <= #|I| by apply: max_card.
  have := leq_mul (leqnn (2 ^ A.+1 * #|Q| ^ #|T|)) fewB.
  have -> : 2 ^ A.+1 * #|Q| ^ #|T| * (#|Q| ^ (#|I| - #|T|) * X ^ #|T|) = #|Q| ^ #|I| * (2 ^ A.+1 * X ^ #|T|).
    have -> : #|Q| ^ #|I| = #|Q| ^ #|T| * #|Q| ^ (#|I| - #|T|) by rewrite -expnD subnKC.
    by rewrite (mulnC (2 ^ _)) mulnACA.
  have -> : 2 ^ A.+1 * #|Q| ^ #|T| * (#|T| ^ #|T| * (#|B| * w)) = 2 ^ A.+1 * #|B| * ((#|T| * #|Q|) ^ #|T| * w).
    by rewrite expnMn [#|T| ^ _ * #|Q| ^ _]mulnC -!mulnA; congr (_ * _); rewrite [RHS]mulnCA; congr (_ * _); rewrite mulnCA.
  move=> h; have := leq_trans h (leq_mul Clarge (ltnW small)).
  have -> : 2 ^ A.+1 * #|B| = 2 ^ A * (2 * #|B|) by rewrite expnS [2 * _]mulnC mulnA.
  have pos : 0 < (#|T| * #|Q|) ^ #|T| * w by rewrite muln_gt0 tq0.
  rewrite (leq_pmul2r pos); set x := 2 * _; by rewrite leq_pmul2l ?expn_gt0.
have : #|C| <= #|B| + #|[set z in C | G < #|fresh D z|]|.
  apply: leq_trans (leq_card_setU _ _); apply/subset_leq_card/subsetP => z zC.
  by rewrite !inE zC /=; case: leqP.
move=> h; have : 2 * #|C| <= #|C| + 2 * #|[set z in C | G < #|fresh D z|]|.
  by apply: leq_trans (leq_mul (leqnn 2) h) _; rewrite mulnDr leq_add2r.
by rewrite mul2n -addnn leq_add2l.
Qed.

Lemma subset_of_card (X : finType) (A : {set X}) k : k <= #|A| -> exists2 B : {set X}, B \subset A & #|B| = k.
Proof.
move=> kA; exists [set x in take k (enum A)].
  by apply/subsetP => x; rewrite inE => /mem_take; rewrite mem_enum.
by rewrite cardsE (card_uniqP _) ?take_uniq ?enum_uniq // size_takel // -cardE.
Qed.

(** Every u of R goes with a large share of the class C: some member with more than G new values goes with a
    large share of R. *)
Variables (U : finType) (E : Z -> U -> bool) (C : {set Z}).
Local Notation with_ := (@Conditions.with_ I Q U E C).

Lemma next (R : {set U}) D A K G a b : a <= b -> G <= #|T| -> 0 < #|R| ->
  2 ^ A.+1 * (a * (#|T| * #|Q|) + (b - a) * #|D|) ^ #|T| < (#|T| * #|Q|) ^ #|T| * (a ^ G * b ^ (#|T| - G)) ->
  {in R, forall u, #|Q| ^ #|I| <= 2 ^ A * #|with_ u|} -> {in R, forall u, #|C| <= 2 ^ K * #|with_ u|} ->
  exists z, [/\ z \in C, G < #|fresh D z| & #|R| <= 2 ^ K.+1 * #|[set u in R | E z u]|].
Proof.
move=> ab Gt R0 small large share.
pose good := [set z in C | G < #|fresh D z|].
have C0 : 0 < #|C|.
  case/card_gt0P: R0 => u uR; move: (large u uR); case: (set_0Vmem (with_ u)) => [->|[z]]; last first.
    by rewrite inE => /andP[zC _] _; apply/card_gt0P; exists z.
  rewrite cards0 muln0 leqn0 expn_eq0 => /andP[/eqP Q0 /eqP/eqP I0].
  move: small; rewrite Q0 !muln0 add0n.
  case E0 : #|T| => [|k]; last by rewrite (exp0n (n := k.+1)) ?mul0n.
  rewrite !expn0 muln1 mul1n; move: Gt; rewrite E0 leqn0 => /eqP ->; rewrite muln1 => h.
  by exfalso; move: h; rewrite ltnS leqn0 expn_eq0.
have each u : u \in R -> #|C| <= 2 ^ K.+1 * #|[set z in good | E z u]|.
  move=> uR; apply: leq_trans (share u uR) _; rewrite expnS mulnAC [X in _ <= X]mulnC leq_mul2l; apply/orP; right.
  apply: leq_trans (half ab Gt (large u uR) small) _; rewrite leq_mul2l; apply/orP; right.
  by apply/subset_leq_card/subsetP => z; rewrite !inE => /andP[/andP[-> ->] ->].
have count : #|R| * #|C| <= 2 ^ K.+1 * \sum_(z in good) #|[set u in R | E z u]|.
  apply: (@leq_trans (2 ^ K.+1 * \sum_(u in R) #|[set z in good | E z u]|)).
    by rewrite big_distrr -sum_nat_const; apply: leq_sum => u /each.
  rewrite leq_mul2l; apply/orP; right.
  rewrite (eq_bigr (fun u => \sum_(z in good | E z u) 1)) => [|u _]; last first.
    by rewrite sum1dep_card; apply: eq_card => z; rewrite !inE.
  rewrite (exchange_big_dep (mem good)) /= => [|u z _ /andP[] //].
  apply: leq_sum => z zg; rewrite sum1dep_card; apply/subset_leq_card/subsetP => u.
  by rewrite !inE => /andP[-> /andP[_ ->]].
suff /exists_inP[z] : [exists z in good, #|R| <= 2 ^ K.+1 * #|[set u in R | E z u]|].
  by rewrite inE => /andP[zC zG] zR; exists z.
apply: contraLR count; rewrite negb_exists_in -ltnNge => /forall_inP none.
rewrite big_distrr /=; apply: (@leq_ltn_trans (\sum_(z in good) #|R|.-1)).
  by apply: leq_sum => z /none; rewrite -ltnNge -{1}(prednK R0) ltnS.
rewrite sum_nat_const; apply: (@leq_ltn_trans (#|C| * #|R|.-1)).
  by rewrite leq_mul2r subset_leq_card ?orbT //; apply/subsetP => z; rewrite inE => /andP[].
by rewrite mulnC ltn_pmul2r // prednK.
Qed.

(** A schedule (G, a, b), one for every draw: S values are there, G + 1 more can be had. *)
Fixpoint climb A t q S (sched : seq (nat * nat * nat)) Y : Prop :=
  if sched is (G, a, b) :: sched' then
    [/\ a <= b, G <= t, 2 ^ A.+1 * (a * (t * q) + (b - a) * S) ^ t < (t * q) ^ t * (a ^ G * b ^ (t - G)) &
        climb A t q (S + G.+1) sched' Y]
  else Y <= S.

Lemma draws A K sched Y S (R : {set U}) d D : climb A #|T| #|Q| S sched Y ->
  0 < #|R| -> D \subset cover d -> #|D| = S ->
  {in R, forall u, #|Q| ^ #|I| <= 2 ^ A * #|with_ u|} -> {in R, forall u, #|C| <= 2 ^ K * #|with_ u|} ->
  exists (d' : seq Z) (R' : {set U}), [/\ size d' = size sched, {subset d' <= C}, Y <= #|cover (d ++ d')|,
    R' \subset R & {in d' & R', forall z u, E z u}] /\ #|R| <= 2 ^ (size sched * K.+1) * #|R'|.
Proof.
elim: sched S R d D => [|[[G a] b] sched IH] S R d D /=.
  move=> YS R0 Dd DS _ _; exists [::], R; rewrite mul0n mul1n cats0; split; last by [].
  by split=> //; rewrite (leq_trans YS) // -DS subset_leq_card.
case=> ab Gt small climb' R0 Dd DS large share; rewrite -DS in small.
have [z [zC zG zR]] := next ab Gt R0 small large share.
pose New := [set (j, z j) | j in fresh D z].
have NewC : #|New| = #|fresh D z| by apply: card_imset => j j' [].
have DN : #|D :|: New| = #|D| + #|New|.
  rewrite cardsU (_ : D :&: New = set0) ?cards0 ?subn0 //; apply/setP => p; rewrite !inE; apply/negP => /andP[pD].
  by case/imsetP => j; rewrite inE => /andP[_ /negP nD] pE; apply: nD; rewrite -pE.
have [|D' D'sub D'S] := @subset_of_card _ (D :|: New) (S + G.+1); first by rewrite DN NewC -DS leq_add2l.
have D'd : D' \subset cover (d ++ [:: z]).
  apply: subset_trans D'sub _; rewrite subUset; apply/andP; split.
    by apply: subset_trans Dd _; apply/subsetP => p; rewrite !inE has_cat => /andP[-> ->].
  by apply/subsetP => _ /imsetP[j + ->]; rewrite !inE /= => /andP[-> _]; rewrite has_cat /= eqxx orbT.
set R1 := [set u in R | E z u] in zR.
have R1R : {subset R1 <= R} by move=> u; rewrite inE => /andP[].
have R10 : 0 < #|R1| by rewrite lt0n; apply: contraTneq zR => ->; rewrite muln0 -ltnNge.
have [d' [R' [[sz dC Yd R'R all'] R'c]]] := IH _ R1 _ D' climb' R10 D'd D'S (fun u uR => large u (R1R u uR)) (fun u uR => share u (R1R u uR)).
exists (z :: d'), R'; split; [split=> //|].
- by rewrite /= sz.
- by move=> y; rewrite inE => /predU1P[-> // | /dC].
- by rewrite -cat_rcons -cats1.
- by apply: subset_trans R'R _; apply/subsetP.
- move=> y u; rewrite inE => /predU1P[-> | yd] uR'; last exact: all'.
  by have := subsetP R'R u uR'; rewrite inE => /andP[].
- by rewrite mulSn expnD -mulnA (leq_trans zR) // leq_mul2l R'c orbT.
Qed.

End Greedy.
