# SPDX-License-Identifier: Apache-2.0
"""The progress line and the steps of --verbose, on a real terminal (pty) with a real server, `pdl mock`."""
import pathlib
import re
import subprocess
import tempfile

import pytest

from .screen import Terminal, check

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


class TestProgress:
    @pytest.fixture(autouse=True)
    def begin(self, pdl, server):
        self.pdl, self.server = pdl, {**server, "PATH": "/usr/bin:/bin"}

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
            check(name, seen and status == 0, t.bytes)
            check(name + ": nothing is left", "pdl:" not in t.screen(), t.screen())
            return t

    def silent(self, name, program, *options, env=None, after=None):
        """The program waits two seconds, and no line is seen."""
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, program, *options, env=env)
            t.wait_for("never", 2)
            pathlib.Path(folder, "go").touch()
            status = t.end()
            check(name, status == 0 and b"pdl:" not in t.bytes, t.bytes)
            return t

    def test_lines(self):
        t = self.shown("a line after a second", WAITS, wants=LINE + "[^\r]*command sh")
        check("the output is whole", t.screen().split() == ["over"], t.screen())
        t = self.shown("between lines of output", OUTPUT)
        check("both lines of output", t.screen().split() == ["begun", "over"], t.screen())
        self.shown("at once", WAITS, "--progress", "line", wants=r"\r\x1b\[Kpdl: 0 s")
        t = self.shown("without colours", WAITS, env={"NO_COLOR": "1"})
        check("NO_COLOR", not re.search(rb"\x1b\[[0-9;]*m", t.bytes), t.bytes)

    @pytest.mark.parametrize("why", ["in the middle of a line", "not wanted", "a terminal that cannot"])
    def test_no_line(self, why):
        program = INSIDE if why.startswith("in ") else WAITS
        options = ["--progress", "none"] if why.startswith("not") else []
        self.silent(why, program, *options, env={"TERM": "dumb"} if why.startswith("a ") else None)

    def test_durable(self):
        """After coloured output, which a durable run holds back until its journal has it."""
        program = OUTPUT.replace('- "begun\\n"', "- {lang: command, code: echo begun}")
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, program, "--durable", env={"PDL_RUNS": folder})
            begun = t.wait_for("begun")
            seen = begun and t.wait_for("begun(.|\n)*" + LINE)
            pathlib.Path(folder, "go").touch()
            status = t.end()
            check("durable: a line after output", seen and status == 0, t.bytes)
            check("durable: nothing is left", t.screen().split()[-2:] == ["begun", "over"] and " open" not in t.screen(), t.screen())

    def test_rows(self):
        """Four rows, two at a time: the first two end, the others wait."""
        program = "lang: command\nargs: [sh, -c, 'test ${ x } -le 2 || while [ ! -e go ]; do sleep 0.05; done; echo ${ x }']\n"
        for name, words in (("batch", ["-i", "rows.jsonl", "-o", "out.jsonl"]), ("eval", ["--input", "rows.jsonl", "--expect", "y"])):
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "p.pdl").write_text(program)
                pathlib.Path(folder, "rows.jsonl").write_text("".join('{"x": %d, "y": "%d"}\n' % (i, i) for i in range(1, 5)))
                t = Terminal([self.pdl, name, *words, "--jobs", "2", "p.pdl"], folder, self.server)
                seen = t.wait_for(r"2 rows done, 0 failed, 2 open, [0-9.]+/s, 50 %")
                pathlib.Path(folder, "go").touch()
                status = t.end()
                check(name + ": rows that are open are not done", seen and status == 0, t.bytes)
                check(name + ": nothing is left", "open" not in t.screen(), t.screen())

    def test_ends_lines(self):
        """An error does not continue an unfinished line of output, and comes after it."""
        for options in ([], ["--stream", "context"], ["--durable"]):
            with tempfile.TemporaryDirectory() as folder:
                t = self.terminal(folder, "text:\n- 'begun '\n- ${ x }\n", "--check", "off", *options, env={"HOME": folder, "XDG_STATE_HOME": folder})
                status = t.end()
                check("an error begins its line", status == 1 and re.search(rb"begun \r\np.pdl:3 - ", t.bytes), options, t.bytes)

    def test_narrow(self):
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, WAITS, columns=12)
            t.wait_for(LINE)
            pathlib.Path(folder, "go").touch()
            t.end()
            drawn = re.findall(rb"\r\x1b\[K(pdl[^\r\n\x1b]*)", t.bytes)
            check("a narrow terminal", drawn and all(len(d) <= 11 for d in drawn), drawn)

    def test_interrupted(self):
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, WAITS)
            t.wait_for(LINE)
            t.type("\x03")
            check("Ctrl-C removes it", t.end() == 130 and "pdl: 1 s" not in t.screen(), t.screen())

    def test_asks(self):
        """No line while a person is asked."""
        with tempfile.TemporaryDirectory() as folder:
            t = self.terminal(folder, "text:\n- {read: null, message: \"name? \"}\n", "--progress", "line")
            t.wait_for("name")
            t.wait_for("never", 1)
            t.type("bee\n")
            status = t.end()
            after = t.bytes[t.bytes.find(b"name?"):]
            check("a question", status == 0 and b"pdl:" not in after, t.bytes)

    @pytest.mark.parametrize("command", [["--progress", "line"], ["batch", "-i", "rows.csv", "-o", "out.csv", "--overwrite"], ["--verbose"]])
    def test_a_policy_asks(self, command):
        """What is drawn is removed before the question of a policy, and nothing is drawn over it while other calls are open."""
        program = """
policy: {policy: 1, rules: [{sink: command, allow: [user], otherwise: approve}], otherwise: allow}
defs: {note: {read: note.txt}}
text:
- {lang: command, args: [sleep, "1.2"]}
- for: {i: [1, 2]}
  map:
    if: ${ i == 1 }
    then: {lang: command, args: [sleep, "1"]}
    else: {lang: command, args: [echo, "${ note }"], fallback: refused}
"""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "note.txt").write_text("from a file")
            pathlib.Path(folder, "rows.csv").write_text("x\n1\n")
            t = self.terminal(folder, program, *command)
            t.wait_for("everything else: no. ")
            t.wait_for("never", 2)
            screen = t.screen()
            asked = re.search("The policy asks: may this be done\\?\n  command echo\n.*everything else: no. ", screen, re.S)
            rest = asked and screen[asked.end():].strip()
            check("the question is whole", asked and not re.search("^pdl:", asked.group(0), re.M), screen)
            check("only the end of a step comes after it, on a row of its own", not rest or (command == ["--verbose"] and re.fullmatch("pdl: line [0-9]+: command sleep, .*", rest)), screen)
            t.type("y\n")
            check("it continues", t.end() == 0, t.screen())

    def piped(self, program, *options):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "p.pdl").write_text(program)
            return subprocess.run([self.pdl, *options, "p.pdl"], cwd=folder, env=self.server, capture_output=True, text=True, check=False)

    def test_steps(self):
        r = self.piped(CALLS, "--verbose")
        lines = r.stderr.splitlines()
        check("a step for each call",
                   len(lines) == 3 and all(re.fullmatch(r"pdl: line 2: model openai/m, [0-9.]+ s, [0-9]+ tokens in, [0-9]+ out(, prefix [0-9]+ %)?", x) for x in lines) and
                   sum(", prefix " in x for x in lines) == 2, r.stderr)
        check("the output stays", r.stdout == '["hi 1", "hi 2", "hi 3"]\n', r.stdout)
        r = self.piped(TOOLS, "--verbose")
        for want in (r"line 2: model openai/m, ", r"line 3: python, [0-9.]+ s$", r"line 4: command printf, ", r"line 5: command false, [0-9.]+ s, exit status 1$"):
            check("steps of other kinds", re.search(want, r.stderr, re.M), want, r.stderr)
        r = self.piped(AGENT, "--verbose")
        first = r.stderr.splitlines()[:2]
        check("a tool of an agent", len(first) == 2 and re.fullmatch(r"pdl: prompted.pdl line [0-9]+: model openai/m, [0-9.]+ s, .*", first[0])
                   and re.fullmatch(r"pdl: line 3: tool price\(item='ink'\), [0-9.]+ s", first[1]), r.stderr)
        r = self.piped(AGENT.replace("return: 5", "return: \"${ 1 // 0 }\""), "--verbose")
        check("a tool that fails", re.search(r"^pdl: line 3: tool price\(item='ink'\) failed after [0-9.]+ s$", r.stderr, re.M), r.stderr)
        r = self.piped(AGENT)
        check("a tool without --verbose", "tool" not in r.stderr, r.stderr)
        r = self.piped("text: hi", "--progress", "line")
        check("a pipe is plain", (r.stdout, r.stderr) == ("hi\n", ""), r.stderr)
        r = self.piped("lastOf:\n- {args: [printf, secret-%s, x]}\n- {lang: command, code: \"${ 'secret' }\", fallback: y}\n", "--verbose")
        check("words of a command are not told", "secret-" not in r.stderr, r.stderr)
        r = self.piped("text: hi", "--progress", "often")
        check("a wrong word", r.returncode == 2 and "auto, line, none" in r.stderr, r.stderr)
