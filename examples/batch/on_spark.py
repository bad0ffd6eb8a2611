# SPDX-License-Identifier: Apache-2.0
"""The reviews on Spark: python on_spark.py (pip install pyspark pyarrow pandas)."""
import pathlib

from pyspark.sql import SparkSession

import libpdl.spark

here = pathlib.Path(__file__).parent
spark = SparkSession.builder.master("local[2]").getOrCreate()
reviews = spark.read.csv(str(here / "reviews.csv"), header=True)
moods = libpdl.spark.run(reviews, here / "classify.pdl", jobs=32, journal="/tmp/moods", budget="calls=2000")
moods.groupBy("result").count().show()
