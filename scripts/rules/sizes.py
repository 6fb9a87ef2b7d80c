"""The sizes of the tree, its words and the processor times of checks, compared with the limits in scripts/budget.txt.

The limit of the lines of the tree, generated files included, only falls, and those of the folders are together at most as
high: one rises if others fall. Any other limit that is higher than one commit before has the reason at the end of its line.
Times are compared as if the machine were as fast as the one that the limits are from: both run the same loop.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import collections
import json
import re
import time

from rules import tree
from rules.tree import GENERATED, PYTHON, ROOT, git

LIMITS = "scripts/budget.txt"
CODE = re.compile(r"\.(c|h|cc|cpp|hpp|rs|go|jl|py)$")
IN_BRACES = r"( *)[A-Za-z](?!.*\]\().*\) (?:\w+ )*\{$"  # not a lambda
AT_MARGIN = r"()[A-Za-z].*\) \{$"
FUNCTIONS = {"c": (AT_MARGIN, "}"), "cpp": (IN_BRACES, "}"), "go": (r"()func ", "}"), "h": (IN_BRACES, "}"), "hpp": (IN_BRACES, "}"),
             "py": (r"( *)(?:async )?def ", None), "jl": (r"( *)(?:function|macro) ", "end"),
             "rs": (r'( *)(?:pub(?:\([^)]*\))? )?(?:(?:const|unsafe|async|extern "C") )*fn ', "}")}
OF_FOLDER = "lines", "files", "phrases"
SLACK = 1.5  # of times, since two runs on one machine differ so much


def comments(name, text):
    if name.endswith((".jl", ".py")):
        return re.findall(r"#.*", text) + re.findall(r'"""(.*?)"""', text, re.S)
    return re.findall(r"//[^\n]*|/\*.*?\*/", text, re.S)


def folder(name):
    """The folder that a limit is for: one level deep, in large ones two."""
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 and parts[0] in ("bench", "c", "cli", "examples", "julia", "rust") else parts[0] if len(parts) > 1 else "."


def sizes(texts):
    lines, files, words, phrases = (collections.Counter() for _ in range(4))
    unwanted = re.compile(r"\b(%s)\b" % "|".join((ROOT / "docs/phrases.txt").read_text().split("\n")[:-1]), re.I)
    for name, text in texts.items():
        lines[folder(name)] += text.count("\n")
        files[folder(name)] += 1
        if CODE.search(name):
            for comment in comments(name, text):
                words[folder(name)] += len(comment.split())
                phrases[folder(name)] += len(unwanted.findall(comment))
    for where in sorted(lines):
        few = words[where] <= 300
        yield from zip(OF_FOLDER, 3 * [where], (lines[where], files[where], 0 if few else -(-1000 * phrases[where] // words[where])))


def functions(suffix, text):
    """The lengths of the functions in formatted code: each ends at the first line with its indentation that closes it."""
    begin, end = FUNCTIONS[suffix]
    lines = text.split("\n")
    for i, line in enumerate(lines):
        found = re.match(begin, line)
        if found and end is None:
            outside = re.compile(r" {0,%d}\S" % len(found[1]))
            after = next((k for k in range(i + 1, len(lines)) if outside.match(lines[k]) and lines[k][len(found[1])] != ")"), len(lines))
            yield len("\n".join(lines[i:after]).rstrip().split("\n"))
        elif found and not line.endswith((";", "}")):
            last = found[1] + end
            yield next((k for k in range(i + 1, len(lines)) if lines[k] == last), i) - i + 1


def longest(texts):
    for suffix in FUNCTIONS:
        some = [text for name, text in texts.items() if name.endswith("." + suffix) or suffix == "py" and text.startswith(PYTHON)]
        yield "function", suffix, max(max(functions(suffix, text), default=0) for text in some)
        yield "file", suffix, max(text.count("\n") for text in some)


def measured():
    texts = {name: text for name, text in tree.texts().items() if not GENERATED.search(name)}
    yield "lines", "tree", sum(text.count("\n") for text in tree.texts().values())
    yield "lines", "generated", sum(text.count("\n") for name, text in tree.texts().items() if name not in texts)
    yield from sizes(texts)
    yield from longest(texts)


def loop():
    """Processor milliseconds of a fixed loop: the machine's speed."""
    def once():
        began, x = time.process_time(), 1
        for i in range(2000000):
            x = (x * 1103515245 + i) & 0xffffffff
        return time.process_time() - began
    return round(1000 * min(once() for _ in range(5)))


def times():
    yield "loop", "ms", loop()
    total = 0
    for path in sorted((ROOT / "build/results").iterdir()):
        seconds = json.loads(path.read_text())[3]
        total += seconds
        yield "seconds", path.name, seconds
    yield "seconds", "all", total


def parse(text):
    """{(kind, name): (limit, whether a reason is given)}"""
    rows = [line.split() for line in text.split("\n") if line and line[0] != "#"]
    kinds = {kind: OF_FOLDER if kind == "folder" else (kind,) for kind in {row[0] for row in rows}}
    return {(kind, row[1]): (int(limit), len(row) > 2 + len(kinds[row[0]])) for row in rows for kind, limit in zip(kinds[row[0]], row[2:])}


def raised(limits):
    """Limits that are higher than they may be."""
    of_tree, of_folders = limits["lines", "tree"][0], lines_of_folders(limits)
    before = re.findall(r"^\+lines tree (\d+)", git("log", "-p", "-G", "^lines tree ", "--format=", "--", LIMITS), re.M)
    if of_tree > min(map(int, before), default=of_tree):
        yield "%s: lines tree: raised" % LIMITS
    if of_folders > of_tree:
        yield "%s: lines: the limits of folders are %d in all, that of the tree is %d" % (LIMITS, of_folders, of_tree)
    for commit in ("HEAD", "HEAD~1"):
        before = parse(git("show", "%s:%s" % (commit, LIMITS)))
        for key, (limit, has_reason) in limits.items():
            if key[0] != "lines" and limit > before.get(key, (limit, True))[0] and not has_reason:
                yield "%s: %s %s: raised without a reason" % ((LIMITS,) + key)


def lines_of_folders(limits):
    return sum(limit for (kind, name), (limit, _) in limits.items() if kind == "lines" and name != "tree")


def exceeded(values):
    """The violations: values above their limits. values: (kind, name, value)"""
    limits, values = parse((ROOT / LIMITS).read_text()), list(values)
    yield from sorted(set(raised(limits)))
    speed = {(kind, name): value for kind, name, value in values}.get(("loop", "ms"), 0) / limits["loop", "ms"][0]
    for kind, name, value in values:
        limit = limits.get((kind, name), (None,))[0]
        if kind == "loop" or kind == "seconds" and value <= 5:  # these vary by more
            continue
        if kind == "seconds":
            value = round(value / speed / SLACK)
        if limit is None or value > limit:
            yield "%s: %s %s: %d, the limit is %s" % (LIMITS, kind, name, value, limit)
