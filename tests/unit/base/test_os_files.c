/* test_os_files.c -- the size of a file and whether it has a name are read from its descriptor.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "t.h"

#include "base/banned.h"

static void tells_size_and_name(void **state) {
    (void)state;
    char path[] = "/tmp/pdl_os_files_XXXXXX";
    int fd = mkstemp(path);
    int64_t size = -1;
    bool has_name = false;
    t_assert(fd >= 0 && pdl_os_size_and_name(fd, &size, &has_name));
    t_assert(size == 0 && has_name);
    t_assert(write(fd, "four", 4) == 4 && pdl_os_size_and_name(fd, &size, &has_name));
    t_assert(size == 4 && has_name);
    t_assert(unlink(path) == 0 && pdl_os_size_and_name(fd, &size, &has_name));
    t_assert(size == 4 && !has_name);
    close(fd);
    t_assert(!pdl_os_size_and_name(fd, &size, &has_name));
}

static void refuses_what_is_no_regular_file(void **state) {
    (void)state;
    int ends[2];
    int64_t size = 0;
    bool has_name = false;
    t_assert(pipe(ends) == 0 && !pdl_os_size_and_name(ends[0], &size, &has_name));
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells_size_and_name),
                                       cmocka_unit_test(refuses_what_is_no_regular_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
