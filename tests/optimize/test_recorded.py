# SPDX-License-Identifier: Apache-2.0
"""The worked example of the manual: the recorded answers of a real small model. The winner is better by twenty points on rows that it has never
seen."""
import json
import os
import pathlib
import re
import shutil
import subprocess

from ..checks import check
from ..harness.choice import ROOT

EXAMPLE = ROOT / "examples" / "optimize"
WORDS = ["feelings.pdl", "--data", "reviews.csv", "--expect", "feeling", "--demos", "shots", "--cache", "feelings.cache"]


def search(pdl, folder, *more):
    """Without a key, and at an address where nothing listens."""
    env = {**os.environ, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": ""}
    return subprocess.run([pdl, "optimize", *WORDS, *more], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_the_winner_on_unseen_rows(pdl, folder):
    work = pathlib.Path(shutil.copytree(EXAMPLE, folder / "optimize"))
    p = search(pdl, work, "--json")
    check("it runs from the recording", p.returncode == 0, p.stderr)
    r = json.loads(p.stdout)
    before, winner = r["before"]["test"], r["winner"]["test"]
    check("no answer is missing", before["failed"] == winner["failed"] == 0 and r["before"]["first_error"] is None, r["before"], r["winner"])
    check("fewer than half of the answers are right before", 0.3 <= before["score"] <= 0.5, before)
    check("twenty points better", winner["score"] - before["score"] >= 0.2 and r["verdict"]["is"] == "better" and r["kept"] == "winner", winner, r["verdict"])
    check("few calls", r["calls"] <= 3000, r["calls"])
    seen = {row["row"] for row in map(json.loads, (work / r["folder"] / "scores.jsonl").read_text("utf-8").splitlines()) if row["part"] != "test"}
    tested = {row["row"] for row in map(json.loads, (work / r["folder"] / "scores.jsonl").read_text("utf-8").splitlines()) if row["part"] == "test"}
    check("the rows for the test are others", len(tested) == 60 and not seen & tested, seen & tested)


def test_the_manual_shows_it(pdl, folder):
    """The rows of the tables and the verdict in the page are those of the search."""
    page = (ROOT / "docs" / "manual" / "optimize.md").read_text("utf-8").split("## A real model, offline", 1)[1].split("\n## ", 1)[0]
    work = pathlib.Path(shutil.copytree(EXAMPLE, folder / "optimize"))
    report = search(pdl, work).stdout.splitlines()
    shown = re.findall(r"^(?:\| (?:\d+|as it was|winner) \| .*|The winner is better .*|\d+ candidates, .*|\d+ evaluations, .*)$", page, re.M)
    check("the page has them", len(shown) >= 9, page)
    for line in shown:
        check("the report has it", line in report, line, report)
    check("the program that the page shows", (EXAMPLE / "feelings.pdl").read_text("utf-8") in page)
