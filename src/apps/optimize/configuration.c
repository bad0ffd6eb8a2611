/* configuration.c -- reads and writes configurations; see configuration.h. For each form, a table
 * has the keys and what their values must be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/configuration.h"

#include "base/limits.h"
#include "base/num.h"
#include "io/file.h"
#include "yaml/yaml.h"

#include "base/banned.h"

typedef enum {
    KEY_TEXT,
    KEY_OPTIONAL_TEXT, /* the value may be null */
    KEY_WHOLE,
    KEY_OPTIONAL_WHOLE,
    KEY_FLAG,
    KEY_TEXTS,
    KEY_MAPPING,
    KEY_BUDGET,
    KEY_GROWTH
} key_kind;

typedef struct opt_key {
    const char *name;
    key_kind kind;
    bool required;
} config_key;

static const config_key own_keys[] = {
    {"program", KEY_TEXT, true},     {"data", KEY_TEXT, true},
    {"expect", KEY_TEXT, false},     {"judge", KEY_TEXT, false},
    {"metric", KEY_TEXT, false},     {"vary", KEY_MAPPING, false},
    {"tune", KEY_TEXTS, false},      {"require", KEY_TEXTS, false},
    {"candidates", KEY_TEXT, false}, {"method", KEY_TEXT, false},
    {"demos", KEY_TEXT, false},      {"keep", KEY_TEXT, false},
    {"objective", KEY_TEXT, false},  {"at_most", KEY_TEXT, false},
    {"proposer", KEY_TEXT, false},   {"proposals", KEY_WHOLE, false},
    {"seed", KEY_WHOLE, false},      {"variables", KEY_MAPPING, false},
};

/* The keys of the reference (spec execution 12.1). */
static const config_key reference_keys[] = {
    {"pdl_path", KEY_TEXT, true},
    {"dataset", KEY_MAPPING, true},
    {"demonstrations_variable_name", KEY_TEXT, false},
    {"demonstration_columns", KEY_TEXTS, true},
    {"instance_columns", KEY_TEXTS, true},
    {"groundtruth_column", KEY_OPTIONAL_TEXT, true},
    {"eval_pdl", KEY_OPTIONAL_TEXT, false},
    {"num_candidates", KEY_WHOLE, false},
    {"num_demonstrations", KEY_OPTIONAL_WHOLE, false},
    {"initial_validation_set_size", KEY_WHOLE, false},
    {"max_validation_set_size", KEY_WHOLE, false},
    {"max_test_set_size", KEY_WHOLE, false},
    {"timeout", KEY_WHOLE, false},
    {"budget_growth", KEY_GROWTH, false},
    {"shuffle_test", KEY_FLAG, false},
    {"budget", KEY_BUDGET, false},
    {"parallelism", KEY_WHOLE, false},
    {"train_set_name", KEY_TEXT, false},
    {"validation_set_name", KEY_TEXT, false},
    {"test_set_name", KEY_TEXT, false},
    {"variables", KEY_MAPPING, false},
    {"experiment_prefix", KEY_TEXT, false},
};

/* --- checks ----------------------------------------------------------------------------------- */

static bool is_texts(pdl_vref v) {
    bool ok = pdl_is_list(v);
    for (size_t i = 0; ok && i < pdl_list_len(v); i++) ok = pdl_is_str(pdl_list_at(v, i));
    return ok;
}

static bool is_whole(pdl_vref v) { return pdl_is(v, PDL_V_INT) && pdl_int_of(v) >= 0; }

/* Returns a description of the value that is required; NULL when the value has the right form. */
static const char *wanted(key_kind kind, pdl_vref v) {
    switch (kind) {
    case KEY_TEXT: return pdl_is_str(v) ? NULL : "a text";
    case KEY_OPTIONAL_TEXT: return pdl_is_str(v) || pdl_is_null(v) ? NULL : "a text or null";
    case KEY_WHOLE: return is_whole(v) ? NULL : "a whole number";
    case KEY_OPTIONAL_WHOLE: return is_whole(v) || pdl_is_null(v) ? NULL : "a whole number or null";
    case KEY_FLAG: return pdl_is_bool(v) ? NULL : "true or false";
    case KEY_TEXTS: return is_texts(v) ? NULL : "a list of texts";
    case KEY_MAPPING: return pdl_is_dict(v) ? NULL : "a mapping";
    case KEY_BUDGET:
        return pdl_is_str(v) || is_whole(v) || pdl_is_null(v)
                   ? NULL
                   : "a number of rounds, a time such as 2h, or null";
    case KEY_GROWTH:
        return pdl_text_is(v, "double") || pdl_text_is(v, "to_max") ? NULL : "double or to_max";
    }
    return NULL;
}

PDL_PRINTF(3, 4) static bool bad(pdl_str file, pdl_err *err, const char *fmt, ...) {
    pdl_buf why = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&why, fmt, ap);
    va_end(ap);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "Couldn't load config: %.*s: %s", PDL_FMT(file),
                pdl_buf_z(&why));
    pdl_buf_fini(&why);
    return false;
}

static bool check_key(pdl_str file, pdl_vref key, pdl_vref v, const config_key *keys, size_t n,
                      pdl_err *err) {
    pdl_str names[32], name = pdl_is_str(key) ? pdl_str_get(key) : PDL_STR("?");
    for (size_t i = 0; i < n; i++) {
        names[i] = pdl_str_of(keys[i].name);
        if (!pdl_str_eq(names[i], name)) continue;
        const char *want = wanted(keys[i].kind, v);
        return !want || bad(file, err, "%s: expected %s", keys[i].name, want);
    }
    bad(file, err, "there is no key '%.*s'", PDL_FMT(name));
    pdl_str near = pdl_str_nearest(name, names, n);
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    return false;
}

static bool check_keys(pdl_str file, pdl_vref d, const config_key *keys, size_t n, pdl_err *err) {
    for (size_t i = 0; i < pdl_dict_len(d); i++)
        if (!check_key(file, pdl_dict_key_at(d, i), pdl_dict_val_at(d, i), keys, n, err))
            return false;
    for (size_t i = 0; i < n; i++)
        if (keys[i].required && pdl_is_absent(pdl_dict_getz(d, keys[i].name)))
            return bad(file, err, "'%s' is missing", keys[i].name);
    return true;
}

static bool check_space(pdl_str file, const char *key, pdl_vref space, pdl_err *err) {
    for (size_t i = 0; pdl_is_dict(space) && i < pdl_dict_len(space); i++) {
        pdl_vref values = pdl_dict_val_at(space, i), name = pdl_dict_key_at(space, i);
        if (!pdl_is_str(name) || !pdl_is_list(values) || !pdl_list_len(values))
            return bad(file, err, "%s: expected {NAME: [value, ...]}", key);
    }
    return true;
}

static bool there(const char *what, pdl_str file, pdl_err *err) {
    char *path = pdl_str_dup(file);
    bool is = pdl_file_kind_of(path) == PDL_FILE_REGULAR;
    pdl_free(path);
    return is || pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s doesn't exist: %.*s", what,
                             PDL_FMT(file));
}

/* --- values ----------------------------------------------------------------------------------- */

static pdl_str text_of(pdl_vref d, const char *key, pdl_str otherwise) {
    pdl_vref v = pdl_dict_getz(d, key);
    return pdl_is_str(v) ? pdl_str_get(v) : otherwise;
}

static size_t whole_of(pdl_vref d, const char *key, size_t otherwise) {
    pdl_vref v = pdl_dict_getz(d, key);
    return is_whole(v) ? (size_t)pdl_int_of(v) : otherwise;
}

typedef PDL_VEC(pdl_str) texts;

static void take_texts(pdl_vref list, void *to) {
    texts *out = to;
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        *pdl_vec_push(out) = pdl_str_get(pdl_list_at(list, i));
}

/* --- the form of pdl optimize ----------------------------------------------------------------- */

static bool read_own(pdl_str file, pdl_optimize_config *c, pdl_optimize_options *o, pdl_err *err) {
    static const pdl_str none;
    pdl_vref d = c->yaml;
    if (!check_keys(file, d, own_keys, sizeof own_keys / sizeof *own_keys, err) ||
        !check_space(file, "vary", pdl_dict_getz(d, "vary"), err))
        return false;
    o->program = text_of(d, "program", none);
    o->expect = text_of(d, "expect", none);
    o->judge = text_of(d, "judge", none);
    o->metric = text_of(d, "metric", PDL_STR("exact"));
    o->candidates = text_of(d, "candidates", none);
    o->kept = text_of(d, "keep", none);
    o->objective = text_of(d, "objective", none);
    o->at_most = text_of(d, "at_most", none);
    o->demos = text_of(d, "demos", none);
    o->method = text_of(d, "method", o->demos.n ? PDL_STR("demos") : PDL_STR("race"));
    o->proposer = text_of(d, "proposer", none);
    o->proposals = whole_of(d, "proposals", 0);
    o->seed = whole_of(d, "seed", 0);
    if (pdl_is_dict(pdl_dict_getz(d, "vary"))) o->space = pdl_dict_getz(d, "vary");
    if (pdl_is_dict(pdl_dict_getz(d, "variables"))) o->variables = pdl_dict_getz(d, "variables");
    o->giver = "the configuration";
    take_texts(pdl_dict_getz(d, "tune"), &c->tuned);
    take_texts(pdl_dict_getz(d, "require"), &c->required);
    o->tuned = c->tuned.p;
    o->n_tuned = c->tuned.n;
    o->required = c->required.p;
    o->n_required = c->required.n;
    if (!pdl_str_is(o->metric, "exact") && !pdl_str_is(o->metric, "numeric") &&
        !pdl_str_is(o->metric, "contains"))
        return bad(file, err, "metric: expected exact, numeric or contains");
    return there("PDL file", o->program, err) &&
           pdl_table_of(text_of(d, "data", none), none, &o->data, err);
}

/* --- the form of the reference ---------------------------------------------------------------- */

/* Reads a duration, such as "2h", "90s", "1h 30m" or "2 minutes". */
static bool read_duration(pdl_str s, double *out) {
    static const struct {
        const char *letter;
        double seconds;
    } units[] = {{"w", 604800}, {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
    *out = 0;
    size_t i = 0;
    while (i < s.n) {
        size_t from = i;
        while (i < s.n && (s.p[i] == '.' || (s.p[i] >= '0' && s.p[i] <= '9'))) i++;
        double n;
        if (i == from || !pdl_num_read_double(pdl_str_sub(s, from, i), &n)) return false;
        while (i < s.n && s.p[i] == ' ') i++;
        size_t unit = 0, of = sizeof units / sizeof *units;
        while (unit < of && !(i < s.n && s.p[i] == *units[unit].letter)) unit++;
        if (unit == of) return false;
        *out += n * units[unit].seconds;
        while (i < s.n && ((s.p[i] >= 'a' && s.p[i] <= 'z') || s.p[i] == ' ' || s.p[i] == ',')) i++;
    }
    return s.n > 0;
}

static bool read_budget(pdl_str file, pdl_vref v, pdl_optimize_reference *r, pdl_err *err) {
    int64_t n;
    if (pdl_is_absent(v) || pdl_is_null(v)) return true;
    bool whole = pdl_is(v, PDL_V_INT);
    if (whole) n = pdl_int_of(v);
    if (whole || pdl_num_read_int(pdl_str_get(v), &n)) {
        r->rounds = n > 0 ? (size_t)n : 0;
        return n > 0 || bad(file, err, "budget: expected at least one round");
    }
    return read_duration(pdl_str_get(v), &r->seconds) ||
           bad(file, err, "budget: expected a number of rounds or a time such as 2h");
}

/* Finds the files of the three sets by their names, which are fixed. */
static bool read_dataset(pdl_str file, pdl_vref d, pdl_optimize_reference *r, pdl_err *err) {
    static const char *const keys[] = {"train_set_name", "validation_set_name", "test_set_name"},
                             *const names[] = {"train", "validation", "test"};
    pdl_vref set = pdl_dict_getz(d, "dataset");
    static const config_key files[] = {
        {"train", KEY_TEXT, true}, {"validation", KEY_TEXT, true}, {"test", KEY_TEXT, true}};
    if (!check_keys(file, set, files, 3, err)) return false;
    for (size_t i = 0; i < 3; i++) {
        pdl_str name = text_of(d, keys[i], pdl_str_of(names[i]));
        r->files[i] = pdl_is_str(pdl_dict_gets(set, name)) ? pdl_str_get(pdl_dict_gets(set, name))
                                                           : (pdl_str){0};
        if (!r->files[i].n)
            return bad(file, err, "%s: expected train, validation or test", keys[i]);
        if (!there("Data file", r->files[i], err)) return false;
    }
    /* When one set serves for both validation and test, there is no test, as in the reference. */
    if (pdl_str_eq(text_of(d, keys[1], pdl_str_of(names[1])),
                   text_of(d, keys[2], pdl_str_of(names[2]))))
        r->files[2] = (pdl_str){0};
    return true;
}

static bool check_sizes(pdl_str file, const pdl_optimize_reference *r, uint32_t jobs,
                        pdl_err *err) {
    enum { MAX_CANDIDATES = 1000 };
    if (r->candidates < 1 || r->candidates > MAX_CANDIDATES)
        return bad(file, err, "num_candidates: expected a number from 1 to %d", MAX_CANDIDATES);
    if (!r->first_rows) return bad(file, err, "initial_validation_set_size: expected at least 1");
    if (!r->most_rows) return bad(file, err, "max_validation_set_size: expected at least 1");
    return jobs || bad(file, err, "parallelism: expected at least 1");
}

static bool read_reference(pdl_str file, pdl_optimize_config *c, pdl_optimize_options *o,
                           pdl_err *err) {
    static const pdl_str none;
    pdl_vref d = c->yaml, set = pdl_dict_getz(d, "dataset");
    pdl_optimize_reference *r = &c->reference;
    if (pdl_is_str(set))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "Unknown dataset: %.*s",
                           PDL_FMT(pdl_str_get(set)));
    if (!check_keys(file, d, reference_keys, sizeof reference_keys / sizeof *reference_keys, err) ||
        !check_space(file, "variables", pdl_dict_getz(d, "variables"), err))
        return false;
    o->program = text_of(d, "pdl_path", none);
    o->expect = text_of(d, "groundtruth_column", none);
    o->method = PDL_STR("halving");
    o->space = pdl_dict_getz(d, "variables");
    r->scorer = o->metric = text_of(d, "eval_pdl", none);
    r->demonstrations = text_of(d, "demonstrations_variable_name", PDL_STR("demonstrations"));
    r->demonstration_columns = pdl_dict_getz(d, "demonstration_columns");
    r->instance_columns = pdl_dict_getz(d, "instance_columns");
    r->candidates = whole_of(d, "num_candidates", 30);
    r->shots = is_whole(pdl_dict_getz(d, "num_demonstrations"))
                   ? pdl_int_of(pdl_dict_getz(d, "num_demonstrations"))
                   : -1;
    r->first_rows = whole_of(d, "initial_validation_set_size", 10);
    r->most_rows = whole_of(d, "max_validation_set_size", 1000);
    r->most_test = whole_of(d, "max_test_set_size", 1000);
    r->to_max = pdl_text_is(pdl_dict_getz(d, "budget_growth"), "to_max");
    r->shuffles = pdl_is_bool(pdl_dict_getz(d, "shuffle_test")) &&
                  pdl_bool_of(pdl_dict_getz(d, "shuffle_test"));
    r->prefix = text_of(d, "experiment_prefix", none);
    size_t jobs = whole_of(d, "parallelism", 4);
    c->jobs = (uint32_t)(jobs < PDL_SPAWN_SLOTS ? jobs : PDL_SPAWN_SLOTS);
    o->reference = r;
    if (!o->expect.n) return bad(file, err, "groundtruth_column: an evaluation needs it");
    if (!r->scorer.n) return bad(file, err, "eval_pdl: an evaluation needs a program with `score`");
    return check_sizes(file, r, c->jobs, err) &&
           read_budget(file, pdl_dict_getz(d, "budget"), r, err) &&
           there("PDL file", o->program, err) && there("PDL file", r->scorer, err) &&
           read_dataset(file, d, r, err) &&
           pdl_table_of(r->files[1], PDL_STR("jsonl"), &o->data, err);
}

/* --- the whole -------------------------------------------------------------------------------- */

bool pdl_optimize_read_config(pdl_str file, pdl_optimize_config *c, pdl_optimize_options *o,
                              pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    pdl_err why = {0};
    uint32_t line = 0, column = 0;
    char *path = pdl_str_dup(file);
    c->yaml = pdl_absent();
    bool ok = there("Config file", file, err);
    if (ok && (!pdl_file_read(path, &text, &why) ||
               !pdl_yaml_read_written(pdl_buf_str(&text), &c->yaml, &line, &column, &why))) {
        c->yaml = pdl_absent();
        ok = line ? bad(file, err, "line %u, column %u: %s", line, column, why.msg)
                  : bad(file, err, "%s", why.msg);
    }
    pdl_err_fini(&why);
    pdl_free(path);
    pdl_buf_fini(&text);
    if (!ok) return false;
    if (!pdl_is_dict(c->yaml)) return bad(file, err, "expected a mapping");
    c->is_reference = pdl_is_absent(pdl_dict_getz(c->yaml, "program"));
    return c->is_reference ? read_reference(file, c, o, err) : read_own(file, c, o, err);
}

void pdl_optimize_config_fini(pdl_optimize_config *c) {
    if (!pdl_is_absent(c->yaml)) pdl_drop(c->yaml);
    pdl_vec_fini(&c->tuned);
    pdl_vec_fini(&c->required);
}

static pdl_val with_text(pdl_val d, const char *key, pdl_str s) {
    return s.n ? pdl_dict_putz(d, key, pdl_text(s)) : d;
}

static pdl_val with_texts(pdl_val d, const char *key, const pdl_str *p, size_t n) {
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) list = pdl_list_push(list, pdl_text(p[i]));
    if (n) return pdl_dict_putz(d, key, list);
    pdl_drop(list);
    return d;
}

void pdl_optimize_put_config(const pdl_optimize_options *o, pdl_buf *out) {
    pdl_err ignored = {0};
    pdl_val d = pdl_dict_putz(pdl_dict_new(16), "program", pdl_text(o->program));
    d = pdl_dict_putz(d, "data", pdl_text(o->data.name));
    d = with_text(d, "expect", o->expect);
    d = with_text(d, "judge", o->judge);
    if (!o->judge.n) d = with_text(d, "metric", o->metric);
    if (pdl_is_dict(o->space) && pdl_dict_len(o->space))
        d = pdl_dict_putz(d, "vary", pdl_keep(o->space));
    d = with_texts(d, "tune", o->tuned, o->n_tuned);
    d = with_texts(d, "require", o->required, o->n_required);
    d = with_text(d, "demos", o->demos);
    d = with_text(d, "objective", o->objective);
    d = with_text(d, "at_most", o->at_most);
    d = with_text(d, "keep", o->kept);
    d = with_text(d, "candidates", o->candidates);
    d = with_text(d, "method", o->method);
    d = with_text(d, "proposer", o->proposer);
    if (o->proposals) d = pdl_dict_putz(d, "proposals", pdl_int((int64_t)o->proposals));
    d = pdl_dict_putz(d, "seed", pdl_int((int64_t)o->seed));
    if (pdl_is_dict(o->variables) && pdl_dict_len(o->variables))
        d = pdl_dict_putz(d, "variables", pdl_keep(o->variables));
    if (!pdl_yaml_write(d, out, &ignored)) pdl_err_fini(&ignored);
    pdl_drop(d);
}
