#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# repeat.sh PREFIX DIR TIMES [plain|tsan|asan] [NAME...]
# Programs of a user's, again and again: compiles DIR/NAME.c, or NAME.cpp, against the library installed under PREFIX,
# plain (the default) or with a sanitizer; runs it TIMES times with each of CC_WORKERS=1, 2 and 7; and compares what it
# prints with DIR/NAME.out. It must end with 0, within a minute. Without NAME: all that have a NAME.out. Prints
# "N passed, N failed" at the end, and fails if one has. CC and CXX name the compilers, gcc and g++ else.
set -euo pipefail

usage() { sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
if [ $# -lt 3 ] || ! [[ $3 =~ ^[1-9][0-9]*$ ]]; then usage; fi
prefix=$(realpath "$1") dir=$(realpath "$2") times=$3
shift 3
kind=plain
case ${1:-} in plain|tsan|asan) kind=$1; shift ;; esac

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for file in "$dir"/*.out; do names+=("$(basename "$file" .out)"); done
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libdir=$(dirname "$(find "$prefix" -name libccrt.a | head -n 1)")
[ -f "$libdir/libccrt.a" ] || { echo "repeat.sh: no libccrt.a under $prefix" >&2; exit 2; }
read -ra cflags <<<"$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags ccrt)"
read -ra libs <<<"$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --libs ccrt)"

flags=(-O2 -g -D_GNU_SOURCE -Wall -Wextra -Werror)
launcher=()
case $kind in
    tsan) flags+=(-fsanitize=thread) ;;
    asan) flags+=(-fsanitize=address -fno-omit-frame-pointer) ;;
esac
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=1:fast_unwind_on_malloc=0}

# Compile a program; fails, and says why, if that cannot be done.
compile() {
    local name=$1 compiler=${CC:-gcc} source=$dir/$1.c standard=-std=c11
    if [ ! -f "$source" ]; then compiler=${CXX:-g++} source=$dir/$name.cpp standard=-std=c++17; fi
    "$compiler" "$standard" "${flags[@]}" "${cflags[@]}" "$source" -o "$work/$name" \
        "${libs[@]}" "-Wl,-rpath,$libdir" -pthread >"$work/log" 2>&1
}

# ThreadSanitizer may need addresses that the kernel does not spread: whether it runs at all, and how.
probe() {
    echo 'int main(void) { return 0; }' >"$work/empty.c"
    "${CC:-gcc}" "${flags[@]}" "$work/empty.c" -o "$work/empty" || return 1
    ! "$work/empty" >/dev/null 2>&1 || return 0
    launcher=(setarch -R)
    "${launcher[@]}" "$work/empty"
}

# One run of a program with so many workers.
run() {
    local name=$1 workers=$2 turn=$3 code=0
    { CC_WORKERS=$workers timeout 60 "${launcher[@]}" "$work/$name" >"$work/out" 2>"$work/err"; } 2>/dev/null || code=$?
    if [ $code -eq 0 ] && cmp -s "$work/out" "$dir/$name.out"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAILED: $name, CC_WORKERS=$workers, run $turn, ended with $code"
    { diff "$work/out" "$dir/$name.out" || true; } | head -n 5 | sed 's/^/    /'
    head -n 20 "$work/err" | sed 's/^/    /'
}

passed=0 failed=0
probe || { echo "repeat.sh: programs of kind $kind do not run here" >&2; exit 2; }
for name in "${names[@]}"; do
    if ! compile "$name"; then
        failed=$((failed + 1))
        echo "FAILED: $name does not compile"
        head -n 20 "$work/log" | sed 's/^/    /'
        continue
    fi
    for workers in 1 2 7; do
        for ((turn = 1; turn <= times; turn++)); do run "$name" $workers $turn; done
    done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
