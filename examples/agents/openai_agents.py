"""An agent made with the OpenAI Agents SDK. It finds the policy in its environment and prints its answer; a grader judges that.

The argument is the wire: responses or chat.
"""

import asyncio
import os
import sys

from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled

set_tracing_disabled(True)  # else every run is sent to OpenAI
set_default_openai_api("chat_completions" if sys.argv[1:] == ["chat"] else "responses")


@function_tool
def calculate(a: float, operator: str, b: float) -> str:
    """Applies +, -, * or / to two numbers."""
    return f"{ {'+': a + b, '-': a - b, '*': a * b}[operator] if operator != '/' else a / b:g}"


async def main():
    agent = Agent(name="clerk", instructions="Use the tool, then end with the number.", model=os.environ["OPENAI_MODEL"], tools=[calculate])
    result = await Runner.run(agent, open(os.environ["MOLT_PROMPT_FILE"]).read(), max_turns=8)
    print(result.final_output)


asyncio.run(main())
