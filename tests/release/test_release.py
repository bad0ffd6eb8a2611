# SPDX-License-Identifier: Apache-2.0
"""What `make release` says of the files that it hands out: which belong to it, their hashes, the bill of materials, the page, and what differs
between two releases. The packages themselves have tests of their own (tests/wheel, static, container, deb)."""
import hashlib
import importlib.machinery
import importlib.util

from ..checks import check
from ..harness.choice import ROOT

NAMES = ["libpdl-0.1.0-cp310-abi3-manylinux_2_28_x86_64.whl", "libpdl_compat-0.1.0-py3-none-any.whl", "pdl-linux-x86_64", "pdl-0.1.0-x86_64.oci.tar",
         "pdl_0.1.0-1_amd64.deb", "libpdl0_0.1.0-1_amd64.deb", "libpdl_0.1.0-1.dsc", "libpdl-0.1.0.tar.gz"]


def tool():
    loader = importlib.machinery.SourceFileLoader("make_release", str(ROOT / "packaging/release/make-release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_release", loader))
    loader.exec_module(module)
    return module


def filled(folder):
    folder.mkdir()
    for name in [*NAMES, "notes.txt"]:
        (folder / name).write_text(name, "utf-8")
    return folder


def test_files(folder):
    made = tool()
    out = filled(folder / "dist")
    found = made.files(out)
    check("each file is there once, and nothing else", sorted(p.name for p, _ in found) == sorted(NAMES), [p.name for p, _ in found])
    said = made.page(found, ["the image"])
    check("the page has a row for each", all("`%s` |" % name in said for name in NAMES) and "Not made here: the image." in said, said)
    names = {name: digest for digest, name in (line.split("  ") for line in made.sums(out).splitlines())}
    check("hashes of all that lies there", names == {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in out.iterdir()}, names)


def test_bill(folder):
    made = tool()
    found = made.files(filled(folder / "dist"))
    bill = made.bill(found)
    parts = made.kit.sources()
    check("each library that comes inside has a licence", set(parts) == set(made.LICENCES), set(parts) ^ set(made.LICENCES))
    by_id = {p["SPDXID"]: p for p in bill["packages"]}
    check("ids are not used twice", len(by_id) == len(bill["packages"]) == len(found) + len(parts))
    check("relations name what is there", all(r["relatedSpdxElement"] in by_id and r["spdxElementId"] in {*by_id, "SPDXRef-DOCUMENT"} for r in bill["relationships"]))
    holders = {by_id[r["spdxElementId"]]["name"] for r in bill["relationships"] if r["relationshipType"] == "CONTAINS"}
    check("what has libraries inside", holders == {NAMES[0], "pdl-linux-x86_64", "pdl-0.1.0-x86_64.oci.tar"}, holders)


def test_two_releases(folder):
    made = tool()
    one, other = filled(folder / "one"), filled(folder / "other")
    check("the same", made.differing(one, other) == [])
    (other / "pdl-linux-x86_64").write_text("another", "utf-8")
    (one / "libpdl_0.1.0-1.dsc").unlink()
    check("another, and one that is missing", made.differing(one, other) == ["libpdl_0.1.0-1.dsc", "pdl-linux-x86_64"], made.differing(one, other))
