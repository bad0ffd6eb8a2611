# SPDX-License-Identifier: Apache-2.0
"""Streams, asyncio, map, models that answer in pieces or later."""
import asyncio
import unittest

import libpdl

ASK = "text:\n- 'say: '\n- model: m\n  input: ${ x }"


async def slow(request):
    await asyncio.sleep(0.05)
    return request.messages[-1]["content"].upper()


def engine(model=slow, **options):
    return libpdl.Engine(models={"m": model}, **options)


class Streams(unittest.TestCase):
    def test_pieces_in_order(self):
        seen = []

        def model(request):
            for piece in ("one ", "two ", "three"):
                seen.append(piece)
                yield piece
        with engine(model).loads(ASK).stream(x="a") as s:
            got = []
            for piece in s:
                got.append((piece, len(seen)))
            self.assertEqual("".join(p for p, _ in got), "say: one two three")
            self.assertLess(got[1][1], 3)  # the piece arrived before the model had ended
            self.assertEqual(s.result().value, "say: one two three")

    def test_result_first(self):
        s = libpdl.loads("text: abc").stream()
        self.assertEqual(s.result().text, "abc")
        self.assertEqual("".join(s), "abc")

    def test_close(self):
        s = libpdl.loads("text:\n- a\n- lang: command\n  code: sleep 20").stream()
        self.assertEqual(next(s), "a")
        s.close()
        with self.assertRaises(libpdl.Error):
            s.result()

    def test_close_ends_the_model(self):
        ended = []

        def model(request):
            try:
                for i in range(100):
                    yield str(i)
            finally:
                ended.append(request.model)
        s = engine(model).loads(ASK).stream(x="a")
        next(s)
        next(s)
        s.close()
        self.assertEqual(ended, ["m"])

    def test_an_error_in_the_middle(self):
        def model(request):
            yield "a"
            raise ValueError("no more")
        with self.assertRaises(libpdl.Error) as e:
            list(engine(model).loads(ASK).stream(x="a"))
        self.assertIsInstance(e.exception.__cause__, ValueError)


class Models(unittest.TestCase):
    def test_a_coroutine_under_run(self):
        r = engine().loads(ASK).run(x="bees")
        self.assertEqual(r.value, "say: BEES")

    def test_a_coroutine_in_a_stream(self):
        self.assertEqual("".join(engine().loads(ASK).stream(x="bees")), "say: BEES")

    def test_async_pieces(self):
        async def model(request):
            for piece in "abc":
                await asyncio.sleep(0)
                yield piece
        self.assertEqual(engine(model).loads(ASK).run(x="").value, "say: abc")

    def test_a_coroutine_function_in_an_expression(self):
        async def f(x):
            await asyncio.sleep(0.01)
            return x + 1
        self.assertEqual(libpdl.run("data: ${ f(1) }", f=f).value, 2)

    def test_a_run_within_a_run(self):
        def f(x):
            return libpdl.run("data: ${ x * 2 }", x=x).value
        self.assertEqual(libpdl.run("data: ${ f(21) }", f=f).value, 42)

    def test_usage(self):
        e = engine(lambda r: {"content": "x", "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
        self.assertEqual(e.loads(ASK).run(x="a").usage, {"model_calls": 1, "prompt_tokens": 3, "completion_tokens": 4})

    def test_what_is_no_answer(self):
        with self.assertRaises(libpdl.RunError) as e:
            engine(lambda r: 5).loads(ASK).run(x="a")
        self.assertIsInstance(e.exception.__cause__, TypeError)


class Asyncio(unittest.TestCase):
    def test_many_at_a_time(self):
        for options in ({}, {"timeout": 60}):
            e = engine(jobs=1000, **options)
            p = e.loads(ASK)
            n = 1100 if not options else 20

            async def main():
                return await asyncio.gather(*(p.arun(x="b%d" % i) for i in range(n)))
            results = asyncio.run(main())
            self.assertEqual([r.value for r in results], ["say: B%d" % i for i in range(n)])

    def test_they_are_open_together(self):
        waiting, most = [], []

        async def model(request):
            """Answers when all runs have asked."""
            waiting.append(asyncio.get_running_loop().create_future())
            most.append(len(waiting))
            if len(waiting) == 40:
                for future in waiting:
                    future.set_result("yes")
            return await waiting[len(most) - 1]
        p = engine(model).loads(ASK)

        async def main():
            return await asyncio.wait_for(asyncio.gather(*(p.arun(x="a") for _ in range(40))), 60)
        self.assertEqual([r.value for r in asyncio.run(main())], ["say: yes"] * 40)
        self.assertEqual(max(most), 40)

    def test_astream(self):
        p = engine().loads(ASK)

        async def main():
            s = p.astream(x="bees")
            pieces = [piece async for piece in s]
            return pieces, await s.result()
        pieces, result = asyncio.run(main())
        self.assertEqual(("".join(pieces), result.value), ("say: BEES", "say: BEES"))

    def test_astream_as_a_context(self):
        """A caller that leaves in the middle ends the run."""
        p = libpdl.loads("text: [a, {lang: command, code: sleep 30}]")

        async def main():
            async with p.astream() as s:
                async for piece in s:
                    return s, piece
        s, piece = asyncio.run(main())
        self.assertEqual((piece, s._is_closed), ("a", True))

    def test_cancellation(self):
        ended = []

        async def forever(request):
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(1)
        p = engine(forever).loads(ASK + "\nfallback: caught")

        async def main():
            task = asyncio.create_task(p.arun(x="a"))
            await asyncio.sleep(0.1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.1)
            return len(ended)
        self.assertEqual(asyncio.run(main()), 1)

    def test_errors(self):
        p = libpdl.loads("data: ${ 1 // x }")

        async def main():
            return await asyncio.gather(*(p.arun(x=x) for x in (0, 1)), return_exceptions=True)
        bad, good = asyncio.run(main())
        self.assertIsInstance(bad, libpdl.RunError)
        self.assertEqual(good.value, 1)

    def test_run_inside_a_running_loop(self):
        async def main():
            own = asyncio.current_task()
            said = engine().loads(ASK).run(x="a").value
            rows = [r.value for r in engine().loads(ASK).map([{"x": "b"}, {"x": "c"}])]
            self.assertIs(asyncio.current_task(), own)
            await asyncio.sleep(0)
            return said, rows
        self.assertEqual(asyncio.run(main()), ("say: A", ["say: B", "say: C"]))


class Maps(unittest.TestCase):
    def test_in_order_with_errors_in_place(self):
        p = libpdl.loads("data: ${ 10 // x }")
        got = list(p.map([{"x": x} for x in (1, 0, 5)], jobs=2))
        self.assertEqual((got[0].value, got[2].value), (10, 2))
        self.assertIsInstance(got[1], libpdl.RunError)

    def test_unordered(self):
        seen = []

        async def model(request):
            while request.messages[-1]["content"] == "a" and len(seen) < 2:
                await asyncio.sleep(0.001)
            return "x"
        for i, _ in engine(model).loads(ASK).map_unordered(({"x": x} for x in "abc")):
            seen.append(i)
        self.assertEqual((sorted(seen[:2]), seen[2:]), ([1, 2], [0]))

    def test_close(self):
        m = engine().loads(ASK).map([{"x": "a"}] * 50, jobs=3)
        self.assertEqual(next(m).value, "say: A")
        m.close()
        self.assertEqual(list(m), [])

    def test_lazy_rows(self):
        taken = []

        def rows():
            for i in range(1000):
                taken.append(i)
                yield {"i": i}
        m = libpdl.loads("data: ${ i }").map(rows(), jobs=4)
        self.assertEqual(next(m).value, 0)
        self.assertLess(len(taken), 10)
        m.close()


if __name__ == "__main__":
    unittest.main()
