#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""view.py -- the Live Document in Chromium: the bounds of its page.

    bench/view.py [--pdl build/pdl] [--blocks N] [--chunks N]

Needs node, Chromium and npm's playwright-core, which is fetched on first use beside the command (as for `make test-view`). Prints a line for each
bound: what it is, what was measured. Times of a machine that does other work at the same time are too long: beside them is what the processor was
used for, by the main thread of the page, and by the server.
"""
import argparse
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import node_of  # noqa: E402

STEPS = """
import { createRequire } from "module";
import { readFileSync } from "fs";
const [, , modules, executablePath, address, what, trace] = process.argv;
const { chromium } = createRequire(modules + "/")("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--enable-precise-memory-info"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
const cdp = await page.context().newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
const cpu = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
const started = Date.now();
await page.goto(address);
const out = {};
if (what === "large") {
  await page.waitForSelector("#box-0");
  out.first = Date.now() - started;
  out.firstCpu = await cpu();
  out.paint = await page.evaluate(() => performance.getEntriesByName("first-paint")[0]?.startTime);
  await browser.startTracing(page, { path: trace, categories: ["toplevel", "devtools.timeline"] });
  out.frame = await page.evaluate(async () => {
    const tree = document.getElementById("tree");
    let worst = 0, last = performance.now();
    for (let i = 0; i < 120; i++) {
      tree.scrollTop += 400;
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
    }
    return worst;
  });
  await browser.stopTracing();
  const events = JSON.parse(readFileSync(trace)).traceEvents;
  const main = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}.${e.tid}`));
  out.frameCpu = Math.max(...events.filter((e) => e.name.endsWith("RunTask") && main.has(`${e.pid}.${e.tid}`)).map((e) => (e.tdur ?? 0) / 1000));
  out.memory = await page.evaluate(() => performance.memory.usedJSHeapSize);
} else {
  await page.waitForSelector("form.question input"); // the run waits for the page
  await page.click("form.question button");
  out.shown = await page.evaluate(() => new Promise((done) => {
    const seen = [], known = new Set();
    const look = () => {
      const text = document.getElementById("tree").textContent;
      for (const m of text.matchAll(/<(\\d+\\.\\d+)>/g))
        if (!known.has(m[1])) {
          known.add(m[1]);
          seen.push(Date.now() - Number(m[1]) * 1000);
        }
      if (text.includes("END") || document.getElementById("totals").textContent !== "running") done(seen);
      else requestAnimationFrame(look);
    };
    look();
  }));
  out.took = Date.now() - started;
}
console.log(JSON.stringify(out));
await browser.close();
"""


class Model:
    """Streams chunks, some of them with the time at which they were sent."""

    def __init__(self, chunks, every, wait):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for i in range(chunks + 1):
                    text = "END" if i == chunks else "<%.4f>" % time.time() if i % every == 0 else "."
                    delta = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
                    self.wfile.write(b"data: %s\n\n" % json.dumps(delta).encode())
                    self.wfile.flush()
                    time.sleep(wait)
                time.sleep(3)  # the page is looked at before the run is over and it is loaded again
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % self.server.server_port}


def browse(modules, chromium, folder, address, what):
    steps = folder / "steps.mjs"
    steps.write_text(STEPS)
    r = subprocess.run(["node", str(steps), modules, chromium, address, what, str(folder / "frames.json")], capture_output=True, text=True, timeout=170, check=False)
    if r.returncode:
        sys.exit(r.stderr[-600:])
    return json.loads(r.stdout)


def large(o, modules, chromium, folder):
    (folder / "a.pdl").write_text("for: {i: \"${ range(%d)|list }\"}\nrepeat: {text: [\"block ${ i }\"]}\njoin: {with: \"\\n\"}\n" % (o.blocks // 2))
    subprocess.run([o.pdl, "a.pdl", "--trace=a.json"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    start = time.perf_counter()
    p = subprocess.Popen([o.pdl, "view", "a.json"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    address = p.stdout.readline().strip()
    ready = time.perf_counter() - start
    used = sum(int(x) for x in pathlib.Path("/proc/%d/stat" % p.pid).read_text().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
    out = browse(modules, chromium, folder, address, "large")
    p.terminate()
    p.wait(10)
    size = (folder / "a.json").stat().st_size / 1e6
    print("%d blocks, %.0f MB: served after %.0f ms (processor %.0f), first boxes %.0f ms later (processor %.0f), first paint %.0f ms, memory %.0f MB" % (
        o.blocks, size, ready * 1000, used * 1000, out["first"], out["firstCpu"], out["paint"], out["memory"] / 1e6))
    print("scrolling: longest frame %.0f ms, longest task %.0f ms of processor time" % (out["frame"], out["frameCpu"]))


def live(o, modules, chromium, folder):
    for chunks, every, wait, name in ((40, 1, 0.05, "from a chunk on the socket to the page"), (o.chunks, 50, 1 / 2000, "at 2000 chunks a second")):
        model = Model(chunks, every, wait)
        (folder / "m.pdl").write_text("text:\n- {read: , message: 'ready? '}\n- {model: openai/m, input: hi}\n")
        p = subprocess.Popen([o.pdl, "--view", "m.pdl"], cwd=folder, env=model.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        out = browse(modules, chromium, folder, p.stderr.readline().split()[-1], "live")
        p.terminate()
        p.wait(10)
        model.server.shutdown()
        late = sorted(out["shown"]) or [0]
        print("%s: %d of %d seen, median %.0f ms, slowest of ten %.0f ms" % (name, len(out["shown"]), -(-chunks // every), statistics.median(late), late[len(late) * 9 // 10]))


def sizes(o, folder):
    (folder / "b.pdl").write_text("for: {i: \"${ range(500)|list }\"}\nrepeat: {text: [\"block ${ i }\"]}\njoin: {with: \"\\n\"}\n")
    subprocess.run([o.pdl, "b.pdl", "--trace=b.json"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    subprocess.run([o.pdl, "view", "b.json", "--html", "b.html"], cwd=folder, check=True)
    page = sum(f.stat().st_size for f in (ROOT / "src/viewer/page").iterdir())
    print("page %.0f KB; --html of 1000 blocks %.0f KB" % (page / 1e3, (folder / "b.html").stat().st_size / 1e3))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--pdl", default="build/pdl")
    p.add_argument("--blocks", type=int, default=100000)
    p.add_argument("--chunks", type=int, default=1000)
    o = p.parse_args()
    o.pdl = os.path.abspath(o.pdl)
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        sizes(o, folder)
        modules, why = node_of.modules(pathlib.Path(o.pdl).parent, "playwright-core@1.49.0")
        chromium = "/usr/bin/chromium"
        if not modules or not os.access(chromium, os.X_OK):
            sys.exit("the rest needs a browser: %s" % (why or "there is no chromium"))
        large(o, str(modules), chromium, folder)
        live(o, str(modules), chromium, folder)


if __name__ == "__main__":
    main()
