/* The separation at one length, against everything that is built here: at its sizes, no network that can be
 * written down is of a plan that a theorem calls impossible, and what fits the width has more full layers
 * than the plans below. */
#include "bounds_ask.h"

#include <hopbound/construct.h>
#include <hopbound/mixers.h>

enum { MOST_SUBJECTS = 64 };

typedef struct builds {
    const char *kind, *mixer;
} builds;

/* Every kind that answers the prompt at once and only looks back, a hybrid of every linear mixer. */
static int all_of_ours(builds *list)
{
    int n = 0;
    list[n++] = (builds){"full", NULL};
    list[n++] = (builds){"linear", NULL};
    for (int i = 0; hop_mixer_at(i); i++)
        if (hop_mixer_at(i)->kind == HOP_MIXER_RECURRENT)
            list[n++] = (builds){"hybrid", hop_mixer_at(i)->name};
    assert_true(n < MOST_SUBJECTS);
    return n;
}

static hop_task sizes_of(const hop_separation *s)
{
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    assert_int_equal(hop_funccomp_init(&t.funccomp, s->hops, s->m, s->fan + 1, NULL), HOP_OK);
    assert_int_equal(hop_task_ready(&t, NULL), HOP_OK);
    return t;
}

/* Full layers, -1: some layer is wider than the separation's. */
static int64_t full_within(const hop_arch *a, const hop_separation *s)
{
    int64_t full = 0;
    for (int64_t i = 0; i < a->count; i++) {
        const hop_arch_layer *l = &a->layers[i];
        if (l->kind == HOP_LAYER_FULL && l->heads * (l->dim + 2) * l->number_bits > s->message_bits)
            return -1;
        if (l->kind == HOP_LAYER_LINEAR && l->state_bits > s->state_bits) return -1;
        full += l->kind == HOP_LAYER_FULL ? l->repeat : 0;
    }
    return full;
}

static void try_all(const hop_separation *s, int *fitting)
{
    builds list[MOST_SUBJECTS];
    hop_task task = sizes_of(s);
    int count = all_of_ours(list);
    for (int i = 0; i < count; i++) {
        hop_model *m = NULL;
        hop_arch a;
        hop_error err = {0};
        const hop_construct_options o = {.mixer = list[i].mixer};
        hop_status got = hop_construct(&m, list[i].kind, &task, &o, &err);
        if (got == HOP_EDOMAIN && strcmp(list[i].kind, "linear") == 0) continue; /* too large a table */
        if (got != HOP_OK) fail_msg("%s: %s", list[i].kind, err.text);
        const hop_arch_options read = {.number_bits = s->bits, .declared = true};
        assert_int_equal(hop_arch_new(&a, hop_model_config(m), &read, &err), HOP_OK);
        hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = s->hops, .m = s->m, .fan = s->fan + 1});
        for (int k = 0; k < b->count; k++)
            if (b->results[k].answer == HOP_ANSWER_IMPOSSIBLE)
                fail_msg("%s %s is built, and %s calls it impossible: %s", list[i].kind,
                         list[i].mixer ? list[i].mixer : "", b->results[k].id, b->results[k].why);
        int64_t full = full_within(&a, s);
        for (int row = 0; row < HOP_ROWS && full >= 0; row++)
            if (s->rows[row].answer == HOP_ANSWER_IMPOSSIBLE && s->rows[row].full_layers >= full)
                /* L full layers are too few only where no linear one stands before them */
                assert_true(row == HOP_ROW_FEWER && strcmp(list[i].kind, "hybrid") == 0);
        *fitting += full >= 0;
        hop_bounds_free(b);
        hop_arch_free(&a);
        hop_model_free(m);
    }
}

static void nothing_that_is_built_is_of_an_impossible_plan(void **state)
{
    (void)state;
    static const struct {
        int hops, bits;
        int64_t n;
    } at[] = {{1, 16, 37}, {2, 13, 2954}, {2, 16, 4673}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        hop_separation s = {.hops = at[i].hops, .bits = at[i].bits, .linear = 1};
        hop_error err = {0};
        int fitting = 0;
        if (hop_separation_find(&s, false, NULL, &err) != HOP_OK) fail_msg("%s", err.text);
        assert_int_equal(s.n, at[i].n);
        assert_int_equal(s.rows[HOP_ROW_GAPS].answer, HOP_ANSWER_IMPOSSIBLE);
        try_all(&s, &fitting);
        assert_true(fitting >= 2); /* full, and deltanet's hybrid at least: the width is theirs */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_that_is_built_is_of_an_impossible_plan)};
    return cmocka_run_group_tests_name("bounds_separation", tests, NULL, NULL);
}
