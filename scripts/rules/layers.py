"""The layers: a file of c/src or rust/src imports from its own layer, a folder, and from lower ones.

In Rust an import is a path that begins with `crate::`; what lib.rs exports is imported from its file. Files of one of
FOLDERS do not import each other in a circle either. ARCHITECTURE.md describes the layers.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import functools
import re

from rules import tree

SOURCE = tree.ROOT / "rust/src"
LAYERS = "base system provider memory arenas diagnostics threads recycler interface".split()  # from the lowest
# Declared under the name of another.
ALIASES = {"hook_bare": "hook", "instruments_omitted": "instruments", "checked_omitted": "checked"}
# Each with the path to it in its files.
FOLDERS = {**{SOURCE / layer: "crate::" + layer for layer in LAYERS}, SOURCE.parent / "derive/src": "crate"}


def code_of(path):
    """The code of a file, without comments, unit tests and the paths of exported macros."""
    text = path.read_text().split("#[cfg(test)]")[0]
    lines = [line for line in text.splitlines() if not line.strip().startswith("//")]
    return re.sub(r"\$crate::", "", "\n".join(lines))


def names_after(word, code):
    """The first names of the paths that follow `word::`, alone or in a group."""
    found = set(re.findall(r"(?<![\w:])%s::(\w+)" % word, code))
    for group in re.findall(r"(?<![\w:])%s::\{((?:[^{}]|\{[^{}]*\})*)\}" % word, code):
        found |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{[^{}]*\}", "", group)))
    return found


def cycle(targets):
    """The nodes of a circle; empty: there is none. targets: {node: nodes}"""
    done = set()

    def visit(node, above):
        if node in above:
            return above[above.index(node):]
        for target in sorted(targets[node] - done):
            found = visit(target, above + [node])
            if found:
                return found
        done.add(node)
        return []

    return next(filter(None, (visit(node, []) for node in sorted(targets))), [])


def circle(folder, prefix):
    """The files and folders in a folder that import each other in a circle; empty: there is none.

    The folder's root (mod.rs, lib.rs) is a file too. An export from another file is imported from that one, and is no
    import of the root, unless the root uses it.
    """
    code, paths = {}, {}
    for path in sorted(folder.rglob("*.rs")):
        name = path.relative_to(folder).parts[0].removesuffix(".rs")
        name, text = ALIASES.get(name, name), re.sub(r"\bself::", "", code_of(path))
        found = names_after(prefix, text) | (names_after("super", text) if path.parent == folder else set())
        found |= {file for layer, file in map(exports().get, names_after("crate", text) & set(exports())) if layer == folder.name}
        code[name], paths[name] = code.get(name, "") + text, paths.get(name, set()) | found
    root = "mod" if "mod" in code else "lib"
    home = dict.fromkeys(re.findall(r"\b(?:fn|struct|enum|trait|type|const|static|macro_rules!) (\w+)", code[root]), root)
    for file in sorted(code):
        home.update(dict.fromkeys(names_after(file, code[root]) | {file}, file))
    home["self"] = root
    targets = {file: {home.get(name, file) for name in paths[file]} - {file} for file in code}
    own = re.sub(r"^pub(\(\w+\))? use [^;]*;", "", code[root], flags=re.M)
    targets[root] = {file for file in code if re.search(r"(?<![\w:])%s::" % file, own)}
    targets[root] |= {home[name] for name in re.findall(r"\b[A-Z]\w+", own) if name in home} - {root}
    return cycle(targets)


@functools.lru_cache(None)
def exports():
    """{name: layer, file} of the crate's exports, which a path may go through; those of a layer's root have no file."""
    text, found = (SOURCE / "lib.rs").read_text(), {}
    for layer, file, names in re.findall(r"^pub use (\w+)::(?:(\w+)::)?\{?([^};]+)\}?;", text, re.M):
        for name in re.split(r",\s*", names.strip(", \n")):
            found[name.split()[-1]] = layer, file or name
    return found


def of_rust():
    """The files of the crate import downwards only."""
    level, count = {layer: number for number, layer in enumerate(LAYERS)}, 0
    yield from (path.name + ": in no layer" for path in SOURCE.iterdir() if path.stem not in {*LAYERS, "lib"})
    for path in sorted(SOURCE.glob("*/**/*.rs")):
        for name in sorted(names_after("crate", code_of(path))):
            layer = exports().get(name, (name,))[0]
            count += 1
            if level.get(layer, len(level)) > level.get(path.relative_to(SOURCE).parts[0], 0):
                yield "%s imports %s, which is in a higher layer or in none" % (path.relative_to(SOURCE), name)
    if count == 0:
        yield "no import was found"
    for folder, prefix in FOLDERS.items():
        files = circle(folder, prefix)
        if files:
            yield "%s: files import each other in a circle: %s" % (folder.relative_to(SOURCE.parent), " -> ".join(files + files[:1]))


def of_files():
    """No files of a folder import each other in a circle, but by way of its root."""
    for folder in sorted({(tree.ROOT / name).parent for name in tree.named(r"\.rs$")}):
        paths = {path.stem: path for path in folder.glob("*.rs") if path.stem not in ("mod", "lib", "main")}
        found = cycle({name: (names_after("super", code_of(path)) | names_after("crate", code_of(path))) & set(paths) - {name}
                       for name, path in paths.items()})
        if found:
            yield "%s: files import each other in a circle: %s" % (folder.relative_to(tree.ROOT), " -> ".join(found + found[:1]))


def of_c():
    """c/src/toft.c lists the layers, lowest first: no file includes one of a higher layer."""
    level = {}
    for layer in re.findall(r'^#include "(\w+)/', tree.texts()["c/src/toft.c"], re.M):
        level.setdefault(layer, len(level))
    if len(level) < 2:
        yield "c/src/toft.c lists no layers"
    for name in tree.named(r"^c/src/\w+/.*\.[ch]$"):
        for layer in re.findall(r'^#include "\.\./(\w+)/', tree.texts()[name], re.M):
            if level.get(layer, len(level)) > level[name.split("/")[2]]:
                yield "%s includes a file of a higher layer: %s" % (name, layer)
