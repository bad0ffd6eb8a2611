#!/bin/sh
# run.sh -- the examples of batches on this machine, without a network: a model of `pdl mock` answers.
#
#     examples/batch/run.sh [PDL]
# SPDX-License-Identifier: Apache-2.0
set -eu
pdl=${1:-pdl}
case $pdl in */*) pdl=$(cd "$(dirname "$pdl")" && pwd)/$(basename "$pdl") ;; esac
cd "$(dirname "$0")"
work=$(mktemp -d)
"$pdl" mock --port 0 --replies replies.yaml >"$work/env" 2>/dev/null &
mock=$!
trap 'kill $mock; rm -rf "$work"' EXIT
while ! [ -s "$work/env" ]; do sleep 0.1; done
. "$work/env"

echo '$ pdl test'
"$pdl" test .
echo '$ pdl batch classify.pdl --input reviews.csv --output moods.csv    # offline: moods.csv.journal has all answers'
cp moods.csv.journal "$work"
"$pdl" batch classify.pdl --input reviews.csv --output "$work/moods.csv" 2>"$work/notes" || { cat "$work/notes" >&2; exit 1; }
grep -o '[0-9]* rows done, 0 failed, [0-9]* of them before' "$work/notes"
head -4 "$work/moods.csv"
echo '$ pdl batch classify.pdl --input reviews.csv --output again.csv    # asks'
"$pdl" batch classify.pdl --input reviews.csv --output "$work/again.csv" --limit 100 2>"$work/notes" || { cat "$work/notes" >&2; exit 1; }
cut -d , -f 3 "$work/again.csv" | grep -c negative
echo '$ pdl eval classify.pdl --against blunt.pdl --input answers.csv --expect mood'
"$pdl" eval classify.pdl --against blunt.pdl --input answers.csv --expect mood
