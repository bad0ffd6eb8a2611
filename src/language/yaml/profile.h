/* profile.h -- the keys of profiles of the sandbox (profile.def), and the problems of a profile.
 *
 * A profile is in blocks, policies, files and configurations, and is used in a room that knows none
 * of them. Its form is checked here, where places are known and before anything runs. The sandbox
 * decides whether the machine, or a profile around it, allows what it requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_PROFILE_H
#define PDL_YAML_PROFILE_H

#include "yaml/node.h"

typedef enum { PDL_PROFILE_LIST, PDL_PROFILE_COUNT, PDL_PROFILE_SECONDS } pdl_profile_form;

typedef struct pdl_profile_key {
    const char *key;
    pdl_profile_form form;
    int64_t most; /* largest value of a COUNT */
    const char *doc;
} pdl_profile_key;

enum {
#define P(key, form, most, doc) PDL_PROFILE_##key,
#include "yaml/profile.def"
    PDL_PROFILE_KEYS
};

enum {
    PDL_PROFILE_MAX_ITEMS = 1000,
    PDL_PROFILE_MAX_SECONDS = 1000000000,
    PDL_PROFILE_SHOWN = 200 /* maximum number of bytes of a wrong text that a message shows */
};

/* Returns all keys in the order of the table: the lists, the counts, seconds. */
const pdl_profile_key *pdl_profile_keys(size_t *n);

/* Returns the key that a word may mean; empty when no key is near. */
pdl_str pdl_profile_nearest(pdl_str word);

/* Returns true when an environment variable of this name holds a key. Such variables are not passed
 * to confined code. */
bool pdl_profile_names_key(pdl_str name);

/* Calls `wrong` for each problem of a profile. The value `true` is a profile without problems. key
 * is the entry's key; key is NULL when the value as a whole is not a profile. value is the wrong
 * value; value is NULL when profiles do not have this key. should is a text such as "should be a
 * list". */
typedef void pdl_profile_wrong_fn(void *user, const pdl_node *key, const pdl_node *value,
                                  const char *should);
void pdl_profile_check(const pdl_node *n, pdl_profile_wrong_fn *wrong, void *user);

#endif
