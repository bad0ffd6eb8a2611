/* tool.c -- makes the description of a program as a tool, and the variables of a call; see tool.h.
 * A function is called by a three-line program that includes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/tool.h"

#include "api/import_search.h"
#include "check/check.h"
#include "io/file.h"
#include "lang/load.h"
#include "lang/walk.h"
#include "types/type.h"
#include "value/json_write.h"
#include "value/label.h"

#include "base/banned.h"

/* --- parameters ------------------------------------------------------------------------------- */

/* Collects names of variables as the schema of an object. */
typedef struct tool_inputs {
    pdl_val properties; /* dict of empty schemas, each of which allows any value */
    pdl_val required;   /* dict whose keys are the names */
} inputs;

static void add_input(void *user, pdl_str name, bool optional) {
    inputs *i = user;
    i->properties = pdl_dict_puts(i->properties, name, pdl_dict_new(0));
    if (!optional) i->required = pdl_dict_puts(i->required, name, pdl_null());
}

static pdl_val object_schema(pdl_val properties, pdl_val required) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "type", pdl_textz("object"));
    d = pdl_dict_putz(d, "properties", properties);
    return pdl_dict_putz(d, "required", required);
}

/* Finds a model block without `input`; such a block sends the messages of the context. Recursion
 * follows the depth of the YAML source. */
static void find_model(void *user, const pdl_block *b) {
    bool *found = user;
    *found = *found || (b->kind == PDL_BLOCK_model && !PDL_AS(model, b)->input);
    if (!*found) pdl_block_each_child(b, find_model, found);
}

/* Returns true when the program needs a context to begin with. The files that it includes or calls
 * are not examined. */
static bool reads_context(const pdl_program *p) {
    bool found = pdl_str_find(p->source->text, PDL_STR("pdl_context"), 0) != PDL_NOT_FOUND;
    find_model(&found, p->main);
    return found;
}

static pdl_val question_schema(bool required) {
    pdl_val q = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("string")),
                              "description", pdl_textz("what is asked"));
    pdl_val names = pdl_list_new(1);
    if (required) names = pdl_list_push(names, pdl_textz("question"));
    return object_schema(pdl_dict_putz(pdl_dict_new(1), "question", q), names);
}

/* Returns the schema of the undefined variables that the program uses. */
static pdl_val schema_of_names(const pdl_serve *s, const pdl_served *m) {
    inputs i = {pdl_dict_new(4), pdl_dict_new(4)};
    pdl_finder finder = {.file = m->program->source->name};
    finder.path = pdl_session_path(s->opt.session, &finder.n_path);
    PDL_VEC(pdl_str) given = {0};
    for (size_t k = 0; k < pdl_dict_len(s->variables); k++)
        *pdl_vec_push(&given) = pdl_str_get(pdl_dict_key_at(s->variables, k));
    pdl_program_check(m->program, &(pdl_check_options){
                                      .open = pdl_find_open,
                                      .user = &finder,
                                      .names = given.p,
                                      .n_names = given.n,
                                      .no_lint = true,
                                      .input = add_input,
                                      .input_user = &i,
                                  });
    pdl_vec_fini(&given);
    pdl_val required = pdl_list_new(pdl_dict_len(i.required));
    for (size_t k = 0; k < pdl_dict_len(i.required); k++)
        required = pdl_list_push(required, pdl_keep(pdl_dict_key_at(i.required, k)));
    pdl_drop(i.required);
    if (pdl_dict_len(i.properties)) return object_schema(i.properties, required);
    pdl_drop(i.properties);
    pdl_drop(required);
    return question_schema(reads_context(m->program));
}

static const pdl_b_function *function_of(const pdl_served *m) {
    const pdl_block *b = m->program->main;
    return b->kind == PDL_BLOCK_function ? (const pdl_b_function *)(const void *)b : NULL;
}

static pdl_val schema_of_function(const pdl_b_function *f) {
    return f->params.is_null ? object_schema(pdl_dict_new(0), pdl_list_new(0))
                             : pdl_type_schema(f->params.all, true);
}

/* --- making ----------------------------------------------------------------------------------- */

static pdl_val card_of(const pdl_serve *s, const pdl_served *m) {
    const pdl_b_function *f = function_of(m);
    const pdl_block_rare *rare = m->program->main->rare;
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "name", pdl_text(m->name));
    if (rare && rare->description.s.p)
        d = pdl_dict_putz(d, "description", pdl_text(rare->description.s));
    return pdl_dict_putz(d, "inputSchema", f ? schema_of_function(f) : schema_of_names(s, m));
}

/* Returns a program that includes the file of the function, and calls the function with the
 * variable pdl_arguments. */
static pdl_program *wrapper_of(const pdl_served *m) {
    pdl_buf text = PDL_BUF;
    bool ok = false;
    PDL_PUT(&text, "defs: {pdl_tool: {include: ");
    pdl_json_quote(pdl_file_name(m->program->source->name), 0, &text);
    PDL_PUT(&text, "}}\ncall: ${ pdl_tool }\nargs: ${ pdl_arguments }\n");
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, m->name, pdl_buf_str(&text), &ok);
    if (!ok) PDL_BUG("the call of a tool is not a program");
    pdl_buf_fini(&text);
    return p;
}

tool *pdl_serve_tools_new(pdl_serve *s) {
    tool *tools = PDL_NEW_N(tool, s->opt.n_models);
    for (size_t i = 0; i < s->opt.n_models; i++) {
        const pdl_served *m = &s->opt.models[i];
        tools[i].card = card_of(s, m);
        tools[i].wrapper = function_of(m) ? wrapper_of(m) : NULL;
        tools[i].code =
            tools[i].wrapper ? pdl_session_compile(s->opt.session, tools[i].wrapper) : s->codes[i];
    }
    return tools;
}

void pdl_serve_tools_free(pdl_serve *s) {
    for (size_t i = 0; s->tools && i < s->opt.n_models; i++) {
        pdl_drop(s->tools[i].card);
        if (s->tools[i].wrapper) pdl_code_drop(s->tools[i].code);
        pdl_program_drop(s->tools[i].wrapper);
    }
    pdl_free(s->tools);
}

/* --- calls ------------------------------------------------------------------------------------ */

bool pdl_serve_tool_takes(const tool *t, pdl_vref arguments, pdl_buf *why) {
    pdl_vref schema = pdl_dict_getz(t->card, "inputSchema"),
             required = pdl_dict_getz(schema, "required"),
             known = pdl_dict_getz(schema, "properties");
    for (size_t i = 0; pdl_is_list(required) && i < pdl_list_len(required); i++) {
        pdl_vref name = pdl_list_at(required, i);
        if (!pdl_is_absent(pdl_dict_find(arguments, name))) continue;
        pdl_buf_putf(why, "this argument is missing: %.*s", PDL_FMT(pdl_str_get(name)));
        return false;
    }
    for (size_t i = 0; i < pdl_dict_len(arguments); i++) {
        pdl_vref name = pdl_dict_key_at(arguments, i);
        if (pdl_is_dict(known) && !pdl_is_absent(pdl_dict_find(known, name))) continue;
        pdl_buf_putf(why, "there is no parameter %.*s", PDL_FMT(pdl_str_get(name)));
        return false;
    }
    return true;
}

pdl_val pdl_serve_tool_variables(const pdl_serve *s, const tool *t, pdl_vref arguments) {
    pdl_val v = pdl_dict_merge(pdl_dict_new(8), s->variables),
            given = pdl_with_label(pdl_keep(arguments), PDL_LABEL_user | PDL_LABEL_FREE);
    if (t->wrapper) return pdl_dict_putz(v, "pdl_arguments", given);
    for (size_t i = 0; i < pdl_dict_len(given); i++)
        v = pdl_dict_put(
            v, pdl_keep(pdl_dict_key_at(given, i)),
            pdl_with_label(pdl_keep(pdl_dict_val_at(given, i)), PDL_LABEL_user | PDL_LABEL_FREE));
    if (pdl_is_str(pdl_dict_getz(given, "question"))) {
        pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("user"));
        m = pdl_dict_putz(m, "content", pdl_dict_part_named(given, PDL_STR("question")));
        v = pdl_dict_putz(v, "pdl_context", pdl_list_push(pdl_list_new(1), m));
    }
    pdl_drop(given);
    return v;
}
