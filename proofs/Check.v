(** * Certificates: integers that a program finds, and one checker that is proved sound

    [check m fans M As c] computes, in binary and in microseconds to seconds, whether the certificate c shows that no
    network of widths (M, As) does L-FuncComp at sizes (m, fans); [check_sound] is the proof that it may be believed.
    CERTIFICATE.md gives the certificates as text; Extract.v makes [check] a program. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Export Model Numbers CheckSpread.
From Hopbound Require Import Pow Conditions MoreHops P2 P4 P4prime P5 P6 P7 P7G P8 P9 P9b CheckHops.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** One constructor a theorem: the integers that its statement leaves open. *)
Inductive cert :=
  | byP2
  | byP5
  | byP4 (V : N)
  | byP4' (t s q x S Y : N) (c : way)
  | byP6 (x0 : N) (hops : seq (N * N))           (* (x_l, s_l), l = 1 .. L-1 *)
  | byP7 (t s q g e Y : N)
  | byP7G (x0 : N) (hops : seq (N * N))
  | byP8 (g k q nu x1 x S : N) (c : way)
  | byP9 (u t s q g e Y : N)
  | byP9b (u t s q x a Y : N) (c : way).

Local Open Scope N_scope.

(** ** The conditions of each theorem *)

Definition check_P2 (m : N) (fans : seq N) (Q : N) :=
  let n := foldl N.mul m fans in pow_lt 1 0 Q n n.

Definition check_P5 (m M : N) := pow_lt 1 0 M m m.

Definition check_P4 (m n M A B V : N) :=
  pow_lt (V - 1) m A m m && pow_lt 1 0 (n * M + V * B + A) (m * n) (n * V).

Definition check_P4' (m n M A B t s q x S Y : N) (c : way) :=
  [&& t * s <=? m, t * q <=? m, check_spread A (t * s) q x S c, (Y - 1) * s <? S &
      products_lt (M * (n * t + t) + x * B + A) [::] [:: (m * n, n * Y)]].

Definition check_P7 (m n M A1 A2 t s q g e Y : N) :=
  [&& t * s <=? m, t * q <=? m, e * g <=? n,
      pow_lt (Y - 1) (t * s) (g * M + t * s * A1) (t * q) (t * s) &
      pow_lt 1 0 (M * (t * s * q + m + e * g + e * g * t) + A1 + e * Y * A2) (m * n) (e * g * Y)].

Definition check_P8 (g h n1 n2 M A0 A1 A2 k q nu x1 x S : N) (c : way) :=
  let m := g + h in let J := x1 * A1 in let kq := k * q in
  [&& kq <=? n1, q * nu <=? n2, products_lt A0 [:: (x1 - 1, g)] [:: (m, g)],
      check_spread (A0 + kq * nu * M + (J + 1)) (kq * x1) q x S c &
      products_lt (A0 + A1 + (J + 1) + x * (J + 2) + x * x1 * A2
                   + M * (x * (m * n1) + x1 * g + h + 1 + kq * nu + kq * nu * x1)) [::] [:: (m * n1 * n2, nu * S)]].

Definition check_P9 (m n1 n2 M A1 A2 u t s q g e Y : N) :=
  [&& u <=? n1, t * s <=? m, u * t * q <=? m * n1, e * g <=? n2 &
      pow_lt (Y - 1) (u * t * s) (u * g * M + N.min (t * s * A1) (A1 + t * s * M)) (u * t * q) (u * t * s) &&
      pow_lt 1 0 (M * (u * (t * s) * q + (m * n1 - u * (t * s)) + m + t * s + u * (e * g) + u * (e * g) * t) + A1 + e * Y * A2)
        (m * n1 * n2) (e * g * Y)].

Definition check_P9b (m n1 n2 M A1 A2 u t s q x a Y : N) (c : way) :=
  let ts := t * s in
  [&& 0 <? s, 0 <? q, u <=? n1, ts <=? m & u * t * q <=? m * n1] &&
  [&& check_spread a (u * t) q x Y c, u * M + N.min (ts * A1) (A1 + ts * M) <=? a * s &
     products_lt (M * (u * ts * q + (m * n1 - u * ts) + m + ts + u * n2 + u * n2 * t) + A1 + n2 * (t * x) * A2)
       [::] [:: (m * n1 * n2, n2 * Y)]].

(** P6 and P7G: a hop is (x, s, n, A), the fans in the order n_1 .. n_(L-1). *)
Fixpoint join (hs : seq (N * N)) (ns As : seq N) : seq (N * N * N * N) :=
  match hs, ns, As with
  | h :: hs', n :: ns', A :: As' => (h, n, A) :: join hs' ns' As'
  | _, _, _ => [::]
  end.

Definition check_P6 (m M A0 x0 : N) (hops : seq (N * N * N * N)) :=
  (x0 <=? m) && check_hops M 0 m x0 0 A0 (x0 * (1 + foldr (fun h => N.mul h.1.2) 1 hops)) A0 hops.

Definition check_P7G (m M A1 x0 : N) (hops : seq (N * N * N * N)) :=
  let w := foldr (fun h => N.mul h.1.2) 1 hops in
  (x0 <=? m) && check_hops7 M w 0 m x0 (x0 * A1) (w * M) x0 x0 A1 hops.

(** ** The checker *)

(** The theorem at the number of hops that it speaks of. *)
Definition check_here (m : N) (fans : seq N) (M : N) (As : seq N) (c : cert) : bool :=
  match c, fans, As with
  | byP2, _, [:: Q] => check_P2 m fans Q
  | byP5, [::], [:: A; B] => [&& A =? 0, B =? 0 & check_P5 m M]
  | byP4 V, [:: n], [:: A; B] => check_P4 m n M A B V
  | byP4' t s q x S' Y c, [:: n], [:: A; B] => check_P4' m n M A B t s q x S' Y c
  | byP7 t s q g e Y, [:: n], [:: A0; A1; A2] => (A0 =? 0) && check_P7 m n M A1 A2 t s q g e Y
  | byP8 g k q nu x1 x S' c, [:: n2; n1], [:: A0; A1; A2] => (g <=? m) && check_P8 g (m - g) n1 n2 M A0 A1 A2 k q nu x1 x S' c
  | byP9 u t s q g e Y, [:: n2; n1], [:: A0; A1; A2] => (A0 =? 0) && check_P9 m n1 n2 M A1 A2 u t s q g e Y
  | byP9b u t s q x a Y c, [:: n2; n1], [:: A0; A1; A2] => (A0 =? 0) && check_P9b m n1 n2 M A1 A2 u t s q x a Y c
  | byP6 x0 hs, _, A0 :: As' =>
      [&& size hs == size fans, size As' == size fans & check_P6 m M A0 x0 (join hs (rev fans) As')]
  | byP7G x0 hs, _, A0 :: A1 :: As' =>
      [&& A0 =? 0, size hs == size fans, size As' == size fans & check_P7G m M A1 x0 (join hs (rev fans) As')]
  | _, _, _ => false
  end.

(** How many fans it takes: those nearest to z_0.  More hops are no easier. *)
Definition fans_of (c : cert) (all : nat) : nat :=
  match c with
  | byP2 => all
  | byP5 => 0
  | byP4 _ | byP4' _ _ _ _ _ _ _ | byP7 _ _ _ _ _ _ => 1
  | byP8 _ _ _ _ _ _ _ _ | byP9 _ _ _ _ _ _ _ | byP9b _ _ _ _ _ _ _ _ => 2
  | byP6 _ hs | byP7G _ hs => size hs
  end.

Definition check (m : N) (fans : seq N) (M : N) (As : seq N) (c : cert) : bool :=
  let k := (size fans - fans_of c (size fans))%N in
  all (fun n => 0 <? n) (take k fans) && check_here m (drop k fans) M As c.

Local Close Scope N_scope.

(** ** Soundness *)

Section Sound.
Variables m M : N.

Lemma check_P2_sound fans Q : check_P2 m fans Q -> impossible %:m (map N.to_nat fans) %:M [:: %:Q].
Proof.
move/pow_ltP; rewrite exp1n mul1n => big; apply: P2; move: big.
suff -> : %:(foldl N.mul m fans) = size_N %:m (map N.to_nat fans) by [].
rewrite /size_N; elim: fans (m) => [|n fans IH] m' /=; first by rewrite big_nil muln1.
by rewrite IH big_cons nat_mul mulnA.
Qed.

Lemma check_P5_sound : check_P5 m M -> impossible %:m [::] %:M [:: 0; 0].
Proof. by move/pow_ltP; rewrite exp1n mul1n; apply: P5. Qed.

Lemma check_P4_sound n A B V : check_P4 m n M A B V -> impossible %:m [:: %:n] %:M [:: %:A; %:B].
Proof.
case/andP=> /pow_ltP c1 /pow_ltP c2; apply: (@P4 _ _ _ _ _ %:V).
  by move: c1; rewrite nat_sub subn1.
by move: c2; rewrite exp1n mul1n !nat_of.
Qed.

Lemma check_P4'_sound n A B t s q x S Y c :
  check_P4' m n M A B t s q x S Y c -> impossible %:m [:: %:n] %:M [:: %:A; %:B].
Proof.
case/and5P=> /nat_le c1 /nat_le c2 /check_spread_sound c3 /N.ltb_lt/nat_lt c4 /products_ltP c5.
rewrite !nat_mul in c1 c2 c3; apply: (P4' c1 c2 c3 (Y := %:Y)).
  by move: c4; rewrite nat_mul nat_sub subn1.
by move: c5; rewrite /= !nat_of !muln1.
Qed.

Lemma check_P7_sound n A1 A2 t s q g e Y :
  check_P7 m n M A1 A2 t s q g e Y -> impossible %:m [:: %:n] %:M [:: 0; %:A1; %:A2].
Proof.
case/and5P=> /nat_le c1 /nat_le c2 /nat_le c3 /pow_ltP c4 /pow_ltP c5.
rewrite !nat_mul in c1 c2 c3; apply: (P7 c1 c2 c3 (Y := %:Y)).
  by move: c4; rewrite nat_sub subn1 !nat_of.
by move: c5; rewrite exp1n mul1n !nat_of.
Qed.

Lemma check_P8_sound g n1 n2 A0 A1 A2 k q nu x1 x S c :
  (g <=? m)%num && check_P8 g (m - g) n1 n2 M A0 A1 A2 k q nu x1 x S c ->
  impossible %:m [:: %:n2; %:n1] %:M [:: %:A0; %:A1; %:A2].
Proof.
case/andP=> /nat_le gm /and5P[/nat_le c1 /nat_le c2 /products_ltP c3 /check_spread_sound c4 /products_ltP c5].
have mE : %:m = %:g + %:(m - g) by rewrite nat_sub subnKC.
rewrite !nat_mul in c1 c2; rewrite mE.
apply: (@P8 _ _ _ _ _ _ _ _ _ _ _ %:x1 %:x %:S c1 c2).
- by move: c3; rewrite /= !nat_add nat_sub subn1 !muln1 mulnC.
- by move: c4; rewrite !(nat_add, nat_mul) addn1.
- by move: c5; rewrite /= !(nat_add, nat_mul) !muln1 addn2 !addn1.
Qed.

Lemma check_P9_sound n1 n2 A1 A2 u t s q g e Y :
  check_P9 m n1 n2 M A1 A2 u t s q g e Y -> impossible %:m [:: %:n2; %:n1] %:M [:: 0; %:A1; %:A2].
Proof.
case/and5P=> /nat_le c1 /nat_le c2 /nat_le c3 /nat_le c4 /andP[/pow_ltP c5 /pow_ltP c6].
rewrite !nat_mul in c1 c2 c3 c4; apply: (P9 c1 c2 c3 c4 (Y := %:Y)).
  by move: c5; rewrite nat_sub subn1 !nat_of.
by move: c6; rewrite exp1n mul1n !nat_of.
Qed.

Lemma check_P9b_sound n1 n2 A1 A2 u t s q x a Y c :
  check_P9b m n1 n2 M A1 A2 u t s q x a Y c -> impossible %:m [:: %:n2; %:n1] %:M [:: 0; %:A1; %:A2].
Proof.
case/andP=> /and5P[/nat_lt0 c1 /nat_lt0 c2 /nat_le c3 /nat_le c4 /nat_le c5].
case/and3P=> /check_spread_sound c6 /nat_le c7 /products_ltP c8.
rewrite !nat_mul in c4 c5 c6.
apply: (P9b c1 c2 c3 c4 c5 c6); first by move: c7; rewrite !nat_of.
by move: c8; rewrite /= !nat_of !muln1.
Qed.

Lemma fans_product (hops : seq (N * N * N * N)) :
  %:(foldr (fun h => N.mul h.1.2) 1%num hops) = \prod_(n <- map (hop_n \o to_hop) hops) n.
Proof. by rewrite big_map; elim: hops => [|h hs IH] /=; rewrite ?big_nil // big_cons nat_mul IH. Qed.

Lemma check_P6_sound A0 x0 hops : check_P6 m M A0 x0 hops ->
  impossible %:m (rev [seq %:(h.1.2) | h <- hops]) %:M (%:A0 :: [seq %:(h.2) | h <- hops]).
Proof.
case/andP=> /nat_le x0m /check_hops_sound ok.
have := @P6 %:m %:M %:A0 %:x0 (map to_hop hops) x0m; rewrite -!map_comp; apply.
move: ok; rewrite nat_mul nat_add [%:1]/=; congr (P6_holds _ _ _ _ _ _ (_ * (1 + _)) _ _).
exact: fans_product.
Qed.

Lemma check_P7G_sound A1 x0 hops : check_P7G m M A1 x0 hops ->
  impossible %:m (rev [seq %:(h.1.2) | h <- hops]) %:M [:: 0, %:A1 & [seq %:(h.2) | h <- hops]].
Proof.
case/andP=> /nat_le x0m /check_hops7_sound ok.
have := @P7G %:m %:M %:A1 %:x0 (map to_hop hops) x0m; rewrite -!map_comp; apply.
by move: ok; rewrite !nat_mul fans_product.
Qed.

Lemma join_fans hs ns As : size hs = size ns -> size As = size ns ->
  [seq %:(h.1.2) | h <- join hs ns As] = map N.to_nat ns /\ [seq %:(h.2) | h <- join hs ns As] = map N.to_nat As.
Proof.
elim: ns hs As => [|n ns IH] [|h hs] [|A As] //= [hn] [An].
by have [-> ->] := IH _ _ hn An.
Qed.

Lemma check_here_sound fans As c : check_here m fans M As c -> impossible %:m (map N.to_nat fans) %:M (map N.to_nat As).
Proof.
case: c => [||V|t s q x S Y c|x0 hs|t s q g e Y|x0 hs|g k q nu x1 x S c|u t s q g e Y|u t s q x a Y c] /=.
- by case: As => [|Q [|? ?]] // /check_P2_sound.
- by case: fans As => [|? ?] [|A [|B [|? ?]]] // /and3P[/N.eqb_eq -> /N.eqb_eq -> /check_P5_sound].
- by case: fans As => [|n [|? ?]] [|A [|B [|? ?]]] // /check_P4_sound.
- by case: fans As => [|n [|? ?]] [|A [|B [|? ?]]] // /check_P4'_sound.
- case: As => [|A0 As] // /and3P[/eqP hf /eqP Af /check_P6_sound].
  by have [||-> ->] := @join_fans hs (rev fans) As; rewrite ?size_rev // map_rev revK.
- by case: fans As => [|n [|? ?]] [|A0 [|A1 [|A2 [|? ?]]]] // /andP[/N.eqb_eq -> /check_P7_sound].
- case: As => [|A0 [|A1 As]] // /and4P[/N.eqb_eq -> /eqP hf /eqP Af /check_P7G_sound].
  by have [||-> ->] := @join_fans hs (rev fans) As; rewrite ?size_rev // map_rev revK.
- by case: fans As => [|n2 [|n1 [|? ?]]] [|A0 [|A1 [|A2 [|? ?]]]] // /check_P8_sound.
- by case: fans As => [|n2 [|n1 [|? ?]]] [|A0 [|A1 [|A2 [|? ?]]]] // /andP[/N.eqb_eq -> /check_P9_sound].
- by case: fans As => [|n2 [|n1 [|? ?]]] [|A0 [|A1 [|A2 [|? ?]]]] // /andP[/N.eqb_eq -> /check_P9b_sound].
Qed.
End Sound.

(** What the checker accepts is a theorem about all networks of these widths. *)
Theorem check_sound m fans M As c : check m fans M As c -> impossible %:m (map N.to_nat fans) %:M (map N.to_nat As).
Proof.
rewrite /check; move: (size fans - _) => k /andP[].
elim: k fans => [|k IH] fans; first by rewrite drop0 => _ /check_here_sound.
case: fans => [|n fans] /=; first by move=> _ /check_here_sound.
by case/andP=> /nat_lt0 n0 pos here; apply: more_hops n0 (IH _ pos here).
Qed.
