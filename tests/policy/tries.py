# SPDX-License-Identifier: Apache-2.0
"""tries.py -- the helper of tests of policies that runs one program in a separate folder, with tool servers that note each call, and returns the
outcome."""
import json
import os
import subprocess
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parent.parent.parent
SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": TOOLS}
    elif m["method"] == "tools/call":
        name, given = m["params"]["name"], m["params"].get("arguments", {})
        with open(CALLS, "a") as f:
            f.write(name + " " + json.dumps(given, sort_keys=True) + "\\n")
        r = {"content": [{"type": "text", "text": ANSWERS.get(name, "done")}]}
    elif "id" in m:
        r = {"got": m["params"]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def tool(name, *arguments):
    """The definition of a tool with text arguments, none of which is required."""
    return {"name": name, "description": "does " + name, "inputSchema": {"type": "object", "properties": {a: {"type": "string"} for a in arguments}}}


def servers(folder, **tools):
    """Writes servers by name, each with a list of tools and what they answer, and the configuration that names them."""
    config = {}
    for name, (definitions, answers) in tools.items():
        text = SERVER.replace("TOOLS", repr(definitions)).replace("ANSWERS", repr(answers)).replace("CALLS", repr(str(Path(folder, name + ".calls"))))
        Path(folder, name + ".py").write_text(text)
        config[name] = {"command": sys.executable, "args": ["-I", "-S", name + ".py"]}
    Path(folder, "mcp.json").write_text(json.dumps({"mcpServers": config}))


def calls(folder, server):
    """The calls that reached a server, a line each; they are forgotten."""
    path = Path(folder, server + ".calls")
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    return text.splitlines()


def run(pdl, folder, program, *args, policy=None, files=None, text=None, env=None, limit=60):
    """(standard output, standard error) of a program, an object or a text. policy: a name, or an object that becomes a file."""
    for name, content in (files or {}).items():
        Path(folder, name).write_text(content)
    if isinstance(policy, dict):
        Path(folder, "p.yaml").write_text(json.dumps({"policy": 1, **policy}))
    given = [] if policy is None else ["--policy", "p.yaml" if isinstance(policy, dict) else policy]
    Path(folder, "a.pdl").write_text(program if isinstance(program, str) else json.dumps(program))
    own = {**os.environ, "HOME": str(folder), "PDL_MCP_CONFIG": "mcp.json", "OPENAI_API_KEY": "k", "PDL_PATH": str(LIBRARY), **(env or {})}
    p = subprocess.run([pdl, "--stream", "none", *given, *args, "a.pdl"], cwd=folder, env=own, capture_output=True, text=True, timeout=limit,
                       stdin=None if text is not None else subprocess.DEVNULL, input=text, start_new_session=True)
    return p.stdout, p.stderr
