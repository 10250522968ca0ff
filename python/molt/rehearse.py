"""Plays an agent file in this Python, where breakpoint() and an editor's debugger work:

    python -m molt.rehearse my_agent.py --prompt '2+2?' --label 4 --reply '<answer>4</answer>'
    python -m molt.rehearse my_chat_agent.py --prompt '2+2?' --label 4 --base-url http://127.0.0.1:8377/v1

An Env is told the replies, one a turn; a ChatAgent needs an address that speaks OpenAI's wire, such as that of
`molt serve --script replies.jsonl`. The prompt is shown as it is, without a chat template. `molt agent try` does more.
"""

from __future__ import annotations

import argparse
import asyncio

from molt import agents, worker


async def env(runner: agents.StepEnvRunner, prompt: str, label, replies: list) -> float:
    world, total, text = runner.env_class(), 0.0, ""
    params = agents.SamplingParams(temperature=1.0, top_p=1.0, max_tokens=1024, logprobs=1)
    try:
        begun = await worker.settle(world.reset({"observation": prompt, "label": label}))
        text, label = begun["observation"], begun.get("label", label)
        print(f"[shown]\n{text}")
        for turn, said in enumerate(replies):
            print(f"[said]\n{said}")
            state = {"observation_text": text, "action_text": said, "label": label, "sampling_params": params.clone()}
            result = agents.checked(await worker.settle(world.step(state)), "step")
            total += float(result["reward"])
            print(f"[turn {turn}] reward {result['reward']}, info {result['info']}")
            if result["terminated"] or result["truncated"]:
                break
            params.update(result["sampling_params"] or {})
            text += said + result["observation"]
            print(f"[shown]\n{result['observation']}")
    finally:
        await worker.settle(world.close())
    return total


async def chat(runner: agents.ChatAgentRunner, prompt: str, label, url: str, key: str) -> float:
    context = agents.ChatContext(
        messages=[{"role": "user", "content": prompt}], tools=None, prompt=prompt, label=label, images=[], base_url=url,
        session_url=url.removesuffix("/v1"), model_name="policy", api_key=key, session_id="rehearsal",
        sampling_params=agents.SamplingParams(temperature=1.0, top_p=1.0, max_tokens=1024, logprobs=1), max_length=1 << 17,
    )
    result = agents.checked(await worker.settle(runner.agent_class().run(context)), "run")
    print(f"[info] {result['info']}")
    return float(result["reward"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file")
    p.add_argument("--prompt", default="")
    p.add_argument("--label")
    p.add_argument("--reply", action="append", default=[], help="of an Env's policy, one a turn")
    p.add_argument("--base-url", help="of a ChatAgent's policy")
    p.add_argument("--api-key", default="EMPTY")
    a = p.parse_args()
    runner = worker.load(a.file)
    if isinstance(runner, agents.StepEnvRunner):
        if not a.reply:
            p.error("an Env needs a --reply for each turn")
        reward = asyncio.run(env(runner, a.prompt, a.label, a.reply))
    else:
        if not a.base_url:
            p.error("a ChatAgent needs --base-url")
        reward = asyncio.run(chat(runner, a.prompt, a.label, a.base_url, a.api_key))
    print(f"[end] reward {reward:g}")


if __name__ == "__main__":
    main()
