# SPDX-License-Identifier: Apache-2.0
"""What a model in Python may answer: text, messages with tool calls, chat completions, chunks of them."""
import asyncio
import json
import unittest

import libpdl

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"town": "Bern"}'}}
ASK = "lastOf:\n- {model: m, input: hi, modelResponse: r}\n- data: ${ r }"


class Library:
    """A class such as those of OpenAI's client."""

    def __init__(self, data):
        self.data = data

    def model_dump(self):
        return self.data


def completion(**message):
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}], "model": "real",
            "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}


def chunk(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def ask(answer, text=ASK):
    return libpdl.Engine(models={"m": lambda request: answer}).loads(text).run()


class Answers(unittest.TestCase):
    def test_tool_calls(self):
        forms = {
            "a message": {"content": None, "tool_calls": [CALL]},
            "a message without content": {"tool_calls": [CALL]},
            "arguments as an object": {"content": "", "tool_calls": [{**CALL, "function": {"name": "weather", "arguments": {"town": "Bern"}}}]},
            "a completion": completion(content=None, tool_calls=[CALL]),
            "an object": Library(completion(content=None, tool_calls=[CALL])),
        }
        for name, answer in forms.items():
            with self.subTest(name):
                choice = ask(answer).value["choices"][0]
                call = choice["message"]["tool_calls"][0]
                self.assertEqual((call["id"], call["function"]["name"]), ("c1", "weather"))
                self.assertEqual(json.loads(call["function"]["arguments"]), {"town": "Bern"})
                self.assertEqual(choice["finish_reason"], "tool_calls")

    def test_absent_fields_are_null(self):
        self.assertIsNone(ask("text").value["choices"][0]["message"]["tool_calls"])

    def test_what_is_told_of_the_answer(self):
        value = ask({"content": "cut", "finish_reason": "max_tokens", "reasoning_content": "why", "refusal": "no"}).value
        self.assertEqual(value["choices"][0]["finish_reason"], "length")
        self.assertEqual(value["choices"][0]["message"]["reasoning_content"], "why")
        self.assertEqual(value["choices"][0]["message"]["refusal"], "no")

    def test_a_completion(self):
        r = ask(completion(content="done"), "model: m\ninput: hi")
        self.assertEqual((r.text, r.usage), ("done", {"model_calls": 1, "prompt_tokens": 7, "completion_tokens": 2}))
        self.assertEqual(ask(completion(content="done")).value["model"], "real")

    def test_text_stays_as_it_is(self):
        for text in ("", "<think>x</think>y", "\n a \n", "{}"):
            self.assertEqual(ask(text, "model: m\ninput: hi").text, text)

    def test_awaited(self):
        async def model(request):
            await asyncio.sleep(0)
            return Library(completion(content="later"))
        r = asyncio.run(libpdl.Engine(models={"m": model}).loads("model: m\ninput: hi").arun())
        self.assertEqual(r.text, "later")

    def test_awaited_pieces(self):
        """`await client.create(stream=True)` gives an iterator."""
        async def slowly():
            for text in "abc":
                await asyncio.sleep(0)
                yield Library(chunk(content=text))

        async def model(request):
            return slowly() if request.model == "m/slow" else iter("abc")

        async def pieces(program):
            return [p async for p in program.astream()]
        engine = libpdl.Engine(models={"m/*": model})
        for name in ("m/slow", "m/quick"):
            program = engine.loads("model: %s\ninput: hi" % name)
            self.assertEqual(program.run().text, "abc")
            self.assertEqual(asyncio.run(program.arun()).text, "abc")
            self.assertEqual(asyncio.run(pieces(program)), ["a", "b", "c"])

    def test_awaited_what_does_not_fit(self):
        for answer in (None, 3, object()):
            async def model(request):
                return answer
            with self.assertRaisesRegex(libpdl.RunError, "a model returned a value of type %s" % type(answer).__name__) as e:
                libpdl.Engine(models={"m": model}).run("model: m\ninput: hi")
            self.assertIsInstance(e.exception.__cause__, TypeError)

    def test_the_message_joins_the_context(self):
        seen = []

        def model(request):
            seen.append(request.messages)
            return {"content": None, "tool_calls": [CALL]} if len(seen) == 1 else "sunny"
        r = libpdl.Engine(models={"m": model}).loads(
            "lastOf:\n- {model: m, input: weather}\n- {role: tool, text: sun}\n- {model: m}").run()
        self.assertEqual(r.text, "sunny")
        self.assertEqual(seen[1][0]["tool_calls"], [CALL])

    def test_what_does_not_fit(self):
        for answer in (3, None, {}, {"content": 3}, {"choices": []}, {"choices": [1]}, {"tool_calls": 3}, {"content": None}):
            with self.subTest(answer), self.assertRaises((libpdl.Error, TypeError)):
                ask(answer, "model: m\ninput: hi")


class Pieces(unittest.TestCase):
    def pieces(self, *pieces, text=ASK):
        return libpdl.Engine(models={"m": lambda request: iter(pieces)}).loads(text)

    def test_text_of_chunks(self):
        program = self.pieces(chunk(role="assistant"), chunk(content="be"), Library(chunk(content="es")), chunk("stop"), {"choices": [], "usage": {
            "prompt_tokens": 1, "completion_tokens": 2}}, text="model: m\ninput: hi")
        stream = program.stream()
        self.assertEqual(list(stream), ["be", "es"])
        self.assertEqual((stream.result().text, stream.result().usage["completion_tokens"]), ("bees", 2))

    def test_tool_calls_in_parts(self):
        def part(index, **rest):
            return chunk(tool_calls=[{"index": index, **rest}])
        value = self.pieces(part(0, id="a", function={"name": "f", "arguments": ""}), part(1, id="b", function={"name": "g", "arguments": "{"}),
                            part(0, function={"arguments": "{}"}), part(1, function={"arguments": "}"}), chunk("tool_calls")).run().value
        calls = value["choices"][0]["message"]["tool_calls"]
        self.assertEqual([(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls], [("a", "f", "{}"), ("b", "g", "{}")])

    def test_what_is_no_piece(self):
        for piece in (3, None, {"choices": [3]}, {"tool_calls": [3]}):
            with self.subTest(piece), self.assertRaises(libpdl.Error) as caught:
                self.pieces(piece).run()
            self.assertIsInstance(caught.exception.__cause__, TypeError)


if __name__ == "__main__":
    unittest.main()
