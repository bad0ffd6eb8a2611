# SPDX-License-Identifier: Apache-2.0
"""The unit of the page "In production". systemd finds no mistake in it. Its command line, with other paths and a free port, starts a healthy server,
which ends with status 0 on request. Skipped, with a line that says so, when systemd-analyze is not installed."""
import json
import re
import shlex
import shutil
import subprocess

from .. import serve_of
from ..checks import check, skip
from ..harness.choice import Choice, ROOT

PAGE = ROOT / "docs" / "manual" / "production.md"


def unit():
    return re.search(r"```ini unit\n(.*?)```", PAGE.read_text("utf-8"), re.S).group(1)


def test_verified(folder):
    if not shutil.which("systemd-analyze"):
        skip("what systemd says of the unit", "there is no systemd-analyze")
        return
    path = folder / "pdl.service"
    path.write_text(unit().replace("/usr/bin/pdl", "/bin/true"), "utf-8")
    p = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, timeout=60, check=False)
    check("systemd takes the unit", (p.returncode, p.stdout + p.stderr) == (0, ""), p)
    path.write_text(unit().replace("NoNewPrivileges=yes", "NoNewPriviliges=yes"), "utf-8")
    said = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, timeout=60, check=False).stderr
    check("and would not take a mistake", "NoNewPriviliges" in said, said)


def test_command_line(folder):
    line = shlex.split(re.search(r"^ExecStart=(.*)$", unit(), re.M).group(1))
    check("it serves", line[:2] == ["/usr/bin/pdl", "serve"], line)
    (folder / "answer.pdl").write_text("text: 42\n", "utf-8")
    (folder / "prices.json").write_text(json.dumps({"openai/*": {"input": 1e-6, "output": 2e-6}}), "utf-8")
    port = line.index("--port")
    words = [w.replace("/etc/pdl", str(folder)) for w in line[2:port] + line[port + 2:]]
    pdl = Choice.build / "pdl"
    server, port = serve_of.start(pdl, *words, cwd=folder)
    try:
        p = subprocess.run([pdl, "serve", "--ping", "--port", str(port)], capture_output=True, text=True, timeout=60, check=False)
        check("it is healthy", p.returncode == 0, p)
        server.terminate()
        said = server.communicate(timeout=60)[1]
        check("it ends with status 0 when systemd asks", server.returncode == 0, server.returncode, said)
    finally:
        server.kill()
        server.wait()
