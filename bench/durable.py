#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""durable.py -- what a durable run costs, beside the same run without a journal and the syncs of the same disk.

    bench/durable.py [--pdl build/pdl] [--short]

Prints each value beside its limit; the exit status is 1 when one is passed (with --short, smaller numbers: threefold).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from calls import Server  # noqa: E402
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "durable"))
from kit import Service  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CHAIN = "text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat:\n    text:\n    - {model: openai/m, input: \"number ${ i }\", def: x}\n    - \"${ x|length }\"\n"
MAP = "for: {i: \"${ range(n) | list }\"}\nmap: {model: openai/m, input: \"number ${ i }\"}\n"
CHAT = ("text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat:\n    text:\n    - {text: \"${ i } ${ 'word ' * 200 }\", role: user}\n"
        "    - {model: openai/m}\n")
READS = "text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat: {read: one.txt, contribute: []}\n- done\n"


class Bench:
    def __init__(self, a, work):
        self.a, self.work, self.bad = a, work, 0
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(work / "http_server"), str(HERE / "http_server.c")], check=True)
        for name, text in (("chain", CHAIN), ("map", MAP), ("chat", CHAT), ("reads", READS)):
            (work / (name + ".pdl")).write_text(text)
        (work / "one.txt").write_text("some text\n")

    def row(self, what, value, limit, unit):
        slack = 3 if self.a.short else 1
        ok = value <= limit * slack
        self.bad += not ok
        print("%-58s %10.2f %-10s (at most %g)%s" % (what, value, unit, limit, "" if ok else "  MISSED"), flush=True)

    def run(self, env, *args):
        start = time.monotonic()
        p = subprocess.run([self.a.pdl, *args], cwd=self.work, env={**env, "PDL_RUNS": str(self.work / "runs")}, capture_output=True)
        if p.returncode:
            raise SystemExit("%s: %s" % (args, p.stderr.decode()))
        return time.monotonic() - start

    def sync(self, n):
        """Seconds of one synced append, the size of a begun row."""
        fd, times = os.open(self.work / "append", os.O_WRONLY | os.O_CREAT | os.O_APPEND), []
        for _ in range(n):
            start = time.monotonic()
            os.write(fd, b"x" * 12288)
            os.fdatasync(fd)
            times.append(time.monotonic() - start)
        os.close(fd)
        return statistics.mean(times)

    def chain(self):
        n = 100 if self.a.short else 1000
        with Server(self.work, 0) as s:
            args = ["--stream", "none", "-d", "n: %d" % n]
            plain = self.run(s.env, *args, "chain.pdl")
            disk = self.sync(n // 2)
            ours = self.run(s.env, "--durable", "--id", "chain", *args, "chain.pdl")
            disk = (disk + self.sync(n // 2)) / 2
        print("%-58s %10.0f us" % ("one synced append of this disk", disk * 1e6))
        self.row("chain of %d instant calls, above it a call" % n, (ours - plain) / n * 1e6, disk * 1e6 + 100, "us")

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
        print("%-58s %10.2f s" % ("  resumed from the journal", again))

    def chat(self):
        n = 100 if self.a.short else 1000
        address = "http://127.0.0.1:%d/v1" % Service(0, last=True).port  # long requests
        env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": address, "OPENAI_BASE_URL": address}
        seconds = self.run(env, "--durable", "--sync", "process", "--id", "chat", "--stream", "none", "-d", "n: %d" % n, "chat.pdl")
        size = (self.work / "runs" / "chat.journal").stat().st_size
        print("%-58s %10.2f s" % ("chat of %d turns of 2 KB" % n, seconds))
        self.row("  its journal", size / 1e6, 10 * n / 1000, "MB")

    def listing(self):
        n = 50 if self.a.short else 1000
        (self.work / "hello.pdl").write_text("text: hello\n")
        for i in range(n):
            self.run(os.environ, "--durable", "--sync", "process", "--id", "hello%d" % i, "hello.pdl")
        env = {**os.environ, "PDL_RUNS": str(self.work / "runs")}
        start = time.monotonic()
        out = subprocess.run([self.a.pdl, "runs", "--json"], env=env, capture_output=True).stdout
        seconds = time.monotonic() - start
        self.row("pdl runs over %d runs" % len(json.loads(out)), seconds * 1000, 50, "ms")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pdl", default="build/pdl")
    ap.add_argument("--short", action="store_true")
    ap.add_argument("--only")
    a = ap.parse_args()
    a.pdl = str(pathlib.Path(a.pdl).resolve())
    with tempfile.TemporaryDirectory(prefix="pdl_bench_") as work:
        b = Bench(a, pathlib.Path(work))
        for name in ("chain", "map", "reads", "chat", "listing"):
            if not a.only or a.only == name:
                getattr(b, name)()
    return b.bad > 0


if __name__ == "__main__":
    sys.exit(main())
