#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""suite.py -- runs a part of the kit, or the third-party suites, with known-failures.txt taken into account.

    suite.py PART --build DIR [--shared DIR] [-j N] [--slow] [--only RE]
    PART: programs values patterns providers third-party differences

known-failures.txt holds one case id a line (PART/...); it may only shrink. A listed case that fails counts as skipped, a listed case that
passes is a failure, and so is an id without its row in docs/differences.md (part `differences`). --slow: a build with sanitizers, so
limits of time are wider. Python standard library only; the last line is `N passed, N failed[, N skipped]`.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE / "values"))
import check_values  # noqa: E402


def known_failures():
    path = HERE / "known-failures.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [x for x in (line.strip() for line in lines) if x and not x.startswith("#")]


class Tally:
    """Outcomes by case id."""

    def __init__(self, only):
        self.known, self.only = set(known_failures()), only
        self.passed = self.failed = self.skipped = 0

    def case(self, name, ok, why=""):
        if self.only and not re.search(self.only, name):
            return
        if ok and name in self.known:
            self.failed += 1
            print("FAIL %s passes but is listed in known-failures.txt: remove the line" % name)
        elif ok:
            self.passed += 1
        elif name in self.known:
            self.skipped += 1
        else:
            self.failed += 1
            print("FAIL %s%s" % (name, ": " + why if why else ""))

    def absent(self, what, n=1):
        print("%s: not here, skipped" % what)
        self.skipped += n


def run(argv):
    p = subprocess.run([str(x) for x in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=ROOT)
    return p.returncode, p.stdout


def blocks(text, passed_word):
    """Output of a checker -> {case: its lines} for failures, and the names of passed and skipped cases."""
    failed, passed, skipped, lines = {}, [], [], None
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("FAIL", passed_word, "SKIP") and rest:
            name = rest.split()[0]
            lines = failed.setdefault(name, []) if word == "FAIL" else None
            if word == "SKIP":
                skipped.append(name)
            elif word != "FAIL":
                passed.append(name)
        elif lines is not None:
            lines.append(line)
    return failed, passed, skipped


def checker(t, part, argv, passed_word):
    status, text = run(argv)
    failed, passed, skipped = blocks(text, passed_word)
    for name in passed:
        t.case("%s/%s" % (part, name), True)
    for name, lines in failed.items():
        t.case("%s/%s" % (part, name), False, "\n" + "\n".join(lines[:40]))
    t.skipped += len(skipped)
    if not failed and not passed:
        t.case(part, False, "nothing ran\n" + text[-3000:])


def programs(t, o):
    timeout = 120 if o.slow else 60
    checker(t, "programs", [sys.executable, HERE / "run.py", "--pdl", o.build / "pdl", "-j", o.j, "--timeout", timeout, "--verbose"], "ok")


def patterns(t, o):
    """The pattern modules that lib/ has."""
    goldens = sorted((HERE / "patterns").glob("*.json"))
    have = [g.stem for g in goldens if (ROOT / "lib" / (g.stem.replace("-", "/", 1) + ".pdl")).is_file() or (ROOT / "lib" / (g.stem + ".pdl")).is_file()]
    missing = [g for g in goldens if g.stem not in have]
    if missing:
        t.absent("pattern modules %s" % ", ".join(g.stem for g in missing), sum(len(json.loads(g.read_text(encoding="utf-8"))) for g in missing))
    for stem in have:
        module = [m for m in (stem, stem.replace("-", "/", 1)) if (ROOT / "lib" / (m + ".pdl")).is_file()][0]
        checker(t, "patterns", [sys.executable, HERE / "check_patterns.py", "--pdl", o.build / "pdl", "--lib", ROOT / "lib", "--module", module,
                                "-j", o.j, "--verbose"], "ok")


def providers(t, o):
    """The fixtures of what src/ has; provider-areas.txt says which file a glob needs."""
    names = sorted(p.stem for p in (HERE / "providers").glob("*.json"))
    rules = [line.split() for line in (HERE / "provider-areas.txt").read_text().splitlines() if line.strip() and not line.startswith("#")]
    chosen, absent = [], {}
    for name in names:
        needs = next((need for glob, need in rules if fnmatch.fnmatch(name, glob)), "src/model/model.c")
        if (ROOT / needs).is_file():
            chosen.append(name)
        else:
            absent.setdefault(needs, []).append(name)
    for needs, missing in sorted(absent.items()):
        t.absent("%s for %d fixtures" % (needs, len(missing)), len(missing))
    only = [x for name in chosen for x in ("--only", name)]
    checker(t, "providers", [sys.executable, HERE / "check_providers.py", "--pdl", o.build / "pdl", "-j", o.j, "--verbose"] + only, "PASS")


def corpus(t, o, part, path, flags=()):
    """One .jsonl file of cases through pdl-value-test."""
    with tempfile.TemporaryDirectory(prefix="pdl_values_") as work:
        out = pathlib.Path(work) / "failed"
        run_argv = [sys.executable, HERE / "values" / "check_values.py", o.build / "pdl-value-test", path, "--show", 0, "--out", out,
                    "--timeout", 60 if o.slow else 20, *flags]
        _, text = run(run_argv)
        failed = [json.loads(x) for x in out.read_text(encoding="utf-8").split("\n") if x] if out.is_file() else []
    ids = [json.loads(x)["id"] for x in path.read_text(encoding="utf-8").split("\n") if x]
    why = {x["id"]: x for x in failed}
    if not re.search(r"^\d+ passed, \d+ failed$", text, re.M):
        t.case("%s/%s" % (part, path.stem), False, "the checker failed\n" + text[-3000:])
        return
    for line in re.findall(r"^.*: the command ended with .*$", text, re.M):
        t.case("%s/%s" % (part, path.stem), False, line + "\n" + text[-3000:])
    for i in ids:
        bad = why.get(i)
        t.case("%s/%s/%s" % (part, path.stem, i), not bad, bad and "%s: %s" % (bad["reason"], json.dumps(bad["case"], ensure_ascii=False)[:300]))


def values(t, o):
    for path in sorted((HERE / "values").glob("*.jsonl")):
        corpus(t, o, "values", path)
    for path in sorted((HERE.parent / "values").glob("*.jsonl")):  # ours, tests/values/answer.py: messages count
        corpus(t, o, "values", path, ["--kinds" if path.stem == "jinja_templates" else "--messages"])


def ask(t, o, kind, cases):
    """Cases through pdl-value-test -> {id: answer}; a crash leaves the first case without an answer and goes on."""
    todo, answers = list(cases), {}
    for _ in range(50):
        got, _, how = check_values.run_once([str(o.build / "pdl-value-test")], kind, [json.dumps(c) for c in todo], 60)
        answers.update(got)
        todo = [c for c in todo if c["id"] not in answers]
        if not todo and how != "end":  # all answered, then a leak report or a crash at the end
            t.case("third-party/" + kind, False, "the command ended with " + how)
        if how == "end" or not todo:
            break
        todo.pop(0)
    return answers


def strict_json(t, o, folder):
    """JSONTestSuite: y_ is accepted, n_ is rejected, i_ may go either way but ends."""
    files = sorted((folder / "test_parsing").glob("*.json"))
    answers = ask(t, o, "json", [{"id": f.stem, "hex": f.read_bytes().hex()} for f in files])
    for f in files:
        got = answers.get(f.stem)
        ok = got is not None and (f.stem[0] == "i" or check_values.has(got, "error") == (f.stem[0] == "n"))
        t.case("third-party/json/" + f.stem, ok, "no answer" if got is None else "wrongly %s" % ("rejected" if f.stem[0] == "y" else "accepted"))


def schema_cases(folder):
    """-> id, schema, value, the verdicts that are right. The reference's verdict is right wherever it is known to deviate; in the required
    tests so is that of the suite."""
    deviations = {}
    for line in (folder / "reference_deviations.jsonl").read_text(encoding="utf-8").split("\n"):
        if line:
            d = json.loads(line)
            deviations[d["draft"], d["file"], d["group"], d["test"]] = d["reference"]
    for draft, uri in (("draft2020-12", None), ("draft7", "http://json-schema.org/draft-07/schema#")):
        base = folder / "tests" / draft
        for path in sorted(base.rglob("*.json")):
            file = path.relative_to(base).as_posix()
            for group in json.loads(path.read_text(encoding="utf-8")):
                schema = group["schema"]
                if uri and isinstance(schema, dict) and "$schema" not in schema:
                    schema = {"$schema": uri, **schema}
                for test in group["tests"]:
                    key = (draft, file, group["description"], test["description"])
                    right = [deviations.get(key, test["valid"])]
                    if not file.startswith("optional/"):
                        right.append(test["valid"])
                    yield "/".join(key), schema, test["data"], right


def json_schema(t, o, folder):
    os.environ["PDL_SCHEMA_REMOTES"] = str(folder / "remotes")
    cases = list(schema_cases(folder))
    answers = ask(t, o, "schema", [{"id": i, "schema": s, "value": v} for i, s, v, _ in cases])
    for i, _, _, right in cases:
        got = answers.get(i)
        verdict = None if got is None else "error" if check_values.has(got, "error") else check_values.field(got, "result")
        ok = verdict in [x for x in right if isinstance(x, bool)] or (verdict == "error" and any(isinstance(x, str) for x in right))
        t.case("third-party/schema/" + i, ok, "%r is not in %r" % (verdict, right))


def third_party(t, o):
    base = o.shared / "conformance" / "third_party"
    for name, fn in (("yaml-test-suite", lambda f: corpus(t, o, "third-party", f / "yaml.jsonl")),
                     ("JSONTestSuite", lambda f: (corpus(t, o, "third-party", f / "parsers.jsonl"), strict_json(t, o, f))),
                     ("JSON-Schema-Test-Suite", lambda f: json_schema(t, o, f))):
        if (base / name).is_dir():
            fn(base / name)
        else:
            t.absent("%s in %s" % (name, base))


def differences(t, o):
    page = ROOT / "docs" / "differences.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    t.known = set()
    rows = set(re.findall(r"^\| `(\w+/\S+)` \|", text.split("## Cases of the kit that fail")[-1], re.M))
    for name in sorted(rows | set(known_failures())):
        t.case(name, name in rows, "no row in docs/differences.md")
        t.case(name + " is listed", name in known_failures(), "a row of docs/differences.md that known-failures.txt does not list")
    t.case("known failures may only shrink", len(known_failures()) <= 1, "one case of the kit failed when this was written")


PARTS = {"programs": programs, "values": values, "patterns": patterns, "providers": providers, "third-party": third_party,
         "differences": differences}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("part", choices=sorted(PARTS))
    ap.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    ap.add_argument("--shared", type=pathlib.Path, default=pathlib.Path(os.environ.get("PDL_SHARED") or ROOT.parent / "shared"))
    ap.add_argument("-j", type=int, default=2)
    ap.add_argument("--slow", action="store_true")
    ap.add_argument("--only")
    o = ap.parse_args()
    o.build = o.build.resolve()
    t = Tally(o.only)
    PARTS[o.part](t, o)
    print("%d passed, %d failed%s" % (t.passed, t.failed, ", %d skipped" % t.skipped if t.skipped else ""))
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
