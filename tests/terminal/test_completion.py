# SPDX-License-Identifier: Apache-2.0
"""The Tab key in bash, zsh and fish, each on a separate terminal.

In place of pdl the shells find a script that prints its arguments. So the test sees what the shell made of a line when it runs the line. A shell that
is not installed is skipped.
"""
import os
import re
import shutil
import subprocess

import pytest

from .screen import Terminal, check
from ..checks import skip

TAB = "\t"
SCRIPT = "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done; echo .\n"

# What is typed before Tab, and the arguments of the line that is run then.
LINES = [
    ("expl", ["explain"]),
    ("doct", ["doctor"]),
    ("oneof", ["oneofakind.pdl"]),
    ("run oneof", ["run", "oneofakind.pdl"]),
    ("check --stri", ["check", "--strict"]),
    ("check --format sa", ["check", "--format", "sarif"]),
    ("trace --format perf", ["trace", "--format", "perfetto"]),
    ("batch --format cs", ["batch", "--format", "csv"]),
    ("--check st", ["--check", "stop"]),
    ("fmt --check oneof", ["fmt", "--check", "oneofakind.pdl"]),
    ("new x --template ag", ["new", "x", "--template", "agent"]),
    ("run --progress li", ["run", "--progress", "line"]),
    ("batch --progress lin", ["batch", "--progress", "line"]),
    ("oneofakind.pdl --verb", ["oneofakind.pdl", "--verbose"]),
    ("-d a=1 --data b=2 --strea", ["-d", "a=1", "--data", "b=2", "--stream"]),
    ("-f oneof", ["-f", "oneofakind.pdl"]),
    ("--policy oneof", ["--policy", "oneofakind.pdl"]),
    ("fmt --lines 1:2 oneof", ["fmt", "--lines", "1:2", "oneofakind.pdl"]),
]
EQUALS = ("--stream=con", ["--stream=context"])


def start(shell, files):
    """The command line of a shell without the user's own files, and what it is told first."""
    path = files / ("pdl." + shell)
    if shell == "bash":
        return ["--norc", "--noprofile", "-i"], ["source '%s'" % path]
    if shell == "zsh":
        return ["-f", "-i"], ["fpath=('%s' $fpath); autoload -Uz compinit; compinit -u -D" % files]
    return ["--no-config", "-i"], ["source '%s'" % path]


def ask(folder, program, shell, line, expected):
    words, first = start(shell, folder / "completions")
    env = {"PATH": "%s:%s" % (folder / "bin", os.environ["PATH"]), "HOME": str(folder), "PS1": "> ", "LC_ALL": "C.UTF-8"}
    term = Terminal([program, *words], folder, env=env, columns=200)
    for text in first:
        term.type(text + "; pdl ready\n")
        term.wait_for(r"<ready>\.")
    term.wait_for_editing()
    term.type("pdl " + line + TAB)
    seen = term.wait_for(re.escape(expected[-1][-3:]) + r"\S* ?", 10)
    term.type("\n")
    wanted = "".join("<%s>" % w for w in expected) + "."
    found = seen and term.wait_for(re.escape(wanted), 20)
    check("%s: pdl %s" % (shell, line), found, term.screen()[-400:])
    term.type("exit\n")
    term.end()


BLOCKS = 4


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tab(shell, block, pdl, folder):
    program = shutil.which(shell)
    if not program:
        skip("completion in " + shell, "there is none")
        return
    for name in ("bin", "completions"):
        (folder / name).mkdir()
    (folder / "bin" / "pdl").write_text(SCRIPT)
    (folder / "bin" / "pdl").chmod(0o755)
    (folder / "oneofakind.pdl").write_text("text: hi\n")
    text = subprocess.run([pdl, "__complete", shell], stdout=subprocess.PIPE, check=True).stdout
    (folder / "completions" / ("pdl." + shell)).write_bytes(text)
    if shell == "zsh":
        (folder / "completions" / "_pdl").write_bytes(text)
    for line, expected in (LINES + [EQUALS])[block::BLOCKS]:
        ask(folder, program, shell, line, expected)
