#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""server.py MODE [LOG] -- a tool server that does wrong what MODE says (Python standard library only).

Over standard input and output; MODE http:NAME serves streamable HTTP on a free port of the loopback interface and writes the port as
its first line. What comes in is appended to LOG, one JSON object a line.
"""
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
LOG = sys.argv[2] if len(sys.argv) > 2 else None
TEXT = {"type": "string"}


def note(what):
    if LOG:
        with open(LOG, "a", encoding="utf-8") as f:
            f.write(json.dumps(what) + "\n")


def tool(name, props=None, required=(), **more):
    return {"name": name, "inputSchema": {"type": "object", "properties": props or {}, "required": list(required)}, **more}


TOOLS = [
    tool("echo", {"text": TEXT, "times": {"type": "integer", "default": 1}}, ["text"], description="Says ${ it } again"),
    tool("env"), tool("fail", {"why": TEXT}, ["why"]), tool("many"), tool("slow", {"seconds": {"type": "number"}}, ["seconds"]),
    tool("odd-name.tool"), tool("odd", {"not": TEXT, "a-b": TEXT, "any": True, "ref": {"$ref": "#/$defs/x"},
                                       "union": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, ["not"]),
    tool("tools"), tool("change"), tool("none"), tool("mixed"),
    tool("mark", {"text": TEXT, "seconds": {"type": "number"}}, ["text"]), tool("needs_task", execution={"taskSupport": "required"}),
    tool("may_task", execution={"taskSupport": "optional"}),
]
marked = []     # by the tool `mark`: what was called, in the order in which the calls ended


def result(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


def call(name, a):
    if name == "echo":
        return result(" ".join([a["text"]] * a.get("times", 1)))
    if name == "env":
        return result(json.dumps(dict(os.environ)))
    if name == "fail":
        return result(a["why"], isError=True)
    if name == "slow":
        time.sleep(a["seconds"])
        return result("done")
    if name == "mark":
        time.sleep(a.get("seconds", 0))
        marked.append(a["text"])
        return result(" ".join(marked))
    if name == "odd":
        return result(json.dumps(a, sort_keys=True))
    if name == "mixed":
        return {"content": [{"type": "text", "text": "one"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"},
                            {"type": "text", "text": "two"}]}
    if name == "none":
        return {}
    if name == "many":
        return result("", structuredContent={"items": [1, 2, 3]})
    return result("tool " + name)


def initialize(message):
    version = {"version": "1999-01-01", "old": "2024-11-05", "noversion": None}.get(MODE, message["params"]["protocolVersion"])
    return {"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "scripted", "version": "1"}}


def listed(params):
    if MODE == "pages":
        at = int(params.get("cursor", 0))
        return {"tools": [tool(f"t{at}")], **({"nextCursor": str(at + 1)} if at < 4 else {})}
    if MODE == "endless":
        return {"tools": [], "nextCursor": "again"}
    if MODE == "large":
        return {"tools": [tool("t%d" % i, description="d" * 1000000) for i in range(40)]}
    if MODE == "notools":
        return None
    if MODE == "wronglist":
        return {"tools": "many"}
    return {"tools": TOOLS}


def answer(message):
    """The answer to a request, None when there is none."""
    method, params = message["method"], message.get("params") or {}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        return {**reply, "result": initialize(message)}
    if method == "tools/list":
        tools = listed(params)
        return {**reply, "result": tools} if tools else {**reply, "error": {"code": -32601, "message": "Method not found"}}
    if method == "tools/call":
        return {**reply, "result": call(params["name"], params.get("arguments") or {})}
    if method == "echo/params":
        return {**reply, "result": params}
    return {**reply, "error": {"code": -32601, "message": "Method not found"}}


# ---------------------------------------------------------------- standard input and output

def put(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def wrong(message):
    """True when MODE has dealt with this call of a tool."""
    good = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result("good")})
    if MODE == "junk":
        put("Listening...\n{\"half\": \n[]\nnull\n{}\n" + good)
    elif MODE == "silence":
        pass
    elif MODE == "deaf":
        sys.stdout.flush()
        os.close(1)
        time.sleep(60)
    elif MODE == "death":
        sys.stderr.write("something\ncannot go on: out of luck\n")
        sys.stderr.flush()
        os._exit(3)
    elif MODE == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif MODE == "huge":
        block = "x" * (1 << 20)
        sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "result": "')
        while True:
            sys.stdout.write(block)
    elif MODE == "wrongid":
        put(json.dumps({"jsonrpc": "2.0", "id": 4711, "result": result("bad")}))
        put(json.dumps({"jsonrpc": "2.0", "id": str(message["id"]), "result": result("bad")}))
        put(good)
    elif MODE == "twice":
        put(good + "\n" + good)
    elif MODE == "batch":
        put("[" + json.dumps({"jsonrpc": "2.0", "method": "notifications/progress"}) + "," + good + "]")
    elif MODE == "bytes":
        for c in good.encode() + b"\r\n":
            sys.stdout.buffer.write(bytes([c]))
            sys.stdout.buffer.flush()
    elif MODE == "asks":
        put(json.dumps({"jsonrpc": "2.0", "id": "q1", "method": "ping"}))
        put(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage", "params": {}}))
        note(json.loads(sys.stdin.readline()))
        note(json.loads(sys.stdin.readline()))
        put(good)
    elif MODE == "loud":
        sys.stderr.write("log line\n" * 200000)
        put(good)
    elif MODE == "rpcerror":
        put(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32099, "message": "no luck"}}))
    elif MODE == "nothing":
        put(json.dumps({"jsonrpc": "2.0", "id": message["id"]}))
    elif MODE == "decimalid":
        put(json.dumps({"jsonrpc": "2.0", "id": message["id"] + 0.5, "result": result("bad")}))
        put(json.dumps({"jsonrpc": "2.0", "id": float(message["id"]), "result": result("good")}))
    elif MODE == "noresult":
        put(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": 7}))
    else:
        return False
    return True


def stdio():
    if MODE == "mute":
        time.sleep(60)
    if MODE == "exits":
        sys.exit("not today")
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        note(message)
        if "id" not in message or "method" not in message:
            continue
        if message["method"] == "tools/call" and wrong(message):
            continue
        if message["method"] == "tools/call" and message["params"]["name"] == "change":
            TOOLS.append(tool("fresh"))
            put(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        put(json.dumps(answer(message)))
    note("end of input")
    if MODE == "stubborn":
        time.sleep(60)


# ---------------------------------------------------------------- HTTP

# What servers made from the protocol's examples say of a session that they do not know.
UNKNOWN = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'
changed = threading.Event()
kept = {}       # answers whose stream ended too early, by the id of its last event


def params_name(message):
    return message["params"]["name"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    session = 0

    def log_message(self, *args):
        pass

    def send(self, status, body=b"", **headers):
        self.send_response(status)
        for k, v in {"Content-Length": str(len(body)), **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, text, **headers):
        """Some events, and the connection is open."""
        self.send_response(200)
        for k, v in {"Content-Type": "text/event-stream", "Connection": "close", **headers}.items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(text.encode())
        self.wfile.flush()
        self.close_connection = True

    def do_GET(self):
        """The stream of the session, or the rest of one that ended too early (MODE http:resume...)."""
        last = self.headers.get("last-event-id")
        note({"GET": last, "session": self.headers.get("mcp-session-id"), "accept": self.headers.get("accept"),
              "version": self.headers.get("mcp-protocol-version")})
        if MODE == "http:push":
            self.stream("retry: 100\n\n" if last is None else "")
            if last is None:
                changed.wait(20)
                self.wfile.write(b'id: p1\ndata: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n')
            else:
                time.sleep(20)
            return None
        if MODE == "http:expires" and Handler.session < 2:
            Handler.session = 100
            return self.send(404)
        if MODE in ("http:resume", "http:resume-slow") and last in kept:
            if MODE == "http:resume-slow" and last == "e1":
                kept["e2"] = kept["e1"]
                return self.stream("id: e2\ndata:\n\n")
            return self.stream("id: e9\ndata: %s\n\n" % kept[last])
        return self.send(404 if MODE == "http:resume-gone" and last else 405)

    def do_DELETE(self):
        note({"DELETE": self.headers.get("mcp-session-id")})
        self.send(405 if MODE == "http:nodelete" else 200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        note({"headers": {k.lower(): v for k, v in self.headers.items()}, "message": message})
        method = message.get("method")
        if MODE == "http:auth" and self.headers.get("authorization") != "Bearer t0psecret-token":
            return self.send(401, b"who are you?")
        if MODE == "http:oauth":
            return self.send(401, WWW_Authenticate='Bearer error="invalid_token", error_description="it has expired", resource_metadata="http://127.0.0.1:9/x"')
        if MODE == "http:redirect":
            return self.send(307, location="http://127.0.0.1:9/")
        if MODE == "http:html":
            return self.send(502, b"<html>bad gateway</html>")
        if method == "initialize":
            Handler.session += 1
        elif self.headers.get("mcp-session-id") != f"s{Handler.session}":
            return self.send(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}')
        if "id" not in message or "method" not in message:
            return self.send(202)
        if MODE == "http:lostlist" and method == "tools/list" and Handler.session < 2:
            Handler.session = 100
            return self.send(404)
        if MODE == "http:lostlist400" and method == "tools/list" and Handler.session < 2:
            Handler.session = 100
            return self.send(400, UNKNOWN)
        if MODE == "http:forgetslist" and method == "tools/list":
            return self.send(404)
        if method == "tools/call":
            if params_name(message) == "change":
                TOOLS.append(tool("fresh"))
                changed.set()
            if MODE.startswith("http:resume"):
                kept["e1"] = json.dumps(answer(message))
                return self.stream("retry: 10\n\nid: e1\ndata:\n\nid: e2\ndata: {\"half")
            if MODE in ("http:lost", "http:lost400") and message["params"]["arguments"].get("text") == "lose" and Handler.session < 2:
                Handler.session = 100
                return self.send(404) if MODE == "http:lost" else self.send(400, UNKNOWN)
            if MODE == "http:forgets":
                return self.send(404)
            if MODE == "http:forgets400":
                return self.send(400, UNKNOWN)
            if MODE == "http:cut":
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(b'event: message\ndata: {"jsonrpc": "2.0", "id"')
                self.close_connection = True
                return None
            if MODE == "http:silence":
                time.sleep(30)
            if MODE == "http:empty":
                return self.send(200, Content_Type="application/json")
            if MODE == "http:error":
                return self.send(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad arguments"}}')
        body = json.dumps(answer(message))
        extra = {"Mcp_Session_Id": f"s{Handler.session}"} if method == "initialize" else {}
        if MODE in ("http:json", "http:auth", "http:lost"):
            return self.send(200, body.encode(), Content_Type="application/json", **extra)
        events = ": hello\n\nevent: message\ndata: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/progress\"}\n\n"
        events += "id: 1\nevent: message\ndata: " + body + "\n\n"
        if MODE != "http:open":
            return self.send(200, events.encode(), Content_Type="text/event-stream", **extra)
        self.send_response(200)     # a stream that is never closed
        self.send_header("Content-Type", "text/event-stream")
        for k, v in extra.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(events.encode())
        self.wfile.flush()
        time.sleep(30)
        self.close_connection = True
        return None


def http():
    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, address):
            pass        # a client that hangs up is no event here

    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    http() if MODE.startswith("http:") else stdio()
