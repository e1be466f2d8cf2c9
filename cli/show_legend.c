/* What the symbols of the theorems mean: one table, from which `bound` says those that occur. */
#include "show_bound.h"

#include <ctype.h>
#include <string.h>

#define TEXT_WIDTH 108
#define INDENT     "  "

/* `of`: the theorems whose symbol it is, with blanks around; NULL: all others'. A name that ends with _ has
 * any index; it is shown as `shown`. What a proof chooses is told in docs/BOUNDS.md, in the same letters. */
typedef struct symbol {
    const char *of, *name, *shown, *means;
} symbol;

/* clang-format off */
static const symbol SYMBOLS[] = {
    {NULL, "L", "L", "the hops asked for"},
    {NULL, "n", "n", "tokens of the prompt"},
    {NULL, "m", "m", "entries of the first table"},
    {NULL, "n_", "n_l", "how many times longer table l+1 is than table l"},
    {NULL, "N_", "N_l", "m n_1 .. n_l, entries of table l+1"},
    {NULL, "N", "N", "entries of the last table"},
    {NULL, "z_", "z_l", "table l, z_0 the start"},
    {NULL, "i_", "i_l", "where l hops lead"},
    {NULL, "w_", "w_l", "digit l of the query"},
    {NULL, "H", "H", "heads"},
    {NULL, "d", "d", "numbers in a head"},
    {NULL, "p", "p", "bits of a number"},
    {NULL, "Hdp", "Hdp", "heads times numbers in a head times bits of a number"},
    {NULL, "M", "M", "H(d+2)p for each accumulator, bits that a full layer tells a token of one earlier table"},
    {NULL, "A_", "A_e", "state bits of all linear layers behind the e-th full one, A_0 before the first"},
    {NULL, "Q", "Q", "state bits of all layers together"},
    {" T1 ", "O", "O", "O~, up to factors that the theorem does not state; at its n, 4L <= log2 log2 n"},
    {" T6 ", "D", "D", "values of a function"},
    {" T5 ", "B", "B", "tokens in a block"},
    {" P3 ", "R", "R(D)", "bits that an entry takes to be right with probability 1-D"},
    {" P4 ", "V", "V", "values of the first hop that the proof tells apart"},
    {" P6 P7G ", "x_", "x_l", "tables z_l that the proof tries, x_0 starts"},
    {" P6 P7G ", "s_", "s_l", "values that l hops of these reach at least"},
    {" P6 P7G ", "Delta_", "Delta_l", "bits that fixing all messages up to hop l costs"},
    {" P4' P7 P8 P9 ", "q", "q", "values that an entry may take in the proof"},
    {" P4' P7 P9 ", "t", "t", "groups of starts"},
    {" P4' P7 P9 ", "s", "s", "starts in a group"},
    {" P7 P9 ", "g", "g", "queries in a bundle"},
    {" P7 P9 ", "e", "e", "bundles of queries"},
    {" P4' P7 P9 ", "Y", "Y", "values that some label is sure to leave"},
    {" P4' P8 ", "S", "S", "values that the draws take in all"},
    {" P9 ", "u", "u", "values of w_1 that are used"},
    {" P9 ", "a", "a", "bits of the share of tables that are drawn from"},
    {" P8 ", "k", "k", "blocks of queries w_1, q in each"},
    {" P8 ", "kq", "kq", "k q"},
    {" P8 ", "nu", "nu", "queries w_2 for each of them"},
    {" P8 ", "g", "g", "entries of z_1 that vary"},
    {" P8 ", "x_", "x_1", "tables z_1 that are tried"},
    {" P4' ", "x", "x", "tables z_1 that are drawn"},
    {" P8 P9 ", "x", "x", "tables z_2 that are drawn"},
};
/* clang-format on */
#define SYMBOL_COUNT (sizeof SYMBOLS / sizeof *SYMBOLS)

static bool is_of(const symbol *s, const char *id)
{
    char word[16];
    if (!s->of) return true;
    snprintf(word, sizeof word, " %s ", id);
    return strstr(s->of, word) != NULL;
}

/* The row of this name in this theorem; -1: it is a word, not a symbol. */
static int row_of(const char *id, const char *name, size_t length)
{
    for (size_t i = 0; i < SYMBOL_COUNT; i++)
        if (strlen(SYMBOLS[i].name) == length && memcmp(SYMBOLS[i].name, name, length) == 0 &&
            is_of(&SYMBOLS[i], id))
            return (int)i;
    return -1;
}

/* Letters, and an underscore if an index follows: "n_1" is n_, "log2" is log. */
static void look_at(bool *seen, const char *id, const char *text)
{
    while (text && *text) {
        size_t n = 0;
        while (isalpha((unsigned char)text[n])) n++;
        if (n && text[n] == '_') n++;
        int row = n ? row_of(id, text, n) : -1;
        if (row >= 0) seen[row] = true;
        while (n && (isalnum((unsigned char)text[n]) || text[n] == '_')) n++; /* the index */
        text += n ? n : 1;
    }
}

static void look_at_result(bool *seen, const hop_bound_result *r)
{
    look_at(seen, r->id, r->needs);
    look_at(seen, r->id, r->has);
    look_at(seen, r->id, r->why);
    if (r->sizes.at) look_at(seen, r->id, r->sizes.count > 1 ? "m n_1" : "m");
    if (r->x.at) look_at(seen, r->id, "x_0");
    if (r->s.at) look_at(seen, r->id, "s_1");
    if (r->certificate) look_at(seen, r->id, r->certificate->integers); /* the keys of that object */
    for (size_t i = 0; i < SYMBOL_COUNT; i++) /* what is explained by others; those stand anywhere */
        if (seen[i] && is_of(&SYMBOLS[i], r->id)) look_at(seen, r->id, SYMBOLS[i].means);
}

/* " (P7, P9)": those of the results whose symbol it is. */
static void add_owners(hop_text *piece, const symbol *s, const hop_bound_result *const *results, int count)
{
    const char *between = " (";
    for (int i = 0; i < count; i++) {
        if (!results[i]->applies || !is_of(s, results[i]->id)) continue;
        hop_text_printf(piece, "%s%s", between, results[i]->id);
        between = ", ";
    }
    hop_text_add(piece, ")");
}

void show_legend(hop_text *out, const hop_bound_result *const *results, int count)
{
    bool seen[SYMBOL_COUNT] = {false};
    size_t column = 0;
    for (int i = 0; i < count; i++)
        if (results[i]->applies) look_at_result(seen, results[i]);
    hop_text_add(out, "\nSymbols; what a proof chooses is told in docs/BOUNDS.md, in the same letters:\n");
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        hop_text piece = {0};
        if (!seen[i] && strcmp(SYMBOLS[i].name, "n") != 0) continue; /* n heads a column */
        hop_text_printf(&piece, "%s: %s", SYMBOLS[i].shown, SYMBOLS[i].means);
        if (SYMBOLS[i].of) add_owners(&piece, &SYMBOLS[i], results, count);
        bool fits = column + piece.len + 2 <= TEXT_WIDTH;
        hop_text_printf(out, "%s%s",
                        column == 0 ? INDENT
                        : fits      ? "; "
                                    : ";\n" INDENT,
                        hop_text_in(out, &piece));
        column = (fits ? column : 0) + piece.len + 2;
        hop_text_free(&piece);
    }
    hop_text_add(out, "\n");
}
