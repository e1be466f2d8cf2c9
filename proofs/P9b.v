(** * P9 (b): two full layers, three hops, by draws, no linear layer before the first *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts Count Spread Drawn NothingFirst.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** u values of w_1; t groups of s starts; q values for each (w_1, group); x functions z_2 for each w_2 and group. *)
Theorem P9b m n1 n2 M A1 A2 u t s q nx A Y :
  0 < s -> 0 < q -> u <= n1 -> t * s <= m -> u * t * q <= m * n1 ->
  spread A (u * t) q nx Y -> u * M + minn (t * s * A1) (A1 + t * s * M) <= A * s ->
  2 ^ (M * (u * (t * s) * q + (m * n1 - u * (t * s)) + m + t * s + u * n2 + u * n2 * t) + A1 + n2 * (t * nx) * A2)
    < (m * n1 * n2) ^ (n2 * Y) ->
  impossible m [:: n2; n1] M [:: 0; A1; A2].
Proof.
move=> s_gt0 q_gt0 u_n1 ts_m utq_N up Abits big.
apply: (@nothing_first m n1 n2 M A1 A2 u t s q 1 n2 [finType of 'I_t * 'I_nx] Y) => //; last first.
- by rewrite muln1 card_prod !card_ord.
- move=> S S' r lam r0 l0; rewrite muln1 => few.
  have up' : spread A (#|'I_u| * #|'I_t|) #|'I_q| nx Y by rewrite !card_ord.
  have [] := @drawn_ok _ _ _ _ _ _ nx Y r lam A r0 l0 (Ordinal s_gt0) up'; rewrite ?card_ord //.
    by apply: leq_trans few (leq_pexp2l _ Abits).
  case=> pl r1 lam1 tb pk ix pk_inj tb_r tb_lam tb_val _.
  exists (@Draws _ _ _ _ _ _ [finType of 'I_t * 'I_nx] Y r lam (fun wi => pl wi.2) r1 lam1 (fun x => (x.1, pl x.1))
    (fun x => tb x.1 x.2) pk (fun k => ((pk k).1.2, ix k)) pk_inj (fun=> erefl) (fun x => tb_r x.1 x.2)
    (fun x => tb_lam x.1 x.2) tb_val) => //.
- by rewrite muln1.
Qed.
