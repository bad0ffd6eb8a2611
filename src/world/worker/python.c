/* python.c -- the Python process: start, requests, its messages, its end. worker.py describes the
 * protocol.
 *
 * Ending a block is the difficult part. Python code cannot be stopped from outside, and other
 * blocks of the run may live in the same process. So a cancelled block is first interrupted (SIGINT
 * raises KeyboardInterrupt), several times because code may catch it. When the block still runs
 * after that, the process is killed, and every other job in it fails. Only the block that computes
 * can be interrupted; one that waits for the run ends when its question is answered with a
 * cancellation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker/worker_impl.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/pace.h"
#include "base/utf8.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/label.h"

#include "sandbox/sandbox.h"
#include "value/member.h"

#include "base/banned.h"

enum {
    IPYTHON_MS = 5000,
    LEAVE_MS = 2000,          /* an idle process has this time to end by itself */
    INTERRUPT_RETRY_MS = 500, /* pause between two interrupts of a cancelled block */
    MAX_INTERRUPTS = 4,       /* number of interrupts after which the process is killed */
    /* after it has closed its messages, the process has this time to end */
    SHUTDOWN_MS = 1000,
};

/* worker.py, later.py, left.py and chance.py, made by tools/embed. */
extern const unsigned char pdl_worker_py[], pdl_worker_later_py[], pdl_worker_left_py[],
    pdl_worker_chance_py[];
extern const size_t pdl_worker_py_len, pdl_worker_later_py_len, pdl_worker_left_py_len,
    pdl_worker_chance_py_len;

/* Reads the four files from descriptor 3; all but the first are compiled when they are needed. The
 * working directory must not provide modules. */
static const char boot[] = "import sys\n"
                           "if sys.path and sys.path[0]=='':del sys.path[0]\n"
                           "import os\n"
                           "def r():\n"
                           " n=int.from_bytes(os.read(3,4),'big')\n"
                           " b=b''\n"
                           " while len(b)<n:b+=os.read(3,n-len(b))\n"
                           " return b\n"
                           "b=r()\n"
                           "g={'__name__':'pdl_worker','_rest':r()}\n"
                           "g.update(_left_text=r(),_chance_text=r())\n"
                           "exec(compile(b,'<pdl-worker>','exec'),g)\n"
                           "g['_main']()\n";

static void send_raw(worker *w, pdl_str message) {
    pdl_buf b = PDL_BUF;
    PDL_TRACE(w->opt.debug, worker, "-> %.*s", (int)(message.n < 400 ? message.n : 400), message.p);
    pdl_frame_write(PDL_FRAME_LENGTH, message, &b);
    pdl_proc_write(w->proc, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static bool is_alive(const worker *w) {
    return w->proc && pdl_proc_is_running(w->proc) && w->broken.kind == PDL_E_NONE;
}

/* --- end -------------------------------------------------------------------------------------- */

static void forget_questions(worker *w) {
    /* a question is released with its answer, or at the end of the worker */
    for (question *q = w->questions; q; q = q->next) q->generation = 0;
}

static void free_questions(worker *w) {
    for (question *q = w->questions, *next; q; q = next) {
        next = q->next;
        pdl_free(q);
    }
    w->questions = NULL;
}

/* Forgets the process. The jobs of the process remain. */
static void detach(worker *w) {
    pdl_timer_stop(w->shutdown_timer);
    w->shutdown_timer = NULL;
    w->ready = false;
    pdl_proc_free(w->proc);
    w->proc = NULL;
    pdl_frame_fini(&w->frame);
    pdl_err_fini(&w->broken);
    forget_questions(w);
    pdl_worker_wire_forget(w);
    w->drops.n = 0;
}

enum { NO_MEMORY = 97 }; /* exit status of a worker that cannot even report that it has no memory */

static void fail_jobs_as(worker *w, pdl_err_kind kind, const char *py_class, const char *msg) {
    for (;;) {
        job *j = NULL;
        for (size_t i = 0; i < w->jobs.n && !j; i++)
            if (w->jobs.p[i]->python) j = w->jobs.p[i];
        if (!j) return;
        pdl_err err = {0};
        pdl_err_set(&err, kind, (pdl_loc){0}, "%s", msg);
        err.py_class = pdl_str_dup(pdl_str_of(py_class));
        pdl_worker_job_refuse(j, &err);
    }
}

static void fail_jobs(worker *w, const char *py_class, const char *msg) {
    fail_jobs_as(w, PDL_E_code, py_class, msg);
}

static const char not_found[] = "FileNotFoundError,OSError,Exception";

static void ended(void *user, const pdl_proc_result *r) {
    worker *w = user;
    pdl_sandbox_end end = pdl_sandbox_end_of(w->opt.sandbox ? r->signal : 0);
    bool is_absent = end == PDL_SANDBOX_NOT_FOUND, is_denied = end == PDL_SANDBOX_DENIED;
    char msg[200];
    if (w->broken.kind != PDL_E_NONE)
        snprintf(msg, sizeof msg, "Python Code error: %s", w->broken.msg);
    else if (is_absent || is_denied)
        snprintf(msg, sizeof msg, "Python Code error: %s in the sandbox (set PDL_PYTHON)",
                 is_absent ? "no python3 found" : "python3 cannot be executed");
    else if (r->signal)
        snprintf(msg, sizeof msg,
                 "Python Code error: the Python process ended unexpectedly (signal %d)", r->signal);
    else
        snprintf(msg, sizeof msg,
                 "Python Code error: the Python process ended unexpectedly (status %d)", r->status);
    detach(w);
    pdl_err err = {0};
    if (pdl_sandbox_end_error(end, "code", (pdl_str){0}, &err))
        fail_jobs_as(w, err.kind,
                     err.kind == PDL_E_memory ? "MemoryError,Exception" : "RuntimeError,Exception",
                     err.msg);
    else if (w->opt.sandbox && !r->signal && r->status == NO_MEMORY)
        fail_jobs_as(w, PDL_E_memory, "MemoryError,Exception",
                     "the code was ended: it used more memory than its sandbox allows");
    else
        fail_jobs(w, is_absent ? not_found : "RuntimeError,Exception", msg);
    pdl_err_fini(&err);
}

static void wait_a_moment(void) { nanosleep(&(struct timespec){0, 500000}, NULL); }

/* Returns true when the child ends within ms. The loop collects it later. */
static bool wait_exit(int pid, int ms) {
    for (int i = 0; i < 2 * ms; i++) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid)
            return true;
        wait_a_moment();
    }
    return false;
}

void pdl_python_close(worker *w) {
    if (is_alive(w)) {
        int pid = pdl_proc_pid(w->proc);
        if (w->busy_at_close)
            pdl_proc_kill(w->proc, SIGTERM);
        else
            send_raw(w, PDL_STR("{\"t\":\"bye\"}"));
        wait_exit(pid, w->busy_at_close ? LEAVE_MS / 10 : LEAVE_MS);
    }
    if (w->proc) detach(w);
    free_questions(w);
}

/* --- questions -------------------------------------------------------------------------------- */

static question *question_new(worker *w, uint64_t id, uint64_t job_id) {
    question *q = PDL_NEW(question);
    *q = (question){
        .w = w,
        .id = id,
        .job = job_id,
        .generation = w->generation,
        .next = w->questions,
        .link = &w->questions,
    };
    if (q->next) q->next->link = &q->next;
    w->questions = q;
    return q;
}

/* Ends q. Returns false when the process that asked has ended. */
static bool question_end(question *q) {
    bool live = q->generation == q->w->generation && is_alive(q->w);
    *q->link = q->next;
    if (q->next) q->next->link = q->link;
    pdl_free(q);
    return live;
}

/* Writes an object whose members are JSON already. */
static void put_object_of(pdl_buf *b, const char *name, pdl_str members) {
    pdl_json_put_key(b, name);
    pdl_buf_putc(b, '{');
    pdl_buf_put(b, members);
    pdl_buf_putc(b, '}');
}

/* Answers with a value (taken), or with the error when the value is absent. */
static void answer_value(question *q, pdl_val v, const pdl_err *failed) {
    worker *w = q->w;
    uint64_t id = q->id;
    if (!question_end(q)) {
        pdl_drop(v);
        return;
    }
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    pdl_worker_message_open(&b, "answer", id);
    if (pdl_is_absent(v)) {
        pdl_worker_message_error(&b, failed);
    } else {
        wire_out o = {.w = w, .body = PDL_BUF, .refs = PDL_BUF, .err = &err};
        if (pdl_worker_wire_put(&o, v)) {
            pdl_json_put_key(&b, "value");
            pdl_buf_put(&b, pdl_buf_str(&o.body));
            put_object_of(&b, "refs", pdl_buf_str(&o.refs));
        } else {
            pdl_worker_message_error(&b, &err);
        }
        pdl_worker_wire_fini(&o);
    }
    pdl_buf_putc(&b, '}');
    send_raw(w, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    pdl_err_fini(&err);
    pdl_drop(v);
}

/* Answers a call of the run. The labels of a value that the run passes to code are joined into
 * those of the code's result. */
static void on_value(void *user, pdl_val v, const pdl_err *err) {
    question *q = user;
    job *j = pdl_worker_job_find(q->w, q->job);
    if (j && j->e) j->e->added_labels |= err ? err->label : pdl_label_of(v);
    answer_value(user, v, err);
}

static void on_input(void *user, pdl_str line, bool eof) {
    question *q = user;
    worker *w = q->w;
    uint64_t id = q->id;
    if (!question_end(q)) return;
    pdl_buf b = PDL_BUF;
    pdl_worker_message_open(&b, "answer", id);
    pdl_json_put_bool(&b, "eof", eof);
    pdl_json_put_text(&b, "text", line);
    pdl_buf_putc(&b, '}');
    send_raw(w, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Answers a question of a cancelled block. */
static void answer_cancel(question *q) {
    worker *w = q->w;
    pdl_buf b = PDL_BUF;
    pdl_worker_message_open(&b, "answer", q->id);
    pdl_json_put_bool(&b, "cancel", true);
    pdl_buf_putc(&b, '}');
    if (is_alive(w)) send_raw(w, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    q->generation = 0; /* a late answer must not be taken for the answer to a later call */
}

/* --- messages from Python --------------------------------------------------------------------- */

static uint64_t number_at(pdl_vref m, const char *key) {
    pdl_vref v = pdl_dict_getz(m, key);
    return pdl_is(v, PDL_V_INT) && pdl_int_of(v) > 0 ? (uint64_t)pdl_int_of(v) : 0;
}

static void release_all(worker *w, pdl_vref list) {
    if (!pdl_is_list(list)) return;
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref id = pdl_list_at(list, i);
        if (pdl_is(id, PDL_V_INT)) pdl_worker_wire_release(w, (uint64_t)pdl_int_of(id));
    }
}

static void on_out(worker *w, job *j, pdl_str text) {
    pdl_err err = {0};
    if (!j || !j->e) return;
    if (!pdl_buf_add(&j->out, text, &err)) {
        pdl_err_fini(&err);
        pdl_buf_clear(&j->out);
        pdl_err_set(&w->broken, PDL_E_limit, (pdl_loc){0},
                    "the output of a block is longer than %d bytes", PDL_MAX_COMMAND_BYTES);
        pdl_proc_kill(w->proc, SIGKILL);
        return;
    }
    if (j->e->sink.piece) j->e->sink.piece(j->e->sink.user, j->e, text);
}

static bool on_done(worker *w, job *j, pdl_vref m, pdl_err *err) {
    pdl_val result, rebound;
    if (!pdl_worker_wire_get(w, pdl_dict_getz(m, "value"), &result, err)) return false;
    if (j->e && j->e->kind == PDL_EFFECT_object) {
        pdl_worker_job_answer(j, result);
        return true;
    }
    if (!pdl_worker_wire_get(w, pdl_dict_getz(m, "rebound"), &rebound, err)) {
        pdl_drop(result);
        return false;
    }
    pdl_val v = pdl_dict_new(4);
    v = pdl_dict_putz(v, "result", result);
    v = pdl_dict_putz(v, "rebound", pdl_is_dict(rebound) ? rebound : pdl_dict_new(0));
    v = pdl_dict_putz(v, "stdout", pdl_text_of_buf(&j->out));
    pdl_vref left = pdl_dict_getz(m, "left");
    if (pdl_is_list(left) && pdl_list_len(left)) v = pdl_dict_putz(v, "left", pdl_keep(left));
    pdl_worker_job_answer(j, v);
    return true;
}

#define NO_RESULT "the code never sets `result`, which is the value of the block"

static void on_fail(job *j, pdl_vref m) {
    pdl_err err = {0};
    pdl_str kind = pdl_member_str(m, "kind"), msg = pdl_member_str(m, "msg"),
            py_class = pdl_member_str(m, "py_class");
    pdl_err_kind k = pdl_str_is(kind, "exit")        ? PDL_E_exit
                     : pdl_str_is(kind, "interrupt") ? PDL_E_interrupt
                                                     : PDL_E_code;
    static const char unset[] = "'types.SimpleNamespace' object has no attribute 'result'";
    bool none = pdl_str_ends(msg, pdl_str_of(unset)) &&
                pdl_str_find(msg, PDL_STR("  File "), 0) == PDL_NOT_FOUND;
    size_t last = none ? pdl_str_rfind(msg, PDL_STR("\n")) : PDL_NOT_FOUND;
    /* Python's text does not say what the user can do, so it comes last */
    pdl_err_set(&err, k, (pdl_loc){0}, "%s%.*s", none ? "Python Code error: " NO_RESULT "\n" : "",
                PDL_FMT(last == PDL_NOT_FOUND ? msg : pdl_str_sub(msg, last + 1, msg.n)));
    if (py_class.n) err.py_class = pdl_str_dup(py_class);
    if (none) pdl_err_hint(&err, "write `result = ...`");
    if (pdl_str_find(msg, PDL_STR("'return' outside function"), 0) != PDL_NOT_FOUND)
        pdl_err_hint(&err, "write `result = ...`: it is the value of the block");
    if (k == PDL_E_exit) {
        err.status = (int)number_at(m, "status");
        err.has_status = true;
    }
    err.uncatchable = k != PDL_E_code;
    /* Python reports that the memory limit of the profile was reached */
    bool memory = j->w->opt.sandbox && pdl_str_starts(py_class, PDL_STR("MemoryError"));
    if (memory) err.kind = PDL_E_memory;
    uint64_t line = number_at(m, "line");
    if (line <= UINT32_MAX) err.facts.line1 = (uint32_t)line;
    pdl_worker_job_refuse(j, &err);
}

static void refuse_question(question *q, const char *msg) {
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0}, "%s", msg);
    answer_value(q, pdl_absent(), &err);
    pdl_err_fini(&err);
}

static bool on_call(worker *w, question *q, job *j, pdl_vref m, pdl_err *err) {
    pdl_val ref = pdl_dict_putz(pdl_dict_new(1), "id", pdl_keep(pdl_dict_getz(m, "func")));
    ref = pdl_dict_putz(ref, "$pdl", pdl_textz("ref"));
    pdl_val func = pdl_absent(), args = pdl_absent(), kwargs = pdl_absent();
    bool ok = pdl_worker_wire_get(w, ref, &func, err) &&
              pdl_worker_wire_get(w, pdl_dict_getz(m, "args"), &args, err) &&
              pdl_worker_wire_get(w, pdl_dict_getz(m, "kwargs"), &kwargs, err);
    pdl_drop(ref);
    if (ok) args = pdl_with_label(args, pdl_effect_label(j->e));
    if (ok) kwargs = pdl_with_label(kwargs, pdl_effect_label(j->e));
    if (ok && pdl_is(func, PDL_V_FUNC) && pdl_is_list(args) && pdl_is_dict(kwargs) &&
        j->e->call_in) {
        j->e->call_in->start(j->e->call_in->user, j->e, func, args, kwargs,
                             (pdl_call_done){on_value, q});
        return true;
    }
    pdl_drop(func);
    pdl_drop(args);
    pdl_drop(kwargs);
    if (ok) refuse_question(q, "a PDL function cannot be called from here");
    return ok;
}

static bool on_program(worker *w, question *q, job *j, pdl_vref m, pdl_err *err) {
    pdl_val request;
    if (!pdl_worker_wire_get(w, pdl_dict_getz(m, "request"), &request, err)) return false;
    if (w->opt.run_program) {
        w->opt.run_program(w->opt.user, j->e, request, on_value, q);
        return true;
    }
    pdl_drop(request);
    refuse_question(q, "PDL programs cannot be run from here");
    return true;
}

static bool on_question(worker *w, pdl_str type, job *j, pdl_vref m, pdl_err *err) {
    question *q = question_new(w, number_at(m, "id"), j ? j->id : 0);
    if (j) j->asked = true;
    if (!j || !j->e) {
        answer_cancel(q);
        question_end(q);
        return true;
    }
    if (pdl_str_is(type, "call")) return on_call(w, q, j, m, err);
    if (pdl_str_is(type, "program")) return on_program(w, q, j, m, err);
    if (w->opt.ask_input)
        w->opt.ask_input(w->opt.user, j->e, on_input, q);
    else
        on_input(q, PDL_STR(""), true);
    return true;
}

/* Notes that the process handles signals from now on, and interrupts the blocks that were cancelled
 * before.
 */
static void on_ready(worker *w) {
    w->ready = true;
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.p[i]->interrupt_retry) pdl_proc_signal(w->proc, SIGINT);
}

static bool on_dict(worker *w, pdl_vref m, pdl_err *err) {
    pdl_str type = pdl_member_str(m, "t");
    bool is_question =
        pdl_str_is(type, "call") || pdl_str_is(type, "input") || pdl_str_is(type, "program");
    job *j = pdl_worker_job_find(w, number_at(m, is_question ? "block" : "id"));
    if (is_question) return on_question(w, type, j, m, err);
    if (pdl_str_is(type, "out")) {
        on_out(w, j, pdl_member_str(m, "s"));
        return true;
    }
    if (pdl_str_is(type, "ready")) on_ready(w);
    if (!j) return true;
    if (pdl_str_is(type, "done")) return on_done(w, j, m, err);
    if (pdl_str_is(type, "fail")) {
        on_fail(j, m);
        return true;
    }
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "the Python process sent a message of kind %.*s", PDL_FMT(type));
}

static bool on_message(void *user, pdl_str text, pdl_err *err) {
    worker *w = user;
    pdl_val m;
    PDL_TRACE(w->opt.debug, worker, "<- %.*s", (int)(text.n < 400 ? text.n : 400), text.p);
    if (pdl_utf8_check(text) != PDL_NOT_FOUND)
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                           "the Python process sent text that is not UTF-8");
    if (!pdl_json_read(text, PDL_JSON_PYTHON, &m, NULL, err)) return false;
    bool ok = pdl_is_dict(m)
                  ? on_dict(w, m, err)
                  : pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                                "the Python process sent a message that is not an object");
    /* objects are released last, because values of the message may name them */
    if (ok && pdl_is_dict(m)) release_all(w, pdl_dict_getz(m, "released"));
    pdl_drop(m);
    return ok;
}

/* Returns false when the bytes are not the beginning of a message, because user code wrote to the
 * descriptor of the messages. Without this check, the bytes would be taken for the length of a
 * message that never arrives. When that length is above the limit, the error in err is replaced by
 * one that says more. */
static bool begins_message(const pdl_frame *f, pdl_err *err) {
    if (f->in.len < 5 || f->in.p[4] == '{') return err->kind == PDL_E_NONE;
    if (err->kind == PDL_E_limit) pdl_err_fini(err);
    if (err->kind != PDL_E_NONE) return false;
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "the Python process wrote what is no message on descriptor 4");
}

static void on_shutdown_timer(void *user) {
    worker *w = user;
    w->shutdown_timer = NULL;
    if (w->broken.kind == PDL_E_NONE)
        pdl_err_set(&w->broken, PDL_E_protocol, (pdl_loc){0},
                    "the Python process closed descriptor 4");
    pdl_proc_kill(w->proc, SIGKILL);
}

static void on_msg(void *user, pdl_str bytes) {
    worker *w = user;
    pdl_err err = {0};
    if (w->broken.kind != PDL_E_NONE) return;
    if (!bytes.n) { /* the process is ending, or user code closed the descriptor */
        w->shutdown_timer = pdl_timer_start(w->loop, SHUTDOWN_MS, on_shutdown_timer, w);
        return;
    }
    bool fed = pdl_frame_feed(&w->frame, bytes, on_message, w, &err);
    bool ok = begins_message(&w->frame, &err) && fed;
    if (w->proc) /* errors are read now, because this message may end the run */
        pdl_proc_drain_errors(w->proc);
    if (ok) return;
    /* The stream cannot be trusted any more. The jobs fail when the process has ended. */
    if (w->broken.kind == PDL_E_NONE)
        pdl_err_move(&w->broken, &err);
    else
        pdl_err_fini(&err);
    if (w->proc) pdl_proc_kill(w->proc, SIGKILL);
}

/* Receives the output of child processes of the code. The output belongs to the block that began
 * last. */
static void on_stdout(void *user, pdl_str bytes) {
    worker *w = user;
    job *last = NULL;
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.p[i]->python) last = w->jobs.p[i];
    pdl_buf b = PDL_BUF;
    pdl_utf8_repair(&b, bytes);
    on_out(w, last, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void on_stderr(void *user, pdl_str bytes) {
    worker *w = user;
    w->opt.errors(w->opt.user, bytes);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Returns true when the interpreter may be started. With a sandbox, the helper can always be
 * started, so a missing interpreter is detected here. A name without a folder is searched inside
 * the sandbox. */
static bool may_start(const worker *w, const char *python) {
    return *python && (!w->opt.sandbox || !strchr(python, '/') || access(python, X_OK) == 0);
}

/* Makes the error of the code from that of a start when the system failed, as with EMFILE. */
static bool is_of_the_system(pdl_err *err) {
    if (!err->py_class || strcmp(err->py_class, "OSError") != 0) return false;
    pdl_buf msg = PDL_BUF;
    pdl_buf_putf(&msg, "Python Code error: %s", err->msg);
    pdl_err_reword(err, &msg);
    return true;
}

static bool launch(worker *w, pdl_err *err) {
    for (size_t i = 0; i < w->pythons.n; i++) {
        const pdl_sandbox *sandbox = w->opt.sandbox;
        const char *argv[] = {w->pythons.p[i], "-c", boot, NULL};
        const char **confined = sandbox ? pdl_sandbox_argv(sandbox, argv) : NULL;
        const char **env = sandbox ? pdl_sandbox_wrap_env(pdl_sandbox_env(sandbox)) : NULL;
        pdl_proc_options po = {
            .argv = confined ? confined : argv,
            .env = env,
            .inherit_stderr = !w->opt.errors,
            .extra_fds = 1,
            .user = w,
            .on_out = on_stdout,
            .on_err = on_stderr,
            .on_msg = on_msg,
            .done = ended,
            .max_memory = w->opt.max_memory,
        };
        bool may = may_start(w, w->pythons.p[i]);
        bool started = may && pdl_proc_start(w->loop, &po, &w->proc, err);
        pdl_free(confined);
        pdl_free(env);
        if (!may) continue;
        if (started) {
            w->generation = w->opt.generations ? ++*w->opt.generations : w->generation + 1;
            send_raw(w, (pdl_str){(const char *)pdl_worker_py, pdl_worker_py_len});
            send_raw(w, (pdl_str){(const char *)pdl_worker_later_py, pdl_worker_later_py_len});
            send_raw(w, (pdl_str){(const char *)pdl_worker_left_py, pdl_worker_left_py_len});
            send_raw(w, (pdl_str){(const char *)pdl_worker_chance_py, pdl_worker_chance_py_len});
            return true;
        }
        PDL_TRACE(w->opt.debug, worker, "%s", err->msg);
        if (is_of_the_system(err)) return false;
        pdl_err_fini(err);
    }
    const char *last = w->pythons.p[w->pythons.n - 1];
    if (strcmp(last, "python3") == 0)
        pdl_err_set(err, PDL_E_code, (pdl_loc){0},
                    "Python Code error: no python3 found (set PDL_PYTHON)");
    else
        pdl_err_set(err, PDL_E_code, (pdl_loc){0},
                    "Python Code error: '%s' cannot be started: PDL_PYTHON names it", last);
    err->py_class = pdl_str_dup(pdl_str_of(not_found));
    return false;
}

static void send_drops(worker *w) {
    pdl_buf b = PDL_BUF;
    pdl_json_open(&b, '{');
    pdl_json_put_text(&b, "t", PDL_STR("drop"));
    pdl_json_put_key(&b, "ids");
    pdl_json_open(&b, '[');
    for (size_t i = 0; i < w->drops.n; i++)
        pdl_buf_putf(&b, "%s%llu", i ? "," : "", (unsigned long long)w->drops.p[i]);
    PDL_PUT(&b, "]}");
    if (w->drops.n) send_raw(w, pdl_buf_str(&b));
    w->drops.n = 0;
    pdl_buf_fini(&b);
}

/* Writes the seed of a block. The seed is made from the place, which names the particle of the
 * inference, and from seq, which differs between attempts of one block. So it does not depend on
 * which other blocks ran before. A block that repeats another block has the same seed. */
static void put_seed(const job *j, wire_out *o) {
    if (!j->w->opt.seed) return;
    pdl_buf at = PDL_BUF;
    char hash[65];
    pdl_buf_putf(&at, "%llu ", (unsigned long long)*j->w->opt.seed);
    pdl_path_text(j->e->first_place ? j->e->first_place : j->e->place, &at);
    pdl_buf_putf(&at, " %u", j->e->seq);
    pdl_hash_hex(pdl_buf_str(&at), hash);
    hash[16] = 0;
    pdl_json_put_text(&o->body, "seed", pdl_str_of(hash));
    pdl_buf_fini(&at);
}

static bool put_code(job *j, wire_out *o, pdl_err *err) {
    worker *w = j->w;
    pdl_vref r = j->e->request, cwd = pdl_dict_getz(r, "cwd"), vars = pdl_dict_getz(r, "vars");
    bool ipython = pdl_str_eq_nocase(pdl_member_str(r, "lang"), PDL_STR("ipython"));
    pdl_str dir = pdl_is_str(cwd) ? pdl_str_get(cwd) : w->opt.dir;
    if (!pdl_is_dict(vars))
        return pdl_err_set(err, PDL_E_code, (pdl_loc){0}, "a code effect without variables");
    pdl_worker_message_open(&o->body, "code", j->id);
    pdl_json_put_text(&o->body, "lang", ipython ? PDL_STR("ipython") : PDL_STR("python"));
    pdl_json_put_text(&o->body, "dir", dir.n ? dir : PDL_STR("."));
    if (ipython) {
        pdl_json_put_key(&o->body, "seconds");
        pdl_buf_putf(&o->body, "%g",
                     (double)(w->opt.ipython_ms ? w->opt.ipython_ms : IPYTHON_MS) / 1000);
    }
    if (j->e->own) pdl_json_put_int(&o->body, "own", (int64_t)j->e->own);
    /* the run may be resumed later */
    if (j->e->sender && !ipython) pdl_json_put_bool(&o->body, "watch", true);
    pdl_vref left = pdl_dict_getz(r, "left");
    if (pdl_is_list(left)) pdl_json_put_key(&o->body, "left");
    if (pdl_is_list(left) && !pdl_worker_wire_put(o, left)) return false;
    pdl_json_put_key(&o->body, "code");
    if (!pdl_worker_wire_put(o, pdl_dict_getz(r, "code"))) return false;
    pdl_json_put_key(&o->body, "vars");
    pdl_buf_putc(&o->body, '{');
    bool any = false;
    for (size_t i = 0; i < pdl_dict_len(vars); i++) {
        if (!pdl_is_str(pdl_dict_key_at(vars, i))) continue;
        if (any) pdl_buf_putc(&o->body, ',');
        any = true;
        pdl_json_quote(pdl_str_get(pdl_dict_key_at(vars, i)), 0, &o->body);
        pdl_buf_putc(&o->body, ':');
        if (!pdl_worker_wire_put(o, pdl_dict_val_at(vars, i))) return false;
    }
    pdl_buf_putc(&o->body, '}');
    return true;
}

/* Writes the request of an object effect unchanged, except that the handle's id becomes the number
 * of the object in this process. */
static bool put_object(job *j, wire_out *o, pdl_err *err) {
    worker *w = j->w;
    pdl_val r = pdl_keep(j->e->request);
    pdl_vref id = pdl_dict_getz(r, "id");
    pdl_worker_message_open(&o->body, "code", j->id);
    pdl_json_put_text(&o->body, "lang", PDL_STR("object"));
    pdl_json_put_key(&o->body, "request");
    if (pdl_is(id, PDL_V_INT)) {
        uint64_t n = (uint64_t)pdl_int_of(id);
        if (n >> HANDLE_BITS != w->generation) {
            pdl_drop(r);
            return pdl_err_host(err, "RuntimeError",
                                "the object is gone: its Python process ended");
        }
        r = pdl_dict_putz(r, "id", pdl_int((int64_t)(n & ((1ull << HANDLE_BITS) - 1))));
    }
    bool ok = pdl_worker_wire_put(o, r);
    pdl_drop(r);
    return ok;
}

static void on_limit(void *user) {
    job *j = user;
    worker *w = j->w;
    char msg[120];
    j->limit = NULL;
    snprintf(msg, sizeof msg,
             "Python Code error: TimeoutError: the block ran longer than %g seconds",
             (double)w->opt.time_limit_ms / 1000);
    pdl_err err = {0};
    pdl_err_set(&err, w->opt.sandbox ? PDL_E_time : PDL_E_code, (pdl_loc){0}, "%s", msg);
    err.py_class = pdl_str_dup(PDL_STR("TimeoutError,OSError,Exception"));
    detach(w);
    pdl_worker_job_refuse(j, &err);
    fail_jobs(
        w, "RuntimeError,Exception",
        "Python Code error: the Python process was ended: another block ran longer than allowed");
}

void pdl_python_start(job *j) {
    worker *w = j->w;
    pdl_err err = {0};
    wire_out o = {.w = w, .body = PDL_BUF, .refs = PDL_BUF, .err = &err};
    bool code = j->e->kind == PDL_EFFECT_code;
    bool ok = pdl_is_dict(j->e->request) ||
              pdl_err_set(&err, PDL_E_code, (pdl_loc){0}, "a request that is not an object");
    /* the process ended while it was idle */
    if (w->proc && !is_alive(w) && !w->n_python) detach(w);
    if (ok && !w->proc) ok = launch(w, &err);
    ok = ok && (code ? put_code(j, &o, &err) : put_object(j, &o, &err));
    if (ok) {
        j->e->added_labels |= o.said;
        put_seed(j, &o);
        put_object_of(&o.body, "refs", pdl_buf_str(&o.refs));
        pdl_buf_putc(&o.body, '}');
        send_drops(w);
        send_raw(w, pdl_buf_str(&o.body));
        j->python = true;
        if (w->n_python++ == 0) pdl_proc_set_open(w->proc, true);
        if (code && w->opt.time_limit_ms)
            j->limit = pdl_timer_start(w->loop, w->opt.time_limit_ms, on_limit, j);
    }
    pdl_worker_wire_fini(&o);
    if (!ok) pdl_worker_job_refuse(j, &err);
}

static bool has_question(const worker *w, const job *j) {
    for (const question *q = w->questions; q; q = q->next)
        if (q->generation == w->generation && q->job == j->id) return true;
    return false;
}

/* Returns true when j is the block that computes, or when only cancelled blocks compute. Blocks
 * begin in the order of jobs; after they have asked a question, they continue in any order. */
static bool has_the_turn(const worker *w, const job *j) {
    bool before = true;
    for (size_t i = 0; i < w->jobs.n; i++) {
        const job *other = w->jobs.p[i];
        if (other == j)
            before = false;
        else if (other->python && other->e && (before ? !has_question(w, other) : j->asked))
            return false;
    }
    return true;
}

/* Ends a cancelled block. The block is interrupted first; when it is the one that computes, the
 * children of its code are interrupted, too. When the block ignores the interrupts, the process is
 * ended. */
static void interrupt(void *user) {
    job *j = user;
    worker *w = j->w;
    j->interrupt_retry = NULL;
    if (!is_alive(w)) return;
    bool busy = has_the_turn(w, j);
    if (j->n_interrupts >= MAX_INTERRUPTS && busy) {
        detach(w);
        fail_jobs(w, "RuntimeError,Exception",
                  "Python Code error: the Python process was ended: a cancelled block did "
                  "not end");
        return;
    }
    if (w->ready && busy)
        pdl_proc_kill(w->proc, SIGINT);
    else if (w->ready)
        pdl_proc_signal(w->proc, SIGINT);
    j->n_interrupts++;
    j->interrupt_retry = pdl_timer_start(w->loop, pdl_pace_ms(INTERRUPT_RETRY_MS), interrupt, j);
}

/* Cancels a block. A block that waits for an answer gets the cancellation as its answer; a block
 * that computes is interrupted. */
void pdl_python_cancel(job *j) {
    worker *w = j->w;
    bool waits = false;
    for (question *q = w->questions, *next; q; q = next) {
        next = q->next;
        if (q->generation != w->generation || q->job != j->id) continue;
        waits = true;
        answer_cancel(q);
    }
    if (!is_alive(w)) return;
    pdl_buf b = PDL_BUF;
    pdl_worker_message_open(&b, "cancel", j->id);
    pdl_buf_putc(&b, '}');
    send_raw(w, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    if (waits)
        j->interrupt_retry =
            pdl_timer_start(w->loop, pdl_pace_ms(INTERRUPT_RETRY_MS), interrupt, j);
    else
        interrupt(j);
}
