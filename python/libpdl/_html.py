# SPDX-License-Identifier: Apache-2.0
"""A trace as a page of nested boxes, for notebooks: plain HTML that opens with a click and needs no script and no network."""
from __future__ import annotations

import html
import json
from typing import Any, Iterator

MOST_BOXES = 2000
DEEPEST = 60
SHORT = 120  # characters of a result in its heading
LONG = 20000  # and inside
OPEN_LEVELS = 1
# Not shown as a field of its own: what the heading or the inside has anyway, and what only programs need.
QUIET = frozenset(("kind", "description", "defs", "context", "expectations", "def", "contribute", "platform", "role", "spec", "fallback", "retry",
                   "until", "while", "join", "trace_error_on_retry"))
COLORS = {"model": "#d7fae0", "code": "#fad7e1", "call": "#cdf7c4", "function": "#cdf7d8", "text": "#dbd7fa", "data": "#d3e0fb", "if": "#fbd5e2",
          "match": "#fbd5e2", "repeat": "#fbeec6", "map": "#fbeec6", "read": "#fbd9df", "include": "#fde0dd", "import": "#fde0dd", "get": "#d9f5f9",
          "error": "#ffb3b3", "message": "#e3e3e3"}
STYLE = """<style>
.pdl-run details{border-radius:4px;margin:3px 0;padding:2px 6px;border:1px solid #0002;color:#111}
.pdl-run summary{cursor:pointer;white-space:pre-wrap;overflow-wrap:anywhere}
.pdl-run summary b{font:600 11px sans-serif;color:#444;margin-right:.5em}
.pdl-run summary i{font:11px sans-serif;color:#666;margin-right:.5em}
.pdl-run pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#fff9;color:#111;margin:2px 0;padding:4px;font-size:12px}
.pdl-run table{margin:2px 0!important;border:none!important}
.pdl-run tr,.pdl-run td{background:none!important}
.pdl-run td{vertical-align:top!important;text-align:left!important;font-size:12px;padding:0 8px 0 0!important;color:#111}
%s
</style>""" % "".join(".pdl-run .pdl-%s{background:%s}" % row for row in COLORS.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "\u2026"


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and "kind" in value and "pdl__id" in value


def _blocks_in(value: Any) -> Iterator[dict[str, Any]]:
    """The nearest blocks inside of a value, in order."""
    waiting = [value]
    while waiting:
        v = waiting.pop()
        if _is_block(v):
            yield v
        elif isinstance(v, dict) and "pdl__expr" not in v:
            waiting.extend(reversed(list(v.values())))
        elif isinstance(v, list):
            waiting.extend(reversed(v))


def _children(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "pdl__trace" in block:
        yield from _blocks_in(block["pdl__trace"])
        return
    for key, value in block.items():
        if not key.startswith("pdl__") and not (block["kind"] == "function" and key == "return"):
            yield from _blocks_in(value)


def _fields(block: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is known of a block besides its parts and its result."""
    yield "place", str(block["pdl__id"])
    for key, value in block.items():
        if isinstance(value, dict) and "pdl__expr" in value:
            source, result = _text(value["pdl__expr"]), _text(value.get("pdl__result"))
            yield key, source if source == result else "%s \u2192 %s" % (source, result)
        elif key == "lang" or (isinstance(value, str) and key not in QUIET and not key.startswith("pdl__")):
            yield key, _text(value)
        elif key == "pdl__usage" and value:
            yield "usage", _text(value)
    times = block.get("pdl__timing")
    if isinstance(times, dict) and times.get("end_nanos"):
        yield "time", "%.1f ms" % ((times["end_nanos"] - times["start_nanos"]) / 1e6)


class Writer:
    """Writes boxes, at most MOST_BOXES of them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.n = 0

    def box(self, block: dict[str, Any], level: int) -> None:
        self.n += 1
        if self.n > MOST_BOXES or level > DEEPEST:
            return
        kind, put = str(block["kind"]), self.parts.append
        children = list(_children(block))
        result = _text(block.get("pdl__result", ""))
        name = "<i>%s =</i>" % html.escape(str(block["def"])) if block.get("def") else ""
        note = "<i>%s</i>" % html.escape(_cut(str(block["description"]), SHORT)) if block.get("description") else ""
        put('<details class="pdl-%s"%s><summary><b>%s</b>%s%s%s</summary>' % (
            html.escape(kind), " open" if children and level < OPEN_LEVELS else "", html.escape(kind), note, name,
            html.escape(_cut(result, SHORT))))
        put("<table>%s</table>" % "".join(
            "<tr><td>%s</td><td><pre>%s</pre></td></tr>" % (html.escape(k), html.escape(_cut(v, LONG))) for k, v in _fields(block)))
        for child in children:
            self.box(child, level + 1)
        if len(result) > SHORT or "\n" in result:
            put("<pre>%s</pre>" % html.escape(_cut(result, LONG)))
        put("</details>")


def page(trace: dict[str, Any]) -> str:
    """The boxes of a trace."""
    writer = Writer()
    for block in _blocks_in(trace):
        writer.box(block, 0)
    if writer.n > MOST_BOXES:
        writer.parts.append("<p>... and %d blocks or more; the trace has all of them</p>" % (writer.n - MOST_BOXES))
    return '%s<div class="pdl-run">%s</div>' % (STYLE, "".join(writer.parts))
