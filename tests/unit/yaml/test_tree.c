/* test_tree.c -- yaml/tree.h: the content of the tree of a broken text, and how parts are found in
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"
#include "yaml/tree.h"
#include "yaml/yaml.h"

static const pdl_ytree *tree_of(pdl_arena *a, const char *text) {
    pdl_source *src;
    pdl_err err = {0};
    t_assert(pdl_yaml_source(a, PDL_STR("t"), t_str(text), &src, &err));
    return pdl_ytree_read(a, src);
}

/* One line for a tree: scalars quoted where they are not plain, `_` for one that is not written. */
static void put_node(const pdl_ytree *t, pdl_ytree_id id, pdl_buf *b) {
    const pdl_ytree_node *n = &t->nodes[id];
    if (n->kind == PDL_YTREE_ALIAS) pdl_buf_putc(b, '*');
    if (n->kind <= PDL_YTREE_ALIAS) {
        pdl_buf_put(b, n->start == n->end ? PDL_STR("_") : n->text);
        return;
    }
    pdl_buf_putc(b, n->kind == PDL_YTREE_SEQ ? '[' : '{');
    for (pdl_ytree_id k = n->first; k != PDL_YTREE_NONE; k = t->nodes[k].next) {
        put_node(t, k, b);
        if (t->nodes[k].next != PDL_YTREE_NONE) pdl_buf_putc(b, t->nodes[k].is_key ? ':' : ',');
    }
    pdl_buf_putc(b, n->kind == PDL_YTREE_SEQ ? ']' : '}');
}

/* What is read of texts as they are while somebody types. */
static const struct {
    const char *text, *tree;
    const char *note;    /* the first one; NULL: none */
    const char *skipped; /* by the first note that skipped something; NULL: none did */
} texts[] = {
    {"", "", NULL, NULL},
    {"# c\n", "", NULL, NULL},
    {"a: [b, {c: d}]\n", "{a:[b,{c:d}]}", NULL, NULL},
    {"a: 1\nfoo\nb: 2\n", "{a:1,foo:_,b:2}", "could not find expected ':'", NULL},
    {"fo\nmodel: x\n", "{fo:_,model:x}", "mapping values are not allowed here", NULL},
    {"a:\n  te\n  b: 1\nc: d\n", "{a:{te:_,b:1},c:d}", "mapping values are not allowed here", NULL},
    {"foo\n  bar: 1\nbaz: 2\n", "{foo:{bar:1},baz:2}", "mapping values are not allowed here", NULL},
    {"- a\n- te\n  b: 1\n- c\n", "[a,{te:_,b:1},c]", "mapping values are not allowed here", NULL},
    {"a: \"x\nb: 1\nc: 2\n", "{a:_,b:1,c:2}", "found unexpected end of stream", "\"x"},
    {"a: 'x\n  y\nb: 1\n", "{a:_,b:1}", "found unexpected end of stream", "'x\n  y"},
    {"a: [1,\nb: 1\n", "{a:[1],b:1}", "expected ',' or ']', but got '<stream end>'", NULL},
    {"a: {x: 1, y\nb: 1\n", "{a:{x:1,y:_},b:1}", "expected ',' or '}', but got ':'", NULL},
    {"- {x: 1 y: 2}\n- c\n", "[{x:1 y},c]", "expected ',' or '}', but got ':'", ": 2}"},
    {"a: b: c\nd: 1\n", "{a:b,d:1}", "mapping values are not allowed here", ": c"},
    {"a:\n    b: 1\n  c: 2\nd: 3\n", "{a:{b:1},d:3}",
     "expected <block end>, but found '<block mapping start>'", "c: 2"},
    {"a:\n- b\n- @x\n- c\nd: e\n", "{a:[b,_,c],d:e}",
     "found character '@' that cannot start any token", "@x"},
    {"a: *\nb: *x\n", "{a:_,b:*x}", "expected alphabetic or numeric character, but found '\\n'",
     "*"},
    {"a:\tb\nc: d\n", "{a:_,c:d}", "found character '\\t' that cannot start any token", "b"},
    {"a: 1\n b: 2\nc: 3\n", "{a:1,c:3}", "mapping values are not allowed here", "b: 2"},
    {"a: ]\nb: 1\n", "{a:_,b:1}", "expected the node content, but found ']'", "]"},
    {"%YAML 2.0\n---\na: 1\n", "{a:1}",
     "found incompatible YAML document (version 1.* is required)", NULL},
    {"a: 1\n...\nb: 2\n", "{a:1}", "expected '<document start>', but found '<block mapping start>'",
     "b: 2"},
};

static void broken_texts_have_trees(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(texts); i++) {
        pdl_arena *a = pdl_arena_make();
        const pdl_ytree *t = tree_of(a, texts[i].text);
        pdl_buf b = PDL_BUF;
        const pdl_ytree_note *note = t->notes;
        T_ROW(i);
        if (t->root != PDL_YTREE_NONE) put_node(t, t->root, &b);
        t_assert_str(pdl_buf_str(&b), texts[i].tree);
        t_assert((texts[i].note != NULL) == (t->n_notes > 0));
        if (texts[i].note) t_assert_str(note->msg, texts[i].note);
        while (note < t->notes + t->n_notes && note->skipped == note->skipped_end) note++;
        if (texts[i].skipped) {
            t_assert(note < t->notes + t->n_notes);
            t_assert_str(pdl_str_sub(t->src->text, note->skipped, note->skipped_end),
                         texts[i].skipped);
        } else {
            t_assert(note == t->notes + t->n_notes);
        }
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

static const struct {
    const char *text;
    uint32_t off;
    const char *kinds; /* "comment scalar : ..." of the tokens from off on */
} tokens[] = {
    {"a: b # c\n", 0, "scalar : scalar comment "},
    {"a: b # c\n", 4, "comment "},
    {"- &x !!str 'y' # c\n# d\n", 0, "- anchor tag scalar comment comment "},
    {"? [a, b]\n: {c}\n", 2, "[ scalar , scalar ] : { scalar } "},
    {"%YAML 1.1 # c\n--- |  # header\n  text\n...\n", 0, "directive comment --- scalar ... "},
    {"a: *b\n@\n", 0, "scalar : alias skipped "},
};

static void tokens_cover_the_text(void **state) {
    (void)state;
    static const char *const names[] = {
#define X(id, name) name,
        PDL_YTREE_TOKENS(X)
#undef X
    };
    for (size_t i = 0; i < T_LEN(tokens); i++) {
        pdl_arena *a = pdl_arena_make();
        const pdl_ytree *t = tree_of(a, tokens[i].text);
        pdl_buf b = PDL_BUF;
        T_ROW(i);
        for (size_t k = pdl_ytree_token_at(t, tokens[i].off); k < t->n_tokens; k++)
            pdl_buf_putf(&b, "%s ", names[t->tokens[k].kind]);
        t_assert_str(pdl_buf_str(&b), tokens[i].kinds);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

static void nodes_are_found(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    const pdl_ytree *t = tree_of(a, "a: &x 1\nb:\n  c: [d, *x]\n  \na: 2\n");
    pdl_ytree_id b = pdl_ytree_find(t, t->root, PDL_STR("b"));
    t_assert_str(t->nodes[pdl_ytree_find(t, t->root, PDL_STR("a"))].text, "2");
    t_assert(pdl_ytree_find(t, t->root, PDL_STR("z")) == PDL_YTREE_NONE);
    t_assert(pdl_ytree_find(t, PDL_YTREE_NONE, PDL_STR("a")) == PDL_YTREE_NONE);
    pdl_ytree_id d = pdl_ytree_at(t, 17), alias = pdl_ytree_at(t, 21);
    t_assert_str(t->nodes[d].text, "d");
    t_assert(t->nodes[alias].kind == PDL_YTREE_ALIAS);
    t_assert_str(t->nodes[t->nodes[alias].target].text, "1");
    t_assert(t->nodes[t->nodes[alias].target].outer == 3 &&
             t->nodes[t->nodes[alias].target].start == 6);
    t_assert(pdl_ytree_parent_for(t, 26, 2) == b);
    t_assert(pdl_ytree_parent_for(t, 26, 0) == t->root);
    t_assert(pdl_ytree_at(t, 0) != PDL_YTREE_NONE);
    pdl_arena_free(a);
}

static void deep_texts_are_cut(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_buf b = PDL_BUF;
    for (int i = 0; i < 5000; i++) PDL_PUT(&b, "- ");
    const pdl_ytree *t = tree_of(a, pdl_buf_z(&b));
    t_assert(t->n_notes == 1 && t->n_nodes < 5000);
    pdl_buf_fini(&b);
    pdl_arena_free(a);
}

static void broken_texts_load(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    pdl_err err = {0};
    t_assert(pdl_yaml_source(a, PDL_STR("t"), PDL_STR("a: \"x\nb: 1\n"), &src, &err));
    const pdl_node *n = pdl_ytree_load(a, src, &err);
    t_assert(n && n->n == 2);
    t_assert(pdl_yaml_source(a, PDL_STR("t"), PDL_STR("a: *b\n"), &src, &err));
    t_assert(!pdl_ytree_load(a, src, &err));
    t_assert_str(pdl_str_of(err.msg), "found undefined alias 'b'");
    pdl_err_fini(&err);
    pdl_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_texts_have_trees), cmocka_unit_test(tokens_cover_the_text),
        cmocka_unit_test(nodes_are_found),         cmocka_unit_test(deep_texts_are_cut),
        cmocka_unit_test(broken_texts_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
