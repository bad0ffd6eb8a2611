# SPDX-License-Identifier: Apache-2.0
"""How the tests are collected, spread over processes, limited and counted. CONTRIBUTING.md, "Tests", is the introduction.

suites.py    the folders of tests, and the verb of the Makefile that runs each
choice.py    the options of a run: build folder, tier, scale, and the part of the rows that it takes
collect.py   cases that are not in Python: tests/cli/ROOM/*.test, programs that contain their expectation, unit tests in C
isolate.py   each item in a separate process, with limits; processes that it leaves behind are killed
schedule.py  one item at a time to each worker, the longest first
report.py    checks and processor time, by suite
"""
