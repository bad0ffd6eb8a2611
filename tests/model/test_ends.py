# SPDX-License-Identifier: Apache-2.0
"""Reasons for which models end (spec providers 10), schemas with strict: true (spec providers 15.2), and how both are reported."""
import json

import pytest

from ..checks import check, same
from .peers import PEERS, OpenAI, Peer, Replicate, Table, block, outcomes, run, stream

pytestmark = pytest.mark.tier("test")

NAMED = [p for p in PEERS if not isinstance(p, Replicate)]
ODD = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "NO_IMAGE", "ERROR", "error", "load", "abort", "cancelled", "network_error", "time_limit", "token_limit", "SOMETHING_NEW"]
CALLING = ["tool_calls", "tool_use", "function_call"]  # they promise a call
LIMITS = ["cancelled", "time_limit", "token_limit"]  # of watsonx alone
ORDINARY = {"stop": ["stop", "end_turn", "stop_sequence", "eos_token", "eos", "COMPLETE", "STOP", "FINISH_REASON_UNSPECIFIED"],
            "length": ["length", "max_tokens", "MAX_TOKENS", "compaction"],
            "content_filter": ["content_filter", "refusal", "guardrail_intervened", "SAFETY", "RECITATION", "OTHER", "IMAGE_SAFETY", "sensitive"]}


def words(peer):
    """-> (the reasons that are odd, the ordinary ones by their meaning) of a service"""
    if not peer.model.startswith("watsonx"):
        return ODD, ORDINARY
    return [r for r in ODD if r not in LIMITS], {**ORDINARY, "length": [*LIMITS, *ORDINARY["length"]]}


@pytest.mark.parametrize("peer", NAMED, ids=[p.model for p in NAMED])
def test_odd_ends(pdl, folder, peer, part):
    """Without content they are failures that are tried again; with content the answer is used, and a note names the reason."""
    odd, ordinary = words(peer)
    for streamed in (False, True):
        table = Table()
        kind = peer.kind if streamed else None
        empty = [stream(peer, peer.end(r)) if streamed else json.dumps(peer.whole("", r)).encode() for r in odd + CALLING]
        for reason, got in zip(odd + CALLING, outcomes(pdl, folder, [block(peer, table, (e, kind)) for e in empty], streamed)):
            check("%s, %s: a failure that names the reason" % (peer.model, reason), reason in got.get("failed", "") and got.get("kind") == "server", got)
        for reasons, want in [(odd, "stop")] + [(v, k) for k, v in ordinary.items()]:
            for reason in part(reasons[:3], 3, lambda reason: (peer.model, streamed, reason)):
                table = Table()
                said = stream(peer, peer.piece("Hel"), peer.end(reason)) if streamed else json.dumps(peer.whole("Hel", reason)).encode()
                made = {**block(peer, table, (said, kind), modelResponse="r"), "contribute": []}
                out, err = run(pdl, folder, {"lastOf": [made, "${ r.choices[0].finish_reason }"]}, "--stream", "result" if streamed else "none")
                same(out.split()[-1:], [want], "%s, %s" % (peer.model, reason))
                check("%s, %s: a note where it is odd" % (peer.model, reason), (reason in err) == (reasons is odd), err)
        nothing = stream(peer, peer.end("SAFETY")) if streamed else json.dumps(peer.whole("", "SAFETY")).encode()
        same(outcomes(pdl, folder, [block(peer, Table(), (nothing, kind))], streamed), [{"ok": ""}])


def test_they_are_tried_again(pdl, folder):
    gemini = next(p for p in PEERS if p.model == "gemini/m")
    table = Table()
    bad = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print("}]}
    made = block(gemini, table, bad, gemini.whole("Hello"), parameters={"max_retries": 1})
    same(run(pdl, folder, made, "--stream", "none")[0].strip(), "Hello")
    got = outcomes(pdl, folder, [block(gemini, table, bad)], False)[0]["failed"]
    check("the words of the service", "Malformed function call: print(" in got, got)


def test_blocked_prompts(pdl, folder):
    """A prompt that Gemini refuses has no candidates: a failure with its reason, which is not tried again."""
    usage = {"usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}}
    for feedback, want in (({"blockReason": "PROHIBITED_CONTENT"}, "PROHIBITED_CONTENT"), ({"blockReason": "SAFETY", "blockReasonMessage": "said so"}, "SAFETY: said so")):
        for peer in [p for p in PEERS if p.model in ("gemini/m", "vertex_ai/m")]:
            for streamed in (False, True):
                said, table = {"promptFeedback": feedback, **usage}, Table()
                made = block(peer, table, (stream(peer, said), peer.kind) if streamed else said, parameters={"max_retries": 2})
                got = outcomes(pdl, folder, [made], streamed)[0]
                check("%s, streamed %s: the reason" % (peer.model, streamed), want in got.get("failed", "") and got.get("kind") == "content_policy", got)
                same(len(table.asked[0]), 1, "tried once")
    gemini = next(p for p in PEERS if p.model == "gemini/m")
    rated = {"promptFeedback": {"safetyRatings": []}, **gemini.whole("Hel")}
    same(outcomes(pdl, folder, [block(gemini, Table(), rated)], False), [{"ok": "Hel"}])


# finish reason, message, what the note says (None: there is none)
LACKS = [("length", {"content": ""}, "(length); thoughts count as tokens"), ("content_filter", {"content": None}, "(content_filter)"), ("stop", {"content": None, "refusal": "I will not"}, "refused: I will not"),
         ("stop", {"content": "", "reasoning_content": "hm"}, "thoughts only"), ("stop", {"content": "<think>hm</think>"}, "thoughts only"), ("stop", {"content": ""}, None), ("length", {"content": "Hel"}, None),
         ("content_filter", {"content": "Hel"}, None), ("tool_calls", {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, None)]


@pytest.mark.parametrize("reason, message, want", LACKS)
def test_answers_without_text(pdl, folder, reason, message, want):
    """They succeed, and a note says why there is no text."""
    peer = PEERS[0]
    for streamed in (False, True):
        choice = {"index": 0, "finish_reason": reason}
        said = (stream(peer, {"choices": [{**choice, "delta": message}]}), peer.kind) if streamed else {"choices": [{**choice, "message": {"role": "assistant", **message}}]}
        _, err = run(pdl, folder, block(peer, Table(), said), "--stream", "result" if streamed else "none")
        check("streamed %s: %s" % (streamed, want), want in err if want else err == "", err)


# --- strict: true -----------------------------------------------------------------------------------

OPTIONAL = {"a": "integer", "b": {"optional": "string"}, "c": {"object": {"d": "string"}}}
SPECS = {"optional": OPTIONAL, "required": {"a": "integer"}, "list": ["integer"], "nested": {"l": [{"object": {"x": {"optional": "integer"}}}]},
         "enum": {"e": {"enum": ["a", 1, None]}}, "const": {"type": "object", "properties": {"k": {"const": "a", "default": "a"}}, "required": ["k"]}}
# specs that have no strict form: OpenAI refuses each of them as strict
LOOSE = {"any object": "object", "any items": {"l": "list"}, "any items inside": [["list"]], "any value": {"a": None}, "no value": {"e": {"enum": []}}}
LOOSE.update({k: {"type": "object", "properties": {"a": v}, "required": ["a"]} for k, v in {
    "oneOf": {"oneOf": [{"type": "string"}, {"type": "integer"}]}, "allOf": {"allOf": [{"type": "string"}]}, "not": {"type": "string", "not": {"const": "x"}},
    "unique items": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "tuple": {"type": "array", "prefixItems": [{"type": "string"}]},
    "patterns": {"type": "object", "properties": {}, "patternProperties": {"^a": {"type": "string"}}}, "names": {"type": "object", "properties": {}, "propertyNames": {"pattern": "a"}}}.items()})
MODELS = ["openai/gpt-4o", "openai/o3", "azure/m", "openrouter/openai/gpt-4o", "openrouter/qwen/q", "litellm_proxy/gpt-4o", "github/gpt-4o", "vercel_ai_gateway/openai/o3",
          "hosted_vllm/m", "mistral/m", "together_ai/m", "fireworks_ai/m", "cerebras/m", "xai/m", "watsonx/m", "lm_studio/m", "nvidia_nim/m"]


def keeps_rules(schema):
    if isinstance(schema, list):
        return all(map(keeps_rules, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties = schema.get("properties")
        if properties is None or not all(set(p) & {"type", "anyOf", "$ref"} for p in properties.values()) or schema.get("additionalProperties") is not False or set(schema.get("required", [])) != set(properties):
            return False
    if schema.get("type") == "array" and "items" not in schema or {"default", "oneOf", "allOf", "not", "uniqueItems", "prefixItems", "patternProperties", "propertyNames"} & set(schema):
        return False
    return all(keeps_rules(v) for k, v in schema.items() if k not in ("enum", "const"))


@pytest.mark.parametrize("model", MODELS)
def test_strict_keeps_its_rules(pdl, folder, model):
    peer = OpenAI(model, **(next((p for p in PEERS if p.model == model), Peer("")).parameters))
    gateway = model.startswith(("openai", "azure", "openrouter/openai", "litellm", "github", "vercel"))
    for name, spec in {**SPECS, **LOOSE}.items():
        table = Table()
        asked = {**block(peer, table, peer.whole("{}")), "spec": spec, "parser": "json"}
        run(pdl, folder, {"text": [asked], "fallback": "the answer does not fit"}, "--stream", "none")
        sent = table.asked[0][0]["response_format"]["json_schema"]
        fits = keeps_rules(sent["schema"]) and sent["schema"].get("type") == "object"
        check("%s, %s: strict only with its rules" % (model, name), not sent["strict"] or fits, sent)
        if name in LOOSE:
            check("%s, %s: it is not strict" % (model, name), not sent["strict"], sent)
        elif gateway:
            check("%s, %s: strict where OpenAI's models stand behind" % (model, name), sent["strict"] and fits, sent)


def test_a_second_call_is_told(pdl, folder):
    table, peer = Table(), OpenAI("hosted_vllm/m")
    refused = {"error": {"message": "response_format is not supported", "code": 400}}
    made = {**block(peer, table, refused, peer.whole('{"a": 1}')), "spec": {"a": "integer"}, "parser": "json"}
    out, err = run(pdl, folder, made, "--stream", "none")
    same((json.loads(out), len(table.asked[0])), ({"a": 1}, 2))
    check("a note says why", "called again without it" in err and "response_format is not supported" in err, err)
