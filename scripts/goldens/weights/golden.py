"""Golden values for weights/: conversions of dtype by PyTorch, files written by safetensors and transformers."""

import hashlib
import json
import pathlib
import shutil
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)

TYPES = {"F16": torch.float16, "BF16": torch.bfloat16, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2}


def digest(floats):
    """SHA-256 of little-endian float32 with every NaN written as 0x7FC00000."""
    bits = floats.to(torch.float32).numpy().view(np.uint32).copy()
    bits[(bits & 0x7FFFFFFF) > 0x7F800000] = 0x7FC00000
    return hashlib.sha256(bits.tobytes()).hexdigest()


def every(dtype):
    """All values of a type, in the order of their bits."""
    if dtype.itemsize == 1:
        return torch.from_numpy(np.arange(256, dtype=np.uint8)).view(dtype)
    return torch.from_numpy(np.arange(65536, dtype=np.uint16).view(np.int16)).view(dtype)


def grid():
    """float32 inputs: each upper half with lower halves at and beside every multiple of 0x1000."""
    low = [(n << 12) + d for n in range(16) for d in (0, 1, 0xFFF)]
    bits = (np.arange(65536, dtype=np.uint32)[:, None] << 16) | np.array(low, dtype=np.uint32)[None, :]
    return torch.from_numpy(bits.reshape(-1).view(np.float32))


def room(inputs, name):
    """E4M3 has no infinity, and releases of PyTorch differ in what they make of larger values; weights/ refuses them."""
    return torch.where(inputs.abs() > 464, 0.0, inputs) if name == "F8_E4M3" else inputs


inputs = grid()
conversions = {name: {"widen": digest(every(t)), "narrow": digest(room(inputs, name).to(t))} for name, t in TYPES.items()}
doubles = torch.cat([inputs.to(torch.float64) * (1 + k * 2.0**-25) for k in (0, 1, -1)])
conversions["F64"] = {"narrow_double": digest(doubles.to(torch.float32))}
(out / "conversions.json").write_text(json.dumps(conversions, indent=1, sort_keys=True) + "\n")

# One file with a tensor of each type, and what PyTorch reads in it.
torch.manual_seed(1)
x = torch.randn(3, 5) * 3
tensors = {
    "f64": x.double() * (1 + 2.0**-30), "f32": x, "f16": x.half(), "bf16": x.bfloat16(),
    "e4m3": x.to(torch.float8_e4m3fn), "e5m2": x.to(torch.float8_e5m2),
    "i64": torch.tensor([2**24 + 1, -(2**24) - 3, 2**62 + 1]), "i32": torch.tensor([2**31 - 1, -5], dtype=torch.int32),
    "i16": torch.tensor([-32768, 7], dtype=torch.int16), "i8": torch.tensor([-128, 127], dtype=torch.int8),
    "u8": torch.tensor([0, 255], dtype=torch.uint8), "u16": torch.tensor([65535], dtype=torch.uint16),
    "u32": torch.tensor([2**32 - 1], dtype=torch.uint32), "u64": torch.tensor([2**63 + 2**40], dtype=torch.uint64),
    "bool": torch.tensor([True, False]), "scalar": torch.tensor(7.5), "empty": torch.zeros(0, 4),
}
save_file(tensors, out / "every.safetensors", metadata={"format": "pt"})
values = {k: {"shape": list(t.shape), "bits": t.to(torch.float32).reshape(-1).numpy().view(np.uint32).tolist()} for k, t in tensors.items()}
(out / "every.json").write_text(json.dumps(values, sort_keys=True) + "\n")

# A model in shards, as transformers writes it.
folder = out / "sharded"
shutil.rmtree(folder, ignore_errors=True)
torch.manual_seed(2)
model = LlamaForCausalLM(LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
                                     num_key_value_heads=1, head_dim=8, max_position_embeddings=64, tie_word_embeddings=False))
model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="3KB")
(folder / "generation_config.json").unlink(missing_ok=True)
sums = {k: digest(v) for k, v in model.state_dict().items()}
(folder / "digests.json").write_text(json.dumps(sums, indent=1, sort_keys=True) + "\n")
