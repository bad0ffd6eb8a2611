#!/usr/bin/env python3
"""serve.py -- the model of the examples: answers PROGRAM's questions from replies.json, whatever the model is called.

    examples/serve.py        # prints its address; PROGRAM's base URL is ADDRESS/s/PROGRAM/v1

The server is the one of the conformance kit, so models it knows (openai/upper ...) answer as there.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "tests" / "conformance"))
import model_server  # noqa: E402


def serve():
    known = model_server.answer
    model_server.answer = lambda session, model, body: known(session, "script" if model == "gpt-4o-mini" else model, body)
    server = model_server.ModelServer()
    for name, replies in json.loads((HERE / "replies.json").read_text("utf-8")).items():
        server.sessions[name] = model_server.Session({"default": replies})
    return server


if __name__ == "__main__":
    s = serve()
    print(s.url, flush=True)
    try:
        s.serve_forever()
    except KeyboardInterrupt:
        pass
