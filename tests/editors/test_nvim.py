# SPDX-License-Identifier: Apache-2.0
"""A real Neovim, without a window, with editors/nvim. Skipped when it is not installed (Debian: neovim)."""
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
    description: Says hello.
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
    "diagnostics": lambda s: any(d[0] == 6 and "nmae" in d[2] for d in s["diagnostics"]),
    "hover": lambda s: "**call**" in s["hover"],
    "completion": lambda s: s["completion"] == ["name"],
    "rename": lambda s: s["text"][1] == "  hail:" and s["text"][8] == "- call: ${ hail }",
    "formatting": lambda s: s["text"][11] == "- text: ${ hail(name='x') }",
    "lens": lambda s: "Hello Zoe" in s["lens"],
    "symbols": lambda s: s["symbols"] == ["hail"],
}


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1500)
def test_nvim(pdl):
    nvim = shutil.which("nvim")
    if not nvim:
        skip("Neovim", "there is no nvim", len(WANT))
        return
    with tempfile.TemporaryDirectory(prefix="pdl_nvim_") as work:
        out, program = pathlib.Path(work, "out.json"), pathlib.Path(work, "a.pdl")
        program.write_text(PROGRAM)
        env = {**os.environ, "HOME": work, "XDG_CACHE_HOME": work, "XDG_STATE_HOME": work, "PDL": pdl, "PDL_OUT": str(out)}
        p = subprocess.run([nvim, "--headless", "--clean", "--cmd", "set runtimepath^=%s" % (ROOT / "editors" / "nvim"), str(program),
                            "-c", "luafile %s" % (HERE / "nvim.lua")], capture_output=True, timeout=300, env=env, cwd=work)
        result = json.loads(out.read_text()) if out.exists() else {"error": p.stderr.decode("utf-8", "replace")[-3000:], "steps": {}}
    judge("nvim", [(name, result, lambda said, holds=holds: not said.get("error") and holds(said["steps"])) for name, holds in WANT.items()])

