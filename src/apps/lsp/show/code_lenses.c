/* code_lenses.c -- code lenses, and the commands that they run.
 *
 * The editor runs the programs, because it has the terminal. The arguments of a lens's command name
 * the program. A client that does not understand such a command may send it to the server
 * (workspace/executeCommand). The server answers with a command line for the client to run, because
 * it starts no process itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"
#include "lsp/features.h"

#include "base/banned.h"

const char *const pdl_lsp_commands[] = {"pdl.run", "pdl.view", "pdl.explain", "pdl.test", NULL};

typedef struct lenses {
    const lsp_doc *d;
    pdl_val list;
} lenses;

static void add(lenses *l, lsp_range at, pdl_val title, const char *command, pdl_val more) {
    pdl_val args = pdl_dict_putz(pdl_dict_new(4), "uri", pdl_textz(l->d->uri));
    args = pdl_dict_merge(args, more);
    pdl_drop(more);
    pdl_val c = pdl_dict_putz(pdl_dict_new(3), "title", title);
    c = pdl_dict_putz(c, "command", pdl_textz(command));
    c = pdl_dict_putz(c, "arguments", pdl_list_push(pdl_list_new(1), args));
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "range", pdl_lsp_put_range(at));
    l->list = pdl_list_push(l->list, pdl_dict_putz(v, "command", c));
}

/* Returns true when a file NAME.test.yaml is beside NAME.pdl. `pdl test` runs that file. */
static bool has_tests(const lsp_doc *d) {
    pdl_str key = pdl_str_of(d->key);
    pdl_buf path = PDL_BUF;
    if (!d->is_file || !pdl_str_ends(key, PDL_STR(".pdl"))) return false;
    pdl_buf_putf(&path, "%.*s.test.yaml", (int)(key.n - 4), key.p);
    bool found = pdl_file_kind_of(pdl_buf_z(&path)) == PDL_FILE_REGULAR;
    pdl_buf_fini(&path);
    return found;
}

/* Returns true for a program that is a test, which passes when the program ends without
 * an error. */
static bool is_test(const lsp_doc *d) {
    pdl_str name = pdl_file_name(pdl_str_of(d->key));
    return pdl_str_ends(name, PDL_STR(".test.pdl")) || pdl_str_starts(name, PDL_STR("test_"));
}

static void add_file(lenses *l) {
    lsp_range top = {{0, 0}, {0, 0}};
    add(l, top, pdl_textz("Run"), "pdl.run", pdl_dict_new(0));
    add(l, top, pdl_textz("Run with view"), "pdl.view", pdl_dict_new(0));
    add(l, top, pdl_textz("Explain"), "pdl.explain", pdl_dict_new(0));
    if (has_tests(l->d))
        add(l, top, pdl_textz("Run tests"), "pdl.test", pdl_dict_new(0));
    else if (is_test(l->d))
        add(l, top, pdl_textz("Run test"), "pdl.test", pdl_dict_new(0));
}

static pdl_val put_line(lsp_range at) {
    return pdl_dict_putz(pdl_dict_new(1), "line", pdl_int(at.from.line + 1));
}

static void add_functions(lenses *l) {
    const lsp_index *x = l->d->index;
    for (size_t i = 0; i < x->syms.n; i++) {
        const lsp_sym *sym = &x->syms.p[i];
        if (sym->kind != SYM_FUNCTION || sym->region) continue;
        pdl_val params = pdl_list_new(4);
        const lsp_region *body = &x->regions.p[sym->body];
        for (uint32_t k = 0; sym->body && k < body->n_params; k++)
            params = pdl_list_push(params, pdl_text(x->syms.p[body->param + k].name));
        pdl_val more = pdl_dict_putz(put_line(sym->range), "function", pdl_text(sym->name));
        more = pdl_dict_putz(more, "parameters", params);
        add(l, sym->range, pdl_textf("Run %.*s", PDL_FMT(sym->name)), "pdl.run", pdl_keep(more));
        add(l, sym->range, pdl_textf("Run %.*s with view", PDL_FMT(sym->name)), "pdl.view",
            pdl_keep(more));
        add(l, sym->range, pdl_textf("Explain %.*s", PDL_FMT(sym->name)), "pdl.explain", more);
    }
}

pdl_val pdl_lsp_on_lenses(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    if (!d) return pdl_absent();
    lenses l = {d, pdl_list_new(8)};
    add_file(&l);
    add_functions(&l);
    for (size_t i = 0; i < d->index->models.n; i++)
        add(&l, d->index->models.p[i].range, pdl_textz("Messages sent here"), "pdl.explain",
            put_line(d->index->models.p[i].range));
    return l.list;
}

/* Returns the text of a program that calls the function. The editor asks the user for the
 * arguments, and passes them as values. */
static pdl_val call_program(const lsp_doc *d, pdl_vref args) {
    pdl_buf b = PDL_BUF;
    pdl_vref names = pdl_member(args, "parameters"), values = pdl_member(args, "values");
    pdl_buf_putf(&b, "lastOf:\n- include: %.*s\n  contribute: []\n- call: ${ %.*s }\n",
                 PDL_FMT(pdl_file_name(pdl_str_of(d->key))),
                 PDL_FMT(pdl_member_str(args, "function")));
    bool some = pdl_is_list(names) && pdl_list_len(names);
    if (some) PDL_PUT(&b, "  args:\n");
    for (size_t i = 0; some && i < pdl_list_len(names); i++) {
        if (!pdl_is_str(pdl_list_at(names, i))) continue;
        pdl_str name = pdl_str_get(pdl_list_at(names, i));
        char *z = pdl_str_dup(name);
        pdl_vref v = pdl_member(values, z);
        pdl_free(z);
        pdl_buf_putf(&b, "    %.*s: ", PDL_FMT(name));
        if (pdl_is_str(v))
            pdl_buf_put(&b, pdl_str_get(v));
        else
            PDL_PUT(&b, "null");
        PDL_PUT(&b, "\n");
    }
    return pdl_text_of_buf(&b);
}

/* Returns {argv, cwd, program}. When argv has `-` in place of a file, `program` is the text for
 * standard input. */
static pdl_val command_line(const lsp_doc *d, pdl_str command, pdl_vref args) {
    pdl_val argv = pdl_list_push(pdl_list_new(4), pdl_textz("pdl"));
    bool function = pdl_member_str(args, "function").n > 0;
    bool explain = pdl_str_is(command, "pdl.explain");
    if (explain) argv = pdl_list_push(argv, pdl_textz("explain"));
    if (pdl_str_is(command, "pdl.test") && has_tests(d))
        argv = pdl_list_push(argv, pdl_textz("test"));
    if (pdl_str_is(command, "pdl.view")) argv = pdl_list_push(argv, pdl_textz("--view"));
    argv = pdl_list_push(argv, function ? pdl_textz("-") : pdl_textz(d->key));
    pdl_val v = pdl_dict_putz(pdl_dict_new(3), "argv", argv);
    v = pdl_dict_putz(v, "cwd", pdl_text(pdl_file_folder(pdl_str_of(d->key))));
    return function ? pdl_dict_putz(v, "program", call_program(d, args)) : v;
}

/* Returns the file that the first argument names. The argument has the form that the lenses use, or
 * is an address or a path that a user typed. Without an argument, returns the document that the
 * editor named most recently, if that document is open. */
static const lsp_doc *file_of(pdl_lsp *s, pdl_vref args) {
    pdl_str uri = pdl_is_str(args) ? pdl_str_get(args) : pdl_member_str(args, "uri");
    if (!uri.n) uri = pdl_member_str(pdl_member(args, "textDocument"), "uri");
    if (!uri.n) return s->current && s->current->open ? s->current : NULL;
    return pdl_str_starts(uri, PDL_STR("/")) ? pdl_lsp_doc_of_path(s, uri)
                                             : pdl_lsp_doc_of_uri(s, uri);
}

pdl_val pdl_lsp_on_command(pdl_lsp *s, pdl_vref params) {
    pdl_str command = pdl_member_str(params, "command");
    pdl_vref list = pdl_member(params, "arguments");
    pdl_vref args = pdl_is_list(list) && pdl_list_len(list) ? pdl_list_at(list, 0) : pdl_absent();
    bool known = false;
    for (size_t i = 0; pdl_lsp_commands[i]; i++)
        known = known || pdl_str_is(command, pdl_lsp_commands[i]);
    if (!known) return pdl_lsp_fail(s, LSP_INVALID_PARAMS, "no command %.*s", PDL_FMT(command));
    const lsp_doc *d = file_of(s, args);
    if (!d || !d->is_file)
        return pdl_lsp_fail(s, LSP_INVALID_PARAMS, "%.*s needs a file {uri}", PDL_FMT(command));
    return command_line(d, command, args);
}
