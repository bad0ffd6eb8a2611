/* confined.h -- the sandboxes of a session: one for the whole run, and one for each profile that
 * blocks have in a field `sandbox`. Private to api.
 *
 * The profile of a block is known only when an effect brings it. The sandbox is made then, and
 * kept, so that code blocks with the same profile share one Python process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_CONFINED_H
#define PDL_API_CONFINED_H

#include "api/session.h"
#include "api/setup/install_folders.h"
#include "sandbox/sandbox.h"

typedef struct pdl_confined pdl_confined;

/* Makes the sandboxes. Borrows its arguments: the options, the environment, the arena (for the path
 * of the helper), and the folders of libraries, which may be filled in later. */
pdl_confined *pdl_confined_new(const pdl_session_options *o,
                               const char *(*env)(void *user, const char *name), void *user,
                               const pdl_folders *folders, pdl_arena *arena);
void pdl_confined_free(pdl_confined *c); /* c may be NULL */
/* Adds a file that decides about the run, which confined code must not change from now on. */
void pdl_confined_keep(pdl_confined *c, pdl_str path);

/* Makes the sandbox of the whole run when the options request it or a policy of the user has a
 * profile. profile is a dict whose paths are relative to the folder of the file `name`; absent when
 * no policy has a profile. The function is called before anything runs, so that a run that cannot
 * be confined as requested is refused. Errors: those of pdl_sandbox_new. */
PDL_MUST bool pdl_confined_begin(pdl_confined *c, pdl_vref profile, pdl_str name, pdl_err *err);

/* Stores the sandbox for an effect (borrowed); NULL when the effect is not confined. `profiles` is
 * the list of its profiles, outermost first, or absent. Errors: those of pdl_sandbox_new and
 * pdl_sandbox_narrow, limit. */
PDL_MUST bool pdl_confined_find(pdl_confined *c, pdl_vref profiles, const pdl_sandbox **out,
                                pdl_err *err);
/* Stores the sandbox for a tool server. `own` is the profile of the server, or absent. It adds to
 * the sandbox of the run, and its paths are relative to folder. `profiles` is as above. */
PDL_MUST bool pdl_confined_server(pdl_confined *c, pdl_vref own, pdl_str folder, pdl_vref profiles,
                                  const pdl_sandbox **out, pdl_err *err);

/* Returns true when confined code may use the text of a program, or of a part of one, at this
 * path. */
bool pdl_confined_may_load(const pdl_confined *c, const pdl_sandbox *s, const char *path);
/* Opens a file. For an effect of confined code, pdl_sandbox_open_for_code is used. For other
 * effects, and when e is NULL, pdl_sandbox_open is used for each of the sandboxes. *other is set
 * when path is in no folder that confined code may write; the caller then opens the file as
 * usual. */
int pdl_confined_open(void *confined, const pdl_effect *e, const char *path, int flags,
                      unsigned mode, bool *other);

/* Returns true when code with the profiles `inner` may run for a block with the profiles `outer`:
 * inner must begin with outer.
 */
bool pdl_confined_is_inside(pdl_vref inner, pdl_vref outer);

#endif
