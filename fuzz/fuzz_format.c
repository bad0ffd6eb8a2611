/* fuzz_format.c -- the formatter and the recovering reader. Properties: the tree of any text has
 * its tokens in order. It has notes if and only if the reader of runs refuses the text. Formatting
 * a formatted text changes nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "fmt/fmt.h"
#include "yaml/tree.h"
#include "yaml/yaml.h"

/* Returns true for errors of reading. Other errors are found after reading, and a tree has no notes
 * about them. */
static bool is_readers(const pdl_err *err) {
    return err->py_class &&
           (strcmp(err->py_class, "ScannerError") == 0 ||
            strcmp(err->py_class, "ParserError") == 0 || strcmp(err->py_class, "ReaderError") == 0);
}

static void check_tree(pdl_arena *a, pdl_str bytes) {
    pdl_source *src;
    const pdl_node *root;
    pdl_err err = {0};
    uint32_t at = 0;
    FUZZ_MUST(pdl_yaml_source(a, PDL_STR("f"), bytes, &src, &err));
    const pdl_ytree *t = pdl_ytree_read(a, src);
    for (size_t i = 0; i < t->n_tokens; at = t->tokens[i++].end)
        FUZZ_MUST(t->tokens[i].start >= at && t->tokens[i].end > t->tokens[i].start);
    FUZZ_MUST(at <= src->text.n);
    for (size_t i = 0; i < t->n_nodes; i++) {
        const pdl_ytree_node *n = &t->nodes[i];
        FUZZ_MUST(n->outer <= n->start && n->start <= n->end && n->end <= src->text.n);
        FUZZ_MUST(n->parent == PDL_YTREE_NONE || n->parent < i);
    }
    bool ok = pdl_yaml_load(a, src, &root, &err);
    if (ok) FUZZ_MUST(!t->n_notes);
    if (!ok && is_readers(&err)) FUZZ_MUST(t->n_notes);
    pdl_err_fini(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size), once = PDL_BUF, twice = PDL_BUF;
    pdl_arena *a = pdl_arena_make();
    pdl_err err = {0};
    pdl_format_options o = {.name = PDL_STR("f"), .sort = size % 2 == 0};
    check_tree(a, pdl_buf_str(&text));
    if (pdl_format(a, pdl_buf_str(&text), &o, &once, &err)) {
        FUZZ_MUST(pdl_format(a, pdl_buf_str(&once), &o, &twice, &err));
        FUZZ_MUST(pdl_str_eq(pdl_buf_str(&once), pdl_buf_str(&twice)));
    } else {
        FUZZ_MUST(err.kind && err.msg && !once.len);
    }
    pdl_err_fini(&err);
    pdl_arena_free(a);
    pdl_buf_fini(&twice);
    pdl_buf_fini(&once);
    pdl_buf_fini(&text);
    return 0;
}
