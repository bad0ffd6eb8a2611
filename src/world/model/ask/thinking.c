/* thinking.c -- the tables of thinking.h, by the names of models. Services refuse the form of an
 * older or newer model, so the rows follow their documentation, and a new family of models is a new
 * row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/thinking.h"

#include "base/banned.h"

/* Selects models by their names. The name has the part `name`, directly after this part a version
 * of at least major.minor, and the part `also` anywhere. */
typedef struct since {
    const char *name;
    int major, minor;
    const char *also;
} since;

/* The last row that fits counts. */
static const struct {
    since models;
    pdl_thinking form;
} forms[] = {
    {{"claude-opus-", 4, 7, ""}, PDL_THINKING_ADAPTIVE},
    {{"claude-opus-", 5, 0, ""}, PDL_THINKING_ALWAYS},
    {{"claude-sonnet-", 5, 0, ""}, PDL_THINKING_ALWAYS},
    {{"claude-haiku-", 5, 0, ""}, PDL_THINKING_ALWAYS},
    {{"claude-fable-", 0, 0, ""}, PDL_THINKING_ALWAYS},
    {{"claude-mythos-", 0, 0, ""}, PDL_THINKING_ALWAYS},
    {{"gemini-", 3, 0, ""}, PDL_THINKING_LEVEL},
    {{"gemini-", 3, 0, "flash"}, PDL_THINKING_LEVEL_ALL},
    {{"gemini-3-pro", 0, 0, ""}, PDL_THINKING_LEVEL_TWO},
};

/* The last row that fits counts; models without a row take all parameters. */
static const struct {
    since models;
    pdl_sampling takes;
} samplings[] = {
    {{"claude-opus-", 4, 1, ""}, PDL_SAMPLING_ONE},
    {{"claude-sonnet-", 4, 5, ""}, PDL_SAMPLING_ONE},
    {{"claude-haiku-", 4, 5, ""}, PDL_SAMPLING_ONE},
    {{"claude-opus-", 4, 7, ""}, PDL_SAMPLING_NONE},
    {{"claude-sonnet-", 5, 0, ""}, PDL_SAMPLING_NONE},
    {{"claude-haiku-", 5, 0, ""}, PDL_SAMPLING_NONE},
    {{"claude-fable-", 0, 0, ""}, PDL_SAMPLING_NONE},
    {{"claude-mythos-", 0, 0, ""}, PDL_SAMPLING_NONE},
};

/* Each row is a word of reasoning_effort with its meaning for each form. A level that a form lacks
 * is replaced by the next higher one. */
static const struct {
    const char *word;
    int64_t tokens;     /* Anthropic: the budget; with 0 the model is not asked to think */
    const char *effort; /* Anthropic: output_config.effort */
    const char *level, *end, *least; /* Google: one column for each form of levels */
    int64_t google_tokens;           /* Google: the budget of models without levels */
} efforts[] = {
    {"none", 0, "low", "low", "low", "minimal", 0},
    {"disable", 0, "low", "low", "low", "minimal", 0},
    {"minimal", 1024, "low", "low", "low", "minimal", 128},
    {"low", 1024, "low", "low", "low", "low", 1024},
    {"medium", 2048, "medium", "medium", "high", "medium", 2048},
    {"high", 4096, "high", "high", "high", "high", 4096},
    {"xhigh", 8192, "xhigh", "high", "high", "high", 8192},
    {"max", 16384, "max", "high", "high", "high", 16384},
};

enum { N_EFFORTS = sizeof efforts / sizeof efforts[0] };

/* Reads a part of a version. Returns 0 when there is no number, and for a number with more than two
 * digits, which is a date. */
static int read_part(pdl_str *rest) {
    enum { LONGEST = 2 };
    int n = 0;
    size_t i = 0;
    for (; i < rest->n && rest->p[i] >= '0' && rest->p[i] <= '9'; i++)
        if (i < LONGEST) n = n * 10 + (rest->p[i] - '0');
    *rest = pdl_str_sub(*rest, i, rest->n);
    return i > LONGEST ? 0 : n;
}

static bool is_since(pdl_str model, const since *row) {
    pdl_str name = pdl_str_of(row->name);
    size_t at = pdl_str_find(model, name, 0);
    if (at == PDL_NOT_FOUND) return false;
    pdl_str rest = pdl_str_sub(model, at + name.n, model.n);
    int major = read_part(&rest), minor = 0;
    bool has_minor = rest.n && (rest.p[0] == '-' || rest.p[0] == '.');
    if (has_minor) rest = pdl_str_sub(rest, 1, rest.n);
    if (has_minor) minor = read_part(&rest);
    bool is_new = major != row->major ? major > row->major : minor >= row->minor;
    return is_new && pdl_str_find(model, pdl_str_of(row->also), 0) != PDL_NOT_FOUND;
}

pdl_thinking pdl_thinking_of(pdl_str model) {
    pdl_thinking found = PDL_THINKING_BUDGET;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (is_since(model, &forms[i].models)) found = forms[i].form;
    return found;
}

pdl_sampling pdl_sampling_of(pdl_str model) {
    pdl_sampling found = PDL_SAMPLING_ALL;
    for (size_t i = 0; i < sizeof samplings / sizeof samplings[0]; i++)
        if (is_since(model, &samplings[i].models)) found = samplings[i].takes;
    return found;
}

/* Returns the row of a word, or N_EFFORTS. */
static size_t find_effort(pdl_vref effort) {
    size_t i = 0;
    while (i < N_EFFORTS && !pdl_text_is(effort, efforts[i].word)) i++;
    return i;
}

int64_t pdl_thinking_tokens(pdl_vref effort) {
    size_t i = find_effort(effort);
    return i < N_EFFORTS ? efforts[i].tokens : 0;
}

int64_t pdl_thinking_google_tokens(pdl_vref effort) {
    size_t i = find_effort(effort);
    return i < N_EFFORTS ? efforts[i].google_tokens : -1;
}

static pdl_val put_effort(pdl_val fields, const char *word) {
    pdl_vref own = pdl_dict_getz(fields, "output_config");
    if (pdl_is_dict(own) && !pdl_is_absent(pdl_dict_getz(own, "effort"))) return fields;
    pdl_val config = pdl_is_dict(own) ? pdl_keep(own) : pdl_dict_new(1);
    return pdl_dict_putz(fields, "output_config", pdl_dict_putz(config, "effort", pdl_textz(word)));
}

pdl_val pdl_thinking_put(pdl_thinking form, pdl_vref effort, pdl_val fields) {
    size_t i = find_effort(effort);
    if (i == N_EFFORTS) return fields;
    if (form == PDL_THINKING_ALWAYS) return put_effort(fields, efforts[i].effort);
    if (efforts[i].tokens == 0) return fields;
    bool adapts = form == PDL_THINKING_ADAPTIVE;
    if (adapts) fields = put_effort(fields, efforts[i].effort);
    if (!pdl_is_absent(pdl_dict_getz(fields, "thinking"))) return fields;
    pdl_val t = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz(adapts ? "adaptive" : "enabled"));
    if (!adapts) t = pdl_dict_putz(t, "budget_tokens", pdl_int(efforts[i].tokens));
    return pdl_dict_putz(fields, "thinking", t);
}

bool pdl_thinking_is_on(pdl_thinking form, pdl_vref fields) {
    pdl_vref own = pdl_is_dict(fields) ? pdl_dict_getz(fields, "thinking") : pdl_absent(),
             type = pdl_is_dict(own) ? pdl_dict_getz(own, "type") : pdl_absent();
    return form == PDL_THINKING_ALWAYS || pdl_text_is(type, "enabled") ||
           pdl_text_is(type, "adaptive");
}

pdl_val pdl_thinking_level(pdl_thinking form, pdl_vref effort) {
    size_t i = find_effort(effort);
    if (i == N_EFFORTS) return pdl_absent();
    const char *word = form == PDL_THINKING_LEVEL_ALL   ? efforts[i].least
                       : form == PDL_THINKING_LEVEL_TWO ? efforts[i].end
                                                        : efforts[i].level;
    return pdl_textz(word);
}
