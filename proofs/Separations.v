(** * Separations: with the same widths and at the same size, one network can and others cannot *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Check P1 MoreHops OneHop TwoHops ThreeHops.

Lemma pow2_le a b : (a <=? 2 ^ b)%num -> %:a <= 2 ^ %:b.
Proof. by move/nat_le; rewrite nat_pow. Qed.

(** [P1] at binary sizes. *)
Lemma possible (m : N) (fans : seq N) (M A : N) (n := foldl N.mul m fans) :
  [&& 0 <? n, m <=? 2 ^ A & n <=? 2 ^ M]%num ->
  exists2 net : network, within %:M (%:A :: nseq (size fans).+1 0) (layers net) & solves %:m (map N.to_nat fans) net.
Proof.
have nE : %:n = size_N %:m (map N.to_nat fans).
  rewrite /n /size_N; elim: fans (m) {n} => [|k fans IH] m' /=; first by rewrite big_nil muln1.
  by rewrite IH big_cons nat_mul mulnA.
case/and3P=> /nat_lt0 n0 /pow2_le mA /pow2_le nM; rewrite nE in n0 nM.
by have := P1 n0 mA nM; rewrite size_map.
Qed.

(** One hop, n = 37: M = 176, 96 state bits.  L F can; F alone and L alone cannot. *)
Theorem separation_one :
  [/\ exists2 net : network, within %:176 [:: %:96; 0] (layers net) & solves %:35 [::] net,
      impossible %:35 [::] %:176 [:: %:0; %:0] & impossible %:35 [::] %:0 [:: %:96]].
Proof.
split; [| exact: one_hop_F | exact: one_hop_L].
by apply: (@possible 35 [::] 176 96)%num; vm_compute.
Qed.

(** Two hops, n = 4,673: M = 304, 208 state bits.  L F F can; L F L and L L L cannot. *)
Theorem separation_two :
  [/\ exists2 net : network, within %:304 [:: %:208; 0; 0] (layers net) & solves %:173 [:: %:26] net,
      impossible %:173 [:: %:26] %:304 [:: %:208; %:208] & impossible %:173 [:: %:26] %:0 [:: %:624]].
Proof.
split; [| exact: two_hops_LFL_304 | exact: two_hops_LLL].
by apply: (@possible 173 [:: 26] 304 208)%num; vm_compute.
Qed.

(** Three hops, n = 1,036,573,882,647: M = 768, 656 state bits.  L F F F can; L F L F L cannot. *)
Theorem separation_three :
  (exists2 net : network, within %:768 [:: %:656; 0; 0; 0] (layers net) & solves %:50905 [:: %:25326; %:804] net) /\
  impossible %:50905 [:: %:25326; %:804] %:768 [:: %:656; %:656; %:656].
Proof.
split; last exact: three_hops_LFLFL_768.
by apply: (@possible 50905 [:: 25326; 804] 768 656)%num; vm_compute.
Qed.

(** What one full layer cannot do for two hops it cannot do for three. *)
Theorem three_hops_LFL_304 : impossible %:173 [:: %:2; %:26] %:304 [:: %:208; %:208].
Proof. by apply: more_hops two_hops_LFL_304. Qed.
