#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""server.py MODE [LOG] -- a tool server over standard input and output that misbehaves as MODE says. It appends its input to LOG, one JSON object on
each line. Tests start it with `python3 -I -S`, and it imports little, so that a start is cheap. http_server.py is the same server over HTTP."""
import json
import os
import signal
import sys
import time

MODE, LOG = "good", None
TEXT = {"type": "string"}


def begin(mode, log=None):
    global MODE, LOG
    MODE, LOG = mode, log


def note(what):
    if LOG:
        with open(LOG, "a", encoding="utf-8") as f:
            f.write(json.dumps(what) + "\n")


def tool(name, props=None, required=(), **more):
    return {"name": name, "inputSchema": {"type": "object", "properties": props or {}, "required": list(required)}, **more}


def tool_of(name, schema):
    return {"name": name, "inputSchema": {"type": "object", **schema}}


TOOLS = [
    tool("echo", {"text": TEXT, "times": {"type": "integer", "default": 1}}, ["text"], description="Says ${ it } again"),
    tool("env"), tool("fail", {"why": TEXT}, ["why"]), tool("many"), tool("slow", {"seconds": {"type": "number"}}, ["seconds"]),
    tool("odd-name.tool"), tool("odd", {"not": TEXT, "a-b": TEXT, "any": True, "ref": {"$ref": "#/$defs/x"},
                                       "union": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, ["not"]),
    tool("tools"), tool("change"), tool("none"), tool("mixed"),
    tool("mark", {"text": TEXT, "seconds": {"type": "number"}}, ["text"]), tool("needs_task", execution={"taskSupport": "required"}),
    tool("may_task", execution={"taskSupport": "optional"}),
    # Which arguments their schemas allow besides those that they name: test_arguments.py.
    {"name": "bare", "inputSchema": {}},
    {"name": "open", "inputSchema": {"type": "object"}},
    {"name": "call_tool", "inputSchema": {"type": "object", "additionalProperties": False}},
    tool_of("some", {"properties": {"text": TEXT, "n": {"type": "integer"}}, "required": ["text"]}),
    tool_of("closed", {"properties": {"text": TEXT, "n": {"type": "integer"}}, "required": ["text"], "additionalProperties": False}),
    tool_of("nothing", {"properties": {}, "additionalProperties": False}),
    tool_of("numbers", {"additionalProperties": {"type": "integer"}}),
    tool_of("patterns", {"properties": {"text": TEXT}, "patternProperties": {"^x-": TEXT}, "additionalProperties": False}),
    tool_of("wrong_pattern", {"patternProperties": {"(": TEXT}, "additionalProperties": False}),
    tool_of("refers", {"additionalProperties": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}),
    tool_of("names", {"propertyNames": {"maxLength": 2}}),
    # older drafts, other words for types, and a pattern of another dialect
    tool_of("drafts", {"properties": {"a": {"type": "STRING", "required": True}, "n": {"type": "int", "minimum": 0, "exclusiveMinimum": True}, "t": {"type": "array", "items": [TEXT]}, "x": {"type": "any"},
                                      "e": {"type": "string", "enum": None, "description": None}, "u": None, "p": {"type": "string", "pattern": "^\\p{Lu}"}, "i": {"type": "object", "properties": {"p": {"pattern": "("}}}}}),
]
ECHOES = ("odd", "bare", "open", "some", "closed", "nothing", "numbers", "patterns", "wrong_pattern", "refers", "names", "drafts")
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
    if name in ECHOES:
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
        return {"tools": [tool("t%d" % i, description="d" * 100000) for i in range(40)]}
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
    elif MODE == "stray":
        put(good.replace('"id": %d' % message["id"], '"id": "another"'))
    elif MODE == "unread":
        put("<html>")
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
        put(json.dumps({"jsonrpc": "2.0", "id": "%s-1" % message["id"], "result": result("bad")}))
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


if __name__ == "__main__":
    begin(*sys.argv[1:3])
    if LOG:
        with open(LOG + ".pid", "w", encoding="ascii") as its:
            its.write(str(os.getpid()))
    stdio()
