# SPDX-License-Identifier: Apache-2.0
"""Context variables in callbacks of runs under asyncio."""
import asyncio
import contextvars
import unittest

import libpdl

WHO = contextvars.ContextVar("who", default="nobody")


class Teller:
    """An object that notes, at every use, whose context variables are current."""

    def __init__(self, said):
        self.said = said

    def note(self, what):
        self.said.append((what, WHO.get()))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.note("attribute")
        return 1

    def __getitem__(self, key):
        self.note("item")
        return 1

    def __iter__(self):
        self.note("iterate")
        return iter([1])

    def __len__(self):
        self.note("length")
        return 1

    def __bool__(self):
        self.note("truth")
        return True

    def __str__(self):
        self.note("text")
        return "t"

    def __eq__(self, other):
        self.note("equal")
        return True

    __hash__ = None

    def __add__(self, other):
        self.note("operate")
        return 1


class ContextVariables(unittest.TestCase):
    """Callbacks see the context variables of the task that began their run."""

    def several(self, begin, n=8):
        async def one(i):
            WHO.set("task %d" % i)
            await asyncio.sleep(0.001 * (n - i))
            said = await begin(i)
            self.assertEqual(set(w for _, w in said), {"task %d" % i}, said)
            return said

        async def main():
            return await asyncio.gather(*(one(i) for i in range(n)))
        said = asyncio.run(main())
        self.assertEqual(WHO.get(), "nobody")
        return said

    def asked(self, model):
        """Runs in which a model is asked twice, with a pause between that lets other tasks run. Most calls wait, because only two may be open at a
        time."""
        e = libpdl.Engine(models={"m": model}, jobs=2)

        async def wait(i):
            await asyncio.sleep(0.002)
            return i
        program = e.loads("text:\n- ${ wait(1) }\n- model: m\n  input: ${ i }!\n- ${ wait(2) }\n- model: m\n  input: ${ i }!\n- ${ f() }")
        said = {i: [] for i in range(8)}
        self.said = said

        async def begin(i):
            await program.arun(i=i, wait=wait, f=lambda: said[i].append(("function", WHO.get())))
            return said[i]
        for one in self.several(begin):
            self.assertEqual(len(one), 3)

    def note(self, request):
        self.said[int(request.messages[-1]["content"].strip("!"))].append(("model", WHO.get()))
        return "a"

    def test_a_function(self):
        self.asked(self.note)

    def test_a_coroutine(self):
        async def model(request):
            await asyncio.sleep(0.001)
            return self.note(request)
        self.asked(model)

    def test_pieces(self):
        def model(request):
            yield "a"
            self.note(request)
        self.asked(model)

    def test_pieces_that_come_later(self):
        async def model(request):
            yield "a"
            await asyncio.sleep(0.001)
            self.note(request)
        self.asked(model)

    def test_objects(self):
        e = libpdl.Engine()

        async def wait():
            await asyncio.sleep(0.002)
            return ""
        program = e.loads("text:\n- ${ wait() }\n- ${ t.x }${ t[0] }${ t|list }${ t|length }${ 'y' if t else '' }${ t }${ t == u }${ t + 1 }")

        async def begin(i):
            said = []
            await program.arun(t=Teller(said), u=Teller(said), wait=wait)
            self.assertLessEqual({"attribute", "item", "iterate", "length", "truth", "text", "equal", "operate"}, {what for what, _ in said})
            return said
        self.several(begin)

    def test_code_streams_and_functions(self):
        e = libpdl.Engine()
        program = e.loads("text:\n- ${ wait() }\n- lang: python\n  code: result = note('code')\n"
                          "- lang: python\n  code: |\n    import asyncio\n    await asyncio.sleep(0.001)\n    result = note('later')\n")
        function = e.loads("defs:\n  f:\n    function: {wait: obj, note: obj}\n    return:\n      text:\n      - ${ wait() }\n      - ${ note('called') }\n").run().variables["f"]

        async def wait():
            await asyncio.sleep(0.002)
            return ""

        async def begin(i):
            said = []

            def note(what):
                said.append((what, WHO.get()))
                return ""
            async for _ in program.astream(wait=wait, note=note):
                pass
            await function.acall(wait, note)
            self.assertEqual([what for what, _ in said], ["code", "later", "called"])
            return said
        self.several(begin)

    def test_what_a_callback_sets_is_kept_for_the_run(self):
        def model(request):
            before = WHO.get()
            WHO.set(before + "+")
            return before
        program = libpdl.Engine(models={"m": model}).loads("text:\n- model: m\n  input: a\n- ' '\n- model: m\n  input: b")

        async def main():
            WHO.set("main")
            return (await program.arun()).text, (await program.arun()).text, WHO.get()
        self.assertEqual(asyncio.run(main()), ("main main+", "main main+", "main"))

        def here():
            return program.run().text, WHO.get()  # it runs in the context of its caller, as any other function
        self.assertEqual(contextvars.copy_context().run(here), ("nobody nobody+", "nobody++"))

    def test_a_run_inside_of_a_callback(self):
        said = []
        inner = libpdl.loads("text: ${ f() }")

        def f():
            said.append(WHO.get())
            return "x"

        def model(request):
            WHO.set("inside")
            return inner.run(f=f).text
        program = libpdl.Engine(models={"m": model}).loads("model: m\ninput: a")

        async def main():
            WHO.set("main")
            return (await program.arun()).text
        self.assertEqual((asyncio.run(main()), said), ("x", ["inside"]))


if __name__ == "__main__":
    unittest.main()
