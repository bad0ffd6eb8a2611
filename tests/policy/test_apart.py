"""Rows of a batch and requests of a server with a sandbox find nothing that another row or request left: neither in the private /tmp nor in the
process of code. Without a sandbox they share the process, as the manual says.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import os
import subprocess

from ..checks import check
from ..serve_of import start

CODE = """lang: python
code: |
  import builtins, os, tempfile
  path = tempfile.gettempdir() + '/left'
  found = [getattr(builtins, 'kept', 'nothing'), open(path).read() if os.path.exists(path) else 'nothing']
  builtins.kept = 'of ' + w
  open(path, 'w').write('of ' + w)
  result = ' '.join(found)
"""
BOX = ("--sandbox-min", "process", "--sandbox")


def test_rows(pdl, folder):
    (folder / "a.pdl").write_text("defs: {w: \"${ n }\"}\n" + CODE)
    (folder / "in.jsonl").write_text("".join(json.dumps({"n": "row%d" % i}) + "\n" for i in range(6)))
    for jobs in ("1", "3"):
        for more, alone in ((BOX, True), ((), False)):
            p = subprocess.run([pdl, "batch", *more, "--jobs", jobs, "--input", "in.jsonl", "--output", "out.jsonl", "--overwrite", "a.pdl"], cwd=folder,
                               env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}, capture_output=True, text=True, timeout=120)
            lines = [json.loads(x)["result"] for x in (folder / "out.jsonl").read_text().splitlines()]
            check(f"rows, {jobs} at a time, {more}", len(lines) == 6 and all(x.startswith("nothing nothing") for x in lines) == alone, lines, p.stderr)


def test_requests(pdl, folder):
    (folder / "a.pdl").write_text("defs: {w: \"${ question }\"}\n" + CODE)
    p, port = start(pdl, *BOX, str(folder / "a.pdl"), env={**os.environ, "HOME": str(folder)})
    try:
        for i in range(5):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            c.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": "r%d" % i}]}), {"Content-Type": "application/json"})
            told = json.loads(c.getresponse().read())
            check("request %d" % i, told.get("choices", [{}])[0].get("message", {}).get("content") == "nothing nothing", told)
    finally:
        p.terminate()
        p.communicate(timeout=60)
