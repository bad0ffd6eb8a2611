# SPDX-License-Identifier: Apache-2.0
"""test_size.py -- values larger than the memory, and long operations: each ends with a located error or a result, and a signal ends a run in the
middle of an operation.

The memory is limited to 120 MB.
"""
import pathlib
import signal
import subprocess
import tempfile

import pytest

from ..checks import check
from .kit import MB, children_seconds, groups, limited, until_worked

MEMORY = 120 * MB
SECONDS = 60
BEFORE = 0.1  # seconds of the processor that a run works before the signal; what it is in the middle of takes three times as long or more
AFTER = 0.15  # seconds of the processor that may pass until it has ended
NO_ROOM = "there is no memory for"

# name, expression, what the message says; None: it ends well
EXPRESSIONS = [
    ("repeat_text", "('x' * 10**9) | length", NO_ROOM),
    ("repeat_list", "([1] * 10**8) | length", NO_ROOM),
    ("range", "range(10**8) | list | length", NO_ROOM),
    ("endless_range", "range(10**12) | list | length", "list is longer than"),
    ("characters", "('ab' * 10**7) | list | length", NO_ROOM),
    ("replace", "('ab' * 10**7) | replace('a', 'c' * 100) | length", NO_ROOM),
    ("join", "(['x' * 10**6] * 10**4) | join | length", NO_ROOM),
    ("percent", "'%1000000000d' | format(1) | length", NO_ROOM),
    ("precision", "'%.400000000d' | format(1) | length", "precision too large"),
    ("braces", "'{:>1000000000}'.format(1) | length", NO_ROOM),
    ("grouped", "'{:01000000000,d}'.format(1) | length", NO_ROOM),
    ("ljust", "'x'.ljust(10**9) | length", NO_ROOM),
    ("zfill", "'7'.zfill(10**9) | length", NO_ROOM),
    ("center", "'x' | center(10**9) | length", NO_ROOM),
    ("indent", "'x' | indent(10**9) | length", NO_ROOM),
    ("tabs", "'\\t'.expandtabs(10**9) | length", NO_ROOM),
    ("too_many_tabs", "'\\t\\t\\t'.expandtabs(10**9) | length", NO_ROOM),
    ("longer_than_a_tab", "'\\t'.expandtabs(3 * 10**9) | length", "too large to convert to C int"),
    ("tenth_of_it", "('x' * 10**7) | length", None),
]

# A program that is in the middle of one operation when the signal comes: name, expression, parser of its text, signal, exit status.
LONG = [
    ("sort", "range(3 * 10**6) | sort | length", None, signal.SIGINT, 130),
    ("unique", "range(3 * 10**6) | unique | list | length", None, signal.SIGINT, 130),
    ("map", "range(3 * 10**6) | map('string') | list | length", None, signal.SIGTERM, 143),
    ("select", "range(6 * 10**6) | select('odd') | list | length", None, signal.SIGINT, 130),
    ("groupby", "range(3 * 10**6) | groupby('x', default=1) | list | length", None, signal.SIGTERM, 143),
    ("split", "('x,' * 10**7).split(',') | length", None, signal.SIGINT, 130),
    ("rsplit", "('x ' * 10**7).rsplit() | length", None, signal.SIGTERM, 143),
    ("characters", "('ab' * 4 * 10**6) | list | length", None, signal.SIGINT, 130),
    ("replace", "('ab' * 24 * 10**6) | replace('a', 'c') | length", None, signal.SIGINT, 130),
    ("text_of_list", "([[1] * 1000] * 3 * 10**4) | string | length", None, signal.SIGINT, 130),
    ("text_of_dicts", "([[{1: 2}] * 1000] * 10**4) | string | length", None, signal.SIGTERM, 143),
    ("json_of_list", "([[1] * 1000] * 3 * 10**4) | json | length", None, signal.SIGINT, 130),
    ("lines_of_list", "([[1] * 1000] * 10**4) | pprint | length", None, signal.SIGINT, 130),
    ("json_text", "'[' ~ ('[1],' * 2 * 10**7) ~ '1]'", "json", signal.SIGINT, 130),
    ("csv", "'1,2\\n' * 10**7", "csv", signal.SIGINT, 130),
    ("jsonl", "'[1]\\n' * 10**7", "jsonl", signal.SIGTERM, 143),
    ("findall", "'ab' * 10**7", "{regex: a, mode: findall}", signal.SIGINT, 130),
]

# x nested as deep as the loop is long: the trace shows each of the values
DEEP = ("defs:\n  x: {data: []}\nlastOf:\n- for: {i: '${ range(8000) }'}\n  repeat:\n    defs:\n      x: '${ [x] }'\n    data: 1\n"
        "  join: {as: lastOf}\n- ok\n")
# messages of iterations that nobody can see are not kept
LOOP = "repeat: ${ i + 1 }\nindex: i\nmaxIterations: 1500000\njoin: {as: lastOf}\ncontribute: [result]\n"


def run(pdl, text, *args):
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "main.pdl").write_text(text)
        p = subprocess.run([pdl, *args, "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
                           preexec_fn=limited(memory=MEMORY), check=False)
        return p.returncode, p.stdout.strip(), p.stderr


def test_expressions(pdl):
    for name, expression, message in EXPRESSIONS:
        status, out, err = run(pdl, "data: ${ %s }\n" % expression)
        ok = status == 0 if message is None else status == 1 and err.startswith("main.pdl:1 - ") and message in err
        check(name, ok, "exit status %d: %s" % (status, (err or out)[:300]))


def test_caught(pdl):
    got = run(pdl, "data: ${ 'x' * 10**9 }\nfallback: small\n")
    check("caught", got[:2] == (0, "small"), got)


def test_trace(pdl):
    got = run(pdl, DEEP, "-t", "t.json")
    check("trace", got[:2] == (0, "ok"), got)


def test_loop(pdl):
    got = run(pdl, LOOP)
    check("loop", got[:2] == (0, "1500000"), got)


def signalled(pdl, expression, parser, sig, want):
    """-> what is wrong, or None; whether it is only that the end came late."""
    text = 'text: "${ %s }"\nfallback: caught\n' % expression + ("parser: %s\n" % parser if parser else "")
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "main.pdl").write_text(text)
        p = subprocess.Popen([pdl, "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        worked = until_worked(p, BEFORE)
        if worked is None:
            return "ended before the signal: %s%s" % tuple(x[:300] for x in p.communicate()), False
        spent = children_seconds()
        p.send_signal(sig)
        out, err = p.communicate(timeout=SECONDS)
        spent = children_seconds() - spent - worked
        said = "exit status %d after %.2f s: %s%s" % (p.returncode, spent, out[:100], err)
        if p.returncode != want or "main.pdl:" not in err or "caught" in out:
            return said, False
        return (said, True) if spent > AFTER else (None, False)


@pytest.mark.parametrize("rows", groups(LONG, 9))
def test_signals(pdl, rows):
    for name, *row in rows:
        for _ in range(3):  # processor time is longer where others share the core
            why, late = signalled(pdl, *row)
            if not late:
                break
        check("signal_" + name, not why, why)
