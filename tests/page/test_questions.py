# SPDX-License-Identifier: Apache-2.0
"""Questions of a person about a run, each answered with a few keys. The pictures are those of the manual."""
import pytest

from ..harness.choice import ROOT
from .browse import View, check, mock, picture, trace_of

WINDOW = {"viewport": {"width": 1280, "height": 800}}
CODE = """description: The mean of three measurements
text:
- "The mean is "
- def: mean
  lang: python
  code: |
    values = [18.5, 21.0, 19.4]
    print("checked", len(values), "values")
    result = round(sum(values) / len(values), 2)
- " degrees.\\n"
"""
ROWS = """description: A line about each city
defs:
  cities:
    data: [Athens, Berlin, Cairo, Dublin, Edinburgh, Florence, Geneva, Helsinki, Istanbul, Jakarta, Kyoto, Lisbon, Madrid, Naples, Oslo, Porto]
  lines:
    for: {city: "${ cities }"}
    map: {model: openai/upper, input: "A line about ${ city }."}
    join: {as: array}
text: "${ lines | length } lines, the first: ${ lines[0] }\\n"
"""
ROUNDS = """description: A countdown
text:
- for: {n: "${ range(194, 0, -1) | list }"}
  repeat: "Still ${ n } seconds.\\n"
- "Lift off.\\n"
"""
QUIET = """description: Who sees what
text:
- role: system
  content: You are terse.
  contribute: [context]
- "Question: what is a bee?\\n"
- contribute: [context]
  text: "Bees are insects that live in colonies.\\n"
- model: openai/upper
- contribute: [result]
  text: "\\n(That was all.)\\n"
"""


@pytest.fixture
def model(monkeypatch):
    """Programs of the test ask a mock."""
    with mock() as env:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.setenv(name, env[name])
        yield


ORDER = """description: An order that cannot be filled
defs:
  line:
    function: {item: string, n: integer}
    return: "${ {'tea': 3, 'cake': 4}[item] * n }"
text:
- "Order: 2 teas and 1 pie\\n"
- "2 tea: "
- {call: "${ line }", args: {item: tea, n: 2}}
- "\\n1 pie: "
- {call: "${ line }", args: {item: pie, n: 1}}
"""


def view_of(trace):
    return View(trace, "--source", trace.with_suffix(".pdl"))


def test_code(b, folder):
    """One press: what code returned, beside its source."""
    v = view_of(trace_of(folder, "mean", CODE))
    b.read(v.address, WINDOW)
    b.click(".paper .piece[data-maker=code]")
    b.wait(".sent")
    opened = b.text(".sent")
    b.shot(picture("document-code"))
    out = b.run()
    v.end()
    check("the result and the source", all(x in out[opened] for x in ("19.63", "result = round(")), out[opened])


def test_calls(b, folder, model):
    """One press: where time and money went. A map is a table; what was sent for a row is one press more."""
    v = view_of(trace_of(folder, "cities", ROWS))
    b.read(v.address, WINDOW)
    b.wait("#document .grid tbody tr")
    cells = b.texts("#document .grid tbody tr:first-child td")
    b.shot(picture("document-map"))
    b.click("#totals button:has-text('tokens')")
    b.wait("#calls tbody tr")
    calls = b.count("#calls tbody tr")
    b.shot(picture("document-calls"))
    out = b.run()
    v.end()
    check("a row has its variable and its result", "Athens" in out[cells] and any("A LINE ABOUT ATHENS." in x for x in out[cells]), out[cells])
    check("a line for each call", out[calls] == 16, out[calls])


def test_rounds(b, folder):
    """Two presses: a number, and Enter."""
    v = view_of(trace_of(folder, "countdown", ROUNDS))
    b.read(v.address, WINDOW)
    b.fill("#document .between input", "137")
    b.press("Enter")
    b.wait(".round .n:text-is('137')")
    said = b.text(".round:has(.n:text-is('137')) .round-text")
    b.shot(picture("document-rounds"))
    out = b.run()
    v.end()
    check("round 137", out[said].strip() == "Still 58 seconds.", out[said])


def test_quiet(b, folder, model):
    """No press to know, one to read: what the model saw and the person did not."""
    v = view_of(trace_of(folder, "quiet", QUIET))
    b.read(v.address, WINDOW)
    lines = b.texts("#document .quiet")
    b.click("#document .quiet >> nth=1")
    read = b.texts("#document .quiet-text")
    b.shot(picture("document-quiet"))
    out = b.run()
    v.end()
    check("two quiet lines", len(out[lines]) == 2 and "System" in out[lines][0] and "not printed" in out[lines][1], out[lines])
    check("its text", "live in colonies" in out[read][1], out[read])


def test_failure(b, folder):
    """No press: what failed, and with which values."""
    v = view_of(trace_of(folder, "order", ORDER))
    b.read(v.address, WINDOW)
    fault = b.text("#document .fault")
    b.shot(picture("document-failed"))
    out = b.run()
    v.end()
    check("the message, the line and the values", all(x in out[fault] for x in ("Failed: 'dict object' has no attribute 'pie'", "order.pdl, line 5", "item")), out[fault])


def test_phone(b):
    """The document of an agent, on a phone."""
    v = View("patterns/team.journal", "--source", "patterns/team.pdl", folder=ROOT / "examples")
    b.read(v.address, {"viewport": {"width": 390, "height": 844}})
    said = b.text("#document .paper")
    wide = b.evaluate("document.documentElement.scrollWidth")
    b.shot(picture("document-phone"))
    out = b.run()
    v.end()
    check("the text, and nothing beside the screen", "Rome shines." in out[said] and out[wide] <= 390, (out[said], out[wide]))
