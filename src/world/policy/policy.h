/* policy.h -- where values may go, by their labels: rules, verdicts, and the world that asks the
 * policies (spec trust, sections 2 and 3).
 *
 * A policy is a YAML file; several are asked together, and the strictest verdict counts. The
 * world is the first one that an effect meets, so that a refused action does not happen, and so
 * that a question to a person is an effect like any other: recorded, replayed, answered by a
 * host program.
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

/* Names of labels by their numbers, for policies whose runs exchange values. All-zero: no names. It
 * owns the texts. */
typedef struct pdl_label_names {
    char *text[PDL_LABEL_MAX_NAMED];
    uint32_t n;
} pdl_label_names;
void pdl_label_names_fini(pdl_label_names *n);

/* Policies that are asked together. The labels that they name are numbered together, so the same
 * name is the same label in all of them. */
typedef struct pdl_policies pdl_policies;

/* names: borrowed, and new names are added to it; NULL: the policies have private names. */
pdl_policies *pdl_policies_new(pdl_label_names *names);
void pdl_policies_free(pdl_policies *p); /* p may be NULL */

/* Adds a policy: the text of a file, or a node (borrowed) of a program. Built-in policies have no
 * opinion on what is trusted or read-only. Error: schema (syntax when it is not YAML); its message
 * has all problems, each with its place. */
PDL_MUST bool pdl_policies_add(pdl_policies *p, pdl_str name, pdl_str bytes, bool built_in,
                               pdl_err *err);
PDL_MUST bool pdl_policies_add_node(pdl_policies *p, pdl_str name, const pdl_node *n, pdl_err *err);

size_t pdl_policies_count(const pdl_policies *p);
/* Return the name of the i-th policy, and the digest of its text, 64 hexadecimal digits; that of a
 * built-in policy is made from its name only. */
pdl_str pdl_policies_name(const pdl_policies *p, size_t i);
pdl_str pdl_policies_digest(const pdl_policies *p, size_t i);
/* Returns how many values a bounded type may have: the least `capacity` of the policies. */
uint32_t pdl_policies_capacity(const pdl_policies *p);
/* The values of `control`: whether the label of a condition counts for an action that depends on
 * it. data: it does not; plans: it does in computed programs; strict: it does everywhere. The
 * strictest of several policies counts. */
typedef enum { PDL_CONTROL_DATA, PDL_CONTROL_PLANS, PDL_CONTROL_STRICT } pdl_control;
pdl_control pdl_policies_control(const pdl_policies *p);
/* Returns the labels that a REDACTED sink does not show. */
pdl_label pdl_policies_redacted(const pdl_policies *p, pdl_sink_id sink);
/* Returns true when a run whose values have this label may be durable. */
bool pdl_policies_allow_durable(const pdl_policies *p, pdl_label label);
/* Appends the origins and names in a label, with ", " between them. */
void pdl_policies_put_label(const pdl_policies *p, pdl_label label, pdl_buf *out);
/* Finds the label of a name: an origin, or a name that a policy defines. */
bool pdl_policies_find_label(const pdl_policies *p, pdl_str name, pdl_label *out);
/* Returns the most similar name of a label; empty when none is similar. */
pdl_str pdl_policies_near_label(const pdl_policies *p, pdl_str name);
/* Returns the `sandbox:` of the first policy that has one, from number `from` on, and the name of
 * that policy; NULL when there is none. */
const pdl_node *pdl_policies_sandbox(const pdl_policies *p, size_t from, pdl_str *name);

/* Returns the profile of the module with this bit; NULL when it has none. */
const pdl_node *pdl_policies_sandbox_of(const pdl_policies *p, uint64_t module);

/* A value that goes into a sink. */
typedef struct pdl_argument {
    pdl_str name; /* "0", "text", "to.address"; empty: the action itself, not a value */
    pdl_vref value;
    pdl_label label;
    pdl_label name_label; /* labels of the name: keys of an object may be untrusted */
} pdl_argument;

/* Applies the policies from this number on only to actions of the module with this bit; their
 * patterns of paths are relative to its folder. They can only make things stricter: what they trust
 * counts only when there are no other policies. */
void pdl_policies_scope(pdl_policies *p, size_t from, uint64_t module, pdl_str folder);

/* Returns the path of the lock file that the policy added last names, as written; empty when there
 * is none. The caller passes its text to pdl_policies_lock. */
pdl_str pdl_policies_lock_path(const pdl_policies *p, pdl_loc *loc);
/* Adds the text of a lock file. Error: schema. */
PDL_MUST bool pdl_policies_lock(pdl_policies *p, pdl_str name, pdl_str bytes, pdl_err *err);
/* Returns the path of the i-th file with a list of values that the policy added last names; p is
 * NULL when there are no more. The caller passes its text to pdl_policies_put_list. */
pdl_str pdl_policies_list_path(const pdl_policies *p, size_t i, pdl_loc *loc);
/* Adds a list with a value on each line. Blanks around it, empty lines and lines that begin with #
 * are ignored. */
void pdl_policies_put_list(pdl_policies *p, size_t i, pdl_str bytes);
/* Computes the hash of a tool's whole definition, as lock files have it. Error: a part that is not
 * JSON. */
PDL_MUST bool pdl_tool_hash(pdl_vref definition, char out[65], pdl_err *err);
/* Reads a lock file: a dict of servers, each with a dict of hashes. Owned. Error: schema. */
PDL_MUST bool pdl_lock_read(pdl_str name, pdl_str bytes, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_lock_write(pdl_vref servers, pdl_buf *out, pdl_err *err);

typedef struct pdl_reader_sets pdl_reader_sets;

/* A word of a command. */
typedef struct pdl_command_word {
    pdl_str text;   /* p NULL: not known */
    pdl_vref value; /* absent: a text of the program */
    pdl_label label;
} pdl_command_word;
/* Called for a command that another one, `by`, starts. choosing: 0; or else it may be any command,
 * `words` are those of `by`, and so many of them may say which one it is. */
typedef void (*pdl_started_fn)(void *user, const pdl_command_word *words, size_t n, pdl_str by,
                               size_t choosing);
/* Calls fn for each command that this one starts as far as its words show, and for what these
 * start:
 * env, sudo, sh -c, ... (launchers.def). Texts that it makes are in the arena; the words are there
 * during the call. */
void pdl_command_each_start(pdl_arena *arena, const pdl_command_word *words, size_t n,
                            pdl_started_fn fn, void *user);

typedef struct pdl_policy_ask {
    pdl_sink_id sink;
    pdl_str name; /* the command, tool, file, model ...; empty when there is none */
    pdl_label name_label;
    const pdl_argument *args;
    size_t n;
    pdl_str folder;   /* folder of the program, to which patterns of paths are relative */
    uint64_t modules; /* bits of the modules around the action that have a policy */
    const pdl_reader_sets *readers; /* the readers of answers in this run; NULL: not known */
    /* started_by: the command that starts this one, empty when the program does. choosing: see
     * pdl_started_fn; with it, every rule that names a command counts. */
    pdl_str started_by;
    size_t choosing;
    bool without_values; /* for an analysis without a run: labels are known, and no values */
} pdl_policy_ask;

/* A decision: its rule and its subject. Borrowed from the policies and the ask. */
typedef struct pdl_decision {
    pdl_verdict verdict;
    /* the argument with the strictest verdict; NULL when the action is allowed */
    const pdl_argument *arg;
    pdl_label labels; /* the labels of it that the rule stops */
    /* With unread: who gets the argument is no reader of this label. unread_by: the name,
     * with its labels; p NULL: who it is is not known. */
    pdl_label unread, unread_by_label;
    pdl_str unread_by;
    pdl_str policy;   /* name of the policy */
    uint32_t line;    /* line of the rule or its `otherwise`; 0 when it is unknown */
} pdl_decision;

pdl_decision pdl_policies_judge(const pdl_policies *p, const pdl_policy_ask *ask);

/* Appends s (valid UTF-8) as one line for a person, with invisible characters as \u{...}. quoted:
 * the text is between quotes, which are escaped inside it. */
void pdl_policy_put_visible(pdl_str s, bool quoted, pdl_buf *out);

/* --- analysis without a run (pdl check --policy) ---------------------------------------------- */

/* A rule: its subject and its place. */
typedef struct pdl_rule_view {
    pdl_sink_id sink;
    pdl_str name, argument, policy; /* p NULL: every name, every argument */
    uint32_t line;
} pdl_rule_view;
void pdl_policies_each_rule(const pdl_policies *p,
                            void (*fn)(void *user, size_t i, const pdl_rule_view *r), void *user);
/* Appends "the rule for argument to of sink tool mail/send". */
void pdl_policy_put_rule(const pdl_rule_view *r, pdl_buf *out);
/* Calls fn for each rule that has no effect whatever the program does: a rule before it covers all
 * its cases, or its verdict never counts. what: continues "the rule ...". */
void pdl_policies_each_oddity(const pdl_policies *p,
                              void (*fn)(void *user, const pdl_rule_view *r, const char *what),
                              void *user);
/* Returns the labels for the reply of an effect of this kind and subject: those of patterns that
 * fit. *is_trusted: a policy trusts it. */
pdl_label pdl_policies_label_of(const pdl_policies *p, pdl_effect_kind kind, pdl_str subject,
                                pdl_str folder, uint64_t modules, bool *is_trusted);
/* Returns the labels that patterns for this kind give to any subject. */
pdl_label pdl_policies_label_of_any(const pdl_policies *p, pdl_effect_kind kind);
/* Returns true when the user's policies say that this tool (SERVER/NAME) is read-only. */
bool pdl_policy_is_read_only(const pdl_policies *p, pdl_str tool);
/* Returns true when there is a rule for tools of this server. Marks the rules as
 * pdl_policies_have_rule does. */
bool pdl_policies_have_tools(const pdl_policies *p, pdl_str server, bool *used);
/* Returns true when one of the policies has a rule for this name of a sink. Marks the rules that
 * fit in used[i], in the order of pdl_policies_each_rule; NULL: not recorded. */
bool pdl_policies_have_rule(const pdl_policies *p, pdl_sink_id sink, pdl_str name, bool *used);

/* Marks the rules for a tool that is called: rules for every argument, or for one of the call's
 * arguments or a part of it. others: the call may have further arguments. */
bool pdl_policies_have_call(const pdl_policies *p, const pdl_policy_ask *ask, bool others,
                            bool *used);
/* Calls fn for each tool of the server in lock files. Returns false when no lock file has the
 * server, whose tools are then unknown. */
bool pdl_policies_each_locked(const pdl_policies *p, pdl_str server,
                              void (*fn)(void *user, pdl_str tool), void *user);

/* --- the world -------------------------------------------------------------------------------- */

/* The labels in processes of code, for all runs that reach the same processes: one list for a
 * session and its members, with a part for each set of runs that ask the same policies. */
typedef struct pdl_policy_memories pdl_policy_memories;
typedef struct pdl_policy_memory pdl_policy_memory;
pdl_policy_memories *pdl_policy_memories_new(void);
/* after its users were freed; all may be NULL */
void pdl_policy_memories_free(pdl_policy_memories *all);
pdl_policy_memory *pdl_policy_memory_join(pdl_policy_memories *all, const pdl_policies *p);
void pdl_policy_memory_leave(pdl_policy_memory *m); /* m may be NULL */

typedef struct pdl_policy_options {
    const pdl_policies *policies; /* borrowed */
    pdl_policy_memory *memory;    /* joined before; the world leaves it */
    pdl_str folder;               /* folder of the program; borrowed */
    uint32_t first_id;            /* the ids of the world's effects follow it */
    /* Returns true when the process that performs e, code or a command, may write a file that
     * is still there afterwards. NULL: every process may. */
    bool (*leaves_files)(void *user, const pdl_effect *e);
    void *user;
    /* a durable journal holds its values: labels that `durable: deny` names are refused */
    bool is_durable;
    bool began_earlier; /* the run may have begun in an earlier process */
} pdl_policy_options;

/* Makes the world. next is borrowed. */
pdl_world *pdl_policy_world_new(const pdl_policy_options *opt, pdl_world *next);
/* Notes that the run began without a policy: its processes stay, and the labels in them are
 * unknown. */
void pdl_policy_world_continues(pdl_world *w);
/* Returns the labels of all values that were passed to code, in this run and in those that may
 * share its processes. */
pdl_label pdl_policy_world_in_code(const pdl_world *w);
/* Returns the labels of a program that code makes and runs (exec_str): those of all values that
 * were passed to the code. */
pdl_label pdl_policy_label_of_code(const pdl_effect *code);
/* Judges such a program like a computed one, without a question. Error: policy. */
PDL_MUST bool pdl_policy_world_may_run(pdl_world *w, const pdl_effect *code, pdl_vref text,
                                       pdl_err *err);

#endif
