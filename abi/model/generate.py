# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes abi/vectors/policy1/*.json and abi/vectors/rules/*.json, whose format is in abi/vectors/README.md.

--check: writes nothing, and exits 1 if a file differs from what would be written.
"""
import json
import pathlib
import sys

import rules
import themes

HEAD = ("name", "policy", "word", "options", "fail_at", "created", "needs", "memory")


def dump(about, vectors):
    texts = []
    for v in vectors:
        head = ", ".join("%s: %s" % (json.dumps(k), json.dumps(v[k])) for k in HEAD if k in v)
        end = ', "end": ' + json.dumps(v["end"]) if v["created"] else ""
        texts.append("{%s, \"ops\": [\n%s\n]%s}" % (head, ",\n".join(lines(v["ops"], "  ")), end))
    return '{\n"_comment": "Made by abi/model/generate.py: do not edit. ../README.md has the format.",\n"theme": %s,\n' \
        '"vectors": [\n%s\n]\n}\n' % (json.dumps(about), ",\n".join(texts))


def lines(ops, indent):
    for op in ops:
        if op["op"] == "repeat":
            yield '%s{"op": "repeat", "times": %d, "ops": [\n%s\n%s]}' % (
                indent, op["times"], ",\n".join(lines(op["ops"], indent + "  ")), indent)
        else:
            yield indent + json.dumps({k: v for k, v in op.items() if k != "stays"})


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "vectors"
    check, stale, names, files, count = "--check" in sys.argv[1:], [], set(), {}, {}
    policy1 = {theme: (about, [v.end() for v in vectors]) for theme, (about, vectors) in themes.all().items()}
    for kind, made in (("policy1", policy1), ("rules", rules.derive(policy1))):
        for theme, (about, vectors) in made.items():
            for v in vectors:
                assert (kind, v["name"]) not in names, v["name"]
                names.add((kind, v["name"]))
            files["%s/%s.json" % (kind, theme)] = dump(about, vectors)
            count[kind] = count.get(kind, 0) + len(vectors)
    for path in sorted(set(str(p.relative_to(folder)) for p in folder.rglob("*.json")) | set(files)):
        there = (folder / path).read_text() if (folder / path).exists() else None
        if there == files.get(path):
            continue
        stale.append(path)
        if not check and path in files:
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(files[path])
        elif not check:
            (folder / path).unlink()
    for path in stale:
        print("%s %s" % (path, "differs" if check else "written"))
    print("%d vectors of policy 1, %d of the rules" % (count["policy1"], count["rules"]))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
