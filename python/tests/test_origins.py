# SPDX-License-Identifier: Apache-2.0
"""Origins of values that go from one run of an engine to the next through variables of Python."""
import gc
import json
import os
import tempfile
import unittest

import libpdl

REPLY = json.dumps({"name": "x.txt", "n": 7, "many": list(range(40)), "big": 123456, "part": ["y.txt"], "c": "x"})
ASK = "{model: m, input: a, parser: json, def: d}\n"
RUN = "args: [echo, 'got ${ x }']\n"


class Between(unittest.TestCase):
    def setUp(self):
        self.engine = libpdl.Engine(models={"m": lambda request: REPLY}, policy="careful")
        self.value = self.engine.loads(ASK).run().value

    def passes(self, x, engine=None):
        try:
            (engine or self.engine).loads(RUN).run(x=x)
        except libpdl.PolicyError as e:
            self.assertIn("from model", str(e))
            return False
        return True

    def test_what_a_run_gave_is_known_in_the_next(self):
        d = self.value
        result = self.engine.loads("defs: {y: '${ x.name }', own: mine}\ntext: '${ y }'").run(x=d)
        for what, x in (("whole", d), ("a part", d["name"]), ("a number", d["big"]), ("numbers", d["many"]), ("in a list of ours", ["a", d["name"]]),
                        ("in a tuple", (d["name"],)), ("a key", {d["name"]: 1}), ("a variable", result.variables["y"]), ("a result", result.value),
                        ("a copy of a dict", dict(d)), ("a small number's dict", {"k": d})):
            with self.subTest(what):
                self.assertFalse(self.passes(x))
        for what, x in (("of the program", result.variables["own"]), ("ours", "x.txt"), ("a number of ours", 123456789), ("true", True)):
            with self.subTest(what):
                self.assertTrue(self.passes(x))

    def test_messages_and_functions(self):
        result = self.engine.loads("- {model: m, input: a, def: d}\n- {def: f, function: {}, return: '${ d }'}").run()
        self.assertFalse(self.passes(result.messages))
        self.assertFalse(self.passes(result.messages[0]["content"]))
        self.assertFalse(self.passes(result.variables["f"]()))

    def test_a_policy_of_a_program_and_of_the_environment(self):
        engine = libpdl.Engine(models={"m": lambda request: REPLY})
        guarded = engine.loads("policy: careful\n" + RUN)
        value = engine.loads(ASK).run().value
        with self.assertRaises(libpdl.PolicyError):
            guarded.run(x=value["name"])
        self.assertTrue(self.passes(value["name"], engine))

    def test_names_of_policies_are_the_same_in_all_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "secret.txt")
            with open(path, "w", encoding="utf-8") as f:
                f.write("s3cret")
            engine = libpdl.Engine()
            other = "policy: {policy: 1, labels: {%s}, otherwise: allow}\n"
            send = engine.loads("policy: {policy: 1, labels: {hidden: [{read: '/**'}]}, rules: [{sink: command, deny: [hidden]}], otherwise: allow}\n" + RUN)
            engine.loads(other % "a: [{tool: 'x/*'}], b: [{tool: 'x/*'}]" + "text: hi").run()
            text = engine.loads(other % "more: [{tool: 'x/*'}], hidden: [{read: '/**'}]" + "read: " + path).run().value
            with self.assertRaisesRegex(libpdl.PolicyError, "from hidden"):
                send.run(x=text)

    def test_values_of_another_engine(self):
        """A value that goes to another engine keeps its origins, even one that a policy named."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "secret.txt")
            with open(path, "w", encoding="utf-8") as f:
                f.write("s3cret")
            plain = libpdl.Engine(models={"m": lambda request: REPLY})
            named = libpdl.Engine(policy={"policy": 1, "labels": {"other": [{"tool": "x/*"}], "hidden": [{"read": "/**"}]}, "otherwise": "allow"})
            for engine, text in ((plain, ASK), (named, "object: {name: {read: %s}}" % path)):
                value = engine.loads(text).run().value
                for what, x in (("whole", value), ("a part", value["name"]), ("in a list of ours", ["a", value["name"]])):
                    with self.subTest(what):
                        with self.assertRaises(libpdl.PolicyError):
                            self.engine.loads(RUN).run(x=x)
                        self.assertTrue(self.passes(x, libpdl.Engine()))
            deny = {"policy": 1, "labels": {"hidden": [{"read": "/**"}]}, "rules": [{"sink": "command", "deny": ["hidden"]}], "otherwise": "allow"}
            with self.assertRaisesRegex(libpdl.PolicyError, "from hidden"):
                libpdl.Engine(policy=deny).loads(RUN).run(x=value["name"])
            self.assertTrue(self.passes("s3cret", libpdl.Engine(policy=deny)))

    def test_an_error_shows_nothing_that_the_output_hides(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "note")
            with open(path, "w", encoding="utf-8") as f:
                f.write("s3cret")
            engine = libpdl.Engine(policy={"policy": 1, "labels": {"secret": [{"read": "/**"}]}, "rules": [{"sink": "output", "deny": ["secret"]}], "otherwise": "allow"})
            with self.assertRaisesRegex(libpdl.Error, r"\[secret\]") as caught:
                engine.loads("defs: {x: {read: %s}}\ntext: ${ stdlib.fail(x) }" % path).run()
            self.assertNotIn("s3cret", str(caught.exception) + caught.exception.message)

    def test_what_nobody_has_is_forgotten(self):
        program = self.engine.loads("defs: {y: '${ x }!'}\ndata: '${ y }'")
        for _ in range(1300):
            kept = program.run(x=self.value["name"]).value
        gc.collect()
        texts = [o for o in gc.get_objects() if isinstance(o, tuple) and len(o) == 2 and o[0] == "x.txt!"]
        self.assertLess(len(texts), 1200)
        self.assertFalse(self.passes(kept))


if __name__ == "__main__":
    unittest.main()
