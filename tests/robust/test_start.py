# SPDX-License-Identifier: Apache-2.0
"""The cost of a start of the command: the memory of a program that does nearly nothing, as the kernel counts it, and its instructions."""
import os
import re
import shutil
import subprocess

from ..checks import check, skip
from ..harness.choice import ROOT

HELLO = 'text:\n- "Hello "\n- ${ 1 + 1 }\n'
CALL = "model: openai/m\ninput: a\nparameters: {num_retries: 0}\n"
MAX_MB = 4.4  # 3.4 where what every start executes lies together (tools/start-order), 5.1 where it is scattered
MAX_OWN = 170000  # instructions above those of --version: 153 000 of them


def test_memory(pdl, folder):
    """A process counts what its parent held when it was forked: so a small one starts the command."""
    measure = folder / "measure"
    subprocess.run(["cc", "-O1", "-o", str(measure), str(ROOT / "bench" / "measure.c")], check=True)
    (folder / "hello.pdl").write_text(HELLO)
    peaks = []
    for _ in range(5):
        _, kilobytes, status, _ = subprocess.run([str(measure), pdl, "hello.pdl"], cwd=folder, capture_output=True, text=True, check=True).stdout.split()
        assert status == "0"
        peaks.append(int(kilobytes) / 1024)
    check("hello takes at most %g MB: %.2f (tools/start-order lists its functions anew)" % (MAX_MB, min(peaks)), min(peaks) <= MAX_MB, peaks)


def profile(folder, pdl, *arguments):
    """The profile of a run under callgrind, a text, and its sum of instructions. The environment is the same on all machines."""
    out = folder / "profile"
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "OPENAI_API_BASE": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none"}
    subprocess.run(["valgrind", "--tool=callgrind", "--compress-strings=no", "--callgrind-out-file=%s" % out, pdl, *arguments], cwd=folder, env=env,
                   capture_output=True, timeout=120, check=False)
    text = out.read_text("utf-8")
    return text, int(re.search(r"^summary: (\d+)", text, re.M).group(1))


def test_instructions(pdl, folder):
    if not shutil.which("valgrind"):
        return skip("instructions of a start", "no valgrind", 2)
    (folder / "hello.pdl").write_text(HELLO)
    (folder / "call.pdl").write_text(CALL)
    own = profile(folder, pdl, "hello.pdl")[1] - profile(folder, pdl, "--version")[1]
    check("hello takes at most %d instructions more than --version: %d" % (MAX_OWN, own), own <= MAX_OWN)
    text, _ = profile(folder, pdl, "call.pdl")
    checks = sum(int(n) for n in re.findall(r"^cfn=pdl_program_check\ncalls=(\d+) ", text, re.M))
    check("a program with a call is checked once, in a pipe too", checks == 1, checks)
