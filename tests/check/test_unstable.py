# SPDX-License-Identifier: Apache-2.0
"""the rule prefix-unstable reports values that change before unchanging text of a prompt, and reports nothing where nothing is lost."""
import json
import subprocess

import pytest

from ..checks import check

CODE = "- {lang: python, def: v, contribute: [], code: \"%s\"}\n"
MAKERS = ("import datetime\\nresult = str(datetime.datetime.now())", "import datetime\\nresult = str(datetime.date.today())", "import time\\nresult = time.time()",
          "import uuid\\nresult = str(uuid.uuid4())", "import random\\nresult = random.random()", "import secrets\\nresult = secrets.token_hex()",
          "import os\\nresult = os.getpid()", "result = ', '.join(x for x in set('abc'))", "import datetime\\nresult = str(datetime.datetime.utcnow())")
PROMPTS = ("- {model: openai/m, input: \"%s\"}\n", "- {text: \"%s\", role: system}\n- {model: openai/m}\n",
           "- {model: openai/m, input: {array: [{role: system, content: \"%s\"}, {role: user, content: hi}]}}\n")
WRONG = [CODE % m + PROMPTS[i % 3] % "It is ${ v }. Be kind." for i, m in enumerate(MAKERS)]
WRONG += [p % "${ [1, 2] | random } is the number." for p in PROMPTS] + [PROMPTS[0] % "${ lipsum() } Sum it up."]
# What follows may be in a variable, when the program writes it out there.
WRONG += [CODE % MAKERS[0] + "- {defs: {r: %s}, lastOf: [{model: openai/m, input: \"${ v } ${ r }\"}]}\n" % r for r in ("Be kind", "\"${ 'Be kind. ' * 100 }\"", "{data: Be kind}")]
RIGHT = [CODE % MAKERS[0] + "- {defs: {r: %s}, lastOf: [{model: openai/m, input: \"${ v } ${ r }\"}]}\n" % r
         for r in ("12", "\"${ unknown }\"", "{data: Be kind, fallback: no}", "{read: f.txt}", "{function: {}, return: a}")]
RIGHT += [CODE % MAKERS[0] + "- {for: {r: [a, b]}, repeat: {model: openai/m, input: \"${ v } ${ r }\"}}\n",
          CODE % MAKERS[0] + "- {def: r, data: Be kind}\n- {def: r, read: f.txt}\n- {model: openai/m, input: \"${ v } ${ r }\"}\n"]
# Texts one after the other are one text: parts of an input, what a list contributes before a model block, also in a function.
MODEL = "- {model: openai/m}\n"
NOW = CODE % MAKERS[0]
WRONG += [NOW + "- {model: openai/m, input: {text: [%s]}}\n" % parts for parts in
          ('"${ v }\\n", Be kind.', '"It is ", "${ v }", ". Be kind."', '{text: ["At ${ v }"]}, {if: true, then: a}, Be kind.', "\"At ${ v }\", \"${ 'Be' }\", Be kind.")]
WRONG += [NOW + "- %s\n" % "\n- ".join(texts) + MODEL for texts in
          (('"It is ${ v }. Be kind."',), ('"${ v }"', "Be kind."), ('"At ${ v }"', "read: f.txt", '"${ v } Be kind."'), ('text: ["It is ", "${ v }", ". Be kind."]',), ("data: At ${ v }", "Be kind."))]
WRONG += [NOW + "- {text: [\"It is \", \"${ v }\", \". Be kind.\"], role: system}\n" + MODEL,
          NOW + "- defs:\n    f: {function: {q: string}, return: {lastOf: [\"It is ${ v }. Be kind. ${ q }\", {model: openai/m}]}}\n  lastOf: [{call: \"${ f }\", args: {q: a}}]\n"]
# A list with a model of its own is read once, though lists around it have models, too.
WRONG += [NOW + "- {text: [\"It is ${ v }. Be kind.\", {model: openai/m}]}\n" + MODEL,
          NOW + "- {text: [{text: [\"It is ${ v }. Be kind.\", {model: openai/m}]}, {model: openai/m}]}\n" + MODEL]
# Variables that are made of one that changes, wherever they stand.
WRONG += [NOW + "- defs: {%s}\n  lastOf:\n  - {model: openai/m, input: \"%s\"}\n" % rows for rows in
          (("p: \"At ${ v }. Be kind.\"", "${ p }"), ("p: \"At ${ v }\"", "${ p }: Be kind."), ("p: {text: [At, \"${ v }\"]}", "${ p }: Be kind."),
           ("q: \"${ p }\", p: \"${ v }\"", "${ q } Be kind."), ("p: \"${ [1, 2] | random }\"", "${ p } Be kind."))]
RIGHT += [NOW + "- %s\n" % "\n- ".join(texts) + MODEL for texts in
          (("Be kind.", '"It is ${ v }."'), ('"${ v }"', '"\\n"'), ("{text: \"${ v }\", contribute: [result]}", "Be kind."), ("{text: \"${ v }\", role: system}", "Be kind."),
           ("{if: true, then: \"${ v }\"}", "Be kind."))]
RIGHT += [NOW + MODEL + "- \"${ v }\"\n- Be kind.\n", NOW + "- {model: openai/m, input: {text: [Be kind., \"${ v }\"]}}\n",
          NOW + "- {model: openai/m, input: {text: [{text: \"${ v }\", contribute: [context]}, Be kind.]}}\n",
          NOW + "- {model: openai/m, input: {array: [{role: user, content: \"${ v }\"}, {role: user, content: Be kind.}]}}\n",
          NOW + "- defs: {p: \"Be kind. At ${ v }.\"}\n  lastOf:\n  - {model: openai/m, input: \"${ p }\"}\n  - {model: openai/m, input: \"${ p }\"}\n"]
RIGHT += [CODE % m + PROMPTS[i % 3] % "Be kind. It is ${ v }." for i, m in enumerate(MAKERS)]
RIGHT += [CODE % "result = 3" + PROMPTS[0] % "${ v } words.", CODE % MAKERS[0] + "- \"${ v } and text that no model gets\"\n",
          CODE % MAKERS[0] + PROMPTS[0] % "${ v }", CODE.replace("def: v", "def: w") % MAKERS[0] + PROMPTS[1] % "${ [1, 2] | first } is the number."]


def found(pdl, folder, text):
    return found_in(pdl, folder, "text:\n" + text)


def found_in(pdl, folder, text):
    (folder / "p.pdl").write_text(text, newline="")
    p = subprocess.run([pdl, "check", "p.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return (p.stdout + p.stderr).count("[prefix-unstable]")


@pytest.mark.parametrize("number", range(4))
def test_rule(pdl, tmp_path, number):
    for text in WRONG[number::4]:
        check("it is found once", found(pdl, tmp_path, text) == 1, text)
    for text in RIGHT[number::4]:
        check("nothing is found", found(pdl, tmp_path, text) == 0, text)


# A system message before and after the fix; None where no fix is offered.
FIXES = (
    ('"It is ${ v }. You are kind, and short."', '"You are kind, and short. It is ${ v }."'),
    ("It is ${ v }. You are kind.", "You are kind. It is ${ v }."),
    ("'It isn''t ${ v }! You aren''t rude. Be kind.'", "'You aren''t rude. Be kind. It isn''t ${ v }!'"),
    ('"It is ${ v }.\\nYou are kind.\\n"', '"You are kind.\\nIt is ${ v }.\\n"'),
    ("|\n    Today is ${ v }.\n    You are kind.\n", "|\n    You are kind.\n    Today is ${ v }.\n"),
    ("|\n    You are kind.\n    Today is ${ v }, ${ v | upper }.\n\n    Be short.\n", "|\n    You are kind.\n    Be short.\n\n    Today is ${ v }, ${ v | upper }.\n"),
    ("|\n    Be short. Today is ${ v }. Be right.\n    Be kind.\n", "|\n    Be short. Be right.\n    Be kind. Today is ${ v }.\n"),
    ("|\r\n    Today is ${ v }.\r\n    You are kind.\r\n", "|\r\n    You are kind.\r\n    Today is ${ v }.\r\n"),
    ('"Be quick. ${ v } is the time. Be kind."', None),  # there are words after it at the end, too
    ('"Today is ${ v }. Be kind. It was ${ v }. Be short."', None),
    ('"It is ${ v } for Mr. Smith, who is kind."', None),  # one sentence
    ('"It is ${ v } and you are kind."', None),
    ('"The time: ${ v }, you are kind. Text:"', None),  # what follows is announced
    ("|\n    Facts:\n    Today is ${ v }.\n    You are kind.\n", None),
    ("|\n    - Today is ${ v }.\n    - You are kind.\n", None),
    ("|\n    1. Today is ${ v }.\n    2. You are kind.\n", None),
    (">\n    Today is ${ v }.\n    You are kind.\n", None),
    ("Today is ${ v }.\n    You are kind.", None),
    # The new first line of a block would decide its indentation.
    ("|\n    Today is ${ v }.\n      You are kind.\n    Be short.\n", None),
    ("|\n    Today is ${ v }.\n\n      - item\n    Be short.\n", None),
    ("|\n    Today is ${ v }.\n         \n    Be short.\n", None),  # a line of blanks
    ("|\n    Today is ${ v }.\n    \tBe short.\n", None),
    ("|\n\n    Today is ${ v }.\n      You are kind.\n    Be short.\n", None),
    ("|2\n    Today is ${ v }.\n      You are kind.\n    Be short.\n", None),
    ("|2\n      Today is ${ v }.\n    You are kind.\n", None),
    ("|\n    Be kind.\n    Today is ${ v }.\n      Be short.\n", "|\n    Be kind.\n      Be short.\n    Today is ${ v }.\n"),
    ("|\n    Today is ${ v }.\n    Be kind.\n      Be short.\n", "|\n    Be kind.\n      Be short.\n    Today is ${ v }.\n"),
    ("|\n    Today is ${ v }. Be kind.\n      Be short.\n", "|\n    Be kind.\n      Be short. Today is ${ v }.\n"),
    ("|\n\n    Today is ${ v }.\n    Be short.\n", "|\n\n    Be short.\n    Today is ${ v }.\n"),
    ("|\n    Today is ${ v }.\n\n    Be short.\n", "|\n    Be short.\n\n    Today is ${ v }.\n"),
    ("|\n    Today is ${ v }.\n    # Rules\n    Be short.\n", "|\n    # Rules\n    Be short.\n    Today is ${ v }.\n"),
    ("|2\n    Today is ${ v }.\n    Be short.\n", "|2\n    Be short.\n    Today is ${ v }.\n"),
    # Headers, ends and comments stay where they are.
    *((head + "\n    Today is ${ v }.\n    Be short." + end, head + "\n    Be short.\n    Today is ${ v }." + end)
      for head in ("|-", "|+", "|  # It is. A note", "&a |", "!!str |-") for end in ("\n", "\n\n\n", "\n# note\n", "\n  # note\n")),
    ("It is ${ v }. Be kind.  # A note. It is", "Be kind. It is ${ v }.  # A note. It is"),
    *((head + "\n    Today is ${ v }. Be kind.\n    Be short.\n", None) for head in (">", ">-", ">+", ">2")),
    ("'It is ${ v }. Note: be kind. Rule #1 is this.'", "'Note: be kind. Rule #1 is this. It is ${ v }.'"),
    ('"It is ${ v }.\\n# Rules: be kind."', '"# Rules: be kind.\\nIt is ${ v }."'),
    *(('"It is ${ v }.\\n%s be kind."' % sign, '"%s be kind.\\nIt is ${ v }."' % sign) for sign in ("-", "&a", "*", "!", "@", "%", "|", "  ", "- -")),
    *((text % "\r    ", None) for text in ('"It is ${ v }. Be%skind."', "It is ${ v }. Be%skind.")),  # an old Macintosh's line end
    ('"It is ${ v }. \\"Be\\" kind."', None),  # a sentence begins with a capital letter
    ("It is ${ v }. ${ 1 } or ${ 2 } words.", "${ 1 } or ${ 2 } words. It is ${ v }."),
    ("It is ${ v }. Grüße die 😀 Leute.", "Grüße die 😀 Leute. It is ${ v }."),
    ("|\n    Größe 😀 ${ v }.\n    Grüße die 😀 Leute.\n", "|\n    Grüße die 😀 Leute.\n    Größe 😀 ${ v }.\n"),
    # The sentence stays one, and its line too.
    ("It is ${ v } or ${ v }. Be kind.", None),
    ("|\n    Be short. Today is ${ v }.\n    - item\n    Be kind.\n", None),
    ('"${- v }. Be kind."', None),  # it would remove the blank before it
)


def edited(text, fix):
    """The text with the edits of a fix; lines and columns count from 1."""
    lines = text.splitlines(keepends=True)
    for e in reversed(fix):
        a, b = (sum(len(one) for one in lines[:e[k + "line"] - 1]) + e[k + "column"] - 1 for k in ("", "end_"))
        text = text[:a] + (e["text"].replace("\n", "\r\n") if "\r\n" in text else e["text"]) + text[b:]
    return text


def test_fixes(pdl, tmp_path):
    for before, after in FIXES:
        whole = NOW + "- role: system\n  text: %s\n- {model: openai/m}\n"
        (tmp_path / "p.pdl").write_text("text:\n" + whole % before, newline="")
        p = subprocess.run([pdl, "check", "--format", "json", "p.pdl"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        rows = [json.loads(line) for line in p.stdout.splitlines() if "prefix-unstable" in line]
        check("it is found", len(rows) == 1, before, p.stdout, p.stderr)
        fix = rows[0].get("fix")
        check("a fix is offered where it is safe", bool(fix) == bool(after), before, fix)
        if after:
            moved = edited("text:\n" + whole % before, fix)
            check("the sentence is last", moved == "text:\n" + whole % after, before, moved)
            p = subprocess.run([pdl, "check", "--fix", "p.pdl"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
            check("--fix leaves it", "prefix-unstable" in p.stdout + p.stderr, p.stdout)
            check("it is mended", not found_in(pdl, tmp_path, moved), moved)
