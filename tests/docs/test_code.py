# SPDX-License-Identifier: Apache-2.0
"""Statements of pages about the code are true: names of sources, tables, and pages that a tool makes.

Each page of docs/internals, and the README of each wing, is a test. The names with an underscore and the paths that the page sets as `code` must
occur in the source tree. A name that a file follows (`pdl_run_start` (`vm/run/run.c`), `main` in `cli/main.c`) must occur in that file.
"""
import re
import subprocess
import sys

from ..checks import check
from ..harness.choice import ROOT, Choice, source


def source_names():
    names = set()
    for folder, pattern in [("src", "**/*"), ("include", "*"), ("tools", "*"), ("lib", "*"), ("tests", "*"), (".", "Makefile")]:
        for path in (ROOT / folder).glob(pattern):
            if path.is_file() and path.suffix in ("", ".c", ".h", ".def", ".py", ".pdl", ".build"):
                names.update(re.findall(r"\w+", path.read_text("utf-8", "replace")))
    return names


def tails_of_files():
    """Every path of the tree, and every end of one: src/machine/vm/run/run.c, vm/run/run.c, run.c; and the first words that make a path of a word."""
    tails, rooms = set(), {"src", "tools", "lib", "tests", "docs", "examples"}
    for top in sorted(rooms):
        for p in (ROOT / top).rglob("*"):
            parts = p.relative_to(ROOT).parts
            tails.update("/".join(parts[i:]) for i in range(len(parts)))
            if top == "src" and p.is_dir():
                rooms.update(parts[1:3])
    return tails, rooms


def exists(word, names, tails, rooms):
    if "*" in word or word in tails:
        return True
    if ("/" in word and word.split("/")[0] in rooms) or re.search(r"\.(c|h|def|md|py|pdl|jsonl)$", word):
        tail = word.rstrip("/")
        return tail in tails or (ROOT / tail).exists()
    return "_" not in word or "-" in word or word in names or word.isupper()


def unknown_words(page, names, tails, rooms):
    """Words in inline code of a page that name nothing."""
    text = re.sub(r"^\| in names \| in text \|.*?\n\n", "", page.read_text("utf-8"), flags=re.M | re.S)  # names that are not used any more
    text = re.sub(r"^(```.*?^```$|    .*?$)", "", text, flags=re.M | re.S)
    words = {w for code in re.findall(r"`([^`\n]+)`", text) for w in re.findall(r"[A-Za-z_][\w./*-]*", code)}
    return sorted(w for w in words if not exists(w.rstrip("."), names, tails, rooms))


def misplaced(page):
    """Names of a page that are not in the file given right after them: `pdl_run_start` (`vm/run/run.c`"""
    pairs = re.findall(r"`(\w+)`\s+(?:in\s+|\()`(\w+/[\w./-]+\.(?:c|h|def))`", page.read_text("utf-8"))
    return ["%s in %s" % (name, path) for name, path in pairs
            if not source(path).is_file() or not re.search(r"\b%s\b" % name, source(path).read_text("utf-8"))]


def test_names_of_the_source():
    names, (tails, rooms) = source_names(), tails_of_files()
    for page in sorted([*(ROOT / "docs" / "internals").glob("*.md"), *(ROOT / "src").glob("*/README.md")]):
        bad = unknown_words(page, names, tails, rooms) + misplaced(page)
        check("%s: names are in the source" % page.relative_to(ROOT), not bad, ", ".join(bad))


def requests_of_effects():
    """{kind: its fields in order, with a question mark where they may be missing}, of the table that the code is made of."""
    text = (ROOT / "src" / "machine" / "effect" / "effects.def").read_text("utf-8")
    kinds = {k: [] for k in re.findall(r"^EFFECT\((\w+),", text, re.M)}
    for kind, field, forms in re.findall(r"^ +ASK\((\w+), (\w+), ([^,]*),", text, re.M):
        kinds[kind].append(field + ("?" if "MISSING" in forms else ""))
    return kinds


def test_requests():
    """The fields of requests in the page for host programs and in the header are those of the table."""
    kinds = requests_of_effects()
    inside = {"object", "permit"}  # no handler gets them
    page = (ROOT / "docs" / "manual" / "embedding.md").read_text("utf-8")
    page = page[page.index("## Answer requests yourself"):]
    rows = {k: [f.strip() for f in fields.split(",") if f.strip()] for k, fields in re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|[^|]*\|$", page, re.M) if k in kinds}
    header = (ROOT / "include" / "pdl.h").read_text("utf-8")
    header = header[header.index("/* --- what the host program answers itself"):header.index("typedef void pdl_handler_fn")]
    items = re.sub(r"\n \* {5,}", " ", header)
    said = {k: [f.strip() for f in fields.split(",") if f.strip()] for k, fields in re.findall(r"^ \* +- (\w+):[^{\n]*\{([^}]*)\}", items, re.M)}
    for where, have in (("docs/manual/embedding.md", rows), ("include/pdl.h", said)):
        for kind in sorted(set(kinds) - inside | set(have)):
            check("%s: a request of kind %s" % (where, kind), have.get(kind) == kinds.get(kind), have.get(kind), "expected", kinds.get(kind))


def rows_of(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text("utf-8"), re.M)


def section(path, title):
    """The text of a page below a heading, to the next heading of its level."""
    text = (ROOT / path).read_text("utf-8")
    return re.split(r"^%s " % title.split(" ")[0], text[text.index("\n" + title + "\n") + len(title) + 2:], maxsplit=1, flags=re.M)[0]


def first_column(text):
    """Words in code in the first column of the tables of a text."""
    return [w.split(" ")[0] for cell in re.findall(r"^\| (`[^|]*`) \|", text, re.M) for w in re.findall(r"`([^`]+)`", cell)]


def test_tables():
    """Pages and modules that list rows of a table of the code list all of them, and no others."""
    kinds = rows_of("src/core/base/err.h", r'^    X\((\w+), (\d+), +"([^"]+)"\)')
    shown = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|$", section("docs/manual/errors.md", "## Kinds"), re.M)
    statuses = {code for _, code, _ in kinds} - {"0", "1"}
    of_models = set(re.search(r"^MODEL_KINDS = frozenset\(\((.*?)\)\.split", (ROOT / "python/libpdl/_errors.py").read_text("utf-8"), re.M | re.S).group(1).split())
    events = section("docs/manual/embedding.md", "## What happens").split(". ")[0]
    same = (
        ("docs/manual/errors.md, kinds", sorted(shown), sorted((k, "n" if k == "exit" else code, doc) for k, code, doc in kinds)),
        ("docs/manual/errors.md, exit status", sorted(statuses & set(re.findall(r"^\| (\d+) \|", section("docs/manual/errors.md", "## Exit status"), re.M))), sorted(statuses)),
        ("python/libpdl/_errors.py, MODEL_KINDS", {w.strip('"') for w in of_models} - {""}, {k for k, _, doc in kinds if doc.startswith("a model: ")}),
        ("docs/manual/policies.md, origins", sorted(first_column(section("docs/manual/policies.md", "## Origins"))), sorted(rows_of("src/core/value/label.h", r'^    X\((\w+), "'))),
        ("docs/manual/policies.md, sinks", set(rows_of("src/world/policy/sinks.def", r"^S\((\w+),")) - set(first_column((ROOT / "docs/manual/policies.md").read_text("utf-8"))), set()),
        ("docs/manual/embedding.md, events", sorted(w for w in re.findall(r"`(\w+)`", events) if w not in ("report", "blocks")), sorted(rows_of("src/machine/trace/events.def", r"^EVENT\((\w+),"))),
    )
    for what, have, want in same:
        check(what, have == want, have, "expected", want)


def test_pages_that_are_made(pdl):
    for tool, *args in (("patterns-page",), ("providers-page",), ("builtins-page", pdl), ("manual-pages",), ("assistant-pages",)):
        p = subprocess.run([sys.executable, ROOT / "tools" / tool, *args, "--check"], capture_output=True, check=False)
        check("tools/%s --check" % tool, p.returncode == 0, p.stdout.decode(), p.stderr.decode())


def test_options_in_messages():
    """A message that says `pdl COMMAND --option` names an option that the command has."""
    found = {}
    for file in [*(ROOT / "src").rglob("*.c"), *(ROOT / "src").rglob("*.def")]:
        text = re.sub(r'"\s*\n\s*"', "", file.read_text("utf-8"))
        for command, option in re.findall(r"\bpdl ([a-z]+)(?: [A-Z.]+)*(?: [a-z|]+)? (--[a-z][a-z-]+)", text):
            found.setdefault(command, {})[option] = file.name
    check("there are such messages", len(found) > 5, sorted(found))
    for command, options in sorted(found.items()):
        told = subprocess.run([str(Choice.build / "pdl"), command, "--help"], capture_output=True, text=True, timeout=60).stdout
        for option, file in sorted(options.items()):
            check("pdl %s %s" % (command, option), re.search(re.escape(option) + r"(?![\w-])", told), "in %s" % file)


# Variables that tests, the library itself or confined processes set.
INNER = {"PDL_STRESS", "PDL_SESSION", "PDL_DEPTH", "PDL_SANDBOX_WITHOUT", "PDL_SANDBOX_BACKEND"}


def test_variables_of_the_environment():
    """Each variable that the sources read is in the quick reference, which has those of the manual page."""
    page = (ROOT / "docs" / "manual" / "quick-reference.md").read_text("utf-8").split("## Variables of the environment", 1)[1]
    read = {name for file in (ROOT / "src").rglob("*.c") for name in re.findall(r'"(PDL_[A-Z_]+)"', file.read_text("utf-8"))}
    told = set(re.findall(r"`(PDL_[A-Z_]+)`", page))
    check("variables that are read", told == read - INNER, told ^ (read - INNER))
