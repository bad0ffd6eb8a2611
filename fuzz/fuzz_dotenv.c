/* fuzz_dotenv.c -- a file `.env`. Properties: every variable that is set has a name and contains no
 * NUL. Every line that sets nothing is reported with its number and a reason, in the order of the
 * file. Values that name each other stay within a bound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/dotenv.h"
#include "fuzz.h"

typedef struct found {
    size_t lines; /* number of lines of the file */
    size_t bytes;
    unsigned last;
    char *value; /* the value of most ${NAME} */
} found;

static const char *put(void *user, pdl_str name, pdl_str value) {
    found *f = user;
    FUZZ_MUST(name.n && !memchr(name.p, 0, name.n));
    FUZZ_MUST(!value.n || !memchr(value.p, 0, value.n));
    f->bytes += value.n;
    pdl_free(f->value);
    f->value = pdl_str_dup(value);
    return value.n % 7 == 6 ? "not this one" : NULL;
}

static const char *get(void *user, const char *name) {
    return *name == 'x' ? NULL : ((found *)user)->value;
}

static void wrong(void *user, unsigned line, const char *why) {
    found *f = user;
    FUZZ_MUST(line > f->last && line <= f->lines && why[0]);
    f->last = line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    found f = {.lines = 1};
    for (size_t i = 0; i < size; i++) f.lines += data[i] == '\n' || data[i] == '\r';
    pdl_dotenv_read((pdl_str){(const char *)data, size}, &(pdl_dotenv_user){&f, put, get, wrong});
    FUZZ_MUST(f.bytes < (16 << 20));
    pdl_free(f.value);
    return 0;
}
