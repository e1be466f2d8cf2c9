/* A recurrence's charge: what one unit of each form loses (a token, or a chunk), and how that adds up.
 *
 * What a token has written is charged once where it is added (`add`), at every later unit where the state
 * fades (`carry`; `drift`, where decays are so near to 1 that it stays what it is), and where it is read. Errors below the normal numbers are made at every unit, and grow as
 * the state does (`amp`). Corrections of delta rules are charged in proportion to their share of the products
 * that are read: of a majorant that grows by e^c, terms with j corrections have c^j / j!, on average c. */
#include "charge.h"

#include <hopbound/kernels.h>

#include <string.h>

/* Chunks have more tokens, but for the last of a call. */
enum { FEW = HOP_ARITH_FEW };

static const hop__num *given(const hop__recurrence *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->given[i].name, name) == 0) return &r->given[i].num;
    return NULL;
}

/* The inputs of a form; false: one is not given. state: the largest number of a state, and what it is off. */
static bool bind(hop__reading *x, const hop__recurrence *r, hop__num state)
{
    for (int i = 0; i < x->p->count; i++) {
        const hop_line *l = x->p->line[i];
        const hop__num *num = given(r, l->name);
        if (l->prim != HOP_PRIM_INPUT) continue;
        if (strcmp(l->name, "S") == 0) {
            x->v[i] = state;
        } else if (strcmp(l->name, "m") == 0) {
            const hop__num *i_gate = given(r, "i"); /* 0 at first, later what RUNMAX says */
            if (!i_gate) return false;
            double far = (2 * HOP_UNIT_ROUNDOFF + r->round) * i_gate->mag;
            x->v[i] = hop__num_given(ival_widen(ival_hull(ival_point(0), i_gate->range), far), HOP__NO_GRID);
        } else if (num) {
            x->v[i] = *num;
        } else {
            return false;
        }
    }
    return true;
}

/* A form over units of `tokens` tokens. */
static bool read_form(hop__reading *x, const hop__recurrence *r, const hop_arith *p, double tokens,
                      hop__num state)
{
    *x = (hop__reading){.p = p, .tokens = r->tokens, .round = r->round};
    x->size[HOP_AXIS_T] = x->size[HOP_AXIS_J] = tokens;
    x->size[HOP_AXIS_K] = r->keys, x->size[HOP_AXIS_V] = r->values;
    x->terms = ival_least(tokens, r->active);
    if (!bind(x, r, state)) return false;
    hop__reading_run(x);
    return true;
}

/* The largest number that a state can hold: all tokens' writings together, enlarged. What one writes is what
 * it makes of a state of zeros. */
static hop__num largest_state(const hop__recurrence *r, const hop_arith *step)
{
    hop__reading x;
    if (!read_form(&x, r, step, 1, hop__num_given(ival_point(0), HOP__ANY_GRID)) || step->next < 0)
        return hop__num_given((ival){-INFINITY, INFINITY}, HOP__NO_GRID);
    /* Four times: where keys do not meet twice as much may be written, and rounded stabilisers are 1.7. */
    double most = x.v[step->next].mag * r->tokens * r->growth * 4 * HOP__ABOVE;
    if (r->growth > 1) most *= sqrt(r->keys) * HOP__ABOVE; /* it is lengths that grow by it */
    return hop__num_given((ival){-most, most}, x.v[step->next].grid);
}

/* Is no number of a form, on its grid, too small for float32? */
static bool on_grids(const hop__reading *x)
{
    for (int i = 0; i < x->p->count; i++)
        if (x->v[i].grid == HOP__NO_GRID || (x->v[i].grid != HOP__ANY_GRID && x->v[i].grid <= -140))
            return false;
    return true;
}

/* Rounding of a state's numbers below the normal ones, where they cross or are cut. */
static double faint_crossing(const hop__recurrence *r)
{
    return hop__crossing(r->round, 0) + (r->bits > 0 ? 0x1p-148 : 0);
}

static void charge_form(hop__charge *c, const hop__recurrence *r, const hop_arith *p, bool token,
                        hop__num state)
{
    hop__reading whole, few;
    double unit = token ? 1 : HOP_ARITH_CHUNK;
    if (!read_form(&whole, r, p, unit, state) || !read_form(&few, r, p, token ? 1 : FEW + 1, state)) {
        c->fits = false;
        return;
    }
    c->fits = c->fits && whole.fits && few.fits;
    double carry = few.keeps == whole.keeps ? few.carry : whole.carry,
           units = r->tokens / (token ? 1 : FEW + 1);
    if (p->line[p->next]->prim == HOP_PRIM_ADD) carry += HOP_UNIT_ROUNDOFF;
    double passes = whole.keeps ? r->active * carry + units * few.drift * HOP__ABOVE : units * carry;
    double add = ival_most(whole.add, whole.v[p->next].rel); /* where several parts are added, of the worst */
    /* Where corrections turn, a term with j of them has j errors beside its own: (1 + c) e^c - 1 in all, c the log of
     * `growth`, and not (1 + c)(e^c - 1), which is half of that at small c. */
    double all =
        (add + whole.v[p->reads].rel + passes + r->crossings) * ((r->growth > 1 ? 2 : 1) + log(r->growth));
    c->rel = ival_most(c->rel, expm1(all) * 1.01);
    /* The same with what the state is off by then. */
    double off = (whole.v[p->next].abs + faint_crossing(r)) * r->tokens * r->amp * 2;
    state.abs = off;
    if (!read_form(&whole, r, p, unit, state)) c->fits = false;
    c->fits = c->fits && whole.fits;
    c->abs = ival_most(c->abs, whole.v[p->reads].abs * HOP__ABOVE);
    if (r->look && c->fits) r->look(r->ctx, &whole);
}

bool hop__recurrence_open(hop__memory *m, hop__recurrence *r, const hop_program *const *forms)
{
    for (int i = 0; forms[i]; i++) {
        hop_arith *p = hop__take(m, 1, sizeof *p);
        if (!p) return false;
        hop_arith_open(p, forms[i]);
        r->form[i] = p;
    }
    return true;
}

hop__charge hop__recurrence_charge(const hop__recurrence *r)
{
    hop__charge c = {.fits = true};
    hop__num state = largest_state(r, r->form[0]);
    for (int i = 0; i < HOP__MOST_FORMS && r->form[i]; i++) charge_form(&c, r, r->form[i], i == 0, state);
    if (!(c.rel >= 0 && c.abs >= 0)) c.fits = false; /* not a number */
    return c;
}

bool hop__recurrence_on_grids(hop__recurrence r, int q, int k, int v)
{
    hop__reading x;
    bool fine = true;
    for (int i = 0; i < r.count; i++) {
        const char *name = r.given[i].name;
        int *grid = &r.given[i].num.grid;
        *grid = strcmp(name, "q") == 0 ? q : strcmp(name, "k") == 0 ? k : strcmp(name, "v") == 0 ? v : *grid;
    }
    hop__num state = largest_state(&r, r.form[0]);
    for (int i = 0; fine && i < HOP__MOST_FORMS && r.form[i]; i++)
        fine = read_form(&x, &r, r.form[i], i == 0 ? 1 : HOP_ARITH_CHUNK, state) && on_grids(&x);
    return fine;
}
