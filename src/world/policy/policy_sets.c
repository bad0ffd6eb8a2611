/* policy_sets.c -- makes and frees sets of policies that are asked together. The text of
 * a policy is read in policy_read.c. A policy may name files with lists of values; their values are
 * added to the policy here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "policy/policy_impl.h"

#include "base/banned.h"

void pdl_label_names_fini(pdl_label_names *n) {
    for (uint32_t i = 0; i < n->n; i++) pdl_free(n->text[i]);
    n->n = 0;
}

pdl_policies *pdl_policies_new(pdl_label_names *names) {
    pdl_policies *p = PDL_NEW(pdl_policies);
    p->names = names ? names : &p->own;
    p->arena = pdl_arena_make();
    return p;
}

void pdl_policies_scope(pdl_policies *p, size_t from, uint64_t module, pdl_str folder) {
    for (size_t i = from; i < p->all.n; i++) {
        p->all.p[i]->module = module;
        p->all.p[i]->folder = pdl_arena_str(p->arena, folder);
    }
}

void pdl_policies_free(pdl_policies *p) {
    if (!p) return;
    for (size_t i = 0; i < p->all.n; i++) {
        policy *one = p->all.p[i];
        for (size_t k = 0; k < one->lists.n; k++) pdl_drop(one->lists.p[k].texts);
        pdl_vec_fini(&one->lists);
        pdl_vec_fini(&one->readers);
        pdl_vec_fini(&one->rules);
        pdl_vec_fini(&one->labels);
        pdl_vec_fini(&one->trusted);
        pdl_vec_fini(&one->read_only);
        pdl_drop(one->locked);
        pdl_free(one);
    }
    pdl_vec_fini(&p->all);
    pdl_label_names_fini(&p->own);
    pdl_arena_free(p->arena);
    pdl_free(p);
}

/* --- lists ------------------------------------------------------------------------------------ */

static value_list *file_list(const pdl_policies *p, size_t i) {
    policy *last = p->all.p[p->all.n - 1];
    for (size_t k = 0; k < last->lists.n; k++)
        if (last->lists.p[k].file.p && !i--) return &last->lists.p[k];
    return NULL;
}

pdl_str pdl_policies_list_path(const pdl_policies *p, size_t i, pdl_loc *loc) {
    const value_list *list = p->all.n ? file_list(p, i) : NULL;
    if (!list) return (pdl_str){0};
    *loc = list->loc;
    return list->file;
}

void pdl_policies_put_list(pdl_policies *p, size_t i, pdl_str bytes) {
    value_list *list = file_list(p, i);
    for (size_t from = 0; from < bytes.n;) {
        size_t end = pdl_str_find(bytes, PDL_STR("\n"), from),
               to = end == PDL_NOT_FOUND ? bytes.n : end;
        pdl_str line = pdl_str_trim(pdl_str_sub(bytes, from, to));
        if (line.n && line.p[0] != '#' && !pdl_utf8_find_fault(line, &(pdl_utf8_fault){0}))
            list->texts = pdl_dict_puts(list->texts, line, pdl_null());
        from = to + 1;
    }
}
