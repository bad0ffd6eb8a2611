# SPDX-License-Identifier: Apache-2.0
"""The reviews on Ray: python on_ray.py (pip install "ray[data]")."""
import pathlib

import ray

import libpdl.ray

here = pathlib.Path(__file__).parent
reviews = ray.data.read_csv(str(here / "reviews.csv"))
moods = libpdl.ray.map_batches(reviews, here / "classify.pdl", concurrency=2, jobs=32, batch_size=100, journal="/tmp/moods", budget="calls=2000")
print(moods.groupby("result").count().to_pandas())
