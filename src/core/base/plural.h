/* plural.h -- the ending of a counted noun in messages: "1 call", "2 calls".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_PLURAL_H
#define PDL_BASE_PLURAL_H

/* Returns the ending for n, which is an integer of any width or a double. */
#define PDL_PLURAL(n) ((n) == 1 ? "" : "s")

#endif
