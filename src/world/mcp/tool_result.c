/* tool_result.c -- turns answers of a server into replies: its list of tools, and the result of a
 * call. Many servers differ from the protocol in details, which are accepted as long as their
 * meaning is certain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/server_session.h"
#include "value/member.h"
#include "value/parts_text.h"
#include "value/peer_message.h"
#include "value/text.h"
#include "value/tool_schema.h"

#include "base/banned.h"

enum { DATA_SHOWN = 500 }; /* bytes of the data of an error that a message quotes */

/* Returns true for a tool that runs only as a task, which the client has to poll until the task is
 * done. This client does not support tasks and the server would refuse a call, so programs and
 * models do not see such a tool. */
static bool needs_task(pdl_vref t) {
    pdl_vref how = pdl_dict_getz(t, "execution");
    return pdl_is_dict(how) && pdl_text_is(pdl_dict_getz(how, "taskSupport"), "required");
}

/* Returns true for a tool that can be called: it has a name and needs no task. */
static bool is_tool(pdl_vref t) {
    pdl_vref name = pdl_is_dict(t) ? pdl_dict_getz(t, "name") : pdl_absent();
    return pdl_is_str(name) && pdl_str_get(name).n && !needs_task(t);
}

bool pdl_mcp_tools_add(const server_config *c, pdl_vref page, pdl_val *out, pdl_err *err) {
    pdl_vref tools = pdl_is_dict(page) ? pdl_dict_getz(page, "tools") : pdl_absent();
    if (!pdl_is_list(tools))
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "tool server %s: its list of tools is not a list", c->name);
    for (size_t i = 0; i < pdl_list_len(tools); i++) {
        pdl_vref t = pdl_list_at(tools, i);
        if (!is_tool(t)) continue;
        pdl_vref name = pdl_dict_getz(t, "name");
        if (!pdl_mcp_config_allows(c, pdl_str_get(name)) ||
            !pdl_is_absent(pdl_dict_find(*out, name)))
            continue;
        pdl_val schema = pdl_tool_schema_whole(pdl_dict_getz(t, "inputSchema"));
        *out =
            pdl_dict_put(*out, pdl_keep(name), pdl_dict_putz(pdl_keep(t), "inputSchema", schema));
    }
    return true;
}

bool pdl_mcp_next_cursor(pdl_vref page, pdl_vref *next) {
    pdl_vref v = pdl_member(page, "nextCursor");
    bool is_text = pdl_is_str(v), is_no = pdl_is_bool(v) && !pdl_bool_of(v);
    bool last = pdl_is_absent(v) || pdl_is_null(v) || is_no || (is_text && !pdl_str_get(v).n);
    *next = last ? pdl_absent() : v;
    return last || is_text || pdl_is(v, PDL_V_INT) || pdl_is(v, PDL_V_FLOAT);
}

pdl_val pdl_mcp_tools_list(pdl_vref tools) {
    size_t n = pdl_is_dict(tools) ? pdl_dict_len(tools) : 0;
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) list = pdl_list_push(list, pdl_keep(pdl_dict_val_at(tools, i)));
    return list;
}

static pdl_val text_of(pdl_vref content) {
    pdl_buf b = PDL_BUF;
    pdl_put_tool_parts(content, &b);
    return pdl_text_of_buf(&b);
}

/* Returns the truth of `isError`, which some servers write as a number or a text. */
static bool is_true(pdl_vref v) {
    if (pdl_is_bool(v)) return pdl_bool_of(v);
    if (pdl_is_str(v)) return pdl_str_eq_nocase(pdl_str_trim(pdl_str_get(v)), PDL_STR("true"));
    return pdl_is(v, PDL_V_INT) && pdl_int_of(v) != 0;
}

/* Returns the content as a list: some servers write one part or a text in its place. Absent when
 * there is none. Owned. */
static pdl_val content_of(pdl_vref result) {
    pdl_vref content = pdl_is_dict(result) ? pdl_dict_getz(result, "content") : pdl_absent();
    if (pdl_is_list(content)) return pdl_keep(content);
    bool is_part = pdl_is_dict(content) && pdl_is_str(pdl_dict_getz(content, "type"));
    if (!is_part && !pdl_is_str(content)) return pdl_absent();
    pdl_val part =
        is_part ? pdl_keep(content) : pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("text"));
    if (!is_part) part = pdl_dict_putz(part, "text", pdl_keep(content));
    return pdl_list_push(pdl_list_new(1), part);
}

bool pdl_mcp_call_result(pdl_vref result, pdl_val *out, pdl_err *err) {
    pdl_val content = content_of(result);
    pdl_vref structured =
        pdl_is_dict(result) ? pdl_dict_getz(result, "structuredContent") : pdl_absent();
    if (!pdl_is_list(content) && pdl_is_absent(structured))
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "the result of the tool has no content");
    bool failed = is_true(pdl_dict_getz(result, "isError"));
    pdl_val list = pdl_is_list(content) ? content : pdl_list_new(0);
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "content", list);
    pdl_val s = pdl_is_absent(structured) ? pdl_null() : pdl_keep(structured);
    d = pdl_dict_putz(d, "structured", s);
    d = pdl_dict_putz(d, "text", text_of(list));
    *out = pdl_dict_putz(d, "is_error", pdl_bool(failed));
    return true;
}

/* Appends what `data` says beside the message. */
static void put_data(pdl_vref data, pdl_buf *words) {
    pdl_buf more = PDL_BUF;
    bool says = pdl_is_dict(data) || pdl_is_list(data) || pdl_is_str(data);
    if (says && pdl_val_truth(data)) {
        if (!pdl_peer_words(data, &more)) pdl_val_show(data, false, DATA_SHOWN, &more);
        pdl_str text = pdl_str_trim(pdl_buf_str(&more));
        if (text.n && pdl_str_find(pdl_buf_str(words), text, 0) == PDL_NOT_FOUND)
            pdl_buf_putf(words, ": %.*s", PDL_FMT(text));
    }
    pdl_buf_fini(&more);
}

void pdl_mcp_rpc_error(pdl_vref error, pdl_err *err) {
    pdl_vref code = pdl_member(error, "code");
    int64_t n = pdl_is(code, PDL_V_INT) ? pdl_int_of(code) : 0;
    pdl_buf words = PDL_BUF;
    if (!pdl_peer_words(error, &words)) PDL_PUT(&words, "no message");
    put_data(pdl_member(error, "data"), &words);
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "MCP error %lld: %s", (long long)n,
                pdl_buf_z(&words));
    pdl_buf_fini(&words);
    if (pdl_is(code, PDL_V_INT) && n >= INT32_MIN && n <= INT32_MAX) {
        err->status = (int)n;
        err->has_status = true;
    }
}
