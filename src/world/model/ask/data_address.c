/* data_address.c -- see data_address.h. People write data addresses by hand, and tools write them
 * with line ends, in the alphabet for URLs, without padding, or percent-encoded. Some services
 * decode all of these and others refuse the request, so every service gets the same form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/data_address.h"

#include "base/base64.h"
#include "base/url.h"
#include "base/utf8.h"
#include "model/ask/messages.h"

#include "base/banned.h"

/* The types of parts that have an address or data. The member named like the type is the address or
 * the data as a text, or an object that has this text under `key`. */
static const struct data_place {
    const char *type, *key, *what; /* `what` names the part in messages */
    bool is_data;                  /* the member `data` has base64 without an address */
} places[] = {{"image_url", "url", "image", false},
              {"video_url", "url", "video", false},
              {"audio_url", "url", "audio", false},
              {"file", "file_data", "document", false},
              {"input_audio", "data", "audio", true}};

static bool is_data_address(pdl_str s) {
    return s.n >= 5 && pdl_str_eq_nocase(pdl_str_sub(s, 0, 5), PDL_STR("data:"));
}

static bool is_digit64(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

/* Returns true for padded base64 in the ordinary alphabet. */
static bool is_plain_base64(pdl_str s) {
    size_t n = s.n;
    if (!n || n % 4) return false;
    while (n + 2 > s.n && s.p[n - 1] == '=') n--;
    for (size_t i = 0; i < n; i++)
        if (!is_digit64(s.p[i])) return false;
    return true;
}

static bool is_plain_type(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || pdl_lower(s.p[i]) != s.p[i]) return false;
    return s.n > 0 && s.p[0] != ';';
}

/* Returns true when s is in the plain form already. */
static bool is_plain(pdl_str s, bool is_data) {
    if (is_data) return is_plain_base64(s);
    if (pdl_str_trim(s).n != s.n) return false;
    if (!is_data_address(s)) return true;
    size_t at = pdl_str_find(s, PDL_STR(";base64,"), 0);
    return at != PDL_NOT_FOUND && pdl_str_starts(s, PDL_STR("data:")) &&
           is_plain_type(pdl_str_sub(s, 5, at < 5 ? 5 : at)) &&
           is_plain_base64(pdl_str_sub(s, at + 8, s.n));
}

/* Appends data in the ordinary form. Returns false when it is not base64, or empty. */
static bool put_data(pdl_str data, bool is_base64, pdl_buf *out) {
    pdl_buf text = PDL_BUF, bytes = PDL_BUF;
    pdl_url_unquote(data, &text);
    bool ok = !is_base64 || pdl_base64_read(pdl_buf_str(&text), &bytes);
    pdl_buf *raw = is_base64 ? &bytes : &text;
    ok = ok && raw->len;
    if (ok) pdl_base64_put(pdl_buf_str(raw), false, out);
    pdl_buf_fini(&text);
    pdl_buf_fini(&bytes);
    return ok;
}

/* Appends the type, in lower case up to its parameters, and without white space. */
static void put_type(pdl_str type, pdl_buf *out) {
    bool is_parameter = false;
    for (size_t i = 0; i < type.n; i++) {
        is_parameter = is_parameter || type.p[i] == ';';
        if ((unsigned char)type.p[i] > ' ')
            pdl_buf_putc(out, is_parameter ? type.p[i] : pdl_lower(type.p[i]));
    }
}

/* Splits a data address. Returns false when it has no comma. */
static bool split(pdl_str s, pdl_str *type, bool *is_base64, pdl_str *data) {
    size_t comma = pdl_str_find(s, PDL_STR(","), 0);
    if (comma == PDL_NOT_FOUND) return false;
    *type = pdl_str_trim(pdl_str_sub(s, 5, comma));
    *data = pdl_str_sub(s, comma + 1, s.n);
    size_t last = pdl_str_rfind(*type, PDL_STR(";"));
    *is_base64 =
        last != PDL_NOT_FOUND &&
        pdl_str_eq_nocase(pdl_str_trim(pdl_str_sub(*type, last + 1, type->n)), PDL_STR("base64"));
    if (*is_base64) *type = pdl_str_trim(pdl_str_sub(*type, 0, last));
    return true;
}

static bool refuse(const struct data_place *at, pdl_str s, const char *why, pdl_err *err) {
    return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                       "the data of the %s '%.*s' %s: it is written data:TYPE;base64,DATA",
                       at->what, PDL_FMT(pdl_utf8_cut(s, 40)), why);
}

/* Appends an address or data in its plain form. */
static bool put_plain(const struct data_place *at, pdl_str s, pdl_buf *out, pdl_err *err) {
    pdl_str type = {0}, data = s = pdl_str_trim(s);
    bool is_base64 = true, has_type = is_data_address(s);
    if (!has_type && !at->is_data) {
        pdl_buf_put(out, s);
        return true;
    }
    if (has_type && !split(s, &type, &is_base64, &data))
        return refuse(at, s, "has no comma before it", err);
    if (has_type && (!type.n || type.p[0] == ';')) return refuse(at, s, "has no type", err);
    if (!pdl_str_trim(data).n) return refuse(at, s, "is empty", err);
    if (!at->is_data) {
        PDL_PUT(out, "data:");
        put_type(type, out);
        PDL_PUT(out, ";base64,");
    }
    return put_data(data, is_base64, out) || refuse(at, s, "is not base64", err);
}

/* Returns the row of `places` for a part. *text gets the address or data of the part. Returns NULL
 * when the part has neither. */
static const struct data_place *find(pdl_vref part, pdl_str *text) {
    if (!pdl_is_dict(part)) return NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!pdl_text_is(pdl_dict_getz(part, "type"), places[i].type)) continue;
        pdl_vref v = pdl_dict_getz(part, places[i].type);
        if (pdl_is_dict(v)) v = pdl_dict_getz(v, places[i].key);
        if (!pdl_is_str(v)) return NULL;
        *text = pdl_str_get(v);
        return &places[i];
    }
    return NULL;
}

static bool fits(pdl_vref message) {
    pdl_vref content = pdl_is_dict(message) ? pdl_dict_getz(message, "content") : pdl_absent();
    pdl_str text;
    for (size_t i = 0; pdl_message_is_parts(content) && i < pdl_list_len(content); i++) {
        const struct data_place *at = find(pdl_list_at(content, i), &text);
        if (at && !is_plain(text, at->is_data)) return false;
    }
    return true;
}

/* Returns the part with its address in the plain form. The result is owned also after an error. */
static pdl_val plain_part(pdl_vref part, bool *ok, pdl_err *err) {
    pdl_str text;
    pdl_buf made = PDL_BUF;
    const struct data_place *at = find(part, &text);
    if (!at || is_plain(text, at->is_data)) return pdl_keep(part);
    *ok = *ok && put_plain(at, text, &made, err);
    pdl_vref old = pdl_dict_getz(part, at->type);
    pdl_val address = pdl_text_of_buf(&made);
    if (pdl_is_dict(old)) address = pdl_dict_putz(pdl_keep(old), at->key, address);
    return pdl_dict_putz(pdl_keep(part), at->type, address);
}

static pdl_val plain_message(pdl_vref message, bool *ok, pdl_err *err) {
    pdl_vref content = pdl_dict_getz(message, "content");
    pdl_val parts = pdl_list_new(pdl_list_len(content));
    for (size_t i = 0; *ok && i < pdl_list_len(content); i++)
        parts = pdl_list_push(parts, plain_part(pdl_list_at(content, i), ok, err));
    return pdl_dict_putz(pdl_keep(message), "content", parts);
}

bool pdl_messages_addressed(pdl_val messages, pdl_val *out, pdl_err *err) {
    size_t n = pdl_is_list(messages) ? pdl_list_len(messages) : 0, same = 0;
    bool ok = true;
    while (same < n && fits(pdl_list_at(messages, same))) same++;
    if (same == n) {
        *out = messages;
        return true;
    }
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; ok && i < n; i++) {
        pdl_vref m = pdl_list_at(messages, i);
        list = pdl_list_push(list, fits(m) ? pdl_keep(m) : plain_message(m, &ok, err));
    }
    pdl_drop(messages);
    if (ok)
        *out = list;
    else
        pdl_drop(list);
    return ok;
}
