#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_resume.py BUILD_DIR [--kills N] [--seed N] -- batches are killed and continued; changed programs and inputs are noticed.

Each round kills a batch at random instants until it ends. After the end each row is in the output exactly once, and the service, which
counts, has answered each row once, and at most `jobs` rows once more for each kill. --kills N: rounds continue until so many kills.
"""
import argparse
import json
import random
import sys
import time

sys.dont_write_bytecode = True
from kit import Tests, jsonl, words  # noqa: E402

a = argparse.ArgumentParser()
a.add_argument("build")
a.add_argument("--kills", type=int, default=12)
a.add_argument("--seed", type=int, default=1)
o = a.parse_args()
t = Tests(o.build)
ROWS, JOBS, MOST_STARTS = 400, 8, 60


def expected(rows):
    return [{**r, "result": "SAY %s" % r["word"].upper(), "error": None, "place": None} for r in rows]


def rounds(title, args, out, chance, read):
    """One batch, killed again and again. -> number of kills"""
    rows = words(ROWS)
    t.begin({"in.jsonl": jsonl(rows)}, lambda prompt: time.sleep(0.002 if chance.random() < 0.98 else 0.08))
    kills, code, err = 0, None, b""
    for start in range(MOST_STARTS):
        p = t.start("p.pdl", "-i", "in.jsonl", "-o", out, "--jobs", JOBS, *args)
        if start < MOST_STARTS - 1:
            try:
                p.wait(chance.uniform(0.01, 0.25))
            except Exception:
                t.kill(p)
        _, err = p.communicate(timeout=300)
        code = p.returncode
        if code != -9:
            break
        kills += 1
    t.check(title + ": ends", code == 0, "%s %s" % (code, err))
    got = read(out)
    want = expected(rows)
    if "--unordered" in args:
        got = sorted(got, key=lambda r: int(r["id"]))
    t.check(title + ": each row once", got == want, "%d rows, %s" % (len(got), [r for r in got if r not in want][:3]))
    again = sum(t.service.answered.values()) - ROWS
    t.check(title + ": finished rows are asked once", 0 <= again <= kills * JOBS and max(t.service.answered.values()) <= 1 + kills,
            "%d kills, %d asked again" % (kills, again))
    before, asked = (t.folder / out).read_bytes(), sum(t.service.asked.values())
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", out, "--jobs", JOBS, *args)
    t.check(title + ": finished, the same command changes nothing",
            code == 0 and (t.folder / out).read_bytes() == before and sum(t.service.asked.values()) == asked, err)
    return kills


def read_csv(name):
    return [{"id": int(r["id"]), "word": r["word"], "result": json.loads(r["result"]), "error": None, "place": None} for r in t.table(name)]


def test_kills():
    chance = random.Random(o.seed)
    kills, n = 0, 0
    while kills < o.kills and n < 2 * o.kills + 6:
        kind = n % 3
        kills += rounds("kills, %s" % ("ordered", "unordered", "csv")[kind], ["--unordered"] if kind == 1 else [],
                        "out.csv" if kind == 2 else "out.jsonl", chance, read_csv if kind == 2 else t.lines)
        n += 1
    t.check("enough kills", kills >= o.kills, kills)
    print("%d kills in %d rounds" % (kills, n))


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
    p.terminate()
    _, err = p.communicate(timeout=60)
    t.check("SIGTERM: 143, and it says how to continue", p.returncode == 143 and b"the same command continues" in err, err)
    asked = dict(t.service.answered)
    t.service.rule = None
    code, _, err = t.run(*args)
    t.check("it continues", code == 0 and t.lines("out.jsonl") == expected(words(50)), err)
    t.check("what was finished is not asked again", sum(t.service.answered.values()) <= 50 + 2, asked)


test_kills()
test_changes()
test_damage()
test_parts()
test_stream()
test_owner()
sys.exit(t.finish())
