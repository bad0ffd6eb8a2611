/* fuzz_dap.c -- messages to the debugger. Each line is one message; a first line "raw" means that
 * the rest are raw bytes. "@p" in a line is the path of a small program, so that a run can be
 * launched. Properties: the output consists of frames of JSON objects with ascending numbers, no
 * request has two answers, and the debugger ends when its input ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/mman.h>

#include "base/vec.h"
#include "dap/dap.h"
#include "folder.h"
#include "io/frame.h"
#include "value/int.h"
#include "value/json_read.h"

static void put_line(pdl_str line, const char *program, pdl_buf *out) {
    pdl_buf body = PDL_BUF;
    while (line.n) {
        size_t at = pdl_str_find(line, PDL_STR("@p"), 0);
        pdl_buf_put(&body, pdl_str_sub(line, 0, at));
        if (at != PDL_NOT_FOUND) pdl_buf_put(&body, pdl_str_of(program));
        line = pdl_str_sub(line, at == PDL_NOT_FOUND ? line.n : at + 2, line.n);
    }
    pdl_buf_putf(out, "Content-Length: %zu\r\n\r\n", body.len);
    pdl_buf_put(out, pdl_buf_str(&body));
    pdl_buf_fini(&body);
}

static void put_input(pdl_str text, const char *program, pdl_buf *out) {
    if (pdl_str_starts(text, PDL_STR("raw\n"))) {
        pdl_buf_put(out, pdl_str_sub(text, 4, text.n));
        return;
    }
    while (text.n) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), 0);
        put_line(pdl_str_sub(text, 0, end), program, out);
        text = pdl_str_sub(text, end == PDL_NOT_FOUND ? text.n : end + 1, text.n);
    }
}

typedef struct sent {
    int64_t last;
    PDL_VEC(int64_t) answered;
} sent;

static bool on_sent(void *user, pdl_str message, pdl_err *err) {
    sent *s = user;
    pdl_val v;
    int64_t seq, of;
    FUZZ_MUST(pdl_json_read(message, 0, &v, NULL, err) && pdl_is_dict(v));
    FUZZ_MUST(pdl_int_get(pdl_dict_getz(v, "seq"), &seq) && seq > s->last);
    s->last = seq;
    pdl_vref answers = pdl_dict_getz(v, "request_seq");
    if (!pdl_is_absent(answers) && pdl_int_get(answers, &of)) *pdl_vec_push(&s->answered) = of;
    pdl_drop(v);
    return true;
}

static void check_output(int fd, size_t n_asked) {
    char chunk[4096];
    pdl_frame r = {.kind = PDL_FRAME_CONTENT, .max_message = 1 << 28};
    sent s = {0};
    pdl_err err = {0};
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        FUZZ_MUST(pdl_frame_feed(&r, (pdl_str){chunk, (size_t)n}, on_sent, &s, &err));
    FUZZ_MUST(pdl_frame_end(&r, &err));
    FUZZ_MUST(s.answered.n <= n_asked);
    pdl_frame_fini(&r);
    pdl_vec_fini(&s.answered);
}

static size_t count_of(pdl_str s, pdl_str what) {
    size_t n = 0;
    for (size_t at = 0; (at = pdl_str_find(s, what, at)) != PDL_NOT_FOUND; at += what.n) n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_folder f = fuzz_folder_new();
    char *program = fuzz_file(&f, "p.pdl");
    pdl_buf input = PDL_BUF;
    int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
    int was_in = dup(0), was_out = dup(1);
    if (in < 0 || out < 0) return 0;
    fuzz_write(program, PDL_STR("defs: {a: 1, b: {c: [1, 2]}}\ntext:\n- x\n- ${ a }\n"
                                "- for: {i: [1, 2]}\n  repeat: ${ i + nope | default(0) }\n"
                                "- ${ b.d }\n"));
    put_input((pdl_str){(const char *)data, size}, program, &input);
    FUZZ_MUST(write(in, input.p, input.len) == (ssize_t)input.len);
    lseek(in, 0, SEEK_SET);
    FUZZ_MUST(dup2(in, 0) == 0 && dup2(out, 1) == 1);
    int code = pdl_dap_serve();
    FUZZ_MUST(code == 0 || code == 1);
    FUZZ_MUST(dup2(was_in, 0) == 0 && dup2(was_out, 1) == 1);
    check_output(out, count_of(pdl_buf_str(&input), PDL_STR("Content-Length")));
    close(in);
    close(out);
    close(was_in);
    close(was_out);
    pdl_buf_fini(&input);
    pdl_free(program);
    fuzz_folder_remove(&f);
    return 0;
}
