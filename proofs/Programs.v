(** * A verdict about programs

    The bridge, applied: two hops at n = 4,673.  One head of 17 numbers of 16 bits between two recurrences whose states are
    13 numbers of 16 bits; any vectors, any functions, any weights. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Check Bridge Shapes TwoHops.

Theorem no_program_LFL (D : Type) (embed : token -> D) (read : D -> nat)
    (s1 s2 : vector 13 16) (step1 step2 : vector 13 16 -> D -> vector 13 16 * D)
    (acc : heads 1 (softmax 17 16)) (add : D -> heads 1 (softmax 17 16) -> D -> heads 1 (softmax 17 16))
    (out : D -> heads 1 (softmax 17 16) -> D) :
  ~ program_solves %:173 [:: %:26] (Program embed [:: Recurrence s1 step1; Attention acc add out; Recurrence s2 step2] read).
Proof.
have bits : #|vector 13 16| <= 2 ^ (13 * 16) by rewrite card_vector leqnn.
have told : #|heads 1 (softmax 17 16)| <= 2 ^ %:304 by rewrite attention_bits leq_exp2l.
have room : 13 * 16 <= %:208 by [].
by apply: (bridge two_hops_LFL_304); exists (13 * 16); [exact: bits | split; [exact: room | split; [exact: told |
  exists (13 * 16); [exact: bits | split; [exact: room | exact: I]]]]].
Qed.
