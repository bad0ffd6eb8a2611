#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A replay as it looks from outside, over real HTTP for the recording.

    python3 tests/model/test_recording.py BUILD_DIR [NAME ...]      prints "N passed, N failed"
"""
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loopback import Place, Server, main, same  # noqa: E402

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
    """Every pdl__timing with the id of its block, in the order of the trace."""
    if isinstance(trace, dict):
        if "pdl__timing" in trace:
            out.append((trace.get("pdl__id"), trace["pdl__timing"]))
        for v in trace.values():
            times(v, out)
    elif isinstance(trace, list):
        for v in trace:
            times(v, out)
    return out


def trace_of_a_replay_has_the_recorded_times(build):
    for mode in ("none", "result"):
        with Server(lambda body, n: "r%d" % n, delay=0.02) as s:
            p = Place(build, s)
            same(p.run("--stream", mode, "--jobs", "1", "--record", "j", "p.pdl", "-t", "one.json", program=PROGRAM)[0], 0)
        time.sleep(0.05)
        same(p.run("--stream", mode, "--jobs", "1", "--replay", "j", "p.pdl", "-t", "two.json")[0], 0)
        one, two = (times(json.loads((p.dir / f).read_text()), []) for f in ("one.json", "two.json"))
        same([t[0] for t in two], [t[0] for t in one])
        for (place, a), (_, b) in zip(one, two):
            for key in ("start_nanos", "end_nanos"):
                gap = abs(a[key] - b[key]) / 1e6
                same(gap < 15, True, "%s %s of %s: %.3f ms apart" % (mode, key, place, gap))


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


def recording_replays_from_any_folder(build):
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
    for i in range(len(calls)):
        for folder, name in calls:
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


def older_recordings_replay(build):
    p = Place(build)
    write_paths(p.dir)
    for folder in ("p/", "./p/", str(p.dir) + "/p/"):
        subprocess.run([p.pdl, "--record", "j", "p/main.pdl"], cwd=p.dir, env=p.env, capture_output=True, timeout=60)
        as_it_was_written(p.dir / "j", folder)
        for where, name in ((".", "p/main.pdl"), ("p", "main.pdl"), ("p/sub", "../main.pdl")):
            r = subprocess.run([p.pdl, "--replay", str(p.dir / "j"), name], cwd=p.dir / where, env=p.env, capture_output=True, text=True, timeout=60)
            same((r.returncode, r.stdout, r.stderr), (0, "abmorelibc\n", ""), "%s replayed as %s" % (folder, name))
        (p.dir / "j").unlink()


def killed_recording_does_not_block_its_name(build):
    p = Place(build)
    (p.dir / "p.pdl").write_text("text: hi\n")
    (p.dir / "empty").write_bytes(b"")
    os.chmod(p.dir / "empty", 0o644)
    same(p.run("--record", "empty", "p.pdl"), (0, "hi\n", ""))
    same((p.dir / "empty").stat().st_mode & 0o777, 0o600)
    same(p.run("--record", "empty", "p.pdl")[2], "argument --record: empty exists already: a recording needs a new file\n")
    (p.dir / "text").write_text("x")
    same(p.run("--record", "text", "p.pdl")[2], "argument --record: text exists already: a recording needs a new file\n")
    os.symlink("nothing", p.dir / "link")
    same(p.run("--record", "link", "p.pdl")[0], 2)
    for i in range(40):
        r = p.start("--record", "k", "p.pdl")
        time.sleep(i / 4000)
        r.kill()
        r.communicate()
        status, out, err = p.run("--record", "k", "p.pdl")
        if status:  # what is there is a recording, if a short one
            c = sqlite3.connect(p.dir / "k")
            same(c.execute("SELECT count(*) FROM sqlite_master").fetchone()[0], 4, err)
            c.close()
        for f in p.dir.glob("k*"):
            f.unlink()


def recording_killed_before_its_first_row_does_not_block_its_name(build):
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


TESTS = [trace_of_a_replay_has_the_recorded_times, recording_replays_from_any_folder, older_recordings_replay,
         killed_recording_does_not_block_its_name, recording_killed_before_its_first_row_does_not_block_its_name]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv))
