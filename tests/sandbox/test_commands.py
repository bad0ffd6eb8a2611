# SPDX-License-Identifier: Apache-2.0
"""Every command that runs programs confines code when --sandbox or PDL_SANDBOX requests it, and asks policies."""
import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from . import kit
from ..checks import check
from ..dap.client import Dap
from ..harness.choice import Choice, taken

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


class Program:
    """A folder with the program p.pdl, and the commands that run it."""

    def __init__(self, pdl, folder, text):
        self.pdl, self.folder, self.outside = pdl, folder / "program", folder / "outside"
        self.folder.mkdir()
        (self.folder / "rows.jsonl").write_text('{"x": 1, "right": "DONE"}\n')
        (self.folder / "no.yaml").write_text(NO_COMMANDS)
        (self.folder / "p.pdl").write_text(text.replace("%s", str(self.outside)))

    def environment(self, env):
        return kit.environment({"PDL_RUNS": str(self.folder / "runs"), **env})

    def run(self, *args, **env):
        r = kit.run([self.pdl, *args], self.folder, {"PDL_RUNS": str(self.folder / "runs"), **env})
        return r.stdout + r.stderr

    def serve(self, *args, **env):
        """What the model p.pdl of a server answers."""
        with subprocess.Popen([self.pdl, "serve", "--port", "0", *args, "p.pdl"], cwd=self.folder, env=self.environment(env), stdout=subprocess.PIPE,
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

    def test(self, **env):
        """This command has no options."""
        (self.folder / "p.test.yaml").write_text("tests:\n- name: a\n  expect: {contains: DONE}\n")
        return self.run("test", "p.test.yaml", **env).replace("1 passed", "DONE")

    def debug(self, **env):
        """This command has no options either. The program stops once, and code is evaluated by the person who debugs it."""
        d = Dap(self.pdl, str(self.folder), {"PDL_RUNS": str(self.folder / "runs"), **env})
        try:
            d.launch(self.folder / "p.pdl", [1])
            d.stopped()
            d.request("continue", threadId=1)
            d.event("terminated")
            return d.output()
        finally:
            d.end()


COMMANDS = {
    "run": lambda p, *a, **e: p.run(*a, "p.pdl", **e),
    "durable": lambda p, *a, **e: p.run("--durable", *a, "p.pdl", **e),
    "batch": lambda p, *a, **e: p.run("batch", *a, "p.pdl", "-i", "rows.jsonl", "-o", "-", "--format", "jsonl", **e),
    "eval": lambda p, *a, **e: p.run("eval", *a, "p.pdl", "--input", "rows.jsonl", "--expect", "right", "-o", "/dev/stdout", **e),
    "serve": Program.serve,
}
WITHOUT_OPTIONS = {"test": Program.test, "dap": Program.debug}


def needs_a_sandbox(pdl, folder):
    why = kit.why_not(pdl, kit.STRENGTHS[1], folder) and kit.why_not(pdl, kit.STRENGTHS[0], folder)
    if why:
        pytest.skip("this machine has no sandbox: " + why)


def drawn(name, always):
    """Does this run make the row? `test` makes one in three of those that it does not always make."""
    return not Choice.rest if always else taken(name, 3)


@pytest.mark.draws
@pytest.mark.parametrize("name", [*COMMANDS, *WITHOUT_OPTIONS])
def test_sandboxes(pdl, folder, name):
    needs_a_sandbox(pdl, folder)
    p = Program(pdl, folder, PROGRAM)
    for args, env, is_free in ASKED:
        if (name in WITHOUT_OPTIONS and args) or not drawn((name, args, env), not args and not env or env == {"PDL_SANDBOX": "1"}):
            continue
        said = {**COMMANDS, **WITHOUT_OPTIONS}[name](p, *args, **env)
        check("%s %s %s" % (name, " ".join(args), env), "DONE" in said and p.outside.exists() == is_free, said)
        p.outside.unlink(missing_ok=True)


@pytest.mark.draws
@pytest.mark.parametrize("name", COMMANDS)
def test_policies(pdl, folder, name):
    p = Program(pdl, folder, TO_COMMAND)
    for args, env in ((["--policy", "no.yaml"], {}), ([], {"PDL_POLICY": "no.yaml"})):
        if drawn((name, args, env), False):
            said = COMMANDS[name](p, *args, **env)
            check("%s %s %s" % (name, " ".join(args), env), "polic" in said, said)
    if drawn(name, True):
        said = COMMANDS[name](p)
        check("%s without a policy" % name, "hello" in said and "polic" not in said, said)


def test_policies_of_a_debugger(pdl, folder):
    p = Program(pdl, folder, TO_COMMAND)
    check("dap PDL_POLICY", "polic" in p.debug(PDL_POLICY="no.yaml"))
    check("dap without a policy", "hello" in p.debug())


ABSENT = ((["nothere"], 127, "nothere"), (["/dev/null"], 126, "/dev/null"), (["./plain"], 126, "./plain"), ([""], 127, "''"), (["sh", "-c", "exit 117"], 117, ""),
          (["sh", "-c", "env | grep -c AS_SHELL; exit 116"], 116, "0"))


def test_absent_commands(pdl, folder):
    """As in a shell, and only the helper's own word: what a command ends with, or has in its environment, stays."""
    needs_a_sandbox(pdl, folder)
    p = Program(pdl, folder, "")
    (p.folder / "plain").write_text("no program")
    for words, code, said in ABSENT:
        r = kit.run([pdl, "sandbox", "--", *words], p.folder, {})
        told = r.stderr + r.stdout
        check("sandbox -- %s" % words, r.returncode == code and said in told and told.count("\n") == (said != ""), (r.returncode, told))
    for code in (116, 117, 118, 119):
        (p.folder / "c.pdl").write_text("text: {lang: command, args: [sh, -c, 'exit %d'], fallback: '${ pdl_error.kind } ${ pdl_error.message }'}" % code)
        told = p.run("--sandbox", "c.pdl")
        check("a block that ends with %d" % code, told.startswith("code ") and "non zero code: %d" % code in told, told)
    for command in ("nothere", "./plain"):
        (p.folder / "c.pdl").write_text("text: {lang: command, code: %s}" % command)
        told = p.run("--sandbox", "c.pdl")
        check("a block with " + command, ("FileNotFoundError" if command == "nothere" else "PermissionError") in told, told)
