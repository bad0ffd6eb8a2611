/* fuzz_journal.c -- the replay of a damaged recording. The input overwrites bytes of a good file:
 * three bytes are a place and one byte is the new value, again and again. When bytes are left at
 * the end of the input, the file is cut. Properties: the outcome is an error of kind replay or io
 * with a text, or rows that are the same when they are read again. An effect gets one answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include <stdio.h>
#include <unistd.h>

#include "../tests/unit/script_world.h"
#include "journal/journal.h"

static void no_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    FUZZ_MUST(fuzz_is_text(text));
}

static void count_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    (void)e;
    ++*(int *)user;
    FUZZ_MUST(r->err.kind ? r->err.msg != NULL : !pdl_is_absent(r->value));
}

static pdl_effect *effect_new(uint32_t id, int *replies) {
    pdl_val messages =
        pdl_list_push(pdl_list_new(1), pdl_dict_putz(pdl_dict_new(1), "content", pdl_textz("q")));
    pdl_val request = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(3), "model", pdl_textz("m")),
                                    "messages", messages);
    const pdl_effect_sink sink = {.user = replies, .piece = no_piece, .reply = count_reply};
    return pdl_effect_new(PDL_EFFECT_model, (pdl_effect_at){.id = id, .seq = id - 1},
                          pdl_dict_putz(request, "n", pdl_int(id)), sink);
}

static pdl_str file_of(char *name, size_t cap, const char *what) {
    const char *dir = getenv("TMPDIR");
    snprintf(name, cap, "%s/pdl-fuzz-%ld-%s", dir ? dir : "/tmp", (long)getpid(), what);
    return pdl_str_of(name);
}

/* A recording of three answers, made once. */
static const pdl_buf *good_file(void) {
    static pdl_buf bytes = PDL_BUF;
    char name[256], chunk[4096];
    if (bytes.len) return &bytes;
    static const char lines[][40] = {"answer", "caf\xc3\xa9", ""};
    pdl_val script = pdl_list_new(3);
    for (size_t i = 0; i < 3; i++)
        script = pdl_list_push(
            script, pdl_dict_putz(pdl_dict_new(1), "reply",
                                  pdl_dict_putz(pdl_dict_new(1), "content", pdl_textz(lines[i]))));
    pdl_world *behind = script_world_new(script, 0);
    pdl_journal *j;
    pdl_err err = {0};
    pdl_str path = file_of(name, sizeof name, "good");
    unlink(name);
    FUZZ_MUST(pdl_journal_record(
        path, &(pdl_journal_info){.file = PDL_STR("p.pdl"), .version = PDL_STR("0")}, &j, &err));
    int replies = 0;
    pdl_world *recorder = pdl_journal_world(j, behind);
    for (uint32_t i = 1; i <= 3; i++) recorder->ops->start(recorder, effect_new(i, &replies));
    FUZZ_MUST(replies == 3);
    pdl_journal_close(j);
    behind->ops->close(behind);
    FILE *f = fopen(name, "rb");
    FUZZ_MUST(f);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        pdl_buf_put(&bytes, (pdl_str){chunk, n});
    fclose(f);
    unlink(name);
    return &bytes;
}

static bool note_row(void *user, const pdl_journal_row *row) {
    pdl_buf_putf(user, "%lld %u|", (long long)row->id, row->seq);
    pdl_buf_put(user, row->place);
    pdl_buf_put(user, row->kind);
    pdl_buf_put(user, row->request);
    pdl_buf_put(user, row->reply);
    pdl_buf_put(user, row->error);
    return true;
}

static bool rows_of(pdl_str path, pdl_buf *out) {
    pdl_err err = {0};
    bool ok = pdl_journal_each(path, note_row, out, &err);
    FUZZ_MUST(ok || ((err.kind == PDL_E_replay || err.kind == PDL_E_io) && err.msg && err.msg[0]));
    pdl_err_fini(&err);
    return ok;
}

static void replay(pdl_str path) {
    pdl_journal *j;
    pdl_err err = {0};
    if (!pdl_journal_replay(path, &j, &err)) {
        FUZZ_MUST((err.kind == PDL_E_replay || err.kind == PDL_E_io) && err.msg && err.msg[0]);
        pdl_err_fini(&err);
        return;
    }
    for (uint32_t i = 1; i <= 4; i++) {
        int replies = 0;
        pdl_world *w = pdl_journal_world(j, NULL);
        w->ops->start(w, effect_new(i, &replies));
        for (int k = 0; k < 4 && !replies; k++) w->ops->poll(w, 0);
        FUZZ_MUST(replies == 1);
    }
    pdl_journal_close(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const pdl_buf *good = good_file();
    pdl_buf bytes = PDL_BUF, a = PDL_BUF, b = PDL_BUF;
    char name[256];
    pdl_buf_put(&bytes, pdl_buf_str(good));
    for (size_t i = 0; i + 4 <= size; i += 4)
        bytes.p[((size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2]) % bytes.len] =
            (char)data[i + 3];
    if (size % 4 == 3)
        pdl_buf_cut(&bytes,
                    ((size_t)data[size - 3] << 16 | (size_t)data[size - 2] << 8 | data[size - 1]) %
                        bytes.len);
    pdl_str path = file_of(name, sizeof name, "damaged");
    FILE *f = fopen(name, "wb");
    FUZZ_MUST(f && fwrite(bytes.len ? bytes.p : "", 1, bytes.len, f) == bytes.len &&
              fclose(f) == 0);
    bool ok = rows_of(path, &a);
    FUZZ_MUST(rows_of(path, &b) == ok && pdl_str_eq(pdl_buf_str(&a), pdl_buf_str(&b)));
    replay(path);
    unlink(name);
    pdl_buf_fini(&bytes);
    pdl_buf_fini(&a);
    pdl_buf_fini(&b);
    return 0;
}
