#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# demo.sh CCGZ
# The end of ./dev demo: a file made of what this machine has is compressed and decompressed, with a progress bar on a
# terminal, and beside it by pigz where that is installed. What comes out is checked with gzip.
set -euo pipefail
ccgz=$1
megabytes=${CCGZ_DEMO_MB:-96}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# How long a command takes, in ms; its output goes to a file.
timed() {
    local to=$1 begun=${EPOCHREALTIME/[.,]/}
    shift
    "$@" >"$to"
    took=$(((${EPOCHREALTIME/[.,]/} - begun) / 1000 + 1))
}

# say NAME MS MS BYTES: what compressing and decompressing took, and how small it got.
say() {
    local all=$((megabytes * 1000000))
    printf '       %-5s %4d MB/s there, %5d MB/s back, %d.%d %% of the size\n' "$1" $((all / $2 / 1000)) \
        $((all / $3 / 1000)) $((100 * $4 / all)) $((1000 * $4 / all % 10))
}

# try NAME COMMAND: there and back, and what came of it.
try() {
    local name=$1 there
    shift
    timed "$work/$name.gz" "$@" -c "$work/data"
    there=$took
    gzip -t "$work/$name.gz"
    timed "$work/back" "$@" -dc "$work/$name.gz"
    cmp -s "$work/back" "$work/data" || {
        echo "$name: what came back is not what went there" >&2
        exit 1
    }
    say "$name" "$there" "$took" "$(stat -c %s "$work/$name.gz")"
}

# Programs and libraries, again and again if there are few.
fill() {
    local bytes=$((megabytes * 1000000))
    while [ "$(stat -c %s "$1")" -lt $bytes ]; do
        find /usr/bin /usr/lib -type f -size +8k -print0 2>/dev/null | LC_ALL=C sort -z |
            xargs -0 cat 2>/dev/null | head -c $bytes >>"$1" || true # who writes on is told that nobody reads
    done
    truncate -s $bytes "$1"
}

echo
echo "ccgz, gzip on ccrt: $megabytes MB of programs and libraries, there and back"
: >"$work/data"
fill "$work/data"
try ccgz "$ccgz"
if command -v pigz >/dev/null; then try pigz pigz; else echo "       pigz is not installed: nothing to compare with"; fi
