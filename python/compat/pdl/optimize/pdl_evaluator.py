# SPDX-License-Identifier: Apache-2.0
"""The evaluator that scores answers with the program `eval_pdl`."""
from __future__ import annotations

from .optimizer_evaluator import OptimizerEvaluator


class PdlEvaluator(OptimizerEvaluator):
    """Scores answers with the function `score` of the program `eval_pdl`."""
