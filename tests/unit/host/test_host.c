/* test_host.c -- the world of files, standard input and time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host/host.h"
#include "io/line_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "t.h"
#include "value/json_read.h"
#include "value/text.h"

#include "base/banned.h"

static struct {
    pdl_loop *loop;
    pdl_world *world;
    pdl_buf got; /* answers: repr of the value, or "KIND: MSG" */
    pdl_buf shown;
    char dir[64];
} t;

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    (void)user;
    (void)e;
    pdl_err err = {0};
    if (t.got.len) pdl_buf_putc(&t.got, '\n');
    if (r->err.kind)
        pdl_buf_putf(&t.got, "%s: %s", pdl_err_kind_name(r->err.kind), r->err.msg);
    else
        assert_true(pdl_val_repr(r->value, &t.got, &err));
}

static void flush(void *user) {
    (void)user;
    pdl_buf_putc(&t.shown, '.');
}

static bool row(void *user, pdl_buf *out) {
    (void)user;
    (void)out;
    return false;
}

static void row_ended(void *user, bool is_shown) {
    (void)user;
    (void)is_shown;
}

static const pdl_line_terminal terminal = {NULL, flush, row, row_ended};

static void open_world(int fd) {
    pdl_host_options o = {.terminal = &terminal, .has_input_fd = true, .input_fd = fd};
    t.loop = pdl_loop_new();
    t.world = pdl_host_world_new(t.loop, &o);
    t.got = t.shown = PDL_BUF;
}

static void close_world(void) {
    t.world->ops->close(t.world);
    pdl_loop_free(t.loop);
    pdl_buf_fini(&t.got);
    pdl_buf_fini(&t.shown);
}

/* '@' in the request represents the directory of the test. */
static uint32_t start(pdl_effect_kind kind, const char *request) {
    static uint32_t id;
    pdl_buf b = PDL_BUF;
    pdl_val v;
    pdl_err err = {0};
    for (const char *p = request; *p; p++) {
        if (*p == '@')
            pdl_buf_put(&b, t_str(t.dir));
        else
            pdl_buf_putc(&b, *p);
    }
    assert_true(pdl_json_read(pdl_buf_str(&b), 0, &v, NULL, &err));
    pdl_buf_fini(&b);
    pdl_effect_sink sink = {.user = NULL, .piece = NULL, .reply = on_reply};
    t.world->ops->start(t.world, pdl_effect_new(kind, (pdl_effect_at){.id = ++id}, v, sink));
    return id;
}

static void run(void) {
    while (t.world->ops->poll(t.world, -1)) {}
}

static void write_bytes(const char *name, const char *bytes, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", t.dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* In order, in one world. */
static const struct {
    pdl_effect_kind kind;
    const char *request, *want;
} rows[] = {
    {PDL_EFFECT_read, "{\"path\":\"@/crlf\",\"shown\":\"crlf\"}", "'a\\nb\\n\\nc'"},
    {PDL_EFFECT_read, "{\"path\":\"@/none\",\"shown\":\"./none\"}", "io: file ./none not found"},
    {PDL_EFFECT_read, "{\"path\":\"@\",\"shown\":\"d\"}", "io: Fail to open file d"},
    {PDL_EFFECT_read, "{\"path\":\"@/bad\",\"shown\":\"bad\"}", "io: Fail to open file bad"},
    {PDL_EFFECT_read, "{\"path\":\"@/a\\u0000\",\"shown\":\"nul\"}", "io: Fail to open file nul"},
    {PDL_EFFECT_source, "{\"path\":\"@/crlf\"}", "'a\\r\\nb\\r\\n\\rc'"},
    {PDL_EFFECT_source, "{\"path\":\"@/none\"}", "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/o\",\"mode\":\"w\",\"text\":\"one \\u00e9\",\"encoding\":\"utf-8\"}", "None"},
    {PDL_EFFECT_read, "{\"path\":\"@/o\"}", "'one \xc3\xa9'"}, /* nothing is held back */
    {PDL_EFFECT_write,
     "{\"path\":\"@/o\",\"mode\":\"w\",\"text\":\" two\",\"encoding\":\"utf-8\",\"close\":true}",
     "None"},
    {PDL_EFFECT_read, "{\"path\":\"@/o\"}", "'one \xc3\xa9 two'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/o\",\"mode\":\"a\",\"text\":\"+\",\"encoding\":null,\"close\":true}", "None"},
    {PDL_EFFECT_read, "{\"path\":\"@/o\"}", "'one \xc3\xa9 two+'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/o\",\"mode\":\"w\",\"text\":\"\",\"encoding\":\"UTF8\",\"close\":true}",
     "None"},
    {PDL_EFFECT_read, "{\"path\":\"@/o\"}", "''"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/"
     "l\",\"mode\":\"x\",\"text\":\"A\\u0042\",\"encoding\":\"Latin_1\",\"close\":true}",
     "None"},
    {PDL_EFFECT_read, "{\"path\":\"@/l\"}", "'AB'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/u\",\"mode\":\"wt\",\"text\":\"A\",\"encoding\":\"utf-8-sig\"}", "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/u\",\"mode\":\"wt\",\"text\":\"B\",\"encoding\":\"utf-8-sig\",\"close\":true}",
     "None"},
    {PDL_EFFECT_read, "{\"path\":\"@/u\"}", "'\\ufeffAB'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: invalid mode: ''"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"ww\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: invalid mode: 'ww'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"w++\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: invalid mode: 'w++'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"wtt\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: invalid mode: 'wtt'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"wbb\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: invalid mode: 'wbb'"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"wtb\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: can't have text and binary mode at once"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"+\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: Must have exactly one of create/read/write/append mode and at most one plus"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"wb\",\"text\":\"\",\"encoding\":null,\"close\":true}",
     "expression: binary mode doesn't take an encoding argument"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/m\",\"mode\":\"w+\",\"text\":\"abc\",\"encoding\":null,\"close\":true}",
     "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/"
     "h\",\"mode\":\"w\",\"text\":\"\\u00e9\\ud83d\\ude00\",\"encoding\":\"utf-16\",\"close\":"
     "true}",
     "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/h\",\"mode\":\"a\",\"text\":\"x\",\"encoding\":\"utf_16_be\",\"close\":true}",
     "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/b6\",\"mode\":\"w\",\"text\":\"\\ud83d\\ude00\",\"encoding\":\"utf-16\"}",
     "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/b6\",\"mode\":\"w\",\"text\":\"a\",\"encoding\":\"utf-16\",\"close\":true}",
     "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/le\",\"mode\":\"w\",\"text\":\"ab\",\"encoding\":\"utf-16-le\",\"close\":true}",
     "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/be\",\"mode\":\"w\",\"text\":\"ab\",\"encoding\":\"utf-16be\",\"close\":true}",
     "None"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/"
     "v\",\"mode\":\"w\",\"text\":\"\\u20ac\",\"encoding\":\"latin-1\",\"close\":true}",
     "expression: 'latin-1' codec can't encode character '\\u20ac' in position 0: ordinal not in "
     "range(256)"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/"
     "v\",\"mode\":\"w\",\"text\":\"\\ud83d\\ude00\",\"encoding\":\"ascii\",\"close\":true}",
     "expression: 'ascii' codec can't encode character '\\U0001f600' in position 0: ordinal not in "
     "range(128)"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/v\",\"mode\":\"w\",\"text\":\"\",\"encoding\":\"a name that is longer than "
     "any\",\"close\":true}",
     "expression: unknown encoding: a name that is longer than any"},
    {PDL_EFFECT_write, "{\"path\":\"@/v\",\"mode\":\"q\",\"text\":\"\"}",
     "expression: invalid mode: 'q'"},
    {PDL_EFFECT_write, "{\"path\":\"@/v\",\"mode\":\"w\",\"text\":\"\",\"encoding\":\"foo\"}",
     "expression: unknown encoding: foo"},
    {PDL_EFFECT_write,
     "{\"path\":\"@/"
     "v\",\"mode\":\"w\",\"text\":\"a\\u00e9\",\"encoding\":\"ascii\",\"close\":true}",
     "expression: 'ascii' codec can't encode character '\\xe9' in position 1: ordinal not in "
     "range(128)"},
    {PDL_EFFECT_sleep, "{\"seconds\":-1}", "None"},
    {PDL_EFFECT_sleep, "{\"seconds\":0.001}", "None"},
    {PDL_EFFECT_model, "{}", "runtime: no world answers effects of this kind"},
};

static void requests_are_answered(void **state) {
    (void)state;
    open_world(0);
    write_bytes("crlf", "a\r\nb\r\n\rc", 8);
    write_bytes("bad", "a\xff", 2);
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf_clear(&t.got);
        start(rows[i].kind, rows[i].request);
        run();
        t_assert_str(pdl_buf_str(&t.got), rows[i].want);
    }
    pdl_buf_clear(&t.got);
    start(PDL_EFFECT_write, "{\"path\":\"@/l\",\"mode\":\"x\",\"text\":\"\"}");
    t_assert(pdl_str_starts(pdl_buf_str(&t.got), PDL_STR("io: [Errno 17] File exists: '")));
    close_world();
}

/* What the rows above wrote in other encodings than UTF-8. */
static void files_have_their_encoding(void **state) {
    static const struct {
        const char *name, *bytes;
        size_t n;
    } files[] = {
        {"m", "abc", 3},
        {"h", "\xff\xfe\xe9\x00\x3d\xd8\x00\xde\x00x", 10},
        {"b6", "\xff\xfe\x3d\xd8\x00\xde\x61\x00", 8},
        {"le",
         "a\x00"
         "b",
         4},
        {"be",
         "\x00"
         "a\x00"
         "b",
         4},
    };
    (void)state;
    for (size_t i = 0; i < T_LEN(files); i++) {
        T_ROW(i);
        char path[128], got[32];
        snprintf(path, sizeof path, "%s/%s", t.dir, files[i].name);
        FILE *f = fopen(path, "rb");
        t_assert(f != NULL);
        size_t n = fread(got, 1, sizeof got, f);
        fclose(f);
        t_assert(n == files[i].n && memcmp(got, files[i].bytes, n) == 0);
    }
}

static void lines_are_shared_out_in_order(void **state) {
    (void)state;
    int p[2];
    assert_int_equal(pipe(p), 0);
    open_world(p[0]);
    uint32_t gone = start(PDL_EFFECT_input, "{\"prompt\":\"first\"}");
    start(PDL_EFFECT_input, "{\"prompt\":\"a? \"}");
    start(PDL_EFFECT_input, "{}");
    t.world->ops->cancel(t.world, gone);
    t.world->ops->cancel(t.world, 9999);
    assert_int_equal(write(p[1], "l\xc3", 2), 2);
    pdl_loop_run(t.loop, 50);
    t_assert_str(pdl_buf_str(&t.got), "");
    assert_int_equal(write(p[1], "\xa9\r\nx\ny\nz", 8), 8);
    run();
    t_assert_str(pdl_buf_str(&t.got), "'l\xc3\xa9'\n'x'");
    t_assert_str(pdl_buf_str(&t.shown), "...");
    pdl_buf_clear(&t.got);
    start(PDL_EFFECT_input, "{\"multiline\":true}");
    start(PDL_EFFECT_input, "{}");
    start(PDL_EFFECT_input, "{\"multiline\":true}");
    close(p[1]);
    run();
    t_assert_str(pdl_buf_str(&t.got), "'y\\nz\\n'\nNone\n''");
    close_world();
    close(p[0]);
}

static void a_file_may_be_the_input(void **state) {
    (void)state;
    write_bytes("in", "one\n\nlast", 9);
    char path[128];
    snprintf(path, sizeof path, "%s/in", t.dir);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    open_world(fileno(f));
    for (int i = 0; i < 4; i++) start(PDL_EFFECT_input, "{}");
    run();
    t_assert_str(pdl_buf_str(&t.got), "'one'\n''\n'last'\nNone");
    close_world();
    fclose(f);
}

static void what_waits_ends_with_the_world(void **state) {
    (void)state;
    int p[2];
    assert_int_equal(pipe(p), 0);
    open_world(p[0]);
    start(PDL_EFFECT_input, "{}");
    start(PDL_EFFECT_sleep, "{\"seconds\":1e300}");
    assert_true(t.world->ops->poll(t.world, 0));
    t_assert_str(pdl_buf_str(&t.got), "");
    close_world();
    close(p[0]);
    close(p[1]);
}

static int make_dir(void **state) {
    (void)state;
    snprintf(t.dir, sizeof t.dir, "/tmp/pdl_test_host.XXXXXX");
    return mkdtemp(t.dir) ? 0 : 1;
}

static int remove_dir(void **state) {
    static const char *const names[] = {"crlf", "bad", "o", "l",  "u",  "v",
                                        "in",   "m",   "h", "b6", "le", "be"};
    (void)state;
    for (size_t i = 0; i < T_LEN(names); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", t.dir, names[i]);
        remove(path);
    }
    return rmdir(t.dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(files_have_their_encoding),
        cmocka_unit_test(lines_are_shared_out_in_order),
        cmocka_unit_test(a_file_may_be_the_input),
        cmocka_unit_test(what_waits_ends_with_the_world),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
