# SPDX-License-Identifier: Apache-2.0
"""pdl explain accepts the options of runs: replies of a cache are used and not counted, a budget is compared with the known use, and spans are sent
to a collector."""
import http.server
import json
import os
import subprocess
import threading

from ..checks import check
from ..docs.test_pages import Server

PROGRAM = """
text:
- {def: a, model: openai/upper, input: hello, parameters: {max_tokens: 10}}
- {model: openai/upper, input: "and ${ a }", parameters: {max_tokens: 10}}
"""


class Collector(http.server.BaseHTTPRequestHandler):
    got = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Collector.got += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def test_explain(pdl, folder):
    (folder / "a.pdl").write_text(PROGRAM)
    (folder / "one.pdl").write_text("{model: openai/upper, input: hello, parameters: {max_tokens: 10}}")
    server = Server(pdl, folder, "pdl mock")
    env = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "mock"}

    def run(*args, **more):
        r = subprocess.run([str(pdl), *args], cwd=folder, env={**env, **more}, capture_output=True, text=True, timeout=60, check=False)
        return r.returncode, r.stdout, r.stderr

    def explain(*args, **more):
        code, out, err = run("explain", "--json", *args, "a.pdl", **more)
        check("explain %s" % " ".join(args), code == 0, out, err)
        return json.loads(out)

    r = explain("--cache", "c.db")
    check("no file is made", not (folder / "c.db").exists() and r["totals"]["calls"] == 1 and "from_cache" not in r["totals"], r)
    run("--cache", "c.db", "one.pdl")
    r = explain("--cache", "c.db")
    check("a reply of the cache", r["totals"]["calls"] == 1 and r["totals"]["from_cache"] == 1 and not r["not_known"], r)
    check("is used", r["calls"][0]["messages"][0]["content"] == "and HELLO", r)
    check("in words", "from the cache: 1 call, not counted\n" in run("explain", "--cache", "c.db", "a.pdl")[1])
    run("--cache", "c.db", "a.pdl")
    r = explain("--cache", "c.db")
    check("all are there", r["totals"]["calls"] == 0 and r["totals"]["from_cache"] == 2, r)
    for budget, over in (("calls=1", []), ("calls=0", ["calls"]), ("tokens=16,cost=1", []), ("tokens=15", ["tokens"]), ("seconds=1", [])):
        r = explain("--budget", budget)
        check("budget %s" % budget, [b["item"] for b in r["budget"] if b["over"]] == over, r["budget"])
    check("in words", "budget: calls 1 of 0: the run would stop\n" in run("explain", "--budget", "calls=0", "a.pdl")[1])
    check("in words", "budget: what is known does not exceed it\n" in run("explain", "--budget", "calls=2", "a.pdl")[1])
    check("jobs hide no call", explain("--jobs", "1")["totals"] == explain()["totals"])
    check("jobs are read", run("explain", "--jobs", "0", "a.pdl")[0] == 2)
    server.stop()
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d/v1/traces" % collector.server_address[1]
    explain("--otlp", url)
    check("spans are sent", Collector.got == 1, Collector.got)
    explain(PDL_OTLP="1", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=url)
    r = subprocess.run([str(pdl), "repl", "--otlp", url], input="text: hi\n\n", cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    check("of the repl, too", Collector.got == 2 and "hi" in r.stdout, (Collector.got, r.stdout, r.stderr))
    Collector.got = 1
    check("but not for the environment alone, which speaks of runs", Collector.got == 1, Collector.got)
    collector.shutdown()


def test_what_is_allowed_is_judged(pdl, folder):
    """--allow does what a run would do, so a policy is in force: of the command line, the environment and the program."""
    action = "defs: {x: {read: mail}}\nlang: command\nargs: [sh, -c, '${ x }']\n"
    (folder / "mail").write_text("touch executed")
    (folder / "inner.pdl").write_text("policy: strict\n" + action)
    ways = {"none": ("", (), {}), "an option": ("", ("--policy", "careful"), {}), "the environment": ("", (), {"PDL_POLICY": "careful"}),
            "the program": ("policy: careful\n", (), {}), "a module": (None, (), {})}
    for name, (root, args, env) in ways.items():
        (folder / "a.pdl").write_text(root + action if root is not None else "text: [{include: inner.pdl}]\n")
        p = subprocess.run([pdl, "explain", "--allow", "read,command", *args, "a.pdl"], cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False)
        done = (folder / "executed").exists()
        (folder / "executed").unlink(missing_ok=True)
        check("policy of %s" % name, done == (name == "none") and ("refuses argument 2 of sink command sh" in p.stderr) != done, p.stdout, p.stderr)
    p = subprocess.run([pdl, "explain", "--policy", "nothing", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    check("a policy that is not there", p.returncode == 2 and "there is no policy 'nothing'" in p.stderr, p.returncode, p.stderr)


def test_what_the_output_hides(pdl, folder):
    (folder / "note").write_text("HIDDEN")
    (folder / "p.yaml").write_text("{policy: 1, labels: {secret: [{read: note}]}, rules: [{sink: output, deny: [secret]}], otherwise: allow}")
    (folder / "a.pdl").write_text('defs: {x: {read: note}}\nmodel: openai/m\ninput: "tell ${ x }"\nparameters: {stop: ["${ x }"], api_key: k}\n')
    for more in ((), ("--json",)):
        for policy, hidden in (((), False), (("--policy", "p.yaml"), True)):
            p = subprocess.run([pdl, "explain", "--allow", "read", *more, *policy, "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
            check("%s, %s" % (more, policy), p.returncode == 0 and ("HIDDEN" in p.stdout) != hidden and ("[secret]" in p.stdout) == hidden, p.stdout, p.stderr)
