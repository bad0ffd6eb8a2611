# SPDX-License-Identifier: Apache-2.0
"""A real inference server: llama.cpp with a small model of random weights (llama_server.py). Programs and clients of `pdl serve` request streams,
structured output, tools, logprobs and vectors from it. Skipped when its packages cannot be installed."""
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
from ..checks import check, skip
from .. import serve_of
from .. import venv_of
import pytest
from ..harness.choice import Choice

BUILD = Choice.build
PDL = str(BUILD / "pdl")
LETTERS = "temperature: 0, max_tokens: 12, grammar: 'root ::= [a-z ]+'"
PROGRAMS = {
    "letters": "text: [\"\", {model: openai/m, parameters: {%s}}]\n" % LETTERS,
    "logprobs": "model: openai/m\nparameters: {%s, logprobs: true, top_logprobs: 2}\n" % LETTERS,
    "shape": "model: openai/m\nparser: json\nspec: {ok: boolean, kind: {enum: [red, green]}}\nparameters: {temperature: 0, max_tokens: 200}\n",
    "tools": "model: openai/m\nparameters: {temperature: 0, max_tokens: 300, tools: '${ request.tools }', tool_choice: '${ request.tool_choice }'}\n",
    "vectors": "data: ${ stdlib.embed('openai/m', request.input) }\n",
}


def environment(url):
    return {**os.environ, "OPENAI_API_BASE": url + "/v1", "OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "none"}


def run(folder, url, name, *flags):
    p = subprocess.run([PDL, *flags, "-d", "pdl_context: [{role: user, content: hi}]", str(folder / (name + ".pdl"))], env=environment(url),
                       capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    return p.stdout.strip(), p.stderr


class Llama:
    def __init__(self, python, folder, kind):
        place = folder / kind
        place.mkdir()
        self.p = subprocess.Popen([python, str(HERE / "llama_server.py"), str(place), kind], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.p.stdout.readline().strip()

    def close(self):
        self.p.kill()
        self.p.wait(20)
        self.p.stdout.close()


class Serve:
    def __init__(self, folder, url):
        self.p, self.port = serve_of.start(PDL, *[str(folder / (n + ".pdl")) for n in PROGRAMS], env=environment(url))

    def ask(self, path, **body):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            c.request("POST", "/v1/" + path, json.dumps(body))
            return c.getresponse().read().decode()
        finally:
            c.close()

    def chat(self, model, **more):
        return self.ask("chat/completions", model=model, messages=[{"role": "user", "content": "hi"}], **more)

    def close(self):
        self.p.terminate()
        self.p.wait(20)
        self.p.stderr.close()


def gathered(text):
    """A stream as one choice: content, logprobs, reason of the end, calls."""
    content, logprobs, finish, calls = "", [], None, []
    for line in text.split("\n\n"):
        for c in json.loads(line[6:])["choices"] if line.startswith("data: {") else []:
            content += c["delta"].get("content") or ""
            logprobs += (c["logprobs"] or {}).get("content", [])
            calls += c["delta"].get("tool_calls", [])
            finish = c["finish_reason"] or finish
    return content, logprobs, finish, calls


def texts(folder, url):
    got = [run(folder, url, "letters", "--stream", mode) for mode in ("none", "result")]
    check("whole and streamed", got[0][0] == got[1][0] and re.fullmatch("[a-z ]{5,}", got[0][0]), got)
    got = [run(folder, url, "shape", "--stream", mode)[0] for mode in ("none", "result")]
    check("structured output", got[0] == got[1] and json.loads(got[0])["kind"] in ("red", "green") and json.loads(got[0])["ok"] in (True, False), got)


def served(s, folder, url):
    want = run(folder, url, "logprobs", "--stream", "none")[0]
    whole = json.loads(s.chat("logprobs"))
    c = whole["choices"][0]
    check("served", c["message"]["content"].strip() == want and c["finish_reason"] == "length" and whole["usage"]["completion_tokens"] == 12, whole)
    tokens = c["logprobs"]["content"]
    check("logprobs", len(tokens) == 12 and "".join(t["token"] for t in tokens) == c["message"]["content"] and all(t["logprob"] <= 0 for t in tokens), tokens)
    content, logprobs, finish, _ = gathered(s.chat("logprobs", stream=True))
    check("served in pieces", (content, finish, len(logprobs)) == (c["message"]["content"], "length", 12), (content, finish, logprobs))
    r = json.loads(s.ask("completions", model="logprobs", prompt="hi"))["choices"][0]
    check("as a completion", "".join(r["logprobs"]["tokens"]) == r["text"] and len(r["logprobs"]["token_logprobs"]) == 12, r)
    r = json.loads(s.ask("responses", model="logprobs", input="hi"))
    check("as a response", r["status"] == "incomplete" and r["output"][0]["content"][0]["text"] == c["message"]["content"], r)
    tools = [{"type": "function", "function": {"name": "pick", "description": "picks", "parameters": {
        "type": "object", "properties": {"kind": {"enum": ["red", "green"]}}, "required": ["kind"]}}}]
    whole = json.loads(s.chat("tools", tools=tools, tool_choice="auto"))["choices"][0]
    content, _, finish, calls = gathered(s.chat("tools", tools=tools, tool_choice="auto", stream=True))
    names = [x["function"]["name"] for x in whole["message"].get("tool_calls", [])]
    check("tools", finish == whole["finish_reason"] and [x["function"]["name"] for x in calls] == names and set(names) <= {"pick"} and
          (content or "") == (whole["message"]["content"] or ""), (whole, content, finish, calls))


def vectors(s):
    r = json.loads(s.ask("embeddings", model="vectors", input=["hi", "there", "hi"]))
    v = [d["embedding"] for d in r["data"]]
    check("vectors", [len(x) for x in v] == [64] * 3 and v[0] == v[2] != v[1] and abs(sum(x * x for x in v[0]) - 1) < 0.01 and r["usage"]["prompt_tokens"] > 0, r)


def programs():
    folder = pathlib.Path(tempfile.mkdtemp())
    for name, text in PROGRAMS.items():
        (folder / (name + ".pdl")).write_text(text, "utf-8")
    return folder


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1200)
@pytest.mark.parametrize("kind", ["chat", "embed"])
def test_llama(kind):
    python, why = venv_of.python(BUILD, "xllamacpp", "gguf", seconds=900, name="clients-venv")
    if not python:
        skip("llama.cpp", why)
        return
    folder = programs()
    llama = Llama(python, folder, kind)
    s = Serve(folder, llama.url)
    if kind == "chat":
        texts(folder, llama.url)
        served(s, folder, llama.url)
    else:
        vectors(s)
    s.close()
    llama.close()
