"""The loops that contenders have in common, written as Go source for each of them. A function that takes the allocation as a
parameter would call it, but programs have it inlined.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import json
import os
import string

HEAD = string.Template("""//go:build cgo$tag

package w3

import ($packages)

var _ unsafe.Pointer

func init() {
	add("$shown", map[string]factory{$loops})
}
""")
# benchmark: the body of an operation, and a declaration before the loop; $t1 to $t1000 allocate blocks of these sizes, $z1 to
# $z1000 blocks of zeroes
BODIES = {
    "Small": ("bad |= at($t1) | at($t10) | at($t100) | at($t1000)", ""),
    "SmallZeroed": ("bad |= used($z1, 1) | used($z10, 10) | used($z100, 100) | used($z1000, 1000)", ""),
    "SmallWritten": ("bad |= writeSmall($t1, $t10, $t100, $t1000)", ""),
    "Multi": ("for range 10 {\nbad |= at($t1000)\n}", ""),
    "MultiZeroed": ("for range 10 {\nbad |= used($z1000, 1000)\n}", ""),
    "MultiWritten": ("for k := range ps {\nps[k] = $t1000\n}\nbad |= writeMulti(&ps)", "var ps [10]unsafe.Pointer\n"),
    "Steady": ("for range steadyKiB(i) {\nbad |= at($tsteadyA) | at($tsteadyB) | at($tsteadyC)\n}", ""),
}
PLAIN = "func $name(${kept}n int) (bad uintptr) {\n${before}for i := range n {\n_ = i\n$get\n$body\n$put\n}\nreturn bad\n}\n"
DEFER = ("func $name(${kept}n int) (bad uintptr) {\nbatch := func() (bad uintptr) {\n$get\ndefer $put\n$body\nreturn bad\n}\n"
         "for range n {\nbad |= batch()\n}\nreturn bad\n}\n")
DEFERRED = ["Small", "SmallZeroed", "Multi", "MultiZeroed"]

# name: how an arena is got and returned, and how a block is allocated in it; on: the factory of loops in an arena that is kept;
# cases: the benchmarks, where they are not those above, and whose bodies they have
CONTENDERS = {
    "raw": {"shown": "raw", "put": "b.free()", "take": "b.keep(malloc({}))", "zeroed": "b.keep(calloc({}))", "on": "onBlocks",
            "kept": "b *blocks, ", "cases": {case: case for case in BODIES} | {"Owned": "Small"}},
    "typed": {"shown": "toft-typed", "package": "toft.dev/toft", "get": "a := toft.Get()", "put": "a.Return()",
              "take": "unsafe.Pointer(uninit{}.New(&a.Arena))", "zeroed": "unsafe.Pointer(toft.New[b{}](a))"},
    "untyped": {"shown": "toft-untyped", "package": "toft.dev/toft", "get": "a := toft.Get()", "put": "a.Return()",
                "take": "a.AllocUninit({}, 8)", "zeroed": "a.Alloc({}, 8)"},
    "typedOwned": {"shown": "toft-typed", "package": "toft.dev/toft", "get": "m := a.Mark()", "put": "a.Rewind(m)",
                   "take": "unsafe.Pointer(uninit{}.New(a))", "on": "ownArena", "kept": "a *toft.Arena, ", "cases": {"Owned": "Small"}},
    "untypedOwned": {"shown": "toft-untyped", "package": "toft.dev/toft", "get": "m := a.Mark()", "put": "a.Rewind(m)",
                     "take": "a.AllocUninit({}, 8)", "on": "ownArena", "kept": "a *toft.Arena, ", "cases": {"Owned": "Small"}},
    "dropIn": {"shown": "toft-cgoparam", "package": "toft.dev/toft/cgoparam", "get": "a := cgoparam.GetAlloc()",
               "put": "cgoparam.ReturnAlloc(a)", "zeroed": "a.Malloc({})",  # which cgoparam leaves to its users
               "cases": {"SmallZeroed": "SmallZeroed", "MultiZeroed": "MultiZeroed"}},
    "original": {"shown": "cgoparam", "package": "github.com/CannibalVox/cgoparam", "tag": " && !without_cgoparam",
                 "get": "a := cgoparam.GetAlloc()", "put": "cgoparam.ReturnAlloc(a)", "take": "a.Malloc({})",
                 "zeroed": "zero(a.Malloc({0}), {0})"},
    "page": {"shown": "pool-bump", "get": "g := getPage()", "put": "g.put()",
             "take": "g.take({})", "zeroed": "zero(g.take({0}), {0})"},
    "ristretto": {"shown": "ristretto", "package": "github.com/dgraph-io/ristretto/v2/z", "tag": " && !without_ristretto",
                  "put": "a.Reset()", "take": "ristrettoTake(a, {})", "zeroed": "ristrettoZeroed(a, {})", "on": "onRistretto",
                  "kept": "a *z.Allocator, ", "cases": {case: case for case in BODIES} | {"Owned": "Small"}},
}


def source(name, of):
    """The file of one contender."""
    sizes = ["1", "10", "100", "1000", "steadyA", "steadyB", "steadyC"]
    blocks = {short + size: of[kind].format(size) for short, kind in (("t", "take"), ("z", "zeroed")) if kind in of for size in sizes}
    found, entries = [], []
    for case, of_case in of.get("cases", {case: case for case in BODIES}).items():
        body, before = BODIES[of_case]
        for suffix, loop in ("", PLAIN), ("Defer", DEFER):
            if suffix and case not in DEFERRED:
                continue
            function = name + case + suffix
            found.append(string.Template(loop).substitute(
                name=function, kept=of.get("kept", ""), get=of.get("get", ""), put=of["put"], before=before,
                body=string.Template(body).substitute(blocks)))
            entries.append('"%s": %s(%s)' % (case + suffix, of.get("on", "each"), function))
    packages = "; ".join('"%s"' % package for package in ("unsafe", of.get("package")) if package)
    head = HEAD.substitute(tag=of.get("tag", ""), packages=packages, shown=of["shown"], loops=", ".join(entries))
    return head + "".join(found)


def write(sources, folder):
    """Writes them into `folder`, and returns the path of an overlay that places them in `sources`, for go's -overlay."""
    os.makedirs(folder, exist_ok=True)
    overlay = {}
    for name, of in CONTENDERS.items():
        path = os.path.join(folder, name + "_loops_test.go")
        with open(path, "w") as f:
            f.write(source(name, of))
        overlay[os.path.join(sources, os.path.basename(path))] = path
    path = os.path.join(folder, "overlay.json")
    with open(path, "w") as f:
        json.dump({"Replace": overlay}, f)
    return path
