#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cluster.py -- what Ray and Spark add to a batch: processor time a row in a worker, beside that of one process in the same run.

    bench/cluster.py --python PYTHON [--build build] [--rows N] [--runs N] [--engines ray,spark]

PYTHON has ray[data], pyspark and pyarrow (and Java is on PATH); the package is that of BUILD/python. bench/http_server.c answers after 5 ms.
Processor time, since these engines start processes of their own and other programs disturb the clock; the worker's start, its imports
included, is left out, and the time from there until an engine has its program is its own row. The exit status is 1 when a
limit is missed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from calls import Server  # noqa: E402

WARM = 2000
COMMON = """
import json, os, sys, time
n, warm, workers = map(int, sys.argv[1:4])
PROGRAM = "lastOf:\\n- Say something about number ${ word }.\\n- model: openai/m\\n"
rows = [{"id": i, "word": "w%d" % i} for i in range(n + warm)]
"""
ONE = COMMON + """
import libpdl
begin = time.process_time()
engine = libpdl.Engine(jobs=64, code="process")
program = engine.loads(PROGRAM)
ready = time.process_time() - begin
ask = lambda some: [json.dumps(r.value) for k, r in program.map_unordered(iter(some), jobs=64)]
ask(rows[:warm])
begin = time.process_time()
ask(rows[warm:])
print(json.dumps({"cpu": time.process_time() - begin, "start": ready}))
"""
RAY = COMMON + """
import ray, libpdl.ray
class Timed(libpdl.ray._Worker):
    def __init__(self, job):
        begin = time.process_time()
        super().__init__(job)
        self.start, self.asked = time.process_time() - begin, 0
    def __call__(self, batch):
        import pyarrow
        if not self.asked:
            self.begin = time.process_time()
        self.asked += batch.num_rows
        out = super().__call__(batch)
        took = json.dumps([time.process_time() - self.begin, self.asked, self.start])
        return out.append_column("took", pyarrow.array([took] * batch.num_rows))
libpdl.ray._Worker = Timed
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
ds = ray.data.from_items(rows, override_num_blocks=8).materialize()
last = {}
for batch in libpdl.ray.map_batches(ds, PROGRAM, concurrency=workers, jobs=64).iter_batches(batch_size=None, batch_format="pyarrow"):
    for worker, error, took in zip(*(batch[c].to_pylist() for c in ("pdl_worker", "error", "took"))):
        assert error is None, error
        last[worker] = max(last.get(worker, [0]), json.loads(took))
print(json.dumps({"cpu": sum(t[0] for t in last.values()) / sum(t[1] for t in last.values()) * n, "start": max(t[2] for t in last.values())}))
"""
SPARK = COMMON + """
import libpdl.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[%d]" % workers).config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1") \\
    .config("spark.driver.host", "127.0.0.1").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
tick = os.sysconf("SC_CLK_TCK")
def ask(some):
    df = spark.createDataFrame(some, "id long, word string").repartition(workers)
    got = libpdl.spark.run(df, PROGRAM, jobs=64).select("pdl_worker", "error").collect()
    assert len(got) == len(some) and not any(r["error"] for r in got)
    return {r["pdl_worker"].rsplit(":", 1)[1] for r in got}
def used(pids):
    fields = [open("/proc/%s/stat" % p).read().rsplit(")", 1)[1].split() for p in pids]
    return sum(int(f[11]) + int(f[12]) for f in fields) / tick
before = ask(rows[:warm])
begin = used(before)
after = ask(rows[warm:])
assert before == after, "other workers"
print(json.dumps({"cpu": used(after) - begin, "start": None}))
spark.stop()
"""


def run(a, server, work, name, text, workers):
    (work / ("work_%s.py" % name)).write_text(text)
    env = {**server.env, "PYTHONPATH": str(pathlib.Path(a.build).resolve() / "python"), "PYSPARK_PYTHON": a.python, "RAY_DEDUP_LOGS": "0"}
    p = subprocess.run([a.python, str(work / ("work_%s.py" % name)), str(a.rows), str(WARM), str(workers)], cwd=work, env=env, capture_output=True, text=True)
    if p.returncode:
        sys.exit("%s: %s" % (name, p.stderr[-2000:]))
    return json.loads(p.stdout.splitlines()[-1])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--python", required=True)
    p.add_argument("--build", default=str(HERE.parent / "build"))
    p.add_argument("--rows", type=int, default=10000)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--engines", default="ray,spark")
    a = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(work / "http_server"), str(HERE / "http_server.c")], check=True)
        cases = [(e, w) for e in a.engines.split(",") for w in (1, 2)]
        took, starts = {c: [] for c in [("one", 1), *cases]}, []
        with Server(work, 5) as s:
            for _ in range(a.runs):
                for name, workers in took:
                    r = run(a, s, work, name, {"one": ONE, "ray": RAY, "spark": SPARK}[name], workers)
                    took[name, workers].append(r["cpu"] / a.rows * 1e6)
                    if r["start"] is not None:
                        starts.append(r["start"] * 1e3)
    one = statistics.median(took["one", 1])
    print("%-40s %8.1f us of processor time a row" % ("one process, %d rows" % a.rows, one))
    for (name, workers), values in took.items():
        if name == "one":
            continue
        over = (statistics.median(values) / one - 1) * 100
        bad += over > 15
        print("%-40s %8.1f us, %+.0f %% (at most 15)%s" % ("%s, %d worker%s" % (name, workers, "" if workers == 1 else "s"), statistics.median(values), over,
                                                            "  MISSED" if over > 15 else ""))
    bad += max(starts) > 100
    print("%-40s %8.1f ms at most (at most 100)" % ("an engine with its program", max(starts)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
