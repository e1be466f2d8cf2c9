(** * The bridge: programs are networks of the model

    A program reads one sequence of tokens and knows nothing of players.  Its mixers are of two kinds: a recurrence, any
    step on a state, and attention that folds the keys into an accumulator, one by one.  Both are layers of Model.v, and the
    bits that [impossible] counts are those of the state and of the accumulator.  Numbers are words of p bits: whatever they
    stand for, and however they are rounded, only how many there are is used. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Programs *)

Section Mixers.
Variable D : Type.

Inductive mixer :=
  | Recurrence (T : finType) (init : T) (step : T -> D -> T * D)
  | Attention (T : finType) (init : T) (add : D -> T -> D -> T) (out : D -> T -> D).

(** One token after the other; a token's vector may be changed by any function with the step. *)
Fixpoint recur (T : finType) (step : T -> D -> T * D) (s : T) (xs : seq D) : seq D :=
  if xs is x :: xs' then (step s x).2 :: recur step (step s x).1 xs' else [::].

(** Token x folds all tokens up to itself, in their order, into one accumulator: add x acc y. *)
Fixpoint attention (T : finType) (init : T) (add : D -> T -> D -> T) (out : D -> T -> D) (seen xs : seq D) : seq D :=
  if xs is x :: xs' then out x (foldl (add x) init (rcons seen x)) :: attention init add out (rcons seen x) xs' else [::].

Definition mix1 (xs : seq D) (a : mixer) : seq D :=
  match a with
  | Recurrence T init step => recur step init xs
  | Attention T init add out => attention init add out [::] xs
  end.

(** [fits M [:: A_0; ..; A_F] mixers]: F attentions with accumulators of at most 2^M values, and between them
    recurrences whose states have, together, at most 2^A_e values. *)
Fixpoint fits M (As : seq nat) (ms : seq mixer) : Prop :=
  match As, ms with
  | [:: A], [::] => True
  | A :: _, Recurrence T _ _ :: ms' => exists2 b, #|T| <= 2 ^ b & b <= A /\ fits M (A - b :: behead As) ms'
  | _ :: As', Attention T _ _ _ :: ms' => #|T| <= 2 ^ M /\ fits M As' ms'
  | _, _ => False
  end.
End Mixers.

Record program := Program {
  pvec    : Type;
  pembed  : token -> pvec;
  mixers  : seq (mixer pvec);
  pread   : pvec -> nat }.

(** The last token's vector is read; there is one, since a prompt is not empty. *)
Definition answers (prog : program) (ts : seq token) : nat :=
  pread (last (pembed prog (Start 0)) (foldl (@mix1 _) (map (@pembed prog) ts) (mixers prog))).

Definition program_solves m fans (prog : program) :=
  forall zs z0 ws, valid m fans zs z0 ws -> answers prog (flatten (prompt zs z0 ws)) = answer m fans zs z0 ws.

(** ** A program is a network *)

Section AsLayers.
Variables (D : Type) (x0 : D).

Definition as_linear (T : finType) (init : T) (step : T -> D -> T * D) : linear D := @Linear D T init step.

Section Recurrence.
Variables (T : finType) (init : T) (step : T -> D -> T * D).

Lemma scan_recur s p : scan (l := as_linear init step) s p = (foldl (fun s x => (step s x).1) s p, recur step s p).
Proof. by elim: p s => //= x p IH s; rewrite IH. Qed.

Lemma recur_cat s p q : recur step s (p ++ q) = recur step s p ++ recur step (foldl (fun s x => (step s x).1) s p) q.
Proof. by elim: p s => //= x p IH s; rewrite IH. Qed.

Lemma chain_recur s ps : flatten (chain (l := as_linear init step) s ps) = recur step s (flatten ps).
Proof. by elim: ps s => //= p ps IH s; rewrite IH scan_recur recur_cat. Qed.
End Recurrence.

Section Attention.
Variables (T : finType) (init : T) (add : D -> T -> D -> T) (out : D -> T -> D).
Notation attention := (attention init add out).

(** A player adds its keys to the accumulator that the asking token has from the players before. *)
Definition as_full : full D := @Full D T (fun rs q x => foldl (add x) (last init rs) q)
  (fun p j rs => let x := nth x0 p j in out x (foldl (add x) (last init rs) (take j.+1 p))).

Lemma attention_cat seen p q : attention seen (p ++ q) = attention seen p ++ attention (seen ++ p) q.
Proof. by elim: p seen => [|x p IH] seen /=; rewrite ?cats0 // IH cat_rcons. Qed.

Lemma last_replies earlier x : last init (replies as_full earlier x) = foldl (add x) init (flatten earlier).
Proof.
elim/last_ind: earlier => // ps q IH.
by rewrite /replies foldl_rcons last_rcons -/(replies as_full _ _) /= IH flatten_rcons foldl_cat.
Qed.

Lemma attend_attention earlier p : attend as_full earlier p = attention (flatten earlier) p.
Proof.
rewrite /attend /=.
suff H s q : p = s ++ q -> [seq mix (f := as_full) p jx.1 (replies as_full earlier jx.2) | jx <- zip (iota (size s) (size q)) q] =
    attention (flatten earlier ++ s) q by rewrite (H [::] p) ?cats0.
elim: q s => //= x q IH s Ep; rewrite rcons_cat -(IH (rcons s x)) ?cat_rcons // size_rcons; congr (_ :: _).
have -> : nth x0 p (size s) = x by rewrite Ep nth_cat ltnn subnn.
have -> : take (size s).+1 p = rcons s x by rewrite Ep -cat_rcons take_size_cat // size_rcons.
by rewrite last_replies foldl_cat.
Qed.

Theorem attention_is_full ps : flatten (epoch as_full [::] ps) = attention [::] (flatten ps).
Proof.
suff H earlier : flatten (epoch as_full earlier ps) = attention (flatten earlier) (flatten ps) by exact: (H [::]).
elim: ps earlier => //= p ps IH earlier; rewrite attend_attention IH attention_cat; congr (_ ++ attention _ _).
by rewrite flatten_rcons.
Qed.
End Attention.

Definition as_layer (a : mixer D) : layer D :=
  match a with
  | Recurrence T init step => L (as_linear init step)
  | Attention T init add out => F (as_full init add out)
  end.

Lemma pass_mix1 a ps : flatten (pass ps (as_layer a)) = mix1 (flatten ps) a.
Proof. by case: a => [T init step|T init add out] /=; [exact: chain_recur | exact: attention_is_full]. Qed.

Lemma run_mixers ms ps : flatten (run (map as_layer ms) ps) = foldl (@mix1 D) (flatten ps) ms.
Proof. by elim: ms ps => //= a ms IH ps; rewrite IH pass_mix1. Qed.

Lemma sizes_pass (ps : seq (seq D)) l : map size (pass ps l) = map size ps.
Proof.
case: l => [l|f] /=.
  elim: ps (start l) => //= p ps IH s; rewrite IH; congr (_ :: _).
  by elim: p {IH} s => //= x p IH s; rewrite IH.
by elim: ps [::] => //= p ps IH earlier; rewrite IH /attend size_map size_zip size_iota minnn.
Qed.

Lemma sizes_run (ls : seq (layer D)) ps : map size (run ls ps) = map size ps.
Proof. by elim: ls ps => //= l ls IH ps; rewrite IH sizes_pass. Qed.

Lemma fits_within M As (ms : seq (mixer D)) : fits M As ms -> within M As (map as_layer ms).
Proof.
have grow b A (ls : seq (layer D)) As' (l : linear D) : #|state l| <= 2 ^ b -> b <= A ->
    within M (A - b :: As') ls -> within M (A :: As') (L l :: ls).
  move=> lb bA; case: As' => [|A' As'] /=.
    case=> bs -> bsA; exists (l :: bs) => //; rewrite big_cons -(subnKC bA) expnD; exact: leq_mul.
  case=> bs [f] [ls'] [-> bsA fM rest]; exists (l :: bs), f, ls'; split=> //.
  by rewrite big_cons -(subnKC bA) expnD; apply: leq_mul.
elim: ms As => [|[T init step|T init add out] ms IH] [|A As] //=.
- by case: As => // _; exists [::] => //; rewrite big_nil expn_gt0.
- case: As => [|A' As]; first by case=> b Tb [bA /IH]; apply: grow.
  by case=> b Tb [bA /IH]; apply: grow.
- case: As => [|A' As] [TM /IH H] //; exists [::], (as_full init add out), (map as_layer ms).
  by split=> //; rewrite big_nil expn_gt0.
Qed.
End AsLayers.

(** What no network does no program does. *)
Theorem bridge m fans M As (prog : program) : impossible m fans M As -> fits M As (mixers prog) -> ~ program_solves m fans prog.
Proof.
move=> imp fit sol; pose x0 := pembed prog (Start 0).
apply: (imp (@Network (pvec prog) (@pembed prog) (map (as_layer x0) (mixers prog)) (@pread prog)) (fits_within x0 fit)).
move=> zs z0 ws v; rewrite -(sol _ _ _ v) /output /answers /= map_flatten -(run_mixers x0) -/x0.
set ps := map _ (prompt _ _ _); set rs := run _ _.
have : map size rs = map size ps by exact: sizes_run.
have [qs ->] : exists qs, ps = rcons qs [:: pembed prog (Query ws)].
  rewrite /ps; elim: zs {v ps rs} => [|z zs [qs IH]]; first by exists [:: [:: pembed prog (Start z0)]].
  by exists (map (@pembed prog) (tokens_of (size zs).+1 z) :: qs); rewrite /= IH.
elim/last_ind: rs => [|rs r _]; rewrite !map_rcons; first by case: qs.
by move/rcons_inj=> [_]; rewrite last_rcons flatten_rcons last_cat; case: r => [|y []].
Qed.
