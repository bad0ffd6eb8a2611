/* configuration.h -- searches that a file describes: in the form that `pdl optimize` writes itself,
 * or in that of the reference's pdl-optimize, which is the one with `pdl_path`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_CONFIGURATION_H
#define PDL_OPTIMIZE_CONFIGURATION_H

#include "base/vec.h"
#include "optimize/optimize.h"

/* A search as the reference describes it (spec execution 12). Texts are borrowed from the
 * configuration. */
typedef struct pdl_optimize_reference {
    pdl_str files[3];       /* rows for training, validation and the test; the last may be empty */
    pdl_str demonstrations; /* the variable that gets them */
    pdl_vref demonstration_columns, instance_columns; /* lists of texts */
    pdl_str scorer; /* the program with `score` */
    size_t candidates, first_rows, most_rows, most_test;
    int64_t shots;    /* demonstrations of a candidate; negative: a variable says how many */
    bool to_max;      /* the rows grow to the maximum, else they double */
    bool shuffles;
    size_t rounds;    /* 0: any number */
    double seconds;   /* after which no round begins; 0: any number */
    pdl_str prefix;   /* the beginning of the name of its folder */
} pdl_optimize_reference;

typedef struct pdl_optimize_config {
    pdl_val yaml; /* owned; everything else borrows from it */
    PDL_VEC(pdl_str) tuned, required;
    pdl_optimize_reference reference;
    uint32_t jobs; /* 0: not said */
    bool is_reference;
} pdl_optimize_config;

/* Reads a configuration into c, and fills the options that it says. c is zero before; it lives as
 * long as the options. Error: usage. */
PDL_MUST bool pdl_optimize_read_config(pdl_str file, pdl_optimize_config *c,
                                       pdl_optimize_options *o, pdl_err *err);
void pdl_optimize_config_fini(pdl_optimize_config *c);
/* Appends the configuration of a search as YAML, in the form of pdl optimize. */
void pdl_optimize_put_config(const pdl_optimize_options *o, pdl_buf *out);

#endif
