/* svg.c -- draws the boxes as a picture; see viewer.h. The picture looks like a drawing of a run on
 * paper: a box is inside the box around it, its kind is a small title, and innermost boxes have
 * their text inside. Widths are fixed and heights follow from the lines of text. One pass measures,
 * from the last box to the first, because the boxes inside a box have higher numbers. Another pass
 * draws, from the first box to the last. Neither pass recurses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/xml.h"
#include "viewer/box_json.h"
#include "viewer/kind_looks.h"
#include "viewer/shown_run.h"

#include "base/banned.h"

enum {
    WIDTH = 760,
    PAD = 8,
    TITLE = 18,  /* height of a title, in pixels */
    LINE = 16,   /* height of a line of text */
    LETTER = 7,  /* width of a letter */
    GAP = 6,     /* space between boxes */
    LINES = 12,  /* maximum number of lines in a box */
    INDENT = 10, /* indentation of inner boxes */
    MAX_BOXES = 400,
    DEEPEST = 24,
};

typedef struct picture {
    const pdl_doc *doc;
    uint32_t n; /* number of boxes that are drawn */
    /* height and position, by the number of the box; a box with the height 0 is not drawn */
    int *height, *y;
    int *text; /* height of the text, by the number of the box */
    pdl_buf *out;
} picture;

/* --- text ------------------------------------------------------------------------------------- */

static int width_of(const pdl_box *b) { return WIDTH - 2 * INDENT * (int)b->depth; }
static size_t letters_of(const pdl_box *b) { return (size_t)((width_of(b) - 2 * PAD) / LETTER); }

/* Returns the next line of *text, which has at most n letters, and removes it from *text. */
static pdl_str next_line(pdl_str *text, size_t n) {
    size_t end = pdl_str_find(*text, PDL_STR("\n"), 0);
    pdl_str line = pdl_str_sub(*text, 0, end);
    size_t fits = pdl_utf8_offset(line, n);
    if (fits < line.n) {
        line = pdl_str_sub(line, 0, fits);
        *text = pdl_str_sub(*text, fits, text->n);
    } else {
        *text = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(*text, end + 1, text->n);
    }
    return line;
}

static int count_lines(const pdl_box *b, pdl_str text) {
    int n = 0;
    while (text.n && n < LINES) {
        next_line(&text, letters_of(b));
        n++;
    }
    return n;
}

static bool is_model(const pdl_box *b) { return pdl_str_is(b->kind, "model"); }

/* Returns true for a box that is drawn. A box that is part of the input of a model call is not
 * drawn. */
static bool is_drawn(const picture *p, const pdl_box *b) {
    return b->depth <= DEEPEST && !is_model(&p->doc->boxes.p[b->parent]);
}

/* Appends the text of a box: the signature of a function, otherwise the result. A box that has
 * inner boxes has no result here, unless it is a model call or an error. */
static void put_result(const picture *p, uint32_t i, pdl_buf *out) {
    const pdl_box *b = &p->doc->boxes.p[i];
    if (pdl_str_is(b->kind, "function"))
        pdl_box_signature(b, out);
    else if (!b->n_children || is_model(b) || pdl_str_is(b->kind, "error"))
        pdl_box_result_text(p->doc, i, out);
}

/* --- measuring -------------------------------------------------------------------------------- */

static void measure(picture *p) {
    for (uint32_t i = p->n; i-- > 0;) {
        const pdl_box *b = &p->doc->boxes.p[i];
        if (!is_drawn(p, b)) continue;
        pdl_buf text = PDL_BUF;
        put_result(p, i, &text);
        p->text[i] = LINE * count_lines(b, pdl_buf_str(&text));
        p->height[i] += TITLE + 2 * PAD + p->text[i];
        pdl_buf_fini(&text);
        if (i) p->height[b->parent] += p->height[i] + GAP;
    }
}

static void place(picture *p) {
    for (uint32_t i = 0; i < p->n; i++) {
        const pdl_box *b = &p->doc->boxes.p[i];
        int y = p->y[i] + PAD + TITLE + p->text[i];
        for (uint32_t k = b->first; k < b->first + b->n_children && k < p->n; k++) {
            p->y[k] = y;
            if (p->height[k]) y += p->height[k] + GAP;
        }
    }
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_text(const picture *p, uint32_t i, int x) {
    const pdl_box *b = &p->doc->boxes.p[i];
    pdl_buf text = PDL_BUF;
    put_result(p, i, &text);
    pdl_str rest = pdl_buf_str(&text);
    for (int k = 0; rest.n && k < LINES; k++) {
        pdl_str line = next_line(&rest, letters_of(b));
        pdl_buf_putf(p->out, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">", x + PAD,
                     p->y[i] + PAD + TITLE + LINE * k + LINE - 4);
        pdl_xml_put(p->out, line);
        if (k == LINES - 1 && rest.n) PDL_PUT(p->out, " …");
        PDL_PUT(p->out, "</text>\n");
    }
    pdl_buf_fini(&text);
}

static void draw(const picture *p, uint32_t i) {
    const pdl_box *b = &p->doc->boxes.p[i];
    const pdl_look *kind = pdl_look_of(b->kind);
    int x = INDENT * (int)b->depth + 1;
    const char *dash = b->state == PDL_BOX_DONE ? "" : " stroke-dasharray=\"6 3\"";
    pdl_buf_putf(p->out,
                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\" stroke=\"%s\" "
                 "fill=\"%s\" fill-opacity=\"0.07\"%s/>\n<text class=\"kind\" x=\"%d\" y=\"%d\" "
                 "fill=\"%s\">%s ",
                 x, p->y[i] + 1, width_of(b) - 2, p->height[i] - 2, kind->light, kind->light, dash,
                 x + PAD, p->y[i] + PAD + 9, kind->light, kind->icon);
    pdl_xml_put(p->out, pdl_utf8_cut(b->kind, 40));
    PDL_PUT(p->out, " ");
    pdl_xml_put(p->out, pdl_box_variable(b));
    if (b->state == PDL_BOX_FAILED) PDL_PUT(p->out, " (failed)");
    PDL_PUT(p->out, "</text>\n");
    draw_text(p, i, x);
}

void pdl_view_svg(const pdl_view_run *r, pdl_buf *out) {
    size_t all = r->doc->boxes.n;
    uint32_t n = all > MAX_BOXES ? MAX_BOXES : (uint32_t)all;
    picture p = {r->doc, n, PDL_NEW_N(int, n), PDL_NEW_N(int, n), PDL_NEW_N(int, n), out};
    measure(&p);
    place(&p);
    pdl_buf_putf(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"11\" role=\"img\">\n"
                 "<title>",
                 WIDTH, p.height[0] + LINE, WIDTH, p.height[0] + LINE);
    pdl_xml_put(out, pdl_str_of(r->name));
    PDL_PUT(out, "</title>\n<style>text{fill:#222}.kind{font-size:10px;font-weight:bold}</style>\n"
                 "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    for (uint32_t i = 0; i < n; i++)
        if (p.height[i]) draw(&p, i);
    if (n < all)
        pdl_buf_putf(out, "<text x=\"4\" y=\"%d\">%zu boxes more</text>\n", p.height[0] + 12,
                     all - n);
    PDL_PUT(out, "</svg>\n");
    pdl_free(p.height);
    pdl_free(p.y);
    pdl_free(p.text);
}
