/* bench_value.c -- the operations of which programs are made: lists, dicts, texts, variables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include "base/intern.h"
#include "value/scope.h"
#include "value/text.h"

#include "base/banned.h"

enum { MANY = 1000 };

static void push_many(void *user) {
    (void)user;
    pdl_val l = pdl_list_new(0);
    for (int i = 0; i < MANY; i++) l = pdl_list_push(l, pdl_int(i));
    pdl_drop(l);
}

static void small_lists(void *user) {
    (void)user;
    for (int i = 0; i < MANY; i++) {
        pdl_val l = pdl_list_new(3);
        for (int k = 0; k < 3; k++) l = pdl_list_push(l, pdl_int(k));
        pdl_drop(l);
    }
}

static void small_dicts(void *user) {
    (void)user;
    for (int i = 0; i < MANY; i++) {
        pdl_val d = pdl_dict_new(3);
        d = pdl_dict_putz(d, "role", pdl_int(1));
        d = pdl_dict_putz(d, "content", pdl_int(2));
        d = pdl_dict_putz(d, "name", pdl_int(3));
        pdl_drop(d);
    }
}

typedef struct {
    pdl_val dict, key, text;
    pdl_scope *scope;
    pdl_buf out;
} data;

static void get_small(void *user) {
    data *d = user;
    int64_t sum = 0;
    for (int i = 0; i < MANY; i++) sum += pdl_int_of(pdl_dict_find(d->dict, d->key));
    if (sum < 0) puts("never");
}

/* A shared dict changed once: the copy costs what its values cost. */
static void change_shared(void *user) {
    data *d = user;
    for (int i = 0; i < MANY; i++)
        pdl_drop(pdl_dict_put(pdl_keep(d->dict), pdl_keep(d->key), pdl_int(i)));
}

static void put_many(void *user) {
    (void)user;
    pdl_val d = pdl_dict_new(0);
    for (int i = 0; i < MANY; i++) d = pdl_dict_put(d, pdl_int(i), pdl_int(i));
    pdl_drop(d);
}

static void texts(void *user) {
    (void)user;
    for (int i = 0; i < MANY; i++) pdl_drop(pdl_text(PDL_STR("a text of some thirty bytes ...")));
}

static void append_text(void *user) {
    (void)user;
    pdl_val v = pdl_text(PDL_STR(""));
    pdl_err err = {0};
    for (int i = 0; i < MANY; i++)
        if (!pdl_text_append(v, PDL_STR("ten bytes."), &v, &err)) return;
    pdl_drop(v);
}

static void rebind(void *user) {
    data *d = user;
    for (int i = 0; i < MANY; i++) {
        pdl_scope *inner = pdl_scope_put(pdl_scope_keep(d->scope), 7, pdl_int(i));
        pdl_scope_drop(inner);
    }
}

static void print_value(void *user) {
    data *d = user;
    d->out.len = 0;
    pdl_err err = {0};
    if (!pdl_val_str(d->dict, &d->out, &err)) puts("never");
}

int main(void) {
    bench_begin();
    bench_time("list_push", MANY, push_many, NULL);
    bench_time("list_of_3_made_and_dropped", MANY, small_lists, NULL);
    bench_time("dict_of_3_made_and_dropped", MANY, small_dicts, NULL);
    bench_time("dict_put_new_key", MANY, put_many, NULL);
    bench_time("text_made_and_dropped", MANY, texts, NULL);
    bench_time("text_append_10_bytes", MANY, append_text, NULL);

    data d = {.dict = pdl_dict_new(5), .key = pdl_textz("three"), .out = PDL_BUF};
    static const char *const keys[] = {"one", "two", "three", "four", "five"};
    for (int i = 0; i < 5; i++) d.dict = pdl_dict_putz(d.dict, keys[i], pdl_int(i));
    for (pdl_name n = 0; n < 40; n++) d.scope = pdl_scope_put(d.scope, n, pdl_int(n));
    bench_time("dict_find", MANY, get_small, &d);
    bench_time("dict_of_5_copied_on_change", MANY, change_shared, &d);
    bench_time("variable_rebound_in_inner_scope", MANY, rebind, &d);
    bench_time("dict_of_5_printed", 1, print_value, &d);
    pdl_drop(d.dict);
    pdl_drop(d.key);
    pdl_scope_drop(d.scope);
    pdl_buf_fini(&d.out);
    return 0;
}
