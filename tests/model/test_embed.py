# SPDX-License-Identifier: Apache-2.0
"""Embeddings: batches, their order, the vectors that are kept for the run, forms of the answer, failures. Run by model_driver."""
import base64
import json
import struct
import subprocess

from .wire import KEY, Wire, error_of, head, run


class Vectors(Wire):
    """Answers each request with a vector [number of the text] for each of its texts, last first."""

    def __init__(self, usage=True, **kw):
        super().__init__([], **kw)
        self.usage = usage

    def answer(self, body):
        data = [{"index": i, "embedding": [float(t)]} for i, t in enumerate(body["input"])][::-1]
        reply = {"data": data, "model": "m-1"}
        if self.usage:
            reply["usage"] = {"prompt_tokens": len(data), "total_tokens": len(data)}
        return [head("application/json"), json.dumps(reply).encode()]


def embed(wire, *inputs, model="openai/m", **parameters):
    base = wire.url if model.startswith(("ollama", "gemini", "bedrock")) else wire.url + "/v1"
    parameters = {"api_base": base, "api_key": KEY, "max_retries": 0, **parameters}
    lines = run({"calls": [{"model": model, "input": list(i), "parameters": parameters} for i in inputs]})
    wire.close()
    return lines


def test_batches_keep_the_order():
    texts = [str(i) for i in range(250)]
    wire = Vectors()
    reply = embed(wire, texts)[-1]["reply"]
    assert reply["embeddings"] == [[float(i)] for i in range(250)]
    assert reply["usage"] == {"prompt_tokens": 250, "total_tokens": 250} and reply["model"] == "m-1"
    assert sorted(len(b["input"]) for _, b in wire.requests) == [50, 100, 100]


def test_small_batches():
    wire = Vectors()
    reply = embed(wire, [str(i) for i in range(25)], model="dashscope/m")[-1]["reply"]
    assert len(reply["embeddings"]) == 25 and max(len(b["input"]) for _, b in wire.requests) == 10


def test_a_text_is_asked_for_once():
    wire = Vectors()
    reply = embed(wire, ["1", "2", "1", "1"])[-1]["reply"]
    assert reply["embeddings"] == [[1], [2], [1], [1]] and wire.requests[0][1]["input"] == ["1", "2"]
    assert embed(Vectors(), [])[-1]["reply"] == {"embeddings": [], "usage": {"prompt_tokens": 0, "total_tokens": 0}, "model": "openai/m"}


def test_no_usage_is_none():
    assert embed(Vectors(usage=False), ["1"])[-1]["reply"]["usage"] is None


def test_base64_vectors():
    text = base64.b64encode(struct.pack("<3f", 0.5, -2, 1e10)).decode()
    wire = Wire([head("application/json"), json.dumps({"data": [{"index": 0, "embedding": text}]}).encode()])
    assert embed(wire, ["a"])[-1]["reply"]["embeddings"] == [[0.5, -2.0, 1e10]]


def test_answers_that_do_not_fit():
    for body in ({"data": []}, {"data": [{"index": 0, "embedding": [1]}]}, {"data": [{"index": 0, "embedding": [1]}] * 2},
                 {"data": [{"index": 0, "embedding": [1]}, {"index": 7, "embedding": [1]}]}, {"data": "x"}, [], {"data": [{"embedding": ["a"]}] * 2},
                 {"data": [{"embedding": "??"}] * 2}, {"data": [{"embedding": []}] * 2}):
        error_of(embed(Wire([head("application/json"), json.dumps(body).encode()]), ["a", "b"])[-1], "protocol", 200, "vector")


def test_one_batch_fails():
    bad = [head("application/json", "401 No"), b'{"error": {"message": "key %s is wrong"}}' % KEY.encode()]
    wire = Wire(bad)
    e = error_of(embed(wire, [str(i) for i in range(300)])[-1], "auth", 401, "Error during 'openai/m' model call: auth: openai - key [REDACTED] is wrong")
    assert json.loads(e["detail"])["provider"] == "openai"
    assert len(wire.requests) == 1, "the first batch goes alone"


def test_retried():
    busy = [head("application/json", "503 Busy", "retry-after-ms: 20\r\n"), b"{}"]
    ok = [head("application/json"), json.dumps({"data": [{"embedding": [1]}]}).encode()]
    wire = Wire(busy, ok)
    assert embed(wire, ["a"], max_retries=1)[-1]["reply"]["embeddings"] == [[1]] and len(wire.requests) == 2


def test_other_forms():
    wire = Wire([head("application/json"), b'{"embeddings": [[1], [2]], "prompt_eval_count": 3, "model": "m"}'])
    assert embed(wire, ["a", "b"], model="ollama/m", num_ctx=5, truncate=False)[-1]["reply"]["usage"]["total_tokens"] == 3
    assert wire.requests[0][1] == {"model": "m", "input": ["a", "b"], "options": {"num_ctx": 5}, "truncate": False}
    assert wire.requests[0][0].startswith("POST /api/embed ")
    wire = Wire([head("application/json"), b'{"results": [{"embedding": [1]}], "input_token_count": 3}'])
    embed(wire, ["a"], model="watsonx/m", token="t", project_id="p", truncate_input_tokens=4)
    assert wire.requests[0][1] == {"inputs": ["a"], "model_id": "m", "project_id": "p", "parameters": {"truncate_input_tokens": 4}}
    assert "POST /v1/ml/v1/text/embeddings?version=2024-03-13 " in wire.requests[0][0]
    wire = Wire([head("application/json"), b'{"embedding": [1], "inputTextTokenCount": 2}'])
    embed(wire, ["a", "b"], model="bedrock/amazon.titan-embed-text-v2:0", dimensions=256)
    asked = sorted((b for _, b in wire.requests), key=lambda b: b["inputText"])  # the two are on their way at the same time
    assert asked == [{"inputText": t, "dimensions": 256} for t in "ab"]
    assert "/model/amazon.titan-embed-text-v2%3A0/invoke " in wire.requests[0][0]


def test_no_embeddings_there():
    error_of(embed(Wire([]), ["a"], model="anthropic/m")[-1], "bad_request", None, "cannot be embedded")
    error_of(embed(Wire([]), ["a"], model="nobody/m", api_base=None)[-1], "unknown_provider", None)


def test_vertex():
    def answer(*values):
        one = [{"embeddings": {"values": v, "statistics": {"token_count": 2}}} for v in values]
        return [head("application/json"), json.dumps({"predictions": one}).encode()]
    place = {"vertex_project": "p", "vertex_location": "l"}
    wire = Wire(answer([1.0], [2.0]))
    lines = run({"calls": [{"model": "vertex_ai/text-embedding-005", "input": ["a", "b"], "parameters": {
        "api_base": wire.url, "api_key": KEY, "dimensions": 1, "task_type": "RETRIEVAL_QUERY", **place}}]})
    wire.close()
    assert lines[-1]["reply"] == {"embeddings": [[1.0], [2.0]], "usage": {"prompt_tokens": 4, "total_tokens": 4}, "model": "text-embedding-005"}, lines
    sent, body = wire.requests[0]
    assert sent.startswith("POST /v1/projects/p/locations/l/publishers/google/models/text-embedding-005:predict ") and "Bearer " + KEY in sent, sent
    assert body == {"instances": [{"content": t, "task_type": "RETRIEVAL_QUERY"} for t in "ab"], "parameters": {"outputDimensionality": 1}}, body
    wire = Wire(answer([1.0]))
    lines = run({"calls": [{"model": "vertex_ai/gemini-embedding-001", "input": ["a", "b"], "parameters": {"api_base": wire.url + "/v1", "api_key": KEY, **place}}]})
    wire.close()
    assert [len(b["instances"]) for _, b in wire.requests] == [1, 1] and lines[-1]["reply"]["embeddings"] == [[1.0], [1.0]], lines
    assert wire.requests[0][0].startswith("POST /v1/projects/"), wire.requests[0][0]
    wire = Wire([head("application/json"), b'{"predictions": [{"embeddings": {}}]}'])
    lines = run({"calls": [{"model": "vertex_ai/m", "input": ["a"], "parameters": {"api_base": wire.url, "api_key": KEY, "max_retries": 0, **place}}]})
    wire.close()
    error_of(lines[-1], "protocol", 200)


ORDERS = [([0, 1], True), ([1, 0], True), (["1", "0"], True), ([1.0, 0.0], True), ([None, None], True), ([0, 0], False), ([0, 2], False), ([-1, 0], False), (["x", 0], False),
          ([0.5, 1], False), ([True, 0], False)]
VECTORS = [([1.0], [2.0], True), ([1.0], [2.0, 3.0], False), ([1.0], [], False), ([float("inf")], [1.0], False), ([float("nan")], [1.0], False),
           (base64.b64encode(struct.pack("<f", float("inf"))).decode(), [1.0], False), ("AACAPw==", "AAAAQA==", True)]


def test_indexes_and_vectors():
    """Each text gets its own vector, whatever form the index has; vectors of two lengths and numbers that are none are refused."""
    class Given(Wire):
        def __init__(self, data):
            super().__init__([])
            self.data = data

        def answer(self, body):
            return [head("application/json"), json.dumps({"data": self.data}).encode()]
    for indexes, good in ORDERS:
        end = embed(Given([{"embedding": [10.0 + k], **({} if i is None else {"index": i})} for k, i in enumerate(indexes)]), ["a", "b"])[-1]
        if not good:
            error_of(end, "protocol", 200, "a vector of numbers for each of 2 texts")
            continue
        places = [int(float(i)) if i is not None else k for k, i in enumerate(indexes)]
        assert end["reply"]["embeddings"] == [[10.0 + places.index(k)] for k in (0, 1)], (indexes, end)
    for a, b, good in VECTORS:
        end = embed(Given([{"index": 0, "embedding": a}, {"index": 1, "embedding": b}]), ["a", "b"])[-1]
        assert ("reply" in end) == good, (a, b, end)


def test_vectors_of_llama_cpp():
    """Its own form, which it has at an address without /v1: a list, with a list of vectors for each text."""
    for said, good in (([{"index": 1, "embedding": [[2.0]]}, {"index": 0, "embedding": [[1.0]]}], True), ([{"index": 0, "embedding": [[1.0], [3.0]]}, {"index": 1, "embedding": [[2.0]]}], False)):
        end = embed(Wire([head("application/json"), json.dumps(said).encode()]), ["a", "b"])[-1]
        if good:
            assert end["reply"]["embeddings"] == [[1.0], [2.0]], end
        else:
            error_of(end, "protocol", 200)


def test_a_failure_names_the_line_of_the_program(pdl, folder):
    """The vectors are awaited after the function of the library has returned."""
    (folder / "p.pdl").write_text("text:\n- def: e\n  call: ${ stdlib.embed }\n  args: {model: openai/e, input: [a], parameters: {api_base: 'http://127.0.0.1:9', api_key: k, max_retries: 0}}\n"
                                  "  contribute: []\n- ${ e.embeddings }\n", "utf-8")
    done = subprocess.run([pdl, "p.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stderr.startswith("p.pdl:2 - Error during 'openai/e' model call: connection") and "stdlib:" not in done.stderr, done.stderr
