/* run_surroundings.c -- restores the policies and the working folder of a durable run, so that it
 * can be shown; see run_surroundings.h. Without the policies, values that they redact would be
 * shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <unistd.h>

#include "cli/run_surroundings.h"

#include "value/json_read.h"

#include "base/banned.h"

static void enter_folder(run_surroundings *r, pdl_str folder) {
    char *path = pdl_str_dup(folder);
    r->here = *path ? open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (r->here >= 0 && chdir(path) != 0) {
        close(r->here);
        r->here = -1;
    }
    pdl_free(path);
}

bool pdl_cli_enter_run(const pdl_durable_facts *f, run_surroundings *out, pdl_session_options *o,
                       pdl_err *err) {
    pdl_val options;
    *out = (run_surroundings){.here = -1};
    enter_folder(out, f->folder);
    if (!f->options.n) return true;
    if (!pdl_json_read(f->options, 0, &options, NULL, err)) return false;
    if (pdl_is_dict(options)) pdl_run_guards_read(options, &out->guards);
    pdl_drop(options);
    o->guards.policies = out->guards.policies.p;
    o->guards.n_policies = out->guards.policies.n;
    return true;
}

void pdl_cli_leave_run(run_surroundings *r) {
    /* fchdir fails only when the folder was removed; then names in the folder lead nowhere in any
     * case */
    if (r->here >= 0) (void)!fchdir(r->here);
    if (r->here >= 0) close(r->here);
    r->here = -1;
    pdl_run_guards_fini(&r->guards);
}
