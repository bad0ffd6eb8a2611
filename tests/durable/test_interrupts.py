# SPDX-License-Identifier: Apache-2.0
"""A durable run that is interrupted, at any point after it is started, says how it continues."""
import os
import signal
import subprocess
import time

import pytest

from ..checks import check

PROGRAM = 'text:\n- "begun "\n- {lang: command, args: [sleep, "${ n }s"]}\n- done\n'


def interrupted(pdl, folder, seconds, *args):
    p = subprocess.Popen([pdl, *args], cwd=folder, env={**os.environ, "PDL_RUNS": str(folder / "runs")}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, start_new_session=True)
    time.sleep(seconds)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    return p.returncode, out, err


@pytest.mark.parametrize("more", [(), ("--record", "x.journal")], ids=["listed", "a file"])
def test_each_instant(pdl, folder, more):
    (folder / "a.pdl").write_text(PROGRAM)
    told = 0
    for i, seconds in enumerate((0.005, 0.01, 0.02, 0.05, 0.2)):
        own = ("--id", "r%d" % i) if not more else (more[0], "r%d.journal" % i)
        code, _, err = interrupted(pdl, folder, seconds, "--durable", *own, "-d", "n=30", "a.pdl")
        began = (folder / "runs" / ("r%d.journal" % i)).exists() or (folder / own[1]).exists()
        told += "pdl resume %s continues" % own[1] in err
        # the process may end before it has made the journal, or have made just the file
        check("%s s" % seconds, code == 130 and ("pdl resume %s continues" % own[1] in err) == began or code == -signal.SIGINT, code, err, began)
    check("most instants are after the start", told >= 2, told)


def test_it_continues(pdl, folder):
    (folder / "a.pdl").write_text(PROGRAM)
    code, _, err = interrupted(pdl, folder, 0.3, "--durable", "--id", "r", "-d", "n=30", "a.pdl")
    check("interrupted", code == 130 and "pdl resume r continues the run" in err, code, err)
    code, _, err = interrupted(pdl, folder, 0.3, "resume", "r", "--again", "all")
    check("interrupted again", code == 130 and "pdl resume r continues the run" in err, code, err)
    r = subprocess.run([pdl, "resume", "r", "--again", "all", "-d", "n=0"], cwd=folder, env={**os.environ, "PDL_RUNS": str(folder / "runs")}, capture_output=True, text=True, timeout=60, check=False)
    check("and ends", r.returncode == 0 and r.stdout.split() == ["begun", "done"] and "continues" not in r.stderr, r)
