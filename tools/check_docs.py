#!/usr/bin/env python3
"""Checks the prose: every relative link of *.md and docs/*.md points to a file that exists (and, with #anchor, to a
heading of it); every `function` in backticks right after a link into tests/ is defined in that file; every "docs/X.md
section N" in the sources names a heading; every Coq statement in docs/PROOFS.md stands in proofs/, and every theorem of
proofs/Statements.v in docs/PROOFS.md; every `file.c:function` in docs/ARCHITECTURE.md is defined there and, in a walk, named
by its caller. Prints what is wrong and the counts; exit 1 on any failure."""
import functools, pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")
TESTS = re.compile(r"\]\(([^)\s]*tests/[^)\s]+)\)((?:[\s,;]*(?:and\s+)?`[a-z_0-9]+`)+)")
WALK = re.compile(r"^```walk\n(.*?)^```", flags=re.M | re.S)
PLACE = re.compile(r"^( *)([a-z_0-9]+(?:/[a-z_0-9]+)+\.[ch]):(\w+)( \*)?(?= |$)")
CITED = re.compile(r"docs/(\w+\.md) section (\d+(?:\.\d+)*)")

def prose(path):
    """The text without fenced blocks, which are replaced by empty lines so that line numbers stay."""
    return re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.M | re.S)

def headings(path):
    return re.findall(r"^#+\s+(.*?)\s*$", prose(path), flags=re.M)

def slug(heading):  # as GitHub makes anchors
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")

def plain(text):
    """Coq text without comments, one blank between words."""
    return " ".join(re.sub(r"\(\*.*?\*\)", " ", text, flags=re.S).split())

def statements(wrong):
    """Compares what docs/PROOFS.md says that Coq has proved with what it has. Returns how many statements there are."""
    page = ROOT / "docs/PROOFS.md"
    text, proofs = page.read_text(), [plain(p.read_text()) for p in (ROOT / "proofs").glob("*.v")]
    blocks = [(m.start(), plain(part)) for m in re.finditer(r"^```coq\n(.*?)^```", text, flags=re.M | re.S)
              for part in re.split(r"\n(?=\S)", m[1].strip())]
    for at, block in blocks:
        if not any(block in p for p in proofs):
            wrong(page, text, at, f"not in proofs/: {block[:60]}..")
    stated = [m[0].removesuffix(" Proof.") for m in
              re.finditer(r"Theorem .*? Proof\.", plain((ROOT / "proofs/Statements.v").read_text()))]
    for theorem in stated:
        if theorem not in [block for _, block in blocks]:
            wrong(page, text, 0, f"lacks a theorem of proofs/Statements.v: {theorem[:60]}..")
    return len(stated)

@functools.cache
def body(file, function):
    """What stands between the braces of a function of cli/ or src/; None: the file does not define it."""
    path = ROOT / file if file.startswith("cli/") else ROOT / "src" / file
    if not path.is_file():
        return None
    found = re.search(rf"^[a-z][^;{{}}=#]*\b{function}\([^;{{}}]*\)\n{{\n(.*?)^}}", path.read_text(), flags=re.M | re.S)
    return found and found[1]

def walks(wrong):
    """Follows the chains of docs/ARCHITECTURE.md. A line's caller is the nearest one above that stands further left; a
    line with * is called by a table. Returns how many functions there are."""
    page, count = ROOT / "docs/ARCHITECTURE.md", 0
    text = page.read_text()
    for walk in WALK.finditer(text):
        callers, at = [], walk.start(1)
        for line in walk[1].splitlines(keepends=True):
            m = PLACE.match(line)
            count += 1
            if not m:
                wrong(page, text, at, f"no file:function: {line.strip()}")
            else:
                indent, file, function, by_table = m.groups()
                callers = [c for c in callers if c[0] < len(indent)]
                if body(file, function) is None:
                    wrong(page, text, at, f"{file} defines no {function}")
                elif callers and not by_table and not re.search(rf"\b{function}\b", body(*callers[-1][1:]) or ""):
                    wrong(page, text, at, f"{callers[-1][2]} does not call {function}")
                callers.append((len(indent), file, function))
            at += len(line)
    for m in re.finditer(r"`([a-z_0-9]+(?:/[a-z_0-9]+)+\.[ch]):(\w+)`", WALK.sub("", text)):
        count += 1
        if body(m[1], m[2]) is None:
            wrong(page, text, text.find(m[0]), f"{m[1]} defines no {m[2]}")
    return count

def main():
    bad, links, names, cited = [], 0, 0, 0
    pages = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])

    def wrong(path, text, at, why):
        bad.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, at) + 1}: {why}")

    for page in pages:
        text = prose(page)
        for m in LINK.finditer(text):
            target, _, anchor = m[1].partition("#")
            if re.match(r"[a-z]+:", m[1]):
                continue  # the web is not ours to check
            links += 1
            file = (page.parent / target).resolve() if target else page
            if not file.exists():
                wrong(page, text, m.start(), f"{m[1]}: no such file")
            elif anchor and file.suffix == ".md" and anchor not in map(slug, headings(file)):
                wrong(page, text, m.start(), f"{m[1]}: no such heading")
        for m in TESTS.finditer(text):
            file = (page.parent / m[1].partition("#")[0]).resolve()
            for name in re.findall(r"`(\w+)`", m[2]):
                names += 1
                if file.is_file() and not re.search(rf"^(static void| *def) {name}\(", file.read_text(), flags=re.M):
                    wrong(page, text, m.start(), f"{m[1]} has no {name}")
    for source in sorted(p for d in ("src", "include", "cli") for p in (ROOT / d).rglob("*.[ch]")):
        text = source.read_text()
        for m in CITED.finditer(text):
            cited += 1
            if not (ROOT / "docs" / m[1]).exists() or not any(
                    re.match(rf"{re.escape(m[2])}\.?\s", h) for h in headings(ROOT / "docs" / m[1])):
                wrong(source, text, m.start(), f"docs/{m[1]} has no section {m[2]}")
    stated, called = statements(wrong), walks(wrong)
    print(*bad, sep="\n", end="\n" if bad else "")
    print(f"docs: {len(pages)} pages, {links} links, {names} tests named, {cited} sections cited, {stated} theorems stated, "
          f"{called} functions of walks, {len(bad)} wrong")
    sys.exit(bool(bad) or not pages)

main()
