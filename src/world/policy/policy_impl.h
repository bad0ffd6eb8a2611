/* policy_impl.h -- the types and functions that the files of policy share.
 *
 *   `policy_read.c`     YAML -> policies, every problem at once.
 *   `judge.c`           rules and labels -> verdict.
 *   `readers.c`         who may read a value.
 *   `policy_sets.c`     makes and frees sets of policies.
 *   `path_glob.c`       names and paths against patterns.
 *   `useless_rules.c`   rules without effect.
 *   `sinks.c`           an effect -> the sinks that it would reach.
 *   `launchers.c`       commands that start others; shell_words.c: the script of a shell.
 *   `sources.c`         the effects that a value came from.
 *   `questions.c`       messages and questions.
 *   `tool_lock.c`       definitions of tools against lock files.
 *   `approvals.c`       effects that wait for a person.
 *   `policy_world.c`    the world.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_POLICY_POLICY_IMPL_H
#define PDL_POLICY_POLICY_IMPL_H

#include <time.h>

#include "base/limits.h"
#include "base/vec.h"
#include "policy/file_labels.h"
#include "policy/policy.h"
#include "policy/process_labels.h"
#include "policy/readers.h"
#include "value/label.h"

typedef enum { NAMES_NONE, NAMES_WORD, NAMES_PATH } sink_names;
typedef enum { TRAIT_ASKED, TRAIT_REDACTED } sink_traits;
typedef struct sink_row {
    const char *name;
    sink_names names;
    sink_traits traits;
    const char *arguments;
} sink_row;
extern const sink_row pdl_sink_rows[PDL_SINK_COUNT];

/* A pattern {read: PATTERN}, which means the effects of this kind whose subjects fit. */
typedef struct source_pattern {
    pdl_effect_kind kind;
    pdl_str glob;
    /* the label of effects that fit; 0 when the pattern is in `trusted` or `read_only` */
    pdl_label label;
} source_pattern;

typedef struct rule {
    pdl_sink_id sink;
    pdl_str name;     /* the pattern of names; p is NULL when every name fits */
    pdl_str argument; /* the pattern of arguments; p is NULL when every argument fits */
    bool has_allow, allows_bounded, allows_shaped;
    bool says_otherwise, always_asks;
    bool only_reading; /* the rule is only for tools that are listed as read-only */
    bool not_durable;
    pdl_label allow, deny;
    pdl_verdict otherwise;
    uint32_t line;
    /* the rule is only for values that fit this pattern; p is NULL when it is for all values */
    pdl_str matches;
    /* the rule is only for values in this list, counted from 1; 0 when it is for all values */
    uint32_t in_list;
    /* the rule is only for values that these readers may read; n is 0 when it is for all values */
    reader_names to;
} rule;

/* A list of values that rules name. */
typedef struct value_list {
    /* file: path of the file with the values; p is NULL when the policy itself lists the values */
    pdl_str name, file;
    pdl_loc loc;
    pdl_val texts; /* the values, as keys of a dict */
} value_list;

typedef struct policy {
    pdl_str name;
    char digest[65]; /* the digest of the policy's text */
    bool built_in;
    /* the policy applies only to actions of the module with this bit; with 0, to all actions */
    uint64_t module;
    pdl_str folder; /* folder of the module */
    pdl_control control;
    pdl_label known; /* the origins, and the names of labels that this policy defines */
    pdl_verdict otherwise;
    uint32_t otherwise_line, approvals, capacity;
    const pdl_node *sandbox;
    pdl_str lock; /* path of the lock file as it is written; p is NULL without one */
    pdl_loc lock_loc;
    pdl_val locked; /* server -> tool -> hash; absent when there is no lock */
    PDL_VEC(rule) rules;
    PDL_VEC(source_pattern) labels, trusted, read_only;
    PDL_VEC(value_list) lists;
    PDL_VEC(label_readers) readers;
} policy;

struct pdl_policies {
    pdl_arena *arena;
    PDL_VEC(policy *) all;
    pdl_label_names *names; /* shared by all policies of an engine, or private */
    pdl_label_names own;
};

/* The values that a policy has when it does not set others. */
enum { MAX_APPROVALS = 20, BOUNDED_CAPACITY = 1 << 16 };

/* policy_read.c. Finds the label of an origin. */
bool pdl_label_find_origin(pdl_str name, pdl_label *out);
/* useless_rules.c. Returns why no name of this kind can fit the pattern; NULL when one can. */
const char *pdl_policy_fits_nothing(pdl_str kind, pdl_str pattern);
const char *pdl_policy_rule_fits_nothing(const rule *r);

/* path_glob.c. Appends the normalized path from the root. With `real`, follows its links. */
void pdl_policy_full_path(pdl_str folder, pdl_str path, bool real, pdl_buf *out);
bool pdl_policy_path_fits(pdl_str pattern, pdl_str folder, pdl_str path, bool real);
/* sinks.c */
typedef struct ask_list {
    PDL_VEC(pdl_policy_ask) asks;
    /* the arguments of all asks in one array; asks[i].args is set when the array is complete */
    PDL_VEC(pdl_argument) args;
    PDL_VEC(size_t) begins;
    /* values of arguments that were made because the request does not contain them; owned */
    PDL_VEC(pdl_val) made;
    pdl_arena *arena;
} ask_list;
void pdl_asks_of(const pdl_policies *p, const pdl_effect *e, pdl_str folder, ask_list *out);
/* Returns the labels, among those that policies define, that an endorsement would remove. */
pdl_label pdl_endorsed_labels(const pdl_policies *p, const pdl_effect *e);
void pdl_asks_fini(ask_list *a);
/* Calls fn for each command that the command of e starts. */
void pdl_effect_each_start(const pdl_effect *e, pdl_arena *arena, pdl_started_fn fn, void *user);
/* A call of a tool, or a request of the program that has the same effect. All members are
 * borrowed. */
typedef struct tool_use {
    /* only the definitions of the tools are requested; no tool is called */
    bool lists;
    pdl_vref name, arguments; /* absent when no tool is called */
    pdl_vref rest;            /* the params of a request; absent for other uses */
    pdl_label label;          /* labels of the value that chose the tool */
} tool_use;
tool_use pdl_tool_use_of(const pdl_effect *e);
/* Returns the subject of an effect, which is compared with the patterns of sources: the model, the
 * path, the first word of a command, or SERVER/NAME. In the arena. */
pdl_str pdl_subject_of(const pdl_effect *e, pdl_arena *arena);
pdl_label pdl_label_of_subject(const pdl_effect *e);

/* An effect that values came from. sources.c keeps the newest entries. */
typedef struct source_entry {
    pdl_label bit;    /* value of pdl_label_of_source */
    pdl_label origin; /* the origin of the effect's kind, and the labels that policies gave */
    pdl_label label;  /* the labels of `text` */
    char *text;       /* owned: "model ollama/x (mail.pdl:7)" */
} source_entry;
typedef struct source_log {
    source_entry *p; /* the newest entries, as a ring */
    size_t n;        /* number of sources that were added so far */
    pdl_str folder;  /* the folder from which paths are shown; borrowed */
} source_log;
pdl_label pdl_sources_add(source_log *s, const pdl_effect *e, pdl_label origin);
/* Appends the newest sources in `of` with one of the origins. Returns the labels of that text. */
pdl_label pdl_sources_put(const source_log *s, pdl_label of, pdl_label origins, pdl_buf *out);
void pdl_sources_fini(source_log *s);

/* questions.c */
typedef struct policy_front policy_front;
void pdl_policy_refusal(const policy_front *r, const pdl_policy_ask *ask, const pdl_decision *d,
                        const char *why, pdl_loc loc, pdl_err *err);
/* Returns the request of an approval, an owned dict. what: the text of a question about a tool; or
 * NULL. decision: the decision that made the question necessary; or NULL. */
pdl_val pdl_policy_question(const pdl_policies *p, const source_log *s, const char *what,
                            const pdl_policy_ask *ask, const pdl_decision *decision);
/* Returns a decision in the form that events have; owned. outcome: allow, deny, approved or
 * refused. */
pdl_val pdl_policy_decision_value(const pdl_policies *p, const source_log *s,
                                  const pdl_policy_ask *ask, const pdl_decision *d,
                                  const char *outcome);

/* --- the world: policy_world.c, approvals.c, tool_lock.c -------------------------------------- */

/* An effect that is being judged. The sinks that it would reach are found once, and examined one
 * after the other; an approval may be needed in between. */
typedef struct judging {
    pdl_effect *e;         /* owned */
    ask_list asks;         /* owned; it borrows the request of e */
    size_t next;           /* index of the ask that is being examined */
    pdl_decision decision; /* the decision on this ask */
    bool approved;         /* a person has approved one of the asks, and saw the whole action */
} judging;
/* Examines the remaining asks. After that, forwards or refuses the effect, or lets it wait for an
 * approval. Takes what j holds. */
void pdl_policy_continue(policy_front *r, judging *j);
/* Allows the ask that is being examined, reports it with this outcome, and goes to the next ask. */
void pdl_policy_allow_ask(policy_front *r, judging *j, const char *outcome);
/* Answers the effect with an error. why: the reason; NULL when the rule is the reason. Takes what j
 * holds. */
void pdl_policy_refuse(policy_front *r, judging *j, const char *outcome, const char *why);

/* approvals.c. Asks a person about the ask that is being examined. Returns true when a
 * person has already allowed the ask. Otherwise returns false and takes the content of j. */
bool pdl_policy_approve(policy_front *r, judging *j);
/* Ends the wait of the effect with this id. Returns true when the effect waited. */
bool pdl_approvals_cancel(policy_front *r, uint32_t id);
void pdl_approvals_close(policy_front *r);
/* Returns true when the invariants hold: waiting effects have an ask, ids were given out, the
 * number of questions is within its limit, and the effects belong to this world. */
bool pdl_policy_front_ok(const policy_front *r);

/* A forwarded effect whose answer the policies have to see, so its sink is replaced until the
 * answer arrives. There are four sorts. Code and objects: their process may get further labels
 * meanwhile. A program that is read. The use of a tool: its reply gets the labels that the server
 * has received. An effect whose reply names its own readers. */
typedef struct flight {
    struct policy_front *front;
    pdl_effect_sink asker;
    pdl_effect *effect;   /* borrowed: the requested effect; NULL for code and objects */
    uint32_t id, session; /* id of the effect, and session of the process */
    size_t process;       /* index of the process */
    pdl_label named, bit; /* labels whose readers the reply itself names; the source's bit */
    struct flight *link;
} flight;

struct policy_front {
    pdl_world world;
    pdl_policy_options opt;
    source_log sources;
    reader_sets readers;
    struct pending *pending; /* see approvals.c: effects that wait for a person */
    flight *flights;
    struct listing *listings;
    pdl_val accepted; /* server -> tool -> true (locked or approved), or the reason against it */
    pdl_val answers;  /* key of a question -> bool: what the person answered */
    pdl_val servers;  /* name -> true: the tool servers that were examined */
    run_files files;
    uint32_t n_questions, most_questions, next_id;
};

/* Forwards an effect that is allowed: tools are compared with lock files first (tool_lock.c). */
void pdl_policy_forward(policy_front *r, pdl_effect *e);

/* tool_lock.c. Returns true when there is a lock: a person has approved all used definitions. */
bool pdl_policies_have_locks(const pdl_policies *p);
/* Returns false when e can be forwarded: e uses no tool, there are no locks, or the tool was
 * accepted. Otherwise takes e: the definitions are examined first, or e is refused. */
bool pdl_lock_takes(policy_front *r, pdl_effect *e);
/* Ends the wait for a lock of the effect with this id. Returns true when the effect waited. */
bool pdl_lock_cancel(policy_front *r, uint32_t id);
void pdl_lock_close(policy_front *r);

#endif
