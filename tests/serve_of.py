# SPDX-License-Identifier: Apache-2.0
"""`pdl serve` as tests start it: on a free port, which its first line names."""
import re
import subprocess


def start(pdl, *args, env=None):
    """-> (the process, its port). What it says further can be read from its stderr."""
    p = subprocess.Popen([pdl, "serve", "--port", "0", *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    line = p.stderr.readline()
    port = re.search(r":(\d+)/v1", line)
    if not port:
        p.terminate()
        raise RuntimeError("the first line is not the address: " + line + p.stderr.read())
    return p, int(port.group(1))
