/* Certificates of bounds: that every impossible row of ours has one; and the checker of src/check against the one that is
 * extracted from proofs/, at the thresholds. */
#include "count_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what bounds says -------------------------------------------------------------------------------------- */

static bool long_run(void)
{
    const char *text = getenv("HOPBOUND_LONG");
    return text && *text && strcmp(text, "0") != 0;
}

/* Log-uniform in 1 .. most. */
static int64_t some(uint64_t *seed, double most)
{
    return (int64_t)floor(exp(random_part(seed) * log(most)));
}

typedef struct random_arch {
    hop_arch_layer layers[9];
    hop_arch arch;
    int hops;
} random_arch;

/* Up to three full layers, states in some of the gaps. */
static void make_arch(random_arch *a, uint64_t *seed)
{
    int full = random_below(seed, 4), count = 0;
    int64_t state = some(seed, 40000);
    for (int e = 0; e <= full; e++) {
        if (e) a->layers[count++] = (hop_arch_layer)FULL(1, some(seed, 4), some(seed, 40), some(seed, 33));
        if (random_below(seed, 3) || (full == 0 && e == 0))
            a->layers[count++] = (hop_arch_layer)LINEAR(1, random_below(seed, 2) ? state : some(seed, 40000));
    }
    a->arch = (hop_arch){.layers = a->layers, .count = count};
    a->hops = full + random_below(seed, 3);
    if (a->hops < 1) a->hops = 1;
}

static bool is_of_proofs(const char *id)
{
    return id[0] == 'P' && strcmp(id, "P1") != 0 && strcmp(id, "P3") != 0 && strcmp(id, "P10") != 0;
}

/* The certificate with its k-th number moved by `by`; 0: there is none such. */
static size_t damaged(char *out, size_t size, const char *text, int k, int by)
{
    const char *at = text;
    for (int number = 0; *at; at++) {
        bool begins = at > text && at[-1] == ' ' && *at >= '0' && *at <= '9';
        if (begins && number++ == k) break;
    }
    size_t digits = strspn(at, "0123456789");
    if (!*at || digits > 18) return 0;
    long long value = strtoll(at, NULL, 10) + by;
    return value < 0 ? 0
                     : (size_t)snprintf(out, size, "%.*s%lld%s", (int)(at - text), text, value, at + digits);
}

/* Writes the line, and remembers what is said here. */
typedef struct transcript {
    FILE *file;
    char *said; /* 'a' or 'r' for each line */
    size_t count, room;
    int left
        [10]; /* lines of each theorem: the extracted checker takes a quarter of a second for some. In a long
                     run all certificates are compared, and so many lines that are damaged */
} transcript;

static int theorem_of(const char *line)
{
    static const char *const names[] = {" P2",  " P4 ", " P4'", " P5",  " P6",
                                        " P7 ", " P7G", " P8",  " P9 ", " P9b"};
    const char *by = strstr(line, " by");
    for (int k = 0; by && k < 10; k++)
        if (strncmp(by + 3, names[k], strlen(names[k])) == 0) return k;
    fail_msg("no theorem: %s", line);
    return 0;
}

static void put(transcript *t, const char *line, bool always)
{
    if (t->left[theorem_of(line)]-- <= 0 && !always) return;
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 1024;
        t->said = realloc(t->said, t->room);
        assert_non_null(t->said);
    }
    t->said[t->count++] = accepted(line) ? 'a' : 'r';
    fprintf(t->file, "%s\n", line);
}

/* Every number of it, one more and one less, and a little more and less. */
static void put_with_damages(transcript *t, const char *text, uint64_t *seed)
{
    size_t size = strlen(text) + 64;
    char *line = malloc(size);
    assert_non_null(line);
    put(t, text, long_run());
    for (int k = 0; k < 24; k++) {
        if (!long_run() && random_below(seed, 6)) continue;
        int by = random_below(seed, 2) ? 1 : -1;
        if (random_below(seed, 3) == 0) by *= 1 + random_below(seed, 40);
        if (damaged(line, size, text, k, by)) put(t, line, false);
    }
    free(line);
}

static const char *checker_path(char *out, size_t size)
{
    const char *data = getenv("HOPBOUND_TEST_DATA");
    struct stat at;
    snprintf(out, size, "%s/../../proofs/checker/hopbound-checker", data ? data : "tests/data");
    return stat(out, &at) == 0 && (at.st_mode & S_IXUSR) ? out : NULL;
}

/* The extracted checker's words, line by line, against what was said here. */
static void compare(const transcript *t, const char *path)
{
    char program[4096], command[9000], line[256];
    if (!checker_path(program, sizeof program)) {
        print_message("no proofs/checker/hopbound-checker (make proofs): not compared\n");
        return;
    }
    snprintf(command, sizeof command, "'%s' '%s'", program, path);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    size_t at = 0, both = 0, stricter = 0;
    for (; fgets(line, sizeof line, in); at++) {
        bool theirs = strncmp(line, "accepted", 8) == 0;
        assert_true(at < t->count);
        if (t->said[at] == 'a' && !theirs) fail_msg("line %zu is accepted here and not by Coq", at + 1);
        both += t->said[at] == 'a', stricter += t->said[at] != 'a' && theirs;
    }
    pclose(in);
    assert_int_equal(at, t->count);
    print_message("%zu lines, %zu accepted by both, %zu by the extracted checker alone\n", at, both,
                  stricter);
    assert_int_equal(stricter, 0);
}

static void every_impossible_row_of_ours_has_a_certificate(void **state)
{
    (void)state;
    const char *dir = getenv("HOPBOUND_TEST_TMP");
    char path[4096];
    snprintf(path, sizeof path, "%s/certificates.%ld", dir ? dir : ".", (long)getpid());
    transcript t = {.file = fopen(path, "w")};
    for (int k = 0; k < 10; k++) t.left[k] = long_run() ? 100 : k == 2 || k == 4 || k > 5 ? 8 : 40;
    assert_non_null(t.file);
    uint64_t seed = 20, damage_seed = 21;
    int rows = 0, seen = long_run() ? 2000 : 200;
    for (int i = 0; i < seen; i++) {
        random_arch a;
        make_arch(&a, &seed);
        hop_bounds *b = ask_at(&a.arch, a.hops, 0);
        for (int k = 0; k < b->count; k++) {
            const hop_bound *r = &b->results[k];
            if (r->answer != HOP_ANSWER_IMPOSSIBLE || !is_of_proofs(r->id)) continue;
            rows++;
            if (!r->certificate) fail_msg("%s at %d hops from n = %s", r->id, a.hops, r->speaks_from);
            assert_true(answer_is_certified(r));
            put_with_damages(&t, r->certificate->text, &damage_seed);
        }
        hop_bounds_free(b);
    }
    fclose(t.file);
    print_message("%d architectures, %d impossible rows, each with a certificate\n", seen, rows);
    assert_true(rows > seen);
    compare(&t, path);
    remove(path);
    free(t.said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_impossible_row_of_ours_has_a_certificate),
    };
    return cmocka_run_group_tests_name("check_certificates", tests, NULL, NULL);
}
