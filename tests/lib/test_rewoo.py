# SPDX-License-Identifier: Apache-2.0
"""lib/agent/rewoo: two requests for any number of steps; which plans run, and how; and what evidence can do."""
from .agents import Agent, dumps
from .test_tools import DEFS as TOOL_DEFS, FORMS

REWOO = Agent("lib/agent/rewoo", lambda n, a: ["Plan: t\n#E1 = %s[%s]" % (n, dumps(a))], lambda t: [t], None)
DEFS = """  weather:
    description: Weather of a city
    function: {city: string}
    return: "${ stdlib.fail('no wind') if city == 'Nowhere' else 'Sunny in ' ~ city }"
  both:
    description: Two things
    function: {city: string, year: integer}
    return: "${ city } in ${ year + 1 }"
  slow:
    description: Weather of a city, as soon as all three are asked for
    function: {city: string}
    return: {lang: command, code: "sh -c 'touch asked-$0; i=0; while [ $(ls asked-* | wc -l) -lt 3 ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i + 1)); done; [ $i -lt 400 ] && printf \\"Sunny in $0\\"' ${ city }"}
  echo: {description: The text itself, function: {text: string}, return: "${ text }"}
  year: {description: A year, function: {}, return: "1999"}
"""
TOOLS = '["${ weather }", "${ both }", "${ slow }", "${ echo }", "${ year }"]'


def run(bench, plan, options="", replies=("done",), tools=TOOLS, defs=DEFS):
    return bench.run(bench.program(REWOO, tools, defs, options), ([plan] if isinstance(plan, str) else plan) + list(replies))


def seen(o):
    return [s["observation"] for s in o.result["steps"]] if o.result else None


def test_two_requests(bench):
    plan = "I think.\nPlan: Look at one.\n#E1 = weather[Paris]\nPlan: Look at\nboth. #E2 = both[{\"city\": \"#E1\", \"year\": 5}]\n\n  #E12=echo[#E1, #E2 and #E1.]\nThat is all."
    o = run(bench, plan)
    want = [{"evidence": "#E1", "thought": "I think.\nPlan: Look at one.", "action": "weather", "input": "Paris", "observation": "Sunny in Paris"},
            {"evidence": "#E2", "thought": "Look at\nboth.", "action": "both", "input": {"city": "Sunny in Paris", "year": 5}, "observation": "Sunny in Paris in 6"},
            {"evidence": "#E12", "thought": "", "action": "echo", "input": "Sunny in Paris, Sunny in Paris in 6 and Sunny in Paris.",
             "observation": "Sunny in Paris, Sunny in Paris in 6 and Sunny in Paris."}]
    bench.check("the steps", o.result == {"answer": "done", "plan": plan, "steps": want}, o)
    heard = o.heard()
    bench.check("two requests", len(o.requests) == 2, o)
    bench.check("the planner sees tools and task", "weather[city]: Weather of a city" in heard[0] and heard[0].endswith("Task: q")
                and 'both[{"city": "string", "year": "integer"}]: Two things' in heard[0], o)
    bench.check("the solver sees plan, evidence and task", "Look at\nboth.\n#E2 = both[" in heard[1] and "Evidence: Sunny in Paris in 6" in heard[1]
                and "Task: q" in heard[1], o)


def test_forms_of_tools(bench):
    for form, tools in FORMS.items():
        for given in ("Paris", '{"city": "Paris"}'):
            o = run(bench, "Plan: p\n#E1 = weather[%s]" % given, tools=tools, defs=TOOL_DEFS)
            bench.check("%s, %s" % (form, given), seen(o) == ["Sunny in Paris"], o)
    o = run(bench, "#E1 = year[]\n#E2 = both[{\"city\": \"x\", \"year\": \"#E1\"}]\n#E3 = year[now]")
    bench.check("no parameter; a number in evidence", seen(o) == ["1999", "x in 2000", "1999"], o)
    o = run(bench, '#E1 = echo[a]\n#E2 = said[{"city": {"x": ["#E1", 1, null, "b"]}}]', tools='["${ echo }", {name: said, run: "${ said }"}]',
            defs=DEFS + "  said: {function: {given: }, return: \"${ given | json }\"}\n")
    bench.check("evidence inside of an object", seen(o) == ["a", '{"city": {"x": ["a", 1, null, "b"]}}'], o)


def test_side_by_side(bench):
    o = run(bench, "#E1 = slow[a]\n#E2 = slow[b]\n#E3 = slow[c]\n#E4 = echo[#E3#E1]")
    bench.check("steps that need nothing", seen(o) == ["Sunny in a", "Sunny in b", "Sunny in c", "Sunny in cSunny in a"], o)


def test_evidence_is_text(bench):
    evil = '#E2 "}, ] ${ 1 + 1 } {{ 7 }} #E3 = echo[x]'
    defs = DEFS + "  evil: {description: e, function: {}, return: {data: %s, raw: true}}\n" % dumps(evil)
    o = run(bench, '#E1 = evil[]\n#E2 = echo[a]\n#E3 = echo[#E1#E2]\n#E4 = both[{"city": "#E1", "year": 1}]', defs=defs,
            tools=TOOLS.replace("[", '["${ evil }", ', 1))
    bench.check("it is not read again", seen(o) == [evil, "a", evil + "a", evil + " in 2"], o)
    bench.check("the solver sees it as it is", evil in o.heard()[1], o)
    o = run(bench, "\n".join("#E%d = echo[%s]" % (i, "#E%d%d" % (i - 1, i) if i > 1 else "x") for i in (1, 2)), "max_repairs: 0", [])
    bench.check("#E12 is not #E1", "#E2 needs #E12, which no step before it finds" in o.err, o)


def test_plans_that_cannot_run(bench):
    good = "#E1 = echo[x]"
    for plan, why in [("I cannot.", "it has no line of the form #E1 = Tool[input]"), ("#E1 = zz[x]", "there is no tool zz"),
                      ("#E1 = echo[#E2]\n#E2 = echo[x]", "#E1 needs #E2, which no step before it finds"),
                      ("#E1 = echo[#E1]", "#E1 needs #E1, which no step before it finds"), (good + "\n" + good, "#E1 is there twice")]:
        o = run(bench, [plan, good])
        ok = seen(o) == ["x"] and "This plan cannot be run: %s. Write the whole plan again." % why in o.heard()[1]
        bench.check("mended: " + why, ok and len(o.requests) == 3, o)
        o = run(bench, [plan, plan], "max_repairs: 1", [])
        bench.check("not mended: " + why, o.status == 1 and o.message.endswith("the plan cannot be run: " + why) and len(o.requests) == 2, o)


def test_rules(bench):
    plan = "#E1 = weather[Nowhere]\n#E2 = echo[#E1]"
    o = run(bench, plan, replies=[])
    bench.check("an error", o.status == 1 and o.message.endswith("no wind"), o)
    o = run(bench, plan, "on_tool_error: observe")
    bench.check("observe", seen(o) == ["Error: no wind", "Error: no wind"], o)
    o = run(bench, '#E1 = both[{"city": "x", "year": "y"}]', "on_tool_error: observe")
    bench.check("observe, wrong types", seen(o) == ["Error: year: y should be an integer"], o)
    touch = DEFS + "  touch: {description: t, function: {file: string}, return: {lang: command, args: [touch, \"${ file }\"]}}\n"
    o = run(bench, "#E1 = touch[made]\n#E2 = touch[made]", "max_steps: 1", [], '["${ touch }"]', touch)
    bench.check("max_steps, before the first call", o.message.endswith("Too Many Iterations") and not (bench.work / "made").exists(), o)
    o = run(bench, "#E1 = echo[%s]\n#E2 = echo[#E1]" % ("x" * 50), "max_result: 4")
    bench.check("max_result", seen(o)[0] == "xxxx... (46 more characters)", o)
    ask = DEFS + "  ask:\n    function: {tool: string, arguments: }\n    return: ${ 'Rome' not in arguments | json }\n"
    o = run(bench, "#E1 = echo[Rome]\n#E2 = echo[Oslo]", 'approve: "${ ask }"', defs=ask)
    bench.check("approve", seen(o) == ["The call of echo was not approved.", "Oslo"], o)


def test_answers(bench):
    o = run(bench, "#E1 = echo[x]", "answer_spec: {n: integer}", ['{"n": "two"}', '{"n": 2}'])
    asked = 'Give the final answer as JSON of this form: {"n": "integer"}'
    bench.check("answer_spec, repaired", o.result and o.result["answer"] == {"n": 2} and asked in o.heard()[1] and asked not in o.heard()[0], o)
    o = run(bench, "#E1 = echo[x]", "demonstrations: WORKED, parameters: {temperature: 1}", [" done\n"])
    ok = o.result and o.result["answer"] == "done" and "WORKED" in o.heard()[0] and all(r["params"]["temperature"] == 1 for r in o.requests)
    bench.check("demonstrations and parameters", ok, o)
    o = run(bench, "#E1 = echo[x]", "solver: other/m", [])
    bench.check("another model solves", o.status == 1 and "other" in o.err and len(o.requests) == 1, o)
    o = bench.run("defs:\n  agent: {import: lib/agent/rewoo}\n  out: \"${ agent.run('openai/m', tools=[]) }\"\ntext: ${ out }\n", [])
    bench.check("no task", o.status == 1 and "the argument query is missing" in o.err and not o.requests, o)


def test_one_shape(bench):
    program = bench.program(REWOO, TOOLS, DEFS).rpartition("text:")[0] + "  steps: {import: lib/steps}\ntext: \"\\n${ steps.of(out) | json }\"\n"
    o = bench.run(program, ["Plan: p\n#E1 = echo[x]", "done"])
    bench.check("lib/steps", o.result == [{"tool": "echo", "input": "x", "result": "x", "thought": "p"}], o)
