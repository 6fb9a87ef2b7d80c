"""The layers: a file of c/src or a module of the crate toft imports from lower layers, and from earlier ones of its own.

In Rust a module is a file or folder of rust/src; an import is a path that begins with `crate::`. Files of one of FOLDERS do
not import each other in a circle either. ARCHITECTURE.md describes the layers.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import re

from rules import tree

SOURCE = tree.ROOT / "rust/src"
# From the lowest. Within a layer a module may import those before it.
LAYERS = {
    "base": "assertions error source panics try_box abi_types policy lock os finding report budget_report thread_hint",
    "system": "environment sanitizers page_cache background heap process hook",
    "provider": "provider dispatch",
    "memory": "memory boxed buffer construct common_impls arena collections allocate",
    "arenas": "budget options foreign scope drops cursor promote owner sources lazy region",
    "diagnostics": "diagnostics snapshot",
    "threads": "lease shared task frames shared_frames parcel",
    "recyclers": "recycler",
    "interface": "counted allocator allocator_clone abi",
}
ORDER = [module for modules in LAYERS.values() for module in modules.split()]
# Declared under the name of another.
ALIASES = {"hook_bare": "hook", "instruments_omitted": "instruments", "checked_omitted": "checked"}
# Each with the word that begins a path from one of its files to another.
FOLDERS = {SOURCE / "provider": "super", SOURCE / "recycler": "super", SOURCE.parent / "derive/src": "crate"}
# At the crate's root, for the tests in loom/.
ROOT = {"atomic", "yield_now", "SPINS"}


def module_of(path):
    name = path.relative_to(SOURCE).parts[0].removesuffix(".rs")
    return ALIASES.get(name, name)


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


def circle(folder, word):
    """The files of a folder that import each other in a circle; empty: there is none.

    The folder's root (mod.rs, lib.rs) is a file too. An export from another file is imported from that one, and is no
    import of the root, unless the root uses it.
    """
    code = {}
    for path in folder.glob("*.rs"):
        name = ALIASES.get(path.stem, path.stem)
        code[name] = code.get(name, "") + re.sub(r"\bself::", "", code_of(path))
    root = "mod" if "mod" in code else "lib"
    home = dict.fromkeys(re.findall(r"\b(?:fn|struct|enum|trait|type|const|static|macro_rules!) (\w+)", code[root]), root)
    for file in sorted(code):
        home.update(dict.fromkeys(names_after(file, code[root]) | {file}, file))
    targets = {file: {home.get(name, file) for name in names_after(word, code[file])} - {file} for file in code}
    own = re.sub(r"^pub(\(\w+\))? use [^;]*;", "", code[root], flags=re.M)
    targets[root] = {file for file in code if re.search(r"(?<![\w:])%s::" % file, own)}
    targets[root] |= {home[name] for name in re.findall(r"\b[A-Z]\w+", own) if name in home} - {root}
    return cycle(targets)


def exports():
    """The crate's exports by name, which a path may go through: their modules."""
    text = (SOURCE / "lib.rs").read_text()
    found = {}
    for module, names in re.findall(r"^pub use (\w+)::(?:\{([^}]*)\}|(?:\w+));", text, re.M):
        for name in names.split(","):
            found[name.strip()] = module
    for module, name in re.findall(r"^pub use (\w+)::(\w+);", text, re.M):
        found[name] = module
    return found


def of_rust():
    """The modules of the crate import downwards only."""
    exported, count = exports(), 0
    for path in sorted(SOURCE.rglob("*.rs")):
        module = module_of(path)
        if path == SOURCE / "lib.rs":
            continue
        if module not in ORDER:
            yield "%s: the module is in no layer" % module
            continue
        for name in sorted(names_after("crate", code_of(path)) - ROOT):
            target = exported.get(name, name)
            count += 1
            if target not in ORDER or ORDER.index(target) > ORDER.index(module):
                yield "%s imports %s, which is above it or in no layer" % (path.relative_to(SOURCE), target)
    if count == 0:
        yield "no import was found"
    for folder, word in FOLDERS.items():
        files = circle(folder, word)
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
