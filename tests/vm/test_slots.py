# SPDX-License-Identifier: Apache-2.0
"""test_slots.py -- the number of calls that wait to be sent is bounded, whoever makes them. A program that never uses its replies takes no memory for
each call, its output is in order, nothing waits for ever, and Ctrl-C ends it at once.

In `test` there are 64 slots of each kind (PDL_STRESS=slots), so a tenth of the calls fills them; in `test-all` there are as many as users have.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from .. import used_by
from ..harness.choice import ROOT, Choice
from ..model.loopback import Place, Server, same
from ..robust.kit import until_it_waits

MB = 1 << 20
SLOTS = 1024  # calls of models that wait to be sent; 64 more are open
SERVER = ROOT / "tests" / "mcp" / "server.py"


@pytest.fixture
def few(scale):
    """Whether there are only 64 slots; the variables of the environment that say so."""
    return scale(10) < 10


def place_of(few, build, server=None, **env):
    stress = ",".join(filter(None, ["slots:64" if few else "", env.pop("PDL_STRESS", "")]))
    return Place(build, server, **({"PDL_STRESS": stress} if stress else {}), **env)


def unseen(n, call):
    """A loop of calls whose replies nobody looks at; it keeps nothing of an iteration."""
    return "repeat:\n  lastOf:\n  - %s\n  - {text: '', contribute: []}\nmaxIterations: %d\njoin: {as: lastOf}\n" % (call, n)


def say(more=""):
    return "{model: openai/m, input: q, contribute: []%s}" % more


def peak_mb(place, program, *args):
    """The most memory of the run in MB."""
    (place.dir / "p.pdl").write_text(program)
    # The sanitizer keeps what was released, up to 256 MB by default, to find its later use.
    options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1"]))
    status, _, peak, out, err = used_by.run([place.pdl, *args, "p.pdl"], cwd=place.dir, env={**place.env, "ASAN_OPTIONS": options})
    same(status, 0, (out + err)[-300:].decode())
    return peak / MB


def flat(less, more, n, bytes_for_each=1200):
    """More calls, of which there are n, take no more memory than fewer. What the sanitizers keep beside an allocation differs from run to run."""
    most = (8 if Choice.sanitized else 2) + n * bytes_for_each / MB
    assert more < less + most, "%.1f MB for %d calls, %.1f for fewer" % (more, n, less)


def test_many_calls_without_a_service(build, few, scale):
    n = min(scale(1000000), 1000000)
    call = say(", parameters: {mock_response: hello}")
    less, more = (peak_mb(place_of(few, build), unseen(k, call), "--stream", "none") for k in (n // 100, n))
    flat(less, more, n, 12)


def test_many_calls_that_fail(build, few, scale):
    n = min(scale(200000), 200000)
    call = say(", parameters: {mock_response: litellm.InternalServerError, num_retries: 0}")
    less, more = (peak_mb(place_of(few, build), unseen(k, call), "--stream", "none") for k in (n // 100, n))
    flat(less, more, n, 60)


@pytest.mark.parametrize("stream", ["none", "result"])
def test_calls_of_a_service(build, few, scale, stream):
    n = min(scale(10000), 10000)
    with Server(lambda body, k: "v") as s:
        less, more = (peak_mb(place_of(few, build, s), unseen(k, say()), "--stream", stream) for k in (n // 5, n))
        same(len(s.requests), n // 5 + n)
    flat(less, more, n)


# --- services that never answer ---------------------------------------------------------------------------------------


def measure(p):
    """MB of memory that a run has now."""
    for line in pathlib.Path("/proc/%d/status" % p.pid).read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def ends_at_once(place, program, sig=signal.SIGINT, status=130, limit=60):
    """The run makes no more calls than there is room for, and ends with the signal."""
    p = place.start("p.pdl", program=program)
    until_it_waits(p)
    mb, begin = measure(p), time.monotonic()
    p.send_signal(sig)
    err = p.communicate(timeout=60)[1]
    took = time.monotonic() - begin
    same(p.returncode, status, err[-300:])
    assert mb < limit * (5 if Choice.sanitized else 1), "%.1f MB while it waits" % mb
    assert took < 6, "ends after %.1f s" % took


FUNCTIONS = "lastOf:\n- defs:\n    f: {function: {}, return: %s}\n  data: ''\n- %s" % (
    say(), unseen(10**9, "{call: '${ f }'}").replace("\n", "\n  "))
EMBEDDINGS = """lastOf:
- for: {i: "${ range(10**6) }"}
  repeat: {lastOf: ["${ stdlib.embed('openai/e', 'text ' ~ i) }", {text: "", contribute: []}]}
  join: {as: lastOf}
"""
SILENT = {  # program, signal, exit status, most MB
    "calls": (unseen(10**9, say()), signal.SIGINT, 130, 60),
    "calls, SIGTERM": (unseen(10**9, say()), signal.SIGTERM, 143, 60),
    "functions": (FUNCTIONS, signal.SIGINT, 130, 60),
    "a map": ("for: {i: '${ range(10**5) }'}\nmap: {lastOf: [%s, x]}\njoin: {as: lastOf}\n" % say(), signal.SIGINT, 130, 150),
    "embeddings": (EMBEDDINGS, signal.SIGINT, 130, 100),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_service_that_never_answers(build, name):
    with Server(lambda body, k: "v", delay=600) as s:
        ends_at_once(Place(build, s), *SILENT[name])
        assert s.most_open <= 64, "%d calls are open" % s.most_open


# --- order ------------------------------------------------------------------------------------------------------------


def counted(n):
    return ",".join("n%d" % i for i in range(n))


# Each makes more calls than there is room for, CALLS; what it prints does not depend on the order in which fibers continue.
ORDERS = {
    "loop": ("for: {i: '${ range(CALLS) }'}\nrepeat: {model: openai/m, input: 'n${ i }'}\njoin: {with: ','}\n", counted),
    "map": ("for: {i: '${ range(CALLS) }'}\nmap: {model: openai/m, input: 'n${ i }'}\njoin: {with: ','}\n", counted),
    "maps of loops": ("""
for: {i: "${ range(CALLS // 60 + 1) }"}
map:
  for: {k: "${ range(60) }"}
  repeat: {model: openai/m, input: "n${ 100 * i + k }"}
  join: {with: ","}
join: {with: ","}
""", lambda n: ",".join("n%d" % (100 * i + k) for i in range(n // 60 + 1) for k in range(60))),
    "functions in functions": ("""
defs:
  f: {function: {i: int}, return: {model: openai/m, input: "n${ i }"}}
  g: {function: {i: int}, return: {text: [{call: "${ f }", args: {i: "${ i }"}}, ";"]}}
for: {i: "${ range(CALLS) }"}
repeat: {call: "${ g }", args: {i: "${ i }"}}
""", lambda n: "".join("n%d;" % i for i in range(n))),
    "a call that fails": ("""
text:
- for: {i: "${ range(CALLS) }"}
  repeat: {lastOf: [{model: openai/m, input: "${ 'bad' if i == CALLS * 2 // 3 else 'n' ~ i }", fallback: caught, contribute: []}, {text: "", contribute: []}]}
  join: {as: lastOf}
- done
""", lambda n: "done"),
    "a map that fails": ("""
text:
- text:
  - for: {i: "${ range(CALLS) }"}
    map: {lastOf: [{model: openai/m, input: "n${ i }", contribute: []}, "${ nope if i == 3 else '' }"]}
    join: {as: lastOf}
  fallback: caught
- {for: {i: "${ range(CALLS) }"}, repeat: {lastOf: [{model: openai/m, input: "n${ i }", contribute: []}, ""]}, join: {as: lastOf}}
""", lambda n: "caught"),
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
- for: {i: "${ range(CALLS * 2 // 3) }"}
  repeat: {lastOf: ["${ o.one() }", {text: "", contribute: []}]}
  join: {as: lastOf}
- "${ o.of(f, CALLS) }"
- for: {i: "${ range(CALLS // 7) }"}
  repeat: {lastOf: ["${ o.of(f, 0) }", {text: "", contribute: []}]}
  join: {as: lastOf}
""", lambda n: "last"),
    "a program in a program": ("""
lang: python
code: |
  from pdl.pdl import exec_str
  i = "$" + "{ i }"
  result = exec_str("{for: {i: '$" + "{ range(CALLS) }'}, repeat: {model: openai/m, input: 'n" + i + "'}, join: {with: ','}}")
""", counted),
}


def answer(body, k):
    asked = body["messages"][-1]["content"]
    return (400, {}, {"error": {"message": "no"}}) if asked == "bad" else asked


@pytest.mark.parametrize("name", ORDERS)
def test_order(build, few, name):
    program, want = ORDERS[name]
    n = 2 * (64 if few else SLOTS) + 130
    program, want = program.lstrip().replace("CALLS", str(n)), want(n)
    with Server(answer) as s:
        for stress, args in (("", ["--jobs", "1"]), ("", ["--jobs", "64"]), ("sched:3" if Choice.sanitized else "sched:2", ["--jobs", "7"])):
            place = place_of(few, build, s, PDL_STRESS=stress)
            status, out, err = place.run(*args, *(["--stream", "none"] if stress == "sched:3" else []), "p.pdl", program=program, timeout=200)
            got = out.rstrip("\n")
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            assert (status, got) == (0, want), "%s %s: status %d, from %d: %r, not %r\n%s" % (
                stress, args, status, at, got[at:at + 50], want[at:at + 50], err[-500:])


# --- objects of Python ------------------------------------------------------------------------------------------------

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


def until(met):
    end = time.monotonic() + 60
    while not met() and time.monotonic() < end:
        time.sleep(0.05)


def test_maps_that_begin_objects(build):
    """Each iteration begins one call and ends: only so many are in flight."""
    place, n = Place(build, PDL_DEBUG="effect"), 20000
    log = place.dir / "log"
    with open(log, "w") as f:
        (place.dir / "p.pdl").write_text(OBJECT.lstrip() % ("{for: {i: '${ range(%d) }'}, map: {lastOf: ['${ o.write(i) }', '']}, join: {as: lastOf}}" % n))
        p = subprocess.Popen([place.pdl, "p.pdl"], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=f)
        until(lambda: "object" in log.read_text())  # the object is made: before that a signal ends all calls, one after the other
        until_it_waits(p)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
    same(p.returncode, 130)
    lines = log.read_text().splitlines()
    begun = sum("object" in line and line.endswith("starts") for line in lines)
    ended = sum("object" in line and "ends" in line for line in lines)
    assert 0 < begun - ended <= 130, "%d calls begun, %d ended" % (begun, ended)


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
        calls = place.dir / "calls"
        until(lambda: calls.exists() and calls.read_text().count("\n") >= 20)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
        same(p.returncode, 130)
    made = calls.read_text().count("\n")
    assert 20 <= made < 1000, "%d calls of objects" % made


# --- tools ------------------------------------------------------------------------------------------------------------


def tool_place(build, **env):
    place = Place(build, **env)
    servers = {"s": {"command": sys.executable, "args": ["-I", "-S", str(SERVER), "good", str(place.dir / "log")]}}
    (place.dir / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    place.env["PDL_MCP_CONFIG"] = str(place.dir / "servers.json")
    return place


def tool_program(n, call):
    return "lastOf:\n- {def: s, import: 'mcp:s'}\n- " + unseen(n, call).replace("\n", "\n  ") + "\n- done\n"


def calls_in(place):
    return sum('"tools/call"' in line for line in (place.dir / "log").read_text().splitlines())


def test_tools_nobody_looks_at(build, few, scale):
    """Each call is made once, and those that wait take no memory for each."""
    n = min(scale(4000), 4000)
    places = [tool_place(build, **({"PDL_STRESS": "slots:64"} if few else {})) for _ in range(2)]
    less, more = (peak_mb(p, tool_program(k, "\"${ s.echo('x') }\""), "--stream", "none") for p, k in zip(places, (n // 10, n)))
    same([calls_in(p) for p in places], [n // 10, n])
    flat(less, more, n, 3000)


def test_a_tool_that_never_answers(build):
    place = tool_place(build)
    p = place.start("p.pdl", program=tool_program(10**9, "\"${ s.slow(600) }\""))
    until(lambda: (place.dir / "log").exists() and calls_in(place))
    until_it_waits(p)
    mb = measure(p)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    same((p.returncode, calls_in(place)), (130, 1))
    assert mb < (300 if Choice.sanitized else 60), "%.1f MB while it waits" % mb
