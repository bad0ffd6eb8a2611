/* test_cancel.c -- long operations end when the run must end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <signal.h>

#include "base/cancel.h"
#include "native/native.h"
#include "parse/parse.h"
#include "t.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static void checks_the_scope_of_this_thread(void **state) {
    (void)state;
    volatile sig_atomic_t outer = 0, inner = 0;
    const pdl_cancel a = {.flag = &outer}, b = {.flag = &inner};
    pdl_err err = {0};
    t_assert(pdl_check_cancel(&err));
    t_assert(pdl_cancel_enter(&a) == NULL);
    t_assert(pdl_check_cancel(&err));
    outer = SIGINT;
    t_assert(pdl_check_cancel_at(1, &err) && pdl_check_cancel_at(PDL_CANCEL_EVERY - 1, &err));
    t_assert(!pdl_check_cancel_at(PDL_CANCEL_EVERY, &err));
    t_assert(err.kind == PDL_E_interrupt && err.uncatchable);
    pdl_err_fini(&err);
    t_assert(pdl_cancel_enter(&b) == &a);
    t_assert(pdl_check_cancel(&err));
    inner = SIGTERM;
    t_assert(!pdl_check_cancel(&err) && err.kind == PDL_E_terminated);
    pdl_err_fini(&err);
    t_assert(pdl_cancel_enter(NULL) == &b);
    t_assert(pdl_check_cancel(&err));
}

enum { MANY = 6 * PDL_CANCEL_EVERY };

/* [[0], [1], ...] */
static pdl_val rows(void) {
    pdl_val l = pdl_list_new(MANY);
    for (int i = 0; i < MANY; i++) l = pdl_list_push(l, pdl_list_push(pdl_list_new(1), pdl_int(i)));
    return l;
}

static pdl_val text(pdl_vref list) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    t_assert(pdl_val_repr(list, &b, &err));
    return pdl_text_of_buf(&b);
}

static bool prints(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)digits;
    pdl_buf b = PDL_BUF;
    bool ok = pdl_val_str(list, &b, err);
    pdl_buf_fini(&b);
    return ok;
}

static bool prints_over_lines(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)digits;
    pdl_buf b = PDL_BUF;
    bool ok = pdl_val_pprint(list, &b, err);
    pdl_buf_fini(&b);
    return ok;
}

static bool stringifies(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)digits;
    pdl_buf b = PDL_BUF;
    bool ok = pdl_stringify(list, &b, err);
    pdl_buf_fini(&b);
    return ok;
}

static bool writes_json(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)digits;
    pdl_buf b = PDL_BUF;
    bool ok = pdl_json_write(list, 0, 0, &b, err);
    pdl_buf_fini(&b);
    return ok;
}

static bool reads_json(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)list;
    pdl_val v;
    if (!pdl_json_read(pdl_str_get(digits), 0, &v, NULL, err)) return false;
    pdl_drop(v);
    return true;
}

static bool repairs_json(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)list;
    pdl_val v;
    if (!pdl_json_repair(pdl_str_sub(pdl_str_get(digits), 0, pdl_str_get(digits).n - 1), &v, err))
        return false;
    pdl_drop(v);
    return true;
}

static bool calls(pdl_vref receiver, const char *method, const pdl_val *args, size_t n,
                  pdl_err *err) {
    const pdl_native *row = pdl_method_find(receiver, t_str(method));
    const pdl_native_env env = {0};
    pdl_val pos[3] = {receiver}, out;
    for (size_t i = 0; i < n; i++) pos[i + 1] = args[i];
    const pdl_call_args given = {.pos = pos, .n_pos = n + 1};
    if (!pdl_native_call(row, &env, &given, &out, err)) return false;
    pdl_drop(out);
    return true;
}

static bool splits(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)list;
    pdl_val sep = pdl_textz(",");
    bool ok = calls(digits, "split", &sep, 1, err);
    pdl_drop(sep);
    return ok;
}

static bool splits_words(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)list;
    return calls(digits, "rsplit", NULL, 0, err);
}

static bool lists_characters(pdl_vref list, pdl_vref digits, pdl_err *err) {
    (void)list;
    pdl_val v;
    if (!pdl_val_to_list(digits, &v, err)) return false;
    pdl_drop(v);
    return true;
}

static bool (*const operations[])(pdl_vref list, pdl_vref digits, pdl_err *err) = {
    prints, prints_over_lines, stringifies,      writes_json, reads_json, repairs_json,
    splits, splits_words,      lists_characters,
};

/* Each does its work without a flag and with one that is not set; with one that is it fails and
 * leaves nothing behind. */
static void ends_in_the_middle(void **state) {
    (void)state;
    volatile sig_atomic_t flag = 0;
    const pdl_cancel scope = {.flag = &flag};
    pdl_val list = rows(), digits = text(list);
    for (size_t i = 0; i < T_LEN(operations); i++) {
        T_ROW(i);
        pdl_err err = {0};
        flag = 0;
        t_assert(operations[i](list, digits, &err));
        pdl_cancel_enter(&scope);
        t_assert(operations[i](list, digits, &err));
        flag = SIGINT;
        t_assert(!operations[i](list, digits, &err));
        t_assert(err.kind == PDL_E_interrupt && err.uncatchable);
        pdl_cancel_enter(NULL);
        pdl_err_fini(&err);
    }
    pdl_drop(list);
    pdl_drop(digits);
}

static volatile sig_atomic_t received;
static void receive(int sig) { received = sig; }

/* The nth look finds the signal, and so do all later ones; work without a flag is no look. */
static void is_cancelled_at_the_nth_look(void **state) {
    (void)state;
    const pdl_cancel scope = {.flag = &received}, other = {0};
    void (*before)(int) = signal(SIGINT, receive);
    for (long n = 1; n <= 5; n++) {
        T_ROW((size_t)n);
        pdl_err err = {0};
        received = 0;
        pdl_cancel_say_after(n);
        pdl_cancel_enter(&other);
        t_assert(pdl_check_cancel(&err));
        pdl_cancel_enter(&scope);
        for (long i = 1; i < n; i++) t_assert(pdl_check_cancel(&err));
        t_assert(!pdl_check_cancel_often(&err) && err.kind == PDL_E_interrupt);
        pdl_err_fini(&err);
        t_assert(!pdl_check_cancel(&err));
        pdl_err_fini(&err);
        pdl_cancel_enter(NULL);
    }
    signal(SIGINT, before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(checks_the_scope_of_this_thread),
                                       cmocka_unit_test(is_cancelled_at_the_nth_look),
                                       cmocka_unit_test(ends_in_the_middle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
