# SPDX-License-Identifier: Apache-2.0
"""How answers are evaluated: by the program of the configuration."""
from __future__ import annotations


class OptimizerEvaluator:
    """The base of evaluators. `pdl optimize` evaluates itself, so that no instance is made."""
