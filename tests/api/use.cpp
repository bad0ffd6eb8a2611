/* use.cpp -- the library from C++17: handles that release themselves, lambdas as handlers. Prints what
 * failed, then the counts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <pdl.h>

namespace {

template <auto fn> struct release {
    template <class T> void operator()(T *p) const { fn(p); }
};
using engine = std::unique_ptr<pdl_engine, release<pdl_engine_free>>;
using program = std::unique_ptr<pdl_program, release<pdl_program_free>>;
using task = std::unique_ptr<pdl_task, release<pdl_task_free>>;
using value = std::unique_ptr<pdl_value, release<pdl_value_drop>>;

struct failure : std::string {
    explicit failure(pdl_error *e) : std::string(e ? e->text : "no error") { pdl_error_free(e); }
};

int passed = 0, failed = 0;

void check(bool ok, const char *what) {
    ok ? ++passed : ++failed;
    if (!ok) std::printf("use.cpp: %s\n", what);
}

std::string_view text_of(const value &v) {
    size_t n = 0;
    const char *p = pdl_value_get_text(v.get(), &n);
    return p ? std::string_view(p, n) : std::string_view();
}

program load(const engine &e, std::string_view text) {
    pdl_error *error = nullptr;
    program p(pdl_load_text(e.get(), text.data(), text.size(), "cpp.pdl", &error));
    if (!p) throw failure(error);
    return p;
}

void test_streams() {
    pdl_error *error = nullptr;
    engine e(pdl_engine_new(nullptr, &error));
    if (!e) throw failure(error);
    std::string model = "shout";
    pdl_engine_handle(
        e.get(), "model", "cpp/",
        [](void *user, pdl_request *r) {
            value name(pdl_value_get(pdl_request_data(r), "model"));
            std::string said = *static_cast<std::string *>(user) + " " + std::string(text_of(name));
            value answer(pdl_value_text_n(said.data(), said.size()));
            pdl_request_answer(r, answer.get());
        },
        &model, nullptr);
    program p = load(e, "text:\n- \"A \"\n- model: cpp/one\n  input: hi\n");
    std::string out;
    pdl_task_options o{};
    o.size = sizeof o;
    o.output = PDL_OUTPUT_RESULT;
    o.user = &out;
    o.text = [](void *user, const char *text, size_t n) {
        static_cast<std::string *>(user)->append(text, n);
    };
    task t(pdl_task_start(e.get(), p.get(), &o, &error));
    if (!t) throw failure(error);
    check(pdl_task_wait(t.get(), -1) == PDL_TASK_DONE, "the run is done");
    check(out == "A shout cpp/one", "the text is streamed");
    value result(pdl_task_result(t.get(), nullptr));
    check(text_of(result) == out, "the result is the text");
}

void test_budget() {
    engine e(pdl_engine_new(nullptr, nullptr));
    int asked = 0;
    pdl_engine_handle(
        e.get(), "model", "",
        [](void *user, pdl_request *r) {
            ++*static_cast<int *>(user);
            value answer(pdl_value_text("yes"));
            pdl_request_answer(r, answer.get());
        },
        &asked, nullptr);
    program p = load(e, "for: {i: [1, 2, 3]}\nrepeat: {model: any, input: 'n${ i }'}\nfallback: '${ pdl_error.message }'\n");
    pdl_task_options o{};
    o.size = sizeof o;
    o.budget = "calls=2";
    o.max_rps = 1000;
    o.max_tokens_per_minute = 1e6;
    task t(pdl_task_start(e.get(), p.get(), &o, nullptr));
    check(t && pdl_task_wait(t.get(), -1) == PDL_TASK_DONE, "a fallback catches a spent budget");
    value result(pdl_task_result(t.get(), nullptr));
    check(asked == 2 && text_of(result) == "the budget of 2 calls is spent", "the budget is that of the options");
}

void test_errors() {
    engine e(pdl_engine_new(nullptr, nullptr));
    try {
        load(e, "text: [1\n");
        check(false, "a broken program is refused");
    } catch (const failure &f) {
        check(f.find("cpp.pdl") != std::string::npos, "the error names the file");
    }
    program p = load(e, "data: ${ 1 / 0 }\n");
    pdl_error *error = nullptr;
    value v(pdl_run_program(e.get(), p.get(), nullptr, &error));
    check(!v && error && std::string_view(error->kind) == "expression" && error->line == 1,
          "division by zero is an error with a place");
    pdl_error_free(error);
}

} // namespace

int main() {
    try {
        test_streams();
        test_budget();
        test_errors();
    } catch (const failure &f) {
        check(false, f.c_str());
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
