# SPDX-License-Identifier: Apache-2.0
"""https.py CERTIFICATE KEY PORT-FILE -- a model behind TLS on the loopback interface. It answers every call with the reversed text of the call."""
import http.server
import json
import pathlib
import ssl
import sys


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = request["messages"][-1]["content"][::-1]
        if request.get("stream"):
            body, kind = self.stream(text), "text/event-stream"
        else:
            body, kind = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": {
                "role": "assistant", "content": text}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}), "application/json"
        data = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @staticmethod
    def stream(text):
        chunks = [{"choices": [{"index": 0, "delta": {"content": c}, "finish_reason": None}]} for c in text]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return "".join("data: %s\n\n" % json.dumps(c) for c in chunks) + "data: [DONE]\n\n"

    def log_message(self, *unused):
        pass


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    pathlib.Path(sys.argv[3]).write_text(str(server.server_address[1]), "utf-8")
    server.serve_forever()


if __name__ == "__main__":
    main()
