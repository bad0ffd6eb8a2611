# SPDX-License-Identifier: Apache-2.0
"""llama_server.py FOLDER chat|embed -- a server of llama.cpp with a small model of random weights; prints its address."""
import pathlib
import sys
import time

import gguf
import numpy as np
import xllamacpp

WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 4096
TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def letters():
    """The 256 bytes as byte-level BPE writes them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(b) if b in plain else chr(256 + sum(1 for c in range(b) if c not in plain)) for b in range(256)]


def write_model(path):
    w = gguf.GGUFWriter(path, "llama")
    w.add_context_length(CONTEXT)
    w.add_embedding_length(WIDTH)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(INNER)
    w.add_head_count(HEADS)
    w.add_head_count_kv(HEADS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(WIDTH // HEADS)
    merges = ["t h", "h e", "i n", "e r", "a n", "r e", "o n", "a t", "e n", "n d"]
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens = letters() + [m.replace(" ", "") for m in merges] + special
    w.add_vocab_size(len(tokens))
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types([gguf.TokenType.NORMAL] * (len(tokens) - 3) + [gguf.TokenType.CONTROL] * 3)
    w.add_token_merges(merges)
    w.add_bos_token_id(len(tokens) - 3)
    w.add_eos_token_id(len(tokens) - 1)
    w.add_add_bos_token(False)
    w.add_chat_template(TEMPLATE)
    rng = np.random.default_rng(7)

    def tensor(name, *shape):
        w.add_tensor(name, (np.ones(shape) if len(shape) == 1 else rng.normal(0, 0.3, shape)).astype(np.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    tensor("output_norm.weight", WIDTH)
    tensor("output.weight", len(tokens), WIDTH)
    for i in range(LAYERS):
        for name, shape in (("attn_norm", (WIDTH,)), ("attn_q", (WIDTH, WIDTH)), ("attn_k", (WIDTH, WIDTH)), ("attn_v", (WIDTH, WIDTH)),
                            ("attn_output", (WIDTH, WIDTH)), ("ffn_norm", (WIDTH,)), ("ffn_gate", (INNER, WIDTH)), ("ffn_up", (INNER, WIDTH)),
                            ("ffn_down", (WIDTH, INNER))):
            tensor("blk.%d.%s.weight" % (i, name), *shape)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    path = pathlib.Path(sys.argv[1]) / "model.gguf"
    write_model(path)
    p = xllamacpp.CommonParams()
    p.model.path = str(path)
    p.n_ctx, p.n_parallel, p.port, p.warmup, p.verbosity = CONTEXT, 1, 0, False, -1
    p.use_jinja = True
    p.cpuparams.n_threads = 1
    if sys.argv[2] == "embed":
        p.embedding, p.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    time.sleep(600)


main()
