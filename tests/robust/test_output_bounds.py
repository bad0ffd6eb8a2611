# SPDX-License-Identifier: Apache-2.0
"""A command, a code block or a collector of traces that sends more than we keep: this ends with a message, in bounded memory and time."""
import os
import resource
import subprocess
import time

import pytest

from ..checks import check, same
from ..http_of import Quiet, serve

MEMORY = 2 << 30  # of address space: what is kept, a buffer that doubles, and the rest
LONGEST_S = 60
COMMAND = "longer than 268435456 bytes"
PYTHON = "import sys\nwhile True: sys.stdout.write('x' * 1000000)\n"
FLOODS = {
    "a command": ("lang: command\ncode: 'yes'\n", COMMAND),
    "the errors of a command": ("lang: command\ncode: 'yes >&2'\n", COMMAND),
    "a Python block": ("lang: python\ncode: |\n" + "".join("  %s\n" % line for line in PYTHON.splitlines()), COMMAND),
    "the result of a Python block": ("lang: python\ncode: |\n  result = 'x' * 600000000\n", "longer than 536870912"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_floods(pdl, folder, name):
    program, words = FLOODS[name]
    (folder / "p.pdl").write_text(program, "utf-8")
    begun = time.monotonic()
    p = subprocess.run([pdl, "--stream", "none", "p.pdl"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LONGEST_S, check=False,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
    same(p.returncode, 1, name)
    check(name + " says the limit", words in p.stderr, p.stderr[-500:])
    check(name + " ends soon", time.monotonic() - begun < LONGEST_S)


def test_a_collector(pdl, folder):
    """A long answer to spans: of 64 MB nothing is kept, and the run has its result."""
    asked = []

    class Handler(Quiet):
        def do_POST(self):
            self.body()
            asked.append(1)
            try:
                self.reply(b"x" * (64 << 20))
            except OSError:
                asked.append("cut")
    server = serve(Handler)
    (folder / "p.pdl").write_text("text: hi\n", "utf-8")
    p = subprocess.Popen([pdl, "--otlp", "http://127.0.0.1:%d/v1/traces" % server.server_port, "p.pdl"], cwd=folder, env=dict(os.environ),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = p.communicate(timeout=LONGEST_S)
    same((p.returncode, out), (0, "hi\n"))
    check("a note says why", "traces are not sent" in err and ("longer than the limit" in err or "exceeded" in err), err)
    end = time.monotonic() + LONGEST_S  # the thread of the server may still be on its way there
    while len(asked) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    check("it was not read to its end", asked[:2] == [1, "cut"], asked)
