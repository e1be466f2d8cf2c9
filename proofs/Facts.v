(** * What the proofs use of a network (F1-F3 of the theory: lemmas here, not axioms) *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Export Model.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** A stack of linear layers is one linear layer, whose state is the tuple of theirs. *)
Section Stack.
Variable D : Type.
Implicit Types (l k : linear D) (ls : seq (linear D)).

Definition skip : linear D := @Linear D [finType of unit] tt (fun _ x => (tt, x)).
Definition merge l k : linear D :=
  @Linear D [finType of state l * state k] (start l, start k)
    (fun s x => let a := step s.1 x in let b := step s.2 a.2 in ((a.1, b.1), b.2)).
Definition stack ls := foldr merge skip ls.

Lemma chain_skip s ps : chain (l := skip) s ps = ps.
Proof.
have scan_skip p t : scan (l := skip) t p = (t, p) by elim: p t => //= x p IH [] /=; rewrite IH.
by elim: ps s => //= p ps IH s; rewrite scan_skip IH.
Qed.

Lemma scan_merge l k (s : state l) (t : state k) p :
  scan (l := merge l k) (s, t) p =
  (((scan s p).1, (scan t (scan s p).2).1), (scan t (scan s p).2).2).
Proof. by elim: p s t => //= x p IH s t; rewrite IH. Qed.

Lemma chain_merge l k (s : state l) (t : state k) ps :
  chain (l := merge l k) (s, t) ps = chain t (chain s ps).
Proof. by elim: ps s t => //= p ps IH s t; rewrite scan_merge IH. Qed.

Lemma run_stack ls ps : run (map (@L D) ls) ps = chain (start (stack ls)) ps.
Proof.
by elim: ls ps => [|l ls IH] ps; rewrite /= ?chain_skip // chain_merge -IH.
Qed.

Lemma card_stack ls : #|state (stack ls)| = \prod_(l <- ls) #|state l|.
Proof. by elim: ls => [|l ls IH]; rewrite ?big_nil ?big_cons /= ?card_unit // card_prod IH. Qed.

Lemma run_cat (a b : seq (layer D)) ps : run (a ++ b) ps = run b (run a ps).
Proof. exact: foldl_cat. Qed.

End Stack.

(** Hence a hybrid is the same as one linear layer a block. *)
Fixpoint blocks (D : Type) M (As : seq nat) (ls : seq (layer D)) : Prop :=
  match As with
  | [::] => False
  | [:: A] => exists2 l : linear D, ls = [:: L l] & #|state l| <= 2 ^ A
  | A :: As' => exists l f ls', [/\ ls = L l :: F f :: ls', #|state l| <= 2 ^ A, #|msg f| <= 2 ^ M & blocks M As' ls']
  end.

Lemma within_blocks (D : Type) M As (ls : seq (layer D)) :
  within M As ls -> exists2 ls', blocks M As ls' & run ls =1 run ls'.
Proof.
elim: As ls => //= A [_ ls [b -> bA] | A' As IH ls [b] [f] [ls1] [-> bA fM /IH[ls2 B2 E2]]].
  by exists [:: L (stack b)]; [exists (stack b) => //; rewrite card_stack | move=> ps; rewrite run_stack].
exists (L (stack b) :: F f :: ls2); first by exists (stack b), f, ls2; split=> //; rewrite card_stack.
by move=> ps; rewrite run_cat run_stack /= -[RHS]E2.
Qed.

Definition with_layers (net : network) ls := @Network (vec net) (@embed net) ls (@read net).

Lemma impossible_blocks m fans M As :
  (forall net : network, blocks M As (layers net) -> ~ solves m fans net) -> impossible m fans M As.
Proof.
move=> H net /within_blocks[ls' Bl E] sol; case: (H (with_layers ls') Bl) => zs z0 ws v.
by rewrite -sol // /output /= E.
Qed.

(** Without a state a linear layer looks at every token by itself. *)
Lemma stateless (D : Type) (l : linear D) : #|state l| <= 2 ^ 0 ->
  forall s ps, chain (l := l) s ps = map (map (fun x => (step (start l) x).2)) ps.
Proof.
move=> /card_le1P one; have eqs (s : state l) : s = start l by apply/eqP; rewrite -[_ == _]/(s \in pred1 (start l)) -(one (start l)).
have scanE s p : (scan (l := l) s p).2 = map (fun x => (step (start l) x).2) p.
  by elim: p s => //= x p IH s; rewrite IH (eqs s).
by move=> s ps; elim: ps s => //= p ps IH s; rewrite IH scanE.
Qed.

(** Tables as finite functions, to count them. *)
Definition table N (z : {ffun 'I_N -> 'I_N}) : seq nat := [seq val (z j) | j <- enum 'I_N].

Lemma is_table_table N (z : {ffun 'I_N -> 'I_N}) : is_table N (table z).
Proof. by rewrite /is_table size_map size_enum_ord eqxx; apply/allP => _ /mapP[j _ ->]; exact: ltn_ord. Qed.

Lemma nth_table N (z : {ffun 'I_N -> 'I_N}) (j : 'I_N) : nth 0 (table z) j = z j.
Proof. by rewrite (nth_map j) ?size_enum_ord // nth_ord_enum. Qed.

Lemma valid_size m fans zs z0 ws : valid m fans zs z0 ws -> size zs = (size fans).+1.
Proof.
elim: fans zs ws => [|n fans IH] [|z zs] [|w ws] //=; first by case: zs.
- by case: zs.
- by case/and3P=> _ _ /IH ->.
Qed.

Lemma tokens_table N l (z : {ffun 'I_N -> 'I_N}) : tokens_of l (table z) = [seq Entry l (val j) (val (z j)) | j <- enum 'I_N].
Proof.
rewrite /tokens_of /table size_map size_enum_ord -val_enum_ord.
by elim: (enum 'I_N) => //= j s ->.
Qed.

(** What a player's tokens become depends on earlier players through their replies only. *)
Lemma attend_eq (D I : Type) (f : full D) (h : I -> D) ps ps' s :
  (forall i, replies f ps (h i) = replies f ps' (h i)) ->
  attend f ps (map h s) = attend f ps' (map h s).
Proof.
move=> same; rewrite /attend; move: {1 4}(map h s) => p; rewrite size_map.
by elim: s 0 => //= i s IH j; rewrite same IH.
Qed.
