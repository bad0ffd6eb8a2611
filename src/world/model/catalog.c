/* catalog.c -- lists providers and their variables for the editor from the tables by which calls
 * are made; see catalog.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/catalog.h"

#include "model/providers.h"

#include "base/banned.h"

#define TYPE_NUM  "number"
#define TYPE_INT  "integer"
#define TYPE_BOOL "boolean"
#define TYPE_ANY  ""

static const pdl_model_param rows[] = {
#define P(name, type, takes, ollama, oseries, gpt5, doc) {#name, TYPE_##type, takes, doc},
#include "model/ask/params.def"
#undef P
#define S(name, type, takes, doc) {#name, TYPE_##type, takes, doc},
#include "model/ask/settings.def"
#undef S
};

const pdl_model_param *pdl_model_params(size_t *n) {
    *n = sizeof rows / sizeof *rows;
    return rows;
}

const pdl_model_param *pdl_model_param_find(pdl_str name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (pdl_str_is(name, rows[i].name)) return &rows[i];
    return NULL;
}

const char *pdl_model_prefix(size_t i) {
    const pdl_provider *p = pdl_provider_at(i);
    return p ? p->prefix : NULL;
}

/* Appends names of variables, which are separated by blanks, as a list. */
static void put_names(const char *title, const char *names, pdl_buf *out) {
    if (!names || !names[0]) return;
    pdl_buf_putf(out, "\n\n%s: `", title);
    for (const char *p = names; *p; p++) {
        if (*p == ' ')
            PDL_PUT(out, "`, `");
        else
            pdl_buf_putc(out, *p);
    }
    PDL_PUT(out, "`");
}

bool pdl_model_describe(pdl_str prefix, pdl_buf *out) {
    const pdl_provider *p = pdl_provider_find(prefix);
    if (!p) return false;
    pdl_buf_putf(out, "Provider `%s`", p->prefix);
    if (p->base) pdl_buf_putf(out, " at `%s`", p->base);
    put_names("Key", p->key_env, out);
    put_names("Address", p->base_env, out);
    return true;
}
