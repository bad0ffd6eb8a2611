/* python_check.c -- asks Python whether code compiles; see python_check.h. One interpreter serves
 * all files of a check, and is started for the first block of code. Each line that is sent to the
 * interpreter is a text of code, as JSON. Each line of the answer is a list with four items: the
 * reason why the code does not compile, or null; the line; the names that the code reads and never
 * sets; whether `result` is never set. The interpreter runs isolated (-I), so that it imports no
 * file from the folder of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/run/python_check.h"

#include <signal.h>
#include <stdlib.h>

#include "base/hash.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

/* The interpreter's program. 0x2000 is PyCF_ALLOW_TOP_LEVEL_AWAIT: code blocks may await. No
 * undefined names are reported for code that makes names without writing them (import *, exec,
 * globals()), or that catches a missing name. Code that may raise or end the process need not set
 * `result`. In a run, the names that the module `site` adds exist, too. */
static const char script[] =
    "import ast, builtins, json, symtable, sys, warnings\n"
    "warnings.simplefilter('ignore')\n"
    "KNOWN = {*dir(builtins), *dir(sys.modules['__main__']), *'exit quit help copyright license "
    "credits result PDL_SESSION __class__ __file__ __annotations__ __path__'.split()}\n"
    "MAKERS = {*'exec eval globals locals vars setattr __import__ NameError __dict__ __builtins__ "
    "inspect ctypes'.split()}\n"
    "ENDERS = {*'raise exit quit _exit abort kill SystemExit execv execl execvp KeyboardInterrupt "
    "raise_signal'.split()}\n"
    "def words(tree):\n"
    "    for x in ast.walk(tree):\n"
    "        if isinstance(x, ast.Name): yield x.id\n"
    "        if isinstance(x, ast.Attribute): yield x.attr\n"
    "        if isinstance(x, ast.alias): yield x.name.split('.')[0]\n"
    "        if isinstance(x, (ast.Raise, ast.Assert)): yield 'raise'\n"
    "def tables(t):\n"
    "    yield t\n"
    "    for child in t.get_children(): yield from tables(child)\n"
    "def names(code):\n"
    "    tree = ast.parse(code)\n"
    "    used = set(words(tree))\n"
    "    if '*' in used or used & MAKERS: return [], False\n"
    "    top = symtable.symtable(code, '<code>', 'exec')\n"
    "    own, read = set(), set()\n"
    "    for t in tables(top):\n"
    "        for s in t.get_symbols():\n"
    "            made = s.is_assigned() or s.is_imported() or s.is_namespace()\n"
    "            if t is top or s.is_global():\n"
    "                if made: own.add(s.get_name())\n"
    "                if s.is_referenced(): read.add(s.get_name())\n"
    "    free, found = read - own - KNOWN, []\n"
    "    places = sorted((x.lineno, x.col_offset, x.id) for x in ast.walk(tree)\n"
    "                    if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load))\n"
    "    for line, column, name in places:\n"
    "        if name in free:\n"
    "            free.discard(name)\n"
    "            found.append([name, line, column])\n"
    "    return found, 'result' not in own and not used & ENDERS\n"
    "for line in sys.stdin:\n"
    "    r = [None, 0, [], False]\n"
    "    try:\n"
    "        code = json.loads(line)\n"
    "        compile(code, '<code>', 'exec', 0x2000)\n"
    "        try: r[2:] = names(code)\n"
    "        except Exception: pass\n"
    "    except SyntaxError as e: r[:2] = [e.msg or 'invalid syntax', e.lineno or 0]\n"
    "    except Exception as e: r[0] = str(e)\n"
    "    print(json.dumps(r), flush=True)\n";

enum { TIMEOUT_MS = 60000, TURN_MS = 1000 };

static void on_out(void *user, pdl_str bytes) {
    pdl_buf_put(&((pdl_python_checker *)user)->out, bytes);
}

static void on_err(void *user, pdl_str bytes) { (void)user, (void)bytes; }

static void on_done(void *user, const pdl_proc_result *r) {
    (void)r;
    ((pdl_python_checker *)user)->ended = true;
}

static bool start(pdl_python_checker *c) {
    const char *named = getenv("PDL_PYTHON");
    const char *const argv[] = {
        named && *named ? named : "python3", "-I", "-S", "-c", script, NULL};
    pdl_err err = {0};
    if (c->proc || c->missing) return !c->missing;
    pdl_buf empty = PDL_BUF;
    c->out = empty;
    c->loop = pdl_loop_new();
    c->missing = !pdl_proc_start(c->loop,
                                 &(pdl_proc_options){.argv = argv,
                                                     .keep_stdin = true,
                                                     .user = c,
                                                     .on_out = on_out,
                                                     .on_err = on_err,
                                                     .done = on_done},
                                 &c->proc, &err);
    pdl_err_fini(&err);
    return !c->missing;
}

/* Returns one line of the answer. The line is empty when there is no answer. */
static pdl_str ask(pdl_python_checker *c, pdl_str code) {
    pdl_buf line = PDL_BUF;
    pdl_err err = {0};
    pdl_val v = pdl_text(code);
    bool ok = pdl_json_write(v, PDL_JSON_SPACED, 0, &line, &err);
    pdl_drop(v);
    pdl_buf_putc(&line, '\n');
    pdl_buf_clear(&c->out);
    if (ok) pdl_proc_write(c->proc, pdl_buf_str(&line));
    pdl_buf_fini(&line);
    pdl_err_fini(&err);
    for (int waited = 0; ok && !c->ended && waited < TIMEOUT_MS; waited += TURN_MS) {
        while (!c->ended && pdl_loop_run(c->loop, TURN_MS))
            if (pdl_str_ends(pdl_buf_str(&c->out), PDL_STR("\n"))) return pdl_buf_str(&c->out);
    }
    c->missing = true;
    return (pdl_str){0};
}

/* Returns the line of `code` with this number, without its end; for line 0, all lines. */
static pdl_str line_of(pdl_str code, int64_t line) {
    size_t from = 0, to = code.n;
    for (int64_t i = 1; i <= line; i++) {
        size_t end = pdl_str_find(code, PDL_STR("\n"), from);
        to = end == PDL_NOT_FOUND ? code.n : end;
        if (i < line && end != PDL_NOT_FOUND) from = end + 1;
    }
    return pdl_str_sub(code, from, to);
}

static void mark_line(pdl_str code, int64_t line, pdl_python_report *report) {
    pdl_str s = line_of(code, line);
    size_t blanks = 0;
    while (blanks < s.n && s.p[blanks] == ' ') blanks++;
    report->start = (size_t)(s.p - code.p) + blanks;
    report->end = (size_t)(s.p - code.p) + s.n;
}

/* Converts each [name, line, column] to [name, start, end]. Rows of another form are left out. */
static pdl_val places_of(pdl_str code, pdl_vref rows) {
    pdl_val out = pdl_list_new(pdl_list_len(rows));
    for (size_t i = 0; i < pdl_list_len(rows); i++) {
        pdl_vref row = pdl_list_at(rows, i);
        if (!pdl_is_list(row) || pdl_list_len(row) != 3 || !pdl_is_str(pdl_list_at(row, 0)) ||
            !pdl_is(pdl_list_at(row, 1), PDL_V_INT) || !pdl_is(pdl_list_at(row, 2), PDL_V_INT))
            continue;
        size_t at = (size_t)(line_of(code, pdl_int_of(pdl_list_at(row, 1))).p - code.p) +
                    (size_t)pdl_int_of(pdl_list_at(row, 2)),
               n = pdl_str_get(pdl_list_at(row, 0)).n;
        if (at > code.n || n > code.n - at) continue;
        pdl_val place = pdl_list_push(pdl_list_new(3), pdl_keep(pdl_list_at(row, 0)));
        place = pdl_list_push(place, pdl_int((int64_t)at));
        out = pdl_list_push(out, pdl_list_push(place, pdl_int((int64_t)(at + n))));
    }
    return out;
}

/* Returns the answer about a text, borrowed; absent when there is no answer. */
static pdl_vref answer_to(pdl_python_checker *c, pdl_str code) {
    uint64_t hash = pdl_hash_str(code);
    size_t at = hash % PDL_PYTHON_KNOWN;
    pdl_val answer;
    pdl_err err = {0};
    if (c->hashes[at] == hash && pdl_is_list(c->known[at])) return c->known[at];
    if (!start(c)) return pdl_absent();
    pdl_str text = ask(c, code);
    bool ok = text.n && pdl_json_read(pdl_str_trim(text), 0, &answer, NULL, &err);
    pdl_err_fini(&err);
    if (!ok) return pdl_absent();
    if (pdl_is_list(c->known[at])) pdl_drop(c->known[at]);
    c->hashes[at] = hash;
    c->known[at] = answer;
    return c->known[at];
}

void pdl_python_check(void *user, pdl_str code, pdl_python_report *report) {
    pdl_vref answer = answer_to(user, code);
    if (!pdl_is_list(answer) || pdl_list_len(answer) != 4) return;
    pdl_vref message = pdl_list_at(answer, 0), line = pdl_list_at(answer, 1),
             names = pdl_list_at(answer, 2), missing = pdl_list_at(answer, 3);
    if (pdl_is_str(message) && pdl_is(line, PDL_V_INT)) {
        pdl_buf_put(&report->message, pdl_str_get(message));
        mark_line(code, pdl_int_of(line), report);
    }
    if (pdl_is_list(names)) report->names = places_of(code, names);
    report->no_result = pdl_is_bool(missing) && pdl_bool_of(missing);
}

void pdl_python_checker_fini(pdl_python_checker *c) {
    if (c->proc && pdl_proc_is_running(c->proc)) pdl_proc_kill(c->proc, SIGKILL);
    pdl_proc_free(c->proc);
    if (c->loop) pdl_loop_free(c->loop);
    for (size_t i = 0; i < PDL_PYTHON_KNOWN; i++)
        if (pdl_is_list(c->known[i])) pdl_drop(c->known[i]);
    pdl_buf_fini(&c->out);
}
