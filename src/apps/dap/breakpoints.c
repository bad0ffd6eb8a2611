/* breakpoints.c -- sets breakpoints at lines at which blocks begin, and tests them during the run;
 * see debugger.h.
 *
 * A plain value in the position of a block is a block, too. A breakpoint belongs to the first block
 * that begins at its line or below. The file is loaded to find this block, so that the client shows
 * at once where the program will stop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "dap/debugger.h"
#include "io/file.h"
#include "lang/load.h"
#include "lang/walk.h"

#include "base/banned.h"

enum { MAX_FILE = 64 << 20, MAX_BREAKPOINTS = 10000 };

uint32_t pdl_dap_line_of(const pdl_block *b) {
    return pdl_loc_line(b->node ? pdl_node_loc(b->node) : b->loc);
}

typedef struct line_list {
    PDL_VEC(uint32_t) lines;
} line_list;

static void add_line(void *user, const pdl_block *b) {
    line_list *l = user;
    if (b->loc.src) *pdl_vec_push(&l->lines) = pdl_dap_line_of(b);
    pdl_block_each_child(b, add_line, l);
}

/* Finds the lines at which blocks of a file begin, in any order. */
static void find_lines(const char *file, line_list *l) {
    pdl_buf text = PDL_BUF_INIT(MAX_FILE);
    pdl_err err = {0};
    pdl_program *p = pdl_program_new();
    bool ok;
    if (pdl_file_read(file, &text, &err)) {
        pdl_program_load(p, pdl_str_of(file), pdl_buf_str(&text), &ok);
        if (ok && p->main) add_line(l, p->main);
    }
    pdl_err_fini(&err);
    pdl_program_drop(p);
    pdl_buf_fini(&text);
}

/* Returns the first line, from this line on, at which a block begins; 0 when there is none. */
static uint32_t line_from(const line_list *l, uint32_t wanted) {
    uint32_t best = 0;
    for (size_t i = 0; i < l->lines.n; i++)
        if (l->lines.p[i] >= wanted && (!best || l->lines.p[i] < best)) best = l->lines.p[i];
    return best;
}

static void breakpoint_fini(dap_breakpoint *b) {
    pdl_free(b->file);
    pdl_free(b->condition);
    pdl_free(b->log);
}

void pdl_dap_breakpoints_fini(debugger *g) {
    for (size_t i = 0; i < g->breakpoints.n; i++) breakpoint_fini(&g->breakpoints.p[i]);
    pdl_vec_fini(&g->breakpoints);
}

void pdl_dap_breakpoints_restart(debugger *g) {
    for (size_t i = 0; i < g->breakpoints.n; i++) g->breakpoints.p[i].hits = 0;
}

static void forget_file(debugger *g, pdl_str file) {
    size_t n = 0;
    for (size_t i = 0; i < g->breakpoints.n; i++) {
        if (pdl_str_is(file, g->breakpoints.p[i].file))
            breakpoint_fini(&g->breakpoints.p[i]);
        else
            g->breakpoints.p[n++] = g->breakpoints.p[i];
    }
    g->breakpoints.n = n;
}

static char *text_of(pdl_vref d, const char *key) {
    pdl_str s = pdl_member_str(d, key);
    return s.n ? pdl_str_dup(s) : NULL;
}

/* The operators with which a condition compares the number of hits. A number without an operator
 * means "from this hit on". When one operator is the beginning of another, the longer one comes
 * first. */
static const struct {
    const char *text;
    dap_hits_test test;
} hits_tests[] = {{">=", DAP_HITS_FROM}, {"<=", DAP_HITS_UP_TO}, {"==", DAP_HITS_IS},
                  {">", DAP_HITS_OVER},  {"<", DAP_HITS_UNDER},  {"=", DAP_HITS_IS},
                  {"%", DAP_HITS_EVERY}};

/* Reads a condition such as `3`, `== 3` or `% 2`. An empty text means each hit. */
static bool read_hits(pdl_str text, dap_breakpoint *b) {
    pdl_str s = pdl_str_trim(text);
    b->hits_test = DAP_HITS_FROM;
    if (!s.n) return true;
    for (size_t i = 0; i < sizeof hits_tests / sizeof *hits_tests; i++) {
        pdl_str op = pdl_str_of(hits_tests[i].text);
        if (!pdl_str_starts(s, op)) continue;
        b->hits_test = hits_tests[i].test;
        s = pdl_str_trim(pdl_str_sub(s, op.n, s.n));
        break;
    }
    return pdl_num_read_int(s, &b->hits_wanted) && b->hits_wanted >= 0 &&
           (b->hits_wanted > 0 || b->hits_test != DAP_HITS_EVERY);
}

static bool hits_hold(const dap_breakpoint *b) {
    int64_t n = b->hits, wanted = b->hits_wanted;
    switch (b->hits_test) {
    case DAP_HITS_FROM: return n >= wanted;
    case DAP_HITS_IS: return n == wanted;
    case DAP_HITS_OVER: return n > wanted;
    case DAP_HITS_UP_TO: return n <= wanted;
    case DAP_HITS_UNDER: return n < wanted;
    case DAP_HITS_EVERY: return n % wanted == 0;
    }
    return true;
}

static pdl_val put_breakpoint(const debugger *g, const dap_breakpoint *b, const char *why) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "id", pdl_int(b->id));
    v = pdl_dict_putz(v, "verified", pdl_bool(!why));
    if (why) return pdl_dict_putz(v, "message", pdl_textz(why));
    return pdl_dict_putz(v, "line", pdl_int(b->line - g->lines_from_0));
}

pdl_val pdl_dap_set_breakpoints(debugger *g, pdl_vref args) {
    pdl_str file = pdl_member_str(pdl_member(args, "source"), "path");
    pdl_vref wanted = pdl_member(args, "breakpoints");
    pdl_val list = pdl_list_new(4);
    line_list lines = {0};
    char *path = pdl_str_dup(file);
    forget_file(g, file);
    find_lines(path, &lines);
    for (size_t i = 0; pdl_is_list(wanted) && i < pdl_list_len(wanted); i++) {
        pdl_vref w = pdl_list_at(wanted, i);
        int64_t at = pdl_member_int(w, "line", -1);
        if (at >= 0 && at < INT32_MAX && g->lines_from_0) at++;
        if (g->breakpoints.n >= MAX_BREAKPOINTS) break;
        const char *why = NULL;
        dap_breakpoint b = {
            .id = ++g->next_id,
            .file = pdl_str_dup(file),
            .line = at > 0 && at < INT32_MAX ? line_from(&lines, (uint32_t)at) : 0,
            .condition = text_of(w, "condition"),
            .log = text_of(w, "logMessage"),
        };
        if (!b.line) why = "no block begins here or below";
        if (!read_hits(pdl_member_str(w, "hitCondition"), &b)) {
            why = "the count of hits is a number, or one after ==, >, >=, <, <= or %";
            b.line = 0;
        }
        list = pdl_list_push(list, put_breakpoint(g, &b, why));
        *pdl_vec_push(&g->breakpoints) = b;
    }
    pdl_vec_fini(&lines.lines);
    pdl_free(path);
    return pdl_dict_putz(pdl_dict_new(1), "breakpoints", list);
}

/* --- during the run --------------------------------------------------------------------------- */

/* Writes a log message. In the message, {x} is an expression. */
static void write_log(debugger *g, const dap_breakpoint *b, uint32_t fiber) {
    pdl_buf out = PDL_BUF;
    pdl_str rest = pdl_str_of(b->log);
    while (rest.n) {
        size_t open = pdl_str_find(rest, PDL_STR("{"), 0),
               close = open == PDL_NOT_FOUND ? open : pdl_str_find(rest, PDL_STR("}"), open);
        pdl_val v;
        pdl_buf_put(&out, pdl_str_sub(rest, 0, close == PDL_NOT_FOUND ? rest.n : open));
        if (close == PDL_NOT_FOUND) break;
        if (pdl_dap_evaluate(g, pdl_str_sub(rest, open + 1, close), pdl_dap_scope(g, fiber), &v,
                             &out)) {
            pdl_val shown = pdl_dap_put_value(g, "value", v);
            pdl_buf_put(&out, pdl_member_str(shown, "value"));
            pdl_drop(shown);
            pdl_drop(v);
        }
        rest = pdl_str_sub(rest, close + 1, rest.n);
    }
    pdl_buf_putc(&out, '\n');
    pdl_dap_output(g, "console", pdl_buf_str(&out), true);
    pdl_buf_fini(&out);
    pdl_dap_references_fini(g);
}

/* Returns true when the condition holds. A condition that cannot be evaluated stops the program, so
 * that the user sees its mistake. */
static bool holds(debugger *g, const dap_breakpoint *b, uint32_t fiber) {
    pdl_buf why = PDL_BUF;
    pdl_val v;
    if (!b->condition) return true;
    bool ok = pdl_dap_evaluate(g, pdl_str_of(b->condition), pdl_dap_scope(g, fiber), &v, &why);
    bool truth = !ok || pdl_val_truth(v);
    if (ok) {
        pdl_drop(v);
    } else {
        pdl_buf_putc(&why, '\n');
        pdl_dap_output(g, "console", pdl_buf_str(&why), true);
    }
    pdl_buf_fini(&why);
    return truth;
}

/* Returns true when the breakpoint is in the file. The editor and the program may have different
 * names for the file, because a program may import ../common/util. */
static bool is_in_file(const dap_breakpoint *b, pdl_str name) {
    if (pdl_str_is(name, b->file)) return true;
    if (!pdl_str_eq(pdl_file_name(name), pdl_file_name(pdl_str_of(b->file)))) return false;
    char *other = pdl_str_dup(name);
    bool same = pdl_file_is_same(other, b->file);
    pdl_free(other);
    return same;
}

bool pdl_dap_hits(debugger *g, const pdl_block *b, uint32_t fiber) {
    uint32_t line = g->breakpoints.n ? pdl_dap_line_of(b) : 0;
    bool hit = false;
    for (size_t i = 0; i < g->breakpoints.n; i++) {
        dap_breakpoint *p = &g->breakpoints.p[i];
        if (!p->line || p->line != line || !is_in_file(p, b->loc.src->name)) continue;
        if (!holds(g, p, fiber)) continue;
        p->hits++;
        if (!hits_hold(p)) continue;
        if (p->log)
            write_log(g, p, fiber);
        else
            hit = true;
    }
    return hit;
}
