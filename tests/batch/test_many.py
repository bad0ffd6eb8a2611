# SPDX-License-Identifier: Apache-2.0
"""Many rows in flight: each answer belongs to its row, rows are written in their order, and a row whose run does not announce that it can continue
(PDL_STRESS=mute) is not forgotten."""
import random
import threading
import time

from .kit import jsonl, t, words


def test_order(scale):
    """Answers come in an order of their own: each is the result of its row, and the output has the order of the input."""
    n = scale(1200, 300)
    rows = words(n)
    for options in ([], ["--unordered"]):
        chance, finished = random.Random(7), []

        def late(prompt):
            time.sleep(chance.random() * 0.1)
            finished.append(prompt)

        t.begin({"in.jsonl": jsonl(rows)}, late)
        code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", n // 4, *options)
        out = t.lines("out.jsonl")
        t.check("many jobs %s: answers came in another order than the rows" % options, len(finished) == n
                and finished != ["Say " + r["word"] for r in rows], len(finished))
        t.check("many jobs %s: each answer is that of its row" % options, code == 0
                and [r for r in out if r["result"] != "SAY " + r["word"].upper()] == [], "%s %s" % (code, err))
        t.check("many jobs %s: each row once" % options, sorted(r["id"] for r in out) == [r["id"] for r in rows], len(out))
        if not options:
            t.check("many jobs: the order of the input", [r["id"] for r in out] == [r["id"] for r in rows], [r["id"] for r in out][:20])


def test_missed():
    """A run that can continue is found without its announcement, also while another one is in flight for long."""
    t.begin({"in.jsonl": jsonl(words(8))})
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", 4, PDL_STRESS="mute", timeout=120)
    t.check("no announcements: all rows have results", code == 0 and [r["result"] for r in t.lines("out.jsonl")]
            == ["SAY W%d" % i for i in range(1, 9)], "%s %s" % (code, err))
    hold = threading.Event()
    t.begin({"in.jsonl": jsonl(words(2))}, lambda prompt: hold.wait(120) and None if prompt == "Say w2" else None)
    p = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", 2, PDL_STRESS="mute")
    deadline = time.monotonic() + 60
    while not t.lines("out.jsonl") and p.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    t.check("no announcements: a row is finished while another one waits", [r["id"] for r in t.lines("out.jsonl")] == [1], t.lines("out.jsonl"))
    hold.set()
    _, err = p.communicate(timeout=120)
    t.check("no announcements: and then the other one", p.returncode == 0 and len(t.lines("out.jsonl")) == 2, err)
