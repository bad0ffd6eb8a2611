#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_nvim.py BUILD_DIR -- a real Neovim, headless, with editors/nvim; skipped where there is none (Debian: neovim)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
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
WANT = ["diagnostics", "hover", "completion", "rename", "formatting", "symbols"]


def check(name, steps):
    text = steps["text"]
    if name == "diagnostics":
        return any(d[0] == 6 and "nmae" in d[2] for d in steps["diagnostics"])
    if name == "hover":
        return "**call**" in steps["hover"]
    if name == "completion":
        return steps["completion"] == ["name"]
    if name == "rename":
        return text[1] == "  hail:" and text[8] == "- call: ${ hail }"
    if name == "formatting":
        return text[11] == "- text: ${ hail(name='x') }"
    return steps["symbols"] == ["hail"]


def main():
    nvim = shutil.which("nvim")
    if not nvim:
        print("0 passed, 0 failed, %d skipped (no nvim)" % len(WANT))
        return 0
    with tempfile.TemporaryDirectory(prefix="pdl_nvim_") as work:
        out, program = pathlib.Path(work, "out.json"), pathlib.Path(work, "a.pdl")
        program.write_text(PROGRAM)
        env = {**os.environ, "HOME": work, "XDG_CACHE_HOME": work, "XDG_STATE_HOME": work, "PDL": str(pathlib.Path(sys.argv[1]).resolve() / "pdl"), "PDL_OUT": str(out)}
        p = subprocess.run([nvim, "--headless", "--clean", "--cmd", "set runtimepath^=%s" % (ROOT / "editors" / "nvim"), str(program),
                            "-c", "luafile %s" % (HERE / "nvim.lua")], capture_output=True, timeout=300, env=env, cwd=work)
        result = json.loads(out.read_text()) if out.exists() else {"error": p.stderr.decode("utf-8", "replace")[-3000:], "steps": {}}
    passed = failed = 0
    for name in WANT:
        try:
            ok = not result.get("error") and check(name, result["steps"])
        except (KeyError, IndexError):
            ok = False
        passed, failed = passed + ok, failed + (not ok)
        if not ok:
            print("FAIL nvim %s: %s" % (name, json.dumps(result)[:3000]))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
