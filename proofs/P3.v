(** * P3: how often linear layers alone can be right

    A state of Q bits has 2^Q values, and with it the answers to all questions about z_L are given: few tables are close to
    one of these 2^Q lists of answers, so the mean over all tables is low.  All by counting prompts. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** Functions that differ from c at no more than E places. *)
Lemma ball_count (N E : nat) (c : {ffun 'I_N -> 'I_N}) :
  #|[set z : {ffun 'I_N -> 'I_N} | #|[set a | z a != c a]| <= E]| <= ball N E.
Proof.
pose diff (z : {ffun 'I_N -> 'I_N}) := [set a | z a != c a].
have one (A : {set 'I_N}) : #|[set z | diff z == A]| <= N.-1 ^ #|A|.
  pose near a : pred 'I_N := if a \in A then predC1 (c a) else pred1 (c a).
  apply: (@leq_trans #|family near|).
    apply/subset_leq_card/subsetP => z; rewrite inE => /eqP zA; apply/familyP => a; rewrite /near -zA inE.
    by case: (z a =P c a) => [-> | /eqP ne] /=; rewrite !inE.
  rewrite card_family foldrE big_map big_enum /= (bigID (mem A)) /= -prod_nat_const.
  rewrite [X in _ * X <= _]big1 => [|a aA]; last by rewrite /near (negbTE aA) card1.
  rewrite muln1; apply: leq_prod => a aA; rewrite /near aA.
  by rewrite cardC1 card_ord.
have -> : #|[set z | #|diff z| <= E]| = \sum_(A : {set 'I_N} | #|A| <= E) #|[set z | diff z == A]|.
  rewrite -sum1_card (partition_big diff (fun A : {set 'I_N} => #|A| <= E)) => [|z]; last by rewrite inE.
  apply: eq_bigr => A AE; rewrite -sum1_card; apply: eq_bigl => z; rewrite !inE.
  by case: (diff z =P A) => [-> | _]; rewrite ?AE ?andbF.
apply: (@leq_trans (\sum_(A : {set 'I_N} | #|A| <= E) N.-1 ^ #|A|)); first by apply: leq_sum => A _; apply: one.
rewrite (partition_big (fun A : {set 'I_N} => inord #|A| : 'I_E.+1) xpredT) //= /ball; apply/leq_sum => i _.
rewrite (eq_bigr (fun=> N.-1 ^ i)) => [|A /andP[AE /eqP <-]]; last by rewrite inordK // ltnS.
rewrite sum_nat_const leq_mul2r; apply/orP; right.
rewrite -[N in 'C(N, _)](card_ord N) -(card_draws [finType of 'I_N] i).
apply/subset_leq_card/subsetP => A; rewrite inE => /andP[AE /eqP <-].
by rewrite inordK ?ltnS.
Qed.

Section Stack.
Variables (m : nat) (fans : seq nat).
Notation N := (size_N m fans).
Notation Tables := {ffun 'I_N -> 'I_N}.
Variables (net : network) (Q : nat).

(** What the rest hears of z_L is a state. *)
Lemma one_state M : within M [:: Q] (layers net) ->
  exists (S : finType) (left : Tables -> S) (say : S -> rest -> seq nat), #|S| <= 2 ^ Q /\
  forall z r, size r.1.1 = size fans -> output net (prompt (table z :: r.1.1) r.1.2 r.2) = say (left z) r.
Proof.
case/within_blocks=> _ [l -> lQ] runE.
exists (state l), (fun z => (scan (start l) (map (@embed net) (tokens_of (size fans).+1 (table z)))).1).
exists (fun s r => map (@read net) (last [::] (chain s (map (map (@embed net)) (prompt r.1.1 r.1.2 r.2))))).
split=> // z r sz; rewrite /output runE /= sz.
by case: r.1.1.
Qed.

Theorem P3 M E (W : finType) (ask : W -> rest) (entry : W -> 'I_N) c :
  within M [:: Q] (layers net) ->
  (forall w, asks m fans (entry w) (ask w)) ->
  (forall a, #|[set w | entry w == a]| = c) ->
  \sum_w #|[set z : Tables | right_on net z (ask w)]| + c * (E.+1 * N ^ N) <= c * (N * N ^ N + E.+1 * (2 ^ Q * ball N E)).
Proof.
move=> /one_state[S [left [say [SQ outE]]]] asked uniform.
have rightE w z : right_on net z (ask w) = (say (left z) (ask w) == [:: val (z (entry w))]).
  have [v e] := asked w _ (is_table_table z); have [sz] := valid_size v.
  by rewrite /right_on outE // e nth_table.
pose hits w := #|[set z : Tables | right_on net z (ask w)]|.
(* the best way to ask for each entry *)
case: (posnP c) => [c0 | cpos].
  rewrite {}c0 in uniform *; rewrite !mul0n addn0 big1 // => w _.
  by have /eqP := uniform (entry w); rewrite cards_eq0 => /eqP/setP/(_ w); rewrite !inE eqxx.
have [b bP] : exists b : 'I_N -> W, forall a, entry (b a) = a /\ forall w, entry w = a -> hits w <= hits (b a).
  apply: (@fin_all_exists _ (fun=> W) (fun a w => entry w = a /\ forall w', entry w' = a -> hits w' <= hits w)) => a.
  have /card_gt0P[w0] : 0 < #|[set w | entry w == a]| by rewrite uniform.
  rewrite inE => w0a; have [w /eqP wa wmax] := @arg_maxnP _ w0 (fun w => entry w == a) hits w0a.
  by exists w; split=> // w' /eqP/wmax.
have best : \sum_w hits w <= c * \sum_a hits (b a).
  rewrite (partition_big entry xpredT) //= big_distrr /=; apply: leq_sum => a _.
  rewrite -(uniform a) -sum_nat_const; rewrite (eq_bigl (fun w => w \in [set w | entry w == a])) => [|w]; last by rewrite inE.
  by apply: leq_sum => w; rewrite inE => /eqP wa; case: (bP a) => _; apply.
(* the tables that are nearly right *)
pose wrong z := [set a : 'I_N | say (left z) (ask (b a)) != [:: val (z a)]].
pose G := [set z : Tables | #|wrong z| <= E].
have GN : #|G| <= 2 ^ Q * ball N E.
  have -> : #|G| = \sum_s #|[set z in G | left z == s]|.
    rewrite -sum1_card (partition_big left xpredT) //=; apply: eq_bigr => s _.
    by rewrite -sum1_card; apply: eq_bigl => z; rewrite !inE.
  apply: (@leq_trans (\sum_(s : S) ball N E)); last by rewrite sum_nat_const leq_mul2r SQ orbT.
  apply: leq_sum => s _; case: (set_0Vmem [set z in G | left z == s]) => [-> | [z0 _]]; first by rewrite cards0.
  pose centre : Tables := [ffun a => if [pick v : 'I_N | say s (ask (b a)) == [:: val v]] is Some v then v else z0 a].
  apply: leq_trans (ball_count E centre); apply/subset_leq_card/subsetP => z; rewrite !inE => /andP[wE /eqP zs].
  apply: leq_trans wE; apply/subset_leq_card/subsetP => a; rewrite !inE zs; apply: contra => /eqP za.
  by rewrite ffunE; case: pickP => [v | /(_ (z a))]; rewrite za ?eqxx // => /eqP[/val_inj ->].
have each z : #|[set a | right_on net z (ask (b a))]| + E.+1 <= N + E.+1 * (z \in G).
  have := cardsC [set a | right_on net z (ask (b a))]; rewrite card_ord.
  have -> : ~: [set a | right_on net z (ask (b a))] = wrong z.
    by apply/setP => a; rewrite !inE rightE (bP a).1.
  rewrite inE; case: (leqP #|wrong z| E) => [_ | far] sumN; last by rewrite /= muln0 addn0; apply: leq_trans (eq_leq sumN); rewrite leq_add2l.
  by rewrite /= muln1 leq_add2r; apply: leq_trans (eq_leq sumN); rewrite leq_addr.
have total : \sum_a hits (b a) + E.+1 * N ^ N <= N * N ^ N + E.+1 * #|G|.
  have -> : \sum_a hits (b a) = \sum_(z : Tables) #|[set a | right_on net z (ask (b a))]|.
    rewrite (eq_bigr (fun a => \sum_(z : Tables | right_on net z (ask (b a))) 1)) => [|a _]; last by rewrite sum1dep_card.
    rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => z _; by rewrite sum1dep_card.
  have NN : #|[finType of Tables]| = N ^ N by rewrite card_ffun !card_ord.
  have -> : E.+1 * N ^ N = \sum_(z : Tables) E.+1 by rewrite sum_nat_const NN mulnC.
  have -> : N * N ^ N = \sum_(z : Tables) N by rewrite sum_nat_const NN mulnC.
  have -> : E.+1 * #|G| = \sum_(z : Tables) E.+1 * (z \in G).
    by rewrite -big_distrr /= -sum1_card big_mkcond /=; congr (_ * _); apply: eq_bigr => z _; case: (z \in G).
  by rewrite -!big_split /=; apply: leq_sum => z _; apply: each.
apply: (@leq_trans (c * (\sum_a hits (b a) + E.+1 * N ^ N))); first by rewrite mulnDr leq_add2r.
rewrite leq_mul2l; apply/orP; right; apply: leq_trans total _.
by rewrite leq_add2l leq_mul2l GN orbT.
Qed.
End Stack.
