/* label.h -- labels: the origins of a value, as a bit set. Labels are joined by OR.
 *
 * The text of a model, a tool or a page may try to steer the program or its user. A text does not
 * show who wrote it, so each value carries its origins, and every operation joins the origins of
 * its operands. Checks only at the borders of the program would not suffice, because text that was
 * read, cut and pasted into a command is still untrusted. What must stay true: an operation may add
 * origins, and only the program's author can drop them.
 *
 * A label has 48 bits. They are the origins below, up to 16 names that policies give
 * (pdl_label_named), three bits for values that are not bounded, one for values from another run,
 * and 16 for the run's sources. The last 16 say from which sources a value may come, for the
 * messages of a policy and for the readers of a value. They are exact for the first 16 sources, and
 * a superset after that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_LABEL_H
#define PDL_VALUE_LABEL_H

#include "base/buf.h"
#include "value/val.h"

/* X(id, doc). The program's own text has the empty set: it is trusted. */
#define PDL_LABELS(X)                                                                              \
    X(user, "typed by the user, or standard input")                                                \
    X(data, "given on the command line or in a data file")                                         \
    X(file, "read from a file")                                                                    \
    X(model, "written by a model")                                                                 \
    X(tool, "result of a tool or MCP server")                                                      \
    X(command, "output of a command")                                                              \
    X(code, "result of a code block")                                                              \
    X(net, "fetched from the network")                                                             \
    X(clock, "time or random number")

enum {
#define X(id, doc) PDL_LABEL_BIT_##id,
    PDL_LABELS(X)
#undef X
        PDL_LABEL_COUNT
};
enum {
#define X(id, doc) PDL_LABEL_##id = 1 << PDL_LABEL_BIT_##id,
    PDL_LABELS(X)
#undef X
};

/* The origins of text that others than the author or the user of the program may have written. */
enum {
    PDL_LABELS_UNTRUSTED = PDL_LABEL_model | PDL_LABEL_tool | PDL_LABEL_net | PDL_LABEL_file |
                           PDL_LABEL_command | PDL_LABEL_code
};

enum {
    PDL_LABEL_NAMED_BIT = PDL_LABEL_COUNT, /* the bit of the first name that a policy gives */
    PDL_LABEL_MAX_NAMED = 16,
    PDL_LABEL_ORIGIN_BITS = PDL_LABEL_NAMED_BIT + PDL_LABEL_MAX_NAMED,
    PDL_LABEL_SOURCE_BIT = 32,
    PDL_LABEL_SOURCES = 16
};

/* How much a value with an origin can say. A text of a model can be any instruction, while a
 * checked boolean is one of two values. A value without UNBOUNDED and UNSHAPED is bounded: a check
 * has shown that it is one of a few values (a boolean, an enum, an integer between two bounds, an
 * object of bounded values). UNBOUNDED without UNSHAPED means that a check has shown a list of
 * bounded values, or a text that matches a pattern. SEVERAL marks a container into which the
 * program has put more than one value with an origin: a hundred bounded booleans together can carry
 * a text. A value without an origin has none of these bits. */
enum {
    PDL_LABEL_UNBOUNDED = 1 << PDL_LABEL_ORIGIN_BITS,
    PDL_LABEL_UNSHAPED = 1 << (PDL_LABEL_ORIGIN_BITS + 1),
    PDL_LABEL_SEVERAL = 1 << (PDL_LABEL_ORIGIN_BITS + 2),
    /* the value has a label that a policy gave to a source of another run; such a source has no bit
     */
    PDL_LABEL_ELSEWHERE = 1 << (PDL_LABEL_ORIGIN_BITS + 3),
    PDL_LABEL_FREE = PDL_LABEL_UNBOUNDED | PDL_LABEL_UNSHAPED | PDL_LABEL_SEVERAL,
    PDL_LABEL_ORIGINS = (1 << PDL_LABEL_ORIGIN_BITS) - 1
};
static_assert(PDL_LABEL_ORIGIN_BITS + 4 <= PDL_LABEL_SOURCE_BIT, "the low word holds them");

/* Returns the name of an origin of the table, by the number of its bit. */
const char *pdl_label_name(size_t bit);

/* Returns the origins alone. */
static inline pdl_label pdl_label_origins(pdl_label l) { return l & (pdl_label)PDL_LABEL_ORIGINS; }
/* Returns the label of a text that is made of parts with the label l. Such a text is not bounded,
 * even when each part is. */
static inline pdl_label pdl_label_built(pdl_label l) {
    return pdl_label_origins(l) ? l | PDL_LABEL_FREE : l;
}
/* Returns the label of the result that an operation makes of two values. When both values have an
 * origin, the result is not bounded, because two bounded operands together may have too many
 * results. */
static inline pdl_label pdl_label_combined(pdl_label a, pdl_label b) {
    bool both = pdl_label_origins(a) && pdl_label_origins(b);
    return both ? a | b | PDL_LABEL_FREE : a | b;
}
/* Returns the label of a container after a part was put into it. a is the label of the container
 * before that, and b is the label of the part. */
static inline pdl_label pdl_label_gathered(pdl_label a, pdl_label b) {
    bool both = pdl_label_origins(a) && pdl_label_origins(b);
    return both ? a | b | (pdl_label)PDL_LABEL_SEVERAL : a | b;
}
/* Returns the label of a truth value that was computed from a value with the label l. A truth value
 * is bounded, whatever it was computed from. */
static inline pdl_label pdl_label_of_truth(pdl_label l) { return l & ~(pdl_label)PDL_LABEL_FREE; }

/* Returns the label of a value that leaves its run. The bits of sources are removed, because they
 * mean other sources in another run. */
static inline pdl_label pdl_label_elsewhere(pdl_label l) {
    pdl_label named = pdl_label_origins(l) >> PDL_LABEL_NAMED_BIT;
    pdl_label kept = l & (((pdl_label)1 << PDL_LABEL_SOURCE_BIT) - 1);
    return named ? kept | (pdl_label)PDL_LABEL_ELSEWHERE : kept;
}

/* Removes these origins from v and all its parts, for `endorse`. A value that keeps no origin has
 * no label at all. Takes v. */
pdl_val pdl_without_labels(pdl_val v, pdl_label origins);

/* Labels a value of a host program or of an earlier run: a part without an origin gets this origin.
 * Any other part keeps its origins and loses its sources, which belong to another run. Takes v. */
pdl_val pdl_with_origin(pdl_val v, pdl_label origin);

/* When values leave the run, a redaction replaces the parts that have one of `labels`. `name`
 * appends the names of labels. */
typedef struct pdl_redaction {
    pdl_label labels; /* 0 when the whole value is shown */
    const void *user; /* borrowed */
    void (*name)(const void *user, pdl_label labels, pdl_buf *out);
} pdl_redaction;
/* Returns true when m covers values with the label l. Here and in pdl_redact_labelled m may be
 * NULL, which covers nothing. */
static inline bool pdl_redaction_covers(const pdl_redaction *m, pdl_label l) {
    return m && (m->labels & l) != 0;
}
/* Appends the names of the labels in l that m covers, in brackets: "[secret]". */
void pdl_redaction_put(const pdl_redaction *m, pdl_label l, pdl_buf *out);
/* Replaces every part of v that m covers by the text of pdl_redaction_put. Takes v. */
pdl_val pdl_redact_labelled(const pdl_redaction *m, pdl_val v);
/* Replaces every text in v by the text of pdl_redaction_put. Numbers become 0, booleans become
 * false, and lists become empty. Used for a covered value whose keys are still needed, such as a
 * reply in a recording. Takes v. */
pdl_val pdl_redact_leaves(const pdl_redaction *m, pdl_label l, pdl_val v);

/* Returns the label of the i-th source of a run. */
static inline pdl_label pdl_label_of_source(uint32_t i) {
    return (pdl_label)1 << (PDL_LABEL_SOURCE_BIT + i % PDL_LABEL_SOURCES);
}
/* Returns the i-th label that policies name. */
static inline pdl_label pdl_label_named(uint32_t i) {
    assert(i < PDL_LABEL_MAX_NAMED);
    return (pdl_label)1 << (PDL_LABEL_NAMED_BIT + i);
}

#endif
