#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_pipes.py -- pipes that are fed for ever are refused with one error; a pipe in the place of `.env` is read for a while.

    test_pipes.py BUILD_DIR [NAME ...]

Python standard library only. Last line: `N passed, N failed`.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
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
    block = unit * 4096
    try:
        while True:
            os.write(fd, block)
    except OSError:
        pass
    os.close(fd)


class Tests:
    def __init__(self, build, wanted):
        self.pdl, self.wanted, self.passed, self.failed = str(build / "pdl"), wanted, 0, 0

    def result(self, name, why):
        self.passed, self.failed = self.passed + (not why), self.failed + bool(why)
        if why:
            print("FAIL %s: %s" % (name, why))

    def fed(self, name, program, args, unit, through, status, want):
        with tempfile.TemporaryDirectory(prefix="pdl_pipes_") as d:
            fifo, stdin = os.path.join(d, "fifo"), subprocess.DEVNULL
            os.mkfifo(fifo)
            if program:
                pathlib.Path(d, "main.pdl").write_text(program)
            if through == "stdin":
                stdin, writer = os.pipe()
                start = threading.Thread(target=feed, args=(writer, unit))
            else:
                start = threading.Thread(target=lambda: feed(os.open(fifo, os.O_WRONLY), unit))
            p = subprocess.Popen([self.pdl, *args, *(["main.pdl"] if program else [])], cwd=d, stdin=stdin, stdout=subprocess.PIPE,
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
            ok = p.returncode == status and want in err and len(err) < 1000
            self.result(name, None if ok else "exit status %s: %s" % (p.returncode, err[:500]))

    def beside(self, end):
        """A pipe where SQLite looks for the log of a recording."""
        with tempfile.TemporaryDirectory(prefix="pdl_pipes_") as d:
            pathlib.Path(d, "p.pdl").write_text("text: x\n")
            call = {"cwd": d, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": SECONDS}
            subprocess.run([self.pdl, "--record", "j", "p.pdl"], check=True, **call)
            if os.path.exists(os.path.join(d, "j" + end)):
                os.remove(os.path.join(d, "j" + end))
            os.mkfifo(os.path.join(d, "j" + end))
            try:
                p = subprocess.run([self.pdl, "--replay", "j", "p.pdl"], **call)
                said = (p.returncode, p.stderr)
            except subprocess.TimeoutExpired:
                said = (None, "does not end")
            want = "argument --replay: replay: j cannot be read: j%s is not a regular file\n" % end
            self.result("a pipe j" + end, None if said == (1, want) else str(said))

    def doctor(self, d):
        env = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
        return subprocess.run([self.pdl, "doctor"], cwd=d, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, env=env)

    def dotenv(self, name, write, want):
        """A FIFO `.env`; write is called with its path in a thread."""
        with tempfile.TemporaryDirectory(prefix="pdl_pipes_") as d:
            fifo = os.path.join(d, ".env")
            os.mkfifo(fifo)
            t = threading.Thread(target=write, args=(fifo,))
            t.start()
            said = self.doctor(d)
            t.join()
            all_said = said.stdout + said.stderr
            self.result(name, None if all(w in all_said for w in want) else all_said[:2000])


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


def main():
    t = Tests(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
    for name, *rest in FED:
        if not t.wanted or name in t.wanted:
            t.fed(name, *rest)
    for end in ["-journal", "-wal", "-shm"]:
        if not t.wanted or end in t.wanted:
            t.beside(end)
    for name, write, want in [
        ("keys through a pipe", keys, ["key from OPENAI_API_KEY (.env)"]),
        ("a pipe that nobody writes to", nobody, [".env is a pipe to which nobody wrote for 5 seconds; nothing of it is set"]),
        ("a pipe that stays open", stays, [".env is a pipe without an end after 5 seconds; nothing of it is set"]),
    ]:
        if not t.wanted or name in t.wanted:
            t.dotenv(name, write, want)
    print("%d passed, %d failed" % (t.passed, t.failed))
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
