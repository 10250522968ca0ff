"""An agent made with LangChain (its loop is LangGraph's). It finds the policy in its environment and prints its answer; a grader judges that.

The argument is the wire: chat, responses or anthropic.
"""

import os
import sys

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

wire = sys.argv[1] if len(sys.argv) > 1 else "chat"
if wire == "anthropic":
    model = ChatAnthropic(model=os.environ["ANTHROPIC_MODEL"], base_url=os.environ["ANTHROPIC_BASE_URL"], api_key=os.environ["ANTHROPIC_API_KEY"])
else:
    model = ChatOpenAI(model=os.environ["OPENAI_MODEL"], base_url=os.environ["OPENAI_BASE_URL"], use_responses_api=wire == "responses")


@tool
def calculate(a: float, operator: str, b: float) -> str:
    """Applies +, -, * or / to two numbers."""
    return f"{ {'+': a + b, '-': a - b, '*': a * b}[operator] if operator != '/' else a / b:g}"


agent = create_agent(model, [calculate], system_prompt="Use the tool, then end with the number.")
question = open(os.environ["MOLT_PROMPT_FILE"]).read()
result = agent.invoke({"messages": [("user", question)]}, {"recursion_limit": 20})
print(result["messages"][-1].text)
