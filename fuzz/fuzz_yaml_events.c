/* fuzz_yaml_events.c -- compares our YAML events with those of libyaml. Properties: when both read
 * a text, the events are the same. When only libyaml reads it, the text has something that is an
 * error for PyYAML, which decides (tests/yaml/test_pyyaml.py compares with it). Only this file and
 * the benchmark of loading use libyaml.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include <yaml.h>

#include "yaml/events.h"
#include "yaml/load.h"
#include "yaml/yaml.h"

static bool next_of_libyaml(yaml_parser_t *p, yaml_event_t *e) {
    do {
        if (!yaml_parser_parse(p, e)) return false;
        if (e->type != YAML_STREAM_START_EVENT && e->type != YAML_DOCUMENT_END_EVENT) return true;
        yaml_event_delete(e);
    } while (true);
}

static bool same_text(pdl_str a, const yaml_char_t *b) {
    return b ? pdl_str_is(a, (const char *)b) : !a.n;
}

/* The tag "!" of libyaml means that there is no tag. */
static bool same_tag(pdl_str a, const yaml_char_t *b) {
    return same_text(a, b && strcmp((const char *)b, "!") == 0 ? NULL : b);
}

static bool same_scalar(const pdl_yevent *a, const yaml_event_t *b) {
    static const yaml_scalar_style_t styles[] = {
        [PDL_STYLE_PLAIN] = YAML_PLAIN_SCALAR_STYLE,
        [PDL_STYLE_SINGLE] = YAML_SINGLE_QUOTED_SCALAR_STYLE,
        [PDL_STYLE_DOUBLE] = YAML_DOUBLE_QUOTED_SCALAR_STYLE,
        [PDL_STYLE_LITERAL] = YAML_LITERAL_SCALAR_STYLE,
        [PDL_STYLE_FOLDED] = YAML_FOLDED_SCALAR_STYLE,
    };
    pdl_str text = {(const char *)b->data.scalar.value, b->data.scalar.length};
    return b->type == YAML_SCALAR_EVENT && pdl_str_eq(a->text, text) &&
           styles[a->style] == b->data.scalar.style &&
           same_text(a->anchor, b->data.scalar.anchor) && same_tag(a->tag, b->data.scalar.tag);
}

static bool same_event(const pdl_yevent *a, const yaml_event_t *b) {
    switch (a->kind) {
    case PDL_YEV_SCALAR: return same_scalar(a, b);
    case PDL_YEV_SEQ:
        return b->type == YAML_SEQUENCE_START_EVENT &&
               same_text(a->anchor, b->data.sequence_start.anchor) &&
               same_tag(a->tag, b->data.sequence_start.tag);
    case PDL_YEV_MAP:
        return b->type == YAML_MAPPING_START_EVENT &&
               same_text(a->anchor, b->data.mapping_start.anchor) &&
               same_tag(a->tag, b->data.mapping_start.tag);
    case PDL_YEV_CLOSE:
        return b->type == YAML_SEQUENCE_END_EVENT || b->type == YAML_MAPPING_END_EVENT;
    case PDL_YEV_ALIAS:
        return b->type == YAML_ALIAS_EVENT && same_text(a->anchor, b->data.alias.anchor);
    case PDL_YEV_DOC: return b->type == YAML_DOCUMENT_START_EVENT;
    case PDL_YEV_STOP: return b->type == YAML_STREAM_END_EVENT;
    }
    return false;
}

/* Compares both readers step by step, until one of them fails or both are at the end. */
static void compare(const pdl_source *src, bool odd) {
    pdl_yreader *r = pdl_yreader_new(src);
    yaml_parser_t p;
    yaml_event_t theirs;
    pdl_yevent ours = {0};
    pdl_err err = {0};
    FUZZ_MUST(yaml_parser_initialize(&p));
    yaml_parser_set_input_string(&p, (const unsigned char *)src->text.p, src->text.n);
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    for (bool more = true; more;) {
        bool ok = pdl_yreader_next(r, &ours, &err), also = next_of_libyaml(&p, &theirs);
        if (!odd && also) FUZZ_MUST(ok);
        if (!odd && ok && also) FUZZ_MUST(same_event(&ours, &theirs));
        more = ok && also && ours.kind != PDL_YEV_STOP;
        if (also) yaml_event_delete(&theirs);
        FUZZ_MUST(ok || err.msg);
    }
    yaml_parser_delete(&p);
    pdl_yreader_free(r);
    pdl_err_fini(&err);
}

/* Returns true for texts that the two readers may read differently: with tabs and byte order marks
 * between tokens, `?` and tags in brackets, a comment right after the header of a block scalar,
 * directives, and characters that end lines besides LF. */
static bool is_odd(pdl_str s) {
    static const char *const marks[] = {"\t",       "\xef\xbb\xbf", "?",           "!", "%",
                                        "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (pdl_str_find(s, pdl_str_of(marks[i]), 0) != PDL_NOT_FOUND) return true;
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i] == '#' && pdl_byte_in(s.p[i - 1], PDL_STR("|>+-123456789"))) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size);
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    pdl_err err = {0};
    FUZZ_MUST(pdl_yaml_source(a, PDL_STR("f"), pdl_buf_str(&text), &src, &err));
    if (pdl_yaml_check_chars(src->text, src, &err)) compare(src, is_odd(src->text));
    pdl_err_fini(&err);
    pdl_arena_free(a);
    pdl_buf_fini(&text);
    return 0;
}
