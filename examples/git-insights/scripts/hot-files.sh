#!/bin/sh
# Print the files that changed in the most commits: hot-files.sh [--since=DATE] [--count=N]
set -eu

since='6 months ago'
count=10
for argument in "$@"; do
    case $argument in
    --since=*) since=${argument#*=} ;;
    --count=*) count=${argument#*=} ;;
    *)
        printf 'hot-files: unknown argument: %s\n' "$argument" >&2
        exit 2
        ;;
    esac
done

git rev-parse --verify --quiet HEAD >/dev/null || {
    echo 'hot-files: there are no commits here' >&2
    exit 1
}

git log --since="$since" --no-merges --name-only --format= |
    sed '/^$/d' |
    sort |
    uniq -c |
    sort -rn |
    head -n "$count"
