(** * P6: any number L of hops, L-1 full layers, any linear layers *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts Count Prompts Draw Know Hops Boxes.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Net.
Variables (net : network) (m : nat) (W : seq (seq nat)).
Variables (lin : nat -> linear (vec net)) (ful : nat -> full (vec net)) (M : nat) (As : seq nat).
Hypotheses (lin_A : forall e, #|state (lin e)| <= 2 ^ nth 0 As e) (ful_M : forall e, #|msg (ful e)| <= 2 ^ M).
Let pl := pl net.

(** Tables z_L .. z_(e+1), the last of which is drawn next. *)
Definition players e fans ns (a : Tab (size_N m fans) * Up m fans ns) := rcons (up pl e fans ns a.2) (pl e.+1 (table a.1)).

Definition alike e os (T : finType) (ps : T -> seq (seq (vec net))) (A : {set T}) next :=
  forall a a' q q' qs, a \in A -> a' \in A -> List.In q next -> List.In q' next -> choice os qs ->
  after lin ful e (rcons (ps a) q) qs = after lin ful e (rcons (ps a') q') qs.

(** x tables are drawn. *)
Lemma drawn e fans ns os k d g r x s n (T : {set 'I_(size_N m fans)})
    (C : {set Tab (size_N m fans)}) (D : {set Up m fans ns}) (R : {set Tab (size_N m fans) * Up m fans ns}) :
  0 < x -> s <= size_N m fans ->
  2 * 'C(size_N m fans, s.-1) * s.-1 ^ (x * k) * 2 ^ (x * (d + g)) <= size_N m fans ^ (x * k) ->
  k <= #|T| -> (forall a, a \in T -> reached m W e fans os (val a)) ->
  size_N m fans ^ size_N m fans <= 2 ^ g * #|C| -> #|Up m fans ns| <= 2 ^ r * #|D| ->
  R \subset setX C D -> #|C| * #|D| <= 2 ^ d * #|R| ->
  (forall qs, choice os qs -> const (fun a => after lin ful e (players e a) qs) R) ->
  exists (dr : {ffun 'I_x -> Tab (size_N m fans)}) (A : {set Up m fans ns}) (T' : {set 'I_(size_N m (n :: fans))}),
  [/\ #|Up m fans ns| <= 2 ^ (r + (x * d + 1)) * #|A|, {in A, forall a j, (dr j, a) \in R}, n * s <= #|T'|,
      forall a, a \in T' -> reached m W e.+1 (n :: fans) (kinds net e.+1 dr :: os) (val a) &
      alike e os (up pl e fans ns) A (kinds net e.+1 dr)].
Proof.
move=> x0 sN image kT reach CN DU RCD RD same.
have D0 : 0 < #|D|.
  by rewrite lt0n; apply: contraTneq DU => ->; rewrite muln0 -ltnNge card_Up.
have [dr sV AD] := draw_image x0 sN kT image CN D0 RCD RD.
have [T' kT' reach'] := reach_step n reach sV.
exists dr, [set al | [forall j, (dr j, al) \in R]], T'; split=> //.
- by apply: leq_trans DU _; rewrite [X in _ <= X * _]expnD -mulnA leq_mul2l AD orbT.
- by move=> a; rewrite inE => /forallP.
move=> a a' q q' qs; rewrite !inE => /forallP aR /forallP a'R /in_kinds[j ->] /in_kinds[j' ->] cqs.
exact: (same qs cqs (dr j, a) (dr j', a') (aR j) (a'R j')).
Qed.

Lemma next_t e x N (dr : {ffun 'I_x -> Tab N}) q : List.In q (kinds net e dr) -> size q = N.
Proof. by case/in_kinds=> j ->; rewrite size_pl. Qed.

(** The last hop: what the answer is, and the end. *)
Lemma last_hop e fans os k d g c S x s n A (T : {set 'I_(size_N m fans)})
    (C : {set Tab (size_N m fans)}) (D : {set Up m fans [:: n]}) (R : {set Tab (size_N m fans) * Up m fans [:: n]}) :
  P6_holds M e (size_N m fans) k d g c S [:: Hop x s n A] ->
  run (layers net) =1 know lin ful (e + 1) ->
  solves m (n :: fans) net -> W = queries (n :: fans) ->
  sumn (take e.+1 As) = S -> nth 0 As e.+1 = A ->
  tree os <= c -> k <= #|T| -> (forall a, a \in T -> reached m W e fans os (val a)) ->
  size_N m fans ^ size_N m fans <= 2 ^ g * #|C| -> #|Up m fans [:: n]| <= 2 ^ g * #|D| ->
  R \subset setX C D -> #|C| * #|D| <= 2 ^ d * #|R| ->
  (forall qs, choice os qs -> const (fun a => after lin ful e (players e a) qs) R) -> False.
Proof.
case/and4P=> x0 sN image; rewrite size_NS => rest runE sol WE SE nA treec kT reach CN DU RCD RD same.
have [dr [Al [T' [AD _ kT' reach' al]]]] := drawn n x0 sN image kT reach CN DU RCD RD same.
have [B [BA {}same] AB] := step_last (fun a => size_up pl e a) lin_A ful_M (@next_t _ _ _ dr) al (subxx _).
pose Cs : {set Tab (size_N m (n :: fans))} := [set a.1 | a : Up m fans [:: n] in B].
have CB : #|Cs| = #|B| by apply: card_in_imset => -[a []] [a' []] _ _ /= ->.
pose u (i : 'I_(n * s)) : 'I_(size_N m (n :: fans)) := enum_val (widen_ord kT' i).
have u_inj : injective u by move=> i i' /enum_val_inj/(congr1 val) h; apply: val_inj.
have det : {in Cs &, forall z z' : Tab (size_N m (n :: fans)), tt = tt -> forall i, z (u i) = z' (u i)}.
  move=> _ _ /imsetP[a aB ->] /imsetP[a' a'B ->] _ i; apply: val_inj.
  have [zs0 [z0 [wl [zse ans vld ch]]]] := reach' _ (enum_valP (widen_ord kT' i)).
  case: zs0 zse ans vld ch => // z1 zs [zse] ans vld ch.
  have wlW : wl \in W by rewrite WE; apply: (valid_queries (vld _ (is_table_table a.1))).
  pose q := pl (size zs).+1 z1; pose qs := map (map (@embed net)) (prompt zs z0 wl).
  have {ch} [q1 cqs] : List.In q (kinds net e.+1 dr) /\ choice os qs := ch [::] wlW.
  have outE (b : Up m fans [:: n]) : [:: val (b.1 (u i))] =
      map (@read net) (last [::] (know lin ful e.+1 [:: pl e.+2 (table b.1); q] ++ after lin ful e.+1 [:: pl e.+2 (table b.1); q] qs)).
    rewrite -nth_val -ans -sol; last exact/vld/is_table_table.
    rewrite /output runE addn1 -know_cat; congr (map _ (last _ (know _ _ _ _))).
    by rewrite /q /qs -zse.
  suff : [:: val (a.1 (u i))] = [:: val (a'.1 (u i))] by case.
  rewrite !outE; congr (map _ _).
  have := same q qs q1 cqs a a' aB a'B; rewrite /= => ->; apply: last_cat_eq.
  rewrite -(size_map size) -[chain _ _]/(after lin ful e.+1 _ _) shape_after size_map size_map.
  by case: (zs).
have := learn u_inj det; rewrite card_unit !card_ord mul1n CB => cnt.
move: AD; rewrite /= card_prod card_unit muln1 card_ffun card_ord => AD.
have := leq_trans AD (leq_mul (leqnn _) AB); rewrite mulnA -expnD => {}AD.
rewrite -[X in _ <= X]mul1n in cnt; have := count AD cnt; rewrite muln1 leqNgt => /negP; apply.
apply: leq_ltn_trans rest.
by rewrite leq_exp2l // SE nA size_kinds !mul1n -!addnA !leq_add2l leq_mul2r treec orbT.
Qed.

Lemma descend hops : forall e fans os k d g c S (T : {set 'I_(size_N m fans)})
    (C : {set Tab (size_N m fans)}) (D : {set Up m fans (map hop_n hops)})
    (R : {set Tab (size_N m fans) * Up m fans (map hop_n hops)}),
  (e == 0) ==> (size hops == 1) -> P6_holds M e (size_N m fans) k d g c S hops ->
  run (layers net) =1 know lin ful (e + size hops) ->
  solves m (catrev (map hop_n hops) fans) net -> W = queries (catrev (map hop_n hops) fans) ->
  sumn (take e.+1 As) = S -> drop e.+1 As = map hop_A hops ->
  tree os <= c -> k <= #|T| -> (forall a, a \in T -> reached m W e fans os (val a)) ->
  size_N m fans ^ size_N m fans <= 2 ^ g * #|C| -> #|Up m fans (map hop_n hops)| <= 2 ^ (size hops * g) * #|D| ->
  R \subset setX C D -> #|C| * #|D| <= 2 ^ d * #|R| ->
  (forall qs, choice os qs -> const (fun a => after lin ful e (players e a) qs) R) -> False.
Proof.
elim: hops => // [[x s n A] hops] IH e fans os k d g c S T C D R e1 ok runE sol WE SE AE treec kT reach CN DU RCD RD same.
have eA : e.+1 < size As by rewrite ltnNge; apply/negP => Ae; move: AE; rewrite drop_oversize.
have [nA AE'] : nth 0 As e.+1 = A /\ drop e.+2 As = map hop_A hops by move: AE; rewrite (drop_nth 0) // => -[].
case: hops IH e1 ok runE sol WE AE' {AE} D R DU RCD RD same => [|h2 hops] IH e1 ok runE sol WE AE D R DU RCD RD same.
  by rewrite mul1n in DU; apply: (last_hop ok runE sol WE SE nA treec kT reach CN DU RCD RD same).
case/and4P: ok => x0 sN image; rewrite size_NS => rest.
have [dr [Al [T' [AD _ kT' reach' al]]]] := drawn n x0 sN image kT reach CN DU RCD RD same.
have SA : sumn (take e.+2 As) = S + A by rewrite (take_nth 0) // sumn_rcons SE nA.
have [B [BA {}same] AB] := step_mid (fun a => size_up pl e a) lin_A ful_M (@next_t _ _ _ dr) al (subxx _).
case: e => [|e] in e1 rest runE AE eA nA reach SE SA R RCD RD same al reach' AB; first by [].
apply: (IH e.+2 (n :: fans) (kinds net e.+2 dr :: os) _ _ _ _ _ T' [set: _] [set: _] B isT rest) => //.
- by move=> qs; rewrite runE addnS.
- by rewrite tree_kinds leq_mul2l leq_add2l treec orbT.
- by rewrite mul1n cardsT card_ffun card_ord.
- by rewrite muln0 mul1n cardsT.
- by apply/subsetP => a _; rewrite !inE.
rewrite !cardsT -card_prod; apply: leq_trans AD _; apply: leq_trans (leq_mul (leqnn _) AB) _; rewrite mulnA -expnD leq_mul2r; apply/orP; right.
rewrite leq_exp2l // SA size_kinds /= size_map -!addnA !leq_add2l leq_mul2r treec orbT //.
Qed.

(** The first hop of two or more: what is said in epoch 1 is fixed table by table. *)
Lemma first_hop x s n A h2 hops fans (os : seq (seq (seq (vec net)))) k g c S (hs := Hop x s n A :: h2 :: hops) (T : {set 'I_(size_N m fans)})
    (C : {set Tab (size_N m fans)}) (D : {set Up m fans (map hop_n hs)}) :
  P6_holds M 0 (size_N m fans) k 0 g c S hs ->
  run (layers net) =1 know lin ful (size hs) ->
  solves m (catrev (map hop_n hs) fans) net -> W = queries (catrev (map hop_n hs) fans) ->
  sumn (take 1 As) = S -> drop 1 As = map hop_A hs ->
  tree os = c -> k <= #|T| -> (forall a, a \in T -> reached m W 0 fans os (val a)) ->
  size_N m fans ^ size_N m fans <= 2 ^ g * #|C| -> box pl (leaving lin ful) g 0 D ->
  const (fun a => out lin ful 0 (players 0 a)) (setX C D) -> False.
Proof.
move=> ok runE sol WE SE AE treec kT reach CN boxD outc; case/and4P: ok => x0 sN image; rewrite size_NS => rest.
have same qs : choice os qs -> const (fun a => after lin ful 0 (players 0 a) qs) (setX C D).
  by move=> _ a a' aR a'R /=; rewrite (outc a a').
have share : #|C| * #|D| <= 2 ^ 0 * #|setX C D| by rewrite cardsX mul1n.
have [dr [Al [T' [AD AR kT' reach' _]]]] := drawn n x0 sN image kT reach CN (box_card boxD) (subxx _) share same.
have [a1 a1A] : exists a1, a1 \in Al.
  by apply/card_gt0P; rewrite lt0n; apply: contraTneq AD => ->; rewrite muln0 -ltnNge card_Up.
have drC j : dr j \in C by have := AR _ a1A j; rewrite inE => /andP[].
have q0_next : List.In (pl 1 (table (dr (Ordinal x0)))) (kinds net 1 dr).
  by apply: (map_in (fun j => pl 1 (table (dr j)))); apply: inP; rewrite mem_enum.
have [|B BD [[X boxB] told]] := box_talk (ful_M 0) (os := os) q0_next boxD.
  move=> a a' q q' qs aD a'D /in_kinds[j ->] /in_kinds[j' ->] cqs.
  by apply: (same qs cqs (dr j, a) (dr j', a')); rewrite inE /= drC.
have [B1 [B1B out1] BB1] := @can_fin _ _ (fun a => out lin ful 1 (up pl 0 fans (map hop_n hs) a)) _ B (lin_A 1) B (subxx _).
have [C2 [D2 [BE C2N box2]]] := box_sides boxB.
have UD2 : #|Up m (n :: fans) (map hop_n (h2 :: hops))| <= 2 ^ (size (map hop_n (h2 :: hops)) * _) * #|D2| := box_card box2.
have eA : 1 < size As by rewrite ltnNge; apply/negP => Ae; move: AE; rewrite drop_oversize.
have [nA AE'] : nth 0 As 1 = A /\ drop 2 As = map hop_A (h2 :: hops) by move: AE; rewrite (drop_nth 0) // => -[].
have sizes : sumn (map size (kinds net 1 dr)) = x * size_N m fans.
  by rewrite /kinds -map_comp sumnE big_map (eq_bigr (fun=> size_N m fans)) ?sum_nat_const_seq ?size_enum_ord // => j _; rewrite /= size_pl.
apply: (@descend (h2 :: hops) 1 (n :: fans) (kinds net 1 dr :: os) _ _ _ _ _ T' C2 D2 B1 isT rest) => //.
- by rewrite (take_nth 0) // sumn_rcons SE nA.
- by rewrite tree_kinds treec.
- by move: C2N; rewrite sizes treec.
- by rewrite size_map sizes treec in UD2.
- by rewrite -BE.
- by rewrite -cardsX -BE -nA.
move=> qs cqs a a' aB a'B.
have [/(subsetP B1B) aB' /(subsetP B1B) a'B'] := (aB, a'B).
have out0 : out lin ful 0 (up pl 0 fans (map hop_n hs) a) = out lin ful 0 (up pl 0 fans (map hop_n hs) a').
  by have := box_const boxB aB' a'B'; case.
rewrite -[LHS]/(after lin ful 1 (up pl 0 fans (map hop_n hs) a) qs) -[RHS]/(after lin ful 1 (up pl 0 fans (map hop_n hs) a') qs).
have after0 : after lin ful 0 (up pl 0 fans (map hop_n hs) a) qs = after lin ful 0 (up pl 0 fans (map hop_n hs) a') qs by rewrite /= out0.
rewrite -[LHS]/(chain (out lin ful 1 (up pl 0 fans (map hop_n hs) a)) (epoch (ful 0) (know lin ful 0 _) (after lin ful 0 _ qs))).
rewrite -[RHS]/(chain (out lin ful 1 (up pl 0 fans (map hop_n hs) a')) (epoch (ful 0) (know lin ful 0 _) (after lin ful 0 _ qs))).
rewrite (out1 a a') // after0; congr (chain _ _); apply: epoch_talk.
by have := told qs cqs a a' aB' a'B'; rewrite after0.
Qed.

Lemma all_hops hops fans (os : seq (seq (seq (vec net)))) k g c S (T : {set 'I_(size_N m fans)})
    (C : {set Tab (size_N m fans)}) (D : {set Up m fans (map hop_n hops)}) :
  P6_holds M 0 (size_N m fans) k 0 g c S hops ->
  run (layers net) =1 know lin ful (size hops) ->
  solves m (catrev (map hop_n hops) fans) net -> W = queries (catrev (map hop_n hops) fans) ->
  sumn (take 1 As) = S -> drop 1 As = map hop_A hops ->
  tree os = c -> k <= #|T| -> (forall a, a \in T -> reached m W 0 fans os (val a)) ->
  size_N m fans ^ size_N m fans <= 2 ^ g * #|C| -> box pl (leaving lin ful) g 0 D ->
  const (fun a => out lin ful 0 (players 0 a)) (setX C D) -> False.
Proof.
case: hops D => [|[x s n A] [|h2 hops]] D // ok runE sol WE SE AE treec kT reach CN boxD outc; last first.
  exact: (first_hop ok runE sol WE SE AE treec kT reach CN boxD outc).
apply: (@descend [:: Hop x s n A] 0 fans os k 0 g c S T C D (setX C D)) => //.
- by rewrite treec.
- by have := box_card boxD.
- by rewrite cardsX mul1n.
- by move=> qs _ a a' aR a'R /=; rewrite (outc a a').
Qed.
End Net.
(** x_0 starts. *)
Theorem P6 m M A0 x0 hops (ns := map hop_n hops) : x0 <= m ->
  P6_holds M 0 m x0 0 A0 (x0 * (1 + \prod_(n <- ns) n)) A0 hops ->
  impossible m (rev ns) M (A0 :: map hop_A hops).
Proof.
move=> x0m ok; apply: impossible_blocks => net bl sol.
have [lin [ful [runE linA fulM]]] := blocks_know (embed net (Start 0)) bl.
have mE : size_N m [::] = m by rewrite /size_N big_nil muln1.
pose starts := [seq [:: embed net (Start j)] | j <- iota 0 x0].
pose asks := [seq [:: embed net (Query ws)] | ws <- queries (rev ns)].
have [D boxD] := @box_states _ lin ful m (pl net) A0 (linA 0) 0 [::] ns; have [a0 a0D] := box_some boxD.
have [C [_ Cout] CN] := @can_fin _ _ (fun z : Tab (size_N m [::]) => out lin ful 0 (rcons (up (pl net) 0 [::] ns a0) (pl net 1 (table z)))) A0 [set: _] (linA 0) [set: _] (subxx _).
have outc : const (fun a => out lin ful 0 (@players net m 0 [::] ns a)) (setX C D).
  have low a : a \in setX C D -> out lin ful 0 (players net 0 a) = out lin ful 0 (rcons (up (pl net) 0 [::] ns a0) (pl net 1 (table a.1))).
    rewrite inE => /andP[_ /(box_const boxD)/(_ a0D)[oE]].
    by move: oE; rewrite /players /out /leave !foldl_rcons => ->.
  move=> a a' aR a'R; rewrite (low a) // (low a') //; apply: Cout; [move: aR | move: a'R]; by rewrite inE => /andP[].
have x0m' : x0 <= size_N m [::] by rewrite mE.
have treeE y : size (queries (rev ns)) = y -> tree [:: starts; asks] = x0 * (1 + y).
  move=> <-; rewrite /= big_map (eq_bigr (fun=> 1 + size (queries (rev ns)))) ?sum_nat_const_seq ?size_iota // => j _.
  by rewrite big_map sum_nat_const_seq muln1.
have W_tree : tree [:: starts; asks] = x0 * (1 + \prod_(n <- ns) n).
  by apply: treeE; rewrite size_queries; apply: perm_big; rewrite perm_rev.
pose T := [set widen_ord x0m' j | j : 'I_x0].
have Tx0 : #|T| = x0 by rewrite card_imset ?card_ord // => i j /(congr1 val) h; apply: val_inj.
have reach a : a \in T -> reached m (queries (rev ns)) 0 [::] [:: starts; asks] (val a).
  move=> /imsetP[j _ ->]; exists [::], (val j), [::]; split=> //.
    by move=> z; rewrite /= mE => ->; rewrite (leq_trans (ltn_ord j)).
  move=> wh; rewrite cats0 => whW /=; split.
    by apply: (map_in (fun j => [:: embed net (Start j)])); apply: inP; rewrite mem_iota add0n ltn_ord.
  by split=> //; apply: (map_in (fun ws => [:: embed net (Query ws)])); apply: inP.
have CN' : size_N m [::] ^ size_N m [::] <= 2 ^ A0 * #|C| by move: CN; rewrite cardsT card_ffun card_ord.
rewrite -mE in ok.
apply: (all_hops linA fulM (W := queries (rev ns)) (os := [:: starts; asks]) ok _ sol _ _ _ W_tree _ reach CN' boxD outc) => //.
- by move=> qs; rewrite runE /= size_map.
- by rewrite /= take0 /= addn0.
- by rewrite /= drop0.
- by rewrite Tx0.
Qed.

(** Two and three hops, spelled out. *)
Corollary P6_two m n1 M A0 A1 x0 x1 s1 :
  x0 <= m -> 0 < x1 -> s1 <= m ->
  2 * 'C(m, s1.-1) * s1.-1 ^ (x1 * x0) * 2 ^ (x1 * A0) <= m ^ (x1 * x0) ->
  2 ^ (A0 + 1 + A0 + (x1 * A1 + x0 * (1 + n1) * M)) < (n1 * m) ^ (n1 * s1) ->
  impossible m [:: n1] M [:: A0; A1].
Proof.
move=> x0m x1p s1m im end_; apply: (@P6 m M A0 x0 [:: Hop x1 s1 n1 A1]) => //=.
by rewrite big_seq1 x1p s1m im muln0.
Qed.

Corollary P6_three m n1 n2 M A0 A1 A2 x0 x1 x2 s1 s2 (N1 := n1 * m) (N2 := n2 * N1) (T1 := x0 * (1 + n1 * n2))
    (g := A0 + (x1 * m + T1) * M)
    (D3 := g + (x2 * A1 + 1) + (A0 + A1) + (x2 * (N1 * M + A2) + x1 * (m + T1) * M)) :
  x0 <= m -> 0 < x1 -> s1 <= m -> 0 < x2 -> s2 <= N1 ->
  2 * 'C(m, s1.-1) * s1.-1 ^ (x1 * x0) * 2 ^ (x1 * A0) <= m ^ (x1 * x0) ->
  2 * 'C(N1, s2.-1) * s2.-1 ^ (x2 * (n1 * s1)) * 2 ^ (x2 * (A1 + g)) <= N1 ^ (x2 * (n1 * s1)) ->
  2 ^ D3 < N2 ^ (n2 * s2) ->
  impossible m [:: n2; n1] M [:: A0; A1; A2].
Proof.
move=> x0m x1p s1m x2p s2m im1 im2 end_; apply: (@P6 m M A0 x0 [:: Hop x1 s1 n1 A1; Hop x2 s2 n2 A2]) => //.
by rewrite big_cons big_seq1 /= !mul1n x1p s1m im1 x2p s2m im2.
Qed.
