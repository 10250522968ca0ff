"""Reads with safetensors and transformers what weights/ has written, and compares it with the same rule of values."""

import json
import pathlib
import sys

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM

folder = pathlib.Path(sys.argv[1])
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
         "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2}


def want(shape):
    n = 1
    for d in shape:
        n *= d
    return ((torch.arange(n) * 37 % 101 - 50).float() / 64).reshape(shape)


for name, dtype in TYPES.items():
    where = folder / name
    index = json.loads((where / "model.safetensors.index.json").read_text())
    size = parameters = 0
    for tensor, file in index["weight_map"].items():
        with safe_open(where / file, framework="pt") as f:
            assert f.metadata() == {"format": "pt"}, f.metadata()
            t = f.get_tensor(tensor)
        assert t.dtype == dtype, (tensor, t.dtype)
        assert torch.equal(t.float(), want(t.shape).to(dtype).float()), tensor
        size, parameters = size + t.numel() * t.element_size(), parameters + t.numel()
    assert index["metadata"] == {"total_size": size, "total_parameters": parameters}, index["metadata"]
    if name in ("F32", "BF16"):
        model = AutoModelForCausalLM.from_pretrained(where, dtype=dtype)
        for key, t in model.state_dict().items():
            assert torch.equal(t, want(t.shape).to(dtype)), key
        assert len(model.state_dict()) == len(index["weight_map"])
print("safetensors and transformers read every file that weights/ wrote")
