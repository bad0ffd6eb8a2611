/* mock_answer.h -- an answer that is being sent, and the interfaces in which it can be written.
 * Private to mock. The content of the answer is decided in one place (mock_content.c) for all
 * interfaces. A form is an interface: it writes that content, whole or in the pieces of a stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MOCK_MOCK_ANSWER_H
#define PDL_MOCK_MOCK_ANSWER_H

#include "io/httpd.h"
#include "mock/mock.h"
#include "mock/script.h"

enum { PDL_MOCK_ID_BYTES = 48 };

/* maximum number of choices of a request, the same as in OpenAI's service */
enum { PDL_MOCK_MAX_CHOICES = 128 };

typedef struct pdl_mock_answer pdl_mock_answer;

/* An interface of model servers. */
typedef struct pdl_mock_form {
    const char *path;    /* the path after /v1, or the whole path of an interface without /v1 */
    const char *streams; /* content type of a stream */
    bool by_prompt;      /* the request has a prompt, not messages */
    bool by_default;     /* the answer streams unless the request says `stream: false` */
    bool has_n;          /* the request may ask for several choices, by `n` */
    pdl_val (*whole)(const pdl_mock_answer *a);
    /* NULL when the server sends no bytes before the first word */
    void (*begin)(const pdl_mock_answer *a);
    void (*word)(const pdl_mock_answer *a, pdl_str word);
    void (*end)(const pdl_mock_answer *a); /* writes the end of a choice */
    /* writes the end of the answer; NULL when nothing is written there */
    void (*done)(const pdl_mock_answer *a);
    pdl_val (*error)(int status, pdl_str why);
} pdl_mock_form;

/* The first two are interfaces of OpenAI (form_openai.c), the others of Ollama (form_ollama.c). */
extern const pdl_mock_form pdl_mock_chat, pdl_mock_completion;
extern const pdl_mock_form pdl_mock_ollama_chat, pdl_mock_ollama_generate;

/* A choice of an answer. */
typedef struct pdl_mock_choice {
    pdl_val message;           /* {role, content, reasoning_content, tool_calls}; owned */
    const pdl_mock_item *item; /* NULL when no item answers; borrowed */
} pdl_mock_choice;

/* An answer that is being sent; it ends with its exchange. */
struct pdl_mock_answer {
    const pdl_mock_options *opt;
    const pdl_mock_form *form;
    pdl_exchange *x;
    pdl_timer *timer; /* NULL while the answer does not wait */
    pdl_val request;  /* owned */
    /* The choice that the functions of a form write, and its number. This is the first choice until
     * a stream has sent it. Borrowed from the list, which always has a choice. */
    pdl_vref message;
    const pdl_mock_item *item;
    size_t choice;
    PDL_VEC(pdl_mock_choice) choices;
    char id[PDL_MOCK_ID_BYTES];
    bool streams, began;
    size_t at; /* how many bytes of the content were streamed */
};

/* Answers a request of this form. Takes request. */
void pdl_mock_answer_start(const pdl_mock_options *o, pdl_mock_script *script, uint64_t number,
                           const pdl_mock_form *form, pdl_exchange *x, pdl_val request);
void pdl_mock_answer_free(pdl_mock_answer *a); /* a may be NULL */
/* From now on, the functions of a form write this choice. */
void pdl_mock_choose(pdl_mock_answer *a, size_t choice);
void pdl_mock_choices_fini(pdl_mock_answer *a);

/* Chooses the item for the request of a, and makes the message, or the reason why the request is
 * refused (mock_content.c). */
void pdl_mock_decide(pdl_mock_answer *a, pdl_mock_script *script, uint64_t number);
pdl_str pdl_mock_why(const pdl_mock_answer *a);
/* Returns why the choice ended: the reason that its item gives, or else `otherwise`. */
const char *pdl_mock_reason(const pdl_mock_answer *a, const char *otherwise);
/* Returns a chat completion in the form of OpenAI. */
pdl_val pdl_mock_chat_whole(const pdl_mock_answer *a);

/* pdl_mock_send sends v (taken) as a whole answer; pdl_mock_refuse sends an error in the words of a
 * form. */
void pdl_mock_send(pdl_exchange *x, int status, pdl_val v);
void pdl_mock_refuse(const pdl_mock_form *form, pdl_exchange *x, int status, pdl_str why);

/* Appends v as JSON on one line. */
void pdl_mock_put_json(pdl_vref v, pdl_buf *out);

/* Appends the text of the request: the last message, or the prompt with this number. */
void pdl_mock_put_asked(const pdl_mock_answer *a, size_t number, pdl_buf *out);

/* These functions return facts about the answer. The text and the reasoning are borrowed; the
 * reasoning is empty when the answer has none. pdl_mock_said_to returns the text for one of several
 * prompts, owned. */
pdl_str pdl_mock_said(const pdl_mock_answer *a);
pdl_str pdl_mock_reasoning(const pdl_mock_answer *a);
pdl_val pdl_mock_said_to(const pdl_mock_answer *a, size_t number);
size_t pdl_mock_prompts(const pdl_mock_answer *a); /* 1 when the request has messages */
bool pdl_mock_has_calls(const pdl_mock_answer *a);

/* Returns the number of choices that a request asks for; -1 when it is not from 1 to
 * PDL_MOCK_MAX_CHOICES. */
int64_t pdl_mock_wanted(const pdl_mock_form *form, pdl_vref request);

/* These functions return numbers of words as estimates of tokens: of the request, of all choices
 * with their reasoning, and of the reasoning alone. */
int64_t pdl_mock_words_asked(const pdl_mock_answer *a);
int64_t pdl_mock_words_said(const pdl_mock_answer *a);
int64_t pdl_mock_words_reasoned(const pdl_mock_answer *a);

/* Returns the member `name` when it is true or false, and otherwise returns `otherwise`. */
bool pdl_mock_asks(pdl_vref request, const char *name, bool otherwise);

#endif
