(* hopbound-checker FILE: reads certificates (CERTIFICATE.md), one a line, and asks the verified [check] (Check.v).
   What is not verified is this file: the reading of words, and that a claim is printed as it was read. *)
open Verified

exception Malformed of string

let fail why = raise (Malformed why)

(* Decimal digits to Coq's binary numbers. *)
let rec positive i = if i = 1 then XH else if i land 1 = 1 then XI (positive (i lsr 1)) else XO (positive (i lsr 1))
let small i = if i = 0 then N0 else Npos (positive i)
let number word =
  if word = "" || not (String.for_all (fun c -> c >= '0' && c <= '9') word) then fail ("not a number: " ^ word);
  String.fold_left (fun a c -> N.add (N.mul a (small 10)) (small (Char.code c - 48))) N0 word

let rec until stop taken = function
  | word :: rest when word = stop -> (List.rev_map number taken, rest)
  | word :: rest -> until stop (word :: taken) rest
  | [] -> fail ("no word \"" ^ stop ^ "\"")

let one name = function [x] -> x | _ -> fail ("one number is expected after \"" ^ name ^ "\"")

let rec pairs = function [] -> [] | x :: s :: rest -> (x, s) :: pairs rest | _ -> fail "x and s come in pairs"
let rec triples = function
  | [] -> [] | a :: b :: c :: rest -> ((a, b), c) :: triples rest | _ -> fail "the numbers of a way come in threes"

let way = function
  | "climb" :: rest -> Climb (triples (List.map number rest))
  | "lines" :: s :: kap :: e :: d :: g :: rest ->
    Lines (number s, number kap, number e, number d, number g, triples (List.map number rest))
  | _ -> fail "a way is \"lines\" with five numbers and triples, or \"climb\" with triples"

let certificate = function
  | ["P2"] -> ByP2
  | ["P5"] -> ByP5
  | ["P4"; v] -> ByP4 (number v)
  | "P4'" :: t :: s :: q :: x :: s' :: y :: rest ->
    ByP4' (number t, number s, number q, number x, number s', number y, way rest)
  | "P6" :: x0 :: rest -> ByP6 (number x0, pairs (List.map number rest))
  | ["P7"; t; s; q; g; e; y] -> ByP7 (number t, number s, number q, number g, number e, number y)
  | "P7G" :: x0 :: rest -> ByP7G (number x0, pairs (List.map number rest))
  | "P8" :: g :: k :: q :: nu :: x1 :: x :: s :: rest ->
    ByP8 (number g, number k, number q, number nu, number x1, number x, number s, way rest)
  | ["P9"; u; t; s; q; g; e; y] -> ByP9 (number u, number t, number s, number q, number g, number e, number y)
  | "P9b" :: u :: t :: s :: q :: x :: a :: y :: rest ->
    ByP9b (number u, number t, number s, number q, number x, number a, number y, way rest)
  | [] -> fail "no theorem"
  | name :: _ -> fail ("not a theorem with these numbers: " ^ name)

(* Fans are written n_1 .. n_(L-1) and stand in Coq in prompt order, n_(L-1) first. *)
let accepted words =
  match words with
  | "impossible" :: "m" :: rest ->
    let m, rest = until "fan" [] rest in
    let fans, rest = until "M" [] rest in
    let mm, rest = until "A" [] rest in
    let widths, rest = until "by" [] rest in
    check (one "m" m) (List.rev fans) (one "M" mm) widths (certificate rest)
  | _ -> fail "a certificate begins with \"impossible m\""

let theorem words =
  let rec after = function "by" :: name :: _ -> name | _ :: rest -> after rest | [] -> "" in after words

let rec lines channel n status =
  match input_line channel with
  | exception End_of_file -> status
  | line ->
    let line = String.map (fun c -> if c = '\t' || c = '\r' then ' ' else c) line in
    let words = List.filter (fun w -> w <> "") (String.split_on_char ' ' line) in
    let verdict =
      if words = [] || (List.hd words).[0] = '#' then status
      else
        match accepted words with
        | true -> Printf.printf "accepted %d %s\n" n (theorem words); if status < 0 then 0 else status
        | false -> Printf.printf "rejected %d %s\n" n (theorem words); max status 1
        | exception Malformed why -> Printf.printf "malformed: %s, line %d\n" why n; 2
    in
    lines channel (n + 1) verdict

let () =
  let status =
    match Array.to_list Sys.argv with
    | [_; "-"] -> lines stdin 1 (-1)
    | [_; file] -> (
      match open_in file with
      | channel -> lines channel 1 (-1)
      | exception Sys_error why -> prerr_endline ("hopbound-checker: " ^ why); 2)
    | _ -> prerr_endline "usage: hopbound-checker FILE   (\"-\": standard input; the format is in proofs/CERTIFICATE.md)"; 2
  in
  if status < 0 then (prerr_endline "hopbound-checker: no certificate"; exit 2) else exit status
