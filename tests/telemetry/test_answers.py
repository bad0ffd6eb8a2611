# SPDX-License-Identifier: Apache-2.0
"""The answers of a collector, and what then happens to the spans; also resource attributes, which occur once."""
import json
import os
import subprocess
import time

import pytest

from ..checks import check, same
from ..http_of import Quiet, serve


def send(pdl, folder, *answers, **env):
    """-> standard error, the bodies, their times. answers: (status, body, headers), the last one again."""
    bodies, times = [], []

    class Handler(Quiet):
        def do_POST(self):
            bodies.append(json.loads(self.body()))
            times.append(time.monotonic())
            status, body, headers = answers[min(len(bodies), len(answers)) - 1]
            self.reply(body, status=status, headers=headers)
    server = serve(Handler)
    (folder / "p.pdl").write_text("text: hi\n", "utf-8")
    done = subprocess.run([pdl, "--otlp", "http://127.0.0.1:%d/v1/traces" % server.server_port, "p.pdl"], cwd=folder, env={**os.environ, **env},
                          capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stdout), (0, "hi\n"))
    return done.stderr, bodies, times


OK = (200, b"{}", ())


def send_twice(pdl, folder, *answers):
    """Works as send, until the spans came twice: the end of a run waits a second for each answer, and on a busy machine our own server can be slower."""
    for _ in range(3):
        err, bodies, times = send(pdl, folder, *answers)
        if len(bodies) == 2:
            break
    return err, bodies, times


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_later(pdl, folder, status):
    for headers in ([("Retry-After", "0")], [("Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT")], []):
        err, bodies, _ = send_twice(pdl, folder, (status, b"", headers), OK)
        same((err, len(bodies)), ("", 2), headers)
        same(bodies[0], bodies[1])


def test_the_collector_says_when(pdl, folder):
    err, bodies, times = send_twice(pdl, folder, (503, b"", [("Retry-After", "1")]), OK)
    same((err, len(bodies)), ("", 2))
    check("a second later", times[-1] - times[0] >= 0.9, times)


def test_busy_for_ever(pdl, folder):
    """The end of a run waits a second for a collector that names no time: long enough for two attempts, not for three."""
    err, bodies, _ = send(pdl, folder, (503, b"busy", ()))
    check("it is told why", len(bodies) in (1, 2) and "answered 503" in err, len(bodies), err)


@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_refused(pdl, folder, status):
    err, bodies, _ = send(pdl, folder, (status, b'{"code": 3, "message": "no such tenant"}', ()), OK)
    same(len(bodies), 1)
    check("a note with its words", "answered %d: no such tenant" % status in err, err)


def test_partial_success(pdl, folder):
    for body, words in (({"rejectedSpans": "2", "errorMessage": "too old"}, "rejected 2 spans: too old"), ({"rejectedSpans": 1}, "rejected 1 spans"),
                        ({"errorMessage": "use batches"}, "warns: use batches"), ({}, ""), (None, "")):
        err, bodies, _ = send(pdl, folder, (200, json.dumps({"partialSuccess": body}).encode(), ()))
        check("%s is told" % body, len(bodies) == 1 and words in err and (words or not err), err)
        check("%s: what the collector took is not told as lost" % body, "are not sent" not in err, err)


FAILURES = [(b'{"code": 13, "message": "boom"}', "answered 200 with an error: boom"), (b'{"error": "boom"}', "answered 200 with an error: boom"),
            (b"<html><body>Log in</body></html>", "answered 200 with a page\n"), (b" \n<!DOCTYPE html>", "answered 200 with a page\n"),
            (b'{"partial_success": {"rejected_spans": 2, "error_message": "old"}}', "rejected 2 spans: old"), (b'{"partialSuccess": {"rejectedSpans": 1e400}}', ""),
            (b'{"status": "ok", "message": "taken"}', ""), (b'{"message": "Success"}', ""), (b"OK", ""), (b'{"partialSuccess": {"rejectedSpans": -1}}', "")]


def test_failures_with_status_200(pdl, folder):
    """A proxy that answers in place of the collector takes no spans."""
    for body, words in FAILURES:
        err, bodies, _ = send(pdl, folder, (200, body, ()))
        check("%s is told" % body, len(bodies) == 1 and words in err and (words or not err), err)


def test_keys_that_a_collector_repeats(pdl, folder):
    """No part of a key of OTEL_EXPORTER_OTLP_HEADERS is shown, wherever the message is cut."""
    key, shown = "sk-verysecret-0123456789", {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=sk-verysecret-0123456789"}
    for status, body in ((400, {"message": "%s"}), (200, {"partialSuccess": {"rejectedSpans": 1, "errorMessage": "%s"}}), (200, {"error": "%s"})):
        for before in ("bad ", "x" * 190, "x" * 186 + " "):
            err, bodies, _ = send(pdl, folder, (status, json.dumps(body).replace("%s", before + key).encode(), ()), **shown)
            check("%d, %s: no key" % (status, before), len(bodies) == 1 and before[:9] in err and key[:6] not in err, err)


def test_attributes_stand_once(pdl, folder):
    for env, want in (({}, "pdl"), ({"OTEL_SERVICE_NAME": "a"}, "a"), ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=b,x=1"}, "b"),
                      ({"OTEL_SERVICE_NAME": "a", "OTEL_RESOURCE_ATTRIBUTES": "service.name=b,x=1"}, "a"), ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=b,x=1,x=2,service.name=c"}, "c")):
        _, bodies, _ = send(pdl, folder, OK, **env)
        found = bodies[0]["resourceSpans"][0]["resource"]["attributes"]
        keys = [a["key"] for a in found]
        same((sorted(keys), dict((a["key"], a["value"]["stringValue"]) for a in found)["service.name"]), (sorted(set(keys)), want), env)
