/* policy_check.c -- pdl check --policy: finds what a policy will do to a program, as far as that
 * can be known without running it. Files that the program includes or imports are examined, too.
 *
 * Files that are connected by `include` share their variables, so such a group of files has one map
 * of names. A name that two files of a group define counts as unknown. An imported file has
 * separate variables.
 *
 * The source of a variable's value is known when a single block of the program defines the
 * variable, and this block calls a model, reads a file or input, or is `data` with such variables.
 * Every other value may come from anywhere. A sink that gets such a value is not reported, because
 * a warning here says that the block is refused whenever it is executed.
 *
 * When the program only calls tools by their names, it is known which tools of a server it uses.
 * When it passes the server on (to a model or a function), any tool may be called. Then every tool
 * in the lock file counts. Without a lock file, every tool that a rule names counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/policy_check.h"

#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"
#include "base/word_list.h"
#include "check/check.h"
#include "lang/tool_server_program.h"
#include "lang/variables.h"
#include "lang/walk.h"
#include "value/label.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

typedef struct checked_file checked_file;

/* The facts about a variable. */
typedef struct origin {
    pdl_label label; /* 0 when nothing is known */
    /* name of the tool server that the variable holds; p is NULL when it holds no server, or when
     * that is unknown */
    pdl_str server;
} origin;

/* A tool server that the program imports. */
typedef struct known_server {
    pdl_str name;
    const pdl_block *at; /* the block with the first import */
    checked_file *file;  /* the file of that block */
    /* n_seen counts the uses of a variable that holds the server; n_used counts those of them that
     * call a tool */
    size_t n_seen, n_used;
    bool open; /* any of the server's tools may be called */
} known_server;

struct checked_file {
    const pdl_program *p;
    /* the first file of the group, which holds the names for the whole group; may be this file */
    struct checked_file *group;
    pdl_map names;       /* name -> origin, in the main program's arena */
    const pdl_block *at; /* the block that first uses the file; NULL for the main file */
};

typedef struct policy_check {
    pdl_program *p;
    const pdl_policies *policies;
    pdl_str folder;
    pdl_map files;      /* address of a program -> checked_file; the main file is first */
    pdl_map servers;    /* name -> known_server, in the main program's arena */
    pdl_map tools;      /* SERVER/NAME of a tool that is called or locked -> the same text */
    pdl_map foreign;    /* names of called functions that code or a host program defines */
    checked_file *file; /* the file that is being examined */
    bool *used;         /* one mark for each rule: whether the rule is used */
    size_t n_rules;
    bool open; /* the run also executes an unknown program, for which a rule may be meant */
} checker;

static void warn(checker *c, pdl_rule_id id, pdl_loc loc, const char *text) {
    size_t n;
    const pdl_rule *r = &pdl_rules(&n)[id];
    const pdl_block *at = c->file->at;
    pdl_diag *d = pdl_program_diag(c->p, PDL_DIAG_OF(r->severity, r->name, loc, loc), "%s", text);
    if (at)
        pdl_program_relate(c->p, d, at->loc,
                           at->kind == PDL_BLOCK_import ? "imported here" : "included here");
}

/* --- files ------------------------------------------------------------------------------------ */

static checked_file *group_of(checked_file *f) {
    while (f->group != f) f = f->group;
    return f;
}

static checked_file *add_file(checker *c, const pdl_program *p, const pdl_block *at) {
    pdl_str address = {(const char *)(const void *)&p, sizeof p};
    checked_file *f = pdl_map_find(&c->files, address);
    if (f) return f;
    f = pdl_arena_new(c->p->arena, checked_file);
    *f = (checked_file){.p = p, .group = f, .at = at};
    address.p = (const char *)(const void *)&f->p;
    pdl_map_put(&c->files, address, f);
    return f;
}

/* Finds all files that the program uses. The list grows during the walk over it. */
static void find_files(checker *c) {
    add_file(c, c->p, NULL);
    for (size_t i = 0; i < c->files.n; i++) {
        checked_file *f = c->files.entries[i].value;
        c->open = c->open || f->p->uses_unread;
        for (size_t k = 0; k < f->p->uses.n; k++) {
            const pdl_module_use *u = &f->p->uses.p[k];
            if (!u->program->main) continue;
            checked_file *used = add_file(c, u->program, u->block);
            if (u->block->kind == PDL_BLOCK_include) group_of(used)->group = group_of(f);
        }
    }
}

/* --- values of variables ---------------------------------------------------------------------- */

static pdl_map *names_of(const checker *c) { return &group_of(c->file)->names; }

/* Returns the text of a literal; empty when the text is computed. */
static pdl_str literal_of(const pdl_tree *t) {
    bool text = t && t->kind == PDL_TREE_CONST && pdl_is_str(t->value);
    return text ? pdl_str_get(t->value) : (pdl_str){0};
}

static pdl_label label_of_tree(const checker *c, const pdl_tree *t) {
    pdl_label all = 0;
    if (!t || t->kind == PDL_TREE_CONST) return 0;
    if (t->kind == PDL_TREE_EXPR) {
        for (uint32_t i = 0; i < pdl_tree_expr(t)->n_free; i++) {
            const origin *o = pdl_map_find(names_of(c), pdl_tree_expr(t)->free_names[i]);
            if (o) all |= o->label;
        }
        return all;
    }
    for (uint32_t i = 0; i < t->n; i++) all |= label_of_tree(c, t->items[i]);
    return all;
}

static pdl_label label_of_reply(const checker *c, pdl_effect_kind kind, pdl_str subject) {
    bool trusted = false;
    pdl_label named = pdl_policies_label_of(c->policies, kind, subject, c->folder, 0, &trusted);
    return named | (trusted ? 0 : pdl_effect_origin(kind));
}

/* Returns true for a block `read` without a path. */
static bool is_input(const pdl_block *b) {
    const pdl_tree *path = PDL_AS(read, b)->path;
    return !path || (path->kind == PDL_TREE_CONST && pdl_is_null(path->value));
}

/* Returns the label that the result of a block certainly has; 0 when no label is certain. */
static pdl_label label_of_block(const checker *c, const pdl_block *b) {
    if (b->rare->spec.type || b->rare->endorse || b->rare->fallback) return 0;
    switch ((int)b->kind) {
    case PDL_BLOCK_model: {
        pdl_str name = literal_of(PDL_AS(model, b)->model);
        return name.n ? label_of_reply(c, PDL_EFFECT_model, name) : 0;
    }
    case PDL_BLOCK_read: {
        const pdl_tree *path = PDL_AS(read, b)->path;
        if (is_input(b)) return label_of_reply(c, PDL_EFFECT_input, (pdl_str){"", 0});
        return literal_of(path).n ? label_of_reply(c, PDL_EFFECT_read, literal_of(path)) : 0;
    }
    case PDL_BLOCK_data: return label_of_tree(c, PDL_AS(data, b)->data);
    default: return 0;
    }
}

/* Returns the tool server that a block imports; p is NULL when it imports none. */
static pdl_str server_of(const pdl_block *b) {
    if (!b || b->kind != PDL_BLOCK_import) return (pdl_str){0};
    pdl_str path = PDL_AS(import, b)->path.s;
    if (!pdl_str_starts(path, PDL_STR(PDL_TOOLS_PREFIX))) return (pdl_str){0};
    return pdl_str_sub(path, strlen(PDL_TOOLS_PREFIX), path.n);
}

static void define_as(checker *c, pdl_str name, pdl_label label, pdl_str server) {
    if (!name.n) return;
    origin *o = pdl_map_find(names_of(c), name);
    if (o) {
        known_server *s = o->server.p ? pdl_map_find(&c->servers, o->server) : NULL;
        if (s) s->open = true;
        *o = (origin){0}; /* the variable is defined twice, so its value depends on the run */
        return;
    }
    o = pdl_arena_new(c->p->arena, origin);
    *o = (origin){.label = label ? label | PDL_LABEL_FREE : 0, .server = server};
    pdl_map_put(names_of(c), name, o);
}

/* Records the name of the variable that gets a block's value, and the facts about that value. */
static void define_block(checker *c, pdl_str name, const pdl_block *b) {
    define_as(c, name, label_of_block(c, b), server_of(b));
}

static void note_import(checker *c, const pdl_block *b) {
    pdl_str name = server_of(b);
    if (!name.p) return;
    known_server *s = pdl_map_find(&c->servers, name);
    if (!s) {
        s = pdl_arena_new(c->p->arena, known_server);
        *s = (known_server){.name = name, .at = b, .file = c->file};
        pdl_map_put(&c->servers, name, s);
    }
}

static void define_variable(void *user, const pdl_variable *v) {
    if (v->value)
        define_block(user, v->name, v->value);
    else
        define_as(user, v->name, 0, (pdl_str){0});
}

static void collect(void *user, const pdl_block *b) {
    note_import(user, b);
    pdl_block_each_child(b, collect, user);
    pdl_block_each_variable(b, define_variable, user);
}

/* --- sinks ------------------------------------------------------------------------------------ */

enum { MAX_ARGS = 64 };

typedef struct sink_use {
    pdl_sink_id sink;
    pdl_str name; /* p is NULL when the name is computed */
    pdl_argument args[MAX_ARGS];
    size_t n;
} sink_use;

static void add(sink_use *u, pdl_str name, pdl_label label) {
    if (u->n < MAX_ARGS)
        u->args[u->n++] = (pdl_argument){.name = name, .value = pdl_absent(), .label = label};
}

/* Reports a use that is always refused. */
static void judge_alone(checker *c, const pdl_block *b, const sink_use *u) {
    pdl_str name = u->name.p ? u->name : (pdl_str){"", 0};
    pdl_policy_ask ask = {u->sink, name, 0, u->args, u->n, c->folder, 0, NULL, {0}, 0, true};
    pdl_decision d = pdl_policies_judge(c->policies, &ask);
    if (d.verdict != PDL_VERDICT_DENY || !d.arg) return;
    pdl_buf m = PDL_BUF;
    pdl_buf_putf(&m, "policy %.*s", PDL_FMT(d.policy));
    if (d.line) pdl_buf_putf(&m, ", line %u,", d.line);
    pdl_buf_putf(&m, " always refuses argument %.*s of sink %s", PDL_FMT(d.arg->name),
                 pdl_sink_name(u->sink));
    if (u->sink == PDL_SINK_tool) pdl_buf_putf(&m, " %.*s", PDL_FMT(name));
    PDL_PUT(&m, ": from ");
    pdl_policies_put_label(c->policies, d.labels, &m);
    warn(c, PDL_RULE_policy_refuses, b->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

/* Judges a use. When the name of the sink is computed, all rules of the sink count as used, because
 * each of them may fit. */
static void judge(checker *c, const pdl_block *b, const sink_use *u) {
    pdl_policies_have_rule(c->policies, u->sink, u->name, c->used);
    judge_alone(c, b, u);
}

static void put_index(pdl_arena *a, size_t i, pdl_str *out) {
    char digits[PDL_NUM_MAX];
    *out = pdl_arena_str(a, (pdl_str){digits, pdl_num_int((int64_t)i, digits)});
}

typedef struct started_use {
    checker *c;
    const pdl_block *b;
} started_use;

/* Judges a command that another command starts. */
static void judge_started(void *user, const pdl_command_word *words, size_t n, pdl_str by,
                          size_t choosing) {
    const started_use *s = user;
    sink_use u = {.sink = PDL_SINK_command};
    (void)by;
    if (!choosing) u.name = words[0].text;
    for (size_t i = 0; i < n; i++) {
        pdl_str name;
        put_index(s->c->p->arena, i, &name);
        add(&u, name, words[i].label);
    }
    if (choosing) /* only a run shows which command is started */
        pdl_policies_have_rule(s->c->policies, PDL_SINK_command, (pdl_str){0}, s->c->used);
    else
        judge(s->c, s->b, &u);
}

static void use_started(checker *c, const pdl_b_code *b, const pdl_tree *args) {
    pdl_command_word *words = pdl_arena_new_n(c->p->arena, pdl_command_word, args->n);
    for (uint32_t i = 0; i < args->n; i++)
        words[i] = (pdl_command_word){literal_of(args->items[i]), pdl_absent(),
                                      label_of_tree(c, args->items[i])};
    started_use s = {c, &b->head};
    pdl_command_each_start(c->p->arena, words, args->n, judge_started, &s);
}

static void use_command(checker *c, const pdl_b_code *b) {
    sink_use u = {.sink = PDL_SINK_command};
    const pdl_tree *args = b->args;
    bool list = args && args->kind == PDL_TREE_LIST;
    if (list && args->n) u.name = literal_of(args->items[0]);
    if (args && args->kind == PDL_TREE_CONST && pdl_is_list(args->value) &&
        pdl_list_len(args->value) && pdl_is_str(pdl_list_at(args->value, 0)))
        u.name = pdl_str_get(pdl_list_at(args->value, 0));
    for (uint32_t i = 0; list && i < args->n; i++) {
        pdl_str name;
        put_index(c->p->arena, i, &name);
        add(&u, name, label_of_tree(c, args->items[i]));
    }
    judge(c, &b->head, &u);
    if (list) use_started(c, b, args);
}

/* Returns the label of a text with expressions, such as the text of a block `code:`. Returns 0 for
 * other blocks. */
static pdl_label label_of_text(const checker *c, const pdl_block *text) {
    return text && text->kind == PDL_BLOCK_scalar ? label_of_tree(c, PDL_AS(scalar, text)->value)
                                                  : 0;
}

static void use_code(checker *c, const pdl_b_code *b) {
    pdl_str lang = b->lang.s.p ? b->lang.s : PDL_STR("python");
    pdl_label label = label_of_text(c, b->code);
    if (b->args || (pdl_str_is(lang, "command") && !label)) {
        use_command(c, b);
        return;
    }
    sink_use u = {.sink = pdl_str_is(lang, "command") ? PDL_SINK_command
                          : pdl_str_is(lang, "pdl")   ? PDL_SINK_pdl
                          : pdl_str_is(lang, "jinja") ? PDL_SINK_template
                                                      : PDL_SINK_code};
    if (u.sink == PDL_SINK_code) u.name = lang;
    if (u.sink == PDL_SINK_pdl) c->open = true;
    add(&u, u.sink == PDL_SINK_command ? PDL_STR("0") : PDL_STR("text"), label);
    judge(c, &b->head, &u);
    if (u.sink == PDL_SINK_code) /* the code may call methods of objects */
        pdl_policies_have_rule(c->policies, PDL_SINK_code, PDL_STR("object"), c->used);
}

static void use_path(checker *c, const pdl_block *b, pdl_sink_id sink, pdl_str literal,
                     pdl_label label) {
    sink_use u = {.sink = sink, .name = literal};
    add(&u, PDL_STR("path"), label);
    judge(c, b, &u);
}

static void use_model(checker *c, const pdl_b_model *b) {
    sink_use u = {.sink = PDL_SINK_model, .name = literal_of(b->model)};
    add(&u, PDL_STR("user"), label_of_text(c, b->input));
    judge(c, &b->head, &u);
    pdl_policies_have_rule(c->policies, PDL_SINK_url, (pdl_str){0}, c->used);
}

static void use_server(checker *c, const pdl_b_import *b) {
    if (!pdl_str_starts(b->path.s, PDL_STR(PDL_TOOLS_PREFIX))) {
        use_path(c, &b->head, PDL_SINK_import, b->path.s, 0);
        return;
    }
    pdl_policies_have_rule(c->policies, PDL_SINK_server, server_of(&b->head), c->used);
}

/* Appends an entry of a map in the form that it has in the program. */
static void put_written(const pdl_node *map, pdl_str key, pdl_buf *out) {
    pdl_val v = pdl_absent();
    pdl_err ignored = {0};
    const pdl_node *n = pdl_node_find(map, key, NULL);
    if (!n || !pdl_yaml_to_val(n, &v, &ignored) || !pdl_stringify(v, out, &ignored))
        PDL_PUT(out, "?");
    pdl_err_fini(&ignored);
    pdl_drop(v);
}

/* Reports a label that no policy of this run defines. Removing such a label has no effect. */
static void report_label(checker *c, const pdl_node *n) {
    pdl_val v = pdl_absent();
    pdl_err ignored = {0};
    pdl_label known;
    if (pdl_yaml_to_val(n, &v, &ignored) && pdl_is_str(v) &&
        !pdl_policies_find_label(c->policies, pdl_str_get(v), &known)) {
        pdl_str name = pdl_str_get(v), near = pdl_policies_near_label(c->policies, name);
        pdl_buf m = PDL_BUF;
        pdl_buf_putf(&m, "no policy has a label '%.*s', so it endorses nothing", PDL_FMT(name));
        if (near.n) pdl_buf_putf(&m, "; did you mean '%.*s'?", PDL_FMT(near));
        warn(c, PDL_RULE_policy_endorse, pdl_node_loc(n), pdl_buf_z(&m));
        pdl_buf_fini(&m);
    }
    pdl_err_fini(&ignored);
    pdl_drop(v);
}

static void report_labels(checker *c, const pdl_endorse_field *e) {
    const pdl_node *labels = pdl_node_find(e->node, PDL_STR("labels"), NULL);
    bool list = labels && labels->kind == PDL_NODE_SEQ;
    for (uint32_t i = 0; list && i < labels->n; i++) report_label(c, labels->items[i]);
}

static void use_endorse(checker *c, const pdl_endorse_field *e) {
    report_labels(c, e);
    pdl_buf m = PDL_BUF;
    PDL_PUT(&m, "endorses its result, which loses ");
    put_written(e->node, PDL_STR("labels"), &m);
    PDL_PUT(&m, ": ");
    put_written(e->node, PDL_STR("why"), &m);
    warn(c, PDL_RULE_policy_endorse, e->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
    pdl_policies_have_rule(c->policies, PDL_SINK_endorse, (pdl_str){0}, c->used);
}

static void use(void *user, const pdl_block *b) {
    checker *c = user;
    if (b->rare->endorse) use_endorse(c, b->rare->endorse);
    switch ((int)b->kind) {
    case PDL_BLOCK_code: use_code(c, PDL_AS(code, b)); break;
    case PDL_BLOCK_model: use_model(c, PDL_AS(model, b)); break;
    case PDL_BLOCK_include: use_path(c, b, PDL_SINK_include, PDL_AS(include, b)->path.s, 0); break;
    case PDL_BLOCK_import: use_server(c, PDL_AS(import, b)); break;
    case PDL_BLOCK_read: {
        const pdl_tree *path = PDL_AS(read, b)->path;
        if (!is_input(b)) use_path(c, b, PDL_SINK_read, literal_of(path), label_of_tree(c, path));
        break;
    }
    case PDL_BLOCK_aggregator: {
        const pdl_agg *agg = PDL_AS(aggregator, b)->aggregator;
        if (agg->is_file)
            use_path(c, b, PDL_SINK_write, literal_of(agg->file), label_of_tree(c, agg->file));
        break;
    }
    default: break;
    }
    pdl_block_each_child(b, use, c);
}

/* --- tools ------------------------------------------------------------------------------------ */

static pdl_str literal_node(const pdl_xnode *x) {
    bool text = x && x->kind == PDL_X_CONST && pdl_is_str(x->u.value);
    return text ? pdl_str_get(x->u.value) : (pdl_str){0};
}

struct label_sum {
    const checker *c;
    pdl_label label;
};

static void add_name(void *user, const pdl_xnode *x) {
    struct label_sum *sum = user;
    const origin *o = x->kind == PDL_X_NAME ? pdl_map_find(names_of(sum->c), x->u.name) : NULL;
    if (o) sum->label |= o->label;
}

static pdl_str joined(checker *c, pdl_str first, const char *between, pdl_str second) {
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, first);
    pdl_buf_put(&b, pdl_str_of(between));
    pdl_buf_put(&b, second);
    pdl_str whole = pdl_arena_str(c->p->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return whole;
}

/* Adds an argument. When the program writes the argument as an object, adds its parts instead,
 * under names such as "message.body". */
static void add_value(checker *c, sink_use *u, pdl_str name, const pdl_xnode *x, unsigned depth) {
    enum { DEEP = 8 };
    if (x->kind == PDL_X_DICT && x->u.dict.n && depth < DEEP) {
        for (uint32_t i = 0; i < x->u.dict.n; i++) {
            pdl_str key = literal_node(x->u.dict.keys[i]);
            pdl_str whole = key.p ? joined(c, name, name.n ? "." : "", key) : name;
            add_value(c, u, whole, x->u.dict.vals[i], depth + 1);
        }
        return;
    }
    struct label_sum sum = {c, 0};
    pdl_xnode_each(x, add_name, &sum);
    add(u, name, sum.label);
}

static void note_tool(void *user, pdl_str name) {
    checker *c = user;
    if (!pdl_map_find(&c->tools, name)) {
        pdl_str *own = pdl_arena_new(c->p->arena, pdl_str);
        *own = pdl_arena_str(c->p->arena, name);
        pdl_map_put(&c->tools, *own, own);
    }
}

struct locked {
    checker *c;
    pdl_str server, tool; /* p of tool is NULL when all tools of the server are noted */
    bool found;
    pdl_str names[64];
    size_t n;
};

static void on_locked(void *user, pdl_str tool) {
    struct locked *l = user;
    l->found = l->found || (l->tool.p && pdl_str_eq(l->tool, tool));
    if (l->n < sizeof l->names / sizeof l->names[0]) l->names[l->n++] = tool;
    if (!l->tool.p) note_tool(l->c, joined(l->c, l->server, "/", tool));
}

/* Reports a tool that the lock file of the policy does not list among the tools of its server. Does
 * nothing when the lock file does not have the server. */
static void check_locked(checker *c, const pdl_block *b, pdl_str server, pdl_str tool) {
    struct locked l = {.c = c, .server = server, .tool = tool};
    if (!pdl_policies_each_locked(c->policies, server, on_locked, &l) || l.found) return;
    pdl_buf m = PDL_BUF;
    pdl_str near = pdl_str_nearest(tool, l.names, l.n);
    pdl_buf_putf(&m, "the tool %.*s/%.*s is not in the lock file of the policy", PDL_FMT(server),
                 PDL_FMT(tool));
    if (near.n) pdl_buf_putf(&m, "; did you mean '%.*s'?", PDL_FMT(near));
    warn(c, PDL_RULE_policy_refuses, b->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

static void warn_unruled(checker *c, const pdl_block *b, const char *what, pdl_str name) {
    pdl_buf m = PDL_BUF;
    pdl_buf_putf(&m, "no rule of the policy is about the tool%s%.*s: its `otherwise` decides", what,
                 PDL_FMT(name));
    warn(c, PDL_RULE_tool_unruled, b->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

/* Handles the call of a tool. With `others`, the call may have more arguments than those in u.
 */
static void use_tool(checker *c, const pdl_block *b, pdl_str server, pdl_str tool, sink_use *u,
                     bool others) {
    u->sink = PDL_SINK_tool;
    u->name = joined(c, server, "/", tool);
    pdl_policy_ask ask = {u->sink, u->name, 0, u->args, u->n, c->folder, 0, NULL, {0}, 0, true};
    bool known = pdl_map_find(&c->tools, u->name) != NULL;
    note_tool(c, u->name);
    check_locked(c, b, server, tool);
    if (!pdl_policies_have_call(c->policies, &ask, others, c->used) && !known &&
        pdl_policies_have_tools(c->policies, server, NULL))
        warn_unruled(c, b, " ", u->name);
    judge_alone(c, b, u);
}

/* Returns true for attributes of a server that are not tools. */
static bool is_member(pdl_str name) {
    static const char *const members[] = {"tools", "call_tool", "request", "get", "items",
                                          "keys",  "values",    "update",  "pop", "copy"};
    return PDL_STR_IN(name, members);
}

/* Returns the server in an expression `server.name` or `server['name']`; *name gets the name.
 * Returns NULL for any other expression. */
static known_server *member_of(const checker *c, const pdl_xnode *x, pdl_str *name) {
    if (!x || (x->kind != PDL_X_ATTR && x->kind != PDL_X_ITEM)) return NULL;
    if (x->u.access.obj->kind != PDL_X_NAME) return NULL;
    const origin *o = pdl_map_find(names_of(c), x->u.access.obj->u.name);
    *name = x->kind == PDL_X_ATTR ? x->u.access.name : literal_node(x->u.access.key);
    return o && o->server.p && name->n ? pdl_map_find(&c->servers, o->server) : NULL;
}

/* Handles a call such as tool(a=x). The definition of the tool is not known here, so an argument
 * without a name may be any of its arguments. */
static void use_named_call(checker *c, const pdl_block *b, pdl_str server, pdl_str tool,
                           const pdl_xargs *args) {
    sink_use u = {0};
    for (uint32_t i = 0; i < args->n_kw; i++) add_value(c, &u, args->kw_names[i], args->kw[i], 0);
    use_tool(c, b, server, tool, &u, args->n_pos || args->star || args->starstar);
}

/* Handles the call of a tool with an object of arguments, which may be NULL. */
static void use_object_call(checker *c, const pdl_block *b, pdl_str server, pdl_str tool,
                            const pdl_xnode *object) {
    sink_use u = {0};
    bool dict = object && object->kind == PDL_X_DICT;
    if (dict) add_value(c, &u, (pdl_str){"", 0}, object, 0);
    use_tool(c, b, server, tool, &u, object && !dict);
}

static const pdl_xnode *pos_of(const pdl_xargs *args, uint32_t i) {
    return i < args->n_pos ? args->pos[i] : NULL;
}

struct walk_calls {
    checker *c;
    const pdl_block *b;
};

/* Notes the call of a function that a code block made. A function that the program does not define
 * counts as well, because a host program may provide it. A policy treats both as objects of
 * Python. */
static void note_foreign(checker *c, const pdl_xnode *callee) {
    if (callee->kind != PDL_X_NAME || pdl_check_is_builtin(callee->u.name)) return;
    const origin *o = pdl_map_find(names_of(c), callee->u.name);
    if (o && !(o->label & PDL_LABEL_code)) return;
    pdl_map_put(&c->foreign, callee->u.name, c);
    pdl_policies_have_rule(c->policies, PDL_SINK_code, PDL_STR("object"), c->used);
}

static void on_call(struct walk_calls *w, const pdl_xnode *x) {
    checker *c = w->c;
    const pdl_xargs *args = &x->u.call.args;
    pdl_str name = {0};
    bool raw =
        x->u.call.obj->kind == PDL_X_NAME && pdl_str_is(x->u.call.obj->u.name, "pdl_tool_call");
    if (raw) {
        pdl_str server = literal_node(pos_of(args, 0)), tool = literal_node(pos_of(args, 1));
        if (server.n && tool.n) use_object_call(c, w->b, server, tool, pos_of(args, 2));
        if (!server.n || !tool.n)
            pdl_policies_have_rule(c->policies, PDL_SINK_tool, (pdl_str){0}, c->used);
        return;
    }
    note_foreign(c, x->u.call.obj);
    known_server *s = member_of(c, x->u.call.obj, &name);
    if (s && pdl_str_is(name, "call_tool") && literal_node(pos_of(args, 0)).n && !args->n_kw) {
        s->n_used++;
        use_object_call(c, w->b, s->name, literal_node(pos_of(args, 0)), pos_of(args, 1));
    } else if (s && !is_member(name)) {
        s->n_used++;
        use_named_call(c, w->b, s->name, name, args);
    }
}

static void on_node(void *user, const pdl_xnode *x) {
    struct walk_calls *w = user;
    checker *c = w->c;
    if (x->kind == PDL_X_CALL) on_call(w, x);
    if (x->kind != PDL_X_NAME) return;
    const origin *o = pdl_map_find(names_of(c), x->u.name);
    known_server *s = o && o->server.p ? pdl_map_find(&c->servers, o->server) : NULL;
    if (s) s->n_seen++;
    bool stdlib = pdl_str_is(x->u.name, "stdlib"), raw = pdl_str_is(x->u.name, "pdl_tool_request");
    if (raw) pdl_policies_have_rule(c->policies, PDL_SINK_tool, (pdl_str){0}, c->used);
    if (stdlib || raw || pdl_str_is(x->u.name, "pdl_tool_call"))
        pdl_policies_have_rule(c->policies, PDL_SINK_server, (pdl_str){0}, c->used);
    if (!stdlib) return;
    pdl_policies_have_rule(c->policies, PDL_SINK_embed, (pdl_str){0}, c->used);
    pdl_policies_have_rule(c->policies, PDL_SINK_model, (pdl_str){0}, c->used);
}

/* Handles a block `call` whose function is a tool. */
static void use_call_block(checker *c, const pdl_b_call *b) {
    pdl_str name = {0};
    const pdl_tree *args = b->args;
    known_server *s = member_of(c, pdl_tree_expr(b->func)->root, &name);
    if (!s || is_member(name)) return;
    s->n_used++;
    sink_use u = {0};
    bool map = args && args->kind == PDL_TREE_MAP, others = args && !map;
    for (uint32_t i = 0; map && i < args->n; i++) {
        pdl_str key = literal_of(args->keys[i]);
        if (key.n) add(&u, key, label_of_tree(c, args->items[i]));
        others = others || !key.n;
    }
    if (args && args->kind == PDL_TREE_CONST && pdl_is_dict(args->value)) {
        others = false;
        for (size_t i = 0; i < pdl_dict_len(args->value); i++)
            if (pdl_is_str(pdl_dict_key_at(args->value, i)))
                add(&u, pdl_str_get(pdl_dict_key_at(args->value, i)), 0);
    }
    use_tool(c, &b->head, s->name, name, &u, others);
}

static void use_expr(void *user, const pdl_block *b, const char *key, const pdl_tree *t) {
    checker *c = user;
    struct walk_calls w = {c, b};
    if (b->kind == PDL_BLOCK_call && strcmp(key, "call") == 0) use_call_block(c, PDL_AS(call, b));
    pdl_xnode_each(pdl_tree_expr(t)->root, on_node, &w);
}

/* Decides which tools of a server may be called when the program computes their names. The whole
 * program must have been examined before. */
static void judge_server(checker *c, known_server *s) {
    struct locked l = {.c = c, .server = s->name};
    c->file = s->file;
    if (!pdl_policies_have_tools(c->policies, s->name, NULL))
        warn_unruled(c, s->at, "s of ", s->name);
    if (!s->open && s->n_seen == s->n_used && s->n_seen) return;
    if (!pdl_policies_each_locked(c->policies, s->name, on_locked, &l) ||
        l.n == sizeof l.names / sizeof l.names[0]) {
        pdl_policies_have_tools(c->policies, s->name, c->used);
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        pdl_str whole = joined(c, s->name, "/", l.names[i]);
        if (!pdl_policies_have_rule(c->policies, PDL_SINK_tool, whole, c->used) &&
            pdl_policies_have_tools(c->policies, s->name, NULL))
            warn_unruled(c, s->at, " ", whole);
    }
}

/* --- rules ------------------------------------------------------------------------------------ */

static void count_rule(void *user, size_t i, const pdl_rule_view *r) {
    (void)i;
    (void)r;
    ++*(size_t *)user;
}

static void put_rule(const pdl_rule_view *r, pdl_buf *out) {
    pdl_buf_putf(out, "policy %.*s, line %u: ", PDL_FMT(r->policy), r->line);
    pdl_policy_put_rule(r, out);
}

static pdl_str near_tool(const checker *c, const pdl_rule_view *r) {
    pdl_str names[256];
    size_t n = 0;
    if (r->sink != PDL_SINK_tool || !r->name.p) return (pdl_str){0};
    for (; n < c->tools.n && n < sizeof names / sizeof names[0]; n++) {
        names[n] = c->tools.entries[n].key;
        if (pdl_str_eq(names[n], r->name)) return (pdl_str){0};
    }
    return pdl_str_nearest(r->name, names, n);
}

/* Returns true when the rule names a called function that code or a host program defines. */
static bool is_foreign(const checker *c, const pdl_rule_view *r) {
    size_t slash = r->name.p ? pdl_str_rfind(r->name, PDL_STR("/")) : PDL_NOT_FOUND;
    size_t from = slash == PDL_NOT_FOUND ? 0 : slash + 1;
    return r->sink == PDL_SINK_tool && r->name.p &&
           pdl_map_find(&c->foreign, pdl_str_sub(r->name, from, r->name.n));
}

static void report_rule(void *user, size_t i, const pdl_rule_view *r) {
    checker *c = user;
    bool hides =
        r->sink == PDL_SINK_output || r->sink == PDL_SINK_trace || r->sink == PDL_SINK_journal;
    if (c->used[i] || hides) return;
    pdl_buf m = PDL_BUF;
    pdl_str near = near_tool(c, r);
    put_rule(r, &m);
    PDL_PUT(&m, " fits nothing in the program");
    if (near.n) pdl_buf_putf(&m, "; did you mean '%.*s'?", PDL_FMT(near));
    if (is_foreign(c, r))
        PDL_PUT(&m, ": a function of code or of a host program is no tool of a server; its sink is "
                    "`code object`, with the arguments args and kwargs");
    warn(c, PDL_RULE_policy_unused, c->p->main->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

static void report_oddity(void *user, const pdl_rule_view *r, const char *what) {
    checker *c = user;
    pdl_buf m = PDL_BUF;
    put_rule(r, &m);
    pdl_buf_putf(&m, " %s", what);
    warn(c, PDL_RULE_policy_unused, c->p->main->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

/* Calls fn for each file. During the call c->file is that file. */
static void each_file(checker *c, void (*fn)(checker *c)) {
    for (size_t i = 0; i < c->files.n; i++) {
        c->file = c->files.entries[i].value;
        fn(c);
    }
    c->file = c->files.entries[0].value;
}

static void collect_file(checker *c) { collect(c, c->file->p->main); }

static void use_file(checker *c) {
    use(c, c->file->p->main);
    pdl_program_walk(c->file->p, &(pdl_walk){.user = c, .expr = use_expr});
}

static void close_file(checker *c) { pdl_map_fini(&c->file->names); }

void pdl_policies_check_program(pdl_program *p, const pdl_policies *policies, pdl_str folder) {
    if (!p->main) return;
    checker c = {.p = p, .policies = policies, .folder = folder};
    pdl_policies_each_rule(policies, count_rule, &c.n_rules);
    c.used = PDL_NEW_N(bool, c.n_rules + 1);
    find_files(&c);
    each_file(&c, collect_file);
    each_file(&c, use_file);
    for (size_t i = 0; i < c.servers.n; i++) judge_server(&c, c.servers.entries[i].value);
    c.file = c.files.entries[0].value;
    pdl_policies_each_oddity(policies, report_oddity, &c);
    if (!c.open) pdl_policies_each_rule(policies, report_rule, &c);
    pdl_program_sort_diags(p);
    each_file(&c, close_file);
    pdl_map_fini(&c.files);
    pdl_map_fini(&c.servers);
    pdl_map_fini(&c.tools);
    pdl_map_fini(&c.foreign);
    pdl_free(c.used);
}
