# SPDX-License-Identifier: Apache-2.0
"""The notebook: its tests in Python with IPython, ipykernel and nbclient, and the example programs with the packages that they need. Then JupyterLab,
driven in Chromium (Debian) through playwright-core (npm). Pictures are left in BUILD/test-logs/notebook. Skipped, with a line that says so, when
these are not available."""
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import urllib.request

import pytest

from python import pdl_build
from .. import browser_of, node_of
from ..harness.choice import Choice
from ..checks import check, skip
from .. import venv_of

HERE = pathlib.Path(__file__).resolve().parent
BUILD = Choice.build
NAMES = ("IPython", "ipykernel", "nbclient", "jupyterlab", "fastapi", "httpx", "pandas", "mypy")
LAB_CHECKS = 8
SETUP = '''%load_ext libpdl.notebook
import time
import libpdl

def slow(request):
    for word in ("one ", "two ", "three"):
        yield word
        time.sleep(0.7)

libpdl.notebook.use(libpdl.Engine(models={"slow": slow}))
print("ready")'''
CELLS = [SETUP,
         "%%pdl\ntext:\n- 'said: '\n- model: slow\n  input: hello",
         "%%pdl --viewer\ndescription: What is said\ntext:\n- 'said: '\n- model: slow\n  input: hello",
         "%%pdl\ndefs: {here: 1}\ntext: ${ nobody }",
         "%%pdl\ntext:\n- started\n- lang: python\n  code: |\n    import time\n    time.sleep(60)\n    result = 1",
         "%%pdl\ndefs:\n  name:\n    read:\n    message: 'Name? '\ntext: Hello ${ name }!",
         "%%pdl\nde"]


def notebook(path):
    """Written by hand: a notebook without a kernel's name opens a dialog."""
    cells = [{"cell_type": "code", "id": "c%d" % i, "metadata": {}, "execution_count": None, "outputs": [], "source": text} for i, text in enumerate(CELLS)]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}}), "utf-8")


def lab_extension(folder):
    for name, what in pdl_build.lab_files().items():
        path = folder / "labextensions" / "libpdl" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(what if isinstance(what, bytes) else what.read_bytes())


def start_lab(python, work):
    """-> (process, address of the notebook)"""
    notebook(work / "cells.ipynb")
    lab_extension(work / "jupyter")
    (work / "config" / "labconfig").mkdir(parents=True)
    (work / "config" / "labconfig" / "page_config.json").write_text(
        '{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true}}', "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "JUPYTER_PATH": str(work / "jupyter"), "JUPYTER_CONFIG_DIR": str(work / "config"),
           "JUPYTER_DATA_DIR": str(work / "data"), "JUPYTER_RUNTIME_DIR": str(work / "runtime"), "IPYTHONDIR": str(work / "ipython")}
    env.pop("NO_COLOR", None)
    log = open(BUILD / "test-logs" / "notebook" / "lab.log", "wb")
    p = subprocess.Popen([python, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--ServerApp.port=%d" % port,
                          "--ServerApp.port_retries=0", "--IdentityProvider.token=t", "--ServerApp.root_dir=%s" % work],
                         env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    end = time.monotonic() + 90
    while time.monotonic() < end and p.poll() is None:
        try:
            urllib.request.urlopen("http://127.0.0.1:%d/api?token=t" % port, timeout=5).read()
            return p, "http://127.0.0.1:%d/lab/tree/cells.ipynb?token=t" % port
        except OSError:
            time.sleep(0.3)
    return p, None


def look(python):
    """What lab.js says of JupyterLab in a browser, a line for each thing that it looked at."""
    os.environ["PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD"] = "1"
    modules, why = node_of.modules(BUILD, "playwright-core@1.65.1")
    browser, none = browser_of.browser()
    if why or not browser:
        skip("JupyterLab in a browser", why or none, LAB_CHECKS)
        return
    pictures = BUILD / "test-logs" / "notebook"
    pictures.mkdir(parents=True, exist_ok=True)
    lab, url = start_lab(python, pathlib.Path(tempfile.mkdtemp()))
    try:
        assert url is not None, "JupyterLab does not start: see %s" % (pictures / "lab.log")
        p = subprocess.run(["node", HERE / "lab.js", url, pictures, browser], capture_output=True, text=True, timeout=400, check=False,
                           env={**os.environ, "NODE_PATH": modules})
    finally:
        lab.terminate()
        lab.wait(30)
    lines = [line for line in p.stdout.splitlines() if re.match("(not )?ok ", line)]
    for line in lines:
        check(line, line.startswith("ok "))
    check("all things were looked at", len(lines) == LAB_CHECKS, p.stdout[-2000:], p.stderr[-2000:])


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1200)
def test_lab():
    python, why = venv_of.python(BUILD, *NAMES, seconds=600, name="test-venv-notebook")
    if why:
        skip("JupyterLab", why, LAB_CHECKS)
    else:
        look(python)
