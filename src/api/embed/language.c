/* language.c -- returns the tables of the language (schema, builtins) as values, for completion and
 * documentation in host programs. The values come from the tables by which programs are loaded and
 * run, so an editor in a host program cannot disagree with the library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "lang/schema.h"
#include "native/native.h"

#include "base/banned.h"

pdl_value *pdl_schema_of_language(void) { return pdl_value_box(pdl_language_schema()); }

static pdl_val rows_of(pdl_native_table table) {
    pdl_val rows = pdl_dict_new(table.n);
    for (size_t i = 0; i < table.n; i++) {
        pdl_val row = pdl_dict_putz(pdl_dict_new(2), "parameters", pdl_textz(table.rows[i].params));
        row = pdl_dict_putz(row, "doc", pdl_textz(table.rows[i].doc));
        rows = pdl_dict_putz(rows, table.rows[i].name, row);
    }
    return rows;
}

pdl_value *pdl_builtins_of_language(void) {
    pdl_val all = pdl_dict_new(PDL_NATIVE_TABLES);
    for (size_t i = 0; i < PDL_NATIVE_TABLES; i++) {
        pdl_native_table table = pdl_native_table_at(i);
        all = pdl_dict_putz(all, table.title, rows_of(table));
    }
    return pdl_value_box(all);
}
