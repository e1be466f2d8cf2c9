/* Tensors by the letters of their shapes. */
#include "core.h"

#include <stdio.h>
#include <string.h>

float *hop__core_output_new(core_job *job, const char *name, int rank, const int64_t *shape, hop_error *err)
{
    core_output *o = &job->outputs[job->output_count];
    *o = (core_output){.tensor = {.name = name, .rank = rank}};
    size_t bytes = sizeof(float);
    bool fits = job->output_count < CORE_MAX_OUTPUTS;
    for (int r = 0; r < rank; r++) {
        o->tensor.shape[r] = shape[r];
        fits = fits && hop_mul_size(bytes, (size_t)shape[r], &bytes);
    }
    o->data = fits ? hop_alloc(bytes) : NULL;
    if (!o->data) {
        hop_fail(err, HOP_ENOMEM, "%s: out of memory", name);
        return NULL;
    }
    job->output_count++;
    return o->data;
}

hop_status hop__core_input(const core_job *job, const char *name, int rank, float **data, int64_t *shape,
                           hop_error *err)
{
    const hop_tensor *t = hop_safetensors_find(job->in, name);
    if (!t) return hop_fail(err, HOP_EFORMAT, "%s: missing", name);
    if (t->rank != rank)
        return hop_fail(err, HOP_ESHAPE, "%s: %d dimensions where %d are needed", name, t->rank, rank);
    for (int r = 0; r < rank; r++) {
        if (t->shape[r] < 1) return hop_fail(err, HOP_ESHAPE, "%s: dimension %d is empty", name, r);
        shape[r] = t->shape[r];
    }
    size_t bytes;
    *data = hop_mul_size((size_t)t->elements, sizeof(float), &bytes) ? hop_alloc(bytes) : NULL;
    if (!*data) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", name);
    hop_status s = hop_tensor_floats(t, *data, err);
    return s == HOP_OK ? s : hop_fail_in(err, s, name);
}

/* ---- letters ------------------------------------------------------------------------------- */

static int64_t dim(const core_dims *dims, char letter)
{
    return dims->of[(unsigned char)letter & 127];
}

int64_t hop__core_elements(const char *shape, int from_letter, const core_dims *dims)
{
    int64_t n = 1;
    for (const char *p = shape + from_letter; *p; p++) n *= dim(dims, *p);
    return n;
}

float *hop__core_output_like(core_job *job, const char *name, const char *shape, const core_dims *dims,
                             hop_error *err)
{
    int64_t sizes[HOP_TENSOR_MAX_RANK];
    int rank = (int)strlen(shape);
    for (int r = 0; r < rank; r++) sizes[r] = dim(dims, shape[r]);
    return hop__core_output_new(job, name, rank, sizes, err);
}

/* "[2,37,3]" */
static void print_shape(hop_text *out, const int64_t *shape, int rank)
{
    for (int r = 0; r < rank; r++) hop_text_printf(out, "%c%lld", r ? ',' : '[', (long long)shape[r]);
    hop_text_add(out, "]");
}

static hop_status wrong_rank(const core_spec *spec, int rank, hop_error *err)
{
    hop_text wanted = {0};
    for (int i = 0; i < CORE_MAX_SHAPES && spec->shapes[i]; i++)
        hop_text_printf(&wanted, "%s%zu", i ? " or " : "", strlen(spec->shapes[i]));
    hop_status s = hop_fail(err, HOP_ESHAPE, "%s: %d dimensions where %s are needed", spec->name, rank,
                            wanted.s ? wanted.s : "others");
    hop_text_free(&wanted);
    return s;
}

static hop_status learn(const core_spec *spec, const char *letters, const int64_t *shape, core_dims *dims,
                        hop_error *err)
{
    int rank = (int)strlen(letters);
    int64_t needed[HOP_TENSOR_MAX_RANK];
    bool same = true;
    for (int r = 0; r < rank; r++) {
        int64_t *known = &dims->of[(unsigned char)letters[r] & 127];
        if (*known == 0) *known = shape[r];
        needed[r] = *known;
        same = same && needed[r] == shape[r];
    }
    if (same) return HOP_OK;
    hop_text have = {0}, want = {0};
    print_shape(&have, shape, rank);
    print_shape(&want, needed, rank);
    hop_status s = hop_fail(err, HOP_ESHAPE, "%s: shape %s where %s is needed", spec->name,
                            have.s ? have.s : "", want.s ? want.s : "");
    hop_text_free(&have);
    hop_text_free(&want);
    return s;
}

hop_status hop__core_bind(const core_job *job, const core_spec *spec, core_dims *dims, core_tensor *out,
                          hop_error *err)
{
    const hop_tensor *t = hop_safetensors_find(job->in, spec->name);
    const char *letters = NULL;
    int64_t shape[HOP_TENSOR_MAX_RANK];
    *out = (core_tensor){0};
    if (!t) return HOP_OK;
    for (int i = 0; i < CORE_MAX_SHAPES && spec->shapes[i]; i++)
        if ((int)strlen(spec->shapes[i]) == t->rank) letters = spec->shapes[i];
    if (!letters) return wrong_rank(spec, t->rank, err);
    hop_status s = hop__core_input(job, spec->name, t->rank, &out->data, shape, err);
    if (s == HOP_OK) s = learn(spec, letters, shape, dims, err);
    if (s == HOP_OK) out->given = out->shape = letters;
    return s;
}

/* ---- shapes that lack dimensions of others -------------------------------------------------- */

/* Where element `index` of a tensor shaped `shape` stands in one shaped `given`, whose letters are some of
 * those. */
static int64_t index_in(const char *given, const char *shape, int64_t index, const core_dims *dims)
{
    int64_t digit[128] = {0}, at = 0;
    for (const char *p = shape + strlen(shape); p-- > shape;) {
        digit[(unsigned char)*p & 127] = index % dim(dims, *p);
        index /= dim(dims, *p);
    }
    for (const char *p = given; *p; p++) at = at * dim(dims, *p) + digit[(unsigned char)*p & 127];
    return at;
}

hop_status hop__core_expand(core_tensor *t, const char *shape, const core_dims *dims, hop_error *err)
{
    int64_t n = hop__core_elements(shape, 0, dims);
    size_t bytes;
    float *wide = hop_mul_size((size_t)n, sizeof(float), &bytes) ? hop_alloc(bytes) : NULL;
    if (!wide) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < n; i++) wide[i] = t->data[index_in(t->given, shape, i, dims)];
    hop_free(t->data);
    t->data = wide;
    t->shape = shape;
    return HOP_OK;
}

void hop__core_add_up(float *sum, const char *given, const float *part, const char *shape, int64_t b,
                      const core_dims *dims)
{
    int64_t n = hop__core_elements(shape, shape[0] == 'B', dims), first = shape[0] == 'B' ? b * n : 0;
    for (int64_t i = 0; i < n; i++) sum[index_in(given, shape, first + i, dims)] += part[i];
}
