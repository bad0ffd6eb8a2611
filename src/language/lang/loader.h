/* loader.h -- state of one load, and the readers of each position. Private to lang.
 *
 * Every reader returns the part that it made, and reports problems as diagnostics. After a problem
 * the result may be NULL or partial, and the program never runs. `loc` is the place printed as
 * FILE:LINE (the key of an entry, the first character of an item).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_LOADER_H
#define PDL_LANG_LOADER_H

#include "lang/fields.h"
#include "lang/program.h"

enum {
    KEY_NONE,       /* the key is no field of any block */
    KEY_KIND,       /* `kind` */
    MAX_KEYS = 160, /* the number of different keys of all fields */
    KEY_SLOTS = 512,
    COMMON_FIELD = 200,
};

/* A key of the language. */
typedef struct pdl_key {
    const char *name;
    uint32_t len;
    /* 1 + the index among the selecting keys; 0 when the key does not select a kind */
    uint8_t select;
    bool common; /* the key belongs to a common field */
    bool synonym;
    uint32_t trace; /* the kinds in which only traces have this field */
    /* 0 for no field; 1 + index in pdl_fields; COMMON_FIELD + index in pdl_common_fields. */
    uint8_t field[PDL_BLOCK_COUNT];
} pdl_key;

/* A list or mapping of data whose parts are being read (load_tree.c). */
typedef struct load_branch {
    const pdl_node *node;
    pdl_loc loc;
    uint32_t i;     /* the number of parts that were read */
    pdl_val value;  /* the list or dict of the parts while all are constant; owned */
    pdl_tree *tree; /* used when a part is not constant */
} load_branch;

/* A function with this attribute is not inlined, so its variables are not in the frame of the
 * recursive function that calls it. */
#define PDL_NOINLINE __attribute__((noinline))

typedef struct pdl_loader {
    pdl_program *p;
    pdl_arena *a;
    /* the number of nodes that may still be read; it bounds aliases that multiply */
    size_t budget;
    bool over;      /* the budget is used up, and this was reported */
    unsigned depth; /* the number of blocks around the current block */
    PDL_VEC(load_branch) open;
    pdl_recent recent;
    const pdl_node *args; /* the arguments of the call that is being read, or NULL */
} pdl_loader;

/* --- load_block.c: blocks --------------------------------------------------------------------- */
const pdl_block *pdl_loader_block(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool body);
bool pdl_loader_spend(pdl_loader *l,
                      /* counts a node; returns false when the program has too many */
                      const pdl_node *n);

/* The next functions report problems. mark and n are the wrong part. */
PDL_PRINTF(5, 6)
pdl_diag *pdl_loader_diag(pdl_loader *l, const char *code, pdl_loc loc, pdl_loc mark,
                          const char *fmt, ...);
void pdl_loader_wrong(pdl_loader *l, const pdl_node *n, pdl_loc loc,
                      const char *should); /* "VALUE SHOULD" */
/* Reports a value where several forms are allowed: "VALUE should be of type EXPECTED", "VALUE
 * should not be a list; expected EXPECTED". */
void pdl_loader_wrong_union(pdl_loader *l, const pdl_node *n, pdl_loc loc, const char *expected);
void pdl_loader_err(pdl_loader *l, const char *code, pdl_loc loc, pdl_err *err); /* takes err */
void pdl_loader_unknown(pdl_loader *l, const pdl_node *key, const char *const *known,
                        size_t n_known); /* reports "Field not allowed: KEY" */
/* Adds help to the last diagnostic, for a value n where an object with names is expected. */
void pdl_loader_hint_pairs(pdl_loader *l, const pdl_node *n);
/* Adds a hint to the last diagnostic, when n is a short text where a list is expected. The hint
 * shows the list of the words between commas or blanks. For a text with quotes, brackets or other
 * special characters, the hint only shows how a list is written. */
void pdl_loader_hint_items(pdl_loader *l, const pdl_node *n);
/* Helps with a key that no known key is similar to: it may be a variable in the wrong place, or a
 * line of a text. */
void pdl_loader_advise_stranger(pdl_loader *l, pdl_diag *d, const pdl_node *key, bool is_call);
/* The next functions return a hint about what PDL writes for a word of other tools, or NULL
 * (word_advice.c). For pdl_key_advice, the word is a key of a block of this kind; with `any`, the
 * meaning of the word in other kinds counts, too. For pdl_no_kind_advice, the word is a key of an
 * object that is not a block. For pdl_part_advice, the word is a key of an object that has the keys
 * `known`. For pdl_word_advice, the word is in a field that takes the words `known`. */
const char *pdl_key_advice(int kind, pdl_str word, bool any);
const char *pdl_no_kind_advice(pdl_str word);
const char *pdl_part_advice(pdl_str word, const pdl_str *known, size_t n_known);
const char *pdl_word_advice(pdl_str word, const pdl_str *known, size_t n_known);
/* Returns a hint about how `field` is written, for a value n that has the wrong form. Returns NULL
 * when there is no hint. */
const char *pdl_form_advice(pdl_str field, const pdl_node *n);
/* Helps where the keys of one block are several items of a list (split_block.c). It is called after
 * the items were loaded; n_before is the number of diagnostics before that. */
void pdl_loader_advise_split(pdl_loader *l, const pdl_node *list, size_t n_before);
/* Reports a missing field (missing_field.c). n is the mapping that lacks the field. It is called
 * after the unknown keys of n were reported, because one of them may be the misspelt field. */
void pdl_loader_missing(pdl_loader *l, const pdl_node *n, pdl_loc loc, const char *field);
void pdl_loader_hint(pdl_loader *l, pdl_diag *d, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports "VALUE should be one of: ['a', 'b']", with a suggestion. */
void pdl_loader_one_of(pdl_loader *l, const pdl_node *n, pdl_loc loc, const char *const *words,
                       size_t n_words, bool general);

/* Makes the program the owner of v and returns it. */
pdl_val pdl_loader_own(pdl_loader *l, pdl_val v);

/* --- load_fields.c: one field of a block into its member -------------------------------------- */
void pdl_loader_field(pdl_loader *l, pdl_block *b, const pdl_field *f, const pdl_pair *pair);
bool pdl_loader_text(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_text_field *out);

/* --- load_tree.c: data with expressions ------------------------------------------------------- */
const pdl_tree *pdl_loader_tree(pdl_loader *l, const pdl_node *n, pdl_loc loc);
/* Reads arguments of a call. For an argument of the form {data: X, raw: true}, the value is X as
 * written. */
const pdl_tree *pdl_loader_tree_args(pdl_loader *l, const pdl_node *n, pdl_loc loc);
/* Reads data as written, without expressions. */
const pdl_tree *pdl_loader_tree_raw(pdl_loader *l, const pdl_node *n, pdl_loc loc);
const pdl_tree *pdl_loader_tree_const(pdl_loader *l, const pdl_node *n, pdl_loc loc,
                                      pdl_val v); /* takes v */
/* returns E of {pdl__expr: E, ...}; returns every other n unchanged */
const pdl_node *pdl_loader_recorded(const pdl_node *n);

/* --- load_special.c: fields with a special form ----------------------------------------------- */
void pdl_loader_contribute(pdl_loader *l, const pdl_pair *pair, pdl_contributes *out);
const pdl_budget_field *pdl_loader_budget(pdl_loader *l, const pdl_pair *pair);
const pdl_endorse_field *pdl_loader_endorse(pdl_loader *l, const pdl_pair *pair);
const pdl_node *pdl_loader_policy(pdl_loader *l, const pdl_pair *pair);
const pdl_node *pdl_loader_profile(pdl_loader *l, const pdl_pair *pair);
const pdl_retry *pdl_loader_retry(pdl_loader *l, const pdl_pair *pair);
const pdl_parser_field *pdl_loader_parser(pdl_loader *l, const pdl_pair *pair);
/* Completes a block whose fields were all read (load_csv.c). A parser of CSV makes records when the
 * spec is a list of objects, and gets its columns from the spec. */
void pdl_loader_csv(pdl_loader *l, const pdl_block *b);
void pdl_loader_expectations(pdl_loader *l, const pdl_pair *pair, pdl_expectations *out);
const pdl_join *pdl_loader_join(pdl_loader *l, const pdl_pair *pair);
/* Refuses a loop that only `while` can end, when `while` is a text. */
void pdl_loader_ends(pdl_loader *l, const struct pdl_b_repeat *b);
void pdl_loader_cases(pdl_loader *l, const pdl_pair *pair, pdl_cases *out);
const pdl_fors *pdl_loader_fors(pdl_loader *l, const pdl_pair *pair);
const pdl_agg *pdl_loader_agg(pdl_loader *l, const pdl_pair *pair);
void pdl_loader_params(pdl_loader *l, const pdl_pair *pair, pdl_params *out);
const pdl_type *pdl_loader_type(pdl_loader *l, const pdl_pair *pair);

/* The next functions read values of the fields PDL_FT_X*, which may be expressions (spec syntax
 * 2.2). With null_ok, they return NULL for null. */
const pdl_tree *pdl_loader_xbool(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok);
const pdl_tree *pdl_loader_xint(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok);
const pdl_tree *pdl_loader_xnum(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok);
const pdl_tree *pdl_loader_xstr(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok);
const pdl_tree *pdl_loader_xdict(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok);

/* Returns true when n is a scalar that a boolean or integer field accepts, with coercions (spec
 * syntax 2.2). */
bool pdl_loader_as_bool(const pdl_node *n, bool words, bool *out);
bool pdl_loader_as_int(const pdl_node *n, int64_t *out);

#endif
