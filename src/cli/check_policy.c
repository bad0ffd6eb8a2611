/* check_policy.c -- pdl check --policy: what a policy will do to a program, as far as that can be
 * known without running it. Files that it includes or imports take part, with places in them.
 *
 * Files that are connected by `include` share their variables; an imported file has its own. Such a
 * group has one map of names: a name that two of its files define is not known.
 *
 * Where a value comes from is known of a variable that one block of the program defines, and that
 * block asks a model, reads a file, runs code or a command. Everything else may be anything, and a
 * sink that gets it is not reported: a warning here says that the block is refused whenever it is
 * executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/check_policy.h"

#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"
#include "check/check.h"
#include "lang/toolbox.h"
#include "lang/walk.h"
#include "value/label.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* What is known of a variable. */
typedef struct origin {
    pdl_label label; /* 0: nothing */
} origin;

typedef struct checked_file {
    const pdl_program *p;
    struct checked_file *group; /* another file of the same group, or itself: it has the names */
    pdl_map names;              /* -> origin, in the main program's arena */
    const pdl_block *at;        /* that takes the file first; NULL: the main file */
} checked_file;

typedef struct policy_check {
    pdl_program *p;
    const pdl_policies *policies;
    pdl_str folder;
    pdl_map files;      /* addresses of programs -> checked_file; the main file first */
    checked_file *file; /* that is examined */
    bool *used;         /* rules */
    size_t n_rules;
    bool open; /* a program takes part that is not known: rules may be for that one */
} checker;

static void warn(checker *c, pdl_rule_id id, pdl_loc loc, const char *text) {
    size_t n;
    const pdl_rule *r = &pdl_rules(&n)[id];
    const pdl_block *at = c->file->at;
    pdl_diag *d = pdl_program_diag(c->p, r->severity, r->name, loc, loc, "%s", text);
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

/* All files that take part. The list grows while it is walked through. */
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

/* --- what variables hold ---------------------------------------------------------------------- */

static pdl_map *names_of(const checker *c) { return &group_of(c->file)->names; }

/* The text of a literal; empty: it is computed. */
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
    pdl_label named = pdl_policies_label_of(c->policies, kind, subject, c->folder, &trusted);
    return named | (trusted ? 0 : pdl_effect_origin(kind));
}

/* A literal subject is needed only where patterns of labels or of trust might fit. */
static pdl_label label_of_block(const checker *c, const pdl_block *b) {
    if (b->rare->spec.type || b->rare->endorse || b->rare->fallback) return 0;
    switch ((int)b->kind) {
    case PDL_BLOCK_model: {
        pdl_str name = literal_of(PDL_AS(model, b)->model);
        return name.n ? label_of_reply(c, PDL_EFFECT_model, name) : 0;
    }
    case PDL_BLOCK_read: {
        const pdl_tree *path = PDL_AS(read, b)->path;
        bool input = !path || (path->kind == PDL_TREE_CONST && pdl_is_null(path->value));
        if (input) return label_of_reply(c, PDL_EFFECT_input, (pdl_str){"", 0});
        return literal_of(path).n ? label_of_reply(c, PDL_EFFECT_read, literal_of(path)) : 0;
    }
    case PDL_BLOCK_data: return label_of_tree(c, PDL_AS(data, b)->data);
    default: return 0;
    }
}

static void define(checker *c, pdl_str name, pdl_label label) {
    if (!name.n) return;
    origin *o = pdl_map_find(names_of(c), name);
    if (o) {
        o->label = 0; /* defined twice: which one it is depends on the run */
        return;
    }
    o = pdl_arena_new(c->p->arena, origin);
    o->label = label ? label | PDL_LABEL_FREE : 0;
    pdl_map_put(names_of(c), name, o);
}

static void define_fors(checker *c, const pdl_fors *fors) {
    for (uint32_t i = 0; fors && i < fors->n; i++) define(c, literal_of(fors->names[i]), 0);
}

static void collect(void *user, const pdl_block *b) {
    checker *c = user;
    if (b->kind == PDL_BLOCK_repeat) define_fors(c, PDL_AS(repeat, b)->fors);
    if (b->kind == PDL_BLOCK_map) define_fors(c, PDL_AS(map, b)->fors);
    if (b->kind == PDL_BLOCK_function) {
        const pdl_params *params = &PDL_AS(function, b)->params;
        for (uint32_t i = 0; i < params->n; i++) define(c, params->names[i], 0);
    }
    pdl_block_each_child(b, collect, c);
    define(c, b->def.s, label_of_block(c, b));
    for (uint32_t i = 0; i < b->rare->defs.n; i++)
        define(c, b->rare->defs.names[i], label_of_block(c, b->rare->defs.p[i]));
}

/* --- sinks ------------------------------------------------------------------------------------ */

enum { MOST_ARGS = 64 };

typedef struct sink_use {
    pdl_sink_id sink;
    pdl_str name; /* p NULL: computed */
    pdl_argument args[MOST_ARGS];
    size_t n;
} sink_use;

static void add(sink_use *u, pdl_str name, pdl_label label) {
    if (u->n < MOST_ARGS) u->args[u->n++] = (pdl_argument){
            .name = name, .value = pdl_absent(), .label = label};
}

/* Rules for any name of the sink count as used when the name is computed. */
static void judge(checker *c, const pdl_block *b, const sink_use *u) {
    pdl_policies_have_rule(c->policies, u->sink, u->name, c->used);
    pdl_str name = u->name.p ? u->name : (pdl_str){"", 0};
    pdl_policy_ask ask = {u->sink, name, 0, u->args, u->n, c->folder};
    pdl_decision d = pdl_policies_judge(c->policies, &ask);
    if (d.verdict != PDL_VERDICT_DENY || !d.arg) return;
    pdl_buf m = PDL_BUF;
    pdl_buf_putf(&m, "policy %.*s", PDL_FMT(d.policy));
    if (d.line) pdl_buf_putf(&m, ", line %u,", d.line);
    pdl_buf_putf(&m, " always refuses argument %.*s of sink %s: from ", PDL_FMT(d.arg->name),
                 pdl_sink_name(u->sink));
    pdl_policies_put_label(c->policies, d.labels, &m);
    warn(c, PDL_RULE_policy_refuses, b->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

static void put_index(pdl_arena *a, size_t i, pdl_str *out) {
    char digits[PDL_NUM_MAX];
    *out = pdl_arena_str(a, (pdl_str){digits, pdl_num_int((int64_t)i, digits)});
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
}

/* The text of the block `code:`, when it is a plain text with expressions. */
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
    pdl_str server = pdl_str_sub(b->path.s, strlen(PDL_TOOLS_PREFIX), b->path.s.n);
    pdl_policies_have_rule(c->policies, PDL_SINK_server, server, c->used);
    if (pdl_policies_have_tools(c->policies, server, c->used)) return;
    pdl_buf m = PDL_BUF;
    pdl_buf_putf(&m, "no rule of the policy is about the tools of %.*s: its `otherwise` decides",
                 PDL_FMT(server));
    warn(c, PDL_RULE_tool_unruled, b->head.loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

/* An entry as the program has it. */
static void put_written(const pdl_node *map, pdl_str key, pdl_buf *out) {
    pdl_val v = pdl_absent();
    pdl_err ignored = {0};
    const pdl_node *n = pdl_node_find(map, key, NULL);
    if (!n || !pdl_yaml_to_val(n, &v, &ignored) || !pdl_stringify(v, out, &ignored))
        PDL_PUT(out, "?");
    pdl_err_fini(&ignored);
    pdl_drop(v);
}

static void use_endorse(checker *c, const pdl_endorse_field *e) {
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
        use_path(c, b, PDL_SINK_read, literal_of(path), label_of_tree(c, path));
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

/* Functions of expressions that reach sinks by names that only a run knows. */
static void use_expr(void *user, const pdl_block *b, const char *key, const pdl_tree *t) {
    checker *c = user;
    (void)b;
    (void)key;
    for (uint32_t i = 0; i < pdl_tree_expr(t)->n_free; i++) {
        if (!pdl_str_starts(pdl_tree_expr(t)->free_names[i], PDL_STR("pdl_tool")) &&
            !pdl_str_is(pdl_tree_expr(t)->free_names[i], "stdlib"))
            continue;
        static const pdl_sink_id sinks[] = {PDL_SINK_tool, PDL_SINK_server, PDL_SINK_embed,
                                            PDL_SINK_model};
        for (size_t k = 0; k < sizeof sinks / sizeof *sinks; k++)
            pdl_policies_have_rule(c->policies, sinks[k], (pdl_str){0}, c->used);
    }
}

/* --- rules ------------------------------------------------------------------------------------ */

static void count_rule(void *user, size_t i, const pdl_rule_view *r) {
    (void)i;
    (void)r;
    ++*(size_t *)user;
}

static void report_rule(void *user, size_t i, const pdl_rule_view *r) {
    checker *c = user;
    bool hides =
        r->sink == PDL_SINK_output || r->sink == PDL_SINK_trace || r->sink == PDL_SINK_journal;
    if (c->used[i] || hides) return;
    pdl_buf m = PDL_BUF;
    pdl_buf_putf(&m, "policy %.*s, line %u: the rule for sink %s%s%.*s fits nothing in the program",
                 PDL_FMT(r->policy), r->line, pdl_sink_name(r->sink), r->name.p ? " " : "",
                 PDL_FMT(r->name.p ? r->name : PDL_STR("")));
    warn(c, PDL_RULE_policy_unused, c->p->main->loc, pdl_buf_z(&m));
    pdl_buf_fini(&m);
}

/* Calls fn for each file, which is then c->file. */
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

void pdl_cli_check_policy(pdl_program *p, const pdl_policies *policies, pdl_str folder) {
    if (!p->main) return;
    checker c = {.p = p, .policies = policies, .folder = folder};
    pdl_policies_each_rule(policies, count_rule, &c.n_rules);
    c.used = PDL_NEW_N(bool, c.n_rules + 1);
    find_files(&c);
    each_file(&c, collect_file);
    each_file(&c, use_file);
    if (!c.open) pdl_policies_each_rule(policies, report_rule, &c);
    pdl_program_sort_diags(p);
    each_file(&c, close_file);
    pdl_map_fini(&c.files);
    pdl_free(c.used);
}
