/* test_certificates.c -- the place where a system has its certificates, and the replacement where
 * it has none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/certificates.h"

#include <unistd.h>

#include "t.h"

#include "base/banned.h"

static void finds_a_readable_file_or_the_fallback(void **state) {
    (void)state;
    const char *found = pdl_certificates_find("/fallback.pem");
    assert_non_null(found);
    if (strcmp(found, "/fallback.pem") != 0) assert_int_equal(access(found, R_OK), 0);
    const char *bare = pdl_certificates_find(NULL);
    assert_true(bare == found || (!bare && strcmp(found, "/fallback.pem") == 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_a_readable_file_or_the_fallback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
