/* template_globals.c -- the global functions of templates: range, dict, lipsum, cycler, joiner,
 * namespace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"
#include "native/template/template_objects.h"
#include "value/int.h"
#include "value/pyvalues.h"

#include "base/banned.h"

static bool g_range(PDL_ARGS) {
    int64_t v[3] = {0, 0, 1};
    bool one = argc < 2 || pdl_is_absent(argv[1]);
    size_t n = one ? 1 : argc;
    for (size_t i = 0; i < n; i++) {
        if (!pdl_arg_int(argv[i], &v[one ? 1 : i], err)) return false;
        if (pdl_is(argv[i], PDL_V_BIGINT))
            return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "range() takes integers of 64 bits");
    }
    if (v[2] == 0) return pdl_err_host(err, "ValueError", "range() arg 3 must not be zero");
    *out = pdl_range_new(v[0], v[1], v[2]);
    return true;
}

static bool g_dict(PDL_ARGS) {
    return pdl_dict_update(env, pdl_dict_new(0), argc ? argv[0] : pdl_absent(), kwargs, out, err);
}

static bool g_namespace(PDL_ARGS) {
    pdl_val d;
    return pdl_dict_update(env, pdl_dict_new(0), argc ? argv[0] : pdl_absent(), kwargs, &d, err) &&
           pdl_namespace_new(d, out, err);
}

static bool g_cycler(PDL_ARGS) {
    if (argc == 0) return pdl_err_host(err, "RuntimeError", "at least one item has to be provided");
    pdl_val items = pdl_list_new(argc);
    for (size_t i = 0; i < argc; i++) items = pdl_list_push(items, pdl_keep(argv[i]));
    *out = pdl_cycler_new(items);
    return true;
}

static bool g_joiner(PDL_ARGS) {
    *out = pdl_joiner_new(argc && !pdl_is_absent(argv[0]) ? pdl_keep(argv[0]) : pdl_textz(", "));
    return true;
}

/* --- lipsum ----------------------------------------------------------------------------------- */

static const char *const words[] = {
    "a",          "ac",           "accumsan",     "ad",           "adipiscing",  "aenean",
    "aliquam",    "aliquet",      "amet",         "ante",         "aptent",      "arcu",
    "at",         "auctor",       "augue",        "bibendum",     "blandit",     "class",
    "commodo",    "condimentum",  "congue",       "consectetuer", "consequat",   "conubia",
    "convallis",  "cras",         "cubilia",      "cum",          "curabitur",   "curae",
    "cursus",     "dapibus",      "diam",         "dictum",       "dictumst",    "dignissim",
    "dis",        "dolor",        "donec",        "dui",          "duis",        "egestas",
    "eget",       "eleifend",     "elementum",    "elit",         "enim",        "erat",
    "eros",       "est",          "et",           "etiam",        "eu",          "euismod",
    "facilisi",   "facilisis",    "fames",        "faucibus",     "felis",       "fermentum",
    "feugiat",    "fringilla",    "fusce",        "gravida",      "habitant",    "hac",
    "hendrerit",  "hymenaeos",    "iaculis",      "id",           "imperdiet",   "in",
    "inceptos",   "integer",      "interdum",     "ipsum",        "justo",       "lacinia",
    "lacus",      "laoreet",      "lectus",       "leo",          "libero",      "ligula",
    "litora",     "lobortis",     "lorem",        "luctus",       "maecenas",    "magna",
    "magnis",     "malesuada",    "massa",        "mattis",       "mauris",      "metus",
    "mi",         "molestie",     "mollis",       "montes",       "morbi",       "mus",
    "nam",        "nascetur",     "natoque",      "nec",          "neque",       "netus",
    "nibh",       "nisi",         "nisl",         "non",          "nonummy",     "nostra",
    "nulla",      "nullam",       "nunc",         "odio",         "orci",        "ornare",
    "parturient", "pede",         "pellentesque", "penatibus",    "per",         "pharetra",
    "phasellus",  "placerat",     "platea",       "porta",        "porttitor",   "posuere",
    "potenti",    "praesent",     "pretium",      "primis",       "proin",       "pulvinar",
    "purus",      "quam",         "quis",         "quisque",      "rhoncus",     "ridiculus",
    "risus",      "rutrum",       "sagittis",     "sapien",       "scelerisque", "sed",
    "sem",        "semper",       "senectus",     "sit",          "sociis",      "sociosqu",
    "sodales",    "sollicitudin", "suscipit",     "suspendisse",  "taciti",      "tellus",
    "tempor",     "tempus",       "tincidunt",    "torquent",     "tortor",      "tristique",
    "turpis",     "ullamcorper",  "ultrices",     "ultricies",    "urna",        "ut",
    "varius",     "vehicula",     "vel",          "velit",        "venenatis",   "vestibulum",
    "vitae",      "vivamus",      "viverra",      "volutpat",     "vulputate",
};

/* Draws a whole number in [lo, hi). */
static int64_t draw(const pdl_native_env *env, int64_t lo, int64_t hi) {
    int64_t k = lo + (int64_t)(env->random(env->user) * (double)(hi - lo));
    return k < hi ? k : hi - 1;
}

/* Writes one paragraph of n words. It has sentences with commas, and a full stop at the end. */
static void put_paragraph(const pdl_native_env *env, int64_t n, pdl_buf *b) {
    bool capital = true;
    int64_t last_comma = 0, last_stop = 0, last = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t k;
        do k = draw(env, 0, (int64_t)PDL_N_COUNT(words));
        while (k == last);
        last = k;
        if (i) pdl_buf_putc(b, ' ');
        size_t at = b->len;
        pdl_buf_put(b, pdl_str_of(words[k]));
        if (capital) b->p[at] = (char)(b->p[at] - 'a' + 'A');
        capital = false;
        if (i - draw(env, 3, 8) > last_comma) {
            last_comma = i;
            last_stop += 2;
            pdl_buf_putc(b, ',');
        }
        if (i - draw(env, 10, 20) > last_stop) {
            last_comma = last_stop = i;
            pdl_buf_putc(b, '.');
            capital = true;
        }
    }
    if (b->len && b->p[b->len - 1] == ',')
        b->p[b->len - 1] = '.';
    else if (b->len == 0 || b->p[b->len - 1] != '.')
        pdl_buf_putc(b, '.');
}

enum { MAX_PARAGRAPHS = 10000, MAX_WORDS = 10000 };

static bool g_lipsum(PDL_ARGS) {
    int64_t n = 5, min = 20, max = 100;
    bool html = true;
    if (!env->random) return pdl_err_host(err, "RuntimeError", "no source of random numbers here");
    if (!pdl_arg_int(argv[0], &n, err) ||
        (!pdl_is_absent(argv[1]) && !pdl_arg_truth(env, argv[1], &html, err)) ||
        !pdl_arg_int(argv[2], &min, err) || !pdl_arg_int(argv[3], &max, err))
        return false;
    if (n > 0 && min >= max)
        return pdl_err_host(err, "ValueError", "empty range for randrange() (%lld, %lld, %lld)",
                            (long long)min, (long long)max, (long long)(max - min));
    if (n > MAX_PARAGRAPHS || max > MAX_WORDS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "lipsum makes at most %d paragraphs of %d words", MAX_PARAGRAPHS,
                           MAX_WORDS);
    pdl_buf b = PDL_BUF;
    for (int64_t i = 0; i < n; i++) {
        pdl_buf p = PDL_BUF;
        put_paragraph(env, draw(env, min, max), &p);
        if (i) pdl_buf_put(&b, html ? PDL_STR("\n") : PDL_STR("\n\n"));
        if (html) PDL_PUT(&b, "<p>");
        pdl_buf_put(&b, pdl_buf_str(&p));
        if (html) PDL_PUT(&b, "</p>");
        pdl_buf_fini(&p);
    }
    pdl_val v;
    if (!pdl_text_like(&b, pdl_absent(), &v, err)) return false;
    *out = pdl_with_flags(v, html ? PDL_F_SAFE : 0);
    return true;
}

/* --- table ------------------------------------------------------------------------------------ */

static const pdl_native globals[] = {
    {"cycler", g_cycler, "", 0, 0, PDL_N_VARARGS | PDL_N_IMPURE,
     "Gives its arguments one after the other, again and again.", "jinja2.utils.Cycler", PDL_NS_DEF,
     "any -> any"},
    {"dict", g_dict, "", 0, 1, PDL_N_KWARGS, "An object of the keyword arguments.", "dict",
     PDL_NS_POS, "any -> object"},
    {"joiner", g_joiner, "sep", 0, 1, PDL_N_IMPURE, "Nothing when called first, then a separator.",
     "jinja2.utils.Joiner", PDL_NS_DEF, "any -> any"},
    {"lipsum", g_lipsum, "n, html, min, max", 0, 4, PDL_N_IMPURE, "Text without meaning.",
     "generate_lorem_ipsum", PDL_NS_DEF, "any, any, any, any -> string"},
    {"namespace", g_namespace, "", 0, 1, PDL_N_KWARGS | PDL_N_IMPURE,
     "An object whose attributes `set` can change.", "jinja2.utils.Namespace", PDL_NS_POS,
     "any -> any"},
    {"range", g_range, "start, stop, step", 1, 3, 0, "Whole numbers from start to before stop.",
     "range", PDL_NS_POS, "integer, integer, integer -> range"},
};

static pdl_rows rows(void) { return (pdl_rows){globals, PDL_N_COUNT(globals)}; }

const pdl_native *pdl_global_find(pdl_str name) {
    /* The names of all natives of stdlib begin with this text, and most names that are searched do
     * not. */
    bool own = name.n > 4 && memcmp(name.p, "pdl_", 4) == 0;
    return pdl_rows_find(own ? pdl_rows_stdlib() : rows(), name);
}

const pdl_native *pdl_globals(size_t *n) {
    *n = PDL_N_COUNT(globals);
    return globals;
}
