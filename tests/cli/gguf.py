"""Writes headers of GGUF files from config.json files, as converters do: metadata and tensors' names, no weights. What keys mean
is written down here a second time, family by family, for the tests of `audit`."""
import struct

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64 = 4, 5, 6, 7, 8, 9, 10


def text(s):
    s = s.encode()
    return struct.pack("<Q", len(s)) + s


def value(v):
    """A type and its bytes."""
    if isinstance(v, bool):
        return BOOL, struct.pack("<?", v)
    if isinstance(v, int):
        return UINT32, struct.pack("<I", v)
    if isinstance(v, float):
        return FLOAT32, struct.pack("<f", v)
    if isinstance(v, str):
        return STRING, text(v)
    kind = value(v[0])[0] if v else UINT32
    kind = INT32 if kind == UINT32 else kind
    return ARRAY, struct.pack("<IQ", kind, len(v)) + b"".join(struct.pack("<i", x) if kind == INT32 else value(x)[1] for x in v)


def header(metadata, tensors=(), version=3, magic=b"GGUF"):
    """`tensors`: name, shape, type."""
    out = [magic, struct.pack("<IQQ", version, len(tensors), len(metadata))]
    for key, v in metadata.items():
        kind, data = value(v)
        out += [text(key), struct.pack("<I", kind), data]
    for name, shape, kind in tensors:
        out += [text(name), struct.pack("<I", len(shape)), b"".join(struct.pack("<Q", d) for d in shape), struct.pack("<IQ", kind, 0)]
    return b"".join(out)


def heads(c, kv=None):
    dim = {"attention.key_length": c["head_dim"], "attention.value_length": c["head_dim"]} if c.get("head_dim") else {}
    return {"attention.head_count": c["num_attention_heads"],
            "attention.head_count_kv": kv or c.get("num_key_value_heads") or c["num_attention_heads"], **dim}


def latent(c):
    return {"attention.head_count": c["num_attention_heads"], "attention.head_count_kv": 1, "attention.kv_lora_rank": c["kv_lora_rank"],
            "attention.key_length": c["kv_lora_rank"] + c["qk_rope_head_dim"], "attention.value_length": c["kv_lora_rank"],
            "rope.dimension_count": c["qk_rope_head_dim"], "attention.value_length_mla": c["v_head_dim"],
            "attention.key_length_mla": c["qk_nope_head_dim"] + c["qk_rope_head_dim"]}


def gdn(c):
    return {"ssm.conv_kernel": c["linear_conv_kernel_dim"], "ssm.state_size": c["linear_key_head_dim"],
            "ssm.group_count": c["linear_num_key_heads"], "ssm.time_step_rank": c["linear_num_value_heads"],
            "ssm.inner_size": c["linear_value_head_dim"] * c["linear_num_value_heads"], "full_attention_interval": 4}


def ssm(conv, inner, state, rank, groups=None):
    return {"ssm.conv_kernel": conv, "ssm.inner_size": inner, "ssm.state_size": state, "ssm.time_step_rank": rank,
            **({"ssm.group_count": groups} if groups else {})}


def listed(letters, chosen, v):
    return [v if a in chosen else 0 for a in letters]


def of_config(c, letters):
    """Architecture and metadata; `letters`, which layers are what."""
    kind = c["model_type"]
    kv = c.get("num_key_value_heads", c.get("num_attention_heads"))
    if kind in ("llama", "qwen3", "qwen2"):
        return kind, heads(c)
    if kind == "qwen3_next":
        return "qwen3next", {**heads(c), **gdn(c)}
    if kind in ("qwen3_5_text", "qwen3_5_moe_text"):
        return "qwen35" if kind == "qwen3_5_text" else "qwen35moe", {**heads(c), **gdn(c)}
    if kind in ("gemma2", "gemma3_text", "gpt_oss", "cohere2"):
        return {"gemma3_text": "gemma3", "gpt_oss": "gpt-oss"}.get(kind, kind), {**heads(c), "attention.sliding_window": c["sliding_window"]}
    if kind == "kimi_linear":
        a = c["linear_attn_config"]
        return "kimi-linear", {**latent(c), "attention.head_count_kv": listed(letters, "F", 1),
                               "ssm.conv_kernel": a["short_conv_kernel_size"], "kda.head_dim": a["head_dim"]}
    if kind == "deepseek_v32":
        return "deepseek32", {**latent(c), "attention.indexer.top_k": c["index_topk"], "attention.indexer.key_length": c["index_head_dim"],
                              "attention.indexer.head_count": c["index_n_heads"]}
    if kind == "granitemoehybrid":
        inner = c["mamba_expand"] * c["hidden_size"]
        return "granitehybrid", {**heads(c, listed(letters, "F", kv)),
                                 **ssm(c["mamba_d_conv"], inner, c["mamba_d_state"], c["mamba_n_heads"], c["mamba_n_groups"])}
    if kind == "falcon_h1":
        return "falcon-h1", {**heads(c), **ssm(c["mamba_d_conv"], c["mamba_d_ssm"], c["mamba_d_state"], c["mamba_n_heads"], c["mamba_n_groups"])}
    if kind == "nemotron_h":
        moe = "E" in letters
        return "nemotron_h_moe" if moe else "nemotron_h", {
            **heads(c, listed(letters, "F", kv)), "feed_forward_length": listed(letters, "E-", 512),
            **ssm(c["conv_kernel"], c["mamba_num_heads"] * c["mamba_head_dim"], c["ssm_state_size"], c["mamba_num_heads"], c["n_groups"])}
    if kind == "jamba":
        return "jamba", {**heads(c, listed(letters, "F", kv)), **ssm(c["mamba_d_conv"], c["mamba_expand"] * c["hidden_size"], c["mamba_d_state"], 256)}
    if kind in ("lfm2", "lfm2_moe"):
        return kind.replace("_", ""), {**heads(c, listed(letters, "F", kv)), "shortconv.l_cache": c["conv_L_cache"]}
    if kind == "rwkv7":
        return "rwkv7", {"attention.head_count": 0, "wkv.head_size": c["head_dim"], "token_shift_count": 2, "context_length": 1048576}
    raise KeyError(kind)


def tensors_of(arch, letters, letter_of=None):
    """One of attention and one of a recurrence, where a layer has them; each of 256 numbers, of 16 bits."""
    names = {"attends": "attn_kv_a_mqa.weight" if arch in ("kimi-linear", "deepseek32") else "attn_k.weight",
             "recurs": {"lfm2": "shortconv.conv.weight", "lfm2moe": "shortconv.conv.weight", "rwkv7": "time_mix_key.weight"}.get(arch, "ssm_conv1d.weight")}
    out = [("token_embd.weight", [16, 16], 1)]
    for i, letter in enumerate(letters):
        out += [(f"blk.{i}.attn_norm.weight", [256], 1)]
        out += [(f"blk.{i}.{names['attends']}", [16, 16], 1)] if letter in "FSHh" else []
        out += [(f"blk.{i}.{names['recurs']}", [16, 16], 1)] if letter in "LHh" else []
    return out


def convert(c, letters, context, vocabulary):
    """The header of the GGUF of a configuration."""
    arch, own = of_config(c, letters)
    keys = {"block_count": len(letters), "embedding_length": c["hidden_size"], **({"context_length": context} if context else {}), **own}
    metadata = {"general.architecture": arch, "general.name": "a model", "general.file_type": 32, "tokenizer.ggml.model": "gpt2",
                **{f"{arch}.{k}": v for k, v in keys.items()}, "tokenizer.ggml.scores": [0.5] * vocabulary}
    metadata["tokenizer.ggml.tokens"] = ["t"] * vocabulary
    return header(metadata, tensors_of(arch, letters))
