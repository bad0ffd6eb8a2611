# SPDX-License-Identifier: Apache-2.0
"""JSON as models write it, with all quotes escaped or only the first one of a container, and JSON after a byte order mark."""
import json

from ..checks import same
from .peers import run

TEXTS = [(r'{\"a\": \"b\"}', {"a": "b"}), (r'[\"a\", \"b\"]', ["a", "b"]), (r'{\n  \"a\": 1,\n  \"b\": [\"x\"]\n}', {"a": 1, "b": ["x"]}),
         (r'{\"a\": \"say \\\"hi\\\"\"}', {"a": 'say "hi"'}), (r'{\\\"a\\\": 1}', {"a": 1}), ('Here it is: {\\"a\\": \\"b\\"} as asked', {"a": "b"}),
         ('```json\n{\\"a\\": [1, 2]}\n```', {"a": [1, 2]}), (r'{\"a\": \"b\",}', {"a": "b"}), ('\ufeff{"a": 1}', {"a": 1}), ('\ufeff{a: 1}', {"a": 1}), ('{"a": "\\"b\\""}', {"a": '"b"'}),
         (r"{\'a\': \'b\'}", {"a": "b"}), (r"[\'it\\\'s\']", ["it's"]), (r'{\"a\": \"it\'s\"}', {"a": "it's"}), (r'{\"a\": \"it' + r"'s\"}", {"a": "it's"}),
         (r'{\\"a\\": \\"b\\"}', {"a": "b"}), (r'{"a": "\\"}', {"a": "\\"}), (r"{'a': 'it\'s'}", {"a": "it's"}),
         # the first quote is escaped, others are plain
         (r'{\"a\": "b"}', {"a": "b"}), (r'{\"a\": [\"b\", 1], \"c\": "say \"hi\""}', {"a": ["b", 1], "c": 'say "hi"'}), (r'{\n  \"a": 1, "b\": 2}', {"a": 1, "b": 2}),
         (r'[\"a\", "b"]', ["a", "b"]), ("It's {" + r'\"a\": "b"}', {"a": "b"}), (r'{"a": "\"b\"", "c": "\\n"}', {"a": '"b"', "c": "\\n"})]


def test_json(pdl, folder):
    for i, (text, _) in enumerate(TEXTS):
        (folder / ("%d.txt" % i)).write_text(text, "utf-8")
    out, _ = run(pdl, folder, {"array": [{"object": {"v": {"read": "%d.txt" % i, "parser": "json"}}} for i in range(len(TEXTS))]})
    same([o["v"] for o in json.loads(out)], [want for _, want in TEXTS])
