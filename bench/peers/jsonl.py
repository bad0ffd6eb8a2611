# SPDX-License-Identifier: Apache-2.0
import json
import sys
with open(sys.argv[1], encoding="utf-8") as f:
    rows = [json.loads(line) for line in f]
print(sum(row["score"] for row in rows))
