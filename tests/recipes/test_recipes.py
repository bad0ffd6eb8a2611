# SPDX-License-Identifier: Apache-2.0
"""The recipes of CONTRIBUTING.md for a filter, a test, a method, a field of one kind and of all kinds, a kind of block, a provider and a rule. Each
step names its place in the sources, and each recipe changes the number of files that it says. With a compiler and some minutes, the recipes are
applied to a copy of the tree. The copy is built, programs use all additions, and the compiler refuses a row without its function."""
import pathlib
import shutil
import subprocess

import pytest

from ..checks import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("src", "include", "tools", "lib", "packaging", "docs/manual", "docs/spec")
AFTER, BEFORE, END = "after", "before", "end"

# A step: file, where, the text that is looked for, the text that is added.
FILTER = [
    ("src/language/native/template/filters.c", BEFORE, '    {"filesizeformat", ',
     '    {"exclaim", pdl_f_exclaim, "s", 1, 1, 0, "The text with an exclamation mark.", "do_exclaim", PDL_NS_DEF, "any -> string"},\n'),
    ("src/language/native/template/filters_text.c", END, "", """
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
    ("src/language/native/PRIVATE", AFTER, "pdl_native_fn pdl_f_json, pdl_f_pylist;\n", "pdl_native_fn pdl_f_exclaim;\n"),
]
TEST = [
    ("src/language/native/template/template_tests.c", BEFORE, '    {"boolean", t_boolean', '    {"blank", t_blank, "value", 1, 1, 0, "A text without characters.", "test_blank", PDL_NS_DEF, "any -> boolean"},\n'),
    ("src/language/native/template/template_tests.c", BEFORE, "static bool t_integer(",
     "static bool t_blank(PDL_ARGS) { YIELD(pdl_is_str(argv[0]) && pdl_str_get(argv[0]).n == 0); }\n"),
]
METHOD = [
    ("src/language/native/object/methods_str.c", BEFORE, '    {"upper", m_upper', '    {"twice", m_twice, "self", 1, 1, 0, "The text two times.", NULL, PDL_NS_NONE, "string -> string"},\n'),
    ("src/language/native/object/methods_str.c", BEFORE, "static bool m_upper(", """static bool m_twice(PDL_ARGS) {
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
    ("src/language/lang/blocks.def", AFTER, '    F(if, else_, "else", BLOCK, OPT, "Run otherwise; the empty string when absent.")\n',
     '    F(if, else_text, "else_text", EXPR, OPT, "Result when the condition fails and there is no else.")\n'),
    ("src/machine/compile/emit_control.c", BEFORE, '    } else {\n        pdl_emit_text(e, PDL_STR(""));', "    } else if (b->else_text) {\n        pdl_emit_tree(e, b->else_text);\n"),
]
COMMON_ROW = ("src/language/lang/common.def", BEFORE, 'C(HEAD, BACK, contribute,', 'C(RARE, BACK, also, "also", STR, AFTER, "One more variable for the result.")\n')
FIELD_OF_ALL = [
    COMMON_ROW,
    ("src/machine/compile/emit_block.c", BEFORE, "static void field_contribute(", """static void field_also(pdl_emit *e, const pdl_block *b) {
    if (b->rare->also.s.p) emit_BIND_KEEP(e, pdl_emit_intern(e, b->rare->also.s));
}

"""),
]
KIND_ROWS = ("src/language/lang/blocks.def", BEFORE, "BLOCK(error,", """BLOCK(echo, LEAF, AUDIBLE, READS, "EchoBlock", "A value that is given back.")
    K(echo, value, "echo", EXPR, REQ, "The value.")
END(echo)
""")
KIND = [
    KIND_ROWS,
    ("src/machine/compile/emit_data.c", BEFORE, "    case PDL_BLOCK_empty:", "    case PDL_BLOCK_echo: pdl_emit_tree(e, PDL_AS(echo, b)->value); return;\n"),
    ("src/language/check/blocks/kinds.c", BEFORE, "    case PDL_BLOCK_factor:", "    case PDL_BLOCK_echo: check_fields(c, b); return &pdl_ty_any;\n"),
]
PROVIDER = [
    ("src/world/model/providers.c", BEFORE, '    {"groq", ', '    {"acme", "https://api.acme.example/v1", "ACME_API_BASE", "ACME_API_KEY", CHAT, KEY},\n'),
    ("docs/spec/providers.md", BEFORE, "| modelscope | ", "| acme | `https://api.acme.example/v1` | ACME_API_BASE | ACME_API_KEY |\n"),
]
RULE = [
    ("src/language/check/rules.def", BEFORE, "RULE(norway, ", 'RULE(loud, "loud", WARNING, "A text ends with three exclamation marks.")\n'),
    ("src/language/check/blocks/lint.c", BEFORE, "void pdl_checker_lint_block(", """static void lint_loud(pdl_checker *c, const pdl_block *b) {
    const pdl_tree *t = b->kind == PDL_BLOCK_scalar ? PDL_AS(scalar, b)->value : NULL;
    bool is_text = t && t->kind == PDL_TREE_CONST && pdl_is_str(t->value);
    if (is_text && pdl_str_ends(pdl_str_get(t->value), PDL_STR("!!!")))
        pdl_checker_diag(c, PDL_RULE_loud, b->loc, b->loc, "this text ends with !!!");
}

"""),
    ("src/language/check/blocks/lint.c", AFTER, "    if (rare->role.s.p) lint_role(c, b);\n", "    lint_loud(c, b);\n"),
    ("docs/manual/rules.md", AFTER, "[norway](#norway), ", "[loud](#loud), "),
    ("docs/manual/rules.md", BEFORE, "## norway\n", "## loud\n\n*Warning*. A text ends with three exclamation marks.\n\n**Why.** It is loud.\n\n**Fix.** Write one.\n\n"),
]
# Name, steps, files that it may touch.
RECIPES = [("filter", FILTER, 3), ("test", TEST, 1), ("method", METHOD, 1), ("field of a kind", FIELD_OF_KIND, 2),
           ("field of all blocks", FIELD_OF_ALL, 2), ("kind", KIND, 3), ("provider", PROVIDER, 2), ("rule", RULE, 3)]

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


def private_header():
    """The private header of the natives: the one that declares the filters."""
    return next(p for p in (ROOT / "src/language/native").glob("*.h") if "pdl_f_pylist;" in p.read_text("utf-8")).relative_to(ROOT)


def name_of(step):
    return str(private_header()) if step[0].endswith("PRIVATE") else step[0]


def apply_step(tree, step):
    """-> the file, or None when the text is not there exactly once"""
    _, where, found, added = step
    path = tree / name_of(step)
    text = path.read_text("utf-8")
    if where == END:
        path.write_text(text + added, "utf-8")
        return path
    if text.count(found) != 1:
        return None
    path.write_text(text.replace(found, found + added if where == AFTER else added + found), "utf-8")
    return path


def test_every_step_has_its_place(folder):
    for step in [s for _, steps, _ in RECIPES for s in steps]:
        (folder / name_of(step)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name_of(step), folder / name_of(step))
    for name, steps, most in RECIPES:
        touched = [apply_step(folder, s) for s in steps]
        check("%s: every step of the recipe has its place" % name, None not in touched)
        check("%s: %d files, not %d" % (name, len(set(touched)), most), len(set(touched)) == most)


def run(argv, cwd, timeout=600):
    r = subprocess.run([str(a) for a in argv], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False)
    return r.returncode, r.stdout.decode("utf-8", "replace")


def compiles(tree, source):
    includes = subprocess.run(["sh", "tools/sources", "--includes"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return run(["cc", "-std=c17", "-D_GNU_SOURCE", *includes, "-Werror", "-Wall", "-Wextra", "-Wswitch-enum", "-fsyntax-only", source], tree)[0] == 0


@pytest.mark.tier("all")
@pytest.mark.parametrize("step, source", [(COMMON_ROW, "src/machine/compile/emit_block.c"), (KIND_ROWS, "src/machine/compile/emit_data.c")],
                         ids=["a common field without its function", "a kind without its case"])
def test_half_a_recipe_is_refused(folder, step, source):
    """A row alone: the source that must know of it does not compile, and does without the row."""
    for name in ("src", "include"):
        shutil.copytree(ROOT / name, folder / name)
    check("it compiles without the row", compiles(folder, source))
    check("it is refused", apply_step(folder, step) and not compiles(folder, source))


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.seconds(1200)
def test_the_copy_builds(folder):
    copy_tree(folder)
    for step in [s for _, steps, _ in RECIPES for s in steps]:
        check("the step is applied: " + name_of(step), apply_step(folder, step))
    status, text = run(["meson", "setup", "out", "-Doptimization=0", "-Ddebug=false", "-Dtests=false"], folder)
    if status == 0:
        status, text = run(["ninja", "-C", "out", "pdl"], folder, 1200)
    if not check("the copy builds", status == 0, text[-3000:]):
        return
    (folder / "all.pdl").write_text(PROGRAM, "utf-8")
    status, text = run([folder / "out/pdl", "--stream", "none", "all.pdl"], folder)
    check("the program uses all of them", status == 0 and text.strip() == EXPECTED, text)
    status, text = run([folder / "out/pdl", "schema"], folder)
    check("the schema has the fields and the kind", '"EchoBlock"' in text and '"else_text"' in text and '"also"' in text)
    status, text = run([folder / "out/pdl", "dump", "all.pdl"], folder)
    check("dumps have them", "also: copy" in text and "else_text: otherwise" in text and "echo: ${ copy }" in text, text)
    (folder / "loud.pdl").write_text("text: go on!!!\n", "utf-8")
    status, text = run([folder / "out/pdl", "check", "loud.pdl"], folder)
    check("the rule finds its mistake", "this text ends with !!!" in text and "loud" in text, text)
    (folder / "acme.pdl").write_text("model: acme/m\ninput: hi\n", "utf-8")
    status, text = run(["env", "-u", "ACME_API_KEY", folder / "out/pdl", "acme.pdl"], folder)
    check("the provider wants its key", status == 1 and "set ACME_API_KEY" in text, text)
