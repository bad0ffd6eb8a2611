/* cmd_cache.c -- pdl cache: lists, prunes, exports and removes a file of --cache. Another program
 * may have made the file, so nothing that is read from it is trusted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/word_list.h"
#include "cache/cache.h"
#include "cli/cli.h"
#include "cli/json_rows.h"
#include "io/file.h"
#include "sqlite/db_files.h"
#include "value/json_read.h"
#include "value/text.h"

#include "base/banned.h"

enum { SHOWN_CP = 60 };

typedef struct printer {
    bool json, whole;
    int code; /* exit code after a failed write */
} printer;

static void put_line(printer *p, pdl_buf *line) {
    pdl_buf_putc(line, '\n');
    p->code = pdl_cli_put_stdout(pdl_buf_str(line));
    pdl_buf_fini(line);
}

/* Returns the text of the last message, or the last text that was embedded. */
static pdl_vref last_text(pdl_vref request) {
    pdl_vref list = pdl_dict_getz(request, "messages");
    if (!pdl_is_list(list)) list = pdl_dict_getz(request, "input");
    if (!pdl_is_list(list) || !pdl_list_len(list)) return list;
    pdl_vref last = pdl_list_at(list, pdl_list_len(list) - 1);
    return pdl_is_dict(last) ? pdl_dict_getz(last, "content") : last;
}

static void put_beginning(pdl_str json, pdl_buf *out) {
    pdl_val request;
    pdl_err err = {0};
    if (!pdl_json_read(json, 0, &request, NULL, &err)) {
        pdl_err_fini(&err);
        return;
    }
    if (pdl_is_dict(request)) pdl_val_show(last_text(request), true, SHOWN_CP, out);
    pdl_drop(request);
}

static void put_time(int64_t s, pdl_buf *out) {
    char text[32];
    struct tm tm;
    time_t t = (time_t)s;
    if (localtime_r(&t, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm))
        pdl_buf_put(out, pdl_str_of(text));
}

static bool put_text(printer *p, const pdl_cache_row *r) {
    pdl_buf line = PDL_BUF;
    put_time(r->stored, &line);
    PDL_PUT(&line, "  ");
    put_time(r->used, &line);
    pdl_buf_putf(&line, "  %5lld  %.*s #%lld  ", (long long)r->hits, PDL_FMT(r->model),
                 (long long)r->number);
    put_beginning(r->request, &line);
    put_line(p, &line);
    return !p->code;
}

/* Returns a text that is stored in the file. Another program may have made the file. Owned. */
static pdl_val text_of(pdl_str bytes) {
    pdl_buf b = PDL_BUF;
    pdl_utf8_repair(&b, bytes);
    return pdl_text_of_buf(&b);
}

/* Returns the value of JSON in the file; damaged JSON is returned as a text. Owned. */
static pdl_val value_of(pdl_str json) {
    pdl_val v;
    pdl_err ignored = {0};
    if (pdl_json_read(json, 0, &v, NULL, &ignored)) return v;
    pdl_err_fini(&ignored);
    return text_of(json);
}

static bool put_json(printer *p, const pdl_cache_row *r) {
    pdl_buf line = PDL_BUF;
    pdl_val d = pdl_dict_putz(pdl_dict_new(8), "key", text_of(r->key));
    d = pdl_dict_putz(d, "model", text_of(r->model));
    d = pdl_dict_putz(d, "repetition", pdl_int(r->number));
    d = pdl_dict_putz(d, "stored", pdl_int(r->stored));
    d = pdl_dict_putz(d, "used", pdl_int(r->used));
    d = pdl_dict_putz(d, "hits", pdl_int(r->hits));
    if (p->whole) d = pdl_dict_putz(d, "request", value_of(r->request));
    if (p->whole) d = pdl_dict_putz(d, "reply", value_of(r->reply));
    pdl_cli_put_json(d, &line);
    put_line(p, &line);
    return !p->code;
}

static bool put_row(void *user, const pdl_cache_row *r) {
    printer *p = user;
    return p->json ? put_json(p, r) : put_text(p, r);
}

/* Reads an age such as "30d", in seconds. Returns false for other texts. */
bool pdl_cli_read_age(pdl_str s, int64_t *out) {
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    int64_t n;
    if (s.n < 2 || !pdl_num_read_int(pdl_str_sub(s, 0, s.n - 1), &n) || n < 0 || n > 1000000000)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (s.p[s.n - 1] != units[i].unit) continue;
        *out = n * units[i].seconds;
        return true;
    }
    return false;
}

static bool prune(const arguments *a, pdl_cache *c, int64_t age, printer *p, pdl_err *err) {
    int64_t n, before = a->given[OPT_older_than] ? (int64_t)time(NULL) - age : 0;
    if (!pdl_cache_prune(c, before, a->value[OPT_model], &n, err)) return false;
    pdl_buf line = PDL_BUF;
    pdl_buf_putf(&line, "%lld %s removed", (long long)n, n == 1 ? "reply" : "replies");
    put_line(p, &line);
    return true;
}

/* Returns the mistake in the command line; NULL when it has none. */
static const char *misuse(const arguments *a, int64_t *age) {
    static const char *const actions[] = {"list", "prune", "export", "rm"};
    bool known = a->files.n && PDL_STR_IN(a->files.p[0], actions);
    bool pruning = a->files.n && pdl_str_is(a->files.p[0], "prune");
    bool some = a->given[OPT_older_than] || a->given[OPT_model];
    if (!a->files.n) return "the following arguments are required: ACTION FILE";
    if (!known) return "argument ACTION: choose from list, prune, export, rm";
    if (a->files.n < 2) return "the following arguments are required: FILE";
    if (!pruning && (some || a->given[OPT_all]))
        return "--older-than, --model and --all belong to prune";
    if (a->files.n > 2) return "one FILE is enough";
    if (a->given[OPT_json] && !pdl_str_is(a->files.p[0], "list")) return "--json is for the list";
    if (pruning && some == a->given[OPT_all])
        return "prune needs --older-than AGE, --model GLOB, or --all by itself";
    if (a->given[OPT_older_than] && !pdl_cli_read_age(a->value[OPT_older_than], age))
        return PDL_AGE_WANTED;
    return NULL;
}

static bool has_file(pdl_str file) {
    bool ok = pdl_file_kind_named(file) != PDL_FILE_NONE;
    if (!ok) pdl_cli_note("pdl: error: there is no file %.*s", PDL_FMT(file));
    return ok;
}

int pdl_cli_cmd_cache(const arguments *a) {
    int64_t age = 0;
    const char *wrong = misuse(a, &age);
    if (wrong) return pdl_cli_refuse(a, wrong);
    if (!has_file(a->files.p[1])) return 2;
    pdl_cache *c = NULL;
    pdl_err err = {0};
    bool export = pdl_str_is(a->files.p[0], "export");
    printer p = {.whole = export, .json = export || a->given[OPT_json]};
    bool ok = pdl_cache_open_existing(a->files.p[1], &c, &err);
    bool removes = pdl_str_is(a->files.p[0], "rm");
    if (ok && pdl_str_is(a->files.p[0], "prune"))
        ok = prune(a, c, age, &p, &err);
    else if (ok && !removes)
        ok = pdl_cache_each(c, put_row, &p, &err);
    pdl_cache_close(c);
    if (ok && removes) ok = pdl_db_remove(a->files.p[1], &(size_t){0}, &err);
    if (!ok) {
        pdl_cli_print_error(&err, NULL);
        p.code = 1;
        pdl_err_fini(&err);
    }
    return p.code;
}
