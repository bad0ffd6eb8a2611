# SPDX-License-Identifier: Apache-2.0
"""pdl doctor --net sends its requests to all services at the same time."""
import os
import subprocess
import threading

from .. import http_of


def test_side_by_side(pdl):
    """Two services answer only when both have been asked, so one that is asked after the other's answer would never get its own."""
    both = threading.Barrier(2)

    def exchange(head, body, send):
        both.wait(60)
        send(http_of.answer(b""))

    a, b = ("http://127.0.0.1:%d" % http_of.Plain(exchange).port for _ in range(2))
    keep = {k: os.environ[k] for k in ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "PDL_PYTHON") if k in os.environ}
    env = {**keep, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": a + "/v1", "OLLAMA_API_BASE": b}
    r = subprocess.run([pdl, "doctor", "--net"], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert r.stdout.count("; answers (status 200)") == 2, r
