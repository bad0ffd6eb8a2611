/* ops_file.c -- read, include, import, lang: pdl: everything that brings text into a run. */
#include "vm/fiber.h"

#include "base/limits.h"
#include "lang/toolbox.h"

#include "base/banned.h"

/* dir / name; the bare name when dir is empty or "." or the name is absolute. Appends a suffix unless it is
 * there. */
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

/* --- read ----------------------------------------------------------------------------------------------- */

pdl_step op_read_file(pdl_fiber *f, const pdl_b_read *b, pdl_err *err) {
    pdl_step s = force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref name = *top(f);
    if (pdl_is_null(name)) { /* an expression may say: standard input */
        pdl_drop(pop(f));
        return op_input(f, b, err);
    }
    if (!pdl_is_str(name)) {
        pdl_err_set(err, PDL_E_type, pdl_field_loc(&b->head, "read"),
                    "read should be a file name but is of type <class '%s'>", pdl_type_name(name));
        return PDL_STEP_FAIL;
    }
    pdl_buf path = PDL_BUF;
    join_path(f->run->opt.dir, pdl_str_get(name), (pdl_str){0}, &path);
    pdl_val r = pdl_dict_new(2);
    r = pdl_dict_putz(r, "path", pdl_text(pdl_buf_str(&path)));
    r = pdl_dict_putz(r, "shown", pdl_text(pdl_buf_str(&path)));
    pdl_buf_fini(&path);
    pdl_drop(pop(f));
    start_effect(f, PDL_EFFECT_read, r, pdl_field_loc(&b->head, "read"));
    return PDL_STEP_DONE;
}

pdl_step op_input(pdl_fiber *f, const pdl_b_read *b, pdl_err *err) {
    pdl_step s = await_calls(f, 0, false, err);
    if (s != PDL_STEP_DONE) return s;
    bool many = b->multiline.given && b->multiline.value;
    pdl_str dflt =
        many ? PDL_STR("Enter/Paste your content. Ctrl-D to save it.") : PDL_STR("How can I help you?: ");
    pdl_val prompt = pdl_text(b->prompt.s.p ? b->prompt.s : dflt);
    out_write(f, pdl_str_get(prompt), 1, 0);
    if (many) out_write(f, PDL_STR("\n"), 1, 0);
    pdl_val r = pdl_dict_new(2);
    r = pdl_dict_putz(r, "prompt", prompt);
    r = pdl_dict_putz(r, "multiline", pdl_bool(many));
    start_effect(f, PDL_EFFECT_input, r, b->head.loc);
    return PDL_STEP_DONE;
}

pdl_step op_read_end(pdl_fiber *f, const pdl_b_read *b, pdl_err *err) {
    if (pdl_is_null(*top(f))) {
        pdl_err_set(err, PDL_E_io, b->head.loc, "EOF");
        err->foreign = pdl_str_dup(PDL_STR("EOFError"));
        return PDL_STEP_FAIL;
    }
    *top(f) = pdl_with_label(*top(f), b->path ? PDL_LABEL_file : PDL_LABEL_user);
    return PDL_STEP_DONE;
}

/* --- include and import --------------------------------------------------------------------------------- */

/* Where a file is looked for, in this order: beside the main program, beside the file that names it, in the
 * folders of PDL_PATH and of the library (imports). */
enum { IN_PROGRAM, IN_FILE, IN_PATH };

/* The name to ask for in place k; false when there are no more places. */
static bool candidate(pdl_fiber *f, const pdl_block *b, bool import, size_t k, pdl_buf *out) {
    pdl_str name = import ? PDL_AS(import, b)->path.s : PDL_AS(include, b)->path.s;
    pdl_str suffix = import ? PDL_STR(".pdl") : (pdl_str){0};
    pdl_buf_clear(out);
    if (k == IN_PROGRAM) {
        join_path(f->run->opt.dir, name, suffix, out);
        return true;
    }
    if (k == IN_FILE) { /* the folder of the file that holds the block */
        pdl_str file = b->loc.src ? b->loc.src->name : (pdl_str){0};
        size_t slash = pdl_str_rfind(file, PDL_STR("/"));
        join_path(slash == PDL_NOT_FOUND ? PDL_STR("") : pdl_str_sub(file, 0, slash), name, suffix, out);
        return true;
    }
    if (!import || k != IN_PATH || !f->run->opt.n_path) return false;
    join_path((pdl_str){0}, name, suffix, out);
    return true;
}

static pdl_step missing(pdl_fiber *f, const pdl_block *b, bool import, pdl_err *err) {
    pdl_buf path = PDL_BUF;
    candidate(f, b, import, 0, &path);
    pdl_err_set(err, PDL_E_include, b->loc, "file %s not found", pdl_buf_z(&path));
    err->foreign = pdl_str_dup(PDL_STR("FileNotFoundError"));
    pdl_buf_fini(&path);
    return PDL_STEP_FAIL;
}

static pdl_step bad_file(pdl_err *err, pdl_val errors, const char *verb, pdl_str path, pdl_loc loc) {
    if (!pdl_is_absent(errors)) {
        pdl_err_fini(err);
        pdl_buf b = PDL_BUF;
        pdl_val_show(errors, true, (size_t)1 << 30, &b);
        pdl_err_set(err, PDL_E_include, loc, "Attempting to %s invalid yaml: %.*s\n%s", verb, PDL_FMT(path),
                    pdl_buf_z(&b));
        pdl_buf_fini(&b);
        pdl_drop(errors);
    } else {
        err->kind = PDL_E_include;
        pdl_err_at(err, loc);
    }
    return PDL_STEP_FAIL;
}

static size_t include_depth(const pdl_fiber *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->frames.n; i++)
        n += f->frames.p[i].kind == FRAME_INCLUDE || f->frames.p[i].kind == FRAME_IMPORT;
    return n;
}

static pdl_step run_import(pdl_fiber *f, const pdl_block *b, pdl_code *code, pdl_val key, pdl_str path,
                           pdl_err *err) {
    (void)path;
    (void)err;
    pdl_run *r = f->run;
    r->imports = pdl_dict_put(r->imports, pdl_keep(key), pdl_bool(true));
    frame_push(f, FRAME_IMPORT, code, 0, b->loc);
    f->frames.p[f->frames.n - 1].key = key;
    pdl_vref defaults = pdl_scope_find(f->scope, r->names.defaults);
    pdl_scope *s = pdl_scope_keep(r->globals);
    if (!pdl_is_absent(defaults)) s = pdl_scope_put(s, r->names.defaults, pdl_keep(defaults));
    pdl_scope_drop(f->scope);
    f->scope = s;
    set_val(&f->ctx, pdl_context_empty());
    f->print = 0;
    return PDL_STEP_DONE;
}

pdl_step run_file(pdl_fiber *f, const pdl_block *b, bool import, pdl_str path, pdl_vref signatures,
                  pdl_err *err) {
    pdl_run *r = f->run;
    pdl_val text = pop(f), errors = pdl_absent();
    pdl_code *code = NULL;
    if (import) {
        pdl_vref known = pdl_dict_find(r->imports, text);
        if (pdl_is_bool(known)) {
            pdl_drop(text);
            return step_of(pdl_err_set(err, PDL_E_include, b->loc, "circular import of %.*s", PDL_FMT(path)));
        }
        if (pdl_is_dict(known)) {
            push(f, pdl_keep(known));
            pdl_drop(text);
            set_val(&f->bg, pdl_absent());
            return PDL_STEP_DONE;
        }
    }
    bool ok =
        include_depth(f) < PDL_MAX_INCLUDE_DEPTH ||
        pdl_err_set(err, PDL_E_limit, b->loc, "files are included more than %d deep", PDL_MAX_INCLUDE_DEPTH);
    ok = ok && r->opt.build(r->opt.build_user, path, pdl_str_get(text), wants_blocks(r), &code, &errors, err);
    if (!ok) {
        pdl_drop(text);
        if (err->kind == PDL_E_limit) return PDL_STEP_FAIL;
        return bad_file(err, errors, import ? "import" : "include", path, b->loc);
    }
    if (import) {
        bool tools = !pdl_is_absent(signatures);
        code->library =
            tools || f->code->library || pdl_str_starts(PDL_AS(import, b)->path.s, PDL_STR("lib/"));
        code->signatures = pdl_keep(signatures);
        pdl_step s = run_import(f, b, code, text, path, err);
        pdl_code_drop(code);
        return s;
    }
    pdl_drop(text);
    frame_push(f, FRAME_INCLUDE, code, 0, b->loc);
    pdl_code_drop(code);
    return PDL_STEP_DONE;
}

pdl_step op_stdlib(pdl_fiber *f, pdl_err *err) {
    pdl_run *r = f->run;
    pdl_val key = pdl_text(r->opt.stdlib), errors = pdl_absent();
    pdl_vref known = pdl_dict_find(r->imports, key);
    if (pdl_is_dict(known)) {
        push(f, pdl_keep(known));
        pdl_drop(key);
        return PDL_STEP_DONE;
    }
    pdl_code *code = NULL;
    if (!r->opt.build(r->opt.build_user, PDL_STR("stdlib"), r->opt.stdlib, false, &code, &errors, err))
        PDL_BUG("the standard library does not load: %s", err->msg);
    pdl_val bg = f->bg; /* an expression leaves the background of the last block alone */
    f->bg = pdl_absent();
    frame_push(f, FRAME_IMPORT, code, 0, (pdl_loc){0});
    pdl_code_drop(code);
    pdl_frame *fr = &f->frames.p[f->frames.n - 1];
    fr->key = key;
    set_val(&fr->bg, bg);
    pdl_scope_drop(f->scope);
    f->scope = pdl_scope_keep(r->globals);
    set_val(&f->ctx, pdl_context_empty());
    f->print = 0;
    f->autoescape = false;
    return PDL_STEP_DONE;
}

static void ask_source(pdl_fiber *f, const pdl_block *b, pdl_str path, int64_t k) {
    pdl_val r = pdl_dict_putz(pdl_dict_new(2), "path", pdl_text(path));
    if (k == IN_PATH) {
        pdl_val folders = pdl_list_new(f->run->opt.n_path);
        for (size_t i = 0; i < f->run->opt.n_path; i++)
            folders = pdl_list_push(folders, pdl_text(f->run->opt.path[i]));
        r = pdl_dict_putz(r, "under", folders);
    }
    start_effect(f, PDL_EFFECT_source, r, b->loc);
}

/* While it looks for the file the stack holds: number of the candidate, promise of its text. MARK (absent)
 * below tells a first execution from a later one. */
pdl_step op_include(pdl_fiber *f, const pdl_block *b, bool import, pdl_err *err) {
    if (import && pdl_str_starts(PDL_AS(import, b)->path.s, PDL_STR(PDL_TOOLS_PREFIX)))
        return op_import_server(f, b, err);
    bool asking = f->stack.n >= 3 && pdl_is_absent(*under(f, 2)) && pdl_is(*under(f, 1), PDL_V_INT);
    pdl_buf path = PDL_BUF;
    if (!asking) {
        candidate(f, b, import, 0, &path);
        push(f, pdl_absent());
        push(f, pdl_int(0));
        ask_source(f, b, pdl_buf_str(&path), 0);
    }
    for (;;) {
        pdl_step s = force(f, top(f), err);
        if (s != PDL_STEP_DONE) {
            pdl_buf_fini(&path);
            return s;
        }
        int64_t k = pdl_int_of(*under(f, 1));
        candidate(f, b, import, (size_t)k, &path);
        if (!pdl_is_null(*top(f))) break;
        cut_stack(f, f->stack.n - 2);
        if (!candidate(f, b, import, (size_t)k + 1, &path)) {
            pdl_buf_fini(&path);
            return missing(f, b, import, err);
        }
        push(f, pdl_int(k + 1));
        ask_source(f, b, pdl_buf_str(&path), k + 1);
    }
    pdl_val text = pop(f);
    if (pdl_is_dict(text)) { /* {path, text} of a file that was searched for */
        pdl_vref where = pdl_dict_getz(text, "path"), what = pdl_dict_getz(text, "text");
        pdl_buf_clear(&path);
        if (pdl_is_str(where)) pdl_buf_put(&path, pdl_str_get(where));
        pdl_val inner = pdl_is_str(what) ? pdl_keep(what) : pdl_textz("");
        pdl_drop(text);
        text = inner;
    }
    cut_stack(f, f->stack.n - 2);
    push(f, text);
    pdl_step s = run_file(f, b, import, pdl_buf_str(&path), pdl_absent(), err);
    pdl_buf_fini(&path);
    return s;
}

/* --- lang: pdl ------------------------------------------------------------------------------------------ */

/* What the reference says of a program that is no text. */
static bool no_text(pdl_vref v, pdl_err *err) {
    if (pdl_is_list(v) || pdl_is_dict(v))
        return pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_type_name(v));
    return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'read'", pdl_type_name(v));
}

/* text scope -> runs the program in the text. */
pdl_step op_pdl_code(pdl_fiber *f, const pdl_b_code *b, pdl_err *err) {
    if (f->nested >= PDL_MAX_INCLUDE_DEPTH)
        return step_of(pdl_err_set(err, PDL_E_limit, b->head.loc, "programs run programs more than %d deep",
                                PDL_MAX_INCLUDE_DEPTH));
    pdl_step s = await_calls(f, 0, false, err);
    if (s == PDL_STEP_DONE) s = force_n(f, 2, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref scope = *top(f), text = *under(f, 1);
    pdl_val errors = pdl_absent();
    pdl_code *code = NULL;
    bool ok = pdl_is_str(text) ? f->run->opt.build(f->run->opt.build_user, PDL_STR(""), pdl_str_get(text),
                                                   wants_blocks(f->run), &code, &errors, err)
                               : no_text(text, err);
    if (!ok) {
        pdl_buf m = PDL_BUF;
        if (!pdl_is_absent(errors)) {
            PDL_PUT(&m, "PDL Code error: PDLParseError(");
            pdl_val_show(errors, true, (size_t)1 << 30, &m);
        } else {
            pdl_buf_putf(&m, "PDL Code error: %s(", err->foreign ? err->foreign : "YAMLError");
            pdl_str_repr(pdl_str_of(err->msg), &m);
        }
        pdl_buf_putc(&m, ')');
        pdl_err_fini(err);
        pdl_err_set(err, PDL_E_code, b->head.loc, "%s", pdl_buf_z(&m));
        pdl_buf_fini(&m);
        pdl_drop(errors);
        return PDL_STEP_FAIL;
    }
    pdl_scope *vars = pdl_is_dict(scope) ? scope_of_dict(f->run, scope) : pdl_scope_keep(f->scope);
    cut_stack(f, f->stack.n - 2);
    frame_push(f, FRAME_PDL, code, 0, b->head.loc);
    pdl_code_drop(code);
    f->nested++;
    pdl_scope_drop(f->scope);
    f->scope = vars;
    set_val(&f->role, pdl_textz("user"));
    f->print = 0;
    return PDL_STEP_DONE;
}
