# SPDX-License-Identifier: Apache-2.0
"""PDLOptimizer runs a search that a configuration describes, by the command `pdl optimize`."""
from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from libpdl._infer import _command
from libpdl._optimize import optimize

from ..pdl_ast import DataBlock, Program
from ..pdl_dumper import dump_program_exclude_internals
from ..pdl_parser import parse_str
from .config_parser import JsonlDataset, OptimizationConfig
from .pdl_evaluator import PdlEvaluator


def resave_pdl(input_path: Path, output_path: Path, state: Mapping[str, Any]) -> int:
    """Writes a program with these variables in its `defs`."""
    program: Program = parse_str(Path(input_path).read_text(encoding="utf-8"))[0]
    if getattr(program.root, "defs", None) is None:
        raise ValueError("No root in PDL program")
    for name, value in state.items():
        program.root.defs[name] = value if isinstance(value, str) else DataBlock(data=value)
    return Path(output_path).write_text(dump_program_exclude_internals(program), encoding="utf-8")


def _rows(folder: str, name: str, rows: Any) -> str:
    """Writes the rows of a part of the data set, which are dicts, to a file. Returns the path of the file."""
    path = os.path.join(folder, "%s.jsonl" % name)
    with open(path, "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(dict(row), default=str) + "\n")
    return path


class PDLOptimizer:
    """A search. `dataset` has lists of dicts under the names of its parts, like DatasetDict of the package datasets. Without `dataset`, the
    configuration names files."""

    def __init__(self, dataset: Optional[Mapping[str, Any]], config: OptimizationConfig, pdl_config: Any = None, trial_thread: type = PdlEvaluator,
                 yield_output: bool = False, experiment_path: Union[str, Path] = "experiments") -> None:
        if trial_thread is not PdlEvaluator:
            raise NotImplementedError("trial_thread: an evaluator of your own is a program, eval_pdl")
        self.config, self.dataset, self.experiment_path = config, dataset, Path(experiment_path)
        self.pdl_path, self.yield_output, self.experiment_log = Path(config.pdl_path), yield_output, {}
        names = {config.train_set_name, config.test_set_name, config.validation_set_name}
        if dataset is not None and not names <= set(dataset):
            raise ValueError("dataset has no %s" % ", ".join(sorted(names - set(dataset))))

    def _settings(self, folder: str) -> dict[str, Any]:
        given = dict(self.config)
        settings = {k: v for k, v in given.items() if k in self.config.model_fields_set}
        if self.dataset is not None:
            settings["dataset"] = {k: _rows(folder, k, self.dataset[given[k + "_set_name"]]) for k in ("train", "validation", "test")}
        elif isinstance(settings["dataset"], JsonlDataset):
            settings["dataset"] = dict(settings["dataset"])
        return settings

    def run(self) -> dict[str, Any]:
        """Runs the search, and writes `optimized_NAME.pdl` beside the program. The result has `config`;
        `winner_summary`, the values of the winner; `final_iteration` with the score of the winner on the test set, if there is a score; and
        `result`, the output of `pdl optimize --json`."""
        with tempfile.TemporaryDirectory() as folder:
            found = optimize(self._settings(folder), experiments=self.experiment_path)
        winner, names = found["winner"], self.config.get_variable_names()
        test = winner.get("test")
        self.experiment_log = {"config": {"raw_config": dict(self.config)}, "result": found,
                               "winner_summary": {k: v for k, v in winner["values"].items() if k in names}}
        if test is not None:
            self.experiment_log["final_iteration"] = {"ending_test_set_size": test["rows"], "score": test["score"]}
        return self.experiment_log


def run_optimizer() -> int:
    """Replaces this process by the command pdl-optimize."""
    os.execv(_command(), ["pdl-optimize", *sys.argv[1:]])
    return 0


if __name__ == "__main__":
    run_optimizer()
