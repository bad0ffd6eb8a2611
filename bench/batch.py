#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""batch.py -- speed and memory of batches over loopback, beside what libcurl alone takes.

    bench/batch.py [--pdl build/pdl] [--rows N] [--slow-rows N] [--runs N] [--reference CMD] [--openai PYTHON] [--langchain PYTHON] [--dspy PYTHON]

bench/http_server.c answers, at once or after 50 ms; bench/curl_loop.c is the yardstick. Each of --rows rows is one call: the rate beside
that of the bare loop, the most memory of the process, and that of a tenth of the rows. Rows of 50 ms run with --jobs 2000; the ideal is
the longer of rows * 50 ms / 2000 and the bare loop. Other programs disturb both rates, and processor times less: they are printed beside them, and
a row may take 13 us above the loop where the loop takes 25. --openai, --langchain, --dspy: a Python that has the package, which
makes a tenth of the calls; --reference: another PDL interpreter, a process for each of 20 rows. The exit status is 1 when a limit is missed.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from calls import Server  # noqa: E402

PROGRAM = "lastOf:\n- Say something about number ${ word }.\n- model: openai/m\n"
OPENAI = """
import asyncio, json, sys, openai
async def main(n):
    c, gate = openai.AsyncOpenAI(max_retries=0), asyncio.Semaphore(64)
    async def ask(i):
        async with gate:
            r = await c.chat.completions.create(model="m", messages=[{"role": "user", "content": "Say something about number w%d." % i}])
            return r.choices[0].message.content
    got = await asyncio.gather(*[ask(i) for i in range(n)])
    with open("client.jsonl", "w") as f:
        for i, g in enumerate(got): f.write(json.dumps({"word": "w%d" % i, "result": g}) + "\\n")
asyncio.run(main(int(sys.argv[1])))
"""
LANGCHAIN = """
import json, sys
from langchain_openai import ChatOpenAI
from langchain_core.prompts import ChatPromptTemplate
chain = ChatPromptTemplate.from_template("Say something about number {word}.") | ChatOpenAI(model="m", max_retries=0)
rows = [{"word": "w%d" % i} for i in range(int(sys.argv[1]))]
with open("client.jsonl", "w") as f:
    for r, g in zip(rows, chain.batch(rows, config={"max_concurrency": 64})): f.write(json.dumps({**r, "result": g.content}) + "\\n")
"""
DSPY = """
import json, os, sys, dspy
dspy.configure(lm=dspy.LM("openai/m", api_base=os.environ["OPENAI_BASE_URL"], api_key="k", cache=False, num_retries=0))
class Ask(dspy.Module):
    def forward(self, word):
        return dspy.Prediction(result=dspy.settings.lm("Say something about number %s." % word)[0])
rows = [dspy.Example(word="w%d" % i).with_inputs("word") for i in range(int(sys.argv[1]))]
got = Ask().batch(rows, num_threads=64, disable_progress_bar=True)
with open("client.jsonl", "w") as f:
    for r, g in zip(rows, got): f.write(json.dumps({"word": r.word, "result": g.result}) + "\\n")
"""


class Bench:
    def __init__(self, a, work):
        self.a, self.work, self.bad = a, work, 0
        for name, more in (("http_server", []), ("curl_loop", ["-lcurl"]), ("measure", [])):
            subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(work / name), str(HERE / (name + ".c")), *more], check=True)
        for name, text in (("p.pdl", PROGRAM), ("ask_openai.py", OPENAI), ("ask_langchain.py", LANGCHAIN), ("ask_dspy.py", DSPY)):
            (work / name).write_text(text)

    def table(self, n):
        path = self.work / ("in%d.jsonl" % n)
        if not path.exists():
            with open(path, "w") as f:
                for i in range(n):
                    f.write(json.dumps({"id": i, "word": "w%d" % i}) + "\n")
        return path.name

    def measure(self, server, *argv):
        """(seconds, megabytes, seconds of processor time) of a process; None when it fails."""
        out = subprocess.run([str(self.work / "measure"), *map(str, argv)], cwd=self.work, env=server.env, capture_output=True,
                             text=True).stdout.split()
        return (float(out[0]), int(out[1]) / 1024, float(out[3])) if out and out[2] == "0" else None

    def batch(self, server, n, jobs):
        m = self.measure(server, self.a.pdl, "batch", "p.pdl", "-i", self.table(n), "-o", "out.jsonl", "--overwrite", "--jobs", jobs)
        with open(self.work / "out.jsonl") as f:
            rows = sum(1 for line in f if '"error": null' in line)
        if rows != n:
            sys.exit("%d rows of %d have a result" % (rows, n))
        return m

    def row(self, what, value, limit, unit, at_most):
        ok = value <= limit if at_most else value >= limit
        self.bad += not ok
        print("%-58s %10.2f %-8s (%s %g)%s" % (what, value, unit, "at most" if at_most else "at least", limit, "" if ok else "  MISSED"), flush=True)

    def note(self, what, n, m):
        print("%-58s %s" % (what, "fails" if not m else "%10.0f rows/s, %.1f s, %.0f MB, %.1f us of processor time a row" % (n / m[0], m[0], m[1],
              m[2] / n * 1e6)), flush=True)

    def loop(self, server, n, jobs):
        return self.measure(server, self.work / "curl_loop", server.url, n, jobs)

    def instant(self):
        n, few = self.a.rows, max(1, self.a.rows // 10)
        with Server(self.work, 0) as s:
            pairs = []
            for _ in range(self.a.runs):
                bare, ours = self.loop(s, n, 64), self.batch(s, n, 64)
                pairs.append((bare[0] / ours[0], bare, ours))
            ratio, bare, ours = sorted(pairs)[len(pairs) // 2]
            self.note("%d rows of one instant call, --jobs 64" % n, n, ours)
            self.note("  bare libcurl loop", n, bare)
            self.row("  rate, of that of the loop", ratio, 0.7, "times", False)
            self.row("  processor time a row above that of the loop, of 25 us", (ours[2] - bare[2]) / bare[2] * 25, 13, "us", True)
            self.row("  memory", ours[1], 200, "MB", True)
            self.note("  a tenth of the rows", few, self.batch(s, few, 64))
            if self.a.openai:
                self.note("  openai package with asyncio, a tenth of the rows", few, self.measure(s, self.a.openai, "ask_openai.py", few))
            if self.a.langchain:
                self.note("  LangChain batch, a tenth of the rows", few, self.measure(s, self.a.langchain, "ask_langchain.py", few))
            if self.a.dspy:
                self.note("  DSPy batch, a tenth of the rows", few, self.measure(s, self.a.dspy, "ask_dspy.py", few))
            if self.a.reference:
                begin = time.monotonic()
                for i in range(20):
                    subprocess.run([*shlex.split(self.a.reference), "-d", "word: w%d" % i, "p.pdl"], cwd=self.work, env=s.env, capture_output=True,
                                   check=True)
                self.note("  reference, a process a row, 20 rows", 20, (time.monotonic() - begin, 0, 0))

    def slow(self):
        n, jobs, delay = self.a.slow_rows, 2000, 0.05
        with Server(self.work, 50) as s:
            ratios = []
            for _ in range(self.a.runs):
                bare, ours = self.loop(s, n, jobs), self.batch(s, n, jobs)
                ratios.append((ours[0] / max(bare[0], n * delay / jobs), bare, ours))
            ratio, bare, ours = sorted(ratios)[len(ratios) // 2]
            self.note("%d rows of 50 ms, --jobs %d" % (n, jobs), n, ours)
            self.note("  bare libcurl loop", n, bare)
            self.row("  above the ideal", ratio, 1.3, "times", True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pdl", default=str(HERE.parent / "build" / "pdl"))
    p.add_argument("--rows", type=int, default=1000000)
    p.add_argument("--slow-rows", type=int, default=100000)
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--reference")
    p.add_argument("--openai")
    p.add_argument("--langchain")
    p.add_argument("--dspy")
    a = p.parse_args()
    a.pdl = str(pathlib.Path(a.pdl).resolve())
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(a, pathlib.Path(folder))
        b.instant()
        b.slow()
    return 1 if b.bad else 0


if __name__ == "__main__":
    sys.exit(main())
