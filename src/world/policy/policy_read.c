/* policy_read.c -- reads the text of a policy (spec trust 3) into rules. All problems are reported
 * at once, each with its place and a suggestion, because a policy must be understood as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "policy/policy_impl.h"
#include "value/int.h"
#include "yaml/profile.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_PROBLEMS = 100, MAX_RULES = 10000 };

/* A message and its place. Keys are read in the order in which they depend on each other, so the
 * messages are sorted by line at the end. */
typedef struct policy_problem {
    pdl_loc at;
    size_t number; /* position in the order in which keys are read */
    char *text;    /* owned */
} problem;

typedef struct policy_reader {
    pdl_policies *all;
    policy *p;
    PDL_VEC(problem) problems;
} reader;

/* --- problems --------------------------------------------------------------------------------- */

PDL_PRINTF(3, 4) static void wrong(reader *r, const pdl_node *at, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    *pdl_vec_push(&r->problems) =
        (problem){pdl_node_loc(at), r->problems.n, pdl_str_dup(pdl_buf_str(&b))};
    pdl_buf_fini(&b);
}

static int by_line(const void *left, const void *right) {
    const problem *a = left, *b = right;
    if (a->at.start != b->at.start) return a->at.start < b->at.start ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Moves the problems into err, each with its place. Returns false when there is at least one. */
static bool report_problems(reader *r, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    size_t n = r->problems.n;
    if (n > 1) qsort(r->problems.p, n, sizeof *r->problems.p, by_line);
    for (size_t i = 0; i < n; i++) {
        const problem *one = &r->problems.p[i];
        if (i < MAX_PROBLEMS) {
            if (i) pdl_buf_putc(&b, '\n');
            pdl_loc_put(one->at, &b);
            pdl_buf_put(&b, pdl_str_of(one->text));
        }
        pdl_free(one->text);
    }
    if (n > MAX_PROBLEMS) pdl_buf_putf(&b, "\n... and %zu more", n - MAX_PROBLEMS);
    if (n) {
        pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s", pdl_buf_z(&b));
        err->preformatted = true;
    }
    pdl_buf_fini(&b);
    pdl_vec_fini(&r->problems);
    return !n;
}

static void unknown(reader *r, const pdl_node *at, const char *what, pdl_str word,
                    const pdl_str *known, size_t n) {
    pdl_str near = pdl_str_nearest(word, known, n);
    if (near.n)
        wrong(r, at, "%s '%.*s'; did you mean '%.*s'?", what, PDL_FMT(word), PDL_FMT(near));
    else
        wrong(r, at, "%s '%.*s'", what, PDL_FMT(word));
}

static void words_of(const char *const *words, size_t n, pdl_str *out) {
    for (size_t i = 0; i < n; i++) out[i] = pdl_str_of(words[i]);
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool is_text(reader *r, const pdl_node *n, const char *what, pdl_str *out) {
    if (pdl_node_is_str(n)) {
        *out = pdl_arena_str(r->all->arena, n->text);
        return true;
    }
    wrong(r, n, "%s should be a text", what);
    return false;
}

static bool read_verdict(reader *r, const pdl_node *n, const char *what, pdl_verdict *out) {
    static const char *const words[] = {"allow", "approve", "deny"};
    pdl_str known[3], text = n->text;
    if (!pdl_node_is_str(n)) {
        wrong(r, n, "%s should be allow, approve or deny", what);
        return false;
    }
    size_t at = pdl_word_of(text, words, 3);
    if (at < 3) {
        *out = (pdl_verdict)at;
        return true;
    }
    words_of(words, 3, known);
    unknown(r, n, "no verdict (allow, approve, deny):", text, known, 3);
    return false;
}

static bool read_flag(reader *r, const pdl_node *n, const char *what, bool *out) {
    if (n->kind == PDL_NODE_SCALAR && n->type == PDL_NT_BOOL) {
        pdl_val v = pdl_node_value(n);
        *out = pdl_bool_of(v);
        pdl_drop(v);
        return true;
    }
    wrong(r, n, "%s should be true or false", what);
    return false;
}

static bool read_count(reader *r, const pdl_node *n, const char *what, int64_t least, int64_t most,
                       uint32_t *out) {
    int64_t i = -1;
    pdl_val v = n->kind == PDL_NODE_SCALAR ? pdl_node_value(n) : pdl_absent();
    bool ok = pdl_is(v, PDL_V_INT) && pdl_int_get(v, &i) && i >= least && i <= most;
    pdl_drop(v);
    if (ok)
        *out = (uint32_t)i;
    else
        wrong(r, n, "%s should be an integer from %lld to %lld", what, (long long)least,
              (long long)most);
    return ok;
}

/* --- labels ----------------------------------------------------------------------------------- */

bool pdl_label_find_origin(pdl_str name, pdl_label *out) {
    for (size_t i = 0; i < PDL_LABEL_COUNT; i++) {
        if (!pdl_str_is(name, pdl_label_name(i))) continue;
        *out = (pdl_label)1 << i;
        return true;
    }
    return false;
}

static size_t known_labels(const reader *r, bool shapes, pdl_str *out) {
    size_t n = 0;
    for (size_t i = 0; i < PDL_LABEL_COUNT; i++) out[n++] = pdl_str_of(pdl_label_name(i));
    for (uint32_t i = 0; i < r->all->names->n; i++)
        if (r->p->known & pdl_label_named(i)) out[n++] = pdl_str_of(r->all->names->text[i]);
    if (shapes) out[n++] = PDL_STR("bounded");
    if (shapes) out[n++] = PDL_STR("shaped");
    return n;
}

enum { MAX_LABELS = PDL_LABEL_COUNT + PDL_LABEL_MAX_NAMED + 2 };

static void read_label(reader *r, const pdl_node *n, rule *to, pdl_label *out) {
    pdl_str name, known[MAX_LABELS];
    pdl_label one;
    if (!is_text(r, n, "a label", &name)) return;
    bool shapes = to != NULL;
    if (shapes && pdl_str_is(name, "bounded"))
        to->allows_bounded = true;
    else if (shapes && pdl_str_is(name, "shaped"))
        to->allows_shaped = true;
    else if (pdl_policies_find_label(r->all, name, &one) && one & r->p->known)
        *out |= one;
    else
        unknown(r, n, "no label", name, known, known_labels(r, shapes, known));
}

/* Reads a list of labels, or one label. to: the rule in which the words `bounded` and `shaped` set
 * members; NULL when these words are not allowed here. */
static void read_labels(reader *r, const pdl_node *n, rule *to, pdl_label *out) {
    if (n->kind == PDL_NODE_SEQ)
        for (uint32_t i = 0; i < n->n; i++) read_label(r, n->items[i], to, out);
    else
        read_label(r, n, to, out);
}

static bool is_name(pdl_str s) {
    bool ok = s.n > 0 && s.n <= 64 && !(s.p[0] >= '0' && s.p[0] <= '9');
    for (size_t i = 0; ok && i < s.n; i++) {
        char c = s.p[i];
        ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    }
    return ok;
}

/* Finds the label of a name, and makes a new one when there is none. */
static bool name_label(reader *r, const pdl_node *at, pdl_str name, pdl_label *out) {
    pdl_label taken;
    if (!is_name(name) || pdl_str_is(name, "bounded") || pdl_str_is(name, "shaped") ||
        pdl_label_find_origin(name, &taken)) {
        wrong(r, at,
              "'%.*s' cannot be the name of a label: letters, digits, - and _, and no origin",
              PDL_FMT(name));
        return false;
    }
    if (pdl_policies_find_label(r->all, name, out)) return true;
    if (r->all->names->n == PDL_LABEL_MAX_NAMED) {
        wrong(r, at, "more than %d labels are named", PDL_LABEL_MAX_NAMED);
        return false;
    }
    *out = pdl_label_named(r->all->names->n);
    r->all->names->text[r->all->names->n++] = pdl_str_dup(name);
    return true;
}

/* --- patterns of sources ---------------------------------------------------------------------- */

static const struct {
    const char *word;
    pdl_effect_kind kind;
} source_words[] = {
    {"read", PDL_EFFECT_read},   {"tool", PDL_EFFECT_tool},       {"model", PDL_EFFECT_model},
    {"code", PDL_EFFECT_code},   {"command", PDL_EFFECT_command}, {"input", PDL_EFFECT_input},
    {"embed", PDL_EFFECT_embed}, {"http", PDL_EFFECT_http},
};
enum { N_SOURCE_WORDS = sizeof source_words / sizeof source_words[0] };

/* Reads {read: PATTERN}. only: the kind that may be named; PDL_EFFECT_COUNT: any kind. */
static bool read_source(reader *r, const pdl_node *n, pdl_effect_kind only, source_pattern *out) {
    pdl_str known[N_SOURCE_WORDS];
    if (n->kind != PDL_NODE_MAP || n->n != 1) {
        wrong(r, n, "a source should be {KIND: PATTERN}, as {read: \"letters/**\"}");
        return false;
    }
    const pdl_pair *pair = &n->pairs[0];
    for (size_t i = 0; i < N_SOURCE_WORDS; i++) {
        known[i] = pdl_str_of(source_words[i].word);
        if (!pdl_str_is(pair->key->text, source_words[i].word)) continue;
        if (only != PDL_EFFECT_COUNT && only != source_words[i].kind) break;
        out->kind = source_words[i].kind;
        if (!is_text(r, pair->value, "a pattern", &out->glob)) return false;
        const char *why = pdl_policy_fits_nothing(pair->key->text, out->glob);
        if (why) wrong(r, pair->value, "this source fits nothing: %s", why);
        return !why;
    }
    if (only == PDL_EFFECT_tool)
        wrong(r, pair->key, "only tools can be named here, as {tool: \"mail/search*\"}");
    else
        unknown(r, pair->key, "no kind of source", pair->key->text, known, N_SOURCE_WORDS);
    return false;
}

static void read_trusted(reader *r, const pdl_node *n) {
    if (n->kind != PDL_NODE_SEQ) {
        wrong(r, n, "trusted should be a list of sources");
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        source_pattern s = {0};
        if (read_source(r, n->items[i], PDL_EFFECT_COUNT, &s)) *pdl_vec_push(&r->p->trusted) = s;
    }
}

static void read_read_only(reader *r, const pdl_node *n) {
    if (n->kind != PDL_NODE_SEQ) {
        wrong(r, n, "read_only should be a list of tools");
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        source_pattern s = {0};
        if (read_source(r, n->items[i], PDL_EFFECT_tool, &s)) *pdl_vec_push(&r->p->read_only) = s;
    }
}

static void read_readers(reader *r, const pdl_node *n, bool of_source, reader_names *out) {
    const pdl_node *at;
    const char *why = pdl_readers_read(r->all->arena, n, of_source, out, &at);
    if (why) wrong(r, at, "%s", why);
}

/* Reads a list of sources, or one source. */
static void read_sources(reader *r, const pdl_node *n, pdl_label label) {
    bool seq = n->kind == PDL_NODE_SEQ;
    for (uint32_t k = 0; k < (seq ? n->n : 1); k++) {
        source_pattern s = {.label = label};
        if (read_source(r, seq ? n->items[k] : n, PDL_EFFECT_COUNT, &s))
            *pdl_vec_push(&r->p->labels) = s;
    }
}

/* Reads {from: SOURCES, readers: NAMES}. */
static void read_with_readers(reader *r, const pdl_node *n, pdl_label label) {
    pdl_str known[] = {PDL_STR("from"), PDL_STR("readers")};
    const pdl_node *from = NULL;
    label_readers one = {.label = label};
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_pair *pair = &n->pairs[i];
        if (pdl_str_eq(pair->key->text, known[0]))
            read_sources(r, from = pair->value, label);
        else if (pdl_str_eq(pair->key->text, known[1]))
            read_readers(r, pair->value, true, &one.names);
        else
            unknown(r, pair->key, "no key of a label (from, readers):", pair->key->text, known, 2);
    }
    if (!from)
        wrong(r, n, "a label with readers should say its sources, `from: [{tool: inbox/*}]`");
    if (one.names.n) *pdl_vec_push(&r->p->readers) = one;
}

static void read_named(reader *r, const pdl_node *n) {
    if (n->kind != PDL_NODE_MAP) {
        wrong(r, n, "labels should be a mapping from names to lists of sources");
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_pair *pair = &n->pairs[i];
        pdl_label label = 0;
        if (name_label(r, pair->key, pair->key->text, &label)) r->p->known |= label;
        bool map = pair->value->kind == PDL_NODE_MAP;
        bool long_form = map && (pdl_node_find(pair->value, PDL_STR("from"), NULL) ||
                                 pdl_node_find(pair->value, PDL_STR("readers"), NULL));
        if (long_form)
            read_with_readers(r, pair->value, label);
        else
            read_sources(r, pair->value, label);
    }
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Reads "tool mail/send": the sink, and a pattern of its names. */
static bool read_sink(reader *r, const pdl_node *n, rule *to) {
    pdl_str text, known[PDL_SINK_COUNT];
    if (!is_text(r, n, "sink", &text)) return false;
    size_t space = pdl_str_find(text, PDL_STR(" "), 0);
    pdl_str word = pdl_str_sub(text, 0, space == PDL_NOT_FOUND ? text.n : space);
    pdl_str name = pdl_str_trim(pdl_str_sub(text, word.n, text.n));
    for (size_t i = 0; i < PDL_SINK_COUNT; i++) known[i] = pdl_str_of(pdl_sink_rows[i].name);
    if (!pdl_sink_find(word, &to->sink)) {
        unknown(r, n, "no sink", word, known, PDL_SINK_COUNT);
        return false;
    }
    if (!name.n) return true;
    if (pdl_sink_rows[to->sink].names == NAMES_NONE) {
        wrong(r, n, "the sink %.*s has no names", PDL_FMT(word));
        return false;
    }
    to->name = name;
    return true;
}

/* Refuses a rule about an argument that its sink never has, because such a rule would be ignored
 * without notice. */
static void check_argument(reader *r, const pdl_node *n, const rule *to) {
    enum { MAX_KNOWN = 10 };
    const sink_row *row = &pdl_sink_rows[to->sink];
    pdl_str name = to->argument, known[MAX_KNOWN];
    char form = row->arguments[0];
    size_t n_known = 0, digits = 0;
    pdl_str rest = pdl_str_of(form == '~' ? row->arguments + 1 : row->arguments);
    while (rest.n && n_known < MAX_KNOWN) {
        pdl_str word = pdl_str_sub(rest, 0, pdl_str_find(rest, PDL_STR(" "), 0));
        if (pdl_str_eq(word, name)) return;
        known[n_known++] = word;
        rest = pdl_str_sub(rest, word.n + 1, rest.n);
    }
    while (digits < name.n && name.p[digits] >= '0' && name.p[digits] <= '9') digits++;
    if (!form || (form == '#' && digits == name.n && (name.n == 1 || (name.n && name.p[0] != '0'))))
        return;
    if (form == '~' && !pdl_str_nearest(name, known, n_known).n) return;
    if (form == '-')
        wrong(r, n, "the sink %s has no arguments", row->name);
    else if (form == '#')
        wrong(r, n, "the arguments of the sink %s are numbers: 0 is the program", row->name);
    else
        unknown(r, n, "no argument of this sink:", name, known, n_known);
}

static void read_argument(reader *r, const pdl_node *n, rule *to) {
    if (n->kind != PDL_NODE_SCALAR || (n->type != PDL_NT_STR && n->type != PDL_NT_INT)) {
        wrong(r, n, "argument should be a name or the number of one");
        return;
    }
    to->argument = pdl_arena_str(r->all->arena, n->text);
    check_argument(r, n, to);
}

static void read_always(reader *r, const pdl_node *n, rule *to) {
    pdl_str text;
    if (!is_text(r, n, "always", &text)) return;
    to->always_asks = pdl_str_is(text, "approve");
    if (!to->always_asks) wrong(r, n, "always can be approve, and nothing else");
}

static void read_durable(reader *r, const pdl_node *n, rule *to) {
    pdl_verdict v = PDL_VERDICT_ALLOW;
    if (!read_verdict(r, n, "durable", &v)) return;
    if (to->sink != PDL_SINK_journal || v == PDL_VERDICT_APPROVE)
        wrong(r, n, "durable: allow or deny is for the sink journal");
    to->not_durable = v == PDL_VERDICT_DENY;
}

static const char *const rule_keys[] = {"sink",    "argument", "model",     "allow",     "deny",
                                        "always",  "labels",   "otherwise", "read_only", "durable",
                                        "matches", "in",       "readers"};
enum { N_RULE_KEYS = sizeof rule_keys / sizeof rule_keys[0] };

/* Reads {in: NAME} of a rule. */
static void read_in(reader *r, const pdl_node *n, rule *to) {
    enum { MAX_SHOWN = 20 };
    pdl_str name, known[MAX_SHOWN];
    if (!is_text(r, n, "in, the name of a list,", &name)) return;
    for (size_t i = 0; i < r->p->lists.n; i++) {
        if (pdl_str_eq(r->p->lists.p[i].name, name)) to->in_list = (uint32_t)i + 1;
        if (i < MAX_SHOWN) known[i] = r->p->lists.p[i].name;
    }
    if (!to->in_list)
        unknown(r, n, "no list of this policy (lists):", name, known,
                r->p->lists.n < MAX_SHOWN ? r->p->lists.n : MAX_SHOWN);
}

static void read_texts(reader *r, const pdl_node *n, value_list *out) {
    for (uint32_t i = 0; i < n->n; i++) {
        pdl_str text;
        if (is_text(r, n->items[i], "a value of a list", &text))
            out->texts = pdl_dict_puts(out->texts, text, pdl_null());
    }
}

/* Reads {NAME: [TEXT, ...], NAME: {read: FILE}}. */
static void read_lists(reader *r, const pdl_node *n) {
    if (n->kind != PDL_NODE_MAP) {
        wrong(r, n, "lists should be a mapping from names to lists of texts, or to {read: FILE}");
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *v = n->pairs[i].value;
        value_list one = {.name = pdl_arena_str(r->all->arena, n->pairs[i].key->text),
                          .loc = pdl_node_loc(v),
                          .texts = pdl_dict_new(0)};
        bool file =
            v->kind == PDL_NODE_MAP && v->n == 1 && pdl_str_is(v->pairs[0].key->text, "read");
        if (v->kind == PDL_NODE_SEQ)
            read_texts(r, v, &one);
        else if (file)
            is_text(r, v->pairs[0].value, "read, the path of a file,", &one.file);
        else
            wrong(r, v, "a list should be a list of texts, or {read: FILE}");
        *pdl_vec_push(&r->p->lists) = one;
    }
}

static void read_model_name(reader *r, const pdl_node *n, rule *to) {
    if (to->sink != PDL_SINK_model && to->sink != PDL_SINK_embed)
        wrong(r, n, "model is for the sinks model and embed");
    else if (to->name.p)
        wrong(r, n, "the model is named twice");
    else
        is_text(r, n, "model", &to->name);
}

/* Reads a key that rules of all sinks have. Returns false for other keys; they cannot be checked
 * when the sink is unknown. */
static bool read_common_key(reader *r, pdl_str key, const pdl_node *n, rule *to) {
    if (pdl_str_is(key, "allow")) {
        to->has_allow = true;
        read_labels(r, n, to, &to->allow);
    } else if (pdl_str_is(key, "deny")) {
        read_labels(r, n, NULL, &to->deny);
    } else if (pdl_str_is(key, "always")) {
        read_always(r, n, to);
    } else if (pdl_str_is(key, "otherwise")) {
        to->says_otherwise = read_verdict(r, n, "otherwise", &to->otherwise);
    } else {
        return pdl_str_is(key, "sink");
    }
    return true;
}

static void unknown_key(reader *r, const char *what, const pdl_node *key) {
    pdl_str known[N_RULE_KEYS];
    words_of(rule_keys, N_RULE_KEYS, known);
    unknown(r, key, what, key->text, known, N_RULE_KEYS);
}

/* Reads {readers: NAMES} of a rule: who gets the value. */
static void read_to(reader *r, const pdl_pair *pair, rule *to) {
    const sink_row *row = &pdl_sink_rows[to->sink];
    size_t before = r->problems.n;
    if (row->traits == TRAIT_REDACTED || to->sink == PDL_SINK_endorse) {
        wrong(r, pair->key, "the sink %s has no readers; `deny` says what it does not show",
              row->name);
        return;
    }
    read_readers(r, pair->value, false, &to->to);
    if (r->problems.n == before && !r->p->readers.n)
        wrong(r, pair->key,
              "no label of this policy has readers, so everything fits this rule; "
              "labels: {inbox: {from: [{tool: inbox/*}], readers: [me]}}");
}

static void read_rule_key(reader *r, const pdl_pair *pair, rule *to) {
    pdl_str key = pair->key->text;
    const pdl_node *n = pair->value;
    if (read_common_key(r, key, n, to)) return;
    if (pdl_str_is(key, "argument")) {
        read_argument(r, n, to);
    } else if (pdl_str_is(key, "model")) {
        read_model_name(r, n, to);
    } else if (pdl_str_is(key, "labels") && to->sink == PDL_SINK_endorse) {
        read_labels(r, n, NULL, &to->deny);
    } else if (pdl_str_is(key, "read_only") && to->sink == PDL_SINK_tool) {
        read_flag(r, n, "read_only", &to->only_reading);
    } else if (pdl_str_is(key, "matches")) {
        is_text(r, n, "matches, a pattern,", &to->matches);
    } else if (pdl_str_is(key, "in")) {
        read_in(r, n, to);
    } else if (pdl_str_is(key, "readers")) {
        read_to(r, pair, to);
    } else if (pdl_str_is(key, "durable")) {
        read_durable(r, n, to);
    } else {
        unknown_key(r, "no key of a rule for this sink:", pair->key);
    }
}

/* Reads the keys of a rule whose sink is missing. reported: a key that already has a problem, or
 * NULL. */
static void read_keys_without_sink(reader *r, const pdl_node *n, const pdl_node *reported,
                                   rule *to) {
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_pair *pair = &n->pairs[i];
        size_t k = 0;
        if (pair->key == reported) continue;
        while (k < N_RULE_KEYS && !pdl_str_is(pair->key->text, rule_keys[k])) k++;
        if (k == N_RULE_KEYS)
            unknown_key(r, "no key of a rule:", pair->key);
        else
            read_common_key(r, pair->key->text, pair->value, to);
    }
}

static bool same_name(pdl_str a, pdl_str b) { return !a.p == !b.p && pdl_str_eq(a, b); }

/* Reports a rule that allows and denies the same label. Also reports a rule with the same subject
 * as an earlier rule for all values: the later one never decides, so one of the two is a mistake.
 * This does not apply to sinks at which all rules count. */
static void check_rule(reader *r, const pdl_node *n, const rule *new_one) {
    pdl_label both = new_one->allow & new_one->deny;
    if (both) {
        pdl_buf b = PDL_BUF;
        pdl_policies_put_label(r->all, both, &b);
        wrong(r, n, "the rule both allows and denies %s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
    }
    for (size_t i = 0; i < r->p->rules.n; i++) {
        const rule *old = &r->p->rules.p[i];
        if (old->sink != new_one->sink || old->only_reading != new_one->only_reading ||
            old->not_durable != new_one->not_durable || !same_name(old->name, new_one->name) ||
            !same_name(old->argument, new_one->argument) || old->matches.p || old->in_list ||
            old->to.n)
            continue;
        if (pdl_sink_rows[old->sink].traits == TRAIT_REDACTED || old->sink == PDL_SINK_endorse)
            continue;
        wrong(r, n, "this rule never decides: line %u has one for the same sink, name and argument",
              old->line);
        return;
    }
}

/* Completes a rule such as {sink: endorse, labels: [a]}. Such a rule is about these labels only,
 * and all other labels may be endorsed. A rule without labels is about all of them. */
static void finish_endorse(rule *to) {
    if (to->sink != PDL_SINK_endorse || !to->deny) return;
    to->allow = (pdl_label)PDL_LABEL_ORIGINS & ~to->deny;
    to->has_allow = true;
    to->deny = 0;
}

/* Reports a missing sink. Returns the key that was probably meant, or NULL. */
static const pdl_node *miss_sink(reader *r, const pdl_node *n) {
    const pdl_str sink = PDL_STR("sink");
    for (uint32_t i = 0; i < n->n; i++) {
        pdl_str key = n->pairs[i].key->text;
        if (!pdl_str_nearest(key, &sink, 1).n) continue;
        wrong(r, n->pairs[i].key, "a rule without a sink; did you mean 'sink' for '%.*s'?",
              PDL_FMT(key));
        return n->pairs[i].key;
    }
    wrong(r, n, "a rule without a sink");
    return NULL;
}

static void read_rule(reader *r, const pdl_node *n) {
    rule to = {.otherwise = PDL_VERDICT_DENY, .line = pdl_loc_line(pdl_node_loc(n))};
    if (n->kind != PDL_NODE_MAP) {
        wrong(r, n, "a rule should be a mapping, as {sink: command, allow: [user]}");
        return;
    }
    const pdl_node *sink = pdl_node_find(n, PDL_STR("sink"), NULL);
    if (!sink) {
        read_keys_without_sink(r, n, miss_sink(r, n), &to);
        return;
    }
    if (!read_sink(r, sink, &to)) {
        read_keys_without_sink(r, n, NULL, &to);
        return;
    }
    size_t before = r->problems.n;
    for (uint32_t i = 0; i < n->n; i++) read_rule_key(r, &n->pairs[i], &to);
    finish_endorse(&to);
    const char *why = pdl_policy_rule_fits_nothing(&to);
    if (why) wrong(r, n, "this rule fits nothing: %s", why);
    if (r->problems.n == before) check_rule(r, n, &to);
    *pdl_vec_push(&r->p->rules) = to;
}

static void read_rules(reader *r, const pdl_node *n) {
    if (n->kind != PDL_NODE_SEQ) {
        wrong(r, n, "rules should be a list");
        return;
    }
    if (n->n > MAX_RULES) {
        wrong(r, n, "more than %d rules", MAX_RULES);
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) read_rule(r, n->items[i]);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void read_control(reader *r, const pdl_node *n) {
    pdl_str text, known[] = {PDL_STR("data"), PDL_STR("plans"), PDL_STR("strict")};
    if (!is_text(r, n, "control", &text)) return;
    size_t k = 0;
    while (k < 3 && !pdl_str_eq(text, known[k])) k++;
    if (k < 3)
        r->p->control = (pdl_control)k;
    else
        unknown(r, n, "no form of control (data, plans, strict):", text, known, 3);
}

static void read_version(reader *r, const pdl_node *n) {
    int64_t version = 0;
    pdl_val v = n->kind == PDL_NODE_SCALAR ? pdl_node_value(n) : pdl_absent();
    if (!pdl_is(v, PDL_V_INT) || !pdl_int_get(v, &version) || version != 1)
        wrong(r, n, "policy, the version, should be 1");
    pdl_drop(v);
}

static void read_description(reader *r, const pdl_node *n) {
    pdl_str text;
    is_text(r, n, "description", &text);
}

static void read_otherwise(reader *r, const pdl_node *n) {
    r->p->otherwise_line = pdl_loc_line(pdl_node_loc(n));
    read_verdict(r, n, "otherwise", &r->p->otherwise);
}

static void read_approvals(reader *r, const pdl_node *n) {
    read_count(r, n, "approvals", 0, 100000, &r->p->approvals);
}

static void read_capacity(reader *r, const pdl_node *n) {
    read_count(r, n, "capacity", 1, INT32_MAX, &r->p->capacity);
}

static void profile_wrong(void *user, const pdl_node *key, const pdl_node *value,
                          const char *should) {
    reader *r = user;
    pdl_str near = value ? (pdl_str){0} : pdl_profile_nearest(key->text);
    pdl_str name = key ? key->text : PDL_STR("sandbox");
    if (value && pdl_node_is_str(value))
        wrong(r, value, "%.*s: %.*s %s", PDL_FMT(name),
              PDL_FMT(pdl_utf8_cut(value->text, PDL_PROFILE_SHOWN)), should);
    else if (value)
        wrong(r, value, "%.*s %s", PDL_FMT(name), should);
    else
        unknown(r, key, "no key of a profile:", key->text, &near, near.n ? 1 : 0);
}

static void read_sandbox(reader *r, const pdl_node *n) {
    if (pdl_node_is_null(n)) return;
    pdl_profile_check(n, profile_wrong, r);
    r->p->sandbox = n;
}

static void read_lock(reader *r, const pdl_node *n) {
    r->p->lock_loc = pdl_node_loc(n);
    is_text(r, n, "lock, the path of a lock file,", &r->p->lock);
}

/* The keys of a policy in the order of reading. Labels are read first, because rules name them. */
static const struct {
    const char *key;
    void (*read)(reader *r, const pdl_node *n);
} keys[] = {
    {"policy", read_version},      {"description", read_description},
    {"labels", read_named},        {"trusted", read_trusted},
    {"read_only", read_read_only}, {"control", read_control},
    {"approvals", read_approvals}, {"capacity", read_capacity},
    {"sandbox", read_sandbox},     {"lock", read_lock},
    {"lists", read_lists},         {"rules", read_rules},
    {"otherwise", read_otherwise},
};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

/* Reports a key that is written twice, since one of them would be ignored. */
static void check_repeats(reader *r, const pdl_node *n) {
    if (n->kind == PDL_NODE_MAP && n->repeats)
        wrong(r, n->pairs[n->n].key, "the key '%.*s' is written twice",
              PDL_FMT(n->pairs[n->n].key->text));
    for (uint32_t i = 0; i < n->n; i++)
        check_repeats(r, n->kind == PDL_NODE_MAP ? n->pairs[i].value : n->items[i]);
}

static void read_policy(reader *r, const pdl_node *n) {
    pdl_str known[N_KEYS];
    check_repeats(r, n);
    if (n->kind != PDL_NODE_MAP) {
        wrong(r, n, "a policy should be a mapping that begins with `policy: 1`");
        return;
    }
    if (!pdl_node_find(n, PDL_STR("policy"), NULL))
        wrong(r, n, "a policy should say `policy: 1`, its version");
    for (size_t i = 0; i < N_KEYS; i++) {
        const pdl_node *value = pdl_node_find(n, pdl_str_of(keys[i].key), NULL);
        known[i] = pdl_str_of(keys[i].key);
        if (value) keys[i].read(r, value);
    }
    for (uint32_t i = 0; i < n->n; i++) {
        size_t k = 0;
        while (k < N_KEYS && !pdl_str_eq(n->pairs[i].key->text, known[k])) k++;
        if (k == N_KEYS)
            unknown(r, n->pairs[i].key, "no key of a policy:", n->pairs[i].key->text, known,
                    N_KEYS);
    }
}

static bool add_node(pdl_policies *all, pdl_str name, const pdl_node *n, pdl_str text,
                     bool built_in, pdl_err *err) {
    policy *p = PDL_NEW(policy);
    *p = (policy){
        .name = pdl_arena_str(all->arena, name),
        .built_in = built_in,
        .known = (1 << PDL_LABEL_COUNT) - 1,
        .otherwise = PDL_VERDICT_DENY,
        .approvals = MAX_APPROVALS,
        .capacity = BOUNDED_CAPACITY,
        .locked = pdl_absent(),
    };
    pdl_hash_hex(built_in ? name : text, p->digest);
    *pdl_vec_push(&all->all) = p;
    reader r = {.all = all, .p = p};
    read_policy(&r, n);
    return report_problems(&r, err);
}

bool pdl_policies_add_node(pdl_policies *all, pdl_str name, const pdl_node *n, pdl_err *err) {
    pdl_loc at = pdl_node_loc(n);
    pdl_str text = at.src ? pdl_str_sub(at.src->text, at.start, at.end) : (pdl_str){0};
    return add_node(all, name, n, text, false, err);
}

bool pdl_policies_add(pdl_policies *all, pdl_str name, pdl_str bytes, bool built_in, pdl_err *err) {
    pdl_source *src;
    const pdl_node *root;
    if (!pdl_yaml_source(all->arena, name, bytes, &src, err) ||
        !pdl_yaml_load(all->arena, src, &root, err)) {
        pdl_err_detach(err); /* the policies may be freed before the error is printed */
        return false;
    }
    return add_node(all, name, root, bytes, built_in, err);
}
