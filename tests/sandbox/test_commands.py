#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_commands.py BUILD_DIR -- every command that runs programs confines code where --sandbox or PDL_SANDBOX asks for it, and asks policies.
Skipped with a word where this machine has no sandbox."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "lsp")]
from checks import check, finish  # noqa: E402
from dap import Dap  # noqa: E402

PDL = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
# In a sandbox /tmp is one of its own, and what is outside of the program's folder cannot be written.
PROGRAM = """\
lang: python
code: |
  try:
      open("%s", "w").close()
  except OSError:
      pass
  result = "DONE"
"""
TO_COMMAND = """\
text:
- {lang: command, args: [echo, hello], def: said}
- {lang: command, args: [echo, "${ said }"]}
"""
NO_COMMANDS = "policy: 1\nrules: [{sink: command, argument: 1, deny: [command]}]\notherwise: allow\n"
ASKED = [([], {"PDL_SANDBOX": "1"}, False), (["--sandbox"], {}, False), (["--no-sandbox"], {"PDL_SANDBOX": "1"}, True),
         ([], {"PDL_SANDBOX": "0"}, True), ([], {}, True)]


def run(folder, *args, **env):
    r = subprocess.run([PDL, *map(str, args)], cwd=folder, env={**os.environ, "PDL_RUNS": str(folder / "runs"), **env}, capture_output=True,
                       text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    return r.stdout + r.stderr


def serve(folder, *args, **env):
    """What the model p.pdl of a server answers."""
    with subprocess.Popen([PDL, "serve", "--port", "0", *args, "p.pdl"], cwd=folder, env={**os.environ, **env}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as p:
        try:
            said = p.stdout.readline()
            found = re.search(r"http://\S+", said)
            if not found:
                return said + p.stdout.read()
            body = json.dumps({"model": "p", "messages": [{"role": "user", "content": "x"}]}).encode()
            request = urllib.request.Request(found[0] + "/chat/completions", body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60) as r:
                    return r.read().decode()
            except urllib.error.HTTPError as e:
                return e.read().decode()
        finally:
            p.terminate()


def test_of_programs(folder, *args, **env):
    """This command has no options."""
    (folder / "p.test.yaml").write_text("tests:\n- name: a\n  expect: {contains: DONE}\n")
    return run(folder, "test", "p.test.yaml", **env).replace("1 passed", "DONE")


def debug(folder, **env):
    """This command has no options either. The program stops once, and code is evaluated by the person who debugs it."""
    d = Dap(PDL, str(folder), {"PDL_RUNS": str(folder / "runs"), **env})
    try:
        d.launch(folder / "p.pdl", [1])
        d.stopped()
        d.request("continue", threadId=1)
        d.event("terminated")
        return d.output()
    finally:
        d.end()


COMMANDS = {
    "run": lambda f, *a, **e: run(f, *a, "p.pdl", **e),
    "durable": lambda f, *a, **e: run(f, "--durable", *a, "p.pdl", **e),
    "batch": lambda f, *a, **e: run(f, "batch", *a, "p.pdl", "-i", "rows.jsonl", "-o", "-", "--format", "jsonl", **e),
    "eval": lambda f, *a, **e: run(f, "eval", *a, "p.pdl", "--data", "rows.jsonl", "--expect", "right", "-o", "/dev/stdout", **e),
    "serve": serve,
}
WITHOUT_OPTIONS = {"test": test_of_programs, "dap": debug}


def sandboxes(folder):
    outside = folder.parent / "outside"
    (folder / "p.pdl").write_text(PROGRAM % outside)
    for name, command in {**COMMANDS, **WITHOUT_OPTIONS}.items():
        for args, env, is_free in ASKED:
            if name in WITHOUT_OPTIONS and args:
                continue
            said = command(folder, *args, **env)
            check("%s %s %s" % (name, " ".join(args), env), "DONE" in said and outside.exists() == is_free, said)
            outside.unlink(missing_ok=True)


def absent_commands(folder):
    """As in a shell, and only the helper's own word: what a command ends with, or has in its environment, stays."""
    (folder / "plain").write_text("no program")
    for words, code, said in ((["nothere"], 127, "nothere"), (["/dev/null"], 126, "/dev/null"), (["./plain"], 126, "./plain"), ([""], 127, "''"),
                              (["sh", "-c", "exit 117"], 117, ""), (["sh", "-c", "env | grep -c AS_SHELL; exit 116"], 116, "0")):
        r = subprocess.run([PDL, "sandbox", "--", *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        told = r.stderr + r.stdout
        check("sandbox -- %s" % words, r.returncode == code and said in told and told.count("\n") == (said != ""), (r.returncode, told))
    for code in (116, 117, 118, 119):
        (folder / "c.pdl").write_text("text: {lang: command, args: [sh, -c, 'exit %d'], fallback: '${ pdl_error.kind } ${ pdl_error.message }'}" % code)
        told = run(folder, "--sandbox", "c.pdl")
        check("a block that ends with %d" % code, told.startswith("code ") and "non zero code: %d" % code in told, told)
    for command in ("nothere", "./plain"):
        (folder / "c.pdl").write_text("text: {lang: command, code: %s}" % command)
        told = run(folder, "--sandbox", "c.pdl")
        check("a block with " + command, ("FileNotFoundError" if command == "nothere" else "PermissionError") in told, told)


def policies(folder):
    (folder / "p.pdl").write_text(TO_COMMAND.replace("{model: m, def: said}", "{data: hello, def: said}"))
    (folder / "no.yaml").write_text(NO_COMMANDS)
    for name, command in COMMANDS.items():
        for args, env in ((["--policy", "no.yaml"], {}), ([], {"PDL_POLICY": "no.yaml"})):
            said = command(folder, *args, **env)
            check("%s %s %s" % (name, " ".join(args), env), "polic" in said, said)
        said = command(folder)
        check("%s without a policy" % name, "hello" in said and "polic" not in said, said)
    check("dap PDL_POLICY", "polic" in debug(folder, PDL_POLICY="no.yaml"))
    check("dap without a policy", "hello" in debug(folder))


with tempfile.TemporaryDirectory(prefix="pdl-commands-") as d:
    place = pathlib.Path(d).resolve() / "program"
    place.mkdir()
    (place / "rows.jsonl").write_text('{"x": 1, "right": "DONE"}\n')
    (place / "a.pdl").write_text("text: {lang: python, code: 'result = 1'}")
    why = run(place, "--sandbox", "a.pdl")
    policies(place)
    if why.strip() == "1":
        sandboxes(place)
        absent_commands(place)
    else:
        print("skipped: this machine has no sandbox: " + why.strip()[-200:])
sys.exit(finish())
