# SPDX-License-Identifier: Apache-2.0
"""Equal calls of runs are one request with `n`, each with its own place in cache, recording, budget and count; servers get seeds."""
import itertools
import json
import threading

import pytest

from .. import http_of
from .kit import infer, t

ASK = "lastOf:\n- {def: q, contribute: [], data: what}\n- ${ q }\n- model: openai/m\n"
TWO = ("lastOf:\n- {def: a, contribute: [], lastOf: [first, {model: openai/m}]}\n- second ${ a }\n- model: openai/m\n")


class Server(http_of.Plain):
    """A chat server that answers with numbers from 1; how: it gives n choices ("n"), one ("one"), or refuses n ("refuse")."""

    def __init__(self, how, word=lambda k, prompt: str(k)):
        self.how, self.word, self.bodies, self.lock, self.next = how, word, [], threading.Lock(), itertools.count(1)
        super().__init__(self.chat)
        self.url = "http://127.0.0.1:%d/v1" % self.port

    def chat(self, head, body, send):
        body = json.loads(body)
        with self.lock:
            self.bodies.append(body)
            n = body.get("n", 1) if self.how == "n" else 1
            if self.how == "refuse" and "n" in body:
                send(http_of.answer(json.dumps({"error": {"message": "n is not taken", "type": "invalid_request_error"}}).encode(), status=400))
                return True
            prompt = body["messages"][-1]["content"]
            choices = [{"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": self.word(next(self.next), prompt)}} for i in range(n)]
        send(http_of.answer(json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices,
                                        "usage": {"prompt_tokens": 100, "completion_tokens": 2 * n + 1, "total_tokens": 101 + 2 * n}}).encode()))
        return True


def begin(program, how="n", **more):
    t.begin({"p.pdl": program})
    t.service.url = (server := Server(how, **more)).url
    return server


@pytest.fixture(autouse=True)
def own_server(monkeypatch):
    url = t.service.url
    yield
    t.service.url = url


def test_one_request():
    s = begin(ASK)
    d, _ = infer("p.pdl", "--algo", "is", "-n", "5")
    t.check("one request for five", [b.get("n") for b in s.bodies] == [5], s.bodies)
    t.check("dealt in the order of lineage", d["values"] == ["1", "2", "3", "4", "5"] and d["particles"]["value"] == [0, 1, 2, 3, 4], d)
    t.check("each is a call, the prompt is paid once", d["usage"]["model_calls"] == 5 and d["usage"]["prompt_tokens"] == 100 and d["usage"]["completion_tokens"] == 11, d["usage"])
    s = begin(ASK)
    d, _ = infer("p.pdl", "--algo", "is", "-n", "1")
    t.check("one call has no n", ["n" in b for b in s.bodies] == [False], s.bodies)
    s = begin(ASK)
    infer("p.pdl", "--algo", "is", "-n", "300")
    t.check("at most 128 choices", sorted(b["n"] for b in s.bodies) == [44, 128, 128], [b["n"] for b in s.bodies])


def test_waves_of_a_vote():
    s = begin(ASK, word=lambda k, prompt: "no" if k == 3 else "yes")
    d, _ = infer("p.pdl", "--algo", "maj", "-n", "5")
    t.check("merged within the wave", [b.get("n") for b in s.bodies] == [3, None] and d["sample"] == "yes" and d["runs"] == 4, s.bodies, d)


def test_second_calls_by_their_request():
    """After different answers only equal requests are one; all wait for the slowest, so time decides nothing."""
    s = begin(TWO, word=lambda k, prompt: "ab"[k % 2] if prompt == "first" else prompt[-1] + str(k))
    d, _ = infer("p.pdl", "--algo", "is", "-n", "6", "--jobs", "1")
    asked = [(b["messages"][-1]["content"], b.get("n")) for b in s.bodies]
    t.check("two groups of three", asked == [("first", 6), ("second b", 3), ("second a", 3)], asked)
    t.check("six results", sorted(d["values"]) == ["a10", "a11", "a12", "b7", "b8", "b9"], d["values"])
    t.check("dealt in the order of lineage", [d["values"][i] for i in d["particles"]["value"]] == ["b7", "a10", "b8", "a11", "b9", "a12"], d)


@pytest.mark.parametrize("how", ["one", "refuse"])
def test_servers_without_n(how):
    """Calls without a choice are sent alone, and later ones at once."""
    s = begin(TWO, how=how, word=lambda k, prompt: "x")
    d, _ = infer("p.pdl", "--algo", "is", "-n", "4")
    first = [b.get("n") for b in s.bodies if b["messages"][-1]["content"] == "first"]
    second = [b.get("n") for b in s.bodies if b["messages"][-1]["content"] != "first"]
    t.check("alone after one attempt", first == [4] + [None] * (3 if how == "one" else 4) and second == [None] * 4, s.bodies)
    t.check("all have results", d["values"] == ["x"] and d["usage"]["model_calls"] == 8, d)


def test_providers_without_n():
    s = begin(ASK.replace("openai/m", "openai/m\n  parameters: {n: 1}"))
    infer("p.pdl", "--algo", "is", "-n", "3")
    t.check("the program says n", [b.get("n") for b in s.bodies] == [1, 1, 1], s.bodies)
    s = begin(ASK.replace("openai/m", "lm_studio/m\n  parameters: {api_base: '%s'}" % Server("n").url))
    t.service.url = s.url
    d, _ = infer("p.pdl", "--algo", "is", "-n", "3")
    t.check("a provider that does not document it", d["usage"]["prompt_tokens"] == 300, d["usage"])


def test_cache_and_recording():
    s = begin(ASK)
    first, _ = infer("p.pdl", "--algo", "is", "-n", "3", "--cache", "c.db", "--record", "r.db")
    more, _ = infer("p.pdl", "--algo", "is", "-n", "5", "--cache", "c.db")
    t.check("only new ones are asked for", [b.get("n") for b in s.bodies] == [3, 2] and more["values"][:3] == first["values"], s.bodies, more)
    again, _ = infer("p.pdl", "--algo", "is", "-n", "3", "--replay", "r.db", "--seed", str(first["seed"]))
    t.check("the recording has each", again == first and len(s.bodies) == 2, again, first)
    code, _, err = t.run("--replay", "r.db", "p.pdl", word="run")
    t.check("one run cannot replay it", code == 1 and "r.db has the answers of an inference" in err and "pdl infer --replay r.db" in err and err.count("replay:") == 1, code, err)
    (t.folder / "other.pdl").write_text((t.folder / "p.pdl").read_text().replace("- model", "- hello\n- model", 1))
    _, err = infer("other.pdl", "--algo", "is", "-n", "3", "--replay", "r.db", expected=None)
    t.check("another program is one that asks something else", "asks something else" in err, err)


def test_budget():
    s = begin(ASK)
    _, err = infer("p.pdl", "--algo", "is", "-n", "5", "--budget", "calls=4", expected=1)
    t.check("a merged request counts its calls", "budget" in err and sum(b.get("n", 1) for b in s.bodies) <= 4, err, s.bodies)
    s = begin(ASK)
    d, _ = infer("p.pdl", "--algo", "is", "-n", "5", "--budget", "calls=5")
    t.check("enough", d["usage"]["model_calls"] == 5, d)


def test_failures_reach_each():
    begin(ASK, how="refuse")
    t.service.url = (s := Server("n", word=lambda k, prompt: 1 / 0)).url
    _, err = infer("p.pdl", "--algo", "is", "-n", "2", "--timeout", "total=1", expected=1)
    t.check("one error", err.count("error:") == 1 and "Traceback" not in err, err)


def test_seed():
    """hash(seed, particle, call): repeatable, different for each particle and call; not without --seed; that of the program stays."""
    got = []
    for seed in ("7", "7", "8"):
        s = begin(TWO.replace("first,", "\"${ pdl_particle_id }\",").replace("second", "second ${ pdl_particle_id }"), word=lambda k, prompt: "x")
        infer("p.pdl", "--algo", "is", "-n", "3", "--seed", seed)
        got.append(sorted(b["seed"] for b in s.bodies))
    t.check("repeatable", got[0] == got[1] and len(set(got[0])) == 6 and not set(got[0]) & set(got[2]), got)
    s = begin(ASK)
    infer("p.pdl", "--algo", "is", "-n", "3", "--seed", "7")
    one = [(b["n"], b["seed"]) for b in s.bodies]
    s = begin(ASK)
    infer("p.pdl", "--algo", "is", "-n", "2", "--seed", "7")
    t.check("that of the first particle", len(one) == 1 and one[0][1] == s.bodies[0]["seed"], one, s.bodies)
    s = begin(ASK)
    infer("p.pdl", "--algo", "is", "-n", "3")
    t.check("none without --seed", "seed" not in s.bodies[0], s.bodies)
    s = begin(ASK.replace("openai/m", "openai/m\n  parameters: {seed: 3}"))
    infer("p.pdl", "--algo", "is", "-n", "3", "--seed", "7")
    t.check("the program says it", [b["seed"] for b in s.bodies] == [3], s.bodies)


def test_seeds_are_not_in_the_cache():
    s = begin(ASK)
    infer("p.pdl", "--algo", "is", "-n", "3", "--seed", "7", "--cache", "c.db")
    d, _ = infer("p.pdl", "--algo", "is", "-n", "3", "--seed", "8", "--cache", "c.db")
    t.check("another seed finds the answers", len(s.bodies) == 1 and d["values"] == ["1", "2", "3"], s.bodies)


def test_calls_by_code_do_not_wait():
    """A code block that calls a function occupies the worker: its call goes out at once, else the others would never come to theirs."""
    s = begin("defs:\n  ask: {function: {x: integer}, return: {lastOf: ['q ${ x }', {model: openai/m}]}}\nlastOf:\n- {def: a, contribute: [], lang: python, code: 'result = ask(x=1)'}\n"
              "- again\n- model: openai/m\n", word=lambda k, prompt: "x")
    d, _ = infer("p.pdl", "--algo", "is", "-n", "4")
    asked = [(b["messages"][-1]["content"], b.get("n")) for b in s.bodies]
    t.check("alone from code, as one after it", asked == [("q 1", None)] * 4 + [("again", 4)], asked)
