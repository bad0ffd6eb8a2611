/* objects.c -- functions and objects of the host program as values. Written in C11. Prints the
 * failed checks, then the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include <pdl.h>

static int passed, failed;

static void check(bool ok, int line, const char *what) {
    passed += ok;
    failed += !ok;
    if (!ok) printf("objects.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x), __LINE__, #x)

static bool is_text(pdl_value *v, const char *want) {
    const char *got = pdl_value_get_text(v, NULL);
    bool ok = got && strcmp(got, want) == 0;
    if (!ok) printf("  got %s, not %s\n", got ? got : "no text", want);
    pdl_value_drop(v);
    return ok;
}

/* --- a hive with bees ----------------------------------------------------------------------- */

typedef struct hive {
    int64_t bees;
    int released;
    bool silent;          /* its text fails */
    pdl_request *pending; /* a call that is answered later */
} hive;

static const char *type_name(void *object, unsigned *traits) {
    (void)object;
    *traits = PDL_OBJECT_ITERABLE | PDL_OBJECT_CALLABLE;
    return "Hive";
}

static void answer_int(pdl_request *r, int64_t n) {
    pdl_value *v = pdl_value_int(n);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}

static void attribute(void *object, const char *name, pdl_request *r) {
    hive *h = object;
    if (strcmp(name, "bees") == 0)
        answer_int(r, h->bees);
    else if (strcmp(name, "queen") == 0)
        pdl_request_raise(r, "code", "QueenError,LookupError", "the queen is out");
    else
        pdl_request_answer(r, NULL);
}

static void item(void *object, const pdl_value *key, pdl_request *r) {
    int64_t i = -1;
    (void)object;
    if (pdl_value_get_int(key, &i) && i >= 0)
        answer_int(r, 10 * i);
    else
        pdl_request_answer(r, NULL);
}

static void call(void *object, const pdl_value *args, const pdl_value *kwargs, pdl_request *r) {
    hive *h = object;
    pdl_value *later = pdl_value_get(kwargs, "later");
    if (later)
        h->pending = r;
    else
        answer_int(r, h->bees + (int64_t)pdl_value_len(args));
    pdl_value_drop(later);
}

static void call_method(void *object, const char *name, const pdl_value *args,
                        const pdl_value *kwargs, pdl_request *r) {
    int64_t n = 0;
    pdl_value *first = pdl_value_at(args, 0);
    (void)kwargs;
    pdl_value_get_int(first, &n);
    pdl_value_drop(first);
    if (strcmp(name, "add") == 0)
        answer_int(r, ((hive *)object)->bees += n);
    else
        pdl_request_refuse(r, "code", "no such method");
}

static void iterate(void *object, pdl_request *r) {
    pdl_value *list = pdl_value_list();
    (void)object;
    for (int64_t i = 0; i < 3; i++) {
        pdl_value *v = pdl_value_int(i);
        pdl_value_push(list, v);
        pdl_value_drop(v);
    }
    pdl_request_answer(r, list);
    pdl_value_drop(list);
}

static void operate(void *object, const pdl_value *operation, pdl_request *r) {
    pdl_value *op = pdl_value_get(operation, "op"), *sign = pdl_value_get(operation, "operator");
    (void)object;
    const char *a = pdl_value_get_text(op, NULL), *b = pdl_value_get_text(sign, NULL);
    char text[64];
    snprintf(text, sizeof text, "%s %s", a ? a : "-", b ? b : "-");
    pdl_value *v = pdl_value_text(text);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
    pdl_value_drop(op);
    pdl_value_drop(sign);
}

static bool length(void *object, size_t *out) {
    *out = (size_t)((hive *)object)->bees;
    return true;
}

static pdl_value *text(void *object, bool repr, pdl_error **error) {
    const hive *h = object;
    if (h->silent) {
        *error = pdl_error_new("code", "the hive is silent");
        return NULL;
    }
    return pdl_value_text(repr ? "<hive>" : "a hive");
}

static bool equal(void *a, void *b) { return ((hive *)a)->bees == ((hive *)b)->bees; }
static void release(void *object) { ((hive *)object)->released++; }

static const pdl_object_ops ops = {
    .size = sizeof ops,
    .type_name = type_name,
    .attribute = attribute,
    .item = item,
    .call = call,
    .call_method = call_method,
    .iterate = iterate,
    .operate = operate,
    .length = length,
    .text = text,
    .equal = equal,
    .release = release,
};

/* --- programs that use it -------------------------------------------------------------------- */

static pdl_value *inputs_of(hive *h) {
    pdl_value *d = pdl_value_dict(), *v = pdl_value_object(h, &ops);
    pdl_value_put(d, "hive", v);
    pdl_value_drop(v);
    return d;
}

static pdl_value *run(pdl_engine *e, const char *text, const pdl_value *inputs, pdl_error **error) {
    pdl_program *p = pdl_load_text(e, text, strlen(text), "test.pdl", error);
    pdl_value *v = p ? pdl_run_program(e, p, inputs, error) : NULL;
    pdl_program_free(p);
    return v;
}

static bool gives(pdl_engine *e, const char *text, const pdl_value *inputs, const char *want) {
    pdl_error *error = NULL;
    pdl_value *v = run(e, text, inputs, &error), *shown = pdl_value_to_text(v, NULL);
    if (!v) pdl_error_print(error, stdout);
    pdl_error_free(error);
    pdl_value_drop(v);
    return is_text(shown, want);
}

static bool fails(pdl_engine *e, const char *text, const pdl_value *inputs, const char *want) {
    pdl_error *error = NULL;
    pdl_value *v = run(e, text, inputs, &error);
    bool ok = !v && error && strstr(error->message, want);
    if (!ok) printf("  got %s, not %s\n", error ? error->message : "no error", want);
    pdl_error_free(error);
    pdl_value_drop(v);
    return ok;
}

static void uses(pdl_engine *e) {
    static const struct {
        const char *program, *want;
    } rows[] = {
        {"data: ${ hive.bees }", "3"},
        {"data: ${ hive[4] }", "40"},
        {"data: ${ hive(1, 2) }", "5"},
        {"data: ${ hive.add(0) }", "3"},
        {"data: ${ hive | length }", "3"},
        {"data: ${ hive | list }", "[0, 1, 2]"},
        {"text: ${ hive }", "a hive"},
        {"text: ${ [hive] }", "[<hive>]"},
        {"data: ${ 'yes' if hive else 'no' }", "yes"},
        {"data: ${ hive + 1 }", "binary +"},
        {"data: ${ 1 < hive }", "binary <"},
        {"data: ${ -hive }", "unary -"},
        {"data: ${ hive[1:2] }", "slice -"},
        {"data: ${ hive is callable and hive is iterable and hive is not mapping }", "true"},
        {"data: ${ [hive, hive] | map(attribute='bees') | list }", "[3, 3]"},
        {"for: {x: '${ hive }'}\nrepeat: {data: '${ x }'}\njoin: {as: array}", "[0, 1, 2]"},
        {"data: ${ hive.wax is defined }", "false"},
    };
    hive h = {.bees = 3};
    pdl_value *in = inputs_of(&h);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool ok = gives(e, rows[i].program, in, rows[i].want);
        if (!ok) printf("  %s\n", rows[i].program);
        CHECK(ok);
    }
    pdl_value_drop(in);
    CHECK(h.released == 1);
}

static void errors(pdl_engine *e) {
    hive h = {.bees = 1};
    pdl_value *in = inputs_of(&h);
    CHECK(fails(e, "data: ${ hive.wax + 1 }", in, "'Hive object' has no attribute 'wax'"));
    CHECK(fails(e, "data: ${ hive.queen }", in, "the queen is out"));
    CHECK(fails(e, "data: ${ hive.fly() }", in, "no such method"));
    CHECK(gives(e, "data: ${ hive.queen }\nfallback: {data: gone}", in, "gone"));
    h.silent = true;
    CHECK(fails(e, "text: ${ hive }", in, "the hive is silent"));
    CHECK(fails(e, "lang: python\ncode: result = hive", in,
                "cannot be given to the process of code blocks"));
    pdl_value_drop(in);
    CHECK(h.released == 1);
}

static void identity(pdl_engine *e) {
    hive h = {.bees = 1}, same = {.bees = 1}, other = {.bees = 2};
    pdl_value *in = inputs_of(&h);
    pdl_value *v = run(e, "defs: {a: '${ [hive] }'}\ndata: ${ a[0] }", in, NULL);
    CHECK(pdl_value_object_of(v, &ops) == &h);
    CHECK(pdl_value_kind(v) == PDL_KIND_OBJECT);
    pdl_value *b = pdl_value_object(&same, &ops), *c = pdl_value_object(&other, &ops);
    CHECK(pdl_value_equal(v, b) && !pdl_value_equal(v, c));
    CHECK(!pdl_value_to_json(v, 0, NULL));
    pdl_value_drop(b);
    pdl_value_drop(c);
    pdl_value_drop(v);
    CHECK(h.released == 0);
    pdl_value_drop(in);
    CHECK(h.released == 1 && same.released == 1 && other.released == 1);
    pdl_value *number = pdl_value_int(1);
    CHECK(!pdl_value_object_of(number, &ops) && !pdl_value_object_of(NULL, &ops));
    pdl_value_drop(number);
    CHECK(!pdl_value_object(NULL, &ops) && !pdl_value_object(&h, NULL));
    CHECK(!pdl_value_object(&h, &(pdl_object_ops){0}));
}

static void later(pdl_engine *e) {
    static const char program[] = "data: ${ hive(later=true) + 1 }";
    hive h = {.bees = 7};
    pdl_value *in = inputs_of(&h);
    pdl_program *p = pdl_load_text(e, program, strlen(program), NULL, NULL);
    pdl_task_options o = {.size = sizeof o, .inputs = in};
    pdl_task *t = pdl_task_start(e, p, &o, NULL);
    pdl_value_drop(in);
    CHECK(pdl_task_step(t) == PDL_TASK_WAITING && h.pending && h.released == 0);
    answer_int(h.pending, 4);
    CHECK(pdl_task_wait(t, 1000) == PDL_TASK_DONE);
    pdl_value *v = pdl_task_result(t, NULL);
    int64_t n = 0;
    CHECK(pdl_value_get_int(v, &n) && n == 5);
    pdl_value_drop(v);
    pdl_task_free(t);
    CHECK(h.released == 1);

    h = (hive){.bees = 7}; /* the request outlives the task */
    in = inputs_of(&h);
    o.inputs = in;
    t = pdl_task_start(e, p, &o, NULL);
    pdl_value_drop(in);
    CHECK(pdl_task_step(t) == PDL_TASK_WAITING && h.pending);
    pdl_task_free(t);
    CHECK(pdl_request_is_cancelled(h.pending));
    pdl_request_answer(h.pending, NULL);
    CHECK(h.released == 1);
    pdl_program_free(p);
}

/* An object that has nothing. */
static void bare(pdl_engine *e) {
    pdl_object_ops none = {.size = sizeof none};
    int x = 0;
    pdl_value *d = pdl_value_dict(), *v = pdl_value_object(&x, &none);
    CHECK(v != NULL);
    pdl_value_put(d, "x", v);
    CHECK(gives(e, "text: ${ x }", d, "<object object>"));
    CHECK(gives(e, "data: ${ 'yes' if x else 'no' }", d, "yes"));
    CHECK(gives(e, "data: ${ x is callable }", d, "false"));
    CHECK(fails(e, "data: ${ x() }", d, "'object' object is not callable"));
    CHECK(fails(e, "data: ${ x | list }", d, "'object' object is not iterable"));
    CHECK(fails(e, "data: ${ x.a }", d, "'object' object is not subscriptable"));
    CHECK(fails(e, "data: ${ x + 1 }", d, "operand"));
    CHECK(fails(e, "data: ${ x | length }", d, "object"));
    pdl_value_drop(v);
    pdl_value_drop(d);
}

/* --- functions ------------------------------------------------------------------------------ */

static void twice(void *user, pdl_request *r) {
    pdl_value *args = pdl_value_get(pdl_request_data(r), "args"), *x = pdl_value_at(args, 0);
    int64_t n = 0;
    (void)user;
    pdl_value_get_int(x, &n);
    pdl_value_drop(x);
    pdl_value_drop(args);
    answer_int(r, 2 * n);
}

static void count_release(void *user) { ++*(int *)user; }

static void functions(pdl_engine *e) {
    int released = 0;
    pdl_value *d = pdl_value_dict(),
              *f = pdl_value_function_with("twice", twice, &released, count_release);
    pdl_value_put(d, "f", f);
    CHECK(pdl_value_function_of(f, twice) == &released);
    CHECK(!pdl_value_function_of(d, twice) && !pdl_value_object_of(f, &ops));
    pdl_value *v = run(e, "defs: {g: '${ f }'}\ndata: ${ [f(4), g(5), g][2] }", d, NULL);
    CHECK(pdl_value_function_of(v, twice) == &released && pdl_value_equal(v, f));
    pdl_value_drop(v);
    pdl_value_drop(d);
    CHECK(released == 0);
    pdl_value_drop(f);
    CHECK(released == 1);
}

int main(void) {
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    uses(e);
    errors(e);
    identity(e);
    later(e);
    bare(e);
    functions(e);
    pdl_engine_free(e);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
