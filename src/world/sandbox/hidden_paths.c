/* hidden_paths.c -- finds the parts of a granted folder that confined code must not see or must not
 * change: keys, files that programs run at their start, and sockets, through which code could leave
 * the sandbox.
 *
 * A repository of git needs no special name. Git treats each folder that has HEAD, objects and refs
 * as a (bare) repository, executes programs that its `config` names, and runs its `hooks`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "io/file.h"
#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

/* The maximum number of entries that are read. A project with its packages for Python and Node has
 * some 100 000; reading a million takes a second. */
enum { MAX_ENTRIES = 1000000 };

static bool ends(const char *s, const char *suffix) {
    return pdl_str_ends(pdl_str_of(s), pdl_str_of(suffix));
}

/* Returns true when a file has certificates and no key. The certificates of authorities are public,
 * and every library that opens a connection reads them: a virtual environment has several such
 * files. */
static bool has_certificates_only(const char *path) {
    enum { MAX_BYTES = 4 << 20 };
    struct stat st;
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_BYTES) return false;
    bool ok = pdl_file_read_found(path, 0, &text, &ignored) &&
              pdl_str_find(pdl_buf_str(&text), PDL_STR("-----BEGIN CERTIFICATE-----"), 0) !=
                  PDL_NOT_FOUND &&
              pdl_str_find(pdl_buf_str(&text), PDL_STR("PRIVATE KEY"), 0) == PDL_NOT_FOUND;
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
    return ok;
}

/* Reads the first bytes of a file. Returns an empty text when the file cannot be read. */
static pdl_str read_head(const char *path, char *head, size_t n) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, head, n) : -1;
    if (fd >= 0) close(fd);
    return (pdl_str){head, got > 0 ? (size_t)got : 0};
}

/* Returns true for a database of this project: a recording, a cache or the list of runs, which can
 * have any name. Only files with no ending, or with a usual one, are opened, because a folder may
 * have a great many files; objects of git have no endings. */
static bool is_our_database(const char *folder, const char *name, const char *path) {
    static const char *const usual[] = {".db", ".sqlite", ".sqlite3", ".cache", ".rec"};
    enum { ID_AT = 68, ID = 3 }; /* SQLite's header has the id of the application there */
    char head[ID_AT + ID];
    bool is_usual = !strchr(name, '.') && !strstr(folder, "/objects/");
    for (size_t i = 0; !is_usual && i < sizeof usual / sizeof usual[0]; i++)
        is_usual = ends(name, usual[i]);
    if (!is_usual) return false;
    bool whole = read_head(path, head, sizeof head).n == sizeof head;
    return whole && memcmp(head, "SQLite format 3", 16) == 0 &&
           memcmp(head + ID_AT, "PDL", ID) == 0;
}

/* Returns true for a file that SQLite keeps beside a database of this project. */
static bool is_beside_database(const char *folder, const char *name, const char *path) {
    static const char *const endings[] = {"-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (!ends(name, endings[i])) continue;
        char *database = pdl_str_dup((pdl_str){path, strlen(path) - strlen(endings[i])});
        bool found = is_our_database(folder, strrchr(database, '/') + 1, database);
        pdl_free(database);
        return found;
    }
    return false;
}

static bool is_secret(const char *folder, const char *name, const char *path) {
    if (is_our_database(folder, name, path) || is_beside_database(folder, name, path)) return true;
    if (strncmp(name, ".env", 4) == 0 && (name[4] == 0 || name[4] == '.')) return true;
    if (strcmp(name, ".netrc") == 0 || ends(name, ".journal")) return true;
    if (ends(name, ".pem")) return !has_certificates_only(path);
    if (strncmp(name, "id_", 3) == 0) return true;
    return strcmp(name, "config") == 0 && ends(folder, "/.git");
}

/* Files that shells, editors and other programs of the user read at their start. */
static const char *const start_files[] = {
    ".git/",          ".env",      ".bashrc",   ".bash_profile", ".bash_login", ".profile",
    ".zshrc",         ".zprofile", ".zshenv",   ".zlogin",       ".gitconfig",  ".gitmodules",
    ".gitattributes", ".npmrc",    ".mcp.json", ".vscode/",      ".idea/",      ".envrc",
    ".pypirc",        ".netrc",    ".claude/",  ".cursor/",      ".ssh/",       ".inputrc",
    ".vimrc",         ".gdbinit",
};
enum { N_START_FILES = sizeof start_files / sizeof start_files[0] };

/* The settings of a project: pdl reads this file in the folder of a program or in a folder
 * above. */
static const char project_file[] = "pdl.toml";

static bool is_start_file(const char *name) {
    for (size_t i = 0; i < N_START_FILES; i++) {
        size_t n = strlen(start_files[i]);
        if (start_files[i][n - 1] == '/') n--;
        if (strlen(name) == n && strncmp(name, start_files[i], n) == 0) return true;
    }
    return strncmp(name, ".env.", 5) == 0 || strcmp(name, project_file) == 0;
}

/* The files by which git recognises a bare repository, and the files that control git in it.
 * `commondir` names another folder whose `config` and `hooks` git obeys instead. */
enum { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMON = 8, HAS_CONFIG = 16 };
/* The two files by which the folder of a search (`pdl optimize`) is recognised; is_search() also
 * checks how candidates.jsonl begins. Such a folder has the right answers to the rows. */
enum { HAS_CANDIDATES = 32, HAS_SCORES = 64 };
static const struct {
    const char *name;
    unsigned part;
} folder_parts[] = {
    {"candidates.jsonl", HAS_CANDIDATES},
    {"scores.jsonl", HAS_SCORES},
    {"HEAD", HAS_HEAD},
    {"objects", HAS_OBJECTS},
    {"refs", HAS_REFS},
    {"commondir", HAS_COMMON},
    {"config", HAS_CONFIG},
};
static const char *const repository_starts[] = {"config", "hooks/", "config.worktree"};

static unsigned folder_part(const char *name) {
    for (size_t i = 0; i < sizeof folder_parts / sizeof folder_parts[0]; i++)
        if (strcmp(folder_parts[i].name, name) == 0) return folder_parts[i].part;
    return 0;
}

/* Returns true for the folder of a search. The names of its two files are common in programs, so
 * the first words of the candidates are read, too. */
static bool is_search(const char *folder, unsigned parts) {
    enum { SEARCH = HAS_CANDIDATES | HAS_SCORES, HEAD = 64 };
    char head[HEAD];
    if ((parts & SEARCH) != SEARCH) return false;
    pdl_buf path = PDL_BUF;
    pdl_buf_putf(&path, "%s/candidates.jsonl", folder);
    pdl_str s = read_head(pdl_buf_z(&path), head, sizeof head), begin = PDL_STR("{\"candidate\": ");
    pdl_buf_fini(&path);
    if (!pdl_str_starts(s, begin)) return false;
    size_t n = begin.n;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') n++;
    return n > begin.n && pdl_str_starts(pdl_str_sub(s, n, s.n), PDL_STR(", \"values\": "));
}

static bool is_repository(unsigned parts) {
    enum { WHOLE = HAS_HEAD | HAS_OBJECTS | HAS_REFS, LINKED = HAS_HEAD | HAS_COMMON };
    return (parts & WHOLE) == WHOLE || (parts & LINKED) == LINKED;
}

static void add_below(path_list *to, const char *folder, const char *name) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", folder, name);
    pdl_paths_add(to, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static bool has_below(const char *folder, const char *name) {
    struct stat st;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", folder, name);
    bool has = lstat(pdl_buf_z(&b), &st) == 0;
    pdl_buf_fini(&b);
    return has;
}

/* Notes the missing start files of a folder to which code may write, so that code cannot make them.
 * The helper makes them, as placeholders, and mounts over them while the command runs. */
static void note_placeholders(const char *folder, walk_result *out) {
    for (size_t i = 0; i < N_START_FILES; i++)
        if (!has_below(folder, start_files[i]))
            add_below(&out->placeholders, folder, start_files[i]);
}

void pdl_walk_project(const char *program, const char *folder, walk_result *out) {
    if (!pdl_path_is_under(program, folder)) return;
    char *at = pdl_str_dup(pdl_str_of(program));
    for (size_t n = strlen(at); n >= strlen(folder); n--) {
        if (at[n] && at[n] != '/') continue;
        at[n] = 0;
        if (!has_below(at, project_file)) add_below(&out->placeholders, at, project_file);
    }
    pdl_free(at);
}

/* Notes a repository, whose `config` holds names and passwords of servers. A repository below a
 * folder to write is protected as a whole, since code could give it another `config` in more than
 * one way. In a repository that the profile itself names, only the files that control git are
 * protected. */
static void note_repository(const char *root, const char *folder, bool writable, unsigned parts,
                            walk_result *out) {
    bool is_git = ends(folder, "/.git");
    if (parts & HAS_CONFIG && !is_git) add_below(&out->masked, folder, "config");
    if (!writable) return;
    if (strcmp(root, folder) != 0) {
        /* a folder with the name .git is protected because of its name */
        if (is_git || strstr(folder, "/.git/")) return;
        pdl_paths_add(&out->kept, pdl_str_of(folder));
        pdl_paths_add(&out->starts, pdl_str_of(folder));
        return;
    }
    pdl_paths_add(&out->starts, pdl_str_of(folder));
    if (parts & HAS_COMMON) add_below(&out->starts, folder, "commondir");
    for (size_t i = 0; i < sizeof repository_starts / sizeof repository_starts[0]; i++) {
        bool has = has_below(folder, repository_starts[i]);
        if (!has || i > 0)
            add_below(has ? &out->kept : &out->placeholders, folder, repository_starts[i]);
    }
}

/* Notes the target of a link: programs read or run the target like a file with the name of the
 * link. hidden: the link has the name of a secret; starts: the link has the name of a start file.
 */
static void note_target(const char *root, const char *path, bool hidden, bool starts,
                        walk_result *out) {
    char real[PATH_MAX];
    if (!realpath(path, real) || !pdl_path_is_under(real, root) || strcmp(real, root) == 0) return;
    if (hidden && !(ends(path, ".pem") && has_certificates_only(real)))
        pdl_paths_add(&out->masked, pdl_str_of(real));
    else if (starts)
        pdl_paths_add(&out->kept, pdl_str_of(real));
}

/* An entry of a folder. */
typedef struct {
    const char *folder, *name, *path;
    unsigned char type; /* a DT_* */
    bool writable;
} entry;

/* Adds an entry to the lists of out, as far as it must be masked or protected. Returns false when
 * there are more paths to mask than the kernel allows, or more than can be compared in a moment. */
static bool note(const char *root, const entry *e, walk_result *out) {
    enum { MAX_NOTED = 200000 };
    bool hidden =
        (e->type == DT_REG || e->type == DT_LNK) && is_secret(e->folder, e->name, e->path);
    bool starts = e->writable && is_start_file(e->name);
    if (e->type == DT_SOCK || hidden) pdl_paths_add(&out->masked, pdl_str_of(e->path));
    if (starts) pdl_paths_add(&out->starts, pdl_str_of(e->path));
    if (starts && (!hidden || e->type == DT_LNK)) pdl_paths_add(&out->kept, pdl_str_of(e->path));
    if (e->type == DT_LNK && (starts || hidden)) note_target(root, e->path, hidden, starts, out);
    return out->masked.n + out->kept.n <= MAX_NOTED;
}

static walk_end look_at(const char *root, const char *folder, const struct dirent *e, bool writable,
                        path_list *folders, walk_result *out) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", folder, e->d_name);
    const char *path = pdl_buf_z(&b);
    struct stat st;
    unsigned char type = e->d_type;
    if (type == DT_UNKNOWN && lstat(path, &st) == 0)
        type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISSOCK(st.st_mode) ? DT_SOCK : DT_REG;
    bool ok = note(root, &(entry){folder, e->d_name, path, type, writable}, out);
    if (type == DT_DIR) pdl_paths_add(folders, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return ok ? WALK_DONE : WALK_TOO_MANY_MASKED;
}

/* Handles a folder that cannot be read. Code in the sandbox cannot read it either, with two
 * exceptions. When the path is too long for this function, code could still reach the folder in
 * several steps. When the folder belongs to the user, code that may write there could make it
 * readable, so it is masked. */
static walk_end look_closed(const char *folder, bool writable, walk_result *out) {
    struct stat st;
    if (errno == ENAMETOOLONG) return WALK_TOO_DEEP;
    if (writable && errno == EACCES && lstat(folder, &st) == 0 && st.st_uid == geteuid()) {
        pdl_paths_add(&out->masked, pdl_str_of(folder));
        pdl_paths_add(&out->closed, pdl_str_of(folder));
    }
    return WALK_DONE;
}

/* When a folder has at least this many masked files and nothing else, the folder is masked instead
 * of its files. */
enum { MANY = 32 };

/* Reads one folder and adds the folders in it to the list. */
static walk_end look(const char *root, const char *folder, bool writable, path_list *folders,
                     walk_result *out) {
    DIR *d = opendir(folder);
    walk_end end = WALK_DONE;
    unsigned parts = 0;
    size_t n_masked = 0, n_entries = 0;
    if (!d) return look_closed(folder, writable, out);
    for (struct dirent *e; end == WALK_DONE && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        parts |= folder_part(e->d_name);
        size_t had = out->masked.n;
        n_entries++;
        if (++out->n_entries > MAX_ENTRIES)
            end = WALK_TOO_MANY;
        else
            end = look_at(root, folder, e, writable, folders, out);
        n_masked += out->masked.n > had;
    }
    closedir(d);
    if (strcmp(root, folder) != 0 && n_entries >= MANY && n_masked == n_entries)
        pdl_paths_add(&out->whole, pdl_str_of(folder));
    if (is_repository(parts)) note_repository(root, folder, writable, parts, out);
    if (strcmp(root, folder) != 0 && is_search(folder, parts))
        pdl_paths_add(&out->masked, pdl_str_of(folder));
    return end;
}

walk_end pdl_walk_folder(const char *folder, bool writable, walk_result *out) {
    struct stat st;
    path_list folders = {0};
    walk_end end = WALK_DONE;
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) return WALK_DONE;
    if (writable) note_placeholders(folder, out);
    pdl_paths_add(&folders, pdl_str_of(folder));
    while (end == WALK_DONE && folders.n) {
        char *next = folders.p[--folders.n];
        end = look(folder, next, writable, &folders, out);
        pdl_free(next);
    }
    pdl_paths_fini(&folders);
    return end;
}

bool pdl_walk_shown_empty(const char *path) { return ends(path, "/config"); }

void pdl_walk_fini(walk_result *w) {
    pdl_paths_fini(&w->masked);
    pdl_paths_fini(&w->kept);
    pdl_paths_fini(&w->placeholders);
    pdl_paths_fini(&w->starts);
    pdl_paths_fini(&w->closed);
    pdl_paths_fini(&w->whole);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_folders_above(path_list *to, const char *path, const char *root) {
    size_t least = strlen(root) + 1;
    for (size_t n = strlen(path); n > least; n--)
        if (path[n - 1] == '/') pdl_paths_add(to, (pdl_str){path, n - 1});
}

/* The path is kept or masked. Returns true when code must not change it: for every kept path, and
 * for a masked file that programs run because of its name. */
static bool is_fixed(const char *path, bool masked) {
    const char *slash = strrchr(path, '/');
    return !masked || (slash && is_start_file(slash + 1));
}

void pdl_walk_above(const sandbox_spec *s, path_list *out) {
    path_list all = {0};
    for (size_t i = 0; i < s->kept.n + s->masked.n; i++) {
        bool masked = i >= s->kept.n;
        const char *path = masked ? s->masked.p[i - s->kept.n] : s->kept.p[i];
        bool fixed = is_fixed(path, masked) || pdl_paths_have(&s->own, path);
        for (size_t k = 0; fixed && k < s->rw.n; k++)
            if (pdl_path_is_under(path, s->rw.p[k])) add_folders_above(&all, path, s->rw.p[k]);
    }
    if (all.n) qsort(all.p, all.n, sizeof *all.p, by_text);
    for (size_t i = 0; i < all.n; i++)
        if ((i == 0 || strcmp(all.p[i], all.p[i - 1]) != 0) && !pdl_paths_have(&s->rw, all.p[i]))
            pdl_paths_add(out, pdl_str_of(all.p[i]));
    pdl_paths_fini(&all);
}
