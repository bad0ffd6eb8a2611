# SPDX-License-Identifier: Apache-2.0
"""The other side of a provider fixture: a server that plays the exchanges of the fixture, and notes every request that differs from it.

It works over HTTP on the loopback interface, or over standard input and output. check_providers.py imports it.
"""
import base64
import datetime
import hashlib
import hmac
import json
import os
import re
import socket
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ABSENT = "<absent>"


# ---------------------------------------------------------------- values

def short(v, n=160):
    t = v if v is ABSENT else json.dumps(v, ensure_ascii=False)
    return t if len(t) <= n else t[:n - 3] + "..."


def is_num(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def diff(want, got, path, out, subset=False):
    """Append 'PATH: want X, got Y' lines. subset: keys of got that want lacks are accepted."""
    if want == "$ANY":
        if got is ABSENT or got in ("", None):
            out.append(f"{path}: want any non-empty value, got {short(got)}")
    elif isinstance(want, dict) and isinstance(got, dict):
        for k in want:
            diff(want[k], got.get(k, ABSENT), f"{path}.{k}", out, subset)
        if not subset:
            for k in got:
                if k not in want:
                    out.append(f"{path}.{k}: not wanted, got {short(got[k])}")
    elif isinstance(want, list) and isinstance(got, list):
        for i in range(max(len(want), len(got))):
            if i >= len(got):
                out.append(f"{path}[{i}]: want {short(want[i])}, got {ABSENT}")
            elif i >= len(want):
                out.append(f"{path}[{i}]: not wanted, got {short(got[i])}")
            else:
                diff(want[i], got[i], f"{path}[{i}]", out, subset)
    elif is_num(want) and is_num(got):
        if abs(want - got) > 1e-6 * max(1.0, abs(want)):
            out.append(f"{path}: want {short(want)}, got {short(got)}")
    elif type(want) is not type(got) or want != got:
        out.append(f"{path}: want {short(want)}, got {short(got)}")


def substitute(v, names):
    if isinstance(v, str):
        for k, t in names.items():
            v = v.replace(k, t)
        return v
    if isinstance(v, list):
        return [substitute(x, names) for x in v]
    if isinstance(v, dict):
        return {k: substitute(x, names) for k, x in v.items()}
    return v


def load_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def source_text(program):
    """JSON is YAML once the characters that YAML folds or refuses are escaped."""
    text = json.dumps(program, ensure_ascii=False, indent=1)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda m: "\\u%04x" % ord(m.group()), text) + "\n"


# ---------------------------------------------------------------- AWS signature, version 4

def sigv4(secret, method, path, query, headers, signed, payload_hash, stamp, scope):
    """-> (canonical request, string to sign, signature); path as sent, headers with lower-case names."""
    date, region, service, _ = scope.split("/")
    canonical = "\n".join([
        method, urllib.parse.quote(path, safe="/-_.~"), query,
        *[f"{h}:{' '.join(headers.get(h, '').split())}" for h in signed], "", ";".join(signed), payload_hash])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return canonical, to_sign, hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def check_sigv4(req, params, out):
    auth = req.headers.get("authorization", "")
    m = re.match(r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$", auth)
    if not m:
        out.append(f"header authorization: want a SigV4 header, got {short(auth)}")
        return
    key, scope, signed, signature = m.groups()
    if key != params.get("aws_access_key_id"):
        out.append(f"header authorization: access key {key}")
    want_scope = rf"\d{{8}}/{re.escape(params.get('aws_region_name', ''))}/bedrock/aws4_request"
    if not re.fullmatch(want_scope, scope):
        out.append(f"header authorization: scope {scope}")
        return
    names = signed.split(";")
    if not {"host", "x-amz-date"} <= set(names):
        out.append(f"header authorization: signed headers {signed}, host and x-amz-date are required")
    body_hash = req.headers.get("x-amz-content-sha256") or hashlib.sha256(req.raw).hexdigest()
    right = sigv4(params.get("aws_secret_access_key", ""), req.method, req.path, req.query_text, req.headers, names,
                  body_hash, req.headers.get("x-amz-date", ""), scope)[2]
    if right != signature:
        out.append("header authorization: the signature does not fit the request")


# ---------------------------------------------------------------- the playing server

class Request:
    def __init__(self, method, target, headers, raw):
        self.method, self.raw, self.at = method, raw, time.monotonic()
        self.path, _, self.query_text = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(self.query_text, keep_blank_values=True))
        self.headers = {k.lower(): v for k, v in headers}
        self.body = load_json(raw.decode("utf-8", "replace")) if raw else ABSENT


class Player:
    """Plays the exchanges of one fixture in order and notes what differs."""

    def __init__(self, fixture, reference):
        self.fixture, self.reference = fixture, reference
        self.lock = threading.Lock()
        self.requests, self.problems, self.next, self.ids = [], [], 0, {}
        self.reserved = socket.socket()     # bound, never listening: connections are refused
        self.reserved.bind(("127.0.0.1", 0))
        player = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args):
                pass

            def serve(self):
                try:
                    raw = self.read_body()
                    req = Request(self.command, self.path, self.headers.items(), raw)
                    player.answer(self, req)
                except (OSError, ValueError):
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = serve

            def read_body(self):
                if "chunked" not in self.headers.get("transfer-encoding", "").lower():
                    return self.rfile.read(int(self.headers.get("content-length") or 0))
                parts = []
                while True:
                    size = int(self.rfile.readline().split(b";")[0], 16)
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                    if not size:
                        return b"".join(parts)

        class Server(ThreadingHTTPServer):
            request_queue_size = 64

            def handle_error(self, request, address):
                pass        # a client that hangs up is judged by its requests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.names = {"$BASE": f"http://127.0.0.1:{self.server.server_address[1]}",
                      "$DEAD": f"http://127.0.0.1:{self.reserved.getsockname()[1]}"}
        call = fixture.get("call") or {}
        self.params = call.get("parameters") or {}
        if call.get("date"):
            today = datetime.date.today()
            self.names[call["date"]] = today.strftime("%B %d, %Y")
        self.exchanges = substitute(fixture.get("exchanges") or [], self.names)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.reserved.close()

    def answer(self, handler, req):
        if self.reference and req.path.endswith("/api/show"):       # its library asks for metadata now and then
            return self.reply(handler, {"status": 200, "headers": {}, "body": {"template": "{{ .Prompt }}", "model_info": {}}})
        with self.lock:
            if self.fixture["provider"] == "mcp" and isinstance(req.body, dict):
                extra = self.unlisted_tools_list(req.body)
                if extra is not None:
                    return self.reply(handler, {"status": 200, "headers": {"content-type": "application/json"}, "body": extra})
            number = self.next
            self.next += 1
            self.requests.append(req)
            if number < len(self.exchanges):
                exchange = self.exchanges[number]
                found = []
                self.compare(exchange["request"], req, found)
                self.problems += [f"request {number + 1}: {x}" for x in found]
        if number >= len(self.exchanges):
            self.problems.append(f"request {number + 1} is one too many: {req.method} {req.path} {short(req.body, 120)}")
            return self.reply(handler, {"status": 500, "headers": {"x-should-retry": "false"},
                                        "body": {"error": {"message": "the fixture has no more exchanges"}}})
        response = exchange["response"]
        if response.get("delay_seconds"):
            time.sleep(response["delay_seconds"])
        if self.fixture["provider"] == "mcp" and isinstance(req.body, dict):
            response = with_id(response, exchange["request"].get("body"), req.body.get("id"))
        self.reply(handler, response)

    def unlisted_tools_list(self, body):
        """Clients may list the tools at import: answered here when the fixture has no such exchange."""
        wanted = [x["request"].get("body", {}) for x in self.exchanges]
        if body.get("method") != "tools/list" or any(w.get("method") == "tools/list" for w in wanted):
            return None
        names = [w["params"]["name"] for w in wanted if w.get("method") == "tools/call"]
        return {"jsonrpc": "2.0", "id": body.get("id"),
                "result": {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in dict.fromkeys(names)]}}

    def compare(self, want, req, out):
        ref = self.reference
        if want["method"] != req.method:
            out.append(f"method: want {want['method']}, got {req.method}")
        if want["path"] != req.path:
            out.append(f"path: want {want['path']}, got {req.path}")
        diff(want.get("query") or {}, req.query, "query", out)
        for name, value in (want.get("headers") or {}).items():
            got = req.headers.get(name.lower(), ABSENT)
            if value == "$AWS4":
                check_sigv4(req, self.params, out)
            elif ref and name == "content-type" and got in (ABSENT, "application/octet-stream"):
                pass        # its ollama routes
            elif not same_header(name.lower(), value, got):
                out.append(f"header {name}: want {short(value)}, got {short(got)}")
        if "form" in want:
            diff(want["form"], dict(urllib.parse.parse_qsl(req.raw.decode("utf-8", "replace"))), "form", out)
        if "body" in want:
            if not isinstance(req.body, type(want["body"])):
                out.append(f"body: want JSON, got {short(req.raw.decode('utf-8', 'replace'))}")
                return
            got = normalise(req.body, want["body"], ref, req.path)
            if self.fixture["provider"] == "mcp":
                got = normalise_rpc(got, want["body"], self.ids, out)
            diff(want["body"], got, "body", out)

    def reply(self, handler, response):
        if "base64" in response:
            data = base64.b64decode(response["base64"])
        elif "text" in response:
            data = response["text"].encode()
        else:
            data = json.dumps(response.get("body"), ensure_ascii=False).encode()
        headers = {"content-type": "application/json", **{k.lower(): v for k, v in (response.get("headers") or {}).items()}}
        handler.send_response(response["status"])
        for k, v in headers.items():
            handler.send_header(k, v)
        if "event-stream" in headers["content-type"] or "ndjson" in headers["content-type"] or "eventstream" in headers["content-type"]:
            handler.send_header("transfer-encoding", "chunked")
            handler.end_headers()
            sizes, at, i = (1, 7, 30, 2, 90, 13), 0, 0
            while at < len(data):           # pieces cut across lines, events and characters
                piece = data[at:at + sizes[i % len(sizes)]]
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                handler.wfile.flush()
                at, i = at + len(piece), i + 1
                time.sleep(0.0005)
            handler.wfile.write(b"0\r\n\r\n")
        else:
            if response["status"] not in (202, 204):
                handler.send_header("content-length", str(len(data)))
            else:
                handler.send_header("content-length", "0")
                data = b""
            handler.end_headers()
            handler.wfile.write(data)
        handler.wfile.flush()

    def finish(self):
        out = list(self.problems)
        for i in range(self.next, len(self.exchanges)):
            r = self.exchanges[i]["request"]
            out.append(f"request {i + 1} never came: {r['method']} {r['path']}")
        return out


def same_header(name, want, got):
    if got is ABSENT:
        return False
    if name == "content-type":
        return got.split(";")[0].strip().lower() == want.split(";")[0].strip().lower()
    if name == "accept":
        return {x.strip() for x in got.split(",")} == {x.strip() for x in want.split(",")}
    return want == got or (want == "$ANY" and got != "")


def normalise(body, want, reference, path):
    """Drop what a client may send or omit; with reference also what its library is known to add."""
    if not isinstance(body, dict):
        return body
    body = dict(body)
    if body.get("stream") is False and "stream" not in want:
        del body["stream"]
    if want.get("stream") is False and "stream" not in body:
        body["stream"] = False
    if body.get("encoding_format") == "float" and "encoding_format" not in want:
        del body["encoding_format"]
    if body.get("moderations") == {} and "moderations" not in want:
        del body["moderations"]
    if reference:
        if body.get("images") == [] and "images" not in want:
            del body["images"]
        if isinstance(body.get("messages"), list):
            body["messages"] = [{k: v for k, v in m.items() if not (k == "images" and v == [])} if isinstance(m, dict) else m
                                for m in body["messages"]]
        if isinstance(body.get("input"), dict) and body["input"].get("stream") is False:    # replicate
            body["input"] = {k: v for k, v in body["input"].items() if k != "stream"}
        if "model_id" in want or "/ml/v1/deployments/" in path:
            for k in ("model", "stream"):
                if k not in want:
                    body.pop(k, None)
            if isinstance(body.get("parameters"), dict) and isinstance(want.get("parameters"), dict):
                body["parameters"] = {k: v for k, v in body["parameters"].items() if k != "stream" or k in want["parameters"]}
    return body


def normalise_rpc(body, want, ids, out):
    body = dict(body)
    if "id" in want and "id" in body:
        if body["id"] in ids.values():
            out.append(f"body.id: {short(body['id'])} was used before")
        ids[want["id"]] = body["id"]
        body["id"] = want["id"]
    params = body.get("params")
    if want.get("params") == {} and params is None:
        body["params"] = {}
    if "params" not in want and params == {}:
        del body["params"]
    if want.get("method") == "initialize" and isinstance(params, dict):
        info = params.get("clientInfo")
        if isinstance(info, dict) and info.get("name") and info.get("version"):
            body["params"] = {**params, "clientInfo": want["params"]["clientInfo"]}
    return body


def with_id(response, want, got):
    """The answer of an MCP exchange, with the id that the client chose."""
    if not isinstance(want, dict) or "id" not in want:
        return response
    response = dict(response)
    if isinstance(response.get("body"), dict):
        response["body"] = {**response["body"], "id": got}
    if response.get("text"):
        response["text"] = re.sub(r'"id": ?%d\b' % want["id"], lambda m: f'"id": {json.dumps(got)}', response["text"])
    return response


def play_stdio(fixture_file, log_file):
    """An MCP server on standard input and output that plays the `lines` of a fixture."""
    with open(fixture_file, encoding="utf-8") as f:
        lines = json.load(f)["lines"]
    state = {"problems": [], "left": len(lines), "eof": False}

    def save():
        with open(log_file + ".new", "w", encoding="utf-8") as f:
            json.dump(state, f)
        os.replace(log_file + ".new", log_file)

    save()
    ids, at = {}, 0
    wanted = [x["send"] for x in lines if "send" in x]
    for text in sys.stdin:
        got = load_json(text)
        if not isinstance(got, dict):
            state["problems"].append(f"not a JSON object: {text[:100]!r}")
        elif got.get("method") == "tools/list" and not any(w.get("method") == "tools/list" for w in wanted):
            names = dict.fromkeys(w["params"]["name"] for w in wanted if w.get("method") == "tools/call")
            print(json.dumps({"jsonrpc": "2.0", "id": got.get("id"), "result": {
                "tools": [{"name": n, "inputSchema": {"type": "object"}} for n in names]}}), flush=True)
            continue
        elif at >= len(lines):
            state["problems"].append(f"a message too many: {short(got)}")
        else:
            want, found = lines[at]["send"], []
            diff(want, normalise_rpc(got, want, ids, found), "message", found)
            state["problems"] += [f"{want.get('method')}: {x}" for x in found]
            at += 1
            answers = []
            while at < len(lines) and "recv" in lines[at]:
                answer = dict(lines[at]["recv"])
                if answer.get("id") in ids:
                    answer["id"] = ids[answer["id"]]
                answers.append(answer)
                at += 1
            if "id" in got and not answers:     # out of step: do not let the client wait
                answers.append({"jsonrpc": "2.0", "id": got["id"], "error": {"code": -32600, "message": "not in the fixture"}})
            state["left"] = len(lines) - at
            save()
            for answer in answers:
                print(json.dumps(answer), flush=True)
        save()
    state["eof"] = True
    save()


if __name__ == "__main__":
    play_stdio(*sys.argv[1:])
