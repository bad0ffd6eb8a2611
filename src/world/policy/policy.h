/* policy.h -- where values may go, by their labels: rules, verdicts, and the world that asks them
 * (spec trust, sections 2 and 3).
 *
 * A policy is a YAML file; several are asked together, and the strictest verdict counts. The world
 * is the first one that an effect meets, so that a refused action does not happen, and so that a
 * question to a person is an effect like any other: recorded, replayed, answered by a host program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_POLICY_POLICY_H
#define PDL_POLICY_POLICY_H

#include "base/buf.h"
#include "effect/effect.h"
#include "value/label.h"
#include "yaml/node.h"

typedef enum {
#define S(id, names, traits, arguments, doc) PDL_SINK_##id,
#include "policy/sinks.def"
    PDL_SINK_COUNT
} pdl_sink_id;

/* In order of strictness. */
typedef enum { PDL_VERDICT_ALLOW, PDL_VERDICT_APPROVE, PDL_VERDICT_DENY } pdl_verdict;

const char *pdl_sink_name(pdl_sink_id s);
bool pdl_sink_find(pdl_str name, pdl_sink_id *out);

/* Names of labels by their numbers, for policies whose runs give each other values. Zeroed it is
 * empty; the texts are its own. */
typedef struct pdl_label_names {
    char *text[PDL_LABEL_MOST_NAMED];
    uint32_t n;
} pdl_label_names;
void pdl_label_names_fini(pdl_label_names *n);

/* Policies that are asked together. The labels that they name are numbered together, so the same
 * name is the same label in all of them. */
typedef struct pdl_policies pdl_policies;

/* names: borrowed, and new ones are added; NULL: its own. */
pdl_policies *pdl_policies_new(pdl_label_names *names);
void pdl_policies_free(pdl_policies *p); /* NULL is fine */

/* One more policy: the text of a file, or a node (borrowed) of a program. Built-in policies have no
 * opinion on what is trusted or only reads. Error: schema (syntax where it is no YAML); all
 * problems are in its message, each with its place. */
PDL_MUST bool pdl_policies_add(pdl_policies *p, pdl_str name, pdl_str bytes, bool built_in,
                               pdl_err *err);
PDL_MUST bool pdl_policies_add_node(pdl_policies *p, pdl_str name, const pdl_node *n, pdl_err *err);

size_t pdl_policies_count(const pdl_policies *p);
/* Name of the ith, and the digest of its text, 64 hexadecimal digits; that of a built-in policy is
 * made from its name only. */
pdl_str pdl_policies_name(const pdl_policies *p, size_t i);
pdl_str pdl_policies_digest(const pdl_policies *p, size_t i);
/* The most values that a bounded type may have: the least `capacity` of them. */
uint32_t pdl_policies_capacity(const pdl_policies *p);
/* `control`: data: what chose that something happens does not count; plans: it does in computed
 * programs; strict: everywhere. Of several policies the strictest. */
typedef enum { PDL_CONTROL_DATA, PDL_CONTROL_PLANS, PDL_CONTROL_STRICT } pdl_control;
pdl_control pdl_policies_control(const pdl_policies *p);
/* Labels that a MASKED sink does not show. */
pdl_label pdl_policies_masked(const pdl_policies *p, pdl_sink_id sink);
/* May a run be durable whose values have this label? */
bool pdl_policies_allow_durable(const pdl_policies *p, pdl_label label);
/* The origins and names in a label, ", " between them. */
void pdl_policies_put_label(const pdl_policies *p, pdl_label label, pdl_buf *out);
/* The label of a name: an origin, or one that a policy names. */
bool pdl_policies_find_label(const pdl_policies *p, pdl_str name, pdl_label *out);
/* The name of a label that was perhaps meant; empty: none is near. */
pdl_str pdl_policies_near_label(const pdl_policies *p, pdl_str name);
/* The `sandbox:` of the first policy that has one, from the one with this number on, and the name
 * of that policy; NULL: none. */
const pdl_node *pdl_policies_sandbox(const pdl_policies *p, size_t from, pdl_str *name);

/* The profile of the module with this bit; NULL: it has none. */
const pdl_node *pdl_policies_sandbox_of(const pdl_policies *p, uint64_t module);

/* A value that goes into a sink. */
typedef struct pdl_argument {
    pdl_str name; /* "0", "text", "to.address"; empty: what happens, rather than a value */
    pdl_vref value;
    pdl_label label;
    pdl_label name_label; /* labels of the name: keys of an object may be untrusted */
} pdl_argument;

/* Policies from this number on are in force only for what the module with this bit does; their
 * patterns of paths begin in its folder. They can make things stricter and nothing else: what they
 * trust counts only where there are no other policies. */
void pdl_policies_scope(pdl_policies *p, size_t from, uint64_t module, pdl_str folder);

/* The path of the lock file that the policy added last names, as it is written; empty: none. Its
 * text is then given with pdl_policies_lock. */
pdl_str pdl_policies_lock_path(const pdl_policies *p, pdl_loc *loc);
/* Error: schema. */
PDL_MUST bool pdl_policies_lock(pdl_policies *p, pdl_str name, pdl_str bytes, pdl_err *err);
/* The path of the ith file with a list of values that the policy added last names; p NULL: there
 * are no more. Its text is then given with pdl_policies_put_list. */
pdl_str pdl_policies_list_path(const pdl_policies *p, size_t i, pdl_loc *loc);
/* A value on each line; blanks around it, empty lines and lines that begin with # do not count. */
void pdl_policies_put_list(pdl_policies *p, size_t i, pdl_str bytes);
/* Hash of a tool's whole definition, as lock files have it. Error: what is no JSON. */
PDL_MUST bool pdl_tool_hash(pdl_vref definition, char out[65], pdl_err *err);
/* Reads a lock file: a dict of servers, each with a dict of hashes. Owned. Error: schema. */
PDL_MUST bool pdl_lock_read(pdl_str name, pdl_str bytes, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_lock_write(pdl_vref servers, pdl_buf *out, pdl_err *err);

typedef struct pdl_policy_ask {
    pdl_sink_id sink;
    pdl_str name; /* the command, tool, file, model ...; empty: none */
    pdl_label name_label;
    const pdl_argument *args;
    size_t n;
    pdl_str folder; /* where patterns of paths begin: that of the program */
    uint64_t modules; /* bits of the modules around it that have a policy */
} pdl_policy_ask;

/* A decision: its rule and its subject. Borrowed from the policies and the ask. */
typedef struct pdl_decision {
    pdl_verdict verdict;
    const pdl_argument *arg; /* the one with the strictest verdict; NULL: allowed */
    pdl_label labels;        /* its labels that the rule does not let pass */
    pdl_str policy;          /* name */
    uint32_t line;           /* where the rule or `otherwise` is; 0: unknown */
} pdl_decision;

pdl_decision pdl_policies_judge(const pdl_policies *p, const pdl_policy_ask *ask);

/* One line of s (valid UTF-8) for a person: what cannot be seen as \u{...}. quoted: it is
 * between quotes, which are escaped inside. */
void pdl_policy_put_visible(pdl_str s, bool quoted, pdl_buf *out);

/* --- what can be known without running (pdl check --policy) ----------------------------------- */

/* Each rule: what it is for, and where it is. */
typedef struct pdl_rule_view {
    pdl_sink_id sink;
    pdl_str name, argument, policy; /* p NULL: every name, every argument */
    uint32_t line;
} pdl_rule_view;
void pdl_policies_each_rule(const pdl_policies *p,
                            void (*fn)(void *user, size_t i, const pdl_rule_view *r), void *user);
/* "the rule for argument to of sink tool mail/send" */
void pdl_policy_put_rule(const pdl_rule_view *r, pdl_buf *out);
/* Calls fn for each rule that does nothing, whatever the program: another one before it is for all
 * that it is for, or it says what never counts. what: continues "the rule ...". */
void pdl_policies_each_oddity(const pdl_policies *p,
                              void (*fn)(void *user, const pdl_rule_view *r, const char *what),
                              void *user);
/* Labels for the reply of an effect of this kind and subject: those of patterns that fit, and
 * whether it is trusted. */
pdl_label pdl_policies_label_of(const pdl_policies *p, pdl_effect_kind kind, pdl_str subject,
                                pdl_str folder, uint64_t modules, bool *is_trusted);
/* Does the user say that this tool (SERVER/NAME) only looks? False where no policy says so. */
bool pdl_policy_is_read_only(const pdl_policies *p, pdl_str tool);
/* Is there a rule for tools of this server? Marks those that there are, as the next function. */
bool pdl_policies_have_tools(const pdl_policies *p, pdl_str server, bool *used);
/* Is there a rule for this name of a sink in one of the policies? Marks the rules that fit in
 * used[i], in the order of pdl_policies_each_rule; NULL: not recorded. */
bool pdl_policies_have_rule(const pdl_policies *p, pdl_sink_id sink, pdl_str name, bool *used);

/* Marks the rules for the name of a tool that is called: rules for every argument, or for one of
 * these or a part of it. others: it may have other arguments. */
bool pdl_policies_have_call(const pdl_policies *p, const pdl_policy_ask *ask, bool others,
                            bool *used);
/* Calls fn for each tool of the server in lock files. Returns false when no lock file has the
 * server: then its tools are not known. */
bool pdl_policies_each_locked(const pdl_policies *p, pdl_str server,
                              void (*fn)(void *user, pdl_str tool), void *user);

/* --- the world -------------------------------------------------------------------------------- */

/* All that processes of code remember, for the runs that reach the same processes: one list for a
 * session and its members, and a part of it for runs that ask the same policies. */
typedef struct pdl_policy_memories pdl_policy_memories;
typedef struct pdl_policy_memory pdl_policy_memory;
pdl_policy_memories *pdl_policy_memories_new(void);
void pdl_policy_memories_free(pdl_policy_memories *all); /* after its users; NULL is fine */
pdl_policy_memory *pdl_policy_memory_join(pdl_policy_memories *all, const pdl_policies *p);
void pdl_policy_memory_leave(pdl_policy_memory *m); /* NULL is fine */

typedef struct pdl_policy_options {
    const pdl_policies *policies; /* borrowed */
    pdl_policy_memory *memory;    /* joined; the world leaves it */
    pdl_str folder;               /* the program's; borrowed */
    uint32_t first_id;            /* ids of the world's effects follow it */
    /* May the process that performs e, code or a command, write a file that is there afterwards?
     * NULL: it may. */
    bool (*leaves_files)(void *user, const pdl_effect *e);
    void *user;
    bool is_durable; /* a durable journal holds its values: what `durable: deny` names is refused */
    bool began_earlier; /* the run may have begun in an earlier process */
} pdl_policy_options;

/* next is borrowed. */
pdl_world *pdl_policy_world_new(const pdl_policy_options *opt, pdl_world *next);
/* The run began without a policy: its processes stay, and of what they got nothing is known. */
void pdl_policy_world_continues(pdl_world *w);
/* The labels of all that went into code, in this run and in those that may share its processes. */
pdl_label pdl_policy_world_in_code(const pdl_world *w);
/* Labels of a program that code makes and runs (exec_str): those of all that went into the code. */
pdl_label pdl_policy_label_of_code(const pdl_effect *code);
/* Judges such a program as a computed one, without a question. Error: policy. */
PDL_MUST bool pdl_policy_world_may_run(pdl_world *w, const pdl_effect *code, pdl_vref text,
                                       pdl_err *err);

#endif
