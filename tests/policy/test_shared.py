"""Runs that reach the same process of code: rows of a batch, requests of a server with and without a key, and sessions that begin again. What one
run has left there has its labels in the next one.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

PDL = Path(sys.argv[1]).resolve() / "pdl"
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


def answers(port, keyed):
    for i, (word, _) in enumerate(ROWS):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        key = {"Idempotency-Key": "k%d" % i} if keyed(i) else {}
        c.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": word}]}), {"Content-Type": "application/json", **key})
        yield json.loads(c.getresponse().read())["choices"][0]["message"]["content"].strip()


def server(env, d, keyed, *more):
    p = subprocess.Popen([PDL, "serve", "--port", "0", *more, "a.pdl"], cwd=d, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        return list(answers(int(re.search(r"http://[^ ]*?:(\d+)", p.stderr.readline()).group(1)), keyed))
    finally:
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=60)


for name, keyed, more in (("requests", lambda i: False, ()), ("requests with a cache", lambda i: False, ("--cache", "c")), ("requests of a durable server", lambda i: False, ("--durable",)),
                          ("keys", lambda i: True, ("--durable",)), ("keys and a cache", lambda i: True, ("--durable", "--cache", "c")),
                          ("a key every second time", lambda i: i % 2, ("--durable",)), ("and the other ones", lambda i: i % 2 == 0, ("--durable",))):
    with tempfile.TemporaryDirectory() as d:
        Path(d, "a.pdl").write_text(PROGRAM % "${ question }")
        Path(d, "p.yaml").write_text(json.dumps(DENY))
        env = {**os.environ, "HOME": d, "PDL_RUNS": d + "/runs", "PDL_POLICY": "p.yaml"}
        got = server(env, d, keyed, *more)
        for (word, wanted), answer in zip(ROWS, got):
            check("%s: %s" % (name, word), answer == wanted or not wanted and answer in ("nothing", "policy"), got)
for more in ((), ("--cache", "c"), ("--keep",)):
    with tempfile.TemporaryDirectory() as d:
        Path(d, "a.pdl").write_text(PROGRAM % "${ w }")
        Path(d, "p.yaml").write_text(json.dumps(DENY))
        Path(d, "in.jsonl").write_text("".join(json.dumps({"w": w}) + "\n" for w, _ in ROWS))
        env = {**os.environ, "HOME": d, "PDL_POLICY": "p.yaml"}
        p = subprocess.run([PDL, "batch", "a.pdl", "--jobs", "1", *more, "--input", "in.jsonl", "--output", "out.jsonl"], cwd=d, env=env, capture_output=True, text=True, timeout=120)
        got = [str(json.loads(line)["result"]).strip() for line in Path(d, "out.jsonl").read_text().splitlines()] if Path(d, "out.jsonl").exists() else p.stderr
        for (word, wanted), answer in zip(ROWS, got):
            check("rows %s: %s" % (more, word), answer == wanted or not wanted and answer in ("nothing", "policy"), got)
# durable: deny, with a key and without: what is refused is not in the journal of the server
for keyed in (True, False):
    with tempfile.TemporaryDirectory() as d:
        Path(d, "a.pdl").write_text('lang: command\nargs: [echo, "${ question }"]\nfallback: "${ pdl_error.kind }"\n')
        Path(d, "p.yaml").write_text(json.dumps({"policy": 1, "rules": [{"sink": "journal", "deny": ["user"], "durable": "deny"}], "otherwise": "allow"}))
        got = server({**os.environ, "HOME": d, "PDL_RUNS": d + "/runs", "PDL_POLICY": "p.yaml"}, d, lambda i: keyed, "--durable")
        held = b"".join(f.read_bytes() for f in Path(d, "runs").iterdir() if f.is_file())
        check("durable: deny, %s" % keyed, set(got) == {"policy"} and b"put a" not in held, got)
# sessions that cannot begin, since objects of too many are in use, leave nobody in a process without its labels
MANY = """defs: {w: {data: "x y", parser: yaml}}
text:
- defs: {w: {read: note}}
  lang: python
  code: "import builtins\\nbuiltins.kept = w\\nclass A: pass\\nresult = A()"
  def: first
  contribute: []
- for: {i: "${ range(40) }"}
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
with tempfile.TemporaryDirectory() as d:
    Path(d, "a.pdl").write_text(MANY)
    Path(d, "note").write_text("abc")
    p = subprocess.run([PDL, "--policy", "default", "a.pdl"], cwd=d, env={**os.environ, "HOME": d}, capture_output=True, text=True, timeout=300)
    check("more sessions with objects than there may be", p.stdout.startswith("limit ") and "abc" not in p.stdout, p.stdout, p.stderr)
sys.exit(finish())
