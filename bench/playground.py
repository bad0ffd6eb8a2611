#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""playground.py -- the WebAssembly module and the playground: sizes, times in Node beside those of the command, and the bounds of the page in Chromium.

    bench/playground.py [--pdl build/pdl] [--folder build-wasm] [--repeat 3]

`make playground` makes what is measured. Needs node, and for the page Chromium and npm's playwright-core, which is fetched on first use. Prints one
line `name value unit` for each measure, and the bound of the specification beside it. Times in Node are processor time: of the first check that of the
thread that checks, and beside it that of all threads, since V8 compiles what it runs for the first time in others. Those of the page are time by the clock: of a machine that does other work at the same time they are too long, so the best of --repeat counts. Ends with status 1 when a size is beyond its bound.
"""
import argparse
import functools
import gzip
import http.server
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests import browser_of, node_of  # noqa: E402

MAX_BYTES = 2 << 20
ROWS = [("compile", "compile the module", None), ("cold", "check 5 000 lines, first", 50),
        ("first", "with threads that compile", None), ("check", "check 5 000 lines, warm", 50), ("start", "start a program", 5)]
PAGE = [("paint", "first paint", 300), ("ready", "language ready", None), ("key", "key to its problems, median", 30), ("large", "the same in 5 000 lines", None),
        ("piece", "piece of a model to pixel", 50)]


def put(name, value, unit, bound=None):
    print("%-32s %10.2f %-6s%s" % (name, value, unit, "  at most %g" % bound if bound else ""), flush=True)


def steps(*argv):
    p = subprocess.run(["node", str(ROOT / "bench/playground.mjs"), *map(str, argv)], capture_output=True, text=True, timeout=300, check=False)
    if p.returncode:
        sys.exit(p.stderr[-2000:])
    return json.loads(p.stdout)


def best(repeat, *argv):
    rows = [steps(*argv) for _ in range(repeat)]
    return {k: min(r[k] for r in rows) for k in rows[0]}


def processor(argv):
    """Seconds that a command takes of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def native(pdl, repeat):
    """Processor time of `pdl check` for the program of playground.mjs, in ms, without what an empty one takes."""
    large = "text:\n" + "".join('- "line %d ${ 1 + %d }"\n- data:\n    a: %d\n    key%d: [1, 2, "text %d"]\n' % (i, i, i, i, i) for i in range(1250))
    with tempfile.TemporaryDirectory() as folder:
        times = {}
        for name, text in (("large", large), ("empty", "text: a\n")):
            file = pathlib.Path(folder) / (name + ".pdl")
            file.write_text(text, "utf-8")
            times[name] = min(processor([pdl, "check", str(file)]) for _ in range(5 * repeat))
    return (times["large"] - times["empty"]) * 1000


def page(o, folder):
    modules, why = node_of.modules(pathlib.Path(o.pdl).parent, "playwright-core@1.49.0")
    chromium, none = browser_of.browser()
    if not modules or not chromium:
        print("the page is not measured: %s" % (why or none))
        return

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found = best(o.repeat, "page", modules, chromium, "http://127.0.0.1:%d" % server.server_port)
    for key, name, bound in PAGE:
        put(name, found[key], "ms", bound)
    server.shutdown()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--pdl", default=str(ROOT / "build/pdl"))
    ap.add_argument("--folder", default=str(ROOT / "build-wasm"))
    ap.add_argument("--repeat", type=int, default=3)
    o = ap.parse_args()
    folder = pathlib.Path(o.folder).resolve()
    if not (folder / "playground/index.html").is_file():
        sys.exit("playground.py: there is no playground in %s: `make playground`" % folder)
    bytes_ = (folder / "libpdl.wasm").read_bytes()
    packed = len(gzip.compress(bytes_, 9))
    put("module", len(bytes_) / 1e6, "MB")
    put("module with gzip", packed / 1e6, "MB", MAX_BYTES / 1e6)
    put("scripts of the page, with gzip", sum(len(gzip.compress((folder / "playground" / n).read_bytes(), 9)) for n in ("app.js", "worker.js")) / 1e6, "MB")
    found, beside = best(o.repeat, "node", folder / "pdl-lang"), native(o.pdl, o.repeat)
    for key, name, bound in ROWS:
        put(name, found[key], "ms", bound)
    put("check, the command", beside, "ms")
    put("check, warm, per command", found["check"] / max(beside, 0.01), "times")
    page(o, folder / "playground")
    return int(packed > MAX_BYTES)


if __name__ == "__main__":
    sys.exit(main())
