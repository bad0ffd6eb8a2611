# SPDX-License-Identifier: Apache-2.0
"""The tool server of server.py over streamable HTTP, in the process of the test. Its modes are called http:NAME."""
import json
import threading
import time
from http.server import ThreadingHTTPServer

from .. import http_of
from . import server

# What servers made from the protocol's examples say of a session that they do not know.
UNKNOWN = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'
changed = threading.Event()
kept = {}       # answers whose stream ended too early, by the id of its last event


def params_name(message):
    return message["params"]["name"]


class Handler(http_of.Quiet):
    protocol_version = "HTTP/1.1"
    session = 0

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
        server.note({"GET": last, "session": self.headers.get("mcp-session-id"), "accept": self.headers.get("accept"),
              "version": self.headers.get("mcp-protocol-version")})
        if server.MODE == "http:push":
            self.stream("retry: 100\n\n" if last is None else "")
            if last is None:
                changed.wait(20)
                self.wfile.write(b'id: p1\ndata: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n')
            else:
                time.sleep(20)
            return None
        if server.MODE == "http:expires" and Handler.session < 2:
            Handler.session = 100
            return self.send(404)
        if server.MODE in ("http:resume", "http:resume-slow") and last in kept:
            if server.MODE == "http:resume-slow" and last == "e1":
                kept["e2"] = kept["e1"]
                return self.stream("id: e2\ndata:\n\n")
            return self.stream("id: e9\ndata: %s\n\n" % kept[last])
        return self.send(404 if server.MODE == "http:resume-gone" and last else 405)

    def do_DELETE(self):
        server.note({"DELETE": self.headers.get("mcp-session-id")})
        self.send(405 if server.MODE == "http:nodelete" else 200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.note({"headers": {k.lower(): v for k, v in self.headers.items()}, "message": message})
        method = message.get("method")
        if server.MODE == "http:auth" and self.headers.get("authorization") != "Bearer t0psecret-token":
            return self.send(401, b"who are you?")
        if server.MODE == "http:oauth":
            return self.send(401, WWW_Authenticate='Bearer error="invalid_token", error_description="it has expired", resource_metadata="http://127.0.0.1:9/x"')
        if server.MODE == "http:redirect":
            return self.send(307, location="http://127.0.0.1:9/")
        if server.MODE == "http:html":
            return self.send(502, b"<html>bad gateway</html>")
        if method == "initialize":
            Handler.session += 1
        elif self.headers.get("mcp-session-id") != f"s{Handler.session}":
            return self.send(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}')
        if "id" not in message or "method" not in message:
            return self.send(202)
        if server.MODE == "http:lostlist" and method == "tools/list" and Handler.session < 2:
            Handler.session = 100
            return self.send(404)
        if server.MODE == "http:lostlist400" and method == "tools/list" and Handler.session < 2:
            Handler.session = 100
            return self.send(400, UNKNOWN)
        if server.MODE == "http:forgetslist" and method == "tools/list":
            return self.send(404)
        if method == "tools/call":
            if params_name(message) == "change":
                server.TOOLS.append(server.tool("fresh"))
                changed.set()
            if server.MODE.startswith("http:resume"):
                kept["e1"] = json.dumps(server.answer(message))
                return self.stream("retry: 10\n\nid: e1\ndata:\n\nid: e2\ndata: {\"half")
            if server.MODE in ("http:lost", "http:lost400") and message["params"]["arguments"].get("text") == "lose" and Handler.session < 2:
                Handler.session = 100
                return self.send(404) if server.MODE == "http:lost" else self.send(400, UNKNOWN)
            if server.MODE == "http:forgets":
                return self.send(404)
            if server.MODE == "http:forgets400":
                return self.send(400, UNKNOWN)
            if server.MODE == "http:cut":
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(b'event: message\ndata: {"jsonrpc": "2.0", "id"')
                self.close_connection = True
                return None
            if server.MODE == "http:silence":
                time.sleep(30)
            if server.MODE == "http:empty":
                return self.send(200, Content_Type="application/json")
            if server.MODE == "http:error":
                return self.send(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad arguments"}}')
        body = json.dumps(server.answer(message))
        extra = {"Mcp_Session_Id": f"s{Handler.session}"} if method == "initialize" else {}
        if server.MODE in ("http:json", "http:auth", "http:lost"):
            return self.send(200, body.encode(), Content_Type="application/json", **extra)
        events = ": hello\n\nevent: message\ndata: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/progress\"}\n\n"
        events += "id: 1\nevent: message\ndata: " + body + "\n\n"
        if server.MODE != "http:open":
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


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass        # a client that hangs up is no event here


def serve(mode, log):
    """-> the address of a server in this process, which does wrong what the mode says."""
    server.begin(mode, log)
    s = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/mcp" % s.server_port
