# SPDX-License-Identifier: Apache-2.0
"""What pdl serve reports about its requests (x-request-id, --log, /metrics), which browsers it admits (--allow-origin), and how it shows a client
which field is wrong."""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import time

import pytest

from .. import node_of, venv_of
from ..checks import check, skip
from .kit import PDL, Server, chat, written

CHAT = "/v1/chat/completions"
PROGRAMS = {"echo": 'text: "You said: ${ question }"\n', "fails": 'text: "${ no.such.name }"\n', "slow": "lang: python\ncode: |\n  import time\n  time.sleep(20)\n  result = 1\n"}
PROGRAMS.update({name: "text: hi\n" for name in ("one", "two", "three")})  # nobody asks them; metrics name them all the same


def ask(s, method, path, body=None, **headers):
    """Status, headers (lower case, a list where one came twice) and body."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    head = "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n" % (method, path, len(data))
    head += "".join("%s: %s\r\n" % (k.replace("_", "-"), v) for k, v in headers.items())
    got = s.raw(head.encode() + b"\r\n" + data)
    top, _, rest = got.partition(b"\r\n\r\n")
    lines = top.decode().split("\r\n")
    return int(lines[0].split()[1]), dict((k.lower(), v) for k, v in (x.split(": ", 1) for x in lines[1:])), rest


def message(model, text="hi", **more):
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


# name, what the request differs in, param, code
WRONG = [
    ("role", {"messages": [{"role": "user", "content": ""}, {"role": "robot", "content": ""}]}, "messages[1].role", "invalid_value"),
    ("role is a number", {"messages": [{"role": 1, "content": ""}]}, "messages[0].role", "invalid_type"),
    ("role is cut in a character", {"messages": [{"role": "ä" * 60, "content": ""}]}, "messages[0].role", "invalid_value"),
    ("no role", {"messages": [{"content": ""}]}, "messages[0].role", "invalid_type"),
    ("message", {"messages": ["hi"]}, "messages[0]", "invalid_type"),
    ("content", {"messages": [{"role": "user", "content": 1}]}, "messages[0].content", "invalid_type"),
    ("part", {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}, "b"]}]}, "messages[0].content[1]", "invalid_type"),
    ("no messages", {"messages": None}, "messages", "missing_required_parameter"),
    ("empty messages", {"messages": []}, "messages", "empty_array"),
    ("messages", {"messages": "hi"}, "messages", "invalid_type"),
    ("model", {"model": 1}, "model", "invalid_type"),
    ("no model", {"model": None}, "model", "missing_required_parameter"),
    ("temperature too high", {"temperature": 2.5}, "temperature", "decimal_above_max_value"),
    ("temperature too low", {"temperature": -1}, "temperature", "decimal_below_min_value"),
    ("temperature is a text", {"temperature": "hot"}, "temperature", "invalid_type"),
    ("temperature is true", {"temperature": True}, "temperature", "invalid_type"),
    ("top_p", {"top_p": 1.1}, "top_p", "decimal_above_max_value"),
    ("penalty", {"presence_penalty": -3}, "presence_penalty", "decimal_below_min_value"),
    ("max_tokens", {"max_tokens": 0}, "max_tokens", "integer_below_min_value"),
    ("max_tokens is no integer", {"max_tokens": 1.5}, "max_tokens", "invalid_type"),
    ("max_tokens is huge", {"max_tokens": 10 ** 30}, "max_tokens", "integer_above_max_value"),
    ("stream", {"stream": "yes"}, "stream", "invalid_type"),
    ("stop", {"stop": 1}, "stop", "invalid_type"),
    ("tools", {"tools": {}}, "tools", "invalid_type"),
    ("response_format", {"response_format": "json"}, "response_format", "invalid_type"),
    ("n", {"n": 0}, "n", "invalid_value"),
]
FINE = [{"temperature": 2}, {"temperature": 0}, {"temperature": None}, {"stop": ["a"]}, {"max_tokens": 1}, {"seed": -5}, {"tool_choice": "auto"},
        {"messages": [{"role": r, "content": None} for r in ("system", "developer", "user", "assistant", "tool", "function")]}]


@pytest.fixture
def programs(folder):
    return written(folder, PROGRAMS)


@pytest.fixture
def s(programs):
    server = Server(programs)
    yield server
    server.close()


def test_fields(s):
    for name, more, param, code in WRONG:
        r = ask(s, "POST", CHAT, {**message("echo"), **more})
        e = json.loads(r[2].decode())["error"]
        check("wrong: " + name, r[0] == 400 and e["param"] == param and e["code"] == code and e["type"] == "invalid_request_error" and e["message"], r)
    for more in FINE:
        r = ask(s, "POST", CHAT, {**message("echo"), **more})
        check("fine: %s" % more, r[0] == 200, r)


def test_request_ids(s):
    ids = {ask(s, "GET", p)[1].get("x-request-id") for p in ("/health", "/v1/models", "/nothing")}
    check("each answer has an id", len(ids) == 3 and all(re.fullmatch("req_[0-9a-f]{16}", x or "") for x in ids), ids)
    check("that of the client is kept", ask(s, "GET", "/health", X_Request_Id="my-1.2:3")[1]["x-request-id"] == "my-1.2:3")
    for bad in ("a b", "x" * 64, '"', "\u00e4"):
        check("unless it is unfit: %r" % bad[:9], ask(s, "GET", "/health", X_Request_Id=bad)[1]["x-request-id"].startswith("req_"))
    r = ask(s, "POST", CHAT, message("echo", stream=True))
    check("a stream has one", r[1]["x-request-id"].startswith("req_"), r)


def log_lines(path, n):
    """They are written when an exchange is over: the client may be earlier."""
    end = time.monotonic() + 10
    while True:
        lines = [json.loads(x) for x in path.read_text("utf-8").splitlines()]
        if len(lines) >= n or time.monotonic() > end:
            return lines
        time.sleep(0.02)


def test_log(programs):
    path = programs / "requests.jsonl"
    old = os.umask(0)
    s = Server(programs, "--log", str(path), MY_SECRET="t0psecret-value")
    os.umask(old)
    check("only the owner reads the log", stat.S_IMODE(path.stat().st_mode) == 0o600)
    ask(s, "GET", "/health?token=abc")
    ask(s, "POST", CHAT, message("echo", "hello"), X_Request_Id="mine")
    ask(s, "POST", CHAT, message("fails"))
    ask(s, "GET", "/t0psecret-value/" + "%C3%A4" * 600)
    gone = s.connect(chat("slow"))
    time.sleep(0.5)
    gone.close()
    lines = log_lines(path, 5)
    s.raw(b"nonsense\r\n\r\n")
    lines = log_lines(path, 6)
    check("a line for each request", len(lines) == 6, lines)
    a, b, c, d, e, f = lines
    check("what is no request is in the log", f["status"] == 400 and f["error"] == "not_http" and f["message"] and f["client"] == "127.0.0.1", f)
    check("health", a["method"] == "GET" and a["path"] == "/health" and a["status"] == 200 and a["client"] == "127.0.0.1" and
          re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", a["time"]) and "model" not in a and "error" not in a, a)
    check("chat", b["id"] == "mine" and b["model"] == "echo" and b["status"] == 200 and b["bytes_in"] > 50 and b["bytes_out"] > 50 and
          b["prompt_tokens"] == 0 and 0 < b["seconds"] < 10, b)
    check("an error has its kind", c["model"] == "fails" and c["status"] >= 500 and c["error"] not in ("", "server_error"), c)
    check("secrets are replaced, paths are cut", "t0psecret" not in d["path"] and len(d["path"]) < 600 and d["status"] == 404, d)
    check("who went away", e["status"] == 499 and e["error"] == "client_gone" and e["model"] == "slow", e)
    s.close()
    s = Server(programs, "--log", str(path))
    ask(s, "GET", "/health")
    check("a log goes on", len(log_lines(path, 7)) == 7)
    s.close()
    os.mkfifo(programs / "fifo")
    for name, bad, code, text in (("nobody reads the pipe", "fifo", 1, "the log fifo"), ("it is a folder", ".", 2, "'.' is a folder, not a file")):
        p = subprocess.run([PDL, "serve", "--port", "0", "--log", bad, "echo.pdl"], cwd=programs, capture_output=True, text=True, timeout=20,
                           stdin=subprocess.DEVNULL, check=False)
        check("log: " + name, p.returncode == code and text in p.stderr, (p.returncode, p.stderr))
    p = subprocess.run([PDL, "serve", "--port", "0", "--log", "none/log", "echo.pdl"], cwd=programs, capture_output=True, text=True, timeout=20, check=False)
    check("log: no such folder", p.returncode == 2 and "--log: there is no folder 'none'" in p.stderr, (p.returncode, p.stderr))
    reader = os.open(programs / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    s = Server(programs, "--log", str(programs / "fifo"))
    for _ in range(1000):
        ask(s, "GET", "/health/" + "x" * 300)
    check("a reader who does not read hinders nobody", s.health() < 2)
    s.p.terminate()
    check("and is told", s.p.wait(20) == 0 and s.p.stderr.read().count("is not complete") == 1)
    os.close(reader)


def samples(text):
    """The lines of /metrics as a dict; the text must be well formed."""
    out, types = {}, {}
    for line in text.splitlines():
        m = re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line)
        if m:
            if m.group(1) == "TYPE":
                types[m.group(2)] = m.group(3)
            continue
        m = re.fullmatch(r'([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*\})? ([0-9.e+-]+)', line)
        check("a sample", m and any(m.group(1).startswith(t) for t in types), line)
        if m:
            out[m.group(1) + (m.group(2) or "")] = float(m.group(3))
    return out


def test_metrics(programs):
    s = Server(programs, token="sesame")
    token = {"Authorization": "Bearer sesame"}
    check("metrics need the token", ask(s, "GET", "/metrics")[0] == 401)
    for _ in range(3):
        ask(s, "POST", CHAT, message("echo"), **token)
    ask(s, "POST", CHAT, message("fails"), **token)
    for i in range(50):
        ask(s, "GET", "/nothing/%d" % i, **token)
    open_one = s.connect(chat("slow", headers=b"Authorization: Bearer sesame\r\n"))
    time.sleep(0.5)
    r = ask(s, "GET", "/metrics", **token)
    check("the form of Prometheus", r[1]["content-type"].startswith("text/plain; version=0.0.4"), r[1])
    v = samples(r[2].decode())
    counted = 'pdl_requests_total{method="POST",path="/v1/chat/completions",status="%d"}'
    check("requests", v.get(counted % 200) == 3 and v.get('pdl_requests_total{method="",path="",status="404"}') == 50 and
          v.get('pdl_requests_total{method="GET",path="/metrics",status="401"}') == 1, v)
    failing = [k for k in v if k.startswith("pdl_requests_total") and "chat" in k and 'status="5' in k]
    check("errors", len(failing) == 1 and v[failing[0]] == 1 and v.get('pdl_errors_total{kind="invalid_api_key"}') == 1 and
          sum(n for k, n in v.items() if k.startswith("pdl_errors_total")) == 52, v)
    s.raw(b"nonsense\r\n\r\n")
    check("what is no request", samples(ask(s, "GET", "/metrics", **token)[2].decode()).get('pdl_errors_total{kind="not_http"}') == 1)
    check("open", v.get("pdl_requests_open") == 1 and v.get("pdl_requests_waiting") == 0 and 2 <= v.get("pdl_connections_open", 0) <= 60, v)
    check("latency", v.get("pdl_request_seconds_count") == 55 == v.get('pdl_request_seconds_bucket{le="+Inf"}') and v["pdl_request_seconds_sum"] > 0, v)
    buckets = [n for k, n in v.items() if k.startswith("pdl_request_seconds_bucket")]
    check("buckets grow", buckets == sorted(buckets) and len(buckets) == 16, buckets)
    check("tokens of each model", v.get('pdl_completion_tokens_count{model="echo"}') == 3 == v.get('pdl_prompt_tokens_bucket{model="echo",le="+Inf"}'), v)
    check("few lines for many paths", len(v) < 200, len(v))
    r = ask(s, "HEAD", "/metrics", **token)
    check("HEAD", r[0] == 200 and r[2] == b"" and int(r[1]["content-length"]) > 1000, r)
    open_one.close()
    s.close()


PROMETHEUS = """
import urllib.request
from sys import argv
from prometheus_client.parser import text_string_to_metric_families
text = urllib.request.urlopen(argv[1] + "/metrics").read().decode()
for f in text_string_to_metric_families(text):
    print(f.name, f.type, len(f.samples) > 0)
"""
FAMILIES = """pdl_requests counter True
pdl_errors counter True
pdl_requests_open gauge True
pdl_requests_waiting gauge True
pdl_connections_open gauge True
pdl_request_seconds histogram True
pdl_prompt_tokens histogram True
pdl_completion_tokens histogram True
"""


@pytest.mark.tier("all")
@pytest.mark.builds
def test_prometheus(programs, build):
    """The reader of Prometheus."""
    python, why = venv_of.python(build, "prometheus_client", name="test-prometheus")
    if not python:
        pytest.skip(why)
    s = Server(programs)
    ask(s, "GET", "/nothing")
    p = subprocess.run([python, "-c", PROMETHEUS, "http://127.0.0.1:%d" % s.port], capture_output=True, text=True, timeout=60, check=False)
    check("the reader of Prometheus", p.stdout == FAMILIES, p.stdout + p.stderr[-500:])
    s.close()


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.parametrize("origin, token, want", [("http://page.example", "", "200 You said: from a page true\n"), ("http://other.example", "sesame", "hidden\n")])
def test_pages(programs, build, origin, token, want):
    """A browser's rules for pages of other origins."""
    modules, why = node_of.modules(build, "jsdom")
    if not modules:
        pytest.skip(why)
    s = Server(programs, "--allow-origin", origin, token=token)
    p = subprocess.run(["node", str(pathlib.Path(__file__).with_name("page.js")), "http://127.0.0.1:%d" % s.port, "echo"], capture_output=True, text=True, timeout=60,
                       env={**os.environ, "NODE_PATH": modules}, check=False)
    check("a page of another origin: " + want.strip(), p.stdout == want, p.stdout + p.stderr[-500:])
    s.close()


def test_curl(programs):
    if not shutil.which("curl"):
        skip("curl", "it is not installed", 6)
        return
    s = Server(programs)
    url, body = "http://127.0.0.1:%d" % s.port, programs / "body.json"
    body.write_text(json.dumps(message("echo", "x" * 3000000)), "utf-8")

    def curl(name, want, *args):
        p = subprocess.run(["curl", "-sS", "-o", os.devnull, "-w", "%{http_code} %{size_download} %{num_connects}", *args], capture_output=True, text=True,
                           timeout=60, check=False)
        check("curl: " + name, re.fullmatch(want, p.stdout), p.stdout + p.stderr)

    curl("it asks before a large body", r"200 30\d{5} 1", "--data-binary", "@%s" % body, "-H", "Content-Type: application/json", url + CHAT)
    curl("chunks", r"200 30\d{5} 1", "-H", "Expect:", "-H", "Transfer-Encoding: chunked", "--data-binary", "@%s" % body, url + CHAT)
    curl("HEAD", "200 0 1", "-I", url + "/v1/models/echo")
    curl("one connection for two", "200 15 1200 15 0", url + "/health", "-o", os.devnull, url + "/health")
    curl("compressed", r"415 \d+ 1", "-H", "Content-Encoding: gzip", "-d", "abc", url + CHAT)
    curl("an old version", "200 15 1", "-0", url + "/health")
    s.close()


def test_paths(s):
    """GET / names the paths, which are those of the manual."""
    r = ask(s, "GET", "/")
    rows = json.loads(r[2])["paths"]
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "manual" / "serve.md"
    text = page.read_text("utf-8")
    table = text[text.index("## Paths"):text.index("## Who may ask")]
    said = set(re.findall(r"`(GET|POST|DELETE) (/[^`]*)`", table))
    have = {(p["method"], p["path"] + {"/v1/models/": "NAME", "/v1/responses/": "ID"}.get(p["path"], "")) for p in rows}
    check("the manual has the paths", said == have and all(p["about"] for p in rows), sorted(said ^ have))
    check("wrong method", ask(s, "DELETE", "/v1/models")[1]["allow"] == "GET, HEAD")


def test_origins(programs):
    page = "https://page.example"
    s = Server(programs, "--allow-origin", page + ", http://localhost:3000", token="sesame")
    asked = {"Origin": page, "Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "authorization,x-stainless-os"}
    r = ask(s, "OPTIONS", CHAT, **asked)
    check("preflight", r[0] == 204 and r[1]["access-control-allow-origin"] == page and "POST" in r[1]["access-control-allow-methods"] and
          r[1]["access-control-allow-headers"] == "authorization,x-stainless-os" and r[1]["vary"] == "Origin" and "content-length" not in r[1], r)
    r = ask(s, "OPTIONS", CHAT, **asked, Access_Control_Request_Private_Network="true")
    check("from the internet to this machine", r[1].get("access-control-allow-private-network") == "true", r)
    r = ask(s, "OPTIONS", CHAT, **{**asked, "Origin": "https://evil.example"})
    check("preflight of another page", r[0] == 401 and "access-control-allow-origin" not in r[1] and r[1]["vary"] == "Origin", r)
    r = ask(s, "POST", CHAT, message("echo"), Origin=page, Authorization="Bearer sesame")
    check("the page reads the answer", r[0] == 200 and r[1]["access-control-allow-origin"] == page and "x-request-id" in r[1]["access-control-expose-headers"], r)
    r = ask(s, "POST", CHAT, message("echo", stream=True), Origin="http://localhost:3000", Authorization="Bearer sesame")
    check("and a stream", r[0] == 200 and r[1]["access-control-allow-origin"] == "http://localhost:3000", r)
    r = ask(s, "POST", CHAT, message("echo"), Origin=page)
    check("it needs the token all the same, and sees why", r[0] == 401 and r[1]["access-control-allow-origin"] == page, r)
    s.close()
    s = Server(programs, "--allow-origin", "*")
    r = ask(s, "POST", CHAT, message("echo"), Origin=page)
    check("any page", r[0] == 200 and r[1]["access-control-allow-origin"] == page, r)
    got = s.raw(b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n")
    check("not under a foreign name", b" 403 " in got.split(b"\r\n")[0], got)
    s.close()
    s = Server(programs)
    r = ask(s, "OPTIONS", CHAT, **asked)
    check("nobody by default", r[0] == 403 and "vary" not in r[1] and "access-control-allow-origin" not in r[1], r)
    s.close()
    for bad in ("page.example", "https://", "https://a/b", "https://a,", "https://a b"):
        p = subprocess.run([PDL, "serve", "--allow-origin", bad, str(programs / "echo.pdl")], capture_output=True, text=True, timeout=20, check=False)
        check("origin: " + bad, p.returncode == 2 and "--allow-origin" in p.stderr, p.stderr)


def test_names(programs):
    """A file name that is not UTF-8 is a model name that is."""
    odd = os.path.join(os.fsencode(programs), b"x\xff.pdl")
    with open(odd, "wb") as f:
        f.write(b"text: hi\n")
    p = subprocess.Popen([PDL, "serve", "--port", "0", odd], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    s = Server.of(p)
    r = ask(s, "GET", "/v1/models")
    check("a name in UTF-8", json.loads(r[2].decode())["data"][0]["id"] == "x\ufffd", r)
    r = ask(s, "POST", CHAT, message("x\ufffd"))
    check("by which it is asked", r[0] == 200, r)
    check("metrics in UTF-8", 'model="x\ufffd"' in ask(s, "GET", "/metrics")[2].decode())
    p.terminate()
    p.wait(20)
    p.stderr.close()
