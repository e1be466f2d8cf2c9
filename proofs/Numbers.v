(** * Binary numbers

    Certificates are computed with in binary ([N]); the theorems speak of [nat].  [%:x] is the natural number x. *)

From Coq Require Import NArith Lia.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Pow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Notation "%: x" := (N.to_nat x) (at level 2, format "%: x").

Lemma nat_pow a b : %:(a ^ b)%num = %:a ^ %:b.
Proof.
elim/N.peano_ind: b => [|b IH]; first by rewrite expn0.
by rewrite N.pow_succ_r' N2Nat.inj_mul IH N2Nat.inj_succ expnS.
Qed.

Lemma nat_add a b : %:(a + b)%num = %:a + %:b. Proof. exact: N2Nat.inj_add. Qed.
Lemma nat_mul a b : %:(a * b)%num = %:a * %:b. Proof. exact: N2Nat.inj_mul. Qed.
Lemma nat_sub a b : %:(a - b)%num = %:a - %:b. Proof. exact: N2Nat.inj_sub. Qed.

Lemma nat_min a b : %:(N.min a b) = minn %:a %:b.
Proof. by rewrite N2Nat.inj_min; case: leqP => [/leP|/ltP] h; lia. Qed.

Lemma nat_lt a b : (a < b)%num -> %:a < %:b.
Proof. by move=> ab; apply/ltP; lia. Qed.

Lemma nat_le a b : (a <=? b)%num -> %:a <= %:b.
Proof. by move/N.leb_le => ab; apply/leP; lia. Qed.

Lemma nat_lt0 a : (0 <? a)%num -> 0 < %:a.
Proof. by move/N.ltb_lt/nat_lt. Qed.

(** 2^X times a product of powers, below another one ([products_lt] of Pow.v). *)
Definition powers (ps : seq (N * N)) : nat := foldr (fun p r => %:(p.1) ^ %:(p.2) * r) 1 ps.

Lemma powersE ps : %:(values ps) = powers ps.
Proof.
elim: ps => [|p [|p' ps] IH] //; first by rewrite /= muln1 nat_pow.
by rewrite [values _]/= nat_mul nat_pow IH.
Qed.

Lemma products_ltP X ak bl : products_lt X ak bl -> 2 ^ %:X * powers ak < powers bl.
Proof. by move/products_lt_sound/nat_lt; rewrite nat_mul nat_pow !powersE mulnC. Qed.

Lemma pow_ltP a k X b l : pow_lt a k X b l -> %:a ^ %:k * 2 ^ %:X < %:b ^ %:l.
Proof. by move/pow_lt_sound/nat_lt; rewrite nat_mul !nat_pow. Qed.

(** Reading a certificate's conditions: what is left is to bring numbers to [nat]. *)
Definition nat_of := (nat_mul, nat_add, nat_sub, nat_pow, nat_min).
