#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""view.py -- the Live Document in Chromium: the bounds of its page.

    bench/view.py [--pdl build/pdl] [--blocks N] [--chunks N]

Needs node, Chromium and npm's playwright-core, which is fetched on first use beside the command (as for `make test-view`). Prints a line for each
bound: what it is, what was measured. Times of a machine that does other work at the same time are too long: beside them is what the processor was
used for, by the main thread of the page, and by the server. Each part is measured --repeat times; the best of them counts, the others are printed.
"""
import argparse
import http.client
import http.server
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests import browser_of, node_of  # noqa: E402

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
// What only the page's process has, and what the page's heap holds.
const memory = async () => {
  const all = (await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo")).processInfo;
  const own = all.filter((p) => p.type === "renderer").map((p) => {
    const kb = (word) => [...readFileSync(`/proc/${p.id}/smaps_rollup`, "utf8").matchAll(new RegExp(`^${word}.*?(\\\\d+) kB`, "gm"))].reduce((n, m) => n + Number(m[1]), 0);
    return kb("Private_(?:Clean|Dirty)") * 1024;
  });
  return { heap: await page.evaluate(() => performance.memory.usedJSHeapSize), own: Math.max(...own) };
};
const long = () => page.evaluate(() => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask", buffered: true });
});
const started = Date.now();
await page.goto(`${address}#boxes`);
const out = {};
if (what === "large") {
  await page.waitForSelector("#box-0");
  out.first = Date.now() - started;
  out.firstCpu = await cpu();
  out.paint = await page.evaluate(() => performance.getEntriesByName("first-paint")[0]?.startTime);
  await long();
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
  Object.assign(out, await memory());
  out.long = await page.evaluate(() => window.longTasks.length);
} else {
  await page.waitForSelector("form.question input"); // the run waits for the page
  await long();
  const before = await cpu();
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
  out.cpu = (await cpu()) - before;
  out.long = await page.evaluate(() => window.longTasks);
  Object.assign(out, await memory());
}
console.log(JSON.stringify(out));
await browser.close();
"""


# Documents: the first text, then presses; each figure is a time, and what the main thread of the page used for it.
DOCUMENT = """
import { createRequire } from "module";
const [, , modules, executablePath, address, what] = process.argv;
const { chromium } = createRequire(modules + "/")("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const cdp = await page.context().newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
const cpu = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
const out = {};
// A press, and what is waited for, by the page: the way of a driver takes longer than what is measured.
const press = async (name, act, until) => {
  const before = await cpu();
  out[name] = await page.evaluate(([act, until]) => new Promise((done) => {
    const start = performance.now(), is = new Function(`return ${until}`);
    new Function(act)();
    const look = () => (is() ? done(performance.now() - start) : performance.now() - start > 20000 ? done(-1) : requestAnimationFrame(look));
    look();
  }), [act, until]);
  out[`${name}Cpu`] = (await cpu()) - before;
};
// When the first text is drawn, by the page: a driver that asks for it waits until the rest of a large file is read.
await page.addInitScript(() => {
  const look = () => {
    const d = document.getElementById("document");
    if (d?.style.visibility !== "hidden" && d?.querySelector(".paper, .loop, .rows tbody tr")) setTimeout(() => (window.drawn = performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
await page.goto(address, { waitUntil: "commit" });
// The page's policy forbids the way in which the driver waits for a function.
await page.evaluate(() => new Promise((done) => { const look = () => (window.drawn ? done() : requestAnimationFrame(look)); look(); }));
out.first = await page.evaluate("window.drawn");
out.firstCpu = await cpu();
out.paint = await page.evaluate(() => performance.getEntriesByName("first-paint")[0]?.startTime ?? 0);
await page.waitForSelector("body[data-ready]");
out.shift = await page.evaluate("new Promise((done) => { let sum = 0; new PerformanceObserver((l) => l.getEntries().forEach((e) => (sum += e.value))).observe({ type: 'layout-shift', buffered: true }); setTimeout(() => done(1000 * sum), 300); })");
if (what === "map") {
  await press("sort", "[...document.querySelectorAll('.grid th button')].find((x) => x.textContent === 'i').click()", "document.querySelector('.grid th[aria-sort=ascending]')");
  await press("filter", "const f = document.querySelector('[aria-label=\\"Rows that contain\\"]'); f.value = '977'; f.dispatchEvent(new Event('input'))", "/ of .*rows/.test(document.querySelector('.rows-said').textContent)");
  await press("go", "const f = document.querySelector('.gridbar input[type=number]'); f.value = 9000; f.dispatchEvent(new Event('change'))", "document.querySelector('.grid tbody tr').textContent.startsWith('9000')");
}
if (what === "loop")
  await press("go", "const f = document.querySelector('.between input'); f.value = 9000; f.dispatchEvent(new Event('change'))", "[...document.querySelectorAll('.round > .n')].some((n) => n.textContent === '9000')");
if (what === "call") await press("open", "document.querySelector('.piece[data-maker=model], .call').click()", "document.querySelectorAll('.sent .chat li').length > 1000");
console.log(JSON.stringify(out));
await browser.close();
"""
DOCUMENTS = {
    "map": "for: {i: \"${ range(10000)|list }\"}\nmap: {model: openai/echo, input: \"Row ${ i } is ${ i * 7 % 13 }.\"}\njoin: {with: \"\\n\"}\n",
    "loop": "for: {i: \"${ range(10000)|list }\"}\nrepeat: {text: [\"Round ${ i } is ${ i * 7 % 13 }.\"]}\njoin: {with: \"\\n\"}\n",
    "deep": "defs:\n  f: {function: {n: integer}, return: {if: \"${ n > 0 }\", then: {text: [\"${ n } \", {call: \"${ f }\", args: {n: \"${ n - 1 }\"}}]}, else: end}}\ntext: [{call: \"${ f }\", args: {n: 2000}}]\n",
    "call": "text:\n- model: openai/echo\n  input: {array: [{for: {i: \"${ range(1000)|list }\"}, repeat: {role: user, content: \"message ${ i }\"}, join: {as: array}}]}\n",
}


class Model:
    """Streams chunks, some of them with the time at which they were sent."""

    def __init__(self, chunks, every, wait):
        outer = self
        self.seconds = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                start = time.time()
                for i in range(chunks + 1):
                    text = "END" if i == chunks else "<%.4f>" % time.time() if i % every == 0 else "."
                    delta = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
                    self.wfile.write(b"data: %s\n\n" % json.dumps(delta).encode())
                    self.wfile.flush()
                    time.sleep(max(0, start + (i + 1) * wait - time.time()))
                outer.seconds = time.time() - start
                time.sleep(3)  # the page is looked at before the run is over and it is loaded again
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % self.server.server_port}


def browse(modules, chromium, folder, address, what, script=STEPS):
    steps = folder / "steps.mjs"
    steps.write_text(script)
    r = subprocess.run(["node", str(steps), modules, chromium, address, what, str(folder / "frames.json")], capture_output=True, text=True, timeout=170, check=False)
    if r.returncode:
        sys.exit(r.stderr[-600:])
    return json.loads(r.stdout)


def used_by(pid):
    """Seconds of processor time."""
    return sum(int(t.read_text().split()[0]) for t in pathlib.Path("/proc/%d/task" % pid).glob("*/schedstat")) / 1e9


def best(rows, key):
    """The smallest, and all of them."""
    values = [r[key] for r in rows]
    return "%.0f (%s)" % (min(values), " ".join("%.0f" % v for v in values))


def large(o, modules, chromium, folder):
    (folder / "a.pdl").write_text("for: {i: \"${ range(%d)|list }\"}\nrepeat: {text: [\"block ${ i } ${ 'and more words ' * 40 }\"]}\njoin: {with: \"\\n\"}\n" % (o.blocks // 2))
    subprocess.run([o.pdl, "a.pdl", "--trace=a.json"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    rows = []
    for _ in range(o.repeat):
        start = time.perf_counter()
        p = subprocess.Popen([o.pdl, "view", "a.json"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        address = p.stdout.readline().strip()
        row = {"ready": (time.perf_counter() - start) * 1000, "served": used_by(p.pid) * 1000}
        row.update(browse(modules, chromium, folder, address, "large"))
        p.terminate()
        p.wait(10)
        rows.append(row)
    size = (folder / "a.json").stat().st_size / 1e6
    print("%d blocks, %.0f MB: served after %s ms, processor %s ms; first boxes %s ms later, processor %s ms; first paint %s ms" % (
        o.blocks, size, best(rows, "ready"), best(rows, "served"), best(rows, "first"), best(rows, "firstCpu"), best(rows, "paint")))
    print("scrolling: longest frame %s ms, longest task %s ms of processor time, tasks over 50 ms %s" % (best(rows, "frame"), best(rows, "frameCpu"), best(rows, "long")))
    print("memory of the page: heap %.0f MB, private memory of its process %.0f MB" % (max(r["heap"] for r in rows) / 1e6, max(r["own"] for r in rows) / 1e6))


def documents(o, modules, chromium, folder):
    """The document of large runs, of a server and of one file."""
    mock = subprocess.Popen([o.pdl, "mock", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    env = {**os.environ, "OPENAI_API_KEY": "mock", "OPENAI_BASE_URL": re.search(r"http:\S+", mock.stdout.readline()).group(0)}
    for name, program in DOCUMENTS.items():
        (folder / (name + ".pdl")).write_text(program)
        subprocess.run([o.pdl, name + ".pdl", "--trace=%s.json" % name], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        subprocess.run([o.pdl, "view", name + ".json", "--source", name + ".pdl", "--html", name + ".html"], cwd=folder, check=True)
        rows = {"served": [], "one file": []}
        for _ in range(o.repeat):
            p = subprocess.Popen([o.pdl, "view", name + ".json", "--source", name + ".pdl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            rows["served"].append(browse(modules, chromium, folder, p.stdout.readline().strip(), name, DOCUMENT))
            p.terminate()
            p.wait(10)
            rows["one file"].append(browse(modules, chromium, folder, "file://%s" % (folder / (name + ".html")), name, DOCUMENT))
        for where, list_ in rows.items():
            print("%s, %s, %.1f MB: %s" % (name, where, (folder / (name + ".html")).stat().st_size / 1e6, "; ".join(
                "%s %s ms" % (key, best(list_, key)) if key != "shift" else "layout shift %s / 1000" % best(list_, key) for key in list_[0])))
    mock.terminate()
    mock.wait(10)


def live(o, modules, chromium, folder):
    for chunks, every, wait, name in ((40, 1, 0.05, "from a chunk on the socket to the page"), (o.chunks, 50, 1 / 2000, "at 2000 chunks a second")):
        rows = []
        for _ in range(o.repeat):
            model = Model(chunks, every, wait)
            (folder / "m.pdl").write_text("text:\n- {read: , message: 'ready? '}\n- {model: openai/m, input: hi}\n")
            p = subprocess.Popen([o.pdl, "--view", "m.pdl"], cwd=folder, env=model.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
            out = browse(modules, chromium, folder, p.stderr.readline().split()[-1], "live")
            used = used_by(p.pid)
            p.terminate()
            p.wait(10)
            model.server.shutdown()
            late = sorted(out["shown"]) or [0]
            rows.append({"median": statistics.median(late), "tenth": late[len(late) * 9 // 10], "last": out["shown"][-1] if late else 0, "seen": len(out["shown"]), "cpu": out["cpu"],
                         "long": len(out["long"]), "own": out["own"] / 1e6, "rate": (chunks + 1) / (model.seconds or 1), "run": used * 1000})
        print("%s: %d of %d seen, sent at %s a second; median %s ms, slowest of ten %s ms, the last %s ms" % (
            name, max(r["seen"] for r in rows), -(-chunks // every), best(rows, "rate"), best(rows, "median"), best(rows, "tenth"), best(rows, "last")))
        print("    processor: page %s ms, run %s ms; tasks of the page over 50 ms: %s; its private memory %s MB" % (
            best(rows, "cpu"), best(rows, "run"), best(rows, "long"), best(rows, "own")))


NEWEST_SECONDS = 0.12  # as in live_document.js


class Watcher:
    """Somebody who follows a run as a page does: reads all that comes, and asks for the newest of the document then; or, stalled, does nothing."""

    def __init__(self, address, stalled):
        self.port, path = re.search(r"127.0.0.1:(\d+)(/open/\w+)", address).groups()
        c = http.client.HTTPConnection("127.0.0.1", int(self.port))
        c.request("GET", path)
        self.cookie = c.getresponse().headers["Set-Cookie"].split(";")[0]
        self.socket = socket.create_connection(("127.0.0.1", int(self.port)))
        self.socket.sendall(("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nCookie: %s\r\n\r\n" % (self.port, self.cookie)).encode())
        if not stalled:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        asked = 0
        try:
            while self.socket.recv(1 << 16):
                if time.time() - asked < NEWEST_SECONDS:
                    continue
                asked = time.time()
                c = http.client.HTTPConnection("127.0.0.1", int(self.port))
                c.request("GET", "/api/0/newest", headers={"Cookie": self.cookie})
                c.getresponse().read()
                c.close()
        except (OSError, http.client.HTTPException):
            pass


CALLS, CHUNKS_OF_A_CALL = 100, 500


class Answers:
    """Answers each call at once with a stream of chunks, in one piece: the run has all of its processor time to itself."""

    def __init__(self, wait):
        piece = b'data: {"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
        body = piece * CHUNKS_OF_A_CALL + b"data: [DONE]\n\n"

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                if wait:
                    start = time.time()
                    for i in range(CHUNKS_OF_A_CALL):
                        self.wfile.write(piece)
                        time.sleep(max(0, start + (i + 1) * wait - time.time()))
                    self.wfile.write(b"data: [DONE]\n\n")
                else:
                    self.wfile.write(body)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % self.server.server_port}


def one_run(o, folder, program, view, wait):
    """Processor time of a run's process up to its last output, the time that its calls took, in ms, and its most memory in MB. A page gets its boxes from the trace after that."""
    model = Answers(wait)
    args = [o.pdl] + (["--view"] if view else []) + [program]
    p = subprocess.Popen(args, cwd=folder, env=model.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    watcher = None
    if view:
        watcher = Watcher(p.stderr.readline().decode().split()[-1], view == "stalled")
    time.sleep(0.1)  # both wait for the person now
    before, start = used_by(p.pid), time.perf_counter()
    p.stdin.write(b"\n")
    p.stdin.flush()
    seen = b""
    while b"END" not in seen:
        seen = (seen + os.read(p.stdout.fileno(), 1 << 16))[-1000:]
    used, took = used_by(p.pid) - before, time.perf_counter() - start
    peak = int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path("/proc/%d/status" % p.pid).read_text()).group(1)) / 1000
    p.terminate()
    p.wait(10)
    if watcher:
        watcher.socket.close()
    model.server.shutdown()
    return {"cpu": used * 1000, "took": took * 1000, "peak": peak}


READY = "text:\n- {read: , message: 'ready? '}\n- for: {i: \"${ range(%d)|list }\"}\n  repeat: %s\n  join: {with: ''}\n- END\n- {read: , message: 'end? '}\n"


def slowdown(o, folder):
    (folder / "s.pdl").write_text(READY % (CALLS, "{model: openai/m, input: 'hi ${ i }', contribute: [result]}"))
    (folder / "n.pdl").write_text(READY % (o.blocks, "{text: ['block ${ i }']}"))
    many = "%d calls, %d chunks, " % (CALLS, CALLS * CHUNKS_OF_A_CALL)
    for program, wait, name in (("s.pdl", 0, many + "answers that come at once"), ("s.pdl", 1 / 2000, many + "answers of 2000 chunks a second"),
                                ("n.pdl", 0, "%d blocks that ask nobody" % o.blocks)):
        rows = {view: [] for view in (None, "read", "stalled")}
        for _ in range(max(o.repeat, 5)):
            for view, list_ in rows.items():
                list_.append(one_run(o, folder, program, view, wait))
        print("a run of %s: without a view %s ms of processor time, %s ms; a browser that reads %s, %s; one that stalls %s, %s" % (
            (name,) + tuple(best(r, k) for r in rows.values() for k in ("cpu", "took"))))
        least = {view: [min(r[k] for r in list_) for k in ("cpu", "took", "peak")] for view, list_ in rows.items()}
        print("    times as long as without a view: processor %.2f with a browser that reads, %.2f with one that stalls; by the clock %.2f, %.2f; more memory: %.0f MB, %.0f" % (
            least["read"][0] / least[None][0], least["stalled"][0] / least[None][0], least["read"][1] / least[None][1],
            least["stalled"][1] / least[None][1], least["read"][2] - least[None][2], least["stalled"][2] - least[None][2]))


def sizes(o, folder):
    (folder / "b.pdl").write_text("for: {i: \"${ range(500)|list }\"}\nrepeat: {text: [\"block ${ i }\"]}\njoin: {with: \"\\n\"}\n")
    subprocess.run([o.pdl, "b.pdl", "--trace=b.json"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    subprocess.run([o.pdl, "view", "b.json", "--html", "b.html"], cwd=folder, check=True)
    (folder / "c.pdl").write_text("text: a\n")  # the page of such a run is the page alone
    subprocess.run([o.pdl, "c.pdl", "--trace=c.json"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    subprocess.run([o.pdl, "view", "c.json", "--html", "c.html"], cwd=folder, check=True)
    print("page %.0f KB; --html of 1000 blocks %.0f KB" % tuple((folder / name).stat().st_size / 1e3 for name in ("c.html", "b.html")))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--pdl", default="build/pdl")
    p.add_argument("--blocks", type=int, default=100000)
    p.add_argument("--chunks", type=int, default=10000)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--only", choices=("documents", "large", "live", "slowdown"))
    o = p.parse_args()
    o.pdl = os.path.abspath(o.pdl)
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        sizes(o, folder)
        if o.only in (None, "slowdown"):
            slowdown(o, folder)
        if o.only == "slowdown":
            return
        modules, why = node_of.modules(pathlib.Path(o.pdl).parent, "playwright-core@1.49.0")
        chromium, none = browser_of.browser()
        if not modules or not chromium:
            sys.exit("the rest needs a browser: %s" % (why or none))
        if o.only in (None, "documents"):
            documents(o, str(modules), chromium, folder)
        if o.only in (None, "large"):
            large(o, str(modules), chromium, folder)
        if o.only in (None, "live"):
            live(o, str(modules), chromium, folder)


if __name__ == "__main__":
    main()
