# SPDX-License-Identifier: Apache-2.0
"""Each provider that speaks OpenAI's protocol has what the recipe for a provider demands. It has a row in docs/spec/providers.md, 4.1 or 4.2, whose
address and key variables agree with docs/providers.md, which is made from the table of the sources. It also has an exchange when it has a
peculiarity."""
import json
import re

from ..checks import check
from ..harness.choice import ROOT

SPECIAL = re.compile(r'\{"([\w-]+)",[^{}]*CHAT,\s*([^{}]*PDL_Q_[^{}]*)\}')
ROW = re.compile(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \| (.*?) \| openai \|", re.M)


def prefixes(part):
    """prefix -> its rows in a part of the page"""
    found = {}
    for line in re.findall(r"^\| .*", part, re.M):
        for prefix in re.findall(r"[\w-]+", re.sub(r"\(.*?\)", "", line.split("|")[1])):
            found.setdefault(prefix, []).append(line)
    return found


def test_rows_of_the_specification():
    text = (ROOT / "docs/spec/providers.md").read_text("utf-8")
    spec = prefixes(text[text.index('<a id="4.1">'):text.index('<a id="4.3">')])
    rows = ROW.findall((ROOT / "docs/providers.md").read_text("utf-8"))
    check("docs/providers.md has providers", len(rows) > 80, len(rows))
    for prefix, address, _, keys in rows:
        own = spec.get(prefix, [])
        if not check("docs/spec/providers.md, 4.1 or 4.2, has a row of %s" % prefix, own):
            continue
        wanted = [re.sub(r"\$\{(\w+)\}", r"<\1>", a) for a in re.findall(r"`(\w+://[^`]+)`", address)] + re.findall(r"[A-Z0-9_]{4,}", keys)
        for line in own:
            check("docs/spec/providers.md, %s: address and keys are those of model/providers.c" % prefix, all(w in line for w in wanted), wanted, line)


def special_rows():
    return dict(SPECIAL.findall((ROOT / "src/world/model/providers.c").read_text("utf-8")))


def test_special_providers_are_main_providers():
    """4.2 lists what has an address and a key and nothing else, so the row of a special one says in 4.1 what is special."""
    text = (ROOT / "docs/spec/providers.md").read_text("utf-8")
    further = prefixes(text[text.index('<a id="4.2">'):text.index('<a id="4.3">')])
    check("docs/spec/providers.md, 4.2, has providers", len(further) > 40, len(further))
    for prefix, special in special_rows().items():
        check("docs/spec/providers.md: the row of %s, which has %s, is in 4.1 and not in 4.2" % (prefix, special.strip()), prefix not in further)


def test_special_providers_have_an_exchange():
    rows = special_rows()
    check("providers.c has rows with PDL_Q_", len(rows) > 20 and "PDL_Q_FLAT" in rows.get("deepseek", ""), len(rows))
    calls = [json.loads(p.read_text("utf-8")).get("call", {}) for p in (ROOT / "tests/conformance/providers").glob("*.json")]
    seen = {c.get("model", "").split("/")[0] for c in calls}
    for prefix in sorted(rows):
        check("tests/conformance/providers has an exchange of %s, which has %s" % (prefix, rows[prefix].strip()), prefix in seen)
