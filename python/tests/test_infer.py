# SPDX-License-Identifier: Apache-2.0
"""libpdl.infer, libpdl.ainfer, and the reference's modules pdl_infer and pdl_distributions."""
import asyncio
import contextlib
import io
import math
import os
import pathlib
import tempfile
import unittest

import libpdl
from pdl.pdl_distributions import Categorical, viz
from pdl.pdl_infer import exec_dict, exec_file, exec_str

WEIGHTED = "lastOf:\n- factor: ${ pdl_particle_id * 1.0 }\n- ${ pdl_particle_id }\n"


class Inference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["PATH"] = os.environ["PDL_BUILD"] + os.pathsep + os.environ["PATH"]

    def test_infer(self):
        d = libpdl.infer(text=WEIGHTED, algo="is", n=3, seed=1)
        self.assertEqual(d.particles, [(0, 0.), (1, 1.), (2, 2.)])
        self.assertAlmostEqual(d.prob(2), .6652, places=4)
        self.assertIn(d.sample(), (0, 1, 2))
        self.assertEqual(libpdl.infer(text="data: ${ x + 1 }", scope={"x": 2}, algo="maj").sample(), 3)
        self.assertEqual(asyncio.run(libpdl.ainfer(text="data: 1", algo="maj", n=3)).values, [1])

    def test_errors(self):
        with self.assertRaisesRegex(libpdl.RunError, "particle 1 of 2"):
            libpdl.infer(text="${ [1][pdl_particle_id] }", algo="is", n=2)
        with self.assertRaisesRegex(libpdl.UsageError, "from 1"):
            libpdl.infer(text="a", n=0)
        with self.assertRaisesRegex(libpdl.UsageError, "data"):
            libpdl.infer(text="a", scope={"f": print})
        with self.assertRaisesRegex(libpdl.UsageError, "text="):
            libpdl.infer()

    def test_reference(self):
        found = exec_str(WEIGHTED, ppdl_config={"algo": "is", "num_particles": 3})
        self.assertIsInstance(found, Categorical)
        self.assertEqual((found.values, found.logits), ((0, 1, 2), (0., 1., 2.)))
        for p, want in zip(found.probs, (.0900, .2447, .6652)):
            self.assertAlmostEqual(p, want, places=4)
        both = exec_dict({"data": 1}, ppdl_config={"algo": "parallel-maj", "num_particles": 5, "max_workers": 2}, output="all")
        self.assertEqual((both["result"].sort().values, both["usage"].model_calls), ((1,), 0))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.pdl"
            path.write_text("data: ${ x }")
            self.assertEqual(exec_file(path, scope={"x": "a"}).sample(), "a")
        with self.assertRaises(ValueError):
            exec_str("a", ppdl_config={"nope": 1})

    def test_categorical(self):
        c = Categorical([("a", 0., None), ("b", math.log(2), None), ("a", 0., None), ([1], -math.inf, None)])
        self.assertAlmostEqual(c.prob("a"), .5)
        self.assertEqual([round(p, 9) for p in c.sort().probs], [.5, .5, 0.])
        self.assertEqual([(v, round(p, 9)) for v, p in zip(c.shrink().values, c.shrink().probs)], [("a", .5), ("b", .5), ([1], 0.)])
        self.assertEqual(Categorical([("x", 0., None)]).sample(), "x")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            viz(c)
        self.assertEqual(out.getvalue().splitlines()[0], " 50.00 % #################### a")
