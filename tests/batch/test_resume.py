# SPDX-License-Identifier: Apache-2.0
"""Batches are killed and continued, and a changed program or input is noticed. Each round kills a batch again and again until it ends. After the end
each row is in the output exactly once. The service counts its requests: it has answered each row once, and at most `jobs` rows once more for each
kill."""
import contextlib
import fcntl
import json
import os
import random
import socket
import sqlite3
import subprocess
import time

import pytest

from ..harness.choice import Choice
from .kit import jsonl, t, words

ROWS, JOBS, MAX_STARTS = 240, 8, 60


def fails(row):
    return row["id"] % 50 == 0


def expected(rows):
    return [{**r, "result": "SAY %s" % r["word"].upper(), "error": None, "place": None} for r in rows]


def wanted(rows, some_fail):
    return [(r["id"], r["word"], None if some_fail and fails(r) else "SAY %s" % r["word"].upper(), some_fail and fails(r)) for r in rows]


def answers(chance, some_fail):
    """Mostly at once, sometimes late. Where some fail, some others are limited before they are answered."""
    limited = set()

    def rule(prompt):
        time.sleep(0.002 if chance.random() < 0.98 else 0.08)
        n = int(prompt.rsplit("w", 1)[1])
        if some_fail and fails({"id": n}):
            return 400, "not this one"
        if some_fail and n % 40 == 7 and n not in limited:
            limited.add(n)
            return 429, "slow down"
        return None
    return rule


def read_jsonl(name):
    return [(r["id"], r["word"], r["result"], r["error"] is not None) for r in t.lines(name)]


def read_csv(name):
    return [(int(r["id"]), r["word"], r["result"] or None, r["error"] != "") for r in t.table(name)]


def read_sqlite(name):
    path, table = name.rsplit(":", 1)
    with contextlib.closing(sqlite3.connect(t.folder / path)) as db:
        rows = db.execute("SELECT id, word, result, error FROM %s ORDER BY rowid" % table).fetchall()
    return [(i, word, json.loads(result) if result else None, error is not None) for i, word, result, error in rows]


# title, output, options, how it is read, some rows fail
FORMS = [("ordered", "out.jsonl", [], read_jsonl, False),
         ("unordered", "out.jsonl", ["--unordered"], read_jsonl, False),
         ("csv", "out.csv", [], read_csv, False),
         ("sqlite", "out.db:t", [], read_sqlite, False),
         ("some fail, --keep", "out.jsonl", ["--keep"], read_jsonl, True),
         ("sqlite, unordered, some fail", "out.db:t", ["--unordered"], read_sqlite, True),
         ("csv, unordered, some fail, --keep", "out.csv", ["--unordered", "--keep"], read_csv, True)]


def killed(p, chance):
    """Kills a batch behind so many more answers, or after some time: before it asks and behind the last answer something is written, too."""
    until = time.monotonic() + chance.uniform(0.005, 0.2)
    answers = sum(t.service.answered.values()) + chance.randint(0, ROWS // 2)
    by_answers = chance.random() < 0.7
    while p.poll() is None and (sum(t.service.answered.values()) < answers if by_answers else time.monotonic() < until):
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(0.002)
    t.kill(p)


def kill_until_it_ends(args, chance):
    """-> kills, exit code, standard error"""
    for kills in range(MAX_STARTS):
        p = t.start("p.pdl", "-i", "in.jsonl", *args, PDL_STRESS="time:0.02")
        if kills < MAX_STARTS - 1:
            killed(p, chance)
        _, err = p.communicate(timeout=300)
        if p.returncode != -9:
            break
    return kills, p.returncode, err


def content(out):
    return (t.folder / out.rsplit(":", 1)[0]).read_bytes()


def rounds(form, chance):
    """One batch, killed again and again. -> number of kills"""
    title, out, options, read, some_fail = form
    title, rows = "kills, " + title, words(ROWS)
    t.begin({"in.jsonl": jsonl(rows)}, answers(chance, some_fail))
    args = ["-o", out, "--jobs", JOBS, *options]
    kills, code, err = kill_until_it_ends(args, chance)
    want, done = wanted(rows, some_fail), 3 if some_fail else 0
    t.check(title + ": ends", code == done, "%s %s" % (code, err))
    got = read(out)
    if "--unordered" in options:
        got = sorted(got)
    t.check(title + ": each row once", got == want, "%d rows, %s" % (len(got), [r for r in got if r not in want][:3]))
    refused = [r["id"] for r in rows if some_fail and fails(r)]
    t.service.settled()  # a late answer to a process that was killed counts here, not in the next round
    again = sum(t.service.answered.values()) - (ROWS - len(refused))
    again += sum(t.service.asked["Say w%d" % n] - 1 for n in refused)
    t.check(title + ": finished rows are asked once", 0 <= again <= kills * JOBS and max(t.service.answered.values()) <= 1 + kills,
            "%d kills, %d asked again" % (kills, again))
    before, asked = content(out), sum(t.service.asked.values())
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", *args)
    t.check(title + ": finished, the same command changes nothing",
            code == done and content(out) == before and sum(t.service.asked.values()) == asked, err)
    return kills


@pytest.mark.parametrize("form", FORMS, ids=[x[0] for x in FORMS])
def test_kills(form, scale):
    """Rounds until there are enough kills."""
    kills, wanted, chance = 0, scale(20), random.Random(Choice.seed + form[0])
    for _ in range(2 * wanted + 2):
        kills += rounds(form, chance)
        if kills >= wanted:
            break
    t.check("enough kills", kills >= wanted, kills)


def test_changes():
    rows = words(20)
    t.begin({"in.jsonl": jsonl(rows)})
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--limit", 10)
    args = ("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    cases = [
        ("mapping", args + ("--map", "id=other"), "--map is another"),
        ("variables", args + ("-d", "x=1"), "the variables of --data is another"),
        ("order", args + ("--unordered",), "how the output is written"),
    ]
    for title, argv, text in cases:
        code, _, err = t.run(*argv)
        t.check("changed %s is refused" % title, code == 2 and "--overwrite" in err, err)
    changed = [dict(r) for r in rows]
    changed[6]["word"] = "other"
    (t.folder / "in.jsonl").write_text(jsonl(changed))
    before = (t.folder / "out.jsonl").read_bytes()
    code, _, err = t.run(*args)
    t.check("changed input: the first row that differs", code == 2 and "in.jsonl:7: row 7" in err, err)
    t.check("changed input: nothing was asked or written", sum(t.service.asked.values()) == 10
            and (t.folder / "out.jsonl").read_bytes() == before, err)
    code, _, err = t.run(*args, "--changed", "reuse")
    t.check("--changed reuse: what differs is asked", code == 0 and t.lines("out.jsonl") == expected(changed)
            and t.service.asked["Say other"] == 1 and t.service.asked["Say w1"] == 1, "%s %s" % (code, err))
    (t.folder / "in.jsonl").write_text(jsonl(changed + words(25)[20:]))
    code, _, err = t.run(*args)
    t.check("an input that has grown is another", code == 2 and "row 21" in err, err)
    (t.folder / "in.jsonl").write_text(jsonl(changed[:15]))
    code, _, err = t.run(*args)
    t.check("an input that has shrunk is another", code == 2 and "row 16" in err, err)
    (t.folder / "in.jsonl").write_text(jsonl(changed))
    (t.folder / "p.pdl").write_text((t.folder / "p.pdl").read_text() + "\n")
    code, _, err = t.run(*args)
    t.check("a changed program is refused", code == 2 and "the program is another" in err, err)
    code, _, err = t.run(*args, "--changed", "reuse")
    t.check("a changed program: --changed reuse", code == 0, err)


def test_damage():
    t.begin({"in.jsonl": jsonl(words(20))})
    args = ("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    t.run(*args)
    path = t.folder / "out.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    code, _, err = t.run(*args)
    t.check("a cut output is repaired", code == 0 and path.read_bytes() == whole and sum(t.service.asked.values()) == 20, err)
    path.unlink()
    code, _, err = t.run(*args)
    t.check("a removed output comes back", code == 0 and path.read_bytes() == whole and sum(t.service.asked.values()) == 20, err)
    journal = t.folder / "out.jsonl.journal"
    for word in ("resume", "trace"):
        code, _, err = t.run(journal, word=word)
        t.check("pdl %s of a batch says what it is" % word, code == 1 and "is the journal of a batch" in err, "%s %s" % (code, err))
    for title, data in (("damaged", b"SQLite format 3\0" + b"x" * 5000), ("foreign", b"hello\n")):
        journal.write_bytes(data)
        code, _, err = t.run(*args)
        t.check("a %s journal is refused" % title, code in (1, 2) and "journal" in err and journal.read_bytes() == data
                and path.read_bytes() == whole, "%s %s" % (code, err))
    journal.write_bytes(b"")
    path.unlink()
    code, _, err = t.run(*args)
    t.check("a journal without a beginning is none", code == 0 and path.read_bytes() == whole, err)


def test_parts():
    """A file that the program imports belongs to it, and one that this file includes."""
    for name in ("lib.pdl", "deep.pdl"):
        t.begin({"in.jsonl": jsonl(words(4)), "p.pdl": "defs:\n  m: {import: ./lib}\nlastOf:\n- ${ m.say } ${ word }\n- model: openai/upper\n",
                 "lib.pdl": "defs:\n  say: {include: ./deep.pdl}\n", "deep.pdl": "Say\n"})
        args = ("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
        code, _, err = t.run(*args, "--limit", 2)
        t.check("parts: begun", code == 0 and len(t.lines("out.jsonl")) == 2, err)
        with open(t.folder / name, "a") as f:
            f.write("# changed\n")
        code, _, err = t.run(*args)
        t.check("parts: %s was changed" % name, code == 2 and "a file that the program includes or imports is another" in err and "--changed reuse" in err, err)
        code, _, err = t.run(*args, "--changed", "reuse")
        t.check("parts: what is finished is kept", code == 0 and len(t.lines("out.jsonl")) == 4 and set(t.service.asked.values()) == {1}, err)


def test_stream():
    """A stream is compared as it comes: rows that differ, are new, or are not there any more."""
    whole = jsonl(words(6))
    t.begin()
    args = ("p.pdl", "-i", "-", "-o", "out.jsonl")
    code, _, err = t.run(*args, text=whole)
    t.check("stream: whole", code == 0 and t.lines("out.jsonl") == expected(words(6)), err)
    lines = whole.splitlines(True)
    for title, text, why in (("another row", lines[0] + lines[2], "-:2: row 2 is another than when it was asked"),
                             ("a row more", whole + jsonl(words(7)).splitlines(True)[6], "-:7: row 7 is new"),
                             ("rows less", "".join(lines[:4]), "row 5 was asked, and is not in the input any more"), ("nothing", "", "row 1 was asked")):
        code, _, err = t.run(*args, text=text)
        t.check("stream: %s" % title, code == 2 and why in err and "--overwrite" in err and t.lines("out.jsonl") == expected(words(6))
                and sum(t.service.asked.values()) == 6, "%s %s" % (code, err))
    code, _, err = t.run(*args, "--limit", 2, text="".join(lines[:2]))
    t.check("stream: --limit reads no further", code == 0, err)
    code, _, err = t.run(*args, "--changed", "reuse", text=jsonl(words(7)))
    t.check("stream: rows more with --changed reuse", code == 0 and t.lines("out.jsonl") == expected(words(7)) and sum(t.service.asked.values()) == 7, err)


def test_one_instant():
    """Of processes that begin at once one works; the lock is taken before anybody looks at the journal."""
    args = ("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", 2)
    t.begin({"in.jsonl": jsonl(words(4))})
    journal = t.folder / "out.jsonl.journal"
    for size in (0, 100):  # one that begins, and one that is damaged
        journal.write_bytes(b"x" * size)
        with open(journal, "rb") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            for more in ((), ("--overwrite",)):
                code, _, err = t.run(*args, *more)
                t.check("somebody has it: %d bytes %s" % (size, more), code == 2 and "is in use by process %d" % os.getpid() in err
                        and journal.stat().st_size == size and not t.service.asked, (code, err))
        journal.unlink()
    t.begin({"in.jsonl": jsonl(words(8))}, lambda prompt: time.sleep(0.05))
    both = [t.start(*args) for _ in range(3)]
    ends = sorted((p.communicate(timeout=60)[1].decode(), p.returncode) for p in both)
    t.check("three at once: one works, the others name it", sorted(code for _, code in ends) == [0, 2, 2] and
            all("is in use by process" in err for err, code in ends if code), ends)
    t.check("and each row is asked once", set(t.service.answered.values()) == {1} and t.lines("out.jsonl") == expected(words(8)), t.service.answered)


def test_owner():
    t.begin({"in.jsonl": jsonl(words(50))}, lambda prompt: time.sleep(0.2))
    args = ("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", 2)
    p = t.start(*args)
    deadline = time.monotonic() + 60
    while not t.service.answered and time.monotonic() < deadline:
        time.sleep(0.02)
    code, _, err = t.run(*args)
    t.check("one process at a time", code == 2 and "is in use by process %d" % p.pid in err, err)
    code, _, err = t.run(*args, "--overwrite")
    t.check("nor does another begin it anew", code == 2 and "is in use by process %d" % p.pid in err and (t.folder / "out.jsonl.journal").exists(), err)
    t.check("and says since when", "of %s, since" % socket.gethostname() in err, err)
    p.terminate()
    _, err = p.communicate(timeout=60)
    t.check("SIGTERM: 143, and it says how to continue", p.returncode == 143 and b"the same command continues" in err, err)
    asked = dict(t.service.answered)
    t.service.rule = None
    code, _, err = t.run(*args)
    t.check("it continues", code == 0 and t.lines("out.jsonl") == expected(words(50)), err)
    t.check("what was finished is not asked again", sum(t.service.answered.values()) <= 50 + 2, asked)


def test_an_interrupt_is_no_end():
    """A batch is interrupted at each of its checks (PDL_STRESS). Rows that are left then are not done: the exit code says so, and the same command continues."""
    args, most = ("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", 2), 200
    program = "lastOf:\n- {lang: python, def: said, code: 'result = word'}\n- Say ${ said }\n- model: openai/upper\n"
    for n in range(1, most):
        t.begin({"in.jsonl": jsonl(words(3)), "p.pdl": program})
        code, _, err = t.run(*args, PDL_STRESS="cancel:%d" % n)
        end = code == 0
        t.check("check %d: 130 or all rows" % n, end or code == 130 and "continues" in err, (code, err))
        if not end:
            code, _, err = t.run(*args)
        t.check("check %d: all rows are there" % n, code == 0 and t.lines("out.jsonl") == expected(words(3)), (code, err))
        if end:
            break
    t.check("each check was tried", 3 < n < most - 1, n)
