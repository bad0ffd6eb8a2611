# SPDX-License-Identifier: Apache-2.0
"""Completes words in `%%pdl` cells after Tab: keys of the language, variables of the notebook and of the program,
functions, filters and tests."""
from __future__ import annotations

import re
from typing import Any, Iterator

from . import _engine

CELL = re.compile(r"\s*%%pdl\b")
NAME = re.compile(r"[^\W\d]\w*$")
# Matches names that a program defines: under defs and def, as loop variables and parameters. Patterns are used because
# the text is still being typed, and may not be valid.
DEFINED = re.compile(r"^\s*(?:-\s+)?def:\s*([^\W\d]\w*)|^(\s*)(?:-\s+)?(defs|for|function):[ \t]*(?:\{([^}\n]*)\}?)?", re.M)
KEY = re.compile(r"[\s{,]*([^\W\d]\w*)\s*:")
# definitions in the schema whose keys are keys of programs
OF_BLOCKS = ("Block", "Configuration", "Config", "BudgetType")
LIBRARY = ("stdlib", "pdl_context", "pdl_scope", "pdl_usage")
_words: dict[str, list[str]] = {}


def _language() -> dict[str, list[str]]:
    """Returns the keys of blocks, the filters, tests and functions from the tables of the library, and the names in stdlib."""
    if not _words:
        engine = _engine.default()
        defs = engine.schema()["$defs"]
        _words["keys"] = sorted({k for name, d in defs.items() if name.endswith(OF_BLOCKS) for k in d.get("properties", {}) if not k.startswith("pdl__") and k.isidentifier()})
        tables = engine._core().builtins()
        for kind in ("Filters", "Tests", "Functions"):
            _words[kind] = sorted(n for n in tables[kind] if n.isidentifier())
        _words["library"] = [n for n, row in engine.run("data: ${ stdlib }").value.items() if not n.startswith("pdl_")]
    return _words


def _defined(text: str) -> Iterator[str]:
    """Yields the names that the text of a program defines."""
    for m in DEFINED.finditer(text):
        name, indent, block, flow = m.groups()
        if name:
            yield name
        elif flow is not None:
            yield from re.findall(r"([^\W\d]\w*)\s*:", flow)
        elif block:
            yield from _below(text[m.end():], len(indent))


def _below(text: str, indent: int) -> Iterator[str]:
    """Yields the keys that are one level deeper than indent, up to the line at which the text returns to that level."""
    level = 0
    for line in text.splitlines()[1:]:
        depth = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        if depth <= indent:
            return
        level = level or depth
        m = KEY.match(line)
        if depth == level and m:
            yield m.group(1)


def _is_expression(before: str) -> bool:
    """Returns true when the cursor is inside of ${ }, {% %} or {{ }}."""
    return max(before.rfind("${"), before.rfind("{%"), before.rfind("{{")) > max(before.rfind("}"), before.rfind("%}"))


def suggest(text: str, before: str, names: "dict[str, Any]") -> list[str]:
    """Returns the words that may follow the cursor. text: the whole program; before: its part before the cursor; names:
    the notebook's variables."""
    language = _language()
    m = NAME.search(before)
    start = m.group(0) if m else ""
    lead = before[:len(before) - len(start)]
    if not _is_expression(lead):
        at_key = re.search(r"(^|\n)[\s-]*$|[{,]\s*$", lead)
        found = [k + ": " for k in language["keys"]] if at_key else []
    elif re.search(r"\|\s*$", lead):
        found = language["Filters"]
    elif re.search(r"\bis\s+(not\s+)?$", lead):
        found = language["Tests"]
    elif lead.endswith("stdlib."):
        found = language["library"]
    elif lead.endswith("."):
        found = []
    else:
        own = {k for k in names if not k.startswith("_") and k.isidentifier()}
        found = sorted({*_defined(text), *own, *LIBRARY, *language["Functions"]})
    return [f for f in found if f.startswith(start)]


def _offset(context: Any) -> int:
    """Returns the offset of the cursor in the text of the cell."""
    lines = context.full_text.splitlines(True)
    return sum(map(len, lines[:context.cursor_line])) + int(context.cursor_position)


def _matcher(shell: Any) -> Any:
    from IPython.core.completer import SimpleCompletion, context_matcher  # type: ignore[import-not-found,unused-ignore]

    @context_matcher(identifier="libpdl")  # type: ignore[untyped-decorator, unused-ignore]
    def match(context: Any) -> dict[str, Any]:
        text = context.full_text
        if not CELL.match(text):
            return {"completions": []}
        end = _offset(context)
        body = text.index("\n") + 1 if "\n" in text else len(text) + 1
        if end < body:
            from .notebook import WORDS
            found = [w for w in WORDS if w.startswith(context.token) and context.token]
            return {"completions": [SimpleCompletion(w, type="option") for w in found], "suppress": bool(found)}
        start = NAME.search(text[body:end])
        fragment = start.group(0) if start else ""
        found = suggest(text[body:], text[body:end], shell.user_ns)
        return {"completions": [SimpleCompletion(w, type="property" if w.endswith(": ") else "variable") for w in found],
                "matched_fragment": fragment, "suppress": True}

    return match


def register(shell: Any) -> None:
    unregister(shell)
    if hasattr(shell.Completer, "custom_matchers"):
        shell.pdl_matcher = _matcher(shell)
        shell.Completer.custom_matchers.append(shell.pdl_matcher)


def unregister(shell: Any) -> None:
    known = getattr(shell, "pdl_matcher", None)
    if known is not None and known in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(known)
