#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: info fibers and fiber N show every task in gdb, of a live process and of a core file.
# Method: stop a program when its tasks wait, ask for all of them, for the stack and a variable of one that waits, and
# for the one that runs; then the same of the core file that the program leaves when it aborts there. (gdb's own core
# files have no stacks in them where guards are marks that it cannot read.)
set -euo pipefail
program=$1 script=$2
command -v gdb >/dev/null || { echo "no gdb"; exit 77; }
gdb -batch -nx -ex 'python import gdb.unwinder' 2>&1 | grep -q . && { echo "gdb without Python"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/ccrt-core.XXXXXX")
trap 'rm -rf "$dir"' EXIT
common=(gdb -batch -nx -ex 'set debuginfod enabled off' -ex 'set confirm off' -ex 'set width 0'
    -ex 'set print demangle off' -ex "source $script")
look=(-ex 'info fibers' -ex 'echo == parker\n' -ex 'fiber "the parker" bt' -ex 'echo == variable\n'
    -ex 'fiber "the parker"' -ex 'frame function parker' -ex 'print kept' -ex 'fiber 0'
    -ex 'echo == looker\n' -ex 'fiber "the looker" bt' -ex 'echo == thread\n' -ex bt)

# What a list of commands printed must say, whoever was asked.
check() {
    local out=$1 what=$2 innermost=$3 pattern
    # shellcheck disable=SC2016 # a dollar sign of gdb's
    for pattern in \
        '^[0-9]+ "the parker": waits \(park_if on 0x[0-9a-f]+\), spawned at .*fibers\.c:[0-9]+$' \
        '^[0-9]+ "the joiner": waits \(join of task [0-9]+ "the parker"\), spawned at .*fibers\.c:[0-9]+$' \
        '^[0-9]+ "the looker": runs on worker [0-9]+, spawned at .*fibers\.c:[0-9]+$' \
        '^3 tasks$' '^#[0-9]+ .*cc_priv_park_if \(' '^\$1 = \(void \*.*\) 0x1267$'; do
        grep -qE "$pattern" <<<"$out" || { echo "$what: no $pattern in:"; echo "$out"; exit 1; }
    done
    frames "$out" "$what" parker 'waits_here parker fiber_main fiber_entry cc__ctx_entry '
    frames "$out" "$what" looker "$innermost looks fiber_main fiber_entry cc__ctx_entry "
    frames "$out" "$what" thread "$innermost looks fiber_main fiber_entry cc__ctx_entry "
    if grep -qE 'corrupt stack|Python Exception' <<<"$out"; then echo "$what: $out"; exit 1; fi
}

# The functions of the frames after "== NAME", ending as expected.
frames() {
    local got
    got=$(sed -n "/^== $3\$/,/^== /p" <<<"$1" | grep -E '^#[0-9]+ ' |
        sed -E 's/^#[0-9]+ +(0x[0-9a-f]+ in )?//; s/ .*//' | tr '\n' ' ')
    case "$got" in
        *"$4") ;;
        *) echo "$2: of $3 expected ...$4, not: $got"; echo "$1"; exit 1 ;;
    esac
}

live=$("${common[@]}" -ex 'break all_are_there' -ex run "${look[@]}" "$program" 2>&1) || { echo "$live"; exit 1; }
if grep -q 'ptrace: Operation not permitted' <<<"$live"; then echo "gdb may not trace here"; exit 77; fi
check "$live" live all_are_there

(cd "$dir" && ulimit -c unlimited && exec "$program" abort) >/dev/null 2>&1 || true
core=$(find "$dir" -name 'core*' -size +0 | head -1)
[[ -n $core ]] || { echo "live: good; no core files here: $(cat /proc/sys/kernel/core_pattern)"; exit 77; }
dead=$("${common[@]}" "${look[@]}" "$program" "$core" 2>&1) || { echo "$dead"; exit 1; }
check "$dead" core abort
