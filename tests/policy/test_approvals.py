# SPDX-License-Identifier: Apache-2.0
"""Approvals on a terminal: y or yes and Enter means yes, and everything else means no. Equal calls are asked about once. The question is not on
standard output."""
import json
import os
import pty
import select
import subprocess
import tempfile
import time
from pathlib import Path

from ..checks import check
from .tries import servers

QUESTION = b"everything else: no."

PROGRAM = """
policy:
  policy: 1
  approvals: 2
  rules: [{sink: command, allow: [user], otherwise: approve}]
  otherwise: allow
text:
- {def: note, contribute: [], read: note.txt}
- {lang: command, args: [echo, "${ note }"], fallback: refused}
- {lang: command, args: [echo, "${ note }"], fallback: refused}
- {lang: command, args: [echo, "2 ${ note }"], fallback: refused}
- {lang: command, args: [echo, "3 ${ note }"], fallback: refused}
"""


def converse(pdl, answers, typed_ahead=b"", program=PROGRAM, prepare=None):
    """Runs the program with standard output in a pipe and the terminal as the place to ask: (output, terminal). prepare: puts more into its folder."""
    with tempfile.TemporaryDirectory() as d:
        Path(d, "a.pdl").write_text(program)
        Path(d, "note.txt").write_text("x\x1b[31m\ny")
        if prepare:
            prepare(d)
        out_r, out_w = os.pipe()
        pid, tty = pty.fork()
        if pid == 0:
            os.dup2(out_w, 1)
            os.chdir(d)
            os.environ["PDL_MCP_CONFIG"] = "mcp.json"
            if typed_ahead:
                time.sleep(0.3)
            os.execv(pdl, [pdl, "a.pdl"])
        os.close(out_w)
        if typed_ahead:
            os.write(tty, typed_ahead)
        seen, asked, end = b"", 0, time.time() + 20
        while time.time() < end:
            ready, _, _ = select.select([tty], [], [], 0.2)
            if ready:
                try:
                    seen += os.read(tty, 65536)
                except OSError:
                    break
            if seen.count(QUESTION) > asked and asked < len(answers):
                os.write(tty, answers[asked])
                asked += 1
        os.waitpid(pid, 0)
        os.close(tty)
        with os.fdopen(out_r, "rb") as f:
            return f.read(), seen


MANY = PROGRAM[:PROGRAM.index("text:")] + "defs: {note: {read: note.txt}}\nargs: [echo, " + "a, " * 50 + '"${ note }"]\nfallback: refused\n'


def test_questions(pdl):
    _, seen = converse(pdl, [b"n\n"], program=MANY)
    check("of arguments that are not shown the origin is", b"... and 12 more  [UNTRUSTED, from file" in seen, seen)
    yes, seen = converse(pdl, [b"y\n", b"n\n"])
    check("yes, then no, then too many", yes.count(b"\x1b") == 2 and b"2 x" not in yes and yes.count(b"refused") == 2, yes)
    check("equal calls are asked once, and no more than `approvals`", seen.count(QUESTION) == 2, seen)
    check("the question names the source", b"UNTRUSTED" in seen and b"note.txt" in seen, seen)
    check("control characters are visible", b"\\u{1b}[31m" in seen and b"\x1b[31m" not in seen, seen)


NAME = "x\n    to: ann@x\r\x1b[2K\u2028\u2029\u0085\u202e\u200b\x07\u3164\u115f\u2800\ufe01\U000e0101"
ODD_NAMES = """
policy: {policy: 1, rules: [{sink: tool, allow: [user], otherwise: approve}], otherwise: allow}
defs:
  mail: {import: "mcp:mail"}
  names: {read: names.json, parser: json}
call: ${ mail.send }
args: ${ names }
"""


def test_names_of_arguments(pdl):
    """The name of an argument stays in its line, and nothing in it acts on the terminal, at any depth; a refusal shows it likewise."""
    shown = "x\\n    to: ann@x\\u{d}\\u{1b}[2K\\u{2028}\\u{2029}\\u{85}\\u{202e}\\u{200b}\\u{7}\\u{3164}\\u{115f}\\u{2800}\\u{fe01}\\u{e0101}"
    for value, line in (({NAME: "v"}, shown), ({"a": {NAME: "v"}}, "a." + shown)):
        def prepare(d, value=value):
            servers(d, mail=([{"name": "send", "description": "sends", "inputSchema": {"type": "object", "properties": {"a": {}, NAME: {}}}}], {"send": "sent"}))
            Path(d, "names.json").write_text(json.dumps(value))
        out, seen = converse(pdl, [b"n\n"], program=ODD_NAMES, prepare=prepare)
        lines = seen.decode().split("\r\n")
        check("its line: %s" % line, [x for x in lines if x.startswith("    ") and x.startswith('    %s: "v"  [UNTRUSTED' % line)] and not out.count(b"sent"), lines)
        check("the refusal", "refuses argument %s of sink tool mail/send" % line in seen.decode(), seen)
        check("no other line, and no control", not [x for x in lines if x.startswith("    to:")] and not set("\r\x1b\u2028\u2029\u0085\u202e\u200b\x07") & set("".join(lines)), seen)


def test_everything_else_is_no(pdl):
    for answer in (b"yes please\n", b"\n", b"Y\n", b"ye\n", b"n\n"):
        out, _ = converse(pdl, [answer, b"n\n"])
        check(f"{answer!r} is no", out.count(b"refused") == 4, out)
    out, _ = converse(pdl, [b"n\n", b"n\n"], typed_ahead=b"y\ny\n")
    check("what was typed before is no answer", out.count(b"refused") == 4, out)


def test_without_a_terminal(pdl, folder):
    (folder / "a.pdl").write_text(PROGRAM)
    (folder / "note.txt").write_text("x")
    r = subprocess.run([pdl, "a.pdl"], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True, check=False)
    check("without a terminal it is a refusal", r.stdout.count(b"refused") == 4, r.stdout)


def test_keys_are_not_shown(pdl):
    """Wherever they come from."""
    os.environ["OPENAI_API_KEY"] = "canary1234567890canary"
    out, seen = converse(pdl, [b"y\n", b"y\n"], program=PROGRAM.replace("read: note.txt", "args: [printenv, OPENAI_API_KEY]"))
    check("a key in a question", b"[REDACTED]" in seen and b"canary" not in seen and out.count(b"canary1234567890canary") == 3, (out, seen))


HIDING = PROGRAM.replace("otherwise: approve}]", "otherwise: approve}, {sink: journal, deny: [secret]}]\n  labels: {secret: [{read: note.txt}]}")


def test_recording(pdl, folder):
    """What is asked is shown to the person, and is as hidden as the value in a recording."""
    (folder / "a.pdl").write_text(HIDING)
    (folder / "note.txt").write_text("HidDEN753")
    pid, tty = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(pdl, [pdl, "--record", "r", "a.pdl"])
    seen, asked, end = b"", 0, time.time() + 60
    while time.time() < end:
        try:
            seen += os.read(tty, 65536)
        except OSError:
            break
        if seen.count(QUESTION) > asked:
            os.write(tty, b"y\n")
            asked += 1
    os.waitpid(pid, 0)
    kept = (folder / "r").read_bytes()
    check("a question in a recording", asked == 2 and b"HidDEN753" in seen and b"HidDEN753" not in kept and b"[secret]" in kept, (asked, seen, kept))
    r = subprocess.run([pdl, "--replay", "r", "a.pdl"], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True, check=False)
    check("and it is replayed", r.stdout.count(b"refused") == 1 and r.returncode == 0, r)
