"""Golden files for numeric/model: whole tiny decoders of Hugging Face transformers, in float64 with autograd.

usage: golden.py OUT_FOLDER STORIES260K_FOLDER

qwen3.json and llama.json hold a model's shape and weights, a packed batch, every lane, the gradient of a weighted sum of
the lanes by each parameter, and the losses of ten AdamW steps. stories260k.json holds the five likeliest next tokens after
each prefix of a prompt, for a real checkpoint that is not in the repository.
"""

import json
import pathlib
import sys

import torch
import transformers

DECAY = 0.01
ADAMW = {"lr": 0.01, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8}


def qwen3():
    config = transformers.Qwen3Config(
        vocab_size=24, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, max_position_embeddings=64, rms_norm_eps=1e-6, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attention_bias=False)
    return config, transformers.Qwen3ForCausalLM(config)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=24, hidden_size=16, intermediate_size=11, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=4, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0}, attention_bias=True)
    return config, transformers.LlamaForCausalLM(config)


class Policy(torch.nn.Module):
    """A causal LM and a value head, with weights that float32 holds exactly."""

    def __init__(self, lm, value_head, seed):
        super().__init__()
        self.lm = lm
        self.score = torch.nn.Linear(lm.config.hidden_size, 1, bias=False) if value_head else None
        generator = torch.Generator().manual_seed(seed)
        for parameter in self.parameters():
            noise = torch.randn(parameter.shape, generator=generator) * (0.3 if parameter.ndim == 2 else 0.2)
            base = 1.0 if parameter.ndim == 1 and parameter.mean() == 1 else 0.0
            parameter.data = (base + noise).float()
        self.double()

    def tensors(self):
        named = dict(self.lm.named_parameters())
        if self.score is not None:
            named["score.weight"] = self.score.weight
        return named

    def lanes(self, batch, temperature):
        """log-prob, entropy and value of every scored token, sequence by sequence: no padding, no mask."""
        logp, entropy, value = [], [], []
        scored = dict(zip(batch["score"], temperature))
        for start, end in zip(batch["starts"], batch["starts"][1:]):
            ids = torch.tensor(batch["tokens"][start:end])
            hidden = self.lm.model(input_ids=ids[None]).last_hidden_state[0]
            logits = self.lm.lm_head(hidden)
            for t in range(start + 1, end):
                if t not in scored:
                    continue
                row = torch.log_softmax(logits[t - 1 - start] / scored[t], dim=-1)
                logp.append(row[batch["tokens"][t]])
                entropy.append(-(row.exp() * row).sum())
                if self.score is not None:
                    value.append(self.score(hidden[t - 1 - start])[0])
        return torch.stack(logp), torch.stack(entropy), torch.stack(value) if value else None


def random_batch(generator, vocab):
    lengths = [9, 2, 14]
    starts = [0, 9, 11, 25]
    tokens = torch.randint(vocab, (sum(lengths),), generator=generator).tolist()
    score = [t for t in range(25) if t not in starts and t % 4 != 3]
    return {"tokens": tokens, "starts": starts, "score": score}


def draw(generator, n):
    return torch.randn(n, generator=generator).float().double()


def losses(policy, batch):
    """Token-mean SFT loss before each of ten AdamW steps."""
    matrices = [p for p in policy.tensors().values() if p.ndim == 2]
    others = [p for p in policy.tensors().values() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
        lr=ADAMW["lr"], betas=(ADAMW["beta1"], ADAMW["beta2"]), eps=ADAMW["eps"])
    out = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = -policy.lanes(batch, [1.0] * len(batch["score"]))[0].mean()
        loss.backward()
        out.append(loss.item())
        optimizer.step()
    return out


def case(make, value_head, seed):
    config, lm = make()
    policy = Policy(lm, value_head, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    batch = random_batch(generator, config.vocab_size)
    n = len(batch["score"])
    temperature = [[1.0, 0.5, 0.75, 1.5][i % 4] for i in range(n)]
    d_logp, d_entropy, d_value = draw(generator, n), draw(generator, n), draw(generator, n)
    weights = {name: flat(p) for name, p in policy.tensors().items()}
    logp, entropy, value = policy.lanes(batch, temperature)
    total = (logp * d_logp).sum() + (entropy * d_entropy).sum()
    if value is not None:
        total = total + (value * d_value).sum()
    total.backward()
    return {
        "config": {
            "Vocab": config.vocab_size, "Dim": config.hidden_size, "Layers": config.num_hidden_layers,
            "Heads": config.num_attention_heads, "KVHeads": config.num_key_value_heads, "HeadDim": config.head_dim,
            "FFN": config.intermediate_size, "MaxPositions": config.max_position_embeddings, "NormEps": config.rms_norm_eps,
            "RopeTheta": config.rope_parameters["rope_theta"], "Tied": config.tie_word_embeddings,
            "QKNorm": config.model_type == "qwen3", "QKVBias": config.attention_bias, "OBias": config.attention_bias,
            "ValueHead": value_head,
        },
        "batch": batch, "temperature": temperature,
        "dLogp": d_logp.tolist(), "dEntropy": d_entropy.tolist(), "dValue": d_value.tolist() if value_head else None,
        "weights": weights,
        "logp": flat(logp), "entropy": flat(entropy), "value": flat(value) if value_head else None,
        "gradients": {name: flat(p.grad) for name, p in policy.tensors().items()},
        "adamw": ADAMW | {"decay": DECAY},
        "losses": [round(x, 8) for x in losses(policy, batch)],
    }


def flat(tensor):
    """Nine significant digits: float32 values survive."""
    return [float(f"{x:.9g}") for x in tensor.detach().reshape(-1).tolist()]


def stories(folder):
    lm = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    prompt = "Once upon a time, there was a little girl named Lily. She loved to play outside"
    ids = tokenizer(prompt)["input_ids"]
    ids = ids if ids[0] == 1 else [1] + ids
    with torch.no_grad():
        logp = torch.log_softmax(lm(torch.tensor([ids])).logits[0], dim=-1)
    top = logp.topk(5, dim=-1)
    return {
        "prompt": prompt, "ids": ids,
        "top": [{"ids": i.tolist(), "logp": flat(p)} for i, p in zip(top.indices, top.values)],
    }


def write(path, data):
    """One line for each array, so that a change is readable."""
    def lines(value, indent):
        if isinstance(value, dict):
            inner = ",\n".join(f'{indent} {json.dumps(k)}: {lines(v, indent + " ")}' for k, v in value.items())
            return "{\n" + inner + "\n" + indent + "}"
        return json.dumps(value)
    path.write_text(lines(data, "") + "\n")


def main():
    out, stories_folder = map(pathlib.Path, sys.argv[1:])
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    out.mkdir(parents=True, exist_ok=True)
    write(out / "qwen3.json", case(qwen3, False, 1))
    write(out / "llama.json", case(llama, True, 2))
    if stories_folder.is_dir():
        write(out / "stories260k.json", stories(stories_folder))
    else:
        print(f"SKIPPED stories260k.json: no {stories_folder.name} beside the repository")


main()
