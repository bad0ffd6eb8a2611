# SPDX-License-Identifier: Apache-2.0
"""The log rotation of the page "In production", as it is written there except for the name of the file. A server continues to write while its log is
rotated, and the older file has what the server wrote before. Skipped, with a line that says so, when logrotate is not installed."""
import gzip
import json
import re
import shutil
import subprocess
import time
import urllib.request

from .. import serve_of
from ..checks import check, skip
from ..harness.choice import Choice, ROOT

PAGE = ROOT / "docs" / "manual" / "production.md"
NAMED = "/var/log/pdl/requests.log"


def logged(port, path, log):
    """Asks the server. -> what is in its log, once the request is there"""
    urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path), timeout=20).close()
    until = time.monotonic() + 20
    while path not in (text := log.read_text("utf-8")) and time.monotonic() < until:
        time.sleep(0.05)
    return text


def test_rotation(folder):
    rotate = shutil.which("logrotate", path="/usr/sbin:/usr/bin:/sbin")
    if not rotate:
        skip("the rotation of a log", "there is no logrotate")
        return
    written = re.search(r"```text logrotate\n(.*?)```", PAGE.read_text("utf-8"), re.S).group(1)
    log, rule = folder / "requests.log", folder / "rule"
    check("the page names the file", written.startswith(NAMED + " {"), written)
    rule.write_text(written.replace(NAMED, str(log)), "utf-8")
    rule.chmod(0o644)
    (folder / "answer.pdl").write_text("text: 42\n", "utf-8")
    pdl = Choice.build / "pdl"
    server, port = serve_of.start(pdl, "--log", log, folder / "answer.pdl", cwd=folder)
    try:
        before = logged(port, "/v1/models", log)
        p = subprocess.run([rotate, "--force", "--state", folder / "state", rule], capture_output=True, text=True, timeout=60, check=False)
        check("logrotate takes it", (p.returncode, p.stderr) == (0, ""), p)
        check("the log is empty", log.read_bytes() == b"", log.read_bytes())
        check("what was in it is kept", gzip.decompress((folder / "requests.log.1.gz").read_bytes()).decode() == before and before, before)
        after = logged(port, "/metrics", log)
        check("the server writes on, from the beginning of the file", [json.loads(line)["path"] for line in after.splitlines()] == ["/metrics"], after)
    finally:
        server.kill()
        server.wait()
