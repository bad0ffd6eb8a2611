/* own_names.c -- a program whose functions have short names links against libpdl.a, because all
 * names inside of the library begin with pdl_. Prints `N passed, N failed`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pdl.h>
#include <stdio.h>
#include <string.h>

/* Each of these was once a function of the library. They are external, and say what they are. */
#define OWN(name)                                                                                  \
    const char *name(void);                                                                        \
    const char *name(void) { return #name; }
/* clang-format off */
#define NAMES(X)                                                                                   \
    X(emit) X(patch) X(force) X(here) X(span) X(segment) X(db_open) X(db_close) X(sql_open)        \
    X(sql_run) X(host_text) X(input_start) X(write_file) X(load_text) X(load_block) X(check_block) \
    X(scope_add) X(config_read) X(session_new) X(session_free) X(answer_json) X(put_error)         \
    X(ask_model) X(call_new) X(call_free) X(fiber_new) X(start_effect) X(op_call) X(out_text)      \
    X(check_value) X(python_start) X(command_start) X(wire_put) X(job_find) X(debug_program)
/* clang-format on */
NAMES(OWN)

int main(void) {
    const char *text = "text: \"${ 6 * 7 }\"";
    pdl_error *error = NULL;
    pdl_engine *engine = pdl_engine_new(NULL, &error);
    pdl_program *program = engine ? pdl_load_text(engine, text, strlen(text), NULL, &error) : NULL;
    pdl_value *result = program ? pdl_run_program(engine, program, NULL, &error) : NULL;
    const char *said = result ? pdl_value_get_text(result, NULL) : NULL;
    bool good = said && strcmp(said, "42") == 0 && strcmp(emit(), "emit") == 0 &&
                strcmp(session_new(), "session_new") == 0;
    if (error) pdl_error_print(error, stderr);
    pdl_value_drop(result);
    pdl_program_free(program);
    pdl_engine_free(engine);
    pdl_error_free(error);
    printf("%d passed, %d failed\n", good, !good);
    return good ? 0 : 1;
}
