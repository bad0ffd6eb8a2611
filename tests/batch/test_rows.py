# SPDX-License-Identifier: Apache-2.0
"""Tables in and out, columns and variables, broken rows, refused input, exit codes."""
import json
import sqlite3

from .kit import ASK, jsonl, t, words

OWN = {"result": None, "error": None, "place": None}


def said(row):
    return {**row, **OWN, "result": "SAY %s" % str(row["word"]).upper()}


def test_jsonl():
    rows = words(30)
    t.begin({"in.jsonl": jsonl(rows)})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    t.check("jsonl: exit 0", code == 0, err)
    t.check("jsonl: all columns, in order", t.lines("out.jsonl") == [said(r) for r in rows], t.lines("out.jsonl")[:3])
    t.check("jsonl: each row asked once", set(t.service.asked.values()) == {1} and len(t.service.asked) == 30)
    t.check("jsonl: unused column is noted", "does not use the column id, which is kept" in err, err)
    before = (t.folder / "out.jsonl").read_bytes()
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    t.check("finished: nothing asked, nothing changed", code == 0 and (t.folder / "out.jsonl").read_bytes() == before
            and sum(t.service.asked.values()) == 30, err)


def test_streams():
    t.begin()
    code, out, err = t.run("p.pdl", "-i", "-", text=jsonl(words(3)))
    t.check("standard input to standard output", code == 0 and [json.loads(x) for x in out.splitlines()] == [said(r) for r in words(3)],
            out + err)
    t.check("nothing is left behind", sorted(p.name for p in t.folder.iterdir()) == ["p.pdl"], list(t.folder.iterdir()))
    code, out, err = t.run("p.pdl", "-i", "-", "--format", "csv", text="word\nx\n")
    t.check("csv on the streams", code == 0 and out == 'word,result,error,place\nx,SAY X,,\n', out + err)


def test_csv():
    table = 'id,word\r\n1,plain\r\n2,"with, comma"\r\n3,"a ""quote"" and\na line"\r\n4,\r\n'
    t.begin({"in.csv": "\ufeff" + table})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    rows = t.table("out.csv")
    t.check("csv: exit 0", code == 0, err)
    t.check("csv: cells are kept", [r["word"] for r in rows] == ["plain", "with, comma", 'a "quote" and\na line', ""], rows)
    t.check("csv: result is a text as it is", [r["result"] for r in rows][:2] == ["SAY PLAIN", "SAY WITH, COMMA"], rows)
    t.begin({"in.csv": "word\nx\n", "p.pdl": "data: ['${ word }', 1.5, null, {a: true}]\n"})
    t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    t.check("csv: everything else is JSON", t.table("out.csv")[0]["result"] == '["x", 1.5, null, {"a": true}]')
    t.check("csv: texts stay texts", [r["id"] for r in rows] == ["1", "2", "3", "4"], rows)
    t.begin({"in.csv": "n,b,e,word\n1,true,,x\n007,TRUE,1.5e3,y\n", "p.pdl": "data: ['${ n }', '${ b }', '${ e }']\n"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl", "--types")
    t.check("csv: --types", [r["result"] for r in t.lines("out.jsonl")] == [[1, True, None], ["007", True, 1500.0]], out + err)


def test_broken_rows():
    t.begin({"in.jsonl": b'{"word": "a"}\n{"word": \n[1]\n\n{"word": "\xff"}\n{"word": "b", "result": 1}\n{"word": "z"}'})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    rows = t.lines("out.jsonl")
    t.check("broken: exit 3", code == 3, err)
    t.check("broken: every row is there", [r["result"] for r in rows] == ["SAY A", None, None, None, None, "SAY Z"], rows)
    t.check("broken: places", [r["place"] for r in rows] == [None, "in.jsonl:2", "in.jsonl:3", "in.jsonl:5", "in.jsonl:6", None], rows)
    for i, text in enumerate(("is not JSON", "no JSON object, but a list", "not UTF-8 (byte 11)", "column 'result'"), 1):
        t.check("broken: says " + text, text in rows[i]["error"], rows[i])
    t.begin({"in.csv": 'id,word\n1,a\n2\n3,b,c\n4,"x"y\n5,z\n6,"open\n'})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    rows = t.table("out.csv")
    t.check("broken csv: every row is there", code == 3 and [r["id"] for r in rows] == ["1", "2", "3", "4", "5", ""], rows)
    t.check("broken csv: places", [r["place"] for r in rows] == ["", "in.csv:3", "in.csv:4", "in.csv:5", "", "in.csv:7"], rows)
    t.check("broken csv: cells", "1 cell, the header has 2" in rows[1]["error"] and "3 cells" in rows[2]["error"], rows)
    long = '{"word": "%s"}\n' % ("x" * (70 << 20))
    t.begin({"in.jsonl": '{"word": "a"}\n' + long + '{"word": "b"}\n'})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    rows = t.lines("out.jsonl")
    t.check("broken: too long", code == 3 and [r["result"] for r in rows] == ["SAY A", None, "SAY B"] and "longer than 64 MB" in rows[1]["error"],
            str(rows)[:300] + err)


def test_failed_rows():
    def rule(prompt):
        return (400, "no such word") if prompt.endswith("w3") else None
    t.begin({"in.jsonl": jsonl(words(6))}, rule)
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    rows = t.lines("out.jsonl")
    t.check("failed: exit 3, others have results", code == 3 and [r["id"] for r in rows if r["error"]] == [3], rows)
    t.check("failed: error and place", "no such word" in rows[2]["error"] and rows[2]["place"] == "p.pdl:3", rows[2])
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    t.check("failed: exits as before", code == 3 and sum(t.service.asked.values()) == 6, err)
    t.service.begin()
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--retry-errors")
    t.check("--retry-errors asks those alone", code == 0 and dict(t.service.asked) == {"Say w3": 1}, err + str(t.service.asked))
    t.check("--retry-errors: whole, in order", t.lines("out.jsonl") == [said(r) for r in words(6)], t.lines("out.jsonl"))
    t.begin({"in.jsonl": jsonl(words(200))}, rule)
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--on-error", "stop", "--jobs", 1)
    t.check("--on-error stop: exit 1, row and line", code == 1 and "in.jsonl:3: row 3 failed" in err and len(t.lines("out.jsonl")) == 3, err)
    t.begin({"in.jsonl": jsonl(words(40))}, lambda prompt: (400, "no"))
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--max-errors", 4, "--jobs", 1)
    t.check("--max-errors", code == 1 and len(t.lines("out.jsonl")) == 5 and "more than --max-errors 4" in err, err)


def test_columns():
    table = {"in.csv": "text,id\nhello,1\n"}
    t.begin(table)
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    t.check("missing variable: exit 2 before the first row", code == 2 and "needs the variable 'word'" in err and not t.service.asked, err)
    t.check("nothing was made", not (t.folder / "out.csv").exists() and not (t.folder / "out.csv.journal").exists())
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv", "--map", "text=word")
    t.check("--map", code == 0 and t.table("out.csv")[0]["text"] == "hello" and "Say hello" in t.service.asked, err)
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "o2.csv", "--map", "txt=word")
    t.check("--map: no such column", code == 2 and "no column 'txt'" in err and "did you mean 'text'" in err, err)
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "o3.csv", "-d", "word=same")
    t.check("a variable of all rows", code == 0 and "Say same" in t.service.asked, err)
    cases = [
        ("clash", "defs: {word: {data: 1}}\ntext: ${ word }\n", "word\nx\n", "the program itself sets"),
        ("own column", "text: ${ result }\n", "result\nx\n", "the output has itself"),
        ("meaning of its own", "text: hello\n", "pdl_context\nx\n", "has another meaning"),
        ("reads standard input", "text:\n- read:\n", "word\nx\n", "reads standard input"),
        ("writes files", "defs: {log: {aggregator: {file: log.txt}}}\ntext:\n- text: ${ word }\n  contribute: [log]\n", "word\nx\n", "--allow-files"),
        ("two columns of a name", ASK, "word,word\nx,y\n", "two columns are named 'word'"),
        ("column without a name", ASK, "word,\nx,y\n", "has no name"),
        ("empty file", ASK, "", "names the columns"),
        ("header is not UTF-8", ASK, b"w\xff\nx\n", "not UTF-8"),
    ]
    for title, program, rows, text in cases:
        t.begin({"p.pdl": program, "in.csv": rows})
        code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
        t.check("refused: " + title, code == 2 and text in err and not (t.folder / "out.csv").exists(), "%s %s" % (code, err))


def test_effects_of_parts():
    """What an included program does is not known before the first row."""
    t.begin({"p.pdl": "text:\n- include: part.pdl\n", "part.pdl": "text:\n- read:\n", "in.csv": "word\nx\n"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    t.check("standard input of a part", code == 3 and "has no standard input" in t.table("out.csv")[0]["error"], err)
    t.begin({"p.pdl": "text:\n- include: part.pdl\n", "in.csv": "word\nx\ny\n",
             "part.pdl": "defs: {log: {aggregator: {file: 'log_${ word }.txt'}}}\ntext:\n- text: ${ word }\n  contribute: [log]\n"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    t.check("files of a part", code == 3 and "--allow-files" in t.table("out.csv")[0]["error"] and not (t.folder / "log_x.txt").exists(), err)
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv", "--allow-files", "--retry-errors")
    t.check("--allow-files", code == 0 and (t.folder / "log_x.txt").read_text() == "x\n", "%s %s" % (err, sorted(x.name for x in t.folder.iterdir())))


def test_types_of_columns():
    number = "lastOf:\n- ${ n + 1 }\n- model: openai/upper\n"
    t.begin({"p.pdl": number, "in.csv": "n\n1\n2\n"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    t.check("a column of the wrong type: exit 2 before the first row", code == 2 and "p.pdl:2 - `+` does not take string and integer" in err
            and "n: string" in err and "--types" in err and not t.service.asked, err)
    t.check("a column of the wrong type: nothing was made", sorted(p.name for p in t.folder.iterdir()) == ["in.csv", "p.pdl"])
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv", "--types")
    t.check("with --types it fits", code == 0 and set(t.service.asked) == {"2", "3"}, err)
    for title, rows, want in (("every row", '{"n": 3}\n{"n": 4}\n', 2), ("one row alone", '{"n": 3}\n{"n": "x"}\n', 3),
                              ("no row has it", '{"n": null}\n', 3)):
        t.begin({"p.pdl": "text: ${ n.upper() }\n", "in.jsonl": rows})
        code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
        t.check("types of JSONL: " + title, code == want and (t.folder / "out.jsonl").exists() == (want == 3), "%s %s" % (code, err))


def test_certain_errors():
    """What every row would meet is said before the first one, when models are asked."""
    asks = "lastOf:\n- model: openai/upper\n  input: ${ word }\n- ${ word.nope }\n"
    t.begin({"p.pdl": asks, "q.pdl": "text: ${ 1 / 0 }${ word }\n", "r.pdl": "text:\n- if: ${ word == 'x' }\n  then: ${ 1 / 0 }\n", "in.csv": "word\nx\n"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.csv")
    t.check("an error of every row: nobody is asked", code == 2 and not t.service.asked and "p.pdl:4" in err, "%s %s" % (code, err))
    for name in ("q.pdl", "r.pdl"):
        code, out, err = t.run(name, "-i", "in.csv", "-o", name + ".csv")
        t.check("an error of a row that costs nothing: " + name, code == 3, "%s %s" % (code, err))


def test_nothing_begun():
    """Files that cannot be opened are a wrong command: exit 2, and nothing to continue."""
    t.begin({"in.jsonl": jsonl(words(2)), "semicolons.csv": "id;word\n1;a\n"})
    for args, text in ((("p.pdl", "-i", "none.jsonl"), "none.jsonl"), (("p.pdl", "-i", "none.db:t"), "none.db"), (("none.pdl", "-i", "in.jsonl"), "none.pdl"),
                       (("p.pdl", "-i", "semicolons.csv"), "separated by commas")):
        code, out, err = t.run(*args, "-o", "out.jsonl")
        t.check("not begun: %s" % (args,), code == 2 and text in err and "continues" not in err and not (t.folder / "out.jsonl").exists(), "%s %s" % (code, err))
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "none/out.jsonl")
    t.check("not begun: no folder", code == 2 and "continues" not in err, "%s %s" % (code, err))


def test_files_of_rows():
    writes = "defs: {log: {aggregator: {file: 'log_${ id }.txt'}}}\ntext:\n- text: ${ word }\n  contribute: [log]\n"
    rows = [{"id": 1, "word": "a"}, {"id": 1, "word": "b"}, {"id": 2, "word": "c"}]
    t.begin({"p.pdl": writes, "in.jsonl": jsonl(rows), "q.pdl": writes.replace("_${ id }", "")})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--allow-files", "--jobs", 1)
    got = t.lines("out.jsonl")
    t.check("a file of another row", code == 3 and "row 1 has written log_1.txt" in got[1]["error"] and not got[2]["error"], "%s %s" % (got, err))
    t.check("a file of another row stays", [(t.folder / ("log_%d.txt" % i)).read_text() for i in (1, 2)] == ["a\n", "c\n"])
    (t.folder / "in.jsonl").write_text(jsonl([{"id": 2, "word": "z"}, *rows[:1]]))
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--allow-files", "--jobs", 1, "--changed", "reuse")
    t.check("rows that moved have their names", code == 0 and (t.folder / "log_2.txt").read_text() == "z\n", "%s %s" % (t.lines("out.jsonl"), err))
    code, out, err = t.run("q.pdl", "-i", "in.jsonl", "-o", "o2.jsonl", "--allow-files")
    t.check("one name for all rows: exit 2", code == 2 and "the same file for all rows" in err and not (t.folder / "o2.jsonl").exists(), err)


def test_keep():
    t.begin({"in.jsonl": jsonl(words(2))})
    for name, more in (("a.jsonl", ["--keep"]), ("b.jsonl", [])):
        code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", name, *more)
        with sqlite3.connect(t.folder / (name + ".journal")) as db:
            facts = [json.loads(r[0]) for r in db.execute("SELECT key FROM runs ORDER BY id")]
        kept = [[m["content"] for q in f.get("requests", []) for m in q["messages"]] for f in facts]
        t.check("requests in the journal: %s" % more, code == 0 and kept == ([["Say w1"], ["Say w2"]] if more else [[], []]), "%s %s" % (facts, err))
        t.check("no key in the journal", b"sk-test" not in (t.folder / (name + ".journal")).read_bytes())


def test_shared_texts():
    """Rows that share a long text are asked one after another, and written in the order of the input."""
    order = []
    docs = [("D%d " % d) * 2000 for d in range(4)]
    rows = [{"q": "q%d" % i, "doc": docs[i % 4]} for i in range(80)]
    t.begin({"p.pdl": "lastOf:\n- ${ doc } ${ q }\n- model: openai/upper\n", "in.jsonl": jsonl(rows)}, lambda prompt: order.append(prompt[:2]))
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", 1)
    t.check("shared texts: neighbours", order == sorted(order) and len(order) == 80, order)
    t.check("shared texts: order of the input", code == 0 and [r["q"] for r in t.lines("out.jsonl")] == [r["q"] for r in rows], err)


def test_commands():
    t.begin({"in.jsonl": jsonl(words(3)), "in.txt": "", "there.jsonl": "mine\n"})
    cases = [
        (("p.pdl",), "--input ROWS"),
        (("p.pdl", "-i", "in.txt"), "form of the table in.txt is not known"),
        (("p.pdl", "-i", "in.jsonl", "-o", "out.txt"), "form of the table out.txt is not known"),
        (("p.pdl", "-i", "in.jsonl", "--jobs", "0"), "--jobs"),
        (("p.pdl", "-i", "in.jsonl", "--map", "x"), "COLUMN=VARIABLE"),
        (("p.pdl", "-i", "in.jsonl", "-o", "there.jsonl"), "--overwrite starts it over"),
        (("p.pdl", "-i", "in.jsonl", "-o", "in.jsonl"), "is the input and the output"),
    ]
    for args, text in cases:
        code, out, err = t.run(*args)
        t.check("refused: %s" % text, code == 2 and text in err, "%s %s" % (code, err))
    t.check("refused: the file is as it was", (t.folder / "there.jsonl").read_text() == "mine\n")
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "there.jsonl", "--overwrite")
    t.check("--overwrite", code == 0 and t.lines("there.jsonl") == [said(r) for r in words(3)], err)
    code, out, err = t.run("p.pdl", "-i", "none.jsonl")
    t.check("no input", code == 2 and "none.jsonl" in err, err)


def test_choice():
    t.begin({"in.jsonl": jsonl(words(100))})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--limit", 5)
    t.check("--limit", code == 0 and [r["id"] for r in t.lines("out.jsonl")] == [1, 2, 3, 4, 5], err)
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    t.check("--limit: the rest later", code == 0 and t.lines("out.jsonl") == [said(r) for r in words(100)]
            and set(t.service.asked.values()) == {1}, err)
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "a.jsonl", "--sample", 10)
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "b.jsonl", "--sample", 10)
    ids = [r["id"] for r in t.lines("a.jsonl")]
    t.check("--sample: ten in order, always the same", len(ids) == 10 and ids == sorted(set(ids)) and ids != list(range(1, 11))
            and ids == [r["id"] for r in t.lines("b.jsonl")], ids)
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "c.jsonl", "--sample", 1000)
    t.check("--sample: more than there are", [r["id"] for r in t.lines("c.jsonl")] == list(range(1, 101)), err)
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "u.jsonl", "--unordered")
    t.check("--unordered: each row once", code == 0 and sorted(r["id"] for r in t.lines("u.jsonl")) == list(range(1, 101)), err)


def database(name, script, *rows):
    with sqlite3.connect(str(t.folder / name)) as db:
        db.executescript(script)
        for sql, values in rows:
            db.executemany(sql, values)
    db.close()


def select(name, sql):
    db = sqlite3.connect(str(t.folder / name))
    try:
        return [tuple(r) for r in db.execute(sql)]
    finally:
        db.close()


def test_sqlite():
    t.begin()
    database("a.db", 'CREATE TABLE words(id INTEGER, word TEXT, score REAL, "a ""b" TEXT); CREATE VIEW v AS SELECT word FROM words WHERE id > 298;'
             "CREATE TABLE keyed(word TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO keyed VALUES('k');"
             "create table small(word text primary key) without\n rowid; INSERT INTO small VALUES('s');",
             ("INSERT INTO words VALUES(?, ?, ?, NULL)", [(i, "w%d" % i, i / 4) for i in range(1, 301)]))
    code, out, err = t.run("p.pdl", "-i", "a.db:words", "-o", "b.db:said")
    t.check("sqlite to sqlite", code == 0 and select("b.db", "SELECT * FROM said ORDER BY rowid")
            == [(i, "w%d" % i, i / 4, None, '"SAY W%d"' % i, None, None) for i in range(1, 301)], err)
    code, out, err = t.run("p.pdl", "-i", "a.db:words", "-o", "b.db:said")
    t.check("sqlite: finished", code == 0 and sum(t.service.asked.values()) == 300 and select("b.db", "SELECT count(*) FROM said") == [(300,)], err)
    code, out, err = t.run("p.pdl", "-i", "a.db:words", "-o", "a.db:said", "--limit", 10)
    t.check("sqlite: two tables of one file", code == 0 and len(select("a.db", "SELECT * FROM said")) == 10, err)
    for source, result in (("SELECT word FROM words WHERE id < 3 ORDER BY id DESC", ["SAY W2", "SAY W1"]), ("v", ["SAY W299", "SAY W300"]),
                           ("keyed", ["SAY K"]), ("small", ["SAY S"])):
        code, out, err = t.run("p.pdl", "-i", "a.db:" + source, "-o", "out.jsonl", "--overwrite")
        t.check("sqlite: " + source, code == 0 and [r["result"] for r in t.lines("out.jsonl")] == result, err)
    code, out, err = t.run("p.pdl", "-i", "a.db:words", "-o", "typed.jsonl", "--limit", 1)
    t.check("sqlite: types", t.lines("typed.jsonl")[0]["id"] == 1 and t.lines("typed.jsonl")[0]["score"] == 0.25, err)
    database("bad.db", "CREATE TABLE x(word TEXT); INSERT INTO x VALUES('a'); INSERT INTO x VALUES(x'00ff'); INSERT INTO x VALUES('b');")
    code, out, err = t.run("p.pdl", "-i", "bad.db:x", "-o", "bad.jsonl")
    rows = t.lines("bad.jsonl")
    t.check("sqlite: bytes are a broken row", code == 3 and [r["result"] for r in rows] == ["SAY A", None, "SAY B"]
            and rows[1]["place"] == "bad.db:x, row 2", rows)
    modes = {name: (t.folder / name).stat().st_mode for name in ("b.db", "out.jsonl")}
    t.check("sqlite: a new file has the permissions of every output", len(set(modes.values())) == 1, modes)
    for source, text in (("a.db:none", "has no table 'none'"), ("a.db:", "expected FILE.db:TABLE"), ("none.db:x", "none.db"),
                         ("a.db:SELECT nix FROM words", "no such column"), ("p.db:x", "p.db")):
        (t.folder / "p.db").write_text("no database, but long enough to be looked at" * 30)
        code, out, err = t.run("p.pdl", "-i", source, "-o", "n.jsonl")
        t.check("sqlite refused: " + source, code in (1, 2) and text in err and not (t.folder / "n.jsonl").exists(), "%s %s" % (code, err))
    (t.folder / "twins.csv").write_text("word,WORD\na,b\n")
    before = select("b.db", "SELECT * FROM said ORDER BY rowid")
    code, out, err = t.run("p.pdl", "-i", "twins.csv", "-o", "b.db:said", "--overwrite")
    t.check("sqlite: the old table stays when the new one cannot be made", code != 0 and "duplicate column" in err
            and select("b.db", "SELECT * FROM said ORDER BY rowid") == before, err)
    code, out, err = t.run("p.pdl", "-i", "a.db:words", "-o", "a.db:words")
    t.check("sqlite: input is the output", code == 2 and "is the input and the output" in err, err)


def test_headers():
    t.begin({"in.jsonl": '{"word": "a", "list": [1, "x"], "n": null}\n{"word": "b"}\n{"word": "c", "more": 1}\n'})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.csv")
    rows = t.table("out.csv")
    t.check("jsonl to csv: lists are JSON", code == 3 and rows[0]["list"] == '[1, "x"]' and rows[0]["n"] == "" and rows[1]["list"] == "", rows)
    t.check("jsonl to csv: a column without a place", "column 'more' that the first row does not have" in rows[2]["error"], rows)


def test_odd_tables():
    """What other programs write: rows that were lost, or changed, or taken for one."""
    t.begin({"in.csv": "id,word\r1,a\r\r2,\"b\rc\"\r"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl")
    t.check("csv: lines end by CR alone", code == 0 and [(r["id"], r["word"]) for r in t.lines("out.jsonl")] == [("1", "a"), ("2", "b\rc")],
            "%s %s" % (t.lines("out.jsonl"), err))
    t.begin({"in.csv": "id,word\n1,a\rb\n"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl")
    t.check("csv: a CR in a cell stays there", [r["word"] for r in t.lines("out.jsonl")] == ["a\rb"], t.lines("out.jsonl"))
    t.begin({"in.csv": "word,n\nx,12345678901234567890123\n"})
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl", "--types")
    t.check("csv: --types keeps all digits", [r["n"] for r in t.lines("out.jsonl")] == [12345678901234567890123], (t.folder / "out.jsonl").read_text())
    for form in ("jsonl", "csv"):
        t.begin({"in.jsonl": '{"word": "a", "n": 1e999, "l": [1, -1e999]}\n{"word": "b", "n": 2}\n'})
        code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out." + form)
        rows = t.lines("out.jsonl") if form == "jsonl" else t.table("out.csv")
        t.check("%s: a number that JSON does not have costs no row" % form, code == 0 and [r["word"] for r in rows] == ["a", "b"]
                and rows[0]["n"] == {"jsonl": None, "csv": "Infinity"}[form] and rows[0]["l"] in ([1, None], "[1, null]") and rows[0]["result"], "%s %s" % (rows, err))
    t.begin({"in.jsonl": '[{"word": "a"},\n{"word": "b"}]\n'})
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    t.check("a JSON list: says what makes a table", "jq -c '.[]'" in t.lines("out.jsonl")[0]["error"], t.lines("out.jsonl"))


def test_odd_databases():
    t.begin()
    make = sqlite3.connect(t.folder / "a.db")
    make.executescript("CREATE TABLE x(word, rowid, oid); INSERT INTO x VALUES('a', 'z', 1), ('b', 'y', 2);"
                       "CREATE TABLE y(word); INSERT INTO y VALUES('a'), (CAST(x'ff41' AS TEXT)), ('c')")
    make.close()
    code, out, err = t.run("p.pdl", "-i", "a.db:SELECT * FROM x; DROP TABLE x", "-o", "n.jsonl")
    left = sqlite3.connect(t.folder / "a.db").execute("SELECT count(*) FROM x").fetchone()
    t.check("sqlite: a query is one statement", code == 2 and "more than one statement" in err and left == (2,), err)
    code, out, err = t.run("p.pdl", "-i", "a.db: select word from x where word <> ';' order by 1 desc; -- that is all", "-o", "q.jsonl")
    t.check("sqlite: blanks, quotes and comments of a query", [r["word"] for r in t.lines("q.jsonl")] == ["b", "a"], err)
    code, out, err = t.run("p.pdl", "-i", "a.db:x", "-o", "b.db:t")
    rows = sqlite3.connect(t.folder / "b.db").execute("SELECT word, rowid, oid, result FROM t ORDER BY _rowid_").fetchall()
    t.check("sqlite: columns named rowid", code == 0 and rows == [("a", "z", 1, '"SAY A"'), ("b", "y", 2, '"SAY B"')], "%s %s" % (rows, err))
    code, out, err = t.run("p.pdl", "-i", "a.db:x", "-o", "b.db:t")
    t.check("sqlite: columns named rowid, once more", code == 0 and "2 of them before" in err, err)
    code, out, err = t.run("p.pdl", "-i", "a.db:y", "-o", "y.jsonl")
    rows = t.lines("y.jsonl")
    t.check("sqlite: a text that is not UTF-8 is a broken row", code == 3 and [r["result"] for r in rows] == ["SAY A", None, "SAY C"]
            and rows[1]["error"] == "the column 'word' is not UTF-8 (byte 1)" and rows[1]["place"] == "a.db:y, row 2", rows)


def test_refused_early():
    """What could only go wrong after all rows were paid for."""
    files = {"in.csv": "id,word\n1,a\n"}
    for args, text in ((("--report", "none/r.json"), "there is no folder 'none'"), (("--report", "."), "'.' is a folder, not a file"),
                       (("--report", "out.jsonl"), "the input or the output"), (("--report", "in.csv"), "the input or the output"),
                       (("--map", "id=word"), "'word', which another column gives"), (("--map", "id=x", "--map", "id=y"), "names the column 'id' twice"),
                       (("--data", "word=x"), "--data and the column 'word' both"), (("--data", "x"), "--data should be"),
                       (("--cache", "none/c"), "there is no folder 'none'")):
        t.begin(files)
        code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl", *args)
        t.check("refused: %s" % (args,), code == 2 and text in err and not t.service.asked and sorted(x.name for x in t.folder.iterdir()) ==
                ["in.csv", "p.pdl"], "%s %s %s" % (code, err, sorted(t.folder.iterdir())))
    t.begin(files)
    t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl")
    (t.folder / "out.jsonl.journal").write_text("no journal, but long enough to be looked at" * 100)
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl")
    t.check("a journal that cannot be read", code == 2 and "--overwrite starts over" in err, "%s %s" % (code, err))
    code, out, err = t.run("p.pdl", "-i", "in.csv", "-o", "out.jsonl", "--overwrite")
    t.check("a journal that cannot be read is overwritten", code == 0 and len(t.lines("out.jsonl")) == 1, err)
