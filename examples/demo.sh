#!/bin/sh
# demo.sh -- runs the example programs from their recordings: no network, no key, no Python.
#
#     examples/demo.sh build/pdl
# SPDX-License-Identifier: Apache-2.0
set -eu
pdl=${1:-build/pdl}
case $pdl in
/*) ;;
*) pdl=$PWD/$pdl ;;
esac
cd "$(dirname "$0")"

# show PROGRAM OPTIONS...: what the program is about (its leading comment), the command, its output.
show() {
    program=$1
    shift
    printf '\n'
    sed -n '/^#$/q; s/^# /  /p; /^[^#]/q' "$program.pdl"
    printf '\n$ pdl --replay %s.journal%s %s.pdl\n' "$program" "${*:+ $*}" "$program"
    "$pdl" --replay "$program.journal" "$@" "$program.pdl"
}

echo "Demonstration: every answer of a model, every line typed and every result of Python code comes from a recording"
echo "(examples/*.journal, made by examples/record.sh), so this runs the same everywhere."
show hello
show ten
show tour
show chatbot
echo "  (typed were: $(paste -s -d '|' questions.txt | sed 's/|/ | /g'))"
show react
show rag
show tools
show security/mail
show security/defended
show security/planned
printf '\nAll programs ran. To run one with a model of your own: pdl -d "model: ollama_chat/granite4:micro" examples/chatbot.pdl\n'
