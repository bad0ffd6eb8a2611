"""Approvals of runs that are parked (pdl answer), and what a policy hides in what goes to a collector of telemetry.
SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import http_of  # noqa: E402
from checks import check, finish  # noqa: E402

PDL = Path(sys.argv[1]).resolve() / "pdl"
ASKS = """
policy:
  policy: 1
  rules: [{sink: command, allow: [user], otherwise: approve}]
  otherwise: allow
text:
- {def: note, contribute: [], read: note.txt}
- {lang: command, args: [sh, -c, 'echo "$0" >> done.txt; echo done', "${ note }"], fallback: refused}
"""
HIDES = """
policy:
  policy: 1
  labels: {secret: [{read: note.txt}]}
  rules: [{sink: trace, deny: [secret]}]
  otherwise: allow
text:
- {def: note, contribute: [], read: note.txt}
- {lang: command, args: [echo, "${ note }"]}
- {lang: command, args: [echo, nobody minds]}
"""
got = []


class Handler(http_of.Quiet):
    def do_POST(self):
        got.append(self.body().decode("utf-8", "replace"))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


def run(d, *args):
    env = {**os.environ, "HOME": d, "XDG_STATE_HOME": d + "/state"}
    p = subprocess.run([PDL, *args], cwd=d, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, start_new_session=True)
    return p.returncode, p.stdout.strip(), p.stderr


with tempfile.TemporaryDirectory() as d:
    Path(d, "a.pdl").write_text(ASKS)
    Path(d, "note.txt").write_text("words of a file")
    for name, answer in (("yes", "y"), ("no", "n"), ("else", "yes please"), ("word", "yes"), ("upper", "Y")):
        want, done = ("done", True) if answer == "y" else ("refused", False)
        Path(d, "done.txt").unlink(missing_ok=True)
        r = run(d, "--durable", "--park", "--id", name, "a.pdl")
        check(name + ": the run is parked", r[0] == 75 and "The policy asks" in r[2] and "UNTRUSTED, from file" in r[2] and not Path(d, "done.txt").exists(), r)
        r = run(d, "answer", name, "--at", "text.1.code.approval", answer)
        check(name + ": answered", r[0] == 0, r)
        r = run(d, "resume", name)
        check(name + ": it goes on", r[0] == 0 and r[1] == want and Path(d, "done.txt").exists() == done, r)
    Path(d, "done.txt").write_text("")
    r = run(d, "resume", "yes")
    check("an approval is not asked for, nor what it allowed done, again", Path(d, "done.txt").read_text() == "", r)

    server = http_of.serve(Handler)
    Path(d, "b.pdl").write_text(HIDES)
    r = run(d, "--otlp", "http://127.0.0.1:%d/v1/traces" % server.server_address[1], "--otlp-content", "b.pdl")
    sent = "".join(got)
    check("the run", r[0] == 0 and "words of a file" in r[1], r)
    check("texts are sent", "nobody minds" in sent, (r, sent[:500]))
    check("but not what the policy hides in traces", "words of a file" not in sent, sent[:3000])

sys.exit(finish())
