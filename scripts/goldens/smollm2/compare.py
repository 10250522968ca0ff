"""Compares molt with transformers on one model folder: prompts, logits, greedy text."""

import json
import subprocess
import sys

import torch
import transformers

PROMPTS = [
    "What is the capital of France?",
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips did Natalia sell altogether in April and May?",
    "Write one sentence about the sea.",
    "Name three colours.",
    "Translate to French: good morning, my friend.",
]
NEW = 40  # tokens
WITHIN = 1e-4  # of logits, which are of the order of 10


def molt(program, args, lines):
    text = "".join(json.dumps(line) + "\n" if isinstance(line, dict) else line + "\n" for line in lines)
    done = subprocess.run([program, *args], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    program, folder = sys.argv[1:]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    conversations = [[{"role": "user", "content": p}] for p in PROMPTS]
    wrong = 0

    ours = molt(program, ["model", "render", folder], [{"messages": c} for c in conversations])
    prompts = [tokenizer.apply_chat_template(c, add_generation_prompt=True, return_dict=False) for c in conversations]
    same = sum(a["ids"] == b for a, b in zip(ours, prompts))
    print(f"prompts: {same} of {len(prompts)} have the same ids")
    wrong += same != len(prompts)

    exact = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    most = {"molt and transformers in float32": 0.0, "molt and transformers in float64": 0.0, "transformers in float32 and in float64": 0.0}
    lines = [{"ids": ids, "logits": "all" if i == 0 else "last"} for i, ids in enumerate(prompts)]
    for ids, line, ours in zip(prompts, lines, molt(program, ["model", "logits", folder], lines)):
        with torch.no_grad():
            single, double = (m(torch.tensor([ids])).logits[0].double() for m in (model, exact))
        if line["logits"] == "last":
            single, double = single[-1:], double[-1:]
        ours = torch.tensor(ours["logits"], dtype=torch.float64)
        for what, difference in zip(most, (ours - single, ours - double, single - double)):
            most[what] = max(most[what], difference.abs().max().item())
    del exact
    for what, difference in most.items():
        print(f"logits: the largest difference between {what} is {difference:.1e}")
    wrong += not next(iter(most.values())) <= WITHIN

    said = molt(program, ["generate", folder, "--json", "--temperature", "0", "--max-tokens", str(NEW)], PROMPTS)
    same = 0
    for ids, reply, prompt in zip(prompts, said, PROMPTS):
        with torch.no_grad():
            out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), do_sample=False, max_new_tokens=NEW)
        theirs = out[0, len(ids) :].tolist()
        if theirs == reply["ids"]:
            same += 1
        else:
            print(f"{prompt!r}: {tokenizer.decode(theirs)!r} and {tokenizer.decode(reply['ids'])!r}")
    print(f"greedy: {same} of {len(PROMPTS)} replies have the same ids; the first is {said[0]['text']!r}")
    wrong += same != len(PROMPTS)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
