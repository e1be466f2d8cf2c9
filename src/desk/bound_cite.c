/* One verdict as a paragraph that can be quoted: everything it supposes, the sizes, what the proof chooses, and both sides of
 * its inequality. The same words for people and for LaTeX. */
#include "bound.h"

#include <hopbound/version.h>

#include <ctype.h>
#include <math.h>
#include <string.h>

HOP_RECORD_TABLE(hop_cite_answer, HOP_CITE_ANSWER, "a verdict as a paragraph to quote")

/* ---- the words -------------------------------------------------------------------------------------- */

/* The largest of the full layers, as M counts them. */
static void say_widths(hop_text *t, const hop_arch *a)
{
    const hop_arch_layer *most = NULL;
    for (int64_t i = 0; i < a->count; i++) {
        const hop_arch_layer *l = &a->layers[i];
        bool full = l->kind == HOP_LAYER_FULL || l->kind == HOP_LAYER_BOTH;
        if (full &&
            (!most || l->heads * l->dim * l->number_bits > most->heads * most->dim * most->number_bits))
            most = l;
    }
    if (most)
        hop_text_printf(
            t, " The widest full layer has H = %lld heads with d = %lld numbers of p = %lld bits.",
            (long long)most->heads, (long long)(most->reply_dim > most->dim ? most->reply_dim : most->dim),
            (long long)most->number_bits);
}

static void say_network(hop_text *t, const bound_facts *b, const hop_bound *by)
{
    const hop_certificate *c = by->certificate;
    hop_text_printf(t, "Let the layers of a network be, in order, %s: %lld of full attention, %lld linear.",
                    b->arch->pattern.s, (long long)b->arch->full, (long long)b->arch->linear);
    say_widths(t, &b->arch->arch);
    if (by->answer != HOP_ANSWER_POSSIBLE) hop_text_add(t, " Let it be " HOP_BOUNDS_MODEL ".");
    if (c) {
        hop_text_printf(t,
                        " A full layer tells a token M = %s bits of one earlier table; the states of all "
                        "linear layers carry",
                        c->reply);
        for (int e = 0; c->state[e]; e++) hop_text_printf(t, "%s A_%d = %s", e ? "," : "", e, c->state[e]);
        hop_text_add(t, " bits, A_e behind the e-th full layer.");
    } else if (*by->has) {
        hop_text_printf(t, " It has %s.", by->has);
    }
}

static void say_hypotheses(hop_text *t, const hop_bound *by)
{
    bool first = true;
    for (int i = 0; i < by->hypothesis_count; i++) {
        if (!by->hypotheses[i].met) continue;
        hop_text_printf(t, "%s %s", first ? " Hypotheses of the theorem, all met:" : ";",
                        by->hypotheses[i].text);
        first = false;
    }
    if (!first) hop_text_add(t, ".");
}

/* "m = 2679, n_1 = 6" */
static void say_sizes(hop_text *t, const char *const *sizes, int hops)
{
    for (int l = 0; l < hops && sizes && sizes[l]; l++)
        if (l)
            hop_text_printf(t, ", n_%d = %s", l, sizes[l]);
        else
            hop_text_printf(t, " m = %s", sizes[l]);
}

static void say_impossible(hop_text *t, const bound_facts *b, const hop_bound *by)
{
    const hop_certificate *c = by->certificate;
    int hops = b->question.hops;
    hop_text_printf(t, " Then, whatever its weights, it does not compose %d function%s (%d hop%s)", hops,
                    hops > 1 ? "s" : "", hops, hops > 1 ? "s" : "");
    if (b->question.m) {
        hop_text_printf(t, " at m = %lld", (long long)b->question.m);
        for (int l = 0; l < hops - 1; l++)
            hop_text_printf(t, ", n_%d = %lld", l + 1, (long long)b->question.fan[l]);
    } else if (by->speaks_from) {
        hop_text_printf(t, " at any length n >= %s", by->speaks_from);
        if (by->sizes) hop_text_add(t, ": it errs on some prompt with");
        say_sizes(t, by->sizes, hops);
    }
    hop_text_add(t, ".");
    if (c && c->integers && c->integers[0]) {
        hop_text_add(t, " The proof chooses");
        for (int i = 0; c->integers[i]; i++)
            hop_text_printf(t, "%s %s = %s", i ? "," : "", c->names[i], c->integers[i]);
        hop_text_add(t, ".");
    }
    if (c)
        hop_text_printf(t, " What is told is %s bits, the answers take %s.", c->has, c->needs);
    else if (*by->needs)
        hop_text_printf(t, " To be able it would need %s.", by->needs);
}

static void say_possible(hop_text *t, const bound_facts *b, const hop_bound *by)
{
    int hops = b->question.hops;
    hop_text_printf(t, " Then there are weights with which it composes %d function%s (%d hop%s)", hops,
                    hops > 1 ? "s" : "", hops, hops > 1 ? "s" : "");
    if (b->question.n)
        hop_text_printf(t, " rightly on every prompt of at most %lld tokens", (long long)b->question.n);
    else if (b->question.m)
        hop_text_printf(t, " rightly on every prompt with m = %lld", (long long)b->question.m);
    else if (by->up_to)
        hop_text_printf(t, " rightly on every prompt of at most %s tokens", by->up_to);
    else
        hop_text_printf(t, ": %s", by->why);
    hop_text_add(t, ", where " HOP_BOUNDS_IDEALISED ".");
}

/* "P4', machine-checked, hopbound 0.2.0" */
static void say_head(hop_text *t, const hop_bound *by)
{
    hop_text_printf(t, "%s, %s%s, hopbound %s", by->id, by->published ? "published, " : "",
                    by->answer == HOP_ANSWER_POSSIBLE ? "on paper" : hop_proof_name(by->certificate != NULL),
                    hop_version());
}

static void say_body(hop_text *t, const bound_facts *b, const hop_bound *by)
{
    say_network(t, b, by);
    say_hypotheses(t, by);
    if (by->answer == HOP_ANSWER_POSSIBLE)
        say_possible(t, b, by);
    else
        say_impossible(t, b, by);
    hop_text_printf(t, " (docs/BOUNDS.md: %s.)", by->statement);
}

/* ---- LaTeX -------------------------------------------------------------------------------------------- */

/* "n_12" and "10^(3.6)" with their indices in braces. */
static void add_formula(hop_text *out, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool index =
            (word[i] == '_' || word[i] == '^') && i + 1 < n && word[i + 1] != '{' && word[i + 1] != '(';
        if (strncmp(word + i, ">=", 2) == 0 && i + 1 < n) {
            hop_text_add(out, "\\ge "), i++;
        } else if (strncmp(word + i, "log2", 4) == 0 && i + 3 < n) {
            hop_text_add(out, "\\log_2 "), i += 3;
        } else {
            hop_text_printf(out, "%c%s", word[i], index ? "{" : "");
            if (!index) continue;
            for (; i + 1 < n && (isalnum((unsigned char)word[i + 1]) || word[i + 1] == '.'); i++)
                hop_text_printf(out, "%c", word[i + 1]);
            hop_text_add(out, "}");
        }
    }
}

static void add_plain(hop_text *out, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hop_text_printf(out,
                        strchr("%&#$_{}", word[i])         ? "\\%c"
                        : word[i] == '~' || word[i] == '^' ? "\\%c{}"
                                                           : "%c",
                        word[i]);
}

/* Words with an index, comparisons and letters alone are formulas. */
static bool is_formula(const char *word, size_t n)
{
    bool letter = n == 1 && isalpha((unsigned char)*word) && !strchr("aAI", *word);
    return letter || memchr(word, '_', n) || memchr(word, '^', n) ||
           (n == 2 && strncmp(word, ">=", 2) == 0) || (n == 1 && strchr("=<>", *word)) ||
           (n == 4 && strncmp(word, "log2", 4) == 0);
}

static void add_latex(hop_text *out, const char *head, const char *text)
{
    hop_text_add(out, "\\begin{theorem}[");
    add_plain(out, head, strlen(head));
    hop_text_add(out, "]\n");
    while (*text) {
        size_t n = strcspn(text, " "), core = n;
        while (core > 1 && strchr(",;:.)", text[core - 1])) core--;
        if (is_formula(text, core)) {
            hop_text_add(out, "$");
            add_formula(out, text, core);
            hop_text_add(out, "$");
        } else {
            add_plain(out, text, core);
        }
        add_plain(out, text + core, n - core);
        text += n + (text[n] == ' ');
        hop_text_add(out, *text ? " " : "\n");
    }
    hop_text_add(out, "\\end{theorem}");
}

/* ---- the answer ----------------------------------------------------------------------------------------- */

static const hop_bound *cited(const bound_facts *b)
{
    bool asked = b->question.n || b->question.m;
    const hop_bound *yes = hop_bounds_first(b->bounds, HOP_FIRST_POSSIBLE),
                    *no = hop_bounds_first(b->bounds, asked ? HOP_FIRST_CERTIFIED : HOP_FIRST_IMPOSSIBLE);
    return asked && yes ? yes : no ? no : yes;
}

hop_status hop__bound_cite(hop_response *response, const bound_facts *b, bool latex, hop_error *err)
{
    hop_keep *k = &response->memory;
    const hop_bound *by = cited(b);
    hop_text head = {0}, body = {0}, text = {0}, formulas = {0};
    if (!by) return hop_fail(err, HOP_EUNDECIDED, "--cite: no theorem says possible or impossible here");
    hop_cite_answer *out = hop_response_begin(response, &hop_cite_answer_record, err);
    if (!out) return HOP_ENOMEM;
    const char **met = hop_keep_bytes(k, (size_t)by->hypothesis_count + 1, sizeof *met);
    int count = 0;
    for (int i = 0; met && i < by->hypothesis_count; i++)
        if (by->hypotheses[i].met) met[count++] = hop_keep_text(k, by->hypotheses[i].text);
    say_head(&head, by);
    say_body(&body, b, by);
    hop_text_printf(&text, "Theorem (%s). %s", hop_text_in(&text, &head), hop_text_in(&text, &body));
    add_latex(&formulas, hop_text_in(&formulas, &head), hop_text_in(&formulas, &body));
    hop_text_free(&head), hop_text_free(&body);
    bool possible = by->answer == HOP_ANSWER_POSSIBLE;
    *out = (hop_cite_answer){.theorem = hop_keep_text(k, by->id),
                             .statement = hop_keep_text(k, by->statement),
                             .verdict = by->answer,
                             .machine_checked = possible ? HOP_NO_FLAG : by->certificate != NULL,
                             .hypotheses = {met, count},
                             .model = possible ? HOP_BOUNDS_IDEALISED : HOP_BOUNDS_MODEL,
                             .has_bits = by->has_bits,
                             .needs_bits = by->needs_bits,
                             .parameters = hop__bound_integers(k, by->certificate),
                             .certificate = hop_keep_text(k, by->certificate ? by->certificate->text : NULL),
                             .version = hop_version(),
                             .as_latex = latex,
                             .text = hop_keep_grown(k, &text),
                             .latex = hop_keep_grown(k, &formulas)};
    return hop_response_end(response, err);
}
