# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of the reference's source distribution, unmodified, in nbclient with pdl.pdl_notebook_ext.

    tests/reference/test_notebooks.py BUILD

Their models answer on the loopback interface; `! pip install` finds a pip that does nothing. Skipped when the notebooks or the packages cannot be fetched.
"""
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import pytest

from .. import reference_of, venv_of
from ..checks import check, skip

PACKAGES = ("IPython", "ipykernel", "nbclient", "nbformat", "textdistance")
RUN = """
import json, sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=sys.argv[2])
print(json.dumps([[cell.source, [dict(o) for o in cell.get("outputs", [])]] for cell in notebook.cells if cell.cell_type == "code"]))
"""
# What the model says to what comes last in the prompt.
ANSWERS = {"World!": "Hello", "To answer questions.": "meaning of life", "A short poem.": "like a poem", "Un petit poeme.": "French",
           "The first.": "most important verse", "It reads offsets.": "Explain the following code", "Tho: I calculate.": "Hudson River",
           'Act: {"name": "Calc", "arguments": {"expr": "2024 - 1565"}}': "I calculate"}


class Replicate(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["input"]["prompt"]
        answer = max(ANSWERS, key=lambda text: prompt.rfind(ANSWERS[text]))
        body = json.dumps({"id": "p", "status": "succeeded", "output": [answer]}).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.asked.append(asked)

    def log_message(self, *unused):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replicate)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def environment(build, work, server):
    (work / "bin").mkdir()
    (work / "bin" / "pip").write_text("#!/bin/sh\necho nothing is installed\n")
    (work / "bin" / "pip").chmod(0o755)
    return {**os.environ, "PYTHONPATH": "%s:%s" % (build / "python", build / "python-compat"), "PATH": "%s:%s" % (work / "bin", os.environ["PATH"]),
            "REPLICATE_API_BASE": "http://127.0.0.1:%d" % server.server_port, "REPLICATE_API_KEY": "none", "IPYTHONDIR": str(work / "ipython"),
            "JUPYTER_RUNTIME_DIR": str(work / "runtime"), "JUPYTER_DATA_DIR": str(work / "data")}


def shown(outputs):
    return "".join(o.get("text", "") if o["output_type"] == "stream" else "<%s>" % o["output_type"] for o in outputs)


# Notebook: the cells with %%pdl in order, by what they show.
WANTED = {
    "notebook.ipynb": [r"Hello\n.*World", r"deserializeOffsetMap[\s\S]*It reads offsets\.[\s\S]*0\.\d+"],
    "notebook_debug.ipynb": [r"Hello,[\s\S]*World[\s\S]*<display_data>"],
    "pdl.ipynb": [r"To answer questions", r"A short poem[\s\S]*The first", r"You are Granite", r"It reads offsets\.[\s\S]*0\.\d+"],
    "demo.ipynb": [r"To answer questions", r"A short poem[\s\S]*Un petit poeme", r"It reads offsets\.[\s\S]*0\.\d+", r"Obs: .*459"],
    "granite_io_demo.ipynb": [r"Field not allowed: backend", r"Field not allowed: backend", r"Field not allowed: backend"],
}


def problem_of(cells, wanted):
    """-> what is not as it should be"""
    programs = [(source, shown(outputs)) for source, outputs in cells if source.startswith("%%pdl")]
    if len(programs) != len(wanted):
        return "there are %d cells with programs, not %d" % (len(programs), len(wanted))
    for (source, text), pattern in zip(programs, wanted):
        if not re.search(pattern, text):
            return "%s\n--- shows\n%s\n--- not %s" % (source, text, pattern)
    return ""


@pytest.mark.builds
@pytest.mark.seconds(1800)
def test_notebooks(build):
    exe, why = venv_of.python(build, *PACKAGES, name="test-venv-reference", seconds=600)
    source = reference_of.source()
    why = why or (None if source else "their source cannot be fetched")
    if why or not (build / "python-compat").is_dir():
        skip("notebooks of the reference", why or "there is no header of Python", len(WANTED))
        return
    work, server = pathlib.Path(tempfile.mkdtemp()), serve()
    env = environment(build, work, server)
    for name, wanted in WANTED.items():
        place = work / name.partition(".")[0]
        shutil.copytree(source / "examples" / "notebooks", place)
        p = subprocess.run([exe, "-c", RUN, place / name, place], env=env, capture_output=True, text=True, check=False, timeout=300)
        problem = problem_of(json.loads(p.stdout.splitlines()[-1]), wanted) if p.returncode == 0 else p.stderr[-3000:]
        check(name, not problem, problem)
    server.shutdown()
