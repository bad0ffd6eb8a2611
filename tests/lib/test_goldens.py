# SPDX-License-Identifier: Apache-2.0
"""Conversations in the form of the conformance kit, tests/lib/goldens."""
from ..conformance import check_patterns
from ..conformance.test_patterns import check_conversations
from ..harness.choice import ROOT


def test_conversations(pdl, folder):
    cases = check_patterns.load([str(ROOT / "tests" / "lib" / "goldens")], check_patterns.options([]))
    check_conversations("goldens", cases, pdl, folder)
