/* sinks.c -- finds the sinks that an effect would reach, and the values that would reach them: the
 * table of sinks (spec trust 3).
 *
 * A value in a container has its own labels and those of the container as a whole
 * (pdl_label_of_part). An argument is examined as a whole and in its parts, so that a rule may be
 * for `message` or for `message.body`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/policy_impl.h"

#include <string.h>

#include "base/num.h"
#include "base/web_address.h"
#include "base/word_list.h"
#include "value/handle.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_NESTED = 16, MAX_PARTS = 20000 };

/* Begins the list of arguments for one sink. named: the labels of the name. */
static void begin(ask_list *a, pdl_sink_id sink, pdl_str name, pdl_label named, pdl_str folder) {
    *pdl_vec_push(&a->asks) =
        (pdl_policy_ask){.sink = sink, .name = name, .name_label = named, .folder = folder};
    *pdl_vec_push(&a->begins) = a->args.n;
}

static void add(ask_list *a, pdl_str name, pdl_vref v, pdl_label label) {
    *pdl_vec_push(&a->args) = (pdl_argument){.name = name, .value = v, .label = label};
}

/* Adds an argument whose name comes from the request. */
static void add_named(ask_list *a, pdl_str name, pdl_label named, pdl_vref v, pdl_label label) {
    *pdl_vec_push(&a->args) = (pdl_argument){name, v, label, named};
}

static pdl_str joined(ask_list *a, pdl_str path, pdl_str key) {
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, path);
    if (path.n) pdl_buf_putc(&b, '.');
    pdl_buf_put(&b, key);
    pdl_str s = pdl_arena_str(a->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return s;
}

/* Returns the labels that a container has and that none of its parts has. A container may be
 * unbounded although each of its parts is bounded (types/narrow_types.c); it then has a label that
 * says so. */
static pdl_label beyond_parts(pdl_vref v) {
    pdl_label parts = 0;
    for (size_t i = 0, n = pdl_is_dict(v) ? pdl_dict_len(v) : pdl_list_len(v); i < n; i++)
        parts |= pdl_is_dict(v)
                     ? pdl_label_of(pdl_dict_val_at(v, i)) | pdl_label_of(pdl_dict_key_at(v, i))
                     : pdl_label_of(pdl_list_at(v, i));
    return pdl_label_of(v) & ~parts & (pdl_label)PDL_LABEL_FREE;
}

/* A value that is examined together with its parts: the name of the argument, the labels of that
 * name, and the labels of the containers around the value. */
typedef struct deep {
    pdl_str path;
    pdl_label named, outer;
    unsigned depth;
} deep;

/* Adds the value v, or its parts when it has parts. Parts that are too deep or too many are added
 * as one value. In a list or dict of arguments (depth 0) each argument is examined separately, so
 * the maximum number of parts is for one argument. */
static void add_deep(ask_list *a, deep at, pdl_vref v) {
    pdl_label whole = at.outer | pdl_label_of_part(v);
    pdl_label together = pdl_is_dict(v) || pdl_is_list(v) ? beyond_parts(v) : 0;
    bool arguments = !at.depth && !at.path.n;
    whole |= arguments ? together & ~(pdl_label)PDL_LABEL_SEVERAL : together;
    bool opened = at.depth < MAX_NESTED && a->args.n < MAX_PARTS;
    bool dict = pdl_is_dict(v) && opened && pdl_dict_len(v),
         list = pdl_is_list(v) && opened && pdl_list_len(v);
    if (!dict && !list) {
        add_named(a, at.path, at.named, v, at.outer | pdl_label_of(v));
        return;
    }
    char digits[PDL_NUM_MAX];
    for (size_t i = 0, n = dict ? pdl_dict_len(v) : pdl_list_len(v); i < n; i++) {
        pdl_vref key = dict ? pdl_dict_key_at(v, i) : pdl_absent();
        pdl_str name =
            pdl_is_str(key) ? pdl_str_get(key) : (pdl_str){digits, pdl_num_int((int64_t)i, digits)};
        pdl_label of_key = dict ? pdl_label_of(key) : 0;
        pdl_label named = at.named | of_key | (dict ? pdl_label_of_part(v) : 0);
        add_deep(a, (deep){joined(a, at.path, name), named, whole | of_key, at.depth + 1},
                 dict ? pdl_dict_val_at(v, i) : pdl_list_at(v, i));
    }
}

static pdl_vref get(const pdl_effect *e, const char *key) {
    return pdl_is_dict(e->request) ? pdl_dict_getz(e->request, key) : pdl_absent();
}

static pdl_str text_of(pdl_vref v) { return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){"", 0}; }

/* --- one kind each ---------------------------------------------------------------------------- */

void pdl_effect_each_start(const pdl_effect *e, pdl_arena *arena, pdl_started_fn fn, void *user) {
    pdl_vref argv = get(e, "argv");
    size_t n = pdl_is_list(argv) ? pdl_list_len(argv) : 0;
    if (!n) return;
    pdl_label outer = e->control | pdl_label_of_part(e->request) | pdl_label_of_part(argv);
    pdl_command_word *words = pdl_arena_new_n(arena, pdl_command_word, n);
    for (size_t i = 0; i < n; i++) {
        pdl_vref v = pdl_list_at(argv, i);
        words[i] = (pdl_command_word){text_of(v), v, outer | pdl_label_of(v)};
    }
    pdl_command_each_start(arena, words, n, fn, user);
}

typedef struct command_asks {
    ask_list *a;
    pdl_str folder;
} command_asks;

/* Adds a command that is started by another command, as one more action. */
static void ask_started(void *user, const pdl_command_word *words, size_t n, pdl_str by,
                        size_t choosing) {
    const command_asks *c = user;
    ask_list *a = c->a;
    if (a->args.n > MAX_PARTS) return;
    begin(a, PDL_SINK_command, choosing ? by : words[0].text, words[0].label, c->folder);
    pdl_policy_ask *ask = &a->asks.p[a->asks.n - 1];
    ask->started_by = by;
    ask->choosing = choosing;
    for (size_t i = 0; i < n; i++) {
        char digits[PDL_NUM_MAX];
        pdl_str number = {digits, pdl_num_int((int64_t)i, digits)};
        pdl_vref value = words[i].value;
        if (pdl_is_absent(value)) {
            *pdl_vec_push(&a->made) = words[i].text.p ? pdl_text(words[i].text) : pdl_textz("...");
            value = a->made.p[a->made.n - 1];
        }
        add(a, joined(a, (pdl_str){"", 0}, number), value, words[i].label);
    }
}

static void ask_command(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    pdl_vref argv = get(e, "argv");
    size_t n = pdl_is_list(argv) ? pdl_list_len(argv) : 0;
    pdl_vref program = n ? pdl_list_at(argv, 0) : pdl_absent();
    begin(a, PDL_SINK_command, text_of(program), pdl_label_of_part(argv) | pdl_label_of(program),
          folder);
    if (n) add_deep(a, (deep){.path = {"", 0}, .outer = outer}, argv);
    pdl_effect_each_start(e, a->arena, ask_started, &(command_asks){a, folder});
}

static void ask_code(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    pdl_vref vars = get(e, "vars"), text = get(e, "code");
    begin(a, PDL_SINK_code, text_of(get(e, "lang")), pdl_label_of(get(e, "lang")), folder);
    add(a, PDL_STR("text"), text, outer | pdl_label_of(text));
    for (size_t i = 0, n = pdl_is_dict(vars) ? pdl_dict_len(vars) : 0; i < n; i++) {
        pdl_vref v = pdl_dict_val_at(vars, i);
        pdl_vref key = pdl_dict_key_at(vars, i);
        pdl_label named = pdl_label_of_part(vars) | pdl_label_of(key);
        add_named(a, text_of(key), named, v, outer | named | pdl_label_of(v));
    }
}

/* Adds the use of a remote object. The name that is called counts as code, and the arguments are
 * data. When a value decided which object is called, the argument `name` has its labels, too. */
static void ask_object(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    begin(a, PDL_SINK_code, PDL_STR("object"), 0, folder);
    for (size_t i = 0, n = pdl_is_dict(e->request) ? pdl_dict_len(e->request) : 0; i < n; i++) {
        pdl_str key = text_of(pdl_dict_key_at(e->request, i));
        pdl_vref v = pdl_dict_val_at(e->request, i);
        bool names = pdl_str_is(key, "name") || pdl_str_is(key, "op");
        if (pdl_str_is(key, "object") || pdl_str_is(key, "id")) continue;
        add(a, names ? PDL_STR("text") : key, v, outer | pdl_label_of(v));
    }
    pdl_vref object = get(e, "object");
    bool calls = pdl_text_is(get(e, "op"), "call") && pdl_is(object, PDL_V_HANDLE);
    pdl_label choice = calls ? pdl_handle_choice(object) | e->chosen : 0;
    if (pdl_label_origins(choice)) add(a, PDL_STR("name"), get(e, "name"), outer | choice);
}

tool_use pdl_tool_use_of(const pdl_effect *e) {
    pdl_vref params = get(e, "params"), method = get(e, "method");
    tool_use u = {.lists = pdl_text_is(get(e, "op"), "list") || pdl_text_is(method, "tools/list"),
                  .name = get(e, "name"),
                  .arguments = get(e, "arguments"),
                  .rest = params,
                  .label = pdl_label_of(get(e, "server")) | pdl_label_of(method)};
    if (pdl_text_is(method, "tools/call") && pdl_is_dict(params)) {
        u.name = pdl_dict_getz(params, "name");
        u.arguments = pdl_dict_getz(params, "arguments");
        u.label |= pdl_label_of_part(params);
    }
    u.label |= pdl_label_of(u.name);
    return u;
}

static bool is_in_use(const tool_use *u, pdl_vref key) {
    return (pdl_text_is(key, "name") && !pdl_is_absent(u->name)) ||
           (pdl_text_is(key, "arguments") && !pdl_is_absent(u->arguments));
}

static void ask_tool(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    tool_use u = pdl_tool_use_of(e);
    if (u.lists) return;
    begin(a, PDL_SINK_tool, pdl_subject_of(e, a->arena), u.label, folder);
    /* the choice of the tool matters as much as its arguments */
    size_t before = a->args.n;
    pdl_label chosen = outer | u.label;
    bool empty = pdl_is_dict(u.arguments) && !pdl_dict_len(u.arguments);
    if (!pdl_is_absent(u.arguments) && !empty)
        add_deep(a, (deep){.path = {"", 0}, .outer = chosen}, u.arguments);
    for (size_t i = 0, n = pdl_is_dict(u.rest) ? pdl_dict_len(u.rest) : 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(u.rest, i);
        pdl_label named = pdl_label_of_part(u.rest) | pdl_label_of(key);
        if (!is_in_use(&u, key))
            add_deep(a, (deep){text_of(key), named, chosen | named, 0}, pdl_dict_val_at(u.rest, i));
    }
    /* the choice counts even when the tool gets no arguments */
    pdl_label choice = chosen | e->chosen;
    if (a->args.n == before || pdl_label_origins(choice))
        add(a, PDL_STR("name"), pdl_is_absent(u.name) ? get(e, "method") : u.name, choice);
}

static void ask_server(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    pdl_vref server = get(e, "server");
    begin(a, PDL_SINK_server, text_of(server), pdl_label_of(server), folder);
    add(a, PDL_STR("program"), server, outer | pdl_label_of(server));
}

static void ask_path(ask_list *a, const pdl_effect *e, pdl_sink_id sink, pdl_label outer,
                     pdl_str folder) {
    pdl_vref path = get(e, "path"), text = get(e, "text");
    begin(a, sink, text_of(path), pdl_label_of(path), folder);
    add(a, PDL_STR("path"), path, outer | pdl_label_of(path));
    if (sink == PDL_SINK_write) add(a, PDL_STR("content"), text, outer | pdl_label_of(text));
}

static bool is_role(pdl_str s) {
    return pdl_str_is(s, "system") || pdl_str_is(s, "user") || pdl_str_is(s, "assistant") ||
           pdl_str_is(s, "tool");
}

/* Adds messages by role; a role other than the four known ones is examined under its own name. */
static pdl_label ask_messages(ask_list *a, pdl_vref messages, pdl_label outer) {
    pdl_label all = outer;
    for (size_t i = 0, n = pdl_is_list(messages) ? pdl_list_len(messages) : 0; i < n; i++) {
        pdl_vref m = pdl_list_at(messages, i);
        pdl_vref role = pdl_is_dict(m) ? pdl_dict_getz(m, "role") : pdl_absent();
        pdl_vref content = pdl_is_dict(m) ? pdl_dict_getz(m, "content") : m;
        pdl_label label = outer | pdl_label_of_part(messages) | pdl_label_of(m);
        pdl_label named = pdl_is_str(role) && !is_role(pdl_str_get(role)) ? label : 0;
        add_named(a, pdl_is_str(role) ? pdl_str_get(role) : PDL_STR("user"), named, content, label);
        all |= label;
    }
    return all;
}

/* Returns the hostname of an address in the program. */
static pdl_str host_of(pdl_str url) {
    size_t scheme = pdl_str_find(url, PDL_STR("://"), 0);
    pdl_str rest = scheme == PDL_NOT_FOUND ? url : pdl_str_sub(url, scheme + 3, url.n);
    size_t end = 0;
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#') end++;
    rest = pdl_str_sub(rest, 0, end);
    size_t at = pdl_str_rfind(rest, PDL_STR("@"));
    return at == PDL_NOT_FOUND ? rest : pdl_str_sub(rest, at + 1, rest.n);
}

typedef struct address_asks {
    ask_list *a;
    pdl_label outer;
    pdl_str folder;
} address_asks;

static bool ask_address(void *user, pdl_vref v, pdl_label labels) {
    const address_asks *to = user;
    *pdl_vec_push(&to->a->made) = pdl_keep(v); /* it may be a part of a text in the request */
    begin(to->a, PDL_SINK_url, host_of(text_of(v)), labels, to->folder);
    add(to->a, PDL_STR("address"), v, to->outer | labels);
    return true;
}

static bool ask_file(void *user, pdl_vref v, pdl_label labels) {
    const address_asks *to = user;
    begin(to->a, PDL_SINK_read, text_of(v), labels, to->folder);
    add(to->a, PDL_STR("path"), v, to->outer | labels);
    return true;
}

/* Adds the addresses and the files that the parameters of a call name. */
static void ask_addresses(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    pdl_effect_each_address(e, ask_address, &(address_asks){a, outer, folder});
    pdl_effect_each_file(e, ask_file, &(address_asks){a, outer, folder});
}

/* Adds a request to the web: its address, and the data that is sent there. */
static void ask_http(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    static const char *const parts[] = {"method", "headers", "body"};
    pdl_vref url = get(e, "url"), auth = get(e, "auth");
    ask_address(&(address_asks){a, outer, folder}, url, outer | pdl_label_of(url));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        pdl_vref v = get(e, parts[i]);
        bool empty = pdl_is_null(v) || (pdl_is_dict(v) && !pdl_dict_len(v));
        if (!pdl_is_absent(v) && !empty) add(a, pdl_str_of(parts[i]), v, outer | pdl_label_of(v));
    }
    if (pdl_is_dict(auth)) add(a, PDL_STR("headers"), auth, outer | pdl_label_of(auth));
}

static pdl_vref member(pdl_vref v, const char *key) {
    return pdl_is_dict(v) ? pdl_dict_getz(v, key) : pdl_absent();
}

/* Returns the labels of all parameters but the tools. */
static pdl_label label_beside_tools(pdl_vref parameters) {
    pdl_label label = pdl_label_of_part(parameters);
    for (size_t i = 0, n = pdl_is_dict(parameters) ? pdl_dict_len(parameters) : 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(parameters, i);
        label |= pdl_label_of(key);
        if (!pdl_text_is(key, "tools")) label |= pdl_label_of(pdl_dict_val_at(parameters, i));
    }
    return label;
}

/* Returns true for a parameter of a model that becomes a header, or that chooses the account or the
 * region. The owner of the account can read the requests. */
static bool is_of_headers(pdl_str name) {
    static const char *const names[] = {"extra_headers",    "headers",         "organization",
                                        "project_id",       "watsonx_project", "space_id",
                                        "vertex_project",   "vertex_location", "aws_region_name",
                                        "aws_access_key_id"};
    if (PDL_STR_IN(name, names)) return true;
    return pdl_is_secret_key(name);
}

/* Adds the headers of a request, wherever the program gives them. */
static void ask_headers(ask_list *a, pdl_vref holder, pdl_label outer) {
    outer |= pdl_label_of_part(holder);
    for (size_t i = 0, n = pdl_is_dict(holder) ? pdl_dict_len(holder) : 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(holder, i), v = pdl_dict_val_at(holder, i);
        if (!is_of_headers(text_of(key))) continue;
        /* a question shows only the name of a secret, and not its value */
        bool is_secret = pdl_is_secret_key(text_of(key));
        add(a, PDL_STR("headers"), is_secret ? key : v,
            outer | pdl_label_of(key) | pdl_label_of(v));
    }
}

/* A member of a request that chooses who answers. The service gets it unchanged. */
typedef struct chooser {
    const char *name;
    bool of_body; /* a chooser only inside `extra_body`; elsewhere another rule examines the name */
} chooser;

static const chooser choosers[] = {
    {"model", true},
    {"model_id", true},
    {"version", true},
    {"fallbacks", true},
    {"models", false},
    {"route", false},
    {"provider", false},
    {"providers", false},
    {"preset", false},
    {"plugins", false},
    {"providerOptions", false},
    {"deployment_id", false},
    {"custom_llm_provider", true},
};

static bool is_chooser(pdl_str name, bool of_body) {
    for (size_t i = 0; i < sizeof choosers / sizeof choosers[0]; i++)
        if (pdl_str_is(name, choosers[i].name)) return of_body || !choosers[i].of_body;
    return false;
}

/* Adds the members of a dict that choose who answers. */
static void ask_choosers(ask_list *a, pdl_vref holder, bool of_body, pdl_label outer) {
    outer |= pdl_label_of_part(holder);
    for (size_t i = 0, n = pdl_is_dict(holder) ? pdl_dict_len(holder) : 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(holder, i), v = pdl_dict_val_at(holder, i);
        if (is_chooser(text_of(key), of_body))
            add(a, PDL_STR("name"), v, outer | pdl_label_of(key) | pdl_label_of(v));
    }
}

/* Adds the members that choose who answers: parameters of a model, and members of their
 * `extra_body`, which takes precedence. */
static void ask_choice(ask_list *a, pdl_vref holder, pdl_label outer) {
    pdl_vref body = member(holder, "extra_body");
    ask_choosers(a, holder, false, outer);
    outer |= pdl_label_of_part(holder);
    ask_choosers(a, body, true, outer);
    ask_headers(a, body, outer);
}

/* Adds the address and the headers of a model call. own: see ask_one_model; named: labels of the
 * value that chose the name. */
static void ask_destination(ask_list *a, const pdl_effect *e, pdl_vref own, pdl_label named) {
    pdl_vref parameters = get(e, "parameters");
    pdl_label outer = e->control | pdl_label_of_part(e->request);
    add(a, PDL_STR("name"), pdl_is_absent(own) ? get(e, "model") : own, named);
    pdl_vref inner = member(parameters, "generate_inputs");
    const pdl_vref holders[] = {parameters, own, inner};
    for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++) {
        ask_headers(a, holders[i], outer);
        ask_choice(a, holders[i], outer);
    }
}

/* Adds everything that one model would receive. When the call has tools, the argument `tools` has
 * the labels of everything that the model reads besides the tools, because this text may decide
 * which tool is called. The definitions of the tools are also judged as parameters. */
static void ask_model_of(ask_list *a, const pdl_effect *e, pdl_label outer) {
    pdl_vref parameters = get(e, "parameters"), processor = get(e, "processor");
    pdl_vref tools = pdl_is_dict(parameters) ? pdl_dict_getz(parameters, "tools") : pdl_absent();
    pdl_label context = ask_messages(a, get(e, "messages"), outer);
    if (!pdl_is_absent(parameters)) {
        add(a, PDL_STR("parameters"), parameters, outer | pdl_label_of(parameters));
        context |= label_beside_tools(parameters);
    }
    if (!pdl_is_absent(processor)) {
        add(a, PDL_STR("parameters"), processor, outer | pdl_label_of(processor));
        context |= pdl_label_of(processor);
    }
    if (pdl_is_list(tools) && pdl_list_len(tools)) add(a, PDL_STR("tools"), tools, context);
}

static void ask_embed_of(ask_list *a, const pdl_effect *e, pdl_label outer) {
    pdl_vref input = get(e, "input"), parameters = get(e, "parameters");
    add(a, PDL_STR("text"), input, outer | pdl_label_of(input));
    add(a, PDL_STR("parameters"), parameters, outer | pdl_label_of(parameters));
}

/* --- all models of a call ---------------------------------------------------------------------
 *
 * The request goes to another model when the first one fails, and to another service when
 * `custom_llm_provider` names it. A rule for a name applies to the model and service that would be
 * used. */

/* Adds one model of a call. own: the entry of a fallback, whose parameters take precedence; absent
 * for the first model. */
static void ask_one_model(ask_list *a, const pdl_effect *e, pdl_vref own, pdl_label outer,
                          pdl_str folder) {
    pdl_vref parameters = get(e, "parameters"), inner = member(parameters, "generate_inputs");
    pdl_vref model = pdl_is_str(own) ? own : member(own, "model");
    if (!pdl_is_str(model)) model = get(e, "model");
    pdl_str service = text_of(member(own, "custom_llm_provider"));
    if (!service.n) service = text_of(member(parameters, "custom_llm_provider"));
    if (!service.n) service = text_of(member(inner, "custom_llm_provider"));
    pdl_str name = text_of(model);
    if (service.n) {
        outer |= pdl_label_of(parameters);
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%.*s/%.*s", PDL_FMT(service), PDL_FMT(name));
        name = pdl_arena_str(a->arena, pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
    pdl_label chosen = outer | pdl_label_of(model) | pdl_label_of(own);
    bool embeds = e->kind == PDL_EFFECT_embed;
    begin(a, embeds ? PDL_SINK_embed : PDL_SINK_model, name, chosen, folder);
    ask_destination(a, e, own, outer | pdl_label_of(model) | pdl_label_of_part(own));
    if (embeds)
        ask_embed_of(a, e, chosen);
    else
        ask_model_of(a, e, chosen);
}

static void ask_models(ask_list *a, const pdl_effect *e, pdl_label outer, pdl_str folder) {
    pdl_vref parameters = get(e, "parameters"), next = member(parameters, "fallbacks");
    pdl_vref longer = member(parameters, "context_window_fallback_dict");
    ask_one_model(a, e, pdl_absent(), outer, folder);
    for (size_t i = 0, n = pdl_is_list(next) ? pdl_list_len(next) : 0; i < n; i++)
        ask_one_model(a, e, pdl_list_at(next, i), outer | pdl_label_of_part(next), folder);
    for (size_t i = 0, n = pdl_is_dict(longer) ? pdl_dict_len(longer) : 0; i < n; i++)
        ask_one_model(a, e, pdl_dict_val_at(longer, i), outer | pdl_label_of_part(longer), folder);
    ask_addresses(a, e, outer, folder);
}

pdl_label pdl_endorsed_labels(const pdl_policies *p, const pdl_effect *e) {
    pdl_vref names = get(e, "labels");
    pdl_label all = 0, one;
    for (size_t i = 0, n = pdl_is_list(names) ? pdl_list_len(names) : 0; i < n; i++)
        if (pdl_policies_find_label(p, text_of(pdl_list_at(names, i)), &one)) all |= one;
    return all;
}

/* Adds an endorsement. The labels that it would remove are examined here; the labels that remain
 * are judged at later sinks. The reason is a text of the program's author. */
static void ask_endorse(ask_list *a, const pdl_policies *p, const pdl_effect *e, pdl_str folder) {
    pdl_vref arguments = get(e, "arguments");
    pdl_vref value = pdl_dict_getz(arguments, "value"), why = pdl_dict_getz(arguments, "why");
    pdl_label lost = pdl_label_of(value) & pdl_endorsed_labels(p, e);
    pdl_buf names = PDL_BUF;
    pdl_policies_put_label(p, lost, &names);
    begin(a, PDL_SINK_endorse, pdl_arena_str(a->arena, pdl_buf_str(&names)), 0, folder);
    pdl_buf_fini(&names);
    add(a, PDL_STR("value"), value, lost ? lost | PDL_LABEL_FREE : 0);
    add(a, PDL_STR("why"), why, 0);
}

static void ask_permit(ask_list *a, const pdl_policies *p, const pdl_effect *e, pdl_label outer,
                       pdl_str folder) {
    pdl_sink_id sink;
    pdl_vref arguments = get(e, "arguments");
    if (!pdl_sink_find(text_of(get(e, "sink")), &sink)) return;
    if (sink == PDL_SINK_endorse) {
        ask_endorse(a, p, e, folder);
        return;
    }
    begin(a, sink, text_of(get(e, "name")), pdl_label_of(get(e, "name")), folder);
    for (size_t i = 0, n = pdl_is_dict(arguments) ? pdl_dict_len(arguments) : 0; i < n; i++) {
        pdl_vref v = pdl_dict_val_at(arguments, i);
        add(a, text_of(pdl_dict_key_at(arguments, i)), v, outer | pdl_label_of(v));
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static void asks_of(const pdl_policies *p, const pdl_effect *e, pdl_str folder, ask_list *out) {
    pdl_label outer = e->control | pdl_label_of_part(e->request);
    switch (e->kind) {
    case PDL_EFFECT_command: ask_command(out, e, outer, folder); return;
    case PDL_EFFECT_code: ask_code(out, e, outer, folder); return;
    case PDL_EFFECT_object: ask_object(out, e, outer, folder); return;
    case PDL_EFFECT_tool:
        ask_tool(out, e, outer, folder);
        ask_server(out, e, outer, folder);
        return;
    case PDL_EFFECT_read: ask_path(out, e, PDL_SINK_read, outer, folder); return;
    case PDL_EFFECT_write: ask_path(out, e, PDL_SINK_write, outer, folder); return;
    case PDL_EFFECT_source:
        ask_path(out, e, e->is_import ? PDL_SINK_import : PDL_SINK_include, outer, folder);
        return;
    case PDL_EFFECT_model:
    case PDL_EFFECT_embed: ask_models(out, e, outer, folder); return;
    case PDL_EFFECT_http: ask_http(out, e, outer, folder); return;
    case PDL_EFFECT_permit: ask_permit(out, p, e, outer, folder); return;
    case PDL_EFFECT_input:
    case PDL_EFFECT_sleep:
    case PDL_EFFECT_approval:
    case PDL_EFFECT_now:
    case PDL_EFFECT_random:
    case PDL_EFFECT_COUNT: return;
    }
}

void pdl_asks_of(const pdl_policies *p, const pdl_effect *e, pdl_str folder, ask_list *out) {
    *out = (ask_list){.arena = pdl_arena_make()};
    asks_of(p, e, folder, out);
    for (size_t i = 0; i < out->asks.n; i++) {
        pdl_policy_ask *ask = &out->asks.p[i];
        size_t end = i + 1 < out->asks.n ? out->begins.p[i + 1] : out->args.n;
        ask->n = end - out->begins.p[i];
        ask->args = out->args.p + out->begins.p[i];
        ask->modules = e->modules;
    }
}

void pdl_asks_fini(ask_list *a) {
    pdl_vec_fini(&a->asks);
    pdl_vec_fini(&a->args);
    pdl_vec_fini(&a->begins);
    for (size_t i = 0; i < a->made.n; i++) pdl_drop(a->made.p[i]);
    pdl_vec_fini(&a->made);
    pdl_arena_free(a->arena);
}

static pdl_label label_of_key(const pdl_effect *e, const char *key) {
    return pdl_label_of_part(e->request) | pdl_label_of(get(e, key));
}

pdl_label pdl_label_of_subject(const pdl_effect *e) {
    switch (e->kind) {
    case PDL_EFFECT_model:
    case PDL_EFFECT_embed: return label_of_key(e, "model");
    case PDL_EFFECT_http: return label_of_key(e, "url");
    case PDL_EFFECT_read:
    case PDL_EFFECT_write:
    case PDL_EFFECT_source: return label_of_key(e, "path");
    case PDL_EFFECT_code: return label_of_key(e, "lang");
    case PDL_EFFECT_command: return label_of_key(e, "argv");
    case PDL_EFFECT_tool: return pdl_label_of_part(e->request) | pdl_tool_use_of(e).label;
    case PDL_EFFECT_object:
    case PDL_EFFECT_input:
    case PDL_EFFECT_sleep:
    case PDL_EFFECT_approval:
    case PDL_EFFECT_permit:
    case PDL_EFFECT_now:
    case PDL_EFFECT_random:
    case PDL_EFFECT_COUNT: break;
    }
    return 0;
}

pdl_str pdl_subject_of(const pdl_effect *e, pdl_arena *arena) {
    switch (e->kind) {
    case PDL_EFFECT_model:
    case PDL_EFFECT_embed: return text_of(get(e, "model"));
    case PDL_EFFECT_http: return pdl_web_address_host(text_of(get(e, "url")));
    case PDL_EFFECT_read:
    case PDL_EFFECT_write:
    case PDL_EFFECT_source: return text_of(get(e, "path"));
    case PDL_EFFECT_code: return text_of(get(e, "lang"));
    case PDL_EFFECT_input: return (pdl_str){"", 0};
    case PDL_EFFECT_command: {
        pdl_vref argv = get(e, "argv");
        return pdl_is_list(argv) && pdl_list_len(argv) ? text_of(pdl_list_at(argv, 0))
                                                       : (pdl_str){"", 0};
    }
    case PDL_EFFECT_tool: {
        pdl_buf b = PDL_BUF;
        pdl_str name = text_of(pdl_tool_use_of(e).name);
        pdl_buf_putf(&b, "%.*s/%.*s", PDL_FMT(text_of(get(e, "server"))),
                     PDL_FMT(name.n ? name : text_of(get(e, "method"))));
        pdl_str s = pdl_arena_str(arena, pdl_buf_str(&b));
        pdl_buf_fini(&b);
        return s;
    }
    case PDL_EFFECT_object:
    case PDL_EFFECT_sleep:
    case PDL_EFFECT_approval:
    case PDL_EFFECT_permit:
    case PDL_EFFECT_now:
    case PDL_EFFECT_random:
    case PDL_EFFECT_COUNT: break;
    }
    return (pdl_str){"", 0};
}
