/* tools.c -- functions for lib/stdlib.pdl and for the programs made for tool servers. They read a
 * model's tool call, and make the effects of a server's functions (mcp/mcp.h has their requests).
 *
 * A tool is a PDL function, a record, or an imported tool server. A record has `run` or `tool_api`,
 * and its name is in `name`, in `name_for_model` or in `function.name`. A tool server is an object
 * with `tools` and `call_tool`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/parts_text.h"
#include "value/type_words.h"

#include "base/banned.h"

/* --- effects ---------------------------------------------------------------------------------- */

static bool is_text_arg(pdl_vref v, const char *name, pdl_err *err) {
    return pdl_is_str(v) ||
           pdl_err_host(err, "TypeError", "%s should be a string, not %s", name, pdl_py_type(v));
}

/* Makes the pair (tool, {server, op, ...}). Takes arguments. */
static pdl_val tool_effect(pdl_vref server, const char *op, const char *what, pdl_vref name,
                           const char *with, pdl_val arguments) {
    pdl_val r = pdl_dict_putz(pdl_dict_new(4), "server", pdl_keep(server));
    r = pdl_dict_putz(r, "op", pdl_textz(op));
    r = pdl_dict_putz(r, what, pdl_keep(name));
    r = pdl_dict_putz(r, with, arguments);
    return pdl_tuple_new((pdl_val[]){pdl_textz("tool"), r}, 2);
}

/* Adds the arguments for which the tool's function has no parameter. */
static pdl_val with_others(const pdl_native_env *env, pdl_val d) {
    pdl_vref others = env->variable(env->user, PDL_STR(PDL_TOOL_OTHERS));
    for (size_t i = 0; pdl_is_dict(others) && i < pdl_dict_len(others); i++)
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(others, i)), pdl_dict_part(others, i));
    return d;
}

/* Returns the variables of `names` that have a value, because a parameter without a value is not
 * sent. Adds the arguments of with_others. */
static bool given_variables(const pdl_native_env *env, pdl_vref names, pdl_val *out, pdl_err *err) {
    if (!env->variable) return pdl_err_host(err, "RuntimeError", "there are no variables here");
    pdl_val d = pdl_dict_new(pdl_list_len(names));
    for (size_t i = 0; i < pdl_list_len(names); i++) {
        pdl_vref key = pdl_list_at(names, i);
        pdl_vref v = pdl_is_str(key) ? env->variable(env->user, pdl_str_get(key)) : pdl_absent();
        if (!pdl_is_absent(v)) d = pdl_dict_put(d, pdl_keep(key), pdl_keep(v));
    }
    *out = with_others(env, d);
    return true;
}

bool pdl_g_tool_call(PDL_ARGS) {
    pdl_val arguments;
    if (!is_text_arg(argv[0], "server", err) || !is_text_arg(argv[1], "name", err)) return false;
    if (pdl_is_list(argv[2])) {
        if (!given_variables(env, argv[2], &arguments, err)) return false;
    } else if (pdl_is_dict(argv[2])) {
        arguments = pdl_keep(argv[2]);
    } else {
        return pdl_err_host(err, "TypeError", "arguments should be an object, not %s",
                            pdl_py_type(argv[2]));
    }
    *out = tool_effect(argv[0], "call", "name", argv[1], "arguments", arguments);
    return true;
}

bool pdl_g_tool_request(PDL_ARGS) {
    if (!is_text_arg(argv[0], "server", err) || !is_text_arg(argv[1], "method", err)) return false;
    *out = tool_effect(argv[0], "request", "method", argv[1], "params", pdl_keep(argv[2]));
    return true;
}

static void put_content(pdl_vref reply, pdl_buf *out) {
    pdl_put_tool_parts(pdl_member(reply, "content"), out);
}

static bool has_succeeded(pdl_vref reply, pdl_err *err) {
    if (!pdl_is_dict(reply))
        return pdl_err_host(err, "TypeError", "a tool gave %s", pdl_py_type(reply));
    pdl_vref failed = pdl_dict_getz(reply, "is_error");
    if (!pdl_is_bool(failed) || !pdl_bool_of(failed)) return true;
    pdl_buf says = PDL_BUF;
    pdl_vref structured = pdl_dict_getz(reply, "structured");
    put_content(reply, &says);
    if (says.len == 0 && pdl_given(structured) && pdl_val_truth(structured) &&
        !pdl_json_write(structured, PDL_JSON_SPACED, 0, &says, err))
        return false;
    if (says.len == 0) PDL_PUT(&says, "the tool failed and says nothing");
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%s", pdl_buf_z(&says));
    pdl_buf_fini(&says);
    return false;
}

/* Returns the structured content of a reply, or else the text of its content. */
bool pdl_g_tool_result(PDL_ARGS) {
    if (!has_succeeded(argv[0], err)) return false;
    pdl_vref structured = pdl_dict_getz(argv[0], "structured");
    pdl_buf b = PDL_BUF;
    if (pdl_given(structured)) {
        *out = pdl_keep(structured);
        return true;
    }
    put_content(argv[0], &b);
    *out = pdl_text_of_buf(&b);
    return true;
}

bool pdl_g_tool_text(PDL_ARGS) {
    if (!has_succeeded(argv[0], err)) return false;
    pdl_vref structured = pdl_dict_getz(argv[0], "structured");
    pdl_buf b = PDL_BUF;
    put_content(argv[0], &b);
    bool ok =
        b.len || !pdl_given(structured) || pdl_json_write(structured, PDL_JSON_SPACED, 0, &b, err);
    if (ok)
        *out = pdl_text_of_buf(&b);
    else
        pdl_buf_fini(&b);
    return ok;
}

/* --- tool calls of models --------------------------------------------------------------------- */

/* Returns the name that a tool has for models; empty when it has none. */
static pdl_str name_of(pdl_vref tool) {
    pdl_vref d = pdl_is(tool, PDL_V_FUNC) ? pdl_func_about(tool)->signature : tool;
    pdl_vref inner = pdl_is_dict(d) ? pdl_dict_getz(d, "function") : pdl_absent();
    pdl_str qwen = pdl_is_dict(d) ? pdl_member_str(d, "name_for_model") : (pdl_str){0};
    return qwen.n ? qwen : pdl_member_str(pdl_is_dict(inner) ? inner : d, "name");
}

/* Returns true for a handle of a function of the host program, which takes the arguments by
 * name. */
static bool is_host_function(pdl_vref v) {
    return pdl_is(v, PDL_V_HANDLE) && pdl_handle_of(v)->callable;
}

static bool is_runnable(pdl_vref v) { return pdl_is(v, PDL_V_FUNC) || is_host_function(v); }

/* Returns the function of a record; absent when it has none. */
static pdl_vref run_of(pdl_vref record) {
    pdl_vref run = pdl_dict_getz(record, "run");
    return pdl_given(run) ? run : pdl_dict_getz(record, "tool_api");
}

static bool server_has(pdl_vref server, pdl_str name) {
    pdl_vref list = pdl_dict_getz(server, "tools");
    for (size_t i = 0, n = pdl_is_list(list) ? pdl_list_len(list) : 0; i < n; i++)
        if (pdl_str_eq(name_of(pdl_list_at(list, i)), name)) return true;
    return false;
}

typedef struct found {
    pdl_vref run;
    const char *how;  /* the form of the call: "named", "value", "host" or "server" */
    pdl_str near[16]; /* names of tools, of which the message suggests the nearest */
    size_t n_near;
} found;

static bool find_tool(pdl_vref tools, pdl_str name, found *f) {
    for (size_t i = 0; i < pdl_list_len(tools); i++) {
        pdl_vref t = pdl_list_at(tools, i);
        pdl_vref call = pdl_is_dict(t) ? pdl_dict_getz(t, "call_tool") : pdl_absent();
        pdl_str own = name_of(t);
        if (pdl_is(call, PDL_V_FUNC)) {
            f->how = "server";
            f->run = call;
            if (server_has(t, name)) return true;
        } else if (pdl_str_eq(own, name)) {
            f->how = pdl_is(t, PDL_V_FUNC) ? "named" : "value";
            f->run = pdl_is(t, PDL_V_FUNC) ? t : run_of(t);
            if (is_host_function(f->run)) f->how = "host";
            return true;
        }
        if (own.n && f->n_near < sizeof f->near / sizeof f->near[0]) f->near[f->n_near++] = own;
    }
    return false;
}

/* Reads JSON of a model, in which texts may have raw control characters such as line ends. JSON
 * inside of a JSON string is read as well. */
static bool read_json(pdl_vref text, pdl_val *out, pdl_err *err) {
    if (!pdl_json_read(pdl_str_get(text), PDL_JSON_CONTROL, out, NULL, err)) return false;
    pdl_val inner;
    pdl_err none = {0};
    if (pdl_is_str(*out) &&
        pdl_json_read(pdl_str_get(*out), PDL_JSON_CONTROL, &inner, NULL, &none)) {
        pdl_drop(*out);
        *out = inner;
    }
    pdl_err_fini(&none);
    return true;
}

/* Reads arguments, which are JSON text or already an object. An empty text and null, which models
 * write for a tool without parameters, mean an empty object. */
static bool read_arguments(pdl_vref v, pdl_str tool, pdl_val *out, pdl_err *err) {
    pdl_err why = {0};
    *out = pdl_absent();
    if (pdl_is_dict(v))
        *out = pdl_keep(v);
    else if (!pdl_given(v) || (pdl_is_str(v) && !pdl_str_trim(pdl_str_get(v)).n))
        *out = pdl_dict_new(0);
    else if (pdl_is_str(v) && !read_json(v, out, &why))
        *out = pdl_absent();
    if (pdl_is_null(*out)) *out = pdl_dict_new(0);
    if (pdl_is_dict(*out)) return true;
    pdl_drop(*out);
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "the arguments of %.*s are not a JSON object%s%s",
                PDL_FMT(tool), why.msg ? ": " : "", why.msg ? why.msg : "");
    pdl_err_fini(&why);
    return false;
}

static bool no_tool(pdl_str name, const found *f, pdl_err *err) {
    pdl_str near = pdl_str_nearest(name, f->near, f->n_near);
    return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "there is no tool '%.*s'%s%.*s%s",
                       PDL_FMT(name), near.n ? "; did the call mean '" : "", PDL_FMT(near),
                       near.n ? "'?" : "");
}

bool pdl_g_find_tool(PDL_ARGS) {
    pdl_vref function = pdl_is_dict(argv[0]) ? pdl_dict_getz(argv[0], "function") : pdl_absent();
    pdl_str name = pdl_member_str(function, "name");
    found f = {.run = pdl_absent()};
    pdl_val arguments;
    if (!name.n)
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "a tool call should have function.name");
    if (!pdl_is_list(argv[1]))
        return pdl_err_host(err, "TypeError", "tools should be a list, not %s",
                            pdl_py_type(argv[1]));
    if (!find_tool(argv[1], name, &f)) return no_tool(name, &f, err);
    if (!is_runnable(f.run))
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "the tool %.*s has no function to run",
                           PDL_FMT(name));
    if (!read_arguments(pdl_dict_getz(function, "arguments"), name, &arguments, err)) return false;
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "run", pdl_keep(f.run));
    d = pdl_dict_putz(d, "name", pdl_text(name));
    d = pdl_dict_putz(d, "arguments", pdl_with_label(arguments, pdl_label_of(argv[0])));
    *out = pdl_dict_putz(d, "how", pdl_textz(f.how));
    return true;
}

/* Removes "FILE:LINE - " from a message, because it is useless to a model. */
static pdl_str without_place(pdl_str s) {
    size_t dash = pdl_str_find(s, PDL_STR(" - "), 0), i = dash == PDL_NOT_FOUND ? 0 : dash;
    while (i && s.p[i - 1] >= '0' && s.p[i - 1] <= '9') i--;
    bool place = i && i < dash && s.p[i - 1] == ':';
    return place ? pdl_str_sub(s, dash + 3, s.n) : s;
}

/* Appends every fault of a type error, each without its place. Leaves out a first line that ends
 * with a colon, because it only says what was checked. */
static void put_faults(pdl_str s, pdl_buf *out) {
    size_t from = out->len;
    for (size_t at = 0, end; at < s.n; at = end + 1) {
        end = pdl_str_find(s, PDL_STR("\n"), at);
        if (end == PDL_NOT_FOUND) end = s.n;
        pdl_str line = pdl_str_sub(s, at, end), fault = without_place(line);
        bool heads = !at && end < s.n && pdl_str_ends(line, PDL_STR(":"));
        if (heads) continue;
        if (out->len > from) pdl_buf_put(out, fault.n < line.n ? PDL_STR("; ") : PDL_STR("\n"));
        pdl_buf_put(out, fault);
    }
}

bool pdl_g_tool_error(PDL_ARGS) {
    pdl_str plain = pdl_member_str(argv[0], "plain"),
            s = pdl_str_trim(plain.n ? plain : pdl_member_str(argv[0], "message"));
    size_t nl = pdl_str_rfind(s, PDL_STR("\n"));
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "Error: ");
    if (pdl_str_is(pdl_member_str(argv[0], "kind"), "type"))
        put_faults(s, &b);
    else
        pdl_buf_put(&b, without_place(nl == PDL_NOT_FOUND ? s : pdl_str_sub(s, nl + 1, s.n)));
    *out = pdl_text_of_buf(&b);
    return true;
}

/* --- declarations ----------------------------------------------------------------------------- */

/* Makes the JSON Schema of parameters that are a list of {name, schema or type, description,
 * required}. */
static pdl_val schema_of(pdl_vref list) {
    pdl_val props = pdl_dict_new(pdl_list_len(list)), required = pdl_list_new(0);
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref one = pdl_list_at(list, i), name = pdl_member(one, "name"),
                 schema = pdl_member(one, "schema"), type = pdl_member(one, "type"),
                 about = pdl_member(one, "description"), must = pdl_member(one, "required");
        if (!pdl_is_str(name)) continue;
        pdl_val s = pdl_is_dict(schema) ? pdl_keep(schema) : pdl_dict_new(2);
        if (!pdl_is_dict(schema) && pdl_is_str(type)) s = pdl_dict_putz(s, "type", pdl_keep(type));
        if (pdl_is_str(about) && pdl_is_absent(pdl_dict_getz(s, "description")))
            s = pdl_dict_putz(s, "description", pdl_keep(about));
        props = pdl_dict_put(props, pdl_keep(name), s);
        if (pdl_is_bool(must) && pdl_bool_of(must))
            required = pdl_list_push(required, pdl_keep(name));
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "type", pdl_textz("object"));
    d = pdl_dict_putz(d, "properties", props);
    return pdl_with_label(pdl_dict_putz(d, "required", required), pdl_label_of_part(list));
}

static pdl_val declaration_of(pdl_vref tool) {
    pdl_vref inner = pdl_dict_getz(tool, "function");
    pdl_vref params = pdl_dict_getz(tool, "parameters"),
             about = pdl_dict_getz(tool, "description_for_model");
    if (!pdl_is_str(about)) about = pdl_dict_getz(tool, "description");
    pdl_val f = pdl_is_dict(inner) ? pdl_keep(inner) : pdl_dict_new(3);
    if (!pdl_is_dict(inner)) {
        f = pdl_dict_putz(f, "name", pdl_text(name_of(tool)));
        if (pdl_is_str(about)) f = pdl_dict_putz(f, "description", pdl_keep(about));
        if (pdl_is_dict(params)) f = pdl_dict_putz(f, "parameters", pdl_keep(params));
        if (pdl_is_list(params)) f = pdl_dict_putz(f, "parameters", schema_of(params));
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("function"));
    return pdl_with_label(pdl_dict_putz(d, "function", f), pdl_label_of(tool));
}

static bool declare(pdl_vref tool, pdl_val *list, pdl_err *err) {
    pdl_val d;
    if (pdl_is(tool, PDL_V_FUNC)) {
        if (!name_of(tool).n)
            return pdl_err_host(err, "ValueError",
                                "a function among the tools has no name: define it with def");
        d = pdl_with_label(pdl_keep(pdl_func_about(tool)->signature), pdl_label_of(tool));
    } else if (pdl_is_dict(tool) && pdl_is(pdl_dict_getz(tool, "call_tool"), PDL_V_FUNC)) {
        pdl_vref more = pdl_dict_getz(tool, "tools");
        if (!pdl_is_list(more)) return true;
        *list = pdl_with_label(pdl_list_concat(*list, more), pdl_label_of_part(tool));
        return true;
    } else if (pdl_is_dict(tool) && is_runnable(run_of(tool))) {
        d = declaration_of(tool);
    } else {
        d = pdl_keep(tool);
    }
    *list = pdl_list_push(*list, d);
    return true;
}

bool pdl_tools_declare(pdl_vref tools, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(pdl_list_len(tools));
    for (size_t i = 0; i < pdl_list_len(tools); i++)
        if (!declare(pdl_list_at(tools, i), &list, err)) {
            pdl_drop(list);
            return false;
        }
    *out = pdl_with_label(list, pdl_label_of_part(tools));
    return true;
}
