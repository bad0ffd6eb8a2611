/* program.h -- pdl_program: one loaded file of PDL text: arena, source, main block, diagnostics.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_PROGRAM_H
#define PDL_LANG_PROGRAM_H

#include "base/idmap.h"
#include "base/vec.h"
#include "lang/block.h"

typedef enum { PDL_DIAG_ERROR, PDL_DIAG_WARNING } pdl_severity;

/* Another place that explains a problem: "included here", "defined here". */
typedef struct pdl_related {
    pdl_loc loc;
    pdl_str text; /* a static text, or a text in the arena */
} pdl_related;

/* A text edit: the bytes of `at` become `text`. */
typedef struct pdl_edit {
    pdl_loc at;
    pdl_str text; /* a static text, or a text in the arena */
} pdl_edit;

/* One problem found without running. */
typedef struct pdl_diag {
    pdl_severity severity;
    const char *code; /* static name of the rule: "field-unknown", "name-undefined", ... */
    /* the loader found the problem, which prevents a run; src/language/check finds
     * other problems */
    bool at_load;
    /* PDL accepts the program and the reference refuses it; only --strict reports the problem */
    bool reference_only;
    bool certain;     /* an error on every path through the program */
    bool fix_is_sure; /* no other edit is right: `pdl check --fix` makes these edits */
    /* The reference reports this problem only as "does not respect the schema". pdl_program_errors
     * prints a line with these words after the list of problems. */
    bool general;
    /* The problem follows from a misspelt key, which is reported as well. A run prints both, as the
     * reference does; `pdl check` and editors print only the cause. */
    bool follows;
    pdl_loc loc;       /* FILE:LINE */
    pdl_loc mark;      /* exact span */
    const char *lacks; /* rule field-missing: the name of the field (static); otherwise NULL */
    pdl_str text;      /* the text without its place, in the arena */
    pdl_str hint;      /* "did you mean 'then'?", or empty */
    uint32_t n_related, n_edits;
    const pdl_related *related; /* in the arena */
    /* the edits that solve the problem, in the order of the text; in the arena */
    const pdl_edit *edits;
} pdl_diag;

typedef PDL_VEC(pdl_diag) pdl_diags;

/* A block that includes or imports another file, when a check has read that file. A block that the
 * check walked n times is listed n times. */
typedef struct pdl_module_use {
    const pdl_block *block;
    struct pdl_program *program; /* owned by the program that was checked */
} pdl_module_use;

typedef struct pdl_program {
    pdl_arena *arena;         /* owns all members below */
    const pdl_source *source; /* NULL until the program is loaded */
    const pdl_node *root;
    const pdl_block *main;      /* NULL when the program has load errors */
    PDL_VEC(pdl_val) constants; /* the values of trees and patterns; owned */
    pdl_diags diags;            /* sorted by place at the end of a load or check */
    /* Files that a check read and that diagnostics point into; owned. */
    PDL_VEC(struct pdl_program *) others;
    PDL_VEC(pdl_module_use) uses; /* the uses in the blocks of this file; a check sets them */
    bool uses_unread;             /* a used file could not be read */
    /* the checks that found no error, set by src/api; 0 when no check succeeded */
    uint64_t checked;
    bool has_profiles; /* a block has the field `sandbox` */
    bool yaml_failed;  /* the only diagnostic is a YAML or encoding error */
    uint32_t refs;     /* counts runs, closures and codes that share the program */
} pdl_program;

/* The filters and tests that expressions of programs and templates know. */
extern const pdl_xnames pdl_known_xnames;

pdl_program *pdl_program_new(void);
/* Records that the text was written from a tree of values. */
void pdl_program_set_from_tree(pdl_program *p, bool from_tree);
pdl_program *pdl_program_keep(pdl_program *p);
void pdl_program_drop(pdl_program *p); /* p may be NULL */
/* Adds p to a set of programs unless the set has it, and keeps p alive. The set is for code that
 * refers to the blocks of programs that ran. p may be NULL. */
void pdl_programs_add(pdl_idmap *set, pdl_program *p);
void pdl_programs_fini(pdl_idmap *set);

/* A diagnostic that has no text yet. */
#define PDL_DIAG_OF(s, c, l, m) ((pdl_diag){.severity = (s), .code = (c), .loc = (l), .mark = (m)})
/* Adds a diagnostic, whose text is formatted into the arena. Returns the diagnostic, to which the
 * caller may add a hint. */
PDL_PRINTF(3, 4)
pdl_diag *pdl_program_diag(pdl_program *p, pdl_diag without_text, const char *fmt, ...);
PDL_PRINTF(3, 0)
pdl_diag *pdl_program_vdiag(pdl_program *p, pdl_diag without_text, const char *fmt, va_list ap);
/* Adds a diagnostic of another program, which must live as long as p. Returns false when there are
 * too many. */
bool pdl_program_copy_diag(pdl_program *p, const pdl_diag *d);
/* Adds a place that explains d, or an edit to its fix. */
void pdl_program_relate(pdl_program *p, pdl_diag *d, pdl_loc loc, const char *text);
void pdl_program_edit(pdl_program *p, pdl_diag *d, pdl_loc at, pdl_str text);
/* Formats text in the arena of p. */
PDL_PRINTF(2, 0) pdl_str pdl_program_vtext(pdl_program *p, const char *fmt, va_list ap);
void pdl_program_sort_diags(pdl_program *p);

/* Returns the value of a block's field `sandbox`, where `true` means the profile that changes
 * nothing. Returns absent when the block has no such field. Owned. */
pdl_val pdl_block_sandbox(const pdl_block *b);

/* Appends the load errors for users, one line each: "FILE:LINE - TEXT" or "line LINE - TEXT". */
void pdl_program_errors(const pdl_program *p, pdl_buf *out, bool rich);
size_t pdl_program_error_count(const pdl_program *p); /* load errors */
/* Fills err (usage) with the first load error, for callers that report one error. Always returns
 * false. */
bool pdl_program_refuse(const pdl_program *p, pdl_err *err);

/* Appends one diagnostic in the form of pdl_program_errors. Its text is between `before` ("warning:
 * ") and `after`. */
void pdl_diag_print(const pdl_diag *d, const char *before, const char *after, bool rich,
                    pdl_buf *out);

#endif
