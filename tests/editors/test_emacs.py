# SPDX-License-Identifier: Apache-2.0
"""A real Emacs in batch mode with editors/emacs: eglot, and dap-mode for the debugger. Parts that are not installed are skipped (Debian: emacs-nox,
elpa-eglot, elpa-dap-mode)."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from ..checks import skip
from ..harness.choice import ROOT
from .counting import judge

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = """\
defs:
  greet:
    function:
      name: string
    return:
      text: Hello ${ nmae }
text:
- call: ${ greet }
  args:
    name: you
-   text:   ${greet(name='x')}
"""
WANT = {
    "mode": lambda s: s["mode"] == "pdl-mode",
    "diagnostics": lambda s: any("nmae" in d for d in s["diagnostics"]),
    "hover": lambda s: "Of call blocks" in s["hover"].replace("`", ""),
    "completion": lambda s: s["completion"] == ["name"],
    "rename": lambda s: "\n  hail:\n" in s["text"] and "- call: ${ hail }" in s["text"],
    "formatting": lambda s: "\n- text: ${ hail(name='x') }" in s["text"],
}

DEBUGGED = """\
defs: {m: 7}
text:
- "one "
- def: n
  data: ${ m + 1 }
- " last"
"""
WANT_OF_DEBUGGER = {
    "breakpoint": lambda s: s["line"] == s["cursor"] == 4,
    "expression": lambda s: s["value"] == "700",
    "step": lambda s: s["next"] == 6,
    "output": lambda s: "one 8 last" in s["output"],
}


def has(emacs, feature):
    command = [emacs, "--batch", "-f", "package-initialize", "--eval", "(require '%s)" % feature]
    return subprocess.run(command, capture_output=True, timeout=300).returncode == 0


def drive(emacs, pdl, script, text):
    """-> what the script keeps of a program that it drives"""
    with tempfile.TemporaryDirectory(prefix="pdl_emacs_") as work:
        out, program, bin_ = pathlib.Path(work, "out.json"), pathlib.Path(work, "a.pdl"), pathlib.Path(work, "bin")
        program.write_text(text)
        bin_.mkdir()
        (bin_ / "pdl").symlink_to(pdl)
        env = {**os.environ, "HOME": work, "PATH": "%s:%s" % (bin_, os.environ["PATH"]), "PDL_OUT": str(out), "PDL_PROGRAM": str(program)}
        p = subprocess.run([emacs, "--batch", "-f", "package-initialize", "-l", str(ROOT / "editors" / "emacs" / "pdl-mode.el"), "-l", str(HERE / script)],
                           capture_output=True, timeout=300, env=env, cwd=work, stdin=subprocess.DEVNULL)
        return json.loads(out.read_text()) if out.exists() else {"error": p.stderr.decode("utf-8", "replace")[-3000:]}


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1500)
def test_emacs(pdl):
    emacs = shutil.which("emacs")
    if not emacs or not has(emacs, "eglot"):
        skip("Emacs", "there is no emacs with eglot", len(WANT) + len(WANT_OF_DEBUGGER))
        return
    said = drive(emacs, pdl, "emacs.el", PROGRAM)
    judge("emacs", [(name, said, holds) for name, holds in WANT.items()])
    if not has(emacs, "dap-mode"):
        skip("the debugger in Emacs", "there is no dap-mode", len(WANT_OF_DEBUGGER))
        return
    said = drive(emacs, pdl, "emacs_dap.el", DEBUGGED)
    judge("emacs", [("debugger " + name, said, holds) for name, holds in WANT_OF_DEBUGGER.items()])
