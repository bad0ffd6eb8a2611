# SPDX-License-Identifier: Apache-2.0
"""The playground in a real browser (playground.test.mjs): the folder that packaging/playground makes, over HTTP."""
import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading

import pytest

from .. import browser_of, node_of
from ..checks import check, skip
from ..harness.choice import Choice, ROOT

ABSENT = 77
MODULES = ("playwright-core@1.49.0", "axe-core@4.10.2")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def made(command):
    """Runs a tool that makes a part; skips with its word where it has to fetch something and may not."""
    p = subprocess.run([sys.executable, *command, *([] if Choice.fetch else ["--no-fetch"])], cwd=ROOT, text=True, capture_output=True, timeout=1500, check=False)
    if p.returncode == ABSENT:
        skip("the playground", p.stdout.strip())
        pytest.skip(p.stdout)
    assert p.returncode == 0, p.stdout + p.stderr


@pytest.fixture(scope="module")
def playground(tmp_path_factory):
    """The folder, made from what is there."""
    if not shutil.which("node"):
        skip("the playground", "there is no node")
        pytest.skip("there is no node")
    folder = tmp_path_factory.mktemp("playground") / "site"
    made([ROOT / "packaging/wasm/make-wasm"])
    made([ROOT / "packaging/playground/make-playground", "--out", folder])
    return folder


@contextlib.contextmanager
def served(folder):
    """-> the address of a folder"""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield "http://127.0.0.1:%d" % server.server_port
    server.shutdown()


def in_chromium(folder, steps):
    modules, why = node_of.modules(Choice.build, *MODULES)
    chromium, none = browser_of.browser()
    if not modules or not chromium:
        skip("the playground in a browser", why or none)
        pytest.skip("there is no browser")
    pictures = Choice.build / "pictures"
    pictures.mkdir(exist_ok=True)
    with served(folder) as address:
        p = subprocess.run(["node", str(ROOT / "tests/playground" / steps)], capture_output=True, text=True, timeout=400, check=False,
                           env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "PDL_PLAYGROUND": address, "PDL_MODULES": modules,
                                "PDL_CHROMIUM": chromium, "PDL_PICTURES": str(pictures)})
    check("people can use it", p.returncode == 0, p.stdout[-8000:], p.stderr[-2000:])


@pytest.mark.builds
def test_in_chromium(playground):
    in_chromium(playground, "playground.test.mjs")


@pytest.mark.builds
@pytest.mark.seconds(400)
def test_python_in_chromium(playground, tmp_path):
    folder = tmp_path / "site"
    made([ROOT / "packaging/playground/make-playground", "--python", "--out", folder])
    if not (folder / "pyodide").is_dir():
        skip("Python in the playground", "there is no pyodide")
        pytest.skip("there is no pyodide")
    in_chromium(folder, "python.test.mjs")


@pytest.mark.builds
def test_one_folder(playground):
    """Nothing in it names another place, and its parts are of a size that loads at once."""
    names = {f.name for f in playground.iterdir()}
    check("the parts", {"index.html", "view.html", "app.js", "worker.js", "libpdl.wasm", "examples.json", "LICENSE", "page"} <= names, sorted(names))
    html = (playground / "index.html").read_text("utf-8")
    for source in [w.split('"')[0] for word in ('src="', 'href="') for w in html.split(word)[1:]]:
        check("%s is in the folder" % source, source.startswith("data:") or (playground / source).is_file(), source)
    check("app.js is small", (playground / "app.js").stat().st_size < 600_000, (playground / "app.js").stat().st_size)
