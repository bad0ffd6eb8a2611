# SPDX-License-Identifier: Apache-2.0
"""test_kills.py -- durable runs are killed and resumed until they end.

Eight programs use a service that counts its requests. They are killed at random moments and at writes of the journal, in `soak` at each write. After
the end, output and files are those of a run that was not killed. The service has answered each prompt once, and at most once more for each kill and
branch. Actions were repeated at most once for each kill and branch.
"""
import random
import subprocess
import time

import pytest

from ..checks import check
from ..harness.choice import Choice
from .kit import BRANCHES, PROGRAMS, Folder, Service, shim

pytestmark = pytest.mark.memory(False)
MAX_RESUMES = 60


class Kills:
    def __init__(self, pdl, name):
        self.pdl, self.name, self.shim, self.service = pdl, name, shim(), Service()
        self.plain = self.reference()

    def reference(self):
        """Output, files, prompts, actions, writes and seconds of a run that nobody kills."""
        f = Folder(self.pdl, self.service, PROGRAMS[self.name])
        start = time.monotonic()
        code, out, err = f.run("--durable", "--id", "r", "-o", "printed", "main.pdl",
                               env={"LD_PRELOAD": self.shim, "PDL_KILL_COUNT": str(f.path / "writes")})
        seconds = time.monotonic() - start
        writes = int((f.path / "writes").read_text())
        (f.path / "writes").unlink()
        check(self.name + ": runs", code == 0, "%s %s %s" % (code, out, err))
        return f.files(), dict(self.service.asked), f.acts(), writes, seconds

    def one(self, title, kill_first, kill_later):
        """kill_first: (env, seconds) of the first process; kill_later(n): the same of the nth resume, None: it is not killed."""
        self.service.begin()
        f = Folder(self.pdl, self.service, PROGRAMS[self.name])
        args = ["--durable", "--id", "r", "-o", "printed", "main.pdl"]
        kills, plan = 0, kill_first
        for n in range(MAX_RESUMES):
            env, seconds = plan if plan else ({}, None)
            p = f.start(args, env=env)
            if seconds is not None:
                time.sleep(seconds)
                f.kill(p)
            try:
                out, err = p.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                f.kill(p)
                out, err = p.communicate()
                check(title + ": ends", False, err)
                break
            if p.returncode == 0:
                break
            if p.returncode != -9:
                text = err.decode("utf-8", "replace")
                if "nothing was recorded" in text or "there is no run" in text:
                    args = ["--durable", "--id", "r", "-o", "printed", "main.pdl"]  # it left nothing, the name is free
                    plan = kill_later(n)
                    continue
                check(title + ": resume %d" % n, False, "%s: %s" % (p.returncode, text))
                break
            kills += 1
            args = ["resume", "r", "--again", "all", "--rebuild"]
            plan = kill_later(n)
        self.compare(title, f, kills)

    def compare(self, title, f, kills):
        """With the run that nobody killed."""
        files, prompts, acts, _, _ = self.plain
        got = f.files()
        check(title + ": output and files", got == files, "%s\n---\n%s" % (got, files))
        branches = BRANCHES.get(self.name, 1 if self.name != "streaming" else 2)
        most = {t: n + kills for t, n in prompts.items()}
        over = {t: n for t, n in self.service.asked.items() if n > most.get(t, 0)}
        missing = [t for t in prompts if t not in self.service.asked]
        check(title + ": each prompt is asked once, and once more for each kill at most", not over and not missing, (over, missing, kills))
        again = sum(self.service.asked.values()) - sum(prompts.values())
        check(title + ": calls in flight", again <= kills * max(branches, 4), (again, kills))
        more = sum(f.acts().values()) - sum(acts.values())
        check(title + ": actions", 0 <= more <= kills, (f.acts(), kills))
        for t, keys in self.service.keys.items():
            check(title + ": keys", all(keys) and len(set(keys)) <= prompts.get(t, 1) + 1, (t, keys))


@pytest.mark.seconds(7200 if Choice.tier == "soak" else 240)
@pytest.mark.parametrize("name", PROGRAMS)
def test_kills(pdl, scale, name):
    t, rng = Kills(pdl, name), random.Random(Choice.seed + name)
    _, _, _, writes, seconds = t.plain
    for _ in range(scale(3)):
        again = rng.random() < 0.5
        t.one("%s, killed at a random instant" % name, ({}, rng.uniform(0, seconds)),
              lambda n, again=again: ({}, rng.uniform(0, seconds)) if again and n < 3 else None)
    points = range(1, writes + 1)
    for n in points if Choice.tier == "soak" else sorted(rng.sample(points, min(scale(3), writes))):
        t.one("%s, killed at write %d" % (name, n), ({"LD_PRELOAD": t.shim, "PDL_KILL_AT": str(n)}, None), lambda k: None)
