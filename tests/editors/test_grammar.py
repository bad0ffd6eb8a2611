# SPDX-License-Identifier: Apache-2.0
"""Applies the grammar of the extension to every program of the tree, with the engine of VS Code. Keys, texts of block scalars and values have the
colours of what PyYAML says they are. Skipped when node, its packages or PyYAML are not available."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
from .. import node_of
import pytest
from ..checks import skip
from ..conformance import run as kit
from ..harness.choice import ROOT
from .counting import judge

try:
    import yaml
except ImportError:
    yaml = None

# A text, and where to look: line and column from 0.
CODE = "- lang: %s\n  code: |\n    words ${ x } %s\n  def: y\n"
PROBES = {
    "a quote in a text begins nothing": ("- The 5\" disk is 'fine\n- if: 1\n", 1, 2),
    "an apostrophe after a blank": ("text: rock 'n roll\ndef: x\n", 1, 0),
    "a key after a block scalar": ("- text: |\n    a: \"b\n  def: x\n", 2, 2),
    "a brace in a text in an expression": ("text: ${ {'a': \"}\"} | tojson }\n", 0, 22),
    "a comment": ("text: a # b\n", 0, 8),
    "no comment": ("text: a#b\n", 0, 8),
    "python": (CODE % ("python", ""), 2, 5),
    "shell": (CODE % ("command", ""), 2, 5),
    "jinja": (CODE % ("jinja", "{% for %}"), 2, 20),
    "pdl": ("- lang: pdl\n  code: |\n    text: a\n", 2, 5),
    "an expression in code": (CODE % ("command", ""), 2, 13),
    "a key after code": (CODE % ("command", ""), 3, 3),
    "a key before a brace": ("data: {d:}\n", 0, 7),
    "a text of blanks and a colon": ("data: {Kiel Canal: 1}\n", 0, 9),
}
WANT = {
    "a quote in a text begins nothing": "keyword.control.pdl", "an apostrophe after a blank": "keyword.control.pdl", "a key after a block scalar": "keyword.control.pdl",
    "a brace in a text in an expression": "support.function.filter.pdl", "a comment": "comment.line", "no comment": "", "python": "meta.embedded.python",
    "shell": "meta.embedded.shell", "jinja": "keyword.control.pdl", "pdl": "keyword.control.pdl", "an expression in code": "variable.other", "a key after code": "keyword.control",
    "a key before a brace": "entity.name.tag", "a text of blanks and a colon": "entity.name.tag",
}
# A complex key, which a grammar of single lines cannot follow, and a program that YAML reads in another way than it is meant.
KNOWN = ("? b", "? text", "tests/errors/schema/expression_colon.pdl")


def places(text):
    """Keys, lines of block scalars, and the last characters of values, as PyYAML finds them; ValueError: it is no YAML."""
    found = {"keys": [], "blocks": [], "values": []}
    is_key = False
    lines = text.split("\n")
    try:
        for token in yaml.scan(text):
            if isinstance(token, yaml.KeyToken):
                is_key = True
            elif isinstance(token, yaml.ScalarToken):
                start, end = token.start_mark, token.end_mark
                if is_key:
                    found["keys"].append((start.line, start.column, bool(token.style)))
                elif token.style in ("|", ">"):
                    for i in range(start.line + 1, end.line + (end.column > 0)):
                        if lines[i].strip():
                            found["blocks"].append((i, len(lines[i]) - len(lines[i].lstrip())))
                elif start.line == end.line and end.column > start.column:
                    found["values"].append((start.line, end.column - 1, bool(token.style)))
                is_key = False
            elif not isinstance(token, (yaml.AnchorToken, yaml.TagToken)):
                is_key = False
    except yaml.YAMLError:
        raise ValueError
    return found


def programs():
    found = {str(path.relative_to(ROOT)): path.read_bytes() for folder in ("examples", "lib", "tests") for path in (ROOT / folder).rglob("*.pdl")}
    found.update({name: data for name, data in kit.program_files().items() if name.endswith(".pdl")})
    for name, data in sorted(found.items()):
        try:
            text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
            if len(text) < 20000:
                yield {"name": name, "text": text, **places(text)}
        except ValueError:
            continue


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1500)
def test_grammar(build):
    modules, why = node_of.modules(build, "vscode-textmate@9.3.2", "vscode-oniguruma@2.0.1")
    if not yaml:
        why = "no PyYAML"
    if why:
        skip("the colours", why)
        return
    with tempfile.TemporaryDirectory(prefix="pdl_grammar_") as work:
        subprocess.run([sys.executable, str(ROOT / "tools" / "editor-tables"), str(build / "pdl"), work], check=True, timeout=120)
        file, all_programs = pathlib.Path(work, "task.json"), list(programs())
        file.write_text(json.dumps({"modules": modules, "grammar": work + "/syntaxes/pdl.tmLanguage.json", "texts": all_programs, "probes": PROBES}))
        p = subprocess.run(["node", str(HERE / "grammar.mjs"), str(file)], capture_output=True, text=True, timeout=900)
        said = json.loads(p.stdout) if p.returncode == 0 else {"error": p.stderr[-2000:]}
    rows = [("programs", [len(all_programs), said.get("seen")], lambda s: s[0] > 400 and s[1] > 5000)]
    rows.append(("what PyYAML says", [w for w in said.get("wrong", ["?"]) if not any(k in w for k in KNOWN)][:20], lambda s: s == []))
    rows += [(name, said.get("probes", {}).get(name), lambda s, want=want: want in s if want else s == "") for name, want in WANT.items()]
    if "error" in said:
        print(said["error"])
    judge("grammar", rows)

