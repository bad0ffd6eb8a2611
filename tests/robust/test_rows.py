# SPDX-License-Identifier: Apache-2.0
"""test_rows.py -- many rows of JSONL through `map`: values that the program keeps take memory, and values that it drops do not.

The rows have 20 MB (8 in `test`). They are once a variable that holds all of them, and once come from standard input, a thousand at a time. In the
second case the memory must not depend on their number.
"""
import subprocess

from .. import used_by
from ..checks import check
from .kit import MB

WHOLE = """text:
- {def: rows, read: rows.jsonl, parser: jsonl, contribute: []}
- for: {row: "${ rows }"}
  map: ${ row.score }
  join: {as: array}
  def: scores
  contribute: []
- "${ scores | length } ${ scores | sum }"
"""
BATCHES = """defs:
  n: {data: 0}
  total: {data: 0}
text:
- repeat:
    lastOf:
    - repeat: {def: line, read: , message: "", contribute: [result], fallback: ""}
      until: ${ line == '' }
      maxIterations: 1000
      join: {as: array}
      def: lines
      contribute: []
    - for: {text: "${ lines | select | list }"}
      map: {text: "${ text }", parser: json, def: row, contribute: [result]}
      join: {as: array}
      def: rows
      contribute: []
    - {def: n, data: "${ n + (rows | length) }", contribute: []}
    - {def: total, data: "${ total + (rows | map(attribute='score') | sum) }", contribute: []}
  until: ${ line == '' }
  join: {as: lastOf}
  contribute: []
- "${ n } ${ total }"
"""


def write_rows(path, size):
    """-> number of rows, sum of their scores"""
    n = total = written = 0
    with open(path, "w", encoding="utf-8") as f:
        while written < size:
            rows = "".join('{"id": %d, "name": "user %d", "score": %d, "tags": ["a", "b"], "text": "some words about row %d"}\n' % (i, i, i % 100, i)
                           for i in range(n, n + 1000))
            f.write(rows)
            n, total, written = n + 1000, total + sum(i % 100 for i in range(n, n + 1000)), written + len(rows)
    return n, total


def run(pdl, folder, program, most_bytes, seconds, **kw):
    """-> what is wrong, output"""
    (folder / "main.pdl").write_text(program)
    status, took, peak, out, err = used_by.run([pdl, "--stream", "none", "main.pdl"], cwd=folder, **kw)
    text = out.decode().strip()
    if status or took > seconds or peak > most_bytes:
        return "exit status %d, %.1f s, %d MB: %s" % (status, took, peak // MB, err[:500]), text
    return None, text


def test_rows(pdl, folder, scale):
    size = scale(20, 8) * MB
    seconds = 20 + size / MB
    want = "%d %d" % write_rows(folder / "rows.jsonl", size)
    with open(folder / "rows.jsonl", "rb") as rows:
        results = [("all rows in a variable", run(pdl, folder, WHOLE, 4 * size + 100 * MB, seconds, stdin=subprocess.DEVNULL)),
                   ("a thousand rows at a time", run(pdl, folder, BATCHES, 24 * MB, seconds, stdin=rows))]
    for title, (why, text) in results:
        check(title, why is None and text == want, why or "printed %r, not %r" % (text[-200:], want))
