# SPDX-License-Identifier: Apache-2.0
"""pages.py -- reads Markdown for the tools for pages: headings and their anchors, links, and the places of installed pages.

An anchor has the form that the usual viewers of Markdown give it. The site has the same anchors, so a link that is right in the sources is right
everywhere.
"""
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^( *)(```|~~~).*?^ *\2 *$", re.M | re.S)
HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +#+)? *$", re.M)  # number signs at the end of a heading do not belong to its text
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]\[]*\])*)\]\(([^)\s]+)\)")

# Folders and pages of the sources, with the places to which `make install` copies them below share/. The first row that fits counts.
INSTALLED = [("docs/internals", None), ("docs/home.md", None), ("docs", "doc/libpdl"), ("examples", "doc/libpdl/examples"), ("lib", "pdl/lib"),
             ("README.md", "doc/libpdl/README.md"), ("CHANGELOG.md", "doc/libpdl/CHANGELOG.md"), ("LICENSE", "doc/libpdl/LICENSE")]


def without_code(text):
    """Returns the text with the same number of lines, without blocks of code."""
    return FENCE.sub(lambda m: "\n" * m.group(0).count("\n"), text)


def slug(title):
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.replace("`", "").replace("*", ""))
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def anchors(text):
    """Returns [(level, title, anchor)] of the headings, in order. The anchor of a repeated title gets a number."""
    seen, out = {}, []
    for marks, title in HEADING.findall(without_code(text)):
        own = re.search(r" \{#([\w-]+)\}$", title)
        name = own.group(1) if own else slug(title)
        seen[name] = seen.get(name, -1) + 1
        out.append((len(marks), title, "%s-%d" % (name, seen[name]) if seen[name] else name))
    return out


def names(text):
    """Returns everything to which a link with # can lead."""
    return {a for _, _, a in anchors(text)} | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def links(text):
    """Returns [(line, target)] of the links to other places of the tree."""
    text = re.sub(r"`[^`\n]*`", lambda m: "x" * len(m.group(0)), without_code(text))
    return [(text.count("\n", 0, m.start()) + 1, m.group(3)) for m in LINK.finditer(text) if not re.match(r"[a-z]+:", m.group(3))]


def installed(path):
    """Returns the place below share/ where a file of the sources is installed, or None. The path is relative, and a text."""
    for source, to in INSTALLED:
        if path == source or path.startswith(source + "/"):
            return to and to + path[len(source):]
    return None



MARK = re.compile(r"\s*(?:[-*]|\d+\.) ")


def blocks(text):
    """Returns [(line, words)] of the paragraphs, items of lists and cells of tables, without blocks of code."""
    out, now, start = [], [], 1
    text = re.sub(r"<!--.*?-->", "", without_code(without_nav(text)), flags=re.S)
    for number, line in enumerate(text.split("\n") + [""], 1):
        ends = not line.strip() or line.startswith(("#", "|", "![")) or MARK.match(line)
        if now and ends:
            out.append((start, " ".join(now)))
            now = []
        if line.startswith("|"):
            out += [(number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip("| "))]
        elif line.strip() and not line.startswith(("#", "![")) and (now or not line.startswith("    ")):
            start = start if now else number
            now.append(line[MARK.match(line).end() if MARK.match(line) else 0:].strip())
    return out


def sentences(text):
    """Returns [(line, number of words, sentence)]. Inline code counts as one word, and a link has the words of its text."""
    out = []
    for line, words in blocks(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "`code`", words))
        for sentence in re.split(r"(?<=[.!?])[)\"']*\s+(?=[A-Z`(\"*])", plain):
            out.append((line, sum(bool(re.search(r"\w", w)) for w in sentence.split()), sentence))
    return out


# The parts of the manual, in reading order, each with its pages below docs/. When a page is here twice or not at all, `tools/manual-pages` fails.
PARTS = [
    ("Learn", ["manual/getting-started", "manual/tutorial", "manual/guide", "manual/guide-control", "manual/guide-data"]),
    ("Look up", ["manual/quick-reference", "manual/builtins", "manual/errors", "manual/messages", "manual/messages-yaml", "manual/messages-keys",
                 "manual/messages-expressions", "manual/messages-types", "manual/messages-loops", "manual/messages-code", "manual/messages-files",
                 "manual/messages-models", "manual/messages-command", "manual/messages-other", "manual/rules", "providers", "manual/glossary", "differences", "python-compat"]),
    ("Do", ["manual/cookbook", "manual/mock", "manual/structured-output", "manual/content", "manual/tables", "manual/conversations", "manual/calls",
            "manual/speed-and-cost", "manual/tools", "manual/patterns", "manual/evaluation", "manual/judges", "manual/optimize", "manual/infer", "manual/batch", "manual/serve", "manual/production", "manual/continuous-integration",
            "manual/python", "manual/embedding", "manual/javascript", "manual/editors", "manual/fmt", "manual/telemetry", "manual/coming-from",
            "manual/coming-from-agent-framework", "manual/coming-from-replay", "manual/coming-from-prompty", "manual/coming-from-poml"]),
    ("Understand", ["manual/context", "manual/live-document", "manual/recording", "manual/durable-runs", "manual/security", "manual/policies"]),
]
INDEX = "manual/index"
NAV = re.compile(r"\n\n---\n\n\*\[The manual\]\([^\n]*\*\n?\Z")


def page_file(name):
    return ROOT / "docs" / (name + ".md")


def title_of(name):
    return re.match(r"# (.*)", page_file(name).read_text("utf-8")).group(1)


def without_nav(text):
    return NAV.sub("\n", text)


def with_nav(name, text):
    """Returns the text of a page. Below the text are the part of the page, and the pages before and after it."""
    order = [(part, n) for part, pages in PARTS for n in pages]
    at = [n for _, n in order].index(name)
    folder = page_file(name).parent

    def link(to, words):
        return "[%s](%s)" % (words, os.path.relpath(page_file(to), folder))

    line = "%s: %s" % (link(INDEX, "The manual"), order[at][0].lower())
    if at > 0:
        line += " · before: " + link(order[at - 1][1], title_of(order[at - 1][1]))
    if at + 1 < len(order):
        line += " · next: " + link(order[at + 1][1], title_of(order[at + 1][1]))
    return without_nav(text).rstrip("\n") + "\n\n---\n\n*%s*\n" % line


CALLED = "Words of other tools"


def called():
    """Returns [(words, page, anchor)] of the table of the glossary with words that people look for and the manual does not use. A page is relative to docs/."""
    text = page_file("manual/glossary").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| \[[^\]]*\]\(([^)#]+)#?([^)]*)\) \|$", text[text.index("## " + CALLED):], re.M)
    return [(words.split(", "), os.path.normpath(os.path.join("manual", target)), anchor) for words, target, anchor in rows]


NATIVES = "Natives of stdlib and of its functions"
INTERNAL = ["http_hop", "tool_answer_or_error"]  # functions of lib/stdlib.pdl that only its other functions call


def builtins(pdl):
    """Returns the page of `pdl __builtins`, with the functions that lib/stdlib.pdl defines. A native that programs cannot call is `pdl_NAME` there."""
    def run(*words):
        return subprocess.run([pdl, *words], capture_output=True, text=True, check=True).stdout

    page = run("__builtins")
    names = json.loads(run("--stream", "none", "-e", "text: ${ stdlib.keys() | list | json }"))
    known = json.loads(run("--stream", "none", "-e", "text: ${ stdlib.values() | selectattr('signature', 'defined') | map(attribute='signature.function') | list | json }"))
    natives = re.search(r"^## %s\n.*" % NATIVES, page, re.M | re.S).group(0)
    own = [f for f in known if f["name"] not in INTERNAL and "`stdlib.%s(" % f["name"] not in natives]
    rows = ["| `stdlib.%s(%s)` | %s. |" % (f["name"], ", ".join(f["parameters"]["properties"]), f["description"].replace("|", "\\|")) for f in own]
    natives = re.sub(r"^\| `stdlib\.(\w+)\(", lambda m: m.group(0) if m.group(1) in names else "| `pdl_%s(" % m.group(1), natives, flags=re.M)
    return page[:page.index("## " + NATIVES)] + "## Functions of stdlib\n\n| | |\n|---|---|\n" + "\n".join(sorted(rows)) + "\n\n" + natives
