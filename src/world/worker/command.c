/* command.c -- runs commands: an argument vector becomes a process, never through a shell. The
 * errors have the texts of the reference, which programs compare.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <signal.h>

#include "worker/worker_impl.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "sandbox/sandbox.h"
#include "value/text.h"

#include "base/banned.h"

/* Refuses with the texts of the reference: "Shell Code error: " and the repr of Python's
 * exception. */
static void refuse(job *j, const char *py_class, const char *repr) {
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_code, (pdl_loc){0}, "Shell Code error: %s", repr);
    err.py_class = pdl_str_dup(pdl_str_of(py_class));
    pdl_worker_job_refuse(j, &err);
}

static bool has_shell_words(pdl_vref argv) {
    static const char *const words[] = {"|", "&&", "||", ">", ">>", "<", ";"};
    for (size_t i = 0; i < pdl_list_len(argv); i++)
        if (PDL_STR_IN(pdl_str_get(pdl_list_at(argv, i)), words)) return true;
    return false;
}

/* Returns true for commands that are built into a shell, such as cd; there is no program with such
 * a name. */
static bool is_of_shells(pdl_str word) {
    static const char *const words[] = {"cd", "export", "source", "alias", "set", "unset", "eval"};
    return PDL_STR_IN(word, words);
}

/* Reports that the program cannot be started, in the words of the reference. The hint names the
 * program. */
static void refuse_start(job *j, bool denied) {
    pdl_err err = {0};
    pdl_vref name = pdl_list_at(pdl_dict_getz(j->e->request, "argv"), 0);
    pdl_err_set(&err, PDL_E_code, (pdl_loc){0}, "Shell Code error: %s",
                denied ? "PermissionError(13, 'Permission denied')"
                       : "FileNotFoundError(2, 'No such file or directory')");
    err.py_class = pdl_str_dup(denied ? PDL_STR("PermissionError,OSError,Exception")
                                      : PDL_STR("FileNotFoundError,OSError,Exception"));
    pdl_str word = pdl_str_get(name);
    if (denied)
        pdl_err_hint(&err, "%.*s is no program that may be run", PDL_FMT(word));
    else if (has_shell_words(pdl_dict_getz(j->e->request, "argv")))
        pdl_err_hint(&err, "no shell reads a command: write args: [sh, -c, '...']");
    else if (pdl_str_find(word, PDL_STR(" "), 0) != PDL_NOT_FOUND)
        pdl_err_hint(&err,
                     "there is no program '%.*s': each word is an item, or write [sh, -c, ...]",
                     PDL_FMT(word));
    else if (is_of_shells(word))
        pdl_err_hint(&err, "%.*s is of shells: write args: [sh, -c, '...']", PDL_FMT(word));
    else
        pdl_err_hint(&err, "there is no program %.*s", PDL_FMT(word));
    pdl_worker_job_refuse(j, &err);
}

static bool check_argv(job *j, pdl_vref argv) {
    if (!pdl_is_list(argv) || pdl_list_len(argv) == 0) {
        refuse(j, "IndexError,LookupError,Exception", "IndexError('list index out of range')");
        return false;
    }
    for (size_t i = 0; i < pdl_list_len(argv); i++) {
        pdl_vref a = pdl_list_at(argv, i);
        if (!pdl_is_str(a)) {
            pdl_buf b = PDL_BUF;
            pdl_buf_putf(&b, "TypeError('expected str, bytes or os.PathLike object, not %s')",
                         pdl_type_name(a));
            refuse(j, "TypeError,Exception", pdl_buf_z(&b));
            pdl_buf_fini(&b);
            return false;
        }
        if (memchr(pdl_str_get(a).p, 0, pdl_str_get(a).n)) {
            refuse(j, "ValueError,Exception", "ValueError('embedded null byte')");
            return false;
        }
    }
    return true;
}

/* Returns text as Python reads it: valid UTF-8, every line end a newline. */
static pdl_val output_text(pdl_str bytes) {
    pdl_buf valid = PDL_BUF, out = PDL_BUF;
    bool is_valid = pdl_utf8_check(bytes) == PDL_NOT_FOUND;
    if (!is_valid) pdl_utf8_repair(&valid, bytes);
    pdl_str s = is_valid ? bytes : pdl_buf_str(&valid);
    size_t from = 0, cr;
    while ((cr = pdl_str_find(s, PDL_STR("\r"), from)) != PDL_NOT_FOUND) {
        pdl_buf_put(&out, pdl_str_sub(s, from, cr));
        pdl_buf_putc(&out, '\n');
        from = cr + (cr + 1 < s.n && s.p[cr + 1] == '\n' ? 2 : 1);
    }
    pdl_buf_put(&out, pdl_str_sub(s, from, s.n));
    pdl_buf_fini(&valid);
    return pdl_text_of_buf(&out);
}

static void refuse_slow(job *j) {
    pdl_buf b = PDL_BUF;
    if (j->w->opt.sandbox) {
        pdl_err err = {0};
        pdl_err_set(&err, PDL_E_time, (pdl_loc){0}, "the command ran longer than %g seconds",
                    (double)j->w->opt.time_limit_ms / 1000);
        pdl_worker_job_refuse(j, &err);
        return;
    }
    pdl_buf_putf(&b, "TimeoutExpired: the command ran longer than %g seconds",
                 (double)j->w->opt.time_limit_ms / 1000);
    refuse(j, "TimeoutExpired,SubprocessError,Exception", pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Handles an end that the helper of the sandbox reports. Returns false when the command is answered
 * with its output. */
static bool ended_confined(job *j, const pdl_proc_result *r) {
    pdl_err err = {0};
    pdl_sandbox_end end = pdl_sandbox_end_of(r->signal);
    if (end == PDL_SANDBOX_NOT_FOUND || end == PDL_SANDBOX_DENIED) {
        refuse_start(j, end == PDL_SANDBOX_DENIED);
        return true;
    }
    if (end == PDL_SANDBOX_MEMORY || !pdl_sandbox_end_error(end, "command", r->err, &err))
        return false; /* the command is answered like any other, with its output */
    pdl_worker_job_refuse(j, &err);
    return true;
}

static void ended(void *user, const pdl_proc_result *r) {
    job *j = user;
    if (r->too_large) {
        pdl_err err = {0};
        pdl_err_set(&err, PDL_E_limit, (pdl_loc){0},
                    "Shell Code error: output is longer than %d bytes", PDL_MAX_COMMAND_BYTES);
        pdl_worker_job_refuse(j, &err);
        return;
    }
    if (r->timed_out) {
        refuse_slow(j);
        return;
    }
    if (j->w->opt.sandbox && ended_confined(j, r)) return;
    pdl_val v = pdl_dict_new(4);
    v = pdl_dict_putz(v, "stdout", output_text(r->out));
    v = pdl_dict_putz(v, "stderr", output_text(r->err));
    bool full = j->w->opt.sandbox && pdl_sandbox_end_of(r->signal) == PDL_SANDBOX_MEMORY;
    v = pdl_dict_putz(v, "status", pdl_int(full ? -SIGKILL : r->signal ? -r->signal : r->status));
    bool failed = j->w->opt.sandbox && (r->signal || r->status);
    if (full || (failed && pdl_sandbox_lacked_memory(r->err)))
        v = pdl_dict_putz(v, "ended", pdl_textz(pdl_err_kind_name(PDL_E_memory)));
    pdl_worker_job_answer(j, v);
}

static void not_started(job *j, pdl_err *err) {
    const char *py_class = err->py_class ? err->py_class : "OSError";
    if (strncmp(py_class, "FileNotFoundError", 17) == 0) {
        refuse_start(j, false);
    } else if (strncmp(py_class, "PermissionError", 15) == 0) {
        refuse_start(j, true);
    } else {
        pdl_buf b = PDL_BUF;
        PDL_PUT(&b, "OSError(");
        pdl_str_repr(pdl_str_of(err->msg), &b);
        pdl_buf_putc(&b, ')');
        refuse(j, "OSError,Exception", pdl_buf_z(&b));
        pdl_buf_fini(&b);
    }
    pdl_err_fini(err);
}

void pdl_command_start(job *j) {
    pdl_vref argv =
        pdl_is_dict(j->e->request) ? pdl_dict_getz(j->e->request, "argv") : pdl_absent();
    if (!check_argv(j, argv)) return;
    size_t n = pdl_list_len(argv);
    const char **words = PDL_NEW_N(const char *, n + 1);
    /* strings of values end with a NUL */
    for (size_t i = 0; i < n; i++) words[i] = pdl_str_get(pdl_list_at(argv, i)).p;
    pdl_err err = {0};
    const pdl_sandbox *sandbox = j->w->opt.sandbox;
    const char **confined = sandbox ? pdl_sandbox_argv(sandbox, words) : NULL;
    const char **env = sandbox ? pdl_sandbox_wrap_env(pdl_sandbox_env(sandbox)) : NULL;
    pdl_proc_options po = {.argv = confined ? confined : words,
                           .env = env,
                           .user = j,
                           .done = ended,
                           .inherit_stdin = !sandbox, /* confined code never gets our terminal */
                           .timeout_ms = j->w->opt.time_limit_ms,
                           .max_memory = j->w->opt.max_memory};
    if (!pdl_proc_start(j->w->loop, &po, &j->proc, &err)) not_started(j, &err);
    pdl_free(confined);
    pdl_free(env);
    pdl_free(words);
}
