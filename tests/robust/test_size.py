#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_size.py -- values larger than the memory that there is, and operations that take long: each ends with a located error or result,
and a signal ends a run in the middle of one.

    test_size.py BUILD_DIR [NAME ...]

Under 500 MB of memory. Python standard library only.
"""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

MEMORY = 500 << 20
SECONDS = 60
NO_ROOM = "there is no memory for"

# name, expression, what the message says; None: it ends well
EXPRESSIONS = [
    ("repeat_text", "('x' * 10**9) | length", NO_ROOM),
    ("repeat_list", "([1] * 10**8) | length", NO_ROOM),
    ("range", "range(10**8) | list | length", NO_ROOM),
    ("endless_range", "range(10**12) | list | length", "list is longer than"),
    ("characters", "('ab' * 10**7) | list | length", NO_ROOM),
    ("replace", "('ab' * 10**7) | replace('a', 'c' * 100) | length", NO_ROOM),
    ("join", "(['x' * 10**6] * 10**4) | join | length", NO_ROOM),
    ("percent", "'%1000000000d' | format(1) | length", NO_ROOM),
    ("precision", "'%.400000000d' | format(1) | length", "precision too large"),
    ("braces", "'{:>1000000000}'.format(1) | length", NO_ROOM),
    ("grouped", "'{:01000000000,d}'.format(1) | length", NO_ROOM),
    ("ljust", "'x'.ljust(10**9) | length", NO_ROOM),
    ("zfill", "'7'.zfill(10**9) | length", NO_ROOM),
    ("center", "'x' | center(10**9) | length", NO_ROOM),
    ("indent", "'x' | indent(10**9) | length", NO_ROOM),
    ("tabs", "'\\t'.expandtabs(10**9) | length", NO_ROOM),
    ("too_many_tabs", "'\\t\\t\\t'.expandtabs(10**9) | length", NO_ROOM),
    ("longer_than_a_text", "'\\t'.expandtabs(3 * 10**9) | length", "text is longer than"),
    ("tenth_of_it", "('x' * 10**7) | length", None),
]

# A program that is in the middle of one operation when the signal comes: name, expression, parser of its text, signal, exit status.
LONG = [
    ("sort", "range(3 * 10**7) | sort | length", None, signal.SIGINT, 130),
    ("unique", "range(3 * 10**7) | unique | list | length", None, signal.SIGINT, 130),
    ("map", "range(3 * 10**7) | map('string') | list | length", None, signal.SIGTERM, 143),
    ("select", "range(3 * 10**7) | select('odd') | list | length", None, signal.SIGINT, 130),
    ("groupby", "range(3 * 10**7) | groupby('x', default=1) | list | length", None, signal.SIGTERM, 143),
    ("split", "('x,' * 10**8).split(',') | length", None, signal.SIGINT, 130),
    ("rsplit", "('x ' * 10**8).rsplit() | length", None, signal.SIGTERM, 143),
    ("characters", "('ab' * 4 * 10**7) | list | length", None, signal.SIGINT, 130),
    ("replace", "('ab' * 4 * 10**8) | replace('a', 'c') | length", None, signal.SIGINT, 130),
    ("text_of_list", "([[1] * 1000] * 3 * 10**5) | string | length", None, signal.SIGINT, 130),
    ("text_of_dicts", "([[{1: 2}] * 1000] * 10**5) | string | length", None, signal.SIGTERM, 143),
    ("json_of_list", "([[1] * 1000] * 3 * 10**5) | json | length", None, signal.SIGINT, 130),
    ("lines_of_list", "([[1] * 1000] * 10**5) | pprint | length", None, signal.SIGINT, 130),
    ("json_text", "'[' ~ ('[1],' * 2 * 10**8) ~ '1]'", "json", signal.SIGINT, 130),
    ("csv", "'1,2\\n' * 10**8", "csv", signal.SIGINT, 130),
    ("jsonl", "'[1]\\n' * 10**8", "jsonl", signal.SIGTERM, 143),
    ("findall", "'ab' * 10**8", "{regex: a, mode: findall}", signal.SIGINT, 130),
]
AFTER = 1.0  # seconds of the processor that may pass until it has ended

# x nested as deep as the loop is long: the trace shows each of the values
DEEP = ("defs:\n  x: {data: []}\nlastOf:\n- for: {i: '${ range(15000) }'}\n  repeat:\n    defs:\n      x: '${ [x] }'\n    data: 1\n"
        "  join: {as: lastOf}\n- ok\n")


def limit(size):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def run(pdl, text, args, size):
    with tempfile.TemporaryDirectory(prefix="pdl_size_") as d:
        (pathlib.Path(d) / "main.pdl").write_text(text)
        p = subprocess.run([pdl] + args + ["main.pdl"], cwd=d, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
                           preexec_fn=limit(size))
        return p.returncode, p.stdout, p.stderr


def check_expression(pdl, expression, message):
    status, out, err = run(pdl, "data: ${ %s }\n" % expression, [], MEMORY)
    if message is None:
        return None if status == 0 else "exit status %d: %s" % (status, err)
    if status != 1 or not err.startswith("main.pdl:1 - ") or message not in err:
        return "exit status %d: %s" % (status, (err or out)[:300])
    return None


def check_caught(pdl):
    status, out, err = run(pdl, "data: ${ 'x' * 10**9 }\nfallback: small\n", [], MEMORY)
    return None if (status, out.strip()) == (0, "small") else "exit status %d: %s%s" % (status, out, err)


def check_loop(pdl):
    """Messages of iterations that nobody can see are not kept."""
    loop = "repeat: ${ i + 1 }\nindex: i\nmaxIterations: 3000000\njoin: {as: lastOf}\ncontribute: [result]\n"
    status, out, err = run(pdl, loop, [], MEMORY)
    return None if (status, out.strip()) == (0, "3000000") else "exit status %d: %s%s" % (status, out[:100], err)


def check_trace(pdl):
    status, out, err = run(pdl, DEEP, ["-t", "t.json"], MEMORY)
    return None if (status, out.strip()) == (0, "ok") else "exit status %d: %s%s" % (status, out, err)


def cpu_seconds(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_signal(pdl, expression, parser, sig, want):
    """The signal comes when the process has worked for a while; it then ends in a fraction of what is left."""
    text = 'text: "${ %s }"\nfallback: caught\n' % expression + ("parser: %s\n" % parser if parser else "")
    with tempfile.TemporaryDirectory(prefix="pdl_size_") as d:
        (pathlib.Path(d) / "main.pdl").write_text(text)
        p = subprocess.Popen([pdl, "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while p.poll() is None and cpu_seconds(p.pid) < 0.7:
            time.sleep(0.02)
        if p.returncode is not None:
            return "ended before the signal: %s%s" % tuple(x[:300] for x in p.communicate())
        worked = cpu_seconds(p.pid)
        p.send_signal(sig)
        spent = children_seconds()
        try:
            out, err = p.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            return "did not end"
        spent = children_seconds() - spent - worked
        if p.returncode != want or "main.pdl:" not in err or "caught" in out or spent > AFTER:
            return "exit status %d after %.1f s: %s%s" % (p.returncode, spent, out[:100], err)
    return None


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    pdl, wanted = str(build / "pdl"), sys.argv[2:]
    tests = [(n, check_expression, (e, m)) for n, e, m in EXPRESSIONS] + [("caught", check_caught, ()), ("trace", check_trace, ()), ("loop", check_loop, ())]
    tests += [("signal_" + n, check_signal, (e, p, s, w)) for n, e, p, s, w in LONG]
    passed = failed = 0
    for name, check, args in tests:
        if wanted and name not in wanted:
            continue
        try:
            why = check(pdl, *args)
        except subprocess.TimeoutExpired:
            why = "did not end in %d s" % SECONDS
        passed, failed = passed + (why is None), failed + (why is not None)
        if why is not None:
            print("FAIL %s: %s" % (name, why))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
