#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_long_streams.py BUILD_DIR [NAME ...] -- a stream with 200 000 tool calls, or as many tokens with their probabilities, takes time in
proportion to its length, and a signal ends it at once.

Python standard library only. Last line: `N passed, N failed`.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loopback  # noqa: E402
from loopback import Place, Server, same  # noqa: E402

PROGRAM = """lastOf:
- {model: openai/m, input: "${ n }", modelResponse: r%s}
- "${ r.choices[0].%s | length }"
"""


def delta(fields, **more):
    return {"choices": [{"index": 0, "delta": fields, **more}]}


def calls(n):
    made = [delta({"tool_calls": [{"index": i, "id": "c%d" % i, "type": "function", "function": {"name": "f", "arguments": "{}"}}]}) for i in range(n)]
    return made + [delta({}, finish_reason="tool_calls")]


def nameless_calls(n):
    """Without an index: a new id begins the next call."""
    made = [delta({"tool_calls": [{"id": "c%d" % i, "function": {"name": "f", "arguments": "{}"}}]}) for i in range(n)]
    return made + [delta({}, finish_reason="tool_calls")]


def tokens(n):
    one = {"token": "a", "logprob": -0.5, "top_logprobs": []}
    return [delta({"content": "a"}, logprobs={"content": [one]}) for i in range(n)] + [delta({}, finish_reason="stop")]


def slow_build(build):
    return "asan" in build or "ubsan" in build or "tsan" in build


def seconds(place, n, program):
    """Of the processor."""
    (place.dir / "p.pdl").write_text(program)
    p = subprocess.Popen([place.pdl, "-d", "{n: '%d'}" % n, "p.pdl"], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         text=True)
    out = p.stdout.read()
    p.stdout.close()
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    same((p.returncode, out.strip().lstrip("a")), (0, str(n)))
    return use.ru_utime + use.ru_stime


def is_linear(build, make, what, more=""):
    n = 20000 if slow_build(build) else 200000
    streams = {str(k): make(k) for k in (n // 10, n)}
    with Server(lambda body, k: streams[body["messages"][-1]["content"]]) as s:
        place = Place(build, s)
        few, many = (seconds(place, k, PROGRAM % (more, what)) for k in (n // 10, n))
    assert many < 25 * few + 0.3, "%.2f s for %d, %.2f s for a tenth" % (many, n, few)


def test_calls(build):
    is_linear(build, calls, "message.tool_calls")


def test_calls_without_index(build):
    is_linear(build, nameless_calls, "message.tool_calls")


def test_logprobs(build):
    is_linear(build, tokens, "logprobs.content", ", parameters: {logprobs: true}")


def test_signal(build):
    endless = calls(3000)[:-1] * 100
    with Server(lambda body, k: endless) as s:
        place = Place(build, s)
        p = place.start("-d", "{n: '1'}", "p.pdl", program=PROGRAM % ("", "message.tool_calls"))
        time.sleep(1)
        begin = time.monotonic()
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=20)
        same(p.returncode, 130)
        assert time.monotonic() - begin < (8 if slow_build(build) else 3), time.monotonic() - begin


if __name__ == "__main__":
    sys.exit(loopback.main([f for n, f in list(globals().items()) if n.startswith("test_")], sys.argv))
