# SPDX-License-Identifier: Apache-2.0
"""pdl view without a browser: which clients get answers, the answers, cut or hostile traces, and the files that it writes."""
import base64
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import pty
import re
import signal
import socket
import stat
import subprocess
import threading
import time
import xml.etree.ElementTree

from .. import http_of
from ..checks import check
from ..harness.choice import Choice

ROOT = pathlib.Path(__file__).resolve().parents[2]
PDL = str(Choice.build / "pdl")
PROGRAM = """defs:
  greet: {function: {who: string}, return: "Hello, ${ who }!"}
text:
- for: {name: [Ada, Grace]}
  repeat: {call: "${ greet }", args: {who: "${ name }"}}
  join: {with: ' '}
- def: n
  data: [1, 2]
- "<script>alert(1)</script>"
"""
FAILING = "text:\n- before\n- text: ${ 1 // 0 }\n"


def run(*args, **more):
    return subprocess.run([PDL, *map(str, args)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **more)


def trace_of(folder, name, program, *flags):
    (folder / (name + ".pdl")).write_text(program)
    run(folder / (name + ".pdl"), *flags, "--trace=" + str(folder / (name + ".json")))
    return folder / (name + ".json")


class View:
    """pdl view as a process; `address` is what it printed."""

    def __init__(self, *args, **more):
        self.p = subprocess.Popen([PDL, "view", *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.address = self.p.stdout.readline().strip()
        m = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/open/([0-9a-f]{32})", self.address)
        if not m:
            raise RuntimeError("no address: %r %s" % (self.address, self.p.stderr.read()))
        self.port, self.path = int(m.group(1)), "/open/" + m.group(2)
        self.cookie = None

    def ask(self, path, method="GET", body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        own = {"Cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            own["Origin"] = "http://127.0.0.1:%d" % self.port
        c.request(method, path, body, {**own, **{k.replace("_", "-"): v for k, v in headers.items()}})
        try:
            r = c.getresponse()
        except ConnectionError as e:
            raise RuntimeError("%s %s: %s; %s" % (method, path, e, self.state())) from e
        return r.status, r.headers, r.read()

    def state(self):
        """What became of the process, and what it said."""
        try:
            self.p.wait(5)
        except subprocess.TimeoutExpired:
            return "the process runs"
        return "the process ended with %s: %s" % (self.p.returncode, self.p.stderr.read()[-3000:])

    def open(self):
        status, headers, _ = self.ask(self.path)
        self.cookie = (headers["Set-Cookie"] or "").split(";")[0]
        return status, headers

    def json(self, path, method="GET", body=None):
        status, _, text = self.ask("/api/" + path, method, json.dumps(body) if body is not None else None)
        if status != 200:
            raise RuntimeError("%s: %s %s" % (path, status, text[:200]))
        return json.loads(text)

    def end(self):
        self.p.send_signal(signal.SIGINT)
        try:
            return self.p.wait(10)
        finally:
            self.p.kill()


def all_boxes(v, run_number=0):
    total = v.json("runs")["runs"][run_number]["boxes"]
    out = []
    while len(out) < total:
        out += v.json("%d/boxes/%d/500" % (run_number, len(out)))
    return out


# --- who is answered --------------------------------------------------------------------------------------------------------------------------


def test_who(folder):
    v = View(trace_of(folder, "who", PROGRAM))
    for path in ["/", "/api/runs", "/api/0/boxes/0/10", "/api/0/source", "/api/nothing", "/open/" + "0" * 32]:
        check("no cookie " + path, v.ask(path)[0] == 403)
    for path in ["/page/main.js", "/page/style.css", "/page/kinds.css"]:
        check("free " + path, v.ask(path)[0] == 200)
    check("the page itself is not free", v.ask("/page/index.html")[0] == 404)
    status, headers = v.open()
    cookie = headers["Set-Cookie"]
    check("the address redirects", status == 303 and headers["Location"] == "/", headers)
    check("cookie", all(word in cookie for word in ["HttpOnly", "SameSite=Strict", "Path=/", "pdl_view_%d=" % v.port]), cookie)
    check("the address works once", v.ask(v.path)[0] == 403)
    check("with the cookie", v.ask("/")[0] == 200)
    csp = v.ask("/")[1]["Content-Security-Policy"]
    check("policy", csp == "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-ancestors 'none'", csp)
    for host in ["evil.example", "evil.example:%d" % v.port, "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil:%d" % v.port]:
        check("Host " + host, v.ask("/api/runs", Host=host)[0] == 403)
    for host in ["localhost:%d" % v.port, "[::1]:%d" % v.port]:
        check("Host " + host, v.ask("/api/runs", Host=host)[0] == 200)
    for origin in ["http://evil.example", "null", "https://127.0.0.1:%d" % v.port, "http://127.0.0.1:1"]:
        check("Origin " + origin, v.ask("/api/runs", Origin=origin)[0] == 403)
        check("POST from " + origin, v.ask("/api/0/find", "POST", "{}", Origin=origin)[0] == 403)
    for cookie in ["", "pdl_view_%d=" % v.port, "pdl_view_%d=%s" % (v.port, "0" * 32), "pdl_view_1=" + v.cookie.split("=")[1], "x" * 4000]:
        check("cookie %r" % cookie[:30], v.ask("/api/runs", Cookie=cookie)[0] == 403)
    check("cookie among others", v.ask("/api/runs", Cookie="a=b; %s; c=d" % v.cookie)[0] == 200)
    check("another method", v.ask("/api/runs", "DELETE")[0] == 405)
    check("a body that is too long", v.ask("/api/0/find", "POST", "x" * 100000)[0] == 413)
    check("Ctrl-C", v.end() == 0)


def test_typed(folder):
    """Each line on the terminal prints a new address; with --open none is printed, and the file that sends the browser is removed."""
    file = trace_of(folder, "typed", PROGRAM)
    parent, child = pty.openpty()
    p = subprocess.Popen([PDL, "view", str(file)], stdin=child, stdout=subprocess.PIPE, text=True)
    first = p.stdout.readline().strip()
    os.write(parent, b"\n")
    second = p.stdout.readline().strip()
    port = int(first.split(":")[2].split("/")[0])
    for address in (first, second):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        c.request("GET", address[address.index("/open"):])
        check("a typed line prints another address", first != second and c.getresponse().status == 303, address)
    p.terminate()
    p.wait(10)
    seen = folder / "seen"
    browser = folder / "browser"
    browser.write_text("#!/bin/sh\nprintf '%%s\\n' \"$@\" > %s\nstat -c %%a \"$1\" >> %s\ncat \"$1\" >> %s\nmv %s %s.done\n" % ((seen,) * 5))
    browser.chmod(0o755)
    p = subprocess.Popen([PDL, "view", "--open", str(file)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "BROWSER": str(browser), "XDG_RUNTIME_DIR": str(folder)})
    done = pathlib.Path(str(seen) + ".done")
    for _ in range(200):
        if done.exists():
            break
        time.sleep(0.05)
    told = done.read_text().splitlines() if done.exists() else ["", "", ""]
    address = re.search(r"url=(http://127\.0\.0\.1:(\d+)(/open/[0-9a-f]+))", "\n".join(told))
    check("the browser gets a file, not the address", told[0].startswith(str(folder)) and "open/" not in told[0] and told[1] == "600", told)
    check("the file stays until it is used", os.path.exists(told[0]))
    if address:
        c = http.client.HTTPConnection("127.0.0.1", int(address.group(2)), timeout=10)
        c.request("GET", address.group(3), headers={"Sec-Fetch-Site": "cross-site"})
        r = c.getresponse()
        check("from a file the page goes on by itself", r.status == 200 and r.headers["Refresh"] == "0; url=/" and r.headers["Set-Cookie"])
        for _ in range(100):
            if not os.path.exists(told[0]):
                break
            time.sleep(0.05)
        check("the file is removed once used", not os.path.exists(told[0]))
    p.terminate()
    check("no address is printed with --open", p.stdout.read() == "" and p.wait(10) == 0)


# --- what is answered -------------------------------------------------------------------------------------------------------------------------


def test_boxes(folder):
    v = View(trace_of(folder, "boxes", PROGRAM), "--source", folder / "boxes.pdl")
    v.open()
    list_ = all_boxes(v)
    kinds = [b["kind"] for b in list_]
    check("kinds", kinds == ["text", "function", "repeat", "data", "data", "call", "call", "data", "data"], kinds)
    check("a tree", all(b["parent"] < b["id"] and list_[b["parent"]]["first"] <= b["id"] < list_[b["parent"]]["first"] + list_[b["parent"]]["n"]
                        for b in list_[1:]))
    check("signature", list_[1]["text"] == "(who)" and list_[1]["def"] == "greet", list_[1])
    check("value", list_[3]["text"] == "[1,2]" and list_[3]["json"] and list_[3]["def"] == "n", list_[3])
    check("text", list_[4]["text"] == "<script>alert(1)</script>")
    check("lines", [list_[i]["line"] for i in (0, 1, 2, 4, 5, 6)] == [1, 2, 4, 9, 5, 5], list_)
    check("times", all(0 <= b["start"] <= b["end"] for b in list_))
    details = v.json("0/details/5")
    names = {m["name"]: m for m in details["members"]}
    check("details", names["pdl__result"]["value"] == "Hello, Ada!" and names["args"]["value"] == {"who": "Ada"}, names)
    check("whole text", v.ask("/api/0/text/0")[2] == b"Hello, Ada! Hello, Grace![1, 2]<script>alert(1)</script>", v.ask("/api/0/text/0")[2])
    check("source", v.json("0/source")["source"] == PROGRAM)
    check("the trace", v.json("0/trace") == json.loads((folder / "boxes.json").read_text()) and v.ask("/api/1/trace")[0] == 404)
    check("boxes of a line", v.json("0/line/5") == [5, 6], v.json("0/line/5"))
    check("boxes of the code of a function", v.json("0/line/2") == [1, 7, 8], v.json("0/line/2"))
    check("find text", v.json("0/find", "POST", {"text": "hello, GRACE"})["boxes"] == [[8, 6, 2, 0]])
    check("find kind", [w[0] for w in v.json("0/find", "POST", {"kind": "call"})["boxes"]] == [5, 6])
    check("find variable", [w[0] for w in v.json("0/find", "POST", {"variable": "greet"})["boxes"]] == [0, 1])
    check("find nothing", v.json("0/find", "POST", {"text": "zebra"}) == {"boxes": [], "found": 0})
    for bad in ["", "[]", '{"text": 1}', '{"what": "x"}', "{", '{"micros": -1.5}']:
        check("bad search %r" % bad, v.ask("/api/0/find", "POST", bad)[0] == 400)
    for path in ["0/boxes/9/1", "0/boxes/99999999999/1", "0/boxes/-1/1", "0/boxes/x/1", "0/boxes/0", "1/boxes/0/1", "0/details/9", "0/text/4294967296", "", "0", "0/", "0/x"]:
        check("there is no " + path, v.ask("/api/" + path)[0] == 404)
    lanes = v.json("0/lanes")
    check("lanes", {b["id"] for b in lanes} == {1, 3, 4, 7, 8}, lanes)
    v.end()


def test_long_structures(folder):
    """Of a long object or list its beginning is shown, also of one whose first text is long."""
    v = View(trace_of(folder, "long", "text:\n- data: {a: [1, {b: \"${ 'w ' * 90000 }\"}]}\n- data: ${ ['\u00e4' * 90000] }\n- data: ${ range(100000) }\n"))
    v.open()
    found = all_boxes(v)[1:]
    starts = ['{"a":[1,{"b":"w w ', '["\u00e4\u00e4', "[0,1,2,3,"]
    for box, start in zip(found, starts):
        check("the beginning of a long " + start, box["text"].startswith(start) and 100 < len(box["text"]) < 5000 and box.get("cut") is True, str(box)[:300])
    v.end()


def test_failing(folder):
    v = View(trace_of(folder, "failing", FAILING))
    v.open()
    found = v.json("0/find", "POST", {"state": "failed"})["boxes"]
    list_ = all_boxes(v)
    error = [b for b in list_ if b["kind"] == "error"]
    check("the failure has a box with its message", len(error) == 1 and "division" in error[0]["text"] and [error[0]["id"], 0] in found, (error, found))
    check("without a file the program is written", "${ 1 // 0 }" in v.json("0/source")["source"], v.json("0/source"))
    v.end()


def test_models(folder):
    journal = ROOT / "examples/tour.journal"
    r = run("view", journal, "--source", ROOT / "examples/tour.pdl", "--html", "-")
    check("a recording is replayed", r.returncode == 0 and '"kind":"model"' in r.stdout and "WELL MET" in r.stdout, r.stderr)
    r = run("view", journal.with_name("providers") / "ollama.journal")  # made before recordings held it
    check("a recording wants its program", r.returncode == 2 and "--source" in r.stderr, r.stderr)


def test_compare(folder):
    a = trace_of(folder, "a", PROGRAM)
    b = trace_of(folder, "b", PROGRAM.replace("Hello", "Goodbye"))
    v = View(a, b)
    v.open()
    runs = v.json("runs")["runs"]
    check("two runs", len(runs) == 2 and all_boxes(v, 1)[8]["text"] == "Goodbye, Grace!", runs)
    v.end()


INCLUDES = """defs:
  m: {import: lib/mod}
text:
- include: inc.pdl
- call: ${ m.hello }
  args: {name: Ada}
- include: lib/../inc.pdl
- ${ 6 // 2 }
"""


def places(v, run_number=0):
    """Of each text the name of the file and the line of its box."""
    source = v.json("%d/source" % run_number)
    names = [source["source_name"]] + [f["source_name"] for f in source.get("included", [])]
    return [(b.get("text"), names[b.get("file", 0)], b.get("line")) for b in all_boxes(v, run_number) if b["kind"] == "data"], source


def test_included(folder):
    """Boxes of files that are included or imported have their lines in those files: read beside --source, kept by replays, else written from the trace."""
    (folder / "lib").mkdir()
    (folder / "inc.pdl").write_text("text:\n# a comment\n- from the include\n")
    (folder / "lib/mod.pdl").write_text("\n\ndefs:\n  hello:\n    function: {name: str}\n    return: {text: ['hello ', '${ name }']}\n")
    (folder / "i.pdl").write_text(INCLUDES)
    r = run("i.pdl", "--trace=i.json", "--record", "i.rec", cwd=folder)
    env = {**os.environ, "PDL_RUNS": str(folder / "runs")}
    r = run("--durable", "--id", "inc", "i.pdl", cwd=folder, env=env)
    check("it runs", r.returncode == 0, r)
    want = [("from the include", "inc.pdl", 3), ("hello ", "lib/mod.pdl", 6), ("Ada", "lib/mod.pdl", 6), ("from the include", "lib/../inc.pdl", 3), ("3", "i.pdl", 8)]
    for name, args in (("a trace", ("i.json", "--source", "i.pdl")), ("a recording", ("i.rec", "--source", "i.pdl")), ("a durable run", ("inc",))):
        v = View(*args, cwd=folder, env=env)
        v.open()
        got, source = places(v)
        check("lines of " + name, sorted(got) == sorted(want), got)
        check("text of " + name, "# a comment" in [f for f in source["included"] if f["source_name"] == "inc.pdl"][0]["source"], source)
        number = 1 + [f["source_name"] for f in source["included"]].index("inc.pdl")
        ids = v.json("0/line/3/%d" % number)
        check("boxes of a line of " + name, [all_boxes(v)[i]["text"] for i in ids] == ["from the include"] and v.json("0/line/3/99") == [] and v.json("0/line/3") != ids, ids)
        v.end()
    v = View("i.json", cwd=folder)
    v.open()
    got, source = places(v)
    check("written from a trace", [g for g in got if g[0] == "from the include"][0][1:] == ("inc.pdl", 2) and all(f["written"] for f in source["included"]), (got, source))
    v.end()
    (folder / "inc.pdl").write_text("text: changed\n")
    v = View("inc", cwd=folder, env=env)
    v.open()
    check("a journal has the files as they were", "# a comment" in json.dumps(v.json("0/source")))
    v.end()
    r = run("view", "i.json", "--source", "i.pdl", "--html", "-", cwd=folder)
    check("the exported file has them", "lib/mod.pdl" in r.stdout and '"file":1' in r.stdout, r)
    # A trace names files; only what the user's own program names is read.
    (folder / "secret").write_text("text: [PRIVATE]\n")
    evil = (folder / "i.json").read_text().replace("inc.pdl", "secret")
    (folder / "evil.json").write_text(evil)
    for args in (("evil.json",), ("evil.json", "--source", "i.pdl")):
        r = run("view", *args, "--html", "-", cwd=folder)
        check("a file that a trace names is not read %s" % (args,), r.returncode == 0 and "PRIVATE" not in r.stdout, r.stderr)


# --- runs that continue --------------------------------------------------------------------------------------------------------------------------


class Model(http.server.ThreadingHTTPServer):
    """Streams words, each when it is allowed to; counts what is asked."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.go = threading.Semaphore(0)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http_of.Quiet):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.body()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(5):
            self.server.go.acquire()
            self.put({"choices": [{"index": 0, "delta": {"content": "word%d SECRETKEY12345 " % i}}]})
        self.put({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}})
        self.wfile.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    def put(self, value):
        line = b"data: %s\n\n" % json.dumps(value).encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()


class LiveView(View):
    def __init__(self, model, *args, stdin=subprocess.DEVNULL):
        port = model.server_port if model else 9
        env = {**os.environ, "OPENAI_API_KEY": "SECRETKEY12345", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % port}
        self.p = subprocess.Popen([PDL, "--view", *map(str, args)], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.told = self.p.stderr.readline()
        m = re.search(r"http://127\.0\.0\.1:(\d+)(/open/[0-9a-f]{32})", self.told)
        self.port, self.path, self.cookie = int(m.group(1)), m.group(2), None

    def events(self):
        """Boxes by number, as they change; ends with what is over. `gone`: what was said when the process was stopped."""
        self.gone = None
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request("GET", "/api/events", headers={"Cookie": self.cookie})
        r = c.getresponse()
        boxes, kind = {}, "message"
        while True:
            line = r.readline().decode()
            if line.startswith("event:"):
                kind = line.split()[1]
            elif line.startswith("data:"):
                if kind == "gone":
                    self.gone = json.loads(line[5:])["text"]
                if kind in ("over", "gone"):
                    return
                boxes.update({b["id"]: b for b in json.loads(line[5:])})
                yield boxes


def test_answers(folder):
    """What `read` asks is answered in the page, or on standard input, whichever comes first."""
    (folder / "ask.pdl").write_text("text:\n- read:\n  message: 'Name? '\n  def: who\n  contribute: []\n- read:\n  message: more\n  multiline: true\n"
                                    "  def: more\n  contribute: []\n- read:\n  def: third\n  contribute: []\n- '[${ who }|${ more }|${ third }]'\n")
    v = LiveView(None, folder / "ask.pdl", stdin=subprocess.PIPE)
    v.open()
    asked = []
    for boxes in v.events():
        box = next((b for b in boxes.values() if b.get("asks") and b["asks"] not in [a["asks"] for a in asked]), None)
        if not box:
            continue
        asked.append(box)
        path = "/api/0/answer/%d" % box["asks"]
        if len(asked) == 1:
            check("an answer needs the cookie", v.ask(path, "POST", "x", Cookie="")[0] == 403)
            check("an answer of another page", v.ask(path, "POST", "x", Origin="http://evil.example")[0] == 403)
            check("an answer is posted", v.ask(path)[0] == 400)
            check("what is not asked", v.ask("/api/0/answer/99999", "POST", "x")[0] == 409)
            check("what is no number", v.ask("/api/0/answer/x", "POST", "x")[0] == 400)
            check("what is no text", v.ask(path, "POST", b"\xff")[0] == 400)
            check("an answer is taken", v.ask(path, "POST", "Ada <b>\nnot this".encode())[0] == 204)
            check("only once", v.ask(path, "POST", "Eve")[0] == 409)
        elif len(asked) == 2:
            check("lines are taken", v.ask(path, "POST", "one\r\ntwo".encode())[0] == 204)
        else:
            v.p.stdin.write("typed\n")
            v.p.stdin.flush()
    check("three questions", [(a.get("text"), a.get("lines", False)) for a in asked] == [("Name? ", False), ("more", True), ("How can I help you?: ", False)], asked)
    check("no question stays", not any("asks" in b for b in all_boxes(v)))
    code = v.end()
    told = v.p.stdout.read()
    check("the answers reach the program", code == 0 and "[Ada <b>|one\ntwo\n|typed]" in told, (code, told))


def test_live(folder):
    model = Model()
    (folder / "live.pdl").write_text("text:\n- first # SECRETKEY12345\n- model: openai/x\n- def: m\n  text: last\n")
    v = LiveView(model, folder / "live.pdl")
    check("the address is on standard error, in one line", v.told.count("\n") == 1 and v.told.startswith("pdl: "), v.told)
    check("no cookie", v.ask("/api/events")[0] == 403)
    v.open()
    check("it runs", v.json("runs")["runs"][0]["live"])
    check("the program is there", "openai/x" in v.json("0/source")["source"])
    check("without keys", "SECRETKEY" not in json.dumps(v.json("0/source")))
    check("boxes are not there yet", v.ask("/api/0/boxes/0/1")[0] == 404)
    seen, shown = [], ""
    stalled = socket.create_connection(("127.0.0.1", v.port))
    stalled.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: %s\r\n\r\n" % (v.port, v.cookie.encode()))
    for boxes in v.events():
        calls = [b for b in boxes.values() if b["kind"] == "model"]
        text = calls[0].get("text", "") if calls else ""
        if calls and text != (seen[-1] if seen else None):
            seen.append(text)
            model.go.release()
        shown += json.dumps(boxes)
    check("pieces come one by one", len(seen) >= 5 and all(b.startswith(a) for a, b in zip(seen, seen[1:])), seen)
    check("keys are not shown", "SECRETKEY" not in shown and "[REDACTED]" in shown, shown[-300:])
    summary = v.json("runs")["runs"][0]
    check("then the trace is shown", not summary.get("live") and summary["boxes"] >= 4, summary)
    check("the trace has no keys", "SECRETKEY" not in json.dumps(all_boxes(v)))
    check("events of a run that is over", v.ask("/api/events")[2].startswith(b"event: over"))
    stalled.close()
    code = v.end()
    check("it ends with Ctrl-C and the code of the run", code == 0 and "last" in v.p.stdout.read(), code)
    (folder / "bad.pdl").write_text("text:\n- a\n- ${ nothing.at.all }\n")
    v = LiveView(model, folder / "bad.pdl")
    v.open()
    for _ in v.events():
        pass
    check("the failure is shown", v.json("runs")["runs"][0]["failed"] > 0)
    check("the code of a run that failed", v.end() == 1)
    (folder / "wait.pdl").write_text("model: openai/x\n")
    v = LiveView(model, folder / "wait.pdl")
    v.open()
    check("Ctrl-C during the run ends it", v.end() == 130)
    (folder / "busy.pdl").write_text("repeat: {text: x}\nmaxIterations: 100000000\njoin: {with: ''}\n")
    v = LiveView(model, folder / "busy.pdl")
    check("a run that computes answers too", v.open()[0] == 303 and any(len(b) > 10 for b in v.events()))
    check("and ends", v.end() == 130)


def test_known(folder):
    """What is known of a call while its run goes on."""
    model = Model()
    for _ in range(5):
        model.go.release()
    (folder / "known.pdl").write_text("text:\n- model: openai/x-SECRETKEY12345\n  role: critic\n  def: answer\n- read:\n")
    v = LiveView(model, folder / "known.pdl", stdin=subprocess.PIPE)
    v.open()
    call = {}
    for boxes in v.events():
        call = next((b for b in boxes.values() if b["kind"] == "model"), call)
        if "tokens" in call and any(b.get("asks") for b in boxes.values()):
            break
    check("of a call", (call.get("model"), call.get("role"), call.get("tokens"), call.get("def")) == ("openai/x-[REDACTED]", "critic", 12, "answer"), call)
    v.end()


class Bare(http_of.Quiet):
    """One long answer, in words, and never its end."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.body()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for i in range(3000):
            self.wfile.write(b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"content": "w\u00f6rd%d SECRETKEY12345 " % i}}]}).encode())
        self.wfile.flush()
        self.server.done.wait(30)


def test_ends(folder):
    """What a page hears when the run is interrupted; the end of a long answer is what is shown while it comes."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bare)
    server.daemon_threads = True
    server.done = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "long.pdl").write_text("model: openai/x\n")
    v = LiveView(server, folder / "long.pdl")
    v.open()
    threading.Thread(target=v.p.stdout.read, daemon=True).start()  # or the run stops when the pipe is full
    texts = []
    for boxes in v.events():
        box = boxes.get(0, {})
        texts.append(box.get("text", ""))
        if "w\u00f6rd2999" in texts[-1] and v.gone is None and v.p.poll() is None and not server.done.is_set():
            server.done.set()
            v.p.send_signal(signal.SIGINT)
    longest = max(texts, key=len)
    check("the newest text is shown", "w\u00f6rd2999" in "".join(texts) and len(longest.encode()) <= 17000 and any(t and not t.startswith("w\u00f6rd0") for t in texts), longest[:100])
    check("without keys, and without parts of them", not any(re.search("SECRET|KEY1|(?<!d)2345", t) for t in texts))
    check("an interrupted run says so to its pages", v.gone and "interrupted" in v.gone, v.gone)
    check("and ends", v.p.wait(20) == 130)
    server.shutdown()
    # a browser that cannot be started
    trace = trace_of(folder, "open", PROGRAM)
    p = subprocess.Popen([PDL, "view", str(trace), "--open"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "BROWSER": "/none/browser", "XDG_RUNTIME_DIR": str(folder)})
    address = p.stdout.readline()
    p.send_signal(signal.SIGINT)
    told = p.communicate(timeout=20)[1]
    check("without a browser the address is printed", address.startswith("http://127.0.0.1:") and "/none/browser" in told and len(told.splitlines()) == 1, (address, told))
    check("and no file is left", not list(folder.glob("pdl-view*")))
    # a program that starts, and finds no browser
    p = subprocess.Popen([PDL, "view", str(trace), "--open"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "BROWSER": "false", "XDG_RUNTIME_DIR": str(folder), "PDL_STRESS": "time:0.1"})
    address = p.stdout.readline()
    p.send_signal(signal.SIGINT)
    told = p.communicate(timeout=20)[1]
    check("when no browser comes the address is printed", address.startswith("http://127.0.0.1:") and "no browser has opened" in told, (address, told))
    check("and no file is left then", not list(folder.glob("pdl-view*")))


def test_failures(folder):
    """A box that failed knows where its caret goes, in the file where it is; a replay does not know when first tokens came."""
    (folder / "part.pdl").write_text("text:\n- \"\u00e4\"\n-   ${ 1 // 0 }  # why\n")
    trace = trace_of(folder, "caret", "text:\n- x\n- include: part.pdl\n")
    v = View(trace, "--source", folder / "caret.pdl")
    v.open()
    boxes = all_boxes(v)
    error = [b for b in boxes if b["kind"] == "error"][0]
    check("the caret", (error["file"], error["line"], error["column"], error["width"]) == (1, 3, 5, 11), error)
    check("only of what failed", all("column" not in b for b in boxes if b["state"] == "done"))
    v.end()
    r = run("--replay", ROOT / "examples/react.journal", ROOT / "examples/react.pdl", "--trace=" + str(folder / "react.json"))
    check("no first token in a replay", r.returncode == 0 and "first_token" not in (folder / "react.json").read_text() and "end_nanos" in (folder / "react.json").read_text(), r)


# --- traces of strangers ----------------------------------------------------------------------------------------------------------------------

HOSTILE = ["[]", "[" * 3000, '{"kind": 1}', '{"kind": "text", "text": [null, 1, {"kind": "text"}]}', '{"kind":"text","pdl__timing":{"start_nanos":1e400}}',
           '{"kind":"repeat","pdl__timing":{},"pdl__trace":7,"repeat":[]}', '{"kind":"call","pdl__timing":[],"pdl__trace":{"kind":"call","pdl__timing":{}}}',
           '{"kind":"model","pdl__usage":{"prompt_tokens":-1},"model":{"pdl__expr":1}}', '{"kind":"text","defs":{"x":{"kind":"data","pdl__timing":{"start_nanos":9223372036854775807,"end_nanos":1}}}}',
           '{"kind":"<img src=x onerror=alert(1)>","pdl__result":"</script><script>alert(1)</script><!--"}', "{}", '{"a":1}']


def test_strangers(folder, scale):
    file, out = folder / "s.json", folder / "s.html"
    for text in HOSTILE:
        file.write_text(text)
        r = run("view", file, "--html", out, "--svg", folder / "s.svg")
        check("hostile %s" % text[:60], r.returncode in (0, 1) and r.stderr.count("\n") <= 1 and "Traceback" not in r.stderr, r.stderr)
        if r.returncode == 0:
            page = out.read_text()
            check("no markup of the trace", "<script>alert" not in page and "<img" not in page and page.count("</script>") == 8, text)
    for name, text in [("empty", b""), ("no JSON", b"hello"), ("list", b"[1]"), ("text", b'"x"'), ("binary", bytes(range(256)))]:
        file.write_bytes(text)
        r = run("view", file)
        check("no trace: " + name, r.returncode == 1 and r.stderr.count("\n") == 1 and "not a trace" in r.stderr, r.stderr)
    (folder / "mine.pdl").write_text("text: hi\n")
    r = run("view", folder / "mine.pdl")
    check("a program is no trace", r.returncode == 1 and "mine.pdl: not a trace" in r.stderr and "pdl --view" in r.stderr, r.stderr)
    whole = trace_of(folder, "cut", PROGRAM).read_bytes()
    for n in range(1, len(whole), len(whole) // scale(40, 8)):
        file.write_bytes(whole[:n])
        r = run("view", file, "--html", out)
        told = "cut or damaged" in out.read_text() if r.returncode == 0 else "not a trace" in r.stderr
        check("cut at %d" % n, told, (r.returncode, r.stderr))
    file.write_bytes(whole.replace(b"Grace", b"Gr\xff\xfece"))
    check("bytes that are not UTF-8", run("view", file, "--html", out).returncode == 0 and "Gr\ufffd\ufffdce" in out.read_text())
    deep = '{"kind":"text","pdl__id":"t","pdl__timing":{"start_nanos":1,"end_nanos":2},"pdl__result":"x","text":['
    n = scale(400, 120)
    file.write_text(deep * n + '"end"' + "]}" * n)
    r = run("view", file, "--html", out, "--svg", folder / "s.svg")
    check("deep", r.returncode == 0 and '"depth":%d' % (n - 1) in out.read_text(), r.stderr)


# --- files ------------------------------------------------------------------------------------------------------------------------------------


def test_files(folder):
    trace, html, svg = trace_of(folder, "files", PROGRAM), folder / "f.html", folder / "f.svg"
    r = run("view", trace, "--html", html, "--svg", svg)
    page = html.read_text()
    check("files are written", r.returncode == 0 and not r.stdout, r.stderr)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    script = re.search(r'<script type="module" async>(.*?)</script>', page, re.S).group(1)
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    for text in (script, style):
        check("the policy has the hash", "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy, policy)
    check("nothing else is allowed", policy.startswith("default-src 'none'; img-src data:;") and "unsafe" not in policy, policy)
    check("no address of the network", not re.search(r"(?:src|href)=", page.split('<script type="application/json"')[0]))
    parts = {name: json.loads(text) for name, text in re.findall(r'id="(run[\w-]*)">(.*?)</script>', page, re.S)}
    check("the data is JSON, in parts that are parsed apart", [b["kind"] for b in parts["run-list"]["boxes"]][:3] == ["text", "function", "repeat"] and
          set(parts) == {"run", "run-items", "run-sent", "run-spans", "run-origins", "run-rows", "run-list"} and not {"list", "items", "sent", "spans", "origins", "rows"} & set(parts["run"]), list(parts))
    check("mode", stat.S_IMODE(html.stat().st_mode) == 0o600)
    root = xml.etree.ElementTree.parse(svg).getroot()
    texts = "".join(root.itertext())
    check("the picture holds the texts", root.tag.endswith("svg") and "Hello, Grace!" in texts and "<script>" in texts, texts[:300])
    size = len(script.encode()) + len(style.encode()) + len((ROOT / "src/apps/viewer/page/index.html").read_bytes())
    check("the page is small", size < 200000, size)
    check("files of the page are short", all(len(f.read_text().splitlines()) < 400 for f in (ROOT / "src/apps/viewer/page").iterdir()))
    many = trace_of(folder, "many", "for: {i: '${ range(990) | list }'}\nrepeat: 'row ${ i }\n'\n")
    r = run("view", many, "--html", html)
    check("1 000 blocks are less than 1 MB", r.returncode == 0 and html.stat().st_size < 1 << 20, html.stat().st_size)
    run("view", trace_of(folder, "long", "for: {i: '${ range(300) | list }'}\nrepeat: {text: ['row ${ i }']}\njoin: {with: \"\\n\"}\n"), "--html", html)
    parts = {name: json.loads(text) for name, text in re.findall(r'id="(run[\w-]*)">(.*?)</script>', html.read_text(), re.S)}
    early, items = parts["run-first"], parts["run-items"]
    loop = next(x for x in items if x["shape"] == "loop")
    check("a long document has the lists of its first screen before the script, its items after it", list(parts) == ["run", "run-first", "run-spans", "run-items", "run-rows", "run-sent", "run-origins", "run-list"], list(parts))
    check("the lists have what the items have", all(x == items[x["id"]] for list_ in early.values() for x in list_["items"]))
    check("they have the first rounds of a loop and the last ones", [[x["number"] for x in early["%d/%d" % (loop["id"], at)]["items"]] for at in (0, 297)] == [list(range(1, 21)), [298, 299, 300]], list(early))
    for args, code, told in [((), 2, "FILE"), ((trace, trace, trace), 2, "unrecognized"), ((trace, trace, "--html", "x"), 2, "one FILE"), ((trace, "--port", "x"), 2, "65535"),
                             ((folder / "no",), 2, "there is no file"), ((folder,), 2, "is a folder"), ((trace, "--html", folder / "no" / "x"), 2, "there is no folder"),
                             ((trace, "--source", folder / "no"), 2, "there is no file")]:
        r = run("view", *args)
        check("wrong command %s" % (args,), r.returncode == code and told in r.stderr and "Traceback" not in r.stderr, (r.returncode, r.stderr))
    v = View(trace)
    r = run("view", trace, "--port", v.port)
    check("a port in use", r.returncode == 1 and str(v.port) in r.stderr, r.stderr)
    v.end()


def unshared(x, values):
    """What page/data.js does."""
    if isinstance(x, list):
        return [unshared(y, values) for y in x]
    if not isinstance(x, dict):
        return x
    return values[x["@"]] if "@" in x else {k[1:] if k.startswith("@") else k: unshared(y, values) for k, y in x.items()}


# Values that look like references, and strings that are just too short and just long enough to be shared.
LIKE_REFERENCES = {"@": 0, "@@": 1, "@x": {"@": "a" * 60}, "": "@", "__proto__": {"@": 3}, "q": "\"}],{\\" * 9, "t": ["b" * 29, "b" * 30, "b" * 31, "b" * 29, "b" * 30, "b" * 31]}


def test_shared_values(folder):
    """Values that many blocks have are once in a file, and each block has all of its values again."""
    value = json.dumps(LIKE_REFERENCES)
    trace = trace_of(folder, "shared", "text:\n- data: %s\n- data: {twice: %s, once: [%s, 1, %s]}\n" % (value, value, value, value))
    for args, most in (((trace,), 220000), ((ROOT / "examples/patterns/distill.journal",), 600000)):
        r = run("view", *args, "--html", "-")
        found = json.loads(re.search(r'id="run-list">(.*?)</script>', r.stdout, re.S).group(1))
        values = found["values"]
        for i, x in enumerate(values):
            values[i] = unshared(x, values[:i])
        check("no value is there twice", len({json.dumps(x) for x in values}) == len(values))
        v = View(*args)
        v.open()
        for b in found["boxes"][:40]:
            _, _, body = v.ask("/api/0/details/%d" % b["id"])
            whole, short = json.loads(body), unshared(b, values)
            wanted = [m for m in whole["members"] if "continues" not in [n for n in short["members"] if n["name"] == m["name"]][0]]
            check("block %d" % b["id"], wanted == [m for m in short["members"] if "continues" not in m], short, whole)
        v.end()
        check("blocks of libraries take little", len(r.stdout.encode()) < most, len(r.stdout.encode()))


def test_host(folder):
    """Another address than loopback's usual one: it is printed, and requests have to name it."""
    trace = trace_of(folder, "h", PROGRAM)
    for every in ("0.0.0.0", "::", ""):
        r = run("view", trace, "--host", every)
        check("all addresses %r" % every, r.returncode == 2 and ("one address" if every else "expected ADDRESS") in r.stderr, r)
    p = subprocess.Popen([PDL, "view", str(trace), "--host", "127.0.0.2"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    m = re.match(r"http://127\.0\.0\.2:(\d+)(/open/\w+)", p.stdout.readline())
    check("the address is printed", m is not None)
    for name, status in (("127.0.0.2", 303), ("evil.example", 403)):
        c = http.client.HTTPConnection("127.0.0.2", int(m.group(1)), timeout=10)
        c.request("GET", m.group(2), headers={"Host": "%s:%s" % (name, m.group(1))})
        check("host %s" % name, c.getresponse().status == status)
    p.terminate()
    p.wait(10)
    r = run("view", trace, "--host", "192.0.2.77")
    check("an address of another machine", r.returncode == 2 and "argument --host: cannot listen at 192.0.2.77" in r.stderr, r)


def test_origins(folder):
    """Where values came from is known of a box of a durable run, of one that continues, and where a policy is asked; other traces are as before."""
    (folder / "o.pdl").write_text("text:\n- read:\n  message: 'who? '\n  def: who\n- lang: python\n  code: result = 7\n  def: made\n- data: {name: '${ who }', fixed: 1, n: '${ made }'}\n")
    env = {**os.environ, "PDL_RUNS": str(folder / "runs")}
    more = dict(cwd=folder, env=env, input="Ada\n", capture_output=True, text=True, timeout=60, check=False)
    wanted = {"name": ["user"], "n": ["code"]}

    def labels(trace):
        found = [b.get("pdl__labels", {}) for b in json.loads(trace)["text"]]
        return found[0].get("result"), {k[7:]: v for k, v in found[2].items() if k.startswith("result.")}

    subprocess.run([PDL, "--durable", "--id", "o", "o.pdl"], **more)
    got = labels(subprocess.run([PDL, "trace", "o"], **more).stdout)
    check("a durable run", got == (["user"], wanted), got)
    subprocess.run([PDL, "o.pdl", "--trace=plain.json"], **more)
    check("a trace without a policy", "pdl__labels" not in (folder / "plain.json").read_text())
    subprocess.run([PDL, "o.pdl", "--policy", "careful", "--trace=careful.json"], **more)
    got = labels((folder / "careful.json").read_text())
    check("a trace with a policy", got == (["user"], wanted), got)
    r = run("check", folder / "careful.json")
    check("such a trace is a program, too", r.returncode == 0 and "pdl__" not in r.stdout + r.stderr, r)
    v = View(folder / "careful.json")
    v.open()
    members = {m["name"]: m.get("value") for m in v.json("0/details/1")["members"]}
    check("the page gets them", members["pdl__labels"] == {"result": ["user"]}, members)
    v.end()


CLOSED = "frame-ancestors 'none'"


def test_frames(folder):
    """Other pages show this one in a frame only when their origin was named; their frames get a cookie of their own."""
    trace = trace_of(folder, "fr", PROGRAM)
    for bad in ("", "*", "https:", "http:", "data:", "https://*.example", "https://a.example; script-src *", "https://a b", "a.example", "https://a.example\r\nX: y", "https://", ","):
        for args in (("view", trace, "--view-frame", bad), ("--view", "--view-frame", bad, folder / "fr.pdl")):
            r = run(*args)
            check("no origin %r" % bad, r.returncode == 2 and "--view-frame" in r.stderr, r)
    for given, policy in ((None, CLOSED), ("vscode-webview:", "frame-ancestors vscode-webview:"),
                          ("vscode-file://vscode-app, http://localhost:3000,http://[::1]:7", "frame-ancestors vscode-file://vscode-app http://localhost:3000 http://[::1]:7")):
        v = View(trace, *(["--view-frame", given] if given else []))
        for path in ("/", "/page/main.js", "/api/runs", "/open/0"):
            said = v.ask(path)[1]["Content-Security-Policy"]
            check("policy of %s with %s" % (path, given), said and said.endswith("; " + policy), said)
        _, headers, _ = v.ask(v.path, Sec_Fetch_Dest="iframe", Sec_Fetch_Site="cross-site")
        check("cookie of a frame with %s" % given, ("SameSite=None; Secure; Partitioned" if given else "SameSite=Strict") in headers["Set-Cookie"] and "HttpOnly" in headers["Set-Cookie"],
              headers["Set-Cookie"])
        v.end()
    v = View(trace, "--view-frame", "vscode-webview:")
    check("a page that is no frame gets the strict cookie", v.open()[1]["Set-Cookie"].endswith("SameSite=Strict"))
    v.end()
    (folder / "wait.pdl").write_text("read:\n")
    v = LiveView(None, "--view-frame", "vscode-webview:", folder / "wait.pdl", stdin=subprocess.PIPE)
    check("also while it runs", v.ask("/")[1]["Content-Security-Policy"].endswith("frame-ancestors vscode-webview:"))
    v.p.kill()
    v.p.wait(10)


def test_many_tabs(folder):
    """A browser has six connections to a server for all its tabs: three pages keep one, others are answered at once and ask again for what is new."""
    (folder / "slow.pdl").write_text("text:\n- read:\n  message: 'go? '\n- done\n")
    v = LiveView(None, folder / "slow.pdl", stdin=subprocess.PIPE)
    v.open()

    def ask(**headers):
        c = http.client.HTTPConnection("127.0.0.1", v.port, timeout=20)
        c.request("GET", "/api/events", headers={"Cookie": v.cookie, **headers})
        return c.getresponse()
    streams = [ask() for _ in range(3)]
    for s in streams:
        check("the first pages are told", s.readline().startswith(b"id: "))
    whole = ask().read().decode()
    check("another page gets all that there is, and its connection ends", '"kind":"text"' in whole and whole.endswith("event: later\ndata: {}\n\n") and "retry: " in whole, whole)
    last = re.findall(r"^id: (\S+)$", whole, re.M)[-1]
    check("it asks for what is new", '"kind"' not in ask(**{"Last-Event-ID": last}).read().decode())
    check("of another run it is told that it is over", all(ask(**{"Last-Event-ID": x}).read().startswith(b"event: over") for x in ("9.1", "1.99999999", "1.x", "-1.0")))
    v.p.stdin.write("yes\n")
    v.p.stdin.close()
    check("all are told of the end", all(b"event: over" in s.read() for s in streams))
    check("and so are those that ask again", ask(**{"Last-Event-ID": last}).read().startswith(b"event: over"))
    v.p.terminate()
    v.p.wait(20)


def test_pages_are_as_long_as_their_traces(folder):
    """A block in blocks is not written again for each of them."""
    def nested(depth):
        b = {"kind": "data", "pdl__timing": {"start_nanos": 1, "end_nanos": 2}, "data": "x" * 10, "pdl__result": "x" * 10}
        for _ in range(depth):
            b = {"kind": "text", "pdl__timing": {"start_nanos": 1, "end_nanos": 2}, "text": [b], "pdl__result": "x" * 10}
        return b
    sizes = []
    for depth in (100, 400):
        (folder / "t.json").write_text(json.dumps(nested(depth)))
        subprocess.run([PDL, "view", folder / "t.json", "--html", folder / "t.html"], check=True, timeout=60)
        sizes.append((folder / "t.html").stat().st_size)
    check("four times as deep is at most four times as long", sizes[1] < 4 * sizes[0], sizes)


def test_names_of_the_scripts():
    """The page is one script made of all files, so two of them cannot declare the same name: it would not start."""
    declared = {}
    for path in sorted((ROOT / "src/apps/viewer/page").glob("*.js")):
        for name in re.findall(r"(?m)^(?:export )?(?:async )?(?:const|let|function\*?|class) (\w+)", path.read_text("utf-8")):
            declared.setdefault(name, []).append(path.name)
    check("names are found", len(declared) > 100, len(declared))
    check("no name is declared twice", all(len(files) == 1 for files in declared.values()), {n: f for n, f in declared.items() if len(f) > 1})
