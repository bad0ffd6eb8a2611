/* otel_env.c -- reads the environment variables that all programs with OpenTelemetry use, so that
 * one setting counts for all of them. Headers, and keys in the address, are registered as secrets,
 * because a collector may repeat them in a message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/url.h"
#include "base/version.h"
#include "telemetry/parts.h"
#include "value/text.h"
#include "value/val.h"

#include "base/banned.h"

static pdl_str get(const pdl_otlp_options *o, const char *name) {
    const char *v = o->env ? o->env(o->env_user, name) : NULL;
    return pdl_str_of(v ? v : "");
}

static pdl_str trimmed(pdl_str s) {
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) s = pdl_str_sub(s, 1, s.n);
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) s.n--;
    return s;
}

/* Calls fn with every NAME=VALUE of a list with commas. */
static void each_pair(pdl_str list, void (*fn)(void *user, pdl_str name, pdl_str value),
                      void *user) {
    while (list.n) {
        size_t comma = pdl_str_find(list, PDL_STR(","), 0),
               end = comma == PDL_NOT_FOUND ? list.n : comma;
        pdl_str one = trimmed(pdl_str_sub(list, 0, end));
        size_t eq = pdl_str_find(one, PDL_STR("="), 0);
        list = end < list.n ? pdl_str_sub(list, end + 1, list.n) : (pdl_str){0};
        if (eq == PDL_NOT_FOUND || !eq) continue;
        pdl_buf value = PDL_BUF;
        pdl_url_unquote(trimmed(pdl_str_sub(one, eq + 1, one.n)), &value);
        fn(user, trimmed(pdl_str_sub(one, 0, eq)), pdl_buf_str(&value));
        pdl_buf_fini(&value);
    }
}

static bool is_header(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f) return false;
    return true;
}

static void add_header(void *user, pdl_str name, pdl_str value) {
    otlp_config *c = user;
    pdl_buf line = PDL_BUF;
    if (!is_header(name) || !is_header(value)) return;
    pdl_buf_putf(&line, "%.*s: %.*s", PDL_FMT(name), PDL_FMT(value));
    *pdl_vec_push(&c->headers) = pdl_buf_take(&line);
}

/* Adds an attribute. An attribute occurs once: a later value replaces an earlier one. */
static void add_resource(void *user, pdl_str name, pdl_str value) {
    pdl_val *all = user;
    *all = pdl_dict_put(*all, pdl_text(name), pdl_text(value));
}

static void put_resource(const pdl_otlp_options *o, pdl_buf *out) {
    pdl_val all = pdl_dict_new(8);
    pdl_str service = get(o, "OTEL_SERVICE_NAME");
    add_resource(&all, PDL_STR("telemetry.sdk.name"), PDL_STR("libpdl"));
    add_resource(&all, PDL_STR("telemetry.sdk.language"), PDL_STR("c"));
    add_resource(&all, PDL_STR("telemetry.sdk.version"), PDL_STR(PDL_VERSION));
    add_resource(&all, PDL_STR("service.name"), PDL_STR("pdl"));
    each_pair(get(o, "OTEL_RESOURCE_ATTRIBUTES"), add_resource, &all);
    if (service.n) add_resource(&all, PDL_STR("service.name"), service);
    for (size_t i = 0; i < pdl_dict_len(all); i++)
        pdl_otlp_put_text(out, pdl_str_get(pdl_dict_key_at(all, i)).p,
                          pdl_str_get(pdl_dict_val_at(all, i)));
    pdl_drop(all);
}

static bool is_hex(pdl_str s) {
    bool any = false;
    for (size_t i = 0; i < s.n; i++) {
        if (pdl_hex_digit(s.p[i]) < 0 || (s.p[i] >= 'A' && s.p[i] <= 'F')) return false;
        any |= s.p[i] != '0';
    }
    return any;
}

/* Reads "00-TRACE-SPAN-FLAGS": the span that started this process, and whether spans are wanted. */
static void read_parent(pdl_str s, otlp_config *c) {
    enum { TRACE = 3, SPAN = 36, FLAGS = 53, MIN_LENGTH = 55 };
    if (s.n < MIN_LENGTH || s.p[2] != '-' || s.p[SPAN - 1] != '-' || s.p[FLAGS - 1] != '-' ||
        pdl_str_starts(s, PDL_STR("ff")) || (s.n > MIN_LENGTH && pdl_str_starts(s, PDL_STR("00"))))
        return;
    pdl_str trace = pdl_str_sub(s, TRACE, SPAN - 1), span = pdl_str_sub(s, SPAN, FLAGS - 1);
    int flags = pdl_hex_digit(s.p[FLAGS + 1]);
    if (!is_hex(trace) || !is_hex(span) || flags < 0) return;
    memcpy(c->trace, trace.p, trace.n);
    memcpy(c->parent, span.p, span.n);
    c->sampled = flags & 1;
}

/* Reads the state that other programs keep in the trace. Without a parent span there is no trace to
 * which it could belong. */
static void read_state(pdl_str s, otlp_config *c) {
    enum { LONGEST = 512 };
    s = trimmed(s);
    if (*c->trace && s.n && s.n <= LONGEST && is_header(s)) c->state = pdl_str_dup(s);
}

/* Reads PDL_OTLP. A word that is neither yes nor no is an error, since traces would be missed. */
static bool read_switch(const pdl_otlp_options *o, bool *out, pdl_err *err) {
    pdl_str v = get(o, "PDL_OTLP");
    *out = pdl_str_is(v, "1") || pdl_str_is(v, "true");
    return *out || !v.n || pdl_str_is(v, "0") || pdl_str_is(v, "false") ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "PDL_OTLP: expected 1 or 0, not '%.*s'",
                       PDL_FMT(v));
}

static void note(const pdl_otlp_options *o, const char *text) {
    if (o->note) o->note(o->note_user, pdl_str_of(text));
}

/* Appends the address of the collector. Without an address in the environment, this is the usual
 * one of the local machine. Returns false, after a note, when the environment asks for gRPC. */
static bool put_address(const pdl_otlp_options *o, pdl_buf *out) {
    pdl_str protocol = get(o, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"),
            whole = get(o, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            base = get(o, "OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!protocol.n) protocol = get(o, "OTEL_EXPORTER_OTLP_PROTOCOL");
    if (pdl_str_is(protocol, "grpc")) {
        note(o, "traces are not sent: OTLP is spoken over HTTP, not gRPC; set "
                "OTEL_EXPORTER_OTLP_PROTOCOL to http/json");
        return false;
    }
    if (!base.n) base = PDL_STR("http://localhost:4318");
    while (base.n && base.p[base.n - 1] == '/') base.n--;
    if (whole.n)
        pdl_buf_put(out, whole);
    else
        pdl_buf_putf(out, "%.*s/v1/traces", PDL_FMT(base));
    return true;
}

static bool is_address(pdl_str url) {
    return (pdl_str_starts(url, PDL_STR("http://")) && url.n > 7) ||
           (pdl_str_starts(url, PDL_STR("https://")) && url.n > 8);
}

static void refuse_address(const pdl_otlp_options *o, pdl_str url, pdl_err *err) {
    pdl_buf shown = PDL_BUF;
    pdl_address_put(url, &shown);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                "%s '%s': expected the whole address of a collector, such as "
                "http://localhost:4318/v1/traces",
                o->url.n ? "argument --otlp:" : "OTEL_EXPORTER_OTLP_ENDPOINT:", pdl_buf_z(&shown));
    pdl_buf_fini(&shown);
}

/* Registers what the collector may repeat in a message: values of headers, and keys in the
 * address. */
static void note_secrets(pdl_secrets *secrets, const otlp_config *c) {
    pdl_secrets_note_address(secrets, pdl_str_of(c->url));
    for (size_t i = 0; i < c->headers.n; i++) {
        pdl_str line = pdl_str_of(c->headers.p[i]);
        size_t colon = pdl_str_find(line, PDL_STR(":"), 0);
        if (colon != PDL_NOT_FOUND)
            pdl_secrets_note_header(secrets, pdl_str_sub(line, 0, colon),
                                    pdl_str_sub(line, colon + 1, line.n));
    }
}

bool pdl_otlp_configure(const pdl_otlp_options *o, otlp_config *out, pdl_err *err) {
    pdl_buf url = PDL_BUF;
    *out = (otlp_config){.resource = PDL_BUF, .sampled = true};
    pdl_str disabled = get(o, "OTEL_SDK_DISABLED");
    if (disabled.n == 4 && strncasecmp(disabled.p, "true", 4) == 0) return true;
    bool is_on;
    if (!read_switch(o, &is_on, err)) return false;
    if (o->url.n)
        pdl_buf_put(&url, o->url);
    else if (!is_on || !put_address(o, &url))
        return true;
    bool ok = is_address(pdl_buf_str(&url)) && is_header(pdl_buf_str(&url));
    if (!ok) refuse_address(o, pdl_buf_str(&url), err);
    if (ok) {
        pdl_str headers = get(o, "OTEL_EXPORTER_OTLP_TRACES_HEADERS");
        out->url = pdl_buf_take(&url);
        add_header(out, PDL_STR("Content-Type"), PDL_STR("application/json"));
        each_pair(headers.n ? headers : get(o, "OTEL_EXPORTER_OTLP_HEADERS"), add_header, out);
        note_secrets(o->secrets, out);
        put_resource(o, &out->resource);
        read_parent(get(o, "TRACEPARENT"), out);
        read_state(get(o, "TRACESTATE"), out);
    }
    pdl_buf_fini(&url);
    return ok;
}

void pdl_otlp_config_fini(otlp_config *c) {
    pdl_free(c->url);
    pdl_free(c->state);
    for (size_t i = 0; i < c->headers.n; i++) pdl_free(c->headers.p[i]);
    pdl_vec_fini(&c->headers);
    pdl_buf_fini(&c->resource);
}
