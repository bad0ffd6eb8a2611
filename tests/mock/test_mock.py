# SPDX-License-Identifier: Apache-2.0
"""pdl mock: its answers, whole and streamed, to programs and to any client; also wrong files of replies."""
import http.client
import json
import os
import re
import signal
import subprocess
import time

from ..checks import check, skip
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")


class Mock:
    def __init__(self, *args):
        self.p = subprocess.Popen([PDL, "mock", "--port", "0", *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.use = self.p.stdout.readline()
        self.port = int(re.search(r":(\d+)/v1", self.use).group(1))

    def ask(self, path="/v1/chat/completions", body=None, method="POST"):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body))
        r = c.getresponse()
        return r.status, r.headers, r.read().decode()

    def chat(self, text, model="mock", **more):
        status, headers, body = self.ask(body={"model": model, "messages": [{"role": "user", "content": text}], **more})
        return status, headers, json.loads(body)

    def say(self, text, model="mock"):
        return self.chat(text, model)[2]["choices"][0]["message"]["content"]

    def run(self, program, *flags):
        env = {**os.environ, **dict(w.split("=", 1) for w in self.use.split()[1:])}
        return subprocess.run([PDL, *flags, "-"], input=program, env=env, capture_output=True, text=True, timeout=60)

    def end(self):
        self.p.send_signal(signal.SIGINT)
        code = self.p.wait(10)
        return code, self.p.stderr.read()


def test_plain():
    m = Mock()
    check("a line for the shell", re.fullmatch(r"export OPENAI_BASE_URL=http://127\.0\.0\.1:\d+/v1 OPENAI_API_KEY=mock\n", m.use), m.use)
    check("repeats", m.say("hello") == "hello")
    check("upper", m.say("Grüße", "upper") == "GRÜSSE")
    check("roles", m.say("hello", "roles") == "user")
    check("parts", m.chat([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])[2]["choices"][0]["message"]["content"] == "ab")
    _, _, reply = m.chat("one two three")
    check("usage", reply["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6} and reply["model"] == "mock", reply)
    check("a program", m.run('text: ["say this; ", {model: openai/upper}]').stdout == "say this; SAY THIS; \n")
    check("one model", [json.loads(m.ask(p, method="GET")[2])["id"] for p in ("/v1/models/upper", "/v1/models/any/name/", "/models/x")] == ["upper", "any/name", "x"])
    check("models at a slash", m.ask("/v1/models/", method="GET")[2] == m.ask("/v1/models", method="GET")[2])
    check("models", [x["id"] for x in json.loads(m.ask("/v1/models", method="GET")[2])["data"]] == ["mock", "echo", "upper", "roles"])
    vectors = json.loads(m.ask("/v1/embeddings", {"input": ["a", "b", "a"]})[2])["data"]
    check("embeddings", vectors[0]["embedding"] == vectors[2]["embedding"] != vectors[1]["embedding"] and len(vectors[0]["embedding"]) == 8)
    for path, body, status in [("/v1/chat/completions", "{", 400), ("/v1/chat/completions", "[]", 400), ("/v1/nothing", "{}", 404)]:
        got = m.ask(path, body)
        check("refused %s %s" % (path, body), got[0] == status and json.loads(got[2])["error"]["message"], got)
    for body in [{}, {"messages": 1}, {"messages": []}, {"messages": [1]}, {"messages": [{"content": None}], "stream": True}]:
        check("a strange body %s" % body, m.ask(body=body)[0] == 200)
    code, told = m.end()
    check("Ctrl-C", code == 0)
    check("requests are told", json.loads(told.splitlines()[0]) == {"model": "mock", "asked": "hello", "said": "hello"}, told)


def test_script(folder):
    file = folder / "replies.yaml"
    file.write_text("""
- first
- second
- {when: weather, reply: sunny}
- {model: "gpt-*", reply: from gpt}
- {when: tool, reply: {tool_calls: [{function: {name: add, arguments: {a: 1, b: 2}}}]}}
- {when: busy, status: 429, error: slow down, retry_after: 0.01, times: 1}
- {when: busy, reply: now}
- {when: cut, reply: {content: Once upon a, finish_reason: length}}
""")
    m = Mock("--replies", file)
    check("texts in order", [m.say("weather"), m.say("x"), m.say("the weather?")] == ["first", "second", "sunny"])
    check("model", m.say("hi", "gpt-4o") == "from gpt" and m.say("hi", "other") == "hi")
    choice = m.chat("tool")[2]["choices"][0]
    call = choice["message"]["tool_calls"][0]
    check("tool calls", choice["finish_reason"] == "tool_calls" and call["id"] and call["type"] == "function" and json.loads(call["function"]["arguments"]) == {"a": 1, "b": 2}, choice)
    for path, asked in [("/v1/chat/completions", {"messages": [{"role": "user", "content": "cut"}]}), ("/v1/completions", {"prompt": "cut"}),
                        ("/api/chat", {"messages": [{"role": "user", "content": "cut"}]}), ("/api/generate", {"prompt": "cut"})]:
        for stream in (False, True):
            said = m.ask(path, {"model": "m", "stream": stream, **asked})[2]
            check("an answer that is cut, %s, stream: %s" % (path, stream), re.findall(r'"(?:finish|done)_reason": ?"(\w+)"', said) == ["length"], said)
    status, headers, body = m.chat("busy")
    check("a refusal", status == 429 and headers["Retry-After"] == "0.01" and body["error"]["message"] == "slow down", (status, body))
    check("times", m.say("busy") == "now")
    m.end()
    m = Mock("--replies", file, "--strict")
    m.say("1"), m.say("2")
    check("strict", m.chat("nothing fits")[0] == 404)
    m.end()


def test_numbers(folder):
    """Log-probabilities of answers, and of texts at the end of a prompt: the longest that fits, in characters, also in a stream."""
    file = folder / "replies.yaml"
    file.write_text("""
- {when: judge, reply: "true", logprobs: {"true": -0.25, "false": -2}}
- {when: Robot, scores: {" go": -1.5, "t go": -3, " ü": -2}}
- {when: refused, status: 503, error: later}
- {when: said, reply: so}
""")
    m = Mock("--replies", file)
    one = m.chat("judge this")[2]["choices"][0]["logprobs"]["content"][0]
    check("an answer", one["token"] == "true" and one["logprob"] == -0.25 and [t["logprob"] for t in one["top_logprobs"]] == [-0.25, -2], one)
    r = m.run("call: ${ stdlib.llm_as_judge }\nargs: {model: openai/x, prompt: judge}\n")
    check("a judge, streamed", r.stdout.startswith("-0.16"), (r.stdout, r.stderr))
    ask = {"model": "x", "echo": True, "prompt": ["Robot: ü ü", "Robot: not go", "Robot: go", "Robot: stay"]}
    got = [c["logprobs"] for c in json.loads(m.ask("/v1/completions", ask)[2])["choices"]]
    check("texts", [(g["token_logprobs"][1], g["text_offset"][1]) for g in got] == [(-2, 8), (-3, 9), (-1.5, 6), (None, 11)], got)
    r = m.run("model: text-completion-openai/x\ninput: 'Robot:'\nparameters: {score: [' go', ' ü']}\n")
    check("a program that scores", json.loads(r.stdout.replace("'", '"')) == {"scores": [-1.5, -2.0]}, (r.stdout, r.stderr))
    r = m.run("model: text-completion-openai/x\ninput: 'said'\n")
    check("a completion", r.stdout == "so\n", (r.stdout, r.stderr))
    check("a refusal", m.ask("/v1/completions", {"prompt": "refused"})[0] == 503)
    for body in [{}, {"prompt": 1, "echo": True}, {"prompt": []}, {"prompt": [1, None]}, {"prompt": "x", "echo": True, "stream": True}]:
        check("a strange body %s" % body, m.ask("/v1/completions", body)[0] == 200)
    m.end()


def test_streams(folder):
    m = Mock()
    text = m.ask(body={"model": "x", "stream": True, "stream_options": {"include_usage": True}, "messages": [{"role": "user", "content": "one two\nthree"}]})[2]
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    said = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
    check("a stream", said == "one two\nthree" and text.endswith("data: [DONE]\n\n") and chunks[-1]["usage"]["total_tokens"] == 6 and len(chunks) == 6, chunks)
    m.end()
    m = Mock("--delay", "100")
    start = time.time()
    r = m.run("text:\n- {text: 'a b c', contribute: [context]}\n- model: openai/echo\n")
    check("delay", r.stdout == "a b c\n" and 0.3 <= time.time() - start < 10, (r.stdout, r.stderr, time.time() - start))
    gone = http.client.HTTPConnection("127.0.0.1", m.port)
    gone.request("POST", "/v1/chat/completions", json.dumps({"stream": True, "messages": [{"content": "a b c d e f"}]}))
    gone.close()
    check("a client that goes", m.say("still there") == "still there")
    m.end()


def test_reasoning(folder):
    """Reasoning comes before the answer in each interface, is counted with the answer, and is not part of what the program prints."""
    file = folder / "replies.yaml"
    file.write_text("- {reply: {content: four it is, reasoning_content: two and two}}\n")
    m = Mock("--replies", file)
    _, _, r = m.chat("2 + 2?")
    check("whole", r["choices"][0]["message"]["reasoning_content"] == "two and two" and
          r["usage"] == {"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 3}}, r)
    asked = {"model": "x", "messages": [{"role": "user", "content": "2 + 2?"}]}
    whole = json.loads(m.ask("/api/chat", {**asked, "stream": False})[2])["message"]
    lines = [json.loads(x)["message"] for x in m.ask("/api/chat", asked)[2].splitlines()]
    check("Ollama", whole["thinking"] == "two and two" and [x.get("thinking") for x in lines] == ["two and two", None, None, None, None], (whole, lines))
    program = """
text:
- {model: %s, input: sum, modelResponse: r, parameters: {api_base: "http://127.0.0.1:%d%s"}}
- " after ${ r.choices[0].message.reasoning_content } (${ r.usage.completion_tokens })"
"""
    for flags in ([], ["--stream", "none"]):
        for model, path in (("openai/gpt-5-mini", "/v1"), ("ollama_chat/qwen3", "")):
            r = m.run(program % (model, m.port, path), *flags)
            check("%s %s" % (model, flags), r.stdout == "four it is after two and two (6)\n", r.stdout + r.stderr)
    m.end()


def test_choices(folder):
    """A request for n choices takes as many items; one that refuses answers the next request."""
    file = folder / "replies.yaml"
    file.write_text('[one, two words, {reply: three, times: 1, logprobs: {three: -1}}, {status: 429, error: busy, times: 1}, four, {when: strange, status: 500, error: never}]')
    m = Mock("--replies", file)
    status, _, r = m.chat("say", n=4)
    said = [(c["index"], c["message"]["content"], c["finish_reason"]) for c in r["choices"]]
    check("three, and a refusal waits", status == 200 and said == [(0, "one", "stop"), (1, "two words", "stop"), (2, "three", "stop")], r)
    check("all of them are counted", r["usage"] == {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5}, r["usage"])
    check("numbers are those of their item", [c.get("logprobs") is not None for c in r["choices"]] == [False, False, True], r)
    check("the refusal", m.chat("say", n=2)[0] == 429)
    _, _, r = m.chat("say it", n=3)
    check("then the request is repeated", [c["message"]["content"] for c in r["choices"]] == ["four", "say it", "say it"], r)
    check("a refusal of the first", m.chat("strange", n=3)[0] == 500)
    for n in (0, -1, 129, 1.5, "3", True, [3]):
        status, _, r = m.chat("x", n=n)
        check("n: %r is refused" % (n,), status == 400 and "n: expected a whole number from 1 to 128" in r["error"]["message"], status, r)
    check("null is one, and 128 are given", [len(m.chat("x", n=n)[2]["choices"]) for n in (None, 1, 128)] == [1, 1, 128])
    got = json.loads(m.ask("/v1/completions", {"model": "upper", "prompt": ["a", "b"], "n": 2})[2])["choices"]
    check("prompts and choices", [(c["index"], c["text"]) for c in got] == [(0, "A"), (1, "A"), (2, "B"), (3, "B")], got)
    text = m.ask(body={"model": "upper", "n": 2, "stream": True, "stream_options": {"include_usage": True}, "messages": [{"role": "user", "content": "a b"}]})[2]
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    streamed = ["".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"] and c["choices"][0]["index"] == i) for i in (0, 1)]
    check("streamed", streamed == ["A B", "A B"] and text.count("[DONE]") == 1 and chunks[-1]["usage"]["completion_tokens"] == 4 and
          [c["choices"][0]["index"] for c in chunks if c["choices"] and c["choices"][0]["finish_reason"]] == [0, 1], text)
    text = m.ask("/v1/completions", {"model": "upper", "n": 2, "stream": True, "prompt": "a"})[2]
    check("a stream of completions", text.count('"A"') == 2 and text.count("[DONE]") == 1, text)
    check("Ollama has none", "message" in json.loads(m.ask("/api/chat", {"model": "upper", "n": 3, "stream": False, "messages": [{"role": "user", "content": "a"}]})[2]))
    log = [json.loads(x) for x in m.end()[1].splitlines()]
    check("the log has all", log[0]["said"] == ["one", "two words", "three"] and log[1].get("status") == 429, log[:2])
    m = Mock("--strict", "--replies", file)
    check("strict: as many as there are", len(m.chat("say", n=5)[2]["choices"]) == 3)
    m.end()


def test_wrong(folder):
    file = folder / "wrong.yaml"
    for text, told in [("a: 1", "should be a list"), ("- 1", "item 1"), ("- x\n- {whem: y, reply: z}", "did you mean when?"), ("- {reply: 1}", "reply should be"), ("- {reply: {content: a, finish_reason: late}}", "finish_reason should be stop, length"), ("- {reply: {content: a, reasoning_content: [b]}}", "reasoning_content should be a text"), ("- {when: x}", "neither reply nor status"),
                       ("- {reply: x, times: 0}", "times should be"), ("- {status: 200}", "from 400 to 599"), ("- {reply: x, when: 3}", "when should be a text"),
                       ("- {reply: x, retry_after: soon}", "seconds"), ("- {scores: {a: b}}", "scores should be log-probabilities"), ("- {reply: x, logprobs: []}", "logprobs should be"), ("- [", "wrong.yaml:")]:
        file.write_text(text)
        r = subprocess.run([PDL, "mock", "--replies", str(file)], capture_output=True, text=True, timeout=20)
        check("wrong %r" % text, r.returncode == 2 and told in r.stderr and r.stderr.count("\n") == 1, (r.returncode, r.stderr))
    for args, code, told in [(["--port", "x"], 2, "65535"), (["--delay=-1"], 2, "milliseconds"), (["--replies", str(folder / "no")], 2, "there is no file"),
                             (["--host", "999.1.1.1"], 2, "argument --host: cannot listen at 999.1.1.1"), (["--host", "192.0.2.77"], 2, "argument --host: cannot listen at 192.0.2.77"), (["x"], 2, "unrecognized")]:
        r = subprocess.run([PDL, "mock", *args], capture_output=True, text=True, timeout=20)
        check("wrong %s" % args, r.returncode == code and told in r.stderr, (r.returncode, r.stderr))


def test_host():
    """The addresses that clients are told are such as they accept: IPv6 has brackets, and all addresses are the loopback address."""
    for host, shown in (("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]"), ("[::1]", "[::1]"), ("::", "[::1]")):
        p = subprocess.Popen([PDL, "mock", "--host", host, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = p.stdout.readline()
        p.terminate()
        _, err = p.communicate(timeout=20)
        if "cannot listen" in err and ":" in host:
            skip("mock --host " + host, "no IPv6 here")
        else:
            check("mock --host " + host, line.startswith("export OPENAI_BASE_URL=http://%s:" % shown), (line, err))


def test_templates(folder):
    """What pdl new writes runs as it is."""
    file = folder / "t.yaml"
    file.write_text('- {when: "17 times", reply: "Thought: I know.\\nFinal Answer: 391"}\n- {when: Saturday, reply: From 10 to 14.}\n- {when: review, reply: positive}\n')
    m = Mock("--replies", file)
    for name, stdin, want in [("chat", "hi\n\n", "> hi\n> \n"), ("agent", "", "Answer: 391"), ("rag", "", "From 10 to 14."), ("batch", "", "positive")]:
        subprocess.run([PDL, "new", str(folder / name), "--template", name], check=True, capture_output=True)
        env = {**os.environ, **dict(w.split("=", 1) for w in m.use.split()[1:])}
        r = subprocess.run([PDL, str(folder / name)], input=stdin, env=env, capture_output=True, text=True, timeout=60)
        check("template " + name, r.returncode == 0 and want in r.stdout, (r.stdout, r.stderr))
    m.end()
