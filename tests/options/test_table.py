# SPDX-License-Identifier: Apache-2.0
"""One word has one meaning in every command: the options of all commands are compared, and a mistake on a command line is exit code 2.

Help is made from the table, so help is compared: the same name has the same letter and the same words, except for the names that are listed here.
"""
import json
import os
import re
import subprocess

from ..checks import check
from ..harness.choice import source

# One thing whose values differ from command to command: the form of what is written, the name of a model (to filter by, or to ask).
DIFFER = {"format", "model", "data", "keep", "on-error", "seed", "verbose"}
RUN = {"timeout", "budget", "prices", "max-rps", "max-tokens-per-minute", "wire", "policy", "sandbox", "no-sandbox", "sandbox-min", "cache", "jobs"}
RENAMED = [("runs", "keep", "older-than"), ("cache", "format", "json"),
           ("dump", "types", "specs")]
MISTAKES = [
    ["nothing.pdl"], ["explain", "nothing.pdl"], ["dump", "nothing.pdl"], ["serve", "nothing.pdl"], ["check", "nothing.pdl"], ["fmt", "nothing.pdl"],
    ["batch", "nothing.pdl", "-i", "rows.jsonl"], ["eval", "nothing.pdl", "-i", "rows.jsonl", "--expect", "a"], ["-f", "nothing.yaml", "a.pdl"],
    ["--prices", "nothing.json", "a.pdl"], ["-d", "@nothing.yaml", "a.pdl"], ["--replay", "nothing.journal", "a.pdl"],
    ["policy", "check", "nothing.yaml"], ["policy", "show", "nothing.yaml"], ["test", "nothing.pdl"], ["test", "nothing.test.yaml"], ["test", "nothing"],
    ["repl", "-f", "nothing.yaml"], ["test", "-f", "nothing.yaml"], ["lsp", "--prices", "nothing.json"],
    ["check", "-f", "nothing.yaml", "a.pdl"], ["eval", "a.pdl", "-i", "nothing.jsonl", "--expect", "a"], ["mock", "--replies", "nothing.yaml"],
]


FOLDERS = [
    ["-f", "."], ["-d", "@."], ["--prices", "."], ["--replay", "."], ["-o", "."], ["--cache", "."], ["--wire", "."], ["--policy", "./"], ["--sandbox=./"],
    ["batch", "-i", "."], ["eval", "-i", ".", "--expect", "a"], ["serve", "--token-file", "."], ["mock", "--replies", "."], ["pack", "--command", "."], ["serve", "--log", "."],
]


def table():
    """name -> [(letter, value, choices, words)], command -> names"""
    text = source("cli/options/options.c").read_text("utf-8")
    text = re.sub(r'#include "(cli/options/\w+_options\.def)"', lambda m: re.sub(r"/\*.*?\*/", "", source(m[1]).read_text("utf-8"), flags=re.S), text)
    rows = re.findall(r'\{(OPT_\w+), "([\w-]+)", (0|\'.\'),\s+\w+,\s+[\w |\n]+,\s+(NULL|"[^"]*"),\s+(NULL|"[^"]*"),\s+((?:"(?:[^"\\]|\\.)*"\s*)+)\}', text)
    by_id = {row[0]: row[1:] for row in rows}
    shared = {m: re.findall(r"OPT_\w+", body) for m, body in re.findall(r"#define (\w+) \\\n((?:.*\\\n)*.*)\n", text)}
    commands = {}
    for name, body in re.findall(r"static const opt_id (\w+)_options\[\] = \{\n(.*?)\};", text, re.S):
        ids = [i for word in re.findall(r"\w+", body) for i in shared.get(word, [word]) if i != "OPT_COUNT"]
        commands[name] = [by_id[i] for i in ids]
    return by_id, commands


def test_one_word_one_meaning():
    by_id, commands = table()
    check("the table is read", len(by_id) > 100 and len(commands) > 15, len(by_id), sorted(commands))
    for name in sorted({row[0] for row in by_id.values()} - DIFFER):
        rows = {row for row in by_id.values() if row[0] == name}
        check("--%s means one thing" % name, len(rows) == 1 or name == "check", rows)
    for letter in "dfio":
        names = {row[0] for row in by_id.values() if row[1] == "'%s'" % letter}
        # optimize has its table in --data, as other optimisers have
        check("-%s is one option" % letter, len(names - {"variable"}) == 1, names)
    forms = [row[4] for row in by_id.values() if row[0] == "format"]
    check("--format begins with the same words", all(w.strip('"').startswith("form of ") for w in forms), forms)
    for command in ("run", "batch", "eval", "serve", "resume", "view"):
        names = {row[0] for row in commands[command]}
        check("%s has what runs have" % command, names >= RUN, RUN - names)
    names = {row[0] for row in commands["repl"]}
    check("repl has what runs have, but for --wire", names >= RUN - {"wire"}, RUN - names)
    names = {row[0] for row in commands["test"]}
    check("test has what runs have that ask no model", names >= {"budget", "jobs", "policy", "sandbox", "prices", "data", "data-file"}, names)
    names = {row[0] for row in commands["explain"]}
    check("explain has what runs have that ask no model", names >= {"budget", "cache", "jobs", "policy", "sandbox", "prices", "data", "data-file"}, names)
    for command in ("run", "batch", "eval", "optimize", "serve", "resume", "view", "test", "explain", "repl"):
        names = {row[0] for row in commands[command]}
        check("%s sends traces" % command, names >= {"otlp", "otlp-content", "otlp-all"}, names)
    for command in ("explain", "test", "repl"):
        names = {row[0] for row in commands[command]}
        check("%s takes policies and a sandbox" % command, names >= {"policy", "sandbox", "no-sandbox", "sandbox-min"}, names)
    for command in ("check", "explain", "test", "batch", "eval", "policy", "runs", "cache"):
        check("%s has --json" % command, "json" in {row[0] for row in commands[command]}, commands[command])
    for command in ("run", "check", "explain", "batch", "eval", "serve", "resume", "view"):
        names = {row[0] for row in commands[command]}
        check("%s takes variables" % command, names >= {"data", "data-file"}, names)


def said(pdl, folder, *args):
    r = subprocess.run([pdl, *args], cwd=folder, env=dict(os.environ, PDL_RUNS=str(folder / "runs")), stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def test_mistakes_are_exit_code_2(pdl, folder):
    (folder / "a.pdl").write_text("text: a\n")
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    for args in MISTAKES:
        code, out, err = said(pdl, folder, *args)
        check(" ".join(args), code == 2 and not out and "there is no file" in err, code, out, err)
    for args in FOLDERS:
        code, out, err = said(pdl, folder, *args, *([] if args[0] == "mock" else ["a.pdl"]))
        check("%s, a folder" % " ".join(args), code == 2 and not out and "is a folder, not a file\n" in err, code, out, err)
    for args in (["trace", "./"], ["resume", "./"], ["runs", "show", "./"], ["cache", "list", "./"], ["policy", "check", "./"], ["view", "./"]):
        code, out, err = said(pdl, folder, *args)
        check("%s, a folder" % " ".join(args), code == 2 and not out and "'./' is a folder, " in err, code, out, err)
    for command, old, now in RENAMED:
        code, _, err = said(pdl, folder, command, "--" + old)
        check("%s --%s" % (command, old), code == 2 and "did you mean --%s?" % now in err, err)


OTHER_KINDS = [
    (["--replay", "a.pdl", "a.pdl"], "argument --replay: 'a.pdl' is no recording: "), (["--cache", "a.pdl", "a.pdl"], "argument --cache: 'a.pdl' is no cache: "),
    (["batch", "-i", "rows.jsonl", "--cache", "rows.jsonl", "a.pdl"], "argument --cache: 'rows.jsonl' is no cache: "),
    (["trace", "a.pdl"], "'a.pdl' is no journal: "), (["resume", "a.pdl"], "'a.pdl' is no journal: "), (["runs", "show", "./a.pdl"], "'./a.pdl' is no journal: "),
    (["runs", "export", "a.pdl", "new"], "'a.pdl' is no journal: "), (["answer", "a.pdl", "yes"], "'a.pdl' is no journal: "), (["cache", "list", "a.pdl"], "'a.pdl' is no cache: "),
]


def test_files_of_another_kind(pdl, folder):
    (folder / "a.pdl").write_text("text: a\n")
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    for args, words in OTHER_KINDS:
        code, out, err = said(pdl, folder, *args)
        check(" ".join(args), code == 2 and not out and err.startswith("pdl: error: %sit is a file of another kind\ntry " % words), code, out, err)
    (folder / "damaged").write_bytes(b"SQLite for\0\0\0\0\0\0" + b"x" * 5000)
    code, _, err = said(pdl, folder, "--replay", "damaged", "a.pdl")
    check("a damaged file is no mistake of the command line", code == 1 and "argument --replay" in err, code, err)


def test_runs_come_before_files(pdl, folder):
    """A run keeps its name where a file or a folder has the same one."""
    (folder / "a.pdl").write_text("text: a\n")
    (folder / "notes").write_text("no journal at all, but a text\n")
    (folder / "v1.2").mkdir()
    for name in ("notes", "v1.2"):
        code, out, err = said(pdl, folder, "--durable", "--id", name, "a.pdl")
        check("run " + name, code == 0 and out == "a\n", code, out, err)
        for args in (["trace", name], ["runs", "show", name], ["resume", name]):
            code, out, err = said(pdl, folder, *args)
            check(" ".join(args), code == 0 and out and not err, code, out, err)


def test_words_of_other_tools(pdl, folder):
    (folder / "a.pdl").write_text("text: a\n")
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    for word, command in (("lint", "check"), ("format", "fmt"), ("init", "new"), ("list", "runs")):
        code, _, err = said(pdl, folder, word)
        check(word, code == 2 and "did you mean pdl %s?\n" % command in err, err)
    for option, is_variable in (("--name", True), ("--city", True), ("--json", False), ("--input", False), ("--quiet", False)):
        code, _, err = said(pdl, folder, option, "x", "a.pdl")
        check("%s of a run" % option, code == 2 and ("a variable of the program" in err) == is_variable, err)
    for rows in (["-i", "rows.jsonl"], ["--input", "rows.jsonl"], ["--data", "rows.jsonl"]):
        code, _, err = said(pdl, folder, "optimize", "a.pdl", *rows)
        check("optimize %s" % rows[0], code == 2 and "--expect COLUMN" in err, err)
    for value, near in (("cals=3", "calls"), ("token=3", "tokens"), ("calls=x", None), ("x", None)):
        code, _, err = said(pdl, folder, "--budget", value, "a.pdl")
        found = re.findall(r"did you mean '(\w+)'", err)
        check("--budget %s" % value, code == 2 and found == ([near] if near else []), err)
    for value, found in (("conect=3", ["connect"]), ("total=x", []), ("soon", [])):
        code, _, err = said(pdl, folder, "--timeout", value, "a.pdl")
        check("--timeout %s" % value, code == 2 and re.findall(r"did you mean '(\w+)'", err) == found, err)
    code, _, err = said(pdl, folder, "test", "none.pdl")
    check("test of a program that is not there", (code, err) == (2, "pdl: error: there is no file none.pdl\n"), code, err)
    code, _, err = said(pdl, folder, "test", "a.pdl")
    check("test of a program without tests", (code, err) == (2, "pdl: error: there is no file a.test.yaml\n"), code, err)


def test_words_that_several_commands_have(pdl, folder):
    check("version", said(pdl, folder, "version") == said(pdl, folder, "--version"))
    check("check -e", said(pdl, folder, "check", "-e", "text: ${ 1 + 'a' }")[0] == 1)
    check("check -e with a file", said(pdl, folder, "check", "-e", "text: a", "b.pdl")[0] == 2)
    check("explain -e", said(pdl, folder, "explain", "-e", "text: hello")[:2] == (0, "no call of a model is reached\n"), said(pdl, folder, "explain", "-e", "text: hello"))
    check("check --json", said(pdl, folder, "check", "--json", "-e", "text: ${ 1 + 'a' }")[1].startswith('{'))


def test_limits_of_runs_count(pdl, folder):
    """What was given to commands that run something in passing is obeyed, and refused where nothing is run."""
    (folder / "a.pdl").write_text("text: ${ who } ${ n }\n")
    (folder / "a.test.yaml").write_text("tests:\n- name: own\n  input: {n: 2}\n  expect: {result: you 2}\n- name: given\n  expect: {result: you 1}\n")
    code, out, err = said(pdl, folder, "test", "-d", "who=you", "-d", "n=1")
    check("test -d, which a test's own input wins over", code == 0 and "2 passed" in out, out, err)
    (folder / "b.pdl").write_text("repeat: {text: \"${ i }\"}\nindex: i\nwhile: true\n")
    (folder / "b.test.yaml").write_text("tests:\n- name: endless\n  expect: {result: a}\n")
    code, out, err = said(pdl, folder, "test", "b.pdl", "--budget", "seconds=0.2")
    check("test --budget", code == 1 and "budget" in out, out, err)
    lines = b"while: true\nrepeat: a\n\n"
    r = subprocess.run([pdl, "repl", "--budget", "seconds=0.2"], cwd=folder, input=lines, capture_output=True, timeout=60, check=False)
    check("repl --budget", b"budget" in r.stderr, r.stdout[-300:], r.stderr[-300:])
    check("repl --timeout", said(pdl, folder, "repl", "--timeout", "x")[0] == 2)
    said(pdl, folder, "--record", "r.journal", "-d", "who=a", "-d", "n=1", "a.pdl")
    for args in (["--budget", "calls=1"], ["--policy", "careful"], ["--sandbox"], ["--jobs", "0"]):
        code, _, err = said(pdl, folder, "view", "r.journal", *args)
        check("view %s without --run" % args[0], code == 2 and "--run" in err, code, err)


def test_names_that_are_not_there(pdl, folder):
    (folder / "a.pdl").write_text("text: a\n")
    for args in (["runs", "show", "x"], ["runs", "rm", "x"], ["runs", "export", "x", "o"], ["resume", "x"], ["answer", "x", "a"], ["trace", "x"], ["view", "x"],
                 ["trace", "n/x"], ["view", "n/x"], ["cache", "list", "x"], ["cache", "rm", "x"]):
        code, out, err = said(pdl, folder, *args)
        check(" ".join(args), code == 2 and not out and err.startswith("pdl: error: there is no "), code, out, err)


def test_json(pdl, folder):
    (folder / "a.pdl").write_text("text: ${ q }\n")
    (folder / "b.pdl").write_text("text: a\n")
    (folder / "b.test.yaml").write_text("tests:\n- name: good\n  expect: {result: a}\n- name: bad\n  expect: {result: b}\n")
    (folder / "r.jsonl").write_text('{"q": 1}\n{"q": 2}\n')
    (folder / "p.yaml").write_text("policy: 1\nrulez: []\nfoo: 1\n")
    code, out, err = said(pdl, folder, "test", "--json")
    result = json.loads(out)
    check("test --json", code == 1 and (result["passed"], result["failed"]) == (1, 1) and [(t["name"], t["passed"]) for t in result["tests"]] == [("good", True), ("bad", False)], out, err)
    code, out, err = said(pdl, folder, "batch", "a.pdl", "-i", "r.jsonl", "-o", "o.jsonl", "--json")
    check("batch --json", code == 0 and json.loads(out)["rows"]["finished"] == 2, code, out, err)
    check("batch --json without a file", said(pdl, folder, "batch", "a.pdl", "-i", "r.jsonl", "--json")[0] == 2)
    code, out, err = said(pdl, folder, "batch", "a.pdl", "-i", "r.jsonl", "--json", "--dry-run")
    check("batch --dry-run --json", code == 0 and json.loads(out)["rows"] == 2, code, out, err)
    code, out, err = said(pdl, folder, "policy", "check", "--json", "p.yaml")
    check("policy check --json", code == 1 and [(p["line"], p["severity"]) for p in json.loads(out)["problems"]] == [(2, "error"), (3, "error")] and not err, code, out, err)
    check("a policy without a mistake", json.loads(said(pdl, folder, "policy", "check", "--json", "strict")[1]) == {"problems": []}, said(pdl, folder, "policy", "check", "--json", "strict"))


def test_cache_rm(pdl, folder):
    (folder / "m.pdl").write_text("model: openai/x\ninput: a\nparameters: {mock_response: b}\n")
    said(pdl, folder, "--cache", "c.db", "m.pdl")
    if (folder / "c.db").exists():
        code, out, err = said(pdl, folder, "cache", "rm", "c.db")
        check("it is removed", code == 0 and not out and not list(folder.glob("c.db*")), code, err, list(folder.glob("*")))
    (folder / "c.txt").write_text("mine")
    code, _, err = said(pdl, folder, "cache", "rm", "c.txt")
    check("another file stays", code == 2 and (folder / "c.txt").exists(), code, err)
