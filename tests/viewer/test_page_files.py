# SPDX-License-Identifier: Apache-2.0
"""The scripts and style sheets of the page are shortened once, when the program is built, and not at each request."""
import re
import subprocess

from ..checks import check, same
from ..harness.choice import Choice, ROOT

# a file, what tools/embed makes of it
SHORTENED = [
    ("a.js", "// a.js -- it is.\nimport { b } from \"./b.js\";\n\n  // One.\nconst c = {\n  d: \"http://e\", // the address\n};\nlet f = 1;\nexport function g() {\n  return f;\n}\n",
     "import { b } from \"./b.js\";\nconst c = {d: \"http://e\",};let f = 1;\nexport function g() {return f;}\n"),
    ("a.css", "/* a.css\n * b */\n:root {\n  --c: d(1px, 2px);\n  e: f;\n}\n\n.g .h { i: j; }\n", "\n:root{--c:d(1px,2px);e:f}.g .h{i:j}"),
    ("empty.js", "", ""), ("end.js", "a()", "a()\n"), ("a.pdl", "# one\n  text: // a\n", "# one\n  text: // a\n"),
]


def test_embed(folder):
    for name, text, want in SHORTENED:
        (folder / name).write_text(text)
        subprocess.run([Choice.build / "embed", folder / name, folder / "out.c", "symbol"], check=True, timeout=60)
        made = (folder / "out.c").read_text()
        same(bytes(int(x, 16) for x in re.findall(r"0x([0-9a-f]{2}),", made)).decode(), want, name)
        check("%s: the length" % name, "symbol_len = %d;" % len(want) in made, made[-60:])


def test_program_holds_no_comments():
    held = (Choice.build / "pdl").read_bytes()
    for path in sorted((ROOT / "src/apps/viewer/page").glob("*.*s")):
        title = re.search(r"%s -- [^.\n]+" % re.escape(path.name), path.read_text("utf-8"))
        check("the comments of %s are not in the program" % path.name, title and title[0].encode() not in held, title)
