# SPDX-License-Identifier: Apache-2.0
"""Hover shows the value of a variable in the last run: from a trace or a journal, whichever is newer."""
import os
import resource
import subprocess

from .client import Lsp
from ..checks import check
from ..harness.choice import ROOT

PROGRAM = """description: asks
defs:
  n:
    data: ${ x * 2 }
text:
- read:
  message: ""
  def: word
- ${ word } ${ n }
"""
LONG = """defs:
  first:
    data: seen
  n:
    data: ${ TERMS }
text: ${ n }
"""
TERM = "(range(%d) | map('string') | map('length') | sum)"
MAX_S = 0.3  # of processor time, after which the server ends the run


class Editor:
    """A folder with a program, the command, and a server that is started for each question, as nothing of an earlier one is to be kept."""

    def __init__(self, pdl, root):
        self.pdl, self.root = pdl, root
        self.env = {"HOME": str(root), "PDL_RUNS": str(root / "runs"), "XDG_STATE_HOME": ""}

    def write(self, text):
        self.text = text
        (self.root / "a.pdl").write_text(text, encoding="utf-8")

    def run(self, *options, word="", program="a.pdl", cwd=None):
        subprocess.run([self.pdl, *options, program], input=word, capture_output=True, text=True, check=True, cwd=cwd or self.root, env={**os.environ, **self.env}, timeout=120)

    def hover(self, name):
        lsp = Lsp(self.pdl, cwd=self.root, env=self.env)
        lsp.initialize([self.root])
        uri = "file://%s/a.pdl" % self.root
        lsp.open(uri, self.text)
        line = next(i for i, x in enumerate(self.text.split("\n")) if name in x and "description" not in x)
        ch = self.text.split("\n")[line].index(name)
        answer = lsp.answer(lsp.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": ch}}))
        lsp.quit()
        return str(answer.get("result"))


def spent():
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def age(path, seconds):
    """Makes a file older, since the clock of files may be coarse."""
    t = os.stat(path).st_mtime - seconds
    os.utime(path, (t, t))


def test_the_newest_run(pdl, folder):
    e = Editor(pdl, folder.resolve())
    e.write(PROGRAM)
    check("no run", "In the last run" not in e.hover("word"), e.hover("word"))
    check("nothing is made", not (e.root / "runs").exists(), os.listdir(e.root))
    e.run("-d", "x=1", "--record", "one.journal", word="recorded\n")
    check("recording", "In the last run: `\"recorded\"`" in e.hover("word"), e.hover("word"))
    check("computed", "In the last run: `2`" in e.hover("n:"), e.hover("n:"))
    age(e.root / "one.journal", 30)
    e.run("-d", "x=4", "--durable", "--id", "d1", word="durable\n")
    check("durable run", "`\"durable\"`" in e.hover("word") and "`8`" in e.hover("n:"), e.hover("word"))
    age(e.root / "runs" / "d1.journal", 20)
    e.run("-d", "x=5", "--durable", "--id", "d2", word="newer\n", program=str(e.root / "a.pdl"), cwd=ROOT)
    check("the newest durable run", "`\"newer\"`" in e.hover("word"), e.hover("word"))
    age(e.root / "runs" / "d2.journal", 10)
    (e.root / "other").mkdir()
    (e.root / "other" / "a.pdl").write_text(PROGRAM, encoding="utf-8")
    e.run("-d", "x=6", "--durable", "--id", "d3", word="elsewhere\n", cwd=e.root / "other")
    check("a program of that name elsewhere", "`\"newer\"`" in e.hover("word"), e.hover("word"))
    subprocess.run([pdl, "infer", "-d", "x=7", "a.pdl", "-n", "2", "--durable", "--id", "d4"], input="inferred\n", capture_output=True, text=True, check=True, cwd=e.root, env={**os.environ, **e.env}, timeout=120)
    check("an inference, which is no single run", (e.root / "runs" / "d4.journal").exists() and "`\"newer\"`" in e.hover("word"), e.hover("word"))
    (e.root / "broken.journal").write_bytes(b"SQLite format 3\0" + b"x" * 500)
    check("a file that is no journal", "`\"newer\"`" in e.hover("word"), e.hover("word"))
    subprocess.run([pdl, "-d", "x=9", "a.pdl", "--trace"], input="traced\n", capture_output=True, text=True, check=True, cwd=e.root, env={**os.environ, **e.env}, timeout=120)
    check("a newer trace", "`\"traced\"`" in e.hover("word"), e.hover("word"))
    age(e.root / "a_trace.json", 100)
    check("an older trace", "`\"newer\"`" in e.hover("word"), e.hover("word"))


def test_nobody_waits_for_a_long_run(pdl, folder):
    e = Editor(pdl, folder.resolve())
    e.write(LONG.replace("TERMS", TERM % 10))
    e.run("--record", "long.journal")
    check("short", "`\"seen\"`" in e.hover("first"), e.hover("first"))
    e.write(LONG.replace("TERMS", " + ".join([TERM % 4000000] * 4)))
    os.remove(e.root / "long.journal")
    started = spent()
    e.run("--record", "long.journal")
    run, started = spent() - started, spent()
    e.hover("first")
    check("nobody waits for a long run", spent() - started < MAX_S + run / 2, "%.2f of %.2f s" % (spent() - started, run))
