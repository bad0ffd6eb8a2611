# SPDX-License-Identifier: Apache-2.0
"""The sources themselves: layers, sizes, names, prose, headers, ownership of values. Each tool of tools/ prints how many things it has examined."""
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from .. import checks
from ..checks import check
from ..harness import suites
from ..harness.choice import Choice, ROOT

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", re.M)


def run(*argv):
    p = subprocess.run([str(a) for a in argv], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    text = p.stdout + p.stderr
    found = COUNTS.findall(text)
    print(text)
    assert found, "%s printed no counts, exit status %d" % (argv[1], p.returncode)
    passed, failed, skipped = (int(x or 0) for x in found[-1])
    checks.add(passed, failed or (p.returncode != 0), skipped)
    return text


@pytest.mark.parametrize("name", ["check-layers", "check-sizes", "check-prose", "check-sentences", "check-spec", "check-platforms", "check-version"])
def test_sources(name):
    run(sys.executable, "tools/" + name)


@pytest.mark.tier("all")
def test_format():
    """`make format` changes nothing, so that what it changes for you is what you wrote."""
    if not shutil.which("clang-format"):
        return checks.skip("the breaks of lines", "there is no clang-format")
    p = subprocess.run(["make", "-s", "format", "FORMAT=--dry-run -Werror"], cwd=ROOT, capture_output=True, text=True, check=False)
    check("make format would change nothing", p.returncode == 0, p.stderr[:2000])


def test_switches():
    """A switch over an enum names each value, so that the compiler asks for a new one. Only kinds of blocks have a default: a new kind has its recipe."""
    found = [(p.name, m[1]) for p in sorted((ROOT / "src").rglob("*.[ch]"))
             for m in re.finditer(r"switch \(\((?:int|unsigned|long|size_t|u?int\d+_t)\)[^\n]*\n\s*case (\w+)", p.read_text("utf-8"))]
    check("switches over kinds of blocks are found", found)
    for name, case in found:
        check("%s: the switch from %s on names all values" % (name, case), case.startswith("PDL_BLOCK_"))


def load(name):
    """A tool as a module."""
    path = str(ROOT / "tools" / name)
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path, loader=importlib.machinery.SourceFileLoader(name.replace("-", "_"), path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# a comment, and the start of what check-spec says of it ("": nothing)
CITATIONS = [
    ("/* a (spec execution 5.5) */", ""), ("/* a (spec execution 5.5, 5.7; providers 4.5) */", ""), ("/* a (spec\n * runs 2-1; execution\n * R16, L4) */", ""),
    ("# (spec trust)", ""), ("/* see docs/internals/words.md, and words.md */", ""), ("x = \"spec: 5\", {spec: 1.5}, spec[0]", ""),
    ("/* a (spec execution 5.99) */", "docs/spec/language-execution.md has no 5.99"), ("/* (spec runs 2-99) */", "docs/spec/runs.md has no 2-99"),
    ("/* a (spec 4.2) */", "`spec 4.2`"), ("/* spec providers 9 */", "`spec providers`"), ("/* Spec: language-syntax 4. */", "`Spec: language`"),
    ("/* (spec trust, section 3) */", "`spec trust`"), ("/* of the specification, section 16.1 */", "`specification, section 16.1"), ("/* (providers 10) */", "`(providers 10)`"),
    ("/* language-syntax 6.1 */", "`language-syntax`"), ("/* rule L4 */", "`rule L4`"), ("/* as wanted (R16) */", "`(R16`"), ("/* spec/runs.md */", "`spec/runs.md`"),
    ("/* issue 28 */", "`issue 28`"), ("/* \u00a73 */", "\u00a7"), ("/* style.md 3 */", "style.md is not"), ("/* see execution.md 4.3 */", "execution.md is not"),
]


def test_citations():
    tool = load("check-spec")
    known = tool.books()
    ids = {b: tool.outline(p.read_text("utf-8"))[1] for b, p in known.items()}
    for text, want in CITATIONS:
        said = [why for _, _, why in tool.citations(known, ids, [("src/x.c", text)])[0]]
        checks.check(text, said[0].startswith(want) if want and said else not (want or said), said)
    page = Choice.build / "page-of-a-build.md"
    page.touch()
    pages = tool.names_of_pages()
    page.unlink()
    checks.check("the pages are those of the repository, and not of a build", "CONTRIBUTING.md" in pages and page.name not in pages, sorted(pages))
    text, found = tool.outline("# A\n## 1. B\n1. x\n2. y\n```\n3. z\n## 9. q\n```\n### 1.1 C\n| R1 | a |\n| 4 | b |\n1. u\n")
    checks.same(found, ["1", "1-1", "1-2", "1.1", "R1", "1.1-4", "1.1-1"], "sections and rules")
    checks.same(tool.outline(text), (text, found), "anchors are written once")


# a source in C, and what check-prose refuses in it
COMMENTS = [
    ("/* Returns false when it is over. */", []), ("int a; /* of the row */", ["fragment"]), ("int a; /* those that wait */", ["fragment"]),
    ("int a; /* that are open */", ["fragment"]), ("/* What a run writes. */", ["fragment"]), ("/* As a computed one. */", ["fragment"]),
    ("/* of what is walked */", ["fragment"]), ("/* What is left after a failure is dropped. */", []), ("/* Those without a name have no row. */", []),
    ("/* That is an error. */", []), ("/* Off the end; offset of it */", []), ("int a; /* and of what ended it */", ["continues"]), ("/* The same by key. */", ["continues"]),
    ("/* Also blank lines. */", ["continues"]), ("/* Order matters. */", []), ("/* One. */ /* Two. */", ["adjacent"]), ("/* One. */\n/* Two. */\nint a;", ["adjacent"]),
    ("/* One. */\n\n/* Two. */", []), ("int a; /* one */\n/* Two. */\nint b;", []), ("/* --- part --- */\n/* One. */", []), ("/* One. */\nint a; /* two */", []),
    ("int a; /* one\n        * two */", ["spill"]), ("/* One\n * two. */\nint a;", []), ("const char *a = \"/* of it */\";", []), ("/* clang-format off */\n/* One. */", []),
    ("const a = 1; // of the row", ["fragment"]), ("// Also blank lines.", ["continues"]), ("// One\n// two.\nconst a = 1;", []), ("const a = 1; // one\n// two", ["spill"]),
    ("const a = \"// of it\";", []), ("// One.\n/* Two. */", ["adjacent"]),
]
# a row of the table of words, a text, and how often it has the words
WORDS = [("behind", "a behind b, Behind c", 2), ("behind", "the world behind it", 0), ("go-on", "goes on, go\n on; goes once", 2), ("go-on", "cargo only", 0),
         ("what-is-none", "there is none; it is none of ours", 1), ("of-its-own", "a loop of its\n own", 1)]
NAMES = [("lasting", "pdl_cli_lasting_begin", True), ("lasting", "everlasting", False), ("tell", "is_told_of", True), ("tell", "teller", False), ("hide", "hide", True),
         ("c", "c_block", True), ("c", "emit_c_block", False), ("blk", "blk", True), ("MOST", "MOST_ROWS", True), ("MOST", "PDL_PACE_MO" "ST", True), ("MOST", "ALMOST_ALL", False), ("blk", "a_blk", False), ("unwant", "token_unwanted", True), ("gave-up", "is_blind", True)]


def test_prose(folder, monkeypatch):
    tool = load("check-prose")
    for text, want in COMMENTS:
        checks.same([rule for _, rule, _ in tool.comments(None, text)], want, text)
    prose = tool.prose
    rows = {row.rule: row for row in prose.words()}
    for rule, text, n in WORDS:
        low, spans, marks = prose.prose_of(ROOT / "a.md", text.lower(), [])
        checks.same(len(rows[rule].find(low, spans, marks)), n, text)
    for rule, name, want in NAMES:
        checks.check(name, bool(rows[rule].name.match(name)) == want)
    for name, text, want in (("a.md", "x `goes on` y\n```sh\ngoes on\n```\ngoes on", 1), ("a.c", "int goes_on; /* goes\n * on */ f(\"goes on\"); /* on */ g(\"goes\")", 2),
                             ("a.py", "x = 'goes on'  # goes on\n# what goes\n# on", 2), ("a.pdl", "text: goes on # goes on", 1)):
        pieces = prose.c_pieces(text) if name == "a.c" else []
        checks.same(len(rows["go-on"].find(*prose.prose_of(ROOT / name, text, pieces))), want, name + ": " + text)
    monkeypatch.setattr(prose, "LIST", folder / "list")

    def judge(n, *argv):
        offenders = prose.Offenders({"fragment"})
        for i in range(n):
            offenders.add(ROOT / "src" / "a.c", i, "fragment", "of it")
        return offenders.judge(["check-prose", *argv])[1]
    checks.same([judge(1), judge(3, "--adopt", "fragment"), judge(3), judge(2), judge(4), judge(2, "--write"), judge(2), judge(3), judge(3, "--write"), judge(0, "--write"), judge(1)],
                [1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1], "counts become smaller and never larger")


# a comment, and the sentences that a reader judges
DRAWN = [("a.c -- see a.h. It reads. SPDX-License-Identifier: Apache-2.0", []), ("a.c -- see a.h. It reads the file. Then it ends.", ["It reads the file.", "Then it ends."]),
         ("--- one part ---", []), ("Returns e.g. one. `x` is two more. no end here", ["Returns e.g. one.", "`x` is two more. no end here"]), ("NOLINT: not one of these", []), ("noqa: E402, F401", []), ("bytes", [])]


COMMENTED = [  # a file, its text, and its comments with their parts
    ("a.py", 'a = "# no"  # one\n# two\n# three\nb = 1\n', [("# one\n# two\n# three", ["one two three"])]),
    ("a.py", '"""Head. # in it"""\nt = """\n# no\n"""\nx = f(t,\n"""# no""")\n#!no\n', [('"""Head. # in it"""', ["Head. # in it"])]),
    ("a.py", 'def f():\n    """Does it."""\n    return \'\'\'# no\'\'\'\n', [('"""Does it."""', ["Does it."])]),
    ("a.pdl", "# one\n# two\ntext: a#b # three\n", [("# one\n# two", ["one two"]), ("# three", ["three"])]),
    ("a.pdl", "text: \"it's # no\" # one\nlastOf: ['# no', # two\n 'it''s # no']\n", [("# one", ["one"]), ("# two", ["two"])]),
    ("a.pdl", "text: 'a\n  # no\n  b'\ndef: x # one\n", [("# one", ["one"])]),
    ("a.pdl", "text: | # one\n  # no\n\n  a # no\n# two\n- - >-\n    # no\n  - k: |2\n     # no\n    # three\n", [("# one", ["one"]), ("# two", ["two"]), ("# three", ["three"])]),
    ("a.pdl", "text: it's a b|c > # one\nx: y\n# two\n", [("# one", ["one"]), ("# two", ["two"])]),
]


def test_draw_comments():
    tool = load("draw-comments")
    for words, want in DRAWN:
        checks.same(tool.sentences([words]), want, words)
    checks.same(tool.sentences(["a.c -- It reads the file.", "`a.c` the first row", "`b.c` the second row"]), ["It reads the file.", "`a.c` the first row", "`b.c` the second row"], "rows of a table")
    checks.same(sorted(tool.rooms(["core/io", "lib"])), ["core/io", "lib"], "rooms by their names")
    text = "int a; /* the first one */\n/* The second one. */\nint b;\n"
    checks.same([(words, tool.about(text, start, end)) for start, end, words in tool.comments(ROOT / "a.c", text)],
                [(["the first one"], "int a;"), (["The second one."], "int b;")], "a comment and its code")
    table = "/* a.c -- two files.\n *\n *   `a.c`  reads\n *          the file.\n *   `b.c`  writes it.\n */\n"
    checks.same([parts for _, _, parts in tool.comments(ROOT / "a.c", table)], [["a.c -- two files.", "`a.c` reads the file.", "`b.c` writes it."]], "each row of a table")
    script = "a = text.replace(/`[^`]*`/g, ''); // without code\nb = 4 / 2; // half\n"
    checks.same([parts for _, _, parts in tool.comments(ROOT / "a.js", script)], [["without code"], ["half"]], "a comment after a regular expression")

    for name, text, want in COMMENTED:
        checks.same([(text[start:end], parts) for start, end, parts in tool.comments(ROOT / name, text)], want, text)

    def draw(*argv):
        return subprocess.run([sys.executable, "tools/draw-comments", "-n", "5", *argv], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    first = draw("--seed", "7", "core/sqlite")
    checks.check("five sentences of one room", first.count(" [core/sqlite] ") == 5, first)
    checks.same(draw("--seed", "7", "core/sqlite"), first, "a seed gives the same sentences")
    checks.check("another seed gives others", draw("--seed", "8", "core/sqlite") != first)


def test_names(build):
    run(sys.executable, "tools/check-names", build)


def test_chain_on_its_pages():
    """What is written about the chain elsewhere has the rows, steps and rooms of chain.def in their order."""
    text = (ROOT / "src/api/session/chain.def").read_text("utf-8")
    rows = re.findall(r'^ROW\((\w+), ([A-Z |]+), [^\n]*?"([^\n]*)",\n    "([^\n]*)",\n    "([^\n]*)"\)', text, re.M)
    rows = [(name, tables.lower().replace(" |", ","), *words) for name, tables, *words in rows]
    steps = re.findall(r'^STEP\((\w+), "([^"]*)",\s+"([^"]*)"\)', text, re.M)
    rooms = {}
    for kind, room in re.findall(r"^ANSWER\((\w+), (\w+)\)", text, re.M):
        rooms.setdefault(room, []).append("`%s`" % kind)
    for found, of in ((rows, "ROW"), (steps, "STEP")):
        checks.same(len(found), len(re.findall("^%s\\(" % of, text, re.M)), "each %s is found" % of)
    page = (ROOT / "docs/internals/api.md").read_text("utf-8").split("## The chain")[1].split("\n## ")[0]
    for table, heading in ((rows, "row"), (steps, "step"), ([(room, ", ".join(kinds)) for room, kinds in rooms.items()], "room")):
        lines = page.split("\n| %s |" % heading)[1].split("\n\n")[0].strip().split("\n")[2:]
        checks.same([tuple(line.strip("| ").split(" | ")) for line in lines], [("`%s`" % first, *rest) for first, *rest in table], "docs/internals/api.md, by " + heading)
    names = [row[0] for row in rows]
    head = (ROOT / "src/api/session.h").read_text("utf-8").split("*/")[0]
    checks.same(re.findall(r"\w+", head.split("first to last:")[1].split(".")[0]), names, "the head of src/api/session.h")
    tour = (ROOT / "docs/internals/tour.md").read_text("utf-8").split("## 2. ")[1].split("\n## ")[0]
    met = re.findall(r"`(\w+)`", tour)
    checks.same([n for n in dict.fromkeys(met) if n in names], names, "docs/internals/tour.md")
    checks.same([n for n in dict.fromkeys(met) if n in rooms], list(rooms), "docs/internals/tour.md, rooms")
    readme = (ROOT / "src/world/README.md").read_text("utf-8").split("Rooms that answer:")[1].split("Rooms of worlds")[0]
    checks.same(sorted(re.findall(r"^\d+\. `(\w+)`", readme, re.M)), sorted(rooms), "src/world/README.md")


def sources(kind):
    found = subprocess.run(["sh", "tools/sources", kind], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [f for f in found if kind == "h" or not f.startswith(("src/core/base/", "src/core/value/"))]


@pytest.mark.builds
@pytest.mark.seconds(900)
@pytest.mark.parametrize("name,kind", [("check-headers", "h"), ("check-own", "c")])
def test_compiles(name, kind, build, part):
    """The tool looks only at what has changed since it was last content with all. Where it never was, `test` takes some of the files."""
    fresh = not (build / ("." + name)).exists() and Choice.tier == "test"
    run("sh", "tools/" + name, build, *(part(sources(kind), 12) if fresh else []))


def test_hardening(build):
    run("sh", "tools/check-hardening", build)


@pytest.mark.tier("all")
@pytest.mark.builds
def test_clang(build):
    run("sh", "tools/check-clang", build)


def test_changed(folder):
    """Which files need another look: what is newer than the stamp, and what includes such a file."""
    for name, text in (("tools/tool", ""), ("src/a.h", ""), ("src/room/b.h", '#include "a.h"\n'), ("src/room/c.c", '#include "room/b.h"\n'),
                       ("src/room/d.c", '#include "none.h"\n'), ("src/room/e.c", '# include "b.h"\n')):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        os.utime(folder / name, (1000, 1000))
    files = ["src/room/c.c", "src/room/d.c", "src/room/e.c"]

    def changed(*words, cc="cc"):
        p = subprocess.run([sys.executable, ROOT / "tools" / "changed", *words], cwd=folder, capture_output=True, text=True, env={**os.environ, "CC": cc}, check=True)
        return p.stdout.split()
    checks.same(changed("stamp", *files), files, "without a stamp all")
    changed("--begin", "stamp")
    changed("--end", "stamp")
    os.utime(folder / "stamp", (2000, 2000))
    checks.same(changed("stamp", *files), [], "none is newer")
    checks.same(changed("stamp", *files, cc="clang"), files, "another compiler")
    checks.same(changed("", *files), files, "an empty stamp")
    for name, want in (("src/room/d.c", files[1:2]), ("src/room/b.h", ["src/room/c.c", "src/room/e.c"]), ("src/a.h", ["src/room/c.c", "src/room/e.c"]),
                       ("tools/tool", files)):
        os.utime(folder / name, (3000, 3000))
        checks.same(changed("stamp", *files), want, name + " is newer")
        os.utime(folder / name, (1000, 1000))


def test_later():
    """What suites.LATER moves to a later tier is there."""
    for path in suites.LATER:
        check("%s is in the tree" % path, (ROOT / path).exists())


# What the folder of the repository holds. Programs that somebody tries something with stand elsewhere.
ROOT_HOLDS = set("""CHANGELOG.md CONTRIBUTING.md LICENSE Makefile README.md conftest.py meson.build meson_options.txt pyproject.toml pytest.ini
.ci .clang-format .clang-tidy .gitattributes .gitignore bench debian docs editors examples fuzz include lib packaging python src tests tools""".split())


def test_nothing_strange_in_the_root():
    found = subprocess.run(["git", "ls-tree", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = set(found.stdout.split("\n")) - {""}
    check("the root holds what belongs there", found.returncode != 0 or names == ROOT_HOLDS, sorted(names ^ ROOT_HOLDS))


def test_every_folder_has_its_row():
    """A folder that has none runs in `make test` whatever it costs, and no run misses it when it is empty."""
    for path in sorted({p.parent for p in (ROOT / "tests").rglob("test_*.py")}):
        name = str(path.relative_to(ROOT))
        check("%s has a row in tests/harness/suites.py" % name, path == ROOT / "tests" or suites.of(name + "/x"))


def test_no_test_hides_another():
    """Of two functions with one name in a module only the second one runs, and nothing says so."""
    for path in [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "python/tests").glob("test_*.py")]:
        names = re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.M)
        check("%s: names of tests" % path.relative_to(ROOT), len(names) == len(set(names)), sorted(n for n in set(names) if names.count(n) > 1))


def collected(*options):
    p = subprocess.run([sys.executable, "-m", "pytest", "--co", "--build", os.path.relpath(Choice.build, ROOT), "--seed", "x", *options], cwd=ROOT, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, check=False)
    return {line for line in p.stdout.splitlines() if "::" in line}


@pytest.mark.tier("all")
def test_nothing_is_left_out():
    """`make test` and `make test-rest` have all items between them, and no suite of either is empty by the draw; what is asked for by its path runs."""
    test, rest, whole = collected("--tier", "test"), collected("--tier", "all", "--rest"), collected("--tier", "all")
    check("every item is in one of the two", len(whole) > 1000 and whole <= test | rest, sorted(whole - test - rest)[:20])
    timed = set(json.loads((ROOT / "tests/harness/times.json").read_text("utf-8")))
    there = {i.split("::")[0] for i in whole if i.count("::") > 1}  # a file of a package that is not built here is one item
    timed = {i for i in timed if not i.startswith("python/") or i.split("::")[0] in there}
    gone = timed - whole - test
    check("what times.json puts first is there", not gone, sorted(gone))
    names = {i.split("[")[0] for i in whole | test}
    gone = {i for i in json.loads((ROOT / "tests/harness/dear.json").read_text("utf-8")) if i.split("::")[0] in there or not i.startswith("python/")} - names
    check("what dear.json names is there (`tools/test dear` renews it)", not gone, sorted(gone))
    rows = [i for i in whole if "[" in i and suites.of(i.split("::")[0]) and suites.of(i.split("::")[0]).turns > 1]
    check("rows of tables take turns", len([i for i in rows if i in test]) < 0.8 * len(rows) and len([i for i in rows if i not in rest]) > 0.2 * len(rows), len(rows))
    asked = collected("--tier", "test", "tests/vm")
    check("a path takes all rows", asked >= {i for i in whole if i.startswith("tests/vm/")} & (test | asked) and len(asked) > len([i for i in test if i.startswith("tests/vm/")]), len(asked))


# what a run says, and (passed, failed, skipped) of it
LAST_LINES = [("3 passed, 0 failed\n", [3, 0, 0]), ("9 passed, 9 failed\nx\n4 passed, 1 failed, 2 skipped\n", [4, 1, 2]), ("killed\n", [0, 1, 0]), ("", [0, 1, 0]),
              ("  3 passed, 0 failed\n", [0, 1, 0])]
RESULTS = [("--junitxml=a/b.xml", "--junitxml=a/b-x.xml"), ("--junit-xml=b", "--junit-xml=b-x"), ("--junitxml=a.b.xml", "--junitxml=a.b-x.xml"), ("-k", "-k"), ("b.xml", "b.xml")]


def test_runs(folder, capsys):
    """tools/test: what it counts of other runs, and that a step that fails fails the run, whether or not it is a test."""
    tool = load("test")
    for text, want in LAST_LINES:
        checks.same(tool.counted(text), want, text)
    for argument, want in RESULTS:
        checks.same(tool.named_apart(argument, "-x"), want, argument)
    for text, want in (("5 passed, 0 failed\n", 0), ("5 passed, 2 failed\n", 1), ("0 passed, 0 failed\n", 1), ("no end\n", 1)):
        (folder / "said").write_text(text)
        checks.same(tool.total([folder / "said"]), want, text)
    run = tool.Run(None)
    checks.same([run.step("good", ["true"]), run.step("absent", ["sh", "-c", "exit 77"], skipped=77), run.step("bad", ["false"])], [True, True, False], "steps")
    run.join("beside", "7 passed, 0 failed, 1 skipped\n")
    checks.same(([(title, used >= 0) for title, _, used in run.phases], run.bad, run.passed, run.failed, run.skipped),
                ([("good", True), ("absent", True), ("bad", True)], ["bad: exit status 1"], 7, 0, 1), "what a run knows")
    checks.same([run.last(), run.failed], [1, 1], "a step that fails")
    run.join("beside", "killed")
    checks.same([run.last(), run.failed], [1, 2], "a run beside it without an end")
    good = tool.Run(None)
    checks.same(good.last(), 1, "a run of nothing")
    good.join("beside", "1 passed, 0 failed")
    checks.same(good.last(), 0, "a good run")
    check("its last line", capsys.readouterr().out.endswith("\n1 passed, 0 failed\n"))


def test_dear(folder, monkeypatch):
    """`tools/test dear`: rows are one test, those that it did not run keep their seconds, and those that became cheap or are gone have no line."""
    tool = load("test")
    monkeypatch.setattr(tool, "ROOT", folder)
    for path in ("tests/harness", "tests/tree", "b"):
        (folder / path).mkdir(parents=True)
    for path in ("tests/x.py", "tests/y.py", "tests/tree/z.py"):
        (folder / path).write_text("")
    dear = folder / "tests/harness/dear.json"
    dear.write_text(json.dumps({"tests/x.py::test_cheap": 1, "tests/y.py::test_not_run": 2, "tests/gone.py::test_x": 3}))
    (folder / "b/test-result-test.json").write_text(json.dumps({"items": {
        "tests/x.py::test_cheap": 0.1, "tests/x.py::test_rows[a]": 0.2, "tests/x.py::test_rows[b]": 1.0, "tests/tree/z.py::test_z": 9}}))
    checks.same(tool.dear("b"), 0, "exit status")
    checks.same(json.loads(dear.read_text()), {"tests/x.py::test_rows": 0.6, "tests/y.py::test_not_run": 2}, "the dear tests")


# Runs a command beside another one, with the tool: its first argument is the path of the tool, then seconds, then what is done meanwhile.
BESIDE = """
import ctypes, importlib.machinery, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
tool = importlib.machinery.SourceFileLoader("tool", sys.argv[1]).load_module()
run = tool.Run(None)
with tool.beside(run, ["sh", "-c", "echo begun; setsid sleep 1000 & sleep 1000; echo ended"] if sys.argv[2] != "60" else ["echo", "ended"], float(sys.argv[2])) as said:
    time.sleep(float(sys.argv[3]))
print(said.text.split(), run.bad)
"""


def test_beside(folder):
    """tools/test ends what it runs beside something: when that has no end, and when it is ended itself."""
    def start(seconds, pause):
        return subprocess.Popen([sys.executable, "-W", "ignore", "-c", BESIDE, str(ROOT / "tools/test"), seconds, pause], stdout=subprocess.PIPE, text=True, cwd=folder)
    out = start("60", "0").communicate(timeout=60)[0]
    checks.same(out, "['ended'] []\n", "it ends")
    out = start("1", "0").communicate(timeout=60)[0]
    checks.same(out, "['begun'] ['what runs beside it has not ended 1 s after it']\n", "it has no end")
    p = start("600", "600")
    until = time.monotonic() + 60
    while not children_of(p.pid) and time.monotonic() < until:
        time.sleep(0.02)
    group = children_of(p.pid)
    while group and not children_of(*group) and time.monotonic() < until:
        time.sleep(0.02)
    group += children_of(*group)
    p.terminate()
    out = p.communicate(timeout=60)[0]
    check("it is ended, and what runs beside it", p.returncode == 143 and len(group) == 2 and not any(alive(x) for x in group), p.returncode, group, out)


def children_of(pid):
    """-> the group of what a process has begun in a session of its own"""
    found = [line.split() for line in subprocess.run(["ps", "-eo", "pid,ppid,pgid,stat"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]]
    return [x[2] for x in found if x[1] == str(pid) and x[0] == x[2]]


def alive(group):
    found = [line.split() for line in subprocess.run(["ps", "-eo", "pgid,stat"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]]
    return any(x[0] == group and not x[1].startswith("Z") for x in found)


def test_version(pdl):
    """meson.build says the version, and src/ nothing of it: base/version.h is made from meson.build."""
    version = re.search(r"^ *version: '([^']+)',", (ROOT / "meson.build").read_text("utf-8"), re.M).group(1)
    checks.same(subprocess.run([pdl, "--version"], capture_output=True, text=True, check=True).stdout, "PDL %s\n" % version, "pdl --version")
    found = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "src").rglob("*.[ch]")) if re.search(r"define PDL_VERSION\b|\"%s\"" % re.escape(version), p.read_text("utf-8"))]
    checks.same(found, [], "files with a version of their own")


# a line of a source in C, and whether check-platforms refuses it outside of the files of a platform
PLATFORM_LINES = [
    ("#ifdef __linux__", True), ("#if defined(__APPLE__) && 1", True), ("# ifdef __GLIBC__", True), ("#elif defined(_WIN32)", True), ("#ifdef __wasi__", True),
    ("#include <sys/epoll.h>", True), ("#include <linux/seccomp.h>", True), ("#include <malloc.h>", True), ("#include <sys/random.h>", True),
    ("#ifdef __SSE2__", False), ("#ifdef __cplusplus", False), ("#ifdef PDL_INSIDE", False), ("#include <sys/stat.h>", False), ("#include <sys/time.h>", False),
    ("/* as on __linux__ */", False),
]


def test_platforms(tmp_path):
    tool = load("check-platforms")
    tool.ROOT = tmp_path
    (tmp_path / "src" / "linux").mkdir(parents=True)
    for line, refused in PLATFORM_LINES:
        (tmp_path / "src" / "x.c").write_text("int a;\n%s\n" % line)
        said = list(tool.problems_of(tmp_path / "src" / "x.c"))
        check(line, bool(said) == refused, said)
    for name, of_one in (("x.c", False), ("os_linux.c", True), ("linux/x.c", True), ("os_darwin.c", True), ("linuxes.c", False)):
        check(name, tool.is_of_a_platform(tmp_path / "src" / name) == of_one, name)


def test_versions_that_differ(tmp_path):
    tool = load("check-version")
    (tmp_path / "editors" / "zed").mkdir(parents=True)
    (tmp_path / "meson.build").write_text("project('x', 'c',\n  version: '1.2.3',\n)\n")
    (tmp_path / "editors" / "zed" / "Cargo.toml").write_text('[package]\nversion = "1.2.3"\n')
    checks.same(tool.problems(tmp_path), (1, []), "the same version")
    (tmp_path / "editors" / "zed" / "Cargo.toml").write_text('[package]\nversion = "1.2.4"\n')
    check("another version", "1.2.4" in tool.problems(tmp_path)[1][0], tool.problems(tmp_path))


def test_sources_of_a_platform():
    """Each platform gets its own files and those of all; none those of another."""
    def of(system):
        return set(subprocess.run(["sh", "tools/sources", "--for", system, "c"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    linux, darwin = of("linux"), of("darwin")
    check("Linux", {"src/core/base/system/os_linux.c", "src/world/sandbox/linux/probe.c"} <= linux and not any("darwin" in f for f in linux), sorted(linux ^ darwin))
    check("macOS", {"src/core/base/system/os_darwin.c", "src/world/sandbox/darwin/seatbelt.c"} <= darwin and not any("linux" in f for f in darwin), sorted(linux ^ darwin))
