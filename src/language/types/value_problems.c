/* value_problems.c -- describes the problems of a value in the words of the reference (spec syntax
 * 3.5). See schema.h.
 *
 * This is a second, simpler walk over value and schema, after validation has failed. The reference
 * also reports values that are fine (integers under number, null under a union with null); this
 * walk does not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include <math.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "value/json_write.h"
#include "value/text.h"
#include "value/type_words.h"

#include "base/banned.h"

static void walk(pdl_analysis *an, pdl_vref s, pdl_vref v, const pdl_step *at);

/* Returns the place of an item. When the item has a dash, this is the place of the dash, as in the
 * reference. */
static pdl_loc item_place(const pdl_node *item) {
    pdl_loc loc = pdl_node_loc(item);
    uint32_t i = loc.start;
    while (loc.src && i > 0 && strchr(" \t\n", loc.src->text.p[i - 1])) i--;
    if (loc.src && i > 0 && loc.src->text.p[i - 1] == '-') loc.start = i - 1;
    return loc;
}

/* Follows a path in the tree of nodes, and returns the place of the key of the last step that the
 * tree has. Returns an unknown place when the tree has no step of the path. */
static pdl_loc place_of(const pdl_node *n, const pdl_step *at, unsigned depth,
                        const pdl_node **end) {
    if (!at) {
        *end = n;
        return (pdl_loc){0};
    }
    const pdl_node *up = NULL;
    pdl_loc loc = depth < PDL_MAX_SCHEMA_DEPTH ? place_of(n, at->up, depth + 1, &up) : (pdl_loc){0};
    const pdl_pair *pair = NULL;
    *end = NULL;
    if (up && up->kind == PDL_NODE_SEQ && pdl_is_absent(at->key) && at->i < up->n) {
        *end = up->items[at->i];
        return item_place(*end);
    }
    if (up && up->kind == PDL_NODE_MAP && pdl_is_str(at->key)) {
        *end = pdl_node_find(up, pdl_str_get(at->key), &pair);
        if (*end) return pdl_node_loc(pair->key);
    }
    return loc;
}

static void put_path(const pdl_step *at, pdl_buf *out, unsigned depth) {
    if (!at || depth >= PDL_MAX_SCHEMA_DEPTH) return;
    put_path(at->up, out, depth + 1);
    pdl_step_put(at, out);
}

void pdl_problem_add(pdl_analysis *an, const pdl_step *at, pdl_buf *text) {
    pdl_problem *p = pdl_vec_push(an->out);
    pdl_buf path = PDL_BUF;
    const pdl_node *end;
    put_path(at, &path, 0);
    pdl_loc loc = place_of(an->places, at, 0, &end);
    pdl_str said = pdl_arena_str(an->arena, pdl_buf_str(text));
    *p = (pdl_problem){.loc = loc.src ? loc : pdl_node_loc(an->places),
                       .path = pdl_arena_str(an->arena, pdl_buf_str(&path)),
                       .text = said,
                       .plain = said,
                       .at_header = !loc.src};
    pdl_buf_fini(&path);
    pdl_buf_clear(text);
}

static void put_str(pdl_buf *out, pdl_vref v) {
    pdl_err err = {0};
    if (pdl_val_str(v, out, &err)) return;
    pdl_err_fini(&err);
    pdl_val_show(v, false, 200, out);
}

/* Adds a problem such as "VALUE text" or "VALUE text REPR". */
static void add_problem(pdl_analysis *an, const pdl_step *at, pdl_vref v, const char *text,
                        pdl_vref more) {
    pdl_buf b = PDL_BUF;
    put_str(&b, v);
    pdl_buf_put(&b, pdl_str_of(text));
    if (!pdl_is_absent(more)) put_str(&b, more);
    pdl_problem_add(an, at, &b);
    pdl_buf_fini(&b);
}

/* Says how large v is. Used when not even its beginning fits. */
static void put_size(pdl_buf *out, pdl_vref v) {
    if (pdl_is_dict(v))
        pdl_buf_putf(out, "an object with %zu keys", pdl_dict_len(v));
    else if (pdl_is_list(v))
        pdl_buf_putf(out, "a list of %zu", pdl_list_len(v));
    else
        PDL_PUT(out, "...");
}

/* Writes the beginning of v as JSON. */
static void put_json(pdl_buf *out, pdl_vref v) {
    enum { MAX_SHOWN = 60, MAX_OF_TEXT = 40 };
    pdl_buf shown = PDL_BUF_INIT(MAX_SHOWN);
    pdl_err err = {0};
    bool all = pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_NAN | PDL_JSON_SPACED, 0,
                              &shown, &err);
    /* A text is written whole or not at all, and this text was too long. */
    if (!all && pdl_is_str(v)) {
        pdl_json_quote(pdl_utf8_cut(pdl_str_get(v), MAX_OF_TEXT), 0, out);
        PDL_PUT(out, "...");
    } else if (!all && !pdl_buf_str(&shown).n) {
        put_size(out, v);
    } else {
        pdl_utf8_repair(out, pdl_buf_str(&shown));
        if (!all) PDL_PUT(out, "...");
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&shown);
}

static void set_help(pdl_analysis *an, const pdl_buf *text) {
    an->out->p[an->out->n - 1].help = pdl_arena_str(an->arena, pdl_buf_str(text));
}

/* Adds a text such as "is "three", should be an integer" to the last problem. */
static void add_help(pdl_analysis *an, pdl_vref v, const char *plain) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "is ");
    put_json(&b, v);
    pdl_buf_putf(&b, ", should be %s", plain);
    set_help(an, &b);
    pdl_buf_fini(&b);
}

/* Appends a name. A name with a line end would look like further lines of the message. */
static void put_name(pdl_buf *b, pdl_vref name) {
    enum { MAX_SHOWN_BYTES = 200 };
    if (pdl_is_str(name) && pdl_byte_in('\n', pdl_str_get(name)))
        pdl_val_show(name, true, MAX_SHOWN_BYTES, b);
    else
        put_str(b, name);
}

static void add_name_problem(pdl_analysis *an, const pdl_step *at, const char *text,
                             pdl_vref name) {
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, pdl_str_of(text));
    put_name(&b, name);
    pdl_problem_add(an, at, &b);
    pdl_buf_fini(&b);
}

/* Says which of several objects does not have the field. */
static void add_missing_help(pdl_analysis *an, pdl_vref name) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "has no ");
    put_str(&b, name);
    set_help(an, &b);
    pdl_buf_fini(&b);
}

/* Adds the field of the schema whose name is most like the name in the last problem. Only the first
 * problems get such a name, because a hint shows no more, and because there may be many fields and
 * many properties. */
static void add_near(pdl_analysis *an, pdl_vref props, pdl_vref name) {
    enum { MAX_HELPED = 3 };
    PDL_VEC(pdl_str) known = {0};
    if (an->out->n > MAX_HELPED || !pdl_is_str(name)) return;
    for (size_t i = 0; pdl_is_dict(props) && i < pdl_dict_len(props); i++) {
        pdl_vref key = pdl_dict_key_at(props, i);
        if (pdl_is_str(key)) *pdl_vec_push(&known) = pdl_str_get(key);
    }
    pdl_str near = pdl_str_nearest(pdl_str_get(name), known.p, known.n);
    if (near.n) an->out->p[an->out->n - 1].near = pdl_arena_str(an->arena, near);
    pdl_vec_fini(&known);
}

/* --- scalars ---------------------------------------------------------------------------------- */

/* Python's words are the text of the reference, which the conformance kit compares. The help has
 * those of JSON. */
static void add_wrong_class(pdl_analysis *an, const pdl_step *at, pdl_vref v, int row) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, " should be of type %s", pdl_type_words[row].python);
    add_problem(an, at, v, pdl_buf_z(&b), pdl_absent());
    add_help(an, v, pdl_type_words[row].plain);
    pdl_buf_clear(&b);
    put_str(&b, v);
    pdl_buf_putf(&b, " should be %s", pdl_type_words[row].plain);
    an->out->p[an->out->n - 1].plain = pdl_arena_str(an->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Returns the row of a type among the first n rows, or -1. */
static int class_of(pdl_vref word, int n) {
    for (int i = 0; i < n; i++)
        if (pdl_text_is(word, pdl_type_words[i].json)) return i;
    return -1;
}

/* Returns true when v has the type that the validator gives to the word. A boolean is an integer,
 * too, because in Python bool is a subclass of int. */
static bool fits_class(pdl_vref v, pdl_vref word) {
    return pdl_json_is(v, pdl_str_get(word), PDL_D20) ||
           (pdl_is_bool(v) && pdl_text_is(word, "integer"));
}

/* Computes `v in list` as in Python, where true equals 1. */
static bool is_among(pdl_vref v, pdl_vref list) {
    for (size_t i = 0; i < pdl_list_len(list); i++)
        if (pdl_val_eq(pdl_list_at(list, i), v)) return true;
    return false;
}

/* Reports a value that is not among the choices. The message lists the choices, but says neither
 * where the value is nor that a text is empty. */
static void add_choice(pdl_analysis *an, const pdl_step *at, pdl_vref v, pdl_vref choices) {
    pdl_buf b = PDL_BUF;
    add_problem(an, at, v, " should be one of: ", choices);
    PDL_PUT(&b, "one of ");
    put_json(&b, choices);
    bool is_blank = pdl_is_str(v) && !pdl_str_trim(pdl_str_get(v)).n;
    if (at || is_blank) add_help(an, v, pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

static void walk_base(pdl_analysis *an, pdl_vref s, pdl_vref v, const pdl_step *at) {
    pdl_vref word = pdl_dict_getz(s, "type"), choices = pdl_dict_getz(s, "enum");
    int row = class_of(word, PDL_N_TYPE_WORDS);
    if (row >= 0 && !fits_class(v, word)) add_wrong_class(an, at, v, row);
    if (pdl_is_list(choices) && !is_among(v, choices)) add_choice(an, at, v, choices);
}

/* --- containers ------------------------------------------------------------------------------- */

static void walk_array(pdl_analysis *an, pdl_vref s, pdl_vref v, const pdl_step *at) {
    if (!pdl_is_list(v)) {
        add_problem(an, at, v, " should be a list", pdl_absent());
        add_help(an, v, "a list");
        return;
    }
    pdl_vref items = pdl_dict_getz(s, "items"), prefix = pdl_dict_getz(s, "prefixItems");
    size_t from = pdl_is_list(prefix) ? pdl_list_len(prefix) : 0;
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        pdl_step step = {at, pdl_absent(), i};
        pdl_vref item = i < from ? pdl_list_at(prefix, i) : items;
        if (pdl_is_dict(item)) walk(an, item, pdl_list_at(v, i), &step);
    }
}

/* Returns true when another keyword allows a field that is not in `properties`. */
static bool is_matched(pdl_analysis *an, pdl_vref s, pdl_vref key) {
    pdl_vref patterns = pdl_dict_getz(s, "patternProperties");
    for (size_t i = 0; pdl_is_dict(patterns) && pdl_is_str(key) && i < pdl_dict_len(patterns); i++)
        if (pdl_check_match(an->c, pdl_dict_key_at(patterns, i), pdl_str_get(key))) return true;
    return false;
}

static void walk_extras(pdl_analysis *an, pdl_vref s, pdl_vref props, pdl_vref v,
                        const pdl_step *at) {
    pdl_vref more = pdl_dict_getz(s, "additionalProperties");
    if (!pdl_is_bool(more) || pdl_bool_of(more)) return;
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        pdl_step step = {at, key, 0};
        if (pdl_is_absent(pdl_dict_find(props, key)) && !is_matched(an, s, key)) {
            add_name_problem(an, &step, "Field not allowed: ", key);
            add_near(an, props, key);
        }
    }
}

static void walk_object(pdl_analysis *an, pdl_vref s, pdl_vref v, const pdl_step *at) {
    if (!pdl_is_dict(v)) {
        add_problem(an, at, v, " should be an object", pdl_absent());
        add_help(an, v, "an object");
        return;
    }
    pdl_vref required = pdl_dict_getz(s, "required"), props = pdl_dict_getz(s, "properties");
    for (size_t i = 0; pdl_is_list(required) && i < pdl_list_len(required); i++) {
        pdl_vref name = pdl_list_at(required, i);
        if (!pdl_is_absent(pdl_dict_find(v, name))) continue;
        add_name_problem(an, at, "Missing required field: ", name);
        if (at) add_missing_help(an, name);
    }
    if (pdl_is_dict(props)) walk_extras(an, s, props, v, at);
    for (size_t i = 0; pdl_is_dict(props) && i < pdl_dict_len(props); i++) {
        pdl_vref key = pdl_dict_key_at(props, i), x = pdl_dict_find(v, key);
        pdl_step step = {at, key, 0};
        if (!pdl_is_absent(x)) walk(an, pdl_dict_val_at(props, i), x, &step);
    }
    pdl_vref more = pdl_dict_getz(s, "additionalProperties");
    for (size_t i = 0; pdl_is_dict(more) && i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        pdl_step step = {at, key, 0};
        bool known = pdl_is_dict(props) && !pdl_is_absent(pdl_dict_find(props, key));
        if (!known && !is_matched(an, s, key)) walk(an, more, pdl_dict_val_at(v, i), &step);
    }
}

/* --- unions ----------------------------------------------------------------------------------- */

static bool is_type(pdl_vref s, const char *word) {
    return pdl_is_dict(s) && pdl_text_is(pdl_dict_getz(s, "type"), word);
}

/* Returns the other member of a union that has null and one other member; absent for any other
 * union. */
static pdl_vref beside_null(pdl_vref members) {
    if (pdl_list_len(members) != 2) return pdl_absent();
    pdl_vref a = pdl_list_at(members, 0), b = pdl_list_at(members, 1);
    if (is_type(b, "null")) return a;
    return is_type(a, "null") ? b : pdl_absent();
}

/* Returns the target of "#/..." in the document, or else absent. */
static pdl_vref local_target(pdl_analysis *an, pdl_vref s) {
    pdl_vref ref = pdl_is_dict(s) ? pdl_dict_getz(s, "$ref") : pdl_absent();
    if (!pdl_is_str(ref) || !pdl_str_starts(pdl_str_get(ref), PDL_STR("#"))) return pdl_absent();
    pdl_vref target = pdl_absent();
    const pdl_resource *res;
    pdl_dyn dyn = {an->c->schema->first, NULL};
    return pdl_check_ref(an->c, pdl_str_get(ref), &dyn, &target, &res) ? target : pdl_absent();
}

static size_t names_in_common(pdl_vref s, pdl_vref v) {
    pdl_vref props = pdl_is_dict(s) ? pdl_dict_getz(s, "properties") : pdl_absent();
    size_t n = 0;
    for (size_t i = 0; pdl_is_dict(props) && i < pdl_dict_len(v); i++)
        n += !pdl_is_absent(pdl_dict_find(props, pdl_dict_key_at(v, i)));
    return n;
}

static void walk_union_object(pdl_analysis *an, pdl_vref s, pdl_vref members, pdl_vref v,
                              const pdl_step *at) {
    pdl_vref best = pdl_absent();
    size_t most = 0;
    for (size_t i = 0; i < pdl_list_len(members); i++) {
        pdl_vref m = pdl_list_at(members, i), target = local_target(an, m);
        if (!pdl_is_absent(target)) m = target;
        size_t n = names_in_common(m, v);
        if (n > most) {
            most = n;
            best = m;
        }
    }
    if (most)
        walk(an, best, v, at);
    else
        add_problem(an, at, v, " should be of type: ", s);
}

static void walk_union(pdl_analysis *an, pdl_vref s, pdl_vref members, pdl_vref v,
                       const pdl_step *at) {
    pdl_dyn dyn = {an->c->schema->first, NULL};
    if (pdl_check_quiet(an->c, s, v, &dyn, NULL)) return;
    pdl_vref other = beside_null(members);
    if (!pdl_is_absent(other)) {
        walk(an, other, v, at);
    } else if (pdl_is_list(v)) {
        pdl_vref array = pdl_absent();
        for (size_t i = 0; i < pdl_list_len(members); i++)
            if (is_type(pdl_list_at(members, i), "array")) array = pdl_list_at(members, i);
        if (pdl_is_absent(array))
            add_problem(an, at, v, " should not be a list", pdl_absent());
        else
            walk(an, array, v, at);
    } else if (pdl_is_dict(v)) {
        walk_union_object(an, s, members, v, at);
        /* the type is right and something else is wrong, so the validator's message is better */
    } else {
        for (size_t i = 0; i < pdl_list_len(members); i++) {
            pdl_vref m = pdl_list_at(members, i),
                     word = pdl_is_dict(m) ? pdl_dict_getz(m, "type") : pdl_absent();
            if (pdl_is_str(word) && pdl_json_is(v, pdl_str_get(word), PDL_D20)) return;
        }
        add_problem(an, at, v, " should be of type ", s);
    }
}

static void walk(pdl_analysis *an, pdl_vref s, pdl_vref v, const pdl_step *at) {
    if (!pdl_is_dict(s) || an->c->stopped || an->c->depth >= PDL_MAX_SCHEMA_DEPTH) return;
    an->c->depth++;
    pdl_vref word = pdl_dict_getz(s, "type"), target = local_target(an, s),
             members = pdl_dict_getz(s, "anyOf");
    if (class_of(word, PDL_N_SCALAR_WORDS) >= 0 || pdl_is_list(pdl_dict_getz(s, "enum")))
        walk_base(an, s, v, at);
    else if (!pdl_is_absent(target))
        walk(an, target, v, at);
    else if (pdl_text_is(word, "array"))
        walk_array(an, s, v, at);
    else if (pdl_text_is(word, "object"))
        walk_object(an, s, v, at);
    else if (pdl_is_list(members))
        walk_union(an, s, members, v, at);
    an->c->depth--;
}

void pdl_analyze(pdl_analysis *an, pdl_vref schema, pdl_vref v) { walk(an, schema, v, NULL); }
