#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls.py -- speed of model calls over loopback, beside what libcurl alone takes.

    bench/calls.py [--pdl build/pdl] [--runs N] [--short] [--reference CMD] [--openai PYTHON]

bench/http_server.c answers, bench/curl_loop.c is the yardstick, bench/latency.c looks at the age of streamed tokens; all three are
compiled here. Runs alternate (A B A B), medians are printed with their spread, each beside its limit. --reference: another PDL
interpreter, at 200 calls. --openai: a Python that has the package `openai`; its asynchronous client makes the same requests.
The exit status is 1 when a limit is passed; with --short (fewer calls, for tests) when it is passed threefold.
"""
import argparse
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MAP = "for: {i: \"${ range(n) | list }\"}\nmap: {model: openai/m, input: 'Say something about number ${ i }.'}\n"
ONE = "{model: openai/m, input: Say something about number 12345.}\n"
CLIENT = """
import asyncio, sys, openai
async def main(n):
    c = openai.AsyncOpenAI(max_retries=0)
    ask = lambda i: c.chat.completions.create(model="m", messages=[{"role": "user", "content": "Say something about number %d." % i}])
    await asyncio.gather(*[ask(i) for i in range(n)])
asyncio.run(main(int(sys.argv[1])))
"""


class Server:
    def __init__(self, work, *args):
        self.p = subprocess.Popen([str(work / "http_server"), *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.base = "http://127.0.0.1:%s/v1" % self.p.stdout.readline().strip()
        self.url = self.base + "/chat/completions"
        self.env = {**os.environ, "OPENAI_API_BASE": self.base, "OPENAI_BASE_URL": self.base, "OPENAI_API_KEY": "k"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        self.p.wait()


class Bench:
    def __init__(self, a, work):
        self.a, self.work, self.bad = a, work, 0
        for name, more in (("http_server", []), ("curl_loop", ["-lcurl"]), ("latency", []), ("measure", [])):
            subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(work / name), str(HERE / (name + ".c")), *more], check=True)
        (work / "map.pdl").write_text(MAP)
        (work / "one.pdl").write_text(ONE)
        (work / "client.py").write_text(CLIENT)

    def measure(self, server, *argv):
        """(seconds, kilobytes) of a process; None when it fails."""
        out = subprocess.run([str(self.work / "measure"), *argv], cwd=self.work, env=server.env, capture_output=True, text=True).stdout.split()
        return (float(out[0]), int(out[1])) if out and out[2] == "0" else None

    def medians(self, samples):
        samples = [s for s in samples if s]
        return (statistics.median(s[0] for s in samples), statistics.median(s[1] for s in samples)) if samples else None

    def row(self, what, value, limit, unit, at_most=True):
        slack = 3 if self.a.short else 1
        ok = value <= limit * slack if at_most else value * slack >= limit
        self.bad += not ok
        print("%-58s %10.2f %-10s (%s %g)%s" % (what, value, unit, "at most" if at_most else "at least", limit, "" if ok else "  MISSED"), flush=True)

    def note(self, what, m):
        print("%-58s %s" % (what, "fails" if not m else "%10.2f s, %.0f MB" % (m[0], m[1] / 1024)), flush=True)

    def many(self):
        n = 1000 if self.a.short else 10000
        ours, theirs = [], []
        with Server(self.work, 50) as s:
            for _ in range(self.a.runs):
                theirs.append(self.measure(s, str(self.work / "curl_loop"), s.url, str(n), str(n)))
                ours.append(self.measure(s, self.a.pdl, "--stream", "none", "--jobs", str(n), "-d", "n: %d" % n, "map.pdl"))
            a, b = self.medians(ours), self.medians(theirs)
            self.note("map of %d calls of 50 ms" % n, a)
            self.note("  bare libcurl loop", b)
            self.row("  ratio", a[0] / b[0], 1.3, "times")
            self.row("  memory above it, a call", (a[1] - b[1]) / n, 32, "KB")
            if self.a.reference:
                self.note("  reference, 200 calls", self.measure(s, *shlex.split(self.a.reference), "--stream", "none", "-d", "n: 200", "map.pdl"))
            if self.a.openai:
                self.note("  openai's asynchronous client", self.measure(s, self.a.openai, "client.py", str(n)))

    def piped(self, server, *argv):
        """(count, median, 99th percentile of the age in microseconds, seconds) of streamed tokens."""
        script = '"$0" "$@" | %s' % shlex.quote(str(self.work / "latency"))
        out = subprocess.run([str(self.work / "measure"), "sh", "-c", script + " >got", *argv], cwd=self.work, env=server.env,
                             capture_output=True, text=True).stdout.split()
        got = (self.work / "got").read_text().split()
        return int(got[0]), float(got[1]), float(got[2]), float(out[0])

    def streams(self):
        n, tokens = 1000, 100
        rates = []
        with Server(self.work, 50, tokens, 0) as s:
            for _ in range(self.a.runs):
                count, _, _, seconds = self.piped(s, self.a.pdl, "--jobs", str(n), "-d", "n: %d" % n, "map.pdl")
                rates.append(count / seconds if count == n * tokens else 0)
        self.row("%d streams at once, %d tokens each" % (n, tokens), statistics.median(rates), 20000, "chunks/s", at_most=False)

    def latency(self):
        with Server(self.work, 0, 1000, 2000) as s:
            got = [self.piped(s, self.a.pdl, "one.pdl")[1] for _ in range(min(self.a.runs, 5))]
        self.row("age of a token on standard output, one stream, median", statistics.median(got), 100, "us")

    def cold(self):
        ours, theirs = [], []
        with Server(self.work, 0) as s:
            for _ in range(5 * self.a.runs):
                theirs.append(self.measure(s, str(self.work / "curl_loop"), s.url, "1", "1"))
                ours.append(self.measure(s, self.a.pdl, "--stream", "none", "one.pdl"))
        a, b = self.medians(ours), self.medians(theirs)
        print("%-58s %10.2f ms, bare libcurl %.2f ms" % ("first call of a cold process", a[0] * 1e3, b[0] * 1e3))
        self.row("  above it", (a[0] - b[0]) * 1e3, 5, "ms")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pdl", default=str(HERE.parent / "build" / "pdl"))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--short", action="store_true")
    p.add_argument("--reference")
    p.add_argument("--openai")
    a = p.parse_args()
    a.pdl = str(pathlib.Path(a.pdl).resolve())
    if a.short:
        a.runs = min(a.runs, 3)
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(a, pathlib.Path(folder))
        for part in (b.many, b.streams, b.latency, b.cold):
            part()
    return 1 if b.bad else 0


if __name__ == "__main__":
    sys.exit(main())
