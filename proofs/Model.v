(** * The machines and the task

    A network reads a prompt that is cut into players; a player is a run of
    consecutive tokens.  Layer by layer every token's vector is replaced.
    Vectors are of any type and any size, and the functions in a layer are
    arbitrary (so MLPs, norms, residuals, several heads, any weights and any
    precision are covered): what is counted is only what crosses from one token
    or player to the next, the [state] of a linear layer and the [msg] of a full one. *)

From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Layers *)

Section Layers.
Variable D : Type.                       (* what one token knows: its vector *)

(** A linear layer is any recurrence: a state of finitely many values goes from token to token. *)
Record linear := Linear {
  state : finType;
  start : state;
  step  : state -> D -> state * D }.     (* state before, vector: state after, new vector *)

(** A full layer is an epoch.  Token x asks the earlier players, first to last.  Each answers with one of
    #|msg| values, any function of what its tokens know, of what x knows and of the answers before it, and
    keeps nothing.  Then x becomes any function of these answers and of all that its own player p knows
    (j is its place in p). *)
Record full := Full {
  msg   : finType;
  reply : seq msg -> seq D -> D -> msg;
  mix   : seq D -> nat -> seq msg -> D }.

Inductive layer := L of linear | F of full.

Fixpoint scan (l : linear) (s : state l) (p : seq D) : state l * seq D :=
  if p is x :: p' then let r := scan (step s x).1 p' in (r.1, (step s x).2 :: r.2) else (s, [::]).

Fixpoint chain (l : linear) (s : state l) (ps : seq (seq D)) : seq (seq D) :=
  if ps is p :: ps' then (scan s p).2 :: chain (scan s p).1 ps' else [::].

Definition replies (f : full) (earlier : seq (seq D)) (x : D) : seq (msg f) :=
  foldl (fun rs q => rcons rs (reply rs q x)) [::] earlier.

Definition attend (f : full) (earlier : seq (seq D)) (p : seq D) : seq D :=
  [seq mix p jx.1 (replies f earlier jx.2) | jx <- zip (iota 0 (size p)) p].

Fixpoint epoch (f : full) (earlier ps : seq (seq D)) : seq (seq D) :=
  if ps is p :: ps' then attend f earlier p :: epoch f (rcons earlier p) ps' else [::].

Definition pass (ps : seq (seq D)) (l : layer) : seq (seq D) :=
  match l with L l => chain (start l) ps | F f => epoch f [::] ps end.

Definition run (ls : seq layer) (ps : seq (seq D)) : seq (seq D) := foldl pass ps ls.

End Layers.

(** ** The task: L-FuncComp

    Lists are in prompt order: zs = z_L .. z_1, fans = n_(L-1) .. n_1, ws = w_(L-1) .. w_1.
    [size_N m fans] is N_(L-1). *)

Inductive token :=                       (* content and place *)
  | Entry of nat & nat & nat             (* Entry l j v : z_l(j) = v *)
  | Start of nat                         (* z_0 *)
  | Query of seq nat.                    (* w *)

Definition size_N m fans := m * \prod_(n <- fans) n.

Definition tokens_of l z := [seq Entry l jv.1 jv.2 | jv <- zip (iota 0 (size z)) z].

Fixpoint prompt (zs : seq (seq nat)) z0 ws : seq (seq token) :=
  if zs is z :: zs' then tokens_of (size zs) z :: prompt zs' z0 ws else [:: [:: Start z0]; [:: Query ws]].

(** i_0 = z_0, i_(l+1) = z_(l+1)(w_l N_(l-1) + i_l), with w_0 = 0. *)
Fixpoint answer m fans zs z0 ws :=
  if zs is z :: zs' then
    nth 0 z (head 0 ws * size_N m (behead fans) + answer m (behead fans) zs' z0 (behead ws))
  else z0.

Definition is_table N z := (size z == N) && all (fun v => v < N) z.

Fixpoint valid m fans zs z0 ws :=
  match fans, zs, ws with
  | [::], [:: z1], [::] => is_table m z1 && (z0 < m)
  | n :: fans', z :: zs', w :: ws' => [&& is_table (size_N m fans) z, w < n & valid m fans' zs' z0 ws']
  | _, _, _ => false
  end.

(** ** Solving it *)

Record network := Network {
  vec    : Type;
  embed  : token -> vec;                 (* before the first layer a token knows content and place *)
  layers : seq (layer vec);
  read   : vec -> nat }.

(** What is read at the tokens of the last player (one token, w). *)
Definition output (net : network) ps : seq nat :=
  map (@read net) (last [::] (run (layers net) (map (map (@embed net)) ps))).

Definition solves m fans (net : network) :=
  forall zs z0 ws, valid m fans zs z0 ws -> output net (prompt zs z0 ws) = [:: answer m fans zs z0 ws].

(** ** Widths

    [within M [:: A_0; ..; A_F] ls]: ls is a hybrid of F full layers, each with messages of M bits, and of
    blocks of linear layers before, between and after them, with A_0, .., A_F state bits in all of a block.
    (A_e = 0: no linear layer, or such as have no state.) *)
Fixpoint within (D : Type) M (As : seq nat) (ls : seq (layer D)) : Prop :=
  match As with
  | [::] => False
  | [:: A] => exists2 b : seq (linear D), ls = map (@L D) b & \prod_(l <- b) #|state l| <= 2 ^ A
  | A :: As' => exists (b : seq (linear D)) (f : full D) (ls' : seq (layer D)),
      [/\ ls = map (@L D) b ++ F f :: ls', \prod_(l <- b) #|state l| <= 2 ^ A,
          #|msg f| <= 2 ^ M & within M As' ls']
  end.

(** No network of these widths, whatever its weights, solves the task at these sizes. *)
Definition impossible m fans M As :=
  forall net : network, within M As (layers net) -> ~ solves m fans net.
