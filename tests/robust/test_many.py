#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_many.py BUILD_DIR [NAME ...] -- programs with 70 000 of something: more than sixteen bits count. They run, with a trace too.

Python standard library only. Last line: `N passed, N failed`.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

N = 70000


def lines(form):
    return "\n".join(form % {"i": i} for i in range(N))


# name, program, standard output
PROGRAMS = [
    ("texts before a loop", "lastOf:\n%s\n- {for: {x: [1, 2]}, repeat: '${ i }', index: i}\n" % lines('- "t%(i)d"'), "01"),
    ("texts before a map", "lastOf:\n%s\n- {for: {x: [1, 2]}, map: '${ i }', index: i, join: {with: ''}}\n" % lines('- "t%(i)d"'), "01"),
    ("texts before a wrong expression", "lastOf:\n%s\n- {text: '${ x[1:2, 0] }', fallback: gone}\n" % lines('- "t%(i)d"'), "gone"),
    ("cases", "match: c69999\nwith:\n%s\n" % lines("- {case: c%(i)d, then: t%(i)d}"), "t69999"),
    ("variables of a loop of a template", "lang: jinja\ncode: '{%% for %s in [range(70000) | list] %%}{{ a69999 }}{%% endfor %%}'\n"
     % ",".join("a%d" % i for i in range(N)), "69999"),
    ("lists of a loop", "for: {%s}\nrepeat: '${ a69999 }'\n" % ", ".join("a%d: [%d]" % (i, i) for i in range(N)), "69999"),
    ("definitions", "defs:\n%s\ntext: ${ d0 + d69999 }\n" % lines("  d%(i)d: {data: %(i)d}"), "69999"),
    ("keys of an object", "lastOf:\n- def: o\n  object:\n%s\n- ${ o.k69999 }\n" % lines("    k%(i)d: %(i)d"), "69999"),
    ("functions", "defs:\n%s\ntext: ${ f69999() }\n" % lines("  f%(i)d: {function: {}, return: %(i)d}"), "69999"),
    ("items of an expression", "text: ${ [%s] | length }\n" % ",".join(str(i) for i in range(N)), "70000"),
    ("arguments", "defs:\n  f: {function: {}, return: 1}\ntext: \"${ dict(%s) | length }\"\n" % ", ".join("a%d=%d" % (i, i) for i in range(N)), "70000"),
    ("leaves of a value with a reply in it", """lastOf:
- {model: openai/m, input: q, parameters: {mock_response: hello}, def: m}
- {data: ["${ m }"], def: a}
- {for: {i: "${ range(40) }"}, repeat: {defs: {a: {data: ["${ a }", "${ a }"]}}, data: ""}, join: {as: lastOf}}
- "${ a[0][1][0] | length }"
""", "2"),
]


def seconds_of_cases(pdl, folder, n):
    text = "match: c%d\nwith:\n" % (n - 1) + "".join("- {case: c%d, then: t}\n" % i for i in range(n))
    (folder / "p.pdl").write_text(text)
    begin = time.monotonic()
    subprocess.run([pdl, "-t", "t.json", "p.pdl"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60)
    return time.monotonic() - begin


def trace_is_linear(pdl, folder):
    """Four times as many cases of a match take about four times as long, with a trace."""
    few, many = (min(seconds_of_cases(pdl, folder, n) for _ in range(2)) for n in (N // 7, 4 * N // 7))
    if many > 8 * few + 0.3:
        print("FAIL trace of cases: %.2f s for %d, %.2f s for %d" % (many, 4 * N // 7, few, N // 7))
    return many <= 8 * few + 0.3


def main():
    pdl, only = str(pathlib.Path(sys.argv[1]).resolve() / "pdl"), sys.argv[2:]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="pdl_many_") as d:
        for name, text, want in PROGRAMS:
            for more in ([], ["-t", "t.json"])[:1 if name.startswith("leaves") else 2]:  # a trace of them has no end
                if only and name not in only:
                    continue
                (pathlib.Path(d) / "p.pdl").write_text(text)
                try:
                    p = subprocess.run([pdl, "--stream", "none"] + more + ["p.pdl"], cwd=d, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
                    got = (p.returncode, p.stdout.decode().rstrip())
                except subprocess.TimeoutExpired:
                    got = "time-out", ""
                ok = got == (0, want)
                passed, failed = passed + ok, failed + (not ok)
                if not ok:
                    print("FAIL %s %s: %r\n%s" % (name, " ".join(more), got, p.stderr.decode("utf-8", "replace")[-500:]))
        if not only or "trace of cases" in only:
            ok = trace_is_linear(pdl, pathlib.Path(d))
            passed, failed = passed + ok, failed + (not ok)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
