# SPDX-License-Identifier: Apache-2.0
"""Recorded sessions of the language server: tests/lsp/sessions/*.session. PDL_UPDATE=1 writes the answers as the expected ones.

A session is a file with sections:
    --- file NAME           a file of the workspace. A mark such as ⟦a⟧ is removed and names its place
    --- unsaved NAME        the same, but only the editor has it, not the disk
    --- options WORD ...    options of the server; must be the first section
    --- init                JSON: capabilities that replace the usual ones; must be the first message. The next section may check its answer
    --- open NAME           the editor opens it
    --- close NAME
    --- change NAME         JSON: list of {range, text}
    --- write NAME          a file on the disk changes, and the client says so
    --- notify METHOD       JSON of the params
    --- request METHOD      JSON of the params; the next section is one of these three:
    --- answer              JSON, exactly
    --- has                 JSON: objects may have more keys; a list must have each of these items, in any order
    --- hasnt               JSON: list of parts that must not be found in the answer
    --- note METHOD         the next notification of that name; one of the three sections follows
    --- diagnostics NAME    the diagnostics that are sent next for a file; one of the three sections follows

In JSON the text "@a" is the position of a mark, "@a..b" a range, "%NAME" the address of a file.
"""
import json
import os
import pathlib
import re
from urllib.parse import quote

import pytest

from .client import Lsp
from ..checks import check

HERE = pathlib.Path(__file__).resolve().parent
MANUAL = "file://" + quote(str(HERE.parents[1] / "docs" / "manual"))
MARK = re.compile("⟦(\\w+)⟧")


def sections(text):
    parts = re.split(r"^--- ?(.+)\n", text, flags=re.M)[1:]
    return [[head.strip(), body] for head, body in zip(parts[::2], parts[1::2])]


def utf16(s):
    return len(s.encode("utf-16-le")) // 2


class Session:
    def __init__(self, pdl, path, root, record):
        self.path, self.root, self.record = path, root, record
        self.marks, self.texts, self.versions, self.problems = {}, {}, {}, []
        self.result = None
        options = re.match(r"--- options (.+)\n", path.read_text("utf-8"))
        self.lsp = Lsp(pdl, cwd=root, env={"HOME": str(root), "GROQ_API_KEY": ""}, options=options.group(1).split() if options else ())
        self.started = False

    def uri(self, name):
        return "file://%s/%s" % (self.root, name) if name else "file://%s" % self.root

    def unmark(self, text):
        """Takes the marks out and keeps their places."""
        while True:
            m = MARK.search(text)
            if not m:
                return text
            before = text[:m.start()]
            self.marks[m.group(1)] = {"line": before.count("\n"), "character": utf16(before.rsplit("\n", 1)[-1])}
            text = before + text[m.end():]

    def resolve(self, v):
        if isinstance(v, dict):
            return {self.resolve(k): self.resolve(x) for k, x in v.items()}
        if isinstance(v, list):
            return [self.resolve(x) for x in v]
        if isinstance(v, str) and v.startswith("%"):
            return self.uri(v[1:])
        if isinstance(v, str) and re.match(r"@\w+\.\.\w+$", v):
            a, b = v[1:].split("..")
            return {"start": self.marks[a], "end": self.marks[b]}
        if isinstance(v, str) and re.match(r"@\w+$", v):
            return self.marks[v[1:]]
        return v

    def shown(self, v):
        """An answer as it is recorded: addresses by the name of the file."""
        if isinstance(v, dict):
            return {self.shown(k): self.shown(x) for k, x in v.items()}
        if isinstance(v, list):
            return [self.shown(x) for x in v]
        if isinstance(v, str) and v.startswith(self.uri("")):
            return "%" + v[len(self.uri("")) + 1:]
        if isinstance(v, str):
            self.check_links(v)
            return v.replace(MANUAL, "$MANUAL").replace(str(self.root), "$ROOT")
        return v

    def check_links(self, text):
        """Links to the manual lead to a heading that is there."""
        for page, heading in re.findall(re.escape(MANUAL) + r"/([\w./-]+)#([\w-]+)", text):
            there = (HERE.parents[1] / "docs" / "manual" / page).read_text()
            if heading not in {re.sub("[^\\w -]", "", h).strip().replace(" ", "-").lower() for h in re.findall("^#+ (.*)", there, re.M)}:
                self.complain("links", "%s has no heading %s" % (page, heading))

    def start(self, capabilities=None):
        if not self.started:
            self.started = True
            self.result = self.lsp.initialize([self.root], capabilities)

    def complain(self, section, text):
        self.problems.append("%s: --- %s: %s" % (self.path.name, section, text))

    def step(self, all_, i):
        head, body = all_[i]
        word, _, rest = head.partition(" ")
        if word == "options":
            return
        if word in ("file", "unsaved"):
            self.texts[rest] = self.unmark(body)
            if word == "file":
                target = pathlib.Path(self.root, rest)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self.texts[rest].encode())
            return
        if word == "init":
            self.start(json.loads(body))
            return
        self.start()
        params = self.resolve(json.loads(body)) if body.strip() and word in ("notify", "request", "change") else None
        if word == "open":
            self.versions[rest] = 1
            self.lsp.open(self.uri(rest), self.texts[rest])
        elif word == "close":
            self.lsp.notify("textDocument/didClose", {"textDocument": {"uri": self.uri(rest)}})
        elif word == "change":
            self.versions[rest] += 1
            self.lsp.notify("textDocument/didChange", {"textDocument": {"uri": self.uri(rest), "version": self.versions[rest]}, "contentChanges": params})
        elif word == "write":
            pathlib.Path(self.root, rest).write_bytes(body.encode())
            self.lsp.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": self.uri(rest), "type": 2}]})
        elif word == "notify":
            self.lsp.notify(rest, params)
        elif word == "request":
            self.result = self.lsp.request(rest, params)
        elif word == "note":
            self.result = self.lsp.note(rest)
        elif word == "diagnostics":
            while True:
                p = self.lsp.note("textDocument/publishDiagnostics")
                if p["uri"] == self.uri(rest) and p.get("version") in (None, self.versions.get(rest)):
                    break
            self.result = p["diagnostics"]
        elif word in ("answer", "has", "hasnt"):
            self.compare(all_, i, word, body)
        else:
            self.complain(head, "no such section")

    def compare(self, all_, i, word, body):
        got = self.shown(self.result)
        if word == "answer" and self.record:
            all_[i][1] = pretty(got)
            return
        want = self.shown(self.resolve(json.loads(body)))
        what = all_[i - 1][0]
        if word == "answer" and got != want:
            self.complain(what, "the answer is\n%s" % pretty(got))
        if word == "has":
            missing = lacks(got, want, "")
            if missing:
                self.complain(what, "%s in\n%s" % (missing, pretty(got)[:6000]))
        if word == "hasnt":
            for part in want:
                if contains(got, part):
                    self.complain(what, "%s is there" % json.dumps(part))


def lacks(got, want, where):
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return "%s is no object" % (where or "the answer")
        for k, v in want.items():
            if k not in got:
                return "%s/%s is missing" % (where, k)
            found = lacks(got[k], v, "%s/%s" % (where, k))
            if found:
                return found
        return None
    if isinstance(want, list):
        if not isinstance(got, list):
            return "%s is no list" % (where or "the answer")
        for item in want:
            if not any(lacks(g, item, "") is None for g in got):
                return "%s lacks %s" % (where or "the list", json.dumps(item, ensure_ascii=False))
        return None
    if isinstance(want, str) and want.startswith("~"):
        return None if isinstance(got, str) and want[1:] in got else "%s lacks the text %r" % (where, want[1:])
    return None if got == want else "%s is %s, not %s" % (where, json.dumps(got, ensure_ascii=False)[:200], json.dumps(want, ensure_ascii=False))


def contains(got, part):
    if lacks(got, part, "") is None:
        return True
    inner = got.values() if isinstance(got, dict) else got if isinstance(got, list) else []
    return any(contains(x, part) for x in inner)


def pretty(v, indent=""):
    """JSON with short values on one line."""
    flat = json.dumps(v, ensure_ascii=False)
    if len(flat) + len(indent) <= 150 or not isinstance(v, (dict, list)):
        return flat + ("" if indent else "\n")
    inner = indent + " "
    if isinstance(v, list) and all(isinstance(x, int) for x in v):  # semantic tokens: five numbers each
        rows = [", ".join(map(str, v[i:i + 5])) for i in range(0, len(v), 5)]
        return "[\n" + ",\n".join(inner + r for r in rows) + "\n" + indent + "]"
    if isinstance(v, list):
        text = "[\n" + ",\n".join(inner + pretty(x, inner) for x in v) + "\n" + indent + "]"
    else:
        text = "{\n" + ",\n".join("%s%s: %s" % (inner, json.dumps(k), pretty(x, inner)) for k, x in v.items()) + "\n" + indent + "}"
    return text + ("" if indent else "\n")


@pytest.mark.parametrize("path", sorted((HERE / "sessions").glob("*.session")), ids=lambda p: p.stem)
def test_session(path, pdl, folder):
    parts, record = sections(path.read_text(encoding="utf-8")), bool(os.environ.get("PDL_UPDATE"))
    s = Session(pdl, path, folder.resolve(), record)
    for i, (head, _) in enumerate(parts):
        try:
            s.step(parts, i)
        except Exception as e:  # the next steps may still tell something
            s.complain(head, "%r\n%s" % (e, "".join(s.lsp.errors)[-3000:]))
            s.lsp.end(5)
            break
    else:
        status, errors = s.lsp.quit()
        if status != 0 or errors:
            s.complain("exit", "status %s\n%s" % (status, errors[-3000:]))
    check(path.stem, not s.problems, "\n".join(s.problems))
    if record and not s.problems:
        path.write_text("".join("--- %s\n%s" % (h, b) for h, b in parts), encoding="utf-8")
