/* reading.c -- makes the document of a run in one walk through its boxes, in the order in which
 * they ran; see reading.h.
 *
 * Two facts about a box decide what the walk does. When a box prints, its innermost boxes become
 * pieces. Everything that happens between printed texts is put aside until the line is complete,
 * because nothing may come between the pieces of one line. When a box is part of a work instead,
 * its models, tools and loops become items; the blocks around them do not, because they mean
 * nothing to a reader.
 *
 * A definition that called a model or another program is a work. A work waits until a piece uses
 * its name, and is shown below that piece. The walk uses a stack on the heap, since a trace may be
 * as deep as it is long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/reading.h"

#include <assert.h>

#include "value/member.h"
#include "viewer/box_json.h"
#include "viewer/reading/failed_attempts.h"
#include "viewer/reading/policy_answers.h"
#include "viewer/reading/printing.h"
#include "viewer/reading/uses.h"

#include "base/banned.h"

/* An aside is an item that is shown beside the text, after the line is complete. */
typedef struct aside {
    pdl_shape shape;
    uint32_t box;
    pdl_str name;
    bool begun; /* the item is due, or was shown already */
    bool unused;
} aside;

/* A box that the walk has entered and not left. */
typedef struct reading_frame {
    uint32_t box, next; /* next: number of children that were visited */
    uint32_t parts;     /* number of children that have printed, or that are rounds or rows */
    /* number of turns that came before the rounds of this loop, from earlier loops of
     * the same work */
    uint32_t before;
    bool one; /* only the box itself is visited, and not its children */
    /* parts that print become pieces; when this is not set, the box belongs to a work */
    bool prints;
    bool falls_back; /* only the fallback prints, and none of the parts does */
    bool rounds;     /* the parts of the box become items */
    bool has_item;   /* an item ends together with the box */
    bool is_tool;    /* the box is the frame of a tool */
    bool plain;      /* the box belongs to a work that called nothing outside */
} reading_frame;

typedef struct reading_walk {
    pdl_reading *r;
    const pdl_doc *doc;
    PDL_VEC(reading_frame) stack;
    PDL_VEC(uint32_t) open; /* items that have not ended */
    PDL_VEC(aside) asides;
    /* numbers of the asides, in the order of the document; asides before n_shown were shown */
    PDL_VEC(uint32_t) due;
    size_t n_shown;
    PDL_VEC(pdl_item) setup; /* definitions; they come first in the document */
    /* names in `setup`; a definition that is repeated in every round becomes only one item */
    pdl_map defined;
    uint32_t n_pieces, last_piece; /* number of pieces so far; the item of the last piece */
    uint32_t n_tools;              /* number of tools whose items have not ended */
    bool typed;   /* a person has pressed Enter since the last piece, which ended its line */
    bool stopped; /* a block that prints has failed, so the run printed nothing more */
    pdl_uses uses;
    bool needs; /* works that are used while this is set are needed by the item `needing` */
    uint32_t needing;
    /* 1 + the box that is visited again to print its text, or the rest of its text; 0 when there is
     * none */
    uint32_t again;
    size_t printed; /* how many bytes of that box's text were printed before */
} walk;

static const pdl_box *box_at(const walk *w, uint32_t i) { return &w->doc->boxes.p[i]; }
static const pdl_digest *digest_of(const walk *w, uint32_t i) { return &w->r->digests[i]; }

/* --- items ------------------------------------------------------------------------------------ */

static pdl_item *add_item(walk *w, pdl_shape shape, uint32_t box) {
    pdl_reading *r = w->r;
    uint32_t number = (uint32_t)r->items.n;
    pdl_item *x = pdl_vec_push(&r->items);
    *x = (pdl_item){
        .shape = shape,
        .box = box,
        .call_box = box,
        .parent = w->open.n ? w->open.p[w->open.n - 1] : number,
        .depth = (uint32_t)w->open.n,
        .end = number + 1,
        .from = r->text.len,
        .to = r->text.len,
    };
    return x;
}

static void open_item(walk *w) { *pdl_vec_push(&w->open) = (uint32_t)(w->r->items.n - 1); }

static void close_item(walk *w) {
    uint32_t i = w->open.p[--w->open.n];
    w->r->items.p[i].end = (uint32_t)w->r->items.n;
}

static reading_frame *push(walk *w, uint32_t box, bool prints) {
    bool plain = w->stack.n && w->stack.p[w->stack.n - 1].plain;
    reading_frame *f = pdl_vec_push(&w->stack);
    *f = (reading_frame){.box = box, .prints = prints, .plain = plain};
    return f;
}

/* Walks through a box. Its items are inside the newest item. */
static void push_inside(walk *w, uint32_t box, bool one, bool prints) {
    open_item(w);
    reading_frame *f = push(w, box, prints);
    f->one = one;
    f->has_item = true;
}

/* --- what comes beside the text --------------------------------------------------------------- */

static uint32_t put_aside(walk *w, pdl_shape shape, uint32_t box, pdl_str name) {
    *pdl_vec_push(&w->asides) = (aside){.shape = shape, .box = box, .name = name};
    return (uint32_t)(w->asides.n - 1);
}

static void make_due(walk *w, uint32_t i) {
    if (w->asides.p[i].begun) return;
    w->asides.p[i].begun = true;
    *pdl_vec_push(&w->due) = i;
}

static void put_due(walk *w, pdl_shape shape, uint32_t box) {
    w->typed = w->typed || shape == PDL_SHAPE_typed;
    make_due(w, put_aside(w, shape, box, pdl_box_variable(box_at(w, box))));
}

static void on_use(void *user, uint32_t i) {
    walk *w = user;
    if (w->needs) pdl_provenance_need(&w->r->origins, w->needing, w->asides.p[i].box);
    make_due(w, i);
}

static void use(walk *w, uint32_t box) {
    pdl_uses_find(&w->uses, box_at(w, box)->block, on_use, w);
}

/* Keeps a work until its name is used. A work that failed explains why the text ends, so it is due
 * at once. */
static void keep_work(walk *w, uint32_t box) {
    pdl_str name = pdl_box_variable(box_at(w, box));
    uint32_t i = put_aside(w, PDL_SHAPE_work, box, name);
    if (name.n) pdl_uses_define(&w->uses, name, i);
    if (digest_of(w, box)->failed) make_due(w, i);
}

static void keep_setup(walk *w, uint32_t box) {
    pdl_str name = pdl_box_variable(box_at(w, box));
    if (!name.n) return;
    pdl_uses_follow(&w->uses, name, box_at(w, box)->block);
    if (pdl_map_find(&w->defined, name)) return;
    pdl_map_put(&w->defined, name, w);
    *pdl_vec_push(&w->setup) = (pdl_item){.shape = PDL_SHAPE_setup, .box = box, .name = name};
}

/* Returns true when the box called nothing outside and has a long loop or map, whose iterations are
 * worth showing. */
static bool is_plain_work(const walk *w, uint32_t box) {
    const pdl_digest *g = digest_of(w, box);
    return g->loops && !g->asked && !g->failed;
}

/* Keeps a definition until a piece uses its name. Most definitions are only listed. */
static void keep_definition(walk *w, uint32_t box) {
    if (is_plain_work(w, box))
        keep_work(w, box);
    else
        keep_setup(w, box);
}

/* Shows the output that the box wrote while the run continued, and the actions of the boxes inside
 * it. */
static void put_shown(walk *w, uint32_t box, bool with_parts) {
    PDL_VEC(uint32_t) rest = {0};
    if (!digest_of(w, box)->shown) return;
    *pdl_vec_push(&rest) = box;
    while (rest.n) {
        uint32_t i = rest.p[--rest.n];
        const pdl_box *b = box_at(w, i);
        if (pdl_is_str(pdl_box_get(b, "pdl__shown"))) put_due(w, PDL_SHAPE_shown, i);
        for (uint32_t k = with_parts ? b->n_children : 0; k-- > 0;)
            if (digest_of(w, b->first + k)->shown) *pdl_vec_push(&rest) = b->first + k;
    }
    pdl_vec_fini(&rest);
}

static void put_approval(walk *w, uint32_t box) {
    if (pdl_box_was_approved(box_at(w, box))) put_due(w, PDL_SHAPE_approval, box);
}

/* --- pieces ----------------------------------------------------------------------------------- */

static bool is_blank(pdl_str s) { return !pdl_str_trim(s).n; }

static pdl_maker maker_of(const walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    const pdl_digest *g = digest_of(w, i);
    if (pdl_box_is_kind(b, "model")) return PDL_MADE_BY_model;
    if (pdl_box_is_kind(b, "code")) return PDL_MADE_BY_code;
    if (pdl_box_is_kind(b, "read"))
        return pdl_box_reads_file(b) ? PDL_MADE_BY_file : PDL_MADE_BY_person;
    if (pdl_box_tool(b).n) return PDL_MADE_BY_tool;
    if (pdl_box_is_kind(b, "call")) return PDL_MADE_BY_call;
    if (b->n_children && g->models) return PDL_MADE_BY_model;
    pdl_vref data = pdl_box_get(b, "data");
    if (pdl_is_dict(data)) data = pdl_dict_getz(data, "pdl__expr");
    bool is_plain =
        pdl_is_str(data) && pdl_str_find(pdl_str_get(data), PDL_STR("${"), 0) == PDL_NOT_FOUND;
    return is_plain ? PDL_MADE_BY_literal : PDL_MADE_BY_expression;
}

static void show_aside(walk *w, uint32_t i) {
    const aside a = w->asides.p[i];
    pdl_item *x = add_item(w, a.shape, a.box);
    if (a.shape == PDL_SHAPE_step) x->maker = maker_of(w, a.box);
    x->name = a.name;
    x->unused = a.unused;
    if (a.shape == PDL_SHAPE_work) {
        push_inside(w, a.box, true, false);
        w->stack.p[w->stack.n - 1].plain = is_plain_work(w, a.box);
    }
    if (a.shape == PDL_SHAPE_attempt) push_inside(w, a.box, false, false);
}

/* Adds white space that another block made to the piece before it, because a piece needs a word.
 * Returns false when the text is not only white space, or when there is no piece before it. */
static bool extend(walk *w, size_t from) {
    pdl_item *last = w->n_pieces ? &w->r->items.p[w->last_piece] : NULL;
    pdl_str text = pdl_str_sub(pdl_buf_str(&w->r->text), from, w->r->text.len);
    if (!last || last->depth != w->open.n || !is_blank(text)) return false;
    if (w->open.n && last->parent != w->open.p[w->open.n - 1]) return false;
    if (last->to == last->from) return false; /* the answer of that piece is still arriving */
    last->to = w->r->text.len;
    return true;
}

/* Adds the text from this byte on as a piece that the box made. */
static void add_piece(walk *w, uint32_t box, pdl_maker maker, size_t from) {
    if (from == w->r->text.len || extend(w, from)) return;
    pdl_str text = pdl_str_sub(pdl_buf_str(&w->r->text), from, w->r->text.len);
    if (maker == PDL_MADE_BY_expression)
        pdl_provenance_cut(&w->r->origins, (uint32_t)w->r->items.n, box_at(w, box)->block, text,
                           from);
    pdl_item *x = add_item(w, PDL_SHAPE_piece, box);
    x->maker = maker;
    x->from = from;
    w->last_piece = (uint32_t)w->r->items.n - 1;
    w->n_pieces++;
    w->typed = false;
    x->name = pdl_box_variable(box_at(w, box));
}

/* Adds the separator between two parts. after_round: the separator becomes a part of the last piece
 * of the round before it, because a loop contains only rounds. */
static void add_separator(walk *w, uint32_t box, bool after_round) {
    pdl_str sep = pdl_box_separator(box_at(w, box));
    size_t from = w->r->text.len;
    pdl_buf_put(&w->r->text, sep);
    pdl_item *last = w->r->items.n ? &w->r->items.p[w->r->items.n - 1] : NULL;
    if (after_round && last && last->shape == PDL_SHAPE_piece && last->depth > w->open.n &&
        last->to > last->from) {
        last->to = w->r->text.len;
        return;
    }
    add_piece(w, box, PDL_MADE_BY_literal, from);
}

/* --- boxes that may print --------------------------------------------------------------------- */

/* Returns how many children this member has. */
static uint32_t count_parts(const walk *w, uint32_t i, const char *member) {
    const pdl_box *b = box_at(w, i);
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->n_children; k++)
        n += pdl_step_is_in(box_at(w, b->first + k), member);
    return n;
}

static bool ends_line(pdl_str s) { return s.n && s.p[s.n - 1] == '\n'; }

/* Returns true when the loop becomes an item: it has many rounds, and each is a separate line. */
static bool is_long_loop(const walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    if (!pdl_box_is_kind(b, "repeat") || count_parts(w, i, "repeat") < PDL_LONG_LOOP) return false;
    if (w->r->text.len && !ends_line(pdl_buf_str(&w->r->text))) return false;
    if (ends_line(pdl_box_separator(b))) return true;
    for (uint32_t k = b->first; k < b->first + b->n_children; k++) {
        pdl_vref v = pdl_box_get(box_at(w, k), "pdl__result");
        if (pdl_step_is_in(box_at(w, k), "repeat") && !(pdl_is_str(v) && ends_line(pdl_str_get(v))))
            return false;
    }
    return true;
}

static void walk_parts(walk *w, uint32_t i) {
    bool is_long = is_long_loop(w, i);
    if (is_long) {
        pdl_item *x = add_item(w, PDL_SHAPE_loop, i);
        x->number = count_parts(w, i, "repeat");
        push_inside(w, i, false, true);
    } else {
        push(w, i, true);
    }
    w->stack.p[w->stack.n - 1].rounds = is_long;
}

/* Returns true for a call that only computed a value. Its result is shown, and its body is not. */
static bool is_plain_call(const walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    return pdl_box_is_kind(b, "call") && !digest_of(w, i)->asked && !digest_of(w, i)->recovered &&
           !digest_of(w, i)->shown && b->state == PDL_BOX_DONE &&
           !pdl_is_absent(pdl_box_get(b, "pdl__result"));
}

/* Notes that the block and its parts use the names in them. Parts are, for example, the input of a
 * model or the text of code. */
static void use_parts(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    use(w, i);
    for (uint32_t k = b->first; k < b->first + b->n_children; k++) use(w, k);
}

static bool at_line_start(const walk *w) {
    return !w->r->text.len || w->typed || ends_line(pdl_buf_str(&w->r->text));
}

/* Visits box i again to print its text, after the items that are due were shown. printed: how many
 * bytes of its text were printed already. */
static void visit_again(walk *w, uint32_t i, size_t printed) {
    w->again = i + 1;
    w->printed = printed;
    push(w, i, true)->one = true;
}

/* When the box showed output while its text was made, puts that output before the text. Returns
 * false when the box showed nothing, or was visited again. */
static bool shows_first(walk *w, uint32_t i) {
    if (!digest_of(w, i)->shown || w->again == i + 1) return false;
    put_shown(w, i, true);
    visit_again(w, i, 0);
    return true;
}

/* Appends the text of the box. When items wait for the end of the line, a text of the author is
 * appended only up to that end. Returns false when the rest is still to be printed. */
static bool put_result(walk *w, uint32_t i) {
    pdl_buf text = PDL_BUF;
    size_t done = w->again == i + 1 ? w->printed : 0;
    pdl_box_print(w->doc, i, &text);
    pdl_str rest = pdl_str_sub(pdl_buf_str(&text), done, text.len);
    bool waits =
        w->n_shown < w->due.n && !at_line_start(w) && maker_of(w, i) == PDL_MADE_BY_literal;
    size_t end = waits ? pdl_str_find(rest, PDL_STR("\n"), 0) : PDL_NOT_FOUND;
    bool whole = end == PDL_NOT_FOUND || is_blank(pdl_str_sub(rest, end, rest.n));
    pdl_buf_put(&w->r->text, whole ? rest : pdl_str_sub(rest, 0, end + 1));
    if (!whole) visit_again(w, i, done + end + 1);
    pdl_buf_fini(&text);
    return whole;
}

/* Prints a result. The models and tools that made the result are shown below it. */
static void print_result(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    bool leaf = pdl_box_is_kind(b, "model") || pdl_box_is_kind(b, "read") || pdl_box_is_code(b);
    size_t from = w->r->text.len;
    if (shows_first(w, i)) return;
    bool whole = put_result(w, i);
    add_piece(w, i, maker_of(w, i), from);
    if (!whole) return;
    if (pdl_box_is_kind(b, "model") && w->r->text.len == from) put_due(w, PDL_SHAPE_step, i);
    w->needs = w->r->items.n > 0 && w->r->items.p[w->r->items.n - 1].box == i;
    w->needing = (uint32_t)w->r->items.n - 1;
    use_parts(w, i);
    w->needs = false;
    if (pdl_box_variable(b).n) pdl_uses_follow(&w->uses, pdl_box_variable(b), b->block);
    uint32_t attempts = pdl_box_attempts(w->doc, i), asked = digest_of(w, i)->asked;
    for (uint32_t k = b->first; k < b->first + attempts; k++) asked -= digest_of(w, k)->asked;
    bool is_text = pdl_is_str(pdl_box_get(b, "pdl__result"));
    if (asked > leaf || (is_plain_work(w, i) && !is_text)) {
        put_due(w, PDL_SHAPE_work, i);
        return;
    }
    put_approval(w, i);
    for (uint32_t k = 0; k < attempts; k++) put_due(w, PDL_SHAPE_attempt, b->first + k);
}

/* Returns true when a fallback has run. A block with a result may have failed, too, when its parser
 * or type refused the result. */
static bool fell_back(const walk *w, uint32_t i) {
    return box_at(w, i)->state == PDL_BOX_RECOVERED || count_parts(w, i, "fallback");
}

/* Returns true for a block that asks a person who has not answered yet. */
static bool is_question(const pdl_box *b) {
    return b->state == PDL_BOX_RUNNING && pdl_box_is_kind(b, "read") && !pdl_box_reads_file(b);
}

/* Returns true for a model call whose answer is arriving, after the blocks inside of it have
 * ended. */
static bool is_arriving(const walk *w, uint32_t i) {
    return box_at(w, i)->state == PDL_BOX_RUNNING && pdl_box_is_kind(box_at(w, i), "model") &&
           !digest_of(w, i)->failed;
}

/* Notes the maker of the value that the box gives to its variable. */
static void note_name(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    pdl_provenance_name(&w->r->origins, pdl_box_variable(b), i, (int)maker_of(w, i), b->block);
}

static void print(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    pdl_printing how = pdl_box_printing(b);
    note_name(w, i);
    if (is_question(b)) {
        add_item(w, PDL_SHAPE_question, i);
    } else if (is_arriving(w, i)) {
        add_item(w, PDL_SHAPE_piece, i)->maker = PDL_MADE_BY_model;
        w->n_pieces = 0; /* white space that comes later does not belong to an earlier piece */
    } else if (how == PDL_PRINTS_NOTHING) {
        put_shown(w, i, true);
        if (digest_of(w, i)->asked)
            keep_work(w, i);
        else
            keep_definition(w, i);
    } else if (fell_back(w, i)) {
        put_shown(w, i, false);
        put_approval(w, i);
        if (!pdl_box_attempts(w->doc, i)) put_due(w, PDL_SHAPE_failure, i);
        push(w, i, true)->falls_back = how == PDL_PRINTS_RESULT;
    } else if (is_plain_call(w, i) || (how == PDL_PRINTS_RESULT && b->state == PDL_BOX_DONE)) {
        print_result(w, i);
    } else if (how == PDL_PRINTS_RESULT && b->state == PDL_BOX_RUNNING && pdl_box_is_code(b)) {
        add_item(w, PDL_SHAPE_step, i)->maker = PDL_MADE_BY_code;
    } else if (how == PDL_PRINTS_RESULT) {
        w->stopped = w->stopped || b->state == PDL_BOX_FAILED;
        put_approval(w, i);
        push(w, i, false);
    } else {
        put_shown(w, i, false);
        put_approval(w, i);
        walk_parts(w, i);
    }
}

/* Returns true for a value that deserves a line. An empty list and white space deserve none. */
static bool says_something(const pdl_box *b) {
    pdl_vref v = pdl_box_get(b, "pdl__result");
    if (pdl_is_list(v)) return pdl_list_len(v) > 0;
    return pdl_is_str(v) ? !is_blank(pdl_str_get(v)) : !pdl_is_absent(v) && !pdl_is_null(v);
}

/* Returns true for code, or for a file that was read, when its result was shown and nothing else
 * needs the box. */
static bool is_only_shown(const walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    const pdl_digest *g = digest_of(w, i);
    return pdl_box_is_shown(b) && g->asked == 1 && !g->failed && !pdl_box_variable(b).n &&
           (pdl_box_is_code(b) || pdl_box_reads_file(b)) && !pdl_box_was_approved(b);
}

/* Handles a block whose result is not a part of the text. */
static void leave_out(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    const pdl_digest *g = digest_of(w, i);
    note_name(w, i);
    put_shown(w, i, true);
    if (pdl_box_is_shown(b) && says_something(b)) put_due(w, PDL_SHAPE_shown, i);
    if (is_only_shown(w, i) && pdl_box_adds_no_messages(b)) return;
    if (pdl_box_is_kind(b, "read") && !pdl_box_reads_file(b))
        put_due(w, is_question(b) ? PDL_SHAPE_question : PDL_SHAPE_typed, i);
    else if ((g->asked || g->failed) && !pdl_box_adds_no_messages(b) && !pdl_box_variable(b).n)
        put_due(w, PDL_SHAPE_work, i); /* models that are called later will read the result */
    else if (g->asked || g->failed)
        keep_work(w, i);
    else if (pdl_box_adds_no_messages(b))
        keep_definition(w, i);
    else if (says_something(b) && !pdl_box_is_shown(b))
        put_due(w, PDL_SHAPE_quiet, i);
}

/* Handles a child that never prints: a definition, the input of a model, or a call in an
 * expression. */
static void pass_by(walk *w, uint32_t i) {
    const pdl_digest *g = digest_of(w, i);
    bool is_definition = pdl_step_is_in(box_at(w, i), "defs");
    note_name(w, i);
    put_shown(w, i, true);
    if (!g->asked && !g->failed) {
        if (is_definition) keep_definition(w, i);
    } else if (is_definition) {
        keep_work(w, i);
    } else {
        put_due(w, PDL_SHAPE_work, i);
    }
}

static void visit_part(walk *w, reading_frame *f, uint32_t i) {
    const pdl_box *b = box_at(w, i), *up = box_at(w, f->box);
    if (pdl_box_is_attempt(b)) {
        put_due(w, PDL_SHAPE_attempt, i);
        return;
    }
    bool prints = f->falls_back ? pdl_step_is_in(b, "fallback") : pdl_child_prints(up, b);
    if (!prints) {
        pass_by(w, i);
        return;
    }
    if (w->stopped) {
        if (digest_of(w, i)->asked || digest_of(w, i)->failed) keep_work(w, i);
        return;
    }
    if (f->parts++) add_separator(w, f->box, f->rounds);
    if (pdl_box_has_no_result(b)) {
        leave_out(w, i);
    } else if (f->rounds) {
        uint32_t number = f->parts;
        pdl_item *x = add_item(w, PDL_SHAPE_turn, i);
        x->number = number;
        push_inside(w, i, true, true);
    } else {
        print(w, i);
    }
}

/* --- boxes of a work -------------------------------------------------------------------------- */

/* Removes the previous item when it is a reply that only calls this tool, because the item of the
 * tool shows the same facts. Returns the box of the model that replied, or `box` when there was no
 * such reply. */
static uint32_t take_reply(walk *w, uint32_t box, pdl_str tool) {
    pdl_reading *r = w->r;
    pdl_item *last = r->items.n ? &r->items.p[r->items.n - 1] : NULL;
    bool is_step = last && last->shape == PDL_SHAPE_step && last->maker == PDL_MADE_BY_model;
    if (!is_step || last->depth != w->open.n) return box;
    pdl_vref reply = pdl_box_get(box_at(w, last->box), "pdl__result");
    pdl_str text = pdl_is_str(reply) ? pdl_str_trim(pdl_str_get(reply)) : (pdl_str){0};
    bool is_call = pdl_str_starts(text, PDL_STR("{")) && pdl_str_ends(text, PDL_STR("}")) &&
                   pdl_str_find(text, tool, 0) != PDL_NOT_FOUND;
    if (!is_call) return box;
    r->items.n--;
    return r->items.p[r->items.n].box;
}

static void visit_tool(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    bool is_run = pdl_box_is_run(b);
    pdl_str name = is_run ? pdl_member_str(b->block, "run") : pdl_box_tool(b);
    uint32_t model = is_run ? i : take_reply(w, i, name);
    pdl_item *x = add_item(w, PDL_SHAPE_tool, i);
    x->name = name;
    x->call_box = model;
    push_inside(w, i, false, false);
    w->stack.p[w->stack.n - 1].is_tool = true;
    w->n_tools++;
}

static void visit_step(walk *w, uint32_t i, pdl_shape shape) {
    pdl_item *x = add_item(w, shape, i);
    x->maker = maker_of(w, i);
    if (digest_of(w, i)->asked > 1 || digest_of(w, i)->failed) push_inside(w, i, false, false);
}

/* Handles a loop or map whose rounds become items. Rounds that called a model become turns, unless
 * they are few and inside a tool. Each round of a long loop is an item. Returns false when the
 * rounds do not become items. */
static bool visit_loop(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    bool repeats = pdl_box_is_kind(b, "repeat"), maps = pdl_box_is_kind(b, "map");
    uint32_t n = repeats ? count_parts(w, i, "repeat") : maps ? count_parts(w, i, "map") : 0;
    bool is_long = n >= (repeats ? (uint32_t)PDL_LONG_LOOP : (uint32_t)PDL_LONG_MAP) ||
                   (maps && n && pdl_box_is_run(box_at(w, b->first)));
    bool plain = w->stack.p[w->stack.n - 1].plain;
    if (!n || (maps && !is_long) || (repeats && !digest_of(w, i)->models && !plain)) return false;
    if (!is_long && (w->n_tools || plain)) return false;
    if (is_long) {
        add_item(w, repeats ? PDL_SHAPE_loop : PDL_SHAPE_map, i)->number = n;
        push_inside(w, i, false, false);
    } else {
        push(w, i, false);
    }
    w->stack.p[w->stack.n - 1].rounds = true;
    return true;
}

static void visit_in_work(walk *w, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    const pdl_digest *g = digest_of(w, i);
    bool plain = w->stack.p[w->stack.n - 1].plain && g->loops;
    use(w, i); /* the works that the loop uses are shown after it */
    if (!g->asked && !g->failed && !plain) return;
    if (pdl_box_was_approved(b)) add_item(w, PDL_SHAPE_approval, i);
    if (pdl_box_is_kind(b, "model") || pdl_box_is_code(b) || pdl_box_reads_file(b))
        visit_step(w, i, PDL_SHAPE_step);
    else if (pdl_box_is_kind(b, "read"))
        visit_step(w, i, is_question(b) ? PDL_SHAPE_question : PDL_SHAPE_typed);
    else if (pdl_box_tool(b).n || pdl_box_is_run(b))
        visit_tool(w, i);
    else if (!visit_loop(w, i))
        push(w, i, false);
}

/* Returns the number of the last turn before the next item, in the same work; 0 when there is none.
 * When a work has several loops, its turns are numbered from 1 to the end. */
static uint32_t turns_before(const walk *w) {
    const pdl_reading *r = w->r;
    for (size_t i = r->items.n; i > 0 && r->items.p[i - 1].depth >= w->open.n; i--) {
        const pdl_item *x = &r->items.p[i - 1];
        if (x->depth == w->open.n && x->shape == PDL_SHAPE_turn) return x->number;
    }
    return 0;
}

/* Handles a round that called nothing. The round has a single item inside it, with its value. */
static void visit_plain_round(walk *w, uint32_t i, uint32_t number) {
    add_item(w, PDL_SHAPE_turn, i)->number = number;
    open_item(w);
    add_item(w, PDL_SHAPE_step, i)->maker = maker_of(w, i);
    close_item(w);
}

static void visit_of_work(walk *w, reading_frame *f, uint32_t i) {
    const pdl_box *b = box_at(w, i);
    if (pdl_box_is_attempt(b)) {
        add_item(w, PDL_SHAPE_attempt, i);
        push_inside(w, i, false, false);
        return;
    }
    bool is_row = f->rounds && pdl_step_is_in(b, "map"),
         is_round = f->rounds && pdl_step_is_in(b, "repeat");
    if (is_round && f->parts == 0 && !f->has_item) f->before = turns_before(w);
    uint32_t number = is_row || is_round ? f->before + ++f->parts : 0;
    if (is_round && f->plain && !digest_of(w, i)->loops) {
        visit_plain_round(w, i, number);
    } else if (is_row || (is_round && (digest_of(w, i)->models || f->plain))) {
        add_item(w, is_row ? PDL_SHAPE_row : PDL_SHAPE_turn, i)->number = number;
        push_inside(w, i, true, false);
    } else {
        visit_in_work(w, i);
    }
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Returns true when it is certain that the block failed. In a damaged trace, a block without an end
 * may have ended without a failure. */
static bool says_why(const walk *w, const pdl_box *b) {
    return !w->doc->notice || pdl_is_str(pdl_box_get(b, "msg"));
}

static void leave(walk *w, reading_frame f) {
    const pdl_box *b = box_at(w, f.box);
    if (!f.one && (b->counts || b->stopped) && says_why(w, b))
        add_item(w, PDL_SHAPE_failure, f.box);
    if (f.prints && !f.one) use(w, f.box);
    w->stopped = w->stopped || (f.prints && pdl_box_is_kind(b, "error"));
    if (f.has_item) close_item(w);
    w->n_tools -= f.is_tool;
}

static void step(walk *w) {
    reading_frame *f = &w->stack.p[w->stack.n - 1];
    const pdl_box *b = box_at(w, f->box);
    uint32_t next = f->next++;
    if (next >= (f->one ? 1 : b->n_children)) {
        reading_frame over = *f;
        w->stack.n--;
        leave(w, over);
    } else if (f->one && f->prints) {
        print(w, f->box);
    } else if (f->one) {
        visit_in_work(w, f->box);
    } else if (f->prints) {
        visit_part(w, f, b->first + next);
    } else {
        visit_of_work(w, f, b->first + next);
    }
}

/* Returns true inside a work. The works that this work uses are shown after it. */
static bool is_in_work(const walk *w) { return w->stack.n && !w->stack.p[w->stack.n - 1].prints; }

/* Walks through all boxes. Items that are due are shown when a line is complete, or when the text
 * is over. */
static void run(walk *w, bool over) {
    for (;;) {
        bool may_show = !is_in_work(w) && (over || at_line_start(w));
        if (may_show && w->n_shown < w->due.n)
            show_aside(w, w->due.p[w->n_shown++]);
        else if (w->stack.n)
            step(w);
        else
            return;
    }
}

/* Finds for each box the first item about it. */
static void find_items(pdl_reading *r) {
    r->item_of = PDL_NEW_N(uint32_t, r->doc->boxes.n);
    for (uint32_t i = (uint32_t)r->items.n; i-- > 0;)
        if (r->items.p[i].shape != PDL_SHAPE_note) r->item_of[r->items.p[i].box] = i + 1;
}

static void walk_all(pdl_reading *r) {
    walk w = {.r = r, .doc = r->doc};
    if (r->doc->notice) add_item(&w, PDL_SHAPE_note, 0);
    reading_frame *root = push(&w, 0, true);
    root->one = true;
    run(&w, false);
    run(&w, true);
    for (uint32_t i = 0; i < w.asides.n; i++) {
        if (w.asides.p[i].begun) continue;
        if (is_plain_work(&w, w.asides.p[i].box)) {
            keep_setup(&w, w.asides.p[i].box);
            continue;
        }
        w.asides.p[i].unused = true;
        make_due(&w, i);
    }
    run(&w, true);
    assert(!w.open.n && !w.stack.n);
    pdl_reading_put_setup(r, w.setup.p, (uint32_t)w.setup.n);
    find_items(r);
    pdl_vec_fini(&w.stack);
    pdl_vec_fini(&w.open);
    pdl_vec_fini(&w.asides);
    pdl_vec_fini(&w.due);
    pdl_vec_fini(&w.setup);
    pdl_map_fini(&w.defined);
    pdl_uses_fini(&w.uses);
}

/* --- life ------------------------------------------------------------------------------------- */

pdl_reading *pdl_reading_new(const pdl_doc *d) {
    pdl_reading *r = PDL_NEW(pdl_reading);
    r->doc = d;
    r->text = PDL_BUF;
    r->comparison = PDL_NEW(pdl_comparison);
    r->comparison->report = pdl_absent();
    r->digests = pdl_digests_new(d);
    pdl_reading_number_calls(r);
    walk_all(r);
    assert(pdl_reading_ok(r));
    return r;
}

void pdl_reading_free(pdl_reading *r) {
    if (!r) return;
    pdl_vec_fini(&r->items);
    pdl_buf_fini(&r->text);
    pdl_free(r->digests);
    pdl_free(r->calls);
    pdl_free(r->by_number);
    pdl_free(r->item_of);
    pdl_provenance_fini(&r->origins);
    pdl_drop(r->comparison->report);
    pdl_free(r->comparison);
    pdl_free(r);
}

void pdl_reading_text(const pdl_reading *r, pdl_buf *out) {
    pdl_str text = pdl_buf_str(&r->text);
    bool failed = r->doc->boxes.p[0].state == PDL_BOX_FAILED;
    pdl_buf_put(out, text);
    if (!failed || (text.n && !ends_line(text))) pdl_buf_putc(out, '\n');
}
