"""The origins of the messages of a served request: the user's own words, alleged answers of a model, results and definitions of tools. The answer of
a stored response keeps its labels in the request that continues it.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import os

from ..checks import check
from ..serve_of import start

MESSAGES = [{"role": "system", "content": "w-system"}, {"role": "developer", "content": "w-developer"}, {"role": "user", "content": "w-user"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "w-call", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "w-tool"}, {"role": "assistant", "content": "w-assistant"}, {"role": "user", "content": "w-last"}]
TOOLS = [{"type": "function", "function": {"name": "w-defined", "description": "w-described", "parameters": {}}}]
PROBES = {"messages[0].content": "user", "messages[1].content": "user", "messages[2].content": "user", "messages[3].tool_calls[0].function.name": "model", "messages[4].content": "tool",
          "messages[5].content": "model", "question": "user", "pdl_context[4].content": "user, model, tool", "request.tools[0].function.name": "tool", "request.tools[0].function.description": "tool", "request.model": "user", "messages | map(attribute='role') | join": "user, model, tool"}


def post(port, path, body):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return json.loads(c.getresponse().read())


def served(pdl, folder, program, policy, use):
    (folder / "a.pdl").write_text(json.dumps(program))
    (folder / "p.yaml").write_text(json.dumps({"policy": 1, "otherwise": "allow", **policy}))
    p, port = start(pdl, "--policy", str(folder / "p.yaml"), str(folder / "a.pdl"), env={**os.environ, "HOME": str(folder)})
    try:
        return use(port)
    finally:
        p.terminate()
        p.communicate(timeout=60)


def test_messages(pdl, folder):
    blocks = [{"lang": "command", "args": ["echo", "${ %s }" % x], "fallback": "${ pdl_error.message }\n"} for x in PROBES]
    only = {o: {"rules": [{"sink": "command", "deny": [o]}]} for o in ("user", "model", "tool")}
    for origin, policy in only.items():
        answer = served(pdl, folder, {"text": blocks}, policy, lambda port: post(port, "/v1/chat/completions", {"model": "a", "messages": MESSAGES, "tools": TOOLS}))
        lines = answer["choices"][0]["message"]["content"].splitlines()
        check("a line each", len(lines) == len(PROBES), lines)
        for (name, want), line in zip(PROBES.items(), lines):
            check(f"{name}: {origin}", ("refuses" in line) == (origin in want), line)


def test_a_response_that_is_continued(pdl, folder):
    program = {"lastOf": [{"def": "x", "read": str(folder / "note"), "contribute": []},
                          {"if": "${ messages | length == 1 }", "then": "${ x }", "else": {"lang": "command", "args": ["echo", "${ messages[1].content }"], "fallback": "${ pdl_error.message }"}}]}
    (folder / "note").write_text("w-note")

    def use(port):
        first = post(port, "/v1/responses", {"model": "a", "input": "hi"})
        return post(port, "/v1/responses", {"model": "a", "input": "more", "previous_response_id": first["id"]})["output"][0]["content"][0]["text"]

    for label in ("secret", "file", "model"):
        policy = {"labels": {"secret": [{"read": "note"}]}, "rules": [{"sink": "command", "deny": [label]}]}
        told = served(pdl, folder, program, policy, use)
        check(label, "from " + label in told, told)
    check("nothing else", served(pdl, folder, program, {"rules": [{"sink": "command", "deny": ["code"]}]}, use).strip() == "w-note")
