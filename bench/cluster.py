#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cluster.py -- what Ray and Spark add to a batch: processor time a row in a worker, beside that of a bare loop in the same process.

    bench/cluster.py --python PYTHON [--build build] [--rows N] [--runs N] [--engines ray,spark]

PYTHON has ray[data], pyspark and pyarrow (and Java is on PATH); the package is that of BUILD/python. bench/http_server.c answers after 5 ms.
What a processor does in a microsecond depends on what else runs on the machine, and an engine is itself much that runs, so two processes
cannot be compared. Each batch of rows is therefore asked twice in the worker, in turns one way first and the other: by a bare loop over
Program.map_unordered, whose processor time is that of one process, and as the engine does it. The rest of what the thread of the worker
takes is set beside the bare loop. Other threads of an engine work whether there are rows or not: their part of a processor counts for the
time that the rows need on a machine without other work. A worker's first batch is left out: it loads libraries. The time until an engine
has its program is its own row. The exit status is 1 when a limit is missed.
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

DELAY_MS, JOBS = 5, 64
# Python runs a file of this name when it starts, in the workers of the engines too.
IN_WORKERS = """
import json, os, time
if os.environ.get("PDL_BENCH"):
    from libpdl import _partitions
    real, now = _partitions.run_rows, {}
    def bare(job, rows):
        begin = time.thread_time()
        for _, result in _partitions._program_of(job).map_unordered(iter(rows), jobs=job["jobs"]):
            json.dumps(result.value)
        if "begin" in now:
            now["bare"] += time.thread_time() - begin
    def run_rows(job, rows, partition):
        _partitions._program_of(job)
        if now["batches"] == 1:
            now.update(begin=time.thread_time(), others=time.process_time() - time.thread_time(), clock=time.monotonic(), bare=0.0, rows=0)
        now["batches"] += 1
        if now["batches"] % 2:
            bare(job, rows)
        out = real(job, rows, partition)
        if not now["batches"] % 2:
            bare(job, rows)
        if "begin" in now:
            now["rows"] += len(rows)
            now["all"] = time.thread_time() - now["begin"] - now["bare"]
            now["idle"] = (time.process_time() - time.thread_time() - now["others"]) / (time.monotonic() - now["clock"])
        out["pdl_run"] = [json.dumps(now)] * len(rows)
        return out
    _partitions.run_rows = run_rows
    made = _partitions._program_of
    def program_of(job):
        begin = time.process_time()
        program = made(job)
        now.setdefault("start", time.process_time() - begin)
        now.setdefault("batches", 0)
        return program
    _partitions._program_of = program_of
"""
COMMON = """
import json, os, sys
n, workers = map(int, sys.argv[1:3])
PROGRAM = "lastOf:\\n- Say something about number ${ word }.\\n- model: openai/m\\n"
rows = [{"id": i, "word": "w%d" % i} for i in range(n)]
last = {}
def take(worker, error, said):
    assert error is None, error
    said = json.loads(said)
    if said["batches"] >= last.get(worker, said)["batches"]:
        last[worker] = said
"""
RAY = COMMON + """
import ray, libpdl.ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
ds = ray.data.from_items(rows, override_num_blocks=8).materialize()
for batch in libpdl.ray.map_batches(ds, PROGRAM, concurrency=workers, jobs=64).iter_batches(batch_size=None, batch_format="pyarrow"):
    for row in zip(*(batch[c].to_pylist() for c in ("pdl_worker", "error", "pdl_run"))):
        take(*row)
print(json.dumps(list(last.values())))
"""
SPARK = COMMON + """
import libpdl.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[%d]" % workers).config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1") \\
    .config("spark.driver.host", "127.0.0.1").config("spark.sql.execution.arrow.maxRecordsPerBatch", 1024).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
df = spark.createDataFrame(rows, "id long, word string").repartition(workers)
for row in libpdl.spark.run(df, PROGRAM, jobs=64).select("pdl_worker", "error", "pdl_run").collect():
    take(*row)
print(json.dumps(list(last.values())))
spark.stop()
"""


def run(a, server, work, name, text, workers):
    (work / ("work_%s.py" % name)).write_text(text)
    path = "%s%s%s" % (work, os.pathsep, pathlib.Path(a.build).resolve() / "python")
    env = {**server.env, "PYTHONPATH": path, "PYSPARK_PYTHON": a.python, "RAY_DEDUP_LOGS": "0", "PDL_BENCH": "1"}
    for _ in range(3):  # on a busy machine an engine may not come up in its time
        p = subprocess.run([a.python, str(work / ("work_%s.py" % name)), str(a.rows), str(workers)], cwd=work, env=env, capture_output=True, text=True)
        if not p.returncode:
            break
    else:
        sys.exit("%s: %s" % (name, p.stderr[-2000:]))
    return [w for w in json.loads(p.stdout.splitlines()[-1]) if w.get("rows")]


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
        (work / "sitecustomize.py").write_text(IN_WORKERS)
        over, bare, starts = {(e, w): [] for e in a.engines.split(",") for w in (1, 2)}, [], []
        idle = {case: [] for case in over}
        with Server(work, DELAY_MS) as s:
            for _ in range(a.runs):
                for name, workers in over:
                    found = run(a, s, work, name, {"ray": RAY, "spark": SPARK}[name], workers)
                    alone = sum(w["bare"] for w in found)
                    waits = [max(w["bare"], w["rows"] * DELAY_MS / 1000 / JOBS) for w in found]
                    threads = sum(w["idle"] * s for w, s in zip(found, waits))
                    over[name, workers].append(((sum(w["all"] for w in found) + threads) / alone - 1) * 100)
                    idle[name, workers].append(statistics.mean(w["idle"] for w in found) * 100)
                    bare.append(alone / sum(w["rows"] for w in found) * 1e6)
                    starts += [w["start"] * 1e3 for w in found]
    print("%-40s %8.1f us of processor time a row" % ("one process", statistics.median(bare)))
    for (name, workers), values in over.items():
        found = statistics.median(values)
        bad += found > 15
        print("%-40s %+8.1f %% (at most 15; %s), other threads %.1f %% of a processor%s" % (
            "%s, %d worker%s" % (name, workers, "" if workers == 1 else "s"), found, ", ".join("%+.1f" % v for v in sorted(values)),
            statistics.median(idle[name, workers]), "  MISSED" if found > 15 else ""), flush=True)
    bad += max(starts) > 100
    print("%-40s %8.1f ms at most (at most 100)" % ("an engine with its program", max(starts)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
