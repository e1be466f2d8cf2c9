(** * P2: linear layers alone

    The states that leave player L must tell all of its tables apart, since the rest of the prompt may ask for any entry. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** Every entry of z_L is asked for by some rest of the prompt. *)
Lemma reach m fans a : a < size_N m fans ->
  exists zs z0 ws, forall z, is_table (size_N m fans) z ->
    valid m fans (z :: zs) z0 ws /\ answer m fans (z :: zs) z0 ws = nth 0 z a.
Proof.
elim: fans a => [|n fans IH] a.
  rewrite /size_N big_nil muln1 => am; exists [::], a, [::] => z zt /=.
  by rewrite zt am add0n.
have -> : size_N m (n :: fans) = n * size_N m fans by rewrite /size_N big_cons mulnCA.
set N := size_N m fans => aN.
have N0 : 0 < N by case: N aN => //; rewrite muln0.
have [zs [z0 [ws H]]] := IH 0 N0.
have ct : is_table N (nseq N (a %% N)).
  by rewrite /is_table size_nseq eqxx all_nseq ltn_mod N0 orbT.
have [v1 a1] := H _ ct.
exists (nseq N (a %% N) :: zs), z0, (a %/ N :: ws) => z zt; split.
  rewrite /= -/N /size_N big_cons mulnCA -/(size_N m fans) -/N zt ltn_divLR // aN.
  exact: v1.
rewrite [answer _ _ (z :: _) _ _]/= -/(answer m fans (nseq N (a %% N) :: zs) z0 ws) in a1 *.
by rewrite a1 nth_nseq N0 -divn_eq.
Qed.

Theorem P2 m fans M Q : 2 ^ Q < size_N m fans ^ size_N m fans -> impossible m fans M [:: Q].
Proof.
set N := size_N m fans => big; apply: impossible_blocks => net /= [l netE lQ] sol.
move: big; rewrite ltnNge => /negP; apply; apply: leq_trans lQ.
pose left (z : {ffun 'I_N -> 'I_N}) :=
  (scan (start l) (map (@embed net) (tokens_of (size fans).+1 (table z)))).1.
suff left_inj : injective left by rewrite -[X in X ^ _]card_ord -[X in _ ^ X]card_ord -card_ffun (leq_card _ left_inj).
move=> z z' same; apply/ffunP => a.
have [zs [z0 [ws rest]]] := @reach m fans a (ltn_ord a).
have [v e] := rest _ (is_table_table z); have [v' e'] := rest _ (is_table_table z').
have [zsz] := valid_size v.
apply: val_inj; rewrite /= -2!nth_table -e -e'.
suff : output net (prompt (table z :: zs) z0 ws) = output net (prompt (table z' :: zs) z0 ws).
  by rewrite !sol // => -[].
rewrite /output netE /= zsz -/(left z) -/(left z') same.
by case: zs {zsz rest v v' e e'}.
Qed.
