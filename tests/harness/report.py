# SPDX-License-Identifier: Apache-2.0
"""Counts checks and processor time by suite, prints them at the end, and keeps them for tools/test and for the order of the next run."""
import collections
import json
import pathlib

from . import suites


class Totals:
    def __init__(self, config):
        self.config = config
        self.rows = collections.defaultdict(lambda: [0, 0, 0, 0.0, 0])  # passed, failed, skipped, seconds, items
        self.items = {}
        self.bad = []
        self.reasons = collections.Counter()
        self.left = []

    def pytest_runtest_logreport(self, report):
        told = dict(report.user_properties)
        if "cpu" not in told:
            return
        suite = suites.of(report.nodeid.split("::")[0])
        row = self.rows[suite.name if suite else "other"]
        for i, key in enumerate(("checks", "failed", "skipped", "cpu")):
            row[i] += told[key]
        row[4] += 1
        if told["failed"]:
            self.bad.append(report.nodeid)
        self.items[report.nodeid] = (told["cpu"], told["clock"])
        self.reasons.update(told["reasons"])
        self.left += [(report.nodeid, what) for what in told["left"]]

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        write = terminalreporter.write_line
        if not self.items:
            return
        write("")
        write("%-16s %8s %6s %8s %9s %6s" % ("suite", "passed", "failed", "skipped", "cpu s", "items"))
        for name in sorted(self.rows, key=lambda n: -self.rows[n][3]):
            row = self.rows[name]
            write("%-16s %8d %6d %8d %9.1f %6d" % (name, *row))
        for what, n in sorted(self.reasons.items())[:40]:
            write("skipped: %s%s" % (what, " (%d times)" % n if n > 1 else ""))
        slowest = self.config.getoption("slowest")
        for name, (cpu, clock) in sorted(self.items.items(), key=lambda x: -x[1][0])[:slowest]:
            write("%6.2f s of the processor, %6.2f s: %s" % (cpu, clock, name))
        if self.config.getoption("left"):
            for name, what in self.left:
                write("left running: %s: %s" % (name, what))
        self.keep()

    def keep(self):
        build = pathlib.Path(self.config.rootpath) / self.config.getoption("build")
        if not build.is_dir():
            return
        path = build / "test-times.json"
        try:
            known = json.loads(path.read_text())
        except (OSError, ValueError):
            known = {}
        known.update({name: clock for name, (_, clock) in self.items.items()})
        path.write_text(json.dumps(known))
        passed, failed, skipped, cpu = (sum(r[i] for r in self.rows.values()) for i in range(4))
        result = {"passed": passed, "failed": failed, "skipped": skipped, "cpu": cpu, "suites": self.rows, "bad": self.bad,
                  "items": {n: c for n, (c, _) in self.items.items()}}
        (build / ("test-result%s.json" % self.config.getoption("phase"))).write_text(json.dumps(result))
