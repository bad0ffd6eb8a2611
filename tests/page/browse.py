# SPDX-License-Identifier: Apache-2.0
"""The helpers of the tests of the Live Document in a real browser: Chromium, driven by playwright-core (page.mjs). Pictures are left in
BUILD/pictures."""
import contextlib
import json
import os
import pathlib
import re
import subprocess

from .. import browser_of, node_of
from ..checks import check, skip
from ..harness.choice import Choice, ROOT

BUILD = Choice.build
PDL = str(BUILD / "pdl")
PICTURES = BUILD / "pictures"


def trace_of(folder, name, program, *flags):
    (folder / (name + ".pdl")).write_text(program)
    subprocess.run([PDL, *flags, str(folder / (name + ".pdl")), "--trace=" + str(folder / (name + ".json"))], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return folder / (name + ".json")


@contextlib.contextmanager
def mock(*options):
    """-> the environment of a program whose models a mock answers."""
    p = subprocess.Popen([PDL, "mock", *options, "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield {**os.environ, "OPENAI_API_KEY": "mock", "OPENAI_BASE_URL": re.search(r"http:\S+", p.stdout.readline()).group(0)}
    finally:
        p.terminate()
        p.wait(20)
        p.stdout.close()


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

    def open(self, url, *options):
        """The page with the boxes of the run."""
        self.steps.append(["open", url if "#" in url else url + "#boxes", *options])
        return len(self.steps) - 1

    def read(self, url, *options):
        """The page as it opens: the document of the run."""
        self.steps.append(["open", url, *options])
        return len(self.steps) - 1

    def __getattr__(self, word):
        return lambda *args: self.steps.append([word, *args]) or len(self.steps) - 1

    def run(self):
        file = self.folder / "steps.json"
        file.write_text(json.dumps({"modules": self.modules, "chromium": self.chromium, "steps": self.steps}))
        self.steps = []
        r = subprocess.run(["node", str(ROOT / "tests/page/page.mjs"), str(file)], capture_output=True, text=True, timeout=600)
        if r.returncode:
            raise RuntimeError(r.stderr[-800:])
        out = json.loads(r.stdout)
        for x in out:
            if isinstance(x, dict) and "failed" in x:
                check("step", False, x["failed"])
        return out


def picture(name):
    return str(PICTURES / (name + ".png"))


def browser(folder):
    """-> a Browser, or None where there is none, which is said."""
    modules, why = node_of.modules(BUILD, "playwright-core@1.49.0", "axe-core@4.10.2")
    chromium, none = browser_of.browser()
    if not modules or not chromium:
        skip("the browser", why or none)
        return None
    PICTURES.mkdir(exist_ok=True)
    return Browser(modules, chromium, folder)
