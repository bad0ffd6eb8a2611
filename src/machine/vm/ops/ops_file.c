/* ops_file.c -- the instructions that bring text into a run: read, include, import, and lang: pdl.
 * The text is the reply to an effect. The text of a program is loaded and compiled, and then runs
 * as a part of this run. An include runs in the scope of its block, an import in a separate scope.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/limits.h"
#include "lang/tool_server_program.h"
#include "value/context.h"
#include "value/text.h"
#include "value/type_words.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* Joins dir / name. The result is the name alone when dir is empty or "." or the name is absolute.
 * Appends suffix unless name ends with it. */
static void join_path(pdl_str dir, pdl_str name, pdl_str suffix, pdl_buf *out) {
    bool here = !dir.n || pdl_str_is(dir, ".");
    if (!here && !(name.n && name.p[0] == '/')) {
        pdl_buf_put(out, dir);
        if (!pdl_str_ends(dir, PDL_STR("/"))) pdl_buf_putc(out, '/');
    }
    while (here && pdl_str_starts(name, PDL_STR("./"))) name = pdl_str_sub(name, 2, name.n);
    pdl_buf_put(out, name);
    if (suffix.n && !pdl_str_ends(name, suffix)) pdl_buf_put(out, suffix);
}

static pdl_val shown_path(pdl_str path) {
    char *room = pdl_alloc(path.n + 1);
    pdl_val shown = pdl_text(pdl_file_plain(path, room));
    pdl_free(room);
    return shown;
}

/* --- read ------------------------------------------------------------------------------------- */

pdl_step pdl_op_READ_FILE(pdl_fiber *f, const pdl_b_read *b, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref name = *top(f);
    if (pdl_is_null(name)) { /* null means the standard input */
        pdl_drop(pop(f));
        return pdl_op_INPUT(f, b, err);
    }
    if (!pdl_is_str(name)) {
        pdl_err_set(err, PDL_E_type, pdl_field_loc(&b->head, "read"),
                    "read should be a file name but is %s", pdl_type_plain(name));
        return PDL_STEP_FAIL;
    }
    pdl_buf path = PDL_BUF;
    join_path(f->run->opt.dir, pdl_str_get(name), (pdl_str){0}, &path);
    pdl_val r = pdl_dict_new(2);
    pdl_label label = pdl_label_of(name);
    r = pdl_dict_putz(r, "path", pdl_with_label(pdl_text(pdl_buf_str(&path)), label));
    r = pdl_dict_putz(r, "shown", pdl_with_label(shown_path(pdl_buf_str(&path)), label));
    pdl_buf_fini(&path);
    pdl_drop(pop(f));
    pdl_vm_start_effect(f, PDL_EFFECT_read, r, pdl_field_loc(&b->head, "read"));
    return PDL_STEP_DONE;
}

pdl_step pdl_op_INPUT(pdl_fiber *f, const pdl_b_read *b, pdl_err *err) {
    pdl_step s = pdl_inflight_await(f, 0, false, err);
    if (s != PDL_STEP_DONE) return s;
    bool many = b->multiline.given && b->multiline.value;
    pdl_str dflt = many ? PDL_STR("Enter/Paste your content. Ctrl-D to save it.")
                        : PDL_STR("How can I help you?: ");
    pdl_val prompt = pdl_text(b->prompt.s.p ? b->prompt.s : dflt);
    pdl_out_release(f);
    pdl_out_write_now(f, pdl_str_get(prompt), 1, 0);
    if (many) pdl_out_write_now(f, PDL_STR("\n"), 1, 0);
    pdl_val r = pdl_dict_new(2);
    r = pdl_dict_putz(r, "prompt", prompt);
    r = pdl_dict_putz(r, "multiline", pdl_bool(many));
    pdl_vm_start_effect(f, PDL_EFFECT_input, r, pdl_block_own_loc(&b->head));
    return PDL_STEP_DONE;
}

pdl_step pdl_op_READ_END(pdl_fiber *f, const pdl_b_read *b, pdl_err *err) {
    if (pdl_is_null(*top(f))) {
        pdl_err_set(err, PDL_E_io, pdl_block_own_loc(&b->head), "EOF");
        err->py_class = pdl_str_dup(PDL_STR("EOFError"));
        pdl_err_hint(err, "the input ended before this question was answered");
        return PDL_STEP_FAIL;
    }
    return PDL_STEP_DONE;
}

/* --- include and import ----------------------------------------------------------------------- */

static pdl_str named_file(const pdl_block *b) {
    return b->kind == PDL_BLOCK_import ? PDL_AS(import, b)->path.s : PDL_AS(include, b)->path.s;
}

/* Writes the path at which the file is searched when `place` is tried. Returns false for
 * PDL_IN_PATH when the run has no folders for imports. */
static bool path_in(const pdl_fiber *f, const pdl_block *b, pdl_file_place place, pdl_buf *out) {
    bool import = b->kind == PDL_BLOCK_import;
    pdl_str name = named_file(b);
    pdl_str suffix = import ? PDL_STR(".pdl") : (pdl_str){0};
    if (place == PDL_IN_PROGRAM) {
        join_path(f->run->opt.dir, name, suffix, out);
    } else if (place == PDL_IN_FILE) { /* the folder of the file that contains the block */
        pdl_str file = b->loc.src ? b->loc.src->name : (pdl_str){0};
        size_t slash = pdl_str_rfind(file, PDL_STR("/"));
        join_path(slash == PDL_NOT_FOUND ? PDL_STR("") : pdl_str_sub(file, 0, slash), name, suffix,
                  out);
    } else {
        join_path((pdl_str){0}, name, suffix, out);
    }
    return place != PDL_IN_PATH || f->run->opt.n_path;
}

static pdl_val folders_of(const pdl_run *r) {
    pdl_val folders = pdl_list_new(r->opt.n_path);
    for (size_t i = 0; i < r->opt.n_path; i++)
        folders = pdl_list_push(folders, pdl_text(r->opt.path[i]));
    return folders;
}

void pdl_op_SOURCE(pdl_fiber *f, pdl_file_place place, const pdl_block *b) {
    pdl_buf path = PDL_BUF;
    bool is_place = path_in(f, b, place, &path);
    pdl_val r = pdl_dict_putz(pdl_dict_new(2), "path",
                              pdl_with_label(pdl_text(pdl_buf_str(&path)), f->code->label));
    push(f, shown_path(pdl_buf_str(&path)));
    pdl_buf_fini(&path);
    if (place == PDL_IN_PATH) r = pdl_dict_putz(r, "under", folders_of(f->run));
    if (is_place) {
        pdl_inflight *c = pdl_inflight_new(f, PDL_EFFECT_source, pdl_block_own_loc(b));
        c->imports = b->kind == PDL_BLOCK_import;
        c->value = pdl_promise_new(c->id);
        push(f, pdl_keep(c->value));
        pdl_inflight_start(f, c, r);
    } else {
        pdl_drop(r);
        push(f, pdl_null());
    }
}

bool pdl_vm_source_found(pdl_fiber *f) {
    bool found = !pdl_is_null(*top(f));
    if (!found) pdl_vm_cut_stack(f, f->stack.n - 2);
    return found;
}

pdl_step pdl_op_SOURCE_MISSING(pdl_fiber *f, const pdl_block *b, pdl_err *err) {
    pdl_buf path = PDL_BUF;
    path_in(f, b, PDL_IN_PROGRAM, &path);
    pdl_val shown = shown_path(pdl_buf_str(&path));
    pdl_err_set(err, PDL_E_include, pdl_block_own_loc(b), "file %.*s not found",
                PDL_FMT(pdl_str_get(shown)));
    err->py_class = pdl_str_dup(PDL_STR("FileNotFoundError"));
    bool import = b->kind == PDL_BLOCK_import;
    if (f->run->opt.source_advice)
        f->run->opt.source_advice(f->run->opt.build_user,
                                  b->loc.src ? b->loc.src->name : (pdl_str){0}, named_file(b),
                                  import, err);
    pdl_drop(shown);
    pdl_buf_fini(&path);
    return PDL_STEP_FAIL;
}

static void bad_file(pdl_err *err, pdl_val errors, const char *verb, pdl_str path, pdl_loc loc) {
    if (!pdl_is_absent(errors)) {
        pdl_err_fini(err);
        pdl_buf b = PDL_BUF;
        pdl_val_show(errors, true, (size_t)1 << 30, &b);
        pdl_err_set(err, PDL_E_include, loc, "Attempting to %s invalid yaml: %.*s\n%s", verb,
                    PDL_FMT(path), pdl_buf_z(&b));
        pdl_buf_fini(&b);
        pdl_drop(errors);
    } else {
        err->kind = PDL_E_include;
        pdl_err_at(err, loc);
    }
}

static size_t include_depth(const pdl_fiber *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->frames.n; i++)
        n += f->frames.p[i].kind == FRAME_INCLUDE || f->frames.p[i].kind == FRAME_IMPORT;
    return n;
}

/* Puts the policy of a built program in force for the later actions of this program. is_part: the
 * program is computed or included text, which belongs to the module around it. */
static bool guard(pdl_fiber *f, pdl_code *code, bool is_part, pdl_err *err) {
    pdl_run *r = f->run;
    if (is_part) code->modules |= pdl_inflight_modules(f);
    if (code->modules) r->code.has_modules = true;
    return !code->modules || !r->opt.guard || r->opt.guard(r->opt.build_user, &r->opt, err);
}

/* Builds the program that is the text of a file. */
static pdl_code *build(pdl_fiber *f, const pdl_block *b, const char *verb, pdl_str path,
                       pdl_vref text, pdl_err *err) {
    pdl_run *r = f->run;
    pdl_build_source source = {path, pdl_str_get(text), wants_blocks(r)};
    pdl_val errors = pdl_absent();
    pdl_code *code = NULL;
    if (include_depth(f) >= PDL_MAX_INCLUDE_DEPTH) {
        pdl_err_set(err, PDL_E_limit, pdl_block_own_loc(b), "files are included more than %d deep",
                    PDL_MAX_INCLUDE_DEPTH);
        return NULL;
    }
    if (r->opt.build(r->opt.build_user, &source, &code, &errors, err)) {
        /* A file that the run may have written has labels, and the constants of its program get
         * them. */
        if (pdl_label_of(text)) pdl_code_relabel(code, pdl_label_of(text));
        if (guard(f, code, strcmp(verb, "include") == 0, err)) return code;
        pdl_code_drop(code);
        return NULL;
    }
    if (err->kind != PDL_E_limit) bad_file(err, errors, verb, path, pdl_block_own_loc(b));
    return NULL;
}

/* On the stack: path text. The reply to a search in folders is an object {path, text}; its parts
 * then replace both values. */
static void open_source(pdl_fiber *f) {
    pdl_vref found = *top(f);
    if (!pdl_is_dict(found)) return;
    pdl_label label = pdl_label_of(found);
    pdl_vref where = pdl_dict_getz(found, "path"), what = pdl_dict_getz(found, "text");
    set_val(under(f, 1), pdl_is_str(where) ? pdl_keep(where) : pdl_textz(""));
    set_top(f, pdl_with_label(pdl_is_str(what) ? pdl_keep(what) : pdl_textz(""), label));
}

pdl_step pdl_op_INCLUDE(pdl_fiber *f, const pdl_block *b, pdl_err *err) {
    open_source(f);
    pdl_code *code = build(f, b, "include", pdl_str_get(*under(f, 1)), *top(f), err);
    if (!code) return PDL_STEP_FAIL;
    pdl_vm_cut_stack(f, f->stack.n - 2);
    pdl_vm_frame_push(f, FRAME_INCLUDE, code, 0, b->loc);
    pdl_code_drop(code);
    return PDL_STEP_DONE;
}

void pdl_op_MODULE(pdl_fiber *f) {
    open_source(f);
    push(f, pdl_absent());
}

pdl_step pdl_op_IMPORT_KNOWN(pdl_fiber *f, uint32_t known, pdl_err *err) {
    pdl_vref module = pdl_dict_find(f->run->code.imports, *under(f, 1));
    if (pdl_is_bool(module)) /* the import of this module has not ended yet */
        return step_of(pdl_err_set(err, PDL_E_include, (pdl_loc){0}, "circular import of %.*s",
                                   PDL_FMT(pdl_str_get(*under(f, 2)))));
    if (!pdl_is_dict(module)) return PDL_STEP_DONE;
    pdl_vm_cut_stack(f, f->stack.n - 3);
    push(f, pdl_keep(module));
    set_val(&f->background, pdl_absent());
    f->pc = known;
    return PDL_STEP_DONE;
}

/* Returns the scope of a module, which sees the globals and, as an extension, the model parameters
 * of its importer. */
static pdl_scope *module_scope(const pdl_fiber *f) {
    pdl_name defaults = f->run->code.names.defaults;
    pdl_vref given = pdl_scope_find(f->scope, defaults);
    pdl_scope *s = pdl_scope_keep(f->run->code.globals);
    return pdl_is_absent(given) ? s : pdl_scope_put(s, defaults, pdl_keep(given));
}

pdl_step pdl_op_IMPORT(pdl_fiber *f, const pdl_block *b, pdl_err *err) {
    pdl_vref declarations = *under(f, 1), path = *under(f, 3);
    pdl_code *code = build(f, b, "import", pdl_str_get(path), *under(f, 2), err);
    if (!code) return PDL_STEP_FAIL;
    bool tools = !pdl_is_absent(declarations);
    code->library =
        tools || f->code->library || pdl_str_starts(PDL_AS(import, b)->path.s, PDL_STR("lib/"));
    code->signatures = pdl_keep(declarations);
    pdl_val library = pop(f);
    pdl_drop(pop(f));
    pdl_val text = pop(f);
    pdl_drop(pop(f));
    f->run->code.imports = pdl_dict_put(f->run->code.imports, pdl_keep(text), pdl_bool(true));
    pdl_vm_frame_push(f, FRAME_IMPORT, code, 0, b->loc);
    pdl_code_drop(code);
    frame(f)->key = text;
    frame(f)->library = library;
    pdl_scope *s = module_scope(f);
    pdl_scope_drop(f->scope);
    f->scope = s;
    set_val(&f->ctx, pdl_context_empty());
    f->print = 0;
    return PDL_STEP_DONE;
}

pdl_step pdl_op_STDLIB(pdl_fiber *f, pdl_err *err) {
    pdl_run *r = f->run;
    if (!r->opt.stdlib.n) {
        push(f, pdl_absent());
        return PDL_STEP_DONE;
    }
    pdl_val key = pdl_text(r->opt.stdlib), errors = pdl_absent();
    pdl_vref known = pdl_dict_find(r->code.imports, key);
    if (pdl_is_dict(known)) {
        push(f, pdl_keep(known));
        pdl_drop(key);
        return PDL_STEP_DONE;
    }
    pdl_build_source source = {PDL_STR("stdlib"), r->opt.stdlib, false};
    pdl_code *code = NULL;
    if (!r->opt.build(r->opt.build_user, &source, &code, &errors, err))
        PDL_BUG("the standard library does not load: %s", err->msg);
    pdl_val background =
        f->background; /* an expression leaves the background of the last block unchanged */
    f->background = pdl_absent();
    code->stdlib = true;
    pdl_vm_frame_push(f, FRAME_IMPORT, code, 0, (pdl_loc){0});
    pdl_code_drop(code);
    pdl_vm_frame *fr = frame(f);
    fr->key = key;
    set_val(&fr->background, background);
    pdl_scope_drop(f->scope);
    f->scope = pdl_scope_keep(r->code.globals);
    set_val(&f->ctx, pdl_context_empty());
    f->print = 0;
    f->autoescape = false;
    return PDL_STEP_DONE;
}

/* --- lang: pdl -------------------------------------------------------------------------------- */

/* Sets the reference's message for a program that is not text. */
static bool no_text(pdl_vref v, pdl_err *err) {
    if (pdl_is_list(v) || pdl_is_dict(v))
        return pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_type_name(v));
    return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'read'",
                        pdl_type_name(v));
}

/* Asks the policy before the text becomes a program or a template. */
pdl_step pdl_op_PERMIT(pdl_fiber *f, pdl_permit_kind kind, size_t depth, pdl_err *err) {
    if (!f->run->opt.guarded) {
        push(f, pdl_null());
        return PDL_STEP_DONE;
    }
    pdl_step s = pdl_vm_force(f, under(f, depth), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val text = pdl_keep(*under(f, depth));
    pdl_vm_start_permit(f, kind == PDL_PERMIT_PDL ? "pdl" : "template",
                        pdl_dict_putz(pdl_dict_new(1), "text", text), pdl_absent());
    return PDL_STEP_DONE;
}

/* On the stack: text scope -> result. Runs the program that is in the text. */
pdl_step pdl_op_PDL_CODE(pdl_fiber *f, const pdl_b_code *b, pdl_err *err) {
    if (f->nested >= PDL_MAX_INCLUDE_DEPTH)
        return step_of(pdl_err_set(err, PDL_E_limit, pdl_block_own_loc(&b->head),
                                   "programs run programs more than %d deep",
                                   PDL_MAX_INCLUDE_DEPTH));
    pdl_step s = pdl_inflight_await(f, 0, false, err);
    if (s == PDL_STEP_DONE) s = pdl_vm_force_n(f, 2, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref scope = *top(f), text = *under(f, 1);
    pdl_val errors = pdl_absent();
    pdl_code *code = NULL;
    pdl_build_source source = {.name = PDL_STR(""), .trace = wants_blocks(f->run)};
    if (pdl_is_str(text)) source.text = pdl_str_get(text);
    bool ok = pdl_is_str(text)
                  ? f->run->opt.build(f->run->opt.build_user, &source, &code, &errors, err) &&
                        guard(f, code, true, err)
                  : no_text(text, err);
    if (!ok) {
        pdl_buf m = PDL_BUF;
        if (!pdl_is_absent(errors)) {
            PDL_PUT(&m, "PDL Code error: PDLParseError(");
            pdl_val_show(errors, true, (size_t)1 << 30, &m);
        } else {
            pdl_buf_putf(&m, "PDL Code error: %s(", err->py_class ? err->py_class : "YAMLError");
            pdl_str_repr(pdl_str_of(err->msg), &m);
        }
        pdl_buf_putc(&m, ')');
        pdl_err_fini(err);
        pdl_err_set(err, PDL_E_code, pdl_block_own_loc(&b->head), "%s", pdl_buf_z(&m));
        pdl_buf_fini(&m);
        pdl_drop(errors);
        pdl_code_drop(code);
        return PDL_STEP_FAIL;
    }
    pdl_scope *vars =
        pdl_is_dict(scope) ? pdl_vm_scope_of_dict(f->run, scope) : pdl_scope_keep(f->scope);
    pdl_label label = pdl_label_of(text);
    if (label) pdl_code_relabel(code, label);
    pdl_vm_cut_stack(f, f->stack.n - 2);
    pdl_vm_frame_push(f, FRAME_PDL, code, 0, b->head.loc);
    frame(f)->label = label;
    pdl_vm_chosen_by(f, label);
    pdl_code_drop(code);
    f->nested++;
    pdl_scope_drop(f->scope);
    f->scope = vars;
    set_val(&f->role, pdl_textz("user"));
    f->print = 0;
    return PDL_STEP_DONE;
}
