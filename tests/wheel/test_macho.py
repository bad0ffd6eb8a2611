# SPDX-License-Identifier: Apache-2.0
"""The parts of macOS files that are read, in files of some hundred bytes that are made here. Each mistake that a linker could make is found."""
import hashlib
import struct
import sys

from ..checks import check
from ..harness.choice import ROOT

sys.path.insert(0, str(ROOT / "packaging" / "wheel"))
import macho  # noqa: E402

SYSTEM = "/usr/lib/libSystem.B.dylib"
TARGET = "aarch64-macos.11.0"
EXTENSION = [("_PyInit__pdl", False, 0), ("_PyLong_FromLong", True, macho.FOUND_LATER), ("_malloc", True, 1)]
COMMAND = [("_main", False, 0), ("_malloc", True, 1)]


def command(number, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<2I", number, 8 + len(body)) + body


def signature(data):
    """The ad hoc signature of what stands before it."""
    pages = [hashlib.sha256(data[i:i + 4096]).digest() for i in range(0, len(data), 4096)]
    directory = struct.pack(">9I4B", 0xFADE0C02, 44 + 32 * len(pages), 0x20400, macho.AD_HOC, 44, 0, 0, len(pages), len(data), 32, macho.SHA256, 0, 12)
    directory += b"\0" * (44 - len(directory)) + b"".join(pages)
    return struct.pack(">5I", 0xFADE0CC0, 20 + len(directory), 1, 0, 20) + directory


def written(path, kind, symbols, processor="aarch64", oldest=(11, 0), library=SYSTEM, is_signed=True):
    names, rows = b"\0", b""
    for name, is_undefined, ordinal in symbols:
        rows += struct.pack("<IBBHQ", len(names), macho.EXTERNAL | (0 if is_undefined else 0x0E), 0 if is_undefined else 1, ordinal << 8, 0)
        names += name.encode() + b"\0"

    def head(at, end):
        parts = [command(macho.OLDEST, struct.pack("<4I", macho.MACOS, oldest[0] << 16 | oldest[1] << 8, 0, 0)),
                 command(macho.LOADED, struct.pack("<4I", 24, 0, 0, 0) + library.encode() + b"\0"),
                 command(macho.SYMBOLS, struct.pack("<4I", at, len(symbols), at + len(rows), len(names)))]
        parts += [command(macho.SIGNATURE, struct.pack("<2I", end, 0))] if is_signed else []
        return struct.pack("<8I", 0xFEEDFACF, macho.PROCESSORS[processor], 0, kind, len(parts), sum(map(len, parts)), 0, 0) + b"".join(parts)
    at = len(head(0, 0))
    end = at + len(rows) + len(names)
    data = head(at, end) + rows + names
    path.write_bytes(data + (signature(data) if is_signed else b""))
    return path


def found(folder, extension=(), **command_more):
    symbols = extension or EXTENSION
    return macho.problems(written(folder / "e.so", macho.LIBRARY, symbols), written(folder / "pdl", macho.EXECUTABLE, COMMAND, **command_more), TARGET)


def test_faults(folder):
    check("nothing is wrong", found(folder) == [], found(folder))
    for name, more, want in [("another processor", {"processor": "x86_64"}, "pdl is for another processor"),
                             ("a later system", {"oldest": (12, 1)}, "pdl needs macOS 12.1, not 11.0"),
                             ("a library of somewhere", {"library": "/opt/lib/libz.dylib"}, "pdl needs /opt/lib/libz.dylib"),
                             ("no signature", {"is_signed": False}, "pdl has a wrong signature: there is none")]:
        said = found(folder, **more)
        check(name, len(said) == 1 and said[0].startswith(want), said)
    said = found(folder, [*EXTENSION, ("_pdl_lost", True, macho.FOUND_LATER)])
    check("a function that is nowhere", said == ["these are defined nowhere: _pdl_lost"], said)
    said = found(folder, EXTENSION[1:])
    check("an extension that Python cannot load", said == ["e.so does not show PyInit__pdl"], said)


def test_signature(folder):
    path = written(folder / "pdl", macho.EXECUTABLE, COMMAND)
    data = bytearray(path.read_bytes())
    data[data.index(b"_main")] ^= 1
    path.write_bytes(data)
    check("a byte that was changed", macho.File(path).signature_fault() == "page 0 has another hash", macho.File(path).signature_fault())
