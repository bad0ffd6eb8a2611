# SPDX-License-Identifier: Apache-2.0
"""The task of every agent is `query`; its earlier names continue to work, by name and by position.

For each agent, the model gets the same requests under all names. Both names together, or no name, is an error that names `query`, before any request.
"""
ENDS_AT_ONCE = ["Action: Finish[done]"]
# module, function, old name of the task, arguments before it, names and values of those behind it, replies of the model. The script of this table
# cannot score texts: of saycan it sees the first request alone.
AGENTS = [
    ("lib/cot", "ask", "question", "", {}, ["So it is. The answer is 9."]),
    ("lib/cot", "consistent", "question", "", {"n": "1"}, ["So it is. The answer is 9."]),
    ("lib/pal", "run", "question", "", {}, ["```yaml\ntext: nine\n```"]),
    ("lib/rag", "ask", "question", "", {"corpus": "['a tower', 'a house']"}, ["In 1889."]),
    ("lib/saycan", "run", "task", "", {"skills": "['a', 'b']", "affordance": "can"}, []),
    ("lib/webgpt", "run", "question", "", {"search": "look", "open": "look"}, ["End: Controversial"]),
    ("lib/react/distill", "run", "question", "", {"tools": "[look]"}, ENDS_AT_ONCE),
    ("lib/react/docstore", "run", "question", "", {"store": "{'pages': {}}"}, ENDS_AT_ONCE),
    ("lib/react/json", "run", "question", "", {"tools": "[look]"}, ["Tho: t\nAct:", '{"name": "Finish", "arguments": {"answer": "done"}}']),
    ("lib/agent/planned", "run", "request", "", {"tools": "[look]"}, ["```yaml\ntext: done\n```"]),
    ("lib/router", "step", "input", "agents", {}, ["answer"]),
]
PROGRAM = """defs:
  agent: {import: %s}
  look: {description: Look, function: {query: string}, return: seen}
  can: {function: {state: object}, return: {data: [1, 1, 1]}}
  agents: {data: [{name: a, condition: c, system: s}]}
text: "\\n${ agent.%s(%s) | json }"
"""


def call(row, given):
    """The program with these arguments for the task: {} none, a text: by place."""
    module, function, _, before, behind, _ = row
    model = "'text-completion-openai/m'" if module == "lib/saycan" else "'openai/m'"
    named = dict(behind, **({"agents": before} if before else {}))
    first = [model]
    if isinstance(given, str):
        if before:  # router: model, agents, state, input
            first += [named.pop("agents"), "{}"]
        if module == "lib/agent/planned":  # model, reader, request
            first.append(model)
        first.append("'%s'" % given)
        given = {}
    args = first + ["%s=%s" % x for x in named.items()] + ["%s='%s'" % x for x in given.items()]
    return PROGRAM % (module, function, ", ".join(args))


def test_names_of_the_task(bench):
    for row in AGENTS:
        name, old, replies = "%s %s" % row[:2], row[2], row[5]
        new = bench.run(call(row, {"query": "T-A-S-K"}), replies)
        ok = (new.result is not None or not replies) and any("T-A-S-K" in h for h in new.heard())
        bench.check(name + ": query", ok, new)
        for how, given in (("by its old name", {old: "T-A-S-K"}), ("by place", "T-A-S-K")):
            o = bench.run(call(row, given), replies)
            bench.check("%s: %s" % (name, how), (o.result, o.requests) == (new.result, new.requests), o)
        o = bench.run(call(row, {"query": "a", old: "b"}), replies)
        want = "query and %s are two names of one argument: give query alone" % old
        bench.check(name + ": both", o.status == 1 and want in o.err and not o.requests, o)
        o = bench.run(call(row, {}), replies)
        bench.check(name + ": none", o.status == 1 and "the argument query is missing" in o.err and not o.requests, o)
