/* redact.h -- secrets do not show: in traces, journals, messages (spec language-execution 14.5). */
#ifndef PDL_TRACE_REDACT_H
#define PDL_TRACE_REDACT_H

#include "base/buf.h"
#include "value/val.h"

/* Text with every occurrence of a secret replaced by [REDACTED]. Empty secrets are ignored. */
void pdl_redact_text(pdl_str text, const pdl_str *secrets, size_t n, pdl_buf *out);

/* A value with the same done to every text in lists and dicts, and with the texts under secret keys (api_key,
 * ..., headers with authorization or key) replaced. What is nested deeper than JSON is written stays. Takes v. */
pdl_val pdl_redact_val(pdl_val v, const pdl_str *secrets, size_t n);

#endif
