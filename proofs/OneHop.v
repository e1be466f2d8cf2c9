(** * One hop: one full layer alone, linear layers alone

    Written by instances.py from certificates.txt: M message bits, state bits block by block; fans last table first. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Check.

(** n = 37, by P5 *)
Theorem one_hop_F : impossible %:35 [::] %:176 [:: %:0; %:0].
Proof. apply: (@check_sound 35 [::] 176 [:: 0; 0] byP5)%num. vm_cast_no_check (erefl true). Qed.

(** n = 37, by P2 *)
Theorem one_hop_L : impossible %:35 [::] %:0 [:: %:96].
Proof. apply: (@check_sound 35 [::] 0 [:: 96] byP2)%num. vm_cast_no_check (erefl true). Qed.
