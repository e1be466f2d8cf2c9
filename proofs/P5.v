(** * P5: one full layer and no linear one, one hop *)

From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Facts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** The last token does not know z_0 when it asks: one reply must do for all starts. *)
Theorem P5 m M : 2 ^ M < m ^ m -> impossible m [::] M [:: 0; 0].
Proof.
move=> big; apply: impossible_blocks => net /= [l] [f] [ls] [netE l0 fM [k kE k0]] sol; rewrite {}kE in netE.
move: big; rewrite ltnNge => /negP; apply; apply: leq_trans fM.
pose e p := map (fun x => (step (start l) x).2) (map (@embed net) p).
pose told (z : {ffun 'I_m -> 'I_m}) := reply (f := f) [::] (e (tokens_of 1 (table z))) (step (start l) (embed net (Query [::]))).2.
suff told_inj : injective told by rewrite -[X in X ^ _]card_ord -[X in _ ^ X]card_ord -card_ffun (leq_card _ told_inj).
move=> z z' same; apply/ffunP => a; apply: val_inj; rewrite /= -2!nth_table.
have E (y : {ffun 'I_m -> 'I_m}) : output net (prompt [:: table y] a [::]) = [:: nth 0 (table y) a].
  by rewrite sol /= ?is_table_table ?ltn_ord.
suff : output net (prompt [:: table z] a [::]) = output net (prompt [:: table z'] a [::]) by rewrite !E => -[].
have runE ps : run (layers net) ps = chain (start k) (epoch f [::] (chain (start l) ps)) by rewrite netE.
by rewrite /output !runE !stateless //= /attend /replies /= -/(e _) -/(e _) -/(told z) -/(told z') same.
Qed.
