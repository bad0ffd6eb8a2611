#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_odd.py BUILD_DIR -- tables as other programs write them, very wide ones, devices, and what many open rows take."""
import sys
import threading

sys.dont_write_bytecode = True
from kit import Tests, jsonl, words  # noqa: E402

t = Tests(sys.argv[1])


def peak_kb(jobs):
    """The address space of a batch of which so many rows are open."""
    hold = threading.Event()
    t.begin({"in.jsonl": jsonl(words(jobs))}, lambda prompt: hold.wait(60) and None)
    p = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--jobs", jobs)
    for _ in range(3000):
        if t.service.open == jobs or p.poll() is not None:
            break
        hold.wait(0.02)
    status = dict(line.split(":", 1) for line in open("/proc/%d/status" % p.pid).read().splitlines())
    hold.set()
    p.communicate(timeout=120)
    t.check("%d rows open at a time" % jobs, p.returncode == 0 and t.service.most_open == jobs, "%s %s" % (p.returncode, t.service.most_open))
    return int(status.get("VmSize", "0").split()[0])


def test_space():
    """Rows share what is kept aside for the end of memory: each had 2 MB of it, 4 GB for --jobs 2000."""
    few, many = peak_kb(1), peak_kb(200)
    t.check("200 rows take less than 1 MB of address space each", 0 < few and many - few < 200 * 1024, "%d %d" % (few, many))


for test in (test_space,):
    test()
sys.exit(t.finish())
