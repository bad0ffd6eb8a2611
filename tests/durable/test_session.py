# SPDX-License-Identifier: Apache-2.0
"""test_session.py -- the objects that code leaves in Python, and resumes: when earlier blocks must run again, and what they then give.

Each program is killed at a command that waits, and is then resumed.
"""
import pytest

from ..checks import check
from .kit import Folder, Service, kill_at_stop
from .kit import STOP as STOP_BLOCK

pytestmark = pytest.mark.memory(False)  # it is Python that works here
STOP = "- %s\n" % STOP_BLOCK.replace("; echo went", "")
HELPER = """
import collections
count = 0
seen = []
table = collections.defaultdict(list)
class Config:
    debug = False
class Box:
    __slots__ = ("x",)
box = Box()
box.x = 1
def counter():
    n = [0]
    def up():
        n[0] += 1
        return n[0]
    return up
up = counter()
def add(x):
    seen.append(x)
    return len(seen)
def keep(x, all=[]):
    all.append(x)
    return all
"""
FILES = {
    "helper.py": HELPER,
    "other.py": "import helper\ndef total():\n    return len(helper.seen)\n",
    "aside.py": "def twice(x):\n    return 2 * x\n",
    "pack/__init__.py": "",
    "pack/inner.py": "value = 1\n",
    "pack/outer.py": "from . import inner\ndef get():\n    return inner.value\n",
}


def code(*lines, more=""):
    return "- {lang: python%s, code: %s}\n" % (more, '"' + "\\n".join(lines).replace('"', '\\"') + '"')


# Title: blocks before the kill, the block behind it, what that prints when everything is there.
NEEDS = {
    "PDL_SESSION": (code("PDL_SESSION.n = 3", "result = ''"), code("result = PDL_SESSION.n"), "3"),
    "a global that is bound anew": (code("import helper", "helper.count = 7", "result = ''"), code("import helper", "result = helper.count"), "7"),
    "a list in a module": (code("import helper", "helper.add('a')", "result = ''"), code("from helper import seen", "result = len(seen)"), "1"),
    "a table in a module": (code("import helper", "helper.table['a'].append(1)", "result = ''"), code("import helper", "result = len(helper.table)"), "1"),
    "an attribute of a class": (code("import helper", "helper.Config.debug = 5", "result = ''"), code("import helper", "result = helper.Config.debug"), "5"),
    "a slot of an object": (code("import helper", "helper.box.x = 4", "result = ''"), code("import helper", "result = helper.box.x"), "4"),
    "a closure": (code("import helper", "helper.up()", "result = ''"), code("import helper", "result = helper.up()"), "2"),
    "a default value": (code("import helper", "helper.keep(1)", "result = ''"), code("import helper", "result = len(helper.keep(2))"), "2"),
    "by another module that was not loaded before": (code("import helper", "helper.add('a')", "result = ''"), code("import other", "result = other.total()"), "1"),
    "a module of a package": (code("import pack.inner", "pack.inner.value = 8", "result = ''"), code("from pack.outer import get", "result = get()"), "8"),
    "by a name that is made up": (code("import helper", "helper.count = 7", "result = ''"),
                                  code("import importlib", "result = importlib.import_module('help' + 'er').count"), "7"),
    "the environment": (code("import os", "os.environ['MINE'] = 'm'", "result = ''"), code("import os", "result = os.environ['MINE']"), "m"),
    "a builtin": (code("import builtins", "builtins.mine = 9", "result = ''"), code("result = mine"), "9"),
    "code that failed": ("- {lang: python, code: \"import helper\\nhelper.count = 7\\n1/0\", fallback: \"\"}\n", code("import helper", "result = helper.count"), "7"),
    "an object": (code("class C: x = 6", "result = C()", more=", def: o, contribute: []"), "- \"${ o.x }\"\n", "6"),
}
FREE = {
    "another module": (code("import helper", "helper.add('a')", "result = ''"), code("import aside", "result = aside.twice(4)"), "8"),
    "modules of the library": (code("import helper, json, re, random, collections", "helper.add(re.sub('a', 'b', 'a'))", "result = ''"),
                               code("import json, collections", "result = json.dumps(3)"), "3"),
    "a module that nobody changed": (code("import helper, tempfile", "tempfile.gettempdir()", "result = len(helper.seen)"), code("import helper, tempfile", "result = helper.count"), "00"),
    "no module": (code("import helper", "helper.add('a')", "result = ''"), code("result = 5"), "5"),
}


def killed(pdl, program):
    """A folder with a run that was killed where it waits, which may now go on."""
    service = Service(0.001)
    f = Folder(pdl, service, program)
    f.service = service
    for name, text in FILES.items():
        (f.path / name).parent.mkdir(exist_ok=True)
        (f.path / name).write_text(text)
    kill_at_stop(f)
    return f


@pytest.mark.parametrize("title", NEEDS)
def test_needs(pdl, title):
    before, behind, printed = NEEDS[title]
    f = killed(pdl, "text:\n" + before + STOP + behind)
    status, out, err = f.run("resume", "r")
    check(title + ": earlier blocks must run again", status == 1 and "--rebuild" in err, (status, out, err))
    status, out, err = f.run("resume", "r", "--rebuild")
    check(title + ": with --rebuild they do", status == 0 and out == printed + "\n", (status, out, err))
    status, out, err = f.run("resume", "r")
    check(title + ": it ended", status == 0 and out == printed + "\n", (status, out, err))


@pytest.mark.parametrize("title", FREE)
def test_free(pdl, title):
    before, behind, printed = FREE[title]
    f = killed(pdl, "text:\n" + before + STOP + behind)
    status, out, err = f.run("resume", "r")
    check(title + ": nothing runs again", status == 0 and out == printed + "\n", (status, out, err))


def test_calls_back(pdl):
    program = ("defs:\n  ask: {function: {x: string}, return: {model: openai/m, input: \"${ x }\"}}\ntext:\n"
               + code("PDL_SESSION.got = str(ask(x='called'))", "open('acts', 'a').write('ran\\\\n')", "result = ''") + STOP + code("result = PDL_SESSION.got"))
    f = killed(pdl, program)
    status, out, err = f.run("resume", "r", "--rebuild")
    check("calls back into the program are answered from the journal", status == 0 and out == "CALLED \n" and f.service.asked["called"] == 1,
               (status, out, err, f.service.asked))
    check("the code ran again", f.acts()["ran"] == 2, f.acts())


def test_differs(pdl):
    f = killed(pdl, "text:\n" + code("PDL_SESSION.n = 1", "result = open('value').read()").replace("open('value')", "open('helper.py')")
                    + STOP + code("result = PDL_SESSION.n"))
    (f.path / "helper.py").write_text("other text")
    status, out, err = f.run("resume", "r", "--rebuild")
    check("another result is an error with both values", status == 1 and "other text" in err and "collections" in err and "text.0.code" in err, (status, out, err))
