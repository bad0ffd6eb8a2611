/* load.h -- makes blocks of the nodes of a YAML text: finds the kind of a mapping, reads its
 * fields, and reports unknown keys with a suggestion (spec syntax 1, 2, 6.2).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_LOAD_H
#define PDL_LANG_LOAD_H

#include "base/err.h"
#include "lang/program.h"

/* Reads the text of a program, which is already a source (yaml.h), into p: sets p->main, or adds
 * diagnostics. Sets *ok when there are no errors. A YAML error becomes the only diagnostic. The
 * function does not fail otherwise. */
void pdl_program_load(pdl_program *p, pdl_str name, pdl_str bytes, bool *ok);

/* Reads a program from a node (a value of `lang: pdl` that is an object). */
void pdl_program_load_node(pdl_program *p, const pdl_node *root, bool *ok);

#endif
