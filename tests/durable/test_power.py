# SPDX-License-Identifier: Apache-2.0
"""test_power.py -- the states in which a power cut may leave a journal: writes that were not synced are lost, torn or reordered.

A shim (power.c) notes what a run does. For points of this list the test makes disks that hold everything up to the last sync of each file, and any of
the sectors that were written later. Each disk must be a sound journal. It must have every row on which a request or a byte of output depended that
left the process before the cut. The run is then resumed from the disk.
"""
import pathlib
import random
import re
import sqlite3
import struct

import pytest

from ..checks import check
from ..harness.choice import Choice
from .kit import Folder, Service, shim

pytestmark = pytest.mark.memory(False)
SECTOR = 512
CALLS = 30
# Each call depends on the one before it, and prints its answer.
PROGRAM = """
text:
- for: {i: "${ range(%d) | list }"}
  repeat:
    text:
    - {model: openai/m, input: "call ${ i } end", def: answer, contribute: []}
    - {lang: command, code: "sh -c 'echo ${ i } >> acts'", contribute: []}
    - "[${ answer }]\\n"
""" % CALLS


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        what, n_path, n_data, offset = struct.unpack_from("<cIIq", data, at)
        at += 17
        yield what.decode(), data[at:at + n_path].decode(), offset, data[at + n_path:at + n_path + n_data]
        at += n_path + n_data


class Disk:
    """Files with what is on them for good, and what was written since their last sync."""

    def __init__(self):
        self.files = {}

    def apply(self, what, path, offset, data):
        if what == "d":  # what was removed stays so
            for name in [n for n, (_, later) in self.files.items() if any(x[0] == "u" for x in later)]:
                image, later = self.files[name]
                last = max(i for i, x in enumerate(later) if x[0] == "u")
                self.files[name] = (bytearray(), later[last + 1:])
            return
        image, later = self.files.setdefault(path, (bytearray(), []))
        if what == "s":
            for w, at, d in later:
                if w != "u":  # the name is the folder's
                    self.put(image, w, at, d)
            later[:] = [x for x in later if x[0] == "u"]
        elif what in "wtu":
            if what == "w" and any(x[0] == "u" for x in later):  # another file of the name
                del image[:]
                later.clear()
            later.append((what, offset, data))

    @staticmethod
    def put(image, what, at, data):
        if what == "w":
            if len(image) < at + len(data):
                image.extend(bytes(at + len(data) - len(image)))
            image[at:at + len(data)] = data
        else:
            del image[at if what == "t" else 0:]

    def after_cut(self, rng):
        """{path: bytes}: of what was not synced, any sectors."""
        out = {}
        for path, (image, later) in self.files.items():
            image = bytearray(image)
            some = rng.choice((0, 0.5, 0.9, 1))
            for what, at, data in later:
                if what != "w":
                    if rng.random() < some:
                        self.put(image, what, at, data)
                    continue
                for n in range(0, len(data), SECTOR):
                    if rng.random() < some:
                        self.put(image, "w", at + n, data[n:n + SECTOR])
            out[path] = bytes(image)
        return out


class Power:
    def __init__(self, pdl):
        self.service = Service(0)
        self.f = Folder(pdl, self.service, PROGRAM)

    def point(self, i, files, asked, printed, rng):
        got = self.left(files)
        if not isinstance(got, tuple):
            check("cut %d: the journal is sound" % i, False, got)
            return
        begun, answered, acts = got
        check("cut %d: what was acted on is there" % i, begun >= asked and answered >= max(printed, asked - 1), (begun, answered, acts, asked, printed))
        if begun and rng.random() < 0.05:
            self.service.begin()
            code, out, err = self.f.run("resume", "./disk/r.journal", "--again", "all", timeout=300)
            again = [re.search(r"\d+", t).group(0) for t in self.service.asked]
            check("cut %d: the run continues" % i, code == 0 and out.count("[") == CALLS and len(again) <= CALLS - answered, (code, err, answered, len(again)))

    def left(self, files):
        """Puts the files; returns (begun calls, answered calls, commands), or why the journal is not sound."""
        folder = self.f.path / "disk"
        folder.mkdir(exist_ok=True)
        for p in folder.iterdir():
            p.unlink()
        for path, data in files.items():
            if data or path.endswith(".journal"):
                (folder / pathlib.Path(path).name).write_bytes(data)
        db = sqlite3.connect(folder / "r.journal")
        try:
            if db.execute("pragma integrity_check").fetchone()[0] != "ok":
                return "integrity_check"
            if not db.execute("select count(*) from sqlite_master").fetchone()[0]:
                return 0, 0, 0
            one = lambda q: db.execute("select count(*) from effects where " + q).fetchone()[0]  # noqa: E731
            return one("kind = 'model'"), one("kind = 'model' and reply is not null"), one("kind = 'command'")
        except sqlite3.DatabaseError as e:
            return repr(e)
        finally:
            db.close()

    def records(self):
        """What a run does, which nobody cuts short."""
        log = self.f.path / "log"
        code, out, err = self.f.run("--durable", "--id", "r", "main.pdl", env={"LD_PRELOAD": shim("power"), "PDL_POWER_LOG": str(log)}, timeout=300)
        check("the run ends", code == 0 and out.count("[") == CALLS, (code, err))
        found = list(records(log))
        check("its syncs were seen", sum(r[0] == "s" for r in found) > CALLS, len(found))
        return found


def test_power(pdl, scale):
    t, rng, disk = Power(pdl), random.Random(Choice.seed), Disk()
    found = t.records()
    chosen, asked, printed = set(rng.sample(range(len(found)), min(scale(500, 60), len(found)))), 0, b""
    for i, (what, path, offset, data) in enumerate(found):
        if what == "n":
            asked += data.count(b"POST /")
        elif what == "o":
            printed += data
        else:
            disk.apply(what, path, offset, data)
        if i in chosen:
            t.point(i, disk.after_cut(rng), asked, printed.count(b"]"), rng)
