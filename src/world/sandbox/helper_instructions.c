/* helper_instructions.c -- the instructions of the helper as text. The engine writes them into
 * arguments of the helper, which reads them again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "sandbox/sandbox_impl.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static pdl_val list_of(const path_list *l) {
    pdl_val v = pdl_list_new(l->n);
    for (size_t i = 0; i < l->n; i++) v = pdl_list_push(v, pdl_textz(l->p[i]));
    return v;
}

static const struct {
    const char *key;
    size_t offset;
} lists[] = {
    {"ro", offsetof(sandbox_spec, ro)},
    {"rw", offsetof(sandbox_spec, rw)},
    {"masked", offsetof(sandbox_spec, masked)},
    {"kept", offsetof(sandbox_spec, kept)},
    {"placeholders", offsetof(sandbox_spec, placeholders)},
    {"net", offsetof(sandbox_spec, net)},
    {"own", offsetof(sandbox_spec, own)},
};
static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    {"processes", offsetof(sandbox_spec, processes)},
    {"memory", offsetof(sandbox_spec, memory)},
    {"tmp", offsetof(sandbox_spec, tmp)},
    {"file", offsetof(sandbox_spec, file)},
    {"landlock", offsetof(sandbox_spec, landlock)},
};
enum { N_LISTS = sizeof lists / sizeof lists[0], N_NUMBERS = sizeof numbers / sizeof numbers[0] };

/* One argument of a process has at most 128 KiB. So the JSON text is divided. Each part but the
 * last ends with a line break, which the text itself does not contain. */
enum { MAX_PART = 100000, PART_CONTINUES = '\n' };

void pdl_spec_write(const sandbox_spec *s, pdl_buf *out) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(16), "backend", pdl_int((int64_t)s->backend));
    pdl_err ignored = {0};
    for (size_t i = 0; i < N_LISTS; i++)
        d = pdl_dict_putz(
            d, lists[i].key,
            list_of((const path_list *)(const void *)((const char *)s + lists[i].offset)));
    for (size_t i = 0; i < N_NUMBERS; i++)
        d = pdl_dict_putz(
            d, numbers[i].key,
            pdl_int(*(const int64_t *)(const void *)((const char *)s + numbers[i].offset)));
    d = pdl_dict_putz(d, "cwd", pdl_textz(s->cwd ? s->cwd : ""));
    d = pdl_dict_putz(d, "helper", pdl_textz(s->helper));
    if (!pdl_json_write(d, 0, 0, out, &ignored)) pdl_err_fini(&ignored);
    pdl_drop(d);
}

static bool take_list(pdl_vref v, path_list *to) {
    if (!pdl_is_list(v)) return false;
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        if (!pdl_is_str(pdl_list_at(v, i))) return false;
        pdl_paths_add(to, pdl_str_get(pdl_list_at(v, i)));
    }
    return true;
}

static bool take_text(pdl_vref v, char **to) {
    if (!pdl_is_str(v)) return false;
    *to = pdl_str_get(v).n ? pdl_str_dup(pdl_str_get(v)) : NULL;
    return true;
}

void pdl_spec_split(const char *text, path_list *parts) {
    size_t n = strlen(text);
    pdl_buf b = PDL_BUF;
    for (size_t from = 0; from < n; from += MAX_PART) {
        bool continues = n - from > MAX_PART;
        pdl_buf_put(&b, (pdl_str){text + from, continues ? MAX_PART : n - from});
        if (continues) pdl_buf_putc(&b, PART_CONTINUES);
        pdl_paths_add(parts, pdl_buf_str(&b));
        pdl_buf_clear(&b);
    }
    pdl_buf_fini(&b);
}

/* Joins the arguments that hold the instructions. Returns the number of these arguments. */
static size_t join_parts(char **argv, pdl_buf *out) {
    size_t i = 0;
    for (; argv[i]; i++) {
        pdl_str part = pdl_str_of(argv[i]);
        bool continues = part.n && part.p[part.n - 1] == PART_CONTINUES;
        pdl_buf_put(out, continues ? pdl_str_sub(part, 0, part.n - 1) : part);
        if (!continues) return i + 1;
    }
    return i;
}

char **pdl_spec_read(char **argv, sandbox_spec *out) {
    pdl_val d;
    pdl_err err = {0};
    int64_t n;
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    char **command = argv + join_parts(argv, &text);
    bool is_json = pdl_json_read(pdl_buf_str(&text), 0, &d, NULL, &err);
    pdl_buf_fini(&text);
    if (!is_json) {
        pdl_err_fini(&err);
        return NULL;
    }
    bool ok = pdl_is_dict(d) && pdl_int_get(pdl_dict_getz(d, "backend"), &n) && n >= 0 &&
              n <= BACKEND_NONE;
    if (ok) out->backend = (sandbox_backend)n;
    for (size_t i = 0; ok && i < N_LISTS; i++)
        ok = take_list(pdl_dict_getz(d, lists[i].key),
                       (path_list *)(void *)((char *)out + lists[i].offset));
    for (size_t i = 0; ok && i < N_NUMBERS; i++)
        ok = pdl_int_get(pdl_dict_getz(d, numbers[i].key),
                         (int64_t *)(void *)((char *)out + numbers[i].offset));
    ok = ok && take_text(pdl_dict_getz(d, "cwd"), &out->cwd) &&
         take_text(pdl_dict_getz(d, "helper"), &out->helper);
    pdl_drop(d);
    return ok && *command ? command : NULL;
}

void pdl_spec_fini(sandbox_spec *s) {
    for (size_t i = 0; i < N_LISTS; i++)
        pdl_paths_fini((path_list *)(void *)((char *)s + lists[i].offset));
    pdl_free(s->cwd);
    pdl_free(s->helper);
}
