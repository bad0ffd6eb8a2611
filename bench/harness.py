# SPDX-License-Identifier: Apache-2.0
"""harness.py -- what every part of the benchmark shares: measuring a process, medians of alternating runs, words for figures."""
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("PDL_SHARED", ROOT.parent / "shared")) / "bench"


class Figure:
    """Median and best seconds of some runs, half their spread, the highest peak of resident memory in MB."""

    def __init__(self, samples):
        times = [s[0] for s in samples]
        self.seconds, self.best, self.spread = statistics.median(times), min(times), (max(times) - min(times)) / 2
        self.mb = max(s[1] for s in samples)

    def __str__(self):
        return "%s ±%s, %.0f MB" % (span(self.seconds), span(self.spread), self.mb)


def span(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return "%.3g %s" % (seconds / size, unit)
    return "%.3g ns" % (seconds / 1e-9)


def build_measure(folder):
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", str(folder / "measure"), str(ROOT / "bench" / "measure.c")], check=True)


def measure(argv, folder, env=None):
    """Seconds and peak memory in MB of one process; None when it fails."""
    out = subprocess.run([str(folder / "measure")] + [str(a) for a in argv], cwd=folder, stdout=subprocess.PIPE, text=True, check=True,
                         env=dict(os.environ, **(env or {}))).stdout.split()
    return (float(out[0]), int(out[1]) / 1024) if out[2] == "0" else None


def alternate(commands, runs, folder, env=None):
    """{name: argv} -> {name: Figure, or None for what failed}: the commands run A B A B, so that a slow minute hits all of them."""
    samples = {name: [] for name in commands}
    for _ in range(runs):
        for name, argv in commands.items():
            if None not in samples[name]:
                samples[name].append(measure(argv, folder, env))
    return {name: None if None in got else Figure(got) for name, got in samples.items()}


def processor():
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown processor"
