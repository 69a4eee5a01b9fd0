#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sanitized.sh SOURCE_DIR WORK_DIR
# Goal: a user builds a program with a sanitizer and uses our installed release, which was built without:
#   no report for what is right, a report for each real mistake.
# Method: san_ok.c, san_tasks.c and the C++ program of project/ must run clean, and san_race.c, san_task_race.c,
#   san_overflow.c, san_leak.c and san_uar.c must be reported, with each compiler, sanitizer and kind of library.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/consumer/lib.sh
. "$here/lib.sh" "$1" "$2"

# Options for every run. Without the frame pointers of libc, the quick unwinder loses allocations.
asan=fast_unwind_on_malloc=0:detect_leaks=1
export LSAN_OPTIONS=fast_unwind_on_malloc=0 TSAN_OPTIONS=halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1

# What TSan needs where the kernel spreads addresses too far for it; found by probe().
launcher=()
passed=0 skipped=0

# Build $program from a source, with a compiler and a sanitizer, against the shared or static library.
build() {
    local compiler=$1 sanitizer=$2 kind=$3 source=$4
    local -a library
    read -ra library <<<"$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --static --libs ccrt)"
    library=("${library[@]/#-lccrt/$libdir/libccrt.a}")
    [ "$kind" = static ] || library=(-L"$libdir" -lccrt "-Wl,-rpath,$libdir" -pthread)
    case $source in *.cpp) compiler=${compiler/gcc/g++} compiler=${compiler/clang/clang++} ;; esac
    program=$work/$compiler-$sanitizer-$kind-$(basename "${source%.*}")
    quietly "$compiler" -O1 -g -Wall -Wextra -Werror -fsanitize="$sanitizer" -fno-sanitize-recover=all \
        -fno-omit-frame-pointer -I"$prefix/include" "$here/$source" -o "$program" "${library[@]}"
}

# Run $program: it must end well and say nothing but its own lines.
must_pass() {
    local what="$program with ASAN_OPTIONS=${ASAN_OPTIONS:-}"
    timeout 120 "${launcher[@]}" "$program" >"$work/out" 2>"$work/err" || fail "$what ended with $?" "$work/err"
    [ ! -s "$work/err" ] || fail "$what said" "$work/err"
    passed=$((passed + 1))
}

# Run $program: it must end badly, after a report with this text and this function's name.
must_report() {
    local text=$1 where=$2 what="$program with ASAN_OPTIONS=${ASAN_OPTIONS:-}"
    if timeout 120 "${launcher[@]}" "$program" >"$work/out" 2>"$work/err"; then fail "$what ended well"; fi
    grep -q "$text" "$work/err" || fail "$what did not report '$text'" "$work/err"
    grep -q "$where" "$work/err" || fail "$what did not name $where" "$work/err"
    passed=$((passed + 1))
}

# Whether an empty program runs with this compiler and sanitizer; sets the launcher.
probe() {
    local compiler=$1 sanitizer=$2
    echo 'int main(void) { return 0; }' >"$work/empty.c"
    launcher=()
    "$compiler" -fsanitize="$sanitizer" "$work/empty.c" -o "$work/empty" >/dev/null 2>&1 || return 1
    ! "$work/empty" >/dev/null 2>&1 || return 0
    launcher=(setarch -R)
    "${launcher[@]}" "$work/empty" >/dev/null 2>&1
}

# With fake stacks (for stack-use-after-return) a switch is told to the sanitizer in another way.
check_address() {
    local compiler=$1 kind=$2 fake source
    for source in san_ok.c project/main.cpp san_tasks.c; do
        build "$compiler" address "$kind" "$source"
        for fake in 0 1; do
            export ASAN_OPTIONS=$asan:detect_stack_use_after_return=$fake
            must_pass
        done
    done
    for fake in 0 1; do
        export ASAN_OPTIONS=$asan:detect_stack_use_after_return=$fake
        build "$compiler" address "$kind" san_overflow.c
        must_report 'AddressSanitizer: stack-buffer-overflow' overflowing_write
        build "$compiler" address "$kind" san_leak.c
        must_report 'LeakSanitizer: detected memory leaks' lost_allocation
        ! grep -q '77 byte' "$work/err" || fail "$program: what a fiber holds was reported" "$work/err"
    done
    build "$compiler" address "$kind" san_uar.c
    must_report 'AddressSanitizer: stack-use-after-return' late_use
    unset ASAN_OPTIONS
}

check_thread() {
    local source workers
    for source in san_ok.c project/main.cpp san_tasks.c; do
        build "$1" thread "$2" "$source"
        must_pass
    done
    for workers in 1 2 7; do CC_WORKERS=$workers must_pass; done
    for source in san_race.c san_task_race.c; do
        build "$1" thread "$2" "$source"
        must_report 'ThreadSanitizer: data race' racing_write
    done
}

# LeakSanitizer without ASan.
check_leak() {
    build "$1" leak "$2" san_ok.c
    must_pass
    build "$1" leak "$2" san_leak.c
    must_report 'LeakSanitizer: detected memory leaks' lost_allocation
}

check_undefined() {
    local source
    for source in san_ok.c project/main.cpp; do
        build "$1" undefined "$2" "$source"
        must_pass
    done
}

install_release
for compiler in gcc clang; do
    for sanitizer in address leak thread undefined; do
        if ! probe "$compiler" "$sanitizer"; then
            echo "skipped: $compiler -fsanitize=$sanitizer does not work here"
            skipped=$((skipped + 1))
            continue
        fi
        for kind in shared static; do "check_$sanitizer" "$compiler" "$kind"; done
    done
done
echo "$passed runs as they should be, $skipped sanitizers skipped"
[ "$passed" -gt 0 ] || exit 77
