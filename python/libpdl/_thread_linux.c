/* _thread_linux.c -- recognises the thread with which the process began: its number is that of the
 * process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

#include <sys/syscall.h>
#include <unistd.h>

bool pdlpy_is_first_thread(void) { return getpid() == (pid_t)syscall(SYS_gettid); }
