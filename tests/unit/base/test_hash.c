/* test_hash.c -- compares SHA-256 with published vectors, and checks that the hash for tables
 * spreads well.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/hash.h"
#include "base/rand.h"
#include "base/tables/sha.h"

#include "base/banned.h"

static void sha256(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        char hex[65];
        T_ROW(i);
        pdl_hash_hex(t_str(rows[i][0]), hex);
        t_assert_str(t_str(hex), rows[i][1]);
    }
    pdl_sha256 h; /* a million letters a, in uneven pieces */
    char piece[999];
    unsigned char sum[32];
    memset(piece, 'a', sizeof piece);
    pdl_sha256_init(&h);
    for (size_t left = 1000000, n; left; left -= n) {
        n = left < sizeof piece ? left : sizeof piece;
        pdl_sha256_add(&h, (pdl_str){piece, n});
    }
    pdl_sha256_done(&h, sum);
    t_assert(sum[0] == 0xcd && sum[1] == 0xc7 && sum[30] == 0x2c && sum[31] == 0xd0);
}

/* A block by the instructions of the processor, beside the same in C. */
static void sha_x86(void **state) {
    (void)state;
    pdl_rand r;
    unsigned char block[64];
    uint32_t mine[8], its[8];
    if (!pdl_sha_x86_works()) skip();
    pdl_rand_seed(&r, 7);
    memset(mine, 0, sizeof mine);
    for (int n = 0; n < 1000; n++) {
        for (size_t i = 0; i < sizeof block; i++) block[i] = (unsigned char)pdl_rand_u64(&r);
        memcpy(its, mine, sizeof its);
        pdl_sha_block(mine, block);
        pdl_sha_x86_block(its, block);
        T_ROW((size_t)n);
        t_assert(memcmp(mine, its, sizeof its) == 0);
    }
}

static void table_hash(void **state) {
    (void)state;
    static char text[100];
    unsigned buckets[64] = {0};
    for (size_t n = 0; n < sizeof text; n++) {
        pdl_str s = {text, n};
        t_assert(pdl_hash_str(s) == pdl_hash_str(s) && pdl_hash_str(s) != 0);
        if (n) t_assert(pdl_hash_str(s) != pdl_hash_str((pdl_str){text, n - 1}));
    }
    for (uint64_t i = 0; i < 6400; i++) buckets[pdl_hash_u64(i) % 64]++;
    for (size_t i = 0; i < 64; i++) t_assert(buckets[i] > 40 && buckets[i] < 180);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sha256), cmocka_unit_test(sha_x86),
                                       cmocka_unit_test(table_hash)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
