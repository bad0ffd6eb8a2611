/* fuzz_replies.c -- the replay of a recording whose answers come from the input. Line N of the
 * input replaces the reply of row N. A line that begins with ! replaces the error of the row, and a
 * line that begins with + replaces its pieces. An empty line changes nothing. Properties: the
 * program ends, and with unchanged rows it ends as recorded. No line is executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "machine.h"

#include <stdio.h>
#include <unistd.h>

#include "journal/journal.h"
#include "journal/recording_file.h"
#include "trace/fold.h"
#include "value/handle.h"

/* Every kind of effect that a program has without the standard library. */
static const char program[] =
    "defs:\n"
    "  t: {import: 'mcp:srv'}\n"
    "  h: {lang: python, code: handle}\n"
    "  f: {aggregator: {file: out}}\n"
    "text:\n"
    "- {def: a, model: m/x, input: q, modelResponse: raw, fallback: no}\n"
    "- {text: '${ a } ${ raw.choices[0].message.content } ${ pdl_context }', fallback: no}\n"
    "- {for: {i: '${ h }'}, repeat: '${ i }', fallback: no}\n"
    "- {text: '${ h.name } ${ h + 1 } ${ h | list } ${ h == 1 }', fallback: no}\n"
    "- {def: y, lang: python, code: 'y z', fallback: no}\n"
    "- {text: '${ y } ${ y | string | length } ${ z | default(1) }', fallback: no}\n"
    "- {lang: command, code: ls, fallback: no}\n"
    "- {read: file, fallback: no}\n"
    "- {read: null, message: '', fallback: no}\n"
    "- {include: o.pdl, fallback: no}\n"
    "- {text: w, contribute: [f]}\n"
    "- {text: '${ [1, 2] | random } ${ t.look(q=1) }', fallback: no}\n"
    "- {text: x, spec: integer, retry: {tries: 1, delay: 1}, fallback: {data: 7}}\n"
    "- {array: ['${ y }', '${ a }', '${ raw }'], parser: json, fallback: no}\n";

static pdl_val json(const char *text) {
    pdl_val v;
    pdl_err err = {0};
    FUZZ_MUST(pdl_effect_decode(pdl_str_of(text), &v, &err));
    return v;
}

static pdl_val answer_of(const pdl_effect *e) {
    bool lists = pdl_text_is(pdl_dict_getz(e->request, "op"), "list"),
         walks = pdl_text_is(pdl_dict_getz(e->request, "op"), "iter");
    bool makes = pdl_text_is(pdl_dict_getz(e->request, "code"), "handle");
    switch ((int)e->kind) {
    case PDL_EFFECT_model:
        return json("{\"content\":\"yes\",\"message\":{\"role\":\"assistant\",\"content\":\"yes\"},"
                    "\"raw\":{\"choices\":[{\"message\":{\"content\":\"yes\"}}]},"
                    "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}");
    case PDL_EFFECT_code:
        if (!makes)
            return json("{\"result\":{\"$pdl\":\"tuple\",\"items\":[1,\"b\"]},\"rebound\":{\"z\":5}"
                        ",\"stdout\":\"\"}");
        return json(
            "{\"result\":{\"$pdl\":\"handle\",\"id\":9,\"len\":2,\"truth\":true,\"callable\":true,"
            "\"texts\":[\"T\",\"s\",\"r\"]},\"rebound\":{},\"stdout\":\"\"}");
    case PDL_EFFECT_object: return walks ? json("[1,2]") : pdl_int(3);
    case PDL_EFFECT_tool:
        return lists ? json("[{\"name\":\"look\",\"inputSchema\":{\"type\":\"object\","
                            "\"properties\":{\"q\":{\"type\":\"integer\"}}}}]")
                     : json("{\"content\":[],\"structured\":null,\"text\":\"found\",\"is_error\":"
                            "false}");
    case PDL_EFFECT_command: return json("{\"stdout\":\"o\",\"stderr\":\"\",\"status\":0}");
    case PDL_EFFECT_source: return pdl_textz("text: inner\n");
    case PDL_EFFECT_random: return pdl_int(7);
    case PDL_EFFECT_read:
    case PDL_EFFECT_input: return pdl_textz("line");
    default: return pdl_null();
    }
}

static void start(pdl_world *w, pdl_effect *e) {
    (void)w;
    pdl_effect_answer(e, answer_of(e), 1);
}

/* Appends the result or the error of the program in this world. */
static void run_in(pdl_world *w, pdl_buf *out) {
    pdl_interner *names = pdl_interner_new();
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, PDL_STR("p.pdl"), pdl_str_of(program), &ok);
    FUZZ_MUST(ok);
    pdl_code *code = pdl_compile_program(p, names, true);
    pdl_fold *fold = pdl_fold_new(p, NULL, NULL);
    pdl_run_options opt = {.names = names, .world = w, .build = fuzz_build, .build_user = names};
    pdl_sinks_add(&opt.sinks, pdl_fold_sink(fold));
    pdl_run *r = pdl_run_new(&opt);
    pdl_run_start(r, code, pdl_absent());
    pdl_step s = PDL_STEP_WAIT;
    for (int i = 0; i < 1000 && s == PDL_STEP_WAIT; i++) {
        s = pdl_run_step(r);
        if (s == PDL_STEP_WAIT && !pdl_run_is_ready(r)) w->ops->poll(w, 0);
    }
    pdl_err err = {0};
    pdl_buf trace = PDL_BUF;
    FUZZ_MUST(s != PDL_STEP_WAIT);
    if (s == PDL_STEP_FAIL)
        pdl_buf_put(out, pdl_str_of(pdl_run_error(r)->msg));
    else if (!pdl_val_repr(pdl_run_result(r), out, &err))
        pdl_err_fini(&err);
    if (!pdl_fold_json(fold, &trace, &err)) pdl_err_fini(&err);
    pdl_buf_fini(&trace);
    pdl_run_free(r);
    pdl_fold_free(fold);
    pdl_code_drop(code);
    pdl_program_drop(p);
    pdl_interner_drop(names);
}

static pdl_str file_of(char *name, size_t cap, const char *what) {
    const char *dir = getenv("TMPDIR");
    snprintf(name, cap, "%s/pdl-fuzz-%ld-%s", dir ? dir : "/tmp", (long)getpid(), what);
    return pdl_str_of(name);
}

/* The recording of a run, which is made once, and the result of this run. */
static pdl_buf good = PDL_BUF, recorded = PDL_BUF;

static void make_good(void) {
    char name[256], chunk[4096];
    pdl_journal *j;
    pdl_err err = {0};
    pdl_world_ops ops = *pdl_null_world()->ops;
    ops.start = start;
    pdl_world behind = {.ops = &ops};
    pdl_str path = file_of(name, sizeof name, "good-replies");
    unlink(name);
    FUZZ_MUST(pdl_journal_record(
        path, &(pdl_journal_info){.file = PDL_STR("p.pdl"), .version = PDL_STR("0")}, &j, &err));
    run_in(pdl_journal_world(j, &behind), &recorded);
    pdl_journal_close(j);
    FILE *f = fopen(name, "rb");
    FUZZ_MUST(f);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        pdl_buf_put(&good, (pdl_str){chunk, n});
    fclose(f);
    unlink(name);
}

/* Writes the lines over the rows. Returns true when no row was changed. */
static bool overwrite(pdl_str path, pdl_str lines) {
    db *d;
    pdl_err err = {0};
    bool same = true;
    FUZZ_MUST(pdl_journal_db_open(path, &d, &err));
    for (int64_t id = 1; lines.n; id++) {
        size_t nl = pdl_str_find(lines, PDL_STR("\n"), 0), n = nl == PDL_NOT_FOUND ? lines.n : nl;
        pdl_str line = pdl_str_sub(lines, 0, n);
        lines = pdl_str_sub(lines, n < lines.n ? n + 1 : n, lines.n);
        if (!n) continue;
        same = false;
        db_effect row = {.id = id};
        if (line.p[0] == '!')
            row.error = pdl_str_sub(line, 1, n);
        else
            row.reply = line;
        if (line.p[0] == '+') row.pieces = pdl_str_sub(line, 1, n);
        if (line.p[0] == '+') row.reply = PDL_STR("{\"content\":\"yes\"}");
        FUZZ_MUST(pdl_journal_db_end_effect(d, &row, &err));
    }
    pdl_journal_db_close(d);
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!good.len) make_good();
    pdl_buf text = fuzz_text(data, size), out = PDL_BUF;
    char name[256];
    pdl_str path = file_of(name, sizeof name, "replies");
    FILE *f = fopen(name, "wb");
    FUZZ_MUST(f && fwrite(good.p, 1, good.len, f) == good.len && fclose(f) == 0);
    bool same = overwrite(path, pdl_buf_str(&text));
    pdl_journal *j;
    pdl_err err = {0};
    FUZZ_MUST(pdl_journal_replay(path, &j, &err));
    run_in(pdl_journal_world(j, NULL), &out);
    FUZZ_MUST(!same || pdl_str_eq(pdl_buf_str(&out), pdl_buf_str(&recorded)));
    pdl_journal_close(j);
    unlink(name);
    pdl_buf_fini(&text);
    pdl_buf_fini(&out);
    return 0;
}
