# SPDX-License-Identifier: Apache-2.0
"""What a page costs the run that it shows: processor time up to the last output, beside that of the same run without a page."""
import http.client
import json
import os
import pathlib
import re
import resource
import subprocess

from ..checks import check
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")
BLOCKS = 30000
# With a trace that was made while the run went on it was 6 times, with boxes of text made for each block 7 times.
MAX_TIMES = 4


def used_by(pid):
    """Seconds of processor time."""
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until_end(folder, *flags):
    """Processor time up to the last output, and the process, which is still there when a page shows it."""
    p = subprocess.Popen([PDL, *flags, "many.pdl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = b""
    while b"END" not in seen:
        piece = os.read(p.stdout.fileno(), 1 << 16)
        if not piece:
            break
        seen = (seen + piece)[-1000:]
    return used_by(p.pid), p


def test_asks_nobody(folder):
    (folder / "many.pdl").write_text("text:\n- for: {i: \"${ range(%d)|list }\"}\n  repeat: {text: [\"block ${ i }\"]}\n  join: {with: ''}\n- END\n" % BLOCKS)
    ratios = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([PDL, "many.pdl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        alone = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        used, p = until_end(folder, "--view")
        address = re.search(rb"http://127\.0\.0\.1:(\d+)(/open/\w+)", p.stderr.readline())
        ratios.append(used / alone)
        if len(ratios) == 1:
            shown(address, p)
        p.kill()
        p.wait()
        if ratios[-1] < MAX_TIMES:
            break
    check("a run that asks nobody, with a page", min(ratios) < MAX_TIMES, ratios)


def shown(address, p):
    """The boxes are made when somebody asks for them."""
    c = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
    c.request("GET", address[2].decode())
    r = c.getresponse()
    r.read()
    cookie = r.headers["Set-Cookie"].split(";")[0]
    for _ in range(600):
        c.request("GET", "/api/runs", headers={"Cookie": cookie})
        run = json.loads(c.getresponse().read())["runs"][0]
        if not run.get("live"):
            break
    check("all boxes are there", run.get("boxes", 0) >= 2 * BLOCKS, run)
    c.request("GET", "/api/0/boxes/%d/1" % (2 * BLOCKS - 1), headers={"Cookie": cookie})
    check("the last of them, too", json.loads(c.getresponse().read())[0]["id"] == 2 * BLOCKS - 1)
