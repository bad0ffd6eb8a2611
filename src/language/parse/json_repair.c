/* json_repair.c -- reads JSON as models write it: containers, and the text around and between them.
 *
 * The text is read in one pass, with an explicit stack of open containers. Only too great a depth
 * is an error (spec syntax 5.1). Characters that make no sense at their position are skipped one at
 * a time.
 *
 * A separate reader is needed because models leave out quotes and commas, add prose before and
 * after the JSON, and stop in the middle of it. Repairing the text first, and then reading it as
 * JSON, would require the structure that is to be restored. So this reader builds values while it
 * reads, and chooses the best interpretation at each position. It always advances by at least one
 * character, so it ends on every input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "parse/json_repair.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/json_read.h"

#include "base/banned.h"

typedef enum { BOX_LIST, BOX_DICT, BOX_PAREN } box_kind;

/* An open container. */
typedef struct {
    box_kind kind;
    char closer;    /* the character that closes this container; a brace closes every container */
    bool implicit;  /* a dict that began with `"key":` in a list, without a brace */
    bool in_braces; /* a list that is written in the braces of a dict */
    bool extends;   /* a list after the members of a dict; it extends the last member */
    bool waiting;   /* a dict whose key was read, and whose value is being read */
    bool of_value;  /* the container is the value of a key of the dict around it */
    size_t start;   /* offset of the first byte of the container */
    bool extended;  /* a dict whose last member is a list that was extended */
    /* the lists in the container have different lengths, or it contains no lists */
    bool mixed;
    size_t width;     /* length of the last list in the container; 0 when it contains none */
    pdl_val box, key; /* key is used while `waiting` is set */
} box;

typedef struct {
    pdl_rp rp;
    PDL_VEC(box) open;
    size_t key_start; /* offset of the last key */
    bool again; /* a key was repeated: the next item of the list is a dict that begins with it */
    /* No key begins between these offsets. They are kept so that empty braces are not searched
     * again and again. */
    size_t barren, barren_to;
    size_t looked; /* number of characters that were searched for the ends of parentheses */
    bool tried;    /* the strict reader was tried, which is done at one container only */
    size_t steps;  /* number of steps so far */
    pdl_err *err;
} reader;

/* The result of a step: a value for the innermost container, a new container, or the end of the
 * innermost one. */
typedef enum { GOT_VALUE, GOT_BOX, GOT_END } step;

static box *top(reader *r) { return &r->open.p[r->open.n - 1]; }

static bool open_box(reader *r, box_kind kind, char closer, bool implicit) {
    if (r->open.n == PDL_MAX_JSON_DEPTH)
        return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0},
                           "JSON is nested deeper than %d levels", PDL_MAX_JSON_DEPTH);
    bool dict = kind == BOX_DICT, of_value = r->open.n && top(r)->waiting;
    box *b = pdl_vec_push(&r->open);
    *b = (box){.kind = kind,
               .closer = closer,
               .implicit = implicit,
               .of_value = of_value,
               .start = r->rp.pos};
    b->box = dict ? pdl_dict_new(0) : pdl_list_new(0);
    b->key = pdl_absent();
    r->rp.lists += !dict;
    if (!implicit) r->rp.pos++;
    return true;
}

static box pop(reader *r) {
    box b = r->open.p[--r->open.n];
    r->rp.lists -= b.kind != BOX_DICT;
    r->rp.keys -= b.in_braces;
    r->rp.values -= b.waiting;
    return b;
}

/* --- between tokens --------------------------------------------------------------------------- */

/* Skips a comment at the cursor. In a container a comment after '#' also ends before the closing
 * bracket.
 */
static bool skip_comment(reader *r, bool in_key) {
    pdl_rp *p = &r->rp;
    int c = rp_peek(p), d = rp_at(p, p->pos + 1);
    if (c == '/' && d == '*') {
        size_t end = pdl_str_find(p->src, PDL_STR("*/"), p->pos + 2);
        p->pos = end == PDL_NOT_FOUND ? p->src.n : end + 2;
        return true;
    }
    if (c != '#' && !(c == '/' && d == '/')) return false;
    bool hash = c == '#';
    for (; (c = rp_peek(p)) >= 0 && c != '\n' && c != '\r'; p->pos++)
        if (hash && ((c == ']' && p->lists) || (c == '}' && p->values) ||
                     (c == ':' && (in_key || p->keys))))
            break;
    return true;
}

static void skip_remarks(reader *r) {
    do r->rp.pos = rp_skip_blanks(&r->rp, r->rp.pos);
    while (skip_comment(r, false));
}

static void skip_char(pdl_rp *p) {
    if (p->pos < p->src.n) pdl_rp_cp(p, p->pos, &p->pos);
}

/* --- values --- */

/* Reads the value at the cursor, or the beginning of a container. Other characters are skipped. At
 * the end of the text, after a comment, and at a single slash, the value is the empty text. */
static step read_value(reader *r, pdl_rp_place place, pdl_val *out) {
    pdl_rp *p = &r->rp;
    size_t next;
    *out = pdl_absent();
    for (int c; (c = rp_peek(p)) >= 0; skip_char(p)) {
        if (c == '{') return open_box(r, BOX_DICT, '}', false) ? GOT_BOX : GOT_END;
        if (c == '[') return open_box(r, BOX_LIST, ']', false) ? GOT_BOX : GOT_END;
        if (c == '(') return open_box(r, BOX_PAREN, ')', false) ? GOT_BOX : GOT_END;
        if (pdl_rp_quote(p, p->pos)) {
            *out = pdl_rp_string(p, place);
            return GOT_VALUE;
        }
        if ((c >= '0' && c <= '9') || c == '-' || c == '.') {
            *out = pdl_rp_number(p, place);
            return GOT_VALUE;
        }
        if (pdl_cp_is_alpha(pdl_rp_cp(p, p->pos, &next))) {
            if (pdl_rp_literal(p, out)) return GOT_VALUE;
            *out = pdl_rp_word(p, place);
            return GOT_VALUE;
        }
        if (c != '#' && c != '/') continue;
        if (!skip_comment(r, false)) p->pos++;
        break;
    }
    *out = pdl_textz("");
    return GOT_VALUE;
}

/* Reads the value of a member. The cursor is after the colon. A missing value is the empty text. */
static step read_member(reader *r, pdl_val *out) {
    skip_remarks(r);
    int c = rp_peek(&r->rp);
    if (c != ',' && c != '}') return read_value(r, PDL_RP_VALUE, out);
    *out = pdl_textz("");
    return GOT_VALUE;
}

static bool is_empty(pdl_vref v) {
    if (pdl_is_str(v)) return pdl_str_get(v).n == 0;
    if (pdl_is_list(v)) return pdl_list_len(v) == 0;
    return pdl_is_dict(v) && pdl_dict_len(v) == 0;
}

/* Returns true when a list in the position of a key extends the member before it. */
static bool extends_last(reader *r) {
    box *b = top(r);
    size_t n = pdl_dict_len(b->box);
    return n && rp_peek(&r->rp) == '[' && pdl_is_list(pdl_dict_val_at(b->box, n - 1));
}

/* Reads the text of a key at the cursor. The text may be empty. Characters that cannot begin a key
 * are skipped. */
static void read_key_text(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    size_t next;
    int c = rp_peek(p);
    *out = pdl_absent();
    if (c == '#' || c == '/') {
        if (!skip_comment(r, true)) p->pos++;
    } else {
        for (; rp_peek(p) >= 0; skip_char(p)) {
            if (pdl_rp_quote(p, p->pos)) {
                r->key_start = p->pos;
                *out = pdl_rp_string(p, PDL_RP_KEY);
                return;
            }
            if (pdl_cp_is_alnum(pdl_rp_cp(p, p->pos, &next))) {
                r->key_start = p->pos;
                if (pdl_rp_bare_key(p, out)) return;
                break;
            }
        }
    }
    *out = pdl_textz("");
}

/* Reads the next key. Returns GOT_BOX when a list there extends the last member, and GOT_END when
 * the text ends before a key. *from gets the offset at which the key begins. */
static step read_key(reader *r, size_t *from, pdl_val *out) {
    pdl_rp *p = &r->rp;
    size_t begin = p->pos;
    if (begin >= r->barren && begin <= r->barren_to) p->pos = p->src.n;
    while (rp_peek(p) >= 0) {
        *from = p->pos;
        if (extends_last(r)) return GOT_BOX;
        read_key_text(r, out);
        bool empty = is_empty(*out);
        if (empty) skip_remarks(r);
        if (!empty && p->pos == p->src.n && r->key_start > begin) {
            r->barren = begin; /* no key begins from here to the end of the text */
            r->barren_to = r->key_start;
        }
        if (!empty || rp_peek(p) == ':' || rp_peek(p) == '}') return GOT_VALUE;
        pdl_drop(*out);
    }
    if (begin < r->barren) {
        r->barren = begin;
        r->barren_to = p->src.n;
    }
    return GOT_END;
}

/* Returns true when the text has a colon outside of comments and quotes. */
static bool has_colon(pdl_str text) {
    char quote = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i], d = i + 1 < text.n ? text.p[i + 1] : 0;
        if (c == '\\') {
            i++;
        } else if (quote) {
            quote = c == quote ? 0 : quote;
        } else if (c == '#' || (c == '/' && d == '/')) {
            while (i < text.n && text.p[i] != '\n' && text.p[i] != '\r') i++;
        } else if (c == '/' && d == '*') {
            size_t end = pdl_str_find(text, PDL_STR("*/"), i + 2);
            i = end == PDL_NOT_FOUND ? text.n : end + 1;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == ':') {
            return true;
        }
    }
    return false;
}

/* When the braces hold text and no members, begins to read them again as a list in the wrong
 * brackets. The cursor is at the end of the braces. Returns false when the braces are a dict. */
static bool reread_as_list(reader *r) {
    box *b = top(r);
    pdl_rp *p = &r->rp;
    if (pdl_dict_len(b->box) || b->extends) return false;
    size_t from = b->implicit ? b->start : b->start + 1, end = p->pos, second = from;
    if (from < end) pdl_rp_cp(p, from, &second);
    if (second >= end) return false; /* the braces hold at most one character */
    p->pos = from;
    skip_remarks(r);
    bool blank = p->pos >= end && (end == p->src.n || rp_at(p, end) == '}');
    p->pos = end;
    /* the colon may be in the text directly after the brace */
    size_t past = end + 2 < p->src.n ? end + 2 : p->src.n;
    bool colon = pdl_rp_find(p, ':', from) < past && has_colon(pdl_str_sub(p->src, from, past));
    if (blank || colon) return false;
    pdl_drop(pop(r).box);
    p->pos = from;
    if (!open_box(r, BOX_LIST, ']', true)) return false;
    top(r)->in_braces = true;
    p->keys++;
    return true;
}

/* Returns true when the dict ends at the cursor, after a member or after the brace. */
static bool dict_ends(reader *r) {
    pdl_rp *p = &r->rp;
    for (;;) {
        skip_remarks(r);
        int c = rp_peek(p);
        if (c < 0 || c == '}') return true;
        if (c != ',') return false;
        p->pos++;
    }
}

/* Returns true when a repeated key in a list begins a new dict. A key in quotes that is between a
 * comma and a colon begins no new dict. */
static bool begins_again(reader *r, size_t from, pdl_vref key) {
    pdl_rp *p = &r->rp;
    box *b = top(r);
    if (!p->lists || b->of_value || pdl_is_absent(pdl_dict_find(b->box, key))) return false;
    size_t before = from;
    while (before && rp_blank(rp_at(p, before - 1))) before--;
    bool usual = pdl_rp_quote(p, from) && before && rp_at(p, before - 1) == ',' &&
                 rp_at(p, rp_skip_blanks(p, p->pos)) == ':';
    return !usual;
}

static step step_dict(reader *r, pdl_val *out) {
    pdl_val key;
    pdl_rp *p = &r->rp;
    size_t from = p->pos;
    for (;;) {
        if (dict_ends(r)) return reread_as_list(r) ? GOT_BOX : GOT_END;
        if (rp_peek(p) == ':') p->pos++;
        step s = read_key(r, &from, &key);
        if (s == GOT_END) return reread_as_list(r) ? GOT_BOX : GOT_END;
        if (s == GOT_BOX) {
            if (!open_box(r, BOX_LIST, ']', false)) return GOT_END;
            top(r)->extends = true;
            return GOT_BOX;
        }
        if (begins_again(r, from, key)) {
            pdl_drop(key);
            p->pos = from;
            r->again = true;
            return GOT_END;
        }
        skip_remarks(r);
        if (rp_peek(p) >= 0 && rp_peek(p) != '}') break;
        pdl_drop(key);
    }
    skip_char(p); /* skips the colon, or the character in its place */
    box *b = top(r);
    b->key = key;
    b->waiting = true;
    p->values++;
    return read_member(r, out);
}

static bool all_scalars(pdl_vref list) {
    bool all = true;
    for (size_t i = 0; all && i < pdl_list_len(list); i++) {
        pdl_vref v = pdl_list_at(list, i);
        all = !pdl_is_list(v) && !pdl_is_dict(v);
    }
    return all;
}

/* Reads the next item. Text between items is skipped. */
static step step_list(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    box *b = top(r);
    if (r->again) {
        r->again = false;
        return open_box(r, BOX_DICT, '}', true) ? GOT_BOX : GOT_END;
    }
    for (;;) {
        skip_remarks(r);
        int c = rp_peek(p);
        if (c < 0 || c == '}' || c == b->closer) return GOT_END;
        if (c != ',') break;
        p->pos++;
    }
    if (!pdl_rp_quote(p, p->pos) || !pdl_rp_item_is_key(p)) return read_value(r, PDL_RP_ITEM, out);
    if (b->of_value && pdl_list_len(b->box) &&
        all_scalars(b->box)) { /* the list was not closed, so the dict continues */
        b->closer = 0;
        return GOT_END;
    }
    return open_box(r, BOX_DICT, '}', true) ? GOT_BOX : GOT_END;
}

/* --- containers --- */

/* Notes an item of the list that is the last member. When all lists in that list have one length,
 * they are rows. */
static void note_row(box *b, pdl_vref v) {
    if (!pdl_is_list(v)) return;
    size_t n = pdl_list_len(v);
    b->mixed = b->mixed || n == 0 || (b->width && b->width != n);
    b->width = n;
}

/* Makes rows of the items after the last row of a list, if their number is a multiple of the length
 * of a row. Takes list. */
static pdl_val in_rows(pdl_val list, size_t width) {
    size_t n = pdl_list_len(list), from = n;
    while (from && !pdl_is_list(pdl_list_at(list, from - 1))) from--;
    if (from == n || (n - from) % width) return list;
    pdl_val out = pdl_list_new(n), row = pdl_list_new(width);
    for (size_t i = 0; i < from; i++) out = pdl_list_push(out, pdl_keep(pdl_list_at(list, i)));
    for (size_t i = from; i < n; i++) {
        row = pdl_list_push(row, pdl_keep(pdl_list_at(list, i)));
        if (pdl_list_len(row) < width) continue;
        out = pdl_list_push(out, row);
        row = pdl_list_new(width);
    }
    pdl_drop(row);
    pdl_drop(list);
    return out;
}

/* Adds items to the list that is the last member of a dict. A list of rows gets further rows. */
static void extend_last(box *b, pdl_val more) {
    size_t n = pdl_dict_len(b->box), m = pdl_list_len(more);
    pdl_val key = pdl_keep(pdl_dict_key_at(b->box, n - 1)),
            list = pdl_keep(pdl_dict_val_at(b->box, n - 1));
    b->box = pdl_dict_put(b->box, pdl_keep(key), pdl_null()); /* the list grows in place */
    if (!b->extended) {
        b->extended = true;
        for (size_t i = 0; i < pdl_list_len(list); i++) note_row(b, pdl_list_at(list, i));
        if (b->width && !b->mixed) list = in_rows(list, b->width);
    }
    bool rows = m > 0, in_width = b->width && !b->mixed;
    for (size_t i = 0; i < m; i++) rows = rows && pdl_is_list(pdl_list_at(more, i));
    pdl_val from =
        in_width && !rows && m ? pdl_list_push(pdl_list_new(1), pdl_keep(more)) : pdl_keep(more);
    if (!in_width && rows && m == 1) {
        pdl_drop(from);
        from = pdl_keep(pdl_list_at(more, 0));
    }
    for (size_t i = 0; i < pdl_list_len(from); i++) {
        note_row(b, pdl_list_at(from, i));
        list = pdl_list_push(list, pdl_keep(pdl_list_at(from, i)));
    }
    pdl_drop(from);
    pdl_drop(more);
    b->box = pdl_dict_put(b->box, key, list);
}

/* Adds the value of a member. A comma or a quote after it is skipped. */
static void put_member(reader *r, pdl_val v) {
    pdl_rp *p = &r->rp;
    box *b = top(r);
    b->box = pdl_dict_put(b->box, b->key, v);
    b->key = pdl_absent();
    b->waiting = b->extended = b->mixed = false;
    b->width = 0;
    p->values--;
    int c = rp_peek(p);
    if (c == ',' || c == '\'' || c == '"') p->pos++;
}

/* Adds a value to the innermost container. An empty item that has no separator after it is noise,
 * together with the next character. Three dots are noise, too. */
static void put_value(reader *r, pdl_val v) {
    box *b = top(r);
    if (b->kind == BOX_DICT) {
        put_member(r, v);
        return;
    }
    int c = rp_peek(&r->rp);
    if (is_empty(v) && c != ',' && c != b->closer) {
        pdl_drop(v);
        skip_char(&r->rp);
    } else if (pdl_text_is(v, "...") && r->rp.pos && rp_at(&r->rp, r->rp.pos - 1) == '.') {
        pdl_drop(v);
    } else {
        b->box = pdl_list_push(b->box, v);
    }
}

/* how many times the whole text may be searched for the ends of parentheses */
enum { MAX_LOOKS = 64 };
typedef enum { PAREN_CLOSED, PAREN_COMMA, PAREN_CUT, PAREN_TOO_LONG } paren_stop;

/* Walks from *i, which is after a parenthesis, to the character that closes it. With `commas`,
 * stops at a comma directly inside it. Other brackets and quoted texts are skipped. */
static paren_stop paren_walk(reader *r, size_t *i, bool commas) {
    const pdl_rp *p = &r->rp;
    int quote = 0, depth[3] = {0}; /* counts (, [ and { */
    for (; *i < p->src.n; ++*i, r->looked++) {
        int c = rp_at(p, *i);
        bool own = !depth[0] && !depth[1] && !depth[2];
        if (r->looked > MAX_LOOKS * p->src.n) return PAREN_TOO_LONG;
        if (c == '\\') {
            ++*i;
        } else if (quote) {
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (own && (c == ')' || (c == ',' && commas))) {
            return c == ')' ? PAREN_CLOSED : PAREN_COMMA;
        } else {
            depth[0] += c == '(' ? 1 : c == ')' ? -1 : 0;
            depth[1] += c == '[' ? 1 : c == ']' && depth[1] ? -1 : 0;
            depth[2] += c == '{' ? 1 : c == '}' && depth[2] ? -1 : 0;
        }
    }
    return PAREN_CUT;
}

/* Returns true when the parentheses around one item only group it. With a comma in them, as in
 * `(1,)`, they make a list. */
static bool is_grouping(reader *r, const box *b) {
    size_t i = b->start + 1;
    return b->kind == BOX_PAREN && pdl_list_len(b->box) == 1 &&
           paren_walk(r, &i, true) != PAREN_COMMA;
}

/* Ends the innermost container, which is complete. Skips the character at the cursor, which closes
 * it, unless the container ends without one. */
static pdl_val close_box(reader *r) {
    pdl_rp *p = &r->rp;
    box b = pop(r);
    bool stays =
        r->again || (b.kind != BOX_DICT && !b.closer) || (b.kind == BOX_DICT && rp_peek(p) == ']');
    if (!stays) skip_char(p);
    if (b.kind == BOX_DICT && r->open.n && top(r)->kind != BOX_DICT && !r->again &&
        rp_peek(p) == '}')
        p->pos++;
    if (!is_grouping(r, &b)) return b.box;
    pdl_val only = pdl_keep(pdl_list_at(b.box, 0));
    pdl_drop(b.box);
    return only;
}

/* Ends a list that extends the last member of the dict around it. */
static void put_extension(reader *r, pdl_val v) {
    box *b = top(r);
    extend_last(b, v);
    skip_remarks(r);
    if (rp_peek(&r->rp) == ',') r->rp.pos++;
    skip_remarks(r);
}

/* Returns true when the bracket of an enclosing list follows a member. */
static bool ends_at_bracket(const reader *r) {
    const box *b = &r->open.p[r->open.n - 1];
    return b->kind == BOX_DICT && pdl_dict_len(b->box) && !b->waiting && r->rp.lists &&
           rp_peek(&r->rp) == ']';
}

/* Reads until the outermost open container is complete. */
static bool run(reader *r, pdl_val *out) {
    pdl_val v;
    for (;;) {
        size_t depth = r->open.n;
        step s = ends_at_bracket(r)         ? GOT_END
                 : top(r)->kind == BOX_DICT ? step_dict(r, &v)
                                            : step_list(r, &v);
        if (r->err->kind != PDL_E_NONE) return false;
        if (!pdl_check_cancel_at(++r->steps, r->err)) {
            if (s == GOT_VALUE) pdl_drop(v);
            return false;
        }
        if (s == GOT_BOX) continue;
        if (s == GOT_END) {
            bool extends = top(r)->extends;
            v = close_box(r);
            if (depth == 1) break;
            if (extends) {
                put_extension(r, v);
                continue;
            }
        }
        put_value(r, v);
    }
    *out = v;
    return true;
}

/* Reads the container that begins at the cursor. */
static bool read_box(reader *r, pdl_val *out) {
    pdl_val none;
    return read_value(r, PDL_RP_ITEM, &none) == GOT_BOX && run(r, out);
}

/* --- the whole text --------------------------------------------------------------------------- */

/* Returns true when both values have the same classes at all levels. The value that is later in
 * the text then is a better version of the earlier one. */
static bool same_shape(pdl_vref a, pdl_vref b, int depth) {
    if (pdl_tag_of(a) != pdl_tag_of(b) || depth > PDL_MAX_JSON_DEPTH) return false;
    if (pdl_is_list(a)) {
        if (pdl_list_len(a) != pdl_list_len(b)) return false;
        for (size_t i = 0; i < pdl_list_len(a); i++)
            if (!same_shape(pdl_list_at(a, i), pdl_list_at(b, i), depth + 1)) return false;
    } else if (pdl_is_dict(a)) {
        if (pdl_dict_len(a) != pdl_dict_len(b)) return false;
        for (size_t i = 0; i < pdl_dict_len(a); i++) {
            pdl_vref other = pdl_dict_find(b, pdl_dict_key_at(a, i));
            if (pdl_is_absent(other) || !same_shape(pdl_dict_val_at(a, i), other, depth + 1))
                return false;
        }
    }
    return true;
}

/* Adds v to the values that were found so far. With `keeps`, because a comma was between them or
 * because all values are asked for, v replaces no value but an empty one. */
static pdl_val add_found(pdl_val found, pdl_val v, bool keeps) {
    size_t n = pdl_list_len(found);
    if (n && is_empty(v)) {
        pdl_drop(v);
        return found;
    }
    if (n && (is_empty(pdl_list_at(found, n - 1)) ||
              (!keeps && same_shape(pdl_list_at(found, n - 1), v, 0))))
        return pdl_list_set(found, n - 1, v);
    return pdl_list_push(found, v);
}

/* Returns true when a comma is next to the cursor. */
static bool comma_near(const pdl_rp *p) {
    size_t i = p->pos;
    while (i && rp_blank(rp_at(p, i - 1))) i--;
    return rp_at(p, rp_skip_blanks(p, p->pos)) == ',' || (i && rp_at(p, i - 1) == ',');
}

/* Returns true when something other than a comma follows the container at the start of the text.
 * Brackets in strings are ignored. */
static bool has_text_after_container(const pdl_rp *p) {
    PDL_VEC(char) open = {0};
    size_t i = 0;
    bool in_string = false, closed = false, wrong = false;
    for (; i < p->src.n && !closed && !wrong; i++) {
        char c = p->src.p[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            *pdl_vec_push(&open) = c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            wrong = !open.n || open.p[--open.n] != c;
            closed = !wrong && !open.n;
        }
    }
    pdl_vec_fini(&open);
    size_t next = rp_skip_blanks(p, i);
    return closed && next < p->src.n && p->src.p[next] != ',';
}

/* Reads the first container, if it is strict JSON and text follows it. Otherwise returns false; err
 * is set only for limits. */
static bool read_strict(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    pdl_err *err = r->err;
    size_t end;
    if (r->tried || (p->pos == 0 && !has_text_after_container(p))) return false;
    r->tried = true;
    if (!pdl_json_read(pdl_str_sub(p->src, p->pos, p->src.n), PDL_JSON_PYTHON | PDL_JSON_PREFIX,
                       out, &end, err)) {
        if (err->kind != PDL_E_limit && !err->uncatchable) pdl_err_fini(err);
        return false;
    }
    p->pos += end;
    return true;
}

/* Reads further members into a dict that was closed too early: `{"a": 1}, "b": 2}`. */
static bool read_more(reader *r, pdl_val *dict) {
    pdl_rp *p = &r->rp;
    for (bool further = pdl_is_dict(*dict); further;) {
        pdl_val more;
        p->pos = rp_skip_blanks(p, p->pos);
        if (rp_peek(p) != ',') break;
        p->pos = rp_skip_blanks(p, p->pos + 1);
        if (!pdl_rp_quote(p, p->pos)) break;
        if (!open_box(r, BOX_DICT, '}', true) || !run(r, &more)) return false;
        further = pdl_is_dict(more);
        if (further) *dict = pdl_dict_merge(*dict, more);
        pdl_drop(more);
    }
    return true;
}

/* Returns true when data begin at i, after a parenthesis. */
static bool data_begins(const pdl_rp *p, size_t i) {
    static const char *const words[] = {"true", "false", "null", "none"};
    int c = rp_at(p, i);
    if (c < 0 || pdl_rp_quote(p, i) || strchr(")({[-.0123456789", c)) return c >= 0;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        pdl_str w = pdl_str_of(words[k]);
        if (pdl_str_eq_nocase(pdl_str_sub(p->src, i, i + w.n), w)) return true;
    }
    return false;
}

/* Returns true when only blanks follow i on its line. */
static bool line_ends(const pdl_rp *p, size_t i) {
    for (int c; (c = rp_at(p, i)) >= 0 && c != '\n' && c != '\r'; i++)
        if (!rp_blank(c)) return false;
    return true;
}

/* Returns true when a parenthesis outside of containers is data. It is data when it is alone on its
 * lines; otherwise it is prose.
 */
static bool is_data(reader *r) {
    const pdl_rp *p = &r->rp;
    size_t i = p->pos;
    while (i && rp_blank(rp_at(p, i - 1)) && !strchr("\n\r", rp_at(p, i - 1))) i--;
    bool first = !i || strchr("\n\r", rp_at(p, i - 1));
    if (!first || !data_begins(p, rp_skip_blanks(p, p->pos + 1))) return false;
    i = p->pos + 1;
    paren_stop stop = paren_walk(r, &i, false);
    return stop != PAREN_TOO_LONG && (stop != PAREN_CLOSED || line_ends(p, i + 1));
}

/* Reads all containers of the text from the cursor on. */
static bool read_all(reader *r, bool all, pdl_val *found) {
    pdl_rp *p = &r->rp;
    bool listed = false;
    for (int c; (c = rp_peek(p)) >= 0;) {
        if (skip_comment(r, false)) continue;
        if (c != '{' && c != '[' && (c != '(' || !is_data(r))) {
            skip_char(p);
            continue;
        }
        pdl_val v;
        if (c == '(' || !read_strict(r, &v)) {
            if (r->err->kind || !read_box(r, &v)) return false;
            if (!read_more(r, &v)) {
                pdl_drop(v);
                return false;
            }
        }
        if (pdl_list_len(*found) && is_empty(v)) skip_char(p);
        *found = add_found(*found, v, all || listed);
        listed = comma_near(p);
    }
    return true;
}

/* Reads strict members whose opening brace is missing: "a": 1}. */
static bool read_braceless(pdl_str text, pdl_val *out) {
    size_t end = text.n;
    while (end && rp_blank((unsigned char)text.p[end - 1])) end--;
    if (pdl_str_trim(text).n < 2 || pdl_str_trim(text).p[0] != '"' || text.p[end - 1] != '}')
        return false;
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    pdl_buf_putc(&b, '{');
    pdl_buf_put(&b, text);
    bool ok = pdl_json_read(pdl_buf_str(&b), PDL_JSON_PYTHON, out, NULL, &err);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    return ok;
}

static void fini(reader *r) {
    while (r->open.n) {
        box b = pop(r);
        pdl_drop(b.box);
        pdl_drop(b.key);
    }
    pdl_vec_fini(&r->open);
    pdl_buf_fini(&r->rp.text);
}

bool pdl_repair_text(pdl_str text, bool all, size_t *n, pdl_val *out, pdl_err *err) {
    reader r = {.rp = {.src = text, .text = PDL_BUF}, .barren = PDL_NOT_FOUND, .err = err};
    *n = 1;
    if (read_braceless(text, out)) return true;
    pdl_val found = pdl_list_new(0);
    bool ok = read_all(&r, all, &found);
    *n = pdl_list_len(found);
    if (ok) *out = *n > 1 ? pdl_keep(found) : *n ? pdl_keep(pdl_list_at(found, 0)) : pdl_textz("");
    pdl_drop(found);
    fini(&r);
    return ok;
}
