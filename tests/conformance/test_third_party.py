# SPDX-License-Identifier: Apache-2.0
"""Runs public test suites of YAML, JSON and JSON Schema through pdl-value-test. The suites are beside the repository, in
../shared/conformance/third_party or in PDL_THIRD_PARTY. Without them the checks are skipped."""
import json
import os

import pytest

from .kit import THIRD_PARTY, case
from .test_values import SECONDS, check_corpus
from .values import check_values
from ..checks import check, skip


def ask(build, kind, cases):
    """Cases through pdl-value-test -> {id: answer}."""
    answers, _, odd = check_values.ask_all([str(build / "pdl-value-test")], kind, {c["id"]: json.dumps(c) for c in cases}, SECONDS)
    for text in odd:
        check("third-party/" + kind, False, text)
    return answers


@pytest.fixture
def suite(request):
    """The folder of a suite, or None."""
    folder = THIRD_PARTY / request.param
    if not folder.is_dir():
        skip("%s in %s" % (request.param, folder.parent), "it is not there")
    return folder if folder.is_dir() else None


def of(name):
    return pytest.mark.parametrize("suite", [name], indirect=True)


@of("yaml-test-suite")
def test_yaml(suite, build):
    if suite:
        check_corpus("third-party", suite / "yaml.jsonl", build)


@of("JSONTestSuite")
def test_json(suite, build):
    """The parser of programs, and the strict one: y_ is accepted, n_ is rejected, i_ may go either way but ends."""
    if not suite:
        return
    check_corpus("third-party", suite / "parsers.jsonl", build)
    files = sorted((suite / "test_parsing").glob("*.json"))
    answers = ask(build, "json", [{"id": f.stem, "hex": f.read_bytes().hex()} for f in files])
    for f in files:
        got = answers.get(f.stem)
        ok = got is not None and (f.stem[0] == "i" or check_values.has(got, "error") == (f.stem[0] == "n"))
        case("third-party/json/" + f.stem, ok, "no answer" if got is None else "wrongly %s" % ("rejected" if f.stem[0] == "y" else "accepted"))


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


@of("JSON-Schema-Test-Suite")
def test_json_schema(suite, build):
    if not suite:
        return
    os.environ["PDL_SCHEMA_REMOTES"] = str(suite / "remotes")
    cases = list(schema_cases(suite))
    answers = ask(build, "schema", [{"id": i, "schema": s, "value": v} for i, s, v, _ in cases])
    for i, _, _, right in cases:
        got = answers.get(i)
        verdict = None if got is None else "error" if check_values.has(got, "error") else check_values.field(got, "result")
        ok = verdict in [x for x in right if isinstance(x, bool)] or (verdict == "error" and any(isinstance(x, str) for x in right))
        case("third-party/schema/" + i, ok, "%r is not in %r" % (verdict, right))
