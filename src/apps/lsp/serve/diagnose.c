/* diagnose.c -- reports to the client what `pdl check` finds, pushed and pulled; see server.h.
 *
 * A file is checked in the same way as by the command, but with the texts of the editor in place of
 * files. The result is kept until the text of any file changes, since the problems of a file also
 * depend on the files that it includes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/url.h"
#include "check/check.h"
#include "lang/load.h"
#include "lsp/features.h"
#include "lsp/serve/invalid_file.h"

#include "base/banned.h"

/* --- types that the check infers -------------------------------------------------------------- */

typedef struct type_watch {
    const lsp_doc *d;
    pdl_val types;
} type_watch;

static pdl_val type_key(uint32_t line, pdl_str name) {
    return pdl_textf("%u:%.*s", line, PDL_FMT(name));
}

static void on_define(void *user, const pdl_name_def *def) {
    type_watch *w = user;
    pdl_buf b = PDL_BUF;
    if (!def->loc.src || !pdl_str_is(def->loc.src->name, w->d->key) || pdl_ty_is_unknown(def->type))
        return;
    pdl_ty_show(def->type, &b);
    uint32_t line = pdl_lsp_text_line(&w->d->text, def->loc.start);
    w->types = pdl_dict_put(w->types, type_key(line, def->name), pdl_text(pdl_buf_str(&b)));
    pdl_buf_fini(&b);
}

void pdl_lsp_put_type(pdl_lsp *s, lsp_doc *d, const lsp_sym *sym, pdl_buf *out) {
    if (d->open) pdl_lsp_diagnose(s, d); /* an older check's lines may be wrong */
    bool inferred =
        d->open && !pdl_is_absent(d->types) && sym->kind != SYM_FUNCTION && sym->kind != SYM_MODULE;
    pdl_val key = inferred ? type_key(sym->range.from.line, sym->name) : pdl_absent();
    pdl_vref found = inferred ? pdl_dict_find(d->types, key) : pdl_absent();
    pdl_str shown = pdl_is_str(found) ? pdl_str_get(found) : sym->type;
    /* the type in `spec` also describes the items of an empty list */
    bool bare = pdl_str_is(shown, "list") || pdl_str_is(shown, "object");
    pdl_buf_put(out, bare && sym->type.n ? sym->type : shown);
    pdl_drop(key);
}

/* --- the check -------------------------------------------------------------------------------- */

static pdl_program *check(pdl_lsp *s, lsp_doc *d) {
    pdl_program *p = pdl_program_new();
    pdl_str every_run = PDL_STR("pdl_args");
    lsp_opener opener = {s, d};
    type_watch types = {d, pdl_dict_new(8)};
    pdl_check_watch watch = {.user = &types, .define = on_define};
    bool ok;
    pdl_program_load(p, pdl_str_of(d->key), pdl_lsp_text_str(&d->text), &ok);
    lsp_broken rest = pdl_lsp_broken_read(p);
    if (rest.program) {
        pdl_program_drop(p);
        p = rest.program;
    }
    pdl_program_check(p, &(pdl_check_options){.open = pdl_lsp_open_source,
                                              .user = &opener,
                                              .names = &every_run,
                                              .n_names = 1,
                                              .levels = pdl_lsp_levels(s, d),
                                              .stdlib = s->opt.library,
                                              .library = &s->library,
                                              .models = s->opt.models,
                                              .python = s->opt.python,
                                              .python_user = s->opt.python_user,
                                              .watch = &watch});
    if (rest.program) pdl_lsp_broken_settle(&rest);
    pdl_drop(d->types);
    d->types = types.types;
    return p;
}

static pdl_val put_message(const pdl_lsp *s, const pdl_diag *d) {
    pdl_buf b = PDL_BUF, shown = PDL_BUF;
    pdl_buf_put(&b, d->text);
    if (d->hint.n) pdl_buf_putf(&b, " (%.*s)", PDL_FMT(d->hint));
    if (s->opt.redact)
        s->opt.redact(s->opt.redact_user, pdl_buf_str(&b), &shown);
    else
        pdl_buf_put(&shown, pdl_buf_str(&b));
    pdl_val v = pdl_text(pdl_buf_str(&shown));
    pdl_buf_fini(&b);
    pdl_buf_fini(&shown);
    return v;
}

/* Returns a place in any file. When the file is not open, it is read for this purpose. */
static pdl_val put_place(pdl_lsp *s, const lsp_doc *doc, pdl_loc loc) {
    const lsp_doc *d = doc;
    if (loc.src && !pdl_str_is(loc.src->name, doc->key)) {
        lsp_doc *other = pdl_lsp_doc_add_path(s, loc.src->name);
        d = pdl_lsp_doc_load(s, other) ? other : NULL;
    }
    return d ? pdl_lsp_put_location(d, pdl_lsp_text_range(&d->text, loc.start, loc.end))
             : pdl_absent();
}

static pdl_val put_related(pdl_lsp *s, const lsp_doc *doc, const pdl_diag *d) {
    pdl_val list = pdl_list_new(d->n_related);
    for (uint32_t i = 0; i < d->n_related; i++) {
        pdl_val place = put_place(s, doc, d->related[i].loc);
        if (pdl_is_absent(place)) continue;
        pdl_val one = pdl_dict_putz(pdl_dict_new(2), "location", place);
        one = pdl_dict_putz(one, "message", pdl_text(d->related[i].text));
        list = pdl_list_push(list, one);
    }
    return list;
}

static bool is_here(const lsp_doc *doc, pdl_loc loc) {
    return loc.src && pdl_str_is(loc.src->name, doc->key);
}

/* Adds a link to the section of the manual about the rule. */
static pdl_val put_page(const pdl_lsp *s, const pdl_diag *d, pdl_val v) {
    pdl_buf path = PDL_BUF, uri = PDL_BUF;
    pdl_buf_putf(&path, "%s/rules.md", s->opt.manual);
    pdl_url_put_file(pdl_buf_str(&path), &uri);
    pdl_buf_putf(&uri, "#%s", d->code);
    pdl_val page = pdl_dict_putz(pdl_dict_new(1), "href", pdl_text(pdl_buf_str(&uri)));
    pdl_buf_fini(&path);
    pdl_buf_fini(&uri);
    return pdl_dict_putz(v, "codeDescription", page);
}

static pdl_val put_diag(pdl_lsp *s, const lsp_doc *doc, const pdl_diag *d) {
    pdl_loc at = d->mark.src ? d->mark : d->loc;
    if (!is_here(doc, at) && is_here(doc, d->loc)) at = d->loc;
    lsp_range range = is_here(doc, at) ? pdl_lsp_text_range(&doc->text, at.start, at.end)
                                       : (lsp_range){{0, 0}, {0, 0}};
    pdl_val v = pdl_dict_putz(pdl_dict_new(8), "range", pdl_lsp_put_range(range));
    v = pdl_dict_putz(v, "severity", pdl_int(d->severity == PDL_DIAG_ERROR ? 1 : 2));
    v = pdl_dict_putz(v, "code", pdl_textz(d->code));
    if (s->has_code_links && s->opt.manual) v = put_page(s, d, v);
    v = pdl_dict_putz(v, "source", pdl_textz("pdl"));
    v = pdl_dict_putz(v, "message", put_message(s, d));
    if (d->n_related) v = pdl_dict_putz(v, "relatedInformation", put_related(s, doc, d));
    return v;
}

pdl_vref pdl_lsp_diagnose(pdl_lsp *s, lsp_doc *d) {
    if (!pdl_is_absent(d->diags) && d->checked == s->revision) return d->diags;
    pdl_program_drop(d->program);
    pdl_drop(d->diags);
    d->program = check(s, d);
    d->checked = s->revision;
    d->diags = pdl_list_new(4);
    for (size_t i = 0; i < d->program->diags.n; i++)
        if (!d->program->diags.p[i].reference_only)
            d->diags = pdl_list_push(d->diags, put_diag(s, d, &d->program->diags.p[i]));
    return d->diags;
}

/* --- push ------------------------------------------------------------------------------------- */

static void publish(pdl_lsp *s, lsp_doc *d, pdl_val list) {
    pdl_val p = pdl_dict_putz(pdl_dict_new(3), "uri", pdl_textz(d->uri));
    d->shown = pdl_list_len(list) > 0;
    pdl_drop(d->pushed);
    d->pushed = pdl_keep(list);
    if (d->open) p = pdl_dict_putz(p, "version", pdl_int(d->version));
    pdl_lsp_notify(s, "textDocument/publishDiagnostics", pdl_dict_putz(p, "diagnostics", list));
}

void pdl_lsp_withdraw(pdl_lsp *s, lsp_doc *d) {
    pdl_program_drop(d->program);
    d->program = NULL;
    pdl_drop(d->diags);
    pdl_drop(d->pulled);
    d->diags = d->pulled = pdl_absent();
    if (d->shown) publish(s, d, pdl_list_new(0));
}

/* Returns true when the diagnostics that the client shows for the file are out of date, and the
 * client will not request new ones by itself. */
static bool is_stale(const lsp_doc *d, pdl_vref now) {
    return !pdl_is_absent(d->pulled) && d->revision == d->pulled_revision &&
           !pdl_val_eq(d->pulled, now);
}

/* Asks a client that pulls diagnostics to pull again. Returns false when nothing is out of date, or
 * when the client does not support this. */
static bool refresh(pdl_lsp *s) {
    bool wanted = s->is_stale && s->has_pull_refresh;
    s->is_stale = false;
    if (wanted) pdl_lsp_ask(s, "workspace/diagnostic/refresh", pdl_absent());
    return wanted;
}

bool pdl_lsp_diagnose_work(pdl_lsp *s) {
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *d = s->docs.p[i];
        if (!d->due) continue;
        d->due = false;
        pdl_vref now = pdl_lsp_diagnose(s, d);
        if (s->is_asked) {
            s->is_stale = s->is_stale || is_stale(d, now);
            return true;
        }
        /* The list is compared with the list that was pushed last, because a pull may have made a
         * newer list for the same text. */
        bool same = d->shown && pdl_val_eq(d->pushed, now);
        if (!same) publish(s, d, pdl_keep(now));
        return true;
    }
    return refresh(s);
}

/* --- pull ------------------------------------------------------------------------------------- */

static pdl_val report_of(pdl_lsp *s, lsp_doc *d, pdl_str known) {
    pdl_vref list = pdl_lsp_diagnose(s, d);
    pdl_val id = pdl_textf("%llu", (unsigned long long)d->checked);
    bool same = pdl_str_eq(known, pdl_str_get(id));
    pdl_val v = pdl_dict_putz(pdl_dict_new(5), "kind", pdl_textz(same ? "unchanged" : "full"));
    v = pdl_dict_putz(v, "resultId", id);
    return same ? v : pdl_dict_putz(v, "items", pdl_keep(list));
}

/* Withdraws the diagnostics that were pushed, because the client now pulls them. */
static void stop_pushing(pdl_lsp *s) {
    if (!s->has_pull || s->is_asked) return;
    s->is_asked = true;
    for (size_t i = 0; i < s->docs.n; i++)
        if (s->docs.p[i]->shown) publish(s, s->docs.p[i], pdl_list_new(0));
}

pdl_val pdl_lsp_on_pull(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    if (!d) return pdl_absent();
    stop_pushing(s);
    pdl_val report = report_of(s, d, pdl_member_str(params, "previousResultId"));
    pdl_drop(d->pulled);
    d->pulled = pdl_keep(d->diags);
    d->pulled_revision = d->revision;
    return report;
}

/* Returns a map from addresses to entries of the list. An entry says which report the client
 * already has. Editors ask for reports again every few seconds. */
static pdl_map known_reports(pdl_vref list) {
    pdl_map known = {0};
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_str uri = pdl_member_str(pdl_list_at(list, i), "uri");
        if (uri.n) pdl_map_put(&known, uri, (void *)(uintptr_t)(i + 1));
    }
    return known;
}

pdl_val pdl_lsp_on_workspace_pull(pdl_lsp *s, pdl_vref params) {
    pdl_val items = pdl_list_new(8);
    pdl_vref before = pdl_member(params, "previousResultIds");
    pdl_map known = known_reports(before);
    pdl_lsp_workspace_finish(s);
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *d = s->docs.p[i];
        if (d->gone || !pdl_lsp_doc_load(s, d)) continue;
        uintptr_t at = (uintptr_t)pdl_map_find(&known, pdl_str_of(d->uri));
        pdl_str id = at ? pdl_member_str(pdl_list_at(before, at - 1), "value") : (pdl_str){0};
        pdl_val r = report_of(s, d, id);
        r = pdl_dict_putz(r, "uri", pdl_textz(d->uri));
        r = pdl_dict_putz(r, "version", d->open ? pdl_int(d->version) : pdl_null());
        items = pdl_list_push(items, r);
        if (d->open) continue;
        pdl_program_drop(d->program);
        d->program = NULL;
    }
    pdl_map_fini(&known);
    return pdl_dict_putz(pdl_dict_new(1), "items", items);
}
