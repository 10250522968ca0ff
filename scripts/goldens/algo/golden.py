"""Golden cases for algo/: the textbook formulas in PyTorch, gradients by autograd, everything in float64.

Written against the papers, not against the Go code, and in another style (whole tensors, min and clamp, boolean masks), so
that the two agree only where both are right.

    python scripts/goldens/algo/golden.py > algo/testdata/golden.json        # needs torch, any version from 2.0
"""

import itertools
import json
import math

import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(7)

SEGMENTS = [(0, 3), (3, 4), (4, 9)]  # action tokens of each segment; the second has only one
N = 9
DENOMINATOR = 23.0
BAND = (0.6, 1.7)
CLIP = {"ClipLow": 0.2, "ClipHigh": 0.28}


def grid(n, low, high):
    """n numbers that float32 holds exactly."""
    return (torch.rand(n) * (high - low) + low).mul(4096).round().div(4096)


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
    keep = torch.zeros(N)
    for lo, hi in SEGMENTS:
        logs = (old - gen)[lo:hi]
        judged = (logs.sum() if level == "sequence" else logs.mean()).exp()
        keep[lo:hi] = float(BAND[0] <= judged <= BAND[1])
    return keep * ratio


def policy_loss(new, old, advantage, weight, loss, dual):
    if loss == "policy_gradient":
        per_token = -advantage * new
    else:
        ratio = (new - old).exp()
        clipped = ratio.clamp(1 - CLIP["ClipLow"], 1 + CLIP["ClipHigh"])
        objective = torch.min(ratio * advantage, clipped * advantage)
        if dual > 0:
            objective = torch.where(advantage < 0, torch.max(objective, dual * advantage), objective)
        per_token = -objective
    return (weight * per_token).sum() / DENOMINATOR


def kl_loss(new, ref, estimator, coef):
    d = new - ref
    per_token = {"k1": d, "k2": 0.5 * d**2, "k3": (-d).exp() - 1 + d}[estimator]
    if estimator != "k1":
        per_token = per_token.clamp(-10, 10)
    return coef * per_token.sum() / DENOMINATOR


def gradient(loss, new):
    return torch.autograd.grad(loss, new)[0]


def loss_case(loss, dual, level, mode, estimator):
    new = grid(N, -4, 0).requires_grad_()
    old = (new.detach() + grid(N, -0.6, 0.6)).clamp(max=0)
    if dual:
        old[0], old[5] = new[0].item() - 2, new[5].item() - 2  # far enough up for the dual clip
    gen = old + grid(N, -0.5, 0.5)
    ref = grid(N, -4, 0)
    ref[2] = new[2].item() + 5  # beyond the limit of k2 and k3
    advantage = grid(N, -2, 2)
    if dual:
        advantage[0], advantage[5] = -1.5, -0.25
    weight = correction_weights(old, gen, level, mode)
    policy, kl = policy_loss(new, old, advantage, weight, loss, dual), kl_loss(new, ref, estimator, 0.3)
    ratio = (new - old).exp().detach()
    return {
        "LogpNew": new, "LogpOld": old, "LogpGen": gen, "LogpRef": ref, "Advantage": advantage,
        "Loss": {"Name": loss, "DualClip": dual, **CLIP},
        "Correction": {"Level": level, "Mode": mode, "Low": BAND[0], "High": BAND[1]},
        "Estimator": estimator, "Coef": 0.3,
        "WantWeight": weight, "WantLoss": policy, "WantGradient": gradient(policy, new),
        "WantKL": kl, "WantKLGradient": gradient(kl, new),
        "WantKL3": (ratio - 1 - (new - old)).mean(),
        "WantMismatchKL1": (gen - old).mean(), "WantMismatchKL3": ((old - gen).exp() - 1 - (old - gen)).mean(),
        "WantEffective": (old - gen).exp().sum() ** 2 / (2 * (old - gen)).exp().sum() / N,
    }  # fmt: skip


def returns(mask, kl, reward, gamma, coef):
    """Reward-to-go by its definition, one explicit sum for each position."""
    last = max(t for t, m in enumerate(mask) if m)
    per_token = [(-coef * kl[t].item() if m else 0.0) + (reward if t == last else 0.0) for t, m in enumerate(mask)]
    return torch.tensor([sum(gamma ** (u - t) * per_token[u] for u in range(t, len(mask))) for t in range(len(mask))])


def advantage_case(estimator, whiten, gamma):
    """Seven rollouts in three groups, one of a single rollout; rollout 0 has two segments."""
    group = torch.tensor([0, 0, 0, 1, 1, 1, 2])
    rollout = [0, 0, 1, 2, 3, 4, 5, 6]
    reward = grid(7, -2, 2)
    masks, kls = [], []
    for s in range(len(rollout)):
        mask = (torch.rand(4 + s % 3) < 0.6).long()
        mask[1] = 1
        masks.append(mask)
        kls.append(grid(len(mask), -1, 1))
    out = []
    for s, r in enumerate(rollout):
        if estimator == "reinforce":
            out.append(returns(masks[s], kls[s], reward[r].item(), gamma, 0.1))
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
        out.append(value.expand(len(masks[s])))
    flat, mask = torch.cat(out), torch.cat(masks).bool()
    if whiten and estimator.startswith("reinforce"):
        flat = (flat - flat[mask].mean()) / flat[mask].var(correction=0).clamp(min=1e-8).sqrt()
    flat = torch.where(mask, flat, torch.zeros_like(flat))
    return {
        "Estimator": estimator, "NoWhiten": not whiten, "Gamma": gamma, "Coef": 0.1,
        "Reward": reward, "Group": group, "Rollout": rollout,
        "Action": [m.bool().tolist() for m in masks], "KL": kls,
        "Want": torch.split(flat, [len(m) for m in masks]),
    }  # fmt: skip


def plain(x):
    if isinstance(x, torch.Tensor):
        return plain(x.tolist())
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return float(f"{x:.12g}") if isinstance(x, float) else x


def main():
    corrections = [("off", "mask"), ("token", "mask"), ("token", "clip"), ("token", "truncate"), ("sequence", "mask"), ("geometric", "mask")]
    losses = [("ppo", 0.0), ("ppo", 3.0), ("policy_gradient", 0.0)]
    estimators = itertools.cycle(["k1", "k2", "k3", "k2"])
    cases = {
        "Torch": torch.__version__.split("+")[0],
        "Starts": [0] + [hi for _, hi in SEGMENTS],
        "Denominator": DENOMINATOR,
        "Losses": [loss_case(*l, *c, next(estimators)) for l in losses for c in corrections],
        "Advantages": [
            advantage_case(name, whiten, gamma)
            for name in ["grpo", "dr_grpo", "rloo", "reinforce_baseline", "reinforce"]
            for whiten in ([True, False] if name.startswith("reinforce") else [True])
            for gamma in ([1.0, 0.9] if name == "reinforce" else [1.0])
        ],
    }
    assert all(math.isfinite(c["WantLoss"].item()) for c in cases["Losses"])
    print("{")
    for i, (key, value) in enumerate(cases.items()):
        rows = value if isinstance(value, list) and isinstance(value[0], dict) else None
        text = "[\n  " + ",\n  ".join(json.dumps(plain(r)) for r in rows) + "\n ]" if rows else json.dumps(plain(value))
        print(f" {json.dumps(key)}: {text}" + ("," if i + 1 < len(cases) else ""))
    print("}")


if __name__ == "__main__":
    main()
