# SPDX-License-Identifier: Apache-2.0
"""Rates: the rate that the user requests, and the limits that services announce with 429 and headers. Also the log of --wire. Over real HTTP."""
import resource
import time

import pytest

from ..checks import same
from ..harness.choice import Choice
from .loopback import Place, Server, completion

MAP = "for: {i: \"${ range(%d) | list }\"}\nmap: {model: openai/m, input: 'n${ i }'}\njoin: {with: ','}\n"


def echo(body, n):
    return body["messages"][-1]["content"]


def wanted(n):
    return ",".join("n%d" % i for i in range(n)) + "\n"


def test_requests_a_second(build):
    with Server(echo) as s:
        begin = time.monotonic()
        same(Place(build, s).run("--max-rps", "20", "p.pdl", program=MAP % 11), (0, wanted(11), ""))
        took = time.monotonic() - begin
        same(0.45 < took < 5, True, "10 gaps of 50 ms: %.3f s" % took)


def test_tokens_a_minute(build):
    """The first calls use up the minute: the others have not gone out when the time of the run is over."""
    with Server(echo, usage=(5, 100)) as s:
        p = Place(build, s)
        status, out, err = p.run("--max-tokens-per-minute", "150", "--budget", "seconds=1.5", "--jobs", "1", "p.pdl", program=MAP % 5)
        same((status, "the budget of 1.5 seconds is spent" in err, len(s.requests)), (1, True, 2))


def test_wrong_numbers(build):
    p = Place(build)
    for option in ("--max-rps", "--max-tokens-per-minute"):
        for value in ("0", "x", "nan", "-1"):
            same(p.run(option + "=" + value, "p.pdl", program="text: hi")[0], 2, option + value)


class Limited:
    """Answers `most` requests in each window of `window` seconds, 429 to the others; counts answers by content."""

    def __init__(self, most, window, headers=None):
        self.most, self.window, self.headers = most, window, headers
        self.start, self.n, self.answered, self.refused = 0, 0, {}, 0

    def __call__(self, body, n):
        now = time.monotonic()
        if now - self.start > self.window:
            self.start, self.n = now, 0
        self.n += 1
        if self.n > self.most:
            self.refused += 1
            after = {} if self.headers is None else {k: v % (self.start + self.window - now) for k, v in self.headers.items()}
            return 429, after, {"error": {"message": "slow down", "type": "rate_limit"}}
        text = body["messages"][-1]["content"]
        self.answered[text] = self.answered.get(text, 0) + 1
        return text


@pytest.mark.parametrize("headers", ({"Retry-After": "%.3f"}, None), ids=("told", "untold"))
def test_storm(build, scale, headers):
    """Many parallel calls against a service that takes a tenth of them in 200 ms: every call is answered once, none is lost."""
    n = scale(1000, 200)
    limited = Limited(n // 10, 0.2, headers)
    with Server(limited) as s:
        status, out, err = Place(build, s).run("--jobs", str(n), "p.pdl", program=MAP % n, timeout=400 if Choice.sanitized else 120)
        same((status, out, err), (0, wanted(n), ""))
        same((len(limited.answered), max(limited.answered.values())), (n, 1))
        same(limited.refused > 0, True)


def test_one_call_alone_gives_up(build):
    """Nobody else is answered: three requests, as without rates."""
    with Server(lambda body, n: (429, {"Retry-After": "0.01"}, {"error": {"message": "no"}})) as s:
        p = Place(build, s)
        status, out, err = p.run("p.pdl", program="{model: openai/m, input: x, fallback: '${ pdl_error.kind }'}")
        same((out, len(s.requests)), ("rate_limit\n", 3))
        same(p.run("p.pdl", program="{model: openai/m, input: x, parameters: {max_retries: 0}, fallback: no more}")[1], "no more\n")
        same(len(s.requests), 4)


def test_all_refuse(build):
    """Many calls and no answer at all: it ends."""
    with Server(lambda body, n: (429, {"Retry-After": "0.01"}, {"error": {"message": "no"}})) as s:
        status, out, err = Place(build, s).run("p.pdl", program=MAP % 50, timeout=60)
        same((status, "rate_limit" in err), (1, True))


def test_headers_hold_back(build):
    """What is left is 0 and comes back at 10 a second: the next goes out 100 ms later, without a 429."""
    def reply(body, n):
        return 200, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-limit-requests": "10", "x-ratelimit-reset-requests": "1s"}, completion("ok")
    with Server(reply) as s:
        begin = time.monotonic()
        same(Place(build, s).run("--stream", "none", "--jobs", "1", "p.pdl", program=MAP % 6)[0], 0)
        took = time.monotonic() - begin
        same((took > 0.45, took < 5), (True, True), "5 waits of 100 ms: %.3f s" % took)


def test_lanes_are_apart(build):
    """One key is refused for two seconds: calls with another key do not wait for it."""
    def reply(body, n):
        head = s.heads[-1]
        return (429, {"Retry-After": "2"}, {"error": {"message": "no"}}) if "key-one" in head and n < 2 else "ok"
    with Server(reply) as s:
        program = "text:\n" + "".join("- {model: openai/m, input: '%d', parameters: {api_key: key-%s-0123456789}}\n" % (i, k)
                                      for i, k in enumerate(["one", "two", "two", "two"]))
        p = Place(build, s)
        r = p.start("--stream", "none", "p.pdl", program=program)
        end = time.monotonic() + 10
        while time.monotonic() < end and sum("key-two" in h for h in s.heads) < 3:
            time.sleep(0.01)
        same(sum("key-two" in h for h in s.heads), 3)
        same(sum("key-one" in h for h in s.heads) < 2, True, "the first key still waits")
        r.communicate(timeout=30)


def test_jobs_bound_what_is_open(build):
    with Server(echo, delay=0.02) as s:
        same(Place(build, s).run("--jobs", "7", "p.pdl", program=MAP % 60)[1], wanted(60))
        same(s.most_open, 7)


def test_few_descriptors(build):
    """More calls than descriptors: the limit is raised as far as it goes, then fewer calls are open."""
    for soft, hard in ((128, 4096), (200, 200)):
        with Server(echo, delay=0.05) as s:
            place = Place(build, s)
            r = place.start("--jobs", "500", "p.pdl", program=MAP % 500, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
            out, err = r.communicate(timeout=60)
            same((r.returncode, out, err), (0, wanted(500), ""), "%d of %d" % (soft, hard))


def test_wire_log(build):
    with Server(lambda body, n: "I know sk-secret-0123456789") as s:
        p = Place(build, s)
        program = "text:\n- {model: openai/a, input: my key sk-secret-0123456789}\n- {model: openai/b, input: x, parameters: {api_key: another-key-0123}}\n"
        status, out, err = p.run("--stream", "none", "--wire", "w", "p.pdl", program=program)
        log = (p.dir / "w").read_text()
        same((status, err), (0, ""))
        for want in ("#1 > POST %s/chat/completions\n" % s.url, "#1 > Authorization: ***\n", '"role":"user"', "#1 < HTTP/1.1 200 X\n", '#2 < {"id": "c"'):
            same(want in log, True, want + "\n" + log)
        same(("secret" in log, "another-key" in log), (False, False))
        err = p.run("--wire", "-", "p.pdl")[2]
        same(("#1 < data: [DONE]" in err, "secret" in err), (True, False), err)
        same(p.run("--wire", "no/such/file", "p.pdl")[0], 2)  # as every file of an option
        same(p.run("--wire", "w2", "--replay", "none", "p.pdl")[0], 2)
