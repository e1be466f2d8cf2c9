#!/usr/bin/env python3
"""Golden tests of the command line: run.py PATH_TO_HOPBOUND [PART OF A NAME]. Ends with 'N passed, M failed'."""
import sys

sys.dont_write_bytecode = True  # the source tree stays clean
import harness
import cases_usage, cases_task, cases_tasks_more, cases_network, cases_kinds, cases_exact, cases_core, cases_scans, cases_hostile  # noqa: F401  each registers its cases

harness.main()
