#!/usr/bin/env python3
"""Golden tests of the command line: run.py PATH_TO_HOPBOUND [PART OF A NAME]. Ends with 'N passed, M failed'."""
import glob, importlib, os, sys

sys.dont_write_bytecode = True  # the source tree stays clean
import harness

for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases_*.py"))):
    importlib.import_module(os.path.basename(path)[:-3])  # each registers its cases

harness.main()
