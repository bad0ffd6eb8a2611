# SPDX-License-Identifier: Apache-2.0
"""test_serve.py -- requests with an Idempotency-Key to a server whose runs are durable.

The model service counts its requests; the server is killed and started again.
"""
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import threading

import pytest

from .. import serve_of
from ..checks import check
from .kit import SECONDS, Folder, Service, wait_for

pytestmark = pytest.mark.memory(False)
PROGRAM = """
text:
- {lang: command, code: "sh -c 'echo mark >> acts; echo done'", idempotent: true}
- {model: openai/m, input: "one ${ question }", def: first}
- "\\n"
- {model: openai/m, input: "two ${ question }${ first[:0] }"}
"""
ACTION = "text: [{lang: command, code: \"sh -c 'echo begun >> acts; sleep 60'\"}]\n"
WRITER = ("defs: {o: {aggregator: {file: lines.txt, mode: a}}}\ntext:\n- {text: \"${ question }\\n\", contribute: [o]}\n"
          "- {lang: command, code: \"sh -c 'touch here; while [ -e here ] && [ ! -e go ]; do sleep 0.02; done; echo went'\", idempotent: true}\n")


class Served:
    """A durable server in its folder, which is also that of this process."""

    def __init__(self, pdl):
        self.service = Service(0.2)
        self.folder = Folder(pdl, self.service, PROGRAM)
        (self.folder.path / "action.pdl").write_text(ACTION)
        (self.folder.path / "writer.pdl").write_text(WRITER)
        os.chdir(self.folder.path)
        self.start()

    def start(self, *args):
        self.p, self.port = serve_of.start(self.folder.pdl, "--durable", "--record", str(self.folder.path / "server.journal"), *args,
                                           str(self.folder.path / "main.pdl"), str(self.folder.path / "action.pdl"), str(self.folder.path / "writer.pdl"), env=self.folder.env)

    def stop(self, sig=signal.SIGTERM):
        self.p.send_signal(sig)
        self.p.wait(timeout=SECONDS)
        return self.p.stderr.read()

    def ask(self, key, question, model="main", timeout=SECONDS, **more):
        """-> status, body, headers; (None, the error, None) when the server or the time ended."""
        h = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {"content-type": "application/json", **({"Idempotency-Key": key} if key else {})}
        try:
            h.request("POST", "/v1/chat/completions", json.dumps({"model": model, "messages": [{"role": "user", "content": question}], **more}), headers)
            r = h.getresponse()
            return r.status, r.read().decode(), {k.lower(): v for k, v in r.getheaders()}
        except (OSError, http.client.HTTPException) as e:
            return None, repr(e), None
        finally:
            h.close()

    def behind(self, *args, **kw):
        """The same in a thread; its result is in the list."""
        got = []
        t = threading.Thread(target=lambda: got.append(self.ask(*args, **kw)))
        t.start()
        return t, got

    def wait_asked(self, prompt):
        wait_for(lambda: self.service.asked[prompt])

    def acts(self):
        return self.folder.acts()


@pytest.fixture
def served(pdl):
    return Served(pdl)


def test_answers(served):
    """Each part goes on where the one before it has left the journal."""
    for part in (answers, streams, policies, disconnects, kills, file):
        part(served)


def answers(served):
    first, again = served.ask("k1", "a"), served.ask("k1", "a")
    check("an answer", first[0] == 200 and "TWO A" in first[1], first)
    check("the same for the same key", again[:2] == first[:2] and again[2].get("idempotent-replayed") == "true", again)
    check("nothing was asked twice", served.service.asked == {"one a": 1, "two a": 1}, served.service.asked)
    check("another body is 422", served.ask("k1", "b")[0] == 422)
    check("another key is another run", served.ask("k2", "a")[0] == 200 and served.service.asked["one a"] == 2, served.service.asked)
    check("without a key every request is a run", served.ask(None, "c")[0] == 200 == served.ask(None, "c")[0] and served.service.asked["one c"] == 2)
    check("a key that is too long", served.ask("k" * 2000, "a")[0] == 400)
    n = served.ask("n", "several", n=2)
    check("several choices", n[0] == 200 and len(json.loads(n[1])["choices"]) == 2 and served.service.asked["one several"] == 2, n)
    check("several choices again", served.ask("n", "several", n=2)[1] == n[1])


def policies(served):
    """The text of a kept answer has no labels: a policy that came later can neither hide nor refuse anything of it."""
    before = served.ask("p", "policy")
    served.stop()
    served.start("--policy", "careful")
    after, other = served.ask("p", "policy"), served.ask("p2", "policy")
    again = served.ask("p2", "policy")
    check("an answer of before is not given under a new policy", before[0] == other[0] == 200 and after[0] == 409 and "policy" in after[1], (before, after, other))
    check("one that was made under it is", again[:2] == other[:2], (other, again))
    served.stop()
    served.start()
    check("without the policy both are given", [served.ask(k, "policy")[1] for k in ("p", "p2")] == [before[1], other[1]])


def streams(served):
    first = served.ask("s1", "stream", stream=True)
    check("a stream", first[0] == 200 and first[1].endswith("data: [DONE]\n\n"), first)
    again = served.ask("s1", "stream", stream=True)
    check("the same stream", again[1] == first[1] and again[2]["content-type"] == "text/event-stream", again)
    t1, one = served.behind("s2", "joined", stream=True)
    served.wait_asked("two joined")  # the first half of the stream has gone out
    t2, two = served.behind("s2", "joined", stream=True)
    t1.join()
    t2.join()
    check("a request that comes later gets the stream from its start", one[0][1] == two[0][1] and "JOINED" in two[0][1] and len(two[0][1]) > 500,
               (one, two))
    check("and runs nothing", served.service.asked["one joined"] == 1, served.service.asked)


def disconnects(served):
    got = served.ask("d", "gone", timeout=0.1)
    check("the client went", got[0] is None, got)
    check("its run goes on", served.ask("d", "gone")[0] == 200 and served.service.asked["one gone"] == 1 == served.service.asked["two gone"], served.service.asked)


def kills(served):
    thread, got = served.behind("k", "kill")
    served.wait_asked("two kill")
    served.stop(signal.SIGKILL)
    thread.join()
    check("the server was killed", got[0][0] is None, got)
    served.start()
    again = served.ask("k", "kill")
    check("the run continues when its key comes again", again[0] == 200 and "TWO KILL" in again[1], again)
    check("what was answered is not asked again", served.service.asked["one kill"] == 1 and served.service.asked["two kill"] <= 2, served.service.asked)
    check("ended runs are answered from the journal", served.ask("k1", "a")[2].get("idempotent-replayed") == "true")
    thread, got = served.behind("stopped", "stop")
    served.wait_asked("one stop")
    err = served.stop()
    thread.join()
    check("a server that is told to end leaves its runs", not err.strip(), err)
    served.start()
    again = served.ask("stopped", "stop")
    check("which continue", again[0] == 200 and served.service.asked["one stop"] <= 2, (again, served.service.asked))


def test_actions(served):
    thread, got = served.behind("act", "x", model="action")
    wait_for(lambda: served.acts()["begun"])
    served.stop(signal.SIGKILL)
    thread.join()
    served.start()
    again = served.ask("act", "x", model="action")
    check("an action without an end stops the run", again[0] == 409 and "not known" in again[1], again)
    check("and is not done again", served.acts()["begun"] == 1, served.acts())
    served.stop()
    served.start("--again", "all")
    thread, got = served.behind("act", "x", model="action", timeout=1)
    thread.join()
    check("with --again it is", served.acts()["begun"] == 2, served.acts())


def test_moved_actions(served):
    """The program of the server was changed: what was done at another place of it is not done again in silence."""
    program = "text:\n- {lang: command, code: \"sh -c 'echo paid >> acts'\"}\n- {model: openai/m, input: slowly}\n"
    served.stop()
    (served.folder.path / "action.pdl").write_text(program)
    served.start()
    thread, _ = served.behind("moved", "x", model="action")
    served.wait_asked("slowly")
    served.stop(signal.SIGKILL)
    thread.join()
    (served.folder.path / "action.pdl").write_text(program.replace("text:\n", "text:\n- above\n"))
    served.start()
    again = served.ask("moved", "x", model="action")
    check("the request is refused", again[0] == 500 and "was done before, at text.0.code" in again[1] and served.acts()["paid"] == 1, (again, served.acts()))
    served.stop()
    served.start("--again", "text.0.code")
    again = served.ask("moved", "x", model="action")
    check("with --again it is answered", again[0] == 200 and served.acts()["paid"] == 2, (again, served.acts()))


def test_writes(served):
    """A write that began and has no end is done again, but where somebody else has changed the file."""
    lines = served.folder.path / "lines.txt"
    for title, changed, status in (("continues", False, 200), ("of a file that was changed stops the run", True, 409)):
        (served.folder.path / "here").unlink(missing_ok=True)
        (served.folder.path / "go").unlink(missing_ok=True)
        lines.write_text("old\n")
        thread, got = served.behind("w" + title, "x", model="writer")
        wait_for(served.folder.path / "here")
        served.stop(signal.SIGKILL)
        thread.join()
        db = sqlite3.connect(served.folder.path / "server.journal")  # as if it had been killed between the write and its row
        db.execute("update effects set state = 0, reply = null, end = null where id = (select max(id) from effects where kind = 'write')")
        db.execute("update files set size = %d where path like '%%lines.txt'" % (100 if changed else 4))
        db.commit()
        db.close()
        (served.folder.path / "go").touch()
        written = lines.read_text()
        served.start()
        again = served.ask("w" + title, "x", model="writer")
        check("a write without an end " + title, again[0] == status, again)
        check("a write without an end %s: the file" % title, lines.read_text() == written and written.count("x") == 1, (written, lines.read_text()))
    served.stop()
    served.start("--again", "all")
    again = served.ask("w" + title, "x", model="writer")
    check("with --again it is written once more", again[0] == 200 and lines.read_text().count("x") == 2, (again, lines.read_text()))


def file(served):
    served.stop()
    journal = served.folder.path / "server.journal"
    code, out, err = served.folder.run("resume", str(journal))
    check("a server's journal is not resumed", code == 1 and "journal of a server" in err, (code, err))
    p = subprocess.run([served.folder.pdl, "serve", "--port", "0", "--durable", "--record", str(served.folder.path / "x.journal"), "nothing.pdl"],
                       capture_output=True, text=True, env=served.folder.env, timeout=SECONDS)
    check("a program that is not there", p.returncode != 0 and not (served.folder.path / "x.journal").exists(), p.stderr)
    check("no key of the environment is in the file", b"sk-canary" not in journal.read_bytes() and oct(journal.stat().st_mode)[-3:] == "600")
    db = sqlite3.connect(journal)
    db.execute("update runs set end = end - 90000 where end > 0")
    db.commit()
    db.close()
    served.start()
    before = served.service.asked["one a"]
    check("answers are kept for a day", served.ask("k1", "a")[0] == 200 and served.service.asked["one a"] == before + 1, served.service.asked)
    rows = sqlite3.connect(journal).execute("select count(distinct run) from effects").fetchone()[0]
    check("and then removed", rows <= 2, rows)
    q = subprocess.run([served.folder.pdl, "serve", "--port", "0", "--durable", "--record", str(journal), str(served.folder.path / "main.pdl")],
                       capture_output=True, text=True, env=served.folder.env, timeout=SECONDS)
    check("a journal has one server", q.returncode == 1 and "runs already" in q.stderr, q.stderr)
    served.stop()
