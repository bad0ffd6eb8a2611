#!/bin/sh
# record.sh -- makes the recordings of the example programs again, with the scripted model of serve.py.
#
#     examples/record.sh /usr/local/bin/pdl
#
# With an installed command: a recording names the folder of the modules, and that of a build tree is nobody's business.
# Needs python3: for the model, the code block of rag.pdl and the tool server of tools.pdl. To be run when a program, a question or a reply changed.
# SPDX-License-Identifier: Apache-2.0
set -eu
pdl=${1:-/usr/local/bin/pdl}
case $pdl in
/*) ;;
*) pdl=$PWD/$pdl ;;
esac
cd "$(dirname "$0")"

address=$(mktemp)
"${PY:-python3}" -u serve.py > "$address" &
server=$!
trap 'kill $server; rm -f "$address"' EXIT
tries=0
until [ -s "$address" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "record.sh: the model did not start" >&2; exit 1; }
    sleep 0.1
done
OPENAI_API_KEY=none
export OPENAI_API_BASE OPENAI_BASE_URL OPENAI_API_KEY

export PDL_MCP_CONFIG=mcp.json
for program in hello ten tour chatbot react rag tools security/*.pdl patterns/*.pdl eval/*.pdl; do
    program=${program%.pdl}
    OPENAI_API_BASE=$(head -n 1 "$address")/s/$(echo "$program" | tr / -)/v1
    OPENAI_BASE_URL=$OPENAI_API_BASE
    echo "== $program"
    rm -f "$program.journal"
    typed=questions.txt
    [ ! -f "$program.txt" ] || typed=$program.txt
    "$pdl" --record "$program.journal" "$program.pdl" < "$typed"
done
