(** * Checking the conditions of P6 and P7G, hop by hop *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Pow Numbers Conditions P6 P7G.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** C(N, k) <= N^N / (k^k (N-k)^(N-k)) *)
Lemma binomial_le N k : k <= N -> 'C(N, k) * (k ^ k * (N - k) ^ (N - k)) <= N ^ N.
Proof.
move=> kN; have -> : N ^ N = (k + (N - k)) ^ N by rewrite subnKC.
rewrite expnDn (bigD1 (inord (N - k))) //= inordK ?ltnS ?leq_subr //.
by rewrite subKn // bin_sub // leq_addr.
Qed.

Local Open Scope N_scope.

Definition check_image (N s x k d : N) :=
  (s <=? N) && products_lt (x * d + 1) [:: (s - 1, x * k); (N, N)] [:: (N, x * k); (s - 1, s - 1); (N - (s - 1), N - (s - 1))].

(** A hop as (x, s, n, A); in P6 A = A_l, in P7G A = A_(l+1). *)
Fixpoint check_hops (M e P k d c S : N) (hops : seq (N * N * N * N)) : bool :=
  if hops is (x, s, n, A) :: hops' then
    [&& 1 <=? x, check_image P s x k d &
      let hM := N.of_nat (size hops) * M in
      if hops' is [::] then products_lt (x * d + 1 + S + (x * (e * (P * M) + A) + c * M)) [::] [:: (n * P, n * s)]
      else check_hops M (e + 1) (n * P) (n * s) (x * d + 1 + (S + A) + (x * ((e + 1) * (P * hM)) + c * hM)) (x * (P + c)) (S + A) hops']
  else false.

Fixpoint check_hops7 (M w e P k d g c p S : N) (hops : seq (N * N * N * N)) : bool :=
  if hops is (x, s, n, A) :: hops' then
    let h := N.of_nat (size hops) in let hM := h * M in
    [&& 1 <=? x, check_image P s x k (d + g) &
      check_hops7 M w (e + 1) (n * P) (n * s)
        (h * g + (x * d + 1) + (S + (x * ((e + 1) * (P * hM)) + c * hM) + (p * w * hM + x * p * A)))
        0 (x * (P + c)) (x * p) (S + A) hops']
  else products_lt (d + g) [::] [:: (P, k)].

Local Close Scope N_scope.

Definition to_hop (h : N * N * N * N) := Hop %:(h.1.1.1) %:(h.1.1.2) %:(h.1.2) %:(h.2).

Lemma check_image_sound N s x k d : check_image N s x k d ->
  %:s <= %:N /\ 2 * 'C(%:N, %:s.-1) * %:s.-1 ^ (%:x * %:k) * 2 ^ (%:x * %:d) <= %:N ^ (%:x * %:k).
Proof.
case/andP=> /nat_le sN /products_ltP; rewrite /= !nat_of subn1 [%:1]/= !muln1.
have s1 : %:s.-1 <= %:N := leq_trans (leq_pred _) sN.
have := binomial_le s1; set b := _ * _ ^ (_ - _) => bin lt; split=> //.
clearbody b; have b0 : 0 < b by rewrite lt0n; apply: contraTneq lt => ->; rewrite muln0.
rewrite -(leq_pmul2r b0); apply: ltnW; apply: leq_ltn_trans lt.
rewrite expnD expn1; move: bin; move: 'C(_, _) (_ ^ (_ * _)) (2 ^ _) (_ ^ %:N) => C p t q bin.
have -> : 2 * C * p * t * b = t * 2 * (p * (C * b)) by rewrite -!mulnA [RHS]mulnCA; congr (_ * _); rewrite [RHS]mulnCA [t * (C * b)]mulnCA [RHS]mulnCA.
by rewrite !(leq_mul, leq_mul2r) ?bin ?orbT.
Qed.

Lemma check_hops_sound M e N k d c S hops : check_hops M e N k d c S hops ->
  P6_holds %:M %:e %:N %:k %:d %:c %:S (map to_hop hops).
Proof.
elim: hops e N k d c S => // -[[[x s] n] A] hops IH e N k d c S /and3P[/nat_le x0 /check_image_sound[sN im] rest].
apply/and4P; split=> //; case: hops IH rest => [|h hops] IH rest.
  by move: rest => /products_ltP; rewrite /= !muln1 !nat_of.
have := IH _ _ _ _ _ _ rest; rewrite !nat_of Nat2N.id.
by rewrite -(size_map to_hop) [%:1]/= !addn1.
Qed.

Lemma check_hops7_sound M w e P k d g c p S hops : check_hops7 M w e P k d g c p S hops ->
  P7G_holds %:M %:w %:e %:P %:k %:d %:g %:c %:p %:S (map to_hop hops).
Proof.
elim: hops e P k d g c p S => [|[[[x s] n] A] hops IH] e P k d g c p S.
  by move/products_ltP; rewrite /= !muln1 !nat_of.
case/and3P=> /nat_le x0 /check_image_sound[sN im] /IH rest.
apply/and4P; split=> //; first by rewrite nat_add in im.
move: rest; rewrite !nat_of Nat2N.id.
by rewrite -(size_map to_hop) [%:1]/= !addn1.
Qed.
