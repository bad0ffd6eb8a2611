# SPDX-License-Identifier: Apache-2.0
"""micro_rows.py -- what the programs bench_<what> of the build measure inside one process: lines `name value unit`, beside the limit where one is set."""
import pathlib
import statistics
import subprocess

from harness import ROOT

HEAD = ["work", "libpdl", "limit"]

# name as a bench_ program prints it: limit, whether more is better
LIMITS = {
    "load_events": (100, True),
    "load_checked": (60, True),
    "json_rows": (500, True),
    "json_chunk_170_bytes": (250, False),
    "expr_sum_compiled_and_rendered": (1, False),
    "expr_greeting_compiled_and_rendered": (1, False),
    "expr_filter_compiled_and_rendered": (1, False),
    "expr_sum_rendered": (0.2, False),
    "expr_greeting_rendered": (0.2, False),
    "expr_filter_rendered": (0.2, False),
    "template_200_rows": (40, False),
}


def inputs(program):
    """Files that a bench_ program reads: the pattern library is the text on which loading is measured."""
    return sorted(str(p) for p in (ROOT / "lib").rglob("*.pdl")) if program.name == "bench_load" else []


def run_one(program):
    """{name: (value, unit)} of one run"""
    out = subprocess.run([str(program)] + inputs(program), stdout=subprocess.PIPE, text=True, check=True).stdout
    parts = [line.split() for line in out.splitlines() if line.strip()]
    return {p[0]: (float(p[1]), p[2]) for p in parts}


def rows(a):
    """-> (cells, within three times the limit) for every line of every bench_ program of the build"""
    found = sorted(p for p in pathlib.Path(a.pdl).parent.glob("bench_*") if p.is_file() and p.suffix == "")
    lines = []
    for program in found:
        runs = [run_one(program) for _ in range(a.runs)]
        for name, (_, unit) in runs[0].items():
            value = statistics.median(r[name][0] for r in runs)
            limit, more = LIMITS.get(name, (None, False))
            words = "" if limit is None else "%s %g %s" % (">=" if more else "<=", limit, unit)
            ok = limit is None or (value * 3 >= limit if more else value <= limit * 3)
            lines.append(([name.replace("_", " "), "%.3g %s" % (value, unit), words], ok))
    return lines
