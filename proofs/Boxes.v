(** * Boxes of tables: what earlier players say in the first epoch is fixed player by player

    A player's state in block 0 and its replies in epoch 1 are functions of its own table, once those of the players before
    it are fixed.  So they are fixed on a box, a product of sets of tables, at a cost in each of its sides alone. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Know Hops.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Boxes.
Variables (m : nat) (D : Type) (pl : nat -> seq nat -> seq D).

(** B is a product of sides, each of a share of at least 2^-g of all tables, and what V says of the players from z_L down
    to any of them is the same all over B. *)
Fixpoint box U (V : seq (seq D) -> U) g e fans ns : {set Up m fans ns} -> Prop :=
  match ns return {set Up m fans ns} -> Prop with
  | [::] => fun B => B = setT
  | n :: ns' => fun B => const (fun a : Up m fans (n :: ns') => V (up pl e fans (n :: ns') a)) B /\
      exists (C : {set Tab (size_N m (n :: fans))}) (B' : {set Up m (n :: fans) ns'}),
      [/\ B = setX C B', size_N m (n :: fans) ^ size_N m (n :: fans) <= 2 ^ g * #|C| & box V g e.+1 B']
  end.

Lemma box_const U (V : seq (seq D) -> U) g e fans ns B : @box U V g e fans ns B -> const (fun a => V (up pl e fans ns a)) B.
Proof. by case: ns B => [|n ns] B => [_ a a' _ _ | []]. Qed.

Lemma box_card U (V : seq (seq D) -> U) g e fans ns B : @box U V g e fans ns B -> #|Up m fans ns| <= 2 ^ (size ns * g) * #|B|.
Proof.
elim: ns e fans B => [|n ns IH] e fans B /=; first by move=> ->; rewrite mul0n mul1n cardsT.
case=> _ [C [B' [-> CN /IH UB]]]; rewrite card_prod card_ffun card_ord cardsX mulSn expnD mulnACA; exact: leq_mul.
Qed.

Lemma box_some U (V : seq (seq D) -> U) g e fans ns B : @box U V g e fans ns B -> exists a, a \in B.
Proof.
move=> /box_card UB; apply/card_gt0P; rewrite lt0n; apply: contraTneq UB => ->.
by rewrite muln0 -ltnNge card_Up.
Qed.

Lemma box_sides U (V : seq (seq D) -> U) g e fans n ns B : @box U V g e fans (n :: ns) B ->
  exists (C : {set Tab (size_N m (n :: fans))}) (B' : {set Up m (n :: fans) ns}),
  [/\ B = setX C B', size_N m (n :: fans) ^ size_N m (n :: fans) <= 2 ^ g * #|C| & box V g e.+1 B'].
Proof. by case. Qed.

(** All tables. *)
Lemma box_all e fans ns : box (fun=> tt) 0 e [set: Up m fans ns].
Proof.
elim: ns e fans => //= n ns IH e fans; split=> //; exists setT, setT; split=> //; first by apply/setP => a; rewrite !inE.
by rewrite mul1n cardsT card_ffun card_ord.
Qed.

(** Something more, W, is fixed at b bits a side. *)
Variables (U U' : Type) (V : seq (seq D) -> U) (W : seq (seq D) -> U') (b : nat).
Hypothesis later : forall E E' p, V E = V E' -> W E = W E' -> W (rcons E p) = W (rcons E' p).
Hypothesis cost : forall E (T : finType) (k : T -> seq D) (A : {set T}), can b A (const (fun t => W (rcons E (k t)))).

Lemma box_more g e fans ns B : @box _ V g e fans ns B ->
  exists2 B' : {set Up m fans ns}, B' \subset B & box (fun E => (V E, W E)) (g + b) e B'.
Proof.
elim: ns e fans B => [|n ns IH] e fans B /=; first by move=> ->; exists setT.
case=> Vc [C [B0 [BE CN box0]]]; have [B1 B10 box1] := IH _ _ _ box0; have [a0 a0B] := box_some box1.
have [C1 [C1C Wc] CC] := cost (up pl e.+1 (n :: fans) ns a0) (fun z => pl e.+2 (table z)) (subxx C).
exists (setX C1 B1); first by rewrite BE setXS.
split; last first.
  by exists C1, B1; split=> //; apply: leq_trans CN _; rewrite expnD -mulnA leq_mul2l CC orbT.
have fixed a : a \in setX C1 B1 -> W (up pl e fans (n :: ns) a) = W (rcons (up pl e.+1 (n :: fans) ns a0) (pl e.+2 (table a.1))).
  rewrite inE => /andP[_ a2]; have [aV aW] := box_const box1 a2 a0B; exact: later.
move=> a a' aB a'B; congr pair; first by apply: Vc; rewrite BE; [move: aB | move: a'B]; apply/subsetP/setXS.
by rewrite (fixed a) // (fixed a') //; apply: Wc; [move: aB | move: a'B]; rewrite inE => /andP[].
Qed.
End Boxes.
Arguments box {m D} pl {U} V g e {fans ns} B.

(** ** The states of block 0, the replies of epoch 1 *)
Section First.
Variables (D : Type) (lin : nat -> linear D) (ful : nat -> full D) (m : nat) (pl : nat -> seq nat -> seq D) (A0 M : nat).
Hypotheses (lin_0 : #|state (lin 0)| <= 2 ^ A0) (ful_0 : #|msg (ful 0)| <= 2 ^ M).

Lemma know_rcons E p : know lin ful 0 (rcons E p) = rcons (know lin ful 0 E) (scan (out lin ful 0 E) p).2.
Proof. by rewrite -cats1 know_cat cats1. Qed.

Definition leaving := fun E => (tt, out lin ful 0 E).

Lemma box_states e fans ns : exists B : {set Up m fans ns}, box pl leaving A0 e B.
Proof.
have [|E T k A|B _ boxB] := box_more (W := out lin ful 0) (b := A0) _ _ (box_all m pl e fans ns); last by exists B.
  by move=> E E' p _; rewrite /out /leave !foldl_rcons => ->.
exact: can_fin.
Qed.

(** Tokens of later players, of all choices. *)
Fixpoint branches os E : seq (seq D) :=
  if os is o :: os' then flatten [seq after lin ful 0 E [:: q] ++ branches os' (rcons E q) | q <- o] else [::].

Lemma branches_cons q o os E :
  branches ((q :: o) :: os) E = (after lin ful 0 E [:: q] ++ branches os (rcons E q)) ++ branches (o :: os) E.
Proof. by []. Qed.

Lemma toks_cat (a b : seq (seq D)) : toks (a ++ b) = toks a + toks b.
Proof. by rewrite /toks map_cat sumn_cat. Qed.

Lemma toks_branches os E : toks (branches os E) = tree os.
Proof.
elim: os E => // o os IH E; elim: o => [|q o IHo]; first by rewrite /= big_nil.
rewrite branches_cons !toks_cat IHo IH {1}/toks shape_after -[LHS]/(size q + 0 + tree os + \sum_(p <- o) (size p + tree os)).
by rewrite addn0 -[RHS]/(\sum_(p <- q :: o) (size p + tree os)) big_cons.
Qed.

Lemma in_branches os E qs y : choice os qs -> List.In y (after lin ful 0 E qs) -> List.In y (branches os E).
Proof.
elim: os E qs => [|o os IH] E [|q qs] //.
case=> qo cqs; rewrite after_cons => /in_app yq.
elim: o qo => // q' o IHo [-> | /IHo h]; rewrite branches_cons; apply/in_app; [left | by right].
by apply/in_app; case: yq => [|/IH h]; [left | right; apply: h].
Qed.

Lemma talk_in (f : full D) E E' X qs : talk f E X = talk f E' X -> (forall y, List.In y qs -> List.In y X) -> talk f E qs = talk f E' qs.
Proof.
move=> XE; have one y : List.In y X -> map (replies f E) y = map (replies f E') y.
  by elim: X XE => //= x X IH [xE /IH XE] [<- // | /XE].
elim: qs => //= q qs IH H; rewrite (one q) ?IH //; last by apply: H; left.
by move=> y yq; apply: H; right.
Qed.

Variables (next : seq (seq D)) (os : seq (seq (seq D))) (q0 : seq D).
Hypothesis q0_next : List.In q0 next.

(** Where what is below knows the same, whatever stands above, the replies to all of it, and to each of the next. *)
Lemma box_talk g e fans ns (B : {set Up m fans ns}) (ps := up (m := m) pl e fans ns) : box pl leaving g e B ->
  (forall a a' q q' qs, a \in B -> a' \in B -> List.In q next -> List.In q' next -> choice os qs ->
    after lin ful 0 (rcons (ps a) q) qs = after lin ful 0 (rcons (ps a') q') qs) ->
  exists2 B' : {set Up m fans ns}, B' \subset B &
    (exists X, box pl (fun E => (leaving E, talk (ful 0) (know lin ful 0 E) X)) (g + (sumn (map size next) + tree os) * M) e B') /\
    forall qs, choice (next :: os) qs -> const (fun a => talk (ful 0) (know lin ful 0 (ps a)) (after lin ful 0 (ps a) qs)) B'.
Proof.
move=> boxB alike; have [a0 a0B] := box_some boxB.
pose own := flatten [seq after lin ful 0 (ps a0) [:: q] | q <- next].
pose X := own ++ branches os (rcons (ps a0) q0).
have toksX : toks X = sumn (map size next) + tree os.
  rewrite toks_cat toks_branches /own; congr (_ + _); elim: (next) => // q qs IH.
  by rewrite -[LHS]/(toks (after lin ful 0 (ps a0) [:: q] ++ _)) toks_cat IH {1}/toks shape_after /= addn0.
have [||B' B'B boxB'] := box_more (W := fun E => talk (ful 0) (know lin ful 0 E) X) (b := (sumn (map size next) + tree os) * M) _ _ boxB.
- move=> E E' p [oE] tE; rewrite !know_rcons oE; exact: talk_rcons.
- move=> E T k A; have := @can_reply _ T M (ful 0) (know lin ful 0 E) (fun t => (scan (out lin ful 0 E) (k t)).2) X A ful_0.
  by rewrite toksX; apply: can_weak => // C _ c t t' tC t'C; rewrite !know_rcons; apply: c.
exists B'; first exact: B'B.
split; first by exists X.
move=> [//|q qs] [qn cqs] a a' aB a'B.
have same b : b \in B' -> after lin ful 0 (ps b) (q :: qs) = after lin ful 0 (ps a0) [:: q] ++ after lin ful 0 (rcons (ps a0) q0) qs.
  move=> /(subsetP B'B) bB; rewrite after_cons (alike b a0 q q0) //; congr (_ ++ _).
  by have := box_const boxB bB a0B; rewrite /leaving /= => -[->].
rewrite !same //; apply: (@talk_in _ _ _ X); first by case: (box_const boxB' aB a'B).
move=> y yq; apply/in_app; case/in_app: yq => yq'; [left | right]; last exact: in_branches yq'.
rewrite /own; elim: (next) qn => // q' o IHo.
by rewrite -[flatten _]/(after lin ful 0 (ps a0) [:: q'] ++ flatten [seq after lin ful 0 (ps a0) [:: p] | p <- o]) => -[-> | /IHo h]; apply/in_app; [left | right].
Qed.
End First.
