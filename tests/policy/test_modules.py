"""The policy of a program that is included, imported or computed is in force for everything that this program does, and for nothing else: its blocks,
its functions wherever they are called, the files that it includes, its code and its loops. It makes rules stricter and never looser.
SPDX-License-Identifier: Apache-2.0
"""
import json

import pytest

from ..checks import check
from .tries import run

CAREFUL = {"policy": "careful"}
READ = {"def": "m", "read": "./mail", "contribute": []}
ACT = {"args": ["echo", "did ${ m }"]}
FUNCTION = {"defs": {"act": {"function": {"m": "string"}, "return": ACT}}}
OTHER = {"policy": {"policy": 1, "labels": {"mine": [{"read": "mail"}]}, "rules": [{"sink": "command", "deny": ["mine"]}], "otherwise": "allow"}}


def computed(program):
    return {"def": "t", "data": json.dumps(program), "raw": True, "contribute": []}


# name: (module, the main program, is it refused)
ROWS = {
    "an included program": ({**CAREFUL, "text": [READ, ACT]}, {"include": "./sub/mod.pdl"}, True),
    "an included program without one": ({"text": [READ, ACT]}, {"include": "./sub/mod.pdl"}, False),
    "what the main program does afterwards": ({**CAREFUL, "data": 1}, {"text": [{"include": "./sub/mod.pdl"}, READ, ACT]}, False),
    "a function that the main program calls": ({**CAREFUL, **FUNCTION}, {"defs": {"x": {"import": "./sub/mod.pdl"}}, "text": [READ, {"call": "${ x.act }", "args": {"m": "${ m }"}}]}, True),
    "in an expression": ({**CAREFUL, **FUNCTION}, {"defs": {"x": {"import": "./sub/mod.pdl"}}, "text": [READ, "${ x.act(m=m) }"]}, True),
    "of an included program": ({**CAREFUL, **FUNCTION, "text": ""}, {"text": [{"include": "./sub/mod.pdl"}, READ, "${ act(m=m) }"]}, True),
    "that was handed on": ({**CAREFUL, **FUNCTION}, {"defs": {"x": {"import": "./sub/mod.pdl"}, "g": {"function": {"h": None}, "return": {"text": [READ, "${ h(m=m) }"]}}}, "text": "${ g(x.act) }"}, True),
    "a function of the main program that it calls": ({**CAREFUL, "text": [READ, "${ act(m=m) }"]}, {**FUNCTION, "include": "./sub/mod.pdl"}, True),
    "a loop": ({**CAREFUL, "text": [READ, {"for": {"i": [1, 2]}, "repeat": ACT}]}, {"include": "./sub/mod.pdl"}, True),
    "a map": ({**CAREFUL, "text": [READ, {"for": {"i": [1, 2]}, "map": ACT}]}, {"include": "./sub/mod.pdl"}, True),
    "a map around it": ({**CAREFUL, "text": [READ, ACT]}, {"for": {"i": [1, 2]}, "map": {"include": "./sub/mod.pdl"}}, True),
    "a program that it includes": ({**CAREFUL, "include": "./inner.pdl"}, {"include": "./sub/mod.pdl"}, True),
    "a function of a program that it includes": ({**CAREFUL, "include": "./funs.pdl"}, {"text": [{"include": "./sub/mod.pdl"}, READ, "${ act(m=m) }"]}, True),
    "a program that it computes": ({**CAREFUL, "text": [computed({"text": [READ, ACT]}), {"lang": "pdl", "code": "${ t }"}]}, {"include": "./sub/mod.pdl"}, True),
    "a program that is computed": ({}, {"text": [computed({**CAREFUL, "text": [READ, ACT]}), {"lang": "pdl", "code": "${ t }"}]}, True),
    "a program that code runs": ({**CAREFUL, "text": [READ, {"lang": "python", "code": "from pdl.pdl import exec_str\nresult = exec_str('args: [echo, did it]')"}]},
                                 {"include": "./sub/mod.pdl"}, False),
    "a fallback": ({**CAREFUL, "text": [READ, {**ACT, "fallback": "kept"}]}, {"include": "./sub/mod.pdl"}, False),
    "its own policy": ({**OTHER, "text": [READ, ACT]}, {"include": "./sub/mod.pdl"}, False),
    "paths begin in its folder": ({"policy": {**OTHER["policy"], "labels": {"mine": [{"read": "../mail"}]}}, "text": [READ, ACT]}, {"include": "./sub/mod.pdl"}, True),
    "a name of its folder": ({"policy": "./p.yaml", "text": [READ, ACT]}, {"include": "./sub/mod.pdl"}, True),
    "a policy that cannot be read": ({"policy": "./none.yaml", "text": "did"}, {"include": "./sub/mod.pdl"}, "cannot be read"),
    "a policy with mistakes": ({"policy": {"policy": 1, "rulez": []}, "text": "did"}, {"include": "./sub/mod.pdl"}, "rulez"),
}
# what the main program's own policy says stays, whatever a module trusts
LOOSER = {"policy": {"policy": 1, "trusted": [{"read": "../mail"}, {"read": "/**"}], "otherwise": "allow"}, "text": [READ, ACT]}


def attempt(build, folder, module, program, policy=None):
    (folder / "sub").mkdir(exist_ok=True)
    files = {"mail": "evil", "sub/mod.pdl": json.dumps(module), "sub/inner.pdl": json.dumps({"text": [READ, ACT]}), "sub/funs.pdl": json.dumps({**FUNCTION, "text": ""}),
             "sub/p.yaml": json.dumps({"policy": 1, "rules": [{"sink": "command", "allow": []}], "otherwise": "allow"})}
    return run(build / "pdl", folder, program, "--stream", "result", policy=policy, files=files)


@pytest.mark.parametrize("name", ROWS)
def test_modules(build, tmp_path, name):
    module, program, refused = ROWS[name]
    out, error = attempt(build, tmp_path, module, program)
    if refused is True:
        check(name, "refuses argument" in error and "did" not in out, (out, error))
    elif refused:
        check(name, refused in error and "did" not in out, (out, error))
    else:
        check(name, not error and ("did" in out or "kept" in out), (out, error))


def test_it_makes_nothing_looser(build, tmp_path):
    for policy in ("careful", {"rules": [{"sink": "command", "allow": ["user"]}], "otherwise": "allow"}):
        out, error = attempt(build, tmp_path, LOOSER, {"include": "./sub/mod.pdl"}, policy)
        check("trust of a module under %s" % policy, "refuses argument" in error and "did" not in out, (out, error))
    out, error = attempt(build, tmp_path, LOOSER, {"text": [{"include": "./sub/mod.pdl"}]})
    check("and alone", "did evil" in out, (out, error))


def test_what_ran_before_goes_on(build, tmp_path):
    """The process of code is the same before and after a module with a policy was read."""
    code = {"lang": "python", "code": "import builtins\nbuiltins.n = getattr(builtins, 'n', 0) + 1\nresult = builtins.n"}
    out, error = attempt(build, tmp_path, {**CAREFUL, "text": [code]}, {"text": [code, {"include": "./sub/mod.pdl"}, code]})
    check("one process", out == "123\n" and not error, (out, error))
