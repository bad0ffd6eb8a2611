# SPDX-License-Identifier: Apache-2.0
"""The evaluator whose scores are those of `eval_pdl`."""
from __future__ import annotations

from .optimizer_evaluator import OptimizerEvaluator


class PdlEvaluator(OptimizerEvaluator):
    """Scores answers by the function `score` of the program `eval_pdl`."""
