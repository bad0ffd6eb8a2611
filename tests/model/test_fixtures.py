# SPDX-License-Identifier: Apache-2.0
"""The provider fixtures of the conformance kit against the model room alone, through model_driver. They are played once more with answers in small
pieces (split)."""
import json
import pathlib

import pytest

from ..checks import check
from ..conformance import check_providers as kit
from .wire import drive

FOLDER = pathlib.Path(kit.__file__).parent / "providers"
SOME = ["openai-*", "ollama*", "other-*", "compat-*", "watsonx*", "anthropic-*", "gemini-*", "azure-*", "replicate-*", "bedrock-[!s]*"]


def check_usage(want, usage, problems):
    if want is None:
        if usage:
            problems.append("usage: want none, got %s" % usage)
        return
    flat = dict(usage or {})
    flat["cached_tokens"] = ((usage or {}).get("prompt_tokens_details") or {}).get("cached_tokens", kit.ABSENT)
    flat["reasoning_tokens"] = ((usage or {}).get("completion_tokens_details") or {}).get("reasoning_tokens", kit.ABSENT)
    kit.diff(want, flat, "usage", problems, subset=True)


def check_reply(expect, stream, lines, problems):
    pieces = "".join(x["piece"] for x in lines if "piece" in x)
    end = lines[-1] if lines else {}
    if "reply" not in end:
        problems.append("no reply: %s" % end)
        return
    reply = end["reply"]
    want = expect["message"]
    kit.diff(want.get("content") or "", reply["content"], "content", problems)
    if stream:
        kit.diff(want.get("content") or "", pieces, "pieces", problems)
    choice = reply["raw"]["choices"][0]
    kit.diff_message(want, choice["message"], "raw message", problems)
    kit.diff_message(want, reply["message"], "message", problems)
    if None in reply["message"].values():
        problems.append("null in the message: %s" % reply["message"])
    kit.diff(expect.get("finish_reason"), choice.get("finish_reason", kit.ABSENT), "finish_reason", problems)
    if "logprobs" in expect:
        kit.diff(expect["logprobs"], choice.get("logprobs", kit.ABSENT), "logprobs", problems, subset=True)
    for i, c in enumerate(expect.get("choices") or []):
        kit.diff(c, reply["raw"]["choices"][i], "choices[%d]" % i, problems, subset=True)
    if "usage" in expect:
        check_usage(expect["usage"], reply["usage"], problems)


def check_error(fixture, player, lines, problems):
    expect, call = fixture["expect"], fixture["call"]
    want = expect["error"]
    before = "".join(d.get("content") or "" for d in expect.get("deltas_before_error") or [])
    kit.diff(before, "".join(x["piece"] for x in lines if "piece" in x), "pieces before", problems)
    error = (lines[-1] if lines else {}).get("error")
    if not error:
        problems.append("no error: %s" % lines[-1:])
        return
    detail = json.loads(error["detail"])
    kit.diff(want["kind"], error["kind"], "kind", problems)
    kit.diff(want.get("status"), error["status"], "status", problems)
    if "retry_after_seconds" in want:
        kit.diff(want["retry_after_seconds"], detail["retry_after_seconds"], "retry_after_seconds", problems)
    err = "main.pdl:1 - " + error["msg"]
    kit.Runner.check_error_text(type("R", (), {"ref": False})(), want, call["model"], fixture, player, err, problems)


def play(path, split):
    fixture = json.loads(path.read_text("utf-8"))
    call = fixture["call"]
    player = kit.Player(fixture, False)
    try:
        job = {"calls": [{"model": call["model"], "messages": call["messages"], "parameters": call.get("parameters") or {},
                          "stream": bool(call.get("stream"))}], "env": call.get("env") or {}, "split": split}
        code, out, err = drive(kit.substitute(job, player.names))
        lines = [json.loads(x) for x in out.splitlines() if x]
        problems = player.finish()
        if code or err:
            problems.append("driver: exit %s: %s" % (code, err[-2000:]))
        if "error" in fixture["expect"]:
            check_error(fixture, player, lines, problems)
        else:
            check_reply(fixture["expect"], call.get("stream"), lines, problems)
        least = fixture["expect"].get("elapsed_seconds_at_least")
        if least and player.requests[-1].at - player.requests[0].at < least:
            problems.append("waited less than %s s" % least)
        return problems
    finally:
        player.close()


def judge(paths, split):
    for path in paths:
        check(path.stem, not (problems := play(path, split)), "\n    ".join(problems))


@pytest.mark.parametrize("some", SOME)
def test_whole(some):
    judge(sorted(FOLDER.glob(some + ".json")), False)


@pytest.mark.parametrize("some", SOME)
def test_split(some, part):
    judge(part(sorted(FOLDER.glob(some + ".json")), 3, lambda path: path.stem), True)
