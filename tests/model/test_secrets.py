# SPDX-License-Identifier: Apache-2.0
"""A canary key is planted in every place where a key can be, and is searched for in everything that is written."""
import base64
import contextlib
import http.server
import json
import os
import pathlib
import sqlite3
import stat
import subprocess
import sys
import threading
import urllib.parse

import pytest

from .. import http_of
from ..checks import same
from ..harness.choice import sample
from .loopback import Place, Server

pytestmark = pytest.mark.tier("test")

PLAIN = "cAnAry-7f3d9e51b2c4"
HARD = 'cAn"ary\\7f/3d9é51 b2%c4'  # what JSON, Python and addresses write otherwise
AT_LEAST = 7                    # so much of a key in a row is a leak too

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "mcp" / "server.py"


def escaped(s):
    """The forms in which a key may be written."""
    plain = json.dumps(s, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(s)[1:-1]
    return {s, plain, ascii_only, json.dumps(plain)[1:-1], json.dumps(ascii_only)[1:-1], repr(s)[1:-1], urllib.parse.quote(s), urllib.parse.quote(s, safe=""),
            base64.b64encode(("me:" + s).encode()).decode(), s.encode().hex()}


def joined_texts(text):
    """The texts of JSON in lines, put together by what stands before them: a key letter by letter is one again."""
    groups = {}

    def walk(prefix, key, v):
        if isinstance(v, str):
            groups[prefix, key] = groups.get((prefix, key), "") + v
        for k, x in v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ():
            walk(prefix, k, x)
    for line in text.splitlines():
        at = min((i for i in (line.find("{"), line.find("[")) if i >= 0), default=-1)
        try:
            walk(line[:at], "", json.loads(line[at:])) if at >= 0 else None
        except ValueError:
            pass
    return groups.values()


def leaks(key, what, text):
    found = []
    for form in escaped(key):
        for part in {form, form[:max(AT_LEAST, len(form) // 2)], form[-max(AT_LEAST, len(form) // 2):]}:
            if part in text and len(part) >= AT_LEAST:
                found.append("%s shows %r in %r" % (what, part, text[max(0, text.find(part) - 150):text.find(part) + 60]))
    for t in joined_texts(text):
        if any(f in t for f in escaped(key)):
            found.append("%s shows it in pieces" % what)
    return found


def database(path):
    """All that a journal or cache holds, decoded and not; pieces put together."""
    raw = b"".join(p.read_bytes() for p in path.parent.glob(path.name + "*"))
    text = raw.decode("utf-8", "replace")
    with contextlib.closing(sqlite3.connect(str(path))) as db:  # closed now: it removes the log, which the next look does, too
        for (table,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
            for row in db.execute("select * from " + table):
                text += "\n".join(str(x) for x in row) + "\n"
                for x in row:
                    if isinstance(x, str) and x.startswith("["):
                        text += "".join(y for y in json.loads(x.partition("\n#")[0]) if isinstance(y, str)) + "\n"
    return text


def look(p, key, *args, program, ask_stdout=False, durable=True):
    """Runs the program in every way in which something is written, and looks."""
    found = []
    for name in ("w", "t.json", "j", "c", "d"):
        for f in p.dir.glob(name + "*"):
            f.unlink()
    p.env.update(PDL_DEBUG="all", PDL_DEBUG_FILE=str(p.dir / "d"))
    _, out, err = p.run("--stream", "result", "--wire", "w", "--trace", "t.json", "--record", "j", "--cache", "c", *args, "p.pdl", program=program)
    p.env.pop("PDL_DEBUG")
    sinks = {"errors": err, "wire": (p.dir / "w").read_text(), "debug": (p.dir / "d").read_text(errors="replace"), "journal": database(p.dir / "j"),
             "cache": database(p.dir / "c"), "trace": (p.dir / "t.json").read_text()}
    sinks["trace, decoded"] = json.dumps(json.loads(sinks["trace"]), ensure_ascii=False)
    for how in (["explain"], ["explain", "--format", "json"], ["check"], ["dump"], ["dump", "--expr"]):
        # a dump shows the program: only what is secret in it by its place is not in there
        r = p.run(*how, "p.pdl")
        sinks[" ".join(how)] = r[1] + r[2]
    sinks["export"] = "".join(p.run("cache", "export", "c")[1:])
    sinks["replay"] = p.run("--replay", "j", "--trace", "t2.json", "p.pdl")[2] + (p.dir / "t2.json").read_text()
    sinks["debug to errors"] = subprocess.run([p.pdl, "p.pdl"], cwd=p.dir, env={**p.env, "PDL_DEBUG": "all"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.PIPE).stderr.decode("utf-8", "replace")
    sinks.update(pages(p, *args) if durable else {})
    if ask_stdout:
        sinks["output"] = out
    for what, text in sinks.items():
        found += leaks(key, what, text)
    return found


def pages(p, *args):
    """What is made to be given to others: of a trace, and of a durable run."""
    for f in p.dir.glob("runs/*"):
        f.unlink()
    p.env["PDL_RUNS"] = str(p.dir / "runs")
    p.run("--durable", "--id", "r", *args, "p.pdl")
    made = {"page": ["view", "t.json", "--html", "-"], "page with the program": ["view", "t.json", "--source", "p.pdl", "--html", "-"],
            "page of a run": ["view", "r", "--html", "-"], "page of a run with the program": ["view", "r", "--source", "p.pdl", "--html", "-"],
            "trace of a run": ["trace", "r"], "page of its trace": ["trace", "r", "--format", "html"], "its times": ["trace", "r", "--format", "perfetto"]}
    sinks = {what: "".join(p.run(*how)[1:]) for what, how in made.items()}
    same([what for what, text in sinks.items() if not text.startswith("<!doctype html>") and "page" in what], [], sinks)
    return sinks


def quoted(s):
    return json.dumps(s, ensure_ascii=False)


# --- where a key can stand: (name, key, variables, .env, parameters as YAML; %U the address without its scheme)
SOURCES = [
    ("environment", PLAIN, {"OPENAI_API_KEY": PLAIN}, "", "{}"),
    ("environment, hard", HARD.replace("é", "e"), {"OPENAI_API_KEY": HARD.replace("é", "e")}, "", "{}"),
    ("another variable", HARD, {"MY_password": HARD}, "", "{}"),
    (".env", PLAIN, {"OPENAI_API_KEY": None}, "OPENAI_API_KEY=" + PLAIN, "{}"),
    ("parameter", PLAIN, {}, "", "{api_key: %K}"),
    ("parameter, hard", HARD.replace("é", "e"), {}, "", "{api_key: %K}"),
    ("parameter, computed", PLAIN, {}, "", '{api_key: "${ ' + repr(list(PLAIN)) + ' | join }"}'),
    ("token", PLAIN, {}, "", "{token: %K}"),
    ("header, X-Auth-Token", PLAIN, {}, "", "{extra_headers: {X-Auth-Token: %K}}"),
    ("header, Cookie", PLAIN, {}, "", "{extra_headers: {Cookie: 'session=" + PLAIN + "; mode=on'}}"),
    ("header, X-Custom-Key", HARD.replace("é", "e"), {}, "", "{headers: {X-Custom-Key: %K}}"),
    ("header, any", PLAIN, {}, "", "{extra_headers: {X-Anything: %K}}"),
    ("header, Authorization", PLAIN, {}, "", "{extra_headers: {authorization: 'Custom " + PLAIN + "'}}"),
    ("password in the address", PLAIN, {}, "", "{api_base: 'http://me:" + PLAIN + "@%U'}"),
    ("password in the address, coded", HARD, {}, "", "{api_base: 'http://me:" + urllib.parse.quote(HARD, safe="") + "@%U'}"),
    ("password in a variable", PLAIN, {"OPENAI_API_BASE": "http://me:" + PLAIN + "@%U"}, "", "{}"),
    ("user in the address", PLAIN, {}, "", "{api_base: 'http://" + PLAIN + "@%U'}"),
    ("a parameter of the path", PLAIN, {}, "", "{api_base: 'http://%U/x;token=" + PLAIN + "/v1'}"),
    ("query with a semicolon", PLAIN, {}, "", "{api_base: 'http://%U/x?api-version=1;code=" + PLAIN + "'}"),
    ("query of the address", PLAIN, {}, "", "{api_base: 'http://%U/x?code=" + PLAIN + "&y='}"),
    ("fallback", PLAIN, {}, "", "{model: nobody/x, fallbacks: [{model: openai/m, api_key: %K}]}"),
]


def place_with(build, s, variables, dotenv):
    p = Place(build, s)
    for k, v in variables.items():
        if v is None:
            p.env.pop(k, None)
        else:
            p.env[k] = v.replace("%U", s.url.split("://")[1])
    if dotenv:
        (p.dir / ".env").write_text(dotenv + "\n")
    return p


@pytest.mark.parametrize("name, key, variables, dotenv, params", sample(SOURCES, every=3))
def test_source(build, name, key, variables, dotenv, params):
    def reply(body, n):
        last = body["messages"][-1]["content"]
        if last == "fail":
            return 401, {"x-echo": "1"}, {"error": {"message": "bad key %s, I mean %s" % (key, json.dumps(key)), "code": key}}
        return "I saw %s and %s" % (key, json.dumps(key))
    with Server(reply) as s:
        p = place_with(build, s, variables, dotenv)
        given = params.replace("%K", quoted(key)).replace("%U", s.url.split("://")[1])
        model = "model: openai/m, "
        if given.startswith("{model: "):
            given, model = "{" + given[len("{model: nobody/x, "):], "model: nobody/x, "
        program = "text:\n- {%sinput: hi, parameters: %s}\n- {%sinput: fail, retry: 1, trace_error_on_retry: true, parameters: %s}\n" % (model, given, model, given)
        found = look(p, key, program=program)
        same((found, len(s.requests) > 1), ([], True), name)


def test_letter_by_letter(build):
    """Code prints a key in pieces; a model says it to a tool's answer."""
    key = PLAIN
    code = "import sys, time\nk = %r\nfor c in k:\n    print(c, end='', flush=True)\n    time.sleep(0.01)\nprint(repr(k), [k], {k: 1})\nresult = {'k': k, k: [k], 'b': k.encode()}\n"
    with Server(lambda body, n: "yes " + body["messages"][-1]["content"]) as s:
        p = Place(build, s, MY_SECRET=key)
        program = {"text": [{"lang": "python", "code": code % key, "def": "x"}, {"model": "openai/m", "input": "${ x.k }"}]}
        # the program text holds the key in this test; what is looked at is what the run makes of it
        same(look(p, key, program=json.dumps(program)), [])


def test_keys_in_names_of_models(build, part):
    """A key where the name belongs: one that is in use, and one that looks like a key; written, computed, in a fallback."""
    token = "sk-proj-" + PLAIN
    rows = [(key, variables, name % key, {"fallbacks": ["openai/" + key]} if name == "nobody/x%.0s" else {})
            for key, variables in ((PLAIN, {"OPENAI_API_KEY": PLAIN}), (token, {})) for name in ("openai/%s", "${ 'openai/' ~ '%s' }", "nobody/x%.0s")]
    for key, variables, name, given in part(rows, 3):
        with Server(lambda body, n: (401, {}, {"error": {"message": "no " + body["model"]}}) if body["messages"][-1]["content"] == "fail" else body["model"]) as s:
            p = place_with(build, s, variables, "")
            block = {"model": name, "parameters": given}
            program = {"text": [{**block, "input": "hi"}, {**block, "input": "fail"}]}
            same((look(p, key, program=json.dumps(program)), len(s.requests) > 1), ([], True), name)


def test_keys_made_by_the_program(build):
    """A key that was read from a file, or made by code letter by letter, is known when a call uses it: what was recorded before is cleaned."""
    code = "import sys\nfor c in reversed(%r):\n    print(c, end='', flush=True)\nresult = ''.join(reversed(%r))\n" % (PLAIN[::-1], PLAIN[::-1])
    sources = {"read": {"read": "key.txt"}, "command": {"lang": "command", "code": "cat key.txt"}, "code": {"lang": "python", "code": code}}
    with Server(lambda body, n: "hi") as s:
        for name, block in sources.items():
            for end, longer in (({"text": "end"}, False), ({"data": "${ nope }"}, False), ({"text": "end"}, True)):
                p = Place(build, s)
                (p.dir / "key.txt").write_text(PLAIN)
                if longer:  # a key that is known from the beginning, and begins like the other
                    p.env["OTHER_API_KEY"] = PLAIN + "-and-more"
                program = {"text": [{**block, "def": "k", "contribute": []}, {"model": "openai/m", "input": "hi", "parameters": {"api_key": "${ k }"}}, end]}
                status = p.run("--record", "j", "--trace", "t.json", "p.pdl", program=json.dumps(program))[0]
                same((status, leaks(PLAIN, "journal", database(p.dir / "j")), leaks(PLAIN, "trace", (p.dir / "t.json").read_text())),
                     (0 if "text" in end else 1, [], []), name)
                same(p.run("--replay", "j", "p.pdl")[0], status, name)


class Exchange(http_of.Quiet):
    """Gives a token for a key, and says both in what it answers."""
    token, said = "tOkEn-5a1c77e0", ""

    def do_POST(self):
        asked = self.body().decode()
        if self.path == "/token":
            Exchange.said = asked
            answer = {"access_token": self.token, "expires_in": 3600}
        else:
            text = "%s, %s, %s" % (self.headers["authorization"], self.token, urllib.parse.unquote(self.said))
            answer = {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]}
        data = json.dumps(answer).encode()
        self.reply(data)


def test_tokens_of_exchanges(build):
    """The parts of credentials, and the token that they were exchanged for."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exchange) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d" % server.server_address[1]
        p = Place(build)
        given = {"vertex_project": "p", "vertex_location": "l", "api_base": url, "vertex_credentials": {
            "type": "authorized_user", "client_id": "i", "client_secret": PLAIN, "refresh_token": "rEfReSh-2b9d0041", "token_uri": url + "/token"}}
        program = json.dumps({"model": "vertex_ai/gemini-2.0-flash", "input": "hi", "parameters": given})
        status, out, err = p.run("--stream", "none", "p.pdl", program=program)
        same((status, Exchange.token in out, PLAIN in out), (0, True, True), err)
        for key in (PLAIN, "rEfReSh-2b9d0041", Exchange.token):
            same(look(p, key, program=program), [], key)
        # the run is in its journal as it was; what is given to others is not
        same(p.run("runs", "export", "r", "copy", "--redact")[0], 0)
        for key in (PLAIN, "rEfReSh-2b9d0041", Exchange.token):
            same((key.encode() in (p.dir / "runs" / "r.journal").read_bytes(), leaks(key, "export", (p.dir / "copy").read_bytes().decode("latin-1"))), (True, []), key)
        salt = sqlite3.connect(p.dir / "runs" / "r.journal").execute("select value from run where key = 'salt'").fetchone()[0]
        same((len(salt), salt.encode() in (p.dir / "copy").read_bytes()), (32, False))
        # a run that goes on hides what was said before it ended, and says it to the program
        for f in p.dir.glob("runs/*"):
            f.unlink()
        asking = {"text": [{**json.loads(program), "def": "m"}, {"read": None, "message": "ok?", "def": "r", "contribute": []}, " ${ m == r }"]}
        status = p.run("--durable", "--id", "r", "--park", "p.pdl", program=json.dumps(asking))[0]
        same(status, 75)
        p.run("answer", "r", "yes")
        status, out, err = p.run("resume", "r", "--trace", "t.json")
        same((status, Exchange.token in out, leaks(Exchange.token, "trace", (p.dir / "t.json").read_text())), (0, True, []), err)
        server.shutdown()


def test_errors_of_code(build):
    p = Place(build, MY_TOKEN=HARD)
    program = {"lang": "python", "code": "import os\nraise ValueError(repr(os.environ['MY_TOKEN']), os.environ['MY_TOKEN'])\nresult = 1\n"}
    status, out, err = p.run("p.pdl", program=json.dumps(program))
    same((status, leaks(HARD, "errors", out + err)), (1, []), err)
    status, out, err = p.run("p.pdl", program=json.dumps({**program, "retry": 1}))
    same((status, leaks(HARD, "errors", out + err)), (1, []), err)


def test_texts_that_are_cut(build, part):
    """A message that shows only the beginning of an answer does not end inside a key."""
    for n in part(range(180, 206), 3):
        with Server(lambda body, i, n=n: (200, {}, "x" * (n - 2) + PLAIN)) as s:
            p = Place(build, s, OPENAI_API_KEY=PLAIN)
            r = p.run("--stream", "none", "p.pdl", program="{model: openai/m, input: hi, parameters: {max_retries: 0}}")
            same(leaks(PLAIN, "error", r[2]), [], str(n))


def test_keys_that_are_no_line(build):
    """A line end or a NUL in a key is an error of kind config, before anything is sent."""
    with Server(lambda body, n: "hi") as s:
        for params in ('{api_key: "ab\\ncdefgh"}', '{api_key: "ab\\0cdefgh"}', '{api_key: "abcdefgh\\r"}', '{extra_headers: {X-A: "a\\nB: c"}}', '{headers: {X-A: "a\\0b"}}',
                       '{organization: "a\\nX-B: c"}'):
            p = Place(build, s)
            status, _, err = p.run("p.pdl", program="{model: openai/m, input: hi, parameters: %s}" % params)
            same((status, "config: openai - " in err, "cdefgh" in err), (1, True, False), err)
        p = Place(build, s)
        p.env.pop("OPENAI_API_KEY")
        (p.dir / ".env").write_text('OPENAI_API_KEY="two\\nlines"\n')
        status, _, err = p.run("p.pdl", program="{model: openai/m, input: hi}")
        same((status, "config: openai - " in err, "lines" in err), (1, True, False), err)
        p.env["OPENAI_API_KEY"] = "two\nlines"
        status, _, err = p.run("p.pdl", program="{model: openai/m, input: hi}")
        same((status, "config: openai - " in err), (1, True), err)
        same(s.requests, [])


def test_tool_servers(build):
    """Keys of the configuration of tool servers, which the server reveals."""
    key = HARD
    p = Place(build)
    config = {"mcpServers": {"s": {"command": sys.executable, "args": [str(TOOLS), "good", "--api-key", PLAIN], "env": {"API_TOKEN": key}}}}
    (p.dir / "servers.json").write_text(json.dumps(config))
    p.env["PDL_MCP_CONFIG"] = str(p.dir / "servers.json")
    program = 'defs: {s: {import: "mcp:s"}}\ntext:\n- "${ s.env() }"\n- "${ s.echo(\'%s\') }"\n' % PLAIN
    found = look(p, key, program=program) + leaks(PLAIN, "errors", p.run("p.pdl", "--trace", "t.json")[2])
    same((found, leaks(PLAIN, "trace", (p.dir / "t.json").read_text())), ([], []))


def test_replays_what_was_hidden(build):
    """A reply that held a key is stored without it; what the program continues to ask with it is found again."""
    with Server(lambda body, n: "key %s." % PLAIN if n == 0 else "seen " + body["messages"][-1]["content"]) as s:
        p = Place(build, s, OPENAI_API_KEY=PLAIN)
        program = "text: [{model: openai/m, input: hi, def: x}, {model: openai/m, input: 'You said ${ x }'}]\n"
        status, out, err = p.run("--record", "j", "p.pdl", program=program)
        same((status, err), (0, ""))
        same(p.run("--replay", "j", "p.pdl"), (0, out.replace(PLAIN, "[REDACTED]"), ""))
        p.env.pop("OPENAI_API_KEY")
        same(p.run("--replay", "j", "p.pdl"), (0, out.replace(PLAIN, "[REDACTED]"), ""))


def test_ordinary_text_stays(build):
    """What is no key is shown as it is."""
    with Server(lambda body, n: "fine, application/json") as s:
        p = Place(build, s)
        p.env.pop("OPENAI_API_KEY")
        program = "{model: openai/m, input: 'ollama says hi', parameters: {api_key: ollama, temperature: 0.5, extra_headers: {Accept: application/json, X-Title: my title}}}\n"
        status, out, err = p.run("--wire", "w", "--trace", "t.json", "p.pdl", program=program)
        same((status, out, err), (0, "fine, application/json\n", ""))
        log = (p.dir / "w").read_text()
        for want in ("ollama says hi", "X-Title: my title", "Accept: application/json", "Authorization: ***\n"):
            same(want in log, True, want + "\n" + log)
        same("[REDACTED]" in log, False)


def test_files_are_private(build):
    """What is written beside the output is for nobody else, from the first byte on; a file that is there keeps its mode."""
    with Server(lambda body, n: "hi") as s:
        p = Place(build, s, PDL_DEBUG="http")
        p.env["PDL_DEBUG_FILE"] = str(p.dir / "d")
        before = os.umask(0)
        try:
            args = ("--wire", "w", "--record", "j", "--cache", "c", "--trace", "t", "p.pdl")
            same(p.run(*args, program="{model: openai/m, input: hi}")[0], 0)
            modes = {x.name: oct(stat.S_IMODE(x.stat().st_mode)) for x in p.dir.iterdir() if x.name != "p.pdl"}
            same(({"w", "j", "c", "d", "t"} <= set(modes), set(modes.values())), (True, {"0o600"}), str(modes))
            for name in "wt":
                (p.dir / name).chmod(0o640)
            same(p.run("--wire", "w", "--trace", "t", "p.pdl")[0], 0)
            same([oct(stat.S_IMODE((p.dir / name).stat().st_mode)) for name in "wt"], ["0o640", "0o640"])
        finally:
            os.umask(before)


def test_links_are_followed(build):
    """The trace goes where a link leads, also where nothing is yet."""
    p = Place(build)
    (p.dir / "sub").mkdir()
    for target, there in (("sub/a.json", True), ("sub/b.json", False)):
        if there:
            (p.dir / target).write_text("old")
        link = p.dir / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        same(p.run("-t", "link", "p.pdl", program="text: hi")[0], 0)
        same((link.is_symlink(), json.loads((p.dir / target).read_text())["kind"], sorted(x.name for x in p.dir.iterdir())), (True, "text", ["link", "p.pdl", "sub"]))


def test_empty_headers_are_sent(build):
    with Server(lambda body, n: "hi") as s:
        p = Place(build, s)
        r = p.run("p.pdl", program="{model: openai/m, input: hi, parameters: {extra_headers: {X-Empty: '', X-Full: a}}}")
        same((r[0], "X-Empty:\r\n" in s.heads[0], "X-Full: a\r\n" in s.heads[0]), (0, True, True), s.heads[0])


def test_names_stay_in_their_path(build):
    """A part ".." of a model's name would lead the request, with the key, to another address."""
    with Server(lambda body, n: "hi") as s:
        p = Place(build, s, GEMINI_API_KEY="some-key-of-ours", AZURE_API_KEY="some-key-of-ours", REPLICATE_API_KEY="some-key-of-ours", AWS_ACCESS_KEY_ID="id-of-ours",
                  AWS_SECRET_ACCESS_KEY="some-key-of-ours", AWS_REGION_NAME="r")
        for name in ("gemini/../../x", "gemini/a/../b", "azure/..", "replicate/../..", "bedrock/..", "gemini/a/./b"):
            r = p.run("p.pdl", program=json.dumps({"model": name, "input": "hi", "parameters": {"api_base": s.url[:-3], "api_version": "2024-02-01", "max_retries": 0}}))
            same((r[0], "bad_request: " in r[2], s.requests), (1, True, []), name + ": " + r[2])
        r = p.run("p.pdl", program=json.dumps({"model": "openai/../m", "input": "hi", "parameters": {"api_base": s.url}}))
        same((r[0], s.requests[0]["model"]), (0, "../m"), r[2])


def test_only_http_is_spoken(build):
    p = Place(build)
    (p.dir / "chat").mkdir()
    (p.dir / "chat" / "completions").write_text(json.dumps({"choices": [{"message": {"role": "assistant", "content": "a file"}}]}))
    for scheme in ("file://", "ftp://", "gopher://"):
        r = p.run("p.pdl", program=json.dumps({"model": "openai/m", "input": "hi", "parameters": {"api_base": scheme + str(p.dir), "max_retries": 0}}))
        same((r[0], "a file" in r[1]), (1, False), scheme + r[2])


def test_redirects_are_not_followed(build):
    with Server(lambda body, n: "stolen") as other:
        for status in (301, 302, 303, 307, 308):
            with Server(lambda body, n: (status, {"Location": other.url + "/chat/completions"}, {})) as s:
                r = Place(build, s).run("p.pdl", program="{model: openai/m, input: hi, parameters: {max_retries: 0}}")
                same((r[0], other.requests), (1, []), str(status))


def test_hints_name_no_key(build):
    """The hint for a server that does not answer, and for a key that was refused, name the address."""
    for form in ("http://127.0.0.1:9/v1?key=%s", "http://127.0.0.1:9/v1#key=%s", "http://localhost:9/v1/?a=1&sig=%s",
                 "http://127.0.0.1:9/v1;token=%s", "http://127.0.0.1:9/a;sid=%s/v1", "http://127.0.0.1:9/v1?version=1;key=%s"):
        p = Place(build, OPENAI_API_BASE=form % PLAIN)
        status, out, err = p.run("p.pdl", program="model: openai/m\ninput: hi\nparameters: {num_retries: 0}\n")
        same((status, PLAIN in out + err, "nothing listens at" in err), (1, False, True), err)
    with Server(lambda body, n: (401, {}, {"error": {"message": "no"}})) as s:
        p = Place(build, OPENAI_API_BASE=s.url + "?key=" + PLAIN)
        status, out, err = p.run("p.pdl", program="model: openai/m\ninput: hi\nparameters: {num_retries: 0}\n")
        same((status, PLAIN in out + err, "it was refused by" in err), (1, False, True), err)
