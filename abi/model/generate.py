# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes abi/vectors/*.json.  --check: writes nothing, and exits 1 if a file is not what it would write."""
import json
import pathlib
import sys

import themes

FORMAT = """\
A vector creates an arena with `options` on a source that grants exact sizes on 4096-byte boundaries and
refuses the acquisitions numbered in fail_at (1 is the arena's own block, block 0); does its ops in
order; and releases the arena. `options.budget` is set at creation; `options.reserve` is P11's n.
`created` false: creation fails, and there are no ops and no `end`. `word` 64: only where a pointer has 8
bytes.
An address is [block, offset from its base]; the block is its index by P3. Sizes, alignments and `keep`
may be symbolic: "max" is SIZE_MAX and "half" PTRDIFF_MAX, and a number may follow: "max-4095", "half+1";
a budget "none" is UINT64_MAX.
What is expected after each op: `live` bytes; `blocks` in use, block 0 included; block sizes `took` from
the source, in order, and `gave` back, sorted (absent: none; block 0 is taken before the first op and is
in no `took`); cleanups that `ran`, in order (absent: none); `at`, the result (null: NULL); `code`, the
result (0, or TOFT_E...). Absent: align is 8; zero, stay and foreign are false; keep, plus and epoch_plus
are 0.
`n` is a size, `id` names an allocation, a mark, a cleanup or a range, by op: four kinds of names. A name
stands for what was last made with it: a successful alloc, resize, mark or cleanup binds it again, one that
failed does not.
The ops: alloc; allocs (`times` allocations, the first `at` and the last at `last`); resize (by n, with
the size last asked for in `old`; an id not known is NULL, with old 0); free (with the size last asked
for); mark; rewind; rewind_raw (ops->rewind with the mark's cursor + plus and its epoch + epoch_plus;
foreign: with an address that is not the arena's); reset (policy recent, all or bytes, with `keep`;
nonsense is a number that no maker has, as 99); trim (`keep`); budget (set to n); set_unknown (ops->set
with a `what` that no maker has, as 99); cleanup (`at`: the node); cancel (node.fn = NULL); claim (n, and
after it the range is `from`..`to`; a range is zeroed before its first use); claim_past (a claim of size 0
with the range's cursor moved by n, which is NULL; the range stays as it was); fill (the holder moves the
range's cursor by n); copy (the range `id` becomes a copy of the range `of`); give (also of a range that
was never claimed); give_past (give of the range with its cursor moved by n, which is refused; the range
stays as it was); release_early (ops->release, while a range is claimed: ignored); repeat (its ops,
`times` times, with the same answers each time).
A cleanup's function must find alloc of 8 NULL, rewind to a mark made there, reset and set of a budget
EBUSY, cleanup and claim NULL, reset with nonsense EARG, an unknown set ENOSYS, and trim and release
without effect.
In `end`: what release gives back, block 0 included, sorted, and the cleanups that it runs, in order.
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
