# SPDX-License-Identifier: Apache-2.0
"""The tests as pytest sees them: options, which items a run takes, and the fixtures that all suites share.

    /usr/bin/python3 -m pytest tests/cli -k batch -n 4
"""
import os
import pathlib
import sys
import tempfile

import pytest

from tests.harness import choice, isolate, report, suites
from tests.harness.choice import Choice

pytest_plugins = ["tests.harness.collect", "tests.harness.isolate"]

sys.dont_write_bytecode = True
# A developer's keys and settings must not change what a test sees.
FORGOTTEN = ("_API_KEY", "_API_BASE", "_BASE_URL", "_API_TOKEN")


def pytest_addoption(parser):
    group = parser.getgroup("libpdl")
    group.addoption("--build", default="build", metavar="DIR", help="the build folder under test; one that ends in -asan is a sanitizer build")
    group.addoption("--tier", default="test", choices=suites.TIERS, help="check, test, all or soak: which items, and how large they are")
    group.addoption("--rest", action="store_true", help="with --tier all: only what the tier test leaves out")
    group.addoption("--fetch", action="store_true", help="packages of hundreds of megabytes are fetched where they are not there")
    group.addoption("--scale", type=float, help="0.1 in test, 1 in all, 10 in soak: how many cases long tests take")
    group.addoption("--seed", default="", help="which part of long tables `test` takes; the commit is the seed otherwise")
    group.addoption("--all-suites", action="store_true", help="over a sanitizer build: suites, too, whose row says that they do without")
    group.addoption("--here", action="store_true", help="items run in the process of pytest, for a debugger")
    group.addoption("--slowest", type=int, default=0, metavar="N", help="print the N items that took the most processor time")
    group.addoption("--left", action="store_true", help="print which processes items left running")
    group.addoption("--phase", default="", help="a word in the name of the file of results, BUILD/test-resultWORD.json")


def pytest_configure(config):
    for line in ("tier(name): the first of check, test, all, soak that runs this", "sampled(first): a row of a long table, and whether `test` takes it",
                 "draws: a part of its rows runs in `test`, the others in the rest",
                 "seconds(n): an item that may take longer by the clock", "builds: it compiles, installs or emulates, so it has no budget",
                 "roomy: its processes may use much memory (browsers)", "dies: a command is meant to die by a signal of a fault",
                 "memory(yes): whether it runs over the sanitizer build, where its suite says otherwise"):
        config.addinivalue_line("markers", line)
    choice.begin(config)
    sys.pycache_prefix = str(Choice.build / "bytecode")
    isolate.begin()
    config.option.strict_markers = True
    if config.pluginmanager.hasplugin("xdist"):
        from tests.harness import schedule
        config.pluginmanager.register(schedule, "pdl-schedule")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(report.Totals(config), "pdl-totals")
    os.environ.update(PDL_PYTHON=os.environ.get("PDL_PYTHON") or "/usr/bin/python3", PYTHONDONTWRITEBYTECODE="1", PDL_SHARED=str(choice.ROOT / "tests"))
    for name in [n for n in os.environ if n.endswith(FORGOTTEN) or n in ("PDL_MCP_CONFIG", "PDL_STRESS", "PDL_DEBUG", "NO_COLOR", "FORCE_COLOR")]:
        del os.environ[name]


def pytest_pycollect_makemodule():
    """What modules are compiled to is kept, though not beside them. Tools that are imported say that nothing is kept, so this is said again."""
    sys.dont_write_bytecode = not Choice.build.is_dir()


def level(item):
    """The tier of an item, as a number."""
    suite = suites.of(item.nodeid.split("::")[0])
    marker, later = item.get_closest_marker("tier"), suites.later(item.nodeid.split("::")[0])
    return suites.TIERS.index(later or (marker.args[0] if marker else suite.tier if suite else "test"))


def is_empty(item):
    """Is it what pytest makes of a function none of whose rows is taken?"""
    marker = item.get_closest_marker("skip")
    return marker is not None and "empty parameter set" in marker.kwargs.get("reason", "")


def is_narrowed(config):
    """Does a path, a name or a marker say what is to be run?"""
    return bool(config.option.keyword or config.option.markexpr or config.option.file_or_dir or getattr(config.option, "lf", False))


def draws_inside(item):
    return "part" in getattr(item, "fixturenames", ()) or item.get_closest_marker("draws")


def has_turn(item):
    """Is the item one that `test` takes? Of rows that are drawn (`sampled`), of the tables of some suites (`turns`)
    and of what takes much processor time (`dear`), `test` and `check` take a part, and the rest the others. What draws a part inside of an item runs
    in both."""
    suite, rows = suites.of(item.nodeid.split("::")[0]), [m.args[0] for m in item.iter_markers("sampled")]
    if not all(rows):
        return False
    if draws_inside(item) or not suite or is_narrowed(item.config) or Choice.tier == "soak":
        return True
    table = not rows and "scale" not in getattr(item, "fixturenames", ()) and (hasattr(item, "callspec") or not isinstance(item, pytest.Function))
    every = max(suite.turns if table else 1, choice.dear_turns(item.nodeid))
    return choice.drawn(item.nodeid, every)


def is_taken(item):
    if is_empty(item):
        return False
    now, own = suites.TIERS.index(Choice.tier), level(item)
    if own > now:
        return False
    if Choice.sanitized and not item.config.getoption("all_suites"):
        marker, suite = item.get_closest_marker("memory"), suites.of(item.nodeid.split("::")[0])
        every = suite.memory if suite and Choice.tier != "soak" and not is_narrowed(item.config) else 1
        return marker.args[0] if marker else bool(suite and suite.memory and choice.drawn(item.nodeid, every))
    turn = has_turn(item)
    if Choice.tier in ("check", "test"):
        return turn
    if Choice.rest:
        grows = draws_inside(item) or "scale" in getattr(item, "fixturenames", ())
        return own == suites.TIERS.index("all") or bool(grows) or not turn
    return Choice.tier != "soak" or own == now or "scale" in getattr(item, "fixturenames", ())


def pytest_ignore_collect(collection_path, config):
    """Suites that this tier does not run are not even read."""
    if not collection_path.is_dir():
        return None
    suite = suites.of(str(pathlib.Path(collection_path).relative_to(choice.ROOT)))
    late = suite and suites.TIERS.index(suite.tier) > suites.TIERS.index(Choice.tier)
    return True if late or (suite and Choice.sanitized and not config.getoption("all_suites") and not suite.memory and not has_memory(collection_path)) else None


def has_memory(folder):
    """Does a module of the folder say that it runs over the sanitizer build?"""
    return any("mark.memory(True)" in p.read_text("utf-8") for p in folder.rglob("test_*.py"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    taken = {i for i in items if is_taken(i)}
    taken.update(drawn_anyway(config, items, taken))
    gone = [i for i in items if i not in taken]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [i for i in items if i in taken]
    if not hasattr(config, "workerinput") or config.workerinput["workerid"] == "gw0":
        empty = [s.name for s in due(config) if not any(suites.of(i.nodeid.split("::")[0]) is s for i in items)]
        if empty:
            raise pytest.UsageError("nothing was collected for %s" % ", ".join(empty))


def drawn_anyway(config, items, taken):
    """Yields an item for each suite of this run of which the draw took none: in `make test` every suite runs."""
    have, now = {suites.of(i.nodeid.split("::")[0]) for i in taken}, suites.TIERS.index(Choice.tier)
    for suite in due(config):
        left = [i for i in items if suites.of(i.nodeid.split("::")[0]) is suite and level(i) <= now and not is_empty(i)]
        if suite not in have and left:
            yield min(left, key=lambda i: choice.number(i.nodeid))


def due(config):
    """The suites of which this run must have items: all of its tier when no path, name or marker narrows it down."""
    if Choice.rest or is_narrowed(config):
        return []
    now = suites.TIERS.index(Choice.tier)
    return [s for s in suites.SUITES if suites.TIERS.index(s.tier) <= now and (s.memory or not Choice.sanitized) and Choice.tier != "soak"]


@pytest.fixture
def build():
    """The build folder, pathlib.Path."""
    return Choice.build


@pytest.fixture
def pdl():
    """The path of the command under test, a str."""
    return str(Choice.build / "pdl")


@pytest.fixture
def folder():
    """An empty folder that is removed after the item."""
    return pathlib.Path(tempfile.mkdtemp())


@pytest.fixture
def scale():
    """A function: how many of n a run takes; n is the figure of `make test-all`. An item that uses it runs again there."""
    return choice.scaled


@pytest.fixture
def part():
    """A function of (rows, every): the rows that this run takes. An item that uses it runs again in `make test-all`."""
    return choice.part
