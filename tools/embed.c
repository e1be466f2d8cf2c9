/* Files as a C array: embed OUT.c NAME FILE.. writes `const char *const NAME[]`, which holds each file's
 * name, without its folders, and then its text; NULL at the end. Runs while building, so that style sheets,
 * scripts and configurations can be files of their own. */
#include <stdio.h>
#include <string.h>

static int embed(FILE *out, const char *path, int number)
{
    FILE *in = fopen(path, "rb");
    if (!in) return perror(path), 1;
    fprintf(out, "static const char text_%d[] = {", number);
    int c, column = 0;
    while ((c = getc(in)) != EOF) fprintf(out, "%s%d,", column++ % 24 ? "" : "\n    ", c > 127 ? c - 256 : c);
    fprintf(out, "0};\n");
    int bad = ferror(in);
    fclose(in);
    return bad ? perror(path), 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) return fprintf(stderr, "usage: embed OUT.c NAME FILE..\n"), 2;
    FILE *out = fopen(argv[1], "w");
    if (!out) return perror(argv[1]), 1;
    for (int i = 3; i < argc; i++)
        if (embed(out, argv[i], i)) return 1;
    fprintf(out, "extern const char *const %s[];\nconst char *const %s[] = {\n", argv[2], argv[2]);
    for (int i = 3; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        fprintf(out, "    \"%s\", text_%d,\n", slash ? slash + 1 : argv[i], i);
    }
    fprintf(out, "    0};\n");
    return fclose(out) ? perror(argv[1]), 1 : 0;
}
