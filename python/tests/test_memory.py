# SPDX-License-Identifier: Apache-2.0
"""Which objects of Python are kept by a run, by a result and by an engine with a policy. Each test has its own process, because one engine with a policy makes all
engines of the process remember origins."""
import subprocess
import sys
import textwrap
import unittest

AGENT = """
    import gc, weakref, libpdl

    class Agent:
        def search(self, what):
            return what

    def is_gone(use):
        agent = Agent()
        left = weakref.ref(agent)
        use(agent)
        del agent
        gc.collect()
        return not left()
"""


def run(text):
    p = subprocess.run([sys.executable, "-c", textwrap.dedent(AGENT) + textwrap.dedent(text)], capture_output=True, text=True, check=False)
    return p.stdout + p.stderr


class Kept(unittest.TestCase):
    def test_a_result_that_an_object_has_does_not_keep_the_object(self):
        self.assertEqual(run("""
            program = libpdl.loads("text: ${ search('a') }")

            def result(agent):
                agent.last = program.run(search=agent.search)

            def stream(agent):
                agent.last = program.stream(search=agent.search)
                list(agent.last)

            def tool(agent):
                agent.tool = libpdl.tool(agent.search)
                agent.last = libpdl.run("text: ${ t.schema | length }", t=agent.tool)
            print([is_gone(use) for use in (result, stream, tool)])
        """), "[True, True, True]\n")

    def test_the_variables_of_such_a_result_are_the_same(self):
        self.assertEqual(run("""
            plain = libpdl.run("defs: {y: 3}\\ntext: a", x=1)
            with_object = libpdl.run("defs: {y: 3}\\ntext: a", x=1, z=len)
            print(with_object.variables.pop("z") is len, with_object.variables == plain.variables, with_object.messages == plain.messages)
        """), "True True True\n")

    def test_a_stream_that_was_left_does_not_keep_later_exceptions(self):
        self.assertEqual(run("""
            engine = libpdl.Engine()
            stream = engine.loads("text: [a, b]").stream()
            next(stream)
            del stream
            gc.collect()

            def fails(agent):
                def f():
                    agent.search(1 / 0)
                try:
                    engine.run("data: ${ f() }", f=f)
                except libpdl.Error:
                    pass
            print(is_gone(fails))
        """), "True\n")

    def test_an_engine_with_a_policy_keeps_no_object(self):
        self.assertEqual(run("""
            engine = libpdl.Engine(policy="careful")
            program = engine.loads("data: {a: '${ x }', b: 1}")
            alive = weakref.WeakSet()
            for i in range(300):
                agent = Agent()
                alive.add(agent)
                assert program.run(x=agent).value["a"] is agent
            del agent
            gc.collect()
            print(len(alive) <= 1)
        """), "True\n")

    def test_the_origins_of_an_object_that_is_kept_are_kept(self):
        self.assertIn("from model", run("""
            engine = libpdl.Engine(models={"m": lambda r: "x"}, policy="strict")
            agent = Agent()
            chosen = engine.run("text:\\n- {model: m, input: a, def: d}\\n- {def: o, data: '${ f(d) }'}", f=lambda d: agent).variables["o"]
            assert chosen is agent
            program = engine.loads("data: {a: '${ x }', b: 1}")
            for i in range(3000):
                program.run(x=[1, {"k": "v"}]).variables
            engine.run("args: [echo, 'got ${ x }']", x=agent)
        """))

    def test_an_engine_with_a_policy_drops_what_nothing_has(self):
        self.assertEqual(run("""
            import sys
            engine = libpdl.Engine(policy="careful")
            program = engine.loads("data: {a: '${ x }', b: 1}")
            counts = []
            for i in range(6):
                for _ in range(1500):
                    program.run(x=[1, {"k": "v"}]).variables
                gc.collect()
                counts.append(sys.getallocatedblocks())
            print(counts[-1] - counts[1] < 20000 or counts)
        """), "True\n")
