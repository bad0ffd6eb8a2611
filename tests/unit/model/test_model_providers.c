/* test_model_providers.c -- the provider, the address and the key for a model's name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/model.h"
#include "model/providers.h"
#include "value/json_read.h"

#include "t.h"

#include "base/banned.h"

static const char *env_pairs; /* "NAME=value;NAME=value" of the current row */

static const char *get_env(void *user, const char *name) {
    static char value[200];
    (void)user;
    pdl_str s = t_str(env_pairs), n = t_str(name);
    for (size_t pos = 0; pos < s.n;) {
        size_t end = pdl_str_find(s, PDL_STR(";"), pos);
        pdl_str pair = pdl_str_sub(s, pos, end);
        if (pdl_str_starts(pair, n) && pair.n > n.n && pair.p[n.n] == '=') {
            snprintf(value, sizeof value, "%.*s", PDL_FMT(pdl_str_sub(pair, n.n + 1, pair.n)));
            return value;
        }
        pos = end == PDL_NOT_FOUND ? s.n : end + 1;
    }
    return NULL;
}

static const struct {
    const char *model, *platform, *params, *env;
    const char *prefix, *name, *base,
        *key; /* prefix NULL: error of find; base NULL: error of reach */
    pdl_err_kind kind;
} rows[] = {
    {"openai/gpt-4o", "", "{}", "OPENAI_API_KEY=k", "openai", "gpt-4o", "https://api.openai.com/v1",
     "k", PDL_E_NONE},
    {"openai/a/b:c", "", "{\"api_key\":\"p\"}", "OPENAI_API_KEY=k", "openai", "a/b:c",
     "https://api.openai.com/v1", "p", PDL_E_NONE},
    {"openai/m", "",
     "{\"api_base\":\"http://a/v1/\",\"base_url\":\"http://b/v1//\",\"api_key\":\"k\"}", "",
     "openai", "m", "http://b/v1", "k", PDL_E_NONE},
    {"openai/m", "", "{}", "OPENAI_BASE_URL=;OPENAI_API_BASE=http://e;OPENAI_API_KEY=k", "openai",
     "m", "http://e", "k", PDL_E_NONE},
    {"openai/m", "", "{}", "OPENAI_BASE_URL=http://u;OPENAI_API_BASE=http://e;OPENAI_API_KEY=k",
     "openai", "m", "http://u", "k", PDL_E_NONE},
    {"openai/m", "", "{}", "", "openai", "m", NULL, "", PDL_E_auth},
    {"m", "openai", "{\"api_key\":\"k\"}", "", "openai", "m", "https://api.openai.com/v1", "k",
     PDL_E_NONE},
    {"groq/x", "", "{\"api_key\":\"k\"}", "OPENAI_BASE_URL=http://u", "groq", "x",
     "https://api.groq.com/openai/v1", "k", PDL_E_NONE},
    {"together_ai/x/y", "", "{}", "TOGETHER_AI_TOKEN=t", "together_ai", "x/y",
     "https://api.together.ai/v1", "t", PDL_E_NONE},
    {"ollama_chat/granite4:micro", "", "{}", "", "ollama_chat", "granite4:micro",
     "http://localhost:11434", "", PDL_E_NONE},
    {"ollama_chat/m", "", "{}", "OLLAMA_CHAT_API_BASE=http://c", "ollama_chat", "m", "http://c", "",
     PDL_E_NONE},
    {"text-completion-openai/m", "", "{\"api_key\":\"k\"}",
     "OPENAI_BASE_URL=http://u;TEXT_COMPLETION_OPENAI_API_BASE=http://t", "text-completion-openai",
     "m", "http://t", "k", PDL_E_NONE},
    {"nano-gpt/m", "", "{\"api_key\":\"k\"}", "NANO_GPT_API_BASE=http://n", "nano-gpt", "m",
     "http://n", "k", PDL_E_NONE},
    {"hosted_vllm/m", "", "{}", "", "hosted_vllm", "m", NULL, "", PDL_E_config},
    {"cloudflare/m", "", "{\"api_key\":\"k\"}", "CLOUDFLARE_ACCOUNT_ID=acc", "cloudflare", "m",
     "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1", "k", PDL_E_NONE},
    {"cloudflare/m", "", "{\"api_key\":\"k\"}", "", "cloudflare", "m", NULL, "", PDL_E_config},
    {"gpt-4o-mini", "", "{\"api_key\":\"k\"}", "", "openai", "gpt-4o-mini",
     "https://api.openai.com/v1", "k", PDL_E_NONE},
    {"gpt-3.5-turbo-instruct", "", "{\"api_key\":\"k\"}", "", "text-completion-openai",
     "gpt-3.5-turbo-instruct", "https://api.openai.com/v1", "k", PDL_E_NONE},
    {"gemini-2.0-flash", "", "{}", "GEMINI_API_KEY=k", "gemini", "gemini-2.0-flash",
     "https://generativelanguage.googleapis.com/v1beta", "k", PDL_E_NONE},
    {"gemini-2.0-flash", "", "{\"api_key\":\"k\"}", "", "gemini", "gemini-2.0-flash",
     "https://generativelanguage.googleapis.com/v1beta", "k", PDL_E_NONE},
    {"gemini-2.0-flash", "", "{\"api_base\":\"http://x\"}", "", "vertex_ai", "gemini-2.0-flash",
     "http://x", "", PDL_E_NONE},
    {"gemini-2.0-flash", "", "{\"vertex_project\":\"p\",\"vertex_location\":\"l\"}",
     "GEMINI_API_KEY=k;VERTEXAI_ACCESS_TOKEN=t", "vertex_ai", "gemini-2.0-flash",
     "https://l-aiplatform.googleapis.com", "t", PDL_E_NONE},
    {"Qwen/Q", "", "{\"api_base\":\"https://router.huggingface.co/v1\"}", "HF_TOKEN=h",
     "huggingface", "Qwen/Q", "https://router.huggingface.co/v1", "h", PDL_E_NONE},
    {"granite4:micro", "", "{}", "", NULL, NULL, NULL, NULL, PDL_E_unknown_provider},
    {"nobody/x", "", "{}", "", NULL, NULL, NULL, NULL, PDL_E_unknown_provider},
    {"x", "", "{\"custom_llm_provider\":\"ollama\"}", "", "ollama", "x", "http://localhost:11434",
     "", PDL_E_NONE},
    {"mixtral", "", "{\"api_base\":\"https://api.groq.com/openai/v1\"}", "GROQ_API_KEY=g", "groq",
     "mixtral", "https://api.groq.com/openai/v1", "g", PDL_E_NONE},
    {"mixtral", "", "{\"api_base\":\"https://api.groq.com/openai/v1evil\"}", "GROQ_API_KEY=g", NULL,
     NULL, NULL, NULL, PDL_E_unknown_provider},
    {"mixtral", "", "{\"api_base\":\"https://api.groq.com.evil.org/openai/v1\"}", "GROQ_API_KEY=g",
     NULL, NULL, NULL, NULL, PDL_E_unknown_provider},
};

static void test_routes(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_env env = {.get = get_env};
        pdl_route r = {0};
        pdl_err err = {0};
        pdl_val params;
        env_pairs = rows[i].env;
        t_assert(pdl_json_read(t_str(rows[i].params), 0, &params, NULL, &err));
        bool found =
            pdl_route_find(t_str(rows[i].model), t_str(rows[i].platform), params, &env, &r, &err);
        t_assert(found == (rows[i].prefix != NULL));
        if (found) {
            t_assert_str(t_str(r.provider->prefix), rows[i].prefix);
            t_assert_str(r.name, rows[i].name);
            bool reached = pdl_route_reach(&r, params, &env, &err);
            t_assert(reached == (rows[i].base != NULL));
            if (reached) {
                t_assert_str(pdl_buf_str(&r.base), rows[i].base);
                t_assert_str(pdl_buf_str(&r.key), rows[i].key);
            }
        }
        t_assert(err.kind == rows[i].kind);
        pdl_err_fini(&err);
        pdl_route_fini(&r);
        pdl_drop(params);
    }
}

/* Variables of the environment, and of a file .env: the address, and maybe a key. */
typedef struct {
    const char *const (*exported)[2], *const (*of_file)[2];
} surroundings;

static const char *value_in(const char *const (*pairs)[2], const char *name) {
    for (; (*pairs)[0]; pairs++)
        if (strcmp((*pairs)[0], name) == 0) return (*pairs)[1];
    return NULL;
}

static const char *of_file(void *user, const char *name) {
    return value_in(((const surroundings *)user)->of_file, name);
}

static const char *of_any(void *user, const char *name) {
    const char *v = value_in(((const surroundings *)user)->exported, name);
    return v ? v : of_file(user, name);
}

static void put_facts(void *user, const pdl_provider_facts *f) {
    pdl_buf_putf(user, "%s: key %.*s%s, withheld %.*s;", f->prefix, PDL_FMT(f->key),
                 f->key_is_exported ? " exported" : "", PDL_FMT(f->withheld));
}

/* A key of the environment is not sent to an address of .env. The name of this key is told. */
static void test_facts(void **state) {
    (void)state;
    enum { MAX = 3 };
    static const struct {
        const char *exported[MAX][2], *of_file[MAX][2], *want;
    } known[] = {
        {{{"GOOGLE_API_KEY", "key-1"}},
         {{NULL}},
         "gemini: key GOOGLE_API_KEY exported, withheld ;"},
        {{{"GOOGLE_API_KEY", "key-1"}},
         {{"GEMINI_API_BASE", "http://h"}},
         "gemini: key , withheld GOOGLE_API_KEY;"},
        {{{"GEMINI_API_KEY", "key-1"}},
         {{"GEMINI_API_BASE", "http://h"}},
         "gemini: key , withheld GEMINI_API_KEY;"},
        {{{"GOOGLE_API_KEY", "key-1"}},
         {{"GEMINI_API_BASE", "http://h"}, {"GEMINI_API_KEY", "key-2"}},
         "gemini: key GEMINI_API_KEY, withheld ;"},
    };
    for (size_t i = 0; i < T_LEN(known); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        surroundings s = {known[i].exported, known[i].of_file};
        pdl_model_each_provider(of_any, &s, of_file, put_facts, &b);
        t_assert(pdl_str_find(pdl_buf_str(&b), t_str(known[i].want), 0) != PDL_NOT_FOUND);
        pdl_buf_fini(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_routes), cmocka_unit_test(test_facts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
