#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_session.py -- what code leaves in Python, and resumes: when earlier blocks must run again, and what they give then.

    test_session.py BUILD_DIR

Each program is killed at a command that waits, and resumed. Last line: `N passed, N failed`.
"""
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks  # noqa: E402
import kit  # noqa: E402
from kit import Folder, Service  # noqa: E402

SECONDS = 60
STOP = "- {lang: command, code: \"sh -c 'touch here; while [ -e here ] && [ ! -e go ]; do sleep 0.02; done'\", idempotent: true}\n"
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


class Test(Checks):
    def __init__(self, build):
        self.build = build
        self.service = Service(0.001)

    def killed(self, program, *args):
        self.service.begin()
        f = Folder(self.build + "/pdl", self.service, "p", program)
        for name, text in FILES.items():
            (f.path / name).parent.mkdir(exist_ok=True)
            (f.path / name).write_text(text)
        p = f.start(["--durable", "--id", "r", *args, "main.pdl"])
        end = time.monotonic() + SECONDS
        while not (f.path / "here").exists() and time.monotonic() < end:
            time.sleep(0.01)
        f.kill(p)
        out, err = p.communicate(timeout=SECONDS)
        self.check("it is killed where it waits", p.returncode == -signal.SIGKILL, (program, p.returncode, out, err))
        (f.path / "go").touch()
        return f

    def needs(self):
        for title, (before, behind, printed) in NEEDS.items():
            f = self.killed("text:\n" + before + STOP + behind)
            status, out, err = f.run("resume", "r")
            self.check(title + ": earlier blocks must run again", status == 1 and "--rebuild" in err, (status, out, err))
            status, out, err = f.run("resume", "r", "--rebuild")
            self.check(title + ": with --rebuild they do", status == 0 and out == printed + "\n", (status, out, err))
            status, out, err = f.run("resume", "r")
            self.check(title + ": it ended", status == 0 and out == printed + "\n", (status, out, err))
            f.remove()

    def free(self):
        for title, (before, behind, printed) in FREE.items():
            f = self.killed("text:\n" + before + STOP + behind)
            status, out, err = f.run("resume", "r")
            self.check(title + ": nothing runs again", status == 0 and out == printed + "\n", (status, out, err))
            f.remove()

    def calls_back(self):
        program = ("defs:\n  ask: {function: {x: string}, return: {model: openai/m, input: \"${ x }\"}}\ntext:\n"
                   + code("PDL_SESSION.got = str(ask(x='called'))", "open('acts', 'a').write('ran\\\\n')", "result = ''") + STOP + code("result = PDL_SESSION.got"))
        f = self.killed(program)
        status, out, err = f.run("resume", "r", "--rebuild")
        self.check("calls back into the program are answered from the journal", status == 0 and out == "CALLED \n" and self.service.asked["called"] == 1,
                   (status, out, err, self.service.asked))
        self.check("the code ran again", f.acts()["ran"] == 2, f.acts())
        f.remove()

    def differs(self):
        f = self.killed("text:\n" + code("PDL_SESSION.n = 1", "result = open('value').read()").replace("open('value')", "open('helper.py')")
                        + STOP + code("result = PDL_SESSION.n"))
        (f.path / "helper.py").write_text("other text")
        status, out, err = f.run("resume", "r", "--rebuild")
        self.check("another result is an error with both values", status == 1 and "other text" in err and "collections" in err and "text.0.code" in err, (status, out, err))
        f.remove()

    def run(self):
        for part in (self.needs, self.free, self.calls_back, self.differs):
            part()


if __name__ == "__main__":
    sys.exit(kit.main(Test))
