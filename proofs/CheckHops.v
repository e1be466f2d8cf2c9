(** * Checking the conditions of P6 and P7G, hop by hop *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Pow Numbers Conditions P6 P7G.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Binomials, in powers *)

(** C(N, k) <= N^N / (k^k (N-k)^(N-k)) *)
Lemma binomial_le N k : k <= N -> 'C(N, k) * (k ^ k * (N - k) ^ (N - k)) <= N ^ N.
Proof.
move=> kN; have -> : N ^ N = (k + (N - k)) ^ N by rewrite subnKC.
rewrite expnDn (bigD1 (inord (N - k))) //= inordK ?ltnS ?leq_subr //.
by rewrite subKn // bin_sub // leq_addr.
Qed.

(** C(N, k) <= (3N/k)^k, which needs no power of N's own size: for a k that is a small part of N. *)
Lemma halves (t : nat -> nat) K n : (forall i, i < n -> 2 ^ i * t i <= K) -> \sum_(i < n) t i <= 2 * K.
Proof.
suff H : (forall i, i < n -> 2 ^ i * t i <= K) -> 2 ^ n * (\sum_(i < n) t i) + 2 * K <= 2 ^ n * (2 * K).
  move/H => le; have P0 : 0 < 2 ^ n by rewrite expn_gt0.
  by rewrite -(leq_pmul2l P0); apply: leq_trans le; apply: leq_addr.
elim: n => [|n IH] ht; first by rewrite big_ord0 muln0 mul1n.
have {}IH := IH (fun i ni => ht i (ltnW ni)); have tn := ht n (ltnSn n).
rewrite big_ord_recr /= expnS; move: IH tn; move: (\sum_(i < n) t i) (t n) (2 ^ n) => S T P IH PT.
apply: (@leq_trans (2 * (P * S + 2 * K))); last by rewrite -mulnA leq_mul2l.
by rewrite -mulnA mulnDr [2 * (_ + _)]mulnDr [2 * (_ + 2 * K)]mulnDr -addnA leq_add2l [2 * (2 * K)]mul2n -addnn leq_add2r leq_mul2l.
Qed.

Lemma ffact_le n k : n ^_ k <= n ^ k.
Proof.
elim: k n => // k IH [|n] //; rewrite ffactnS expnS leq_mul2l (leq_trans (IH n)) //.
by case: k {IH} => // k; rewrite leq_exp2r.
Qed.

Lemma succ_pow k : k.+1 ^ k <= 3 * k ^ k.
Proof.
rewrite -{1}addn1 expnDn big_ord_recl /= bin0 mul1n subn0 exp1n muln1 mulSn leq_add2l.
apply: (@halves (fun i => 'C(k, i.+1) * (k ^ (k - i.+1) * 1 ^ i.+1))) => i ik.
have fact2 j : 2 ^ j <= j.+1`!.
  by elim: j => // j IH; rewrite expnS factS leq_mul.
rewrite exp1n muln1 mulnA -[X in _ <= k ^ X](subnKC ik) expnD leq_mul2r; apply/orP; right.
apply: leq_trans (ffact_le k i.+1); rewrite -bin_ffact mulnC leq_mul2l fact2 orbT //.
Qed.

Lemma pow_fact k : k ^ k <= 3 ^ k * k`!.
Proof.
elim: k => // k IH; rewrite expnS factS [X in _ <= X]mulnCA leq_mul2l /=.
by apply: leq_trans (succ_pow k) _; rewrite [3 ^ _]expnS -mulnA leq_mul2l.
Qed.

Lemma binomial_le3 N k : 'C(N, k) * k ^ k <= (3 * N) ^ k.
Proof.
apply: leq_trans (leq_mul (leqnn _) (pow_fact k)) _.
by rewrite mulnCA bin_ffact expnMn leq_mul2l ffact_le orbT.
Qed.

Local Open Scope N_scope.

Definition check_image (N s x k d : N) :=
  let j := s - 1 in
  if s <=? N then
    if products_lt (x * d + 1) [:: (j, x * k); (N, N)] [:: (N, x * k); (j, j); (N - j, N - j)] then true
    else products_lt (x * d + 1) [:: (j, x * k); (3 * N, j)] [:: (N, x * k); (j, j)]
  else false.

(** A hop as (x, s, n, A); in P6 A = A_l, in P7G A = A_(l+1). *)
Fixpoint check_hops (M e P k d g c S : N) (hops : seq (N * N * N * N)) : bool :=
  if hops is (x, s, n, A) :: hops' then
    let h := N.of_nat (size hops) in let hM := h * M in
    [&& 1 <=? x, check_image P s x k (d + g) &
      if hops' is [::] then products_lt (g + (x * d + 1) + S + (x * (e * (P * M) + A) + c * M)) [::] [:: (n * P, n * s)]
      else if e =? 0 then check_hops M 1 (n * P) (n * s) A (g + (x * P + c) * M) (x * (P + c)) (S + A) hops'
      else check_hops M (e + 1) (n * P) (n * s)
        (h * g + (x * d + 1) + (S + A) + (x * ((e + 1) * (P * hM)) + c * hM)) 0 (x * (P + c)) (S + A) hops']
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

(** With C <= q / b: what is compared with q and b. *)
Lemma image_from C b q p t r : C * b <= q -> 2 ^ (t + 1) * (p * q) < r * b -> 2 * C * p * 2 ^ t <= r.
Proof.
move=> Cq lt; have b0 : 0 < b by rewrite lt0n; apply: contraTneq lt => ->; rewrite muln0.
rewrite -(leq_pmul2r b0); apply: ltnW; apply: leq_ltn_trans lt.
rewrite expnD expn1; move: (2 ^ t) => T.
have -> : 2 * C * p * T * b = T * 2 * (p * (C * b)) by rewrite -!mulnA [RHS]mulnCA; congr (_ * _); rewrite [RHS]mulnCA [T * (C * b)]mulnCA [RHS]mulnCA.
by rewrite !(leq_mul, leq_mul2r) ?Cq ?orbT.
Qed.

Local Arguments N.mul : simpl never.
Lemma check_image_sound N s x k d : check_image N s x k d ->
  %:s <= %:N /\ 2 * 'C(%:N, %:s.-1) * %:s.-1 ^ (%:x * %:k) * 2 ^ (%:x * %:d) <= %:N ^ (%:x * %:k).
Proof.
rewrite /check_image; case: ifP => [/nat_le sN|//] ok; split; first exact: sN.
have s1 : %:s.-1 <= %:N := leq_trans (leq_pred _) sN.
move: ok; case: ifP => [/products_ltP + _ | _ /products_ltP +]; rewrite [powers _]/= [X in _ < X]/= !nat_of subn1 [%:1]/= ?muln1 => lt.
  exact: (image_from (binomial_le s1) lt).
exact: (image_from (binomial_le3 _ _) lt).
Qed.

Lemma check_hops_sound M e N k d g c S hops : check_hops M e N k d g c S hops ->
  P6_holds %:M %:e %:N %:k %:d %:g %:c %:S (map to_hop hops).
Proof.
elim: hops e N k d g c S => // -[[[x s] n] A] hops IH e N k d g c S /and3P[/nat_le x0 /check_image_sound[sN im] rest].
rewrite nat_add in im; apply/and4P; split=> //; case: hops IH rest => [|h hops] IH rest.
  by move: rest => /products_ltP; rewrite /= !muln1 !nat_of.
case: N.eqb_spec rest => [-> | e0] rest.
  by have := IH 1%num _ _ _ _ _ _ rest; rewrite !nat_of.
have := IH (e + 1)%num _ _ _ _ _ _ rest; rewrite !nat_of Nat2N.id -(size_map to_hop).
have : %:e != 0 by apply/eqP => E; apply: e0; rewrite -[e]N2Nat.id E.
by case: (%:e) => // e' _; rewrite [%:1]/= !addn1.
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
