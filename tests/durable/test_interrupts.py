# SPDX-License-Identifier: Apache-2.0
"""A durable run that is interrupted, at any moment after its start, says how it can be continued."""
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ..checks import check
from . import kit

PROGRAM = 'text:\n- "begun "\n- {lang: command, args: [sleep, "${ n }s"]}\n- done\n'


def interrupted(pdl, folder, seconds, *args, sig=signal.SIGINT):
    p = subprocess.Popen([pdl, *args], cwd=folder, env={**os.environ, "PDL_RUNS": str(folder / "runs")}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, start_new_session=True)
    time.sleep(seconds)
    p.send_signal(sig)
    out, err = p.communicate(timeout=60)
    return p.returncode, out, err


@pytest.mark.parametrize("more", [(), ("--record", "x.journal")], ids=["listed", "a file"])
def test_each_instant(pdl, folder, more):
    (folder / "a.pdl").write_text(PROGRAM)
    told = 0
    for i, seconds in enumerate((0.005, 0.01, 0.02, 0.05, 0.2, 0.8, 3)):  # the last two on a machine that is slow
        if seconds > 0.2 and told >= 2:
            break
        own = ("--id", "r%d" % i) if not more else (more[0], "r%d.journal" % i)
        code, _, err = interrupted(pdl, folder, seconds, "--durable", *own, "-d", "n=30", "a.pdl")
        began = (folder / "runs" / ("r%d.journal" % i)).exists() or (folder / own[1]).exists()
        told += "pdl resume %s continues" % own[1] in err
        # the process may end before it has made the journal, or have made just the file
        check("%s s" % seconds, code == 130 and ("pdl resume %s continues" % own[1] in err) == began or code == -signal.SIGINT, code, err, began)
    check("most instants are after the start", told >= 2, told)


def test_it_continues(pdl, folder):
    (folder / "a.pdl").write_text(PROGRAM)
    code, _, err = interrupted(pdl, folder, 0.3, "--durable", "--id", "r", "-d", "n=30", "a.pdl")
    check("interrupted", code == 130 and "pdl resume r continues the run" in err, code, err)
    code, _, err = interrupted(pdl, folder, 0.3, "resume", "r", "--again", "all")
    check("interrupted again", code == 130 and "pdl resume r continues the run" in err, code, err)
    r = subprocess.run([pdl, "resume", "r", "--again", "all", "-d", "n=0"], cwd=folder, env={**os.environ, "PDL_RUNS": str(folder / "runs")}, capture_output=True, text=True, timeout=60, check=False)
    check("and ends", r.returncode == 0 and r.stdout.split() == ["begun", "done"] and "continues" not in r.stderr, r)


# command lines that wait for a file before there is a journal, and the last line of an interrupted one
BEFORE = [("run", ["--durable", "--data-file", "pipe", "a.pdl"], "nothing was begun: the same command starts from the beginning"),
          ("infer", ["infer", "--durable", "--data-file", "pipe", "a.pdl"], "nothing was begun: the same command starts from the beginning"),
          ("optimize", ["optimize", "--durable", "--data-file", "pipe", "-i", "rows.jsonl", "--expect", "n", "--vary", "n=1,2", "a.pdl"],
           "nothing was begun: the same command starts from the beginning"),
          ("serve", ["serve", "--durable", "--port", "0", "--data-file", "pipe", "a.pdl"], "nothing was served: the same command starts the server"),
          ("resume", ["resume", "r", "--again", "all", "--data-file", "pipe"], "it continues with: pdl resume r"),
          ("resume --check", ["resume", "r", "--check", "--data-file", "pipe"], "nothing was changed: the command only reads"),
          ("resume --dry-run", ["resume", "r", "--dry-run", "--data-file", "pipe"], "nothing was changed: the command only reads"),
          ("batch --dry-run", ["batch", "-i", "rows.jsonl", "--dry-run", "--data-file", "pipe", "a.pdl"], "nothing was changed: the command only reads"),
          ("batch", ["batch", "-i", "rows.jsonl", "-o", "new.jsonl", "--data-file", "pipe", "a.pdl"], "nothing was begun: the same command starts from the beginning"),
          ("batch, its program", ["batch", "-i", "rows.jsonl", "-o", "new.jsonl", "pipe"], "nothing was begun: the same command starts from the beginning"),
          ("batch that continues", ["batch", "-i", "rows.jsonl", "-o", "old.jsonl", "--data-file", "pipe", "a.pdl"], "no row was begun: the same command continues")]


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_before_the_journal_is_open(pdl, folder, sig):
    (folder / "a.pdl").write_text(PROGRAM)
    (folder / "rows.jsonl").write_text('{"n": 30}\n')
    os.mkfifo(folder / "pipe")
    interrupted(pdl, folder, 0.3, "--durable", "--id", "r", "-d", "n=30", "a.pdl")
    interrupted(pdl, folder, 0.5, "batch", "-i", "rows.jsonl", "-o", "old.jsonl", "a.pdl")
    for name, args, words in BEFORE:
        code, out, err = interrupted(pdl, folder, 0.3, *args, sig=sig)
        check("%s: one line" % name, code == -sig and out == "" and err == "pdl: interrupted; %s\n" % words, code, out, err)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_before_the_first_row(pdl, folder, sig):
    """The table of a batch may come from a pipe to which no row is written."""
    (folder / "a.pdl").write_text("text: ${ n }")
    os.mkfifo(folder / "rows.jsonl")
    for name, args in (("to a file", ["-o", "out.jsonl"]), ("to standard output", [])):
        code, out, err = interrupted(pdl, folder, 0.3, "batch", "-i", "rows.jsonl", *args, "a.pdl", sig=sig)
        check(name, code == 128 + sig and out == "" and err.endswith("\npdl: nothing was begun: the same command starts from the beginning\n"), code, out, err)


SERVER = """import json, sys
for line in sys.stdin:
    m = json.loads(line)
    result = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object", "properties": {}}}]},
              "tools/call": {"content": [{"type": "text", "text": "acted"}]}}.get(m["method"], {})
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""
EVERY_KIND = """
defs:
  server: {import: "mcp:server"}
  log: {aggregator: {file: log.txt, mode: a}}
text:
- {lang: command, code: echo command}
- {lang: python, code: "result = 'code '"}
- {text: "written ", contribute: [result, log]}
- "${ server.act() } "
- {model: openai/m, input: "asked "}
- {read: main.json}
- {model: openai/m, input: "streamed ", parameters: {stream: true}}
"""


def test_an_interrupt_is_no_answer(pdl):
    """The run is interrupted at each of its checks (PDL_STRESS): what was not answered then is no failure that a resume repeats."""
    service, most, whole = kit.Service(0.001), 200, None
    for n in (most, *range(1, most)):  # the first run is not interrupted
        f = kit.Folder(pdl, service, EVERY_KIND, main_json="{}\n", server_py=SERVER,
                       mcp_json=json.dumps({"mcpServers": {"server": {"command": sys.executable, "args": ["-S", "server.py"]}}}))
        f.env["PDL_MCP_CONFIG"] = str(f.path / "mcp.json")
        code, out, err = f.run("--durable", "--id", "r", "-o", "out", "main.pdl", env={"PDL_STRESS": "cancel:%d" % n})
        end = code == 0
        check("check %d: it is interrupted" % n, end or code == 130 and "Keyboard Interrupt" in err, code, out, err)
        if not end:
            code, out, err = f.run("resume", "r", "--again", "all")
            check("check %d: the run continues" % n, code == 0, code, out, err)
        text = (f.path / "out").read_text()
        whole = whole or text
        check("check %d: nothing is missing" % n, text == whole and (f.path / "log.txt").read_text() == "written \n", text, whole)
        f.remove()
        if end and n < most:
            break
    check("each check was tried", 5 < n < most - 1, n)
