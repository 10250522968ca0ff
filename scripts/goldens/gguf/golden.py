"""Golden files for weights/gguf: quantized blocks widened by the gguf package, and tiny models of every family.

usage: golden.py OUT_FOLDER

quants.json.gz holds random blocks of each type and their values. FAMILY.gguf is a random model of Hugging Face transformers,
written with the gguf package and its name maps the way llama.cpp's converter does; FAMILY.json is its config.json and the
digest of each of its tensors.
"""

import base64
import gzip
import hashlib
import json
import math
import pathlib
import sys

import gguf
import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "tokenizer"))
import hostile  # noqa: E402

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
Q = gguf.GGMLQuantizationType
LAYERS = {"gemma3_text": 7, "smollm3": 4}


def quants():
    rng, kinds = np.random.default_rng(1), {}
    scales = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
    for name, places in scales.items():
        values, size = gguf.GGML_QUANT_SIZES[Q[name]]
        blocks = rng.integers(0, 256, (12 if values > 32 else 48, size), dtype=np.uint8)
        for at in places:
            scale = rng.normal(0, 0.1, len(blocks)).astype(np.float16)
            scale[:3] = [0, -1, 6e-8]  # nothing, a round number, a subnormal
            blocks[:, at:at + 2] = scale.view(np.uint8).reshape(-1, 2)
        widened = gguf.quants.dequantize(blocks, Q[name]).astype(np.float32)
        kinds[name] = {"blocks": base64.b64encode(blocks.tobytes()).decode(), "values": base64.b64encode(widened.tobytes()).decode()}
    with gzip.GzipFile(out / "quants.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(kinds, sort_keys=True).encode())


def byte_tokens(size=300):
    """A byte-level BPE: tokens, types, merges."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    t.train_from_iterator(hostile.strings(), trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    model = json.loads(t.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return tokens, [3 if x in special else 1 for x in tokens], [" ".join(m) for m in model["merges"]]


def piece_tokens(user="  ", size=420):
    """A SentencePiece BPE with byte fallback: tokens, types, scores; merged pieces score minus their rank."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator([s for s in hostile.strings() if s.isascii() and "<" not in s], trainers.BpeTrainer(
        vocab_size=size - 262, limit_alphabet=1000, show_progress=False))
    model = json.loads(t.to_str())["model"]
    merged = [m for m in map("".join, model["merges"]) if m != user]
    letters = sorted(set(model["vocab"]) - set(merged) - {user})
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + ["<|end|>", "<|endoftext|>", user] + merged + letters
    types = [2, 3, 3] + [6] * 256 + [3, 3, 4] + [1] * (len(merged) + len(letters))
    scores = [0.0] * 262 + [-float(i) for i in range(len(merged) + len(letters))]
    assert len(set(tokens)) == len(tokens)
    return tokens, types, scores


def common(kind, size, **more):
    return {"vocab_size": size, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": LAYERS.get(kind, 2),
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
            "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "tie_word_embeddings": True} | more


def rope(kind="default", **more):
    return {"rope_type": kind, "rope_theta": 10000.0} | more


def families():
    t = transformers
    n, p = len(byte_tokens()[0]), len(piece_tokens()[0])
    longrope = rope("longrope", short_factor=[1.0, 1.5], long_factor=[2.0, 3.5], original_max_position_embeddings=256)
    return {
        "llama": (t.LlamaConfig(**common("llama", n, head_dim=8, attention_bias=True)), "llama-bpe"),
        "llama3": (t.LlamaConfig(**common("llama", n, head_dim=8, tie_word_embeddings=False, rope_parameters=rope(
            "llama3", rope_theta=500000.0, factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192))), "llama-bpe"),
        "qwen2": (t.Qwen2Config(**common("qwen2", n, use_sliding_window=False)), "qwen2"),
        "qwen3": (t.Qwen3Config(**common("qwen3", n, head_dim=16)), "qwen2"),
        "smollm3": (t.SmolLM3Config(**common("smollm3", n)), "smaug-bpe"),
        "olmo2": (t.Olmo2Config(**common("olmo2", n, tie_word_embeddings=False)), "dbrx"),
        "phi3": (t.Phi3Config(**common("phi3", len(piece_tokens("ab")[0]), num_attention_heads=8, num_key_value_heads=4, tie_word_embeddings=False,
                                       original_max_position_embeddings=256, max_position_embeddings=512, rope_parameters=longrope)), None),
        "granite": (t.GraniteConfig(**common("granite", n, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.25,
                                             logits_scaling=2.0)), "refact"),
        "gemma": (t.GemmaConfig(**common("gemma", p, head_dim=16)), None),
        "gemma2": (t.Gemma2Config(**common("gemma2", p, head_dim=16, query_pre_attn_scalar=16, sliding_window=8)), None),
        "gemma3_text": (t.Gemma3TextConfig(**common("gemma3_text", p, head_dim=16, query_pre_attn_scalar=16, sliding_window=8)), None),
    }


def paired(rows, heads):
    """llama.cpp's order of the rows of queries and keys: the two that rotate together are neighbours."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def llama3_factors(config):
    r, d = config.rope_parameters, config.head_dim
    freqs = 1.0 / (r["rope_theta"] ** (torch.arange(0, d, 2, dtype=torch.float32) / d))
    low, high = r["original_max_position_embeddings"] / r["low_freq_factor"], r["original_max_position_embeddings"] / r["high_freq_factor"]
    factors = []
    for f in freqs:
        wave = 2 * np.pi / f
        if wave < high:
            factors.append(1)
        elif wave > low:
            factors.append(r["factor"])
        else:
            smooth = (r["original_max_position_embeddings"] / wave - r["low_freq_factor"]) / (r["high_freq_factor"] - r["low_freq_factor"])
            factors.append(1 / ((1 - smooth) / r["factor"] + smooth))
    return np.array(factors, dtype=np.float32)


def digest(t):
    return hashlib.sha256(t.float().contiguous().numpy().tobytes()).hexdigest()


def metadata(w, c, kind):
    w.add_block_count(c.num_hidden_layers)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_head_count_kv(c.num_key_value_heads)
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    w.add_vocab_size(c.vocab_size)
    theta = c.rope_parameters["full_attention"]["rope_theta"] if kind == "gemma3_text" else c.rope_parameters["rope_theta"]
    w.add_rope_freq_base(theta)
    if getattr(c, "head_dim", None) and kind != "olmo2":
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
    if kind == "granite":
        w.add_attention_scale(c.attention_multiplier)
        w.add_embedding_scale(c.embedding_multiplier)
        w.add_residual_scale(c.residual_multiplier)
        w.add_logit_scale(c.logits_scaling)
    if kind in ("gemma2", "gemma3_text"):
        w.add_sliding_window(c.sliding_window)
    if kind == "gemma2":
        w.add_attn_logit_softcapping(c.attn_logit_softcapping)
        w.add_final_logit_softcapping(c.final_logit_softcapping)
    if kind == "phi3":
        w.add_rope_dimension_count(c.hidden_size // c.num_attention_heads)
        original = c.original_max_position_embeddings
        w.add_rope_scaling_orig_ctx_len(original)
        w.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(c.max_position_embeddings / original) / math.log(original)))
        for name, key in (("long", "LONG"), ("short", "SHORT")):
            w.add_tensor(f"rope_factors_{name}.weight", np.array(c.rope_parameters[f"{name}_factor"], dtype=np.float32))


def tokens(w, pre, user):
    if pre:
        text, types, merges = byte_tokens()
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(pre)
        w.add_token_merges(merges)
    else:
        text, types, scores = piece_tokens(user)
        w.add_tokenizer_model("llama")
        w.add_tokenizer_pre("default")
        w.add_token_scores(scores)
        w.add_unk_token_id(0)
    w.add_token_list(text)
    w.add_token_types(types)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_pad_token_id(0)
    w.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")


def model(kind, config, pre):
    torch.manual_seed(len(kind) + 7)
    m = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, t in m.named_parameters():
            t.copy_((t + torch.randn(t.shape) * (0.05 if "norm" in name else 0.15)).half().float())
            if "norm" in name:  # so that 1 + weight is exact, and no zero negative
                t.copy_((t * 1024).round() / 1024 + 0.0)
    arch = {"gemma3_text": "gemma3", "llama3": "llama"}.get(kind, kind)
    w = gguf.GGUFWriter(out / f"{kind}.gguf", arch)
    w.add_name(f"tiny {kind}")
    metadata(w, config, kind)
    tokens(w, pre, "ab" if kind == "phi3" else "  ")
    if arch.startswith("gemma"):
        w.add_add_space_prefix(False)
    if kind == "llama3":
        w.add_tensor("rope_freqs.weight", llama3_factors(config))
    names = gguf.get_tensor_name_map({v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[arch], config.num_hidden_layers)
    digests = {}
    for name, t in m.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        digests[name] = digest(t)
        a = t.float().numpy()
        if arch in ("llama", "smollm3", "granite"):
            if ".q_proj." in name:
                a = paired(a, config.num_attention_heads)
            if ".k_proj." in name:
                a = paired(a, config.num_key_value_heads)
        if arch.startswith("gemma") and name.endswith("norm.weight"):
            a = a + 1
        w.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), a if a.ndim == 1 else a.astype(np.float16))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    (out / f"{kind}.json").write_text(json.dumps({"config": json.loads(config.to_json_string()) | {"architectures": [type(m).__name__]},
                                                  "tensors": digests}, indent=1, sort_keys=True) + "\n")
    folder = pathlib.Path(sys.argv[2]) / kind if len(sys.argv) > 2 else None
    if folder:
        m.save_pretrained(folder)


quants()
for kind, (config, pre) in families().items():
    model(kind, config, pre)
