# SPDX-License-Identifier: Apache-2.0
"""What the agents have in common besides tools: parallel calls, memory by summary, answers of a type, agents as tools."""
from .agents import AGENTS, dumps

DEFS = """  weather:
    description: Weather of a city
    function: {city: string}
    return: "Sunny in ${ city }"
  slow:
    description: Weather of a city, as soon as all four are asked for
    function: {city: string}
    return: {lang: command, code: "sh -c 'touch asked-$0; i=0; while [ $(ls asked-* | wc -l) -lt 4 ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done; [ $i -lt 1200 ] && printf \\"Sunny in $0\\"' ${ city }"}
"""
TOOL = '["${ weather }"]'
CITIES = ["Paris", "Rome", "Oslo", "Bern"]


def json_calls(name):
    return ["Tho: t\nAct:", dumps([{"name": name, "arguments": {"city": c}} for c in CITIES])]


def prompted_calls(name):
    return ["I ask\n" + "\nand ".join(dumps({"tool": name, "parameters": {"city": c}}) for c in CITIES) + "\nand wait."]


MANY = {"react/json": json_calls, "toolcall/prompted": prompted_calls}


def test_parallel(bench):
    for name, calls in MANY.items():
        agent = AGENTS[name]
        o = bench.run(bench.program(agent, TOOL, DEFS, "parallel: true"), calls("weather") + agent.final("done"))
        ok = o.result and agent.observed(o.result) == ["Sunny in " + c for c in CITIES] and o.result["answer"] == "done"
        bench.check(name + ": parallel, results in the order of the calls", ok, o)
        for file in bench.work.glob("asked-*"):
            file.unlink()
        o = bench.run(bench.program(agent, '["${ slow }"]', DEFS, "parallel: true"), calls("slow") + agent.final("done"))
        ok = o.result and agent.observed(o.result) == ["Sunny in " + c for c in CITIES]
        bench.check(name + ": parallel, at once", ok, o)
        o = bench.run(bench.program(agent, TOOL, DEFS, "parallel: true, max_steps: 3"), calls("weather"))
        bench.check(name + ": parallel, more calls than allowed", o.status == 1 and o.message.endswith("Too Many Iterations"), o)
        ask = DEFS + "  ask:\n    function: {tool: string, arguments: }\n    return: ${ 'Rome' not in arguments | json }\n"
        o = bench.run(bench.program(agent, TOOL, ask, 'parallel: true, approve: "${ ask }"'), calls("weather") + agent.final("done"))
        ok = o.result and agent.observed(o.result)[:2] == ["Sunny in Paris", "The call of weather was not approved."]
        bench.check(name + ": parallel, one is not approved", ok, o)
    agent = AGENTS["toolcall/prompted"]
    calls = ['%s then %s' % (dumps({"tool": "zz", "parameters": {}}), dumps({"tool": "weather", "parameters": {"city": "Paris"}}))]
    o = bench.run(bench.program(agent, TOOL, DEFS, "parallel: true"), calls + ["done"])
    want = ["Error: there is no tool named zz. The tools are: weather", "Sunny in Paris"]
    bench.check("toolcall/prompted: parallel, an unknown tool among them", o.result and agent.observed(o.result) == want, o)
    agent = AGENTS["react/json"]
    o = bench.run(bench.program(agent, TOOL, DEFS, "parallel: true"), agent.call("weather", {"city": "Paris"}) + agent.final("done"))
    bench.check("react/json: parallel, a single action", o.result and agent.observed(o.result) == ["Sunny in Paris"], o)


REMEMBERING = ["react/qwen", "react/json", "toolcall/prompted"]


def test_memory(bench):
    for name in REMEMBERING:
        agent = AGENTS[name]
        calls = [agent.call("weather", {"city": c}) for c in CITIES]
        replies = calls[0] + calls[1] + calls[2] + ["Paris is SUNNY-SO-FAR."] + calls[3] + ["Paris and Rome are SUNNY-SO-FAR."] + agent.final("done")
        o = bench.run(bench.program(agent, TOOL, DEFS, "memory: 100"), replies)
        heard = o.heard()
        last = heard[-1]
        ok = (o.result and o.result["answer"] == "done" and len(o.result["steps"]) == 4 and "So far: Paris and Rome are SUNNY-SO-FAR." in last
              and "Sunny in Oslo" in last and "Sunny in Bern" in last and "Sunny in Rome" not in last and not o.left)
        bench.check(name + ": memory", ok, o)
        folds = [h for h in heard if h.startswith("Summarize what was done")]
        ok = len(folds) == 2 and "Sunny in Paris" in folds[0] and "So far: Paris is SUNNY-SO-FAR." in folds[1] and "Sunny in Rome" in folds[1]
        bench.check(name + ": memory, what is put together", ok, o, folds[-1:])
        o = bench.run(bench.program(agent, TOOL, DEFS, "memory: 100000"), sum(calls, []) + agent.final("done"))
        bench.check(name + ": memory that is not full", o.result and "Sunny in Paris" in o.heard()[-1] and not o.left, o)


def test_memory_of_documents(bench):
    pages = ", ".join("%s: Sunny in %s" % (c, c) for c in CITIES)
    searches = ["I look.\nAction: Search[%s]" % c for c in CITIES]
    replies = searches[:3] + ["SUNNY-SO-FAR"] + searches[3:] + ["SUNNY-TOO"] + ["\nAction: Finish[done]"]
    o = bench.run("defs:\n  agent: {import: lib/react/docstore}\n  out:\n    call: ${ agent.run }\n    args: {model: openai/m, question: q, memory: 100, "
                  "store: {pages: {%s}}}\ntext: ${ out | json }\n" % pages, replies)
    last = o.heard()[-1]
    ok = o.result and len(o.result["steps"]) == 4 and "Question: q\nThought: So far: SUNNY-TOO\nThought:" in last and "Sunny in Bern" in last
    bench.check("react/docstore: memory", ok and "Sunny in Rome" not in last, o)


def test_memory_of_router(bench):
    program = """defs:
  router: {import: lib/router}
  agents: {data: [{name: a, condition: c, system: s}]}
  out: {call: "${ router.run }", args: {model: openai/m, agents: "${ agents }", memory: 60}}
  next: {call: "${ router.step }", args: {model: openai/m, agents: "${ agents }", memory: 60, state: "${ out.state }", input: and then}}
text: "\\n${ {'answer': next.reply, 'history': next.state.history | length} | json }"
"""
    lines = ["a question that is long enough %d" % i for i in range(3)]
    replies = ["answer 0", "SUMMARY 1", "answer 1", "SUMMARY 2", "SUMMARY 3", "answer 2", "SUMMARY 4", "SUMMARY 5", "answer 3", "SUMMARY 6"]
    o = bench.run(program, replies, stdin="\n".join(lines) + "\n")
    agents = [h for h in o.heard() if h.startswith("s\n")]
    ok = o.result and o.result["history"] == 8 and "So far: SUMMARY" in agents[-1] and lines[0] not in agents[-1]
    bench.check("router: memory", ok, o)


TYPE = "answer_spec: {city: string, people: integer}"
GOOD = dumps({"city": "Paris", "people": 2})


def test_answers(bench):
    for name, agent in AGENTS.items():
        if name == "react/qwen chat":
            continue
        final = agent.final(GOOD)
        o = bench.run(bench.program(agent, TOOL, DEFS, TYPE), final)
        bench.check(name + ": answer_spec", o.result and o.result["answer"] == {"city": "Paris", "people": 2}, o)
        asked = 'Give the final answer as JSON of this form: {"city": "string", "people": "integer"}'
        bench.check(name + ": answer_spec is told to the model", any(asked in h for h in o.heard()), o)
        bad = agent.final(dumps({"city": "Paris", "people": "two"}))
        o = bench.run(bench.program(agent, TOOL, DEFS, TYPE), bad + ["```json\n%s\n```" % GOOD])
        ok = o.result and o.result["answer"] == {"city": "Paris", "people": 2} and "But: people: two should be an integer" in o.heard()[-1]
        bench.check(name + ": answer_spec, repaired", ok, o)
        o = bench.run(bench.program(agent, TOOL, DEFS, TYPE), bad + ["no", "{}"])
        want = "the answer is not of the form of answer_spec: Missing required field: city; Missing required field: people"
        bench.check(name + ": answer_spec, not repaired", o.status == 1 and o.message.endswith(want), o)
        o = bench.run(bench.program(agent, TOOL, DEFS, "answer_spec: string"), agent.final("42"))
        bench.check(name + ": answer_spec string", o.result and o.result["answer"] == "42", o)
        o = bench.run(bench.program(agent, TOOL, DEFS, "answer_spec: integer"), agent.final("42"))
        bench.check(name + ": answer_spec integer", o.result and o.result["answer"] == 42, o)
        o = bench.run(bench.program(agent, TOOL, DEFS, "answer_spec: strang"), agent.final("42"))
        bench.check(name + ": answer_spec that is no type", o.status == 1 and "strang is not a type" in o.err, o)


def test_nested(bench):
    """An agent as a tool of another, with its own cap."""
    sub = DEFS + """  inner: {import: lib/toolcall/prompted}
  scout:
    description: Finds out the weather
    function: {question: string}
    return: "${ inner.run(model='openai/m', query=question, tools=[weather], max_steps=CAP).answer }"
"""
    look = AGENTS["toolcall/prompted"].call("weather", {"city": "Paris"})
    for name, agent in AGENTS.items():
        calls = agent.call("scout", {"question": "weather in Paris?"})
        before, behind = (calls[:1], calls[1:]) if name == "react/distill" else (calls, [])
        for cap, inner, want in [("1", look + ["It is sunny."], "It is sunny."), ("0", look, "Error: Too Many Iterations")]:
            program = bench.program(agent, '["${ scout }"]', sub.replace("CAP", cap), "on_tool_error: observe")
            o = bench.run(program, before + inner + behind + agent.final("done"))
            ok = o.result and o.result["answer"] == "done" and any(want in h for h in o.heard()) and not o.left
            bench.check("%s: an agent as a tool, its cap is %s" % (name, cap), ok, o)
