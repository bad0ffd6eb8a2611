#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""notes.py -- a small tool server for tools.pdl: notes that can be listed and found (Model Context Protocol on standard input and output)."""
import json
import sys

NOTES = {"picnic": "Picnic at the lake on day 152 of the year.", "concert": "Concert in the park on day 170 of the year."}
TOOLS = [
    {"name": "list", "description": "Names of all notes", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "find", "description": "The text of a note", "inputSchema": {
        "type": "object", "properties": {"name": {"type": "string", "description": "name of the note"}}, "required": ["name"]}},
]


def call(name, arguments):
    if name == "list":
        return {"content": [{"type": "text", "text": ", ".join(NOTES)}]}
    text = NOTES.get(arguments.get("name"))
    return {"content": [{"type": "text", "text": text or "there is no such note"}], "isError": text is None}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params") or {})}
        print(json.dumps(reply), flush=True)
