# SPDX-License-Identifier: Apache-2.0
"""Events beside the text of a run, in `pdl view`: approvals of a person, and failed attempts."""
import json
import os
import re
import subprocess

from ..checks import check
from ..harness.choice import Choice
from ..page.browse import mock

PDL = str(Choice.build / "pdl")

ASKS = """# Two questions
policy:
  policy: 1
  rules: [{sink: command, allow: [user], otherwise: approve}]
  otherwise: allow
text:
- {def: note, contribute: [], read: note.txt}
- {lang: command, args: [echo, "${ note }"], fallback: refused}
- "\\n"
- {lang: command, args: [echo, "2", "${ note }"], fallback: "refused\\n"}
"""


def pdl(folder, *args, **more):
    return subprocess.run([PDL, *args], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, **more)


def test_approvals(folder):
    """What was asked, what was answered and when; the same in a trace and in the journal, each question once."""
    (folder / "a.pdl").write_text(ASKS)
    (folder / "note.txt").write_text("some \x1b[31mwords")
    env = {**os.environ, "XDG_STATE_HOME": str(folder)}
    pdl(folder, "--durable", "--park", "--id", "asks", "a.pdl", env=env)
    pdl(folder, "answer", "asks", "y", env=env)
    pdl(folder, "resume", "--park", "asks", env=env)
    pdl(folder, "answer", "asks", "n", env=env)
    end = pdl(folder, "resume", "asks", "--trace=t.json", env=env)
    check("the run", end.returncode == 0 and "refused" in end.stdout, end.stdout, end.stderr)
    for name in "asks", "t.json":
        r = pdl(folder, "view", name, "--md", "-", env=env)
        asked = re.findall(r"\*\*May this be done\? (.*)\*\*: (.*)", r.stdout)
        check("two questions in " + name, [a for a, _ in asked] == ["command echo: yes", "command echo: no"], r.stdout, r.stderr)
        check("what was asked, and from where, in " + name, asked and '1: "some' in asked[0][1] and "(untrusted, from read note.txt (a.pdl:7))" in asked[0][1], asked)
        check("what was answered, and when, in " + name, asked and all(re.search(" → %s, 20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d UTC" % word, a) for word, (_, a) in zip(("approved", "refused"), asked)), asked)
        check("no escape sequence in " + name, "\x1b" not in r.stdout)
        text = pdl(folder, "view", name, "--text", "-", env=env)
        check("text of " + name, text.stdout == "some \x1b[31mwords\n\nrefused\n\n", text.stdout)


# A command that fails twice, and a text that its fallback replaces.
TRIES = """text:
- "Counted: "
- lang: command
  args: [sh, -c, "echo tried >> n; printf '%s' $(wc -l < n); [ $(wc -l < n) = 3 ]"]
  retry: 4
- "\\n"
- text: ["a part ", {lang: command, code: "printf made"}, " ${ 1 // 0 }"]
  fallback: "instead\\n"
"""


def blocks(value, kind):
    found = [value] if isinstance(value, dict) and value.get("kind") == kind else []
    for x in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        found += blocks(x, kind)
    return found


def test_attempts(folder):
    """Attempts are folded items that say why they failed and what they made; the text of the run is without them."""
    (folder / "a.pdl").write_text(TRIES)
    run = pdl(folder, "--trace=t.json", "a.pdl")
    text = pdl(folder, "view", "t.json", "--text", "-")
    check("text", text.stdout == run.stdout.replace("a part made", "") == "Counted: 3\ninstead\n\n", text.stdout, run.stdout, run.stderr)
    md = pdl(folder, "view", "t.json", "--source", "a.pdl", "--md", "-").stdout
    for words in ("**Attempt 1 failed and was repeated** (a.pdl, line 3): Shell Code error", "**Attempt 2 failed and was repeated**",
                  "**Failed; its fallback was used** (a.pdl, line 7): Error during the evaluation of", "not part of the document: a part made"):
        check(words, words in md, md)
    check("nothing failed", md.splitlines()[2].startswith("Finished") and "Failed**" not in md, md)
    trace = json.loads((folder / "t.json").read_text())
    kept = [len(b["pdl__abandoned"]) for kind in ("code", "text") for b in blocks(trace, kind) if "pdl__abandoned" in b]
    check("attempts in the trace", kept == [2, 1], kept)
    (folder / "n").unlink()
    pdl(folder, "--trace=w.json", "--whole", "a.pdl")
    check("none in the form of the reference", "pdl__abandoned" not in (folder / "w.json").read_text())


MODELS = """text:
- {model: openai/m, input: "price", parser: json, spec: {price: integer}, retry: 3}
- text: [{model: openai/m, input: second}, "${ 1 // 0 }"]
  fallback: "\\n"
"""


SENT = """text:
- hello
- {model: openai/m, parameters: {mock_response: five}, spec: {enum: [other]}, retry: 1, fallback: other}
"""


def test_messages_of_the_last_attempt(folder):
    """The last attempt has its own messages, not those of the fallback, whose block has the same id."""
    (folder / "a.pdl").write_text(SENT)
    run = pdl(folder, "--trace=t.json", "a.pdl", env={**os.environ, "OPENAI_API_KEY": "k"})
    md = pdl(folder, "view", "t.json", "--md", "-", "--all").stdout
    sent = [part.split("```")[1].split() for part in md.split("sent:")[1:]]
    check("messages", sent == [["text", "hello"]] * 2, sent, md, run.stderr)


def test_attempts_that_all_failed(folder):
    """The calls are those that were made, and the last attempt was not repeated."""
    for end, last in ("", "Attempt 2 failed"), (", fallback: other", "Failed; its fallback was used"):
        (folder / "a.pdl").write_text(SENT.replace(", fallback: other", end))
        run = pdl(folder, "--trace=t.json", "a.pdl", env={**os.environ, "OPENAI_API_KEY": "k"})
        md = pdl(folder, "view", "t.json", "--md", "-").stdout
        check("words: " + last, "**%s**" % last in md and "**Attempt 1 failed and was repeated**" in md, md, run.stderr)
        check("calls: " + last, " 2 model calls " in md and "- 1: five" in md and "- 2: five" in md and "3 model calls" not in md and "3: " not in md, md)


def test_attempts_without_an_answer(folder):
    (folder / "a.pdl").write_text("{model: openai/m, parameters: {mock_response: litellm.RateLimitError, num_retries: 0}, retry: 1, fallback: other}\n")
    pdl(folder, "--trace=t.json", "a.pdl", env={**os.environ, "OPENAI_API_KEY": "k"})
    md = pdl(folder, "view", "t.json", "--md", "-").stdout
    check("no answers", md.count(": no answer") == 2 and "empty" not in md, md)


def test_calls_of_attempts(folder):
    """Each call is counted once, also in an attempt that failed: in the title as often as --verbose has lines."""
    (folder / "a.pdl").write_text(MODELS)
    replies = [{"when": "price", "reply": "three", "times": 2}, {"when": "price", "reply": '{"price": 3}'}, {"when": "second", "reply": "lost words"}]
    (folder / "replies.json").write_text(json.dumps(replies))
    with mock("--replies", str(folder / "replies.json")) as env:
        r = pdl(folder, "--verbose", "--trace=t.json", "a.pdl", env=env)
    md = pdl(folder, "view", "t.json", "--md", "-").stdout
    lines = len(re.findall(r"line \d+: model ", r.stderr))
    check("calls", lines == 4 and "4 model calls" in md, r.stderr, md)
    usage = [b["pdl__usage"] for b in blocks(json.loads((folder / "t.json").read_text()), "model") if "pdl__usage" in b]
    check("each has its own use", [u["model_calls"] for u in usage] == [1, 1, 1, 1], usage)
    spent = sum(int(n) for n in re.findall(r"(\d+) tokens in", r.stderr))
    check("tokens", "%d tokens in" % spent in md and sum(u["prompt_tokens"] for u in usage) == spent, md, spent, usage)
    check("the reply that was refused", re.search(r"Attempt 2 failed[^\n]*\n  - 2: three", md), md)


DROPPED = """defs:
  f:
    function: {x: string}
    return:
      defs:
        said: {model: openai/m, input: "${ x }"}
        worse: {defs: {again: {model: openai/m, input: "again ${ x }"}, number: "${ 1 // 0 }"}, data: "${ number }"}
      data: "${ worse }"
text:
- {text: "${ f('one') }", fallback: "none\\n"}
- {text: [{call: "${ f }", args: {x: two}}], retry: 1, fallback: "none\\n"}
"""


def test_calls_before_a_failed_definition(folder):
    """The form of the reference drops what is around a definition that failed: its calls are counted all the same, and once."""
    (folder / "a.pdl").write_text(DROPPED)
    with mock() as env:
        r = pdl(folder, "--verbose", "--trace=t.json", "a.pdl", env=env)
    lines = re.findall(r"line \d+: model .* (\d+) tokens in, (\d+) out", r.stderr)
    check("six calls", len(lines) == 6, r.stderr)
    found = []

    def collect(v):
        for x in v.values() if isinstance(v, dict) else v if isinstance(v, list) else []:
            collect(x)
        if isinstance(v, dict) and "pdl__usage" in v:
            found.append(v["pdl__usage"])

    collect(json.loads((folder / "t.json").read_text()))
    sums = [sum(u[k] for u in found) for k in ("model_calls", "prompt_tokens", "completion_tokens")]
    check("the trace counts each once", sums == [6, sum(int(a) for a, _ in lines), sum(int(b) for _, b in lines)], sums, lines)
