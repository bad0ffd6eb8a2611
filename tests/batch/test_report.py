# SPDX-License-Identifier: Apache-2.0
"""Progress, reports, estimates, budgets, cache, order of waiting rows."""
import os
import contextlib
import csv
import json
import re
import sqlite3
import subprocess
import threading
import time

import pytest

from ..checks import skip
from .kit import jsonl, t, words

ARGS = ("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")


def test_report():
    t.begin({"in.jsonl": jsonl(words(9)) + "broken\n", "prices.json": json.dumps({"openai/upper": {"input": 0.5, "output": 1}})},
            lambda prompt: (400, "<no> & never") if prompt.endswith("w2") else None)
    code, out, err = t.run(*ARGS, "--report", "r.json", "--report", "r.html", PDL_PRICES=str(t.folder / "prices.json"))
    r = json.loads((t.folder / "r.json").read_text())
    t.check("report: rows", code == 3 and r["rows"] == {"finished": 10, "failed": 2, "before": 0} and r["complete"], "%s %s" % (r, err))
    t.check("report: errors by kind", r["errors"] == {"bad_request": 1, "row": 1}, r)
    t.check("report: usage", (r["calls"], r["prompt_tokens"], r["completion_tokens"]) == (9, 40, 16) or r["prompt_tokens"] == 40, r)
    t.check("report: cost", r["cost"] and abs(r["cost"] - 36) < 1e-6, r)
    t.check("report: quantiles are in order", 0 < r["row_seconds"]["p50"] <= r["row_seconds"]["p99"] <= r["row_seconds"]["p100"], r)
    t.check("report: tokens", sum(x["rows"] for x in r["row_tokens"]) == 10, r)
    html = (t.folder / "r.html").read_text()
    data = re.search(r'<script type="application/json" id=report>(.*?)</script>', html)
    t.check("report: the page holds the same", data and json.loads(data.group(1)) == r, html[:200])
    code, out, err = t.run(*ARGS, "--report", "again.json")
    again = json.loads((t.folder / "again.json").read_text())
    t.check("report: of a finished batch", again["errors"] == r["errors"] and again["rows"]["before"] == 10
            and again["prompt_tokens"] == r["prompt_tokens"] and abs(again["cost"] - r["cost"]) < 1e-6, again)


def test_estimate():
    t.begin({"in.jsonl": jsonl(words(200)), "prices.json": json.dumps({"openai/upper": {"input": 0.5, "output": 1}})})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "--dry-run", PDL_PRICES=str(t.folder / "prices.json"))
    t.check("--dry-run", code == 0 and "rows: 200, 50 of them examined" in out and "calls of models: about 200\n" in out
            and "cost: about" in out, out + err)
    t.check("--dry-run asks nobody and makes nothing", not t.service.asked and not (t.folder / "in.jsonl.journal").exists())
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "--dry-run", "--map", "word=other")
    t.check("--dry-run checks the columns", code == 2 and "needs the variable 'word'" in err, err)


def test_progress():
    t.begin({"in.jsonl": jsonl(words(5))}, lambda prompt: time.sleep(0.2))
    code, out, err = t.run(*ARGS, "--progress=line", "--jobs", 1)
    t.check("--progress=line", code == 0 and re.search(r"^\d+ rows? done, 0 failed, \d+ open", err, re.M) and "\r" not in err, err)
    t.check("a summary at the end", "pdl: 5 rows done, 0 failed" in err, err)


def test_waiting_rows():
    gate = threading.Event()

    def rule(prompt):
        if prompt == "Say w1":
            gate.wait(120)
    t.begin({"in.jsonl": jsonl(words(300))}, rule)
    p = t.start(*ARGS, "--jobs", 4)
    deadline = time.monotonic() + 120
    while sum(t.service.answered.values()) < 299 and time.monotonic() < deadline:
        time.sleep(0.02)
    t.check("rows go on while the first one waits", sum(t.service.answered.values()) == 299, sum(t.service.answered.values()))
    t.check("nothing is written before the first row", not t.lines("out.jsonl"))
    t.kill(p)
    p.communicate()
    gate.set()
    code, out, err = t.run(*ARGS, "--jobs", 4)
    t.check("waiting rows were kept", code == 0 and [r["id"] for r in t.lines("out.jsonl")] == list(range(1, 301)), err)
    t.check("one row was asked again, at most three more", sum(t.service.asked.values()) <= 300 + 4, sum(t.service.asked.values()))


def test_window():
    t.begin({"in.jsonl": jsonl(words(60))}, lambda prompt: time.sleep(0.03))
    code, out, err = t.run(*ARGS, "--jobs", 7)
    t.check("--jobs is the most that are open", code == 0 and 2 <= t.service.most_open <= 7, t.service.most_open)


def test_budget():
    t.begin({"in.jsonl": jsonl(words(50))})
    code, out, err = t.run(*ARGS, "--budget", "calls=12", "--jobs", 5)
    t.check("a spent budget stops the batch", code == 1 and "budget of 12 calls is spent" in err and sum(t.service.asked.values()) == 12, err)
    t.check("rows that were not asked are no errors", {r["error"] for r in t.lines("out.jsonl")} <= {None}, t.lines("out.jsonl"))
    code, out, err = t.run(*ARGS, "--budget", "calls=20", "--jobs", 5)
    t.check("what was spent stays spent", code == 1 and sum(t.service.asked.values()) == 20, err)
    code, out, err = t.run(*ARGS, "--jobs", 5)
    t.check("the rest without a budget", code == 0 and sum(t.service.asked.values()) == 50, err)


def test_cache():
    rows = [{"id": i, "word": "w%d" % (i % 10)} for i in range(40)]
    t.begin({"in.jsonl": jsonl(rows)})
    code, out, err = t.run(*ARGS, "--cache", "c.db", "--jobs", 1)
    t.check("--cache: equal rows are asked once", code == 0 and sum(t.service.asked.values()) == 10 and len(t.lines("out.jsonl")) == 40,
            t.service.asked)


def test_changing_input():
    t.begin({"in.jsonl": jsonl(words(40))}, lambda prompt: time.sleep(0.05))
    p = t.start(*ARGS, "--jobs", 2)
    deadline = time.monotonic() + 60
    while not t.service.answered and time.monotonic() < deadline:
        time.sleep(0.01)
    with open(t.folder / "in.jsonl", "a") as f:
        f.write('{"id": 0, "word": "late"}\n')
    _, err = p.communicate(timeout=120)
    t.check("an input that changes while it is read", p.returncode == 1 and b"was changed while it was read" in err, err)


@pytest.mark.parametrize("change, refused", [
    ("UPDATE words SET word = 'other' WHERE id = 2", True), ("UPDATE words SET id = NULL WHERE id = 40", True),
    ("DELETE FROM words WHERE id = 3; INSERT INTO words VALUES(3, 'w3')", True), ("INSERT INTO words VALUES(0, 'late')", True),
    ("UPDATE words SET word = word", False), ("CREATE TABLE more(x); INSERT INTO more VALUES(1)", False)])
def test_changing_table(change, refused):
    t.begin({}, lambda prompt: time.sleep(0.05))
    with contextlib.closing(sqlite3.connect(t.folder / "in.db")) as db:
        db.execute("CREATE TABLE words(id INTEGER, word TEXT)")
        db.executemany("INSERT INTO words VALUES(?, ?)", [(i, "w%d" % i) for i in range(1, 41)])
        db.commit()
        p = t.start("p.pdl", "-i", "in.db:words", "-o", "out.jsonl", "--jobs", 2)
        deadline = time.monotonic() + 60
        while not t.service.answered and time.monotonic() < deadline:
            time.sleep(0.01)
        db.executescript(change)
        db.commit()
    _, err = p.communicate(timeout=120)
    t.check("a table that changes while it is read: " + change, (p.returncode, b"was changed while it was read" in err) == ((1, True) if refused else (0, False)), err)


def test_full_disk():
    t.begin({"in.jsonl": jsonl(words(3))})
    (t.folder / "out.jsonl").symlink_to("/dev/full")
    code, out, err = t.run(*ARGS)
    t.check("a full disk is told", code == 1 and "No space left" in err and "the same command continues" in err, "%s %s" % (code, err))
    t.check("and nothing is beside the device", not os.path.exists("/dev/full.journal"))
    (t.folder / "out.jsonl").unlink()
    code, out, err = t.run(*ARGS)
    t.check("with room it continues", code == 0 and [r["id"] for r in t.lines("out.jsonl")] == [1, 2, 3], err)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_disk_fills_up(form):
    """The output holds whole rows, whatever part of a row the disk took."""
    t.begin({"in.jsonl": jsonl([{"id": i, "word": "w" * 1000} for i in range(20)])})
    out = "out." + form
    (t.folder / "disk").mkdir(exist_ok=True)
    (t.folder / out).touch()  # it alone is on the small disk: the journal beside it has room
    script = "mount -t tmpfs -o size=8k tmpfs disk && : > disk/x && mount --bind disk/x {0} && {{ {1} batch p.pdl -i in.jsonl -o {0}; echo $?; cat {0} > seen; }}".format(out, t.pdl)
    p = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=t.folder, env=t.env(), capture_output=True, text=True, timeout=120, check=False)
    if not (t.folder / "seen").exists():
        skip("a disk that fills up", "no mounts here: %s" % p.stderr[:200])
        return
    seen = (t.folder / "seen").read_text()
    whole = seen.endswith("\n") and all(json.loads(x) for x in seen.splitlines()) if form == "jsonl" else len({len(r) for r in csv.reader(seen.splitlines())}) == 1
    t.check("it is told, and the last row is whole", p.stdout == "1\n" and "No space left" in p.stderr and (not seen or whole), (p.stdout, p.stderr, seen[-200:]))
    (t.folder / out).unlink()
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", out)
    t.check("with room it continues", code == 0 and len((t.folder / out).read_text().splitlines()) == 20 + (form == "csv"), (code, err))


def test_output_is_removed():
    """Rows that go into a file without a name are lost: that is told, and the journal has them."""
    for form in ("jsonl", "csv", "db:said"):
        out, name = "gone." + form, "gone." + form.split(":")[0]
        t.begin({"in.jsonl": jsonl(words(6))}, lambda prompt: time.sleep(0.03))
        p = t.start("p.pdl", "-i", "in.jsonl", "-o", out, "--jobs", 1)
        deadline = time.monotonic() + 60
        while not (t.service.answered and (t.folder / name).exists()) and time.monotonic() < deadline:
            time.sleep(0.005)
        (t.folder / name).unlink()
        _, err = p.communicate(timeout=60)
        t.check("%s is removed" % out, p.returncode == 1 and (b"%s was removed while the batch worked" % out.encode() in err or b"cannot write gone.db" in err), (p.returncode, err))
        code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", out)
        t.check("%s is written again, nothing is asked again" % out, code == 0 and (t.folder / name).exists() and sum(t.service.answered.values()) == 6, (code, err))


def test_journal_is_removed():
    """Without its journal a batch cannot be continued: that is told once, and the rows are in the output."""
    t.begin({"in.jsonl": jsonl(words(6))}, lambda prompt: time.sleep(0.03))
    p = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", 1)
    deadline = time.monotonic() + 60
    while not t.service.answered and time.monotonic() < deadline:
        time.sleep(0.005)
    for file in t.folder.glob("out.jsonl?*"):
        file.unlink()
    _, err = p.communicate(timeout=60)
    t.check("it is told", p.returncode == 1 and err.count(b"the journal, was removed while the batch worked") == 1, (p.returncode, err))
    t.check("the rows are there", len((t.folder / "out.jsonl").read_text().splitlines()) == 6, err)
