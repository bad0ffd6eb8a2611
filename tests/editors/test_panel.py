# SPDX-License-Identifier: Apache-2.0
"""The panel of the Live Document of the extension, with a stub of VS Code: a question of the program waits for its answer in the page."""
import json
import pathlib
import shutil
import subprocess

import pytest

from ..checks import check, skip
from ..harness.choice import Choice, ROOT

HERE = pathlib.Path(__file__).resolve().parent


@pytest.mark.builds
def test_question_waits(folder):
    if not shutil.which("node"):
        skip("the panel", "there is no node")
        return
    (folder / "ask.pdl").write_text("text:\n- \"Dear Ada\\n\"\n- {def: ask, read: , message: \"Shall it be sent? \"}\n")
    r = subprocess.run(["node", HERE / "panel.mjs", ROOT / "editors/vscode", Choice.build / "pdl", folder / "ask.pdl"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    check("the panel is shown", r.returncode == 0, r.stderr[-600:])
    out = json.loads(r.stdout)
    check("the question waits", "Shall it be sent?" in out["said"] and "EOF" not in out["said"] and out["runs"]["runs"][0].get("live"), out)
