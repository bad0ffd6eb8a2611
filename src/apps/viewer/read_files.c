/* read_files.c -- collects the files that a run reads, from its events; see read_files.h. Files may
 * have changed since the run read them. So the sources are kept as they ran, from the first event
 * that refers to each of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/read_files.h"

#include "base/map.h"
#include "base/vec.h"
#include "io/file.h"
#include "trace/sink.h"
#include "viewer/box_json.h"
#include "viewer/live.h"

#include "base/banned.h"

enum { MAX_FILES = 1000, MAX_BYTES = 64 << 20 };

typedef struct file {
    pdl_str name, text;
} file;

struct pdl_view_files {
    pdl_arena *arena;
    PDL_VEC(file) list;
    pdl_map numbers; /* maps the name of a file to its number, from 1 */
    size_t bytes;
    /* the newest source, of which only the address is compared, because it may have been freed */
    const pdl_source *last;
    uint32_t last_number;
};

/* Returns the number of a file. A file that is included again has a new source, so names are
 * compared. */
static uint32_t number_of(pdl_view_files *f, const pdl_source *src) {
    uintptr_t known = (uintptr_t)pdl_map_find(&f->numbers, src->name);
    if (known) return (uint32_t)(known - 1);
    if (f->list.n && !src->name.n) return PDL_VIEW_NO_FILE;
    if (f->list.n >= MAX_FILES || src->text.n > MAX_BYTES - f->bytes) return PDL_VIEW_NO_FILE;
    file copy = {pdl_arena_str(f->arena, src->name), pdl_arena_str(f->arena, src->text)};
    *pdl_vec_push(&f->list) = copy;
    f->bytes += src->text.n;
    pdl_map_put(&f->numbers, copy.name, (void *)(uintptr_t)f->list.n);
    return (uint32_t)f->list.n - 1;
}

uint32_t pdl_view_files_note(pdl_view_files *f, const pdl_source *src) {
    if (!src) return PDL_VIEW_NO_FILE;
    if (src == f->last && f->last_number < f->list.n &&
        pdl_str_eq(f->list.p[f->last_number].name, src->name))
        return f->last_number;
    uint32_t number = number_of(f, src);
    f->last = src;
    f->last_number = number;
    return number;
}

static void on_event(void *user, const pdl_event *e) {
    if (e->kind == PDL_EVENT_block_begin && e->block) pdl_view_files_note(user, e->block->loc.src);
}

void pdl_view_files_listen(pdl_view_files *f, pdl_sink *out) {
    *out = (pdl_sink){f, on_event, true};
}

/* --- finding ---------------------------------------------------------------------------------- */

static const file *named(const pdl_view_files *f, pdl_str folder, pdl_str path, bool import) {
    pdl_buf name = PDL_BUF;
    if (folder.n && !pdl_str_starts(path, PDL_STR("/"))) {
        pdl_buf_put(&name, folder);
        if (!pdl_str_ends(folder, PDL_STR("/"))) pdl_buf_putc(&name, '/');
    }
    pdl_buf_put(&name, path);
    if (import && !pdl_str_ends(path, PDL_STR(".pdl"))) PDL_PUT(&name, ".pdl");
    uintptr_t known = (uintptr_t)pdl_map_find(&f->numbers, pdl_buf_str(&name));
    pdl_buf_fini(&name);
    return known ? &f->list.p[known - 1] : NULL;
}

/* Returns a file whose path ends with this path. Such a file was found in a folder of libraries. */
static const file *ending_in(const pdl_view_files *f, pdl_str path, bool import) {
    const file *found = NULL;
    pdl_buf end = PDL_BUF;
    pdl_buf_putc(&end, '/');
    pdl_buf_put(&end, path);
    if (import && !pdl_str_ends(path, PDL_STR(".pdl"))) PDL_PUT(&end, ".pdl");
    for (size_t i = 1; !found && i < f->list.n; i++)
        if (pdl_str_ends(f->list.p[i].name, pdl_buf_str(&end))) found = &f->list.p[i];
    pdl_buf_fini(&end);
    return found;
}

bool pdl_view_files_open(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *text,
                         pdl_err *err) {
    const pdl_view_files *f = user;
    pdl_str main = f->list.n ? f->list.p[0].name : (pdl_str){0}, path = module->path;
    bool import = module->is_import;
    while (pdl_str_starts(path, PDL_STR("./"))) path = pdl_str_sub(path, 2, path.n);
    const file *found = named(f, pdl_file_folder(main), path, import);
    if (!found) found = named(f, pdl_file_folder(module->from), path, import);
    if (!found) found = ending_in(f, path, import);
    if (!found)
        return pdl_err_set(err, PDL_E_include, (pdl_loc){0}, "%.*s was not read", PDL_FMT(path));
    pdl_buf_put(name, found->name);
    pdl_buf_put(text, found->text);
    return true;
}

void pdl_view_files_json(const pdl_view_files *f, const pdl_live *l, pdl_buf *out) {
    pdl_buf shown = PDL_BUF;
    if (f->list.n < 2) return;
    pdl_json_put_key(out, "included");
    pdl_json_open(out, '[');
    for (size_t i = 1; i < f->list.n; i++) {
        pdl_json_open(out, '{');
        pdl_json_put_text(out, "source_name", f->list.p[i].name);
        pdl_buf_clear(&shown);
        pdl_live_redact(l, f->list.p[i].text, &shown);
        pdl_json_put_text(out, "source", pdl_buf_str(&shown));
        pdl_buf_putc(out, '}');
    }
    pdl_buf_putc(out, ']');
    pdl_buf_fini(&shown);
}

/* --- life ------------------------------------------------------------------------------------- */

pdl_view_files *pdl_view_files_new(void) {
    pdl_view_files *f = PDL_NEW(pdl_view_files);
    f->arena = pdl_arena_make();
    return f;
}

void pdl_view_files_free(pdl_view_files *f) {
    if (!f) return;
    pdl_vec_fini(&f->list);
    pdl_map_fini(&f->numbers);
    pdl_arena_free(f->arena);
    pdl_free(f);
}
