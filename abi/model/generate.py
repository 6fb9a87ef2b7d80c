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
COMMENT = "Made by abi/model/generate.py: do not edit. ../README.md has the format."


def dump(about, vectors):
    """The text of a file: one line for each vector."""
    rows = []
    for v in vectors:
        row = {k: v[k] for k in HEAD if k in v}
        row["ops"] = written(v["ops"])
        if v["created"]:
            row["end"] = v["end"]
        rows.append(json.dumps(row, separators=(",", ":")))
    return '{\n"_comment": %s,\n"theme": %s,\n"vectors": [\n%s\n]\n}\n' % (
        json.dumps(COMMENT), json.dumps(about), ",\n".join(rows))


def written(ops):
    """The operations without "stays", which rules.py alone reads."""
    return [{**op, "ops": written(op["ops"])} if op["op"] == "repeat" else {k: a for k, a in op.items() if k != "stays"}
            for op in ops]


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
