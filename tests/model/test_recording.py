# SPDX-License-Identifier: Apache-2.0
"""A replay seen from outside; the recording is made over real HTTP."""
import contextlib
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time

import pytest

from ..checks import check, same
from .loopback import Place, Server

PROGRAM = """defs: {x: {model: openai/a, input: a}}
text:
- ${ x }
- for: {i: [1, 2, 3]}
  repeat: {model: openai/b, input: 'n${ i }', retry: 1}
- for: {i: [1, 2]}
  map: {text: ['${ i }', {model: openai/c, input: 'm${ i }'}]}
- text: no number
  spec: integer
  retry: 1
  fallback: {data: 7}
"""


def times(trace, out):
    """Every pdl__timing with the id of its block, in the order of the trace. Attempts that were given up are not in a recording."""
    if isinstance(trace, dict):
        if "pdl__timing" in trace:
            out.append((trace.get("pdl__id"), trace["pdl__timing"]))
        for v in [v for k, v in trace.items() if k != "pdl__abandoned"]:
            times(v, out)
    elif isinstance(trace, list):
        for v in trace:
            times(v, out)
    return out


def recorded(path):
    """-> {place: (start, end)} of the blocks in a recording, {place: end of the reply} of its effects; in nanoseconds"""
    with contextlib.closing(sqlite3.connect(path)) as c:
        blocks = {place: (start, end) for place, start, end in c.execute("SELECT place, start, end FROM blocks")}
        return blocks, {place: (start + seconds) * 1e9 for place, start, seconds in c.execute("SELECT place, start, seconds FROM effects")}


@pytest.mark.parametrize("mode", ("none", "result"))
def test_trace_of_a_replay_has_the_recorded_times(build, mode):
    """A block whose reply was waited for later, where its value was used, ends with the reply: the recording has that end with the effect."""
    with Server(lambda body, n: "r%d" % n, delay=0.02) as s:
        p = Place(build, s)
        same(p.run("--stream", mode, "--jobs", "1", "--record", "j", "p.pdl", "-t", "one.json", program=PROGRAM)[0], 0)
    same(p.run("--stream", mode, "--jobs", "1", "--replay", "j", "p.pdl", "-t", "two.json")[0], 0)
    blocks, replies = recorded(p.dir / "j")
    one, two = (times(json.loads((p.dir / f).read_text()), []) for f in ("one.json", "two.json"))
    same([t[0] for t in two], [t[0] for t in one])
    for (place, a), (_, b) in zip(one, two):
        start, end = blocks[place]
        same((a["start_nanos"], b["start_nanos"]), (start, start), "start of " + place)
        late = place in replies and replies[place] > end
        check("end of " + place, abs(b["end_nanos"] - replies[place]) < 1000 if late else b["end_nanos"] == end, b, end, replies.get(place))
        check("end in the first trace of " + place, a["end_nanos"] >= end if late else a["end_nanos"] == end, a, end)
    if mode == "none":
        check("some replies came late", any(place in replies and replies[place] > blocks[place][1] for place, _ in two), two)


PATHS = """text:
- {read: sub/a.txt}
- {read: ./b.txt}
- {include: sub/inner.pdl}
- {import: sub/lib, def: lib, contribute: []}
- ${ lib.x }
- {lang: python, code: "result = open('/proc/self/comm').read()[:0] + 'c'"}
- {text: w, contribute: [f]}
defs:
  f: {aggregator: {file: out.txt}}
"""


def write_paths(root):
    (root / "p" / "sub").mkdir(parents=True)
    (root / "p" / "main.pdl").write_text(PATHS)
    (root / "p" / "b.txt").write_text("b")
    (root / "p" / "sub" / "a.txt").write_text("a")
    (root / "p" / "sub" / "inner.pdl").write_text("text: [{include: more.pdl}]\n")
    (root / "p" / "sub" / "more.pdl").write_text("text: more\n")
    (root / "p" / "sub" / "lib.pdl").write_text("defs: {x: lib}\n")


def test_recording_replays_from_any_folder(build, part):
    p = Place(build)
    write_paths(p.dir)
    calls = [("p", "main.pdl"), (".", "p/main.pdl"), (".", "./p/main.pdl"), ("p/sub", "../main.pdl"), ("/", str(p.dir / "p" / "main.pdl")), (".", ".//p//main.pdl"), ("p", "././main.pdl")]
    for i, (folder, name) in enumerate(calls):
        made = str(p.dir / ("j%d" % i))
        r = subprocess.run([p.pdl, "--record", made, name], cwd=p.dir / folder, env=p.env, capture_output=True, text=True, timeout=60)
        same((r.returncode, r.stdout, r.stderr), (0, "abmorelibc\n", ""))
        c = sqlite3.connect(made)
        same([x for x in c.execute("SELECT request FROM effects") if str(p.dir) in x[0] or "p/sub" in x[0] or "../" in x[0]], [])
        c.close()
    pairs = [(i, folder, name) for i in range(len(calls)) for folder, name in calls]
    for i, folder, name in part(pairs, 3, lambda pair: (pair[0], calls.index(pair[1:]))):
        r = subprocess.run([p.pdl, "--replay", str(p.dir / ("j%d" % i)), name], cwd=p.dir / folder, env=p.env, capture_output=True, text=True, timeout=60)
        same((r.returncode, r.stdout, r.stderr), (0, "abmorelibc\n", ""), "%s replayed as %s" % (calls[i], name))


def as_it_was_written(path, folder):
    """Makes a recording what it was when requests held paths as the program was called: folder in front of each."""
    c = sqlite3.connect(path)
    c.execute("UPDATE run SET value = ? WHERE key = 'program'", (folder + "main.pdl",))
    rows = c.execute("SELECT id, place, seq, kind, request FROM effects").fetchall()
    for number, place, seq, kind, request in rows:
        q = json.loads(request)
        if kind == "read":
            q["shown"] = q["path"]
        for key in ("path", "shown", "cwd"):
            if key in q and kind != "write":
                q[key] = (folder + q[key]).rstrip("/") if key == "cwd" else folder + q[key]
        text = json.dumps(q, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        key = hashlib.sha256(("%s\n%d\n%s\n%s" % (place, seq, kind, digest)).encode()).digest()[:8]
        c.execute("UPDATE effects SET request = ?, hash = ?, key = ? WHERE id = ?", (text, digest, int.from_bytes(key, sys.byteorder, signed=True), number))
    c.commit()
    c.close()


def test_older_recordings_replay(build):
    p = Place(build)
    write_paths(p.dir)
    for folder in ("p/", "./p/", str(p.dir) + "/p/"):
        subprocess.run([p.pdl, "--record", "j", "p/main.pdl"], cwd=p.dir, env=p.env, capture_output=True, timeout=60)
        as_it_was_written(p.dir / "j", folder)
        for where, name in ((".", "p/main.pdl"), ("p", "main.pdl"), ("p/sub", "../main.pdl")):
            r = subprocess.run([p.pdl, "--replay", str(p.dir / "j"), name], cwd=p.dir / where, env=p.env, capture_output=True, text=True, timeout=60)
            same((r.returncode, r.stdout, r.stderr), (0, "abmorelibc\n", ""), "%s replayed as %s" % (folder, name))
        (p.dir / "j").unlink()


def test_killed_recording_does_not_block_its_name(build, scale):
    p = Place(build)
    (p.dir / "p.pdl").write_text("text: hi\n")
    (p.dir / "empty").write_bytes(b"")
    os.chmod(p.dir / "empty", 0o644)
    same(p.run("--record", "empty", "p.pdl"), (0, "hi\n", ""))
    same((p.dir / "empty").stat().st_mode & 0o777, 0o600)
    same(p.run("--record", "empty", "p.pdl")[2], "pdl: error: argument --record: empty exists already: a recording needs a new file\n")
    (p.dir / "text").write_text("x")
    same(p.run("--record", "text", "p.pdl")[2], "pdl: error: argument --record: text exists already: a recording needs a new file\n")
    os.symlink("nothing", p.dir / "link")
    same(p.run("--record", "link", "p.pdl")[0], 2)
    n = scale(40, 10)
    for i in range(n):
        r = p.start("--record", "k", "p.pdl")
        time.sleep(i / n / 100)
        r.kill()
        r.communicate()
        status, out, err = p.run("--record", "k", "p.pdl")
        if status:  # what is there is a recording, if a short one
            c = sqlite3.connect(p.dir / "k")
            same(c.execute("SELECT count(*) FROM sqlite_master").fetchone()[0], 4, err)
            c.close()
        for f in p.dir.glob("k*"):
            f.unlink()


def test_recording_killed_before_its_first_row_does_not_block_its_name(build):
    p = Place(build)
    r = p.start("--record", "k", "p.pdl", program="data: ${ range(4 * 10**7) | map('string') | map('length') | sum }\n")
    while not (p.dir / "k").exists() and r.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    same(r.poll(), None)
    r.kill()
    r.communicate()
    (p.dir / "p.pdl").write_text("text: hi\n")
    same(p.run("--record", "k", "p.pdl"), (0, "hi\n", ""))
    same(p.run("--replay", "k", "p.pdl"), (0, "hi\n", ""))
