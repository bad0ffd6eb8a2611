# SPDX-License-Identifier: Apache-2.0
"""Random edits and requests from a seed, and other input that must not end the server. PDL_SEED sets the first seed."""
import json
import os
import pathlib
import random
import subprocess

import pytest

from .client import Client, Lsp
from ..checks import check, same
from ..harness.choice import ROOT

METHODS = ["completion", "hover", "definition", "references", "documentHighlight", "prepareRename", "rename", "documentSymbol", "foldingRange", "selectionRange",
           "semanticTokens/full", "semanticTokens/range", "inlayHint", "codeLens", "codeAction", "documentLink", "signatureHelp", "prepareCallHierarchy", "diagnostic", "formatting",
           "rangeFormatting", "onTypeFormatting"]
PIECES = ["\n", "  ", "- ", ":", ": ", "${ ", " }", "|", "{", "}", "[", "]", '"', "'", "&a ", "*a", "<<: *a", "#", "text:\n", "model: ", "def: x", "defs:\n  f:\n    function:\n",
          "spec: ", "include: a.pdl", "import: a", "x.y", "f(x=1)", "é", "😀", "\t", "---\n", "? ", "!!str ", "|\n  a\n", ">-\n", "%TAG", "\r\n", "match: 1\nwith:\n", "\u2028", "\x07"]

# Requests with other parameters; those of the first three are what an earlier answer gave.
OTHER = ["completionItem/resolve", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls", "workspace/diagnostic", "workspace/symbol", "workspace/executeCommand", "pdl/regions"]


@pytest.fixture
def root(folder):
    return folder.resolve()


def programs():
    root = ROOT / "tests" / "lang"
    return [p.read_text(encoding="utf-8", errors="replace") for p in sorted(root.rglob("*.pdl"))[:60]] or ["text: a\n"]


def other_request(rng, uri, items):
    """-> a method of OTHER, and its parameters"""
    method = rng.choice(OTHER)
    item = rng.choice(items) if items else {}
    if method.startswith("callHierarchy"):
        return method, {"item": item}
    if method == "completionItem/resolve":
        return method, item
    command = {"command": rng.choice(["pdl.run", "pdl.view", "pdl.explain", "pdl.test"]), "arguments": [{"uri": uri, "function": "f"}]}
    return method, {"textDocument": {"uri": uri}, "query": "", "previousResultIds": [], **command}


def parts_of(answer):
    """The objects of an answer that is a list of them."""
    result = answer.get("result")
    if isinstance(result, dict):
        result = result.get("items")
    return [x for x in result or () if isinstance(x, dict)][:5] if isinstance(result, list) else []


def test_edits(pdl, root, scale):
    count, seed = scale(15000), int(os.environ.get("PDL_SEED", 1))
    rng = random.Random(seed)
    lsp = Lsp(pdl, cwd=root)
    lsp.initialize([root])
    uri, texts, version, waiting, items = "file://%s/a.pdl" % root, programs(), 1, [], []
    lsp.open(uri, rng.choice(texts))
    lsp.open("file://%s/b.pdl" % root, "defs:\n  a: {import: a}\n  o:\n    object:\n      f: {function: {x: int}, return: '${ a.x }'}\ntext: ${ o.f(1) } ${ a['f'].g(x=1) }\n")
    for i in range(count):
        version += 1
        line, ch = rng.randrange(60), rng.randrange(50)
        if rng.random() < 0.01:
            change = {"text": rng.choice(texts)}
        else:
            end = {"line": line + (rng.random() < 0.1), "character": ch + rng.choice([0, 0, 1, 4])}
            change = {"range": {"start": {"line": line, "character": ch}, "end": end}, "text": "".join(rng.choice(PIECES) for _ in range(rng.choice([0, 1, 1, 2])))}
        lsp.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]})
        at = {"line": rng.choice([line, rng.randrange(70), 2 ** 31 - 1]), "character": rng.choice([ch, rng.randrange(60), 2 ** 31 - 1])}
        waiting.append(lsp.ask("textDocument/" + rng.choice(METHODS), {
            "textDocument": {"uri": uri}, "position": at, "positions": [at], "range": {"start": at, "end": at}, "newName": "n", "ch": "\n",
            "context": {"includeDeclaration": True, "diagnostics": []}, "options": {"tabSize": 2, "insertSpaces": True}}))
        if rng.random() < 0.15:
            waiting.append(lsp.ask(*other_request(rng, uri, items)))
        if rng.random() < 0.05:
            lsp.notify("$/cancelRequest", {"id": waiting[-1]})
        if len(waiting) >= 20:
            for wanted in waiting:
                answer = lsp.answer(wanted)
                if not {"result", "error"} & set(answer):
                    raise AssertionError("no answer")
                items = (items + parts_of(answer))[-200:]
            waiting = []
            lsp.others.clear()
    for wanted in waiting:
        lsp.answer(wanted)
    status, errors = lsp.quit()
    if status != 0 or errors:
        raise AssertionError("status %s\n%s" % (status, errors[-3000:]))


def test_cut_frames(pdl, root):
    for data, said in ((b"Content-Length: 100\r\n\r\n{", "in the middle of a message"), (b"Content-Length: x\r\n\r\n", "without the line Content-Length"),
                       (b"nonsense\r\n\r\n", "without the line Content-Length"), (b"", ""),
                       (b"Content-Length: 2\r\n\r\n{}Content-Le", "in the middle of a message")):
        c = Client([pdl, "lsp"], cwd=root)
        c.write(data)
        status, errors = c.end()
        if status != 1 or said not in errors or errors.count("\n") != bool(said):
            raise AssertionError("%r: status %s, %s" % (data, status, errors))


def test_messages_that_are_no_json(pdl, root):
    """Each gets one error with its reason, in its turn: never before the answer to initialize, which comes first."""
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    rows = [("[" * 3000 + "]" * 3000, "deeper than 1000 levels"), ('{"a":' * 3000 + "1" + "}" * 3000, "deeper than 1000 levels"), ("[" * 990 + "]" * 990, None),
            ("[" * 200000, "deeper than 1000 levels"), ("{x}", "not JSON")]
    for value, why in [(v.encode(), w) for v, w in rows] + [(b'"\xff"', "UTF-8")]:
        c = Client([pdl, "lsp"], cwd=root)
        deep = b'{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":%s}' % value
        texts = [json.dumps(begin).encode(), deep, b'{"jsonrpc":"2.0","id":3,"method":"shutdown"}', b'{"jsonrpc":"2.0","method":"exit"}']
        c.write(b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(t), t) for t in texts))
        answers = []
        while (m := c.next()) is not None:
            answers += [m] if "id" in m and "method" not in m else []
        same([m["id"] for m in answers], [1, None if why else 2, 3], str(value[:20]))
        e = answers[1]["error"]
        check("the reason", (e["code"], (why or "") in e["message"]) == (-32700 if why else -32602, True), e)
        check("the session ends in order", c.end()[0] == 0, value[:20])


def test_stdio_is_what_editors_add(pdl, root):
    lsp = Lsp(pdl, cwd=root, options=["--stdio"])
    lsp.initialize()
    if lsp.quit() != (0, ""):
        raise AssertionError("--stdio")
    if subprocess.run([str(pdl), "dap", "--stdio"], input=b"", capture_output=True, timeout=60, check=False).returncode:
        raise AssertionError("dap --stdio")


def test_wrong_messages(pdl, root):
    lsp = Lsp(pdl, cwd=root)
    lsp.write(b"Content-Length: 3\r\n\r\n{x}")
    m = lsp.next()
    if m["error"]["code"] != -32700 or m["id"] is not None:
        raise AssertionError(m)
    if lsp.request("textDocument/hover", {})["error"]["code"] != -32002:
        raise AssertionError("before initialize")
    lsp.initialize()
    for i, m in ((None, []), (None, 5), (700, {"id": 700}), (701, {"id": 701, "method": 5}), (None, {"method": {}})):
        lsp.send(m)
        m = lsp.next()
        if m.get("error", {}).get("code") != -32600 or m["id"] != i:
            raise AssertionError(m)
    for m in ({"id": 5, "result": None}, {"id": 6, "error": {}}, [], 5, "x", None, {}, {"method": 5}, {"id": 1}, {"id": {}, "method": "textDocument/hover"}, {"method": "textDocument/didOpen", "params": [1]},
              {"method": "textDocument/didChange", "params": {"textDocument": {"uri": 5}, "contentChanges": {}}}, {"method": "$/cancelRequest", "params": 7},
              {"method": "workspace/didChangeWorkspaceFolders", "params": {"event": {"added": [1]}}}):
        lsp.send(m)
    for params in (None, [], {"textDocument": 1}, {"textDocument": {"uri": "file:///none.pdl"}, "position": "x"}):
        for method in METHODS:
            if "error" not in lsp.request("textDocument/" + method, params):
                continue
    if lsp.request("no/method", {})["error"]["code"] != -32601:
        raise AssertionError("no/method")
    status, errors = lsp.quit()
    if status != 0 or errors:
        raise AssertionError("status %s\n%s" % (status, errors[-3000:]))


def test_huge_and_deep(pdl, root):
    lsp = Lsp(pdl, cwd=root)
    lsp.initialize()
    deep = "".join("  " * i + "text:\n" for i in range(1200))
    for i, text in enumerate(["[" * 100000, deep, "text: " + "a" * 2000000, "x: &a [1]\n" + "y: *a\n" * 20000, "- ${ " + "(" * 5000 + "\n", "a: b: c: " * 5000]):
        uri = "untitled:%d" % i
        lsp.open(uri, text)
        for method in METHODS:
            lsp.request("textDocument/" + method, {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 7}, "positions": [], "newName": "n",
                                                   "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}})
        lsp.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    status, errors = lsp.quit()
    if status != 0 or errors:
        raise AssertionError("status %s\n%s" % (status, errors[-3000:]))


def test_cancellation_and_progress(pdl, root):
    for i in range(3):
        pathlib.Path(root, "p%d.pdl" % i).write_text("text: a\ndef: v%d\n" % i)
    second = pathlib.Path(root, "other")
    second.mkdir()
    pathlib.Path(second, "q.pdl").write_text("text: a\ndef: w\n")
    lsp = Lsp(pdl, cwd=root)
    caps = {**Lsp.CAPABILITIES, "general": {"positionEncodings": ["utf-8"]}, "window": {"workDoneProgress": True}}
    if lsp.initialize([root], caps)["capabilities"]["positionEncoding"] != "utf-8":
        raise AssertionError("utf-8")
    lsp.note("window/workDoneProgress/create")
    kinds = []
    while "end" not in kinds:
        kinds.append(lsp.note("$/progress")["value"]["kind"])
    first = {"jsonrpc": "2.0", "id": 900, "method": "workspace/symbol", "params": {"query": ""}}
    messages = [first, {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 900}}]
    lsp.write(b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(d), d) for d in (json.dumps(m).encode() for m in messages)))
    answer = lsp.answer(900)
    if "error" in answer and answer["error"]["code"] != -32800:
        raise AssertionError(answer)
    lsp.request("workspace/symbol", {"query": ""})
    if [m for m in lsp.others if "error" in m]:
        raise AssertionError("a cancelled request has two answers: %s" % lsp.others)
    lsp.open("untitled:u", "text:\n- é ${ x }\n")
    found = lsp.request("textDocument/diagnostic", {"textDocument": {"uri": "untitled:u"}})["items"][0]["range"]["start"]
    if found != {"line": 1, "character": 8}:
        raise AssertionError(found)
    lsp.quit()
