# SPDX-License-Identifier: Apache-2.0
"""Expressions, templates, YAML, parsers, types and printing, value by value, through pdl-value-test. The corpora are those of the kit and our own; in
our own, messages count, too."""
import pathlib

import pytest

from .kit import HERE, case
from .values import check_values
from ..checks import check

SECONDS = 60  # without any answer

KIT = sorted((HERE / "values").glob("*.jsonl"))
OWN = sorted((HERE / "values" / "own").glob("*.jsonl"))


def check_corpus(part, path, build, *flags):
    """Every line of a corpus is a check. The kinds of errors of templates are ours, and their words are those of a block."""
    rows, odd = check_values.check_file([str(build / "pdl-value-test")], pathlib.Path(path), check_values.options(["--timeout", str(SECONDS), *flags, "-"]))
    for i, _, text, reason in rows:
        case("%s/%s/%s" % (part, path.stem, i), reason is None, reason, text[:300])
    for text in odd:
        check("%s/%s" % (part, path.stem), False, text)
    check("%s/%s has cases" % (part, path.stem), rows)


@pytest.mark.parametrize("path", KIT, ids=lambda p: p.stem)
def test_corpus_of_the_kit(path, build):
    check_corpus("values", path, build)


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_corpus_of_our_own(path, build):
    check_corpus("values", path, build, "--kinds" if path.stem == "jinja_templates" else "--messages")
