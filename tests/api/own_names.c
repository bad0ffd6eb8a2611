/* own_names.c -- a program that has short names of its own, as programs have, links against
 * libpdl.a: what the library keeps for itself begins with pdl_ too. Prints `N passed, N failed`.
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
OWN(emit)
OWN(patch)
OWN(force) OWN(here) OWN(span) OWN(segment) OWN(db_open) OWN(db_close) OWN(sql_open) OWN(sql_run)
    OWN(host_text) OWN(input_start) OWN(write_file) OWN(load_text) OWN(load_block) OWN(check_block)
        OWN(scope_add) OWN(config_read) OWN(session_new) OWN(session_free) OWN(answer_json)
            OWN(put_error) OWN(ask_model) OWN(call_new) OWN(call_free) OWN(fiber_new)
                OWN(start_effect) OWN(op_call) OWN(out_text) OWN(check_value) OWN(python_start)
                    OWN(command_start) OWN(wire_put) OWN(job_find) OWN(debug_program)

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
