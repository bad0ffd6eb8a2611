/* rerun_request.c -- reads the request of the page to run a program again, and compares it with the
 * files of the run; see rerun_request.h. The request comes from a browser, so nothing in it is
 * trusted: each number is checked, and the hash of each file must be that of the text that was
 * shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/rerun_request.h"

#include "base/hash.h"
#include "base/num.h"
#include "value/json_read.h"
#include "viewer/box_json.h"
#include "viewer/shown_run.h"

#include "base/banned.h"

static bool refuse(pdl_err *err, const char *why) {
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s", why);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Returns the first `lines` lines of the text, with their ends. *rest gets the text after them. */
static pdl_str take_lines(pdl_str text, int64_t lines, pdl_str *rest) {
    size_t end = 0;
    while (lines-- > 0 && end < text.n) {
        size_t nl = pdl_str_find(text, PDL_STR("\n"), end);
        end = nl == PDL_NOT_FOUND ? text.n : nl + 1;
    }
    *rest = pdl_str_sub(text, end, text.n);
    return pdl_str_sub(text, 0, end);
}

static void put_changed(pdl_str text, pdl_buf *out) {
    pdl_buf_put(out, text);
    if (text.n && text.p[text.n - 1] != '\n') pdl_buf_putc(out, '\n');
}

static int64_t int_at(pdl_vref list, size_t i) {
    pdl_vref v = pdl_list_at(list, i);
    return pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : -1;
}

/* Returns true for a list of n items. */
static bool is_list_of(pdl_vref v, size_t n) { return pdl_is_list(v) && pdl_list_len(v) == n; }

static bool apply(pdl_vref edits, pdl_str file, pdl_buf *out, pdl_err *err) {
    int64_t at = 1; /* number of the line with which `file` begins */
    for (size_t i = 0; i < pdl_list_len(edits); i++) {
        pdl_vref edit = pdl_list_at(edits, i);
        if (!is_list_of(edit, 3) || !pdl_is_str(pdl_list_at(edit, 2)))
            return refuse(err, "a change has a first line, a last line and a text");
        int64_t first = int_at(edit, 0), last = int_at(edit, 1);
        if (first < at || last < first)
            return refuse(err, "changes are in the order of their lines, and do not overlap");
        pdl_buf_put(out, take_lines(file, first - at, &file));
        if (!file.n) return refuse(err, "a change is beyond the end of the program");
        put_changed(pdl_str_get(pdl_list_at(edit, 2)), out);
        (void)take_lines(file, last - first + 1, &file);
        at = last + 1;
    }
    pdl_buf_put(out, file);
    return true;
}

/* --- files and answers ------------------------------------------------------------------------ */

static bool read_file(pdl_vref one, const pdl_view_run *run, const pdl_view_again *g, void *user,
                      pdl_again_asked *out, pdl_err *err) {
    if (!is_list_of(one, 3) || !pdl_is_list(pdl_list_at(one, 2)))
        return refuse(err, "a changed file has a number, a hash and changes");
    int64_t number = int_at(one, 0);
    if (number < 1 || (uint64_t)number >= run->source->files.n)
        return refuse(err, "there is no such file");
    const pdl_view_file *f = &run->source->files.p[number];
    char hash[65];
    pdl_hash_hex(f->text, hash);
    if (f->written || !pdl_text_is(pdl_list_at(one, 1), hash) || !g->is_own(user, f->name, f->text))
        return refuse(err, "this file is not as the page shows it: load the page again");
    pdl_buf after = PDL_BUF;
    bool ok = apply(pdl_list_at(one, 2), f->text, &after, err);
    size_t n = after.len;
    pdl_view_change change = {f->name, f->text, {pdl_buf_take(&after), n}};
    *pdl_vec_push(&out->files) = change;
    return ok;
}

static bool read_answer(pdl_vref one, const pdl_view_run *run, pdl_again_asked *out, pdl_err *err) {
    if (!is_list_of(one, 2) || !pdl_is_str(pdl_list_at(one, 1)))
        return refuse(err, "an answer has a box and a text");
    int64_t box = int_at(one, 0);
    if (box < 0 || (uint64_t)box >= run->doc->boxes.n) return refuse(err, "there is no such box");
    pdl_view_answer answer = {run->doc->boxes.p[box].place, pdl_str_get(pdl_list_at(one, 1))};
    *pdl_vec_push(&out->answers) = answer;
    return true;
}

/* Gets a list, which may be absent. Returns false when the value is not a list. */
static bool list_of(pdl_vref v, const char *key, pdl_vref *out) {
    *out = pdl_dict_getz(v, key);
    return pdl_is_absent(*out) || pdl_is_list(*out);
}

static size_t count(pdl_vref list) { return pdl_is_absent(list) ? 0 : pdl_list_len(list); }

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_all(pdl_vref v, const pdl_view_run *run, const pdl_view_again *g, void *user,
                     pdl_again_asked *out, pdl_err *err) {
    char hash[65];
    pdl_vref answers, files;
    if (!pdl_is_dict(v)) return refuse(err, "a JSON object is expected");
    pdl_vref box = pdl_dict_getz(v, "box"), edits = pdl_dict_getz(v, "edits"),
             fresh = pdl_dict_getz(v, "fresh");
    pdl_hash_hex(g->text, hash);
    if (!pdl_text_is(pdl_dict_getz(v, "hash"), hash))
        return refuse(err, "this is not the program that the page shows: load the page again");
    if (!pdl_is(box, PDL_V_INT) || pdl_int_of(box) < 0 || !pdl_is_list(edits) ||
        !pdl_is_bool(fresh) || !list_of(v, "answers", &answers) || !list_of(v, "included", &files))
        return refuse(err, "hash, box, edits and fresh are expected, and answers and included may "
                           "be there");
    if ((uint64_t)pdl_int_of(box) >= run->doc->boxes.n) return refuse(err, "there is no such box");
    out->place = run->doc->boxes.p[pdl_int_of(box)].place;
    out->fresh = pdl_bool_of(fresh);
    bool ok = apply(edits, g->text, &out->text, err);
    for (size_t i = 0; ok && i < count(answers); i++)
        ok = read_answer(pdl_list_at(answers, i), run, out, err);
    for (size_t i = 0; ok && i < count(files); i++)
        ok = read_file(pdl_list_at(files, i), run, g, user, out, err);
    return ok;
}

bool pdl_again_read(pdl_str body, const pdl_view_run *run, const pdl_view_again *g, void *user,
                    pdl_again_asked *out, pdl_err *err) {
    *out = (pdl_again_asked){.request = pdl_absent(), .text = PDL_BUF};
    return pdl_json_read_document(body, 0, &out->request, err) &&
           read_all(out->request, run, g, user, out, err);
}

bool pdl_again_start(const pdl_again_asked *a, const pdl_view_again *g, void *user, pdl_err *err) {
    pdl_view_start start = {
        .text = pdl_buf_str(&a->text),
        .place = a->place,
        .fresh = a->fresh,
        .answers = a->answers.p,
        .n_answers = a->answers.n,
        .files = a->files.p,
        .n_files = a->files.n,
    };
    return g->start(user, &start, err);
}

void pdl_again_fini(pdl_again_asked *a) {
    for (size_t i = 0; i < a->files.n; i++) pdl_free((char *)(uintptr_t)a->files.p[i].after.p);
    pdl_vec_fini(&a->files);
    pdl_vec_fini(&a->answers);
    pdl_buf_fini(&a->text);
    if (!pdl_is_absent(a->request)) pdl_drop(a->request);
}

/* --- what the page must know ------------------------------------------------------------------ */

/* Appends the files whose text on the user's disk is the text that the page shows, with their
 * hashes. */
static void put_files(const pdl_view_run *run, const pdl_view_again *g, void *user, pdl_buf *out) {
    char hash[65], number[PDL_NUM_MAX];
    size_t begun = out->len;
    for (size_t i = 1; i < run->source->files.n; i++) {
        const pdl_view_file *f = &run->source->files.p[i];
        if (f->written || !g->is_own(user, f->name, f->text)) continue;
        pdl_hash_hex(f->text, hash);
        if (out->len == begun) {
            pdl_json_put_key(out, "files");
            pdl_json_open(out, '{');
        }
        pdl_num_int((int64_t)i, number);
        pdl_json_put_text(out, number, pdl_str_of(hash));
    }
    if (out->len > begun) pdl_buf_putc(out, '}');
}

void pdl_again_json(const pdl_view_run *run, const pdl_view_again *g, void *user, pdl_buf *out) {
    char hash[65];
    pdl_hash_hex(g->text, hash);
    pdl_json_put_key(out, "again");
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "file", g->file);
    pdl_json_put_text(out, "hash", pdl_str_of(hash));
    put_files(run, g, user, out);
    pdl_buf_putc(out, '}');
}
