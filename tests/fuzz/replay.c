/* Feeds files, and the files of directories, to a fuzz target: the corpora are tests of every build. */
#include <hopbound/base.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static bool replay_file(const char *path)
{
    hop_error err = {0};
    hop_file file = {0};
    if (hop_file_load(&file, path, SIZE_MAX, &err) != HOP_OK) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    /* A block of the exact size: behind a mapped file's end the sanitizers see nothing. */
    uint8_t *copy = malloc(file.size ? file.size : 1);
    bool ok = copy != NULL;
    if (ok) {
        if (file.size) memcpy(copy, file.data, file.size);
        fprintf(stderr, "%s\n", path); /* the last one named is the one that crashed */
        LLVMFuzzerTestOneInput(copy, file.size);
        replayed++;
    }
    free(copy);
    hop_file_free(&file);
    return ok;
}

static bool replay_dir(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        return false;
    }
    bool ok = true;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        char file[4096];
        hop_error err = {0};
        if (e->d_name[0] == '.') continue;
        bool fits = hop_path_join(file, sizeof file, path, e->d_name, &err) == HOP_OK;
        if (!fits) fprintf(stderr, "%s\n", err.text);
        ok = fits && replay_file(file) && ok;
    }
    closedir(dir);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = true;
    for (int i = 1; i < argc; i++)
        ok = (hop_is_dir(argv[i]) ? replay_dir(argv[i]) : replay_file(argv[i])) && ok;
    printf("%d inputs replayed\n", replayed);
    return ok && replayed > 0 ? 0 : 1;
}
