# SPDX-License-Identifier: Apache-2.0
"""A program reads lines from a terminal: they can be edited, and at the end the terminal is as before. Skipped without libedit."""
import ctypes.util
import pathlib
import tempfile

import pytest

from .screen import Terminal, check
from ..checks import skip

LEFT, UP, RUB = "\x1b[D", "\x1b[A", "\x7f"

PROGRAM = """\
text:
- "Before\\nFirst "
- {read: null, message: "name: ", def: a, contribute: []}
- "<${ a }>\\n"
- {read: null, message: "Again: ", def: b, contribute: []}
- "<${ b }>\\n"
- {read: null, message: "All: ", def: c, multiline: true, contribute: []}
- "<${ c | replace('\\n', '/') }>\\n"
"""
ONE = 'text: [{read: null, message: "%s", def: a, contribute: []}, "<${ a }>"]\n'


class TestRead:
    @pytest.fixture(autouse=True)
    def begin(self, pdl, folder):
        self.pdl, self.folder = pdl, folder
        if not ctypes.util.find_library("edit"):
            skip("lines that are edited", "libedit is not there")
            pytest.skip("libedit is not there")

    def start(self, program, env=None, columns=80):
        folder = tempfile.mkdtemp(dir=self.folder)
        pathlib.Path(folder, "p.pdl").write_text(program)
        return Terminal([self.pdl, "p.pdl"], folder, env, columns)

    def answer(self, t, prompt, typed, wants, is_edited=True):
        check("prompt %r" % prompt, t.wait_for(prompt), t.bytes)
        if is_edited:
            t.wait_for_editing(20)
        t.bytes = t.bytes[-40:]
        t.type(typed)
        check("typed %r" % typed, t.wait_for(wants), t.bytes)

    def test_edited(self):
        t = self.start(PROGRAM)
        self.answer(t, "First name: $", "wurld" + LEFT * 4 + RUB + "w\x1b[C" + RUB + "o\n", "<world>")
        self.answer(t, "Again: $", "h\u00e9\u20acx" + RUB + "\n", "<h\u00e9\u20ac>")
        self.answer(t, "All: ", "one\n", "one\r\n")
        t.type("two\n")
        t.type("\x04")
        check("many lines", t.end() == 0 and "<one/two/>" in t.screen(), t.screen())

    def test_earlier(self):
        t = self.start(PROGRAM)
        self.answer(t, "First name: $", "first\n", "<first>")
        self.answer(t, "Again: $", UP + RUB + "\n", "<firs>")
        t.type("\x03")
        t.end()

    def test_shown(self):
        """What is on the row of the prompt stays there."""
        t = self.start(PROGRAM)
        self.answer(t, "First name: $", "ab" + LEFT + RUB + "\n", "<b>")
        check("the row", "First name: b\n<b>" in t.screen().replace("\r", ""), t.screen(), t.bytes)
        t.type("\x03")
        t.end()

    def test_endings(self):
        t = self.start(ONE % "? ")
        self.answer(t, r"\? $", "\x04", "EOF")
        check("Ctrl-D is the end of input", t.end() == 1 and "EOF" in t.screen(), t.screen())
        t = self.start(ONE % "? ")
        self.answer(t, r"\? $", "ab\x03", "\\n")
        check("Ctrl-C ends the run", t.end() == 130, t.status, t.bytes)
        t = self.start(ONE % "? ")
        self.answer(t, r"\? $", "ab\x1b", "ab")
        t.wait_for("never", 1)
        t.type("c\n")
        check("Escape alone is no part of a key for ever", t.end() == 0 and "<abc>" in t.screen(), t.screen())

    def test_restored(self):
        """The settings of the terminal, seen by who runs the command."""
        for name, typed in (("an answer", "x\n"), ("Ctrl-C", "\x03"), ("Ctrl-D", "\x04")):
            script = "%s p.pdl; stty -a | tr ';' '\\n' | grep -o -- '-*icanon\\b' ; echo done" % self.pdl
            folder = tempfile.mkdtemp(dir=self.folder)
            pathlib.Path(folder, "p.pdl").write_text(ONE % "? ")
            t = Terminal(["/bin/sh", "-c", "trap : INT; " + script], folder)
            self.answer(t, r"\? $", typed, "done")
            t.end()
            check("the terminal after " + name, "-icanon" not in t.screen() and "icanon" in t.screen(), t.screen())

    def test_plain(self):
        """Where lines cannot be edited they are read as the terminal gives them."""
        for name, program, env, columns in (
            ("a dumb terminal", ONE % "? ", {"TERM": "dumb"}, 80),
            ("a row that is too long", ONE % ("long " * 20), None, 40),
            ("a row with a tab", ONE % "a\tb ", None, 80),
        ):
            t = self.start(program, env, columns)
            self.answer(t, "[? bg] $", "xy\n", "<xy>", is_edited=False)
            check(name, b"\r" + (ONE % "? ").encode() not in t.bytes and t.end() == 0, t.bytes)
