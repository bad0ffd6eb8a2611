# SPDX-License-Identifier: Apache-2.0
"""lib/steps: what every agent that reports its steps did, in one form."""
from .agents import AGENTS

TOOLS = "  weather: {description: Weather of a city, function: {city: string}, return: \"Sunny in ${ city }\"}\n"
DOCSTORE = """defs:
  agent: {import: lib/react/docstore}
  out: {call: "${ agent.run }", args: {model: openai/m, query: q, store: {pages: {Oslo: A town.}}}}
"""
GUARDED = """defs:
  agent: {import: lib/agent/guarded}
%s  out: {call: "${ agent.run }", args: {model: openai/m, query: q, tools: ["${ weather }"]}}
""" % TOOLS
END = "  steps: {import: lib/steps}\ntext: \"\\n${ steps.of(out) | json }\"\n"


def test_one_shape(bench):
    wanted = {
        "react/qwen": [{"tool": "weather", "input": '{"city": "Oslo"}', "result": "Sunny in Oslo", "thought": None}],
        "react/json": [{"tool": "weather", "input": {"city": "Oslo"}, "result": "Sunny in Oslo", "thought": "Tho: t\nAct:"}],
        "react/distill": [{"tool": "weather", "input": "Oslo", "result": "seen", "thought": None}],
        "toolcall/prompted": [{"tool": "weather", "input": {"city": "Oslo"}, "result": "Sunny in Oslo", "thought": None}],
    }
    for name, want in wanted.items():
        agent = AGENTS[name]
        program = bench.program(agent, '["${ weather }"]', TOOLS).partition("text:")[0] + END
        o = bench.run(program, agent.call("weather", {"city": "Oslo"}) + agent.final("x"))
        bench.check(name, o.result == want, o, want)
    o = bench.run(DOCSTORE + END, ["Action: Search[Oslo]", "Action: Finish[x]"])
    bench.check("react/docstore", o.result == [{"tool": "Search", "input": "Oslo", "result": "A town.", "thought": None}], o)
    o = bench.run(GUARDED + END, ['{"tool": "weather", "arguments": {"city": "Oslo"}}', '{"answer": "x"}'])
    bench.check("agent/guarded", o.result == [{"tool": "weather", "input": {"city": "Oslo"}, "result": None, "thought": None}], o)


def test_distilled_lines(bench):
    """A message may have line breaks, a thought before it, and numbers that look like those of a transcript."""
    agent = AGENTS["react/distill"]
    program = bench.program(agent, '["${ weather }"]', TOOLS).partition("text:")[0] + END
    replies = ["Thought: look\nat it", "Action: weather[a]", "Observation: 1 - one\n- two", "Action: weather[b]", "Observation: b", "Action: Finish[x]"]
    o = bench.run(program, replies)
    want = [{"tool": "weather", "input": "a", "result": "1 - one\n- two", "thought": "look\nat it"}, {"tool": "weather", "input": "b", "result": "b", "thought": None}]
    bench.check("lines", o.result == want, o, want)
