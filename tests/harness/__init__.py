# SPDX-License-Identifier: Apache-2.0
"""How the tests are collected, spread over processes, limited and counted. CONTRIBUTING.md, "Tests", is the introduction.

suites.py    which folders there are, and which verb of the Makefile runs them
choice.py    the options of a run: build folder, tier, scale, and the part of the rows that it takes
collect.py   cases that are no Python: tests/cli/ROOM/*.test, programs that carry their expectation, unit tests in C
isolate.py   each item in a process of its own, with limits; what it leaves behind is ended
schedule.py  one item at a time to each worker, the longest first
report.py    checks and processor time, by suite
"""
