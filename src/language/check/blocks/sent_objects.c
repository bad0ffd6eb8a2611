/* sent_objects.c -- checks objects that are sent to services unchanged: messages, tools, forms of
 * answers. A service decides itself what it accepts, and many have special tools and forms. So a
 * problem is a warning, and it is reported only when every service would refuse the object. Every
 * service refuses an object in which a known key is misspelt, or in which a part is missing that
 * every form needs. Every service also refuses a value of the wrong kind. An object is checked when
 * it is written in the program, in the block or in a variable. A problem is reported at the value
 * that the block names, or inside of the object when it is written there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/word_list.h"
#include "check/checker.h"
#include "lang/tool_server_program.h"
#include "lang/walk.h"

#include "base/banned.h"

enum { OPAQUE = PDL_TY_OTHER | PDL_TY_UNDEFINED | PDL_TY_NULL, MAX_ITEMS = 64 };

/* A value, and where it is written. */
typedef struct outgoing {
    const pdl_ty *t;
    const pdl_node *n; /* the node in the block; NULL when the value is not written in the block */
    pdl_loc loc;
} outgoing;

static const pdl_node *written(const pdl_node *n, pdl_node_kind kind) {
    return n && n->kind == kind ? n : NULL;
}

static outgoing make(const pdl_ty *t, const pdl_node *n, pdl_loc loc) {
    return (outgoing){t, n, n ? pdl_node_loc(n) : loc};
}

/* Finds a key. Returns false when the object certainly lacks the key, or when the object is
 * unknown. */
static bool find(pdl_checker *c, const outgoing *s, const char *key, outgoing *out) {
    bool known;
    const pdl_ty *t = pdl_ty_field_of(pdl_checker_arena(c), s->t, pdl_str_of(key), &known);
    const pdl_node *map = written(s->n, PDL_NODE_MAP);
    if (!t || t->kinds & PDL_TY_UNDEFINED) return false;
    *out = make(t, map ? pdl_node_find(map, pdl_str_of(key), NULL) : NULL, s->loc);
    return true;
}

static bool lacks(pdl_checker *c, const outgoing *s, pdl_str key) {
    bool known;
    return !pdl_ty_field_of(pdl_checker_arena(c), s->t, key, &known) && known;
}

static bool lacks_all(pdl_checker *c, const outgoing *s, const char *const *keys, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!lacks(c, s, pdl_str_of(keys[i]))) return false;
    return true;
}

static pdl_str text_of(const outgoing *s) {
    return s->t->has_value && pdl_is_str(s->t->value) ? pdl_str_get(s->t->value) : (pdl_str){0};
}

static pdl_str near_of(pdl_str word, const char *const *words, size_t n) {
    pdl_str names[16];
    for (size_t i = 0; i < n && i < 16; i++) names[i] = pdl_str_of(words[i]);
    return pdl_str_nearest(word, names, n < 16 ? n : 16);
}

static pdl_diag *report(pdl_checker *c, pdl_rule_id rule, const outgoing *s, const char *what) {
    return pdl_checker_diag(c, rule, s->loc, s->loc, "%s", what);
}

/* Reports a value that has none of the kinds. */
static bool refuse(pdl_checker *c, pdl_rule_id rule, const outgoing *s, uint32_t kinds,
                   const char *what, const char *wanted) {
    if (s->t->kinds & (kinds | OPAQUE)) return false;
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(s->t, &shown);
    pdl_checker_diag(c, rule, s->loc, s->loc, "%s is %s, and this is %.*s", what, wanted,
                     PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
    return true;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* The keys that an object may have. */
typedef struct keys {
    pdl_rule_id rule;
    const char *what; /* the name in messages: "a message" */
    const char *const *names;
    size_t n;
} keys;

/* Reports a key that is spelled nearly like a known key which the object does not have. */
static bool check_key(pdl_checker *c, const keys *k, const outgoing *s, pdl_str key) {
    pdl_str near = pdl_str_in(key, k->names, k->n) ? (pdl_str){0} : near_of(key, k->names, k->n);
    if (!near.n || !lacks(c, s, near)) return false;
    const pdl_node *map = written(s->n, PDL_NODE_MAP);
    const pdl_pair *pair = NULL;
    if (map) pdl_node_find(map, key, &pair);
    pdl_loc loc = pair ? pdl_node_loc(pair->key) : s->loc;
    pdl_diag *d =
        pdl_checker_diag(c, k->rule, loc, loc, "%s has no key '%.*s'", k->what, PDL_FMT(key));
    pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
    if (d && pair) pdl_program_edit(c->p, d, loc, near);
    return true;
}

/* Reports misspelt keys. Returns true when a key is misspelt, since it may be the key that is
 * missing. */
static bool check_keys(pdl_checker *c, const keys *k, const outgoing *s) {
    bool found = false;
    const pdl_ty *t = s->t;
    size_t n = t->has_value ? pdl_dict_len(t->value) : t->n_fields;
    for (size_t i = 0; i < n && i < MAX_ITEMS; i++) {
        pdl_vref key = t->has_value ? pdl_dict_key_at(t->value, i) : pdl_absent();
        if (t->has_value && !pdl_is_str(key)) continue;
        found |= check_key(c, k, s, t->has_value ? pdl_str_get(key) : t->fields[i].name);
    }
    return found;
}

/* --- messages --------------------------------------------------------------------------------- */

static void check_message(pdl_checker *c, const outgoing *s) {
    static const char *const names[] = {"role", "content", "tool_calls", "tool_call_id"};
    /* A message needs one of these keys, which hold its content. */
    static const char *const says[] = {"content", "tool_calls", "function_call", "images", "parts",
                                       "audio",   "thinking",   "reasoning",     "refusal"};
    static const keys all = {PDL_RULE_message, "a message", names, 4};
    outgoing part;
    if (s->t->kinds != PDL_TY_DICT || check_keys(c, &all, s)) return;
    if (lacks(c, s, PDL_STR("role"))) {
        pdl_diag *d = report(c, PDL_RULE_message, s, "a message has a role, and this has none");
        pdl_checker_hint(c, d, "a message is {role: user, content: text}");
    } else if (lacks_all(c, s, says, sizeof says / sizeof *says)) {
        report(c, PDL_RULE_message, s, "a message has content, and this has none");
    }
    if (!find(c, s, "role", &part)) return;
    if (refuse(c, PDL_RULE_message, &part, PDL_TY_STR, "a role", "a text")) return;
    if (text_of(&part).n)
        pdl_checker_lint_role(c, text_of(&part), part.loc, part.n ? part.loc : (pdl_loc){0});
}

void pdl_checker_messages(pdl_checker *c, const pdl_ty *t, const pdl_node *n, pdl_loc loc) {
    pdl_arena *a = pdl_checker_arena(c);
    bool value = t->has_value && pdl_is_list(t->value);
    size_t len = value ? pdl_list_len(t->value) : 0;
    const pdl_node *list = written(n, PDL_NODE_SEQ);
    if (c->quiet || c->opt->no_lint) return;
    if (t->kinds == PDL_TY_DICT) {
        outgoing one = make(t, n, loc);
        check_message(c, &one);
    } else if (t->kinds == PDL_TY_LIST && !value && t->least) {
        outgoing each = make(pdl_ty_items(a, t), NULL, n ? pdl_node_loc(n) : loc);
        check_message(c, &each);
    }
    for (size_t i = 0; i < len && i < MAX_ITEMS; i++) {
        outgoing one = make(pdl_ty_of_value(a, pdl_list_at(t->value, i)),
                            list && i < list->n ? list->items[i] : NULL, n ? pdl_node_loc(n) : loc);
        check_message(c, &one);
    }
}

/* --- tools ------------------------------------------------------------------------------------ */

/* Returns true for a name that services accept. Services refuse all characters that are not listed
 * here. */
static bool is_name(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        char ch = s.p[i];
        if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
              pdl_byte_in(ch, PDL_STR("_-.:/"))))
            return false;
    }
    return s.n > 0;
}

/* Checks {name, description, parameters}, which is the `function` of a tool. */
static void check_declaration(pdl_checker *c, const outgoing *s, const outgoing *tool) {
    static const char *const names[] = {"name",   "description", "parameters",
                                        "strict", "run",         "tool_api"};
    static const keys all = {PDL_RULE_parameter_value, "the declaration of a tool", names, 6};
    outgoing part, type;
    if (refuse(c, PDL_RULE_parameter_value, s, PDL_TY_DICT, "`function` of a tool", "an object"))
        return;
    if (s->t->kinds != PDL_TY_DICT) return;
    bool misspelt = check_keys(c, &all, s);
    if (!misspelt && lacks(c, s, PDL_STR("name")) && lacks(c, s, PDL_STR("name_for_model")))
        report(c, PDL_RULE_parameter_value, s->n ? s : tool,
               "the declaration of a tool has no name");
    if (find(c, s, "name", &part) &&
        !refuse(c, PDL_RULE_parameter_value, &part, PDL_TY_STR, "the name of a tool", "a text") &&
        part.t->has_value && !is_name(text_of(&part)))
        report(c, PDL_RULE_parameter_value, &part,
               "the name of a tool has letters, digits, _ and -, and nothing else");
    if (find(c, s, "parameters", &part) &&
        !refuse(c, PDL_RULE_parameter_value, &part, PDL_TY_DICT | (s == tool ? PDL_TY_LIST : 0),
                "`parameters` of a tool", "a JSON Schema") &&
        find(c, &part, "type", &type) && text_of(&type).n && !pdl_str_is(text_of(&type), "object"))
        report(c, PDL_RULE_parameter_value, &type, "`parameters` of a tool are of type object");
}

/* Reports a text in place of a tool. If it names a function of the program, the hint is to pass the
 * function. */
static bool refuse_text(pdl_checker *c, const outgoing *s, bool in_list) {
    pdl_str text = text_of(s);
    if (!text.n) return false;
    const pdl_binding *b = pdl_scope_binding(&c->scope, text);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_parameter_value, s->loc, s->loc, PDL_TOOL_IS_TEXT,
                                   PDL_FMT(pdl_utf8_cut(text, 60)));
    if (b && pdl_scope_type(&c->scope, b)->kinds == PDL_TY_FUNC)
        pdl_checker_hint(c, d, PDL_TOOL_BY_NAME, in_list ? "" : "[", PDL_FMT(text),
                         in_list ? "" : "]");
    return true;
}

/* Checks a tool. An object without `function` and `name` is a tool of the service, which knows its
 * form. */
static void check_tool(pdl_checker *c, const outgoing *s) {
    static const char *const names[] = {"type", "function"};
    static const keys all = {PDL_RULE_parameter_value, "a tool", names, 2};
    outgoing type, part;
    if (refuse_text(c, s, true)) return;
    if (refuse(c, PDL_RULE_parameter_value, s, PDL_TY_DICT | PDL_TY_FUNC, "a tool",
               "a function or an object"))
        return;
    if (s->t->kinds != PDL_TY_DICT) return;
    if (find(c, s, "function", &part)) {
        check_declaration(c, &part, s);
        bool other = find(c, s, "type", &type) && text_of(&type).n &&
                     !pdl_str_is(text_of(&type), "function");
        if (other)
            report(c, PDL_RULE_parameter_value, &type,
                   "a tool with `function` is of type function");
        return;
    }
    bool runs = !lacks(c, s, PDL_STR("run")) || !lacks(c, s, PDL_STR("tool_api"));
    if (runs && !find(c, s, "type", &type)) {
        check_declaration(c, s, s);
        return;
    }
    bool function = find(c, s, "type", &type) && pdl_str_is(text_of(&type), "function");
    if (!function || !lacks(c, s, PDL_STR("function")) || check_keys(c, &all, s)) return;
    if (lacks(c, s, PDL_STR("name")))
        report(c, PDL_RULE_parameter_value, s, "a tool of type function has no `function`");
}

/* Checks tools. Items of a list that is written in the block may be expressions. */
static void check_tools(pdl_checker *c, const pdl_tree *tree, const outgoing *s) {
    pdl_arena *a = pdl_checker_arena(c);
    const pdl_node *list = written(s->n, PDL_NODE_SEQ);
    bool value = s->t->has_value && pdl_is_list(s->t->value), quiet = c->quiet;
    bool items = tree && tree->kind == PDL_TREE_LIST;
    size_t n = items ? tree->n : value ? pdl_list_len(s->t->value) : 0;
    for (size_t i = 0; i < n && i < MAX_ITEMS; i++) {
        c->quiet = true;
        const pdl_ty *t = items ? pdl_checker_tree(c, tree->items[i])
                                : pdl_ty_of_value(a, pdl_list_at(s->t->value, i));
        c->quiet = quiet;
        outgoing one = make(t, list && i < list->n ? list->items[i] : NULL, s->loc);
        check_tool(c, &one);
    }
}

/* --- what shapes the answer ------------------------------------------------------------------- */

static void check_choice(pdl_checker *c, const outgoing *s) {
    static const char *const words[] = {"auto", "none", "required", "any", "validated"};
    pdl_str word = text_of(s), near = near_of(word, words, 3);
    if (!s->t->has_value || !pdl_is_str(s->t->value) || pdl_str_in(word, words, 5)) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_parameter_value, s->loc, s->loc,
                                   "'tool_choice' is auto, none, required, a function, or an "
                                   "object that names one, and this is '%.*s'",
                                   PDL_FMT(word));
    if (near.n) pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
    if (d && s->n && near.n) pdl_program_edit(c->p, d, s->loc, near);
}

static void check_format(pdl_checker *c, const outgoing *s) {
    static const char *const types[] = {"json_schema", "json_object", "text"}, *const names[] = {
                                                                                   "type",
                                                                                   "json_schema"};
    static const keys all = {PDL_RULE_parameter_value, "'response_format'", names, 2};
    outgoing type, part;
    if (s->t->kinds != PDL_TY_DICT || check_keys(c, &all, s)) return;
    if (lacks(c, s, PDL_STR("type")) && !lacks(c, s, PDL_STR("json_schema")))
        report(c, PDL_RULE_parameter_value, s, "'response_format' has a type, and this has none");
    if (!find(c, s, "type", &type)) return;
    pdl_str word = text_of(&type), near = near_of(word, types, 3);
    if (near.n && !pdl_str_in(word, types, 3)) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_parameter_value, type.loc, type.loc,
                                       "'response_format' has no type '%.*s'", PDL_FMT(word));
        pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
        if (d && type.n) pdl_program_edit(c->p, d, type.loc, near);
    } else if (pdl_str_is(word, "json_schema")) {
        if (lacks(c, s, PDL_STR("json_schema")) && lacks(c, s, PDL_STR("schema")))
            report(c, PDL_RULE_parameter_value, s,
                   "'response_format' of type json_schema has no `json_schema`");
        else if (find(c, s, "json_schema", &part))
            refuse(c, PDL_RULE_parameter_value, &part, PDL_TY_DICT, "`json_schema`", "an object");
    }
}

/* Reports one tool without a list around it. */
static bool refuse_one(pdl_checker *c, const outgoing *s) {
    if (s->t->kinds != PDL_TY_FUNC) return refuse_text(c, s, false);
    pdl_diag *d = report(c, PDL_RULE_parameter_value, s, "'tools' takes a list, not one function");
    pdl_checker_hint(c, d, "write it into a list: [...]");
    return true;
}

bool pdl_checker_sent(pdl_checker *c, pdl_str name, const pdl_tree *tree, const pdl_ty *t,
                      const pdl_node *n, pdl_loc loc) {
    outgoing s = make(t, n, loc);
    if (c->opt->no_lint) return true;
    if (pdl_str_is(name, "tools") && refuse_one(c, &s)) return false;
    if (pdl_str_is(name, "tools")) check_tools(c, tree, &s);
    if (pdl_str_is(name, "tool_choice")) check_choice(c, &s);
    if (pdl_str_is(name, "response_format")) check_format(c, &s);
    return true;
}
