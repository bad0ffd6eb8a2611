#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_serve.py -- requests with an Idempotency-Key to a server whose runs are durable.

    test_serve.py BUILD_DIR

The model service counts what it is asked; the server is killed and started again. Last line: `N passed, N failed`.
"""
import collections
import http.client
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks  # noqa: E402
import serve_of  # noqa: E402
import kit  # noqa: E402
from kit import Folder, Service  # noqa: E402

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
SECONDS = 60


class Test(Checks):
    def __init__(self, build):
        self.service = Service(0.2)
        self.folder = Folder(build + "/pdl", self.service, "serve", PROGRAM)
        (self.folder.path / "action.pdl").write_text(ACTION)
        (self.folder.path / "writer.pdl").write_text(WRITER)
        self.p = self.port = None

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
        end = time.monotonic() + SECONDS
        while not self.service.asked[prompt] and time.monotonic() < end:
            time.sleep(0.01)

    def wait_act(self, line):
        end = time.monotonic() + SECONDS
        while not self.folder_acts()[line] and time.monotonic() < end:
            time.sleep(0.01)

    def folder_acts(self):
        acts = pathlib.Path("acts")
        return collections.Counter(acts.read_text().split()) if acts.exists() else collections.Counter()

    def answers(self):
        first, again = self.ask("k1", "a"), self.ask("k1", "a")
        self.check("an answer", first[0] == 200 and "TWO A" in first[1], first)
        self.check("the same for the same key", again[:2] == first[:2] and again[2].get("idempotent-replayed") == "true", again)
        self.check("nothing was asked twice", self.service.asked == {"one a": 1, "two a": 1}, self.service.asked)
        self.check("another body is 422", self.ask("k1", "b")[0] == 422)
        self.check("another key is another run", self.ask("k2", "a")[0] == 200 and self.service.asked["one a"] == 2, self.service.asked)
        self.check("without a key every request is a run", self.ask(None, "c")[0] == 200 == self.ask(None, "c")[0] and self.service.asked["one c"] == 2)
        self.check("a key that is too long", self.ask("k" * 2000, "a")[0] == 400)
        n = self.ask("n", "several", n=2)
        self.check("several choices", n[0] == 200 and len(json.loads(n[1])["choices"]) == 2 and self.service.asked["one several"] == 2, n)
        self.check("several choices again", self.ask("n", "several", n=2)[1] == n[1])

    def policies(self):
        """The text of a kept answer has no labels: a policy that came later can neither hide nor refuse anything of it."""
        before = self.ask("p", "policy")
        self.stop()
        self.start("--policy", "careful")
        after, other = self.ask("p", "policy"), self.ask("p2", "policy")
        again = self.ask("p2", "policy")
        self.check("an answer of before is not given under a new policy", before[0] == other[0] == 200 and after[0] == 409 and "policy" in after[1], (before, after, other))
        self.check("one that was made under it is", again[:2] == other[:2], (other, again))
        self.stop()
        self.start()
        self.check("without the policy both are given", [self.ask(k, "policy")[1] for k in ("p", "p2")] == [before[1], other[1]])

    def streams(self):
        first = self.ask("s1", "stream", stream=True)
        self.check("a stream", first[0] == 200 and first[1].endswith("data: [DONE]\n\n"), first)
        again = self.ask("s1", "stream", stream=True)
        self.check("the same stream", again[1] == first[1] and again[2]["content-type"] == "text/event-stream", again)
        t1, one = self.behind("s2", "joined", stream=True)
        self.wait_asked("two joined")  # the first half of the stream has gone out
        t2, two = self.behind("s2", "joined", stream=True)
        t1.join()
        t2.join()
        self.check("a request that comes later gets the stream from its start", one[0][1] == two[0][1] and "JOINED" in two[0][1] and len(two[0][1]) > 500,
                   (one, two))
        self.check("and runs nothing", self.service.asked["one joined"] == 1, self.service.asked)

    def disconnects(self):
        got = self.ask("d", "gone", timeout=0.1)
        self.check("the client went", got[0] is None, got)
        self.check("its run goes on", self.ask("d", "gone")[0] == 200 and self.service.asked["one gone"] == 1 == self.service.asked["two gone"], self.service.asked)

    def kills(self):
        t, got = self.behind("k", "kill")
        self.wait_asked("two kill")
        self.stop(signal.SIGKILL)
        t.join()
        self.check("the server was killed", got[0][0] is None, got)
        self.start()
        again = self.ask("k", "kill")
        self.check("the run continues when its key comes again", again[0] == 200 and "TWO KILL" in again[1], again)
        self.check("what was answered is not asked again", self.service.asked["one kill"] == 1 and self.service.asked["two kill"] <= 2, self.service.asked)
        self.check("ended runs are answered from the journal", self.ask("k1", "a")[2].get("idempotent-replayed") == "true")
        t, got = self.behind("stopped", "stop")
        self.wait_asked("one stop")
        err = self.stop()
        t.join()
        self.check("a server that is told to end leaves its runs", not err.strip(), err)
        self.start()
        again = self.ask("stopped", "stop")
        self.check("which continue", again[0] == 200 and self.service.asked["one stop"] <= 2, (again, self.service.asked))

    def actions(self):
        t, got = self.behind("act", "x", model="action")
        self.wait_act("begun")
        self.stop(signal.SIGKILL)
        t.join()
        self.start()
        again = self.ask("act", "x", model="action")
        self.check("an action without an end stops the run", again[0] == 409 and "not known" in again[1], again)
        self.check("and is not done again", self.folder_acts()["begun"] == 1, self.folder_acts())
        self.stop()
        self.start("--again", "all")
        t, got = self.behind("act", "x", model="action", timeout=1)
        t.join()
        self.check("with --again it is", self.folder_acts()["begun"] == 2, self.folder_acts())

    def writes(self):
        """A write that began and has no end is done again, but where somebody else has changed the file."""
        lines = self.folder.path / "lines.txt"
        for title, changed, status in (("continues", False, 200), ("of a file that was changed stops the run", True, 409)):
            (self.folder.path / "here").unlink(missing_ok=True)
            (self.folder.path / "go").unlink(missing_ok=True)
            lines.write_text("old\n")
            t, got = self.behind("w" + title, "x", model="writer")
            end = time.monotonic() + SECONDS
            while not (self.folder.path / "here").exists() and time.monotonic() < end:
                time.sleep(0.01)
            self.stop(signal.SIGKILL)
            t.join()
            db = sqlite3.connect(self.folder.path / "server.journal")  # as if it had been killed between the write and its row
            db.execute("update effects set state = 0, reply = null, end = null where id = (select max(id) from effects where kind = 'write')")
            db.execute("update files set size = %d where path like '%%lines.txt'" % (100 if changed else 4))
            db.commit()
            db.close()
            (self.folder.path / "go").touch()
            written = lines.read_text()
            self.start()
            again = self.ask("w" + title, "x", model="writer")
            self.check("a write without an end " + title, again[0] == status, again)
            self.check("a write without an end %s: the file" % title, lines.read_text() == written and written.count("x") == 1, (written, lines.read_text()))
        self.stop()
        self.start("--again", "all")
        again = self.ask("w" + title, "x", model="writer")
        self.check("with --again it is written once more", again[0] == 200 and lines.read_text().count("x") == 2, (again, lines.read_text()))

    def file(self):
        self.stop()
        journal = self.folder.path / "server.journal"
        code, out, err = self.folder.run("resume", str(journal))
        self.check("a server's journal is not resumed", code == 1 and "journal of a server" in err, (code, err))
        p = subprocess.run([self.folder.pdl, "serve", "--port", "0", "--durable", "--record", str(self.folder.path / "x.journal"), "nothing.pdl"],
                           capture_output=True, text=True, env=self.folder.env, timeout=SECONDS)
        self.check("a program that is not there", p.returncode != 0 and not (self.folder.path / "x.journal").exists(), p.stderr)
        self.check("no key of the environment is in the file", b"sk-canary" not in journal.read_bytes() and oct(journal.stat().st_mode)[-3:] == "600")
        db = sqlite3.connect(journal)
        db.execute("update runs set end = end - 90000 where end > 0")
        db.commit()
        db.close()
        self.start()
        before = self.service.asked["one a"]
        self.check("answers are kept for a day", self.ask("k1", "a")[0] == 200 and self.service.asked["one a"] == before + 1, self.service.asked)
        rows = sqlite3.connect(journal).execute("select count(distinct run) from effects").fetchone()[0]
        self.check("and then removed", rows <= 2, rows)
        q = subprocess.run([self.folder.pdl, "serve", "--port", "0", "--durable", "--record", str(journal), str(self.folder.path / "main.pdl")],
                           capture_output=True, text=True, env=self.folder.env, timeout=SECONDS)
        self.check("a journal has one server", q.returncode == 1 and "runs already" in q.stderr, q.stderr)
        self.stop()

    def run(self):
        os.chdir(self.folder.path)
        self.start()
        for part in (self.answers, self.streams, self.policies, self.disconnects, self.kills, self.actions, self.writes, self.file):
            part()
        self.folder.remove()


if __name__ == "__main__":
    sys.exit(kit.main(Test))
