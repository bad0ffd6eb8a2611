# SPDX-License-Identifier: Apache-2.0
"""test_pipes.py -- pipes that never end are refused with one error; a pipe in the place of `.env` is read for a limited time."""
import fcntl
import os
import subprocess
import threading

import pytest

from ..checks import check
from ..harness.choice import sample

SECONDS = 120
MOST = 268435456
LINE, ONE = b"12345678 123456\n", b"x" * 16
GIVES_MORE = "%%s is a pipe that gives more than %d bytes: expected a file" % MOST
TOO_LONG = "the input is longer than %d bytes%%s" % MOST

# name, program, arguments, what is fed, through: "fifo", or "stdin"; exit status, error
FED = [
    ("data file", "text: x\n", ["--data-file", "fifo"], LINE, "fifo", 1, GIVES_MORE % "fifo"),
    ("include", "include: fifo\n", [], LINE, "fifo", 1, GIVES_MORE % "fifo"),
    ("read", "read: fifo\n", [], LINE, "fifo", 1, GIVES_MORE % "fifo"),
    ("program", None, ["-"], LINE, "stdin", 1, GIVES_MORE % "standard input"),
    ("check", None, ["check", "-"], LINE, "stdin", 1, GIVES_MORE % "standard input"),
    ("a line", "read:\n", [], ONE, "stdin", 1, TOO_LONG % " without the end of a line"),
    ("all lines", "read:\nmultiline: true\n", [], LINE, "stdin", 1, TOO_LONG % ""),
]


def feed(fd, unit):
    block = unit * 65536
    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, len(block))
    try:
        while True:
            os.write(fd, block)
    except OSError:
        pass
    os.close(fd)


@pytest.mark.parametrize("name, program, args, unit, through, status, want", sample(FED, 2))
def test_a_pipe_without_an_end(pdl, folder, name, program, args, unit, through, status, want):
    stdin, fifo = subprocess.DEVNULL, folder / "fifo"
    os.mkfifo(fifo)
    if program:
        (folder / "main.pdl").write_text(program)
    if through == "stdin":
        stdin, writer = os.pipe()
        start = threading.Thread(target=feed, args=(writer, unit))
    else:
        start = threading.Thread(target=lambda: feed(os.open(fifo, os.O_WRONLY), unit))
    p = subprocess.Popen([pdl, *args, *(["main.pdl"] if program else [])], cwd=folder, stdin=stdin, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if through == "stdin":
        os.close(stdin)
    start.start()
    try:
        err = p.communicate(timeout=SECONDS)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        err = "does not end: " + p.communicate()[1]
    start.join()
    check(name, p.returncode == status and want in err and len(err) < 1000, "exit status %s: %s" % (p.returncode, err[:500]))


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_pipe_beside_a_recording(pdl, folder, end):
    """A pipe where SQLite looks for the log of a recording."""
    (folder / "p.pdl").write_text("text: x\n")
    call = {"cwd": folder, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": SECONDS}
    subprocess.run([pdl, "--record", "j", "p.pdl"], check=True, **call)
    (folder / ("j" + end)).unlink(missing_ok=True)
    os.mkfifo(folder / ("j" + end))
    try:
        p = subprocess.run([pdl, "--replay", "j", "p.pdl"], check=False, **call)
        said = (p.returncode, p.stderr)
    except subprocess.TimeoutExpired:
        said = (None, "does not end")
    want = "pdl: error: argument --replay: replay: j cannot be read: j%s is not a regular file\n" % end
    check("a pipe j" + end, said == (1, want), said)


# --- a pipe in the place of .env --------------------------------------------------------------------------------------


def keys(path):
    """As a keeper of passwords does: in two pieces, when somebody opens the file."""
    with open(path, "w") as f:
        f.write("OPENAI_API_")
        f.flush()
        f.write("KEY=sk-pipe-1234567890\n")


def nobody(path):
    pass


def stays(path):
    """Writes and does not close until the reader is gone."""
    fd = os.open(path, os.O_WRONLY)
    try:
        while True:
            os.write(fd, b"# nothing\n")
            threading.Event().wait(0.1)
    except OSError:
        os.close(fd)


@pytest.mark.parametrize("name, write, want", [
    ("keys through a pipe", keys, "key from OPENAI_API_KEY (.env)"),
    ("a pipe that nobody writes to", nobody, ".env is a pipe to which nothing was written for 5 seconds; nothing of it is set"),
    ("a pipe that stays open", stays, ".env is a pipe without an end after 5 seconds; nothing of it is set"),
])
def test_dotenv(pdl, folder, name, write, want):
    """write is called with the path of the pipe, in a thread."""
    os.mkfifo(folder / ".env")
    t = threading.Thread(target=write, args=(folder / ".env",))
    t.start()
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
    p = subprocess.run([pdl, "doctor"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, env=env, check=False)
    t.join()
    check(name, want in p.stdout + p.stderr, (p.stdout + p.stderr)[:2000])


READ_BY_NONE = ["h.pdl", "-t - h.pdl", "batch h.pdl -i rows.jsonl", "batch h.pdl -i rows.jsonl -o -", "batch h.pdl -i rows.jsonl --format csv",
                "batch h.pdl -i rows.jsonl -o /dev/null --format jsonl --report -", "batch h.pdl -i rows.jsonl -o /dev/null --format jsonl --json",
                "eval h.pdl -i rows.jsonl --expect e", "eval h.pdl -i rows.jsonl --expect e --json", "eval h.pdl -i rows.jsonl --expect e --junit -",
                "eval h.pdl -i rows.jsonl --expect e -o -", "test h.pdl", "test --json h.pdl", "test --junit - h.pdl", "infer h.pdl -n 2", "view t.json --md -",
                "view t.json --html -", "view t.json --text -", "runs --json", "explain h.pdl", "schema", "help retry", "docs model", "policy show careful",
                "check --json w.pdl", "--version", "--help"]


@pytest.mark.parametrize("command", READ_BY_NONE)
def test_no_reader(pdl, folder, command):
    """The reader of standard output has gone before anything is written: every command says nothing of it and ends with 141."""
    for name, text in {"h.pdl": "text: hi\n", "w.pdl": "text: ${ nope }\n", "rows.jsonl": '{"e": "hi"}\n', "h.test.yaml": "tests: [{name: t, expect: {output: hi}}]\n"}.items():
        (folder / name).write_text(text)
    call = {"cwd": folder, "stdin": subprocess.DEVNULL, "env": {**os.environ, "PDL_RUNS": str(folder / "runs")}, "timeout": SECONDS, "text": True, "check": False}
    subprocess.run([pdl, "-t", "t.json", "h.pdl"], capture_output=True, **call)
    reader, writer = os.pipe()
    os.close(reader)
    p = subprocess.run([pdl, *command.split()], stdout=writer, stderr=subprocess.PIPE, **call)
    os.close(writer)
    check(command, p.returncode == 141 and "Broken pipe: 'standard output'" not in p.stderr and "error" not in p.stderr, "exit status %s: %s" % (p.returncode, p.stderr))
