# SPDX-License-Identifier: Apache-2.0
"""The bytes that are sent for parameters and messages for which services need a special form; through model_driver. A row is a model, a request, and
the fields that follow in the body (None: the field is absent), or an error."""
import json
import os
import time

from .wire import Wire, call, error_of, head

OPENAI = {"choices": [{"message": {"role": "assistant", "content": "ok"}}]}
REPLIES = {
    "anthropic": {"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]},
    "bedrock": {"output": {"message": {"content": [{"text": "ok"}]}}, "stopReason": "end_turn"},
    "ollama": {"response": "ok", "done": True},
    "ollama_chat": {"message": {"content": "ok"}, "done": True},
    "watsonx_text": {"results": [{"generated_text": "ok", "stop_reason": "eos_token"}]},
    "text-completion-openai": {"choices": [{"text": "ok"}]},
}
KEYS = {"bedrock": {"aws_access_key_id": "A", "aws_secret_access_key": "B", "aws_region_name": "r"}, "watsonx_text": {"project_id": "p", "token": "t"}}
PNG = "data:image/png;base64,AAAA"
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}, "strict": True}}


def user(content):
    return {"role": "user", "content": content}


def bot(content, **more):
    return {"role": "assistant", "content": content, **more}


def tool(ident, content, **more):
    return {"role": "tool", "tool_call_id": ident, "content": content, **more}


def a_call(ident, arguments='{"x": 1}'):
    return {"id": ident, "type": "function", "function": {"name": "f", "arguments": arguments}}


def part(kind, **fields):
    return {"type": kind, **fields}


def image(url):
    return part("image_url", image_url={"url": url})


def document(data, mime="application/pdf"):
    return part("file", file={"file_data": "data:%s;base64,%s" % (mime, data)})


AUDIO = part("input_audio", input_audio={"data": "AAAA", "format": "wav"})
TWICE = [user("a"), user("b"), bot("c"), bot("d"), user("e")]
EMPTY = [user("x"), bot(""), user("y")]
CALLS = [user("q"), bot(None, tool_calls=[a_call("c/1"), a_call("c.2", "")]), tool("c/1", "r"), tool("c.2", '{"t": 2}', name="g")]


def ask(model, messages=None, **parameters):
    provider = model.split("/")[0]
    wire = Wire([head("application/json"), json.dumps(REPLIES.get(provider, OPENAI)).encode()])
    native = provider in REPLIES and provider != "text-completion-openai"
    base = {"api_base": wire.url} if native else {}
    _, end = call(wire, model, stream=False, messages=messages, **KEYS.get(provider, {}), **base, **parameters)
    return end, wire.requests[0] if wire.requests else None


def check(rows):
    for model, messages, parameters, want in rows:
        end, request = ask(model, messages, **parameters)
        assert "reply" in end, (model, parameters, end)
        body = request[1]
        got = {k: body.get(k) for k in want}
        assert got == want, "%s %s %s\n  got  %s\n  want %s" % (model, messages, parameters, json.dumps(got), json.dumps(want))


def text(*texts):
    return [{"type": "text", "text": t} for t in texts]


def test_turns():
    g, b = [{"text": "a"}, {"text": "b"}], [{"text": "c"}, {"text": "d"}]
    check([
        ("anthropic/m", TWICE, {}, {"messages": [user(text("a", "b")), bot(text("c", "d")), user(text("e"))], "system": None}),
        ("bedrock/m", TWICE, {}, {"messages": [user(g), bot(b), user([{"text": "e"}])]}),
        ("gemini/m", TWICE, {}, {"contents": [{"role": "user", "parts": g}, {"role": "model", "parts": b}, {"role": "user", "parts": [{"text": "e"}]}]}),
        ("anthropic/m", EMPTY, {}, {"messages": [user(text("x", "y"))]}),
        ("bedrock/m", EMPTY, {}, {"messages": [user([{"text": "x"}, {"text": "y"}])]}),
        ("gemini/m", EMPTY, {}, {"contents": [{"role": "user", "parts": [{"text": "x"}, {"text": "y"}]}]}),
        ("gemini/m", [{"role": "system", "content": text("A", "B")}, user("x")], {}, {"system_instruction": {"parts": [{"text": "AB"}]}}),
        ("gemini/m", [{"role": "system", "content": "A"}], {}, {"contents": [{"role": "user", "parts": [{"text": "."}]}]}),
        ("anthropic/m", [user("x"), bot("y  \n")], {}, {"messages": [user(text("x")), bot(text("y"))]}),
    ])
    for model in ("anthropic/m", "bedrock/m"):
        error_of(ask(model, [{"role": "system", "content": "A"}])[0], "bad_request", None, "at least one non-system message")


def test_calls_and_results():
    def use(ident, args):
        return {"type": "tool_use", "id": ident, "name": "f", "input": args}

    def result(ident, content):
        return {"type": "tool_result", "tool_use_id": ident, "content": content}
    check([
        ("anthropic/m", CALLS, {}, {"messages": [user(text("q")), bot([use("c_1", {"x": 1}), use("c_2", {})]),
                                                 user([result("c_1", "r"), result("c_2", '{"t": 2}')])]}),
        ("bedrock/m", CALLS[:3], {}, {"messages": [
            user([{"text": "q"}]),
            bot([{"toolUse": {"toolUseId": "c_1", "name": "f", "input": {"x": 1}}}, {"toolUse": {"toolUseId": "c.2", "name": "f", "input": {}}}]),
            user([{"toolResult": {"toolUseId": "c_1", "content": [{"text": "r"}]}}])]}),
        ("gemini/m", CALLS, {}, {"contents": [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"x": 1}}}, {"function_call": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"content": "r"}}},
                                       {"function_response": {"name": "g", "response": {"t": 2}}}]}]}),
        ("bedrock/m", None, {"tools": [TOOL], "tool_choice": "required"}, {"toolConfig": {
            "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": TOOL["function"]["parameters"]}}}], "toolChoice": {"any": {}}}}),
        ("deepinfra/m", None, {"tools": [TOOL], "tool_choice": "auto"}, {"tool_choice": None, "tools": [TOOL]}),
        ("bedrock/m", None, {"tools": [TOOL], "tool_choice": "none", "drop_params": True}, {"toolConfig": {
            "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": TOOL["function"]["parameters"]}}}]}}),
    ])
    error_of(ask("bedrock/m", tools=[TOOL], tool_choice="none")[0], "unsupported_params", None, "tool_choice")
    error_of(ask("text-completion-openai/m", tools=[TOOL])[0], "unsupported_params", None, "['tools']")


NO_ARGUMENTS = ({"type": "object"}, {"type": "object", "properties": None}, {}, {"type": "string"}, {"type": "object", "properties": {}})


def test_tools_without_arguments():
    """Services want `properties`; Gemini wants no schema without any."""
    empty = {"type": "object", "properties": {}}
    for given in NO_ARGUMENTS:
        tools = [{"type": "function", "function": {"name": "f", "parameters": given}}]
        whole = [{"type": "function", "function": {"name": "f", "parameters": empty}}]
        check([(model, None, {"tools": tools}, {"tools": whole}) for model in ("openai/m", "mistral/m", "azure/m", "groq/m", "ollama_chat/m", "hosted_vllm/m")])
        check([("anthropic/m", None, {"tools": tools}, {"tools": [{"type": "custom", "name": "f", "input_schema": empty}]}),
               ("bedrock/m", None, {"tools": tools}, {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": empty}}}]}}),
               ("gemini/m", None, {"tools": tools}, {"tools": [{"function_declarations": [{"name": "f"}]}]})])
    for model, want in (("openai/m", {"tools": [{"type": "function", "function": {"name": "f"}}]}), ("gemini/m", {"tools": [{"function_declarations": [{"name": "f"}]}]})):
        for given in ({"name": "f", "parameters": None}, {"name": "f"}):
            check([(model, None, {"tools": [{"type": "function", "function": given}]}, want)])
    one = {"x": {"type": "string"}}
    for given in ({"type": ["object", "null"], "properties": one}, {"anyOf": [{"type": "object", "properties": one}, {"type": "null"}]}, {"oneOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "object", "properties": one}}},
                  {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": one}}}, {"allOf": [{"type": "object", "properties": one}]}, {"type": "object", "properties": one, "required": ["x"]}):
        flat = {"type": "object", "properties": one, **({"required": ["x"]} if "required" in given else {}), **({"$defs": given["$defs"]} if "$defs" in given else {})}
        tools, sent = [{"type": "function", "function": {"name": "f", "parameters": given}}], flat
        plain = "$defs" not in given
        check([("openai/m", None, {"tools": tools}, {"tools": [{"type": "function", "function": {"name": "f", "parameters": sent}}]}),
               ("gemini/m", None, {"tools": tools}, {"tools": [{"function_declarations": [{"name": "f", ("parameters" if plain else "parameters_json_schema"): sent}]}]}),
               ("anthropic/m", None, {"tools": tools}, {"tools": [{"type": "custom", "name": "f", "input_schema": sent}]})])
    untyped = {"properties": one}
    check([("openai/m", None, {"tools": [{"type": "function", "function": {"name": "f", "parameters": untyped}}]},
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {**untyped, "type": "object"}}}]})])
    free = {"type": "object", "additionalProperties": {"type": "integer"}}
    check([("openai/m", None, {"tools": [{"type": "function", "function": {"name": "f", "parameters": free}}]},
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {**free, "properties": {}}}}]})])


A, B = ({"type": "object", "properties": {"k": {"const": c}, n: {"type": "integer"}}, "required": ["k", n]} for c, n in ("ap", "bq"))
# (what it is, the schema of a tool, what is sent)
CHOICES = [
    ("a choice of required ones", {"type": "object", "properties": {"x": {"type": "string"}}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}, {"type": "object", "properties": {"x": {"type": "string"}}}),
    ("a choice of objects", {"anyOf": [A, B]}, {"type": "object", "properties": {"k": {"anyOf": [{"const": "a"}, {"const": "b"}]}, "p": {"type": "integer"}, "q": {"type": "integer"}}, "required": ["k"]}),
    ("an object or null", {"oneOf": [{"type": "null"}, A]}, A),
    ("a reference", {"$ref": "#/definitions/A", "definitions": {"A": {**A, "description": "d"}}}, {**A, "description": "d", "definitions": {"A": {**A, "description": "d"}}}),
    ("all of them", {"allOf": [A, {"properties": {"z": {}}, "required": ["z"]}]}, {"type": "object", "properties": {**A["properties"], "z": {}}, "required": ["k", "p", "z"]}),
    ("choices inside choices", {"anyOf": [{"oneOf": [A, {"$ref": "#/$defs/B"}]}], "$defs": {"B": B}}, {"type": "object", "properties": {"k": {"anyOf": [{"const": "a"}, {"const": "b"}]}, "p": {"type": "integer"}, "q": {"type": "integer"}}, "$defs": {"B": B}}),
    ("not", {**A, "not": {"required": ["z"]}}, A),
    ("a reference to itself", {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, {"type": "object", "properties": {}, "$defs": {"A": {"$ref": "#/$defs/A"}}}),
    ("no schemas", {"anyOf": [True, 3], "allOf": None}, {"type": "object", "properties": {}}),
    ("arrays of anything", {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": ["array", "null"]}, "c": {"anyOf": [{"type": "array", "items": {"type": "array"}}]}}},
     {"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {"type": ["array", "null"], "items": {}}, "c": {"anyOf": [{"type": "array", "items": {"type": "array", "items": {}}}]}}}),
    ("a property named type", {"type": "object", "properties": {"type": {"type": "string", "default": {"type": "array"}}}}, {"type": "object", "properties": {"type": {"type": "string", "default": {"type": "array"}}}}),
]


def test_choices_of_many_arguments():
    """A schema of a tool server costs in proportion to its length: when names were searched in lists, this took a minute. Of many forms of one
    argument none is sent."""
    names = ["a%d" % i for i in range(20000)]
    one = {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": names}
    forms = {"oneOf": [{"properties": {"x": {"enum": [i]}}, "required": ["x"]} for i in range(200)]}
    for schema, want in (({"anyOf": [one, {**one, "required": names[::-1] + ["b"]}]}, (20000, 20000)), (forms, (1, 1))):
        begin = time.process_time() + sum(os.times()[2:4])
        _, request = ask("openai/m", None, tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}])
        sent = request[1]["tools"][0]["function"]["parameters"]
        assert (len(sent["properties"]), len(sent["required"])) == want
        assert time.process_time() + sum(os.times()[2:4]) - begin < 5
    assert sent == {"type": "object", "properties": {"x": {}}, "required": ["x"]}, sent


def test_choices_of_arguments():
    """Services refuse a choice or a reference at the root, and an array that does not say what is in it."""
    for name, given, want in CHOICES:
        tools = [{"type": "function", "function": {"name": "f", "parameters": given}}]
        check([("openai/m", None, {"tools": tools}, {"tools": [{"type": "function", "function": {"name": "f", "parameters": want}}]}),
               ("anthropic/m", None, {"tools": tools}, {"tools": [{"type": "custom", "name": "f", "input_schema": want}]}),
               ("bedrock/m", None, {"tools": tools}, {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": want}}}]}})])


def sent_as(given, want, models=("openai/m", "groq/m", "ollama_chat/m", "anthropic/m", "bedrock/m")):
    """A tool with this schema reaches each service with that one."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": given}}]
    plain = {"tools": [{"type": "function", "function": {"name": "f", "parameters": want}}]}
    forms = {"anthropic/m": {"tools": [{"type": "custom", "name": "f", "input_schema": want}]}, "bedrock/m": {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": want}}}]}}}
    check([(m, None, {"tools": tools}, forms.get(m, plain)) for m in models])


STRING, WHOLE = {"type": "string"}, {"type": "number"}
AB = {"a": STRING, "b": WHOLE}


def test_many_choices_at_the_root_of_a_tool():
    one = {"type": "object", "properties": {}}
    sent_as({"oneOf": [{"type": "object", "properties": {"p%d" % i: STRING}} for i in range(99)]}, {**one, "properties": {"p%d" % i: STRING for i in range(99)}})


def test_older_drafts_in_the_schema_of_a_tool():
    """Services judge the schema by draft 2020-12 and refuse the whole request for one keyword of an older form."""
    for given, want in (({**STRING, "enum": None, "description": None, "default": None}, {**STRING, "default": None}), ({"type": "STRING"}, STRING), ({"type": ["Integer", "NULL"]}, {"type": ["integer", "null"]}),
                        ({"type": "float"}, WHOLE), ({"type": "any"}, {}), ({"type": ["any", "string"]}, {}), ({"type": []}, {}), (True, {}), (None, {}), ("string", STRING), ("text of a manual", {}), ([], {}),
                        ({**WHOLE, "minimum": 0, "exclusiveMinimum": True}, {**WHOLE, "exclusiveMinimum": 0}), ({**WHOLE, "maximum": 9, "exclusiveMaximum": False}, {**WHOLE, "maximum": 9}), ({**WHOLE, "exclusiveMaximum": 9}, {**WHOLE, "exclusiveMaximum": 9}),
                        ({"type": "array"}, {"type": "array", "items": {}}), ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}), ({"type": "array", "items": True}, {"type": "array", "items": {}}),
                        ({"type": "array", "items": [STRING, {"type": "INT"}]}, {"type": "array", "prefixItems": [STRING, {"type": "integer"}], "items": {}}),
                        ({"type": "array", "items": [STRING], "additionalItems": False}, {"type": "array", "prefixItems": [STRING], "items": False}), ({"type": "array", "items": []}, {"type": "array", "items": {}}),
                        ({**STRING, "enum": []}, STRING), ({**STRING, "enum": ["a", "b", "a"]}, {**STRING, "enum": ["a", "b"]}), ({"anyOf": []}, {}), ({"anyOf": [{"type": "STRING"}]}, {"anyOf": [STRING]}),
                        ({"type": "object", "properties": []}, {"type": "object", "properties": {}}), ({"type": "object", "properties": {"a": {**STRING, "required": True}, "b": {**WHOLE, "required": False}}}, {"type": "object", "properties": AB, "required": ["a"]}),
                        ({"type": "object", "properties": AB, "required": ["a", "a", 5]}, {"type": "object", "properties": AB, "required": ["a"]}), ({"type": "object", "properties": AB, "required": "a"}, {"type": "object", "properties": AB}),
                        ({"type": "object", "additionalProperties": {"type": "STRING"}}, {"type": "object", "additionalProperties": STRING}), ({"type": "object", "properties": {"type": STRING, "items": WHOLE}}, {"type": "object", "properties": {"type": STRING, "items": WHOLE}})):
        sent_as({"type": "object", "properties": {"x": given}}, {"type": "object", "properties": {"x": want}})
        sent_as({"type": "object", "properties": {}, "$defs": {"x": given}}, {"type": "object", "properties": {}, "$defs": {"x": want}}, ("openai/m",))
    sent_as({"type": "object", "properties": {"x": {**STRING, "required": True}}}, {"type": "object", "properties": {"x": STRING}, "required": ["x"]})


def test_empty_lists_of_tools():
    """Services refuse an empty list, and a choice without tools: a program that has no tools this time says nothing of them."""
    none = {"tools": None, "tool_choice": None, "parallel_tool_calls": None, "toolConfig": None}
    for model in ("openai/m", "mistral/m", "groq/m", "ollama_chat/m", "anthropic/m", "bedrock/m", "gemini/m", "azure/m", "text-completion-openai/m"):
        check([(model, None, {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False}, none)])
    check([("openai/m", None, {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False}, {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False})])


def test_past_tools_of_bedrock():
    """It wants tools wherever messages have calls; a request without tools names those that were called, once each."""
    spec = {"name": "f", "description": "It was called before. It is not available any more.", "inputSchema": {"json": {"type": "object", "properties": {}}}}
    talk = [user("q"), bot("", tool_calls=[a_call("c"), a_call("d")]), tool("c", "1"), tool("d", "2"), user("sum up")]
    check([("bedrock/m", talk, {}, {"toolConfig": {"tools": [{"toolSpec": spec}]}}), ("bedrock/m", talk, {"tools": []}, {"toolConfig": {"tools": [{"toolSpec": spec}]}}),
           ("bedrock/m", [user("q")], {}, {"toolConfig": None}), ("anthropic/m", talk, {}, {"tools": None}),
           ("bedrock/m", talk, {"tools": [{"type": "function", "function": {"name": "g"}}]},
            {"toolConfig": {"tools": [{"toolSpec": {"name": "g", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]}})])


def test_types_of_data_addresses():
    """Parameters of a type are left out, and image/jpg is image/jpeg; whoever takes the address itself gets it with its type in lower case."""
    for given, want in (("image/jpg", "image/jpeg"), ("IMAGE/JPG", "image/jpeg"), ("image/png;charset=utf-8", "image/png"), ("image/webp", "image/webp")):
        url = "data:%s;base64,AAAA" % given
        shown = [user([image(url)])]
        check([("anthropic/m", shown, {}, {"messages": [user([{"type": "image", "source": {"type": "base64", "media_type": want, "data": "AAAA"}}])]}),
               ("bedrock/m", shown, {}, {"messages": [user([{"image": {"format": want.split("/")[1], "source": {"bytes": "AAAA"}}}])]}),
               ("gemini/m", shown, {}, {"contents": [{"role": "user", "parts": [{"inline_data": {"mime_type": want, "data": "AAAA"}}]}]}),
               ("openai/m", shown, {}, {"messages": [user([image(url.replace("IMAGE/JPG", "image/jpg"))])]})])


NEWEST = ["claude-opus-4-7", "claude-opus-4.8", "claude-opus-5-20260401", "claude-sonnet-5", "claude-haiku-5-5", "claude-fable-5", "claude-mythos-preview", "us.anthropic.claude-opus-4-7-v1:0"]
ONE_OF_TWO = ["claude-opus-4-1-20250805", "claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-4-5-20250929", "claude-sonnet-4-6", "claude-haiku-4-5"]
OLDER = ["claude-opus-4-20250514", "claude-sonnet-4-20250514", "claude-3-7-sonnet-20250219", "claude-3-opus-20240229", "claude-3-5-haiku-latest"]


def sampling(model, **parameters):
    """-> the parameters of sampling that were sent, or the error"""
    end, request = ask(model, **parameters)
    if request is None:
        return end["error"]["msg"] if isinstance(end.get("error"), dict) else str(end)
    body = request[1]
    inside = ("inferenceConfig", "additionalModelRequestFields", "input", "generationConfig", "parameters", "options")
    inner = {**body, **{k: v for part in inside for k, v in (body.get(part) or {}).items()}}
    names = {"temperature": "temperature", "top_p": "top_p", "topP": "top_p", "top_k": "top_k", "topK": "top_k"}
    return {names[k]: v for k, v in inner.items() if k in names}


def test_sampling_of_claude():
    """Each model gets the parameters that it takes; what it refuses is one error, or dropped."""
    for route in ("anthropic/", "bedrock/"):
        for model in NEWEST:
            for p in ({"temperature": 0}, {"top_p": 0.5}, {"top_k": 5}):
                said, name = sampling(route + model, **p), next(iter(p))
                assert "does not support parameters: ['%s']" % name in said, (model, p, said)
                assert sampling(route + model, **p, drop_params=True) == {}, (model, p)
                assert sampling(route + model, **p, allowed_openai_params=[name]) == p, (model, p)
            assert sampling(route + model, temperature=1, top_p=1.0) == {}, model
        for model in ONE_OF_TWO:
            assert sampling(route + model, temperature=0, top_k=5) == {"temperature": 0, "top_k": 5}, model
            assert sampling(route + model, top_p=0.5) == {"top_p": 0.5}, model
            assert sampling(route + model, temperature=0, top_p=1) == {"temperature": 0}, model
            assert sampling(route + model, temperature=1, top_p=0.5) == {"top_p": 0.5}, model
            assert sampling(route + model, temperature=1, top_p=1) == {"temperature": 1}, model
            assert "['top_p']" in sampling(route + model, temperature=0, top_p=0.5), model
            assert sampling(route + model, temperature=0, top_p=0.5, drop_params=True) == {"temperature": 0}, model
        for model in [*OLDER, "m"]:
            assert sampling(route + model, temperature=0.1, top_p=0.5, top_k=5) == {"temperature": 0.1, "top_p": 0.5, "top_k": 5}, model


# One route of each dialect that is not Anthropic's or Amazon's, and the parameters of sampling that it has.
OTHER_ROUTES = [("replicate/anthropic/", 3), ("openai/", 2), ("openrouter/anthropic/", 3), ("gemini/", 3), ("ollama_chat/", 3), ("text-completion-openai/", 2)]


def test_sampling_of_claude_elsewhere():
    """Other services have Claude models too, or models that are named like them: what they take is their business."""
    given = {"temperature": 0.1, "top_p": 0.5, "top_k": 5}
    for route, n in OTHER_ROUTES:
        for model in (NEWEST[0], ONE_OF_TWO[0], "m"):
            want = dict(list(given.items())[:n])
            assert sampling(route + model, **want) == want, route + model


# how people and tools write data; the bytes are fb f0 ff 01
ODD = ["data:image/png;base64,+/D/AQ==", "data:image/png;base64,-_D_AQ", "data:image/png;base64,-_D_AQ==", "data:image/png;base64,+/D/\r\nAQ==\n", "DATA:Image/PNG;Base64,+/D/AQ==",
       " data:image/png ; base64 , +/D/ AQ== ", "data:image/png;base64,%2B%2FD%2fAQ%3D%3D", "data:image/png,%FB%F0%FF%01", "data:image/png;base64,+/D/AQ"]


def test_data_in_other_forms():
    """Line ends, blanks, the alphabet for URLs, missing padding and upper case: every service gets the same bytes in the same form."""
    plain, data = "data:image/png;base64,+/D/AQ==", "+/D/AQ=="
    pdf, wav = "data:application/pdf;base64,+/D/AQ==", part("input_audio", input_audio={"data": data, "format": "wav"})
    for url in ODD:
        file = url.replace("image/png", "application/pdf").replace("Image/PNG", "Application/PDF")
        said = [user([image(url), part("file", file={"file_data": file})])]
        sent = [user([image(plain), part("file", file={"file_data": pdf})])]
        check([("openai/m", said, {}, {"messages": sent}), ("groq/m", said[:1], {}, {"messages": sent}), ("openai/m", [user([part("image_url", image_url=url)])], {}, {"messages": [user([image(plain)])]}),
               ("anthropic/m", said, {}, {"messages": [user([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
                                                             {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}])]}),
               ("bedrock/m", [user([image(url)])], {}, {"messages": [user([{"image": {"format": "png", "source": {"bytes": data}}}])]}),
               ("gemini/m", said, {}, {"contents": [{"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": data}}, {"inline_data": {"mime_type": "application/pdf", "data": data}}]}]}),
               ("ollama_chat/m", [user([part("text", text="t"), image(url)])], {}, {"messages": [{"role": "user", "content": "t", "images": [data]}]}),
               ("openai/m", [user([part("video_url", video_url={"url": url})])], {}, {"messages": [user([part("video_url", video_url={"url": plain})])]})])
        for audio in (url, url.split(",", 1)[1] if "base64" in url.lower() else url):
            check([("openai/m", [user([part("input_audio", input_audio={"data": audio, "format": "wav"})])], {}, {"messages": [user([wav])]})])
    check([("openai/m", [user([image(" https://x.org/a.png\n")])], {}, {"messages": [user([image("https://x.org/a.png")])]})])
    for url, why in (("data:image/png;base64,", "is empty"), ("data:image/png;base64, \n", "is empty"), ("data:image/png;base64,a*b=", "is not base64"), ("data:image/png;base64,AAAAA", "is not base64"),
                     ("data:;base64,AAAA", "has no type"), ("data:image/png;base64", "has no comma")):
        for model in ("openai/m", "anthropic/m", "gemini/m", "bedrock/m", "ollama_chat/m"):
            end, request = ask(model, [user([image(url)])])
            error_of(end, "bad_request", None, why)
            assert request is None, request


def test_parameters_of_gemini():
    """What OpenAPI's Schema cannot say goes into the field for JSON Schema; a schema without it, into the older field."""
    one = {"type": "string"}
    plain = [{"type": "string", "description": "d", "title": "t", "enum": ["a", "b"], "default": "a", "nullable": True}, {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9},
             {"type": "array", "items": one, "minItems": 1, "maxItems": 2}, {"anyOf": [one, {"type": "null"}]}, {"type": "object", "properties": {"$ref": one, "const": one}, "required": ["const"]},
             {"type": "string", "format": "date-time"}]
    other = [{"$ref": "#/$defs/A"}, {"type": ["string", "null"]}, {"type": "string", "const": "x"}, {"type": "number", "exclusiveMinimum": 0}, {"type": "integer", "enum": [1, 2]},
             {"type": "string", "enum": [""]}, {"type": "array"}, {"type": "array", "items": {"type": "array"}}, {"oneOf": [one]}, {"allOf": [one]}, {"type": "string", "anyOf": [one]}, {}, {"type": "object", "properties": {"y": one}, "required": ["z"]},
             {"type": "string", "format": "uri"}, {"type": "string", "properties": {"x": one}}, {"anyOf": [{"$ref": "#/$defs/A"}]}, {"type": "object", "properties": {"y": {"not": {}}}},
             {"type": "object", "additionalProperties": one, "patternProperties": {}}]
    filled = {json.dumps({"type": "array"}): {"type": "array", "items": {}}, json.dumps({"type": "array", "items": {"type": "array"}}): {"type": "array", "items": {"type": "array", "items": {}}}}
    for given, field in [(p, "parameters") for p in plain] + [(p, "parameters_json_schema") for p in other]:
        given = filled.get(json.dumps(given), given)
        whole = {"type": "object", "properties": {"x": given}, "additionalProperties": False}
        sent = {"type": "object", "properties": {"x": given}} if field == "parameters" else whole
        tools = [{"type": "function", "function": {"name": "f", "parameters": whole}}]
        check([("gemini/m", None, {"tools": tools}, {"tools": [{"function_declarations": [{"name": "f", field: sent}]}]})])
    defs = {"type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": one}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": defs}}]
    check([("gemini/gemini-1.5-pro", None, {"tools": tools}, {"tools": [{"function_declarations": [{"name": "f", "parameters": defs}]}]})])


def test_results_with_references():
    """Gemini takes `$ref` in a result for the name of a part."""
    for result, want in (('{"t": 2}', {"t": 2}), ('{"s": [{"$ref": "#/x"}]}', {"content": '{"s": [{"$ref": "#/x"}]}'})):
        check([("gemini/m", [user("q"), bot("", tool_calls=[a_call("c")]), tool("c", result)], {}, {"contents": [
            {"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"x": 1}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "f", "response": want}}]}]})])


def test_blank_texts():
    """Anthropic and Bedrock refuse a request with a text of white space; others take it."""
    talk = [user("q"), bot(" \n", tool_calls=[a_call("c")]), tool("c", "r"), bot("x"), user([part("text", text="a"), part("text", text="\t")])]
    text = [{"type": "text", "text": "a"}]
    check([("anthropic/m", talk, {}, {"messages": [
        user([{"type": "text", "text": "q"}]), bot([{"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}]),
        user([{"type": "tool_result", "tool_use_id": "c", "content": "r"}]), bot([{"type": "text", "text": "x"}]), user(text)]}),
           ("bedrock/m", talk, {}, {"messages": [
               user([{"text": "q"}]), bot([{"toolUse": {"toolUseId": "c", "name": "f", "input": {"x": 1}}}]),
               user([{"toolResult": {"toolUseId": "c", "content": [{"text": "r"}]}}]), bot([{"text": "x"}]), user([{"text": "a"}])]}),
           ("openai/m", talk, {}, {"messages": talk})])


def test_media():
    hello = "SGVsbG8="
    check([
        ("openai/m", [user([part("image_url", image_url=PNG)])], {}, {"messages": [user([image(PNG)])]}),
        ("openai/m", [user([image(PNG), AUDIO, document("AAAA")])], {}, {"messages": [user([image(PNG), AUDIO, document("AAAA")])]}),
        ("anthropic/m", [user([document(hello, "text/plain")])], {},
         {"messages": [user([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hello"}}])]}),
        ("anthropic/m", [user([document("AAAA")])], {},
         {"messages": [user([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}])]}),
        ("anthropic/m", [user([image("https://x.org/a.png")])], {}, {"messages": [user([{"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}}])]}),
        ("gemini/m", [user([AUDIO])], {}, {"contents": [{"role": "user", "parts": [{"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}}]}]}),
        ("bedrock/m", [user([image("data:image/jpg;base64,AAAA")])], {},
         {"messages": [user([{"image": {"format": "jpeg", "source": {"bytes": "AAAA"}}}])]}),
        ("ollama_chat/m", [user([part("text", text="t"), image(PNG)])], {}, {"messages": [{"role": "user", "content": "t", "images": ["AAAA"]}]}),
    ])
    body = ask("bedrock/m", [user([document("AAAA", "text/plain"), document("BBBB", "text/plain")])])[1][1]
    docs = [x["document"] for x in body["messages"][0]["content"]]
    assert [d["format"] for d in docs] == ["txt", "txt"] and docs[0]["name"] != docs[1]["name"], docs
    head_sent = ask("anthropic/m", [user([part("file", file={"file_id": "file-1"})])])[1][0]
    assert "anthropic-beta: files-api-2025-04-14" in head_sent, head_sent


def test_media_that_cannot_go():
    for model, what, said in (("anthropic/m", AUDIO, "anthropic takes no audio"), ("bedrock/m", AUDIO, "bedrock takes no audio"),
                              ("bedrock/m", image("https://x.org/a.png"), "bedrock takes images by their data only"), ("ollama/m", document("AAAA"), "no documents"),
                              ("ollama_chat/m", image("https://x.org/a.png"), "by their data only"), ("watsonx_text/m", image(PNG), "no images"),
                              ("text-completion-openai/m", image(PNG), "no images"), ("deepseek/m", image(PNG), "deepseek takes no images")):
        end, request = ask(model, [user([what])])
        error_of(end, "bad_request", None, said)
        assert request is None, "it was sent all the same"


def test_developers():
    dev = [{"role": "developer", "content": "D"}, user("x")]
    for model, role in (("openai/m", "system"), ("openai/gpt-4o", "system"), ("openai/o3-mini", "developer"), ("openai/gpt-5", "developer"), ("groq/m", "system"),
                        ("ollama_chat/m", "system")):
        assert ask(model, dev)[1][1]["messages"][0] == {"role": role, "content": "D"}, model


def test_thinking():
    check([
        ("anthropic/m", None, {"thinking": {"type": "enabled", "budget_tokens": 2000}}, {"max_tokens": 6096}),
        ("anthropic/m", None, {"thinking": {"type": "disabled"}}, {"max_tokens": 4096}),
        ("anthropic/m", None, {"reasoning_effort": "medium"}, {"max_tokens": 6144, "thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("anthropic/m", None, {"reasoning_effort": "high", "thinking": {"type": "enabled", "budget_tokens": 1024}}, {"max_tokens": 5120}),
        ("anthropic/m", None, {"reasoning_effort": "low", "max_tokens": 2000}, {"max_tokens": 2000}),
        ("bedrock/m", None, {"reasoning_effort": "low"}, {"inferenceConfig": {"maxTokens": 5120},
                                                          "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}),
        ("bedrock/m", None, {"reasoning_effort": "low", "max_tokens": 2000}, {"inferenceConfig": {"maxTokens": 2000}}),
        ("gemini/m", None, {"modalities": ["text", "image"]}, {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}),
        ("deepseek/m", None, {"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        ("deepseek/m", None, {"reasoning_effort": "low"}, {"thinking": {"type": "enabled"}, "reasoning_effort": None}),
        ("mistral/m", None, {"reasoning_effort": "none"}, {"reasoning_effort": "none"}),
        ("mistral/m", None, {"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
        ("azure/o3-mini", None, {"max_tokens": 5, "api_version": "2024-10-21"}, {"max_completion_tokens": 5, "max_tokens": None}),
        ("text-completion-openai/m", None, {"max_completion_tokens": 5}, {"max_tokens": 5, "max_completion_tokens": None}),
    ])


def test_prompts_of_ollama():
    def prompt(*messages, **more):
        return ask("ollama/m", list(messages), **more)[1][1]["prompt"]
    assert prompt(user(text("a", "b")), user(""), user("c")) == "### User:\na\nb\nc\n\n"
    assert prompt({"role": "developer", "content": "D"}, {"role": "system", "content": "S"}, user("x")) == "### System:\nDS\n\n### User:\nx\n\n"
    said = prompt(user("x"), tools=[TOOL])
    assert said.startswith("### User:\nx\n\n### System:\nTo call a function, reply") and said.endswith("\n\n"), said


def test_constraints():
    regex, grammar = {"guided_regex": r"\d+x"}, 'root ::= [0-9]+ "x"'
    check([
        ("hosted_vllm/m", None, regex, {"guided_regex": r"\d+x", "structured_outputs": {"regex": r"\d+x"}}),
        ("hosted_vllm/m", None, {"guided_json": {"type": "object"}}, {"guided_json": {"type": "object"}, "structured_outputs": None}),
        ("hosted_vllm/m", None, {**regex, "structured_outputs": {"json": {}}}, {"structured_outputs": {"json": {}}}),
        ("llamafile/m", None, regex, {"grammar": grammar, "guided_regex": None}),
        ("openai/m", None, {"guided_choice": ["yes", "no"]}, {"grammar": 'root ::= "yes" | "no"'}),
        ("llamafile/m", None, {"guided_grammar": "root ::= [a]"}, {"grammar": "root ::= [a]"}),
        ("llamafile/m", None, {"guided_json": {"type": "object"}}, {"grammar": None, "guided_json": None}),
        ("text-completion-openai/m", None, regex, {"guided_regex": r"\d+x"}),
    ])
    for model in ("groq/m", "anthropic/m", "gemini/m", "ollama_chat/m", "azure/m", "watsonx_text/m"):
        error_of(ask(model, **regex)[0], "unsupported_params", None, "['guided_regex']")
    error_of(ask("llamafile/m", guided_regex="a(?=b)")[0], "bad_request", None, "lookaround")
    error_of(ask("llamafile/m", guided_choice=[])[0], "bad_request", None, "guided_choice")
