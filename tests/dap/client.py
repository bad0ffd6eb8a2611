# SPDX-License-Identifier: Apache-2.0
"""A client of `pdl dap`."""
from ..lsp.client import Client


class Dap(Client):
    def __init__(self, pdl, cwd=None, env=None):
        super().__init__([pdl, "dap"], cwd, env)
        self.seq, self.events = 0, []

    def send_request(self, command, **arguments):
        self.seq += 1
        self.send({"seq": self.seq, "type": "request", "command": command, "arguments": arguments})
        return self.seq

    def response(self, seq):
        while True:
            m = self.next()
            if m is None:
                raise EOFError("the debugger ended: %s" % "".join(self.errors))
            if m["type"] == "response" and m["request_seq"] == seq:
                return m
            self.events.append(m)

    def request(self, command, **arguments):
        m = self.response(self.send_request(command, **arguments))
        return m.get("body", {}) if m["success"] else {"error": m["message"]}

    def event(self, name):
        """The next event of that name -> its body"""
        for i, m in enumerate(self.events):
            if m.get("event") == name:
                return self.events.pop(i)["body"]
        while True:
            m = self.next()
            if m is None:
                raise EOFError("the debugger ended: %s" % "".join(self.errors))
            if m.get("event") == name:
                return m["body"]
            self.events.append(m)

    def stopped(self):
        """-> (reason, line of the innermost frame, frames)"""
        body = self.event("stopped")
        frames = self.request("stackTrace", threadId=body["threadId"])["stackFrames"]
        return body["reason"], frames[0]["line"], frames

    def scope(self, frame, name):
        """Variables of a scope as {name: text}."""
        for s in self.request("scopes", frameId=frame)["scopes"]:
            if s["name"] == name:
                return {v["name"]: v["value"] for v in self.request("variables", variablesReference=s["variablesReference"])["variables"]}
        return {}

    def launch(self, program, breakpoints=(), filters=(), **more):
        """breakpoints: lines, or objects of the protocol."""
        self.request("initialize", adapterID="pdl")
        self.event("initialized")
        launched = self.send_request("launch", program=str(program), **more)
        found = self.request("setBreakpoints", source={"path": str(program)},
                             breakpoints=[{"line": b} if isinstance(b, int) else b for b in breakpoints])
        self.request("setExceptionBreakpoints", filters=list(filters))
        self.request("configurationDone")
        self.response(launched)
        return found["breakpoints"]

    def output(self):
        return "".join(m["body"]["output"] for m in self.events if m.get("event") == "output")
