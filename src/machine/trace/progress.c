/* progress.c -- counts the calls of a run and describes each call that ended; see progress.h. An
 * effect and its reply are separate events, so the effects that are open are remembered with the
 * time at which they began.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/progress.h"

#include "base/utf8.h"
#include "effect/effect.h"
#include "value/int.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_NAME = 60, MAX_ARGUMENTS = 60 };
#define MIN_SHOWN_S 0.01

/* Returns the member of a request that names what is called; NULL for kinds of calls that do not
 * count. */
static const char *subject_of(pdl_effect_kind k) {
    static const struct {
        pdl_effect_kind kind;
        const char *field;
    } rows[] = {
        {PDL_EFFECT_model, "model"}, {PDL_EFFECT_embed, "model"},  {PDL_EFFECT_code, "lang"},
        {PDL_EFFECT_tool, "server"}, {PDL_EFFECT_command, "argv"}, {PDL_EFFECT_http, "url"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == k) return rows[i].field;
    return NULL;
}

static pdl_val shown_of(const pdl_progress *p, pdl_vref v) {
    return p->shown && !pdl_is_absent(v) ? p->shown(p->shown_user, v) : pdl_keep(v);
}

/* Writes a value on one line. Of the words of a command, only the first is written. */
static void put_value(const pdl_progress *p, pdl_vref v, size_t most, pdl_buf *out) {
    pdl_val shown = shown_of(p, v);
    bool is_argv = pdl_is_list(shown) && pdl_list_len(shown);
    pdl_vref one = is_argv ? pdl_list_at(shown, 0) : shown;
    pdl_str s = pdl_is_str(one) ? pdl_utf8_cut(pdl_str_get(one), most) : (pdl_str){"", 0};
    for (size_t i = 0; i < s.n; i++) pdl_buf_putc(out, s.p[i] == '\n' ? ' ' : s.p[i]);
    if (!pdl_is_str(one)) pdl_val_show(one, false, most, out);
    pdl_drop(shown);
}

/* Writes "model openai/x", "tool files.read_file", "command ls", "python". */
static void put_call(const pdl_progress *p, const pdl_effect *e, pdl_buf *out) {
    pdl_vref subject = pdl_dict_getz(e->request, subject_of(e->kind));
    if (e->kind != PDL_EFFECT_code) pdl_buf_putf(out, "%s ", pdl_effect_kind_name(e->kind));
    put_value(p, subject, MAX_NAME, out);
    pdl_vref name = pdl_dict_getz(e->request, "name");
    if (e->kind != PDL_EFFECT_tool || !pdl_is_str(name)) return;
    pdl_buf_putc(out, '.');
    put_value(p, name, MAX_NAME, out);
}

static bool is_question(const pdl_effect *e) {
    return e->kind == PDL_EFFECT_input || e->kind == PDL_EFFECT_approval;
}

/* Returns the cost of a call; 0 when no price is known. */
static double cost_of(pdl_vref usage) {
    pdl_vref v = pdl_dict_getz(usage, "cost");
    double cost = pdl_is(v, PDL_V_FLOAT) || pdl_is_int(v) ? pdl_num_to_double(v) : 0;
    return cost > 0 ? cost : 0;
}

static void add_usage(pdl_progress *p, pdl_vref usage) {
    static const char *const fields[] = {"prompt_tokens", "completion_tokens"};
    int64_t n;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (pdl_int_get(pdl_dict_getz(usage, fields[i]), &n) && n > 0 && n < INT64_MAX - p->tokens)
            p->tokens += n;
    p->cost += cost_of(usage);
}

static void begin(pdl_progress *p, const pdl_event *event) {
    const pdl_effect *e = event->effect;
    if (is_question(e)) p->asking++;
    if (!subject_of(e->kind)) return;
    p->open++;
    pdl_idmap_put(&p->begun, e->id, (void *)(uintptr_t)event->nanos);
    pdl_buf_clear(&p->latest);
    put_call(p, e, &p->latest);
}

static bool end(pdl_progress *p, const pdl_event *e) {
    if (is_question(e->effect) && p->asking) p->asking--;
    if (!subject_of(e->effect->kind) || !p->open) return false;
    p->open--;
    int64_t begun = (int64_t)(uintptr_t)pdl_idmap_find(&p->begun, e->effect->id);
    pdl_idmap_del(&p->begun, e->effect->id);
    p->seconds = e->reply->seconds;
    if (p->seconds <= 0 && begun) p->seconds = (double)(e->nanos - begun) / 1e9;
    if (e->err)
        p->failed++;
    else
        p->done++;
    return true;
}

bool pdl_progress_take(pdl_progress *p, const pdl_event *e) {
    if (e->kind == PDL_EVENT_reply) return end(p, e);
    if (e->kind == PDL_EVENT_effect) begin(p, e);
    if (e->kind == PDL_EVENT_usage) add_usage(p, e->value);
    if (e->kind == PDL_EVENT_note) p->retried += e->err != NULL;
    return false;
}

static void put_usage(pdl_vref reply, pdl_buf *out) {
    pdl_vref usage = pdl_is_dict(reply) ? pdl_dict_getz(reply, "usage") : pdl_absent();
    int64_t asked, said;
    if (!pdl_is_dict(usage)) return;
    if (pdl_int_get(pdl_dict_getz(usage, "prompt_tokens"), &asked) &&
        pdl_int_get(pdl_dict_getz(usage, "completion_tokens"), &said))
        pdl_buf_putf(out, ", %lld tokens in, %lld out", (long long)asked, (long long)said);
    if (cost_of(usage) > 0) pdl_buf_putf(out, ", %.4g $", cost_of(usage));
}

static void put_status(const char *word, pdl_vref reply, pdl_buf *out) {
    int64_t status;
    if (pdl_is_dict(reply) && pdl_int_get(pdl_dict_getz(reply, "status"), &status) && status)
        pdl_buf_putf(out, ", %s %lld", word, (long long)status);
}

void pdl_progress_describe_end(const pdl_progress *p, const pdl_event *e, pdl_buf *out) {
    pdl_vref arguments = pdl_dict_getz(e->effect->request, "arguments");
    uint32_t line = pdl_loc_line(e->effect->loc);
    if (line) pdl_buf_putf(out, "line %u: ", (unsigned)line);
    put_call(p, e->effect, out);
    if (e->effect->kind == PDL_EFFECT_tool && pdl_is_dict(arguments)) {
        pdl_buf_putc(out, ' ');
        pdl_val shown = shown_of(p, arguments);
        pdl_val_show(shown, false, MAX_ARGUMENTS, out);
        pdl_drop(shown);
    }
    double waited = e->effect->kind == PDL_EFFECT_model ? pdl_reply_waited(e->reply) : 0;
    if (waited > p->seconds) waited = p->seconds; /* the clock was changed during the call */
    pdl_buf_putf(out, "%s %.2f s", e->err ? ", failed after" : ",", p->seconds - waited);
    if (waited >= MIN_SHOWN_S) pdl_buf_putf(out, ", waited %.2f s", waited);
    if (e->err)
        pdl_buf_putf(out, ": %s", pdl_err_kind_name(e->err->kind));
    else if (e->effect->kind == PDL_EFFECT_model)
        put_usage(e->reply->value, out);
    else if (e->effect->kind == PDL_EFFECT_command)
        put_status("exit status", e->reply->value, out);
    else if (e->effect->kind == PDL_EFFECT_http)
        put_status("status", e->reply->value, out);
}

void pdl_progress_numbers(const pdl_progress *p, pdl_buf *out) {
    const struct {
        uint64_t n;
        const char *word;
    } rows[] = {{p->done, "done"},
                {p->open, "open"},
                {p->failed, "failed"},
                {p->retried, "handled"},
                {(uint64_t)p->tokens, "tokens"}};
    const char *comma = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].n) continue;
        pdl_buf_putf(out, "%s%llu %s", comma, (unsigned long long)rows[i].n, rows[i].word);
        comma = ", ";
    }
    if (p->cost > 0) pdl_buf_putf(out, "%s%.4g $", comma, p->cost);
}

void pdl_progress_init(pdl_progress *p) { *p = (pdl_progress){.latest = PDL_BUF}; }

void pdl_progress_fini(pdl_progress *p) {
    pdl_idmap_fini(&p->begun);
    pdl_buf_fini(&p->latest);
}
