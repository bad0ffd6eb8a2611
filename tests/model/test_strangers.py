# SPDX-License-Identifier: Apache-2.0
"""Recordings and caches from a stranger: the answers in them can at most make the run fail."""
import contextlib
import resource
import signal
import sqlite3
import subprocess
import time

import pytest

from ..checks import check, same
from .loopback import Place, Server

pytestmark = pytest.mark.tier("test")

MB = 1 << 20

# every kind of effect but tool and now, which tests/unit/effect/test_effect.c has
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


def replay(p, *args, env=None):
    """-> exit status, output, errors; it may take 20 seconds of the processor, and a minute."""
    r = subprocess.Popen([p.pdl, *args], cwd=p.dir, env=env or p.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(r.pid, resource.RLIMIT_CPU, (20, 20))
    out, err = r.communicate(timeout=60)
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


def changed(data, script, *args):
    """What a database holds after a change, which is made in memory."""
    with contextlib.closing(sqlite3.connect(":memory:")) as c:
        c.deserialize(data[:18] + b"\1\1" + data[20:])  # not one with a log beside it
        c.executescript(script) if not args else c.execute(script, args)
        c.commit()
        new = c.serialize()
        return new[:18] + data[18:20] + new[20:]


def change(p, name, script, *args):
    (p.dir / name).write_bytes(changed((p.dir / "good").read_bytes(), script, *args))


def test_every_wrong_reply_is_refused_or_used(build, part):
    p = recorded(build)
    with contextlib.closing(sqlite3.connect(p.dir / "good")) as c:
        rows = c.execute("SELECT id, kind FROM effects ORDER BY id").fetchall()
    same(sorted({k for _, k in rows}), sorted("model code object command read input source write random sleep embed".split()))
    first = {k: n for n, k in reversed(rows)}
    cases = [(kind, number, v) for number, kind in rows if kind == "object" or first[kind] == number for v in VALUES]
    for kind, number, v in part(cases, 4):
        change(p, "wrong", "UPDATE effects SET error = NULL, reply = ? WHERE id = ?", v, number)
        status, out, err = replay(p, "--replay", "wrong", "p.pdl")
        check("%s %s: exit status" % (kind, v), status in (0, 1), status, err[-1500:])
        if v == INTEGER and kind not in ("object", "code", "now", "random"):
            check("%s %s: an error" % (kind, v), "is damaged" in err, err)


def test_wrong_pieces_and_errors_are_refused(build):
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


def test_rows_far_away_take_no_memory(build):
    p = recorded(build)
    change(p, "far", "UPDATE effects SET id = id + 17179869184")
    good, far = replay(p, "--replay", "good", "p.pdl"), replay(p, "--replay", "far", "p.pdl")
    same(far, good)
    same(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < 1200 * MB, True)
    change(p, "below", "UPDATE effects SET id = -id")
    same(replay(p, "--replay", "below", "p.pdl")[0], 1)


def test_only_our_own_tables_are_accepted(build):
    p = recorded(build)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    for script in ("CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER UPDATE ON effects BEGIN DELETE FROM effects; END",
                   "ALTER TABLE effects RENAME TO e; CREATE VIEW effects AS SELECT e.* FROM e, (%s)" % endless,
                   "CREATE TABLE other(x)", "DROP INDEX effects_key", "DROP TABLE blocks",
                   "DROP INDEX effects_key; CREATE INDEX effects_key ON effects(abs(key))"):
        change(p, "wrong", script)
        same(replay(p, "--replay", "wrong", "p.pdl"), (1, "", "pdl: error: argument --replay: replay: wrong holds other tables than a recording has\n"), script)
    with Server(lambda body, n: "r") as s:
        q = Place(build, s)
        q.run("--cache", "good", "p.pdl", program="model: openai/m\ninput: hi\n")
        for script in ("CREATE TRIGGER t AFTER UPDATE ON replies BEGIN DELETE FROM replies; END",
                       "ALTER TABLE replies RENAME TO r; CREATE VIEW replies AS SELECT r.* FROM r, (%s)" % endless):
            change(q, "wrong", script)
            same(replay(q, "--cache", "wrong", "p.pdl"),
                 (1, "", "pdl: error: argument --cache: wrong holds other tables than a cache has: remove it, its replies are requested again\n"), script)


def test_wrong_replies_in_a_cache_are_refused(build):
    with Server(lambda body, n: "r") as s:
        p = Place(build, s)
        p.run("--cache", "good", "p.pdl", program="{def: x, model: openai/m, input: hi, modelResponse: raw}\n")
        for v in VALUES:
            change(p, "wrong", "UPDATE replies SET reply = ?", v)
            for stream in ("none", "result"):
                status, out, err = replay(p, "--stream", stream, "--cache", "wrong", "p.pdl")
                fine = status == 0 and v.startswith('{"content": "a"')
                same(fine or (status == 1 and "wrong is damaged" in err), True, "%s: %s %s %s" % (v, status, out, err[-1500:]))


def test_a_locked_cache_is_waited_for_no_longer_than_the_run(build):
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


def test_text_that_is_not_utf8_is_refused(build):
    p = recorded(build)
    for column in ("reply", "pieces", "place", "hash", "kind"):
        change(p, "wrong", "UPDATE effects SET %s = CAST(x'22c3ff22' AS TEXT) WHERE kind = 'model'" % column)
        status, _, err = replay(p, "--replay", "wrong", "p.pdl", "-t", "t.json")
        same((status, "not UTF-8" in err), (1, True), column + ": " + err)


def test_a_place_with_a_nul_is_one_place(build):
    p = recorded(build)
    for script in ("UPDATE blocks SET place = char(0)", "UPDATE blocks SET place = 'a' || char(0) || id",
                   "UPDATE effects SET place = char(0)"):
        change(p, "wrong", script)
        status, _, err = replay(p, "--replay", "wrong", "p.pdl", "-t", "t.json")
        same(status, 0 if "blocks" in script else 1, script + ": " + err)


# of another type, size or form than any column has
ANYTHING = [-1, "[[]]", "\0", "[" * 5000]


def columns_of(path):
    """[(table, column)]"""
    with contextlib.closing(sqlite3.connect(path)) as c:
        tables = [t for (t,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(t, row[1]) for t in tables for row in c.execute("PRAGMA table_info(%s)" % t)]


def wrong_ones(good, changes):
    """(title, database) for each (table, column, value), where the column itself does not refuse it."""
    for table, column, v in changes:
        with contextlib.suppress(sqlite3.Error):
            yield "%s.%s = %.40r" % (table, column, v), changed(good, "UPDATE OR IGNORE %s SET %s = ?" % (table, column), v)


def test_every_column_holds_anything(build, part):
    """One answer or one error, whatever stands in all rows of any column."""
    p = recorded(build)
    with Server(lambda body, n: "r") as s:
        q = Place(build, s)
        q.run("--cache", "good", "p.pdl", program="model: openai/m\ninput: hi\n")
        for place, how in ((p, ["--replay", "wrong", "p.pdl", "-t", "t.json"]), (q, ["--cache", "wrong", "p.pdl"])):
            good = (place.dir / "good").read_bytes()
            columns = columns_of(place.dir / "good")
            same(len(columns) > 4, True, columns)
            made = list(wrong_ones(good, [(table, column, v) for table, column in columns for v in ANYTHING]))
            same(len(made) > 2 * len(columns), True, "%d of %d" % (len(made), 4 * len(columns)))
            for title, data in part(made, 3, lambda row: row[0]):
                (place.dir / "wrong").write_bytes(data)
                status, _, err = replay(place, *how)
                check(title, status in (0, 1), "exit status %d\n%s" % (status, err[-1500:]))


def test_every_column_of_a_durable_run_holds_anything(build, part):
    """The same of the journal of a run that waits for an answer: it is shown, resumed or refused, and the answer is taken or not."""
    with Server(lambda body, n: "r%d" % n) as s:
        p = Place(build, s)
        env = {**p.env, "XDG_STATE_HOME": str(p.dir / "state"), "HOME": str(p.dir)}
        runs = p.dir / "state/pdl/runs"
        (p.dir / "p.pdl").write_text("text:\n- {def: a, model: openai/m, input: hi}\n- {lang: command, code: printf x}\n"
                                     "- {def: b, read: , message: q}\n- ${ a } ${ b }\n")
        status, _, err = replay(p, "--durable", "--park", "--id", "good", "p.pdl", env=env)
        same(status, 75, err)
        columns = columns_of(runs / "good.journal")
        with contextlib.closing(sqlite3.connect(runs / "good.journal")) as c:
            good = c.serialize()
        changes = [(table, column, ANYTHING[i % len(ANYTHING)]) for i, (table, column) in enumerate(columns)]
        for title, data in part(list(wrong_ones(good, changes)), 3, lambda row: row[0]):
            (runs / "wrong.journal").write_bytes(data)
            for args in (["resume", "--dry-run", "wrong"], ["trace", "wrong"], ["answer", "wrong", "yes"], ["resume", "wrong"]):
                status, _, err = replay(p, *args, env=env)
                check("%s, %s" % (title, args[0]), status in (0, 75) or status in (1, 2) and err.strip(), "exit status %d\n%s" % (status, err[-1500:]))
