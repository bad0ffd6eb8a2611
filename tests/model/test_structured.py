# SPDX-License-Identifier: Apache-2.0
"""The schema of a block is sent in the strongest form that the service has, and the trace says which one; through model_driver."""
import json

from .wire import KEY, Wire, chunk, head, run, sse

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
LIST = {"type": "array", "items": {"type": "integer"}}
ENUM = {"enum": ["a", "b"]}


def whole(content):
    return [head("application/json"), json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()]


def ask(wire, model, schema=PERSON, prompt="Who?", stream=False, parsed=False, **parameters):
    base = wire.url if model.startswith(("ollama", "anthropic", "gemini", "azure", "watsonx", "bedrock", "replicate")) else wire.url + "/v1"
    one = {"model": model, "messages": [{"role": "user", "content": prompt}], "schema": schema, "stream": stream, "parsed": parsed,
           "parameters": {"api_base": base, "api_key": KEY, "max_retries": 0, "token": "t", "project_id": "p", **parameters}}
    lines = run({"calls": [one]})
    wire.close()
    return "".join(x["piece"] for x in lines if "piece" in x), lines[-1], [b for _, b in wire.requests]


def form_of(model, answer=None, **kw):
    _, end, bodies = ask(Wire(answer or whole("{}")), model, **kw)
    assert "reply" in end, end
    return end["reply"].get("structured"), bodies[0], end["reply"]


def test_forms():
    form, body, _ = form_of("hosted_vllm/m")
    assert form == "json_schema" and body["response_format"]["json_schema"]["schema"] == PERSON
    form, body, _ = form_of("ollama_chat/m", [head("application/json"), b'{"message": {"content": "{}"}, "done": true}'])
    assert form == "format" and body["format"] == PERSON
    form, body, _ = form_of("gemini/m", [head("application/json"), b'{"candidates": [{"content": {"parts": [{"text": "{}"}]}, "finishReason": "STOP"}]}'])
    assert form == "response_json_schema" and body["generationConfig"]["response_json_schema"] == PERSON
    form, body, _ = form_of("watsonx/m")
    assert form == "json_schema"
    for schema, strict in ((PERSON, True), (LIST, True), (ENUM, True), ({**PERSON, "required": ["name"]}, False), ({"type": "object"}, False),
                           ({"type": "object", "properties": {"a": {**PERSON, "required": []}}, "required": ["a"]}, False)):
        form, body, _ = form_of("openai/my-model", schema=schema)
        sent = body["response_format"]["json_schema"]
        assert form == "json_schema" and sent["schema"] == schema and sent["strict"] is strict, (schema, sent)
    form, body, _ = form_of("azure/m")
    assert form == "json_schema, strict" and body["response_format"]["json_schema"]["schema"]["additionalProperties"] is False
    for schema in ({"type": "object"}, {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}}):
        form, body, _ = form_of("azure/m", schema=schema)
        assert form == "json_schema" and body["response_format"]["json_schema"]["strict"] is False


def test_forced_tools():
    answer = {"content": [{"type": "tool_use", "id": "1", "name": "json_tool_call", "input": {"name": "Ada", "age": 1}}], "stop_reason": "tool_use"}
    form, body, reply = form_of("anthropic/m", [head("application/json"), json.dumps(answer).encode()])
    assert form == "forced tool" and body["tools"][0]["input_schema"] == PERSON and json.loads(reply["content"]) == {"name": "Ada", "age": 1}
    answer["content"][0]["input"] = {"value": [1, 2]}
    form, body, reply = form_of("anthropic/m", [head("application/json"), json.dumps(answer).encode()], schema=LIST)
    assert body["tools"][0]["input_schema"]["properties"]["value"] == LIST and reply["content"] == "[1, 2]"
    form, body, _ = form_of("groq/m")
    assert form == "forced tool" and body["tool_choice"]["function"]["name"] == "json_tool_call"


def test_schemas_that_a_tool_cannot_have():
    """A choice at the root is wrapped; other names of properties than those that the service takes are asked for in words."""
    said = [head("application/json"), json.dumps({"content": [{"type": "tool_use", "id": "1", "name": "json_tool_call", "input": {"value": {"a": "x"}}}], "stop_reason": "tool_use"}).encode()]
    text = {"a": {"type": "string"}}
    for schema in ({"type": "object", "properties": text, "anyOf": [{"required": ["a"]}]}, {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": text}}}):
        form, body, reply = form_of("anthropic/m", said, schema=schema)
        sent = body["tools"][0]["input_schema"]
        assert (form, list(sent["properties"])) == ("forced tool", ["value"]) and sent.get("$defs") == schema.get("$defs") and json.loads(reply["content"]) == {"a": "x"}, (sent, reply)
    plain = {"anthropic/m": [head("application/json"), json.dumps({"content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn"}).encode()],
             "bedrock/m": [head("application/json"), json.dumps({"output": {"message": {"role": "assistant", "content": [{"text": "{}"}]}}, "stopReason": "end_turn"}).encode()]}
    for name in ("a b", "$a", "\u00e9", "", "a" * 65):
        for schema in ({"type": "object", "properties": {name: {}}}, {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {name: {}}}}}}):
            for model, answer in plain.items():
                form, body, _ = form_of(model, answer, schema=schema)
                assert form == "prompt" and "tools" not in body and "toolConfig" not in body, (model, name, body)
    for schema in ({"type": "object", "properties": {"a-b.C_1": {}}}, {"type": "object", "properties": {"properties": {"enum": ["a b"]}}}, {"type": "object", "properties": {"a" * 64: {}}}):
        assert form_of("anthropic/m", plain["anthropic/m"], schema=schema)[0] == "forced tool"
    bad = [head("application/json", "400 Bad"), json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "tools.0.custom.input_schema: JSON schema is invalid"}}).encode()]
    _, end, bodies = ask(Wire(bad, plain["anthropic/m"]), "anthropic/m")
    assert ["tools" in b for b in bodies] == [True, False] and [a["next"] for a in end["reply"]["attempts"]] == ["without schema"], end


def test_values_that_are_no_objects():
    for schema, said, parsed, want in ((LIST, [1, 2], False, "[1, 2]"), (ENUM, "a", False, "a"), (ENUM, "a", True, '"a"'), (LIST, 3, True, "3")):
        form, body, reply = form_of("azure/m", whole(json.dumps({"value": said})), schema=schema, parsed=parsed)
        assert body["response_format"]["json_schema"]["schema"]["properties"]["value"] == ({**ENUM, "type": "string"} if schema == ENUM else schema)
        assert reply["content"] == want == reply["message"]["content"], reply
    assert form_of("azure/m", whole("not JSON"), schema=LIST)[2]["content"] == "not JSON"
    fenced = "```json\n%s\n```\n"
    assert form_of("azure/m", whole(fenced % '{"value": [1]}'), schema=LIST)[2]["content"] == "[1]"
    assert form_of("azure/m", whole(fenced % '{"name": "a", "age": null}'), schema={**PERSON, "required": ["name"]})[2]["content"] == '{"name": "a"}'
    assert form_of("azure/m", whole(fenced % "no JSON"), schema=LIST)[2]["content"] == fenced % "no JSON"
    events = [chunk(content=c) for c in json.dumps({"value": [1, 2]})] + [chunk(finish="stop")]
    pieces, end, _ = ask(Wire([head(), sse(*events)]), "azure/m", schema=LIST, stream=True)
    assert pieces == "[1, 2]" == end["reply"]["content"], (pieces, end)


def test_optional_properties_come_as_null():
    """The strict form requires every property: optional ones may be null, and are then not there."""
    inner = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x"]}
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": inner, "c": {"type": "array", "items": inner},
                                               "n": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["a"]}
    said = {"a": "t", "b": {"x": 1, "y": None}, "c": [{"x": 1, "y": None}, {"x": 2, "y": 3}], "n": None}
    meant = {"a": "t", "b": {"x": 1}, "c": [{"x": 1}, {"x": 2, "y": 3}], "n": None}
    form, body, reply = form_of("azure/m", whole(json.dumps(said)), schema=schema)
    sent = body["response_format"]["json_schema"]
    assert form == "json_schema, strict" and sent["strict"] is True and sent["schema"]["required"] == ["a", "b", "c", "n"], sent
    assert sent["schema"]["properties"]["b"]["anyOf"][1] == {"type": "null"} and sent["schema"]["properties"]["b"]["anyOf"][0]["required"] == ["x", "y"]
    assert sent["schema"]["properties"]["n"] == schema["properties"]["n"] and "anyOf" not in sent["schema"]["properties"]["a"]
    assert json.loads(reply["content"]) == meant == json.loads(reply["message"]["content"]), reply
    events = [chunk(content=c) for c in json.dumps({**said, "c": None})] + [chunk(finish="stop")]
    pieces, end, _ = ask(Wire([head(), sse(*events)]), "azure/m", schema=schema, stream=True)
    assert pieces == end["reply"]["content"] and json.loads(pieces) == {"a": "t", "b": {"x": 1}, "n": None}, (pieces, end)
    assert form_of("azure/m", whole("not JSON"), schema=schema)[2]["content"] == "not JSON"
    listed = {"type": "array", "items": inner}
    assert form_of("azure/m", whole('{"value": [{"x": 1, "y": null}]}'), schema=listed)[2]["content"] == '[{"x": 1}]'


TEXT, NULL = {"type": "string"}, {"type": "null"}
N = {"$ref": "#/$defs/N"}


def strict_of(x):
    """The strict form of an object whose required x has this schema; None where there is none."""
    form, body, _ = form_of("azure/m", schema={"type": "object", "properties": {"x": x}, "required": ["x"]})
    sent = body["response_format"]["json_schema"]
    return sent["schema"]["properties"]["x"] if sent["strict"] else None


def test_what_the_strict_form_takes():
    """What OpenAI's strict mode refuses is left out where it only narrows the schema; else the schema is not called strict, since a refusal costs a second call."""
    for given, want in (({"const": True}, {"const": True, "type": "boolean"}), ({**TEXT, "minLength": 1, "maxLength": 2}, TEXT), ({**TEXT, "format": "uri"}, TEXT), ({**TEXT, "format": "email"}, {**TEXT, "format": "email"}),
                        ({"type": ["object", "null"], "properties": {}}, {"type": ["object", "null"], "properties": {}, "required": [], "additionalProperties": False})):
        assert strict_of(given) == want, given
    for given in ({"type": "object", "properties": {"a": TEXT}, "required": ["b"]}, {"type": "object", "properties": {"a": TEXT}, "anyOf": [{**N}]}, {"type": ["array", "null"]}):
        assert strict_of(given) is None, given


def test_references_in_the_strict_form():
    node = {"type": "object", "properties": {"v": TEXT, "w": TEXT, "next": N}, "required": ["v"]}
    for defs in ("$defs", "definitions"):
        ref = {"$ref": "#/%s/N" % defs}
        one = {**node, "properties": {**node["properties"], "next": ref}}
        whole_one = {"type": "object", "properties": {"x": ref}, "required": ["x"], defs: {"N": one}}
        said = {"v": "a", "w": None, "next": {"v": "b", "w": "c", "next": None}}
        meant = {"v": "a", "next": {"v": "b", "w": "c"}}
        form, body, reply = form_of("azure/m", whole(json.dumps({"x": said})), schema=whole_one)
        sent = body["response_format"]["json_schema"]
        assert sent["strict"] is True and sent["schema"][defs]["N"]["required"] == ["v", "w", "next"], sent
        assert json.loads(reply["content"]) == {"x": meant}, reply
        listed = {"type": "array", "items": ref, defs: {"N": one}}
        form, body, reply = form_of("azure/m", whole(json.dumps({"value": [said]})), schema=listed)
        sent = body["response_format"]["json_schema"]["schema"]
        assert list(sent["properties"]["value"]) == ["type", "items"] and sent[defs]["N"]["properties"]["v"] == TEXT, sent
        assert json.loads(reply["content"]) == [meant], reply


def test_a_property_that_may_be_null_keeps_its_null():
    for x in ({"type": ["string", "null"]}, {"const": None}, {"anyOf": [TEXT, NULL]}):
        schema = {"type": "object", "properties": {"x": x}}
        assert json.loads(form_of("azure/m", whole('{"x": null}'), schema=schema)[2]["content"]) == {"x": None}, x


def test_a_text_needs_no_schema():
    form, body, _ = form_of("azure/m", schema={"type": "string"})
    assert form is None and "response_format" not in body


def test_in_words():
    form, body, _ = form_of("deepseek/m")
    assert form == "json_object and prompt" and body["response_format"] == {"type": "json_object"}
    assert body["messages"][0]["content"].startswith("Who?\n\nReply with JSON") and json.dumps(PERSON) in body["messages"][0]["content"]
    form, body, _ = form_of("deepseek/m", prompt="Who? Answer in JSON.")
    assert form == "json_object and prompt" and body["messages"][0]["content"] == "Who? Answer in JSON."
    text = [head("application/json"), b'{"choices": [{"text": "{}"}]}']
    form, body, _ = form_of("text-completion-openai/m", text)
    assert form == "prompt" and "Reply with JSON" in body["prompt"]
    form, body, _ = form_of("text-completion-openai/m", text, prompt="Some json:")
    assert form == "prompt of the program" and body["prompt"] == "Some json:"
    form, body, _ = form_of("text-completion-openai/m", text, schema={"type": "string"})
    assert form is None and body["prompt"] == "Who?"


def test_refused_once_then_in_words():
    bad = [head("application/json", "400 Bad"), b'{"error": {"message": "response_format is not supported"}}']
    wire = Wire(bad, whole("{}"))
    _, end, bodies = ask(wire, "hosted_vllm/m")
    assert ["response_format" in b for b in bodies] == [True, False] and "Reply with JSON" in bodies[1]["messages"][0]["content"]
    reply = end["reply"]
    assert reply["structured"] == "prompt" and [(a["next"], a["status"]) for a in reply["attempts"]] == [("without schema", 400)], reply


def test_gemini_takes_no_schema_beside_tools():
    """The words of the service name its own field."""
    words = ("Function calling with a response mime type: 'application/json' is unsupported", "set the mode to ANY instead of populating 'response_mime_type' and 'response_schema' fields")
    for message in words:
        bad = [head("application/json", "400 Bad"), json.dumps({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}).encode()]
        good = [head("application/json"), b'{"candidates": [{"content": {"parts": [{"text": "{}"}]}, "finishReason": "STOP"}]}']
        _, end, bodies = ask(Wire(bad, good), "gemini/m")
        assert ["response_json_schema" in b["generationConfig"] for b in bodies] == [True, False], bodies
        assert [a["next"] for a in end["reply"]["attempts"]] == ["without schema"], end


def test_the_schema_tool_is_cut():
    """The end of the forced tool's arguments is no ordinary end when a limit made it."""
    for reason, want in (("tool_use", "stop"), ("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "content_filter")):
        said = {"content": [{"type": "tool_use", "id": "t", "name": "json_tool_call", "input": {"name": "A"}}], "stop_reason": reason}
        reply = form_of("anthropic/m", [head("application/json"), json.dumps(said).encode()])[2]
        assert (reply["content"], reply["raw"]["choices"][0]["finish_reason"]) == ('{"name": "A"}', want), reply


def test_the_programs_own_format_stays():
    form, body, _ = form_of("hosted_vllm/m", response_format={"type": "json_object"})
    assert form is None and body["response_format"] == {"type": "json_object"} and body["messages"][0]["content"] == "Who?"
