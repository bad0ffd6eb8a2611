/* cmd_new.c -- pdl new NAME: writes a small program with which a user can begin. The templates are
 * parts of the command, so it needs no files. An existing file is never overwritten.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "io/file.h"

#include "base/banned.h"

#define TEMPLATES(X) X(chat) X(rag) X(agent) X(batch)

#define X(name)                                                                                    \
    extern const unsigned char pdl_template_##name[];                                              \
    extern const size_t pdl_template_##name##_len;
TEMPLATES(X)
#undef X

static const struct {
    const char *name;
    const unsigned char *text;
    const size_t *n;
} templates[] = {
#define X(name) {#name, pdl_template_##name, &pdl_template_##name##_len},
    TEMPLATES(X)
#undef X
};

static pdl_str find(pdl_str name) {
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
        if (pdl_str_is(name, templates[i].name))
            return (pdl_str){(const char *)templates[i].text, *templates[i].n};
    PDL_BUG("the option allows no other template");
}

static int write_program(const char *path, pdl_str text) {
    pdl_err err = {0};
    char *folder = pdl_str_dup(pdl_file_folder(pdl_str_of(path)));
    bool ok = false;
    if (*folder && pdl_file_kind_of(folder) == PDL_FILE_NONE)
        pdl_err_set(&err, PDL_E_usage, (pdl_loc){0}, "there is no folder %s", folder);
    else if (pdl_file_kind_of(path) != PDL_FILE_NONE)
        pdl_err_set(&err, PDL_E_io, (pdl_loc){0}, "there is a file %s already", path);
    else
        ok = pdl_file_write(path, text, PDL_FILE_NEW, &err);
    pdl_free(folder);
    if (ok) return 0;
    int code = pdl_err_exit_code(&err);
    pdl_cli_print_error(&err, NULL);
    pdl_err_fini(&err);
    return code;
}

int pdl_cli_cmd_new(const arguments *a) {
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: NAME");
    pdl_str name = a->files.p[0], suffix = PDL_STR(".pdl");
    pdl_str form = a->given[OPT_template] ? a->value[OPT_template] : PDL_STR("chat");
    pdl_str last = pdl_str_sub(name, pdl_file_folder(name).n, name.n);
    if (pdl_str_starts(last, PDL_STR("/"))) last = pdl_str_sub(last, 1, last.n);
    if (!last.n || last.p[0] == '.')
        return pdl_cli_refuse(a, "NAME is that of a program, such as hello or folder/hello");
    pdl_buf path = PDL_BUF;
    pdl_buf_put(&path, name);
    if (!pdl_str_ends(name, suffix)) pdl_buf_put(&path, suffix);
    int code = write_program(pdl_buf_z(&path), find(form));
    if (!code) {
        pdl_buf report = PDL_BUF;
        const char *quote = pdl_byte_in(' ', pdl_buf_str(&path)) ? "'" : "",
                   *here = path.p[0] == '-' ? "./" : "";
        pdl_buf_putf(&report,
                     "%s is written. Run it with `pdl %s%s%s%s`; `pdl mock` serves a model that "
                     "costs nothing.\n",
                     pdl_buf_z(&path), quote, here, pdl_buf_z(&path), quote);
        code = pdl_cli_put_stdout(pdl_buf_str(&report));
        pdl_buf_fini(&report);
    }
    pdl_buf_fini(&path);
    return code;
}
