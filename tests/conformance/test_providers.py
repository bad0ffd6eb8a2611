# SPDX-License-Identifier: Apache-2.0
"""Exchanges with providers of models, MCP servers and embeddings, providers/NAME.json. The items are grouped by the word before the first dash of the
name."""
import collections

import pytest

from . import check_providers
from .kit import case
from ..checks import skip

FAMILIES = collections.defaultdict(list)
for fixture in check_providers.load([], []):
    FAMILIES[fixture["name"].split("-")[0]].append(fixture)


@pytest.mark.tier("test")
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_provider(family, pdl):
    runner = check_providers.Runner(check_providers.options(["--pdl", pdl, "--timeout", "120"]))
    for one in FAMILIES[family]:
        outcome, lines = runner.check(one)
        if outcome == "skip":
            skip(one["name"], lines[0])
        else:
            case("providers/" + one["name"], outcome == "pass", "\n".join(lines))
