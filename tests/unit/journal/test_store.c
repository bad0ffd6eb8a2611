/* test_store.c -- transactions of the file of a durable run: the log is copied into the file again
 * and again, and a write of another process between two transactions does no harm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/store.h"
#include "t.h"

#include "base/banned.h"

static char folder[] = "/tmp/pdl_store_XXXXXX";

static pdl_str path_of(char *out, size_t size, const char *end) {
    snprintf(out, size, "%s/run.journal%s", folder, end);
    return pdl_str_of(out);
}

static void put(pdl_store *s, const char *key, const char *value, bool sync) {
    pdl_err err = {0};
    pdl_store_expect(s, sync);
    if (!pdl_store_put(s, key, pdl_str_of(value), &err) || !pdl_store_commit(s, sync, &err))
        fail_msg("%s: %s", key, err.msg);
}

static void assert_has(pdl_store *s, const char *key, const char *value) {
    pdl_err err = {0};
    pdl_buf out = PDL_BUF;
    t_assert(pdl_store_get(s, key, &out, &err));
    assert_string_equal(pdl_buf_z(&out), value);
    pdl_buf_fini(&out);
}

static pdl_store *create(bool full) {
    char name[64];
    pdl_err err = {0};
    pdl_store *s = NULL;
    pdl_buf note = PDL_BUF;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 7);
    t_assert(mkdtemp(folder) != NULL);
    t_assert(pdl_store_create(path_of(name, sizeof name, ""), full, &s, &note, &err));
    pdl_buf_fini(&note);
    return s;
}

static void end(pdl_store *s) {
    char name[64];
    pdl_store_close(s, true);
    t_assert(access(path_of(name, sizeof name, "-wal").p, F_OK) != 0);
    t_assert(unlink(path_of(name, sizeof name, "").p) == 0 && rmdir(folder) == 0);
}

static void copies_its_log_into_the_file(void **state) {
    (void)state;
    char name[64], value[2000];
    for (int full = 0; full < 2; full++) {
        pdl_store *s = create(full);
        for (int i = 0; i < 4000; i++) {
            char key[16];
            snprintf(key, sizeof key, "k%d", i % 50);
            memset(value, 'a' + i % 26, sizeof value - 1);
            value[sizeof value - 1] = 0;
            put(s, key, value, i % 64 == 0);
        }
        struct stat log;
        t_assert(stat(path_of(name, sizeof name, "-wal").p, &log) == 0);
        t_assert(log.st_size < 6 << 20); /* all that was written is more than 16 MB */
        assert_has(s, "k49", value);
        end(s);
    }
}

static void writes_after_another_process(void **state) {
    (void)state;
    char name[64];
    pdl_err err = {0};
    pdl_store *s = create(true), *other = NULL;
    put(s, "a", "1", true);
    put(s, "b", "1", false);
    t_assert(pdl_store_open(path_of(name, sizeof name, ""), true, true, &other, &err));
    put(other, "a", "2", true);
    put(s, "b", "2", true);
    put(other, "c", "2", false);
    put(s, "d", "2", false);
    assert_has(s, "a", "2");
    assert_has(s, "c", "2");
    put(other, "e", "2", true);
    assert_has(other, "d", "2");
    pdl_store_close(other, false);
    end(s);
}

static void forgets_what_is_rolled_back(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_store *s = create(true);
    put(s, "a", "1", true);
    t_assert(pdl_store_put(s, "a", PDL_STR("2"), &err));
    pdl_store_roll_back(s);
    assert_has(s, "a", "1");
    put(s, "a", "3", true);
    assert_has(s, "a", "3");
    end(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_its_log_into_the_file),
                                       cmocka_unit_test(writes_after_another_process),
                                       cmocka_unit_test(forgets_what_is_rolled_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
