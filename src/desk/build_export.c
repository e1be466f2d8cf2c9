/* build rotary --like: the exact network in a model's own class. The model's config.json with smaller tables is read as any
 * other network's (hop_hf_network_read), so what is built has the norms, gates and frequencies that the class has, and the
 * weights go into its tensors by the same table. */
#include "build.h"

#include <hopbound/construct.h>
#include <hopbound/export.h>
#include <hopbound/hf.h>

#include <stdio.h>
#include <string.h>

#define MOST_WIDTH    1024
#define ACTIVE_HIDDEN 128 /* products of 16 pairs */

static const char GENERATION[] = "{\n  \"do_sample\": false,\n  \"max_new_tokens\": 1\n}\n";

/* ---- sizes --------------------------------------------------------------------------------- */

static hop_status choose_sizes(hop_hf_sizes *z, hop_text *notes, const hop_json *root, const build_args *a,
                               const hop_task *task, hop_error *err)
{
    hop_hf_plan plan;
    hop_status s = hop_hf_read(&plan, root, NULL, err);
    if (s != HOP_OK) return s;
    const int64_t most = a->d_model.given ? a->d_model.integer : MOST_WIDTH;
    z->vocab = task->vocab;
    z->width = plan.hidden > most ? most : plan.hidden;
    z->hidden = a->mlp_hidden.given ? a->mlp_hidden.integer : ACTIVE_HIDDEN;
    z->head_dim =
        plan.attention.kind[0] && strcmp(plan.attention.kind, "mla") != 0 ? plan.attention.qk_dim : 0;
    if (z->width != plan.hidden)
        hop_text_printf(notes, "d_model %lld, %lld in the model\n", (long long)z->width,
                        (long long)plan.hidden);
    hop_text_printf(notes, "MLPs of %lld hidden units, and a vocabulary of %lld numbers\n",
                    (long long)z->hidden, (long long)z->vocab);
    hop_text_printf(notes, "layers that are not needed pass the stream as it is\n");
    hop_hf_free(&plan);
    return HOP_OK;
}

/* The table that all layers rotate by; NULL: none has one. */
static hop_status frequencies(const float **out, const hop_hf_network *n, hop_error *err)
{
    const hop_hf_tensor *first = NULL;
    for (int64_t i = 0; i < n->tensor_count; i++) {
        const hop_hf_tensor *t = &n->tensors[i];
        if (!t->given || !strstr(t->ours, "rope.inv_freq")) continue;
        if (!first) first = t;
        if (t->given_count != first->given_count ||
            memcmp(t->given, first->given, sizeof(float) * (size_t)t->given_count) != 0)
            return hop_fail(err, HOP_EDOMAIN, "its layers are rotated by different frequencies");
    }
    *out = first ? first->given : NULL;
    return HOP_OK;
}

/* ---- what stands beside the weights -------------------------------------------------------- */

static void write_readme(hop_text *out, const hop_task *task)
{
    const hop_funccomp *t = &task->funccomp;
    hop_text sizes = {0};
    hop_sizes_say(&sizes, task);
    hop_text_printf(out,
                    "# %d hops in one forward pass\n\n"
                    "Weights that were written down, not trained: right on every input of function "
                    "composition (%s). Rotary embedding "
                    "alone tells where a token stands; tokens are the numbers 0 to %lld. A prompt has %lld "
                    "of them: the tables z_%d, .., "
                    "z_1, the start z_0, the query w.\n\n"
                    "```python\n"
                    "import torch\n"
                    "from transformers import AutoModelForCausalLM\n"
                    "net = AutoModelForCausalLM.from_pretrained(\".\").eval()\n"
                    "prompt = torch.tensor([tokens])  # an instance's \"tokens\", as `hopbound task --format "
                    "jsonl` writes them\n"
                    "print(net(prompt, logits_to_keep=1).logits[0, -1].argmax().item())\n"
                    "```\n\n"
                    "`hopbound prove .` proves it from this file.\n",
                    t->hops, hop_text_in(out, &sizes), (long long)t->vocab - 1, (long long)t->length,
                    t->hops);
    hop_text_free(&sizes);
}

static hop_status save(const hop_model *m, const hop_hf_network *n, const char *dir, const hop_task *task,
                       const hop_text *config, hop_error *err)
{
    hop_text readme = {0};
    write_readme(&readme, task);
    hop_status s = readme.failed ? hop_fail(err, HOP_ENOMEM, "out of memory") : HOP_OK;
    const hop_export_file texts[] = {
        {"README.md", readme.s}, {"generation_config.json", GENERATION}, {"config.json", config->s}};
    if (s == HOP_OK) s = hop_model_export(m, n, dir, texts, sizeof texts / sizeof *texts, err);
    hop_text_free(&readme);
    return s;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* `config`: the file that is written, as the network `n`. */
static hop_status make(hop_model **out, hop_hf_network *n, const hop_text *config, const char *kind,
                       const hop_task *task, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_construct_options o = {.shape = &n->config};
    hop_status s = hop_json_parse(&doc, config->s, config->len, err);
    if (s == HOP_OK) s = hop_hf_network_read(n, doc.root, err);
    if (s == HOP_OK) s = frequencies(&o.frequencies, n, err);
    if (s == HOP_OK) s = hop_construct(out, kind, task, &o, err);
    if (s == HOP_OK) s = hop_model_give(*out, n, err);
    hop_json_free(&doc);
    return s;
}

hop_status hop__build_export(hop_model **out, hop_text *notes, const build_args *a, const char *kind,
                             const hop_task *task, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_hf_network n = {.tensors = NULL};
    hop_json_writer said = {0}, made = {0};
    hop_text config = {0};
    hop_hf_sizes sizes = {0};
    hop_status s = hop_hf_open(&doc, a->like.text, err);
    if (s != HOP_OK) return s;
    hop_task_write(task, &said);
    hop_json_begin_object(&made);
    hop_json_string(&made, "kind", kind);
    hop_json_end_object(&made);
    sizes.task_json = said.text.s, sizes.construction_json = made.text.s;
    if (said.text.failed || made.text.failed) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) s = choose_sizes(&sizes, notes, doc.root, a, task, err);
    if (s == HOP_OK) s = hop_hf_resize(&config, doc.root, &sizes, err);
    if (s == HOP_OK) s = make(out, &n, &config, kind, task, err);
    if (s != HOP_OK) hop_fail_in(err, s, a->like.text);
    if (s == HOP_OK) s = save(*out, &n, a->output.text, task, &config, err);
    hop_hf_network_free(&n);
    hop_text_free(&config);
    hop_text_free(&said.text);
    hop_text_free(&made.text);
    hop_json_free(&doc);
    return s;
}
