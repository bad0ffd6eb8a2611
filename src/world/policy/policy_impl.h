/* policy_impl.h -- inside of the policy room.
 *
 *   policy_read.c   YAML -> policies, every problem at once
 *   judge.c         rules and labels -> verdict
 *   path_glob.c     names and paths against patterns
 *   oddities.c      rules that do nothing
 *   asks.c          an effect -> the sinks that it would reach
 *   sources.c       which effects a value came from
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
#include "value/label.h"

typedef enum { NAMES_NONE, NAMES_WORD, NAMES_PATH } sink_names;
typedef enum { TRAIT_ASKED, TRAIT_MASKED } sink_traits;
typedef struct sink_row {
    const char *name;
    sink_names names;
    sink_traits traits;
    const char *arguments;
} sink_row;
extern const sink_row pdl_sink_rows[PDL_SINK_COUNT];

/* {read: PATTERN}: effects of a kind whose subject fits. */
typedef struct source_pattern {
    pdl_effect_kind kind;
    pdl_str glob;
    pdl_label label; /* the label for what fits; 0: trusted or read_only */
} source_pattern;

typedef struct rule {
    pdl_sink_id sink;
    pdl_str name;     /* pattern; p NULL: every name */
    pdl_str argument; /* p NULL: every argument */
    bool has_allow, allows_bounded, allows_shaped;
    bool says_otherwise, always_asks;
    bool only_reading; /* for tools of read_only alone */
    bool not_durable;
    pdl_label allow, deny;
    pdl_verdict otherwise;
    uint32_t line;
    pdl_str matches;  /* the rule is for values that fit the pattern; p NULL: for all */
    uint32_t in_list; /* the rule is for values in this list, from 1; 0: for all */
} rule;

/* Values that rules name together. */
typedef struct value_list {
    pdl_str name, file; /* file: that has them, as it is written; p NULL: none */
    pdl_loc loc;
    pdl_val texts; /* keys of a dict */
} value_list;

typedef struct policy {
    pdl_str name;
    char digest[65]; /* the digest of its text */
    bool built_in;
    uint64_t module; /* in force only for what it does; 0: for all */
    pdl_str folder;  /* the module's */
    pdl_control control;
    pdl_label known; /* origins, and the names that it gives */
    pdl_verdict otherwise;
    uint32_t otherwise_line, approvals, capacity;
    const pdl_node *sandbox;
    pdl_str lock;     /* path as written; p NULL: none */
    pdl_loc lock_loc;
    pdl_val locked; /* server -> tool -> hash; absent: no lock */
    PDL_VEC(rule) rules;
    PDL_VEC(source_pattern) labels, trusted, read_only;
    PDL_VEC(value_list) lists;
} policy;

struct pdl_policies {
    pdl_arena *arena;
    PDL_VEC(policy *) all;
    pdl_label_names *names; /* an engine's, or own */
    pdl_label_names own;
};

/* Where a policy does not say another number. */
enum { MOST_APPROVALS = 20, BOUNDED_CAPACITY = 1 << 16 };

/* policy_read.c */
bool pdl_label_find_origin(pdl_str name, pdl_label *out);
/* oddities.c: why no name of this kind (a sink, a source) fits the pattern; NULL: one may */
const char *pdl_policy_fits_nothing(pdl_str kind, pdl_str pattern);
const char *pdl_policy_rule_fits_nothing(const rule *r);

/* path_glob.c: the path from the root, without "." and ".." and doubled slashes; with real, links
 * are followed as far as the path exists. */
void pdl_policy_full_path(pdl_str folder, pdl_str path, bool real, pdl_buf *out);
bool pdl_policy_path_fits(pdl_str pattern, pdl_str folder, pdl_str path, bool real);
/* asks.c */
typedef struct ask_list {
    PDL_VEC(pdl_policy_ask) asks;
    PDL_VEC(pdl_argument) args; /* for all asks; asks[i].args are set at the end */
    PDL_VEC(size_t) begins;
    pdl_arena *arena;
} ask_list;
void pdl_asks_of(const pdl_policies *p, const pdl_effect *e, pdl_str folder, ask_list *out);
/* The origins and names that an endorsement is to drop; names that no policy knows are left out. */
pdl_label pdl_endorsed_labels(const pdl_policies *p, const pdl_effect *e);
void pdl_asks_fini(ask_list *a);
/* A use of tools, whether the program calls a tool or sends the request itself. All borrowed. */
typedef struct tool_use {
    bool lists;               /* it asks for the definitions of tools */
    pdl_vref name, arguments; /* the tool's; absent: no call */
    pdl_vref rest;            /* params of a request; absent: none */
    pdl_label label;          /* labels of the value that chose the tool */
} tool_use;
tool_use pdl_tool_use_of(const pdl_effect *e);
/* Model, path, first word, SERVER/NAME: what patterns of sources are compared with. In arena. */
pdl_str pdl_subject_of(const pdl_effect *e, pdl_arena *arena);
pdl_label pdl_label_of_subject(const pdl_effect *e);

/* sources.c: the effects that values came from, the newest ones. */
typedef struct source_entry {
    pdl_label bit;    /* pdl_label_of_source */
    pdl_label origin; /* the origin of its kind, and the names it got */
    pdl_label label;  /* the labels of the text */
    char *text;       /* owned: "model ollama/x (mail.pdl:7)" */
} source_entry;
typedef struct source_log {
    source_entry *p; /* a ring */
    size_t n;        /* how many were added */
} source_log;
pdl_label pdl_sources_add(source_log *s, const pdl_effect *e, pdl_label origin);
/* Appends the sources of a value, nearest first, with "; ". Returns the labels of that text. */
pdl_label pdl_sources_put(const source_log *s, pdl_label of, pdl_label origins, pdl_buf *out);
void pdl_sources_fini(source_log *s);

/* questions.c */
void pdl_policy_refusal(const pdl_policies *p, const source_log *s, const pdl_policy_ask *ask,
                        const pdl_decision *d, const char *why, pdl_loc loc, pdl_err *err);
/* The request of an approval; owned dict. what: the question about the definition of a tool; NULL:
 * about what is done. */
pdl_val pdl_policy_question(const pdl_policies *p, const source_log *s, const char *what,
                            const pdl_policy_ask *ask);
/* A decision as events have it; owned dict. outcome: allow, deny, approved, refused. */
pdl_val pdl_policy_decision_value(const pdl_policies *p, const source_log *s,
                                  const pdl_policy_ask *ask, const pdl_decision *d,
                                  const char *outcome);

/* --- the world: policy_world.c, approvals.c, tool_lock.c -------------------------------------- */

typedef struct policy_room policy_room;

/* An effect while it is judged: the sinks that it would reach are found once, and examined one
 * after the other; approvals may come in between. */
typedef struct judging {
    pdl_effect *e;         /* owned */
    ask_list asks;         /* owned; borrows the request of e */
    size_t next;           /* the ask that is examined */
    pdl_decision decision; /* about that ask */
} judging;
/* Examines what is left; then the effect is passed on, refused, or waits for a person. Takes what j
 * holds. */
void pdl_policy_continue(policy_room *r, judging *j);
/* What is examined may be done: it is reported with this outcome, and the next ask is due. */
void pdl_policy_allow_ask(policy_room *r, judging *j, const char *outcome);
/* It may not: the effect is answered with an error. why: NULL: the rule. Takes what j holds. */
void pdl_policy_refuse(policy_room *r, judging *j, const char *outcome, const char *why);

/* approvals.c. Asks a person about what is examined. True: it is allowed already, and the next ask
 * is due; else what j holds was taken. */
bool pdl_policy_approve(policy_room *r, judging *j);
/* The effect with this id waits for an answer no more. True: it did. */
bool pdl_approvals_cancel(policy_room *r, uint32_t id);
void pdl_approvals_close(policy_room *r);

/* Code that runs: what it learns meanwhile stays in the worker. Or a program that is read, or a
 * tool that is used: what its server learned meanwhile may be in the reply. */
typedef struct flight {
    struct policy_room *room;
    pdl_effect_sink asker;
    pdl_effect *effect;   /* borrowed, of a program */
    uint32_t id, session; /* the effect's id; the session of the process */
    size_t process;       /* index */
    struct flight *link;
} flight;

/* The process of code blocks of one profile. */
typedef struct process_memory {
    pdl_val profiles; /* the profiles of the effects that it answers */
    uint32_t number;  /* among all processes, from 1 */
    uint32_t session; /* grows when code begins a new one */
    pdl_label holds;  /* labels of all that went in since the session began */
} process_memory;

/* The labels that runs under the same policies have left in processes: process_labels.c. */
struct pdl_policy_memory {
    pdl_policy_memories *all;
    pdl_val policies; /* their digests */
    PDL_VEC(process_memory) processes;
    pdl_label in_objects; /* labels of all that went into any of them */
    pdl_val servers;      /* name of a tool server -> null with the labels of what went in */
    uint32_t n_users;
    bool continues; /* its processes have no separate numbers */
};
/* The process that performs e, an empty one where e begins a new session; sets the numbers of e.
 * Returns its index. */
size_t pdl_policy_process_of(pdl_policy_memory *m, pdl_effect *e);
/* label went into a tool server. Returns the labels of all that did. */
pdl_label pdl_policy_server_learns(pdl_policy_memory *m, pdl_vref server, pdl_label label);
/* label went into a session of a process. */
void pdl_policy_process_learns(pdl_policy_memory *m, size_t process, uint32_t session,
                               pdl_label label);

struct policy_room {
    pdl_world world;
    pdl_world *next;
    pdl_policy_options opt;
    source_log sources;
    struct pending *pending; /* effects that wait for a person: approvals.c */
    flight *flights;
    struct listing *listings;
    pdl_val accepted; /* server -> name of a tool -> true (locked, or approved), or why not */
    pdl_val answers;  /* key -> bool: what a person said */
    pdl_val servers;  /* name -> true: tool servers that were examined */
    pdl_val written;  /* full path -> null with the labels of what was written there */
    pdl_label in_files, from_files;
    struct timespec began;
    uint32_t n_questions, most_questions, next_id;
};

/* Continues with an effect that may be done: tool_lock.c for tools, else the next world. */
void pdl_policy_forward(policy_room *r, pdl_effect *e);

/* tool_lock.c. Does one of the policies have a lock? Then a person has approved each definition
 * that the program sees. */
bool pdl_policies_have_locks(const pdl_policies *p);
/* Is e a use of tools, and are there locks? Then they are examined, and what may be done is
 * forwarded. */
bool pdl_lock_takes(policy_room *r, pdl_effect *e);
/* The effect with this id waits for a lock no more. True: it did. */
bool pdl_lock_cancel(policy_room *r, uint32_t id);
void pdl_lock_close(policy_room *r);

#endif
