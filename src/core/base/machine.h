/* machine.h -- how much memory is left.
 *
 * Linux promises memory that it does not have, and ends a process that then uses it: without a
 * message, and perhaps another process than the one that asked. So a program that makes something
 * large asks first (alloc.h), and gets an error instead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_MACHINE_H
#define PDL_BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that processes may still take together, of memory and of swap; SIZE_MAX: not known. taken:
 * what the caller took since it asked last. */
size_t pdl_machine_left(size_t taken);

/* Until it ends, the machine has as much left (PDL_STRESS=room:N). */
void pdl_machine_say_left(size_t bytes);

#endif
