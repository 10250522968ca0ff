"""The peer of `molt bench`: the same work on PyTorch's CPU backend, eager, in float32.

    python torch_peer.py THREADS

A line of JSON on standard input asks for one run of a workload (run/bench/work.go), a line on standard output answers with
its seconds, and with the figures of what it computed where both sides can compute the same. A workload is set up when it is
first asked for, outside of the time that is reported.

What the peer is given, so that the comparison is fair: prompts are computed once for all samples of a group; the head runs
for scored tokens only; sequences of a batch are equally long, so nothing is padded; attention is PyTorch's fused
scaled_dot_product_attention; AdamW is the fused one; decoding runs in lock step over a preallocated KV cache.
"""

import json
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as e:
    print(json.dumps({"missing": str(e)}), flush=True)
    sys.exit(0)


class Decoder(torch.nn.Module):
    """Llama; with qk_norm, Qwen3. Queries, keys and values are one product, gate and up another. The head is tied."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        d, hd, h, g, f = s["hidden_size"], s["head_dim"], s["num_attention_heads"], s["num_key_value_heads"], s["intermediate_size"]
        weight = lambda *shape: torch.nn.Parameter(torch.randn(*shape) / shape[-1] ** 0.5)
        one = lambda n: torch.nn.Parameter(torch.ones(n))
        self.embed = torch.nn.Parameter(torch.randn(s["vocab_size"], d) * 0.05)
        self.layers = torch.nn.ModuleList()
        for _ in range(s["num_hidden_layers"]):
            layer = torch.nn.ParameterDict({
                "norm1": one(d), "qkv": weight((h + 2 * g) * hd, d), "o": weight(d, h * hd),
                "norm2": one(d), "gate_up": weight(2 * f, d), "down": weight(d, f),
            })
            if s["qk_norm"]:
                layer["q_norm"], layer["k_norm"] = one(hd), one(hd)
            self.layers.append(layer)
        self.norm = one(d)

    def rotation(self, positions):
        """cos and sin [T, hd] for positions [T]."""
        hd = self.s["head_dim"]
        rates = self.s["rope_theta"] ** (-torch.arange(0, hd, 2).float() / hd)
        angles = torch.outer(positions.float(), rates)
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()

    def forward(self, ids, rotation, cache=None, start=0):
        """Hidden states [B, T, d] of ids [B, T]. A cache [(k, v)] of [B, G, room, hd] is filled from position start."""
        s = self.s
        hd, h, g, eps = s["head_dim"], s["num_attention_heads"], s["num_key_value_heads"], s["rms_norm_eps"]
        b, t = ids.shape
        cos, sin = rotation

        def rotate(x):
            first, second = x.chunk(2, -1)
            return x * cos + torch.cat([-second, first], -1) * sin

        x = F.embedding(ids, self.embed)
        for i, l in enumerate(self.layers):
            y = F.rms_norm(x, x.shape[-1:], l["norm1"], eps)
            q, k, v = F.linear(y, l["qkv"]).view(b, t, h + 2 * g, hd).transpose(1, 2).split([h, g, g], 1)
            if s["qk_norm"]:
                q = F.rms_norm(q, (hd,), l["q_norm"], eps)
                k = F.rms_norm(k, (hd,), l["k_norm"], eps)
            q, k = rotate(q), rotate(k)
            if cache is not None:
                keys, values = cache[i]
                keys[:, :, start:start + t], values[:, :, start:start + t] = k, v
                k, v = keys[:, :, :start + t], values[:, :, :start + t]
            a = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1, enable_gqa=True)
            x = x + F.linear(a.transpose(1, 2).reshape(b, t, h * hd), l["o"])
            y = F.rms_norm(x, x.shape[-1:], l["norm2"], eps)
            gate, up = F.linear(y, l["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, l["down"])
        return F.rms_norm(x, x.shape[-1:], self.norm, eps)


def decoder(shape):
    torch.manual_seed(1)
    m = Decoder(shape)
    have = sum(p.numel() for p in m.parameters())
    if have != shape["parameters"]:
        raise ValueError(f"the peer's model has {have} parameters, ours {shape['parameters']}")
    return m


def gemm(r):
    x, w = torch.randn(r["m"], r["k"]), torch.randn(r["n"], r["k"])

    def run():
        with torch.inference_mode():
            for _ in range(r["repeats"]):
                F.linear(x, w)
    return run


def generate(r):
    m, s = decoder(r["shape"]), r["shape"]
    rows, room = r["prompts"] * r["samples"], r["prompt"] + r["reply"]
    make = lambda n: [tuple(torch.zeros(n, s["num_key_value_heads"], room, s["head_dim"]) for _ in "kv") for _ in range(s["num_hidden_layers"])]
    small, large = make(r["prompts"]), make(rows)
    cos, sin = m.rotation(torch.arange(room))

    def run():
        with torch.inference_mode():
            ids = torch.randint(s["vocab_size"], (r["prompts"], r["prompt"]))
            n = r["prompt"]
            hidden = m(ids, (cos[:n], sin[:n]), small)[:, -1].repeat_interleave(r["samples"], 0)
            for (k, v), (wide_k, wide_v) in zip(small, large):
                wide_k.copy_(k.repeat_interleave(r["samples"], 0))
                wide_v.copy_(v.repeat_interleave(r["samples"], 0))
            logps = []
            for i in range(r["reply"]):
                logp = torch.log_softmax(F.linear(hidden, m.embed), -1)
                ids = torch.multinomial(logp.exp(), 1)
                logps.append(logp.gather(1, ids))
                if i + 1 < r["reply"]:
                    at = n + i
                    hidden = m(ids, (cos[at:at + 1], sin[at:at + 1]), large, at)[:, -1]
            return torch.cat(logps, 1)
    return run


def train(r):
    m, s = decoder(r["shape"]), r["shape"]
    decayed = torch.optim.AdamW(m.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0, fused=True)
    t, scored = r["length"], r["scored"]
    rotation = m.rotation(torch.arange(t))
    ids = torch.randint(s["vocab_size"], (r["sequences"], t))

    def run():
        for _ in range(r["repeats"]):
            hidden = m(ids, rotation)[:, t - scored - 1:t - 1]
            logits = F.linear(hidden, m.embed)
            F.cross_entropy(logits.reshape(-1, s["vocab_size"]), ids[:, t - scored:].reshape(-1)).backward()
            torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            decayed.step()
            decayed.zero_grad(set_to_none=True)
    return run


def algo(r):
    """GRPO, the geometric mask, PPO's clip and their statistics: the numbers of `molt bench algo`, computed as a trainer in
    PyTorch computes them, with the gradient by autograd; in float64 it rounds as ours does. The run gives its figures."""
    rollouts, length, group = r["rollouts"], r["length"], r["samples"]
    torch.set_default_dtype(torch.float64 if r["double"] else torch.float32)
    scatter = lambda i, salt: ((i + (salt << 24)) * 2654435761 >> 16) & 0xFFFF
    index = torch.arange(rollouts * length)
    real = lambda x: x.to(torch.get_default_dtype())
    old = -5 * real(scatter(index, 1)) / 65536
    new = (old + real(scatter(index, 2) - 32768) / 131072).requires_grad_()
    bias = real(torch.arange(rollouts) % 7 - 3) / 512
    gen = old + real((scatter(index, 3) >> 4) - 2048) / 262144 + bias.repeat_interleave(length)
    old, gen = old.view(rollouts, length), gen.view(rollouts, length)
    reward = real(scatter(torch.arange(rollouts), 7) & 1).view(-1, group)
    lag = torch.zeros(rollouts, length, dtype=torch.int64)

    def run():
        new.grad = None
        centred = reward - reward.mean(1, keepdim=True)
        advantage = (centred / (reward.std(1, keepdim=True) + 1e-9)).view(-1, 1).expand(rollouts, length)
        figures = {"advantage_std": advantage.std(correction=0), "advantage_max": advantage.abs().max()}

        with torch.no_grad():
            d = old - gen
            m = d.exp()
            geometric = d.mean(1).exp()
            kept = (geometric >= r["low"]) & (geometric <= r["high"])
            weight = m * kept.unsqueeze(1)
            figures |= {"filtered": (~kept).sum(), "mismatch_kl1": -d.mean(), "mismatch_kl3": (m - 1 - d).mean(),
                        "worst": d.abs().max(), "effective": m.sum() ** 2 / m.square().sum() / m.numel()}
            count = torch.zeros(17).index_add_(0, lag.view(-1), torch.ones(lag.numel()))
            total = torch.zeros(17).index_add_(0, lag.view(-1), weight.view(-1))
            figures |= {"lag0_tokens": count[0], "lag0_weight": total[0]}

        log_ratio = new.view(rollouts, length) - old
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - r["clip"], 1 + r["clip"])
        token = torch.maximum(-ratio * advantage, -clipped * advantage)
        loss = (weight * token).sum() / token.numel()
        loss.backward()

        with torch.no_grad():
            figures |= {"loss": loss, "gradient_abs": new.grad.abs().sum(), "gradient_active": (new.grad != 0).sum(),
                        "kl1": -log_ratio.mean(), "kl3": (ratio - 1 - log_ratio).mean(),
                        "clipped_low": ((ratio < 1 - r["clip"]) & (advantage < 0)).sum(),
                        "clipped_high": ((ratio > 1 + r["clip"]) & (advantage > 0)).sum(),
                        "ratio_min": ratio.min(), "ratio_max": ratio.max()}
        return {name: float(value.detach()) for name, value in figures.items()}
    return run


def main():
    threads = int(sys.argv[1])
    torch.set_num_threads(threads)
    print(json.dumps({"name": f"PyTorch {torch.__version__} (CPU, eager)"}), flush=True)
    runs = {}
    for line in sys.stdin:
        try:
            if line not in runs:
                r = json.loads(line)
                runs = {line: {"gemm": gemm, "generate": generate, "train": train, "algo": algo}[r["bench"]](r)}
            start = time.perf_counter()
            figures = runs[line]()
            answer = {"seconds": time.perf_counter() - start}
            if isinstance(figures, dict):
                answer["figures"] = figures
        except Exception as e:  # whatever it is, the answer is one line
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


main()
