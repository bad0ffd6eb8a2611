# SPDX-License-Identifier: Apache-2.0
"""micro_rows.py -- what the programs bench_<what> of the build measure inside one process: lines `name value unit`, beside the limit where one is set."""
import pathlib
import statistics
import subprocess

from harness import Machine, ROOT

HEAD = ["work", "libpdl", "limit"]

# name as a bench_ program prints it: limit where the bare loop takes Machine.LOOP, whether more is better
LIMITS = {
    "json_rows": (400, True),
    "json_chunk_170_bytes": (350, False),
    "expr_sum_compiled_and_rendered": (1, False),
    "expr_greeting_compiled_and_rendered": (1, False),
    "expr_filter_compiled_and_rendered": (1, False),
    "expr_sum_rendered": (0.2, False),
    "expr_greeting_rendered": (0.2, False),
    "expr_filter_rendered": (0.2, False),
    "template_200_rows": (50, False),
}
# name: another row of the same program, at least so many times as fast
BESIDE = {"load_events": ("load_libyaml_events", 3), "load_checked": ("load_libyaml_events", 0.5)}


def inputs(program):
    """Files that a bench_ program reads: the pattern library is the text on which loading is measured."""
    return sorted(str(p) for p in (ROOT / "lib").rglob("*.pdl")) if program.name == "bench_load" else []


def run_one(program):
    """{name: (value, unit)} of one run"""
    out = subprocess.run([str(program)] + inputs(program), stdout=subprocess.PIPE, text=True, check=True).stdout
    parts = [line.split() for line in out.splitlines() if line.strip()]
    return {p[0]: (float(p[1]), p[2]) for p in parts}


def judged(name, value, unit, others, machine, slack):
    """(the words of the limit, whether it holds)"""
    if name in BESIDE:
        peer, times = BESIDE[name]
        if peer not in others:
            return "", True
        return ">= %g× %s" % (times, peer.replace("_", " ")), value * slack >= times * others[peer]
    if name not in LIMITS:
        return "", True
    limit, more = LIMITS[name]
    here = limit / machine.slowness if more else machine.most(limit)
    return "%s %.3g %s (%g where the bare loop takes %g s)" % (">=" if more else "<=", here, unit, limit, machine.LOOP), value * slack >= here if more else value <= here * slack


def rows(a, folder):
    """-> (cells, within the limit) for every line of every bench_ program of the build"""
    found = sorted(p for p in pathlib.Path(a.pdl).parent.glob("bench_*") if p.is_file() and p.suffix == "")
    lines = []
    for program in found:
        machine = Machine(folder)
        runs = [run_one(program) for _ in range(a.runs)]
        values = {name: statistics.median(r[name][0] for r in runs) for name in runs[0]}
        for name, (_, unit) in runs[0].items():
            words, ok = judged(name, values[name], unit, values, machine, 3 if a.short else 1)
            lines.append(([name.replace("_", " "), "%.3g %s" % (values[name], unit), words], ok))
    return lines
