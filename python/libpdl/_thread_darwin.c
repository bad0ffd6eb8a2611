/* _thread_darwin.c -- asks macOS whether this is the thread with which the process began. This file
 * was compiled and linked, but never run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

#include <pthread.h>

bool pdlpy_is_first_thread(void) { return pthread_main_np() != 0; }
