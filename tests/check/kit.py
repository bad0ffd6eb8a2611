# SPDX-License-Identifier: Apache-2.0
"""Checks many programs in one call of `pdl check`, and runs programs to see whether the check was right."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile

from ..checks import check


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith("PDL_") or k == "PDL_PYTHON"}


def put(folder, files):
    """files: {name: text}"""
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def reports(pdl, paths, cwd, *options, env=None):
    """One call of `pdl check` over files -> {path as given: its reports}, what is about the call and not about a file."""
    p = subprocess.run([pdl, "check", "--format", "json", *options, *map(str, paths)], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       env={**environment(), **(env or {})}, timeout=300, check=False)
    assert p.returncode in (0, 1), "exit status %d: %s" % (p.returncode, p.stderr[-3000:])
    found = collections.defaultdict(list)
    for line in p.stdout.splitlines():
        d = json.loads(line)
        found[d["file"]].append(d)
    assert p.returncode == any(d["severity"] == "error" for rows in found.values() for d in rows), "exit status %d" % p.returncode
    return found, p.stderr


def found_in(pdl, programs, *options):
    """programs: a list of {name: text}, each with a main.pdl, in a folder of its own -> for each the list of its reports, main.pdl and the
    files beside it together."""
    folder = tempfile.mkdtemp()
    for i, files in enumerate(programs):
        put(pathlib.Path(folder, "%04d" % i), files)
    found, complaint = reports(pdl, ["%04d/main.pdl" % i for i in range(len(programs))], folder, *options)
    check("nothing is said beside the reports", not complaint, complaint)
    rows = [[] for _ in programs]
    for path, some in found.items():
        number, _, name = path.partition("/")
        rows[int(number)] += [{**d, "file": name} for d in some]
    return rows


def run(pdl, program, files=None, *options):
    folder = tempfile.mkdtemp()
    put(folder, {"main.pdl": program, **(files or {})})
    return subprocess.run([pdl, *options, "main.pdl"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(), timeout=300,
                          check=False)


def nothing_found(pdl, rows):
    """rows: (program, other files). Nothing is found in them."""
    for (program, _), found in zip(rows, found_in(pdl, [{"main.pdl": p, **files} for p, files in rows])):
        check("right: %r" % program, not found, found)


def all_run(pdl, rows):
    for program, files in rows:
        r = run(pdl, program, files)
        check("it runs: %r" % program, r.returncode == 0, r.stderr)
