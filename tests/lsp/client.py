# SPDX-License-Identifier: Apache-2.0
"""A client of `pdl lsp` (and, with the same frames, of `pdl dap`): messages in and out, with a deadline."""
import json
import os
import queue
import subprocess
import threading

DEADLINE = float(os.environ.get("PDL_TEST_DEADLINE", 120))


class Client:
    def __init__(self, argv, cwd=None, env=None):
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                                        env={**os.environ, **(env or {})})
        self.messages, self.errors = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()
        self.error_reader = threading.Thread(target=self._read_errors, daemon=True)
        self.error_reader.start()

    def _read(self):
        out = self.process.stdout
        while True:
            length = None
            while True:
                line = out.readline()
                if not line:
                    self.messages.put(None)
                    return
                if line in (b"\r\n", b"\n"):
                    break
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.messages.put(json.loads(out.read(length)))

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace"))

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        data = json.dumps(message, ensure_ascii=False).encode()
        self.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def next(self, deadline=DEADLINE):
        """The next message; None when the server has ended. TimeoutError: none came."""
        try:
            return self.messages.get(timeout=deadline)
        except queue.Empty:
            raise TimeoutError("no message within %d s" % deadline)

    def end(self, deadline=DEADLINE):
        """Closes the input; -> exit status, error output"""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            status = self.process.wait(deadline)
            self.error_reader.join(deadline)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "time-out"
        return status, "".join(self.errors)


class Lsp(Client):
    """Requests and notifications of the Language Server Protocol."""
    CAPABILITIES = {
        "general": {"positionEncodings": ["utf-16"]},
        "textDocument": {"completion": {"completionItem": {"snippetSupport": True}}, "hover": {"contentFormat": ["markdown"]},
                         "documentSymbol": {"hierarchicalDocumentSymbolSupport": True}},
        "workspace": {"workspaceEdit": {"documentChanges": False}},
    }

    def __init__(self, pdl, cwd=None, env=None, options=()):
        super().__init__([pdl, "lsp", *options], cwd, env)
        self.last_id, self.others = 0, []

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params if params is not None else {}})

    def ask(self, method, params=None):
        """Sends a request without waiting -> its id"""
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def answer(self, wanted):
        """The answer with that id; what comes before it is kept in `others`."""
        for i, m in enumerate(self.others):
            if m.get("id") == wanted and "method" not in m:
                return self.others.pop(i)
        while True:
            m = self.next()
            if m is None:
                raise EOFError("the server ended: %s" % "".join(self.errors))
            if m.get("id") == wanted and "method" not in m:
                return m
            self.others.append(m)

    def request(self, method, params=None):
        m = self.answer(self.ask(method, params))
        return m["result"] if "result" in m else {"error": m["error"]}

    def note(self, method):
        """The next notification or request of that name from the server -> its params"""
        for i, m in enumerate(self.others):
            if m.get("method") == method:
                return self.others.pop(i).get("params")
        while True:
            m = self.next()
            if m is None:
                raise EOFError("the server ended: %s" % "".join(self.errors))
            if m.get("method") == method:
                return m.get("params")
            self.others.append(m)

    def initialize(self, roots=(), capabilities=None):
        folders = [{"uri": "file://%s" % r, "name": os.path.basename(str(r))} for r in roots]
        result = self.request("initialize", {"processId": None, "rootUri": None, "workspaceFolders": folders or None,
                                             "capabilities": self.CAPABILITIES if capabilities is None else capabilities})
        self.notify("initialized")
        return result

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "pdl", "version": version, "text": text}})

    def quit(self):
        self.request("shutdown")
        self.notify("exit")
        return self.end()
