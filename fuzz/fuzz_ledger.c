/* fuzz_ledger.c -- the damaged journal of a batch. The input overwrites bytes of a good file: three
 * bytes are a place and one byte is the new value, again and again. When bytes are left at the end
 * of the input, the file is cut. Properties: the outcome is an error of kind replay or io with a
 * text, or ordered rows that are the same when they are read again. A row that was read can be
 * removed, and is then absent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/ledger.h"
#include "folder.h"

static const char *const facts[] = {"program", "columns", "written"};

static void make_good(const char *path) {
    pdl_ledger *l;
    pdl_err err = {0};
    bool is_new;
    FUZZ_MUST(pdl_ledger_take(pdl_str_of(path), false, &l, &is_new, &err));
    for (int i = 0; i < 3; i++) FUZZ_MUST(pdl_ledger_put_fact(l, facts[i], PDL_STR("12"), &err));
    for (int64_t i = 1; i <= 40; i++) {
        pdl_ledger_row r = {.number = i,
                            .hash = PDL_STR("00112233445566778899aabbccddeeff"),
                            .failed = i % 7 == 0,
                            .start = 1e9,
                            .end = 1e9 + 1,
                            .facts = PDL_STR("{\"calls\": 1}"),
                            .output = PDL_STR("{\"result\": \"caf\xc3\xa9\"}")};
        FUZZ_MUST(pdl_ledger_put(l, &r, &err));
    }
    FUZZ_MUST(pdl_ledger_commit(l, &err));
    pdl_ledger_close(l, true);
}

static const pdl_buf *good_file(void) {
    static pdl_buf bytes = PDL_BUF;
    char chunk[4096];
    if (bytes.len) return &bytes;
    fuzz_folder f = fuzz_folder_new();
    char *path = fuzz_file(&f, "good");
    make_good(path);
    FILE *in = fopen(path, "rb");
    FUZZ_MUST(in);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, in)) > 0;)
        pdl_buf_put(&bytes, (pdl_str){chunk, n});
    fclose(in);
    pdl_free(path);
    fuzz_folder_remove(&f);
    return &bytes;
}

typedef struct rows {
    pdl_buf text;
    int64_t last;
    size_t n;
} rows;

static bool note(void *user, const pdl_ledger_row *r) {
    rows *all = user;
    FUZZ_MUST(all->n == 0 || r->number > all->last);
    all->last = r->number;
    all->n++;
    pdl_buf_putf(&all->text, "%lld %d %.*s|%.*s|%.*s\n", (long long)r->number, r->failed,
                 PDL_FMT(r->hash), PDL_FMT(r->facts), PDL_FMT(r->output));
    return all->n < 1000;
}

/* Returns ok, which is true when the file was read to its end. Checks the error otherwise. */
static bool ended(bool ok, pdl_err *err) {
    FUZZ_MUST(ok ||
              ((err->kind == PDL_E_replay || err->kind == PDL_E_io || err->kind == PDL_E_limit) &&
               err->msg && err->msg[0]));
    pdl_err_fini(err);
    return ok;
}

static void read_all(pdl_ledger *l) {
    rows once = {.text = PDL_BUF}, again = {.text = PDL_BUF};
    pdl_buf fact = PDL_BUF;
    pdl_err err = {0};
    for (int i = 0; i < 3; i++) {
        (void)ended(pdl_ledger_get_fact(l, facts[i], &fact, &err), &err);
        pdl_buf_clear(&fact);
    }
    bool ok = ended(pdl_ledger_each(l, 0, note, &once, &err), &err) &&
              ended(pdl_ledger_each(l, 0, note, &again, &err), &err);
    FUZZ_MUST(!ok || pdl_str_eq(pdl_buf_str(&once.text), pdl_buf_str(&again.text)));
    if (ok && once.n && ended(pdl_ledger_forget(l, once.last, &err), &err)) {
        rows one = {.text = PDL_BUF};
        if (ended(pdl_ledger_find(l, once.last, note, &one, &err), &err)) FUZZ_MUST(!one.n);
        pdl_buf_fini(&one.text);
    }
    pdl_buf_fini(&fact);
    pdl_buf_fini(&once.text);
    pdl_buf_fini(&again.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_keep_library("libsqlite3.so.0");
    const pdl_buf *good = good_file();
    pdl_buf bytes = PDL_BUF;
    pdl_err err = {0};
    pdl_ledger *l = NULL;
    pdl_buf_put(&bytes, pdl_buf_str(good));
    for (; size >= 4; data += 4, size -= 4) {
        size_t at = ((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % bytes.len;
        bytes.p[at] = (char)data[3];
    }
    if (size) pdl_buf_cut(&bytes, bytes.len * data[0] / 256);
    fuzz_folder f = fuzz_folder_new();
    char *path = fuzz_file(&f, "l");
    fuzz_write(path, pdl_buf_str(&bytes));
    bool is_new;
    if (ended(pdl_ledger_take(pdl_str_of(path), false, &l, &is_new, &err), &err)) {
        read_all(l);
        pdl_ledger_close(l, true);
    }
    pdl_free(path);
    pdl_buf_fini(&bytes);
    fuzz_folder_remove(&f);
    return 0;
}
