# SPDX-License-Identifier: Apache-2.0
"""python_work.py PACKAGE [CALLS] -- what python_rows.py measures inside a process: lines `name figure`. PACKAGE: libpdl, or pdl for the reference.

What computes is measured in processor time, which other work of the machine does not change; what waits, in both."""
import asyncio
import resource
import sys
import time

MANY, FEW, INTS, RUNS = 2000, 100, 10 ** 6, 10 ** 5
LOOP = "for: {i: '${ range(%d) }'}\nrepeat: ${ %s }\njoin: {as: lastOf}"


def best(action, times, rounds=5):
    """Seconds of the processor for one action, the best of some rounds."""
    action()
    found = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(times):
            action()
        found.append((time.process_time() - start) / times)
    return min(found)


def megabytes():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * resource.getpagesize() / 1e6


def grows(action, times):
    """Megabytes that many actions leave behind, after as many to begin with."""
    for _ in range(times // 10):
        action()
    before = megabytes()
    for _ in range(times):
        action()
    return megabytes() - before


def calls(run, n):
    """A call of a Python function from an expression: a loop with it and one without."""
    return (best(lambda: run(LOOP % (n, "f(i)"), f=lambda x: x), 1) - best(lambda: run(LOOP % (n, "i + 1"), f=None), 1)) / n


def libpdl(n_calls):
    bare = megabytes()
    import libpdl as package
    package.run("text: hi")
    yield "memory", megabytes() - bare
    yield "warm_run", best(lambda: package.run("text: hi"), 500)
    yield "function_call", calls(lambda text, **scope: package.run(text, scope), MANY)
    code = package.loads("for: {i: '${ range(%d) }'}\nrepeat: {lang: python, code: result = 1}\njoin: {as: lastOf}" % MANY)
    yield "code_block", best(code.run, 1) / MANY
    numbers, same = list(range(INTS)), package.loads("data: ${ x }")
    yield "million_integers", best(lambda: same.run(x=numbers), 1)
    engine = package.Engine(jobs=n_calls)
    ask = engine.loads("model: openai/m\ninput: hi")

    async def all_at_once():
        await asyncio.gather(*(ask.arun() for _ in range(n_calls)))
    if n_calls:
        asyncio.run(all_at_once())
        found = []
        for _ in range(5):
            start, worked = time.perf_counter(), time.process_time()
            asyncio.run(all_at_once())
            found.append((time.perf_counter() - start, time.process_time() - worked))
        yield "concurrent_calls", min(wall for wall, _ in found)
        yield "concurrent_work", min(work for _, work in found)
    yield "growth", grows(lambda: package.run("text: hi"), RUNS)


def pdl(n_calls):
    bare = megabytes()
    from pdl.pdl import exec_str
    exec_str("text: hi")
    yield "memory", megabytes() - bare

    def run(text, **scope):
        return exec_str(text, scope=scope, config={"yield_result": False})
    yield "warm_run", best(lambda: run("text: hi"), 5)
    yield "function_call", calls(run, FEW)
    yield "code_block", best(lambda: run("lang: python\ncode: result = 1"), 5)
    numbers = list(range(INTS))
    yield "million_integers", best(lambda: run("data: ${ x }", x=numbers), 1, 2)


if __name__ == "__main__":
    for name, seconds in {"libpdl": libpdl, "pdl": pdl}[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        print(name, seconds, flush=True)
