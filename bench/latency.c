/* latency.c -- how old the tokens of bench/http_server are when they arrive on standard input:
 * "@NANOSECONDS " as written, against the same clock. Prints count, median and 99th percentile in
 * microseconds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SAMPLES = 1 << 20 };

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int order(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(void) {
    static char in[1 << 16];
    static double age_us[MAX_SAMPLES];
    size_t n = 0;
    uint64_t token = 0;
    for (ssize_t got; (got = read(0, in, sizeof in)) > 0;) {
        uint64_t now = now_ns();
        for (ssize_t i = 0; i < got; i++) {
            if (in[i] >= '0' && in[i] <= '9')
                token = token * 10 + (uint64_t)(in[i] - '0');
            else if (in[i] == '@')
                token = 0;
            else if (token && n < MAX_SAMPLES) {
                age_us[n++] = (double)(now - token) / 1e3;
                token = 0;
            }
        }
    }
    if (!n) return 1;
    qsort(age_us, n, sizeof *age_us, order);
    printf("%zu %.1f %.1f\n", n, age_us[n / 2], age_us[n * 99 / 100]);
    return 0;
}
