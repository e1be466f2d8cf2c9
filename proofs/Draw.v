(** * Draws for P6 and P7G

    The two counting steps of a hop, in integers: a draw that leaves many tuples ([draw]; Jensen's inequality is the power
    mean, no probabilities), and how many draws have a small image ([image_count]). *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** Chebyshev: sums of products of what grows together. *)
Lemma chebyshev (I : finType) (a b : I -> nat) : (forall i j, a i <= a j -> b i <= b j) ->
  (\sum_i a i) * (\sum_i b i) <= #|I| * (\sum_i a i * b i).
Proof.
move=> mono; rewrite -(leq_pmul2l (isT : 0 < 2)) !mul2n -!addnn.
have L : (\sum_i a i) * (\sum_i b i) = \sum_i \sum_j a i * b j.
  by rewrite big_distrl; apply: eq_bigr => i _; rewrite big_distrr.
have S : #|I| * (\sum_i a i * b i) = \sum_i \sum_(j : I) a i * b i.
  by rewrite big_distrr; apply: eq_bigr => i _; rewrite sum_nat_const.
have -> : (\sum_i a i) * (\sum_i b i) + (\sum_i a i) * (\sum_i b i) = \sum_i \sum_j (a i * b j + a j * b i).
  rewrite {1}L [X in _ + X]L [X in _ + X]exchange_big -big_split.
  by apply: eq_bigr => i _; rewrite -big_split.
have -> : #|I| * (\sum_i a i * b i) + #|I| * (\sum_i a i * b i) = \sum_i \sum_j (a i * b i + a j * b j).
  rewrite {1}S [X in _ + X]S [X in _ + X]exchange_big -big_split.
  by apply: eq_bigr => i _; rewrite -big_split.
apply: leq_sum => i _; apply: leq_sum => j _.
wlog ij : i j / a i <= a j.
  by case: (leqP (a i) (a j)) => [/[swap] H /H // | /ltnW ji H]; rewrite addnC [X in _ <= X]addnC H.
have := mono _ _ ij; move: ij => /subnKC <- /subnKC <-.
move: (a i) (b i) (a j - _) (b j - _) => u v p q.
suff -> : u * v + (u + p) * (v + q) = u * (v + q) + (u + p) * v + p * q by rewrite leq_addr.
by rewrite !mulnDl !mulnDr !addnA (addnAC (u * v) (u * v)).
Qed.

Lemma power_mean (I : finType) (a : I -> nat) x : (\sum_i a i) ^ x.+1 <= #|I| ^ x * \sum_i a i ^ x.+1.
Proof.
elim: x => [|x IH]; first by rewrite mul1n.
rewrite expnS; apply: leq_trans (leq_mul (leqnn _) IH) _; rewrite mulnCA expnSr -mulnA leq_mul2l; apply/orP; right.
apply: leq_trans (chebyshev (b := fun i => a i ^ x.+1) _) _; first by move=> i j; rewrite leq_exp2r.
by rewrite leq_mul2l; apply/orP; right; apply: leq_sum => i _; rewrite -expnS.
Qed.

(** R has a share of 1/D or more among the pairs (z, al), and few draws of x functions are bad: then some
    good draw leaves, of all al, a share of 1/(2 D^x) for which all its pairs lie in R. *)
Lemma draw (Z Al : finType) (R : {set Z * Al}) x D (bad : pred {ffun 'I_x.+1 -> Z}) :
  0 < #|Z| -> 0 < #|Al| ->
  #|Z| * #|Al| <= D * #|R| -> 2 * D ^ x.+1 * #|bad| <= #|Z| ^ x.+1 ->
  exists2 d, ~~ bad d & #|Al| <= 2 * D ^ x.+1 * #|[set al | [forall k, (d k, al) \in R]]|.
Proof.
move=> Z0 A0 RD few; pose g (d : {ffun 'I_x.+1 -> Z}) := #|[set al | [forall k, (d k, al) \in R]]|.
pose c al := #|[set z | (z, al) \in R]|.
have RE : #|R| = \sum_al c al.
  rewrite -sum1_card (eq_bigl (fun p : Z * Al => (p.1, p.2) \in R)) => [|[] //].
  rewrite -(pair_big_dep xpredT (fun z al => (z, al) \in R) (fun _ _ => 1)) /= (exchange_big_dep xpredT) //=.
  by apply: eq_bigr => al _; rewrite sum1dep_card; apply: eq_card => z; rewrite !inE.
have gE : \sum_d g d = \sum_al c al ^ x.+1.
  rewrite (eq_bigr (fun d : {ffun 'I_x.+1 -> Z} => \sum_(al | [forall k, (d k, al) \in R]) 1)) => [|d _]; last first.
    by rewrite sum1dep_card; apply: eq_card => al; rewrite !inE.
  rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => al _; rewrite sum1dep_card.
  rewrite /c -[X in _ ^ X](card_ord x.+1) -card_ffun_on.
  apply: eq_card => d; rewrite [LHS]inE; apply/forallP/ffun_onP => H k; have := H k; rewrite ?inE //.
have many : #|Z| ^ x.+1 * #|Al| <= D ^ x.+1 * \sum_d g d.
  rewrite -(leq_pmul2l (_ : 0 < #|Al| ^ x)) ?expn_gt0 ?A0 //.
  rewrite mulnCA -expnSr mulnCA gE; apply: leq_trans (_ : D ^ x.+1 * #|R| ^ x.+1 <= _).
    by rewrite -!expnMn leq_exp2r.
  by rewrite leq_mul2l RE power_mean orbT.
apply/exists_inP; apply: contraT; rewrite negb_exists_in => /forall_inP none.
suff : 2 * D ^ x.+1 * (\sum_d g d) < 2 * (#|Z| ^ x.+1 * #|Al|) by rewrite ltnNge -mulnA leq_mul2l many.
rewrite (bigID bad) mulnDr [X in _ < X]mul2n -addnn.
have b1 : 2 * D ^ x.+1 * (\sum_(d | bad d) g d) <= #|Z| ^ x.+1 * #|Al|.
  apply: leq_trans (_ : 2 * D ^ x.+1 * (#|bad| * #|Al|) <= _).
    rewrite leq_mul2l -sum_nat_const; apply/orP; right; apply: leq_sum => d _; exact: max_card.
  by rewrite mulnA leq_mul2r few orbT.
have b2 : 2 * D ^ x.+1 * (\sum_(d | ~~ bad d) g d) <= #|Z| ^ x.+1 * #|Al|.-1.
  rewrite big_distrr /=; apply: leq_trans (_ : \sum_(d : {ffun 'I_x.+1 -> Z} | ~~ bad d) #|Al|.-1 <= _).
    by apply: leq_sum => d /none; rewrite -ltnNge -/(g d) -{1}(prednK A0).
  rewrite sum_nat_cond_const leq_mul2r; apply/orP; right; rewrite -[X in _ ^ X]card_ord -card_ffun; exact: max_card.
by rewrite -addnS leq_add // (leq_ltn_trans b2) // ltn_mul2l expn_gt0 Z0 prednK //=.
Qed.

(** (image) Few draws take k values or fewer, all together, on a set T of addresses. *)
Lemma superset (V : finType) (A : {set V}) k : #|A| <= k <= #|V| -> exists2 S : {set V}, A \subset S & #|S| = k.
Proof.
case/andP=> Ak kV; exists (A :|: [set x in take (k - #|A|) (enum (~: A))]); first exact: subsetUl.
rewrite cardsU (_ : A :&: _ = set0) ?cards0 ?subn0; last first.
  apply/setP => x; rewrite !inE; apply/negP => /andP[xA /mem_take].
  by rewrite mem_enum inE xA.
rewrite cardsE (card_uniqP _) ?take_uniq ?enum_uniq // size_take -cardE.
have -> : #|~: A| = #|V| - #|A| by rewrite -(cardsC A) addKn.
case: ltnP => [_|le]; first by rewrite subnKC.
apply/eqP; rewrite eqn_leq subnKC ?(leq_trans Ak) // kV andbT.
by move: le; rewrite leq_subLR subnKC.
Qed.

Lemma image_count (I V : finType) (T : {set I}) x k : k <= #|V| ->
  #|[set d : {ffun 'I_x -> {ffun I -> V}} | #|\bigcup_j [set d j t | t in T]| <= k]|
    <= 'C(#|V|, k) * (k ^ #|T| * #|V| ^ #|~: T|) ^ x.
Proof.
move=> kV; set bad := [set d | _].
pose fam (S : {set V}) : {set {ffun 'I_x -> {ffun I -> V}}} := [set d in ffun_on (family (fun t => if t \in T then mem S else mem V))].
have famC (S : {set V}) : #|S| = k -> #|fam S| = (k ^ #|T| * #|V| ^ #|~: T|) ^ x.
  move=> Sk; rewrite cardsE card_ffun_on card_ord card_family foldrE big_map big_enum /=.
  rewrite (bigID (mem T)) /=; congr ((_ * _) ^ _).
    by rewrite (eq_bigr (fun=> k)) => [|t ->] //; rewrite prod_nat_const.
  rewrite (eq_bigr (fun=> #|V|)) => [|t /negbTE ->] //; rewrite prod_nat_const; congr (_ ^ _).
  by apply: eq_card => t; rewrite !inE.
apply: leq_trans (_ : #|\bigcup_(S : {set V} | #|S| == k) fam S| <= _).
  apply/subset_leq_card/subsetP => d; rewrite inE => dk.
  have bnd : #|\bigcup_j [set d j t | t in T]| <= k <= #|V| by rewrite dk kV.
  have [S dS Sk] := superset bnd.
  apply/bigcupP; exists S; first exact/eqP.
  rewrite inE; apply/ffun_onP => j; apply/familyP => t; case: ifP => // tT.
  by apply: (subsetP dS); apply/bigcupP; exists j => //; apply: imset_f.
rewrite -(card_draws V k) -sum_nat_const.
rewrite [X in _ <= X](eq_bigl (fun S : {set V} => #|S| == k)) => [|S]; last by rewrite inE.
elim/big_rec2: _ => [|S n B /eqP Sk IH]; first by rewrite cards0.
by apply: leq_trans (leq_card_setU _ _) _; rewrite famC // leq_add2l.
Qed.

(** ** The draw of a step

    From C, a share of 2^-g of all tables, x tables that take s values on T can be drawn and leave many of D. *)
Lemma draw_image N (T : {set 'I_N}) (Al : finType) (C : {set {ffun 'I_N -> 'I_N}}) (D : {set Al}) (R : {set {ffun 'I_N -> 'I_N} * Al}) x s k d g :
  0 < x -> s <= N -> k <= #|T| -> 2 * 'C(N, s.-1) * s.-1 ^ (x * k) * 2 ^ (x * (d + g)) <= N ^ (x * k) ->
  N ^ N <= 2 ^ g * #|C| -> 0 < #|D| -> R \subset setX C D -> #|C| * #|D| <= 2 ^ d * #|R| ->
  exists2 dr : {ffun 'I_x -> {ffun 'I_N -> 'I_N}}, s <= #|\bigcup_j [set dr j t | t in T]| &
    #|D| <= 2 ^ (x * d + 1) * #|[set al | [forall j, (dr j, al) \in R]]|.
Proof.
case: x => // x _ sN kT image CN D0 RCD RD.
pose Cs := [finType of {z | z \in C}]; pose Ds := [finType of {al | al \in D}].
have cardC : #|Cs| = #|C| by rewrite card_sig.
have cardD : #|Ds| = #|D| by rewrite card_sig.
pose up_ (dr : {ffun 'I_x.+1 -> Cs}) : {ffun 'I_x.+1 -> {ffun 'I_N -> 'I_N}} := [ffun j => val (dr j)].
pose bad (dr : {ffun 'I_x.+1 -> {ffun 'I_N -> 'I_N}}) := #|\bigcup_j [set dr j t | t in T]| <= s.-1.
pose R' : {set Cs * Ds} := [set p | (val p.1, val p.2) \in R].
have NN0 : 0 < N ^ N by rewrite expn_gt0; case: (N).
have Z0 : 0 < #|Cs| by rewrite cardC lt0n; apply: contraTneq CN => ->; rewrite muln0 -ltnNge.
have Al0 : 0 < #|Ds| by rewrite cardD.
have RR : #|R| <= #|R'|.
  apply: leq_trans (leq_imset_card (fun p : Cs * Ds => (val p.1, val p.2)) (mem R')).
  apply/subset_leq_card/subsetP => -[z al] zR; have /setXP[zC alD] := subsetP RCD _ zR.
  by apply/imsetP; exists (exist _ z zC, exist _ al alD); rewrite ?inE.
have RD' : #|Cs| * #|Ds| <= 2 ^ d * #|R'|.
  by rewrite cardC cardD; apply: leq_trans RD _; rewrite leq_mul2l RR orbT.
have s1N : s.-1 <= N := leq_trans (leq_pred _) sN.
have mono a b i : a <= b -> a ^ i <= b ^ i by case: i => // i; rewrite leq_exp2r.
have up_inj : injective up_.
  by move=> d1 d2 /ffunP e; apply/ffunP => j; apply: val_inj; have := e j; rewrite !ffunE.
have few : 2 * (2 ^ d) ^ x.+1 * #|[pred dr | bad (up_ dr)]| <= #|Cs| ^ x.+1.
  have cnt : #|[pred dr | bad (up_ dr)]| <= 'C(N, s.-1) * (s.-1 ^ #|T| * N ^ #|~: T|) ^ x.+1.
    rewrite -(card_image up_inj).
    have := @image_count [finType of 'I_N] [finType of 'I_N] T x.+1 s.-1; rewrite card_ord => /(_ s1N).
    by apply: leq_trans; apply/subset_leq_card/subsetP => _ /imageP[dr bd ->]; rewrite inE.
  have g0 : 0 < (2 ^ g) ^ x.+1 by rewrite !expn_gt0.
  rewrite -(leq_pmul2l g0) -expnMn cardC.
  apply: (@leq_trans ((N ^ N) ^ x.+1)); last exact: mono.
  apply: leq_trans (leq_mul (leqnn _) (leq_mul (leqnn _) cnt)) _.
  have NN : N ^ N = N ^ #|T| * N ^ #|~: T| by rewrite -expnD cardsC card_ord.
  rewrite NN !expnMn !mulnA leq_mul2r; apply/orP; right.
  rewrite -!expnM -(subnKC kT) ![(k + _) * _]mulnDl !expnD [k * _]mulnC; move: image; set r := (_ - _) * _; move: (x.+1 * k) => xk image.
  rewrite mulnA; apply: leq_mul; last exact: mono.
  apply: leq_trans image; rewrite mulnDr expnD ![_ * x.+1]mulnC; apply: eq_leq.
  move: (2 ^ _) (2 ^ (x.+1 * d)) 'C(_, _) (_ ^ xk) => a b c p.
  by rewrite -!mulnA mulnCA; congr (2 * _); rewrite mulnC -!mulnA mulnCA; congr (c * _); rewrite mulnCA mulnC -!mulnA mulnCA.
have [dr nb dR] := draw Z0 Al0 RD' few; exists (up_ dr).
  by move: nb; rewrite /= -ltnNge; case: (s) => //= s'.
move: dR; rewrite -expnM -expnS addn1 [d * _]mulnC cardD => dR; apply: leq_trans dR _; rewrite leq_mul2l; apply/orP; right.
rewrite -(card_imset _ val_inj); apply/subset_leq_card/subsetP => _ /imsetP[al alR ->].
by move: alR; rewrite !inE => /forallP alR; apply/forallP => j; have := alR j; rewrite inE ffunE.
Qed.
