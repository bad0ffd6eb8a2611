/* host.h -- the world that answers READ, WRITE, INPUT, SOURCE, SLEEP, NOW, RANDOM and APPROVAL:
 * files, standard input, time, questions to a person.
 *
 * Paths in requests are opened unchanged: the machine has already joined them with the directory of
 * the program. A path that is still relative starts at the working directory of the process. Other
 * effects are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_HOST_HOST_H
#define PDL_HOST_HOST_H

#include "effect/effect.h"
#include "io/loop.h"

/* Options, each of which may be zero. */
typedef struct pdl_host_options {
    /* The terminal on which prompts are shown and lines may be edited; borrowed. When it is NULL,
     * standard input is read without prompts and without editing. */
    const struct pdl_line_terminal *terminal;
    /* Opens a path in a special way. Sets *other when the path needs no special way, so that it is
     * opened as usual. When the function is NULL, all paths are opened as usual. */
    int (*open)(void *open_user, const pdl_effect *e, const char *path, int flags, unsigned mode,
                bool *other);
    void *open_user;
    bool has_input_fd;          /* when false, descriptor 0 is read instead of input_fd */
    int input_fd;               /* borrowed */
    const pdl_secrets *secrets; /* secrets that are redacted in questions; borrowed; may be NULL */
} pdl_host_options;

/* Requests, beyond the table of effect.h:
 * `read`  "\r\n" and "\r" become "\n". Errors (PDL_E_io): "file SHOWN not found" with py_class
 *         "FileNotFoundError,OSError,Exception", "Fail to open file SHOWN" for the rest (a
 *         directory, no permission, bytes that are not UTF-8).
 * `write` Files stay open under their path until a request with close: true (text may then be
 *         empty) or the end of the world. The mode is Python's (w, a, x, with + and t). The
 *         encoding is null or one of utf-8, utf-8-sig, ascii, latin-1, utf-16, utf-16-le and
 *         utf-16-be, in Python's spellings.
 *         Every request reaches the file before its reply. Errors have Python's class and text:
 *         LookupError "unknown encoding: foo", ValueError "invalid mode: 'q'", FileExistsError,
 *         UnicodeEncodeError.
 * `input` The reply is one line without its end, or null at the end of input; multiline: each line
 *         + "\n" until the end. Inputs that wait are answered in order. Bytes that are not
 *         UTF-8 become U+FFFD.
 * `sleep` The seconds may be an int or a float; a sleep that is not positive ends at once.
 *
 * Borrows loop, which must outlive the world. Close the world with ops->close. */
pdl_world *pdl_host_world_new(pdl_loop *loop, const pdl_host_options *opt);

/* Answers the input effect with this id at once, from another source than standard input. text
 * (borrowed) is one line, or all lines for a question that reads to the end. Returns false when no
 * such question waits. */
bool pdl_host_answer_input(pdl_world *w, uint32_t id, pdl_str text);

#endif
