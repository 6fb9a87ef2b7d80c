# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes abi/vectors/*.json.  --check: writes nothing, and exits 1 if a file is not what it would write."""
import json
import pathlib
import sys

import themes

FORMAT = """\
A vector creates an arena with `options` on a source that grants exact sizes on 4096-byte boundaries and
refuses the acquisitions numbered in fail_at (1 is the arena's own block, block 0); does its ops in
order; and releases the arena. `created` false: creation fails. `word` 64: only where a pointer has 8
bytes. An address is [block, offset from its base]. Sizes may be symbolic: "max-7" is SIZE_MAX - 7,
"half+1" is PTRDIFF_MAX + 1; a budget "none" is no budget.
What is expected after each op: `live` bytes; `blocks` in use, block 0 included; block sizes `took` from
the source, in order, and `gave` back, sorted (absent: none); cleanups that `ran`, in order (absent:
none); `at`, the result (null: NULL); `code`, the result (0, or TOFT_E...). Absent: align is 8, and zero,
stay and foreign are false.
The ops: alloc; allocs (`times` allocations, the first `at` and the last at `last`); resize (the old size
in `old`; an id not known is NULL); free; mark; rewind; rewind_raw (ops->rewind with the mark's cursor +
plus and its epoch + epoch_plus; foreign: with an address that is not the arena's); reset; trim; budget;
cleanup (`at`: the node; the function must find alloc, rewind, reset, cleanup, claim and set refused);
cancel (node.fn = NULL); claim (the range is then `from`..`to`); fill (the holder moves the range's
cursor by n); give; give_past (give of the range with its cursor moved by n, which is refused; the range
stays as it was); repeat (its ops, `times` times, with the same answers each time).
In `end`: what release gives back, sorted, and the cleanups that it runs, in order.
abi/SPEC.md has the rules that the answers follow. Made by abi/model/generate.py: do not edit."""


def dump(theme, vectors):
    out = ['{\n"_comment": [\n' + ",\n".join(" " + json.dumps(line) for line in FORMAT.split("\n")) + "\n],"]
    out.append('"theme": %s,\n"vectors": [' % json.dumps(theme))
    texts = []
    for v in vectors:
        head = ", ".join("%s: %s" % (json.dumps(k), json.dumps(v[k])) for k in
                         ("name", "word", "options", "fail_at", "created"))
        end = ', "end": ' + json.dumps(v["end"]) if v["created"] else ""
        texts.append("{%s, \"ops\": [\n%s\n]%s}" % (head, ",\n".join(lines(v["ops"], "  ")), end))
    return out[0] + "\n" + out[1] + "\n" + ",\n".join(texts) + "\n]\n}\n"


def lines(ops, indent):
    for op in ops:
        if op["op"] == "repeat":
            yield '%s{"op": "repeat", "times": %d, "ops": [\n%s\n%s]}' % (
                indent, op["times"], ",\n".join(lines(op["ops"], indent + "  ")), indent)
        else:
            yield indent + json.dumps(op)


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "vectors"
    check, stale, names, count = "--check" in sys.argv[1:], [], set(), 0
    files = {}
    for theme, (about, vectors) in themes.all().items():
        done = [v.end() for v in vectors]
        for v in done:
            assert v["name"] not in names, v["name"]
            names.add(v["name"])
        files[theme + ".json"] = dump(about, done)
        count += len(done)
    for path in sorted(set(p.name for p in folder.glob("*.json")) | set(files)):
        there = (folder / path).read_text() if (folder / path).exists() else None
        if there == files.get(path):
            continue
        stale.append(path)
        if not check and path in files:
            (folder / path).write_text(files[path])
        elif not check:
            (folder / path).unlink()
    for path in stale:
        print("%s %s" % (path, "differs" if check else "written"))
    print("%d vectors in %d files" % (count, len(files)))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
