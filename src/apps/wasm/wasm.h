/* wasm.h -- libpdl without an operating system: the module libpdl.wasm, which a web page or Node
 * loads (packaging/npm). The host passes one JSON object, {"ask": "check", ...}, to pdl_wasm_ask
 * and gets one back. The call never waits. A run is identified by a number. Each step of a run
 * returns the text that it printed and the effects that it requests. Each effect has a number, by
 * which the host answers it, in any order. Files, sockets, processes and threads do not exist:
 * parts.txt lists what is in the module.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WASM_WASM_H
#define PDL_WASM_WASM_H

#include "base/buf.h"
#include "base/err.h"
#include "lang/program.h"
#include "value/json_put.h"
#include "value/val.h"

/* The functions that the module exports to its host. The host allocates room for a question, writes
 * its bytes, asks, and reads the answer at pdl_wasm_answer; the result of pdl_wasm_ask is the
 * length of the answer. The answer is valid until the next question. A question that cannot be
 * answered has the answer {"error": {...}}. */
void *pdl_wasm_alloc(size_t n);
void pdl_wasm_release(void *p);
size_t pdl_wasm_ask(const char *json, size_t n);
const char *pdl_wasm_answer(void);

/* --- for the files of wasm -------------------------------------------------------------------- */

/* Answers a question: writes the members of the answer, without braces, into out. Error: any. */
typedef bool pdl_wasm_fn(pdl_vref question, pdl_buf *out, pdl_err *err);

/* Returns a member of a question; empty when it is not a text. */
pdl_str pdl_wasm_text(pdl_vref question, const char *key);
/* Appends a value as JSON. A part that JSON cannot express becomes its text; NaN, an infinity and
 * an absent value become null. */
void pdl_wasm_put(pdl_vref v, pdl_buf *out);
/* Appends an error as {kind, message, text, ...}. text is the whole message with the place and an
 * excerpt. */
void pdl_wasm_put_error(const pdl_err *err, pdl_buf *out);
/* Appends the first error of a program that did not load, in the same form. */
void pdl_wasm_put_refusal(const pdl_program *p, pdl_buf *out);

/* text_questions.c */
pdl_wasm_fn pdl_wasm_check, pdl_wasm_format;
/* host_runs.c */
pdl_wasm_fn pdl_wasm_start, pdl_wasm_step, pdl_wasm_reply, pdl_wasm_refuse, pdl_wasm_piece,
    pdl_wasm_cancel, pdl_wasm_result, pdl_wasm_free_run, pdl_wasm_explain, pdl_wasm_view,
    pdl_wasm_changes;
/* language_server.c: {message?, prices?} -> {messages, more}. Without a message, the server does a
 * piece of the work for which no request waits. more: some work is left. prices: the text of a
 * table, which hover shows from then on. */
pdl_wasm_fn pdl_wasm_lsp;
/* scripted_model.c */
pdl_wasm_fn pdl_wasm_script, pdl_wasm_say, pdl_wasm_forget;

#endif
