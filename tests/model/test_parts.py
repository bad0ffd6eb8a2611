# SPDX-License-Identifier: Apache-2.0
"""Pieces of replies in the less usual forms of services: contents in parts, choices without a message, calls with one index, without an index or
without ids, input that arrives with the name. Also which of them are sent back, and to which service."""
import json
import os
import re

import pytest

from ..checks import check, same
from .peers import AWS, PEERS, Anthropic, Bedrock, Gemini, OpenAI, Table, block, run, stream

OPEN = OpenAI("openai/m")
TOOLS = [{"type": "function", "function": {"name": n, "parameters": {"type": "object", "properties": {}}}} for n in "tv"]


def raw(pdl, folder, peer, reply, streamed=True, **more):
    """-> (the text, the first choice) of a reply."""
    made = block(peer, Table(), (reply, peer.kind if streamed else None), modelResponse="r", **more)
    made["def"], made["contribute"] = "a", []
    out, _ = run(pdl, folder, {"lastOf": [made, {"data": {"a": "${ a }", "c": "${ r.choices[0] }"}}]}, "--stream", "result" if streamed else "none")
    got = json.loads(out)
    return got["a"], got["c"]


def chunk(**delta):
    return {"id": "c", "choices": [{"index": 0, "delta": delta}]}


def calls(*pieces):
    """A stream of pieces of calls, each (index, id, name, arguments), None: left out; a list is one event."""
    def one(index, ident, name, arguments):
        f = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
        return {k: v for k, v in (("index", index), ("id", ident), ("function", f)) if v is not None}
    return stream(OPEN, *[chunk(tool_calls=[one(*x) for x in (p if isinstance(p, list) else [p])]) for p in pieces], OPEN.end("tool_calls"))


# (what it is, pieces, [(id or None: made, name, arguments)])
SPLITS = [
    ("one index, one event", [[(0, "a", "t", '{"u":1}'), (0, "b", "v", '{"q":2}')]], [("a", "t", '{"u":1}'), ("b", "v", '{"q":2}')]),
    ("one index, two events", [(0, "a", "t", '{"u":1}'), (0, "b", "t", '{"q":2}')], [("a", "t", '{"u":1}'), ("b", "t", '{"q":2}')]),
    ("one index, no ids", [(0, None, "t", '{"u":1}'), (0, None, "v", '{"q"'), (0, None, None, ":2}")], [(None, "t", '{"u":1}'), (None, "v", '{"q":2}')]),
    ("one index, one name, no ids", [(0, None, "t", '{"u":1}'), (0, None, "t", '{"q":2}')], [(None, "t", '{"u":1}'), (None, "t", '{"q":2}')]),
    ("another name after a part of the arguments", [(0, None, "t", '{"u"'), (0, None, "v", "{}")], [(None, "t", '{"u"'), (None, "v", "{}")]),
    ("two objects in one piece", [(0, "a", "t", '{"u":{"}":"{"}} {"q":"\\"}{"}')], [("a", "t", '{"u":{"}":"{"}}'), (None, "t", '{"q":"\\"}{"}')]),
    ("an id in each piece", [(0, "a", "t", '{"u"'), (0, "a", "t", ":1}"), (0, "a", "t", "")], [("a", "t", '{"u":1}')]),
    ("a name in each piece", [(0, "a", "t", '{"u"'), (0, None, "t", ":1}"), (0, None, "t", "")], [("a", "t", '{"u":1}')]),
    ("ids in turns, one index", [(0, "a", "t", '{"u"'), (0, "b", "v", '{"q"'), (0, "a", None, ":1}"), (0, "b", None, ":2}")], [("a", "t", '{"u":1}'), ("b", "v", '{"q":2}')]),
    ("no index, no ids", [[(None, None, "t", '{"u":1}'), (None, None, "v", '{"q":2}')]], [(None, "t", '{"u":1}'), (None, "v", '{"q":2}')]),
    ("an empty id", [(0, "", "t", "{}")], [(None, "t", "{}")]),
    ("{} holds the place", [(0, "a", "t", "{}"), (0, None, None, '{"u":'), (0, None, None, "1}")], [("a", "t", '{"u":1}')]),
    ("no arguments", [(0, "a", "t", None), (1, "b", "v", "")], [("a", "t", "{}"), ("b", "v", "{}")]),
    ("two names, no arguments", [(0, None, "t", ""), (0, None, "v", "")], [(None, "t", "{}"), (None, "v", "{}")]),
    ("blanks after the object", [(0, "a", "t", '{"u":1}'), (0, None, None, " \n")], [("a", "t", '{"u":1}')]),
    ("one id, two names", [(0, "a", "t", '{"u":1}'), (1, "a", "v", '{"q"'), (1, "a", None, ":2}")], [("a", "t", '{"u":1}'), (None, "v", '{"q":2}')]),
    ("indexes as texts", [("0", "a", "t", ""), ("1", "b", "v", ""), ("0", None, None, '{"u":1}'), ("1", None, None, '{"q":2}')], [("a", "t", '{"u":1}'), ("b", "v", '{"q":2}')]),
    ("decimal indexes", [(0.0, "a", "t", ""), (1.0, "b", "v", ""), (0.0, None, None, '{"u":1}'), (1, None, None, '{"q":2}')], [("a", "t", '{"u":1}'), ("b", "v", '{"q":2}')]),
    ("numbers as ids", [(0, 7, "t", '{"u"'), (0, 7, None, ":1}"), (0, 8, "t", '{"q":2}')], [("7", "t", '{"u":1}'), ("8", "t", '{"q":2}')]),
    ("an id of its own in each piece", [(0, "a", "t", ""), (0, "b", None, '{"u"'), (0, "c", None, ":1}"), (1, "d", "v", ""), (1, "e", None, "{}")], [("a", "t", '{"u":1}'), ("d", "v", "{}")]),
    ("an id after whole arguments", [(0, "a", "t", '{"u":1}'), (0, "b", None, None), (0, None, "v", '{"q":2}')], [("a", "t", '{"u":1}'), ("b", "v", '{"q":2}')]),
    ("the arguments so far in each piece", [(0, "a", "t", '{"u"'), (0, "a", None, '{"u":1'), (0, "a", None, '{"u":1}'), (0, "b", "t", '{"u":1}')], [("a", "t", '{"u":1}'), ("b", "t", '{"u":1}')]),
    ("all of it again at the end", [(0, "a", "t", '{"u"'), (0, None, None, ":1}"), (1, "b", "v", '{"q":2}'), [(0, "a", "t", '{"u":1}'), (1, "b", "v", '{"q":2}')]],
     [("a", "t", '{"u":1}'), ("b", "v", '{"q":2}')]),
    ("the same call twice", [(0, None, "t", '{"u":1}'), (0, None, "t", '{"u":1}'), (1, "a", "v", '{"q":2}'), (1, "b", "v", '{"q":2}')],
     [(None, "t", '{"u":1}'), (None, "t", '{"u":1}'), ("a", "v", '{"q":2}'), ("b", "v", '{"q":2}')]),
    ("pieces that count themselves", [(0, "a", "t", ""), (1, None, None, '{"u"'), (2, None, None, ":1}"), (3, "b", "v", ""), (4, None, None, '{"q":2}')], [("a", "t", '{"u":1}'), ("b", "v", '{"q":2}')]),
    ("the usual form", [(0, "a", "t", ""), (0, None, None, '{"u"'), (1, "b", "v", ""), (1, None, None, "{}"), (0, None, None, ":1}")], [("a", "t", '{"u":1}'), ("b", "v", "{}")]),
]


@pytest.mark.parametrize("row", SPLITS, ids=[s[0] for s in SPLITS])
def test_calls(pdl, folder, row):
    _, choice = raw(pdl, folder, OPEN, calls(*row[1]))
    got = choice["message"]["tool_calls"]
    same([(c["function"]["name"], c["function"]["arguments"]) for c in got], [w[1:] for w in row[2]])
    for c, want in zip(got, row[2]):
        check("its id", c["id"] == want[0] if want[0] else c["id"], c)
    check("each has its own", len({c["id"] for c in got}) == len(got), got)
    same(choice["finish_reason"], "tool_calls")


def test_whole_calls(pdl, folder):
    """Each whole call has an id of its own and arguments that are a text, whatever the server sends."""
    f = [{"name": "t", "arguments": a} for a in ('{"u": 1}', {"u": 1}, None, "", {})] + [{"name": "t"}]
    ids = ["a", "a", None, 7, "", "a"]
    said = {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [{"id": i, "type": "function", "function": x} for i, x in zip(ids, f)]},
                         "finish_reason": "tool_calls"}]}
    got = raw(pdl, folder, OPEN, said)[1]["message"]["tool_calls"]
    same([c["function"]["arguments"] for c in got], ['{"u": 1}'] * 2 + ["{}"] * 4)
    same((got[0]["id"], got[3]["id"], len({c["id"] for c in got})), ("a", "7", 6))
    for calls in ([{"id": "a", "function": f[0], **t} for t in ({}, {"type": None}, {"type": ""}, {"type": "function"})], [{"name": "t", "arguments": "{}"}], {"function": f[0]}):
        said["choices"][0]["message"]["tool_calls"] = calls
        got = raw(pdl, folder, OPEN, said)[1]["message"]["tool_calls"]
        same({c["type"] for c in got}, {"function"})


def test_the_older_form_of_calls(pdl, folder):
    f = [chunk(function_call={"name": "t", "arguments": ""}), chunk(function_call={"arguments": '{"u"'}), chunk(function_call={"arguments": ":1}"})]
    _, choice = raw(pdl, folder, OPEN, stream(OPEN, *f, OPEN.end("function_call")))
    same(choice["message"]["function_call"], {"name": "t", "arguments": '{"u":1}'})


# (pieces (name, arguments) of function_call, the calls that they are)
OLDER = [([("t", '{"u":1}'), ("t", '{"u":2}')], [("t", '{"u":1}'), ("t", '{"u":2}')]),
         ([("t", '{"u"'), (None, ":1}"), ("v", ""), (None, '{"q"'), (None, ":2}")], [("t", '{"u":1}'), ("v", '{"q":2}')]),
         ([("t", "{}"), ("v", "{}"), ("t", '{"u":3}')], [("t", "{}"), ("v", "{}"), ("t", '{"u":3}')]),
         ([("t", '{"u"'), ("t", ":1}"), ("t", "")], [("t", '{"u":1}')])]


@pytest.mark.parametrize("pieces, want", OLDER, ids=["two of one name", "two names", "three", "a name in each piece"])
def test_several_calls_in_the_older_form(pdl, folder, pieces, want):
    f = [chunk(function_call={"arguments": a, **({"name": n} if n else {})}) for n, a in pieces]
    _, choice = raw(pdl, folder, OPEN, stream(OPEN, *f, OPEN.end("function_call")))
    m = choice["message"]
    got = [c["function"] for c in m["tool_calls"]] if len(want) > 1 else [m["function_call"]]
    same([(c["name"], c["arguments"]) for c in got], want)
    same(choice["finish_reason"], "tool_calls" if len(want) > 1 else "function_call")
    check("one form, and ids that differ", len({c["id"] for c in m["tool_calls"] or []}) == (len(want) if len(want) > 1 else 0) and bool(m["tool_calls"]) != bool(m["function_call"]), m)


# pieces of both forms (T: a call in tool_calls, F: function_call), the tool calls, and the one that remains function_call
BOTH = [([("T", "t", '{"u":1}'), ("F", "v", '{"q":1}'), ("F", "w", '{"q":2}')], [("t", '{"u":1}'), ("v", '{"q":1}'), ("w", '{"q":2}')], None),
        ([("F", "v", '{"q"'), ("T", "t", '{"u"'), ("F", None, ":1}"), ("T", None, ":1}"), ("F", "w", '{"q"'), ("T", "x", "{}"), ("F", None, ":2}")],
         [("t", '{"u":1}'), ("v", '{"q":1}'), ("w", '{"q":2}'), ("x", "{}")], None),
        ([("F", "v", '{"q":1}'), ("F", "v", '{"q":2}'), ("T", "t", '{"u":1}')], [("t", '{"u":1}'), ("v", '{"q":1}'), ("v", '{"q":2}')], None),
        ([("T", "t", '{"u":1}'), ("F", "v", '{"q"'), ("F", None, ":1}")], [("t", '{"u":1}')], ("v", '{"q":1}')),
        ([("T", "t", '{"u":1}'), ("F", "t", '{"u":1}'), ("T", "v", "{}"), ("F", "v", "{}")], [("t", '{"u":1}'), ("v", "{}")], None)]


@pytest.mark.parametrize("pieces, want, older", BOTH, ids=["after", "mixed", "before", "one", "each in both forms"])
def test_both_forms_of_calls(pdl, folder, pieces, want, older):
    """No call is lost, merged with another, or made twice."""
    f = []
    for form, name, args in pieces:
        function = {"arguments": args, **({"name": name} if name else {})}
        f.append(chunk(function_call=function) if form == "F" else chunk(tool_calls=[{"type": "function", "function": function}]))
    _, choice = raw(pdl, folder, OPEN, stream(OPEN, *f, OPEN.end("tool_calls")))
    m = choice["message"]
    same(sorted((c["function"]["name"], c["function"]["arguments"]) for c in m["tool_calls"]), sorted(want))
    check("ids that differ", len({c["id"] for c in m["tool_calls"]}) == len(want), m)
    same(m["function_call"] and (m["function_call"]["name"], m["function_call"]["arguments"]), older)


def start(index, name, value, **more):
    return {"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": "u%d" % index, "name": name, "input": value}, **more}


def test_input_with_the_name(pdl, folder):
    """Of Anthropic and Bedrock: it counts, pieces that follow replace it, and it is the text where the tool stands for a schema."""
    def more(text):
        return {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
    peer = Anthropic("anthropic/m")
    for events, want in [([start(0, "t", {"a": 1})], [{"a": 1}]), ([start(0, "t", {"a": 1}), start(1, "v", {})], [{"a": 1}, {}]),
                         ([start(0, "t", {"a": 1}), more('{"b": '), more("2}")], [{"b": 2}]), ([start(0, "t", {}), more("")], [{}]),
                         ([start(0, "t", {"a": 1}), more("{}")], [{"a": 1}]), ([start(0, "t", {}), more({"b": 2})], [{"b": 2}]), ([start(0, "t", {}), more("{}")], [{}])]:
        _, choice = raw(pdl, folder, peer, stream(peer, *events, peer.end("tool_use")))
        same([json.loads(c["function"]["arguments"]) for c in choice["message"]["tool_calls"]], want)
    text, _ = raw(pdl, folder, peer, stream(peer, start(0, "json_tool_call", {"n": 1}), peer.end("tool_use")), spec={"n": "integer"}, parser="json")
    same(text, {"n": 1})
    for whole, dialect in (({"content": [{"type": "tool_use", "id": "u", "name": "t", "input": None}], "stop_reason": "tool_use"}, peer),
                           ({"output": {"message": {"content": [{"toolUse": {"toolUseId": "u", "name": "t", "input": None}}]}}, "stopReason": "tool_use"}, Bedrock("bedrock/m", **AWS))):
        _, choice = raw(pdl, folder, dialect, json.dumps(whole).encode(), False)
        same(choice["message"]["tool_calls"][0]["function"]["arguments"], "{}")
    peer = Bedrock("bedrock/m", **AWS)
    begin = {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "u", "name": "t", "input": {"a": 1}}}}}
    _, choice = raw(pdl, folder, peer, stream(peer, begin, peer.end("tool_use")))
    same(json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]), {"a": 1})


def partial(path, more=False, **value):
    return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}


# parts of calls of Gemini, and the arguments of each call; a part without a name continues the call before
CONTINUED = [
    ([{"name": "t", "args": {}}, {"args": {"a": 1}}], [{"a": 1}]),
    ([{"name": "t", "willContinue": True}, {"partialArgs": [partial("$.city", True, stringValue="Par")], "willContinue": True}, {"partialArgs": [partial("$.city", stringValue="is")]}, {}], [{"city": "Paris"}]),
    ([{"name": "t", "partialArgs": [partial("$.a.b[0]", numberValue=1), partial("$.a.b[1].c", boolValue=False), partial("$['x y']", nullValue=None)]}, {"name": "v", "args": {"q": 2}}],
     [{"a": {"b": [1, {"c": False}]}, "x y": None}, {"q": 2}]),
    ([{"name": "t"}, {"partialArgs": [partial("city", stringValue="x"), partial("$.l[7]", numberValue=1), partial("$.", numberValue=1), partial("$[", numberValue=1), 3, partial("$.n")]}], [{"l": []}]),
    ([{"name": "t", "args": None}, {"name": "", "args": {"a": 1}}], [{"a": 1}]),
]


@pytest.mark.parametrize("streamed", [True, False])
def test_calls_of_gemini_in_parts(pdl, folder, streamed):
    peer = Gemini("gemini/m")
    for parts, want in CONTINUED:
        events = [{"candidates": [{"content": {"parts": [{"functionCall": p}]}}]} for p in parts]
        whole = {"candidates": [{"content": {"parts": [{"functionCall": p} for p in parts]}, "finishReason": "STOP"}]}
        _, choice = raw(pdl, folder, peer, stream(peer, *events, peer.end()) if streamed else json.dumps(whole).encode(), streamed)
        same([json.loads(c["function"]["arguments"]) for c in choice["message"]["tool_calls"]], want)


def test_a_long_text_in_many_pieces(pdl, folder):
    """A piece costs the same, however long the text before it is: when each was joined to a copy, this took ten seconds."""
    pieces, peer = 20000, Gemini("gemini/m")
    begin = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "t", "willContinue": True}}]}}]}
    piece = {"candidates": [{"content": {"parts": [{"functionCall": {"partialArgs": [partial("$.a[0].b", True, stringValue="x" * 20)]}}]}}]}
    before = os.times()
    _, choice = raw(pdl, folder, peer, stream(peer, begin, *[piece] * pieces, peer.end()))
    same(len(json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"])["a"][0]["b"]), 20 * pieces)
    after = os.times()
    same(after.children_user - before.children_user < 3, True)


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hel"}, {"type": "reference", "reference_ids": [1]},
         {"type": "text", "text": "lo"}, {"type": "thinking", "thinking": "m"}]
THOUGHTS = [{"type": "reasoning", "text": "h"}, {"type": "reasoning_text", "text": "m"}, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "!"}]}, {"type": "reasoning", "id": "x"}]


def test_contents_in_parts(pdl, folder):
    for streamed in (True, False):
        whole = json.dumps(OPEN.whole(PARTS)).encode()
        for reply in (stream(OPEN, chunk(content=PARTS[:2]), chunk(content=PARTS[2:]), OPEN.end()), stream(OPEN, *[chunk(content=p) for p in PARTS], OPEN.end())) if streamed else (whole,):
            text, choice = raw(pdl, folder, OPEN, reply, streamed)
            same((text, choice["message"]["content"], choice["message"]["reasoning_content"]), ("Hello", "Hello", "hmm"))
        parts = [*THOUGHTS, {"type": "text", "text": "Hello"}]
        reply = stream(OPEN, *[chunk(content=[p]) for p in parts], OPEN.end()) if streamed else json.dumps(OPEN.whole(parts)).encode()
        text, choice = raw(pdl, folder, OPEN, reply, streamed)
        same((text, choice["message"]["reasoning_content"]), ("Hello", "hm!"))


def test_whole_choices(pdl, folder):
    for choice in ({"index": 0, "text": "Hello", "finish_reason": "stop"}, {"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"},
                   {"index": 0, "message": {"content": "Hello"}}, {"index": 0, "message": "Hello", "finish_reason": "stop"}):
        same(raw(pdl, folder, OPEN, json.dumps({"choices": [choice]}).encode(), False)[0], "Hello")


# --- ids ------------------------------------------------------------------------------------------

def loop(peer, reply, back, messages=None):
    """A call of a model, its results as messages without ids or with those of the calls, and the next call."""
    table = Table()
    first, second = block(peer, table, reply, modelResponse="r", parameters={"tools": TOOLS}), block(peer, table, back, parameters={"tools": TOOLS})
    results = {"def": "results", "for": {"c": "${ r.choices[0].message.tool_calls }"}, "join": {"as": "array"}, "contribute": [],
               "repeat": {"data": {"role": "tool", "tool_call_id": "${ c.id }", "content": "result of ${ c.function.name }"}}}
    del first["input"]
    second["input"] = "${ pdl_context + results }"
    return table, {"text": [{"role": "user", "text": "hi", "contribute": ["context"]}, first, results, second]}


CALL = {"type": "function", "function": {"name": "t", "arguments": "{}"}}
ODD_IDS = {"without": {}, "empty": {"id": ""}, "null": {"id": None}, "a number": {"id": 7}}


@pytest.mark.parametrize("model", ["openai/m", "mistral/m", "codestral/m", "groq/m", "azure/m"])
def test_ids(pdl, folder, model):
    """Every call has an id, which its result names, in the form of the service."""
    peer = OpenAI(model)
    for name, ident in ODD_IDS.items():
        reply = OPEN.whole(None, "tool_calls")
        reply["choices"][0]["message"]["tool_calls"] = [{**CALL, **ident}, {**CALL, "function": {"name": "v", "arguments": "{}"}, "id": "call_0123456789abcdef"}]
        table, program = loop(peer, reply, OPEN.whole("done"), None)
        run(pdl, folder, program, "--stream", "none")
        sent = table.asked[1][0]["messages"]
        made = [c["id"] for c in sent[1]["tool_calls"]]
        same(made, [m["tool_call_id"] for m in sent[2:4]])
        check("%s, %s: an id for each" % (model, name), len(set(made)) == 2 and all(isinstance(i, str) and i for i in made), made)
        if "stral" in model:
            check("%s, %s: nine letters or digits" % (model, name), all(re.fullmatch("[A-Za-z0-9]{9}", i) for i in made), made)


def test_types_that_the_program_left_out(pdl, folder):
    table = Table()
    made = block(OPEN, table, OPEN.whole("ok"))
    calls = [{"id": "a", "function": CALL["function"]}, {"function": CALL["function"], "type": None}, {"id": "c", "type": "custom", "custom": {"name": "t", "input": "x"}}]
    made["input"] = {"data": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": calls}]}
    run(pdl, folder, made, "--stream", "none")
    same([c["type"] for c in table.asked[0][0]["messages"][1]["tool_calls"]], ["function", "function", "custom"])


def test_ids_that_the_program_left_out(pdl, folder):
    def said(*ids):
        return {"role": "assistant", "content": "", "tool_calls": [{**CALL, **({"id": i} if i else {})} for i in ids]}

    def told(*ids):
        return [{"role": "tool", "content": "r%d" % k, **({"tool_call_id": i} if i is not None else {})} for k, i in enumerate(ids)]
    for talk, pairs in (([said(None, None), *told(None, "")], [0, 1]), ([said("a", "b"), *told(None, "a")], [1, 0]), ([said("a", "b"), *told("b", None)], [1, 0])):
        table = Table()
        made = block(OPEN, table, OPEN.whole("ok"))
        made["input"] = {"data": [{"role": "user", "content": "hi"}, *talk]}
        run(pdl, folder, made, "--stream", "none")
        sent = table.asked[0][0]["messages"]
        ids = [c["id"] for c in sent[1]["tool_calls"]]
        same([m["tool_call_id"] for m in sent[2:4]], [ids[p] for p in pairs])
        check("two ids", len(set(ids)) == 2 and all(ids), ids)


# arguments of a call in a conversation, and what services get
ARGUMENTS = [('{"a": 1}', '{"a": 1}'), ('{ "b":2.50 }', '{ "b":2.50 }'), ('{"a": NaN}', '{"a": null}'), ('{"a": -Infinity}', '{"a": null}'), ('{"a": 1e5}', '{"a": 1e5}'), ('{"a": 1, "b": "x', "{}"), ("", "{}"), (None, "{}"), ("null", "{}"), ("[1]", "{}"),
             ({"a": 1}, '{"a": 1}'), ('"{\\"a\\": 1}"', '{"a": 1}'), ('{"a": "x\ny"}', '{"a": "x\\ny"}'), ("{'a': 1}", "{}"), ('{"a": 1}</tool_call>', "{}")]


@pytest.mark.parametrize("model", ["openai/m", "mistral/m", "hosted_vllm/m", "ollama_chat/m", "anthropic/m", "bedrock/m", "gemini/m"])
def test_arguments_are_json(pdl, folder, model):
    """Servers refuse each request of a conversation with a call whose arguments are not JSON, such as one that was cut."""
    peer = next((p for p in PEERS if p.model == model), OpenAI(model))
    for given, want in ARGUMENTS:
        table = Table()
        made = block(peer, table, peer.whole("ok"))
        calls = [{"id": "a", "type": "function", "function": {"name": "t", **({} if given is None else {"arguments": given})}}]
        made["input"] = {"data": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": calls}, {"role": "tool", "tool_call_id": "a", "content": "r"}]}
        run(pdl, folder, made, "--stream", "none")
        sent = json.dumps(table.asked[0][0])
        if "choices" in peer.whole(""):
            same(table.asked[0][0]["messages"][1]["tool_calls"][0]["function"]["arguments"], want)
        else:
            check("%s: %r" % (model, given), json.dumps(json.loads(want)) in sent, sent)


def test_a_call_that_was_cut_is_told(pdl, folder):
    """The call is in the answer, whose reason is tool_calls, so a note says that a limit cut it."""
    for args, reason, told in (('{"a": 1, "b": "x', "length", True), ('{"a": 1}', "length", False), ('{"a": 1, "b": "x', "tool_calls", False)):
        for streamed in (True, False):
            reply = stream(OPEN, chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "t", "arguments": args}}]), OPEN.end(reason))
            whole = {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": args}}]}, "finish_reason": reason}]}
            made = block(OPEN, Table(), (reply, OPEN.kind) if streamed else whole)
            _, err = run(pdl, folder, made, "--stream", "result" if streamed else "none")
            same("cut at its limit of tokens inside the call of t" in err, told)


# --- what goes back -------------------------------------------------------------------------------

BROUGHT = {"reasoning_content": "hm", "reasoning": "hm", "reasoning_details": [{"type": "x"}], "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
           "annotations": [{"type": "url"}], "refusal": "no", "audio": {"id": "a1", "data": "AAAA"}, "images": [{"type": "image_url"}], "function_call": None,
           "provider_specific_fields": {"x": 1}, "tool_calls": None, "thought_signatures": ["s"], "citations": [1], "executed_tools": [1], "something_new": {"x": 1}}
TAKES = {"deepseek/m": {"reasoning_content": "hm"}, "moonshot/m": {"reasoning_content": "hm"}, "openai/m": {"refusal": "no", "audio": {"id": "a1"}},
         "azure/m": {"refusal": "no", "audio": {"id": "a1"}}, "openrouter/m": {"reasoning_details": [{"type": "x"}]}}


@pytest.mark.parametrize("model", [p.model for p in PEERS if isinstance(p, OpenAI) and "completion" not in p.model]
                         + ["deepseek/m", "moonshot/m", "groq/m", "mistral/m", "openrouter/m", "hosted_vllm/m"])
def test_what_goes_back(pdl, folder, model):
    """What a reply brought goes only to who takes it back; what the program wrote goes as it is."""
    known = {p.model: p for p in PEERS}
    peer, first = known.get(model, OpenAI(model)), OpenAI("openrouter/m")
    reply = first.whole("A")
    reply["choices"][0]["message"].update({**BROUGHT, "tool_calls": [{**CALL, "id": "a23456789"}]})
    table, program = loop(first, reply, first.whole("B"))
    last = block(peer, table, peer.whole("C"), parameters={"tools": TOOLS})
    program["text"][3] = {**last, "input": program["text"][3]["input"]}
    run(pdl, folder, program, "--stream", "none")
    sent = table.asked[2][0]["messages"][1]
    same({k: v for k, v in sent.items() if k not in ("role", "content", "tool_calls")}, TAKES.get(model, {}))
    same(len(sent["tool_calls"]), 1)
    table = Table()
    later = block(peer, table, peer.whole("C"))
    own = {"role": "assistant", "content": "x", "prefix": True, "cache_control": {"type": "ephemeral"}}
    later["input"] = {"data": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "A", **BROUGHT}, {"role": "user", "content": "and"}, own]}
    run(pdl, folder, later, "--stream", "none")
    sent = table.asked[0][0]["messages"]
    left = {k: v for k, v in TAKES.get(model, {}).items() if k != "reasoning_content"}  # only within a loop of tools
    same({k: v for k, v in sent[1].items() if k not in ("role", "content", "something_new")}, left)
    same(sent[3], own)


def test_thoughts_go_back_signed(pdl, folder):
    blocks = [{"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}, {"type": "thinking", "thinking": "of another service"}]
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "A", "thinking_blocks": blocks}, {"role": "user", "content": "and"}]
    for peer, want in ((Anthropic("anthropic/m"), blocks[:2]),
                       (Bedrock("bedrock/m", **AWS), [{"reasoningContent": {"reasoningText": {"text": "a", "signature": "s"}}}, {"reasoningContent": {"redactedContent": "x"}}])):
        table = Table()
        made = block(peer, table, peer.whole("ok"))
        made["input"] = {"data": talk}
        run(pdl, folder, made, "--stream", "none")
        same(table.asked[0][0]["messages"][1]["content"][:-1], want)
    for model, takes in (("us.anthropic.claude-sonnet-4", True), ("arn:aws:bedrock:eu-west-1:1:application-inference-profile/x", True), ("amazon.nova-pro-v1:0", False),
                         ("us.deepseek.r1-v1:0", False), ("meta.llama3-70b-instruct-v1:0", False)):
        peer, table = Bedrock("bedrock/" + model, **AWS), Table()
        made = block(peer, table, peer.whole("ok"))
        made["input"] = {"data": talk}
        run(pdl, folder, made, "--stream", "none")
        same(len(table.asked[0][0]["messages"][1]["content"]), 3 if takes else 1)


INSIDE = {"index": 0, "extra_content": {"google": {"thought_signature": "s"}}, "provider_specific_fields": {"x": 1}, "caller": {"type": "direct"}, "something_new": 1}


@pytest.mark.parametrize("model", ["openai/m", "mistral/m", "groq/m", "watsonx/m", "openai/gemini-3"])
def test_what_calls_brought_stays(pdl, folder, model):
    """Of a call go back its id, type and function; the mark of a thought only to the models that want it. Streamed or written by the program."""
    peer, first = {p.model: p for p in PEERS}.get(model, OpenAI(model)), OpenAI("openrouter/m")
    function = {"name": "t", "arguments": "{}", "parsed_arguments": {}}
    want = {"type": "function", "function": {"name": "t", "arguments": "{}"}, **({"extra_content": INSIDE["extra_content"]} if "gemini" in model else {})}
    reply = first.whole("A")
    reply["choices"][0]["message"]["tool_calls"] = [{"id": "a23456789", "type": "function", "function": function, **INSIDE}]
    table, program = loop(first, reply, first.whole("B"))
    program["text"][3] = {**block(peer, table, peer.whole("C"), parameters={"tools": TOOLS}), "input": program["text"][3]["input"]}
    run(pdl, folder, program, "--stream", "none")
    written = {"data": [{"role": "user", "content": "hi"}, {**reply["choices"][0]["message"]}, {"role": "tool", "tool_call_id": "a23456789", "content": "r"}]}
    del written["data"][1]["tool_calls"][0]["something_new"]  # what the program wrote itself goes as it is
    run(pdl, folder, {**block(peer, table, peer.whole("C")), "input": written}, "--stream", "none")
    for number in (2, 3):
        same({k: v for k, v in table.asked[number][0]["messages"][1]["tool_calls"][0].items() if k != "id"}, want)


MARKS = {"extra_content": {"google": {"thought_signature": "s"}}, "provider_specific_fields": {"thought_signature": "s"}}


@pytest.mark.parametrize("model, back", [("litellm_proxy/gemini-3-pro", True), ("litellm_proxy/fast", True), ("openrouter/fast", True), ("openai/Gemini-3", True), ("openai/m", False), ("mistral/gemini", False)])
def test_marks_of_thoughts_go_back(pdl, folder, model, back):
    """Gateways forward to Gemini under any name: the mark of a thought stays in the context and goes back to them, and to no service that refuses it."""
    peer = OpenAI(model)
    function = {"name": "t", "arguments": "{}", "provider_specific_fields": MARKS["provider_specific_fields"], "parsed_arguments": {}}
    reply = peer.whole("A")
    reply["choices"][0]["message"]["tool_calls"] = [{"id": "a23456789", "type": "function", "index": 0, "function": function, **MARKS}]
    table, program = loop(peer, reply, peer.whole("B"))
    run(pdl, folder, program, "--stream", "none")
    want = {"type": "function", "function": {"name": "t", "arguments": "{}", **({"provider_specific_fields": MARKS["provider_specific_fields"]} if back else {})}, **(MARKS if back else {})}
    same({k: v for k, v in table.asked[1][0]["messages"][1]["tool_calls"][0].items() if k != "id"}, want)


def detail(kind, index=None, **more):
    return {"type": "reasoning." + kind, **({"index": index} if index is not None else {}), **more}


# (what it is, the lists of the events, what the message has)
DETAILS = [
    ("pieces of one index", [[detail("text", 0, text="Let", format="f")], [detail("text", 0, text=" me", signature=None)], [detail("text", 0, signature="s")]],
     [detail("text", 0, text="Let me", format="f", signature="s")]),
    ("two in one event", [[detail("text", 0, text="a", signature="s"), detail("text", 1, text="b")], [detail("text", 1, text="c", signature="u")]],
     [detail("text", 0, text="a", signature="s"), detail("text", 1, text="bc", signature="u")]),
    ("a summary, then an encrypted thought", [[detail("summary", 0, summary="a")], [detail("summary", 0, summary="\u00e9")], [detail("encrypted", 0, data="x")], [detail("encrypted", 0, data="y")]],
     [detail("summary", 0, summary="a\u00e9"), detail("encrypted", 0, data="x"), detail("encrypted", 0, data="y")]),
    ("no index", [[detail("text", text="a")], [detail("text", text="b", signature="s")], [detail("text", text="c")]],
     [detail("text", text="ab", signature="s"), detail("text", text="c")]),
    ("no text", [[detail("text", 0, text=None)], [detail("text", 0, text="")]], [detail("text", 0, text="")]),
    ("an empty list, and no objects", [[], [1, None, detail("text", 0, text="a")], []], [1, None, detail("text", 0, text="a")]),
    ("a thousand pieces", [[detail("text", 0, text="ab")]] * 1000, [detail("text", 0, text="ab" * 1000)]),
]


@pytest.mark.parametrize("row", DETAILS, ids=[d[0] for d in DETAILS])
def test_details_of_thoughts(pdl, folder, row):
    """Thoughts in the form of OpenRouter are put together from their pieces, and go back to it as a whole; the message after the deltas repeats them."""
    peer = OpenAI("openrouter/m")
    events = [chunk(reasoning_details=some) for some in row[1]]
    repeated = {"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": "A", "reasoning_details": row[2]}}]}
    for more in ([], [repeated]):
        _, choice = raw(pdl, folder, peer, stream(peer, *events, chunk(content="A"), *more, peer.end()))
        same(choice["message"]["reasoning_details"], row[2])
