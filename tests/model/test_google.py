# SPDX-License-Identifier: Apache-2.0
"""Vertex AI: the assertion of a service account is signed, exchanged once and kept; also other credentials, and wrong ones."""
import base64
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.parse

from .wire import Wire, error_of, head, run

ANSWER = [head("application/json"), b'{"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}']


def openssl(*args):
    subprocess.run(["openssl", *args], cwd=tempfile.gettempdir(), check=True, capture_output=True)


def key():
    """A key of RSA in key.pem of the item's temporary folder, made once. A short one is made in milliseconds."""
    path = pathlib.Path(tempfile.gettempdir()) / "key.pem"
    if not path.exists():
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024", "-out", path.name)
    return path.read_text("ascii")


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
        (pathlib.Path(tempfile.gettempdir()) / name).write_bytes(data)
    openssl("pkey", "-in", "key.pem", "-pubout", "-out", "pub.pem")
    openssl("dgst", "-sha256", "-verify", "pub.pem", "-signature", "sig", "data")
    assert "/v1/projects/proj/locations/global/publishers/google/models/gemini-x:generateContent " in wire.requests[-1][0]


def test_one_exchange_for_all(folder):
    wire = Google()
    path = folder / "account.json"
    path.write_text(json.dumps(account(wire)), "utf-8")
    lines = ask(wire, 20, env={"GOOGLE_APPLICATION_CREDENTIALS": str(path)})
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
