#!/usr/bin/env python3
"""Tests of the Python package: run.py LIBRARY PROGRAM [PART OF A NAME]. Ends with 'N passed, M failed'. The package is that
of this tree, the library and the program those of a build. Without numpy its tests are skipped, with a line that says so."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays clean
HERE = pathlib.Path(__file__).resolve().parent
os.environ.update(HOPBOUND_LIBRARY=os.path.abspath(sys.argv[1]), HOPBOUND_PROGRAM=os.path.abspath(sys.argv[2]),
                  PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(HERE.parent.parent / "python"))
sys.path[:0] = [str(HERE.parent.parent / "python"), str(HERE)]


def main():
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("python: skipped, for there is no numpy")
        return 0
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    suite = unittest.TestSuite()
    for case in HERE.glob("test_*.py"):
        for test in unittest.defaultTestLoader.loadTestsFromName(case.stem):
            suite.addTests(t for t in test if part in t.id())
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    for test, why in result.skipped:
        print(f"skipped: {test.id()}: {why}")
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    return failed != 0


sys.exit(main())
