# SPDX-License-Identifier: Apache-2.0
"""The output that a person sees: messages of `pdl check` end with the name of their rule, a run on a terminal shows each problem once, and rules of
loading cannot be switched off."""
import os
import pathlib
import pty
import subprocess
import tempfile

from ..checks import check

ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("PDL_")}, "NO_COLOR": "1"}


class Folder:
    """A folder with main.pdl and files beside it."""

    def __init__(self, pdl, program, **files):
        self.pdl, self.path = pdl, pathlib.Path(tempfile.mkdtemp())
        for name, text in {"main.pdl": program, **{k.replace("_", "."): v for k, v in files.items()}}.items():
            (self.path / name).write_text(text, "utf-8")

    def run(self, *arguments):
        return subprocess.run([self.pdl, *arguments], cwd=self.path, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300, check=False)

    def run_on_terminal(self, *arguments):
        """What it prints to a terminal that is its standard error."""
        master, slave = pty.openpty()
        process = subprocess.Popen([self.pdl, *arguments, "main.pdl"], cwd=self.path, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux: the other end is closed
                part = b""
            if not part:
                break
            shown += part
        process.wait()
        os.close(master)
        return shown.decode("utf-8", "replace").replace("\r\n", "\n")


def test_messages_have_their_rule(pdl):
    r = Folder(pdl, "text: ${ nmae }\ndefs: {name: Ada}\n").run("check", "main.pdl")
    check("a warning has its rule", r.stdout.startswith("main.pdl:1 - warning: 'nmae' is undefined [name-undefined]\n"), r.stdout)
    r = Folder(pdl, "text: a\nrole: 3\n").run("check", "main.pdl")
    check("an error of loading has its rule", "main.pdl:2 - 3 should be of type <class 'str'> [value-type]\n" in r.stdout, r.stdout)
    r = Folder(pdl, "text: a\nrole: 3\n").run("main.pdl")
    check("a run's error has none", "[value-type]" not in r.stdout and r.returncode == 1, r.stdout)


def test_each_problem_is_shown_once(pdl):
    program = "text:\n- ${ 1 + 'a' }\n- if: ${ 3 in [a] }\n  then: ${ b }\ndefs: {a: 3}\n"
    shown = Folder(pdl, program).run_on_terminal()
    check("the error that ends a run is shown once", shown.count("main.pdl:2 - ") == 1 and "unsupported operand" in shown, shown)
    check("an error that may never be met is a warning", "main.pdl:4 - warning: 'b' is undefined [name-undefined]" in shown, shown)
    shown = Folder(pdl, program).run_on_terminal("--check=warn")
    check("--check=warn shows it before, too", shown.count("main.pdl:2 - ") == 2, shown)
    shown = Folder(pdl, program).run_on_terminal("--check=off")
    check("--check=off shows it once and nothing else", shown.count("main.pdl:2 - ") == 1 and "warning" not in shown, shown)


def test_rules_of_loading_stay_errors(pdl):
    bad = "text: a: b\n"
    for rule, level, refused in (("yaml", "off", True), ("value-type", "warning", True), ("too-deep", "off", True), ("yaml", "error", False),
                                 ("yaml", "default", False), ("norway", "off", False), ("operand-type", "warning", False)):
        at = Folder(pdl, bad, pdl_toml='[rules]\n%s = "%s"\n' % (rule, level))
        r = Folder(pdl, bad).run("check", "--rule", "%s=%s" % (rule, level), "main.pdl")
        check("--rule %s=%s" % (rule, level), ("cannot be %s" % level in r.stdout) == refused and (r.returncode == 2) == refused, r.returncode, r.stdout)
        r = at.run("check", "main.pdl")
        check("%s = %s in pdl.toml" % (rule, level), ("pdl.toml:2 - " in r.stdout) == refused, r.stdout)
    r = Folder(pdl, "text: a # pdl: ignore value-type\n").run("check", "main.pdl")
    check("a comment cannot ignore a rule of loading", "cannot be ignored" in r.stdout and "[ignore-unknown]" in r.stdout, r.stdout)
