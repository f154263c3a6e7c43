#!/bin/sh
# Print the ten most frequent words of a file: words.sh FILE
set -eu

tr -cs '[:alpha:]' '\n' <"$1" |
    tr '[:upper:]' '[:lower:]' |
    sed '/^$/d' |
    sort |
    uniq -c |
    sort -rn |
    head -n 10
