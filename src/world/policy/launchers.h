/* launchers.h -- finds the commands that a command such as env, sudo or sh -c starts (launchers.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_POLICY_LAUNCHERS_H
#define PDL_POLICY_LAUNCHERS_H

#include "policy/policy.h"

/* Calls fn for each simple command of a shell script. arguments: $0, $1, ... Returns false when the
 * script does not show which commands it runs; fn may have been called before. */
bool pdl_shell_words(pdl_arena *arena, pdl_str script, const pdl_command_word *arguments, size_t n,
                     void (*fn)(void *user, const pdl_command_word *words, size_t n), void *user);

#endif
