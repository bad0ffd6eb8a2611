/* pdl.h -- PDL (Prompt Declaration Language) inside another program.
 *
 *     pdl_engine *engine = pdl_engine_new(NULL, &error);
 *     pdl_program *program = pdl_load_file(engine, "hello.pdl", &error);
 *     pdl_task *task = pdl_task_start(engine, program, NULL, &error);
 *     if (pdl_task_wait(task, -1) == PDL_TASK_DONE) result = pdl_task_result(task, &error);
 *
 * An engine holds settings and what the host program answers itself; a program is loaded text and
 * may be run many times; a task is one run of it. All are opaque and are released with their _free;
 * NULL is fine there, and the order does not matter: what is still used lives on.
 *
 * Errors. Functions that can fail take `pdl_error **error` last. It may be NULL. On failure they
 * return false, NULL or PDL_TASK_FAILED and set *error, which the caller releases with
 * pdl_error_free; on success they leave it alone. Calls that make no sense (a NULL where an object
 * must be, a result before the end, an option that this version does not know) are errors of kind
 * "usage", never crashes.
 *
 * Strings are UTF-8. Strings that go in are copied; `const char *` that comes out belongs to the
 * object it came from.
 *
 * Threads. An engine with everything made from it, and values, belong to one thread at a time;
 * different engines may run in different threads. pdl_task_wake is the one function for other
 * threads. There is no global state but the allocator. Making a task lets the process ignore
 * SIGPIPE if nothing handles it.
 *
 * Structures of options: set `size` to sizeof of the structure and everything else to zero, then
 * what is wanted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_H
#define PDL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__GNUC__)
#define PDL_API __attribute__((visibility("default")))
#else
#define PDL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pdl_engine pdl_engine;
typedef struct pdl_program pdl_program;
typedef struct pdl_task pdl_task;
typedef struct pdl_value pdl_value;
typedef struct pdl_request pdl_request;

/* Version of the library, "0.1.0" (static). */
PDL_API const char *pdl_version(void);

/* --- errors ----------------------------------------------------------------------------------- */

/* Made by the library only (also by pdl_error_new); members may be added at the end. Strings are
 * never NULL, "" where nothing is known. */
typedef struct pdl_error {
    /* "usage", "syntax", "schema", "expression", "type", "code", "rate_limit", ... */
    const char *kind;
    const char *message; /* without place; may have several lines */
    const char *file;
    unsigned line;    /* from 1; 0: unknown */
    unsigned column;  /* code points, from 1; 0: unknown */
    const char *hint; /* "did you mean 'name'?" */
    const char *text; /* all as the command prints it, several lines */
    int exit_code;    /* what the command would return */
    int status;       /* HTTP status of a model call, exit status of code; 0: none */
    /* of a program that is a tree (pdl_load_value): the part of it, "text[1].model" */
    const char *path;
} pdl_error;

/* Writes error->text to a stream. */
PDL_API void pdl_error_print(const pdl_error *error, FILE *to);
PDL_API void pdl_error_free(pdl_error *error);
/* For callbacks that report a failure. kind: one of the kinds of errors; NULL or unknown:
 * "runtime". The text is copied. */
PDL_API pdl_error *pdl_error_new(const char *kind, const char *message);

/* --- values ------------------------------
 *
 * A pdl_value is a handle of a value: drop every handle that a function returned. Handles are
 * independent: adding to a list through one handle is not visible through another. Constructors
 * copy. */

typedef enum pdl_kind {
    PDL_KIND_NONE, /* no value: the handle is NULL */
    PDL_KIND_NULL,
    PDL_KIND_BOOL,
    PDL_KIND_INT,
    PDL_KIND_FLOAT,
    PDL_KIND_TEXT,
    /* also tuples, ranges, and contexts: their items are messages, dicts of role, content, ... */
    PDL_KIND_LIST,
    PDL_KIND_DICT,
    PDL_KIND_OTHER,    /* an object of code, a view of a dict, ...: see pdl_value_to_text */
    PDL_KIND_DATE,     /* a date, or a date with a time: pdl_value_to_text gives its ISO form */
    PDL_KIND_FUNCTION, /* of a program (see pdl_value_call) or of the host program */
    PDL_KIND_OBJECT,   /* of the host program */
    PDL_KIND_BYTES,
    PDL_KIND_SET /* its items are had as those of a list */
} pdl_kind;

PDL_API pdl_value *pdl_value_null(void);
PDL_API pdl_value *pdl_value_bool(bool b);
PDL_API pdl_value *pdl_value_int(int64_t i);
PDL_API pdl_value *pdl_value_float(double d);
/* NULL when text is NULL or not UTF-8 or longer than 2 GiB. */
PDL_API pdl_value *pdl_value_text(const char *text);
PDL_API pdl_value *pdl_value_text_n(const char *text, size_t n_bytes);
PDL_API pdl_value *pdl_value_list(void);
PDL_API pdl_value *pdl_value_dict(void);
/* An integer of any size from its digits in base 10 or 16, with an optional '-' in front. NULL when
 * that is something else. */
PDL_API pdl_value *pdl_value_int_text(const char *digits, int base);
/* "2024-01-31", "2024-01-31T10:00:00", with fractions of a second and "+01:00" after it. NULL when
 * there is no such date. */
PDL_API pdl_value *pdl_value_date(const char *text);
/* A list of integers at once; the items of a list as a tuple. */
PDL_API pdl_value *pdl_value_ints(const int64_t *numbers, size_t n);
PDL_API pdl_value *pdl_value_tuple(const pdl_value *list);

/* Another handle of the same value; NULL for NULL. */
PDL_API pdl_value *pdl_value_keep(const pdl_value *v);
PDL_API void pdl_value_drop(pdl_value *v); /* NULL is fine */

/* Add to a list; set an entry of a dict. The item is copied in, its handle stays the caller's.
 * False when `v` is not of that kind, something is NULL, or the key is not UTF-8. */
PDL_API bool pdl_value_push(pdl_value *v, const pdl_value *item);
PDL_API bool pdl_value_put(pdl_value *v, const char *key, const pdl_value *item);
/* The same for keys of other types: scalars, dates, bytes and tuples of them, also texts that hold
 * NULs. False also for a key that cannot be one. */
PDL_API bool pdl_value_put_at(pdl_value *v, const pdl_value *key, const pdl_value *item);

PDL_API pdl_kind pdl_value_kind(const pdl_value *v);
/* False when v is of another kind (or the integer does not fit); *out is then untouched. get_float
 * takes integers as well. */
PDL_API bool pdl_value_get_bool(const pdl_value *v, bool *out);
PDL_API bool pdl_value_get_int(const pdl_value *v, int64_t *out);
PDL_API bool pdl_value_get_float(const pdl_value *v, double *out);
/* Text of a PDL_KIND_TEXT, NUL-terminated; it may hold NULs, n_bytes (may be NULL) gets its
 * length. NULL for other kinds. Lives as long as this handle. */
PDL_API const char *pdl_value_get_text(const pdl_value *v, size_t *n_bytes);
/* Bytes of a text, items of a list, entries of a dict; 0 for the rest. */
PDL_API size_t pdl_value_len(const pdl_value *v);
/* A new handle of the i-th item of a list or the i-th value of a dict, of the i-th key of a dict,
 * of the value under a key. NULL when there is none. */
PDL_API pdl_value *pdl_value_at(const pdl_value *v, size_t i);
PDL_API pdl_value *pdl_value_key_at(const pdl_value *v, size_t i);
PDL_API pdl_value *pdl_value_get(const pdl_value *v, const char *key);
/* Walks through a list, dict or set: *i is 0 and *key, *item are NULL at first. True: *item holds
 * the next item and *key, which may be NULL for lists, its key; the handles are used again by the
 * next call. False: it is over, both are dropped and NULL. Who leaves earlier drops them.
 *
 *     size_t i = 0;
 *     pdl_value *key = NULL, *item = NULL;
 *     while (pdl_value_next(dict, &i, &key, &item)) look(key, item); */
PDL_API bool pdl_value_next(const pdl_value *v, size_t *i, pdl_value **key, pdl_value **item);
/* All items of a list of n integers; false, and nothing is written, when an item is something else
 * or does not fit. */
PDL_API bool pdl_value_get_ints(const pdl_value *v, int64_t *out, size_t n);
/* The digits of an integer of any size in base 10 or 16, as a text value; NULL for others. */
PDL_API pdl_value *pdl_value_get_int_text(const pdl_value *v, int base);
/* The bytes of a PDL_KIND_BYTES. NULL for other kinds. Lives as long as this handle. */
PDL_API const char *pdl_value_get_bytes(const pdl_value *v, size_t *n_bytes);
PDL_API bool pdl_value_is_tuple(const pdl_value *v);

/* Contexts are lists of messages for the functions above. What they are inside: one message, parts
 * each of which sees those before it, or parts that do not see each other. */
typedef enum pdl_context_form {
    PDL_CONTEXT_NONE, /* the value is no context */
    PDL_CONTEXT_MESSAGE,
    PDL_CONTEXT_DEPENDENT, /* also the empty context */
    PDL_CONTEXT_INDEPENDENT
} pdl_context_form;
PDL_API pdl_context_form pdl_value_context_form(const pdl_value *v);
/* The parts as a list of contexts; NULL unless it is dependent or independent. */
PDL_API pdl_value *pdl_value_context_parts(const pdl_value *v);
/* A context of parts: a list of contexts and messages (dicts with role and content). Error:
 * expression, when a part is neither. */
PDL_API pdl_value *pdl_value_context(const pdl_value *parts, bool independent, pdl_error **error);

/* Where a value came from (docs/manual/policies.md): what a run gives has its origins, parts that
 * are taken out of a value have them, and a later run of the same engine that gets the value as an
 * input knows them. Inputs without any are `data`. */
typedef enum pdl_origins {
    PDL_ORIGINS_NONE,  /* the text of a program, or the host program's own */
    PDL_ORIGINS_WHOLE, /* all of it has the same */
    PDL_ORIGINS_PARTS  /* a list or dict that was put together: each part has its own */
} pdl_origins;
PDL_API pdl_origins pdl_value_origins(const pdl_value *v);
/* v, and all of its parts, get those of `from`, too: for what the host program made of that. False
 * when one is NULL. */
PDL_API bool pdl_value_add_origins(pdl_value *v, const pdl_value *from);

/* As `==` of the language; false when one is NULL. */
PDL_API bool pdl_value_equal(const pdl_value *a, const pdl_value *b);

/* Errors: syntax, limit (nesting). */
PDL_API pdl_value *pdl_value_from_json(const char *text, size_t n_bytes, pdl_error **error);
/* What is certain of JSON that is still coming, for answers that are shown while they stream: text
 * holds the pieces so far. Later calls with more text only extend it: texts and lists grow, dicts
 * get keys. NULL: nothing yet. */
PDL_API pdl_value *pdl_value_from_partial_json(const char *text, size_t n_bytes);
/* JSON as a text value; indent: spaces a level, 0: one line. Error: type when something in v is not
 * JSON. */
PDL_API pdl_value *pdl_value_to_json(const pdl_value *v, unsigned indent, pdl_error **error);
/* YAML in block style as a text value; what YAML has nothing for is written as its text. */
PDL_API pdl_value *pdl_value_to_yaml(const pdl_value *v, pdl_error **error);
/* What the command prints for this value, as a text value. */
PDL_API pdl_value *pdl_value_to_text(const pdl_value *v, pdl_error **error);

/* --- engine ----------------------------------------------------------------------------------- */

typedef struct pdl_engine_options {
    size_t size;
    const char *const *paths; /* further folders in which imports are looked for */
    size_t n_paths;
    /* model calls open at a time, of a task, or with `shared` of all tasks together; 0: 64 */
    unsigned jobs;
    void *user; /* of the callback */
    /* What is to be said of a program that is loaded, a line without its end: old forms of the
     * language. Not after pdl_engine_free, and it must not free the engine. NULL: nobody wants to
     * know. */
    void (*note)(void *user, const char *text, size_t n_bytes);
    bool shared; /* tasks share one loop and its connections: see pdl_engine_step */
    /* what the options of tasks of these names are when a task does not give them */
    const char *prices, *timeout;
    double max_rps, max_tokens_per_minute;
    /* What code blocks, commands and tool servers are confined by: "code", or a file with a profile
     * (docs/manual/security.md); NULL: what PDL_SANDBOX says, or nothing, unless a policy or a
     * block says so. Code that is confined runs in a process of its own, whoever handles code. */
    const char *sandbox;
    bool sandbox_process; /* Landlock, seccomp and limits will do where there are no namespaces */
    /* Where values may go: files, or names of built-in policies; beside those of PDL_POLICY and of
     * the program. What they want approved is a request of the kind approval. */
    const char *const *policies;
    size_t n_policies;
    bool no_sandbox; /* whatever PDL_SANDBOX says */
} pdl_engine_options;

/* options: NULL for defaults. */
PDL_API pdl_engine *pdl_engine_new(const pdl_engine_options *options, pdl_error **error);
PDL_API void pdl_engine_free(pdl_engine *engine);
/* The same as pdl_value_drop, for a value that a task or program of this engine has given: its
 * memory goes back to the engine at once. Many large results are dropped faster so. NULL is fine
 * for v. */
PDL_API void pdl_engine_drop_value(pdl_engine *engine, pdl_value *v);
/* Has one of its policies, or of PDL_POLICY, a rule for this sink ("code", "command", ...)? Errors:
 * usage (no such sink), and those of the policies. */
PDL_API bool pdl_engine_has_rule(pdl_engine *engine, const char *sink, bool *has,
                                 pdl_error **error);

/* --- what the host program answers itself ------------------------------
 *
 * A program asks the outside for things: a model call, the run of a code block, a line of input ...
 * A handler takes over requests of a kind whose subject begins with a prefix ("" is all); of
 * several that fit, the longest prefix wins, then the latest.
 *
 * See docs/manual/embedding.md for the requests. Kinds, subjects, requests (field?: it may
 * be missing) and answers:
 *
 * - model: its name; {model, platform, messages, parameters, schema, stream, processor?, parsed?};
 *   text, {content, ...} with what an assistant's message may have (tool_calls ...) and
 *   finish_reason, logprobs, usage, or a chat completion in OpenAI's form
 * - code: python or ipython; {lang, code, vars, cwd, session?}; the value of `result`
 * - tool: the tool server; {server, op, name?, arguments?, method?, params?}, op: list, call or
 *   request; tools, {content, structured, text, is_error}, any
 * - command: first word; {argv}; text, or {stdout, stderr, status}
 * - input: the prompt; {prompt, multiline}; text, null at the end of input
 * - read: the path; {path, shown?}; text
 * - write: the path; {path, mode, text}; null
 * - source: the path of an included program; {path, under?}; text, null when there is none
 * - approval: the sink of the policy; {sink, name, arguments, text}; true or false
 * - embed: the model; {model, input, parameters}; {embeddings, usage}: a vector for each text
 * - sleep: {seconds}; null
 * - now: {}; seconds since 1970
 * - random: {}; an integer
 *
 * The handler answers, refuses or declines the request, at once or later; until then the task waits
 * for it. Every request is answered, refused or declined exactly once, which releases it, even when
 * the task does not need it any more (it was cancelled or freed). */
typedef void pdl_handler_fn(void *user, pdl_request *request);

/* Error: usage when there is no such kind. Counts for tasks that are started from now on. */
PDL_API bool pdl_engine_handle(pdl_engine *engine, const char *kind, const char *prefix,
                               pdl_handler_fn *fn, void *user, pdl_error **error);

/* The request as a dict. Lives as long as the request. */
PDL_API const pdl_value *pdl_request_data(const pdl_request *request);
/* Does the task no longer wait for the answer? */
PDL_API bool pdl_request_is_cancelled(const pdl_request *request);
/* A piece of an answer that comes in pieces: text of a model, output of code. The answer still
 * holds all of it. */
PDL_API bool pdl_request_piece(pdl_request *request, const char *text, size_t n_bytes);
/* The answer; the handle stays the caller's. An answer of a form that does not fit becomes an error
 * of the program. */
PDL_API void pdl_request_answer(pdl_request *request, const pdl_value *answer);
/* The answer to a request of kind code, with those variables that the code has changed in place (a
 * list that it appended to): a dict with their new values, NULL for none. */
PDL_API void pdl_request_answer_code(pdl_request *request, const pdl_value *result,
                                     const pdl_value *changed);
/* A failure: kind is one of the kinds of errors ("rate_limit"; NULL or unknown: "runtime"), message
 * says what happened. Programs see it in `fallback` and `retry`. */
PDL_API void pdl_request_refuse(pdl_request *request, const char *kind, const char *message);
/* The same with the classes of an exception, the class and then its bases, "A,B,C": what
 * `retry: {exceptions: ...}` examines. */
PDL_API void pdl_request_raise(pdl_request *request, const char *kind, const char *classes,
                               const char *message);

/* Not for this handler: the next one that fits is asked, in the end the library. Releases the
 * request as an answer does. */
PDL_API void pdl_request_decline(pdl_request *request);

/* A function of the host program as a value: give it to a program among its inputs, and expressions
 * call it: ${ name(1, key=2) }. The data of its requests is {args: [...], kwargs: {...}}; any value
 * is an answer. NULL when something is NULL. */
PDL_API pdl_value *pdl_value_function(const char *name, pdl_handler_fn *fn, void *user);
/* The same; release (may be NULL) is called with `user` once, when the last handle and the last run
 * that has the value release it: on the thread that does, inside of any function of the library.
 * It must not call the library. */
PDL_API pdl_value *pdl_value_function_with(const char *name, pdl_handler_fn *fn, void *user,
                                           void (*release)(void *user));
/* The `user` of a function that was made with this fn, NULL for every other value. */
PDL_API void *pdl_value_function_of(const pdl_value *v, pdl_handler_fn *fn);

/* --- objects of the host program ------------------------------
 *
 * An object of the host program travels through programs by reference and is the same object when
 * it comes back. Expressions use it through the functions below, all of which may be NULL: then the
 * program gets an error of PDL ("'Hive' object is not iterable").
 *
 * Those with a request answer it as handlers do, at once or later; an answer of NULL to `attribute`
 * or `item` means "not found", and the other of the two is then tried with the same name. The
 * others answer at once; on failure they return false or
 * NULL and may set *error (pdl_error_new). All are called on the thread that uses the engine or the
 * value, inside of functions of the library; they may make and look at values, and may not step or
 * wait for the task that calls them. What they are given lives for the call, unless a request holds
 * it (pdl_request_data: {op, object, ...}). */

/* What tests of templates find (`x is callable`). */
typedef enum pdl_object_trait {
    PDL_OBJECT_CALLABLE = 1,
    PDL_OBJECT_ITERABLE = 2,
    PDL_OBJECT_SEQUENCE = 4,
    PDL_OBJECT_MAPPING = 8,
    PDL_OBJECT_NUMBER = 16
} pdl_object_trait;

typedef struct pdl_object_ops {
    size_t size;
    /* The name of its type, "Hive", copied; and what it is: a sum of traits. Called once, when the
     * value is made. NULL: "object", whose traits are the functions that there are */
    const char *(*type_name)(void *object, unsigned *traits);
    void (*attribute)(void *object, const char *name, pdl_request *request); /* x.name */
    void (*item)(void *object, const pdl_value *key, pdl_request *request);  /* x[key] */
    /* x(1, key=2): args is a list, kwargs a dict */
    void (*call)(void *object, const pdl_value *args, const pdl_value *kwargs,
                 pdl_request *request);
    /* x.name(1, key=2) */
    void (*call_method)(void *object, const char *name, const pdl_value *args,
                        const pdl_value *kwargs, pdl_request *request);
    /* The answer is a list of the items. */
    void (*iterate)(void *object, pdl_request *request);
    /* Everything else, as a dict: {op: "binary", operator, left, right, negated?}, {op: "unary",
     * operator, object}, {op: "slice", object, args: [from, to, step]}, {op: "filter", name, args,
     * kwargs, operator?}. The object is one of the operands, or inside one. */
    void (*operate)(void *object, const pdl_value *operation, pdl_request *request);
    bool (*length)(void *object, size_t *out);                      /* false: it has no length */
    bool (*truth)(void *object, bool *out, pdl_error **error);      /* NULL: that of its length */
    pdl_value *(*text)(void *object, bool repr, pdl_error **error); /* as str() and repr() */
    /* Both were made with the same function here. NULL: only an object itself is equal to it */
    bool (*equal)(void *object, void *other);
    void (*release)(void *object); /* as that of pdl_value_function_with */
} pdl_object_ops;

/* ops is copied. NULL when object is NULL, the name of the type is empty or not UTF-8, or `size` is
 * not set; `release` is then not called. */
PDL_API pdl_value *pdl_value_object(void *object, const pdl_object_ops *ops);
/* The object of a value that was made with these ops, NULL for every other value. */
PDL_API void *pdl_value_object_of(const pdl_value *v, const pdl_object_ops *ops);

/* --- programs --------------------------------------------------------------------------------- */

/* Errors: io, syntax, schema. All problems are in error->text, the place is that of the first. */
PDL_API pdl_program *pdl_load_file(pdl_engine *engine, const char *path, pdl_error **error);
/* name: what messages say and where relative paths begin; NULL: none, the working directory. */
PDL_API pdl_program *pdl_load_text(pdl_engine *engine, const char *text, size_t n_bytes,
                                   const char *name, pdl_error **error);
/* A program as a tree of dicts, lists, texts and other data, as pdl_program_tree gives it. Lines
 * in messages are those of its YAML text (pdl_value_to_yaml, pdl_program_text); error->path is the
 * part of the tree. Error also: usage for a function or an object in the tree. */
PDL_API pdl_program *pdl_load_value(pdl_engine *engine, const pdl_value *tree, const char *name,
                                    pdl_error **error);
PDL_API void pdl_program_free(pdl_program *program);
/* The text that was loaded. NULL for NULL. */
PDL_API pdl_value *pdl_program_text(const pdl_program *program);

/* The program as a tree of dicts, lists and texts, in the normal form of `pdl dump`: what is not
 * written is not there. Loading it gives an equal program. NULL for NULL. */
PDL_API pdl_value *pdl_program_tree(const pdl_program *program);

/* What is wrong with a program, found without running it: a list of {file, line, column, end_line,
 * end_column, severity: error or warning, code, message, hint}, empty when all is well. Error:
 * io. */
PDL_API pdl_value *pdl_check_file(pdl_engine *engine, const char *path, pdl_error **error);
PDL_API pdl_value *pdl_check_text(pdl_engine *engine, const char *text, size_t n_bytes,
                                  const char *name, pdl_error **error);
/* The same for a program that is loaded. Of one that is a tree, each dict has its `path`. */
PDL_API pdl_value *pdl_check_program(pdl_engine *engine, const pdl_program *program,
                                     pdl_error **error);

/* What the program would send to models with these inputs (a dict; NULL: none), without sending:
 * what `pdl explain --json` prints, see docs/manual/calls.md. allow: what is really done on the
 * way, some of "code,command,read,write,input,tool"; NULL: nothing. Functions and objects among the
 * inputs are used. Errors: usage, and that of a run that fails on the way. */
PDL_API pdl_value *pdl_explain(pdl_engine *engine, pdl_program *program, const pdl_value *inputs,
                               const char *allow, pdl_error **error);

/* The JSON Schema of the language. */
PDL_API pdl_value *pdl_schema_of_language(void);
/* What expressions may use, by the headings of docs/manual/builtins.md: a dict of dicts, name ->
 * {parameters, doc}. */
PDL_API pdl_value *pdl_builtins_of_language(void);

/* --- tasks ------------------------------------------------------------------------------------ */

/* What a run writes while it runs (task_options.text). */
typedef enum pdl_output {
    PDL_OUTPUT_NONE,   /* only what the program prints itself */
    PDL_OUTPUT_RESULT, /* the result, as it comes */
    PDL_OUTPUT_CONTEXT /* messages, to task_options.message */
} pdl_output;

typedef enum pdl_state {
    PDL_TASK_WAITING, /* continues when something outside has happened */
    PDL_TASK_DONE,
    PDL_TASK_FAILED
} pdl_state;

/* Something that happened. Everything lives for the call. */
typedef struct pdl_report {
    size_t size;
    const char *kind;  /* as in docs/manual/embedding.md: "block_begin", "effect", "note", ... */
    const char *place; /* id of the block: "text.0.if.then"; "" when it has none */
    const char *file;  /* of the block */
    unsigned line;
    const char *text; /* NUL-terminated; "" when there is none */
    size_t n_text;
    const char *role;       /* of a message */
    const char *effect;     /* kind of the request, for effect, piece and reply */
    const pdl_value *value; /* NULL: none; of block_end, field, message */
    const pdl_error *error; /* NULL: none */
    unsigned number;        /* of an attempt, a case, an iteration */
    const char *look;       /* who wrote a text: "model", "code", "" for the program */
    bool untrusted; /* the text is not the program's own: neutralise it before a terminal gets it */
} pdl_report;

/* A run that survives the end of its process (docs/manual/durable-runs.md). */
typedef struct pdl_task_durable {
    size_t size;
    /* id in the folder of runs ($PDL_RUNS), or with a slash the path of a file */
    const char *run;
    bool resume; /* it is there and continues; else it is new, and an error when it is there */
    bool process_only; /* it survives the end of the process, not a power cut: faster */
    /* `read` that has no line, and approvals that cannot be given, end the run with an error of
     * kind "parked": pdl_runs_answer answers, then it is resumed */
    bool park;
    bool provisional;   /* pieces of answers are given to `text` before they are kept */
    bool rebuild;       /* resume: code runs again for what it left in Python */
    bool changed_fails; /* resume: an error when the program asks something else */
    bool take_over;     /* resume: although it cannot be known that no other process has it */
    /* resume: actions that began and have no end are done again: n_again places, or "all"; those of
     * skip ("PLACE=JSON") have this result */
    const char *const *again, *const *skip;
    size_t n_again, n_skip;
} pdl_task_durable;

typedef struct pdl_task_options {
    size_t size;
    const pdl_value *inputs; /* dict of variables; NULL: none */
    pdl_output output;
    const char *record; /* write a journal into this new file */
    const char *replay; /* answer every request from this journal; nothing goes out */
    bool trace;         /* keep what pdl_task_trace needs */
    bool blocks;        /* reports of blocks and fields as well */
    void *user; /* of the callbacks, which may cancel the task and must not step or wait for it */
    void (*text)(void *user, const char *text, size_t n_bytes); /* standard output of the program */
    void (*error_text)(void *user, const char *text,
                       size_t n_bytes); /* its error output, and notes */
    void (*message)(void *user, const char *role, const char *text,
                    size_t n_bytes); /* output is PDL_OUTPUT_CONTEXT */
    void (*report)(void *user, const pdl_report *report);
    /* what the command's options of these names set, in the same words (docs/manual/calls.md); NULL
     * and 0: nothing */
    /* file of replies that runs share, made when it is not there; a replay does not look at it */
    const char *cache;
    /* what the run may use: "calls=10,tokens=5000,cost=0.5,seconds=60", some of them */
    const char *budget;
    const char *prices; /* JSON file of what models cost; NULL: that of PDL_PRICES, if any */
    /* time limits of model calls: seconds, or "connect=S,first=S,idle=S,total=S" */
    const char *timeout;
    double max_rps; /* requests of models that go out in a second */
    double max_tokens_per_minute;
    /* The task has ended: called once, with `user`, by the step, wait or cancel that saw it. Its
     * result can be read, and it may be freed. */
    void (*done)(void *user, pdl_task *task);
    /* The task has a loop, connections and rates for itself also where options.shared is set. It
     * may then be stepped and waited for inside of callbacks of other tasks of the engine, which
     * wait for it. */
    bool alone;
    /* The run is durable; borrowed for the call. With resume its inputs come from the journal, and
     * those that are given replace the recorded ones of the same name, as -d of `pdl resume` does.
     * `text`, `error_text` and `message` are called when all on which they depend is kept. A task
     * that is freed or cancelled before its end can be resumed. NULL: it is not durable */
    const pdl_task_durable *durable;
    /* Not 0 when the run is to end, also in the middle of one operation: another thread or a signal
     * handler sets it. The error is of kind "interrupt" where it is SIGINT, else of "terminated".
     * Borrowed until free; NULL: there is none */
    const volatile int *interrupt;
    /* Policies that are asked about this task beside those of the engine, in the same words;
     * borrowed for the call */
    const char *const *policies;
    size_t n_policies;
    /* "code", or a file with a profile: what confines code, commands and tool servers of this task,
     * within the sandbox of the engine. NULL and "": nothing more. A handler of the engine that
     * runs code itself is asked all the same, and declines */
    const char *sandbox;
    /* The trace has whole lists of messages and no member that the reference does not write, for
     * programs that were made for its traces. */
    bool trace_whole;
} pdl_task_options;

/* Starts a run; nothing happens before the first step. options: NULL for defaults. Errors: usage,
 * io, replay, config (an invalid table of prices). */
PDL_API pdl_task *pdl_task_start(pdl_engine *engine, pdl_program *program,
                                 const pdl_task_options *options, pdl_error **error);
/* Cancels what is open. Inside a callback of the task it takes effect when the callback has
 * returned. */
PDL_API void pdl_task_free(pdl_task *task);

/* Runs what can run without waiting. For programs with a loop of their own: step again when the
 * descriptor of pdl_task_fd is readable, when pdl_task_deadline_ms have passed, or when a request
 * was answered. */
PDL_API pdl_state pdl_task_step(pdl_task *task);
/* Steps until the end, or for timeout_ms (-1: no limit). */
PDL_API pdl_state pdl_task_wait(pdl_task *task, int timeout_ms);
/* Ends the run with an error of kind "interrupt"; also from callbacks. */
PDL_API void pdl_task_cancel(pdl_task *task);
/* Ends the wait of pdl_task_wait soon, which then checks for answers and continues. From any thread
 * and from signal handlers. */
PDL_API void pdl_task_wake(pdl_task *task);

PDL_API pdl_state pdl_task_state(const pdl_task *task);
PDL_API int pdl_task_fd(const pdl_task *task);          /* -1: none */
PDL_API int pdl_task_deadline_ms(const pdl_task *task); /* -1: no limit */

/* --- tasks on one loop ------------------------------
 *
 * With pdl_engine_options.shared all tasks of an engine run on one loop and share connections,
 * Python workers, tool servers and what is known of the rates of services; at most 7168 at a time.
 * The environment and `.env` are read when the first of them starts. Whoever steps or waits for one
 * task moves all of them, so a program with its own loop watches the engine, not the tasks,
 * and learns from task_options.done which of them ended. All callbacks come from inside the step,
 * on its thread; inside of them tasks may be started, cancelled and freed, and stepping does
 * nothing, but to tasks that are `alone`. The options timeout, prices, max_rps and
 * max_tokens_per_minute of a task are errors there: give them to the engine. */

/* Runs what can run, and waits for something to happen at most timeout_ms (0: not at all, -1: until
 * no task waits any more). Returns how many tasks still wait; 0 also without options.shared. */
PDL_API size_t pdl_engine_step(pdl_engine *engine, int timeout_ms);
/* Step again when the descriptor is readable, when the time has passed, or when a request was
 * answered. -1: none (no task was started); no limit. */
PDL_API int pdl_engine_fd(const pdl_engine *engine);
PDL_API int pdl_engine_deadline_ms(const pdl_engine *engine);

/* Inside of a callback, also of functions and objects of the host program: `user` of the options of
 * the task that it is for. NULL outside, and for a task that was freed. */
PDL_API void *pdl_engine_current_user(const pdl_engine *engine);

/* After PDL_TASK_DONE, else an error of kind usage (or the error of the run, if it failed). New
 * handles. */
PDL_API pdl_value *pdl_task_result(const pdl_task *task, pdl_error **error);
/* Of the variables, `pdl_context` is the context, `stdlib` the library, `pdl_usage` what
 * pdl_task_usage gives; the rest is the program's. */
PDL_API pdl_value *pdl_task_variables(const pdl_task *task, pdl_error **error);
PDL_API pdl_value *pdl_task_messages(const pdl_task *task, pdl_error **error);
/* The messages as the context that they are. */
PDL_API pdl_value *pdl_task_context(const pdl_task *task, pdl_error **error);
/* {model_calls, completion_tokens, prompt_tokens} so far; NULL for NULL. */
PDL_API pdl_value *pdl_task_usage(const pdl_task *task);
/* The sum of the factors that the run has met so far; 0 for NULL. */
PDL_API double pdl_task_score(const pdl_task *task);
/* The trace as a text value of JSON, after the end. Error: usage when options.trace was not set. */
PDL_API pdl_value *pdl_task_trace(const pdl_task *task, pdl_error **error);
/* A trace (the text of pdl_task_trace, or one that the command or the reference wrote) as a page
 * for people, as a text value: one HTML document that needs no network and no server. name: its
 * title; source: the text of the program; NULL: it is written from the trace. Error: syntax when
 * the text holds no JSON object. */
PDL_API pdl_value *pdl_trace_page(const char *trace, size_t n_bytes, const char *name,
                                  const char *source, pdl_error **error);
/* After PDL_TASK_FAILED, else NULL. Lives as long as the task. */
PDL_API const pdl_error *pdl_task_error(const pdl_task *task);

/* --- functions of programs ------------------------------
 *
 * A function that a program has defined is a value among its variables, or its result. It can be
 * called as long as somebody has a handle of it, also when the task has ended, by tasks of the same
 * engine. */

/* Starts a call: a task whose result is that of the function. args: a list; kwargs: a dict with
 * names of parameters; both may be NULL. Functions and objects of the host program are called as
 * well. options: inputs must be NULL. Inside of callbacks of other tasks set options.alone to wait
 * for the call there. Errors: usage, and those of pdl_task_start. */
PDL_API pdl_task *pdl_value_call(pdl_engine *engine, const pdl_value *function,
                                 const pdl_value *args, const pdl_value *kwargs,
                                 const pdl_task_options *options, pdl_error **error);
/* The declaration of a program's function for models: {type: function, function: {name,
 * description, parameters: JSON Schema}}; NULL for every other value. */
PDL_API pdl_value *pdl_value_signature(const pdl_value *v);

/* start, wait, result, free in one call. inputs: may be NULL. */
PDL_API pdl_value *pdl_run_program(pdl_engine *engine, pdl_program *program,
                                   const pdl_value *inputs, pdl_error **error);

/* --- durable runs ----------------------------------------------------------------------------- */

/* All runs of the folder of runs ($PDL_RUNS, else $XDG_STATE_HOME/pdl/runs, else
 * ~/.local/state/pdl/runs), the newest first: a list of {id, program, state, started, ended, calls,
 * tokens, cost, place}; state: running, ended, failed, killed or waiting. Errors: io, config. */
PDL_API pdl_value *pdl_runs_list(pdl_error **error);
/* One of them: the same, and {text, folder, questions}: the text of the program, the folder in
 * which it began, and what is asked: a list of {place, kind, text}. run: an id, or the path of a
 * file. */
PDL_API pdl_value *pdl_runs_show(const char *run, pdl_error **error);
/* Answers a question of a run that waits. place: NULL when there is one only. Errors: runtime
 * (nothing is asked, several are, it runs), io. False when it fails. */
PDL_API bool pdl_runs_answer(const char *run, const char *place, const char *text,
                             pdl_error **error);
/* Removes one that does not run. False when it fails. */
PDL_API bool pdl_runs_remove(const char *run, pdl_error **error);

/* --- memory ----------------------------------------------------------------------------------- */

/* Where memory comes from, for the whole process: call it before anything else. Memory is aligned
 * as malloc's. All three are given, or all NULL for the default. False when they are not. */
PDL_API bool pdl_set_allocator(void *(*alloc)(size_t n), void *(*resize)(void *p, size_t n),
                               void (*release)(void *p));
/* Memory runs out: what the library does then, for the whole process.
 *
 * Allocations inside the library never fail halfway: fn is called with the number of bytes that
 * were asked for, on the thread that asked. It may release memory of the host program (caches, a
 * reserve kept for this) and return true: the allocation is tried again, as often as fn returns
 * true. When it returns false, or fn is NULL, a program that is running ends with an error of kind
 * "limit" and its place: every run keeps two megabytes aside for the way out. Where no program
 * runs, or that is not enough, the process prints `pdl: error: out of memory (N bytes asked for)`,
 * or the place of the block and the same, on standard error and ends with exit(1): what was
 * registered with atexit runs, child processes of the library are killed, output files and journals
 * keep what was written completely. So fn is also the place for final steps, such as saving work.
 *
 * fn must not leave by longjmp or an exception and must not use pdl_ functions: the library is in
 * the middle of something. To survive, bound what programs may use (jobs, limits of the language,
 * see docs/manual/embedding.md), or run engines in a process of their own.
 *
 * Requests too large to be meant (a text over 2 GiB, 'x' * 10**12) are no matter of memory: they
 * are errors of kind "limit". This and pdl_set_allocator also direct the memory of GMP and libuv,
 * which otherwise abort when there is none: a host that uses these two itself calls them before
 * that. */
PDL_API void pdl_set_out_of_memory(bool (*fn)(size_t n));

#ifdef __cplusplus
}
#endif

#endif
