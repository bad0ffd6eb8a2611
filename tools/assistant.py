# SPDX-License-Identifier: Apache-2.0
"""assistant.py -- makes the files that people give to an assistant that writes programs: the card, the index of the manual, its whole text, and a
skill. The command is tools/assistant-pages.

The tables of the card are those of docs/manual/quick-reference.md; tests/docs runs its programs.
"""
import pathlib
import re
import shutil
import textwrap

from pages import PARTS, ROOT, page_file, title_of, without_code, without_nav

CARD = ROOT / "docs" / "language-card.md"
SKILL = [ROOT / "packaging" / "skill" / "SKILL.md", CARD]
MAX_LINES, COLUMNS = 120, 100

HEAD = """# PDL on two screens

A program is a YAML file, a block in it is a mapping, and its key says what it does. Text holds
expressions: `${ ... }`. A text that is one expression keeps the type of its value. `pdl FILE` runs
a program, `pdl check FILE` finds its mistakes, `pdl mock` is a model without a key. `pdl docs WORD`
searches the manual; `pdl help NAME` explains a message, a rule or an option.

```pdl file=units.pdl
defs:
  double: {function: {n: number}, return: "${ n * 2 }"}
```
```pdl
description: every kind of block
defs:                                         # variables, made before the block runs
  units: {import: units}                      # the definitions of units.pdl, as an object
  log: {aggregator: {file: log.txt}}          # collects what contributes to it
  greet:
    function: {name: string}                  # parameters and their types
    return: "Hello ${ name }"                 # a block: its result is that of the call
lastOf:                                       # the result of the last block
- include: units.pdl                          # another program, in this scope
- {def: name, data: Ada, contribute: [log]}   # a value; it goes to the log alone
- {def: line, read: units.pdl, contribute: []}
- {def: up, lang: command, code: "printf ADA", contribute: []}
- {def: n, lang: python, code: "result = len(name)", contribute: []}
- {defs: {half: 0.5}}                         # nothing but definitions
- {factor: -1.5}                              # a score, for pdl infer
- {role: system, content: Be brief.}          # a message for the models that follow
- array:                                      # a list of results
  - {call: "${ greet }", args: {name: "${ up }"}}
  - {get: name}                               # the old form of data: ${ name }
  - {if: "${ n > 2 }", then: long, else: short}
  - {match: "${ n }", with: [{case: {anyOf: [1, 2]}, then: few}, {then: many}]}
  - {for: {i: [1, 2]}, repeat: "${ double(i) }", join: {as: array}}
  - {for: {i: [1, 2]}, map: "${ units.double(i) }", join: {with: "+"}}
  - {object: {n: "${ n }"}}                   # a mapping of results
  - {sequence: [a, b], join: {as: lastOf}}
  - {text: ["${ name | lower }", " and ", "${ line | length > 9 }"]}
```
```output
["Hello ADA", "Ada", "long", "many", [2, 4], "2+4", {"n": 3}, "b", "ada and true"]
```
```pdl
text:
- model: openai/gpt-4o-mini                   # provider/name; the key is in OPENAI_API_KEY
  input: Who wrote the first program?         # without input: the context is sent
  parameters: {temperature: 0}
  def: person
  parser: json
  spec: {name: string, born: integer}
  retry: 2                                    # asks again when the answer is not of this form
  fallback: {data: {name: nobody, born: 0}}   # after the last attempt
  contribute: [context]                       # later models see it; it is not printed
- ${ person.name }, ${ person.born }
```
```replies
["I think it was Ada.", "{\\"name\\": \\"Ada\\", \\"born\\": 1815}"]
```
```output
Ada, 1815
```
"""


def rows(text, title):
    """Returns the rows of the table below a heading, as lists of cells."""
    body = re.split(r"^#{2,3} ", text[text.index("\n%s\n" % title) + len(title) + 2:], maxsplit=1, flags=re.M)[0]
    lines = [x for x in body.split("\n") if x.startswith("|")][2:]
    return [[c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", x)[1:-1]] for x in lines]


def filled(text, indent="  "):
    """Breaks the text into lines. Code that fits on a line is not divided."""
    whole = re.sub(r"`[^`]*`", lambda m: m.group(0).replace(" ", "\0"), text)
    return textwrap.fill(whole, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False).replace("\0", " ") + "\n"


def kinds(table):
    """Returns a text about each kind of block, with its meaning and its other fields."""
    out = []
    for name, doc in table:
        if name.startswith("**"):
            out.append([name.strip("*"), doc.strip("*"), []])
        elif name not in ("``", out[-1][0]) and not doc.startswith("Old name"):
            out[-1][2].append(name)
    return "".join(filled("- %s%s: %s" % (name, "".join(", " + f for f in fields), doc)) for name, doc, fields in out)


def card():
    text = without_nav(page_file("manual/quick-reference").read_text("utf-8"))
    filters = " ".join(names for title, names in rows(text, "## Filters, tests, functions") if title.startswith("Filters"))
    commands = [m.split(" ")[1] for m in re.findall(r"^### `(pdl [a-z]+[^`]*)`$", text, re.M)]
    return (HEAD + "\n## Blocks, and their other fields\n\n" + kinds(rows(text, "## Blocks"))
            + filled("- every block: " + " ".join(name for name, _ in rows(text, "### Fields of every block")))
            + "\n## Values, filters and commands\n\n" + "".join(filled("- %s: %s" % (where, what)) for where, what in rows(text, "## Forms of values"))
            + "\n```text\n" + filled("filters: " + filters.replace("`", "")) + filled("commands of pdl: " + " ".join(c for c in dict.fromkeys(commands) if c.isalpha()))
            + "```\n")


def first_sentence(name):
    """Returns the first sentence of a page, on one line and without links."""
    text = re.sub(r"\A# .*", "", without_code(without_nav(page_file(name).read_text("utf-8"))))
    paragraph = next(" ".join(p.split()) for p in re.split(r"\n{2,}", text) if re.match(r"[A-Z`\"]", p.strip()))
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|:$", lambda m: m.group(1) or ".", re.split(r"(?<=[.!?]) ", paragraph, maxsplit=1)[0])


def index(end):
    out = ("# PDL\n\n> PDL is a language for programs that ask language models. A program is a YAML file: it says what is sent to a model, what\n"
           "> happens to the answer, and what is checked. The command `pdl` runs it.\n\n"
           "- [The language on two screens](language-card%s): every kind of block, with programs\n- [The whole manual](llms-full.txt): as one text\n" % end)
    for part, pages in PARTS:
        out += "\n## %s\n\n" % part
        out += "".join("- [%s](%s%s): %s\n" % (title_of(n), n, end, first_sentence(n)) for n in pages)
    return out


def full():
    """Returns the pages in reading order, each after a comment with its name."""
    return "".join("<!-- docs/%s.md -->\n\n%s\n" % (n, without_nav(page_file(n).read_text("utf-8")).strip() + "\n") for _, pages in PARTS for n in pages)


def write_texts(folder, end=".md"):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "llms.txt").write_text(index(end), "utf-8")
    (folder / "llms-full.txt").write_text(full(), "utf-8")


def write_skill(folder):
    """Writes the folder of the skill, which an assistant reads. The folder says when the skill is useful, and has the
    card."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in SKILL:
        shutil.copyfile(file, folder / file.name)


def faults(text):
    lines = text.rstrip("\n").split("\n")
    if len(lines) > MAX_LINES:
        yield "%d lines, more than %d" % (len(lines), MAX_LINES)
    output = False
    for number, line in enumerate(lines, 1):
        output = line.startswith("```output") or (output and not line.startswith("```"))
        if len(line) > COLUMNS and not output:
            yield "line %d has %d columns, more than %d" % (number, len(line), COLUMNS)
