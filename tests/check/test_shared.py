# SPDX-License-Identifier: Apache-2.0
"""A run that is checked before it begins loads its program and its modules only once: the check writes its findings into a copy that shares the
blocks."""
import os
import subprocess
import threading

import pytest

from ..checks import check

MODULE = "defs:\n  f: {function: {}, return: %s}\n"


def run(pdl, folder, *args):
    return subprocess.run([str(pdl), *args], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)


def fed(path, text):
    """A pipe with a name, from which a text can be read once: whoever opens it again waits for ever."""
    os.mkfifo(path)
    threading.Thread(target=path.write_text, args=(text,), daemon=True).start()


@pytest.mark.parametrize("mode", ["warn", "stop", "off"])
def test_loaded_once(pdl, folder, mode):
    fed(folder / "p.pdl", "defs:\n  m: {import: m}\n  n: {import: n}\ntext: ${ m.f() }${ n.g() }\n")
    fed(folder / "m.pdl", MODULE % "one")
    fed(folder / "n.pdl", "defs:\n  o: {import: o}\n  g: {function: {}, return: '${ o.f() }'}\n")
    fed(folder / "o.pdl", MODULE % "two")
    r = run(pdl, folder, "--check=" + mode, "p.pdl")
    check("the program and its modules are read once", (r.returncode, r.stdout, r.stderr) == (0, "onetwo\n", ""), r.returncode, r.stdout, r.stderr)


def test_a_module_that_the_run_writes(pdl, folder):
    """The file that was checked is not the one that is imported then."""
    (folder / "m.pdl").write_text(MODULE % "old")
    (folder / "new").write_text(MODULE % "new")
    (folder / "p.pdl").write_text("text:\n- {args: [cp, new, m.pdl]}\n- {import: m, def: m, contribute: []}\n- ${ m.f() }\n")
    r = run(pdl, folder, "p.pdl")
    check("the new one runs", r.returncode == 0 and r.stdout == "new\n", r.stdout, r.stderr)


def test_findings_are_those_of_a_check(pdl, folder):
    """Warnings and places, of the program and of its modules, and the program runs after them."""
    (folder / "m.pdl").write_text("defs:\n  f: {function: {a: string}, return: \"${ b }\"}\n  g: {function: {}, return: fine}\n")
    (folder / "p.pdl").write_text("defs: {m: {import: m}}\ntext:\n- ${ m.g() }\n- if: ${ false }\n  then: ${ nothing }\n- parser: json\n  text: '{}'\n  spec: obj\n")
    told = run(pdl, folder, "--check=warn", "p.pdl")
    check("it runs", told.returncode == 0 and told.stdout == "fine{}\n", told.stdout, told.stderr)
    check("and the warnings are there", "nothing" in told.stderr and "p.pdl:5" in told.stderr, told.stderr)
    again = run(pdl, folder, "--check=warn", "p.pdl")
    check("the same each time", again.stderr == told.stderr, again.stderr)
    (folder / "q.pdl").write_text("defs: {m: {import: m}}\ntext:\n- ${ m.g() }\n- ${ missing }\n- {model: openai/x, input: hi}\n")
    r = run(pdl, folder, "q.pdl")
    check("an error at its place", r.returncode == 1 and "q.pdl:4" in r.stderr and "missing" in r.stderr, r.stdout, r.stderr)
