/* exceptions.c -- the names of errors, with their base classes; see exceptions.h. An error is also
 * caught by the name of a base class, as in Python, so each row names the class from which it
 * derives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/exceptions.h"

#include "base/err.h"

#include "base/banned.h"

/* Built-in exceptions of Python with their base classes; the exceptions of PDL are at the end. */
static const struct {
    const char *name, *base;
} classes[] = {
    {"BaseException", NULL},
    {"Exception", "BaseException"},
    {"GeneratorExit", "BaseException"},
    {"KeyboardInterrupt", "BaseException"},
    {"SystemExit", "BaseException"},
    {"ArithmeticError", "Exception"},
    {"FloatingPointError", "ArithmeticError"},
    {"OverflowError", "ArithmeticError"},
    {"ZeroDivisionError", "ArithmeticError"},
    {"AssertionError", "Exception"},
    {"AttributeError", "Exception"},
    {"BufferError", "Exception"},
    {"EOFError", "Exception"},
    {"ImportError", "Exception"},
    {"ModuleNotFoundError", "ImportError"},
    {"LookupError", "Exception"},
    {"IndexError", "LookupError"},
    {"KeyError", "LookupError"},
    {"MemoryError", "Exception"},
    {"NameError", "Exception"},
    {"UnboundLocalError", "NameError"},
    {"OSError", "Exception"},
    {"IOError", "OSError"},
    {"EnvironmentError", "OSError"},
    {"BlockingIOError", "OSError"},
    {"ChildProcessError", "OSError"},
    {"ConnectionError", "OSError"},
    {"BrokenPipeError", "ConnectionError"},
    {"ConnectionAbortedError", "ConnectionError"},
    {"ConnectionRefusedError", "ConnectionError"},
    {"ConnectionResetError", "ConnectionError"},
    {"FileExistsError", "OSError"},
    {"FileNotFoundError", "OSError"},
    {"InterruptedError", "OSError"},
    {"IsADirectoryError", "OSError"},
    {"NotADirectoryError", "OSError"},
    {"PermissionError", "OSError"},
    {"ProcessLookupError", "OSError"},
    {"TimeoutError", "OSError"},
    {"ReferenceError", "Exception"},
    {"RuntimeError", "Exception"},
    {"NotImplementedError", "RuntimeError"},
    {"RecursionError", "RuntimeError"},
    {"StopIteration", "Exception"},
    {"StopAsyncIteration", "Exception"},
    {"SyntaxError", "Exception"},
    {"IndentationError", "SyntaxError"},
    {"TabError", "IndentationError"},
    {"SystemError", "Exception"},
    {"TypeError", "Exception"},
    {"ValueError", "Exception"},
    {"UnicodeError", "ValueError"},
    {"UnicodeDecodeError", "UnicodeError"},
    {"UnicodeEncodeError", "UnicodeError"},
    {"UnicodeTranslateError", "UnicodeError"},
    {"Warning", "Exception"},
    {"UserWarning", "Warning"},
    {"DeprecationWarning", "Warning"},
    {"RuntimeWarning", "Warning"},
    {"SyntaxWarning", "Warning"},
    {"FutureWarning", "Warning"},
    {"ImportWarning", "Warning"},
    {"UnicodeWarning", "Warning"},
    {"BytesWarning", "Warning"},
    {"ResourceWarning", "Warning"},
    {"PendingDeprecationWarning", "Warning"},
    {"ExceptionGroup", "Exception"},
    /* Errors of model calls, which users of LiteLLM and OpenAI's client know by these names. */
    {"BadRequestError", "Exception"},
    {"AuthenticationError", "Exception"},
    {"PermissionDeniedError", "Exception"},
    {"NotFoundError", "Exception"},
    {"RateLimitError", "Exception"},
    {"ContextWindowExceededError", "BadRequestError"},
    {"ContentPolicyViolationError", "BadRequestError"},
    {"UnsupportedParamsError", "BadRequestError"},
    {"Timeout", "TimeoutError"},
    {"ServiceUnavailableError", "Exception"},
    {"InternalServerError", "Exception"},
    {"APIConnectionError", "ConnectionError"},
    {"PDLException", "Exception"},
    {"PDLRuntimeError", "PDLException"},
    {"PDLRuntimeExpressionError", "PDLRuntimeError"},
    {"PDLRuntimeParserError", "PDLRuntimeError"},
    {"PDLRuntimeProcessBlocksError", "PDLRuntimeError"},
    /* Errors of code can have this class, but programs cannot name it, since it is no builtin of
     * Python. It must be the last row. */
    {"JSONDecodeError", "ValueError"},
};
enum { N_CLASSES = sizeof classes / sizeof classes[0], N_NAMED = N_CLASSES - 1 };

const char *pdl_exception_base(pdl_str name) {
    for (size_t i = 0; i < N_CLASSES; i++)
        if (pdl_str_is(name, classes[i].name)) return classes[i].base ? classes[i].base : "";
    return NULL;
}

/* The names of kinds of errors (rate_limit, timeout, ...) come after the classes. */
const char *pdl_exception_at(size_t i) {
    if (i < N_NAMED) return classes[i].name;
    size_t kind = i - N_NAMED + 1;
    return kind < PDL_E_COUNT ? pdl_err_kind_name((pdl_err_kind)kind) : NULL;
}

bool pdl_exception_is_known(pdl_str name) {
    const char *one;
    for (size_t i = 0; (one = pdl_exception_at(i)); i++)
        if (pdl_str_is(name, one)) return true;
    return false;
}

pdl_str pdl_exception_near(pdl_str name) {
    pdl_str names[N_NAMED + PDL_E_COUNT];
    size_t n = 0;
    for (const char *one; (one = pdl_exception_at(n)); n++) names[n] = pdl_str_of(one);
    return pdl_str_nearest(name, names, n);
}
