/* result_check.c -- applies parser and spec of a block: at once, or as a stage of the model call
 * whose reply they check. A program continues while its model calls are open. So the check of such
 * a reply is a stage that waits with the call, and a reply that is there already is checked at
 * once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/effects/result_check.h"

#include "base/idmap.h"
#include "base/utf8.h"
#include "value/member.h"
#include "vm/closure.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

static const char spec_checking[] = "during spec checking";

static bool fits_type(pdl_run *r, const pdl_type *t, pdl_vref v) {
    pdl_mark m = pdl_arena_mark(r->memory.scratch);
    pdl_type_verdict found;
    pdl_err err = {0};
    bool done = pdl_type_check(t, v, NULL, r->memory.scratch, &found, &err);
    pdl_err_fini(&err);
    pdl_arena_reset(r->memory.scratch, m);
    return done && found.fits;
}

/* Returns the last value of a list that fits, or the list itself; absent when neither does. */
static pdl_val fitting_of(pdl_run *r, const pdl_type *t, pdl_vref list) {
    size_t n = pdl_list_len(list);
    for (size_t i = n; i-- > 0;)
        if (fits_type(r, t, pdl_list_at(list, i))) return pdl_keep(pdl_list_at(list, i));
    return n > 1 && fits_type(r, t, list) ? pdl_keep(list) : pdl_absent();
}

/* Chooses one of the JSON values in a reply (thoughts, an example, the answer) when what the parser
 * found does not fit the spec. The empty text is what it makes of a reply in which it finds
 * nothing. *v is the parser's result for the text. */
static void take_fitting(pdl_run *r, const pdl_block *b, pdl_vref text, pdl_val *v) {
    const pdl_parser *p = b->rare->parser->parser;
    const pdl_type *t = b->rare->spec.type;
    pdl_val all;
    pdl_err err = {0};
    bool nothing = pdl_text_is(*v, "");
    if (p->kind != PDL_PARSE_JSON || pdl_type_is_any(t) || !pdl_is_str(text)) return;
    if ((fits_type(r, t, *v) && !nothing) || !pdl_json_values(pdl_str_get(text), &all, &err)) {
        pdl_err_fini(&err);
        return;
    }
    pdl_val found = fitting_of(r, t, all);
    if (!pdl_is_absent(found)) set_val(v, found);
    pdl_drop(all);
}

/* --- why an answer is not what was asked for -------------------------------------------------- */

static pdl_vref finish_reason(pdl_vref reply) {
    pdl_vref choices = pdl_member(pdl_member(reply, "raw"), "choices");
    bool any = pdl_is_list(choices) && pdl_list_len(choices);
    return any ? pdl_member(pdl_list_at(choices, 0), "finish_reason") : pdl_absent();
}

/* Adds a reason to the error of a parser or spec when the model refused to answer, or when its
 * answer was cut. The error alone would not say why the answer does not fit. */
static void report_end(pdl_vref reply, pdl_err *err) {
    enum { SHOWN = 1000 };
    pdl_vref reason = finish_reason(reply);
    pdl_str refusal = pdl_member_str(pdl_member(reply, "message"), "refusal");
    pdl_buf b = PDL_BUF;
    if (pdl_str_trim(refusal).n)
        pdl_buf_putf(&b, "the model refused to answer: %.*s\n",
                     PDL_FMT(pdl_utf8_cut(pdl_str_trim(refusal), SHOWN)));
    else if (pdl_text_is(reason, "length"))
        PDL_PUT(&b, "the answer was cut at its limit of tokens (finish_reason length)\n");
    else if (pdl_text_is(reason, "content_filter"))
        PDL_PUT(&b, "the answer was ended by a filter of the service (finish_reason "
                    "content_filter)\n");
    if (b.len) pdl_err_put_before(err, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Returns the offset of the outermost object or list that has no end in a text; s.n when there is
 * no such object or list. */
static size_t find_open(pdl_str s) {
    size_t depth = 0, from = s.n;
    bool in_string = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = depth && !in_string;
        else if (!in_string && (c == '{' || c == '[')) {
            if (!depth++) from = i;
        } else if (!in_string && (c == '}' || c == ']') && depth)
            depth--;
    }
    return depth ? from : s.n;
}

/* Returns true when the parser finds the same value in the first n bytes of a text. The bracket
 * after these bytes then belongs to prose, as in `{"a": 1} is the set {x`. */
static bool finds_same(const pdl_parser *p, pdl_vref text, size_t n) {
    pdl_val all, first, part = pdl_text(pdl_str_sub(pdl_str_get(text), 0, n));
    pdl_err ignored = {0};
    bool same = false;
    if (pdl_parse(p, text, &all, &ignored)) {
        if (pdl_parse(p, part, &first, &ignored)) {
            same = pdl_val_eq(all, first);
            pdl_drop(first);
        }
        pdl_drop(all);
    }
    pdl_err_fini(&ignored);
    pdl_drop(part);
    return same;
}

/* Refuses JSON whose end was cut off together with the end of the answer. The parser would complete
 * it, and a word that was cut would be taken for a whole word. */
static bool is_whole(const pdl_stage *s, pdl_vref reply, pdl_vref text, pdl_err *err) {
    pdl_vref reason = finish_reason(reply);
    const pdl_parser *p = s->block->rare->parser->parser;
    bool is_cut = pdl_text_is(reason, "length") || pdl_text_is(reason, "content_filter");
    if (!is_cut || p->kind != PDL_PARSE_JSON || !pdl_is_str(text)) return true;
    size_t open = find_open(pdl_str_get(text));
    if (open == pdl_str_get(text).n || finds_same(p, text, open)) return true;
    pdl_err_set(err, PDL_E_parser, s->loc, "its JSON is not complete");
    if (pdl_text_is(reason, "length"))
        pdl_err_hint(err, "parameters: {max_tokens: N} lets the model write more");
    return false;
}

static void put_fault(const pdl_problem *p, pdl_buf *out) {
    pdl_str path = p->path;
    if (path.n && path.p[0] == '.') path = pdl_str_sub(path, 1, path.n);
    if (path.n || p->help.n)
        pdl_buf_putf(out, "%.*s%s", PDL_FMT(path.n ? path : PDL_STR("it")), p->help.n ? " " : ": ");
    pdl_buf_put(out, p->help.n ? p->help : p->text);
    pdl_buf_putc(out, '\n');
}

bool pdl_vm_put_faults(pdl_run *r, const pdl_block *b, pdl_vref answer, pdl_buf *out) {
    const pdl_parser *parser = b->rare->parser ? b->rare->parser->parser : NULL;
    const pdl_type *t = b->rare->spec.type;
    pdl_mark m = pdl_arena_mark(r->memory.scratch);
    pdl_type_verdict found = {.fits = true};
    pdl_err err = {0};
    pdl_val v = pdl_absent();
    if (!parser)
        v = pdl_keep(answer);
    else if (!pdl_parse(parser, answer, &v, &err))
        v = pdl_absent();
    if (t && !pdl_is_absent(v) && !pdl_type_check(t, v, NULL, r->memory.scratch, &found, &err))
        found.fits = true; /* no faults can be reported for a value that cannot be checked */
    const pdl_problems *problems = &found.problems;
    if (!found.fits && problems->n) pdl_buf_putf(out, "Type errors %s:\n", spec_checking);
    for (size_t i = 0; !found.fits && i < problems->n; i++) put_fault(&problems->p[i], out);
    if (!pdl_is_absent(v)) pdl_drop(v);
    pdl_arena_reset(r->memory.scratch, m);
    pdl_err_fini(&err);
    return !found.fits && problems->n > 0;
}

/* Applies the parser or the spec of a stage to the value of the stage before it. The first stage
 * gets the value of the call. */
void pdl_vm_run_stage(pdl_run *r, pdl_stage *s, pdl_vref reply) {
    pdl_promise *in = pdl_promise_of(s->in);
    pdl_err err = {0};
    if (in->state == PDL_PROMISE_FAILED) {
        pdl_promise_fail(pdl_promise_of(s->out), &in->err);
        return;
    }
    pdl_val v = pdl_keep(in->value), parsed;
    bool ok = true;
    if (s->parse) {
        ok = is_whole(s, reply, v, &err) &&
             pdl_parse(s->block->rare->parser->parser, v, &parsed, &err);
        if (ok) take_fitting(r, s->block, v, &parsed);
        if (ok)
            set_val(&v, pdl_with_label(parsed, pdl_label_of(in->value)));
        else {
            err.label |= pdl_label_of(v);
            pdl_err_at(&err, s->loc);
        }
    } else if (s->check) {
        ok = pdl_vm_check_value(r, s->block->rare->spec.type, &v,
                                &(pdl_checked){spec_checking, .loc = s->loc}, &err);
    }
    if (ok) {
        pdl_promise_fill(pdl_promise_of(s->out), v);
        return;
    }
    pdl_drop(v);
    report_end(reply, &err);
    pdl_promise_fail(pdl_promise_of(s->out), &err);
    pdl_err_fini(&err);
}

/* Adds a stage when the top of the stack is the promise of an open model call. The stage applies
 * the parser (with `parse`) or the spec. The promise of the stage then replaces the top. Returns
 * false in all other cases. */
static bool add_stage(pdl_fiber *f, const pdl_block *b, bool parse, pdl_loc loc) {
    if (!pdl_is(*top(f), PDL_V_PROMISE)) return false;
    pdl_promise *p = pdl_promise_of(*top(f));
    pdl_inflight *c = p->state == PDL_PROMISE_PENDING && p->id
                          ? pdl_idmap_find(&f->run->effects.by_id, p->id)
                          : NULL;
    if (!c || c->kind != PDL_EFFECT_model) return false;
    pdl_stage *s = PDL_NEW(pdl_stage), **end = &c->stages;
    *s = (pdl_stage){
        .block = b,
        .in = *top(f),
        .out = pdl_promise_new(c->id),
        .parse = parse,
        .check = !parse,
        .loc = loc,
    };
    *top(f) = pdl_keep(s->out);
    while (*end) end = &(*end)->next;
    *end = s;
    if (s->check && block(f)->info->is_refusable) c->waits = f->run->opt.holds_refusable;
    return true;
}

pdl_step pdl_op_PARSE(pdl_fiber *f, const pdl_block *b, pdl_err *err) {
    if (add_stage(f, b, true, b->rare->parser->loc)) return PDL_STEP_DONE;
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val out;
    if (!pdl_parse(b->rare->parser->parser, *top(f), &out, err)) {
        err->label |= pdl_label_of(*top(f));
        pdl_err_at(err, b->rare->parser->loc);
        return PDL_STEP_FAIL;
    }
    take_fitting(f->run, b, *top(f), &out);
    set_top(f, pdl_with_label(out, pdl_label_of(*top(f))));
    return PDL_STEP_DONE;
}

/* Appends help for the first problems: the name that was probably meant, or the place in the value
 * and what is wrong there. */
static void put_help(const pdl_problems *problems, pdl_buf *out) {
    enum { MAX_HELPED = 3 };
    for (size_t i = 0, n = 0; i < problems->n && n < MAX_HELPED; i++) {
        const pdl_problem *p = &problems->p[i];
        pdl_str path = p->path;
        if (p->near.n)
            pdl_buf_putf(out, "%sdid you mean '%.*s'?", n++ ? "; " : "", PDL_FMT(p->near));
        if (!p->help.n) continue;
        if (path.n && path.p[0] == '.') path = pdl_str_sub(path, 1, path.n);
        pdl_buf_putf(out, "%s%.*s %.*s", n++ ? "; " : "", PDL_FMT(path.n ? path : PDL_STR("it")),
                     PDL_FMT(p->help));
    }
}

/* Appends one message of all problems, with a line for each. With `plain`, it has the words of
 * JSON. */
static void put_problems(const pdl_problems *problems, const pdl_checked *of, bool plain,
                         pdl_buf *out) {
    pdl_buf_putf(out, "Type errors %s%s%.*s:", of->header, of->name.n ? " " : "",
                 PDL_FMT(of->name));
    for (size_t i = 0; i < problems->n; i++) {
        const pdl_problem *p = &problems->p[i];
        pdl_loc at = p->loc.src && !p->at_header ? p->loc : of->loc;
        pdl_buf_putc(out, '\n');
        pdl_loc_put(at, out);
        pdl_buf_put(out, plain ? p->plain : p->text);
    }
}

static bool report_problems(const pdl_problems *problems, const pdl_checked *of, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    put_problems(problems, of, false, &b);
    pdl_err_set(err, PDL_E_type, of->loc, "%s", pdl_buf_z(&b));
    pdl_buf_clear(&b);
    put_problems(problems, of, true, &b);
    if (!pdl_str_is(pdl_buf_str(&b), err->msg)) pdl_err_plain(err, "%s", pdl_buf_z(&b));
    pdl_buf_clear(&b);
    put_help(problems, &b);
    if (b.len) pdl_err_hint(err, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

bool pdl_vm_check_value(pdl_run *r, const pdl_type *t, pdl_val *value, const pdl_checked *of,
                        pdl_err *err) {
    pdl_vref v = *value;
    pdl_mark m = pdl_arena_mark(r->memory.scratch);
    pdl_type_verdict found;
    bool done = pdl_type_check(t, v, of->args, r->memory.scratch, &found, err);
    bool fits = done && found.fits;
    PDL_TRACE(r->opt.debug, types, "%.*s:%u value %s", of->loc.src ? (int)of->loc.src->name.n : 0,
              of->loc.src ? of->loc.src->name.p : "", pdl_loc_line(of->loc),
              fits ? "fits" : "does not fit");
    if (!done)
        pdl_err_at(err, of->loc);
    else if (!fits)
        report_problems(&found.problems, of, err);
    if (!fits) err->label |= pdl_label_of(v);
    pdl_arena_reset(r->memory.scratch, m);
    if (fits && r->opt.guarded) *value = pdl_type_bound(t, *value, r->opt.capacity);
    return fits;
}

pdl_step pdl_op_CHECK(pdl_fiber *f, bool fallback, const pdl_block *b, pdl_err *err) {
    pdl_loc loc = fallback ? b->rare->fallback->loc : b->rare->spec.loc;
    if (pdl_type_is_any(b->rare->spec.type)) return PDL_STEP_DONE;
    if (!fallback && add_stage(f, b, false, loc)) return PDL_STEP_DONE;
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    return step_of(pdl_vm_check_value(f->run, b->rare->spec.type, top(f),
                                      &(pdl_checked){spec_checking, .loc = loc}, err));
}

pdl_step pdl_vm_check_function_result(pdl_fiber *f, const pdl_closure *c, pdl_err *err) {
    const pdl_block *b = &c->info->block->head;
    if (!b->rare->spec.type || pdl_type_is_any(b->rare->spec.type)) return PDL_STEP_DONE;
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_checked of = {"in result of the function", c->info->name_text, pdl_field_loc(b, "return"),
                      NULL};
    return step_of(pdl_vm_check_value(f->run, b->rare->spec.type, top(f), &of, err));
}
