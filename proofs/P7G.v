(** * P7G: L full layers, L hops, no linear layer before the first *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts Count Prompts Draw Know Hops.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Step.
Variables (D : Type) (lin : nat -> linear D) (ful : nat -> full D).
Implicit Types (q w : seq D) (qs : seq (seq D)).

Fixpoint combos (os : seq (seq (seq D))) : seq (seq (seq D)) :=
  if os is o :: os' then [seq q :: qs | q <- o, qs <- combos os'] else [:: [::]].

Definition leaves (os : seq (seq (seq D))) := \prod_(o <- os) size o.

Lemma size_combos os : size (combos os) = leaves os.
Proof. by rewrite /leaves; elim: os => [|o os IH]; rewrite ?big_nil // big_cons /= size_allpairs IH. Qed.

Lemma choice_combos os qs : choice os qs -> List.In qs (combos os).
Proof.
elim: os qs => [[|//] _|o os IH [//|q qs] [qo /IH]]; first by left.
rewrite /=; move: (combos os) => l ql; elim: o qo => //= q' o IHo [-> | /IHo ?]; apply: List.in_or_app; [left | by right].
exact: map_in.
Qed.

Lemma combos_choice os qs : List.In qs (combos os) -> choice os qs.
Proof.
elim: os qs => [qs [<- // | //]|o os IH qs].
rewrite /=; elim: o => //= q o IHo H; case: (List.in_app_or _ _ _ H) => [H1 | /IHo].
  by have [qs' /IH c ->] := in_map H1; split=> //; left.
by case: qs {H IHo} => // q' qs' [h1 h2]; split=> //; right.
Qed.

Lemma choice_rcons os o qs : choice (rcons os o) qs -> exists qs' w, [/\ qs = rcons qs' w, choice os qs' & List.In w o].
Proof.
elim: os qs => [|o' os IH] [|q qs] //=; first by case: qs => [|q' qs] [qo] // _; exists [::], q.
by case=> qo /IH[qs' [w [-> c wo]]]; exists (q :: qs'), w; split.
Qed.

Variables (T : finType) (ps : T -> seq (seq D)) (h M : nat) (As : seq nat).
Hypothesis ps_size : forall a, size (ps a) = h.
Hypotheses (lin_A : forall e, #|state (lin e)| <= 2 ^ nth 0 As e) (ful_M : forall e, #|msg (ful e)| <= 2 ^ M).

Variables (e : nat) (next : seq (seq D)) (os : seq (seq (seq D))) (asks : seq (seq D)) (t : nat) (A : {set T}).
Hypothesis next_t : forall q, List.In q next -> size q = t.
Hypothesis asks_1 : forall w, List.In w asks -> size w = 1.
Hypothesis alike_a : forall a a' q q' qs, a \in A -> a' \in A -> List.In q next -> List.In q' next -> choice os qs ->
  after lin ful e (rcons (ps a) q) qs = after lin ful e (rcons (ps a') q') qs.
Hypothesis alike_b : forall a a' q q' qs w, a \in A -> a' \in A -> List.In q next -> List.In q' next -> choice os qs -> List.In w asks ->
  after lin ful e.+1 (rcons (ps a) q ++ qs) [:: w] = after lin ful e.+1 (rcons (ps a') q' ++ qs) [:: w].

Definition below_alike B := forall qs, choice (next :: os) qs -> const (fun a => after lin ful e.+1 (ps a) qs) B.
Definition last_alike B := forall qs w, choice (next :: os) qs -> List.In w asks -> const (fun a => after lin ful e.+2 (ps a ++ qs) [:: w]) B.

Lemma step_full : can (sumn (take e.+2 As) + (size next * (e.+1 * (t * (h * M))) + tree os * (h * M)) +
    (leaves os * size asks * (h * M) + size next * leaves os * nth 0 As e.+2)) A
  (fun B => below_alike B /\ last_alike B).
Proof.
have tell qs w (B : {set T}) : choice os qs -> List.In w asks -> B \subset A ->
    can (h * M) B (fun B => forall q, List.In q next -> const (fun a => talk (ful e.+1) (know lin ful e.+1 (ps a)) (after lin ful e.+1 (rcons (ps a) q ++ qs) [:: w])) B).
  move=> cqs wa BA; have [-> | [a0 a0B]] := set_0Vmem B.
    by apply: can_weak (leq0n _) (fun _ _ => id) (can_true _) => C /subsetP C0 q _ a a' /C0; rewrite inE.
  case E : next => [|q0 qr]; first by apply: can_weak (leq0n _) (fun _ _ => id) (can_true _).
  have q0n : List.In q0 next by rewrite E; left.
  have := @can_talk D lin ful T ps h M ps_size e.+1 (after lin ful e.+1 (rcons (ps a0) q0 ++ qs) [:: w]) B (ful_M _).
  rewrite /toks shape_after [sumn _]/= addn0 asks_1 // mul1n; apply: can_weak => // C /subsetP CB c q; rewrite -E => qn a a' aC a'C.
  have al b : b \in C -> after lin ful e.+1 (rcons (ps b) q ++ qs) [:: w] = after lin ful e.+1 (rcons (ps a0) q0 ++ qs) [:: w].
    by move=> bC; apply: alike_b => //; apply: (subsetP BA) => //; apply: CB.
  by have := c a a' aC a'C; rewrite !al.
apply: can_and => [B C CB c qs /c|//|]; first exact: mono_const.
  exact: (@step_mid D lin ful T ps h M ps_size As lin_A ful_M e next os t A next_t alike_a).
move=> B BA low.
apply: can_weak (leqnn _) _ (@can_and _ _ _ B
  (fun B => forall qs, List.In qs (combos os) -> forall w, List.In w asks -> forall q, List.In q next ->
    const (fun a => talk (ful e.+1) (know lin ful e.+1 (ps a)) (after lin ful e.+1 (rcons (ps a) q ++ qs) [:: w])) B)
  (fun B => forall qs, List.In qs (combos (next :: os)) -> const (fun a => out lin ful e.+2 (ps a ++ qs)) B) _ _ _).
- move=> C CB [tl st] [//|q qs] w [qn cqs] wa a a' aC a'C.
  have st' := st _ (@choice_combos (next :: os) (q :: qs) (conj qn cqs)) a a' aC a'C.
  have tl' := tl _ (choice_combos cqs) w wa q qn a a' aC a'C.
  have CA := subset_trans CB BA.
  have al := alike_b (subsetP CA _ aC) (subsetP CA _ a'C) qn qn cqs wa.
  rewrite -[LHS]/(chain (out lin ful e.+2 (ps a ++ q :: qs)) (epoch (ful e.+1) (know lin ful e.+1 (ps a ++ q :: qs)) (after lin ful e.+1 (ps a ++ q :: qs) [:: w]))).
  rewrite -[RHS]/(chain (out lin ful e.+2 (ps a' ++ q :: qs)) (epoch (ful e.+1) (know lin ful e.+1 (ps a' ++ q :: qs)) (after lin ful e.+1 (ps a' ++ q :: qs) [:: w]))).
  rewrite st'; congr (chain _ _); rewrite !know_cat (low (q :: qs) (conj qn cqs) a a') ?(subsetP CB) //.
  by rewrite -!cat_rcons al; apply/epoch_talk/talk_cat; move: tl'; rewrite al.
- by move=> C E EC c qs qsI w wa q qn; apply: mono_const EC (c qs qsI w wa q qn).
- apply: can_weak _ (fun _ _ => id) (@can_list _ _ (combos os) (fun=> size asks * (h * M)) _ B _ _).
  + by rewrite sum_nat_const_seq size_combos mulnA.
  + by move=> qs C E EC c w wa q qn; apply: mono_const EC (c w wa q qn).
  move=> qs /combos_choice cqs.
  apply: can_weak _ (fun _ _ => id) (@can_list _ _ asks (fun=> h * M) _ B _ _).
  + by rewrite sum_nat_const_seq.
  + by move=> w C E EC c q qn; apply: mono_const EC (c q qn).
  by move=> w wa; apply: tell.
- move=> C CB _; apply: can_weak _ (fun _ _ => id) (@can_list _ _ (combos (next :: os)) (fun=> nth 0 As e.+2) _ C _ _).
  + by rewrite sum_nat_const_seq size_combos /leaves big_cons.
  + by move=> qs; apply: mono_const.
  by move=> qs _; apply: can_fin.
Qed.
End Step.

Section Net.
Variables (net : network) (m : nat) (W : seq (seq nat)).
Variables (lin : nat -> linear (vec net)) (ful : nat -> full (vec net)) (M : nat) (As : seq nat).
Hypotheses (lin_A : forall e, #|state (lin e)| <= 2 ^ nth 0 As e) (ful_M : forall e, #|msg (ful e)| <= 2 ^ M).
Let asks := [seq [:: embed net (Query ws)] | ws <- W].
Let pl := pl net.

Lemma asks_1 w : List.In w asks -> size w = 1.
Proof. by move=> H; have [ws _ ->] := in_map H. Qed.

Lemma descend7 hops : forall e fans os k d g c p S (T : {set 'I_(size_N m fans)})
    (C : {set Tab (size_N m fans)}) (D : {set Up m fans (map hop_n hops)})
    (R : {set Tab (size_N m fans) * Up m fans (map hop_n hops)})
    (ps := fun a : Tab (size_N m fans) * Up m fans (map hop_n hops) => rcons (up pl e fans (map hop_n hops) a.2) (pl e.+1 (table a.1))),
  P7G_holds M (size W) e (size_N m fans) k d g c p S hops ->
  run (layers net) =1 know lin ful (e + (size hops).+1) ->
  solves m (catrev (map hop_n hops) fans) net -> W = queries (catrev (map hop_n hops) fans) ->
  sumn (take e.+2 As) = S -> drop e.+2 As = map hop_A hops ->
  tree os <= c -> leaves os <= p -> k <= #|T| -> (forall a, a \in T -> reached m W e fans (rcons os asks) (val a)) ->
  size_N m fans ^ size_N m fans <= 2 ^ g * #|C| -> #|Up m fans (map hop_n hops)| <= 2 ^ (size hops * g) * #|D| ->
  R \subset setX C D -> #|C| * #|D| <= 2 ^ d * #|R| ->
  (forall qs, choice os qs -> const (fun a => after lin ful e (ps a) qs) R) ->
  (forall qs w, choice os qs -> List.In w asks -> const (fun a => after lin ful e.+1 (ps a ++ qs) [:: w]) R) -> False.
Proof.
elim: hops => [|[x s n A] hops IH] e fans os k d g c p S T C D R ps ok runE sol WE SE AE treec leavesp kT reach CN DU RCD RD same_a same_b.
  pose B : {set Tab (size_N m fans)} := [set a.1 | a : Tab (size_N m fans) * Up m fans [::] in R].
  have BR : #|B| = #|R| by apply: card_in_imset => -[a []] [a' []] _ _ /= ->.
  pose u (i : 'I_k) : 'I_(size_N m fans) := enum_val (widen_ord kT i).
  have u_inj : injective u by move=> i i' /enum_val_inj/(congr1 val) h; apply: val_inj.
  have det : {in B &, forall z z' : Tab (size_N m fans), tt = tt -> forall i, z (u i) = z' (u i)}.
    move=> _ _ /imsetP[a aR ->] /imsetP[a' a'R ->] _ i; apply: val_inj.
    have [zs [z0 [wl [zse ans vld ch]]]] := reach _ (enum_valP (widen_ord kT i)).
    have wlW : wl \in W by rewrite WE; apply: (valid_queries (vld _ (is_table_table a.1))).
    have [qs [w [qsE cqs wa]]] := choice_rcons (ch [::] wlW).
    have outE (b : Tab (size_N m fans) * Up m fans [::]) : [:: val (b.1 (u i))] =
        map (@read net) (last [::] (know lin ful e.+1 (ps b ++ qs) ++ after lin ful e.+1 (ps b ++ qs) [:: w])).
      rewrite -nth_val -ans -sol; last exact/vld/is_table_table.
      rewrite /output runE addn1 -know_cat; congr (map _ (last _ (know _ _ _ _))).
      by rewrite -catA cats1 -qsE /ps /= -zse.
    suff : [:: val (a.1 (u i))] = [:: val (a'.1 (u i))] by case.
    rewrite !outE; congr (map _ _); rewrite (same_b qs w cqs wa a a') //; apply: last_cat_eq.
    by rewrite -(size_map size) shape_after.
  have := learn u_inj det; rewrite card_unit !card_ord mul1n BR => cnt.
  have D0 : 0 < #|D| by move: DU; rewrite /= card_unit mul0n mul1n.
  have AD : size_N m fans ^ size_N m fans <= 2 ^ (d + g) * #|R|.
    apply: leq_trans CN _; rewrite addnC expnD -mulnA leq_mul2l; apply/orP; right.
    by apply: leq_trans RD; rewrite leq_pmulr.
  rewrite -[X in _ <= X]mul1n in cnt; have := count AD cnt; rewrite muln1 leqNgt => /negP; apply.
  exact: ok.
case/and4P: ok => x0 sN image rest.
have D0 : 0 < #|D|.
  by rewrite lt0n; apply: contraTneq DU => ->; rewrite muln0 -ltnNge card_Up.
have [dr sV AD] := draw_image x0 sN kT image CN D0 RCD RD.
set Al := [set al | _] in AD.
have [T' kT' reach'] := reach_step n reach sV.
have next_t q : List.In q (kinds net e.+1 dr) -> size q = size_N m fans by case/in_kinds=> j ->; rewrite size_pl.
have eA : e.+2 < size As by rewrite ltnNge; apply/negP => Ae; move: AE; rewrite drop_oversize.
have [nA AE'] : nth 0 As e.+2 = A /\ drop e.+3 As = map hop_A hops by move: AE; rewrite (drop_nth 0) // => -[].
have SA : sumn (take e.+3 As) = S + A by rewrite (take_nth 0) // sumn_rcons SE nA.
pose ups := up (m := m) pl e fans (map hop_n (Hop x s n A :: hops)).
have ups_size a : size (ups a) = size (Hop x s n A :: hops) by rewrite size_up size_map.
have alike_a a a' q q' qs : a \in Al -> a' \in Al -> List.In q (kinds net e.+1 dr) -> List.In q' (kinds net e.+1 dr) -> choice os qs ->
    after lin ful e (rcons (ups a) q) qs = after lin ful e (rcons (ups a') q') qs.
  rewrite !inE => /forallP aR /forallP a'R /in_kinds[j ->] /in_kinds[j' ->] cqs.
  exact: (same_a qs cqs (dr j, a) (dr j', a') (aR j) (a'R j')).
have alike_b a a' q q' qs w : a \in Al -> a' \in Al -> List.In q (kinds net e.+1 dr) -> List.In q' (kinds net e.+1 dr) -> choice os qs ->
    List.In w asks -> after lin ful e.+1 (rcons (ups a) q ++ qs) [:: w] = after lin ful e.+1 (rcons (ups a') q' ++ qs) [:: w].
  rewrite !inE => /forallP aR /forallP a'R /in_kinds[j ->] /in_kinds[j' ->] cqs wa.
  exact: (same_b qs w cqs wa (dr j, a) (dr j', a') (aR j) (a'R j')).
have [B [BA [low lst]] AB] := step_full ups_size lin_A ful_M next_t asks_1 alike_a alike_b (subxx _).
rewrite size_NS in rest.
apply: (IH _ _ (kinds net e.+1 dr :: os) _ _ _ _ _ _ T' [set: _] [set: _] B rest) => //.
- by move=> qs; rewrite runE addSnnS.
- by rewrite tree_kinds leq_mul2l leq_add2l treec orbT.
- by rewrite /leaves big_cons size_kinds leq_mul2l leavesp orbT.
- by rewrite mul1n cardsT card_ffun card_ord.
- by rewrite muln0 mul1n cardsT.
- by apply/subsetP => a _; rewrite !inE.
rewrite !cardsT -card_prod; apply: leq_trans DU _; apply: leq_trans (leq_mul (leqnn _) AD) _.
apply: leq_trans (leq_mul (leqnn _) (leq_mul (leqnn _) AB)) _; rewrite !mulnA -!expnD leq_mul2r; apply/orP; right.
rewrite leq_exp2l // SE nA !size_kinds size_map leq_add2l -!addnA !leq_add2l.
by rewrite !leq_add ?leq_mul.
Qed.
End Net.

(** x_0 starts; w queries. *)
Theorem P7G m M A1 x0 hops (ns := map hop_n hops) (w := \prod_(n <- ns) n) : x0 <= m ->
  P7G_holds M w 0 m x0 (x0 * A1) (w * M) x0 x0 A1 hops ->
  impossible m (rev ns) M [:: 0, A1 & map hop_A hops].
Proof.
move=> x0m ok; apply: impossible_blocks => net bl sol.
have [lin [ful [runE linA fulM]]] := blocks_know (embed net (Start 0)) bl.
have mE : size_N m [::] = m by rewrite /size_N big_nil muln1.
have wE : size (queries (rev ns)) = w by rewrite size_queries; apply: perm_big; rewrite perm_rev.
pose starts := [seq [:: embed net (Start j)] | j <- iota 0 x0].
pose asks := [seq [:: embed net (Query ws)] | ws <- queries (rev ns)].
have asks1 q : List.In q asks -> size q = 1 by move=> H; have [ws _ ->] := in_map H.
have x0m' : x0 <= size_N m [::] by rewrite mE.
(* block 0 has no state *)
have one (s : state (lin 0)) : s = start (lin 0).
  have /card_le1P H := linA 0 : #|state (lin 0)| <= 1.
  by apply/eqP; rewrite -[_ == _]/(s \in pred1 (start (lin 0))) -(H (start (lin 0))).
have after0 E qs : after lin ful 0 E qs = chain (start (lin 0)) qs by rewrite /= (one (out _ _ _ _)).
pose ask q := chain (start (lin 0)) [:: q].
pose upp := up (m := m) (pl net) 0 [::] ns.
have upp_size a : size (upp a) = size hops by rewrite size_up size_map.
pose kn (z : Tab (size_N m [::])) := (scan (start (lin 0)) (pl net 1 (table z))).2.
pose ps (a : [finType of Tab (size_N m [::]) * Up m [::] ns]) := rcons (upp a.2) (pl net 1 (table a.1)).
have know0 a : know lin ful 0 (ps a) = rcons (know lin ful 0 (upp a.2)) (kn a.1).
  by rewrite /ps -cats1 know_cat after0 cats1.
have tok1 q : List.In q asks -> toks (ask q) = 1 by move=> /asks1 q1; rewrite /toks /ask shape_chain /= q1.
(* what the upper players, then player 1, say to the last token in epoch 1 *)
have [D [_ Dsame] DU] : exists2 D : {set Up m [::] ns}, D \subset [set: Up m [::] ns] /\ (forall q, List.In q asks ->
    const (fun a => talk (ful 0) (know lin ful 0 (upp a)) (ask q)) D) & #|[set: Up m [::] ns]| <= 2 ^ (size hops * (w * M)) * #|D|.
  apply: (can_weak _ (fun _ _ => id) (@can_list _ _ asks (fun=> size hops * M) _ [set: _] _ _) (subxx _)).
  - by rewrite sum_nat_const_seq size_map wE mulnCA.
  - by move=> q; apply: mono_const.
  by move=> q qa; have := @can_talk _ lin ful _ upp _ M upp_size 0 (ask q) [set: _] (fulM 0); rewrite tok1 // mul1n.
have [a0 a0D] : exists a0, a0 \in D.
  apply/card_gt0P; rewrite lt0n; apply: contraTneq DU => ->.
  by rewrite muln0 -ltnNge cardsT card_Up.
have [C [_ Csame] CU] : exists2 C : {set Tab (size_N m [::])}, C \subset [set: Tab (size_N m [::])] /\ (forall q, List.In q asks ->
    const (fun z => talk (ful 0) (rcons (know lin ful 0 (upp a0)) (kn z)) (ask q)) C) & #|[set: Tab (size_N m [::])]| <= 2 ^ (w * M) * #|C|.
  apply: (can_weak _ (fun _ _ => id) (@can_list _ _ asks (fun=> M) _ [set: _] _ _) (subxx _)).
  - by rewrite sum_nat_const_seq size_map wE.
  - by move=> q; apply: mono_const.
  by move=> q qa; have := @can_reply _ _ M (ful 0) (know lin ful 0 (upp a0)) kn (ask q) [set: _] (fulM 0); rewrite tok1 // mul1n.
(* the states of block 1 that leave player 0 *)
have [R [RCD Rsame] RD] : exists2 R : {set [finType of Tab (size_N m [::]) * Up m [::] ns]}, R \subset setX C D /\
    (forall q, List.In q starts -> const (fun a => out lin ful 1 (ps a ++ [:: q])) R) & #|setX C D| <= 2 ^ (x0 * A1) * #|R|.
  apply: (can_weak _ (fun _ _ => id) (@can_list _ _ starts (fun=> A1) _ (setX C D) _ _) (subxx _)).
  - by rewrite sum_nat_const_seq size_map size_iota.
  - by move=> q; apply: mono_const.
  by move=> q _; apply: can_fin; apply: (linA 1).
apply: (@descend7 net m (queries (rev ns)) lin ful M [:: 0, A1 & map hop_A hops] linA fulM hops 0 [::] [:: starts] x0 (x0 * A1) (w * M) x0 x0 A1
  [set widen_ord x0m' j | j : 'I_x0] C D R) => //.
- by rewrite mE wE.
- by move=> qs; rewrite runE /= size_map.
- by rewrite /= take0 /= addn0.
- by rewrite /= drop0.
- by rewrite /= big_map (eq_bigr (fun=> 1)) // sum_nat_const_seq size_iota muln1.
- by rewrite /leaves big_seq1 size_map size_iota.
- by rewrite card_imset ?card_ord // => i j /(congr1 val) h; apply: val_inj.
- move=> _ /imsetP[j _ ->]; exists [::], (val j), [::]; split=> //.
  + by move=> z; rewrite /= mE => ->; rewrite (leq_trans (ltn_ord j)).
  + move=> wh; rewrite cats0 => whW /=; split.
      by apply: (map_in (fun j => [:: embed net (Start j)])); apply: inP; rewrite mem_iota add0n ltn_ord.
    by split=> //; apply: (map_in (fun ws => [:: embed net (Query ws)])); apply: inP.
- by move: CU; rewrite cardsT card_ffun card_ord.
- by move: DU; rewrite cardsT.
- by move: RD; rewrite cardsX.
- by move=> qs _ a a' aR a'R; rewrite !after0.
case=> [|st qs] q // [sts]; case: qs => // _ qa a a' aR a'R; rewrite -!/(ps _).
have := subsetP RCD _ aR; have := subsetP RCD _ a'R; rewrite !inE => /andP[a'C a'D] /andP[aC aD].
have stE := Rsame st sts a a' aR a'R.
rewrite -[LHS]/(chain (out lin ful 1 (ps a ++ [:: st])) (epoch (ful 0) (know lin ful 0 (ps a ++ [:: st])) (after lin ful 0 (ps a ++ [:: st]) [:: q]))).
rewrite -[RHS]/(chain (out lin ful 1 (ps a' ++ [:: st])) (epoch (ful 0) (know lin ful 0 (ps a' ++ [:: st])) (after lin ful 0 (ps a' ++ [:: st]) [:: q]))).
rewrite stE !after0 !know_cat !after0; congr (chain _ _); apply/epoch_talk/talk_cat; rewrite -!/(ask q) !know0.
have h1 := talk_rcons (kn a.1) (Dsame q qa a.2 a0 aD a0D); have h2 := talk_rcons (kn a'.1) (Dsame q qa a'.2 a0 a'D a0D).
by rewrite h1 h2; apply: Csame.
Qed.

(** Three hops, spelled out. *)
Corollary P7G_three m n1 n2 M A1 A2 A3 x0 x1 x2 s1 s2 (N1 := n1 * m) (N2 := n2 * N1) (W := n1 * n2)
    (D2 := 2 * (W * M) + (x1 * (x0 * A1) + 1) + (A1 + (x1 * (m * (2 * M)) + x0 * (2 * M)) + (x0 * W * (2 * M) + x1 * x0 * A2)))
    (D3 := x2 * D2 + 1 + (A1 + A2 + (x2 * (2 * (N1 * M)) + x1 * (m + x0) * M) + (x1 * x0 * W * M + x2 * (x1 * x0) * A3))) :
  x0 <= m -> 0 < x1 -> s1 <= m -> 0 < x2 -> s2 <= N1 ->
  2 * 'C(m, s1.-1) * s1.-1 ^ (x1 * x0) * 2 ^ (x1 * (x0 * A1 + W * M)) <= m ^ (x1 * x0) ->
  2 * 'C(N1, s2.-1) * s2.-1 ^ (x2 * (n1 * s1)) * 2 ^ (x2 * D2) <= N1 ^ (x2 * (n1 * s1)) ->
  2 ^ D3 < N2 ^ (n2 * s2) ->
  impossible m [:: n2; n1] M [:: 0; A1; A2; A3].
Proof.
move=> x0m x1p s1m x2p s2m im1 im2 end_; apply: (@P7G m M A1 x0 [:: Hop x1 s1 n1 A2; Hop x2 s2 n2 A3]) => //.
by rewrite big_cons big_seq1 -/W /= !mul1n !addn0 ?add0n x1p s1m im1 x2p s2m im2.
Qed.
