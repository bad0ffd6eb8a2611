# SPDX-License-Identifier: Apache-2.0
"""Tools that read signatures get types, not texts with names that they cannot resolve; and this costs nothing until a signature is read."""
import functools
import importlib
import inspect
import pathlib
import pickle
import pkgutil
import pydoc
import subprocess
import sys
import typing
import unittest

import libpdl


def functions_of(thing):
    """Yields (name, function) for a class or function, with its methods, properties and class methods."""
    yield thing.__qualname__, thing
    for name, member in vars(thing).items() if inspect.isclass(thing) else ():
        member = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member.fget if isinstance(member, property) else member
        if inspect.isfunction(member):
            yield "%s.%s" % (thing.__qualname__, name), member


def public():
    """Returns all functions of all public modules, and everything that the package exports."""
    found = {id(getattr(libpdl, name)): getattr(libpdl, name) for name in libpdl.__all__}
    for module in pkgutil.iter_modules(libpdl.__path__, "libpdl."):
        if not module.name.split(".")[-1].startswith("_"):
            for name, thing in vars(importlib.import_module(module.name)).items():
                if not name.startswith("_") and getattr(thing, "__module__", None) == module.name:
                    found[id(thing)] = thing
    return [pair for thing in found.values() if callable(thing) for pair in functions_of(thing)]


def texts_in(kind):
    """Returns the names in a type that were not resolved."""
    if isinstance(kind, (str, typing.ForwardRef)):
        return [kind]
    parts = kind if isinstance(kind, list) else getattr(kind, "__args__", ())
    return [t for part in parts if kind is not part for t in texts_in(part)]


class Hints(unittest.TestCase):
    def test_all_public_functions_have_types(self):
        all_functions = public()
        self.assertGreater(len(all_functions), 100)
        for name, f in all_functions:
            with self.subTest(name):
                for kind in typing.get_type_hints(f).values():
                    self.assertEqual(texts_in(kind), [])
                try:
                    inspect.signature(f, eval_str=True)
                except ValueError:
                    pass  # a class of exceptions has no signature

    def test_signatures_are_read_by_people(self):
        self.assertEqual(str(inspect.signature(libpdl.Engine.loads)).partition(" ->")[0].replace("Optional[str]", "str | None"),  # until 3.13
                         "(self, text: str, *, name: str | None = None, returns: Any = None)")
        self.assertIs(typing.get_type_hints(libpdl.Program.astream)["return"], libpdl.AsyncStream)
        self.assertEqual(list(inspect.signature(libpdl.Function).parameters), ["handle"])
        self.assertIn("A function of a program", pydoc.render_doc(libpdl.Function))
        f = libpdl.run("defs:\n  f:\n    description: Adds.\n    function: {a: integer}\n    return: ${ a + 1 }\ntext: hi").variables["f"]
        self.assertEqual((str(inspect.signature(f)), inspect.getdoc(f)), ("(a)" if ":" not in str(inspect.signature(f)) else "(a: int)", "Adds."))

    def test_annotations_behave_as_dicts(self):
        @functools.wraps(libpdl.Program.run)
        def wrapped(*args, **kwargs):
            return None
        self.assertEqual(typing.get_type_hints(wrapped), typing.get_type_hints(libpdl.Program.run))
        hints = libpdl.Program.stream.__annotations__
        self.assertIsInstance(hints, dict)
        self.assertEqual(pickle.loads(pickle.dumps(hints)), hints)
        self.assertEqual(dict(hints), {k: hints[k] for k in hints})
        self.assertEqual((hints.get("return"), len(hints), "scope" in hints), (libpdl.Stream, len(list(hints.values())), True))

    def test_nothing_slow_is_loaded_before(self):
        code = "import sys; before = set(sys.modules); import libpdl; print(sorted({'typing', 'asyncio', 'inspect'} & (set(sys.modules) - before)))"
        package = str(pathlib.Path(libpdl.__file__).parent.parent)
        out = subprocess.run([sys.executable, "-I", "-S", "-c", "import sys; sys.path.insert(0, %r); %s" % (package, code)], capture_output=True, text=True,
                             check=True, timeout=120).stdout
        self.assertEqual(out, "[]\n")


if __name__ == "__main__":
    unittest.main()
