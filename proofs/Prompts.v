(** * What two and three hops ask for *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** The pair (w, u) as an index. *)
Section Pair.
Variables (n m N : nat) (nmN : n * m = N).

Lemma pair_ok (w : 'I_n) (u : 'I_m) : w * m + u < N.
Proof.
rewrite -nmN; apply: leq_trans (_ : w.+1 * m <= _); first by rewrite mulSn addnC ltn_add2r.
by rewrite leq_mul2r ltn_ord orbT.
Qed.

Definition pair_index (a : 'I_n * 'I_m) : 'I_N := Ordinal (pair_ok a.1 a.2).

Lemma pair_index_inj : injective pair_index.
Proof.
move=> [w u] [w' u'] /(congr1 val) /= e; have m0 : 0 < m := leq_ltn_trans (leq0n u) (ltn_ord u).
have := congr1 (divn^~ m) e; have := congr1 (modn^~ m) e.
rewrite !modnMDl !modn_small ?ltn_ord // !divnMDl // !divn_small ?ltn_ord // !addn0.
by move=> /val_inj -> /val_inj ->.
Qed.
End Pair.

Lemma nth_val N (z : {ffun 'I_N -> 'I_N}) (a : 'I_N) : nth 0 (table z) a = val (z a). Proof. exact: nth_table. Qed.

(** z_2, z_1, z_0, w ask for z_2(w, z_1(z_0)). *)
Section TwoHops.
Variables (m n : nat).
Notation N := (size_N m [:: n]).

Lemma two_N : N = m * n. Proof. by rewrite /size_N big_seq1. Qed.
Lemma two_N' : n * m = N. Proof. by rewrite two_N mulnC. Qed.

Definition addr := pair_index two_N'.
Lemma addr_inj : injective addr. Proof. exact: pair_index_inj. Qed.

Lemma two_hops net : solves m [:: n] net -> forall (z2 : {ffun 'I_N -> 'I_N}) (z1 : {ffun 'I_m -> 'I_m}) (j : 'I_m) (w : 'I_n),
  output net (prompt [:: table z2; table z1] j [:: val w]) = [:: val (z2 (addr (w, z1 j)))].
Proof.
move=> sol z2 z1 j w; rewrite sol; last by rewrite /= !is_table_table !ltn_ord.
rewrite -nth_val /= -(nth_table z1) mul0n add0n; congr [:: nth _ _ (_ * _ + _)].
by rewrite /size_N big_nil muln1.
Qed.
End TwoHops.

(** z_3, z_2, z_1, z_0, (w_2, w_1) ask for z_3(w_2, z_2(w_1, z_1(z_0))). *)
Section ThreeHops.
Variables (m n1 n2 : nat).
Notation N1 := (size_N m [:: n1]).
Notation N2 := (size_N m [:: n2; n1]).

Lemma three_N : N2 = m * n1 * n2. Proof. by rewrite /size_N big_cons big_seq1 [n2 * _]mulnC mulnA. Qed.
Lemma three_N' : n2 * N1 = N2. Proof. by rewrite three_N two_N mulnC. Qed.

Definition addr3 := pair_index three_N'.
Lemma addr3_inj : injective addr3. Proof. exact: pair_index_inj. Qed.

Lemma three_hops net : solves m [:: n2; n1] net -> forall (z3 : {ffun 'I_N2 -> 'I_N2}) (z2 : {ffun 'I_N1 -> 'I_N1})
  (z1 : {ffun 'I_m -> 'I_m}) (j : 'I_m) (w2 : 'I_n2) (w1 : 'I_n1),
  output net (prompt [:: table z3; table z2; table z1] j [:: val w2; val w1]) =
  [:: val (z3 (addr3 (w2, z2 (addr (w1, z1 j)))))].
Proof.
move=> sol z3 z2 z1 j w2 w1; rewrite sol; last by rewrite /= !is_table_table !ltn_ord.
rewrite -nth_val /= -(nth_table z2) /= -(nth_table z1) mul0n add0n.
by congr [:: nth _ _ (_ * _ + nth _ _ (_ * _ + _))]; rewrite /size_N big_nil muln1.
Qed.
End ThreeHops.
