# SPDX-License-Identifier: Apache-2.0
"""Values that JSON allows and that few programs expect, wherever a message of a client may have one: numbers beyond a double, NaN, halves of
characters, nesting at the limit. The server continues, answers the next request, and writes nothing that is not JSON."""
import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from .. import serve_of
from ..checks import check, same
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")
VALUES = ["1e400", "-1e400", "NaN", "-Infinity", '"\\ud800"', '"\\udfff x"', '"\\u0000"', "9" * 400, "-0.0", "1.5", "null", "true", '""', "{}", "[1e400]", '{"\\ud800": [1e400]}',
          "[" * 990 + "]" * 990, "[" * 1200 + "]" * 1200, '"' + "x" * 100000 + '"']


def strict(data):
    def refuse(word):
        raise ValueError("no JSON: " + word)
    return json.loads(data, parse_constant=refuse)


def framed(texts):
    return b"".join(b"Content-Length: %d\r\n\r\n" % len(t.encode()) + t.encode() for t in texts)


def unframed(data):
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        n = int(re.search(rb"(?i)content-length: *(\d+)", head)[1])
        yield strict(data[:n])
        data = data[n:]


def asked(argv, data, folder):
    p = subprocess.run([PDL, *argv], input=data, capture_output=True, cwd=folder, timeout=60)
    check("%s goes on to the end" % argv[0], p.returncode in (0, 1) and b"bug" not in p.stderr, p.returncode, p.stderr[-500:])
    return p.stdout


AT = '"textDocument":{"uri":"file:///x.pdl"}'
LSP = ['{"jsonrpc":"2.0","id":$,"method":"textDocument/hover","params":{%s,"position":{"line":$,"character":$}}}' % AT, '{"jsonrpc":"2.0","id":$,"method":"nope","params":$}',
       '{"jsonrpc":"2.0","id":$}', '{"jsonrpc":"2.0","id":1,"method":"completionItem/resolve","params":{"label":"text","kind":$,"data":$,"x":$}}',
       '{"jsonrpc":"2.0","id":1,"method":"completionItem/resolve","params":$}', '{"jsonrpc":"2.0","id":1,"method":"workspace/executeCommand","params":{"command":$,"arguments":[$]}}',
       '{"jsonrpc":"2.0","id":1,"method":"textDocument/codeAction","params":{%s,"range":{"start":{"line":0,"character":0},"end":{"line":1,"character":5}},"context":{"diagnostics":[{"range":$,"message":$,"code":$,"data":$}]}}}' % AT,
       '{"jsonrpc":"2.0","id":1,"method":"callHierarchy/incomingCalls","params":{"item":{"name":$,"uri":"file:///x.pdl","data":$,"range":$,"selectionRange":$}}}',
       '{"jsonrpc":"2.0","id":1,"method":"textDocument/diagnostic","params":{%s,"previousResultId":$,"identifier":$}}' % AT, '{"jsonrpc":"2.0","id":1,"method":"workspace/symbol","params":{"query":$}}',
       '{"jsonrpc":"2.0","id":1,"method":"textDocument/rename","params":{%s,"position":{"line":0,"character":1},"newName":$}}' % AT,
       '{"jsonrpc":"2.0","id":1,"method":"textDocument/formatting","params":{%s,"options":{"tabSize":$,"insertSpaces":$}}}' % AT, '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":$}}',
       '{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///x.pdl","version":$},"contentChanges":$}}', '{"jsonrpc":"2.0","id":$,"result":$}', "$"]
DAP = ['{"seq":$,"type":"request","command":"threads","arguments":$}', '{"seq":1,"type":"request","command":$,"arguments":$}',
       '{"seq":1,"type":"request","command":"setBreakpoints","arguments":{"source":{"path":$,"name":$,"x":$},"breakpoints":[{"line":$,"condition":$}]}}',
       '{"seq":1,"type":"request","command":"evaluate","arguments":{"expression":$,"frameId":$}}', '{"seq":1,"type":"request","command":"variables","arguments":{"variablesReference":$,"start":$,"count":$}}',
       '{"seq":1,"type":"request","command":"source","arguments":{"source":$,"sourceReference":$}}', "$"]
MCP = ['{"jsonrpc":"2.0","id":$,"method":"nope"}', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"p","arguments":{"x":$}}}',
       '{"jsonrpc":"2.0","id":$,"method":"tools/call","params":{"name":$,"arguments":$}}', '{"jsonrpc":$,"id":1,"method":"ping"}', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$}}', "$"]


def filled(templates, ping):
    """Each template with each value, and after those of a value a request that is good; its number is above 1000."""
    return [t for i, v in enumerate(VALUES) for t in [*(x.replace("$/", "%/").replace("$", v).replace("%/", "$/") for x in templates), ping % (1001 + i)]]


def answered(messages, key):
    return [m[key] for m in messages if isinstance(m.get(key), int) and 1000 < m[key] < 2000]


NUMBERS = list(range(1001, 1001 + len(VALUES)))


def test_language_server(folder):
    texts = ['{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}', '{"jsonrpc":"2.0","method":"initialized","params":{}}',
             '{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///x.pdl","version":1,"text":"text: hi"}}}',
             *filled(LSP, '{"jsonrpc":"2.0","id":%d,"method":"textDocument/hover","params":{' + AT + ',"position":{"line":0,"character":1}}}'),
             '{"jsonrpc":"2.0","id":2001,"method":"shutdown"}', '{"jsonrpc":"2.0","method":"exit"}']
    messages = list(unframed(asked(["lsp"], framed(texts), folder)))
    same(answered(messages, "id"), NUMBERS)
    wrong = [m["error"]["code"] for m in messages if m.get("id", 0) is None and "error" in m]
    check("ids that are none are told", wrong and set(wrong) <= {-32600, -32700}, wrong)


def test_debugger(folder):
    texts = ['{"seq":0,"type":"request","command":"initialize","arguments":{"adapterID":"pdl"}}', *filled(DAP, '{"seq":%d,"type":"request","command":"threads"}'),
             '{"seq":2001,"type":"request","command":"disconnect"}']
    same(answered(unframed(asked(["dap"], framed(texts), folder)), "request_seq"), NUMBERS)


def test_tools_for_clients(folder):
    (folder / "p.pdl").write_text("defs: {x: hi}\ntext: ${ x }\n", "utf-8")
    out = asked(["serve", "--mcp", "p.pdl"], "".join(t + "\n" for t in filled(MCP, '{"jsonrpc":"2.0","id":%d,"method":"ping"}')).encode(), folder)
    same(answered(map(strict, out.splitlines()), "id"), NUMBERS)


CHAT = '{"model":"p","messages":[{"role":"user","content":"x"}],"temperature":$,"metadata":$,"user":$}'
BODIES = [("/v1/chat/completions", CHAT), ("/v1/chat/completions", CHAT.replace('"user":$', '"stream":true')), ("/v1/chat/completions", '{"model":$,"messages":[{"role":$,"content":$}]}'),
          ("/v1/responses", '{"model":"p","input":"x","temperature":$,"metadata":$,"top_p":$,"text":$}'), ("/v1/responses", '{"model":"p","input":"x","metadata":{"a":$},"user":$,"stream":true}')]


def posted(port, path, body):
    """-> status, the texts of the answer"""
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), body.encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as r:
            data, status, kind = r.read().decode(), r.status, r.headers["Content-Type"]
    except urllib.error.HTTPError as e:
        data, status, kind = e.read().decode(), e.code, e.headers["Content-Type"]
    return status, [line[6:] for line in data.split("\n") if line.startswith("data: {")] if "event-stream" in kind else [data]


@pytest.mark.parametrize("values", [VALUES[::2], VALUES[1::2]], ids=["even", "odd"])
def test_service(folder, values):
    (folder / "p.pdl").write_text("text: hi\n", "utf-8")
    p, port = serve_of.start(PDL, str(folder / "p.pdl"))
    for path, body in BODIES:
        for v in values:
            status, texts = posted(port, path, body.replace("$", v))
            good = status < 500
            try:
                good = good and texts and [strict(t) for t in texts]
            except ValueError as e:
                good = check("%s with %s" % (path, v[:30]), False, e)
            check("%s with %s: an answer, or a refusal" % (path, v[:30]), good, status, texts)
    p.terminate()
    check("it was there to the end", p.wait(20) in (0, 143), p.returncode)
