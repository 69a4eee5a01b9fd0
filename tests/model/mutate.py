#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weaken one memory order at a time, or break one step, and see whether a model notices.

    mutate.py --build BUILD_DIR [--full] MODEL [SOURCE...]     model_bits src/base/bits.c

Each atomic operation of a source is replaced by a weaker one, one place at a time, and those of the model's scenarios
run that must pass. A mutant is caught if one of them fails. All are built into one program, as copies of the functions
they are in, and it is told by their number which to call. The model's opening comment says

    Mutate: SOURCES           whose operations are weakened
    Mutate slowly: SOURCES    the same, with --full only
    Weaken: SOURCE: FUNCTION: OPERATION -> WEAKER
                              one mutant of that kind, which must be caught
    Break: SOURCE: OLD => NEW
                              a twin that must be caught: OLD, which is there once, becomes NEW
    Survives: FUNCTION: OPERATION -> WEAKER: the reason

An order that survives is stronger than needed, or one that no scenario needs: a survivor without such a line, or a
line without its survivor, is a failure. OPERATION#2 is the second of its kind in the function; * stands for anything.
The build must be Ninja's, with compile_commands.json; nothing in the tree or the build is changed.
"""
import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UPDATES = {"add": "fetch_add", "sub": "fetch_sub", "or": "fetch_or", "and": "fetch_and", "xchg": "exchange"}
SITE = re.compile(r"\bcc__(load|store|add|sub|or|and|xchg|cas|cas_weak|fence)_(acquire|release|acq_rel|full)\b")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
FUNCTION = re.compile(r"^[A-Za-z_][^;{}=#\n]*?\b(?!__attribute__)(\w+)\(([^;{}]*)\)\s*\{", re.M)


def without_comments(text):
    """The same with spaces in their place."""
    return COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


@dataclass
class Mutant:
    source: Path
    start: int  # what is replaced in the text, and by what
    end: int
    text: str
    line: int
    name: str  # FUNCTION: OPERATION -> WEAKER, or OLD => NEW
    must: bool = False  # be caught, whatever the model says


def weaker(operation, order):
    """The orders below one, and what to write for each."""
    if operation == "fence":
        if order == "full":
            yield "acq_rel", "cc__fence_acq_rel"
        yield "nothing", "(void)0"  # in place of the call with its parentheses
        return
    below = {"acq_rel": ["acquire", "release", "relaxed"], "acquire": ["relaxed"], "release": ["relaxed"]}
    for one in below[order]:
        yield one, f"cc__{operation}_{one}"


def prelude():
    """Definitions of the weaker operations that src/base/atomic.h has no use for."""
    lines = ['#include "base/atomic.h"', "#define cc__fence_acq_rel() atomic_thread_fence(memory_order_acq_rel)",
             "extern const int mc_mutant; /* of main.c: which mutant is asked for */"]
    for name, call in UPDATES.items():
        for order in ("relaxed", "acquire", "release"):
            lines += [f"#ifndef cc__{name}_{order}",
                      f"#define cc__{name}_{order}(p, v) atomic_{call}_explicit((p), (v), memory_order_{order})",
                      "#endif"]
    for name, call in (("cas", "strong"), ("cas_weak", "weak")):
        for order in ("relaxed", "acquire", "release"):
            fail = "acquire" if order == "acquire" else "relaxed"
            lines += [f"#ifndef cc__{name}_{order}",
                      f"#define cc__{name}_{order}(p, e, v) atomic_compare_exchange_{call}_explicit((p), (e), (v), "
                      f"memory_order_{order}, memory_order_{fail})", "#endif"]
    return "\n".join(lines) + "\n"


def mutants_of(path):
    text = path.read_text()
    code = without_comments(text)
    seen = {}
    for site in SITE.finditer(code):
        line = text.count("\n", 0, site.start()) + 1
        before = code[: site.start()]
        functions = FUNCTION.findall(before)
        where = functions[-1][0] if functions else "?"
        operation, order = site.groups()
        nth = seen[where, operation, order] = seen.get((where, operation, order), 0) + 1
        number = f"#{nth}" if nth > 1 else ""
        for order_below, call in weaker(operation, order):
            end = site.end()
            if order_below == "nothing":
                end = code.index(")", end) + 1
            yield Mutant(path, site.start(), end, call, line,
                         f"{where}: {operation}_{order}{number} -> {order_below}")


def weakened(line):
    """The mutant that a Weaken: line asks for."""
    path, _, name = line.partition(": ")
    found = [mutant for mutant in mutants_of(ROOT / path) if mutant.name == name]
    if not found:
        raise SystemExit(f"Weaken: {line}: there is no such operation")
    found[0].must = True
    return found[0]


def broken(line):
    """The twin that a Break: line asks for."""
    name, _, change = line.partition(": ")
    old, _, new = change.partition(" => ")
    path = ROOT / name
    text = path.read_text()
    if not new or text.count(old) != 1:
        raise SystemExit(f"Break: {line}: is not SOURCE: OLD => NEW with OLD there once, but {text.count(old)} times")
    start = text.index(old)
    return Mutant(path, start, start + len(old), new, text.count("\n", 0, start) + 1, change, True)


def parameter_names(parameters):
    """What a function's parameters are called; None if that is not to be told."""
    if parameters.strip() in ("", "void"):
        return []
    names = []
    for one in re.split(r",(?![^(]*\))", parameters):
        name = re.search(r"\(\*\s*(\w+)\)|(\w+)\s*(?:\[[^\]]*\])?\s*$", one)
        if name is None:
            return None
        names.append(name.group(1) or name.group(2))
    return names


class Source:
    """A source, or header, with all its mutants: each is a copy of the function it is in, which the function calls in
    place of itself when the number of that mutant is asked for."""

    def __init__(self, path):
        self.text = path.read_text()
        self.functions = {}  # where the body begins: its mutants' declarations, calls, definitions
        self.found = [(m, self.text.find("\n}\n", m.end()) + 3) for m in FUNCTION.finditer(without_comments(self.text))]

    def add(self, mutant, number):
        """False: it is not in a function, or not in one that can be told apart."""
        function, end = next(((m, end) for m, end in self.found if m.end() <= mutant.start and mutant.end < end),
                             (None, 0))
        names = parameter_names(function.group(2)) if function else None
        if names is None:
            return False
        name = f"{function.group(1)}__mutant_{number}"
        begin = function.start()
        head = self.text[begin : function.start(1)] + name + self.text[function.end(1) : function.end() - 1]
        rest = self.text[function.end() - 1 : mutant.start] + mutant.text + self.text[mutant.end : end]
        call = f"if (mc_mutant == {number}) return {name}({', '.join(names)});"
        declared, called, defined = self.functions.setdefault((begin, function.end(), end), ([], [], []))
        declared.append(head.rstrip() + ";\n")
        called.append(call)
        defined.append(head + rest)
        return True

    def mutated(self):
        """The text with all of them."""
        out, at = [], 0
        for (begin, body, end), (declared, called, defined) in sorted(self.functions.items()):
            out += [self.text[at:begin], *declared, self.text[begin:body], *called, self.text[body:end], *defined]
            at = end
        return "".join(out) + self.text[at:]


class Build:
    """Compiles sources of a model anew, and links the model with them."""

    def __init__(self, folder, model, temporary):
        self.folder = Path(folder).resolve()
        self.model = model
        self.temporary = temporary
        self.included = None  # what each object was made of
        self.entries = [e for e in json.loads((self.folder / "compile_commands.json").read_text())
                        if f"/{model}.dir/" in e.get("output", e["command"])]
        ninja = ["ninja", "-C", str(self.folder)]
        listed = subprocess.run(ninja + ["-t", "commands", model], capture_output=True, text=True, check=True)
        self.link = next(line for line in reversed(listed.stdout.splitlines()) if f"-o tests/model/{model} " in line)
        subprocess.run(ninja + ["--quiet", model], stdout=subprocess.DEVNULL, check=True)
        (temporary / "prelude.h").write_text(prelude())

    @staticmethod
    def object_of(entry):
        words = shlex.split(entry["command"])
        return words[words.index("-o") + 1]

    def sources_of(self, path):
        """The source itself; or those of the model that include a header: beside it, or else by way of others."""
        if path.suffix != ".h":
            return [path]
        files = {Path(e["file"]).resolve(): self.object_of(e) for e in self.entries if "/src/" in e["file"]}
        beside = [f for f in files if f.parent == path.parent and f'#include "{path.name}"' in f.read_text()]
        if beside and path.name.endswith("_hot.h"):  # whose functions one source has, in a model
            return beside
        if self.included is None:
            deps = ["ninja", "-C", str(self.folder), "-t", "deps", *files.values()]
            listed = subprocess.run(deps, capture_output=True, text=True, check=True).stdout.split("\n\n")
            self.included = {one.split(":")[0]: one for one in listed}
        return [f for f, made in files.items() if str(path) in self.included.get(made, "").split()]

    def compile(self, source, mutated):
        """Returns the object, or None if it does not compile; the object it stands for; and what was said."""
        entry = next(e for e in self.entries if Path(e["file"]).resolve() == source)
        words, output = shlex.split(entry["command"]), self.object_of(entry)
        made = mutated.with_suffix(".mutant.o")
        words[words.index("-o") + 1] = str(made)
        words[words.index("-c") + 1] = str(mutated)
        words += ["-w", "-g0", "-include", str(self.temporary / "prelude.h")]
        done = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True, check=False)
        return (made if done.returncode == 0 else None), output, done.stderr

    def program(self, name, texts):
        """The model with some files changed; or None, and what the compiler said."""
        folder = self.temporary / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / "src", folder / "src")  # so that whoever includes a header finds the mutant
        for path, text in texts.items():
            (folder / path.relative_to(ROOT)).write_text(text)
        link = self.link
        for source in sorted({source for path in texts for source in self.sources_of(path)}):
            made, stands_for, said = self.compile(source, folder / source.relative_to(ROOT))
            if made is None:
                return None, said
            link = link.replace(f" {stands_for} ", f" {made} ")
        program = folder / "mutant"
        link = link.replace(f"-o tests/model/{self.model} ", f"-o {program} ")
        subprocess.run(link, shell=True, cwd=self.folder, check=True, capture_output=True)
        return program, ""

    def of_all(self, mutants):
        """One program for as many of them as possible: their numbers in it are those in the list, from 1."""
        sources, these = {}, set()
        for number, mutant in enumerate(mutants, 1):
            source = sources.setdefault(mutant.source, Source(mutant.source))
            if source.add(mutant, number):
                these.add(number)
        program, _ = self.program("all", {path: source.mutated() for path, source in sources.items()})
        return program, (these if program else set())

    def of_one(self, mutant):
        text = mutant.source.read_text()
        program, said = self.program("one", {mutant.source: text[: mutant.start] + mutant.text + text[mutant.end :]})
        if program is None:
            raise SystemExit(f"{mutant.name}: does not compile\n{said}")
        return program


def run(program, number, timeout):
    """What became of a mutant: (caught, what was seen)."""
    try:
        done = subprocess.run([str(program), "--passing", "--first", "--mutant", str(number)], capture_output=True,
                              text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return False, f"still running after {timeout} s"
    failed = re.search(r"^FAIL (.+?)  +\d+ executions.*?\d s  (.*)$", done.stdout, re.M)
    how = f"{failed.group(1)}: {failed.group(2)}" if failed else done.stderr.strip()
    return done.returncode != 0, how


def said(model, key):
    """What a model's opening comment says after a key, one string a line."""
    opening = model.read_text().split("*/")[1]
    return [line.strip() for line in re.findall(rf"^ \* {key}: (.*)$", opening, re.M)]


def verdicts(build, mutants, timeout):
    """Prints what became of each mutant; returns those that survived."""
    survivors = []
    together, those = build.of_all(mutants)
    for number, mutant in enumerate(mutants, 1):
        caught, seen = run(together if number in those else build.of_one(mutant), number, timeout)
        if not caught:
            survivors.append(mutant)
        place = f"{mutant.source.relative_to(ROOT)}:{mutant.line}"
        print(f"{'caught  ' if caught else 'SURVIVED'}  {place}  {mutant.name}  {seen}", flush=True)
    print(f"{len(mutants)} mutants, {len(mutants) - len(survivors)} caught, {len(survivors)} survived")
    return survivors


def objections(model, mutants, survivors):
    """What is wrong with who survived."""
    justified = [": ".join(line.split(": ")[:2]) for line in said(model, "Survives")]
    for mutant in survivors:
        if mutant.must:
            yield f"survived, and must not: {mutant.name}"
        elif not any(fnmatchcase(mutant.name, pattern) for pattern in justified):
            yield f"survived, and {model.name} does not say why: {mutant.name}"
    lived = [mutant.name for mutant in survivors]
    for pattern in justified:
        tried = [mutant.name for mutant in mutants if fnmatchcase(mutant.name, pattern)]
        if tried and not any(name in lived for name in tried):
            yield f"{model.name} says that it survives: {pattern}"


def main():
    parser = argparse.ArgumentParser(description="Weaken one memory order at a time, and see whether a model notices.")
    parser.add_argument("--build", required=True, help="a build of the tree, made by Ninja")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for one mutant")
    parser.add_argument("--full", action="store_true", help="also those that take long")
    parser.add_argument("model")
    parser.add_argument("source", nargs="*", help="from the root of the tree")
    args = parser.parse_args()
    model = ROOT / "tests/model" / f"{args.model}.c"
    keys = ["Mutate", "Mutate slowly"] if args.full else ["Mutate"]
    names = args.source or [name for key in keys for line in said(model, key) for name in line.split()]
    mutants = [mutant for name in names for mutant in mutants_of(ROOT / name)]
    if not args.source:
        mutants += [weakened(line) for line in said(model, "Weaken")]
        mutants += [broken(line) for line in said(model, "Break")]
    if not mutants:
        print(f"{model.name} names no sources to mutate")
        return 0 if args.full else 1
    with tempfile.TemporaryDirectory() as folder:
        survivors = verdicts(Build(args.build, args.model, Path(folder)), mutants, args.timeout)
    wrong = list(objections(model, mutants, survivors))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
