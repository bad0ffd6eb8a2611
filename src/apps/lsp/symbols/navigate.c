/* navigate.c -- definition, references, highlights, renaming, and links between files. All of them
 * ask xref.h which thing a name means. A rename is refused where an occurrence cannot be changed
 * with certainty, because a program would break without notice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"
#include "lsp/spans.h"
#include "lsp/xref.h"

#include "base/utf8.h"

#include "base/banned.h"

typedef struct collector {
    pdl_val list;
    bool with_definitions, only_definitions;
    bool for_highlight;
} collector;

static void collect(void *user, lsp_doc *d, lsp_range range, bool is_definition) {
    collector *c = user;
    if (is_definition ? !c->with_definitions : c->only_definitions) return;
    pdl_val one;
    if (c->for_highlight) {
        one = pdl_dict_putz(pdl_dict_new(2), "range", pdl_lsp_put_range(range));
        /* these are the protocol's numbers for the kinds "write" and "read" */
        one = pdl_dict_putz(one, "kind", pdl_int(is_definition ? 3 : 2));
    } else {
        one = pdl_lsp_put_location(d, range);
    }
    c->list = pdl_list_push(c->list, one);
}

/* Returns the file whose name is under the cursor. */
static lsp_doc *file_at(pdl_lsp *s, lsp_doc *d, size_t off) {
    lsp_index *x = pdl_lsp_doc_index(s, d);
    for (size_t i = 0; x && i < x->files.n; i++)
        if (x->files.p[i].at <= off && off <= x->files.p[i].at + x->files.p[i].path.n)
            return pdl_lsp_file_doc(s, d, &x->files.p[i]);
    return NULL;
}

pdl_val pdl_lsp_on_definition(pdl_lsp *s, pdl_vref params) {
    size_t off;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off), *file = d ? file_at(s, d, off) : NULL;
    collector c = {.list = pdl_list_new(2), .with_definitions = true, .only_definitions = true};
    lsp_thing t;
    lsp_range range;
    if (file)
        c.list = pdl_list_push(c.list, pdl_lsp_put_location(file, (lsp_range){{0, 0}, {0, 0}}));
    else if (d && pdl_lsp_thing_at(s, d, off, &t, &range))
        pdl_lsp_thing_each_in(s, &t, t.doc, collect, &c);
    return c.list;
}

pdl_val pdl_lsp_on_references(pdl_lsp *s, pdl_vref params) {
    size_t off;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off);
    collector c = {.list = pdl_list_new(8)};
    c.with_definitions = pdl_member_bool(pdl_member(params, "context"), "includeDeclaration");
    lsp_thing t;
    lsp_range range;
    pdl_lsp_workspace_finish(s);
    if (d && pdl_lsp_thing_at(s, d, off, &t, &range)) pdl_lsp_thing_each(s, &t, collect, &c);
    return c.list;
}

pdl_val pdl_lsp_on_highlight(pdl_lsp *s, pdl_vref params) {
    size_t off;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off);
    collector c = {.list = pdl_list_new(8), .with_definitions = true, .for_highlight = true};
    lsp_thing t;
    lsp_range range;
    if (d && pdl_lsp_thing_at(s, d, off, &t, &range)) pdl_lsp_thing_each_in(s, &t, d, collect, &c);
    return c.list;
}

/* --- renaming --------------------------------------------------------------------------------- */

/* Returns true for a field of data, which is a part of the value, so that any code may read it. */
static bool is_data_field(pdl_lsp *s, const lsp_thing *t) {
    return pdl_lsp_thing_sym(s, t)->kind == SYM_FIELD;
}

pdl_val pdl_lsp_on_prepare_rename(pdl_lsp *s, pdl_vref params) {
    size_t off;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off);
    lsp_thing t;
    lsp_range range;
    if (!d) return pdl_absent();
    if (!pdl_lsp_thing_at(s, d, off, &t, &range) || is_data_field(s, &t)) return pdl_null();
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "range", pdl_lsp_put_range(range));
    return pdl_dict_putz(v, "placeholder", pdl_text(t.name));
}

static bool is_name(pdl_str s) {
    const char *p = s.p, *end = s.p + s.n;
    if (!s.n || s.n > 200) return false;
    for (bool first = true; p < end; first = false) {
        uint32_t cp = pdl_utf8_next(&p);
        if (cp != '_' && !(first ? pdl_cp_is_id_start(cp) : pdl_cp_is_id_continue(cp)))
            return false;
    }
    return true;
}

static void on_expr(void *user, const pdl_expr *e, size_t base) {
    pdl_xkind *kind = user;
    (void)base;
    *kind = e->root->kind;
}

/* Returns true when a text can be read as a variable. Words such as `None` and `not` cannot be read
 * as variables. */
static bool reads_as_name(pdl_str s) {
    pdl_arena *scratch = pdl_arena_make();
    pdl_buf text = PDL_BUF;
    pdl_xkind kind = PDL_X_CONST;
    pdl_buf_putf(&text, "${ %.*s }", PDL_FMT(s));
    pdl_lsp_each_expr(scratch, pdl_buf_str(&text), on_expr, &kind);
    pdl_buf_fini(&text);
    pdl_arena_free(scratch);
    return kind == PDL_X_NAME;
}

typedef struct renamer {
    pdl_str name;
    pdl_val changes; /* address -> list of edits */
} renamer;

static void rename_at(void *user, lsp_doc *d, lsp_range range, bool is_definition) {
    renamer *r = user;
    (void)is_definition;
    pdl_vref old = pdl_dict_getz(r->changes, d->uri);
    pdl_val list = pdl_is_absent(old) ? pdl_list_new(4) : pdl_keep(old);
    list = pdl_list_push(list, pdl_lsp_put_edit(d, range, r->name));
    r->changes = pdl_dict_putz(r->changes, d->uri, list);
}

/* Returns the edits with versions, for clients that accept this form. Such a client refuses an edit
 * when the text has changed since. */
static pdl_val with_versions(pdl_lsp *s, pdl_vref changes) {
    pdl_val list = pdl_list_new(pdl_dict_len(changes));
    for (size_t i = 0; i < pdl_dict_len(changes); i++) {
        pdl_str uri = pdl_str_get(pdl_dict_key_at(changes, i));
        const lsp_doc *d = pdl_lsp_doc_of_uri(s, uri);
        pdl_val id = pdl_dict_putz(pdl_dict_new(2), "uri", pdl_text(uri));
        id = pdl_dict_putz(id, "version", d && d->open ? pdl_int(d->version) : pdl_null());
        pdl_val one = pdl_dict_putz(pdl_dict_new(2), "textDocument", id);
        one = pdl_dict_putz(one, "edits", pdl_keep(pdl_dict_val_at(changes, i)));
        list = pdl_list_push(list, one);
    }
    return list;
}

/* Returns true when the new name already belongs to another variable. */
static bool is_taken(pdl_lsp *s, const lsp_thing *t, pdl_str name) {
    return pdl_lsp_index_sym(pdl_lsp_doc_index(s, t->doc), t->region, name) != NULL;
}

pdl_val pdl_lsp_on_rename(pdl_lsp *s, pdl_vref params) {
    size_t off;
    lsp_doc *d = pdl_lsp_doc_at(s, params, &off);
    renamer r = {.name = pdl_member_str(params, "newName")};
    lsp_thing t;
    lsp_range range;
    if (!d) return pdl_absent();
    pdl_lsp_workspace_finish(s);
    if (!is_name(r.name))
        return pdl_lsp_fail(s, LSP_REQUEST_FAILED, "a variable is a word of letters, digits and _");
    if (pdl_lsp_is_operator(r.name) || !reads_as_name(r.name))
        return pdl_lsp_fail(s, LSP_REQUEST_FAILED, "%.*s is a word of expressions",
                            PDL_FMT(r.name));
    if (pdl_lsp_is_predefined(r.name))
        return pdl_lsp_fail(s, LSP_REQUEST_FAILED, "every program has a variable %.*s",
                            PDL_FMT(r.name));
    if (!pdl_lsp_thing_at(s, d, off, &t, &range))
        return pdl_lsp_fail(s, LSP_REQUEST_FAILED, "there is no variable here");
    if (is_data_field(s, &t))
        return pdl_lsp_fail(s, LSP_REQUEST_FAILED, "a field is renamed when it is a function");
    if (is_taken(s, &t, r.name))
        return pdl_lsp_fail(s, LSP_REQUEST_FAILED, "there is a variable %.*s already",
                            PDL_FMT(r.name));
    r.changes = pdl_dict_new(4);
    pdl_lsp_thing_each(s, &t, rename_at, &r);
    if (!s->has_doc_changes) return pdl_dict_putz(pdl_dict_new(1), "changes", r.changes);
    pdl_val list = with_versions(s, r.changes);
    pdl_drop(r.changes);
    return pdl_dict_putz(pdl_dict_new(1), "documentChanges", list);
}

/* --- links ------------------------------------------------------------------------------------ */

pdl_val pdl_lsp_on_links(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    pdl_val list = pdl_list_new(4);
    for (size_t i = 0; d && i < d->index->files.n; i++) {
        lsp_file *f = &d->index->files.p[i];
        const lsp_doc *file = pdl_lsp_file_doc(s, d, f);
        if (!file) continue;
        pdl_val one = pdl_dict_putz(pdl_dict_new(3), "range", pdl_lsp_put_range(f->range));
        one = pdl_dict_putz(one, "target", pdl_textz(file->uri));
        list = pdl_list_push(list, pdl_dict_putz(one, "tooltip", pdl_textz(file->key)));
    }
    return list;
}
