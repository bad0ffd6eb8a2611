# SPDX-License-Identifier: Apache-2.0
"""docs/differences.md lists everything that the reference, 0.9.3, does not have: fields, options, commands, filters."""
import json
import re
import subprocess

from .test_code import section
from ..checks import check

# What 0.9.3 has: fields of its blocks and options of its command.
FIELDS = frozenset("""aggregator args array call code content context contribute data def defs description else encoding error expectations fallback file flush
for function get if import include index input join lang lastOf map match maxIterations maxWorkers message mode model modelResponse msg multiline name object
parameters parser platform prefix processor program raw read repeat retry return role scope sequence signature spec structuredDecoding suffix text then
tool_call_id tool_calls trace_error_on_retry until while with""".split())
OPTIONS = frozenset("help sandbox no-sandbox data-file data stream trace schema version".split())
FILTERS = frozenset("json pylist".split())  # that Jinja does not have


def run(pdl, *args):
    return subprocess.run([pdl, *args], capture_output=True, text=True, check=True).stdout


def test_additions(pdl):
    said = set(re.findall(r"\w[\w-]*", " ".join(re.findall(r"`([^`]+)`", section("docs/differences.md", "## Additions")))))
    table = json.loads(run(pdl, "dump", "--table"))
    fields = {f["key"] for b in table["blocks"] for f in b["fields"]} | {f["key"] for f in table["common"] + table["records"]}
    listed = run(pdl, "help")
    commands = set()
    for names in re.findall(r"^  ([a-z]+(?:, [a-z]+)*)", listed[listed.index("\nCommands"):], re.M):
        commands |= set(names.split(", "))
    commands -= {"output"}  # the rest of a line
    options = set(re.findall(r"^  (?:-\w, )?--([\w-]+)", run(pdl, "run", "--help"), re.M))
    for what, have in (("fields", fields - FIELDS - {""}), ("options", options - OPTIONS), ("commands", commands), ("filters", FILTERS)):
        check("differences.md, additions: %s" % what, have and not have - said, "missing:", sorted(have - said))
