# SPDX-License-Identifier: Apache-2.0
"""The list of symbols, by which Debian knows the first version of the library that has a function, contains exactly the functions of pdl.h. Programs
that were linked with a removed function would break; a new function gets the version in which it was added."""
import re

from ..checks import check
from ..harness.choice import ROOT


def test_symbols():
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/pdl.h").read_text("utf-8"), flags=re.S)
    declared = {name for text in re.findall(r"PDL_API([^;]*);", header) for name in re.findall(r"\b(pdl_\w+)\(", text)[:1]}
    lines = (ROOT / "debian/libpdl0.symbols").read_text("utf-8").splitlines()
    check("it is the list of libpdl.so.0", lines[0] == "libpdl.so.0 libpdl0 #MINVER#", lines[0])
    rows = [re.fullmatch(r" (pdl_\w+)@Base (\d+\.\d+\.\d+)", line) for line in lines[1:]]
    check("each row has a symbol and a version", all(rows), [line for line, row in zip(lines[1:], rows) if not row])
    listed = {row.group(1) for row in rows if row}
    check("every function of pdl.h is in debian/libpdl0.symbols", declared <= listed, sorted(declared - listed))
    check("and nothing else is", listed <= declared and len(listed) == len(rows), sorted(listed - declared))
