/* embed.c -- PDL inside a C program: its own model and function, text as it comes, errors.
 *
 *     cc embed.c $(pkg-config --cflags --libs libpdl) -o embed && ./embed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include <pdl.h>

static const char program_text[] =
    "text:\n"
    "- \"How is the weather in ${ city }?\\n\"\n"
    "- model: local/weather\n"
    "  input: \"${ city }: ${ temperature(city, unit='C') } degrees\"\n"
    "  def: answer\n"
    "- \"\\nThat was ${ answer | length } characters.\\n\"\n";

/* A model of our own: it gets messages and answers with text. */
static void answer_model(void *user, pdl_request *request) {
    (void)user;
    pdl_value *messages = pdl_value_get(pdl_request_data(request), "messages");
    pdl_value *last = pdl_value_at(messages, pdl_value_len(messages) - 1);
    pdl_value *content = pdl_value_get(last, "content");
    char text[200];
    snprintf(text, sizeof text, "I hear it is %s there.", pdl_value_get_text(content, NULL));
    pdl_value *answer = pdl_value_text(text);
    pdl_request_answer(request, answer);
    pdl_value_drop(answer);
    pdl_value_drop(content);
    pdl_value_drop(last);
    pdl_value_drop(messages);
}

/* A function that programs call: temperature(city, unit=...). */
static void temperature(void *user, pdl_request *request) {
    pdl_value *args = pdl_value_get(pdl_request_data(request), "args");
    pdl_value *city = pdl_value_at(args, 0);
    const char *name = pdl_value_get_text(city, NULL);
    if (!name || strcmp(name, "Zurich") != 0) {
        pdl_request_refuse(request, "not_found", "no thermometer there");
    } else {
        pdl_value *degrees = pdl_value_int(*(const int *)user);
        pdl_request_answer(request, degrees);
        pdl_value_drop(degrees);
    }
    pdl_value_drop(city);
    pdl_value_drop(args);
}

static void print(void *user, const char *text, size_t n_bytes) {
    fwrite(text, 1, n_bytes, (FILE *)user);
}

static int fail(pdl_error *error) {
    pdl_error_print(error, stderr);
    pdl_error_free(error);
    return EXIT_FAILURE;
}

static int run(pdl_engine *engine, pdl_program *program, const char *city) {
    int degrees = 21, code = EXIT_SUCCESS;
    pdl_error *error = NULL;
    pdl_value *function = pdl_value_function("temperature", temperature, &degrees),
              *name = pdl_value_text(city);
    pdl_value *inputs = pdl_value_dict();
    pdl_value_put(inputs, "temperature", function);
    pdl_value_put(inputs, "city", name);
    pdl_task_options options = {.size = sizeof options,
                                .inputs = inputs,
                                .output = PDL_OUTPUT_RESULT,
                                .user = stdout,
                                .text = print};
    pdl_task *task = pdl_task_start(engine, program, &options, &error);
    if (!task) {
        code = fail(error);
    } else if (pdl_task_wait(task, -1) == PDL_TASK_FAILED) {
        const pdl_error *why = pdl_task_error(task);
        printf("%s:%u: %s: %s\n", why->file, why->line, why->kind, why->message);
    } else {
        pdl_value *usage = pdl_task_usage(task), *calls = pdl_value_get(usage, "model_calls");
        int64_t n = 0;
        pdl_value_get_int(calls, &n);
        printf("%d call of a model\n", (int)n);
        pdl_value_drop(calls);
        pdl_value_drop(usage);
    }
    pdl_task_free(task);
    pdl_value_drop(inputs);
    pdl_value_drop(function);
    pdl_value_drop(name);
    return code;
}

int main(void) {
    pdl_error *error = NULL;
    pdl_engine *engine = pdl_engine_new(NULL, &error);
    if (!engine) return fail(error);
    if (!pdl_engine_handle(engine, "model", "local/", answer_model, NULL, &error))
        return fail(error);
    pdl_program *program =
        pdl_load_text(engine, program_text, strlen(program_text), "weather.pdl", &error);
    if (!program) return fail(error);
    int code = run(engine, program, "Zurich");
    if (code == EXIT_SUCCESS) code = run(engine, program, "Atlantis");
    pdl_program_free(program);
    pdl_engine_free(engine);
    return code;
}
