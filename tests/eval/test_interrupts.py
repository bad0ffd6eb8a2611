# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in an evaluation and in a search: the last line of standard error says what is kept, and how to continue."""
import json
import re
import signal
import subprocess
import threading

from ..checks import check
from ..http_of import Plain

PROGRAM = "defs: {style: {data: short}}\ntext:\n- \"Be ${ style }: ${ q }\"\n- model: openai/m\n"
MISSING = "the same command asks only for the answers that are missing"
# arguments, and what the last line says
ROWS = [(["eval", "--expect", "want"], "nothing is kept; with --cache FILE the answers are"),
        (["eval", "--expect", "want", "--cache", "kept.db"], MISSING),
        (["optimize", "--expect", "want", "--vary", "style=short,long"], r"with --cache experiments/\S+/replies.db, " + MISSING),
        (["optimize", "--expect", "want", "--vary", "style=short,long", "--cache", "kept.db"], MISSING),
        (["optimize", "--expect", "want", "--vary", "style=short,long", "--durable"], r"it continues with: pdl resume experiments/\S+")]


def test_last_words(pdl, folder):
    (folder / "p.pdl").write_text(PROGRAM)
    (folder / "rows.jsonl").write_text("".join(json.dumps({"q": str(i), "want": "x"}) + "\n" for i in range(6)))
    for (command, *more), words in ROWS:
        asked, end = threading.Event(), threading.Event()
        server = Plain(lambda head, body, send, asked=asked, end=end: asked.set() or end.wait(60))
        env = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % server.port}
        p = subprocess.Popen([pdl, command, "p.pdl", "-i", "rows.jsonl", *more], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check("%s: the model is asked" % command, asked.wait(20))
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=20)
        end.set()
        server.close()
        check("%s: it ends by the signal" % command, p.returncode == -signal.SIGINT, p.returncode)
        check("%s: nothing is printed" % command, out == "", out)
        check("%s: what is kept" % command, re.search(r"\npdl: interrupted; %s\n$" % words, "\n" + err), err)
