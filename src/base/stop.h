/* stop.h -- may what this thread is doing go on?
 *
 * A run that a signal ends must also end in the middle of one long operation. The machine enters the flag of its run
 * while it works; whatever goes through items by the million asks on its way, and fails when the answer is no.
 */
#ifndef PDL_BASE_STOP_H
#define PDL_BASE_STOP_H

#include "base/err.h"

/* The number of the signal that asked for the end, 0 before. A sig_atomic_t, whose header declares too much. */
typedef const volatile int pdl_stop_flag;

/* This thread looks at flag (borrowed; NULL: nothing ends it) until it enters another. Returns the one before, to be
 * entered again at the end. */
pdl_stop_flag *pdl_stop_enter(pdl_stop_flag *flag);

/* False: no, and err says so; no handler of the program catches it. */
PDL_MUST bool pdl_goes_on(pdl_err *err);

/* The same for the i-th of many small items, most of which are not asked about. */
enum { PDL_STOP_EVERY = 4096 };
PDL_MUST static inline bool pdl_goes_on_at(size_t i, pdl_err *err) { return PDL_LIKELY(i % PDL_STOP_EVERY) || pdl_goes_on(err); }

#endif
