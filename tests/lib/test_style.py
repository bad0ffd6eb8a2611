# SPDX-License-Identifier: Apache-2.0
"""How the library is written: every function has a description, is short, and has typed parameters with a default for each optional one; there is no
Python. Programs are short, too: those of the pages have at most ten lines, and those of examples/ at most forty. The command itself reads the modules
(`parser: yaml`)."""
import json
import re
import subprocess

from .. import checks
from ..harness.choice import ROOT

MODULES = sorted(p for p in (ROOT / "lib").rglob("*.pdl") if p.name != "stdlib.pdl")
LONG = 75         # lines of a function, its description and parameters included; the loops of agents are the long ones
MEDIAN = 14
PAGE, EXAMPLE, SMALLEST = 10, 40, 10

READ = 'defs:\n  module: {read: %s, parser: yaml}\ntext: "${ module | json }\\n"\n'


def module_of(pdl, path, work):
    program = work / "read.pdl"
    program.write_text(READ % json.dumps(str(path)), "utf-8")
    p = subprocess.run([str(pdl), "--stream", "none", str(program)], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(p.stdout)


def functions(block, name=""):
    """(name, function block) of all functions in a block."""
    if isinstance(block, dict):
        if "function" in block:
            yield name, block
        for key, value in block.items():
            yield from functions(value, key if isinstance(value, dict) and "function" in value else name)
    elif isinstance(block, list):
        for value in block:
            yield from functions(value, name)


def lengths(text):
    """Lines of each definition of a function at the top of a module, blank lines and comments not counted."""
    out = {}
    for part in re.split(r"(?m)^  (?=\w+:)", text.split("\ndefs:\n", 1)[1]):
        if re.search(r"(?m)^    function:|\{function:", part):
            out[part.partition(":")[0]] = sum(1 for x in part.splitlines() if x.strip() and not x.strip().startswith("#"))
    return out


def type_fits(t):
    """A type of the language, or null: any value."""
    if t is None:
        return True
    if isinstance(t, str):
        return t in ("string", "integer", "number", "boolean", "object", "array", "null")
    if isinstance(t, list):
        return len(t) == 1 and type_fits(t[0])
    if set(t) == {"optional"}:
        return type_fits(t["optional"])
    return "enum" in t or all(type_fits(x) for x in t.values())


def has_default(body, name):
    """Is a parameter that may be left out given a value, asked for, or handed on with `| default`?"""
    text = json.dumps(body, ensure_ascii=False)
    return re.search(r"\b%s(\s*\|\s*default\b|\s+is\s+(not\s+)?(integer|defined|false|none|string)\b)" % re.escape(name), text) is not None


def problems_of(name, f):
    out = []
    said = f.get("description", "")
    if not isinstance(said, str) or len(said) < 10 or said.endswith("."):
        out.append("a description of a few words without a full stop")
    for param, t in (f["function"] or {}).items():
        if not type_fits(t):
            out.append("type of %s: %s" % (param, t))
        if isinstance(t, dict) and "optional" in t and not has_default(f["return"], param):
            out.append("no default of %s" % param)
    return ["%s: %s" % (name, x) for x in out]


def program_lines(text):
    return sum(1 for x in text.splitlines() if x.strip() and not x.lstrip().startswith("#"))


def check(title, bad):
    checks.check(title, not bad, bad)


def test_modules(pdl, folder):
    sizes = []
    for path in MODULES:
        title, text = str(path.relative_to(ROOT)), path.read_text("utf-8")
        module = module_of(pdl, path, folder)
        found = list(functions(module.get("defs", {})))
        check(title + ": functions", [] if found else ["none"])
        check(title + ": descriptions, types, defaults", [x for name, f in found for x in problems_of(name, f)])
        check(title + ": no Python", re.findall(r"lang:\s*(?:python|ipython)", text))
        check(title + ": says what it is", [] if module.get("description") and text.startswith("# ") else ["no description or no comment"])
        long = lengths(text)
        sizes += long.values()
        check(title + ": short functions", ["%s: %d lines" % x for x in long.items() if x[1] > LONG])
        check(title + ": has a page", [] if path.with_suffix(".md").exists() or path.stem == "exec" else ["no " + path.stem + ".md"])
    middle = sorted(sizes)[len(sizes) // 2]
    check("median length of a function", [] if middle <= MEDIAN else ["%d lines" % middle])


def test_programs_are_short():
    for page in sorted((ROOT / "lib").rglob("*.md")):
        for program in re.findall(r"^```pdl[^\n]*\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            n = program_lines(program)
            check("%s: a program of at most %d lines" % (page.relative_to(ROOT), PAGE), ["%d lines" % n] if n > PAGE else [])
    for path in sorted((ROOT / "examples").rglob("*.pdl")):
        n = program_lines(path.read_text("utf-8"))
        most = SMALLEST if path.stem in ("ten", "smallest") else EXAMPLE
        check("%s: at most %d lines" % (path.relative_to(ROOT), most), ["%d lines" % n] if n > most else [])
