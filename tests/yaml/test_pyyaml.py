# SPDX-License-Identifier: Apache-2.0
"""Compares our YAML events with PyYAML's, event by event. PyYAML 6's SafeLoader is the reader of the reference.

Of every event, the kind, style, anchor, tag, text and both places are compared; of an error, the class, text and place. The texts are the YAML suite
and the recorded values of the conformance kit, every program and data file of the tree, and mutations of all of them (bytes removed, doubled,
exchanged, indicators inserted, lines moved, parts of two texts joined) from a seed (PDL_SEED). Skipped when PyYAML is not installed. Texts on which
PyYAML fails with an exception that is not one of its own are left out.
"""
import json
import os
import pathlib
import random
import subprocess

import pytest

from ..checks import check, skip
from ..conformance import run as kit
from ..harness.choice import ROOT

try:
    import yaml
except ImportError:
    yaml = None

# The conformance kit: the copy in the tree, and the given one beside it, which has the YAML suite.
KITS = [p for p in (ROOT / "tests" / "conformance", ROOT.parent / "shared" / "conformance", ROOT.parent.parent / "shared" / "conformance") if p.exists()]
KINDS = {"ScalarEvent": "scalar", "SequenceStartEvent": "seq", "MappingStartEvent": "map", "SequenceEndEvent": "close",
         "MappingEndEvent": "close", "AliasEvent": "alias", "DocumentStartEvent": "doc", "StreamEndEvent": "stop"}
PIECES = [": ", "- ", "? ", "#", " #", "&a ", "*a", "!", "!!str ", "!x", "!<y>", "|", ">", "|2", ">-", "|+", "'", '"', "[", "]", "{", "}", ",", "%", "%TAG ! x\n",
          "%YAML 1.1\n", "@", "`", "---", "---\n", "...\n", "\n", "\n\n", "  ", " ", "\t", "\\", "\\x41", "\\u00e9", "\\ud83d\\ude00", "\\\n", "é", "\u2028", "\u2029",
          "\x85", "\ufeff", "\U0001f600", "<<: ", "=", "~", "a: b", "- a: b\n  c: d\n", ":", "::", "?", "-", "x" * 1025, "''", '""', "\r", "\r\n", "\xa0", "\x07", "\x7f"]


# What libyaml reads and PyYAML refuses. PyYAML decides, since the conformance kit has these errors: text, and how our message begins.
LIBYAML_ONLY = [
    ("a:\t1", "found character '\\t'"), ("a: 1\t\nb: 2\n", "found character '\\t'"), ("- [\n\ta]\n", "found character '\\t'"),
    ("[a?b]", "expected ',' or ']', but got '?'"), ("{a?b: c}", "expected ',' or '}', but got '?'"), ("{a: !!str, b: c}", "expected ',' or '}'"),
    ("a: |# c\n  x\n", "expected chomping or indentation indicators"), ("%YAML 1.1#c\n---\na\n", "expected a digit or ' '"),
    ("%YAML\t1.1\n---\na\n", "expected alphabetic or numeric character"),
]
# The other way round: these we read as PyYAML does.
PYYAML_ONLY = ["{a:,b: c}", "[?]", "a: >\n  \tx\n", "!!bi,ary x", "%FOO a\n---\nx\n", "%YAML 1.3\n---\nx\n", '"\\ud83d\\ude00"', "{a:}"]
# Keys of 1023 to 1025 characters, of which one is a byte order mark, have two bytes each, or are quoted.
KEYS = [form % (part * (n // len(part) + 1))[:n] for n in range(1019, 1027) for part in ("x", "y\ufeffyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", "\u00e9")
        for form in ("a%s: b\n", '"%s": b\n', "[%s: b]\n", "? %s: b\n")]


class Ours:
    def __init__(self, build):
        self.tool = str(pathlib.Path(build) / "pdl-yaml-events")
        self.p = None

    def events(self, text):
        if self.p is None:
            self.p = subprocess.Popen([self.tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        data = ("\ufeff" * text.startswith("\ufeff") + text).encode("utf-8")
        self.p.stdin.write(b"%d\n%s" % (len(data), data))
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            status = self.p.wait()
            self.p = None
            return [["crashed", status]]
        try:
            return json.loads(line)
        except ValueError:
            return [["unreadable", repr(line)]]


def repaired(s):
    """Surrogates of escapes as we read them: a pair is its character, a half U+FFFD."""
    return s.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if any("\ud800" <= c <= "\udfff" for c in s) else s


def theirs(text):
    """-> events, None when the text is left out"""
    offsets = None
    if not text.isascii():
        offsets, n = [], 0
        for c in text:
            offsets.append(n)
            n += len(c.encode("utf-8"))
        offsets += [n, n]

    def place(mark):
        return offsets[mark.index] if offsets else mark.index

    out = []
    try:
        for e in yaml.parse(text, Loader=yaml.SafeLoader):
            kind = KINDS.get(type(e).__name__)
            if kind is None:
                continue
            style, plain, value, tag, explicit = "", kind != "alias", "", getattr(e, "tag", None), False
            if kind == "scalar":
                style, plain, value = e.style or "", e.implicit[0], repaired(e.value)
            elif kind in ("seq", "map"):
                style, plain = "flow" if e.flow_style else "block", e.implicit
            elif kind == "doc":
                explicit = e.explicit
            if kind in ("close", "stop"):
                plain = False
            if tag == "!":
                tag = None
            out.append([kind, style, getattr(e, "anchor", None), tag or "", plain, value, place(e.start_mark), place(e.end_mark), explicit])
    except yaml.MarkedYAMLError as e:
        out.append(["error", type(e).__name__, e.problem, place(e.problem_mark)])
    except yaml.reader.ReaderError:
        out.append(["error", "ReaderError"])
    except (ValueError, OverflowError, RecursionError, AssertionError, TypeError):
        return None
    return out


def as_theirs(a, b):
    if a == b:
        return True
    if len(a) != len(b) or a[:-1] != b[:-1] or a[-1][0] != "error" or b[-1][0] != "error":
        return False
    return a[-1][1] == b[-1][1] == "ReaderError"


def normal(text):
    """Line ends as pdl_yaml_source leaves them, which is also what PyYAML counts with."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def texts():
    recorded = [k / part for k in KITS for part in ("values/yaml.jsonl", "third_party/yaml-test-suite/yaml.jsonl")]
    for path in filter(pathlib.Path.exists, recorded + [ROOT / "tests" / "conformance" / "values" / "own" / "yaml.jsonl"]):
        for line in filter(None, path.read_text("utf-8").split("\n")):
            case = json.loads(line)
            if isinstance(case.get("text"), str):
                yield case["text"]
    for name, data in kit.program_files().items():
        if name.endswith((".pdl", ".yaml", ".yml")):
            try:
                yield data.decode("utf-8").replace("\r\n", "\n")
            except UnicodeDecodeError:
                pass
    for root in [k / "programs" for k in KITS] + [ROOT / p for p in ("tests", "lib", "examples", "fuzz/corpus/yaml")]:
        for path in sorted(root.rglob("*")):
            if path.suffix in (".pdl", ".yaml", ".yml") or "corpus" in path.parts:
                try:
                    yield path.read_text("utf-8")
                except (UnicodeDecodeError, OSError):
                    pass


def mutated(rng, corpus):
    text = rng.choice(corpus)
    if len(text) > 400:
        start = rng.randrange(len(text) - 300)
        start = text.rfind("\n", 0, start) + 1
        text = text[start:start + rng.randrange(50, 400)]
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        i = rng.randrange(len(text) + 1)
        j = min(len(text), i + rng.choice((1, 1, 2, 3, 8, 20)))
        what = rng.randrange(9)
        if what <= 2:
            text = text[:i] + rng.choice(PIECES) + text[i:]
        elif what == 3:
            text = text[:i] + text[j:]
        elif what == 4:
            text = text[:i] + text[i:j] * 2 + text[j:]
        elif what == 5:
            text = text[:i] + rng.choice(PIECES) + text[j:]
        elif what == 6:
            lines = text.split("\n")
            k = rng.randrange(len(lines))
            lines[k] = " " * rng.randrange(6) + lines[k].lstrip(" ")
            text = "\n".join(lines)
        elif what == 7:
            lines = text.split("\n")
            rng.shuffle(lines)
            text = "\n".join(lines)
        else:
            other = rng.choice(corpus)[:300]
            text = text[:i] + other[rng.randrange(len(other) + 1):]
    return text


def shown(text, a, b):
    for x, y in zip(a, b):
        if x != y:
            return "%r\n  ours   %s\n  theirs %s" % (text, x, y)
    return "%r\n  ours   %s\n  theirs %s" % (text, a[-2:], b[-2:])


@pytest.fixture
def ours(build):
    if yaml is None or not yaml.__version__.startswith("6."):
        skip("events of YAML", "there is no PyYAML 6")
        pytest.skip("there is no PyYAML 6")
    return Ours(build)


def compare(ours, text):
    text = normal(text)
    want = theirs(text)
    if want is not None:
        got = ours.events(text)
        ok = as_theirs(got, want)
        check("events", ok, "" if ok else shown(text, got, want))


def libyaml_reads(text):
    try:
        return bool(list(yaml.parse(text, Loader=yaml.CSafeLoader)))
    except yaml.YAMLError:
        return False


def test_where_libyaml_differs(ours):
    for text, message in LIBYAML_ONLY:
        got = ours.events(text)[-1]
        check("refused", got[0] == "error" and got[2].startswith(message), "%r: %s" % (text, got))
        check("libyaml reads it", not yaml.__with_libyaml__ or libyaml_reads(text), "libyaml refuses %r, too" % text)
        compare(ours, text)
    for text in PYYAML_ONLY:
        check("read", ours.events(text)[-1][0] == "stop", "we refuse %r" % text)
        check("libyaml refuses it", not yaml.__with_libyaml__ or not libyaml_reads(text), "libyaml reads %r, too" % text)
        compare(ours, text)
    for text in KEYS:
        compare(ours, text)


BLOCKS = 3


@pytest.mark.parametrize("block", [pytest.param(b, marks=pytest.mark.tier("test") if b else ()) for b in range(BLOCKS)])
def test_corpus(block, ours):
    corpus = sorted(set(texts()))
    check("there are texts", len(corpus) > 1000, len(corpus))
    for text in corpus[block::BLOCKS]:
        compare(ours, text)


@pytest.mark.tier("test")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_mutations(block, ours, scale):
    corpus = sorted(set(texts()))
    rng = random.Random("%s %d" % (os.environ.get("PDL_SEED", 1), block))
    for _ in range(scale(40000 // BLOCKS + 1)):
        compare(ours, mutated(rng, corpus))
