/* test_file.c -- whole files and directories, in a folder of the test.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t.h"

#include "base/banned.h"

static char dir[] = "/tmp/pdl-test-file-XXXXXX";

static const char *in_dir(pdl_buf *b, const char *name) {
    pdl_buf_clear(b);
    pdl_buf_putf(b, "%s/%s", dir, name);
    return pdl_buf_z(b);
}

static void test_modes(void **state) {
    (void)state;
    pdl_buf path = PDL_BUF, got = PDL_BUF;
    pdl_err err = {0};
    const char *p = in_dir(&path, "f");
    assert_true(pdl_file_write(p, PDL_STR("one"), PDL_FILE_NEW, &err));
    assert_false(pdl_file_write(p, PDL_STR("x"), PDL_FILE_NEW, &err));
    assert_non_null(strstr(err.py_class, "FileExistsError"));
    pdl_err_fini(&err);
    assert_true(pdl_file_write(p, PDL_STR("two"), PDL_FILE_APPEND, &err));
    assert_true(pdl_file_read(p, &got, &err));
    t_assert_str(pdl_buf_str(&got), "onetwo");
    assert_int_equal(chmod(p, 0600), 0);
    assert_true(pdl_file_write(p, PDL_STR("atomic"), PDL_FILE_ATOMIC, &err));
    pdl_buf_clear(&got);
    assert_true(pdl_file_read(p, &got, &err));
    t_assert_str(pdl_buf_str(&got), "atomic");
    struct stat st;
    assert_int_equal(stat(p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(pdl_file_write(p, PDL_STR("p"), PDL_FILE_PLAIN, &err));
    pdl_buf_clear(&got);
    assert_true(pdl_file_read(p, &got, &err));
    t_assert_str(pdl_buf_str(&got), "p");
    unlink(p);
    pdl_buf_fini(&path);
    pdl_buf_fini(&got);
}

static void test_ceiling(void **state) {
    (void)state;
    pdl_buf path = PDL_BUF;
    pdl_err err = {0};
    const char *p = in_dir(&path, "big");
    assert_true(pdl_file_write(p, PDL_STR("12345678"), PDL_FILE_PLAIN, &err));
    for (size_t limit = 6; limit < 10; limit++) {
        T_ROW(limit);
        pdl_buf got = PDL_BUF_INIT(limit);
        bool ok = pdl_file_read(p, &got, &err);
        t_assert(ok == (limit >= 8));
        t_assert(ok || err.kind == PDL_E_limit);
        if (ok) t_assert_str(pdl_buf_str(&got), "12345678");
        pdl_err_fini(&err);
        pdl_buf_fini(&got);
    }
    unlink(p);
    pdl_buf_fini(&path);
}

static void test_errors(void **state) {
    (void)state;
    pdl_buf got = PDL_BUF;
    pdl_err err = {0};
    assert_false(pdl_file_read("/nonexistent/it's", &got, &err));
    assert_int_equal(err.kind, PDL_E_io);
    assert_string_equal(err.msg, "[Errno 2] No such file or directory: \"/nonexistent/it's\"");
    assert_non_null(strstr(err.py_class, "FileNotFoundError"));
    pdl_err_fini(&err);
    assert_false(pdl_file_read("/tmp", &got, &err));
    assert_string_equal(err.msg, "[Errno 21] Is a directory: '/tmp'");
    pdl_err_fini(&err);
    pdl_buf_fini(&got);
}

static void test_mkdir(void **state) {
    (void)state;
    pdl_buf path = PDL_BUF;
    pdl_err err = {0};
    const char *p = in_dir(&path, "a/b//c");
    assert_true(pdl_file_mkdir(p, &err));
    assert_true(pdl_file_mkdir(p, &err));
    assert_int_equal(pdl_file_kind_of(p), PDL_FILE_DIR);
    assert_int_equal(pdl_file_kind_of(in_dir(&path, "none")), PDL_FILE_NONE);
    assert_int_equal(pdl_file_kind_of("/dev/null"), PDL_FILE_OTHER);
    static const char *const parts[] = {"a/b/c", "a/b", "a"};
    for (size_t i = 0; i < T_LEN(parts); i++) rmdir(in_dir(&path, parts[i]));
    pdl_buf_fini(&path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_mkdir),
    };
    if (!mkdtemp(dir)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(dir);
    return failed;
}
