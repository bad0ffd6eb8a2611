# SPDX-License-Identifier: Apache-2.0
"""Budgets of runs and blocks, and prices, over real HTTP."""
import json
import resource
import time

from ..checks import same
from ..harness.choice import Choice
from .loopback import Place, Server, completion

FOUR = "for: {i: [1, 2, 3, 4]}\n%s:\n  model: openai/m\n  input: n${ i }\njoin: {with: ','}\n"


def say(body, n):
    return "ok"


def outputs(build, cases, reply=say, **kw):
    """Rows of (program, standard output, requests)."""
    for program, want, n in cases:
        with Server(reply, **kw) as s:
            p = Place(build, s)
            status, out, err = p.run("--stream", "none", "p.pdl", program=program)
            same((out, len(s.requests)), (want, n), program + err)


def test_calls_of_a_block(build):
    told = "fallback: '${ pdl_error.kind }: ${ pdl_error.message } (${ pdl_error.budget })'\n"
    spent = "budget: the budget of 2 calls is spent (calls)\n"
    outputs(build, [
        ("budget: {calls: 4}\n" + FOUR % "repeat", "ok,ok,ok,ok\n", 4),
        ("budget: {calls: 2}\n" + told + FOUR % "repeat", spent, 2),
        ("budget: {calls: 2}\n" + told + FOUR % "map", spent, 2),
        ("budget: {calls: '${ 1 + 1 }'}\nretry: -1\n" + told + FOUR % "map", spent, 2),
        ("budget: {calls: 0}\nmodel: openai/m\nfallback: none\n", "none\n", 0),
        ("budget: {}\nmodel: openai/m\n", "ok\n", 1),
        ("budget: {calls: null}\nmodel: openai/m\n", "ok\n", 1),
    ])


def test_error_has_its_place(build):
    with Server(say) as s:
        p = Place(build, s, PDL_ERRORS="long")
        status, out, err = p.run("p.pdl", program="budget: {calls: 2}\n" + FOUR % "map")
        same((status, err.splitlines()[0]), (1, "p.pdl:3 - the budget of 2 calls is spent"))
        same("the budget is that of the block at p.pdl:1" in err, True, err)


def test_fallback_is_outside(build):
    outputs(build, [("budget: {calls: 1}\ntext: [{model: openai/a, input: x}, {model: openai/b, input: y}]\n"
                     "fallback: {model: openai/c, input: z}\n", "openai/c\n", 2)],
            reply=lambda body, n: "openai/" + body["model"])


def test_definitions_count(build):
    outputs(build, [("budget: {calls: 1}\ndefs: {x: {model: openai/a, input: x}}\ntext: ['${ x }', {model: openai/b, input: y}]\n"
                     "fallback: spent\n", "spent\n", 1)])


def test_nested_budgets(build):
    inner = "budget: {calls: %d}\ntext:\n- budget: {calls: %d}\n  fallback: inner\n  text: [{model: openai/m, input: a}, {model: openai/m, input: b}]\n" \
            "- budget: {calls: 2}\n  text: [{model: openai/m, input: c}, {model: openai/m, input: d}]\nfallback: outer\n"
    outputs(build, [(inner % (4, 2), "okokokok\n", 4), (inner % (4, 1), "innerokok\n", 3), (inner % (3, 2), "outer\n", 3)])


def test_retry_with_a_budget_inside(build):
    """Each attempt has its own budget: the outer retry is of use; that of the block itself is not."""
    outputs(build, [
        ("retry: 2\nfallback: none\ntext:\n- budget: {calls: 1}\n  text: [{model: openai/m, input: a}, {model: openai/m, input: b}]\n", "none\n", 3),
        ("retry: {tries: 2, exceptions: budget}\nfallback: none\ntext:\n- budget: {calls: 1}\n  text: [{model: openai/m, input: a}, {model: openai/m, input: b}]\n",
         "none\n", 3),
        ("retry: {tries: 2, exceptions: rate_limit}\nfallback: none\ntext:\n- budget: {calls: 1}\n  text: [{model: openai/m, input: a}, {model: openai/m, input: b}]\n",
         "none\n", 1),
    ])


def test_tokens(build):
    """usage is 5 + 7 a call."""
    outputs(build, [
        ("budget: {tokens: 48}\n" + FOUR % "repeat", "ok,ok,ok,ok\n", 4),
        ("budget: {tokens: 36}\nfallback: '${ pdl_error.message }'\n" + FOUR % "repeat", "the budget of 36 tokens is spent\n", 3),
        ("budget: {tokens: 30}\nmodel: openai/m\ninput: hi\nparameters: {max_tokens: 40}\nfallback: '${ pdl_error.message }'\n",
         "the budget of 30 tokens is too small for this call: 0 used, up to 45 needed\n", 0),
    ])


def test_reserved_tokens_come_back(build):
    """Each call may use 105, and uses 12: all of them fit one after the other, and never more than two are in flight."""
    with Server(say, delay=0.05) as s:
        p = Place(build, s)
        out = p.run("--stream", "none", "p.pdl", program="budget: {tokens: 230}\nfor: {i: [1, 2, 3, 4, 5, 6]}\nmap: {model: openai/m, input: hi, parameters: {max_tokens: 100}}\njoin: {with: ','}\n")
        same((out, len(s.requests), s.most_open), ((0, "ok,ok,ok,ok,ok,ok\n", ""), 6, 2))


def test_cost(build):
    with Server(say) as s:
        p = Place(build, s)
        one = "budget: {cost: %s}\ntext: [{model: openai/m, input: hi, modelResponse: r}, ' ${ r.usage.cost }']\nfallback: '${ pdl_error.kind }'\n"
        same(p.run("p.pdl", program=one % 1)[1], "config\n", "unknown is not zero")
        same(len(s.requests), 0)
        (p.dir / "prices.json").write_text(json.dumps({"*": {"input": 9, "output": 9}, "openai/*": {"input": 0.25, "output": 0.5}}))
        same(p.run("--prices", "prices.json", "p.pdl", program=one % 100)[1], "ok 4.75\n")
        same(p.run("--prices", "prices.json", "p.pdl", program=one % 0.5)[1], "budget\n")
        p.env["PDL_PRICES"] = "prices.json"
        same(p.run("p.pdl")[1], "budget\n")
        want = "p.pdl:2 - the budget of 10 cost is too small for this call: 9.5 used, up to 4.75 needed"
        same(p.run("--budget", "cost=10", "p.pdl", program=FOUR % "repeat")[2].splitlines()[0], want)
        rows = {"sample_spec": {"litellm_provider": "one of", "max_tokens": "most"}, "m": {"litellm_provider": "openai", "input_cost_per_token": 0.25, "output_cost_per_token": 0.5},
                "other/m": {"litellm_provider": "other", "input_cost_per_token": 9, "output_cost_per_token": 9}, "1024/m": {"litellm_provider": "openai", "output_cost_per_image": 9}}
        for change in ({}, {"litellm_provider": "openai_chat"}):
            rows["m"].update(change)
            (p.dir / "litellm.json").write_text(json.dumps(rows))
            same(p.run("--prices", "litellm.json", "p.pdl", program=one % 100)[1], "ok 4.75\n")
        # a row may name another one; beside the rows LiteLLM's own file has what is none
        rows["n"] = {**rows.pop("m"), "litellm_provider": "openai"}
        for names in ({"m": {"alias_of": "n"}}, {"openai/m": {"alias_of": "k"}, "k": {"alias_of": "n"}}, {"m": {"alias_of": "n"}, "general": {"rules": []}}):
            (p.dir / "litellm.json").write_text(json.dumps({**rows, **names}))
            same(p.run("--prices", "litellm.json", "p.pdl", program=one % 100)[1], "ok 4.75\n", names)
        for names in ({"m": {"alias_of": "m"}}, {"m": {"alias_of": "nothing"}}):
            (p.dir / "litellm.json").write_text(json.dumps({**rows, **names}))
            same(p.run("--prices", "litellm.json", "p.pdl", program=one % 100)[1], "config\n", names)
        del rows["sample_spec"]
        (p.dir / "litellm.json").write_text(json.dumps({**rows, "general": {"rules": []}}))
        same(p.run("--prices", "litellm.json", "p.pdl", program=one % 100)[0], 2, "a row that is none")
        rows["m"] = rows.pop("n")
        rows["m"]["litellm_provider"] = "azure"
        (p.dir / "litellm.json").write_text(json.dumps(rows))
        same(p.run("--prices", "litellm.json", "p.pdl", program=one % 100)[1], "config\n", "another service")
        free = "model: openai/m\ninput: hi\nmodelResponse: r\nparameters: {input_cost_per_token: 1, output_cost_per_token: 2}\n"
        same(p.run("--stream", "none", "p.pdl", program="lastOf:\n- " + free.replace("\n", "\n  ") + "\n- ${ r.usage.cost }\n")[1], "19.0\n")


def used():
    """Seconds of the processor of all commands until now."""
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def test_seconds_of_loops(build):
    """What asks nobody ends with its time, too: loops, maps, recursion, templates; and the run continues."""
    told = "fallback: '${ pdl_error.message } (${ pdl_error.kind } ${ pdl_error.line })'\n"
    spent = "the budget of 0.1 seconds is spent (budget %d)\n"
    with Server(say) as s:
        p = Place(build, s)
        for program, line in [
                ("repeat: {data: 1}\nwhile: true\njoin: {as: lastOf}\n", 1),
                ("for: {i: '${ range(100000000) }'}\nrepeat: {data: 1}\njoin: {as: lastOf}\n", 2),
                ("for: {i: '${ range(100000000) }'}\nmap: {data: 1}\njoin: {as: lastOf}\n", 1),
                ("for: {i: '${ range(1000) }'}\nmap: {repeat: {data: 1}, while: true, join: {as: lastOf}}\n", 3),
                ("lang: jinja\ncode: '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}'\n", 1),
                ("defs: {fib: {function: {n: integer}, return: '${ n if n < 2 else fib(n - 1) + fib(n - 2) }'}}\ntext: '${ fib(50) }'\n", 2)]:
            start = used()
            same(p.run("--stream", "none", "p.pdl", program="budget: {seconds: 0.1}\n" + program + told)[1], spent % line, program)
            same(used() - start < (30 if Choice.sanitized else 2), True, program)
        status, out, err = p.run("--budget", "seconds=0.1", "p.pdl", program="repeat: ''\nwhile: true\n")
        same((status, err.splitlines()[0]), (1, "p.pdl:1 - the budget of 0.1 seconds is spent"))
        status, out, err = p.run("--budget", "seconds=100", "p.pdl", program="for: {i: '${ range(5000) }'}\nrepeat: {data: 1}\njoin: {as: lastOf}\n")
        same((status, out, err), (0, "1\n", ""))


def test_what_the_server_says_it_cost(build):
    def reply(body, n):
        return 200, {}, {**completion("ok"), "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 3}}
    with Server(reply) as s:
        p = Place(build, s)
        (p.dir / "t").write_text('{"*": {"input": 0.001, "output": 0.001}}')
        status, out, err = p.run("--stream", "none", "--prices", "t", "--budget", "cost=5", "p.pdl", program=FOUR % "repeat")
        same((status, len(s.requests)), (1, 1), err)


def test_broken_tables(build):
    p = Place(build)
    for text, want in (("{", "is not JSON"), ("[]", 'should be {"MODEL GLOB"'), ('{"a": {"input": 1}}', "'a' should be"),
                       ('{"a": {"input": -1, "output": 1}}', "'a' should be")):
        (p.dir / "t").write_text(text)
        status, out, err = p.run("--prices", "t", "p.pdl", program="text: hi")
        same((status, out, want in err, err.count("\n")), (2, "", True, 1), err)


def test_seconds(build):
    """What is in flight is ended; the connection is closed; the time of a block begins with it."""
    slow = "budget: {seconds: 0.3}\nfallback: '${ pdl_error.kind }'\ntext:\n- %s\n"
    for part in ("{model: openai/m, input: hi}", "{lang: command, code: sleep 20}", "{lang: python, code: 'import time; time.sleep(20)'}",
                 "{for: {i: [1, 2]}, map: {model: openai/m, input: hi}}"):
        with Server(say, delay=20) as s:
            begin = time.monotonic()
            same(Place(build, s).run("--stream", "none", "p.pdl", program=slow % part), (0, "budget\n", ""), part)
            same(time.monotonic() - begin < 15, True, part)
    with Server(say) as s:
        same(Place(build, s).run("p.pdl", program=slow % "{model: openai/m, input: hi}"), (0, "ok\n", ""))


def test_of_the_run(build):
    with Server(say) as s:
        p = Place(build, s)
        same(p.run("--budget", "calls=3,tokens=10000,seconds=60", "p.pdl", program=FOUR % "map")[2].splitlines()[0],
             "p.pdl:2 - the budget of 3 calls is spent")
        same(len(s.requests), 3)
        python = "lang: python\ncode: |\n  from pdl.pdl import exec_str\n  result = exec_str('{model: openai/m, input: hi}')\n"
        out = p.run("--budget", "calls=0", "p.pdl", program=python + "fallback: '${ pdl_error.message }'\n")[1]
        same("the budget of 0 calls is spent" in out, True, out)
        for wrong in ("calls", "calls=x", "call=1", "calls=-1", "", "calls=nan"):
            status, out, err = p.run("--budget", wrong, "p.pdl")
            same((status, "is not a budget: write some of calls=N,tokens=N,cost=X,seconds=X,turns=N,requests=N" in err), (2, True), wrong)


def test_callbacks_are_charged(build):
    outputs(build, [("budget: {calls: 1}\nfallback: spent\ndefs:\n  ask:\n    function: {q: string}\n    return: {model: openai/m, input: '${ q }'}\ntext:\n"
                     "- lang: python\n  code: \"result = ask(q='a') + ask(q='b')\"\n", "spent\n", 1)])


def test_replayed_as_recorded(build):
    with Server(say) as s:
        p = Place(build, s)
        program = "budget: {calls: 2}\nretry: 3\nfallback: '${ pdl_error.message }'\n" + FOUR % "map"
        same(p.run("--record", "j", "p.pdl", program=program), (0, "the budget of 2 calls is spent\n", ""))
        same(p.run("--replay", "j", "p.pdl"), (0, "the budget of 2 calls is spent\n", ""))


def test_cached_replies_are_free(build):
    with Server(say) as s:
        p = Place(build, s)
        p.run("--cache", "c", "p.pdl", program=FOUR % "map")
        same(p.run("--stream", "none", "--cache", "c", "--budget", "calls=0", "p.pdl"), (0, "ok,ok,ok,ok\n", ""))


def test_wrong_fields(build):
    p = Place(build)
    for budget, want in (("3", "should be an object {calls, tokens, cost, seconds, turns, requests}"), ("{call: 3}", "did you mean 'calls'"),
                         ("{calls: [1]}", "number or string"), ("{calls: \"${ 'x' }\"}", "calls of budget is expected to be a number"),
                         ("{calls: -1}", "calls of budget is negative")):
        p.env["PDL_ERRORS"] = "long"
        status, out, err = p.run("p.pdl", program="budget: %s\ntext: hi\n" % budget)
        same((status, out, want in err), (1, "", True), budget + err)
