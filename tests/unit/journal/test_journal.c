/* test_journal.c -- a replay gives what was recorded: the same answers, pieces in order, errors. An
 * effect that was not recorded fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "script_world.h"
#include "t.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "journal/journal.h"
#include "journal/recording_impl.h"
#include "value/json_read.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_val json(const char *text) {
    pdl_err err = {0};
    pdl_val v;
    if (!pdl_json_read(t_str(text), 0, &v, NULL, &err)) fail_msg("%s: %s", text, err.msg);
    return v;
}

/* What came back, as one line of text. */
static pdl_buf heard;

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    pdl_buf_putf(&heard, "%u+%.*s ", e->id, PDL_FMT(text));
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    (void)user;
    pdl_err err = {0};
    pdl_buf_putf(&heard, "%u=", e->id);
    if (r->err.kind)
        pdl_buf_putf(&heard, "!%s %s%s ", pdl_err_kind_name(r->err.kind), r->err.msg,
                     r->err.uncatchable ? " (final)" : "");
    else
        t_assert(pdl_effect_encode(r->value, &heard, &err));
    pdl_buf_putc(&heard, ' ');
}

static void ask(pdl_world *w, uint32_t id, pdl_effect_kind kind, const char *place, uint32_t seq,
                const char *request) {
    pdl_path *p = pdl_path_name(NULL, place);
    pdl_effect *e =
        pdl_effect_new(kind, (pdl_effect_at){.id = id, .place = p, .seq = seq}, json(request),
                       (pdl_effect_sink){.user = NULL, .piece = on_piece, .reply = on_reply});
    pdl_path_drop(p);
    w->ops->start(w, e);
}

static char *fresh_path(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/test_journal_%d.db", (int)getpid());
    unlink(path);
    return path;
}

static const char script[] =
    "[{\"kind\": \"model\", \"reply\": {\"content\": \"hi\"}, \"pieces\": [\"h\", \"i\"]},"
    " {\"kind\": \"read\", \"reply\": \"text\"},"
    " {\"kind\": \"model\", \"error\": {\"kind\": \"rate_limit\", \"message\": \"slow\", "
    "\"status\": 429}},"
    " {\"kind\": \"now\", \"reply\": 1.5}, {\"kind\": \"now\", \"reply\": 2.5}]";

static const char m1[] = "{\"model\": \"m\", \"messages\": [], \"parameters\": {\"api_key\": "
                         "\"sk-1\", \"temperature\": 0}, \"stream\": true}";

static void ask_all(pdl_world *w) {
    pdl_buf_clear(&heard);
    ask(w, 1, PDL_EFFECT_model, "a", 0, m1);
    ask(w, 2, PDL_EFFECT_read, "b", 0, "{\"path\": \"f\"}");
    ask(w, 3, PDL_EFFECT_model, "a", 1, m1);
    ask(w, 4, PDL_EFFECT_now, "c", 0, "{}");
    ask(w, 5, PDL_EFFECT_now, "c", 0, "{}");
    while (w->ops->poll(w, -1)) {}
}

static const char all_heard[] =
    "1+h 1+i 1={\"content\":\"hi\"} 2=\"text\" 3=!rate_limit slow  4=1.5 5=2.5 ";

static void record_all(const char *path) {
    pdl_err err = {0};
    pdl_journal *j;
    pdl_world *behind = script_world_new(json(script), 1);
    pdl_secrets *secrets = pdl_secrets_new();
    pdl_secrets_add(secrets, PDL_STR("some key"));
    pdl_journal_info info = {.file = PDL_STR("x.pdl"), .version = PDL_STR("1"), .secrets = secrets};
    if (!pdl_journal_record(t_str(path), &info, &j, &err)) fail_msg("%s", err.msg);
    ask_all(pdl_journal_world(j, behind));
    t_assert_str(pdl_buf_str(&heard), all_heard);
    t_assert(pdl_journal_finish(j, &err));
    pdl_journal_close(j);
    pdl_secrets_free(secrets);
    behind->ops->close(behind);
}

static pdl_journal *open_replay(const char *path) {
    pdl_err err = {0};
    pdl_journal *j;
    if (!pdl_journal_replay(t_str(path), &j, &err)) fail_msg("%s", err.msg);
    return j;
}

static void test_same(void **state) {
    (void)state;
    char *path = fresh_path();
    record_all(path);
    pdl_journal *j = open_replay(path);
    ask_all(pdl_journal_world(j, NULL));
    /* models answer from poll, what is waited for at once is answered at once */
    t_assert_str(pdl_buf_str(&heard),
                 "2=\"text\" 4=1.5 5=2.5 1+h 1+i 1={\"content\":\"hi\"} 3=!rate_limit slow  ");
    pdl_journal_close(j);
    char side[80];
    snprintf(side, sizeof side, "%s-journal", path);
    t_assert(access(side, F_OK) != 0);
}

static void test_other_request(void **state) {
    (void)state;
    char *path = fresh_path();
    record_all(path);
    static const struct {
        const char *place;
        uint32_t seq;
        const char *request;
        bool found;
    } rows[] = {
        {"a", 0,
         "{\"model\": \"m\", \"messages\": [], \"parameters\": {\"temperature\": 0}, \"stream\": "
         "false}",
         true}, /* neither key nor stream */
        {"a", 0, "{\"model\": \"n\", \"messages\": [], \"parameters\": {\"temperature\": 0}}",
         false},
        {"a", 2, m1, false},
        {"z", 0, m1, false},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_journal *j = open_replay(path);
        pdl_world *w = pdl_journal_world(j, NULL);
        pdl_buf_clear(&heard);
        ask(w, 9, PDL_EFFECT_model, rows[i].place, rows[i].seq, rows[i].request);
        t_assert(w->ops->poll(w, -1));
        t_assert(!w->ops->poll(w, -1));
        pdl_buf want = PDL_BUF;
        if (rows[i].found)
            PDL_PUT(&want, "9+h 9+i 9={\"content\":\"hi\"} ");
        else
            pdl_buf_putf(&want,
                         "9=!replay replay: %s has no reply for %s (model): the program asks "
                         "something else than was recorded (final)  ",
                         path, rows[i].place);
        t_assert_str(pdl_buf_str(&heard), pdl_buf_z(&want));
        pdl_buf_fini(&want);
        pdl_journal_close(j);
    }
}

static void test_cancel(void **state) {
    (void)state;
    char *path = fresh_path();
    record_all(path);
    pdl_journal *j = open_replay(path);
    pdl_world *w = pdl_journal_world(j, NULL);
    pdl_buf_clear(&heard);
    ask(w, 1, PDL_EFFECT_model, "a", 0, m1);
    ask(w, 3, PDL_EFFECT_model, "a", 1, m1);
    w->ops->cancel(w, 1);
    w->ops->cancel(w, 77);
    t_assert(w->ops->poll(w, 0));
    t_assert(!w->ops->poll(w, 0));
    t_assert_str(pdl_buf_str(&heard), "3=!rate_limit slow  ");
    ask(w, 4, PDL_EFFECT_model, "a", 1, m1); /* each answer is given once */
    pdl_journal_close(j);
}

/* The process dies while an effect is open: what was answered is there, the rest counts as not
 * recorded. */
static void test_killed(void **state) {
    (void)state;
    char *path = fresh_path();
    pdl_err err = {0};
    pdl_journal *j;
    pdl_world *behind = script_world_new(json(script), 1);
    t_assert(pdl_journal_record(t_str(path), &(pdl_journal_info){0}, &j, &err));
    pdl_world *w = pdl_journal_world(j, behind);
    pdl_buf_clear(&heard);
    ask(w, 1, PDL_EFFECT_model, "a", 0, m1);
    t_assert(w->ops->poll(w, -1));
    ask(w, 2, PDL_EFFECT_read, "b", 0, "{\"path\": \"f\"}");
    pdl_journal_close(j); /* the open effect is dropped */
    behind->ops->close(behind);
    j = open_replay(path);
    w = pdl_journal_world(j, NULL);
    pdl_buf_clear(&heard);
    ask(w, 2, PDL_EFFECT_read, "b", 0, "{\"path\": \"f\"}");
    t_assert(strstr(pdl_buf_z(&heard), "has no reply for b (read)") != NULL);
    ask(w, 1, PDL_EFFECT_model, "a", 0, m1);
    t_assert(w->ops->poll(w, -1));
    pdl_journal_close(j);
}

/* Looking for rows ends when the run is to end. */
static void test_stopped(void **state) {
    (void)state;
    char *path = fresh_path();
    record_all(path);
    pdl_journal *j = open_replay(path);
    volatile int flag = 15; /* SIGTERM */
    const pdl_cancel scope = {.flag = &flag};
    const pdl_cancel *before = pdl_cancel_enter(&scope);
    pdl_buf_clear(&heard);
    for (uint32_t i = 0; i < 3000; i++)
        ask(pdl_journal_world(j, NULL), i + 1, PDL_EFFECT_read, "b", i + 1, "{\"path\": \"f\"}");
    (void)pdl_cancel_enter(before);
    t_assert(strstr(pdl_buf_z(&heard), "!terminated ended by a signal (final)") != NULL);
    pdl_journal_close(j);
}

static void expect_no_replay(const char *path, pdl_err_kind kind, const char *part) {
    pdl_err err = {0};
    pdl_journal *j;
    t_assert(!pdl_journal_replay(t_str(path), &j, &err));
    assert_int_equal(err.kind, kind);
    if (!strstr(err.msg, part)) fail_msg("row %zu: %s has no <%s>", t_row, err.msg, part);
    pdl_err_fini(&err);
}

static void test_bad_files(void **state) {
    (void)state;
    char *path = fresh_path();
    pdl_err err = {0};
    pdl_journal *j;
    T_ROW(0);
    expect_no_replay(path, PDL_E_io, "cannot open");
    record_all(path);
    T_ROW(1);
    t_assert(!pdl_journal_record(t_str(path), &(pdl_journal_info){0}, &j, &err));
    assert_int_equal(err.kind, PDL_E_usage);
    pdl_err_fini(&err);
    T_ROW(2);
    t_assert(truncate(path, 8192 + 1000) == 0);
    expect_no_replay(path, PDL_E_replay, path);
    T_ROW(3);
    FILE *f = fopen(path, "w");
    t_assert(f &&
             fputs("not a database, only some text that is long enough to be looked at by it", f) >=
                 0 &&
             fclose(f) == 0);
    expect_no_replay(path, PDL_E_replay, path);
    T_ROW(4);
    t_assert(truncate(path, 0) == 0);
    expect_no_replay(path, PDL_E_usage, "is not a recording");
}

static bool find_secret(void *user, const pdl_journal_row *row) {
    size_t *n = user;
    ++*n;
    pdl_str all[] = {row->request, row->reply, row->error};
    for (size_t i = 0; i < 3; i++) {
        if (!all[i].p) continue;
        t_assert(pdl_str_find(all[i], PDL_STR("sk-1"), 0) == PDL_NOT_FOUND);
        t_assert(pdl_str_find(all[i], PDL_STR("hush"), 0) == PDL_NOT_FOUND);
    }
    return true;
}

static void test_secrets(void **state) {
    (void)state;
    char *path = fresh_path();
    pdl_err err = {0};
    pdl_journal *j;
    pdl_world *behind =
        script_world_new(json("[{\"reply\": \"hush hush\"}, {\"error\": \"not hush\"}]"), 0);
    pdl_secrets *secrets = pdl_secrets_new();
    pdl_secrets_add(secrets, PDL_STR("hush"));
    t_assert(pdl_journal_record(t_str(path), &(pdl_journal_info){.secrets = secrets}, &j, &err));
    ask(pdl_journal_world(j, behind), 1, PDL_EFFECT_model, "a", 0, m1);
    ask(pdl_journal_world(j, behind), 2, PDL_EFFECT_read, "a", 0, "{\"path\": \"hush\"}");
    pdl_journal_close(j);
    pdl_secrets_free(secrets);
    behind->ops->close(behind);
    size_t n = 0;
    t_assert(pdl_journal_each(t_str(path), find_secret, &n, &err));
    assert_int_equal(n, 2);
}

static int finish(void **state) {
    (void)state;
    unlink(fresh_path());
    pdl_buf_fini(&heard);
    assert_int_equal(pdl_live_objects(), 0);
    return 0;
}

/* The class of Python's exception has another key in older journals. */
static void test_class_of_error(void **state) {
    static const char *const keys[] = {"py_class", "foreign"};
    (void)state;
    pdl_val request = pdl_dict_new(0);
    const pdl_effect e = {.request = request};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        pdl_err read = {0};
        pdl_val v = pdl_dict_putz(pdl_dict_new(2), "kind", pdl_textz("code"));
        v = pdl_dict_putz(v, keys[i], pdl_textz("KeyError,LookupError"));
        pdl_journal_error_read((pdl_str){"", 0}, &e, v, &read);
        assert_string_equal(read.py_class, "KeyError,LookupError");
        pdl_val again = pdl_journal_error_value((pdl_str){"", 0}, &e, &read);
        assert_true(pdl_text_is(pdl_dict_getz(again, keys[0]), "KeyError,LookupError"));
        pdl_err_fini(&read);
        pdl_drop(again);
        pdl_drop(v);
    }
    pdl_drop(request);
}

int main(void) {
    heard = PDL_BUF;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),    cmocka_unit_test(test_other_request),
        cmocka_unit_test(test_cancel),  cmocka_unit_test(test_killed),
        cmocka_unit_test(test_stopped), cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_secrets), cmocka_unit_test(test_class_of_error),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
