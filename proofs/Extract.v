(** * The checker as an OCaml program (checker/; see CERTIFICATE.md) *)

From Coq Require Import NArith Extraction ExtrOcamlBasic.
From Hopbound Require Import Check.
Extraction Language OCaml.
Extraction "checker/verified.ml" check.
