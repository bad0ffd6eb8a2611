# SPDX-License-Identifier: Apache-2.0
"""Runs a program for each row of a DataFrame of Spark.

    import libpdl.spark
    moods = libpdl.spark.run(reviews, "mood.pdl", jobs=64, journal="/shared/journal")

Spark does the scheduling and the retries: this module makes one call of mapInArrow, with an engine in each Python worker.
"""
from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from . import _partitions


def run(df: Any, program: Any, *, jobs: int = 64, journal: Any = None, budget: _partitions.Budget = None, map: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None, run: Optional[str] = None) -> Any:
    """Returns a DataFrame with the columns of df, then result (JSON text), error, place, and where each row came from:
    pdl_worker, pdl_partition, pdl_run.

    program: a file, or its text. jobs: rows in flight in each worker. journal: a folder that all workers reach; a partition that Spark runs again
    sends only requests that were not answered. budget: of the whole job, "calls=1000,cost=5". map: names of columns -> names of variables. env:
    variables that workers get; when it is absent, they get the variables of providers.
    """
    from pyspark.sql.types import StringType, StructField, StructType  # type: ignore[import-not-found,unused-ignore]
    _partitions.check_columns(df.columns, map)
    job, keeper = _partitions.job_of(program, jobs, journal, budget, map, env, run, df.columns)
    schema = StructType([*df.schema.fields, *[StructField(n, StringType(), True) for n in _partitions.OWN]])

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow  # type: ignore[import-not-found,unused-ignore]
        from pyspark import TaskContext  # type: ignore[import-not-found,unused-ignore]
        from libpdl import _partitions as here
        context = TaskContext.get()
        partition = str(context.partitionId()) if context else "?"
        for batch in batches:
            columns = here.run_rows(job, batch.to_pylist(), partition)
            yield pyarrow.RecordBatch.from_arrays([*batch.columns, *[pyarrow.array(v, pyarrow.string()) for v in columns.values()]],
                                                  names=[*batch.schema.names, *columns])
    out = df.mapInArrow(work, schema)
    out._pdl_keeper = keeper  # it has to live as long as the frame, which is computed when it is first used
    return out
