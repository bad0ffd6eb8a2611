/* cli.h -- what the commands share. Private to cli. */
#ifndef PDL_CLI_CLI_H
#define PDL_CLI_CLI_H

#include "api/session.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/options.h"

#define PDL_MAX_SOURCE_BYTES_SIZE ((size_t)PDL_MAX_SOURCE_BYTES)

/* The bytes of a program; "-" is standard input. */
PDL_MUST bool read_program(pdl_str file, pdl_buf *out, pdl_err *err);
/* Variables of --data-file and --data as a dict. */
PDL_MUST bool read_data(const arguments *a, pdl_val *vars, pdl_err *err);
/* An error on standard error; secrets of s (may be NULL) replaced. */
void print_error(const pdl_err *err, const pdl_session *s);

#endif
