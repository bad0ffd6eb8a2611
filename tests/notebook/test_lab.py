#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_lab.py BUILD -- the notebook: its tests in Python with IPython, ipykernel and nbclient, and the example
programs with the packages that they need; then JupyterLab, driven in Chromium (Debian) through
playwright-core (npm). Pictures of what was seen are in BUILD/test-logs/notebook. Skipped, with a line that says so, where these cannot be had."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent), str(ROOT / "python")]
import node_of  # noqa: E402
import pdl_build  # noqa: E402
import venv_of  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
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


def in_browser(python):
    """-> (passed, failed, skipped)"""
    browser = shutil.which("chromium")
    if not browser:
        print("skipped: there is no chromium")
        return 0, 0, LAB_CHECKS
    os.environ["PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD"] = "1"
    modules, why = node_of.modules(BUILD, "playwright-core@1.65.1")
    if why:
        print("skipped: " + why)
        return 0, 0, LAB_CHECKS
    pictures = BUILD / "test-logs" / "notebook"
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pdl_lab_") as work:
        lab, url = start_lab(python, pathlib.Path(work))
        try:
            if url is None:
                print("FAIL JupyterLab does not start: see %s" % (pictures / "lab.log"))
                return 0, 1, 0
            p = subprocess.run(["node", HERE / "lab.js", url, pictures, browser], capture_output=True, text=True, timeout=400, check=False,
                               env={**os.environ, "NODE_PATH": modules})
        finally:
            lab.terminate()
            lab.wait(30)
    if os.environ.get("PDL_SHOW_TIMES"):
        print(p.stdout)
    bad = [line for line in p.stdout.splitlines() if line.startswith("not ok")]
    good = len(re.findall(r"^ok ", p.stdout, re.M))
    for line in bad:
        print("FAIL " + line[7:])
    if good + len(bad) != LAB_CHECKS:
        print("FAIL %d of %d things were looked at\n%s%s" % (good + len(bad), LAB_CHECKS, p.stdout[-2000:], p.stderr[-2000:]))
        return good, len(bad) + 1, 0
    return good, len(bad), 0


def main():
    python, why = venv_of.python(BUILD, *NAMES, seconds=600, name="test-venv-notebook")
    if why:
        print("skipped: %s\n0 passed, 0 failed, %d skipped" % (why, LAB_CHECKS + 1))
        return 0
    p = subprocess.run([python, ROOT / "python" / "tests" / "run.py", BUILD, "test_notebook", "test_examples", "test_more.Pages"], capture_output=True, text=True, timeout=600, check=False)
    counts = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", p.stdout, re.M)
    if not counts or p.returncode:
        print(p.stdout[-6000:] + p.stderr[-3000:])
    passed, failed, skipped = (int(x or 0) for x in counts[-1]) if counts else (0, 1, 0)
    if passed:
        more = in_browser(python)
        passed, failed, skipped = passed + more[0], failed + more[1], skipped + more[2]
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
