# SPDX-License-Identifier: Apache-2.0
"""A value that a policy redacts in the output is not in the answers for rows of a batch, questions of an evaluation and requests of a server,
either."""
import http.client
import json
import os
import re
import signal
import subprocess

import pytest

from ..checks import check
from ..http_of import Plain, answer

POLICY = {"policy": 1, "labels": {"secret": [{"read": "note"}]}, "rules": [{"sink": "output", "deny": ["secret"]}], "otherwise": "allow"}
PROGRAMS = {
    "text": 'text: ["a ", {read: note}]', "object": 'lastOf: [{def: x, read: note, contribute: []}, {data: {k: "${ x }", n: 1}}]',
    "error": 'lastOf: [{def: x, read: note, contribute: []}, "${ stdlib.fail(x) }"]', "message": 'lastOf: [{def: x, read: note, contribute: []}, {role: assistant, content: "${ x }"}]',
    "model": 'lastOf: [{def: x, read: note, contribute: []}, {model: openai/x, input: "${ x }", parameters: {mock_response: HIDDEN, num_retries: 0}}]',
}
ASKED = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}), "stream": ("/v1/chat/completions", {"stream": True, "messages": [{"role": "user", "content": "x"}]}),
    "responses": ("/v1/responses", {"model": "a", "input": "x"}), "streamed responses": ("/v1/responses", {"model": "a", "input": "x", "stream": True}),
    "completions": ("/v1/completions", {"model": "a", "prompt": "x"}),
    "tool": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {"question": "x"}}}),
}


def asked(pdl, d, env, *more):
    p = subprocess.Popen([pdl, "serve", "--port", "0", "--log", "log", *more, "a.pdl"], cwd=d, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        port = int(re.search(r"http://[^ ]*?:(\d+)", p.stderr.readline()).group(1))
        for name, (path, body) in ASKED.items():
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            c.request("POST", path, json.dumps(body), {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
            yield name, c.getresponse().read().decode()
    finally:
        p.send_signal(signal.SIGTERM)
        yield "standard streams", "".join(p.communicate(timeout=60))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden"])
def test_rows_questions_and_requests(pdl, folder, name, hidden):
    (folder / "a.pdl").write_text(PROGRAMS[name] + "\n")
    (folder / "note").write_text("HIDDEN")
    (folder / "p.yaml").write_text(json.dumps(POLICY))
    (folder / "in.jsonl").write_text('{"n": 1, "answer": "x"}\n')
    env = {**os.environ, "HOME": str(folder), "PDL_POLICY": "p.yaml" if hidden else "default"}
    for args in (("batch", "--input", "in.jsonl", "--output", "out", "--format", "jsonl", "--report", "report.json"),
                 ("eval", "--input", "in.jsonl", "--expect", "answer", "-o", "out", "--junit", "xml")):
        subprocess.run([pdl, *args, "a.pdl"], cwd=folder, env=env, capture_output=True, timeout=60, check=False)
        out = b"".join(f.read_bytes() for f in folder.iterdir() if f.is_file() and f.name not in ("a.pdl", "note", "p.yaml"))
        check("%s, %s, %s" % (args[0], name, hidden), (b"HIDDEN" in out) != hidden and (b"secret" in out) == hidden, out)
        for f in folder.glob("out*"):
            f.unlink()
    for way, answer in asked(pdl, folder, env):
        right = ("HID" in answer) != hidden and (not hidden or "secret" in answer) if way != "standard streams" else "HID" not in answer
        check("%s, %s, %s" % (way, name, hidden), right, answer)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden"])
def test_tests_inferences_and_entries(pdl, folder, name, hidden):
    (folder / "a.pdl").write_text(PROGRAMS[name] + "\n")
    (folder / "note").write_text("HIDDEN")
    (folder / "p.yaml").write_text(json.dumps(POLICY))
    tests = [{"name": "t", "replies": ["HIDDEN"], "expect": {"result": "another", "output": "another"}}, {"name": "e", "replies": ["HIDDEN"], "expect": {"error": "another"}}]
    (folder / "a.test.yaml").write_text(json.dumps({"tests": tests}))
    env = {**os.environ, "HOME": str(folder), "PDL_POLICY": "p.yaml" if hidden else "default", "OPENAI_API_KEY": "k"}
    for args, text in ((("test", "--junit", "junit"), ""), (("infer", "-n", "2", "--json", "a.pdl"), ""), (("infer", "-n", "2", "--on-error", "drop", "a.pdl"), ""),
                       (("repl",), PROGRAMS[name] + "\n\n" + "{read: note, def: y}\n\n:vars\n\n:context\n\n")):
        if args[0] == "infer" and name == "message":
            continue  # particles give data
        p = subprocess.run([pdl, *args], cwd=folder, env=env, input=text, capture_output=True, text=True, timeout=60, check=False)
        out = p.stdout + p.stderr + ((folder / "junit").read_text() if "--junit" in args else "")
        check("%s, %s, %s" % (args[0], name, hidden), ("HIDDEN" in out) != hidden and ("secret" in out) == hidden, out)


def test_a_batch_that_keeps(pdl, folder):
    (folder / "a.pdl").write_text(PROGRAMS["model"].replace("HIDDEN", "ok") + "\n")
    (folder / "note").write_text("HIDDEN")
    (folder / "in.jsonl").write_text('{"n": 1}\n')
    for sinks in (["output", "journal"], ["output"]):
        (folder / "p.yaml").write_text(json.dumps({**POLICY, "rules": [{"sink": s, "deny": ["secret"]} for s in sinks]}))
        subprocess.run([pdl, "batch", "--keep", "--policy", "p.yaml", "--input", "in.jsonl", "--output", "out.jsonl", "--overwrite", "a.pdl"], cwd=folder, capture_output=True,
                       timeout=60, check=False)
        kept = (folder / "out.jsonl.journal").read_bytes()
        check("--keep, %s" % sinks, (b"HIDDEN" in kept) == (sinks == ["output"]), kept)


def test_errors_in_a_recording(pdl, folder):
    """The facts of an error name models, and have what services said to each attempt."""
    (folder / "note").write_text("HIDDEN")
    (folder / "p.yaml").write_text(json.dumps({**POLICY, "rules": [{"sink": "journal", "deny": ["secret"]}]}))
    for name, more in (("attempts", {"fallbacks": ["openai/${ x }"]}), ("a service", {"fallbacks": ["${ x }/m"]})):
        block = {"model": "openai/m", "input": "${ x }", "fallback": "${ pdl_error.kind }", "parameters": {"api_base": "http://127.0.0.1:9", "api_key": "k", "num_retries": 0, **more}}
        (folder / "a.pdl").write_text(json.dumps({"lastOf": [{"def": "x", "read": "note", "contribute": []}, block]}))
        (folder / "j").unlink(missing_ok=True)
        p = subprocess.run([pdl, "--policy", "p.yaml", "--record", "j", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        kept = (folder / "j").read_bytes()
        check(name, p.returncode == 0 and b"HIDDEN" not in kept and b"secret" in kept, p.stdout, p.stderr)
        again = subprocess.run([pdl, "--policy", "p.yaml", "--replay", "j", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        check(name + ": replayed", again.stdout == p.stdout, again.stdout, again.stderr)


@pytest.mark.parametrize("sink", ["trace", "output", "journal"])
def test_the_log_of_requests(pdl, folder, sink):
    """The log of --wire is of what a collector may see: a call that holds a hidden label is in it by its name alone, other calls as they are."""
    def exchange(head, body, send):
        said = "echo " + json.loads(body)["messages"][0]["content"]
        send(answer(json.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}).encode()))
        return True
    rule = {**POLICY, "rules": [{"sink": sink, "deny": ["secret"]}]}
    (folder / "p.yaml").write_text(json.dumps(rule))
    (folder / "note").write_text("HIDDEN")
    call = "{model: openai/m, input: %s, contribute: [], parameters: {api_key: k, api_base: 'http://127.0.0.1:%d/v1'}}"
    port = Plain(exchange).port
    blocks = "lastOf: [{def: x, read: note, contribute: []}, %s, %s, done]\n" % (call % ("'${ x }'", port), call % ("SHOWN", port))
    for program, args in ((blocks, ["--policy", "p.yaml"]), ("policy: p.yaml\n" + blocks, [])):
        (folder / "a.pdl").write_text(program)
        p = subprocess.run([pdl, "--stream", "none", "--wire", "log", *args, "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        log = (folder / "log").read_text()
        check("it runs", (p.returncode, p.stdout) == (0, "done\n"), p.stdout, p.stderr)
        check("%s hides the call: %s" % (sink, args), ("HIDDEN" in log) == (sink == "journal") and ("> [secret]" in log and "< [secret]" in log) == (sink != "journal"), log)
        check("and no other", "echo SHOWN" in log and "POST http" in log, log)
        (folder / "log").unlink()


@pytest.mark.parametrize("labels,hidden", [({"secret": [{"model": "openai/m"}]}, "secret"), ({}, "model")])
def test_the_answers_in_the_log(pdl, folder, labels, hidden):
    """A label that the answer alone has, by its kind or by its source, hides the answer. The request is as it is."""
    def exchange(head, body, send):
        send(answer(json.dumps({"choices": [{"message": {"content": "SAID"}, "finish_reason": "stop"}]}).encode()))
        return True
    (folder / "p.yaml").write_text(json.dumps({"policy": 1, "labels": labels, "rules": [{"sink": "output", "deny": [hidden]}], "otherwise": "allow"}))
    (folder / "a.pdl").write_text("{model: openai/m, input: ASKED, parameters: {api_key: k, api_base: 'http://127.0.0.1:%d/v1'}}" % Plain(exchange).port)
    for stream in ("none", "result"):
        p = subprocess.run([pdl, "--stream", stream, "--wire", "log", "--policy", "p.yaml", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        log = (folder / "log").read_text()
        check("it runs", p.returncode == 0 and "SAID" not in p.stdout, p.stdout, p.stderr)
        check("the answer is hidden", "SAID" not in log and "ASKED" in log and "< [%s]" % hidden in log, log)
        (folder / "log").unlink()
