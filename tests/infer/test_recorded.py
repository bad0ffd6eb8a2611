# SPDX-License-Identifier: Apache-2.0
"""The worked example of the manual: the recorded votes of a real small model. A majority is right more often than one answer, with fewer than five
calls for each row."""
import json
import os
import pathlib
import shutil
import subprocess

from ..checks import check
from ..harness.choice import ROOT

EXAMPLE = ROOT / "examples" / "infer"


def votes(pdl, folder, *more):
    """Without a key, and at an address where nothing listens."""
    env = {**os.environ, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": ""}
    words = ["votes.pdl", "--infer", "maj", "-n", "5", "--input", "reviews.csv", "--expect", "feeling", "--cache", "votes.cache"]
    p = subprocess.run([pdl, "eval", *words, *more], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    check("it runs from the recording", p.returncode == 0 and not p.stderr, p.stderr)
    return p.stdout


def test_a_majority_is_better(pdl, folder):
    work = pathlib.Path(shutil.copytree(EXAMPLE, folder / "infer"))
    r = json.loads(votes(pdl, work, "--json"))["programs"][0]
    right = {x["n"]: x["right"] for x in r["inference"]["by_n"]}
    check("no answer is missing", r["failed"] == 0 and r["rows"] == 70, r)
    check("single draws are under three quarters", right[1] < 0.75 * 70, right)
    check("a majority of five is ten points better", right[5] - right[1] >= 7 and right[3] > right[1], right)
    check("a tenth of the calls is saved, and more", r["inference"]["runs"] <= 0.9 * 5 * 70, r["inference"]["runs"])
    check("the same at any --jobs", json.loads(votes(pdl, work, "--json", "--jobs", "1"))["programs"][0]["inference"] == r["inference"])


def test_the_manual_shows_it(pdl, folder):
    page = (ROOT / "docs" / "manual" / "infer.md").read_text("utf-8")
    work = pathlib.Path(shutil.copytree(EXAMPLE, folder / "infer"))
    lines = votes(pdl, work).splitlines()
    check("there is a table", len(lines) == 9, lines)
    for line in lines:
        check("the page shows it", "\n    " + line + "\n" in page, line)
    check("the program that the page shows", (EXAMPLE / "votes.pdl").read_text("utf-8") in page)
