(** * P9 (a): two full layers, three hops, no linear layer before the first *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Count NothingFirst.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** u values of w_1; t groups of s starts; q values for each (w_1, group); e groups of g values of w_2. *)
Theorem P9 m n1 n2 M A1 A2 u t s q g e Y :
  u <= n1 -> t * s <= m -> u * t * q <= m * n1 -> e * g <= n2 ->
  Y.-1 ^ (u * t * s) * 2 ^ (u * g * M + minn (t * s * A1) (A1 + t * s * M)) < (u * t * q) ^ (u * t * s) ->
  2 ^ (M * (u * (t * s) * q + (m * n1 - u * (t * s)) + m + t * s + u * (e * g) + u * (e * g) * t) + A1 + e * Y * A2)
    < (m * n1 * n2) ^ (e * g * Y) ->
  impossible m [:: n2; n1] M [:: 0; A1; A2].
Proof.
move=> u_n1 ts_m utq_N eg_n2 Ybig big.
apply: (@nothing_first m n1 n2 M A1 A2 u t s q g e [finType of 'I_Y] Y) => //; last by rewrite card_ord.
move=> S S' r lam r0 l0 few; have [] := @labels _ _ _ _ _ _ Y r lam r0 l0.
  by rewrite !card_ord; apply: leq_ltn_trans Ybig; rewrite leq_mul2l few orbT.
case=> pl r1 lam1 pk tb sp pk_inj tb_r tb_lam tb_val _.
by exists (@Draws _ _ _ _ _ _ _ Y r lam pl r1 lam1 sp tb pk id pk_inj (fun=> erefl) tb_r tb_lam tb_val).
Qed.
