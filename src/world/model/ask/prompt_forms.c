/* prompt_forms.c -- writes a conversation as one text in the form that a family of models was
 * trained on; see prompt_forms.h (spec providers 12, 13.1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/prompt_forms.h"

#include "model/ask/messages.h"

#include "base/banned.h"

typedef enum { ROLE_USER, ROLE_SYSTEM, ROLE_ASSISTANT } role;

/* The text around the contents of each role, and around all of them. */
typedef struct prompt_frame {
    const char *begin, *end;
    struct {
        const char *before, *after;
    } role[3];
    bool trim; /* removes blanks at both ends of the prompt */
} frame;

static const frame frames[] = {
    [PDL_PROMPT_GRANITE] =
        {"", "", {{"<|user|>\n", "\n<|assistant|>\n"}, {"<|system|>\n", "\n"}, {"", "\n"}}, true},
    [PDL_PROMPT_MISTRAL] = {"<s>",
                            "",
                            {{"[INST] ", " [/INST]\n"},
                             {"[INST] \n", " [/INST]\n"},
                             {" ", "</s> "}},
                            false},
};

static role role_of(pdl_vref m) {
    pdl_str r = pdl_message_role(m);
    return pdl_str_is(r, "system")      ? ROLE_SYSTEM
           : pdl_str_is(r, "assistant") ? ROLE_ASSISTANT
                                        : ROLE_USER;
}

static void put_framed(pdl_vref messages, const frame *f, pdl_buf *out) {
    pdl_buf all = PDL_BUF;
    pdl_buf_put(&all, pdl_str_of(f->begin));
    for (size_t i = 0; i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        if (!pdl_is_dict(m)) continue;
        role r = role_of(m);
        pdl_buf_put(&all, pdl_str_of(f->role[r].before));
        pdl_message_text(pdl_dict_getz(m, "content"), &all);
        pdl_buf_put(&all, pdl_str_of(f->role[r].after));
    }
    pdl_buf_put(&all, pdl_str_of(f->end));
    pdl_buf_put(out, f->trim ? pdl_str_trim(pdl_buf_str(&all)) : pdl_buf_str(&all));
    pdl_buf_fini(&all);
}

static void put_llama3(pdl_vref messages, const char *gap, pdl_buf *out) {
    PDL_PUT(out, "<|begin_of_text|>");
    for (size_t i = 0; i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        if (!pdl_is_dict(m)) continue;
        pdl_str r = pdl_message_role(m);
        if (r.n == 0) r = PDL_STR("user");
        pdl_buf_putf(out, "<|start_header_id|>%.*s<|end_header_id|>%s", PDL_FMT(r), gap);
        pdl_message_text(pdl_dict_getz(m, "content"), out);
        PDL_PUT(out, "<|eot_id|>");
    }
    pdl_buf_putf(out, "<|start_header_id|>assistant<|end_header_id|>%s", gap);
}

static void put_joined(pdl_vref messages, pdl_buf *out) {
    for (size_t i = 0; i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        if (i) pdl_buf_putc(out, ' ');
        if (pdl_is_dict(m)) pdl_message_text(pdl_dict_getz(m, "content"), out);
    }
}

void pdl_prompt_write(pdl_vref messages, pdl_vref params, pdl_prompt_form form, pdl_buf *out) {
    if (!pdl_is_list(messages)) return;
    if (pdl_is_dict(pdl_dict_getz(params, "roles"))) {
        pdl_messages_by_roles(messages, params, out);
        return;
    }
    switch (form) {
    case PDL_PROMPT_JOIN: put_joined(messages, out); return;
    case PDL_PROMPT_GRANITE:
    case PDL_PROMPT_MISTRAL: put_framed(messages, &frames[form], out); return;
    case PDL_PROMPT_LLAMA3: put_llama3(messages, "\n", out); return;
    case PDL_PROMPT_LLAMA3_WIDE: put_llama3(messages, "\n\n", out); return;
    }
}
