# SPDX-License-Identifier: Apache-2.0
"""A script: runs a program of PDL and prints what the model says as it comes.

    python3 script.py             from the recording ../ten.journal: no network, no key
    python3 script.py --live      asks the model
"""
import pathlib
import sys

import libpdl

HERE = pathlib.Path(__file__).resolve().parent.parent


def main() -> int:
    replay = None if "--live" in sys.argv[1:] else HERE / "ten.journal"
    engine = libpdl.Engine(replay=replay)
    try:
        with engine.load(HERE / "ten.pdl").stream() as pieces:
            for piece in pieces:
                print(piece, end="", flush=True)
        result = pieces.result()
    except libpdl.Error as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print()
    print("%d model calls, %d tokens" % (result.usage["model_calls"], result.usage["prompt_tokens"] + result.usage["completion_tokens"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
