# SPDX-License-Identifier: Apache-2.0
"""A wrong hint is worse than no hint. The cases of each hint are mistakes that must get the hint, and similar mistakes that must not.

The files *.hints have the cases. `=== HINT` begins a hint (a part of the printed text). Programs follow, each after a line that says what is expected:
    --- yes         `pdl check` prints the hint          --- yes run     `pdl` prints it
    --- no          it does not                          --- no run      `pdl` does not
    --- file NAME   a file beside the programs of this hint
A program without a mistake may be a case of `no`. The tests of hints for expressions are in tests/unit/expr/test_advice.c, and those for policies in
tests/policy.
"""
import ast
import pathlib
import re
import subprocess

import pytest

from ..checks import check
from ..harness.choice import source

HERE = pathlib.Path(__file__).resolve().parent
FILES = sorted(HERE.glob("*.hints"))


def cases_of(path):
    """Triples (hint, [(word, program)], {name: text})."""
    parts = re.split(r"^=== (.+)\n", path.read_text("utf-8"), flags=re.M)[1:]
    for hint, body in zip(parts[::2], parts[1::2]):
        pieces = re.split(r"^--- (.+)\n", body, flags=re.M)[1:]
        pairs = list(zip(pieces[::2], pieces[1::2]))
        files = {head[5:]: text for head, text in pairs if head.startswith("file ")}
        yield hint, [(head, text) for head, text in pairs if not head.startswith("file ")], files


def printed(pdl, folder, how, program):
    (folder / "main.pdl").write_text(program, "utf-8")
    command = [pdl, "main.pdl"] if how.endswith(" run") else [pdl, "check", "main.pdl"]
    r = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    return r.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("name", [f.stem for f in FILES])
def test_said_where_it_is_right(name, pdl, folder):
    for hint, programs, files in cases_of(HERE / (name + ".hints")):
        for file, text in files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, "utf-8")
        for how, program in programs:
            out = printed(pdl, folder, how, program)
            check("%s: %s\n%s" % (hint, how, program), (hint in out) == how.startswith("yes"), out)
        words = {how.split()[0] for how, _ in programs}
        check("%s: it has mistakes that it is for, and near ones that it is not for" % hint, words == {"yes", "no"}, sorted(words))


def strings(text):
    """Literals of C that stand side by side, joined; macros of text are put in their place."""
    macros = {}
    text = text.replace("\\\n", " ")
    for name, value in re.findall(r'^#define (\w+)\s+((?:"(?:[^"\\]|\\.)*"\s*)+)', text, re.M):
        macros[name] = value.strip()
    for name, value in macros.items():
        text = re.sub(r"\b%s\b" % name, lambda _, v=value: v, text)
    return ["".join(ast.literal_eval(s) for s in re.findall(r'"(?:[^"\\]|\\.)*"', run))
            for run in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', text)]


def rows(path, table):
    """The texts of each row of a table of a file in C."""
    text = source(path).read_text("utf-8")
    macros = "\n".join(re.findall(r"^#define (?:.*\\\n)*.*$", text, re.M))
    body = re.search(r"\} %s\[\] = \{\n(.*?)^\};" % table, text, re.M | re.S).group(1)
    return [strings(macros + "\n;\n" + row)[len(strings(macros)):] for row in re.findall(r"^    \{(.*?)\},?$", body, re.M | re.S)]


EDITORS = "the bracket that opens here is not closed"  # said by the reader of the language server alone: tests/lsp/sessions/broken.session


def test_each_hint_about_yaml_has_cases():
    known = [hint for path in FILES for hint, _, _ in cases_of(path)]
    found = [row[-1] for row in rows("yaml/yaml_advice.c", "advices")]
    check("the table is read", len(found) > 50, len(found))
    for hint in sorted(set(found) - {EDITORS}):
        check("%s: it has cases" % hint, hint in known)


# A block of each kind of the table `keys` of lang/word_advice.c, into which a key is written.
BLOCKS = {
    "ANY": "text: a\n", "NONE": "", "PDL_BLOCK_model": "model: openai/echo\n", "PDL_BLOCK_call": "call: ${ f }\n", "PDL_BLOCK_repeat": "repeat: a\n",
    "PDL_BLOCK_map": "map: a\n", "PDL_BLOCK_code": "lang: python\ncode: a\n", "PDL_BLOCK_import": "import: a\n",
    "PDL_BLOCK_match": "match: a\nwith: []\n", "PDL_BLOCK_function": "function: {}\nreturn: a\n", "PDL_BLOCK_if": "if: true\nthen: a\n",
}


def test_keys_of_other_tools(pdl, folder):
    """A word of a kind has its hint in a block of this kind, and not where it would be wrong: in a block of another kind, and as a name of data."""
    table = re.search(r"\} keys\[\] = \{\n(.*?)^\};", source("lang/word_advice.c").read_text("utf-8"), re.M | re.S).group(1)
    kinds = re.findall(r"^    \{(\w+), \"", table, re.M)
    words = [row[:2] for row in rows("lang/word_advice.c", "keys")]
    check("the table is read", len(kinds) == len(words) > 150, len(kinds), len(words))
    for kind, (word, hint) in zip(kinds, words):
        key = word + "x" if word.endswith(" ") else word
        own = BLOCKS[kind] + key + ": 1\n"
        check("%s in %s" % (word, kind), hint in printed(pdl, folder, "yes", own), own)
        data = BLOCKS[kind] + "defs: {cfg: {data: {%s: 1}}}\n" % key
        check("%s is a name of data" % word, hint not in printed(pdl, folder, "no", data if kind != "NONE" else "data: {%s: 1}\n" % key), data)
        others = [k for k in BLOCKS if k not in (kind, "NONE") and not kind == "ANY" and (k, [word, hint]) not in zip(kinds, words)]
        for other in others[:2] if ("ANY", [word, hint]) not in zip(kinds, words) else []:
            check("%s of %s in %s" % (word, kind, other), hint not in printed(pdl, folder, "no", BLOCKS[other] + key + ": 1\n"))
