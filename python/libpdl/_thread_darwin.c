/* _thread_darwin.c -- macOS knows which thread a process began with. This file was compiled and
 * linked, and not run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

#include <pthread.h>

bool pdlpy_is_first_thread(void) { return pthread_main_np() != 0; }
