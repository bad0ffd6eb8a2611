# SPDX-License-Identifier: Apache-2.0
"""Engine(approve=f): a function of Python is asked for each action that a policy wants approved."""
import asyncio
import os
import pathlib
import tempfile
import unittest

import libpdl

# policies are searched in lib/policies of this folder
os.environ.setdefault("PDL_PATH", str(pathlib.Path(__file__).resolve().parent.parent.parent))
ASK = {"policy": 1, "rules": [{"sink": "command", "allow": ["user"], "otherwise": "approve"}], "otherwise": "allow"}
PROGRAM = """
text:
- {def: note, contribute: [], model: m, input: hi}
- lang: command
  args: [sh, -c, 'echo "$0" >> "$1"', "${ note }", "${ file }"]
"""


class Approvals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "done"
        self.asked = []

    def engine(self, approve, **more):
        return libpdl.Engine(models={"m": lambda request: request.messages[-1]["content"] + " bees"}, policy=ASK, approve=approve, **more)

    def program(self, answer, **more):
        def approve(request):
            self.asked.append(request)
            return answer
        return self.engine(approve, **more).loads(PROGRAM)

    def lines(self):
        return self.file.read_text().splitlines() if self.file.exists() else []

    def test_yes(self):
        self.program(True).run(file=str(self.file))
        self.assertEqual(self.lines(), ["hi bees"])
        request, = self.asked
        self.assertEqual((request.sink, request.name), ("command", "sh"))
        said, = (a for a in request.arguments if a["text"] == "'hi bees'" or "hi bees" in a["text"])
        self.assertEqual((said["origins"], said["untrusted"]), (["model"], True))
        self.assertIn("hi bees", request.text)
        self.assertEqual(request, libpdl.ApprovalRequest(request.sink, request.name, request.arguments, request.text))
        self.assertNotEqual(request, libpdl.ModelRequest("m", [], {}))
        self.assertTrue(repr(request).startswith("ApprovalRequest(sink='command', name='sh', "))

    def test_no(self):
        with self.assertRaises(libpdl.PolicyError) as raised:
            self.program(False).run(file=str(self.file))
        self.assertEqual((self.lines(), len(self.asked), raised.exception.kind), ([], 1, "policy"))

    def test_equal_ones_are_asked_once(self):
        self.engine(lambda request: bool(self.asked.append(request)) or True).run(PROGRAM + PROGRAM.replace("\ntext:\n", ""),
                                                                                 file=str(self.file))
        self.assertEqual((self.lines(), len(self.asked)), (["hi bees"] * 2, 1))

    def test_coroutine(self):
        async def approve(request):
            await asyncio.sleep(0.01)
            self.asked.append(request)
            return True
        program = self.engine(approve).loads(PROGRAM)
        program.run(file=str(self.file))
        asyncio.run(program.arun(file=str(self.file)))
        self.assertEqual((self.lines(), len(self.asked)), (["hi bees"] * 2, 2))

    def test_every_way_to_run(self):
        program, file = self.program(True), str(self.file)

        async def apart():
            stream = program.astream(file=file)
            async for _ in stream:
                pass
            return await stream.result()
        list(program.stream(file=file))
        asyncio.run(apart())
        self.assertEqual([type(r) for r in program.map([{"file": file}] * 3, jobs=2)], [libpdl.Result] * 3)
        self.assertEqual(sorted(i for i, r in program.map_unordered([{"file": file}] * 2) if isinstance(r, libpdl.Result)), [0, 1])
        self.assertEqual((self.lines(), len(self.asked)), (["hi bees"] * 7, 7))

    def test_what_is_no_answer_is_no_yes(self):
        for answer in (1, "y", None, [True]):
            with self.subTest(answer=answer), self.assertRaises(libpdl.RunError) as raised:
                self.program(answer).run(file=str(self.file))
            self.assertIsInstance(raised.exception.__cause__, TypeError)
            self.assertIn("approve", str(raised.exception.__cause__))

        async def later(request):
            return "yes"
        with self.assertRaises(libpdl.RunError) as raised:
            self.engine(later).loads(PROGRAM).run(file=str(self.file))
        self.assertIsInstance(raised.exception.__cause__, TypeError)
        self.assertEqual(self.lines(), [])

    def test_a_function_that_fails(self):
        def approve(request):
            raise LookupError("nobody is there")
        with self.assertRaises(libpdl.RunError) as raised:
            self.engine(approve).loads(PROGRAM).run(file=str(self.file))
        self.assertIsInstance(raised.exception.__cause__, LookupError)
        self.assertEqual(self.lines(), [])

    def test_ctrl_c_while_it_asks(self):
        def approve(request):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            self.engine(approve).loads(PROGRAM).run(file=str(self.file))
        self.assertEqual(self.lines(), [])

    def test_argument(self):
        for wrong in (True, "yes", 1, []):
            with self.assertRaisesRegex(TypeError, "^approve must be a function"):
                libpdl.Engine(approve=wrong)


if __name__ == "__main__":
    unittest.main()
