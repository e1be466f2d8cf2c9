(** * More hops are no easier

    What cannot do L hops at sizes (m, fans) cannot do L+1 at (m, n, fans): the last function hands on
    what it gets.  A network for L+1 hops, with that function built in, does L. *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section FirstPlayer.
Variables (D : Type) (x0 : D).
Implicit Types (p : seq D) (ps : seq (seq D)).

(** Layers that have seen a first player p already. *)
Definition begun_linear (l : linear D) p : linear D := @Linear D (state l) (scan (start l) p).1 (@step D l).
Definition begun_full (f : full D) p : full D :=
  @Full D (msg f) (fun rs q x => reply (reply (f := f) [::] p x :: rs) q x)
    (fun q j rs => mix q j (reply (f := f) [::] p (nth x0 q j) :: rs)).
Fixpoint begun (ls : seq (layer D)) p : seq (layer D) :=
  match ls with
  | [::] => [::]
  | L l :: ls' => L (begun_linear l p) :: begun ls' (scan (start l) p).2
  | F f :: ls' => F (begun_full f p) :: begun ls' (attend f [::] p)
  end.

Lemma chain_begun l p s ps : chain (l := l) s ps = chain (l := begun_linear l p) s ps.
Proof.
have scanE t q : scan (l := l) t q = scan (l := begun_linear l p) t q by elim: q t => //= x q IH t; rewrite IH.
by elim: ps s => //= q ps IH s; rewrite IH scanE.
Qed.

Lemma replies_begun f p before x : replies f (p :: before) x = reply (f := f) [::] p x :: replies (begun_full f p) before x.
Proof.
elim/last_ind: before => // ps q IH.
by rewrite /replies -rcons_cons !foldl_rcons -!/(replies _ _ _) IH.
Qed.

Lemma attend_begun f p before q : attend f (p :: before) q = attend (begun_full f p) before q.
Proof.
rewrite /attend /=.
suff H s r : q = s ++ r -> [seq mix q jx.1 (replies f (p :: before) jx.2) | jx <- zip (iota (size s) (size r)) r]
  = [seq mix q jx.1 (reply (f := f) [::] p (nth x0 q jx.1) :: replies (begun_full f p) before jx.2)
      | jx <- zip (iota (size s) (size r)) r] by exact: (H [::]).
elim: r s => //= x r IH s Eq; have -> : nth x0 q (size s) = x by rewrite Eq nth_cat ltnn subnn.
rewrite replies_begun; congr (_ :: _).
by have := IH (rcons s x); rewrite cat_rcons size_rcons; apply.
Qed.

Lemma epoch_begun f p before ps : epoch f (p :: before) ps = epoch (begun_full f p) before ps.
Proof. by elim: ps before => //= q ps IH before; rewrite attend_begun IH. Qed.

Lemma run_begun ls p ps : exists p', run ls (p :: ps) = p' :: run (begun ls p) ps.
Proof.
elim: ls p ps => [|[l|f] ls IH] p ps; first by exists p.
  by rewrite /= (chain_begun p); apply: IH.
by rewrite /= epoch_begun; apply: IH.
Qed.

Lemma size_run (ls : seq (layer D)) ps : size (run ls ps) = size ps.
Proof.
elim: ls ps => //= [[l|f]] ls IH ps; rewrite IH /=.
  by elim: ps (start l) => //= p ps IHp s; rewrite IHp.
by elim: ps [::] => //= p ps IHp b; rewrite IHp.
Qed.

Lemma blocks_within M As (ls : seq (layer D)) : blocks M As ls -> within M As ls.
Proof.
elim: As ls => //= A [_ ls [l -> lA] | A' As IH ls [l] [f] [ls1] [-> lA fM /IH H]].
  by exists [:: l]; rewrite ?big_seq1.
by exists [:: l], f, ls1; rewrite big_seq1.
Qed.

Lemma blocks_begun M As (ls : seq (layer D)) p : blocks M As ls -> blocks M As (begun ls p).
Proof.
elim: As ls p => //= A [_ ls p [l -> lA] | A' As IH ls p [l] [f] [ls1] [-> lA fM H]].
  by exists (begun_linear l p).
exists (begun_linear l p), (begun_full f (scan (start l) p).2), (begun ls1 (attend f [::] (scan (start l) p).2)).
by split=> //; apply: IH.
Qed.
End FirstPlayer.

Lemma answer_lt m fans zs z0 ws : valid m fans zs z0 ws -> answer m fans zs z0 ws < size_N m fans.
Proof.
have nth_lt N z a : is_table N z -> 0 < N -> nth 0 z a < N.
  case/andP=> /eqP sz /allP zN N0; case: (ltnP a (size z)) => [az | za]; first by apply/zN/mem_nth.
  by rewrite nth_default.
elim: fans zs ws => [|n fans IH] [|z zs] [|w ws] //; last 1 first.
- move=> /and3P[zt wn /IH lt] /=; apply: nth_lt => //.
  rewrite /size_N big_cons mulnCA muln_gt0 (leq_ltn_trans _ wn) //=.
  exact: leq_ltn_trans lt.
- case: zs => // /andP[zt z0m]; rewrite /size_N big_nil muln1 /=; apply: nth_lt => //.
  exact: leq_ltn_trans z0m.
- by case: zs.
Qed.

Theorem more_hops m fans n M As : 0 < n -> impossible m fans M As -> impossible m (n :: fans) M As.
Proof.
move=> n0 imp; apply: impossible_blocks => net bl sol.
pose N := size_N m fans; pose Z := [seq a %% N | a <- iota 0 (size_N m (n :: fans))].
pose e x := embed net (if x is Query ws then Query (0 :: ws) else x).
pose p := map (@embed net) (tokens_of (size fans).+2 Z).
apply: (imp (@Network (vec net) e (begun (e (Start 0)) (layers net) p) (@read net))).
  exact/blocks_within/blocks_begun.
move=> zs z0 ws v.
have ltN := answer_lt v; have zsz := valid_size v.
have ZN : size_N m (n :: fans) = n * N by rewrite /size_N big_cons mulnCA.
have v' : valid m (n :: fans) (Z :: zs) z0 (0 :: ws).
  apply/and3P; split=> //; apply/andP; split; first by rewrite size_map size_iota.
  apply/allP => _ /mapP[a _ ->].
  by rewrite ZN (leq_trans (ltn_pmod _ _)) ?leq_pmull // (leq_ltn_trans _ ltN).
have := sol _ _ _ v'; rewrite /= mul0n add0n.
have -> : nth 0 Z (answer m fans zs z0 ws) = answer m fans zs z0 ws.
  have lt' : answer m fans zs z0 ws < size_N m (n :: fans) by rewrite ZN (leq_trans ltN) ?leq_pmull.
  by rewrite (nth_map 0) ?size_iota // nth_iota // add0n modn_small.
move=> <-; rewrite /output /= zsz.
have [p' ->] := run_begun (e (Start 0)) (layers net) p (map (map (@embed net)) (prompt zs z0 (0 :: ws))).
have -> : map (map (@embed net)) (prompt zs z0 (0 :: ws)) = map (map e) (prompt zs z0 ws).
  elim: zs {v zsz v' ltN} => //= z zs ->; congr (_ :: _); rewrite /tokens_of -!map_comp.
  exact: eq_map.
rewrite /=; case E: (run _ _) => //; have := size_run (begun (e (Start 0)) (layers net) p) (map (map e) (prompt zs z0 ws)).
by rewrite E size_map; case: zs {v zsz v' ltN E}.
Qed.
