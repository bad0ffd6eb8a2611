#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lsp.py -- how fast the language server answers while a person types, and how much memory it needs.

    bench/lsp.py --pdl build/pdl [--lines 5000] [--programs 1000]

Prints one line `name value unit` for each measure (spec editor 4): the time from the start of the process to the answer of
`initialize`; the median and 99th percentile of completion and hover in a program of so many lines, each after an edit; the peak of resident
memory after the programs of a workspace are indexed.
"""
import argparse
import pathlib
import re
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "lsp"))
from client import Lsp  # noqa: E402


def program(lines):
    """A program of about so many lines, as people write them."""
    out = ["defs:"]
    n = 0
    while len(out) < lines - 10:
        out += ["  f%d:" % n, "    function:", "      name: string", "      count: integer", "    return:", "      lastOf:",
                "      - Hello ${ name | upper }, ${ count + %d } of ${ f%d(name='x', count=1) }" % (n, max(0, n - 1)),
                "      - model: ollama_chat/granite4:micro", "        parameters:", "          temperature: 0", "        def: answer%d" % n,
                "      - data: {a: 1, b: [1, 2, 3]}", "        def: record%d" % n, "      - ${ record%d.a }" % n]
        n += 1
    out += ["text:", "- ${ f0(name='you', count=2) }", "- "]
    return "\n".join(out) + "\n"


def peak(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text()).group(1)) / 1024


def put(name, value, unit):
    print("%-28s %10.2f %s" % (name, value, unit), flush=True)


def start(pdl, times):
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        c = Lsp(pdl)
        c.initialize()
        found.append((time.perf_counter() - begin) * 1e3)
        c.quit()
    put("start", statistics.median(found), "ms")


def typing(pdl, lines, times):
    c = Lsp(pdl)
    c.initialize()
    text, uri = program(lines), "untitled:a.pdl"
    c.open(uri, text)
    last = text.count("\n") - 1
    took = {"completion of keys": [], "completion of names": [], "hover": []}
    typed = {"completion of keys": "mod", "completion of names": "${ f", "hover": "x"}
    at = {"completion of keys": (last, 5), "completion of names": (last, 6), "hover": (7, 18)}
    c.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 1}})
    version = 1
    for i in range(times):
        for name, found in took.items():
            for new in (typed[name], ""):
                version += 1
                c.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [
                    {"range": {"start": {"line": last, "character": 2}, "end": {"line": last, "character": 2 + (0 if new else len(typed[name]))}}, "text": new}]})
                if not new:
                    break
                begin = time.perf_counter()
                method = "textDocument/hover" if name == "hover" else "textDocument/completion"
                result = c.request(method, {"textDocument": {"uri": uri}, "position": {"line": at[name][0], "character": at[name][1]}})
                found.append((time.perf_counter() - begin) * 1e3)
                if not result or "error" in result:
                    raise SystemExit("%s: %r" % (name, result))
    for name, found in took.items():
        put(name + ", median", statistics.median(found), "ms")
        put(name + ", 99 %", statistics.quantiles(found, n=100)[98], "ms")
    c.quit()


def workspace(pdl, programs):
    with tempfile.TemporaryDirectory() as root:
        for i in range(programs):
            (pathlib.Path(root) / ("p%d.pdl" % i)).write_text(program(60 + i % 100))
        c = Lsp(pdl)
        begin = time.perf_counter()
        c.initialize([root])
        found = c.request("workspace/symbol", {"query": "f0"})
        put("workspace, index", (time.perf_counter() - begin) * 1e3, "ms")
        put("workspace, peak memory", peak(c.process.pid), "MB")
        if not found:
            raise SystemExit("nothing was found")
        c.quit()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pdl", default="build/pdl")
    ap.add_argument("--lines", type=int, default=5000)
    ap.add_argument("--programs", type=int, default=1000)
    ap.add_argument("--times", type=int, default=100)
    a = ap.parse_args()
    start(a.pdl, 20)
    typing(a.pdl, a.lines, a.times)
    workspace(a.pdl, a.programs)


if __name__ == "__main__":
    main()
