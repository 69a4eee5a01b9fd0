# SPDX-License-Identifier: MIT
"""The source tree as the tidy rules see it: files, C code apart from its comments, functions.

This is not a C parser. It relies on what the formatter guarantees: a definition starts in column 0 and
ends with a brace in column 0.
"""
import json
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

C_SUFFIXES = (".c", ".h", ".cpp", ".hpp", ".S")

_C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

_NAMESPACE = re.compile(r"namespace (\w+) \{")


def blank(text):
    """The same shape without its characters: newlines stay, so that line numbers hold."""
    return re.sub(r"[^\n]", " ", text)


@dataclass
class Comment:
    line: int  # first and last
    end: int
    text: str


@dataclass
class Item:
    """What stands at the outermost level of a C file: a function, a declaration, a type."""

    head: str  # up to the brace or semicolon, on one line, without attributes
    line: int
    end: int
    body: bool  # it has a brace
    space: str = ""  # the C++ namespace it is in, as "ccrt::priv"

    @cached_property
    def function(self):
        """The name, if this defines or declares a function."""
        if self.head.startswith(("typedef", "_Static_assert", "static_assert")):
            return None
        found = re.search(r"(\w+)\s*\((?!\s*\*)", self.head)
        if found is None or "=" in self.head[: found.start()]:
            return None
        return found.group(1)

    @property
    def static(self):
        return re.match(r"(.*\s)?static\b", self.head) is not None


class File:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        pure = PurePosixPath(path)
        self.name, self.stem, self.suffix = pure.name, pure.stem, pure.suffix
        self.parent = str(pure.parent) if str(pure.parent) != "." else ""
        self.parts = pure.parts

    @property
    def is_c(self):
        return self.suffix in C_SUFFIXES

    @property
    def is_cmake(self):
        return self.name == "CMakeLists.txt" or self.name.endswith((".cmake", ".cmake.in"))

    @property
    def is_script(self):
        return self.suffix in (".py", ".sh") or (self.suffix == "" and self.text.startswith("#!"))

    def under(self, *folders):
        return any(self.path.startswith(folder + "/") for folder in folders)

    # ---- C ----

    @cached_property
    def _split(self):
        code, comments, at = [], [], 0
        for token in _C_TOKEN.finditer(self.text):
            code.append(self.text[at : token.start()])
            word = token.group()
            if word[0] == "/":
                line = self.text.count("\n", 0, token.start()) + 1
                comments.append(Comment(line, line + word.count("\n"), word))
                code.append(blank(word))
            else:
                code.append(word[0] + blank(word[1:-1]) + word[-1])
            at = token.end()
        code.append(self.text[at:])
        return "".join(code).splitlines(), comments

    @property
    def code(self):
        """Lines of C without comments and without what is inside quotes."""
        return self._split[0]

    @property
    def comments(self):
        return self._split[1]

    @cached_property
    def opening(self):
        """The essay: the comments before the first code, as one text, and the line it starts at."""
        first = next((n for n, line in enumerate(self.code, 1) if line.strip()), len(self.lines) + 1)
        essay = [c for c in self.comments if c.end < first and "SPDX-License-Identifier" not in c.text]
        return "\n".join(c.text for c in essay), essay[0].line if essay else 1

    @cached_property
    def directives(self):
        """(line number, text) of each preprocessor line, with its continuations."""
        found, n = [], 0
        while n < len(self.code):
            start = n
            if self.code[n].lstrip().startswith("#"):
                text = self.code[n]
                while text.endswith("\\") and n + 1 < len(self.code):
                    n += 1
                    text = text[:-1] + " " + self.code[n]
                found.append((start + 1, text.strip()))
            n += 1
        return found

    @cached_property
    def includes(self):
        """(line number, name with its quotes or brackets) of each #include."""
        found = []
        for line, _ in self.directives:
            match = re.match(r'\s*#\s*include\s*(<[^>]*>|"[^"]*")', self.lines[line - 1])
            if match:
                found.append((line, match.group(1)))
        return found

    @cached_property
    def items(self):
        """What stands at the outermost level, in order."""
        plain = list(self.code)
        for line, text in self.directives:
            n = line - 1
            while plain[n].endswith("\\") and n + 1 < len(plain):
                plain[n] = ""
                n += 1
            plain[n] = ""
        for n, line in enumerate(plain):
            plain[n] = "" if _NAMESPACE.match(line) else line
        spaces = self.namespaces
        found, head, start, n = [], "", 0, 0
        while n < len(plain):
            line = plain[n]
            if not head and not re.match(r"[A-Za-z_]", line):
                n += 1
                continue
            start = start if head else n
            stop = re.search(r"[{;]", line)
            if not stop:
                depth = (head + line).count("(") - (head + line).count(")")
                head = "" if not line.strip() and depth == 0 else head + line + " "
                n += 1
                continue
            head += line[: stop.start()]
            end = n
            if stop.group() == "{" and line.count("{") > line.count("}"):
                end += 1
                while end < len(plain) - 1 and not plain[end].startswith("}"):
                    end += 1
            found.append(Item(_bare(head), start + 1, end + 1, stop.group() == "{", spaces[start]))
            head, n = "", end + 1
        return found

    @cached_property
    def namespaces(self):
        """For each line the C++ namespace it is in; one ends with a brace and a comment that says so."""
        found, open_now = [], []
        for line in self.lines:
            begun = _NAMESPACE.match(line)
            if begun:
                open_now.append(begun.group(1))
            elif open_now and re.match(r"\} /\* namespace", line):
                open_now.pop()
            found.append("::".join(open_now))
        return found

    @property
    def functions(self):
        """Function definitions."""
        return [i for i in self.items if i.body and i.function]

    @property
    def prototypes(self):
        return [i for i in self.items if not i.body and i.function]


def _bare(head):
    """One line, without attributes and without the macros around declarations."""
    head = re.sub(r"\bCC_(BEGIN|END)_DECLS\b", " ", head)
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)(?!\))", " ", head)
    head = re.sub(r"\b(_Alignas|_Atomic|alignas|__typeof__)\s*\([^()]*\)", " ", head)
    return re.sub(r"\s+", " ", head).strip()


class Tree:
    """Files by path, and the sources that the build compiles (None: not known)."""

    def __init__(self, texts, compiled=None):
        self.files = [File(path, text) for path, text in sorted(texts.items())]
        self.by_path = {f.path: f for f in self.files}
        self.folders = {"/".join(f.parts[:n]) for f in self.files for n in range(1, len(f.parts))}
        self.compiled = compiled

    def exists(self, path):
        return path in self.by_path or path.rstrip("/") in self.folders

    def c_files(self, *folders):
        return [f for f in self.files if f.is_c and f.under(*folders)]

    @classmethod
    def read(cls, root, build=None):
        root = Path(root).resolve()
        texts = {}
        for path in _paths(root):
            full = root / path
            if not full.is_file() or full.is_symlink():
                continue
            try:
                texts[path] = full.read_bytes().decode()
            except UnicodeDecodeError:
                texts[path] = ""  # not text: only its name matters
        return cls(texts, _compiled(root, Path(build)) if build else None)


def _paths(root):
    """What git tracks, and what it would if asked; without git, every file but the ignored folders'."""
    git = ["git", "-C", str(root)]
    top = subprocess.run(git + ["rev-parse", "--show-toplevel"], capture_output=True, text=True, check=False)
    if top.returncode == 0 and Path(top.stdout.strip()).resolve() == root:
        listed = subprocess.run(git + ["ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=True)
        return sorted({p for p in listed.stdout.decode().split("\0") if p})
    ignore = root / ".gitignore"
    lines = ignore.read_text().split() if ignore.exists() else []
    skipped = {line.strip("/") for line in lines if line.endswith("/")}
    found = []
    for folder, subfolders, names in os.walk(root):
        here = Path(folder).relative_to(root)
        kept = [s for s in subfolders if s not in (".git", "__pycache__")]
        subfolders[:] = [s for s in kept if (here / s).as_posix() not in skipped]
        found += [(here / name).as_posix() for name in names]
    return sorted(found)


def _compiled(root, build):
    """Paths, relative to the root, of the sources in the build's compilation database."""
    database = build / "compile_commands.json"
    if not database.exists():
        raise SystemExit(f"{database}: missing. Configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON.")
    found = set()
    for entry in json.loads(database.read_text()):
        full = (Path(entry["directory"]) / entry["file"]).resolve()
        if full.is_relative_to(root):
            found.add(full.relative_to(root).as_posix())
    return found
