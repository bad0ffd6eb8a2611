/* model_driver.c -- runs model calls for tests/model. It reads jobs from standard input, one JSON
 * object on each line. It writes lines of JSON to standard output, and an empty line after each
 * job.
 *
 *   {calls: [{model, messages, parameters?, platform?, schema?, stream?} | {model, input,
 *   parameters?}], env?: {NAME: VALUE}, repeat?: N,
 * quiet?: bool, split?: bool, cancel_after?: N, timeouts?: text} A line per piece {i, piece} and
 * per end {i, reply} or {i, error: {kind, msg, status, detail}}. repeat: the calls N times over,
 * all at once; cancel_after: each call is cancelled after N pieces, which gives {i, cancelled:
 * true}.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/debug.h"
#include "io/clock.h"
#include "model/model.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

typedef struct driver {
    pdl_world *world;
    pdl_val env;
    bool quiet;
    int64_t cancel_after;
    size_t open, pieces, failed;
} driver;

static const char *get_env(void *user, const char *name) {
    driver *d = user;
    pdl_vref v = pdl_is_dict(d->env) ? pdl_dict_getz(d->env, name) : pdl_absent();
    return pdl_is_str(v) ? pdl_str_get(v).p : NULL;
}

static void print_line(pdl_val v) {
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    if (!pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN, 0, &out, &err))
        fprintf(stderr, "%s\n", err.msg);
    printf("%s\n", pdl_buf_z(&out));
    fflush(stdout);
    pdl_err_fini(&err);
    pdl_buf_fini(&out);
    pdl_drop(v);
}

static pdl_val line_of(const pdl_effect *e, const char *key, pdl_val v) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "i", pdl_int((int64_t)e->id - 1));
    return pdl_dict_putz(d, key, v);
}

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    driver *d = user;
    d->pieces++;
    if (!d->quiet) print_line(line_of(e, "piece", pdl_text(text)));
    if (d->cancel_after <= 0 || (int64_t)d->pieces != d->cancel_after) return;
    print_line(line_of(e, "cancelled", pdl_bool(true)));
    d->open--;
    d->world->ops->cancel(d->world, e->id);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    driver *d = user;
    d->open--;
    if (r->err.kind == PDL_E_NONE) {
        if (!d->quiet) print_line(line_of(e, "reply", pdl_keep(r->value)));
        return;
    }
    d->failed++;
    pdl_val x = pdl_dict_putz(pdl_dict_new(4), "kind", pdl_textz(pdl_err_kind_name(r->err.kind)));
    x = pdl_dict_putz(x, "msg", pdl_textz(r->err.msg));
    x = pdl_dict_putz(x, "status", r->err.has_status ? pdl_int(r->err.status) : pdl_null());
    x = pdl_dict_putz(x, "detail", pdl_textz(r->err.detail ? r->err.detail : ""));
    if (!d->quiet)
        print_line(line_of(e, "error", x));
    else
        pdl_drop(x);
}

static void start(driver *d, pdl_vref call, uint32_t id) {
    static const char *const keys[] = {"platform", "schema"};
    pdl_val r = pdl_keep(call);
    for (size_t i = 0; i < 2; i++)
        if (pdl_is_absent(pdl_dict_getz(r, keys[i]))) r = pdl_dict_putz(r, keys[i], pdl_null());
    if (pdl_is_absent(pdl_dict_getz(r, "parameters")))
        r = pdl_dict_putz(r, "parameters", pdl_dict_new(0));
    if (pdl_is_absent(pdl_dict_getz(r, "stream"))) r = pdl_dict_putz(r, "stream", pdl_bool(false));
    pdl_effect_sink sink = {.user = d, .piece = on_piece, .reply = on_reply};
    bool embed = !pdl_is_absent(pdl_dict_getz(r, "input"));
    d->open++;
    d->world->ops->start(d->world, pdl_effect_new(embed ? PDL_EFFECT_embed : PDL_EFFECT_model,
                                                  (pdl_effect_at){.id = id}, r, sink));
}

static int64_t number(pdl_vref job, const char *key, int64_t dflt) {
    pdl_vref v = pdl_dict_getz(job, key);
    return pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : dflt;
}

static bool flag(pdl_vref job, const char *key) {
    pdl_vref v = pdl_dict_getz(job, key);
    return pdl_is_bool(v) && pdl_bool_of(v);
}

/* The calls of one job. Whether they all ended. */
static bool run_job(pdl_vref job) {
    char why[PDL_DEBUG_WHY];
    driver d = {.env = pdl_dict_getz(job, "env"),
                .quiet = flag(job, "quiet"),
                .cancel_after = number(job, "cancel_after", 0)};
    pdl_debug debug;
    if (!pdl_debug_init(&debug, NULL, getenv("PDL_STRESS"), NULL, why)) {
        fprintf(stderr, "model_driver: %s\n", why);
        exit(2);
    }
    debug.split |= flag(job, "split");
    pdl_loop *loop = pdl_loop_new();
    pdl_vref limits = pdl_dict_getz(job, "timeouts");
    pdl_model_options opt = {.env = get_env,
                             .user = &d,
                             .debug = &debug,
                             .timeouts = pdl_is_str(limits) ? pdl_str_get(limits).p : NULL};
    d.world = pdl_model_world_new(loop, &opt);
    uint64_t t0 = pdl_clock_ns();
    pdl_vref calls = pdl_dict_getz(job, "calls");
    uint32_t id = 0;
    for (int64_t k = number(job, "repeat", 1); k > 0; k--)
        for (size_t i = 0; i < pdl_list_len(calls); i++) start(&d, pdl_list_at(calls, i), ++id);
    while (d.open && d.world->ops->poll(d.world, -1)) continue;
    if (d.quiet)
        printf("{\"calls\":%u,\"failed\":%zu,\"pieces\":%zu,\"seconds\":%.6f}\n", id, d.failed,
               d.pieces, (double)(pdl_clock_ns() - t0) / 1e9);
    bool stuck = d.open > 0;
    d.world->ops->close(d.world);
    bool left_open = pdl_loop_is_open(loop);
    pdl_loop_free(loop);
    pdl_debug_fini(&debug);
    if (stuck || left_open)
        fprintf(stderr, "model_driver: %s\n",
                stuck ? "calls without an end" : "the loop is still open");
    return !stuck && !left_open;
}

static bool read_line(pdl_buf *line) {
    int c;
    pdl_buf_clear(line);
    while ((c = getc(stdin)) != EOF && c != '\n') pdl_buf_putc(line, (char)c);
    return c != EOF;
}

int main(void) {
    pdl_err err = {0};
    pdl_val job;
    pdl_buf line = PDL_BUF;
    int status = 0;
    while (status != 2 && read_line(&line)) {
        if (!pdl_json_read(pdl_buf_str(&line), 0, &job, NULL, &err)) {
            fprintf(stderr, "model_driver: %s\n", err.msg);
            status = 2;
            continue;
        }
        if (!run_job(job)) status = 1;
        pdl_drop(job);
        printf("\n");
        fflush(stdout);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&line);
    return status;
}
