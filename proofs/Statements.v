(** * The theorems

    Model.v says what a network and the task are; this page says what is proved of them.  Proofs are in the files
    named, and need not be read.  Conventions: lists are in prompt order, so fans = n_(L-1) .. n_1; in [impossible m fans M
    [:: A_0; ..; A_F]] there are F full layers with messages of M bits, and linear layers with A_e state bits in
    block e, before, between and after them.  V.-1 is V - 1 (0 for 0); 'C(N, s) a binomial. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Model Conditions Numbers Bridge Shapes.
From Hopbound Require P1 P2 P3 P4 P4prime P5 P6 P7 P7G P8 P9 P9b MoreHops Check Separations Programs.

(** ** What can be done *)

(** One linear layer and L full ones do L hops, at all sizes. *)
Theorem P1 m fans M A : 0 < size_N m fans -> m <= 2 ^ A -> size_N m fans <= 2 ^ M ->
  exists2 net : network, within M (A :: nseq (size fans).+1 0) (layers net) & solves m fans net.
Proof. exact: P1.P1. Qed.

(** ** What cannot *)

(** Linear layers alone: Q state bits in all. *)
Theorem P2 m fans M Q (N := size_N m fans) : 2 ^ Q < N ^ N -> impossible m fans M [:: Q].
Proof. exact: P2.P2. Qed.

(** How often they can be right.  W rests of a prompt, which ask for every entry of z_L equally often (c times each): of the
    c N N^N prompts of these rests and all tables z_L, hits are answered right; with E = N D - 1 the share of hits is at
    most 1 - D (1 - 2^Q ball N E / N^N). *)
Theorem P3 m fans M Q E (N := size_N m fans) (net : network) (W : finType) (ask : W -> rest) (entry : W -> 'I_N) c
    (hits := \sum_w #|[set z : {ffun 'I_N -> 'I_N} | right_on net z (ask w)]|) :
  within M [:: Q] (layers net) ->
  (forall w, asks m fans (entry w) (ask w)) ->
  (forall a, #|[set w | entry w == a]| = c) ->
  hits + c * (E.+1 * N ^ N) <= c * (N * N ^ N + E.+1 * (2 ^ Q * ball N E)).
Proof. exact: P3.P3. Qed.

(** One full layer alone, one hop. *)
Theorem P5 m M : 2 ^ M < m ^ m -> impossible m [::] M [:: 0; 0].
Proof. exact: P5.P5. Qed.

(** One full layer, two hops; V values that one start leads to. *)
Theorem P4 m n M A B V :
  V.-1 ^ m * 2 ^ A < m ^ m ->
  2 ^ (n * M + V * B + A) < (m * n) ^ (n * V) ->
  impossible m [:: n] M [:: A; B].
Proof. exact: P4.P4. Qed.

(** The same by draws: t groups of s starts, parts of q values, x functions z_1. *)
Theorem P4' m n M A B t s q x S Y :
  t * s <= m -> t * q <= m ->
  spread A (t * s) q x S -> Y.-1 * s < S ->
  2 ^ (M * (n * t + t) + x * B + A) < (m * n) ^ (n * Y) ->
  impossible m [:: n] M [:: A; B].
Proof. exact: P4prime.P4'. Qed.

(** L hops, L-1 full layers, any linear ones. *)
Theorem P6 m M A0 x0 hops (ns := map hop_n hops) :
  x0 <= m ->
  P6_holds M 0 m x0 0 A0 (x0 * (1 + \prod_(n <- ns) n)) A0 hops ->
  impossible m (rev ns) M (A0 :: map hop_A hops).
Proof. exact: P6.P6. Qed.

(** Two full layers, two hops, no linear layer before the first. *)
Theorem P7 m n M A1 A2 t s q g e Y :
  t * s <= m -> t * q <= m -> e * g <= n ->
  Y.-1 ^ (t * s) * 2 ^ (g * M + t * s * A1) < (t * q) ^ (t * s) ->
  2 ^ (M * (t * s * q + m + e * g + e * g * t) + A1 + e * Y * A2) < (m * n) ^ (e * g * Y) ->
  impossible m [:: n] M [:: 0; A1; A2].
Proof. exact: P7.P7. Qed.

(** L full layers, L hops, no linear layer before the first. *)
Theorem P7G m M A1 x0 hops (ns := map hop_n hops) (w := \prod_(n <- ns) n) :
  x0 <= m ->
  P7G_holds M w 0 m x0 (x0 * A1) (w * M) x0 x0 A1 hops ->
  impossible m (rev ns) M [:: 0, A1 & map hop_A hops].
Proof. exact: P7G.P7G. Qed.

(** Two full layers, three hops, any linear layers. *)
Theorem P8 g h n1 n2 M A0 A1 A2 k q nu x1 x S (m := g + h) (J := x1 * A1) :
  k * q <= n1 -> q * nu <= n2 ->
  x1.-1 ^ g * 2 ^ A0 < m ^ g ->
  spread (A0 + k * q * nu * M + J.+1) (k * q * x1) q x S ->
  2 ^ (A0 + A1 + J.+1 + x * J.+2 + x * x1 * A2 + M * (x * (m * n1) + x1 * g + h + 1 + k * q * nu + k * q * nu * x1))
    < (m * n1 * n2) ^ (nu * S) ->
  impossible m [:: n2; n1] M [:: A0; A1; A2].
Proof. exact: P8.P8. Qed.

(** Two full layers, three hops, no linear layer before the first. *)
Theorem P9 m n1 n2 M A1 A2 u t s q g e Y :
  u <= n1 -> t * s <= m -> u * t * q <= m * n1 -> e * g <= n2 ->
  Y.-1 ^ (u * t * s) * 2 ^ (u * g * M + minn (t * s * A1) (A1 + t * s * M)) < (u * t * q) ^ (u * t * s) ->
  2 ^ (M * (u * (t * s) * q + (m * n1 - u * (t * s)) + m + t * s + u * (e * g) + u * (e * g) * t) + A1 + e * Y * A2)
    < (m * n1 * n2) ^ (e * g * Y) ->
  impossible m [:: n2; n1] M [:: 0; A1; A2].
Proof. exact: P9.P9. Qed.

(** The same by draws. *)
Theorem P9b m n1 n2 M A1 A2 u t s q x a Y :
  0 < s -> 0 < q -> u <= n1 -> t * s <= m -> u * t * q <= m * n1 ->
  spread a (u * t) q x Y -> u * M + minn (t * s * A1) (A1 + t * s * M) <= a * s ->
  2 ^ (M * (u * (t * s) * q + (m * n1 - u * (t * s)) + m + t * s + u * n2 + u * n2 * t) + A1 + n2 * (t * x) * A2)
    < (m * n1 * n2) ^ (n2 * Y) ->
  impossible m [:: n2; n1] M [:: 0; A1; A2].
Proof. exact: P9b.P9b. Qed.

(** More hops are no easier. *)
Theorem more_hops m fans n M As : 0 < n -> impossible m fans M As -> impossible m (n :: fans) M As.
Proof. exact: MoreHops.more_hops. Qed.

(** ** Verdicts *)

(** A certificate that the checker accepts is a theorem; %:x is the natural number of the binary number x. *)
Theorem check_sound m fans M As c :
  Check.check m fans M As c -> impossible %:m (map N.to_nat fans) %:M (map N.to_nat As).
Proof. exact: Check.check_sound. Qed.

(** Two hops, n = 4,673, M = 304, 208 state bits a layer: L F F can; L F L and L L L cannot. *)
Theorem separation_two :
  [/\ exists2 net : network, within %:304 [:: %:208; 0; 0] (layers net) & solves %:173 [:: %:26] net,
      impossible %:173 [:: %:26] %:304 [:: %:208; %:208] & impossible %:173 [:: %:26] %:0 [:: %:624]].
Proof. exact: Separations.separation_two. Qed.

(** Three hops, n = 1,036,573,882,647, M = 768, 656 state bits a layer: L F F F can; L F L F L cannot. *)
Theorem separation_three :
  (exists2 net : network, within %:768 [:: %:656; 0; 0; 0] (layers net) & solves %:50905 [:: %:25326; %:804] net) /\
  impossible %:50905 [:: %:25326; %:804] %:768 [:: %:656; %:656; %:656].
Proof. exact: Separations.separation_three. Qed.

(** ** The bridge: programs

    Bridge.v defines a program (recurrences, and attention that folds keys into an accumulator, over one sequence), and
    Shapes.v what they keep.  [fits M As mixers]: accumulators of M bits; states of A_e bits between the e-th attention and the next. *)

(** What no network does no program does. *)
Theorem bridge m fans M As (prog : program) : impossible m fans M As -> fits M As (mixers prog) -> ~ program_solves m fans prog.
Proof. exact: Bridge.bridge. Qed.

(** H heads of softmax attention of dimension d in p bits: M = H (d + 2) p. *)
Theorem attention_bits H d p : #|heads H (softmax d p)| = 2 ^ (H * (d + 2) * p).
Proof. exact: Shapes.attention_bits. Qed.

(** State bits of a recurrence. *)
Theorem state_bits H K V E N taps W p :
  [/\ #|heads H (key_value K V p)| = 2 ^ (H * (K * V) * p),
      #|heads H (normalised K V p)| = 2 ^ (H * (K * V + K) * p),
      #|heads H (mlstm K V p)| = 2 ^ (H * (K * V + K + 1) * p) &
      #|selective E N p| = 2 ^ (E * N * p)] /\
  #|past taps E p| = 2 ^ (taps.-1 * E * p) /\ #|cache W E p| = 2 ^ (W.-1 * E * p).
Proof. exact: Shapes.state_bits. Qed.

(** A window (w rows and its own token; a short convolution) is a recurrence that keeps w rows. *)
Theorem window_is_recurrence (D : Type) w (T : finType) (r0 : T) (row : D -> T) (out : seq T -> D -> D) xs :
  mix1 xs (Recurrence (empty w r0) (slide row out)) = window w row out (nseq w r0) xs.
Proof. exact: Shapes.window_is_recurrence. Qed.

(** Accumulators that are split over chunks of keys are one accumulator of twice the bits. *)
Theorem split_is_attention (D : Type) (T : finType) (init : T) add merge out (new : D -> bool) xs :
  mix1 xs (@Attention D [finType of T * T] (init, init) (add_split init add merge new) (fun x a => out x (merge a.1 a.2)))
  = split_attention init add merge out new [::] xs.
Proof. exact: Shapes.split_is_attention. Qed.

Theorem split_bits (T : finType) M : #|T| = 2 ^ M -> #|[finType of T * T]| = 2 ^ (2 * M).
Proof. exact: Shapes.split_bits. Qed.

(** The bridge, applied: two hops at n = 4,673; a head of 17 numbers of 16 bits between two states of 13 such numbers. *)
Theorem no_program_LFL (D : Type) (embed : token -> D) (read : D -> nat)
    (s1 s2 : vector 13 16) (step1 step2 : vector 13 16 -> D -> vector 13 16 * D)
    (acc : heads 1 (softmax 17 16)) (add : D -> heads 1 (softmax 17 16) -> D -> heads 1 (softmax 17 16))
    (out : D -> heads 1 (softmax 17 16) -> D) :
  ~ program_solves %:173 [:: %:26] (Program embed [:: Recurrence s1 step1; Attention acc add out; Recurrence s2 step2] read).
Proof. exact: Programs.no_program_LFL. Qed.
