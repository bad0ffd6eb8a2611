#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_completion.py -- the Tab key in bash, zsh and fish, each on a terminal of its own.

    test_completion.py BUILD_DIR

In place of pdl the shells find a script that prints its arguments: what the shell made of a line is seen when it is run. A shell that is
not there is skipped. Python standard library only. Last line: `N passed, N failed, N skipped`.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from screen import ScreenChecks, Terminal

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
    ("batch --progress lin", ["batch", "--progress", "lines"]),
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


def ask(t, program, shell, line, expected):
    words, first = start(shell, t.files)
    env = {"PATH": "%s:%s" % (t.bin, os.environ["PATH"]), "HOME": str(t.folder), "PS1": "> ", "LC_ALL": "C.UTF-8"}
    term = Terminal([program, *words], t.folder, env=env, columns=200)
    for text in first:
        term.type(text + "; pdl ready\n")
        term.wait_for(r"<ready>\.")
    term.wait_for_editing()
    term.type("pdl " + line + TAB)
    seen = term.wait_for(re.escape(expected[-1][-3:]) + r"\S* ?", 10)
    term.type("\n")
    wanted = "".join("<%s>" % w for w in expected) + "."
    found = seen and term.wait_for(re.escape(wanted), 20)
    t.check("%s: pdl %s" % (shell, line), found, term.screen()[-400:])
    term.type("exit\n")
    term.end()


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    t = ScreenChecks()
    with tempfile.TemporaryDirectory() as folder:
        t.folder = pathlib.Path(folder)
        t.bin, t.files = t.folder / "bin", t.folder / "completions"
        t.bin.mkdir()
        t.files.mkdir()
        (t.bin / "pdl").write_text(SCRIPT)
        (t.bin / "pdl").chmod(0o755)
        (t.folder / "oneofakind.pdl").write_text("text: hi\n")
        for shell in ("bash", "zsh", "fish"):
            text = subprocess.run([pdl, "__complete", shell], stdout=subprocess.PIPE, check=True).stdout
            (t.files / ("pdl." + shell)).write_bytes(text)
            if shell == "zsh":
                (t.files / "_pdl").write_bytes(text)
            program = shutil.which(shell)
            if not program:
                t.skip("completion in " + shell, "there is none")
                continue
            for line, expected in LINES + [EQUALS]:
                ask(t, program, shell, line, expected)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
