/* test_pool.c -- blocks of pools: sizes, reuse, release from anywhere. Where pools are off, the
 * same holds for malloc.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/pool.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "t.h"

#include "base/banned.h"

enum { MANY = 40000 };

static const size_t sizes[] = {0,    1,    7,    8,    16,   17,   40,   255,
                               256,  257,  511,  512,  513,  767,  768,  769,
                               2047, 2048, 2049, 3840, 4095, 4096, 4097, 100000};

/* Blocks do not overlap: each keeps the byte that it was filled with. */
static void blocks_keep_their_content(void **state) {
    (void)state;
    pdl_pool *pool = pdl_pool_new(), *before = pdl_pool_enter(pool);
    static unsigned char *p[MANY];
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++) {
            size_t n = sizes[i % T_LEN(sizes)] % 4200;
            p[i] = pdl_alloc(n + 1);
            memset(p[i], (int)(i % 251), n + 1);
        }
        for (size_t i = 0; i < MANY; i++) {
            size_t n = sizes[i % T_LEN(sizes)] % 4200;
            assert_int_equal(p[i][0], i % 251);
            assert_int_equal(p[i][n], i % 251);
            if (i % 3 != round) pdl_free(p[i]);
        }
        for (size_t i = 0; i < MANY; i++)
            if (i % 3 == round) pdl_free(p[i]);
    }
    pdl_pool_enter(before);
    pdl_pool_close(pool);
}

static void resizing_keeps_the_content(void **state) {
    (void)state;
    pdl_pool *pool = pdl_pool_new(), *before = pdl_pool_enter(pool);
    for (size_t from = 0; from < T_LEN(sizes); from++)
        for (size_t to = 0; to < T_LEN(sizes); to++) {
            T_ROW(from * 100 + to);
            unsigned char *p = pdl_realloc(NULL, sizes[from]);
            memset(p, 'x', sizes[from]);
            p = pdl_realloc(p, sizes[to]);
            size_t n = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
            for (size_t i = 0; i < n; i++) t_assert(p[i] == 'x');
            memset(p, 'y', sizes[to]);
            pdl_free(p);
        }
    pdl_pool_enter(before);
    pdl_pool_close(pool);
}

static void zeroed_memory_is_zero_again(void **state) {
    (void)state;
    pdl_pool *pool = pdl_pool_new(), *before = pdl_pool_enter(pool);
    for (size_t i = 0; i < T_LEN(sizes); i++) {
        T_ROW(i);
        unsigned char *p = pdl_alloc(sizes[i]);
        memset(p, 0xff, sizes[i]);
        pdl_free(p);
        p = pdl_calloc(1, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++) t_assert(p[k] == 0);
        pdl_free(p);
    }
    pdl_pool_enter(before);
    pdl_pool_close(pool);
}

/* Whatever their slabs: they are still in the processor's cache. */
static void the_block_released_last_is_handed_out_first(void **state) {
    (void)state;
    enum { SIZE = 1000, N = 200 /* several slabs */, BACK = 10 };
    pdl_pool *pool = pdl_pool_new(), *before = pdl_pool_enter(pool);
    void *p[N];
    for (size_t i = 0; i < N; i++) p[i] = pdl_alloc(SIZE);
    for (size_t i = 0; i < BACK; i++) pdl_free(p[i * N / BACK]);
    for (size_t i = BACK; i-- > 0;) {
        void *again = pdl_alloc(SIZE);
        if (pool) assert_ptr_equal(again, p[i * N / BACK]);
        p[i * N / BACK] = again;
    }
    for (size_t i = 0; i < N; i++) pdl_free(p[i]);
    pdl_pool_enter(before);
    pdl_pool_close(pool);
}

/* What one class released serves the others: memory follows the peak of the sum, not the sum of the
 * peaks. */
static void memory_serves_any_size_again(void **state) {
    (void)state;
    pdl_pool *pool = pdl_pool_new(), *before = pdl_pool_enter(pool);
    static void *p[MANY];
    size_t most = 0;
    for (size_t size = 32; size <= 512; size *= 2) {
        size_t n = MANY * 32 / size;
        for (size_t i = 0; i < n; i++) p[i] = pdl_alloc(size);
        for (size_t i = 0; i < n; i++) pdl_free(p[i]);
        if (pdl_pool_size(pool) > most) most = pdl_pool_size(pool);
    }
    assert_true(most <= (size_t)4 << 20);
    for (size_t i = 0; i < MANY; i++) p[i] = pdl_alloc(512);
    if (pool) assert_true(pdl_pool_size(pool) > (size_t)19 << 20);
    for (size_t i = 0; i < MANY; i++) pdl_free(p[i]);
    assert_true(pdl_pool_size(pool) <=
                (size_t)12 << 20); /* the last slabs of each size, and a few spare regions */
    pdl_pool_enter(before);
    pdl_pool_close(pool);
}

static void a_block_outlives_its_pool(void **state) {
    (void)state;
    pdl_pool *a = pdl_pool_new(), *b = pdl_pool_new(), *before = pdl_pool_enter(a);
    char *p = pdl_alloc(100), *q = pdl_alloc(20);
    memset(p, 1, 100);
    memset(q, 2, 20);
    pdl_pool_enter(b);
    pdl_free(q); /* under another pool */
    pdl_pool_close(a);
    assert_int_equal(p[99], 1);
    pdl_free(p); /* the last one */
    char *r = pdl_alloc(20);
    pdl_pool_close(b); /* while inside */
    pdl_free(r);
    pdl_pool_enter(before);
}

typedef struct {
    void *p[1000];
} parcel;

static void *release_all(void *arg) {
    parcel *parcel_ = arg;
    pdl_pool *own = pdl_pool_new();
    pdl_pool_enter(own);
    for (size_t i = 0; i < T_LEN(parcel_->p); i++) {
        pdl_free(parcel_->p[i]);
        pdl_free(pdl_alloc(48));
    }
    pdl_pool_enter(NULL);
    pdl_pool_close(own);
    return NULL;
}

static void another_thread_may_release(void **state) {
    (void)state;
    pdl_pool *pool = pdl_pool_new(), *before = pdl_pool_enter(pool);
    static parcel parcels[4];
    pthread_t threads[4];
    for (size_t round = 0; round < 20; round++) {
        for (size_t t = 0; t < 4; t++)
            for (size_t i = 0; i < 1000; i++) parcels[t].p[i] = pdl_alloc(48);
        for (size_t t = 0; t < 4; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, release_all, &parcels[t]), 0);
        for (size_t i = 0; i < 1000; i++) pdl_free(pdl_alloc(48)); /* meanwhile */
        if (round == 19) { /* the last ones come back to a closed pool */
            pdl_pool_enter(before);
            pdl_pool_close(pool);
        }
        for (size_t t = 0; t < 4; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
        if (round < 19) assert_true(pdl_pool_size(pool) <= (size_t)2 << 20);
    }
}

static void a_thousand_pools(void **state) {
    (void)state;
    static pdl_pool *pools[1000];
    static void *p[1000];
    for (size_t i = 0; i < 1000; i++) {
        pools[i] = pdl_pool_new();
        pdl_pool *before = pdl_pool_enter(pools[i]);
        p[i] = pdl_alloc(64);
        pdl_pool_enter(before);
    }
    for (size_t i = 0; i < 1000; i++) {
        if (i % 2) pdl_free(p[i]);
        pdl_pool_close(pools[i]);
        if (i % 2 == 0) pdl_free(p[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_their_content),
        cmocka_unit_test(resizing_keeps_the_content),
        cmocka_unit_test(zeroed_memory_is_zero_again),
        cmocka_unit_test(the_block_released_last_is_handed_out_first),
        cmocka_unit_test(memory_serves_any_size_again),
        cmocka_unit_test(a_block_outlives_its_pool),
        cmocka_unit_test(another_thread_may_release),
        cmocka_unit_test(a_thousand_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
