# SPDX-License-Identifier: Apache-2.0
"""Contexts keep their structure on the way out and in."""
import json
import unittest

import libpdl

NESTED = "lastOf:\n- a\n- {context: independent, text: [b, c]}\n- ${ pdl_context }\n"


def said(context):
    return [m["content"] for m in context]


class Contexts(unittest.TestCase):
    def test_forms(self):
        value = libpdl.run(NESTED).value
        self.assertIsInstance(value, libpdl.Context)
        self.assertEqual((value.form, said(value), len(value.parts)), ("dependent", ["a", "b", "c"], 2))
        inner = value.parts[1]
        self.assertEqual((inner.form, said(inner)), ("independent", ["b", "c"]))
        self.assertEqual(value.parts[0]["pdl__defsite"], "lastOf.0.data")
        self.assertEqual(json.loads(json.dumps(value)), value)

    def test_messages_are_a_context(self):
        self.assertEqual(libpdl.run("hello").messages.form, "message")
        self.assertEqual(libpdl.run("text: []").messages.form, "dependent")
        self.assertEqual(libpdl.run("{context: independent, text: [a, b]}").messages.form, "independent")

    def test_there_and_back(self):
        value = libpdl.run(NESTED).value
        again = libpdl.run("data: ${ c }", c=value).value
        self.assertEqual((again.form, again.parts[1].form, again), ("dependent", "independent", value))
        self.assertEqual(libpdl.run("data: ${ c | string }", c=value).value, libpdl.run("data: ${ c | string }", c=again).value)
        self.assertEqual(libpdl.run("lastOf: [x, '${ pdl_context | length }']", pdl_context=value).value, 3)

    def test_empty_and_one(self):
        for context in (libpdl.Context(), libpdl.Context([{"role": "user", "content": "x"}])):
            again = libpdl.run("data: ${ c }", c=context).value
            self.assertEqual((again.form, again), ("dependent", context))

    def test_changed_as_a_list(self):
        value = libpdl.run(NESTED).value
        value.append("no message")
        self.assertEqual(libpdl.run("data: ${ c[3] }", c=value).value, "no message")

    def test_wrong_part(self):
        with self.assertRaisesRegex(TypeError, r"parts\[0\] must be a message"):
            libpdl.Context([1])
        changed = libpdl.Context()
        changed.parts.append(1)
        changed.append(1)
        with self.assertRaisesRegex(libpdl.Error, "is not a valid context"):
            libpdl.run("data: 1", c=changed)

    def test_many(self):
        many = libpdl.Context([{"role": "user", "content": i} for i in range(20000)], "independent")
        again = libpdl.run("data: ${ c }", c=many).value
        self.assertEqual((again.form, again == many), ("independent", True))

    def test_function_of_another_program(self):
        """A program that reads no messages keeps them when a function that was passed to it may read them."""
        f = libpdl.run("defs: {f: {function: {}, return: '${ pdl_context | length }'}}\ndata: ${ f }").value
        for value, call in ((f, "f"), ({"deep": [f]}, "f.deep[0]")):
            for last in ("{call: '${ %s }'}", "'${ %s() }'"):
                source = 'text: [hello, {defs: {n: {lastOf: [one, two, %s]}}, data: "${ n }"}]' % (last % call)
                self.assertEqual(libpdl.run(source, f=value).value, "hello3", source)


if __name__ == "__main__":
    unittest.main()
