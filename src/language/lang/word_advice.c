/* word_advice.c -- words of other tools (Python clients of models, CI pipelines, shells) that
 * people write in programs, and what PDL calls them. A word of another tool is rarely similar to a
 * word of PDL, so a suggestion by spelling would be missing or wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/loader.h"

#include "base/banned.h"

/* The next table has keys that PDL does not have in a block. A key that ends in a blank represents
 * all keys that begin with this text. ANY: the row is about every kind. */
enum { ANY = -1, NONE = -2 /* no key says which kind of block it is */ };

#define PARAMETER  "write it inside of `parameters: {...}`"
#define SENT       "what is sent is `input`; messages before it are blocks with a `role`"
#define LAST_CASE  "a last case without `case` fits everything: - then: ..."
#define THEN       "what a case gives is `then`"
#define PATTERN    "what a case is for is `case`"
#define TRIES      "how often it is tried again is `tries`"
#define DELAY      "the seconds between attempts are `delay`"
#define NUMBER     "a number of times is `maxIterations`"
#define REPEATED   "this block is written below `repeat:`, beside `for`, `while` or `maxIterations`"
#define EACH_CASE  "each case is an item of `with`: - case: ... and then: ..."
#define PARSED     "`json` reads numbers and booleans; the type of a result is `spec`"
#define SEPARATOR  "what is between the results is `with`"
#define FORMAT     "a format is one word: `parser: json`"
#define AS_REGEX   "write {regex: '...'}"
#define SHELL_FORM "a command is a block: lang: command, and code: ..."
#define ELSE_IF    "write else: {if: ..., then: ...}"
#define MODEL_NAME "write model: PROVIDER/NAME"
#define MODELS     "other models for a call that fails: parameters: {fallbacks: [PROVIDER/NAME]}"
#define JOINED     "results are joined by join: {as: ...}; an item is named in for: {NAME: ...}"
#define SYSTEM     "write a block {role: system, text: ...} before this one"
#define GIVEN      "a value comes from -d NAME=VALUE; its default is ${ NAME | default(VALUE) }"
#define GIVES      "`def` names a result, -o FILE writes it"
#define SHOULD_BE  "the type of the answer is `spec`"
#define BLOCKS     "write `text:` with a list of blocks"
#define WRITTEN    "`-o FILE` of the command writes the result; code writes other files"
#define NAMED      "the name of a result is `def`"
#define IN_DEFS    "variables are in `defs`"
#define ON_ERROR   "what runs after an error is `fallback`"
#define HIDDEN     "contribute: [] hides a result"
#define IN_ORDER   "blocks run in the order in which they are written"
#define ENVIRONS   "environment variables are given: -d home=\"$HOME\""
#define FETCHED    "stdlib.http(URL).text is a page"
#define ROUTED                                                                                     \
    "leave `platform` out: the model's name says which service answers, as in ollama/NAME"
#define BY_PYTHON "a block with `lang: python` can read it"
#define ASKED     "a question to a person is `read:` without a file, and `message: ...`"

static const struct {
    int kind;
    const char *word, *hint;
} keys[] = {
    {PDL_BLOCK_model, "messages", SENT},
    {PDL_BLOCK_model, "content", SENT},
    {PDL_BLOCK_model, "context", SENT},
    {PDL_BLOCK_model, "prompt_template", SENT},
    {PDL_BLOCK_model, "template", SENT},
    {PDL_BLOCK_model, "question", SENT},
    {PDL_BLOCK_model, "query", SENT},
    {PDL_BLOCK_model, "history", SENT},
    {PDL_BLOCK_model, "system_prompt", SYSTEM},
    {PDL_BLOCK_model, "system_message", SYSTEM},
    {PDL_BLOCK_model, "max_new_tokens", PARAMETER},
    {PDL_BLOCK_model, "decoding_method", PARAMETER},
    {PDL_BLOCK_model, "repetition_penalty", PARAMETER},
    {PDL_BLOCK_model, "functions", "write parameters: {tools: [...]}"},
    {PDL_BLOCK_model, "cache", "--cache FILE of the command keeps answers"},
    {PDL_BLOCK_model, "provider", MODEL_NAME},
    {PDL_BLOCK_model, "api_version", PARAMETER},
    {PDL_BLOCK_model, "keep_alive", PARAMETER},
    {PDL_BLOCK_model, "prompt", SENT},
    {PDL_BLOCK_model, "system", SYSTEM},
    {PDL_BLOCK_model, "instructions", SYSTEM},
    {PDL_BLOCK_model, "temperature", PARAMETER},
    {PDL_BLOCK_model, "max_tokens", PARAMETER},
    {PDL_BLOCK_model, "max_completion_tokens", PARAMETER},
    {PDL_BLOCK_model, "top_p", PARAMETER},
    {PDL_BLOCK_model, "top_k", PARAMETER},
    {PDL_BLOCK_model, "stop", PARAMETER},
    {PDL_BLOCK_model, "seed", PARAMETER},
    {PDL_BLOCK_model, "tools", PARAMETER},
    {PDL_BLOCK_model, "tool_choice", PARAMETER},
    {PDL_BLOCK_model, "api_key", PARAMETER},
    {PDL_BLOCK_model, "api_base", PARAMETER},
    {PDL_BLOCK_model, "base_url", "write parameters: {api_base: ...}"},
    {PDL_BLOCK_model, "response_format", SHOULD_BE},
    {PDL_BLOCK_model, "schema", SHOULD_BE},
    {PDL_BLOCK_model, "output_schema", SHOULD_BE},
    {PDL_BLOCK_model, "outputs", SHOULD_BE},
    {PDL_BLOCK_model, "llm", MODEL_NAME},
    {PDL_BLOCK_model, "stream", "answers are shown while they come; --stream says otherwise"},
    {PDL_BLOCK_model, "user", SENT},
    {PDL_BLOCK_model, "params", "write `parameters`"},
    {PDL_BLOCK_model, "options", "write `parameters`"},
    {PDL_BLOCK_model, "args", "write `parameters`"},
    {PDL_BLOCK_model, "timeout", PARAMETER},
    {PDL_BLOCK_model, "n", PARAMETER},
    {PDL_BLOCK_model, "num_retries", PARAMETER},
    {PDL_BLOCK_model, "presence_penalty", PARAMETER},
    {PDL_BLOCK_model, "frequency_penalty", PARAMETER},
    {PDL_BLOCK_model, "reasoning_effort", PARAMETER},
    {PDL_BLOCK_model, "thinking", PARAMETER},
    {PDL_BLOCK_model, "logprobs", PARAMETER},
    {PDL_BLOCK_model, "top_logprobs", PARAMETER},
    {PDL_BLOCK_model, "logit_bias", PARAMETER},
    {PDL_BLOCK_model, "modalities", PARAMETER},
    {PDL_BLOCK_model, "extra_headers", PARAMETER},
    {PDL_BLOCK_model, "parallel_tool_calls", PARAMETER},
    {PDL_BLOCK_model, "drop_params", PARAMETER},
    {PDL_BLOCK_model, "fallbacks", MODELS},
    {PDL_BLOCK_model, "fallback_models", MODELS},
    {PDL_BLOCK_model, "fallback_model", MODELS},
    {PDL_BLOCK_model, "models", MODELS},
    {PDL_BLOCK_model, "headers", "write parameters: {extra_headers: {...}}"},
    {PDL_BLOCK_model, "stop_sequences", "write parameters: {stop: [...]}"},
    {PDL_BLOCK_model, "inputs", "did you mean 'input'?"},
    {PDL_BLOCK_call, "arguments", "write `args`"},
    {PDL_BLOCK_call, "parameters", "write `args`"},
    {PDL_BLOCK_call, "params", "write `args`"},
    {PDL_BLOCK_call, "with", "write `args`"},
    {PDL_BLOCK_repeat, "times", NUMBER},
    {PDL_BLOCK_repeat, "max", NUMBER},
    {PDL_BLOCK_repeat, "count", NUMBER},
    {PDL_BLOCK_repeat, "iterations", NUMBER},
    {PDL_BLOCK_repeat, "max_iterations", NUMBER},
    {PDL_BLOCK_map, "times", NUMBER},
    {PDL_BLOCK_map, "count", NUMBER},
    {PDL_BLOCK_map, "iterations", NUMBER},
    {PDL_BLOCK_map, "max_iterations", NUMBER},
    {PDL_BLOCK_map, "num_iterations", NUMBER},
    {PDL_BLOCK_map, "workers", "how many run at once is `maxWorkers`"},
    {PDL_BLOCK_map, "parallel", "how many run at once is `maxWorkers`"},
    {PDL_BLOCK_repeat, "in", "write for: {NAME: LIST}"},
    {PDL_BLOCK_repeat, "do", "what is repeated is below `repeat`"},
    {PDL_BLOCK_repeat, "body", "what is repeated is below `repeat`"},
    {PDL_BLOCK_code, "file", "write code: {read: FILE}"},
    {PDL_BLOCK_code, "input", "code sees the variables of the program by their names"},
    {PDL_BLOCK_code, "variables", "code sees the variables of the program by their names"},
    {PDL_BLOCK_import, "from", "write import: FILE, and def: NAME"},
    {PDL_BLOCK_import, "as", "the name of a module is `def`"},
    {PDL_BLOCK_match, "case", EACH_CASE},
    {PDL_BLOCK_match, "then", EACH_CASE},
    {PDL_BLOCK_match, "cases", "the cases are a list in `with`"},
    {PDL_BLOCK_match, "default", LAST_CASE},
    {PDL_BLOCK_match, "else", LAST_CASE},
    {PDL_BLOCK_match, "otherwise", LAST_CASE},
    {PDL_BLOCK_function, "result", "what a function gives is `return`"},
    {PDL_BLOCK_function, "parameters", "the parameters are in `function: {...}`"},
    {PDL_BLOCK_function, "params", "the parameters are in `function: {...}`"},
    {PDL_BLOCK_function, "args", "the parameters are in `function: {...}`"},
    {PDL_BLOCK_function, "body", "what a function does is below `return`"},
    {PDL_BLOCK_if, "condition", "write `if`"},
    {PDL_BLOCK_if, "cond", "write `if`"},
    {PDL_BLOCK_if, "when", "write `if`"},
    {PDL_BLOCK_if, "default", "write `else`"},
    {PDL_BLOCK_if, "otherwise", "write `else`"},
    {PDL_BLOCK_if, "do", "write `then`"},
    {PDL_BLOCK_if, "elif", ELSE_IF},
    {PDL_BLOCK_if, "elseif", ELSE_IF},
    {PDL_BLOCK_if, "else if", ELSE_IF},
    {PDL_BLOCK_if, "else_if", ELSE_IF},
    {ANY, "name", "write `description` for people, `def` for a variable"},
    {ANY, "title", "write `description`"},
    {ANY, "version", "write it into `description`, or as a comment: # ..."},
    {ANY, "author", "write it into `description`, or as a comment: # ..."},
    {ANY, "var", "`def` names the result; other variables are in `defs`"},
    {ANY, "let", "variables are in `defs`"},
    {ANY, "set", "variables are in `defs`"},
    {ANY, "if", "write if: ..., and this block below `then:`"},
    {ANY, "when", "write if: ..., and this block below `then:`"},
    {ANY, "condition", "write if: ..., and this block below `then:`"},
    {ANY, "for", REPEATED},
    {ANY, "while", REPEATED},
    {ANY, "until", REPEATED},
    {PDL_BLOCK_repeat, "as", JOINED},
    {PDL_BLOCK_map, "as", JOINED},
    {PDL_BLOCK_call, "tool", "write call: ${ NAME }"},
    {ANY, "maxIterations", REPEATED},
    {ANY, "loop", REPEATED},
    {PDL_BLOCK_repeat, "foreach", "write for: {NAME: LIST}"},
    {PDL_BLOCK_repeat, "for_each", "write for: {NAME: LIST}"},
    {PDL_BLOCK_repeat, "forEach", "write for: {NAME: LIST}"},
    {PDL_BLOCK_repeat, "with_items", "write for: {NAME: LIST}"},
    {PDL_BLOCK_repeat, "each", "write for: {NAME: LIST}"},
    {PDL_BLOCK_repeat, "items", "write for: {NAME: LIST}"},
    {PDL_BLOCK_repeat, "over", "write for: {NAME: LIST}"},
    {ANY, "foreach", REPEATED},
    {ANY, "forEach", REPEATED},
    {ANY, "with_items", REPEATED},
    {ANY, "register", NAMED},
    {ANY, "assign", NAMED},
    {ANY, "definitions", IN_DEFS},
    {ANY, "locals", IN_DEFS},
    {ANY, "constants", IN_DEFS},
    {ANY, "desc", "did you mean 'description'?"},
    {ANY, "comment", "write it into `description`, or as a comment: # ..."},
    {ANY, "env", ENVIRONS},
    {ANY, "show", HIDDEN},
    {ANY, "hide", HIDDEN},
    {ANY, "hidden", HIDDEN},
    {ANY, "silent", HIDDEN},
    {ANY, "quiet", HIDDEN},
    {ANY, "display", HIDDEN},
    {ANY, "needs", IN_ORDER},
    {ANY, "depends_on", IN_ORDER},
    {ANY, "ignore_errors", ON_ERROR},
    {ANY, "continue-on-error", ON_ERROR},
    {ANY, "rescue", ON_ERROR},
    {ANY, "for_each", REPEATED},
    {ANY, "write", WRITTEN},
    {ANY, "save", WRITTEN},
    {ANY, "save_as", WRITTEN},
    {ANY, "output_file", WRITTEN},
    {ANY, "repeat", "this block is written below `repeat:`; a number of times is `maxIterations`"},
    {ANY, "return", "`return` belongs to a block with `function`"},
    {ANY, "retries", "write retry: {tries: N}"},
    {ANY, "max_retries", "write retry: {tries: N}"},
    {ANY, "timeout", "write budget: {seconds: N}"},
    {ANY, "try", "this block is tried when it has `fallback`, which runs after an error"},
    {ANY, "variables", "variables are in `defs`"},
    {ANY, "vars", "variables are in `defs`"},
    {ANY, "catch", "what runs after an error is `fallback`"},
    {ANY, "except", "what runs after an error is `fallback`"},
    {ANY, "on_error", "what runs after an error is `fallback`"},
    {ANY, "type", "the type of a result is `spec`"},
    {ANY, "format", "how a result is read is `parser`"},
    {ANY, "output_parser", "how a result is read is `parser`"},
    {ANY, "output_key", "the name of a result is `def`"},
    {ANY, "output", GIVES},
    {ANY, "outputs", GIVES},
    {ANY, "inputs", GIVEN},
    {ANY, "input", GIVEN},
    {ANY, "system", SYSTEM},
    {ANY, "id", "write `description` for people, `def` for a variable"},
    {ANY, "imports", "an import is a variable: defs: {NAME: {import: FILE}}"},
    {ANY, "prompt", ASKED},
    {ANY, "schema", "the type of a result is `spec`"},
    {ANY, "as", "the name of a result is `def`"},
    {ANY, "into", "the name of a result is `def`"},
    {ANY, "store", "the name of a result is `def`"},
    {ANY, "else", "`else` belongs to a block with `if` and `then`"},
    {NONE, "print", "write `text:`"},
    {NONE, "echo", "write `text:`"},
    {NONE, "say", "write `text:`"},
    {NONE, "string", "write `text:`"},
    {NONE, "value", "write `data:`"},
    {NONE, "dict", "write `data:` or `object:`"},
    {NONE, "list", "write `data:` or `array:`"},
    {NONE, "try", "write the block itself, with `fallback:` for what runs after an error"},
    {NONE, "parallel", "write `for:` and `map:`, or `text:` with `context: independent`"},
    {NONE, "forEach", "write `for:` and `repeat:`"},
    {NONE, "debug", "write `text:`"},
    {NONE, "set_fact", IN_DEFS},
    {NONE, "definitions", IN_DEFS},
    {NONE, "uses", "a module is imported: defs: {NAME: {import: FILE}}"},
    {NONE, "api", FETCHED},
    {NONE, "url", FETCHED},
    {NONE, "fetch", FETCHED},
    {NONE, "http", FETCHED},
    {NONE, "human", "write {role: user, text: ...}"},
    {NONE, "ai", "write {role: assistant, text: ...}"},
    {NONE, "nodes", BLOCKS},
    {NONE, "block", BLOCKS},
    {NONE, "prompt_template", "write `text:`, with ${ NAME } for a variable"},
    {NONE, "flow", BLOCKS},
    {NONE, "actions", BLOCKS},
    {NONE, "chat", MODEL_NAME},
    {NONE, "llm", MODEL_NAME},
    {NONE, "ask", ASKED},
    {NONE, "document", "write `text:`"},
    {NONE, "pdl", "a program has no key around it: leave it out"},
    {NONE, "assign", "write `def: NAME` beside the block that has the value"},
    {NONE, "var", "write `def: NAME` beside the block that has the value"},
    {NONE, "imports", "an import is a variable: defs: {NAME: {import: FILE}}"},
    {NONE, "openai", "write model: openai/NAME"},
    {NONE, "agent", "an agent is a function of a module: import it, and call it"},
    {NONE, "tool", "a tool is a block with `function`"},
    {NONE, "system", "write {role: system, text: ...}"},
    {NONE, "user", "write {role: user, text: ...}"},
    {NONE, "assistant", "write {role: assistant, text: ...}"},
    {NONE, "def ", "write def: NAME, function: {PARAMETER: TYPE}, and return: ..."},
    {NONE, "for ", "write for: {NAME: LIST}, and repeat: ..."},
    {NONE, "while ", "write while: ${ ... }, and repeat: ..."},
    {NONE, "if ", "write if: ${ ... }, and then: ..."},
    {NONE, "bash", SHELL_FORM},
    {NONE, "sh", SHELL_FORM},
    {NONE, "exec", SHELL_FORM},
    {NONE, "steps", BLOCKS},
    {NONE, "blocks", BLOCKS},
    {NONE, "tasks", BLOCKS},
    {NONE, "jobs", BLOCKS},
    {NONE, "chain", BLOCKS},
    {NONE, "pipeline", BLOCKS},
    {NONE, "stages", BLOCKS},
    {NONE, "workflow", BLOCKS},
    {NONE, "template", "write `text:`, with ${ NAME } for a variable"},
    {NONE, "prompt", "write `model:` and `input:`"},
    {NONE, "messages", "write `text:` with a list of blocks with a `role`"},
    {NONE, "foreach", "write `for:` and `repeat:`"},
    {NONE, "for_each", "write `for:` and `repeat:`"},
    {NONE, "each", "write `for:` and `repeat:`"},
    {NONE, "write", WRITTEN},
    {NONE, "save", WRITTEN},
    {NONE, "loop", "write `for:` and `repeat:`"},
    {NONE, "switch", "write `match:` and `with:`"},
    {NONE, "set", "variables are in `defs`"},
    {NONE, "let", "variables are in `defs`"},
    {NONE, "vars", "variables are in `defs`"},
    {NONE, "variables", "variables are in `defs`"},
    {NONE, "python", "write `lang: python` and `code:`"},
    {NONE, "run", SHELL_FORM},
    {NONE, "shell", SHELL_FORM},
    {NONE, "command", SHELL_FORM},
};

/* Wrong keys of objects inside of blocks. A row applies to an object whose keys include the key
 * that is meant. */
static const struct {
    const char *meant, *word, *hint;
} parts[] = {
    {"then", "default", LAST_CASE},
    {"then", "else", LAST_CASE},
    {"then", "otherwise", LAST_CASE},
    {"then", "_", LAST_CASE},
    {"then", "return", THEN},
    {"then", "result", THEN},
    {"then", "do", THEN},
    {"then", "text", THEN},
    {"case", "when", PATTERN},
    {"case", "match", PATTERN},
    {"case", "pattern", PATTERN},
    {"case", "value", PATTERN},
    {"tries", "max", TRIES},
    {"tries", "count", TRIES},
    {"tries", "times", TRIES},
    {"tries", "attempts", TRIES},
    {"tries", "max_tries", TRIES},
    {"tries", "max_retries", TRIES},
    {"tries", "max_attempts", TRIES},
    {"delay", "wait", DELAY},
    {"delay", "sleep", DELAY},
    {"delay", "interval", DELAY},
    {"delay", "seconds", DELAY},
    {"exceptions", "on", "the errors after which there is another attempt are `exceptions`"},
    {"exceptions", "errors", "the errors after which there is another attempt are `exceptions`"},
    {"with", "sep", SEPARATOR},
    {"with", "separator", SEPARATOR},
    {"with", "delimiter", SEPARATOR},
    {"with", "on", SEPARATOR},
    {"as", "type", "what becomes of the results is `as`"},
    {"regex", "json", FORMAT},
    {"regex", "jsonl", FORMAT},
    {"regex", "yaml", FORMAT},
    {"regex", "type", FORMAT},
    {"regex", "name", FORMAT},
    {"regex", "format", FORMAT},
    {"regex", "pattern", "the pattern is `regex`"},
    {"regex", "re", "the pattern is `regex`"},
    {"expect", "check", "what the result should satisfy is `expect`"},
    {"expect", "that", "what the result should satisfy is `expect`"},
    {"calls", "requests", "the number of calls of models is `calls`"},
    {"cost", "usd", "the money in US dollars is `cost`"},
    {"cost", "dollars", "the money in US dollars is `cost`"},
    {"seconds", "time", "the time is `seconds`"},
    {"seconds", "timeout", "the time is `seconds`"},
    {"file", "path", "the path is `file`"},
    {"file", "name", "the path is `file`"},
};

/* Wrong words in a field that accepts only a few words. A row applies when the field accepts the
 * word that is meant. */
static const struct {
    const char *meant, *word, *hint;
} values[] = {
    {"command", "bash", "write lang: command, and args: [bash, -c, '...']"},
    {"command", "sh", "write lang: command, and args: [sh, -c, '...']"},
    {"command", "shell", "write lang: command, and args: [sh, -c, '...']"},
    {"command", "javascript", "write lang: command, and args: [node, -e, '...']"},
    {"command", "js", "write lang: command, and args: [node, -e, '...']"},
    {"python", "py", "write python"},
    {"python", "python3", "write python"},
    {"array", "list", "write array"},
    {"object", "dict", "write object"},
    {"lastOf", "last", "write lastOf"},
    {"text", "str", "write text"},
    {"text", "string", "write text"},
    {"json", "regex", AS_REGEX},
    {"json", "regexp", AS_REGEX},
    {"json", "re", AS_REGEX},
    {"json", "none", "leave `parser` out: a result is text"},
    {"fullmatch", "full", "write fullmatch"},
    {"findall", "all", "write findall"},
    {"findall", "global", "write findall"},
    {"json", "pydantic", "the type of a result is `spec`"},
    {"json", "xml", BY_PYTHON},
    {"json", "html", BY_PYTHON},
    {"json", "toml", BY_PYTHON},
    {"json", "tsv", BY_PYTHON},
    {"litellm", "bam", ROUTED},
    {"litellm", "watsonx", ROUTED},
    {"litellm", "ollama", ROUTED},
    {"litellm", "anthropic", ROUTED},
    {"litellm", "azure", ROUTED},
    {"litellm", "bedrock", ROUTED},
    {"litellm", "vertex_ai", ROUTED},
    {"litellm", "gemini", ROUTED},
    {"litellm", "groq", ROUTED},
    {"litellm", "huggingface", ROUTED},
    {"litellm", "replicate", ROUTED},
    {"yaml", "yml", "write yaml"},
    {"json", "int", PARSED},
    {"json", "integer", PARSED},
    {"json", "float", PARSED},
    {"json", "number", PARSED},
    {"json", "bool", PARSED},
    {"json", "text", "leave `parser` out: a result is text"},
    {"json", "string", "leave `parser` out: a result is text"},
};

/* The wrong form that a value has in the program. */
enum { OBJECT = 1, LIST = 2, SCALAR = 4 };

#define A_LIST                                                                                     \
    "each block of the list begins with `- `, in a line below; data is written below `data`"
#define ONE_FILE "one file each: defs: {a: {import: a}, b: {import: b}}"

static const struct {
    const char *field;
    int written;
    const char *hint;
} forms[] = {
    {"model", OBJECT, "write model: PROVIDER/NAME; the rest is in `parameters`"},
    {"model", LIST, "one model each: write `for:` and `map:` around the block"},
    {"function", LIST, "write function: {PARAMETER: TYPE}"},
    {"function", SCALAR, "write def: NAME, and function: {PARAMETER: TYPE}"},
    {"parameters", LIST, "write parameters: {NAME: VALUE}"},
    {"import", LIST, ONE_FILE},
    {"import", OBJECT, "write import: FILE, and def: NAME"},
    {"include", LIST, "one file each: write a list of blocks with `include`"},
    {"read", OBJECT, "write read: FILE"},
    {"read", LIST, "one file each: write `for:` and `repeat:` around the block"},
    {"message", OBJECT | LIST, "write message: TEXT"},
    {"call", OBJECT | LIST, "write call: ${ NAME }, and args: {PARAMETER: VALUE}"},
    {"if", OBJECT | LIST, "write an expression: if: ${ ... }"},
    {"while", OBJECT | LIST, "write an expression: while: ${ ... }"},
    {"until", OBJECT | LIST, "write an expression: until: ${ ... }"},
    {"def", OBJECT | LIST, "write def: NAME; several values are in `defs`"},
    {"role", OBJECT | LIST, "write role: user, system or assistant"},
    {"context", LIST, "what a model is sent is `input`"},
    {"expectations", OBJECT | SCALAR, "write expectations: [{expect: TEXT}]"},
    {"contribute", OBJECT, "write contribute: [{NAME: {value: VALUE}}], or [result, context]"},
    {"join", SCALAR, "write join: {as: array}, or {as: text, with: SEPARATOR}"},
    {"retry", LIST, "write retry: {tries: N}"},
    {"retry", SCALAR, "write retry: N, or retry: {tries: N, delay: SECONDS}"},
    {"defs", LIST | SCALAR, "write defs: {NAME: VALUE}"},
    {"array", OBJECT, A_LIST},
    {"lastOf", OBJECT, A_LIST},
    {"sequence", OBJECT, A_LIST},
};

/* Returns true for a word that means an empty list, which has its own help. */
static bool is_nothing(const pdl_node *n) {
    return pdl_node_is_str(n) && (pdl_str_eq_nocase(n->text, PDL_STR("none")) ||
                                  pdl_str_eq_nocase(n->text, PDL_STR("nothing")));
}

/* Returns true for the entry of a tool server, as in the file that PDL_MCP_CONFIG names. */
static bool is_tool_server(const pdl_node *n) {
    return pdl_node_find(n, PDL_STR("command"), NULL) || pdl_node_find(n, PDL_STR("url"), NULL);
}

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns true for a field that has entries. */
static bool has_entries(pdl_str field) {
    static const char *const objects[] = {"defs", "parameters", "args", "for", "function", "retry"};
    size_t i = 0;
    while (i < sizeof objects / sizeof *objects && !pdl_str_is(field, objects[i])) i++;
    return i < sizeof objects / sizeof *objects;
}

/* Returns true for `x:1` where an object is expected. */
static bool is_glued(const pdl_node *n) {
    size_t end = 0;
    if (!pdl_node_is_str(n) || n->style != PDL_STYLE_PLAIN) return false;
    while (end < n->text.n && is_name_byte(n->text.p[end])) end++;
    pdl_str rest = pdl_str_sub(n->text, end, n->text.n);
    return end && pdl_str_starts(rest, PDL_STR(":")) && !pdl_str_starts(rest, PDL_STR("://"));
}

const char *pdl_form_advice(pdl_str field, const pdl_node *n) {
    if (is_nothing(n)) return NULL;
    if (has_entries(field) && is_glued(n)) return "a key is followed by a colon and a space: x: 1";
    if (has_entries(field) && pdl_node_is_null(n) && !n->text.n)
        return "its entries are below it, indented more than it; without any, leave it out";
    if (pdl_str_is(field, "import") && n->kind == PDL_NODE_MAP && is_tool_server(n))
        return "a tool server is imported by its name: import: \"mcp:NAME\"; the file that "
               "PDL_MCP_CONFIG names says what it is";
    int written = n->kind == PDL_NODE_MAP ? OBJECT : n->kind == PDL_NODE_SEQ ? LIST : SCALAR;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if ((forms[i].written & written) && pdl_str_is(field, forms[i].field)) return forms[i].hint;
    return NULL;
}

/* Returns true when an expression of the file reads a variable of this name. */
static bool is_read(pdl_str text, pdl_str name) {
    for (size_t at = 0; (at = pdl_str_find(text, PDL_STR("${"), at)) != PDL_NOT_FOUND; at++) {
        pdl_str expr = pdl_str_sub(text, at + 2, pdl_str_find(text, PDL_STR("}"), at));
        for (size_t i = 0; (i = pdl_str_find(expr, name, i)) != PDL_NOT_FOUND; i++) {
            bool begins = !i || (!is_name_byte(expr.p[i - 1]) && expr.p[i - 1] != '.');
            size_t end = i + name.n;
            if (begins && (end == expr.n || !is_name_byte(expr.p[end]))) return true;
        }
    }
    return false;
}

enum { MAX_READ = 32 }; /* maximum number of problems for which the whole file is searched */

void pdl_loader_advise_stranger(pdl_loader *l, pdl_diag *d, const pdl_node *key, bool is_call) {
    if (pdl_str_find(key->text, PDL_STR(" "), 0) != PDL_NOT_FOUND)
        pdl_loader_hint(l, d,
                        "no key of a block has a space: a text that contains `: ` is put in "
                        "quotes, or after `|` on separate lines");
    else if (key->text.n && key->src && l->p->diags.n < MAX_READ &&
             is_read(key->src->text, key->text))
        pdl_loader_hint(l, d,
                        is_call ? "an argument of the function is written into `args: {...}`"
                                : "a variable is written into `defs: {...}`");
}

/* Returns true when word has the quotes that word processors put in place of \" and '. */
static bool has_book_quotes(pdl_str word) {
    return pdl_str_starts(word, PDL_STR("\u201c")) || pdl_str_starts(word, PDL_STR("\u2018")) ||
           pdl_str_starts(word, PDL_STR("\u201d")) || pdl_str_starts(word, PDL_STR("\u2019"));
}

static const struct {
    const char *letter, *hint;
} unseen[] = {
#define X(letter, words) {letter, "the key has " words},
#include "base/unseen.def"
#undef X
};

static const char *unseen_advice(pdl_str word) {
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
        if (pdl_str_find(word, pdl_str_of(unseen[i].letter), 0) != PDL_NOT_FOUND)
            return unseen[i].hint;
    return NULL;
}

const char *pdl_key_advice(int kind, pdl_str word, bool any) {
    const char *letter = unseen_advice(word);
    if (letter) return letter;
    if (has_book_quotes(word)) return "the quotes of YAML are \" and '; a key needs none";
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool fits = keys[i].kind == kind || (keys[i].kind == ANY && any);
        pdl_str key = pdl_str_of(keys[i].word);
        bool begins = key.p[key.n - 1] == ' ' && pdl_str_starts(word, key);
        if (fits && (begins || pdl_str_eq(word, key))) return keys[i].hint;
    }
    return NULL;
}

const char *pdl_no_kind_advice(pdl_str word) { return pdl_key_advice(NONE, word, false); }

const char *pdl_part_advice(pdl_str word, const pdl_str *known, size_t n_known) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!pdl_str_is(word, parts[i].word)) continue;
        for (size_t k = 0; k < n_known; k++)
            if (pdl_str_is(known[k], parts[i].meant)) return parts[i].hint;
    }
    return NULL;
}

const char *pdl_word_advice(pdl_str word, const pdl_str *known, size_t n_known) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!pdl_str_eq_nocase(word, pdl_str_of(values[i].word))) continue;
        for (size_t k = 0; k < n_known; k++)
            if (pdl_str_is(known[k], values[i].meant)) return values[i].hint;
    }
    bool is_parser = n_known && pdl_str_is(known[0], "json");
    for (size_t i = 0; is_parser && i < word.n; i++)
        if (pdl_byte_in(word.p[i], PDL_STR("\\^$*+()[]|"))) return AS_REGEX;
    return NULL;
}

/* Returns true for a plain text after which a comment begins: `text: ${ x # y }`. */
static bool is_cut(const pdl_node *n) {
    if (!n || !n->src || !pdl_node_is_str(n) || n->style != PDL_STYLE_PLAIN) return false;
    pdl_str all = n->src->text;
    size_t at = n->end;
    while (at < all.n && all.p[at] == ' ') at++;
    return at > n->end && at < all.n && all.p[at] == '#';
}

pdl_str pdl_fault_hint(const pdl_xfault *f, const pdl_node *n) {
    if (pdl_str_starts(f->msg, PDL_STR("unexpected end of template")) && is_cut(n))
        return PDL_STR("the text ends before the #, which begins a comment: put it in quotes");
    return f->hint;
}
