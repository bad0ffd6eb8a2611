#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_slots.py BUILD_DIR [NAME ...] -- calls that wait to be sent are bounded, whoever makes them: a program that looks at no reply takes
no memory for each, its output is in order, nothing waits for ever, and Ctrl-C ends it at once.

Python standard library only. Last line: `N passed, N failed`.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import loopback  # noqa: E402
from loopback import Place, Server, same  # noqa: E402

FLAT_MB = 12  # what a run may take beyond the same run with a hundredth of the calls
ROOM = 1024 + 64 + 1  # those that wait, those that are open, and the one in whose place a fiber waits


def slow_build(build):
    return "asan" in build or "ubsan" in build or "tsan" in build


def unseen(n, call):
    """A loop of calls whose replies nobody looks at; it keeps nothing of an iteration."""
    return "repeat:\n  lastOf:\n  - %s\n  - {text: '', contribute: []}\nmaxIterations: %d\njoin: {as: lastOf}\n" % (call, n)


def say(more=""):
    return "{model: openai/m, input: q, contribute: []%s}" % more


def peak_mb(place, program, *args):
    """The most memory of the run in MB."""
    (place.dir / "p.pdl").write_text(program)
    # The sanitizer keeps what was released, up to 256 MB by default, to find its later use.
    options = ":".join(filter(None, [place.env.get("ASAN_OPTIONS"), "quarantine_size_mb=1"]))
    env = {**place.env, "ASAN_OPTIONS": options}
    p = subprocess.Popen([place.pdl, *args, "p.pdl"], cwd=place.dir, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    out = p.stdout.read()
    p.stdout.close()
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    same(p.returncode, 0, out[-300:].decode())
    return use.ru_maxrss / 1024


def test_a_million_calls_without_a_service(build):
    n = 20000 if slow_build(build) else 1000000
    call = say(", parameters: {mock_response: hello}")
    few, many = (peak_mb(Place(build), unseen(k, call), "--stream", "none") for k in (n // 100, n))
    assert many < few + FLAT_MB, "%.1f MB for %d calls, %.1f for a hundredth" % (many, n, few)


def test_calls_of_a_service(build):
    n = 2000 if slow_build(build) else 10000
    for stream in ("none", "result"):
        with Server(lambda body, k: "v") as s:
            few, many = (peak_mb(Place(build, s), unseen(k, say()), "--stream", stream) for k in (n // 5, n))
            same(len(s.requests), n // 5 + n)
        assert many < few + FLAT_MB, "%s: %.1f MB for %d calls, %.1f for a fifth" % (stream, many, n, few)


def measure(p):
    for line in open("/proc/%d/status" % p.pid):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024


def ends_at_once(build, program, sig=signal.SIGINT, status=130, limit=60):
    """A service that never answers: the run makes no more calls than there is room for, and ends with the signal."""
    with Server(lambda body, k: "v", delay=600) as s:
        place = Place(build, s)
        p = place.start("p.pdl", program=program)
        time.sleep(4 if slow_build(build) else 1.5)
        limit *= 5 if slow_build(build) else 1
        mb, begin = measure(p), time.monotonic()
        p.send_signal(sig)
        try:
            err = p.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            raise
        took = time.monotonic() - begin
        same(p.returncode, status, err[-300:])
        assert mb < limit, "%.1f MB while it waits" % mb
        assert took < (6 if slow_build(build) else 2), "ends after %.1f s" % took
        assert s.most_open <= 64, "%d calls are open" % s.most_open


def test_a_service_that_never_answers(build):
    ends_at_once(build, unseen(10**9, say()))
    ends_at_once(build, unseen(10**9, say()), signal.SIGTERM, 143)


def test_functions_and_maps_that_never_look(build):
    ends_at_once(build, "lastOf:\n- defs:\n    f: {function: {}, return: %s}\n  data: ''\n- %s"
                 % (say(), unseen(10**9, "{call: '${ f }'}").replace("\n", "\n  ")))
    ends_at_once(build, "for: {i: '${ range(10**5) }'}\nmap: {lastOf: [%s, x]}\njoin: {as: lastOf}\n" % say(), limit=150)


def test_embeddings_nobody_looks_at(build):
    def reply(body, k):
        return 200, {}, {"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1},
                         "data": [{"object": "embedding", "index": i, "embedding": [1.0]} for i in range(len(body["input"]))]}
    with Server(reply, delay=600) as s:
        place = Place(build, s)
        p = place.start("p.pdl", program="""lastOf:
- for: {i: "${ range(10**6) }"}
  repeat: {lastOf: ["${ stdlib.embed('openai/e', 'text ' ~ i) }", {text: "", contribute: []}]}
  join: {as: lastOf}
""")
        time.sleep(4 if slow_build(build) else 1.5)
        mb = measure(p)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=20)
        same(p.returncode, 130)
        assert mb < (500 if slow_build(build) else 100), "%.1f MB while it waits" % mb


# Each makes more calls than there is room for; what it prints does not depend on the order in which fibers continue.
N = 2 * ROOM
COUNTED = ",".join("n%d" % i for i in range(N))
ORDERS = {
    "loop": ("for: {i: '${ range(%d) }'}\nrepeat: {model: openai/m, input: 'n${ i }'}\njoin: {with: ','}\n" % N, COUNTED),
    "map": ("for: {i: '${ range(%d) }'}\nmap: {model: openai/m, input: 'n${ i }'}\njoin: {with: ','}\n" % N, COUNTED),
    "maps of loops": ("""
for: {i: "${ range(40) }"}
map:
  for: {k: "${ range(60) }"}
  repeat: {model: openai/m, input: "n${ 100 * i + k }"}
  join: {with: ","}
join: {with: ","}
""", ",".join("n%d" % (100 * i + k) for i in range(40) for k in range(60))),
    "functions in functions": ("""
defs:
  f: {function: {i: int}, return: {model: openai/m, input: "n${ i }"}}
  g: {function: {i: int}, return: {text: [{call: "${ f }", args: {i: "${ i }"}}, ";"]}}
for: {i: "${ range(%d) }"}
repeat: {call: "${ g }", args: {i: "${ i }"}}
""" % N, "".join("n%d;" % i for i in range(N))),
    "a call that fails": ("""
text:
- for: {i: "${ range(%d) }"}
  repeat: {lastOf: [{model: openai/m, input: "${ 'bad' if i == 1500 else 'n' ~ i }", fallback: caught, contribute: []}, {text: "", contribute: []}]}
  join: {as: lastOf}
- done
""" % N, "done"),
    "a map that fails": ("""
text:
- text:
  - for: {i: "${ range(%d) }"}
    map: {lastOf: [{model: openai/m, input: "n${ i }", contribute: []}, "${ nope if i == 3 else '' }"]}
    join: {as: lastOf}
  fallback: caught
- {for: {i: "${ range(%d) }"}, repeat: {lastOf: [{model: openai/m, input: "n${ i }", contribute: []}, ""]}, join: {as: lastOf}}
""" % (N, N), "caught"),
    "a callback of Python": ("""
defs:
  f:
    function: {n: int}
    return:
      lastOf:
      - for: {i: "${ range(n) }"}
        repeat: {lastOf: [{model: openai/m, input: "n${ i }", contribute: []}, ""]}
        join: {as: lastOf}
      - {model: openai/m, input: last}
  o: {lang: python, code: "class A:\\n    def of(self, f, n): return f(n)\\n    def one(self): return 1\\nresult = A()"}
text:
- for: {i: "${ range(1500) }"}
  repeat: {lastOf: ["${ o.one() }", {text: "", contribute: []}]}
  join: {as: lastOf}
- "${ o.of(f, %d) }"
- for: {i: "${ range(300) }"}
  repeat: {lastOf: ["${ o.of(f, 0) }", {text: "", contribute: []}]}
  join: {as: lastOf}
""" % N, "last"),
    "a program in a program": ("""
lang: python
code: |
  from pdl.pdl import exec_str
  i = "$" + "{ i }"
  result = exec_str("{for: {i: '$" + "{ range(%d) }'}, repeat: {model: openai/m, input: 'n" + i + "'}, join: {with: ','}}")
""" % N, COUNTED),
}


def test_order(build):
    seeds = (0, 3) if slow_build(build) else (0, 2)
    with Server(lambda body, k: (400, {}, {"error": {"message": "no"}}) if body["messages"][-1]["content"] == "bad"
                else body["messages"][-1]["content"]) as s:
        for name, (program, want) in ORDERS.items():
            for seed in seeds:
                for jobs in (("1", "64") if seed < 2 else ("7",)):
                    place = Place(build, s, **({"PDL_STRESS": "sched:%d" % seed} if seed else {}))
                    try:
                        status, out, err = place.run("--jobs", jobs, *(("--stream", "none") if seed % 2 else ()), "p.pdl", program=program.lstrip(), timeout=120)
                    except subprocess.TimeoutExpired:
                        raise AssertionError("%s, seed %d: never ends" % (name, seed))
                    got = out.rstrip("\n")
                    if (status, got) != (0, want):
                        at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
                        raise AssertionError("%s, seed %d, %s jobs: status %d, from %d: %r, not %r\n%s"
                                             % (name, seed, jobs, status, at, got[at:at + 50], want[at:at + 50], err[-500:]))


OBJECT = """
defs:
  o:
    lang: python
    code: |
      import time
      class O:
          def write(self, n):
              time.sleep(0.1)
              open("calls", "a").write("%%d\\n" %% n)
              return n
          def fail(self, n): raise ValueError("no %%d" %% n)
          here = 5
      result = O()
lastOf:
- %s
- text: end
"""


def test_calls_of_objects_nobody_looks_at(build):
    """They are calls of Python: each is made, and an exception is an error, though nobody asks for the result."""
    calls = {
        "{defs: {x: '${ o.write(1) }', y: '${ o.write(2) }'}, text: ''}": ("1\n2\n", 0, "end", ""),
        "{for: {i: [1, 2, 3]}, map: {lastOf: ['${ o.write(i) }', '']}, join: {as: lastOf}}": ("1\n2\n3\n", 0, "end", ""),
        "{defs: {x: '${ o.fail(7) }'}, text: ''}": ("", 1, "", "no 7"),
        "{lastOf: ['${ o.fail(7) }', '${ o.fail(8) }', ''], contribute: []}": ("", 1, "", "no 7"),
        "{lastOf: ['${ o.fail(7) }', 'tried'], fallback: {lastOf: ['${ o.write(3) }', '']}}": ("3\n", 0, "end", ""),
        "{defs: {x: '${ o.gone is defined }', y: '${ o.here }', z: '${ o.gone|default(1) }'}, text: ''}": ("", 0, "end", ""),
    }
    for call, (made, status, want, error) in calls.items():
        place = Place(build)
        got, out, err = place.run("--stream", "none", "p.pdl", program=OBJECT.lstrip() % call)
        written = place.dir / "calls"
        same((got, out.strip() if not got else "", written.read_text() if written.exists() else ""), (status, want, made), call + err)
        assert error in err, (call, err)


def test_maps_that_begin_objects(build):
    """Each iteration begins one call and ends: only so many are in flight."""
    n = 20000
    program = OBJECT.lstrip() % ("{for: {i: '${ range(%d) }'}, map: {lastOf: ['${ o.write(i) }', '']}, join: {as: lastOf}}" % n)
    place = Place(build, PDL_DEBUG="effect")
    (place.dir / "log").write_text("")
    with open(place.dir / "log", "w") as log:
        (place.dir / "p.pdl").write_text(program)
        p = subprocess.Popen([place.pdl, "p.pdl"], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        time.sleep(5 if slow_build(build) else 2)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=30)
    same(p.returncode, 130)
    lines = (place.dir / "log").read_text().splitlines()
    begun = sum("object" in line and line.endswith("starts") for line in lines)
    ended = sum("object" in line and "ends" in line for line in lines)
    assert 0 < begun - ended <= 130, "%d calls begun, %d ended" % (begun, ended)


SERVER = str(pathlib.Path(__file__).resolve().parent.parent / "mcp" / "server.py")


def tool_place(build):
    place = Place(build)
    (place.dir / "servers.json").write_text(json.dumps({"mcpServers": {"s": {"command": sys.executable, "args": [SERVER, "good", str(place.dir / "log")]}}}))
    place.env["PDL_MCP_CONFIG"] = str(place.dir / "servers.json")
    return place


def tool_program(n, call):
    return "lastOf:\n- {def: s, import: 'mcp:s'}\n- " + unseen(n, call).replace("\n", "\n  ") + "\n- done\n"


def calls_in(place):
    return sum('"tools/call"' in line for line in (place.dir / "log").read_text().splitlines())


def test_tools_nobody_looks_at(build):
    """Each call is made once, and those that wait take no memory for each."""
    n = 400 if slow_build(build) else 4000
    places = [tool_place(build) for _ in range(2)]
    few, many = (peak_mb(p, tool_program(k, "\"${ s.echo('x') }\""), "--stream", "none") for p, k in zip(places, (n // 10, n)))
    same([calls_in(p) for p in places], [n // 10, n])
    assert many < few + FLAT_MB, "%.1f MB for %d calls, %.1f for a tenth" % (many, n, few)


def test_a_tool_that_never_answers(build):
    place = tool_place(build)
    p = place.start("p.pdl", program=tool_program(10**9, "\"${ s.slow(600) }\""))
    end = time.monotonic() + 60
    while not ((place.dir / "log").exists() and calls_in(place)) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(4 if slow_build(build) else 1.5)
    mb = measure(p)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=30)
    same((p.returncode, calls_in(place)), (130, 1))
    assert mb < (300 if slow_build(build) else 60), "%.1f MB while it waits" % mb


def test_a_million_calls_that_fail(build):
    n = 10000 if slow_build(build) else 200000
    call = say(", parameters: {mock_response: litellm.InternalServerError, num_retries: 0}")
    few, many = (peak_mb(Place(build), unseen(k, call), "--stream", "none") for k in (n // 100, n))
    assert many < few + FLAT_MB, "%.1f MB for %d calls, %.1f for a hundredth" % (many, n, few)


def test_one_kind_does_not_hold_up_the_other(build):
    """While many iterations wait for the slots of a model that is slow, those that use objects continue."""
    with Server(lambda body, k: "v", delay=600) as s:
        place = Place(build, s)
        p = place.start("p.pdl", program=OBJECT.lstrip() % """for: {i: "${ range(3000) }"}
  map:
    if: ${ i % 2 }
    then: {model: openai/m, input: q, contribute: []}
    else: {lastOf: ["${ o.write(i) }", "${ o.write(i) }", ""]}
  join: {as: lastOf}""")
        time.sleep(10 if slow_build(build) else 5)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=20)
        same(p.returncode, 130)
    made = len((place.dir / "calls").read_text().splitlines())
    assert made >= (10 if slow_build(build) else 20), "%d calls of objects" % made


if __name__ == "__main__":
    sys.exit(loopback.main([f for n, f in list(globals().items()) if n.startswith("test_")], sys.argv))
