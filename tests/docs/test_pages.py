# SPDX-License-Identifier: Apache-2.0
"""Programs of the manual print what the manual says.

In docs/manual, docs/home.md, docs/language-card.md, README.md and packaging/skill/SKILL.md a fenced block ```pdl with a block ```output or ```error
after it is a test: the program is run and must print exactly
that on standard output (```output, exit status 0) or on standard error (```error, another status); white space at the end does not count. The word
`file=NAME` may follow `pdl` (default main.pdl). A block ```input between the two blocks is standard input. Other blocks with file=NAME are written
beside the programs of the page. A block ```sh run is a test, too: commands, with `pdl` among them. A block ```replies, a JSON list,
is the file of `pdl mock --replies`, which then answers, as the page says to its reader. Other models are those of the conformance kit (openai/echo,
openai/upper, ...).
A block ```yaml workflow is a test, too: the commands of its steps are run, without a key.
A block ```sh server is a command `pdl mock ...` or `pdl serve ...`, as a reader types it in a second terminal: it is started (on a free port), and
answers the requests of the blocks that follow on the page, up to the next such block.
"""
import os
import pathlib
import re
import shlex
import subprocess
import time

import pytest
import yaml

from examples import serve
from ..checks import check
from ..harness.choice import ROOT

PAGES = sorted((ROOT / "docs" / "manual").glob("*.md")) + [ROOT / n for n in ("README.md", "docs/home.md", "docs/language-card.md", "packaging/skill/SKILL.md")]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)


def option(info, key, default=None):
    m = re.search(r"\b%s=(\S+)" % key, info)
    return m.group(1) if m else default


def steps_of(workflow):
    """The commands of a workflow, up to one that fails; without the one that installs pdl. They have no key, and no model that would answer."""
    steps = [s["run"] for job in yaml.safe_load(workflow)["jobs"].values() for s in job["steps"] if "run" in s]
    return "\n".join(["set -e", "unset OPENAI_API_KEY", "export OPENAI_API_BASE=http://127.0.0.1:9 OPENAI_BASE_URL=http://127.0.0.1:9"]
                     + [s for s in steps if not s.startswith("pip install ")])


def cases(text):
    """(line, file, commands, stdin, kind, expected), file or commands, for each program with an expectation; ("file", name, text) for files, ("server", line, command)."""
    program = stdin = replies = None
    for m in FENCE.finditer(text):
        kind, info, body = m.groups()
        line = text.count("\n", 0, m.start()) + 1
        if kind == "pdl":
            name = option(info, "file", "main.pdl")
            program, stdin, replies = (line, name, None), "", None
            yield "file", name, body
        elif kind == "sh" and "run" in info.split():
            program, stdin, replies = (line, None, body), "", None
        elif kind == "yaml" and "workflow" in info.split():
            program, stdin, replies = (line, None, steps_of(body)), "", None
        elif kind == "sh" and "server" in info.split():
            yield "server", line, body
        elif kind == "input" and program:
            stdin = body
        elif kind == "replies" and program:
            replies = body
        elif kind in ("output", "error") and program:
            yield "case", program + (stdin, kind, body), replies
            program = None
        else:
            program = None
            if option(info, "file"):
                yield "file", option(info, "file"), body


def run_case(pdl, work, env, case):
    line, name, commands, stdin, kind, want = case
    argv = [str(pdl), name] if name else ["sh", "-c", 'pdl() { "$0" "$@"; }\n' + commands, str(pdl)]
    p = subprocess.run(argv, cwd=work, env=env, input=stdin.encode(), capture_output=True, timeout=120, check=False)
    got = (p.stdout if kind == "output" else p.stderr).decode("utf-8", "replace")
    if got.rstrip() == want.rstrip() and (p.returncode == 0) == (kind == "output"):
        return None
    return "exit status %d\n--- expected %s\n%s--- standard output\n%s--- standard error\n%s" % (
        p.returncode, kind, want, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"))


class Server:
    """What a block ```sh server starts; `url` is the address that it prints."""

    def __init__(self, pdl, work, command):
        log = pathlib.Path(work) / "server.log"
        with log.open("w") as out:
            self.process = subprocess.Popen([str(pdl)] + shlex.split(command)[1:] + ["--port", "0"], cwd=work, stdout=out, stderr=subprocess.STDOUT)
        for _ in range(1200):
            found = re.search(r"(http://\S+/v1)\s", log.read_text("utf-8"))
            if found:
                self.url = found.group(1)
                return
            time.sleep(0.05)
        raise AssertionError("%s prints no address:\n%s" % (command.strip(), log.read_text("utf-8")))

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_page(page, pdl, folder):
    server, started = serve.start().start(), None
    for what, *rest in cases(page.read_text("utf-8")):
        if what == "file":
            (folder / rest[0]).write_text(rest[1], "utf-8")
        elif what == "server":
            if started:
                started.stop()
            started = Server(pdl, folder, rest[1])
        else:
            case, replies = rest
            script = None
            if replies:
                (folder / "replies.json").write_text(replies, "utf-8")
                script = Server(pdl, folder, "pdl mock --replies replies.json")
            session = "%s-%d" % (page.stem, case[0])
            server.sessions[session] = serve.model_server.Session({"default": []})
            url = script.url if script else started.url if started else "%s/s/%s/v1" % (server.url, session)
            env = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "NO_COLOR": "1"}
            try:
                why = run_case(pdl, folder, env, case)
            finally:
                if script:
                    script.stop()
            check("%s:%d" % (page.name, case[0]), why is None, why)
