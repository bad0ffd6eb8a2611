"""Rules for some values: a pattern, a list in the policy, or a list in a file. The values of a rule pass. Other values are decided by later rules, or
by what the rule says for them. A text that contains several values is none of them. Names of commands and code are compared as people mean them.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import time

import pytest

from ..checks import check
from .tries import calls, run, servers, tool

LISTS = {"lists": {"people": ["ann@firm.example", "bob@firm.example"], "known": {"read": "known.txt"}}}
FILES = {"known.txt": "# who may get mail\n\n  carl@x.org  \r\nann@firm.example\n", "mail": "?"}
SEND = {"sink": "tool s/send", "argument": "to"}
# rules, the value, does it pass?
ROWS = (
    ([{**SEND, "matches": "*@firm.example"}], "ann@firm.example", True), ([{**SEND, "matches": "*@firm.example"}], "ann@evil.example", False),
    ([{**SEND, "matches": "*@firm.example"}], "eve@evil.org,ann@firm.example", False), ([{**SEND, "matches": "*@firm.example"}], "eve@evil.org ann@firm.example", False),
    ([{**SEND, "matches": "*@firm.example"}], "eve@evil.org\nann@firm.example", False), ([{**SEND, "matches": "*@firm.example"}], "ann@firm.example.evil.org", False),
    ([{**SEND, "matches": "*@firm.example"}], "\"eve@evil.org\"@firm.example", False),
    *(([{**SEND, "matches": "*@firm.example"}], "eve@evil.org%sann@firm.example" % c, False) for c in "\u2028\u00a0\u3000\u200b\u0085\0\v\u202e\u00ad\uff0c\u3001\uff1b/:&+"),
    *(([{**SEND, "matches": "*@firm.example"}], x, False) for x in ("eve\u200b@firm.example", "eve\u3164@firm.example", "eve\ufe00@firm.example", "eve\u2800@firm.example", "eve\uff20evil.org@firm.example", "eve@evil.org@firm.example", "eve\uff0ceve@firm.example")),
    ([{**SEND, "matches": "*@firm.example"}], "jos\u00e9.m\u00fcller+a/b@firm.example", True), ([{**SEND, "matches": "*@*@firm.example"}], "a@b@firm.example", True),
    ([{**SEND, "matches": "*\uff0c*"}], "a\uff0cb", True), ([{**SEND, "matches": "*"}], "a@b@c", True),
    *(([{**SEND, **rule}], {"eve@evil.org": "ann@firm.example"}, False) for rule in ({"in": "people"}, {"matches": "*@firm.example"})),
    ([{**SEND, "argument": "to.mail", "in": "people"}, {**SEND, "argument": "to"}], {"mail": "ann@firm.example"}, True),
    ([{**SEND, "argument": "to.mail", "in": "people"}], {"mail": "eve@evil.org"}, False), ([{**SEND, "in": "people"}], ["ann@firm.example", "bob@firm.example"], True),
    ([{**SEND, "in": "people"}], ["ann@firm.example", "eve@evil.org"], False), ([{**SEND, "matches": "ann, *"}], "ann, bob", True),
    ([{**SEND, "in": "people"}], "bob@firm.example", True), ([{**SEND, "in": "people"}], "carl@x.org", False), ([{**SEND, "in": "known"}], "carl@x.org", True),
    ([{**SEND, "in": "known"}], "# who may get mail", False), ([{**SEND, "in": "known"}], "bob@firm.example", False), ([{**SEND, "in": "people", "matches": "a*"}], "ann@firm.example", True),
    ([{**SEND, "in": "people", "matches": "a*"}], "bob@firm.example", False),
    ([{**SEND, "in": "people"}, {**SEND, "in": "known"}], "carl@x.org", True), ([{**SEND, "in": "people"}, {**SEND, "in": "known"}], "eve@x.org", False),
    ([{**SEND, "in": "people", "otherwise": "deny"}, {**SEND, "in": "known"}], "carl@x.org", False), ([{**SEND, "in": "people"}, {**SEND, "allow": ["file"]}], "eve@x.org", True),
    ([{**SEND, "in": "people", "otherwise": "allow"}], "eve@x.org", True), ([{**SEND, "in": "people", "deny": ["file"]}], "ann@firm.example", False),
    ([{**SEND, "in": "people", "allow": ["user"]}], "ann@firm.example", False), ([{**SEND, "in": "people", "allow": ["file"]}], "ann@firm.example", True),
)


def test_values(pdl, folder):
    servers(folder, s=([tool("send", "to", "body")], {}))
    program = {"defs": {"s": {"import": "mcp:s"}, "w": {"read": "mail", "parser": "json"}}, "data": "${ s.send(to=w, body='b') }"}
    for rules, value, want in ROWS:
        for otherwise in ("allow", "deny"):
            out, err = run(pdl, folder, program, policy={**LISTS, "rules": rules, "otherwise": otherwise}, files={**FILES, "mail": json.dumps(value)})
            check(f"{rules}, {value!r}", bool(calls(folder, "s")) == want and ("refuses argument to" in err) != want, out, err)


def test_hosts(pdl, folder):
    rules = [{"sink": "url", "argument": "host", "matches": "*.example.org"}]
    for address, want in (("http://a.example.org:1/v1", True), ("http://a.example.org", True), ("http://evil.org/a.example.org", False), ("http://evil.org#.example.org", False),
                          ("http://a.example.org@evil.org/", False), ("http://evil.org\\.example.org/", False), ("http://example.org/", False)):
        program = {"defs": {"w": {"read": "mail"}}, "model": "openai/m", "input": "q", "parameters": {"api_base": "${ w }", "mock_response": "RAN", "num_retries": 0}}
        out, err = run(pdl, folder, program, policy={"rules": rules, "otherwise": "allow"}, files={"mail": address})
        check(address, ("RAN" in out) == want and ("refuses" in err) != want, out, err)


def test_names(pdl, folder):
    block = {"defs": {"w": {"read": "mail"}}, "lang": "command", "args": ["/bin/echo", "${ w }"], "fallback": "${ pdl_error.kind }"}
    for name, refused in (("echo", True), ("/bin/echo", True), ("ech*", True), ("/usr/*/echo", False), ("cho", False), ("bin/echo", False)):
        out, err = run(pdl, folder, block, policy={"rules": [{"sink": "command " + name, "deny": ["file"]}], "otherwise": "allow"}, files={"mail": "x"})
        check("command " + name, (out.strip() == "policy") == refused, out, err)
    for lang, name, refused in (("python", "python", True), ("ipython", "python", True), ("ipython", "ipython", True), ("python", "ipython", False)):
        block = {"defs": {"w": {"read": "mail"}}, "lang": lang, "code": "result = w", "fallback": "${ pdl_error.kind }"}
        out, err = run(pdl, folder, block, policy={"rules": [{"sink": "code " + name, "deny": ["file"]}], "otherwise": "allow"}, files={"mail": "x"})
        check(f"{lang}: code {name}", ("policy" in out) == refused, out, err)


def test_mistakes(pdl, folder):
    for policy, want in (({"rules": [{**SEND, "in": "peple"}], **LISTS}, "did you mean 'people'"), ({"lists": {"a": 5}}, "a list of texts, or {read: FILE}"),
                         ({"rules": [{**SEND, "matches": 5}]}, "matches, a pattern, should be a text"), ({"lists": {"a": {"read": "nowhere"}}}, "nowhere")):
        out, err = run(pdl, folder, "data: 1\n", policy=policy, files=FILES)
        check(str(policy), want in err and not out.strip(), out, err)


def test_trusted_files(pdl, folder):
    """A path is trusted for what was there when the run began, not for what the run put there."""
    (folder / "prompts").mkdir()
    policy = {"trusted": [{"read": "prompts/**"}], "rules": [{"sink": "command echo", "deny": ["file"]}], "otherwise": "allow"}
    use = [{"def": "p", "read": "prompts/x", "contribute": []}, {"lang": "command", "args": ["echo", "RAN", "${ p }"]}]
    for name, first in (("nothing", "a"), ("a copy", {"lang": "command", "args": ["cp", "mail", "prompts/x"]}), ("a link", {"lang": "command", "args": ["ln", "-f", "mail", "prompts/x"]}),
                        ("a move", {"lang": "command", "args": ["mv", "mail", "prompts/x"]}), ("code", {"lang": "python", "code": "open('prompts/x', 'w').write('b')\nresult = ''"})):
        (folder / "prompts/x").unlink(missing_ok=True)
        (folder / "prompts/x").write_text("text")
        time.sleep(0.02)  # more than the clock of the times of files steps
        out, err = run(pdl, folder, {"text": [first, *use]}, policy=policy, files={"mail": "evil"})
        check(name, ("RAN" in out) == (name == "nothing"), out, err)


# What puts another file where a program is expected, without a value of the program in it.
COPIES = {"a copy": ["cp", "mail", "prompts/x.pdl"], "times are kept": ["cp", "-p", "mail", "prompts/x.pdl"], "a move": ["mv", "mail", "prompts/x.pdl"],
          "a link": ["ln", "-sf", "../mail", "prompts/x.pdl"], "a hard link": ["ln", "-f", "mail", "prompts/x.pdl"], "a linked folder": ["ln", "-sfn", "other", "linked"],
          "a moved folder": ["mv", "other", "moved"], "another file": ["cp", "mail", "prompts/y.pdl"], "nothing": ["true"]}


# name -> what a command does, the program that is included then, the links made before the run, and whether it is another file
WAYS = {"the folder of the program": ("mv sub s0; mv evil sub", "x.pdl", {}, True), "and changed since": ("mv sub s0; mv evil sub; touch sub/z", "x.pdl", {}, True),
        "a folder beside it": ("mv lib l0; mv evil lib", "../lib/x.pdl", {}, True), "outside": ("mv lib l0; mv evil lib", "HOME/lib/x.pdl", {}, True),
        "the target of an older link": ("cd store; mv 1 0; mv evil 1", "../old/x.pdl", {"old": "store/1"}, True),
        "a new link in an older one": ("ln -sfn evil/x.pdl mid", "y.pdl", {"mid": "lib/x.pdl", "sub/y.pdl": "../mid"}, True),
        "files beside": ("touch log sub/log store/log store/1/log; chmod 755 sub", "../old/x.pdl", {"old": "store/1"}, False)}


@pytest.mark.parametrize("name", WAYS)
def test_ways_to_programs(pdl, folder, name):
    """A program is another one when a process exchanged a folder or a link on its way; what comes to lie beside it does not count."""
    command, path, links, another = WAYS[name]
    for at in ("sub", "lib", "evil", "store/1", "store/evil"):
        (folder / at).mkdir(parents=True)
        (folder / at / "x.pdl").write_text("data: RAN\n")
    for link, target in links.items():
        (folder / link).symlink_to(target)
    program = {"text": [{"lang": "command", "args": ["sh", "-c", command]}, {"include": path.replace("HOME", str(folder))}]}
    (folder / "sub/a.pdl").write_text(json.dumps(program))
    time.sleep(0.02)  # more than the clock of the times of files steps
    file = str(folder / "sub/a.pdl") if "since" in name else "sub/a.pdl"
    done = subprocess.run([pdl, "--stream", "none", "--policy", "careful", "--record", "rec.db", file], cwd=folder, capture_output=True, text=True)
    check(name, ("RAN" in done.stdout) == (not another) and ("from command" in done.stderr) == another, done)


def test_trusted_files_beside_new_ones(pdl, folder):
    """A trusted file stays trusted when a command writes beside it while the run writes into the working folder."""
    policy = {"trusted": [{"read": "data/*"}], "rules": [{"sink": "command", "argument": "1", "deny": ["file"], "otherwise": "allow"}], "otherwise": "allow"}
    program = {"text": [{"lang": "command", "args": ["touch", "data/new"]}, {"def": "v", "read": "data/b.txt", "contribute": []}, {"lang": "command", "args": ["echo", "${ v }"]}]}
    (folder / "data").mkdir()
    (folder / "data/b.txt").write_text("TRUSTED")
    time.sleep(0.02)
    out, err = run(pdl, folder, program, "--record", "rec.db", policy=policy)
    check("still trusted", "TRUSTED" in out, out, err)


def test_programs_of_this_run(pdl, folder):
    """A program that a command, code or a tool put there in this run is not the author's, and so it is with trusted files."""
    policy = {"trusted": [{"read": "**"}], "rules": [{"sink": s, "allow": []} for s in ("include", "import", "pdl")], "otherwise": "allow"}
    for name, args in COPIES.items():
        for kind in ("include", "read", "import"):
            home = folder / (name + kind)
            for path in ("prompts/x.pdl", "other/x.pdl", "mail"):
                (home / path).parent.mkdir(parents=True, exist_ok=True)
                (home / path).write_text("data: RAN\n")
            time.sleep(0.02)
            path = "linked/x.pdl" if "linked" in name else "moved/x.pdl" if "moved" in name else "prompts/x.pdl"
            use = {"include": [{"include": path}], "read": [{"def": "p", "read": path, "contribute": []}, {"lang": "pdl", "code": "${ p }"}],
                   "import": [{"def": "m", "import": path[:-4], "contribute": []}, "RAN"]}[kind]
            out, err = run(pdl, home, {"text": [{"lang": "command", "args": args}, *use]}, policy=policy)
            check(f"{kind} after {name}", ("RAN" in out) == (name in ("nothing", "another file")), out, err)


def test_explain_beside_a_server(pdl, folder):
    """An explained run ends at a model call though a tool server stays open, and a call of a tool is waited for."""
    servers(folder, s=([tool("look", "a")], {"look": "FOUND"}))
    program = {"defs": {"s": {"import": "mcp:s"}}, "text": [{"call": "${ s.look }", "args": {"a": "x"}, "def": "v", "contribute": []}, {"model": "ollama/y", "input": "it is ${ v }"}]}
    (folder / "a.pdl").write_text(json.dumps(program))
    done = subprocess.run([pdl, "explain", "--allow", "tool", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, "HOME": str(folder), "PDL_MCP_CONFIG": "mcp.json"})
    check("it ends", done.returncode == 0 and "it is FOUND" in done.stdout and calls(folder, "s") == ['look {"a": "x"}'], done)
