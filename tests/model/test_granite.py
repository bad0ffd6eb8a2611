# SPDX-License-Identifier: Apache-2.0
"""platform granite-io: prompts as granite-io 0.5.3 writes them (granite_prompts.json), how answers are divided, and other models as a chat."""
import datetime
import json
import pathlib

from .wire import KEY, Wire, error_of, head, run

USER = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def text(s):
    return [head("application/json"), json.dumps({"choices": [{"index": 0, "text": s, "finish_reason": "stop"}]}).encode()]


def ask(wire, processor=None, messages=None, stream=False, **parameters):
    processor = {"type": "Granite 3.2", "model": "g", "backend": "openai", "openai_base_url": wire.url + "/v1", "openai_api_key": KEY,
                 **(processor or {})}
    one = {"model": processor["model"], "platform": "granite-io", "processor": processor, "messages": messages or USER, "stream": stream,
           "parameters": {"max_retries": 0, **parameters}}
    lines = run({"calls": [one]})
    wire.close()
    return lines[-1]


def test_prompts():
    today = datetime.date.today().strftime("%B %d, %Y")
    for row in json.loads(pathlib.Path(__file__).with_name("granite_prompts.json").read_text("utf-8")):
        wire = Wire(text("x"))
        ask(wire, {"type": row["type"]}, row["messages"], **row["parameters"])
        body = wire.requests[0][1]
        assert body["prompt"] == row["prompt"].replace("$DATE", today), (row["type"], row["parameters"], body["prompt"])
        assert set(body) == {"model", "prompt"}


def test_answers():
    for version, said, thought, rest in (("Granite 3.2", "Here is my thought process: a b\nHere's my response: c", "a b", "c"),
                                         ("Granite 3.2", "Here is my response: c", None, "Here is my response: c"),
                                         ("Granite 3.3", "<think> a </think><response> c </response>", "a", "c"),
                                         ("granite3.3:8b", "<think>a</think> c", "a", "c")):
        reply = ask(Wire(text(said)), {"type": version}, thinking=True)["reply"]
        assert reply["content"] == rest and reply["message"].get("reasoning_content") == thought, reply
        assert reply["raw"]["results"][0]["next_message"]["content"] == rest


def test_tool_calls():
    for mark in ("<|tool_call|>", "<tool_call>"):
        reply = ask(Wire(text(mark + '[{"name": "f", "arguments": {"x": 1}}]')), tools=[TOOL])["reply"]
        call = reply["message"]["tool_calls"][0]["function"]
        assert call["name"] == "f" and json.loads(call["arguments"]) == {"x": 1} and reply["content"] == ""
    reply = ask(Wire(text("<|tool_call|>oops")), tools=[TOOL])["reply"]
    assert "tool_calls" not in reply["message"] and reply["content"] == "<|tool_call|>oops"


def test_inputs_of_generation():
    wire = Wire(text("x"))
    ask(wire, generate_inputs={"temperature": 0.2, "max_tokens": None, "stop": ["a"]})
    body, sent = wire.requests[0][1], wire.requests[0][0]
    assert body["temperature"] == 0.2 and body["stop"] == ["a"] and "max_tokens" not in body
    assert "Authorization: Bearer " + KEY in sent


def test_other_models_are_a_chat():
    answer = [head("application/json"), json.dumps({"choices": [{"message": {"role": "assistant", "content": "ok"}}]}).encode()]
    for processor in ({"type": "other"}, {"backend": "vllm_server"}, {"backend": {"transformers": "cpu"}}):
        wire = Wire(answer)
        reply = ask(wire, processor, stream=True, generate_inputs={"temperature": 0})["reply"]
        assert wire.requests[0][1] == {"model": "g", "messages": USER, "temperature": 0}
        assert reply["raw"]["results"][0]["next_message"]["content"] == "ok"
    wire = Wire(answer)
    ask(wire, {"backend": "litellm", "model": "openai/m"})
    assert wire.requests[0][1]["model"] == "m"


def test_wrong_processors():
    error_of(ask(Wire([]), {"backend": None}), "bad_request", None, "needs a backend")
    error_of(ask(Wire([]), {"backend": "nope"}), "bad_request", None, "no backend nope")
    error_of(ask(Wire([]), thinking=True, tools=[TOOL]), "bad_request", None, "thinking")
    error_of(ask(Wire([]), {"type": "other"}, documents=[{"text": "a"}]), "unsupported_params", None, "documents")
