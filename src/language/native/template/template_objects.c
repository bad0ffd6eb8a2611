/* template_objects.c -- objects of templates that have state: namespace, cycler, joiner. These are
 * the only mutable values. A namespace refuses to hold any of these objects, so that no cycle can
 * form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/template/template_objects.h"

#include "native/natives.h"
#include "value/label.h"
#include "value/memo.h"
#include "value/text.h"

#include "base/banned.h"

/* The layout of all three objects. */
typedef struct {
    pdl_ext ext;
    /* for a namespace, a dict; for a cycler, a list; for a joiner, the separator */
    pdl_val content;
    size_t at; /* for a cycler, the position; for a joiner, 1 after the first call */
    /* the labels of the choices that changed the state; what is read from the object has them */
    pdl_label chosen;
} cell;

static cell *cell_of(pdl_vref v) { return (cell *)(void *)pdl_obj_of(v); }

static pdl_vref child(const pdl_obj *o, size_t i) {
    return i == 0 ? ((const cell *)(const void *)o)->content : pdl_absent();
}

/* --- namespace -------------------------------------------------------------------------------- */

static void namespace_text(const pdl_obj *o, bool repr, pdl_buf *out) {
    (void)repr;
    PDL_PUT(out, "<Namespace ");
    pdl_val_show(((const cell *)(const void *)o)->content, true, PDL_MAX_TEXT / 2, out);
    PDL_PUT(out, ">");
}

static bool namespace_attr(pdl_vref self, pdl_str name, pdl_val *out) {
    pdl_vref v = pdl_dict_gets(cell_of(self)->content, name);
    if (pdl_is_absent(v)) return false;
    *out = pdl_with_label(pdl_keep(v), cell_of(self)->chosen);
    return true;
}

static const pdl_attr_class namespace_class = {
    {"jinja2.utils.Namespace", child, NULL, namespace_text}, namespace_attr};

/* Returns true when v holds a cell at any depth. Values that are nested too deeply count as holding
 * a cell. The memo has the values without cells. */
static bool search_cell(pdl_memo *m, pdl_vref v, unsigned depth) {
    pdl_vref known;
    if (pdl_is(v, PDL_V_CELL)) return true;
    if (pdl_is(v, PDL_V_NATIVE)) return search_cell(m, pdl_native_receiver(v), depth + 1);
    bool dict = pdl_is_dict(v);
    if (!dict && !pdl_is_seq(v)) return false;
    if (depth > PDL_MAX_VALUE_DEPTH) return true;
    if (pdl_memo_find(m, v, 0, &known)) return false;
    size_t n = dict ? pdl_dict_len(v) : pdl_list_len(v);
    for (size_t i = 0; i < n; i++)
        if (search_cell(m, dict ? pdl_dict_val_at(v, i) : pdl_list_at(v, i), depth + 1))
            return true;
    pdl_memo_put(m, v, 0, pdl_absent());
    return false;
}

static bool holds_cell(pdl_vref v) {
    pdl_memo m = {0};
    bool found = search_cell(&m, v, 0);
    pdl_memo_fini(&m);
    return found;
}

static pdl_val cell_new(const pdl_attr_class *cls, pdl_val content) {
    cell *c = pdl_ext_new(PDL_V_CELL, &cls->base, sizeof *c);
    pdl_label l = pdl_label_of(content);
    c->content = content;
    return pdl_with_label(pdl_from_obj(PDL_V_CELL, &c->ext.head,
                                       pdl_flags_of(content) & (PDL_F_PROMISE | PDL_F_HANDLE)),
                          l);
}

bool pdl_namespace_new(pdl_val dict, pdl_val *out, pdl_err *err) {
    if (holds_cell(dict)) {
        pdl_drop(dict);
        return pdl_err_host(err, "TypeError", "a namespace cannot hold a namespace");
    }
    *out = cell_new(&namespace_class, dict);
    return true;
}

bool pdl_is_namespace(pdl_vref v) {
    return pdl_is(v, PDL_V_CELL) && pdl_class_of(v) == &namespace_class.base;
}

bool pdl_namespace_set(pdl_vref ns, pdl_str name, pdl_val x, pdl_err *err) {
    if (holds_cell(x)) {
        pdl_drop(x);
        return pdl_err_host(err, "TypeError", "a namespace cannot hold a namespace");
    }
    cell *c = cell_of(ns);
    c->content = pdl_dict_puts(c->content, name, x);
    return true;
}

/* --- cycler ----------------------------------------------------------------------------------- */

static bool cycler_attr(pdl_vref self, pdl_str name, pdl_val *out) {
    const cell *c = cell_of(self);
    if (pdl_str_is(name, "current"))
        *out = pdl_keep(pdl_list_at(c->content, c->at));
    else if (pdl_str_is(name, "items"))
        *out = pdl_list_as_tuple(pdl_keep(c->content));
    else if (pdl_str_is(name, "pos"))
        *out = pdl_int((int64_t)c->at);
    else
        return false;
    *out = pdl_with_label(*out, c->chosen);
    return true;
}

static const pdl_attr_class cycler_class = {{"jinja2.utils.Cycler", child, NULL, NULL},
                                            cycler_attr};

pdl_val pdl_cycler_new(pdl_val items) { return cell_new(&cycler_class, items); }

static bool m_next(PDL_ARGS) {
    cell *c = cell_of(argv[0]);
    *out = pdl_with_label(pdl_keep(pdl_list_at(c->content, c->at)), c->chosen);
    c->at = (c->at + 1) % pdl_list_len(c->content);
    return true;
}

static bool m_reset(PDL_ARGS) {
    cell_of(argv[0])->at = 0;
    *out = pdl_null();
    return true;
}

static const pdl_native cycler_methods[] = {
    {"next", m_next, "self", 1, 1, PDL_N_IMPURE, "The current item; moves to the next one.",
     "Cycler.next", PDL_NS_DEF, "any -> any"},
    {"reset", m_reset, "self", 1, 1, PDL_N_IMPURE, "Back to the first item.", "Cycler.reset",
     PDL_NS_DEF, "any -> any"},
};

pdl_rows pdl_rows_cell(pdl_vref v) {
    if (pdl_class_of(v) != &cycler_class.base) return (pdl_rows){0};
    return (pdl_rows){cycler_methods, PDL_N_COUNT(cycler_methods)};
}

/* --- joiner ----------------------------------------------------------------------------------- */

static bool joiner_attr(pdl_vref self, pdl_str name, pdl_val *out) {
    const cell *c = cell_of(self);
    if (pdl_str_is(name, "sep"))
        *out = pdl_keep(c->content);
    else if (pdl_str_is(name, "used"))
        *out = pdl_bool(c->at > 0);
    else
        return false;
    *out = pdl_with_label(*out, c->chosen);
    return true;
}

static const pdl_attr_class joiner_class = {{"jinja2.utils.Joiner", child, NULL, NULL},
                                            joiner_attr};

pdl_val pdl_joiner_new(pdl_val sep) { return cell_new(&joiner_class, sep); }

bool pdl_cell_call(pdl_vref v, size_t n_pos, bool *handled, pdl_val *out, pdl_err *err) {
    *handled = pdl_is(v, PDL_V_CELL) && pdl_class_of(v) == &joiner_class.base;
    if (!*handled) return true;
    if (n_pos)
        return pdl_err_host(err, "TypeError",
                            "Joiner.__call__() takes 1 positional argument but %zu were given",
                            n_pos + 1);
    cell *c = cell_of(v);
    *out = c->at ? pdl_keep(c->content) : pdl_text((pdl_str){"", 0});
    *out = pdl_with_label(*out, c->chosen);
    c->at = 1;
    return true;
}

void pdl_cell_choose(pdl_vref v, pdl_label label) {
    if (!label || !pdl_is(v, PDL_V_CELL)) return;
    const void *cls = pdl_class_of(v);
    if (cls == &namespace_class || cls == &cycler_class || cls == &joiner_class)
        cell_of(v)->chosen = pdl_label_combined(cell_of(v)->chosen, label);
}
