/* configuration.h -- reads the description of a search from a file. The file has the form that `pdl
 * optimize` writes, or the form of the reference's pdl-optimize. The key `pdl_path` distinguishes
 * the second form.
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
    /* names of the files with the rows for training, for validation and for the test; the last may
     * be empty */
    pdl_str files[3];
    pdl_str demonstrations; /* the variable that gets the demonstrations */
    pdl_vref demonstration_columns, instance_columns; /* lists of texts */
    pdl_str scorer;                                   /* the program with `score` */
    size_t candidates, first_rows, most_rows, most_test;
    /* number of demonstrations of a candidate; when it is negative, the values of a variable give
     * the number */
    int64_t shots;
    /* set: the number of rows grows so that the last round has the maximum; not set: the number
     * doubles in each round */
    bool to_max;
    bool shuffles;
    size_t rounds;  /* 0 means any number */
    double seconds; /* the seconds after which no round begins; 0 means no limit */
    pdl_str prefix; /* the name of the search's folder begins with this text */
} pdl_optimize_reference;

typedef struct pdl_optimize_config {
    pdl_val yaml; /* owned; all other members borrow from it */
    PDL_VEC(pdl_str) tuned, required;
    pdl_optimize_reference reference;
    uint32_t jobs; /* 0 when the file does not set it */
    bool is_reference;
} pdl_optimize_config;

/* Reads a configuration into c, and sets the options that it contains. All members of c must be
 * zero before the call, and c must live as long as the options. Error: usage. */
PDL_MUST bool pdl_optimize_read_config(pdl_str file, pdl_optimize_config *c,
                                       pdl_optimize_options *o, pdl_err *err);
void pdl_optimize_config_fini(pdl_optimize_config *c);
/* Appends the configuration of a search as YAML, in the form that pdl optimize reads. */
void pdl_optimize_put_config(const pdl_optimize_options *o, pdl_buf *out);

#endif
