/* trace_page.c -- makes a page for people from a trace, for host programs that show runs:
 * notebooks, web applications, reports. The function belongs to the public interface (pdl.h), but
 * it is here and not in src/api, so that a program that shows no runs does not contain the viewer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/handles.h"
#include "api/session.h"
#include "viewer/viewer.h"

#include "base/banned.h"

static pdl_value *page_of(const pdl_view_run *run) {
    pdl_buf b = PDL_BUF;
    pdl_view_html(run, &b);
    return pdl_value_box(pdl_text_of_buf(&b));
}

pdl_value *pdl_trace_page(const char *trace, size_t n_bytes, const char *name, const char *source,
                          pdl_error **error) {
    if (!trace) {
        pdl_misuse(error, "pdl_trace_page: trace is NULL");
        return NULL;
    }
    pdl_err err = {0};
    pdl_view_run *run;
    pdl_str title = pdl_str_of(name ? name : "");
    pdl_view_program p = {
        title, source ? pdl_str_of(source) : (pdl_str){0}, NULL, NULL, pdl_session_redact_program,
        false};
    if (!pdl_view_run_new(title, (pdl_str){trace, n_bytes}, &p, &run, &err)) {
        pdl_error_give(error, &err, NULL);
        return NULL;
    }
    pdl_value *page = page_of(run);
    pdl_view_run_free(run);
    return page;
}
