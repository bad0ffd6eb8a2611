/* sandbox.c -- makes the helper's instructions from a profile and the abilities of this machine;
 * see sandbox.h.
 *
 * The strongest confinement that the machine offers is chosen. When it is weaker than requested,
 * there is an error and no sandbox.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "io/file.h"
#include "sandbox/sandbox_impl.h"
#include "yaml/profile.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* --- files that every profile shows ----------------------------------------------------------- */

static void show(path_list *l, const char *path) {
    char real[PATH_MAX];
    struct stat st;
    if (lstat(path, &st) != 0 || pdl_paths_have(l, path)) return;
    pdl_paths_add(l, pdl_str_of(path));
    if (realpath(path, real) && !pdl_paths_have(l, real)) pdl_paths_add(l, pdl_str_of(real));
}

static void show_below(path_list *l, const char *folder, const char *more) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", folder, more);
    show(l, pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

static void show_system(path_list *l) {
    static const char *const folders[] = {"/usr", "/bin",   "/sbin",
                                          "/lib", "/lib64", "/lib32",
                                          "/etc", "/opt",   "/sys/devices/system/cpu"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) show(l, folders[i]);
}

/* Masks files of the system that contain secrets. */
static void mask_system(path_list *l) {
    static const char *const paths[] = {
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/shadow-",
        "/etc/gshadow-",
        "/etc/sudoers",
        "/etc/sudoers.d",
        "/etc/ssl/private",
        "/etc/ssh",
        "/etc/docker",
        "/etc/kubernetes",
        "/etc/krb5.keytab",
        "/etc/machine-id",
        "/etc/NetworkManager",
        "/etc/wpa_supplicant",
        "/etc/wireguard",
        "/etc/ppp",
        /* The kernel has these files once, for all namespaces. Most of them are readable for root
         * alone, and the user may be root. */
        "/proc/acpi",
        "/proc/asound",
        "/proc/interrupts",
        "/proc/iomem",
        "/proc/ioports",
        "/proc/kallsyms",
        "/proc/kcore",
        "/proc/key-users",
        "/proc/keys",
        "/proc/kmsg",
        "/proc/kpagecgroup",
        "/proc/kpagecount",
        "/proc/kpageflags",
        "/proc/latency_stats",
        "/proc/pagetypeinfo",
        "/proc/sched_debug",
        "/proc/scsi",
        "/proc/slabinfo",
        "/proc/sysrq-trigger",
        "/proc/timer_list",
        "/proc/vmallocinfo",
    };
    struct stat st;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (lstat(paths[i], &st) == 0) pdl_paths_add(l, pdl_str_of(paths[i]));
}

/* Finds the file of a command as execvp would. */
static bool find_command(const char *name, const char *path, char *out) {
    if (strchr(name, '/')) return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
    for (const char *p = path; p && *p;) {
        size_t n = strcspn(p, ":");
        snprintf(out, PATH_MAX, "%.*s/%s", (int)n, p, name);
        if (access(out, X_OK) == 0) return true;
        p += n + (p[n] == ':');
    }
    return false;
}

/* Shows the folders of the interpreter: its prefix, the prefix of the interpreter from which a
 * virtual environment was made, and the user's packages. */
static void show_python(path_list *l, const char *python, const char *home) {
    char real[PATH_MAX], cfg[PATH_MAX + 16];
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    const char *slash = strrchr(python, '/');
    if (!slash || slash == python) return;
    pdl_str bin = {python, (size_t)(slash - python)};
    size_t up = pdl_str_rfind(bin, PDL_STR("/"));
    if (up != PDL_NOT_FOUND && up > 0) {
        char *prefix = pdl_str_dup(pdl_str_sub(bin, 0, up));
        if (!pdl_path_is_under(prefix, "/usr")) show(l, prefix);
        snprintf(cfg, sizeof cfg, "%s/pyvenv.cfg", prefix);
        if (access(cfg, R_OK) == 0 && pdl_file_read_found(cfg, 0, &text, &err)) {
            pdl_str s = pdl_buf_str(&text);
            size_t at = pdl_str_find(s, PDL_STR("home ="), 0);
            size_t end = at == PDL_NOT_FOUND ? at : pdl_str_find(s, PDL_STR("\n"), at);
            if (end != PDL_NOT_FOUND) {
                char *base = pdl_str_dup(pdl_str_trim(pdl_str_sub(s, at + 6, end)));
                char *last = strrchr(base, '/');
                if (last && last != base) *last = 0;
                if (!pdl_path_is_under(base, "/usr")) show(l, base);
                pdl_free(base);
            }
        }
        pdl_err_fini(&err);
        pdl_free(prefix);
    }
    if (realpath(python, real)) {
        char *last = strrchr(real, '/');
        for (int i = 0; last && i < 2; i++, last = strrchr(real, '/')) *last = 0;
        if (real[0] && !pdl_path_is_under(real, "/usr")) show(l, real);
    }
    if (home && *home) show_below(l, home, ".local/lib");
    pdl_buf_fini(&text);
}

static void show_base(pdl_sandbox *s, const pdl_sandbox_options *opt) {
    char found[PATH_MAX], real[PATH_MAX];
    show_system(&s->base);
    const char *path = opt->env(opt->user, "PATH");
    const char *own = opt->env(opt->user, "PDL_PYTHON"), *venv = opt->env(opt->user, "VIRTUAL_ENV");
    char in_venv[PATH_MAX] = "";
    if (venv && *venv) snprintf(in_venv, sizeof in_venv, "%s/bin/python3", venv);
    const char *const pythons[] = {own, in_venv, "python3"};
    for (size_t i = 0; i < sizeof pythons / sizeof pythons[0]; i++)
        if (pythons[i] && *pythons[i] && find_command(pythons[i], path, found))
            show_python(&s->base, found, opt->env(opt->user, "HOME"));
    char *dir = opt->dir.n ? pdl_str_dup(opt->dir) : pdl_str_dup(PDL_STR("."));
    if (realpath(dir, real) && strcmp(real, "/") != 0) show(&s->base, real);
    s->dir = pdl_str_dup(pdl_str_of(realpath(dir, real) ? real : "/"));
    pdl_free(dir);
}

/* --- environment ------------------------------------------------------------------------------ */

static void put_env(pdl_sandbox *s, const char *name, const char *value) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s=%s", name, value);
    pdl_paths_add(&s->own_env, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void make_env(pdl_sandbox *s) {
    static const char *const passed[] = {"PATH",        "LANG",    "LC_ALL",     "LC_CTYPE",
                                         "LC_NUMERIC",  "LC_TIME", "LC_COLLATE", "LC_MESSAGES",
                                         "LC_MONETARY", "TZ",      "TERM",       "VIRTUAL_ENV"};
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        const char *v = s->getenv(s->user, passed[i]);
        if (v) put_env(s, passed[i], v);
    }
    for (size_t i = 0; i < s->profile.env.n; i++) {
        const char *v = s->getenv(s->user, s->profile.env.p[i]);
        if (v) put_env(s, s->profile.env.p[i], v);
    }
    put_env(s, "HOME", "/tmp/home");
    put_env(s, "TMPDIR", "/tmp");
}

/* --- making ----------------------------------------------------------------------------------- */

static bool look_through(const char *folder, bool writable, walk_result *w, pdl_err *err) {
    static const char *const reasons[] = {
        [WALK_TOO_MANY] = "it has more than a million files",
        [WALK_TOO_MANY_MASKED] = "it has too many files to hide",
        [WALK_TOO_DEEP] = "the path of a folder in it is too long",
    };
    walk_end end = pdl_walk_folder(folder, writable, w);
    if (end == WALK_DONE) return true;
    return pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                       "the sandbox cannot look through %s for keys: %s. Put the program into a "
                       "folder that has nothing else, or name smaller folders in read: and write:",
                       folder, reasons[end]);
}

static void add_unless_named(path_list *to, const path_list *from, const sandbox_profile *p) {
    for (size_t i = 0; i < from->n; i++)
        if (!pdl_paths_have(&p->read, from->p[i]) && !pdl_paths_have(&p->write, from->p[i]))
            pdl_paths_add(to, pdl_str_of(from->p[i]));
}

/* Returns true when the profile names something in the folder, or the working folder is there. */
static bool is_needed(const pdl_sandbox *s, const char *folder) {
    const path_list *named[] = {&s->profile.read, &s->profile.write};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < named[k]->n; i++)
            if (pdl_path_is_under(named[k]->p[i], folder)) return true;
    return s->spec.cwd && pdl_path_is_under(s->spec.cwd, folder);
}

/* Returns true when the folder of the path is one of `folders`, which are sorted. */
static bool is_in_one(const path_list *folders, const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    return slash && slash != path &&
           snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) < PATH_MAX &&
           pdl_sorted_have(folders, folder);
}

/* Masks folders in place of all their files, unless something in them is needed. One mount for each
 * folder is enough then. */
static void mask_whole(pdl_sandbox *s, const path_list *whole) {
    path_list folders = {0}, *masked = &s->spec.masked;
    size_t n = 0;
    for (size_t i = 0; i < whole->n; i++)
        if (!is_needed(s, whole->p[i])) pdl_paths_add(&folders, pdl_str_of(whole->p[i]));
    pdl_paths_sort(&folders);
    for (size_t i = 0; i < masked->n; i++) {
        if (is_in_one(&folders, masked->p[i]))
            pdl_free(masked->p[i]);
        else
            masked->p[n++] = masked->p[i];
    }
    masked->n = n;
    for (size_t i = 0; i < folders.n; i++) pdl_paths_add(masked, pdl_str_of(folders.p[i]));
    pdl_paths_fini(&folders);
}

static void add_all(path_list *to, const path_list *from) {
    for (size_t i = 0; i < from->n; i++)
        if (!pdl_paths_have(to, from->p[i])) pdl_paths_add(to, pdl_str_of(from->p[i]));
}

static bool any_holds(const path_list *folders, const char *path) {
    for (size_t i = 0; i < folders->n; i++)
        if (pdl_path_is_under(path, folders->p[i])) return true;
    return false;
}

/* Adds the folders to read. A folder inside one that may be written is left out. A folder inside
 * one that is shown is left out, too, unless there is a link in its path. */
static void add_readable(sandbox_spec *x, const path_list *from, const sandbox_profile *p) {
    for (size_t i = 0; i < from->n; i++) {
        char real[PATH_MAX];
        bool is_link = !realpath(from->p[i], real) || strcmp(real, from->p[i]) != 0;
        if (!any_holds(&p->write, from->p[i]) && (is_link || !any_holds(&x->ro, from->p[i])) &&
            !pdl_paths_have(&x->ro, from->p[i]))
            pdl_paths_add(&x->ro, pdl_str_of(from->p[i]));
    }
}

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Protects a file in a folder that code may write, unless the profile names the file itself.
 * Under bubblewrap a link is not protected, because bubblewrap would mount over the target of
 * the link. */
static void protect(sandbox_spec *x, const sandbox_profile *p, const char *path) {
    if (x->backend == BACKEND_BWRAP && is_link(path)) return;
    bool is_hidden = any_holds(&x->masked, path) && !pdl_paths_have(&p->read, path);
    if (any_holds(&x->rw, path) && !pdl_paths_have(&p->write, path) && !is_hidden &&
        !pdl_paths_have(&x->kept, path))
        pdl_paths_add(&x->kept, pdl_str_of(path));
}

static bool fill_spec(pdl_sandbox *s, pdl_err *err) {
    sandbox_spec *x = &s->spec;
    const sandbox_profile *p = &s->profile;
    walk_result w = {0};
    bool ok = look_through(s->dir, false, &w, err);
    for (size_t i = 0; ok && i < p->read.n; i++) ok = look_through(p->read.p[i], false, &w, err);
    for (size_t i = 0; ok && i < p->write.n; i++) ok = look_through(p->write.p[i], true, &w, err);
    for (size_t i = 0; ok && i < p->write.n; i++) pdl_walk_project(s->dir, p->write.p[i], &w);
    if (ok) {
        add_readable(x, &s->base, p);
        add_readable(x, &p->read, p);
        add_all(&x->rw, &p->write);
        mask_system(&x->masked);
        add_unless_named(&x->masked, &w.masked, p);
        add_unless_named(&x->masked, &s->mask, p);
        mask_whole(s, &w.whole);
        pdl_paths_sort(&x->masked);
        add_unless_named(&x->own, &s->mask, p);
        for (size_t i = 0; i < w.kept.n; i++) pdl_paths_add(&x->kept, pdl_str_of(w.kept.p[i]));
        pdl_paths_sort(&x->kept);
        for (size_t i = 0; i < s->keep.n; i++) protect(x, p, s->keep.p[i]);
        add_all(&x->placeholders, &w.placeholders);
        pdl_planted_mark(s, &w);
        add_all(&x->net, &p->net);
        x->processes = p->processes;
        x->memory = p->memory_mb << 20;
        x->tmp = p->tmp_mb << 20;
        x->file = p->file_mb << 20;
    }
    pdl_walk_fini(&w);
    return ok;
}

/* Returns true when bubblewrap would get too many words. bubblewrap accepts 9 000 words together
 * with the words of the command, and a mount takes three. */
static bool is_too_much_for_bwrap(const sandbox_spec *x) {
    enum { MAX_MOUNTS = 2600 };
    path_list above = {0};
    if (x->backend != BACKEND_BWRAP) return false;
    pdl_walk_above(x, &above);
    size_t n = x->ro.n + x->rw.n + x->masked.n + above.n;
    for (size_t i = 0; i < x->kept.n; i++) n += !is_link(x->kept.p[i]);
    pdl_paths_fini(&above);
    return n > MAX_MOUNTS;
}

static void write_text(pdl_sandbox *s) {
    pdl_buf b = PDL_BUF;
    pdl_spec_write(&s->spec, &b);
    pdl_free(s->text);
    s->text = pdl_buf_take(&b);
    pdl_paths_fini(&s->parts);
    pdl_spec_split(s->text, &s->parts);
}

static bool finish(pdl_sandbox *s, pdl_err *err) {
    /* All arguments of a process have two million bytes at most. A mount takes microseconds. */
    enum { MAX_SPEC = 1200000, MAX_HIDDEN = 20000 };
    if (!fill_spec(s, err)) return false;
    make_env(s);
    /* placeholders can be mounted over only when they exist */
    for (size_t i = 0; i < s->spec.placeholders.n; i++) {
        pdl_str path = pdl_str_of(s->spec.placeholders.p[i]);
        if (pdl_str_ends(path, PDL_STR("/"))) path = pdl_str_sub(path, 0, path.n - 1);
        pdl_paths_add(&s->spec.kept, path);
    }
    write_text(s);
    for (size_t i = 0; i < s->own_env.n; i++) *pdl_vec_push(&s->env) = s->own_env.p[i];
    *pdl_vec_push(&s->env) = NULL;
    if (strlen(s->text) <= MAX_SPEC && s->spec.masked.n <= MAX_HIDDEN &&
        !is_too_much_for_bwrap(&s->spec))
        return true;
    const path_list *most = s->spec.masked.n > s->spec.kept.n ? &s->spec.masked : &s->spec.kept;
    return pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                       "the sandbox has too many files to hide or keep in its folders: %zu, %s is "
                       "one. Name smaller folders in read: and write:",
                       s->spec.masked.n + s->spec.kept.n, most->n ? most->p[most->n / 2] : "/");
}

/* Chooses the strongest confinement that this machine can enforce, no weaker than requested. */
static bool choose(pdl_sandbox *s, const pdl_sandbox_options *opt, pdl_buf *note, pdl_err *err) {
    const char *want = opt->env(opt->user, "PDL_SANDBOX_BACKEND");
    bool bwrap_only = want && strcmp(want, "bwrap") == 0;
    bool native_only = want && strcmp(want, "native") == 0;
    sandbox_machine m;
    if (want && *want && !bwrap_only && !native_only)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "PDL_SANDBOX_BACKEND is bwrap or native, not '%.40s'", want);
    if (!opt->helper)
        return pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                           "the sandbox needs the command pdl, which is not found beside this "
                           "program and not on PATH");
    const char *without = opt->env(opt->user, "PDL_SANDBOX_WITHOUT");
    pdl_machine_probe(&m, without, bwrap_only);
    /* Bubblewrap is tried only when direct system calls fail, because it takes twice as long to
     * start a command. Some security modules let only bubblewrap make namespaces. */
    if (!m.namespaces && !native_only) pdl_machine_probe(&m, without, true);
    s->spec.backend = m.bwrap ? BACKEND_BWRAP : BACKEND_NATIVE;
    if (m.lacks)
        return pdl_err_set(err, PDL_E_policy, (pdl_loc){0}, "this machine cannot confine code: %s",
                           m.lacks);
    char both[sizeof m.why_namespaces + sizeof m.why_bwrap + 8];
    bool is_same = native_only || strcmp(m.why_bwrap, m.why_namespaces) == 0;
    snprintf(both, sizeof both, "%s%s%s", m.why_namespaces, is_same ? "" : ", and ",
             is_same ? "" : m.why_bwrap);
    const char *why = bwrap_only && !m.bwrap ? m.why_bwrap : !m.namespaces ? both : NULL;
    s->spec.landlock = m.landlock;
    if (!why) return true;
    if (!opt->process_is_enough)
        return pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                           "this machine cannot confine code fully: %s; %s", why,
                           m.namespaces ? "without PDL_SANDBOX_BACKEND it can"
                                        : "--sandbox-min process accepts less");
    if (s->profile.net.n)
        return pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                           "`net:` needs the strength full, which is not there: %s", why);
    s->strength = PDL_SANDBOX_PROCESS;
    s->spec.backend = BACKEND_NONE;
    pdl_buf_putf(note, "the sandbox has the strength process: %s. It is weaker: ", why);
    for (size_t i = 0, n = 0; i < pdl_n_weaknesses; i++)
        if (pdl_weakness_holds(i, &m) && (s->profile.write.n || !pdl_weaknesses[i].of_write))
            pdl_buf_putf(note, "%s%s", n++ ? "; " : "", pdl_weaknesses[i].text);
    return true;
}

enum { MAX_PROBLEMS = 100 };

typedef struct profile_mistakes {
    pdl_buf text;
    size_t n;
} profile_mistakes;

static void profile_wrong(void *user, const pdl_node *key, const pdl_node *value,
                          const char *should) {
    profile_mistakes *p = user;
    pdl_buf *b = &p->text;
    if (++p->n > MAX_PROBLEMS) return;
    if (b->len) pdl_buf_putc(b, '\n');
    pdl_loc_put(pdl_node_loc(value ? value : key), b);
    if (value) {
        pdl_str name = key ? key->text : PDL_STR("sandbox");
        if (pdl_node_is_str(value))
            pdl_buf_putf(b, "%.*s: %.*s %s", PDL_FMT(name),
                         PDL_FMT(pdl_utf8_cut(value->text, PDL_PROFILE_SHOWN)), should);
        else
            pdl_buf_putf(b, "%.*s %s", PDL_FMT(name), should);
        return;
    }
    pdl_buf_putf(b, "no key of a profile: '%.*s'",
                 PDL_FMT(pdl_utf8_cut(key->text, PDL_PROFILE_SHOWN)));
    pdl_str near = pdl_profile_nearest(key->text);
    if (near.n) pdl_buf_putf(b, "; did you mean '%.*s'?", PDL_FMT(near));
}

/* Reports all problems, each with its place, before the value is used. */
static bool load_profile(pdl_str file, pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_arena *arena = pdl_arena_make();
    pdl_source *src;
    const pdl_node *root, *inner;
    profile_mistakes problems = {.text = PDL_BUF};
    *out = pdl_absent();
    bool ok =
        pdl_yaml_source(arena, file, text, &src, err) && pdl_yaml_load(arena, src, &root, err);
    if (ok) {
        inner = root->kind == PDL_NODE_MAP ? pdl_node_find(root, PDL_STR("sandbox"), NULL) : NULL;
        pdl_profile_check(inner ? inner : root, profile_wrong, &problems);
        ok = !problems.n && pdl_yaml_to_val(inner ? inner : root, out, err);
    }
    if (problems.n > MAX_PROBLEMS)
        pdl_buf_putf(&problems.text, "\n... and %zu more", problems.n - MAX_PROBLEMS);
    if (problems.n) {
        pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s", pdl_buf_z(&problems.text));
        err->preformatted = true;
    } else if (!ok) {
        pdl_err_detach(err);
        err->kind = PDL_E_syntax;
    }
    pdl_buf_fini(&problems.text);
    pdl_arena_free(arena);
    return ok;
}

bool pdl_sandbox_profile(pdl_str name, pdl_val *out, pdl_err *err) {
    *out = pdl_dict_new(0);
    if (!name.n || pdl_str_is(name, "code")) return true;
    if (pdl_str_find(name, PDL_STR("/"), 0) == PDL_NOT_FOUND &&
        pdl_str_find(name, PDL_STR("."), 0) == PDL_NOT_FOUND)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "there is no profile '%.*s': built in is code; another one is a file, "
                           "with its path",
                           PDL_FMT(name));
    pdl_buf text = PDL_BUF;
    pdl_val v = pdl_absent();
    char *path = pdl_str_dup(name);
    bool ok = pdl_file_read(path, &text, err) && load_profile(name, pdl_buf_str(&text), &v, err);
    /* the value `true` requests a profile without changes */
    if (ok && !pdl_is_bool(v)) {
        pdl_drop(*out);
        *out = v;
    }
    pdl_free(path);
    pdl_buf_fini(&text);
    return ok;
}

static bool read_profile(pdl_sandbox *s, const pdl_sandbox_options *opt, pdl_err *err) {
    pdl_profile_init(&s->profile);
    pdl_profile_source own = {.what = opt->profile, .dir = pdl_file_folder(opt->profile)};
    pdl_val v;
    bool ok =
        pdl_sandbox_profile(opt->profile, &v, err) && pdl_profile_read(&s->profile, v, &own, err);
    pdl_drop(v);
    if (!ok) return false;
    pdl_profile_source from = {.what = opt->given_name.n ? opt->given_name : PDL_STR("sandbox"),
                               .dir = opt->given_dir.p ? opt->given_dir : opt->dir};
    return pdl_is_absent(opt->given) || pdl_profile_read(&s->profile, opt->given, &from, err);
}

pdl_str pdl_sandbox_named(const char *value) {
    if (!value || !*value || strcmp(value, "0") == 0) return (pdl_str){0};
    return strcmp(value, "1") == 0 ? PDL_STR("code") : pdl_str_of(value);
}

static void note_absent(const char *key, const path_list *l, pdl_buf *note) {
    struct stat st;
    for (size_t i = 0; i < l->n; i++) {
        if (lstat(l->p[i], &st) == 0) continue;
        pdl_buf_putf(note, "%sthe profile of the sandbox has %s: %s, which is not there",
                     note->len ? "; " : "", key, l->p[i]);
    }
}

/* Returns true when the folder has the program or the working folder in it. */
static bool has_program(const pdl_sandbox *s, pdl_str dir, const char *folder) {
    char real[PATH_MAX];
    char *path = pdl_str_dup(dir.n ? dir : PDL_STR("."));
    bool found = realpath(path, real) && pdl_path_is_under(real, folder);
    pdl_free(path);
    return found || (s->spec.cwd && pdl_path_is_under(s->spec.cwd, folder));
}

/* Notes once that a folder with files of runs is not masked. */
static void note_visible(const char *folder, pdl_buf *note) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b,
                 "confined code can see the files of runs in %s, because the program or the "
                 "working folder is in it",
                 folder);
    if (pdl_str_find(pdl_buf_str(note), pdl_buf_str(&b), 0) == PDL_NOT_FOUND)
        pdl_buf_putf(note, "%s%s", note->len ? "; " : "", pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Masks a file that exists, with two exceptions. Code needs devices such as /dev/null, which show
 * nothing of a run. A program cannot run in a folder that looks empty. */
static void add_existing(pdl_sandbox *s, pdl_str dir, const char *real, pdl_buf *note) {
    pdl_file_kind kind = pdl_file_kind_of(real);
    if (kind == PDL_FILE_OTHER) return;
    if (kind == PDL_FILE_DIR && has_program(s, dir, real))
        note_visible(real, note);
    else
        pdl_paths_add(&s->mask, pdl_str_of(real));
}

/* Masks a file. A file that does not exist yet is masked in the processes that start after it
 * exists. */
static void add_masked(pdl_sandbox *s, pdl_str dir, const char *path, pdl_buf *note) {
    char real[PATH_MAX], folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    pdl_links_on_way(path, &s->keep);
    if (realpath(path, real)) {
        add_existing(s, dir, real, note);
        return;
    }
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    snprintf(folder, sizeof folder, "%.*s", (int)(n ? n : 1), n ? path : ".");
    if (n >= sizeof folder || !realpath(folder, real)) return;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", strcmp(real, "/") == 0 ? "" : real, path + n);
    pdl_paths_add(&s->mask, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Notes a file of this run and the links that lead to it, because code must not exchange them. */
static void add_kept(pdl_sandbox *s, const char *path) {
    char real[PATH_MAX];
    if (*path) pdl_links_on_way(path, &s->keep);
    if (*path && realpath(path, real) && pdl_file_kind_of(real) == PDL_FILE_REGULAR &&
        !pdl_paths_have(&s->keep, real))
        pdl_paths_add(&s->keep, pdl_str_of(real));
}

void pdl_sandbox_keep(pdl_sandbox *s, const char *path) {
    size_t had = s->keep.n;
    add_kept(s, path);
    for (size_t i = had; i < s->keep.n; i++) protect(&s->spec, &s->profile, s->keep.p[i]);
    if (s->keep.n > had) write_text(s);
}

bool pdl_sandbox_ok(const pdl_sandbox *s) {
    bool ok = (s->strength == PDL_SANDBOX_PROCESS) == (s->spec.backend == BACKEND_NONE) &&
              s->text && s->dir && s->spec.helper && s->env.n && !s->env.p[s->env.n - 1];
    for (size_t i = 0; ok && i < s->profile.write.n; i++)
        ok = pdl_paths_have(&s->spec.rw, s->profile.write.p[i]);
    for (size_t i = 1; ok && i < s->marks.n; i++)
        ok = strcmp(s->marks.p[i - 1].path, s->marks.p[i].path) <= 0;
    return ok;
}

bool pdl_sandbox_new(const pdl_sandbox_options *opt, pdl_sandbox **out, pdl_buf *note,
                     pdl_err *err) {
    pdl_sandbox *s = PDL_NEW(pdl_sandbox);
    char cwd[PATH_MAX];
    bool ok = read_profile(s, opt, err) && choose(s, opt, note, err);
    if (ok) {
        note_absent("read", &s->profile.read, note);
        note_absent("write", &s->profile.write, note);
        s->spec.helper = pdl_str_dup(pdl_str_of(opt->helper));
        if (getcwd(cwd, sizeof cwd)) s->spec.cwd = pdl_str_dup(pdl_str_of(cwd));
        for (const char *const *h = opt->mask; h && *h; h++) add_masked(s, opt->dir, *h, note);
        for (const char *const *k = opt->keep; k && *k; k++) add_kept(s, *k);
        show_base(s, opt);
        show(&s->base, opt->helper);
        s->getenv = opt->env;
        s->user = opt->user;
        ok = finish(s, err);
    }
    assert(!ok || pdl_sandbox_ok(s));
    if (ok)
        *out = s;
    else
        pdl_sandbox_free(s);
    return ok;
}

/* Makes a sandbox by applying the profile `given` to the profile of `from`. */
static bool derive(const pdl_sandbox *from, pdl_vref given, pdl_str folder, bool narrows,
                   pdl_sandbox **out, pdl_err *err) {
    pdl_sandbox *s = PDL_NEW(pdl_sandbox);
    assert(pdl_sandbox_ok(from));
    pdl_profile_copy(&s->profile, &from->profile);
    s->strength = from->strength;
    s->spec.backend = from->spec.backend;
    s->spec.landlock = from->spec.landlock;
    s->spec.helper = pdl_str_dup(pdl_str_of(from->spec.helper));
    s->spec.cwd = from->spec.cwd ? pdl_str_dup(pdl_str_of(from->spec.cwd)) : NULL;
    s->dir = pdl_str_dup(pdl_str_of(from->dir));
    add_all(&s->base, &from->base);
    add_all(&s->mask, &from->mask);
    add_all(&s->keep, &from->keep);
    s->getenv = from->getenv;
    s->user = from->user;
    pdl_profile_source source = {.what = PDL_STR("sandbox"),
                                 .dir = folder.n ? folder : pdl_str_of(s->dir),
                                 .narrows = narrows,
                                 .shown = &from->spec.ro,
                                 .hidden = &from->spec.masked};
    bool ok = pdl_profile_read(&s->profile, given, &source, err) && finish(s, err);
    assert(!ok || pdl_sandbox_ok(s));
    if (ok)
        *out = s;
    else
        pdl_sandbox_free(s);
    return ok;
}

bool pdl_sandbox_narrow(const pdl_sandbox *s, pdl_vref given, pdl_sandbox **out, pdl_err *err) {
    return derive(s, given, (pdl_str){0}, true, out, err);
}

bool pdl_sandbox_widen(const pdl_sandbox *s, pdl_vref given, pdl_str folder, pdl_sandbox **out,
                       pdl_err *err) {
    return derive(s, given, folder, false, out, err);
}

void pdl_sandbox_free(pdl_sandbox *s) {
    if (!s) return;
    pdl_profile_fini(&s->profile);
    pdl_spec_fini(&s->spec);
    pdl_paths_fini(&s->parts);
    pdl_paths_fini(&s->base);
    pdl_paths_fini(&s->mask);
    pdl_paths_fini(&s->keep);
    pdl_paths_fini(&s->own_env);
    pdl_planted_fini(s);
    pdl_vec_fini(&s->env);
    pdl_free(s->dir);
    pdl_free(s->text);
    pdl_free(s);
}

const char *pdl_sandbox_key(const pdl_sandbox *s) { return s->text; }

const char **pdl_sandbox_argv(const pdl_sandbox *s, const char *const *argv) {
    size_t n = 0;
    while (argv[n]) n++;
    size_t k = s->parts.n;
    const char **all = PDL_NEW_N(const char *, n + k + 3);
    all[0] = s->spec.helper;
    all[1] = "__confine";
    for (size_t i = 0; i < k; i++) all[2 + i] = s->parts.p[i];
    for (size_t i = 0; i <= n; i++) all[2 + k + i] = argv[i];
    return all;
}

const char *const *pdl_sandbox_env(const pdl_sandbox *s) { return s->env.p; }
bool pdl_sandbox_is_closed(const pdl_sandbox *s) {
    return !s->profile.write.n && !s->profile.net.n;
}

bool pdl_sandbox_is_sealed(const pdl_sandbox *s) {
    return s->strength == PDL_SANDBOX_FULL && pdl_sandbox_is_closed(s);
}

double pdl_sandbox_seconds(const pdl_sandbox *s) { return s->profile.seconds; }
