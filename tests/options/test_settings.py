# SPDX-License-Identifier: Apache-2.0
"""A variable of the environment that names a missing file ends a run with a message that names the variable, and has no other effect.

Commands that run no program still work, and the server for editors starts.
"""
import json
import os
import subprocess

import pytest

from ..checks import check

NAMES = ("PDL_PRICES", "PDL_POLICY", "PDL_SANDBOX")


def said(pdl, folder, name, *args, stdin=b""):
    r = subprocess.run([pdl, *args], cwd=folder, input=stdin, capture_output=True, timeout=60, check=False, env={**os.environ, name: "nothing.yaml"})
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def message(**body):
    text = json.dumps({"jsonrpc": "2.0", **body}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(text) + text


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_that_names_no_file(pdl, folder, name):
    (folder / "a.pdl").write_text("text: a\n")
    (folder / "p.yaml").write_text("policy: 1\nrules: []\n")
    for args in (["a.pdl"], ["serve", "a.pdl", "--port", "0"], ["test", "a.pdl"]):
        code, out, err = said(pdl, folder, name, *args)
        check("%s: %s" % (name, args), code == 2 and not out and "nothing.yaml" in err and name in err, code, out, err)
    text = [["fmt", "--check", "a.pdl"], ["dump", "a.pdl"], ["policy", "show", "careful"], ["policy", "check", "p.yaml"]]
    if name != "PDL_POLICY":
        text += [["check", "a.pdl"]]
    for args in text:
        code, _, err = said(pdl, folder, name, *args)
        check("%s: %s" % (name, args), code == 0 and not err, code, err)
    code, _, err = said(pdl, folder, name, "check", "a.pdl")
    check("check, %s" % name, (code == 2 and name in err) if name == "PDL_POLICY" else not code, code, err)
    code, out, _ = said(pdl, folder, name, "doctor")
    check("doctor, %s" % name, code == 1 and name in out and "libcurl" in out, code, out)


@pytest.mark.parametrize("name", NAMES)
def test_the_language_server_starts(pdl, folder, name):
    talk = message(id=1, method="initialize", params={"capabilities": {}}) + message(method="initialized", params={})
    talk += message(id=2, method="shutdown") + message(method="exit")
    code, out, err = said(pdl, folder, name, "lsp", stdin=talk)
    check("lsp, %s" % name, code == 0 and '"serverInfo"' in out and not err, code, out, err)
    check("what is missing is said", ("prices of models are not shown" in out) == (name == "PDL_PRICES"), out)


@pytest.mark.parametrize("name", NAMES)
def test_the_debugger_says_it_at_launch(pdl, folder, name):
    (folder / "a.pdl").write_text("text: a\n")
    launch = {"program": str(folder / "a.pdl"), "noDebug": True}
    talk = message(seq=1, type="request", command="initialize", arguments={"adapterID": "pdl"})
    talk += message(seq=2, type="request", command="launch", arguments=launch) + message(seq=3, type="request", command="configurationDone")
    talk += message(seq=4, type="request", command="disconnect")
    code, out, _ = said(pdl, folder, name, "dap", stdin=talk)
    check("dap, %s" % name, code == 0 and "supportsConfigurationDoneRequest" in out and "nothing.yaml" in out, code, out)


WRONG = (
    ("PDL_TIMEOUT", "soon", "list of time limits"), ("PDL_CODE_TIMEOUT", "soon", "a number of seconds"), ("PDL_CODE_MEMORY", "-1", "a number of megabytes"),
    ("PDL_OTLP", "perhaps", "expected 1 or 0"), ("PDL_DEBUG", "everything", "unknown category"), ("PDL_RULES", "x", "NAME=LEVEL"),
)


@pytest.mark.parametrize("name,value,says", WRONG, ids=[w[0] for w in WRONG])
def test_a_setting_with_a_wrong_value(pdl, folder, name, value, says):
    (folder / "a.pdl").write_text("text: a\n")
    r = subprocess.run([pdl, "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, name: value})
    check(name, r.returncode == 2 and not r.stdout and says in r.stderr, r)
    if name not in ("PDL_DEBUG", "PDL_RULES", "PDL_OTLP"):
        r = subprocess.run([pdl, "dump", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, name: value})
        check("text is shown: " + name, r.returncode == 0 and not r.stderr, r)


def test_settings_that_a_run_needs_later(pdl, folder):
    (folder / "tool.pdl").write_text("import: mcp:x\n")
    (folder / "code.pdl").write_text("lang: python\ncode: result = 1\n")
    (folder / "model.pdl").write_text("model: openai/m\ninput: x\n")
    (folder / "a.pdl").write_text("text: a\n")
    rows = ((["tool.pdl"], {"PDL_MCP_CONFIG": "nothing.json"}, 2, "PDL_MCP_CONFIG"), (["code.pdl"], {"PDL_PYTHON": "/no/python"}, 1, "PDL_PYTHON names it"),
            (["model.pdl"], {"OPENAI_API_KEY": "k", "OPENAI_TIMEOUT": "soon"}, 1, "OPENAI_TIMEOUT: 'soon' is not"),
            (["--durable", "a.pdl"], {"PDL_RUNS": "a.pdl"}, 2, "PDL_RUNS in the environment"), (["runs"], {"PDL_RUNS": "a.pdl"}, 2, "PDL_RUNS in the environment"))
    for args, env, code, says in rows:
        r = subprocess.run([pdl, *args], cwd=folder, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env})
        check("%s %s" % (args, env), r.returncode == code and not r.stdout and says in r.stderr, r)
