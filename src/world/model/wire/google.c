/* google.c -- finds credentials of Google Cloud and exchanges them; see google.h. The assertion of
 * a service account is a JWT signed with RS256 (RFC 7523); the assertion is exchanged for a token,
 * which is kept until it expires (access_token.h). Each assertion is different, so it does not
 * identify the token.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/google.h"

#include "base/base64.h"
#include "base/os.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/rsa.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"

#include "base/banned.h"

#define TOKEN_URL "https://oauth2.googleapis.com/token"
#define SCOPE     "https://www.googleapis.com/auth/cloud-platform"

enum { HOUR_S = 3600 };

/* --- finding the credentials ------------------------------------------------------------------ */

static bool read_json(pdl_str text, const char *where, pdl_val *out, pdl_err *err) {
    pdl_err why = {0};
    if (pdl_json_read_document(text, 0, out, &why)) {
        if (pdl_is_dict(*out)) return true;
        pdl_drop(*out);
    }
    pdl_err_fini(&why);
    return pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "%s is not JSON of Google credentials",
                       where);
}

static bool read_path(const char *path, pdl_val *out, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    bool ok = pdl_file_read(path, &text, err);
    if (!ok) err->kind = PDL_E_config;
    ok = ok && read_json(pdl_buf_str(&text), path, out, err);
    if (text.p) pdl_os_wipe(text.p, text.cap);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_google_credentials(const pdl_ask *a, pdl_val *out, pdl_err *err) {
    pdl_vref given = pdl_dict_getz(a->given, "vertex_credentials");
    if (pdl_is_dict(given)) {
        *out = pdl_keep(given);
        return true;
    }
    pdl_str s = pdl_is_str(given) ? pdl_str_get(given) : (pdl_str){0};
    if (pdl_str_starts(pdl_str_trim(s), PDL_STR("{")))
        return read_json(s, "vertex_credentials", out, err);
    /* a file `.env` that names the address must not choose the file of credentials, because it
     * could name any file of the user */
    bool is_named = !s.n && !a->env->file_keys_only;
    const char *path = is_named ? pdl_env_get(a->env, "GOOGLE_APPLICATION_CREDENTIALS")
                       : s.n    ? s.p
                                : NULL;
    *out = pdl_absent();
    return !path || read_path(path, out, err);
}

/* --- the exchange ----------------------------------------------------------------------------- */

static void put_json64(pdl_val v, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    if (!pdl_json_write(v, 0, 0, &text, &err)) pdl_err_fini(&err);
    pdl_base64_put(pdl_buf_str(&text), true, out);
    pdl_buf_fini(&text);
    pdl_drop(v);
}

/* Appends header.claims.signature. */
static bool put_assertion(pdl_vref c, pdl_str url, pdl_buf *out, pdl_err *err) {
    int64_t now = pdl_clock_wall_ns() / 1000000000;
    pdl_str id = pdl_member_str(c, "private_key_id");
    pdl_buf sig = PDL_BUF;
    pdl_val head = pdl_dict_putz(pdl_dict_new(3), "alg", pdl_textz("RS256"));
    head = pdl_dict_putz(head, "typ", pdl_textz("JWT"));
    if (id.n) head = pdl_dict_putz(head, "kid", pdl_text(id));
    put_json64(head, out);
    pdl_buf_putc(out, '.');
    pdl_val claims =
        pdl_dict_putz(pdl_dict_new(5), "iss", pdl_text(pdl_member_str(c, "client_email")));
    claims = pdl_dict_putz(claims, "scope", pdl_textz(SCOPE));
    claims = pdl_dict_putz(claims, "aud", pdl_text(url));
    claims = pdl_dict_putz(claims, "iat", pdl_int(now));
    put_json64(pdl_dict_putz(claims, "exp", pdl_int(now + HOUR_S)), out);
    bool ok = pdl_rsa_sign(pdl_member_str(c, "private_key"), pdl_buf_str(out), &sig, err);
    if (ok) {
        pdl_buf_putc(out, '.');
        pdl_base64_put(pdl_buf_str(&sig), true, out);
    }
    pdl_buf_fini(&sig);
    return ok;
}

static bool is_local(pdl_str url) {
    pdl_str host = pdl_url_host(url);
    host = pdl_str_sub(host, 0, pdl_str_find(host, PDL_STR(":"), 0));
    return pdl_str_is(host, "127.0.0.1") || pdl_str_is(host, "localhost");
}

static bool incomplete(const char *what, pdl_err *err) {
    return pdl_err_set(err, PDL_E_auth, (pdl_loc){0}, "the Google credentials have no %s", what);
}

static bool exchange_account(const pdl_sign *s, pdl_vref c, pdl_str url, pdl_err *err) {
    pdl_buf jwt = PDL_BUF;
    if (pdl_member_str(c, "client_email").n == 0) return incomplete("client_email", err);
    if (pdl_member_str(c, "private_key").n == 0) return incomplete("private_key", err);
    pdl_secrets_note(s->secrets, pdl_member_str(c, "private_key"));
    bool ok = put_assertion(c, url, &jwt, err);
    pdl_secrets_note(s->secrets, pdl_buf_str(&jwt));
    if (ok) {
        PDL_PUT(s->token_request,
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
        pdl_buf_put(s->token_request, pdl_buf_str(&jwt));
        pdl_buf_put(s->token_id, pdl_member_str(c, "client_email"));
    } else {
        err->kind = PDL_E_auth;
    }
    pdl_buf_fini(&jwt);
    return ok;
}

static bool exchange_user(const pdl_sign *s, pdl_vref c, pdl_err *err) {
    static const char *const keys[] = {"client_id", "client_secret", "refresh_token"};
    PDL_PUT(s->token_request, "grant_type=refresh_token");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (pdl_member_str(c, keys[i]).n == 0) return incomplete(keys[i], err);
        if (i) pdl_secrets_note(s->secrets, pdl_member_str(c, keys[i]));
        pdl_buf_putf(s->token_request, "&%s=", keys[i]);
        pdl_url_quote(pdl_member_str(c, keys[i]), "", s->token_request);
    }
    return true;
}

bool pdl_google_exchange(const pdl_sign *s, pdl_vref c, pdl_err *err) {
    pdl_str type = pdl_member_str(c, "type"), url = pdl_member_str(c, "token_uri");
    if (url.n == 0) url = PDL_STR(TOKEN_URL);
    if (!pdl_str_starts(url, PDL_STR("https://")) && !is_local(url))
        return pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                           "token_uri of the Google credentials is not an https address");
    pdl_buf_put(s->token_url, url);
    if (pdl_str_is(type, "service_account") || type.n == 0) return exchange_account(s, c, url, err);
    if (pdl_str_is(type, "authorized_user")) return exchange_user(s, c, err);
    return pdl_err_set(err, PDL_E_auth, (pdl_loc){0},
                       "Google credentials of type %.*s are not supported: service_account and "
                       "authorized_user are",
                       PDL_FMT(type));
}
