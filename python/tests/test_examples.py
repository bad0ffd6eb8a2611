# SPDX-License-Identifier: Apache-2.0
"""The example programs of examples/python, run as their first lines say, without network. Skipped where a package is absent."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "python"
# name: packages that it needs, what it prints
PROGRAMS = {
    "script": ((), "Ada Lovelace was born in 1815.\nGrace Hopper was born in 1906.\n\n2 model calls, 20 tokens\n"),
    "endpoint": (("fastapi", "httpx"), "".join("200 You asked: what is %d \n" % i for i in range(3))),
    "fanout": ((), "".join("asleep gave no answer to %s\n" % q for q in ("one", "three", "two")) + "".join(
        "%s says %s\n" % (m, q) for m in ("quick", "steady") for q in ("ONE", "THREE", "TWO")) + "in less than a minute: True\n"),
    "table": (("pandas",), "I love these bees | good | \nthe hive was empty | bad | \n17 | unknown | Error during the evaluation of "
              "${ review.strip() }: 'int object' has no attribute 'strip'\n"),
}


def absent(packages):
    return [name for name in packages if importlib.util.find_spec(name) is None]


class Examples(unittest.TestCase):
    def test_every_example_is_here(self):
        self.assertEqual({p.stem for p in EXAMPLES.glob("*.py")}, set(PROGRAMS))

    def test_programs(self):
        for name, (packages, printed) in PROGRAMS.items():
            with self.subTest(name):
                if absent(packages):
                    self.skipTest("there is no %s" % ", ".join(absent(packages)))
                p = subprocess.run([sys.executable, EXAMPLES / (name + ".py")], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((p.returncode, p.stdout), (0, printed), p.stderr)

    @unittest.skipIf(absent(["nbclient", "ipykernel"]), "there is no nbclient and ipykernel")
    def test_the_notebook(self):
        import nbclient
        import nbformat
        book = nbformat.read(EXAMPLES / "cells.ipynb", as_version=4)
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        nbclient.NotebookClient(book, kernel_name="python3").execute(env=env)
        cells = [c for c in book.cells if c.cell_type == "code"]
        self.assertEqual("".join(o.text for o in cells[1].outputs), "Hello, I am Ada.\x1b[32mThat \x1b[0m" + "".join("\x1b[32m%s \x1b[0m" % w for w in (
            "was", "message", "1:", "Hello,", "I", "am", "Ada.")) + "\n")
        self.assertEqual(cells[2].outputs[0].data["text/plain"], "['That', 'was', 'message']")
        self.assertIn("pdl-run", cells[3].outputs[-1].data["text/html"])
        self.assertEqual(cells[4].outputs[0].data["text/plain"], "{'model_calls': 2, 'completion_tokens': 0, 'prompt_tokens': 0}")

    def test_they_are_typed(self):
        if absent(["mypy"]):
            self.skipTest("there is no mypy")
        names = [str(EXAMPLES / (n + ".py")) for n in PROGRAMS if not absent(PROGRAMS[n][0])]
        for name in names:
            p = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "--ignore-missing-imports", name], capture_output=True,
                               text=True, check=False, env={**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "")})
            self.assertEqual(p.returncode, 0, p.stdout)

    def test_the_notebook_is_saved_without_output(self):
        for cell in json.loads((EXAMPLES / "cells.ipynb").read_text("utf-8"))["cells"]:
            self.assertFalse(cell.get("outputs"))
