"""Golden cases for algo/: the textbook formulas in PyTorch, gradients by autograd, everything in float64.

Written against the papers, not against the Go code, and in another style (whole tensors, min and clamp, detach, boolean
masks), so that the two agree only where both are right.

    python scripts/goldens/algo/golden.py > algo/testdata/golden.json        # needs torch, any version from 2.0
"""

import itertools
import json
import math

import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(7)

SEGMENTS = [(0, 3), (3, 4), (4, 9)]  # action tokens of each segment; the second has only one
ROLLOUTS = [[0, 1], [2]]  # segments of each rollout
N = 9
STEP = {"Tokens": 23, "Rollouts": 5}  # the whole optimizer step, of which these tokens are a part
MAX_TOKENS = 12
BAND = (0.6, 1.7)
CLIP = {"ClipLow": 0.2, "ClipHigh": 0.28}

LOSSES = {
    "ppo": {"Name": "ppo", **CLIP},
    "ppo, dual clip": {"Name": "ppo", "DualClip": 3.0, **CLIP},
    "gspo": {"Name": "gspo", **CLIP},
    "cispo": {"Name": "cispo", "Ceiling": 1.25},
    "sapo": {"Name": "sapo", "TauPositive": 1.0, "TauNegative": 1.05},
    "policy_gradient": {"Name": "policy_gradient"},
}
CORRECTIONS = [("off", "mask"), ("token", "mask"), ("token", "clip"), ("token", "truncate"), ("sequence", "mask"), ("geometric", "mask")]
AGGREGATIONS = ["token_mean", "rollout_sum", "rollout_mean", "constant"]


def grid(n, low, high):
    """n numbers that float32 holds exactly."""
    return (torch.rand(n) * (high - low) + low).mul(4096).round().div(4096)


def lanes():
    new = grid(N, -4, 0).requires_grad_()
    old = (new.detach() + grid(N, -0.6, 0.6)).clamp(max=0)
    old[0], old[5] = new[0].item() - 2, new[5].item() - 2  # far enough up for the dual clip
    gen = old + grid(N, -0.5, 0.5)
    ref = grid(N, -4, 0)
    ref[2] = new[2].item() + 5  # beyond the limit of k2 and k3
    advantage = grid(N, -2, 2)
    advantage[0], advantage[5] = -1.5, -0.25
    return {"LogpNew": new, "LogpOld": old, "LogpGen": gen, "LogpRef": ref, "Advantage": advantage}


def per_segment(x, reduce):
    """reduce(x) over each segment, at each of its tokens."""
    return torch.cat([reduce(x[lo:hi]).expand(hi - lo) for lo, hi in SEGMENTS])


def correction_weights(old, gen, level, mode):
    ratio = (old - gen).exp()
    inside = (ratio >= BAND[0]) & (ratio <= BAND[1])
    if level == "off":
        return torch.ones(N)
    if level == "token":
        return {
            "mask": torch.where(inside, ratio, torch.zeros(N)),
            "clip": ratio.clamp(*BAND),
            "truncate": ratio.clamp(max=BAND[1]),
        }[mode]
    judged = per_segment(old - gen, torch.sum if level == "sequence" else torch.mean).exp()
    return ratio * ((judged >= BAND[0]) & (judged <= BAND[1]))


def aggregate(per_token, mode):
    """This part of the step's loss."""
    if mode == "token_mean":
        return per_token.sum() / STEP["Tokens"]
    total = torch.tensor(0.0)
    for segments in ROLLOUTS:
        mine = torch.cat([per_token[slice(*SEGMENTS[s])] for s in segments])
        total = total + {"rollout_sum": mine.sum(), "rollout_mean": mine.mean(), "constant": mine.sum() / MAX_TOKENS}[mode]
    return total / STEP["Rollouts"]


def token_losses(new, old, a, cfg):
    ratio = (new - old).exp()
    name = cfg["Name"]
    if name == "policy_gradient":
        return -a * new
    if name == "cispo":
        return -ratio.detach().clamp(max=cfg["Ceiling"]) * a * new
    if name == "sapo":
        tau = torch.where(a > 0, cfg["TauPositive"], cfg["TauNegative"])
        return -torch.sigmoid(tau * (ratio - 1)) * 4 / tau * a
    if name == "gspo":
        sequence = per_segment(new - old, torch.mean).detach()
        ratio = (sequence + new - new.detach()).exp()
    clipped = ratio.clamp(1 - cfg["ClipLow"], 1 + cfg["ClipHigh"])
    objective = torch.min(ratio * a, clipped * a)
    if cfg.get("DualClip"):
        objective = torch.where(a < 0, torch.max(objective, cfg["DualClip"] * a), objective)
    return -objective


def gradient(loss, x):
    return torch.autograd.grad(loss, x, retain_graph=True)[0]


def loss_cases(inputs):
    new, old, gen, a = (inputs[k] for k in ["LogpNew", "LogpOld", "LogpGen", "Advantage"])
    for (cfg, (level, mode), aggregation) in itertools.product(LOSSES.values(), CORRECTIONS, AGGREGATIONS):
        weight = correction_weights(old, gen, level, mode)
        loss = aggregate(weight * token_losses(new, old, a, cfg), aggregation)
        full = {**cfg, "Aggregation": aggregation}
        if aggregation == "constant":
            full["MaxTokens"] = MAX_TOKENS
        yield {"Loss": full, "Level": level, "Mode": mode, "WantLoss": loss, "WantGradient": gradient(loss, new)}


def coupled_cases(inputs):
    """PPO as first written: the ratio to the generator, and no weight."""
    new, gen, a = inputs["LogpNew"], inputs["LogpGen"], inputs["Advantage"]
    for cfg in [LOSSES["ppo"], LOSSES["gspo"]]:
        loss = aggregate(token_losses(new, gen, a, cfg), "token_mean")
        yield {"Loss": {**cfg, "Proximal": "behavior"}, "Level": "off", "Mode": "mask", "WantLoss": loss, "WantGradient": gradient(loss, new)}


def correction_cases(inputs):
    old, gen = inputs["LogpOld"], inputs["LogpGen"]
    ratio = (old - gen).exp()
    for level, mode in CORRECTIONS:
        yield {
            "Level": level, "Mode": mode, "Want": correction_weights(old, gen, level, mode),
            "KL1": (gen - old).mean(), "KL3": (ratio - 1 - (old - gen)).mean(), "Effective": ratio.sum() ** 2 / (ratio**2).sum() / N,
        }  # fmt: skip


def kl_cases(inputs):
    new, old, ref = inputs["LogpNew"], inputs["LogpOld"], inputs["LogpRef"]
    d, ratio = new - ref, (new - old).exp()
    for estimator, aggregation in itertools.product(["k1", "k2", "k3", "k3_unbiased"], AGGREGATIONS):
        k3 = (-d).exp() - 1 + d
        per_token = {"k1": d, "k2": (0.5 * d**2).clamp(-10, 10), "k3": k3.clamp(-10, 10), "k3_unbiased": ratio * k3}[estimator]
        loss = 0.3 * aggregate(per_token, aggregation)
        yield {"Estimator": estimator, "Aggregation": aggregation, "Coef": 0.3, "WantLoss": loss, "WantGradient": gradient(loss, new)}


def value_cases():
    value = grid(N, -2, 2).requires_grad_()
    start, returns = value.detach() + grid(N, -0.5, 0.5), grid(N, -2, 2)
    for clip, aggregation in itertools.product([0.0, 0.2], AGGREGATIONS):
        error = (value - returns) ** 2
        if clip:
            error = torch.max(error, (start + (value - start).clamp(-clip, clip) - returns) ** 2)
        loss = 0.5 * aggregate(0.5 * error, aggregation)
        yield {
            "Value": value, "Start": start, "Return": returns, "Clip": clip, "Coef": 0.5, "Aggregation": aggregation,
            "WantLoss": loss, "WantGradient": gradient(loss, value),
            "WantExplained": 1 - (returns - value).var() / returns.var(),
        }  # fmt: skip


def returns(mask, kl, reward, gamma, coef):
    """Reward-to-go by its definition, one explicit sum for each position."""
    last = max(t for t, m in enumerate(mask) if m)
    per_token = [(-coef * kl[t].item() if m else 0.0) + (reward if t == last else 0.0) for t, m in enumerate(mask)]
    return torch.tensor([sum(gamma ** (u - t) * per_token[u] for u in range(t, len(mask))) for t in range(len(mask))])


def gae(masks, kls, values, reward, gamma, lam, coef):
    """One rollout's advantages and returns by the definition, over its action tokens in all segments."""
    tokens = [(s, t) for s, mask in enumerate(masks) for t, m in enumerate(mask) if m]
    v = [values[s][t].item() for s, t in tokens] + [0.0]
    r = [-coef * kls[s][t].item() for s, t in tokens]
    r[-1] += reward
    delta = [r[j] + gamma * v[j + 1] - v[j] for j in range(len(tokens))]
    advantage, ret = ([torch.zeros(len(m)) for m in masks] for _ in range(2))
    for j, (s, t) in enumerate(tokens):
        advantage[s][t] = sum((gamma * lam) ** (u - j) * delta[u] for u in range(j, len(tokens)))
        ret[s][t] = advantage[s][t] + v[j]
    return advantage, ret


def advantage_case(estimator, whiten, gamma, lam=1.0):
    """Seven rollouts in three groups, one of a single rollout; rollout 0 has two segments."""
    group = torch.tensor([0, 0, 0, 1, 1, 1, 2])
    rollout = [0, 0, 1, 2, 3, 4, 5, 6]
    reward = grid(7, -2, 2)
    masks, kls, values = [], [], []
    for s in range(len(rollout)):
        mask = (torch.rand(4 + s % 3) < 0.6).long()
        mask[1] = 1
        masks.append(mask)
        kls.append(grid(len(mask), -1, 1))
        values.append(grid(len(mask), -1, 1))
    out, ret = [None] * len(rollout), [None] * len(rollout)
    for r in range(7):
        mine = [s for s in range(len(rollout)) if rollout[s] == r]
        a, g = gae([masks[s] for s in mine], [kls[s] for s in mine], [values[s] for s in mine], reward[r].item(), gamma, lam, 0.1)
        for s, one, two in zip(mine, a, g):
            out[s], ret[s] = one, two
    for s, r in enumerate(rollout):
        if estimator == "gae":
            continue
        if estimator == "on_policy_distill":
            out[s] = -0.1 * kls[s]
            continue
        if estimator == "reinforce":
            out[s] = returns(masks[s], kls[s], reward[r].item(), gamma, 0.1)
            continue
        mine = reward[group == group[r]]
        n, mean = len(mine), mine.mean()
        std = mine.std() if n > 1 else torch.tensor(0.0)  # torch divides by n − 1
        value = {
            "grpo": (reward[r] - mean) / (std + 1e-9),
            "dr_grpo": reward[r] - mean,
            "reinforce_baseline": reward[r] - mean,
            "rloo": reward[r] - (mine.sum() - reward[r]) / (n - 1) if n > 1 else reward[r],
        }[estimator]
        out[s] = value.expand(len(masks[s]))
    flat, mask = torch.cat(out), torch.cat(masks).bool()
    if whiten and (estimator.startswith("reinforce") or estimator == "gae"):
        flat = (flat - flat[mask].mean()) / flat[mask].var(correction=0).clamp(min=1e-8).sqrt()
    flat = torch.where(mask, flat, torch.zeros_like(flat))
    case = {
        "Estimator": estimator, "NoWhiten": not whiten, "Gamma": gamma, "Lambda": lam, "Coef": 0.1,
        "Reward": reward, "Group": group, "Rollout": rollout,
        "Action": [m.bool().tolist() for m in masks],
        "Want": torch.split(flat, [len(m) for m in masks]),
    }  # fmt: skip
    if estimator in ("reinforce", "gae", "on_policy_distill"):
        case["KL"] = kls
    if estimator == "gae":
        case["Value"], case["WantReturn"] = values, ret
    return case


def advantage_cases():
    for name in ["grpo", "dr_grpo", "rloo", "on_policy_distill"]:
        yield advantage_case(name, True, 1.0)
    for whiten in [True, False]:
        yield advantage_case("reinforce_baseline", whiten, 1.0)
        for gamma in [1.0, 0.9]:
            yield advantage_case("reinforce", whiten, gamma)
        for gamma, lam in [(1.0, 1.0), (0.97, 0.95)]:
            yield advantage_case("gae", whiten, gamma, lam)


def plain(x):
    if isinstance(x, torch.Tensor):
        return plain(x.tolist())
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return float(f"{x:.9g}") if isinstance(x, float) else x


def compact(x):
    return json.dumps(plain(x), separators=(",", ":"))


def main():
    inputs = lanes()
    cases = {
        "Torch": torch.__version__.split("+")[0],
        "Inputs": {**inputs, "Starts": [0] + [hi for _, hi in SEGMENTS],
                   "RolloutTokens": [sum(SEGMENTS[s][1] - SEGMENTS[s][0] for s in r) for r in ROLLOUTS for _ in r]},
        "Step": STEP, "Low": BAND[0], "High": BAND[1],
        "Corrections": list(correction_cases(inputs)),
        "Losses": list(loss_cases(inputs)) + list(coupled_cases(inputs)),
        "KL": list(kl_cases(inputs)),
        "Values": list(value_cases()),
        "Advantages": list(advantage_cases()),
    }  # fmt: skip
    assert all(math.isfinite(c["WantLoss"].item()) for c in cases["Losses"])
    print("{")
    for i, (key, value) in enumerate(cases.items()):
        rows = value if isinstance(value, list) else None
        text = "[\n  " + ",\n  ".join(compact(r) for r in rows) + "\n ]" if rows else compact(value)
        print(f" {json.dumps(key)}: {text}" + ("," if i + 1 < len(cases) else ""))
    print("}")


if __name__ == "__main__":
    main()
