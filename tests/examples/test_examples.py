# SPDX-License-Identifier: Apache-2.0
"""The example programs are replayed without network, key or Python; rag.pdl and chatbot.pdl also run for real. The output of NAME.pdl must be
expected/NAME.txt (PDL_UPDATE=1 writes it). Everything runs in a copy of examples/."""
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

from examples import serve
from ..checks import check
from ..harness.choice import ROOT

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = ROOT / "examples"
NAMES = ["hello", "ten", "tour", "chatbot", "react", "rag", "tools"]
FOLDERS = ["patterns", "eval", "security", "providers"]
QUIET = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH")


def quiet(path):
    return {**{k: v for k, v in os.environ.items() if k in QUIET}, "PATH": path}


@pytest.fixture
def work(folder):
    return pathlib.Path(shutil.copytree(EXAMPLES, folder / "examples"))


def run(argv, work, env, stdin=b""):
    p = subprocess.run([str(x) for x in argv], cwd=work, env=env, input=stdin, capture_output=True, timeout=120, check=False)
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def judge(title, outcome, file):
    status, out, err = outcome
    path = HERE / "expected" / (file + ".txt")
    if os.environ.get("PDL_UPDATE"):
        path.write_text(out, "utf-8")
    want = path.read_text("utf-8")
    coloured = title == "replay of patterns/qwen"  # the program asks for it
    check(title, status == 0 and out == want and ("\033" in out) == coloured,
          "exit status %d\n--- expected\n%s--- standard output\n%s--- standard error\n%s" % (status, want, out, err))


def folders_of(journal):
    """Where the program files stood that a recording names by their full path: <folder>/lib/..."""
    with contextlib.closing(sqlite3.connect(journal)) as db:
        found = [json.loads(reply.partition("\n#")[0]) for (reply,) in db.execute("select reply from effects where kind = 'source' and reply like '{%'")]
    found = [f.get("value") if f.get("$pdl") == "labelled" else f for f in found]  # with a policy
    paths = [f["path"] for f in found if isinstance(f, dict)]
    return {path.partition("/lib/")[0] for path in paths if path.startswith("/")}


@pytest.mark.parametrize("kind", ["", *FOLDERS])
def test_replay(kind, pdl, work):
    names = NAMES if not kind else sorted("%s/%s" % (kind, p.stem) for p in (EXAMPLES / kind).glob("*.pdl"))
    for name in names:
        judge("replay of " + name, run([pdl, "--replay", name + ".journal", name + ".pdl"], work, quiet("/nonexistent")), name)


def test_run(pdl, work):
    server = serve.serve().start()
    questions = (work / "questions.txt").read_bytes()
    for name in ["chatbot", "rag"]:
        url = "%s/s/%s/v1" % (server.url, name)
        env = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        judge("run of " + name, run([pdl, name + ".pdl"], work, env, questions), name)


def test_folders_in_journals():
    for journal in sorted(p for p in EXAMPLES.glob("**/*.journal") if p.parent.name != "batch"):
        strangers = folders_of(journal) - {"/usr/local/share/pdl"}
        check("folders in %s" % journal.name, not strangers, sorted(strangers))


def test_batch(pdl, work):
    judge("batch/run.sh", run(["/bin/sh", "batch/run.sh", pdl], work, quiet("/usr/bin:/bin")), "batch")


def test_demo(pdl, work):
    status, out, err = run(["/bin/sh", "demo.sh", pdl], work, quiet("/usr/bin:/bin"))
    missing = [n for n in NAMES if (HERE / "expected" / (n + ".txt")).read_text("utf-8") not in out]
    check("demo.sh", status == 0 and not missing and "\033" not in out, "exit status %d" % status, "it lacks", missing, err)
