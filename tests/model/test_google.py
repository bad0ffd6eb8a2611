#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vertex AI: a service account's assertion is signed, exchanged once and kept; other credentials; what is wrong with them.

    python3 tests/model/test_google.py BUILD_DIR [NAME ...]      prints "N passed, N failed"
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire as w  # noqa: E402
from wire import Wire, error_of, head, run  # noqa: E402

WORK = tempfile.mkdtemp(prefix="pdl-google-")
ANSWER = [head("application/json"), b'{"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}']


def key():
    path = os.path.join(WORK, "key.pem")
    if not os.path.exists(path):
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", path], check=True, capture_output=True)
    with open(path, encoding="ascii") as f:
        return f.read()


class Google(Wire):
    """Answers exchanges with tokens and calls with a text; refuses tokens that are listed."""

    def __init__(self, expires=3600, refused=()):
        super().__init__([])
        self.expires, self.refused, self.exchanges, self.calls = expires, refused, [], []

    def answer(self, body):
        sent = self.requests[-1][0]
        if sent.startswith("POST /token "):
            self.exchanges.append(urllib.parse.parse_qs(body))
            return [head("application/json"), json.dumps({"access_token": "token-%d" % len(self.exchanges), "expires_in": self.expires}).encode()]
        token = [x for x in sent.split("\r\n") if x.startswith("Authorization: Bearer ")][0].split()[-1]
        self.calls.append(token)
        return [head("application/json", "401 No"), b"{}"] if token in self.refused else ANSWER


def account(wire, **more):
    return {"type": "service_account", "project_id": "proj", "private_key_id": "kid-1", "private_key": key(),
            "client_email": "robot@proj.example", "token_uri": wire.url + "/token", **more}


def ask(wire, n=1, env=None, **parameters):
    one = {"model": "vertex_ai/gemini-x", "messages": [{"role": "user", "content": "Hi"}],
           "parameters": {"api_base": wire.url, "vertex_location": "global", "max_retries": 0, **parameters}}
    lines = run({"calls": [one], "repeat": n, "env": env or {}})
    wire.close()
    assert "BEGIN PRIVATE" not in json.dumps(lines)
    return lines


def part(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_assertion():
    wire = Google()
    assert ask(wire, vertex_credentials=account(wire))[-1]["reply"]["content"] == "ok"
    form = wire.exchanges[0]
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    header, claims, sig = form["assertion"][0].split(".")
    assert json.loads(part(header)) == {"alg": "RS256", "typ": "JWT", "kid": "kid-1"}
    c = json.loads(part(claims))
    assert (c["iss"], c["aud"], c["scope"]) == ("robot@proj.example", wire.url + "/token", "https://www.googleapis.com/auth/cloud-platform")
    assert abs(c["iat"] - time.time()) < 60 and c["exp"] == c["iat"] + 3600
    for name, data in (("sig", part(sig)), ("data", (header + "." + claims).encode())):
        with open(os.path.join(WORK, name), "wb") as f:
            f.write(data)
    subprocess.run(["openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "pub.pem"], cwd=WORK, check=True, capture_output=True)
    subprocess.run(["openssl", "dgst", "-sha256", "-verify", "pub.pem", "-signature", "sig", "data"], cwd=WORK, check=True, capture_output=True)
    assert "/v1/projects/proj/locations/global/publishers/google/models/gemini-x:generateContent " in wire.requests[-1][0]


def test_one_exchange_for_all():
    wire = Google()
    path = os.path.join(WORK, "account.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(account(wire), f)
    lines = ask(wire, 20, env={"GOOGLE_APPLICATION_CREDENTIALS": path})
    assert sum("reply" in x for x in lines) == 20 and len(wire.exchanges) == 1, (len(wire.exchanges), lines[:2])
    assert set(wire.calls) == {"token-1"}


def test_refused_token_is_replaced_once():
    wire = Google(refused=("token-1",))
    assert ask(wire, vertex_credentials=json.dumps(account(wire)))[-1]["reply"]["content"] == "ok"
    assert wire.calls == ["token-1", "token-2"]
    wire = Google(refused=("token-1", "token-2"))
    error_of(ask(wire, vertex_credentials=account(wire))[-1], "auth", 401)


def test_refresh_token():
    wire = Google()
    ask(wire, vertex_project="p", vertex_credentials={"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r&t",
                                                      "token_uri": wire.url + "/token"})
    assert wire.exchanges == [{"grant_type": ["refresh_token"], "client_id": ["i"], "client_secret": ["s"], "refresh_token": ["r&t"]}]


def test_ready_token():
    wire = Google()
    ask(wire, vertex_project="p", env={"VERTEXAI_ACCESS_TOKEN": "mine"})
    assert wire.calls == ["mine"] and not wire.exchanges


def test_what_is_wrong():
    for change, kind, text in (({"private_key": "oops"}, "auth", "private key cannot be used"), ({"client_email": ""}, "auth", "no client_email"),
                               ({"type": "external_account"}, "auth", "not supported"), ({"token_uri": "http://evil.example/t"}, "config", "not an https"),
                               ({"project_id": None}, "config", "VERTEXAI_PROJECT")):
        wire = Google()
        error_of(ask(wire, vertex_credentials=account(wire, **change))[-1], kind, None, text)
        assert not wire.requests
    error_of(ask(Google(), vertex_project="p")[-1], "auth", None, "GOOGLE_APPLICATION_CREDENTIALS")
    error_of(ask(Google(), vertex_project="p", env={"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere.json"})[-1], "config", None, "No such file")
    error_of(ask(Google(), vertex_project="p", vertex_credentials="{oops")[-1], "config", None, "not JSON of Google credentials")


if __name__ == "__main__":
    sys.exit(w.main(globals(), __doc__))
