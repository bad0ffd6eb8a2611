/* program_text.c -- makes the program text of a run, and finds the lines of each box in it; see
 * program_text.h. The boxes have steps (text.0.if), and YAML nodes have lines. Following the steps
 * from the root of a file gives each box its lines; a call continues in another file or at the body
 * of a function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/program_text.h"

#include "base/idmap.h"
#include "base/num.h"
#include "viewer/box_json.h"
#include "viewer/functions.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_FILES = 1000 };

typedef struct placing {
    pdl_view_source *s;
    const pdl_doc *d;
    const pdl_view_program *program;
    const pdl_node **nodes; /* for each box: its node in the YAML; NULL when it is unknown */
    pdl_functions functions;
    bool missed; /* some call has its body in a file that was not known when the call was placed */
    /* key -> number of a file, from 1; the key contains the number of the file that names the other
     * file, `include` or `import`, and the path */
    pdl_map known;
    pdl_idmap numbers; /* pdl_source -> number of the file, from 1 */
} placing;

/* --- files ------------------------------------------------------------------------------------ */

static pdl_str shown_text(const placing *r, pdl_str text) {
    if (!r->program->redact) return text;
    pdl_buf b = PDL_BUF;
    r->program->redact(text, &b);
    pdl_str shown = pdl_arena_str(r->s->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return shown;
}

/* Adds a file. Returns its number. */
static uint32_t add_file(placing *r, pdl_str name, pdl_str text, bool written) {
    pdl_view_source *s = r->s;
    pdl_view_file file = {.name = pdl_arena_str(s->arena, name), .written = written};
    uint32_t number = (uint32_t)s->files.n;
    pdl_source *src;
    pdl_err err = {0};
    file.text = PDL_STR("");
    file.shown = pdl_file_name(file.name);
    if (pdl_yaml_source(s->arena, file.name, text, &src, &err)) {
        file.text = shown_text(r, src->text);
        pdl_idmap_put(&r->numbers, (uintptr_t)src, (void *)(uintptr_t)(number + 1));
        if (!pdl_yaml_load(s->arena, src, &file.root, &err)) file.root = NULL;
    }
    *pdl_vec_push(&s->files) = file;
    pdl_err_fini(&err);
    return number;
}

static uint32_t add_program(placing *r) {
    const pdl_view_program *p = r->program;
    pdl_buf written = PDL_BUF;
    if (!p->text.p) pdl_view_source_write(r->d->trace, &written);
    uint32_t file = add_file(r, p->name, p->text.p ? p->text : pdl_buf_str(&written), !p->text.p);
    pdl_buf_fini(&written);
    return file;
}

/* Returns the path of the file that a node includes or imports; empty when it does neither. */
static pdl_str named_file(const pdl_node *n, bool *import) {
    if (!n || n->kind != PDL_NODE_MAP) return (pdl_str){0};
    const pdl_node *path = pdl_node_find(n, PDL_STR("include"), NULL);
    *import = !path;
    if (!path) path = pdl_node_find(n, PDL_STR("import"), NULL);
    return path && path->kind == PDL_NODE_SCALAR ? path->text : (pdl_str){0};
}

/* Returns the name by which readers know a module of the library. The name is in the arena. */
static pdl_str library_name(placing *r, pdl_str path) {
    pdl_buf name = PDL_BUF;
    pdl_buf_put(&name, path);
    if (!pdl_str_ends(path, PDL_STR(".pdl"))) pdl_buf_put(&name, PDL_STR(".pdl"));
    pdl_str kept = pdl_arena_str(r->s->arena, pdl_buf_str(&name));
    pdl_buf_fini(&name);
    return kept;
}

/* Opens the file whose root is this block. Returns its number. */
static uint32_t open_file(placing *r, uint32_t from, pdl_str path, bool import, pdl_vref block) {
    const pdl_view_program *p = r->program;
    pdl_buf name = PDL_BUF, text = PDL_BUF;
    pdl_err err = {0};
    pdl_module_name module = {r->s->files.p[from].name, path, import};
    bool found =
        p->open && !r->s->files.p[from].written && p->open(p->user, &module, &name, &text, &err);
    if (!found) {
        pdl_buf_clear(&name);
        pdl_buf_clear(&text);
        pdl_buf_put(&name, path);
        pdl_view_source_write(block, &text);
    }
    uint32_t file = add_file(r, pdl_buf_str(&name), pdl_buf_str(&text), !found);
    if (import && pdl_str_starts(path, PDL_STR("lib/")))
        r->s->files.p[file].shown = library_name(r, path);
    pdl_err_fini(&err);
    pdl_buf_fini(&name);
    pdl_buf_fini(&text);
    return file;
}

static uint32_t number_of(const placing *r, const pdl_node *n) {
    uintptr_t number = (uintptr_t)pdl_idmap_find(&r->numbers, (uintptr_t)n->src);
    return number ? (uint32_t)(number - 1) : 0;
}

/* Returns the number that is stored for the key, from 1. When there is none, returns 0, and *out is
 * a copy of the key for the map. */
static uintptr_t find_known(placing *r, pdl_buf *key, pdl_str *out) {
    uintptr_t known = (uintptr_t)pdl_map_find(&r->known, pdl_buf_str(key));
    if (!known) *out = pdl_arena_str(r->s->arena, pdl_buf_str(key));
    return known;
}

/* Adds the functions of a file, once for each variable to which the file is imported. */
static void add_functions(placing *r, uint32_t file, pdl_str module) {
    const pdl_node *root = r->s->files.p[file].root;
    pdl_buf key = PDL_BUF;
    pdl_str place;
    pdl_buf_putf(&key, "functions:%u:%.*s", file, PDL_FMT(module));
    if (root && !find_known(r, &key, &place)) {
        pdl_functions_add(&r->functions, root, module);
        pdl_map_put(&r->known, place, (void *)(uintptr_t)1);
    }
    pdl_buf_fini(&key);
}

/* Returns the root of the included or imported file that contains box i. */
static const pdl_node *included(placing *r, uint32_t i) {
    const pdl_box *b = &r->d->boxes.p[i], *up = &r->d->boxes.p[b->parent];
    const pdl_node *from = r->nodes[b->parent];
    bool import = false;
    pdl_str path = named_file(from, &import), place;
    if (!path.n || r->s->files.n >= MAX_FILES) return NULL;
    uint32_t file = number_of(r, from);
    pdl_buf key = PDL_BUF;
    pdl_buf_putf(&key, "file:%u:%d:%.*s", file, import, PDL_FMT(path));
    uintptr_t known = find_known(r, &key, &place);
    if (!known) {
        known = open_file(r, file, path, import, b->block) + (uintptr_t)1;
        pdl_map_put(&r->known, place, (void *)known);
    }
    pdl_buf_fini(&key);
    add_functions(r, (uint32_t)(known - 1), import ? pdl_box_variable(up) : (pdl_str){0});
    return r->s->files.p[known - 1].root;
}

/* --- lines ------------------------------------------------------------------------------------ */

static const pdl_node *step_into(const pdl_node *n, pdl_str name) {
    int64_t i;
    if (n->kind == PDL_NODE_MAP) return pdl_node_find(n, name, NULL);
    if (n->kind != PDL_NODE_SEQ || !pdl_num_read_int(name, &i)) return NULL;
    return i >= 0 && i < (int64_t)n->n ? n->items[i] : NULL;
}

/* Returns the node to which the path `step` leads from n. When a part of the path leads nowhere,
 * returns the last node that was reached. */
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

/* Finds the position of a failure in the first line of a block: column and width, in characters. */
static void find_column(pdl_view_lines *l, const pdl_node *n) {
    pdl_str text = n->src->text;
    size_t end = pdl_str_find(text, PDL_STR("\n"), n->start);
    if (end == PDL_NOT_FOUND || end > n->end) end = n->end;
    l->column = pdl_source_column(n->src, n->start);
    for (size_t i = n->start; i < end; i++) l->width += ((unsigned char)text.p[i] & 0xc0) != 0x80;
}

/* Returns the node that a call, an include or an import has run. This node is the root of a file or
 * the body of a function, so it is not a child of the block's node. */
static const pdl_node *elsewhere(placing *r, uint32_t i) {
    const pdl_box *b = &r->d->boxes.p[i], *up = &r->d->boxes.p[b->parent];
    if (!i || !pdl_str_is(b->step, "trace")) return NULL;
    if (pdl_str_is(up->kind, "call")) {
        const pdl_node *body = pdl_functions_placed(&r->functions, up);
        r->missed |= !body && !pdl_is_absent(pdl_box_get(up, "pdl__location"));
        return body ? body : pdl_functions_called(&r->functions, r->d, b->parent, r->nodes);
    }
    return included(r, i);
}

/* Finds the node and the lines of each box, beginning with outer boxes. */
static void place_boxes(placing *r) {
    const pdl_doc *d = r->d;
    for (uint32_t i = 0; i < d->boxes.n; i++) {
        const pdl_box *b = &d->boxes.p[i];
        const pdl_node *other = elsewhere(r, i);
        const pdl_node *n = r->nodes[i] = other ? other
                                          : i   ? node_of(r->nodes[b->parent], b->step)
                                                : r->s->files.p[0].root;
        if (!n) continue;
        r->s->lines[i] = (pdl_view_lines){.file = number_of(r, n),
                                          .first = pdl_source_line(n->src, n->start),
                                          .last = last_line(n)};
        if (b->state == PDL_BOX_FAILED) find_column(&r->s->lines[i], n);
    }
}

/* An import may be deeper in the tree than a call of a function from its file. Then the boxes are
 * placed once more, with all files known. */
static void find_lines(placing *r) {
    const pdl_node *root = r->s->files.p[0].root;
    if (!root) return;
    r->nodes = PDL_NEW_N(const pdl_node *, r->d->boxes.n);
    pdl_functions_add(&r->functions, root, (pdl_str){0});
    place_boxes(r);
    if (r->missed && r->s->files.n > 1) place_boxes(r);
    pdl_free(r->nodes);
}

/* --- life ------------------------------------------------------------------------------------- */

pdl_view_source *pdl_view_source_new(const pdl_doc *d, const pdl_view_program *p) {
    pdl_view_source *s = PDL_NEW(pdl_view_source);
    s->arena = pdl_arena_make();
    s->lines = PDL_NEW_N(pdl_view_lines, d->boxes.n);
    placing r = {.s = s, .d = d, .program = p, .functions = {.arena = s->arena}};
    add_program(&r);
    find_lines(&r);
    pdl_functions_fini(&r.functions);
    pdl_map_fini(&r.known);
    pdl_idmap_fini(&r.numbers);
    return s;
}

void pdl_view_source_free(pdl_view_source *s) {
    if (!s) return;
    pdl_vec_fini(&s->files);
    pdl_free(s->lines);
    pdl_arena_free(s->arena);
    pdl_free(s);
}

void pdl_view_source_json(const pdl_view_source *s, pdl_buf *out) {
    pdl_json_put_text(out, "source_name", s->files.p[0].name);
    pdl_json_put_text(out, "source", s->files.p[0].text);
    if (s->files.p[0].written) pdl_json_put_bool(out, "written", true);
    if (s->files.n == 1) return;
    pdl_json_put_key(out, "included");
    pdl_json_open(out, '[');
    for (size_t i = 1; i < s->files.n; i++) {
        pdl_json_open(out, '{');
        pdl_json_put_text(out, "source_name", s->files.p[i].name);
        pdl_json_put_text(out, "source", s->files.p[i].text);
        if (s->files.p[i].written) pdl_json_put_bool(out, "written", true);
        pdl_buf_putc(out, '}');
    }
    pdl_buf_putc(out, ']');
}
