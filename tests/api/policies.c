/* policies.c -- values and files that pass from one run of an engine to the next keep their labels
 * under a policy. Written in C11. Prints the failed checks, then the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <unistd.h>

#include "t.h"

static void put_file(const char *name, const char *text) {
    FILE *f = fopen(name, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool has(pdl_value *v, const char *part) {
    const char *got = pdl_value_get_text(v, NULL);
    bool ok = got && strstr(got, part);
    if (!ok) printf("  got %s, not %s\n", got ? got : "no text", part);
    pdl_value_drop(v);
    return ok;
}

static const char echo_file[] = "text: [{read: out.txt, def: f, contribute: []},"
                                " {lang: command, args: [printf, \"${ f }\"]}]",
                  echo_old[] = "text: [{read: old.txt, def: f, contribute: []},"
                               " {lang: command, args: [printf, \"${ f }\"]}]";

/* Code of one run leaves a file, which later runs read, include, or get from a command. */
static void files_of_earlier_runs(pdl_engine *e) {
    (void)remove("out.txt");
    (void)remove("made.pdl");
    CHECK(has(run_text(e,
                       "defs: {s: {read: hidden.txt}}\nlang: python\ncode: |\n"
                       "  open('out.txt', 'w').write(s)\n"
                       "  open('made.pdl', 'w').write('text: ran')\n  result = 'wrote'\n",
                       NULL),
              "wrote"));
    CHECK(has(run_text(e, echo_file, NULL), "refuses"));
    CHECK(has(run_text(e,
                       "text: [{lang: command, args: [cat, out.txt], def: f, contribute: []},"
                       " {lang: command, args: [printf, \"${ f }\"]}]",
                       NULL),
              "refuses"));
    CHECK(has(run_text(e, "include: made.pdl", NULL), "refuses"));
    CHECK(is_text(run_text(e, echo_old, NULL), "old"));
}

/* The result of one run is an input of the next. */
static void values_of_earlier_runs(pdl_engine *e) {
    pdl_error *error = NULL;
    pdl_program *p = load(e, "read: hidden.txt");
    pdl_value *secret = pdl_run_program(e, p, NULL, &error), *inputs = pdl_value_dict();
    CHECK(secret && pdl_value_put(inputs, "v", secret));
    CHECK(has(run_text(e, "{lang: command, args: [printf, \"${ v }\"]}", inputs), "refuses"));
    CHECK(has(run_text(e, "{lang: command, args: [printf, \"${ v[0] ~ v[1:] }\"]}", inputs),
              "refuses"));
    pdl_error_free(error);
    pdl_value_drop(inputs);
    pdl_value_drop(secret);
    pdl_program_free(p);
}

int main(void) {
    const char *policy = "./policy.yaml";
    put_file("hidden.txt", "secret");
    put_file("old.txt", "old");
    put_file(policy, "policy: 1\nlabels: {secret: [{read: hidden.txt}]}\n"
                     "rules:\n- {sink: command, deny: [secret]}\n"
                     "- {sink: include, deny: [secret, code]}\notherwise: allow\n");
    (void)usleep(50000); /* the clock of files has steps; see src/world/policy/file_identity.h */
    for (int shared = 0; shared < 2; shared++) {
        pdl_engine_options o = {
            .size = sizeof o, .policies = &policy, .n_policies = 1, .shared = shared};
        pdl_engine *e = pdl_engine_new(&o, NULL);
        files_of_earlier_runs(e);
        values_of_earlier_runs(e);
        pdl_engine_free(e);
    }
    return counts();
}
