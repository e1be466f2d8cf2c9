/* A certificate is written down as proofs/CERTIFICATE.md says, and the room check, which shares nothing with
 * the search, reads that text and judges it. What it does not accept is no certificate. */
#include "certificate.h"

#include <hopbound/check.h>

#include <stdlib.h>
#include <string.h>

const char *hop_proof_name(bool machine_checked)
{
    return machine_checked ? "machine-checked" : "on paper";
}

void hop__proof_clear(hop__proof *p)
{
    for (int i = 0; i < HOP__PROOF_INTEGERS; i++) fmpz_clear(&p->of[i]);
}

/* ---- the line ------------------------------------------------------------------------------------------ */

static void add_integer(hop_text *t, const fmpz_t x)
{
    char *digits = fmpz_get_str(NULL, 10, x);
    hop_text_add(t, " ");
    hop_text_add(t, digits);
    flint_free(digits);
}

static void add_integers(hop_text *t, const fmpz *list, int count)
{
    for (int i = 0; i < count; i++) add_integer(t, &list[i]);
}

static void write_line(hop_text *t, const hop__case *c, const hop__proof *p, const fmpz *sizes)
{
    hop_text_add(t, "impossible m");
    add_integer(t, &sizes[0]);
    hop_text_add(t, " fan");
    add_integers(t, sizes + 1, c->hops - 1);
    hop_text_add(t, " M");
    add_integer(t, &c->hybrid.reply);
    hop_text_add(t, " A");
    add_integers(t, c->hybrid.state, (int)c->hybrid.full + 1);
    hop_text_printf(t, " by %s", p->by);
    add_integers(t, p->of, p->count);
    if (p->levels) {
        hop_text_add(t, " lines");
        add_integers(t, p->levels->first, 5);
        add_integers(t, p->levels->of, 3 * p->levels->count);
    }
}

/* What could not be looked at for lack of memory is no answer: c has failed then. */
static hop_check accepted(hop__case *c, const hop_text *line)
{
    hop_check check = {.valid = false};
    if (!line->s || line->failed || hop_check_certificate(&check, line->s, line->len, NULL) != HOP_OK)
        hop__keep_block(c, NULL);
    return check;
}

/* ---- as data ------------------------------------------------------------------------------------------- */

static const char *const *say_lines(hop__case *c, const hop__levels *l)
{
    int count = 5 + 3 * l->count;
    fmpz *all = calloc((size_t)count, sizeof *all);
    if (!all) return hop__keep_block(c, NULL);
    for (int i = 0; i < count; i++) all[i] = i < 5 ? l->first[i] : l->of[i - 5]; /* borrowed */
    const char *const *out = hop__say_list(c, all, count, count);
    free(all);
    return out;
}

static const hop_certificate *keep_certificate(hop__case *c, const hop__proof *p, const fmpz *sizes,
                                               const hop_check *check, hop_text *line)
{
    hop_certificate *out = hop__keep_block(c, calloc(1, sizeof *out));
    if (!out) {
        hop_text_free(line);
        return NULL;
    }
    int gaps = (int)c->hybrid.full + 1;
    const char *const *all = hop__say_list(c, sizes, c->hops, c->hops);
    *out = (hop_certificate){.by = p->by,
                             .m = all ? all[0] : "",
                             .fan = all ? all + 1 : NULL,
                             .reply = hop__say_digits(c, &c->hybrid.reply),
                             .state = hop__say_list(c, c->hybrid.state, gaps, gaps),
                             .names = hop__say_texts(c, p->names, p->count, NULL, 0),
                             .integers = hop__say_list(c, p->of, p->count, p->count),
                             .lines = p->levels ? say_lines(c, p->levels) : NULL,
                             .has = hop__say(c, "%s", check->has),
                             .needs = hop__say(c, "%s", check->needs),
                             .has_bits = check->has_bits,
                             .needs_bits = check->needs_bits,
                             .text = hop__keep_text(c, line)};
    return out;
}

bool hop__certify(hop__case *c, hop_bound *b, const hop__proof *p, const fmpz *sizes, int count)
{
    if (c->hybrid.full >= HOP__GAPS) return false; /* its gaps are not kept */
    fmpz all[HOP_MAX_HOPS];
    hop_text line = {0};
    for (int l = 0; l < c->hops; l++) {
        fmpz_init_set_ui(&all[l], 2);
        if (l < count) fmpz_set(&all[l], &sizes[l]);
    }
    write_line(&line, c, p, all);
    hop_check check = accepted(c, &line);
    if (check.valid) {
        b->certificate = keep_certificate(c, p, all, &check, &line);
        b->has_bits = check.has_bits, b->needs_bits = check.needs_bits;
    } else {
        hop_text_free(&line);
    }
    for (int l = 0; l < c->hops; l++) fmpz_clear(&all[l]);
    return check.valid;
}

/* ---- for coqc -------------------------------------------------------------------------------------------- */

/* "[:: %:26; %:3]", from the last on where `back`. */
static void coq_list(hop_text *t, const char *const *list, const char *mark, bool back)
{
    int count = 0;
    while (list[count]) count++;
    hop_text_add(t, "[::");
    for (int i = 0; i < count; i++)
        hop_text_printf(t, "%s %s%s", i ? ";" : "", mark, list[back ? count - 1 - i : i]);
    hop_text_add(t, "]");
}

/* The certificate as a term: (byP4 76), (byP6 x_0 [:: (x_1, s_1); ..]), (byP8 .. (Lines ..)). */
static void coq_term(hop_text *t, const hop_certificate *c)
{
    bool hops = strcmp(c->by, "P6") == 0 || strcmp(c->by, "P7G") == 0;
    hop_text_printf(t, "(by%s", c->by);
    for (int i = 0; c->integers[i]; i++) {
        if (!hops || i == 0)
            hop_text_printf(t, " %s", c->integers[i]);
        else if (i % 2)
            hop_text_printf(t, "%s (%s,", i == 1 ? " [::" : ";", c->integers[i]);
        else
            hop_text_printf(t, " %s)", c->integers[i]);
    }
    if (hops) hop_text_add(t, c->integers[1] ? "]" : " [::]");
    if (c->lines) {
        hop_text_add(t, "\n  (Lines");
        for (int i = 0; i < 5; i++) hop_text_printf(t, " %s", c->lines[i]);
        hop_text_add(t, " [::");
        for (int i = 5; c->lines[i]; i += 3)
            hop_text_printf(t, "%s (%s, %s, %s)",
                            i == 5  ? ""
                            : i % 4 ? ";"
                                    : ";\n   ",
                            c->lines[i], c->lines[i + 1], c->lines[i + 2]);
        hop_text_add(t, "])");
    }
    hop_text_add(t, ")");
}

void hop_certificate_coq(hop_text *out, const hop_certificate *c)
{
    hop_text_add(out, "From Coq Require Import NArith.\n"
                      "From mathcomp Require Import all_ssreflect.\n"
                      "From Hopbound Require Import Check.\n");
    hop_text_printf(out, "Theorem verdict : impossible %%:%s ", c->m);
    coq_list(out, c->fan, "%:", true);
    hop_text_printf(out, " %%:%s ", c->reply);
    coq_list(out, c->state, "%:", false);
    hop_text_printf(out, ".\nProof. apply: (@check_sound %s ", c->m);
    coq_list(out, c->fan, "", true);
    hop_text_printf(out, " %s ", c->reply);
    coq_list(out, c->state, "", false);
    hop_text_add(out, " ");
    coq_term(out, c);
    hop_text_add(out, ")%num. vm_cast_no_check (erefl true). Qed.\nPrint Assumptions verdict.\n");
}
