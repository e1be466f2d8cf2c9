(** * P6: any number L of hops, L-1 full layers, any linear layers *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Conditions Facts Count Prompts Draw Know.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Notation Tab N := {ffun 'I_N -> 'I_N}.

(** ** The draw of a step

    From C, a share of 2^-g of all tables, x tables that take s values on T can be drawn and leave many of D. *)
Lemma draw_image N (T : {set 'I_N}) (Al : finType) (C : {set Tab N}) (D : {set Al}) (R : {set Tab N * Al}) x s k d g :
  0 < x -> s <= N -> k <= #|T| -> 2 * 'C(N, s.-1) * s.-1 ^ (x * k) * 2 ^ (x * (d + g)) <= N ^ (x * k) ->
  N ^ N <= 2 ^ g * #|C| -> 0 < #|D| -> R \subset setX C D -> #|C| * #|D| <= 2 ^ d * #|R| ->
  exists2 dr : {ffun 'I_x -> Tab N}, s <= #|\bigcup_j [set dr j t | t in T]| &
    #|D| <= 2 ^ (x * d + 1) * #|[set al | [forall j, (dr j, al) \in R]]|.
Proof.
case: x => // x _ sN kT image CN D0 RCD RD.
pose Cs := [finType of {z | z \in C}]; pose Ds := [finType of {al | al \in D}].
have cardC : #|Cs| = #|C| by rewrite card_sig.
have cardD : #|Ds| = #|D| by rewrite card_sig.
pose up_ (dr : {ffun 'I_x.+1 -> Cs}) : {ffun 'I_x.+1 -> Tab N} := [ffun j => val (dr j)].
pose bad (dr : {ffun 'I_x.+1 -> Tab N}) := #|\bigcup_j [set dr j t | t in T]| <= s.-1.
pose R' : {set Cs * Ds} := [set p | (val p.1, val p.2) \in R].
have NN0 : 0 < N ^ N by rewrite expn_gt0; case: (N).
have Z0 : 0 < #|Cs| by rewrite cardC lt0n; apply: contraTneq CN => ->; rewrite muln0 -ltnNge.
have Al0 : 0 < #|Ds| by rewrite cardD.
have RR : #|R| <= #|R'|.
  apply: leq_trans (leq_imset_card (fun p : Cs * Ds => (val p.1, val p.2)) (mem R')).
  apply/subset_leq_card/subsetP => -[z al] zR; have /setXP[zC alD] := subsetP RCD _ zR.
  by apply/imsetP; exists (exist _ z zC, exist _ al alD); rewrite ?inE.
have RD' : #|Cs| * #|Ds| <= 2 ^ d * #|R'|.
  by rewrite cardC cardD; apply: leq_trans RD _; rewrite leq_mul2l RR orbT.
have s1N : s.-1 <= N := leq_trans (leq_pred _) sN.
have mono a b i : a <= b -> a ^ i <= b ^ i by case: i => // i; rewrite leq_exp2r.
have up_inj : injective up_.
  by move=> d1 d2 /ffunP e; apply/ffunP => j; apply: val_inj; have := e j; rewrite !ffunE.
have few : 2 * (2 ^ d) ^ x.+1 * #|[pred dr | bad (up_ dr)]| <= #|Cs| ^ x.+1.
  have cnt : #|[pred dr | bad (up_ dr)]| <= 'C(N, s.-1) * (s.-1 ^ #|T| * N ^ #|~: T|) ^ x.+1.
    rewrite -(card_image up_inj).
    have := @image_count [finType of 'I_N] [finType of 'I_N] T x.+1 s.-1; rewrite card_ord => /(_ s1N).
    by apply: leq_trans; apply/subset_leq_card/subsetP => _ /imageP[dr bd ->]; rewrite inE.
  have g0 : 0 < (2 ^ g) ^ x.+1 by rewrite !expn_gt0.
  rewrite -(leq_pmul2l g0) -expnMn cardC.
  apply: (@leq_trans ((N ^ N) ^ x.+1)); last exact: mono.
  apply: leq_trans (leq_mul (leqnn _) (leq_mul (leqnn _) cnt)) _.
  have NN : N ^ N = N ^ #|T| * N ^ #|~: T| by rewrite -expnD cardsC card_ord.
  rewrite NN !expnMn !mulnA leq_mul2r; apply/orP; right.
  rewrite -!expnM -(subnKC kT) ![(k + _) * _]mulnDl !expnD [k * _]mulnC; move: image; set r := (_ - _) * _; move: (x.+1 * k) => xk image.
  rewrite mulnA; apply: leq_mul; last exact: mono.
  apply: leq_trans image; rewrite mulnDr expnD ![_ * x.+1]mulnC; apply: eq_leq.
  move: (2 ^ _) (2 ^ (x.+1 * d)) 'C(_, _) (_ ^ xk) => a b c p.
  by rewrite -!mulnA mulnCA; congr (2 * _); rewrite mulnC -!mulnA mulnCA; congr (c * _); rewrite mulnCA mulnC -!mulnA mulnCA.
have [dr nb dR] := draw Z0 Al0 RD' few; exists (up_ dr).
  by move: nb; rewrite /= -ltnNge; case: (s) => //= s'.
move: dR; rewrite -expnM -expnS addn1 [d * _]mulnC cardD => dR; apply: leq_trans dR _; rewrite leq_mul2l; apply/orP; right.
rewrite -(card_imset _ val_inj); apply/subset_leq_card/subsetP => _ /imsetP[al alR ->].
by move: alR; rewrite !inE => /forallP alR; apply/forallP => j; have := alR j; rewrite inE ffunE.
Qed.

(** ** Tables above, choices below *)
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

Variables (lin : nat -> linear (vec net)) (ful : nat -> full (vec net)) (M : nat) (As : seq nat).
Hypotheses (lin_A : forall e, #|state (lin e)| <= 2 ^ nth 0 As e) (ful_M : forall e, #|msg (ful e)| <= 2 ^ M).

Lemma in_kinds l N x (d : {ffun 'I_x -> Tab N}) q : List.In q (kinds l d) -> exists j, q = pl l (table (d j)).
Proof. by move=> H; have [j _ ->] := in_map H; exists j. Qed.

Lemma tree_kinds l N x (d : {ffun 'I_x -> Tab N}) os : tree (kinds l d :: os) = x * (N + tree os).
Proof.
rewrite /= big_map (eq_bigr (fun=> N + tree os)) => [|j _]; last by rewrite size_pl.
by rewrite big_const_seq count_predT iter_addn_0 size_enum_ord mulnC.
Qed.

Lemma last_cat_eq (X : Type) (x : X) s s' t : 0 < size t -> last x (s ++ t) = last x (s' ++ t).
Proof. by case: t => // y t _; rewrite !last_cat. Qed.

Definition alike e os (T : finType) (ps : T -> seq (seq (vec net))) (A : {set T}) next :=
  forall a a' q q' qs, a \in A -> a' \in A -> List.In q next -> List.In q' next -> choice os qs ->
  after lin ful e (rcons (ps a) q) qs = after lin ful e (rcons (ps a') q') qs.

Lemma drawn e fans ns os k d x s n (T : {set 'I_(size_N m fans)}) (R : {set Tab (size_N m fans) * Up m fans ns}) :
  0 < x -> s <= size_N m fans ->
  2 * 'C(size_N m fans, s.-1) * s.-1 ^ (x * k) * 2 ^ (x * d) <= size_N m fans ^ (x * k) ->
  k <= #|T| -> (forall a, a \in T -> reached e fans os (val a)) ->
  #|[finType of Tab (size_N m fans) * Up m fans ns]| <= 2 ^ d * #|R| ->
  (forall qs, choice os qs -> const (fun a => after lin ful e (rcons (up pl e fans ns a.2) (pl e.+1 (table a.1))) qs) R) ->
  exists (dr : {ffun 'I_x -> Tab (size_N m fans)}) (A : {set Up m fans ns}) (T' : {set 'I_(size_N m (n :: fans))}),
  [/\ #|Up m fans ns| <= 2 ^ (x * d + 1) * #|A|, n * s <= #|T'|,
      forall a, a \in T' -> reached e.+1 (n :: fans) (kinds e.+1 dr :: os) (val a) &
      alike e os (up pl e fans ns) A (kinds e.+1 dr)].
Proof.
move=> x0 sN image kT reach RD same.
have [dr sV AD] : exists2 dr : {ffun 'I_x -> Tab (size_N m fans)}, s <= #|\bigcup_j [set dr j t | t in T]| &
    #|Up m fans ns| <= 2 ^ (x * d + 1) * #|[set al | [forall j, (dr j, al) \in R]]|.
  have := @draw_image _ T (Up m fans ns) [set: _] [set: _] R x s k d 0 x0 sN kT; rewrite addn0 mul1n !cardsT card_Up.
  rewrite card_prod in RD; apply=> //; first by rewrite card_ffun card_ord.
  by apply/subsetP => a _; rewrite !inE.
have [T' kT' reach'] := reach_step n reach sV.
exists dr, [set al | [forall j, (dr j, al) \in R]], T'; split=> // a a' q q' qs.
rewrite !inE => /forallP aR /forallP a'R /in_kinds[j ->] /in_kinds[j' ->] cqs.
exact: (same qs cqs (dr j, a) (dr j', a') (aR j) (a'R j')).
Qed.

Lemma descend hops : forall e fans os k d c S (T : {set 'I_(size_N m fans)})
    (R : {set Tab (size_N m fans) * Up m fans (map hop_n hops)}),
  P6_holds M e (size_N m fans) k d c S hops ->
  run (layers net) =1 know lin ful (e + size hops) ->
  solves m (catrev (map hop_n hops) fans) net -> W = queries (catrev (map hop_n hops) fans) ->
  sumn (take e.+1 As) = S -> drop e.+1 As = map hop_A hops ->
  tree os <= c -> k <= #|T| -> (forall a, a \in T -> reached e fans os (val a)) ->
  #|[finType of Tab (size_N m fans) * Up m fans (map hop_n hops)]| <= 2 ^ d * #|R| ->
  (forall qs, choice os qs ->
    const (fun a => after lin ful e (rcons (up pl e fans (map hop_n hops) a.2) (pl e.+1 (table a.1))) qs) R) -> False.
Proof.
elim: hops => // [[x s n A] hops] IH e fans os k d c S T R ok runE sol WE SE AE treec kT reach RD same.
case/and4P: ok => x0 sN image rest.
have [dr [Al [T' [AD kT' reach' al]]]] := drawn n x0 sN image kT reach RD same.
have next_t q : List.In q (kinds e.+1 dr) -> size q = size_N m fans by case/in_kinds=> j ->; rewrite size_pl.
have eA : e.+1 < size As by rewrite ltnNge; apply/negP => Ae; move: AE; rewrite drop_oversize.
have [nA AE'] : nth 0 As e.+1 = A /\ drop e.+2 As = map hop_A hops by move: AE; rewrite (drop_nth 0) // => -[].
have SA : sumn (take e.+2 As) = S + A by rewrite (take_nth 0) // sumn_rcons SE nA.
have ups_size (a : Up m fans (map hop_n (Hop x s n A :: hops))) : size (up pl e fans (map hop_n (Hop x s n A :: hops)) a) = size (Hop x s n A :: hops) by rewrite size_up size_map.
case: hops rest IH runE sol WE AE' {AE RD R same} Al AD al ups_size => [|h2 hops] rest IH runE sol WE AE Al AD al ups_size.
  have [B [BA same] AB] := step_last ups_size lin_A ful_M next_t al (subxx _).
  pose C : {set Tab (size_N m (n :: fans))} := [set a.1 | a : Up m fans [:: n] in B].
  have CB : #|C| = #|B| by apply: card_in_imset => -[a []] [a' []] _ _ /= ->.
  pose u (i : 'I_(n * s)) : 'I_(size_N m (n :: fans)) := enum_val (widen_ord kT' i).
  have u_inj : injective u by move=> i i' /enum_val_inj/(congr1 val) h; apply: val_inj.
  have det : {in C &, forall z z' : Tab (size_N m (n :: fans)), tt = tt -> forall i, z (u i) = z' (u i)}.
    move=> _ _ /imsetP[a aB ->] /imsetP[a' a'B ->] _ i; apply: val_inj.
    have [zs0 [z0 [wl [zse ans vld ch]]]] := reach' _ (enum_valP (widen_ord kT' i)).
    case: zs0 zse ans vld ch => // z1 zs [zse] ans vld ch.
    have wlW : wl \in W by rewrite WE; apply: (valid_queries (vld _ (is_table_table a.1))).
    pose q := pl (size zs).+1 z1; pose qs := map (map (@embed net)) (prompt zs z0 wl).
    have {ch} [q1 cqs] : List.In q (kinds e.+1 dr) /\ choice os qs := ch [::] wlW.
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
  move: rest; rewrite /= size_NS => /(leq_ltn_trans _); apply.
  by rewrite leq_exp2l // SE nA size_kinds mul1n -!addnA !leq_add2l leq_mul2r treec orbT.
have [B [BA same] AB] := step_mid ups_size lin_A ful_M next_t al (subxx _).
rewrite size_NS in rest; apply: (IH _ _ (kinds e.+1 dr :: os) _ _ _ _ T' B rest) => //.
- by move=> ps; rewrite runE addnS.
- by rewrite tree_kinds leq_mul2l leq_add2l treec orbT.
- apply: leq_trans AD _; apply: leq_trans (leq_mul (leqnn _) AB) _; rewrite mulnA -expnD leq_mul2r; apply/orP; right.
  rewrite leq_exp2l // SA size_kinds -!addnA !leq_add2l leq_mul2r treec orbT //.
Qed.
End Net.

Lemma sum_nat_const_seq (X : Type) (s : seq X) c : \sum_(x <- s) c = size s * c.
Proof. by rewrite big_const_seq count_predT iter_addn_0 mulnC. Qed.

(** x_0 starts. *)
Theorem P6 m M A0 x0 hops (ns := map hop_n hops) : x0 <= m ->
  P6_holds M 0 m x0 A0 (x0 * (1 + \prod_(n <- ns) n)) A0 hops ->
  impossible m (rev ns) M (A0 :: map hop_A hops).
Proof.
move=> x0m ok; apply: impossible_blocks => net bl sol.
have [lin [ful [runE linA fulM]]] := blocks_know (embed net (Start 0)) bl.
have mE : size_N m [::] = m by rewrite /size_N big_nil muln1.
pose starts := [seq [:: embed net (Start j)] | j <- iota 0 x0].
pose asks := [seq [:: embed net (Query ws)] | ws <- queries (rev ns)].
pose ps (a : [finType of Tab (size_N m [::]) * Up m [::] ns]) := rcons (up (@pl net) 0 [::] ns a.2) (pl net 1 (table a.1)).
have [R [_ Rst] RD] := @can_fin _ _ (fun a => out lin ful 0 (ps a)) A0 [set: _] (linA 0) [set: _] (subxx _).
have x0m' : x0 <= size_N m [::] by rewrite mE.
have treeE y : size (queries (rev ns)) = y -> tree [:: starts; asks] = x0 * (1 + y).
  move=> <-; rewrite /= big_map (eq_bigr (fun=> 1 + size (queries (rev ns)))) ?sum_nat_const_seq ?size_iota // => j _.
  by rewrite big_map sum_nat_const_seq muln1.
apply: (@descend net m (queries (rev ns)) lin ful M (A0 :: map hop_A hops) linA fulM hops 0 [::] [:: starts; asks] x0 A0
  (x0 * (1 + \prod_(n <- ns) n)) A0 [set widen_ord x0m' j | j : 'I_x0] R) => //.
- by rewrite mE.
- by move=> qs; rewrite runE /= size_map.
- by rewrite /= take0 /= addn0.
- by rewrite /= drop0.
- by rewrite (treeE (\prod_(n <- ns) n)) // size_queries; apply: perm_big; rewrite perm_rev.
- by rewrite card_imset ?card_ord // => i j /(congr1 val) h; apply: val_inj.
- move=> _ /imsetP[j _ ->]; exists [::], (val j), [::]; split=> //.
  + by move=> z; rewrite /= mE => ->; rewrite (leq_trans (ltn_ord j)).
  + move=> wh; rewrite cats0 => whW /=; split.
      by apply: (map_in (fun j => [:: embed net (Start j)])); apply: inP; rewrite mem_iota add0n ltn_ord.
    by split=> //; apply: (map_in (fun ws => [:: embed net (Query ws)])); apply: inP.
- by move: RD; rewrite cardsT.
- by move=> qs _ a a' aR a'R /=; rewrite -!/(ps _) (Rst a a').
Qed.

(** Two and three hops, spelled out. *)
Corollary P6_two m n1 M A0 A1 x0 x1 s1 :
  x0 <= m -> 0 < x1 -> s1 <= m ->
  2 * 'C(m, s1.-1) * s1.-1 ^ (x1 * x0) * 2 ^ (x1 * A0) <= m ^ (x1 * x0) ->
  2 ^ (x1 * A0 + 1 + A0 + (x1 * A1 + x0 * (1 + n1) * M)) < (n1 * m) ^ (n1 * s1) ->
  impossible m [:: n1] M [:: A0; A1].
Proof.
move=> x0m x1p s1m im end_; apply: (@P6 m M A0 x0 [:: Hop x1 s1 n1 A1]) => //=.
by rewrite big_seq1 x1p s1m im.
Qed.

Corollary P6_three m n1 n2 M A0 A1 A2 x0 x1 x2 s1 s2 (N1 := n1 * m) (N2 := n2 * N1) (W := n1 * n2)
    (D2 := x1 * A0 + 1 + (A0 + A1) + (x1 * (m * (2 * M)) + x0 * (1 + W) * (2 * M)))
    (D3 := x2 * D2 + 1 + (A0 + A1) + (x2 * (N1 * M + A2) + x1 * (m + x0 * (1 + W)) * M)) :
  x0 <= m -> 0 < x1 -> s1 <= m -> 0 < x2 -> s2 <= N1 ->
  2 * 'C(m, s1.-1) * s1.-1 ^ (x1 * x0) * 2 ^ (x1 * A0) <= m ^ (x1 * x0) ->
  2 * 'C(N1, s2.-1) * s2.-1 ^ (x2 * (n1 * s1)) * 2 ^ (x2 * D2) <= N1 ^ (x2 * (n1 * s1)) ->
  2 ^ D3 < N2 ^ (n2 * s2) ->
  impossible m [:: n2; n1] M [:: A0; A1; A2].
Proof.
move=> x0m x1p s1m x2p s2m im1 im2 end_; apply: (@P6 m M A0 x0 [:: Hop x1 s1 n1 A1; Hop x2 s2 n2 A2]) => //.
by rewrite big_cons big_seq1 -/W /= !mul1n x1p s1m im1 x2p s2m im2.
Qed.
