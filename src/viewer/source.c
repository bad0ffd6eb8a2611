/* source.c -- see source.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/source.h"

#include "base/idmap.h"
#include "base/limits.h"
#include "base/map.h"
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

static pdl_val plain(pdl_vref v, unsigned depth);

static pdl_val plain_list(pdl_vref v, unsigned depth) {
    pdl_val out = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0; i < pdl_list_len(v); i++)
        out = pdl_list_push(out, plain(pdl_list_at(v, i), depth + 1));
    return out;
}

static pdl_val plain_dict(pdl_vref v, unsigned depth) {
    bool block = pdl_doc_is_block(v);
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

/* A text or number where a block may be: the trace makes a data block of it. */
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
    if (!pdl_doc_is_block(v) || !is_short_data(out)) return out;
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

/* --- functions -------------------------------------------------------------------------------- */

/* A call runs the body of a function, which is elsewhere in the program. Functions are found by
 * their names; where several have one name, in the nearest `defs` around the call. */
typedef struct functions {
    pdl_map bodies; /* by name; `several` for a name that is not alone */
    pdl_idmap seen; /* nodes with several parents: each is looked at once */
    PDL_VEC(const pdl_node *) left;
} functions;

static char several; /* its address is what counts */

static const pdl_node *body_of(const pdl_node *n) {
    bool is_function = n->kind == PDL_NODE_MAP && pdl_node_find(n, PDL_STR("function"), NULL);
    return is_function ? pdl_node_find(n, PDL_STR("return"), NULL) : NULL;
}

static void add_function(functions *f, const pdl_node *name, const pdl_node *function) {
    const pdl_node *body = body_of(function);
    if (!body || name->kind != PDL_NODE_SCALAR) return;
    bool known = pdl_map_find(&f->bodies, name->text) != NULL;
    pdl_map_put(&f->bodies, name->text, known ? (void *)&several : (void *)(uintptr_t)body);
}

static void look_at(functions *f, const pdl_node *n) {
    for (uint32_t i = 0; n->kind == PDL_NODE_SEQ && i < n->n; i++)
        *pdl_vec_push(&f->left) = n->items[i];
    if (n->kind != PDL_NODE_MAP) return;
    const pdl_node *defs = pdl_node_find(n, PDL_STR("defs"), NULL),
                   *def = pdl_node_find(n, PDL_STR("def"), NULL);
    if (def) add_function(f, def, n);
    for (uint32_t i = 0; defs && defs->kind == PDL_NODE_MAP && i < defs->n; i++)
        add_function(f, defs->pairs[i].key, defs->pairs[i].value);
    for (uint32_t i = 0; i < n->n; i++) *pdl_vec_push(&f->left) = n->pairs[i].value;
}

static void find_functions(functions *f, const pdl_node *root) {
    *pdl_vec_push(&f->left) = root;
    while (f->left.n) {
        const pdl_node *n = f->left.p[--f->left.n];
        if (n->shared && pdl_idmap_find(&f->seen, (uintptr_t)n)) continue;
        if (n->shared) pdl_idmap_put(&f->seen, (uintptr_t)n, f);
        look_at(f, n);
    }
}

static void functions_fini(functions *f) {
    pdl_map_fini(&f->bodies);
    pdl_idmap_fini(&f->seen);
    pdl_vec_fini(&f->left);
}

/* The name in "${ name }". */
static pdl_str called_name(const pdl_box *call) {
    pdl_vref v = pdl_box_get(call, "call");
    if (pdl_is_dict(v)) v = pdl_dict_getz(v, "pdl__expr");
    pdl_str s = pdl_is_str(v) ? pdl_str_trim(pdl_str_get(v)) : (pdl_str){0};
    if (!pdl_str_starts(s, PDL_STR("${")) || !pdl_str_ends(s, PDL_STR("}"))) return (pdl_str){0};
    return pdl_str_trim(pdl_str_sub(s, 2, s.n - 1));
}

static const pdl_node *called_body(const functions *f, const pdl_doc *d, uint32_t call,
                                   const pdl_node *const *nodes) {
    enum { MOST_AROUND = 1000 };
    pdl_str name = called_name(&d->boxes.p[call]);
    void *found = name.n ? pdl_map_find(&f->bodies, name) : NULL;
    if (found != &several) return found;
    for (uint32_t i = call, k = 0; k < MOST_AROUND; i = d->boxes.p[i].parent, k++) {
        const pdl_node *n = nodes[i];
        const pdl_node *defs =
            n && n->kind == PDL_NODE_MAP ? pdl_node_find(n, PDL_STR("defs"), NULL) : NULL;
        const pdl_node *own =
            defs && defs->kind == PDL_NODE_MAP ? pdl_node_find(defs, name, NULL) : NULL;
        if (own) return body_of(own);
        if (!i) break;
    }
    return NULL;
}

static uint32_t last_line(const pdl_node *n) {
    uint32_t end = n->end > n->start ? n->end - 1 : n->start;
    while (end > n->start && (n->src->text.p[end] == '\n' || n->src->text.p[end] == ' ')) end--;
    return pdl_source_line(n->src, end);
}

static void find_lines(pdl_view_source *s, const pdl_doc *d, const pdl_node *root) {
    const pdl_node **nodes = PDL_NEW_N(const pdl_node *, d->boxes.n);
    functions f = {0};
    find_functions(&f, root);
    for (size_t i = 0; i < d->boxes.n; i++) {
        const pdl_box *b = &d->boxes.p[i];
        bool called =
            i && pdl_str_is(b->step, "trace") && pdl_str_is(d->boxes.p[b->parent].kind, "call");
        const pdl_node *body = called ? called_body(&f, d, b->parent, nodes) : NULL;
        const pdl_node *n = nodes[i] = body ? body : i ? node_of(nodes[b->parent], b->step) : root;
        if (!n) continue;
        s->lines[i] = pdl_source_line(n->src, n->start);
        s->ends[i] = last_line(n);
    }
    functions_fini(&f);
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
