# SPDX-License-Identifier: Apache-2.0
"""chance.py -- random numbers that are the same in each run, compiled into the names of worker.py when a block comes with a seed.

An inference runs its program many times in one process, and the order of blocks differs from run to run. So each block
has its own random numbers: `random` and, where it is imported, `numpy.random` start from the seed of the block. A
block that waited for the run continues with its own numbers. Generators that the code makes itself are not seeded.
"""
import random  # noqa: F401  (it is seeded by its name in sys.modules)
from importlib.machinery import PathFinder

_NUMPY = "numpy.random"
_WAYS = {"random": ("seed", "getstate", "setstate"), _NUMPY: ("seed", "get_state", "set_state")}


def _way(name, i):
    """Returns the function that seeds the random generator of the module `name` (i is 0), returns its state (1), or
    sets its state (2). Returns None when the module is not loaded."""
    return getattr(sys.modules.get(name), _WAYS[name][i], None)


def _seed_one(name, seed):
    start = _way(name, 0)
    if start:
        # Both generators start a Mersenne Twister from a list of words. A third word makes the numbers of the two
        # generators differ.
        start(seed if name == "random" else [seed & 0xFFFFFFFF, seed >> 32, 1])


def _seed_all(block):
    """Seeds the generators for a block. This function is also called in a child process, because Python gives `random`
    another state there."""
    for name in _WAYS:
        _seed_one(name, block.seed)


def _states():
    return [(name, _way(name, 1)()) for name in _WAYS if _way(name, 1) and _way(name, 2)]


def _set_states(states):
    for name, state in states:
        _way(name, 2)(state)


class _SeedsNumpy:
    """Seeds numpy.random when a block imports it. Otherwise it would begin with random numbers of the system."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name == _NUMPY else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                block = _block()
                if block is not None and block.seed is not None:
                    _seed_one(_NUMPY, block.seed)

            spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _SeedsNumpy)
