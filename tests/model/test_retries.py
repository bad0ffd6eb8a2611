# SPDX-License-Identifier: Apache-2.0
"""Which errors of services `retry.exceptions` names, by our kinds and by the names of Python's classes and their bases; also settings from a file
.env."""

from ..checks import same
from .loopback import Place, Server

CLASSES = ["AuthenticationError", "PermissionDeniedError", "NotFoundError", "RateLimitError", "ContextWindowExceededError", "ContentPolicyViolationError",
           "BadRequestError", "ServiceUnavailableError", "InternalServerError", "APIConnectionError", "Timeout"]
# A service that refuses for its rate says when to come back: otherwise the next call waits longer each time.
# status, error object of the service, kind, classes and bases that name it
ERRORS = [
    (401, {"message": "no"}, "auth", {"AuthenticationError"}),
    (403, {"message": "no"}, "permission", {"PermissionDeniedError"}),
    (404, {"message": "no"}, "not_found", {"NotFoundError"}),
    (429, {"message": "slow"}, "rate_limit", {"RateLimitError"}),
    (429, {"message": "pay", "code": "insufficient_quota"}, "quota", {"RateLimitError"}),
    (400, {"message": "long", "code": "context_length_exceeded"}, "context_window", {"ContextWindowExceededError", "BadRequestError"}),
    (400, {"message": "bad", "code": "content_policy_violation"}, "content_policy", {"ContentPolicyViolationError", "BadRequestError"}),
    (400, {"message": "what"}, "bad_request", {"BadRequestError"}),
    (503, {"message": "busy"}, "unavailable", {"ServiceUnavailableError"}),
    (500, {"message": "oops"}, "server", {"InternalServerError"}),
]
BLOCK = """- model: openai/m
  input: %s
  parameters: {max_retries: 0}
  retry: {tries: 1, exceptions: [%s]}
  fallback: ${ pdl_error.kind }
  contribute: [result]
"""
CALL = "model: openai/m\ninput: hi\nparameters: {max_retries: 0}\nretry: {tries: 1, exceptions: [%s]}\nfallback: ${ pdl_error.kind }\n"


def test_errors_of_services(build):
    for status, error, kind, names in ERRORS:
        with Server(lambda body, n, status=status, error=error: (status, {"retry-after-ms": "1"}, {"error": error})) as s:
            tried = CLASSES + [kind, "Exception"]
            code, out, err = Place(build, s).run("--stream", "none", "p.pdl", program="text:\n" + "".join(BLOCK % (name, name) for name in tried))
            same((code, out), (0, kind * len(tried) + "\n"), "%s %s: %s" % (status, error, err))
            asked = [r["messages"][-1]["content"] for r in s.requests]
            same({name for name in tried if asked.count(name) == 2}, names | {kind, "Exception"}, kind)


def test_connections(build):
    p = Place(build, OPENAI_API_BASE="http://127.0.0.1:9/v1")
    for name, again in [("APIConnectionError", True), ("connection", True), ("Timeout", False)]:
        code, out, err = p.run("--stream", "none", "p.pdl", program=CALL % name)
        same((code, out, "[Retry 1/1]" in err), (0, "connection\n", again), name)


DOTENV = """# settings
export OPENAI_API_KEY="sk-quoted-012345"   
OPENAI_API_BASE='%s'
A=b # comment
=nothing
no line

SECRET_TOKEN = "two\\nlines \\" and \\\\"
"""


def test_settings_from_a_file(build):
    """The nearest .env from the working directory upwards; what the environment says wins; secrets of it are never shown."""
    with Server(lambda body, n: "hi") as s:
        p = Place(build)
        del p.env["OPENAI_API_KEY"]
        (p.dir / ".env").write_text(DOTENV % s.url, encoding="utf-8")
        program = "text:\n- model: openai/m\n  input: hi\n- ${ ' sk-quoted-012345' }\n"
        notes = "".join("pdl: %s/.env:%d: expected NAME=VALUE; the line sets nothing\n" % (p.dir.resolve(), n) for n in (5, 6))
        same(p.run("-t", "t.json", "p.pdl", program=program), (0, "hi sk-quoted-012345\n", notes))
        same("authorization: bearer sk-quoted-012345" in s.heads[0].lower(), True, s.heads[0])
        same("sk-quoted" in (p.dir / "t.json").read_text("utf-8"), False, "the key is in the trace")
        p.env["OPENAI_API_KEY"] = "sk-other-012345"
        same(p.run("p.pdl", program=program)[0], 0)
        same("bearer sk-quoted-012345" in s.heads[1].lower(), True, s.heads[1])  # the address is that of the file, see test_env_files
        below = p.dir / "below"
        below.mkdir()
        (below / "q.pdl").write_text("model: openai/m\ninput: hi\n", encoding="utf-8")
        p.dir = below
        same(p.run("q.pdl"), (0, "hi\n", notes))
