/* machine.h -- how much memory the machine has left.
 *
 * Linux promises memory that it does not have, and later kills a process without a message. The
 * killed process may be another process than the one that asked for the memory. So a program that
 * makes something large asks first (alloc.h), and gets an error instead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_MACHINE_H
#define PDL_BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the bytes of memory and swap that all processes together may still take; SIZE_MAX when
 * that is unknown. taken is the number of bytes that the caller took since its last call. */
size_t pdl_machine_left(size_t taken);

/* Sets how many bytes the machine has left, for the rest of the process (PDL_STRESS=room:N). */
void pdl_machine_say_left(size_t bytes);

#endif
