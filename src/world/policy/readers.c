/* readers.c -- decides who may read a value (spec trust 3). A policy lists the readers of a label:
 * fixed names, or fields of the source's answer that contain names. A rule lists the receivers of a
 * value at its sink. The value fits the rule when each receiver is a reader of each label of the
 * value.
 *
 * A label is one bit, and its readers differ from answer to answer. So the sets of readers are kept
 * beside the values. For each bit of a source (label.h) there is the set of readers that all
 * answers with this bit have in common. A value carries the bits of its sources, and its readers
 * are in all of their sets. This is exact for the first 16 sources of a run, and never allows too
 * many readers. For a value from another run (PDL_LABEL_ELSEWHERE), only the names that the policy
 * itself gives are known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/policy_impl.h"

#include "value/member.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_NAMES = 10000, MAX_DEPTH = 16, MAX_TEXT = 1 << 20 };

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_path_text(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c == '{' || c == '}' || c == '(' || c == '[' || c == '|' || c == '\'' ||
            c == '"')
            return false;
        if (c == '.' && (i == 0 || i + 1 == s.n || s.p[i - 1] == '.')) return false;
    }
    return s.n > 0;
}

/* Reads a name, or ${ PATH }. of_source: see pdl_readers_read. Returns what is wrong, or NULL. */
static const char *read_name(pdl_str text, bool of_source, reader_name *out) {
    static const char *const forms[] = {
        "a reader here is a name, or ${ ARGUMENT }, an argument of the sink",
        "a reader here is a name, or ${ item.FIELD }, a field of what the source answered"};
    *out = (reader_name){.text = text};
    if (!text.n) return forms[of_source];
    if (pdl_str_find(text, PDL_STR("${"), 0) == PDL_NOT_FOUND) return NULL;
    if (!pdl_str_starts(text, PDL_STR("${")) || text.p[text.n - 1] != '}') return forms[of_source];
    pdl_str path = pdl_str_trim(pdl_str_sub(text, 2, text.n - 1));
    if (!is_path_text(path)) return forms[of_source];
    out->is_path = true;
    out->text = path;
    if (!of_source) return NULL;
    if (!pdl_str_is(path, "item") && !pdl_str_starts(path, PDL_STR("item.")))
        return forms[of_source];
    out->text = path.n > 5 ? pdl_str_sub(path, 5, path.n) : (pdl_str){"", 0};
    return NULL;
}

const char *pdl_readers_read(pdl_arena *arena, const pdl_node *n, bool of_source, reader_names *out,
                             const pdl_node **at) {
    bool seq = n->kind == PDL_NODE_SEQ;
    uint32_t count = seq ? n->n : 1;
    *at = n;
    if (!count) return "readers should be at least one name";
    reader_name *names = pdl_arena_new_n(arena, reader_name, count);
    for (uint32_t i = 0; i < count; i++) {
        const pdl_node *one = seq ? n->items[i] : n;
        *at = one;
        if (!pdl_node_is_str(one)) return "readers should be a list of names, or one name";
        const char *why = read_name(pdl_arena_str(arena, one->text), of_source, &names[i]);
        if (why) return why;
    }
    *out = (reader_names){names, count};
    return NULL;
}

/* --- names of an answer ----------------------------------------------------------------------- */

static bool is_number(pdl_str s) {
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') i++;
    return i == s.n && s.n > 0;
}

/* Takes the first part of a path. */
static pdl_str next_part(pdl_str *path) {
    size_t dot = pdl_str_find(*path, PDL_STR("."), 0);
    pdl_str part = pdl_str_sub(*path, 0, dot == PDL_NOT_FOUND ? path->n : dot);
    *path = dot == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(*path, dot + 1, path->n);
    return part;
}

/* Adds the texts that the path leads to in v. Where v has a list on the path, the path continues in
 * each of its entries. */
static pdl_val add_texts(pdl_val names, pdl_vref v, pdl_str path, unsigned depth) {
    if (depth > MAX_DEPTH || pdl_dict_len(names) >= MAX_NAMES) return names;
    if (pdl_is_list(v)) {
        for (size_t i = 0, n = pdl_list_len(v); i < n; i++)
            names = add_texts(names, pdl_list_at(v, i), path, depth + 1);
        return names;
    }
    if (!path.n) return pdl_is_str(v) ? pdl_dict_puts(names, pdl_str_get(v), pdl_null()) : names;
    if (!pdl_is_dict(v)) return names;
    pdl_str part = next_part(&path);
    return add_texts(names, pdl_dict_gets(v, part), path, depth + 1);
}

static pdl_val constants_of(const reader_names *r) {
    pdl_val names = pdl_dict_new(r->n);
    for (uint32_t i = 0; i < r->n; i++)
        if (!r->p[i].is_path) names = pdl_dict_puts(names, r->p[i].text, pdl_null());
    return names;
}

/* Returns the readers that one item of an answer names: an owned dict. */
static pdl_val names_of_item(const reader_names *r, pdl_vref item) {
    pdl_val names = constants_of(r);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->p[i].is_path) names = add_texts(names, item, r->p[i].text, 0);
    return names;
}

static pdl_val in_common(pdl_val a, pdl_vref b) {
    pdl_val out = pdl_dict_new(0);
    for (size_t i = 0, n = pdl_dict_len(a); i < n; i++) {
        pdl_vref key = pdl_dict_key_at(a, i);
        if (!pdl_is_absent(pdl_dict_find(b, key)))
            out = pdl_dict_puts(out, pdl_str_get(key), pdl_null());
    }
    pdl_drop(a);
    return out;
}

/* Returns the readers of an answer: the readers that all its items name. */
static pdl_val names_of_answer(const reader_names *r, pdl_vref answer) {
    if (!pdl_is_list(answer)) return names_of_item(r, answer);
    size_t n = pdl_list_len(answer);
    pdl_val all = n ? names_of_item(r, pdl_list_at(answer, 0)) : constants_of(r);
    for (size_t i = 1; i < n; i++) {
        pdl_val one = names_of_item(r, pdl_list_at(answer, i));
        all = in_common(all, one);
        pdl_drop(one);
    }
    return all;
}

static bool parse(pdl_str text, pdl_val *out) {
    pdl_err err = {0};
    bool ok = pdl_yaml_read(text, out, NULL, NULL, &err);
    pdl_err_fini(&err);
    if (ok && (pdl_is_list(*out) || pdl_is_dict(*out))) return true;
    if (ok) pdl_drop(*out);
    return false;
}

/* Reads lines as a list. Returns false unless each line is a JSON object. */
static bool parse_lines(pdl_str text, pdl_val *out) {
    pdl_val list = pdl_list_new(0), one;
    for (size_t from = 0; from < text.n;) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), from),
               to = end == PDL_NOT_FOUND ? text.n : end;
        pdl_str line = pdl_str_trim(pdl_str_sub(text, from, to));
        from = to + 1;
        if (!line.n) continue;
        if (line.p[0] != '{' || !parse(line, &one)) {
            pdl_drop(list);
            return false;
        }
        list = pdl_list_push(list, one);
    }
    *out = list;
    return true;
}

/* Returns the texts of the parts of a raw answer of a tool. Owned. */
static pdl_val texts_of(pdl_vref content) {
    pdl_buf b = PDL_BUF;
    for (size_t i = 0, n = pdl_is_list(content) ? pdl_list_len(content) : 0; i < n; i++) {
        pdl_vref text = pdl_member(pdl_list_at(content, i), "text");
        if (!pdl_is_str(text)) continue;
        if (b.len) pdl_buf_putc(&b, '\n');
        pdl_buf_put(&b, pdl_str_get(text));
    }
    return pdl_text_of_buf(&b);
}

/* Returns what a tool answered: its structured answer, or else its text. When a server has wrapped
 * a list into {result: [...]}, the list is returned. Owned. */
static pdl_val said_by_tool(pdl_vref answer) {
    if (!pdl_is_dict(answer)) return pdl_keep(answer);
    pdl_vref own = pdl_member(answer, "structured");
    if (!pdl_is_dict(own) && !pdl_is_list(own)) own = pdl_member(answer, "structuredContent");
    pdl_vref text = pdl_member(answer, "text");
    if (pdl_is_dict(own) && pdl_dict_len(own) == 1 && pdl_is_list(pdl_member(own, "result")))
        return pdl_keep(pdl_member(own, "result"));
    if (pdl_is_dict(own) || pdl_is_list(own)) return pdl_keep(own);
    if (pdl_is_str(text)) return pdl_keep(text);
    pdl_vref content = pdl_member(answer, "content");
    return pdl_is_list(content) ? texts_of(content) : pdl_keep(answer);
}

/* Returns the part of an answer that the program gets as its value. Owned. */
static pdl_val said(pdl_effect_kind kind, pdl_vref answer) {
    return kind == PDL_EFFECT_tool ? said_by_tool(answer)
                                   : pdl_keep(pdl_effect_value(kind, answer));
}

/* Returns the value of an answer, owned. A text that is JSON, YAML or lines of JSON is parsed. */
static pdl_val items_of(pdl_vref answer) {
    pdl_val out;
    if (!pdl_is_str(answer) || pdl_str_get(answer).n > MAX_TEXT) return pdl_keep(answer);
    pdl_str text = pdl_str_get(answer);
    if (parse(text, &out) || parse_lines(text, &out)) return out;
    return pdl_keep(answer);
}

/* --- sets ------------------------------------------------------------------------------------- */

static bool has_paths(const reader_names *r) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->p[i].is_path) return true;
    return false;
}

pdl_label pdl_readers_of_answers(const pdl_policies *p) {
    pdl_label all = 0;
    for (size_t i = 0; i < p->all.n; i++)
        for (size_t k = 0; k < p->all.p[i]->readers.n; k++)
            if (has_paths(&p->all.p[i]->readers.p[k].names)) all |= p->all.p[i]->readers.p[k].label;
    return all;
}

static reader_set *find_set(const reader_sets *s, const label_readers *of, pdl_label bit) {
    for (size_t i = 0; s && i < s->all.n; i++)
        if (s->all.p[i].of == of && s->all.p[i].bit == bit) return &s->all.p[i];
    return NULL;
}

void pdl_readers_note(reader_sets *s, const pdl_policies *p, pdl_label named, pdl_label bit,
                      pdl_effect_kind kind, pdl_vref answer) {
    pdl_val value = pdl_is_absent(answer) ? pdl_absent() : said(kind, answer);
    pdl_val items = items_of(value);
    pdl_drop(value);
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        for (size_t k = 0; k < one->readers.n; k++) {
            const label_readers *of = &one->readers.p[k];
            if (!(of->label & named) || !has_paths(&of->names)) continue;
            pdl_val names = names_of_answer(&of->names, items);
            reader_set *before = find_set(s, of, bit);
            if (before) {
                before->names = in_common(before->names, names);
                pdl_drop(names);
            } else {
                *pdl_vec_push(&s->all) = (reader_set){of, bit, names};
            }
        }
    }
    pdl_drop(items);
}

void pdl_readers_fini(reader_sets *s) {
    for (size_t i = 0; i < s->all.n; i++) pdl_drop(s->all.p[i].names);
    pdl_vec_fini(&s->all);
}

/* --- rules ------------------------------------------------------------------------------------ */

static bool is_constant(const reader_names *r, pdl_str name) {
    for (uint32_t i = 0; i < r->n; i++)
        if (!r->p[i].is_path && pdl_str_eq(r->p[i].text, name)) return true;
    return false;
}

/* Returns true when the reader of this name may read a value that has the label. */
static bool may_read(const reader_sets *s, const label_readers *of, pdl_label label, pdl_str name) {
    bool any = false;
    if (is_constant(&of->names, name)) return true;
    if (!s || label & (pdl_label)PDL_LABEL_ELSEWHERE) return false;
    for (uint32_t i = 0; i < PDL_LABEL_SOURCES; i++) {
        pdl_label bit = pdl_label_of_source(i);
        const reader_set *set = label & bit ? find_set(s, of, bit) : NULL;
        if (!set) continue;
        any = true;
        if (pdl_is_absent(pdl_dict_gets(set->names, name))) return false;
    }
    return any;
}

/* Returns true when the argument is at the path or below it. Numbers in the argument's name count
 * the entries of lists, and a path does not contain them. */
static bool is_at(pdl_str path, pdl_str name) {
    while (path.n && name.n) {
        pdl_str rest = path, want = next_part(&rest), have = next_part(&name);
        if (pdl_str_eq(want, have))
            path = rest;
        else if (!is_number(have))
            return false;
    }
    return !path.n;
}

/* Checks one receiver. Returns false, with the reason in *why, when the receiver may not read the
 * value. */
static bool check_name(const policy *p, const pdl_policy_ask *ask, pdl_label label, pdl_str name,
                       pdl_label of_name, not_a_reader *why) {
    for (size_t i = 0; i < p->readers.n; i++) {
        const label_readers *of = &p->readers.p[i];
        if (!(of->label & label) || may_read(ask->readers, of, label, name)) continue;
        *why = (not_a_reader){name, of_name, of->label};
        return false;
    }
    return true;
}

/* Checks the receivers that an argument names. A value that is not a text is not a known name. */
static bool check_argument(const policy *p, const pdl_policy_ask *ask, pdl_label label,
                           const pdl_argument *a, size_t *n, not_a_reader *why) {
    bool empty = pdl_is_null(a->value) || (pdl_is_list(a->value) && !pdl_list_len(a->value));
    if (empty) return true;
    *why = (not_a_reader){.of = label};
    if (!pdl_is_str(a->value)) return false;
    ++*n;
    return check_name(p, ask, label, pdl_str_get(a->value), a->label, why);
}

static pdl_str host_alone(pdl_str s) { return pdl_str_sub(s, 0, pdl_str_find(s, PDL_STR(":"), 0)); }

bool pdl_readers_fit(const policy *p, const reader_names *to, const pdl_policy_ask *ask,
                     pdl_label label, not_a_reader *why) {
    pdl_label guarded = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->readers.n; i++) guarded |= p->readers.p[i].label & label;
    if (!guarded) return true;
    pdl_label of = guarded | (label & ~(pdl_label)PDL_LABEL_ORIGINS);
    for (uint32_t i = 0; i < to->n; i++) {
        pdl_str name = to->p[i].text;
        bool host = ask->sink == PDL_SINK_url && pdl_str_is(name, "host");
        if (!to->p[i].is_path || host) {
            n++;
            if (!check_name(p, ask, of, host ? host_alone(ask->name) : name,
                            host ? ask->name_label : 0, why))
                return false;
            continue;
        }
        for (size_t k = 0; k < ask->n; k++)
            if (is_at(name, ask->args[k].name) &&
                !check_argument(p, ask, of, &ask->args[k], &n, why))
                return false;
    }
    *why = (not_a_reader){.of = guarded};
    return n > 0;
}
