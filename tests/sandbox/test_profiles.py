# SPDX-License-Identifier: Apache-2.0
"""Profiles of blocks, policies and tool servers; the requests that the engine executes for confined code, and the processes in which such code ran
before."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ..checks import check
from . import kit
from .kit import PYTHON, environment, in_pairs, in_turn

def cat(path, **more):
    return {"lang": "command", "args": ["sh", "-c", f"cat {path} 2>/dev/null || echo hidden"], **more}


def python(code, **more):
    return {"lang": "python", "code": code, **more}


ASK = """
import pdl.pdl as P
def ask(f):
    try: return str(f()).strip()
    except BaseException as e: return 'no: ' + str(e)
result = ask(lambda: %s)
"""


def program(text):
    return python(ASK % f"P.exec_str({text!r})")


GET_IT = {"getit": {"function": {"v": "string"}, "return": "${ stdlib.http('http://127.0.0.1:9/', auth={'variable': v}).text }"}}
GOOGLE = "model: vertex_ai/gemini-x\ninput: hi\nparameters: {num_retries: 0, vertex_project: p, vertex_location: us-central1, vertex_credentials: %s}"
READ_IT = {"readit": {"function": {"p": "string"}, "return": {"read": "${ p }"}}}
OBJECT = python("class A:\n    def m(self):\n        try: return open('../home/s.txt').read()\n        except OSError: return 'hidden'\nresult = A()", **{"def": "o"})
OPEN = "try: result = open('../home/s.txt').read().strip()\nexcept OSError: result = 'hidden'"
LIBRARY = {"PDL_PATH": "../library"}
CAUGHT = {"fallback": "${ pdl_error.kind }: ${ pdl_error.message }"}

# name, arguments, program, texts of the output, texts that are not in it
BLOCKS = (
    ("a block alone", [], {"text": [cat("../home/s.txt"), {**cat("../home/s.txt"), "sandbox": True}]}, ["secret\nhidden"], []),
    ("a block's Python", [], {"text": [python(OPEN), " ",
                                       python(OPEN, sandbox=True)]}, ["secret hidden"], []),
    ("a block may have more than the default where nothing is around it", [], {**cat("../home/s.txt"), "sandbox": {"read": ["../home"]}}, ["secret"], []),
    ("it may not inside of another", ["--sandbox"], {**cat("../home/s.txt"), "sandbox": {"read": ["../home"]}, **CAUGHT},
     ["schema: ", "read: ", "may only take away"], ["secret"]),
    ("what cannot be kept is found before anything is done", ["--sandbox"],
     {"text": [{"lang": "command", "args": ["echo", "was", "done"]}, {"sandbox": {"write": ["out"], "memory": 9999}, **cat("beside.txt")},
               {"sandbox": {"net": ["example.org"]}, **cat("beside.txt")}]},
     ["a.pdl:1 - sandbox: write: ", "a.pdl:1 - sandbox: memory: ", "a.pdl:1 - sandbox: net: "], ["was done"]),
    ("what has a fallback is left to it", ["--sandbox"],
     {"text": [{"lang": "command", "args": ["echo", "was", "done"]}, {"sandbox": {"write": ["out"]}, **cat("beside.txt"), **CAUGHT}]},
     ["was done", "schema: ", "may only take away"], []),
    ("what is around it narrows, through a call", [], {"defs": {"f": {"function": None, "return": cat("../home/s.txt")}},
                                                       "text": [{"call": "${ f }"}, {"sandbox": True, "text": [{"call": "${ f }"}]}]},
     ["secret\nhidden"], []),
    ("through an expression and a map", [], {"defs": {"f": {"function": None, "return": cat("../home/s.txt")}},
                                             "sandbox": True, "text": ["${ f() }", {"for": {"i": [1, 2]}, "map": cat("../home/s.txt")}]},
     ["hidden\nhidden\nhidden"], ["secret"]),
    ("through an included file", [], {"sandbox": True, "text": [{"include": "inner.pdl"}]}, ["hidden"], ["secret"]),
    ("the program's folder may be named", ["--sandbox"], {**cat("beside.txt"), "sandbox": {"read": ["beside.txt"]}}, ["beside"], []),
    ("what is hidden may not", ["--sandbox"], {**cat(".env"), "sandbox": {"read": [".env"]}, **CAUGHT}, ["may only take away"], ["k=1"]),
    ("a list that is empty takes away", ["--sandbox=s.yaml"], {"text": [cat("../shown/a.txt"), {**cat("../shown/a.txt"), "sandbox": {"read": []}}]},
     ["shown\nhidden"], []),
    ("environment", ["--sandbox=s.yaml"], {"text": [{"lang": "command", "args": ["sh", "-c", "echo $COLOR."]},
                                                    {"lang": "command", "args": ["sh", "-c", "echo $COLOR."], "sandbox": {"env": []}}]},
     ["red.\n."], []),
    ("a number", ["--sandbox"], {"text": [{"lang": "command", "args": ["sh", "-c", "ulimit -v"], "sandbox": {"memory": 512}}]}, ["524288"], []),
    ("a greater number", ["--sandbox"], {"lang": "command", "args": ["true"], "sandbox": {"memory": 4096}, **CAUGHT}, ["may only take away"], []),
    ("a name inside of a pattern", ["--sandbox=s.yaml"], {"lang": "command", "args": ["echo", "ran"], "sandbox": {"net": ["a.example.org"]}, **CAUGHT},
     ["ran"], []),
    ("a name outside of it", ["--sandbox=s.yaml"], {"lang": "command", "args": ["echo", "ran"], "sandbox": {"net": ["example.com"]}, **CAUGHT},
     ["may only take away"], ["ran"]),
    ("a mistake", [], {"lang": "command", "args": ["echo", "ran"], "sandbox": {"raed": []}, **CAUGHT}, ["did you mean 'read'"], ["ran\n"]),
    ("no profile at all", [], {"lang": "command", "args": ["echo", "ran"], "sandbox": "yes", **CAUGHT}, ["should be true, or a profile"], ["ran\n"]),
    ("an object of a wider process", [], {"text": [{**OBJECT, "contribute": []}, {"sandbox": True, "text": "${ o.m() }", **CAUGHT}]},
     ["policy: ", "wider sandbox"], ["secret"]),
    ("an object of a narrower process", [], {"text": [{**OBJECT, "contribute": [], "sandbox": True}, "${ o.m() }"]}, ["hidden"], ["secret"]),
    ("an object as a variable of another process", [], {"text": [{**OBJECT, "contribute": []}, python("result = o.m()", sandbox=True, **CAUGHT)]},
     ["another sandbox"], ["secret"]),
    ("one process for one profile", [], {"text": [python("import os\nresult = str(os.getppid())", sandbox=True, **{"def": "a"}), " ",
                                                  python("import builtins\nbuiltins.x = 1\nresult = 1", sandbox={"memory": 900}), " ",
                                                  python("import builtins\nresult = getattr(builtins, 'x', 0)", sandbox={"memory": 900}), " ",
                                                  python("import builtins\nresult = getattr(builtins, 'x', 0)", sandbox=True)]},
     ["1 1 0"], []),
    # the engine does for code what the code may do itself
    ("a program that reads", ["--sandbox"], program("read: ../home/s.txt"), ["no: ", "does not let it read ../home/s.txt"], ["secret"]),
    ("a program that reads what code may", ["--sandbox"], program("read: beside.txt"), ["beside"], ["no: "]),
    ("a program that reads what is hidden", ["--sandbox"], program("read: .env"), ["does not let it read"], ["k=1"]),
    ("a program that reads through a link", ["--sandbox"], program("read: link.txt"), ["does not let it read"], ["secret"]),
    ("a program with a command", ["--sandbox"], program("lang: command\nargs: [cat, ../home/s.txt]"), ["no: "], ["secret"]),
    ("a program with a profile", ["--sandbox"], program("sandbox: {read: [../home]}\nlang: command\nargs: [cat, ../home/s.txt]"), ["may only take away"],
     ["secret"]),
    ("a program that includes", ["--sandbox"], program("include: ../home/p.pdl"), ["file ../home/p.pdl not found"], ["secret"]),
    ("a program that includes what does not exist", ["--sandbox"], program("include: ../home/q.pdl"), ["file ../home/q.pdl not found"],
     []),
    ("a program that includes by another way", ["--sandbox"], program("include: ${ 'x' }/../../home/p.pdl"), ["not found"], ["secret"]),
    ("a program that imports", ["--sandbox"], program("defs: {m: {import: ../home/p}}\ndata: secret"), ["file ../home/p.pdl not found"], ["secret"]),
    ("a program that imports the library", ["--sandbox"], program("defs: {m: {import: lib/cot}}\ntext: fine"), ["fine"], []),
    ("a library of the user's", ["--sandbox"], program("defs: {m: {import: tools/mine}}\nget: m.v"), ["mine"], ["no: "], LIBRARY),
    ("what is no program in its folder", ["--sandbox"], program("include: ../library/notes.txt"), ["not found"], ["secret"], LIBRARY),
    ("a file with keys in it", ["--sandbox"], program("include: ../library/.env"), ["not found"], ["secret"], LIBRARY),
    ("a link in it that leads out", ["--sandbox"], program("defs: {m: {import: tools/away}}\nget: m"), ["not found"], ["secret"], LIBRARY),
    ("a way out of it", ["--sandbox"], program("defs: {m: {import: tools/../../home/p}}\nget: m"), ["not found"], ["secret"], LIBRARY),
    ("a library that code may write", ["--sandbox=lib.yaml"],
     {"text": [{"lang": "command", "args": ["sh", "-c", "rm ../library/tools/mine.pdl; ln -s ../../home/p.pdl ../library/tools/mine.pdl"]},
               {**program("defs: {m: {import: tools/mine}}\nget: m")}, {"defs": {"m": {"import": "tools/mine"}}, "text": "${ m }", **CAUGHT}]},
     ["no: ", "leads out of the folder"], ["secret"], LIBRARY),
    ("a program that writes", ["--sandbox"], program("defs: {a: {aggregator: {file: ../home/new.txt}}}\ntext: x\ncontribute: [a]"),
     ["does not let it write"], []),
    ("a program with an address", ["--sandbox"], program("model: openai/x\ninput: hi\nparameters: {api_base: 'http://127.0.0.1:9/v1', api_key: a}"),
     ["does not let it reach http://127.0.0.1:9"], ["onnect"]),
    ("an address of a fallback", ["--sandbox"],
     program("model: openai/x\ninput: hi\nparameters: {api_key: a, fallbacks: [{model: openai/y, base_url: 'http://127.0.0.1:9/v1'}]}"),
     ["does not let it reach http://127.0.0.1:9"], []),
    ("an address of a processor", ["--sandbox"],
     program("processor: {type: granite, model: m, backend: openai, openai_base_url: 'http://127.0.0.1:9/v1'}\ninput: hi"),
     ["does not let it reach http://127.0.0.1:9"], []),
    *((f"an address in credentials, {name}", ["--sandbox"], program(GOOGLE % creds), [says], ["onnect", "secret"]) for name, creds, says in (
        ("as text", "'{\"type\": \"authorized_user\", \"token_uri\": \"http://127.0.0.1:9/t\", \"client_id\": \"a\", \"client_secret\": \"b\", \"refresh_token\": \"c\"}'",
         "does not let it reach http://127.0.0.1:9"),
        ("as an object", "{type: authorized_user, token_uri: 'http://127.0.0.1:9/t', client_id: a, client_secret: b, refresh_token: c}", "does not let it reach http://127.0.0.1:9"),
        ("in a file", "../home/s.txt", "does not let it read ../home/s.txt"))),
    *((f"a key of the user at an address that is granted, {name}", ["--sandbox=net.yaml"], program(f"model: {name}/x\ninput: hi\nparameters: {{api_base: 'http://127.0.0.1:9/v1', num_retries: 0}}"),
       ["is not sent to http://127.0.0.1:9/v1, which code in a sandbox has named"], ["onnect", "secret"], {"OPENAI_API_KEY": "secret", "ANTHROPIC_API_KEY": "secret", "GEMINI_API_KEY": "secret"})
      for name in ("openai", "anthropic", "gemini")),
    ("a key of the user in a request to the web", ["--sandbox=net.yaml"], {"defs": GET_IT, "text": [python(ASK % "getit(v='MY_TOKEN')")]},
     ["the key of MY_TOKEN is not sent to 127.0.0.1"], ["onnect", "secret"], {"MY_TOKEN": "secret"}),
    ("a key whose hosts the user has named", ["--sandbox=net.yaml"], {"defs": GET_IT, "text": [python(ASK % "getit(v='MY_TOKEN')")]},
     ["no: "], ["is not sent", "secret"], {"MY_TOKEN": "secret", "MY_TOKEN_HOSTS": "127.0.0.1"}),
    ("an address that is granted", ["--sandbox=net.yaml"],
     program("model: openai/x\ninput: hi\nparameters: {api_base: 'http://127.0.0.1:9/v1', api_key: a, num_retries: 0}"), ["no: "], ["does not let"]),
    *((f"an address that only seems to be granted, {address}", ["--sandbox=net.yaml"],
       program(f"model: openai/x\ninput: hi\nparameters: {{api_base: '{address}', api_key: a, num_retries: 0}}"), ["illegal format"], ["onnect"])
      for address in ("http:/127.0.0.1:7/://127.0.0.1:9/v1", "HTTP:/127.0.0.1:7/://127.0.0.1:9", "127.0.0.1:7/://127.0.0.1:9/v1", "127.0.0.1:7?://127.0.0.1:9/v1",
                      "http://127.0.0.1:9\\\\@127.0.0.1:7/v1")),
    ("a function of the program that reads", ["--sandbox"], {"defs": READ_IT, "text": [python(ASK % "readit(p='../home/s.txt')")]},
     ["does not let it read"], ["secret"]),
    ("a function that reads what code may", ["--sandbox"], {"defs": READ_IT, "text": [python(ASK % "readit(p='beside.txt')")]}, ["beside"], ["no: "]),
    ("the same function, called by the program", ["--sandbox"], {"defs": READ_IT, "text": ["${ readit('../home/s.txt') }"]}, ["secret"], []),
    ("a program of a block's code", [], {**program("read: ../home/s.txt"), "sandbox": True}, ["does not let it read"], ["secret"]),
    ("a program of code that nothing confines", [], program("read: ../home/s.txt"), ["secret"], []),
    # links that confined code made
    ("a link in a granted folder", ["--sandbox=s.yaml"],
     {"text": [{"lang": "command", "args": ["ln", "-s", "../../home/s.txt", "out/made"]}, {"read": "out/made", **CAUGHT}]},
     ["policy: ", "leads out of the folder"], ["secret"]),
    ("a link that stays in it", ["--sandbox=s.yaml"],
     {"text": [{"lang": "command", "args": ["sh", "-c", "echo inside > out/real; ln -s real out/stays"]}, {"read": "out/stays"}]}, ["inside"], []),
    ("a link outside that leads into it and out again", ["--sandbox=s.yaml"],
     {"text": [{"lang": "command", "args": ["ln", "-s", "../../home/s.txt", "out/target"]}, {"read": "into", **CAUGHT}]},
     ["leads out of the folder"], ["secret"]),
    ("a folder that is a link", ["--sandbox=s.yaml"],
     {"text": [{"lang": "command", "args": ["ln", "-s", "../../home", "out/dir"]}, {"read": "out/dir/s.txt", **CAUGHT}]},
     ["leads out of the folder"], ["secret"]),
    ("an aggregator through a link", ["--sandbox=s.yaml"],
     {"defs": {"a": {"lang": "command", "args": ["ln", "-s", "../../home/s.txt", "out/agg"]}},
      "text": [{"defs": {"f": {"aggregator": {"file": "out/agg"}}}, "text": "overwritten", "contribute": ["f"], **CAUGHT}]},
     ["leads out of the folder"], []),
    ("a program in a granted folder", ["--sandbox=s.yaml"],
     {"text": [{"lang": "command", "args": ["ln", "-s", "../../home/p.pdl", "out/p.pdl"]}, {"include": "out/p.pdl", **CAUGHT}]},
     ["leads out of the folder"], ["secret"]),
    ("a trace through a link", ["--sandbox=s.yaml", "--trace=out/trace.json"],
     {"lang": "command", "args": ["ln", "-s", "../../home/s.txt", "out/trace.json"]}, ["leads out of the folder"], []),
    ("a trace in a folder that is a link", ["--sandbox=s.yaml", "--trace=out/dir/new.txt"],
     {"lang": "command", "args": ["ln", "-s", "../../home", "out/dir"]}, ["leads out of the folder"], []),
    ("a trace in a granted folder", ["--sandbox=s.yaml", "--trace=out/good.json"],
     {"text": [{"lang": "command", "args": ["echo", "ran"]}]}, ["ran"], ["leads out", "Failure"]),
    # policies
    ("a policy of the program", [], {"policy": {"policy": 1, "sandbox": True, "otherwise": "allow"}, **cat("../home/s.txt")}, ["hidden"], []),
    ("a policy of the program takes away", ["--sandbox=s.yaml"],
     {"policy": {"policy": 1, "sandbox": {"read": []}, "otherwise": "allow"}, **cat("../shown/a.txt")}, ["hidden"], []),
    ("a policy of the program does not add", ["--sandbox"],
     {"policy": {"policy": 1, "sandbox": {"read": ["../home"]}, "otherwise": "allow"}, **cat("../home/s.txt")}, ["may only take away"], ["secret"]),
    ("a policy of the user", ["--policy", "pol/user.yaml"], {"text": [cat("../shown/a.txt"), cat("../home/s.txt")]}, ["shown\nhidden"], []),
    ("a policy of the user adds", ["--sandbox", "--policy", "pol/user.yaml"], {"text": [cat("../shown/a.txt"), cat("../home/s.txt")]},
     ["shown\nhidden"], []),
    ("a policy with a mistake", ["--policy", "pol/bad.yaml"], cat("beside.txt"), ["pol/bad.yaml", "did you mean 'processes'"], ["beside\n"]),
)


def lay_out(root):
    files = {"prog/beside.txt": "beside\n", "prog/.env": "k=1\n", "home/s.txt": "secret\n", "home/p.pdl": "data: secret\n", "shown/a.txt": "shown\n",
             "prog/s.yaml": "read: [../shown]\nwrite: [out]\nenv: [COLOR]\nnet: ['*.example.org']\n", "prog/net.yaml": "net: ['127.0.0.1:9']\n",
             "prog/lib.yaml": "write: [../library]\n", "library/tools/mine.pdl": "defs: {v: mine}\n", "library/notes.txt": "data: secret\n",
             "library/.env": "data: secret\n",
             "prog/inner.pdl": json.dumps(cat("../home/s.txt")), "prog/pol/user.yaml": "policy: 1\nsandbox: {read: [../../shown]}\notherwise: allow\n",
             "prog/pol/bad.yaml": "policy: 1\nsandbox: {proceses: 3}\notherwise: allow\n"}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "prog/out").mkdir()
    (root / "prog/link.txt").symlink_to("../home/s.txt")
    (root / "prog/into").symlink_to("out/target")
    (root / "library/tools/away.pdl").symlink_to("../../home/p.pdl")


def said(pdl, root, args, text, env):
    """What a command says to a program in the folder prog."""
    (root / "prog/a.pdl").write_text(json.dumps(text))
    r = kit.run([pdl, *args, "a.pdl"], root / "prog", {"COLOR": "red", **env})
    return r.stdout + r.stderr


def has_namespaces(row, strength):
    """net:, and links in a folder with start files, need namespaces."""
    return strength.name != "process" or not any(a.startswith("--sandbox=") for a in row[1])


@pytest.mark.draws
def test_blocks(pdl, strength):
    for name, args, text, want, never, *variables in in_turn(BLOCKS, strength, name=lambda row: row[0], applies=has_namespaces):
        with tempfile.TemporaryDirectory() as d:
            lay_out(Path(d))
            out = said(pdl, Path(d), args + strength.more, text, {**strength.env, **(variables[0] if variables else {})})
            kept = (Path(d) / "home/s.txt").read_text() == "secret\n" and not (Path(d) / "home/new.txt").exists()
        check(name, all(w in out for w in want) and not any(w in out for w in never) and kept, repr(out)[-700:])


# A tool server whose one tool says its environment.
SERVER = """
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "env", "inputSchema": {"type": "object", "properties": {}}}]}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""
SEEN = {"s": {"import": "mcp:s"}, "seen": {"data": "${ s.env() }", "parser": "json"}}


def of_server(pdl, root, args, entry, text, env):
    lay_out(root)
    (root / "prog/server.py").write_text(SERVER)
    (root / "servers.json").write_text(json.dumps({"mcpServers": {"s": {"command": PYTHON[0], "args": [*PYTHON[1:], str(root / "prog/server.py")], **entry}}}))
    return said(pdl, root, args, {"defs": SEEN, "text": text}, {**env, "PDL_MCP_CONFIG": str(root / "servers.json")})


# name: of the run, of the server's entry, which variable, what it is
SERVERS = {"its environment": (True, {}, "HOME", None), "its own variable": (True, {"env": {"MINE": "m"}}, "MINE", "m"), "of its entry": (False, {"sandbox": True}, "HOME", None),
           "a profile of its entry": (False, {"sandbox": {"env": ["COLOR"]}}, "COLOR", "red"), "a mistake in its entry": (False, {"sandbox": {"enw": []}}, "HOME", "servers.json:1"),
           "no profile in its entry": (False, {"sandbox": False}, "HOME", "sandbox should be true, or a profile")}


@in_pairs(SERVERS)
def test_servers(pdl, folder, row, strength):
    """Tool servers: the profile of the run, of a block, of their own entry."""
    of_run, entry, variable, want = SERVERS[row]
    want = want or ("/tmp" if strength.name == "process" else "/tmp/home")
    out = of_server(pdl, folder, ["--sandbox"] * of_run + strength.more, entry, "${ seen.%s }" % variable, strength.env)
    check(f"tool server, {row}", want in out, repr(out)[-600:])


def test_variables_that_the_loader_obeys(pdl, folder, strength):
    """Variables of a server's entry are the server's alone: the loader of the helper, which begins with all rights, does not obey them."""
    own = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": f"{folder}/home/loaded", "MINE": "a=b", "EMPTY": "", "TMPDIR": "/dev/shm"}
    text = "${ seen.LD_DEBUG } ${ seen.MINE } [${ seen.EMPTY }] ${ seen.keys()|list|select('in', ['@MINE', '@PATH'])|list }"
    out = of_server(pdl, folder, ["--sandbox"] + strength.more, {"env": own}, text, strength.env)
    made = [p.name for p in (folder / "home").glob("loaded*")]
    check("variables that the loader obeys", "files a=b [] []" in out and not made, repr((made, out))[-700:])


RACE = """
import os, tempfile
import pdl.pdl as P
folder = tempfile.mkdtemp()
link, other = os.path.join(folder, 'link'), os.path.join(folder, 'other')
child = os.fork()
while child == 0:
    for to in (%r, %r):
        os.symlink(to, other)
        os.rename(other, link)
seen = set()
for i in range(%d):
    try: seen.add(str(P.exec_str(('read: ' if i %% 2 else 'include: ') + link)).strip())
    except BaseException: pass
os.kill(child, 9)
result = sorted(s for s in seen if s in ('secret', 'public'))
"""


def test_a_link_that_is_exchanged(pdl, folder, strength, scale):
    """A link that code exchanges while the engine reads for it: what was judged is what is read. Where /tmp of the code is no part of what the engine
    sees, nothing is found."""
    lay_out(folder)
    (folder / "prog/public.pdl").write_text("public\n")
    code = RACE % (f"{folder}/prog/public.pdl", f"{folder}/home/s.txt", scale(8000) if strength.name == "process" else 50)
    out = said(pdl, folder, ["--sandbox"] + strength.more, python(code), strength.env)
    check("a link that is exchanged", out.startswith("[") and '"secret"' not in out, repr(out)[-500:])


def test_the_helper_ends_as_its_command(pdl, folder, strength):
    """Also when it is built with sanitizers, whose handlers of the exit count what it still holds."""
    for status in (0, 3):
        r = kit.run([pdl, "sandbox", *strength.more, "--", "sh", "-c", f"exit {status}"], folder, strength.env)
        check(f"status {status} of a command", r.returncode == status, f"{r.returncode} {r.stderr[-500:]}")


def begun_in(folder):
    """Processes of helpers that were begun there: their first argument names it."""
    found = subprocess.run(["pgrep", "-f", f"__confine .*{folder}"], capture_output=True, text=True, check=False).stdout.split()
    return [p for p in found if int(p) != os.getpid()]


def test_nothing_stays_of_short_commands(pdl, folder, full, scale):
    """Commands that end before the network inside has begun: none of the processes of the helper outlives them."""
    (folder / "net.yaml").write_text("net: ['*.example.org']\n")
    argv, env = [pdl, "sandbox", "--sandbox=net.yaml", *full.more, "--", "true"], environment(full.env)
    for _ in range(scale(20)):
        many = [subprocess.Popen(argv, cwd=folder, env=env, stderr=subprocess.DEVNULL) for _ in range(12)]
        ended = [p.wait() for p in many]
    end = time.monotonic() + 10
    while begun_in(folder) and time.monotonic() < end:
        time.sleep(0.05)
    left = begun_in(folder)
    check("nothing stays of short commands", ended == [0] * 12 and not left, f"{ended} {len(left)} processes")
    for p in left:
        os.kill(int(p), signal.SIGKILL)


AT_HOME = {"p": "not found", "lib/../p": "not found", "lib/shared": "secret"}


@in_pairs(AT_HOME)
def test_installed_at_home(pdl, folder, row, strength):
    """The command in ~/bin: its library is looked for in ~/lib, and nothing else of the home folder is a library."""
    lay_out(folder)
    for name in ("bin", "lib"):
        (folder / "home" / name).mkdir()
    shutil.copy(pdl, folder / "home/bin/pdl")
    shutil.copy(folder / "home/p.pdl", folder / "home/lib/shared.pdl")
    want = AT_HOME[row]
    out = said(folder / "home/bin/pdl", folder, ["--sandbox"] + strength.more, program(f"include: {folder}/home/{row}.pdl"), strength.env)
    check(f"the command is in ~/bin, {row}", want in out and (want == "secret" or "secret" not in out), repr(out)[-700:])


def deep(top, name, n):
    """A folder n deep, made step by step: its path may be longer than a call takes."""
    at = os.open(top, os.O_RDONLY)
    for _ in range(n):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    return at


# name of the folders, how many deep, how many hidden files, what is said
LOOKED_THROUGH = {"forty deep": ("d", 40, 0, "K=\n"), "a path that is too long": ("d" * 200, 30, 0, "is too long"), "five thousand keys": ("d", 1, 5000, "K=\n")}


@in_pairs(LOOKED_THROUGH)
def test_folders_that_are_looked_through(pdl, folder, row, strength):
    """What is looked through for keys before the first confined command."""
    name, n, hidden, want = LOOKED_THROUGH[row]
    at = deep(folder, name, n)
    with os.fdopen(os.open(".env", os.O_WRONLY | os.O_CREAT, dir_fd=at), "w") as f:
        f.write("secret")
    for i in range(hidden):  # names of one file, which cost less than as many files
        os.link(".env", f".env.{i}", src_dir_fd=at, dst_dir_fd=at)
    os.close(at)
    (folder / "p.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", "echo K=$(find . -name .env -exec cat {} +)"]}))
    r = kit.run([pdl, "--sandbox", *strength.more, "p.pdl"], folder, strength.env)
    check(row, want in r.stdout + r.stderr and "secret" not in r.stdout, (r.stdout + r.stderr)[-300:])
