# SPDX-License-Identifier: Apache-2.0
"""A column of a pandas table: a program runs for every row, many at a time; a row that fails says why and does not stop the others.

    python3 table.py              needs pandas

The model is a function here, so that it runs without network.
"""
from typing import Literal, TypedDict

import libpdl
import pandas


class Opinion(TypedDict):
    mood: Literal["good", "bad"]
    words: int


def model(request: libpdl.ModelRequest) -> str:
    text = str(request.messages[-1]["content"])
    return '{"mood": "%s", "words": %d}' % ("good" if "love" in text else "bad", len(text.split()))


program = libpdl.Engine(models={"judge": model}).loads("""
model: judge
input: ${ review.strip() }
parser: json
""", returns=Opinion)

table = pandas.DataFrame({"review": ["I love these bees", "the hive was empty", 17]})
rows = list(program.map([{"review": review} for review in table["review"]], jobs=16))
table["mood"] = [r.value["mood"] if isinstance(r, libpdl.Result) else "unknown" for r in rows]
table["problem"] = [r.message if isinstance(r, libpdl.Error) else "" for r in rows]
for row in table.itertuples():
    print(row.review, "|", row.mood, "|", row.problem)
