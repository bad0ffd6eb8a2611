# SPDX-License-Identifier: Apache-2.0
"""test_moved.py -- actions whose place in the program has moved, and answers that no request needs any more.

A run parks at its question after it has executed actions; then its program is changed.
"""
import json

import pytest

from ..checks import check
from .kit import Folder, Service


@pytest.fixture(scope="module")
def service():
    return Service(0.001)


COMMAND = "{lang: command, code: \"sh -c 'echo did >> acts; echo one'\"%s}"
PYTHON = "{lang: python, code: \"open('acts', 'a').write('did\\\\n')\\nresult = 'one\\\\n'\"%s}"
ASK = "{read: null, message: \"go? \"}"


def text(*parts, head=""):
    return head + "text:\n" + "".join("- %s\n" % p for p in parts)


FUNCTION = "defs: {f: {function: {}, return: %s}}\n" % (COMMAND % "")
WRITES = "defs: {o: {aggregator: {file: acts, mode: a}}}\n"
NOTE = "{text: did, contribute: [o]}"
# what is recorded, the changed program, the place of before and of now, its result as JSON
MOVED = (
    ("a command", text(COMMAND % "", ASK), text("above", COMMAND % "", ASK), "text.0.code", "text.1.code", '"by hand"'),
    ("a line that is gone", text("above", COMMAND % "", ASK), text(COMMAND % "", ASK), "text.1.code", "text.0.code", '"by hand"'),
    ("code", text(PYTHON % "", ASK), text("above", PYTHON % "", ASK), "text.0.code", "text.1.code", '"by hand"'),
    ("into a branch", text(COMMAND % "", ASK), text("{if: true, then: %s}" % (COMMAND % ""), ASK), "text.0.code", "text.0.if.then.code", '"by hand"'),
    ("in a function", text("{call: \"${ f }\"}", ASK, head=FUNCTION), text("above", "{call: \"${ f }\"}", ASK, head=FUNCTION), "text.0.call.code", "text.1.call.code", '"by hand"'),
    ("behind the question", text(COMMAND % "", ASK), text(ASK, COMMAND % ""), "text.0.code", "text.1.code", '"by hand"'),
    ("out of a function", text("{call: \"${ f }\"}", ASK, head=FUNCTION), text(COMMAND % "", ASK), "text.0.call.code", "text.0.code", '"by hand"'),
    ("into a list", text(COMMAND % "", ASK), text("{lastOf: [%s]}" % (COMMAND % ""), ASK), "text.0.code", "text.0.lastOf.0.code", '"by hand"'),
    ("a write behind a new one", text(NOTE, ASK, head=WRITES), text(NOTE.replace("did", "new"), NOTE, ASK, head=WRITES), "text.0.text", "text.1.text", "null"),
    ("a write", text(NOTE, ASK, head=WRITES), text("above", NOTE, ASK, head=WRITES), "text.0.text", "text.1.text", "null"),
)


def parked(pdl, service, program):
    service.begin()
    f = Folder(pdl, service, program)
    code, out, err = f.run("--durable", "--park", "--id", "r", "main.pdl")
    check("it is parked after it has acted", code == 75 and sum(f.acts().values()) == 1, (code, out, err, f.acts()))
    check("it is answered", f.run("answer", "r", "yes")[0] == 0)
    return f


@pytest.mark.parametrize("title, before, after, was, now, result", MOVED, ids=[m[0].replace(" ", "-") for m in MOVED])
def test_moved(pdl, service, title, before, after, was, now, result):
    f = parked(pdl, service, before)
    (f.path / "main.pdl").write_text(after)
    code, out, err = f.run("resume", "r", "--changed", "fail")
    check("--changed fail stops", code == 1 and "has changed" in err and f.acts()["did"] == 1, (code, out, err))
    code, out, err = f.run("resume", "r")
    check("it is not done again in silence", code == 1 and f.acts()["did"] == 1, (code, out, err, f.acts()))
    check("both places and the ways out are named", all(x in err for x in (was, now, "--again " + was, "--skip " + was)), err)
    code, out, err = f.run("resume", "r", "--skip", "%s=%s" % (was, result))
    check("--skip gives its result", code == 0 and f.acts()["did"] == 1 and ("by hand" in out) == ("by hand" in result), (code, out, err, f.acts()))
    code, out, err = f.run("resume", "r")
    check("then it is recorded where it is now", code == 0 and f.acts()["did"] == 1, (code, out, err))
    f.remove()


def test_again(pdl, service):
    """--again takes the place of before, that of now, and all; what may be repeated is."""
    after = text("above", COMMAND % "", ASK)
    for again in ("text.0.code", "text.1.code", "all"):
        f = parked(pdl, service, text(COMMAND % "", ASK))
        (f.path / "main.pdl").write_text(after)
        code, out, err = f.run("resume", "r", "--again", again)
        check("--again %s" % again, code == 0 and f.acts()["did"] == 2, (code, out, err, f.acts()))
        f.remove()
    f = parked(pdl, service, text(COMMAND % ", idempotent: true", ASK))
    (f.path / "main.pdl").write_text(text("above", COMMAND % ", idempotent: true", ASK))
    code, out, err = f.run("resume", "r")
    check("what is idempotent is done again", code == 0 and f.acts()["did"] == 2, (code, out, err, f.acts()))
    f.remove()


def test_other_branch(pdl, service):
    """Another branch of the program may be the one that did it: no action waits for that in vain, and none stops over it."""
    each = "{for: {i: [0, 1, 2]}, map: {text: [{if: \"${ i == %d }\", then: {read: null, message: 'go? '}}, %s]}}"
    f = Folder(pdl, service, text(each % (0, COMMAND % "")))
    code, _, err = f.run("--durable", "--park", "--id", "r", "main.pdl")
    check("two of three have acted", code == 75 and f.acts()["did"] == 2, (err, f.acts()))
    (f.path / "main.pdl").write_text(text(each % (0, COMMAND % "")) + "# changed\n")
    check("it is answered", f.run("answer", "r", "yes")[0] == 0)
    code, out, err = f.run("resume", "r")
    check("the third is done", code == 0 and f.acts()["did"] == 3, (code, out, err, f.acts()))
    f.remove()


def test_closed_files(pdl, service):
    """A run that parks closes its files; that it does so at another place in the end is no second action."""
    f = parked(pdl, service, text(NOTE, ASK, "end", head=WRITES))
    code, out, _ = f.run("resume", "r", "--dry-run")
    check("nothing is asked", code == 0 and "the same" not in out, out)
    code, out, err = f.run("resume", "r")
    check("it ends", code == 0 and f.acts() == {"did": 1} and "was done before" not in err, (code, out, err))
    f.remove()


def test_left(pdl, service):
    """Every recorded answer that is not reused is in the note, also one whose block is gone."""
    ask = "{model: openai/m, input: %s}"
    acts = COMMAND % ""
    f = parked(pdl, service, text(ask % "one", acts, ask % "two", ASK))
    (f.path / "main.pdl").write_text(text(ask % "one", ASK))
    code, out, err = f.run("resume", "r", "--dry-run")
    check("--check lists them", code == 0 and all(p + ": what was recorded there" in out for p in ("text.1.code", "text.2.model")), (out, err))
    before = f.journal.read_bytes()
    code, out, err = f.run("resume", "r", "--changed", "fail", "-o", "out")
    check("--changed fail stops before anything is printed", code == 1 and "text.1.code" in err and "text.2.model" in err and not out, (code, out, err))
    state = json.loads(f.run("runs", "--json")[1])[0]["state"]
    check("the run waits as it did", state == "waiting", (state, f.journal.read_bytes() == before))
    code, out, err = f.run("resume", "r")
    check("the note lists them", code == 0 and all(p + ": what was recorded there" in err for p in ("text.1.code", "text.2.model")) and
          f.acts()["did"] == 1, (code, out, err))
    f.remove()
