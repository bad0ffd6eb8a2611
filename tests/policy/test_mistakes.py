"""Rules and sources that no value can ever meet are mistakes of a policy. Also the policies of `pdl repl` and `pdl test`.
SPDX-License-Identifier: Apache-2.0
"""
import json
import subprocess

from ..checks import check

NOTHING = [
    "rules: [{sink: tool mail, allow: []}]", "rules: [{sink: tool mail/, allow: []}]", "rules: [{sink: tool /send, allow: []}]", "rules: [{sink: 'tool \"\"', allow: []}]",
    "rules: [{sink: model, model: '', allow: []}]", "rules: [{sink: code perl, allow: []}]", "rules: [{sink: code object, argument: foo, allow: []}]",
    "rules: [{sink: command rm -rf, allow: []}]", "rules: [{sink: command, argument: '01', allow: []}]", "rules: [{sink: 'url https://a.b/c', allow: []}]",
    "rules: [{sink: url, argument: host, matches: 'https://*', allow: []}]", "labels: {s: [{read: ''}]}", "labels: {s: [{tool: x}]}", "labels: {s: [{code: perl}]}",
    "labels: {s: [{command: /bin/ls -l}]}", "trusted: [{tool: mail}]", "read_only: [{tool: mail}]",
]
SOMETHING = [
    "rules: [{sink: tool '*', allow: []}]", "rules: [{sink: tool */read*, allow: []}]", "rules: [{sink: code pyth*, allow: []}]", "rules: [{sink: code ipython, allow: []}]",
    "rules: [{sink: code object, argument: kwargs, allow: []}]", "rules: [{sink: command /usr/bin/my tool, allow: []}]", "rules: [{sink: command, argument: '10', allow: []}]",
    "rules: [{sink: command, argument: 0, allow: []}]", "rules: [{sink: url *.example.org, allow: []}]", "rules: [{sink: url, argument: host, matches: '*.example.org', allow: []}]",
    "rules: [{sink: model ollama/*, allow: []}]", "labels: {s: [{read: 'a/**'}, {tool: 'x/*'}, {code: python}, {command: ls}]}",
]


def test_what_fits_nothing(build, tmp_path):
    for rows, status in ((NOTHING, 1), (SOMETHING, 0)):
        for row in rows:
            (tmp_path / "p.yaml").write_text("policy: 1\n%s\notherwise: allow\n" % row)
            p = subprocess.run([build / "pdl", "policy", "check", "p.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
            check(row, p.returncode == status and ("p.yaml:2 - " in p.stderr) == bool(status), (p.returncode, p.stdout, p.stderr))


def test_repl_and_test_take_policies(build, tmp_path):
    (tmp_path / "mail").write_text("evil")
    (tmp_path / "a.pdl").write_text(json.dumps({"text": [{"def": "m", "read": "./mail", "contribute": []}, {"args": ["echo", "did ${ m }"]}]}))
    (tmp_path / "a.test.yaml").write_text(json.dumps({"tests": [{"name": "one", "expect": {"contains": ["did evil"]}}]}))
    entries = "def: m\nread: ./mail\n\nargs: [echo, 'did ${ m }']\n\n:quit\n"
    for argv, text in ((["repl"], entries), (["test", "a.pdl"], "")):
        for options, passes in (([], True), (["--policy", "careful"], False), (["--policy=default"], True)):
            p = subprocess.run([build / "pdl", *argv, *options], cwd=tmp_path, input=text, capture_output=True, text=True, timeout=60, check=False)
            out = p.stdout + p.stderr
            check("%s %s" % (argv, options), ("policy careful" not in out) == passes and (("did evil" in out or "1 passed" in out) if passes else "refuses argument" in out), out)
