# SPDX-License-Identifier: Apache-2.0
"""Only the program's own text controls a terminal. Control sequences of files, commands, code, variables, input and errors are shown as visible
signs, for every command that runs the program, with a sandbox and without, and on every descriptor."""
import pytest

from .screen import Terminal, check

ESCAPE = "\x1b]0;evil\x07"
PRINTS = "printf '\\033]0;evil\\007'"
CODE = {
    "printed": "print(E)", "written": "import os\nos.write(1, E.encode())", "to errors": "import sys\nprint(E, file=sys.stderr)", "to the errors' descriptor": "import os\nos.write(2, E.encode())",
    "of a child": "import subprocess\nsubprocess.run(['sh', '-c', \"\"\"" + PRINTS + "\"\"\"])", "of a child's errors": "import subprocess\nsubprocess.run(['sh', '-c', \"\"\"" + PRINTS + " >&2\"\"\"])",
    "an exception": "raise ValueError(E)",
}
WAYS = {"plain": (), "sandbox": ("--sandbox-min", "process", "--sandbox")}


def block(code):
    body = "import time\nE = chr(27) + ']0;evil' + chr(7)\n%s\ntime.sleep(0.2)\nresult = 'end'" % code
    return "lang: python\ncode: |\n" + "".join("  %s\n" % line for line in body.split("\n"))


def shown(pdl, folder, program, *args, typed=None):
    (folder / "p.pdl").write_text(program)
    (folder / "note").write_text(ESCAPE)
    (folder / "data.yaml").write_text('x: "\\e]0;evil\\a"\n')
    t = Terminal([pdl, *args], folder)
    if typed:
        t.wait_for(typed[0])
        t.type(typed[1])
    t.wait_for("never")
    return t.bytes


def harmless(title, out):
    check(title, b"\x1b]0;evil" not in out and "␛]0;evil".encode() in out, out)


@pytest.mark.parametrize("way", list(WAYS))
def test_code(pdl, folder, way):
    for name, code in CODE.items():
        harmless("%s, %s" % (name, way), shown(pdl, folder, block(code), *WAYS[way], "p.pdl"))


def test_commands_and_files(pdl, folder):
    command = 'lang: command\nargs: [sh, -c, "%s"]\n' % PRINTS.replace("\\", "\\\\")
    for name, program, args in (
            ("a command", command, ()), ("its errors", command.replace('007\'', "007' >&2"), ()), ("a file", "read: note\n", ()), ("a variable", "text: ${ x }\n", ("-d", "x=" + ESCAPE)),
            ("a data file", "text: ${ x }\n", ("-f", "data.yaml")), ("a message", "{role: assistant, text: {read: note}, contribute: [context]}\n", ("--stream", "context")),
            ("an error", "defs: {x: {read: note}}\ntext: ${ stdlib.fail(x) }\n", ()),
            ("a retry", "defs: {x: {read: note}}\ntext: ${ stdlib.fail(x) }\nretry: 1\n", ()), ("shown by the library", "defs: {x: {read: note}}\ntext: ${ stdlib.show(x) }\n", ()),
            ("a part of a text", "defs: {x: {read: note}}\ntext: 'a ${ x } b'\n", ("--stream", "none"))):
        harmless(name, shown(pdl, folder, program, *args, "p.pdl"))
    out = shown(pdl, folder, 'text: "\\e[1mbold\\e[0m"\n', "p.pdl")
    check("the program's own text", b"\x1b[1mbold" in out, out)


def test_other_commands(pdl, folder):
    (folder / "in.jsonl").write_text('{"n": 1}\n')
    harmless("batch, errors of code", shown(pdl, folder, block(CODE["to errors"]), "batch", "--input", "in.jsonl", "--output", "out.jsonl", "p.pdl"))
    (folder / "table.jsonl").write_text('{"n": "\\u001b]0;evil\\u0007", "\\u009b31m": 1}\n')
    harmless("batch, a table", shown(pdl, folder, "text: a\n", "batch", "--input", "table.jsonl", "--format", "csv", "p.pdl"))
    out = shown(pdl, folder, "text: a\n", "batch", "--input", "table.jsonl", "p.pdl")
    check("batch, rows", b"\xc2\x9b31m" not in out and b"\\u001b]0;evil" in out, out)
    harmless("repl, errors of code", shown(pdl, folder, "a", "repl", typed=("pdl> ", 'lang: python\ncode: "import os, time; os.write(2, (chr(27) + \']0;evil\' + chr(7)).encode()); time.sleep(0.3); result = 1"\n\n\x04')))


def test_doctor(pdl, folder):
    """It shows values of the environment."""
    t = Terminal([pdl, "doctor"], folder, env={"PDL_PYTHON": ESCAPE, "OPENAI_BASE_URL": "http://" + ESCAPE})
    t.wait_for("never")
    # what follows a semicolon in an address may be a key, and is hidden
    check("doctor", b"\x1b]0;" not in t.bytes and "␛]0;***".encode() in t.bytes, t.bytes)
