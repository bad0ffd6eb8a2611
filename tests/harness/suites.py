# SPDX-License-Identifier: Apache-2.0
"""The table of suites. A suite is a folder below tests/ (or python/tests). Its row says everything else about it.

tier    the first verb that runs it: check < test < all < soak. A module or a function may move itself to a later one with
        pytest.mark.tier("all").
memory  not 0: the suite also runs over the sanitizer build, because it reads foreign bytes or manages memory by hand. 1: all of its items. 2: half of
        them, which
        are the other half at the next commit, because they run the same code many times; `make soak`, and a run that names a path or an item, takes all of them.
needs   what must be built, relative to the build folder.
turns   3: of the items that are rows of a table, or files of cases, `make test` takes one in three, which the commit draws, and `make test-rest` the others.
"""
import collections

TIERS = ("check", "test", "all", "soak")

Suite = collections.namedtuple("Suite", "name path tier memory needs turns", defaults=("pdl", 1))

SUITES = [
    Suite("tree", "tests/tree", "check", 0),
    Suite("unit", "tests/unit", "check", 1, "tests/unit"),
    Suite("lang", "tests/lang", "check", 1),
    Suite("errors", "tests/errors", "check", 1),
    Suite("cli", "tests/cli", "check", 1, turns=3),
    Suite("conformance", "tests/conformance", "check", 1, "pdl-value-test"),
    Suite("model", "tests/model", "check", 2, "tests/model/model_driver", turns=6),
    Suite("check", "tests/check", "check", 0, turns=2),
    Suite("docs", "tests/docs", "test", 0, turns=2),
    Suite("hints", "tests/hints", "test", 0, turns=2),
    Suite("fmt", "tests/fmt", "check", 0),
    Suite("yaml", "tests/yaml", "check", 1, "pdl-yaml-events"),
    Suite("terminal", "tests/terminal", "test", 0),
    Suite("eval", "tests/eval", "test", 2, turns=2),
    Suite("optimize", "tests/optimize", "test", 2, turns=2),
    Suite("infer", "tests/infer", "test", 2, turns=2),
    Suite("mock", "tests/mock", "check", 1),
    Suite("examples", "tests/examples", "test", 0),
    Suite("mcp", "tests/mcp", "test", 2, turns=3),
    Suite("web", "tests/web", "test", 1, turns=2),
    Suite("serve", "tests/serve", "test", 2, turns=2),
    Suite("vm", "tests/vm", "test", 2, turns=2),
    Suite("trace", "tests/trace", "test", 2, turns=2),
    Suite("viewer", "tests/viewer", "test", 0, turns=2),
    Suite("batch", "tests/batch", "test", 2, turns=2),
    Suite("lsp", "tests/lsp", "test", 2),
    Suite("dap", "tests/dap", "test", 1),
    Suite("sandbox", "tests/sandbox", "test", 0, turns=4),
    Suite("policy", "tests/policy", "test", 0, turns=6),
    Suite("robust", "tests/robust", "test", 0, turns=5),
    Suite("durable", "tests/durable", "test", 2, turns=3),
    Suite("telemetry", "tests/telemetry", "test", 1),
    Suite("fuzz", "tests/fuzz", "test", 1),
    Suite("lib", "tests/lib", "test", 0, turns=2),
    Suite("pack", "tests/pack", "test", 2),
    Suite("options", "tests/options", "test", 0),
    Suite("release", "tests/release", "test", 0),
    Suite("container", "tests/container", "test", 0),
    Suite("deb", "tests/deb", "test", 0),
    Suite("recipes", "tests/recipes", "test", 0),
    Suite("api", "tests/api", "test", 1),
    Suite("python", "python/tests", "test", 2, "libpdl.so"),
    Suite("python-packages", "tests/python", "all", 0, "libpdl.so"),
    Suite("bench", "tests/bench", "all", 0),
    Suite("tools", "tests/tools", "all", 0),
    Suite("install", "tests/install", "all", 0),
    Suite("clients", "tests/clients", "all", 0),
    Suite("wheel", "tests/wheel", "all", 0),
    Suite("static", "tests/static", "all", 0),
    Suite("notebook", "tests/notebook", "all", 0, "libpdl.so"),
    Suite("page", "tests/page", "all", 0),
    Suite("site", "tests/site", "all", 0),
    Suite("npm", "tests/npm", "all", 0),
    Suite("playground", "tests/playground", "all", 0),
    Suite("cluster", "tests/cluster", "all", 0, "libpdl.so"),
    Suite("dojo", "tests/dojo", "all", 0),
    Suite("editors", "tests/editors", "all", 0),
    Suite("reference", "tests/reference", "all", 0, "libpdl.so"),
    Suite("check_reference", "tests/check_reference", "all", 0),
]

# Cases that are no functions of Python cannot move themselves to a later tier: their file, or the folder above it, stands here.
LATER = {
    "tests/unit/worker": "test",                     # they start and kill processes of Python: half the time of all unit tests
    "tests/unit/value/test_int.c": "test",           # integers at the limit of their size
    "tests/unit/eval/test_comparison.c": "test",        # ten thousand simulated evaluations
    "tests/cli/api/explain_most_calls.test": "test",
    "tests/cli/check/check_stops_calls.test": "test",
    "tests/cli/viewer/endless_view.test": "test",
}

BY_PATH = {s.path: s for s in SUITES}


def later(path):
    """The tier of a case that LATER names, or None."""
    return LATER.get(path) or LATER.get(path.rpartition("/")[0])


def of(path):
    """The suite that a path relative to the root of the repository belongs to, or None."""
    parts = path.split("/")
    return BY_PATH.get("/".join(parts[:2]))
