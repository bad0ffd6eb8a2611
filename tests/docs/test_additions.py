# SPDX-License-Identifier: Apache-2.0
"""docs/differences.md lists everything that the reference, 0.9.3, does not have: fields, options, commands, filters."""
import json
import re
import subprocess

from .test_code import section
from ..checks import check, same
from ..harness.choice import ROOT

# What 0.9.3 has: the fields of each kind of block, of all kinds, and of their parts; and the options of its command.
KINDS = {kind: frozenset(fields.split()) for kind, fields in (row.split(": ") for row in """text: text
lastOf: lastOf
array: array
object: object
sequence: sequence join
if: if then else
match: match with
repeat: for index while repeat until maxIterations join
map: for index maxWorkers map maxIterations join
include: include
import: import
function: function return signature
call: call args
model: platform model processor input parameters modelResponse structuredDecoding
code: lang code args scope parameters
get: get
data: data raw
message: content name tool_call_id tool_calls
read: read message multiline
aggregator: aggregator
error: program msg""".split("\n"))}
COMMON = frozenset("description role spec defs retry trace_error_on_retry context def contribute parser expectations fallback".split())
FIELDS = frozenset("encoding file flush mode prefix suffix".split()).union(COMMON, *KINDS.values())
OPTIONS = frozenset("help sandbox no-sandbox data-file data stream trace schema version".split())
HEAD = frozenset("factor resample num_iterations".split())  # fields of its development head, or of the paper
JINJA = frozenset("""abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape format groupby indent int
items join last length list lower map max min pprint random reject rejectattr replace reverse round safe select selectattr slice sort string striptags
sum title tojson trim truncate unique upper urlencode urlize wordcount wordwrap xmlattr""".split())  # its filters


def run(pdl, *args):
    return subprocess.run([pdl, *args], capture_output=True, text=True, check=True).stdout


def own_filters(page):
    """The filters of the page of builtins that Jinja does not have."""
    part = page[page.index("\n## Filters\n"):page.index("\n## Tests\n")]
    return set(re.findall(r"^\| `(\w+)\(", part, re.M)) - JINJA


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
    page = run(pdl, "__builtins")
    filters = own_filters(page)
    named = set(re.findall(r"`(\w+)`", re.search(r"what is added here\s*\((.*?)\)", page, re.S)[1])) - {"stdlib"}
    check("lang/builtins.c names the filters that Jinja lacks", filters == named, sorted(filters), sorted(named))
    for what, have in (("fields", fields - FIELDS - {""}), ("options", options - OPTIONS), ("commands", commands), ("filters", filters)):
        check("differences.md, additions: %s" % what, have and not have - said, "missing:", sorted(have - said))


def own_fields(table):
    """The fields that the reference lacks: (kind, name), with ANY for those of all kinds."""
    own = {("ANY", f["key"]) for f in table["common"] if f["key"] not in COMMON}
    return own | {(b["kind"], f["key"]) for b in table["blocks"] for f in b["fields"] if f["key"] not in KINDS.get(b["kind"], ()) and f["key"] not in HEAD | {""}}


def test_strict_reports_own_fields(pdl):
    """`pdl check --strict` knows every field of a block that the reference refuses: the title of its rule names them."""
    own = own_fields(json.loads(run(pdl, "dump", "--table")))
    title = re.search(r'STRICT\(field_own, .*: (.*)\."\)', (ROOT / "src/language/check/rules.def").read_text("utf-8"))[1]
    named = {(kind or "ANY", name) for name, kind in re.findall(r"(\w+)(?: of (\w+))?(?:, |$)", title)}
    check("rules.def, the title of field-own names the fields that the reference lacks, as NAME, or NAME of KIND", own == named, "missing:", sorted(own - named), "too many:", sorted(named - own))
    row = re.search(r"own\[\] = \{(.*?)\};", (ROOT / "src/language/check/blocks/lint.c").read_text("utf-8"), re.S)[1]
    found = set(re.findall(r'\{(?:PDL_BLOCK_)?(\w+), "(\w+)"\}', row))
    check("lint.c, own[] of lint_own_fields has the names and kinds of that title", found == named, "missing:", sorted(named - found), "too many:", sorted(found - named))


def test_own_fields_differ_by_kind():
    """A field that the reference has on another kind is still one that it lacks."""
    table = {"blocks": [{"kind": kind, "fields": [{"key": key} for key in keys]} for kind, keys in
                        (("text", ("text", "join")), ("map", ("map", "join")), ("scalar", ("",)), ("factor", ("factor",)), ("echo", ("text",)))],
             "common": [{"key": "def"}, {"key": "join"}]}
    same(own_fields(table), {("text", "join"), ("echo", "text"), ("ANY", "join")}, "kinds and names")


def test_plain_defaults(pdl):
    """The package that stands in for the reference's knows the default of each BOOL that a table gives none: true where its documentation says so."""
    table = json.loads(run(pdl, "dump", "--table"))
    rows = [f for f in [*(f for b in table["blocks"] for f in b["fields"]), *table["common"]] if f["type"] == "BOOL" and "default" not in f]
    text = (ROOT / "python/compat/pdl/pdl_ast.py").read_text("utf-8")
    known = dict(re.findall(r'"(\w+)": (True|False)', re.search(r"^_PLAIN_DEFAULTS = \{(.*?)\}", text, re.M | re.S)[1]))
    check("the tables have fields of this form", rows)
    for row in rows:
        wanted = str("true when absent" in row["doc"])
        check("pdl_ast.py, _PLAIN_DEFAULTS: %s is %s" % (row["key"], wanted), known.get(row["key"]) == wanted, known.get(row["key"], "it is missing"))
    others = sorted(set(known) - {row["key"] for row in rows})
    check("pdl_ast.py, _PLAIN_DEFAULTS has no others", not others, others)
