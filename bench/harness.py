# SPDX-License-Identifier: Apache-2.0
"""harness.py -- what every part of the benchmark shares: measuring a process, medians of alternating runs, words for figures."""
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("PDL_SHARED", ROOT.parent / "shared")) / "bench"
MAX_SECONDS = 120  # a peer that takes longer is one that fails


class Figure:
    """Median and best seconds of some runs, half their spread, the highest peak of resident memory in MB, the least processor time."""

    def __init__(self, samples):
        times = [s[0] for s in samples]
        self.seconds, self.best, self.spread = statistics.median(times), min(times), (max(times) - min(times)) / 2
        self.mb = max(s[1] for s in samples)
        self.work = min(s[-1] for s in samples) if len(samples[0]) == 3 else self.best

    def __str__(self):
        return "%s ±%s, %.0f MB" % (span(self.seconds), span(self.spread), self.mb)


def span(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return "%.3g %s" % (seconds / size, unit)
    return "%.3g ns" % (seconds / 1e-9)


def build_measure(folder):
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O1", "-o", str(folder / "measure"), str(ROOT / "bench" / "measure.c")], check=True)


def ended(argv, seconds=MAX_SECONDS, **more):
    """What a process wrote to standard output; None when it fails, or has not ended in time. Then those that it started are ended as well."""
    with subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, text=True, start_new_session=True, **more) as p:
        try:
            out = p.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            print("bench: %s has not ended after %d s" % (argv[-1], seconds), file=sys.stderr)
            return None
    return out if p.returncode == 0 else None


def measure(argv, folder, env=None, seconds=MAX_SECONDS):
    """Seconds, peak memory in MB and seconds of processor time of one process; None when it fails."""
    out = (ended([folder / "measure", *argv], seconds, cwd=folder, env=dict(os.environ, **(env or {}))) or "0 0 1").split()
    return (float(out[0]), int(out[1]) / 1024, float(out[3])) if out[2] == "0" else None


def alternate(commands, runs, folder, env=None):
    """{name: argv} -> {name: Figure, or None for what failed}: the commands run A B A B, so that a slow minute hits all of them."""
    samples = {name: [] for name in commands}
    for _ in range(runs):
        for name, argv in commands.items():
            if None not in samples[name]:
                samples[name].append(measure(argv, folder, env))
    return {name: None if None in got else Figure(got) for name, got in samples.items()}


def bare_loop(folder):
    """The command of a loop of fixed size: what has no better yardstick is held against it."""
    return [folder / "measure", "--spin"]


class Machine:
    """How fast this machine is now: LOOP seconds are those of the bare loop where the figures of docs/benchmarks.md were taken. A limit in units of
    time is one in loops, so that a slow or busy machine is no failure."""
    LOOP = 0.1

    def __init__(self, folder, runs=3):
        got = alternate({"loop": bare_loop(folder)}, runs, folder)["loop"]
        self.slowness = got.work / self.LOOP

    def most(self, limit):
        """A limit of time, here and now."""
        return limit * self.slowness

    def words(self, text):
        return "%s where the bare loop takes %g s (here %.2f)" % (text, self.LOOP, self.LOOP * self.slowness)


def processor():
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown processor"
