# SPDX-License-Identifier: Apache-2.0
"""A usage that no call can have is left out of sums, budgets, costs and reports."""
import json

from .. import http_of
from ..checks import check, same
from .loopback import Place
from .peers import PEERS, Table, block, run, stream

# What is said as `usage`; tokens, and whether there is a cost, that `pdl batch --report` tells of one call.
SAID = (
    ('{"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.5}', 7, True),
    ('{"prompt_tokens": 1e400, "completion_tokens": 4}', 0, False),
    ('{"prompt_tokens": 1e308, "completion_tokens": 1e308}', 0, False),
    ('{"prompt_tokens": 3, "completion_tokens": -4}', 0, False),
    ('{"prompt_tokens": 9223372036854775807, "completion_tokens": 9223372036854775807}', 0, False),
    ('{"prompt_tokens": 3, "completion_tokens": 4, "cost": 1e400}', 7, False),
    ('{"prompt_tokens": 3, "completion_tokens": 4, "cost": -1e400}', 7, False),
    ('{"prompt_tokens": 3, "completion_tokens": 4, "cost": NaN}', 7, False),
    ('{"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1e400}}', 7, False),
    ('{"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": {"x": [1e400]}}', 7, False),
    ('[1e400]', 0, False),
    ('1e400', 0, False),
)
PROGRAM = "text: [{model: openai/m, input: hi, parameters: {stream: false}}]\n"


def strict(text):
    def refuse(word):
        raise ValueError("no JSON: " + word)
    return json.loads(text, parse_constant=refuse)


def answers(usage):
    body = '{"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}], "usage": %s}' % usage

    def answer(head, data, send):
        send(http_of.answer(body.encode(), headers=[("content-type", "application/json")]))
        return True
    return answer


def test_usage(build):
    for usage, tokens, cost in SAID:
        p = Place(build, OPENAI_API_BASE="http://127.0.0.1:%d/v1" % http_of.Plain(answers(usage)).port)
        (p.dir / "in.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
        status, _, err = p.run("batch", "p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--report", "report.json", program=PROGRAM)
        check("%s: the batch ends" % usage, status == 0, err)
        report = strict((p.dir / "report.json").read_text())
        same((report["prompt_tokens"] + report["completion_tokens"], report["cost"] is not None), (2 * tokens, cost), usage)
        status, out, err = p.run("-t", "trace.json", "--budget", "tokens=1000", "p.pdl")
        same((status, out), (0, "ok\n"), usage + err)
        strict((p.dir / "trace.json").read_text())


# Prices that are refused, and those of LiteLLM, of which one row does not matter.
PRICES = (
    ('{"*": {"input": 1e400, "output": 1}}', "'*' should be"),
    ('{"*": {"input": 1, "output": 1e300}}', "'*' should be"),
    ('{"*": {"input": -1, "output": 1}}', "'*' should be"),
    ('{"*": {"input": true, "output": 1}}', "'*' should be"),
    ('[]', "prices.json should be"),
    ('{"openai/m": {"input_cost_per_token": 1e400, "output_cost_per_token": 1}, "x": {"input_cost_per_token": null}}', "the price of model 'openai/m' is not known"),
    ('{"openai/m": {"input_cost_per_token": 0.25, "output_cost_per_token": 0.5}}', None),
)


def test_prices(build):
    p = Place(build, OPENAI_API_BASE="http://127.0.0.1:%d/v1" % http_of.Plain(answers(SAID[0][0])).port)
    for table, wrong in PRICES:
        (p.dir / "prices.json").write_text(table)
        status, out, err = p.run("--budget", "cost=100", "--prices", "prices.json", "p.pdl", program=PROGRAM)
        code = 0 if not wrong else 2 if "should be" in wrong else 1  # the option is wrong, or the run fails
        same((status, out), (code, "" if wrong else "ok\n"), table + err)
        check("%s: it says what is wrong" % table, not wrong or wrong in err, err)


OWN, INNER = {"prompt_tokens": 3, "completion_tokens": 4}, {"prompt_tokens": 5, "completion_tokens": 6}
# what the last chunk of a stream has beside its choice, and in it; what is reported
PLACES = (({"usage": OWN}, {}, OWN), ({}, {"usage": INNER}, INNER), ({"x_groq": {"id": "r", "usage": INNER}}, {}, INNER), ({"usage": OWN, "x_groq": {"usage": INNER}}, {"usage": INNER}, OWN),
          ({"usage": None}, {"usage": INNER}, INNER), ({"x_groq": {"id": "r"}}, {"usage": None}, None))


def test_places_of_usage(pdl, folder):
    """Moonshot writes it into the choice, Groq into a member of its own; what is beside the choices wins."""
    peer, table = PEERS[0], Table()
    calls = []
    for n, (beside, within, _) in enumerate(PLACES):
        said = stream(peer, peer.piece("x"), {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", **within}], **beside})
        calls += [{"def": "c%d" % n, **block(peer, table, (said, peer.kind), modelResponse="r%d" % n), "contribute": []}]
    out, _ = run(pdl, folder, {"lastOf": [*calls, {"array": ["${ r%d.usage | default(none) }" % n for n in range(len(PLACES))]}]})
    same(json.loads(out), [want for *_, want in PLACES])
