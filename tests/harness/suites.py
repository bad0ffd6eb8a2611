# SPDX-License-Identifier: Apache-2.0
"""The table of suites. A suite is a folder below tests/ (or python/tests); everything else is decided by its row.

tier    the first verb that runs it: check < test < all < soak. A module or a function may move itself to a later one with
        pytest.mark.tier("all").
memory  True: also over the sanitizer build, because it reads bytes of others or holds memory by hand.
needs   what must be built, relative to the build folder.
"""
import collections

TIERS = ("check", "test", "all", "soak")

Suite = collections.namedtuple("Suite", "name path tier memory needs", defaults=("pdl",))

SUITES = [
    Suite("tree", "tests/tree", "check", False),
    Suite("unit", "tests/unit", "check", True, "tests/unit"),
    Suite("lang", "tests/lang", "check", True),
    Suite("errors", "tests/errors", "check", True),
    Suite("cli", "tests/cli", "check", True),
    Suite("conformance", "tests/conformance", "check", True, "pdl-value-test"),
    Suite("model", "tests/model", "check", True, "tests/model/model_driver"),
    Suite("check", "tests/check", "check", False),
    Suite("docs", "tests/docs", "test", False),
    Suite("hints", "tests/hints", "test", False),
    Suite("fmt", "tests/fmt", "check", False),
    Suite("yaml", "tests/yaml", "check", True, "pdl-yaml-events"),
    Suite("terminal", "tests/terminal", "check", False),
    Suite("eval", "tests/eval", "check", True),
    Suite("optimize", "tests/optimize", "test", True),
    Suite("infer", "tests/infer", "check", True),
    Suite("mock", "tests/mock", "check", True),
    Suite("examples", "tests/examples", "test", False),
    Suite("mcp", "tests/mcp", "test", True),
    Suite("web", "tests/web", "test", True),
    Suite("serve", "tests/serve", "test", True),
    Suite("vm", "tests/vm", "test", True),
    Suite("trace", "tests/trace", "test", True),
    Suite("viewer", "tests/viewer", "test", False),
    Suite("batch", "tests/batch", "test", True),
    Suite("lsp", "tests/lsp", "test", True),
    Suite("dap", "tests/dap", "test", True),
    Suite("sandbox", "tests/sandbox", "test", False),
    Suite("policy", "tests/policy", "test", False),
    Suite("robust", "tests/robust", "test", False),
    Suite("durable", "tests/durable", "test", True),
    Suite("telemetry", "tests/telemetry", "test", True),
    Suite("fuzz", "tests/fuzz", "test", True),
    Suite("lib", "tests/lib", "test", False),
    Suite("pack", "tests/pack", "test", True),
    Suite("recipes", "tests/recipes", "test", False),
    Suite("api", "tests/api", "test", True),
    Suite("python", "python/tests", "test", True, "libpdl.so"),
    Suite("python-packages", "tests/python", "all", False, "libpdl.so"),
    Suite("bench", "tests/bench", "all", False),
    Suite("tools", "tests/tools", "all", False),
    Suite("install", "tests/install", "all", False),
    Suite("clients", "tests/clients", "all", False),
    Suite("wheel", "tests/wheel", "all", False),
    Suite("static", "tests/static", "all", False),
    Suite("notebook", "tests/notebook", "all", False, "libpdl.so"),
    Suite("page", "tests/page", "all", False),
    Suite("site", "tests/site", "all", False),
    Suite("npm", "tests/npm", "all", False),
    Suite("cluster", "tests/cluster", "all", False, "libpdl.so"),
    Suite("dojo", "tests/dojo", "all", False),
    Suite("editors", "tests/editors", "all", False),
    Suite("reference", "tests/reference", "all", False, "libpdl.so"),
    Suite("check_reference", "tests/check_reference", "all", False),
]

# Cases that are no functions of Python cannot move themselves to a later tier: their file, or the folder above it, stands here.
LATER = {
    "tests/unit/worker": "test",                     # they start and kill processes of Python: half the time of all unit tests
    "tests/unit/value/test_int.c": "test",           # integers at the limit of their size
    "tests/unit/eval/test_verdict.c": "test",        # ten thousand simulated evaluations
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
