#!/usr/bin/env python3
"""Every configuration class of the installed transformers beside what `audit` makes of its file.

    tests/hf/classes.py PROGRAM                 three files a class: its default, its default without what the class
                                                derives, one of 13 layers; exit 1 if one of them is read otherwise
    tests/hf/classes.py PROGRAM --quick         defaults only, unless HOPBOUND_LONG is set
    tests/hf/classes.py PROGRAM --write         the table of docs/FAMILIES.md, made anew

The class is asked which layers attend to what, as its cache asks it, for windows, heads and numbers in a head. `audit`
must say the same, or refuse; whatever is no decoder it must refuse. Where a class's cache says less than its layers do,
EXCEPTIONS says why. Without transformers: 77, which Meson counts as skipped."""
import argparse, collections, concurrent.futures, json, pathlib, subprocess, sys, tempfile, warnings

import own

own.python("hf classes")
warnings.filterwarnings("ignore")
import transformers
from transformers.cache_utils import get_layer_types_and_kwargs
from transformers.models.auto import configuration_auto, modeling_auto

LETTERS = {"full_attention": "F", "sliding_attention": "S", "chunked_attention": "S", "indexed_attention": "S",
           "compressed_sparse_attention": "S", "heavily_compressed_attention": "S", "conv": "L", "linear_attention": "L",
           "hybrid": "H", "hybrid_sliding": "h", "moe": "-", "mlp": "-"}
DERIVED = ("layer_types", "layers_block_type", "per_layer_config", "mlp_layer_types", "kv_sharing_modes")
# What the class does, where its cache does not tell: a function of the class's configuration, or a letter for all.
EXCEPTIONS = {
    "gpt_neo": (lambda c: ["F" if a == "global" else "S" for a in c.attention_layers], "its mask has the window, its cache has all"),
    "rwkv": ("L", "no cache object"),
    "xlstm": ("L", "a cache of its own"),
    "doge": ("S", "its mask keeps keep_window_size tokens"),
    "moshi": (None, "windows in a cache of its own"),
    "reformer": (None, "hashed and local attention, a cache of its own"),
}
# Decoders that no mapping of these names: sound comes in as vectors, one a token.
HEARS = {"audioflamingo3", "musicflamingo", "vibevoice", "jev"}
# Heads that the class's keys do not tell: falcon's multi_query leaves one key head.
HEADS = {"falcon": (71, 1, 64)}
# Attention with short convolutions: the cache counts their state, no layer has a recurrence.
CONVOLVED = {"H": "F", "h": "S"}

def names(*mappings):
    return {name for m in mappings for name in getattr(modeling_auto, m, {})}

def layer_types(config):
    types, kwargs = get_layer_types_and_kwargs(config)
    own = getattr(config, "layer_types", None)  # a layer that borrows another's cache still attends
    return list(own) if own and len(own) == len(types) else types, kwargs

def attention(config, i):
    """Heads, key heads and numbers in a head of layer i; 0: the class does not say."""
    c = config.per_layer_config[i]
    heads = getattr(c, "num_attention_heads", 0) or 0
    if getattr(c, "kv_lora_rank", None) and getattr(c, "qk_nope_head_dim", None) is not None:
        return heads, 0, c.qk_nope_head_dim + c.qk_rope_head_dim
    kv = getattr(c, "num_key_value_heads", None) or heads
    dim = getattr(c, "head_dim", None) or (c.hidden_size // heads if heads and getattr(c, "hidden_size", 0) else 0)
    return heads, kv, dim

def of_class(kind, config):
    """A letter a layer, the windows, and heads of the first layer that sees everything; None: the class does not say."""
    text = config.get_text_config(decoder=True)
    special = EXCEPTIONS.get(text.model_type) or EXCEPTIONS.get(kind)
    types, kwargs = layer_types(text)
    letters = "".join(LETTERS.get(t, "?") for t in types)
    if special:
        if special[0] is None: return None
        letters = special[0] * len(types) if isinstance(special[0], str) else "".join(special[0](text))
    windows = {k["sliding_window"] for k in kwargs if k.get("sliding_window")} if not special else set()
    first = next((i for i, a in enumerate(letters) if a in "FH"), None)
    return letters, windows, HEADS.get(kind) or attention(text, first) if first is not None else None

def audit(program, text, room, name):
    path = room / f"{name}.json"
    path.write_text(json.dumps(text, default=str))
    done = subprocess.run([program, "audit", str(path), "--plan-only", "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode == 0: return json.loads(done.stdout)
    return done.stderr.strip().split(".json: ", 1)[-1] if done.returncode == 1 else f"exit {done.returncode}: {done.stderr}"

def differs(ours, theirs):
    """What `audit` says otherwise; "" nothing."""
    letters, windows, sizes = theirs
    said = ours["pattern"].replace("E", "-").replace("C", "F").replace("G", "-")
    if "short convolutions of keys" in (ours["remark"] or ""):
        letters = "".join(CONVOLVED.get(a, a) for a in letters)
    if said != letters: return f"layers {said}, the class has {letters}"
    if windows and ours.get("window") not in windows | {None, 0}: return f"window {ours['window']}, the class has {sorted(windows)}"
    a = ours.get("attention")
    if sizes and a and all(sizes[i] for i in (0, 2)):
        mine = (a["heads"], a["kv_heads"] or 0, a["qk_head_dim"] or a["head_dim"])
        if a["kind"] == "mla": sizes = (sizes[0], 0, sizes[2])
        if mine != sizes: return f"heads, key heads, numbers {mine}, the class has {sizes}"
    return ""

def files(kind, make):
    """What is asked of a class: name of the case, its configuration, the file."""
    default = make()
    full = default.to_dict()
    yield "default", default, full
    text = {k: v for k, v in full.items() if k not in DERIVED and not k.startswith("text_config")}
    if "text_config" not in full: yield "without lists", default, text
    try:
        shorter = make(num_hidden_layers=13)
    except Exception:
        return
    if "text_config" not in full and shorter.get_text_config(decoder=True).num_hidden_layers == 13:
        yield "13 layers", shorter, {k: v for k, v in shorter.to_dict().items() if k not in DERIVED}

def judge(program, room, kind, decoder, quick):
    """Rows (case, verdict, words)."""
    cls = configuration_auto.CONFIG_MAPPING[kind]
    try:
        cases = list(files(kind, cls))[: 1 if quick else None]
    except Exception as e:
        return [("default", "no default", type(e).__name__)]
    rows = []
    for case, config, text in cases:
        text.setdefault("model_type", kind)
        ours = audit(program, text, room, f"{kind}-{case.replace(' ', '-')}")
        if isinstance(ours, str):
            rows.append((case, "refused", ours)) if not ours.startswith("exit") else rows.append((case, "DIFFERS", ours))
        elif not decoder:
            rows.append((case, "DIFFERS", f"is no decoder, read as {ours['plan']}"))
        else:
            try:
                theirs = of_class(kind, config)
            except Exception as e:
                rows.append((case, "not told", f"{ours['plan']}; the class: {type(e).__name__}: {e}"[:120]))
                continue
            why = differs(ours, theirs) if theirs else ""
            rows.append((case, "DIFFERS" if why else "agrees" if theirs else "not told", why or ours["plan"]))
    return rows

def decoders():
    """Classes that read from left to right: those with a language model's head, and what they keep their language model as."""
    causal = {k for k in names("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES") if k in configuration_auto.CONFIG_MAPPING}
    able = causal | HEARS | names("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES")
    for kind in list(able):
        try:
            able.add(configuration_auto.CONFIG_MAPPING[kind]().get_text_config(decoder=True).model_type)
        except Exception:
            pass
    return able, causal

def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("only", nargs="*", help="these model_types")
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--write", action="store_true")
    o = arguments.parse_args()
    o.quick &= not own.WHOLE
    able, causal = decoders()
    kinds = o.only or sorted(configuration_auto.CONFIG_MAPPING)
    with tempfile.TemporaryDirectory() as room:
        rows = {k: judge(o.program, pathlib.Path(room), k, k in able, o.quick) for k in kinds}
    count = collections.Counter(family_verdict(rows[k]) for k in kinds if k in causal)
    for k in kinds:
        for case, verdict, words in rows[k]:
            if verdict == "DIFFERS" or o.only: print(f"{k}, {case}: {verdict}: {words[:260]}")
    print(f"transformers {transformers.__version__}, {len(kinds)} configuration classes. Of those with a causal language model: "
          + ", ".join(f"{n} {v}" for v, n in sorted(count.items())))
    if o.write: write(rows, causal)
    wrong = sum(v == "DIFFERS" for k in kinds for _, v, _ in rows[k])
    asked = count["agree"] + count["refused"] + count["differ"]
    print(f"classes: {sum(v == 'agrees' for k in kinds for _, v, _ in rows[k])} passed, {wrong} failed")
    return wrong > 0 or (not o.only and count["agree"] < 0.9 * asked)

def family_verdict(rows):
    """Of a family, by its default file."""
    _, verdict, words = rows[0]
    if verdict == "refused" and "is no decoder" in words: return "no decoders by their own words"
    return {"agrees": "agree", "DIFFERS": "differ", "refused": "refused"}.get(verdict, "not told")

def write(rows, causal):
    """docs/FAMILIES.md: of each decoder family, what its three files are read as."""
    page = own.ROOT / "docs/FAMILIES.md"
    head = page.read_text().split("<!-- table -->")[0]
    lines = [f"transformers {transformers.__version__}.", "", "| model_type | default | without lists | 13 layers |", "|---|---|---|---|"]
    for k in sorted(causal):
        if family_verdict(rows[k]) == "no decoders by their own words": continue
        said = {case: words if verdict == "agrees" else f"{verdict}: {words}" for case, verdict, words in rows[k]}
        cells = [said.get(case, "").split("; ")[0][:90].replace("|", "\\|") for case in ("default", "without lists", "13 layers")]
        lines.append(f"| {k} | " + " | ".join(cells) + " |")
    page.write_text(head + "<!-- table -->\n" + "\n".join(lines) + "\n")

if __name__ == "__main__":
    sys.exit(main())
