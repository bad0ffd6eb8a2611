/* load_csv.c -- finds the columns of `parser: csv` in the spec of its block, if the spec describes
 * a list of objects. The columns are read from the JSON Schema of the spec, so that a spec may have
 * either of its two forms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/loader.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

static unsigned word_takes(pdl_vref word) {
    static const struct {
        const char *word;
        unsigned takes;
    } rows[] = {{"string", PDL_CELL_text},
                {"integer", PDL_CELL_integer},
                {"number", PDL_CELL_number},
                {"boolean", PDL_CELL_boolean},
                {"null", PDL_CELL_null}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (pdl_text_is(word, rows[i].word)) return rows[i].takes;
    return 0;
}

/* Returns the kinds that a column may contain. Returns 0 for a column without a type, whose texts
 * are kept. */
static unsigned schema_takes(pdl_vref schema) {
    pdl_vref type = pdl_member(schema, "type"), any = pdl_member(schema, "anyOf");
    unsigned takes = word_takes(type);
    for (size_t i = 0; pdl_is_list(type) && i < pdl_list_len(type); i++)
        takes |= word_takes(pdl_list_at(type, i));
    for (size_t i = 0; pdl_is_list(any) && i < pdl_list_len(any); i++)
        takes |= word_takes(pdl_member(pdl_list_at(any, i), "type"));
    return takes;
}

/* Returns the schema of an item of a list of objects, borrowed. Returns absent for any other
 * schema. */
static pdl_vref record_of(pdl_vref schema) {
    pdl_vref any = pdl_member(schema, "anyOf"), item = pdl_member(schema, "items");
    for (size_t i = 0; pdl_is_list(any) && i < pdl_list_len(any); i++) {
        pdl_vref one = pdl_member(pdl_list_at(any, i), "items");
        if (!pdl_is_absent(one)) item = one; /* the schema is optional: a list or null */
    }
    return pdl_text_is(pdl_member(item, "type"), "object") ? item : pdl_absent();
}

static bool is_needed(pdl_vref record, pdl_vref name) {
    pdl_vref required = pdl_member(record, "required");
    for (size_t i = 0; pdl_is_list(required) && i < pdl_list_len(required); i++) {
        pdl_vref word = pdl_list_at(required, i);
        if (pdl_is_str(word) && pdl_str_eq(pdl_str_get(word), pdl_str_get(name))) return true;
    }
    return false;
}

void pdl_loader_csv(pdl_loader *l, const pdl_block *b) {
    /* The parser was made for this block, and no other block refers to it. */
    pdl_parser *p = b->rare->parser ? (pdl_parser *)b->rare->parser->parser : NULL;
    const pdl_type *spec = b->rare->spec.type;
    if (!p || p->kind != PDL_PARSE_CSV || pdl_type_is_any(spec)) return;
    pdl_val schema = pdl_type_schema(spec, false);
    pdl_vref record = record_of(schema), fields = pdl_member(record, "properties");
    size_t n = pdl_is_dict(fields) ? pdl_dict_len(fields) : 0;
    pdl_csv_column *columns = pdl_arena_new_n(l->a, pdl_csv_column, n);
    for (size_t i = 0; i < n; i++) {
        columns[i].name = pdl_arena_str(l->a, pdl_str_get(pdl_dict_key_at(fields, i)));
        columns[i].takes = schema_takes(pdl_dict_val_at(fields, i));
        bool needed = is_needed(record, pdl_dict_key_at(fields, i));
        if (!needed && columns[i].takes) columns[i].takes |= PDL_CELL_missing;
    }
    p->header = p->header || !pdl_is_absent(record);
    p->columns = columns;
    p->n_columns = (uint32_t)n;
    pdl_drop(schema);
}
