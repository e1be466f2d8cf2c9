/* Feeds files, and the files of directories, to a fuzz target: the corpora are tests of every build. With
 * --mutants N it then feeds N inputs that are made from them, in a process of its own: where that ends badly, or
 * takes a minute for one, the input is written down and named. */
#include "mutate.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_INPUTS = 4096, SECONDS = 60 };

static input corpus[MOST_INPUTS];
static int replayed;

static bool replay_file(const char *path)
{
    hop_error err = {0};
    hop_file file = {0};
    if (hop_file_load(&file, path, SIZE_MAX, &err) != HOP_OK) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    /* A block of the exact size, not aligned to more: behind its end the sanitizers see what is read. */
    uint8_t *copy = malloc(file.size ? file.size : 1);
    bool ok = copy != NULL && replayed < MOST_INPUTS;
    if (ok) {
        if (file.size) memcpy(copy, file.data, file.size);
        fprintf(stderr, "%s\n", path); /* the last one named is the one that crashed */
        LLVMFuzzerTestOneInput(copy, file.size);
        corpus[replayed++] = (input){copy, file.size};
    }
    hop_file_free(&file);
    return ok;
}

static bool replay_dir(const char *path)
{
    struct dirent **names = NULL;
    int count = scandir(path, &names, NULL, alphasort); /* in order: mutants are numbered */
    bool ok = count >= 0;
    if (!ok) perror(path);
    for (int i = 0; i < count; i++) {
        char file[4096];
        hop_error err = {0};
        bool fits = hop_path_join(file, sizeof file, path, names[i]->d_name, &err) == HOP_OK;
        if (!fits) fprintf(stderr, "%s\n", err.text);
        if (names[i]->d_name[0] != '.') ok = fits && replay_file(file) && ok;
        free(names[i]);
    }
    free(names);
    return ok;
}

static void save(uint64_t number)
{
    char path[4096];
    const char *dir = getenv("HOPBOUND_TEST_TMP");
    input x = mutant_of(corpus, replayed, number);
    hop_error err = {0};
    snprintf(path, sizeof path, "%s/mutant-%llu", dir ? dir : "/tmp", (unsigned long long)number);
    if (x.data && hop_file_write(path, x.data, x.size, &err) == HOP_OK)
        fprintf(stderr, "mutant %llu: see %s\n", (unsigned long long)number, path);
    free(x.data);
}

static void feed(uint64_t first, uint64_t count, _Atomic uint64_t *now)
{
    for (uint64_t i = first; i < first + count; i++) {
        input x = mutant_of(corpus, replayed, i);
        *now = i;
        alarm(SECONDS);
        if (x.data) LLVMFuzzerTestOneInput(x.data, x.size);
        free(x.data);
    }
}

static bool replay_mutants(uint64_t first, uint64_t count)
{
    _Atomic uint64_t *now =
        mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    if (now == MAP_FAILED) return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        feed(first, count, now);
        exit(0);
    }
    bool ok =
        child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!ok) save(*now);
    munmap((void *)now, sizeof *now);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = true;
    uint64_t count = 0, first = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--mutants") == 0 && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            first = strtoull(argv[++i], NULL, 10);
        else
            ok = (hop_is_dir(argv[i]) ? replay_dir(argv[i]) : replay_file(argv[i])) && ok;
    if (ok && replayed > 0 && count > 0) ok = replay_mutants(first, count);
    printf("%d inputs replayed, and %llu made from them\n", replayed, (unsigned long long)count);
    ok = ok && replayed > 0;
    while (replayed > 0) free(corpus[--replayed].data);
    return ok ? 0 : 1;
}
