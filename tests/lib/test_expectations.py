# SPDX-License-Identifier: Apache-2.0
"""Expectations without `feedback`, judged by models whose service gives no log-probabilities: the words of the answer decide."""
import json
import os
import subprocess

import pytest

from .. import http_of
from ..checks import check, same

PROGRAM = """
defs: {pdl_llm_as_judge: openai/judge, pdl_llm_context_transformer: openai/helper}
lastOf:
- Say hello.
- model: openai/m
  retry: 2
  expectations: [{expect: it is polite}]
"""
# what a service does with a wish for log-probabilities, and what its judge says of what is polite and of what is not
JUDGES = {"they are null": ({"logprobs": None}, "true", "false"), "they are left out": ({}, "TRUE", " False.\n"), "their content is null": ({"logprobs": {"content": None}}, "True\n", "false"),
          "the wish is refused": (None, "true", "FALSE")}


def served(choice, yes, no, asked):
    class Handler(http_of.Quiet):
        def do_POST(self):
            body = json.loads(self.body())
            text = json.dumps(body["messages"])
            asked.append(body["model"])
            if body["model"] == "judge" and choice is None and "logprobs" in body:
                self.reply(json.dumps({"error": {"message": "logprobs is not supported", "type": "invalid_request_error", "param": "logprobs"}}).encode(), status=400)
                return
            said = {"judge": yes if "Good day" in text else no, "helper": "Be polite.", "m": "Good day" if "Be polite." in text else "Hey"}[body["model"]]
            whole = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop", **(choice or {})}
            self.reply(json.dumps({"id": "c", "choices": [whole]}).encode())
    return http_of.serve(Handler)


@pytest.mark.parametrize("name", JUDGES)
def test_judges_without_log_probabilities(pdl, folder, name):
    choice, yes, no = JUDGES[name]
    asked = []
    server = served(choice, yes, no, asked)
    (folder / "main.pdl").write_text(PROGRAM, "utf-8")
    env = {**os.environ, "OPENAI_BASE_URL": "http://127.0.0.1:%d/v1" % server.server_port, "OPENAI_API_KEY": "k"}
    r = subprocess.run([str(pdl), "--stream", "none", "main.pdl"], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    server.shutdown()
    check("the second answer is accepted", r.returncode == 0 and r.stdout.endswith("Good day\n"), (r.returncode, r.stdout, r.stderr))
    judged = ["judge"] * (2 if choice is None else 1)  # a refused wish is asked again without it
    same(asked, ["m", *judged, "helper", "m", *judged])
