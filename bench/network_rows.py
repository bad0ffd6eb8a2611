# SPDX-License-Identifier: Apache-2.0
"""network_rows.py -- model calls on loopback, against a C server that is never the bottleneck, beside a bare libcurl-multi loop, the asyncio client of the
openai package, and the reference where it survives."""
import os
import shlex
import pathlib
import re
import statistics
import subprocess

from harness import Machine, ROOT, SHARED, alternate, ended, span
from peers import quiet_environment
import prefix_first

HERE = pathlib.Path(__file__).resolve().parent
HEAD = ["work", "pdl", "limit", "peers (time, memory, times as long as pdl)"]
CALLS, STREAMS, TOKENS = 10000, 1000, 100
CLIENTS, WARM, REQUESTS = 1000, 10000, 100000


class Server:
    """bench/http_server with its arguments; gone when its standard input is closed."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen([str(folder / "http_server")] + [str(a) for a in arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.base = "http://127.0.0.1:%d/v1" % int(self.process.stdout.readline())
        self.env = dict(quiet_environment(), OPENAI_API_BASE=self.base, OPENAI_BASE_URL=self.base, OPENAI_API_KEY="none", PDL_PATH=str(ROOT))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def build(folder):
    cc = shlex.split(os.environ.get("CC", "cc"))
    for name, libraries in (("http_server", []), ("curl_loop", ["-lcurl"]), ("latency", []), ("serve_load", [])):
        subprocess.run([*cc, "-O2", "-D_GNU_SOURCE", "-o", str(folder / name), str(HERE / (name + ".c"))] + libraries, check=True)


def words(figure, ours):
    return "fails" if figure is None else "%s, %.3g×" % (figure, figure.seconds / ours.seconds)


def first_call(a, peers, folder):
    """A cold process with one call, beside a C program that links libcurl and makes the same request."""
    commands = {"pdl": [a.pdl, "--stream", "none", SHARED / "model_call.pdl"]}
    with Server(folder, 0) as server:
        commands["bare libcurl"] = [folder / "curl_loop", server.base + "/chat/completions", 1, 1]
        reference = peers.reference()
        if reference:
            commands["reference"] = reference + ["--stream", "none", SHARED / "model_call.pdl"]
        got = alternate(commands, a.runs, folder, server.env)
    ours, bare = got["pdl"], got["bare libcurl"]
    more = ours.seconds - bare.seconds
    others = "; ".join("%s %s" % (name, words(figure, ours)) for name, figure in got.items() if name != "pdl")
    shown = "%s (%s over libcurl)" % (ours, span(abs(more)))
    return ["first model call of a process", shown, "<= 2.5× bare libcurl, processor time", others], ours.work <= 2.5 * bare.work


def many_calls(a, peers, folder):
    """CALLS calls of 50 ms at once."""
    program, python, reference = SHARED / "map_calls.pdl", peers.environment("agents"), peers.reference()
    with Server(folder, 50) as server:
        commands = {"pdl": [a.pdl, "--stream", "none", "--jobs", CALLS, "-d", "n: %d" % CALLS, program],
                    "bare libcurl": [folder / "curl_loop", server.base + "/chat/completions", CALLS, CALLS]}
        got = alternate(commands, a.runs, folder, server.env)
        fewer = {} # peers that 10 000 connections bring to a crawl
        if python:
            fewer["openai asyncio, 1 000 calls"] = [python, HERE / "peers" / "calls.py", server.base, 1000]
        if reference:
            fewer["reference, 1 000 calls"] = reference + ["--stream", "none", "-d", "n: 1000", program]
        got.update(alternate(fewer, 1, folder, server.env))
    ours, bare = got["pdl"], got["bare libcurl"]
    others = "; ".join("%s %s" % (name, words(figure, ours)) for name, figure in got.items() if name != "pdl")
    each = (ours.mb - bare.mb) * 1024 / CALLS
    shown = "%s (%.2f× bare libcurl, %.1f KB a call above it)" % (ours, ours.seconds / bare.seconds, each)
    return ["map of 10 000 calls of 50 ms", shown, "<= 1.3× bare libcurl, 32 KB a call above it", others], ours.seconds <= 1.3 * bare.seconds and each <= 32


def recorded(name, calls, jobs, delay_ms, limit):
    """The same calls with a trace and a journal, beside a run without."""
    def part(a, peers, folder):
        command = [a.pdl, "--stream", "none", "--jobs", jobs, "-d", "n: %d" % calls]
        fresh = ["sh", "-c", 'rm -f run.journal; exec "$@"', "sh"] # a recording is always a new one
        with Server(folder, delay_ms) as server:
            got = alternate({"on": fresh + command + ["--record", "run.journal", "--trace", "trace.json", SHARED / "map_calls.pdl"],
                             "off": command + [SHARED / "map_calls.pdl"]}, a.runs, folder, server.env)
        on, off = got["on"], got["off"]
        ratio = on.seconds / off.seconds
        shown = "%s (%.2f× off, %s a call)" % (on, ratio, span(max(on.seconds - off.seconds, 0) / calls))
        return [name, shown, "<= %g× off" % limit if limit else "", "off %s" % off], not limit or ratio <= limit
    return part


def streams(a, peers, folder):
    """STREAMS streaming calls at once, TOKENS chunks each."""
    with Server(folder, 0, TOKENS) as server:
        ours = alternate({"pdl": [a.pdl, "--jobs", STREAMS, "-d", "n: %d" % STREAMS, HERE / "programs" / "stream_calls.pdl"]}, a.runs, folder, server.env)["pdl"]
    each, most = ours.work / (STREAMS * TOKENS), Machine(folder).most(8e-6)
    shown = "%s, %.3g chunks a second, %s of processor time a chunk" % (ours, STREAMS * TOKENS / ours.seconds, span(each))
    return ["1 000 streams of 100 tokens at once", shown, "<= %s a chunk (8 us where the bare loop takes %g s)" % (span(most), Machine.LOOP), ""], each <= most


def chunk_latency(a, peers, folder):
    """From the write of a chunk on the server to its bytes on standard output, one stream, a chunk a millisecond."""
    with Server(folder, 0, 500, 1000) as server:
        run = subprocess.Popen([a.pdl, str(SHARED / "model_call.pdl")], stdout=subprocess.PIPE, env=dict(os.environ, **server.env))
        out = subprocess.run([str(folder / "latency")], stdin=run.stdout, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        run.wait()
    _, median, late = int(out[0]), float(out[1]), float(out[2])
    most = Machine(folder).most(100)
    return ["chunk on the socket to chunk on standard output", "%.0f us median, %.0f us 99th percentile" % (median, late),
            "<= %.0f us median (100 where the bare loop takes %g s)" % (most, Machine.LOOP), ""], median <= most


def resident(pid):
    """Megabytes."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text("ascii")).group(1)) / 1024


def served(a, peers, folder):
    """pdl serve with a program that asks no model, under CLIENTS clients that never pause; its memory after some and after many requests."""
    (folder / "echo.pdl").write_text('text: "You said: ${ question }"\n', "utf-8")
    server = subprocess.Popen([a.pdl, "serve", "--port", "0", "echo.pdl"], cwd=folder, stderr=subprocess.PIPE, text=True)
    line = server.stderr.readline()
    if "built without" in line:
        return ["pdl serve, 1 000 clients", "built without a server", "", ""], True
    port = re.search(r":(\d+)/v1", line).group(1)

    def load(n):
        out = subprocess.run([str(folder / "serve_load"), port, str(CLIENTS), str(n), "echo"], stdout=subprocess.PIPE, text=True, check=True).stdout
        return [float(x) for x in out.split()]

    load(WARM)
    warm, runs = resident(server.pid), [load(REQUESTS) for _ in range(a.runs)]
    last = resident(server.pid)
    server.terminate()
    server.communicate()
    rates = [REQUESTS / r[0] for r in runs]
    rate = statistics.median(rates)
    shown = "%.3g requests a second ±%.2g, half of them in %.3g ms, 99 %% in %.3g ms; %.1f MB after 10 000 requests, %.1f MB after %s more" % (
        rate, (max(rates) - min(rates)) / 2, statistics.median(r[1] for r in runs), statistics.median(r[2] for r in runs), warm, last,
        "{:,}".format(REQUESTS * a.runs).replace(",", " "))
    least = 5000 / Machine(folder).slowness
    return ["`pdl serve`, 1 000 clients, no model", shown, ">= %.0f requests a second (5 000 where the bare loop takes %g s), memory flat over 100 000" % (least, Machine.LOOP),
            ""], rate >= least and last <= warm + 3


PARTS = [first_call, many_calls,
         recorded("trace and journal: map of 10 000 calls of 50 ms", 10000, 10000, 50, 1.5),
         recorded("trace and journal: 1 000 calls one after another, no model to wait for", 1000, 1, 0, None),
         streams, chunk_latency, prefix_first.row, served]


def rows(a, peers, folder):
    build(folder)
    return [part(a, peers, folder) for part in PARTS]
