#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings and caches that somebody else has made: no answer in them does more than fail.

    python3 tests/model/test_strangers.py BUILD_DIR [NAME ...]      prints "N passed, N failed"
"""
import contextlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loopback import Place, Server, main, same  # noqa: E402

MB = 1 << 20

# every kind of effect but tool and now, which tests/unit/test_effect.c has
PROGRAM = """defs:
  thing: {lang: python, code: "class T:\\n  name = 'n'\\n  def __iter__(self): return iter([1, 2])\\nresult = T()"}
  log: {aggregator: {file: out.txt}}
text:
- {def: answer, model: openai/m, input: hi, modelResponse: raw}
- "${ raw.object } ${ thing.name }"
- {for: {i: "${ thing }"}, repeat: "${ i }"}
- {lang: python, code: "later = 5\\nresult = [1]"}
- {lang: command, code: "printf x"}
- {read: text.txt}
- {read: , message: ""}
- {include: other.pdl}
- {text: written, contribute: [log]}
- "${ [1, 2] | random }"
- {text: a, spec: integer, retry: {tries: 1, delay: 0.001}, fallback: {data: 7}}
- "${ stdlib.embed('openai/e', ['a']).embeddings | length }"
"""

INTEGER = "4702111234474983745"
VALUES = [INTEGER, "null", "true", "1.5", '"text"', "[]", "{}", "[[]]", '{"content": {"$pdl": "set", "items": [1]}}',
          '{"content": "a", "message": {"role": {"$pdl": "undefined", "text": "x"}}}', '{"content": "a", "raw": 5, "usage": 7}',
          '{"result": 1, "rebound": {"$pdl": "dict", "items": [[5, 6]]}}', '{"result": {"$pdl": "absent"}}',
          '{"result": 1, "rebound": {"$pdl": "set", "items": [1]}, "stdout": 5}', '{"stdout": 1, "stderr": 2, "status": "3"}',
          '{"embeddings": [[1, "x"]], "usage": null}', '{"embeddings": 7}', '{"path": 5, "text": {"$pdl": "safe", "text": "x"}}',
          '{"$pdl": "absent"}', '{"$pdl": "set", "items": [1]}', '{"$pdl": "range", "items": [0, 9223372036854775807, 1]}',
          '{"$pdl": "handle", "id": 1, "len": -7, "texts": ["a", "b", "c"]}', "{", '"\\ud800"']


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def replay(p, *args, seconds=15):
    """-> exit status, output, errors; in bounded time."""
    r = subprocess.Popen([p.pdl, *args], cwd=p.dir, env=p.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         preexec_fn=limited)
    try:
        out, err = r.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        r.kill()
        raise AssertionError("does not end")
    return r.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def recorded(build):
    def reply(body, n):
        if "messages" in body:
            return "r%d" % n
        return 200, {}, {"object": "list", "model": "e", "data": [{"index": 0, "embedding": [1.0, 2.0]}], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    with Server(reply) as s:
        p = Place(build, s)
        (p.dir / "text.txt").write_text("text\n")
        (p.dir / "other.pdl").write_text("text: included\n")
        (p.dir / "p.pdl").write_text(PROGRAM)
        r = subprocess.run([p.pdl, "--record", "good", "p.pdl"], cwd=p.dir, env=p.env, input=b"typed\n", capture_output=True, timeout=60)
        same((r.returncode, b"error" in r.stderr.split(b"[Retry")[0]), (0, False), r.stdout + r.stderr)
    return p


def change(p, name, script, *args):
    (p.dir / name).write_bytes((p.dir / "good").read_bytes())
    with contextlib.closing(sqlite3.connect(p.dir / name)) as c:  # left open it locks the file for the next ones
        c.executescript(script) if not args else c.execute(script, args)
        c.commit()


def every_wrong_reply_is_refused_or_used(build):
    p = recorded(build)
    c = sqlite3.connect(p.dir / "good")
    rows = c.execute("SELECT id, kind FROM effects ORDER BY id").fetchall()
    same(sorted({k for _, k in rows}), sorted("model code object command read input source write random sleep embed".split()))
    seen = set()
    for number, kind in rows:
        if kind in seen and kind != "object":
            continue
        seen.add(kind)
        for v in VALUES:
            change(p, "wrong", "UPDATE effects SET error = NULL, reply = ? WHERE id = ?", v, number)
            status, out, err = replay(p, "--replay", "wrong", "p.pdl")
            same(status in (0, 1), True, "%s %s: exit status %d\n%s" % (kind, v, status, err[-1500:]))
            if kind not in ("object", "code") and v == INTEGER and kind not in ("now", "random"):
                same("is damaged" in err, True, "%s %s: %s" % (kind, v, err))


def wrong_pieces_and_errors_are_refused(build):
    p = recorded(build)
    for v in ("5", '{"a": 1}', "[1]", '[{"$pdl": "set", "items": [1]}]', "["):
        change(p, "wrong", "UPDATE effects SET pieces = ? WHERE kind = 'model'", v)
        same("is damaged" in replay(p, "--replay", "wrong", "p.pdl")[2], True, v)
    for v in ("5", "{}", '{"kind": 5, "message": [], "status": "x", "detail": 7}',
              '{"kind": "rate_limit", "message": "m", "detail": "5", "status": 99999999999}',
              '{"kind": "code", "message": "m", "detail": "{\\"line\\": 9223372036854775807, \\"budget_depth\\": {}}"}'):
        for kind in ("model", "code", "read"):
            change(p, "wrong", "UPDATE effects SET reply = NULL, pieces = NULL, error = ? WHERE kind = ?", v, kind)
            status, _, err = replay(p, "--replay", "wrong", "p.pdl", "-t", "trace.json")
            same(status, 1, "%s %s: %s" % (kind, v, err))


def rows_far_away_take_no_memory(build):
    p = recorded(build)
    change(p, "far", "UPDATE effects SET id = id + 17179869184")
    start = time.time()
    good, far = replay(p, "--replay", "good", "p.pdl"), replay(p, "--replay", "far", "p.pdl")
    same(far, good)
    same(time.time() - start < 10, True)
    same(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < 1200 * MB, True)
    change(p, "below", "UPDATE effects SET id = -id")
    same(replay(p, "--replay", "below", "p.pdl")[0], 1)


def only_our_own_tables_are_accepted(build):
    p = recorded(build)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    for script in ("CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER UPDATE ON effects BEGIN DELETE FROM effects; END",
                   "ALTER TABLE effects RENAME TO e; CREATE VIEW effects AS SELECT e.* FROM e, (%s)" % endless,
                   "CREATE TABLE other(x)", "DROP INDEX effects_key", "DROP TABLE blocks",
                   "DROP INDEX effects_key; CREATE INDEX effects_key ON effects(abs(key))"):
        change(p, "wrong", script)
        same(replay(p, "--replay", "wrong", "p.pdl"), (1, "", "argument --replay: replay: wrong holds other tables than a recording has\n"), script)
    with Server(lambda body, n: "r") as s:
        q = Place(build, s)
        q.run("--cache", "good", "p.pdl", program="model: openai/m\ninput: hi\n")
        for script in ("CREATE TRIGGER t AFTER UPDATE ON replies BEGIN DELETE FROM replies; END",
                       "ALTER TABLE replies RENAME TO r; CREATE VIEW replies AS SELECT r.* FROM r, (%s)" % endless):
            change(q, "wrong", script)
            same(replay(q, "--cache", "wrong", "p.pdl"),
                 (1, "", "argument --cache: wrong holds other tables than a cache has: remove it, its replies are asked for again\n"), script)


def wrong_replies_in_a_cache_are_refused(build):
    with Server(lambda body, n: "r") as s:
        p = Place(build, s)
        p.run("--cache", "good", "p.pdl", program="{def: x, model: openai/m, input: hi, modelResponse: raw}\n")
        for v in VALUES:
            change(p, "wrong", "UPDATE replies SET reply = ?", v)
            for stream in ("none", "result"):
                status, out, err = replay(p, "--stream", stream, "--cache", "wrong", "p.pdl")
                fine = status == 0 and v.startswith('{"content": "a"')
                same(fine or (status == 1 and "wrong is damaged" in err), True, "%s: %s %s %s" % (v, status, out, err[-1500:]))


def a_locked_cache_is_waited_for_no_longer_than_the_run(build):
    """Another process that holds the lock for ever delays neither a signal nor the end of a budget."""
    with Server(lambda body, n: "r%d" % n) as s:
        p = Place(build, s)
        (p.dir / "p.pdl").write_text("text:\n- begun\n- {model: openai/m, input: hi}\n")
        run = [p.pdl, "--cache", "cache", "p.pdl"]
        same(subprocess.run(run, cwd=p.dir, env=p.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60).stdout, b"begunr0\n", "")
        with contextlib.closing(sqlite3.connect(p.dir / "cache", isolation_level=None)) as other:
            other.execute("begin exclusive")
            for args, status, want in ([], 130, b"Keyboard Interrupt"), (["--budget", "seconds=0.5"], 1, b"the budget of 0.5 seconds is spent"):
                r = subprocess.Popen(run[:1] + args + run[1:], cwd=p.dir, env=p.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                same(r.stdout.read(5), b"begun", "")
                time.sleep(0.5)
                if not args:
                    r.send_signal(signal.SIGINT)
                begin = time.monotonic()
                err = r.communicate(timeout=60)[1]
                same((r.returncode, want in err, time.monotonic() - begin < 5), (status, True, True), err)


def text_that_is_not_utf8_is_refused(build):
    p = recorded(build)
    for column in ("reply", "pieces", "place", "hash", "kind"):
        change(p, "wrong", "UPDATE effects SET %s = CAST(x'22c3ff22' AS TEXT) WHERE kind = 'model'" % column)
        status, _, err = replay(p, "--replay", "wrong", "p.pdl", "-t", "t.json")
        same((status, "not UTF-8" in err), (1, True), column + ": " + err)


def a_place_with_a_nul_is_one_place(build):
    p = recorded(build)
    for script in ("UPDATE blocks SET place = char(0)", "UPDATE blocks SET place = 'a' || char(0) || id",
                   "UPDATE effects SET place = char(0)"):
        change(p, "wrong", script)
        status, _, err = replay(p, "--replay", "wrong", "p.pdl", "-t", "t.json")
        same(status, 0 if "blocks" in script else 1, script + ": " + err)


# of another type, size or form than any column has
ANYTHING = [-1, "[[]]", "\0", "[" * 5000]


def every_column_holds_anything(build):
    """One answer or one error, whatever stands in all rows of any column."""
    p = recorded(build)
    with Server(lambda body, n: "r") as s:
        q = Place(build, s)
        q.run("--cache", "good", "p.pdl", program="model: openai/m\ninput: hi\n")
        for place, how in ((p, ["--replay", "wrong", "p.pdl", "-t", "t.json"]), (q, ["--cache", "wrong", "p.pdl"])):
            c = sqlite3.connect(place.dir / "good")
            tables = [t for (t,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            columns = [(t, row[1]) for t in tables for row in c.execute("PRAGMA table_info(%s)" % t)]
            c.close()
            same(len(columns) > 4, True, columns)
            tried = 0
            for table, column in columns:
                for v in ANYTHING:
                    try:
                        change(place, "wrong", "UPDATE OR IGNORE %s SET %s = ?" % (table, column), v)
                    except sqlite3.Error:
                        continue  # the column itself refuses it
                    status, _, err = replay(place, *how)
                    tried += 1
                    same(status in (0, 1), True, "%s.%s = %.40r: exit status %d\n%s" % (table, column, v, status, err[-1500:]))
            same(tried > 2 * len(columns), True, "%d of %d" % (tried, 4 * len(columns)))


def every_column_of_a_durable_run_holds_anything(build):
    """The same of the journal of a run that waits for an answer: it is shown, resumed or refused, and the answer is taken or not."""
    with Server(lambda body, n: "r%d" % n) as s:
        p = Place(build, s)
        env = {**p.env, "XDG_STATE_HOME": str(p.dir / "state"), "HOME": str(p.dir)}
        runs = p.dir / "state/pdl/runs"
        (p.dir / "p.pdl").write_text("text:\n- {def: a, model: openai/m, input: hi}\n- {lang: command, code: printf x}\n"
                                     "- {def: b, read: , message: q}\n- ${ a } ${ b }\n")

        def run(*args):
            return subprocess.run([p.pdl, *args], cwd=p.dir, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, preexec_fn=limited)
        r = run("--durable", "--park", "--id", "good", "p.pdl")
        same(r.returncode, 75, r.stderr)
        with contextlib.closing(sqlite3.connect(runs / "good.journal")) as c:
            tables = [t for (t,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            columns = [(t, row[1]) for t in tables for row in c.execute("PRAGMA table_info(%s)" % t)]
            good = c.serialize()
        for i, (table, column) in enumerate(columns):
            v = ANYTHING[i % len(ANYTHING)]
            (runs / "wrong.journal").write_bytes(good)
            try:
                with contextlib.closing(sqlite3.connect(runs / "wrong.journal")) as c:
                    c.execute("UPDATE OR IGNORE %s SET %s = ?" % (table, column), (v,))
                    c.commit()
            except sqlite3.Error:
                continue
            for args in (["resume", "--check", "wrong"], ["trace", "wrong"], ["answer", "wrong", "yes"], ["resume", "wrong"]):
                r = run(*args)
                told = r.returncode in (0, 75) or r.stderr.strip() != b""
                same((r.returncode in (0, 1, 2, 75), told), (True, True), "%s.%s = %.40r, %s: exit status %d\n%s"
                     % (table, column, v, args[0], r.returncode, r.stderr[-1500:]))


TESTS = [every_wrong_reply_is_refused_or_used, wrong_pieces_and_errors_are_refused, rows_far_away_take_no_memory,
         only_our_own_tables_are_accepted, wrong_replies_in_a_cache_are_refused, text_that_is_not_utf8_is_refused,
         a_place_with_a_nul_is_one_place, a_locked_cache_is_waited_for_no_longer_than_the_run,
         every_column_holds_anything, every_column_of_a_durable_run_holds_anything]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv))
