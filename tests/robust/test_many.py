#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_many.py BUILD_DIR [NAME ...] -- programs with 70 000 of something: more than sixteen bits count. They run, with a trace too.

Python standard library only. Last line: `N passed, N failed`.
"""
import pathlib
import subprocess
import sys
import tempfile

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
]


def main():
    pdl, only = str(pathlib.Path(sys.argv[1]).resolve() / "pdl"), sys.argv[2:]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="pdl_many_") as d:
        for name, text, want in PROGRAMS:
            for more in ([], ["-t", "t.json"]):
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
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
