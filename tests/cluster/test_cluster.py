# SPDX-License-Identifier: Apache-2.0
"""libpdl.ray and libpdl.spark on a real local Ray and a real PySpark; a worker is killed during the work.

The packages come from the Python registry, into BUILD_DIR/test-cluster. Spark needs a Java on PATH. Skipped when they are not available.
"""
import json
import shutil
import subprocess

import pytest

from .. import venv_of
from ..batch.kit import ASK, t
from ..checks import skip
from ..harness.choice import Choice

BUILD = Choice.build
pytestmark = [pytest.mark.builds, pytest.mark.roomy, pytest.mark.seconds(1800)]

COMMON = """
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
ROWS = [{"id": i, "word": "w%d" % i} for i in range(int(sys.argv[2]))]
def said(rows):
    rows = sorted(rows, key=lambda r: r["id"])
    return {"ids": [r["id"] for r in rows], "right": sum(r["result"] == json.dumps("SAY W%d" % r["id"]) for r in rows),
            "errors": sorted({r["error"] for r in rows if r["error"]}), "failed": sum(r["error"] is not None for r in rows),
            "workers": len({r["pdl_worker"] for r in rows}), "partitions": len({r["pdl_partition"] for r in rows}), "runs": len({r["pdl_run"] for r in rows})}
"""
RAY = COMMON + """
import ray, libpdl.ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
def go(rows=ROWS, **more):
    ds = libpdl.ray.map_batches(ray.data.from_items(rows, override_num_blocks=8), folder / "p.pdl", batch_size=50, **more)
    return said(ds.take_all())
out = {"plain": go(concurrency=2)}
# As many workers as processors, and a file: reading it needs a processor, too.
(folder / "rows.jsonl").write_text("".join(json.dumps(r) + "\\n" for r in ROWS))
out["file"] = said(libpdl.ray.map_batches(ray.data.read_json(str(folder / "rows.jsonl")), folder / "p.pdl", concurrency=2).take_all())
if len(sys.argv) > 3:
    killed = []
    import threading
    def ours(pid):
        try:
            line = pathlib.Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            return False
        return line.startswith(b"ray::") and (b"MapWorker" in line or b"_Worker" in line)
    def kill():
        while not killed:
            time.sleep(0.05)
            for path in (folder / "journal").glob("*.jsonl"):
                if path.stat().st_size > 200 and not killed:
                    pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and ours(p)]
                    if pids:
                        os.kill(pids[0], signal.SIGKILL)
                        killed.append(pids[0])
    (folder / "journal").mkdir()
    threading.Thread(target=kill, daemon=True).start()
    rows = [{"id": i, "word": "w%d" % i} for i in range(400)]
    out["killed"] = go(rows, concurrency=2, jobs=4, journal=folder / "journal")
    out["kills"] = len(killed)
    out["budget"] = go(concurrency=2, jobs=4, budget="calls=30")
print("OUT " + json.dumps(out))
"""
SPARK = COMMON + """
from pyspark.sql import SparkSession
import libpdl.spark
spark = (SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
         .config("spark.driver.host", "127.0.0.1").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
def go(rows=ROWS, **more):
    frame = spark.createDataFrame(rows).repartition(4)
    return said([r.asDict() for r in libpdl.spark.run(frame, folder / "p.pdl", **more).collect()])
out = {"plain": go()}
if len(sys.argv) > 3:
    import threading
    killed = []
    def is_daemon(pid):
        try:
            return b"pyspark.daemon" in pathlib.Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            return False
    def kill():
        while not killed:
            time.sleep(0.05)
            for path in (folder / "journal").glob("*.jsonl"):
                if path.stat().st_size > 200 and not killed:
                    pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and is_daemon(p)]
                    workers = [p for p in pids if int(pathlib.Path("/proc", str(p), "stat").read_text().split()[3]) in pids]
                    if workers:
                        os.kill(workers[0], signal.SIGKILL)
                        killed.append(workers[0])
    (folder / "journal").mkdir()
    threading.Thread(target=kill, daemon=True).start()
    rows = [{"id": i, "word": "w%d" % i} for i in range(400)]
    out["killed"] = go(rows, jobs=4, journal=folder / "journal")
    out["kills"] = len(killed)
    out["budget"] = go(jobs=4, budget="calls=30")
print("OUT " + json.dumps(out))
spark.stop()
"""


def rule(prompt):
    import time
    time.sleep(0.01)


def script(python, text, n, title):
    t.begin({"p.pdl": ASK, "go.py": text}, rule)
    env = t.env(PYTHONPATH=str(BUILD / "python"), PYSPARK_PYTHON=python, RAY_DEDUP_LOGS="0", RAY_TMPDIR="/tmp", TMPDIR="/tmp",
                SPARK_LOCAL_DIRS=str(t.folder))
    p = subprocess.run([python, "go.py", str(t.folder), str(n), "all"], cwd=t.folder, env=env, capture_output=True, timeout=900)
    out = [x[4:] for x in p.stdout.decode().splitlines() if x.startswith("OUT ")]
    if not t.check(title + ": runs", out, p.stdout.decode()[-1500:] + p.stderr.decode()[-2500:]):
        return
    r = json.loads(out[0])
    n_plain = r["plain"]
    t.check(title + ": every row, in one job", n_plain["ids"] == list(range(n)) and n_plain["right"] == n and n_plain["runs"] == 1, str(n_plain)[-300:])
    t.check(title + ": provenance", n_plain["workers"] >= 1 and n_plain["partitions"] >= 2, n_plain)
    if "file" in r:
        t.check(title + ": rows of a file, with a worker for each processor", r["file"]["ids"] == list(range(n)) and r["file"]["right"] == n, str(r["file"])[-300:])
    k = r["killed"]
    t.check(title + ": a worker was killed", r["kills"] == 1, r["kills"])
    t.check(title + ": every row after a kill", k["ids"] == list(range(400)) and k["right"] == 400, str(k)[-300:])
    # rows in flight in the killed worker, and what its process had sent
    asked = {p: c for p, c in t.service.asked.items()}
    plain = {"Say w%d" % i: 1 + ("file" in r) for i in range(n)}
    again = sum(asked[p] - plain.get(p, 0) for p in asked) - 400 - 30
    t.check(title + ": answered rows are not asked again after a kill", 0 <= again <= 8, again)
    b = r["budget"]
    t.check(title + ": a budget of the job", b["right"] == 30 and b["failed"] == n - 30 and b["errors"] == ["the budget of the job is spent"], b)


def have(*packages, wanted):
    """An interpreter with the packages, or None, which is said."""
    if not Choice.fetch and not (BUILD / "test-cluster").exists():
        skip(packages[0], "it is not installed: make test-cluster fetches it")
        return None
    python, why = venv_of.python(BUILD, *packages, seconds=900, name="test-cluster", wanted=wanted)
    if python is None or not (BUILD / "python" / "libpdl").is_dir():
        skip(packages[0], why or "the Python package is not built: make python")
        return None
    return python


def test_ray():
    python = have("ray", "pyarrow", "pandas", wanted=("ray[data]", "pyarrow", "pandas"))
    if python:
        script(python, RAY, 200, "ray")


def test_spark():
    python = have("pyspark", "pyarrow", "pandas", wanted=("pyspark", "pyarrow", "pandas"))
    if python and not shutil.which("java"):
        skip("spark", "there is no Java")
    elif python:
        script(python, SPARK, 200, "spark")
