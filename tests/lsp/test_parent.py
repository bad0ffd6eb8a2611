# SPDX-License-Identifier: Apache-2.0
"""The editor ends without a word: while another process holds the input open, the server ends by the number of the editor's process."""
import os
import subprocess
import time

from ..checks import check
from ..harness.choice import Choice
from .client import Lsp


def begun(process_id):
    c = Lsp(str(Choice.build / "pdl"))
    c.request("initialize", {"processId": process_id, "rootUri": None, "capabilities": {}})
    c.notify("initialized")
    return c


def test_the_editor_ends():
    editor = subprocess.Popen(["sleep", "60"])
    c = begun(editor.pid)
    time.sleep(0.3)
    check("the server is there while the editor is", c.process.poll() is None)
    editor.kill()
    editor.wait()
    try:
        status = c.process.wait(20)
    except subprocess.TimeoutExpired:
        status = "time-out"
    check("the server ends after the editor", status == 1, status)
    c.process.kill()


def test_numbers_that_say_nothing():
    """A number of another container, none, and what is no number: the server stays."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    for number in (None, gone.pid, 0, -1, 2**40, 1.5, "1", [], os.getpid()):
        c = begun(number)
        time.sleep(0.1)
        answer = c.request("textDocument/hover", {})
        check("processId %r" % (number,), answer == {"error": {"code": -32602, "message": "textDocument.uri is missing"}}, answer)
        check("processId %r: an ordinary end" % (number,), c.quit() == (0, ""))
