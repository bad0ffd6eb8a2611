# SPDX-License-Identifier: Apache-2.0
"""Tool servers with the oddities of real ones: endless lists, schemas without properties, results that are not texts, ids and byte order marks in odd
places, failures without an id. They are tried over HTTP, and over a pipe where it behaves in the same way."""
import ast
import json
import sys
import time

import pytest

from ..checks import check, same
from ..http_of import Quiet, serve
from .kit import run

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOL = {"name": "add", "description": "Add", "inputSchema": SCHEMA}
CALL = 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.add(a=2) }"\n'
LIST = 'defs: {s: {import: "mcp:s"}}\ndata: "${ s.tools }"\n'
PIPE = r"""
import json, sys
script = json.load(open("script.json"))
first = True
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    rows = script.get(m["method"])
    row = rows.pop(0) if len(rows) > 1 else rows[0]
    answer = {"jsonrpc": "2.0", "id": str(m["id"]) if script.get("ids") == "text" else m["id"], "result": row}
    if script.get("both"):
        answer["error"] = None
    if script.get("batch"):
        answer = [answer]
    sys.stdout.write(("\ufeff" if script.get("mark") and first else "") + json.dumps(answer, ensure_ascii=False) + "\n")
    first = False
    sys.stdout.flush()
"""


def script(call=None, pages=None, **more):
    return {"initialize": [HELLO], "tools/list": pages or [{"tools": [TOOL]}], "tools/call": [call or {"content": [{"type": "text", "text": "5"}]}], **more}


def http(folder, program, s, **more):
    """s: rows of results; ("raw", bytes, type) is sent as it is."""
    class Handler(Quiet):
        def do_POST(self):
            m = json.loads(self.body())
            rows = s.get(m.get("method"))
            if "id" not in m:
                return self.reply(s.get("note", b""), status=200 if "note" in s else 202)
            row = rows.pop(0) if len(rows) > 1 else rows[0]
            if isinstance(row, tuple):
                return self.reply(row[1].replace(b"$ID", str(m["id"]).encode()), row[2], row[3] if len(row) > 3 else 200)
            answer = {"jsonrpc": "2.0", "id": str(m["id"]) if s.get("ids") == "text" else m["id"], "result": row}
            if s.get("both"):
                answer["error"] = None
            text = json.dumps([answer] if s.get("batch") else answer)
            if s.get("events"):
                return self.reply(("\ufeff" * bool(s.get("mark")) + "event: message\ndata: %s\n\n" % text).encode(), "application/json" if s.get("unasked") else "text/event-stream")
            return self.reply(("\ufeff" * bool(s.get("mark")) + text).encode())

        def do_GET(self):
            self.reply(b"", status=405)

        do_DELETE = do_GET
    server = serve(Handler)
    entry = {"url": "http://127.0.0.1:%d/mcp" % server.server_port, **more}
    return run(folder, program, json.dumps({"mcpServers": {"s": entry}}))


def pipe(folder, program, s, **more):
    (folder / "server.py").write_text(PIPE, "utf-8")
    (folder / "script.json").write_text(json.dumps(s), "utf-8")
    entry = {"command": sys.executable, "args": ["-I", "-S", "server.py"], "env": {"PYTHONIOENCODING": "utf-8"}, **more}
    return run(folder, program, json.dumps({"mcpServers": {"s": entry}}))


WAYS = [http, pipe]


@pytest.mark.parametrize("way", WAYS)
def test_lists_end(folder, way):
    """A cursor that comes again and more pages than 200 are errors; an empty cursor is none; the limit of time holds for all pages."""
    def pages(*cursors):
        return [{"tools": [{**TOOL, "name": "add" if not i else "t%d" % i}], **({"nextCursor": c} if c is not None else {})} for i, c in enumerate(cursors)]
    for name, given, words in [("the same", pages("a", "a"), "cursor"), ("in a circle", pages("a", "b", "a"), "cursor"), ("very many", pages(*map(str, range(250))), "pages")]:
        status, out, err, _ = way(folder, LIST, script(pages=given))
        check("%s: %s" % (way.__name__, name), status == 1 and words in err and "tool server s" in err, status, err)
    for given in (pages("a", "b", None), pages("a", "b", ""), pages("a", "b", False), pages(0, 1.5, None), pages("1", 2, "")):
        status, out, err, _ = way(folder, LIST, script(pages=given))
        same((status, [t["function"]["name"] for t in json.loads(out)]), (0, ["add", "t1", "t2"]), err)
    for name, given, words in (("the same number", pages(7, 7), "same cursor twice"), ("true", pages(True, None), "not a text"), ("a list", pages(["a"], None), "not a text"),
                               ("an object", pages({"a": 1}, None), "not a text")):
        status, out, err, _ = way(folder, LIST, script(pages=given))
        check("%s: %s" % (way.__name__, name), status == 1 and words in err, status, err)


def test_one_limit_for_all_pages(folder):
    class Rows(list):
        def pop(self, i):
            time.sleep(0.15)
            return super().pop(i)
    given = Rows([{"tools": [], "nextCursor": str(i)} for i in range(150)])
    status, _, err, seconds = http(folder, LIST, script(pages=given), startTimeout=1)
    check("the list as a whole has one limit", status == 1 and "no answer in" in err and seconds < 10, status, err, seconds)


@pytest.mark.parametrize("way", WAYS)
def test_schemas(folder, way):
    empty = {"type": "object", "properties": {}}
    given = [(SCHEMA, SCHEMA), ({"type": "object"}, empty), ({}, empty), (None, empty), (True, empty), ({"type": "string"}, empty), ({"type": ["object"]}, empty),
             ({"properties": {"a": {}}}, {"properties": {"a": {}}, "type": "object"}), ({"type": "object", "properties": None}, empty),
             ({"type": "object", "additionalProperties": False}, {**empty, "additionalProperties": False}), ({"anyOf": [{}]}, {"anyOf": [{}], "type": "object"}), ({"type": ["object", "null"], "properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
             ({**SCHEMA, "required": None, "title": None}, {"type": "object", "properties": SCHEMA["properties"]}), ({**SCHEMA, "type": None}, {**SCHEMA, "type": "object"}),
             ({**SCHEMA, "type": "OBJECT"}, SCHEMA), ({"type": "object", "properties": None, "required": None}, empty), ({"type": None}, empty)]
    tools = [{"name": "t%d" % i, **({} if s is None else {"inputSchema": s})} for i, (s, _) in enumerate(given)]
    status, out, err, _ = way(folder, LIST, script(pages=[{"tools": tools}]))
    same((status, [t["function"]["parameters"] for t in json.loads(out or "[]")]), (0, [w for _, w in given]), err)


def text(t):
    return {"type": "text", "text": t}


CONTENTS = [
    ([text("a"), text("b")], "a\nb"),
    ([{"type": "resource", "resource": {"uri": "file:///y", "text": "inner"}}], "inner"),
    ([{"type": "resource", "resource": {"uri": "file:///y", "mimeType": "image/gif", "blob": "AA=="}}], "[resource image/gif file:///y]"),
    ([{"type": "resource_link", "uri": "file:///x", "name": "x"}], "[resource_link file:///x]"),
    ([{"type": "image", "data": "AA==", "mimeType": "image/png"}, text("seen")], "[image image/png]\nseen"),
    (["hi", text("ho")], "hi\nho"),
    (text("alone"), "alone"),
    ("a text", "a text"),
    ([text(5), text({"a": [1]}), text(None)], '5\n{"a": [1]}\n[text]'),
    ([{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}], "[audio audio/wav]"),
]


@pytest.mark.parametrize("way", WAYS)
def test_results(folder, way):
    """What a direct call gives is what call_tools shows; the structured content comes first."""
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    both = 'defs: {s: {import: "mcp:s"}}\nobject: {a: "${ s.add(a=2) }", b: {call: "${ stdlib.call_tools }", args: {tool_calls: [%s], tools: ["${ s }"]}}, c: "${ s.call_tool(name=\'add\', arguments={}).text }"}\n' % json.dumps(call)
    for content, want in CONTENTS:
        status, out, err, _ = way(folder, both, script({"content": content}))
        got = ast.literal_eval(out or "{}")
        same((status, got.get("a")), (0, want), err)
        check("call_tools shows the same", got.get("b") and got["b"][0]["content"] == want, got)
        check("and so does call_tool", got.get("c") == want, got)
    status, out, _, _ = way(folder, CALL.replace("text:", "data:"), script({"content": [text("x")], "structuredContent": {"n": 1}}))
    same((status, json.loads(out)), (0, {"n": 1}))
    status, _, err, _ = way(folder, CALL, script({"content": [CONTENTS[1][0][0]], "isError": True}))
    check("an error has the text of its resource", status == 1 and "inner" in err, err)
    for failed in (True, "true", 1, False, "false", 0, None, ""):
        status, out, err, _ = way(folder, CALL, script({"content": [text("BOOM")], "isError": failed}))
        check("isError: %r" % (failed,), (status, "BOOM" in err) == ((1, True) if failed in (True, "true", 1) else (0, False)), status, out, err)
    status, _, err, _ = way(folder, CALL, script({"content": [], "structuredContent": {"error": "BOOM"}, "isError": True}))
    check("or what is structured", status == 1 and "BOOM" in err, err)
    status, _, err, _ = way(folder, CALL, script({"content": [], "structuredContent": {}, "isError": True}))
    check("unless this is empty", status == 1 and "the tool failed and says nothing" in err, err)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", [{"ids": "text"}, {"batch": True}, {"mark": True}, {"ids": "text", "batch": True, "mark": True}, {"events": True}, {"events": True, "mark": True},
                                  {"events": True, "unasked": True}, {"both": True}], ids=lambda f: "-".join(f))
def test_forms_of_answers(folder, way, form):
    status, out, err, _ = way(folder, CALL, script(**form))
    same((status, out.strip()), (0, "5"), err)


FAILURES = [b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "BOOM"}}', b'{"jsonrpc": "2.0", "error": {"code": -32600, "message": "BOOM"}}',
            b'{"error": "BOOM"}', b'{"detail": "BOOM"}', b'{"code": 7, "message": "BOOM"}', b"BOOM", b'event: error\ndata: {"message": "BOOM"}\n\n', b"data: BOOM\n\n",
            b'error: {"message": "BOOM"}\n\n', b'{"jsonrpc": "2.0", "id": "", "error": {"code": 1, "message": "BOOM"}}',
            b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "Invalid", "data": {"detail": "BOOM"}}}',
            b'{"jsonrpc": "2.0", "id": "$ID", "error": {"code": 1, "message": "BOOM"}}']


NOTES = [b"", b"null", b"{}", b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "Method not found"}}', b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "unknown"}}', b"OK", b"<html></html>",
         b'{"jsonrpc": "2.0", "id": null, "result": {}}']


def test_answers_to_notifications(folder):
    """A notification has no answer, so what a server sends in place of one is passed over."""
    for note in NOTES:
        got, out, err, _ = http(folder, CALL, script(note=note))
        same((got, out.strip()), (0, "5"), "%s %s" % (note, err))


def test_failures_have_the_words_of_the_server(folder):
    for body in FAILURES:
        for where in ("tools/call", "tools/list", "initialize"):
            for status in (200, 500):
                kind = "text/event-stream" if b"\n\n" in body else "application/json"
                got, _, err, seconds = http(folder, CALL, script(**{where: [("raw", body, kind, status)]}))
                check("%s, %s, %d: an error at once with its words" % (where, body, status), got == 1 and "BOOM" in err and seconds < 8, got, err, seconds)
    for data in (b"{}", b"[]", b'""'):
        body = b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "BOOM", "data": %s}}' % data
        _, _, err, _ = http(folder, CALL, script(**{"tools/call": [("raw", body, "application/json", 200)]}))
        check("empty data adds nothing to the words", err.splitlines()[0].endswith("BOOM"), err)
