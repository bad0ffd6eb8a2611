/* overview.c -- the list of commands at the end of `pdl --help`. It is one text and no table,
 * because a person writes its order and its words for a first reading.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/options.h"

#include "base/banned.h"

const char pdl_cli_overview[] =
    "Commands (pdl COMMAND --help says more):\n"
    "  check FILE...   report everything that can be known without running\n"
    "  fmt FILE...     format programs\n"
    "  dump FILE       print an intermediate form of a program\n"
    "  pack FILE       write one file that is a command and the program in it\n"
    "  explain FILE    show what would be sent to models, without sending it\n"
    "  batch FILE      run a program for each row of a table\n"
    "  eval FILE       run a program over questions with known answers\n"
    "  infer FILE      run a program many times and weigh the results\n"
    "  optimize FILE   find the texts and parameters of a program that score best\n"
    "  test [FILE]...  run the tests beside programs\n"
    "  cache ACTION FILE  list, prune, export or remove a file of --cache\n"
    "  resume ID|FILE  continue a durable run where it ended\n"
    "  runs            list durable runs; show, remove, prune, export them\n"
    "  answer ID TEXT  answer the question of a run that waits\n"
    "  trace ID|FILE   print the trace of a durable run\n"
    "  serve FILE...   offer programs as models over HTTP\n"
    "  view FILE       show a run as a document in a browser\n"
    "  policy show NAME  print a built-in policy\n"
    "  new NAME        write a program to begin with\n"
    "  repl            try the language line by line\n"
    "  doctor          say what of this machine programs can use\n"
    "  lsp, dap        language server and debugger of editors, on standard input and output\n"
    "  mock            serve a model that repeats what it is asked, or says what a file says\n"
    "  sandbox -- COMMAND  try a command in the sandbox\n"
    "  schema          print the JSON Schema of programs\n"
    "  version         print the version\n"
    "  docs [WORD]...  show the section of the manual about these words\n"
    "  help [NAME]     show help: of a command, a rule of check, an option, an error, a message\n"
    "A program whose name is a command word is run as ./check.\n\n"
    "Exit codes: 0 success; 1 the program cannot be read, or failed; 2 wrong command line;\n"
    "75 the run waits for an answer (--park); n as given to sys.exit in Python code; 130 Ctrl-C; "
    "143 SIGTERM or SIGHUP; 141 the reader of standard "
    "output went "
    "away.\n";
