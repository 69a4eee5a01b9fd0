#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Coverage of src/, folder by folder, and the bars it must meet.

    cover.py [--verbose] BUILD_DIR...  builds made with gcc --coverage, whose tests have run; what one of
                                       them ran, ran (sanitizers reach code that plain builds do not)

Prints, for every folder of src/: lines that are code, how many of them ran, functions, and how many of
them were never called; then the names of those, and the files that were not measured at all. --verbose
adds the lines that never ran. Ends with 1 if a folder with bars (BARS) has a function nobody called, too
few lines that ran, or a file that is compiled but was not measured.

Nothing is left out in silence: static functions and those of headers count, as do lines marked for
exclusion in the source. What cannot be seen is said: assembly, and files that this build does not
compile. A line of nothing but braces is not code to gcovr. Children of tests that abort() or _exit() count;
what a child killed by another signal did last is lost.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

LINES_LEAST = 90.0  # per cent of a folder's lines
BARS = ("base", "plat", "fiber")  # folders of src/ that must meet it, with every function called
FIRST = (*BARS, "step")  # shown first, and in this order, even if there is nothing to show


def die(text):
    sys.exit(f"cover: {text}")


def source_root(build):
    """The tree that a build was configured from."""
    cache = build / "CMakeCache.txt"
    if not cache.is_file():
        die(f"{build} is not a build directory: it has no CMakeCache.txt")
    found = re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.+)$", cache.read_text(), re.MULTILINE)
    return Path(found.group(1)).resolve()


def measure(root, build):
    """What gcovr found: {path below root: {"lines": {number: count}, "functions": {name: count}}}."""
    if not any(build.rglob("*.gcno")):
        die(f"{build} was not built for coverage: configure the preset `cover`")
    if not any(build.rglob("*.gcda")):
        die(f"no counts under {build}: run its tests first")
    # Counters written out while other threads still count may not add up: such lines are left out.
    command = ["gcovr", "--gcov-ignore-parse-errors", "--json", "--no-markers", "--root", str(root),
               "--object-directory", str(build), "--filter", re.escape(str(root / "src")) + "/", str(build)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        die("gcovr is not installed (Debian: gcovr)")
    if done.returncode != 0:
        die(f"gcovr failed:\n{done.stderr}")
    files = {}
    for entry in json.loads(done.stdout)["files"]:
        lines = {i["line_number"]: i["count"] for i in entry["lines"] if not i["gcovr/noncode"]}
        functions = {}
        for i in entry["functions"]:
            functions[i["name"]] = functions.get(i["name"], 0) + i["execution_count"]
        files[entry["file"]] = {"lines": lines, "functions": functions}
    return files


def merge(into, files):
    """Add one build's counts to those of the builds before it."""
    for path, f in files.items():
        known = into.setdefault(path, {"lines": {}, "functions": {}})
        for kind in known:
            for key, count in f[kind].items():
                known[kind][key] = known[kind].get(key, 0) + count


def unmeasured(root, builds, files):
    """Sources without counts: ([(path, why nothing can be said)], [paths that should have some])."""
    compiled = {Path(i["file"]).resolve() for build in builds
                for i in json.loads((build / "compile_commands.json").read_text())}
    unseen, missing = [], []
    for path in sorted((root / "src").rglob("*.[cS]")):
        name = str(path.relative_to(root))
        if path.suffix == ".S":
            unseen.append((name, "assembly"))
        elif name not in files and path not in compiled:
            unseen.append((name, "not compiled in these builds"))
        elif name not in files:
            missing.append(name)
    return unseen, missing


def share(files):
    """Lines that are code, lines that ran, and per cent of them, over some files."""
    counts = [count for f in files for count in f["lines"].values()]
    ran = sum(count > 0 for count in counts)
    return len(counts), ran, 100.0 * ran / len(counts) if counts else 100.0


def never_called(files):
    """[(path, function)] over {path: file}."""
    return [(path, name) for path, f in sorted(files.items()) for name, n in sorted(f["functions"].items()) if n == 0]


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    text, numbers = [], sorted(numbers)
    while numbers:
        n = 1
        while n < len(numbers) and numbers[n] == numbers[0] + n:
            n += 1
        text.append(f"{numbers[0]}-{numbers[n - 1]}" if n > 1 else f"{numbers[0]}")
        numbers = numbers[n:]
    return " ".join(text)


def report(folders, unseen, missing, verbose):
    print(f"{'folder':<12}{'lines':>8}{'ran':>8}{'%':>8}{'functions':>12}{'never called':>14}")
    for folder, files in folders.items():
        lines, ran, percent = share(files.values())
        functions = sum(len(f["functions"]) for f in files.values())
        shown = f"{percent:.1f}" if lines else "-"
        print(f"src/{folder:<8}{lines:>8}{ran:>8}{shown:>8}{functions:>12}{len(never_called(files)):>14}")
    for files in folders.values():
        for path, name in never_called(files):
            print(f"never called: {name} ({path})")
    for path, why in unseen:
        print(f"not measured: {path} ({why})")
    for path in missing:
        print(f"not measured: {path} (compiled, but in no test)")
    if not verbose:
        return
    for files in folders.values():
        for path, f in sorted(files.items()):
            not_run = [line for line, count in f["lines"].items() if count == 0]
            if not_run:
                print(f"never ran: {path}: {ranges(not_run)}")


def failures(folders, missing):
    """What does not meet the bars, in words."""
    for folder in BARS:
        lines, _, percent = share(folders[folder].values())
        if lines == 0:
            yield f"nothing of src/{folder} was measured"
        elif percent < LINES_LEAST:
            yield f"src/{folder}: {percent:.1f} % of the lines ran, fewer than {LINES_LEAST:.0f} %"
        names = [name for _, name in never_called(folders[folder])]
        if names:
            yield f"src/{folder}: never called: {', '.join(names)}"
        for path in missing:
            if path.startswith(f"src/{folder}/"):
                yield f"{path} was not measured"


def main():
    parser = argparse.ArgumentParser(description="Coverage of src/ and its bars.")
    parser.add_argument("build", type=Path, nargs="+")
    parser.add_argument("--verbose", action="store_true", help="list the lines that never ran")
    given = parser.parse_args()
    builds = [build.resolve() for build in given.build]
    root = source_root(builds[0])
    files = {}
    for build in builds:
        merge(files, measure(root, build))
    unseen, missing = unmeasured(root, builds, files)
    folders = {name: {} for name in FIRST}
    for path, f in sorted(files.items()):
        folders.setdefault(path.split("/")[1], {})[path] = f
    report(folders, unseen, missing, given.verbose)
    wrong = list(failures(folders, missing))
    for text in wrong:
        print(f"cover: FAILED: {text}")
    if not wrong:
        print(f"cover: every function called and {LINES_LEAST:.0f} % of lines run in " +
              ", ".join(f"src/{name}" for name in BARS))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
