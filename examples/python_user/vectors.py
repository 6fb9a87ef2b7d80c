"""Runs abi/vectors on a provider's arenas, as a client of the ABI: section 13 of abi/SPEC.md.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import ctypes
import json
import pathlib
import re

import arena as abi
import providers

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "abi" / "vectors"
SYMBOLS = {"max": abi.SIZE_MAX, "half": abi.SIZE_MAX // 2, "none": abi.NO_BUDGET}
POLICIES = {"recent": abi.KEEP_RECENT, "all": abi.KEEP_ALL, "bytes": abi.KEEP_BYTES, "nonsense": 99}
INLINE, BY_OPS, SILENT = "inline", "by ops", "inline, without statistics"
WAYS = INLINE, BY_OPS, SILENT
MIB = 1 << 20


class Differs(Exception):
    """The provider's result differs from the vector's."""


def load():
    """[(theme's file, vector)] that this machine's word size allows."""
    found = []
    for path in sorted(VECTORS.glob("*/*.json")):
        found += [("%s/%s" % (path.parent.name, path.stem), v) for v in json.loads(path.read_text())["vectors"]
                  if v["word"] != 64 or abi.SIZE_MAX == 2**64 - 1]
    return found


def number(value):
    """A size, or the value of "max-7" and the like."""
    if isinstance(value, int):
        return value
    name, sign, rest = re.fullmatch(r"(\w+)(?:([+-])(\d+))?", value).groups()
    return SYMBOLS[name] + int((sign or "+") + (rest or "0"))


def expect(what, got, wanted):
    if got != wanted:
        raise Differs("%s: %r, not %r" % (what, got, wanted))


class Player:
    """One vector, on one arena, in one way."""

    def __init__(self, provider, vector, way):
        self.vector, self.way = vector, way
        self.source = providers.Source(vector["fail_at"])
        budget = number(vector["options"]["budget"])
        self.address = provider.create_with(self.source, 0 if budget == abi.NO_BUDGET else budget,
                                         number(vector["options"]["reserve"]))
        self.bases = {}  # of blocks, by index, once known (P3)
        self.allocations, self.marks, self.nodes, self.ranges = {}, {}, {}, {}
        self.contents, self.clock = {}, 0  # address: (when, size, first and last byte)
        self.ran = []

    def play(self):
        expect("created", bool(self.address), self.vector["created"])
        if self.address:
            self.arena = abi.Arena(self.address)
            self.bases[0] = next(iter(self.source.held))
            self.source.took.clear()
            self.play_all(self.vector["ops"])
            if self.way == SILENT and self.vector["ops"]:
                self.look(self.last)
            self.ran.clear()
            self.source.gave.clear()
            self.arena.release()
            if self.vector["policy"] == 1:
                expect("release gave", sorted(self.source.gave), self.vector["end"]["gave"])
            expect("release ran", self.ran, self.vector["end"]["ran"])
        expect("the source is owed", len(self.source.held), 0)
        expect("the source was misused", self.source.wrong, [])

    def play_all(self, ops):
        for n, op in enumerate(ops):
            if op["op"] == "repeat":
                for _ in range(op["times"]):
                    self.play_all(op["ops"])
                continue
            try:
                self.clock += 1
                self.last = op
                getattr(self, op["op"])(op)
                self.after(op)
            except Differs as why:
                raise Differs("op %d, %s: %s" % (n, op["op"], why)) from None

    def after(self, op):
        head = self.arena.head
        expect("multiples of 8 (M1)", (head.cursor % 8, head.limit % 8), (0, 0))
        expect("0 < cursor <= limit (M1)", 0 < head.cursor <= head.limit, True)
        source = self.source
        if self.vector["policy"] == 1:
            expect("took", source.took, op.get("took", []))
            expect("gave", sorted(source.gave), op.get("gave", []))
        expect("ran", self.ran, op.get("ran", []))
        source.took, source.gave = [], []
        self.ran.clear()
        if self.way != SILENT:
            self.look(op)

    def look(self, op):
        stats = self.arena.stats()
        expect("live", stats.live, op.get("live", stats.live))
        expect("blocks", stats.blocks, op.get("blocks", stats.blocks))
        expect("reserved", stats.reserved, self.source.bytes_held())
        expect("source_calls", stats.source_calls, self.source.takes)

    # Results.

    def at(self, p, wanted):
        """An address belongs to the block with base + 64 <= address <= base + size (M8)."""
        if p is None or wanted is None:
            return expect("address", p, wanted)
        if wanted is True:
            return expect("in a block", any(b + 64 <= p <= b + size for b, (size, _) in self.source.held.items()), True)
        index, offset = wanted
        base = next((b for b, (size, _) in self.source.held.items() if b + 64 <= p <= b + size), None)
        expect("in a block", base is not None, True)
        expect("offset", p - base, offset)
        expect("block", base, self.bases.setdefault(index, base))
        expect("one index for a block", sum(b == base for b in self.bases.values()), 1)

    def forget(self):
        """Blocks may have been returned: their indices may be reused."""
        self.bases = {0: self.bases[0]}

    def code(self, call, *arguments):
        try:
            code = call(*arguments)
        except abi.ArenaError as why:
            return why.code
        return 0 if code is None else code

    def address_of(self, call, *arguments, **named):
        try:
            return call(*arguments, **named)
        except MemoryError:
            return None

    # Contents, which must be preserved.

    def fill(self, op):
        self.ranges[op["id"]].cursor += op["n"]

    def wrote(self, p, size):
        if p is not None and 0 < size <= 64 * MIB:
            seed = self.clock % 251 + 1
            ctypes.memset(p, seed, min(size, 64))
            ctypes.memset(p + size - min(size, 64), seed, min(size, 64))
            self.contents[p] = self.clock, size, seed

    def check_contents(self):
        for p, (_, size, seed) in self.contents.items():
            part = min(size, 64)
            ends = ctypes.string_at(p, part) + ctypes.string_at(p + size - part, part)
            expect("contents", ends, bytes([seed]) * len(ends))
            if self.way != SILENT:
                expect("contains", self.arena.contains(p), True)

    def survive(self, since):
        """From now on only contents written up to then are checked."""
        self.contents = {p: entry for p, entry in self.contents.items() if entry[0] <= since}

    # The ops.

    def allocate(self, size, align, zero):
        inline = self.way != BY_OPS and not zero and align > 0 and align & (align - 1) == 0
        if inline:
            p = self.address_of(self.arena.alloc, size, align)
        else:
            p = self.arena.ops.alloc(self.address, size, align, abi.ZERO if zero else 0, 0)
        if p is not None and zero:
            expect("zeroed", ctypes.string_at(p, size).count(0), size)
        if p is not None:
            expect("aligned", (p % 8, p % align), (0, 0))
        self.wrote(p, size)
        return p

    def alloc(self, op):
        p = self.allocate(number(op["n"]), number(op.get("align", 8)), op.get("zero", False))
        self.at(p, op["at"])
        if p is not None and "id" in op:
            self.allocations[op["id"]] = p, number(op["n"])

    def allocs(self, op):
        for n in range(op["times"]):
            p = self.allocate(op["n"], 8, False)
            if n == 0:
                self.at(p, op["at"])
        self.at(p, op["last"])

    def resize(self, op):
        self.check_contents()
        old, new, align = op["old"], number(op["n"]), number(op.get("align", 8))
        zero, stay = op.get("zero", False), op.get("stay", False)
        p, size = self.allocations.get(op["id"], (None, 0))
        expect("the vector's size", old, size)
        before = ctypes.string_at(p, min(old, new)) if p is not None else b""
        inline = self.way != BY_OPS and not zero and not stay and align > 0 and align & (align - 1) == 0
        if inline:
            q = self.address_of(self.arena.resize, p, old, new, align)
        else:
            flags = (abi.ZERO if zero else 0) | (abi.STAY if stay else 0)
            q = self.arena.ops.resize(self.address, p, old, new, align, flags, 0)
        if q is not None:
            expect("what moved", ctypes.string_at(q, len(before)), before)
            if zero and new > old:
                expect("zeroed", ctypes.string_at(q + old, new - old).count(0), new - old)
            self.contents.pop(p, None)
            self.wrote(q, new)
            self.allocations[op["id"]] = q, new
        self.forget_if_freed(op)
        if op["at"] == "stays":
            expect("address", q, p)
        else:
            self.at(q, op["at"])

    def forget_if_freed(self, op):
        if self.source.gave or op.get("blocks", 0) <= len(self.bases):
            self.forget()

    def free(self, op):
        p, size = self.allocations[op["id"]]
        if self.way == BY_OPS:
            if self.arena.ops.free:
                self.arena.ops.free(self.address, p, size)
        else:
            self.arena.free(p, size)
        self.contents.pop(p, None)
        self.forget()

    def mark(self, op):
        self.marks[op["id"]] = self.arena.mark(), self.clock

    def rewind(self, op):
        self.check_contents()
        mark, when = self.marks[op["id"]]
        code = self.code(self.by_ops if self.way == BY_OPS else self.arena.rewind, mark)
        expect("code", code, op["code"])
        if code == 0:
            self.survive(when)
            self.forget()

    def by_ops(self, mark):
        self.arena._done(self.arena.ops.rewind(self.address, *mark))

    def rewind_raw(self, op):
        mark, _ = self.marks[op["id"]]
        cursor = ctypes.addressof(self.elsewhere) if op.get("foreign") else mark.cursor + op.get("plus", 0)
        expect("code", self.code(self.by_ops, abi.Mark(cursor, mark.epoch + op.get("epoch_plus", 0))), op["code"])
        if op["code"] == 0:
            self.contents.clear()
            self.forget()

    elsewhere = ctypes.c_uint64()

    def reset(self, op):
        self.check_contents()
        expect("code", self.code(self.arena.reset, POLICIES[op["policy"]], number(op.get("keep", 0))),
               op["code"])
        if op["code"] == 0:
            self.contents.clear()
            self.forget()

    def trim(self, op):
        self.arena.trim(number(op["keep"]))
        self.check_contents()
        self.forget()

    def budget(self, op):
        expect("code", self.code(self.arena.set_budget, number(op["n"])), op["code"])

    def set_unknown(self, op):
        expect("code", self.arena.ops.set(self.address, 99, 0, None, 0), op["code"])

    def cleanup(self, op):
        made = self.address_of(self.arena.cleanup, lambda: self.run(op["id"]))
        self.at(made and made.node, op["at"])
        if made:
            self.nodes[op["id"]] = made

    def run(self, name):
        """Checks the state in a cleanup's function."""
        a = self.arena
        self.ran.append(name)
        expect("alloc in a cleanup", self.address_of(a.alloc, 8), None)
        expect("cleanup in a cleanup", self.address_of(a.cleanup, print), None)
        expect("claim in a cleanup", self.address_of(a.claim), None)
        codes = [self.code(a.rewind, a.mark()), self.code(a.reset), self.code(a.set_budget, 7),
                 self.code(a.reset, 99), a.ops.set(a.address, 99, 0, None, 0)]
        expect("codes in a cleanup", codes, [abi.EBUSY, abi.EBUSY, abi.EBUSY, abi.EARG, abi.ENOSYS])
        a.trim()
        a.ops.release(a.address)

    def cancel(self, op):
        self.nodes[op["id"]].cancel()

    def range_of(self, op):
        return self.ranges.setdefault(op["id"], abi.Range())

    def claim(self, op):
        r = self.range_of(op)
        p = self.arena.ops.claim(self.address, r, number(op["n"]), number(op.get("align", 8)))
        self.at(p, op["at"])
        if p is not None:
            if self.vector["policy"] == 1:
                self.at(r.cursor, op["from"])
                self.at(r.limit, op["to"])
            ctypes.memset(r.cursor, 0xAA, min(r.limit - r.cursor, MIB))  # it belongs to the owner of the range

    def moved(self, op, call):
        """A call with a range whose cursor is outside of the claimed range: refused, and the range is unchanged."""
        r = self.range_of(op)
        r.cursor += op["n"]
        was = bytes(r)
        answer = call(r)
        expect("the range", bytes(r), was)
        r.cursor -= op["n"]
        return answer

    def claim_past(self, op):
        self.at(self.moved(op, lambda r: self.arena.ops.claim(self.address, r, 0, 8)), op["at"])

    def give_past(self, op):
        expect("code", self.moved(op, lambda r: self.arena.ops.give(self.address, r)), op["code"])

    def give(self, op):
        r = self.range_of(op)
        expect("code", self.arena.ops.give(self.address, r), op["code"])
        if op["code"] == 0:
            expect("a given range is zeroed", bytes(r), bytes(ctypes.sizeof(r)))
            self.check_contents()

    def copy(self, op):
        self.ranges[op["id"]] = abi.Range.from_buffer_copy(self.ranges[op["of"]])

    def release_early(self, op):
        expect("release while closed", self.code(self.arena.release), abi.EBUSY)
        self.arena.ops.release(self.address)


def play(provider, vector, way):
    Player(provider, vector, way).play()
