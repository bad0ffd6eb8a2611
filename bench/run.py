#!/usr/bin/env python3
"""run.py -- speed of whole processes, side by side in one run.

    bench/run.py [--pdl build/pdl] [--reference CMD] [--runs N] [--short] [--out FILE]

The programs of ../shared/bench (PDL_SHARED/bench when set) run alternately (A B A B) under each command; printed are medians, their
spread, peak memory and the ratio to the first command. Sizes at which the reference dies are run by `pdl` alone. --short is for
tests: three runs, and a failure only when a figure is three times over its limit. The processor is named, the machine is not.
Python standard library only.
"""
import argparse
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("PDL_SHARED", ROOT.parent / "shared")) / "bench"

# name, program, variables, size the reference runs (None: it cannot), limit of ours in seconds, in MB
WORK = [
    ("hello", "hello.pdl", "", "", 0.0025, 8),
    ("fib 25: 242 785 calls", "fib.pdl", "n: 25", "n: 13", 0.7e-6 * 242785 + 0.0025, 64),
    ("recursion 100 000 deep", "depth.pdl", "n: 100000", "n: 40", 0.5, 256),
    ("loop, 1 000 000 iterations", "loop.pdl", "n: 1000000", "n: 300", 1.0, 64),
    ("accumulate, 1 000 000", "accumulate.pdl", "n: 1000000", "n: 150", 1.0, 64),
    ("chat, 20 000 turns", "chat.pdl", "n: 20000", "n: 50", 0.5, 128),
    ("5 000 definitions", "defs.pdl", "", None, 0.06, 64),
    ("JSONL, 200 000 rows", "jsonl.pdl", "", "", 0.15, 130),
    ("template, 200 rows", "template.pdl", "", "", 0.005, 8),
]


def measure(argv, cwd):
    """Seconds and peak memory in MB of one process; None when it fails."""
    out = subprocess.run([str(cwd / "measure")] + argv, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return (float(out[0]), int(out[1]) / 1024) if out[2] == "0" else None


def command(cmd, program, data):
    return shlex.split(cmd) + ["--stream", "none"] + (["-d", data] if data else []) + [program]


def medians(samples):
    if not samples or None in samples:
        return None
    times = [s[0] for s in samples]
    return statistics.median(times), (max(times) - min(times)) / 2, max(s[1] for s in samples)


def show(m):
    return "fails" if m is None else "%.2f ms ±%.2f, %.0f MB" % (m[0] * 1e3, m[1] * 1e3, m[2])


def processor():
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown processor"


def one(row, a, folder):
    name, program, data, ref_data, limit, limit_mb = row
    path = str(folder / program if (folder / program).exists() else SHARED / program)
    ours, theirs = [], []
    for _ in range(a.runs):
        ours.append(measure(command(a.pdl, path, data), folder))
        if a.reference and ref_data is not None:
            theirs.append(measure(command(a.reference, path, ref_data), folder))
    m = medians(ours)
    cells = [name, show(m), "<= %.1f ms, %d MB" % (limit * 1e3, limit_mb)]
    if a.reference:
        r = medians(theirs)
        size = "" if ref_data == data else " (%s)" % ref_data
        cells.append("none that it survives" if ref_data is None else show(r) + size)
    ok = m is not None and m[0] <= 3 * limit and m[2] <= 3 * limit_mb
    return cells, ok


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--pdl", default=str(ROOT / "build" / "pdl"))
    ap.add_argument("--reference", default="")
    ap.add_argument("--runs", type=int, default=5)
    ap.add_argument("--short", action="store_true")
    ap.add_argument("--out")
    a = ap.parse_args()
    if not SHARED.is_dir():
        print("bench: %s is not there" % SHARED)
        print("0 passed, 0 failed, %d skipped" % len(WORK))
        return 0
    if a.short:
        a.runs = 3
    passed = failed = 0
    lines = ["| work | pdl | limit |" + (" reference (its size) |" if a.reference else ""), "|---" * (4 if a.reference else 3) + "|"]
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        subprocess.run([sys.executable, str(SHARED / "gen.py"), tmp], check=True)
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", str(folder / "measure"), str(ROOT / "bench" / "measure.c")], check=True)
        (folder / "jsonl.pdl").write_bytes((SHARED / "jsonl.pdl").read_bytes())
        for row in WORK:
            cells, ok = one(row, a, folder)
            lines.append("| " + " | ".join(cells) + " |")
            passed, failed = passed + ok, failed + (not ok)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if a.out:
        head = ("# Benchmarks\n\nWritten by `bench/run.py`: medians of %d whole-process runs taken alternately, half the spread, peak resident memory.\n"
                "Limits are those of the architecture page. Processor: %s.\n\n" % (a.runs, processor()))
        pathlib.Path(a.out).write_text(head + text, encoding="utf-8")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
