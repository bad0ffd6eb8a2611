# SPDX-License-Identifier: Apache-2.0
"""Gives workers of pytest-xdist one item at a time, the longest first.

xdist distributes blocks of items in advance, and its workers begin an item only when they know the next one, because fixtures may outlive an item.
Here each item has a separate process and nothing outlives it, so a worker can get its next item when its last one has ended. A long item then never
waits behind another, and all workers end at about the same time. The durations of items come from the times of the last run in this build folder, or
else from tests/harness/times.json.
"""
import json
import pathlib

import pytest

UNKNOWN = 1.0  # seconds of an item that has not been measured; those in times.json take 1.5 and more


def times(config):
    """Seconds of items by their ids: those that are in the repository, then those of the last run."""
    found = {}
    for path in (pathlib.Path(__file__).with_name("times.json"), config.rootpath / config.getoption("build") / "test-times.json"):
        try:
            found.update(json.loads(path.read_text()))
        except (OSError, ValueError):
            pass
    return found


class OneAtATime:
    """What xdist wants of a scheduler (xdist/scheduler/load.py has the meaning of each method)."""

    def __init__(self, config, log=None):
        from xdist.workermanage import parse_spec_config
        self.config, self.numnodes = config, len(parse_spec_config(config))
        self.collections, self.open, self.collection, self.pending = {}, {}, None, []

    @property
    def nodes(self):
        return list(self.open)

    @property
    def collection_is_completed(self):
        return len(self.collections) >= self.numnodes

    @property
    def tests_finished(self):
        return self.collection is not None and not self.has_pending

    @property
    def has_pending(self):
        return bool(self.pending or any(i is not None for i in self.open.values()))

    def add_node(self, node):
        self.open[node] = None

    def add_node_collection(self, node, collection):
        self.collections[node] = list(collection)

    def schedule(self):
        if self.collection is None:
            first = next(iter(self.collections.values()))
            if any(c != first for c in self.collections.values()):
                raise pytest.UsageError("the workers have collected different items")
            known = times(self.config)
            self.collection = first
            self.pending = sorted(range(len(first)), key=lambda i: known.get(first[i], UNKNOWN))
        for node in self.nodes:
            self.give(node)

    def give(self, node):
        if self.open[node] is not None or node.shutting_down:
            return
        if self.pending:
            self.open[node] = self.pending.pop()
            node.send_runtest_some([self.open[node]])
        else:
            node.shutdown()

    def mark_test_complete(self, node, item_index, duration=0):
        self.open[node] = None
        self.give(node)

    def mark_test_pending(self, item):
        self.pending.append(self.collection.index(item))
        for node in self.nodes:
            self.give(node)

    def remove_node(self, node):
        index = self.open.pop(node)
        return None if index is None else self.collection[index]


def pytest_xdist_make_scheduler(config, log):
    return OneAtATime(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """In a worker: runs each item at once, instead of waiting for the item after it."""
    worker = session.config.pluginmanager.get_plugin("xdist-worker") or \
        next((p for p in session.config.pluginmanager.get_plugins() if type(p).__name__ == "WorkerInteractor"), None)
    if worker is None:
        return None
    while True:
        try:
            name, told = worker.channel.receive()
        except EOFError:
            return True
        for index in told.get("indices", ()):
            worker.run_one_test([index])
        if name == "shutdown":
            return True
