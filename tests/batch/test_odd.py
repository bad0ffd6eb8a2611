# SPDX-License-Identifier: Apache-2.0
"""Tables that other programs wrote, very wide tables, devices, and the memory that many open rows take."""
import csv as tables
import gzip
import io
import json
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

from .kit import jsonl, t, words


def peak_kb(jobs):
    """The address space of a batch of which so many rows are open."""
    hold = threading.Event()
    t.begin({"in.jsonl": jsonl(words(jobs))}, lambda prompt: hold.wait(60) and None)
    p = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", jobs)
    for _ in range(3000):
        if t.service.open == jobs or p.poll() is not None:
            break
        hold.wait(0.02)
    status = dict(line.split(":", 1) for line in open("/proc/%d/status" % p.pid).read().splitlines())
    hold.set()
    p.communicate(timeout=120)
    t.check("%d rows open at a time" % jobs, p.returncode == 0 and t.service.most_open == jobs, "%s %s" % (p.returncode, t.service.most_open))
    return int(status.get("VmSize", "0").split()[0])


def test_space():
    """Rows share what is kept aside for the end of memory: each had 2 MB of it, 4 GB for --jobs 2000."""
    few, many = peak_kb(1), peak_kb(200)
    t.check("200 rows take less than 1 MB of address space each", 0 < few and many - few < 200 * 1024, "%d %d" % (few, many))


def csv(title, data, *more, out="id,word,result,error,place\n1,a,SAY A,,\n", code=0, says="", name="in.csv", to="out.csv"):
    """A table as another program wrote it: what comes of it, or what the command says."""
    t.begin({name: data})
    got, _, err = t.run("p.pdl", "-i", name, "-o", to, *more)
    made = t.folder / to
    text = made.read_text("utf-8") if made.exists() else None
    t.check("csv: " + title, got == code and text == out and says in err, "%s\n%s\n%s" % (got, text, err))


def test_dialects():
    semicolons = "id;word;result;error;place\n1;a;SAY A;;\n"
    csv("semicolons", "id;word\n1;a\n", "--separator", ";", out=semicolons)
    csv("as Excel writes it", "\ufeffid;word\r\n1;a\r\n", "--separator", ";", out=semicolons)
    csv("semicolons in cells", 'id;word\n1;"a;b,c"\n', "--separator", ";", out='id;word;result;error;place\n1;"a;b,c";"SAY A;B,C";;\n')
    tabs = semicolons.replace(";", "\t")
    csv("tabs", "id\tword\n1\ta\n", "--separator", "tab", out=tabs)
    csv("a file of tabs", "id\tword\n1\ta\n", out=tabs, name="in.tsv", to="out.tsv")
    csv("tabs to commas", "id\tword\n1\ta\n", name="in.tsv")
    csv("a name in capitals", "id,word\n1,a\n", name="IN.CSV")
    csv("a byte order mark and a quoted name of two lines", '\ufeff"i\nd",word\n1,a\n', out='"i\nd",word,result,error,place\n1,a,SAY A,,\n')
    csv("a line sep=", "sep=;\r\nid;word\r\n1;a\r\n")
    csv("a quote separates nothing", 'sep="\nid"word\n1"a\n', out=None, code=2, says="(columns: sep=\")")
    for header, word in (("id;word", "';'"), ("id\tword", "tab"), ("id|word", "'|'")):
        csv("what is meant: " + word, header + "\n1\n", out=None, code=2, says="--separator %s reads others" % word)
    csv("commas, where semicolons are said", "id,word\n1,a\n", "--separator", ";", out=None, code=2, says="--separator ',' reads others")
    csv("a NUL in a name", "id,word,b\0\n1,a,b\n", out=None, code=2, says="the name of column 3 has a NUL character in it")
    csv("a long name", "id,%s\n1,a\n" % ("x" * 100000), out=None, code=2, says="no column gives it (columns: id, xxx")
    csv("two characters", "id,word\n", "--separator", ";;", out=None, code=2, says="expected one character such as ';', or tab")
    csv("no CSV", '{"word": "a"}\n', "--separator", ";", out=None, code=2, says="no table is CSV", name="in.jsonl", to="out.jsonl")
    csv("capitals of a column", "id,Word\n1,a\n", out=None, code=2, says="--map 'Word=word' takes that column")
    csv("blanks of a column", "id, word\n1,a\n", out=None, code=2, says="--map ' word=word' takes that column")
    csv("UTF-16", "id,word\n1,a\n".encode("utf-16"), out=None, code=2, says="`iconv -f UTF-16 -t UTF-8 in.csv`")
    csv("Latin-1", "id,w\u00f6rd\n".encode("latin-1"), out=None, code=2, says="`iconv -f WINDOWS-1252 -t UTF-8 in.csv`")
    csv("one cell of Latin-1: the others stay", "id,word\n1,gr\u00fcn\n".encode("latin-1"), code=3,
        out="id,word,result,error,place\n1,,,the row is not UTF-8 (byte 5),in.csv:2\n")
    csv("an open quote: how far it goes", 'id,word\n1,"a\n2,b\n3,c\n', code=3,
        out="id,word,result,error,place\n,,,a quote of the row is not closed before the end of the file: it holds the lines to 4,in.csv:2\n")
    for title, begin, way in (("gzip", gzip.compress(b"word\na\n"), "`gzip -dc %s |"), ("zstd", b"\x28\xb5\x2f\xfd\x00", "`zstd -dc %s |"),
                              ("xz", b"\xfd7zXZ\x00", "`xz -dc %s |"), ("a spreadsheet", b"PK\x03\x04\x14\x00", "save %s as CSV UTF-8"),
                              ("bzip2", b"BZh91AY&SY\x00", "`bzip2 -dc %s |"), ("a spreadsheet of old", b"\xd0\xcf\x11\xe0\xa1\xb1", "save %s as CSV UTF-8"),
                              ("a pointer of Git LFS", b"version https://git-lfs.github.com/spec/v1\n", "`git lfs pull --include %s`"),
                              ("Parquet", b"PAR1\x15\x04", "must end in .parquet"), ("SQLite", b"SQLite format 3\x00", "FILE.db:TABLE"),
                              ("UTF-16", '{"word": "a"}\n'.encode("utf-16"), "`iconv -f UTF-16 -t UTF-8 %s`")):
        for name in ("in.csv", "in.jsonl"):
            csv("not text: %s as %s" % (title, name), begin, out=None, code=2, says=way.replace("%s", name), name=name)
            t.check("not text: %s leaves nothing" % title, sorted(x.name for x in t.folder.iterdir()) == sorted([name, "p.pdl"]))
    for name, way in (("in.json", "jq -c"), ("in.csv.gz", "gzip -dc"), ("in.csv.bz2", "bzip2 -dc"), ("in.csv.xz", "xz -dc"), ("in.csv.zst", "zstd -dc"), ("in.xlsx", "CSV UTF-8"), ("in.db", "in.db:TABLE"), ("in.sqlite", "in.sqlite:TABLE")):
        csv("no table: " + name, "x", out=None, code=2, says=way, name=name)
    t.begin({"in.csv": "id;word\n1;a\n2;b\n"})
    args = ("p.pdl", "-i", "in.csv", "-o", "out.csv", "--separator", ";")
    t.run(*args, "--limit", 1)
    code, _, err = t.run(*args[:-2], "--map", "id;word=word")
    t.check("csv: another separator is another batch", code == 2 and "--overwrite" in err, err)
    code, _, err = t.run(*args)
    t.check("csv: the same separator continues", code == 0 and len((t.folder / "out.csv").read_text().splitlines()) == 3, err)


def test_random_tables(scale):
    """Whatever Python's csv module writes comes back cell by cell, as texts."""
    chance = random.Random(19)
    texts = ["", " ", "007", "1e5", "NaN", "null", "true", "x,y", 'say "hi"', "a\nb", "c\r\nd", "\u00e9", "\U0001f600", "'", '"', ";", "9007199254740993", "\\N",
             "#c", "\ufeffx", "a\u2028b", " lead", "trail "]
    wrong = []
    for n in range(scale(60, 20)):
        separator, columns = chance.choice(",,;|\t"), chance.randint(2, 6)
        rows = [[chance.choice(texts) for _ in range(columns)] for _ in range(chance.randint(0, 9))]
        table = io.StringIO()
        writer = tables.writer(table, delimiter=separator, lineterminator=chance.choice(["\n", "\r\n"]), quoting=chance.choice([tables.QUOTE_ALL, tables.QUOTE_MINIMAL]))
        header = ["word"] + ["%s%d" % (chance.choice(texts), i) for i in range(1, columns)]
        writer.writerows([header] + rows)
        t.begin({"n.pdl": "data: 1\n", "in.csv": chance.choice(["", "\ufeff"]) + table.getvalue()})
        code, _, err = t.run("n.pdl", "-i", "in.csv", "-o", "out.csv", "--separator", "tab" if separator == "\t" else separator)
        with open(t.folder / "out.csv", newline="", encoding="utf-8") as f:
            if code != 0 or list(tables.reader(f, delimiter=separator)) != [header + ["result", "error", "place"]] + [r + ["1", "", ""] for r in rows]:
                wrong.append((n, table.getvalue(), err))
    t.check("csv: random tables", not wrong, wrong[:1])


def test_wide():
    """Processor time: all work on columns grows with their number."""
    def seconds(n, form):
        names = ["c%d" % i for i in range(n)]
        row = dict(zip(names, range(n)), word="a")
        data = jsonl([row] * 3) if form == "jsonl" else ",".join(row) + "\n" + "".join(",".join(map(str, row.values())) + "\n" for _ in range(3))
        t.begin({"in." + form: data})
        before = os.times().children_user
        code, _, err = t.run("p.pdl", "-i", "in." + form, "-o", "out.csv")
        t.check("%d columns of %s" % (n, form), code == 0 and len(t.table("out.csv")) == 3, "%s %s" % (code, err))
        return os.times().children_user - before
    for form in ("csv", "jsonl"):
        few, many = seconds(1000, form), seconds(20000, form)
        t.check("%s: 20 times the columns take no more than 100 times as long" % form, many < 100 * max(few, 0.02), "%s %s" % (few, many))


def test_numbers():
    """What Python's json writes, too: NaN. The output has no such number."""
    t.begin({"in.jsonl": '{"word": "a", "n": NaN, "m": -Infinity}\n{"word": "b", "n": 1, "m": 2}\n'})
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    t.check("jsonl: NaN is null", code == 0 and [(r["n"], r["m"], r["result"]) for r in t.lines("out.jsonl")] == [(None, None, "SAY A"), (1, 2, "SAY B")], err)
    t.begin({"in.jsonl": '{"word": "a", "n": NaN, "l": [1, {"x": -Infinity, "y": 2}], "big": 123456789012345678901234567890}\n{"word": "b", "n": 1e999, "l": [NaN], "big": 1}\n'})
    nested, big = [[1, {"x": None, "y": 2}], [None]], [123456789012345678901234567890, 1]
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    rows = t.lines("out.jsonl")
    t.check("jsonl: NaN in a list costs only itself, and is said once", code == 0 and [r["l"] for r in rows] == nested and [r["big"] for r in rows] == big
            and err.count("NaN") == 1 and ", column 'n'" in err, "%s %s" % (rows, err))
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.csv")
    rows = t.table("out.csv")
    t.check("csv: a cell NaN stays, in a list it is null", code == 0 and [r["n"] for r in rows] == ["NaN", "Infinity"]
            and [json.loads(r["l"]) for r in rows] == nested and err.count("NaN") == 1 and "column 'l'" in err, "%s %s" % (rows, err))
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.db:t")
    rows = sqlite3.connect(t.folder / "out.db").execute("SELECT n, l FROM t").fetchall()
    t.check("sqlite: infinite numbers stay", code == 0 and [r[0] for r in rows] == [None, math.inf] and [json.loads(r[1]) for r in rows] == nested, "%s %s" % (rows, err))
    (t.folder / "nan.pdl").write_text("data: ['${ word }', '${ n }']\n")
    code, _, err = t.run("nan.pdl", "-i", "in.jsonl", "-o", "nan.csv")
    rows = t.table("nan.csv")
    t.check("a result with NaN is an error of its row, the columns stay", code == 3 and [r["n"] for r in rows] == ["NaN", "Infinity"]
            and all(not r["result"] and r["error"] == "the result: expected a value that JSON has, found NaN or an infinite number" for r in rows), "%s %s" % (rows, err))


def shell(command, uid=None):
    """-> exit status, standard output, standard error of a command of bash; $PDL is the command, ROWS a batch of in.jsonl."""
    command = command.replace("ROWS", "$PDL batch p.pdl -i in.jsonl")
    p = subprocess.run(["bash", "-c", command], cwd=t.folder, env=t.env(PDL=t.pdl), capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                       check=False, user=uid, group=uid, extra_groups=[] if uid else None)
    return p.returncode, p.stdout, p.stderr


def test_descriptors(part):
    """/dev/stdout and its like are what the shell opened, also where that is a file."""
    t.begin({"in.jsonl": jsonl(words(3)), "judge.pdl": "data: true\n"})
    said = [json.dumps({"id": i, "word": "w%d" % i, "result": "SAY W%d" % i, "error": None, "place": None}) for i in (1, 2, 3)]
    ways = [(out, to) for out in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stdout --overwrite") for to in ("> made", ">> made", "| cat > made")]
    for out, to in part(ways, 3):
        (t.folder / "made").write_text("first\n" if ">>" in to else "")
        code, _, err = shell("(echo before; ROWS -o %s; echo after) %s" % (out, to))
        lines = (t.folder / "made").read_text().splitlines()
        t.check("%s %s" % (out, to), lines == ["first"] * (">>" in to) + ["before", *said, "after"], "%s %s" % (lines, err))
    (t.folder / "made").write_text("first\n" * 5)
    code, out, err = shell("ROWS -o /dev/fd/7 --format csv 7>> made; tail -3 made")
    t.check("another descriptor", "w1" in out and "w3" in out and len((t.folder / "made").read_text().splitlines()) == 5 + 4, "%s %s" % (out, err))
    for out in ("/dev/fd/99", "/dev/fd/0 < in.jsonl"):
        code, _, err = shell("ROWS --format jsonl -o %s" % out)
        t.check("%s cannot be written" % out, code == 2 and err.strip() == "pdl: error: argument --output: %s is not open for writing" % out.split()[0], "%s %s" % (code, err))
    code, out, err = shell("ROWS --format csv -o >(sed s/^/x/ > piped); for i in $(seq 500); do [ $(cat piped | wc -l) = 4 ] && break; sleep 0.02; done; cat piped")
    t.check("process substitution as output", len(out.splitlines()) == 4 and "xid,word" in out, "%s %s" % (out, err))
    for args in ("-i in.jsonl >> in.jsonl", "-i in.jsonl -o /dev/stdout >> in.jsonl", "< in.jsonl >> in.jsonl -i -", "-i /dev/stdin < in.jsonl >> in.jsonl"):
        code, _, err = shell("$PDL batch p.pdl " + args)
        t.check("%s would never end" % args, code == 2 and "are one file" in err and len(t.lines("in.jsonl")) == 3, "%s %s" % (code, err))
    code, _, err = shell("ROWS -o - --report made > made")
    t.check("the report does not replace the rows", code == 2 and "that is the input or the output" in err, "%s %s" % (code, err))
    for to in ("-", "/dev/stdout", "/dev/fd/1"):
        code, _, err = shell("(echo before; ROWS -o kept.jsonl --report %s; echo after) > made" % to)
        lines = (t.folder / "made").read_text().splitlines()
        t.check("a report to %s follows what is there" % to, code == 0 and lines[0] == "before" and lines[-1] == "after" and lines[1].startswith("<!doctype html>")
                and not (t.folder / "-").exists(), "%s %s" % (lines, err))
        code, _, err = shell("(echo before; $PDL eval p.pdl --input in.jsonl --judge judge.pdl -o %s; echo after) > made" % to)
        lines = (t.folder / "made").read_text().splitlines()
        t.check("rows of an evaluation to %s" % to, code == 0 and lines[0] == "before" and lines[-1] == "after" and '"id": 3' in lines[3] and "pass@1" in lines[4]
                and not (t.folder / "-").exists(), "%s %s" % (lines, err))
    code, _, err = shell("(echo before; $PDL run --trace /dev/stdout p.pdl -d word=x; echo after) > made")
    made = (t.folder / "made").read_text()
    t.check("a trace does not replace the file of standard output", made.startswith("before\n") and "SAY X" in made and made.endswith("after\n"), "%s %s" % (made, err))
    for name in ("-", "/dev/stdin", "/dev/fd/0", "<(cat in.jsonl) --format jsonl"):
        code, out, err = shell("%s $PDL batch p.pdl -i %s" % ("" if "<(" in name else "cat in.jsonl |", name))
        t.check("read from %s" % name, code == 0 and out.splitlines() == said, "%s %s" % (out, err))
    code, out, err = shell("$PDL batch p.pdl -i /dev/stdin --sample 3 < in.jsonl")
    t.check("a file of standard input can be read twice", code == 0 and out.splitlines() == said, "%s %s" % (out, err))


def test_pipes_again():
    """A pipe is read once: what it gives is compared as it comes."""
    t.begin({"in.jsonl": jsonl(words(300)), "other.jsonl": jsonl([{"id": 0, "word": "no"}])})
    args = "$PDL batch p.pdl --format jsonl -i <(cat %s) -o out.jsonl %s"
    code, _, err = shell(args % ("in.jsonl", "--limit 5"))
    t.check("the first of a pipe", code == 0 and len(t.lines("out.jsonl")) == 5, err)
    code, _, err = shell(args % ("other.jsonl", ""))
    t.check("another pipe is refused", code == 2 and "row 1 is another than when it was asked" in err, "%s %s" % (code, err))
    for _ in range(2):
        code, _, err = shell(args % ("in.jsonl", ""))
        t.check("a pipe continues", code == 0 and [r["id"] for r in t.lines("out.jsonl")] == list(range(1, 301))
                and set(t.service.asked.values()) == {1}, "%s %s" % (code, err))
    for option in ("--sample 2", "--dry-run"):
        code, out, err = shell("ROWS -i <(cat in.jsonl) --format jsonl -o new.jsonl %s" % option)
        t.check("%s of a pipe" % option, code == 2 and "needs a file: /dev/fd/" in err and "cannot be read twice" in err and not out
                and not (t.folder / "new.jsonl").exists(), "%s %s" % (code, err))
    if os.getuid() == 0:
        shutil.chown(t.folder, 65534, 65534)
        code, out, err = shell("$PDL --version", 65534)
        if code:
            t.skip("descriptors of another user", "it may not run the command")
            return
        code, out, err = shell("ROWS --limit 2 --format csv -o >(cat > piped) --report >(cat > report); for i in $(seq 500); do [ -s report ] && break; sleep 0.02; done; cat piped", 65534)
        t.check("descriptors of a user who may not write /dev", len(out.splitlines()) == 3 and (t.folder / "report").stat().st_size > 100, "%s %s" % (out, err))


def test_refused_numbers():
    """Rows that the output has no place for, with numbers that it has not: their columns were released twice."""
    rows = "".join('{"word": "a", "n": 1e999, "result": %d}\n{"word": "b", "n": %d}\n' % (i, i) for i in range(300))
    t.begin({"in.jsonl": '{"word": "a", "n": 0}\n' + rows})
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl")
    made = [(r["n"], r["result"], r["error"] and r["error"][:28]) for r in t.lines("out.jsonl")]
    want = [(0, "SAY A", None)] + [row for i in range(300) for row in ((None, None, "the row has a column 'result"), (i, "SAY B", None))]
    t.check("jsonl: infinity in a refused row is null", code == 3 and made == want, "%s %s" % (code, err))


def test_places():
    """What cannot be written is refused before the first row, and leaves nothing."""
    t.begin({"in.jsonl": '{"word": "a"}\n'})
    for name, to in (("link.jsonl", "nowhere/x.jsonl"), ("loop.csv", "loop.csv"), ("link.db", "nowhere/x.db")):
        (t.folder / name).symlink_to(to)
    (t.folder / "folder.jsonl").mkdir()
    (t.folder / "folder.parquet").mkdir()
    before = sorted(p.name for p in t.folder.iterdir())
    for out, why in (("link.jsonl", "a link to nowhere/x.jsonl"), ("loop.csv", "symbolic links"), ("link.db:t", "a link to nowhere/x.db"),
                     ("folder.jsonl", "is a folder, not a file"), ("folder.parquet", "is a folder, not a file"),
                     ("in.jsonl/x.csv", "Not a directory")):
        for more in ([], ["--overwrite"]):
            code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", out, *more)
            t.check("output %s %s" % (out, more), code == 2 and "argument --output: " in err and out in err and why in err
                    and not t.service.asked and sorted(p.name for p in t.folder.iterdir()) == before, "%s %s" % (code, err))
    for more in ([], ["--overwrite"]):
        code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "nowhere/x.jsonl", *more)
        t.check("output nowhere %s" % more, code == 2 and "argument --output: there is no folder 'nowhere'" in err and not t.service.asked, "%s %s" % (code, err))
    (t.folder / "made.jsonl").symlink_to("there.jsonl")
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "made.jsonl")
    t.check("a link to a file that is not there yet makes it", code == 0 and (t.folder / "made.jsonl").is_symlink()
            and len(t.lines("there.jsonl")) == 1, err)
    (t.folder / "sub").mkdir()
    for name, to in (("more.jsonl", "made.jsonl"), ("sub/up.jsonl", "../there.jsonl"), ("t.db", "sub/t.db")):
        (t.folder / name).symlink_to(to)
    for first, others in (("made.jsonl", ("there.jsonl", "more.jsonl", "sub/up.jsonl")), ("t.db:x", ("sub/t.db:x",))):
        t.run("p.pdl", "-i", "in.jsonl", "-o", first)
        for out in others:
            code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", out)
            t.check("%s and %s are one output" % (first, out), code == 0 and "1 of them before" in err, err)
    t.check("one journal each", sorted(p.name for p in t.folder.rglob("*.journal")) == ["t.db:x.journal", "there.jsonl.journal"])


def test_outputs():
    t.begin({"in.jsonl": jsonl(words(2))})
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "/dev/null", "--format", "jsonl")
    t.check("a device: no journal beside it", code == 0 and not os.path.exists("/dev/null.journal"), err)
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "/dev/full", "--format", "jsonl")
    t.check("a full device is named", code == 1 and "/dev/full" in err and "continues" not in err and not os.path.exists("/dev/full.journal"), err)
    os.mkfifo(t.folder / "pipe.jsonl")
    p = t.start("p.pdl", "-i", "in.jsonl", "-o", "pipe.jsonl")
    rows = (t.folder / "pipe.jsonl").read_text().splitlines()
    p.communicate(timeout=60)
    t.check("a pipe", p.returncode == 0 and len(rows) == 2 and not (t.folder / "pipe.jsonl.journal").exists(), rows)
    os.mkfifo(t.folder / "report.json")
    p = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--report", "report.json")
    while not (t.folder / "out.jsonl").exists() or len((t.folder / "out.jsonl").read_text().splitlines()) < 2:
        time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    t.check("a report to a pipe without a reader is ended by a signal", p.returncode in (0, 1, 130), p.returncode)
    code, _, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "p.pdl", "--format", "jsonl", "--overwrite")
    t.check("the program is not overwritten", code == 2 and "p.pdl is the program and the output" in err and "model" in (t.folder / "p.pdl").read_text(), err)
