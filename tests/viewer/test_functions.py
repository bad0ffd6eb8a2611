# SPDX-License-Identifier: Apache-2.0
"""The lines of the code that a call ran, which are elsewhere in the program or in another file."""
import json

from ..checks import check
from .test_view import View, all_boxes, trace_of

FUNCTIONS = """defs:
  twice:
    function: {}
    return: one
text:
- call: ${ twice }
- defs:
    twice:
      function: {}
      return:
        text:
        - two
  call: ${ twice }
- def: third
  function: {}
  return:
    text:
    - three
- call: ${ third }
- call: ${ [third][0] }
"""


def test_functions(folder):
    """The code of a called function: by its name, the nearest of several with that name, not where an expression gives it."""
    v = View(trace_of(folder, "f", FUNCTIONS), "--source", folder / "f.pdl")
    v.open()
    boxes = all_boxes(v)
    lines = [(b["text"], b.get("line")) for b in boxes if not b["n"] and b["kind"] == "data"]
    check("lines of functions", sorted(lines) == [("one", 4), ("three", 18), ("three", 20), ("two", 12)], lines)
    calls = [b["id"] for b in boxes if b["kind"] == "call"]
    inside = [[c.get("line") for c in boxes if c.get("parent") == i and c["kind"] != "function"] for i in calls]
    check("lines of what calls ran", inside == [[4], [11], [17], [20]], inside)
    v.end()
    bomb = "a: &a [x]\n" + "".join("b%d: &b%d [*%s, *%s]\n" % (i, i, p, p) for i, p in [(0, "a")] + [(i, "b%d" % (i - 1)) for i in range(1, 40)])
    (folder / "bomb.pdl").write_text(bomb)
    v = View(folder / "f.json", "--source", folder / "bomb.pdl")
    v.open()
    check("aliases of aliases", v.json("runs")["runs"][0]["boxes"] > 3)
    v.end()


HELD = """\
defs:
  held:
    defs:
      one: {function: {}, return: {data: 1}}
    data: ["${ one }"]
  other:
    defs:
      one: {function: {}, return: {data: 2}}
    data: ["${ one }"]
text:
- ${ other[0]() }
"""


def test_calls_in_expressions(folder):
    """The trace names the place of the body, which the name in an expression does not; a false place leads nowhere."""
    trace = trace_of(folder, "held", HELD)
    for false in (None, "/etc/passwd", 7):
        whole = json.loads(trace.read_text())
        for call in calls_in(whole):
            check("the trace has a place", call["pdl__location"]["table"] == {"": 8}, call)
            call["pdl__location"]["file"] = false or call["pdl__location"]["file"]
        trace.write_text(json.dumps(whole))
        v = View(trace, "--source", folder / "held.pdl")
        v.open()
        lines = [b.get("line") for b in all_boxes(v) if b["kind"] == "data"]
        check("lines of what it ran, %s" % false, (8 in lines) is (false is None), lines)
        check("no other file is read", "root:" not in json.dumps(v.json("0/source")))
        v.end()


def calls_in(block):
    """The calls in expressions that a trace has, in order."""
    if isinstance(block, list):
        return [c for x in block for c in calls_in(x)]
    if not isinstance(block, dict):
        return []
    return block.get("pdl__calls", []) + [c for x in block.values() for c in calls_in(x)]
