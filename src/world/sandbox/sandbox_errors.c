/* sandbox_errors.c -- turns the helper's report that the sandbox has ended a command into an error.
 * So the field `fallback` of a program can distinguish a command that the sandbox ended from one
 * that failed by itself.
 *
 * A command may end with any status, so the helper ends by signals that no program uses. When a
 * program reaches its limit of memory, the kernel only lets an allocation fail, and the program
 * decides what to do. Most programs write an error before they end, in the words of their language
 * (below). When a program ends silently, the monitor checks whether all memory that the profile
 * allows was in use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/str.h"
#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

static const struct {
    pdl_sandbox_end end;
    pdl_err_kind kind;
    /* the end of the sentence; when it is NULL, the text that the helper wrote is used */
    const char *text;
} errors[] = {
    {PDL_SANDBOX_PROCESSES, PDL_E_processes,
     "was ended: it started more processes than its sandbox allows"},
    {PDL_SANDBOX_MEMORY, PDL_E_memory, "was ended: it used more memory than its sandbox allows"},
    {PDL_SANDBOX_SETUP, PDL_E_policy, NULL},
    {PDL_SANDBOX_BUSY, PDL_E_io, NULL},
};

bool pdl_sandbox_end_error(pdl_sandbox_end end, const char *who, pdl_str said, pdl_err *err) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].end != end) continue;
        said = pdl_str_trim(said);
        if (pdl_str_starts(said, PDL_STR("pdl: "))) said = pdl_str_sub(said, 5, said.n);
        if (errors[i].text)
            pdl_err_set(err, errors[i].kind, (pdl_loc){0}, "the %s %s", who, errors[i].text);
        else if (said.n)
            pdl_err_set(err, errors[i].kind, (pdl_loc){0}, "%.*s", PDL_FMT(said));
        else
            pdl_err_set(err, errors[i].kind, (pdl_loc){0},
                        "the sandbox cannot be made; the reason is on standard error");
        return true;
    }
    return false;
}

bool pdl_sandbox_lacked_memory(pdl_str errors_of_command) {
    enum { LAST_BYTES = 8192 };
    static const char *const words[] = {
        "MemoryError",            /* Python, NumPy, Ruby's NoMemoryError */
        "bad_alloc",              /* C++ */
        "Cannot allocate memory", /* strerror, shells */
        "cannot allocate",        /* R, bash */
        "emory exhausted",        /* GNU tools, PHP */
        "ut of memory",           /* perl, gcc, node, SQLite, Go, awk */
        "OutOfMemory",            /* Java, .NET */
        "memory allocation of",   /* Rust */
        "failed to allocate memory",
    };
    size_t n = errors_of_command.n;
    pdl_str last = pdl_str_sub(errors_of_command, n > LAST_BYTES ? n - LAST_BYTES : 0, n);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (pdl_str_find(last, pdl_str_of(words[i]), 0) != PDL_NOT_FOUND) return true;
    return false;
}
