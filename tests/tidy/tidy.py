#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Style as a test: what CONTRIBUTING asks of the tree and a machine can see.

    tidy.py [--build BUILD_DIR] [ROOT]     check the tree; 1 if there are findings
    tidy.py --list                         what is checked

A rule is a function that takes the tree and yields findings; RULES at the end lists them. Each finding
is one line: path:line: what is wrong. What to do about it. test_tidy.py shows that every rule can fail.
"""
import argparse
import ast
import fnmatch
import re
import sys
import textwrap
from pathlib import Path, PurePosixPath

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tree import Tree  # noqa: E402 (needs the path)

# ---- layers and the places for things ----

LAYERS = {"base": 0, "plat": 1, "trace": 2, "fiber": 3, "task": 4, "driver": 5, "sched": 6, "runtime": 8}
LAYERS |= dict.fromkeys(["chan", "sync", "scope", "job", "future", "io", "time", "sim", "step"], 7)


def layering(tree):
    """A file of src/ includes its own folder, strictly lower layers and <ccrt/...>."""
    for f in tree.c_files("src"):
        folder = f.parts[1]
        if len(f.parts) < 3 or folder not in LAYERS:
            yield f, 1, f"src/{folder} is not a layer. Move the file into one, or add the folder to LAYERS in tidy.py."
            continue
        for line, name in f.includes:
            if name[0] == "<":
                continue
            target = normal(f"{f.parent}/{name[1:-1]}")
            to = target.split("/")
            if target not in tree.by_path:
                yield f, line, f"{name} is no file of the tree. Name it relative to this file's folder."
            elif to[0] == "include":
                yield f, line, f"{name} is a public header. Include it as <{'/'.join(to[1:])}>."
            elif to[0] != "src" or to[1] not in LAYERS:
                yield f, line, f"{name} is outside the layers. Include headers of src/ only."
            elif to[1] != folder and LAYERS[to[1]] >= LAYERS[folder]:
                yield (f, line, f"{folder} (layer {LAYERS[folder]}) includes {to[1]} (layer {LAYERS[to[1]]}). "
                       "Move what is needed to a lower layer, or pass it in.")


def raw_atomics(tree):
    """Atomic operations are spelled out in src/base/atomic.h only."""
    raw = re.compile(r"<stdatomic\.h>|\b(atomic_|__atomic_|__sync_|memory_order)\w*")
    for f in tree.c_files("src"):
        if f.path != "src/base/atomic.h":
            yield from grep(f, raw, "{} is a raw atomic. Use the cc__ operations of src/base/atomic.h.")


def errno_above_plat(tree):
    """errno is read and written in src/base and src/plat only; nobody asks libc for error texts."""
    for f in tree.c_files("src", "include"):
        if not f.under("src/base", "src/plat"):
            includes = {line for line, _ in f.includes}
            for line, text in enumerate(f.code, 1):
                if line not in includes and re.search(r"\berrno\b", text):
                    yield (f, line, "errno above src/plat: its address may be another thread's after a switch. "
                           "Return a negative errno from a function of src/plat.")
        texts = re.compile(r"\b(strerror\w*|perror)\s*\(")
        yield from grep(f, texts, "{} is not callable everywhere. Use cc_strerror().")


def getenv_outside_runtime(tree):
    """The environment is read once, in src/runtime."""
    for f in tree.c_files("src"):
        if not f.under("src/runtime"):
            yield from grep(f, re.compile(r"\b(secure_)?getenv\b"), "{} outside src/runtime. Make it an option there.")


OS_MACROS = re.compile(r"\b(__linux__|__linux|linux|__gnu_linux__|__APPLE__|__MACH__|_WIN32|_WIN64|__CYGWIN__|"
                       r"__FreeBSD__|__NetBSD__|__OpenBSD__|__DragonFly__|__sun|__unix__|__ANDROID__|__BSD__)\b")
CPU_MACROS = re.compile(r"\b(__x86_64__|__amd64__|__i386__|__aarch64__|__arm__|__riscv\w*|__powerpc\w*|__ppc\w*|"
                        r"__s390\w*|__loongarch\w*|__mips\w*|__sparc\w*|__AVX\w*|__SSE\w*|_M_X64|_M_IX86|_M_ARM\w*)\b")

CPU_FILES = ("src/base/atomic.h", "include/ccrt/here.h")  # here.h reads thread-locals in user code


def platform_ifdefs(tree):
    """#if by operating system in src/plat only; by processor there, in src/fiber and in CPU_FILES."""
    for f in tree.c_files("src", "include"):
        for line, text in f.directives:
            if not re.match(r"#\s*(if|ifdef|ifndef|elif)\b", text):
                continue
            system, cpu = OS_MACROS.search(text), CPU_MACROS.search(text)
            if system and not f.under("src/plat"):
                yield f, line, f"{system.group()} outside src/plat. Give src/plat a function that differs by system."
            if cpu and not f.under("src/plat", "src/fiber") and f.path not in CPU_FILES:
                yield (f, line, f"{cpu.group()} here. Code for one processor is in src/plat, src/fiber and "
                       f"{', '.join(CPU_FILES)} only.")


# ---- memory orders ----

TAG = re.compile(r"\[([A-Z]{2,4}[0-9]+)\]")


def tag_sites(f):
    """Comments with a tag that stand at an operation: in a function or right above one, not at a field."""
    for comment in f.comments:
        if not TAG.search(comment.text):
            continue
        for function in f.functions:
            if comment.end == function.line - 1 or (
                function.line <= comment.line <= function.end and not declares_atomic(f, comment)
            ):
                yield comment
                break


def declares_atomic(f, comment):
    """Whether the code beside a comment, or the next after it, declares an atomic."""
    beside = f.code[comment.line - 1]
    after = next((line for line in f.code[comment.end :] if line.strip()), "")
    return re.search(r"\b_Atomic\b", beside if beside.strip() else after) is not None


def tags_have_partners(tree):
    """A memory-order tag like [RQ1] stands at both sides: at two operations or more."""
    first, sites = {}, {}
    for f in tree.c_files("src"):
        for comment in f.comments:
            for tag in TAG.findall(comment.text):
                first.setdefault(tag, (f, comment.line))
        for comment in tag_sites(f):
            for tag in set(TAG.findall(comment.text)):
                sites.setdefault(tag, []).append((f, comment.line))
    for tag, where in first.items():
        at = sites.get(tag, [])
        if len(at) < 2:
            f, line = at[0] if at else where
            yield (f, line, f"[{tag}] stands at {len(at)} operation(s). Put it in the comments of both partners, "
                   "the one that publishes and the one that reads.")


def fences_have_tags(tree):
    """Every full fence has a comment with a tag, at most 6 lines above it."""
    for f in tree.c_files("src"):
        for line, text in enumerate(f.code, 1):
            if f.path == "src/base/atomic.h" or not re.search(r"\bcc__fence_full\s*\(", text):
                continue
            near = [c for c in f.comments if line - 6 <= c.end and c.line <= line]
            if not any(TAG.search(c.text) for c in near):
                yield (f, line, "a full fence without a tag. Say in a comment above it, with a tag like [RQ1], "
                       "which store and load it orders and what happens without it.")


# ---- size and shape ----

LONG_FILE, LONG_FUNCTION, LONG_LINE = 600, 70, 120
LONG_ALLOWED = {}  # path: why it may be longer


def too_long(tree):
    """Functions have at most 70 lines, C files 600, lines 120 columns."""
    for f in tree.files:
        if f.path in LONG_ALLOWED:
            continue
        if f.suffix in (".c", ".h", ".cpp") and len(f.lines) > LONG_FILE:
            yield f, LONG_FILE + 1, f"{len(f.lines)} lines, more than {LONG_FILE}. Split the file by what it explains."
        for name, line, end in functions_of(f):
            if end - line + 1 > LONG_FUNCTION:
                yield f, line, f"{name} has {end - line + 1} lines, more than {LONG_FUNCTION}. Split it."
        for line, text in enumerate(f.lines, 1):
            if len(text) > LONG_LINE and is_source(f) and not unbreakable(f, text):
                yield f, line, f"{len(text)} columns, more than {LONG_LINE}. Break the line."


def functions_of(f):
    if f.is_c:
        return [(i.function, i.line, i.end) for i in f.functions]
    if f.suffix == ".py":
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [(n.name, n.lineno, n.end_lineno) for n in ast.walk(ast.parse(f.text)) if isinstance(n, kinds)]
    return []


def unbreakable(f, text):
    """Table rows and bare links of documents."""
    return f.suffix == ".md" and (text.lstrip().startswith("|") or re.search(r"https?://\S{60}", text))


SPDX = "SPDX-License-Identifier: MIT"
SPDX_SUFFIXES = (".c", ".h", ".cpp", ".hpp", ".S", ".py", ".sh", ".cmake", ".in", ".map", ".go", ".rs", ".yml",
                 ".yaml", ".pml", ".toml", ".supp", ".gdb", ".rb")
SPDX_NAMES = ("CMakeLists.txt", "Makefile", ".clang-format", ".clang-tidy", ".editorconfig", "Dockerfile")


def licence_lines(tree):
    """Every source, script and build file says its licence in its first line (after a #! line)."""
    for f in tree.files:
        if not (f.suffix in SPDX_SUFFIXES or f.name in SPDX_NAMES or f.is_script):
            continue
        first = 1 if f.lines and f.lines[0].startswith("#!") else 0
        if SPDX not in "".join(f.lines[first : first + 1]):
            yield f, first + 1, f"no licence. The first line (after #!) is a comment with {SPDX}."


def opening_comments(tree):
    """Every .c of src/ and apps/ opens with an essay; Prev: and Next: name files of src/, or of the app's folder."""
    for f in tree.c_files("src", "apps"):
        root = "src" if f.under("src") else f.parent
        essay, line = f.opening
        steps = re.findall(r"\b(Prev|Next):\s+((?:[\w./-]+(?:,\s*)?)+)", essay)
        if f.suffix == ".c":
            words = re.sub(r"\b(Prev|Next):.*|[^\w]", "", essay)
            if not words:
                yield f, line, "no opening comment. Say what the file is for, its invariants and its protocol."
            elif not steps:
                yield f, line, "no Prev: or Next: in the opening comment. Name the files to read before and after."
        for way, names in steps:
            for name in re.split(r",\s*", names.strip(" ,.")):
                if f"{root}/{name}" not in tree.by_path:
                    yield f, line, f"{way}: {name} does not exist. Name a file as seen from {root}/."


def names(tree):
    """cc_ for what is public, cc__ for what files of src/ share, no prefix for what is static; no _t."""
    public = {i.function for f in tree.c_files("include") for i in f.items if i.function}
    for f in tree.c_files("include"):
        yield from names_public(f)
        yield from names_types(f)
    for f in tree.c_files("src"):
        yield from names_internal(f, public)
        yield from names_types(f)


def names_public(f):
    for line, text in f.directives:
        found = re.match(r"#\s*define\s+(\w+)", text)
        if found and not found.group(1).startswith(("CC_", "cc_", "CCRT_")):
            yield f, line, f"public macro {found.group(1)}. Begin its name with CC_ or cc_."
    for item in f.items:
        if item.function and not item.space.startswith("ccrt") and not item.function.startswith(("cc_", "CC_")):
            yield f, item.line, f"public function {item.function}. Begin its name with cc_."
        elif item.function and item.function.startswith("cc__"):
            yield f, item.line, f"{item.function} in a public header. What a public macro calls is named cc_priv_."
    text = "\n".join(f.code)
    for found in re.finditer(r"\b(struct|union|enum)\s+(\w+)\s*\{", text):
        if not found.group(2).startswith("cc_"):
            yield f, line_of(text, found), f"public type {found.group(2)}. Begin its name with cc_."
    for found in re.finditer(r"\benum\b[^{;()]*\{([^}]*)\}", text):
        for name in re.findall(r"(?:^|,)\s*(\w+)", found.group(1)):
            if not name.startswith("CC_"):
                yield f, line_of(text, found), f"public constant {name}. Begin its name with CC_."


def names_internal(f, public):
    header = f.suffix == ".h"
    for item in f.items:
        name = item.function
        foreign = item.head.startswith("extern") and not item.body
        if not name or foreign or name.isupper() or not (item.body or header):
            continue
        if item.static and not header:
            if name.startswith("cc_"):
                yield f, item.line, f"static {name}. A static function carries no cc_ prefix."
        elif not name.startswith("cc_"):
            yield f, item.line, f"{name} is seen by other files. Make it static, or begin its name with cc__."
        elif not name.startswith("cc__") and name not in public:
            yield f, item.line, f"{name} is in no public header. Begin its name with cc__."


def names_types(f):
    text = "\n".join(f.code)
    tagged, renamed = r"\b(?:struct|union|enum)\s+(\w+_t)\s*\{", r"(?:^\}|\btypedef\b[^;{}]*[\s*])\s*(\w+_t)\s*;"
    for found in re.finditer(f"{tagged}|{renamed}", text, re.M):
        name = found.group(1) or found.group(2)
        yield f, line_of(text, found), f"type {name}. Drop the _t; POSIX keeps that suffix for itself."


def public_linkage(tree):
    """Every function declared in include/ is CC_API: without it a shared library hides it."""
    for f in tree.c_files("include"):
        for item in f.prototypes:
            if not item.static and "CC_API" not in item.head.split():
                yield f, item.line, f"{item.function} is not exported. Begin its declaration with CC_API."


# ---- nothing left over, nothing left out ----


def unused_sources(tree):
    """The build, or a script, uses every .c, .cpp and .S of src, tests, bench, examples and apps."""
    if tree.compiled is None:
        return
    builders = [f for f in tree.files if f.is_cmake or f.is_script]
    for f in tree.files:
        if f.suffix not in (".c", ".cpp", ".S") or not f.under("src", "tests", "bench", "examples", "apps"):
            continue
        if f.path in tree.compiled or any(builds(b, f) for b in builders):
            continue
        if not any(path.startswith(f.parts[0] + "/") for path in tree.compiled) and globbed(tree, f):
            continue  # of a folder that is an option, off in this build
        yield f, 1, "the build does not use this file. Delete it, or have a CMakeLists.txt or script build it."


def builds(builder, f):
    """Whether a script or CMakeLists.txt of the same top folder, or above, names a file."""
    if builder.parts[0] != f.parts[0] and builder.parent not in ("", ".ci", "cmake", "tools"):
        return False
    text = builder.text.replace("\\", "")
    if re.search(rf"(?<![\w.]){re.escape(f.name)}\b", text):
        return True
    if builder.is_script and builder.parts[0] == f.parts[0]:
        return re.search(rf"(?<![\w.-]){re.escape(f.stem)}(?![\w-])", text) is not None
    for token in re.findall(r"[\w${}.-]*\$\{\w+\}[\w${}.-]*\.(?:cpp|c|S)\b", text):
        literal = re.sub(r"\$\{\w+\}", "", token)
        pattern = re.escape(re.sub(r"\$\{\w+\}", "\0", token)).replace("\0", r"\w+")
        if len(literal) > 4 and re.fullmatch(pattern, f.name):
            return True
    return False


def globbed(tree, f):
    """Whether a glob of the nearest CMakeLists.txt finds the file."""
    for n in range(len(f.parts) - 1, 0, -1):
        folder = "/".join(f.parts[:n])
        lists = tree.by_path.get(f"{folder}/CMakeLists.txt")
        if lists is not None:
            rest = "/".join(f.parts[n:])
            globs = re.findall(r"[\w./-]*\*[\w./*-]*", re.sub(r"\$\{\w+\}/?", "", lists.text))
            return any(fnmatch.fnmatch(rest, g) and rest.count("/") == g.count("/") for g in globs)
    return False


def unused_scripts(tree):
    """Every .py and .sh is named in dev, CMake, another script or a document."""
    users = [f for f in tree.files if f.is_cmake or f.is_script or f.suffix in (".md", ".yml", ".json")]
    for f in tree.files:
        if f.suffix in (".py", ".sh") and not any(u.path != f.path and runs(u, f) for u in users):
            yield f, 1, "nothing runs this script. Call it from dev or a test, name it in a document, or delete it."


def runs(user, f):
    """Whether a file names a script: beside it by its name, elsewhere with its folder; or imports it."""
    near = user.parent == f.parent
    if near and f.suffix == ".py" and re.search(rf"^\s*(from|import)\s+{f.stem}\b", user.text, re.M):
        return True
    name = f.name if near or not f.parent else f"{f.parts[-2]}/{f.name}"
    return re.search(rf"(?<![\w.-]){re.escape(name)}\b", user.text) is not None


UNIT_TESTED = ("error", "version")  # headers tested beside the file they declare


def public_functions(f):
    """(name, line) of what a public header offers to call."""
    found = [(f"{i.space}::{i.function}" if i.space else i.function, i.line) for i in f.items if i.function]
    for line, text in f.directives:
        macro = re.match(r"#\s*define\s+(cc_\w+|CC_\w+)\(", text)
        if macro and f.stem != "defs":
            found.append((macro.group(1), line))
    return [(name, line) for name, line in found if not re.match(r"cc_priv_|CC_PRIV_|ccrt::priv::", name)]


CALL = re.compile(r"\b([cC][cC]_\w+|ccrt::\w+)\s*\(")


def untested_api(tree):
    """Every public function is called in a test or example, and every public header has a test."""
    users = tree.c_files("tests", "examples")
    called = {name for f in users for text in f.code for name in re.findall(CALL, text)}
    for f in tree.c_files("include/ccrt"):
        if f.stem in ("defs", "here"):  # of others: whoever includes a header compiles them
            continue
        folder = "unit" if f.stem in UNIT_TESTED else "api"
        if not any(f"tests/{folder}/test_{f.stem}{suffix}" in tree.by_path for suffix in (".c", ".cpp")):
            yield f, 1, f"no tests/{folder}/test_{f.stem}.c. Write it: every public header has its test."
        for name, line in public_functions(f):
            if name not in called:
                yield f, line, f"{name} is called in no test and no example. Test what is documented."


# ---- text ----

LEFTOVERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")  # in halves: this file is looked at too
TABS_ALLOWED = ("Makefile", "go.mod", "go.sum")


def is_source(f):
    """Text written by hand, as opposed to data and expected output."""
    return f.suffix in SPDX_SUFFIXES + (".md",) or f.name in SPDX_NAMES or f.is_script


def leftovers(tree):
    """No markers for later work: it is done, or written down where it is seen."""
    for f in tree.files:
        for line, text in enumerate(f.lines, 1):
            found = LEFTOVERS.search(text)
            if found and is_source(f):
                yield f, line, f"{found.group()} marker. Do it, or write it in docs/."


def whitespace(tree):
    """No trailing space, no tabs, a newline at the end."""
    for f in tree.files:
        if not is_source(f) and f.suffix != ".json":
            continue
        for line, text in enumerate(f.text.split("\n"), 1):
            if text != text.rstrip():
                yield f, line, "space at the end of the line. Remove it."
            if "\t" in text and f.suffix != ".go" and f.name not in TABS_ALLOWED:
                yield f, line, "a tab. Use spaces."
        if f.text and not f.text.endswith("\n"):
            yield f, len(f.lines), "no newline at the end of the file. Add one."
        elif f.text.endswith("\n\n"):
            yield f, len(f.lines), "empty lines at the end of the file. Remove them."


PATHS = re.compile(r"`((?:src|tests|docs|include|examples|bench|tools|cmake|apps)/[^`\s]*)`")


def document_links(tree):
    """Links in documents lead somewhere; paths in backticks exist (with * and <name> as wildcards)."""
    for f in tree.files:
        if f.suffix != ".md":
            continue
        for line, text in prose(f):
            bare = re.sub(r"`[^`]*`", "", text)
            targets = re.findall(r"\]\(\s*<?([^)\s>]+)", bare) + re.findall(r"^\[[^\]]+\]:\s+(\S+)", bare)
            for target in targets:
                yield from broken_link(tree, f, line, target)
            for path in PATHS.findall(text):
                if not path_exists(tree, path):
                    yield f, line, f"`{path}` does not exist. Name what is there, or make it."


def prose(f):
    """(line number, text) of the lines outside code blocks."""
    fenced = False
    for line, text in enumerate(f.lines, 1):
        if re.match(r"\s*(```|~~~)", text):
            fenced = not fenced
        elif not fenced:
            yield line, text


def broken_link(tree, f, line, target):
    if re.match(r"[a-z]+:", target):
        return
    path, _, anchor = target.partition("#")
    full = normal(f"{f.parent}/{path}") if path else f.path
    if not tree.exists(full):
        yield f, line, f"the link to {path} is broken. Name a file relative to this one."
    elif anchor and full in tree.by_path and anchor not in anchors(tree.by_path[full]):
        yield f, line, f"{full} has no heading for #{anchor}. Link to one it has."


def anchors(f):
    """What GitHub makes of the headings of a document, and the ids written by hand."""
    found = set(re.findall(r'<a\s+(?:id|name)="([^"]+)"', f.text))
    seen = {}
    for _, text in prose(f):
        heading = re.match(r"#+\s+(.*?)\s*#*$", text)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            n = seen.get(slug, 0)
            seen[slug] = n + 1
            found.add(slug if n == 0 else f"{slug}-{n}")
    return found


def path_exists(tree, path):
    path = re.sub(r":\d+$", "", path)
    if path.startswith("bench/out"):
        return True  # made by running the benchmarks
    choice = re.search(r"\{([^{}]*)\}", path)
    if choice:
        whole = choice.group()
        return all(path_exists(tree, path.replace(whole, one)) for one in choice.group(1).split(","))
    pattern = re.sub(r"<[^>]*>|N{2,}|\.\.\.", "*", path)
    if "*" not in pattern:
        return tree.exists(pattern)
    known = list(tree.by_path) + sorted(tree.folders)
    return any(fnmatch.fnmatch(one, pattern.rstrip("/")) for one in known)


GUIDE, GUIDE_PROGRAMS = "docs/GUIDE.md", "examples/guide"


def quotations(tree):
    """A block under <!-- file --> is an excerpt of that file; the guide's C blocks are, and it has all its programs."""
    quoted = set()
    for f in tree.files:
        if f.suffix != ".md":
            continue
        for line, source, language, block in blocks(f):
            if source is None:
                if f.path == GUIDE and language == "c":
                    yield f, line, "code of nowhere. Quote a program that runs, and name it above: <!-- file -->."
            elif source not in tree.by_path:
                yield f, line, f"{source} does not exist. Name a file as seen from the root."
            elif not excerpt(block, tree.by_path[source].lines):
                yield f, line, f"this is not in {source}. Copy some consecutive lines of it."
            elif f.path == GUIDE:
                quoted.add(source)
    for f in tree.c_files(GUIDE_PROGRAMS):
        if f.path not in quoted:
            yield f, 1, f"{GUIDE} has nothing of this program. Quote it there, or move it."


def blocks(f):
    """(line number, file named above or None, language, lines) of the fenced blocks of a document."""
    start, source, language = None, None, ""
    for n, text in enumerate(f.lines):
        fence = re.match(r"(```|~~~)(\w*)", text)
        if not fence:
            continue
        if start is None:
            above = re.fullmatch(r"<!-- (\S+) -->", f.lines[n - 1]) if n > 0 else None
            start, source, language = n + 1, above.group(1) if above else None, fence.group(2)
        else:
            yield start, source, language, list(f.lines[start:n])
            start = None


def excerpt(block, lines):
    """Whether a block is some consecutive lines of a file, wherever they are indented to."""
    wanted, n = "\n".join(block), len(block)
    return any(textwrap.dedent("\n".join(lines[i : i + n])) == wanted for i in range(len(lines) - n + 1)) and n > 0


# ---- helpers ----


def normal(path):
    """A path without . and .. steps."""
    steps = []
    for step in PurePosixPath(path.lstrip("/")).parts:
        if step == ".." and steps and steps[-1] != "..":
            steps.pop()
        elif step != ".":
            steps.append(step)
    return "/".join(steps)


def grep(f, pattern, message):
    """A finding for each line of code that matches; {} in the message is the match."""
    for line, text in enumerate(f.code, 1):
        found = pattern.search(text)
        if found:
            yield f, line, message.format(found.group().rstrip("( "))


def line_of(text, found):
    return text.count("\n", 0, found.start()) + 1


RULES = (
    layering,
    raw_atomics,
    errno_above_plat,
    getenv_outside_runtime,
    platform_ifdefs,
    tags_have_partners,
    fences_have_tags,
    too_long,
    licence_lines,
    opening_comments,
    names,
    public_linkage,
    unused_sources,
    unused_scripts,
    untested_api,
    leftovers,
    whitespace,
    document_links,
    quotations,
)


def check(tree, rules=RULES):
    """All findings, as sorted (path, line, text)."""
    return sorted({(f.path, line, text) for rule in rules for f, line, text in rule(tree)})


def main():
    parser = argparse.ArgumentParser(description="Check the style of the tree.")
    parser.add_argument("root", nargs="?", default=str(Path(__file__).resolve().parents[2]))
    parser.add_argument("--build", help="a configured build, whose compile_commands.json says what is used")
    parser.add_argument("--list", action="store_true", help="say what is checked")
    args = parser.parse_args()
    if args.list:
        for rule in RULES:
            print(f"{rule.__name__:24}{rule.__doc__}")
        return 0
    tree = Tree.read(args.root, args.build)
    findings = check(tree)
    for path, line, text in findings:
        print(f"{path}:{line}: {text}")
    print(f"tidy: {len(RULES)} rules, {len(tree.files)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
