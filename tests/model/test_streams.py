# SPDX-License-Identifier: Apache-2.0
"""Streams and failures of the model room against a server that misbehaves on purpose, through model_driver."""
import json
import time

from . import wire as w
from .wire import Wire, call, chunk, cut, error_of, head, run, sse

TEXT = "Grüße, 世界! 😀 end"
GOOD = [chunk(role="assistant", content=""), *[chunk(content=c) for c in TEXT], chunk(finish="stop"),
        {"id": "c1", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}]


def test_cut_at_every_byte():
    for end in ("\n", "\r\n", "\r"):
        pieces, reply = call(Wire([head()] + cut(sse(*GOOD, end=end), 1)))
        assert pieces == TEXT == reply["reply"]["content"], (end, pieces)
        assert reply["reply"]["usage"]["total_tokens"] == 3
        assert reply["reply"]["raw"]["choices"][0]["finish_reason"] == "stop"


class Halves(Wire):
    """Answers a number with the good events in two pieces, the first of which has so many bytes."""

    def answer(self, body):
        at, data = int(body["messages"][0]["content"]), sse(*GOOD)
        return [head(), data[:at], data[at:]]


def test_cut_anywhere():
    wire, places = Halves(pause=0.001), range(1, len(sse(*GOOD)), 37)
    lines = run({"calls": [{"model": "openai/m", "messages": [{"role": "user", "content": str(at)}], "stream": True,
                            "parameters": {"api_base": wire.url, "api_key": w.KEY, "max_retries": 0}} for at in places]})
    wire.close()
    for i, at in enumerate(places):
        assert "".join(x["piece"] for x in lines if x["i"] == i and "piece" in x) == TEXT, at


def test_split_reads():
    pieces, _ = call(Wire([head(), sse(*GOOD)]), job={"split": True})
    assert pieces == TEXT


def test_comments_and_fields():
    data = b": hello\n\nevent: message\nid: 7\nretry: 10\n" + sse(chunk(content="a")) [:-len(b"data: [DONE]\n\n")]
    data += b": ping\n\n\n\n" + sse(chunk(content="b"), chunk(finish="stop"))
    assert call(Wire([head(), data]))[0] == "ab"


def test_data_over_several_lines():
    text = json.dumps(chunk(content="ab", finish="stop"), indent=1)
    data = "".join("data: %s\n" % x for x in text.split("\n")) + "\n"
    assert call(Wire([head(), data.encode()]))[0] == "ab"


def test_no_done_after_finish():
    pieces, end = call(Wire([head(), sse(chunk(content="x"), chunk(finish="length"), done=False)]))
    assert pieces == "x" and end["reply"]["raw"]["choices"][0]["finish_reason"] == "length"


def test_no_blank_line_at_the_end():
    assert call(Wire([head(), sse(chunk(content="x", finish="stop"), done=False)[:-2]]))[0] == "x"


def test_end_without_finish():
    pieces, end = call(Wire([head(), sse(chunk(content="x"), done=False)]))
    assert pieces == "x"
    error_of(end, "stream", 200)


def test_broken_off():
    data = head(extra="Transfer-Encoding: chunked\r\n") + b"%x\r\n" % 1000 + sse(chunk(content="x"), done=False)
    pieces, end = call(Wire([data]))
    assert pieces == "x"
    error_of(end, "stream", 200)


def test_broken_off_is_retried_before_output():
    wire = Wire([head(), b": nothing yet\n\n"], [head(), sse(chunk(content="x", finish="stop"))])
    pieces, end = call(wire, max_retries=1)
    assert pieces == "x" and len(wire.requests) == 2


def test_not_retried_after_output():
    wire = Wire([head(), sse(chunk(content="x"), done=False)])
    _, end = call(wire, max_retries=3)
    error_of(end, "stream", 200)
    assert len(wire.requests) == 1


def test_error_object_in_stream():
    for error, kind in (({"message": "boom", "code": 500}, "server"), ({"message": "slow", "code": "rate_limit_exceeded"}, "rate_limit"),
                        ({"message": "over", "type": "overloaded_error"}, "unavailable"), ("just text", "server"),
                        ({"message": "This model's maximum context length is 5"}, "context_window")):
        pieces, end = call(Wire([head(), sse(chunk(content="x"), {"error": error}, done=False)]))
        assert pieces == "x"
        error_of(end, kind, 200, error if isinstance(error, str) else error["message"])


def test_error_object_is_retried_before_output():
    wire = Wire([head(), sse({"error": {"message": "boom", "code": 503}}, done=False)], [head(), sse(chunk(content="x", finish="stop"))])
    assert call(wire, max_retries=1)[0] == "x" and len(wire.requests) == 2


def test_event_that_is_no_json():
    error_of(call(Wire([head(), b"data: {oops\n\n"]))[1], "protocol", 200)


def test_bytes_that_are_no_text():
    pieces, _ = call(Wire([head(), sse(chunk(content="a@b", finish="stop")).replace(b"@", b"\xff")]))
    assert pieces == "a\ufffdb"


def test_server_that_does_not_stream():
    body = json.dumps({"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}]})
    pieces, end = call(Wire([head("application/json")] + cut(body.encode(), 11)))
    assert pieces == TEXT == end["reply"]["content"]
    error_of(call(Wire([head("application/json"), b'{"error": {"message": "no", "code": 429}}']))[1], "rate_limit", 429, "no")


def test_first_byte_and_gap_timeouts():
    for pieces in ([], [head()], [head(), sse(chunk(content="x"), done=False)]):
        t0 = time.monotonic()
        wire = Wire(pieces, hold=5)
        _, end = call(wire, timeout=0.3)
        assert "Request timed out." in error_of(end, "timeout", None)["msg"], end
        assert 0.25 < time.monotonic() - t0 < 2


def test_slow_stream_is_no_timeout():
    parts = [head()] + [sse(chunk(content="x"), done=False)] * 6 + [sse(chunk(finish="stop"))]
    assert call(Wire(parts, pause=0.1), timeout=0.4)[0] == "xxxxxx"


def test_total_timeout():
    wire = Wire([head("application/json")] + [b" "] * 20, pause=0.1)
    error_of(call(wire, stream=False, timeout=0.4)[1], "timeout", None)


def test_cancel_closes_the_connection():
    wire = Wire([head()] + [sse(chunk(content="x"), done=False)] * 3, pause=0.01, hold=3)
    _, end = call(wire, job={"cancel_after": 2})
    assert end.get("cancelled"), end
    for _ in range(50):
        if wire.closed_early:
            return
        time.sleep(0.02)
    raise AssertionError("the connection stayed open")


def test_line_too_long():
    parts = [head(), b"data: "] + [b"x" * (1 << 20)] * 17
    error_of(call(Wire(parts))[1], "protocol", 200, "longer than")


def test_body_too_long():
    parts = [head("application/json"), b'"'] + [b"x" * (1 << 20)] * 65
    error_of(call(Wire(parts), stream=False)[1], "protocol", 200, "longer than")


def test_headers_too_long():
    error_of(call(Wire([b"HTTP/1.1 200 OK\r\n" + b"X-Y: %s\r\n" % (b"y" * 60000) * 6 + b"\r\n"]))[1], "protocol", 200)


def test_tool_calls_without_index():
    f = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x"'}}, {"function": {"arguments": ": 1}"}},
         {"id": "b", "function": {"name": "g"}}]
    _, end = call(Wire([head(), sse(*[chunk(tool_calls=[x]) for x in f], chunk(finish="stop"))]))
    got = end["reply"]["message"]["tool_calls"]
    assert [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in got] == [("a", "f", '{"x": 1}'), ("b", "g", "{}")], got
    assert end["reply"]["raw"]["choices"][0]["finish_reason"] == "tool_calls"


def test_interleaved_tool_calls():
    parts = [(0, "a", "f", "{"), (1, "b", "g", "["), (0, None, None, "}"), (1, None, None, "]")]
    events = [chunk(tool_calls=[{"index": i, **({"id": n} if n else {}), "function": {"arguments": a, **({"name": f} if f else {})}}])
              for i, n, f, a in parts]
    _, end = call(Wire([head(), sse(*events, chunk(finish="tool_calls"))]))
    assert [c["function"]["arguments"] for c in end["reply"]["message"]["tool_calls"]] == ["{}", "[]"]


def test_reasoning_and_refusal():
    events = [chunk(reasoning_content="hm"), chunk(reasoning_content="m."), chunk(content="42"), chunk(refusal=None), chunk(finish="stop")]
    pieces, end = call(Wire([head(), sse(*events)]))
    assert pieces == "42" and end["reply"]["message"] == {"role": "assistant", "content": "42", "reasoning_content": "hmm."}
    _, end = call(Wire([head(), sse(chunk(refusal="No"), chunk(refusal="."), chunk(finish="stop"))]))
    assert end["reply"]["message"]["refusal"] == "No." and end["reply"]["content"] == ""


def test_think_tags_cut():
    for text, thought, rest in (("<think>a<b</think>rest", "a<b", "rest"), ("<thin is text", None, "<thin is text"),
                                ("<think>never closed", None, "<think>never closed"), ("a <think>b</think>", None, "a <think>b</think>")):
        pieces, end = call(Wire([head(), sse(*[chunk(content=c) for c in text], chunk(finish="stop"))]))
        assert pieces == rest == end["reply"]["content"], (text, pieces)
        assert end["reply"]["message"].get("reasoning_content") == thought


def test_usage_variants():
    u = {"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 9}
    every = [{**chunk(content="x"), "usage": {**u, "completion_tokens": 1}}, {**chunk(finish="stop"), "usage": u}]
    assert call(Wire([head(), sse(*every)]))[1]["reply"]["usage"] == u
    assert call(Wire([head(), sse(chunk(content="x", finish="stop"))]))[1]["reply"]["usage"] is None


def test_other_choices_are_ignored():
    other = chunk(content="NO")
    other["choices"][0]["index"] = 1
    assert call(Wire([head(), sse(chunk(content="x"), other, chunk(finish="stop"))]))[0] == "x"


def test_ollama_lines_cut():
    lines = [{"model": "m", "message": {"role": "assistant", "content": c}, "done": False} for c in TEXT]
    lines.append({"model": "m", "message": {"content": ""}, "done": True, "done_reason": "length", "prompt_eval_count": 1, "eval_count": 2})
    data = "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in lines).encode()
    for n in (1, 3, 1000, len(data) - 1):
        pieces, end = call(Wire([head("application/x-ndjson")] + cut(data, n)), model="ollama_chat/m")
        assert pieces == TEXT == end["reply"]["content"]
        assert end["reply"]["usage"]["total_tokens"] == 3 and end["reply"]["raw"]["choices"][0]["finish_reason"] == "length"
    error_of(call(Wire([head("application/x-ndjson"), data[:100]]), model="ollama_chat/m")[1], "protocol", 200)
    error_of(call(Wire([head("application/x-ndjson"), data.split(b"\n")[0] + b"\n"]), model="ollama_chat/m")[1], "stream", 200)


def test_calls_in_the_text_of_ollama():
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    for text, shown, calls in (('{"name": "f", "arguments": {"x": 1}}', "", [("f", '{"x": 1}')]), ('{"other": 1}', '{"other": 1}', []), ("plain", "plain", [])):
        lines = [{"response": c, "done": False} for c in text] + [{"response": "", "done": True, "done_reason": "stop"}]
        data = "".join(json.dumps(x) + "\n" for x in lines).encode()
        pieces, end = call(Wire([head("application/x-ndjson"), data]), model="ollama/m", tools=tools)
        got = [(c["function"]["name"], c["function"]["arguments"]) for c in end["reply"]["message"].get("tool_calls") or []]
        assert (pieces, end["reply"]["content"], got) == (shown, shown, calls), (text, pieces, end)
        assert end["reply"]["raw"]["choices"][0]["finish_reason"] == ("tool_calls" if calls else "stop")


def test_logprobs():
    def t(token, p, **more):
        return {"token": token, "logprob": p, **more}
    parts = [{"tokens": ["a"], "token_logprobs": [-1.0]}, {"tokens": ["b"], "token_logprobs": [-2.0]}]
    events = [{"choices": [{"index": 0, "text": p["tokens"][0], "logprobs": p}]} for p in parts] + [{"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}]
    _, end = call(Wire([head(), sse(*events)]), model="text-completion-openai/m")
    assert end["reply"]["raw"]["choices"][0]["logprobs"] == {"tokens": ["a", "b"], "token_logprobs": [-1.0, -2.0]}, end
    def google(token, p):
        chosen = {"token": token, "logProbability": p}
        return {"candidates": [{"content": {"parts": [{"text": token}]}, "logprobsResult": {"chosenCandidates": [chosen], "topCandidates": [{"candidates": [chosen]}]}}]}
    last = {"candidates": [{"finishReason": "STOP"}]}
    _, end = call(Wire([head(), sse(google("a", -1.0), google("b", -2.0), last, done=False)]), model="gemini/m")
    want = {"content": [t("a", -1.0, top_logprobs=[t("a", -1.0)]), t("b", -2.0, top_logprobs=[t("b", -2.0)])]}
    assert end["reply"]["raw"]["choices"][0]["logprobs"] == want, end


def test_messages_of_raw_responses():
    body = {"choices": [{"message": {"content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {"x": [1, "é"]}}}]}}]}
    reply = call(Wire([head("application/json"), json.dumps(body).encode()]), stream=False)[1]["reply"]
    assert reply["message"]["tool_calls"][0]["function"]["arguments"] == '{"x": [1, "é"]}' and "function_call" not in reply["message"], reply
    events = [chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]), chunk(finish="stop")]
    assert call(Wire([head(), sse(*events)]))[1]["reply"]["message"]["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'
    reply = call(Wire([head(), sse(chunk(content="x", finish="stop"))]))[1]["reply"]
    assert reply["raw"]["choices"][0]["message"] == {"role": "assistant", "content": "x", "tool_calls": None, "function_call": None}, reply
    assert reply["message"] == {"role": "assistant", "content": "x"}


def test_what_native_replies_hold():
    aws = {"aws_access_key_id": "A", "aws_secret_access_key": "B", "aws_region_name": "r"}
    hidden = {"output": {"message": {"content": [{"reasoningContent": {"redactedContent": "xx"}}, {"text": "a"}]}}, "stopReason": "end_turn",
              "usage": {"inputTokens": 9, "outputTokens": 3, "totalTokens": 62, "cacheReadInputTokens": 30, "cacheWriteInputTokens": 20}}
    wire = Wire([head("application/json"), json.dumps(hidden).encode()])
    reply = call(wire, model="bedrock/m", stream=False, api_base=wire.url, **aws)[1]["reply"]
    assert reply["usage"] == {"prompt_tokens": 59, "completion_tokens": 3, "total_tokens": 62, "prompt_tokens_details": {"cached_tokens": 30}, "cache_creation_input_tokens": 20}, reply
    assert reply["message"]["thinking_blocks"] == [{"type": "redacted_thinking", "data": "xx"}]
    wire = Wire([head("application/json"), json.dumps(hidden).encode()])
    call(wire, model="bedrock/m", stream=False, api_base=wire.url, messages=[{"role": "user", "content": "q"}, reply["message"], {"role": "user", "content": "r"}], **aws)
    assert wire.requests[0][1]["messages"][1]["content"][0] == {"reasoningContent": {"redactedContent": "xx"}}, wire.requests
    parts = [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    drawn = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}],
             "usageMetadata": {"promptTokenCount": 9, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 17}}
    wire = Wire([head("application/json"), json.dumps(drawn).encode()])
    reply = call(wire, model="gemini/m", stream=False, api_base=wire.url)[1]["reply"]
    assert reply["content"] == "a" and reply["message"]["images"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}], reply
    assert reply["usage"]["prompt_tokens"] == 14 and reply["usage"]["total_tokens"] == 17


def test_tokens_of_a_cache():
    for more in ({"usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 7}},
                 {"usage": {"prompt_tokens": 9, "completion_tokens": 1}, "timings": {"cache_n": 7}}):
        events = [chunk(content="x", finish="stop"), {"choices": [], **more}]
        assert call(Wire([head(), sse(*events)]))[1]["reply"]["usage"]["prompt_tokens_details"] == {"cached_tokens": 7}


def test_retries_and_waits():
    ok = [head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()]
    busy = [head("application/json", "429 Too Many", "retry-after-ms: 300\r\n"), b'{"error": {"message": "slow down"}}']
    wire = Wire(busy, ok)
    _, end = call(wire, stream=False, max_retries=1)
    assert end["reply"]["content"] == "ok" and 0.28 < wire.times[1] - wire.times[0] < 0.6
    wire = Wire([head("application/json", "429 Too Many", "retry-after: 500\r\n"), b"{}"], ok)
    e = error_of(call(wire, stream=False, max_retries=2)[1], "rate_limit", 429)
    assert len(wire.requests) == 1 and json.loads(e["detail"])["retry_after_seconds"] == 500
    wire = Wire([head("application/json", "500 Oh", "x-should-retry: false\r\n"), b"{}"], ok)
    error_of(call(wire, stream=False, max_retries=2)[1], "server", 500)
    assert len(wire.requests) == 1
    wire = Wire([head("application/json", "429 No", "x-should-retry: true\r\n"), b'{"error": {"code": "insufficient_quota", "message": "q"}}'], ok)
    error_of(call(wire, stream=False, max_retries=2)[1], "quota", 429)
    assert len(wire.requests) == 1


def test_fallbacks():
    ok = [head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()]
    bad = [head("application/json", "400 Bad"), b'{"error": {"message": "bad"}}']
    wire = Wire(bad, bad, ok)
    _, end = call(wire, stream=False, temperature=0.5, fallbacks=["openai/second", {"model": "openai/third", "temperature": 0.1}])
    assert end["reply"]["content"] == "ok"
    assert [(b["model"], b["temperature"]) for _, b in wire.requests] == [("m", 0.5), ("second", 0.5), ("third", 0.1)]
    e = error_of(call(Wire(bad), stream=False, fallbacks=["openai/second"])[1], "bad_request", 400)
    assert e["msg"].startswith("Error during 'openai/m' model call: ") and "All fallback attempts failed." in e["msg"]


def test_fallbacks_start_from_the_block():
    ok = [head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()]
    bad = [head("application/json", "400 Bad"), b'{"error": {"message": "bad"}}']
    first, second = Wire(bad, ok), Wire(bad)
    _, end = call(first, stream=False, temperature=0.5, fallbacks=[
        {"model": "openai/second", "temperature": 0.1, "api_base": second.url, "api_key": "sk-of-the-second"}, "openai/third"])
    second.close()
    assert end["reply"]["content"] == "ok", end
    assert [(b["model"], b["temperature"]) for _, b in first.requests] == [("m", 0.5), ("third", 0.5)] and len(second.requests) == 1
    assert "sk-of-the-second" not in first.requests[1][0] and w.KEY not in second.requests[0][0]


def test_longer_model_then_the_list():
    ok = [head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()]
    long = [head("application/json", "400 Bad"), b'{"error": {"message": "prompt is too long"}}']
    wire = Wire(long, long, ok)
    _, end = call(wire, stream=False, context_window_fallback_dict={"openai/m": "openai/longer"}, fallbacks=["openai/list"])
    assert end["reply"]["content"] == "ok" and [b["model"] for _, b in wire.requests] == ["m", "longer", "list"], end
    wire = Wire(long, ok)
    assert call(wire, stream=False, context_window_fallback_dict={"other": "x"}, fallbacks=["openai/list"])[1]["reply"]["content"] == "ok"


def test_keys_stay_with_their_provider():
    bad = [head("application/json", "400 Bad"), b'{"error": {"message": "bad"}}']
    first, other = Wire(bad), Wire([head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()])
    one = {"model": "openai/m", "messages": [], "parameters": {"api_key": w.KEY, "max_retries": 0, "fallbacks": ["groq/g"]}}
    env = {"OPENAI_API_BASE": first.url, "GROQ_API_BASE": other.url, "GROQ_API_KEY": "sk-of-groq"}
    lines = run({"calls": [one], "env": env})
    first.close()
    other.close()
    assert lines[-1]["reply"]["content"] == "ok", lines
    assert w.KEY in first.requests[0][0] and w.KEY not in other.requests[0][0] and "Bearer sk-of-groq" in other.requests[0][0]


def test_schema_is_dropped_when_refused():
    ok = [head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()]
    bad = [head("application/json", "400 Bad"), b'{"error": {"message": "unknown field response_format"}}']
    wire = Wire(bad, ok)
    one = {"model": "openai/m", "messages": [], "schema": {"type": "object", "properties": {}},
           "parameters": {"api_base": wire.url, "api_key": "k", "max_retries": 0}}
    lines = run({"calls": [one]})
    wire.close()
    assert lines[-1]["reply"]["content"] == "ok", lines
    assert ["response_format" in b for _, b in wire.requests] == [True, False]


def test_key_in_the_servers_text_is_masked():
    bad = [head("application/json", "401 No"), b'{"error": {"message": "Incorrect API key provided: sk-secret-0123456789."}}']
    e = error_of(call(Wire(bad), stream=False)[1], "auth", 401)
    assert "Incorrect API key provided: [REDACTED]." in e["msg"]


def test_contents():
    ok = [head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()]
    wire = Wire(ok)
    parts = [{"type": "text", "text": "t"}]
    call(wire, stream=False, messages=[{"role": "user", "content": c, "pdl__defsite": "x"} for c in ("s", parts, 7, {"a": 1}, [1, "b"], True)])
    assert [m["content"] for m in wire.requests[0][1]["messages"]] == ["s", parts, "7", '{"a": 1}', '[1, "b"]', "true"]
    assert all("pdl__defsite" not in m for m in wire.requests[0][1]["messages"])


def test_numbers_written_as_text():
    wire = Wire([head("application/json"), json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()])
    call(wire, stream=False, temperature="0.5", max_tokens="12", logprobs="true", stop="3", custom="4")
    body = wire.requests[0][1]
    assert [body[k] for k in ("temperature", "max_tokens", "logprobs", "stop", "custom")] == [0.5, 12, True, "3", "4"]


def test_keep_alive_and_many_calls():
    events = sse(*GOOD)
    answer = head().replace(b"Connection: close\r\n", b"Content-Length: %d\r\n" % len(events)) + events
    wire = Wire([answer])
    one = {"model": "openai/m", "messages": [], "stream": True, "parameters": {"api_base": wire.url, "api_key": "k"}}
    lines = run({"calls": [one], "repeat": 50, "quiet": True})
    wire.close()
    assert lines[-1]["failed"] == 0 and lines[-1]["calls"] == 50, lines
