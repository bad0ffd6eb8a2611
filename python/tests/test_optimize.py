# SPDX-License-Identifier: Apache-2.0
"""libpdl.optimize and its asynchronous twin, and pdl.optimize of the drop-in."""
import asyncio
import json
import os
import pathlib
import tempfile
import unittest

import libpdl

PROGRAM = "defs:\n  form: a   # kept\ndata: \"${ 'yes' if form == 'b' and n % 2 else 'no' }\"\n"
CONFIG = {"program": "p.pdl", "data": "d.jsonl", "expect": "label", "vary": {"form": ["a", "b"]}}


class Optimize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.before, self.path = os.getcwd(), os.environ["PATH"]
        os.chdir(self.folder.name)
        os.environ["PATH"] = os.environ.get("PDL_BUILD", "") + os.pathsep + self.path
        pathlib.Path("p.pdl").write_text(PROGRAM)
        pathlib.Path("d.jsonl").write_text("".join(json.dumps({"n": i, "label": "yes" if i % 2 else "no"}) + "\n" for i in range(60)))

    def tearDown(self):
        os.chdir(self.before)
        os.environ["PATH"] = self.path
        self.folder.cleanup()

    def test_a_configuration(self):
        r = libpdl.optimize(CONFIG, output="out.pdl", seed=3, jobs=2)
        self.assertEqual((r["winner"]["values"], r["verdict"]["is"], r["seed"], r["output"]), ({"form": "b"}, "better", 3, "out.pdl"))
        self.assertEqual(pathlib.Path("out.pdl").read_text(), PROGRAM.replace("form: a ", "form: b "))
        again = libpdl.optimize(pathlib.Path(r["folder"]) / "config.yaml", seed=3, experiments="other")
        self.assertEqual(again["standings"], r["standings"])
        self.assertTrue(again["folder"].startswith("other/"))

    def test_mistakes(self):
        for config, why in (({**CONFIG, "sead": 1}, "did you mean 'seed'"), ("none.yaml", "Config file doesn't exist: none.yaml"), ({**CONFIG, "vary": {"frm": ["a"]}}, "frm"),
                            ({**CONFIG, "seed": {1}}, "no data")):
            with self.assertRaises(libpdl.UsageError) as caught:
                libpdl.optimize(config)
            self.assertIn(why, str(caught.exception))
            self.assertNotRegex(str(caught.exception), "pdl: error|try 'pdl|/config.yaml")
        with self.assertRaisesRegex(libpdl.UsageError, "^budget: 'calls=x' is not a budget: [^\\n]*$"):
            libpdl.optimize(CONFIG, budget="calls=x")
        with self.assertRaises(TypeError):
            libpdl.optimize(3)

    def test_asynchronous(self):
        async def both():
            return await asyncio.gather(libpdl.aoptimize(CONFIG, output="a.pdl"), libpdl.aoptimize({**CONFIG, "method": "halving"}, output="b.pdl"))
        first, second = asyncio.run(both())
        self.assertEqual((first["method"], second["method"]), ("race", "halving"))
        self.assertEqual(pathlib.Path("a.pdl").read_text(), pathlib.Path("b.pdl").read_text())


TASK = """lastOf:
- text: "${ 'yes' if style == 'good' and n % 2 else 'no' }"
defs:
  other: 1 # kept
"""
SCORE = "defs:\n  score:\n    function: {document: string, ground_truth: }\n    return:\n      data: \"${ 1.0 if document == ground_truth else 0.0 }\"\n"
SEARCH = {"pdl_path": "t.pdl", "dataset": {"train": "train.jsonl", "validation": "validation.jsonl", "test": "test.jsonl"}, "demonstration_columns": ["n", "label"],
          "instance_columns": ["n"], "groundtruth_column": "label", "eval_pdl": "score.pdl", "num_candidates": 6, "num_demonstrations": 2,
          "initial_validation_set_size": 2, "variables": {"style": ["good", "bad"]}}


class OfTheReference(unittest.TestCase):
    """pdl.optimize of the drop-in."""
    setUp, tearDown = Optimize.setUp, Optimize.tearDown

    def files(self):
        pathlib.Path("t.pdl").write_text(TASK)
        pathlib.Path("score.pdl").write_text(SCORE)
        parts = {part: [{"n": i, "label": "yes" if i % 2 else "no"} for i in range(k, k + 6)] for part, k in (("train", 0), ("validation", 6), ("test", 12))}
        for part, rows in parts.items():
            pathlib.Path(part + ".jsonl").write_text("".join(json.dumps(x) + "\n" for x in rows))
        return parts

    def test_a_search(self):
        from pdl.optimize.config_parser import JsonlDataset, OptimizationConfig
        from pdl.optimize.pdl_evaluator import PdlEvaluator
        from pdl.optimize.pdl_optimizer import PDLOptimizer
        parts = self.files()
        config = OptimizationConfig(**SEARCH)
        self.assertEqual((type(config.dataset), config.max_test_set_size, config.budget), (JsonlDataset, 1000, None))
        self.assertEqual(config.get_variable_names(), ["demonstrations", "style"])
        for data in (None, parts):
            if data:
                for part in parts:
                    os.remove(part + ".jsonl")
            log = PDLOptimizer(dataset=data, config=config, pdl_config={}, trial_thread=PdlEvaluator, yield_output=False, experiment_path=pathlib.Path("found")).run()
            self.assertEqual((log["winner_summary"]["style"], log["final_iteration"]["score"], len(log["winner_summary"]["demonstrations"])), ("good", 1, 2))
            self.assertIn("  style: good", pathlib.Path("optimized_t.pdl").read_text())
            self.assertIn("other: 1 # kept", pathlib.Path("optimized_t.pdl").read_text())
        self.assertTrue(any(pathlib.Path("found").iterdir()))

    def test_mistakes_of_a_search(self):
        from pdl.optimize.config_parser import OptimizationConfig
        from pdl.optimize.pdl_optimizer import PDLOptimizer
        self.files()
        with self.assertRaisesRegex(ValueError, "instance_columns"):
            OptimizationConfig(**{k: v for k, v in SEARCH.items() if k != "instance_columns"})
        with self.assertRaisesRegex(libpdl.UsageError, "did you mean 'num_candidates'"):
            PDLOptimizer(None, OptimizationConfig(**SEARCH, num_candidate=3)).run()
        with self.assertRaisesRegex(ValueError, "dataset has no test, validation"):
            PDLOptimizer({"train": []}, OptimizationConfig(**SEARCH))
        with self.assertRaises(NotImplementedError):
            PDLOptimizer(None, OptimizationConfig(**SEARCH), trial_thread=dict)

    def test_a_program_with_values(self):
        from pdl.optimize.pdl_optimizer import resave_pdl
        self.files()
        resave_pdl(pathlib.Path("t.pdl"), pathlib.Path("r.pdl"), {"style": "good", "shots": [1, 2]})
        self.assertEqual(libpdl.run(pathlib.Path("r.pdl").read_text(), {"n": 1}).value, "yes")

    def test_numbers_in_texts(self):
        from pdl.optimize.parse_number import extract_math_answer, parse_number
        cases = {"1,234.5": 1234.5, "about 7 cats": 7, "-3": -3, "1.234.567,5": 1234567.5, "none": None, "12 345": 12345, "(.5)": 0.5}
        self.assertEqual({k: parse_number(k) for k in cases}, cases)
        texts = {"x\nThe answer is 42.": 42, "The answer is: $1,000": 1000, "so #### 12": 12.0, "It costs $5,829 a year": 5829.0, "no number": 0.0}
        self.assertEqual({k: extract_math_answer(k) for k in texts}, texts)


if __name__ == "__main__":
    unittest.main()
