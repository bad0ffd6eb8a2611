/* prices.c -- reads the table of prices, finds the row of a model and computes costs; see
 * prices.h. The file also estimates the tokens of a request before it is sent, for budgets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/prices.h"

#include <math.h>

#include "base/glob.h"
#include "model/ask/params.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

struct pdl_prices {
    pdl_val table; /* dict: glob (in LiteLLM's table: name) -> price; checked when it was read */
};

static bool amount(pdl_vref v, double *out) {
    if (!pdl_is_int(v) && !pdl_is(v, PDL_V_FLOAT)) return false;
    *out = pdl_num_to_double(v);
    return *out >= 0 && isfinite(*out);
}

/* A price above this is a mistake, and costs that are computed from it might not be finite. */
static const double MAX_PRICE = 1e9;

static bool price_of_token(pdl_vref v, double *out) { return amount(v, out) && *out <= MAX_PRICE; }

/* Reads {"input": $, "output": $, "cached_input": $, "cache_write": $}; the first two are
 * required. */
static bool read_row(pdl_vref row, pdl_price *out) {
    if (!pdl_is_dict(row)) return false;
    pdl_vref cached = pdl_dict_getz(row, "cached_input");
    pdl_vref written = pdl_dict_getz(row, "cache_write");
    if (!price_of_token(pdl_dict_getz(row, "input"), &out->input) ||
        !price_of_token(pdl_dict_getz(row, "output"), &out->output))
        return false;
    out->cached_input = out->cache_write = out->input;
    return (pdl_is_absent(cached) || price_of_token(cached, &out->cached_input)) &&
           (pdl_is_absent(written) || price_of_token(written, &out->cache_write));
}

/* Returns true for a row of LiteLLM's table. Such a row names the service of the model, or has a
 * price under LiteLLM's name. Rows of libpdl's form have neither. */
static bool is_litellm(pdl_vref row) {
    return pdl_is_dict(row) && (pdl_is_str(pdl_dict_getz(row, "litellm_provider")) ||
                                !pdl_is_absent(pdl_dict_getz(row, "input_cost_per_token")));
}

/* Reads a row of LiteLLM's table. Returns false when it has no price per token (image models
 * have none). */
static bool read_litellm(pdl_vref row, pdl_price *out) {
    pdl_vref mode = pdl_dict_getz(row, "mode");
    pdl_vref output = pdl_dict_getz(row, "output_cost_per_token");
    bool vectors = pdl_is_absent(output) && pdl_text_is(mode, "embedding");
    *out = (pdl_price){0};
    if (!price_of_token(pdl_dict_getz(row, "input_cost_per_token"), &out->input) ||
        (!vectors && !price_of_token(output, &out->output)))
        return false;
    if (!price_of_token(pdl_dict_getz(row, "cache_read_input_token_cost"), &out->cached_input))
        out->cached_input = out->input;
    if (!price_of_token(pdl_dict_getz(row, "cache_creation_input_token_cost"), &out->cache_write))
        out->cache_write = out->input;
    return true;
}

/* Returns true when the row is for this model. The key of a row is the name of the model, alone or
 * after its service. A service may have several names in such keys, such as "bedrock_converse" and
 * "vertex_ai-language-models". */
static bool litellm_fits(pdl_str key, pdl_vref row, pdl_str model) {
    if (pdl_str_eq(key, model)) return true;
    size_t slash = pdl_str_find(model, PDL_STR("/"), 0);
    pdl_vref service = pdl_dict_getz(row, "litellm_provider");
    if (slash == PDL_NOT_FOUND || !slash || !pdl_is_str(service)) return false;
    pdl_str provider = pdl_str_get(service);
    return pdl_str_eq(key, pdl_str_sub(model, slash + 1, model.n)) &&
           pdl_str_starts(provider, pdl_str_sub(model, 0, slash)) &&
           (provider.n == slash || provider.p[slash] == '_' || provider.p[slash] == '-');
}

/* Returns the row that has the prices. A row of LiteLLM's table may only name the row that has them
 * (`alias_of`); any other row has its prices itself. Returns absent when the named row does not
 * exist. */
static pdl_vref followed(pdl_vref table, pdl_vref row) {
    enum { MAX_NAMES = 8 };
    for (int i = 0; i < MAX_NAMES && pdl_is_str(pdl_member(row, "alias_of")); i++)
        row = pdl_dict_find(table, pdl_member(row, "alias_of"));
    return row;
}

bool pdl_prices_read(pdl_str text, const char *name, pdl_prices **out, pdl_err *err) {
    static const char form[] =
        "{\"MODEL GLOB\": {\"input\": PRICE, \"output\": PRICE}}, for one token, or LiteLLM's "
        "table";
    pdl_val table;
    pdl_err why = {0};
    pdl_price ignored;
    if (!pdl_json_read_document(text, 0, &table, &why)) {
        pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "the table of prices %s is not JSON: %s", name,
                    why.msg);
        pdl_err_fini(&why);
        return false;
    }
    bool ok = pdl_is_dict(table);
    if (!ok)
        pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "the table of prices %s should be %s", name,
                    form);
    /* Only LiteLLM's own file has the row sample_spec. That file also has objects that describe no
     * model, so its rows are not checked. */
    bool skips = ok && pdl_is_dict(pdl_dict_getz(table, "sample_spec"));
    for (size_t i = 0; ok && !skips && i < pdl_dict_len(table); i++) {
        pdl_vref row = followed(table, pdl_dict_val_at(table, i));
        ok = is_litellm(row) || read_row(row, &ignored);
        if (!ok)
            pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                        "the table of prices %s: '%.*s' should be %s", name,
                        PDL_FMT(pdl_str_get(pdl_dict_key_at(table, i))), form);
    }
    if (!ok) {
        pdl_drop(table);
        return false;
    }
    *out = PDL_NEW(pdl_prices);
    (*out)->table = table;
    return true;
}

void pdl_prices_free(pdl_prices *p) {
    if (!p) return;
    pdl_drop(p->table);
    pdl_free(p);
}

/* Reads a price among the parameters of a block, where 1e-6 is a text: YAML wants 1.0e-6. */
static bool price_given(pdl_vref parameters, const char *name, double *out) {
    *out = pdl_params_number(parameters, name, -1);
    return *out >= 0 && *out <= MAX_PRICE;
}

/* Returns how many tokens of the prompt came from a cache. DeepSeek has its own name for them. */
static double cached_of(pdl_vref usage) {
    pdl_vref details = pdl_dict_getz(usage, "prompt_tokens_details");
    double n;
    if (pdl_is_dict(details) && amount(pdl_dict_getz(details, "cached_tokens"), &n)) return n;
    return amount(pdl_dict_getz(usage, "prompt_cache_hit_tokens"), &n) ? n : 0;
}

/* Returns how many tokens of the prompt were written into a cache. All dialects here use
 * Anthropic's name of this count. Gateways use two other names. */
static double written_of(pdl_vref usage) {
    static const char *const names[] = {"cache_creation_tokens", "cache_write_tokens"};
    pdl_vref details = pdl_dict_getz(usage, "prompt_tokens_details");
    double n;
    if (amount(pdl_dict_getz(usage, "cache_creation_input_tokens"), &n)) return n;
    for (size_t i = 0; pdl_is_dict(details) && i < sizeof names / sizeof *names; i++)
        if (amount(pdl_dict_getz(details, names[i]), &n)) return n;
    return 0;
}

bool pdl_price_find(const pdl_prices *p, pdl_str model, pdl_vref parameters, pdl_price *out) {
    if (pdl_is_dict(parameters) && price_given(parameters, "input_cost_per_token", &out->input) &&
        price_given(parameters, "output_cost_per_token", &out->output)) {
        out->cached_input = out->cache_write = out->input;
        return true;
    }
    for (size_t i = p ? pdl_dict_len(p->table) : 0; i-- > 0;) {
        pdl_str key = pdl_str_get(pdl_dict_key_at(p->table, i));
        pdl_vref row = followed(p->table, pdl_dict_val_at(p->table, i));
        if (is_litellm(row) ? litellm_fits(key, row, model) && read_litellm(row, out)
                            : pdl_glob_fits(key, model, PDL_GLOB_ONE | PDL_GLOB_SETS))
            return is_litellm(row) || read_row(row, out);
    }
    return false;
}

double pdl_price_of_prompt(const pdl_price *price) {
    return fmax(price->input, price->cache_write);
}

bool pdl_price_of(const pdl_price *price, pdl_vref usage, double *out) {
    double prompt, completion;
    if (!pdl_is_dict(usage) || !amount(pdl_dict_getz(usage, "prompt_tokens"), &prompt))
        return false;
    if (!amount(pdl_dict_getz(usage, "completion_tokens"), &completion)) completion = 0;
    double cached = fmin(cached_of(usage), prompt);
    double written = fmin(written_of(usage), prompt - cached);
    *out = (prompt - cached - written) * price->input + cached * price->cached_input +
           written * price->cache_write + completion * price->output;
    return isfinite(*out);
}

pdl_val pdl_prices_mark(const pdl_prices *p, pdl_str model, pdl_vref parameters, pdl_val raw) {
    pdl_price price;
    double cost;
    pdl_vref usage = pdl_is_dict(raw) ? pdl_dict_getz(raw, "usage") : pdl_absent();
    if (!pdl_is_dict(usage) || !pdl_is_absent(pdl_dict_getz(usage, "cost"))) return raw;
    if (!pdl_price_find(p, model, parameters, &price) || !pdl_price_of(&price, usage, &cost))
        return raw;
    return pdl_dict_putz(raw, "usage", pdl_dict_putz(pdl_keep(usage), "cost", pdl_float(cost)));
}

/* --- estimates -------------------------------------------------------------------------------- */

enum { LETTERS_OF_TOKEN = 4, TOKENS_OF_MESSAGE = 4 };

static int64_t of_text(pdl_str s) {
    int64_t ascii = 0, other = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        ascii += c < 0x80;
        other += c >= 0xc0; /* counts only the first byte of each character that is not ASCII */
    }
    return (ascii + LETTERS_OF_TOKEN - 1) / LETTERS_OF_TOKEN + other;
}

static int64_t of_json(pdl_vref v) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_is_absent(v) || pdl_is_null(v)) return 0;
    if (!pdl_json_write(v, 0, 0, &b, &ignored)) pdl_err_fini(&ignored);
    int64_t n = of_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return n;
}

/* Estimates a content, which is a text or a list of parts. */
static int64_t of_content(pdl_vref content) {
    int64_t n = 0;
    if (pdl_is_str(content)) return of_text(pdl_str_get(content));
    if (!pdl_is_list(content)) return of_json(content);
    for (size_t i = 0; i < pdl_list_len(content); i++) {
        pdl_vref part = pdl_list_at(content, i);
        pdl_vref text = pdl_is_dict(part) ? pdl_dict_getz(part, "text") : part;
        n += pdl_is_str(text) ? of_text(pdl_str_get(text)) : PDL_TOKENS_OF_MEDIA;
    }
    return n;
}

int64_t pdl_tokens_estimate(pdl_vref request) {
    pdl_vref messages = pdl_dict_getz(request, "messages"),
             p = pdl_dict_getz(request, "parameters");
    int64_t n = pdl_is_list(messages) ? 0 : of_content(pdl_dict_getz(request, "input"));
    for (size_t i = 0; pdl_is_list(messages) && i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        n += TOKENS_OF_MESSAGE;
        if (pdl_is_dict(m))
            n += of_content(pdl_dict_getz(m, "content")) + of_json(pdl_dict_getz(m, "tool_calls"));
    }
    if (pdl_is_dict(p))
        n += of_json(pdl_dict_getz(p, "tools")) + of_json(pdl_dict_getz(p, "response_format"));
    return n + of_json(pdl_dict_getz(request, "schema"));
}

int64_t pdl_tokens_allowed(pdl_vref parameters) {
    static const char *const names[] = {"max_completion_tokens", "max_tokens", "max_new_tokens",
                                        "num_predict"};
    double n;
    for (size_t i = 0; pdl_is_dict(parameters) && i < sizeof names / sizeof names[0]; i++)
        if (amount(pdl_dict_getz(parameters, names[i]), &n))
            return n < 1e12 ? (int64_t)n : (int64_t)1e12;
    return 0;
}
