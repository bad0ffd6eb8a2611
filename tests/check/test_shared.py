# SPDX-License-Identifier: Apache-2.0
"""A run that is checked before it begins loads its program and its modules once: the check writes what it finds into a copy that shares the blocks."""
import resource
import subprocess

from ..checks import check

MODULE = "defs:\n  f: {function: {}, return: %s}\n"


def run(pdl, folder, *args):
    return subprocess.run([str(pdl), *args], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)


def least(pdl, folder, *args):
    """Seconds of processor time, of the best of some runs."""
    times = []
    for _ in range(9):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        r = run(pdl, folder, *args)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert r.returncode == 0 and r.stdout == "hi\n" and not r.stderr, (r.stdout, r.stderr)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_loaded_once(pdl, folder):
    """What the check costs beside the run; with a second loading it was 47 %, now 13 %."""
    many = "".join("  f%d: {function: {a: string}, return: \"hello ${ a } %d\"}\n" % (i, i) for i in range(4000))
    (folder / "many.pdl").write_text("defs:\n%stext: hi\n" % many)
    for i in range(40):
        (folder / ("m%d.pdl" % i)).write_text("defs:\n" + "".join("  g%d: {function: {a: string}, return: \"hello ${ a } %d\"}\n" % (k, i) for k in range(100)))
    (folder / "modules.pdl").write_text("defs:\n%stext: hi\n" % "".join("  m%d: {import: m%d}\n" % (i, i) for i in range(40)))
    for name in ("many.pdl", "modules.pdl"):
        alone, checked = least(pdl, folder, "--check=off", name), least(pdl, folder, name)
        check("%s: the check costs less than loading" % name, checked < 1.3 * alone, alone, checked)


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
