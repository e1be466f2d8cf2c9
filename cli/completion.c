/* Completion scripts, from the tables. */
#include "options.h"

#include <string.h>

static bool takes_path(const hop_opt *o)
{
    return o->kind == HOP_OPT_TEXT && o->metavar &&
           (strstr(o->metavar, "FILE") || strstr(o->metavar, "DIR") || strstr(o->metavar, "DB"));
}

/* Quotes of the shells end a word; brackets mean something to zsh. */
static void add_plain(hop_text *out, const char *text)
{
    for (; *text; text++) hop_text_addn(out, strchr("'\"`[]\\$:", *text) ? " " : text, 1);
}

static void add_choices(hop_text *out, const hop_opt *o)
{
    for (int i = 0; o->choices[i]; i++) hop_text_printf(out, "%s%s", i ? " " : "", o->choices[i]);
}

static void add_verbs(hop_text *out, const verb *const *verbs, size_t count)
{
    for (size_t i = 0; i < count; i++) hop_text_printf(out, "%s%s", i ? " " : "", verbs[i]->name);
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash(hop_text *out, const verb *const *verbs, size_t count)
{
    hop_text_add(out, "_hopbound() {\n"
                      "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= i\n"
                      "    if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '");
    add_verbs(out, verbs, count);
    hop_text_add(out, " help' -- \"$word\")); return; fi\n    case ${COMP_WORDS[1]} in\n    help) words='");
    add_verbs(out, verbs, count);
    hop_text_add(out, "' ;;\n");
    for (size_t i = 0; i < count; i++) {
        hop_text_printf(out, "    %s) case $before in\n", verbs[i]->name);
        for (const hop_opt_group *g = verbs[i]->groups; g->opts; g++)
            for (const hop_opt *o = g->opts; o->name; o++) {
                if (o->kind == HOP_OPT_FLAG) continue;
                hop_text_printf(out, "        --%s", o->name);
                if (o->letter) hop_text_printf(out, "|-%c", o->letter);
                if (o->kind == HOP_OPT_CHOICE) {
                    hop_text_add(out, ") words='");
                    add_choices(out, o);
                    hop_text_add(out, "' ;;\n");
                } else {
                    hop_text_add(out, takes_path(o) ? ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
                                                    : ") return ;;\n");
                }
            }
        hop_text_add(out, "        *) words='");
        for (const hop_opt_group *g = verbs[i]->groups; g->opts; g++)
            for (const hop_opt *o = g->opts; o->name; o++) hop_text_printf(out, "--%s ", o->name);
        hop_text_add(out,
                     "'; case $word in -*) ;; *) COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac ;;\n"
                     "        esac ;;\n");
    }
    hop_text_add(out, "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
                      "complete -o filenames -F _hopbound hopbound\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh(hop_text *out, const verb *const *verbs, size_t count)
{
    hop_text_add(out, "#compdef hopbound\n_hopbound() {\n    local -a verbs\n    verbs=(\n");
    for (size_t i = 0; i < count; i++) {
        hop_text_printf(out, "        '%s:", verbs[i]->name);
        add_plain(out, verbs[i]->summary);
        hop_text_add(out, "'\n");
    }
    hop_text_add(out, "    )\n    if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
                      "    local verb=$words[2]; shift words; (( CURRENT-- ))\n    case $verb in\n"
                      "    help) _describe verb verbs ;;\n");
    for (size_t i = 0; i < count; i++) {
        hop_text_printf(out, "    %s) _arguments", verbs[i]->name);
        for (const hop_opt_group *g = verbs[i]->groups; g->opts; g++)
            for (const hop_opt *o = g->opts; o->name; o++) {
                hop_text_printf(out, " \\\n        '--%s%s[", o->name, o->kind == HOP_OPT_FLAG ? "" : "=");
                add_plain(out, o->help);
                hop_text_add(out, "]");
                if (o->kind != HOP_OPT_FLAG) {
                    hop_text_add(out, ":");
                    add_plain(out, o->metavar ? o->metavar : "value");
                    hop_text_add(out, ":");
                }
                if (o->kind == HOP_OPT_CHOICE) {
                    hop_text_add(out, "(");
                    add_choices(out, o);
                    hop_text_add(out, ")");
                }
                hop_text_add(out, takes_path(o) ? "_files'" : "'");
            }
        hop_text_add(out, verbs[i]->operand ? " \\\n        '*:operand:_files' ;;\n" : " ;;\n");
    }
    hop_text_add(out,
                 "    esac\n}\nif [ \"$funcstack[1]\" = _hopbound ]; then _hopbound \"$@\"; else compdef "
                 "_hopbound hopbound; fi\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish(hop_text *out, const verb *const *verbs, size_t count)
{
    hop_text_add(out, "complete -c hopbound -n __fish_use_subcommand -f\n");
    for (size_t i = 0; i < count; i++) {
        hop_text_printf(out, "complete -c hopbound -n __fish_use_subcommand -a %s -d '", verbs[i]->name);
        add_plain(out, verbs[i]->summary);
        hop_text_add(out, "'\n");
        for (const hop_opt_group *g = verbs[i]->groups; g->opts; g++)
            for (const hop_opt *o = g->opts; o->name; o++) {
                hop_text_printf(out, "complete -c hopbound -n '__fish_seen_subcommand_from %s' -l %s",
                                verbs[i]->name, o->name);
                if (o->letter) hop_text_printf(out, " -s %c", o->letter);
                if (o->kind != HOP_OPT_FLAG) hop_text_add(out, takes_path(o) ? " -r -F" : " -x");
                if (o->kind == HOP_OPT_CHOICE) {
                    hop_text_add(out, " -a '");
                    add_choices(out, o);
                    hop_text_add(out, "'");
                }
                hop_text_add(out, " -d '");
                add_plain(out, o->help);
                hop_text_add(out, "'\n");
            }
    }
}

void completion(hop_text *out, const char *shell, const verb *const *verbs, size_t count)
{
    (strcmp(shell, "bash") == 0 ? bash : strcmp(shell, "zsh") == 0 ? zsh : fish)(out, verbs, count);
}
