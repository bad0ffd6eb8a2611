/* python.c -- see python.h. One interpreter for all files of a check, started for the first block
 * of code: a line of JSON is a text, a line of the answer is null, or what is wrong with it. It
 * runs isolated (-I), so that nothing beside the program is imported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/python.h"

#include <signal.h>
#include <stdlib.h>

#include "base/hash.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

/* 0x2000 is PyCF_ALLOW_TOP_LEVEL_AWAIT: code blocks may await. */
static const char script[] =
    "import json, sys, warnings\n"
    "warnings.simplefilter('ignore')\n"
    "for line in sys.stdin:\n"
    "    r = None\n"
    "    try: compile(json.loads(line), '<code>', 'exec', 0x2000)\n"
    "    except SyntaxError as e: r = [e.msg or 'invalid syntax', e.lineno or 0]\n"
    "    except Exception as e: r = [str(e), 0]\n"
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

/* One line of the answer, or an empty text. */
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

/* The bytes of a line of the text; of all lines for line 0. */
static void mark_line(pdl_str code, int64_t line, pdl_python_fault *fault) {
    size_t from = 0, to = code.n;
    for (int64_t i = 1; i <= line; i++) {
        size_t end = pdl_str_find(code, PDL_STR("\n"), from);
        to = end == PDL_NOT_FOUND ? code.n : end;
        if (i < line && end != PDL_NOT_FOUND) from = end + 1;
    }
    while (from < to && code.p[from] == ' ') from++;
    fault->start = from;
    fault->end = to;
}

bool pdl_python_check(void *user, pdl_str code, pdl_python_fault *fault) {
    pdl_python_checker *c = user;
    pdl_val answer;
    pdl_err err = {0};
    bool fine = true;
    uint64_t hash = pdl_hash_str(code), *known = &c->fine[hash % PDL_PYTHON_FINE];
    if (*known == hash || !start(c)) return true;
    pdl_str text = ask(c, code);
    if (!text.n || !pdl_json_read(pdl_str_trim(text), 0, &answer, NULL, &err)) {
        pdl_err_fini(&err);
        return true;
    }
    if (pdl_is_list(answer) && pdl_list_len(answer) == 2 && pdl_is_str(pdl_list_at(answer, 0)) &&
        pdl_is(pdl_list_at(answer, 1), PDL_V_INT)) {
        fine = false;
        pdl_buf_put(&fault->message, pdl_str_get(pdl_list_at(answer, 0)));
        mark_line(code, pdl_int_of(pdl_list_at(answer, 1)), fault);
    }
    pdl_drop(answer);
    if (fine) *known = hash;
    return fine;
}

void pdl_python_checker_fini(pdl_python_checker *c) {
    if (c->proc && pdl_proc_is_running(c->proc)) pdl_proc_kill(c->proc, SIGKILL);
    pdl_proc_free(c->proc);
    if (c->loop) pdl_loop_free(c->loop);
    pdl_buf_fini(&c->out);
}
