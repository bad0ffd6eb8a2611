/* rsa.c -- see rsa.h. Debian's libcurl depends on libcrypto, so this adds no dependency. Only
 * functions that are stable in versions 1.1 and 3 are used. They are declared here as they are
 * documented.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/rsa.h"

#include <limits.h>
#include <string.h>

#include "base/libraries.h"

#include "base/banned.h"

typedef struct crypto {
    void *(*BIO_new_mem_buf)(const void *p, int n);
    int (*BIO_free)(void *bio);
    void *(*PEM_read_bio_PrivateKey)(void *bio, void **key,
                                     int (*password)(char *, int, int, void *), void *user);
    void (*EVP_PKEY_free)(void *key);
    const void *(*EVP_sha256)(void);
    void *(*EVP_MD_CTX_new)(void);
    void (*EVP_MD_CTX_free)(void *ctx);
    int (*EVP_DigestSignInit)(void *ctx, void **pctx, const void *type, void *engine, void *key);
    int (*EVP_DigestSign)(void *ctx, unsigned char *sig, size_t *n, const unsigned char *p,
                          size_t n_p);
    void (*ERR_clear_error)(void);
} crypto;

static const pdl_library_symbol symbols[] = {
#define S(name)                                                                                    \
    { #name, offsetof(crypto, name) }
    S(BIO_new_mem_buf), S(BIO_free),        S(PEM_read_bio_PrivateKey), S(EVP_PKEY_free),
    S(EVP_sha256),      S(EVP_MD_CTX_new),  S(EVP_MD_CTX_free),         S(EVP_DigestSignInit),
    S(EVP_DigestSign),  S(ERR_clear_error),
#undef S
};

static bool open_crypto(crypto *c) {
    static const char *const names[] = {PDL_CRYPTO_NAMES};
    return pdl_library_load(names, sizeof names / sizeof *names, symbols,
                            sizeof symbols / sizeof *symbols, c);
}

/* Refuses to ask for the password of an encrypted key. */
static int no_password(char *buf, int n, int writing, void *user) {
    (void)buf;
    (void)n;
    (void)writing;
    (void)user;
    return 0;
}

static bool sign(const crypto *c, void *key, pdl_str bytes, pdl_buf *out) {
    unsigned char sig[1024]; /* 8192 bits */
    size_t n = sizeof sig;
    void *ctx = c->EVP_MD_CTX_new();
    bool ok = ctx && c->EVP_DigestSignInit(ctx, NULL, c->EVP_sha256(), NULL, key) == 1 &&
              c->EVP_DigestSign(ctx, sig, &n, (const unsigned char *)bytes.p, bytes.n) == 1;
    if (ok) pdl_buf_put(out, (pdl_str){(const char *)sig, n});
    c->EVP_MD_CTX_free(ctx);
    return ok;
}

bool pdl_rsa_sign(pdl_str pem, pdl_str bytes, pdl_buf *out, pdl_err *err) {
    crypto c;
    if (!open_crypto(&c))
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                           "libcrypto (libcrypto.so.3) cannot be loaded");
    void *bio = pem.n <= INT_MAX ? c.BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    void *key = bio ? c.PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
    bool ok = key && sign(&c, key, bytes, out);
    if (key) c.EVP_PKEY_free(key);
    if (bio) c.BIO_free(bio);
    c.ERR_clear_error();
    return ok || pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "the private key cannot be used");
}
