# SPDX-License-Identifier: Apache-2.0
"""The notebooks of the reference's source distribution, unmodified. nbclient executes them over libpdl-compat and a model on the loopback interface.
They are fetched by package name, and never kept in the repository. Skipped, with a line that says so, when they are not available."""
import http.server
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import pytest

from .. import venv_of
from ..checks import check, skip
from ..harness.choice import Choice, ROOT

BUILD = Choice.build
ANSWER = "An answer of the loopback model."
# Notebook: how many of its cells must show an answer of the model. What is not there (platform granite-io, wikipedia) prints a message.
NOTEBOOKS = {"pdl": 3, "notebook_debug": 1, "notebook": 2, "demo": 3, "granite_io_demo": 0}
NAMES = ("IPython", "ipykernel", "nbclient", "textdistance")
EXECUTE = """
import json, sys
import nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, kernel_name="python3", timeout=120).execute(cwd=sys.argv[2])
texts = []
for cell in book.cells:
    if cell.cell_type == "code":
        texts.append("".join(o.get("text", "") + o.get("data", {}).get("text/html", "") for o in cell.outputs))
print(json.dumps(texts))
"""


class Replicate(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        data = json.dumps({"id": "p1", "status": "succeeded", "output": [ANSWER], "urls": {}}).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *unused):
        pass


def reference():
    """The folder of the distribution, or None and why it is not there, by the tool that runs its tests."""
    loader = importlib.machinery.SourceFileLoader("reference_tests", str(ROOT / "tools" / "reference-tests"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(tool)
    try:
        return tool.fetch("0.9.3"), None
    except tool.Unreachable as e:
        return None, str(e)


def environment(work, port):
    """Nothing is installed by `! pip install`, and the model is the one here."""
    pip = work / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text("#!/bin/sh\necho nothing is installed\n", "utf-8")
    pip.chmod(0o755)
    return {**os.environ, "PATH": "%s:%s" % (pip.parent, os.environ["PATH"]), "REPLICATE_API_BASE": "http://127.0.0.1:%d" % port, "REPLICATE_API_KEY": "k",
            "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:9/v1", "OLLAMA_API_BASE": "http://127.0.0.1:9", "IPYTHONDIR": str(work / "ipython"),
            "PYTHONPATH": "%s:%s" % (BUILD / "python", BUILD / "python-compat")}


@pytest.mark.builds
@pytest.mark.seconds(1800)
def test_notebooks():
    python, why = venv_of.python(BUILD, *NAMES, seconds=600, name="test-venv-notebook")
    source, absent = reference()
    if not (BUILD / "python-compat").is_dir():
        why = why or "the package is not built"
    if why or absent:
        skip("notebooks of the reference", why or absent, len(NOTEBOOKS))
        return
    work = pathlib.Path(tempfile.mkdtemp())
    shutil.copytree(source / "examples" / "notebooks", work / "notebooks")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replicate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = environment(work, server.server_address[1])
    for name, wanted in NOTEBOOKS.items():
        p = subprocess.run([python, "-c", EXECUTE, work / "notebooks" / (name + ".ipynb"), work / "notebooks"], capture_output=True, text=True, env=env,
                           timeout=600, check=False)
        texts = json.loads(p.stdout.splitlines()[-1]) if p.returncode == 0 else []
        shown = sum(ANSWER in re.sub("\x1b[^m]*m", "", t) for t in texts)
        check(name, p.returncode == 0 and shown >= wanted, "%d cells show an answer, not %d\n%s\n%s" % (
            shown, wanted, "\n---\n".join(t[-600:] for t in texts), p.stderr[-3000:]))
