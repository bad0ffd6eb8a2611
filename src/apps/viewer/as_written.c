/* as_written.c -- makes from a trace the program as a person would have written it, without the
 * facts that the execution has added; see program_text.h. A trace has every default and every fact,
 * which would hide the few lines that the author wrote.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "viewer/program_text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_LEVELS = 16 /* maximum depth of lists and dicts in a block that is shown alone */ };

/* Members with default values, which a trace contains although the program does not: the key, and
 * the default. */
static const struct {
    const char *key, *text; /* a text that is NULL means an empty list or dict */
} defaults[] = {
    {"defs", NULL}, {"expectations", NULL}, {"context", "dependent"}, {"platform", "litellm"}};

static bool is_empty(pdl_vref v) {
    return (pdl_is_list(v) && !pdl_list_len(v)) || (pdl_is_dict(v) && !pdl_dict_len(v));
}

static bool is_default(pdl_str key, pdl_vref v) {
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (pdl_str_is(key, defaults[i].key))
            return defaults[i].text ? pdl_text_is(v, defaults[i].text) : is_empty(v);
    if (pdl_str_is(key, "while")) return pdl_is_bool(v) && pdl_bool_of(v);
    if (pdl_str_is(key, "until")) return pdl_is_bool(v) && !pdl_bool_of(v);
    return pdl_str_is(key, "join") && pdl_is_dict(v) && pdl_dict_len(v) == 1 &&
           pdl_text_is(pdl_dict_getz(v, "with"), "");
}

static pdl_val plain(pdl_vref v, unsigned depth);

static pdl_val plain_list(pdl_vref v, unsigned depth) {
    pdl_val out = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0; i < pdl_list_len(v); i++)
        out = pdl_list_push(out, plain(pdl_list_at(v, i), depth + 1));
    return out;
}

static pdl_val plain_dict(pdl_vref v, unsigned depth) {
    bool block = pdl_doc_is_block(v);
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        pdl_str name = pdl_is_str(key) ? pdl_str_get(key) : (pdl_str){0};
        if (pdl_doc_is_fact(name)) continue;
        if (block && (pdl_str_is(name, "kind") || is_default(name, x))) continue;
        out = pdl_dict_put(out, pdl_keep(key), plain(x, depth + 1));
    }
    return out;
}

/* Returns true for a text or a number that was written in the place of a block, for which a trace
 * has a data block. */
static bool is_short_data(pdl_vref dict) {
    if (pdl_dict_len(dict) != 1) return false;
    pdl_vref data = pdl_dict_getz(dict, "data");
    return !pdl_is_absent(data) && !pdl_is_dict(data) && !pdl_is_list(data);
}

static pdl_val plain(pdl_vref v, unsigned depth) {
    if (depth >= PDL_MAX_JSON_DEPTH) return pdl_textz("...");
    if (pdl_is_list(v)) return plain_list(v, depth);
    if (!pdl_is_dict(v)) return pdl_keep(v);
    pdl_vref expr = pdl_dict_getz(v, "pdl__expr");
    if (!pdl_is_absent(expr)) return plain(expr, depth + 1);
    pdl_vref failed = pdl_dict_getz(v, "program");
    if (pdl_text_is(pdl_dict_getz(v, "kind"), "error") && !pdl_is_absent(failed))
        return plain(failed, depth + 1);
    pdl_val out = plain_dict(v, depth);
    if (!pdl_doc_is_block(v) || !is_short_data(out)) return out;
    pdl_val data = pdl_keep(pdl_dict_getz(out, "data"));
    pdl_drop(out);
    return data;
}

/* Returns a value as the program wrote it. The depth is limited, because otherwise a block would be
 * repeated in the text of every block around it, and the page would be much longer than its
 * trace. */
pdl_val pdl_view_source_value(pdl_vref v) { return plain(v, PDL_MAX_JSON_DEPTH - MAX_LEVELS); }

void pdl_view_source_write(pdl_vref block, pdl_buf *out) {
    pdl_err err = {0};
    pdl_val program = plain(block, 0);
    if (!pdl_yaml_write(program, out, &err)) {
        pdl_buf_clear(out);
        pdl_buf_putf(out, "# the program cannot be written: %s\n", err.msg);
        pdl_err_fini(&err);
    }
    pdl_drop(program);
}
