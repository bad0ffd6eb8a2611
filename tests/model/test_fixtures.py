#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Play the provider fixtures of the conformance kit against the model room alone, through model_driver.

    python3 tests/model/test_fixtures.py BUILD_DIR [GLOB ...]      prints "N passed, N failed, N skipped"

The kit is found at PDL_SHARED, else beside the checkout; where absent everything counts as skipped.
"""
import fnmatch
import glob
import importlib.util
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
KIT = os.path.join(os.environ.get("PDL_SHARED") or os.path.join(HERE, "..", "..", "..", "shared"), "conformance")
DONE = ["openai-*", "ollama*", "other-*", "compat-*", "watsonx*", "anthropic-*", "gemini-*", "azure-*",
        "replicate-*", "bedrock-[!s]*"]


def load_kit():
    spec = importlib.util.spec_from_file_location("check_providers", os.path.join(KIT, "check_providers.py"))
    kit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kit)
    return kit


def find_driver(build):
    for path in (build, os.path.join(build, "model_driver"), os.path.join(build, "tests", "model", "model_driver")):
        if os.path.isfile(path):
            return path
    sys.exit("test_fixtures.py: no model_driver in " + build)


def drive(driver, job):
    run = subprocess.run([driver], input=json.dumps(job), capture_output=True, text=True, timeout=60)
    return run.returncode, [json.loads(x) for x in run.stdout.splitlines()], run.stderr


def check_usage(kit, want, usage, problems):
    if want is None:
        if usage:
            problems.append("usage: want none, got %s" % usage)
        return
    flat = dict(usage or {})
    flat["cached_tokens"] = ((usage or {}).get("prompt_tokens_details") or {}).get("cached_tokens", kit.ABSENT)
    flat["reasoning_tokens"] = ((usage or {}).get("completion_tokens_details") or {}).get("reasoning_tokens", kit.ABSENT)
    kit.diff(want, flat, "usage", problems, subset=True)


def check_reply(kit, expect, stream, lines, problems):
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
        check_usage(kit, expect["usage"], reply["usage"], problems)


def check_error(kit, fixture, player, lines, problems):
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


def play(kit, driver, path, split):
    with open(path, encoding="utf-8") as f:
        fixture = json.load(f)
    call = fixture["call"]
    player = kit.Player(fixture, False)
    try:
        job = {"calls": [{"model": call["model"], "messages": call["messages"], "parameters": call.get("parameters") or {},
                          "stream": bool(call.get("stream"))}], "env": call.get("env") or {}, "split": split}
        code, lines, err = drive(driver, kit.substitute(job, player.names))
        problems = player.finish()
        if code or err:
            problems.append("driver: exit %s: %s" % (code, err[-2000:]))
        if "error" in fixture["expect"]:
            check_error(kit, fixture, player, lines, problems)
        else:
            check_reply(kit, fixture["expect"], call.get("stream"), lines, problems)
        least = fixture["expect"].get("elapsed_seconds_at_least")
        if least and player.requests[-1].at - player.requests[0].at < least:
            problems.append("waited less than %s s" % least)
        return problems
    finally:
        player.close()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    paths = sorted(glob.glob(os.path.join(KIT, "providers", "*.json")))
    if not paths:
        print("0 passed, 0 failed, 1 skipped (no conformance kit at %s)" % KIT)
        return 0
    kit, driver = load_kit(), find_driver(sys.argv[1])
    wanted = sys.argv[2:] or DONE
    chosen = [p for p in paths if any(fnmatch.fnmatch(os.path.basename(p)[:-5], g) for g in wanted)]
    jobs = [(p, split) for p in chosen for split in (False, True)]
    failed = 0
    with ThreadPoolExecutor(4) as pool:
        for (p, split), problems in zip(jobs, pool.map(lambda j: play(kit, driver, *j), jobs)):
            if problems:
                failed += 1
                print("FAIL %s%s" % (os.path.basename(p)[:-5], " (split)" if split else ""))
                for x in problems:
                    print("    " + x)
    print("%d passed, %d failed, 0 skipped" % (len(jobs) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
