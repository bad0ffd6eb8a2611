# SPDX-License-Identifier: Apache-2.0
"""The base class of evaluators, which score answers by the program of the configuration."""
from __future__ import annotations


class OptimizerEvaluator:
    """The base of evaluators. `pdl optimize` itself scores answers, so no instance of this class is made."""
