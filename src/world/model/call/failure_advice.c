/* failure_advice.c -- writes the help that follows the message of a failed call.
 *
 * The message is what the service said. A newcomer needs more: which of the names in the program is
 * unknown and what the right one may be, or where the refused key came from. Nothing of a key is
 * shown, only the name of its variable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/call.h"
#include "model/call/life.h"
#include "model/catalog.h"
#include "model/providers.h"

#include "base/banned.h"

enum { SHOWN_PROVIDERS = 16 };

static void advise_provider(pdl_str model, pdl_err *err) {
    size_t n = 0;
    pdl_buf known = PDL_BUF, near = PDL_BUF;
    for (const pdl_provider *p; (p = pdl_provider_at(n)); n++)
        if (n < SHOWN_PROVIDERS) pdl_buf_putf(&known, "%s%s", n ? ", " : "", p->prefix);
    if (n > SHOWN_PROVIDERS) PDL_PUT(&known, " and others");
    pdl_model_near(model, &near);
    if (pdl_str_starts(model, PDL_STR("$")))
        pdl_err_hint(err,
                     "no text takes a variable of the environment: start with -d model=\"%.*s\", "
                     "and write model: ${ model }",
                     PDL_FMT(model));
    else if (near.len)
        pdl_err_hint(err, "did you mean %s? Known are %s", pdl_buf_z(&near), pdl_buf_z(&known));
    /* a model name without a provider is often the name of a model on a local server */
    else if (pdl_str_trim(model).n && !pdl_byte_in('/', model))
        pdl_err_hint(err,
                     "a model is named PROVIDER/MODEL; known providers are %s; a model of ollama "
                     "is ollama_chat/%.*s",
                     pdl_buf_z(&known), PDL_FMT(model));
    else
        pdl_err_hint(err, "a model is named PROVIDER/MODEL; known providers are %s",
                     pdl_buf_z(&known));
    pdl_buf_fini(&known);
    pdl_buf_fini(&near);
}

/* Returns the first variable of the list that is set, or an empty slice. */
static pdl_str first_name(const char *names, const pdl_env *env) {
    for (pdl_str rest = pdl_str_of(names); rest.n;) {
        pdl_str word = pdl_str_take(&rest, PDL_STR(" "));
        char *z = pdl_str_dup(word);
        const char *value = *z ? pdl_env_get(env, z) : NULL;
        pdl_free(z);
        if (value) return word;
    }
    return (pdl_str){0};
}

static void advise_key(const pdl_call *c, pdl_err *err) {
    const pdl_ask *a = &c->ask;
    pdl_buf base = PDL_BUF; /* an address may have a key in its query */
    bool given = pdl_is_dict(a->given) && !pdl_is_absent(pdl_dict_getz(a->given, "api_key"));
    pdl_str name = given ? PDL_STR("parameters.api_key") : first_name(a->provider->key_env, a->env);
    if (!name.n) return;
    pdl_address_put(pdl_buf_str(&c->route.base), &base);
    pdl_err_hint(err, "the key is that of %.*s; it was refused by %s", PDL_FMT(name),
                 pdl_buf_z(&base));
    pdl_buf_fini(&base);
}

/* Explains that a key is missing because the address comes from a file `.env`. */
static void advise_file(const pdl_call *c, pdl_err *err) {
    const char *name = c->route.file_variable;
    if (!*name || c->route.key.len) return;
    pdl_err_hint(err,
                 "the file may have come with the program, so this address gets only keys of the "
                 "file: write the key into it, or export %s, too",
                 name);
}

/* Explains that a server on this machine which does not answer has probably not been started. */
static void advise_server(const pdl_call *c, pdl_err *err) {
    pdl_str base = pdl_buf_str(&c->route.base);
    bool is_local = pdl_str_find(base, PDL_STR("//localhost"), 0) != PDL_NOT_FOUND ||
                    pdl_str_find(base, PDL_STR("//127.0.0.1"), 0) != PDL_NOT_FOUND;
    bool is_refused =
        pdl_str_find(pdl_str_of(err->msg), PDL_STR("Failed to connect"), 0) != PDL_NOT_FOUND;
    if (!is_local || !is_refused || err->hint) return;
    pdl_buf shown = PDL_BUF;
    pdl_address_put(base, &shown);
    pdl_err_hint(err, "nothing listens at %s on this machine: is the server started?",
                 pdl_buf_z(&shown));
    pdl_buf_fini(&shown);
}

/* Returns true for an address such as http://localhost:8080, without a path. */
static bool has_no_path(pdl_str base) {
    size_t at = pdl_str_find(base, PDL_STR("://"), 0);
    size_t from = at == PDL_NOT_FOUND ? 0 : at + 3;
    return pdl_str_find(base, PDL_STR("/"), from) == PDL_NOT_FOUND &&
           pdl_str_find(base, PDL_STR("?"), from) == PDL_NOT_FOUND;
}

/* Explains that the address of a server with OpenAI's interface usually ends in /v1. A server that
 * does not know the model answers with 404, too, and says so. */
static void advise_path(const pdl_call *c, pdl_err *err) {
    enum { NOT_FOUND = 404, NOT_ALLOWED = 405 };
    const pdl_provider *p = c->ask.provider;
    pdl_str base = pdl_buf_str(&c->route.base);
    bool refused = err->has_status && (err->status == NOT_FOUND || err->status == NOT_ALLOWED);
    pdl_str msg = pdl_str_of(err->msg), start = PDL_STR(" model call: ");
    size_t at = pdl_str_find(msg, start, 0);
    bool about_model =
        pdl_str_find(msg, PDL_STR("odel"), at == PDL_NOT_FOUND ? 0 : at + start.n) != PDL_NOT_FOUND;
    if (!refused || about_model || err->hint || p->dialect != &pdl_dialect_openai ||
        !c->route.base_given || !has_no_path(base))
        return;
    pdl_err_hint(err,
                 "the address has no path, and servers of this kind usually answer below /v1: "
                 "write %.*s/v1",
                 PDL_FMT(base));
}

void pdl_call_advise(const pdl_call *c, pdl_str model, pdl_err *err) {
    if (err->kind == PDL_E_unknown_provider) advise_provider(model, err);
    if (err->kind == PDL_E_auth && err->has_status && c->ask.provider) advise_key(c, err);
    if (err->kind == PDL_E_auth || err->kind == PDL_E_config) advise_file(c, err);
    if (err->kind == PDL_E_connection) advise_server(c, err);
    if (err->has_status && c->ask.provider) advise_path(c, err);
}
