#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Goal: every rule of tidy.py can fail, and does not fail a clean tree.
Method: for each rule made-up trees of a few lines: broken ones, with the places that must be found and
no others, and clean ones close to them. A rule without cases fails this test.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import tidy  # noqa: E402 (needs the path)
from tree import Tree  # noqa: E402

LICENCE = "/* SPDX-License-Identifier: MIT */\n"
INLINE = "template <class F> int go(F f) {\n    return f();\n}\n"
MARK = "TO" + "DO"  # in halves: this file is looked at too


def function(lines):
    return "int f(void) {\n" + "    g();\n" * (lines - 2) + "}\n"


# Rule: list of (tree, places that must be found as "path:line"); no places: a clean tree. A value
# (tree, compiled sources) in the first position is for rules that look at the build.
CASES = {
    "layering": [
        ({"src/fiber/a.c": '#include "../sched/run.h"\n', "src/sched/run.h": ""}, ["src/fiber/a.c:1"]),
        ({"src/chan/a.c": '\n#include "../sync/m.h"\n', "src/sync/m.h": ""}, ["src/chan/a.c:2"]),
        ({"src/odd/a.c": "int x;\n"}, ["src/odd/a.c:1"]),
        ({"src/a.c": "int x;\n"}, ["src/a.c:1"]),
        ({"src/base/a.c": '#include "nowhere.h"\n'}, ["src/base/a.c:1"]),
        ({"src/base/a.c": '#include "../../include/ccrt/x.h"\n', "include/ccrt/x.h": ""}, ["src/base/a.c:1"]),
        ({"src/base/a.c": '#include "../../tests/t.h"\n', "tests/t.h": ""}, ["src/base/a.c:1"]),
        ({"src/step/a.c": '#include <ccrt/x.h>\n#include "../fiber/f.h"\n#include "b.h"\n', "src/fiber/f.h": "",
          "src/step/b.h": ""}, []),
    ],
    "raw_atomics": [
        ({"src/sched/a.c": "#include <stdatomic.h>\nint f(void) { return atomic_load(&x); }\n"},
         ["src/sched/a.c:1", "src/sched/a.c:2"]),
        ({"src/base/b.h": "__sync_synchronize();\n__atomic_add_fetch(p, 1, memory_order_relaxed);\n"},
         ["src/base/b.h:1", "src/base/b.h:2"]),
        ({"src/base/atomic.h": "#include <stdatomic.h>\n", "src/sched/a.c": "_Atomic int x; /* atomic_load */\n",
          "tests/unit/t.c": "#include <stdatomic.h>\n"}, []),
    ],
    "errno_above_plat": [
        ({"src/io/a.c": "#include <errno.h>\nint f(void) {\n    return -errno;\n}\n"}, ["src/io/a.c:3"]),
        ({"src/base/a.c": "void f(void) { puts(strerror(1)); }\n"}, ["src/base/a.c:1"]),
        ({"src/plat/a.c": 'void f(void) { perror("x"); }\n'}, ["src/plat/a.c:1"]),
        ({"src/plat/a.c": "int e = errno;\n", "src/io/b.c": "#include <errno.h>\n/* not errno */ int f = -EIO;\n",
          "src/io/c.c": 'void f(void) { puts(cc_strerror(1)); puts("errno"); }\n'}, []),
    ],
    "getenv_outside_runtime": [
        ({"src/sched/a.c": 'char *p = getenv("X");\n'}, ["src/sched/a.c:1"]),
        ({"src/base/a.c": 'char *p = secure_getenv("X");\n'}, ["src/base/a.c:1"]),
        ({"src/runtime/a.c": 'char *p = getenv("X");\n', "tests/support/t.h": 'getenv("X");\n'}, []),
    ],
    "platform_ifdefs": [
        ({"src/sched/a.c": "#ifdef __linux__\n#endif\n"}, ["src/sched/a.c:1"]),
        ({"include/ccrt/a.h": "\n#if defined(__GNUC__) && \\\n    defined(_WIN32)\n#endif\n"}, ["include/ccrt/a.h:2"]),
        ({"src/base/a.h": "#if 0\n#elif defined(__aarch64__)\n#endif\n"}, ["src/base/a.h:2"]),
        ({"src/fiber/a.c": "#if defined(__x86_64__)\n#elif defined(__APPLE__)\n#endif\n"}, ["src/fiber/a.c:2"]),
        ({"src/plat/a.c": "#ifdef __linux__\n#elif defined(__riscv)\n#endif\n",
          "src/base/atomic.h": "#if __x86_64__\n#endif\n", "src/fiber/a.c": "#if defined(__x86_64__)\n#endif\n",
          "src/base/b.h": "#if defined(__GNUC__)\n#endif\n"}, []),
    ],
    "tags_have_partners": [
        # One operation only; the field and the essay do not count.
        ({"src/sched/a.c": "/* The ring [RQ1]. */\nstruct q {\n    _Atomic int tail; /* [RQ1] */\n};\n"
                           "void f(void) {\n    /* [RQ1] release */\n    g();\n}\n"}, ["src/sched/a.c:6"]),
        # None at all.
        ({"src/sched/a.h": "struct q {\n    _Atomic int tail; /* [RQ1] */\n};\n"}, ["src/sched/a.h:2"]),
        # Twice in one comment is still one side; a local declaration is none.
        ({"src/sched/a.c": "void f(void) {\n    static _Atomic int x; /* [RQ1] */\n"
                           "    /* [RQ1] as in [RQ1] */\n    g();\n}\n"}, ["src/sched/a.c:3"]),
        ({"src/sched/a.c": "void f(void) {\n    /* [RQ1] release */\n    g();\n}\n",
          "src/sched/b.c": "/* [RQ1] acquire */\nint f(_Atomic int *p) {\n    return g(p);\n}\n"}, []),
    ],
    "fences_have_tags": [
        ({"src/sched/a.c": "void f(void) {\n    cc__fence_full();\n}\n"}, ["src/sched/a.c:2"]),
        ({"src/sched/a.c": "/* [RQ1] */\n" + "\n" * 6 + "void f(void) { cc__fence_full(); }\n"}, ["src/sched/a.c:8"]),
        ({"src/sched/a.c": "void f(void) {\n    /* no tag */\n    cc__fence_full();\n}\n"}, ["src/sched/a.c:3"]),
        ({"src/sched/a.c": "void f(void) {\n    /* [RQ1] why */\n    cc__fence_full();\n}\n",
          "src/base/atomic.h": "static inline void cc__fence_full(void) {\n}\n"}, []),
    ],
    "too_long": [
        ({"src/base/a.c": function(71)}, ["src/base/a.c:1"]),
        ({"src/base/a.c": "int x;\n" * 601}, ["src/base/a.c:601"]),
        ({"docs/a.md": "word " * 25 + "\n"}, ["docs/a.md:1"]),
        ({"dev": "#!/bin/sh\n" + "x" * 121 + "\n"}, ["dev:2"]),
        ({"tools/a.py": "def f():\n" + "    g()\n" * 70}, ["tools/a.py:1"]),
        ({"src/base/a.c": function(70) + "int x;\n" * 530, "docs/a.md": "| " + "word " * 30 + "|\n",
          "tests/data/a.out": "x" * 200 + "\n", "tools/a.py": "def f():\n" + "    g()\n" * 69}, []),
    ],
    "licence_lines": [
        ({"src/base/a.c": "int x;\n"}, ["src/base/a.c:1"]),
        ({"dev": "#!/bin/sh\necho\n# SPDX-License-Identifier: MIT\n"}, ["dev:2"]),
        ({"CMakeLists.txt": "project(x)\n", "tools/a.py": "", ".clang-tidy": "Checks: ''\n"},
         [".clang-tidy:1", "CMakeLists.txt:1", "tools/a.py:1"]),
        ({"src/base/a.c": LICENCE, "dev": "#!/bin/sh\n# SPDX-License-Identifier: MIT\n", "a.md": "text\n",
          "CMakeLists.txt": "# SPDX-License-Identifier: MIT\n", "data": "1 2\n"}, []),
    ],
    "opening_comments": [
        ({"src/base/a.c": LICENCE + "int x;\n"}, ["src/base/a.c:1"]),
        ({"src/base/a.c": LICENCE + "/* What it is for. */\nint x;\n"}, ["src/base/a.c:2"]),
        ({"src/base/a.c": LICENCE + "/* Next: base/a.c */\nint x;\n"}, ["src/base/a.c:2"]),
        ({"src/base/a.c": LICENCE + "/* What.\n *\n * Prev: base/gone.c  Next: base/a.c */\n"}, ["src/base/a.c:2"]),
        ({"src/base/a.h": LICENCE + "/* What.\n *\n * Next: base/b.c, base/gone.h */\n", "src/base/b.c": LICENCE +
          "/* What. Prev: base/a.h */\n"}, ["src/base/a.h:2"]),
        ({"src/base/a.c": LICENCE + "/* What.\n *\n * Prev: base/b.h  Next: base/a.c, base/b.h */\n",
          "src/base/b.h": LICENCE + "int x;\n", "tests/unit/t.c": "int x;\n"}, []),
        ({"apps/a/a.c": LICENCE + "int x;\n"}, ["apps/a/a.c:1"]),
        ({"apps/a/a.c": LICENCE + "/* What. Next: a/b.c */\nint x;\n", "apps/a/b.c": LICENCE +
          "/* What. Prev: a.c */\n"}, ["apps/a/a.c:2"]),
    ],
    "names": [
        ({"include/ccrt/a.h": "CC_API int start(void);\n"}, ["include/ccrt/a.h:1"]),
        ({"include/ccrt/a.h": "CC_API int cc__start(void);\n"}, ["include/ccrt/a.h:1"]),
        ({"include/ccrt/a.h": "namespace ccrt {\n" + INLINE + "} /* namespace ccrt */\n" + INLINE},
         ["include/ccrt/a.h:6"]),
        ({"include/ccrt/a.h": "#define MAX 3\nstruct thing {\n};\nenum { RED, CC_BLUE };\n"},
         ["include/ccrt/a.h:1", "include/ccrt/a.h:2", "include/ccrt/a.h:4"]),
        ({"include/ccrt/a.h": "typedef struct cc_a_t cc_a_t;\ntypedef struct cc_b {\n    int x;\n} cc_b_t;\n"},
         ["include/ccrt/a.h:1", "include/ccrt/a.h:4"]),
        ({"src/base/a.c": "void helper(int a,\n            int b) {\n}\n"}, ["src/base/a.c:1"]),
        ({"src/base/a.h": "int helper(void);\n"}, ["src/base/a.h:1"]),
        ({"src/base/a.c": "static int cc__helper(void) {\n    return 0;\n}\n"}, ["src/base/a.c:1"]),
        ({"src/base/a.c": "int cc_secret(void) {\n    return 0;\n}\n"}, ["src/base/a.c:1"]),
        ({"src/base/a.c": "struct node_t {\n    int x;\n};\n"}, ["src/base/a.c:1"]),
        ({"include/ccrt/a.h": "#ifndef CCRT_A_H\n#define CC_MAX 3\n#define cc_go(x) (x)\nCC_BEGIN_DECLS\n\n"
                              "typedef struct cc_a cc_a;\n"
                              "enum {\n    CC_RED = 1u << 0, /* one, two */\n    CC_BLUE\n};\n"
                              "CC_API void *cc_a_get(cc_a *a, void *(*fn)(void *));\n"
                              "CC_API uint64_t cc_n(size_t n);\n#endif\n",
          "src/base/a.h": "static inline int cc__one(void) {\n    return 1;\n}\nint cc__two(void);\n"
                          "typedef size_t cc__fn(char *buf);\n",
          "src/base/a.c": "extern WEAK void *__tsan_create_fiber(unsigned flags);\nstatic void (*hook)(int);\n"
                          "static int helper(void) {\n    return f();\n}\nint cc__two(void) {\n    return 2;\n}\n"
                          "void *cc_a_get(cc_a *a, void *(*fn)(void *)) {\n    return fn(a);\n}\n"
                          "static const size_t n = sizeof(int);\n_Alignas(64) struct x y;\n"}, []),
    ],
    "public_linkage": [
        ({"include/ccrt/a.h": "int cc_a(void);\n"}, ["include/ccrt/a.h:1"]),
        ({"include/ccrt/a.h": "CC_API int cc_a(int x,\n    int y);\nstatic inline int cc_b(void) {\n    return 1;\n}\n"
                              "typedef void cc_fn(void *);\n"}, []),
    ],
    "unused_sources": [
        (({"src/base/a.c": "", "src/base/b.c": ""}, {"src/base/a.c"}), ["src/base/b.c:1"]),
        # A glob does not excuse a file of a folder that is built; another folder's script does not either.
        (({"src/base/a.c": "", "src/base/b.c": "", "src/CMakeLists.txt": "file(GLOB s */*.c)\n",
           "bench/run.py": "b.c", "dev": "#!/bin/sh\nb\n"}, {"src/base/a.c"}), ["src/base/b.c:1"]),
        # A variable alone names nothing.
        (({"tests/unit/a.c": "", "tests/unit/b.c": "", "tests/CMakeLists.txt": "x(${name}.c)\n"}, {"tests/unit/a.c"}),
         ["tests/unit/b.c:1"]),
        (({"bench/peers/go.c": "", "bench/run.py": "x = 1\n"}, set()), ["bench/peers/go.c:1"]),
        (({"src/fiber/ctx_arm.S": "", "src/fiber/ctx_u.c": "", "bench/a.c": "", "bench/peers/go.c": "",
           "tests/x/p.c": "",
           "src/CMakeLists.txt": 'list(APPEND s fiber/ctx_${arch}.S)\nlist(FILTER s EXCLUDE REGEX "/ctx_u\\\\.c$")\n',
           "bench/CMakeLists.txt": "file(GLOB s *.c)\n", "bench/run.py": '"go"\n', "tests/x/run.sh": "cc p.c\n"},
          {"tests/unit/a.c"}), []),
        (({"src/base/a.c": ""}, None), []),  # no build given: nothing to compare with
    ],
    "unused_scripts": [
        ({"tools/a.py": "a.py\n"}, ["tools/a.py:1"]),
        ({"tools/run.sh": "", "tests/x/run.sh": "", "tests/x/CMakeLists.txt": "run.sh\n"}, ["tools/run.sh:1"]),
        ({"tools/a.py": "", "dev": "#!/bin/sh\npython3 tools/a.py\n", "tests/x/b.py": "from c import d\n",
          "tests/x/c.py": "", "tests/x/CMakeLists.txt": "b.py\n", "bench/e.sh": "",
          "docs/E.md": "run bench/e.sh\n"}, []),
    ],
    "untested_api": [
        ({"include/ccrt/a.h": "CC_API int cc_a(void);\n", "tests/api/test_a.c": "/* cc_a() */\n"},
         ["include/ccrt/a.h:1"]),
        ({"include/ccrt/a.h": "\n#define cc_go(x) (x)\n", "tests/api/test_a.c": ""}, ["include/ccrt/a.h:2"]),
        ({"include/ccrt/a.h": "", "tests/unit/test_a.c": ""}, ["include/ccrt/a.h:1"]),
        ({"include/ccrt/a.h": "namespace ccrt {\n" + INLINE + "} /* namespace ccrt */\n",
          "tests/api/test_a.cpp": "go(1);\n"},
         ["include/ccrt/a.h:2"]),
        ({"include/ccrt/a.h": "namespace ccrt {\nnamespace priv {\n" + INLINE + "} /* namespace priv */\n" + INLINE +
          "} /* namespace ccrt */\n", "tests/api/test_a.cpp": "ccrt::go(1);\n"}, []),
        ({"include/ccrt/error.h": "", "tests/api/test_error.c": ""}, ["include/ccrt/error.h:1"]),
        ({"include/ccrt/a.h": "CC_API int cc_a(void);\n#define cc_go(x) cc_priv_go(x)\nCC_API int cc_priv_go(int x);\n",
          "tests/api/test_a.c": "int x = cc_a();\n", "examples/01.c": "int x = cc_go(1);\n",
          "include/ccrt/error.h": "", "tests/unit/test_error.c": ""}, []),
    ],
    "leftovers": [
        ({"src/base/a.c": f"int x; /* {MARK}: more */\n", "docs/a.md": f"\n{MARK}\n"},
         ["docs/a.md:2", "src/base/a.c:1"]),
        ({"src/base/a.c": f"int {MARK}_NOT;\n", "a.sh": "mktemp /tmp/a.XXXXXX\n", "a.out": f"{MARK}\n"}, []),
    ],
    "whitespace": [
        ({"a.md": "text \n", "a.c": "\tint x;\n", "a.py": "x = 1", "a.sh": "x\r\n", "a.h": "int x;\n\n"},
         ["a.c:1", "a.h:2", "a.md:1", "a.py:1", "a.sh:1"]),
        ({"a.md": "text\n", "a.go": "\tx := 1\n", "Makefile": "x:\n\ttrue\n", "a.out": "1 \n", "a.json": "{}\n"}, []),
    ],
    "document_links": [
        ({"a.md": "[x](gone.md)\n"}, ["a.md:1"]),
        ({"a.md": "# Heading\n[x](#heading-two)\n"}, ["a.md:2"]),
        ({"docs/a.md": "[x](b.md#none) [x]\n\n[x]: ../gone\n", "docs/b.md": "# One\n```\n# None\n```\n"},
         ["docs/a.md:1", "docs/a.md:3"]),
        ({"a.md": "see `src/base/gone.c`\nand `tests/*/none_*.c`\nand `src/{base,gone}`\n", "src/base/a.c": ""},
         ["a.md:1", "a.md:2", "a.md:3"]),
        ({"docs/a.md": "# The `cc_x` heading, twice\n## The cc_x heading, twice\n[x](#the-cc_x-heading-twice-1)\n"
                       "[x](../src/base) ![x](../src/base/a.c \"title\") [x](https://example.org/x) `[x](gone)`\n"
                       "```\n[x](gone)\n```\n"
                       "`src/base/a.c:12`, `src/base/`, `src/{base,plat}/a.c`, `src/base/<name>.c`\n",
          "src/base/a.c": "", "src/plat/a.c": ""}, []),
    ],
    "quotations": [
        ({"a.md": "<!-- b.c -->\n```c\nint x;\nint z;\n```\n", "b.c": "int x;\nint y;\nint z;\n"}, ["a.md:2"]),
        ({"a.md": "<!-- gone.c -->\n```c\nint x;\n```\n<!-- b.c -->\n```\n```\n", "b.c": "int x;\n"},
         ["a.md:2", "a.md:6"]),
        ({"docs/GUIDE.md": "```c\nint x;\n```\n", "examples/guide/b.c": "int x;\n"},
         ["docs/GUIDE.md:1", "examples/guide/b.c:1"]),
        ({"docs/GUIDE.md": "<!-- examples/guide/b.c -->\n```c\nif (x)\n    y();\n```\n\n```\n$ make\n```\n",
          "examples/guide/b.c": "{\n    if (x)\n        y();\n}\n", "README.md": "```c\nint x;\n```\n"}, []),
    ],
}


class Rules(unittest.TestCase):
    def test_every_rule_has_a_broken_and_a_clean_tree(self):
        self.assertEqual([rule.__name__ for rule in tidy.RULES], list(CASES))
        for name, cases in CASES.items():
            self.assertTrue(any(places for _, places in cases), name)
            self.assertTrue(any(not places for _, places in cases), name)

    def test_cases(self):
        for rule in tidy.RULES:
            for number, (given, places) in enumerate(CASES[rule.__name__]):
                texts, compiled = given if isinstance(given, tuple) else (given, None)
                with self.subTest(rule=rule.__name__, case=number):
                    findings = tidy.check(Tree(texts, compiled), [rule])
                    self.assertEqual(sorted({f"{path}:{line}" for path, line, _ in findings}), sorted(places), findings)

    def test_findings_say_what_to_do(self):
        for rule in tidy.RULES:
            for given, _ in CASES[rule.__name__]:
                texts, compiled = given if isinstance(given, tuple) else (given, None)
                for _, _, text in tidy.check(Tree(texts, compiled), [rule]):
                    self.assertRegex(text, r"\. .+\.$", rule.__name__)


class Program(unittest.TestCase):
    """The program as CTest runs it, on a folder."""

    def run_on(self, folder, *options):
        command = [sys.executable, "-B", tidy.__file__, *options, str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def write(self, folder, texts):
        for path, text in texts.items():
            full = Path(folder) / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(text)

    def test_exit_code_and_format(self):
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder, {"src/base/a.c": LICENCE + "/* What. Next: base/a.c */\nint x;\n"})
            self.write(folder, {".gitignore": "/build/\n", "build/rubbish.c": "\t\n"})
            self.write(folder, {"build/compile_commands.json": "[]"})
            clean = self.run_on(folder)
            self.assertEqual((clean.returncode, clean.stdout.count("\n")), (0, 1), clean.stdout)
            unused = self.run_on(folder, "--build", folder + "/build")
            self.assertEqual(unused.returncode, 1)
            self.assertTrue(unused.stdout.startswith("src/base/a.c:1: the build does not use"), unused.stdout)
            database = [{"directory": folder, "file": os.path.join(folder, "src/base/a.c")}]
            self.write(folder, {"build/compile_commands.json": json.dumps(database)})
            self.assertEqual(self.run_on(folder, "--build", folder + "/build").returncode, 0)
            self.assertNotEqual(self.run_on(folder, "--build", folder + "/src").returncode, 0)

    def test_git_decides_what_is_looked_at(self):
        with tempfile.TemporaryDirectory() as folder:
            if subprocess.run(["git", "init", "-q", folder], check=False).returncode != 0:
                self.skipTest("no git")
            self.write(folder, {".gitignore": "*.gen.c\n", "src/base/a.gen.c": "\t\n", "new.md": "text \n"})
            result = self.run_on(folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn("new.md:1: space", result.stdout)
            self.assertNotIn("a.gen.c", result.stdout)


if __name__ == "__main__":
    unittest.main()
