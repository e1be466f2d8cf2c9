/* Random damage, several changes at once, over all kinds of constructions: signs turned, numbers zeroed, rows
 * exchanged, entries, rows and matrices multiplied by powers of two, one unit in the last place more.
 * A third is proved and run with activations cut to fewer bits. Whatever is proved must answer every input
 * rightly, in every form and with every kernel table. */
#include "against_truth.h"

enum { WALKS = 20000 };

/* ---- many ------------------------------------------------------------------------------------------ */

static const char *const kinds[] = {"full",  "linear",       "cot",           "encoder",
                                    "mixed", "two-sum-full", "two-sum-sparse"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The first KINDS subjects, then hybrids: the same for all numbers with a remainder. */
static int subject_count(void)
{
    int n = 0;
    while (linear_mixer(n)) n++;
    return KINDS + n;
}

static hop_model *walk(int64_t number, subject *s)
{
    static const sizes all[] = {{1, 3, {0}}, {1, 2, {0}}, {2, 2, {2}}};
    int which = (int)(number % subject_count());
    hop_rng rng;
    hop_rng_init(&rng, 21, (uint64_t)number);
    s->kind = which < KINDS ? kinds[which] : "hybrid";
    s->mixer = which < KINDS ? NULL : linear_mixer(which - KINDS);
    s->task = composition(&all[below(&rng, 100) ? below(&rng, 2) : 2]);
    if (strncmp(s->kind, "two-sum", 7) == 0) s->task = two_sum(4, 3 + below(&rng, 2));
    static const int fewer[] = {7, 8, 9, 10, 11, 12, 16, 20};
    if (s->task.kind == HOP_TASK_FUNCCOMP && strcmp(s->kind, "cot") != 0 && below(&rng, 3) == 0)
        s->bits = fewer[below(&rng, sizeof fewer / sizeof *fewer)];
    hop_model *m = construct(s);
    for (int64_t i = 1 + below(&rng, 8); i > 0; i--) change(m, &rng);
    return m;
}

static const char *subject_name(int which)
{
    return which < KINDS ? kinds[which] : linear_mixer(which - KINDS);
}

static void nothing_damaged_is_proved_and_errs(void **state)
{
    (void)state;
    tally t = campaign_judge((campaign){.make = walk, .count = WALKS}, subject_count(), subject_name);
    assert_true(t.fewer > 0);
    assert_true(t.made > WALKS / campaign_share() * 8 / 10 && t.wrong > WALKS / campaign_share() / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_damaged_is_proved_and_errs)};
    return cmocka_run_group_tests_name("prove_walks", tests, NULL, NULL);
}
