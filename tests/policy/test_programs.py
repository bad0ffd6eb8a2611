# SPDX-License-Identifier: Apache-2.0
"""A file that the run wrote is a computed program: text of a model does not run by `include` or `import`, whoever wrote the file. Files that existed
before are the author's."""
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from ..checks import check

EVIL = "lang: command\nargs: [touch, mark]\n"
BUILT = "defs:\n  f:\n    function:\n    return: {lang: command, args: [touch, mark]}\ntext: hi\n"
HARMLESS = "data: [kept]\n"


def model(text):
    return {"model": "openai/x", "input": "q", "parameters": {"mock_response": text}}


def by_aggregator(text):
    return {"defs": {"evil": model(text), "out": {"aggregator": {"file": "gen.pdl"}}}, "text": [{"data": "${ evil }", "contribute": ["out"]}]}


def by_python(text):
    return {"defs": {"evil": model(text)}, "text": [{"lang": "python", "code": "open('gen.pdl', 'w').write(evil)\nresult = ''"}]}


def by_renaming(text):
    return {"defs": {"evil": model(text)}, "text": [{"lang": "python", "code": "import os\nopen('other', 'w').write(evil)\nos.rename('other', 'gen.pdl')\nresult = ''"}]}


def over_old(text):
    return {"defs": {"evil": model(text)}, "text": [{"lang": "python", "code": "open('old.pdl', 'a').write('')\nopen('old.pdl', 'w').write(evil)\nresult = ''"}]}


def told_only(text):
    return {"defs": {"evil": model(text)}, "text": [{"lang": "python", "code": "result = evil"}]}


INCLUDE, IMPORT = [{"include": "gen.pdl"}], [{"import": "gen", "def": "m"}, "${ m.f() }"]
# name, how the file is made, its text, what uses it, was the mark made without a policy, is it refused
ROWS = (("an aggregator, include", by_aggregator, EVIL, INCLUDE), ("an aggregator, import", by_aggregator, BUILT, IMPORT), ("Python, include", by_python, EVIL, INCLUDE),
        ("Python, import", by_python, BUILT, IMPORT), ("a file that is renamed", by_renaming, EVIL, INCLUDE), ("a file that was there before", over_old, EVIL, [{"include": "old.pdl"}]),
        ("a file of another file", by_python, EVIL, [{"include": "outer.pdl"}]))


def run(pdl, program, *args):
    """-> (was the mark made, what was said)"""
    with tempfile.TemporaryDirectory() as d:
        Path(d, "old.pdl").write_text("data: old\n")
        Path(d, "outer.pdl").write_text("include: gen.pdl\n")
        Path(d, "a.pdl").write_text(json.dumps(program))
        Path(d, "p.yaml").write_text("policy: 1\nrules: [{sink: command, allow: []}]\notherwise: allow\n")
        time.sleep(0.02)  # more than the clock of the times of files steps
        p = subprocess.run([pdl, *args, "a.pdl"], cwd=d, capture_output=True, text=True, timeout=120, env={**os.environ, "OPENAI_API_KEY": "k"}, check=False)
        return Path(d, "mark").exists(), p.stdout + p.stderr


def test_files_that_the_run_wrote(pdl, part):
    for name, make, text, use in part(ROWS, 2, name=lambda row: row[0]):
        program = make(text)
        program["text"] += use
        check(name + ": it works without a policy", run(pdl, program)[0], "so the row shows nothing")
        for policy, want in (("careful", "refuses argument text of sink i"), ("strict", "refuses argument text of sink i"), ("p.yaml", "of sink command")):
            mark, out = run(pdl, program, "--policy", policy)
            check(f"{name}: {policy}", not mark and want in out and "from " in out, out[-500:])


def test_files_of_the_author(pdl):
    for name, make in (("a file that was there before", told_only), ("and was not changed", by_aggregator)):
        program = make(HARMLESS)
        program["text"] += [{"include": "old.pdl"}]
        out = run(pdl, program, "--policy", "careful")[1]
        check(name, "old" in out and "refuses" not in out, out[-500:])
    program = by_aggregator("data: [kept]\n")
    program["text"] += INCLUDE
    check("a policy that says nothing of programs lets them run", "kept" in run(pdl, program, "--policy", "p.yaml")[1])
