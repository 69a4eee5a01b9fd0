#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check.sh COMPILER INCLUDE_DIR: every bad line of cases.c is refused by COMPILER (an error, or a warning that every
# program gets unless it turns it off), with the words its table asks for; the good lines compile without a warning.
# Ends with 77 if there is no such compiler.
set -euo pipefail
compiler=$1
include=$2
cases=$(dirname "$0")/cases.c
command -v "$compiler" >/dev/null || { echo "no $compiler here"; exit 77; }

case $compiler in
    *++) language=(-x c++ -std=c++17); mine='all|c\+\+' ;;
    *) language=(-x c -std=c11); mine='all|c' ;;
esac

# Compile one case, with the options given; what was said goes to stdout. All the way: gcc looks for unused results
# late.
compile() { LC_ALL=C "$compiler" "${language[@]}" -Werror -c -o /dev/null -I"$include" "$@" "$cases" 2>&1; }

good=$(compile -Wall -Wextra -Wpedantic -Wshadow -Wconversion -DCASE=0) ||
    { printf '%s\nFAILED: the good lines do not compile\n' "$good"; exit 1; }

# "case N (all|c|c++): what must be said", N from 1 without a gap.
table=$(sed -nE "s/^ \* case ([0-9]+) \(($mine)\): (.*)$/\1 \3/p" "$cases")
[ -n "$table" ] || { echo "no cases in $cases"; exit 1; }
failed=0
count=0
while read -r number words; do
    count=$((count + 1))
    if said=$(compile -DCASE="$number"); then
        echo "FAILED: case $number compiles"
        failed=1
    elif ! grep -qE "$words" <<<"$said"; then
        printf '%s\nFAILED: case %s does not say: %s\n' "$said" "$number" "$words"
        failed=1
    fi
done <<<"$table"
echo "$compiler: $count cases"
exit $failed
