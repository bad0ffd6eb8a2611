/* report.c -- writes diagnostics in each of the forms; see report.h.
 *
 * Text, JSON and GitHub annotations are written as diagnostics arrive. SARIF is one document, so
 * its results are collected until the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/report.h"

#include "base/url.h"
#include "base/utf8.h"
#include "base/version.h"
#include "value/json_write.h"

#include "base/banned.h"

/* Reports name the page of rules by its path, because they do not know its URL. */
#define PAGE "docs/manual/rules.md#"

bool pdl_report_form_find(pdl_str word, pdl_report_form *out) {
    static const char *const words[] = {"text", "json", "sarif", "github"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!pdl_str_is(word, words[i])) continue;
        *out = (pdl_report_form)i;
        return true;
    }
    return false;
}

static const char *severity_word(const pdl_diag *d) {
    return d->severity == PDL_DIAG_ERROR ? "error" : "warning";
}

static pdl_loc place_of(const pdl_diag *d) { return d->mark.src ? d->mark : d->loc; }

/* Returns the file of a problem, which may be in an included file. */
static pdl_str file_of(pdl_loc at, pdl_str file) {
    return at.src && at.src->name.n ? at.src->name : file;
}

/* Makes a text of the name of a file. Such a name may be any bytes. Bytes that are not UTF-8 are
 * replaced, because JSON and the lines of GitHub are UTF-8. */
static pdl_val text_of(pdl_str s) {
    pdl_buf b = PDL_BUF;
    pdl_utf8_repair(&b, s);
    pdl_val v = pdl_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return v;
}

static pdl_val put_num(pdl_val d, const char *key, uint32_t n) {
    return pdl_dict_putz(d, key, pdl_int(n));
}

static pdl_val put_place(pdl_val v, pdl_loc at, pdl_str file) {
    v = pdl_dict_putz(v, "file", text_of(file_of(at, file)));
    v = put_num(v, "line", pdl_loc_line(at));
    v = put_num(v, "column", at.src ? pdl_source_column(at.src, at.start) : 0);
    v = put_num(v, "end_line", at.src ? pdl_source_line(at.src, at.end) : 0);
    return put_num(v, "end_column", at.src ? pdl_source_column(at.src, at.end) : 0);
}

static pdl_val message_of(const pdl_diag *d) {
    if (!d->hint.n) return text_of(d->text);
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s (%.*s)", PDL_FMT(d->text), PDL_FMT(d->hint));
    pdl_val v = text_of(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return v;
}

static pdl_val related_of(const pdl_diag *d, pdl_str file) {
    pdl_val list = pdl_list_new(d->n_related);
    for (uint32_t i = 0; i < d->n_related; i++) {
        pdl_val v = put_place(pdl_dict_new(6), d->related[i].loc, file);
        list = pdl_list_push(list, pdl_dict_putz(v, "message", text_of(d->related[i].text)));
    }
    return list;
}

static pdl_val edits_of(const pdl_diag *d, pdl_str file) {
    pdl_val list = pdl_list_new(d->n_edits);
    for (uint32_t i = 0; i < d->n_edits; i++) {
        pdl_val v = put_place(pdl_dict_new(6), d->edits[i].at, file);
        list = pdl_list_push(list, pdl_dict_putz(v, "text", pdl_text(d->edits[i].text)));
    }
    return list;
}

pdl_val pdl_report_value(const pdl_diag *d, pdl_str file, bool hint) {
    pdl_val v = put_place(pdl_dict_new(10), place_of(d), file);
    v = pdl_dict_putz(v, "severity", pdl_textz(severity_word(d)));
    v = pdl_dict_putz(v, "code", pdl_textz(d->code));
    v = pdl_dict_putz(v, "message", hint ? text_of(d->text) : message_of(d));
    if (hint) v = pdl_dict_putz(v, "hint", text_of(d->hint));
    if (d->n_related) v = pdl_dict_putz(v, "related", related_of(d, file));
    if (d->n_edits) v = pdl_dict_putz(v, "fix", edits_of(d, file));
    return v;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Appends a diagnostic as text. The text names the rule as the manual and `# pdl: ignore NAME` do.
 */
static void put_text(const pdl_diag *d, pdl_buf *out) {
    pdl_buf after = PDL_BUF;
    pdl_buf_putf(&after, " [%s]", d->code);
    pdl_diag_print(d, d->severity == PDL_DIAG_WARNING ? "warning: " : "", pdl_buf_z(&after), true,
                   out);
    pdl_buf_fini(&after);
    for (uint32_t i = 0; i < d->n_related; i++) {
        PDL_PUT(out, "  ");
        pdl_loc_put(d->related[i].loc, out);
        pdl_buf_putf(out, "%.*s\n", PDL_FMT(d->related[i].text));
    }
}

static void put_json(pdl_val v, bool pretty, pdl_buf *out) {
    pdl_err err = {0};
    if (!pdl_json_write(v, PDL_JSON_SPACED, pretty ? 2 : 0, out, &err))
        PDL_BUG("a diagnostic is not JSON: %s", err.msg);
    pdl_buf_putc(out, '\n');
    pdl_drop(v);
}

/* --- GitHub ----------------------------------------------------------------------------------- */

/* Percent-encodes bytes that end a property or a line of a workflow command. */
static void put_escaped(pdl_str text, const char *special, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_utf8_repair(&b, text);
    pdl_str s = pdl_buf_str(&b);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] && strchr(special, s.p[i]))
            pdl_buf_putf(out, "%%%02X", (unsigned)(unsigned char)s.p[i]);
        else
            pdl_buf_putc(out, s.p[i]);
    }
    pdl_buf_fini(&b);
}

static void put_github(const pdl_diag *d, pdl_str file, pdl_buf *out) {
    pdl_loc at = place_of(d);
    pdl_buf_putf(out, "::%s file=", severity_word(d));
    put_escaped(file_of(at, file), "%\r\n:,", out);
    if (at.src)
        pdl_buf_putf(out, ",line=%u,col=%u,endLine=%u,endColumn=%u", pdl_loc_line(at),
                     pdl_source_column(at.src, at.start), pdl_source_line(at.src, at.end),
                     pdl_source_column(at.src, at.end));
    pdl_buf_putf(out, ",title=%s::", d->code);
    put_escaped(d->text, "%\r\n", out);
    if (d->hint.n) {
        PDL_PUT(out, " (");
        put_escaped(d->hint, "%\r\n", out);
        pdl_buf_putc(out, ')');
    }
    pdl_buf_putc(out, '\n');
}

/* --- SARIF ------------------------------------------------------------------------------------ */

/* Returns a path as a URI reference: blanks and letters outside of ASCII are escaped. A colon is
 * escaped, too, because readers would take the text before it for a scheme. An absolute path gets
 * the scheme `file`. */
static pdl_val sarif_uri(pdl_str path) {
    pdl_buf b = PDL_BUF;
    if (pdl_str_starts(path, PDL_STR("/")))
        pdl_url_put_file(path, &b);
    else
        pdl_url_quote(path, "/", &b);
    pdl_val v = pdl_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return v;
}

static pdl_val sarif_place(pdl_loc at, pdl_str file) {
    pdl_val uri = pdl_dict_putz(pdl_dict_new(1), "uri", sarif_uri(file_of(at, file)));
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "artifactLocation", uri);
    if (at.src) {
        pdl_val r = put_num(pdl_dict_new(4), "startLine", pdl_loc_line(at));
        r = put_num(r, "startColumn", pdl_source_column(at.src, at.start));
        r = put_num(r, "endLine", pdl_source_line(at.src, at.end));
        v = pdl_dict_putz(v, "region", put_num(r, "endColumn", pdl_source_column(at.src, at.end)));
    }
    return pdl_dict_putz(pdl_dict_new(2), "physicalLocation", v);
}

static pdl_val sarif_text(pdl_val text) { return pdl_dict_putz(pdl_dict_new(1), "text", text); }

static pdl_val sarif_result(const pdl_diag *d, pdl_str file) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(5), "ruleId", pdl_textz(d->code));
    v = pdl_dict_putz(v, "level", pdl_textz(severity_word(d)));
    v = pdl_dict_putz(v, "message", sarif_text(message_of(d)));
    v = pdl_dict_putz(v, "locations",
                      pdl_list_push(pdl_list_new(1), sarif_place(place_of(d), file)));
    if (!d->n_related) return v;
    pdl_val related = pdl_list_new(d->n_related);
    for (uint32_t i = 0; i < d->n_related; i++)
        related =
            pdl_list_push(related, pdl_dict_putz(sarif_place(d->related[i].loc, file), "message",
                                                 sarif_text(text_of(d->related[i].text))));
    return pdl_dict_putz(v, "relatedLocations", related);
}

static pdl_val sarif_rules(void) {
    size_t n;
    const pdl_rule *rules = pdl_rules(&n);
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_val v = pdl_dict_putz(pdl_dict_new(3), "id", pdl_textz(rules[i].name));
        v = pdl_dict_putz(v, "shortDescription", sarif_text(pdl_textz(rules[i].title)));
        pdl_val help = pdl_textf(PAGE "%s", rules[i].name);
        list = pdl_list_push(list, pdl_dict_putz(v, "help", sarif_text(help)));
    }
    return list;
}

static pdl_val sarif_document(pdl_val results) {
    pdl_val driver = pdl_dict_putz(pdl_dict_new(3), "name", pdl_textz("pdl check"));
    driver = pdl_dict_putz(driver, "version", pdl_textz(PDL_VERSION));
    driver = pdl_dict_putz(driver, "rules", sarif_rules());
    pdl_val run =
        pdl_dict_putz(pdl_dict_new(3), "tool", pdl_dict_putz(pdl_dict_new(1), "driver", driver));
    run = pdl_dict_putz(run, "columnKind", pdl_textz("unicodeCodePoints"));
    run = pdl_dict_putz(run, "results", results);
    pdl_val v = pdl_dict_putz(pdl_dict_new(3), "$schema",
                              pdl_textz("https://json.schemastore.org/sarif-2.1.0.json"));
    v = pdl_dict_putz(v, "version", pdl_textz("2.1.0"));
    return pdl_dict_putz(v, "runs", pdl_list_push(pdl_list_new(1), run));
}

/* --- the report ------------------------------------------------------------------------------- */

void pdl_report_add(pdl_check_report *r, const pdl_diag *d, pdl_str file, pdl_buf *out) {
    switch (r->form) {
    case PDL_REPORT_TEXT: put_text(d, out); return;
    case PDL_REPORT_JSON: put_json(pdl_report_value(d, file, false), false, out); return;
    case PDL_REPORT_GITHUB: put_github(d, file, out); return;
    case PDL_REPORT_SARIF:
        if (pdl_is_absent(r->results)) r->results = pdl_list_new(8);
        r->results = pdl_list_push(r->results, sarif_result(d, file));
        return;
    }
}

void pdl_report_end(pdl_check_report *r, pdl_buf *out) {
    if (r->form != PDL_REPORT_SARIF) return;
    put_json(sarif_document(pdl_is_absent(r->results) ? pdl_list_new(0) : r->results), true, out);
    r->results = pdl_absent();
}
