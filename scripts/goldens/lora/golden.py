"""Golden files for adapters: a tiny Llama with LoRA by Hugging Face PEFT, in float64 with autograd.

usage: golden.py write|read OUT_FOLDER

write makes base/ (the model), theirs/ (an adapter) and theirs.json: the log-prob of every scored token with the adapter,
and the gradient of their weighted sum by each factor. read loads ours/, which the Go side wrote, into PEFT and makes
ours.json in the same way.
"""

import json
import pathlib
import shutil
import sys

import peft
import torch
import transformers

TOKENS = [3, 17, 5, 5, 22, 0, 9, 14, 2, 11, 19, 7, 1, 23, 8]
WEIGHTS = [((7 * i) % 5 - 2) / 2 + 0.3 for i in range(len(TOKENS) - 1)]


def fill(parameters, seed, scale):
    generator = torch.Generator().manual_seed(seed)
    for p in parameters:
        base = 1.0 if p.ndim == 1 else 0.0
        p.data = base + torch.randn(p.shape, generator=generator) * scale


def base():
    config = transformers.LlamaConfig(
        vocab_size=24, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=4, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0}, bos_token_id=None, eos_token_id=1, pad_token_id=None)
    model = transformers.LlamaForCausalLM(config)
    fill(model.parameters(), 1, 0.3)
    return model


def logp(model):
    rows = torch.log_softmax(model(input_ids=torch.tensor([TOKENS])).logits[0, :-1], dim=-1)
    return rows[range(len(TOKENS) - 1), TOKENS[1:]]


def answers(model, folder):
    model = peft.PeftModel.from_pretrained(model, folder, is_trainable=True).double().eval()
    out = logp(model)
    (out * torch.tensor(WEIGHTS, dtype=torch.float64)).sum().backward()
    with model.disable_adapter():
        without = logp(model)
    flat = lambda t: [float(f"{x:.9g}") for x in t.detach().reshape(-1).tolist()]
    prefix, infix = "base_model.model.", ".default.weight"
    gradients = {n.removeprefix(prefix).replace(infix, ".weight"): flat(p.grad) for n, p in model.named_parameters() if p.requires_grad}
    return {"tokens": TOKENS, "weights": WEIGHTS, "without": flat(without), "logp": flat(out), "gradients": gradients}


def write(out):
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    model = base()
    model.save_pretrained(out / "base")
    adapted = peft.get_peft_model(model, peft.LoraConfig(
        r=3, lora_alpha=10, lora_dropout=0.05, target_modules=["q_proj", "k_proj", "o_proj", "gate_proj", "down_proj"], task_type="CAUSAL_LM"))
    fill([p for p in adapted.parameters() if p.requires_grad], 2, 0.2)
    adapted.save_pretrained(out / "theirs")
    (out / "theirs" / "README.md").unlink()
    (out / "theirs.json").write_text(json.dumps(answers(base(), out / "theirs")) + "\n")


def read(out):
    (out / "ours.json").write_text(json.dumps(answers(base(), out / "ours")) + "\n")


torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
{"write": write, "read": read}[sys.argv[1]](pathlib.Path(sys.argv[2]))
