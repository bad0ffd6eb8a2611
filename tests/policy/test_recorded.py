# SPDX-License-Identifier: Apache-2.0
"""A recording keeps the policies of its run, also those of the command line, of the environment and of modules: a trace of it redacts what they redact
and has their decisions, from any folder and without the files of the policies."""
import json
import os
import shutil
import subprocess

import pytest

from ..checks import check
from . import tries

HIDES = {"policy": 1, "labels": {"secret": [{"read": "s.txt"}]}, "rules": [{"sink": "trace", "deny": ["secret"]}, {"sink": "command", "deny": ["secret"]}],
         "otherwise": "allow"}
STEPS = [{"def": "s", "read": "./s.txt", "parser": "yaml", "contribute": []},
         {"lang": "command", "args": ["echo", "${ s.key }"], "fallback": "not shown"}, {"text": "${ s.key | upper }", "contribute": []}]
LISTED = {**HIDES, "lists": {"known": {"read": "known.txt"}}}
MODULE = {"policy": "./p.yaml", "defs": {"f": {"function": {}, "return": {"text": STEPS}}}}
WAYS = {"an option": ({"text": STEPS}, ["--policy", "p.yaml"], {}, HIDES), "the environment": ({"text": STEPS}, [], {"PDL_POLICY": "p.yaml"}, HIDES),
        "a file that the program names": ({"policy": "./p.yaml", "text": STEPS}, [], {}, HIDES),
        "a list in a file": ({"text": STEPS}, ["--policy", "p.yaml"], {}, LISTED),
        "a module": ({"defs": {"m": {"import": "./m.pdl"}}, "text": "${ m.f() }"}, [], {}, HIDES)}
SHOWN = (["trace", "r.journal"], ["trace", "--whole", "r.journal"], ["trace", "--format", "html", "r.journal"], ["view", "--html", "-", "r.journal"],
         ["view", "--text", "-", "r.journal"])


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k != "PDL_POLICY"}
    return {**env, "PDL_PATH": str(tries.LIBRARY), **more}


@pytest.mark.parametrize("name", WAYS)
def test_shown(pdl, tmp_path, name):
    program, options, env, policy = WAYS[name]
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    for file, text in (("s.txt", "key: canary"), ("p.yaml", json.dumps(policy)), ("known.txt", "ann\n"), ("a.pdl", json.dumps(program)), ("m.pdl", json.dumps(MODULE))):
        (here / file).write_text(text)
    p = subprocess.run([pdl, *options, "--record", "r.journal", "a.pdl"], cwd=here, env=environment(**env), capture_output=True, text=True, timeout=60, check=False)
    check("the run", (p.returncode, p.stdout.strip()) == (0, "not shown"), p.stdout, p.stderr)
    shutil.move(here / "r.journal", there / "r.journal")
    for args in SHOWN:
        p = subprocess.run([pdl, *args], cwd=there, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        check(" ".join(args), p.returncode == 0 and p.stdout and "canary" not in p.stdout.lower(), p.stdout[:300], p.stderr)
    trace = subprocess.run([pdl, "trace", "r.journal"], cwd=there, env=environment(), capture_output=True, text=True, timeout=60, check=False).stdout
    check("its decisions", name == "a module" or "pdl__decisions" in trace, trace[:500])
