(** * Tables above, choices below: what P6 and P7G draw hop by hop *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts Prompts Know.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Notation Tab N := {ffun 'I_N -> 'I_N}.

(** ** Tables above *)
Section Upper.
Variables (m : nat) (D : Type) (pl : nat -> seq nat -> seq D).

Fixpoint Up (fans ns : seq nat) : finType :=
  if ns is n :: ns' then [finType of Tab (size_N m (n :: fans)) * Up (n :: fans) ns'] else [finType of unit].

(** z_L .. z_(e+2) as players *)
Fixpoint up e fans ns : Up fans ns -> seq (seq D) :=
  match ns return Up fans ns -> seq (seq D) with
  | [::] => fun _ => [::]
  | n :: ns' => fun a => rcons (@up e.+1 (n :: fans) ns' a.2) (pl e.+2 (table a.1))
  end.

Lemma size_up e fans ns a : size (@up e fans ns a) = size ns.
Proof. by elim: ns e fans a => //= n ns IH e fans a; rewrite size_rcons IH. Qed.

Lemma card_Up fans ns : 0 < #|Up fans ns|.
Proof.
elim: ns fans => [|n ns IH] fans /=; first by rewrite card_unit.
by rewrite card_prod muln_gt0 IH card_ffun card_ord expn_gt0; case: (size_N _ _).
Qed.
End Upper.
Arguments up {m D} pl e fans ns.

Lemma size_NS m n fans : n * size_N m fans = size_N m (n :: fans).
Proof. by rewrite /size_N big_cons mulnCA. Qed.

Fixpoint queries (fans : seq nat) : seq (seq nat) :=
  if fans is n :: fans' then [seq w :: ws | w <- iota 0 n, ws <- queries fans'] else [:: [::]].

Lemma size_queries fans : size (queries fans) = \prod_(n <- fans) n.
Proof. by elim: fans => [|n fans IH]; rewrite ?big_nil // big_cons /= size_allpairs size_iota IH. Qed.

Lemma valid_queries m fans zs z0 ws : valid m fans zs z0 ws -> ws \in queries fans.
Proof.
elim: fans zs ws => [|n fans IH] [|z zs] [|w ws] //=; try by case: zs.
by case/and3P=> _ wn /IH wsq; apply: allpairs_f => //; rewrite mem_iota add0n.
Qed.

Lemma in_map (X Y : Type) (f : X -> Y) s y : List.In y (map f s) -> exists2 x, List.In x s & y = f x.
Proof. by elim: s => //= x s IH [<- | /IH[x' x's ->]]; [exists x => //; left | exists x' => //; right]. Qed.

Lemma map_in (X Y : Type) (f : X -> Y) s x : List.In x s -> List.In (f x) (map f s).
Proof. by elim: s => //= x' s IH [<- | /IH]; [left | right]. Qed.

Lemma in_app (X : Type) (s t : seq X) y : List.In y (s ++ t) <-> List.In y s \/ List.In y t.
Proof. exact: (List.in_app_iff s t y). Qed.

Lemma inP (X : eqType) (s : seq X) x : x \in s -> List.In x s.
Proof. by elim: s => //= y s IH; rewrite inE => /orP[/eqP -> | /IH]; [left | right]. Qed.

Section Net.
Variables (net : network) (m : nat) (W : seq (seq nat)).
Definition pl l z := map (@embed net) (tokens_of l z).

Lemma size_pl l N (z : Tab N) : size (pl l (table z)) = N.
Proof. by rewrite size_map tokens_table size_map size_enum_ord. Qed.

(** Address a of the next table is asked for, in some choice. *)
Definition reached e fans os a := exists zs z0 wl,
  [/\ size zs = e, forall z, answer m fans (z :: zs) z0 wl = nth 0 z a,
      forall z, is_table (size_N m fans) z -> valid m fans (z :: zs) z0 wl &
      forall wh, (wh ++ wl) \in W -> choice os (map (map (@embed net)) (prompt zs z0 (wh ++ wl)))].

Definition kinds l N x (d : {ffun 'I_x -> Tab N}) := [seq pl l (table (d j)) | j <- enum 'I_x].

Lemma size_kinds l N x d : size (@kinds l N x d) = x.
Proof. by rewrite size_map size_enum_ord. Qed.

Lemma reach_step e fans os n x (d : {ffun 'I_x -> Tab (size_N m fans)}) (T : {set 'I_(size_N m fans)}) s :
  (forall a, a \in T -> reached e fans os (val a)) -> s <= #|\bigcup_j [set d j t | t in T]| ->
  exists2 T' : {set 'I_(size_N m (n :: fans))}, n * s <= #|T'| &
    forall a, a \in T' -> reached e.+1 (n :: fans) (kinds e.+1 d :: os) (val a).
Proof.
move=> reach sV; set V := \bigcup_j _ in sV.
exists [set pair_index (size_NS m n fans) wv | wv in setX [set: 'I_n] V].
  by rewrite (card_imset _ (@pair_index_inj _ _ _ _)) cardsX cardsT card_ord leq_mul2l sV orbT.
move=> a /imsetP[[w v] /setXP[_ /bigcupP[j _ /imsetP[b bT /= ->]]] ->] /=.
have [zs [z0 [wl [zse ans vld ch]]]] := reach b bT; exists (table (d j) :: zs), z0, (val w :: wl); split.
- by rewrite /= zse.
- by move=> z; rewrite -[LHS]/(nth 0 z (w * size_N m fans + answer m fans (table (d j) :: zs) z0 wl)) ans nth_table.
- by move=> z zt; apply/and3P; split; rewrite ?ltn_ord //; apply/vld/is_table_table.
- move=> wh whW /=; rewrite zse; split; first by apply: (map_in (fun j => pl e.+1 (table (d j)))); apply: inP; rewrite mem_enum.
  by move: whW; rewrite -cat_rcons; apply: ch.
Qed.

Lemma in_kinds l N x (d : {ffun 'I_x -> Tab N}) q : List.In q (kinds l d) -> exists j, q = pl l (table (d j)).
Proof. by move=> H; have [j _ ->] := in_map H; exists j. Qed.

Lemma tree_kinds l N x (d : {ffun 'I_x -> Tab N}) os : tree (kinds l d :: os) = x * (N + tree os).
Proof.
rewrite /= big_map (eq_bigr (fun=> N + tree os)) => [|j _]; last by rewrite size_pl.
by rewrite big_const_seq count_predT iter_addn_0 size_enum_ord mulnC.
Qed.

Lemma last_cat_eq (X : Type) (x : X) s s' t : 0 < size t -> last x (s ++ t) = last x (s' ++ t).
Proof. by case: t => // y t _; rewrite !last_cat. Qed.
End Net.
