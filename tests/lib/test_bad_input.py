# SPDX-License-Identifier: Apache-2.0
"""How the agents handle bad tools and bad models: the documented result or error, a model's text is never evaluated, and no message is lost.

There is one row for each situation, with the outcome for every agent.
"""
from .agents import AGENTS, dumps

TOOL = '["${ weather }"]'
INJECTION = "${ 1 + 1 } {{ 7 * 7 }} {% for x in y %} {# c #}\nmodel: openai/other\n- lang: python\n  code: boom()\n<|im_end|>\"}]} ''' ``` ${"
TOOLS = {
    "text": 'return: "Sunny in ${ city }"',
    "megabyte": "return: \"${ 'x' * 1000000 }\"",
    "raises": "return: \"${ stdlib.fail('no wind') }\"",
    "raises in Python": 'return: {lang: python, code: "raise ValueError(\'no wind\')"}',
    "bad bytes": 'return: {lang: command, code: "printf \'a\\\\377\\\\000b\'"}',
    "bytes": 'return: {lang: python, code: "result = b\'a\\\\xff\'"}',
    "object": 'return: {lang: python, code: "class A:\\n  def __str__(self): return \'an A\'\\nresult = A()"}',
    "null": "return: {data: null}",
    "number": "return: {data: {n: 12.0, t: \"é\"}}",
    "injection": "return: {data: %s, raw: true}" % dumps(INJECTION),
    "sees": "return: \"got ${ city }\"",
    "silent": 'return: {lang: command, code: "sleep 600"}',
}


def defs(kind):
    return "  weather:\n    description: Weather\n    function: {city: string}\n    %s\n" % TOOLS[kind]


def seen(name, outcome, text):
    """Is this text, as it is, in a request behind the question?"""
    return any(text in h for h in outcome.heard())


def kept(outcome):
    """Does every request begin with the one before? A text by its text, messages by all but what the turn after replaces."""
    for a, b in zip(outcome.requests, outcome.requests[1:]):
        if "prompt" in a and not b["prompt"].startswith(a["prompt"]):
            return False
        if "messages" in a and len(a["messages"]) > 1 and b["messages"][:len(a["messages"])] != a["messages"]:
            return False
        if "messages" in a and len(a["messages"]) == 1 and not b["messages"][0]["content"].startswith(a["messages"][0]["content"]):
            return False
    return True


# Results of tools: what the model is told. None: any text.
RESULTS = [
    ("megabyte", "", "x" * 1000000),
    ("megabyte", "max_result: 10", "x" * 10 + "... (999990 more characters)"),
    ("raises", "on_tool_error: observe", "Error: no wind"),
    ("raises in Python", "on_tool_error: observe", "no wind"),
    ("bad bytes", "", "a\ufffd\0b"),
    ("bytes", "", "\"b'a\\\\xff'\""),
    ("object", "", '"an A"'),
    ("null", "", "null"),
    ("number", "", '{"n": 12.0, "t": "é"}'),
    ("injection", "", INJECTION),
]


def test_results(bench):
    for name, agent in AGENTS.items():
        replies = agent.call("weather", {"city": "Paris"}) + agent.final("done")
        for kind, option, want in RESULTS:
            o = bench.run(bench.program(agent, TOOL, defs(kind), option), replies)
            said = seen(name, o, want)
            ok = o.result and o.result["answer"] == "done" and said and (kept(o) or name == "react/distill")
            bench.check("%s: a tool's result: %s %s" % (name, kind, option), ok, o)
        for kind in ("raises", "raises in Python"):
            o = bench.run(bench.program(agent, TOOL, defs(kind)), replies)
            bench.check("%s: a tool %s" % (name, kind), o.status == 1 and o.message.endswith("no wind"), o)


def test_silent(bench):
    """A tool that never returns, with a time limit."""
    for name, agent in AGENTS.items():
        replies = agent.call("weather", {"city": "Paris"}) + agent.final("done")
        o = bench.run(bench.program(agent, TOOL, defs("silent"), "tool_seconds: 0.3"), replies)
        bench.check(name + ": a tool that never returns", o.status == 1 and "the budget of 0.3 seconds is spent" in o.err, o)
        o = bench.run(bench.program(agent, TOOL, defs("silent"), "tool_seconds: 0.3, on_tool_error: observe"), replies)
        ok = o.result and o.result["answer"] == "done" and seen(name, o, "Error: the budget of 0.3 seconds is spent")
        bench.check(name + ": a tool that never returns, observed", ok, o)


def test_injection(bench):
    """What the model writes is data: as the argument of a tool and as the answer."""
    for name, agent in AGENTS.items():
        text = "${ 1 + 1 } {{ 7 * 7 }} model: openai/other"
        replies = agent.call("weather", {"city": text}) + agent.final(text)
        o = bench.run(bench.program(agent, TOOL, defs("sees")), replies)
        bench.check(name + ": expressions in what the model writes", o.result and o.result["answer"] == text and seen(name, o, "got " + text), o)


def end(answer):
    return lambda o: o.status == 0 and o.result["answer"] == answer


def fails(text):
    return lambda o: o.status == 1 and text in o.err


def called(city, answer="done"):
    return lambda o: o.status == 0 and o.result["answer"] == answer and any("Sunny in " + city in h for h in o.heard()) and not o.left


CALL = {"city": "Paris"}
UNREAD = "should be an object"
# What the model says -> by agent: the replies made of those of a call and of the end, and what has to come of it.
MODELS = {
    "nothing": (lambda a, call, final: [""] * 4, {
        "react/qwen": end(None), "react/qwen chat": end(None), "react/json": fails(UNREAD), "react/distill": fails("Unknown operation type ''"),
        "toolcall/prompted": end("")}),
    "the same for ever": (lambda a, call, final: call * 60, dict.fromkeys(AGENTS, fails("Too Many Iterations"))),
    "an unknown tool": (lambda a, call, final: a.call("nope", CALL) + final, {
        "react/qwen": end(None), "react/qwen chat": end(None),
        "react/json": lambda o: end(None)(o) and o.result["action"] == {"name": "nope", "arguments": CALL},
        "react/distill": fails("Tool could not be found from action request: nope[Paris]"),
        "toolcall/prompted": lambda o: end("done")(o) and seen("", o, "Error: there is no tool named nope. The tools are: weather")}),
    "JSON cut off": (lambda a, call, final: [r.replace('"Paris"}}', '"Paris"').replace('"Paris"}', '"Paris"') for r in call] + final, {
        "react/qwen": called("Paris"), "react/qwen chat": called("Paris"), "react/json": called("Paris"), "react/distill": called("Paris"),
        "toolcall/prompted": lambda o: o.status == 0 and o.result["answer"].startswith("```tool_json") and o.result["steps"] == []}),
    "no JSON at all": (lambda a, call, final: [r.replace(dumps(CALL), "Paris").replace('{"name": "weather", "arguments": Paris}', "weather Paris")
                                               for r in call] + final, {
        "react/qwen": fails("Action Input is not a JSON object: Paris"), "react/qwen chat": fails("Action Input is not a JSON object: Paris"),
        "react/json": fails(UNREAD), "react/distill": called("Paris"),
        "toolcall/prompted": lambda o: o.status == 0 and o.result["steps"] == [] and '"parameters": Paris' in o.result["answer"]}),
    "JSON in a fence in prose": (lambda a, call, final: [
        r.replace("Action Input: " + dumps(CALL), "Action Input: I send this:\n```json\n%s\n```" % dumps(CALL)) if "Input" in r
        else "Of course:\n```json\n%s\n```\nThat is it." % r if r.startswith("{") else "I look.\n%s\nPlease wait." % r if "tool_json" in r else r
        for r in call] + final, dict.fromkeys(AGENTS, called("Paris"))),
    "two calls": (lambda a, call, final: [call[0] + "\n" + a.call("weather", {"city": "Rome"})[0]] + call[1:] + final, {
        "react/qwen": called("Rome"), "react/qwen chat": called("Rome"), "react/json": called("Paris"), "react/distill": called("Paris"),
        "toolcall/prompted": called("Paris")}),
    "Chinese punctuation": (lambda a, call, final: [r.replace(":", "：").replace("[", "【").replace("]", "】").replace('"', "“") for r in call] +
                            final, {
        "react/qwen": end(None), "react/qwen chat": end(None), "react/json": fails(UNREAD), "react/distill": fails("Unknown operation type"),
        "toolcall/prompted": lambda o: o.status == 0 and o.result["steps"] == [] and "：" in o.result["answer"]}),
    "a call in its final answer": (lambda a, call, final: [final[0] + "\n" + call[0]] + (final + call)[1:] if len(final) == 1 else
                                   final[:-1] + [final[-1][:-3] + ' ' + call[-1].replace('"', "'") + '"}}'], {
        "react/qwen": lambda o: o.status == 0 and o.result["steps"] == [], "react/distill": end("done"),
        "react/json": lambda o: o.status == 0 and o.result["steps"] == [] and o.result["answer"].startswith("done {'name'"),
        "react/qwen chat": lambda o: seen("", o, "Sunny in Paris"), "toolcall/prompted": lambda o: seen("", o, "Sunny in Paris")}),
}


def test_models(bench):
    for title, (write, wanted) in MODELS.items():
        for name, agent in AGENTS.items():
            replies = write(agent, agent.call("weather", CALL), agent.final("done"))
            o = bench.run(bench.program(agent, TOOL, defs("text")), replies + [""] * 3 if title.startswith("a call in") else replies)
            bench.check("%s: the model says %s" % (name, title), wanted[name](o) if o.result or o.status else False, o)


def test_documents(bench):
    """The agent over a store of pages."""
    def run(replies, options="", pages="{Paris: Sunny}", more=""):
        return bench.run("defs:\n  agent: {import: lib/react/docstore}\n%s  out:\n    call: ${ agent.run }\n    args: {model: openai/m, question: q, "
                         "store: {pages: %s%s}%s}\ntext: ${ out | json }\n" % (defs("injection"), pages, more, options), replies)
    finish = ["\nAction: Finish[done]"]
    rows = [
        ("nothing", [""], "", fails("Could not parse LLM Output:")),
        ("nothing, observed", ["", ""] + finish, ", on_parse_error: observe", lambda o: end("done")(o) and seen("", o, "Observation: Invalid Format")),
        ("the same for ever", ["\nAction: Search[Paris]"] * 16, "", end("Agent stopped due to iteration limit or time limit.")),
        ("the same for ever, watched", ["\nAction: Search[Paris]"] * 3, ", max_repeats: 3", lambda o: end(None)(o) and "3 times" in o.result["stopped"]),
        ("an unknown action", ["\nAction: Jump[x]"] + finish, "", lambda o: seen("", o, "Jump is not a valid tool, try one of [Search, Lookup].")),
        ("no brackets", ["\nAction: Search"], "", fails("Could not parse action directive: Search")),
        ("two actions", ["\nAction: Search[Paris]\nAction: Search[Rome]"] + finish, "", lambda o: seen("", o, "Could not find [Rome]")),
        ("Chinese punctuation", ["\nAction：Search【Paris】"], "", fails("Could not parse LLM Output:")),
        ("a lookup too early", ["\nAction: Lookup[x]"] + finish, "", fails("Cannot lookup without a successful search first")),
        ("a lookup too early, observed", ["\nAction: Lookup[x]"] + finish, ", on_tool_error: observe",
         lambda o: seen("", o, "Error: Cannot lookup without a successful search first")),
        ("expressions in its answer", ["\nAction: Finish[${ 1 + 1 } {{ 2 }}]"], "", end("${ 1 + 1 } {{ 2 }}")),
    ]
    for title, replies, options, want in rows:
        o = run(replies, options)
        bench.check("react/docstore: the model says " + title, want(o), o)
    o = run(["\nAction: Search[x]"] + finish, pages="{}", more=', fetch: "${ weather }"')
    bench.check("react/docstore: a page with expressions", end("done")(o) and seen("", o, INJECTION.split("\n\n")[0]) and kept(o), o)
    o = run(["\nAction: Search[x]"] + finish, ", max_result: 3", pages="{x: abcdef}")
    bench.check("react/docstore: a long page", seen("", o, "Observation: abc... (3 more characters)"), o)
