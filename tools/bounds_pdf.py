#!/usr/bin/env python3
"""docs/BOUNDS.md as a PDF of this version: tools/bounds_pdf.py [OUT.pdf]

`make bounds-pdf` runs it, behind `tools/setup.sh pdf`, which brings what it takes: Chromium, which prints the page, and the package
markdown in a directory of its own. Links to other files of the project keep their words; those within the page work. Without
either it ends with one line, exit 1."""
import html, os, pathlib, re, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = pathlib.Path(os.environ.get("HOPBOUND_PDF", ROOT / "build-pdf"))
STYLE = """@page { size: A4; margin: 22mm 20mm } body { font: 10pt/1.45 serif; hyphens: auto } h1, h2, h3 { font-family: sans-serif;
line-height: 1.2; break-after: avoid } h2 { margin-top: 1.8em } pre, code { font: 8.6pt/1.35 monospace; white-space: pre-wrap }
pre { background: #f4f4f2; padding: .6em .8em; break-inside: avoid } table { border-collapse: collapse; font-size: 9pt }
td, th { border: .4pt solid #999; padding: .2em .5em; text-align: left; vertical-align: top } tr { break-inside: avoid }
a { color: inherit; text-decoration: none } header { color: #555; font: 9pt sans-serif; margin-bottom: 2em }"""


def fail(why):
    print(f"bounds_pdf: {why}", file=sys.stderr)
    sys.exit(1)


def anchor(title, separator="-"):
    """As the pages that show Markdown make them, so that links within the page are found."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", separator)


def page(version, commit):
    try:
        import markdown
    except ImportError:
        own = PLACE / "bin" / "python"
        if not own.exists() or pathlib.Path(sys.prefix).resolve() == PLACE.resolve():
            fail("no package markdown; `tools/setup.sh pdf` brings it")
        os.execv(own, [str(own), *sys.argv])
    text = (ROOT / "docs" / "BOUNDS.md").read_text()
    text = re.sub(r"\[([^\]]*)\]\((?!#|https?:)[^)]*\)", r"\1", text)
    body = markdown.markdown(text, extensions=["tables", "fenced_code", "toc", "sane_lists"],
                             extension_configs={"toc": {"slugify": lambda title, s: anchor(title, s)}})
    lost = {a for a in re.findall(r'href="#([^"]*)"', body) if f'id="{a}"' not in body}
    if lost: fail(f"docs/BOUNDS.md: links within the page that lead nowhere: {sorted(lost)}")
    head = html.escape(f"hopbound {version}{', commit ' + commit if commit else ''}")
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Bounds, derived: {head}</title><style>{STYLE}</style><header>{head}</header>{body}</html>'


def main():
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / f"hopbound-bounds-{version}.pdf").resolve()
    text = page(version, done.stdout.strip() if done.returncode == 0 else "")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium: fail("no Chromium; `tools/setup.sh pdf` brings it")
    with tempfile.TemporaryDirectory() as room:
        source = pathlib.Path(room) / "bounds.html"
        source.write_text(text)
        run = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={room}/user",
                              f"--print-to-pdf={room}/out.pdf", source.as_uri()], capture_output=True, text=True, timeout=300)
        made = pathlib.Path(room) / "out.pdf"
        if run.returncode or not made.exists() or made.read_bytes()[:5] != b"%PDF-":
            fail("Chromium printed nothing: " + (run.stderr.strip().splitlines() or ["no word of it"])[-1])
        shutil.move(made, out)
    print(f"{out}: docs/BOUNDS.md of hopbound {version}")


main()
