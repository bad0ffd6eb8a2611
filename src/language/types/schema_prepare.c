/* schema_prepare.c -- prepares a schema: checks the form of its keywords, and finds embedded
 * resources, anchors and regexes. See schema.h.
 *
 * One walk does all of it, following the keywords that contain schemas. When there are several
 * faults, the fault nearest to the top is reported, as in the reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include "base/limits.h"
#include "base/word_list.h"
#include "value/int.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct walk {
    pdl_schema *s; /* when it is NULL, only forms are checked */
    pdl_arena *a;
    bool lenient;
    unsigned depth; /* depth of the schema that is being walked */
    bool too_deep;
    size_t n_path;
    bool faulty; /* fault and fault_path are set */
    size_t fault_path;
    pdl_buf fault;
} walk;

/* Spellings of $schema, without the scheme and without a trailing '#'. */
static const struct {
    const char *uri;
    unsigned draft;
} drafts[] = {{"json-schema.org/draft/2020-12/schema", PDL_D20},
              {"json-schema.org/draft/2019-09/schema", PDL_D19},
              {"json-schema.org/draft-07/schema", PDL_D7},
              {"json-schema.org/draft-06/schema", PDL_D6},
              {"json-schema.org/draft-04/schema", PDL_D4},
              {"json-schema.org/draft-03/schema", PDL_D4}};

static unsigned draft_of_uri(pdl_str uri) {
    size_t at = pdl_str_find(uri, PDL_STR("://"), 0);
    if (at == PDL_NOT_FOUND) return 0;
    uri = pdl_str_sub(uri, at + 3, uri.n);
    if (pdl_str_ends(uri, PDL_STR("#"))) uri = pdl_str_sub(uri, 0, uri.n - 1);
    for (size_t i = 0; i < sizeof drafts / sizeof *drafts; i++)
        if (pdl_str_is(uri, drafts[i].uri)) return drafts[i].draft;
    return 0;
}

pdl_resource *pdl_schema_meta(pdl_arena *a, pdl_str uri) {
    unsigned draft = draft_of_uri(uri);
    if (!draft) return NULL;
    pdl_resource *r = pdl_arena_new(a, pdl_resource);
    r->uri = uri;
    r->draft = draft;
    r->meta = true;
    return r;
}

/* --- faults ----------------------------------------------------------------------------------- */

static void put_repr(pdl_buf *b, pdl_vref v) { pdl_val_show(v, true, 2000, b); }

/* Records the fault "VALUE text", unless a fault nearer to the top is known. */
static void fault(walk *w, pdl_vref v, const char *text) {
    if (w->lenient || (w->faulty && w->fault_path <= w->n_path)) return;
    pdl_buf_clear(&w->fault);
    put_repr(&w->fault, v);
    pdl_buf_put(&w->fault, pdl_str_of(text));
    w->faulty = true;
    w->fault_path = w->n_path;
}

static bool want_array(walk *w, pdl_vref v) {
    if (pdl_is_list(v)) return true;
    fault(w, v, " is not of type 'array'");
    return false;
}

static bool want_object(walk *w, pdl_vref v) {
    if (pdl_is_dict(v)) return true;
    fault(w, v, " is not of type 'object'");
    return false;
}

static bool want_string(walk *w, pdl_vref v) {
    if (pdl_is_str(v)) return true;
    fault(w, v, " is not of type 'string'");
    return false;
}

static void check_strings(walk *w, pdl_vref v, bool not_empty) {
    if (!want_array(w, v)) return;
    if (not_empty && pdl_list_len(v) == 0) fault(w, v, " should be non-empty");
    w->n_path++;
    bool all = true;
    for (size_t i = 0; i < pdl_list_len(v); i++) all &= want_string(w, pdl_list_at(v, i));
    w->n_path--;
    if (all && !w->lenient && !pdl_json_unique(v, w->a)) fault(w, v, " has non-unique elements");
}

static void check_number(walk *w, pdl_vref v, pdl_kw_shape shape) {
    bool count = shape == PDL_KW_count;
    if (!pdl_json_is(v, count ? PDL_STR("integer") : PDL_STR("number"), PDL_D20)) {
        fault(w, v, count ? " is not of type 'integer'" : " is not of type 'number'");
    } else if (count && pdl_num_cmp(v, pdl_int(0)) < 0) {
        fault(w, v, " is less than the minimum of 0");
    } else if (shape == PDL_KW_positive && pdl_num_cmp(v, pdl_int(0)) != 1) {
        fault(w, v, " is less than or equal to the minimum of 0");
    }
}

static bool is_type_name(pdl_vref v) {
    return pdl_is_str(v) && pdl_str_in(pdl_str_get(v), pdl_base_names, PDL_BASE_COUNT);
}

static void check_type_word(walk *w, pdl_vref v) {
    if (is_type_name(v)) return;
    if (pdl_is_list(v) && pdl_list_len(v) > 0) {
        for (size_t i = 0; i < pdl_list_len(v); i++) {
            pdl_vref x = pdl_list_at(v, i);
            if (is_type_name(x)) continue;
            fault(w, x,
                  " is not one of ['array', 'boolean', 'integer', 'null', 'number', 'object', "
                  "'string']");
            return;
        }
        if (w->lenient || pdl_json_unique(v, w->a)) return;
        fault(w, v, " has non-unique elements");
        return;
    }
    fault(w, v, " is not valid under any of the given schemas");
}

static void check_pattern(walk *w, pdl_vref v) {
    if (!want_string(w, v)) return;
    pdl_str p = pdl_str_get(v);
    if (w->s && pdl_map_find(&w->s->regexes, p)) return;
    pdl_regex *re = NULL;
    pdl_err err = {0};
    if (!pdl_regex_new(p, PDL_RE_ECMA, &re, &err)) {
        pdl_err_fini(&err);
        fault(w, v, " is not a 'regex'");
    } else if (w->s) {
        pdl_map_put(&w->s->regexes, p, re);
    } else {
        pdl_regex_free(re);
    }
}

/* Checks that v is a text that matches ^[A-Za-z_][-A-Za-z0-9._]*$. */
static void check_anchor(walk *w, pdl_vref v) {
    if (!want_string(w, v)) return;
    pdl_str s = pdl_str_get(v);
    bool ok = s.n > 0;
    for (size_t i = 0; i < s.n && ok; i++) {
        char c = s.p[i];
        bool first = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        ok = first || (i > 0 && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
    }
    if (!ok) fault(w, v, " does not match '^[A-Za-z_][-A-Za-z0-9._]*$'");
}

static void check_id(walk *w, pdl_vref v, unsigned draft) {
    if (!want_string(w, v) || draft < PDL_D19) return;
    pdl_str s = pdl_str_get(v);
    size_t at = pdl_str_find(s, PDL_STR("#"), 0);
    if (at != PDL_NOT_FOUND && at + 1 < s.n) fault(w, v, " does not match '^[^#]*#?$'");
}

/* --- the walk --------------------------------------------------------------------------------- */

static void walk_schema(walk *w, pdl_vref v, pdl_resource *res);

static void walk_schemas(walk *w, pdl_vref v, pdl_resource *res) {
    if (!want_array(w, v)) return;
    if (pdl_list_len(v) == 0) fault(w, v, " should be non-empty");
    w->n_path++;
    for (size_t i = 0; i < pdl_list_len(v); i++) walk_schema(w, pdl_list_at(v, i), res);
    w->n_path--;
}

static void walk_schema_map(walk *w, pdl_vref v, pdl_resource *res, pdl_kw_shape shape) {
    if (!want_object(w, v)) return;
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref x = pdl_dict_val_at(v, i);
        if (shape == PDL_KW_pattern_map) check_pattern(w, pdl_dict_key_at(v, i));
        w->n_path++;
        if (shape == PDL_KW_strings_map || (shape == PDL_KW_dependencies && pdl_is_list(x)))
            check_strings(w, x, false);
        else if (shape == PDL_KW_bool_map) {
            if (!pdl_is_bool(x)) fault(w, x, " is not of type 'boolean'");
        } else
            walk_schema(w, x, res);
        w->n_path--;
    }
}

static void walk_keyword(walk *w, const pdl_keyword *k, pdl_vref v, pdl_resource *res) {
    switch (k->shape) {
    case PDL_KW_schema: walk_schema(w, v, res); break;
    case PDL_KW_schemas: walk_schemas(w, v, res); break;
    case PDL_KW_items:
        if (pdl_is_list(v))
            walk_schemas(w, v, res);
        else
            walk_schema(w, v, res);
        break;
    case PDL_KW_bool_or_schema:
        if (!pdl_is_bool(v)) walk_schema(w, v, res);
        break;
    case PDL_KW_schema_map:
    case PDL_KW_pattern_map:
    case PDL_KW_dependencies:
    case PDL_KW_strings_map:
    case PDL_KW_bool_map: walk_schema_map(w, v, res, k->shape); break;
    case PDL_KW_string: (void)want_string(w, v); break;
    case PDL_KW_id: check_id(w, v, res->draft); break;
    case PDL_KW_anchor: check_anchor(w, v); break;
    case PDL_KW_bool:
        if (!pdl_is_bool(v)) fault(w, v, " is not of type 'boolean'");
        break;
    case PDL_KW_number:
    case PDL_KW_positive:
    case PDL_KW_count: check_number(w, v, k->shape); break;
    case PDL_KW_strings: check_strings(w, v, false); break;
    case PDL_KW_strings1: check_strings(w, v, res->draft == PDL_D4); break;
    case PDL_KW_type: check_type_word(w, v); break;
    case PDL_KW_array: (void)want_array(w, v); break;
    case PDL_KW_any: break;
    case PDL_KW_pattern: check_pattern(w, v); break;
    }
}

static void add_anchor(walk *w, pdl_resource *res, pdl_vref name, pdl_vref at, bool dynamic) {
    if (!w->s || !pdl_is_str(name)) return;
    pdl_anchor *x = pdl_arena_new(w->a, pdl_anchor);
    pdl_str s = pdl_str_get(name);
    if (pdl_str_starts(s, PDL_STR("#"))) s = pdl_str_sub(s, 1, s.n);
    *x = (pdl_anchor){s, at, dynamic, res->anchors};
    res->anchors = x;
}

static unsigned draft_of(pdl_vref schema, unsigned otherwise) {
    pdl_vref v = pdl_dict_getz(schema, "$schema");
    unsigned d = pdl_is_str(v) ? draft_of_uri(pdl_str_get(v)) : 0;
    return d ? d : otherwise;
}

static pdl_resource *new_resource(walk *w, pdl_vref root, pdl_str uri, unsigned draft) {
    pdl_resource *r = pdl_arena_new(w->a, pdl_resource);
    r->uri = uri;
    r->root = root;
    r->draft = draft;
    if (w->s) {
        if (w->s->last)
            w->s->last->next = r;
        else
            w->s->first = r;
        w->s->last = r;
        if (uri.n) pdl_map_put(&w->s->ids, uri, r);
    }
    return r;
}

/* Registers the names of schema v in res. Returns the resource that contains v. */
static pdl_resource *name_schema(walk *w, pdl_vref v, pdl_resource *res) {
    unsigned draft = draft_of(v, res->draft);
    bool is_root =
        w->s && res->draft && pdl_is_dict(res->root) && pdl_obj_of(res->root) == pdl_obj_of(v);
    pdl_vref id = pdl_dict_getz(v, draft == PDL_D4 ? "id" : "$id");
    bool has_own_id = draft >= PDL_D19 ||
                      /* in the drafts before 2019, a schema with $ref has no other keywords */
                      pdl_is_absent(pdl_dict_getz(v, "$ref"));
    if (pdl_is_str(id) && has_own_id) {
        pdl_str s = pdl_str_get(id), uri, fragment;
        pdl_uri_resolve(w->a, res->uri, s, &uri, &fragment);
        if (s.n && s.p[0] == '#') {
            if (draft < PDL_D19) add_anchor(w, res, id, v, false);
        } else if (!is_root) {
            res = new_resource(w, v, uri, draft);
        } else {
            res->uri = uri;
            if (w->s) pdl_map_put(&w->s->ids, uri, res);
        }
        if (fragment.n && s.p[0] != '#' && draft < PDL_D19) {
            pdl_anchor *x = pdl_arena_new(w->a, pdl_anchor);
            *x = (pdl_anchor){fragment, v, false, res->anchors};
            res->anchors = x;
        }
    }
    add_anchor(w, res, pdl_dict_getz(v, "$anchor"), v, false);
    add_anchor(w, res, pdl_dict_getz(v, "$dynamicAnchor"), v, true);
    pdl_vref rec = pdl_dict_getz(v, "$recursiveAnchor");
    if (pdl_is_bool(rec) && pdl_bool_of(rec)) res->recursive = true;
    return res;
}

static void walk_schema(walk *w, pdl_vref v, pdl_resource *res) {
    if (pdl_is_bool(v) && res->draft != PDL_D4) return;
    if (!pdl_is_dict(v)) {
        fault(w, v,
              res->draft == PDL_D4 ? " is not of type 'object'"
                                   : " is not of type 'object', 'boolean'");
        return;
    }
    if (w->depth >= PDL_MAX_SCHEMA_DEPTH) {
        w->too_deep = true;
        return;
    }
    w->depth++;
    w->n_path++;
    res = name_schema(w, v, res);
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        const pdl_keyword *k =
            pdl_is_str(key) ? pdl_keyword_find(pdl_str_get(key), res->draft) : NULL;
        if (k) walk_keyword(w, k, pdl_dict_val_at(v, i), res);
    }
    w->n_path--;
    w->depth--;
}

static bool finish(walk *w, pdl_err *err) {
    bool ok = true;
    if (w->too_deep)
        ok = pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                         "schema is nested more than %d levels deep", (int)PDL_MAX_SCHEMA_DEPTH);
    else if (w->faulty)
        ok = pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s", pdl_buf_z(&w->fault));
    pdl_buf_fini(&w->fault);
    return ok;
}

bool pdl_schema_shape(pdl_arena *a, pdl_vref v, unsigned draft, pdl_err *err) {
    walk w = {.a = a, .fault = PDL_BUF};
    pdl_resource res = {.draft = draft};
    walk_schema(&w, v, &res);
    return finish(&w, err);
}

bool pdl_schema_open(pdl_arena *a, pdl_vref v, const pdl_schema_form *form, pdl_schema **out,
                     pdl_err *err) {
    pdl_schema *s = pdl_arena_new(a, pdl_schema);
    s->arena = a;
    s->held = pdl_keep(v);
    walk w = {.s = s, .a = a, .lenient = form->lenient, .fault = PDL_BUF};
    unsigned draft = pdl_is_dict(v) ? draft_of(v, form->draft) : form->draft;
    pdl_resource *res = new_resource(&w, v, form->uri, draft);
    walk_schema(&w, v, res);
    if (!finish(&w, err)) {
        pdl_schema_close(s);
        return false;
    }
    *out = s;
    return true;
}

void pdl_schema_close(pdl_schema *s) {
    for (size_t i = 0; i < s->regexes.n; i++) pdl_regex_free(s->regexes.entries[i].value);
    pdl_map_fini(&s->regexes);
    pdl_map_fini(&s->ids);
    pdl_drop(s->held);
}
