# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns abi/vectors/*.json into one C header of constant tables, so that a runner in C needs no JSON.

to_c.py OUT.h [FILE...]: for c/tests/test_vectors.c; with other files of vectors instead, those. The header is made at build
time and belongs to no repository.
"""
import json
import pathlib
import sys

HEAD = """\
/* Made by abi/model/to_c.py from abi/vectors: do not edit. */
#include <stddef.h>
#include <stdint.h>
enum vec_kind { %(kinds)s };
enum { VEC_NULL = -1, VEC_ANY = -2, VEC_STAYS = -3 }; /* not a block: NULL; some address; the address of before */
enum { VEC_NEEDS_RESIZE = 1, VEC_NEEDS_FREE = 2, VEC_NEEDS_CLEANUP = 4, VEC_NEEDS_CLAIM = 8, VEC_NEEDS_BUDGET = 16 };
#define VEC_OPEN UINT64_MAX   /* live and blocks: not determined */
typedef struct vec_at { int block; uint32_t offset; } vec_at;
typedef struct vec_list { const uint32_t *items; uint32_t count; } vec_list;
typedef struct vec_op {
  enum vec_kind kind;
  int id, of;                   /* indices, by kind of thing; id -1: none */
  int zero, stay, foreign, code;
  uint32_t policy, times, body; /* repeat: the next `body` ops are repeated */
  size_t n, old, align;
  long plus, epoch_plus;
  uint64_t budget, live, blocks;
  vec_at at, last, from, to;
  vec_list took, gave, ran;
} vec_op;
typedef struct vec {
  const char *name;
  int policy, word64, created;  /* policy 0: a vector of the rules, without placement */
  uint32_t needs;
  size_t memory;                /* policy 0: bytes that are enough for all that is allocated */
  uint64_t budget;              /* UINT64_MAX: none */
  size_t reserve;
  uint32_t ids, marks, ranges, cleanups; /* how many of each */
  vec_list fail_at;
  const vec_op *ops;
  uint32_t count;
  vec_list gave, ran;           /* by release */
} vec;
"""
KINDS = ["alloc", "allocs", "resize", "free", "mark", "rewind", "rewind_raw", "reset", "trim", "budget",
         "set_unknown", "cleanup", "cancel", "claim", "claim_past", "fill", "copy", "give", "give_past",
         "release_early", "repeat"]
THINGS = {"mark": "marks", "rewind": "marks", "rewind_raw": "marks",
          "cleanup": "cleanups", "cancel": "cleanups",
          "claim": "ranges", "claim_past": "ranges", "fill": "ranges", "copy": "ranges", "give": "ranges",
          "give_past": "ranges"}
ADDRESSES = {"None": ("VEC_NULL", 0), "True": ("VEC_ANY", 0), "stays": ("VEC_STAYS", 0)}
POLICIES = {"recent": 0, "all": 1, "bytes": 2}


def number(n):
    if not isinstance(n, str):
        return str(n)
    if n == "none":
        return "UINT64_MAX"
    return n.replace("max", "SIZE_MAX").replace("half", "(SIZE_MAX / 2)")


class Writer:
    def __init__(self):
        self.pool, self.text = [], []

    def list(self, items):
        if not items:
            return "{0, 0}"
        self.pool += items
        return "{pool + %d, %d}" % (len(self.pool) - len(items), len(items))

    def index(self, op):
        if "id" not in op:
            return -1
        names = self.names.setdefault(THINGS.get(op["op"], "ids"), {})
        return names.setdefault(op["id"], len(names))

    def op(self, op):
        kind = op["op"]
        if kind == "repeat":
            body = [line for o in op["ops"] for line in self.op(o)]
            return ["{.kind = VEC_REPEAT, .times = %d, .body = %d}" % (op["times"], len(body))] + body
        f = [".kind = VEC_" + kind.upper(), ".id = %d" % self.index(op)]
        if kind == "budget":
            f.append(".budget = " + number(op["n"]))
        elif kind in ("fill", "claim_past", "give_past"):
            f.append(".plus = %d" % op["n"])
        elif "n" in op:
            f.append(".n = " + number(op["n"]))
        if "of" in op:
            f.append(".of = %d" % self.index({"op": kind, "id": op["of"]}))
        f.append(".align = " + number(op.get("align", 8)))
        if "keep" in op:
            f.append(".n = " + number(op["keep"]))
        if "policy" in op:
            f.append(".policy = %d" % POLICIES.get(op["policy"], 99))
        for k in ("old", "times", "plus", "epoch_plus", "code"):
            if k in op:
                f.append(".%s = %s" % (k, number(op[k])))
        for k in ("live", "blocks"):
            f.append(".%s = %s" % (k, op.get(k, "VEC_OPEN")))
        for k in ("zero", "stay", "foreign"):
            if op.get(k):
                f.append(".%s = 1" % k)
        for k in ("at", "last", "from", "to"):
            if k in op:
                f.append(".%s = {%s, %d}" % ((k,) + (ADDRESSES.get(str(op[k])) or tuple(op[k]))))
        for k in ("took", "gave"):
            if k in op:
                f.append(".%s = %s" % (k, self.list(op[k])))
        if "ran" in op:
            f.append(".ran = " + self.list(self.nodes(op["ran"])))
        return ["{" + ", ".join(f) + "}"]

    def nodes(self, ids):
        return [self.index({"op": "cleanup", "id": id}) for id in ids]

    def vector(self, v, number_of):
        self.names = {}
        ops = [line for o in v["ops"] for line in self.op(o)]
        name = "ops%d" % number_of
        if ops:
            self.text.append("static const vec_op %s[] = {\n  %s\n};" % (name, ",\n  ".join(ops)))
        end = v.get("end", {"ran": []})
        needs = " | ".join("VEC_NEEDS_" + n.upper() for n in v.get("needs", ())) or "0"
        count = [len(self.names.get(k, ())) for k in ("ids", "marks", "ranges", "cleanups")]
        return "{%s, %d, %d, %d, %s, %d, %s, %s, %d, %d, %d, %d, %s, %s, %d, %s, %s}" % (
            json.dumps(v["name"]), v["policy"] or 0, v["word"] == 64, v["created"], needs, v.get("memory", 0),
            number(v["options"]["budget"]), number(v["options"]["reserve"]), *count, self.list(v["fail_at"]),
            name if ops else "0", len(ops), self.list(end.get("gave")), self.list(self.nodes(end["ran"])))


def header(vectors):
    w = Writer()
    rows = [w.vector(v, i) for i, v in enumerate(vectors)]
    text = HEAD % {"kinds": ", ".join("VEC_" + k.upper() for k in KINDS)}
    pool = [str(n) for n in w.pool]
    text += "static const uint32_t pool[] = {\n  %s\n};\n" % ",\n  ".join(
        ", ".join(pool[i:i + 12]) for i in range(0, len(pool), 12))
    text += "\n".join(w.text)
    return text + "\nstatic const vec vectors[] = {\n  %s\n};\n" % ",\n  ".join(rows)


def main(out, *files):
    vectors = []
    abi = pathlib.Path(__file__).resolve().parent.parent
    for path in map(pathlib.Path, files) if files else sorted((abi / "vectors").glob("*/*.json")):
        vectors += json.loads(path.read_text())["vectors"]
    pathlib.Path(out).write_text(header(vectors))


if __name__ == "__main__":
    main(*sys.argv[1:])
