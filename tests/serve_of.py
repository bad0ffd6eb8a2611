# SPDX-License-Identifier: Apache-2.0
"""Starts `pdl serve` for tests, on a free port. One of the first lines of the server names the port."""
import re
import subprocess


def start(pdl, *args, env=None, cwd=None):
    """-> (the process, its port). What it says further can be read from its stderr."""
    p = subprocess.Popen([pdl, "serve", "--port", "0", *args], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    said = ""
    for line in p.stderr:
        said += line
        port = re.search(r":(\d+)/v1", line)
        if port:
            return p, int(port.group(1))
    p.wait()
    raise RuntimeError("no line has the address: " + said)
