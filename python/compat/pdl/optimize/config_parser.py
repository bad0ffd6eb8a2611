# SPDX-License-Identifier: Apache-2.0
"""The configuration of a search. Its members are checked when the search begins."""
from __future__ import annotations

from typing import Any

from .._model import Field, Model


class JsonlDataset(Model):
    """The files of a data set."""

    FIELDS = (Field("train"), Field("test"), Field("validation"))


def _dataset(value: Any) -> Any:
    return JsonlDataset(**value) if isinstance(value, dict) else value


class OptimizationConfig(Model):
    """A search."""

    EXTRA = True  # the search refuses an unknown member, and names a similar member
    FIELDS = (
        Field("pdl_path"),
        Field("dataset", make=_dataset),
        Field("demonstrations_variable_name", "demonstrations"),
        Field("demonstration_columns"),
        Field("instance_columns"),
        Field("groundtruth_column"),
        Field("eval_pdl", None),
        Field("num_candidates", 30),
        Field("num_demonstrations", None),
        Field("initial_validation_set_size", 10),
        Field("max_validation_set_size", 1000),
        Field("max_test_set_size", 1000),
        Field("timeout", 120),
        Field("budget_growth", "double"),
        Field("shuffle_test", False),
        Field("budget", None),
        Field("parallelism", 4),
        Field("train_set_name", "train"),
        Field("test_set_name", "test"),
        Field("validation_set_name", "validation"),
        Field("variables", {}),
        Field("experiment_prefix", ""),
    )

    def get_variable_names(self) -> list[str]:
        return [self.demonstrations_variable_name, *self.variables]
