/* policy.h -- decides by the labels of values where they may go: the rules, the verdicts, and the
 * world that asks the policies (spec trust, sections 2 and 3).
 *
 * A policy is a YAML file; several are asked together, and the strictest verdict counts. An effect
 * meets this world first, so that a refused action does not happen, and so that a question to a
 * person is an effect like any other. So a question can be recorded, replayed, or answered by a
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

/* The verdicts, in the order of strictness. */
typedef enum { PDL_VERDICT_ALLOW, PDL_VERDICT_APPROVE, PDL_VERDICT_DENY } pdl_verdict;

const char *pdl_sink_name(pdl_sink_id s);
bool pdl_sink_find(pdl_str name, pdl_sink_id *out);

/* Names of labels, by the numbers of the labels. Policies share them when their runs exchange
 * values. There are no names when all members are zero. The struct owns the texts. */
typedef struct pdl_label_names {
    char *text[PDL_LABEL_MAX_NAMED];
    uint32_t n;
} pdl_label_names;
void pdl_label_names_fini(pdl_label_names *n);

/* Policies that are asked together. The labels that they name are numbered together, so the same
 * name is the same label in all of them. */
typedef struct pdl_policies pdl_policies;

/* Makes an empty set of policies. names is borrowed, and the names of labels in the policies are
 * added to it. When it is NULL, the policies have private names. */
pdl_policies *pdl_policies_new(pdl_label_names *names);
void pdl_policies_free(pdl_policies *p); /* p may be NULL */

/* Adds a policy: the text of a file, or a node (borrowed) of a program. With built_in, the policy
 * has no opinion on what is trusted or read-only. Error: schema (syntax when it is not YAML); its
 * message has all problems, each with its place. */
PDL_MUST bool pdl_policies_add(pdl_policies *p, pdl_str name, pdl_str bytes, bool built_in,
                               pdl_err *err);
PDL_MUST bool pdl_policies_add_node(pdl_policies *p, pdl_str name, const pdl_node *n, pdl_err *err);

size_t pdl_policies_count(const pdl_policies *p);
/* These functions return the name of the i-th policy, and the digest of its text, which has 64
 * hexadecimal digits. The digest of a built-in policy is made from its name. */
pdl_str pdl_policies_name(const pdl_policies *p, size_t i);
pdl_str pdl_policies_digest(const pdl_policies *p, size_t i);
/* Returns how many values a bounded type may have: the smallest `capacity` of all policies. */
uint32_t pdl_policies_capacity(const pdl_policies *p);
/* The values of `control`: whether the label of a condition counts for an action that depends on
 * it. data: the label does not count; plans: it counts in computed programs; strict: it counts
 * everywhere. The strictest of several policies counts. */
typedef enum { PDL_CONTROL_DATA, PDL_CONTROL_PLANS, PDL_CONTROL_STRICT } pdl_control;
pdl_control pdl_policies_control(const pdl_policies *p);
/* Returns the labels that a sink of the sort REDACTED does not show. */
pdl_label pdl_policies_redacted(const pdl_policies *p, pdl_sink_id sink);
/* Returns true when a run whose values have this label may be durable. */
bool pdl_policies_allow_durable(const pdl_policies *p, pdl_label label);
/* Appends the origins and names in a label, with ", " between them. */
void pdl_policies_put_label(const pdl_policies *p, pdl_label label, pdl_buf *out);
/* Finds the label with this name, which is the name of an origin or a name that a policy defines.
 */
bool pdl_policies_find_label(const pdl_policies *p, pdl_str name, pdl_label *out);
/* Returns the most similar name of a label; empty when none is similar. */
pdl_str pdl_policies_near_label(const pdl_policies *p, pdl_str name);
/* Returns the `sandbox:` of the first policy that has one, searched from policy number `from`;
 * *name is the name of that policy. Returns NULL when no policy has one. */
const pdl_node *pdl_policies_sandbox(const pdl_policies *p, size_t from, pdl_str *name);

/* Returns the profile of the module with this bit; NULL when the module has none. */
const pdl_node *pdl_policies_sandbox_of(const pdl_policies *p, uint64_t module);

/* A value that goes into a sink. */
typedef struct pdl_argument {
    pdl_str name; /* "0", "text", "to.address"; an empty name means the action as a whole */
    pdl_vref value;
    pdl_label label;
    pdl_label name_label; /* labels of the name, because keys of an object may be untrusted */
} pdl_argument;

/* Applies the policies with the numbers `from` and above only to actions of the module with the bit
 * `module`. The patterns of paths in these policies are relative to `folder`. The policies can only
 * make the verdicts stricter: their statements of trust count only when there are no other
 * policies. */
void pdl_policies_scope(pdl_policies *p, size_t from, uint64_t module, pdl_str folder);

/* Returns the path of a lock file as it is written in the policy that was added last. Returns an
 * empty text when that policy has no lock file. The caller passes the text of the file to
 * pdl_policies_lock. */
pdl_str pdl_policies_lock_path(const pdl_policies *p, pdl_loc *loc);
/* Adds the text of a lock file. Error: schema. */
PDL_MUST bool pdl_policies_lock(pdl_policies *p, pdl_str name, pdl_str bytes, pdl_err *err);
/* Returns the path of the i-th file with a list of values that the most recently added policy
 * names; p is NULL when there are no more. The caller passes the content of the file to
 * pdl_policies_put_list. */
pdl_str pdl_policies_list_path(const pdl_policies *p, size_t i, pdl_loc *loc);
/* Adds the content of the i-th file that pdl_policies_list_path returns: one value on each line.
 * Blanks around a value are ignored, and so are empty lines, lines that begin with # and lines that
 * are not UTF-8. */
void pdl_policies_put_list(pdl_policies *p, size_t i, pdl_str bytes);
/* Computes the hash of the whole definition of a tool, which lock files contain. Error: JSON cannot
 * express a part of the definition. */
PDL_MUST bool pdl_tool_hash(pdl_vref definition, char out[65], pdl_err *err);
/* Reads a lock file: a dict of servers, each with a dict of hashes. Owned. Error: schema. */
PDL_MUST bool pdl_lock_read(pdl_str name, pdl_str bytes, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_lock_write(pdl_vref servers, pdl_buf *out, pdl_err *err);

typedef struct pdl_reader_sets pdl_reader_sets;

/* A word of a command. */
typedef struct pdl_command_word {
    pdl_str text;   /* p is NULL when the word is not known */
    pdl_vref value; /* absent when the word is written in the program */
    pdl_label label;
} pdl_command_word;
/* Called for a command that another command, `by`, starts. When choosing is 0, `words` are the
 * words of the started command. Otherwise it is not known which command is started: `words` are
 * then the words of `by`, and the first `choosing` words may decide which command it is. */
typedef void (*pdl_started_fn)(void *user, const pdl_command_word *words, size_t n, pdl_str by,
                               size_t choosing);
/* Calls fn for each command that this command starts, as far as its words show it (launchers.def),
 * and then for the commands that these start. New texts are in the arena; the array of words lives
 * only during the call of fn. */
void pdl_command_each_start(pdl_arena *arena, const pdl_command_word *words, size_t n,
                            pdl_started_fn fn, void *user);

typedef struct pdl_policy_ask {
    pdl_sink_id sink;
    pdl_str name; /* name of the command, tool, file or model; empty when the action has none */
    pdl_label name_label;
    const pdl_argument *args;
    size_t n;
    pdl_str folder;   /* folder of the program, to which patterns of paths are relative */
    uint64_t modules; /* bits of the modules that are around the action and whose policies apply */
    /* the readers of the answers in this run; NULL when they are not known */
    const pdl_reader_sets *readers;
    /* started_by: the command that starts this one; empty when the program starts it. choosing: see
     * pdl_started_fn; when it is not 0, every rule that names a command counts. */
    pdl_str started_by;
    size_t choosing;
    bool without_values; /* for an analysis that runs nothing: labels are known, values are not */
} pdl_policy_ask;

/* A decision: the rule that decided, and the subject. Borrowed from the policies and the ask. */
typedef struct pdl_decision {
    pdl_verdict verdict;
    /* the argument with the strictest verdict; NULL when the action is allowed */
    const pdl_argument *arg;
    pdl_label labels; /* the labels of the argument that make the rule stop the action */
    /* When `unread` is set, a receiver of the argument is not a reader of this label. unread_by:
     * the name of that receiver, with the labels of the name; p is NULL when the receiver is not
     * known. */
    pdl_label unread, unread_by_label;
    pdl_str unread_by;
    pdl_str policy; /* name of the policy */
    uint32_t line;  /* line of the rule or its `otherwise`; 0 when it is unknown */
    bool answered;  /* a person saw the values of the arguments, and has answered */
} pdl_decision;

pdl_decision pdl_policies_judge(const pdl_policies *p, const pdl_policy_ask *ask);

/* Appends s (valid UTF-8) as one line for a person, with invisible characters as \u{...}. quoted:
 * the text is between quotes, which are escaped inside it. */
void pdl_policy_put_visible(pdl_str s, bool quoted, pdl_buf *out);

/* --- analysis without a run (pdl check --policy) ---------------------------------------------- */

/* A rule as it is shown to people: its subject and where it is written. */
typedef struct pdl_rule_view {
    pdl_sink_id sink;
    pdl_str name, argument, policy; /* p is NULL for a rule about every name or every argument */
    uint32_t line;
} pdl_rule_view;
void pdl_policies_each_rule(const pdl_policies *p,
                            void (*fn)(void *user, size_t i, const pdl_rule_view *r), void *user);
/* Appends "the rule for argument to of sink tool mail/send". */
void pdl_policy_put_rule(const pdl_rule_view *r, pdl_buf *out);
/* Calls fn for each rule that never has an effect, because an earlier rule covers all its cases or
 * its verdict never counts. what: a text that continues the sentence "the rule ...". */
void pdl_policies_each_oddity(const pdl_policies *p,
                              void (*fn)(void *user, const pdl_rule_view *r, const char *what),
                              void *user);
/* Returns the labels that the policies give, by patterns, to replies to effects with this kind and
 * subject. *is_trusted: a policy trusts the subject. */
pdl_label pdl_policies_label_of(const pdl_policies *p, pdl_effect_kind kind, pdl_str subject,
                                pdl_str folder, uint64_t modules, bool *is_trusted);
/* Returns the union of the labels that the policies give to subjects of this kind. */
pdl_label pdl_policies_label_of_any(const pdl_policies *p, pdl_effect_kind kind);
/* Returns true when the user's policies say that this tool (SERVER/NAME) is read-only. */
bool pdl_policy_is_read_only(const pdl_policies *p, pdl_str tool);
/* Returns true when there is a rule for tools of this server. Marks the rules as
 * pdl_policies_have_rule does. */
bool pdl_policies_have_tools(const pdl_policies *p, pdl_str server, bool *used);
/* Returns true when one of the policies has a rule for this name of a sink. used[i] is set for each
 * rule that fits, in the order of pdl_policies_each_rule; used may be NULL. */
bool pdl_policies_have_rule(const pdl_policies *p, pdl_sink_id sink, pdl_str name, bool *used);

/* Marks the rules for a tool that is called: rules for every argument, and rules for an argument
 * that the call has, or for a part of one. others: the call may have further arguments. */
bool pdl_policies_have_call(const pdl_policies *p, const pdl_policy_ask *ask, bool others,
                            bool *used);
/* Calls fn for each tool that lock files have for the server. Returns false when no lock file has
 * the server; its tools are unknown then. */
bool pdl_policies_each_locked(const pdl_policies *p, pdl_str server,
                              void (*fn)(void *user, pdl_str tool), void *user);

/* --- the world -------------------------------------------------------------------------------- */

/* The labels of the values that processes of code have received. Runs that may reach the same
 * processes share one list. pdl_policy_memories has all lists, which a session and its members
 * share; pdl_policy_memory is the list for runs under the same policies. */
typedef struct pdl_policy_memories pdl_policy_memories;
typedef struct pdl_policy_memory pdl_policy_memory;
/* The labels of what runs have left in files. Later runs see these labels, even runs of other
 * sessions of an engine. */
typedef struct pdl_policy_files pdl_policy_files;
pdl_policy_files *pdl_policy_files_new(void);
/* Called after all worlds and memories that use the store were freed. store may be NULL. */
void pdl_policy_files_free(pdl_policy_files *store);
/* files is borrowed. When it is NULL, the memories have a separate store of files. */
pdl_policy_memories *pdl_policy_memories_new(pdl_policy_files *files);
/* Called after all users of the memories were freed. `all` may be NULL. */
void pdl_policy_memories_free(pdl_policy_memories *all);
pdl_policy_memory *pdl_policy_memory_join(pdl_policy_memories *all, const pdl_policies *p);
void pdl_policy_memory_leave(pdl_policy_memory *m); /* m may be NULL */

typedef struct pdl_policy_options {
    const pdl_policies *policies; /* borrowed */
    pdl_policy_memory *memory;    /* labels that processes of code got; borrowed */
    pdl_str folder;               /* folder of the program; borrowed */
    /* the ids of the world's own effects are the numbers above this one */
    uint32_t first_id;
    /* Returns true when the process of e (code or a command) may write a file that remains after
     * the process. When the function is NULL, every process may write such a file. */
    bool (*leaves_files)(void *user, const pdl_effect *e);
    /* Called for an effect that would be refused, or a question that would be asked. Returns true
     * when the effect will not be executed in any case; it is then forwarded, without a question.
     * May be NULL. */
    bool (*foresee)(void *user, const pdl_effect *e, const pdl_err *refusal);
    void *user;
    /* The run is durable, so its values are written to a journal. Values with a label that
     * `durable: deny` names are refused. */
    bool is_durable;
    bool began_earlier; /* the run may have begun in an earlier process */
    bool replays;       /* a recording answers all effects, so the files need not exist */
} pdl_policy_options;

/* Makes the world. next is borrowed. */
pdl_world *pdl_policy_world_new(const pdl_policy_options *opt, pdl_world *next);
/* Notes that the run began without a policy. The processes of the run continue, and nothing is
 * known about the labels in these processes. */
void pdl_policy_world_continues(pdl_world *w);
/* Returns the labels of all values that were passed to code, in this run and in the runs that may
 * share its processes. */
pdl_label pdl_policy_world_in_code(const pdl_world *w);
/* Returns the labels of a program that code makes and runs (exec_str): the labels of all values
 * that were passed to that code. */
pdl_label pdl_policy_label_of_code(const pdl_effect *code);
/* Judges a program that code makes and runs, by the rules for a computed program, but asks no
 * question. Error: policy. */
PDL_MUST bool pdl_policy_world_may_run(pdl_world *w, const pdl_effect *code, pdl_vref text,
                                       pdl_err *err);

#endif
