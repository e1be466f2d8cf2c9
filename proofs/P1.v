(** * P1: one linear layer and L full layers do L hops

    With a state of log m bits and messages of log N bits, at all sizes.  So the model is not empty: what
    P2, P4, P5, P7 and P9 exclude is not excluded by its definition. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Ladder.
Variables (m0 N0 : nat) (fans : seq nat).
Let m := m0.+1.
Let N := N0.+1.
Let len := (size fans).+1.               (* the number of hops *)

(** A token is its content and one register. *)
Definition vector := (token * nat)%type.

(** The linear layer carries z_0 to the last token. *)
Definition carry : linear vector := @Linear vector [finType of 'I_m] ord0
  (fun s x => match x.1 with Start v => (inord v, x) | Query _ => (s, (x.1, val s)) | _ => (s, x) end).

(** Hop k looks up the k-th table of the prompt, z_(L-k), at (w, register). *)
Definition address k (x : vector) :=
  (if x.1 is Query ws then nth 0 ws k * size_N m (drop k.+1 fans) else 0) + x.2.
Definition found l a t := if t is Entry l' a' v then (if (l' == l) && (a' == a) then v else 0) else 0.
Definition hop k : full vector := @Full vector [finType of 'I_N]
  (fun _ q x => inord (\sum_(y <- q) found (len - k) (address k x) y.1))
  (fun p j rs => ((nth (Start 0, 0) p j).1, \sum_(r <- rs) val r)).

Definition ladder := @Network vector (fun t => (t, 0))
  (map (@L _) [:: carry] ++ [seq F (hop k) | k <- rev (iota 0 len)]) (fun x => x.2).

Lemma within_fulls M A b ks : \prod_(l <- b) #|state l| <= 2 ^ A -> N <= 2 ^ M ->
  within M (A :: nseq (size ks) 0) (map (@L vector) b ++ [seq F (hop k) | k <- ks]).
Proof.
move=> + NM; elim: ks A b => [|k ks IH] A b bA; first by exists b; rewrite ?cats0.
exists b, (hop k), [seq F (hop k) | k <- ks]; split=> //; first by rewrite card_ord.
by apply: (IH 0 [::]); rewrite big_nil.
Qed.

(** All players but the last. *)
Fixpoint init (zs : seq (seq nat)) z0 : seq (seq token) :=
  if zs is z :: zs' then tokens_of (size zs) z :: init zs' z0 else [:: [:: Start z0]].

(** The last token's register is i, and no token has lost its content. *)
Definition holds zs z0 ws i (ps : seq (seq vector)) :=
  exists2 qs, ps = rcons qs [:: (Query ws, i)] & map (map fst) qs = init zs z0.

Lemma carried zs z0 ws : z0 < m ->
  holds zs z0 ws z0 (chain (start carry) (map (map (fun t => (t, 0))) (prompt zs z0 ws))).
Proof.
move=> z0m; have fst_scan s p : map fst (scan (l := carry) s p).2 = map fst p.
  by elim: p s => //= -[[l j v|v|w] i] p IH s /=; rewrite IH.
elim: zs (start carry) => [|z zs IH] s /=.
  by exists [:: [:: (Start z0, 0)]] => //=; rewrite inordK.
set p := [seq _ | _ <- _]; have [qs -> E] := IH (scan (l := carry) s p).1.
exists ((scan (l := carry) s p).2 :: qs) => //=; rewrite E fst_scan /p -map_comp.
by rewrite (eq_map (f2 := id)) ?map_id.
Qed.

Lemma fst_attend k b p : map fst (attend (hop k) b p) = map fst p.
Proof.
rewrite /attend -map_comp (eq_map (f2 := (fun j => (nth (Start 0, 0) p j).1) \o fst)) // map_comp.
by rewrite -/(unzip1 _) unzip1_zip ?size_iota // (map_comp fst) -/(mkseq _ _) mkseq_nth.
Qed.

Lemma replies_hop k ps x :
  replies (hop k) ps x = [seq inord (\sum_(y <- q) found (len - k) (address k x) y.1) | q <- ps].
Proof. by elim/last_ind: ps => // ps q IH; rewrite /replies foldl_rcons -/(replies _ _ _) IH map_rcons. Qed.

Lemma found_table l l' a z : \sum_(t <- tokens_of l' z) found l a t = if l' == l then nth 0 z a else 0.
Proof.
rewrite /tokens_of big_map /=.
suff H b : \sum_(jv <- zip (iota b (size z)) z) (if (l' == l) && (jv.1 == a) then jv.2 else 0) =
           if (l' == l) && (b <= a) then nth 0 z (a - b) else 0 by rewrite H leq0n andbT subn0.
elim: z b => [|v z IH] b /=; first by rewrite big_nil nth_nil if_same.
rewrite big_cons IH /=; case: (l' == l) => //=; case: ltngtP => [ba|ab|->]; rewrite ?addn0 //.
  by rewrite add0n -(subnSK ba).
by rewrite subnn.
Qed.

Lemma found_init zs z0 l a : 0 < l -> \sum_(q <- init zs z0) \sum_(t <- q) found l a t =
  if l <= size zs then nth 0 (nth [::] zs (size zs - l)) a else 0.
Proof.
move=> l0; elim: zs => [|z zs IH] /=; first by rewrite !big_seq1 leqNgt l0.
rewrite big_cons IH found_table; case: (ltngtP l (size zs).+1) => [lt|gt|->].
- by rewrite -ltnS lt add0n subSn.
- by rewrite leqNgt (ltn_trans (ltnSn _) gt).
- by rewrite ltnn addn0 subnn.
Qed.

Lemma hopped zs z0 ws i ps k : k < len -> size zs = len -> all (all (fun v => v < N)) zs ->
  holds zs z0 ws i ps ->
  holds zs z0 ws (nth 0 (nth [::] zs k) (nth 0 ws k * size_N m (drop k.+1 fans) + i)) (epoch (hop k) [::] ps).
Proof.
move=> kL szs zsN [qs -> E].
have epoch_rcons b ps' p : epoch (hop k) b (rcons ps' p) = rcons (epoch (hop k) b ps') (attend (hop k) (b ++ ps') p).
  by elim: ps' b => [|p' ps' IH] b /=; rewrite ?cats0 // IH cat_rcons.
exists (epoch (hop k) [::] qs); last first.
  by rewrite -E; elim: qs [::] {E} => //= q qs IH b; rewrite IH fst_attend.
rewrite epoch_rcons; congr (rcons _ [:: (_, _)]).
pose S (q : seq token) := \sum_(t <- q) found (len - k) (address k (Query ws, i)) t.
have -> : replies (hop k) ([::] ++ qs) (Query ws, i) = [seq inord v | v <- map S (init zs z0)].
  by rewrite replies_hop -E -!map_comp; apply: eq_map => q /=; rewrite /S big_map.
rewrite big_map big_seq (eq_bigr id) => [|v vS]; last first.
  rewrite /= inordK //; move: v vS; apply/allP; rewrite all_map.
  elim: zs {szs E} zsN => [|z zs IH] /=; first by rewrite /S big_seq1.
  case/andP=> zN /IH ->; rewrite andbT /S found_table; case: eqP => // _.
  case: (ltnP (address k (Query ws, i)) (size z)) => [az | za]; last by rewrite nth_default.
  by apply: (allP zN); apply: mem_nth.
rewrite -big_seq big_map found_init ?subn_gt0 // szs leq_subr subKn //.
exact: ltnW.
Qed.

Lemma climbed zs z0 ws k ps : k <= len -> size zs = len -> all (all (fun v => v < N)) zs ->
  holds zs z0 ws (answer m (drop k fans) (drop k zs) z0 (drop k ws)) ps ->
  holds zs z0 ws (answer m fans zs z0 ws) (run [seq F (hop k) | k <- rev (iota 0 k)] ps).
Proof.
move=> + szs zsN; elim: k ps => [|k IH] ps kL H; first by move: H; rewrite !drop0.
rewrite -addn1 iotaD rev_cat /= add0n; apply: IH; first exact: ltnW.
have := hopped kL szs zsN H; rewrite (drop_nth [::] (n := k)) ?szs //= -nth0 nth_drop addn0.
by rewrite -!drop1 !drop_drop !add1n.
Qed.

Lemma tables_lt zs z0 ws : valid m fans zs z0 ws -> z0 < m /\ all (all (fun v => v < size_N m fans)) zs.
Proof.
elim: fans zs ws => [|n ns IH] [|z zs] [|w ws] //; last 1 first.
- case/and3P=> /andP[_ zN] wn /IH[z0m zsN]; split=> //=; rewrite zN /=.
  apply: sub_all zsN => y; apply: sub_all => v /leq_trans; apply.
  by rewrite /size_N big_cons mulnCA leq_pmull // (leq_ltn_trans _ wn).
- by case: zs => // /andP[/andP[_ zN] ->] /=; rewrite /size_N big_nil muln1 zN.
- by case: zs.
Qed.

Lemma ladder_solves : size_N m fans = N -> solves m fans ladder.
Proof.
move=> NE zs z0 ws v; have [z0m zsN] := tables_lt v; rewrite NE in zsN; have szs := valid_size v.
have start : holds zs z0 ws (answer m (drop len fans) (drop len zs) z0 (drop len ws))
    (chain (start carry) (map (map (fun t => (t, 0))) (prompt zs z0 ws))).
  by rewrite /len -szs (drop_oversize (leqnn _)) /=; apply: carried.
have [qs E _] := climbed (leqnn _) szs zsN start.
by rewrite /output /ladder /= E last_rcons.
Qed.
End Ladder.

Theorem P1 m fans M A : 0 < size_N m fans -> m <= 2 ^ A -> size_N m fans <= 2 ^ M ->
  exists2 net : network, within M (A :: nseq (size fans).+1 0) (layers net) & solves m fans net.
Proof.
case: m => [|m]; first by rewrite /size_N mul0n.
case E: (size_N m.+1 fans) => [|N] // _ mA NM; exists (ladder m N fans); last exact: ladder_solves.
by have := @within_fulls m N fans M A [:: carry m] (rev (iota 0 (size fans).+1)); rewrite size_rev size_iota big_seq1 card_ord; apply.
Qed.
