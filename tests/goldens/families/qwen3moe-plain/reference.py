"""Qwen3 MoE in float64, written down from its formulas: python3 reference.py MODEL [OUT].

MODEL is a folder with config.json, model.safetensors and golden-70.safetensors of transformers. Says how far its logits
are from those, as a check of this file; with OUT, writes the golden of the same model with norm_topk_prob false.
"""
import array, json, math, struct, sys

TOKENS = 24  # of the golden's prompt: no operation here depends on how many there are


def load(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    out = {}
    for name, t in head.items():
        if name == "__metadata__":
            continue
        raw = data[slice(*t["data_offsets"])]
        if t["dtype"] == "BF16":
            words = array.array("H", raw)
            flat = array.array("f", array.array("I", (w << 16 for w in words)).tobytes())
        else:
            flat = array.array({"F32": "f", "I32": "i"}[t["dtype"]], raw)
        out[name] = (list(flat), t["shape"])
    return out


def matrix(w, name, expert=None):
    flat, shape = w[name]
    rows, cols = shape[-2:]
    at = 0 if expert is None else expert * rows * cols
    return [flat[at + r * cols : at + (r + 1) * cols] for r in range(rows)]


def times(m, x):
    return [math.fsum(a * b for a, b in zip(row, x)) for row in m]


def norm(x, by, eps):
    scale = 1 / math.sqrt(math.fsum(v * v for v in x) / len(x) + eps)
    return [v * scale * b for v, b in zip(x, by)]


def rotated(x, position, theta):
    half = len(x) // 2
    out = list(x)
    for i in range(half):
        angle = position * theta ** (-2 * i / len(x))
        c, s = math.cos(angle), math.sin(angle)
        out[i], out[i + half] = x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s
    return out


def softmax(x):
    e = [math.exp(v - max(x)) for v in x]
    return [v / math.fsum(e) for v in e]


def mixture(c, n, router, experts, normed):
    p = softmax(times(router, n))
    chosen = sorted(range(len(p)), key=lambda e: -p[e])[: c["num_experts_per_tok"]]
    by = math.fsum(p[e] for e in chosen) if normed else 1
    out = [0] * len(n)
    for e in chosen:
        gate, up, down = experts(e)
        inner = [g / (1 + math.exp(-g)) * u for g, u in zip(times(gate, n), times(up, n))]
        out = [o + p[e] / by * d for o, d in zip(out, times(down, inner))]
    return out


def logits(c, w, ids, normed):
    eps, dim, heads, kv = c["rms_norm_eps"], c["head_dim"], c["num_attention_heads"], c["num_key_value_heads"]
    theta, embed = c["rope_parameters"]["rope_theta"], matrix(w, "model.embed_tokens.weight")
    x = [embed[i] for i in ids]
    for layer in range(c["num_hidden_layers"]):
        at = "model.layers.%d." % layer
        m = {k: matrix(w, at + "self_attn.%s_proj.weight" % k) for k in "qkvo"}
        vector = lambda name: w[at + name + ".weight"][0]
        keys, values = [], []
        for p in range(len(x)):
            n = norm(x[p], vector("input_layernorm"), eps)
            parts = {k: [y[h * dim : (h + 1) * dim] for h in range(len(y) // dim)]
                     for k, y in ((k, times(m[k], n)) for k in "qkv")}
            q = [rotated(norm(h, vector("self_attn.q_norm"), eps), p, theta) for h in parts["q"]]
            keys.append([rotated(norm(h, vector("self_attn.k_norm"), eps), p, theta) for h in parts["k"]])
            values.append(parts["v"])
            seen = []
            for h in range(heads):
                g = h * kv // heads
                s = softmax([math.fsum(a * b for a, b in zip(q[h], k[g])) / math.sqrt(dim) for k in keys])
                seen += [math.fsum(a * v[g][i] for a, v in zip(s, values)) for i in range(dim)]
            x[p] = [a + b for a, b in zip(x[p], times(m["o"], seen))]
        router = matrix(w, at + "mlp.gate.weight")
        if at + "mlp.experts.gate_up_proj" in w:
            both = [matrix(w, at + "mlp.experts.gate_up_proj", e) for e in range(len(router))]
            down = [matrix(w, at + "mlp.experts.down_proj", e) for e in range(len(router))]
            experts = lambda e: (both[e][: len(both[e]) // 2], both[e][len(both[e]) // 2 :], down[e])
        else:
            experts = lambda e: [matrix(w, at + "mlp.experts.%d.%s_proj.weight" % (e, k)) for k in ("gate", "up", "down")]
        for p in range(len(x)):
            n = norm(x[p], vector("post_attention_layernorm"), eps)
            x[p] = [a + b for a, b in zip(x[p], mixture(c, n, router, experts, normed))]
    head = matrix(w, "lm_head.weight")
    return [times(head, norm(row, w["model.norm.weight"][0], eps)) for row in x]


def main():
    folder = sys.argv[1]
    c, w = json.load(open(folder + "/config.json")), load(folder + "/model.safetensors")
    golden = load(folder + "/golden-70.safetensors")
    ids, vocab = golden["prompt_ids"][0][:TOKENS], c["vocab_size"]
    expected = golden["logits"][0]
    flat = [v for row in logits(c, w, ids, True) for v in row]
    print("largest difference from transformers: %.2g" % max(abs(a - b) for a, b in zip(flat, expected)))
    if len(sys.argv) < 3:
        return
    plain = array.array("f", (v for row in logits(c, w, ids, False) for v in row))
    print("largest difference from shares divided by their sum: %.2g" % max(abs(a - b) for a, b in zip(plain, flat)))
    head = json.dumps({"prompt_ids": {"dtype": "I32", "shape": [TOKENS], "data_offsets": [0, 4 * TOKENS]},
                       "logits": {"dtype": "F32", "shape": [TOKENS, vocab],
                                  "data_offsets": [4 * TOKENS, 4 * TOKENS * (1 + vocab)]}}).encode()
    head += b" " * (-len(head) % 8)
    with open(sys.argv[2], "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + array.array("i", ids).tobytes() + plain.tobytes())


main()
