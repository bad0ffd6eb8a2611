/* kind_looks.c -- the table of how each kind of block looks; see kind_looks.h. HTML and SVG use the
 * same rows of kinds.def, so a kind has one colour and one icon everywhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kind_looks.h"

#include "base/banned.h"

const pdl_look pdl_looks[] = {
#define KIND(name, icon, light, dark) {name, icon, light, dark},
#include "viewer/kinds.def"
};
const size_t pdl_looks_n = sizeof pdl_looks / sizeof *pdl_looks;

const pdl_look *pdl_look_of(pdl_str name) {
    for (size_t i = 0; i < pdl_looks_n; i++)
        if (pdl_str_is(name, pdl_looks[i].name)) return &pdl_looks[i];
    return &pdl_looks[pdl_looks_n - 1];
}
