/* junit.c -- collects the results of tests as XML, and writes them as one file; see junit.h. The
 * text grows as tests end, but it is put into a file only once, because the counts at its beginning
 * are known last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/junit.h"

#include "base/xml.h"
#include "io/file.h"

#include "base/banned.h"

static void put_attribute(const char *name, pdl_str value, pdl_buf *out) {
    pdl_buf_putf(out, " %s=\"", name);
    pdl_xml_put(out, value);
    pdl_buf_putc(out, '"');
}

void pdl_junit_add(pdl_junit *j, pdl_str suite, pdl_str name, pdl_str problem) {
    if (!j->n) j->cases = PDL_BUF;
    j->n++;
    PDL_PUT(&j->cases, "  <testcase");
    put_attribute("classname", suite, &j->cases);
    put_attribute("name", name, &j->cases);
    if (problem.n) {
        j->failures++;
        PDL_PUT(&j->cases, "><failure");
        put_attribute("message", problem, &j->cases);
        PDL_PUT(&j->cases, "/></testcase>\n");
    } else {
        PDL_PUT(&j->cases, "/>\n");
    }
}

bool pdl_junit_write(const pdl_junit *j, pdl_str title, pdl_str file, pdl_err *err) {
    pdl_buf out = PDL_BUF;
    char *path = pdl_str_dup(file);
    PDL_PUT(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite");
    put_attribute("name", title, &out);
    pdl_buf_putf(&out, " tests=\"%llu\" failures=\"%llu\">\n", (unsigned long long)j->n,
                 (unsigned long long)j->failures);
    pdl_buf_put(&out, pdl_buf_str(&j->cases));
    PDL_PUT(&out, "</testsuite>\n");
    bool ok = pdl_file_write(path, pdl_buf_str(&out), PDL_FILE_SHARED, err);
    pdl_free(path);
    pdl_buf_fini(&out);
    return ok;
}

void pdl_junit_fini(pdl_junit *j) { pdl_buf_fini(&j->cases); }
