#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_emacs.py BUILD_DIR -- a real Emacs in batch mode with eglot and editors/emacs; skipped where there is none (Debian: emacs-nox, elpa-eglot)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from counting import count

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
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


def main():
    emacs = shutil.which("emacs")
    has_eglot = emacs and subprocess.run([emacs, "--batch", "-f", "package-initialize", "--eval", "(require 'eglot)"], capture_output=True, timeout=120).returncode == 0
    if not has_eglot:
        print("0 passed, 0 failed, %d skipped (no emacs with eglot)" % len(WANT))
        return 0
    with tempfile.TemporaryDirectory(prefix="pdl_emacs_") as work:
        out, program, bin_ = pathlib.Path(work, "out.json"), pathlib.Path(work, "a.pdl"), pathlib.Path(work, "bin")
        program.write_text(PROGRAM)
        bin_.mkdir()
        (bin_ / "pdl").symlink_to(pathlib.Path(sys.argv[1]).resolve() / "pdl")
        env = {**os.environ, "HOME": work, "PATH": "%s:%s" % (bin_, os.environ["PATH"]), "PDL_OUT": str(out), "PDL_PROGRAM": str(program)}
        p = subprocess.run([emacs, "--batch", "-f", "package-initialize", "-l", str(ROOT / "editors" / "emacs" / "pdl-mode.el"), "-l", str(HERE / "emacs.el")],
                           capture_output=True, timeout=300, env=env, cwd=work, stdin=subprocess.DEVNULL)
        steps = json.loads(out.read_text()) if out.exists() else {"error": p.stderr.decode("utf-8", "replace")[-3000:]}
    return count("emacs", [(name, steps, holds) for name, holds in WANT.items()])


if __name__ == "__main__":
    sys.exit(main())
