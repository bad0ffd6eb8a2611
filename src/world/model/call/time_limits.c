/* time_limits.c -- computes the time limits of a request; see time_limits.h. There are four layers,
 * and each overrides the one before: defaults, run (option or PDL_TIMEOUT), provider
 * (PREFIX_TIMEOUT), block. In a layer a bare number is a `timeout`: the limit for a whole answer
 * that does not stream, and for the wait for the first and each further event of a stream (spec
 * providers 7).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/time_limits.h"

#include "base/num.h"
#include "model/model.h"

#include "base/banned.h"

enum { BARE, CONNECT, FIRST, IDLE, TOTAL, N_LIMITS };

/* The limits of one of the four layers, in seconds. A limit that the layer does not set is
 * negative. */
typedef struct layer {
    double s[N_LIMITS];
} layer;

static const struct {
    /* the name in texts such as "connect=5"; NULL for the limit of a bare number */
    const char *name;
    const char *parameter;
} limits[N_LIMITS] = {
    [BARE] = {NULL, "timeout"},
    [CONNECT] = {"connect", "connect_timeout"},
    [FIRST] = {"first", "first_token_timeout"},
    [IDLE] = {"idle", "idle_timeout"},
    [TOTAL] = {"total", "total_timeout"},
};

/* The defaults. A connection that is not made soon is never made. A whole answer and each piece of
 * a stream may take ten minutes, as with OpenAI's clients. A stream as a whole may take as long as
 * a request in LiteLLM. */
static const layer plain = {{-1, 5, 0, 0, 600}}, streamed = {{-1, 5, 600, 600, 6000}};

enum { LONGEST_S = 1000000000 };

static bool read_seconds(pdl_str s, double *out) {
    return pdl_num_read_double(pdl_str_trim(s), out) && *out >= 0 && *out <= LONGEST_S;
}

/* Reads one item: "connect=5", "30". */
static bool read_item(pdl_str item, layer *l) {
    size_t eq = pdl_str_find(item, PDL_STR("="), 0);
    if (eq == PDL_NOT_FOUND) return read_seconds(item, &l->s[BARE]);
    pdl_str name = pdl_str_trim(pdl_str_sub(item, 0, eq));
    for (size_t i = CONNECT; i < N_LIMITS; i++)
        if (pdl_str_is(name, limits[i].name))
            return read_seconds(pdl_str_sub(item, eq + 1, item.n), &l->s[i]);
    return false;
}

/* Adds a hint with the name of the limit that is most like the name in the wrong item. */
static void advise_name(pdl_str item, pdl_err *err) {
    size_t eq = pdl_str_find(item, PDL_STR("="), 0);
    pdl_str names[N_LIMITS], name = pdl_str_trim(pdl_str_sub(item, 0, eq));
    for (size_t i = CONNECT; i < N_LIMITS; i++) names[i] = pdl_str_of(limits[i].name);
    pdl_str near = pdl_str_nearest(name, names + CONNECT, N_LIMITS - CONNECT);
    if (eq != PDL_NOT_FOUND && near.n && !pdl_str_eq(near, name))
        pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
}

static bool read_text(pdl_str text, layer *l, pdl_err *err) {
    for (size_t i = 0; i < N_LIMITS; i++) l->s[i] = -1;
    for (pdl_str rest = text; rest.n;) {
        size_t comma = pdl_str_find(rest, PDL_STR(","), 0);
        pdl_str item = pdl_str_sub(rest, 0, comma);
        if (!read_item(item, l)) {
            pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                        "'%.*s' is not a list of time limits: a number of seconds, or "
                        "connect=S,first=S,idle=S,total=S",
                        PDL_FMT(text));
            advise_name(item, err);
            return false;
        }
        rest = comma == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(rest, comma + 1, rest.n);
    }
    return true;
}

bool pdl_timing_check(pdl_str text, pdl_err *err) {
    layer l;
    return read_text(text, &l, err);
}

static void put_over(layer *to, const layer *from, bool stream) {
    double bare = from->s[BARE];
    if (bare >= 0 && stream)
        to->s[FIRST] = to->s[IDLE] = bare;
    else if (bare >= 0)
        to->s[TOTAL] = bare;
    for (size_t i = CONNECT; i < N_LIMITS; i++)
        if (from->s[i] >= 0) to->s[i] = from->s[i];
}

static bool read_parameter(pdl_vref given, const char *key, double *out, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(given, key);
    if (pdl_is_absent(v) || pdl_is_null(v)) return true;
    *out = -1;
    if (pdl_is(v, PDL_V_INT)) *out = (double)pdl_int_of(v);
    if (pdl_is(v, PDL_V_FLOAT)) *out = pdl_float_of(v);
    if (pdl_is_str(v) && !read_seconds(pdl_str_get(v), out)) *out = -1;
    return (*out >= 0 && *out <= LONGEST_S) ||
           pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                       "parameter %s should be a number of seconds", key);
}

/* Reads the parameters of a block. LiteLLM has other names for `timeout`, and the name for streams
 * takes precedence when the request streams. */
static bool read_block(pdl_vref given, bool stream, layer *l, pdl_err *err) {
    for (size_t i = 0; i < N_LIMITS; i++) l->s[i] = -1;
    if (!read_parameter(given, "request_timeout", &l->s[BARE], err)) return false;
    for (size_t i = 0; i < N_LIMITS; i++)
        if (!read_parameter(given, limits[i].parameter, &l->s[i], err)) return false;
    return !stream || read_parameter(given, "stream_timeout", &l->s[BARE], err);
}

static uint64_t ms(double s) { return (uint64_t)(s * 1000 + 0.5); }

bool pdl_timing_of(const pdl_timing_sources *s, bool stream, pdl_timing *out, pdl_err *err) {
    const char *own = s->provider ? pdl_provider_env(s->provider, "_TIMEOUT", s->env) : NULL,
               *texts[] = {s->run && *s->run ? s->run : NULL, own};
    layer all = stream ? streamed : plain, l;
    if (!texts[0]) texts[0] = pdl_env_get(s->env, "PDL_TIMEOUT");
    for (size_t i = 0; i < 2; i++) {
        if (!texts[i]) continue;
        if (!read_text(pdl_str_of(texts[i]), &l, err)) {
            if (i) pdl_provider_name_env(s->provider, "_TIMEOUT", err);
            return false;
        }
        put_over(&all, &l, stream);
    }
    if (!read_block(s->given, stream, &l, err)) return false;
    put_over(&all, &l, stream);
    *out = (pdl_timing){ms(all.s[CONNECT]), ms(all.s[FIRST]), ms(all.s[IDLE]), ms(all.s[TOTAL])};
    if (!stream) out->first = out->idle = 0;
    return true;
}
