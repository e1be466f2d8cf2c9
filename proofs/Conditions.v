(** * The conditions of the theorems that need a name

    [spread] is a hypothesis of P4', P8 and P9 (b); [P6_holds] and [P7G_holds] are the inequalities of P6 and P7G, hop by
    hop.  They say when a theorem applies.  Whoever trusts only the end, [impossible m fans M As], need not read them. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Few draws take many values *)

Section Spread.
Variables (I Q : finType) (T : {set I}).

(** The (place, value) that the functions d take on T. *)
Definition cover (d : seq {ffun I -> Q}) : {set I * Q} := [set p | (p.1 \in T) && has (fun z : {ffun I -> Q} => z p.1 == p.2) d].

(** The members of the class C that go with u. *)
Definition with_ (U : finType) (E : {ffun I -> Q} -> U -> bool) (C : {set {ffun I -> Q}}) u := [set z in C | E z u].
End Spread.

(** Let C be a class of functions I -> Q, and let every u of R go with (E) at least #|Q|^#|I| / 2^A members of C,
    and with a share of 2^-K of it.  Then x members of C take Y different (place, value) at the t places of T, and
    go, all of them, with a share of 2^-(x (K+1)) of R.  (Where there is no R: U = unit, E = true, K = 0.) *)
Definition spread A t q x Y := forall (I Q : finType) (T : {set I}), #|T| = t -> #|Q| = q ->
  forall (U : finType) (E : {ffun I -> Q} -> U -> bool) (C : {set {ffun I -> Q}}) K (R : {set U}),
  0 < #|R| ->
  {in R, forall u, #|Q| ^ #|I| <= 2 ^ A * #|with_ E C u|} -> {in R, forall u, #|C| <= 2 ^ K * #|with_ E C u|} ->
  exists (d : seq {ffun I -> Q}) (R' : {set U}), [/\ size d = x, {subset d <= C}, Y <= #|cover T d|,
    R' \subset R & {in d & R', forall z u, E z u}] /\ #|R| <= 2 ^ (x * K.+1) * #|R'|.

(** ** Hops

    Hop l = 1 .. L-1: x_l tables are drawn, which reach s_l values; n_l; A is A_l in P6 and A_(l+1) in P7G. *)
Record hop := Hop { hop_x : nat; hop_s : nat; hop_n : nat; hop_A : nat }.

(** At l = e+1: N = N_(l-1); k = n_(l-1) s_(l-1) addresses of z_l are asked for; each of the tables above is kept with a share
    of 2^-g, and of these together a share of 2^-d; c tokens, all choices together, are below; S = A_0 + .. + A_(l-1).
    At l = 1 what is said in the first epoch is fixed table by table; from then on g = 0. *)
Fixpoint P6_holds M e N k d g c S (hops : seq hop) : bool :=
  if hops is Hop x s n A :: hops' then
    let h := size hops in
    [&& 0 < x, s <= N, 2 * 'C(N, s.-1) * s.-1 ^ (x * k) * 2 ^ (x * (d + g)) <= N ^ (x * k) &
      if hops' is [::] then 2 ^ (g + (x * d + 1) + S + (x * (e * (N * M) + A) + c * M)) < (n * N) ^ (n * s)
      else if e is 0 then P6_holds M 1 (n * N) (n * s) A (g + (x * N + c) * M) (x * (N + c)) (S + A) hops'
      else P6_holds M e.+1 (n * N) (n * s)
        (h * g + (x * d + 1) + (S + A) + (x * (e.+1 * (N * (h * M))) + c * (h * M))) 0 (x * (N + c)) (S + A) hops']
  else false.

(** At l = e+1: N, k, d, g, c as in P6; w queries; p = x_0 .. x_(l-1) choices below; S = A_1 + .. + A_l. *)
Fixpoint P7G_holds M w e N k d g c p S (hops : seq hop) : bool :=
  if hops is Hop x s n A :: hops' then
    let hM := size hops * M in
    [&& 0 < x, s <= N, 2 * 'C(N, s.-1) * s.-1 ^ (x * k) * 2 ^ (x * (d + g)) <= N ^ (x * k) &
      P7G_holds M w e.+1 (n * N) (n * s)
        (size hops * g + (x * d + 1) + (S + (x * (e.+1 * (N * hM)) + c * hM) + (p * w * hM + x * p * A)))
        0 (x * (N + c)) (x * p) (S + A) hops']
  else 2 ^ (d + g) < N ^ k.

(** ** Being right now and then (P3) *)

(** The prompt after z_L: z_(L-1) .. z_1, z_0, w. *)
Definition rest := (seq (seq nat) * nat * seq nat)%type.

(** The rest r asks for entry a of z_L, whatever z_L is. *)
Definition asks m fans a (r : rest) := forall z, is_table (size_N m fans) z ->
  valid m fans (z :: r.1.1) r.1.2 r.2 /\ answer m fans (z :: r.1.1) r.1.2 r.2 = nth 0 z a.

Definition right_on m fans net (z : {ffun 'I_(size_N m fans) -> 'I_(size_N m fans)}) (r : rest) : bool :=
  output net (prompt (table z :: r.1.1) r.1.2 r.2) == [:: answer m fans (table z :: r.1.1) r.1.2 r.2].

(** How many functions from N to N differ from a given one at no more than E places. *)
Definition ball N E := \sum_(i < E.+1) 'C(N, i) * N.-1 ^ i.
