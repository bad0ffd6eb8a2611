/* net_items.c -- the items of `net:` in a profile: hosts and domains, with or without a port. The
 * proxy calls these functions for connections of confined code. The engine calls them for requests
 * that it makes for such code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

/* Returns the port, 0 without one, or -1 for text that is not a port. */
static int port_of(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    return !*text ? 0 : *end || text[0] < '0' || text[0] > '9' || n < 1 || n > 65535 ? -1 : (int)n;
}

void pdl_net_split(const char *item, char *host, int *port) {
    const char *colon = strrchr(item, ':'), *bracket = strchr(item, ']');
    bool has_port = colon && (bracket ? colon > bracket : strchr(item, ':') == colon);
    size_t n = has_port ? (size_t)(colon - item) : strlen(item);
    if (item[0] == '[' && bracket) {
        item++;
        n = (size_t)(bracket - item);
    }
    if (n >= PDL_NET_MAX_HOST) n = PDL_NET_MAX_HOST - 1;
    memcpy(host, item, n);
    host[n] = 0;
    /* a name with a dot at its end means the same host */
    if (n > 1 && host[n - 1] == '.') host[n - 1] = 0;
    *port = has_port ? port_of(colon + 1) : 0;
}

static bool host_fits(const char *pattern, const char *host) {
    if (pattern[0] == '*' && pattern[1] == '.') {
        size_t n = strlen(pattern) - 1, k = strlen(host);
        return k > n && strcasecmp(host + k - n, pattern + 1) == 0;
    }
    return strcasecmp(pattern, host) == 0;
}

bool pdl_net_grants(const path_list *net, const char *host, int port) {
    for (size_t i = 0; i < net->n; i++) {
        char pattern[PDL_NET_MAX_HOST];
        int only;
        pdl_net_split(net->p[i], pattern, &only);
        if (host_fits(pattern, host) && (!only || only == port)) return true;
    }
    return false;
}

bool pdl_net_is_item(const char *item) {
    char host[PDL_NET_MAX_HOST];
    int port;
    pdl_net_split(item, host, &port);
    const char *name = strncmp(host, "*.", 2) == 0 ? host + 2 : host;
    /* a name that ends in a digit is an address, which has no domain */
    if (!*name || (name != host && strchr("0123456789", name[strlen(name) - 1]))) return false;
    return port >= 0 && strlen(item) < PDL_NET_MAX_HOST && !strpbrk(name, "/*@?#\\ []") &&
           (item[0] == '[' || !strchr(name, ':') || inet_pton(AF_INET6, name, (char[16]){0}) == 1);
}
