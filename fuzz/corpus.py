#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corpus.py -- makes the small corpora of fuzz/corpus/ from the goldens of the conformance kit.

    python3 -m fuzz.corpus CONFORMANCE_DIR [TARGET ...]

Files named found-* are inputs that failed once: they stay.
"""
import hashlib
import json
import pathlib
import random
import re
import struct
import sys

from tests.conformance import run as cases

HERE = pathlib.Path(__file__).resolve().parent
EACH = 25  # files of one target


def frame(text):
    data = text.encode()
    return struct.pack(">I", len(data)) + data


def content(text):
    return "Content-Length: %d\r\n\r\n%s" % (len(text.encode()), text)


EXTRA = {
    "jsonl": ['{"a": 1}\n{"a": 2}\n', "1\n\n[2, null]\nNaN", '"x"\r\n"y"\r\n', "{\n}\n", " \n1", "1 \n 2\n", '{"k": {"k": {"k": 0}}}\n' * 3],
    "ndjson": ['{"message": {"content": "a"}, "done": false}\n{"done": true, "eval_count": 3}\n', "\r\n{}\r\r{}", '{"response": "caf\u00e9"}\n{"resp', "a\nb\n\nc", b'{"a": "\xff\xfe"}\n'],
    "frame": [frame('{"a": 1}') + frame(""), frame("x" * 300), frame("{}")[:6], b"\xff\xff\xff\xff", content("{}") + content('{"jsonrpc": "2.0"}'),
              "content-length:3\r\nContent-Type: x\r\n\r\nabc", "Content-Length: 3\n\nabc", "Content-Length: -1\r\n\r\n", "nothing\r\n\r\n"],
    "eventstream": ['contentBlockDelta\n{"delta": {"text": "a"}}\nmessageStop\n{"stopReason": "end_turn"}', '!throttlingException\n{"message": "slow"}', "x\n", "metadata\n {} \n!e\n{}\n!\n"],
    "wire": ['[1, 1.5, "a", null, true, {"a": []}]', '{"$pdl": "tuple", "items": [1, {"$pdl": "set", "items": [2, 3]}]}', '{"$pdl": "dict", "items": [[1, 2], [null, 3]]}',
             '{"$pdl": "bytes", "hex": "00ff"}', '{"$pdl": "date", "iso": "2024-01-15"}', '{"$pdl": "datetime", "iso": "2024-01-15 10:30:00+01:00"}', '{"$pdl": "range", "start": 0, "stop": 9, "step": 2}',
             '{"$pdl": "handle", "id": 3, "type": "C", "str": "s", "repr": "<C>", "truth": false, "len": 4, "callable": true, "json": [1]}', '{"$pdl": "ref", "id": 1}', '{"$pdl": "int", "hex": "-ff"}',
             '{"$pdl": "float", "value": "nan"}', '{"$pdl": "no such kind"}'],
    "journal": [b"", b"\0\0\0X", b"\0\0\x12\xff\0\0\x1c\0", b"\0\x10\0", b"\0\x20\x10\0\0\x3f\xf0\x41", b"\0\x5f\xf0\x7b\0\x5f\xe0\xff", b"\0\0\x64\x0a\0\x20\x05\x09"],
    "httpd": ["GET /health HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://a:1/b%20c?d HTTP/1.1\r\nHost: a:1\r\nConnection: x, close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
              "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}", "GET / HTTP/1.1\nHost: a\n\n",
              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\nT: v\r\n\r\nGET", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
              "GET /%ff%00 HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/2.0\r\nHost : a\r\n b\r\n\r\n", b"\x16\x03\x01\x00\r\n\r\n"],
    "replies": [""] + ["\n" * (row - 1) + value for row, value in enumerate(
        ['[{"name": "look", "inputSchema": {"properties": []}}]', '{"result": {"$pdl": "handle", "id": 9, "len": -1, "texts": ["", "", ""]}, "rebound": {}}',
         "!5", '{"content": {"a": 1}, "message": {"role": "x", "tool_calls": [5]}, "raw": {"choices": {}}}', "[[1]]", '{"$pdl": "set", "items": [1]}',
         '{"$pdl": "undefined", "text": "u"}', "[]", '{"$pdl": "range", "items": [0, 1000, 1]}',
         '{"result": {"$pdl": "context", "items": [{"role": 1, "content": []}]}, "rebound": {"y": {"$pdl": "bytes", "hex": "00"}}}',
         '{"stdout": "", "stderr": "e", "status": -9}', '!{"kind": "exit", "message": "m", "status": 3}', "null", '{"path": "../x", "text": "include: p.pdl"}', "7",
         "4702111234474983745", '{"content": [{"type": "text"}], "structured": {}, "is_error": true}', '!{"kind": "limit", "detail": "{\\"line\\": 1}"}'], 1)] +
        ["\n\n\n" + x for x in ("4702111234474983745", '+["a", "b"]', '+{"$pdl": "set"}', '!{"kind": "rate_limit", "message": "", "detail": "[]"}',
                                '{"content": "a", "usage": {"prompt_tokens": "x", "completion_tokens": -1}}', "{", '{"$pdl": "absent"}')],
    "sse": ["data: a\n\n", "event: x\ndata: a\ndata: b\n\n", "\ufeffdata:a\r\n\r\ndata: b\r\rdata", ": c\nid: 1\nretry: 2\ndata\n\n", "data: [DONE]\n\n"],
    "schema": ["{a: integer, b?: {array: string}}\n---\n{a: 1, b: [x]}", "[string]\n---\n[a, 1]", "{enum: [a, 1]}\n---\nb",
               "{type: object, properties: {a: {type: integer, minimum: 3}}, required: [b]}\n---\n{a: 1}",
               '{"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n", "type": "array"}\n---\n[[[]], 1]',
               '{"anyOf": [{"type": "string", "pattern": "^a+$"}, {"not": {}}]}\n---\nb'],
    "policy": ["policy: 1\nrules:\n- {sink: command, argument: 0, allow: []}\n- {sink: command, allow: [user, bounded]}\notherwise: deny\n---\nls",
               'policy: 1\nlabels: {secret: [{read: "a/**"}]}\ntrusted: [{tool: "*/x"}]\nread_only: [{tool: "*/s*"}]\nrules:\n- {sink: tool s/*, argument: to, deny: [secret], always: approve}\n'
               '- {sink: journal, deny: [secret], durable: deny}\n- {sink: endorse, labels: [secret]}\n---\ns/x',
               'policy: 1\nlock: x\ncontrol: strict\ncapacity: 5\n---\n{"servers": {"s": {"t": "00"}}}',
               'policy: 1\nrules:\n- {sink: write ../*.txt, allow: [nobody]}\n- {sink: comand}\n- {sink: read, deny: [user], allow: user}\n---\n../a.txt'],
    "settings": ["0" + x for x in ('import = ["lib", "../x"]\n[rules]\nunused = "off" # no\n', "[rules]\n", 'import = "', "[[a]]\n", 'x = 1\n', "\ufeff[rules]\r\n")] +
        ["1" + x for x in ("unused=off,loop-text=error", "unused", "=,=", "unused=loud")] +
        ["2" + x for x in ('{"openai/*": {"input": 1e-6, "output": 2e-6, "cached_input": 1e-7}}', '{"m": {"input": -1}}', '{"m": 5}', "[]", '{"a": {"input": 1e999, "output": 0}}')] +
        ["3" + x for x in ('{"mcpServers": {"s": {"command": "c", "args": ["a", "${HOME}"], "env": {"A": "b"}, "cwd": "/", "allow": ["x*"], "timeout": 3, "parallel": false}}}',
                           '{"mcpServers": {"s": {"url": "http://h/", "headers": {"A": "b"}, "startTimeout": 0.5}}}', '{"mcpServers": {"s": {"command": "c", "url": "http://h/"}}}',
                           '{"mcpServers": {"s": {"sandbox": {"read": 5}, "command": "c"}}}', '{"mcpServers": {}}', "{}")] +
        ["4" + x for x in ('["a", {"when": "is", "reply": "b", "times": 2}, {"status": 429, "error": "slow", "retry_after": 1}]', '[{"reply": {"tool_calls": []}, "delay": 0.1}]', "[5]", '[{"times": -1}]')],
    "trace": ['{"kind": "text", "pdl__id": "text", "text": [{"kind": "data", "pdl__id": "text.0.data", "data": 1, "pdl__result": 1}, "a"], "pdl__result": "1a"}',
              '{"kind": "repeat", "repeat": {"kind": "text", "text": "a"}, "pdl__trace": [{"kind": "text", "text": "a"}, 5], "pdl__timing": {"start_nanos": 1, "end_nanos": "x"}}',
              '{"kind": "model", "model": 5, "pdl__usage": {"prompt_tokens": -1}, "pdl__location": {"path": [1], "file": "a", "table": {"text": 3}}, "defs": {"f": {"kind": "function"}}}',
              '{"kind": "text", "text": [{"kind": "da', b'{"kind": "text", "text": "\xff"}', "[]", "", '{"kind": 1}', '{"kind":"text","text":' * 30],
    "json": ['{"a": [1, -2.5e3, true, null, "\\ud83d\\ude00\\n"]}', "[1e400, 123456789012345678901234567890]", '"\\ud800"', "[" * 40 + "]" * 40],
}


def texts(kit):
    rows = lambda name: [json.loads(l) for l in (kit / "values" / (name + ".jsonl")).read_text("utf-8").split("\n") if l.strip()]
    variables = lambda r: "\n---\n" + json.dumps(r["scope"]) if r.get("scope") else ""
    out = {
        "expr": [r["template"] + variables(r) for r in rows("expressions") if isinstance(r.get("template"), str)],
        "template": [r["code"] + variables(r) for r in rows("jinja_templates") if isinstance(r.get("code"), str)],
        "yaml": [r["text"] for r in rows("yaml")],
        "check": re.findall(r"```(?:pdl|toml)\n(.*?)```", (HERE.parent / "docs/manual/rules.md").read_text("utf-8"), re.S),
        "program": [data.decode("utf-8") for name, data in sorted(cases.program_files(kit / "programs").items()) if name.endswith(".pdl")],
        "repair": [], "csv": [], "regex": [], "json": [], "sse": [], "httpd": [], "schema": [], "policy": [], "jsonl": [], "ndjson": [], "frame": [], "eventstream": [], "wire": [], "journal": [], "replies": [],
        "settings": [], "trace": [],
    }
    for r in rows("parsers"):
        kind = r["parser"]
        if not isinstance(r["text"], str):
            continue
        if isinstance(kind, dict) and not isinstance(kind.get("regex"), str):
            continue
        if isinstance(kind, dict):
            out["regex"].append(kind["regex"] + "\n---\n" + r["text"])
        elif kind in ("json", "jsonl", "csv"):
            out["repair" if kind == "json" else kind].append(r["text"])
    for r in rows("types"):
        spec = r.get("spec", r.get("type", r.get("schema")))
        if spec is not None and "value" in r:
            out["schema"].append(json.dumps(spec) + "\n---\n" + json.dumps(r["value"]))
    return out


def main():
    kit = pathlib.Path(sys.argv[1])
    for target, all_texts in texts(kit).items():
        if sys.argv[2:] and target not in sys.argv[2:]:
            continue
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if not old.name.startswith("found-"):
                old.unlink()
        rest = sorted({t for t in all_texts if 0 < len(t) < 1500})
        random.Random(1).shuffle(rest)
        for t in EXTRA.get(target, []) + rest[:EACH]:
            data = t if isinstance(t, bytes) else t.encode("utf-8", "replace")
            (folder / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data)


if __name__ == "__main__":
    main()
