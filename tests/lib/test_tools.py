# SPDX-License-Identifier: Apache-2.0
"""Tools in one form: every form of a tool in every agent, and the options that restrict how a model uses tools.

A tool takes one text and returns `Sunny in TEXT`. Each form is checked for the call, for an argument of the wrong type (where the agent writes
objects), and for an error that the model sees. Then the options max_steps, approve, confirm, max_repeats and max_result are checked.
"""
from .agents import AGENTS

SCHEMA = "{type: object, properties: {city: {type: string}}, required: [city]}"
DEFS = """  weather:
    description: Weather of a city
    function: {city: string}
    return: "${ stdlib.fail('no such city') if city == 'Nowhere' else 'Sunny in ' ~ city }"
  said:
    function: {given: }
    return:
      defs: {city: "${ given.city if given is mapping else given }"}
      data: "${ stdlib.fail('no such city') if city == 'Nowhere' else 'Sunny in ' ~ city }"
"""
FORMS = {
    "function": '["${ weather }"]',
    "short record": '[{name: weather, description: d, parameters: %s, run: "${ said }"}]' % SCHEMA,
    "short record over a function of one text": '[{name: weather, run: "${ weather }"}]',
    "OpenAI record": '[{type: function, function: {name: weather, description: d, parameters: %s}, run: "${ said }"}]' % SCHEMA,
    "Qwen record": '[{name_for_model: weather, name_for_human: w, description_for_model: d, '
                   'parameters: [{name: city, required: true, schema: {type: string}}], run: "${ said }"}]',
    "Qwen record with tool_api": '[{name_for_model: weather, name_for_human: w, description_for_model: d, '
                                 'parameters: [{name: city, required: true, schema: {type: string}}], tool_api: "${ said }"}]',
}
TYPED = {"function", "short record", "OpenAI record", "Qwen record", "Qwen record with tool_api"}
NO_TOOLS = [
    ("[{name: weather, description: d}]", "the tool weather has no function to run: give its record `run`"),
    ("[{name: weather, run: said}]", "the tool weather has no function to run: give its record `run`"),
    ("[weather]", "a tool is a function or a record, and this is the text weather"),
]
WRONG = "Error: city: 3 should be a string"


def told(agent_name, outcome, text, nth=0):
    """Did the model see this text as the n-th observation? The distilling agent keeps it out of its result: the request says."""
    agent = AGENTS[agent_name]
    if agent_name == "react/distill":
        return any(("Action Result: " + text) in h for h in outcome.heard())
    return outcome.result is not None and agent.observed(outcome.result)[nth] == text


def test_forms(bench):
    for name, agent in AGENTS.items():
        for form, tools in FORMS.items():
            title = "%s, %s" % (name, form)
            o = bench.run(bench.program(agent, tools, DEFS), agent.call("weather", {"city": "Paris"}) + agent.final("done"))
            bench.check(title, o.result and o.result["answer"] == "done" and told(name, o, "Sunny in Paris") and not o.left, o)
            replies = agent.call("weather", {"city": "Nowhere"}) + agent.final("done")
            o = bench.run(bench.program(agent, tools, DEFS, "on_tool_error: observe"), replies)
            bench.check(title + ": an error is observed", told(name, o, "Error: no such city") and o.result["answer"] == "done", o)
            o = bench.run(bench.program(agent, tools, DEFS), replies)
            bench.check(title + ": an error is raised", o.status == 1 and o.message.endswith("no such city"), o)
            first = o.err.split("\n")[0]
            bench.check(title + ": the tool and its arguments are named", first.startswith("  in ") and "Nowhere" in first, o)
            if form not in TYPED or name == "react/distill":
                continue
            replies = agent.call("weather", {"city": 3}) + agent.call("weather", {"city": "Rome"}) + agent.final("done")
            o = bench.run(bench.program(agent, tools, DEFS, "on_tool_error: observe"), replies)
            bench.check(title + ": a wrong type is observed and repaired", told(name, o, WRONG) and told(name, o, "Sunny in Rome", 1), o)
            replies = agent.call("weather", {}) + agent.final("done")
            o = bench.run(bench.program(agent, tools, DEFS, "on_tool_error: observe"), replies)
            bench.check(title + ": a missing argument is observed", told(name, o, "Error: Missing required field: city"), o)


def test_what_is_no_tool_is_said_before_the_first_request(bench):
    for name, agent in AGENTS.items():
        for tools, why in NO_TOOLS:
            o = bench.run(bench.program(agent, tools, DEFS, "on_tool_error: observe"), agent.final("done"))
            bench.check("%s, %s" % (name, tools), o.status == 1 and o.message.endswith(why) and o.left, o)


def test_caps(bench):
    for name, agent in AGENTS.items():
        option = "n: 2" if name == "react/distill" else "max_steps: 2"
        o = bench.run(bench.program(agent, FORMS["function"], DEFS, option), agent.call("weather", {"city": "Paris"}) * 3)
        bench.check(name + ": " + option, o.status == 1 and o.message.endswith("Too Many Iterations"), o)


NOT = "The call of weather was not approved"
VERDICTS = [
    ("${ true }", "Sunny in Paris"),
    ("${ false }", NOT + "."),
    ("too far", NOT + ": too far."),
    ("${ 1 }", NOT + "."),
    ("${ tool == 'weather' and 'Paris' in arguments | json }", "Sunny in Paris"),
    ("${ tool == 'weather' and 'Rome' in arguments | json }", NOT + "."),
]


def test_approval(bench):
    asks = DEFS + "  ask:\n    function: {tool: string, arguments: }\n    return: %s\n"
    confirm = '[{name: weather, confirm: %s, run: "${ said }"}]'
    for name, agent in AGENTS.items():
        replies = agent.call("weather", {"city": "Paris"}) + agent.final("done")
        for said, want in VERDICTS:
            o = bench.run(bench.program(agent, FORMS["function"], asks % said, 'approve: "${ ask }"'), replies)
            bench.check("%s: approve says %s" % (name, said), told(name, o, want) and o.result["answer"] == "done", o)
        o = bench.run(bench.program(agent, FORMS["function"], asks % "${ stdlib.fail('ask the boss') }", 'approve: "${ ask }"'), replies)
        bench.check(name + ": approve fails", o.status == 1 and o.message.endswith("ask the boss"), o)
        for typed, want in [("y\n", "Sunny in Paris"), ("no\n", NOT + "."), ("", NOT + ".")]:
            o = bench.run(bench.program(agent, confirm % "true", DEFS), replies, stdin=typed)
            bench.check("%s: confirm, typed %r" % (name, typed), o.out.startswith("Call weather with ") and told(name, o, want), o)
        o = bench.run(bench.program(agent, confirm % "false", asks % "${ false }", 'approve: "${ ask }"'), replies)
        bench.check(name + ": confirm false is not asked about", told(name, o, "Sunny in Paris"), o)


def test_repeats(bench):
    for name, agent in AGENTS.items():
        replies = agent.call("weather", {"city": "Paris"}) * 3
        o = bench.run(bench.program(agent, FORMS["function"], DEFS, "max_repeats: 3"), replies)
        hinted = "Sunny in Paris\nThis call was made before, with the same result."
        ok = o.status == 0 and o.result["answer"] is None and told(name, o, hinted, 1)
        if name != "react/qwen chat":
            ok = ok and o.result.get("stopped", "").startswith("weather gave the same result 3 times for ")
        bench.check(name + ": max_repeats", ok, o)
        replies = agent.call("weather", {"city": "Paris"}) + agent.call("weather", {"city": "Rome"}) + agent.call("weather", {"city": "Oslo"})
        o = bench.run(bench.program(agent, FORMS["function"], DEFS, "max_repeats: 2"), replies + agent.final("done"))
        bench.check(name + ": other calls are no repetition", o.result and o.result["answer"] == "done", o)


def test_lengths(bench):
    for name, agent in AGENTS.items():
        o = bench.run(bench.program(agent, FORMS["function"], DEFS, "max_result: 5"), agent.call("weather", {"city": "Paris"}) + agent.final("done"))
        bench.check(name + ": max_result", told(name, o, "Sunny... (9 more characters)"), o)
