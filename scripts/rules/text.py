"""Rules about the text of files that no formatter or linter has.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import ast
import re

from rules import tree

LICENCE = "SPDX-License-Identifier: MIT OR Apache-2.0"
OPENS = r"^( *)(?:baremodule|begin|const|else|elseif|end|for|function|if|let|macro|mutable|return|struct|try|while)(?: |$)"
# Where limit is written, and how often: ARCHITECTURE.md, "Invariants that hold everywhere", has the reasons.
LIMIT = (r"\bhead(?:\.|->)limit = |&\(?[\w>-]*head\)?(?:\.|->)limit\b|\b(?:a|h|arena)->limit = |"
         r"head\.limit\.(?:set|replace|swap|as_ptr)\(")
LIMIT_WRITERS = {"c/src/core/blocks.c": 4, "c/src/core/create_release.c": 1, "c/src/debug/debug_ops.c": 1,
                 "c/src/debug/quarantine.c": 1, "c/src/debug/subject.c": 2,
                 "rust/src/provider/blocks.rs": 1,
                 "rust/src/provider/nested.rs": 4}


def long_lines():
    """A line of C, C++ or Julia has at most 120 characters."""
    return tree.lines_with(r".{121}", tree.c() + tree.named(r"\.jl$"))


def julia():
    """Julia, for which no formatter runs on 1.5: no tabs, no trailing blanks, keywords at multiples of four."""
    for name in tree.named(r"\.jl$"):
        in_text = False
        for number, line in enumerate(tree.texts()[name].split("\n"), 1):
            opens = re.match(OPENS, line)
            for what, wrong in (("a tab", "\t" in line), ("a trailing blank", line.endswith(" ")),
                                ("not indented by fours", not in_text and opens and len(opens[1]) % 4)):
                if wrong:
                    yield "%s:%d: %s" % (name, number, what)
            in_text ^= line.count('"""') % 2 == 1


def python():
    """Python is that of 3.9."""
    for name in tree.python():
        try:
            ast.parse(tree.texts()[name], name, feature_version=(3, 9))
        except SyntaxError as error:
            yield "%s:%s: %s" % (name, error.lineno, error.msg)


def machine_paths():
    """No file has a path of one machine."""
    return tree.lines_with(r"(^|[^A-Za-z0-9_.])/(home|root|tmp|work)/", tree.texts())


def links():
    """No symbolic links: archives and Windows replace a link by a text."""
    return re.findall(r"^120000 .*", tree.git("ls-files", "--stage"), re.M)


def licences():
    """Each source names its licence."""
    sources = tree.named(r"\.(c|h|cc|hpp|cpp|go|jl|py|cmake|in)$|CMakeLists|^Makefile$", r"\.pc\.in$")
    for name in sorted({*sources, *tree.shell(), *tree.python()}):
        if LICENCE not in tree.texts()[name]:
            yield name


def system_calls():
    """c/src/platform/system.c alone makes the system calls that it lists, so that tests make them fail there."""
    listed = re.findall(r"^#define toft_sys_([a-z_]+) TOFT_SYSTEM", tree.texts()["c/src/platform/system.c"], re.M)
    names = "|".join(name for name in listed if name != "realloc")  # which is the C library's elsewhere
    return tree.lines_with(r"(^|[^\w>.])(%s)\(" % names, tree.named(r"^c/src/\w+/.*\.[ch]$"))


def limit_writers():
    """The places that write limit are known."""
    found = {}
    for name in tree.named(r"^(c/src|c/include|rust/src)/"):
        count = len(re.findall(LIMIT, tree.texts()[name]))
        if count:
            found[name] = count
    for name in sorted(found.keys() | LIMIT_WRITERS.keys()):
        if found.get(name, 0) != LIMIT_WRITERS.get(name, 0):
            yield "%s: %d places, not %d" % (name, found.get(name, 0), LIMIT_WRITERS.get(name, 0))


def hooks():
    """The core calls at most 12 functions of debug/: those of hooks.h, without which its files do not compile alone."""
    count = len(re.findall(r"^static .*\);$", tree.texts()["c/src/core/hooks.h"], re.M))
    if count > 12:
        yield "c/src/core/hooks.h: %d functions" % count


def vocabulary():
    """No word of docs/vocabulary.txt, for which the glossary of ARCHITECTURE.md has others, also within a name."""
    words = [line.split("->")[0].replace("-", "[-_]?", 1) for line in tree.texts()["docs/vocabulary.txt"].split("\n") if line]
    return tree.lines_with(r"(?i)(^|[^A-Za-z])(%s)([^A-Za-z]|$)" % "|".join(words), spelled())


def spelled():
    """The files whose spelling is checked."""
    return tree.named(r"\.(c|h|hpp|cpp|md|py|rs|go|jl|cmake|txt|toml|yml)$|^scripts/|/(check|run)$",
                      r"^go/toft\.[ch]$|^docs/(vocabulary|phrases).txt$|identifiers\.rs$")


def named_checks():
    """A check that a document, a workflow or a limit names is one of scripts/checks.txt."""
    checks = {line.split()[0] for line in tree.texts()["scripts/checks.txt"].splitlines() if line and not line.startswith("#")}
    for name in tree.named(r"\.(md|yml)$|^scripts/budget.txt$", r"^CHANGELOG"):
        for check in re.findall(r"\bmake check-([a-z0-9-]+)|^seconds (?!all )(\S+)", tree.texts()[name], re.M):
            if "".join(check) not in checks:
                yield "%s: no check %s" % (name, "".join(check))
