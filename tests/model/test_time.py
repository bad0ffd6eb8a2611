# SPDX-License-Identifier: Apache-2.0
"""Time limits and retries: which limit applies, from which layer it comes, which attempts are reported, and a stream that is requested again."""
import json
import socket
import time

from .wire import Wire, call, chunk, error_of, head, sse

OK = [head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()]
PIECE = sse(chunk(content="x"), done=False)


def limited(pieces, limit, at_most=2.0, job=None, stream=True, **parameters):
    t0 = time.monotonic()
    wire = Wire(pieces, hold=4, pause=parameters.pop("pause", 0))
    _, end = call(wire, stream=stream, job=job, **parameters)
    error_of(end, "timeout", None, "Request timed out.")
    assert "(limit: %s)" % limit in end["error"]["msg"], end
    took = time.monotonic() - t0
    assert 0.15 < took < at_most, took


def test_each_limit_of_a_stream():
    limited([], "first", first_token_timeout=0.2)
    limited([head()], "first", first_token_timeout=0.2)
    limited([head()] + [b": ping\n\n"] * 40, "first", first_token_timeout=0.3, pause=0.05)  # comments are no answer
    limited([head()] + [bytes([b]) for b in PIECE[:40]], "first", first_token_timeout=0.3, pause=0.05)  # nor is the beginning of one
    limited([head(), PIECE], "idle", idle_timeout=0.2)
    limited([head()] + [PIECE] * 40, "total", total_timeout=0.4, pause=0.05)
    limited([head(), PIECE], "idle", timeout=0.2)
    limited([], "first", timeout="0.2")


def test_limits_of_a_whole_answer():
    limited([], "total", stream=False, timeout=0.2)
    limited([head("application/json")] + [b" "] * 40, "total", stream=False, total_timeout=0.3, pause=0.05)


def test_connect():
    full = socket.socket()  # accepts nobody: its queue is full
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    waiting = [socket.socket() for _ in range(4)]
    for s in waiting:
        s.setblocking(False)
        s.connect_ex(full.getsockname())
    time.sleep(0.05)
    wire = Wire([])
    wire.url = "http://127.0.0.1:%d" % full.getsockname()[1]
    t0 = time.monotonic()
    _, end = call(wire, connect_timeout=0.3)
    assert "(limit: connect)" in error_of(end, "timeout", None)["msg"] and time.monotonic() - t0 < 2, end


def test_layers():
    for job, parameters in (({"timeouts": "first=0.2"}, {}), ({"timeouts": "30,first=0.2"}, {}), ({"env": {"PDL_TIMEOUT": "0.2"}}, {}),
                            ({"timeouts": "30", "env": {"OPENAI_TIMEOUT": "first=0.2"}}, {}),
                            ({"timeouts": "30", "env": {"OPENAI_TIMEOUT": "30"}}, {"first_token_timeout": 0.2}),
                            ({}, {"request_timeout": 30, "stream_timeout": 0.2})):
        limited([], "first", job=job, **parameters)
    wire = Wire([head()], hold=1)
    _, end = call(wire, job={"timeouts": "first=0.1"}, first_token_timeout=3)  # the block wins; the server hangs up first
    error_of(end, "stream", 200)


def test_limits_that_are_none():
    for parameters in ({"timeout": "soon"}, {"idle_timeout": [1]}, {"connect_timeout": -1}):
        error_of(call(Wire([]), **parameters)[1], "bad_request", None, "should be a number of seconds")
    for text in ("x", "first=", "later=3", "1e99"):
        error_of(call(Wire([]), job={"env": {"PDL_TIMEOUT": text}})[1], "bad_request", None, "is not a list of time limits")
    assert call(Wire(OK), stream=False, timeout=0)[1]["reply"]["content"] == "ok"  # 0: no limit


def test_attempts_are_told():
    busy = [head("application/json", "503 Busy", "retry-after-ms: 20\r\n"), b'{"error": {"message": "later, sk-secret-0123456789"}}']
    bad = [head("application/json", "400 Bad"), b'{"error": {"message": "bad"}}']
    reply = call(Wire(busy, bad, OK), stream=False, max_retries=1, fallbacks=["openai/second"])[1]["reply"]
    told = [(a["model"], a["kind"], a["status"], a["message"], a["next"]) for a in reply["attempts"]]
    assert told == [("openai/m", "unavailable", 503, "later, [REDACTED]", "retry"), ("openai/m", "bad_request", 400, "bad", "fallback")], told
    assert reply["attempts"][0]["wait_seconds"] == 0.02 and reply["attempts"][0]["seconds"] >= 0
    e = error_of(call(Wire(busy, busy), stream=False, max_retries=1)[1], "unavailable", 503)
    assert [a["next"] for a in json.loads(e["detail"])["attempts"]] == ["retry", "none"]
    assert "attempts" not in call(Wire(OK), stream=False)[1]["reply"]


def test_asked_for_again_after_output():
    broken, good = [head(), sse(chunk(content="ab"), chunk(content="c"), done=False)], [head(), sse(chunk(content="a"), chunk(content="bcd", finish="stop"))]
    pieces, end = call(Wire(broken, good), max_retries=1, retry_after_output=True)
    assert pieces == "abcd" == end["reply"]["content"], pieces
    other = [head(), sse(chunk(content="aXY", finish="stop"))]
    wire = Wire(broken, other)
    pieces, end = call(wire, max_retries=3, retry_after_output=True)
    error_of(end, "stream", 200, "differs from the text that was shown")
    assert pieces == "abc" and len(wire.requests) == 2


def test_table_of_classes():
    for status, body, n in (("408 T", {}, 2), ("409 C", {}, 2), ("429 R", {}, 2), ("500 S", {}, 2), ("503 U", {}, 2), ("529 O", {}, 2), ("504 G", {}, 2),
                            ("400 B", {}, 1), ("401 A", {}, 1), ("403 P", {}, 1), ("404 N", {}, 1), ("402 Q", {}, 1), ("422 E", {}, 1),
                            ("500 S", {"error": {"message": "prompt is too long"}}, 1), ("429 R", {"error": {"code": "insufficient_quota"}}, 1)):
        wire = Wire([head("application/json", status, "retry-after-ms: 1\r\n"), json.dumps(body).encode()])
        call(wire, stream=False, max_retries=1)
        assert len(wire.requests) == n, (status, body, len(wire.requests))
