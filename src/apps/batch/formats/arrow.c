/* arrow.c -- adds fields to a FlatBuffer; see arrow.h.
 *
 * A FlatBuffer is a set of tables that refer to each other by distances. A distance is the position
 * of the target minus the position of the distance itself, and it only leads forward. So the new
 * head and the new vector, which refer to the fields, are placed before the old bytes. The fields
 * that are added are placed after the old bytes. A table begins with the distance back to its
 * layout, which has the position of each slot of the table. Numbers are little-endian. The old
 * bytes come from a file: each position is checked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/formats/arrow.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* The slots of the tables of Arrow's Message.fbs and Schema.fbs that are used here. */
enum { MESSAGE_VERSION, MESSAGE_KIND, MESSAGE_HEADER };
enum { SCHEMA_ENDIANNESS, SCHEMA_FIELDS, SCHEMA_METADATA, SCHEMA_FEATURES };
enum { FIELD_NAME };
enum { KIND_SCHEMA = 1 };
enum { WORD = 4, WIDE = 8, MAX_DEEP = 100 };
static const uint32_t continuation = 0xffffffff;

/* --- reading ---------------------------------------------------------------------------------- */

static uint32_t number_at(pdl_str b, size_t at, size_t bytes) {
    uint32_t v = 0;
    for (size_t i = bytes; i-- > 0;) v = v << 8 | (unsigned char)b.p[at + i];
    return v;
}

static bool read_number(pdl_str b, size_t at, size_t bytes, uint32_t *out) {
    if (at > b.n || b.n - at < bytes) return false;
    *out = number_at(b, at, bytes);
    return true;
}

/* Follows the distance at this position. */
static bool follow(pdl_str b, size_t at, size_t *to) {
    uint32_t distance;
    if (!read_number(b, at, WORD, &distance) || distance > b.n - at) return false;
    *to = at + distance;
    return true;
}

/* Finds the position of a slot of a table. *at is 0 when the slot is absent. */
static bool find_slot(pdl_str b, size_t table, unsigned slot, size_t *at) {
    uint32_t back, size, offset = 0;
    size_t entry = WORD + 2 * (size_t)slot;
    if (!read_number(b, table, WORD, &back)) return false;
    int64_t layout = (int64_t)table - (int32_t)back;
    if (layout < 0 || !read_number(b, (size_t)layout, 2, &size)) return false;
    if (entry + 2 <= size && !read_number(b, (size_t)layout + entry, 2, &offset)) return false;
    *at = offset ? table + offset : 0;
    return true;
}

/* Finds the target of a slot that contains a distance. *to is 0 when the slot is absent. */
static bool find_target(pdl_str b, size_t table, unsigned slot, size_t *to) {
    size_t at;
    *to = 0;
    return find_slot(b, table, slot, &at) && (!at || follow(b, at, to));
}

static bool read_small(pdl_str b, size_t table, unsigned slot, size_t bytes, uint32_t *out) {
    size_t at;
    *out = 0;
    return find_slot(b, table, slot, &at) && (!at || read_number(b, at, bytes, out));
}

/* The positions in the old message that are needed; 0 for a part that is absent. */
typedef struct arrow_old {
    pdl_str buffer;
    uint32_t version, endianness;
    size_t fields, metadata, features;
} old_schema;

static bool has_names(const old_schema *o, const pdl_str *names, size_t n) {
    uint32_t count, length;
    if (!read_number(o->buffer, o->fields, WORD, &count) || count != n) return false;
    for (size_t i = 0; i < n; i++) {
        size_t field, name;
        if (!follow(o->buffer, o->fields + WORD * (i + 1), &field) ||
            !find_target(o->buffer, field, FIELD_NAME, &name) || !name ||
            !read_number(o->buffer, name, WORD, &length) || length > o->buffer.n - name - WORD ||
            !pdl_str_eq((pdl_str){o->buffer.p + name + WORD, length}, names[i]))
            return false;
    }
    return true;
}

/* Reads a message. In newer files it begins with a mark; then come its length and the
 * FlatBuffer. */
static bool read_old(pdl_str message, old_schema *o) {
    size_t head = 0, table, schema;
    uint32_t length, kind;
    if (!read_number(message, 0, WORD, &length)) return false;
    if (length == continuation && !read_number(message, head = WORD, WORD, &length)) return false;
    head += WORD;
    if (length > message.n - head) return false;
    o->buffer = (pdl_str){message.p + head, length};
    return follow(o->buffer, 0, &table) &&
           read_small(o->buffer, table, MESSAGE_VERSION, 2, &o->version) &&
           read_small(o->buffer, table, MESSAGE_KIND, 1, &kind) && kind == KIND_SCHEMA &&
           find_target(o->buffer, table, MESSAGE_HEADER, &schema) && schema &&
           read_small(o->buffer, schema, SCHEMA_ENDIANNESS, 2, &o->endianness) &&
           find_target(o->buffer, schema, SCHEMA_FIELDS, &o->fields) && o->fields &&
           find_target(o->buffer, schema, SCHEMA_METADATA, &o->metadata) &&
           find_target(o->buffer, schema, SCHEMA_FEATURES, &o->features);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Writes the FlatBuffer. Positions are relative to its beginning, which is at `start` of out. */
typedef struct arrow_writer {
    pdl_buf *out;
    size_t start;
} maker;

static size_t position(const maker *m) { return m->out->len - m->start; }

static void put_number(const maker *m, uint32_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) pdl_buf_putc(m->out, (char)(v >> 8 * i & 0xff));
}

static void align(const maker *m, size_t to) {
    while (position(m) % to) pdl_buf_putc(m->out, 0);
}

/* Sets the distance at `at` so that it leads to `target`. */
static void set_distance(const maker *m, size_t at, size_t target) {
    uint32_t distance = (uint32_t)(target - at);
    for (size_t i = 0; i < WORD; i++)
        m->out->p[m->start + at + i] = (char)(distance >> 8 * i & 0xff);
}

/* The slots of a new table: for each, its size in bytes (0 when it is absent) and its value. The
 * value of a slot that contains a distance is set later. */
enum { MAX_SLOTS = 7 };
typedef struct arrow_slots {
    size_t n;
    uint8_t bytes[MAX_SLOTS];
    uint32_t value[MAX_SLOTS];
    /* position of each slot after the table was appended; 0 when the slot is absent */
    size_t at[MAX_SLOTS];
} slots;

/* Appends a table. Slots are sorted by size, the largest first, so that each is aligned. */
static size_t put_table(const maker *m, slots *s) {
    uint32_t offset[MAX_SLOTS] = {0}, size = WORD;
    for (uint8_t bytes = WORD; bytes; bytes /= 2)
        for (size_t i = 0; i < s->n; i++)
            if (s->bytes[i] == bytes) {
                offset[i] = size;
                size += bytes;
            }
    align(m, WORD);
    size_t layout = position(m);
    put_number(m, (uint32_t)(WORD + 2 * s->n), 2);
    put_number(m, size, 2);
    for (size_t i = 0; i < s->n; i++) put_number(m, offset[i], 2);
    align(m, WORD);
    size_t table = position(m);
    put_number(m, (uint32_t)(table - layout), WORD);
    for (uint8_t bytes = WORD; bytes; bytes /= 2)
        for (size_t i = 0; i < s->n; i++)
            if (s->bytes[i] == bytes) put_number(m, s->value[i], bytes);
    for (size_t i = 0; i < s->n; i++) s->at[i] = offset[i] ? table + offset[i] : 0;
    return table;
}

static void put_string(const maker *m, pdl_str s) {
    align(m, WORD);
    put_number(m, (uint32_t)s.n, WORD);
    pdl_buf_put(m->out, s);
    pdl_buf_putc(m->out, 0);
}

/* --- types ------------------------------------------------------------------------------------ */

/* The numbers of the union of types in Schema.fbs. */
enum {
    ARROW_INT = 2,
    ARROW_FLOAT = 3,
    ARROW_UTF8 = 5,
    ARROW_BOOL = 6,
    ARROW_DECIMAL = 7,
    ARROW_LIST = 12,
    ARROW_STRUCT = 13
};

/* The types of Arrow, with their slots, that correspond to the types of DuckDB for columns of JSON
 * values. */
typedef struct arrow_simple {
    const char *name;
    uint8_t kind;
    slots slots;
} simple;
static const simple known[] = {
    {"VARCHAR", ARROW_UTF8, {0}},
    {"JSON", ARROW_UTF8, {0}},
    {"BOOLEAN", ARROW_BOOL, {0}},
    {"DOUBLE", ARROW_FLOAT, {.n = 1, .bytes = {2}, .value = {2}}},
    {"BIGINT", ARROW_INT, {.n = 2, .bytes = {4, 1}, .value = {64, 1}}},
    {"UBIGINT", ARROW_INT, {.n = 2, .bytes = {4, 1}, .value = {64, 0}}},
    {"DECIMAL(38, 0)", ARROW_DECIMAL, {.n = 3, .bytes = {4, 4, 4}, .value = {38, 0, 128}}},
};
static const pdl_str struct_begins = {"STRUCT(", 7}, list_ends = {"[]", 2};

static const simple *find_simple(pdl_str type) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (pdl_str_is(type, known[i].name)) return &known[i];
    return NULL;
}

/* Reads the next member `"name" TYPE` of a struct, from *at on. name gets the name without quotes.
 * Returns false at the end. */
static bool next_member(pdl_str members, size_t *at, pdl_buf *name, pdl_str *type) {
    size_t i = *at, deep = 0;
    bool quoted = false;
    pdl_buf_clear(name);
    while (i < members.n && members.p[i] != '"') i++; /* skips the comma and the blank */
    for (i++; i < members.n; i++) {
        if (members.p[i] == '"' && (i + 1 == members.n || members.p[i + 1] != '"')) break;
        i += members.p[i] == '"';
        pdl_buf_putc(name, members.p[i]);
    }
    size_t from = i + 2;
    if (from > members.n) return false;
    for (i = from; i < members.n && (quoted || deep || members.p[i] != ','); i++) {
        quoted = quoted != (members.p[i] == '"');
        deep += !quoted && members.p[i] == '(';
        deep -= !quoted && members.p[i] == ')';
    }
    *type = pdl_str_sub(members, from, i);
    *at = i;
    return true;
}

enum { FIELD_NULLABLE = 1, FIELD_KIND, FIELD_TYPE, FIELD_CHILDREN = 5 };

static bool put_field(const maker *m, pdl_str name, pdl_str type, int deep, size_t *out);

/* Appends the vector of the fields of a struct or list, and then the fields. */
static bool put_children(const maker *m, pdl_str type, int deep) {
    bool list = pdl_str_ends(type, list_ends), ok = true;
    pdl_str inner = list ? pdl_str_sub(type, 0, type.n - list_ends.n)
                         : pdl_str_sub(type, struct_begins.n, type.n - 1),
            each = inner;
    pdl_buf name = PDL_BUF;
    size_t n = list, at = 0, child;
    while (!list && next_member(inner, &at, &name, &each)) n++;
    align(m, WORD);
    size_t vector = position(m) + WORD;
    put_number(m, (uint32_t)n, WORD);
    for (size_t i = 0; i < n; i++) put_number(m, 0, WORD);
    at = 0;
    for (size_t i = 0; ok && i < n; i++) {
        if (!list) ok = next_member(inner, &at, &name, &each);
        ok = ok &&
             put_field(m, list ? PDL_STR("element") : pdl_buf_str(&name), each, deep + 1, &child);
        if (ok) set_distance(m, vector + WORD * i, child);
    }
    pdl_buf_fini(&name);
    return ok;
}

static bool put_field(const maker *m, pdl_str name, pdl_str type, int deep, size_t *out) {
    const simple *s = find_simple(type);
    bool list = pdl_str_ends(type, list_ends), has = pdl_str_starts(type, struct_begins);
    if (deep > MAX_DEEP || (!s && !list && !has)) return false;
    slots field = {.n = MAX_SLOTS,
                   .bytes = {[FIELD_NAME] = WORD,
                             [FIELD_NULLABLE] = 1,
                             [FIELD_KIND] = 1,
                             [FIELD_TYPE] = WORD,
                             [FIELD_CHILDREN] = WORD},
                   .value = {[FIELD_NULLABLE] = 1}},
          inner = s ? s->slots : (slots){0};
    field.value[FIELD_KIND] = s ? s->kind : list ? ARROW_LIST : ARROW_STRUCT;
    *out = put_table(m, &field);
    set_distance(m, field.at[FIELD_TYPE], put_table(m, &inner));
    align(m, WORD);
    set_distance(m, field.at[FIELD_NAME], position(m));
    put_string(m, name);
    align(m, WORD);
    set_distance(m, field.at[FIELD_CHILDREN], position(m));
    if (!s) return put_children(m, type, deep);
    put_number(m, 0, WORD);
    return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The new head. The distance to field i is at vector + WORD * i. Distances to old parts are set
 * when the old bytes are appended, because the position of each old part then grows by `shift`. */
typedef struct arrow_head {
    size_t vector;
    slots schema;
} head;

static head put_head(const maker *m, const old_schema *o, size_t n) {
    slots message = {.n = 3, .bytes = {2, 1, WORD}, .value = {o->version, KIND_SCHEMA}};
    head h = {.schema = {.n = 4,
                         .bytes = {2, WORD, o->metadata ? WORD : 0, o->features ? WORD : 0},
                         .value = {o->endianness}}};
    put_number(m, 0, WORD);
    set_distance(m, 0, put_table(m, &message));
    size_t at = message.at[MESSAGE_HEADER];
    set_distance(m, at, put_table(m, &h.schema));
    align(m, WORD);
    set_distance(m, h.schema.at[SCHEMA_FIELDS], position(m));
    put_number(m, (uint32_t)n, WORD);
    h.vector = position(m);
    for (size_t i = 0; i < n; i++) put_number(m, 0, WORD);
    return h;
}

static void put_old(const maker *m, const old_schema *o, const head *h, size_t n) {
    size_t field;
    align(m, WIDE);
    size_t shift = position(m);
    pdl_buf_put(m->out, o->buffer);
    align(m, WIDE);
    if (o->metadata) set_distance(m, h->schema.at[SCHEMA_METADATA], shift + o->metadata);
    if (o->features) set_distance(m, h->schema.at[SCHEMA_FEATURES], shift + o->features);
    for (size_t i = 0; i < n; i++)
        if (follow(o->buffer, o->fields + WORD * (i + 1), &field))
            set_distance(m, h->vector + WORD * i, shift + field);
}

bool pdl_batch_arrow_extend(pdl_str message, const pdl_str *names, size_t n_names,
                            const arrow_field *more, size_t n_more, pdl_buf *out) {
    /* a distance in the format has 32 bits; with this limit, no distance can be too large */
    enum { MAX_BYTES = 1 << 28 };
    old_schema o = {.buffer = {0}};
    size_t field, length = out->len + WORD;
    if (message.n > MAX_BYTES || !read_old(message, &o) || !has_names(&o, names, n_names))
        return false;
    maker prefix = {out, out->len}, m = {out, out->len + 2 * WORD};
    put_number(&prefix, continuation, WORD);
    put_number(&prefix, 0, WORD);
    head h = put_head(&m, &o, n_names + n_more);
    put_old(&m, &o, &h, n_names);
    for (size_t i = 0; i < n_more; i++) {
        if (!put_field(&m, more[i].name, more[i].type, 0, &field)) return false;
        set_distance(&m, h.vector + WORD * (n_names + i), field);
    }
    align(&m, WIDE);
    uint32_t n = (uint32_t)position(&m);
    for (size_t i = 0; i < WORD; i++) out->p[length + i] = (char)(n >> 8 * i & 0xff);
    return true;
}
