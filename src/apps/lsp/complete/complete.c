/* complete.c -- completion of keys and values by their place in the file.
 *
 * While a user types, the text is rarely a valid program. So the text is read once more with a
 * marker in place of the word at the cursor: depending on the line, it is the key of a mapping or a
 * value. The place of the marker in the tree decides what may be written there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/complete/complete.h"

#include "io/file.h"
#include "lang/exceptions.h"
#include "lang/fields.h"
#include "lsp/features.h"
#include "model/catalog.h"

#include "base/banned.h"

#define MARKER "pdl__cursor__"

static const struct {
    pdl_block_kind kind;
    const char *label, *text, *doc;
} snippets[] = {
#define S(kind, label, text, doc) {PDL_BLOCK_##kind, label, text, doc},
#include "lsp/complete/snippets.def"
};
enum { N_SNIPPETS = sizeof snippets / sizeof *snippets };

/* --- proposals -------------------------------------------------------------------------------- */

void pdl_lsp_item_add(lsp_completer *c, const lsp_item *item) {
    lsp_range range = pdl_lsp_text_range(&c->d->text, c->from, c->off);
    pdl_str insert = item->insert.n ? item->insert : item->label;
    if (item->is_snippet && !c->s->has_snippets) return;
    pdl_val d = pdl_dict_putz(pdl_dict_new(8), "label", pdl_text(item->label));
    d = pdl_dict_putz(d, "kind", pdl_int(item->kind));
    if (item->detail.n) d = pdl_dict_putz(d, "detail", pdl_text(item->detail));
    d = pdl_dict_putz(d, "sortText", pdl_textf("%c%.*s", item->order, PDL_FMT(item->label)));
    d = pdl_dict_putz(d, "filterText", pdl_text(item->label));
    if (item->is_snippet) d = pdl_dict_putz(d, "insertTextFormat", pdl_int(2));
    d = pdl_dict_putz(d, "textEdit", pdl_lsp_put_edit(c->d, range, insert));
    if (item->table) {
        pdl_val data = pdl_dict_putz(pdl_dict_new(2), "table", pdl_textz(item->table));
        d = pdl_dict_putz(d, "data", pdl_dict_putz(data, "row", pdl_int(item->row)));
    }
    c->items = pdl_list_push(c->items, d);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Appends the text that follows a new key, so that its value begins on the same line or on the
 * next. */
static void put_key(const pdl_field *f, pdl_buf *out) {
    static const char *const texts[] = {
        [PDL_OPENS_LINE] = " ",
        [PDL_OPENS_LIST] = "\n- ",
        [PDL_OPENS_MAP] = "\n  ",
        [PDL_OPENS_FLOW] = " []",
    };
    pdl_buf_putf(out, "%s:%s", f->key, texts[pdl_field_forms[f->type].opens]);
}

/* Indents the lines after the first line as deep as the key. */
static void indent(const lsp_completer *c, pdl_str text, pdl_buf *out) {
    uint32_t line = pdl_lsp_text_line(&c->d->text, c->from);
    size_t column = c->from - pdl_lsp_text_line_start(&c->d->text, line);
    for (size_t i = 0; i < text.n; i++) {
        pdl_buf_putc(out, text.p[i]);
        for (size_t k = 0; text.p[i] == '\n' && k < column; k++) pdl_buf_putc(out, ' ');
    }
}

static void add_field(lsp_completer *c, const pdl_field *f, char order) {
    pdl_buf raw = PDL_BUF, text = PDL_BUF;
    size_t n;
    const pdl_field *base = f->kind < 0 ? pdl_common_fields(&n) : pdl_fields(&n);
    put_key(f, &raw);
    indent(c, pdl_buf_str(&raw), &text);
    pdl_lsp_item_add(
        c, &(lsp_item){.label = pdl_str_of(f->key),
                       .insert = pdl_buf_str(&text),
                       .detail = f->need == PDL_NEED_REQ ? PDL_STR("required") : (pdl_str){0},
                       .kind = ITEM_PROPERTY,
                       .order = order,
                       .table = f->kind < 0 ? "common" : "field",
                       .row = (int)(f - base)});
    pdl_buf_fini(&raw);
    pdl_buf_fini(&text);
}

static bool has_key(const pdl_node *map, const char *key) {
    return map->kind == PDL_NODE_MAP && pdl_node_find(map, pdl_str_of(key), NULL);
}

static void add_snippets(lsp_completer *c) {
    for (size_t i = 0; i < N_SNIPPETS; i++) {
        pdl_buf text = PDL_BUF, label = PDL_BUF;
        indent(c, pdl_str_of(snippets[i].text), &text);
        pdl_buf_putf(&label, "%s ...", snippets[i].label);
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_buf_str(&label),
                                        .insert = pdl_buf_str(&text),
                                        .detail = pdl_str_of(snippets[i].doc),
                                        .kind = ITEM_SNIPPET,
                                        .order = '4',
                                        .is_snippet = true,
                                        .table = "snippet",
                                        .row = (int)i});
        pdl_buf_fini(&text);
        pdl_buf_fini(&label);
    }
}

/* Returns true when another key of the mapping excludes the field. For example, `code` excludes
 * `args`. */
static bool is_excluded(const pdl_node *map, const pdl_field *f) {
    size_t n;
    const pdl_form *forms = pdl_forms(&n);
    bool has_forms = false;
    for (size_t i = 0; f->kind >= 0 && i < n; i++) {
        if (forms[i].kind != (pdl_block_kind)f->kind) continue;
        has_forms = true;
        bool fits = !pdl_form_lists(forms[i].without, f->key);
        for (uint32_t k = 0; fits && k < map->n; k++)
            if (pdl_node_is_str(map->pairs[k].key) && map->pairs[k].key->text.n < 64) {
                char *key = pdl_str_dup(map->pairs[k].key->text);
                fits = !pdl_form_lists(forms[i].without, key);
                pdl_free(key);
            }
        if (fits) return false;
    }
    return has_forms;
}

static bool is_offered(const lsp_spot *p, const pdl_field *f) {
    return f->key[0] && f->need != PDL_NEED_OLD && !has_key(p->node, f->key);
}

/* Adds the keys of a block whose kind is known. */
static void add_kind_keys(lsp_completer *c, const lsp_spot *p) {
    size_t n;
    const pdl_field *f = pdl_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (f[i].kind == (int)p->kind && is_offered(p, &f[i]) && !is_excluded(p->node, &f[i]))
            add_field(c, &f[i], f[i].need == PDL_NEED_REQ ? '0' : '1');
}

/* Returns true when the key is a field of blocks of this kind. A negative kind means any kind. */
static bool is_field(pdl_str key, int kind) {
    size_t n;
    const pdl_field *f = pdl_fields(&n);
    for (size_t i = 0; i < n; i++)
        if ((kind < 0 || f[i].kind == kind) && pdl_str_is(key, f[i].key)) return true;
    return false;
}

/* Returns how many keys of the mapping are fields of a certain kind of block, and not of all
 * blocks. Sets *fits to true when blocks of the given kind have all of these fields. */
static size_t count_fields(const pdl_node *map, int kind, bool *fits) {
    size_t count = 0;
    *fits = true;
    for (uint32_t i = 0; map->kind == PDL_NODE_MAP && i < map->n; i++) {
        const pdl_node *key = map->pairs[i].key;
        if (!pdl_node_is_str(key) || !is_field(key->text, -1)) continue;
        *fits = *fits && is_field(key->text, kind);
        count++;
    }
    return count;
}

/* Returns true when the key decides on the kind of a block. */
static bool is_selecting(const pdl_field *f) {
    size_t n;
    const pdl_select_row *rows = pdl_selecting_keys(&n);
    for (size_t i = 0; i < n; i++)
        if ((int)rows[i].kind == f->kind && strcmp(rows[i].key, f->key) == 0) return true;
    return false;
}

/* Adds the keys of a block whose kind is not decided. When the block already has some of these
 * fields, only the kinds that have all of them are considered, with all their fields. Otherwise
 * each kind adds the key that decides on it, and the fields that the table has before that key,
 * such as `for` and `lang`. */
static void add_first_keys(lsp_completer *c, const lsp_spot *p) {
    size_t n;
    const pdl_field *f = pdl_fields(&n);
    PDL_VEC(const pdl_field *) offered = {0};
    size_t count = 0;
    bool decided = false, fits = true;
    for (size_t i = 0; i < n; i++) { /* the rows of a kind follow each other */
        if (!i || f[i].kind != f[i - 1].kind) {
            decided = false;
            count = count_fields(p->node, f[i].kind, &fits);
        }
        bool selects = is_selecting(&f[i]), again = false, begins = selects || !decided;
        decided = decided || selects;
        if (f[i].kind == PDL_BLOCK_error || !fits || !(count || begins) || !is_offered(p, &f[i]))
            continue;
        for (size_t k = 0; k < offered.n; k++)
            again = again || strcmp(offered.p[k]->key, f[i].key) == 0;
        if (again) continue;
        *pdl_vec_push(&offered) = &f[i];
        add_field(c, &f[i], f[i].need == PDL_NEED_REQ ? '1' : '3');
    }
    pdl_vec_fini(&offered);
}

/* Adds the keys that a block may have. */
static void add_block_keys(lsp_completer *c, const lsp_spot *p) {
    size_t n;
    bool fresh = !p->has_kind, fits;
    if (fresh)
        add_first_keys(c, p);
    else
        add_kind_keys(c, p);
    const pdl_field *f = pdl_common_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (!has_key(p->node, f[i].key) &&
            pdl_field_allowed(fresh ? PDL_BLOCK_empty : p->kind, &f[i]))
            add_field(c, &f[i], '2');
    if (fresh && !count_fields(p->node, -1, &fits)) add_snippets(c);
}

static void add_words(lsp_completer *c, const lsp_spot *p, bool keys) {
    size_t n;
    const pdl_word *w = pdl_words_of(p->group, &n);
    for (size_t i = 0; i < n; i++) {
        pdl_buf text = PDL_BUF;
        if (keys && has_key(p->node, w[i].word)) continue;
        pdl_buf_putf(&text, "%s%s", w[i].word, keys ? ": " : "");
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_str_of(w[i].word),
                                        .insert = pdl_buf_str(&text),
                                        .detail = pdl_str_of(w[i].doc),
                                        .kind = keys ? ITEM_PROPERTY : ITEM_ENUM_MEMBER,
                                        .order = '1'});
        pdl_buf_fini(&text);
    }
}

static void add_group(lsp_completer *c, const lsp_spot *p, pdl_word_group group, bool keys) {
    lsp_spot other = *p;
    other.group = group;
    add_words(c, &other, keys);
}

static void add_record(lsp_completer *c, const lsp_spot *p) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(p->record, &n);
    for (size_t i = 0; i < n; i++) {
        pdl_buf text = PDL_BUF;
        if (has_key(p->node, parts[i].key)) continue;
        pdl_buf_putf(&text, "%s: ", parts[i].key);
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_str_of(parts[i].key),
                                        .insert = pdl_buf_str(&text),
                                        .detail = pdl_str_of(parts[i].doc),
                                        .kind = ITEM_PROPERTY,
                                        .order = '1'});
        pdl_buf_fini(&text);
    }
}

static void add_parameters(lsp_completer *c, const lsp_spot *p) {
    size_t n;
    const pdl_model_param *rows = pdl_model_params(&n);
    for (size_t i = 0; i < n; i++) {
        pdl_buf text = PDL_BUF;
        if (has_key(p->node, rows[i].name)) continue;
        pdl_buf_putf(&text, "%s: ", rows[i].name);
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_str_of(rows[i].name),
                                        .insert = pdl_buf_str(&text),
                                        .detail = pdl_str_of(rows[i].doc),
                                        .kind = ITEM_PROPERTY,
                                        .order = '1'});
        pdl_buf_fini(&text);
    }
}

/* Adds the parameters of the function as arguments of the call. */
static void add_args(lsp_completer *c, const lsp_spot *p) {
    lsp_thing t;
    if (!pdl_lsp_complete_function(c, p->up->node, &t)) return;
    const lsp_index *in = pdl_lsp_doc_index(c->s, t.doc);
    const lsp_region *body = &in->regions.p[pdl_lsp_thing_sym(c->s, &t)->body];
    for (uint32_t i = 0; i < body->n_params; i++) {
        const lsp_sym *sym = &in->syms.p[body->param + i];
        pdl_buf text = PDL_BUF;
        if (p->node->kind == PDL_NODE_MAP && pdl_node_find(p->node, sym->name, NULL)) continue;
        pdl_buf_putf(&text, "%.*s: ", PDL_FMT(sym->name));
        pdl_lsp_item_add(c, &(lsp_item){.label = sym->name,
                                        .insert = pdl_buf_str(&text),
                                        .detail = sym->type,
                                        .kind = ITEM_FIELD,
                                        .order = '0'});
        pdl_buf_fini(&text);
    }
}

/* Completes the key at the marker. p is the mapping of the key. The function is a flat switch. */
static void complete_key(lsp_completer *c, const lsp_spot *p) {
    switch (p->role) {
    case ROLE_BLOCK: add_block_keys(c, p); return;
    case ROLE_BLOCKS:
    case ROLE_NAMED_BLOCKS: add_block_keys(c, p); return;
    case ROLE_WORDS: add_words(c, p, true); return;
    case ROLE_WORD: add_words(c, p, false); return;
    case ROLE_RECORD: add_record(c, p); return;
    case ROLE_PATTERN:
        add_group(c, p, PDL_WORDS_PATTERN, true);
        if (p->node->n == 1) pdl_lsp_complete_choice(c, p); /* the word may yet become a value */
        return;
    case ROLE_TYPE:
        add_group(c, p, PDL_WORDS_TYPE, false);
        add_group(c, p, PDL_WORDS_TYPE_KEY, true);
        return;
    case ROLE_PARAMETERS: add_parameters(c, p); return;
    case ROLE_ARGS: add_args(c, p); return;
    case ROLE_NONE:
    case ROLE_DEFS:
    case ROLE_DATA:
    case ROLE_RAW:
    case ROLE_TEXT:
    case ROLE_NAME:
    case ROLE_FILE:
    case ROLE_GET:
    case ROLE_MODEL:
    case ROLE_CALLEE:
    case ROLE_CODE:
    case ROLE_TYPE_FIELDS:
    case ROLE_PARAMS:
    case ROLE_FORS:
    case ROLE_CASES:
    case ROLE_PATTERNS:
    case ROLE_PATTERN_FIELDS: return;
    }
}

/* --- values ----------------------------------------------------------------------------------- */

static void add_models(lsp_completer *c) {
    for (size_t i = 0; pdl_model_prefix(i); i++) {
        pdl_buf text = PDL_BUF;
        pdl_buf_putf(&text, "%s/", pdl_model_prefix(i));
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_buf_str(&text),
                                        .kind = ITEM_VALUE,
                                        .order = '2',
                                        .table = "provider",
                                        .row = (int)i});
        pdl_buf_fini(&text);
    }
    /* models that programs of the workspace use come first */
    for (size_t i = 0; i < c->s->docs.n; i++) {
        const lsp_index *x = c->s->docs.p[i]->index;
        for (size_t k = 0; x && k < x->models.n; k++) {
            pdl_str name = x->models.p[k].name;
            bool again = !name.n || pdl_byte_in('$', name);
            for (size_t j = 0; !again && j < k; j++) again = pdl_str_eq(x->models.p[j].name, name);
            if (!again)
                pdl_lsp_item_add(c, &(lsp_item){.label = name, .kind = ITEM_VALUE, .order = '1'});
        }
    }
}

typedef struct file_list {
    lsp_completer *c;
    pdl_str folder; /* the folder as the user has written it, with its slash */
    bool import;
} file_list;

static void on_file(void *user, const char *entry, pdl_file_kind kind) {
    const file_list *l = user;
    pdl_str name = pdl_str_of(entry), suffix = PDL_STR(".pdl");
    pdl_buf text = PDL_BUF;
    bool program = kind == PDL_FILE_REGULAR && pdl_str_ends(name, suffix);
    if (program && l->import) name.n -= suffix.n;
    pdl_buf_putf(&text, "%.*s%.*s%s", PDL_FMT(l->folder), PDL_FMT(name),
                 kind == PDL_FILE_DIR ? "/" : "");
    if (entry[0] != '.' && (program || kind == PDL_FILE_DIR))
        pdl_lsp_item_add(l->c, &(lsp_item){.label = pdl_buf_str(&text),
                                           .kind = program ? ITEM_FILE : ITEM_FOLDER,
                                           .order = program ? '1' : '2'});
    pdl_buf_fini(&text);
}

static void list_files(lsp_completer *c, pdl_str base, pdl_str folder, bool import) {
    file_list l = {c, folder, import};
    pdl_buf path = PDL_BUF;
    bool absolute = pdl_str_starts(folder, PDL_STR("/"));
    pdl_buf_putf(&path, "%.*s%s%.*s", PDL_FMT(absolute ? (pdl_str){0} : base), absolute ? "" : "/",
                 PDL_FMT(folder));
    pdl_file_each(pdl_buf_z(&path), on_file, &l);
    pdl_buf_fini(&path);
}

/* Adds the programs beside the file and, for imports, the modules of the library. */
static void add_files(lsp_completer *c, const lsp_spot *p) {
    bool import = p->field && strcmp(p->field->key, "import") == 0;
    pdl_str typed = pdl_str_sub(pdl_lsp_text_str(&c->d->text), c->from, c->off);
    size_t slash = pdl_str_rfind(typed, PDL_STR("/"));
    pdl_str folder = pdl_str_sub(typed, 0, slash == PDL_NOT_FOUND ? 0 : slash + 1);
    if (c->d->is_file) list_files(c, pdl_file_folder(pdl_str_of(c->d->key)), folder, import);
    size_t n;
    const pdl_str *path = pdl_lsp_path(c->s, c->d, &n);
    for (size_t i = 0; import && i < n; i++) list_files(c, path[i], folder, import);
}

/* Adds the functions in scope, as expressions. */
static void add_callees(lsp_completer *c) {
    if (!pdl_lsp_doc_load(c->s, c->d)) return;
    const lsp_index *x = c->d->index;
    for (size_t i = 0; i < x->syms.n; i++) {
        pdl_buf text = PDL_BUF;
        const lsp_sym *sym = &x->syms.p[i];
        if (sym->kind != SYM_FUNCTION) continue;
        PDL_PUT(&text, "${ ");
        pdl_lsp_put_path(x, sym, &text);
        PDL_PUT(&text, " }");
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_str_sub(pdl_buf_str(&text), 3, text.len - 2),
                                        .insert = pdl_buf_str(&text),
                                        .detail = sym->type,
                                        .kind = ITEM_FUNCTION,
                                        .order = '1'});
        pdl_buf_fini(&text);
    }
}

/* Adds the aggregators that the file defines, in addition to the fixed targets. */
static void add_aggregators(lsp_completer *c) {
    if (!pdl_lsp_doc_load(c->s, c->d)) return;
    const lsp_index *x = c->d->index;
    for (size_t i = 0; i < x->syms.n; i++)
        if (pdl_str_is(x->syms.p[i].type, "aggregator"))
            pdl_lsp_item_add(c, &(lsp_item){.label = x->syms.p[i].name,
                                            .detail = PDL_STR("aggregator"),
                                            .kind = ITEM_VARIABLE,
                                            .order = '2'});
}

/* Returns true when p is an error that `retry` names, alone or in a list. */
static bool is_exception(const lsp_spot *p) {
    const lsp_spot *part = p->key ? p : p->up;
    return part && part->key && pdl_str_is(part->key->text, "exceptions") && part->up &&
           part->up->role == ROLE_RECORD && part->up->record == PDL_RECORD_retry;
}

static void add_exceptions(lsp_completer *c) {
    const char *name;
    for (size_t i = 0; (name = pdl_exception_at(i)); i++)
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_str_of(name),
                                        .kind = ITEM_ENUM_MEMBER,
                                        .order = name[0] >= 'a' ? '1' : '2'});
}

/* Completes the value at the marker, which is p. The function is a flat switch. */
static void complete_value(lsp_completer *c, const lsp_spot *p) {
    switch (p->role) {
    case ROLE_WORD:
        add_words(c, p, false);
        if (p->group == PDL_WORDS_TARGET) add_aggregators(c);
        return;
    case ROLE_TYPE: add_group(c, p, PDL_WORDS_TYPE, false); return;
    case ROLE_MODEL: add_models(c); return;
    case ROLE_FILE: add_files(c, p); return;
    case ROLE_CALLEE: add_callees(c); return;
    case ROLE_GET:
        pdl_lsp_complete_expr(c, pdl_str_sub(pdl_lsp_text_str(&c->d->text), c->from, c->off));
        return;
    case ROLE_PATTERN: pdl_lsp_complete_choice(c, p); return;
    case ROLE_DATA:
        pdl_lsp_complete_choice(c, p);
        if (is_exception(p)) add_exceptions(c);
        if (p->field && (p->field->type == PDL_FT_XBOOL)) add_group(c, p, PDL_WORDS_FLAG, false);
        return;
    case ROLE_NONE:
    case ROLE_BLOCK:
    case ROLE_BLOCKS:
    case ROLE_NAMED_BLOCKS:
    case ROLE_DEFS:
    case ROLE_RAW:
    case ROLE_TEXT:
    case ROLE_NAME:
    case ROLE_PARAMETERS:
    case ROLE_ARGS:
    case ROLE_CODE:
    case ROLE_TYPE_FIELDS:
    case ROLE_PARAMS:
    case ROLE_FORS:
    case ROLE_WORDS:
    case ROLE_RECORD:
    case ROLE_CASES:
    case ROLE_PATTERNS:
    case ROLE_PATTERN_FIELDS: return;
    }
}

/* --- the place of the cursor ------------------------------------------------------------------ */

/* Returns the offset at which the value or key at the cursor begins. *is_value: a key precedes it
 * on the line. */
static size_t token_start(pdl_str line, size_t col, bool *is_value) {
    size_t at = 0;
    *is_value = false;
    for (size_t i = 0; i < col; i++) {
        char ch = line.p[i];
        bool blank_next = i + 1 >= line.n || line.p[i + 1] == ' ';
        if (ch == ' ' && at == i) at = i + 1;
        if (ch == '-' && at == i && blank_next) at = i + 1;
        if (ch == ':' && blank_next && i > at) {
            at = i + 1;
            *is_value = true;
        } else if (ch == '{' || ch == ',') {
            at = i + 1;
            *is_value = false;
        } else if (ch == '[') {
            at = i + 1;
            *is_value = true;
        } else if ((ch == '"' || ch == '\'') && at == i) {
            at = i + 1;
        }
    }
    return at;
}

/* Appends the text with the marker in place of [from, to). */
static void mark(pdl_str text, size_t from, size_t to, bool is_value, pdl_buf *out) {
    pdl_buf_put(out, pdl_str_sub(text, 0, from));
    PDL_PUT(out, MARKER);
    if (!is_value) PDL_PUT(out, ": ");
    pdl_buf_put(out, pdl_str_sub(text, to, text.n));
}

/* Returns the end of the text that the marker replaces: a word, and the colon after it when it is a
 * key. Names of files and models contain more than letters. */
static size_t token_end(pdl_str text, size_t off, bool is_value) {
    const pdl_str in_values = PDL_STR("/.-:@+");
    size_t to = off;
    while (to < text.n && (pdl_lsp_is_word(text.p[to]) ||
                           (is_value && text.p[to] != '\0' && pdl_byte_in(text.p[to], in_values))))
        to++;
    if (!is_value && to < text.n && text.p[to] == ':') to++;
    return to;
}

static void complete_place(lsp_completer *c, bool is_value) {
    pdl_str text = pdl_lsp_text_str(&c->d->text);
    pdl_buf marked = PDL_BUF;
    lsp_way way;
    mark(text, c->from, token_end(text, c->off, is_value), is_value, &marked);
    lsp_tree t = pdl_lsp_tree_read(c->scratch, PDL_STR(""), pdl_buf_str(&marked));
    pdl_buf_fini(&marked);
    if (!t.root) return;
    pdl_lsp_way_to(t.root, (uint32_t)c->from + 1, &way);
    const lsp_spot *p = pdl_lsp_way_end(&way);
    if (!way.complete) return;
    if (way.on_key && p->up && pdl_str_is(p->key->text, MARKER))
        complete_key(c, p->up);
    else if (p->node->kind == PDL_NODE_SCALAR && pdl_str_is(p->node->text, MARKER))
        complete_value(c, p);
}

/* Returns true when the word `jinja` is near the cursor. In a code block with `lang: jinja`,
 * expressions have other delimiters. */
static bool near_jinja(pdl_str text, size_t off) {
    pdl_str around = pdl_str_sub(text, off > 4096 ? off - 4096 : 0, off + 512);
    return pdl_str_find(around, PDL_STR("jinja"), 0) != PDL_NOT_FOUND;
}

static void complete(lsp_completer *c) {
    pdl_str text = pdl_lsp_text_str(&c->d->text);
    uint32_t line = pdl_lsp_text_line(&c->d->text, c->off);
    size_t start = pdl_lsp_text_line_start(&c->d->text, line);
    size_t open = pdl_lsp_expr_start(text, start, c->off, near_jinja(text, c->off));
    bool is_value;
    if (open != PDL_NOT_FOUND) {
        c->from = c->off;
        while (c->from > open && pdl_lsp_is_word(text.p[c->from - 1])) c->from--;
        if (!pdl_lsp_doc_load(c->s, c->d)) return;
        if (text.p[open - 1] == '%')
            pdl_lsp_complete_statement(c, pdl_str_sub(text, open, c->off));
        else
            pdl_lsp_complete_expr(c, pdl_str_sub(text, open, c->off));
        return;
    }
    c->from = start + token_start(pdl_str_sub(text, start, c->off), c->off - start, &is_value);
    if (c->from > c->off) c->from = c->off;
    complete_place(c, is_value);
}

pdl_val pdl_lsp_on_completion(pdl_lsp *s, pdl_vref params) {
    pdl_str uri = pdl_member_str(pdl_member(params, "textDocument"), "uri");
    lsp_doc *d = pdl_lsp_doc_of_uri(s, uri);
    if (!d || !d->open) return pdl_lsp_not_open(s, uri);
    lsp_completer c = {.s = s, .d = d, .items = pdl_list_new(64), .scratch = pdl_arena_make()};
    c.off = pdl_lsp_text_offset(&d->text, pdl_lsp_get_pos(pdl_member(params, "position")));
    complete(&c);
    pdl_arena_free(c.scratch);
    pdl_val result = pdl_dict_putz(pdl_dict_new(2), "isIncomplete", pdl_bool(false));
    return pdl_dict_putz(result, "items", c.items);
}

pdl_val pdl_lsp_on_resolve_completion(pdl_lsp *s, pdl_vref params) {
    pdl_vref data = pdl_member(params, "data");
    pdl_buf b = PDL_BUF;
    int row = (int)pdl_member_int(data, "row", -1);
    if (!pdl_is_dict(params)) return pdl_lsp_fail(s, LSP_INVALID_PARAMS, "an item is needed");
    pdl_str table = pdl_member_str(data, "table");
    if (pdl_str_is(table, "snippet") && row >= 0 && row < N_SNIPPETS)
        pdl_buf_putf(&b, "%s\n\n```yaml\n%s\n```", snippets[row].doc, snippets[row].text);
    else
        pdl_lsp_document_item(s, table, row, pdl_member_str(params, "label"), &b);
    pdl_val d = pdl_keep(params);
    if (b.len) d = pdl_dict_putz(d, "documentation", pdl_lsp_put_markdown(s, pdl_buf_str(&b)));
    pdl_buf_fini(&b);
    return d;
}
