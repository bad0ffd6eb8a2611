/* uses.c -- finds which works the expressions of a block use; see uses.h. Any word in an expression
 * may be a name. A word that is no name of a work is simply not found, so the expressions need not
 * be parsed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/uses.h"

#include "base/utf8.h"

#include "base/banned.h"

/* maximum number of nested lists and dicts in which expressions are searched */
enum { DEEPEST = 16 };
/* maximum number of works that a name may mean; more are of no use to a reader */
enum { MAX_OF_ONE = 32 };

typedef struct uses_search {
    const pdl_uses *u;
    void (*found)(void *user, uint32_t work);
    void *user;
} search;

static void find_name(const search *s, pdl_str name) {
    uintptr_t first = (uintptr_t)pdl_map_find(&s->u->names, name);
    for (uint32_t i = (uint32_t)first; i; i = s->u->links.p[i - 1].next)
        s->found(s->user, s->u->links.p[i - 1].work);
}

/* Finds names in a text. Every word of letters, digits and _ may be a name, even inside quotes. */
static void find_words(const search *s, pdl_str text) {
    const char *p = text.p, *end = text.p + text.n, *start = NULL;
    while (p < end) {
        const char *here = p;
        uint32_t c = pdl_utf8_next(&p);
        if (start ? pdl_cp_is_id_continue(c) : pdl_cp_is_id_start(c)) {
            if (!start) start = here;
            continue;
        }
        if (start) find_name(s, (pdl_str){start, (size_t)(here - start)});
        start = NULL;
    }
    if (start) find_name(s, (pdl_str){start, (size_t)(end - start)});
}

static void find_in_template(const search *s, pdl_str text) {
    size_t at = pdl_str_find(text, PDL_STR("${"), 0);
    size_t percent = pdl_str_find(text, PDL_STR("{%"), 0);
    if (percent < at) at = percent;
    if (at != PDL_NOT_FOUND) find_words(s, pdl_str_sub(text, at, text.n));
}

/* Finds names in code, because Python code and templates use variables of the program. */
static void find_in_code(const search *s, pdl_vref block) {
    pdl_vref code = pdl_dict_getz(block, "code");
    if (!pdl_text_is(pdl_dict_getz(block, "kind"), "code")) return;
    if (pdl_is_dict(code)) code = pdl_dict_getz(code, "pdl__result");
    if (pdl_is_str(code)) find_words(s, pdl_str_get(code));
}

/* Finds names in a value. The recursion ends at DEEPEST. */
static void find_in_value(const search *s, pdl_vref v, unsigned depth) {
    if (depth > DEEPEST) return;
    if (pdl_is_str(v)) find_in_template(s, pdl_str_get(v));
    if (pdl_is_list(v))
        for (size_t i = 0; i < pdl_list_len(v); i++) find_in_value(s, pdl_list_at(v, i), depth + 1);
    if (!pdl_is_dict(v) || pdl_doc_is_block(v)) return;
    pdl_vref expr = pdl_dict_getz(v, "pdl__expr");
    if (!pdl_is_absent(expr)) {
        find_in_value(s, expr, depth + 1);
        return;
    }
    for (size_t i = 0; i < pdl_dict_len(v); i++) find_in_value(s, pdl_dict_val_at(v, i), depth + 1);
}

void pdl_uses_find(const pdl_uses *u, pdl_vref block, void (*found)(void *user, uint32_t work),
                   void *user) {
    search s = {u, found, user};
    if (!u->names.n || !pdl_is_dict(block)) return;
    find_in_code(&s, block);
    for (size_t i = 0; i < pdl_dict_len(block); i++) {
        pdl_vref key = pdl_dict_key_at(block, i);
        if (!pdl_is_str(key) || pdl_doc_is_fact(pdl_str_get(key))) continue;
        if (pdl_text_is(key, "get") && pdl_is_str(pdl_dict_val_at(block, i)))
            find_name(&s, pdl_str_get(pdl_dict_val_at(block, i)));
        else if (!pdl_text_is(key, "defs"))
            find_in_value(&s, pdl_dict_val_at(block, i), 0);
    }
}

void pdl_uses_define(pdl_uses *u, pdl_str name, uint32_t work) {
    *pdl_vec_push(&u->links) = (pdl_uses_link){work, 0};
    pdl_map_put(&u->names, name, (void *)(uintptr_t)u->links.n);
}

typedef struct following {
    pdl_uses *u;
    uint32_t first; /* 1 + number of the newest link */
    PDL_VEC(uint32_t) works;
} following;

static void note_work(void *user, uint32_t work) {
    following *f = user;
    if (f->works.n == MAX_OF_ONE) return;
    for (size_t i = 0; i < f->works.n; i++)
        if (f->works.p[i] == work) return;
    *pdl_vec_push(&f->works) = work;
}

void pdl_uses_follow(pdl_uses *u, pdl_str name, pdl_vref block) {
    following f = {.u = u};
    pdl_uses_find(u, block, note_work, &f);
    for (size_t i = 0; i < f.works.n; i++) {
        *pdl_vec_push(&u->links) = (pdl_uses_link){f.works.p[i], f.first};
        f.first = (uint32_t)u->links.n;
    }
    if (f.first || pdl_map_find(&u->names, name))
        pdl_map_put(&u->names, name, (void *)(uintptr_t)f.first);
    pdl_vec_fini(&f.works);
}

void pdl_uses_fini(pdl_uses *u) {
    pdl_map_fini(&u->names);
    pdl_vec_fini(&u->links);
}
