/* questions.c -- texts for people: why an effect is refused, and the questions of approvals.
 *
 * A question is shown outside the program's output. An attacker may have written a part of it, so
 * no value may control the terminal or look like a part of the question. Each value is one line
 * between quotes. Its control characters are visible, its middle may be cut, and it is marked when
 * it is not trusted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/policy_impl.h"

#include "base/utf8.h"
#include "value/label.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_SHOWN = 400, MAX_DEFINITION = 20000, MAX_ARGUMENTS = 40 };

/* --- refusals --------------------------------------------------------------------------------- */

/* The text of a refusal. It leaves out the values that the policies redact everywhere. Otherwise
 * the whole message would be redacted, and the user could not see what was refused. */
typedef struct refusal {
    const pdl_policies *p;
    pdl_redaction redaction;
    pdl_label label; /* labels of the text */
    pdl_buf text;
} refusal;

static void put_names(const void *user, pdl_label labels, pdl_buf *out) {
    pdl_policies_put_label(user, labels, out);
}

static void put_part(refusal *r, pdl_str text, pdl_label label) {
    if (pdl_redaction_covers(&r->redaction, label)) {
        pdl_redaction_put(&r->redaction, label, &r->text);
        return;
    }
    pdl_policy_put_visible(text, false, &r->text);
    r->label |= label;
}

/* Returns the name of a sink. The path of a file is shown relative to the program's folder. */
static pdl_str name_of(const source_log *s, const pdl_policy_ask *ask) {
    bool is_path = ask->sink == PDL_SINK_read || ask->sink == PDL_SINK_write ||
                   ask->sink == PDL_SINK_include || ask->sink == PDL_SINK_import;
    return is_path ? pdl_effect_path_from(ask->name, s->folder) : ask->name;
}

/* Appends "argument to of sink tool mail/send". */
static void put_argument(refusal *r, const source_log *s, const pdl_policy_ask *ask,
                         const pdl_argument *arg) {
    if (arg && arg->name.n) {
        PDL_PUT(&r->text, "argument ");
        put_part(r, arg->name, arg->name_label);
        PDL_PUT(&r->text, " of ");
    }
    pdl_buf_putf(&r->text, "sink %s", pdl_sink_name(ask->sink));
    if (!ask->name.n) return;
    pdl_buf_putc(&r->text, ' ');
    put_part(r, pdl_utf8_cut(name_of(s, ask), 200), ask->name_label);
    if (ask->choosing) {
        PDL_PUT(&r->text, ", which may start any command");
    } else if (ask->started_by.n) {
        PDL_PUT(&r->text, ", which ");
        put_part(r, pdl_utf8_cut(ask->started_by, 200), ask->name_label);
        PDL_PUT(&r->text, " starts");
    }
}

/* Appends "; eve@x.org is no reader of inbox". */
static void put_unread(refusal *r, const pdl_decision *d) {
    if (!d->unread) return;
    if (!d->unread_by.p) {
        PDL_PUT(&r->text, "; it is not known who gets it, which has readers: ");
    } else {
        PDL_PUT(&r->text, "; ");
        put_part(r, pdl_utf8_cut(d->unread_by, 200), d->unread_by_label);
        PDL_PUT(&r->text, " is no reader of ");
    }
    pdl_policies_put_label(r->p, d->unread, &r->text);
}

void pdl_policy_refusal(const policy_front *front, const pdl_policy_ask *ask, const pdl_decision *d,
                        const char *why, pdl_loc loc, pdl_err *err) {
    const pdl_policies *p = front->opt.policies;
    const source_log *s = &front->sources;
    static const pdl_sink_id shows[] = {PDL_SINK_output, PDL_SINK_trace, PDL_SINK_journal};
    refusal r = {.p = p, .redaction = {.user = p, .name = put_names}, .text = PDL_BUF};
    pdl_buf from = PDL_BUF;
    for (size_t i = 0; i < sizeof shows / sizeof shows[0]; i++)
        r.redaction.labels |= pdl_policies_redacted(p, shows[i]);
    pdl_str of = d->policy.n ? d->policy : PDL_STR("of the program");
    pdl_buf_putf(&r.text, "policy %.*s", PDL_FMT(pdl_effect_path_from(of, s->folder)));
    if (d->line) pdl_buf_putf(&r.text, ", line %u,", d->line);
    PDL_PUT(&r.text, " refuses ");
    put_argument(&r, s, ask, d->arg);
    if (d->labels) {
        PDL_PUT(&r.text, ": from ");
        pdl_policies_put_label(p, d->labels, &r.text);
    }
    put_unread(&r, d);
    if (why) pdl_buf_putf(&r.text, " (%s)", why);
    pdl_label label = d->arg ? pdl_sources_put(s, d->arg->label, d->labels, &from) : 0;
    if (from.len) {
        PDL_PUT(&r.text, "; it comes from ");
        put_part(&r, pdl_buf_str(&from), label);
    }
    pdl_err_set(err, PDL_E_policy, loc, "%s", pdl_buf_z(&r.text));
    /* names, such as a path or a tool, may be an attacker's text */
    err->label = err->words = pdl_label_origins(r.label);
    err->has_words = true;
    pdl_buf_fini(&r.text);
    pdl_buf_fini(&from);
}

/* --- questions -------------------------------------------------------------------------------- */

void pdl_policy_put_visible(pdl_str s, bool quoted, pdl_buf *out) {
    for (const char *p = s.p, *end = s.p + s.n; p < end;) {
        const char *from = p;
        uint32_t c = pdl_utf8_next(&p);
        if (c == '\n')
            PDL_PUT(out, "\\n");
        else if (quoted && (c == '"' || c == '\\'))
            pdl_buf_putf(out, "\\%c", (char)c);
        else if (!pdl_cp_is_visible(c))
            pdl_buf_putf(out, "\\u{%x}", c);
        else
            pdl_buf_put(out, (pdl_str){from, (size_t)(p - from)});
    }
}

static void put_value(pdl_vref v, size_t most, pdl_buf *out) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err ignored = {0};
    if (pdl_is_absent(v) || !pdl_stringify(v, &text, &ignored)) PDL_PUT(&text, "?");
    pdl_err_fini(&ignored);
    pdl_str s = pdl_buf_str(&text);
    pdl_buf_putc(out, '"');
    if (s.n <= most) {
        pdl_policy_put_visible(s, true, out);
    } else {
        size_t half = most / 2, head = half, tail = s.n - half;
        while (head > 0 && ((unsigned char)s.p[head] & 0xc0) == 0x80) head--;
        while (tail < s.n && ((unsigned char)s.p[tail] & 0xc0) == 0x80) tail++;
        pdl_policy_put_visible(pdl_str_sub(s, 0, head), true, out);
        pdl_buf_putf(out, "\" ... %zu bytes ... \"", tail - head);
        pdl_policy_put_visible(pdl_str_sub(s, tail, s.n), true, out);
    }
    pdl_buf_putc(out, '"');
    pdl_buf_fini(&text);
}

/* A path that is the name of the sink is shown in the same form as that name. */
static void put_value_of(const source_log *s, const pdl_policy_ask *ask, const pdl_argument *a,
                         size_t most, pdl_buf *out) {
    pdl_str name = name_of(s, ask);
    bool is_name = name.n != ask->name.n && pdl_is_str(a->value) &&
                   pdl_str_eq(pdl_str_get(a->value), ask->name);
    pdl_val shown = is_name ? pdl_text(name) : pdl_keep(a->value);
    put_value(shown, most, out);
    pdl_drop(shown);
}

static void put_origins(const pdl_policies *p, const source_log *s, const pdl_argument *a,
                        pdl_buf *out) {
    pdl_label origins = pdl_label_origins(a->label);
    if (!origins) return;
    pdl_buf from = PDL_BUF;
    PDL_PUT(out, "  [");
    if (origins & PDL_LABELS_UNTRUSTED) PDL_PUT(out, "UNTRUSTED, ");
    PDL_PUT(out, "from ");
    pdl_policies_put_label(p, origins, out);
    pdl_sources_put(s, a->label, origins, &from);
    if (from.len) {
        PDL_PUT(out, ": ");
        pdl_policy_put_visible(pdl_buf_str(&from), true, out);
    }
    pdl_buf_putc(out, ']');
    pdl_buf_fini(&from);
}

/* Reports how many arguments are not shown, since one of them may be the reason to refuse the
 * action. */
static void put_rest(const pdl_policies *p, const source_log *s, const pdl_policy_ask *ask,
                     pdl_buf *out) {
    pdl_argument rest = {.value = pdl_absent()};
    for (size_t i = MAX_ARGUMENTS; i < ask->n; i++) rest.label |= ask->args[i].label;
    pdl_buf_putf(out, "    ... and %zu more", ask->n - MAX_ARGUMENTS);
    put_origins(p, s, &rest, out);
    pdl_buf_putc(out, '\n');
}

/* Says why a person is asked about a value: it may go to the readers of its labels without a
 * question, but not to this receiver. */
static void ask_unread(const pdl_policies *p, const pdl_decision *d, pdl_buf *out) {
    PDL_PUT(out, "    ");
    if (d->unread_by.p) {
        pdl_buf_putc(out, '"');
        pdl_policy_put_visible(pdl_utf8_cut(d->unread_by, 200), true, out);
        PDL_PUT(out, "\" is no reader of ");
    } else {
        PDL_PUT(out, "it is not known who gets it, which has readers: ");
    }
    pdl_policies_put_label(p, d->unread, out);
    pdl_buf_putc(out, '\n');
}

static void put_question(const pdl_policies *p, const source_log *s, const char *what,
                         const pdl_policy_ask *ask, const pdl_decision *d, pdl_buf *out) {
    /* a person who approves a definition has to see all of it */
    size_t most = what ? MAX_DEFINITION : MAX_SHOWN;
    pdl_buf_putf(out, "The policy asks: %s\n  ", what ? what : "may this be done?");
    pdl_buf_putf(out, "%s ", pdl_sink_name(ask->sink));
    pdl_policy_put_visible(name_of(s, ask), true, out);
    pdl_buf_putc(out, '\n');
    for (size_t i = 0; i < ask->n && i < MAX_ARGUMENTS; i++) {
        const pdl_argument *a = &ask->args[i];
        if (!a->name.n && pdl_is_absent(a->value)) continue;
        PDL_PUT(out, "    ");
        pdl_policy_put_visible(a->name, true, out);
        PDL_PUT(out, ": ");
        put_value_of(s, ask, a, most, out);
        put_origins(p, s, a, out);
        pdl_buf_putc(out, '\n');
    }
    if (ask->n > MAX_ARGUMENTS) put_rest(p, s, ask, out);
    if (d && d->unread) ask_unread(p, d, out);
    PDL_PUT(out, "y or yes and Enter: yes; everything else: no. ");
}

static pdl_val label_names(const pdl_policies *p, pdl_label origins) {
    pdl_val list = pdl_list_new(4);
    for (size_t i = 0; i < PDL_LABEL_ORIGIN_BITS; i++) {
        if (!(origins >> i & 1)) continue;
        pdl_buf b = PDL_BUF;
        pdl_policies_put_label(p, (pdl_label)1 << i, &b);
        list = pdl_list_push(list, pdl_text_of_buf(&b));
    }
    return list;
}

static pdl_val shown_argument(const pdl_policies *p, const source_log *s, const pdl_policy_ask *ask,
                              const pdl_argument *a, bool with_value) {
    pdl_label origins = pdl_label_origins(a->label);
    pdl_buf value = PDL_BUF, from = PDL_BUF;
    pdl_val name = pdl_with_label(pdl_text(a->name), a->name_label);
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), "name", name);
    put_value_of(s, ask, a, MAX_SHOWN, &value);
    if (with_value) d = pdl_dict_putz(d, "text", pdl_with_label(pdl_text_of_buf(&value), origins));
    d = pdl_dict_putz(d, "origins", label_names(p, origins));
    d = pdl_dict_putz(d, "untrusted", pdl_bool((origins & PDL_LABELS_UNTRUSTED) != 0));
    pdl_label label = pdl_sources_put(s, a->label, origins, &from);
    d = pdl_dict_putz(d, "sources", pdl_with_label(pdl_text_of_buf(&from), label));
    pdl_buf_fini(&value);
    pdl_buf_fini(&from);
    return d;
}

static pdl_val shown_arguments(const pdl_policies *p, const source_log *s,
                               const pdl_policy_ask *ask, bool with_values) {
    pdl_val list = pdl_list_new(ask->n);
    for (size_t i = 0; i < ask->n && i < MAX_ARGUMENTS; i++) {
        /* the reason of an endorsement is shown, because it is the author's own text */
        bool shown = with_values || (ask->sink == PDL_SINK_endorse && !ask->args[i].label);
        list = pdl_list_push(list, shown_argument(p, s, ask, &ask->args[i], shown));
    }
    return list;
}

pdl_val pdl_policy_question(const pdl_policies *p, const source_log *s, const char *what,
                            const pdl_policy_ask *ask, const pdl_decision *decision) {
    pdl_buf text = PDL_BUF, name = PDL_BUF;
    pdl_label label = ask->name_label; /* a recording leaves out what its policy redacts */
    for (size_t i = 0; i < ask->n; i++) label |= pdl_label_origins(ask->args[i].label);
    put_question(p, s, what, ask, decision, &text);
    pdl_policy_put_visible(name_of(s, ask), true, &name);
    pdl_val d = pdl_dict_new(4);
    d = pdl_dict_putz(d, "sink", pdl_textz(pdl_sink_name(ask->sink)));
    d = pdl_dict_putz(d, "name", pdl_with_label(pdl_text_of_buf(&name), ask->name_label));
    d = pdl_dict_putz(d, "arguments", shown_arguments(p, s, ask, true));
    d = pdl_dict_putz(d, "text", pdl_with_label(pdl_text_of_buf(&text), label));
    pdl_buf_fini(&text);
    pdl_buf_fini(&name);
    return d;
}

pdl_val pdl_policy_decision_value(const pdl_policies *p, const source_log *s,
                                  const pdl_policy_ask *ask, const pdl_decision *d,
                                  const char *outcome) {
    pdl_val v = pdl_dict_new(7);
    v = pdl_dict_putz(v, "sink", pdl_textz(pdl_sink_name(ask->sink)));
    v = pdl_dict_putz(v, "name", pdl_with_label(pdl_text(ask->name), ask->name_label));
    v = pdl_dict_putz(v, "outcome", pdl_textz(outcome));
    v = pdl_dict_putz(v, "policy", pdl_text(d->policy));
    v = pdl_dict_putz(v, "line", pdl_int(d->line));
    if (d->answered) v = pdl_dict_putz(v, "answered", pdl_bool(true));
    return pdl_dict_putz(v, "arguments", shown_arguments(p, s, ask, d->answered));
}
