(** * How many bits: the states and accumulators that programs keep

    A number is a word of p bits.  Every shape below is a finite type, and its number of values is 2 to the bits that
    hopbound counts for it.  The step on such a state may be any function (Bridge.v), so linear attention, decay, delta
    rules, dplr, gates, and every rounding, are covered by the shape alone. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Bridge.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition num p := [finType of p.-tuple bool].
Definition vector k p := [finType of {ffun 'I_k -> num p}].
Definition matrix r c p := [finType of {ffun 'I_r * 'I_c -> num p}].
Definition heads H (T : finType) := [finType of {ffun 'I_H -> T}].       (* H of them side by side *)
Definition rows w (T : finType) := [finType of w.-tuple T].               (* the last w of them *)

(** What is kept, for one head or channel group. *)
Definition softmax d p := [finType of num p * num p * vector d p].        (* maximum, sum, weighted value *)
Definition key_value K V p := matrix K V p.                               (* linear attention, decay, delta, dplr *)
Definition normalised K V p := [finType of key_value K V p * vector K p]. (* and the sum of keys *)
Definition mlstm K V p := [finType of key_value K V p * vector K p * num p]. (* C, n, m *)
Definition selective E N p := matrix E N p.                               (* E channels of N numbers *)
Definition past taps E p := rows taps.-1 (vector E p).                    (* a short convolution *)
Definition cache W E p := rows W.-1 (vector E p).                         (* a window of W tokens, its own included *)

Lemma card_num p : #|num p| = 2 ^ p.
Proof. by rewrite card_tuple card_bool. Qed.

Lemma card_vector k p : #|vector k p| = 2 ^ (k * p).
Proof. by rewrite card_ffun card_ord card_num -expnM mulnC. Qed.

Lemma card_matrix r c p : #|matrix r c p| = 2 ^ (r * c * p).
Proof. by rewrite card_ffun card_prod !card_ord card_num -expnM mulnC. Qed.

Lemma card_heads H (T : finType) b : #|T| = 2 ^ b -> #|heads H T| = 2 ^ (H * b).
Proof. by move=> Tb; rewrite card_ffun card_ord Tb -expnM mulnC. Qed.

Lemma card_rows w (T : finType) b : #|T| = 2 ^ b -> #|rows w T| = 2 ^ (w * b).
Proof. by move=> Tb; rewrite card_tuple Tb -expnM mulnC. Qed.

Lemma card_softmax d p : #|softmax d p| = 2 ^ ((d + 2) * p).
Proof. by rewrite !card_prod card_vector !card_num -!expnD mulnDl mul2n -addnn addnC. Qed.

Theorem attention_bits H d p : #|heads H (softmax d p)| = 2 ^ (H * (d + 2) * p).
Proof. by rewrite (card_heads H (card_softmax d p)) mulnA. Qed.

Theorem state_bits H K V E N taps W p :
  [/\ #|heads H (key_value K V p)| = 2 ^ (H * (K * V) * p),
      #|heads H (normalised K V p)| = 2 ^ (H * (K * V + K) * p),
      #|heads H (mlstm K V p)| = 2 ^ (H * (K * V + K + 1) * p) &
      #|selective E N p| = 2 ^ (E * N * p)] /\
  #|past taps E p| = 2 ^ (taps.-1 * E * p) /\ #|cache W E p| = 2 ^ (W.-1 * E * p).
Proof.
have kv : #|key_value K V p| = 2 ^ (K * V * p) := card_matrix K V p.
have norm : #|normalised K V p| = 2 ^ ((K * V + K) * p) by rewrite card_prod kv card_vector -expnD -mulnDl.
split; [split | split].
- by rewrite (card_heads H kv) mulnA.
- by rewrite (card_heads H norm) mulnA.
- have C : #|mlstm K V p| = 2 ^ ((K * V + K + 1) * p) by rewrite card_prod -/(normalised K V p) norm card_num -expnD -{2}[p]mul1n -mulnDl.
  by rewrite (card_heads H C) mulnA.
- exact: card_matrix.
- by rewrite (card_rows taps.-1 (card_vector E p)) mulnA.
- by rewrite (card_rows W.-1 (card_vector E p)) mulnA.
Qed.

(** ** A window is a recurrence

    A token sees the rows (keys and values, or channels) of the w = W-1 tokens before it and its own vector.  Before the first
    token the cache holds w rows r0; which of them count is for [out] to say, since a token knows its place.  A short
    convolution of [taps] taps and a token shift (W = 2) are windows, too. *)
Section Window.
Variables (D : Type) (w : nat) (T : finType) (r0 : T) (row : D -> T) (out : seq T -> D -> D).

Fixpoint window (seen : seq T) (xs : seq D) : seq D :=
  if xs is x :: xs' then out (drop (size seen - w) seen) x :: window (rcons seen (row x)) xs' else [::].

Definition slide (s : rows w T) (x : D) : rows w T * D := (behead_tuple (rcons_tuple s (row x)), out s x).
Definition empty : rows w T := nseq_tuple w r0.

Theorem window_is_recurrence xs : mix1 xs (Recurrence empty slide) = window (nseq w r0) xs.
Proof.
rewrite /=; suff H seen (s : rows w T) : w <= size seen -> tval s = drop (size seen - w) seen -> recur slide s xs = window seen xs.
  by apply: H; rewrite size_nseq // subnn drop0.
elim: xs seen s => //= x xs IH seen s wn sE; rewrite -sE; congr (_ :: _); apply: IH.
  by rewrite size_rcons (leq_trans wn).
by rewrite /= size_rcons subSn // sE -drop_rcons ?leq_subr // -drop1 drop_drop add1n.
Qed.
End Window.

(** ** Split accumulators

    Keys in chunks (a token for which [new] holds begins one); every chunk has an accumulator of its own, which is merged into
    the total.  Between two keys two accumulators are alive, and M is twice one accumulator's bits.  With c accumulators
    side by side it is c times ([heads]). *)
Section Split.
Variables (D : Type) (T : finType) (init : T) (add : D -> T -> D -> T) (merge : T -> T -> T) (out : D -> T -> D) (new : D -> bool).

Fixpoint chunks (now : seq D) (ys : seq D) : seq (seq D) :=
  if ys is y :: ys' then if new y then now :: chunks [:: y] ys' else chunks (rcons now y) ys' else [:: now].

Definition total x ys := foldl (fun sum c => merge sum (foldl (add x) init c)) init (chunks [::] ys).

Fixpoint split_attention (seen xs : seq D) : seq D :=
  if xs is x :: xs' then out x (total x (rcons seen x)) :: split_attention (rcons seen x) xs' else [::].

Definition add_split x (a : T * T) y := if new y then (merge a.1 a.2, add x init y) else (a.1, add x a.2 y).

Theorem split_is_attention xs :
  mix1 xs (@Attention D [finType of T * T] (init, init) add_split (fun x a => out x (merge a.1 a.2))) = split_attention [::] xs.
Proof.
rewrite /=; elim: xs [::] => //= x xs IH seen; rewrite IH; congr (out _ _ :: _); rewrite /total.
suff H ys sum now : let a := foldl (add_split x) (sum, foldl (add x) init now) ys in merge a.1 a.2 =
    foldl (fun sum c => merge sum (foldl (add x) init c)) sum (chunks now ys) by exact: (H _ init [::]).
elim: ys sum now => //= y ys IHy sum now; rewrite /add_split /=; case: (new y).
  exact: (IHy _ [:: y]).
by rewrite -(IHy sum (rcons now y)) foldl_rcons.
Qed.

Theorem split_bits M : #|T| = 2 ^ M -> #|[finType of T * T]| = 2 ^ (2 * M).
Proof. by move=> TM; rewrite card_prod TM -expnD mul2n addnn. Qed.
End Split.
