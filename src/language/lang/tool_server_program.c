/* tool_server_program.c -- see tool_server_program.h. Parameters of the functions come from the
 * schema of the tool's arguments. The server checks the constraints that PDL's types cannot
 * express.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/tool_server_program.h"

#include "base/word_list.h"
#include "lang/tool_arguments.h"
#include "native/native.h"
#include "types/type.h"
#include "value/text.h"
#include "value/tool_schema.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_NAME = 64 }; /* the maximum length of a tool's name for models */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool is_name_char(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

/* --- names ------------------------------------------------------------------------------------ */

/* Returns true when the tool can be a member of the object that programs see. */
static bool is_member_name(pdl_str s) {
    static const char *const members[] = {"tools", "call_tool", "request", "pdl_context"};
    if (!s.n || s.n > MAX_NAME || !(is_letter(s.p[0]) || s.p[0] == '_')) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_name_char(s.p[i])) return false;
    return !PDL_STR_IN(s, members);
}

/* Appends s with an underscore for each character that services do not accept, cut at MAX_NAME. */
static void put_name(pdl_str s, pdl_buf *out) {
    for (size_t i = 0; i < s.n && out->len < MAX_NAME; i++) {
        bool continues = ((unsigned char)s.p[i] & 0xc0) == 0x80;
        if (!continues) pdl_buf_putc(out, is_name_char(s.p[i]) || s.p[i] == '-' ? s.p[i] : '_');
    }
}

static bool is_free(pdl_vref taken, pdl_str name) {
    return pdl_is_absent(pdl_dict_gets(taken, name));
}

/* Appends a number to the name. The name is cut so that both fit. */
static void put_number(pdl_buf *name, size_t len, unsigned i) {
    enum { DIGITS = 11 };
    pdl_buf_cut(name, len > MAX_NAME - DIGITS ? MAX_NAME - DIGITS : len);
    pdl_buf_putf(name, "_%u", i);
}

/* Appends the first free number: name_2, name_3, ... A server may have many equal names, so the
 * numbers are not tried one by one. They are given in order, which allows a binary search. */
static void put_free_number(pdl_vref taken, pdl_buf *name) {
    size_t len = name->len;
    unsigned used = 1, unused = 2;
    for (;; used = unused, unused *= 2) {
        put_number(name, len, unused);
        if (is_free(taken, pdl_buf_str(name))) break;
    }
    while (unused - used > 1) {
        unsigned middle = used + (unused - used) / 2;
        put_number(name, len, middle);
        if (is_free(taken, pdl_buf_str(name)))
            unused = middle;
        else
            used = middle;
    }
    put_number(name, len, unused);
}

/* Writes the name by which models call the tool: its name, with the server as a prefix or a number
 * appended when the name is taken. */
static void put_free_name(pdl_vref taken, pdl_str server, pdl_str own, pdl_buf *out) {
    put_name(own, out);
    if (is_free(taken, pdl_buf_str(out))) return;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s_%.*s", PDL_FMT(server), PDL_FMT(own));
    pdl_buf_clear(out);
    put_name(pdl_buf_str(&b), out);
    pdl_buf_fini(&b);
    if (!is_free(taken, pdl_buf_str(out))) put_free_number(taken, out);
}

/* --- parameters ------------------------------------------------------------------------------- */

/* Returns true for a type that can check values: a schema may have a pattern that is no regular
 * expression here, and only its use shows this. */
static bool is_type(pdl_vref v) {
    pdl_arena *a = pdl_arena_make();
    const pdl_type *t = NULL;
    pdl_type_verdict found;
    pdl_err err = {0};
    bool ok =
        pdl_type_from_val(a, v, &t, &err) && pdl_type_check(t, pdl_null(), NULL, a, &found, &err);
    pdl_err_fini(&err);
    pdl_arena_free(a);
    return ok;
}

/* Returns the type of a parameter, owned; null means any type. A schema without `type` and `enum`
 * gets a `type` that accepts every value, because a type of PDL needs one of the two. */
static pdl_val type_of(pdl_vref schema) {
    static const char *const all[] = {"null", "boolean", "string", "number", "array", "object"};
    if (!pdl_is_dict(schema) || pdl_tool_has_reference(schema)) return pdl_null();
    bool typed =
        !pdl_is_absent(pdl_dict_getz(schema, "type")) || pdl_is_list(pdl_dict_getz(schema, "enum"));
    pdl_val t = pdl_keep(schema);
    if (!typed) {
        pdl_val words = pdl_list_new(6);
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            words = pdl_list_push(words, pdl_textz(all[i]));
        t = pdl_dict_putz(t, "type", words);
    }
    if (is_type(t)) return t;
    pdl_drop(t);
    return pdl_null();
}

/* Returns the parameters of the function, and in *names the expression that lists them. */
static pdl_val parameters_of(pdl_vref given, pdl_buf *names) {
    pdl_val schema = pdl_tool_schema_of_draft(given);
    pdl_vref props = pdl_dict_getz(schema, "properties");
    size_t n = pdl_is_dict(props) ? pdl_dict_len(props) : 0;
    pdl_val d = pdl_dict_new(n), required = pdl_schema_names(pdl_dict_getz(schema, "required"));
    for (size_t i = 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(props, i);
        pdl_val t = type_of(pdl_dict_val_at(props, i));
        if (pdl_is_absent(pdl_dict_find(required, key)))
            t = pdl_dict_putz(pdl_dict_new(1), "optional", t);
        d = pdl_dict_put(d, pdl_keep(key), t);
        if (i) PDL_PUT(names, ", ");
        pdl_str_repr(pdl_str_get(key), names);
    }
    pdl_drop(required);
    pdl_drop(schema);
    return d;
}

/* --- the program ------------------------------------------------------------------------------ */

static pdl_val function_block(pdl_vref description, pdl_val params, pdl_buf *body) {
    pdl_val d = pdl_dict_new(3);
    if (pdl_is_str(description)) d = pdl_dict_putz(d, "description", pdl_keep(description));
    d = pdl_dict_putz(d, "function", params);
    return pdl_dict_putz(d, "return", pdl_text_of_buf(body));
}

static pdl_val tool_function(pdl_str server, pdl_vref tool) {
    pdl_buf names = PDL_BUF, body = PDL_BUF;
    pdl_val params = parameters_of(pdl_dict_getz(tool, "inputSchema"), &names);
    PDL_PUT(&body, "${ pdl_tool_result(pdl_tool_call(");
    pdl_str_repr(server, &body);
    PDL_PUT(&body, ", ");
    pdl_str_repr(pdl_str_get(pdl_dict_getz(tool, "name")), &body);
    pdl_buf_putf(&body, ", [%s])) }", pdl_buf_z(&names));
    pdl_buf_fini(&names);
    return function_block(pdl_dict_getz(tool, "description"), params, &body);
}

static pdl_val optional_object(void) {
    return pdl_dict_putz(pdl_dict_new(1), "optional", pdl_textz("object"));
}

/* Writes the function call_tool(name, arguments). renamed has the form "'a': 'b', ...", for the
 * tools that models call by another name. In this function and the next one, an omitted object is
 * empty. The object is not written with `default`, because `default` gives every part of the object
 * the labels of all its parts. An argument `to` would then be as untrusted as an argument `body`.
 */
static pdl_val call_function(pdl_str server, pdl_str renamed) {
    pdl_val params = pdl_dict_putz(pdl_dict_new(2), "name", pdl_textz("string"));
    params = pdl_dict_putz(params, "arguments", optional_object());
    pdl_buf body = PDL_BUF;
    PDL_PUT(&body, "${ pdl_tool_call(");
    pdl_str_repr(server, &body);
    if (renamed.n)
        pdl_buf_putf(&body, ", {%.*s}.get(name, name)", PDL_FMT(renamed));
    else
        PDL_PUT(&body, ", name");
    PDL_PUT(&body, ", (arguments if arguments is defined else none) or {}) }");
    pdl_val about = pdl_textz("Calls a tool: {content, structured, text, is_error}");
    pdl_val f = function_block(about, params, &body);
    pdl_drop(about);
    return f;
}

static pdl_val request_function(pdl_str server) {
    pdl_val params = pdl_dict_putz(pdl_dict_new(2), "method", pdl_textz("string"));
    params = pdl_dict_putz(params, "params", optional_object());
    pdl_buf body = PDL_BUF;
    PDL_PUT(&body, "${ pdl_tool_request(");
    pdl_str_repr(server, &body);
    PDL_PUT(&body, ", method, (params if params is defined else none) or {}) }");
    pdl_val about = pdl_textz("The result of any other method of the server");
    pdl_val f = function_block(about, params, &body);
    pdl_drop(about);
    return f;
}

static pdl_val declaration_of(pdl_str name, pdl_vref tool) {
    pdl_vref description = pdl_dict_getz(tool, "description");
    pdl_val f = pdl_dict_putz(pdl_dict_new(3), "name", pdl_text(name));
    if (pdl_is_str(description)) f = pdl_dict_putz(f, "description", pdl_keep(description));
    f = pdl_dict_putz(f, "parameters", pdl_keep(pdl_dict_getz(tool, "inputSchema")));
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("function"));
    return pdl_dict_putz(d, "function", f);
}

/* Returns true when the tool has a function. A tool has no function when its name is not a word, or
 * is the name of a member. It has no function either when a parameter is named pdl_context or
 * PDL_TOOL_OTHERS, because calls of functions use these two names for something else. */
static bool has_function(pdl_vref tool) {
    pdl_vref props = pdl_dict_getz(pdl_dict_getz(tool, "inputSchema"), "properties");
    if (!is_member_name(pdl_str_get(pdl_dict_getz(tool, "name")))) return false;
    return !pdl_is_dict(props) || (pdl_is_absent(pdl_dict_getz(props, "pdl_context")) &&
                                   pdl_is_absent(pdl_dict_getz(props, PDL_TOOL_OTHERS)));
}

static bool is_tool(pdl_vref t) {
    return pdl_is_dict(t) && pdl_is_str(pdl_dict_getz(t, "name")) &&
           pdl_is_dict(pdl_dict_getz(t, "inputSchema"));
}

/* Adds the declaration and the function of one tool to the program. Adds the tool to *renamed when
 * models call it by another name. */
static void add_tool(pdl_str server, pdl_vref tool, pdl_val *taken, pdl_val *defs,
                     pdl_val *declared, pdl_buf *renamed) {
    pdl_vref name = pdl_dict_getz(tool, "name");
    pdl_buf b = PDL_BUF;
    put_free_name(*taken, server, pdl_str_get(name), &b);
    *taken = pdl_dict_puts(*taken, pdl_buf_str(&b), pdl_text(server));
    *declared = pdl_dict_put(*declared, pdl_keep(name), declaration_of(pdl_buf_str(&b), tool));
    if (!pdl_text_is(name, pdl_buf_z(&b))) {
        if (renamed->len) PDL_PUT(renamed, ", ");
        pdl_str_repr(pdl_buf_str(&b), renamed);
        PDL_PUT(renamed, ": ");
        pdl_str_repr(pdl_str_get(name), renamed);
    }
    pdl_buf_fini(&b);
    if (has_function(tool))
        *defs = pdl_dict_put(*defs, pdl_keep(name), tool_function(server, tool));
}

/* Frees the names that this server has from an earlier import. */
static void give_back(pdl_str server, pdl_val *taken) {
    pdl_val kept = pdl_dict_new(pdl_dict_len(*taken));
    for (size_t i = 0; i < pdl_dict_len(*taken); i++) {
        pdl_vref owner = pdl_dict_val_at(*taken, i);
        if (!pdl_str_eq(pdl_str_get(owner), server))
            kept = pdl_dict_put(kept, pdl_keep(pdl_dict_key_at(*taken, i)), pdl_keep(owner));
    }
    pdl_drop(*taken);
    *taken = kept;
}

/* Takes out the tools that have the names of the program's own functions. */
static pdl_val without_members(pdl_val declared) {
    static const char *const functions[] = {"call_tool", "request"};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        pdl_val name = pdl_textz(functions[i]);
        declared = pdl_dict_del(declared, name);
        pdl_drop(name);
    }
    return declared;
}

pdl_val pdl_toolbox_write(pdl_str server, pdl_vref tools, pdl_val *taken, pdl_buf *text) {
    pdl_val defs = pdl_dict_new(4), declared = pdl_dict_new(4), list = pdl_list_new(4);
    pdl_buf renamed = PDL_BUF;
    give_back(server, taken);
    for (size_t i = 0; i < pdl_list_len(tools); i++)
        if (is_tool(pdl_list_at(tools, i)))
            add_tool(server, pdl_list_at(tools, i), taken, &defs, &declared, &renamed);
    for (size_t i = 0; i < pdl_dict_len(declared); i++)
        list = pdl_list_push(list, pdl_keep(pdl_dict_val_at(declared, i)));
    pdl_val data = pdl_dict_putz(pdl_dict_new(2), "data", list);
    defs = pdl_dict_putz(defs, "tools", pdl_dict_putz(data, "raw", pdl_bool(true)));
    defs = pdl_dict_putz(defs, "call_tool", call_function(server, pdl_buf_str(&renamed)));
    defs = pdl_dict_putz(defs, "request", request_function(server));
    pdl_buf_fini(&renamed);
    pdl_val program = pdl_dict_putz(pdl_dict_new(1), "defs", defs);
    pdl_err err = {0};
    if (!pdl_yaml_write(program, text, &err))
        pdl_err_fini(&err); /* the schema is too deep; loading the program reports it */
    pdl_drop(program);
    return without_members(declared);
}
