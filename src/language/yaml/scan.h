/* scan.h -- makes tokens of YAML 1.1 from the bytes of a source, as PyYAML's scanner does. Private
 * to yaml.
 *
 * The scanner passes once over the bytes, without recursion. Columns count characters, places are
 * bytes. A text is a simple key (`a: 1`) only if a ':' follows it. So the scanner puts a candidate
 * token before everything that may be a key. Later, the candidate becomes a key, or becomes dead,
 * in its place. PyYAML and libyaml have no candidates: they insert the token of a key when they
 * find the ':', and so have to move all tokens after it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_SCAN_H
#define PDL_YAML_SCAN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/source.h"
#include "base/vec.h"
#include "yaml/node.h"
#include "yaml/tree.h"

/* X(id, name). The name is that of the token in PyYAML's messages. */
#define PDL_YAML_TOKENS(X)                                                                         \
    X(DEAD, "")                         /* a candidate that was no key */                          \
    X(CANDIDATE, "")                    /* a key may follow */                                     \
    X(MAP_KEY, "<block mapping start>") /* a key that begins a mapping; a KEY is read next */      \
    X(KEY, "?")                                                                                    \
    X(VALUE, ":")                                                                                  \
    X(MAP_START, "<block mapping start>")                                                          \
    X(SEQ_START, "<block sequence start>")                                                         \
    X(BLOCK_END, "<block end>")                                                                    \
    X(BLOCK_ENTRY, "-")                                                                            \
    X(FLOW_SEQ, "[")                                                                               \
    X(FLOW_SEQ_END, "]")                                                                           \
    X(FLOW_MAP, "{")                                                                               \
    X(FLOW_MAP_END, "}")                                                                           \
    X(FLOW_ENTRY, ",")                                                                             \
    X(ALIAS, "<alias>")                                                                            \
    X(ANCHOR, "<anchor>")                                                                          \
    X(TAG, "<tag>")                                                                                \
    X(SCALAR, "<scalar>")                                                                          \
    X(DIRECTIVE, "<directive>")                                                                    \
    X(DOC_START, "<document start>")                                                               \
    X(DOC_END, "<document end>")                                                                   \
    X(STREAM_END, "<stream end>")

typedef enum {
#define X(id, name) PDL_YT_##id,
    PDL_YAML_TOKENS(X)
#undef X
} pdl_yt_kind;

typedef struct pdl_ytoken {
    pdl_yt_kind kind : 8;
    pdl_node_style style : 8; /* used by SCALAR */
    bool built : 1;           /* scan.texts has the text, not the source */
    uint32_t start, end;      /* offsets in bytes */
    /* TAG: length of its handle, 0: none. DIRECTIVE: pdl_ydirective. MAP_START, SEQ_START, MAP_KEY:
     * column. */
    uint32_t extra;
    uint32_t n; /* bytes of the text: a name, the suffix of a tag, or the value of a scalar */
    union {
        const char *p;
        size_t off;
    };
} pdl_ytoken;

typedef enum { PDL_YDIR_OTHER, PDL_YDIR_VERSION, PDL_YDIR_OLD, PDL_YDIR_TAG } pdl_ydirective;

/* The text that may begin a simple key, at one level of flow collections. */
typedef struct pdl_ykey {
    bool live, required;
    size_t token;    /* index of the key's candidate token */
    uint32_t start;  /* offset in bytes */
    uint32_t column; /* column, in characters */
    uint32_t line;   /* byte where the line of the key begins */
} pdl_ykey;

/* The content of a %TAG line: a handle in the source, a prefix in scan.names. */
typedef struct pdl_ytagdir {
    uint32_t handle, handle_n, prefix, prefix_n;
} pdl_ytagdir;

/* All tokens that have a width, and all comments, in the order of the text. */
typedef struct pdl_ylog {
    PDL_VEC(pdl_ytree_token) tokens;
} pdl_ylog;

static inline void pdl_ylog_add(pdl_ylog *log, pdl_ytree_token_kind kind, uint32_t start,
                                uint32_t end) {
    *pdl_vec_push(&log->tokens) = (pdl_ytree_token){kind, start, end};
}

typedef struct pdl_yscan {
    const pdl_source *src;
    const char *text, *end; /* PDL_SOURCE_PAD NULs follow */
    const char *pos;
    const char *line; /* where the current line begins */
    /* all bytes from `line` up to this place are ASCII; not known when the place is not after
     * `line` */
    const char *high;
    const char *column_at;
    uint32_t column_cp; /* characters of the line up to column_at */
    bool done, allow_key;
    /* ends open texts and collections where a new entry begins (resync.c) */
    bool tolerant;
    uint32_t tolerant_from; /* the text before this byte is read strictly */
    uint32_t flow;          /* level of flow collections */
    uint32_t flow_start;    /* byte where the outermost flow collection begins */
    int32_t indent;         /* column of the innermost block collection, -1: none */
    PDL_VEC(int32_t) indents;
    /* one item for each level of flow collections; item 0 is the block level */
    PDL_VEC(pdl_ykey) keys;
    uint32_t oldest_key; /* levels below this one have no live key */
    PDL_VEC(pdl_ytoken) queue;
    size_t head;   /* the next token is queue.p[head] */
    size_t taken;  /* tokens that left the queue: the index of queue.p[0] */
    pdl_buf texts; /* texts of queued tokens */
    pdl_buf names;
    PDL_VEC(pdl_ytagdir) tagdirs;
    pdl_ylog *log;    /* when it is NULL, no log is made */
    uint32_t context; /* byte where the text that is being read begins */
    uint32_t last;    /* byte where the last token begins */
    pdl_err *err;
} pdl_yscan;

void pdl_yscan_init(pdl_yscan *s, const pdl_source *src);
void pdl_yscan_fini(pdl_yscan *s);

/* Returns the next token, which stays the next token until pdl_yscan_skip is called. After a
 * failure returns NULL, and s->err is set. Tokens before the failing place are returned first. */
const pdl_ytoken *pdl_yscan_fill(pdl_yscan *s);

static inline bool pdl_yscan_ready(const pdl_yscan *s) {
    return s->head < s->queue.n && s->queue.p[s->head].kind > PDL_YT_CANDIDATE &&
           (s->oldest_key > s->flow || s->done);
}
static inline const pdl_ytoken *pdl_yscan_peek(pdl_yscan *s) {
    return pdl_yscan_ready(s) ? &s->queue.p[s->head] : pdl_yscan_fill(s);
}
/* Takes the next token, which was peeked at. */
static inline void pdl_yscan_skip(pdl_yscan *s) { s->head++; }

/* Returns the text of a token; borrowed until the next peek. */
static inline pdl_str pdl_yscan_text(const pdl_yscan *s, const pdl_ytoken *t) {
    return (pdl_str){t->built ? pdl_buf_z(&s->texts) + t->off : t->p, t->n};
}

const char *pdl_ytoken_name(pdl_yt_kind k);

/* --- shared by the files of the scanner ------------------------------------------------------- */

/* Classes of bytes. The characters NEL, LS and PS, which end lines, begin with C2 and E2. */
enum {
    PDL_YC_END = 1,     /* may end a line or the text: control characters, C2, E2 */
    PDL_YC_BLANK = 2,   /* space, tab */
    PDL_YC_BLOCK = 4,   /* may end a plain scalar: END and : # */
    PDL_YC_FLOW = 8,    /* ends a plain scalar in a flow collection: BLOCK and , ? [ ] { } */
    PDL_YC_SINGLE = 16, /* may end a run in single quotes: END and ' */
    PDL_YC_DOUBLE = 32, /* may end a run in double quotes: END and " \ */
    PDL_YC_WORD = 64,   /* letters, digits, - and _ */
    PDL_YC_URI = 128,
};
extern const uint8_t pdl_yclass[256];

static inline bool pdl_yis(char c, int set) { return (pdl_yclass[(unsigned char)c] & set) != 0; }

/* Returns the length of the line end at p: 0 where there is none. */
static inline uint32_t pdl_ybreak(const char *p) {
    unsigned char c = (unsigned char)*p;
    if (!pdl_yis(*p, PDL_YC_END)) return 0;
    if (c == '\n') return 1;
    if (c < 0x20) return c == '\r' ? 1 + (p[1] == '\n') : 0;
    if (c == 0xc2) return (unsigned char)p[1] == 0x85 ? 2 : 0;
    return c == 0xe2 && (unsigned char)p[1] == 0x80 && ((unsigned char)p[2] & 0xfe) == 0xa8 ? 3 : 0;
}
/* Returns true when a line end or the end of the text is at p. */
static inline bool pdl_yends(const char *p) {
    return pdl_yis(*p, PDL_YC_END) && (!*p || pdl_ybreak(p));
}
/* Returns true when a blank, a line end or the end of the text is at p. */
static inline bool pdl_yblank_or_end(const char *p) {
    return pdl_yis(*p, PDL_YC_END | PDL_YC_BLANK) && (pdl_yis(*p, PDL_YC_BLANK) || pdl_yends(p));
}
/* Returns true when `---` or `...` is at p, the beginning of a line. */
static inline bool pdl_yis_separator(const char *p) {
    return (*p == '-' || *p == '.') && p[1] == *p && p[2] == *p && pdl_yblank_or_end(p + 3);
}

static inline uint32_t pdl_yoff(const pdl_yscan *s, const char *p) {
    return (uint32_t)(p - s->text);
}

/* Steps over the line end of n bytes at s->pos. */
static inline void pdl_ynext_line(pdl_yscan *s, uint32_t n) { s->line = s->pos += n; }

uint32_t pdl_ycolumn_slow(pdl_yscan *s, const char *p);
static inline uint32_t pdl_ycolumn(pdl_yscan *s) {
    return PDL_LIKELY(s->pos <= s->high) ? (uint32_t)(s->pos - s->line)
                                         : pdl_ycolumn_slow(s, s->pos);
}

/* Fails at `at`. Always returns false. With `shown`, the message ends with the character there. */
PDL_PRINTF(3, 4) bool pdl_yfail(pdl_yscan *s, const char *at, const char *fmt, ...);
PDL_PRINTF(4, 5)
bool pdl_yfail_shown(pdl_yscan *s, const char *at, const char *shown, const char *fmt, ...);
#define pdl_yfail_char(s, at, ...) pdl_yfail_shown((s), (at), (at), __VA_ARGS__)

void pdl_ylog_token(pdl_yscan *s, const pdl_ytoken *t);

/* Adds a token to the end of the queue. The returned pointer is valid until the next call. */
static inline pdl_ytoken *pdl_ypush(pdl_yscan *s, pdl_yt_kind kind, const char *start,
                                    const char *end) {
    pdl_ytoken *t = pdl_vec_push(&s->queue);
    *t = (pdl_ytoken){.kind = kind, .start = pdl_yoff(s, start), .end = pdl_yoff(s, end)};
    if (kind != PDL_YT_CANDIDATE) s->last = t->start;
    if (PDL_UNLIKELY(s->log != NULL)) pdl_ylog_token(s, t);
    return t;
}

/* Reads the comment at s->pos. */
void pdl_yscan_comment(pdl_yscan *s);
/* Reads blanks, perhaps a comment, and the end of the line. */
bool pdl_yscan_rest_of_line(pdl_yscan *s);
/* The next three functions read scalars from s->pos (scan_text.c). */
bool pdl_yscan_plain(pdl_yscan *s);
bool pdl_yscan_quoted(pdl_yscan *s);
bool pdl_yscan_block(pdl_yscan *s);
/* Returns true when the scanner is tolerant and the line at s->pos begins a new entry (resync.c).
 * The flow collection or scalar that began at start then has no end. */
bool pdl_ytolerant_ends(pdl_yscan *s, const char *start);
bool pdl_ytolerant_key(const pdl_yscan *s, const pdl_ykey *k, uint32_t end);
/* The remaining functions are in scan_name.c. */
bool pdl_yscan_anchor(pdl_yscan *s);
bool pdl_yscan_tag(pdl_yscan *s);
bool pdl_yscan_directive(pdl_yscan *s);

#endif
