# SPDX-License-Identifier: Apache-2.0
"""A bit that a disk or memory flips in a stored answer is noticed in recordings and caches, as in journals. Older files have no checksums and can
still be read."""
import json
import os
import sqlite3
import subprocess

import pytest

from ..checks import check
from ..docs.test_pages import Server

PROGRAM = "text:\n- hello wide world\n- {model: openai/upper}\n"


class Files:
    def __init__(self, pdl, folder):
        self.pdl, self.folder = pdl, folder
        server = Server(pdl, folder, "pdl mock")
        (folder / "a.pdl").write_text(PROGRAM)
        self.env = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "mock"}
        self.want = self.run("--record", "a.journal", "a.pdl")
        check("a run", self.want == (0, "hello wide worldHELLO WIDE WORLD\n", ""), self.want)
        self.run("--cache", "a.db", "a.pdl")
        server.stop()

    def run(self, *args):
        r = subprocess.run([str(self.pdl), *args], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=60, check=False)
        return r.returncode, r.stdout, r.stderr


@pytest.mark.parametrize("name, use, told", [
    ("a.journal", ["--replay", "b.journal", "a.pdl"], "replay: b.journal is damaged: the answer of "),
    ("a.db", ["--cache", "b.db", "a.pdl"], "b.db is damaged: a reply is not what was written: remove it"),
    ("a.db", ["cache", "export", "b.db"], "b.db is damaged: a reply is not what was written: remove it"),
])
def test_flipped(pdl, folder, name, use, told):
    f = Files(pdl, folder)
    whole = (folder / name).read_bytes()
    places = [i for i in range(len(whole)) if whole.startswith(b"HELLO WIDE", i)]
    check("the answer is there", places)
    for bit in range(80):
        damaged = bytearray(whole)
        for place in places:
            damaged[place + bit // 8] ^= 1 << bit % 8
        (folder / name.replace("a.", "b.")).write_bytes(damaged)
        code, out, err = f.run(*use)
        # a byte that is no UTF-8 ends the reading of the text before its checksum is looked at
        check("%s: bit %d" % (use, bit), code == 1 and (told in err or bit % 8 == 7) and "b." in err and "WORLD" not in out, code, out, err)


def test_checksums_of_all_bytes(pdl, folder):
    """Also a checksum that is damaged itself, and one that is of another answer."""
    f = Files(pdl, folder)
    with sqlite3.connect(folder / "a.journal") as db:
        (number, reply), = db.execute("select id, reply from effects where kind = 'model'")
    text, _, seal = reply.rpartition("\n#")
    check("a line after the answer", json.loads(text) and len(seal) == 16, reply)
    for wrong in (text + "\n#" + "0" * 16, text.replace("HELLO", "hello") + "\n#" + seal, text + "\n#" + seal.upper()[::-1]):
        with sqlite3.connect(folder / "a.journal") as db:
            db.execute("update effects set reply = ? where id = ?", (wrong, number))
        code, out, err = f.run("--replay", "a.journal", "a.pdl")
        check("wrong", code == 1 and "is damaged: the answer of text.1.model is not what was written" in err, code, out, err)
        for command in (["trace", "a.journal"], ["runs", "export", "./a.journal", "c.journal"]):
            check(command[0], f.run(*command)[0] in (1, 2), command)


def test_files_without_checksums(pdl, folder):
    f = Files(pdl, folder)
    for file, table in (("a.journal", "effects"), ("a.db", "replies")):
        with sqlite3.connect(folder / file) as db:
            db.execute("update %s set reply = substr(reply, 1, instr(reply, char(10)) - 1) where reply like '%%WORLD%%'" % table)
    check("a recording", f.run("--replay", "a.journal", "a.pdl") == f.want)
    check("a cache", f.run("--cache", "a.db", "a.pdl") == f.want)
