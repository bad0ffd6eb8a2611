/* limits.h -- every ceiling with its name, default, minimum and reason. A run that exceeds a
 * ceiling fails with an ordinary PDL_E_limit error. Compile-time constants PDL_MAX_<NAME> are the
 * defaults.
 *
 * A ceiling is right when the largest work that it allows ends soon or can be cancelled. A signal
 * and a budget of seconds take effect within 200 ms, and a library such as GMP cannot be asked to
 * stop. So the largest integer is one whose slowest operation takes less than 200 ms.
 *
 * A peer chooses the size of the data that we keep, open or send for it, so each of these sizes has
 * a ceiling for each session. Commands and code blocks are such peers, because a model may have
 * written what they execute. Their output has the ceiling of a pipe. A message of a code worker may
 * be twice as long, since it may hold the output of code with escapes. The answers of a trace
 * collector are short, so their ceiling is low.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_LIMITS_H
#define PDL_BASE_LIMITS_H

/*   X(id, NAME, default, minimum, reason) */
#define PDL_LIMITS(X)                                                                              \
    X(source_bytes, SOURCE_BYTES, 0x7fffffff, 1024, "offsets in a source are 32 bits")             \
    X(text_bytes, TEXT_BYTES, 0x7fffffff, 1024, "one string value")                                \
    X(message_bytes, MESSAGE_BYTES, 1048576, 1024, "a message that repeats values; it is cut")     \
    X(stream_bytes, STREAM_BYTES, 268435456, 1024,                                                 \
      "what is read of a pipe or a socket, which may be fed for ever")                             \
    X(yaml_depth, YAML_DEPTH, 1000, 10, "nested nodes of a program; readers recurse in C")         \
    X(yaml_nodes, YAML_NODES, 20000000, 100, "nodes of one document after aliases are expanded")   \
    X(json_depth, JSON_DEPTH, 1000, 10, "nested JSON; readers and writers recurse in C")           \
    X(expr_depth, EXPR_DEPTH, 200, 10,                                                             \
      "nested expressions and template statements; the reader recurses in C")                      \
    X(value_depth, VALUE_DEPTH, 1000, 10,                                                          \
      "nested containers in printing and comparison, which recurse in C")                          \
    X(schema_depth, SCHEMA_DEPTH, 200, 10,                                                         \
      "nested types and schemas, and $ref chains in validation")                                   \
    X(call_depth, CALL_DEPTH, 400000, 100,                                                         \
      "nested PDL calls; heap frames, stops runaway recursion")                                    \
    X(macro_depth, MACRO_DEPTH, 20000, 100,                                                        \
      "macros that call macros; each keeps its arguments and its text")                            \
    X(block_depth, BLOCK_DEPTH, 300, 10, "nested blocks of a program; the compiler recurses in C") \
    X(id_segments, ID_SEGMENTS, 1000, 10, "ids of blocks in traces; deeper ones show their end")   \
    X(include_depth, INCLUDE_DEPTH, 1000, 10, "includes that include, programs that run programs") \
    X(process_depth, PROCESS_DEPTH, 100, 1, "programs that run the command that runs programs")    \
    X(messages, MESSAGES, 16777216, 16,                                                            \
      "messages of a context, which shares its parts but is sent as a list")                       \
    X(int_bits, INT_BITS, 4194304, 64,                                                             \
      "size of an integer: its digits are written in a tenth of a second, which cannot be ended")  \
    X(range_items, RANGE_ITEMS, 100000000, 1000,                                                   \
      "items of a list made from a range or by repetition")                                        \
    X(regex_steps, REGEX_STEPS, 10000000, 1000,                                                    \
      "match steps: catastrophic patterns end in an error")                                        \
    X(map_workers, MAP_WORKERS, 100000, 1, "iterations of a map open at a time")                   \
    X(jobs, JOBS, 64, 1, "model calls open at a time in a run")                                    \
    X(waiting_calls, WAITING_CALLS, 1024, 1,                                                       \
      "model calls that wait to be sent; the block that makes one more waits")                     \
    X(open_effects, OPEN_EFFECTS, 128, 1,                                                          \
      "embeddings, calls of tools and of Python in flight; a loop that makes more waits")          \
    X(tools, TOOLS, 10000, 10, "tools in the list of one server; each becomes a function")         \
    X(tool_list_bytes, TOOL_LIST_BYTES, 8388608, 1024, "all pages of the list of one tool server") \
    X(tool_asks, TOOL_ASKS, 1000, 10,                                                              \
      "requests of a tool server at once, which we answer; ten a second more")                     \
    X(tool_replies, TOOL_REPLIES, 8, 1, "our answers in flight to a tool server over HTTP")        \
    X(tool_unasked_bytes, TOOL_UNASKED_BYTES, 67108864, 65536,                                     \
      "what a tool server writes while nothing waits for it; a megabyte a second more")            \
    X(reply_bytes, REPLY_BYTES, 67108864, 1024, "body of one reply of a model")                    \
    X(serve_bytes, SERVE_BYTES, 33554432, 1024, "body of one request to pdl serve")                \
    X(serve_bodies_bytes, SERVE_BODIES_BYTES, 268435456, 1048576,                                  \
      "bodies of all requests in flight at pdl serve")                                             \
    X(serve_waiting_bytes, SERVE_WAITING_BYTES, 67108864, 1024,                                    \
      "bodies of requests to pdl serve that wait")                                                 \
    X(serve_conversations_bytes, SERVE_CONVERSATIONS_BYTES, 67108864, 1024,                        \
      "conversations that pdl serve keeps, for responses that continue one")                       \
    X(serve_choices, SERVE_CHOICES, 128, 1, "choices of one request to pdl serve")                 \
    X(sse_line_bytes, SSE_LINE_BYTES, 16777216, 1024, "one line of an event stream")               \
    X(held_bytes, HELD_BYTES, 67108864, 64,                                                        \
      "output that waits for the end of the block whose attempts may be refused")                  \
    X(header_bytes, HEADER_BYTES, 262144, 1024, "headers of one reply")                            \
    X(embed_numbers, EMBED_NUMBERS, 16777216, 16,                                                  \
      "numbers of the vectors of texts that a run keeps")                                          \
    X(collector_bytes, COLLECTOR_BYTES, 4194304, 1024,                                             \
      "what a collector of traces answers, of which a few words are shown")                        \
    X(command_bytes, COMMAND_BYTES, 268435456, 1024, "output of a command or a code block")        \
    X(frame_bytes, FRAME_BYTES, 536870912, 1024, "one message of the worker protocol")

enum pdl_limit_defaults {
#define X(id, NAME, dflt, min, why) PDL_MAX_##NAME = dflt,
    PDL_LIMITS(X)
#undef X
};

#define PDL_MAX_TEXT ((size_t)PDL_MAX_TEXT_BYTES)

#endif
