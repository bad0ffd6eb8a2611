# SPDX-License-Identifier: Apache-2.0
"""test_damage.py -- journals of durable runs that are cut, damaged, crafted, of a newer version, of another user, or on a full or read-only disk.

Every command gives an answer, or one message and exit code 1 or 2. A journal that is refused does not change.
"""
import os
import random
import shutil
import sqlite3
import subprocess
import time

import pytest

from ..checks import check, skip
from ..harness.choice import Choice
from ..robust.kit import groups
from .kit import STOP, Folder, Service

PROGRAM = """
defs: {o: {aggregator: {file: out.txt}}}
text:
- {model: openai/m, input: one, def: first}
- {text: "noted ${ first[:0] }", contribute: [result, o]}
- {lang: python, code: "PDL_SESSION.x = 1\\nresult = 2", idempotent: true}
- {model: openai/m, input: two}
- {read: null, message: "Who? "}
"""
COMMANDS = (["resume", "J", "--again", "all", "--again", "out.txt", "--rebuild"], ["resume", "J", "--dry-run"], ["trace", "J"], ["trace", "J", "--format", "html"],
            ["trace", "J", "--format", "perfetto"], ["answer", "J", "x"], ["runs", "show", "J"], ["runs", "export", "J", "copied"],
            ["runs", "export", "J", "copied", "--redact"], ["view", "J", "--html", "page"], ["--replay", "J", "main.pdl"])
CRAFTED = [
    ("a ring of messages", "update messages set up = 1"), ("a deep list of messages", "update messages set up = id - 1"),
    ("replies that are no JSON", "update effects set reply = '{'"), ("replies of another form", "update effects set reply = '[]'"),
    ("negative numbers", "update effects set seq = -1, attempt = -9223372036854775808, tokens = -5, start = -1e308"),
    ("unknown kinds", "update effects set kind = 'nothing'"), ("unknown states", "update effects set state = 77"),
    ("huge clocks", "update effects set end_clock = 1e308, begin_clock = 1e308, end = 1e308"),
    ("blobs", "update effects set reply = randomblob(1000), place = randomblob(100)"),
    ("a program that is no YAML", "update run set value = '[' where key = 'text'"),
    ("options that are no JSON", "update run set value = '{{' where key = 'options'"),
    ("inputs that are a list", "update run set value = '[]' where key = 'inputs'"),
    ("a key that nobody has", "update effects set reply = replace(reply, 'ONE', '\\u0001k:NOBODY_HAS_KEY\\u0001')"),
    ("a reference without an end", "update effects set reply = '\"\\u0001k:\"'"),
    ("a folder that is not there", "update run set value = '/nowhere/at/all' where key = 'folder'"),
    ("an owner of nonsense", "update run set value = 'x' where key = 'owner'"),
    ("an owner of another age", "update run set value = '1 -1e308 b h' where key = 'owner'"),
    ("numbers beyond any clock", "update run set value = '1e308' where key in ('started', 'ended', 'printed', 'seconds')"),
    ("pieces beyond the text", "update effects set pieces = '[1000000000, -5]'"),
    ("a file beyond the end", "update files set size = 9000000000000000000"),
    ("a file of another folder", "update files set path = '../../etc/nothing'"),
    ("no rows", "delete from effects"),
    ("no facts", "delete from run"),
]


class Damage:
    def __init__(self, pdl, part):
        self.part, self.f = part, Folder(pdl, Service(0.001), PROGRAM)
        code, _, err = self.f.run("--durable", "--park", "--id", "whole", "main.pdl")
        check("a run that waits", code == 75, err)
        self.whole = (self.f.path / "runs" / "whole.journal").read_bytes()

    def put(self, data, wal=None):
        for name in ("j.journal", "j.journal-wal", "j.journal-shm", "copied", "page", "out.txt"):
            (self.f.path / name).unlink(missing_ok=True)
        (self.f.path / "j.journal").write_bytes(data)
        os.chmod(self.f.path / "j.journal", 0o600)
        (self.f.path / "out.txt").write_text("noted ")
        if wal is not None:
            (self.f.path / "j.journal-wal").write_bytes(wal)

    def run(self, command):
        return self.f.run(*["./j.journal" if x == "J" else x for x in command], timeout=120)

    def all(self, title, data, refused=False, wal=None, every=1):
        """refused: by every command, and the file stays; a text: that is in each message. every: `test` takes so many of the commands."""
        names = {"%s: pdl %s" % (title, " ".join(command)): command for command in COMMANDS}
        for name in self.part(names, every) if every > 1 else names:
            self.put(data, wal)
            code, out, err = self.run(names[name])
            if not refused:
                check(name, code in (0, 1, 2, 75), (code, out[-300:], err[-1000:]))
                continue
            check(name, code in (1, 2) and err.strip() and (refused is True or refused in err), (code, out[-300:], err[-1000:]))
            check(name + ": the file is as it was", (self.f.path / "j.journal").read_bytes() == data)
            check(name + ": no copy is left", not (self.f.path / "copied").exists())

    def changed(self, *statements):
        self.put(self.whole)
        db = sqlite3.connect(self.f.path / "j.journal")
        for s in statements:
            db.execute(s)
        db.commit()
        db.close()
        return (self.f.path / "j.journal").read_bytes()


@pytest.fixture
def t(pdl, part):
    return Damage(pdl, part)


def test_forms(t):
    t.all("empty", b"", refused=True, every=2)
    t.all("no journal", b"some text\n" * 1000, refused=True, every=2)
    t.all("cut", t.whole[:len(t.whole) // 2], refused=True, every=2)
    newer = bytearray(t.whole)
    newer[60:64] = b"\0\0\0\3"
    t.all("newer", bytes(newer), refused="another version", every=2)
    t.all("another table", t.changed("create table more(x)"), refused="other tables", every=2)
    t.all("a trigger", t.changed("create trigger t after insert on effects begin delete from effects; end"), refused="other tables", every=2)
    t.all("a view in place of a table", t.changed("drop table decisions", "create view decisions as select 1"), refused="other tables", every=2)
    t.all("a page of noise", t.whole[:8192] + os.urandom(4096) + t.whole[12288:])


@pytest.mark.parametrize("rows", groups(CRAFTED, 6))
def test_crafted(t, rows):
    for title, statement in rows:
        t.all(title, t.changed(statement), every=3)


def test_noise(t, scale):
    for n in range(scale(15, 4)):
        rng, data = random.Random("%s %d" % (Choice.seed, n)), bytearray(t.whole)
        for _ in range(rng.choice((1, 3, 20))):
            data[rng.randrange(100, len(data))] = rng.randrange(256)
        for command in (COMMANDS[0], COMMANDS[2], COMMANDS[6]):
            t.put(bytes(data))
            code, out, err = t.run(command)
            check("noise %d: pdl %s" % (n, " ".join(command)), code in (0, 1, 2, 75), (code, out[-300:], err[-1500:]))
    t.all("a log of noise", t.whole, wal=os.urandom(5000))


def test_folder(t):
    """A folder of runs that cannot be looked into: that is said, not that there is no such run."""
    env = {**t.f.env, "PDL_RUNS": str(t.f.path / "main.pdl")}
    for command in (["resume", "r"], ["runs", "show", "r"], ["answer", "r", "x"], ["runs", "rm", "r"], ["trace", "r"], ["runs"]):
        p = subprocess.run([t.f.pdl, *command], env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                           check=False)
        check("a folder of runs that is none: %s" % command, p.returncode == 2 and "a file has this name" in p.stderr and "PDL_RUNS" in p.stderr, p.stderr)


def flip(text, word):
    """A bit of the word is another."""
    at = text.index(word.encode())
    return text[:at] + bytes([text[at] ^ 1]) + text[at + 1:]


def test_flipped_bits(t):
    """A bit that is another in a kept answer is seen, and the file stays as it is."""
    for word in ("ONE", "TWO"):
        data = flip(t.whole, word + ' "')
        t.put(data)
        before = (t.f.path / "j.journal").read_bytes()
        for command in (["resume", "./j.journal", "--again", "all", "--again", "out.txt"], ["trace", "./j.journal"], ["resume", "./j.journal", "--dry-run"]):
            code, out, err = t.f.run(*command)
            shown = command[0] == "trace"  # as far as it goes, with the error in it
            check("an answer with another bit: %s %s" % (word, command), code == (0 if shown else 1) and "is not what was written" in (out if shown else err), (code, out, err))
        check("the file is as it was", all(a == b for a, b in zip(rows_of(before, t.f.path), rows_of((t.f.path / "j.journal").read_bytes(), t.f.path))))


def rows_of(data, folder):
    (folder / "look.db").write_bytes(data)
    db = sqlite3.connect(folder / "look.db")
    rows = db.execute("select * from effects").fetchall() + db.execute("select value from run where key = 'state'").fetchall()
    db.close()
    return rows


def test_disks(t):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        skip("disks that are full or read-only", "they need root")
        return
    script = ("set -e\nmkdir -p disk\nmount -t tmpfs -o size=%s tmpfs disk\ncp j.journal disk/r.journal\n%s\nset +e\n"
              "PDL_RUNS=disk %s resume ./disk/r.journal --again all --again out.txt < /dev/null; echo \"exit $?\"\ncmp j.journal disk/r.journal && echo same\n")
    for title, size, before in (("read-only", "4m", "mount -o remount,ro disk"),
                                ("full", "%dk" % (len(t.whole) // 1024 + 8), "dd if=/dev/zero of=disk/fill bs=1k 2>/dev/null || true")):
        t.put(t.whole)
        p = subprocess.run(["unshare", "-m", "sh", "-c", script % (size, before, t.f.pdl)], cwd=t.f.path, env=t.f.env, capture_output=True,
                           text=True, timeout=120, check=False)
        if "exit" not in p.stdout:
            skip("a %s disk" % title, "no mounts here: %s" % p.stderr[:200])
            continue
        check("a %s disk: one message" % title, "exit 1" in p.stdout and len(p.stderr.strip().splitlines()) == 1, (p.stdout, p.stderr))
        check("a %s disk: the file is as it was" % title, "same" in p.stdout, (p.stdout, p.stderr))
    t.put(t.whole)
    q = subprocess.run(["unshare", "-m", "sh", "-c", "mkdir -p disk; mount -t tmpfs -o size=64k tmpfs disk; PDL_RUNS=disk %s --durable --id n main.pdl; "
                        "echo \"exit $?\"; ls disk" % t.f.pdl], cwd=t.f.path, env=t.f.env, capture_output=True, text=True, timeout=120, check=False)
    if "exit" in q.stdout:
        check("a run on a disk that is too small: one message", "exit 1" in q.stdout and len(q.stderr.strip().splitlines()) == 1, (q.stdout, q.stderr))


def test_files_beside_a_journal_that_is_gone(pdl):
    """Somebody removed the journal alone: what is left is listed, removed by its id, and pruned."""
    f = Folder(pdl, Service(), "text: hi\n")
    code, out, err = f.run("--durable", "--id", "one", "main.pdl")
    runs = f.path / "runs"
    for name in ("two.journal-wal", "two.journal-shm", "three.journal-journal", "four.journal-shm", "five-wal"):
        (runs / name).write_bytes(b"")
        os.utime(runs / name, (1e9, 1e9))
    code, out, err = f.run("runs", "list")
    check("each once", code == 0 and [x.split()[0] for x in sorted(out.splitlines()[1:])] == ["four", "one", "three", "two"], code, out, err)
    code, out, err = f.run("runs", "rm", "two")
    check("removed by its id", code == 0 and not list(runs.glob("two*")), code, err, list(runs.iterdir()))
    for command in (["runs", "show", "three"], ["trace", "three"], ["resume", "three"]):
        code, out, err = f.run(*command)
        check("one message: %s" % command, code in (1, 2) and err.count("pdl: error: ") == 1 and not out, code, out, err)
    code, out, err = f.run("runs", "prune", "--older-than", "1d")
    check("pruned", code == 0 and "2 runs removed" in out and {x.name for x in runs.iterdir()} == {"one.journal", "runs.db", "five-wal"}, out, err, list(runs.iterdir()))
    code, out, err = f.run("runs", "rm", "two")
    check("gone", code == 2 and "there is no run two" in err, code, err)


@pytest.mark.parametrize("how", ["removed", "replaced by another file"])
def test_journal_is_removed(pdl, folder, how):
    """What was written into a file without a name is lost: the end says so, also of a run that waits."""
    journal = folder / "runs" / "r.journal"
    for name, last, told in (("ends", "done", 1), ("waits", "{read: null, message: go}", 1), ("fails", "${ 1 // 0 }", 1)):
        shutil.rmtree(folder / "runs", ignore_errors=True)
        (folder / "here").unlink(missing_ok=True)
        (folder / "go").unlink(missing_ok=True)
        (folder / "a.pdl").write_text("text:\n- %s\n- %s\n" % (STOP, last))
        p = subprocess.Popen([pdl, "--durable", "--park", "--id", "r", "a.pdl"], cwd=folder, env={**os.environ, "PDL_RUNS": str(folder / "runs")}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not (folder / "here").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        for file in (folder / "runs").iterdir():
            file.unlink()
        if how != "removed":
            journal.write_text("other")
        (folder / "go").write_text("")
        out, err = p.communicate(timeout=60)
        said = "the journal, was %s while the run worked" % how
        check("%s: it is told once" % name, err.count(said) == told and p.returncode == 1 and "went" in out, (p.returncode, out, err))
