# SPDX-License-Identifier: Apache-2.0
"""samples.py -- finds the programs of the manual that run in a browser, for the examples of the playground and for "Try it" on the site.

A program runs in a browser when it needs no process, no socket and only files of its page. tests/docs runs all programs of the manual and describes
the meaning of its fences.
"""
import base64
import json
import re
import zlib

from pages import without_code

TEACHING = ["getting-started", "tutorial", "guide", "guide-control", "guide-data", "context", "cookbook", "structured-output", "coming-from"]

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
# Features that only the command has. A program with one of them is not offered.
ABSENT = re.compile(r"\b(lang: *(command|ipython|mellea)|mcp|policy|sandbox|import: *[./]*(?!stdlib)\w+/|server)\b|^ *(command|write|http|requirements) *:|^ *(- )?args: *\[|aggregator: *\{?\s*file\b|\bsqlite3\b|\bopen\(", re.M)
# Features that also need Python: a playground with Pyodide.
PYTHON = re.compile(r"\blang: *python\b|^ *(- )?python *:", re.M)
NEEDS = re.compile(r"(?:include|import|read): *[\"']?([\w./-]+)")


def option(info, key, default=None):
    m = re.search(r"\b%s=(\S+)" % key, info)
    return m.group(1) if m else default


def heading(text, at):
    """Returns the title above a place of a page."""
    found = re.findall(r"^#+ +(.*?) *$", without_code(text[:at]), re.M)
    return re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found[-1])) if found else ""


def needed(program, files):
    """Returns the files of the page that a program reads, directly or indirectly. Returns None when one of them is missing."""
    wanted, out = NEEDS.findall(program), {}
    while wanted:
        name = wanted.pop()
        found = next((n for n in (name, name + ".pdl") if n in files), None)
        if found is None and name not in ("stdlib",):
            return None
        if found and found not in out:
            out[found] = files[found]
            wanted += NEEDS.findall(files[found])
    return out


def samples(text, has_python=False):
    """Returns [{title, program, replies?, files?, at, end}] of a page. at and end are the place of the block. has_python: blocks of Python run, too."""
    files, out = {}, []
    for m in FENCE.finditer(text):
        kind, info, body = m.groups()
        if kind == "replies" and out and not text[out[-1]["end"]:m.start()].count("```pdl"):
            out[-1]["replies"] = body
        name = option(info, "file", "main.pdl" if kind == "pdl" else None)
        if kind == "pdl" and not ABSENT.search(body) and (has_python or not PYTHON.search(body)):
            others = needed(body, files)
            if others is not None:
                out.append({"title": heading(text, m.start()), "program": body, **({"files": others} if others else {}), "at": m.start(), "end": m.end()})
        if name:
            files[name] = body
    return out


def examples(docs, has_python=False):
    """Returns [{page, programs: [{title, program, ...}]}], which has the first program of each heading of the pages that teach."""
    out = []
    for name in TEACHING:
        file = docs / "manual" / (name + ".md")
        text = file.read_text("utf-8")
        found = {}
        for s in samples(text, has_python):
            found.setdefault(s["title"], {k: v for k, v in s.items() if k not in ("at", "end")})
        title = re.search(r"^# (.*)$", text, re.M).group(1)
        out.append({"page": title, "programs": list(found.values())})
    return out


def link(sample):
    """Returns the text after the # of a link that opens a sample in the playground (packaging/playground/link.js reads it)."""
    shared = json.dumps({k: v for k, v in sample.items() if k in ("program", "replies", "files")}, ensure_ascii=False, separators=(",", ":"))
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflate.compress(shared.encode()) + deflate.flush()
    return "p=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def with_links(text, playground, has_python=False):
    """Returns a page with "Try it" below each program that runs in a browser. playground: the address of its folder, relative to the page."""
    out, last = [], 0
    for s in samples(text, has_python):
        out += [text[last:s["end"]], '\n\n<p class="try" data-search-exclude><a href="%s/index.html#%s">Try it</a></p>\n' % (playground, link(s))]
        last = s["end"]
    return "".join([*out, text[last:]])
