#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_rows.py -- many rows of JSONL through `map`: what the program keeps takes memory, what it lets go does not.

    test_rows.py BUILD_DIR [--mb N]

N megabytes of rows (20), once as a variable that holds all of them, once from standard input by the thousand, where memory must not depend
on N. Python standard library only. Last line: `N passed, N failed`.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MB = 1 << 20
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
    begin = time.monotonic()
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as err:
        p = subprocess.Popen([pdl, "--stream", "none", "main.pdl"], cwd=folder, stdout=out, stderr=err, **kw)
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        text, said = out.read().decode().strip(), err.read().decode()
    took, peak = time.monotonic() - begin, used.ru_maxrss * 1024
    print("%d MB, %.1f s" % (peak // MB, took))
    if p.returncode or took > seconds or peak > most_bytes:
        return "exit status %d, %.1f s, %d MB: %s" % (p.returncode, took, peak // MB, said[:500]), text
    return None, text


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    size = (int(sys.argv[sys.argv.index("--mb") + 1]) if "--mb" in sys.argv else 20) * MB
    seconds = 30 + size / MB
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="pdl_rows_") as d:
        folder = pathlib.Path(d)
        want = "%d %d" % write_rows(folder / "rows.jsonl", size)
        with open(folder / "rows.jsonl", "rb") as rows:
            results = [("all rows in a variable", run(pdl, folder, WHOLE, 7 * size + 20 * MB, seconds, stdin=subprocess.DEVNULL)),
                       ("a thousand rows at a time", run(pdl, folder, BATCHES, 40 * MB, seconds, stdin=rows))]
    for title, (why, text) in results:
        why = why or (None if text == want else "printed %r, not %r" % (text[-200:], want))
        passed, failed = passed + (why is None), failed + (why is not None)
        if why:
            print("FAIL %s: %s" % (title, why))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
