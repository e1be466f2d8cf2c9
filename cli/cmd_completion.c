/* hopbound completion: what a shell has to know to complete command lines. */
#include "cli.h"

#include <string.h>

typedef struct completion_args {
    common_args common;
} completion_args;

static int cmd_completion(common_args *a)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    size_t count;
    const verb *const *verbs = all_verbs(&count);
    hop_text out = {0};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(a->operand, shells[i]) == 0) completion(&out, shells[i], verbs, count);
    if (!out.len && !out.failed)
        return fail(a, EXIT_USAGE, "%.60s: unknown shell (known: bash, zsh, fish)", a->operand);
    return print_text(a, &out);
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"source <(hopbound completion bash)", "In this shell; `make install` puts it where shells look by themselves."},
    {"hopbound completion fish > ~/.config/fish/completions/hopbound.fish", "For good."},
    {0},
};
const verb verb_completion = {
    .name = "completion",
    .summary = "prints a script that lets a shell complete verbs, options and their values",
    .operand = "SHELL",
    .operand_help = "bash, zsh or fish",
    .description =
        "The script is made from the tables that also give --help, so it knows every verb, every option and, where an option "
        "takes one of a few names, the names.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(completion_args),
    .run = cmd_completion,
};
/* clang-format on */
