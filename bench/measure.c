/* measure.c -- runs a command with its output thrown away and prints seconds, peak resident
 * kilobytes, exit status and seconds of processor time. A small separate process, because the
 * peak of a child counts what its parent held when it was forked. `measure --spin` is work of a
 * fixed size: how fast this machine is now.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A chain of dependent steps, so that no compiler and no wide processor shortens it. */
static int spin(void) {
    unsigned long long x = 88172645463325252u;
    for (long i = 0; i < 50000000; i++) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x == 0;
}

int main(int argc, char **argv) {
    int status;
    struct rusage u;
    if (argc < 2) return 2;
    if (strcmp(argv[1], "--spin") == 0) return spin();
    double start = now();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &u) < 0) return 2;
    printf("%.6f %ld %d %.6f\n", now() - start, u.ru_maxrss,
           WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
    return 0;
}
