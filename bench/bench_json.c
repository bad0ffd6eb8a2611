/* bench_json.c -- JSON text to values and back: rows as in JSONL, one large document, the chunk of
 * a stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include "base/buf.h"
#include "parse/parse.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { ROWS = 20000 };

static const char chunk[] =
    "{\"id\":\"chatcmpl-9x2\",\"object\":\"chat.completion.chunk\",\"created\":1714000000,"
    "\"model\":\"m-4\","
    "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" world\"},\"finish_reason\":null}]}";

typedef struct {
    pdl_str text;
    pdl_json_keys keys;
    pdl_val value;
    pdl_buf out;
} work;

static void give_up(pdl_err *err) {
    fprintf(stderr, "bench_json: %s\n", err->msg);
    pdl_err_fini(err);
}

static void read_text(void *user) {
    work *w = user;
    pdl_val v;
    pdl_err err = {0};
    if (!pdl_json_read_with(w->text, PDL_JSON_PYTHON, &w->keys, &v, NULL, &err)) {
        give_up(&err);
        return;
    }
    pdl_drop(v);
}

static void read_lines(void *user) {
    const work *w = user;
    pdl_val v;
    pdl_err err = {0};
    if (!pdl_parse(&(pdl_parser){.kind = PDL_PARSE_JSONL}, w->value, &v, &err)) {
        give_up(&err);
        return;
    }
    pdl_drop(v);
}

static void write_value(void *user) {
    work *w = user;
    pdl_err err = {0};
    w->out.len = 0;
    if (!pdl_json_write(w->value, PDL_JSON_SPACED, 0, &w->out, &err)) give_up(&err);
}

/* The rows of ../shared/bench, as lines or as one list. */
static void put_rows(pdl_buf *b, bool lines) {
    if (!lines) pdl_buf_putc(b, '[');
    for (int i = 0; i < ROWS; i++) {
        if (i && !lines) pdl_buf_put(b, PDL_STR(", "));
        pdl_buf_putf(b,
                     "{\"id\": %d, \"name\": \"name %d\", \"score\": %.15g, \"tags\": [\"a\", "
                     "\"b\", \"c\"], "
                     "\"nested\": {\"x\": %d, \"y\": \"zzzzzzzzzzzzzzzzzzzz\"}}",
                     i, i, i * 0.37, i % 7);
        if (lines) pdl_buf_putc(b, '\n');
    }
    if (!lines) pdl_buf_putc(b, ']');
}

/* Prose with escapes and letters beyond ASCII, as tool results and documents are. */
static void put_texts(pdl_buf *b) {
    pdl_buf_putc(b, '[');
    for (int i = 0; i < ROWS / 4; i++)
        pdl_buf_putf(b,
                     "%s\"A paragraph of some length, \\\"quoted\\\" once, with a line break\\nand "
                     "na\xc3\xafve words; %d.\"",
                     i ? "," : "", i);
    pdl_buf_putc(b, ']');
}

static void put_numbers(pdl_buf *b) {
    pdl_buf_putc(b, '[');
    for (int i = 0; i < ROWS; i++) pdl_buf_putf(b, "%s%d,%.17g", i ? "," : "", i * 31337, i * 0.37);
    pdl_buf_putc(b, ']');
}

static void measure(const char *name, pdl_buf *b, void (*fn)(void *user)) {
    work w = {.text = pdl_buf_str(b), .value = pdl_text(pdl_buf_str(b))};
    bench_speed(name, b->len, fn, &w);
    pdl_drop(w.value);
    pdl_json_keys_fini(&w.keys);
    pdl_buf_fini(b);
    *b = PDL_BUF;
}

int main(void) {
    bench_begin();
    pdl_buf b = PDL_BUF;
    put_rows(&b, true);
    measure("jsonl_rows", &b, read_lines);
    put_rows(&b, false);
    measure("json_rows", &b, read_text);
    put_texts(&b);
    measure("json_texts", &b, read_text);
    put_numbers(&b);
    measure("json_numbers", &b, read_text);

    work w = {.text = pdl_str_of(chunk), .out = PDL_BUF};
    bench_time("json_chunk_170_bytes", 1, read_text, &w);

    put_rows(&b, false);
    w.text = pdl_buf_str(&b);
    pdl_err err = {0};
    if (!pdl_json_read(w.text, PDL_JSON_PYTHON, &w.value, NULL, &err)) give_up(&err);
    bench_speed("json_write_rows", b.len, write_value, &w);
    pdl_drop(w.value);
    pdl_buf_fini(&b);
    pdl_buf_fini(&w.out);
    pdl_json_keys_fini(&w.keys);
    return 0;
}
