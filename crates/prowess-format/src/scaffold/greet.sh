#!/bin/sh
# Greets someone: greet.sh NAME TIMES
set -eu

count=0
while [ "$count" -lt "${2:-1}" ]; do
    printf 'Hello, %s!\n' "$1"
    count=$((count + 1))
done
