# SPDX-License-Identifier: Apache-2.0
"""A stream with 200 000 tool calls, or with as many tokens and their probabilities, takes time in proportion to its length, and a signal ends it at
once. `make test` uses a fifth of them."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

from ..checks import check, same
from ..harness.choice import Choice
from .loopback import Place
from .wire import Wire, head

pytestmark = pytest.mark.tier("test")

PROGRAM = """lastOf:
- {model: openai/m, input: "${ n }", modelResponse: r%s}
- "${ r.choices[0].%s | length }"
"""
EVENT = 'data: {"choices": [{"index": 0, "delta": {%s}%s}]}\n\n'
NUMBERED = '"tool_calls": [{"index": %d, "id": "c%d", "type": "function", "function": {"name": "f", "arguments": "{}"}}]'
NAMELESS = '"tool_calls": [{"id": "c%d", "function": {"name": "f", "arguments": "{}"}}]'  # without an index a new id begins the next call
TOKEN = EVENT % ('"content": "a"', ', "logprobs": {"content": [{"token": "a", "logprob": -0.5, "top_logprobs": []}]}')


def end(reason):
    return EVENT % ("", ', "finish_reason": "%s"' % reason) + "data: [DONE]\n\n"


def calls(n):
    return "".join(EVENT % (NUMBERED % (i, i), "") for i in range(n)) + end("tool_calls")


def nameless_calls(n):
    return "".join(EVENT % (NAMELESS % i, "") for i in range(n)) + end("tool_calls")


def tokens(n):
    return TOKEN * n + end("stop")


class Long(Wire):
    """Answers a number with the stream of so many events."""

    def __init__(self, make, sizes):
        self.made = {str(n): make(n).encode() for n in sizes}
        super().__init__()

    def answer(self, body):
        return [head(), self.made[body["messages"][-1]["content"]]]


def seconds(place, n):
    """Of the processor."""
    p = subprocess.Popen([place.pdl, "-d", "{n: '%d'}" % n, "p.pdl"], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         text=True)
    out = p.stdout.read()
    p.stdout.close()
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    same((p.returncode, out.strip().lstrip("a")), (0, str(n)))
    return use.ru_utime + use.ru_stime


@pytest.mark.parametrize("make, what, more", [(calls, "message.tool_calls", ""), (nameless_calls, "message.tool_calls", ""),
                                              (tokens, "logprobs.content", ", parameters: {logprobs: true}")], ids=["calls", "nameless_calls", "tokens"])
def test_linear(build, scale, make, what, more):
    n = scale(200000, 20000 if Choice.sanitized else 40000)
    server = Long(make, (n // 10, n))
    place = Place(build, server)
    (place.dir / "p.pdl").write_text(PROGRAM % (more, what))
    few, many = (seconds(place, k) for k in (n // 10, n))
    check("time grows with the stream", many < 25 * few + 0.1, "%.2f s for %d, %.2f s for a tenth" % (many, n, few))
    server.close()


class Endless(Wire):
    """Calls of tools, again and again; `sent` counts bytes."""
    sent = 0

    def answer(self, body):
        block = calls(3000).encode().removesuffix(end("tool_calls").encode())
        yield head()
        while True:
            yield block
            self.sent += len(block)


def used_by(pid):
    """Seconds of the processor."""
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_signal(build):
    server = Endless()
    place = Place(build, server)
    p = place.start("-d", "{n: '1'}", "p.pdl", program=PROGRAM % ("", "message.tool_calls"))
    until = time.monotonic() + 60
    while (server.sent < 10 << 20 or used_by(p.pid) < 0.2) and time.monotonic() < until:
        time.sleep(0.01)
    used = used_by(p.pid)
    p.send_signal(signal.SIGINT)
    p.stdout.read()
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    same(p.returncode, 130)
    after = use.ru_utime + use.ru_stime - used
    check("it ends at once", used > 0 and after < (3 if Choice.sanitized else 0.5), "%.2f s of the processor before, %.2f s behind the signal" % (used, after))
    server.close()
