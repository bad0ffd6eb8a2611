/* pdl.h -- PDL (Prompt Declaration Language) inside another program.
 *
 *     pdl_engine *engine = pdl_engine_new(NULL, &error);
 *     pdl_program *program = pdl_load_file(engine, "hello.pdl", &error);
 *     pdl_task *task = pdl_task_start(engine, program, NULL, &error);
 *     if (pdl_task_wait(task, -1) == PDL_TASK_DONE) result = pdl_task_result(task, &error);
 *
 * An engine holds settings and the handlers of the host program. A program is loaded text and may
 * be run many times. A task is one run of a program. All three are opaque. Each has a function
 * _free; the order of these calls does not matter, because an object that is still used lives on.
 * NULL may be passed to _free.
 *
 * Errors. Functions that can fail take `pdl_error **error` last. It may be NULL. On failure they
 * return false, NULL or PDL_TASK_FAILED and set *error, which the caller releases with
 * pdl_error_free; on success they do not change it. Calls that make no sense (a NULL where an
 * object must be, a result before the end, an option that this version does not know) are errors of
 * kind "usage", never crashes.
 *
 * Strings are UTF-8. Strings that are passed in are copied; a `const char *` result belongs to the
 * object it came from.
 *
 * Threads. An engine, everything made from it, and values belong to one thread at a time; different
 * engines may run in different threads. pdl_task_wake is the one function for other threads. There
 * is no global state except the allocator. When a task is made and SIGPIPE has its default action,
 * the process begins to ignore SIGPIPE.
 *
 * Structures of options: set `size` to sizeof of the structure and everything else to zero, then
 * the options that are wanted.
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

/* Returns the version of the library, "0.1.0" (static). */
PDL_API const char *pdl_version(void);

/* --- errors ----------------------------------------------------------------------------------- */

/* A host program makes errors with pdl_error_new alone, because a later version may add members at
 * the end. No string is NULL: an unknown string is "". */
typedef struct pdl_error {
    /* "usage", "syntax", "schema", "expression", "type", "code", "rate_limit", ... */
    const char *kind;
    const char *message; /* the message without its place; it may have several lines */
    const char *file;
    unsigned line;    /* the line counts from 1; 0 means that it is unknown */
    unsigned column;  /* the column in code points, from 1; 0 means that it is unknown */
    const char *hint; /* "did you mean 'name'?" */
    const char *text; /* the whole text as the command prints it, in several lines */
    int exit_code;    /* the exit code that the command would return */
    /* the HTTP status of a model call, or the exit status of code; 0 when there is no status */
    int status;
    /* For a program that is a tree (pdl_load_value): the part that is wrong, "text[1].model". */
    const char *path;
} pdl_error;

/* Writes error->text to a stream. */
PDL_API void pdl_error_print(const pdl_error *error, FILE *to);
PDL_API void pdl_error_free(pdl_error *error);
/* Makes an error for callbacks that report a failure. kind is one of the kinds of errors; NULL or
 * an unknown kind means "runtime". The text is copied. */
PDL_API pdl_error *pdl_error_new(const char *kind, const char *message);

/* --- values ------------------------------
 *
 * A pdl_value is a handle of a value: drop every handle that a function returned. Handles are
 * independent: adding to a list through one handle is not visible through another. Texts, items and
 * numbers that are passed in are copied. */

typedef enum pdl_kind {
    PDL_KIND_NONE, /* the value does not exist: the handle is NULL */
    PDL_KIND_NULL,
    PDL_KIND_BOOL,
    PDL_KIND_INT,
    PDL_KIND_FLOAT,
    PDL_KIND_TEXT,
    /* Tuples and ranges are lists as well, and so are contexts. The items of a context are
     * messages: dicts with role, content, ... */
    PDL_KIND_LIST,
    PDL_KIND_DICT,
    PDL_KIND_OTHER,    /* an object of Python code, a view of a dict, ...: see pdl_value_to_text */
    PDL_KIND_DATE,     /* a date, or a date with a time: pdl_value_to_text gives its ISO form */
    PDL_KIND_FUNCTION, /* a function of a program (see pdl_value_call) or of the host program */
    PDL_KIND_OBJECT,   /* an object of the host program */
    PDL_KIND_BYTES,
    PDL_KIND_SET /* the items of a set are read like those of a list */
} pdl_kind;

PDL_API pdl_value *pdl_value_null(void);
PDL_API pdl_value *pdl_value_bool(bool b);
PDL_API pdl_value *pdl_value_int(int64_t i);
PDL_API pdl_value *pdl_value_float(double d);
/* Returns NULL when text is NULL, not UTF-8 or longer than 2 GiB. */
PDL_API pdl_value *pdl_value_text(const char *text);
PDL_API pdl_value *pdl_value_text_n(const char *text, size_t n_bytes);
PDL_API pdl_value *pdl_value_list(void);
PDL_API pdl_value *pdl_value_dict(void);
/* Makes an integer of any size from its digits in base 10 or 16, after an optional '-'. Returns
 * NULL for anything else. */
PDL_API pdl_value *pdl_value_int_text(const char *digits, int base);
/* Makes a date from a text such as "2024-01-31" or "2024-01-31T10:00:00". A time may have fractions
 * of a second, and an offset such as "+01:00" after it. Returns NULL when there is no such date. */
PDL_API pdl_value *pdl_value_date(const char *text);
/* pdl_value_ints makes a list of integers at once. pdl_value_tuple makes a tuple from the items of
 * a list. */
PDL_API pdl_value *pdl_value_ints(const int64_t *numbers, size_t n);
PDL_API pdl_value *pdl_value_tuple(const pdl_value *list);

/* Makes another handle of the same value. Returns NULL for NULL. */
PDL_API pdl_value *pdl_value_keep(const pdl_value *v);
PDL_API void pdl_value_drop(pdl_value *v); /* v may be NULL */

/* pdl_value_push adds an item to a list, and pdl_value_put sets an entry of a dict. The item is
 * copied; the caller keeps its handle. Both functions return false when `v` is of another kind, an
 * argument is NULL, or the key is not UTF-8. */
PDL_API bool pdl_value_push(pdl_value *v, const pdl_value *item);
PDL_API bool pdl_value_put(pdl_value *v, const char *key, const pdl_value *item);
/* Sets an entry under a key that need not be a C string: a scalar, a date, bytes, a tuple of these,
 * or a text that contains NULs. Returns false also when `key` cannot be a key. */
PDL_API bool pdl_value_put_at(pdl_value *v, const pdl_value *key, const pdl_value *item);

PDL_API pdl_kind pdl_value_kind(const pdl_value *v);
/* The three functions below return false when v is of another kind, or when the integer does not
 * fit. *out is then unchanged. pdl_value_get_float also accepts integers. */
PDL_API bool pdl_value_get_bool(const pdl_value *v, bool *out);
PDL_API bool pdl_value_get_int(const pdl_value *v, int64_t *out);
PDL_API bool pdl_value_get_float(const pdl_value *v, double *out);
/* Returns the text of a PDL_KIND_TEXT, terminated by a NUL. The text may contain other NULs, so
 * n_bytes (may be NULL) gets its length. Returns NULL for other kinds. The text lives as long as
 * this handle. */
PDL_API const char *pdl_value_get_text(const pdl_value *v, size_t *n_bytes);
/* Returns the number of bytes of a text, the number of items of a list, or of entries of a dict.
 * Returns 0 for other kinds. */
PDL_API size_t pdl_value_len(const pdl_value *v);
/* The three functions below return a new handle. pdl_value_at returns the i-th item of a list or
 * the i-th value of a dict, pdl_value_key_at the i-th key of a dict, and pdl_value_get the value
 * under a key. They return NULL when the item or the key does not exist. */
PDL_API pdl_value *pdl_value_at(const pdl_value *v, size_t i);
PDL_API pdl_value *pdl_value_key_at(const pdl_value *v, size_t i);
PDL_API pdl_value *pdl_value_get(const pdl_value *v, const char *key);
/* Walks through a list, dict or set. Before the first call, *i is 0, and *key and *item are NULL.
 * Returns true with the next item in *item and its key in *key; each call uses the two handles
 * again. For lists, `key` may be NULL. Returns false at the end; both handles are then dropped, and
 * set to NULL. A caller that stops before the end drops both handles.
 *
 *     size_t i = 0;
 *     pdl_value *key = NULL, *item = NULL;
 *     while (pdl_value_next(dict, &i, &key, &item)) look(key, item); */
PDL_API bool pdl_value_next(const pdl_value *v, size_t *i, pdl_value **key, pdl_value **item);
/* Writes all items of a list of n integers to `out`. Returns false, and writes nothing, when an
 * item is not an integer or does not fit. */
PDL_API bool pdl_value_get_ints(const pdl_value *v, int64_t *out, size_t n);
/* Returns the digits of an integer of any size in base 10 or 16, as a text value. Returns NULL for
 * other kinds. */
PDL_API pdl_value *pdl_value_get_int_text(const pdl_value *v, int base);
/* Returns the bytes of a PDL_KIND_BYTES, which live as long as this handle. Returns NULL for other
 * kinds. */
PDL_API const char *pdl_value_get_bytes(const pdl_value *v, size_t *n_bytes);
PDL_API bool pdl_value_is_tuple(const pdl_value *v);

/* Contexts are lists of messages for the functions above. A context is one message, a sequence of
 * parts in which each part sees the parts before it, or a set of parts that do not see each
 * other. */
typedef enum pdl_context_form {
    PDL_CONTEXT_NONE, /* the value is no context */
    PDL_CONTEXT_MESSAGE,
    PDL_CONTEXT_DEPENDENT, /* the empty context is dependent */
    PDL_CONTEXT_INDEPENDENT
} pdl_context_form;
PDL_API pdl_context_form pdl_value_context_form(const pdl_value *v);
/* Returns the parts as a list of contexts. Returns NULL unless the context is dependent or
 * independent. */
PDL_API pdl_value *pdl_value_context_parts(const pdl_value *v);
/* Makes a context. `parts` is a list of contexts and messages (dicts with role and content). When
 * `independent` is true, the parts do not see each other. Error: expression, when a part is neither
 * a context nor a message. */
PDL_API pdl_value *pdl_value_context(const pdl_value *parts, bool independent, pdl_error **error);

/* The origins of a value (docs/manual/policies.md). A value that a run returns has origins. The
 * parts that are taken out of the value have origins, too. A later run of the same engine that gets
 * the value as an input knows its origins. An input without origins gets the origin `data`. */
typedef enum pdl_origins {
    PDL_ORIGINS_NONE,  /* text of a program, or of the host program */
    PDL_ORIGINS_WHOLE, /* all parts have the same origins */
    PDL_ORIGINS_PARTS  /* a list or dict whose parts have different origins */
} pdl_origins;
PDL_API pdl_origins pdl_value_origins(const pdl_value *v);
/* Adds the origins of `from` to v and all of its parts. The host program calls this when it made v
 * from `from`. Returns false when an argument is NULL. */
PDL_API bool pdl_value_add_origins(pdl_value *v, const pdl_value *from);
/* Does the same for a value `from` of another engine, `source`, before v becomes an input of a task
 * of `engine`. Labels that policies have defined keep their names. When another thread uses that
 * engine, pass NULL as `source`; labels of policies are then left out. */
PDL_API bool pdl_engine_add_origins(pdl_engine *engine, pdl_value *v, const pdl_engine *source,
                                    const pdl_value *from);

/* Compares like `==` of the language. Returns false when an argument is NULL. */
PDL_API bool pdl_value_equal(const pdl_value *a, const pdl_value *b);

/* Errors: syntax, limit (nesting). */
PDL_API pdl_value *pdl_value_from_json(const char *text, size_t n_bytes, pdl_error **error);
/* Returns the part of a JSON text that is already certain. It is used to show an answer while the
 * answer streams. `text` is the text that has arrived so far. Later calls with more text only
 * extend the result: texts and lists grow, dicts get keys. Returns NULL while nothing is
 * certain. */
PDL_API pdl_value *pdl_value_from_partial_json(const char *text, size_t n_bytes);
/* Writes JSON as a text value. indent is the number of spaces for each level; 0 means that the text
 * has one line. Error: type when a part of v cannot be expressed in JSON. */
PDL_API pdl_value *pdl_value_to_json(const pdl_value *v, unsigned indent, pdl_error **error);
/* Writes YAML in block style as a text value. A value that YAML cannot express is written as its
 * text. */
PDL_API pdl_value *pdl_value_to_yaml(const pdl_value *v, pdl_error **error);
/* Returns the text that the command prints for this value, as a text value. */
PDL_API pdl_value *pdl_value_to_text(const pdl_value *v, pdl_error **error);

/* --- engine ----------------------------------------------------------------------------------- */

typedef struct pdl_engine_options {
    size_t size;
    const char *const *paths; /* more folders that are searched for imports */
    size_t n_paths;
    /* The maximum number of model calls that are open at a time. It counts for each task, or with
     * `shared` for all tasks together. 0 means 64. */
    unsigned jobs;
    void *user; /* passed to the callback `note` */
    /* Called when a loaded program uses old forms of the language. `text` is a note about the old
     * forms: one line, without a line break. The library does not call this after pdl_engine_free,
     * and the function must not free the engine. NULL means that notes are dropped. */
    void (*note)(void *user, const char *text, size_t n_bytes);
    bool shared; /* all tasks share one loop and its connections: see pdl_engine_step */
    /* defaults for the task options of the same names */
    const char *prices, *timeout;
    double max_rps, max_tokens_per_minute;
    /* The sandbox of code blocks, commands and tool servers: "code", or a file with a profile
     * (docs/manual/security.md). NULL means the value of PDL_SANDBOX. Without that variable there
     * is no sandbox, unless a policy or a block requires one. Confined code runs in a separate
     * process, even when a handler for code exists. */
    const char *sandbox;
    /* a machine without namespaces is accepted: Landlock, seccomp and limits suffice */
    bool sandbox_process;
    /* Files with policies, or names of built-in policies. A policy decides where values may go. The
     * policies of PDL_POLICY and of the program apply as well. When a policy requires an approval,
     * the host program gets a request of the kind approval. */
    const char *const *policies;
    size_t n_policies;
    bool no_sandbox; /* no sandbox is used even if PDL_SANDBOX is set */
} pdl_engine_options;

/* Makes an engine. options may be NULL for the defaults. */
PDL_API pdl_engine *pdl_engine_new(const pdl_engine_options *options, pdl_error **error);
PDL_API void pdl_engine_free(pdl_engine *engine);
/* Works as pdl_value_drop for a value that a task or program of this engine returned: its memory
 * returns to the engine at once. Many large results are dropped faster this way. v may be NULL. */
PDL_API void pdl_engine_drop_value(pdl_engine *engine, pdl_value *v);
/* Sets *has to whether a policy of the engine or of PDL_POLICY has a rule for this sink ("code",
 * "command", ...). Returns false on an error. Errors: usage when the sink does not exist, and the
 * errors of reading the policies. */
PDL_API bool pdl_engine_has_rule(pdl_engine *engine, const char *sink, bool *has,
                                 pdl_error **error);

/* --- what the host program answers itself ------------------------------
 *
 * A program asks the outside for things: a model call, the run of a code block, a line of input ...
 * A handler takes over the requests of one kind whose subject begins with a prefix; every subject
 * begins with "". When several handlers fit, the request goes to the handler with the longest
 * prefix. When prefixes are equal, it goes to the handler that was registered last.
 *
 * See docs/manual/embedding.md for the requests. Each row has the kind, the subject, the request
 * and the answer. A field with a question mark may be missing.
 *
 *   - model: its name; {model, platform, messages, parameters, schema, stream, processor?,
 *     parsed?}; text, {content, ...} with what an assistant's message may have (tool_calls ...) and
 *     finish_reason, logprobs, usage, or a chat completion in OpenAI's form
 *   - code: python or ipython; {lang, code, vars, cwd, session?}; the value of `result`
 *   - tool: the tool server; {server, op, name?, arguments?, method?, params?}, op: list, call or
 *     request; tools, {content, structured, text, is_error}, any
 *   - command: first word; {argv}; text, or {stdout, stderr, status}
 *   - input: the prompt; {prompt, multiline}; text, null at the end of input
 *   - read: the path; {path, shown?}; text
 *   - write: the path; {path, mode, text}; null
 *   - source: the path of an included program; {path, under?}; text, null when there is none
 *   - approval: the sink of the policy; {sink, name, arguments, text}; true or false
 *   - http: the address; {method, url, headers, body, auth?, timeout, max_bytes}; text, or {status,
 *     headers, type, charset, text, base64}
 *   - embed: the model; {model, input, parameters}; {embeddings, usage}: a vector for each text
 *   - sleep: {seconds}; null
 *   - now: {}; seconds since 1970
 *   - random: {}; an integer
 *
 * The handler answers, refuses or declines the request, at once or later; until then the task waits
 * for it. Every request is answered, refused or declined exactly once, even when the task does not
 * need it any more (it was cancelled or freed). To answer, refuse or decline a request also
 * releases it. */
typedef void pdl_handler_fn(void *user, pdl_request *request);

/* Registers a handler for tasks that are started from now on. Error: usage when there is no such
 * kind. */
PDL_API bool pdl_engine_handle(pdl_engine *engine, const char *kind, const char *prefix,
                               pdl_handler_fn *fn, void *user, pdl_error **error);

/* Returns the request as a dict, which lives as long as the request. */
PDL_API const pdl_value *pdl_request_data(const pdl_request *request);
/* Returns true when the task does not wait for the answer any more. */
PDL_API bool pdl_request_is_cancelled(const pdl_request *request);
/* Sends a piece of a streamed answer: text of a model, or output of code. The final answer must
 * still contain the whole text of a model. */
PDL_API bool pdl_request_piece(pdl_request *request, const char *text, size_t n_bytes);
/* Sends the answer; the caller keeps the handle. An answer of a form that does not fit becomes an
 * error of the program. */
PDL_API void pdl_request_answer(pdl_request *request, const pdl_value *answer);
/* Answers a request of kind code with `result`. `changed` is a dict with the new values of the
 * variables that the code changed in place, such as a list to which it appended. `changed` may be
 * NULL. */
PDL_API void pdl_request_answer_code(pdl_request *request, const pdl_value *result,
                                     const pdl_value *changed);
/* Reports a failure: kind is one of the kinds of errors, such as "rate_limit"; NULL or an unknown
 * kind means "runtime". message says what happened. A program can handle the failure with
 * `fallback` and `retry`. */
PDL_API void pdl_request_refuse(pdl_request *request, const char *kind, const char *message);
/* Reports a failure with the classes of an exception: the class and then its bases, as in "A,B,C".
 * `retry: {exceptions: ...}` compares these classes. */
PDL_API void pdl_request_raise(pdl_request *request, const char *kind, const char *classes,
                               const char *message);

/* Passes the request to the next handler that fits, and to the library when no handler is left.
 * The request is then released, as after an answer. */
PDL_API void pdl_request_decline(pdl_request *request);

/* Makes a value of a function of the host program. A program gets it among its inputs, and
 * expressions call it: ${ name(1, key=2) }. The data of its requests is {args: [...], kwargs:
 * {...}}; the answer may be any value. Returns NULL when an argument is NULL. */
PDL_API pdl_value *pdl_value_function(const char *name, pdl_handler_fn *fn, void *user);
/* Works as pdl_value_function, with a destructor. release (may be NULL) is called once with `user`,
 * when no handle and no run has the value any more. It is called on the thread that released the
 * value last, perhaps inside of another function of the library. It must not call the library. */
PDL_API pdl_value *pdl_value_function_with(const char *name, pdl_handler_fn *fn, void *user,
                                           void (*release)(void *user));
/* Returns the `user` of a function that was made with this fn. Returns NULL for every
 * other value. */
PDL_API void *pdl_value_function_of(const pdl_value *v, pdl_handler_fn *fn);

/* --- objects of the host program ------------------------------
 *
 * An object of the host program travels through programs by reference and is the same object when
 * it comes back. Expressions use the object through the functions below. Each of them may be NULL:
 * an expression that needs it then fails with an error of PDL ("'Hive' object is not iterable").
 *
 * Functions that get a request answer it as handlers do, at once or later. For `attribute` and
 * `item`, the answer NULL means "not found"; the other function of the two is then called with the
 * same name. Functions without a request return their result at once. On failure they return false
 * or NULL and may set *error (pdl_error_new). The functions are called on the thread that uses the
 * engine or the value, inside of functions of the library. They may make and read values, but may
 * not step or wait for the task that calls them. The arguments live only during the call. Those of
 * a request live as long as the request (pdl_request_data: {op, object, ...}). */

/* The traits of objects for which templates have tests, such as `x is callable`. */
typedef enum pdl_object_trait {
    PDL_OBJECT_CALLABLE = 1,
    PDL_OBJECT_ITERABLE = 2,
    PDL_OBJECT_SEQUENCE = 4,
    PDL_OBJECT_MAPPING = 8,
    PDL_OBJECT_NUMBER = 16
} pdl_object_trait;

typedef struct pdl_object_ops {
    size_t size;
    /* Returns the name of the object's type, such as "Hive", and sets the traits. The name is
     * copied. Called once, when the value is made. When the function is NULL, the name is "object",
     * and the traits are those of the functions that are set. */
    const char *(*type_name)(void *object, unsigned *traits);
    void (*attribute)(void *object, const char *name, pdl_request *request); /* x.name */
    void (*item)(void *object, const pdl_value *key, pdl_request *request);  /* x[key] */
    /* x(1, key=2): args is a list, kwargs a dict. */
    void (*call)(void *object, const pdl_value *args, const pdl_value *kwargs,
                 pdl_request *request);
    /* x.name(1, key=2) */
    void (*call_method)(void *object, const char *name, const pdl_value *args,
                        const pdl_value *kwargs, pdl_request *request);
    /* The answer is a list of the items. */
    void (*iterate)(void *object, pdl_request *request);
    /* Performs every other operation. `operation` is a dict: {op: "binary", operator, left, right,
     * negated?}, {op: "unary", operator, object}, {op: "slice", object, args: [from, to, step]},
     * {op: "filter", name, args, kwargs, operator?}. The object is one of the operands, or inside
     * of one. */
    void (*operate)(void *object, const pdl_value *operation, pdl_request *request);
    /* returns false when the object has no length */
    bool (*length)(void *object, size_t *out);
    /* NULL means that the object is true unless its length is 0 */
    bool (*truth)(void *object, bool *out, pdl_error **error);
    /* Returns the text of Python's str() or repr(). */
    pdl_value *(*text)(void *object, bool repr, pdl_error **error);
    /* Called when both objects have this function. NULL means that an object equals only itself. */
    bool (*equal)(void *object, void *other);
    void (*release)(void *object); /* called like release of pdl_value_function_with */
} pdl_object_ops;

/* Makes a value of an object. ops is copied. Returns NULL when object is NULL, the name of the type
 * is empty or not UTF-8, or `size` is not set; `release` is then not called. */
PDL_API pdl_value *pdl_value_object(void *object, const pdl_object_ops *ops);
/* Returns the object of a value that was made with these ops. Returns NULL for every
 * other value. */
PDL_API void *pdl_value_object_of(const pdl_value *v, const pdl_object_ops *ops);

/* --- programs --------------------------------------------------------------------------------- */

/* Loads a program from a file. Errors: io, syntax, schema. error->text has all problems, and the
 * place is that of the first problem. */
PDL_API pdl_program *pdl_load_file(pdl_engine *engine, const char *path, pdl_error **error);
/* Loads a program from text. `name` is the name in messages; relative paths begin in its folder.
 * When `name` is NULL, relative paths begin in the working directory. */
PDL_API pdl_program *pdl_load_text(pdl_engine *engine, const char *text, size_t n_bytes,
                                   const char *name, pdl_error **error);
/* Loads a program from a tree of dicts, lists, texts and other data, as pdl_program_tree returns
 * it. Line numbers in messages refer to the YAML text of the tree (pdl_value_to_yaml,
 * pdl_program_text). error->path names the part of the tree that is wrong. Errors: syntax, schema,
 * and usage when the tree contains a function or an object. */
PDL_API pdl_program *pdl_load_value(pdl_engine *engine, const pdl_value *tree, const char *name,
                                    pdl_error **error);
PDL_API void pdl_program_free(pdl_program *program);
/* Returns the text that was loaded. Returns NULL for NULL. */
PDL_API pdl_value *pdl_program_text(const pdl_program *program);

/* Returns the program as a tree of dicts, lists and texts, in the normal form of `pdl dump`,
 * without defaults. Loading the tree gives an equal program. Returns NULL for NULL. */
PDL_API pdl_value *pdl_program_tree(const pdl_program *program);

/* Finds problems of a program without running it. Returns a list of {file, line, column, end_line,
 * end_column, severity: error or warning, code, message, hint}, which is empty when the program has
 * no problems. Error: io. */
PDL_API pdl_value *pdl_check_file(pdl_engine *engine, const char *path, pdl_error **error);
PDL_API pdl_value *pdl_check_text(pdl_engine *engine, const char *text, size_t n_bytes,
                                  const char *name, pdl_error **error);
/* Finds problems of a loaded program. When the program was loaded from a tree, each dict also has a
 * `path`. */
PDL_API pdl_value *pdl_check_program(pdl_engine *engine, const pdl_program *program,
                                     pdl_error **error);

/* Returns the requests that the program would send to models with these inputs, without sending
 * them. The result is the output of `pdl explain --json` (docs/manual/calls.md). inputs is a dict,
 * or NULL. `allow` names the actions that are executed nevertheless: some of
 * "code,command,read,write,input,tool,http". NULL allows no action. Functions and objects among the
 * inputs are used. Errors: usage, and those of a run. */
PDL_API pdl_value *pdl_explain(pdl_engine *engine, pdl_program *program, const pdl_value *inputs,
                               const char *allow, pdl_error **error);

/* Returns the JSON Schema of the language. */
PDL_API pdl_value *pdl_schema_of_language(void);
/* Returns the functions, filters and tests of expressions under the headings of
 * docs/manual/builtins.md. The result is a dict with an entry for each heading. The value of an
 * entry is a dict name -> {parameters, doc}. */
PDL_API pdl_value *pdl_builtins_of_language(void);

/* --- tasks ------------------------------------------------------------------------------------ */

/* Says what a run sends to task_options.text or task_options.message while it runs. */
typedef enum pdl_output {
    PDL_OUTPUT_NONE,   /* only the text that the program prints itself */
    PDL_OUTPUT_RESULT, /* the result, as it arrives */
    PDL_OUTPUT_CONTEXT /* messages, to task_options.message */
} pdl_output;

typedef enum pdl_state {
    PDL_TASK_WAITING, /* the task continues when something outside of it has happened */
    PDL_TASK_DONE,
    PDL_TASK_FAILED
} pdl_state;

/* An event of the run. All members live only during the call. */
typedef struct pdl_report {
    size_t size;
    const char *kind;  /* "block_begin", "effect", "note", ...: see docs/manual/embedding.md */
    const char *place; /* the id of the block, "text.0.if.then"; "" outside of blocks */
    const char *file;  /* the file of the block */
    unsigned line;
    const char *text; /* the text, terminated by a NUL; "" when the event has no text */
    size_t n_text;
    const char *role;       /* role of a message */
    const char *effect;     /* the kind of the request, for effect, piece and reply */
    const pdl_value *value; /* set for block_end, field and message; otherwise NULL */
    const pdl_error *error; /* may be NULL */
    unsigned number;        /* the number of an attempt, a case or an iteration */
    const char *look;       /* the source of a text: "model", "code", or "" for the program */
    /* the text comes from outside the program: neutralise it before it is written to a terminal */
    bool untrusted;
} pdl_report;

/* Makes a run durable, so that it survives the end of its process (docs/manual/durable-runs.md). */
typedef struct pdl_task_durable {
    size_t size;
    /* The id of a run in the folder of runs ($PDL_RUNS), or the path of a file. A text with a slash
     * is a path. */
    const char *run;
    /* When it is set, an existing run continues. Otherwise a new run begins, and an existing run is
     * an error. */
    bool resume;
    /* this is faster, but the run survives only the end of the process, and not a power cut */
    bool process_only;
    /* When a `read` gets no line, or when the run cannot get an approval, the run ends with an
     * error of kind "parked". pdl_runs_answer answers the question, and then the run can be
     * resumed. */
    bool park;
    bool provisional; /* `text` gets pieces of answers before they are stored */
    /* with `resume`: blocks of Python code may run again, to restore the state of the
     * interpreter */
    bool rebuild;
    /* with `resume`: a request that differs from the recorded one ends the run with an error */
    bool changed_fails;
    bool take_over; /* with `resume`: ignores that another process may own the run */
    /* With `resume`: what happens to actions that began and were not finished. The actions at the
     * places in `again` are executed again; the place "all" means every place. An entry
     * "PLACE=JSON" of `skip` gives the action at PLACE the result JSON. */
    const char *const *again, *const *skip;
    size_t n_again, n_skip;
} pdl_task_durable;

typedef struct pdl_task_options {
    size_t size;
    const pdl_value *inputs; /* dict of variables; may be NULL */
    pdl_output output;
    const char *record; /* a journal is written into this new file */
    const char *replay; /* this journal answers every request, and nothing is sent */
    bool trace;         /* keeps the data for pdl_task_trace */
    bool blocks;        /* reports blocks and fields as well */
    /* passed to the callbacks; they may cancel the task, but must not step it or wait for it */
    void *user;
    /* gets the standard output of the program */
    void (*text)(void *user, const char *text, size_t n_bytes);
    void (*error_text)(void *user, const char *text,
                       size_t n_bytes); /* gets the error output and the notes of the program */
    void (*message)(void *user, const char *role, const char *text,
                    size_t n_bytes); /* called when output is PDL_OUTPUT_CONTEXT */
    void (*report)(void *user, const pdl_report *report);
    /* The options from here to max_tokens_per_minute are those of the command with these names, in
     * the same words (docs/manual/calls.md). NULL and 0 mean that the option is not set. */

    /* The file of replies that runs share. A missing file is made. A replay does not
     * use the file. */
    const char *cache;
    /* The limits of the run, some of "calls=10,tokens=5000,cost=0.5,seconds=60". */
    const char *budget;
    /* The JSON file with the prices of models. NULL means the file of PDL_PRICES, if the variable
     * is set. */
    const char *prices;
    /* The time limits of model calls: seconds, or "connect=S,first=S,idle=S,total=S". */
    const char *timeout;
    double max_rps; /* maximum number of requests to models in a second */
    double max_tokens_per_minute;
    /* Called once, with `user`, when the task has ended. The step, wait or cancel that notices the
     * end calls the function, which may read the result of the task, and may free the task. */
    void (*done)(void *user, pdl_task *task);
    /* The task has a separate loop, connections and rates even if options.shared is set. So a
     * callback of another task of the engine may step this task and wait for it; the other task
     * waits meanwhile. */
    bool alone;
    /* Makes the run durable; borrowed for the call. With `resume` the inputs come from the journal.
     * Inputs of the same name replace the recorded inputs, like -d of `pdl resume`. `text`,
     * `error_text` and `message` are called when all answers that they depend on are stored. A task
     * can be resumed when it was freed or cancelled before its end. NULL means that the run is not
     * durable. */
    const pdl_task_durable *durable;
    /* Another thread or a signal handler sets this number when the run must end, even in the middle
     * of one operation. The error is of kind "interrupt" for SIGINT, otherwise "terminated". The
     * number is borrowed until the task is freed. May be NULL. */
    const volatile int *interrupt;
    /* Policies for this task, in addition to the policies of the engine and named in the same way.
     * The text is borrowed for the call. */
    const char *const *policies;
    size_t n_policies;
    /* The sandbox of code, commands and tool servers of this task: "code", or a file with a
     * profile. The sandbox of the engine applies, too. NULL and "" add no sandbox. A handler of the
     * engine that runs code still gets the requests, and declines them. */
    const char *sandbox;
    /* The trace has whole lists of messages, and only members that the reference writes, for
     * programs that read the reference's traces. */
    bool trace_whole;
} pdl_task_options;

/* Starts a run, which does nothing before the first step. options may be NULL for the defaults.
 * Errors: usage, io, replay, config (an invalid table of prices). */
PDL_API pdl_task *pdl_task_start(pdl_engine *engine, pdl_program *program,
                                 const pdl_task_options *options, pdl_error **error);
/* Frees the task and cancels its open requests. When a callback of the task calls this, the task is
 * freed after the callback has returned. */
PDL_API void pdl_task_free(pdl_task *task);

/* Runs the parts of the task that need not wait. A program with an event loop steps again when the
 * descriptor of pdl_task_fd is readable, when pdl_task_deadline_ms have passed, or when a request
 * was answered. */
PDL_API pdl_state pdl_task_step(pdl_task *task);
/* Steps the task until it ends, or until timeout_ms have passed (-1: no limit). */
PDL_API pdl_state pdl_task_wait(pdl_task *task, int timeout_ms);
/* Ends the run with an error of kind "interrupt". Callbacks may call this. */
PDL_API void pdl_task_cancel(pdl_task *task);
/* Makes pdl_task_wait check for answers soon, before it waits again. Any thread and signal handlers
 * may call this. */
PDL_API void pdl_task_wake(pdl_task *task);

PDL_API pdl_state pdl_task_state(const pdl_task *task);
/* returns -1 when the task has no descriptor */
PDL_API int pdl_task_fd(const pdl_task *task);
PDL_API int pdl_task_deadline_ms(const pdl_task *task); /* returns -1 when the task has no limit */

/* --- tasks on one loop ------------------------------
 *
 * With pdl_engine_options.shared, all tasks of an engine run on one loop, at most 7168 at a time.
 * They share connections, Python workers, tool servers and what is known of the rates of services.
 * The environment and `.env` are read when the first of them starts. A step of one task, or a wait
 * for it, continues all tasks. So a program with its own loop watches the engine and not the tasks,
 * and task_options.done reports which tasks have ended. All callbacks are called inside of a step,
 * on its thread. A callback may start, cancel and free tasks. When it steps a task, nothing
 * happens, unless the task is `alone`. The options timeout, prices, max_rps and
 * max_tokens_per_minute of a task are errors then, because they are options of the engine. */

/* Runs the parts of all tasks that need not wait. Then waits at most timeout_ms for an event; 0
 * does not wait, and -1 waits until no task waits any more. Returns the number of tasks that still
 * wait; without options.shared it returns 0. */
PDL_API size_t pdl_engine_step(pdl_engine *engine, int timeout_ms);
/* The engine has to be stepped again when the descriptor is readable, when the time has passed, or
 * when a request was answered. pdl_engine_fd returns -1 when no task was started;
 * pdl_engine_deadline_ms returns -1 when there is no limit. */
PDL_API int pdl_engine_fd(const pdl_engine *engine);
PDL_API int pdl_engine_deadline_ms(const pdl_engine *engine);

/* Inside of a callback of a task, returns `user` of the options of that task. The same is true in
 * callbacks of functions and objects of the host program. Returns NULL outside of callbacks, and
 * for a task that was freed. */
PDL_API void *pdl_engine_current_user(const pdl_engine *engine);

/* pdl_task_result, pdl_task_variables, pdl_task_messages and pdl_task_context are for a task whose
 * state is PDL_TASK_DONE. For other tasks they fail with an error of kind usage, or with the error
 * of the run. They return new handles. */
PDL_API pdl_value *pdl_task_result(const pdl_task *task, pdl_error **error);
/* Among the variables, `pdl_context` is the context, `stdlib` is the library, and `pdl_usage` is
 * the result of pdl_task_usage. The program defines all other variables. */
PDL_API pdl_value *pdl_task_variables(const pdl_task *task, pdl_error **error);
PDL_API pdl_value *pdl_task_messages(const pdl_task *task, pdl_error **error);
/* Returns the messages as a context. */
PDL_API pdl_value *pdl_task_context(const pdl_task *task, pdl_error **error);
/* Returns {model_calls, completion_tokens, prompt_tokens} so far. Returns NULL for NULL. */
PDL_API pdl_value *pdl_task_usage(const pdl_task *task);
/* Returns the sum of the factors that the run has met so far. Returns 0 for NULL. */
PDL_API double pdl_task_score(const pdl_task *task);
/* Returns the trace as a text value of JSON, after the end. Error: usage when options.trace was not
 * set. */
PDL_API pdl_value *pdl_task_trace(const pdl_task *task, pdl_error **error);
/* Makes a page for people from a trace, and returns it as a text value: one HTML document that
 * needs no network and no server. trace is the text of pdl_task_trace, or of a file that the
 * command or the reference wrote. name is the title. source is the text of the program; when it is
 * NULL, the page shows the program of the trace. Error: syntax when the text has no JSON object. */
PDL_API pdl_value *pdl_trace_page(const char *trace, size_t n_bytes, const char *name,
                                  const char *source, pdl_error **error);
/* Returns the error after PDL_TASK_FAILED, otherwise NULL. The error lives as long as the task. */
PDL_API const pdl_error *pdl_task_error(const pdl_task *task);

/* --- functions of programs ------------------------------
 *
 * A function that a program has defined is a value among its variables, or its result. It can be
 * called as long as a handle of it exists, even after the task has ended, but only in the same
 * engine. */

/* Starts a call: a task that yields the result of the function. args is a list, and kwargs is a
 * dict with names of parameters; both may be NULL. Functions and objects of the host program can be
 * called as well. options->inputs must be NULL. A callback of another task that waits for the call
 * has to set options->alone. Errors: usage, and those of pdl_task_start. */
PDL_API pdl_task *pdl_value_call(pdl_engine *engine, const pdl_value *function,
                                 const pdl_value *args, const pdl_value *kwargs,
                                 const pdl_task_options *options, pdl_error **error);
/* Returns the declaration of a program's function, in the form in which models get it: {type:
 * function, function: {name, description, parameters: JSON Schema}}. Returns NULL for every other
 * value. */
PDL_API pdl_value *pdl_value_signature(const pdl_value *v);

/* Starts a task, waits for its end, and returns its result. inputs may be NULL. */
PDL_API pdl_value *pdl_run_program(pdl_engine *engine, pdl_program *program,
                                   const pdl_value *inputs, pdl_error **error);

/* --- durable runs ----------------------------------------------------------------------------- */

/* Returns all runs of the folder of runs ($PDL_RUNS, else $XDG_STATE_HOME/pdl/runs, else
 * ~/.local/state/pdl/runs), the newest first: a list of {id, program, state, started, ended, calls,
 * tokens, cost, place}. The state is running, ended, failed, killed or waiting. Errors: io, config.
 */
PDL_API pdl_value *pdl_runs_list(pdl_error **error);
/* Returns one run with the members of pdl_runs_list and {text, folder, questions}: the text of the
 * program, the folder in which the run began, and its open questions, a list of {place, kind,
 * text}. run is an id, or the path of a file. */
PDL_API pdl_value *pdl_runs_show(const char *run, pdl_error **error);
/* Answers a question of a run that waits. place may be NULL when only one question is open. Errors:
 * io, and runtime when no question is open, when place is NULL and several questions are open, or
 * when the run is running. Returns false when it fails. */
PDL_API bool pdl_runs_answer(const char *run, const char *place, const char *text,
                             pdl_error **error);
/* Removes a run that is not running. Returns false when it fails. */
PDL_API bool pdl_runs_remove(const char *run, pdl_error **error);

/* --- memory ----------------------------------------------------------------------------------- */

/* Sets the source of memory for the whole process. Call this before every other function. Memory is
 * aligned like malloc's. All three functions are given, or all are NULL for the default. Returns
 * false otherwise. */
PDL_API bool pdl_set_allocator(void *(*alloc)(size_t n), void *(*resize)(void *p, size_t n),
                               void (*release)(void *p));
/* Sets what the library does when memory runs out, for the whole process.
 *
 * When an allocation inside of the library gets no memory, fn is called with the number of
 * requested bytes, on the requesting thread. It may release memory of the host program (caches, a
 * reserve kept for this) and return true. The allocation is then tried again, as often as fn
 * returns true. When it returns false, or fn is NULL, a program that is running ends with an error
 * of kind "limit" that names a place of the program. Every run keeps two megabytes aside for that.
 * When no program runs, or these two megabytes are not enough, the process prints `pdl: error: out
 * of memory (N bytes asked for)` on standard error. The message also has the place of the block, if
 * there is one. Then the process ends with exit(1): functions registered with atexit run, child
 * processes of the library are killed, and output files and journals keep what was written
 * completely. So fn is also the place for final steps, such as saving work.
 *
 * fn must not leave by longjmp or an exception and must not use pdl_ functions, because the library
 * is in the middle of an operation. A host process that must not end should limit what programs may
 * use (jobs, limits of the language, see docs/manual/embedding.md), or run engines in a separate
 * process.
 *
 * A program that asks for far too much (a text over 2 GiB, 'x' * 10**12) does not run out of
 * memory: it ends with an error of kind "limit". This and pdl_set_allocator also direct the memory
 * of GMP and libuv, which otherwise abort when there is none. A host that itself uses GMP or libuv
 * calls both functions before it uses these libraries. */
PDL_API void pdl_set_out_of_memory(bool (*fn)(size_t n));

#ifdef __cplusplus
}
#endif

#endif
