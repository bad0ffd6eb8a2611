# SPDX-License-Identifier: Apache-2.0
"""test_disk.py -- a full disk: the promises about traces, journals, caches, files and output hold on a file system of 256 KB.

The file system is a tmpfs in a mount namespace of the item, which needs root. Without root every case counts as skipped.
"""
import ctypes
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile

from .. import http_of
from ..checks import check, skip

CLONE_NEWNS = 0x20000
KB = 1024
SIZE = 256 * KB
SECONDS = 30
LONG = "text:\n- for: {i: \"${ range(3000) }\"}\n  repeat: \"some words of output ${ i }\\n\"\n"
FILE = ("defs: {f: {aggregator: {file: disk/out.txt, flush: true}}}\ntext:\n- before\n- text: \"${ 'some words ' * 100000 }\"\n"
        "  contribute: [f]\n- behind\n")
PIECES = ("defs: {f: {aggregator: {file: disk/out.txt, flush: true}}}\ntext:\n- for: {i: \"${ range(100000) }\"}\n"
          "  repeat: {text: \"some words ${ i }\", contribute: [f]}\n")
ASKS = "text:\n- for: {i: \"${ range(20) }\"}\n  repeat: {model: openai/x, input: \"call ${ i }\", parameters: {api_base: \"URL\", api_key: k}}\n"
NO_SPACE = ("No space left", "full", "disk I/O")

# title, program, arguments, exit status, where the output goes, a text of standard error
CASES = [
    ("trace", LONG, ["-t", "disk/trace.json"], 0, None, "Failure generating the trace"),
    ("trace on a disk without a byte", "text: hello\n", ["-t", "disk/trace.json"], 0, None, "Failure generating the trace"),
    ("journal", ASKS, ["--record", "disk/journal.db"], 1, None, "cannot write disk/journal.db"),
    ("journal on a disk without a byte", "text: hello\n", ["--record", "disk/journal.db"], 1, None, "disk/journal.db"),
    ("cache", ASKS, ["--cache", "disk/cache.db"], (0, 1), None, "cache"),
    ("a file of the program", FILE, [], 1, None, "main.pdl:5"),
    ("a file of the program in pieces", PIECES, [], 1, None, "main.pdl:"),
    ("standard output", LONG.replace("3000", "30000"), [], 1, "disk/output", "No space left on device"),
    ("standard output and trace", LONG.replace("3000", "30000"), ["-t", "disk/trace.json"], 1, "disk/output", "No space left on device"),
    ("log of requests", ASKS, ["--wire", "disk/wire.log"], 0, None, "disk/wire.log"),
]


class Model(http_of.Quiet):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.body()
        message = {"role": "assistant", "content": os.urandom(12000).hex()}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        self.reply(body)


def broken_file(disk):
    """What is not whole, or None."""
    for p in disk.iterdir():
        if p.name.startswith("trace"):
            try:
                json.loads(p.read_text("utf-8"))
            except ValueError as e:
                return "%s: %s" % (p.name, e)
        elif p.suffix == ".db":
            try:
                db = sqlite3.connect(str(p))
                found = db.execute("pragma integrity_check").fetchall()
                db.close()
            except sqlite3.Error as e:
                found = e
            if p.stat().st_size and found != [("ok",)]:
                return "%s: %s" % (p.name, found)
        elif p.name not in ("filler", "output", "out.txt", "wire.log") and not p.name.endswith(("-journal", "-wal", "-shm")):
            return "%s is left" % p.name
    return None


def fill(disk):
    fd = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(fd, bytes(KB)):
            pass
    except OSError:
        pass
    finally:
        os.close(fd)


def case(pdl, url, title, program, args, status, output, says):
    """-> what is wrong, or None"""
    with tempfile.TemporaryDirectory() as d:
        work = pathlib.Path(d)
        disk = work / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % SIZE, "tmpfs", str(disk)], check=True)
        try:
            (work / "main.pdl").write_text(program.replace("URL", url))
            if "without a byte" in title:
                fill(disk)
            out = open(work / output, "wb") if output else subprocess.PIPE
            p = subprocess.run([pdl, *args, "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=SECONDS,
                               check=False)
            said = p.stderr.decode("utf-8", "replace")
            if p.returncode not in (status if isinstance(status, tuple) else (status,)):
                return "exit status %d: %s" % (p.returncode, said[:600])
            if says not in said or len([line for line in said.splitlines() if any(w in line for w in NO_SPACE)]) != title.count(" and ") + 1:
                return "it says %r" % said[:900]
            return broken_file(disk)
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def may_mount():
    """Gives this process its own mount namespace. -> whether it may have one, with its own file system in it."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        return False
    d = tempfile.mkdtemp()
    private = subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True, check=False).returncode == 0
    return private and subprocess.run(["mount", "-t", "tmpfs", "tmpfs", d], capture_output=True, check=False).returncode == 0


def test_full_disks(pdl):
    if not may_mount():
        skip("full disks", "no file system can be mounted here", len(CASES))
        return
    server = http_of.serve(Model)
    for row in CASES:
        try:
            why = case(pdl, "http://127.0.0.1:%d/v1" % server.server_port, *row)
        except subprocess.TimeoutExpired:
            why = "did not end in %d s" % SECONDS
        check(row[0], why is None, why)
