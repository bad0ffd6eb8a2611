# SPDX-License-Identifier: Apache-2.0
"""python_rows.py -- the Python package inside one process, beside the reference's package and the limits of its page. Times are processor time,
but for the calls of models, which wait."""
import pathlib
import resource
import subprocess
import sys
import time

import network_rows
from harness import Machine, ROOT, SHARED, ended, span
from peers import quiet_environment

WORK = pathlib.Path(__file__).resolve().parent / "python_work.py"
HEAD = ["work", "libpdl", "limit", "reference"]
CALLS = 1000
# name of python_work.py: words, limit in seconds
ROWS = {"warm_run": ("run of `text: hi` in a warm process", 60e-6), "function_call": ("call of a Python function from an expression", 2e-6),
        "code_block": ("code block in the process", 30e-6), "million_integers": ("list of a million integers, in and out", 150e-3)}


def seconds_of(argv, env):
    """(seconds, those of the processor) of a process"""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, env=env, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_of(python, statement, runs, env):
    """What an import takes over `pass`: the best of each, taken alternately."""
    took = {"pass": [], statement: []}
    for _ in range(3 * runs):
        for code, found in took.items():
            found.append(seconds_of([python, "-c", code], env)[1])
    return max(0.0, min(took[statement]) - min(took["pass"]))


def work_of(python, package, env, *arguments):
    out = ended([python, WORK, package, *arguments], env=env) or ""
    return {name: float(value) for name, value in (line.split() for line in out.splitlines() if len(line.split()) == 2)}


def words(seconds):
    return "fails" if seconds is None else span(seconds)


def megabytes(value):
    return "" if value is None else "%.1f MB" % value


def rows(a, peers, folder):
    build = pathlib.Path(a.pdl).parent
    made = subprocess.run([sys.executable, str(ROOT / "tools" / "build-python"), str(build)], capture_output=True, text=True, check=False)
    if made.returncode:
        return [(["the package cannot be built: %s" % made.stdout.strip(), "", "", ""], True)]
    network_rows.build(folder)
    reference = peers.reference()
    theirs = str(pathlib.Path(reference[0]).parent / "python") if reference else None
    with network_rows.Server(folder, 50) as server:
        env = dict(quiet_environment(), **server.env, PYTHONPATH=str(build / "python"))
        ours = work_of(sys.executable, "libpdl", env, CALLS)
        command = [seconds_of([a.pdl, "--stream", "none", "--jobs", str(CALLS), "-d", "n: %d" % CALLS, str(SHARED / "map_calls.pdl")], env)
                   for _ in range(a.runs)]
    plain = dict(quiet_environment())
    other = work_of(theirs, "pdl", plain) if theirs else {}
    took = import_of(sys.executable, "import libpdl", a.runs, env)
    their_import = words(import_of(theirs, "from pdl.pdl import exec_str", a.runs, plain)) if theirs else ""
    machine = Machine(folder)
    limit = machine.most(15e-3)
    lines = [(["import, over `pass`", span(took), machine.words("<= 15 ms"), their_import], took <= limit)]
    for name, (title, limit) in ROWS.items():
        value = ours.get(name)
        lines.append(([title, words(value), machine.words("<= %s" % span(limit)), words(other.get(name)) if theirs else ""], value is not None and value <= machine.most(limit)))
    for name, title, best in (("concurrent_calls", "%d `arun` at once of one 50 ms call" % CALLS, min(wall for wall, _ in command)),
                              ("concurrent_work", "the same, in processor time", min(work for _, work in command))):
        value = ours.get(name)
        lines.append(([title, words(value), "<= 1.3 times the command's map (%s)" % span(best), ""], value is not None and value <= 1.3 * best))
    for name, title, limit in (("memory", "memory of import and one run", 20), ("growth", "growth over 100 000 runs", 0.5)):
        value = ours.get(name)
        lines.append(([title, megabytes(value), "<= %g MB" % limit, megabytes(other.get(name)) if theirs else ""], value is not None and value <= limit))
    return lines
