/* fuzz_check.c -- checks any text as a program, with everything that a check examines. The text
 * includes itself or a small module. Fixes are applied, and reports are written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/pdl_toml.h"
#include "check/report.h"
#include "fuzz.h"
#include "lang/load.h"

#include "base/banned.h"

typedef struct input {
    pdl_str text;
} input;

static bool open_source(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                        pdl_err *err) {
    const input *in = user;
    pdl_str path = module->path;
    pdl_buf_put(name, path);
    if (pdl_str_is(path, "self"))
        pdl_buf_put(bytes, in->text);
    else if (path.n == 1)
        PDL_PUT(bytes,
                "text: [{def: a, data: {b: 1}}, {defs: {f: {function: {x: integer}, return: 1}}}]");
    else
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "no file %.*s", PDL_FMT(path));
    return true;
}

static void report(const pdl_program *p) {
    for (int form = PDL_REPORT_TEXT; form <= PDL_REPORT_GITHUB; form++) {
        pdl_check_report r = {.form = (pdl_report_form)form};
        pdl_buf out = PDL_BUF;
        for (size_t i = 0; i < p->diags.n && i < 50; i++)
            pdl_report_add(&r, &p->diags.p[i], PDL_STR("f.pdl"), &out);
        pdl_report_end(&r, &out);
        pdl_buf_fini(&out);
    }
}

static void read_config(pdl_str text) {
    pdl_check_config c = {.arena = pdl_arena_make()};
    pdl_err err = {0};
    if (!pdl_check_config_read(&c, PDL_STR("pdl.toml"), PDL_STR("/x"), text, &err))
        pdl_err_fini(&err);
    if (!pdl_check_config_rules(&c, text, &err)) pdl_err_fini(&err);
    pdl_vec_fini(&c.import);
    pdl_arena_free(c.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {{(const char *)data, size}};
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR("f.pdl"), in.text, &ok);
    if (ok)
        pdl_program_check(
            p, &(pdl_check_options){.open = open_source, .user = &in, .closed = size % 2 != 0});
    report(p);
    pdl_buf fixed = PDL_BUF;
    if (ok) (void)pdl_program_fix(p, in.text, &fixed);
    pdl_buf_fini(&fixed);
    pdl_program_drop(p);
    read_config(in.text);
    return 0;
}
