# SPDX-License-Identifier: Apache-2.0
"""The helper of tests of policies that finds the origins of values. It reads them in the trace, from the decision of a policy on the endorsement of
each block."""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path


def decisions(node, out):
    if isinstance(node, dict):
        for d in node.get("pdl__decisions", []):
            if d["sink"] == "endorse":
                args = {a["name"]: a for a in d["arguments"]}
                out[json.loads(args["why"]["text"])] = args["value"]["origins"]
        for v in node.values():
            decisions(v, out)
    elif isinstance(node, list):
        for v in node:
            decisions(v, out)
    return out


def origins(pdl, sources, files, samples, labels, more=()):
    """name -> origins of the value of its block, or what was wrong. sources: name -> text of a file and a parser, each read into a variable;
    more: pairs of a variable and the block that makes it of these."""
    with tempfile.TemporaryDirectory() as d:
        defs = {}
        for name, (text, parser) in sources.items():
            Path(d, name).write_text(text)
            defs[name] = {"read": name, **({"parser": parser} if parser else {})}
        for name, text in files.items():
            Path(d, name).write_text(text)
        Path(d, "p.yaml").write_text("policy: 1\notherwise: allow\n")
        blocks = [{"lastOf": [b], "endorse": {"labels": labels, "why": name}, "fallback": "failed: %s: ${ pdl_error.message }\n" % name.replace("${", "$ {")} for name, b in samples.items()]
        Path(d, "a.pdl").write_text(json.dumps({"defs": {**defs, **dict(more)}, "text": blocks}))
        p = subprocess.run([pdl, "--stream", "none", "--policy", "p.yaml", "--trace", "t.json", "a.pdl"], cwd=d, capture_output=True, text=True, timeout=300, input="typed\n",
                           env={**os.environ, "OPENAI_API_KEY": "k"})
        if p.returncode:
            return {}, p.stderr
        return decisions(json.loads(Path(d, "t.json").read_text()), {}), "\n".join(re.findall(r"failed: .*", p.stdout))
