/* page.c -- joins the files of the page to one HTML file, with the data of a run; see page.h. The
 * scripts are the modules of the server's page with their import lines removed, so both pages have
 * one source. The data is in elements that scripts parse when they need them, so a large page opens
 * quickly.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/page.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/xml.h"
#include "value/json_write.h"
#include "viewer/box_json.h"
#include "viewer/kind_looks.h"
#include "viewer/program_text.h"
#include "viewer/reading/call_table.h"
#include "viewer/reading/first_lists.h"
#include "viewer/reading/item_origins.h"
#include "viewer/reading/map_rows.h"
#include "viewer/reading/reading_json.h"

#include "base/banned.h"

#define PAGE(symbol, name, type)                                                                   \
    extern const unsigned char pdl_page_##symbol[];                                                \
    extern const size_t pdl_page_##symbol##_len;
#include "viewer/page.def"

static const pdl_page_file files[] = {
#define PAGE(symbol, name, type) {name, type, pdl_page_##symbol, &pdl_page_##symbol##_len},
#include "viewer/page.def"
};
enum { N_FILES = sizeof files / sizeof *files };

const pdl_page_file *pdl_page_named(pdl_str name) {
    for (size_t i = 0; i < N_FILES; i++)
        if (pdl_str_is(name, files[i].name)) return &files[i];
    return NULL;
}

pdl_str pdl_page_bytes(const pdl_page_file *f) { return (pdl_str){(const char *)f->bytes, *f->n}; }

void pdl_page_colours(pdl_buf *out) {
    for (size_t i = 0; i < pdl_looks_n; i++)
        pdl_buf_putf(out, "[data-kind=\"%s\"]{--edge:light-dark(%s,%s);--icon:\"%s\"}\n",
                     pdl_looks[i].name, pdl_looks[i].light, pdl_looks[i].dark, pdl_looks[i].icon);
}

/* --- one file --------------------------------------------------------------------------------- */

/* Appends a module without its import lines and without the word `export`. tools/embed.c leaves
 * both at the beginning of lines. */
static void put_script(pdl_str text, pdl_buf *out) {
    const pdl_str export = PDL_STR("export ");
    while (text.n) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), 0);
        pdl_str line = pdl_str_sub(text, 0, end == PDL_NOT_FOUND ? text.n : end + 1);
        text = pdl_str_sub(text, line.n, text.n);
        if (pdl_str_starts(line, export)) line = pdl_str_sub(line, export.n, line.n);
        if (!pdl_str_starts(line, PDL_STR("import "))) pdl_buf_put(out, line);
    }
}

static void put_scripts(pdl_buf *out) {
    for (size_t i = 0; i < N_FILES; i++)
        if (pdl_str_ends(pdl_str_of(files[i].name), PDL_STR(".js")))
            put_script(pdl_page_bytes(&files[i]), out);
}

static void put_hash(pdl_str text, pdl_buf *out) {
    pdl_sha256 h;
    unsigned char digest[32];
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, text);
    pdl_sha256_done(&h, digest);
    PDL_PUT(out, "'sha256-");
    pdl_base64_put((pdl_str){(const char *)digest, sizeof digest}, false, out);
    PDL_PUT(out, "'");
}

/* --- the data of one file, in parts ----------------------------------------------------------- */

/* Appends an object with the origins of the pieces. The key of a member is the number of the
 * piece's item. Pieces that the author wrote, and other items, are left out. */
static void put_origins(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    (void)s;
    pdl_json_open(out, '{');
    for (uint32_t i = 0; i < r->items.n; i++) {
        char name[16];
        if (r->items.p[i].shape != PDL_SHAPE_piece || !pdl_maker_name(r->items.p[i].maker)[0])
            continue;
        pdl_buf key = pdl_buf_in(name, sizeof name, PDL_BUF.limit);
        pdl_buf_putf(&key, "%u", i);
        pdl_json_put_key(out, pdl_buf_z(&key));
        pdl_item_origin(r, i, out);
        pdl_buf_fini(&key);
    }
    pdl_buf_putc(out, '}');
}

/* Appends the rows of each map. The key is the number of the map's item. */
static void put_rows(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    enum { MAX_ROWS = 10000 };
    (void)s;
    pdl_json_open(out, '{');
    for (uint32_t i = 0; i < r->items.n; i++) {
        char name[16];
        if (r->items.p[i].shape != PDL_SHAPE_map) continue;
        pdl_buf key = pdl_buf_in(name, sizeof name, PDL_BUF.limit);
        pdl_buf_putf(&key, "%u", i);
        pdl_json_put_key(out, pdl_buf_z(&key));
        pdl_rows_json(r, &(pdl_rows_query){.item = i, .n = MAX_ROWS}, out);
        pdl_buf_fini(&key);
    }
    pdl_buf_putc(out, '}');
}

static void put_sent(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    pdl_json_open(out, '[');
    for (uint32_t i = 1; i <= r->n_calls; i++) pdl_reading_json_call(r, s, i, true, out);
    pdl_buf_putc(out, ']');
}

static void put_spans(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    (void)s;
    pdl_call_table(r, (pdl_str){0}, r->n_calls, out);
}

static void put_boxes(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    pdl_shared_values *shared = pdl_shared_values_new();
    PDL_PUT(out, "{\"boxes\":[");
    for (uint32_t i = 0; i < r->doc->boxes.n; i++) {
        if (i) PDL_PUT(out, ",\n");
        pdl_box_json_details(r->doc, s, i, shared, out);
    }
    PDL_PUT(out, "],\"values\":");
    pdl_shared_values_list(shared, out);
    pdl_buf_putc(out, '}');
    pdl_shared_values_free(shared);
}

/* The place of a part of the data in the file. A document with first lists (first_lists.h) is long,
 * and every other document is short. */
typedef enum {
    BEFORE_IF_SHORT, /* before the script when the document is short, otherwise after it */
    BEFORE_IF_LONG,  /* before the script when the document is long, otherwise nowhere */
    BEFORE_IF_FEW,   /* before the script when there are few calls, otherwise after it */
    AFTER
} part_place;

/* The parts of the data. Each part is in a separate element, which the page parses when it needs
 * the part. The data of the first screen comes before the script, so that the page is drawn
 * earlier. */
static const struct {
    const char *name;
    part_place place;
    void (*put)(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out);
} parts[] = {
    {"first", BEFORE_IF_LONG, pdl_first_lists_json},
    {"items", BEFORE_IF_SHORT, pdl_reading_json_all},
    {"spans", BEFORE_IF_FEW, put_spans},
    {"rows", BEFORE_IF_SHORT, put_rows},
    {"sent", AFTER, put_sent},
    {"origins", AFTER, put_origins},
    {"list", AFTER, put_boxes},
};

static bool is_in_place(part_place p, const pdl_reading *r, bool is_before) {
    enum { FEW_CALLS = 200 }; /* the strip of more calls is filled later (strip.js) */
    bool is_long = pdl_has_first_lists(r);
    switch (p) {
    case BEFORE_IF_SHORT: return is_before == !is_long;
    case BEFORE_IF_LONG: return is_before && is_long;
    case BEFORE_IF_FEW: return is_before == (r->n_calls <= FEW_CALLS);
    case AFTER: return !is_before;
    }
    return false;
}

static void put_element(const char *id, pdl_str json, pdl_buf *out) {
    pdl_buf_putf(out, "<script type=\"application/json\" id=\"%s\">", id);
    pdl_xml_put_json(out, json);
    PDL_PUT(out, "</script>\n");
}

static void put_parts(const pdl_reading *r, const pdl_view_source *s, bool is_before,
                      pdl_buf *out) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char id[32];
        pdl_buf name = pdl_buf_in(id, sizeof id, PDL_BUF.limit), json = PDL_BUF;
        if (!is_in_place(parts[i].place, r, is_before)) continue;
        pdl_buf_putf(&name, "run-%s", parts[i].name);
        parts[i].put(r, s, &json);
        put_element(pdl_buf_z(&name), pdl_buf_str(&json), out);
        pdl_buf_fini(&name);
        pdl_buf_fini(&json);
    }
}

static void put_head(const pdl_reading *r, const pdl_view_source *s, pdl_str title, pdl_buf *out) {
    pdl_buf json = PDL_BUF;
    pdl_buf_putc(&json, '{');
    pdl_json_put_text(&json, "name", title);
    pdl_doc_json_totals(r->doc, &json);
    if (r->doc->notice) pdl_json_put_text(&json, "notice", pdl_str_of(r->doc->notice));
    pdl_view_source_json(s, &json);
    pdl_reading_json_head(r, s, &json);
    pdl_buf_putc(&json, '}');
    put_element("run", pdl_buf_str(&json), out);
    pdl_buf_fini(&json);
}

/* Returns the part of index.html between two markers. */
static pdl_str between(pdl_str html, pdl_str from, pdl_str to) {
    size_t a = from.n ? pdl_str_find(html, from, 0) + from.n : 0;
    return pdl_str_sub(html, a, to.n ? pdl_str_find(html, to, a) : html.n);
}

void pdl_page_export(const pdl_reading *r, const pdl_view_source *s, pdl_str title, pdl_buf *out) {
    pdl_buf style = PDL_BUF, script = PDL_BUF;
    pdl_str html = pdl_page_bytes(pdl_page_named(PDL_STR("index.html")));
    pdl_buf_put(&style, pdl_page_bytes(pdl_page_named(PDL_STR("style.css"))));
    pdl_buf_put(&style, pdl_page_bytes(pdl_page_named(PDL_STR("document.css"))));
    pdl_page_colours(&style);
    put_scripts(&script);
    PDL_PUT(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "img-src data:; style-src ");
    put_hash(pdl_buf_str(&style), out);
    PDL_PUT(out, "; script-src ");
    put_hash(pdl_buf_str(&script), out);
    PDL_PUT(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>");
    pdl_xml_put(out, title);
    PDL_PUT(out, "</title>\n<style>");
    pdl_buf_put(out, pdl_buf_str(&style));
    PDL_PUT(out, "</style>\n</head>\n");
    pdl_buf_put(out, between(html, PDL_STR("<!-- page -->\n"), PDL_STR("<!-- end of page -->")));
    put_head(r, s, title, out);
    put_parts(r, s, true, out);
    PDL_PUT(out, "<script type=\"module\" async>");
    pdl_buf_put(out, pdl_buf_str(&script));
    PDL_PUT(out, "</script>\n");
    put_parts(r, s, false, out);
    PDL_PUT(out, "</body>\n</html>\n");
    pdl_buf_fini(&style);
    pdl_buf_fini(&script);
}
