/* reply_usage.h -- checks the usage that a service reports for a call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_REPLY_USAGE_H
#define PDL_EFFECT_REPLY_USAGE_H

#include "value/val.h"

/* Returns the usage without numbers that no call can have used: negative numbers, infinite numbers,
 * and numbers above 10^12. So the sums of the numbers that are left are finite. Borrows usage. */
pdl_val pdl_usage_checked(pdl_vref usage);

#endif
