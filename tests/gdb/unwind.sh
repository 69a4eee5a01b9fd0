#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: gdb unwinds through a switch, on a stack that is just being resumed, to the end and no further.
# Method: stop where a parked context is (cc__ctx_resume), when the second fiber is resumed in the middle of
# its functions, and look for them in order.
set -euo pipefail
program=$1
command -v gdb >/dev/null || { echo "no gdb"; exit 77; }
# The switches before: home to the first, the first to the second, the second back to the first.
out=$(gdb -batch -nx -ex 'set debuginfod enabled off' -ex 'set confirm off' -ex 'set print demangle off' \
    -ex 'break *cc__ctx_resume' -ex 'ignore 1 3' -ex run -ex bt "$program" 2>&1) || { echo "$out"; exit 1; }
if grep -q 'ptrace: Operation not permitted' <<<"$out"; then exit 77; fi
frames=$(grep -E '^#[0-9]+ ' <<<"$out" | grep -oE '[a-z_0-9]+ \(' | tr -d ' (' | tr '\n' ' ')
expected='cc_resched level3 level2 level1 body strand_main fiber_entry cc__ctx_entry '
case "$frames" in
    *"$expected") echo "frames: $frames" ;;
    *) echo "expected ...$expected, not: $frames"; echo "$out"; exit 1 ;;
esac
if grep -q 'corrupt stack' <<<"$out"; then echo "$out"; exit 1; fi
