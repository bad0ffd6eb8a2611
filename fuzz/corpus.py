#!/usr/bin/env python3
"""corpus.py -- makes the small corpora of fuzz/corpus/ from the goldens of the conformance kit.

    fuzz/corpus.py CONFORMANCE_DIR
"""
import hashlib
import json
import pathlib
import random
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
EACH = 25  # files of one target
EXTRA = {
    "sse": ["data: a\n\n", "event: x\ndata: a\ndata: b\n\n", "\ufeffdata:a\r\n\r\ndata: b\r\rdata", ": c\nid: 1\nretry: 2\ndata\n\n", "data: [DONE]\n\n"],
    "schema": ["{a: integer, b?: {array: string}}\n---\n{a: 1, b: [x]}", "[string]\n---\n[a, 1]", "{enum: [a, 1]}\n---\nb",
               "{type: object, properties: {a: {type: integer, minimum: 3}}, required: [b]}\n---\n{a: 1}",
               '{"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n", "type": "array"}\n---\n[[[]], 1]',
               '{"anyOf": [{"type": "string", "pattern": "^a+$"}, {"not": {}}]}\n---\nb'],
    "json": ['{"a": [1, -2.5e3, true, null, "\\ud83d\\ude00\\n"]}', "[1e400, 123456789012345678901234567890]", '"\\ud800"', "[" * 40 + "]" * 40],
}


def texts(kit):
    rows = lambda name: [json.loads(l) for l in (kit / "values" / (name + ".jsonl")).read_text("utf-8").split("\n") if l.strip()]
    variables = lambda r: "\n---\n" + json.dumps(r["scope"]) if r.get("scope") else ""
    out = {
        "expr": [r["template"] + variables(r) for r in rows("expressions") if isinstance(r.get("template"), str)],
        "template": [r["code"] + variables(r) for r in rows("jinja_templates") if isinstance(r.get("code"), str)],
        "yaml": [r["text"] for r in rows("yaml")],
        "program": [p.read_text("utf-8") for p in sorted((kit / "programs").rglob("*.pdl"))],
        "repair": [], "csv": [], "regex": [], "json": [], "sse": [], "schema": [],
    }
    for r in rows("parsers"):
        kind = r["parser"]
        if not isinstance(r["text"], str):
            continue
        if isinstance(kind, dict) and not isinstance(kind.get("regex"), str):
            continue
        if isinstance(kind, dict):
            out["regex"].append(kind["regex"] + "\n---\n" + r["text"])
        elif kind == "json":
            out["repair"].append(r["text"])
        else:
            out["csv"].append(r["text"])
    for r in rows("types"):
        spec = r.get("spec", r.get("type", r.get("schema")))
        if spec is not None and "value" in r:
            out["schema"].append(json.dumps(spec) + "\n---\n" + json.dumps(r["value"]))
    return out


def main():
    kit = pathlib.Path(sys.argv[1])
    for target, all_texts in texts(kit).items():
        folder = HERE / "corpus" / target
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        rest = sorted({t for t in all_texts if 0 < len(t) < 1500})
        random.Random(1).shuffle(rest)
        for t in EXTRA.get(target, []) + rest[:EACH]:
            data = t.encode("utf-8", "replace")
            (folder / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data)


if __name__ == "__main__":
    main()
