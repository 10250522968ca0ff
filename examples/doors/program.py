"""The shop as a program of its own: it finds the policy in its environment, and prints what its work was worth.

    molt rl --agent.command 'python3 /path/to/program.py openai LABELS' …

The label is not given to agents, so this one looks its own up in a file of labels by question; a real agent would find its
world elsewhere.
"""

import json
import os
import sys

from chat import Anthropic, OpenAI, play


def main():
    wire, labels = sys.argv[1], sys.argv[2:]
    question = open(os.environ["MOLT_PROMPT_FILE"]).read()
    task = json.load(open(os.environ["MOLT_TASK_FILE"]))
    for path in labels:
        for line in open(path):
            row = json.loads(line)
            if row["id"] == task["id"]:
                key, model = os.environ["OPENAI_API_KEY"], os.environ["OPENAI_MODEL"]
                if wire == "openai":
                    client = OpenAI(os.environ["OPENAI_BASE_URL"], key, model)
                else:
                    client = Anthropic(os.environ["ANTHROPIC_BASE_URL"], key, model)
                print(json.dumps({"reward": play(client, question, json.dumps(row["label"]))}))
                return
    sys.exit(f"no label for task {task['id']}")


if __name__ == "__main__":
    main()
