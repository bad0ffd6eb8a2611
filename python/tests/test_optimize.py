# SPDX-License-Identifier: Apache-2.0
"""libpdl.optimize and its asynchronous twin."""
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
            self.assertNotIn("pdl: error", str(caught.exception))
        with self.assertRaises(TypeError):
            libpdl.optimize(3)

    def test_asynchronous(self):
        async def both():
            return await asyncio.gather(libpdl.aoptimize(CONFIG, output="a.pdl"), libpdl.aoptimize({**CONFIG, "method": "halving"}, output="b.pdl"))
        first, second = asyncio.run(both())
        self.assertEqual((first["method"], second["method"]), ("race", "halving"))
        self.assertEqual(pathlib.Path("a.pdl").read_text(), pathlib.Path("b.pdl").read_text())


if __name__ == "__main__":
    unittest.main()
