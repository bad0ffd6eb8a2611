#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_kills.py -- durable runs are killed and resumed until they end.

    test_kills.py BUILD_DIR [--kills N] [--seed N] [--every] [--table]

Eight programs, against a service that counts. Without options a few random instants and writes of the journal each, with fixed seeds;
--kills N: so many at random instants; --every: one at every write of the journal. After the end: output and files are those of a run
that nobody killed, the service has answered each prompt once and at most once more for each kill and branch, actions were repeated at
most once for each kill and branch. Last line: `N passed, N failed`.
"""
import argparse
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks  # noqa: E402
from kit import BRANCHES, PROGRAMS, Folder, Service, shim  # noqa: E402

MOST_RESUMES = 60


class Kills(Checks):
    def __init__(self, build):
        self.build, self.pdl, self.shim = build, build + "/pdl", shim(build)
        self.service = Service()
        self.kills = self.repeats = self.acts_again = self.lost = self.repeated = 0
        self.plain = {}

    def reference(self, name):
        """Output, files, prompts, actions, writes and seconds of a run that nobody kills."""
        if name not in self.plain:
            self.service.begin()
            f = Folder(self.pdl, self.service, name, PROGRAMS[name])
            start = time.monotonic()
            code, out, err = f.run("--durable", "--id", "r", "-o", "printed", "main.pdl",
                                   env={"LD_PRELOAD": self.shim, "PDL_KILL_COUNT": str(f.path / "writes")})
            seconds = time.monotonic() - start
            writes = int((f.path / "writes").read_text())
            (f.path / "writes").unlink()
            self.check(name + ": runs", code == 0, "%s %s %s" % (code, out, err))
            self.plain[name] = (f.files(), dict(self.service.asked), f.acts(), writes, seconds)
            f.remove()
        return self.plain[name]

    def one(self, name, title, kill_first, kill_later):
        """kill_first: (env, seconds) of the first process; kill_later(n): the same of the nth resume, None: it is not killed."""
        files, prompts, acts, _, _ = self.reference(name)
        self.service.begin()
        f = Folder(self.pdl, self.service, name, PROGRAMS[name])
        args = ["--durable", "--id", "r", "-o", "printed", "main.pdl"]
        kills, plan = 0, kill_first
        for n in range(MOST_RESUMES):
            env, seconds = plan if plan else ({}, None)
            p = f.start(args, env=env)
            if seconds is not None:
                time.sleep(seconds)
                f.kill(p)
            try:
                out, err = p.communicate(timeout=60)
            except Exception:
                f.kill(p)
                out, err = p.communicate()
                self.check(title + ": ends", False, err)
                break
            if p.returncode == 0:
                break
            if p.returncode != -9:
                text = err.decode("utf-8", "replace")
                if "nothing was recorded" in text or "there is no run" in text:
                    args = ["--durable", "--id", "r", "-o", "printed", "main.pdl"]  # it left nothing, the name is free
                    plan = kill_later(n)
                    continue
                self.check(title + ": resume %d" % n, False, "%s: %s" % (p.returncode, text))
                break
            kills += 1
            args = ["resume", "r", "--again", "all", "--rebuild"]
            plan = kill_later(n)
        self.kills += kills
        got = f.files()
        self.check(title + ": output and files", got == files, "%s\n---\n%s" % (got, files))
        self.lost += got != files
        branches = BRANCHES.get(name, 1 if name != "streaming" else 2)
        most = {t: n + kills for t, n in prompts.items()}
        over = {t: n for t, n in self.service.asked.items() if n > most.get(t, 0)}
        missing = [t for t in prompts if t not in self.service.asked]
        self.check(title + ": each prompt is asked once, and once more for each kill at most", not over and not missing, (over, missing, kills))
        again = sum(self.service.asked.values()) - sum(prompts.values())
        self.check(title + ": calls in flight", again <= kills * max(branches, 4), (again, kills))
        self.repeats += max(0, again)
        more = sum(f.acts().values()) - sum(acts.values())
        self.check(title + ": actions", 0 <= more <= kills, (f.acts(), kills))
        self.acts_again += more
        for t, keys in self.service.keys.items():
            self.check(title + ": keys", all(keys) and len(set(keys)) <= prompts.get(t, 1) + 1, (t, keys))
        f.remove()

    def at_random(self, rng, name):
        seconds = self.reference(name)[4]
        again = rng.random() < 0.5
        later = lambda n: ({}, rng.uniform(0, seconds)) if again and n < 3 else None  # noqa: E731
        self.one(name, "%s, killed at a random instant" % name, ({}, rng.uniform(0, seconds)), later)

    def at_write(self, name, n):
        env = {"LD_PRELOAD": self.shim, "PDL_KILL_AT": str(n)}
        self.one(name, "%s, killed at write %d" % (name, n), (env, None), lambda k: None)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("build")
    ap.add_argument("--kills", type=int, default=24)
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--every", action="store_true")
    ap.add_argument("--only")
    a = ap.parse_args()
    t, rng, start = Kills(a.build), random.Random(a.seed), time.monotonic()
    names = [n for n in PROGRAMS if not a.only or n == a.only]
    while t.kills < (8 if "asan" in a.build else a.kills) and t.failed < 20:
        t.at_random(rng, names[0])
        names = names[1:] + names[:1]
    for name in names:
        writes = t.reference(name)[3]
        for n in range(1, writes + 1) if a.every else sorted(rng.sample(range(1, writes + 1), 1 if "asan" in a.build else min(3, writes))):
            t.at_write(name, n)
    print("kills %d, lost %d, in-flight repeats %d, actions repeated %d, %.0f s" % (t.kills, t.lost, t.repeats, t.acts_again, time.monotonic() - start))
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
