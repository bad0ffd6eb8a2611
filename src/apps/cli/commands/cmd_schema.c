/* cmd_schema.c -- pdl schema and pdl --schema print the JSON Schema of programs; pdl __builtins
 * prints the functions that expressions may use. Editors and the tools that make pages of the
 * manual read this output, which comes from the tables of the language.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "cli/cli.h"
#include "lang/schema.h"
#include "value/json_write.h"

#include "base/banned.h"

int pdl_cli_cmd_builtins(const arguments *a) {
    (void)a;
    pdl_buf out = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_builtins_page(&out);
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

int pdl_cli_cmd_schema(const arguments *a) {
    (void)a;
    pdl_val schema = pdl_language_schema();
    pdl_buf out = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err err = {0};
    bool ok = pdl_json_write(schema, 0, 2, &out, &err);
    pdl_drop(schema);
    if (ok)
        pdl_buf_putc(&out, '\n');
    else
        pdl_cli_print_error(&err, NULL);
    int code = ok ? pdl_cli_put_stdout(pdl_buf_str(&out)) : 1;
    pdl_err_fini(&err);
    pdl_buf_fini(&out);
    return code;
}
