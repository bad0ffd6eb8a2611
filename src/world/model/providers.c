/* providers.c -- the table of providers, and the lookup from a model name to provider, address
 * and key; see providers.h (spec providers 3, 4.1, 4.2, 4.3, 11).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/providers.h"

#include "base/os.h"
#include "effect/secret.h"
#include "model/wire/dialect.h"

#include "base/banned.h"

#define CHAT &pdl_dialect_openai
#define KEY  PDL_Q_KEY

static const pdl_provider providers[] = {
    {"openai", "https://api.openai.com/v1", "OPENAI_BASE_URL OPENAI_API_BASE", "OPENAI_API_KEY",
     CHAT, KEY | PDL_Q_OPENAI_NAMES | PDL_Q_ORG | PDL_Q_TAKES_REFUSALS},
    {"text-completion-openai", "https://api.openai.com/v1",
     "TEXT_COMPLETION_OPENAI_API_BASE OPENAI_BASE_URL OPENAI_API_BASE", "OPENAI_API_KEY",
     &pdl_dialect_completion, KEY | PDL_Q_ORG},
    {"custom_openai", NULL, "", "OPENAI_API_KEY", CHAT, PDL_Q_ORG},
    {"openai_like", NULL, "", "OPENAI_LIKE_API_KEY", CHAT, 0},
    {"ollama", "http://localhost:11434", "OLLAMA_API_BASE", "OLLAMA_API_KEY", &pdl_dialect_ollama,
     0},
    {"ollama_chat", "http://localhost:11434", "OLLAMA_API_BASE", "OLLAMA_API_KEY",
     &pdl_dialect_ollama_chat, 0},
    {"hosted_vllm", NULL, "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY", CHAT, PDL_Q_GUIDED},
    {"lm_studio", NULL, "LM_STUDIO_API_BASE", "LM_STUDIO_API_KEY", CHAT, 0},
    {"llamafile", "http://127.0.0.1:8080/v1", "LLAMAFILE_API_BASE", "LLAMAFILE_API_KEY", CHAT,
     PDL_Q_GRAMMAR},
    {"litellm_proxy", NULL, "LITELLM_PROXY_API_BASE", "LITELLM_PROXY_API_KEY", CHAT,
     PDL_Q_USER | PDL_Q_GATEWAY},
    {"groq", "https://api.groq.com/openai/v1", "GROQ_API_BASE", "GROQ_API_KEY", CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_FORCED_TOOL},
    {"together_ai", "https://api.together.ai/v1", "TOGETHER_AI_API_BASE",
     "TOGETHER_API_KEY TOGETHER_AI_API_KEY TOGETHERAI_API_KEY TOGETHER_AI_TOKEN", CHAT, KEY},
    {"mistral", "https://api.mistral.ai/v1", "MISTRAL_AZURE_API_BASE",
     "MISTRAL_AZURE_API_KEY MISTRAL_API_KEY", CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_RANDOM_SEED | PDL_Q_CHOICE_ANY | PDL_Q_NO_NAME |
         PDL_Q_NO_USAGE_OPT | PDL_Q_EFFORT_HIGH | PDL_Q_SHORT_IDS},
    {"codestral", "https://codestral.mistral.ai/v1", "CODESTRAL_API_BASE", "CODESTRAL_API_KEY",
     CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_RANDOM_SEED | PDL_Q_CHOICE_ANY | PDL_Q_NO_NAME |
         PDL_Q_NO_USAGE_OPT | PDL_Q_EFFORT_HIGH | PDL_Q_SHORT_IDS},
    {"deepseek", "https://api.deepseek.com/beta", "DEEPSEEK_API_BASE", "DEEPSEEK_API_KEY", CHAT,
     KEY | PDL_Q_FLAT | PDL_Q_THINKING | PDL_Q_JSON_OBJECT | PDL_Q_TAKES_THOUGHTS},
    {"fireworks_ai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_BASE",
     "FIREWORKS_API_KEY FIREWORKS_AI_API_KEY FIREWORKSAI_API_KEY FIREWORKS_AI_TOKEN", CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_USER | PDL_Q_FIREWORKS},
    {"openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_BASE",
     "OPENROUTER_API_KEY OR_API_KEY", CHAT, KEY | PDL_Q_OPENROUTER | PDL_Q_TAKES_DETAILS},
    {"xai", "https://api.x.ai/v1", "XAI_API_BASE", "XAI_API_KEY", CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_USER},
    {"perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_BASE",
     "PERPLEXITYAI_API_KEY PERPLEXITY_API_KEY", CHAT, KEY | PDL_Q_NO_USAGE_OPT},
    {"nvidia_nim", "https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_BASE",
     "NVIDIA_NIM_API_KEY", CHAT, KEY | PDL_Q_MAX_TOKENS | PDL_Q_NO_USAGE_OPT},
    {"cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_BASE", "CEREBRAS_API_KEY", CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_NO_USAGE_OPT | PDL_Q_USER},
    {"sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_BASE", "SAMBANOVA_API_KEY", CHAT,
     KEY | PDL_Q_MAX_TOKENS},
    {"dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_BASE",
     "DASHSCOPE_API_KEY", CHAT, KEY | PDL_Q_JSON_OBJECT | PDL_Q_SMALL_BATCH},
    {"moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_BASE", "MOONSHOT_API_KEY", CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_CHOICE_TEXT | PDL_Q_COOL | PDL_Q_JSON_OBJECT |
         PDL_Q_TAKES_THOUGHTS},
    {"volcengine", "https://ark.cn-beijing.volces.com/api/v3", "VOLCENGINE_API_BASE",
     "VOLCENGINE_API_KEY ARK_API_KEY", CHAT, KEY | PDL_Q_MAX_TOKENS | PDL_Q_JSON_OBJECT},
    {"zai", "https://api.z.ai/api/paas/v4", "ZAI_API_BASE", "ZAI_API_KEY", CHAT,
     KEY | PDL_Q_JSON_OBJECT},
    {"github", "https://models.inference.ai.azure.com", "GITHUB_API_BASE", "GITHUB_API_KEY", CHAT,
     KEY | PDL_Q_MAX_TOKENS | PDL_Q_USER | PDL_Q_GATEWAY},
    {"deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_BASE", "DEEPINFRA_API_KEY",
     CHAT, KEY | PDL_Q_MAX_TOKENS | PDL_Q_NO_USAGE_OPT | PDL_Q_CHOICE_AUTO},
    {"huggingface", "https://router.huggingface.co/v1", "HF_API_BASE HUGGINGFACE_API_BASE",
     "HF_TOKEN HUGGINGFACE_API_KEY", &pdl_dialect_huggingface, KEY | PDL_Q_HUB},
    {"databricks", NULL, "DATABRICKS_API_BASE", "DATABRICKS_API_KEY", CHAT, KEY | PDL_Q_MAX_TOKENS},
    {"cloudflare", "https://api.cloudflare.com/client/v4/accounts/${CLOUDFLARE_ACCOUNT_ID}/ai/v1",
     "CLOUDFLARE_API_BASE", "CLOUDFLARE_API_KEY", CHAT, KEY},
    {"minimax", "https://api.minimax.io/v1", "MINIMAX_API_BASE", "MINIMAX_API_KEY", CHAT, KEY},
    {"watsonx", NULL, "WATSONX_API_BASE WATSONX_URL WX_URL WML_URL",
     "WX_API_KEY WATSONX_API_KEY WATSONX_APIKEY", &pdl_dialect_watsonx, PDL_Q_WATSONX},
    {"watsonx_text", NULL, "WATSONX_API_BASE WATSONX_URL WX_URL WML_URL",
     "WX_API_KEY WATSONX_API_KEY WATSONX_APIKEY", &pdl_dialect_watsonx_text, PDL_Q_WATSONX},
    {"anthropic", "https://api.anthropic.com", "ANTHROPIC_API_BASE ANTHROPIC_BASE_URL",
     "ANTHROPIC_API_KEY", &pdl_dialect_anthropic, 0},
    {"gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_BASE",
     "GOOGLE_API_KEY GEMINI_API_KEY", &pdl_dialect_gemini, KEY},
    {"vertex_ai",
     "https://${vertex_location VERTEXAI_LOCATION VERTEX_LOCATION}-aiplatform.googleapis.com",
     "VERTEX_AI_API_BASE", "VERTEXAI_ACCESS_TOKEN", &pdl_dialect_vertex, 0},
    {"azure", NULL, "AZURE_API_BASE", "AZURE_OPENAI_API_KEY AZURE_API_KEY", &pdl_dialect_azure,
     PDL_Q_OPENAI_NAMES | PDL_Q_USER | PDL_Q_STRICT | PDL_Q_TAKES_REFUSALS},
    {"azure_ai", NULL, "AZURE_AI_API_BASE", "AZURE_AI_API_KEY", &pdl_dialect_azure_ai, KEY},
    {"replicate", "https://api.replicate.com", "REPLICATE_API_BASE",
     "REPLICATE_API_KEY REPLICATE_API_TOKEN", &pdl_dialect_replicate, KEY},
    {"bedrock",
     "https://bedrock-runtime.${aws_region_name AWS_REGION_NAME AWS_REGION "
     "AWS_DEFAULT_REGION}.amazonaws.com",
     "AWS_BEDROCK_RUNTIME_ENDPOINT BEDROCK_API_BASE", "AWS_BEARER_TOKEN_BEDROCK",
     &pdl_dialect_bedrock, 0},
    /* The remaining rows differ from OpenAI in base and key, some in one quirk, too (spec providers
     * 4.2). */
    {"clarifai", "https://api.clarifai.com/v2/ext/openai/v1", "", "CLARIFAI_API_KEY", CHAT, KEY},
    {"baseten", "https://inference.baseten.co/v1", "", "BASETEN_API_KEY", CHAT, KEY},
    {"ai21_chat", "https://api.ai21.com/studio/v1", "AI21_API_BASE", "AI21_API_KEY", CHAT, KEY},
    {"qwencloud", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "QWENCLOUD_API_BASE",
     "QWENCLOUD_API_KEY DASHSCOPE_API_KEY", CHAT, KEY | PDL_Q_SMALL_BATCH},
    {"qwen_ai_platform", "https://dashscope.aliyuncs.com/compatible-mode/v1",
     "QWEN_AI_PLATFORM_API_BASE", "QWEN_AI_PLATFORM_API_KEY DASHSCOPE_API_KEY", CHAT,
     KEY | PDL_Q_SMALL_BATCH},
    {"modelscope", "https://api-inference.modelscope.cn/v1", "MODELSCOPE_API_BASE",
     "MODELSCOPE_API_KEY", CHAT, KEY},
    {"publicai", "https://api.publicai.co/v1", "PUBLICAI_API_BASE", "PUBLICAI_API_KEY", CHAT, KEY},
    {"v0", "https://api.v0.dev/v1", "V0_API_BASE", "V0_API_KEY", CHAT, KEY},
    {"morph", "https://api.morphllm.com/v1", "MORPH_API_BASE", "MORPH_API_KEY", CHAT, KEY},
    {"lambda_ai", "https://api.lambda.ai/v1", "LAMBDA_API_BASE", "LAMBDA_API_KEY", CHAT, KEY},
    {"inception", "https://api.inceptionlabs.ai/v1", "INCEPTION_API_BASE", "INCEPTION_API_KEY",
     CHAT, KEY},
    {"friendliai", "https://api.friendli.ai/serverless/v1", "FRIENDLI_API_BASE",
     "FRIENDLIAI_API_KEY FRIENDLI_TOKEN", CHAT, KEY},
    {"featherless_ai", "https://api.featherless.ai/v1",
     "FEATHERLESS_AI_API_BASE FEATHERLESS_API_BASE", "FEATHERLESS_AI_API_KEY FEATHERLESS_API_KEY",
     CHAT, KEY},
    {"empower", "https://app.empower.dev/api/v1", "EMPOWER_API_BASE", "EMPOWER_API_KEY", CHAT, KEY},
    {"docker_model_runner", "http://localhost:22088/engines/llama.cpp",
     "DOCKER_MODEL_RUNNER_API_BASE", "DOCKER_MODEL_RUNNER_API_KEY", CHAT, PDL_Q_GRAMMAR},
    {"tencent", "https://tokenhub-intl.tencentcloudmaas.com/v1", "TENCENT_API_BASE",
     "TENCENT_API_KEY", CHAT, KEY},
    {"galadriel", "https://api.galadriel.com/v1", "GALADRIEL_API_BASE", "GALADRIEL_API_KEY", CHAT,
     KEY},
    {"nebius", "https://api.studio.nebius.ai/v1", "NEBIUS_API_BASE", "NEBIUS_API_KEY", CHAT, KEY},
    {"novita", "https://api.novita.ai/v3/openai", "NOVITA_API_BASE", "NOVITA_API_KEY", CHAT, KEY},
    {"assemblyai", "https://llm-gateway.assemblyai.com/v1", "", "ASSEMBLYAI_API_KEY", CHAT, KEY},
    {"charity_engine", "https://api.charityengine.services/remotejobs/v2/inference", "",
     "CHARITY_ENGINE_API_KEY", CHAT, KEY},
    {"meta_llama", "https://api.llama.com/compat/v1", "LLAMA_API_BASE", "LLAMA_API_KEY", CHAT, KEY},
    {"nscale", "https://inference.api.nscale.com/v1", "NSCALE_API_BASE", "NSCALE_API_KEY", CHAT,
     KEY},
    {"helicone", "https://ai-gateway.helicone.ai/", "", "HELICONE_API_KEY", CHAT, KEY},
    {"hyperbolic", "https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_BASE", "HYPERBOLIC_API_KEY",
     CHAT, KEY},
    {"aiml", "https://api.aimlapi.com/v1", "AIML_API_BASE", "AIML_API_KEY", CHAT, KEY},
    {"vercel_ai_gateway", "https://ai-gateway.vercel.sh/v1", "VERCEL_AI_GATEWAY_API_BASE",
     "VERCEL_AI_GATEWAY_API_KEY VERCEL_OIDC_TOKEN", CHAT, KEY | PDL_Q_GATEWAY},
    {"edenai", "https://api.edenai.run/v3", "EDENAI_API_BASE", "EDENAI_API_KEY", CHAT, KEY},
    {"wandb", "https://api.inference.wandb.ai/v1", "WANDB_API_BASE", "WANDB_API_KEY", CHAT, KEY},
    {"scaleway", "https://api.scaleway.ai/v1", "", "SCW_SECRET_KEY", CHAT, KEY},
    {"synthetic", "https://api.synthetic.new/openai/v1", "", "SYNTHETIC_API_KEY", CHAT, KEY},
    {"apertis", "https://api.stima.tech/v1", "", "STIMA_API_KEY", CHAT, KEY},
    {"nano-gpt", "https://nano-gpt.com/api/v1", "", "NANOGPT_API_KEY", CHAT, KEY},
    {"poe", "https://api.poe.com/v1", "", "POE_API_KEY", CHAT, KEY},
    {"chutes", "https://llm.chutes.ai/v1/", "", "CHUTES_API_KEY", CHAT, KEY},
    {"neosantara", "https://api.neosantara.xyz/v1", "NEOSANTARA_API_BASE", "NEOSANTARA_API_KEY",
     CHAT, KEY},
    {"parasail", "https://api.parasail.io/v1", "PARASAIL_API_BASE", "PARASAIL_API_KEY", CHAT, KEY},
    {"xiaomi_mimo", "https://api.xiaomimimo.com/v1", "", "XIAOMI_MIMO_API_KEY", CHAT, KEY},
    {"tensormesh", "https://serverless.tensormesh.ai/v1", "TENSORMESH_SERVERLESS_BASE_URL",
     "TENSORMESH_INFERENCE_API_KEY", CHAT, KEY},
    {"libertai", "https://api.libertai.io/v1", "LIBERTAI_API_BASE", "LIBERTAI_API_KEY", CHAT, KEY},
    {"pinstripes", "https://pinstripes.io/v1", "PINSTRIPES_API_BASE", "PINSTRIPES_API_KEY", CHAT,
     KEY},
    {"cognition", "https://api.cognition.ai/v1", "COGNITION_API_BASE", "COGNITION_API_KEY", CHAT,
     KEY},
    {"cortecs", "https://api.cortecs.ai/v1", "CORTECS_API_BASE", "CORTECS_API_KEY", CHAT, KEY},
    {"scx-ai", "https://api.scx.ai/v1", "SCX_API_BASE", "SCX_API_KEY", CHAT, KEY},
    {"prism", "https://api.prisminference.com/v1", "PRISM_API_BASE", "PRISM_API_KEY", CHAT, KEY},
    {"darkbloom", "https://api.darkbloom.dev/v1", "DARKBLOOM_API_BASE", "DARKBLOOM_API_KEY", CHAT,
     KEY},
    {"meta", "https://api.meta.ai/v1", "META_API_BASE", "META_API_KEY", CHAT, KEY},
    {"sail", "https://api.sailresearch.com/v1", "SAIL_API_BASE", "SAIL_API_KEY", CHAT, KEY},
    {"reka", "https://api.reka.ai/v1", "REKA_API_BASE", "REKA_API_KEY", CHAT, KEY},
    {"veniceai", "https://api.venice.ai/api/v1", "", "VENICE_AI_API_KEY", CHAT, KEY},
    {"abliteration", "https://api.abliteration.ai/v1", "", "ABLITERATION_API_KEY", CHAT, KEY},
    {"llamagate", "https://api.llamagate.dev/v1", "", "LLAMAGATE_API_KEY", CHAT, KEY},
    {"gmi", "https://api.gmi-serving.com/v1", "", "GMI_API_KEY", CHAT, KEY},
    {"sarvam", "https://api.sarvam.ai/v1", "", "SARVAM_API_KEY", CHAT, KEY},
    {"aihubmix", "https://aihubmix.com/v1", "AIHUBMIX_API_BASE", "AIHUBMIX_API_KEY", CHAT, KEY},
    {"crusoe", "https://managed-inference-api-proxy.crusoecloud.com/v1", "CRUSOE_API_BASE",
     "CRUSOE_API_KEY", CHAT, KEY},
    {"empiriolabs", "https://api.empiriolabs.ai/v1", "EMPIRIOLABS_API_BASE", "EMPIRIOLABS_API_KEY",
     CHAT, KEY},
};

/* Names that need no prefix (spec providers 3). */
static const struct {
    const char *start, *prefix;
} bare_names[] = {
    {"gpt-3.5-turbo-instruct", "text-completion-openai"},
    {"gpt-", "openai"},
    {"o1", "openai"},
    {"o3", "openai"},
    {"o4", "openai"},
    {"chatgpt-", "openai"},
    {"ft:gpt-", "openai"},
    {"text-embedding-", "openai"},
    {"claude-", "anthropic"},
};

/* Vendors of models that are named <vendor>.<model>-v<d> (spec providers 3). */
static const char *const bedrock_vendors[] = {"anthropic.", "amazon.", "meta.",    "mistral.",
                                              "cohere.",    "ai21.",   "deepseek."};

const pdl_provider *pdl_provider_find(pdl_str prefix) {
    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++)
        if (pdl_str_is(prefix, providers[i].prefix)) return &providers[i];
    return NULL;
}

const char *pdl_env_get(const pdl_env *env, const char *name) {
    bool of_file = env->file_keys_only && pdl_is_secret_variable(pdl_str_of(name));
    const char *(*get)(void *, const char *) = of_file ? env->of_file : env->get;
    const char *v = get ? get(env->user, name) : NULL;
    return v && *v ? v : NULL;
}

static pdl_str text_param(pdl_vref params, const char *key) {
    pdl_vref v = pdl_dict_getz(params, key);
    return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0};
}

/* base_url wins over api_base. */
static pdl_str given_base(pdl_vref params) {
    pdl_str s = text_param(params, "base_url");
    return s.n ? s : text_param(params, "api_base");
}

static pdl_str without_slash(pdl_str s) {
    while (s.n && s.p[s.n - 1] == '/') s.n--;
    return s;
}

/* --- name -> provider ------------------------------------------------------------------------- */

const pdl_provider *pdl_provider_at(size_t i) {
    return i < sizeof providers / sizeof *providers ? &providers[i] : NULL;
}

/* Returns the provider whose known address has the same scheme, host and first path segments as
 * `base`; whole segments are compared. */
static const pdl_provider *find_by_base(pdl_str base) {
    base = without_slash(base);
    if (base.n == 0) return NULL;
    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++) {
        pdl_str known = without_slash(pdl_str_of(providers[i].base));
        bool chat =
            providers[i].dialect == CHAT || providers[i].dialect == &pdl_dialect_huggingface;
        if (known.n == 0 || !chat || !pdl_str_starts(base, known)) continue;
        if (base.n == known.n || base.p[known.n] == '/') return &providers[i];
    }
    return NULL;
}

static const char *first_set(const char *names, const pdl_env *env);

/* Selects Vertex AI as the reference does, and Gemini when only the key of Gemini is known. */
static const pdl_provider *find_google(pdl_vref params, const pdl_env *env) {
    static const char vertex[] =
        "vertex_project vertex_location vertex_credentials VERTEXAI_PROJECT VERTEX_PROJECT "
        "VERTEXAI_LOCATION "
        "VERTEX_LOCATION VERTEXAI_ACCESS_TOKEN VERTEX_AI_API_BASE GOOGLE_APPLICATION_CREDENTIALS";
    const pdl_provider *gemini = pdl_provider_find(PDL_STR("gemini"));
    bool key = text_param(params, "api_key").n || first_set(gemini->key_env, env);
    bool other = pdl_setting(vertex, params, env).n ||
                 pdl_is_dict(pdl_dict_getz(params, "vertex_credentials"));
    return key && !other ? gemini : pdl_provider_find(PDL_STR("vertex_ai"));
}

static const pdl_provider *find_bare(pdl_str model) {
    for (size_t i = 0; i < sizeof bare_names / sizeof bare_names[0]; i++)
        if (pdl_str_starts(model, pdl_str_of(bare_names[i].start)))
            return pdl_provider_find(pdl_str_of(bare_names[i].prefix));
    size_t v = pdl_str_rfind(model, PDL_STR("-v"));
    if (v == PDL_NOT_FOUND || v + 2 >= model.n || model.p[v + 2] < '0' || model.p[v + 2] > '9')
        return NULL;
    for (size_t i = 0; i < sizeof bedrock_vendors / sizeof bedrock_vendors[0]; i++)
        if (pdl_str_starts(model, pdl_str_of(bedrock_vendors[i])))
            return pdl_provider_find(PDL_STR("bedrock"));
    return NULL;
}

bool pdl_route_find(pdl_str model, pdl_str platform, pdl_vref params, const pdl_env *env,
                    pdl_route *r, pdl_err *err) {
    pdl_str custom = text_param(params, "custom_llm_provider");
    size_t slash = pdl_str_find(model, PDL_STR("/"), 0);
    r->name = model;
    if (pdl_str_is(platform, "openai")) {
        r->provider = pdl_provider_find(PDL_STR("openai"));
        return true;
    }
    if (custom.n) {
        r->provider = pdl_provider_find(custom);
    } else if (slash != PDL_NOT_FOUND &&
               (r->provider = pdl_provider_find(pdl_str_sub(model, 0, slash)))) {
        r->name = pdl_str_sub(model, slash + 1, model.n);
    } else if (!(r->provider = find_by_base(given_base(params)))) {
        r->provider =
            pdl_str_starts(model, PDL_STR("gemini-")) ? find_google(params, env) : find_bare(model);
    }
    if (r->provider) return true;
    return pdl_err_set(err, PDL_E_unknown_provider, (pdl_loc){0},
                       "LLM Provider NOT provided. Pass in the LLM provider you are trying to "
                       "call. You passed model=%.*s",
                       PDL_FMT(model));
}

/* --- address and key -------------------------------------------------------------------------- */

/* Finds the first variable of the list that is set. *which gets its name, a slice of names. */
static const char *first_of(const char *names, const pdl_env *env, pdl_str *which) {
    char name[64];
    for (pdl_str rest = pdl_str_of(names); rest.n;) {
        *which = pdl_str_take(&rest, PDL_STR(" "));
        if (which->n && which->n < sizeof name) {
            memcpy(name, which->p, which->n);
            name[which->n] = 0;
            const char *v = pdl_env_get(env, name);
            if (v) return v;
        }
    }
    *which = (pdl_str){0};
    return NULL;
}

static const char *first_set(const char *names, const pdl_env *env) {
    pdl_str ignored;
    return first_of(names, env, &ignored);
}

enum { MAX_NAME = 80 };

static void provider_variable(const pdl_provider *p, const char *end, char name[MAX_NAME]) {
    const char *prefix = p->prefix;
    size_t n = 0, m = strlen(end) + 1;
    for (; prefix[n] && n < MAX_NAME - m; n++)
        name[n] = prefix[n] == '-'                       ? '_'
                  : prefix[n] >= 'a' && prefix[n] <= 'z' ? (char)(prefix[n] - 'a' + 'A')
                                                         : prefix[n];
    memcpy(name + n, end, m);
}

const char *pdl_provider_env(const pdl_provider *p, const char *end, const pdl_env *env) {
    char name[MAX_NAME];
    provider_variable(p, end, name);
    return pdl_env_get(env, name);
}

void pdl_provider_name_env(const pdl_provider *p, const char *end, pdl_err *err) {
    char name[MAX_NAME];
    provider_variable(p, end, name);
    pdl_err named = {0};
    pdl_err_set(&named, err->kind, err->loc, "%s: %s", name, err->msg);
    pdl_err_fini(err);
    *err = named;
}

pdl_str pdl_setting(const char *names, pdl_vref params, const pdl_env *env) {
    char name[64];
    for (pdl_str rest = pdl_str_of(names); rest.n;) {
        pdl_str word = pdl_str_take(&rest, PDL_STR(" ")), found = {0};
        if (word.n && word.n < sizeof name) {
            memcpy(name, word.p, word.n);
            name[word.n] = 0;
            found =
                word.p[0] >= 'a' ? text_param(params, name) : pdl_str_of(pdl_env_get(env, name));
            if (found.n) return found;
        }
    }
    return (pdl_str){0};
}

/* Returns true for a text that may become part of a hostname: it contains nothing that could
 * name another host. */
static bool is_label(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') &&
            s.p[i] != '-')
            return false;
    return s.n > 0;
}

/* Appends the default address with its ${names} replaced. */
static bool put_default(const pdl_provider *p, pdl_vref params, const pdl_env *env, pdl_buf *out,
                        pdl_err *err) {
    pdl_str s = pdl_str_of(p->base);
    size_t at = pdl_str_find(s, PDL_STR("${"), 0), end;
    if (at == PDL_NOT_FOUND) {
        pdl_buf_put(out, without_slash(s));
        return true;
    }
    end = pdl_str_find(s, PDL_STR("}"), at);
    pdl_str names = pdl_str_sub(s, at + 2, end);
    char *z = pdl_str_dup(names);
    pdl_str v = pdl_setting(z, params, env);
    pdl_free(z);
    if (v.n == 0)
        return pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "set %.*s or %s", PDL_FMT(names),
                           p->base_env);
    if (!is_label(v))
        return pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                           "%.*s: %.*s cannot be a part of an address", PDL_FMT(names), PDL_FMT(v));
    pdl_buf_put(out, pdl_str_sub(s, 0, at));
    pdl_buf_put(out, v);
    pdl_buf_put(out, without_slash(pdl_str_sub(s, end + 1, s.n)));
    return true;
}

/* Returns the address in the variables of the provider; name gets the variable that has it. A
 * variable <PREFIX>_API_BASE exists for every provider, so that gateways and tests need no
 * option. */
static pdl_str base_of_variables(const pdl_provider *p, const pdl_env *env, char name[MAX_NAME]) {
    pdl_str which;
    const char *v = first_of(p->base_env, env, &which);
    provider_variable(p, "_API_BASE", name);
    if (!v) return pdl_str_of(pdl_env_get(env, name));
    memcpy(name, which.p, which.n);
    name[which.n] = 0;
    return pdl_str_of(v);
}

/* Notes the variable of a file `.env` that chooses where the key goes. A variable that only repeats
 * the provider's default address chooses nothing, so it is not noted. */
static void note_file(pdl_route *r, const char *name, const pdl_env *env) {
    pdl_str own = without_slash(pdl_str_of(r->provider->base));
    const char *v = pdl_env_get(env, name);
    if (!v || !env->of_file || env->of_file(env->user, name) != v) return;
    if (!pdl_str_eq(own, without_slash(pdl_str_of(v))))
        memcpy(r->file_variable, name, strlen(name) + 1);
}

static bool find_base(pdl_route *r, pdl_vref params, const pdl_env *env, pdl_err *err) {
    const pdl_provider *p = r->provider;
    pdl_str given = given_base(params);
    char name[MAX_NAME];
    r->base = PDL_BUF;
    r->file_variable[0] = 0;
    if (p->quirks & PDL_Q_WATSONX) {
        if (given.n == 0) given = text_param(params, "url");
        note_file(r, "WATSONX_IAM_URL", env); /* the key is sent to the address in this variable */
    }
    r->base_named = given.n > 0;
    if (given.n == 0) {
        given = base_of_variables(p, env, name);
        if (given.n) note_file(r, name, env);
    }
    r->base_given = given.n > 0;
    if (given.n) {
        pdl_buf_put(&r->base, without_slash(pdl_str_trim(given)));
        return true;
    }
    if (p->base) return put_default(p, params, env, &r->base, err);
    if (p->quirks & PDL_Q_WATSONX)
        return pdl_err_set(
            err, PDL_E_config, (pdl_loc){0},
            "Watsonx URL not set. Set WATSONX_API_BASE in environment variables or pass in as "
            "a parameter.");
    return pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "no address: give parameters.api_base%s%s",
                       p->base_env[0] ? " or set " : "", p->base_env);
}

bool pdl_key_missing(const pdl_provider *p, pdl_err *err) {
    pdl_buf names = PDL_BUF;
    for (const char *c = p->key_env; *c; c++)
        pdl_buf_put(&names, *c == ' ' ? PDL_STR(" or ") : (pdl_str){c, 1});
    pdl_err_set(err, PDL_E_auth, (pdl_loc){0},
                "Missing credentials: set %s or give parameters.api_key", pdl_buf_z(&names));
    pdl_buf_fini(&names);
    return false;
}

/* Refuses a call whose key is only in the environment of the process while its address comes from a
 * file `.env` or from confined code, because the key must not be sent there. */
static bool withhold_key(const pdl_route *r, const pdl_env *env, pdl_err *err) {
    pdl_env all = *env;
    pdl_str which;
    all.file_keys_only = false;
    if (!env->file_keys_only || !first_of(r->provider->key_env, &all, &which)) return true;
    pdl_buf base = PDL_BUF;
    pdl_address_put(pdl_buf_str(&r->base), &base);
    if (env->keeps_keys && r->base_named)
        pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                    "the key %.*s of the environment is not sent to %s, which code in a sandbox "
                    "has named",
                    PDL_FMT(which), pdl_buf_z(&base));
    else
        pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                    "the key %.*s of the environment is not sent to %s, the %s of a file .env",
                    PDL_FMT(which), pdl_buf_z(&base), r->file_variable);
    pdl_buf_fini(&base);
    return false;
}

static bool find_key(pdl_route *r, pdl_vref params, const pdl_env *env, pdl_err *err) {
    const pdl_provider *p = r->provider;
    pdl_str key = text_param(params, "api_key");
    r->key = PDL_BUF;
    if (key.n == 0 && p->quirks & PDL_Q_WATSONX) key = text_param(params, "apikey");
    if (key.n == 0) key = pdl_str_of(first_set(p->key_env, env));
    if (key.n) pdl_buf_put(&r->key, key);
    if (key.n == 0 && !withhold_key(r, env, err)) return false;
    return key.n || !(p->quirks & PDL_Q_KEY) || pdl_key_missing(p, err);
}

bool pdl_route_reach(pdl_route *r, pdl_vref params, pdl_env *env, pdl_err *err) {
    if (!find_base(r, params, env, err)) return false;
    bool keeps_all = env->keeps_keys && r->base_named;
    env->file_keys_only = keeps_all || r->file_variable[0] != 0;
    if (keeps_all) env->of_file = NULL;
    return find_key(r, params, env, err);
}

void pdl_route_fini(pdl_route *r) {
    pdl_buf_fini(&r->base);
    if (r->key.p) pdl_os_wipe(r->key.p, r->key.cap);
    pdl_buf_fini(&r->key);
    *r = (pdl_route){0};
}
