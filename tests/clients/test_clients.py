# SPDX-License-Identifier: Apache-2.0
"""Other people's programs as clients of `pdl serve`: openai (Python and npm), LangChain, litellm, llm. Their packages are large, so `make
test-clients` installs them (tests/venv_of.py). A package that cannot be installed is skipped, with a line that says so."""
import json
import os
import pathlib
import subprocess
import tempfile
import threading
from http.server import ThreadingHTTPServer

HERE = pathlib.Path(__file__).resolve().parent
from ..checks import check, skip
from .. import http_of
from .. import serve_of
from .. import node_of, venv_of
import pytest
from ..harness.choice import Choice

BUILD = Choice.build
PDL = str(BUILD / "pdl")
PARAMETERS = ("{tools: '${ request.tools | default(none) }', tool_choice: '${ request.tool_choice | default(none) }', "
              "response_format: '${ request.response_format | default(none) }'}")
PROGRAMS = {
    "agent": "model: openai/agent\nparameters: %s\n" % PARAMETERS,
    "nested": "text:\n- if: true\n  then:\n    lastOf: ['', {model: openai/agent, parameters: %s}]\n" % PARAMETERS,
    "echo": 'text: "You said: ${ question }"\n',
    "vectors": "for: {t: '${ request.input }'}\nrepeat: {data: ['${ t | length }', 0.5]}\njoin: {as: array}\n",
    "fails": 'text: ["${ question }", {model: openai/agent, contribute: []}, "${ no.such.name }"]\n',
}
asked = []          # requests that reached the model


class Model(http_of.Quiet):
    """Adds 2 and 3 with a tool when it is offered one, fills a schema when it is asked to, and else says "hello"."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.body())
        asked.append(body)
        message, finish = self.answer(body)
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        if not body.get("stream"):
            data = json.dumps({"choices": [{"index": 0, "finish_reason": finish, "message": message}], "usage": usage})
            return self.send("application/json", data)
        delta = {k: [{**c, "index": 0} for c in v] if k == "tool_calls" else v for k, v in message.items()}
        pieces = [{"choices": [{"index": 0, "delta": delta}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}]
        return self.send("text/event-stream", "".join("data: %s\n\n" % json.dumps(e) for e in pieces) + "data: [DONE]\n\n")

    def answer(self, body):
        results = [m for m in body["messages"] if m["role"] == "tool"]
        tools = [t["function"] for t in body.get("tools") or []]
        if results:
            return {"role": "assistant", "content": "the sum is %s" % results[-1]["content"]}, "stop"
        if tools:
            arguments = {"a": 2, "b": 3} if tools[0]["name"] == "add" else {"name": "Ann", "age": 7}
            call = {"id": "call_1", "type": "function", "function": {"name": tools[0]["name"], "arguments": json.dumps(arguments)}}
            return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        if (body.get("response_format") or {}).get("type") == "json_schema":
            return {"role": "assistant", "content": '{"name": "Ann", "age": 7}'}, "stop"
        return {"role": "assistant", "content": "hello"}, "stop"

    def send(self, kind, text):
        self.reply(text.encode(), kind)


def says(name, command, want, **more):
    """Each line of standard output is one test; a line that is missing fails."""
    p = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)
    got = p.stdout.splitlines()
    for i, line in enumerate(want.strip().splitlines()):
        check("%s: %s" % (name, line), i < len(got) and got[i] == line, "%s\n%s" % (got[i] if i < len(got) else "nothing", p.stderr[-1200:]))


TOOLS = '''
import json, sys, warnings
warnings.simplefilter("ignore")
URL = sys.argv[1]
TOOLS = [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]
ASK = [{"role": "user", "content": "2 + 3?"}]
'''

OPENAI = TOOLS + '''
import openai, pydantic
c = openai.OpenAI(base_url=URL, api_key="x", max_retries=0)
for name in ("agent", "nested"):
    r = c.chat.completions.create(model=name, messages=ASK, tools=TOOLS).choices[0]
    print(name, r.finish_reason, r.message.content, r.message.tool_calls[0].function.name, r.message.tool_calls[0].function.arguments)
    with c.chat.completions.stream(model=name, messages=ASK, tools=TOOLS) as stream:
        kinds = [e.type for e in stream]
        r = stream.get_final_completion().choices[0]
    print(name, "stream", r.finish_reason, json.loads(r.message.tool_calls[0].function.arguments), "tool_calls.function.arguments.done" in kinds)
messages = ASK + [r.message.to_dict(), {"role": "tool", "tool_call_id": r.message.tool_calls[0].id, "content": "5"}]
print(c.chat.completions.create(model="agent", messages=messages, tools=TOOLS).choices[0].message.content)
try:
    openai.OpenAI(base_url=URL, api_key="x").chat.completions.create(model="fails", messages=[{"role": "user", "content": "once"}])
except openai.InternalServerError as e:
    print(e.status_code, e.code)
class Person(pydantic.BaseModel):
    name: str
    age: int
print(c.chat.completions.parse(model="agent", messages=ASK, response_format=Person).choices[0].message.parsed)
with c.chat.completions.stream(model="agent", messages=ASK, response_format=Person) as stream:
    for e in stream: pass
    print(stream.get_final_completion().choices[0].message.parsed)
'''
OPENAI_SAYS = '''
agent tool_calls None add {"a": 2, "b": 3}
agent stream tool_calls {'a': 2, 'b': 3} True
nested tool_calls None add {"a": 2, "b": 3}
nested stream tool_calls {'a': 2, 'b': 3} True
the sum is 5
500 expression
name='Ann' age=7
name='Ann' age=7
'''

FORMS = TOOLS + '''
import openai, pydantic
c = openai.OpenAI(base_url=URL, api_key="x", max_retries=0)
TOOL = {"type": "function", **TOOLS[0]["function"]}
r = c.responses.create(model="agent", input="2 + 3?", tools=[TOOL])
call = r.output[-1]
print(r.status, call.type, call.name, call.arguments)
r = c.responses.create(model="agent", previous_response_id=r.id, input=[{"type": "function_call_output", "call_id": call.call_id, "output": "5"}])
print(r.output_text)
with c.responses.stream(model="echo", input="hi") as stream:
    print("".join(e.delta for e in stream if e.type == "response.output_text.delta"), stream.get_final_response().status)
with c.responses.stream(model="nested", input="2 + 3?", tools=[TOOL]) as stream:
    kinds = [e.type for e in stream]
    print("response.function_call_arguments.done" in kinds, stream.get_final_response().output[-1].arguments)
class Person(pydantic.BaseModel):
    name: str
    age: int
print(c.responses.parse(model="agent", input="who?", text_format=Person).output_parsed)
print(c.completions.create(model="echo", prompt="hi").choices[0].text)
print("".join(p.choices[0].text for p in c.completions.create(model="echo", prompt="hi", stream=True)))
print([d.embedding for d in c.embeddings.create(model="vectors", input=["a", "bcd"]).data])
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
m = ChatOpenAI(model="agent", base_url=URL, api_key="x", max_retries=0, use_responses_api=True)
print(m.bind_tools(TOOLS).invoke("2 + 3?").tool_calls[0]["args"], m.invoke("hi").text)
print("".join(p.text for p in m.stream("hi")), m.with_structured_output(Person, method="json_schema").invoke("who?"))
print(OpenAIEmbeddings(model="vectors", base_url=URL, api_key="x", check_embedding_ctx_length=False).embed_documents(["a", "bcd"]))
'''
FORMS_SAY = '''
completed function_call add {"a": 2, "b": 3}
the sum is 5
You said: hi completed
True {"a": 2, "b": 3}
name='Ann' age=7
You said: hi
You said: hi
[[1.0, 0.5], [3.0, 0.5]]
{'a': 2, 'b': 3} hello
hello name='Ann' age=7
[[1.0, 0.5], [3.0, 0.5]]
'''

LANGCHAIN = TOOLS + '''
import pydantic
from langchain_core.tools import tool
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
@tool
def add(a: int, b: int) -> int:
    "adds"
    return a + b
class Person(pydantic.BaseModel):
    "a person"
    name: str
    age: int
m = ChatOpenAI(model="agent", base_url=URL, api_key="x", max_retries=0)
r = m.bind_tools([add]).invoke([HumanMessage("2 + 3?")])
print(r.tool_calls[0]["name"], r.tool_calls[0]["args"], r.response_metadata["finish_reason"])
whole = None
for piece in m.bind_tools([add]).stream([HumanMessage("2 + 3?")]):
    whole = piece if whole is None else whole + piece
print(whole.tool_calls[0]["name"], whole.tool_calls[0]["args"])
print(m.bind_tools([add]).invoke([HumanMessage("2 + 3?"), r, add.invoke(r.tool_calls[0])]).content)
for method in ("function_calling", "json_schema"):
    print(method, m.with_structured_output(Person, method=method).invoke("who?"))
print(m.invoke("hi").content)
'''
LANGCHAIN_SAYS = '''
add {'a': 2, 'b': 3} tool_calls
add {'a': 2, 'b': 3}
the sum is 5
function_calling name='Ann' age=7
json_schema name='Ann' age=7
hello
'''

LITELLM = TOOLS + '''
import os
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"     # else it asks the network
import litellm
litellm.suppress_debug_info = True
def ask(**more):
    return litellm.completion(model="openai/agent", api_base=URL, api_key="x", messages=ASK, num_retries=0, **more)
r = ask(tools=TOOLS).choices[0]
print(r.finish_reason, r.message.tool_calls[0].function.name, r.message.tool_calls[0].function.arguments)
r = litellm.stream_chunk_builder(list(ask(tools=TOOLS, stream=True)), messages=ASK).choices[0]
print(r.finish_reason, r.message.tool_calls[0].function.name, json.loads(r.message.tool_calls[0].function.arguments))
print(ask().choices[0].message.content)
'''
LITELLM_SAYS = '''
tool_calls add {"a": 2, "b": 3}
tool_calls add {'a': 2, 'b': 3}
hello
'''

NPM = '''
import OpenAI from "openai";
const c = new OpenAI({baseURL: process.argv[2], apiKey: "x", maxRetries: 0});
const tools = [{type: "function", function: {name: "add", description: "adds", parse: JSON.parse, function: ({a, b}) => String(a + b),
                parameters: {type: "object", properties: {a: {type: "integer"}, b: {type: "integer"}}}}}];
for (const stream of [false, true]) {
    const run = c.chat.completions.runTools({model: "nested", messages: [{role: "user", content: "2 + 3?"}], tools, stream});
    console.log("runTools", stream, await run.finalContent());
}
'''
NPM_SAYS = '''
runTools false the sum is 5
runTools true the sum is 5
'''


def llm_tool(url, python, folder):
    """The command llm, with a tool given as Python code."""
    (folder / "llm").mkdir()
    (folder / "llm" / "extra-openai-models.yaml").write_text(
        "- {model_id: agent, model_name: agent, api_base: '%s', supports_tools: true, api_key_name: none}\n" % url, "utf-8")
    env = {**os.environ, "LLM_USER_PATH": str(folder / "llm")}
    code = "def add(a: int, b: int) -> int:\n    'adds'\n    return a + b\n"
    for more in (["--no-stream"], []):
        says("llm " + " ".join(more), [python, "-m", "llm", "-m", "agent", "--key", "x", "--functions", code, *more, "2 + 3?"], "the sum is 5", env=env,
             stdin=subprocess.DEVNULL)


def python_clients(url, folder):
    # litellm imports mcp for tools, and does not say so among its requirements.
    for name, packages, script, want in (("openai", ["openai"], OPENAI, OPENAI_SAYS), ("langchain", ["langchain-openai"], LANGCHAIN, LANGCHAIN_SAYS),
                                         ("responses, completions, embeddings", ["langchain-openai"], FORMS, FORMS_SAY),
                                         ("litellm", ["litellm", "mcp"], LITELLM, LITELLM_SAYS), ("llm", ["llm"], None, "")):
        python, why = venv_of.python(BUILD, *packages, seconds=900, name="clients-venv")
        if not python:
            skip(name, why)
        elif script:
            says(name, [python, "-c", script, url], want)
        else:
            llm_tool(url, python, folder)


def npm_clients(url):
    modules, why = node_of.modules(BUILD, "openai")
    if not modules:
        skip("npm openai", why)
        return
    script = pathlib.Path(modules).with_name("client.mjs")
    script.write_text(NPM, "utf-8")
    says("npm openai", ["node", str(script), url], NPM_SAYS)


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1800)
def test_clients():
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.daemon_threads = True
    threading.Thread(target=model.serve_forever, args=(0.02,), daemon=True).start()
    url = "http://127.0.0.1:%d/v1" % model.server_address[1]
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        for name, text in PROGRAMS.items():
            (folder / (name + ".pdl")).write_text(text, "utf-8")
        files = [str(folder / (name + ".pdl")) for name in PROGRAMS]
        server, port = serve_of.start(PDL, *files, env={**os.environ, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none"})
        served = "http://127.0.0.1:%d/v1" % port
        python_clients(served, folder)
        npm_clients(served)
        runs = sum("once" in str(body["messages"]) for body in asked)
        check("a failing program runs once for each request", runs <= 1, runs)
        server.terminate()
        check("the server ends", server.wait(20) == 0)
        server.stderr.close()

