#!/usr/bin/env python3
"""The ladder's page in headless Chromium: run.py HOPBOUND. Exit 77, with a line that says why, where something that it
takes is missing; tools/setup.sh check installs it."""
import os, pathlib, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent

def skip(what):
    print(f"page: skipped: no {what}; tools/setup.sh check installs it")
    sys.exit(77)

def main(hopbound):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    node = shutil.which("node")
    if not chromium or not node:
        skip("node" if chromium else "chromium")
    for package in ("playwright-core", "axe-core", "html-validate"):
        if not (HERE / "node_modules" / package).is_dir():
            skip(f"npm package {package}")
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "ladder")
        subprocess.run([hopbound, "ladder", "--rungs", "3", "--count", "1", "--quiet", "-o", out], check=True,
                       stdout=subprocess.DEVNULL)
        sys.exit(subprocess.run([node, HERE / "check.mjs", chromium, os.path.join(out, "report.html")]).returncode)

main(os.path.abspath(sys.argv[1]))
