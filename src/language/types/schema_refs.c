/* schema_refs.c -- resolves $ref, $dynamicRef and $recursiveRef; see schema.h.
 *
 * The target of a reference is a part of the document, a published metaschema, or a document that
 * the caller provides. A dynamic reference also depends on the resources that the check has
 * entered, of which the outermost takes precedence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/checking.h"

#include "base/num.h"

#include "base/banned.h"

static bool fail_ref(pdl_check *c, pdl_str ref) {
    c->stopped = true;
    return pdl_err_set(c->err, PDL_E_schema, (pdl_loc){0}, "Unresolvable reference: %.*s",
                       PDL_FMT(ref));
}

static const pdl_resource *find_in(const pdl_schema *s, pdl_str uri) {
    if (uri.n == 0) return s->first;
    return pdl_map_find(&s->ids, uri);
}

static const pdl_resource *fetch(pdl_check *c, pdl_str uri, unsigned draft) {
    if (!c->remote) return NULL;
    pdl_vref v = c->remote(uri);
    if (pdl_is_absent(v)) return NULL;
    pdl_schema *s = NULL;
    pdl_err err = {0};
    if (!pdl_schema_open(c->arena, v, &(pdl_schema_form){uri, draft, true}, &s, &err)) {
        pdl_err_fini(&err);
        return NULL;
    }
    pdl_map_put(&s->ids, uri, s->first);
    pdl_remote_doc *d = pdl_arena_new(c->arena, pdl_remote_doc);
    *d = (pdl_remote_doc){s, c->docs};
    c->docs = d;
    return s->first;
}

static const pdl_resource *find_resource(pdl_check *c, pdl_str uri, unsigned draft) {
    const pdl_resource *r = find_in(c->schema, uri);
    for (const pdl_remote_doc *d = c->docs; d && !r; d = d->next)
        r = uri.n ? find_in(d->s, uri) : NULL;
    for (const pdl_resource *m = c->metas; m && !r; m = m->next)
        if (pdl_str_eq(m->uri, uri)) r = m;
    if (r) return r;
    pdl_resource *meta = pdl_schema_meta(c->arena, uri);
    if (!meta) return fetch(c, uri, draft);
    meta->next = c->metas;
    c->metas = meta;
    return meta;
}

const pdl_resource *pdl_check_enter(const pdl_check *c, pdl_vref v, const pdl_resource *res) {
    if (!pdl_is_dict(v) || res->meta) return res;
    /* most documents have no parts with names */
    bool parts = c->schema->first != c->schema->last;
    for (const pdl_remote_doc *d = c->docs; d && !parts; d = d->next)
        parts = d->s->first != d->s->last;
    if (!parts) return res;
    pdl_vref id = pdl_dict_getz(v, "$id");
    if (pdl_is_absent(id)) id = pdl_dict_getz(v, "id");
    if (!pdl_is_str(id)) return res;
    for (const pdl_resource *r = c->schema->first; r; r = r->next)
        if (pdl_is_dict(r->root) && pdl_obj_of(r->root) == pdl_obj_of(v)) return r;
    for (const pdl_remote_doc *d = c->docs; d; d = d->next)
        for (const pdl_resource *r = d->s->first; r; r = r->next)
            if (pdl_is_dict(r->root) && pdl_obj_of(r->root) == pdl_obj_of(v)) return r;
    return res;
}

/* Returns one step of a JSON pointer, in which ~1 and ~0 are decoded. */
static pdl_str decode_step(pdl_arena *a, pdl_str s) {
    if (pdl_str_find(s, PDL_STR("~"), 0) == PDL_NOT_FOUND) return s;
    char *p = pdl_arena_get(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool esc = s.p[i] == '~' && i + 1 < s.n && (s.p[i + 1] == '0' || s.p[i + 1] == '1');
        p[n++] = !esc ? s.p[i] : s.p[i + 1] == '0' ? '~' : '/';
        if (esc) i++;
    }
    return (pdl_str){p, n};
}

/* Follows a pointer ("/a/0") from the root of *res. */
static bool follow(pdl_check *c, pdl_str pointer, pdl_vref *at, const pdl_resource **res) {
    pdl_vref v = (*res)->root;
    for (size_t i = 1; i <= pointer.n;) {
        size_t end = pdl_str_find(pointer, PDL_STR("/"), i);
        if (end == PDL_NOT_FOUND) end = pointer.n;
        pdl_str step = decode_step(c->arena, pdl_str_sub(pointer, i, end));
        int64_t index = 0;
        i = end + 1;
        if (pdl_is_dict(v))
            v = pdl_dict_gets(v, step);
        else if (pdl_is_list(v) && pdl_num_read_int(step, &index) && index >= 0 &&
                 (size_t)index < pdl_list_len(v))
            v = pdl_list_at(v, (size_t)index);
        else
            v = pdl_absent();
        if (pdl_is_absent(v)) return false;
        *res = pdl_check_enter(c, v, *res);
    }
    *at = v;
    return true;
}

static const pdl_anchor *find_anchor(const pdl_resource *res, pdl_str name) {
    for (const pdl_anchor *a = res->anchors; a; a = a->next)
        if (pdl_str_eq(a->name, name)) return a;
    return NULL;
}

/* Resolves a reference. When the reference names an anchor, *anchor gets this anchor. anchor may be
 * NULL. */
static bool resolve(pdl_check *c, pdl_str ref, const pdl_resource *base, pdl_vref *target,
                    const pdl_resource **res, const pdl_anchor **anchor) {
    pdl_str uri, fragment;
    pdl_uri_resolve(c->arena, base->uri, ref, &uri, &fragment);
    bool here = ref.n > 0 && ref.p[0] == '#';
    const pdl_resource *r = here ? base : find_resource(c, uri, base->draft);
    if (!r) return fail_ref(c, ref);
    fragment = pdl_uri_unquote(c->arena, fragment);
    if (r->meta) {
        *target = pdl_absent();
        *res = r;
        return true;
    }
    if (fragment.n == 0) {
        *target = r->root;
    } else if (fragment.p[0] == '/') {
        if (!follow(c, fragment, target, &r)) return fail_ref(c, ref);
    } else {
        const pdl_anchor *a = find_anchor(r, fragment);
        if (!a) return fail_ref(c, ref);
        *target = a->at;
        r = pdl_check_enter(c, a->at, r);
        if (anchor) *anchor = a;
    }
    *res = r;
    return true;
}

bool pdl_check_ref(pdl_check *c, pdl_str ref, const pdl_dyn *dyn, pdl_vref *target,
                   const pdl_resource **res) {
    return resolve(c, ref, dyn->res, target, res, NULL);
}

bool pdl_check_dynamic_ref(pdl_check *c, pdl_str ref, const pdl_dyn *dyn, pdl_vref *target,
                           const pdl_resource **res) {
    const pdl_anchor *named = NULL;
    if (!resolve(c, ref, dyn->res, target, res, &named)) return false;
    if (!named || !named->dynamic) return true;
    /* the anchor of the outermost resource takes precedence */
    for (const pdl_dyn *d = dyn; d; d = d->up) {
        for (const pdl_anchor *a = d->res->anchors; a; a = a->next) {
            if (!a->dynamic || !pdl_str_eq(a->name, named->name)) continue;
            *target = a->at;
            *res = d->res;
        }
    }
    return true;
}

bool pdl_check_recursive_ref(pdl_check *c, const pdl_dyn *dyn, pdl_vref *target,
                             const pdl_resource **res) {
    if (!resolve(c, PDL_STR("#"), dyn->res, target, res, NULL)) return false;
    if (!(*res)->recursive) return true;
    for (const pdl_dyn *d = dyn; d; d = d->up) {
        if (!d->res->recursive) continue;
        *target = d->res->root;
        *res = d->res;
    }
    return true;
}
