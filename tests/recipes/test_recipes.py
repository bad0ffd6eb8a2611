#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_recipes.py -- the first recipes of CONTRIBUTING.md, applied to a copy of the tree: a filter, a test, a method, a field of one kind
and of all, and a kind of block. Counts the files that each of them touches, builds the copy once, runs a program that uses them all, and
looks at whether a row without its function is refused by the compiler.

    tests/recipes/test_recipes.py BUILD_DIRECTORY
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("src", "include", "tools", "lib", "packaging", "tests/unit", "tests/model", "docs/manual")
AFTER, BEFORE, END = "after", "before", "end"

# A step: file, where, the text that is looked for, the text that is added.
FILTER = [
    ("src/native/template/filters.c", BEFORE, '    {"filesizeformat", ',
     '    {"exclaim", pdl_f_exclaim, "s", 1, 1, 0, "The text with an exclamation mark.", "do_exclaim", PDL_NS_DEF, "any -> string"},\n'),
    ("src/native/template/filters_text.c", END, "", """
bool pdl_f_exclaim(PDL_ARGS) {
    pdl_val s;
    if (!pdl_arg_text(env, argv[0], &s, err)) return false;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s!", PDL_FMT(pdl_str_get(s)));
    *out = pdl_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    pdl_drop(s);
    return true;
}
"""),
    ("src/native/PRIVATE", AFTER, "pdl_native_fn pdl_f_json, pdl_f_pylist;\n", "pdl_native_fn pdl_f_exclaim;\n"),
]
TEST = [
    ("src/native/template/tests.c", BEFORE, '    {"boolean", t_boolean', '    {"blank", t_blank, "value", 1, 1, 0, "A text without characters.", "test_blank", PDL_NS_DEF, "any -> boolean"},\n'),
    ("src/native/template/tests.c", BEFORE, "static bool t_integer(",
     "static bool t_blank(PDL_ARGS) { YIELD(pdl_is_str(argv[0]) && pdl_str_get(argv[0]).n == 0); }\n"),
]
METHOD = [
    ("src/native/object/methods_str.c", BEFORE, '    {"upper", m_upper', '    {"twice", m_twice, "self", 1, 1, 0, "The text two times.", NULL, PDL_NS_NONE, "string -> string"},\n'),
    ("src/native/object/methods_str.c", BEFORE, "static bool m_upper(", """static bool m_twice(PDL_ARGS) {
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, pdl_str_get(argv[0]));
    pdl_buf_put(&b, pdl_str_get(argv[0]));
    *out = pdl_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return true;
}

"""),
]
FIELD_OF_KIND = [
    ("src/lang/blocks.def", AFTER, '    F(if, else_, "else", BLOCK, OPT, "Run otherwise; the empty string when absent.")\n',
     '    F(if, else_text, "else_text", EXPR, OPT, "Result when the condition fails and there is no else.")\n'),
    ("src/compile/emit_control.c", BEFORE, '    } else {\n        pdl_emit_text(e, PDL_STR(""));', "    } else if (b->else_text) {\n        pdl_emit_tree(e, b->else_text);\n"),
]
COMMON_ROW = ("src/lang/common.def", BEFORE, 'C(HEAD, BACK, contribute,', 'C(RARE, BACK, also, "also", STR, AFTER, "One more variable for the result.")\n')
FIELD_OF_ALL = [
    COMMON_ROW,
    ("src/compile/emit_block.c", BEFORE, "static void field_contribute(", """static void field_also(pdl_emit *e, const pdl_block *b) {
    if (b->rare->also.s.p) emit_BIND_KEEP(e, pdl_emit_intern(e, b->rare->also.s));
}

"""),
]
KIND_ROWS = ("src/lang/blocks.def", BEFORE, "BLOCK(error,", """BLOCK(echo, LEAF, AUDIBLE, READS, "EchoBlock", "A value that is given back.")
    K(echo, value, "echo", EXPR, REQ, "The value.")
END(echo)
""")
KIND = [
    KIND_ROWS,
    ("src/compile/emit_data.c", BEFORE, "    case PDL_BLOCK_empty:", "    case PDL_BLOCK_echo: pdl_emit_tree(e, PDL_AS(echo, b)->value); return;\n"),
    ("src/check/kinds.c", BEFORE, "    case PDL_BLOCK_factor:", "    case PDL_BLOCK_echo: check_fields(c, b); return &pdl_ty_any;\n"),
]
# Name, steps, files that it may touch.
RECIPES = [("filter", FILTER, 3), ("test", TEST, 1), ("method", METHOD, 1), ("field of a kind", FIELD_OF_KIND, 2),
           ("field of all blocks", FIELD_OF_ALL, 2), ("kind", KIND, 3)]

PROGRAM = """array:
- ${ "hi" | exclaim }
- ${ "" is blank }
- ${ "ab".twice() }
- if: false
  then: yes!
  else_text: otherwise
- text: kept
  also: copy
- echo: ${ copy }
"""
EXPECTED = '["hi!", true, "abab", "otherwise", "kept", "kept"]'



def copy_tree(to):
    for name in NEEDED:
        shutil.copytree(ROOT / name, to / name)
    for path in [p for p in ROOT.iterdir() if p.is_file()]:
        shutil.copy(path, to / path.name)
    for path in (ROOT / "docs").glob("*.md"):
        shutil.copy(path, to / "docs" / path.name)
    for name in ("bench", "examples"):
        (to / name).mkdir()
    for path in (ROOT / "bench").glob("*.c"):
        shutil.copy(path, to / "bench" / path.name)


def private_header(tree):
    """The private header of the natives: the one that declares the filters."""
    return next(p for p in (tree / "src/native").glob("*.h") if "pdl_f_pylist;" in p.read_text("utf-8"))


def apply_step(tree, step):
    """-> the file, or None when the text is not there exactly once"""
    name, where, found, added = step
    path = private_header(tree) if name.endswith("PRIVATE") else tree / name
    text = path.read_text("utf-8")
    if where == END:
        path.write_text(text + added, "utf-8")
        return path
    if text.count(found) != 1:
        return None
    path.write_text(text.replace(found, found + added if where == AFTER else added + found), "utf-8")
    return path


def run(argv, cwd, timeout=300):
    r = subprocess.run([str(a) for a in argv], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    return r.returncode, r.stdout.decode("utf-8", "replace")


def compiles(tree, source):
    return run(["cc", "-std=c17", "-D_GNU_SOURCE", "-Isrc", "-Iinclude", "-Werror", "-Wall", "-Wextra", "-Wswitch-enum", "-fsyntax-only", source], tree)[0] == 0


def refuses_half(tree, step, source):
    """A row alone: the source that must know of it does not compile. The row is taken back."""
    path = tree / step[0]
    before = path.read_text("utf-8")
    applied = apply_step(tree, step)
    ok = applied and not compiles(tree, source)
    path.write_text(before, "utf-8")
    return ok and compiles(tree, source)


def main():
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        copy_tree(tree)
        check("a common field without its function is refused", refuses_half(tree, COMMON_ROW, "src/compile/emit_block.c"))
        check("a kind without its case is refused", refuses_half(tree, KIND_ROWS, "src/compile/emit_data.c"))
        for name, steps, most in RECIPES:
            touched = [apply_step(tree, s) for s in steps]
            check("%s: every step of the recipe has its place" % name, None not in touched)
            check("%s: %d files, not %d" % (name, len(set(touched)), most), len(set(touched)) == most)
        status, text = run(["meson", "setup", "out", "-Doptimization=0", "-Ddebug=false"], tree)
        if status == 0:
            status, text = run(["ninja", "-C", "out", "pdl"], tree)
        check("the copy builds:\n" + text[-3000:], status == 0)
        if status == 0:
            (tree / "all.pdl").write_text(PROGRAM, "utf-8")
            status, text = run([tree / "out/pdl", "--stream", "none", "all.pdl"], tree)
            check("the program uses all of them: %s" % text, status == 0 and text.strip() == EXPECTED)
            status, text = run([tree / "out/pdl", "schema"], tree)
            check("the schema has the fields and the kind", '"EchoBlock"' in text and '"else_text"' in text and '"also"' in text)
            status, text = run([tree / "out/pdl", "dump", "all.pdl"], tree)
            check("dumps have them: %s" % text, "also: copy" in text and "else_text: otherwise" in text and "echo: ${ copy }" in text)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
