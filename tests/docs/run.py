#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py -- runs the programs of the manual and compares what they print.

    tests/docs/run.py PDL_BINARY [PAGE.md ...]

In docs/manual, docs/messages.md and README.md a fenced block ```pdl with a block ```output or ```error after it is a test: the program is run and must print exactly
that on standard output (```output, exit status 0) or on standard error (```error, another status); white space at the end does not count. Words behind
`pdl`: `file=NAME` (default main.pdl), `args=TEXT` up to the end of the line. A block ```input between them is standard input; other blocks with
file=NAME are written beside the programs of the page. A block ```sh run is a test, too: commands, with `pdl` among them. A block ```replies, a JSON list as for `pdl mock --replies`, is what openai/gpt-4o-mini says. Other models are those of the conformance kit (openai/echo, openai/upper, ...).
A block ```sh server is a command `pdl mock ...` or `pdl serve ...`, as a reader types it in a second terminal: it is started (on a free port), and
answers what follows on the page, up to the next such block.

In docs/internals each page is a test: the names with an underscore and the paths that it sets as `code` must occur in the source tree, and a name
that a file follows (`pdl_run_start` (`vm/run.c`), `main` in `cli/main.c`) must occur in that file.
Last line: `N passed, N failed`.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "examples"))
import serve  # noqa: E402
from serve import model_server  # noqa: E402

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)


def option(info, key, default=None):
    m = re.search(r"\b%s=(%s)" % (key, ".*" if key == "args" else r"\S+"), info)
    return m.group(1).strip() if m else default


def cases(text):
    """(line, file, args, stdin, kind, expected) for each program with an expectation; ("file", name, text) for files, ("server", line, command)."""
    program = stdin = replies = None
    for m in FENCE.finditer(text):
        kind, info, body = m.groups()
        line = text.count("\n", 0, m.start()) + 1
        if kind == "pdl":
            name = option(info, "file", "main.pdl")
            program, stdin, replies = (line, name, option(info, "args", "")), "", []
            yield "file", name, body
        elif kind == "sh" and "run" in info.split():
            program, stdin, replies = (line, None, body), "", []
        elif kind == "sh" and "server" in info.split():
            yield "server", line, body
        elif kind == "input" and program:
            stdin = body
        elif kind == "replies" and program:
            replies = [r["reply"] if isinstance(r, dict) and "reply" in r else r for r in json.loads(body)]
        elif kind in ("output", "error") and program:
            yield "case", program + (stdin, kind, body), replies
            program = None
        else:
            program = None
            if option(info, "file"):
                yield "file", option(info, "file"), body


def run_case(pdl, work, env, case):
    line, name, args, stdin, kind, want = case
    argv = ["sh", "-c", 'exec "$0" %s %s' % (args, name), str(pdl)]
    if name is None:
        argv = ["sh", "-c", 'pdl() { "$0" "$@"; }\n' + args, str(pdl)]
    p = subprocess.run(argv, cwd=work, env=env, input=stdin.encode(), capture_output=True, timeout=60)
    got = (p.stdout if kind == "output" else p.stderr).decode("utf-8", "replace")
    if got.rstrip() == want.rstrip() and (p.returncode == 0) == (kind == "output"):
        return None
    return "exit status %d\n--- expected %s\n%s--- standard output\n%s--- standard error\n%s" % (
        p.returncode, kind, want, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"))


class Server:
    """What a block ```sh server starts; `url` is the address that it prints."""

    def __init__(self, pdl, work, command):
        log = pathlib.Path(work) / "server.log"
        with log.open("w") as out:
            self.process = subprocess.Popen([str(pdl)] + shlex.split(command)[1:] + ["--port", "0"], cwd=work, stdout=out, stderr=subprocess.STDOUT)
        for _ in range(600):
            found = re.search(r"(http://\S+/v1)\s", log.read_text("utf-8"))
            if found:
                self.url = found.group(1)
                return
            time.sleep(0.1)
        self.stop()
        sys.exit("%s prints no address:\n%s" % (command.strip(), log.read_text("utf-8")))

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run_page(pdl, server, page):
    """-> (passed, failed)"""
    passed = failed = 0
    started = None
    with tempfile.TemporaryDirectory(prefix="pdl_docs_") as work:
        for what, *rest in cases(page.read_text("utf-8")):
            if what == "file":
                (pathlib.Path(work) / rest[0]).write_text(rest[1], "utf-8")
                continue
            if what == "server":
                if started:
                    started.stop()
                started = Server(pdl, work, rest[1])
                continue
            session = "%s-%d" % (page.stem, rest[0][0])
            server.sessions[session] = model_server.Session({"default": rest[1]})
            url = started.url if started else "%s/s/%s/v1" % (server.url, session)
            env = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "NO_COLOR": "1"}
            why = run_case(pdl, work, env, rest[0])
            passed += why is None
            failed += why is not None
            if why:
                print("FAIL %s:%d: %s" % (page.name, rest[0][0], why))
    if started:
        started.stop()
    return passed, failed


def source_names():
    names = set()
    for folder, pattern in [("src", "*/**/*"), ("include", "*"), ("tools", "*"), ("lib", "*"), ("tests", "*"), (".", "Makefile")]:
        for path in (ROOT / folder).glob(pattern):
            if path.is_file() and path.suffix in ("", ".c", ".h", ".def", ".py", ".pdl", ".build"):
                names.update(re.findall(r"\w+", path.read_text("utf-8", "replace")))
    return names


def exists(word, names, files):
    if "*" in word:
        return True
    rooms = {f.split("/")[1] for f in files if f.startswith("src/")} | {"src", "tools", "lib", "tests", "docs", "examples"}
    if ("/" in word and word.split("/")[0] in rooms) or re.search(r"\.(c|h|def|md|py|pdl|jsonl)$", word):
        tail = word.rstrip("/")
        return (ROOT / tail).exists() or any(f == tail or f.endswith("/" + tail) for f in files)
    return "_" not in word or "-" in word or word in names or word.isupper()


def unknown_words(page, names, files):
    """Words in inline code of a page that name nothing."""
    text = re.sub(r"^(```.*?^```$|    .*?$)", "", page.read_text("utf-8"), flags=re.M | re.S)
    words = {w for code in re.findall(r"`([^`\n]+)`", text) for w in re.findall(r"[A-Za-z_][\w./*-]*", code)}
    return sorted(w for w in words if not exists(w.rstrip("."), names, files))


def misplaced(page):
    """Names of a page that are not in the file given right after them: `pdl_run_start` (`vm/run.c`"""
    pairs = re.findall(r"`(\w+)`\s+(?:in\s+|\()`(\w+/[\w./-]+\.(?:c|h|def))`", page.read_text("utf-8"))
    return ["%s in %s" % (name, path) for name, path in pairs
            if not (ROOT / "src" / path).is_file() or not re.search(r"\b%s\b" % name, (ROOT / "src" / path).read_text("utf-8"))]


def check_names():
    """-> (passed, failed)"""
    names = source_names()
    files = [str(p.relative_to(ROOT)) for d in ("src", "tools", "lib", "tests", "docs", "examples") for p in (ROOT / d).rglob("*")]
    passed = failed = 0
    for page in sorted((ROOT / "docs" / "internals").glob("*.md")):
        bad = unknown_words(page, names, files) + misplaced(page)
        passed += not bad
        failed += bool(bad)
        if bad:
            print("FAIL %s: not in the source: %s" % (page.name, ", ".join(bad)))
    return passed, failed


def requests_of_effects():
    """{kind: its fields in order, with a question mark where they may be missing}, of the table that the code is made of."""
    text = (ROOT / "src" / "effect" / "effects.def").read_text("utf-8")
    kinds = {k: [] for k in re.findall(r"^EFFECT\((\w+),", text, re.M)}
    for kind, field, forms in re.findall(r"^ +ASK\((\w+), (\w+), ([^,]*),", text, re.M):
        kinds[kind].append(field + ("?" if "MISSING" in forms else ""))
    return kinds


def check_requests():
    """The fields of requests in the page for host programs and in the header are those of the table; [what is wrong]."""
    kinds = requests_of_effects()
    inside = {"object", "permit"}  # no handler gets them
    page = (ROOT / "docs" / "manual" / "embedding.md").read_text("utf-8")
    page = page[page.index("## Answer requests yourself"):]
    rows = {k: [f.strip() for f in fields.split(",") if f.strip()] for k, fields in re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|[^|]*\|$", page, re.M) if k in kinds}
    header = (ROOT / "include" / "pdl.h").read_text("utf-8")
    header = header[header.index("/* --- what the host program answers itself"):header.index("typedef void pdl_handler_fn")]
    items = re.sub(r"\n \*   ", " ", header)
    said = {k: [f.strip() for f in fields.split(",") if f.strip()] for k, fields in re.findall(r"^ \* - (\w+):[^{\n]*\{([^}]*)\}", items, re.M)}
    wrong = []
    for where, have in (("docs/manual/embedding.md", rows), ("include/pdl.h", said)):
        for kind in sorted(set(kinds) - inside | set(have)):
            if have.get(kind) != kinds.get(kind):
                wrong.append("%s: a request of kind %s has %s, not %s" % (where, kind, kinds.get(kind), have.get(kind)))
    return wrong


def rows_of(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text("utf-8"), re.M)


def section(path, title):
    """The text of a page below a heading, to the next heading of its level."""
    text = (ROOT / path).read_text("utf-8")
    return re.split(r"^%s " % title.split(" ")[0], text[text.index("\n" + title + "\n") + len(title) + 2:], maxsplit=1, flags=re.M)[0]


def first_column(text):
    """Words in code in the first column of the tables of a text."""
    return [w.split(" ")[0] for cell in re.findall(r"^\| (`[^|]*`) \|", text, re.M) for w in re.findall(r"`([^`]+)`", cell)]


def check_tables():
    """Pages and modules that list rows of a table of the code list all of them, and no others; [what is wrong]."""
    kinds = rows_of("src/base/err.h", r'^    X\((\w+), (\d+), +"([^"]+)"\)')
    shown = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|$", section("docs/manual/errors.md", "## Kinds"), re.M)
    statuses = {code for _, code, _ in kinds} - {"0", "1"}
    of_models = set(re.search(r"^MODEL_KINDS = frozenset\(\((.*?)\)\.split", (ROOT / "python/libpdl/_errors.py").read_text("utf-8"), re.M | re.S).group(1).split())
    events = section("docs/manual/embedding.md", "## What happens").split(". ")[0]
    same = (
        ("docs/manual/errors.md, kinds", sorted(shown), sorted((k, "n" if k == "exit" else code, doc) for k, code, doc in kinds)),
        ("docs/manual/errors.md, exit status", sorted(statuses & set(re.findall(r"^\| (\d+) \|", section("docs/manual/errors.md", "## Exit status"), re.M))), sorted(statuses)),
        ("python/libpdl/_errors.py, MODEL_KINDS", {w.strip('"') for w in of_models} - {""}, {k for k, _, doc in kinds if doc.startswith("a model: ")}),
        ("docs/manual/policies.md, origins", sorted(first_column(section("docs/manual/policies.md", "## Origins"))), sorted(rows_of("src/value/label.h", r'^    X\((\w+), "'))),
        ("docs/manual/policies.md, sinks", set(rows_of("src/policy/sinks.def", r"^S\((\w+),")) - set(first_column((ROOT / "docs/manual/policies.md").read_text("utf-8"))), set()),
        ("docs/manual/embedding.md, events", sorted(w for w in re.findall(r"`(\w+)`", events) if w not in ("report", "blocks")), sorted(rows_of("src/trace/events.def", r"^EVENT\((\w+),"))),
    )
    return ["%s: %s, expected %s" % (what, have, want) for what, have, want in same if have != want]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pdl = pathlib.Path(sys.argv[1]).resolve()
    if pdl.is_dir():
        pdl = pdl / "pdl"
    pages = [pathlib.Path(a) for a in sys.argv[2:]] or sorted((ROOT / "docs" / "manual").glob("*.md")) + [ROOT / "docs" / "messages.md", ROOT / "README.md"]
    server = serve.start().start()
    passed, failed = check_names() if len(sys.argv) == 2 else (0, 0)
    if len(sys.argv) == 2:
        stale = subprocess.run([sys.executable, ROOT / "tools" / "patterns-page", "--check"]).returncode
        passed, failed = passed + (not stale), failed + stale
        want = subprocess.run([str(pdl), "__builtins"], capture_output=True, text=True, check=True).stdout
        same = (ROOT / "docs" / "manual" / "builtins.md").read_text("utf-8") == want
        passed, failed = passed + same, failed + (not same)
        if not same:
            print("FAIL docs/manual/builtins.md: run pdl __builtins > docs/manual/builtins.md")
        stale = subprocess.run([sys.executable, ROOT / "tools" / "providers-page", "--check"], stdout=subprocess.DEVNULL).returncode
        passed, failed = passed + (not stale), failed + stale
        if stale:
            print("FAIL docs/providers.md: run tools/providers-page")
        wrong = check_requests() + check_tables()
        passed, failed = passed + (not wrong), failed + bool(wrong)
        for why in wrong:
            print("FAIL " + why)
    for page in pages:
        good, bad = run_page(pdl, server, page)
        passed, failed = passed + good, failed + bad
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
