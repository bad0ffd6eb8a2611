# SPDX-License-Identifier: Apache-2.0
"""Cases that the fixtures leave out: one conversation with media, calls, results and thoughts in every dialect, requests with tools, answers without
an answer, errors in the middle of streams. The sources are the API references of the services, which docs/internals/model.md names."""
import base64
import json
import struct
import zlib

from .wire import KEY, Wire, error_of, head, run, sse

PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
CAT = {"type": "image_url", "image_url": {"url": "https://example.org/cat.jpg"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "mp3"}}
PDF = {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0="}}
FAR = {"type": "file", "file": {"file_id": "gs://b/x.pdf"}}
OWN = {"type": "video", "video": "own"}
CALLS = [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}},
         {"id": "call_2", "type": "function", "function": {"name": "now", "arguments": ""}}, "no call"]
THOUGHTS = [{"type": "thinking", "thinking": "hm", "signature": "s1"}, {"type": "thinking", "thinking": "so"}]


def talk(*media):
    return [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "What is this?"}, *media]},
        {"role": "assistant", "content": "I look.", "thinking_blocks": THOUGHTS, "thought_signatures": ["t1"], "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"sky": "clear"}'}, {"role": "tool", "tool_call_id": "call_2", "content": "noon"},
        {"role": "user", "content": "And?"}]


ALL = talk(PNG, CAT, SOUND, PDF, FAR, OWN)
ASK = [{"role": "user", "content": "Hi"}]
PARIS, CITY = {"city": "Paris"}, {"type": "object", "properties": {"city": {"type": "string"}}}
NOTHING = {"type": "object", "properties": {}}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Weather", "parameters": CITY}},
         {"type": "function", "function": {"name": "now"}}]
AWS = {"aws_access_key_id": "AKID", "aws_secret_access_key": "secret", "aws_region_name": "us-east-1"}
CHAT = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
CLAUDE = {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 4}}


def ask(model, answer, messages=None, stream=False, base="", ctype="application/json", status="200 OK", schema=None, **parameters):
    """-> (server, last line)"""
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    server = Wire([head(ctype, status), body])
    call = {"model": model, "messages": messages or ASK, "stream": stream, "schema": schema,
            "parameters": {"api_base": server.url + base, "api_key": KEY, "max_retries": 0, **parameters}}
    lines = run({"calls": [call]})
    server.close()
    return server, lines[-1]


def asked(model, answer, **kw):
    """-> (path, body, reply)"""
    server, end = ask(model, answer, **kw)
    assert "reply" in end, end
    first, body = server.requests[0]
    return first.split(" ")[1], body, end["reply"]


def same(got, want, where=""):
    assert got == want, "%s\n  got  %s\n  want %s" % (where, json.dumps(got), json.dumps(want))


# --- the conversation ----------------------------------------------------------------------------

def test_talk_with_bedrock():
    answer = {"output": {"message": {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                                                                     {"text": "hi"}]}},
              "stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}
    guard = {"guardrailIdentifier": "g"}
    path, body, reply = asked("bedrock/anthropic.claude-v2", answer, messages=talk(PNG, PDF, OWN), tools=TOOLS, guardrailConfig=guard, reasoning_effort="low",
                              top_k=4, aws_session_token="TOKEN", **AWS)
    same(path, "/model/anthropic.claude-v2/converse")
    same(body["system"], [{"text": "Be brief."}])
    name = body["messages"][0]["content"][2]["document"]["name"]
    assert name.startswith("Document") and name.isascii(), name
    same(body["messages"], [
        {"role": "user", "content": [{"text": "What is this?"}, {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}},
                                     {"document": {"format": "pdf", "name": name, "source": {"bytes": "JVBERi0="}}}, {"type": "video", "video": "own"}]},
        {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s1"}}},
                                          {"text": "I look."},
                                          {"toolUse": {"toolUseId": "call_1", "name": "weather", "input": PARIS}},
                                          {"toolUse": {"toolUseId": "call_2", "name": "now", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": [{"text": '{"sky": "clear"}'}]}},
                                     {"toolResult": {"toolUseId": "call_2", "content": [{"text": "noon"}]}}, {"text": "And?"}]}])
    same(body["guardrailConfig"], guard)
    same(body["additionalModelRequestFields"], {"top_k": 4, "thinking": {"type": "enabled", "budget_tokens": 1024}})
    same(body["toolConfig"]["tools"][1], {"toolSpec": {"name": "now", "inputSchema": {"json": NOTHING}}})
    thoughts = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    same(reply["message"], {"role": "assistant", "content": "hi", "reasoning_content": "hm", "thinking_blocks": thoughts})


def test_talk_with_gemini():
    answer = {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "hi"}, {"functionCall": {"name": "now", "args": {}}},
                                                    {"functionCall": {"name": "weather", "args": PARIS}, "thoughtSignature": "x"}]}, "finishReason": "STOP"},
                             {"content": {"parts": [{"text": "ho"}]}, "finishReason": "STOP"}],
              "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}}
    path, body, reply = asked("gemini/gemini-2.0-flash", answer, messages=ALL, tools=TOOLS + [{"googleSearch": {}}], n=2, reasoning_effort="medium",
                              tool_choice={"type": "function", "function": {"name": "now"}}, response_format={"type": "json_object"})
    same(path, "/models/gemini-2.0-flash:generateContent")
    same(body["system_instruction"], {"parts": [{"text": "Be brief."}]})
    same(body["contents"], [
        {"role": "user", "parts": [{"text": "What is this?"}, {"inline_data": {"mime_type": "image/png", "data": "iVBORw=="}},
                                   {"file_data": {"mime_type": "image/jpeg", "file_uri": "https://example.org/cat.jpg"}},
                                   {"inline_data": {"mime_type": "audio/mpeg", "data": "UklGRg=="}},
                                   {"inline_data": {"mime_type": "application/pdf", "data": "JVBERi0="}},
                                   {"file_data": {"mime_type": "application/pdf", "file_uri": "gs://b/x.pdf"}}, {"type": "video", "video": "own"}]},
        {"role": "model", "parts": [{"text": "I look."}, {"function_call": {"name": "weather", "args": PARIS}, "thoughtSignature": "t1"},
                                    {"function_call": {"name": "now", "args": {}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "weather", "response": {"sky": "clear"}}},
                                   {"function_response": {"name": "now", "response": {"content": "noon"}}}, {"text": "And?"}]}])
    same(body["tools"][0], {"googleSearch": {}})
    same([f["name"] for f in body["tools"][1]["function_declarations"]], ["weather", "now"])
    same(body["toolConfig"], {"functionCallingConfig": {"mode": "ANY", "allowed_function_names": ["now"]}})
    same(body["generationConfig"], {"candidate_count": 2, "response_mime_type": "application/json",
                                    "thinkingConfig": {"thinkingBudget": 2048, "includeThoughts": True}})
    same(reply["message"]["thought_signatures"], [None, "x"])
    same([c["function"] for c in reply["message"]["tool_calls"]], [{"name": "now", "arguments": "{}"}, {"name": "weather", "arguments": '{"city": "Paris"}'}])
    other = reply["raw"]["choices"][1]
    same((other["index"], other["message"]["content"], other["finish_reason"]), (1, "ho", "stop"))
    same((reply["message"]["reasoning_content"], reply["content"]), ("hm", "hi"))


def test_media_types_by_their_names():
    names = {"a.png": "image/png", "b.webp": "image/webp", "c.bin": "image/jpeg", "d.pdf": "application/pdf"}
    content = [{"type": "image_url", "image_url": {"url": "https://x.example/" + n}} for n in names]
    content += [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}, {"type": "file", "file": {"file_id": "gs://b/x"}}]
    _, body, _ = asked("gemini/g", {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]}, messages=[{"role": "user", "content": content}])
    got = [next(iter(p.values()))["mime_type"] for p in body["contents"][0]["parts"]]
    same(got, list(names.values()) + ["audio/wav", "application/octet-stream"])


def test_talk_with_anthropic():
    path, body, reply = asked("anthropic/claude-3", CLAUDE, messages=talk(PNG, CAT, PDF, FAR, OWN), tools=TOOLS, tool_choice="required", parallel_tool_calls=False, user="u1")
    same(path, "/v1/messages")
    same(body["messages"], [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                                     {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
                                     {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.jpg"}},
                                     {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
                                     {"type": "document", "source": {"type": "url", "url": "gs://b/x.pdf"}}, {"type": "video", "video": "own"}]},
        {"role": "assistant", "content": [THOUGHTS[0], {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "call_1", "name": "weather", "input": PARIS},
                                          {"type": "tool_use", "id": "call_2", "name": "now", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": '{"sky": "clear"}'},
                                     {"type": "tool_result", "tool_use_id": "call_2", "content": "noon"}, {"type": "text", "text": "And?"}]}])
    same((body["metadata"], body["max_tokens"]), ({"user_id": "u1"}, 4096))
    same(body["tool_choice"], {"type": "any", "disable_parallel_tool_use": True})
    same(body["tools"][1], {"name": "now", "input_schema": NOTHING, "type": "custom"})
    same(reply["usage"], {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})


def test_talk_with_ollama():
    answer = {"message": {"role": "assistant", "content": "hi"}, "done": True}
    path, body, _ = asked("ollama_chat/llama", answer, messages=talk(PNG), tools=TOOLS, response_format={"type": "json_object"}, reasoning_effort="low",
                          frequency_penalty=0.5, keep_alive="5m")
    same(path, "/api/chat")
    same(body["messages"], [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is this?", "images": ["iVBORw=="]},
        {"role": "assistant", "content": "I look.", "tool_calls": [{"function": {"name": "weather", "arguments": PARIS}}, {"function": {"name": "now", "arguments": {}}}]},
        {"role": "tool", "content": '{"sky": "clear"}', "tool_call_id": "call_1"}, {"role": "tool", "content": "noon", "tool_call_id": "call_2"},
        {"role": "user", "content": "And?"}])
    same((body["format"], body["think"], body["keep_alive"], body["options"]), ("json", True, "5m", {"repeat_penalty": 0.5}))
    _, body, _ = asked("ollama_chat/gpt-oss:20b", answer, reasoning_effort="low")
    same(body["think"], "low")
    path, body, _ = asked("ollama/llama", {"response": "hi", "done": True}, messages=talk(PNG), frequency_penalty=0.5)
    same(path, "/api/generate")
    same(body["prompt"], '### System:\nBe brief.\n\n### User:\nWhat is this?\n\n### Assistant:\nI look.\n{"name": "weather", "arguments": {"city": "Paris"}}\n'
                         '{"name": "now", "arguments": {}}\n\n### User:\n{"sky": "clear"}\nnoon\nAnd?\n\n')
    same((body["options"], body["images"]), ({"frequency_penalty": 0.5}, ["iVBORw=="]))


def test_talk_as_text():
    line = 'Be brief. What is this? I look. {"sky": "clear"} noon And?'
    path, body, _ = asked("watsonx_text/m", {"results": [{"generated_text": "hi", "stop_reason": "eos_token"}]}, messages=talk(), token="t", space_id="sp")
    same((path, body), ("/ml/v1/text/generation?version=2024-03-13", {"input": line, "model_id": "m", "space_id": "sp", "parameters": {}}))
    path, body, _ = asked("text-completion-openai/m", {"choices": [{"text": "hi", "finish_reason": "stop"}]}, messages=talk())
    same((path, body["prompt"]), ("/completions", ["Be brief.", "What is this?", "I look.", '{"sky": "clear"}', "noon", "And?"]))
    roles = {"user": {"pre_message": "<u>", "post_message": "</u>"}}
    _, body, _ = asked("text-completion-openai/m", {"choices": [{"text": "hi", "finish_reason": "stop"}]}, messages=ASK, roles=roles)
    same(body["prompt"], "<u>Hi</u>")


def test_the_same_everywhere_else():
    for model, base, path in [("watsonx/m", "", "/ml/v1/text/chat?version=2024-03-13"), ("azure_ai/m", "", "/chat/completions?api-version=2024-01-01"),
                              ("azure/m", "/openai/v1", "/openai/v1/chat/completions"), ("fireworks_ai/m", "", "/chat/completions"), ("openai/m", "/v1", "/v1/chat/completions")]:
        more = {"watsonx/m": {"token": "t", "space_id": "sp"}, "azure_ai/m": {"api_version": "2024-01-01"}, "azure/m": {"api_version": "v1"}}.get(model, {})
        got, body, reply = asked(model, CHAT, messages=ALL, base=base, **more)
        sent = [{k: v for k, v in m.items() if not k.startswith("thought") and k != "thinking_blocks"} for m in ALL]
        now = {**CALLS[1], "function": {"name": "now", "arguments": "{}"}}
        sent = [{**m, "tool_calls": [CALLS[0], now, CALLS[2]]} if "tool_calls" in m else m for m in sent]
        same((got, body["messages"], reply["content"]), (path, sent, "hi"), model)


# --- parameters ----------------------------------------------------------------------------------

def test_choice_of_tools():
    for given, more, want in [("none", {}, {"type": "none"}), ("auto", {}, {"type": "auto"}), ({"type": "any"}, {}, {"type": "any"}),
                              ({"type": "function", "function": {"name": "now"}}, {}, {"type": "tool", "name": "now"}),
                              (None, {"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True})]:
        chosen = {"tool_choice": given} if given else {}
        _, body, _ = asked("anthropic/c", CLAUDE, tools=TOOLS, **chosen, **more)
        same(body["tool_choice"], want)
    _, body, _ = asked("moonshot/m", CHAT, tools=TOOLS, tool_choice="required")
    same((body["messages"][-1]["content"], "tool_choice" in body), ("Please select a tool to handle the current issue.", False))
    _, body, _ = asked("mistral/m", CHAT, tools=TOOLS, tool_choice="required")
    same(body["tool_choice"], "any")


def test_names_and_roles_of_models():
    _, body, _ = asked("fireworks_ai/m", CHAT)
    same(body["model"], "accounts/fireworks/models/m")
    _, body, _ = asked("deepseek/d", CHAT, reasoning_effort="low")
    same(body["thinking"], {"type": "enabled"})
    _, body, _ = asked("openai/o1-mini", CHAT, messages=ALL[:1] + ASK, base="/v1", temperature=1)
    same([m["role"] for m in body["messages"]], ["user", "user"])


def test_the_start_of_an_answer():
    """The service refuses blanks at the end of the last message; what is only blanks goes."""
    for content, want in [("Sure: \n ", [{"type": "text", "text": "Sure:"}]), ([{"type": "text", "text": "x"}, {"type": "text", "text": " \n"}], [{"type": "text", "text": "x"}]),
                          ([{"type": "text", "text": " \n"}], None), ("Sure:", [{"type": "text", "text": "Sure:"}])]:
        _, body, _ = asked("anthropic/c", CLAUDE, messages=ASK + [{"role": "assistant", "content": content}])
        last = body["messages"][-1]
        same(last["content"] if last["role"] == "assistant" else None, want)


def test_results_with_images():
    result = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "t"}, PNG]}
    _, body, _ = asked("anthropic/c", CLAUDE, messages=ASK + [result])
    same(body["messages"][0]["content"][0]["content"], [{"type": "text", "text": "t"},
                                                       {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}])


def test_parameters_that_are_refused():
    for model, more, text in [("watsonx/m", {"token": "t", "project_id": "p", "top_k": 3}, "watsonx_text"), ("ollama_chat/m", {"logit_bias": {"1": 2}}, "logit_bias"),
                              ("openai/o1-mini", {"temperature": 0.1}, "temperature=0.1"), ("bedrock/m", {**AWS, "logit_bias": {"1": 2}}, "logit_bias"),
                              ("gemini/m", {"logit_bias": {"1": 2}}, "logit_bias"), ("replicate/o/m", {"logit_bias": {"1": 2}}, "logit_bias"),
                              ("anthropic/m", {"logit_bias": {"1": 2}}, "logit_bias"), ("watsonx_text/m", {"token": "t", "project_id": "p", "logit_bias": {"1": 2}}, "logit_bias")]:
        server, end = ask(model, {}, **more)
        error_of(end, "unsupported_params", None, text)
        same(server.requests, [])
    error_of(ask("watsonx/m", {}, token="t")[1], "config", None, "project_id and space_id not set")


def test_a_schema_asks_for_a_tool():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    answer = {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "i", "name": "json_tool_call", "input": {"n": 1}}}]}}, "stopReason": "tool_use"}
    _, body, reply = asked("bedrock/anthropic.claude-v2", answer, schema=schema, **AWS)
    name = body["toolConfig"]["tools"][0]["toolSpec"]["name"]
    same(body["toolConfig"]["toolChoice"], {"tool": {"name": name}})
    answer["output"]["message"]["content"][0]["toolUse"]["name"] = name
    _, _, reply = asked("bedrock/anthropic.claude-v2", answer, schema=schema, **AWS)
    same(json.loads(reply["content"]), {"n": 1})


# --- answers -------------------------------------------------------------------------------------

def test_answers_that_are_none():
    for model, answer, text, more in [
            ("bedrock/anthropic.claude-v2", {"x": 1}, "no output.message", AWS), ("gemini/g", {"x": 1}, "no candidates", {}), ("anthropic/c", {"x": 1}, "no content", {}),
            ("ollama/m", {"done": True}, "no response", {}), ("ollama_chat/m", {"done": True}, "no message", {}),
            ("watsonx_text/m", {"x": 1}, "no results", {"token": "t", "project_id": "p"}), ("text-completion-openai/m", {"x": 1}, "no choices", {}),
            ("openai/m", {"x": 1}, "no choices", {}), ("openai/m", b"[1, 2", "", {}), ("replicate/o/m", {"x": 1}, "no status", {})]:
        error_of(ask(model, answer, **more)[1], "protocol", 200, text)
    error_of(ask("replicate/o/m", {"status": "failed", "error": "no luck"})[1], "server", 200, "no luck")
    error_of(ask("replicate/o/m", {"status": "canceled"})[1], "server", 200, "canceled")


def test_thoughts_in_the_text():
    _, _, reply = asked("openai/m", {"choices": [{"message": {"content": "<think>hm</think>x"}, "finish_reason": "stop"}]})
    same((reply["content"], reply["message"]["reasoning_content"]), ("x", "hm"))


def test_content_in_parts():
    _, _, reply = asked("mistral/m", {"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]})
    same(reply["content"], "ab")


def test_calls_that_a_text_holds():
    _, _, reply = asked("ollama/m", {"response": '{"name": "now", "arguments": {}}', "done": True}, tools=TOOLS)
    same(reply["message"]["tool_calls"][0]["function"], {"name": "now", "arguments": "{}"})
    _, _, reply = asked("ollama/m", {"response": '{"name": 5', "done": True}, tools=TOOLS)
    same((reply["content"], "tool_calls" in reply["message"]), ('{"name": 5', False))


# --- streams -------------------------------------------------------------------------------------

def streamed(model, events, ctype="text/event-stream", **more):
    return ask(model, events, stream=True, ctype=ctype, **more)[1]


def test_streams_of_watsonx():
    chat = {"token": "t", "project_id": "p"}
    end = streamed("watsonx/m", sse({"choices": [{"delta": {"content": 'a "errors" b'}}]}, {"choices": [{"delta": {"content": "c"}, "finish_reason": "stop"}]}), **chat)
    same(end["reply"]["content"], 'a "errors" bc')
    broken = {"errors": [{"code": "token_quota_reached", "message": "no more"}], "trace": "t"}
    error_of(streamed("watsonx/m", sse({"choices": [{"delta": {"content": "a"}}]}, broken), **chat), "server", 200, "no more")
    error_of(streamed("watsonx/m", sse('{"errors": ['), **chat), "protocol", 200)
    pieces = [{"results": [{"generated_text": "a", "stop_reason": "not_finished"}]},
              {"results": [{"generated_text": "b", "stop_reason": "eos_token", "input_token_count": 2, "generated_token_count": 3}]}]
    end = streamed("watsonx_text/m", sse(*pieces, done=False), **chat)
    same((end["reply"]["content"], end["reply"]["usage"]["total_tokens"]), ("ab", 5))
    error_of(streamed("watsonx_text/m", sse(broken, done=False), **chat), "server", 200, "no more")


def test_streams_of_completions():
    end = streamed("text-completion-openai/m", sse({"choices": [{"text": "a"}]}, {"choices": [{"text": "b", "finish_reason": "stop"}]}))
    same(end["reply"]["content"], "ab")


def test_extras_of_pieces():
    pieces = [{"choices": [{"delta": {"content": "a", "annotations": [1]}, "logprobs": {"content": [{"token": "a"}]}}]},
              {"choices": [{"delta": {"content": "b"}, "logprobs": {"content": [{"token": "b"}]}, "finish_reason": "stop"}]}]
    reply = streamed("openai/m", sse(*pieces))["reply"]
    same(reply["message"]["annotations"], [1])
    same(reply["raw"]["choices"][0]["logprobs"], {"content": [{"token": "a"}, {"token": "b"}]})


def test_errors_in_streams():
    for model, data, ctype, kind, text in [
            ("gemini/g", sse({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, done=False), "text/event-stream", None, "overloaded"),
            ("ollama_chat/m", b"[1]\n", "application/x-ndjson", "protocol", "no message"),
            ("openai/m", sse({"error": {"message": "no luck", "type": "server_error"}}), "text/event-stream", "server", "no luck")]:
        e = streamed(model, data, ctype)["error"]
        assert text in e["msg"] and e["kind"] == (kind or e["kind"]), e


def frame(payload, **headers):
    """One message of an AWS event stream."""
    head_bytes = b"".join(bytes([len(k)]) + k.encode() + b"\7" + struct.pack(">H", len(v)) + v.encode() for k, v in headers.items())
    body = json.dumps(payload).encode() if payload is not None else b""
    start = struct.pack(">II", 16 + len(head_bytes) + len(body), len(head_bytes))
    data = start + struct.pack(">I", zlib.crc32(start)) + head_bytes + body
    return data + struct.pack(">I", zlib.crc32(data))


def aws(kind, payload):
    return frame(payload, **{":message-type": "event", ":event-type": kind, ":content-type": "application/json"})


def delta(i, **d):
    return aws("contentBlockDelta", {"contentBlockIndex": i, "delta": d})


def test_streams_of_bedrock():
    ctype = "application/vnd.amazon.eventstream"
    data = (aws("messageStart", {"role": "assistant"}) + delta(0, reasoningContent={"text": "h"}) + delta(0, reasoningContent={"text": "m"})
            + delta(0, reasoningContent={"signature": "s"}) + delta(1, text="hi")
            + aws("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "i", "name": "now"}}}) + delta(2, toolUse={"input": '{"a": 1}'})
            + aws("messageStop", {"stopReason": "tool_use"}))
    message = streamed("bedrock/anthropic.claude-v2", data, ctype, **AWS)["reply"]["message"]
    same(message["thinking_blocks"], [{"type": "thinking", "thinking": "hm", "signature": "s"}])
    same((message["content"], message["tool_calls"][0]["function"]), ("hi", {"name": "now", "arguments": '{"a": 1}'}))
    bad = frame({"message": "slow down"}, **{":message-type": "exception", ":exception-type": "throttlingException"})
    e = streamed("bedrock/anthropic.claude-v2", delta(0, text="a") + bad, ctype, **AWS)["error"]
    assert e["kind"] == "rate_limit" and "slow down" in e["msg"], e
    bad = frame(None, **{":message-type": "error", ":error-code": "InternalError", ":error-message": 'it "broke"'})
    e = streamed("bedrock/anthropic.claude-v2", bad, ctype, **AWS)["error"]
    assert 'it "broke"' in e["msg"], e


# --- jobs ----------------------------------------------------------------------------------------

class Jobs(Wire):
    """A prediction that is requested again and again; `states` are its answers in turn, the last one again and again."""

    def __init__(self, *states, host=None):
        super().__init__()
        self.states, self.host = list(states), host or self.url

    def answer(self, body):
        lines = [head.split("\r\n")[0] for head, _ in self.requests]
        asked = sum(" /v1/models/" in x or x.startswith("GET ") for x in lines)
        state = dict(self.states[min(asked, len(self.states)) - 1])
        state["urls"] = {"get": self.host + "/job", "cancel": self.host + "/job/cancel"}
        return [head("application/json"), json.dumps(state).encode()]

    def lines(self):
        return [" ".join(head.split(" ")[:2]) for head, _ in self.requests]


def job(server, stream=False, **parameters):
    call = {"model": "replicate/o/m", "messages": ASK, "stream": stream, "parameters": {"api_base": server.url, "api_key": KEY, "max_retries": 0, **parameters}}
    lines = run({"calls": [call]})
    server.close()
    return "".join(x["piece"] for x in lines if "piece" in x), lines[-1]


def test_jobs_are_waited_for():
    server = Jobs({"status": "starting"}, {"status": "processing", "output": ["a "]}, {"status": "succeeded", "output": ["a ", "b"], "id": "j"})
    pieces, end = job(server, stream=True)
    same((pieces, end["reply"]["content"], server.lines()), ("a b", "a b", ["POST /v1/models/o/m/predictions", "GET /job", "GET /job"]))


def test_jobs_stay_on_their_host():
    server = Jobs({"status": "starting"}, host="http://127.0.0.2:9")
    error_of(job(server)[1], "protocol", 200, "names an address of another host")
    same(len(server.requests), 1)


def test_jobs_that_take_too_long_are_told_to_stop():
    server = Jobs({"status": "processing"})
    error_of(job(server, timeout=0.4)[1], "timeout", None)
    same(server.lines()[-1], "POST /job/cancel")


def test_a_key_of_bedrock():
    server, end = ask("bedrock/anthropic.claude-v2", {"output": {"message": {"content": [{"text": "hi"}]}}, "stopReason": "end_turn"}, aws_region_name="us-east-1")
    assert "Bearer " + KEY in server.requests[0][0] and end["reply"]["content"] == "hi"


def test_vectors_as_bytes():
    raw = base64.b64encode(struct.pack("<2f", 1, 2)).decode()
    server = Wire([head("application/json"), json.dumps({"data": [{"index": 0, "embedding": raw}]}).encode()])
    lines = run({"calls": [{"model": "azure/m", "input": ["a"], "parameters": {"api_base": server.url, "api_key": KEY, "api_version": "2024-02-01"}}]})
    same(lines[-1]["reply"]["embeddings"], [[1.0, 2.0]])
    assert server.requests[0][0].startswith("POST /openai/deployments/m/embeddings?api-version=2024-02-01 "), server.requests
    server.close()
