#!/usr/bin/env python3
"""Sections of docs/JSON.md from the tables that the verbs answer by.
usage: json_page.py build/hopbound [--write]; without it the page is compared, exit 1 and a line for each difference."""
import pathlib, re, subprocess, sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/JSON.md"


def sections(text):
    """verb -> its section"""
    parts = re.split(r"(?m)^(?=## )", text)
    return parts[0], {p.split("\n")[0][3:].strip(): p.strip() + "\n\n" for p in parts[1:]}


def main():
    told = subprocess.run([sys.argv[1], "--answers"], capture_output=True, text=True, check=True).stdout
    head, page = sections(PAGE.read_text())
    wrong = {verb: text for verb, text in sections(told)[1].items() if page.get(verb) != text}
    if "--write" in sys.argv[2:]:
        page.update(wrong)
        PAGE.write_text(head + "".join(page.values()).rstrip() + "\n")
        return 0
    for verb in wrong:
        print(f"docs/JSON.md: {verb}: not as the tables say: tools/json_page.py build/hopbound --write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
