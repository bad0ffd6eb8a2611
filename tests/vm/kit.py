# SPDX-License-Identifier: Apache-2.0
"""kit.py -- the helpers of the tests of the interpreter."""
import os

# of the models D1, D2, D3 of a program, in ms
DELAYS = [(0, 0, 0), (30, 1, 10), (1, 20, 0)]


def models_env(base, **more):
    """The environment of a run whose models are at this address."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "PDL_"))}
    python = {"PDL_PYTHON": os.environ["PDL_PYTHON"]} if "PDL_PYTHON" in os.environ else {}
    return {**env, **python, "OPENAI_API_BASE": base + "/v1", "OPENAI_BASE_URL": base + "/v1", "OPENAI_API_KEY": "sk-test", **more}
