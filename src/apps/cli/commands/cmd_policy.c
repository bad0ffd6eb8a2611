/* cmd_policy.c -- pdl policy ACTION: shows a built-in policy, checks a file, or locks tools. A lock
 * file has hashes of the definitions of tools, so that a server cannot change a tool unnoticed.
 * When the definitions have changed, the command shows the changes, so that the user can check them
 * before committing the file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/policy.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/json_rows.h"
#include "io/file.h"
#include "policy/policy.h"
#include "value/json_write.h"

#include "base/banned.h"

static int failed(pdl_err *err, const pdl_session *s) {
    int code = pdl_err_exit_code(err);
    pdl_cli_print_error(err, s);
    pdl_err_fini(err);
    return code;
}

static int show(const pdl_session *s, pdl_str name) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    int code = pdl_session_built_in_policy(s, name, &text, &err)
                   ? pdl_cli_put_stdout(pdl_buf_str(&text))
                   : failed(&err, s);
    pdl_buf_fini(&text);
    return code;
}

/* --- check ------------------------------------------------------------------------------------ */

typedef struct policy_report {
    bool json;
    pdl_buf out;
} policy_report;

static void put_problem(policy_report *c, pdl_str file, int64_t line, const char *severity,
                        pdl_str message) {
    pdl_buf_put(&c->out, pdl_str_of(c->out.len ? ",\n  " : "\n  "));
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "file", pdl_text(file));
    if (line > 0) d = pdl_dict_putz(d, "line", pdl_int(line));
    d = pdl_dict_putz(d, "severity", pdl_textz(severity));
    d = pdl_dict_putz(d, "message", pdl_text(message));
    pdl_cli_put_json(d, &c->out);
}

static void put_oddity(void *user, const pdl_rule_view *r, const char *what) {
    policy_report *c = user;
    pdl_buf text = PDL_BUF;
    if (!c->json) pdl_buf_putf(&text, "%.*s:%u - warning: ", PDL_FMT(r->policy), r->line);
    pdl_policy_put_rule(r, &text);
    pdl_buf_putf(&text, " %s", what);
    if (c->json)
        put_problem(c, r->policy, r->line, "warning", pdl_buf_str(&text));
    else
        pdl_buf_putf(&c->out, "%s\n", pdl_buf_z(&text));
    pdl_buf_fini(&text);
}

/* Appends one line of an error that has several lines: "FILE:LINE - MESSAGE". */
static void put_error_line(policy_report *c, pdl_str file, pdl_str text) {
    int64_t line = 0;
    size_t dash = pdl_str_find(text, PDL_STR(" - "), 0);
    bool placed = dash != PDL_NOT_FOUND && dash > file.n + 1 && pdl_str_starts(text, file) &&
                  text.p[file.n] == ':' &&
                  pdl_num_read_int(pdl_str_sub(text, file.n + 1, dash), &line);
    put_problem(c, file, line, "error", placed ? pdl_str_sub(text, dash + 3, text.n) : text);
}

static void put_error(policy_report *c, const pdl_err *err, pdl_str file) {
    pdl_str text = pdl_str_of(err->msg);
    if (err->loc.src) {
        put_problem(c, err->loc.src->name, pdl_loc_line(err->loc), "error", text);
        return;
    }
    for (size_t from = 0; from <= text.n;) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), from);
        if (end == PDL_NOT_FOUND || !err->preformatted) end = text.n;
        put_error_line(c, file, pdl_str_sub(text, from, end));
        from = end + 1;
    }
}

static int put_problems(policy_report *c, const pdl_session *s) {
    pdl_buf all = PDL_BUF, shown = PDL_BUF;
    pdl_cli_open_rows(pdl_dict_new(1), "problems", &all);
    pdl_buf_put(&all, pdl_buf_str(&c->out));
    pdl_cli_close_rows(&all);
    pdl_session_redact(s, pdl_buf_str(&all), &shown);
    int code = pdl_cli_put_stdout(pdl_buf_str(&shown));
    pdl_buf_fini(&all);
    pdl_buf_fini(&shown);
    return code;
}

static int check(const pdl_session *s, pdl_str file, bool json) {
    pdl_policies *all = NULL;
    pdl_err err = {0};
    policy_report c = {json, PDL_BUF};
    bool ok = pdl_session_check_policy(s, file, &all, &err);
    int code = ok ? 0 : pdl_err_exit_code(&err);
    if (ok)
        pdl_policies_each_oddity(all, put_oddity, &c);
    else if (json)
        put_error(&c, &err, file);
    else
        pdl_cli_print_error(&err, s);
    if (json) {
        int unwritten = put_problems(&c, s);
        if (!code) code = unwritten;
    } else if (c.out.len) {
        pdl_cli_put_stderr(pdl_buf_str(&c.out), s);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&c.out);
    pdl_policies_free(all);
    return code;
}

/* --- lock ------------------------------------------------------------------------------------- */

static bool read_lock(pdl_str file, pdl_val *out, pdl_err *err) {
    char *path = pdl_str_dup(file);
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    bool ok = true;
    *out = pdl_dict_new(0);
    if (pdl_file_kind_of(path) != PDL_FILE_NONE) {
        pdl_val known;
        ok = pdl_file_read_within(path, PDL_FILE_FIFO_MS, &text, err) &&
             pdl_lock_read(file, pdl_buf_str(&text), &known, err);
        if (ok) {
            pdl_drop(*out);
            *out = known;
        }
    }
    pdl_buf_fini(&text);
    pdl_free(path);
    return ok;
}

static pdl_vref hash_in(pdl_vref servers, pdl_vref server, pdl_vref tool) {
    pdl_vref tools = pdl_dict_find(servers, server);
    return pdl_is_dict(tools) ? pdl_dict_find(tools, tool) : pdl_absent();
}

/* Appends a change. The server wrote the names and definitions, so they are written in a form that
 * cannot imitate a line of this command. */
static void put_change(pdl_buf *out, const char *what, pdl_vref server, pdl_vref tool) {
    pdl_buf_putf(out, "%s: ", what);
    pdl_policy_put_visible(pdl_str_get(server), false, out);
    pdl_buf_putc(out, '/');
    pdl_policy_put_visible(pdl_str_get(tool), false, out);
    pdl_buf_putc(out, '\n');
}

static void put_definition(pdl_buf *out, pdl_vref definitions, pdl_vref server, pdl_vref tool) {
    pdl_vref tools = pdl_dict_find(definitions, server);
    pdl_vref one = pdl_is_dict(tools) ? pdl_dict_find(tools, tool) : pdl_absent();
    pdl_buf json = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err ignored = {0};
    if (!pdl_is_absent(one) && pdl_json_write(one, PDL_JSON_SORT, 0, &json, &ignored)) {
        PDL_PUT(out, "    ");
        pdl_policy_put_visible(pdl_buf_str(&json), false, out);
        pdl_buf_putc(out, '\n');
    }
    pdl_err_fini(&ignored);
    pdl_buf_fini(&json);
}

/* Appends what a person should check before committing the file. Returns the number of tools. */
static size_t put_changes(pdl_vref before, pdl_vref now, pdl_vref definitions, pdl_buf *out) {
    size_t count = 0;
    for (size_t i = 0; i < pdl_dict_len(now); i++) {
        pdl_vref server = pdl_dict_key_at(now, i), tools = pdl_dict_val_at(now, i);
        for (size_t k = 0; k < pdl_dict_len(tools); k++, count++) {
            pdl_vref tool = pdl_dict_key_at(tools, k), old = hash_in(before, server, tool);
            if (pdl_val_eq(old, pdl_dict_val_at(tools, k))) continue;
            put_change(out, pdl_is_absent(old) ? "new" : "changed", server, tool);
            put_definition(out, definitions, server, tool);
        }
    }
    for (size_t i = 0; i < pdl_dict_len(before); i++) {
        pdl_vref server = pdl_dict_key_at(before, i), tools = pdl_dict_val_at(before, i);
        for (size_t k = 0; k < pdl_dict_len(tools); k++)
            if (pdl_is_absent(hash_in(now, server, pdl_dict_key_at(tools, k))))
                put_change(out, "gone", server, pdl_dict_key_at(tools, k));
    }
    return count;
}

/* Writes the lock file. Servers that are not named keep their entries. */
static int lock(pdl_session *s, pdl_str file, const pdl_str *servers, size_t n) {
    pdl_err err = {0};
    pdl_val before, now, definitions = pdl_dict_new(4);
    pdl_buf text = PDL_BUF, changes = PDL_BUF;
    char *path = pdl_str_dup(file);
    if (!read_lock(file, &before, &err)) {
        pdl_drop(before);
        pdl_drop(definitions);
        pdl_free(path);
        return failed(&err, s);
    }
    now = n ? pdl_keep(before) : pdl_dict_new(4);
    bool ok = pdl_session_lock_tools(s, servers, n, &now, &definitions, &err) &&
              pdl_lock_write(now, &text, &err) &&
              pdl_file_write(path, pdl_buf_str(&text), PDL_FILE_ATOMIC, &err);
    int code = ok ? 0 : failed(&err, s);
    if (ok) {
        size_t count = put_changes(before, now, definitions, &changes);
        pdl_buf_putf(&changes, "%zu tools of %zu servers are locked in %s\n", count,
                     pdl_dict_len(now), path);
        code = pdl_cli_put_stdout(pdl_buf_str(&changes));
    }
    pdl_drop(before);
    pdl_drop(now);
    pdl_drop(definitions);
    pdl_buf_fini(&text);
    pdl_buf_fini(&changes);
    pdl_free(path);
    return code;
}

/* Returns the mistake in the command line; NULL when it has none. */
static const char *misuse(const arguments *a) {
    pdl_str action = a->files.n ? a->files.p[0] : (pdl_str){0};
    bool locks = pdl_str_is(action, "lock");
    if (!locks && !pdl_str_is(action, "show") && !pdl_str_is(action, "check"))
        return action.n ? "argument ACTION: choose from show, check, lock"
                        : "the following arguments are required: ACTION NAME";
    if (a->files.n < 2)
        return locks ? "the following arguments are required: FILE"
                     : "the following arguments are required: NAME";
    if (a->given[OPT_json] && !pdl_str_is(action, "check")) return "--json is for check";
    return !locks && a->files.n > 2 ? "one NAME is enough" : NULL;
}

/* Returns true for the path of a file that does not exist. A word that has neither a slash nor a
 * dot may be the name of a built-in policy; a wrong name is reported when the policy is
 * searched. */
static bool is_missing(pdl_str name) {
    bool is_path = memchr(name.p, '/', name.n) || memchr(name.p, '.', name.n);
    return is_path && pdl_file_kind_named(name) == PDL_FILE_NONE;
}

int pdl_cli_cmd_policy(const arguments *a) {
    const char *wrong = misuse(a);
    if (wrong) return pdl_cli_refuse(a, wrong);
    if (!pdl_str_is(a->files.p[0], "lock") && is_missing(a->files.p[1])) {
        pdl_buf why = PDL_BUF;
        pdl_buf_putf(&why, "there is no file %.*s", PDL_FMT(a->files.p[1]));
        int code = pdl_cli_refuse(a, pdl_buf_z(&why));
        pdl_buf_fini(&why);
        return code;
    }
    pdl_str action = a->files.p[0], name = a->files.p[1];
    pdl_session *s = NULL;
    pdl_err err = {0};
    pdl_session_options o = {
        .program.file = name,
        .run.purpose = pdl_str_is(action, "lock") ? PDL_FOR_RUNS : PDL_FOR_TEXT,
    };
    if (!pdl_session_new(&o, &s, &err)) return failed(&err, NULL);
    int code = pdl_str_is(action, "show")   ? show(s, name)
               : pdl_str_is(action, "lock") ? lock(s, name, a->files.p + 2, a->files.n - 2)
                                            : check(s, name, a->given[OPT_json]);
    pdl_session_free(s);
    return code;
}
