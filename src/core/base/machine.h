/* machine.h -- how much memory is left.
 *
 * Linux promises memory that it does not have, and kills a process that then uses it: without a
 * message, and perhaps another process than the one that asked. So a program that makes something
 * large asks first (alloc.h), and gets an error instead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_MACHINE_H
#define PDL_BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the bytes, of memory and of swap, that all processes together may still take; SIZE_MAX:
 * unknown. taken: bytes that the caller took since its last call. */
size_t pdl_machine_left(size_t taken);

/* Sets what the machine has left for the rest of the process (PDL_STRESS=room:N). */
void pdl_machine_say_left(size_t bytes);

#endif
