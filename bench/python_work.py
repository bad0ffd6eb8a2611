# SPDX-License-Identifier: Apache-2.0
"""python_work.py PACKAGE [CALLS] -- what python_rows.py measures inside a process: lines `name seconds`. PACKAGE: libpdl, or pdl for the reference."""
import asyncio
import sys
import time

MANY, FEW, INTS = 2000, 100, 10 ** 6
LOOP = "for: {i: '${ range(%d) }'}\nrepeat: ${ %s }\njoin: {as: lastOf}"


def best(action, times, rounds=5):
    """Seconds of one action, the best of some rounds."""
    action()
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(times):
            action()
        found.append((time.perf_counter() - start) / times)
    return min(found)


def calls(run, n):
    """A call of a Python function from an expression: a loop with it and one without."""
    return (best(lambda: run(LOOP % (n, "f(i)"), f=lambda x: x), 1) - best(lambda: run(LOOP % (n, "i + 1"), f=None), 1)) / n


def libpdl(n_calls):
    import libpdl as package
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
        start = time.perf_counter()
        asyncio.run(all_at_once())
        yield "concurrent_calls", time.perf_counter() - start


def pdl(n_calls):
    from pdl.pdl import exec_str

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
