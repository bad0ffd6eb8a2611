# SPDX-License-Identifier: Apache-2.0
"""Records of many runs in `pdl view`: the folder of a search, the rows of an evaluation, a distribution."""
import json
import re
import subprocess

from ..checks import check
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")

SAYS = "defs: {word: no}\ntext: [\"${ word if n > 2 else 'yes' }\"]\n"
JUDGE = "object: {score: \"${ 1 if result == expected else 0 }\", feedback: \"wanted ${ expected }, not <b>${ result }</b>\"}\n"


def pdl(folder, *args):
    return subprocess.run([PDL, *args], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


def write(folder, n):
    (folder / "says.pdl").write_text(SAYS)
    (folder / "judge.pdl").write_text(JUDGE)
    (folder / "rows.jsonl").write_text("".join(json.dumps({"n": i % 5, "want": "yes" if i % 3 else "maybe"}) + "\n" for i in range(n)))


def test_rows_of_an_evaluation(folder):
    write(folder, 6)
    r = pdl(folder, "eval", "says.pdl", "--input", "rows.jsonl", "--expect", "want", "--judge", "judge.pdl", "-o", "out.jsonl")
    check("eval", r.returncode == 0, r.stderr)
    r = pdl(folder, "view", "out.jsonl", "--md", "-")
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    right = sum(row["right"] for row in rows)
    check("the sum", "says.pdl: %d of 6 right, mean score %.3f" % (right, right / 6) in r.stdout, r.stdout, r.stderr)
    check("rows, and their judge's words", "6 rows" in r.stdout and "want: maybe → yes  Score 0.0: wanted maybe, not \\<b\\>yes\\</b\\>" in r.stdout.replace("\n", " "), r.stdout)
    check("text", pdl(folder, "view", "out.jsonl", "--text", "-").stdout.startswith("says.pdl: "))


def test_search(folder):
    """What the report says, the candidates with their scores, the winner, and the rows of each; up to where it is while it goes on."""
    write(folder, 60)
    r = pdl(folder, "optimize", "says.pdl", "--data", "rows.jsonl", "--expect", "want", "--vary", "word=no,other,perhaps", "--judge", "judge.pdl")
    check("optimize", r.returncode == 0, r.stderr[-500:], r.stdout)
    found = next((folder / "experiments").iterdir())
    for name in found.name, "experiments/" + found.name, str(found):
        r = pdl(folder, "view", name, "--md", "-")
        check("title of " + name[:11], r.stdout.startswith("# says.pdl by race\n\nFinished · "), r.stdout[:300], r.stderr)
    text = pdl(folder, "view", found.name, "--text", "-").stdout
    report = (found / "report.md").read_text()
    sentences = [line for line in report.splitlines() if line and line[0] not in "#|"]
    check("all sentences of the report, the verdict first", sorted(sentences) == sorted(filter(None, text.splitlines())) and "program as it was" in text.splitlines()[0], text, report)
    lines = [line for line in r.stdout.splitlines() if re.match(r"    - candidate \d", line)]
    scores = [json.loads(line) for line in (found / "candidates.jsonl").read_text().splitlines()]
    check("candidates in their order, with score and change", len(lines) == len(scores) and all(
        "candidate %d" % c["candidate"] in line and "score %.3f on %d rows" % (c["validation"]["score"], c["validation"]["rows"]) in line for c, line in zip(scores, lines)), lines)
    check("what it changes", any("word: perhaps" in line for line in lines), lines)
    check("a row with the judge's words", "Score 0.0: wanted maybe, not" in r.stdout, r.stdout[-800:])
    (found / "report.md").unlink()
    (found / "candidates.jsonl").write_text("".join(json.dumps({"candidate": i, "values": {"word": "w%d" % i}}) + "\n" for i in range(len(scores))))
    r = pdl(folder, "view", found.name, "--md", "-")
    n = len((found / "scores.jsonl").read_text().splitlines())
    check("a search that goes on", r.stdout.startswith("# Search\n\nNot ended · ") and "%d evaluations so far" % n in r.stdout and "word: w1" in r.stdout, r.stdout[:600], r.stderr)
    (found / "scores.jsonl").write_text('{"candidate": 99999999999, "score": "NaN"}\n[1]\nnot JSON\n{"candidate": 1, "score": null, "program": 3}\n')
    r = pdl(folder, "view", found.name, "--md", "-")
    check("damaged scores", r.returncode == 0 and "1 evaluation so far" in r.stdout, r.stdout[:300], r.stderr)
    check("candidates without evaluations are no runs", r.stdout.split("\n")[2] == "Not ended \u00b7 1 run", r.stdout[:300])
    pdl(folder, "view", found.name, "--html", "out.html")
    tables = json.loads(re.search(r'id="run-rows"[^>]*>(.*?)</script>', (folder / "out.html").read_text(), re.S).group(1))
    cells = [cell for table in tables.values() for row in table["items"] for cell in row["cells"]]
    check("an unknown number is an empty cell", "" in cells and "null" not in cells, cells[:40])


def test_distribution(folder):
    (folder / "coin.pdl").write_text("defs: {p: \"${ range(100) | random }\"}\ntext: [{factor: \"${ p / 100 }\"}, \"${ 'head' if p > 40 else 'tail' }\"]\n")
    r = pdl(folder, "infer", "coin.pdl", "-n", "30", "--seed", "4", "--algo", "is", "--json")
    d = json.loads(r.stdout)
    (folder / "d.json").write_text(r.stdout)
    r = pdl(folder, "view", "d.json", "--md", "-")
    check("the sample, and what the inference was", "```text\n%s\n\n30 runs (algorithm: is), effective number of runs" % d["sample"] in r.stdout and "seed 4" in r.stdout, r.stdout, r.stderr)
    at = [r.stdout.index("value → " + v) for v in d["values"]]
    check("values, most probable first", at == sorted(at), r.stdout)
    runs = [d["particles"]["value"].count(i) for i in range(len(d["values"]))]
    check("the runs of each", all("      - %d rows" % n in r.stdout for n in runs), r.stdout)
    first = d["particles"]["logit"][0]
    check("their weights", "run 1 → log weight %.6g" % first in r.stdout, r.stdout, first)
