# SPDX-License-Identifier: Apache-2.0
"""browse.py -- what tests of the Live Document in a real browser share: Chromium, driven by playwright-core (page.mjs). Pictures are left in BUILD/pictures."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from checks import check, finish  # noqa: E402
import node_of  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
PDL = str(BUILD / "pdl")
PICTURES = BUILD / "pictures"


def trace_of(folder, name, program, *flags):
    (folder / (name + ".pdl")).write_text(program)
    subprocess.run([PDL, *flags, str(folder / (name + ".pdl")), "--trace=" + str(folder / (name + ".json"))], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return folder / (name + ".json")


class View:
    def __init__(self, *args, folder=None, env=None):
        """Files of one folder are named as there: their names are in the pictures of the manual."""
        folder = folder or pathlib.Path(args[0]).parent
        names = [a.name if isinstance(a, pathlib.Path) and a.parent == folder else str(a) for a in args]
        self.p = subprocess.Popen([PDL, "view", *names], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.address = self.p.stdout.readline().strip()

    def end(self):
        self.p.terminate()
        self.p.wait(10)


class Browser:
    """Steps are collected by calls and run at once; `run` gives what each gave."""

    def __init__(self, modules, chromium, folder):
        self.modules, self.chromium, self.folder, self.steps = modules, chromium, folder, []

    def __getattr__(self, word):
        return lambda *args: self.steps.append([word, *args]) or len(self.steps) - 1

    def run(self):
        file = self.folder / "steps.json"
        file.write_text(json.dumps({"modules": self.modules, "chromium": self.chromium, "steps": self.steps}))
        self.steps = []
        r = subprocess.run(["node", str(ROOT / "tests/page/page.mjs"), str(file)], capture_output=True, text=True, timeout=180)
        if r.returncode:
            raise RuntimeError(r.stderr[-800:])
        out = json.loads(r.stdout)
        for x in out:
            if isinstance(x, dict) and "failed" in x:
                check("step", False, x["failed"])
        return out


def picture(name):
    return str(PICTURES / (name + ".png"))


def main(tests):
    modules, why = node_of.modules(BUILD, "playwright-core@1.49.0", "axe-core@4.10.2")
    chromium = shutil.which("chromium")
    if not modules or not chromium:
        print("SKIP the browser: %s" % (why or "there is no chromium"))
        print("0 passed, 0 failed, 1 skipped")
        return 0
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as t:
        for test in tests:
            folder = pathlib.Path(t) / test.__name__
            folder.mkdir()
            test(Browser(modules, chromium, folder), folder)
    return finish()
