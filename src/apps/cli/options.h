/* options.h -- commands and options of `pdl` as tables, which parsing, help, man page and
 * completion read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_OPTIONS_H
#define PDL_CLI_OPTIONS_H

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/option_ids.h"

typedef enum {
    OPT_FLAG,     /* no value */
    OPT_VALUE,    /* a value */
    OPT_VALUES,   /* a value, and the option may be repeated */
    OPT_MAYBE,    /* the value may be left out; when it is given, it is the next word */
    OPT_ATTACHED, /* the value may be left out, and is only given as --name=VALUE */
} opt_kind;

/* The bits control the use of an option by pdl resume. Options without a bit belong to one process:
 * addresses, which may have keys, and files that the process writes. */
typedef enum {
    KEPT_RUN = 1,     /* the option shapes the run: the journal of a durable run keeps it */
    KEPT_SEARCH = 2,  /* the state of a durable search keeps the option */
    KEPT_INFER = 4,   /* the journal of an inference keeps the option */
    GIVEN_SEARCH = 8, /* the resume of a search may give the option */
    GIVEN_INFER = 16, /* the resume of an inference may give the option: the inference gets it */
    FOR_INFER = 32    /* the resume of an inference may give the option, for its journal */
} opt_resume;

typedef struct option {
    opt_id id;
    const char *name; /* the long name, without dashes */
    char letter;      /* the short name; may be 0 */
    opt_kind kind;
    unsigned resume;     /* bits of opt_resume */
    const char *value;   /* placeholder of the value */
    const char *choices; /* such as "{a,b,c}"; may be NULL */
    const char *doc;
} option;

/* Returns true when the option takes a value that may not be left out. */
static inline bool option_needs_value(const option *o) {
    return o->kind == OPT_VALUE || o->kind == OPT_VALUES;
}
/* Returns a text that follows doc in help, manual page and completion. */
static inline const char *option_note(const option *o) {
    return o->kind == OPT_VALUES ? ". May be repeated" : "";
}

struct command;
typedef struct arguments {
    const struct command *command;
    bool given[OPT_COUNT];
    pdl_str value[OPT_COUNT]; /* p is NULL when the option is given without a value */
    PDL_VEC(pdl_str) files;
    /* Each option with a value, in the order of the command line. Options that may be repeated are
     * read from this list. */
    PDL_VEC(struct given_value {
        opt_id id;
        pdl_str value;
    })
    values;
    PDL_VEC(pdl_str) policies; /* the values of --policy */
    PDL_VEC(pdl_str) args;     /* operands that a run passes to its program */
    PDL_VEC(char *) owned;     /* texts that members point to */
    bool is_reference;         /* the command was called by a name of the reference */
    /* the folder of the search that is continued; empty for a new search */
    pdl_str continued;
    /* the inference that is continued, or NULL */
    struct durable_command *inference;
} arguments;

typedef struct command {
    const char *name; /* "run" is the command when no command word is given */
    int (*run)(const arguments *a);
    const opt_id *options; /* ended by OPT_COUNT */
    const char *operands;  /* "FILE", "FILE..." */
    const char *doc;
    const char *text; /* further lines of its help; may be NULL */
} command;

/* help/overview.c. The list of commands, with one line each. */
extern const char pdl_cli_overview[];
const command *pdl_cli_commands(size_t *n);
const option *pdl_cli_option_of(opt_id id);
/* Returns true when the option has one of these bits of opt_resume. */
static inline bool pdl_cli_resume_has(opt_id id, unsigned bits) {
    return (pdl_cli_option_of(id)->resume & bits) != 0;
}

/* Reads the command line. Returns false when the command line is wrong. Then *message (owned by the
 * caller) has the reason, and the exit code is 2. *word is the command word, or NULL. */
bool pdl_cli_arguments_read(int argc, char **argv, arguments *out, const char **word,
                            char **message);
/* program_operand.c. Finds the program among the operands. The operand X may mean X.pdl, and the
 * program may be on standard input. Returns like pdl_cli_arguments_read. */
bool pdl_cli_find_program(arguments *a, const char *word, char **message);
/* named_files.c. Checks that the programs and the files of options exist. Returns like
 * pdl_cli_arguments_read. */
bool pdl_cli_finds_files(const arguments *a, char **message);
/* overwrites.c. Checks that no file is both read and written. Returns like
 * pdl_cli_arguments_read. */
bool pdl_cli_spares_files(const arguments *a, char **message);
typedef PDL_VEC(char *) pdl_cli_names;
/* Appends the names of the files that options let the command write, owned. A name may be there
 * twice. */
void pdl_cli_written_files(const arguments *a, pdl_cli_names *out);
/* Adds the names of the files that options read, which confined code must not change. Some of the
 * names may be no files. The names are owned. */
void pdl_cli_input_files(const arguments *a, pdl_cli_names *out);
/* standard_streams.c. Returns the value of an option. Where the value is `-` and its reader or
 * writer knows only names of files, returns /dev/stdin or /dev/stdout. */
pdl_str pdl_cli_stream_of(opt_id id, pdl_str value);
/* standard_streams.c. Returns true for `--output -` of a command that prints its result anyway. */
bool pdl_cli_is_default_output(const arguments *a, opt_id id, pdl_str value);
/* standard_streams.c. Checks that at most one argument is read from standard input. Returns like
 * pdl_cli_arguments_read. */
bool pdl_cli_reads_stdin_once(const arguments *a, char **message);
/* host_option.c. Returns the address of --host without the brackets that an address of IPv6 may
 * have; 127.0.0.1 when it is absent. */
pdl_str pdl_cli_host(const arguments *a);
/* host_option.c. Appends the beginning of the address, http://HOST:PORT, at which programs of this
 * machine reach a server with --host. */
void pdl_cli_put_local_origin(const arguments *a, uint16_t port, pdl_buf *out);
void pdl_cli_arguments_fini(arguments *a);
/* Returns a word in the form that messages show; an empty word is shown as ''. */
static inline pdl_str pdl_cli_visible(pdl_str word) { return word.n ? word : PDL_STR("''"); }
void pdl_cli_help_write(const command *c, pdl_buf *out);
/* help_name.c. Writes the help about a rule, an option, an error, a message, a field or a builtin.
 * Returns false for any other name. */
bool pdl_cli_help_name(pdl_str name, pdl_buf *out);
/* Returns the command, option or rule whose name is most like this one; absent when no name is like
 * it. */
pdl_str pdl_cli_help_nearest(pdl_str name);

#include "cli/commands.h"

#endif
