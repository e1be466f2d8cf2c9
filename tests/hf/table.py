#!/usr/bin/env python3
"""docs/TRANSFORMERS.md from what `make check-hf` found: table.py BUILD."""
import json, pathlib, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WAYS = ("eager", "sdpa", "cached")


def logits(found):
    lines = ["| network | model_type | class | " + " | ".join(WAYS) + " |", "|---|---|---|" + "---|" * len(WAYS)]
    for row in found["rows"]:
        cells = [row["network"], row["model_type"], row["class"]] + [f"{row[w]:.1e}" if w in row else "" for w in WAYS]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def exact(rows):
    lines = ["| model_type | pattern | hops | n | verdict of `prove` | right | in bfloat16 | one weight damaged |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        cells = [r["model_type"], r["pattern"], r["hops"], f"{r['n']:,}", r["verdict"], f"{r['right']:,} of {r['count']:,}", r["bf16"], r["damaged"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def main():
    if len(sys.argv) != 2: sys.exit(__doc__)
    found = pathlib.Path(sys.argv[1]) / "tests"
    agree, nets = (json.loads((found / f"{name}.json").read_text()) for name in ("agree", "exact"))
    if not agree["whole"]: sys.exit("table: only a sample was tried; make check-hf tries all")
    page = ROOT / "docs/TRANSFORMERS.md"
    lines = [f"transformers {agree['transformers']}, PyTorch {agree['torch'].split('+')[0]}.", "", *logits(agree), "", "## Exact networks, loaded by transformers",
             "", *exact(nets), ""]
    page.write_text(page.read_text().split("<!-- table -->")[0] + "<!-- table -->\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
