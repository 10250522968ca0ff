"""The shop of the quickstart, once more in Python: what the agents in this folder act in. Standard library only."""

import json
import re

TURNS = 6
ITEMS = ("bag ball bell book boot bowl chair clock comb cup drum fork " "hat jar key kite lamp mug pen plate ring rope shoe spoon").split()


class World:
    """One episode. The label says everything about it."""

    def __init__(self, label: str):
        self.label = json.loads(label)
        self.prices = {e["item"]: e["price"] for e in self.label["buy"]}

    def reply(self, content: str, calls: list) -> tuple:
        """What the policy's reply leads to: (reward, None) at the end, else (0, [what each call answers])."""
        answers = re.findall(r"<answer>(.*?)</answer>", content, re.S)
        if answers:
            return float(answers == [str(self.label["total"])]), None
        return 0.0, [self.call(name, arguments) for name, arguments in calls] or ["error: no call and no answer"]

    def call(self, name, arguments) -> str:
        if not isinstance(arguments, dict):
            return "error: bad call"
        if name == "lookup":
            item = arguments.get("item")
            if item not in self.prices:
                return str(2 + sum(map(ord, item)) % 8) if item in ITEMS else "error: unknown item"
            return str(self.prices[item])
        if name == "calc":
            return calc(arguments.get("expression"))
        return "error: unknown tool"


def calc(expression) -> str:
    if not isinstance(expression, str) or not re.fullmatch(r"\d{1,9}([-+*]\d{1,9})*", expression):
        return "error: bad expression"
    if len(expression) > 24:
        return "error: expression too long"
    value = eval(re.sub(r"\d+", lambda m: str(int(m[0])), expression), {"__builtins__": {}})  # digits, +, - and * alone
    return str(value) if abs(value) <= 999_999_999 else "error: number too large"


def parse_calls(text: str) -> list:
    """The calls that a reply contains as text."""
    calls = []
    for body in re.findall(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", text, re.S):
        try:
            call = json.loads(body)
            calls.append((call["name"], call["arguments"]))
        except (ValueError, KeyError, TypeError):
            calls.append((None, None))
    return calls
