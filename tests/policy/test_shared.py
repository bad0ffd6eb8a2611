# SPDX-License-Identifier: Apache-2.0
"""Runs that use the same process of code: rows of a batch, requests of a server with and without a key, and sessions that begin again. Whatever one
run has left there has the labels of that run in the next one."""
import http.client
import json
import os
import re
import signal
import subprocess
import time

import pytest

from ..checks import check
from ..harness.choice import sample

# what the word says: keep it in the process, begin a new session (and keep it), fetch what is there, or use an object
PROGRAM = """defs: {word: "%s"}
match: "${ word.split()[0] }"
with:
- case: put
  then: {lang: python, code: "import builtins\\nbuiltins.kept = word\\nresult = 1"}
- case: new
  then: {lang: python, session: new, code: "import builtins\\nbuiltins.kept = word\\nresult = 1"}
- case: empty
  then: {lang: python, session: new, code: "result = 1"}
- then:
    lastOf:
    - {def: o, contribute: [], lang: python, code: "import builtins\\nresult = getattr(builtins, 'kept', 'nothing')"}
    - {lang: command, args: [echo, "${ o }"], fallback: "${ pdl_error.kind }"}
"""
DENY = {"policy": 1, "rules": [{"sink": "command", "deny": ["user", "data"]}], "otherwise": "allow"}
# words, and what each answers; of an empty session nothing comes, but code of the same run may have left a file
ROWS = [("get", "nothing"), ("put a", "1"), ("get", "policy"), ("get", "policy"), ("empty", "1"), ("get", ""), ("new b", "1"), ("get", "policy"), ("empty", "1"), ("put c", "1"),
        ("get", "policy")]


MANY = """defs: {w: {data: "x y", parser: yaml}}
text:
- defs: {w: {read: note}}
  lang: python
  code: "import builtins\\nbuiltins.kept = w\\nclass A: pass\\nresult = A()"
  def: first
  contribute: []
- for: {i: "${ range(33) }"}
  repeat: {lang: python, session: new, code: "import builtins\\nbuiltins.kept = 'a' * 0\\nclass A: pass\\nresult = A()", fallback: "${ pdl_error.kind }"}
  join: {as: array}
  def: objects
  contribute: []
- "${ objects | select('string') | first } "
- for: {i: [1, 2]}
  repeat:
    lastOf:
    - {lang: python, code: "import builtins\\nresult = getattr(builtins, 'kept', 'nothing')", def: o, contribute: []}
    - {lang: command, args: [printf, "%s.", "${ o }"]}
  fallback: "${ pdl_error.kind }"
"""


def answers(port, keyed):
    for i, (word, _) in enumerate(ROWS):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        key = {"Idempotency-Key": "k%d" % i} if keyed(i) else {}
        c.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": word}]}), {"Content-Type": "application/json", **key})
        yield json.loads(c.getresponse().read())["choices"][0]["message"]["content"].strip()


def server(pdl, d, keyed, *more):
    """What a server of the program in the folder answers to each word."""
    env = {**os.environ, "HOME": str(d), "PDL_RUNS": str(d / "runs"), "PDL_POLICY": "p.yaml"}
    p = subprocess.Popen([pdl, "serve", "--port", "0", *more, "a.pdl"], cwd=d, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         start_new_session=True)
    try:
        return list(answers(int(re.search(r"http://[^ ]*?:(\d+)", p.stderr.readline()).group(1)), keyed))
    finally:
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=60)


def are_right(got):
    for (word, wanted), answer in zip(ROWS, got):
        check(word, answer == wanted or not wanted and answer in ("nothing", "policy"), got)


SERVERS = [("requests", lambda i: False, ()), ("requests with a cache", lambda i: False, ("--cache", "c")), ("requests of a durable server", lambda i: False, ("--durable",)),
           ("keys", lambda i: True, ("--durable",)), ("keys and a cache", lambda i: True, ("--durable", "--cache", "c")), ("a key every second time", lambda i: i % 2, ("--durable",)),
           ("and the other ones", lambda i: i % 2 == 0, ("--durable",))]


@pytest.mark.parametrize("name, keyed, more", sample(SERVERS, every=3))
def test_requests(pdl, folder, name, keyed, more):
    (folder / "a.pdl").write_text(PROGRAM % "${ question }")
    (folder / "p.yaml").write_text(json.dumps(DENY))
    are_right(server(pdl, folder, keyed, *more))


@pytest.mark.parametrize("more", [(), ("--cache", "c"), ("--keep",)], ids=["plain", "with a cache", "keeping"])
def test_rows(pdl, folder, more):
    (folder / "a.pdl").write_text(PROGRAM % "${ w }")
    (folder / "p.yaml").write_text(json.dumps(DENY))
    (folder / "in.jsonl").write_text("".join(json.dumps({"w": w}) + "\n" for w, _ in ROWS))
    p = subprocess.run([pdl, "batch", "a.pdl", "--jobs", "1", *more, "--input", "in.jsonl", "--output", "out.jsonl"], cwd=folder,
                       env={**os.environ, "HOME": str(folder), "PDL_POLICY": "p.yaml"}, capture_output=True, text=True, timeout=120, check=False)
    rows = (folder / "out.jsonl").read_text().splitlines() if (folder / "out.jsonl").exists() else []
    check("every row is there", len(rows) == len(ROWS), p.stderr)
    are_right([str(json.loads(line)["result"]).strip() for line in rows])


@pytest.mark.parametrize("keyed", [True, False], ids=["with a key", "without"])
def test_what_is_refused_is_not_in_a_journal(pdl, folder, keyed):
    (folder / "a.pdl").write_text('lang: command\nargs: [echo, "${ question }"]\nfallback: "${ pdl_error.kind }"\n')
    (folder / "p.yaml").write_text(json.dumps({"policy": 1, "rules": [{"sink": "journal", "deny": ["user"], "durable": "deny"}], "otherwise": "allow"}))
    got = server(pdl, folder, lambda i: keyed, "--durable")
    held = b"".join(f.read_bytes() for f in (folder / "runs").iterdir() if f.is_file())
    check("durable: deny", set(got) == {"policy"} and b"put a" not in held, got)


@pytest.mark.tier("all")
def test_sessions_that_cannot_begin(pdl, folder):
    """Since objects of too many are in use: they leave nobody in a process without its labels."""
    (folder / "a.pdl").write_text(MANY)
    (folder / "note").write_text("abc")
    p = subprocess.run([pdl, "--policy", "default", "a.pdl"], cwd=folder, env={**os.environ, "HOME": str(folder)}, capture_output=True, text=True, timeout=300, check=False)
    check("more sessions with objects than there may be", p.stdout.startswith("limit ") and "abc" not in p.stdout, p.stdout, p.stderr)


# entries, one run each: what a run leaves in a file has its labels in the later ones, and a file that nobody has touched has none
LEFT = {"policy": 1, "labels": {"secret": [{"read": "s.txt"}]}, "rules": [{"sink": "command", "deny": ["secret"]}, {"sink": "include", "deny": ["secret"]}], "otherwise": "allow",
        "trusted": [{"read": "prompts/**"}]}
ENTRIES = [("{read: s.txt, def: s, contribute: []}", ""),
           ("{lang: python, code: \"open('f.txt', 'w').write(s); open('g.pdl', 'w').write('text: ran'); open('prompts/p.txt', 'w').write(s); result = 'wrote'\"}", "wrote"),
           ("{lang: python, session: new, code: \"result = 'begun'\"}", "begun"),
           ("text: [{read: f.txt, def: f, contribute: []}, {lang: command, args: [echo, \"${ f }\"]}]", None),
           ("text: [{read: prompts/p.txt, def: f, contribute: []}, {lang: command, args: [echo, \"${ f }\"]}]", None),
           ("text: [{lang: command, args: [cat, f.txt], def: c, contribute: []}, {lang: command, args: [echo, \"${ c }\"]}]", None),
           ("{include: g.pdl}", None), ("{policy: {policy: 1, rules: [{sink: include, deny: [code]}], otherwise: allow}, include: g.pdl}", None),
           ("text: [{read: old.txt, def: o, contribute: []}, {lang: command, args: [printf, \"${ o }\"]}]", "old")]


def prepare(folder):
    (folder / "prompts").mkdir()
    (folder / "s.txt").write_text("hidden")
    (folder / "old.txt").write_text("old")
    (folder / "prompts" / "p.txt").write_text("old")
    (folder / "p.yaml").write_text(json.dumps(LEFT))
    time.sleep(0.05)  # the clock of files has steps; a file of the step in which a run begins counts as changed


def test_entries_of_an_interactive_session(pdl, folder):
    prepare(folder)
    p = subprocess.run([pdl, "repl", "--policy", "p.yaml"], cwd=folder, env={**os.environ, "HOME": str(folder)}, input="".join(e + "\n\n" for e, _ in ENTRIES), capture_output=True,
                       text=True, timeout=60, check=False)
    wanted = [w for _, w in ENTRIES if w]
    check("what is allowed", p.stdout.split() == wanted, p.stdout, p.stderr)
    check("what is refused", p.stderr.count("- policy") == sum(w is None for _, w in ENTRIES), p.stderr)


SERVED = """defs: {n: "${ question | int }"}
fallback: "${ pdl_error.kind }"
match: "${ n }"
with:
%s
"""


def test_requests_of_a_server_leave_files(pdl, folder):
    prepare(folder)
    entries = [(ENTRIES[1][0].replace("{lang", "{defs: {s: {read: s.txt}}, lang"), "wrote"), *ENTRIES[3:7]]
    (folder / "a.pdl").write_text(SERVED % "".join("- case: %d\n  then: %s\n" % (i, e if e.startswith("{") else "{%s}" % e) for i, (e, _) in enumerate(entries)))
    env = {**os.environ, "HOME": str(folder), "PDL_POLICY": "p.yaml"}
    p = subprocess.Popen([pdl, "serve", "--port", "0", "a.pdl"], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    got = []
    try:
        port = int(re.search(r"http://[^ ]*?:(\d+)", p.stderr.readline()).group(1))
        for i in range(len(entries)):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            c.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": str(i)}]}), {"Content-Type": "application/json"})
            got.append(json.loads(c.getresponse().read())["choices"][0]["message"]["content"].strip())
    finally:
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=60)
    check("what each request may", got == [w or "policy" for _, w in entries], got)
