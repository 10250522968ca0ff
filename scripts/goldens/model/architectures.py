"""Golden folders for engine/local: a tiny random model of every architecture that can be run, as transformers saves it.

usage: architectures.py OUT_FOLDER             writes OUT_FOLDER/NAME/{config.json, model.safetensors, golden.json, gradients.safetensors}
       architectures.py OUT_FOLDER EXPORTED    compares the models exported to EXPORTED/NAME with those in OUT_FOLDER

golden.json holds sequences of ids, the logits [positions, vocabulary] that transformers computes in float32, and the weights of
a sum of log-probs; gradients.safetensors holds that sum's gradient by every parameter, computed in float64.
"""

import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers

NUMBERS = dict(vocab_size=24, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
               max_position_embeddings=64, bos_token_id=None, eos_token_id=1, pad_token_id=None)
HEADS = dict(num_attention_heads=4, num_key_value_heads=2, head_dim=8)


def rope(kind="default", theta=10000.0, **more):
    return {"rope_type": kind, "rope_theta": theta, **more}


LONGROPE = dict(short_factor=[1.0, 1.1, 1.2], long_factor=[1.0, 2.0, 5.0])

CASES = {
    "llama3": ("Llama", dict(rope_parameters=rope("llama3", 500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                  original_max_position_embeddings=16), **HEADS)),
    "llama-biases": ("Llama", dict(attention_bias=True, mlp_bias=True, rope_parameters=rope("linear", factor=4.0), num_key_value_heads=2)),
    "llama-dynamic": ("Llama", dict(rope_parameters=rope("dynamic", factor=4.0), tie_word_embeddings=True)),
    "mistral": ("Mistral", dict(sliding_window=6, **HEADS)),
    "ministral": ("Ministral", dict(sliding_window=6, layer_types=["full_attention", "sliding_attention"], head_dim=8)),
    "qwen2": ("Qwen2", dict(use_sliding_window=True, sliding_window=5, max_window_layers=1, tie_word_embeddings=True)),
    "qwen2-yarn": ("Qwen2", dict(rope_parameters=rope("yarn", 100.0, factor=4.0, original_max_position_embeddings=16))),
    "qwen3": ("Qwen3", dict(**HEADS, attention_bias=True)),
    "smollm3": ("SmolLM3", dict(no_rope_layer_interval=2, rope_parameters=rope(theta=5e6))),
    "phi3": ("Phi3", dict(rope_parameters=rope("longrope", partial_rotary_factor=0.75, **LONGROPE), sliding_window=7,
                          original_max_position_embeddings=64)),
    "phi3-longer": ("Phi3", dict(rope_parameters=rope("longrope", partial_rotary_factor=0.75, **LONGROPE),
                               original_max_position_embeddings=32)),
    "gemma": ("Gemma", HEADS),
    "gemma2": ("Gemma2", dict(**HEADS, sliding_window=4, query_pre_attn_scalar=16, attn_logit_softcapping=3.0,
                              final_logit_softcapping=4.0)),
    "gemma3": ("Gemma3", dict(**HEADS, sliding_window=4, layer_types=["sliding_attention", "full_attention"],
                              query_pre_attn_scalar=20, rope_parameters={"full_attention": rope("linear", 1e6, factor=8.0),
                                                                         "sliding_attention": rope()})),
    "olmo2": ("Olmo2", dict(rope_parameters=rope(theta=500000.0))),
    "olmo3": ("Olmo3", dict(sliding_window=5, num_hidden_layers=4, rope_parameters={
        "full_attention": rope("yarn", 500000.0, factor=8.0, original_max_position_embeddings=8, attention_factor=1.2, beta_fast=32.0,
                               beta_slow=1.0),
        "sliding_attention": rope(theta=500000.0)})),
    "exaone4": ("Exaone4", dict(sliding_window=5, layer_types=["sliding_attention", "full_attention"])),
    "exaone4-full": ("Exaone4", dict(sliding_window=None, layer_types=["full_attention"] * 2, tie_word_embeddings=True,
                                     rope_parameters=rope("llama3", 1e6, factor=16.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                          original_max_position_embeddings=16))),
    "granite": ("Granite", dict(embedding_multiplier=12.0, attention_multiplier=0.2, residual_multiplier=0.22, logits_scaling=8.0,
                                attention_bias=False, tie_word_embeddings=True)),
}


def build(name, seed):
    family, fields = CASES[name]
    make_config = getattr(transformers, family + ("TextConfig" if family == "Gemma3" else "Config"))
    lm = getattr(transformers, family + "ForCausalLM")(make_config(**NUMBERS | fields))
    generator = torch.Generator().manual_seed(seed)
    for parameter in lm.parameters():
        if parameter.ndim == 1:
            parameter.data += torch.randn(parameter.shape, generator=generator) * 0.2
        else:
            parameter.data = torch.randn(parameter.shape, generator=generator) * parameter.shape[1] ** -0.5
        parameter.data = parameter.data.bfloat16().float()  # the buffers stay as they are: lm.bfloat16() would round frequencies
    return lm.eval()


def logits(lm, sequences):
    return [lm(torch.tensor([ids])).logits[0] for ids in sequences]


def gradients(lm, sequences, weights):
    total = 0
    for ids, rows, weight in zip(sequences, logits(lm, sequences), weights):
        logp = torch.log_softmax(rows[:-1], dim=-1)
        total = total + (logp[range(len(ids) - 1), ids[1:]] * torch.tensor(weight, dtype=torch.float64)).sum()
    total.backward()
    # save_pretrained leaves a tied head out, and so do the parameters.
    return {name: p.grad.float().contiguous() for name, p in lm.named_parameters()}


def write(folder, name, seed):
    lm = build(name, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    sequences = [torch.randint(24, (n,), generator=generator).tolist() for n in (23, 9)]
    weights = [torch.randn(len(ids) - 1, generator=generator).tolist() for ids in sequences]
    lm.save_pretrained(folder, state_dict={name: p.data.bfloat16() for name, p in lm.named_parameters()})
    (folder / "generation_config.json").unlink(missing_ok=True)
    with torch.no_grad():
        single = logits(lm, sequences)
    golden = {"sequences": sequences, "weights": weights, "logits": [[round(x, 7) for x in rows.flatten().tolist()] for rows in single]}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")
    lm.double()
    safetensors.torch.save_file(gradients(lm, sequences, weights), folder / "gradients.safetensors")
    with torch.no_grad():
        double = logits(lm, sequences)
    error = max((a - b).abs().max().item() for a, b in zip(single, double))
    print(f"{name:14} {sum(p.numel() for p in lm.parameters()):6} parameters, float32 against float64: {error:.1e}")


def compare(name, ours, theirs):
    golden = json.loads((ours / "golden.json").read_text())
    models = [transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval() for folder in (ours, theirs)]
    with torch.no_grad():
        a, b = (logits(lm, golden["sequences"]) for lm in models)
    equal = all(torch.equal(x, y) for x, y in zip(a, b))
    print(f"{name:14} {type(models[1]).__name__:22} {'equal logits' if equal else 'DIFFERENT LOGITS'}")
    return equal


def main():
    out = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if len(sys.argv) > 2:
        results = [compare(name, out / name, pathlib.Path(sys.argv[2]) / name) for name in CASES]
        sys.exit(0 if all(results) else 1)
    for seed, name in enumerate(CASES):
        (out / name).mkdir(parents=True, exist_ok=True)
        write(out / name, name, seed)


main()
