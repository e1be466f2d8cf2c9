/* base: what every room stands on. */
#include "test.h"

#include <hopbound/base.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void the_generator_gives_the_published_philox_numbers(void **state)
{
    (void)state;
    /* Known answer of Philox 4x32-10 for counter 0, key 0 (Random123's kat_vectors). */
    hop_rng r;
    hop_rng_init(&r, 0, 0);
    assert_int_equal(hop_rng_u32(&r), 0x6627e8d5u);
    assert_int_equal(hop_rng_u32(&r), 0xe169c58du);
    assert_int_equal(hop_rng_u32(&r), 0xbc57ac4cu);
    assert_int_equal(hop_rng_u32(&r), 0x9b00dbd8u);
}

static void streams_and_seeds_differ_and_repeat(void **state)
{
    (void)state;
    hop_rng a, b, c, d;
    hop_rng_init(&a, 7, 1);
    hop_rng_init(&b, 7, 1);
    hop_rng_init(&c, 7, 2);
    hop_rng_init(&d, 8, 1);
    int same_stream = 0, other_stream = 0, other_seed = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = hop_rng_u64(&a);
        same_stream += x == hop_rng_u64(&b);
        other_stream += x == hop_rng_u64(&c);
        other_seed += x == hop_rng_u64(&d);
    }
    assert_int_equal(same_stream, 1000);
    assert_int_equal(other_stream + other_seed, 0);
}

static uint64_t hash_of(const void *data, size_t bytes, size_t piece)
{
    hop_hash h;
    hop_hash_init(&h);
    for (size_t at = 0; at < bytes; at += piece)
        hop_hash_add(&h, (const char *)data + at, bytes - at < piece ? bytes - at : piece);
    return hop_hash_end(&h);
}

static void the_hash_is_the_published_one_however_the_bytes_come(void **state)
{
    (void)state;
    /* XXH64 with seed 0, as the authors' own program prints it. */
    assert_true(hash_of("", 0, 1) == 0xef46db3751d8e999u);
    assert_true(hash_of("a", 1, 1) == 0xd24ec4f1a98c6e5bu);
    assert_true(hash_of("abc", 3, 3) == 0x44bc2cf5ad770999u);
    const char *text = "The quick brown fox jumps over the lazy dog";
    for (size_t piece = 1; piece < 50; piece++)
        assert_true(hash_of(text, strlen(text), piece) == 0x0b242d361fda71bcu);
}

static void every_flipped_bit_changes_the_hash(void **state)
{
    (void)state;
    unsigned char data[200] = {0};
    for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
        uint64_t was = hash_of(data, bytes, 200);
        for (size_t bit = 0; bit < 8 * bytes; bit++) {
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(hash_of(data, bytes, 200) != was);
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        assert_true(bytes == 0 || hash_of(data, bytes - 1, 200) != was);
    }
}

static void below_stays_below_and_reaches_every_value(void **state)
{
    (void)state;
    hop_rng r;
    hop_rng_init(&r, 1, 1);
    int seen[7] = {0};
    for (int i = 0; i < 7000; i++) {
        uint64_t x = hop_rng_below(&r, 7);
        assert_true(x < 7);
        seen[x]++;
    }
    /* 1000 expected, standard deviation 29: six of them either way happens once in 10^9 runs, and the seed is
     * fixed. */
    for (int i = 0; i < 7; i++) assert_in_range(seen[i], 825, 1175);
    for (int i = 0; i < 100; i++) assert_true(hop_rng_below(&r, (uint64_t)1 << 60) < (uint64_t)1 << 60);
    assert_int_equal(hop_rng_below(&r, 1), 0);
}

static void normal_numbers_have_mean_0_and_variance_1(void **state)
{
    (void)state;
    hop_rng r;
    hop_rng_init(&r, 3, 0);
    double sum = 0, square = 0;
    int n = 100000;
    for (int i = 0; i < n; i++) {
        double x = hop_rng_normal(&r);
        sum += x;
        square += x * x;
    }
    assert_true(fabs(sum / n) < 0.02);        /* six standard errors: 6/sqrt(n) */
    assert_true(fabs(square / n - 1) < 0.03); /* six of sqrt(2/n) */
}

static void errors_are_one_line_and_keep_their_status(void **state)
{
    (void)state;
    hop_error err = {0};
    assert_int_equal(hop_fail(&err, HOP_EFORMAT, "bad\nname \t%d", 5), HOP_EFORMAT);
    assert_string_equal(err.text, "bad name  5");
    assert_int_equal(hop_fail_in(&err, HOP_EIO, "file"), HOP_EIO);
    assert_string_equal(err.text, "file: bad name  5");
    assert_int_equal(hop_fail(NULL, HOP_EIO, "nobody listens"), HOP_EIO);
    char long_name[2000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    hop_fail(&err, HOP_EIO, "%s", long_name);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void names_are_plain_when_a_terminal_gets_them(void **state)
{
    (void)state;
    static const struct {
        const char *name, *plain;
    } cases[] = {
        {"a b/\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "a b/\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"a\x1b[2Jb\r\n\t\x7f", "a [2Jb    "},
        {"\xC2\x9B"
         "31m",
         "  31m"}, /* CSI in one character */
        {"\x9B"
         "31m\xC3",
         "?31m?"}, /* and in one byte */
        {"a\xE2\x80\xAE"
         "b\xE2\x81\xA9\xE2\x80\xA8",
         "a   b      "},
        {"\xE0\x80\x9B\xED\xA0\x80", "??????"}, /* overlong, surrogate */
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hop_text t = {0};
        hop_error err = {0};
        hop_text_add(&t, "\n");
        hop_text_name(&t, cases[i].name);
        assert_string_equal(t.s + 1, cases[i].plain);
        assert_int_equal(t.s[0], '\n'); /* what stood before is not touched */
        hop_text_free(&t);
        hop_fail(&err, HOP_EIO, "%s: x", cases[i].name);
        assert_memory_equal(err.text, cases[i].plain, strlen(cases[i].plain));
    }
    char lines[] = "a\n\tb\x1b\n";
    hop_plain_lines(lines);
    assert_string_equal(lines, "a\n\tb \n");
}

static void an_arena_hands_out_aligned_blocks_up_to_its_size(void **state)
{
    (void)state;
    hop_arena a = {0};
    assert_int_equal(hop_arena_reserve(&a, hop_arena_floats_size(3) + hop_arena_floats_size(100), NULL),
                     HOP_OK);
    float *x = hop_arena_floats(&a, 3), *y = hop_arena_floats(&a, 100);
    assert_int_equal((uintptr_t)x % HOP_ALIGN, 0);
    assert_int_equal((uintptr_t)y % HOP_ALIGN, 0);
    assert_true(y >= x + 3);
    assert_int_equal(a.used, a.size);
    hop_arena_free(&a);
    assert_int_equal(hop_arena_reserve(&a, SIZE_MAX - 100, NULL), HOP_ENOMEM);
}

/* More than can be had, but no more than the machine has in all: a system that promises would promise it. */
static void memory_that_the_system_only_promises_is_refused(void **state)
{
    (void)state;
    unsigned long long all = 0, n;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) skip();
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "MemTotal: %llu", &n) == 1 || sscanf(line, "SwapTotal: %llu", &n) == 1) all += n;
    fclose(f);
    assert_true(all > 0);
    assert_null(hop_alloc((size_t)all * 1024));
    void *some = hop_alloc((size_t)1 << 28);
    assert_non_null(some);
    hop_free(some);
}

static void text_grows_and_stays_terminated(void **state)
{
    (void)state;
    hop_text t = {0};
    for (int i = 0; i < 1000; i++) hop_text_printf(&t, "%d,", i % 10);
    assert_false(t.failed);
    assert_int_equal(t.len, 2000);
    assert_int_equal(strlen(t.s), 2000);
    hop_text_free(&t);
}

typedef struct counting {
    atomic_int times[1000];
    int workers_seen;
} counting;

static void count_task(void *ctx, int64_t task, int worker)
{
    counting *c = ctx;
    atomic_fetch_add(&c->times[task], 1);
    assert_in_range(worker, 0, 7);
}

static void a_pool_runs_every_task_exactly_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads *= 2) {
        hop_pool *p = hop_pool_new(threads);
        assert_non_null(p);
        assert_int_equal(hop_pool_threads(p), threads);
        for (int round = 0; round < 50; round++) {
            counting c = {0};
            hop_pool_run(p, 1000, count_task, &c);
            for (int i = 0; i < 1000; i++) assert_int_equal(atomic_load(&c.times[i]), 1);
        }
        hop_pool_run(p, 0, count_task, NULL);
        hop_pool_free(p);
    }
    assert_int_equal(hop_pool_threads(NULL), 1);
}

/* A team of two: this thread and another one. */
typedef struct member {
    void (*fn)(void *ctx);
    void *ctx;
} member;

static void *member_main(void *arg)
{
    const member *m = arg;
    m->fn(m->ctx);
    return NULL;
}

static void team_of_two(void (*fn)(void *ctx), void *ctx, int threads)
{
    pthread_t other;
    member m = {fn, ctx};
    assert_in_range(threads, 2, 3);
    assert_int_equal(pthread_create(&other, NULL, member_main, &m), 0);
    fn(ctx);
    pthread_join(other, NULL);
}

static void a_pool_over_a_team_runs_every_task_exactly_once_though_fewer_came(void **state)
{
    (void)state;
    hop_pool *p = hop_pool_over(team_of_two, 3);
    assert_non_null(p);
    assert_int_equal(hop_pool_threads(p), 3);
    for (int round = 0; round < 20; round++) {
        counting c = {0};
        hop_pool_run(p, 1000, count_task, &c);
        for (int i = 0; i < 1000; i++) assert_int_equal(atomic_load(&c.times[i]), 1);
    }
    hop_pool_run(p, 0, count_task, NULL);
    hop_pool_free(p);
}

/* In place of the C library's: a process has one mask, and while a library had changed it, another thread's
 * files would be open to all. */
static int mask_changes;
mode_t umask(mode_t mask)
{
    mask_changes++;
    return (mode_t)syscall(SYS_umask, mask);
}

static void files_have_the_mode_of_the_process_and_leave_its_mask_alone(void **state)
{
    (void)state;
    const mode_t masks[] = {022, 077, 027, 0};
    char path[512];
    test_path(path, sizeof path, "base_mode.txt");
    for (int i = 0; i < 4; i++) {
        mode_t before = umask(masks[i]);
        struct stat st;
        remove(path);
        mask_changes = 0;
        assert_int_equal(hop_file_write(path, "x", 1, NULL), HOP_OK);
        assert_int_equal(mask_changes, 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0666 & ~masks[i]);
        assert_int_equal(umask(before), masks[i]);
    }
}

static void a_file_appears_only_when_it_is_committed(void **state)
{
    (void)state;
    char path[512];
    test_path(path, sizeof path, "base_atomic.txt");
    remove(path);
    assert_int_equal(hop_file_write(path, "old", 3, NULL), HOP_OK);
    hop_output o;
    assert_int_equal(hop_output_open(&o, path, NULL), HOP_OK);
    hop_output_write(&o, "new content", 11);
    hop_file f;
    assert_int_equal(hop_file_load(&f, path, SIZE_MAX, NULL), HOP_OK);
    assert_int_equal(f.size, 3); /* still the old one */
    hop_file_free(&f);
    assert_int_equal(hop_output_commit(&o, NULL), HOP_OK);
    assert_int_equal(hop_file_load(&f, path, SIZE_MAX, NULL), HOP_OK);
    assert_int_equal(f.size, 11);
    assert_memory_equal(f.data, "new content", 11);
    hop_file_free(&f);

    assert_int_equal(hop_output_open(&o, path, NULL), HOP_OK);
    hop_output_write(&o, "abandoned", 9);
    char temp[600];
    snprintf(temp, sizeof temp, "%s", o.temp);
    hop_output_abort(&o);
    assert_int_not_equal(access(temp, F_OK), 0);
    assert_int_equal(hop_file_load(&f, path, SIZE_MAX, NULL), HOP_OK);
    assert_int_equal(f.size, 11);
    hop_file_free(&f);
    struct stat st;
    stat(path, &st);
    assert_int_equal(st.st_mode & 0600, 0600);
    remove(path);
}

static void a_full_disk_is_an_error_and_leaves_no_file(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    hop_error err = {0};
    char big[100000] = {0};
    assert_int_equal(hop_file_write("/dev/full", big, sizeof big, &err), HOP_EIO);
    assert_non_null(strstr(err.text, "/dev/full"));
    assert_int_equal(hop_file_write("/nonexistent/dir/file", "x", 1, &err), HOP_EIO);
}

static void small_files_are_read_up_to_their_limit_and_no_further(void **state)
{
    (void)state;
    char path[512];
    hop_file f;
    hop_error err = {0};
    test_path(path, sizeof path, "base_small.txt");
    assert_int_equal(hop_file_write(path, "twelve bytes", 12, &err), HOP_OK);
    assert_int_equal(hop_file_read(&f, path, 12, &err), HOP_OK);
    assert_int_equal(f.size, 12);
    assert_memory_equal(f.data, "twelve bytes", 12);
    hop_file_free(&f);
    assert_int_equal(hop_file_read(&f, path, 11, &err), HOP_EFORMAT);
    assert_non_null(strstr(err.text, "more than the 11 bytes"));
    assert_null(f.data);
    remove(path);
    char *long_text = calloc(1, 300000); /* more than a first read */
    assert_non_null(long_text);
    assert_int_equal(hop_file_write(path, long_text, 300000, &err), HOP_OK);
    assert_int_equal(hop_file_read(&f, path, 1 << 20, &err), HOP_OK);
    assert_int_equal(f.size, 300000);
    hop_file_free(&f);
    free(long_text);
    remove(path);
    assert_int_equal(hop_file_read(&f, "/nonexistent", 9, &err), HOP_EIO);
    assert_int_equal(hop_file_read(&f, "/tmp", 9, &err), HOP_EIO);
    assert_int_equal(hop_file_read(&f, "/dev/zero", 100000, &err), HOP_EIO);
    assert_non_null(strstr(err.text, "/dev/zero: neither a file nor a pipe"));
}

static void a_pipe_is_neither_waited_for_long_nor_read_beyond_the_limit(void **state)
{
    (void)state;
    char path[512];
    hop_file f;
    hop_error err = {0};
    test_path(path, sizeof path, "base_pipe");
    remove(path);
    if (mkfifo(path, 0600) != 0) skip();
    double began = hop_now();
    assert_int_equal(hop_file_read(&f, path, 100, &err), HOP_EIO); /* nobody writes */
    assert_non_null(strstr(err.text, "a pipe that nobody writes to"));
    assert_true(hop_now() - began < 10);
    int both = open(path, O_RDWR);
    assert_int_equal(write(both, "late", 4), 4);
    assert_int_equal(hop_file_read(&f, path, 3, &err), HOP_EFORMAT); /* enough is known before the end */
    close(both);
    remove(path);
}

static void a_link_is_replaced_and_what_it_leads_to_is_left_alone(void **state)
{
    (void)state;
    char kept[512], link[512], nothing[512];
    struct stat st;
    hop_file f;
    test_path(kept, sizeof kept, "base_kept");
    test_path(link, sizeof link, "base_link");
    test_path(nothing, sizeof nothing, "base_nothing");
    remove(nothing);
    const char *const targets[] = {kept, nothing, "/dev/null"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hop_file_write(kept, "kept", 4, NULL), HOP_OK);
        remove(link);
        assert_int_equal(symlink(targets[i], link), 0);
        assert_int_equal(hop_file_write(link, "new", 3, NULL), HOP_OK);
        assert_true(lstat(link, &st) == 0 && S_ISREG(st.st_mode));
        assert_int_equal(hop_file_load(&f, link, 9, NULL), HOP_OK);
        assert_true(f.size == 3 && memcmp(f.data, "new", 3) == 0);
        hop_file_free(&f);
        assert_int_equal(hop_file_load(&f, kept, 9, NULL), HOP_OK);
        assert_true(f.size == 4 && memcmp(f.data, "kept", 4) == 0);
        hop_file_free(&f);
        assert_int_not_equal(access(nothing, F_OK), 0);
    }
    /* Two names of one file, one of them the last that makes the others count. */
    hop_output two[2];
    char other[512];
    test_path(other, sizeof other, "base_other");
    remove(link), remove(other);
    assert_true(symlink(kept, link) == 0 && symlink(kept, other) == 0);
    assert_int_equal(hop_output_open(&two[0], link, NULL), HOP_OK);
    assert_int_equal(hop_output_open(&two[1], other, NULL), HOP_OK);
    hop_output_write(&two[0], "a", 1);
    hop_output_write(&two[1], "bc", 2);
    assert_int_equal(hop_output_commit_all(two, 2, NULL), HOP_OK);
    assert_true(lstat(link, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 1);
    assert_true(lstat(other, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 2);
    assert_true(stat(kept, &st) == 0 && st.st_size == 4);
    remove(kept), remove(link), remove(other);
}

static void what_is_no_regular_file_is_refused_at_once(void **state)
{
    (void)state;
    char pipe[512];
    hop_file f;
    hop_error err = {0};
    test_path(pipe, sizeof pipe, "base_no_file");
    remove(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const char *const names[] = {pipe, "/dev/zero", "/dev/null", "/"};
    double began = hop_now();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(hop_file_load(&f, names[i], SIZE_MAX, &err), HOP_EIO);
        assert_non_null(strstr(err.text, i < 3 ? ": is not a file" : ": is a directory"));
        assert_true(hop_is_there(names[i]) && hop_is_pipe(names[i]) == (i == 0));
    }
    assert_true(hop_now() - began < 1);
    assert_false(hop_is_there("/nowhere/x"));
    assert_false(hop_is_there("/dev/null/x"));
    remove(pipe);
}

static void a_file_that_is_cut_short_meanwhile_is_an_error(void **state)
{
    (void)state;
    char path[512], text[100];
    hop_input in;
    hop_error err = {0};
    test_path(path, sizeof path, "base_cut");
    assert_int_equal(hop_file_write(path, "twelve bytes", 12, &err), HOP_OK);
    assert_int_equal(hop_input_open(&in, path, &err), HOP_OK);
    assert_int_equal(in.size, 12);
    assert_int_equal(hop_input_read(&in, text, 5, 7, &err), HOP_OK);
    assert_memory_equal(text, "bytes", 5);
    assert_int_equal(truncate(path, 9), 0);
    assert_int_equal(hop_input_read(&in, text, 5, 7, &err), HOP_EIO);
    assert_non_null(strstr(err.text, "cut short"));
    hop_input_close(&in);
    hop_input_close(&in);
    remove(path);
}

static void missing_files_and_directories_are_said_so(void **state)
{
    (void)state;
    hop_file f;
    hop_error err = {0};
    assert_int_equal(hop_file_load(&f, "/nonexistent", SIZE_MAX, &err), HOP_EIO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(hop_file_load(&f, "/tmp", SIZE_MAX, &err), HOP_EIO);
    assert_non_null(strstr(err.text, "directory"));
    char path[512], deep[600];
    test_path(path, sizeof path, "base_dir");
    snprintf(deep, sizeof deep, "%s/a/b/c", path);
    assert_int_equal(hop_make_dir(deep, &err), HOP_OK);
    assert_int_equal(hop_make_dir(deep, &err), HOP_OK);
    assert_true(hop_is_dir(deep));
    assert_int_equal(hop_make_dir("/dev/null/x", &err), HOP_EIO);
    assert_int_equal(hop_make_dir("", &err), HOP_EIO);
    char small[8];
    assert_int_equal(hop_path_join(small, sizeof small, "abcdef", "ghi", &err), HOP_ERANGE);
}

typedef struct row_counts {
    atomic_int done[3000], blocks;
} row_counts;

static void count_rows(void *ctx, int64_t first, int64_t count)
{
    row_counts *c = ctx;
    assert_true(count > 0);
    for (int64_t r = first; r < first + count; r++) c->done[r]++;
    c->blocks++;
}

static void every_row_is_done_once_and_few_wake_nobody(void **state)
{
    (void)state;
    hop_pool *pool = hop_pool_new(3);
    static const int64_t rows[] = {0, 1, 7, 1000, 3000}, numbers[] = {0, 1, 100, 5000, INT64_MAX};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++)
            for (int shared = 0; shared < 2; shared++) {
                row_counts c = {0};
                hop_pool_rows(shared ? pool : NULL, rows[i], numbers[k], count_rows, &c);
                for (int64_t r = 0; r < 3000; r++) assert_int_equal(c.done[r], r < rows[i]);
                bool many =
                    shared && rows[i] > 0 && numbers[k] > 1 && (double)rows[i] * (double)numbers[k] > 1 << 15;
                assert_true(many ? c.blocks > 1 || rows[i] == 1 : c.blocks == (rows[i] > 0));
            }
    hop_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_gives_the_published_philox_numbers),
        cmocka_unit_test(streams_and_seeds_differ_and_repeat),
        cmocka_unit_test(the_hash_is_the_published_one_however_the_bytes_come),
        cmocka_unit_test(every_flipped_bit_changes_the_hash),
        cmocka_unit_test(below_stays_below_and_reaches_every_value),
        cmocka_unit_test(normal_numbers_have_mean_0_and_variance_1),
        cmocka_unit_test(errors_are_one_line_and_keep_their_status),
        cmocka_unit_test(names_are_plain_when_a_terminal_gets_them),
        cmocka_unit_test(an_arena_hands_out_aligned_blocks_up_to_its_size),
        cmocka_unit_test(memory_that_the_system_only_promises_is_refused),
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test(a_pool_runs_every_task_exactly_once),
        cmocka_unit_test(a_pool_over_a_team_runs_every_task_exactly_once_though_fewer_came),
        cmocka_unit_test(files_have_the_mode_of_the_process_and_leave_its_mask_alone),
        cmocka_unit_test(a_file_appears_only_when_it_is_committed),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_no_file),
        cmocka_unit_test(small_files_are_read_up_to_their_limit_and_no_further),
        cmocka_unit_test(a_pipe_is_neither_waited_for_long_nor_read_beyond_the_limit),
        cmocka_unit_test(a_link_is_replaced_and_what_it_leads_to_is_left_alone),
        cmocka_unit_test(what_is_no_regular_file_is_refused_at_once),
        cmocka_unit_test(a_file_that_is_cut_short_meanwhile_is_an_error),
        cmocka_unit_test(missing_files_and_directories_are_said_so),
        cmocka_unit_test(every_row_is_done_once_and_few_wake_nobody),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
