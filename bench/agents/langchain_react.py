# SPDX-License-Identifier: Apache-2.0
import json
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import Tool
from langchain_openai import ChatOpenAI
PROMPT = PromptTemplate.from_template("""Answer the question. You have these tools: {tools}
Use this format:
Thought: what to do
Action: one of [{tool_names}]
Action Input: the input
Observation: the result
Final Answer: the answer
Question: {input}
{agent_scratchpad}""")
add_one = Tool(name="add_one", description="Adds one", func=lambda text: str(json.loads(text)["x"] + 1))
agent = create_react_agent(ChatOpenAI(model="m", temperature=0), [add_one], PROMPT)
run = AgentExecutor(agent=agent, tools=[add_one], max_iterations=100000, max_execution_time=None)
print(run.invoke({"input": "Count."})["output"])
