/* source.c -- see source.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/source.h"

#include "base/limits.h"
#include "base/num.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* --- the program without its execution -------------------------------------------------------- */

/* Members that a trace writes though the program did not say them: the key and the JSON of the
 * value, which is the default of the language. */
static const struct {
    const char *key, *text; /* NULL: an empty list or dict */
} defaults[] = {
    {"defs", NULL}, {"expectations", NULL}, {"context", "dependent"}, {"platform", "litellm"}};

static bool is_empty(pdl_vref v) {
    return (pdl_is_list(v) && !pdl_list_len(v)) || (pdl_is_dict(v) && !pdl_dict_len(v));
}

static bool is_default(pdl_str key, pdl_vref v) {
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (pdl_str_is(key, defaults[i].key))
            return defaults[i].text ? pdl_text_is(v, defaults[i].text) : is_empty(v);
    if (pdl_str_is(key, "while")) return pdl_is_bool(v) && pdl_bool_of(v);
    if (pdl_str_is(key, "until")) return pdl_is_bool(v) && !pdl_bool_of(v);
    return pdl_str_is(key, "join") && pdl_is_dict(v) && pdl_dict_len(v) == 1 &&
           pdl_text_is(pdl_dict_getz(v, "with"), "");
}

static bool is_block(pdl_vref v) { return pdl_is_str(pdl_dict_getz(v, "kind")); }

static pdl_val plain(pdl_vref v, unsigned depth);

static pdl_val plain_list(pdl_vref v, unsigned depth) {
    pdl_val out = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0; i < pdl_list_len(v); i++)
        out = pdl_list_push(out, plain(pdl_list_at(v, i), depth + 1));
    return out;
}

static pdl_val plain_dict(pdl_vref v, unsigned depth) {
    bool block = is_block(v);
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        pdl_str name = pdl_is_str(key) ? pdl_str_get(key) : (pdl_str){0};
        if (pdl_doc_is_fact(name)) continue;
        if (block && (pdl_str_is(name, "kind") || is_default(name, x))) continue;
        out = pdl_dict_put(out, pdl_keep(key), plain(x, depth + 1));
    }
    return out;
}

/* A text or number that stands where a block may be: the trace makes a data block of it. */
static bool is_short_data(pdl_vref dict) {
    if (pdl_dict_len(dict) != 1) return false;
    pdl_vref data = pdl_dict_getz(dict, "data");
    return !pdl_is_absent(data) && !pdl_is_dict(data) && !pdl_is_list(data);
}

static pdl_val plain(pdl_vref v, unsigned depth) {
    if (depth >= PDL_MAX_JSON_DEPTH) return pdl_textz("...");
    if (pdl_is_list(v)) return plain_list(v, depth);
    if (!pdl_is_dict(v)) return pdl_keep(v);
    pdl_vref expr = pdl_dict_getz(v, "pdl__expr");
    if (!pdl_is_absent(expr)) return plain(expr, depth + 1);
    pdl_vref failed = pdl_dict_getz(v, "program");
    if (pdl_text_is(pdl_dict_getz(v, "kind"), "error") && !pdl_is_absent(failed))
        return plain(failed, depth + 1);
    pdl_val out = plain_dict(v, depth);
    if (!is_block(v) || !is_short_data(out)) return out;
    pdl_val data = pdl_keep(pdl_dict_getz(out, "data"));
    pdl_drop(out);
    return data;
}

pdl_val pdl_view_source_value(pdl_vref v) { return plain(v, 0); }

static void write_program(const pdl_doc *d, pdl_buf *out) {
    pdl_err err = {0};
    pdl_val program = plain(d->trace, 0);
    if (!pdl_yaml_write(program, out, &err)) {
        pdl_buf_clear(out);
        pdl_buf_putf(out, "# the program cannot be written: %s\n", err.msg);
        pdl_err_fini(&err);
    }
    pdl_drop(program);
}

/* --- lines ------------------------------------------------------------------------------------ */

static const pdl_node *step_into(const pdl_node *n, pdl_str name) {
    int64_t i;
    if (n->kind == PDL_NODE_MAP) return pdl_node_find(n, name, NULL);
    if (n->kind != PDL_NODE_SEQ || !pdl_num_read_int(name, &i)) return NULL;
    return i >= 0 && i < (int64_t)n->n ? n->items[i] : NULL;
}

/* The node of a child, or what is nearest to it. */
static const pdl_node *node_of(const pdl_node *n, pdl_str step) {
    while (n && step.n) {
        size_t dot = pdl_str_find(step, PDL_STR("."), 0);
        const pdl_node *next = step_into(n, pdl_str_sub(step, 0, dot));
        if (!next) return n;
        n = next;
        step = dot == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(step, dot + 1, step.n);
    }
    return n;
}

static uint32_t last_line(const pdl_node *n) {
    uint32_t end = n->end > n->start ? n->end - 1 : n->start;
    while (end > n->start && (n->src->text.p[end] == '\n' || n->src->text.p[end] == ' ')) end--;
    return pdl_source_line(n->src, end);
}

static void find_lines(pdl_view_source *s, const pdl_doc *d, const pdl_node *root) {
    const pdl_node **nodes = PDL_NEW_N(const pdl_node *, d->boxes.n);
    for (size_t i = 0; i < d->boxes.n; i++) {
        const pdl_box *b = &d->boxes.p[i];
        const pdl_node *n = nodes[i] = i ? node_of(nodes[b->parent], b->step) : root;
        if (!n) continue;
        s->lines[i] = pdl_source_line(n->src, n->start);
        s->ends[i] = last_line(n);
    }
    pdl_free(nodes);
}

/* --- life ------------------------------------------------------------------------------------- */

pdl_view_source *pdl_view_source_new(const pdl_doc *d, pdl_str name, pdl_str file) {
    pdl_view_source *s = PDL_NEW(pdl_view_source);
    pdl_source *src;
    const pdl_node *root;
    pdl_buf written = PDL_BUF;
    pdl_err err = {0};
    s->arena = pdl_arena_make();
    s->lines = PDL_NEW_N(uint32_t, d->boxes.n);
    s->ends = PDL_NEW_N(uint32_t, d->boxes.n);
    s->name = pdl_arena_str(s->arena, name);
    if (!file.p) write_program(d, &written);
    if (!file.p) file = pdl_buf_str(&written);
    if (pdl_yaml_source(s->arena, s->name, file, &src, &err)) {
        s->text = src->text;
        if (pdl_yaml_load(s->arena, src, &root, &err) && root) find_lines(s, d, root);
    }
    if (!s->text.p) s->text = PDL_STR("");
    pdl_err_fini(&err);
    pdl_buf_fini(&written);
    return s;
}

void pdl_view_source_free(pdl_view_source *s) {
    if (!s) return;
    pdl_free(s->lines);
    pdl_free(s->ends);
    pdl_arena_free(s->arena);
    pdl_free(s);
}
