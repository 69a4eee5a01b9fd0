# SPDX-License-Identifier: MIT
# What run.sh and sanitized.sh share: the library as a packager builds it, and saying what went wrong.
# Included with the arguments SOURCE_DIR WORK_DIR, which become $source and $work.
# shellcheck shell=bash

source=$(realpath "$1")
work=$(mkdir -p "$2" && realpath "$2")

# A user's environment, not that of the build that runs this test.
unset CC CXX CFLAGS CXXFLAGS LDFLAGS DESTDIR LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH
unset ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS

# Say what failed, with the output in a file, and stop.
fail() {
    echo "FAILED: $1" >&2
    [ $# -lt 2 ] || sed 's/^/    /' "$2" >&2
    exit 1
}

# Run a command quietly; show its output if it fails.
quietly() {
    local log="$work/log"
    "$@" >"$log" 2>&1 || fail "$*" "$log"
}

# Configure, build and install the release of $source under $work/prefix; sets $prefix and $libdir.
install_release() {
    prefix=$work/prefix
    rm -rf "$prefix"
    quietly cmake -G Ninja -S "$source" -B "$work/rel" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCCRT_TESTS=OFF -DCCRT_EXAMPLES=OFF
    quietly cmake --build "$work/rel"
    quietly cmake --install "$work/rel"
    libdir=$(dirname "$(find "$prefix" -name libccrt.a)")
    [ -f "$libdir/libccrt.a" ] || fail "no libccrt.a was installed"
}
