# SPDX-License-Identifier: Apache-2.0
"""pdl pack: the content of the file, what the file does, and that it does nothing when its bytes were changed."""
import http.client
import json
import os
import re
import shutil
import subprocess

from ..checks import check
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")
TAIL = 64
PROGRAM = """defs:
  m: {import: sub/mod}
  a: {import: lib/answer}
text:
- "hello ${ m.x } ${ pdl_args|length } ${ z|default('-') }\\n"
- {include: sub/inc.pdl}
"""
FILES = {"agent.pdl": PROGRAM, "sub/mod.pdl": "defs:\n  x: {data: 42}\n", "sub/inc.pdl": "text:\n- {include: deeper.pdl}\n", "sub/deeper.pdl": "text: included\n"}
SAYS = "hello 42 0 -\nincluded\n"


def files(folder, more=()):
    for name, text in {**FILES, **dict(more)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def run(*argv, cwd=None, **env):
    return subprocess.run([str(a) for a in argv], cwd=cwd, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=60, check=False)


def pack(folder, program="agent.pdl", out="agent", *more, cwd=None):
    return run(PDL, "pack", program, "-o", folder / out, "--command", PDL, *more, cwd=cwd or folder)


def test_runs(tmp_path):
    files(tmp_path / "made")
    p = pack(tmp_path / "made", "agent.pdl", "../agent")
    check("it is packed", p.returncode == 0, p.stderr)
    check("a command with libraries is said", "libraries" in p.stderr, p.stderr)
    agent = tmp_path / "agent"
    for cwd in (tmp_path, "/"):
        p = run(agent, cwd=cwd)
        check("it runs in %s" % cwd, (p.returncode, p.stdout.strip(), p.stderr) == (0, SAYS.strip(), ""), p)
    p = run(agent, "-d", "z=7", "one", "two")
    check("it takes the options and operands of a run", p.stdout.startswith("hello 42 2 7"), p)
    p = run(agent, "--nonsense")
    check("a wrong option is refused", p.returncode == 2 and "nonsense" in p.stderr, p)
    p = run(agent, "--help")
    check("it has help, which says how it is served", p.returncode == 0 and "usage: pdl" in p.stdout and "takes no FILE" in p.stdout, p)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mod.pdl").write_text("defs:\n  x: {data: other}\n")
    check("files beside it do not replace its parts", run(agent, cwd=tmp_path).stdout.startswith("hello 42"), "")
    os.symlink(agent, tmp_path / "link")
    check("it runs through a link", run(tmp_path / "link").stdout.startswith("hello 42"), "")
    p = run("sh", "-c", "PATH=%s; agent" % tmp_path)
    check("it runs from PATH", p.stdout.startswith("hello 42"), p)


def test_same_bytes(tmp_path):
    for name in ("a", "b"):
        files(tmp_path / name)
        pack(tmp_path / name, "agent.pdl", "../agent-" + name)
    a, b = ((tmp_path / ("agent-" + n)).read_bytes() for n in "ab")
    check("two packs are the same bytes", a == b, "they differ")
    files(tmp_path, {"agent.pdl": "text: other\n"})
    pack(tmp_path, "agent.pdl", "agent-c")
    check("another program is another file", (tmp_path / "agent-c").read_bytes() != a, "the same")
    check("others can read and start it", (tmp_path / "agent-c").stat().st_mode & 0o777 == 0o755, oct((tmp_path / "agent-c").stat().st_mode))


def test_changed(tmp_path):
    files(tmp_path)
    pack(tmp_path)
    whole = (tmp_path / "agent").read_bytes()
    begin = os.path.getsize(PDL)
    parts = len(whole) - begin
    changes = {"a byte at %d" % i: whole[:begin + i] + bytes([whole[begin + i] ^ 1]) + whole[begin + i + 1:] for i in range(0, parts, max(1, parts // 40))}
    changes.update({"no last byte": whole[:-1], "no tail": whole[:-TAIL], "no parts": whole[:begin], "a byte more": whole + b"x", "a tail more": whole + whole[-TAIL:],
                    "a number that is too large": whole[:-TAIL + 16] + b"\xff" * 16 + whole[-32:], "no tail but zeros": whole[:-TAIL] + bytes(TAIL),
                    "two parts exchanged": whole[:begin] + whole[begin:-TAIL].replace(b"x: {data: 42}", b"x: {data: 43}") + whole[-TAIL:]})
    bad = tmp_path / "bad"
    for name, text in changes.items():
        bad.write_bytes(text)
        bad.chmod(0o755)
        p = run(bad)
        check("refused: " + name, p.returncode == 1 and p.stdout == "" and "is not what `pdl pack` wrote" in p.stderr, (p.returncode, p.stdout, p.stderr[-300:]))
    p = run(bad, "--serve")
    check("also when it would serve", p.returncode == 1, p)


def test_refused(tmp_path):
    files(tmp_path)
    pack(tmp_path)
    (tmp_path / "text").write_text("no command")
    (tmp_path / "broken.pdl").write_text("text:\n- {include: nothing.pdl}\n")
    for title, argv, code, word in (
            ("a packed command", ["agent.pdl", "-o", "x", "--command", "agent"], 2, "packed itself"), ("no command", ["agent.pdl", "-o", "x", "--command", "text"], 2, "no command pdl"),
            ("a missing command", ["agent.pdl", "-o", "x", "--command", "none"], 2, "none"), ("a missing program", ["none.pdl", "--command", PDL], 2, "none.pdl"),
            ("no program", [], 2, "FILE"), ("standard input", ["-", "-o", "x"], 2, "standard input"), ("a program with errors", ["broken.pdl", "-o", "x", "--command", PDL], 1, "nothing.pdl"),
            ("a recording that is none", ["agent.pdl", "-o", "x", "--command", PDL, "--replay", "text"], 2, "'text' is no recording"),
            ("a folder that is not there", ["agent.pdl", "-o", "none/x", "--command", PDL], 2, "none")):
        p = run(PDL, "pack", *argv, cwd=tmp_path)
        check("%s: exit code %d" % (title, code), p.returncode == code and word in p.stderr, (p.returncode, p.stderr))
        check("%s: nothing is written" % title, not (tmp_path / "x").exists(), "there is a file")
    if not os.path.exists(os.path.join(os.path.dirname(PDL), "pdl-static")):
        p = run(PDL, "pack", "agent.pdl", "-o", "x", cwd=tmp_path)
        check("without a static command", p.returncode == 2 and "--command" in p.stderr, p)


def test_result_over_what_is_packed(tmp_path):
    """A module, a policy, the recording and the command may be the only copies that a user has."""
    files(tmp_path, {"mine.yaml": "policy: 1\n"})
    shutil.copy(PDL, tmp_path / "pdl-copy")
    run(PDL, "--record", "a.journal", "agent.pdl", cwd=tmp_path)
    for name in ("agent.pdl", "sub/mod.pdl", "sub/deeper.pdl", "mine.yaml", "a.journal", "pdl-copy"):
        before = (tmp_path / name).read_bytes()
        p = run(PDL, "pack", "agent.pdl", "-o", name, "--command", "pdl-copy", "--policy", "mine.yaml", "--replay", "a.journal", cwd=tmp_path)
        check("%s is not replaced" % name, (p.returncode, (tmp_path / name).read_bytes()) == (2, before) and ("is what is packed" if name.startswith("sub/") else "would be overwritten") in p.stderr, p)


def test_name_of_the_result(tmp_path):
    files(tmp_path)
    p = run(PDL, "pack", "agent.pdl", "--command", PDL, cwd=tmp_path)
    check("the name without .pdl", p.returncode == 0 and (tmp_path / "agent").exists(), p)
    (tmp_path / "run").write_text("text: short\n")
    p = run(PDL, "pack", "./run", "--command", PDL, cwd=tmp_path)
    check("a program is not overwritten by its own command", p.returncode == 2 and (tmp_path / "run").read_text() == "text: short\n", p)


def test_policy_and_lock(tmp_path):
    """The policy, its lock file and a built-in policy come from the file, wherever it runs."""
    (tmp_path / "made" / "pol").mkdir(parents=True)
    files(tmp_path / "made", {"p.pdl": "defs:\n  t: {function: {x: string}, return: {lang: command, code: \"echo ${ x }\"}}\ntext:\n- {call: \"${ t }\", args: {x: \"${ z }\"}}\n"})
    (tmp_path / "made" / "pol" / "mine.yaml").write_text("policy: 1\nrules:\n- {sink: command, allow: [bounded]}\n")
    p = run(PDL, "p.pdl", "-d", "z=hi", "--policy", "pol/mine.yaml", cwd=tmp_path / "made")
    wanted = (p.returncode, re.sub(r"\S*pol/mine.yaml", "mine.yaml", p.stderr.replace(str(tmp_path / "made") + "/", "")))
    p = pack(tmp_path / "made", "p.pdl", "../agent", "--policy", "pol/mine.yaml")
    check("it is packed with a policy", p.returncode == 0, p.stderr)
    p = run(tmp_path / "agent", "-d", "z=hi", cwd="/")
    check("it refuses", p.returncode == 1 and wanted[0] == 1, p)
    found = (p.returncode, re.sub(r"\S*pol/mine.yaml", "mine.yaml", p.stderr.replace(str(tmp_path) + "/", "")))
    check("the policy holds in it", found == wanted, wanted, found)
    p = pack(tmp_path / "made", "p.pdl", "../strict", "--policy", "strict")
    check("it is packed with a built-in policy", p.returncode == 0 and b"@lib/lib/policies/strict.yaml" in (tmp_path / "strict").read_bytes(), p.stderr)
    outside = run(PDL, "p.pdl", "-d", "z=hi", "--policy", "strict", cwd=tmp_path / "made")
    p = run(tmp_path / "strict", "-d", "z=hi", cwd="/")
    check("the built-in policy holds in it", p.returncode == outside.returncode, outside, p)


def test_recording(tmp_path):
    files(tmp_path, {"p.pdl": "text:\n- {lang: command, code: 'date +%N'}\n"})
    first = run(PDL, "--record", "r.db", "p.pdl", cwd=tmp_path)
    p = pack(tmp_path, "p.pdl", "agent", "--replay", "r.db")
    check("it is packed with a recording", p.returncode == 0 and first.stdout.strip().isdigit(), p.stderr)
    check("which needs no commands", "the commands" not in p.stderr and "2 parts" in p.stderr, p.stderr)
    (tmp_path / "r.db").unlink()
    p = run(tmp_path / "agent", cwd="/")
    check("it answers from the recording", (p.returncode, p.stdout) == (0, first.stdout), first, p)
    for way in ("--serve", "--mcp"):  # a request is another run, which would ask the world
        p = run(tmp_path / "agent", way)
        check("%s of one run is refused" % way, (p.returncode, p.stdout) == (2, "") and way in p.stderr and "recording" in p.stderr, p)


def test_needs(tmp_path):
    for code, word in (("{lang: python, code: result = 1}", "a Python"), ("{lang: command, code: ls}", "the commands"), ("{args: [ls]}", "the commands"),
                       ("{read: note.txt}", "the files"), ("{read: null}", None), ("{lang: jinja, code: a}", None)):
        files(tmp_path, {"p.pdl": "text:\n- %s\n" % code})
        p = pack(tmp_path, "p.pdl")
        said = re.findall(r"there must be (a Python|the commands|the files)", p.stderr)
        check(code, said == ([word] if word else []), p.stderr)
    files(tmp_path, {"p.pdl": "text:\n- {include: sub/code.pdl}\n", "sub/code.pdl": "text:\n- {code: result = 1, lang: python}\n"})
    check("code in a module", "a Python" in pack(tmp_path, "p.pdl").stderr, "not said")


def test_serve(tmp_path):
    files(tmp_path, {"p.pdl": "text: \"served ${ z|default(1) }\"\n"})
    pack(tmp_path, "p.pdl")
    p = subprocess.Popen([tmp_path / "agent", "--serve", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        port = next(int(m.group(1)) for m in (re.search(r":(\d+)/v1", line) for line in p.stderr) if m)
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        c.request("GET", "/v1/models")
        names = [m["id"] for m in json.loads(c.getresponse().read())["data"]]
        c.request("POST", "/v1/chat/completions", json.dumps({"model": names[0], "messages": [{"role": "user", "content": "x"}]}))
        said = json.loads(c.getresponse().read())
        check("it serves its program", names == ["p"] and said["choices"][0]["message"]["content"] == "served 1", names, said)
    finally:
        p.terminate()
        p.wait(20)


def test_tool(tmp_path):
    files(tmp_path, {"p.pdl": "description: says it\ntext: served\n"})
    pack(tmp_path, "p.pdl")
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    p = subprocess.run([tmp_path / "agent", "--mcp"], input="".join(json.dumps(x) + "\n" for x in lines), capture_output=True, text=True, timeout=30, check=False)
    tools = [t["name"] for line in p.stdout.splitlines() for t in json.loads(line).get("result", {}).get("tools", [])]
    check("it offers its program as a tool", tools == ["p"], p)
