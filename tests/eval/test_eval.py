# SPDX-License-Identifier: Apache-2.0
"""pdl eval: scores, samples, judges, comparisons; pdl test: files of tests beside programs."""
import json
import math
import xml.etree.ElementTree as ElementTree

from ..batch.kit import jsonl, t

ASK = "lastOf:\n- ${ question }\n- model: openai/upper\n"
NEGATED = "lastOf:\n- no ${ question }\n- model: openai/upper\n"
ROWS = [{"question": "q%d" % i, "answer": "Q%d" % i if i % 5 else "other"} for i in range(1, 21)]


def wilson(p, n, z=1.959963984540054):
    c, s = p + z * z / 2 / n, 1 + z * z / n
    h = z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    return [max(0, (c - h) / s), min(1, (c + h) / s)]


def near(a, b):
    return abs(a - b) < 1e-9


def evaluate(*args, **more):
    code, out, err = t.run(*args, "--json", word="eval", **more)
    return code, json.loads(out) if code == 0 else None, err


def test_eval():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS)})
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer")
    p = r["programs"][0]
    t.check("eval: score", code == 0 and (p["rows"], p["right"], p["failed"]) == (20, 16, 0) and near(p["score"], 0.8), "%s %s" % (r, err))
    t.check("eval: Wilson", all(near(a, b) for a, b in zip(p["interval"], wilson(0.8, 20))), p)
    t.check("eval: the answer is not shown to the program", all(x.startswith("q") for x in t.service.asked), t.service.asked)
    code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", word="eval")
    t.check("eval: a table for people", code == 0 and "0.800   0.584 to 0.919" in out, out + err)
    for args in (["-o", "p.pdl"], ["--junit", "./p.pdl"], ["-o", "data.jsonl"]):
        code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", *args, word="eval")
        t.check("eval: what is read is not written: " + args[1], code == 2 and "would be overwritten: '%s'" % args[1] in err
                and (t.folder / "p.pdl").read_text() == ASK, err)
    t.check("eval: nothing is left behind", sorted(x.name for x in t.folder.iterdir()) == ["data.jsonl", "p.pdl"], list(t.folder.iterdir()))
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--junit", "j.xml", "-o", "rows.jsonl")
    suite = ElementTree.parse(t.folder / "j.xml").getroot()
    t.check("eval: JUnit", suite.get("tests") == "20" and suite.get("failures") == "4" and len(suite.findall("testcase/failure")) == 4,
            (t.folder / "j.xml").read_text()[:300])
    rows = t.lines("rows.jsonl")
    t.check("eval: rows with scores", [x["right"] for x in rows] == [i % 5 != 0 for i in range(1, 21)] and rows[4]["answer"] == "other"
            and rows[4]["result"] == "Q5", rows[:2])


def test_fail_under():
    """Exit code 1 below the score, with the result printed as otherwise; the scores of the second program do not count."""
    t.begin({"p.pdl": ASK, "other.pdl": NEGATED, "data.jsonl": jsonl(ROWS)})
    for args, wanted in ((("0.8",), 0), (("0.81",), 1), (("0",), 0), (("1",), 1), (("0.8", "--against", "other.pdl"), 0), (("0.81", "--json"), 1)):
        code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--fail-under", *args, word="eval")
        said = "pdl: error: p.pdl: the mean score 0.800 is below %s of --fail-under" % args[0] in err
        t.check("eval: --fail-under " + " ".join(args), code == wanted and said == bool(wanted) and ("0.800" in out or json.loads(out)["programs"]), "%s %s %s" % (code, out, err))
    # three scores whose mean is 0.9, but for the rounding of the sum
    judge = "defs: {}\ndata: ${ input.score }\n"
    t.begin({"p.pdl": "text: x", "judge.pdl": judge, "data.jsonl": jsonl([{"score": x} for x in (0.7, 0.8, 1.0, 1.0, 1.0, 0.9)])})
    code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--judge", "judge.pdl", "--fail-under", "0.9", word="eval")
    t.check("eval: a mean that is the limit is not below it", code == 0 and not err, "%s %s %s" % (code, out, err))
    for wrong in ("1.5", "-0.1", "nan", "high", ""):
        code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--judge", "judge.pdl", "--fail-under=" + wrong, word="eval")
        t.check("eval refused: --fail-under=" + wrong, code == 2 and "argument --fail-under: expected a number from 0 to 1" in err, "%s %s" % (code, err))


def test_metrics():
    rows = [{"question": "a 17", "answer": 17}, {"question": "1,000 or 2.5", "answer": "2.5"}, {"question": "none", "answer": 3}]
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(rows)})
    for metric, right in (("numeric", 2), ("contains", 2), ("exact", 0)):
        code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--metric", metric)
        t.check("metric " + metric, code == 0 and r["programs"][0]["right"] == right, "%s %s" % (r, err))


def test_failures():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS)}, lambda prompt: (400, "no") if prompt == "q1" else None)
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer")
    p = r["programs"][0]
    t.check("failed rows are wrong", code == 0 and (p["right"], p["failed"]) == (15, 1), "%s %s" % (r, err))
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS)}, lambda prompt: (400, "no"))
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer")
    t.check("all rows fail", code == 0 and r["programs"][0]["right"] == 0 and r["programs"][0]["interval"][0] == 0, "%s %s" % (r, err))


def test_samples():
    said = {}

    def rule(prompt):
        n = said[prompt] = said.get(prompt, 0) + 1
        return 200, prompt.upper() if n <= 2 else "wrong"
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl([x for x in ROWS if x["answer"] != "other"][:4])}, rule)
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--samples", 5, "--pass", 2, "--jobs", 1, "--cache", "c.db")
    p = r["programs"][0]
    t.check("samples are asked", code == 0 and sum(t.service.asked.values()) == 20 and p["right"] == 8, "%s %s" % (r, err))
    t.check("pass@2 of 2 right in 5", near(p["pass"], 1 - math.comb(3, 2) / math.comb(5, 2)), p)
    code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--pass", 2, word="eval")
    t.check("pass k is at most the samples", code == 2 and "--pass" in err, err)


def test_judge():
    judge = "data: ${ 1.0 if result == expected else 0.6 if input.question == 'q5' else false }\n"
    t.begin({"p.pdl": ASK, "j.pdl": judge, "data.jsonl": jsonl(ROWS)})
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--judge", "j.pdl")
    p = r["programs"][0]
    t.check("judge: booleans and numbers", code == 0 and p["right"] == 17 and near(p["score"], 16.6 / 20), "%s %s" % (r, err))
    for text, score in ((" False.\\n", 0), ("True", 1), ("TRUE.", 1), (" 0.25\\n", 0.25), ("1.", 1)):
        t.begin({"p.pdl": ASK, "j.pdl": 'data: "%s"\n' % text, "data.jsonl": jsonl(ROWS)})
        code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--judge", "j.pdl")
        t.check("judge: the text %s is a score" % text, code == 0 and near(r["programs"][0]["score"], score), "%s %s" % (r, err))
    t.begin({"p.pdl": ASK, "j.pdl": "data: 'good'\n", "data.jsonl": jsonl(ROWS)})
    code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--judge", "j.pdl", word="eval")
    t.check("judge: anything else is refused", code == 1 and "the judge gave " in err and "expected a boolean, a number from 0 to 1, or {score, feedback}" in err, "%s %s" % (code, err))


def test_failing_judge():
    """A judge that fails on a row is an error of that row: the others are judged, and nothing that is paid for is lost."""
    judge = "data: ${ 1 // (0 if input.question == 'q3' else 1) if input.question != 'q7' else 'no idea' }\n"
    t.begin({"p.pdl": ASK, "j.pdl": judge, "data.jsonl": jsonl(ROWS)}, lambda prompt: (400, "no") if prompt == "q1" else None)
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--judge", "j.pdl", "-o", "rows.jsonl", "--junit", "j.xml",
                            "--against", "p.pdl")
    p = r and r["programs"][0]
    t.check("judge: a row that it fails on is wrong", code == 0 and (p["right"], p["failed"], p["rows"]) == (17, 3, 20) and near(p["score"], 17 / 20)
            and r["mcnemar"]["both_right"] == 17, "%s %s" % (r, err))
    t.check("judge: the first failure is shown", p["first_error"].startswith("row 1: ") and "pdl: note: p.pdl: " in err and "(3); row 1: " in err, "%s %s" % (p, err))
    rows = t.lines("rows.jsonl")[:20]
    t.check("judge: error and place of the row, and its answer", [i for i, x in enumerate(rows, 1) if x["error"]] == [1, 3, 7] and rows[2]["result"] == "Q3"
            and "the judge failed: " in rows[2]["error"] and rows[2]["place"].startswith("j.pdl:1") and not rows[2]["right"]
            and rows[6]["error"] == 'the judge gave "no idea": expected a boolean, a number from 0 to 1, or {score, feedback}' and rows[7]["error"] is None, [rows[0], rows[2], rows[6]])
    suite = ElementTree.parse(t.folder / "j.xml").getroot()
    t.check("judge: its failures are in JUnit", suite.get("failures") == "6" and "no idea" in (t.folder / "j.xml").read_text(), suite.attrib)
    code, r, err = evaluate("p.pdl", "--input", "data.jsonl", "--judge", "j.pdl", "--samples", 3, "--limit", 4)
    p = r["programs"][0]
    t.check("judge: failures of samples", code == 0 and (p["right"], p["failed"]) == (6, 6) and p["first_error"].startswith("row 1, sample 1: "), "%s %s" % (r, err))
    (t.folder / "bad.pdl").write_text("data: ${ 1 // (0 * (result | length)) }\n")
    code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--judge", "bad.pdl", "--against", "p.pdl", word="eval")
    t.check("judge: no answer could be judged", code == 1 and "no answer could be judged: row 2: the judge failed: " in err and "bad.pdl:1" in err
            and not out, "%s %s %s" % (code, out, err))


def test_against():
    t.begin({"p.pdl": ASK, "n.pdl": NEGATED, "data.jsonl": jsonl(ROWS)})
    code, r, err = evaluate("p.pdl", "--against", "n.pdl", "--input", "data.jsonl", "--expect", "answer")
    m = r["mcnemar"]
    t.check("against: pairs", code == 0 and (m["pairs"], m["only_first"], m["only_second"], m["both_right"]) == (20, 16, 0, 0), "%s %s" % (r, err))
    t.check("against: exact McNemar", near(m["p"], 2 * 0.5 ** 16), m)
    code, r, err = evaluate("p.pdl", "--against", "p.pdl", "--input", "data.jsonl", "--expect", "answer")
    t.check("against itself", code == 0 and r["mcnemar"]["p"] == 1, "%s %s" % (r, err))


def test_refused():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS), "bad.jsonl": '{"question": "x"}\n', "cut.jsonl": '{"question": \n', "none.jsonl": ""})
    cases = [(("p.pdl", "--input", "data.jsonl"), "--expect COLUMN and --judge PROGRAM"), (("p.pdl", "--expect", "answer"), "--input ROWS"),
             (("p.pdl", "--input", "bad.jsonl", "--expect", "answer"), "row 1 has no column 'answer'"),
             (("p.pdl", "--input", "cut.jsonl", "--expect", "answer"), "cut.jsonl:1: the row is not JSON"),
             (("p.pdl", "--input", "none.jsonl", "--expect", "answer"), "has no rows"),
             (("p.pdl", "--input", "data.jsonl", "--expect", "answer", "-o", "rows.csv"), "the rows are written as JSONL: name it FILE.jsonl")]
    for args, text in cases:
        code, out, err = t.run(*args, word="eval")
        t.check("eval refused: " + text, code == 2 and text in err, "%s %s" % (code, err))


GREET = "text:\n- text: Hello ${ name }!\n- \" \"\n- model: openai/gpt-4o-mini\n  input: Greet ${ name }, in one word\n"
TESTS = """tests:
- name: greets
  input: {name: Ada}
  replies: [Hi]
  expect: {output: "Hello Ada! Hi", result: "Hello Ada! Hi", contains: [Ada, Hi]}
  requests: {must: ["user: Greet Ada", gpt-4o-mini], never: [password]}
- name: wrong result
  input: {name: Ada}
  replies: [Hi]
  expect: {result: Bye}
- name: wrong requests
  input: {name: Ada}
  replies: [Hi]
  requests: {must: [Bob], never: [Ada]}
- name: refused
  input: {name: Ada}
  replies: [{status: 429, error: too many}]
  expect: {error: rate_limit}
- name: no reply
  input: {name: Ada}
  expect: {contains: Hello, error: no reply of the test}
- name: should fail
  input: {name: Ada}
  replies: [Hi]
  expect: {error: anything}
- name: fails
  expect: {output: x}
"""


def test_nothing_paid_in_vain():
    """What is wrong is told before the first question, and what was paid for is not lost to a full disk."""
    for_data = ("p.pdl", "--input", "data.jsonl", "--expect", "answer")
    files = {"p.pdl": ASK, "data.jsonl": jsonl(ROWS), "broken.pdl": "modl: openai/x\n", "needs.pdl": "lastOf:\n- ${ gone }\n- model: openai/upper\n",
             "sum.pdl": "lastOf:\n- ${ question + 1 }\n- model: openai/upper\n"}
    t.begin(files)
    said = {"broken.pdl": "broken.pdl:1 - ", "needs.pdl": "needs.pdl: the program needs the variable 'gone'", "gone.pdl": "'gone.pdl'"}
    cases = [(option, name, text) for option in ("--against", "--judge") for name, text in said.items()]
    cases += [("--against", "sum.pdl", "this follows from the columns of data.jsonl"), ("--junit", "gone/j.xml", "argument --junit: there is no folder 'gone'"),
              ("--junit", ".", "argument --junit: '.' is a folder, not a file"), ("-o", "gone/rows.jsonl", "argument --output: there is no folder 'gone'"), ("-o", ".", "argument --output: '.' is a folder, not a file")]
    for option, name, text in cases:
        code, out, err = t.run(*for_data, option, name, word="eval")
        t.check("eval: refused before it asks: %s %s" % (option, name), code == 2 and text in err and not out and not t.service.asked,
                "%s %s %s" % (code, out + err, t.service.asked))
    (t.folder / "sees.pdl").write_text("lastOf:\n- ${ answer }\n- model: openai/upper\n")
    code, out, err = t.run("sees.pdl", "--input", "data.jsonl", "--expect", "answer", word="eval")
    t.check("eval: a program that wants the right answer", code == 2 and "the column 'answer' has the right answers, which a program does not see" in err, code, err)
    (t.folder / "sees.pdl").unlink()
    t.check("eval: refusals leave nothing", sorted(x.name for x in t.folder.iterdir()) == sorted(files), list(t.folder.iterdir()))
    for option, name in (("--junit", "argument --junit: [Errno 28]"), ("-o", "argument --output: [Errno 28]")):
        code, out, err = t.run(*for_data, option, "/dev/full", word="eval")
        t.check("eval: a full disk for %s" % option, code == 1 and name in err and "0.800   0.584 to 0.919" in out, "%s %s %s" % (code, out, err))
    (t.folder / "rows.jsonl").write_text("old\n")
    t.service.begin(lambda prompt: (401, "no key"))
    code, out, err = t.run(*for_data, "--judge", "p.pdl", "-d", "question: x", "-o", "rows.jsonl", word="eval")
    t.check("eval: an evaluation that stops leaves the old scores", code == 2 and (t.folder / "rows.jsonl").read_text() == "old\n", err)
    deep = t.folder / ("x" * 100)
    deep.mkdir()
    t.service.begin()
    code, r, err = evaluate(*for_data, TMPDIR=str(deep))
    t.check("eval: a long TMPDIR", code == 0 and not list(deep.iterdir()), err)


def test_no_answer():
    """A question whose answer nobody has written is not a wrong one."""
    judge = "data: ${ expected is none or expected == '' }\n"
    t.begin({"p.pdl": ASK, "j.pdl": judge, "a.csv": "question,answer\nq1,Q1\nq2,\n", "b.jsonl": '{"question": "q1", "answer": "Q1"}\n{"question": "q2", "answer": null}\n',
             "c.jsonl": '{"question": "q2", "answer": ""}\n'})
    for data, place in (("a.csv", "a.csv:3: "), ("b.jsonl", "b.jsonl:2: ")):
        code, out, err = t.run("p.pdl", "--input", data, "--expect", "answer", word="eval")
        t.check("eval: no answer in %s" % data, code == 2 and place + "the row has no answer in the column 'answer'" in err and not t.service.asked, err)
    for row, column in (('{"question": "q", "answer": NaN}', "answer"), ('{"question": {"a": [1, -Infinity]}, "answer": 1}', "question")):
        (t.folder / "n.jsonl").write_text('{"question": "q1", "answer": "42"}\n' + row + "\n")
        code, out, err = t.run("p.pdl", "--input", "n.jsonl", "--expect", "answer", word="eval")
        t.check("eval: a number that JSON does not have, in %s" % column, code == 2 and "n.jsonl:2: column '%s': expected a value that JSON has" % column in err and not t.service.asked, err)
    (t.folder / "nan.pdl").write_text("data: ${ 1e999 - 1e999 }\n")
    no_json = "the result: expected a value that JSON has, found NaN or an infinite number"
    for program, args, place in (("nan.pdl", (), ""), ("p.pdl", ("--judge", "nan.pdl"), "the judge failed: ")):
        code, out, err = t.run(program, "--input", "c.jsonl", "--expect", "answer", *args, word="eval")
        t.check("eval: a number that JSON does not have, from nan.pdl %s" % place, place + no_json in err, "%s %s" % (out, err))
    for args, right in ((("c.jsonl", "--expect", "answer"), 0), (("a.csv", "--expect", "answer", "--judge", "j.pdl"), 1)):
        code, r, err = evaluate("p.pdl", "--input", *args)
        t.check("eval: an empty answer that is meant: %s" % args[0], code == 0 and r["programs"][0]["right"] == right, "%s %s" % (r, err))


def test_budget():
    """One budget for both programs and the judge."""
    judge = "lastOf:\n- judge ${ result }\n- model: openai/upper\n  def: said\n- ${ 'JUDGE' in said }\n"
    t.begin({"p.pdl": ASK, "judge.pdl": judge, "data.jsonl": jsonl(ROWS[:4])})
    for calls, args, ends in ((8, ["--judge", "judge.pdl"], True), (7, ["--judge", "judge.pdl"], False), (8, ["--against", "p.pdl"], True),
                              (7, ["--against", "p.pdl"], False), (16, ["--against", "p.pdl", "--judge", "judge.pdl"], True),
                              (15, ["--against", "p.pdl", "--judge", "judge.pdl"], False)):
        t.service.begin()
        code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--budget", "calls=%d" % calls, *args, word="eval")
        asked = sum(t.service.asked.values())
        t.check("eval: a budget of %d calls with %s" % (calls, " ".join(args)), (code == 0) == ends and asked <= calls
                and (ends or "the budget of %d calls is spent" % calls in err), "%s %d %s" % (code, asked, err))


def test_tests():
    t.begin({"greet.pdl": GREET, "greet.test.yaml": TESTS})
    (t.folder / "sub" / "deep").mkdir(parents=True)
    (t.folder / "sub" / "deep" / "x.pdl").write_text("data: {a: [1, 2.5, null, yes]}\n")
    (t.folder / "sub" / "deep" / "x.test.yaml").write_text("tests: [{expect: {result: {a: [1, 2.5, null, true]}}}]\n")
    code, out, err = t.run("--junit", "j.xml", word="test")
    lines = out.splitlines()
    t.check("test: one line a test, exit 1", code == 1 and len(lines) == 9 and lines[-1] == "4 passed, 4 failed", out + err)
    t.check("test: names", lines[0] == "ok   greet.pdl: greets" and lines[7] == "ok   sub/deep/x.pdl: test 1", lines)
    for i, text in ((1, 'the result is "Hello Ada! Hi", expected "Bye"'), (2, "none of 1 requests contains 'Bob'"),
                    (2, "a request contains 'Ada'"), (5, "it should fail, and did not"), (6, "it failed: ")):
        t.check("test: says " + text, lines[i].startswith("FAIL") and text in lines[i], lines[i])
    suite = ElementTree.parse(t.folder / "j.xml").getroot()
    t.check("test: JUnit", suite.get("tests") == "8" and suite.get("failures") == "4", suite.attrib)
    t.check("test: no model was asked", not t.service.asked)
    code, out, err = t.run("sub", word="test")
    t.check("test: a folder, exit 0", code == 0 and out == "ok   sub/deep/x.pdl: test 1\n1 passed, 0 failed\n", out + err)
    code, out, err = t.run("greet.pdl", word="test")
    t.check("test: a program", code == 1 and "3 passed, 4 failed" in out, out + err)
    for name, why in (("gone/j.xml", "there is no folder 'gone'"), ("sub", "'sub' is a folder")):
        code, out, err = t.run("--junit", name, word="test")
        t.check("test: JUnit to %s is told before the first test" % name, code == 2 and "argument --junit: " + why in err and not out, out + err)
    (t.folder / "odd.pdl").write_text("${ x }\n")
    (t.folder / "odd.test.yaml").write_text('tests: [{name: "\\x01 <&\\" \\uFFFE", input: {x: "]]> \\uFFFF\\x08\\r \\U0001F600"}, expect: {output: y}}]\n')
    code, out, err = t.run("odd.pdl", "--junit", "odd.xml", word="test")
    case = ElementTree.parse(t.folder / "odd.xml").getroot()[0]
    t.check("test: JUnit of any text is XML", code == 1 and case.get("name") == '? <&" ?' and "]]> " in case[0].get("message")
            and "\U0001f600" in case[0].get("message"), (t.folder / "odd.xml").read_text())
    (t.folder / "new.test.yaml").write_text("tests: [{expect: {output: x}}]\n")
    (t.folder / "new.pdl").write_text("modl: x\n")
    code, out, err = t.run("new.pdl", word="test")
    t.check("test: says why a program does not load", code == 1 and "FAIL new.pdl: test 1: new.pdl:1 - " in out, out + err)


def test_recorded():
    t.begin({"greet.pdl": GREET})
    code, out, err = t.run("--record", "greet.journal", "-d", "name=Ada", "greet.pdl", word="run")
    (t.folder / "greet.test.yaml").write_text("tests: [{name: recorded, record: greet.journal, input: {name: Ada}, "
                                              "expect: {contains: 'GREET ADA'}, requests: {must: Greet Ada}}]\n")
    t.service.begin()
    code, out, err = t.run("greet.test.yaml", word="test")
    t.check("test: from a recording", code == 0 and not t.service.asked, out + err)


def test_broken_tests():
    cases = [("tests: 1\n", "expected `tests:`"), ("tests: [{nam: x}]\n", "did you mean 'name'"), ("test: []\n", "did you mean 'tests'"),
             ("tests: [{name: x}]\n", "expects nothing"), ("tests: [{expect: {}}]\n", "expects nothing"),
             ("tests: [{expect: {contains: []}, requests: {never: []}}]\n", "expects nothing"), ("tests: [{expect: 5}]\n", "expect should be a mapping"),
             ("tests: [{expect: {output: 5}}]\n", "output should be a text"), ("tests: [{requests: x}]\n", "requests should be a mapping"),
             ("tests: [{input: 5, expect: {result: 1}}]\n", "input should be a mapping"), ("tests: [{name: [], expect: {result: 1}}]\n", "name should be a text"),
             ("tests: [{record: 5, expect: {result: 1}}]\n", "record should be the path"), ("tests: [{expect: {contains: [1]}}]\n", "contains should be a text"),
             ("tests: [{replies: {a: x}, expect: {result: 1}}]\n", "test 1: replies should be a list"),
             ("tests: [{replies: [{repli: x}], expect: {result: 1}}]\n", "test 1: replies: item 1: there is no key repli"),
             ("tests: [\n", "greet.test.yaml:"), ("tests: [{replies: [], record: x, expect: {output: x}}]\n", "exclude each other")]
    for text, said in cases:
        t.begin({"greet.pdl": GREET, "greet.test.yaml": text})
        code, out, err = t.run(word="test")
        t.check("test refused: " + said, code == 2 and said in err, "%s %s" % (code, err))
    t.begin({"greet.test.yaml": "tests: [{expect: {output: x}}]\n"})
    code, out, err = t.run(word="test")
    t.check("test: no program", code == 2 and "greet.pdl" in err, "%s %s" % (code, err))
    t.begin()
    code, out, err = t.run(word="test")
    t.check("test: none", code == 2 and "there are no files" in err, "%s %s" % (code, err))
