/* yaml_events.c -- prints the events of YAML texts, for the comparison with PyYAML. Reads texts
 * from standard input, each after a line with its length in bytes. Writes a line of JSON for each
 * text: a list of events, which ends with `["error", class, message, place]` after a failure.
 * Places are bytes. With --tree, the recovering reader also reads each text, and its tree is
 * checked. Not installed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "value/json_write.h"
#include "yaml/events.h"
#include "yaml/load.h"
#include "yaml/tree.h"
#include "yaml/yaml.h"

static const char *const kinds[] = {"scalar", "seq", "map", "close", "alias", "doc", "stop"};
static const char *const styles[] = {"", "'", "\\\"", "|", ">", "flow", "block"};

static void put_text(pdl_buf *b, pdl_str s) {
    pdl_err err = {0};
    pdl_val v = pdl_text(s);
    if (!pdl_json_write(v, 0, 0, b, &err)) abort();
    pdl_drop(v);
}

static void put_event(pdl_buf *b, const pdl_yevent *e) {
    pdl_buf_putf(b, "[\"%s\",\"%s\",", kinds[e->kind], styles[e->style]);
    if (e->anchor.p)
        put_text(b, e->anchor);
    else
        PDL_PUT(b, "null");
    pdl_buf_putc(b, ',');
    put_text(b, e->tag);
    pdl_buf_putf(b, ",%s,", e->plain ? "true" : "false");
    put_text(b, e->text);
    pdl_buf_putf(b, ",%u,%u,%s]", e->start, e->end, e->explicit_doc ? "true" : "false");
}

static void print_events(pdl_str bytes) {
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    pdl_yevent e = {0};
    bool ok = pdl_yaml_source(a, PDL_STR("x"), bytes, &src, &err) &&
              pdl_yaml_check_chars(src->text, src, &err);
    pdl_yreader *r = ok ? pdl_yreader_new(src) : NULL;
    pdl_buf_putc(&b, '[');
    while (ok && (ok = pdl_yreader_next(r, &e, &err))) {
        if (b.len > 1) pdl_buf_putc(&b, ',');
        put_event(&b, &e);
        if (e.kind == PDL_YEV_STOP) break;
    }
    if (!ok) {
        if (b.len > 1) pdl_buf_putc(&b, ',');
        pdl_buf_putf(&b, "[\"error\",\"%s\",", err.py_class ? err.py_class : "");
        put_text(&b, pdl_str_of(err.msg));
        pdl_buf_putf(&b, ",%u]", err.loc.start);
    }
    pdl_buf_putc(&b, ']');
    puts(pdl_buf_z(&b));
    pdl_err_fini(&err);
    pdl_yreader_free(r);
    pdl_buf_fini(&b);
    pdl_arena_free(a);
}

/* The tree of a text, checked: tokens in order, only blanks between them, nodes linked. */
static void print_tree(pdl_str bytes) {
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (pdl_yaml_source(a, PDL_STR("x"), bytes, &src, &err))
        pdl_ytree_dump(pdl_ytree_read(a, src), &b);
    puts(pdl_buf_z(&b));
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_arena_free(a);
}

int main(int argc, char **argv) {
    char line[32];
    bool tree = argc > 1 && strcmp(argv[1], "--tree") == 0;
    while (fgets(line, sizeof line, stdin)) {
        size_t n = strtoul(line, NULL, 10);
        char *text = malloc(n + 1);
        if (!text || fread(text, 1, n, stdin) != n) return 1;
        (tree ? print_tree : print_events)((pdl_str){text, n});
        fflush(stdout);
        free(text);
    }
    return 0;
}
