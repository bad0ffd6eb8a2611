/* tool_definitions.c -- requests the definitions of tools from servers, without a run: `pdl policy
 * lock`. No program runs, so this file makes the effects of kind `tool` itself, one for each
 * server, and waits for each reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/policy.h"
#include "api/session/session_impl.h"
#include "api/setup/env.h"
#include "mcp/mcp.h"

#include "base/banned.h"

typedef struct asked {
    pdl_val tools; /* absent until the list has arrived */
    pdl_err err;
    bool done;
} asked;

static void no_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    (void)text;
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    asked *a = user;
    (void)e;
    a->done = true;
    if (reply->err.kind)
        pdl_err_copy(&a->err, &reply->err);
    else
        a->tools = pdl_keep(reply->value);
}

/* Requests the list of tools from a server. */
static bool list_tools(pdl_session *s, pdl_str server, uint32_t id, pdl_val *out, pdl_err *err) {
    asked a = {.tools = pdl_absent()};
    pdl_val request = pdl_dict_putz(pdl_dict_new(2), "server", pdl_text(server));
    request = pdl_dict_putz(request, "op", pdl_textz("list"));
    pdl_path *place = pdl_path_name(NULL, "lock");
    pdl_effect *e =
        pdl_effect_new(PDL_EFFECT_tool, (pdl_effect_at){.id = id, .place = place}, request,
                       (pdl_effect_sink){.user = &a, .piece = no_piece, .reply = on_reply});
    pdl_path_drop(place);
    pdl_world *w = pdl_session_chain(s)->rows[PDL_CHAIN_budget];
    w->ops->start(w, e);
    while (!a.done && w->ops->poll(w, -1)) continue;
    if (!a.done) pdl_err_set(&a.err, PDL_E_runtime, (pdl_loc){0}, "the server gave no answer");
    if (a.err.kind) {
        pdl_err_move(err, &a.err);
        return false;
    }
    *out = a.tools;
    return true;
}

/* Hashes the definitions of tools and stores the hashes. by_name has the definitions by the name of
 * the tool. */
static bool hash_tools(pdl_vref tools, pdl_val *out, pdl_val *by_name, pdl_err *err) {
    pdl_val hashes = pdl_dict_new(8);
    *by_name = pdl_dict_new(8);
    bool ok = true;
    for (size_t i = 0; ok && pdl_is_list(tools) && i < pdl_list_len(tools); i++) {
        pdl_vref tool = pdl_list_at(tools, i);
        pdl_vref name = pdl_is_dict(tool) ? pdl_dict_getz(tool, "name") : pdl_absent();
        char hash[65];
        if (!pdl_is_str(name)) continue;
        ok = pdl_tool_hash(tool, hash, err);
        if (ok) hashes = pdl_dict_put(hashes, pdl_keep(name), pdl_textz(hash));
        *by_name = pdl_dict_put(*by_name, pdl_keep(name), pdl_keep(tool));
    }
    if (ok)
        *out = hashes;
    else
        pdl_drop(hashes);
    return ok;
}

static const char *env_of(void *user, const char *name) { return pdl_session_env(user, name); }

bool pdl_session_lock_tools(pdl_session *s, const pdl_str *servers, size_t n, pdl_val *locked,
                            pdl_val *definitions, pdl_err *err) {
    pdl_val names = pdl_list_new(n);
    bool ok = true;
    for (size_t i = 0; i < n; i++) names = pdl_list_push(names, pdl_text(servers[i]));
    if (!n) {
        pdl_drop(names);
        ok = pdl_mcp_servers(&(pdl_mcp_options){.env = env_of, .user = s}, &names, err);
        if (!ok) return false;
    }
    for (size_t i = 0; ok && i < pdl_list_len(names); i++) {
        pdl_val tools, hashes, by_name;
        pdl_vref name = pdl_list_at(names, i);
        ok = list_tools(s, pdl_str_get(name), (uint32_t)i + 1, &tools, err);
        if (!ok) break;
        ok = hash_tools(tools, &hashes, &by_name, err);
        *definitions = pdl_dict_put(*definitions, pdl_keep(name), by_name);
        if (ok) *locked = pdl_dict_put(*locked, pdl_keep(name), hashes);
        pdl_drop(tools);
    }
    pdl_drop(names);
    return ok;
}
