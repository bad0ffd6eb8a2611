/* options.c -- the commands and options of `pdl`, one row for each fact; see options.h. The texts
 * of help, manual page and completion are made from them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/options.h"

#include <assert.h>

#include "base/banned.h"

static const option options[] = {
    {OPT_help, "help", 'h', OPT_FLAG, NULL, NULL, "show this help and exit"},
    {OPT_version, "version", 0, OPT_FLAG, NULL, NULL, "print the version and exit"},
    {OPT_schema, "schema", 0, OPT_FLAG, NULL, NULL, "print the JSON Schema of programs and exit"},
    {OPT_sandbox, "sandbox", 0, OPT_ATTACHED, "PROFILE", NULL,
     "confine code, commands and tool servers, as the profile says: code (when absent) or a file"},
    {OPT_no_sandbox, "no-sandbox", 0, OPT_FLAG, NULL, NULL,
     "do not confine them (the default), whatever PDL_SANDBOX says"},
    {OPT_sandbox_min, "sandbox-min", 0, OPT_VALUE, "STRENGTH", "{full,process}",
     "the weakest sandbox that is accepted; full when absent"},
    {OPT_data, "data", 'd', OPT_VALUES, "DATA", NULL,
     "variables: NAME=VALUE, @FILE or a YAML mapping; wins over --data-file"},
    {OPT_data_file, "data-file", 'f', OPT_VALUE, "FILE", NULL,
     "variables: a file with a YAML mapping"},
    {OPT_stream, "stream", 0, OPT_VALUE, "MODE", "{result,context,none}",
     "what is printed while the program runs; result when absent"},
    {OPT_trace, "trace", 't', OPT_MAYBE, "FILE", NULL,
     "write the trace; beside the program as NAME_trace.json when no FILE is given. Put it last"},
    {OPT_whole, "whole", 0, OPT_FLAG, NULL, NULL,
     "whole lists of messages in the trace, and no member that the reference does not write"},
    {OPT_record, "record", 0, OPT_VALUE, "FILE", NULL,
     "record every effect of the run in a new journal"},
    {OPT_replay, "replay", 0, OPT_VALUE, "FILE", NULL,
     "answer every effect from a journal; nothing goes out"},
    {OPT_cache, "cache", 0, OPT_VALUE, "FILE", NULL,
     "share replies of models between runs in a file; made when it is not there"},
    {OPT_output, "output", 'o', OPT_VALUE, "FILE", NULL,
     "write what goes to standard output when it is absent into a file: what the program prints; "
     "of batch the table, with a journal FILE.journal beside it from which the same command "
     "continues; of eval all rows with their scores, as JSONL"},
    {OPT_durable, "durable", 0, OPT_FLAG, NULL, NULL,
     "keep a journal from which pdl resume continues after a crash; with --record it is that file"},
    {OPT_id, "id", 0, OPT_VALUE, "NAME", NULL, "name of a durable run; made when absent"},
    {OPT_sync, "sync", 0, OPT_VALUE, "WHAT", "{full,process}",
     "what a durable run survives: also a power cut (full, the default), or the end of the "
     "process"},
    {OPT_park, "park", 0, OPT_FLAG, NULL, NULL,
     "end a durable run, exit code 75, when it asks and no line is there; pdl answer answers"},
    {OPT_provisional, "provisional", 0, OPT_FLAG, NULL, NULL,
     "a durable run writes pieces of answers at once also where no terminal is"},
    {OPT_changed, "changed", 0, OPT_VALUE, "WHAT", "{reuse,fail}",
     "what to do when the program or its input has changed: reuse what is the same (the default of "
     "runs), or stop (that of batches)"},
    {OPT_again, "again", 0, OPT_VALUES, "PLACE", NULL,
     "do an action again that began and has no end (all: every one), or over which the run "
     "failed"},
    {OPT_skip, "skip", 0, OPT_VALUES, "PLACE=JSON", NULL,
     "the result of such an action, which is not done again"},
    {OPT_rebuild, "rebuild", 0, OPT_FLAG, NULL, NULL,
     "run code again when later code needs what it left in Python"},
    {OPT_take_over, "take-over", 0, OPT_FLAG, NULL, NULL,
     "continue although it cannot be known that no other process has the run"},
    {OPT_only_new, "only-new", 0, OPT_FLAG, NULL, NULL,
     "do not print again what earlier processes have printed"},
    {OPT_redact, "redact", 0, OPT_FLAG, NULL, NULL,
     "without keys: the file replays, but does not continue"},
    {OPT_at, "at", 0, OPT_VALUE, "PLACE", NULL, "which question, when several are open"},
    {OPT_trace_form, "format", 0, OPT_VALUE, "FORM", "{json,html,perfetto}",
     "form of the trace; json when absent"},
    {OPT_jobs, "jobs", 0, OPT_VALUE, "N", NULL,
     "model calls open at a time, of batch and eval rows; 64 when absent"},
    {OPT_timeout, "timeout", 0, OPT_VALUE, "LIMITS", NULL,
     "time limits of model calls: seconds, or connect=S,first=S,idle=S,total=S"},
    {OPT_budget, "budget", 0, OPT_VALUE, "ITEMS", NULL,
     "what the run may use: some of calls=N,tokens=N,cost=X,seconds=X,turns=N"},
    {OPT_policy, "policy", 0, OPT_VALUES, "FILE", NULL,
     "where values may go: a file, or default, careful, strict; that of PDL_POLICY is asked too"},
    {OPT_prices, "prices", 0, OPT_VALUE, "FILE", NULL,
     "JSON table of what models cost for one token; that of PDL_PRICES when absent"},
    {OPT_max_rps, "max-rps", 0, OPT_VALUE, "N", NULL,
     "requests of models that go out in a second, at most"},
    {OPT_max_tpm, "max-tokens-per-minute", 0, OPT_VALUE, "N", NULL,
     "tokens of prompts (estimated) and answers in a minute, at most"},
    {OPT_wire, "wire", 0, OPT_VALUE, "FILE", NULL,
     "log requests and replies of models literally, keys removed; - is standard error"},
    {OPT_otlp, "otlp", 0, OPT_VALUE, "URL", NULL,
     "send traces to a collector of OpenTelemetry: its whole address. PDL_OTLP=1: as OTEL_... say"},
    {OPT_otlp_content, "otlp-content", 0, OPT_FLAG, NULL, NULL,
     "send texts, too: messages, answers, code, results"},
    {OPT_otlp_all, "otlp-all", 0, OPT_FLAG, NULL, NULL,
     "send spans of all that runs inside of the library, too"},
    {OPT_strict, "strict", 0, OPT_FLAG, NULL, NULL,
     "take less: check also reports what the reference interpreter would refuse, mock refuses "
     "(404) what no item of --replies fits"},
    {OPT_check_form, "format", 0, OPT_VALUE, "FORM", "{text,json,sarif,github}",
     "form of the report; text when absent"},
    {OPT_check_run, "check", 0, OPT_VALUE, "WHAT", "{off,warn,stop}",
     "a program that is sure to fail: stop before its first request (the default), or only warn"},
    {OPT_fix, "fix", 0, OPT_FLAG, NULL, NULL,
     "make the changes that have one right answer, in the files"},
    {OPT_check_env, "env", 0, OPT_FLAG, NULL, NULL,
     "also report models whose keys are not set in the environment"},
    {OPT_stdio, "stdio", 0, OPT_FLAG, NULL, NULL,
     "speak on standard input and output, as always; many editors add it"},
    {OPT_rule, "rule", 0, OPT_VALUES, "NAME=LEVEL", NULL, "a rule is off, warning or error"},
    {OPT_nodes, "nodes", 0, OPT_FLAG, NULL, NULL, "the syntax tree of the YAML text"},
    {OPT_blocks, "blocks", 0, OPT_FLAG, NULL, NULL, "the blocks as read (the default)"},
    {OPT_expr, "expr", 0, OPT_FLAG, NULL, NULL, "every expression, fully parenthesised"},
    {OPT_specs, "specs", 0, OPT_FLAG, NULL, NULL, "every spec as JSON Schema"},
    {OPT_code, "code", 0, OPT_FLAG, NULL, NULL, "the bytecode"},
    {OPT_table, "table", 0, OPT_FLAG, NULL, NULL,
     "without FILE: the table of blocks and their fields, as JSON"},
    {OPT_older_than, "older-than", 0, OPT_VALUE, "AGE", NULL,
     "what was not used for so long: 30d, 12h, 90m or 45s"},
    {OPT_model, "model", 0, OPT_VALUE, "GLOB", NULL,
     "replies of models of this name; * matches anything"},
    {OPT_all, "all", 0, OPT_FLAG, NULL, NULL,
     "everything: of prune whatever its age, of view --md also what was sent to models and the "
     "definitions"},
    {OPT_allow, "allow", 0, OPT_VALUE, "WORDS", NULL,
     "what is really done: some of code,command,read,write,input,tool"},
    {OPT_json, "json", 0, OPT_FLAG, NULL, NULL, "print JSON for programs"},
    {OPT_host, "host", 0, OPT_VALUE, "ADDRESS", NULL,
     "address to listen at; 127.0.0.1 when absent"},
    {OPT_port, "port", 0, OPT_VALUE, "N", NULL,
     "port to listen at, 0 for any that is free; when absent 8080 of serve, 8765 of mock, any of "
     "view"},
    {OPT_token_file, "token-file", 0, OPT_VALUE, "FILE", NULL,
     "file with the token that clients must send; PDL_SERVE_TOKEN when absent"},
    {OPT_max_requests, "max-requests", 0, OPT_VALUE, "N", NULL,
     "requests in flight at a time; 1024 when absent"},
    {OPT_max_waiting, "max-waiting", 0, OPT_VALUE, "N", NULL,
     "requests that wait when so many are in flight; 1024 when absent"},
    {OPT_request_time, "request-time", 0, OPT_VALUE, "SECONDS", NULL,
     "for a program to answer; 600 when absent"},
    {OPT_allow_origin, "allow-origin", 0, OPT_VALUE, "ORIGINS", NULL,
     "origins of web pages that may ask, as https://a.example,http://localhost:3000; * is any"},
    {OPT_log, "log", 0, OPT_VALUE, "FILE", NULL,
     "append a line of JSON for each request; - is standard error"},
    {OPT_mcp, "mcp", 0, OPT_FLAG, NULL, NULL,
     "offer the programs as tools (Model Context Protocol) on standard input and output; with "
     "--port or --host over HTTP, at /mcp"},
    {OPT_html, "html", 0, OPT_VALUE, "FILE", NULL,
     "write the run as one HTML file that needs no server; - is standard output"},
    {OPT_svg, "svg", 0, OPT_VALUE, "FILE", NULL, "write the boxes as a picture"},
    {OPT_md, "md", 0, OPT_VALUE, "FILE", NULL,
     "write the run as a document in Markdown: its text, and how it came about; - is standard "
     "output"},
    {OPT_text, "text", 0, OPT_VALUE, "FILE", NULL,
     "write what the run printed, byte for byte; - is standard output"},
    {OPT_source, "source", 0, OPT_VALUE, "FILE", NULL,
     "the program, shown beside the boxes; of a recording in place of the one that it holds"},
    {OPT_open, "open", 0, OPT_FLAG, NULL, NULL, "start the browser; BROWSER when it is set"},
    {OPT_view_frame, "view-frame", 0, OPT_VALUE, "ORIGIN", NULL,
     "page that may show the run's page in a frame, as https://a.example or vscode-webview:; "
     "several with commas. None when absent"},
    {OPT_view_run, "run", 0, OPT_VALUE, "PROGRAM", NULL,
     "the program of this durable run or recording, which the page may change and run again"},
    {OPT_view, "view", 0, OPT_FLAG, NULL, NULL,
     "show the run in a browser while it runs, and afterwards until Ctrl-C"},
    {OPT_replies, "replies", 0, OPT_VALUE, "FILE", NULL,
     "what is answered: a YAML list of texts and of {when, model, reply, times, status, error, "
     "retry_after, delay, logprobs, scores}"},
    {OPT_delay, "delay", 0, OPT_VALUE, "MS", NULL,
     "milliseconds before each answer, and between the words of a stream"},
    {OPT_eval, "eval", 'e', OPT_VALUE, "TEXT", NULL, "run this text; operands are the program's"},
    {OPT_template, "template", 0, OPT_VALUE, "NAME", "{chat,rag,agent,batch}",
     "what it does; chat when absent"},
    {OPT_progress, "progress", 0, OPT_VALUE, "WHEN", "{auto,line,none}",
     "how far it is, on standard error: on a terminal after a second (auto, the default), at once "
     "and anywhere (line), or never"},
    {OPT_verbose, "verbose", 0, OPT_FLAG, NULL, NULL,
     "a line on standard error for each call of a model, tool, command or code, when it ends"},
    {OPT_input, "input", 'i', OPT_VALUE, "ROWS", NULL,
     "the table: FILE.jsonl, FILE.csv, FILE.parquet, FILE.db:TABLE or FILE.db:SELECT ...; - is "
     "standard input"},
    {OPT_rows_form, "format", 0, OPT_VALUE, "FORM", "{jsonl,csv,tsv}",
     "form of a table whose name does not say it, and of the standard streams; jsonl when absent"},
    {OPT_separator, "separator", 0, OPT_VALUE, "CHARACTER", NULL,
     "what separates the cells of CSV in place of commas: ';', '|' or tab"},
    {OPT_map, "map", 0, OPT_VALUES, "COLUMN=VARIABLE", NULL,
     "the column is the variable of that name"},
    {OPT_types, "types", 0, OPT_FLAG, NULL, NULL,
     "read cells of CSV as numbers, booleans, and null where they are empty"},
    {OPT_on_error, "on-error", 0, OPT_VALUE, "WHAT", "{keep,stop}",
     "a row that fails has its error as a column (keep, the default), or ends the batch"},
    {OPT_max_errors, "max-errors", 0, OPT_VALUE, "N", NULL,
     "end the batch when more than N rows have failed"},
    {OPT_limit, "limit", 0, OPT_VALUE, "N", NULL, "the first N rows only"},
    {OPT_sample, "sample", 0, OPT_VALUE, "N", NULL,
     "N rows drawn at random, the same in every run"},
    {OPT_unordered, "unordered", 0, OPT_FLAG, NULL, NULL,
     "write rows as they come, not in the order of the input"},
    {OPT_overwrite, "overwrite", 0, OPT_FLAG, NULL, NULL, "replace an output that exists"},
    {OPT_retry_errors, "retry-errors", 0, OPT_FLAG, NULL, NULL, "ask the rows again that failed"},
    {OPT_allow_files, "allow-files", 0, OPT_FLAG, NULL, NULL,
     "the program may write files, another one for each row"},
    {OPT_rows_keep, "keep", 0, OPT_FLAG, NULL, NULL,
     "the journal keeps what each row asked of models, keys removed"},
    {OPT_report, "report", 0, OPT_VALUES, "FILE", NULL,
     "a summary at the end, as JSON when FILE ends in .json, else as HTML"},
    {OPT_dry_run, "dry-run", 0, OPT_FLAG, NULL, NULL,
     "send and do nothing: say what would be reused and asked; of a batch, calls, tokens and "
     "cost, estimated from some of the rows"},
    {OPT_resume_check, "check", 0, OPT_FLAG, NULL, NULL,
     "send and do nothing: say whether the resume would continue, ask again what is answered, or "
     "stop, and where"},
    {OPT_runs_check, "check", 0, OPT_VALUE, "PROGRAM", NULL,
     "say that of each run of this program that has not ended, were it resumed with the program "
     "as it is now"},
    {OPT_provider_batch, "provider-batch", 0, OPT_FLAG, NULL, NULL,
     "give the calls to the batch interface of the provider (OpenAI's or Anthropic's), which is "
     "cheaper and answers later"},
    {OPT_expect, "expect", 0, OPT_VALUE, "COLUMN", NULL,
     "the column of the right answers, which the program does not see"},
    {OPT_judge, "judge", 0, OPT_VALUE, "PROGRAM", NULL,
     "a program that gets input, expected and result, and gives a boolean or a number from 0 to 1"},
    {OPT_metric, "metric", 0, OPT_VALUE, "NAME", "{exact,numeric,contains}",
     "when an answer is right, without a judge: those of lib/eval; exact when absent"},
    {OPT_samples, "samples", 0, OPT_VALUE, "N", NULL,
     "answers to each question; 1 when absent"},
    {OPT_pass, "pass", 0, OPT_VALUE, "K", NULL,
     "the chance that one of K samples is right is estimated; 1 when absent"},
    {OPT_against, "against", 0, OPT_VALUE, "PROGRAM", NULL,
     "a second program, compared on the same questions"},
    {OPT_until, "until", 0, OPT_VALUE, "decided", "{decided}",
     "with --against: ask rows in random order, and stop when it is certain which program is "
     "better"},
    {OPT_difference, "difference", 0, OPT_VALUE, "D", NULL,
     "with --until decided: also stop when the mean scores certainly differ by less than D"},
    {OPT_seed, "seed", 0, OPT_VALUE, "N", NULL,
     "with --until decided: another random order; 0 when absent"},
    {OPT_junit, "junit", 0, OPT_VALUE, "FILE", NULL, "write the results as JUnit's XML"},
    {OPT_show_machine, "show", 0, OPT_FLAG, NULL, NULL,
     "show what sandboxes of this machine confine, and run no command"},
    {OPT_net, "net", 0, OPT_FLAG, NULL, NULL,
     "also ask the services that are set up whether they answer"},
    {OPT_repl_model, "model", 0, OPT_VALUE, "NAME", NULL,
     "send lines of text to this model, with what was said before"},
    {OPT_fmt_check, "check", 0, OPT_FLAG, NULL, NULL,
     "write nothing; name the files that are not formatted, exit code 1 when there are any"},
    {OPT_diff, "diff", 0, OPT_FLAG, NULL, NULL, "write nothing; show what would change"},
    {OPT_lines, "lines", 0, OPT_VALUE, "A:B", NULL,
     "format only these lines, from 1; what begins or ends outside of them keeps its column"},
    {OPT_sort, "sort", 0, OPT_FLAG, NULL, NULL, "keys of blocks in the order of the documentation"},
};
static_assert(sizeof options / sizeof options[0] == OPT_COUNT, "one row per option");

/* One option per line, so that branches which add options do not conflict. */
/* clang-format off */
/* Options that several commands share; one that is added here belongs to all of them. These limit
 * the model calls of a run. */
#define LIMITS_OF_RUNS \
    OPT_timeout, \
    OPT_budget, \
    OPT_prices, \
    OPT_max_rps, \
    OPT_max_tpm, \
    OPT_wire, \
    OPT_policy
/* Options that limit what code may do. */
#define CONFINED_CODE \
    OPT_sandbox, \
    OPT_no_sandbox, \
    OPT_sandbox_min
static const opt_id run_options[] = {
    OPT_help,
    CONFINED_CODE,
    OPT_data_file,
    OPT_data,
    OPT_eval,
    OPT_stream,
    OPT_trace,
    OPT_whole,
    OPT_record,
    OPT_replay,
    OPT_durable,
    OPT_id,
    OPT_sync,
    OPT_park,
    OPT_provisional,
    OPT_output,
    OPT_cache,
    OPT_jobs,
    OPT_timeout,
    OPT_budget,
    OPT_policy,
    OPT_prices,
    OPT_max_rps,
    OPT_max_tpm,
    OPT_wire,
    OPT_view,
    OPT_view_frame,
    OPT_progress,
    OPT_verbose,
    OPT_check_run,
    OPT_rule,
    OPT_schema,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_version,
    OPT_COUNT,
};
static const opt_id check_options[] = {
    OPT_help,
    OPT_strict,
    OPT_check_form,
    OPT_json,
    OPT_fix,
    OPT_check_env,
    OPT_rule,
    OPT_data_file,
    OPT_data,
    OPT_eval,
    OPT_policy,
    OPT_COUNT,
};
static const opt_id dump_options[] = {
    OPT_help,
    OPT_nodes,
    OPT_blocks,
    OPT_expr,
    OPT_specs,
    OPT_code,
    OPT_table,
    OPT_COUNT,
};
static const opt_id fmt_options[] = {
    OPT_help,
    OPT_fmt_check,
    OPT_diff,
    OPT_lines,
    OPT_sort,
    OPT_COUNT,
};
static const opt_id cache_options[] = {
    OPT_help,
    OPT_json,
    OPT_older_than,
    OPT_model,
    OPT_all,
    OPT_COUNT,
};
static const opt_id explain_options[] = {
    OPT_help,
    OPT_data_file,
    OPT_data,
    OPT_eval,
    OPT_allow,
    OPT_json,
    OPT_stream,
    OPT_cache,
    OPT_jobs,
    OPT_budget,
    OPT_prices,
    OPT_policy,
    CONFINED_CODE,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_check_run,
    OPT_rule,
    OPT_COUNT,
};
static const opt_id serve_options[] = {
    OPT_help,
    OPT_host,
    OPT_port,
    OPT_token_file,
    OPT_data_file,
    OPT_data,
    OPT_max_requests,
    OPT_max_waiting,
    OPT_request_time,
    OPT_allow_origin,
    OPT_log,
    OPT_mcp,
    OPT_cache,
    OPT_jobs,
    LIMITS_OF_RUNS,
    CONFINED_CODE,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_durable,
    OPT_id,
    OPT_record,
    OPT_sync,
    OPT_provisional,
    OPT_again,
    OPT_take_over,
    OPT_check_run,
    OPT_rule,
    OPT_COUNT,
};
static const opt_id view_options[] = {
    OPT_help,
    OPT_html,
    OPT_svg,
    OPT_md,
    OPT_all,
    OPT_text,
    OPT_source,
    OPT_open,
    OPT_host,
    OPT_port,
    OPT_view_frame,
    OPT_view_run,
    OPT_data_file,
    OPT_data,
    OPT_cache,
    OPT_jobs,
    LIMITS_OF_RUNS,
    CONFINED_CODE,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_COUNT,
};
static const opt_id mock_options[] = {
    OPT_help,
    OPT_replies,
    OPT_strict,
    OPT_delay,
    OPT_host,
    OPT_port,
    OPT_COUNT,
};
static const opt_id policy_options[] = {
    OPT_help,
    OPT_json,
    OPT_COUNT,
};
static const opt_id test_options[] = {
    OPT_help,
    OPT_json,
    OPT_junit,
    OPT_data_file,
    OPT_data,
    OPT_jobs,
    OPT_budget,
    OPT_prices,
    OPT_policy,
    CONFINED_CODE,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_COUNT,
};
static const opt_id eval_options[] = {
    OPT_help,
    OPT_input,
    OPT_expect,
    OPT_judge,
    OPT_metric,
    OPT_samples,
    OPT_pass,
    OPT_against,
    OPT_until,
    OPT_difference,
    OPT_seed,
    OPT_json,
    OPT_junit,
    OPT_output,
    OPT_map,
    OPT_limit,
    OPT_data_file,
    OPT_data,
    OPT_rows_form,
    OPT_separator,
    OPT_types,
    OPT_jobs,
    OPT_progress,
    OPT_cache,
    LIMITS_OF_RUNS,
    CONFINED_CODE,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_COUNT,
};
static const opt_id batch_options[] = {
    OPT_help,
    OPT_provider_batch,
    OPT_input,
    OPT_output,
    OPT_rows_form,
    OPT_separator,
    OPT_map,
    OPT_data_file,
    OPT_data,
    OPT_types,
    OPT_jobs,
    OPT_on_error,
    OPT_max_errors,
    OPT_limit,
    OPT_sample,
    OPT_unordered,
    OPT_overwrite,
    OPT_retry_errors,
    OPT_changed,
    OPT_allow_files,
    OPT_rows_keep,
    OPT_progress,
    OPT_report,
    OPT_json,
    OPT_dry_run,
    OPT_cache,
    LIMITS_OF_RUNS,
    CONFINED_CODE,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_COUNT,
};
static const opt_id resume_options[] = {
    OPT_help,
    OPT_changed,
    OPT_again,
    OPT_skip,
    OPT_rebuild,
    OPT_take_over,
    OPT_only_new,
    OPT_resume_check,
    OPT_dry_run,
    OPT_json,
    OPT_data_file,
    OPT_data,
    OPT_stream,
    OPT_trace,
    OPT_whole,
    OPT_sync,
    OPT_park,
    OPT_provisional,
    OPT_output,
    OPT_cache,
    OPT_jobs,
    LIMITS_OF_RUNS,
    OPT_progress,
    OPT_verbose,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    CONFINED_CODE,
    OPT_COUNT,
};
static const opt_id runs_options[] = {
    OPT_help,
    OPT_runs_check,
    OPT_json,
    OPT_older_than,
    OPT_all,
    OPT_redact,
    OPT_COUNT,
};
static const opt_id answer_options[] = {
    OPT_help,
    OPT_at,
    OPT_COUNT,
};
static const opt_id trace_options[] = {
    OPT_help,
    OPT_trace_form,
    OPT_whole,
    OPT_COUNT,
};
static const opt_id repl_options[] = {
    OPT_help,
    OPT_data_file,
    OPT_data,
    OPT_repl_model,
    OPT_cache,
    OPT_jobs,
    OPT_timeout,
    OPT_budget,
    OPT_prices,
    OPT_max_rps,
    OPT_max_tpm,
    OPT_policy,
    CONFINED_CODE,
    OPT_COUNT,
};
static const opt_id doctor_options[] = {
    OPT_help,
    OPT_net,
    OPT_json,
    OPT_COUNT,
};
static const opt_id new_options[] = {
    OPT_help,
    OPT_template,
    OPT_COUNT,
};
static const opt_id sandbox_options[] = {
    OPT_help,
    OPT_show_machine,
    OPT_json,
    OPT_sandbox,
    OPT_sandbox_min,
    OPT_COUNT,
};
static const opt_id lsp_options[] = {
    OPT_help,
    OPT_check_env,
    OPT_prices,
    OPT_stdio,
    OPT_COUNT,
};
static const opt_id dap_options[] = {
    OPT_help,
    OPT_stdio,
    OPT_COUNT,
};
static const opt_id plain_options[] = {
    OPT_help,
    OPT_COUNT,
};
/* clang-format on */

static const command table[] = {
    {"run", pdl_cli_cmd_run, run_options, "FILE [ARG]...",
     "Run a PDL program. FILE - is standard input.",
     "Commands (pdl COMMAND --help says more):\n"
     "  check FILE...   report everything that can be known without running\n"
     "  fmt FILE...     format programs\n"
     "  dump FILE       print an intermediate form of a program\n"
     "  explain FILE    show what would be sent to models, without sending it\n"
     "  batch FILE      run a program for each row of a table\n"
     "  eval FILE       run a program over questions with known answers\n"
     "  test [FILE]...  run the tests beside programs\n"
     "  cache ACTION FILE  list, prune, export or remove a file of --cache\n"
     "  resume ID|FILE  continue a durable run where it ended\n"
     "  runs            list durable runs; show, remove, prune, export them\n"
     "  answer ID TEXT  answer the question of a run that waits\n"
     "  trace ID|FILE   print the trace of a durable run\n"
     "  serve FILE...   offer programs as models over HTTP\n"
     "  view FILE       show a trace as nested boxes in a browser\n"
     "  policy show NAME  print a built-in policy\n"
     "  new NAME        write a program to begin with\n"
     "  repl            try the language line by line\n"
     "  doctor          say what of this machine programs can use\n"
     "  lsp, dap        language server and debugger of editors, on standard input and output\n"
     "  mock            serve a model that repeats what it is asked, or says what a file says\n"
     "  sandbox -- COMMAND  try a command in the sandbox\n"
     "  schema          print the JSON Schema of programs\n"
     "  version         print the version\n"
     "  help [COMMAND]  show help\n"
     "A program whose name is a command word is run as ./check.\n\n"
     "Exit codes: 0 success; 1 the program cannot be read, or failed; 2 wrong command line;\n"
     "75 the run waits for an answer (--park); n as given to sys.exit in Python code; 130 Ctrl-C; "
     "143 SIGTERM or SIGHUP; 141 the reader of standard "
     "output went "
     "away.\n"},
    {"check", pdl_cli_cmd_check, check_options, "FILE...",
     "Report everything about programs that can be known without running them.",
     "Exit codes: 0 no errors (warnings allowed); 1 errors; 2 wrong command line.\n"},
    {"fmt", pdl_cli_cmd_fmt, fmt_options, "[FILE]...",
     "Format programs in place: indentation, blanks, long lists, ${ x }. Without FILE, or with -, "
     "from\nstandard input to standard output.",
     "Comments, quotes, block scalars, line ends and the order of keys stay, and so does the "
     "meaning, which is\ncompared at each run. A file that is no program is left alone.\n"
     "Exit codes: 0; 1 a file cannot be formatted, or is not (--check); 2 wrong command line.\n"},
    {"dump", pdl_cli_cmd_dump, dump_options, "FILE", "Print an intermediate form of a program.",
     NULL},
    {"explain", pdl_cli_cmd_explain, explain_options, "FILE",
     "Run a program without asking a model or doing anything that --allow does not name, as far as "
     "values "
     "are known,\nand print each call that would be made.",
     NULL},
    {"cache", pdl_cli_cmd_cache, cache_options, "ACTION FILE",
     "Show or clear a file of replies that was made by --cache.",
     "Actions:\n"
     "  list    one line a reply: stored, last used, hits, model, repetition, beginning of the "
     "last message\n"
     "  prune   remove what --older-than, --model (both: what both say) or --all names\n"
     "  rm      remove the file\n"
     "  export  print every reply with its request, one JSON object a line\n"},
    {"batch", pdl_cli_cmd_batch, batch_options, "FILE",
     "Run a program once for each row of a table. The columns of a row are variables of the "
     "program;\nthe output has them all, then result, error and place.",
     "The same command continues a batch that was ended or killed, and changes nothing when it is "
     "finished.\n"
     "Exit codes: 0 all rows have results; 3 some rows failed; 1 it stopped; 2 wrong command, "
     "columns or files;\n130 Ctrl-C; 143 SIGTERM or SIGHUP.\n"},
    {"eval", pdl_cli_cmd_eval, eval_options, "FILE",
     "Run a program over questions with known answers, and say how many it gets right.",
     "Right answers come from --expect, and are compared by --metric, or a --judge decides. Rows "
     "that fail are wrong.\n"
     "Exit codes: 0 it was evaluated, whatever the score; 1 it stopped, or a program "
     "cannot be read; 2 wrong command, columns or tables.\n"},
    {"test", pdl_cli_cmd_test, test_options, "[FILE]...",
     "Run the tests beside programs: NAME.test.yaml, or all in a folder and below it.",
     "Without FILE: those of this folder. No model is asked: tests bring replies or recordings.\n"
     "Exit codes: 0 all passed; 1 one failed; 2 there are none, or a file of tests is wrong.\n"},
    {"view", pdl_cli_cmd_view, view_options, "FILE|ID [OTHER]",
     "Show a run as nested boxes in a browser: a trace, ours or the reference's, a recording,\n"
     "or a durable run.\n"
     "With OTHER: two runs side by side. Nothing is run by it, unless --run names a program;\n"
     "what may limit a run goes with it.",
     "The address that is printed works once; each line typed on the terminal prints another.\n"
     "With a --host that is not this machine any client that has it sees the run.\n"
     "Ctrl-C ends it.\n"},
    {"resume", pdl_cli_cmd_resume, resume_options, "ID|FILE",
     "Continue a durable run: what was answered comes from its journal, the rest is done.",
     "Options that the run was started with hold; those given here replace them. An action that "
     "began\n"
     "and has no end (a command, code, a tool, a file) stops it with exit code 1, until --again or "
     "--skip\n"
     "says what to do about it.\n"
     "Exit codes of --check: 0 it would continue, 3 it would ask again what is answered, 4 it "
     "would stop.\n"},
    {"runs", pdl_cli_cmd_runs, runs_options, "[ACTION] [ID] [OUT]", "Durable runs, newest first.",
     "Actions:\n"
     "  list           one line a run (the default)\n"
     "  show ID        what it asked, in order\n"
     "  rm ID          remove it\n"
     "  prune          remove those that ended --older-than AGE ago, or --all that have ended\n"
     "  export ID OUT  write it as one file, to be copied\n"
     "They are in the folder $PDL_RUNS, else $XDG_STATE_HOME/pdl/runs, else "
     "~/.local/state/pdl/runs.\n"
     "Exit codes of --check: 0 all would continue, 3 one would ask again what is answered, 4 one "
     "would stop.\n"},
    {"answer", pdl_cli_cmd_answer, answer_options, "ID|FILE TEXT",
     "Answer the question of a run that waits (--park). TEXT - is standard input.", NULL},
    {"trace", pdl_cli_cmd_trace, trace_options, "ID|FILE",
     "Print the trace of a durable run, also of one that was killed, or of a recording, without "
     "running anything.",
     NULL},
    {"serve", pdl_cli_cmd_serve, serve_options, "FILE...",
     "Offer programs as models over an OpenAI-compatible HTTP interface.",
     "A program is the model NAME of NAME.pdl. It sees the messages of a request as its context, "
     "and the "
     "variables\n"
     "messages, question (text of the last message of the user) and request (all other fields).\n"
     "To other programs it is a tool: /mcp over HTTP, or --mcp over standard input and output.\n"
     "With a --host that is not this machine clients need a token.\n"
     "Ctrl-C ends the server.\n"},
    {"lsp", pdl_cli_cmd_lsp, lsp_options, "",
     "Serve an editor: the Language Server Protocol on standard input and output.",
     "Editors start it themselves; docs/manual/editors.md says what each needs.\n"},
    {"dap", pdl_cli_cmd_dap, dap_options, "",
     "Serve an editor: the Debug Adapter Protocol on standard input and output.",
     "Editors start it themselves; docs/manual/editors.md says what a launch knows.\n"},
    {"policy", pdl_cli_cmd_policy, policy_options, "ACTION NAME...",
     "Show and check policies, lock tools.",
     "Actions:\n"
     "  show NAME   print a built-in policy: default, careful or strict\n"
     "  check FILE  report what is wrong with a policy and its lock file\n"
     "  lock FILE [SERVER...]\n"
     "              write the hashes of the definitions of tools, as the servers of "
     "PDL_MCP_CONFIG\n"
     "              give them now, for `lock: FILE` of a policy; print what is new or has "
     "changed\n"},
    {"new", pdl_cli_cmd_new, new_options, "NAME",
     "Write a program to begin with: a chat, retrieval, an agent with tools, or many rows.",
     "NAME.pdl must not exist.\n"},
    {"mock", pdl_cli_cmd_mock, mock_options, "",
     "Serve a model for tests and first steps, with the interfaces of OpenAI and Ollama, on this "
     "machine.",
     "It repeats the last message; the model upper says it in capitals, roles who spoke.\n"
     "--replies says more.\n"
     "It prints the line that makes programs use it, and a line of JSON for each request on error "
     "output.\nWith a --host that is not this machine any client may ask. Ctrl-C ends it.\n"},
    {"sandbox", pdl_cli_cmd_sandbox, sandbox_options, "-- COMMAND...",
     "Try a command in the sandbox, or show what this machine can do (--show).",
     "The folder that is shown for reading is the one in which this is called.\n"},
    {"repl", pdl_cli_cmd_repl, repl_options, "",
     "Try the language line by line: variables and context are kept from one entry to the next.",
     "A line of text or ${ an expression } is run at once, a block of several lines after an "
     "empty\n"
     "line. :help lists commands (:context, :vars, :model NAME, :save FILE, :load "
     "FILE). Ctrl-C ends a run and "
     "not\nthe session; Ctrl-D ends the session.\n"},
    {"doctor", pdl_cli_cmd_doctor, doctor_options, "",
     "Say what of this machine programs can use: Python, libraries, keys, folders, services.",
     "Keys are never shown, only the variables that hold them. Exit codes: 0; 1 something is "
     "missing "
     "that\nprograms need.\n"},
    {"schema", pdl_cli_cmd_schema, plain_options, "", "Print the JSON Schema of programs.", NULL},
    {"version", pdl_cli_cmd_version, plain_options, "", "Print the version.", NULL},
    {"help", pdl_cli_cmd_help, plain_options, "[COMMAND]", "Show help.", NULL},
    {"__builtins", pdl_cli_cmd_builtins, plain_options, "",
     "Print the page of filters, tests, functions and methods.", NULL},
    {"__man", pdl_cli_cmd_man, plain_options, "", "Print the manual page as roff.", NULL},
    {"__complete", pdl_cli_cmd_complete, plain_options, "SHELL",
     "Print the completion of bash, zsh or fish.", NULL},
};

const command *pdl_cli_commands(size_t *n) {
    *n = sizeof table / sizeof table[0];
    return table;
}

const option *pdl_cli_option_of(opt_id id) { return &options[id]; }
