# SPDX-License-Identifier: Apache-2.0
"""The interactive session, on a terminal and through a pipe. Parts that need line editing are skipped without libedit."""
import ctypes.util
import os
import pathlib
import re
import stat
import subprocess
import tempfile
import time

import pytest

from .screen import Terminal, check
from ..checks import skip

# name: what is typed, what standard output says, what standard error says
PIPED = {
    "text": ("Hello\n", "Hello\n", ""),
    "an expression": ("${ 6 * 7 }\n", "42\n", ""),
    "a block ends with an empty line": ("text:\n- a\n- b\n\nc\n", "ab\nc\n", ""),
    "a block at the end of input": ("text:\n- a\n- b\n", "ab\n", ""),
    "a mapping over several lines": ("{text: a,\n def: z}\n${ z }\n", "a\na\n", ""),
    "variables are kept": ("defs: {x: 5}\ntext: ok\n\n${ x + 1 }\n", "ok\n6\n", ""),
    "functions are kept": ("defs:\n  f: {function: {a: integer}, return: '${ a * 2 }'}\ntext: ''\n\n${ f(4) }\n${ f(f(1)) }\n", "8\n4\n", ""),
    "variables of Python are kept": ("lang: python\ncode: |\n  PDL_SESSION.n = 4\n  result = 1\n\nlang: python\ncode: result = PDL_SESSION.n\n\n", "1\n4\n", ""),
    "an error is no end": ("${ nope }\nstill here\n", "still here\n", "'nope' is undefined"),
    "a broken block": ("model: [\n\nstill here\n", "still here\n", "is not closed"),
    "a failed entry leaves nothing": ("text: [{def: y, text: a}, '${ nope }']\n\n${ y is defined }\n", "a\nfalse\n", "undefined"),
    "a colon inside of text": ("note: this is a text\n\n", "", "should be a block"),
    "variables": ("defs: {x: 5, l: {data: [1, b]}}\ntext: hm\n\n:vars\n", 'hm\nx: 5\nl: [1, "b"]\n', ""),
    "a function among the variables": ("defs: {f: {function: {}, return: a}}\ntext: hm\n\n:vars\n", "hm\nf: (function)\n", ""),
    "the context grows": ("one\ntwo\n:context\n", "one\ntwo\nuser: one\nuser: two\n", ""),
    "a model": (":model openai/upper\nhi\n:context\n", "HI\nuser: hi\nassistant: HI\n", "lines of text are sent to openai/upper"),
    "a model block": ("hello\nmodel: openai/upper\n\n", "hello\nHELLO\n", ""),
    "no model again": (":model openai/upper\n:model\nhi\n", "hi\n", "not sent"),
    "a short command": ("defs: {x: 1}\ntext: ok\n\n:v\n", "ok\nx: 1\n", ""),
    "no such command": (":frob\nhi\n", "hi\n", "there is no command :frob"),
    "an unclear command": (":\nhi\n", "hi\n", "there is no command"),
    "help": (":help\n", ":save FILE", ""),
    "quit": (":quit\nnever\n", "", ""),
    "reset": ("defs: {x: 1}\ntext: ok\n\n:reset\n${ x is defined }\n:context\n", "ok\nfalse\nuser: false\n", ""),
    "read takes the next line": ("read: null\nmessage: '? '\n\nthe line\n", "? the line\n", ""),
    "load": ("text: \"defs: {x: 5}\\ntext: it is \\n\"\ncontribute: [f]\ndefs: {f: {aggregator: {file: 'it''s.pdl', suffix: ''}}}\n\n:load it's.pdl\n${ x }\n", "it is\n5\n", ""),
    "load of nothing": (":load none.pdl\nhi\n", "hi\n", "file none.pdl not found"),
    "load without a name": (":load\n", "", "write :load FILE"),
    "save without a name": (":save\n", "", "write :save FILE"),
    "empty lines": ("\n\n\nhi\n\n", "hi\n", ""),
    "quotes": ('say "hi" and \'ho\' \\n\n', 'say "hi" and \'ho\' \\n\n', ""),
}


class TestRepl:
    @pytest.fixture(autouse=True)
    def begin(self, pdl, server):
        self.pdl, self.server = pdl, {**server, "PATH": os.environ["PATH"]}

    def run(self, folder, typed, *options):
        env = {**self.server, "HOME": folder}
        return subprocess.run([self.pdl, "repl", *options], cwd=folder, env=env, input=typed, capture_output=True, text=True, check=False, timeout=120)

    def test_piped(self):
        for name, (typed, out, err) in PIPED.items():
            with tempfile.TemporaryDirectory() as folder:
                r = self.run(folder, typed)
                exact = r.stdout == out or (name == "help" and out in r.stdout)
                check(name, r.returncode == 0 and exact and err in r.stderr and bool(err) == bool(r.stderr), r.stdout, r.stderr)

    def test_options(self):
        with tempfile.TemporaryDirectory() as folder:
            r = self.run(folder, "${ a } ${ b.c }\n", "-d", "a=1", "-d", "b: {c: [2]}")
            check("--data", r.stdout == "1 [2]\n", r.stdout, r.stderr)
            r = self.run(folder, "hi\n", "--model", "openai/upper")
            check("--model", r.stdout == "HI\n", r.stdout, r.stderr)
            r = self.run(folder, "", "-d", "[")
            check("wrong data", r.returncode == 2 and "data" in r.stderr, r.returncode, r.stderr)

    def test_saved(self):
        """What was typed is a program that does the same."""
        entries = 'defs: {x: 5}\ntext: "x\\n"\n\n- a\n- b\n\n{data: [1, "${ x }"]}\nlang: python\ncode: |\n  y = x\n  result = y\n\nplain "text"\n'
        with tempfile.TemporaryDirectory() as folder:
            r = self.run(folder, entries + ":save kept.pdl\n:save kept.pdl\n")
            check("save", "5 entries are in kept.pdl" in r.stderr and "there is a file kept.pdl already" in r.stderr, r.stderr)
            p = subprocess.run([self.pdl, "kept.pdl"], cwd=folder, env={**self.server, "HOME": folder}, capture_output=True, text=True, check=False)
            check("the saved program", p.stdout.replace("\n", "") == r.stdout.replace("\n", "") and p.returncode == 0, p.stdout, r.stdout, p.stderr)

    def session(self, folder):
        # libedit leaves a copy of a line behind when reading it was interrupted
        sanitizers = {"ASAN_OPTIONS": self.server.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        t = Terminal([self.pdl, "repl"], folder, {**self.server, **sanitizers, "HOME": folder})
        check("a prompt", t.wait_for("pdl> $"), t.bytes)
        self.ready(t)
        return t

    def ready(self, t):
        """The prompt is there before the terminal is ready for single keys."""
        if ctypes.util.find_library("edit") and re.search(rb"(pdl> |\.\.\.  )$", t.bytes):
            t.wait_for_editing(10)

    def say(self, t, typed, wants):
        """Types, and waits for what follows."""
        t.bytes = b""
        t.type(typed)
        check("typed %r" % typed, t.wait_for(wants), t.bytes)
        self.ready(t)

    def press_ctrl_c(self, t):
        """At a prompt."""
        self.say(t, "\x03", r"pdl> $")

    def test_early_interrupts(self):
        """A signal that comes after the prompt and just before the line is read counts."""
        with tempfile.TemporaryDirectory() as folder:
            t = self.session(folder)
            n_lost = 0
            for i in range(60):
                t.bytes = b""
                t.type("\x03")
                if not t.wait_for(r"pdl> $", 20):
                    n_lost += 1
                    t.type("\x03")
                    t.wait_for(r"pdl> $", 20)
            check("no Ctrl-C is lost", n_lost == 0, n_lost)
            t.type("\x04")
            check("Ctrl-D right behind the prompt ends it", t.end() == 0, t.status)

    @pytest.mark.parametrize("typed", ["\x04", "text\n\x04", ":quit\n", ":quit"])
    def test_typed_ahead(self, typed):
        """What is typed while an entry runs, when the terminal cuts lines, is what is read next; nothing more is asked for before the end."""
        if not ctypes.util.find_library("edit"):
            pytest.skip("libedit is not there")
        with tempfile.TemporaryDirectory() as folder:
            t = self.session(folder)
            self.say(t, "lang: command\n", r"\.\.\.  $")
            self.say(t, "code: sh -c 'touch began; while [ ! -e go ]; do sleep 0.02; done'\n", r"\.\.\.  $")
            t.type("\n")
            end = time.monotonic() + 60
            while not pathlib.Path(folder, "began").exists() and time.monotonic() < end:
                t.wait_for("never", 0.02)
            t.type(typed)
            t.wait_for(typed.strip("\x04\n") + r"(\r\n)?$")  # its echo
            pathlib.Path(folder, "go").touch()
            if not typed.endswith(("\n", "\x04")):
                t.wait_for(r"pdl> :quit$")
                t.type("\n")
            check("typed ahead: %r" % typed, t.end(20) == 0, t.status, t.bytes)

    def test_interrupts(self):
        with tempfile.TemporaryDirectory() as folder:
            t = self.session(folder)
            self.say(t, "lang: command\n", r"\.\.\.  $")
            self.say(t, "code: sh -c 'echo $$ > pid; exec sleep 1000'\n", r"\.\.\.  $")
            t.type("\n")
            pid = pathlib.Path(folder, "pid")
            for _ in range(600):
                if pid.exists() and pid.read_text().strip():
                    break
                t.wait_for("never", 0.1)
            self.say(t, "\x03", r"interrupted\r\npdl> $")
            check("the command ended, too", not os.path.exists("/proc/" + pid.read_text().strip()))
            self.say(t, "for: {i: '${ range(100000000) }'}\n", r"\.\.\.  $")
            self.say(t, "repeat: ${ i }\n", r"\.\.\.  $")
            self.say(t, "join: {as: lastOf}\n", r"\.\.\.  $")
            t.type("\n")
            t.wait_for("never", 0.5)
            self.say(t, "\x03", r"interrupted\r\npdl> $")
            self.say(t, "text:\n", r"\.\.\.  $")
            self.say(t, "- dropped", "- dropped")
            self.press_ctrl_c(t)
            self.say(t, "${ 40 + 2 }\n", r"42\r\npdl> $")
            t.type("\x04")
            check("Ctrl-D ends it", t.end() == 0, t.status)

    def test_editing(self):
        if not ctypes.util.find_library("edit"):
            skip("line editing", "libedit is not there")
            return
        with tempfile.TemporaryDirectory() as folder:
            t = self.session(folder)
            self.say(t, "wurld\x1b[D\x1b[D\x1b[D\x1b[D\x7fw\x1b[C\x7fo\n", r"world\r\npdl> $")
            self.say(t, "\x1b[A\n", r"world\r\npdl> $")
            self.say(t, "h\u00e9 \u20ac\n", "h\u00e9 \u20ac\r\nh\u00e9 \u20ac\r\npdl> $")
            self.say(t, "modelR\t", "esponse: ")
            self.press_ctrl_c(t)
            self.say(t, "defs: {number: 5}\n", r"\.\.\.  $")
            self.say(t, "text: ok\n", r"\.\.\.  $")
            self.say(t, "\n", r"ok\r\npdl> $")
            self.say(t, "${ 'ab' | upp\t", "er")
            self.say(t, " }\n", r"AB\r\npdl> $")
            self.say(t, "${ 'ab' | trunc\t", "ate")
            self.press_ctrl_c(t)
            self.say(t, "${ num\t", "ber")
            self.say(t, " + 1 }\n", r"6\r\npdl> $")
            self.say(t, ":con\t", "text")
            self.press_ctrl_c(t)
            self.say(t, "de\t", r"description: +defs: +def: ")
            self.press_ctrl_c(t)
            t.type("\x04")
            t.end()
            history = pathlib.Path(folder, ".local/state/pdl/history")
            check("the history is the user's own", history.exists() and stat.S_IMODE(history.stat().st_mode) == 0o600)
            t = self.session(folder)
            self.say(t, "\x1b[A\n", r"'number' is undefined")
            t.type("\x04")
            t.end()

    def test_reading(self):
        """`read` of an entry: its line is edited as entries are, and is not among them later."""
        if not ctypes.util.find_library("edit"):
            skip("the history of lines", "libedit is not there")
            return
        with tempfile.TemporaryDirectory() as folder:
            t = self.session(folder)
            ask = "{read: null, message: 'Who? ', def: who}\n"
            self.say(t, ask, r"Who\? \rWho\? $")
            t.wait_for_editing(10)
            self.say(t, "Lovelce\x1b[D\x1b[Da\n", r"Lovelace\r\npdl> $")
            self.say(t, "<${ who }>\n", r"<Lovelace>\r\npdl> $")
            self.say(t, ask, r"Who\? \rWho\? $")
            t.wait_for_editing(10)
            self.say(t, "Babb\x03", r"interrupted\r\npdl> $")
            self.say(t, "{read: null, message: 'All? ', multiline: true, def: who}\n", r"All\? \s*$")
            t.wait_for_editing(10)
            self.say(t, "one\ntwp\x7fo\n\x04", r"two\r\npdl> $")
            self.say(t, "<${ who | length }>\n", r"<8>\r\npdl> $")
            t.type("\x04")
            t.end()
            history = pathlib.Path(folder, ".local/state/pdl/history").read_text()
            check("an answer is not in the history", "Lovel" not in history and "who" in history, history)
