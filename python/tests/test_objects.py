# SPDX-License-Identifier: Apache-2.0
"""Objects of Python as values of programs: by reference, and as themselves on the way back."""
import asyncio
import dataclasses
import datetime
import decimal
import enum
import fractions
import gc
import inspect
import math
import pathlib
import sys
import types
import unittest
import uuid
import weakref

import libpdl


def there_and_back(x):
    return libpdl.run("data: ${ x }", {"x": x}).value


class Hive:
    def __init__(self, bees=3):
        self.bees = bees

    def __getitem__(self, key):
        return {"queen": "Ada", 1: "one"}[key]

    def __len__(self):
        return self.bees

    def __iter__(self):
        return iter(range(self.bees))

    def __call__(self, *args, **kwargs):
        return [args, kwargs]

    def __eq__(self, other):
        return isinstance(other, Hive) and self.bees == other.bees

    def __hash__(self):
        return self.bees

    def __str__(self):
        return "a hive"

    def __repr__(self):
        return "Hive(%d)" % self.bees

    def grow(self, by=1):
        self.bees += by
        return self

    def fail(self):
        raise ValueError("no bees")


class Sealed:
    def __str__(self):
        raise RuntimeError("sealed")

    def __bool__(self):
        raise RuntimeError("neither true nor false")


class References(unittest.TestCase):
    def uses(self, expression, **variables):
        return libpdl.run("data: ${ %s }" % expression, {"hive": Hive(), **variables}).value

    def test_what_expressions_do(self):
        rows = [
            ("hive.bees", 3), ("hive['queen']", "Ada"), ("hive.queen", "Ada"), ("hive[1]", "one"), ("hive(1, a=2)", [(1,), {"a": 2}]),
            ("hive.grow(by=4).bees", 7), ("hive | length", 3), ("hive | list", [0, 1, 2]), ("'yes' if hive else 'no'", "yes"),
            ("hive == other", True), ("hive != other", False), ("[hive] == [other]", True), ("hive == 3", False), ("'%s' % hive", "a hive"),
            ("hive is callable", True), ("hive.wax is defined", False), ("hive | string", "a hive"), ("[hive] | string", "[Hive(3)]"),
            ("[hive, other] | map(attribute='bees') | sum", 6), ("2 in hive", True), ("hive ~ '!'", "a hive!")]
        for expression, want in rows:
            with self.subTest(expression):
                self.assertEqual(self.uses(expression, other=Hive()), want)

    def test_numbers_of_other_kinds(self):
        half = fractions.Fraction(1, 2)
        self.assertEqual(there_and_back(half), half)
        self.assertEqual(libpdl.run("data: ${ x + 1 }", x=half).value, fractions.Fraction(3, 2))
        self.assertEqual(libpdl.run("data: ${ -x }", x=half).value, -half)
        self.assertIs(libpdl.run("data: ${ x < 1 }", x=half).value, True)
        self.assertEqual(libpdl.run("data: ${ [x, 2 * x] | max }", x=decimal.Decimal("1.5")).value, decimal.Decimal(3))

    def test_text_is_what_it_is_now(self):
        class Counter:
            n = 0

            def __str__(self):
                self.n += 1
                return str(self.n)
        self.assertEqual(libpdl.run("text: ['${ c }', ' ', '${ c }']", c=Counter()).text, "1 2")

    def test_identity(self):
        hive = Hive()
        result = libpdl.run("defs: {a: '${ [hive] }'}\ndata: {h: '${ a[0] }', l: '${ a }'}", hive=hive)
        self.assertIs(result.value["h"], hive)
        self.assertIs(result.value["l"][0], hive)
        self.assertIs(result.variables["hive"], hive)
        self.assertIs(result.variables["a"][0], hive)

    def test_functions_classes_and_modules_are_themselves(self):
        def f(a, b=1):
            return a + b
        for x in (f, len, Hive, sys, Hive().grow, lambda: 0):
            with self.subTest(repr(x)):
                self.assertEqual(there_and_back(x), x)
        self.assertEqual(libpdl.run("data: ${ f(1) + f(1, b=5) }", f=f).value, 8)
        self.assertEqual(libpdl.run("data: ${ Hive(5).bees }", Hive=Hive).value, 5)
        self.assertEqual(libpdl.run("data: ${ f.__name__ }", f=f).value, "f")

    def test_a_loop_over_an_object(self):
        self.assertEqual(libpdl.run("for: {x: '${ hive }'}\nrepeat: {data: '${ x }'}\njoin: {as: array}", hive=Hive()).value, [0, 1, 2])

    def test_errors(self):
        for expression, kind, cause in (("hive.fail()", "expression", ValueError), ("x | string", "expression", RuntimeError),
                                        ("1 if x else 2", "expression", RuntimeError)):
            with self.subTest(expression), self.assertRaises(libpdl.RunError) as caught:
                self.uses(expression, x=Sealed())
            self.assertEqual(caught.exception.kind, kind)
            self.assertIsInstance(caught.exception.__cause__, cause)
        with self.assertRaisesRegex(libpdl.RunError, "'Hive object' has no attribute 'wax'"):
            self.uses("hive.wax + 1")
        self.assertEqual(libpdl.run("data: ${ hive.fail() }\nfallback: {data: none}", hive=Hive()).value, "none")

    def test_ctrl_c_in_an_object_ends_the_run(self):
        class Stop:
            def __str__(self):
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            libpdl.run("text: ${ x }\nfallback: {text: caught}", x=Stop())

    def test_what_comes_later(self):
        class Slow:
            async def fetch(self, x):
                return x * 2
        self.assertEqual(libpdl.run("data: ${ slow.fetch(4) + 1 }", slow=Slow()).value, 9)

    def test_objects_go(self):
        hive = Hive()
        gone = weakref.ref(hive)
        result = libpdl.run("defs: {h: '${ hive }'}\ndata: ${ h }", hive=hive)
        del hive
        self.assertIsNotNone(gone())
        del result
        gc.collect()
        self.assertIsNone(gone())

    def test_the_process_of_code_blocks_has_none(self):
        with self.assertRaisesRegex(libpdl.RunError, "cannot be given to the process of code blocks"):
            libpdl.Engine(code="process").run("lang: python\ncode: result = hive", hive=Hive())


class Kinds(unittest.TestCase):
    def test_what_tests_of_templates_say(self):
        class Pair:
            def __len__(self):
                return 2

            def __getitem__(self, i):
                return i
        is_what = libpdl.loads("data: ${ [x is mapping, x is sequence, x is number, x is iterable] }")
        for x, want in ((b"ab", "sequence iterable"), (bytearray(b"a"), "sequence iterable"), (range(3), "sequence iterable"), (uuid.UUID(int=1), ""),
                        (Pair(), "sequence iterable"), (types.MappingProxyType({}), "mapping sequence iterable"), (decimal.Decimal(1), "number"),
                        (fractions.Fraction(1, 2), "number"), (2j, "number"), ({enum.Enum("C", "a").a: 1}, "mapping sequence iterable"),
                        ({1}, "iterable"), (len, "")):
            with self.subTest(repr(x)):
                holds = is_what.run(x=x).value
                self.assertEqual(" ".join(n for n, is_so in zip(("mapping", "sequence", "number", "iterable"), holds) if is_so), want)

    def test_objects_that_fail_when_they_are_looked_at(self):
        class Proxy:
            def __getattr__(self, name):
                raise RuntimeError("outside of a request")
        proxy = Proxy()
        self.assertIs(there_and_back(proxy), proxy)
        with self.assertRaisesRegex(libpdl.RunError, "outside of a request") as caught:
            libpdl.run("data: ${ x.y }", x=proxy)
        self.assertIsInstance(caught.exception.__cause__, RuntimeError)

        class Textless:
            def __repr__(self):
                raise KeyError("no text")
        with self.assertRaisesRegex(libpdl.RunError, "no text") as caught:
            there_and_back(Textless())
        self.assertIsInstance(caught.exception.__cause__, KeyError)

    def test_fields_without_a_value(self):
        @dataclasses.dataclass
        class Half:
            a: int
            b: int = dataclasses.field(init=False)

        class Own:
            model_fields = {"a": 1}
        self.assertEqual(there_and_back(Half(1)), {"a": 1})
        own = Own()
        self.assertIs(there_and_back(own), own)

    def test_the_key_nan(self):
        self.assertEqual(libpdl.run("text: ${ x | tojson }", x={math.nan: 1, 2: {math.nan: [3]}}).text, '{"NaN": 1, "2": {"NaN": [3]}}')

    def test_dates(self):
        zone = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
        for x in (datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 10, 5, 0, 123), datetime.datetime(1, 1, 1, tzinfo=zone),
                  datetime.time(1, 2), datetime.timedelta(3)):
            with self.subTest(repr(x)):
                self.assertEqual(there_and_back(x), x)
        self.assertEqual(libpdl.run("text: ${ d }", d=datetime.date(2024, 2, 29)).text, "2024-02-29")
        self.assertEqual(libpdl.run("data: ${ d.year }", d=datetime.date(2024, 2, 29)).value, 2024)

    def test_bytes_sets_ranges(self):
        self.assertEqual(there_and_back(b"\0\xff"), b"\0\xff")
        self.assertEqual(there_and_back({1, 2}), {1, 2})
        self.assertEqual(libpdl.run("data: ${ range(3) }").value, [0, 1, 2])

    def test_keys_that_are_no_text(self):
        for d in ({1: "a", 2.5: "b", None: "c", (1, "x"): "d", b"y": "e"}, {"a\0b": 1}, {datetime.date(2024, 1, 1): 1}):
            with self.subTest(repr(d)):
                self.assertEqual(there_and_back(d), d)
        self.assertEqual(libpdl.run("data: ${ d[2] }", d={2: "two"}).value, "two")
        colour = enum.Enum("Colour", "RED GREEN")
        by_object = {colour.RED: 1}
        self.assertIs(there_and_back(by_object), by_object)

    def test_large_integers(self):
        for n in (2 ** 63, -2 ** 63 - 1, 2 ** 64 + 1, 10 ** 5000, -10 ** 5000, 16 ** 40):
            self.assertEqual(there_and_back(n), n)
        self.assertEqual(libpdl.run("data: ${ n + 1 }", n=2 ** 100).value, 2 ** 100 + 1)

    def test_lists_of_integers(self):
        for n in (0, 1, 31, 32, 33, 1000):
            self.assertEqual(there_and_back(list(range(n))), list(range(n)))
        mixed = [*range(40), True, 2 ** 70, 1.5, "x", None]
        back = there_and_back(mixed)
        self.assertEqual(back, mixed)
        self.assertIs(back[40], True)

    def test_paths_and_tuples(self):
        self.assertEqual(there_and_back(pathlib.PurePosixPath("/a/b")), "/a/b")
        self.assertEqual(there_and_back((1, (2, 3), [4])), (1, (2, 3), [4]))
        self.assertEqual(libpdl.run("data: ${ ns.x }", ns=types.SimpleNamespace(x=4)).value, 4)

    def test_cyclic_and_deep(self):
        cyclic = []
        cyclic.append(cyclic)
        deep = []
        for _ in range(2000):
            deep = [deep]
        knot = {}
        knot["self"] = [knot]
        for x in (cyclic, deep, knot):
            with self.assertRaisesRegex(libpdl.Error, "nested too deeply, or holds itself"):
                there_and_back(x)


LIBRARY = """
defs:
  greeting: Hello
  greet:
    description: Greets a person.
    function:
      name: string
      times: {optional: integer}
    return: ${ greeting }, ${ name }!
  ask:
    function: {q: string}
    return: {model: m, input: '${ q }'}
  twice:
    function: {f: obj}
    return: ${ f(1) + f(2) }
  bad:
    function: {}
    return: ${ nowhere }
text: ''
"""


class Functions(unittest.TestCase):
    def setUp(self):
        self.engine = libpdl.Engine(models={"m": self.model})
        self.names = self.engine.loads(LIBRARY, name="lib.pdl").run().variables

    async def model(self, request):
        await asyncio.sleep(0.01)
        return request.messages[-1]["content"].upper()

    def test_calls(self):
        greet = self.names["greet"]
        self.assertEqual(greet("Ada"), "Hello, Ada!")
        self.assertEqual(greet(name="Ada"), "Hello, Ada!")
        self.assertEqual(self.names["ask"]("bees"), "BEES")
        self.assertEqual(self.names["twice"](lambda x: 10 * x), 30)
        self.assertEqual(list(map(greet, ["a", "b"])), ["Hello, a!", "Hello, b!"])

    def test_what_it_is(self):
        greet = self.names["greet"]
        self.assertEqual((greet.__name__, greet.__doc__), ("greet", "Greets a person."))
        self.assertEqual(str(inspect.signature(greet)), "(name: str, times: int = None)")
        self.assertEqual(repr(greet), "<libpdl.Function greet>")
        self.assertEqual({greet: 1}[greet], 1)
        self.assertEqual(greet, self.engine.loads("data: ${ f }").run(f=greet).value)
        self.assertNotEqual(greet, self.names["ask"])

    def test_errors(self):
        with self.assertRaisesRegex(libpdl.RunError, "'nowhere' is undefined") as caught:
            self.names["bad"]()
        self.assertEqual((caught.exception.file, caught.exception.line), ("lib.pdl", 18))
        with self.assertRaisesRegex(libpdl.RunError, "(?i)too many arguments"):
            self.names["ask"]("a", "b", "c")

        def fail(x):
            raise ValueError("no bees")
        with self.assertRaises(libpdl.RunError) as caught:
            self.names["twice"](fail)
        self.assertIsInstance(caught.exception.__cause__, ValueError)

    def test_of_another_engine(self):
        with self.assertRaisesRegex(libpdl.UsageError, "another engine"):
            libpdl.run("data: ${ f('x') }", f=self.names["greet"])

    def test_awaited(self):
        async def main():
            ask = self.names["ask"]
            return await asyncio.gather(*(ask.acall("bee %d" % i) for i in range(20)))
        self.assertEqual(asyncio.run(main()), ["BEE %d" % i for i in range(20)])

    def test_inside_of_callbacks(self):
        def host(f):
            return f("x") + libpdl.run("text: nested").text + self.engine.run("text: inner").text
        result = self.engine.loads(LIBRARY.replace("text: ''", "text: ${ host(ask) } ${ host(greet) }")).run(host=host)
        self.assertEqual(result.text, "Xnestedinner Hello, x!nestedinner")
        code = LIBRARY.replace("text: ''", "lang: python\ncode: result = greet('Bo') + ask('y')")
        self.assertEqual(self.engine.loads(code).run().value, "Hello, Bo!Y")

    def test_inside_of_callbacks_under_asyncio(self):
        def host(f):
            return f("x")
        program = self.engine.loads(LIBRARY.replace("text: ''", "text: ${ host(ask) }"))

        async def main():
            return [r.text for r in await asyncio.gather(*(program.arun(host=host) for _ in range(3)))]
        self.assertEqual(asyncio.run(main()), ["X"] * 3)

    def test_it_outlives_its_engine(self):
        greet = libpdl.Engine().loads(LIBRARY).run().variables["greet"]
        gc.collect()
        self.assertEqual(greet("Ada"), "Hello, Ada!")


class ModelNames(unittest.TestCase):
    def test_a_name_without_a_star_is_that_name_alone(self):
        engine = libpdl.Engine(models={"m": lambda r: "exact", "m/*": lambda r: "star", "*": lambda r: "any"})
        for name, want in (("m", "exact"), ("m/x", "star"), ("mm", "any"), ("n", "any")):
            self.assertEqual(engine.run("model: %s\ninput: x" % name).text, want)
        with self.assertRaises(libpdl.ModelError) as caught:
            libpdl.Engine(models={"m": lambda r: "exact"}).run("model: mx\ninput: x")
        self.assertEqual(caught.exception.kind, "unknown_provider")


class CallBlocks(unittest.TestCase):
    def test_a_function_of_python_is_called_in_an_expression(self):
        for f in (len, lambda x: x, Hive):
            with self.assertRaises(libpdl.RunError) as e:
                libpdl.run("call: ${ f }\nargs: {x: abc}", f=f)
            self.assertIn("call those of Python in an expression, as in ${ f(x) }", e.exception.hint)
        with self.assertRaises(libpdl.RunError) as e:
            libpdl.run("call: ${ f }\nargs: {x: abc}", f=object())
        self.assertEqual(e.exception.hint, "")


class Odd:
    """An object whose properties raise exceptions."""

    @property
    def key(self):
        raise KeyError("inside")

    @property
    def absent(self):
        raise AttributeError("absent")

    def __getitem__(self, name):
        return {"item": 1}[name]


class Missing(unittest.TestCase):
    def test_an_attribute_that_is_not_there_is_an_error_of_its_block(self):
        for text in ("data: ${ x.nosuch }", "text: ${ x.nosuch }", "data: ${ x['nosuch'] }", "text:\n- data: ${ x.nosuch }\n  def: y", "data: ${ x.absent }"):
            for code in "here", "process":
                with self.subTest(text, code=code), self.assertRaisesRegex(libpdl.RunError, "has no (attribute|element) '(nosuch|absent)'"):
                    if code == "here":
                        libpdl.run(text, x=Odd())
                    else:
                        block = "text:\n- {lang: python, code: 'import types; result = types.SimpleNamespace()', def: x, contribute: []}\n- "
                        libpdl.Engine(code="process").run(block + text.replace("\n", "\n  "))

    def test_it_may_be_asked_for(self):
        self.assertEqual(libpdl.run("data: ${ [x.nosuch | default(3), x.nosuch is defined, x.item] }", x=Odd()).value, [3, False, 1])
        self.assertEqual(libpdl.run("text: ${ x.nosuch }\nfallback: other", x=Odd()).text, "other")

    def test_what_a_property_raises_is_its_error(self):
        with self.assertRaises(libpdl.RunError) as e:
            libpdl.run("data: ${ x.key }", x=Odd())
        self.assertIsInstance(e.exception.__cause__, KeyError)

    def test_an_exception_without_a_text(self):
        class Wordless(Exception):
            def __str__(self):
                raise ValueError("none")

        def f():
            raise Wordless()
        with self.assertRaisesRegex(libpdl.RunError, "Wordless, whose text raised ValueError") as e:
            libpdl.run("data: ${ f() }", f=f)
        self.assertIsInstance(e.exception.__cause__, Wordless)


if __name__ == "__main__":
    unittest.main()
