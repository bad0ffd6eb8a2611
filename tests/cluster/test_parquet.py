# SPDX-License-Identifier: Apache-2.0
"""Parquet in and out through a real DuckDB, with a kill in the middle.

The library is that of the Python package duckdb, whose module offers DuckDB's C interface and needs Python's own library beside it.
"""
import json
import pathlib
import subprocess
import sysconfig
import time

import pytest

from .. import venv_of
from ..batch.kit import t, words
from ..harness.choice import Choice

BUILD = Choice.build
pytestmark = [pytest.mark.builds, pytest.mark.roomy, pytest.mark.seconds(900)]


@pytest.fixture
def python():
    """An interpreter with DuckDB and Arrow."""
    exe, why = venv_of.python(BUILD, "duckdb", "pyarrow", "numpy", seconds=600, name="test-venv-parquet")
    if exe is None:
        pytest.skip(why)
    return exe


@pytest.fixture
def env(python):
    """With this environment the command finds DuckDB's library, which is a module of Python and needs it."""
    library = pathlib.Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("LDLIBRARY") or "none")
    module = subprocess.run([python, "-c", "import _duckdb; print(_duckdb.__file__)"], capture_output=True, text=True, check=False).stdout.strip()
    if not module or not library.name.startswith("libpython3") or ".so" not in library.name or not library.exists():
        pytest.skip("no DuckDB, or a Python without a shared library")
    return {"PDL_DUCKDB": module, "LD_PRELOAD": str(library)}


def sql(python, text):
    """Rows of a query; the folder of the test is the working directory."""
    code = "import duckdb, json, sys\nduckdb.sql('SET enable_progress_bar = false')\nr = duckdb.sql(sys.argv[1])\nprint(json.dumps(r.fetchall() if r else [], default=str))"
    out = subprocess.run([python, "-c", code, text], cwd=t.folder, capture_output=True, text=True, check=True)
    return [tuple(r) for r in json.loads(out.stdout)]


def test_files(python, env):
    t.begin()
    sql(python, "COPY (SELECT range AS id, 'w' || range AS word, [range, 1] AS l FROM range(1, 301)) TO 'in.parquet' (FORMAT PARQUET)")
    args = ("p.pdl", "-i", "in.parquet", "-o", "out.parquet")
    code, out, err = t.run(*args, **env)
    rows = sql(python, "SELECT id, word, l, result, error, place FROM 'out.parquet' ORDER BY id")
    t.check("parquet: all columns with their types", code == 0 and rows == [(i, "w%d" % i, [i, 1], "SAY W%d" % i, None, None) for i in range(1, 301)],
            "%s %s" % (rows[:2], err))
    before = (t.folder / "out.parquet").read_bytes()
    code, out, err = t.run(*args, **env)
    t.check("parquet: finished, nothing changes", code == 0 and (t.folder / "out.parquet").read_bytes() == before
            and sum(t.service.asked.values()) == 300 and not (t.folder / "out.parquet.rows").exists(), err)
    (t.folder / "nameless.jsonl").write_text('{"word": "a", "": 1}\n')
    kept = {f.name: f.read_bytes() for f in t.folder.glob("out.parquet*")}
    code, out, err = t.run("p.pdl", "-i", "nameless.jsonl", "-o", "out.parquet", "--overwrite", **env)
    t.check("parquet: a batch that is refused leaves the old output and its journal", code == 2 and "has no name" in err
            and kept == {f.name: f.read_bytes() for f in t.folder.glob("out.parquet*")}, err)
    code, out, err = t.run("p.pdl", "-i", "in.parquet", "-o", "out.csv", "--limit", 2, **env)
    t.check("parquet to csv", code == 0 and [r["l"] for r in t.table("out.csv")] == ["[1, 1]", "[2, 1]"], err)
    (t.folder / "to").mkdir()
    (t.folder / "link.parquet").symlink_to("to/made.parquet")
    for more in ([], ["--overwrite"]):
        code, out, err = t.run("p.pdl", "-i", "in.parquet", "-o", "link.parquet", "--limit", 2, *more, **env)
        t.check("parquet: a link stays %s" % more, code == 0 and (t.folder / "link.parquet").is_symlink()
                and sorted(p.name for p in (t.folder / "to").iterdir()) == ["made.parquet", "made.parquet.journal"], err)
    t.service.begin()
    (t.folder / "in.parquet").write_bytes(b"PAR1 no parquet")
    code, out, err = t.run("p.pdl", "-i", "in.parquet", "-o", "new.parquet", **env)
    t.check("parquet: a damaged file", code == 2 and "DuckDB" in err and not (t.folder / "new.parquet.journal").exists(), "%s %s" % (code, err))


def test_odd(python, env):
    t.begin({"long.jsonl": json.dumps({"word": "x" * (18 << 20)}) + "\n"})
    sql(python, "COPY (SELECT 'a' AS word, 'NaN'::DOUBLE AS n UNION ALL SELECT 'b', 'inf'::DOUBLE) TO 'in.parquet' (FORMAT PARQUET)")
    code, out, err = t.run("p.pdl", "-i", "in.parquet", "-o", "out.jsonl", **env)
    t.check("parquet: NaN costs no row", code == 0 and [(r["result"], r["n"]) for r in t.lines("out.jsonl")] == [("SAY A", None), ("SAY B", None)], err)
    code, out, err = t.run("p.pdl", "-i", "long.jsonl", "-o", "long.parquet", **env)
    t.check("parquet: a long row", code == 0 and sql(python, "SELECT length(word) FROM 'long.parquet'") == [(18 << 20,)], err)
    sql(python, "COPY (SELECT repeat('x', 20 << 20) AS word FROM range(5)) TO 'long_rows.parquet' (FORMAT PARQUET, COMPRESSION ZSTD)")
    code, out, err = t.run("p.pdl", "-i", "long_rows.parquet", "-o", "long.jsonl", "--overwrite", "--limit", 2, **env)
    t.check("parquet: long rows in one group", code == 0 and len(t.lines("long.jsonl")) == 2, err)
    t.service.begin()
    (t.folder / "in.jsonl").write_text('{"word": "a"}\n', "utf-8")
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "no.parquet", **{**env, "PDL_DUCKDB": "/nowhere/lib.so"})
    t.check("parquet: the library is looked for before the first row", code == 2 and "/nowhere/lib.so" in err and not t.service.asked
            and not list(t.folder.glob("no.parquet*")), "%s %s" % (code, err))


TYPES = """COPY (SELECT * FROM (VALUES
  ('a', 12.50::DECIMAL(10,2), '12345678901234567890.1234567890'::DECIMAL(38,10), TIMESTAMP '2024-01-02 03:04:05.678901',
   TIMESTAMPTZ '2024-01-02 03:04:05+00', DATE '2024-02-29', TIME '01:02:03', MAP{'k': 1}, '\\x00\\xFFa'::BLOB, {'a': [1, NULL], 'b': {'c': 'z'}},
   18446744073709551615::UBIGINT, 1.5::FLOAT, NULL::VARCHAR, 7::TINYINT,
   {'a "DECIMAL(20,2)"': 1, 'l': ['12345678901234567890.12'::DECIMAL(22,2)]}),
  ('b', NULL, NULL, NULL, NULL, NULL, NULL, MAP{}, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) t(word, small, long, stamp, zoned, day, clock, m, bytes, deep, big, f, n, tiny, inner_long))
  TO '%s' (FORMAT PARQUET)"""


def test_types(python, env):
    """Columns keep their types from Parquet to Parquet, and texts stay texts whatever they look like."""
    t.begin()
    sql(python, TYPES % "in.parquet")
    code, out, err = t.run("p.pdl", "-i", "in.parquet", "-o", "out.parquet", **env)
    same = "SELECT count(*) FROM (SELECT * FROM 'in.parquet' EXCEPT SELECT * EXCLUDE (result, error, place) FROM 'out.parquet')"
    types = [sql(python, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM 'in.parquet')"),
             sql(python, "SELECT column_name, column_type FROM (DESCRIBE SELECT * EXCLUDE (result, error, place) FROM 'out.parquet')")]
    t.check("parquet: types stay", code == 0 and types[0] == types[1], "%s %s" % (types, err))
    t.check("parquet: values stay", sql(python, same) == [(0,)], sql(python, "SELECT to_json(t)::VARCHAR FROM 'out.parquet' t"))
    code, out, err = t.run("p.pdl", "-i", "in.parquet", "-o", "utc.jsonl", TZ="Asia/Tokyo", **env)
    first = t.lines("utc.jsonl")[0]
    t.check("parquet: times are in UTC, whatever the zone here", first["zoned"] == "2024-01-02 03:04:05+00", first)
    t.check("parquet: long decimals keep their digits", (first["small"], first["long"]) == (12.5, "12345678901234567890.1234567890"), first)
    texts = [{"word": "2024-1-5", "id": "550E8400-E29B-41D4-A716-446655440000", "time": "1:00:00", "n": 2 ** 64 - 1, "i": 1, "l": [], "o": {}},
             {"word": "2024-01-06", "id": "550e8400-e29b-41d4-a716-446655440001", "time": "02:00:00", "n": 1, "i": 1, "l": [], "o": {}}]
    (t.folder / "texts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in texts))
    code, out, err = t.run("p.pdl", "-i", "texts.jsonl", "-o", "texts.parquet", **env)
    rows = sql(python, "SELECT word, id, time, n, i, typeof(id), typeof(n) FROM 'texts.parquet'")
    t.check("parquet: texts that look like dates stay", code == 0
            and rows == [tuple(r[k] for k in ("word", "id", "time", "n", "i")) + ("VARCHAR", "UBIGINT") for r in texts], "%s %s" % (rows, err))
    t.service.begin()
    (t.folder / "nameless.jsonl").write_text('{"word": "x", "": 1}\n')
    code, out, err = t.run("p.pdl", "-i", "nameless.jsonl", "-o", "nameless.parquet", **env)
    t.check("parquet: a column without a name is refused", code == 2 and "column 2 has no name" in err and not t.service.asked
            and not list(t.folder.glob("nameless.parquet*")), "%s %s" % (code, err))


# Runs with pyarrow: "make" writes a table with the types that Parquet keeps in the schema of Arrow only, "compare" prints what differs.
ARROW = """
import datetime as dt, sys
import pyarrow as pa, pyarrow.parquet as pq
def column(values, t): return pa.array(values, t)
columns = {
    "t": column(["x", "y"], pa.string()), "cat": pa.array(["a", None]).dictionary_encode(),
    "small": pa.DictionaryArray.from_arrays(column([1, None], pa.int8()), pa.array(["b", "a"]), ordered=True),
    "zone": column([1700000000123456, None], pa.timestamp("us", "Europe/Paris")), "offset": column([-5, 7], pa.timestamp("us", "+02:00")),
    "ms": column([1700000000123, None], pa.timestamp("ms")), "dur": column([5, None], pa.duration("ms")), "ns": column([-7000, None], pa.duration("ns")),
    "large": column(["2024-01-01", None], pa.large_string()), "bytes": column([b"\\x00\\xff", None], pa.large_binary()),
    "inner": column([{"b": b"\\xff\\x00", "l": [b"\\\\x41", None], "n": float("nan")}, None], pa.struct([("b", pa.binary()), ("l", pa.list_(pa.binary())), ("n", pa.float64())])),
    "map": column([[(b"\\xfe", b"\\xfd")], None], pa.map_(pa.binary(), pa.binary())), "nan": column([float("nan"), float("-inf")], pa.float64()),
    "three": column([[1, 2, 3], None], pa.list_(pa.int32(), 3)), "many": column([["a"], None], pa.large_list(pa.string())),
    "exact": column([None, 12], pa.decimal256(20, 2)), "flag": column([1, None], pa.bool8()),
    "deep": pa.StructArray.from_arrays([pa.array(["q", "r"]).dictionary_encode(), column([1, 2], pa.duration("s"))], ["q", "d"])}
table = pa.table({"word": ["a", "b"], **columns}).replace_schema_metadata({"pandas": "{}"})
if sys.argv[1] == "make":
    pq.write_table(table, "in.parquet")
else:
    a, b = pq.read_table("in.parquet"), pq.read_table("out.parquet")
    said = [] if b.column_names == a.column_names + ["result", "error", "place"] else [b.column_names]
    for n, x in enumerate(a.columns):
        y = b.column(n)
        if x.type != y.type or repr(x.to_pylist()) != repr(y.to_pylist()):
            said.append((a.column_names[n], str(x.type), str(y.type), x.to_pylist(), y.to_pylist()))
    print([*said, str(b.schema.field("result").type), b["result"].to_pylist(), sorted(pq.read_metadata("out.parquet").metadata)])
"""


def test_arrow(python, env):
    """What only the schema of Arrow says of a column stays: dictionaries, zones by name, durations, and bytes and NaN wherever they are."""
    t.begin({"deep.pdl": "data: {said: ['${ word }'], n: 1.5, 'odd \"na, me(': [[true]]}\n"})
    def arrow(what):
        p = subprocess.run([python, "-c", ARROW, what], cwd=t.folder, capture_output=True, text=True, check=False)
        return p.stdout.strip() or p.stderr
    arrow("make")
    for program, kind, result in (("p.pdl", "string", ["SAY A", "SAY B"]),
                                  ("deep.pdl", 'struct<said: list<element: string>, n: double, odd "na, me(: list<element: list<element: bool>>>',
                                   [{"said": [w], "n": 1.5, 'odd "na, me(': [[True]]} for w in "ab"])):
        code, out, err = t.run(program, "-i", "in.parquet", "-o", "out.parquet", "--overwrite", **env)
        said = arrow("compare") if code == 0 else ""
        t.check("parquet: types of Arrow stay (%s)" % program, said == str([kind, result, [b"ARROW:schema", b"pandas"]]), "%s %s" % (said, err))
    code, out, err = t.run("p.pdl", "-i", "in.parquet", "-o", "out.jsonl", **env)
    rows = t.lines("out.jsonl")
    t.check("parquet: a column t is not the row", code == 0 and [r["t"] for r in rows] == ["x", "y"] and rows[0]["map"] == {"\\xFE": "\\xFD"}, "%s %s" % (rows, err))
    code = "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({'word': ['a'], 'Word': ['b'], 'WORD': [1]}), 'twins.parquet')"
    subprocess.run([python, "-c", code], cwd=t.folder, check=True)
    (t.folder / "twins.pdl").write_text("text: ${ word } ${ Word } ${ WORD }\n")
    code, out, err = t.run("twins.pdl", "-i", "twins.parquet", "-o", "twins.jsonl", **env)
    t.check("parquet: names that differ only in case are those of the file", code == 0
            and t.lines("twins.jsonl") == [{"word": "a", "Word": "b", "WORD": 1, "result": "a b 1", "error": None, "place": None}], err)
    (t.folder / "twins2.jsonl").write_text('{"word": "a", "WORD": 2, "o": {"x": [1]}, "Word": {"y": true, "z": []}}\n')
    read = "import pyarrow.parquet as pq, sys\nr = pq.read_table(sys.argv[1])\nprint(r.to_pylist(), [str(t) for t in r.schema.types])"
    for name, rows, types in (("twins.parquet", [{"word": "a", "Word": "b", "WORD": 1}], ["string", "string", "int64"]),
                              ("twins2.jsonl", [{"word": "a", "WORD": 2, "o": {"x": [1]}, "Word": {"y": True, "z": []}}],
                               ["string", "int64", "struct<x: list<element: int64>>", "struct<y: bool, z: list<element: string>>"])):
        code, out, err = t.run("p.pdl", "-i", name, "-o", "made.parquet", "--overwrite", **env)
        said = subprocess.run([python, "-c", read, "made.parquet"], cwd=t.folder, capture_output=True, text=True, check=False)
        wanted = [{**r, "result": "SAY A", "error": None, "place": None} for r in rows]
        t.check("parquet: names that differ only in case are written (%s)" % name, code == 0 and said.stdout.strip() == "%s %s" % (wanted, types + ["string"] * 3),
                "%s %s" % (said, err))


STRANGE = """
import decimal, datetime as dt
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
pair = pa.struct([("x", pa.int64()), ("X", pa.int64())])
columns = {"twin": pa.array([{"x": 1, "X": 2}], pair), "twins": pa.array([[{"x": 1, "X": 2}]], pa.list_(pair)), "big": pa.array([decimal.Decimal(10) ** 41], pa.decimal256(50, 2)),
    "half": pa.array(np.array([1.5], np.float16)), "halves": pa.array([np.array([1.5], np.float16)], pa.list_(pa.float16())), "fixed": pa.array([b"\\x00\\xff"], pa.binary(2)),
    "none": pa.nulls(1), "clock": pa.array([dt.time(1, 2, 3)], pa.time32("ms"))}
pq.write_table(pa.table({"word": ["a"], "like": pa.array([{"x": 1, "y": {"x": 2, "X_1": 3}}]), "exact": pa.array([decimal.Decimal(5)], pa.decimal128(38, 2)), **columns}), "in.parquet")
pq.write_table(pa.table({"word": ["a"], **{"h%d" % i: columns["half"] for i in range(9)}}), "many.parquet")
"""


def test_strange(python, env):
    """Types that DuckDB does not have are named in one line, those that only a Parquet output has otherwise only there."""
    t.begin()
    subprocess.run([python, "-c", STRANGE], cwd=t.folder, check=True)
    read = "decimals of more than 38 digits are read as floats: big; fields of objects whose names differ only in case get numbers (x, X_1): twin, twins"
    kept = ("half floats become floats: half, halves; bytes of fixed length become bytes: fixed; columns without a type become texts: none; "
            "times in milliseconds become times in microseconds: clock")
    for name, out, note in (("in.parquet", "out.jsonl", read), ("in.parquet", "out.parquet", read + "; " + kept),
                            ("many.parquet", "many2.parquet", "half floats become floats: h0, h1, h2, h3, h4, h5, ...")):
        code, _, err = t.run("p.pdl", "-i", name, "-o", out, **env)
        notes = [line for line in err.splitlines() if name in line]
        t.check("parquet: strange types are named (%s)" % out, code == 0 and notes == ["pdl: note: %s: %s" % (name, note)], "%s %s" % (notes, err))
    rows = t.lines("out.jsonl")
    t.check("parquet: what is read of them", [rows[0][k] for k in ("twin", "big", "half", "fixed", "none")] == [{"x": 1, "X_1": 2}, 1e41, 1.5, "\\x00\\xFF", None], rows)
    code, _, err = t.run("p.pdl", "-i", "many.parquet", "-o", "many.jsonl", **env)
    t.check("parquet: no note where nothing is otherwise", code == 0 and "many.parquet" not in err, err)


def test_structure(python, env):
    """The types of many rows do not take the memory of all of them, and long integers keep their digits."""
    t.begin({"long.pdl": "data: ${ 10 ** 20 + n }\n", "longer.pdl": "data: ${ 10 ** 45 + n }\n", "in.jsonl": '{"n": 1}\n{"n": 2}\n'})
    (t.folder / "many.jsonl").write_text("".join('{"n": %d, "day": "2024-1-5", "l": [{"a": [%d]}, {"b": "%s"}]}\n' % (i, i, "x" * 150) for i in range(150000)))
    code, out, err = t.run("long.pdl", "-i", "many.jsonl", "-o", "many.parquet", **env)
    rows = sql(python, "SELECT count(*), min(day), typeof(any_value(day)), typeof(any_value(l)), typeof(any_value(result)), max(result)::VARCHAR FROM 'many.parquet'")
    t.check("parquet: types of many rows", code == 0 and rows == [(150000, "2024-1-5", "VARCHAR", "STRUCT(a BIGINT[], b VARCHAR)[]", "DECIMAL(38,0)",
                                                                   "100000000000000149999")], "%s %s" % (rows, err))
    code, out, err = t.run("longer.pdl", "-i", "in.jsonl", "-o", "longer.parquet", **env)
    rows = sql(python, "SELECT result::VARCHAR, typeof(result) FROM 'longer.parquet'")
    t.check("parquet: integers that no type holds are JSON", code == 0 and rows == [(str(10 ** 45 + i), "JSON") for i in (1, 2)], "%s %s" % (rows, err))


def test_names(python, env):
    """The name of a file is no pattern, and folders give no columns."""
    t.begin()
    (t.folder / "year=2024").mkdir()
    sql(python, "COPY (SELECT 'right' AS word) TO 'year=2024/a[1].parquet' (FORMAT PARQUET)")
    sql(python, "COPY (SELECT 'wrong' AS word) TO 'year=2024/a1.parquet' (FORMAT PARQUET)")
    (t.folder / "o1.parquet.rows").write_text('{"word": "wrong", "result": "wrong", "error": null, "place": null}\n')
    code, out, err = t.run("p.pdl", "-i", "year=2024/a[1].parquet", "-o", "o[1].parquet", **env)
    made = [p.name for p in t.folder.iterdir() if p.name == "o[1].parquet"]
    (t.folder / "o[1].parquet").rename(t.folder / "made.parquet")
    rows = sql(python, "SELECT * FROM 'made.parquet'")
    t.check("parquet: a name with brackets", code == 0 and made and rows == [("right", "SAY RIGHT", None, None)], "%s %s" % (rows, err))


def test_kill(python, env):
    t.begin({"in.jsonl": "".join(json.dumps(r) + "\n" for r in words(200))}, lambda prompt: time.sleep(0.01))
    args = ("p.pdl", "-i", "in.jsonl", "-o", "out.parquet", "--jobs", 4)
    p = t.start(*args, **env)
    deadline = time.monotonic() + 120
    while sum(t.service.answered.values()) < 50 and time.monotonic() < deadline:
        time.sleep(0.01)
    t.kill(p)
    p.communicate()
    t.check("parquet: appears at the end", not (t.folder / "out.parquet").exists())
    code, out, err = t.run(*args, **env)
    rows = sql(python, "SELECT id, result FROM 'out.parquet'")
    t.check("parquet: each row once after a kill", code == 0 and rows == [(i, "SAY W%d" % i) for i in range(1, 201)], "%s %s" % (rows[:3], err))
    t.check("parquet: finished rows were asked once", sum(t.service.answered.values()) <= 204, sum(t.service.answered.values()))
