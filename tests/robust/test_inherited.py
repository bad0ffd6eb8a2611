# SPDX-License-Identifier: Apache-2.0
"""test_inherited.py -- settings that a parent passes on by accident, an ignored SIGCHLD and blocked signals, do not change a run."""
import signal
import subprocess
import time

import pytest

from ..checks import check, same

PROGRAM = """text:
- lang: command
  code: sh -c 'echo said'
- lang: command
  code: sh -c 'exit 3'
  fallback: "failed, "
- lang: python
  code: |
    import subprocess
    result = subprocess.run(["sh", "-c", "exit 5"]).returncode
"""
ENDLESS = "lang: command\ncode: sleep 47\n"


def ignore_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def block_all():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def both():
    ignore_children()
    block_all()


@pytest.mark.parametrize("passed_on", [ignore_children, block_all, both], ids=lambda f: f.__name__)
def test_runs(pdl, folder, passed_on):
    (folder / "p.pdl").write_text(PROGRAM)
    for more in ([], ["--sandbox"]):
        p = subprocess.run([pdl, "run", *more, "p.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, preexec_fn=passed_on, check=False)
        usual = subprocess.run([pdl, "run", *more, "p.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        same((p.returncode, p.stdout, p.stderr), (usual.returncode, usual.stdout, usual.stderr), " ".join(["run", *more]))
        check("it says what it says elsewhere", more or "said\nfailed, " in p.stdout, p.stdout)


def test_an_end_is_obeyed(pdl, folder):
    (folder / "p.pdl").write_text(ENDLESS)
    for sig, want in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        p = subprocess.Popen([pdl, "run", "p.pdl"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=block_all)
        time.sleep(0.3)
        p.send_signal(sig)
        same(p.wait(timeout=20), want, sig.name)
