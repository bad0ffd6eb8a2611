/* regex.c -- compiles and matches regular expressions with PCRE2; see regex.h.
 *
 * Only this file uses PCRE2. A pattern is first checked and rewritten (regex_translate.c), so PCRE2
 * never gets a pattern in Python's syntax.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex.h"

#include <assert.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/limits.h"
#include "base/regex/regex_translate.h"

#include "base/banned.h"

enum {
    HEAP_LIMIT_KB = 256 * 1024, /* maximum memory for the backtracking points of one match */
    /* this is above the limit of the translator, because the translation adds a few groups */
    NEST_LIMIT = 250,
};

/* Immutable after it was made, except for its machine code. */
struct pdl_regex {
    pcre2_general_context *memory;
    pcre2_code *code;
    pcre2_match_context *limits;
    pdl_regex_text text; /* names are slices of pattern */
    char *pattern;
    bool matched; /* an attempt to make machine code was made */
};

static void *get_memory(PCRE2_SIZE n, void *unused) {
    (void)unused;
    return pdl_alloc(n);
}

static void release_memory(void *p, void *unused) {
    (void)unused;
    pdl_free(p);
}

static uint32_t options_of(unsigned flags) {
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_ALT_CIRCUMFLEX | PCRE2_NEVER_BACKSLASH_C;
    if (flags & PDL_RX_NOCASE) options |= PCRE2_CASELESS;
    if (flags & PDL_RX_MULTILINE) options |= PCRE2_MULTILINE;
    if (flags & PDL_RX_DOTALL) options |= PCRE2_DOTALL;
    return options;
}

static bool compile(pdl_regex *re, pdl_err *err) {
    pcre2_compile_context *how = pcre2_compile_context_create(re->memory);
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(how, NEST_LIMIT);
    pcre2_set_compile_extra_options(how, PCRE2_EXTRA_ALLOW_SURROGATE_ESCAPES);
    int code = 0;
    PCRE2_SIZE at = 0;
    pdl_str text = pdl_buf_str(&re->text.text);
    re->code =
        pcre2_compile((PCRE2_SPTR)text.p, text.n, options_of(re->text.flags), &code, &at, how);
    pcre2_compile_context_free(how);
    if (re->code) return true;
    /* The pattern is valid by Python's rules, so only limits of PCRE2 can refuse it. */
    PCRE2_UCHAR why[128];
    if (pcre2_get_error_message(code, why, sizeof why) < 0) why[0] = 0;
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "regular expression not supported: %s",
                       (const char *)why);
}

bool pdl_regex_new(pdl_str pattern, int flags, pdl_regex **out, pdl_err *err) {
    unsigned initial = 0;
    if (flags & PDL_RE_MULTILINE) initial |= PDL_RX_MULTILINE;
    if (flags & PDL_RE_DOTALL) initial |= PDL_RX_DOTALL;
    if (flags & PDL_RE_NOCASE) initial |= PDL_RX_NOCASE;
    pdl_regex *re = PDL_NEW(pdl_regex);
    re->pattern = pdl_str_dup(pattern);
    re->memory = pcre2_general_context_create(get_memory, release_memory, NULL);
    re->limits = pcre2_match_context_create(re->memory);
    pcre2_set_match_limit(re->limits, PDL_MAX_REGEX_STEPS);
    pcre2_set_heap_limit(re->limits, HEAP_LIMIT_KB);
    if (pdl_regex_translate((pdl_str){re->pattern, pattern.n}, initial, &re->text, err) &&
        compile(re, err)) {
        *out = re;
        return true;
    }
    pdl_regex_free(re);
    return false;
}

void pdl_regex_free(pdl_regex *re) {
    if (!re) return;
    pcre2_code_free(re->code);
    pcre2_match_context_free(re->limits);
    pcre2_general_context_free(re->memory);
    pdl_regex_text_fini(&re->text);
    pdl_free(re->pattern);
    pdl_free(re);
}

size_t pdl_regex_groups(const pdl_regex *re) { return re->text.groups; }

size_t pdl_regex_group_index(const pdl_regex *re, pdl_str name) {
    return (size_t)(uintptr_t)pdl_map_find(&re->text.names, name);
}

/* Makes machine code when the first match is needed, because many patterns of a program are never
 * used. Without machine code matching is only slower. */
static void make_fast(const pdl_regex *re) {
    if (re->matched) return;
    /* this is a cache, so the meaning of the regex does not change */
    ((pdl_regex *)(uintptr_t)re)->matched = true;
    if (!re->text.plain) pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
}

/* The text is valid UTF-8, so PCRE2 need not check it. */
static int run(const pdl_regex *re, pdl_str s, size_t from, pdl_regex_mode mode,
               pcre2_match_data *data) {
    static const uint32_t anchors[] = {
        [PDL_RE_SEARCH] = 0,
        [PDL_RE_MATCH] = PCRE2_ANCHORED,
        [PDL_RE_FULLMATCH] = PCRE2_ANCHORED | PCRE2_ENDANCHORED,
        [PDL_RE_SEARCH_ON] = PCRE2_NOTEMPTY_ATSTART,
    };
    PCRE2_SPTR text = (PCRE2_SPTR)(s.p ? s.p : "");
    uint32_t options = anchors[mode] | PCRE2_NO_UTF_CHECK;
    int n = pcre2_match(re->code, text, s.n, from, options, data, re->limits);
    /* Machine code has a small stack, but the interpreter uses the heap. */
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(re->code, text, s.n, from, options | PCRE2_NO_JIT, data, re->limits);
    return n;
}

static void fill_spans(const pdl_regex *re, pcre2_match_data *data, pdl_span *spans) {
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
    for (size_t i = 0; i <= re->text.groups; i++) {
        bool set = ends[2 * i] != PCRE2_UNSET;
        spans[i] = set ? (pdl_span){ends[2 * i], ends[2 * i + 1]}
                       : (pdl_span){PDL_NOT_FOUND, PDL_NOT_FOUND};
    }
}

bool pdl_regex_match(const pdl_regex *re, pdl_regex_search of, bool *hit, pdl_span *spans,
                     pdl_err *err) {
    assert(err->kind == PDL_E_NONE);
    if (of.from > of.text.n) {
        *hit = false;
        return true;
    }
    make_fast(re);
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(re->code, re->memory);
    int n = run(re, of.text, of.from, of.mode, data);
    if (n > 0) fill_spans(re, data, spans);
    pcre2_match_data_free(data);
    if (n > 0 || n == PCRE2_ERROR_NOMATCH) {
        *hit = n > 0;
        return true;
    }
    if (n == PCRE2_ERROR_MATCHLIMIT || n == PCRE2_ERROR_HEAPLIMIT || n == PCRE2_ERROR_DEPTHLIMIT)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "regular expression takes more than %d steps on this text",
                           (int)PDL_MAX_REGEX_STEPS);
    PCRE2_UCHAR why[128];
    if (pcre2_get_error_message(n, why, sizeof why) < 0) why[0] = 0;
    return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "regular expression: %s",
                       (const char *)why);
}
