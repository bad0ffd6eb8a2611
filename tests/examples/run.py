#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py -- the example programs: replayed without network, key or Python, and rag.pdl and chatbot.pdl for real.

    tests/examples/run.py PDL_BINARY [--update]

The output of NAME.pdl must be expected/NAME.txt. Everything runs in a copy of examples/. Last line: `N passed, N failed`.
"""
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
NAMES = ["hello", "ten", "tour", "chatbot", "react", "rag", "tools"]
PATTERNS = sorted("patterns/" + p.stem for p in (EXAMPLES / "patterns").glob("*.pdl"))
PATTERNS += sorted("eval/" + p.stem for p in (EXAMPLES / "eval").glob("*.pdl"))
PATTERNS += sorted("security/" + p.stem for p in (EXAMPLES / "security").glob("*.pdl"))
PATTERNS += sorted("providers/" + p.stem for p in (EXAMPLES / "providers").glob("*.pdl"))
sys.dont_write_bytecode = True
sys.path.insert(0, str(EXAMPLES))
import serve  # noqa: E402


def run(argv, work, env, stdin=b""):
    p = subprocess.run([str(x) for x in argv], cwd=work, env=env, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def folders_of(journal):
    """Where the program files stood that a recording names by their full path: <folder>/lib/..."""
    with contextlib.closing(sqlite3.connect(journal)) as db:
        found = [json.loads(reply) for (reply,) in db.execute("select reply from effects where kind = 'source' and reply like '{%'")]
    found = [f.get("value") if f.get("$pdl") == "labelled" else f for f in found]  # with a policy
    paths = [f["path"] for f in found if isinstance(f, dict)]
    return {path.partition("/lib/")[0] for path in paths if path.startswith("/")}


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(args) != 1:
        sys.exit(__doc__)
    pdl = pathlib.Path(args[0]).resolve()
    if pdl.is_dir():
        pdl = pdl / "pdl"
    quiet = {k: v for k, v in os.environ.items() if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH")}
    server = serve.serve().start()
    passed = failed = 0

    def check(title, outcome, want):
        nonlocal passed, failed
        status, out, err = outcome
        coloured = title == "replay of patterns/qwen"  # the program asks for it
        if status == 0 and out == want and ("\033" in out) == coloured:
            passed += 1
            return
        failed += 1
        print("FAIL %s: exit status %d\n--- expected\n%s--- standard output\n%s--- standard error\n%s" % (title, status, want, out, err))

    with tempfile.TemporaryDirectory(prefix="pdl_examples_") as tmp:
        work = pathlib.Path(tmp) / "examples"
        shutil.copytree(EXAMPLES, work)
        for name in NAMES + PATTERNS:
            outcome = run([pdl, "--replay", name + ".journal", name + ".pdl"], work, {**quiet, "PATH": "/nonexistent"})
            file = HERE / "expected" / (name + ".txt")
            if "--update" in sys.argv:
                file.write_text(outcome[1], "utf-8")
            check("replay of " + name, outcome, file.read_text("utf-8"))
        questions = (work / "questions.txt").read_bytes()
        for name in ["chatbot", "rag"]:
            url = "%s/s/%s/v1" % (server.url, name)
            env = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
            check("run of " + name, run([pdl, name + ".pdl"], work, env, questions), (HERE / "expected" / (name + ".txt")).read_text("utf-8"))
        for journal in sorted(p for p in work.glob("**/*.journal") if p.parent.name != "batch"):
            strangers = folders_of(journal) - {"/usr/local/share/pdl"}
            check("folders in %s: %s" % (journal.name, " ".join(sorted(strangers))), (0, "", ""), " ".join(sorted(strangers)))
        outcome = run(["/bin/sh", "batch/run.sh", pdl], work, {**quiet, "PATH": "/usr/bin:/bin"})
        if "--update" in sys.argv:
            (HERE / "expected" / "batch.txt").write_text(outcome[1], "utf-8")
        check("batch/run.sh", outcome, (HERE / "expected" / "batch.txt").read_text("utf-8"))
        outcome = run(["/bin/sh", "demo.sh", pdl], work, {**quiet, "PATH": "/usr/bin:/bin"})
        missing = [n for n in NAMES if (HERE / "expected" / (n + ".txt")).read_text("utf-8") not in outcome[1]]
        check("demo.sh" + (" lacks " + " ".join(missing) if missing else ""), outcome, "" if missing else outcome[1])
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
