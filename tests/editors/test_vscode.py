# SPDX-License-Identifier: Apache-2.0
"""test_vscode.py BUILD_DIR [SCENARIO...] -- the packaged extension in a real VS Code (code-server), driven by Chromium: vscode.mjs. Skipped where its parts are
absent. Pictures are left in BUILD_DIR/pictures."""
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
from .. import browser_of, node_of
import pytest
from ..checks import skip
from ..harness.choice import Choice, ROOT
from . import code_server
from .counting import judge

PROGRAM = """\
description: Greets three people
defs:
  greet:
    description: Says hello.
    function:
      name: string
    return:
      text: "Hello, ${ name }!"
# Three people, one after the other
for:
  who: [Ada, Alan, Grace]
repeat:
  call: ${ greet }
  args:
    name: ${ who }
join:
  with: "\\n"
"""
TESTS = """\
tests:
- name: greets
  expect: {contains: "Hello, Ada!"}
- name: insults
  expect: {contains: "Go away"}
"""
FILES = {"greet.pdl": PROGRAM, "greet.test.yaml": TESTS, "messy.pdl": "defs: {b: 1}\ntext:\n   -   a${b}\n"}
WANT = {
    "highlighting": lambda x: len({x["keyword"], x["variable"], x["comment"]}) == 3,
    "lens": lambda x: x[:3] == ["Run", "Run with view", "Explain"] and "Run greet" in x,
    "underline": lambda x: x.count("'whom' is undefined (did you mean 'who'?)") == 1,
    "completion": lambda x: "contribute" in x,
    "hover": lambda x: "Of call blocks." in x,
    "live": lambda x: x["before"] == 1 and "function" in x["text"],
    "rename": lambda x: "    name: ${ person }" in x,
    "format": lambda x: "- a${ b }" in x,
    "task": lambda x: "Hello, Ada!" in x,
    "tests": lambda x: len(x) >= 3,
    "run": lambda x: "Hello, Ada!" in x and "Hello, Grace!" in x,
    "debugger": lambda x: any("who" in row and "'Ada'" in row for row in x),
}


def parts(build):
    """-> ({modules, chromium}, the package), or (None, why not)."""
    chromium, none = browser_of.browser()
    if not chromium:
        return None, none
    modules, why = node_of.modules(build, "playwright-core@1.65.1")
    why = why or code_server.fetch(build)
    if why:
        return None, why
    made = subprocess.run(["sh", "editors/vscode/make-vsix", str(build)], cwd=ROOT, capture_output=True, text=True, timeout=600)
    if made.returncode:
        return None, "the package cannot be made: " + made.stderr[-300:]
    return {"modules": modules, "chromium": chromium}, build / "vsix" / "extension.vsix"


def drive(build, task, package):
    with tempfile.TemporaryDirectory(prefix="pdl_vscode_") as work:
        server = code_server.Server(build, pathlib.Path(work), package)
        try:
            for name, text in FILES.items():
                (server.programs / name).write_text(text)
            pictures = build / "pictures"
            pictures.mkdir(exist_ok=True)
            file = pathlib.Path(work, "task.json")
            file.write_text(json.dumps({**task, "address": server.wait(), "programs": str(server.programs), "pictures": str(pictures)}))
            p = subprocess.run(["node", str(HERE / "vscode.mjs"), str(file)], capture_output=True, text=True, timeout=1200)
            return json.loads(p.stdout) if p.returncode == 0 else {"error": p.stderr[-2000:]}
        finally:
            server.end()


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1500)
def test_vscode(build):
    if not Choice.fetch and not (build / "test-code-server" / "ready").exists():
        skip("VS Code", "it is not installed: make test-editors fetches it", len(WANT))
        return
    task, package = parts(build)
    if not task:
        skip("VS Code", package, len(WANT))
        return
    result = drive(build, task, package)
    judge("vscode", [(name, result.get(name, result.get("error")), holds) for name, holds in WANT.items()])
