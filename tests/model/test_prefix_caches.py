# SPDX-License-Identifier: Apache-2.0
"""Prompt caches: marks of beginnings where the provider wants them, and the order in which calls that begin alike go out (spec know 1)."""
import itertools
import json
import subprocess
import threading
import time

import pytest

from ..checks import check
from ..http_of import Quiet, serve
from ..prompt_caches import Anthropic, start, stop, surroundings

RULES = "Answer in one word, and never lie. " * 150
CHAT = """defs: {rules: '%s'}
text:
- {text: "${ rules }", role: system, contribute: [context]}
- for: {i: [1, 2, 3]}
  repeat:
    text:
    - "question ${ i }"
    - model: anthropic/m
      parameters: {%s}
""" % (RULES, "%s")
MAP = """defs: {rules: '%s'}
for: {i: [1, 2, 3, 4]}
map: {model: "openai/%s", input: "${ rules } ${ i }"}
""" % (RULES, "%s")


class Ordered(Quiet):
    """Notes how many requests have come when the first answer begins; that of the model `fails` is an error."""

    def do_POST(self):
        body, s = json.loads(self.body()), self.server
        with s.lock:
            s.came += 1
            is_first = s.came == 1
        if is_first:
            end = time.monotonic() + s.seconds
            while s.came < 4 and time.monotonic() < end:
                time.sleep(0.01)
            s.before = s.came
        if is_first and body["model"] == "fails":
            return self.reply(b'{"error": {"message": "no"}}', status=400)
        return self.reply(json.dumps({"choices": [{"message": {"role": "assistant", "content": "ok"}}]}).encode())


def run(pdl, folder, server, text, *args, code=0):
    (folder / "p.pdl").write_text(text)
    p = subprocess.run([pdl, "--stream=none", *args, "p.pdl"], cwd=folder, env=surroundings(server), capture_output=True, text=True, timeout=60, check=False)
    check("it ends", p.returncode == code, p.stdout, p.stderr)
    return p


@pytest.fixture
def caches():
    server = start(Anthropic)
    yield server
    stop(server)


@pytest.mark.parametrize("parameters, args, marks", [
    ("", [], [0, 0, 0]), ("cache: auto", [], [2, 3, 3]), ("", ["--cache-marks", "auto"], [2, 3, 3]), ("", ["--cache-marks", "off"], [0, 0, 0]),
    ('cache: "off"', ["--cache-marks", "auto"], [0, 0, 0]), ("cache: {no-cache: true}", [], [0, 0, 0]),
    ("cache: auto, tools: [{type: function, function: {name: f, parameters: {type: object}}}]", [], [3, 4, 4])])
def test_marks(pdl, tmp_path, caches, parameters, args, marks):
    run(pdl, tmp_path, caches, CHAT % parameters, *args, "--record", "j.journal")
    check("so many marks", caches.marks == marks, caches.marks)
    out = subprocess.run([pdl, "trace", "--prefix", "--json", "j.journal"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False).stdout
    calls = json.loads(out)["calls"]
    check("marks are not compared", [c["shared"]["messages"] for c in calls] == [0, 1, 3] and all(c["lost"]["tokens"] == 0 for c in calls), calls)
    found = [c["cached_tokens"] or 0 for c in calls]
    check("what it finds", (found[0] == 0 and 1000 < found[1] < found[2]) if marks[0] else not any(found), found)
    text = json.dumps(caches.bodies)
    check("the parameter is not sent", '"cache"' not in text and "no-cache" not in text, text[:300])


def test_own_marks_are_not_compared(pdl, tmp_path):
    """Those of a request and of the result of a tool are no difference, either."""
    call = ("- model: anthropic/m\n  parameters: {%s}\n  input:\n    data:\n    - {role: user, content: hi}\n"
            "    - {role: assistant, content: null, tool_calls: [{id: t, type: function, function: {name: f, arguments: '{}'}}]}\n"
            "    - {role: tool, tool_call_id: t, content: [{type: text, text: it, %s}]}\n")
    mark = "cache_control: {type: ephemeral}"
    (tmp_path / "p.pdl").write_text("text:\n" + call % (mark, mark) + call.replace(", %s}]", "}]") % "")
    p = subprocess.run([pdl, "explain", "--prefix", "--json", "p.pdl"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    calls = json.loads(p.stdout)["calls"]
    check("all is shared", calls[1]["shared"]["messages"] == 3 and calls[1]["differs"] is None, calls)


def test_own_marks(pdl, tmp_path, caches):
    """Marks of the program stay and count: Anthropic takes four."""
    own = ", ".join("{type: text, text: part %d, cache_control: {type: ephemeral}}" % i for i in range(3))
    run(pdl, tmp_path, caches, "model: anthropic/m\nparameters: {cache: auto}\ninput:\n  data:\n  - {role: system, content: be kind}\n"
        "  - {role: user, content: [%s, {type: text, text: end}]}\n" % own)
    check("four marks", caches.marks == [4], caches.marks, caches.bodies)
    tools = "{role: assistant, content: null, tool_calls: [{id: t, type: function, function: {name: f, arguments: '{}'}}]}\n  - {role: tool, tool_call_id: t, content: [%s]}" % own
    run(pdl, tmp_path, caches, "model: anthropic/m\nparameters: {cache: auto}\ninput:\n  data:\n  - {role: system, content: be kind}\n"
        "  - {role: user, content: hi}\n  - %s\n" % tools)
    check("those in the result of a tool count", json.dumps(caches.bodies[-1]).count("cache_control") == 3 and caches.marks[-1] == 1, caches.marks, caches.bodies[-1])
    run(pdl, tmp_path, caches, "model: anthropic/m\nparameters: {cache: auto, cache_control: {type: ephemeral, ttl: 1h}}\n"
        "input: {array: [{role: system, content: s}, {role: user, content: a}, {role: assistant, content: b}, {role: user, content: c}]}\n")
    body = caches.bodies[-1]
    check("one before it is kept as long", body["system"][-1].get("type") == "text" and kept(caches.raw[-1]) == ["1h", "1h", "1h"], caches.raw[-1])
    check("one of the request is at the end of the last message", caches.marks[-1] == 2 and body["cache_control"]["ttl"] == "1h", caches.marks, body)
    p = run(pdl, tmp_path, caches, "model: anthropic/m\nparameters: {cache: always}\ninput: hi\n", code=1)
    check("another word is refused", "parameters.cache is auto or off" in p.stderr and len(caches.marks) == 3, p.stderr)


def kept(text):
    """How long the marks of a request are kept, in the order in which they count; "" is the usual time."""
    body = json.loads(text)
    blocks = body.get("tools", []) + body.get("system", []) + [x for m in body["messages"] for x in m["content"]] + [body]
    return [x["cache_control"].get("ttl", "") for x in blocks if "cache_control" in x]


@pytest.mark.parametrize("own, times", [("5m", ["", "", "", "5m"]), ("1h", ["1h", "1h", "1h", "1h"])])
def test_own_times(pdl, tmp_path, caches, own, times):
    """A mark for an hour has none for minutes before it, or the service refuses the request."""
    run(pdl, tmp_path, caches, """model: anthropic/m
parameters: {cache: auto, tools: [{type: function, function: {name: f, parameters: {type: object}}}]}
input:
  data:
  - {role: system, content: s}
  - {role: user, content: a}
  - {role: assistant, content: b}
  - {role: user, content: [{type: text, text: c, cache_control: {type: ephemeral, ttl: %s}}]}
""" % own)
    check("their times", kept(caches.raw[-1]) == times, caches.raw[-1])
    run(pdl, tmp_path, caches, """model: anthropic/m
parameters: {cache: auto, tools: [{type: function, function: {name: f, parameters: {type: object}}}]}
input:
  data:
  - {role: system, content: [{type: text, text: s, cache_control: {type: ephemeral, ttl: %s}}]}
  - {role: user, content: a}
""" % own)
    check("later ones are as they are", kept(caches.raw[-1]) == [times[0], own, ""], caches.raw[-1])


PROFILE = "arn:aws:bedrock:r:1:application-inference-profile/x"


@pytest.mark.parametrize("models, told, asked, tools", [
    (["anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-3-5-haiku-20241022-v1:0", "anthropic.claude-3-7-sonnet-20250219-v1:0",
      "arn:aws:bedrock:r:1:inference-profile/us.anthropic.claude-3-5-sonnet-20241022-v2:0"], 3, 3, 2),
    (["amazon.nova-lite-v1:0", "eu.amazon.nova-pro-v1:0"], 3, 3, 1),
    ([PROFILE], 3, 0, 1),
    (["meta.llama3-70b-instruct-v1:0", "amazon.titan-text-express-v1", "cohere.command-r-v1:0", "mistral.mistral-large-2402-v1:0", "anthropic.claude-v2:1",
      "anthropic.claude-instant-v1", "anthropic.claude-3-sonnet-20240229-v1:0", "us.anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-opus-20240229-v1:0",
      "anthropic.claude-3-5-sonnet-20240620-v1:0", "arn:aws:bedrock:r:1:default-prompt-router/anthropic.claude:1"], 0, 0, 1)],
    ids=["claude", "nova", "profile", "none"])
def test_bedrock(pdl, tmp_path, models, told, asked, tools):
    """A mark is a block of its own there. A model without a prompt cache refuses a request with marks; Nova takes none on tools."""
    for model, (own, option, n) in itertools.product(models, (("cache: auto, ", [], told), ("", ["--cache-marks", "auto"], asked))):
        (tmp_path / "p.pdl").write_text("""model: bedrock/%s
parameters: {%saws_region_name: r, aws_access_key_id: a, aws_secret_access_key: b, tools: [{type: function, function: {name: f, parameters: {type: object}}}]}
input: {array: [{role: system, content: s}, {role: user, content: a}, {role: assistant, content: b}, {role: user, content: c}]}
""" % (model, own))
        p = subprocess.run([pdl, "explain", "--json", *option, "p.pdl"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        body, mark = json.loads(p.stdout)["calls"][0]["request"]["body"], {"cachePoint": {"type": "default"}}
        ends = [mark] if n else []
        check("the ends of " + model, [m["content"][1:] for m in body["messages"]] == [ends, [], ends] and body["system"] == [{"text": "s"}, *ends], body)
        check("tools of " + model, len(body["toolConfig"]["tools"]) == (tools if n else 1), body)


def ordered(pdl, folder, text, seconds, *args, code=0):
    """-> how many requests came before the first answer began, for which they have so many seconds; how many came."""
    server = serve(Ordered)
    server.lock, server.came, server.before, server.seconds = threading.Lock(), 0, 0, seconds
    try:
        run(pdl, folder, server, text, *args, code=code)
    finally:
        stop(server)
    return server.before, server.came


def test_first(pdl, tmp_path):
    """The others wait for the first answer, or for its failure; without the option, or where they do not begin alike for long enough, for nobody."""
    check("one goes first", ordered(pdl, tmp_path, MAP % "m", 0.3, "--prefix-first") == (1, 4))
    check("it fails", ordered(pdl, tmp_path, MAP % "fails", 0.3, "--prefix-first", code=1)[0] == 1)
    check("not asked for", ordered(pdl, tmp_path, MAP % "m", 30) == (4, 4))
    for other in ("${ i } ${ rules }", "short ${ i }"):
        check("not alike: " + other, ordered(pdl, tmp_path, MAP.replace("${ rules } ${ i }", other) % "m", 30, "--prefix-first") == (4, 4))
    again = "text:\n- for: {i: [1, 2, 3, 4]}\n  map: {model: openai/m, input: \"${ rules } ${ i }\"}\n"
    check("a beginning that is known", ordered(pdl, tmp_path, (MAP % "m").split("for:")[0] + again + again[6:], 0.3, "--prefix-first") == (1, 8))
