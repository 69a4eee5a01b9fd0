#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh SOURCE_DIR WORK_DIR
# Goal: the installed library is what a packager and a user expect: complete, exporting its interface and
#   nothing else, movable, and usable from C and C++ by pkg-config, find_package and add_subdirectory.
# Method: install the release under WORK_DIR, look at it with readelf and nm, then build and run a user's
#   programs against it with each compiler there is, and compare what they print.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/consumer/lib.sh
. "$here/lib.sh" "$1" "$2"

readonly expected_c='6 turns, success, version as built'
readonly expected_cpp='one caught one, 0
two caught two, 0
three caught three, 0'

# The value of a macro of version.h.
version_part() { sed -n "s/#define CC_VERSION_$1 //p" "$source/include/ccrt/version.h"; }
version=$(version_part MAJOR).$(version_part MINOR).$(version_part PATCH)
major=${version%%.*}

# ---- what was installed ----

check_files() {
    local file
    for file in $(cd "$source/include" && find . -name '*.h'); do
        cmp -s "$source/include/$file" "$prefix/include/$file" || fail "header $file is missing or differs"
    done
    for file in "libccrt.so" "libccrt.so.$major" "libccrt.so.$version" libccrt.a pkgconfig/ccrt.pc \
        cmake/ccrt/ccrtConfig.cmake cmake/ccrt/ccrtConfigVersion.cmake cmake/ccrt/ccrtTargets.cmake; do
        [ -f "$libdir/$file" ] || fail "$file was not installed"
    done
    file=share/gdb/auto-load$libdir/libccrt.so.$version-gdb.py
    cmp -s "$source/tools/gdb/ccrt-gdb.py" "$prefix/$file" || fail "$file is missing or differs"
    if find "$prefix" -type f | grep -v -e '/include/ccrt' -e '/libccrt\.' -e '/ccrt\.pc$' -e '/cmake/ccrt/' \
        -e '/bin/ccgz$' -e '/man1/ccgz\.1$' \
        >"$work/log"; then
        fail "files of no use to a user were installed" "$work/log"
    fi
}

# No stack of this program or library is executable.
check_stack() {
    readelf -lW "$1" | grep 'GNU_STACK' | grep -vq 'RWE' || fail "$1 wants an executable stack"
}

check_library() {
    local so=$libdir/libccrt.so
    readelf -dW "$so" >"$work/dynamic"
    grep -q "SONAME.*\[libccrt\.so\.$major\]" "$work/dynamic" ||
        fail "the soname is not libccrt.so.$major" "$work/dynamic"
    ! grep -q 'TEXTREL' "$work/dynamic" || fail "libccrt.so has text relocations" "$work/dynamic"
    ! grep 'NEEDED' "$work/dynamic" | grep -q 'libstdc++' || fail "libccrt.so needs the C++ library" "$work/dynamic"
    check_stack "$so"

    # Exported: what the headers declare with CC_API, no more and no less, each with the version node.
    find "$prefix/include" -name '*.h' -exec cat {} + | tr '\n' ' ' | grep -oE 'CC_API( __thread[^;(]*;|[^;(]*\()' |
        sed 's/ *[(;]$//; s/.*[ *]//' | grep '^cc_' | LC_ALL=C sort -u >"$work/declared"
    nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort >"$work/exported"
    sed "s/\$/@@CCRT_$major/" "$work/declared" | diff - "$work/exported" >"$work/log" ||
        fail "exported (>) is not what the headers declare (<)" "$work/log"
    [ -s "$work/exported" ] || fail "nothing is exported"

    # The static library keeps to its names too.
    if nm -g --defined-only "$libdir/libccrt.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^cc_/' | grep . >"$work/log"; then
        fail "libccrt.a defines names without cc_" "$work/log"
    fi
}

# Staging, as packagers do it: the files move, what they say of their place does not.
check_destdir() {
    rm -rf "$work/dest"
    DESTDIR=$work/dest quietly cmake --install "$work/rel"
    (cd "$prefix" && find . -type f | LC_ALL=C sort) >"$work/direct"
    (cd "$work/dest$prefix" && find . -type f | LC_ALL=C sort) | diff "$work/direct" - >"$work/log" ||
        fail "an install with DESTDIR differs" "$work/log"
    if grep -rl "$work/dest" "$work/dest" >"$work/log"; then
        fail "files name the DESTDIR" "$work/log"
    fi
}

# The prefix may be chosen as late as at install.
check_late_prefix() {
    rm -rf "$work/late"
    quietly cmake --install "$work/rel" --prefix "$work/late"
    local flags
    flags=$(PKG_CONFIG_PATH=$work/late/${libdir#"$prefix"/}/pkgconfig pkg-config --cflags --libs ccrt)
    case $flags in
        *"$prefix"*) fail "cmake --install --prefix: ccrt.pc still names the configured prefix: $flags" ;;
    esac
}

# ---- programs ----

# Run a program and compare what it prints.
run() {
    local program=$1 expected=$2
    check_stack "$program"
    LD_LIBRARY_PATH=$libdir "$program" >"$work/printed" 2>&1 || fail "$program ended with $?" "$work/printed"
    [ "$(cat "$work/printed")" = "$expected" ] || fail "$program printed" "$work/printed"
}

# By pkg-config: the shared library, libccrt.a named by its path, and a wholly static program.
use_pkg_config() {
    local compiler=$1 source=$2 expected=$3 kind
    local -a warnings=(-O2 -Wall -Wextra -Wpedantic -Werror) flags
    export PKG_CONFIG_PATH=$libdir/pkgconfig
    quietly pkg-config --exact-version="$version" ccrt
    for kind in shared archive static; do
        case $kind in
            shared) read -ra flags <<<"$(pkg-config --cflags --libs ccrt)" ;;
            archive) read -ra flags <<<"$(pkg-config --static --cflags --libs ccrt)"
                flags=("${flags[@]/#-lccrt/$libdir/libccrt.a}") ;;
            static) read -ra flags <<<"-static $(pkg-config --static --cflags --libs ccrt)" ;;
        esac
        quietly "$compiler" "${warnings[@]}" "$source" -o "$work/program" "${flags[@]}"
        readelf -dW "$work/program" >"$work/dynamic"
        case $kind in
            shared) grep -q "NEEDED.*libccrt\.so\.$major" "$work/dynamic" || fail "not linked by its soname" ;;
            *) ! grep -q 'NEEDED.*libccrt' "$work/dynamic" || fail "linked to libccrt.so, not to libccrt.a" ;;
        esac
        run "$work/program" "$expected"
        passed=$((passed + 1))
    done
}

# By CMake, with the options given.
use_cmake() {
    local cc=$1 cxx=$2 kind
    shift 2
    rm -rf "$work/cmake"
    quietly cmake -G Ninja -S "$here/project" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_BUILD_TYPE=Release "$@"
    quietly cmake --build "$work/cmake"
    for kind in ccrt static; do
        run "$work/cmake/c_$kind" "$expected_c"
        run "$work/cmake/cpp_$kind" "$expected_cpp"
        passed=$((passed + 2))
    done
}

# As if it had been installed elsewhere: nothing in it may know where it was made.
move_prefix() {
    rm -rf "$work/moved"
    mv "$prefix" "$work/moved"
    libdir=$work/moved/${libdir#"$prefix"/}
    if grep -rl -e "$prefix" -e "$source" "$libdir/cmake" >"$work/log"; then
        fail "the CMake package names the place it was made in" "$work/log"
    fi
}

install_release
check_files
check_library
check_destdir
check_late_prefix

passed=0
pairs=()
for pair in gcc:g++ clang:clang++; do
    if command -v "${pair%:*}" >/dev/null && command -v "${pair#*:}" >/dev/null; then pairs+=("$pair"); fi
done
[ ${#pairs[@]} -gt 0 ] || { echo "neither gcc nor clang here"; exit 77; }

for pair in "${pairs[@]}"; do
    use_pkg_config "${pair%:*}" "$here/project/main.c" "$expected_c"
    use_pkg_config "${pair#*:}" "$here/project/main.cpp" "$expected_cpp"
done
move_prefix
for pair in "${pairs[@]}"; do
    use_cmake "${pair%:*}" "${pair#*:}" -DCMAKE_PREFIX_PATH="$work/moved" -DCCRT_VERSION="$version"
    use_cmake "${pair%:*}" "${pair#*:}" -DCCRT_SOURCE="$source"
done
echo "$passed programs built and run (${pairs[*]})"
