/* repair.c -- JSON as models write it: containers, and what stands around and between them.
 *
 * One pass with an explicit stack of open containers; nothing is an error except depth. Rules: spec
 * language-syntax 5.1. Whatever makes no sense at its place is skipped a character at a time.
 */
#include "parse/repair.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/json_read.h"

#include "base/banned.h"

typedef enum { BOX_LIST, BOX_DICT, BOX_PAREN } box_kind;

/* An open container. */
typedef struct {
    box_kind kind;
    char closer;      /* besides the closers of containers around it */
    bool implicit;    /* a dict that began with `"key":` in a list, without a brace */
    bool not_list;    /* a dict with a colon or comment where a key should be: no list in wrong braces */
    bool saw_comma;   /* parentheses: with a comma they are a list even of one */
    bool waiting;     /* a dict with a key whose value is being read */
    size_t start;     /* of its first byte */
    pdl_val box, key; /* key: while waiting */
} box;

/* Words alone in parentheses are prose, not data. */
typedef struct {
    pdl_rp rp;
    PDL_VEC(box) open;
    bool prose;
    size_t barren; /* no key begins from here on: braces that hold nothing are not searched again and again */
    bool closed;   /* the last container closed had its closer */
    bool tried;    /* the strict reader had its turn: at one container only */
    size_t waiting; /* dicts open whose value is being read */
    size_t steps;   /* so far */
    pdl_err *err;
} reader;

/* What a step left: a value for the innermost container, a container just opened, the innermost one ended. */
typedef enum { GOT_VALUE, GOT_BOX, GOT_NOTHING, GOT_END } step;

static box *top(reader *r) { return &r->open.p[r->open.n - 1]; }

static bool open_box(reader *r, box_kind kind, char closer, bool implicit) {
    if (r->open.n == PDL_MAX_JSON_DEPTH)
        return pdl_err_set(r->err, PDL_E_limit, (pdl_loc){0}, "JSON is nested deeper than %d levels",
                           PDL_MAX_JSON_DEPTH);
    bool dict = kind == BOX_DICT;
    box *b = pdl_vec_push(&r->open);
    *b = (box){.kind = kind, .closer = closer, .implicit = implicit, .start = r->rp.pos};
    b->box = dict ? pdl_dict_new(0) : pdl_list_new(0);
    b->key = pdl_absent();
    r->rp.dicts += closer == '}';
    r->rp.lists += !dict;
    if (!implicit) r->rp.pos++;
    return true;
}

static box pop(reader *r) {
    box b = r->open.p[--r->open.n];
    r->rp.dicts -= b.closer == '}';
    r->rp.lists -= b.kind != BOX_DICT;
    return b;
}

/* --- between tokens ------------------------------------------------------------------------------------ */

/* A comment at the cursor. In a container a comment after '#' also ends before what closes it. */
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
        if (hash && ((c == ']' && p->lists) || (c == '}' && r->waiting) || (c == ':' && in_key))) break;
    return true;
}

/* One character that means nothing here. A slash takes its neighbour along. */
static void skip_junk(pdl_rp *p) {
    bool slash = rp_peek(p) == '/';
    size_t n = p->pos;
    pdl_rp_cp(p, n, &n);
    if (slash && n < p->src.n) pdl_rp_cp(p, n, &n);
    p->pos = n;
}

static bool word_starts(const pdl_rp *p) {
    size_t next;
    int c = rp_peek(p);
    return c >= 0 && pdl_cp_is_alpha(pdl_rp_cp(p, p->pos, &next));
}

/* "..." between items stands for things left out. */
static bool skip_ellipsis(pdl_rp *p) {
    if (!pdl_str_starts(pdl_str_sub(p->src, p->pos, p->src.n), PDL_STR("...")) || rp_at(p, p->pos + 3) == '.')
        return false;
    p->pos += 3;
    return true;
}

/* --- values ----------------------------------------------------------------------------------------------
 */

/* A scalar or the opening of a container at the cursor; GOT_NOTHING when none begins here. */
static step read_token(reader *r, pdl_rp_place place, pdl_val *out) {
    pdl_rp *p = &r->rp;
    int c = rp_peek(p);
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
    if (!word_starts(p)) return GOT_NOTHING;
    if (!pdl_rp_literal(p, out)) {
        *out = pdl_rp_word(p, place);
        r->prose = true;
    }
    return GOT_VALUE;
}

/* The value of a member: the cursor is behind the colon. Nothing there is the empty string. */
static step read_member(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    p->pos = rp_skip_blanks(p, p->pos);
    *out = pdl_absent();
    step s = GOT_NOTHING;
    if (rp_peek(p) != ',')
        for (int c; (c = rp_peek(p)) >= 0 && c != '}' && s == GOT_NOTHING;) {
            if (skip_comment(r, false)) continue;
            s = read_token(r, PDL_RP_VALUE, out);
            if (s == GOT_NOTHING) skip_junk(p);
            if (c == '/') break; /* neither comment nor value */
        }
    if (s != GOT_NOTHING) return s;
    *out = pdl_textz("");
    return GOT_VALUE;
}

/* A string as a key, with what stands before its colon. False at the end of the dict. */
static bool read_quoted_key(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    *out = pdl_rp_string(p, PDL_RP_KEY);
    do p->pos = rp_skip_blanks(p, p->pos);
    while (skip_comment(r, true));
    return rp_peek(p) >= 0 && rp_peek(p) != '}';
}

/* The next key; GOT_END when the dict ends before one. Whatever is in front of it is skipped, closers too:
 * only the very first character may end the dict. */
static step read_key(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    size_t from = p->pos, next;
    if (from >= r->barren) p->pos = p->src.n;
    for (int c; (c = rp_peek(p)) >= 0;) {
        size_t at = p->pos;
        if (skip_comment(r, !pdl_dict_len(top(r)->box))) {
            if (at == top(r)->start + 1) top(r)->not_list = true;
            continue;
        }
        bool quoted = pdl_rp_quote(p, at) > 0;
        if (!quoted && !pdl_cp_is_alnum(pdl_rp_cp(p, at, &next))) {
            if (c == ':') top(r)->not_list = true;
            skip_junk(p);
            continue;
        }
        if (!quoted && !pdl_rp_bare_key(p, out)) continue;
        if (quoted ? read_quoted_key(r, out) : rp_at(p, rp_skip_blanks(p, p->pos)) >= 0) return GOT_VALUE;
        pdl_drop(*out);
        return GOT_END;
    }
    if (from < r->barren) r->barren = from;
    return GOT_END;
}

/* A dict without members that holds something is a list in wrong braces: read it again as one. */
static bool reread_as_list(reader *r) {
    box *b = top(r);
    if (b->implicit || b->not_list || pdl_dict_len(b->box)) return false;
    size_t from = b->start, read = pdl_utf8_count(pdl_str_sub(r->rp.src, from, r->rp.pos));
    if (rp_peek(&r->rp) == '}') read++;
    if (read <= 2) return false;
    pdl_drop(pop(r).box);
    r->rp.pos = from;
    return open_box(r, BOX_LIST, '}', false);
}

/* Behind a member (or the brace): does the dict end here? A quote or comma right behind the member is passed
 * over. */
static bool dict_ends(reader *r) {
    pdl_rp *p = &r->rp;
    bool has = pdl_dict_len(top(r)->box) > 0;
    int c = rp_peek(p);
    if (has && (c == '"' || c == '\'')) p->pos++;
    p->pos = rp_skip_blanks(p, p->pos);
    if (rp_peek(p) < 0) return true;
    if (rp_peek(p) == ',') p->pos = rp_skip_blanks(p, p->pos + 1);
    c = rp_peek(p);
    return c == '}' || (c == ']' && has && p->lists);
}

static step step_dict(reader *r, pdl_val *out) {
    pdl_val key;
    pdl_rp *p = &r->rp;
    if (dict_ends(r)) return GOT_END;
    if (read_key(r, &key) == GOT_END) return reread_as_list(r) ? GOT_BOX : GOT_END;
    int c = rp_peek(p);
    if (c >= 0 && c != '}' && c != ']') { /* the colon, or what stands for it */
        size_t n = p->pos;
        pdl_rp_cp(p, n, &n);
        p->pos = n;
    }
    box *b = top(r);
    b->key = key;
    b->waiting = true;
    r->waiting++;
    return read_member(r, out);
}

static bool is_empty(pdl_vref v) {
    if (pdl_is_str(v)) return pdl_str_get(v).n == 0;
    if (pdl_is_list(v)) return pdl_list_len(v) == 0;
    return pdl_is_dict(v) && pdl_dict_len(v) == 0;
}

/* An item of a list was a string and a colon follows: it is a key. */
static step item_is_key(reader *r, size_t from, pdl_val item) {
    box *b = top(r);
    pdl_drop(item);
    r->rp.pos = from;
    bool in_dict = r->open.n > 1 && r->open.p[r->open.n - 2].kind == BOX_DICT;
    if (in_dict && pdl_list_len(b->box)) return GOT_END; /* the list was not closed, the dict goes on */
    return open_box(r, BOX_DICT, '}', true) ? GOT_BOX : GOT_END;
}

/* Behind an item: does the list end here? */
static bool list_ends(reader *r) {
    pdl_rp *p = &r->rp;
    int c;
    for (; (c = rp_peek(p)) == ',' || rp_blank(c); p->pos++)
        if (c == ',') top(r)->saw_comma = true;
    return c < 0 || c == ']' || c == '}' || (c == ')' && top(r)->kind == BOX_PAREN);
}

/* The next item. What is between items is skipped, closers too unless they come first. */
static step step_list(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    if (list_ends(r)) return GOT_END;
    for (int c; (c = rp_peek(p)) >= 0;) {
        if (skip_comment(r, false) || skip_ellipsis(p)) {
            if (list_ends(r)) return GOT_END;
            continue;
        }
        size_t from = p->pos;
        bool quoted = pdl_rp_quote(p, from) > 0;
        step s = read_token(r, PDL_RP_ITEM, out);
        if (s == GOT_VALUE && quoted && !p->inner && rp_at(p, rp_skip_blanks(p, p->pos)) == ':')
            return item_is_key(r, from, *out);
        if (s == GOT_VALUE && is_empty(*out) && !quoted) { /* a sign without a number */
            pdl_drop(*out);
            if (list_ends(r)) return GOT_END;
            continue;
        }
        if (s != GOT_NOTHING) return s;
        skip_junk(p);
    }
    return GOT_END;
}

/* --- containers --------------------------------------------------------------------------------------------
 */

/* Give the innermost container a value. An empty item that nothing separates from what follows is noise,
 * with the character behind it. */
static void put_value(reader *r, pdl_val v) {
    box *b = top(r);
    if (b->kind == BOX_DICT) {
        b->box = pdl_dict_put(b->box, b->key, v);
        b->key = pdl_absent();
        b->waiting = false;
        r->waiting--;
        return;
    }
    int c = rp_peek(&r->rp);
    if (!is_empty(v) || c == ',' || c == (b->kind == BOX_PAREN ? ')' : ']')) {
        b->box = pdl_list_push(b->box, v);
        return;
    }
    pdl_drop(v);
    if (c >= 0) pdl_rp_cp(&r->rp, r->rp.pos, &r->rp.pos);
}

/* The innermost container is complete; its closer is taken only if it is its own. */
static pdl_val close_box(reader *r) {
    box b = pop(r);
    int c = rp_peek(&r->rp);
    if (c == b.closer || (c == '}' && b.kind != BOX_DICT) || (c == ']' && b.kind != BOX_DICT)) r->rp.pos++;
    r->closed = c == b.closer;
    if (b.kind != BOX_PAREN || !r->closed || b.saw_comma || pdl_list_len(b.box) != 1) return b.box;
    pdl_val only = pdl_keep(pdl_list_at(b.box, 0));
    pdl_drop(b.box);
    return only;
}

/* Read until the outermost open container is complete. */
static bool run(reader *r, pdl_val *out) {
    pdl_val v;
    for (;;) {
        size_t depth = r->open.n;
        step s = top(r)->kind == BOX_DICT ? step_dict(r, &v) : step_list(r, &v);
        if (r->err->kind != PDL_E_NONE) return false;
        if (!pdl_goes_on_at(++r->steps, r->err)) {
            if (s == GOT_VALUE) pdl_drop(v);
            return false;
        }
        if (s == GOT_BOX) continue;
        if (s == GOT_END) {
            v = close_box(r);
            if (depth == 1) break;
        }
        put_value(r, v);
    }
    *out = v;
    return true;
}

/* The container that begins at the cursor. */
static bool read_box(reader *r, pdl_val *out) {
    pdl_val none;
    return read_token(r, PDL_RP_ITEM, &none) == GOT_BOX && run(r, out);
}

/* --- the whole text
 * ------------------------------------------------------------------------------------------ */

/* Same classes all the way down: then a later value is a better version of the earlier one. */
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
            if (pdl_is_absent(other) || !same_shape(pdl_dict_val_at(a, i), other, depth + 1)) return false;
        }
    }
    return true;
}

/* Add v to what was found so far; `listed`: a comma stood between. */
static pdl_val add_found(pdl_val found, pdl_val v, bool listed) {
    size_t n = pdl_list_len(found);
    if (n && is_empty(v)) {
        pdl_drop(v);
        return found;
    }
    if (n && !listed && (is_empty(pdl_list_at(found, n - 1)) || same_shape(pdl_list_at(found, n - 1), v, 0)))
        return pdl_list_set(found, n - 1, v);
    return pdl_list_push(found, v);
}

/* Does something other than a comma follow the container that the text begins with? Brackets are matched outside of
 * strings. */
static bool goes_on(const pdl_rp *p) {
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

/* The first container, when it is strict JSON and text follows; false (without an error but for limits) when not. */
static bool read_strict(reader *r, pdl_val *out) {
    pdl_rp *p = &r->rp;
    pdl_err *err = r->err;
    size_t end;
    if (r->tried || (p->pos == 0 && !goes_on(p))) return false;
    r->tried = true;
    if (!pdl_json_read(pdl_str_sub(p->src, p->pos, p->src.n), PDL_JSON_PYTHON | PDL_JSON_PREFIX, out, &end,
                       err)) {
        if (err->kind != PDL_E_limit && !err->final) pdl_err_fini(err);
        return false;
    }
    p->pos += end;
    return true;
}

/* `{"a": 1}, "b": 2}`: the dict was closed too early. Its further members are read into it. */
static bool read_more(reader *r, pdl_val *dict) {
    pdl_rp *p = &r->rp;
    size_t i = rp_skip_blanks(p, p->pos), q;
    if (!pdl_is_dict(*dict) || rp_at(p, i) != ',') return true;
    i = rp_skip_blanks(p, i + 1);
    q = rp_at(p, i) == '"' ? pdl_rp_find(p, '"', i + 1) : p->src.n;
    if (q == p->src.n || rp_at(p, rp_skip_blanks(p, q + 1)) != ':') return true;
    p->pos = i;
    pdl_val more;
    if (!open_box(r, BOX_DICT, '}', true) || !run(r, &more)) return false;
    *dict = pdl_dict_merge(*dict, more);
    pdl_drop(more);
    return true;
}

/* All containers of the text from the cursor on. */
static bool read_all(reader *r, pdl_val *found) {
    pdl_rp *p = &r->rp;
    bool listed = false;
    for (int c; (c = rp_peek(p)) >= 0;) {
        if (skip_comment(r, false)) continue;
        if (c == '{' || c == '[') {
            pdl_val v;
            if (!read_strict(r, &v) && (r->err->kind || !read_box(r, &v))) return false;
            bool ok = read_more(r, &v);
            *found = add_found(*found, v, listed);
            if (!ok) return false;
            listed = rp_peek(p) == ',';
            continue;
        }
        pdl_rp_cp(p, p->pos, &p->pos);
    }
    return true;
}

/* Strict members that lack their opening brace: "a": 1}. */
static bool read_braceless(pdl_str text, pdl_val *out) {
    size_t end = text.n;
    while (end && rp_blank((unsigned char)text.p[end - 1])) end--;
    if (pdl_str_trim(text).n < 2 || pdl_str_trim(text).p[0] != '"' || text.p[end - 1] != '}') return false;
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    pdl_buf_putc(&b, '{');
    pdl_buf_put(&b, text);
    bool ok = pdl_json_read(pdl_buf_str(&b), PDL_JSON_PYTHON, out, NULL, &err);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    return ok;
}

/* A text that is all in parentheses, (1, "a"). *whole is false when it is not. */
static bool read_parens(reader *r, bool *whole, pdl_val *out) {
    pdl_rp *p = &r->rp;
    *whole = false;
    p->pos = rp_skip_blanks(p, 0);
    if (rp_peek(p) != '(') return true;
    if (!read_box(r, out)) return false;
    *whole = rp_skip_blanks(p, p->pos) == p->src.n && !r->prose && (r->closed || !is_empty(*out));
    if (!*whole) pdl_drop(*out);
    return true;
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

bool pdl_repair_text(pdl_str text, pdl_val *out, pdl_err *err) {
    reader r = {.rp = {.src = text, .text = PDL_BUF}, .barren = PDL_NOT_FOUND, .err = err};
    if (read_braceless(text, out)) return true;
    bool whole = false, ok = read_parens(&r, &whole, out);
    if (ok && !whole) {
        r.rp.pos = 0;
        pdl_val found = pdl_list_new(0);
        ok = read_all(&r, &found);
        size_t n = pdl_list_len(found);
        if (ok) *out = n > 1 ? pdl_keep(found) : n ? pdl_keep(pdl_list_at(found, 0)) : pdl_textz("");
        pdl_drop(found);
    }
    fini(&r);
    return ok;
}
