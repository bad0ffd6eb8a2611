/* _thread_linux.c -- the thread that a process begins with has the number of the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

#include <sys/syscall.h>
#include <unistd.h>

bool pdlpy_is_first_thread(void) { return getpid() == (pid_t)syscall(SYS_gettid); }
