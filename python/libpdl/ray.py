# SPDX-License-Identifier: Apache-2.0
"""Runs a program for each row of a dataset of Ray Data.

    import ray, libpdl.ray
    ds = libpdl.ray.map_batches(ray.data.read_json("rows.jsonl"), "mood.pdl", concurrency=4, journal="/shared/journal")

Ray does the scheduling, streaming, retries and autoscaling: this module makes one call of Ray's map_batches, with an engine in each worker.
"""
from __future__ import annotations

import hashlib
from typing import Any, Mapping, Optional

from . import _partitions


class _Worker:
    """Ray makes an object of this class for each actor, and passes batches of rows to it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        _partitions._program_of(job)

    def __call__(self, batch: Any) -> Any:
        import pyarrow  # type: ignore[import-not-found,unused-ignore]
        rows = batch.to_pylist()
        partition = hashlib.sha256(repr(rows[:1]).encode()).hexdigest()[:12]
        for name, values in _partitions.run_rows(self.job, rows, partition).items():
            batch = batch.append_column(name, pyarrow.array(values, pyarrow.string()))
        return batch


WORKER_CPUS = 0.5


def _pool(concurrency: Any) -> dict[str, Any]:
    """Returns the argument for the number of workers: newer versions of Ray want a strategy."""
    import ray.data  # type: ignore[import-not-found,import-untyped,unused-ignore]
    n = 1 if concurrency is None else concurrency
    strategy = getattr(ray.data, "ActorPoolStrategy", None)
    if strategy is None or not isinstance(n, (int, tuple, list)) or isinstance(n, (tuple, list)) and len(n) != 2:
        return {"concurrency": n}
    if isinstance(n, int):
        return {"compute": strategy(size=n)}
    return {"compute": strategy(min_size=n[0], max_size=n[1])}


def map_batches(ds: Any, program: Any, *, concurrency: Any = None, jobs: int = 64, journal: Any = None, budget: _partitions.Budget = None,
                map: Optional[Mapping[str, str]] = None, env: Optional[Mapping[str, str]] = None, batch_size: int = 1024,
                run: Optional[str] = None, **more: Any) -> Any:
    """Returns a dataset with the columns of ds, then result (JSON text), error, place, and where each row came from:
    pdl_worker, pdl_partition, pdl_run.

    program: a file, or its text. concurrency: number of workers, or (least, most), as Ray takes it. jobs: rows in flight in each worker. journal: a folder
    that all workers reach; a batch that Ray runs again sends only requests that were not answered. budget: of the whole job, "calls=1000,cost=5". map:
    names of columns -> names of variables. env: variables that workers get; when it is absent, they get the variables of providers. more: for map_batches
    of Ray (num_cpus, which is 0.5 for each worker when absent, ray_remote_args...).
    """
    columns = ds.columns(fetch_if_missing=True) or []
    _partitions.check_columns(columns, map)
    job, keeper = _partitions.job_of(program, jobs, journal, budget, map, env, run, columns)
    # Workers mostly wait for models. By default, Ray reserves a processor for each. With as many workers as processors,
    # no processor would be left to read rows for them, and the job would wait forever.
    if "num_cpus" not in more.get("ray_remote_args", {}):
        more.setdefault("num_cpus", WORKER_CPUS)
    out = ds.map_batches(_Worker, fn_constructor_args=(job,), batch_format="pyarrow", batch_size=batch_size, **_pool(concurrency), **more)
    out._pdl_keeper = keeper  # it has to live as long as the dataset, which is computed when it is first read
    return out
