# SPDX-License-Identifier: Apache-2.0
"""A recording with a policy can be replayed from any folder.

Texts that models and people see name files relative to the program. So a request with such a text is the same wherever the program is started.
"""
import os
import pathlib
import subprocess

import pytest

from ..checks import check
from . import loopback

POLICY = """policy: 1
rules:
- {sink: command, argument: 1, allow: [user], otherwise: approve}
- {sink: write, argument: content, allow: [], otherwise: approve}
otherwise: allow
"""
# What was refused, and why a type did not fit, goes to a model: with its place, and with the file of what it comes from.
PROGRAM = """policy: p.yaml
defs:
  note: {read: data/note.txt}
  f: {function: {x: string}, return: a}
text:
- lang: command
  args: [echo, "${ note }"]
  fallback:
    model: openai/echo
    input: "refused in ${ pdl_error.file }:${ pdl_error.line }: ${ pdl_error.message }"
- call: ${ f }
  args: {x: 1}
  fallback:
    model: openai/echo
    input: "wrong: ${ pdl_error.message } in ${ pdl_error.file }"
- read: data/nothing.txt
  fallback:
    model: openai/echo
    input: "not there: ${ pdl_error.message }"
- include: inner/part.pdl
"""
PART = """defs:
  g: {function: {x: string}, return: a}
text:
- call: ${ g }
  args: {x: 1}
  fallback:
    model: openai/echo
    input: "inner: ${ pdl_error.message } in ${ pdl_error.file }"
"""


def run(pdl, cwd, *args):
    env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    r = subprocess.run([pdl, "--stream", "none", *args], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=env, check=False)
    return r.returncode, r.stdout, r.stderr


FOLDERS = [("", "home/sub/a.pdl"), ("home", "sub/a.pdl"), ("home/sub", "a.pdl"), ("home/sub/data", "../a.pdl"), ("home", "./sub/a.pdl"), ("", None)]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_recording_with_a_policy(pdl, folder, first):
    sub = folder / "home" / "sub"
    (sub / "data").mkdir(parents=True)
    (sub / "inner").mkdir()
    (sub / "a.pdl").write_text(PROGRAM.replace("model: openai/echo", "model: openai/echo\n    parameters: {mock_response: said}"))
    (sub / "inner" / "part.pdl").write_text(PART.replace("model: openai/echo", "model: openai/echo\n    parameters: {mock_response: said}"))
    (sub / "p.yaml").write_text(POLICY)
    (sub / "data" / "note.txt").write_text("hello")
    cwd, program = FOLDERS[first]
    recording = folder / "r.journal"
    code, out, err = run(pdl, folder / cwd, "--record", str(recording), program)
    check("it is recorded from %r" % cwd, code == 0, code, out, err)
    for cwd, program in FOLDERS:
        code, out, err = run(pdl, folder / cwd, "--replay", str(recording), program or str(sub / "a.pdl"))
        check("it replays from %r as %s" % (cwd, program), code == 0, code, out, err)
