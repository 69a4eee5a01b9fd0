#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check.sh COMPILER INCLUDE_DIR: every public header compiles on its own with COMPILER, twice over, without a
# warning, as C11 (a C++ compiler: C++17), with and without _GNU_SOURCE where the compiler does not
# define it anyway. Ends with 77 if there is no such compiler.
set -euo pipefail
compiler=$1
include=$2
command -v "$compiler" >/dev/null || { echo "no $compiler here"; exit 77; }

case $compiler in
    *++) language=(-x c++ -std=c++17); variants=("") ;; # libstdc++ needs _GNU_SOURCE and gets it
    *) language=(-x c -std=c11); variants=("" -D_GNU_SOURCE) ;;
esac
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror -fsyntax-only)

# Compile the program on stdin, with the options given.
compile() { "$compiler" "${language[@]}" "${warnings[@]}" -I"$include" "$@" -; }

# The check itself can fail: a header that needs another one, or draws a warning.
if echo 'size_t f(void);' | compile 2>/dev/null || echo 'char f(int x) { return x; }' | compile 2>/dev/null; then
    echo "$compiler accepts what it should not"
    exit 1
fi

headers=$(cd "$include" && find . -name '*.h' | sed 's,^\./,,' | LC_ALL=C sort)
[ -n "$headers" ] || { echo "no headers in $include"; exit 1; }
failed=0
for header in $headers; do
    for variant in "${variants[@]}"; do
        printf '#include <%s>\n#include <%s>\nextern int not_empty;\n' "$header" "$header" |
            compile ${variant:+"$variant"} || { echo "FAILED: $header $variant"; failed=1; }
    done
done
echo "$compiler: $(wc -w <<<"$headers") headers"
exit $failed
