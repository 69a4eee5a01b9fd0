#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ./dev lint runs: clang-format, clang-tidy, cppcheck and shellcheck over the tree.

    lint.py BUILD_DIR     a build made by clang, for its compile_commands.json

Prints what a tool found, then a line for each tool and a sum: N passed, N failed (files, per tool). A tool
that is missing has failed. Ends with 1 if anything failed. ./dev fmt mends what clang-format found.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CPPCHECK = ["cppcheck", "--quiet", "--enable=warning,portability,performance", "--error-exitcode=1", "--inline-suppr",
            "--std=c11", "-DElfW(type)=Elf64_##type", "--template={file}:{line}: {severity}: {message} [{id}]"]
CPPCHECK_OFF = [
    "normalCheckLevelMaxBranches",  # says only that it did not look at everything
    "missingIncludeSystem",  # it is not given the system's headers
    "unmatchedSuppression",
]


def tracked():
    """The files git knows or would, that exist."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                            check=True)
    return sorted(path for path in set(listed.stdout.splitlines()) if (ROOT / path).is_file())


def is_shell(path):
    if path.endswith(".sh"):
        return True
    if "." in Path(path).name:
        return False
    with open(ROOT / path, "rb") as f:
        first = f.readline()
    return first.startswith(b"#!") and first.rstrip().endswith((b"sh", b"bash"))


def compiled(build):
    """Entries of the compilation database for src/ and apps/, one a file, which may be compiled for several targets."""
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix == ".c" and any(path.is_relative_to(ROOT / folder) for folder in ("src", "apps")):
            entries.setdefault(path.relative_to(ROOT).as_posix(), entry)
    return entries


def processor():
    """Definitions by which the code knows the processor; cppcheck has none of its own."""
    asked = subprocess.run(["clang", "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True, check=False)
    names = re.findall(r"#define (__x86_64__|__aarch64__|__riscv|__riscv_xlen|__LP64__) (\S+)", asked.stdout)
    return [f"-D{name}={value}" for name, value in names]


def cppcheck_flags(entry):
    """What of a compile command matters to cppcheck: definitions and include folders."""
    return [word for word in entry["command"].split() if word.startswith(("-D", "-I"))]


def commands(build):
    """(tool, file, command) of everything to be run."""
    files = tracked()
    for path in files:
        if path.endswith((".c", ".h", ".cpp")):
            yield "clang-format", path, ["clang-format", "--dry-run", "-Werror", path]
    cppcheck = CPPCHECK + [f"--suppress={name}" for name in CPPCHECK_OFF] + processor()
    for path, entry in sorted(compiled(build).items()):
        headers = ["--header-filter=apps/.*"] if path.startswith("apps/") else []  # those of include/ are src's
        yield "clang-tidy", path, ["clang-tidy", "-p", str(build), "--quiet", *headers, path]
        yield "cppcheck", path, cppcheck + cppcheck_flags(entry) + [path]
    for path in files:
        if is_shell(path):
            yield "shellcheck", path, ["shellcheck", "-x", path]


def run(job):
    """(tool, file, what it said) with what it said None if it found nothing."""
    tool, path, command = job
    if shutil.which(command[0]) is None:
        return tool, path, f"{path}: {command[0]} is not installed\n"
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + "".join(line for line in done.stderr.splitlines(True) if "warnings generated" not in line)
    return tool, path, None if done.returncode == 0 else said


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for tool, _, said in pool.map(run, commands(build)):
            counts.setdefault(tool, [0, 0])[said is not None] += 1
            if said is not None:
                print(f"== {tool}\n{said}", end="", flush=True)
    for tool, (passed, failed) in counts.items():
        print(f"{tool}: {passed} passed, {failed} failed")
    passed, failed = (sum(column) for column in zip(*counts.values()))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
