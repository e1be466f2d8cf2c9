(** * Checking that few draws take many values: [spread] from a schedule or from lines *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Pow Numbers Conditions Greedy Average Spread.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** [Climb]: (f, a, b) for every draw, which finds f + 1 new values.  [Lines s kap E D G]: (a, u, w) for shares up to a/G. *)
Inductive way := Climb of seq (N * N * N) | Lines of N & N & N & N & N & seq (N * N * N).

Local Open Scope N_scope.

Fixpoint check_climb (A t q S : N) (sched : seq (N * N * N)) (Y : N) : bool :=
  if sched is (f, a, b) :: sched' then
    if [&& a <=? b, f <=? t & products_lt (A + 1) [:: (a * (t * q) + (b - a) * S, t)] [:: (t * q, t); (a, f); (b, t - f)]]
    then check_climb A t q (S + (f + 1)) sched' Y else false
  else Y <=? S.

Definition check_line s x u w a G : bool :=
  if (a =? 0) && (u =? 0) then true else
  let k := u * G + w * a in
  if k <=? s * G then products_lt 0 [:: (s * G, 1); (G - a, x)] [:: (G, x); (s * G - k, 1)] else false.

Fixpoint check_levels (s x kap E D t G a1 : N) (lv : seq (N * N * N)) : bool :=
  if lv is (a, u, w) :: lv' then
    if [&& a1 <=? a, a <=? G, check_line s x u w a1 G, check_line s x u w a G &
        products_lt 0 [:: (kap, 1); (E, t * w)] [:: (u + D, 1); (E + 1, t * w)]]
    then check_levels s x kap E D t G a lv' else false
  else G <=? a1.

Definition check_spread (A t q x Y : N) (c : way) : bool :=
  match c with
  | Climb sched => (N.of_nat (size sched) =? x) && check_climb A t q 0 sched Y
  | Lines s kap E D G lv =>
    let K := t * q * D in let e := s * Y - (E - K) in
    [&& 0 <? kap, 0 <? t, 0 <? E, 0 <? G & 0 <? Y] && [&& ~~ nilp lv, K <=? E, E - K <=? s * Y, N.size (x * t) <=? x &
     check_levels s x kap E D t G 0 lv] && products_lt A [:: (E, t); (E + 1, t * e)] [:: (q * kap * t, t); (E, t * e)]
  end.

Local Close Scope N_scope.

Definition unbin (g : N * N * N) := (%:(g.1.1), %:(g.1.2), %:(g.2)).

Lemma check_climb_sound A t q S sched Y : check_climb A t q S sched Y ->
  climb %:A %:t %:q %:S (map unbin sched) %:Y.
Proof.
elim: sched S => [|[[f a] b] sched IH] S /=; first exact: nat_le.
case: ifP => // /and3P[/nat_le ab /nat_le ft /products_ltP h] /IH.
rewrite nat_add nat_add addn1 => up; split=> //.
by move: h; rewrite /= !nat_of !muln1 addn1.
Qed.

Lemma check_line_sound s x u w a G : check_line s x u w a G -> line_ok %:s %:x %:u %:w %:a %:G.
Proof.
rewrite /check_line /line_ok; case: ifP => [/andP[/N.eqb_eq -> /N.eqb_eq ->] _ | _].
  by rewrite !mul0n muln0 muln0 subn0.
case: ifP => // /nat_le ks /products_ltP; rewrite /= !nat_of in ks *; rewrite !muln1 !expn1 mul1n.
move: ks; set k := _ + _ => ks /ltnW h.
apply: (@leq_trans (%:G ^ %:x * k + %:G ^ %:x * (%:s * %:G - k))); last first.
  by rewrite -mulnDr subnKC // mulnCA.
by rewrite leq_add2l (leq_trans _ h) // -mulnA [%:G * _]mulnC.
Qed.

Lemma check_levels_sound s x kap E D t G a1 lv : check_levels s x kap E D t G a1 lv ->
  levels %:s %:x %:kap %:E %:D %:t %:G %:a1 (map unbin lv).
Proof.
elim: lv a1 => [|[[a u] w] lv IH] a1 /=; first exact: nat_le.
case: ifP => // /and5P[/nat_le c1 /nat_le c2 /check_line_sound c3 /check_line_sound c4 /products_ltP c5] /IH lvs.
split=> //; split=> //; apply: ltnW; move: c5; rewrite /= !nat_of !muln1 !expn1 mul1n addn1; exact.
Qed.

Lemma size_le a b : (N.size a <=? b)%num -> %:a <= 2 ^ %:b.
Proof.
move/N.leb_le => ab; rewrite -[2]/%:2 -nat_pow; apply/ltnW/nat_lt.
by apply: N.lt_le_trans (lt_size a) _; apply: N.pow_le_mono_r.
Qed.

Lemma check_spread_sound A t q x Y c : check_spread A t q x Y c -> spread %:A %:t %:q %:x %:Y.
Proof.
case: c => [sched | s kap E D G lv] /=.
  case/andP=> /N.eqb_eq <- /check_climb_sound/climb_spread; by rewrite size_map Nat2N.id.
case/andP=> /andP[/and5P[/nat_lt0 c1 /nat_lt0 c2 /nat_lt0 c3 /nat_lt0 c4 /nat_lt0 c5]].
case/and5P=> c6 /nat_le c7 /nat_le c8 /size_le c9 /check_levels_sound c10 /products_ltP c11.
have c6' : map unbin lv != [::] by case: (lv) c6.
rewrite !nat_of in c7 c8 c9.
apply: (levels_spread (s := %:s) (kap := %:kap) (E := %:E) (D := %:D) (M := %:G) c1 c2 c3 c4 c5 c6' c7 c8 c9 c10).
by move: c11; rewrite /= !nat_of !muln1 !addn1.
Qed.
