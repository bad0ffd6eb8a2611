/* policy_impl.h -- the types and functions that the files of policy share.
 *
 *   policy_read.c   YAML -> policies, every problem at once
 *   judge.c         rules and labels -> verdict
 *   readers.c       who may read a value
 *   policy_sets.c   policies from their making to their end
 *   path_glob.c     names and paths against patterns
 *   oddities.c      rules without effect
 *   asks.c          an effect -> the sinks that it would reach
 *   launchers.c     commands that start others; shell_words.c: the script of a shell
 *   sources.c       the effects that a value came from
 *   questions.c     messages and questions
 *   tool_lock.c     definitions of tools against lock files
 *   approvals.c     effects that wait for a person
 *   policy_world.c  the world
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_POLICY_POLICY_IMPL_H
#define PDL_POLICY_POLICY_IMPL_H

#include <time.h>

#include "base/limits.h"
#include "base/vec.h"
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

/* {read: PATTERN}: the effects of a kind whose subject fits. */
typedef struct source_pattern {
    pdl_effect_kind kind;
    pdl_str glob;
    pdl_label label; /* the label for effects that fit; 0: trusted or read_only */
} source_pattern;

typedef struct rule {
    pdl_sink_id sink;
    pdl_str name;     /* pattern; p NULL: every name */
    pdl_str argument; /* p NULL: every argument */
    bool has_allow, allows_bounded, allows_shaped;
    bool says_otherwise, always_asks;
    bool only_reading; /* only for tools of read_only */
    bool not_durable;
    pdl_label allow, deny;
    pdl_verdict otherwise;
    uint32_t line;
    pdl_str matches;  /* the rule is for values that fit this pattern; p NULL: for all */
    uint32_t in_list; /* the rule is for values in this list, from 1; 0: for all */
    reader_names to;  /* the rule is for values that these may read; n 0: for all */
} rule;

/* A list of values that rules name. */
typedef struct value_list {
    /* file: path with the values, as written; p NULL when they are in the policy */
    pdl_str name, file;
    pdl_loc loc;
    pdl_val texts; /* keys of a dict */
} value_list;

typedef struct policy {
    pdl_str name;
    char digest[65]; /* the digest of the policy's text */
    bool built_in;
    uint64_t module; /* module for whose actions alone it is in force; 0: for all */
    pdl_str folder;  /* folder of the module */
    pdl_control control;
    pdl_label known; /* origins, and the names that the policy defines */
    pdl_verdict otherwise;
    uint32_t otherwise_line, approvals, capacity;
    const pdl_node *sandbox;
    pdl_str lock; /* path of the lock file as written; p NULL when there is none */
    pdl_loc lock_loc;
    pdl_val locked; /* server -> tool -> hash; absent without a lock */
    PDL_VEC(rule) rules;
    PDL_VEC(source_pattern) labels, trusted, read_only;
    PDL_VEC(value_list) lists;
    PDL_VEC(label_readers) readers;
} policy;

struct pdl_policies {
    pdl_arena *arena;
    PDL_VEC(policy *) all;
    pdl_label_names *names; /* shared by an engine, or private */
    pdl_label_names own;
};

/* The values where no policy says another number. */
enum { MAX_APPROVALS = 20, BOUNDED_CAPACITY = 1 << 16 };

/* policy_read.c. Finds the label of an origin. */
bool pdl_label_find_origin(pdl_str name, pdl_label *out);
/* oddities.c. Returns why no name of this kind (a sink, a source) fits; NULL when one may. */
const char *pdl_policy_fits_nothing(pdl_str kind, pdl_str pattern);
const char *pdl_policy_rule_fits_nothing(const rule *r);

/* path_glob.c. Appends the normalized path from the root; with real, its links are followed. */
void pdl_policy_full_path(pdl_str folder, pdl_str path, bool real, pdl_buf *out);
bool pdl_policy_path_fits(pdl_str pattern, pdl_str folder, pdl_str path, bool real);
/* asks.c */
typedef struct ask_list {
    PDL_VEC(pdl_policy_ask) asks;
    PDL_VEC(pdl_argument) args; /* one array for all asks; asks[i].args are set at the end */
    PDL_VEC(size_t) begins;
    PDL_VEC(pdl_val) made; /* values of arguments that are in no request; owned */
    pdl_arena *arena;
} ask_list;
void pdl_asks_of(const pdl_policies *p, const pdl_effect *e, pdl_str folder, ask_list *out);
/* Returns the labels that an endorsement would remove, without names that no policy defines. */
pdl_label pdl_endorsed_labels(const pdl_policies *p, const pdl_effect *e);
void pdl_asks_fini(ask_list *a);
/* Calls fn for each command that the command of e starts. */
void pdl_effect_each_start(const pdl_effect *e, pdl_arena *arena, pdl_started_fn fn, void *user);
/* A call of a tool, or a request of the program that means one. All members are borrowed. */
typedef struct tool_use {
    bool lists;               /* it requests the definitions of tools */
    pdl_vref name, arguments; /* absent when no tool is called */
    pdl_vref rest;            /* params of a request; absent when there are none */
    pdl_label label;          /* labels of the value that chose the tool */
} tool_use;
tool_use pdl_tool_use_of(const pdl_effect *e);
/* Returns the text with which patterns of sources are compared: model, path, first word,
 * SERVER/NAME. In arena. */
pdl_str pdl_subject_of(const pdl_effect *e, pdl_arena *arena);
pdl_label pdl_label_of_subject(const pdl_effect *e);

/* The effect that a value came from; sources.c keeps the newest ones. */
typedef struct source_entry {
    pdl_label bit;    /* value of pdl_label_of_source */
    pdl_label origin; /* the origin of its kind, and the names that it got */
    pdl_label label;  /* the labels of text */
    char *text;       /* owned: "model ollama/x (mail.pdl:7)" */
} source_entry;
typedef struct source_log {
    source_entry *p; /* a ring */
    size_t n;        /* number of sources that were added */
    pdl_str folder;  /* Paths are shown as seen from here; borrowed. */
} source_log;
pdl_label pdl_sources_add(source_log *s, const pdl_effect *e, pdl_label origin);
/* Appends the sources of a value, nearest first, with "; ". Returns the labels of that text. */
pdl_label pdl_sources_put(const source_log *s, pdl_label of, pdl_label origins, pdl_buf *out);
void pdl_sources_fini(source_log *s);

/* questions.c */
void pdl_policy_refusal(const pdl_policies *p, const source_log *s, const pdl_policy_ask *ask,
                        const pdl_decision *d, const char *why, pdl_loc loc, pdl_err *err);
/* Returns the request of an approval, an owned dict. what: a question about a tool, or NULL.
 * decision: that to ask, or NULL. */
pdl_val pdl_policy_question(const pdl_policies *p, const source_log *s, const char *what,
                            const pdl_policy_ask *ask, const pdl_decision *decision);
/* Returns a decision in the form of events; owned dict. outcome: allow, deny, approved, refused. */
pdl_val pdl_policy_decision_value(const pdl_policies *p, const source_log *s,
                                  const pdl_policy_ask *ask, const pdl_decision *d,
                                  const char *outcome);

/* --- the world: policy_world.c, approvals.c, tool_lock.c -------------------------------------- */

typedef struct policy_front policy_front;

/* An effect while it is judged: the sinks that it would reach are found once, and examined one
 * after the other; approvals may come in between. */
typedef struct judging {
    pdl_effect *e;         /* owned */
    ask_list asks;         /* owned; borrows the request of e */
    size_t next;           /* the ask that is examined */
    pdl_decision decision; /* the decision on that ask */
    bool approved;         /* a person has approved one of the asks, and saw the whole action */
} judging;
/* Examines the remaining asks, then passes on, refuses or parks the effect. Takes what j holds. */
void pdl_policy_continue(policy_front *r, judging *j);
/* Allows the examined ask: it is reported with this outcome, and the next ask is examined. */
void pdl_policy_allow_ask(policy_front *r, judging *j, const char *outcome);
/* Answers the effect with an error. why: the reason; NULL: the rule. Takes what j holds. */
void pdl_policy_refuse(policy_front *r, judging *j, const char *outcome, const char *why);

/* approvals.c. Asks a person about the examined ask. Returns true when it is allowed already;
 * otherwise it has taken what j holds. */
bool pdl_policy_approve(policy_front *r, judging *j);
/* Ends the wait of the effect with this id. Returns true when it waited. */
bool pdl_approvals_cancel(policy_front *r, uint32_t id);
void pdl_approvals_close(policy_front *r);

/* An effect whose sink is replaced until it is answered. It is code, whose process keeps the labels
 * that it got meanwhile; a program that is read; or the use of a tool, whose server may have got
 * labels that the reply then has, too. */
typedef struct flight {
    struct policy_front *front;
    pdl_effect_sink asker;
    pdl_effect *effect;   /* the effect of the program; borrowed */
    uint32_t id, session; /* id of the effect; session of the process */
    size_t process;       /* index of the process */
    pdl_label named, bit; /* labels of the reply whose readers it says; the bit of the source */
    struct flight *link;
} flight;

struct policy_front {
    pdl_world world;
    pdl_policy_options opt;
    source_log sources;
    reader_sets readers;
    struct pending *pending; /* approvals.c: effects that wait for a person */
    flight *flights;
    struct listing *listings;
    pdl_val accepted; /* server -> tool -> true (locked, or approved), or the reason why not */
    pdl_val answers;  /* key -> bool: the answer of the person */
    pdl_val servers;  /* name -> true: tool servers that were examined */
    pdl_val written;  /* full path -> null with the labels of what was written there */
    pdl_label in_files, from_files;
    int64_t began_ns;
    uint32_t n_questions, most_questions, next_id;
};

/* Continues with an effect that is allowed: tool_lock.c for tools, else the next world. */
void pdl_policy_forward(policy_front *r, pdl_effect *e);

/* tool_lock.c. Returns true when a policy has a lock: a person has approved all definitions. */
bool pdl_policies_have_locks(const pdl_policies *p);
/* Returns true when e is a use of tools and there are locks; the definitions are then examined
 * before the effect is passed on. */
bool pdl_lock_takes(policy_front *r, pdl_effect *e);
/* Ends the wait for a lock of the effect with this id. Returns true when it waited. */
bool pdl_lock_cancel(policy_front *r, uint32_t id);
void pdl_lock_close(policy_front *r);

#endif
