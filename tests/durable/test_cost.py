# SPDX-License-Identifier: Apache-2.0
"""test_cost.py -- a call writes few pages into its journal, writes each message once, and sends nothing before the journal is synced."""
import sqlite3

import pytest

from ..checks import check, same
from .kit import STOP, Folder, Service, kill_at_stop, shim

CHAIN = "text:\n- for: {i: \"${ range(n) | list }\"}\n  repeat:\n    text:\n    - {model: openai/m, input: \"number ${ i }\", def: x}\n    - \"${ x | length }\"\n"
ASK = "- for: {i: \"${ range(20) | list }\"}\n  repeat: {model: openai/m, input: \"number ${ i }\"}\n  context: independent\n"
TWICE = "text:\n" + ASK + "- " + STOP + "\n" + ASK
INDEX = "CREATE UNIQUE INDEX messages_hash ON messages(hash)"


def test_writes_of_a_call(pdl):
    """Two writes are a page of the log: the answer changes one page, the next call one page and that of its message; new pages now and then."""
    f = Folder(pdl, Service(0), CHAIN)
    counts = []
    for n in (50, 450):
        to = f.path / ("count%d" % n)
        code, _, err = f.run("--durable", "--id", "n%d" % n, "--stream", "none", "-d", "n: %d" % n, "main.pdl", env={"LD_PRELOAD": shim(), "PDL_KILL_COUNT": str(to)})
        same(code, 0, err)
        counts.append(int(to.read_text()))
    a_call = (counts[1] - counts[0]) / 400
    check("it writes little", 4 < a_call < 8.6, a_call)
    f.remove()


@pytest.mark.parametrize("older", [False, True], ids=["now", "with an index"])
def test_each_message_is_kept_once(pdl, older):
    """Also by the process that resumes, in a file that has an index of the messages, as files once had."""
    service = Service(0)
    f = Folder(pdl, service, TWICE)
    kill_at_stop(f)
    db = sqlite3.connect(f.journal)
    same(db.execute("SELECT count(*) FROM messages").fetchone(), (20,))
    if older:
        db.execute(INDEX)
        db.commit()
    db.close()
    code, _, err = f.run("resume", "r", "--again", "text.1.code")
    same(code, 0, err)
    db = sqlite3.connect(f.journal)
    same(db.execute("SELECT count(*), count(DISTINCT hash) FROM messages").fetchone(), (20, 20))
    same(db.execute("SELECT count(*) FROM effects WHERE kind = 'model'").fetchone(), (40,))
    db.close()
    same(max(service.answered.values()), 2)
    f.remove()


@pytest.mark.parametrize("after", [20, 40])
def test_a_sync_that_fails_stops_the_run(pdl, after):
    """Nothing is sent whose row the disk may not have, and the message has the words of the system."""
    service = Service(0)
    f = Folder(pdl, service, CHAIN)
    code, _, err = f.run("--durable", "--id", "r", "-d", "n: 100", "main.pdl", env={"LD_PRELOAD": shim(), "PDL_SYNC_FAILS": str(after)})
    check("the run ends", code == 1 and "cannot write " in err and "r.journal: Input/output error" in err, code, err)
    check("after the last sync nothing is sent", 0 < sum(service.asked.values()) <= after, service.asked)
    f.remove()
