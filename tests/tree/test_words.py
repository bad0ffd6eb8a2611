# SPDX-License-Identifier: Apache-2.0
"""A replaced word is found wherever people read: comments and messages of C, Python and the page's scripts, programs of the library, and pages."""
import importlib.util
import pathlib

from ..checks import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANTED = [
    ("a.c", "/* It goes on. */", True),
    ("a.c", "/* It continues\n * and goes\n * on. */", True),
    ("a.c", 'const char *s = "it goes on";', True),
    ("a.js", "// It goes on.", True),
    ("a.js", "// It goes\n// on.", True),
    ("a.js", "show('it goes on');", True),
    ("a.js", "show(`it goes on`);", True),
    ("a.py", "x = 1  # it goes on", True),
    ("a.py", 'raise ValueError("it goes on")', True),
    ("a.py", '"""It\ngoes on."""', True),
    ("a.pdl", "# it goes on", True),
    ("a.md", "It goes on.", True),
    ("a.md", "Call `goes on`.", False),
    ("a.c", "/* It continues. */", False),
    ("a.js", 'get("https://a.b/c"); // It continues.', False),
]


def test_words_are_found_where_people_read():
    spec = importlib.util.spec_from_file_location("prose", ROOT / "tools" / "prose.py")
    prose = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prose)
    rows = [row for row in prose.words() if row.text]
    for name, text, wanted in PLANTED:
        path = pathlib.Path(name)
        low, spans, marks = prose.prose_of(path, text.lower(), prose.pieces_of(path, text))
        found = [row.rule for row in rows if list(row.find(low, spans, marks))]
        check("%s: %s" % (name, " ".join(text.split())), ("go-on" in found) == wanted, found)
