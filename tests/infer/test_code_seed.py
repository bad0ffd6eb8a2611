# SPDX-License-Identifier: Apache-2.0
"""`pdl infer --seed`: the generators of Python code begin with the seed of each block, so the values do not depend on --jobs."""
import random
import time

import pytest

from .kit import infer, t

DRAW = "lang: python\ncode: |\n  import random\n  result = random.random()\n"

# Code waits for a model in the middle, so that blocks of other particles draw meanwhile.
WAITING = """
defs:
  ask: {function: {x: integer}, return: {model: openai/m, input: [{role: user, content: "q ${ x }"}]}}
  first:
    lang: python
    code: |
      import random
      result = random.random()
  second:
    lang: python
    code: |
      import random
      before = random.random()
      ask(x=1)
      result = [before, random.random()]
data: ["${ first }", "${ second }"]
"""

LOOP = """
lastOf:
- {def: sum, data: 0}
- repeat:
    lastOf:
    - def: x
      lang: python
      code: |
        import random
        result = random.gauss(0, 1)
    - {def: sum, data: "${ sum + x }"}
    - factor: ${ x * 0.5 }
  maxIterations: 3
- data: ${ sum }
"""

CELL = "lang: ipython\ncode: |\n  import random\n  print(random.random())\n"

# Each attempt draws another number, else none would succeed.
AGAIN = """
lang: python
retry: 30
code: |
  import random
  result = random.random()
  assert result > 0.7
"""

# The module is an object that stays in the process; each call of it has a seed of its own.
OBJECT = """
defs:
  dice:
    lang: python
    code: |
      import random
      result = random
data: ["${ dice.random() }", "${ dice.random() }"]
"""

# Stands for numpy, which is not installed everywhere: what matters is when it is imported, and how its generator is seeded.
NUMPY = """
import random as _r
_g = _r.Random()
def seed(words):
    assert all(0 <= w < 1 << 32 for w in words)
    _g.seed(repr(words))
def get_state():
    return _g.getstate()
def set_state(s):
    _g.setstate(s)
def rand():
    return _g.random()
"""
IMPORTED = WAITING.replace("import random", "import numpy.random as random").replace("random.random()", "random.rand()")


def values(*args):
    """What each particle gave, in the order of their numbers."""
    d, _ = infer("p.pdl", "--algo", "is", "-n", "9", *args)
    return [d["values"][i] for i in d["particles"]["value"]]


def late(prompt):
    """A model that answers after a while, so that replies come in no order."""
    time.sleep(random.random() / 50)
    return 200, "yes"


@pytest.mark.parametrize("program", [DRAW, WAITING, LOOP, CELL, AGAIN, OBJECT, IMPORTED], ids=["draw", "waiting", "loop", "cell", "again", "object", "numpy"])
def test_same_values_at_any_jobs(program):
    t.begin({"p.pdl": program}, late)
    (t.folder / "numpy").mkdir()
    (t.folder / "numpy" / "__init__.py").touch()
    (t.folder / "numpy" / "random.py").write_text(NUMPY, "utf-8")
    first = values("--seed", "7", "--jobs", "1")
    for jobs in ("1", "3", "9"):
        t.check("--jobs " + jobs, values("--seed", "7", "--jobs", jobs) == first, first)
    t.check("particles differ", len({repr(v) for v in first}) == 9, first)
    t.check("another seed is another draw", values("--seed", "8") != first, first)
