# SPDX-License-Identifier: Apache-2.0
"""`pdl explain`: the requests that a program would send. The server must get none of them."""
import json

from ..checks import same
from .loopback import Place, Server

CHAIN = """text:
- "Hello"
- {model: openai/a, parameters: {temperature: 0, max_tokens: 20}, def: a}
- {model: openai/b, input: 'Count to ${ n }', contribute: [result]}
- {model: openai/c, input: '${ a }'}
"""


def notes(p, *args, status=0, **kw):
    got, out, err = p.run("explain", "--json", *args, "p.pdl", **kw)
    same(got, status, err)
    return json.loads(out)


def test_sums_up(build):
    """Totals of what is known, and how many calls are without it."""
    with Server(lambda body, n: "x") as s:
        p = Place(build, s)
        (p.dir / "prices.json").write_text(json.dumps({"openai/a": {"input": 0.5, "output": 0.25}}))
        d = notes(p, "-d", "n: 3", "--prices", "prices.json", program=CHAIN)["totals"]
        same(d, {"calls": 2, "prompt_tokens": d["prompt_tokens"], "answer_tokens_at_most": 20, "calls_without_limit": 1,
                 "cost": 6 * 0.5 + 20 * 0.25, "calls_without_price": 1})
        _, out, _ = p.run("explain", "-d", "n: 3", "--prices", "prices.json", "p.pdl")
        last = out.splitlines()[-1]
        same(last, "total: 2 calls, about %d tokens in prompts, at most 20 in answers, 1 without max_tokens; cost: about 8; 1 without a price (--prices); "
             "more that is not known yet" % d["prompt_tokens"])
        many = notes(p, program="for: {i: [1, 2, 3]}\nmap: {model: openai/a, input: 'n${ i }'}\n")["totals"]
        same((many["calls"], many["calls_without_limit"]), (3, 3), "every iteration of a map")
        for workers in (0, 1, 2):
            of = {name: notes(p, program="for: {i: [1, 2, 3]}\nmap: %s\nmaxWorkers: %d\n" % (body, workers)) for name, body in (
                ("a call", "{model: openai/a, input: 'n${ i }'}"),
                ("a reply that is needed", "{if: '${ x == 1 }', then: a, else: b, defs: {x: {model: openai/a, input: 'n${ i }'}}}"))}
            same({k: v["totals"]["calls"] for k, v in of.items()}, {"a call": 3, "a reply that is needed": 3}, "maxWorkers %d" % workers)
            same(of["a call"]["not_known"], [])


def test_shows_what_a_run_sends(build):
    """The bodies are those that the server of a real run gets, key by key."""
    with Server(lambda body, n: "x") as s:
        p = Place(build, s)
        d = notes(p, "-d", "n: 3", program=CHAIN)
        same(len(s.requests), 0, "nobody is asked")
        p.run("-d", "n: 3", "p.pdl")
        sent = sorted((r for r in s.requests if r["model"] != "c"), key=lambda r: r["model"])
        same([c["request"]["body"] for c in d["calls"]], sent)
        same([c["request"]["url"] for c in d["calls"]], [s.url + "/chat/completions"] * 2)
        same([(c["line"], c["place"], c["model"]) for c in d["calls"]], [(3, "text.1.model", "openai/a"), (4, "text.2.model", "openai/b")])
        same(d["calls"][0]["messages"], [{"role": "user", "content": "Hello"}])
        same(d["calls"][0]["tokens"], {"prompt": 6, "answer_at_most": 20})
        same(d["not_known"], [{"file": "p.pdl", "line": 5, "waits_for": "the reply of call 1"}])
        p.run("--stream", "none", "p.pdl", "-d", "n: 3")
        same(notes(p, "--stream", "none", "-d", "n: 3")["calls"][0]["request"]["body"].get("stream"), None)


def test_keys_are_removed(build):
    p = Place(build)
    program = "text:\n- {model: openai/a, input: 'my key is sk-secret-0123456789'}\n- {model: openai/b, input: x, parameters: {api_key: other-secret-42}}\n" \
              "- {model: gemini/g, input: x, parameters: {api_key: third-secret-42}}\n- {model: anthropic/c, input: x, parameters: {api_key: fourth-secret-42, extra_headers: {X-Api-Key: fifth-secret-42}}}\n"
    for args in ((), ("--json",)):
        status, out, err = p.run("explain", *args, "p.pdl", program=program)
        same((status, "secret" in out + err), (0, False), out + err)


def test_missing_key_is_told(build):
    p = Place(build)
    del p.env["OPENAI_API_KEY"]
    d = notes(p, program="{model: openai/a, input: x}")
    same(d["calls"][0]["problem"], "Missing credentials: set OPENAI_API_KEY or give parameters.api_key")
    same(d["calls"][0]["request"]["body"]["model"], "a")
    same(notes(p, program="{model: nobody/a, input: x}")["calls"][0]["problem"].split(":")[0], "unknown_provider")


def test_nothing_is_done_unless_allowed(build):
    program = "text:\n- {lang: python, code: 'open(\"made\", \"w\"); result = str(7)', def: x}\n- {model: openai/a, input: '${ x }'}\n"
    p = Place(build)
    d = notes(p, program=program)
    same((d["calls"], [(n["kind"], n["allow"], n["line"]) for n in d["not_done"]]), ([], [("code", "code", 2)]))
    same(d["not_known"][0]["waits_for"], "code, which was not allowed")
    same((p.dir / "made").exists(), False)
    d = notes(p, "--allow", "code")
    same((d["calls"][0]["messages"][0]["content"], d["not_done"], (p.dir / "made").exists()), ("7", [], True))
    for kind, block in (("command", "{lang: command, code: touch made2}"), ("read", "{read: p.pdl}"), ("input", "{read: , message: 'q'}")):
        d = notes(p, program="text:\n- %s\n- {model: openai/a, input: x}\n" % block)
        same([n["allow"] for n in d["not_done"]], [kind])
        same((p.dir / "made2").exists(), False)
    same(p.run("explain", "--allow", "everything", "p.pdl")[0], 2)


BRANCHES = """defs:
  f: {function: {x: string}, return: {model: openai/in_function, input: '${ x }'}}
text:
- {def: a, model: openai/a, input: x}
- if: ${ a == 'yes' }
  then:
    text: [{model: openai/b, input: b}, {model: openai/c, input: c}]
  else: {call: '${ f }', args: {x: no}}
- if: ${ true }
  then:
    lastOf: ['${ a }', {model: openai/d, input: d}]
  else: {model: openai/never, input: n}
- {read: other.txt}
- "${ a } words"
- {model: openai/e, input: e, fallback: {model: openai/f, input: f}}
"""


def test_blocks_behind_unknowns(build):
    def places(program):
        return [(x["line"], x["column"], x["kind"], x["models"], x["waits_for"]) for x in notes(p, program=program)["not_reached"]]

    p = Place(build)
    first = "the reply of call 1"
    same(places(BRANCHES), [(6, 3, "text", 2, first), (8, 3, "call", 0, first), (9, 3, "if", 2, first), (13, 3, "read", 0, first), (15, 3, "model", 1, first)])
    out = p.run("explain", "p.pdl")[1]
    same(out[out.index("not reached:"):].splitlines()[:3], ["not reached:", "  p.pdl:6:3 text, with 2 model blocks: after " + first, "  p.pdl:8:3 call: after " + first])
    same(places("text:\n- {def: a, model: openai/a, input: x}\n- if: true\n  then:\n    lastOf: ['${ a | length }', {model: openai/d, input: d}]\n  else: {model: openai/n, input: n}\n"),
         [(5, 33, "model", 1, first)])
    same(places("text:\n- {def: a, model: openai/a, input: x}\n- match: 1\n  with:\n  - {case: 2, then: {model: openai/n, input: n}}\n"
                "  - {case: 1, then: {text: ['${ a | length }', {model: openai/d, input: d}]}}\n"), [(6, 48, "model", 1, first)])
    same(places("text:\n- {def: a, model: openai/a, input: x}\n- {model: openai/b, input: x}\n"), [])
    same([(x[0], x[4]) for x in places("for: {i: [1, 2]}\nmap:\n  text:\n  - {def: a, model: openai/a, input: 'n${ i }'}\n  - '${ a | length }'\n  - {model: openai/b, input: x}\n")],
         [(6, first)])
    same([(x[0], x[4]) for x in places("text:\n- {def: a, model: openai/a, input: x}\n- {def: g, function: {}, return: {lastOf: ['${ a | length }', {model: openai/b, input: x}]}}\n"
                                       "- {call: '${ g }'}\n- {read: b.txt}\n")], [(3, first), (5, first)])


def test_failing_programs(build):
    p = Place(build)
    same(p.run("explain", "p.pdl", program="text: ['${ nope }']")[0], 1)
    same(p.run("explain", "p.pdl", program="txt: x")[0], 1)
    same(p.run("explain", "p.pdl", program="text: hi")[:2], (0, "no call of a model is reached\n"))
    same(p.run("explain")[0], 2)


def test_many_calls(build):
    """No limit on what is open: every iteration of a map is shown."""
    p = Place(build)
    waits = "for: {i: [1, 2, 3]}\nmap:\n  text: [{model: openai/a, input: 'n${ i }', def: r}, {if: \"${ r == 'x' }\", then: {model: openai/b, input: x}}]\n"
    out = p.run("explain", "p.pdl", program=waits)[1]
    same(out[out.index("not known:"):].splitlines(), ["not known:", "  p.pdl:3: waits for the reply of call 1, and 2 times more for others",
                                                      "not reached:", "  p.pdl:3:77 model: after the reply of call 1",
                                                      "total: 3 calls, about 15 tokens in prompts, 3 without max_tokens; 3 without a price (--prices); more that is not known yet"])
    d = notes(p, program="for: {i: \"${ range(500) | list }\"}\nmap: {model: openai/a, input: 'n${ i }'}\n")
    same([c["messages"][0]["content"] for c in d["calls"]], ["n%d" % i for i in range(500)])


def test_costs(build):
    p = Place(build)
    (p.dir / "t").write_text('{"openai/*": {"input": 1, "output": 2}}')
    same(notes(p, "--prices", "t", program="{model: openai/a, input: abcdefgh, parameters: {max_tokens: 5}}")["calls"][0]["cost"], 16.0)
