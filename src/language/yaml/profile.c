/* profile.c -- checks the form of profiles of the sandbox; see profile.h. The keys and the forms of
 * their values come from profile.def, so a new key needs no change here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/profile.h"

#include "base/buf.h"
#include "base/ident.h"
#include "value/int.h"

#include "base/banned.h"

static const pdl_profile_key keys[PDL_PROFILE_KEYS] = {
#define P(key, form, most, doc) {#key, PDL_PROFILE_##form, most, doc},
#include "yaml/profile.def"
};

const pdl_profile_key *pdl_profile_keys(size_t *n) {
    *n = PDL_PROFILE_KEYS;
    return keys;
}

/* Returns true for the endings of names of passwords and personal tokens, which are often short. */
static bool ends_as_secret(pdl_str name) {
    static const char *const words[] = {"PASS", "PASSPHRASE", "PAT"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        pdl_str word = pdl_str_of(words[i]);
        size_t from = name.n > word.n ? name.n - word.n : 0;
        if (pdl_str_eq_nocase(pdl_str_sub(name, from, name.n), word) &&
            (!from || name.p[from - 1] == '_'))
            return true;
    }
    return false;
}

bool pdl_profile_names_key(pdl_str name) {
    return pdl_ident_says_secret(name) || ends_as_secret(name);
}

pdl_str pdl_profile_nearest(pdl_str word) {
    pdl_str known[PDL_PROFILE_KEYS];
    for (size_t i = 0; i < PDL_PROFILE_KEYS; i++) known[i] = pdl_str_of(keys[i].key);
    return pdl_str_nearest(word, known, PDL_PROFILE_KEYS);
}

typedef struct profile_checker {
    pdl_profile_wrong_fn *wrong;
    void *user;
    const pdl_node *key; /* the entry's key */
} profile_checker;

static void check_list(const profile_checker *c, size_t k, const pdl_node *n) {
    if (n->kind != PDL_NODE_SEQ) {
        c->wrong(c->user, c->key, n, "should be a list");
        return;
    }
    if (n->n > PDL_PROFILE_MAX_ITEMS) {
        pdl_buf should = PDL_BUF;
        pdl_buf_putf(&should, "should have at most %d items", PDL_PROFILE_MAX_ITEMS);
        c->wrong(c->user, c->key, n, pdl_buf_z(&should));
        pdl_buf_fini(&should);
    }
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *item = n->items[i];
        pdl_str s = item->text;
        if (!pdl_node_is_str(item) || !s.n || pdl_str_find(s, (pdl_str){"", 1}, 0) != PDL_NOT_FOUND)
            c->wrong(c->user, c->key, item, "should be a text that is not empty");
        else if (k == PDL_PROFILE_env && pdl_profile_names_key(s))
            c->wrong(c->user, c->key, item, "is the name of a key, and keys are not handed in");
        else if ((k == PDL_PROFILE_read || k == PDL_PROFILE_write) && pdl_str_is(s, "/"))
            c->wrong(c->user, c->key, item, "is everything; name the folders that are needed");
    }
}

static void check_number(const profile_checker *c, const pdl_profile_key *k, const pdl_node *n) {
    pdl_val v = n->kind == PDL_NODE_SCALAR ? pdl_node_value(n) : pdl_absent();
    double d = pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
    pdl_buf should = PDL_BUF;
    if (k->form != PDL_PROFILE_SECONDS && !(pdl_is_int(v) && d >= 1 && d <= (double)k->most))
        pdl_buf_putf(&should, "should be an integer from 1 to %lld", (long long)k->most);
    else if (k->form == PDL_PROFILE_SECONDS && !(d > 0 && d <= PDL_PROFILE_MAX_SECONDS))
        pdl_buf_putf(&should, "should be a number of seconds above 0, at most %d",
                     PDL_PROFILE_MAX_SECONDS);
    if (should.len) c->wrong(c->user, c->key, n, pdl_buf_z(&should));
    pdl_buf_fini(&should);
    pdl_drop(v);
}

static bool is_true(const pdl_node *n) {
    if (n->kind != PDL_NODE_SCALAR || n->type != PDL_NT_BOOL) return false;
    pdl_val v = pdl_node_value(n);
    bool on = pdl_bool_of(v);
    pdl_drop(v);
    return on;
}

void pdl_profile_check(const pdl_node *n, pdl_profile_wrong_fn *wrong, void *user) {
    profile_checker c = {.wrong = wrong, .user = user};
    if (is_true(n)) return;
    if (n->kind != PDL_NODE_MAP) {
        wrong(user, NULL, n, "should be true, or a profile {read, write, net, env, ...}");
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        size_t k = 0;
        c.key = n->pairs[i].key;
        while (k < PDL_PROFILE_KEYS &&
               !(pdl_node_is_str(c.key) && pdl_str_is(c.key->text, keys[k].key)))
            k++;
        if (k == PDL_PROFILE_KEYS)
            wrong(user, c.key, NULL, "");
        else if (keys[k].form == PDL_PROFILE_LIST)
            check_list(&c, k, n->pairs[i].value);
        else
            check_number(&c, &keys[k], n->pairs[i].value);
    }
}
