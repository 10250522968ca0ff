"""Golden steps for numeric/optim: torch.optim.Muon and torch.optim.AdamW on given weights and gradients.

PyTorch's Muon orthogonalises in bfloat16. Each case runs it twice: as it is ("bf16"), and with the name bfloat16 bound to
float64 while it runs, which makes the very same code exact.

    python scripts/goldens/optim/golden.py > numeric/optim/testdata/golden.json        # needs torch with optim.Muon
"""

import json

import torch

torch.manual_seed(11)
LR = 0.02
STEPS = 3


def grid(shape, spread):
    """Numbers that float32 holds exactly."""
    return torch.randn(shape, dtype=torch.float64).mul(spread * 4096).round().div(4096)


def steps(make, weights, grads):
    """The weights after each step."""
    w = torch.nn.Parameter(weights.clone())
    optimizer = make([w])
    after = []
    for g in grads:
        w.grad = g.to(w.dtype).clone()
        optimizer.step()
        after.append(w.detach().double().clone())
    return after


def exactly(run):
    real, torch.bfloat16 = torch.bfloat16, torch.float64
    try:
        return run()
    finally:
        torch.bfloat16 = real


def flat(t):
    return [float(f"{x:.9g}") for x in t.flatten().tolist()]


def muon(shape, momentum, nesterov, decay):
    weights, grads = grid(shape, 0.1), [grid(shape, 1) for _ in range(STEPS)]
    make = lambda params: torch.optim.Muon(
        params, lr=LR, momentum=momentum, nesterov=nesterov, weight_decay=decay, adjust_lr_fn="spectral_unclamped"
    )
    exact = exactly(lambda: steps(make, weights, grads))
    rough = steps(make, weights.float(), grads)
    return {
        "name": "muon", "shape": list(shape), "lr": LR, "momentum": momentum, "nesterov": nesterov, "decay": decay,
        "weights": flat(weights), "grads": [flat(g) for g in grads], "first": flat(exact[0]), "last": flat(exact[-1]), "bf16": flat(rough[-1]),
    }


def adam(shape, decay):
    weights, grads = grid(shape, 0.1), [grid(shape, 1) for _ in range(STEPS)]
    make = lambda params: torch.optim.AdamW(params, lr=LR, betas=(0.9, 0.95), eps=1e-8, weight_decay=decay)
    exact = steps(make, weights, grads)
    return {
        "name": "adam", "shape": list(shape), "lr": LR, "decay": decay,
        "weights": flat(weights), "grads": [flat(g) for g in grads], "first": flat(exact[0]), "last": flat(exact[-1]),
    }


cases = [
    muon((12, 8), 0.95, True, 0.0),
    muon((8, 12), 0.95, True, 0.1),
    muon((8, 8), 0.9, False, 0.0),
    muon((17, 5), 0.5, True, 0.5),
    muon((3, 18), 0.0, False, 0.1),
    muon((1, 6), 0.95, True, 0.0),
    adam((5, 7), 0.1),
    adam((9,), 0.0),
]
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
