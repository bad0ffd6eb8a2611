/* project_cache.c -- reads the settings of pdl.toml for programs, once for each folder; see
 * server.h.
 *
 * The files are read when a program of the folder is examined, and again after one of them has
 * changed or a program was opened, because not every client reports changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/project_config.h"
#include "io/file.h"
#include "lsp/server.h"

#include "base/banned.h"

struct lsp_config {
    pdl_check_config rules;
    /* the folders for imports: first those of pdl.toml, and then those of the server */
    PDL_VEC(pdl_str) path;
    char *folder;
};

static lsp_config *read_config(pdl_lsp *s, const lsp_doc *d, pdl_str folder) {
    lsp_config *c = PDL_NEW(lsp_config);
    pdl_err err = {0};
    c->folder = pdl_str_dup(folder);
    c->rules.arena = pdl_arena_make();
    if (d->is_file && !pdl_config_read(pdl_str_of(d->key), &c->rules, &err))
        pdl_lsp_show_problem(s, pdl_textz(err.msg));
    pdl_err_fini(&err);
    for (size_t i = 0; i < c->rules.import.n; i++) *pdl_vec_push(&c->path) = c->rules.import.p[i];
    for (size_t i = 0; i < s->opt.n_path; i++) *pdl_vec_push(&c->path) = s->opt.path[i];
    pdl_map_put(&s->configs, (pdl_str){c->folder, folder.n}, c);
    return c;
}

static lsp_config *config_of(pdl_lsp *s, const lsp_doc *d) {
    pdl_str folder = d->is_file ? pdl_file_folder(pdl_str_of(d->key)) : (pdl_str){0};
    lsp_config *c = pdl_map_find(&s->configs, folder);
    return c ? c : read_config(s, d, folder);
}

const uint8_t *pdl_lsp_levels(pdl_lsp *s, const lsp_doc *d) {
    return config_of(s, d)->rules.levels;
}

const pdl_str *pdl_lsp_path(pdl_lsp *s, const lsp_doc *d, size_t *n) {
    const lsp_config *c = config_of(s, d);
    *n = c->path.n;
    return c->path.p;
}

void pdl_lsp_configs_forget(pdl_lsp *s) {
    for (size_t i = 0; i < s->configs.n; i++) {
        lsp_config *c = s->configs.entries[i].value;
        pdl_config_fini(&c->rules);
        pdl_vec_fini(&c->path);
        pdl_free(c->folder);
        pdl_free(c);
    }
    pdl_map_fini(&s->configs);
}
