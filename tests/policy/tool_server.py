# SPDX-License-Identifier: Apache-2.0
"""tool_server.py -- the text of a tool server for tests of policies: a program in Python that speaks MCP over its standard input and output."""
import json
import sys

TEXT = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": TOOLS}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": ANSWER}]}
    elif m["method"] == "other":
        r = {"got": m["params"]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def text(tools, answer):
    """tools: the list that the server gives; answer: of a call. Both are expressions of the program, in which m is the request."""
    return TEXT.replace("TOOLS", tools).replace("ANSWER", answer)


def config(name="s", file="server.py"):
    """The text of a file of servers that has this one, which needs no packages and starts without looking for them."""
    return json.dumps({"mcpServers": {name: {"command": sys.executable, "args": ["-I", "-S", file]}}})
