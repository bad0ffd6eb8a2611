/* readers.h -- decides who may read a value, by the names at its sources, the names at its sink,
 * and the sets of a run (readers.c). Private to policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_POLICY_READERS_H
#define PDL_POLICY_READERS_H

#include "base/vec.h"
#include "policy/policy.h"

/* The name of a reader: "ann", or the path in ${ PATH }, which leads into an item of an answer or
 * into the arguments of a sink. */
typedef struct reader_name {
    pdl_str text;
    bool is_path;
} reader_name;
typedef struct reader_names {
    const reader_name *p; /* stored in the arena of the policies */
    uint32_t n;
} reader_names;

/* The readers of a label in one policy. */
typedef struct label_readers {
    pdl_label label;
    reader_names names;
} label_readers;

/* The readers that all answers with this bit of a source have in common. */
typedef struct reader_set {
    const label_readers *of; /* borrowed */
    pdl_label bit;
    pdl_val names; /* owned: keys of a dict */
} reader_set;
typedef struct pdl_reader_sets {
    PDL_VEC(reader_set) all;
} reader_sets;

/* A receiver of a value that is not a reader of the value. */
typedef struct not_a_reader {
    pdl_str name;      /* name of the receiver; p is NULL when it is not known */
    pdl_label of_name; /* the labels of the value `name` */
    pdl_label of;      /* the label of the value whose readers do not include this receiver */
} not_a_reader;

struct policy;

/* Reads `readers:` of a source (of_source) or of a rule. Returns a message about a mistake, and
 * sets *at to its node. Returns NULL when there is no mistake. */
const char *pdl_readers_read(pdl_arena *arena, const pdl_node *n, bool of_source, reader_names *out,
                             const pdl_node **at);
/* Returns the labels whose readers are fields of answers. */
pdl_label pdl_readers_of_answers(const pdl_policies *p);
/* Notes the readers of an answer. named: the labels of the answer whose readers the answer itself
 * names, and the bit of its source. answer: absent when the effect failed. */
void pdl_readers_note(reader_sets *s, const pdl_policies *p, pdl_label named, pdl_label bit,
                      pdl_effect_kind kind, pdl_vref answer);
void pdl_readers_fini(reader_sets *s);
/* Returns true when every receiver that `to` names is a reader of each label of the value;
 * otherwise returns false and sets *why. A label without readers allows every receiver. */
bool pdl_readers_fit(const struct policy *p, const reader_names *to, const pdl_policy_ask *ask,
                     pdl_label label, not_a_reader *why);

#endif
