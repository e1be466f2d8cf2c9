/* Reads a command line by a verb's option tables. */
#include "options.h"

#include <stdio.h>
#include <string.h>

/* ---- looking up ---------------------------------------------------------------------------- */

/* The option called `name` (`length` bytes), or whose letter is `letter`; `group` receives its table. */
static const hop_opt *find_option(const verb *v, const char *name, size_t length, char letter,
                                  const hop_opt_group **group)
{
    for (const hop_opt_group *g = v->groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name; o++)
            if (letter ? o->letter == letter
                       : strlen(o->name) == length && memcmp(o->name, name, length) == 0) {
                *group = g;
                return o;
            }
    return NULL;
}

static bool unknown_option(const verb *v, const char *arg, hop_error *err)
{
    const char *names[96];
    size_t count = 0;
    for (const hop_opt_group *g = v->groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name && count < 96; o++) names[count++] = o->name;
    int length = (int)strcspn(arg, "=");
    char bare[64];
    int start = arg[1] == '-' ? 2 : 1;
    size_t n = (size_t)(length > start ? length - start : 0);
    if (n >= sizeof bare) n = sizeof bare - 1;
    memcpy(bare, arg + start, n);
    bare[n] = 0;
    const char *meant = n > 1 ? hop_closest_name(bare, names, count) : NULL;
    hop_fail(err, HOP_EUNKNOWN, "%.*s: unknown option%s%s%s", length < 60 ? length : 60, arg,
             meant ? "; did you mean --" : "", meant ? meant : "", meant ? "?" : "");
    return false;
}

/* ---- the command line ---------------------------------------------------------------------- */

typedef struct reader {
    const verb *verb;
    void *args;
    int argc, next;
    char **argv;
} reader;

/* Stores an option's value: the text after '=' or the letter when there is one, else the next argument. */
static bool take(reader *r, const hop_opt_group *g, const hop_opt *o, const char *attached, hop_error *err)
{
    hop_opt_value *v = hop_opt_at(g, o, r->args);
    const char *text = attached;
    bool ok;
    if (o->kind == HOP_OPT_FLAG) {
        ok = !attached || hop_fail(err, HOP_EFORMAT, "takes no value") == HOP_OK;
    } else {
        if (!text && r->next < r->argc) text = r->argv[r->next++];
        ok = text || hop_fail(err, HOP_EFORMAT, "needs a value, %s", o->metavar) == HOP_OK;
    }
    ok = ok && hop_opt_read(o, text, v, err);
    v->given = ok;
    if (!ok) {
        char name[64];
        snprintf(name, sizeof name, "--%s", o->name);
        hop_fail_in(err, err->status, name);
    }
    return ok;
}

static bool take_long(reader *r, const char *arg, hop_error *err)
{
    size_t length = strcspn(arg + 2, "=");
    const hop_opt_group *g = NULL;
    const hop_opt *o = find_option(r->verb, arg + 2, length, 0, &g);
    if (!o) return unknown_option(r->verb, arg, err);
    return take(r, g, o, arg[2 + length] ? arg + 3 + length : NULL, err);
}

/* -qn5: letters of flags may stand together, and the last may have its value attached. */
static bool take_letters(reader *r, const char *arg, hop_error *err)
{
    for (const char *p = arg + 1; *p; p++) {
        const hop_opt_group *g = NULL;
        const hop_opt *o = find_option(r->verb, NULL, 0, *p, &g);
        if (!o) return unknown_option(r->verb, arg, err);
        bool flag = o->kind == HOP_OPT_FLAG;
        if (!take(r, g, o, flag || !p[1] ? NULL : p + 1, err)) return false;
        if (!flag) break;
    }
    return true;
}

bool options_parse(const verb *v, void *args, int argc, char **argv, int *operands, hop_error *err)
{
    reader r = {.verb = v, .args = args, .argc = argc, .argv = argv};
    bool only_operands = false, many = v->operand && strstr(v->operand, "..");
    int most = many ? argc : v->second ? 2 : v->operand ? 1 : 0;
    *operands = 0;
    if (!hop_opts_init(v->groups, args, err)) return false;
    while (r.next < argc) {
        char *arg = argv[r.next++];
        if (only_operands || arg[0] != '-' || !arg[1]) {
            if (*operands == most)
                return hop_fail(err, HOP_EFORMAT, "%.200s: %s", arg,
                                v->second    ? "two operands are enough"
                                : v->operand ? "one operand is enough"
                                             : "takes no operand") == HOP_OK;
            argv[(*operands)++] = arg; /* its place was read already */
        } else if (strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (!(arg[1] == '-' ? take_long(&r, arg, err) : take_letters(&r, arg, err))) {
            return false;
        }
    }
    return true;
}
