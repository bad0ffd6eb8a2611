# SPDX-License-Identifier: Apache-2.0
"""The evaluation of agents: parallel questions, every score, files, and how to continue after a stop. The scripted model of examples/serve.py answers
the questions of examples/eval/cot.jsonl."""
import json
import os
import shutil
import subprocess

import pytest

from examples import serve
from ..checks import check
from ..conformance.check_patterns import message
from ..harness.choice import ROOT

SCORES = """defs:
  eval: {import: lib/eval}
  agent: {function: {question: string}, return: "${ {'answer': question} if question != 'fails' else stdlib.fail('no idea') }"}
  items: {data: %s}
  report: {call: "${ eval.run }", args: {agent: "${ agent }", items: "${ items }", score: %s%s}}
text: "${ report.right } ${ report.total } ${ report.rows | map(attribute='right') | list | json }\\n"
"""
# What the agent says, what is expected, and which scores find it right.
ROWS = [
    ("Paris", "Paris", "exact contains"),
    (" Paris\n", "Paris", "exact contains"),
    ("It is PARIS.", "Paris", "contains"),
    ("Rome", "Paris", ""),
    ("1,204 or 42", 42, "numeric contains"),
    ("42.0000001", 42, "numeric contains"),
    ("43", 42, ""),
    ("123456789012345678901", 123456789012345678900, ""),
    ("no number", 42, ""),
    ("fails", "fails", ""),
]


@pytest.fixture
def work(folder):
    os.symlink(ROOT / "lib", folder / "lib")
    shutil.copytree(ROOT / "examples" / "eval", folder / "eval")
    return folder


@pytest.fixture
def server():
    return serve.start().start()


def run(pdl, work, name, url, *options):
    env = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    return subprocess.run([pdl, "--stream", "none", *options, name], cwd=work, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_scores(pdl, work):
    items = json.dumps([{"question": q, "expected": e} for q, e, _ in ROWS])
    for score in ("exact", "numeric", "contains"):
        (work / "scores.pdl").write_text(SCORES % (items, score, ""), "utf-8")
        p = run(pdl, work, "scores.pdl", "http://127.0.0.1:9")
        want = [score in fits.split() for _, _, fits in ROWS]
        check("score " + score, p.stdout.strip().endswith(json.dumps(want)), p.stdout, p.stderr, json.dumps(want))


def test_judge(pdl, work, server):
    server.sessions["judge"] = serve.model_server.Session({"default": {"Answer to judge: yes-man": [" Yes, it does."], "Answer to judge: other": ["No."]}})
    url = server.url + "/s/judge/v1"
    items = json.dumps([{"question": "yes-man", "expected": "x"}, {"question": "other", "expected": "x"}])
    (work / "scores.pdl").write_text(SCORES % (items, "judge", ", judge: openai/gpt-4o-mini"), "utf-8")
    p = run(pdl, work, "scores.pdl", url)
    check("score judge", p.stdout.startswith("1 2 [true, false]"), p.stdout, p.stderr)
    (work / "scores.pdl").write_text(SCORES % (items, "judge", ""), "utf-8")
    p = run(pdl, work, "scores.pdl", url)
    check("score judge without a judge", p.returncode == 1 and message(p.stderr).endswith("the score judge needs a model: judge"), p.stderr)


def test_files(pdl, work):
    save = "${ eval.save(report, 'table.txt', 'wrong.jsonl') }"
    (work / "files.pdl").write_text((SCORES % (json.dumps([{"question": "a", "expected": "a"}, {"question": "fails", "expected": "é"}]), "exact", "")
                                     ).rpartition("text:")[0] + "text: \"%s\"\n" % save, "utf-8")
    p = run(pdl, work, "files.pdl", "http://127.0.0.1:9")
    check("save", p.stdout.strip() == "1 of 2 right", p.stdout, p.stderr)
    check("the table", (work / "table.txt").read_text("utf-8") == "ok   a -> a (a)\nFAIL fails -> no idea (é)\n1 of 2 right\n")
    rows = [json.loads(x) for x in (work / "wrong.jsonl").read_text("utf-8").splitlines()]
    check("the wrong rows", rows == [{"question": "fails", "expected": "é", "answer": "", "error": "no idea", "right": False}], rows)


def test_stopped(pdl, work, server):
    """A run in which the server has replies for some questions only; with the rest it continues from the cache and asks the others alone."""
    replies = json.loads((ROOT / "examples" / "eval" / "replies.json").read_text("utf-8"))["cot"]
    some = {k: v for k, v in replies.items() if k.startswith(("A shelf", "A train"))}
    server.sessions["some"] = serve.model_server.Session({"default": {**some, "Three boxes": [{"status": 400, "error": "busy"}],
                                                                      "A snail": [{"status": 400, "error": "busy"}]}})
    server.sessions["rest"] = serve.model_server.Session({"default": {k: v for k, v in replies.items() if k not in some}})
    first = run(pdl, work, "eval/cot.pdl", server.url + "/s/some/v1", "--cache", "cache.db")
    check("a part is answered", first.stdout.count("ok  ") == 2 and "2 of 4 right" in first.stdout, first.stdout, first.stderr)
    second = run(pdl, work, "eval/cot.pdl", server.url + "/s/rest/v1", "--cache", "cache.db")
    check("the rest is asked", second.stdout.strip() == (ROOT / "tests" / "examples" / "expected" / "eval" / "cot.txt").read_text("utf-8").strip(),
               second.stdout, second.stderr)
    third = run(pdl, work, "eval/cot.pdl", "http://127.0.0.1:9", "--cache", "cache.db")
    check("nothing is asked", third.stdout == second.stdout, third.stdout, third.stderr)


def test_recorded(pdl, work, server):
    """Agents of several steps side by side: the recording answers them in whatever order they take turns."""
    replies = json.loads((ROOT / "examples" / "eval" / "replies.json").read_text("utf-8"))
    for name in ("distill", "json", "toolcall"):
        server.sessions["live"] = serve.model_server.Session({"default": replies[name]})
        live = run(pdl, work, "eval/%s.pdl" % name, server.url + "/s/live/v1", "--record", name + ".live")
        again = run(pdl, work, "eval/%s.pdl" % name, "http://127.0.0.1:9", "--replay", name + ".live", "--jobs", "1")
        check("a recording of " + name, live.returncode == 0 and again.stdout == live.stdout, live.stderr, again.stderr)
