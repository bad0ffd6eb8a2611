/* curl_loop.c -- what libcurl alone takes for the same requests: N POSTs of a body, at most OPEN at
 * a time, over multi handles of 1000 transfers each and epoll, replies kept. The yardstick for
 * `map` over model calls and for a first call.
 *
 *   curl_loop URL N OPEN     prints seconds, and kilobytes at the peak
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

enum { LANE = 1000, EVENTS = 256 };

typedef struct lane {
    CURLM *multi;
    double due; /* when libcurl wants to be called; < 0 never */
    size_t open;
} lane;

typedef struct reply {
    char *p;
    size_t n;
} reply;

static const char body[] = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Say "
                           "something about number 12345.\"}]}";
static int poller;
static lane *lanes;
static size_t n_lanes, started, ended, failed, total;
static reply *replies;
static struct curl_slist *headers;
static const char *url;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t keep(char *p, size_t size, size_t n, void *user) {
    reply *r = user;
    (void)size;
    char *q = realloc(r->p, r->n + n + 1);
    if (!q) return 0;
    r->p = q;
    memcpy(q + r->n, p, n);
    r->n += n;
    return n;
}

static int on_socket(CURL *e, curl_socket_t fd, int what, void *user, void *mine) {
    lane *l = user;
    (void)e;
    struct epoll_event ev = {.data.u64 = (uint64_t)(l - lanes) << 32 | (uint32_t)fd};
    if (what == CURL_POLL_REMOVE) return epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL), 0;
    ev.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    epoll_ctl(poller, mine ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev);
    if (!mine) curl_multi_assign(l->multi, fd, l);
    return 0;
}

static int on_timer(CURLM *m, long ms, void *user) {
    (void)m;
    ((lane *)user)->due = ms < 0 ? -1 : now() + (double)ms / 1e3;
    return 0;
}

static void start_one(lane *l) {
    CURL *e = curl_easy_init();
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(e, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)sizeof body - 1);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, &replies[started++]);
    curl_easy_setopt(e, CURLOPT_PRIVATE, (char *)l);
    curl_multi_add_handle(l->multi, e);
    l->open++;
}

static void collect(lane *l) {
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(l->multi, &left));) {
        long status = 0;
        CURL *e = m->easy_handle;
        curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
        if (m->data.result != CURLE_OK || status != 200) failed++;
        curl_multi_remove_handle(l->multi, e);
        curl_easy_cleanup(e);
        l->open--;
        ended++;
        if (started < total) start_one(l);
    }
}

static void turn(void) {
    struct epoll_event got[EVENTS];
    int running;
    double wait = 1, t = now();
    for (size_t i = 0; i < n_lanes; i++)
        if (lanes[i].due >= 0 && lanes[i].due - t < wait) wait = lanes[i].due - t;
    int n = epoll_wait(poller, got, EVENTS, wait <= 0 ? 0 : (int)(wait * 1e3) + 1);
    for (int i = 0; i < n; i++) {
        lane *l = &lanes[got[i].data.u64 >> 32];
        int mask = (got[i].events & ~(unsigned)EPOLLOUT ? CURL_CSELECT_IN : 0) |
                   (got[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
        curl_multi_socket_action(l->multi, (curl_socket_t)(uint32_t)got[i].data.u64, mask,
                                 &running);
        collect(l);
    }
    t = now();
    for (size_t i = 0; i < n_lanes; i++) {
        if (lanes[i].due < 0 || lanes[i].due > t) continue;
        lanes[i].due = -1;
        curl_multi_socket_action(lanes[i].multi, CURL_SOCKET_TIMEOUT, 0, &running);
        collect(&lanes[i]);
    }
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    double start = now();
    struct rusage u;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    url = argv[1];
    total = strtoul(argv[2], NULL, 10);
    size_t open = strtoul(argv[3], NULL, 10);
    if (open > total) open = total;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    poller = epoll_create1(0);
    headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Authorization: Bearer k");
    n_lanes = (open + LANE - 1) / LANE;
    lanes = calloc(n_lanes + 1, sizeof *lanes);
    replies = calloc(total + 1, sizeof *replies);
    if (!lanes || !replies) return 2;
    for (size_t i = 0; i < n_lanes; i++) {
        lanes[i] = (lane){.multi = curl_multi_init(), .due = -1};
        curl_multi_setopt(lanes[i].multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(lanes[i].multi, CURLMOPT_SOCKETDATA, &lanes[i]);
        curl_multi_setopt(lanes[i].multi, CURLMOPT_TIMERFUNCTION, on_timer);
        curl_multi_setopt(lanes[i].multi, CURLMOPT_TIMERDATA, &lanes[i]);
    }
    for (size_t i = 0; i < open; i++) start_one(&lanes[i / LANE]);
    while (ended < total) turn();
    getrusage(RUSAGE_SELF, &u);
    printf("%.6f %ld\n", now() - start, u.ru_maxrss);
    return failed ? 1 : 0;
}
