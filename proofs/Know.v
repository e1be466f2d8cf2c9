(** * What later players know of earlier ones, and what it costs to fix it *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Count.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Fixing: with b bits a property P can be had on a share of 2^-b *)
Section Fixing.
Variable T : finType.
Implicit Types (A B C : {set T}) (P Q : {set T} -> Prop).

Definition const U (g : T -> U) A := forall a a', a \in A -> a' \in A -> g a = g a'.
Definition mono P := forall A B, B \subset A -> P A -> P B.
Definition can b A P := forall B, B \subset A -> exists2 C : {set T}, C \subset B /\ P C & #|B| <= 2 ^ b * #|C|.

Lemma mono_const U (g : T -> U) : mono (const g).
Proof. by move=> A B /subsetP BA c a a' /BA aA /BA; apply: c. Qed.

Lemma can_fin (S : finType) (g : T -> S) b A : #|S| <= 2 ^ b -> can b A (const g).
Proof.
move=> Sb B _; have [-> | [a aB]] := set_0Vmem B.
  by exists set0; rewrite ?cards0 //; split=> // a a'; rewrite inE.
have [s pop] := popular B g (g a); exists [set x in B | g x == s].
  split; first by apply/subsetP => x; rewrite inE => /andP[].
  by move=> x y; rewrite !inE => /andP[_ /eqP ->] /andP[_ /eqP ->].
by apply: leq_trans pop _; rewrite leq_mul2r Sb orbT.
Qed.

Lemma can_weak b b' A P Q : b <= b' -> (forall B, B \subset A -> P B -> Q B) -> can b A P -> can b' A Q.
Proof.
move=> bb PQ c B BA; have [C [CB PC] BC] := c B BA; exists C.
  by split=> //; apply: PQ => //; apply: subset_trans BA.
by apply: leq_trans BC _; rewrite leq_mul2r leq_exp2l // bb orbT.
Qed.

Lemma can_sub b A B P : B \subset A -> can b A P -> can b B P.
Proof. by move=> BA c C CB; apply: c; apply: subset_trans BA. Qed.

Lemma can_true A P : (forall B, B \subset A -> P B) -> can 0 A P.
Proof. by move=> H B BA; exists B; rewrite ?mul1n //; split=> //; apply: H. Qed.

Lemma can_and b b' A P Q : mono P -> can b A P -> (forall B, B \subset A -> P B -> can b' B Q) ->
  can (b + b') A (fun B => P B /\ Q B).
Proof.
move=> mP cP cQ B BA; have [C [CB PC] BC] := cP B BA.
have [E [EC QE] CE] := cQ C (subset_trans CB BA) PC C (subxx _).
exists E; first by split; [apply: subset_trans CB | split=> //; apply: mP PC].
by apply: leq_trans BC _; rewrite expnD -mulnA leq_mul2l CE orbT.
Qed.

Lemma can_list X (q : seq X) (c : X -> nat) (P : X -> {set T} -> Prop) A : (forall x, mono (P x)) ->
  (forall x, List.In x q -> can (c x) A (P x)) ->
  can (\sum_(x <- q) c x) A (fun B => forall x, List.In x q -> P x B).
Proof.
move=> mP; elim: q => [|x q IH] H; first by rewrite big_nil; apply: can_true.
have c1 : can (c x) A (P x) by apply: H; left.
have c2 := IH (fun y yq => H y (or_intror yq)).
rewrite big_cons; apply: can_weak (leqnn _) _ (can_and (mP x) c1 (fun B BA _ => can_sub BA c2)).
by move=> B _ [Px Pq] y /= [<- // | /Pq].
Qed.
End Fixing.

Lemma sum_nat_const_seq (X : Type) (s : seq X) c : \sum_(x <- s) c = size s * c.
Proof. by rewrite big_const_seq count_predT iter_addn_0 mulnC. Qed.

(** ** The protocol *)
Section Protocol.
Variables (D : Type) (lin : nat -> linear D) (ful : nat -> full D).
Implicit Types (p q : seq D) (ps qs rs E : seq (seq D)).

Definition leave (l : linear D) (s : state l) ps := foldl (fun s p => (scan s p).1) s ps.

Lemma chain_cat l (s : state l) ps qs : chain s (ps ++ qs) = chain s ps ++ chain (leave s ps) qs.
Proof. by elim: ps s => //= p ps IH s; rewrite IH. Qed.

Lemma epoch_cat (f : full D) E ps qs : epoch f E (ps ++ qs) = epoch f E ps ++ epoch f (E ++ ps) qs.
Proof. by elim: ps E => [|p ps IH] E /=; rewrite ?cats0 // IH cat_rcons. Qed.

(** After block e; before it; the states that leave ps in it; what qs know after it if ps came before. *)
Fixpoint know e ps := chain (start (lin e)) (if e is e'.+1 then epoch (ful e') [::] (know e' ps) else ps).
Definition out e ps := leave (start (lin e)) (if e is e'.+1 then epoch (ful e') [::] (know e' ps) else ps).
Fixpoint after e ps qs := chain (out e ps) (if e is e'.+1 then epoch (ful e') (know e' ps) (after e' ps qs) else qs).

Lemma know_cat e ps qs : know e (ps ++ qs) = know e ps ++ after e ps qs.
Proof. by case: e => [|e]; rewrite /= ?chain_cat //; elim: e => [|e IH] /=; rewrite ?chain_cat ?epoch_cat ?chain_cat ?IH ?epoch_cat ?chain_cat. Qed.

Lemma shape_chain l (s : state l) ps : map size (chain s ps) = map size ps.
Proof.
have sc p t : size (scan (l := l) t p).2 = size p by elim: p t => //= x p IH t; rewrite IH.
by elim: ps s => //= p ps IH s; rewrite IH sc.
Qed.

Lemma shape_epoch f E ps : map size (epoch f E ps) = map size ps.
Proof. by elim: ps E => //= p ps IH E; rewrite IH size_map size_zip size_iota minnn. Qed.

Lemma shape_know e ps : map size (know e ps) = map size ps.
Proof. by elim: e => [|e IH] /=; rewrite shape_chain // shape_epoch. Qed.

Lemma shape_after e ps qs : map size (after e ps qs) = map size qs.
Proof. by elim: e => [|e IH] /=; rewrite shape_chain // shape_epoch. Qed.

Lemma size_know e ps : size (know e ps) = size ps.
Proof. by rewrite -(size_map size) shape_know size_map. Qed.

Lemma after_drop e ps qs : after e ps qs = drop (size ps) (know e (ps ++ qs)).
Proof. by rewrite know_cat drop_size_cat ?size_know. Qed.

Lemma after_cat e ps qs rs : after e ps (qs ++ rs) = after e ps qs ++ after e (ps ++ qs) rs.
Proof. by rewrite after_drop catA know_cat know_cat -catA drop_size_cat ?size_know. Qed.

Lemma after_cons e ps q qs : after e ps (q :: qs) = after e ps [:: q] ++ after e (rcons ps q) qs.
Proof. by rewrite -cat1s after_cat cats1. Qed.

Lemma after_nil e ps : after e ps [::] = [::].
Proof. by apply/nilP; rewrite /nilp -(size_map size) shape_after. Qed.

(** What earlier players E reply to the tokens of qs is all that these learn from them in an epoch. *)
Definition talk (f : full D) E qs := map (map (replies f E)) qs.

Lemma replies_rcons f E p x : replies f (rcons E p) x = rcons (replies f E x) (reply (replies f E x) p x).
Proof. by rewrite /replies foldl_rcons. Qed.

Lemma size_replies f E x : size (replies f E x) = size E.
Proof. by elim/last_ind: E => // E p IH; rewrite replies_rcons !size_rcons IH. Qed.

Lemma talk_rcons f E E' p qs : talk f E qs = talk f E' qs -> talk f (rcons E p) qs = talk f (rcons E' p) qs.
Proof.
elim: qs => //= q qs IH [hq /IH ->]; congr (_ :: _).
by elim: q hq => //= x q IHq [hx /IHq ->]; rewrite !replies_rcons hx.
Qed.

Lemma talk_cat f E E' ps qs : talk f E qs = talk f E' qs -> talk f (E ++ ps) qs = talk f (E' ++ ps) qs.
Proof. by elim: ps E E' => [|p ps IH] E E' h; rewrite ?cats0 // -!cat_rcons; apply/IH/talk_rcons. Qed.

Lemma epoch_talk f E E' qs : talk f E qs = talk f E' qs -> epoch f E qs = epoch f E' qs.
Proof.
elim: qs E E' => //= q qs IH E E' [hq hqs]; congr (_ :: _); last exact/IH/talk_rcons.
rewrite /attend; move: {1 4}q => p; elim: q 0 hq => //= x q IHq j [hx hq].
by rewrite hx IHq.
Qed.

(** ** What it costs to fix what later players know *)
Variables (T : finType) (ps : T -> seq (seq D)) (h M : nat).
Hypothesis ps_size : forall a, size (ps a) = h.
Implicit Types A B : {set T}.

Definition toks qs := sumn (map size qs).

Lemma can_replies e x A : #|msg (ful e)| <= 2 ^ M -> can (h * M) A (const (fun a => replies (ful e) (know e (ps a)) x)).
Proof.
move=> fM; pose m0 := reply (f := ful e) [::] [::] x.
apply: can_weak (leqnn _) _ (@can_fin _ _ (fun a => [ffun i : 'I_h => nth m0 (replies (ful e) (know e (ps a)) x) i]) _ _ _); last first.
  by rewrite -[h in 2 ^ (h * _)]card_ord card_msgs.
move=> B _ c a a' aB a'B; apply: (@eq_from_nth _ m0); rewrite !size_replies !size_know !ps_size // => i ih.
by have /ffunP/(_ (Ordinal ih)) := c a a' aB a'B; rewrite !ffunE.
Qed.

Lemma can_talk e qs A : #|msg (ful e)| <= 2 ^ M -> can (toks qs * (h * M)) A (const (fun a => talk (ful e) (know e (ps a)) qs)).
Proof.
move=> fM; pose toks1 q : nat := size q * (h * M).
have c1 q B : can (toks1 q) B (const (fun a => map (replies (ful e) (know e (ps a))) q)).
  apply: can_weak _ _ (@can_list _ _ q (fun=> h * M) (fun x => const (fun a => replies (ful e) (know e (ps a)) x)) B _ _).
  - by rewrite big_const_seq count_predT iter_addn_0 mulnC.
  - move=> C _ c a a' aC a'C; elim: q c => //= x q IH c; rewrite (c x (or_introl erefl) a a') // IH // => y yq.
    by apply: c; right.
  - by move=> x; apply: mono_const.
  - by move=> x _; apply: can_replies.
apply: can_weak _ _ (@can_list _ _ qs toks1 (fun q => const (fun a => map (replies (ful e) (know e (ps a))) q)) A _ _).
- by rewrite /toks; elim: (qs) => [|q rs IH]; rewrite ?big_nil // big_cons /= mulnDl leq_add2l.
- move=> C _ c a a' aC a'C; rewrite /talk; elim: qs c => //= q rs IH c; rewrite (c q (or_introl erefl) a a') // IH // => y yq.
  by apply: c; right.
- by move=> x; apply: mono_const.
- by move=> x _; apply: c1.
Qed.

(** Replies of one more player, behind fixed ones. *)
Lemma can_reply (f : full D) E (k : T -> seq D) qs A : #|msg f| <= 2 ^ M ->
  can (toks qs * M) A (const (fun a => talk f (rcons E (k a)) qs)).
Proof.
move=> fM.
have c1 q : can (size q * M) A (const (fun a => map (replies f (rcons E (k a))) q)).
  apply: can_weak _ _ (@can_list _ _ q (fun=> M) (fun x => const (fun a => reply (replies f E x) (k a) x)) A _ _).
  - by rewrite sum_nat_const_seq.
  - move=> C _ c a a' aC a'C; elim: q c => //= x q IH c; rewrite !replies_rcons (c x (or_introl erefl) a a') // IH // => y yq.
    by apply: c; right.
  - by move=> x; apply: mono_const.
  - by move=> x _; apply: can_fin.
apply: can_weak _ _ (@can_list _ _ qs (fun q => size q * M) (fun q => const (fun a => map (replies f (rcons E (k a))) q)) A _ _).
- by rewrite /toks; elim: (qs) => [|q rs IH]; rewrite ?big_nil // big_cons /= mulnDl leq_add2l.
- move=> C _ c a a' aC a'C; rewrite /talk; elim: qs c => //= q rs IH c; rewrite (c q (or_introl erefl) a a') // IH // => y yq.
  by apply: c; right.
- by move=> x; apply: mono_const.
- by move=> x _; apply: c1.
Qed.

(** If the states are fixed: what qs know after block e, and what they are told then. *)
Definition told e qs A := const (fun a => after e (ps a) qs) A /\
  const (fun a => talk (ful e) (know e (ps a)) (after e (ps a) qs)) A.

Lemma mono_told e qs : mono (told e qs).
Proof. by move=> A B BA [c1 c2]; split; apply: mono_const BA _. Qed.

Lemma can_told b e qs A : #|msg (ful e)| <= 2 ^ M -> can b A (const (fun a => after e (ps a) qs)) ->
  can (toks qs * (h * M) + b) A (told e qs).
Proof.
move=> fM cb; rewrite addnC; apply: can_and => //; first exact: mono_const.
move=> B BA c1; have [-> | [a0 a0B]] := set_0Vmem B.
  by apply: can_weak (leq0n _) (fun _ _ => id) (can_true _) => C /subsetP C0 a a' /C0; rewrite inE.
have := @can_talk e (after e (ps a0) qs) B fM; rewrite /toks shape_after.
apply: can_weak => // C /subsetP CB c a a' aC a'C.
by have := c a a' aC a'C; rewrite /= (c1 a a0 (CB a aC) a0B) (c1 a' a0 (CB a' a'C) a0B).
Qed.

Lemma can_after e qs A : (forall i, i < e -> #|msg (ful i)| <= 2 ^ M) -> (forall i, i <= e -> const (fun a => out i (ps a)) A) ->
  can (e * (toks qs * (h * M))) A (const (fun a => after e (ps a) qs)).
Proof.
elim: e => [|e IH] fM st.
  by apply: can_true => B BA a a' aB a'B /=; rewrite (mono_const BA (st 0 _)  aB a'B).
rewrite mulSn; apply: can_weak (leqnn _) _ (can_told (fM e _) (IH (fun i ie => fM i (ltnW ie)) (fun i ie => st i (leqW ie)))) => //.
move=> B BA [c1 c2] a a' aB a'B /=; rewrite (mono_const BA (st e.+1 _) aB a'B) //; congr (chain _ _).
by have := c2 a a' aB a'B; rewrite (c1 a a' aB a'B) => /epoch_talk.
Qed.

(** A player for each of the options: what all choices know, a tree. *)
Fixpoint choice (os : seq (seq (seq D))) qs : Prop :=
  match os, qs with
  | o :: os', q :: qs' => List.In q o /\ choice os' qs'
  | [::], [::] => True
  | _, _ => False
  end.

Fixpoint tree (os : seq (seq (seq D))) : nat := if os is o :: os' then \sum_(q <- o) (size q + tree os') else 0.

Lemma can_below e os E0 A : #|msg (ful e)| <= 2 ^ M ->
  can (tree os * (h * M)) A (fun B => forall qs, choice os qs -> const (fun a => talk (ful e) (know e (ps a)) (after e E0 qs)) B).
Proof.
move=> fM; elim: os E0 A => [|o os IH] E0 A.
  by apply: can_true => B BA [|//] _ a a' _ _; rewrite after_nil.
pose P q (B : {set T}) := const (fun a => talk (ful e) (know e (ps a)) (after e E0 [:: q])) B /\
  forall qs, choice os qs -> const (fun a => talk (ful e) (know e (ps a)) (after e (rcons E0 q) qs)) B.
apply: can_weak _ _ (@can_list _ _ o (fun q => size q * (h * M) + tree os * (h * M)) P A _ _).
- by rewrite /= big_distrl /=; apply/eq_leq/eq_bigr => q _; rewrite mulnDl.
- move=> B BA PB [//|q qs] [qo cqs] a a' aB a'B; have [c1 c2] := PB q qo.
  by rewrite after_cons /talk !map_cat -!/(talk _ _ _) (c1 a a') // (c2 qs cqs a a').
- move=> q B C CB [c1 c2]; split; first exact: mono_const c1.
  by move=> qs /c2; apply: mono_const.
- move=> q _; apply: can_and; first exact: mono_const.
    by have := @can_talk e (after e E0 [:: q]) A fM; rewrite /toks shape_after /= addn0.
  by move=> B _ _; apply: IH.
Qed.

(** ** One step: players with the same question, x kinds of next player q, below them the choices of os *)
Variable As : seq nat.
Hypotheses (lin_A : forall e, #|state (lin e)| <= 2 ^ nth 0 As e) (ful_M : forall e, #|msg (ful e)| <= 2 ^ M).

Lemma in_iota j n i : j <= i < j + n -> List.In i (iota j n).
Proof.
elim: n j => [|n IH] j; first by rewrite addn0 ltnNge => /andP[->].
rewrite leq_eqVlt => /andP[/orP[/eqP -> _|ji jn]]; [by left | right]; apply: IH.
by rewrite ji addSnnS.
Qed.

Lemma can_out e A : can (sumn (take e As)) A (fun B => forall i, i < e -> const (fun a => out i (ps a)) B).
Proof.
apply: can_weak _ _ (@can_list _ _ (iota 0 e) (nth 0 As) (fun i => const (fun a => out i (ps a))) A _ _).
- elim: e => [|e IH]; first by rewrite big_nil.
  rewrite -addn1 iotaD big_cat big_seq1 /= add0n addn1; apply: leq_trans (leq_add IH (leqnn _)) _.
  case: (ltnP e (size As)) => eA; first by rewrite (take_nth 0) // sumn_rcons.
  by rewrite nth_default // addn0 !take_oversize // ltnW.
- by move=> B BA c i ie; apply: c; apply: in_iota; rewrite add0n.
- by move=> i; apply: mono_const.
- by move=> i _; apply: can_fin.
Qed.

Variables (e : nat) (next : seq (seq D)) (os : seq (seq (seq D))) (t : nat) (A : {set T}).
Hypothesis next_t : forall q, List.In q next -> size q = t.
(* whatever comes next, what is below it knows the same after block e *)
Hypothesis alike : forall a a' q q' qs, a \in A -> a' \in A -> List.In q next -> List.In q' next -> choice os qs ->
  after e (rcons (ps a) q) qs = after e (rcons (ps a') q') qs.

Lemma can_heard B : B \subset A -> can (tree os * (h * M)) B (fun B => forall q qs, List.In q next -> choice os qs ->
  const (fun a => talk (ful e) (know e (ps a)) (after e (rcons (ps a) q) qs)) B).
Proof.
move=> BA; have [-> | [a0 a0B]] := set_0Vmem B.
  by apply: can_weak (leq0n _) (fun _ _ => id) (can_true _) => C /subsetP C0 q qs _ _ a a' /C0; rewrite inE.
have a0A := subsetP BA _ a0B.
case E : next => [|q0 qr]; first by apply: can_weak (leq0n _) (fun _ _ => id) (can_true _).
have q0n : List.In q0 next by rewrite E; left.
apply: can_weak (leqnn _) _ (@can_below e os (rcons (ps a0) q0) B (ful_M e)) => C /subsetP CB c q qs; rewrite -E => qn cqs a a' aC a'C.
have al b : b \in C -> after e (rcons (ps b) q) qs = after e (rcons (ps a0) q0) qs.
  by move=> bC; apply: alike => //; apply/(subsetP BA)/CB.
by rewrite !al //; apply: (c qs cqs a a' aC a'C).
Qed.

Lemma sum_next c : \sum_(q <- next) c (size q) = size next * c t :> nat.
Proof.
elim: (next) next_t => [|q qs IH] H; first by rewrite big_nil.
by rewrite big_cons IH /= ?mulSn ?H //; [left | move=> y yq; apply: H; right].
Qed.

Lemma mono_in X (l : seq X) (P : X -> {set T} -> Prop) : (forall x, mono (P x)) -> mono (fun B => forall x, List.In x l -> P x B).
Proof. by move=> mP B C CB H x /H; apply: mP. Qed.

Lemma can_next i B (P : seq D -> {set T} -> Prop) : (forall q, mono (P q)) ->
  (forall q, List.In q next -> can (i (size q)) B (P q)) -> can (size next * i t) B (fun B => forall q, List.In q next -> P q B).
Proof. by move=> mP c; rewrite -sum_next; apply: can_list. Qed.

Lemma step_mid : can (sumn (take e.+2 As) + (size next * (e.+1 * (t * (h * M))) + tree os * (h * M))) A
  (fun B => forall qs, choice (next :: os) qs -> const (fun a => after e.+1 (ps a) qs) B).
Proof.
apply: can_weak (leqnn _) _ (can_and _ (@can_out e.+2 A) (Q := fun B => (forall q, List.In q next -> told e [:: q] B) /\
  (forall q qs, List.In q next -> choice os qs -> const (fun a => talk (ful e) (know e (ps a)) (after e (rcons (ps a) q) qs)) B)) _).
- move=> B BA [st [own heard]] [//|q qs] [qn cqs] a a' aB a'B /=; have [o1 o2] := own q qn; have hh := heard q qs qn cqs.
  have al : after e (rcons (ps a) q) qs = after e (rcons (ps a') q) qs by apply: alike => //; apply: (subsetP BA).
  rewrite (st e.+1 _ a a') //; congr (chain _ _).
  have -> : after e (ps a) (q :: qs) = after e (ps a') (q :: qs).
    by rewrite !(after_cons _ _ q qs) (o1 a a') // al.
  apply: epoch_talk; rewrite after_cons /talk !map_cat -!/(talk _ _ _).
  have := o2 a a' aB a'B; have := hh a a' aB a'B; rewrite /= (o1 a a') // al.
  by move=> -> ->.
- by move=> B C CB c i /c; apply: mono_const.
move=> B BA st; apply: can_and.
- by apply: mono_in => q; apply: mono_told.
- apply: (@can_next (fun r => e.+1 * (r * (h * M)))) => [q|q qn]; first exact: mono_told.
  rewrite mulSn -[size q]addn0 -[_ + 0]/(toks [:: q]); apply: can_told => //.
  by apply: can_after => // i ie; apply: st; apply: leqW.
- by move=> C CB _; apply: can_heard; apply: subset_trans BA.
Qed.

(** The last step: of the next player only the states that leave it in the last block. *)
Lemma step_last : can (sumn (take e.+1 As) + (size next * (e * (t * (h * M)) + nth 0 As e.+1) + tree os * (h * M))) A
  (fun B => forall q qs, List.In q next -> choice os qs -> const (fun a => after e.+1 (rcons (ps a) q) qs) B).
Proof.
apply: can_weak (leqnn _) _ (can_and _ (@can_out e.+1 A) (Q := fun B =>
  (forall q, List.In q next -> const (fun a => after e (ps a) [:: q]) B /\ const (fun a => out e.+1 (rcons (ps a) q)) B) /\
  (forall q qs, List.In q next -> choice os qs -> const (fun a => talk (ful e) (know e (ps a)) (after e (rcons (ps a) q) qs)) B)) _).
- move=> B BA [st [own heard]] q qs qn cqs a a' aB a'B /=; have [o1 o2] := own q qn; have hh := heard q qs qn cqs.
  rewrite (o2 a a') //; congr (chain _ _).
  have al : after e (rcons (ps a) q) qs = after e (rcons (ps a') q) qs by apply: alike => //; apply: (subsetP BA).
  rewrite al -!cats1 !know_cat (o1 a a') //; apply/epoch_talk/talk_cat.
  by have := hh a a' aB a'B; rewrite /= al cats1.
- by move=> B C CB c i /c; apply: mono_const.
move=> B BA st; apply: can_and.
- by apply: mono_in => q C E EC [c1 c2]; split; apply: mono_const EC _.
- apply: (@can_next (fun r => e * (r * (h * M)) + nth 0 As e.+1)) => [q C E EC [c1 c2]|q qn]; first by split; apply: mono_const EC _.
  apply: can_and; first exact: mono_const.
    by rewrite -[size q]addn0 -[_ + 0]/(toks [:: q]); apply: can_after.
  by move=> C CB _; apply: can_fin.
- by move=> C CB _; apply: can_heard; apply: subset_trans BA.
Qed.
End Protocol.

(** ** A network is such a protocol *)
Section Blocks.
Variables (D : Type) (x0 : D).

Lemma know_shift lin ful e (ps : seq (seq D)) :
  know lin ful e.+1 ps = know (lin \o succn) (ful \o succn) e (epoch (ful 0) [::] (chain (start (lin 0)) ps)).
Proof. by elim: e => //= e ->. Qed.

Lemma blocks_know M As (ls : seq (layer D)) : blocks M As ls -> exists lin ful,
  [/\ run ls =1 know lin ful (size As).-1, forall e, #|state (lin e)| <= 2 ^ nth 0 As e & forall e, #|msg (ful e)| <= 2 ^ M].
Proof.
elim: As ls => //= A [_ ls [l -> lA] | A' As IH ls [l] [f] [ls1] [-> lA fM /IH[lin [ful [runE linA fulM]]]]].
  exists (fun e => if e is 0 then l else skip D), (fun=> @Full D [finType of unit] (fun _ _ _ => tt) (fun _ _ _ => x0)); split=> //.
    by case=> [|e] //=; rewrite card_unit nth_nil.
  by move=> e; rewrite card_unit expn_gt0.
exists (fun e => if e is e'.+1 then lin e' else l), (fun e => if e is e'.+1 then ful e' else f); split.
- by move=> ps; rewrite know_shift /= -[LHS]/(run ls1 (epoch f [::] (chain (start l) ps))) runE.
- by case.
- by case.
Qed.
End Blocks.
