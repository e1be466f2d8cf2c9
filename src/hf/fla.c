/* State sizes of the models of the flash-linear-attention library and of RWKV. */
#include "room.h"

#include <string.h>

/* Queries, keys and values each pass a short convolution, where there is one. */
static int64_t convs(hop__hf *r, bool by_default, int64_t channels)
{
    if (!hop__hf_flag(r, "use_short_conv", by_default)) return 0;
    return hop__hf_mul(r, channels, hop__hf_size(r, "conv_size", 4) - 1);
}

/* Defaults of the classes that widen keys and values by a factor. */
static const struct expansion {
    const char *names, *kind;
    double key, value;
    int64_t heads; /* 0: the file has to say */
    bool conv;
} expansions[] = {
    {" gla ", "gla", 0.5, 1, 4, false},
    {" retnet ", "retnet", 1, 2, 8, false},
    {" linear_attn ", "linear", 1, 1, 4, false},
    {" delta_net deltanet ", "deltanet", 1, 1, 0, true}, /* its class has had 4 heads, and 16 */
};

void hop__hf_linear_expanded(hop__hf *r)
{
    const struct expansion *e = expansions;
    while (!hop__hf_named(e->names, r->plan->model_type)) e++;
    int64_t width = hop__hf_hidden(r), heads = hop__hf_size(r, "num_heads", e->heads);
    int64_t kv = hop__hf_size(r, "num_kv_heads", -1);
    int64_t keys = (int64_t)((double)width * hop__hf_real(r, "expand_k", e->key));
    int64_t values = (int64_t)((double)width * hop__hf_real(r, "expand_v", e->value));
    int64_t shared = kv ? heads / kv : 1; /* query heads that share keys and values share a state */
    if (shared < 1) shared = 1;
    hop__hf_state(r, e->kind, (const int64_t[3]){heads / shared, keys / heads, values / heads},
                  convs(r, e->conv, keys + (keys + values) / shared));
    if (e->conv && shared == 1) hop__hf_table(r, heads, keys / heads, values / heads);
}

/* gated_deltanet, gated_deltaproduct, comba, kda */
void hop__hf_linear_fla_gdn(hop__hf *r)
{
    bool kda = strstr(r->family->names, " kda ") != NULL,
         product = strstr(r->family->names, "product") != NULL;
    int64_t heads = hop__hf_size(r, "num_heads", kda ? 16 : 6),
            dk = hop__hf_size(r, "head_dim", kda ? 128 : 256);
    int64_t nv = hop__hf_size(r, "num_v_heads", heads);
    int64_t steps = product ? hop__hf_size(r, "num_householder", 1) : 1;
    int64_t dv = (int64_t)((double)dk * hop__hf_real(r, "expand_v", kda ? 1 : 2));
    int64_t keys = hop__hf_mul(r, heads, dk), values = hop__hf_mul(r, nv, dv);
    hop__hf_state(r,
                  kda       ? "kda"
                  : product ? "gated_deltaproduct"
                            : "gated_deltanet",
                  (const int64_t[3]){nv, dk, dv},
                  convs(r, true, keys + hop__hf_mul(r, steps, keys + values)));
    if (kda || hop__hf_named(" gated_deltanet gated_delta_net ", r->plan->model_type))
        hop__hf_table(r, heads, dk, dv);
}

void hop__hf_linear_hgrn(hop__hf *r)
{
    int64_t width = (int64_t)((double)hop__hf_hidden(r) * hop__hf_real(r, "expand_ratio", 1));
    hop__hf_state(r, "hgrn", (const int64_t[3]){1, 1, width}, convs(r, false, 2 * width));
}

/* The ratio is the width of a key, and gives the number of heads. */
void hop__hf_linear_hgrn2(hop__hf *r)
{
    int64_t width = hop__hf_hidden(r), heads = hop__hf_size(r, "num_heads", -1), dk = 0;
    if (hop__hf_is_null(r, "expand_ratio") && heads) dk = width / heads;
    if (!dk) dk = hop__hf_size(r, "expand_ratio", 128);
    heads = width / dk;
    if (heads < 1) hop__hf_fail(r, HOP_EDOMAIN, "expand_ratio: larger than the width");
    hop__hf_state(r, "hgrn2", (const int64_t[3]){heads, dk, heads ? width / heads : 1},
                  convs(r, false, 2 * heads * dk + width));
}

/* Two matrices a head: keys by slots and slots by values. */
void hop__hf_linear_gsa(hop__hf *r)
{
    int64_t width = hop__hf_hidden(r), heads = hop__hf_size(r, "num_heads", 4);
    int64_t kv = hop__hf_size(r, "num_kv_heads", heads), slots = hop__hf_size(r, "num_slots", 64);
    int64_t dk = (int64_t)((double)width * hop__hf_real(r, "expand_k", 1)) / heads;
    int64_t dv = (int64_t)((double)width * hop__hf_real(r, "expand_v", 1)) / heads;
    hop__hf_state(r, "gsa", (const int64_t[3]){kv, dk + dv, slots},
                  convs(r, false, (heads + kv) * dk + kv * dv));
}

/* ---- RWKV: beside the state, each block keeps the last token's vector for attention and for the MLP */

void hop__hf_linear_rwkv4(hop__hf *r)
{
    int64_t width = hop__hf_hidden(r), inner = hop__hf_size(r, "attention_hidden_size", width);
    hop__hf_state(r, "rwkv4", (const int64_t[3]){1, 3, inner}, 2 * width); /* sum, weight, maximum */
}

/* rwkv5, rwkv6: square heads, or fla's factors. */
void hop__hf_linear_rwkv(hop__hf *r)
{
    const char *kind = strstr(r->family->names, " rwkv5 ") ? "rwkv5" : "rwkv6";
    int64_t width = hop__hf_hidden(r);
    if (hop__hf_has(r, "head_size")) {
        int64_t dim = hop__hf_size(r, "head_size", 0),
                inner = hop__hf_size(r, "attention_hidden_size", width);
        hop__hf_state(r, kind, (const int64_t[3]){inner / dim, dim, dim}, 2 * width);
        return;
    }
    int64_t heads = hop__hf_size(r, "num_heads", 4);
    int64_t keys = (int64_t)((double)width * hop__hf_real(r, "expand_k", 0.5));
    int64_t values = (int64_t)((double)width * hop__hf_real(r, "expand_v", 1));
    hop__hf_state(r, kind, (const int64_t[3]){heads, keys / heads, values / heads}, 2 * width);
}

void hop__hf_linear_rwkv7(hop__hf *r)
{
    int64_t width = hop__hf_hidden(r), dim = hop__hf_size(r, "head_dim|head_size", 64);
    int64_t heads = hop__hf_size(r, "num_heads", width / dim), values = width, first;
    const hop_json *list = hop__hf_find(r, "value_dim");
    if (list && list->type == HOP_JSON_ARRAY) { /* one a layer; only equal ones are one size */
        for (const hop_json *v = list->child; v; v = v->next) {
            if (!hop_json_int(v, 1, HOP__HF_MAX_SIZE, &first) || (v != list->child && first != values))
                hop__hf_fail(r, HOP_EUNKNOWN, "value_dim: differs from layer to layer");
            values = first;
        }
    } else if (list) {
        values = hop__hf_size(r, "value_dim", 0);
    }
    hop__hf_state(r, "rwkv7", (const int64_t[3]){heads, dim, r->status == HOP_OK ? values / heads : 1},
                  2 * width);
}
