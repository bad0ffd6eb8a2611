#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_progress.py -- the line that says how far a run is, and the steps of --verbose.

    test_progress.py BUILD_DIR

A real terminal (pty) and a real server, `pdl mock`. Python standard library only. Last line: `N passed, N failed`.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from screen import ScreenChecks, Terminal

# Programs that wait until a file appears: they continue as long as the test wants.
WAITS = "text:\n- lang: command\n  code: sh -c 'while [ ! -e go ]; do sleep 0.05; done'\n- \"over\\n\"\n"
OUTPUT = "text:\n- \"begun\\n\"\n- lang: command\n  code: sh -c 'while [ ! -e go ]; do sleep 0.05; done'\n- \"over\\n\"\n"
INSIDE = OUTPUT.replace("begun\\n", "begun")
CALLS = "for: {i: [1, 2, 3]}\nmap: {model: openai/m, input: \"hi ${ i }\"}\njoin: {as: array}\n"
TOOLS = "text:\n- {model: openai/m, input: hi}\n- {lang: python, code: result = 'x'}\n- {args: [printf, y]}\n- {lang: command, code: 'false', fallback: z}\n"
AGENT = """defs:
  agent: {import: lib/toolcall/prompted}
  price: {description: Price, function: {item: string}, return: 5}
call: ${ agent.run }
args:
  model: openai/m
  parameters: {mock_response: '{"tool": "price", "parameters": {"item": "ink"}}'}
  query: What does ink cost
  tools: ["${ price }"]
  max_steps: 2
fallback: over
"""
LINE = r"\r\x1b\[Kpdl: [0-9]+ s"


class Tests(ScreenChecks):
    def __init__(self, pdl, server):
        self.pdl, self.server = pdl, server

    def terminal(self, folder, program, *options, env=None, columns=80):
        pathlib.Path(folder, "p.pdl").write_text(program)
        return Terminal([self.pdl, *options, "p.pdl"], folder, {**self.server, **(env or {})}, columns)

    def shown(self, name, program, *options, env=None, wants=LINE):
        """A line is seen while the program waits; nothing of it is left at the end."""
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, program, *options, env=env)
            seen = t.wait_for(wants)
            pathlib.Path(folder, "go").touch()
            status = t.end()
            self.check(name, seen and status == 0, t.bytes)
            self.check(name + ": nothing is left", "pdl:" not in t.screen(), t.screen())
            return t

    def silent(self, name, program, *options, env=None, after=None):
        """The program waits two seconds, and no line is seen."""
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, program, *options, env=env)
            t.wait_for("never", 2)
            pathlib.Path(folder, "go").touch()
            status = t.end()
            self.check(name, status == 0 and b"pdl:" not in t.bytes, t.bytes)
            return t

    def lines(self):
        t = self.shown("a line after a second", WAITS, wants=LINE + "[^\r]*command sh")
        self.check("the output is whole", t.screen().split() == ["over"], t.screen())
        t = self.shown("between lines of output", OUTPUT)
        self.check("both lines of output", t.screen().split() == ["begun", "over"], t.screen())
        self.shown("at once", WAITS, "--progress", "line", wants=r"\r\x1b\[Kpdl: 0 s")
        t = self.shown("without colours", WAITS, env={"NO_COLOR": "1"})
        self.check("NO_COLOR", not re.search(rb"\x1b\[[0-9;]*m", t.bytes), t.bytes)
        self.silent("in the middle of a line", INSIDE)
        self.silent("not wanted", WAITS, "--progress", "none")
        self.silent("a terminal that cannot", WAITS, env={"TERM": "dumb"})

    def durable(self):
        """After coloured output, which a durable run holds back until its journal has it."""
        program = OUTPUT.replace('- "begun\\n"', "- {lang: command, code: echo begun}")
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, program, "--durable", env={"PDL_RUNS": folder})
            begun = t.wait_for("begun")
            seen = begun and t.wait_for("begun(.|\n)*" + LINE)
            pathlib.Path(folder, "go").touch()
            status = t.end()
            self.check("durable: a line after output", seen and status == 0, t.bytes)
            self.check("durable: nothing is left", t.screen().split()[-2:] == ["begun", "over"] and " open" not in t.screen(), t.screen())

    def rows(self):
        """Four rows, two at a time: the first two end, the others wait."""
        program = "lang: command\nargs: [sh, -c, 'test ${ x } -le 2 || while [ ! -e go ]; do sleep 0.05; done; echo ${ x }']\n"
        for name, words in (("batch", ["-i", "rows.jsonl", "-o", "out.jsonl"]), ("eval", ["--data", "rows.jsonl", "--expect", "y"])):
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "p.pdl").write_text(program)
                pathlib.Path(folder, "rows.jsonl").write_text("".join('{"x": %d, "y": "%d"}\n' % (i, i) for i in range(1, 5)))
                t = Terminal([self.pdl, name, *words, "--jobs", "2", "p.pdl"], folder, self.server)
                seen = t.wait_for(r"2 rows done, 0 failed, 2 open, [0-9.]+/s, 50 %")
                pathlib.Path(folder, "go").touch()
                status = t.end()
                self.check(name + ": rows that are open are not done", seen and status == 0, t.bytes)
                self.check(name + ": nothing is left", "open" not in t.screen(), t.screen())

    def ends_lines(self):
        """An error does not continue an unfinished line of output, and comes after it."""
        for options in ([], ["--stream", "context"], ["--durable"]):
            with tempfile.TemporaryDirectory() as folder:
                t = self.terminal(folder, "text:\n- 'begun '\n- ${ x }\n", "--check", "off", *options, env={"HOME": folder, "XDG_STATE_HOME": folder})
                status = t.end()
                self.check("an error begins its line", status == 1 and re.search(rb"begun \r\np.pdl:3 - ", t.bytes), options, t.bytes)

    def narrow(self):
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, WAITS, columns=12)
            t.wait_for(LINE)
            pathlib.Path(folder, "go").touch()
            t.end()
            drawn = re.findall(rb"\r\x1b\[K(pdl[^\r\n\x1b]*)", t.bytes)
            self.check("a narrow terminal", drawn and all(len(d) <= 11 for d in drawn), drawn)

    def interrupted(self):
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, WAITS)
            t.wait_for(LINE)
            t.type("\x03")
            self.check("Ctrl-C removes it", t.end() == 130 and "pdl: 1 s" not in t.screen(), t.screen())

    def asks(self):
        """No line while a person is asked."""
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, "text:\n- {read: null, message: \"name? \"}\n", "--progress", "line")
            t.wait_for("name")
            t.wait_for("never", 1)
            t.type("bee\n")
            status = t.end()
            after = t.bytes[t.bytes.find(b"name?"):]
            self.check("a question", status == 0 and b"pdl:" not in after, t.bytes)

    def piped(self, program, *options):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "p.pdl").write_text(program)
            return subprocess.run([self.pdl, *options, "p.pdl"], cwd=folder, env=self.server, capture_output=True, text=True, check=False)

    def steps(self):
        r = self.piped(CALLS, "--verbose")
        lines = r.stderr.splitlines()
        self.check("a step for each call",
                   len(lines) == 3 and all(re.fullmatch(r"pdl: line 2: model openai/m, [0-9.]+ s, [0-9]+ tokens in, [0-9]+ out", x) for x in lines), r.stderr)
        self.check("the output stays", r.stdout == '["hi 1", "hi 2", "hi 3"]\n', r.stdout)
        r = self.piped(TOOLS, "--verbose")
        for want in (r"line 2: model openai/m, ", r"line 3: python, [0-9.]+ s$", r"line 4: command printf, ", r"line 5: command false, [0-9.]+ s, exit status 1$"):
            self.check("steps of other kinds", re.search(want, r.stderr, re.M), want, r.stderr)
        r = self.piped(AGENT, "--verbose")
        first = r.stderr.splitlines()[:2]
        self.check("a tool of an agent", len(first) == 2 and re.fullmatch(r"pdl: prompted.pdl line [0-9]+: model openai/m, [0-9.]+ s, .*", first[0])
                   and re.fullmatch(r"pdl: line 3: tool price\(item='ink'\), [0-9.]+ s", first[1]), r.stderr)
        r = self.piped(AGENT.replace("return: 5", "return: \"${ 1 // 0 }\""), "--verbose")
        self.check("a tool that fails", re.search(r"^pdl: line 3: tool price\(item='ink'\) failed after [0-9.]+ s$", r.stderr, re.M), r.stderr)
        r = self.piped(AGENT)
        self.check("a tool without --verbose", "tool" not in r.stderr, r.stderr)
        r = self.piped("text: hi", "--progress", "line")
        self.check("a pipe is plain", (r.stdout, r.stderr) == ("hi\n", ""), r.stderr)
        r = self.piped("lastOf:\n- {args: [printf, secret-%s, x]}\n- {lang: command, code: \"${ 'secret' }\", fallback: y}\n", "--verbose")
        self.check("words of a command are not told", "secret-" not in r.stderr, r.stderr)
        r = self.piped("text: hi", "--progress", "often")
        self.check("a wrong word", r.returncode == 2 and "auto, line, none" in r.stderr, r.stderr)


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    mock = subprocess.Popen([pdl, "mock", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        words = mock.stdout.readline().split()[1:]
        server = {"PATH": "/usr/bin:/bin", **dict(w.split("=", 1) for w in words)}
        t = Tests(pdl, server)
        for test in (t.lines, t.durable, t.rows, t.ends_lines, t.narrow, t.interrupted, t.asks, t.steps):
            test()
    finally:
        mock.terminate()
        mock.wait()
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
