# SPDX-License-Identifier: Apache-2.0
"""Checks files for macOS on machines that cannot run them: processor, oldest system, libraries, symbols and signature.

The files are Mach-O with words of 64 bits. The signature that processors of Apple ask for is the "ad hoc" one: no certificate, only a hash of
each page, which is computed again here."""
import hashlib
import pathlib
import struct

PROCESSORS = {"x86_64": 0x01000007, "aarch64": 0x0100000C}
EXECUTABLE, LIBRARY, BUNDLE = 2, 6, 8
SYMBOLS, LOADED, SIGNATURE, OLDEST = 0x2, 0xC, 0x1D, 0x32  # commands for the loader
MACOS = 1
UNDEFINED, EXTERNAL, STAB, TYPE = 0x0, 0x01, 0xE0, 0x0E
FOUND_LATER = 0xFE  # a symbol with this number names no library
OF_THE_SYSTEM = {"/usr/lib/libSystem.B.dylib"}
AD_HOC, SHA256 = 0x2, 2


class File:
    def __init__(self, path):
        self.name, self.data = pathlib.Path(path).name, pathlib.Path(path).read_bytes()
        magic, self.processor, _, self.kind, count = struct.unpack_from("<5I", self.data)
        if magic != 0xFEEDFACF:
            raise ValueError("%s is not Mach-O" % self.name)
        self.commands, at = [], 32
        for _ in range(count):
            command, size = struct.unpack_from("<2I", self.data, at)
            self.commands.append((command, self.data[at:at + size]))
            at += size

    def of(self, wanted):
        return [body for command, body in self.commands if command & 0x7FFFFFFF == wanted]

    def oldest(self):
        """Returns (platform, (major, minor)) of the oldest system on which the file runs."""
        platform, version = struct.unpack_from("<2I", self.of(OLDEST)[0], 8)
        return platform, (version >> 16, version >> 8 & 0xFF)

    def libraries(self):
        return {b[struct.unpack_from("<I", b, 8)[0]:].rstrip(b"\0").decode() for b in self.of(LOADED)}

    def symbols(self):
        """Returns the names that other files can use, and the undefined names for which the file names no library."""
        at, count, strings, _ = struct.unpack_from("<4I", self.of(SYMBOLS)[0], 8)
        shown, later = set(), set()
        for i in range(count):
            offset, kind, _, about, _ = struct.unpack_from("<IBBHQ", self.data, at + 16 * i)
            name = self.data[strings + offset:self.data.index(b"\0", strings + offset)].decode()
            if kind & STAB or not kind & EXTERNAL:
                continue
            if kind & TYPE == UNDEFINED:
                if about >> 8 == FOUND_LATER:
                    later.add(name)
            else:
                shown.add(name)
        return shown, later

    def signature_fault(self):
        """Returns the fault of the signature, or None."""
        found = self.of(SIGNATURE)
        if not found:
            return "there is none"
        at, _ = struct.unpack_from("<2I", found[0], 8)
        magic, _, count = struct.unpack_from(">3I", self.data, at)
        slots = dict(struct.unpack_from(">2I", self.data, at + 12 + 8 * i) for i in range(count))
        if magic != 0xFADE0CC0 or 0 not in slots:
            return "it has no list of hashes"
        directory = at + slots[0]
        (magic, _, _, flags, hashes, _, _, pages, limit, size, kind, _, bits) = struct.unpack_from(">9I4B", self.data, directory)
        if (magic, kind, size) != (0xFADE0C02, SHA256, 32) or not flags & AD_HOC:
            return "it is not an ad hoc one with SHA-256"
        page = 1 << bits
        if limit != at or pages != -(-limit // page):
            return "it does not reach over the whole file"
        for i in range(pages):
            there = self.data[directory + hashes + size * i:directory + hashes + size * (i + 1)]
            if hashlib.sha256(self.data[i * page:min((i + 1) * page, limit)]).digest() != there:
                return "page %d has another hash" % i
        return None


def faults(f, kinds, target):
    """Yields the faults of a file, as texts."""
    processor, _, version = target.partition("-macos.")
    if f.processor != PROCESSORS[processor]:
        yield "is for another processor (%#x)" % f.processor
    if f.kind not in kinds:
        yield "is a file of another kind (%d)" % f.kind
    wanted = tuple(int(n) for n in version.split("."))
    if f.oldest()[0] != MACOS or f.oldest()[1] > wanted:
        yield "needs macOS %d.%d, not %s" % (*f.oldest()[1], version)
    if f.libraries() - OF_THE_SYSTEM:
        yield "needs %s" % ", ".join(sorted(f.libraries() - OF_THE_SYSTEM))
    if processor == "aarch64" and f.signature_fault():
        yield "has a wrong signature: " + f.signature_fault()


def problems(extension, command, target):
    """Returns the faults of the two files of a wheel, as lines."""
    e, c = File(extension), File(command)
    found = ["%s %s" % (f.name, fault) for f, kinds in ((e, (LIBRARY, BUNDLE)), (c, (EXECUTABLE,))) for fault in faults(f, kinds, target)]
    shown, later = e.symbols()
    if "_PyInit__pdl" not in shown:
        found.append("%s does not show PyInit__pdl" % e.name)
    strange = {n for n in later if not n.startswith(("_Py", "__Py"))} | c.symbols()[1]
    if strange:
        found.append("these are defined nowhere: %s" % ", ".join(sorted(strange)[:20]))
    return found
