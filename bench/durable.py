#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""durable.py -- what a durable run costs, beside the same run without a journal and the syncs of the same disk.

    bench/durable.py [--pdl build/pdl] [--short]

Prints each value beside its limit; the exit status is 1 when one is passed (with --short, smaller numbers: threefold). Part `durable` of run.py. What
is compared runs in turns, and the best of each counts: a machine that does something else makes all of them slower, not one.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402
from calls import Server  # noqa: E402
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tests.durable.kit import Service  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CHAIN = "text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat:\n    text:\n    - {model: openai/m, input: \"number ${ i }\", def: x}\n    - \"${ x|length }\"\n"
MAP = "for: {i: \"${ range(n) | list }\"}\nmap: {model: openai/m, input: \"number ${ i }\"}\n"
CHAT = ("text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat:\n    text:\n    - {text: \"${ i } ${ 'word ' * 200 }\", role: user}\n"
        "    - {model: openai/m}\n")
READS = "text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat: {read: one.txt, contribute: []}\n- done\n"
DRAWS = "text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat: {data: \"${ [1, 2, 3] | random }\", contribute: []}\n- done\n"

HEAD = ["work", "measured", "limit"]
ROUNDS = 7


def processor_time():
    """Of all children that have ended, in seconds."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


class Bench:
    def __init__(self, a, work):
        self.a, self.work, self.lines = a, work, []
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(work / "http_server"), str(HERE / "http_server.c")], check=True)
        harness.build_measure(work)
        for name, text in (("chain", CHAIN), ("map", MAP), ("chat", CHAT), ("reads", READS), ("draws", DRAWS)):
            (work / (name + ".pdl")).write_text(text)
        (work / "one.txt").write_text("some text\n")

    def row(self, what, value, limit, unit, more=""):
        """limit None: there is none."""
        ok = limit is None or value <= limit * (3 if self.a.short else 1)
        self.lines.append(([what, "%.2f %s%s" % (value, unit, more), "" if limit is None else "<= %.2f %s" % (limit, unit)], ok))

    def run(self, env, *args):
        start = time.monotonic()
        p = subprocess.run([self.a.pdl, *args], cwd=self.work, env={**env, "PDL_RUNS": str(self.work / "runs")}, capture_output=True)
        if p.returncode:
            raise SystemExit("%s: %s" % (args, p.stderr.decode()))
        return time.monotonic() - start

    def sync(self, n):
        """Seconds of n synced appends, each of the size of a row that begins, to a new file."""
        fd = os.open(self.work / "append", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        start = time.monotonic()
        for _ in range(n):
            os.write(fd, b"x" * 12288)
            os.fdatasync(fd)
        os.close(fd)
        return time.monotonic() - start

    def chain(self):
        n = 100 if self.a.short else 1000
        plain, disk, ours, cost = [], [], [], []
        with Server(self.work, 0) as s:
            args = ["--stream", "none", "-d", "n: %d" % n]
            for i in range(2 if self.a.short else ROUNDS):
                times = [processor_time()]
                plain.append(self.run(s.env, *args, "chain.pdl"))
                times.append(processor_time())
                disk.append(self.sync(n))
                ours.append(self.run(s.env, "--durable", "--id", "chain%d" % i, *args, "chain.pdl"))
                times.append(processor_time())
                self.run(s.env, "--durable", "--sync", "process", "--id", "unsynced%d" % i, *args, "chain.pdl")
                cost.append((processor_time() - times[2]) - (times[1] - times[0]))
        us, most = 1e6 / n, harness.Machine(self.work).most(100)
        self.row("chain of %d instant calls, a call above the same without a journal" % n, (min(ours) - min(plain)) * us, min(disk) * us + most, "us",
                 " (a synced append takes %.0f)" % (min(disk) * us))
        self.row("its processor time, without those of the disk", min(cost) * us, most, "us", " (100 where the bare loop takes %g s)" % harness.Machine.LOOP)

    def map(self):
        n = 1000 if self.a.short else 10000
        with Server(self.work, 50) as s:
            args = ["--stream", "none", "--jobs", str(n), "-d", "n: %d" % n]
            plain = self.run(s.env, *args, "map.pdl")
            ours = self.run(s.env, "--durable", "--id", "map", *args, "map.pdl")
        self.row("map of %d calls of 50 ms" % n, ours / plain, 1.5, "times")

    def reads(self):
        n = 20000 if self.a.short else 1000000
        args = ["--stream", "none", "-d", "n: %d" % n]
        plain = self.run(os.environ, *args, "reads.pdl")
        ours = self.run(os.environ, "--durable", "--id", "reads", *args, "reads.pdl")
        again = self.run(os.environ, "resume", "reads")
        self.row("loop of %d reads of a small file" % n, ours / plain, 4, "times")
        self.row("the same, resumed from the journal", again, None, "s")

    def draws(self):
        """Chance is one effect a run, whatever is drawn; no program reads the clock; the bound is for 10^6 readings (spec runs 5)."""
        n = 200000 if self.a.short else 1000000
        args = ["--stream", "none", "-d", "n: %d" % n]
        plain = self.run(os.environ, *args, "draws.pdl")
        ours = self.run(os.environ, "--durable", "--id", "draws", *args, "draws.pdl")
        self.row("loop of %d random numbers" % n, ours / plain, 2, "times")

    def chat(self):
        n = 100 if self.a.short else 1000
        address = "http://127.0.0.1:%d/v1" % Service(0, last=True).port  # long requests
        env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": address, "OPENAI_BASE_URL": address}
        seconds = self.run(env, "--durable", "--sync", "process", "--id", "chat", "--stream", "none", "-d", "n: %d" % n, "chat.pdl")
        size = (self.work / "runs" / "chat.journal").stat().st_size
        self.row("chat of %d turns of 2 KB" % n, seconds, None, "s")
        self.row("its journal", size / 1e6, 10 * n / 1000, "MB")

    def listing(self):
        n = 50 if self.a.short else 1000
        (self.work / "hello.pdl").write_text("text: hello\n")
        for i in range(n):
            self.run(os.environ, "--durable", "--sync", "process", "--id", "hello%d" % i, "hello.pdl")
        env = {**os.environ, "PDL_RUNS": str(self.work / "runs")}
        seconds = []
        for _ in range(ROUNDS):
            start = time.monotonic()
            out = subprocess.run([self.a.pdl, "runs", "--json"], env=env, capture_output=True).stdout
            seconds.append(time.monotonic() - start)
        self.row("`pdl runs` over %d runs" % len(json.loads(out)), min(seconds) * 1000, harness.Machine(self.work).most(50), "ms")


    def spans(self):
        """10 000 spans a second, for at most a tenth of that second: processor time, for the collector here takes more than the run."""
        n = 4000 if self.a.short else 20000
        args = ["--stream", "none", "-d", "n: %d" % n]
        with Server(self.work, 0) as s:
            cost = []
            for _ in range(ROUNDS):
                times = [processor_time()]
                self.run(s.env, *args, "reads.pdl")
                times.append(processor_time())
                self.run(s.env, "--otlp", s.env["OPENAI_BASE_URL"] + "/traces", *args, "reads.pdl")
                cost.append((processor_time() - times[1]) - (times[1] - times[0]))
        self.row("traces of %d effects to a collector, processor time a span" % n, min(cost) / n * 1e6, harness.Machine(self.work).most(10), "us")


NAMES = ("chain", "map", "reads", "draws", "chat", "listing", "spans")


def rows(a, peers, folder):
    """The part of run.py."""
    work = pathlib.Path(folder) / "durable"
    work.mkdir()
    b = Bench(a, work)
    for name in NAMES:
        getattr(b, name)()
    return b.lines


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pdl", default="build/pdl")
    ap.add_argument("--short", action="store_true")
    ap.add_argument("--only")
    a = ap.parse_args()
    a.pdl = str(pathlib.Path(a.pdl).resolve())
    with tempfile.TemporaryDirectory(prefix="pdl_bench_") as work:
        b = Bench(a, pathlib.Path(work))
        for name in NAMES:
            if not a.only or a.only == name:
                seen = len(b.lines)
                getattr(b, name)()
                for (what, value, limit), ok in b.lines[seen:]:
                    print("%-70s %s  %s%s" % (what, value, limit, "" if ok else "  MISSED"), flush=True)
    missed = sum(not ok for _, ok in b.lines)
    print("%d passed, %d failed" % (len(b.lines) - missed, missed))
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
